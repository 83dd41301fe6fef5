// SPDX-License-Identifier: Apache-2.0
#include "nri/known.h"

#include <stdbool.h>
#include <string.h>

#include "nri.pb-c.h"
#include "nri/session.h"

#define VARINT_MAX 10 /* bytes of 64 bits */

/* A field is its head (number and type, and the length if it has one) and its body. */
struct field {
	uint32_t number;
	size_t head, length_width, body; /* bytes; length_width: of the head, 0 = without */
};

/* Returns its bytes; 0 = it does not end. */
static size_t read_varint(const uint8_t *bytes, size_t len, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len && i < VARINT_MAX; i++) {
		value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if (bytes[i] & 0x80)
			continue;
		*ret_value = value;
		return i + 1;
	}
	return 0;
}

/* Of the same width as before, although the value may be smaller: protobuf permits this. */
static void write_varint(uint8_t *bytes, size_t width, size_t value)
{
	for (size_t i = 0; i < width; i++, value >>= 7)
		bytes[i] = (uint8_t)((value & 0x7f) | (i + 1 < width ? 0x80 : 0));
}

static bool read_field(const uint8_t *bytes, size_t len, struct field *ret_field)
{
	struct field field = {0};
	uint64_t key, value;
	size_t width;

	field.head = read_varint(bytes, len, &key);
	if (!field.head || key >> 3 > UINT32_MAX)
		return false;
	field.number = (uint32_t)(key >> 3);
	switch (key & 7) {
	case PROTOBUF_C_WIRE_TYPE_VARINT:
		field.body = read_varint(bytes + field.head, len - field.head, &value);
		if (!field.body)
			return false;
		break;
	case PROTOBUF_C_WIRE_TYPE_64BIT:
		field.body = 8;
		break;
	case PROTOBUF_C_WIRE_TYPE_32BIT:
		field.body = 4;
		break;
	case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
		width = read_varint(bytes + field.head, len - field.head, &value);
		if (!width)
			return false;
		field.length_width = width;
		field.head += width;
		field.body = value;
		break;
	default:
		return false;
	}
	*ret_field = field;
	return field.body <= len - field.head;
}

/* Whose key can be read, and is another's. Without a key it is left to be rejected or counted. */
static bool is_of_others(const char *prefix, const uint8_t *pair, size_t len)
{
	enum { KEY = 1 };
	const size_t prefix_len = strlen(prefix);
	struct field field;

	for (size_t at = 0; read_field(pair + at, len - at, &field); at += field.head + field.body)
		if (field.number == KEY)
			return field.body < prefix_len ||
			       memcmp(pair + at + field.head, prefix, prefix_len) != 0;
	return false;
}

/* A message of nri.proto contains none of its own kind, so the schema bounds the depth. */
size_t nri_known_keep(const ProtobufCMessageDescriptor *descriptor, const char *pair_prefix,
		      uint8_t *bytes, size_t len)
{
	size_t from = 0, to = 0;
	uint32_t list = 0, nr_pairs = 0;
	struct field field;

	for (; from < len && read_field(bytes + from, len - from, &field);
	     from += field.head + field.body) {
		const ProtobufCFieldDescriptor *known =
			protobuf_c_message_descriptor_get_field(descriptor, field.number);
		uint8_t *body = bytes + to + field.head;
		size_t kept = field.body;

		if (!known)
			continue;
		if (pair_prefix && known->descriptor == &nri__pair__descriptor) {
			if (is_of_others(pair_prefix, bytes + from + field.head, field.body))
				continue;
			nr_pairs = field.number == list ? nr_pairs + 1 : 1;
			list = field.number;
			if (nr_pairs > NRI_PAIRS_MAX)
				continue;
		}
		memmove(bytes + to, bytes + from, field.head + field.body);
		if (known->type == PROTOBUF_C_TYPE_MESSAGE && field.length_width) {
			kept = nri_known_keep(known->descriptor, pair_prefix, body, field.body);
			write_varint(body - field.length_width, field.length_width, kept);
		}
		to += field.head + kept;
	}
	if (from < len)
		memmove(bytes + to, bytes + from, len - from);
	return to + len - from;
}
