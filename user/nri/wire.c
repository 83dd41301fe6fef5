// SPDX-License-Identifier: Apache-2.0
/* Headers of eight and ten bytes in network order, around bytes that are not looked at. */
#include "nri/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_HEADER   sizeof((struct nri_reader){0}.header)
#define MESSAGE_HEADER sizeof((struct nri_stream){0}.header)
/* A buffer above this size is freed after its message; most messages have some kilobytes. */
#define KEPT_CAPACITY (64U << 10)
/*
 * The runtime's reader passes one frame to one read into a buffer of this size and drops the
 * plugin if it does not fit. What comes after the first such piece of a message is read into
 * the message itself, at any length. So a message is sent as its first 4096 bytes and the rest,
 * as the runtime does it. More pieces would fill the runtime's queue of 256 frames.
 */
#define FIRST_FRAME 4096U

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static uint32_t get_u32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 24);
	bytes[1] = (uint8_t)(value >> 16);
	bytes[2] = (uint8_t)(value >> 8);
	bytes[3] = (uint8_t)value;
}

/* Make room for `needed` bytes in a buffer of at most `most`. */
static int grow(uint8_t **data, size_t *capacity, size_t needed, size_t most)
{
	size_t wanted = *capacity ? *capacity : 4096;
	uint8_t *larger;

	if (needed <= *capacity)
		return 0;
	while (wanted < needed)
		wanted *= 2;
	wanted = smaller(wanted, most);
	larger = realloc(*data, wanted);
	if (!larger)
		return -ENOMEM;
	*data = larger;
	*capacity = wanted;
	return 0;
}

/* --- reading ------------------------------------------------------------------------------- */

static void stream_free_data(struct nri_stream *stream)
{
	free(stream->data);
	stream->data = NULL;
	stream->capacity = 0;
}

void nri_reader_fini(struct nri_reader *reader)
{
	for (size_t i = 0; i < NRI_CONNECTION_NR; i++)
		stream_free_data(&reader->streams[i]);
	*reader = (struct nri_reader){0};
}

static bool is_complete(const struct nri_stream *stream)
{
	return stream->nr_header == MESSAGE_HEADER && stream->len == get_u32(stream->header);
}

/* Consume at most `len` bytes, but none behind the end of the message. */
static int stream_take(struct nri_stream *stream, const uint8_t *data, size_t len, size_t *ret_used)
{
	size_t used = smaller(len, MESSAGE_HEADER - stream->nr_header), wanted, rest;
	int err;

	memcpy(stream->header + stream->nr_header, data, used);
	stream->nr_header += used;
	if (stream->nr_header == MESSAGE_HEADER) {
		wanted = get_u32(stream->header);
		if (wanted > NRI_READ_MAX)
			return -EMSGSIZE;
		rest = smaller(len - used, wanted - stream->len);
		err = grow(&stream->data, &stream->capacity, stream->len + rest, NRI_READ_MAX);
		if (err)
			return err;
		if (rest)
			memcpy(stream->data + stream->len, data + used, rest);
		stream->len += rest;
		used += rest;
	}
	*ret_used = used;
	return 0;
}

static void take_back(struct nri_reader *reader)
{
	struct nri_stream *stream = reader->given;

	if (!stream)
		return;
	stream->nr_header = stream->len = 0;
	if (stream->capacity > KEPT_CAPACITY)
		stream_free_data(stream);
	reader->given = NULL;
}

/* The stream of the frame that is being read; NULL for a connection that nobody uses. */
static struct nri_stream *current_stream(struct nri_reader *reader)
{
	uint32_t connection = get_u32(reader->header);

	return connection == NRI_CONNECTION_PLUGIN || connection == NRI_CONNECTION_RUNTIME
		       ? &reader->streams[connection]
		       : NULL;
}

static int take_header(struct nri_reader *reader, const uint8_t *data, size_t len, size_t *ret_used)
{
	size_t used = smaller(len, FRAME_HEADER - reader->nr_header);

	memcpy(reader->header + reader->nr_header, data, used);
	reader->nr_header += used;
	*ret_used = used;
	if (reader->nr_header < FRAME_HEADER)
		return 0;
	reader->payload_left = get_u32(reader->header + 4);
	if (reader->payload_left > NRI_READ_MAX + MESSAGE_HEADER)
		return -EMSGSIZE;
	if (!reader->payload_left)
		reader->nr_header = 0;
	return 0;
}

static int take_payload(struct nri_reader *reader, const uint8_t *data, size_t len,
			size_t *ret_used)
{
	struct nri_stream *stream = current_stream(reader);
	size_t used = smaller(len, reader->payload_left);
	int err = stream ? stream_take(stream, data, used, &used) : 0;

	if (err)
		return err;
	reader->payload_left -= (uint32_t)used;
	if (!reader->payload_left)
		reader->nr_header = 0;
	if (stream && is_complete(stream))
		reader->given = stream;
	*ret_used = used;
	return 0;
}

int nri_reader_next(struct nri_reader *reader, const uint8_t **data, size_t *len,
		    struct nri_message *ret_message)
{
	take_back(reader);
	while (*len > 0) {
		struct nri_stream *stream;
		size_t used = 0;
		int err = reader->nr_header < FRAME_HEADER
				  ? take_header(reader, *data, *len, &used)
				  : take_payload(reader, *data, *len, &used);

		if (err)
			return err;
		*data += used;
		*len -= used;
		stream = reader->given;
		if (stream) {
			*ret_message = (struct nri_message){
				.connection = (enum nri_connection)(stream - reader->streams),
				.stream = get_u32(stream->header + 4),
				.type = stream->header[8],
				.data = stream->data,
				.len = stream->len,
			};
			return 1;
		}
	}
	return 0;
}

bool nri_reader_is_amid(const struct nri_reader *reader)
{
	if (reader->nr_header)
		return true;
	for (size_t i = 0; i < NRI_CONNECTION_NR; i++) {
		const struct nri_stream *stream = &reader->streams[i];

		if (stream->nr_header && stream != reader->given)
			return true;
	}
	return false;
}

/* --- writing ------------------------------------------------------------------------------- */

void nri_output_fini(struct nri_output *output)
{
	free(output->data);
	*output = (struct nri_output){0};
}

/* Room for `len` more bytes behind those that are to be written. */
static int make_room(struct nri_output *output, size_t len)
{
	size_t pending = output->end - output->start;

	if (pending + len > NRI_OUTPUT_MAX)
		return -ENOBUFS;
	if (output->start) {
		memmove(output->data, output->data + output->start, pending);
		output->start = 0;
		output->end = pending;
	}
	return grow(&output->data, &output->capacity, pending + len, NRI_OUTPUT_MAX);
}

static void put(struct nri_output *output, const void *bytes, size_t len)
{
	if (len)
		memcpy(output->data + output->end, bytes, len);
	output->end += len;
}

static void put_frame_header(struct nri_output *output, enum nri_connection connection, size_t len)
{
	uint8_t header[FRAME_HEADER];

	put_u32(header, connection);
	put_u32(header + 4, (uint32_t)len);
	put(output, header, sizeof(header));
}

int nri_output_add(struct nri_output *output, const struct nri_message *message)
{
	uint8_t header[MESSAGE_HEADER] = {[8] = message->type};
	size_t first = smaller(message->len, FIRST_FRAME - MESSAGE_HEADER);
	int err;

	if (message->len > NRI_WRITE_MAX)
		return -EMSGSIZE;
	err = make_room(output, 2 * FRAME_HEADER + MESSAGE_HEADER + message->len);
	if (err)
		return err;
	put_u32(header, (uint32_t)message->len);
	put_u32(header + 4, message->stream);
	put_frame_header(output, message->connection, MESSAGE_HEADER + first);
	put(output, header, sizeof(header));
	put(output, message->data, first);
	if (message->len > first) {
		put_frame_header(output, message->connection, message->len - first);
		put(output, message->data + first, message->len - first);
	}
	return 0;
}

void nri_output_drop(struct nri_output *output, size_t len)
{
	output->start += smaller(len, output->end - output->start);
	if (output->start == output->end)
		output->start = output->end = 0;
	if (!output->end && output->capacity > KEPT_CAPACITY)
		nri_output_fini(output);
}
