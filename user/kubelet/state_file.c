// SPDX-License-Identifier: Apache-2.0
/*
 * What the kubelet's two state files have in common: JSON of one object, an FNV-1a
 * checksum over a dump of it, and since 1.37 the content once more as text.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kubelet/state_file.h"

#define MAX_DEPTH 12

/* --- reading ---------------------------------------------------------------------------------- */

int kubelet_refuse(struct kubelet_reader *reader, enum kubelet_fault fault, const char *format, ...)
{
	va_list args;

	reader->fault = fault;
	va_start(args, format);
	vsnprintf(reader->error, reader->error_size, format, args);
	va_end(args);
	return -EINVAL;
}

int kubelet_put_before(struct kubelet_reader *reader, const char *format, ...)
{
	char rest[256];
	va_list args;
	int len;

	snprintf(rest, sizeof(rest), "%s", reader->error);
	va_start(args, format);
	len = vsnprintf(reader->error, reader->error_size, format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < reader->error_size)
		snprintf(reader->error + len, reader->error_size - (size_t)len, ": %s", rest);
	return -EINVAL;
}

int kubelet_refuse_sum(struct kubelet_reader *reader, int64_t written)
{
	kubelet_refuse(reader, KUBELET_FAULT_CHECKSUM,
		       "checksum %lld does not match the content; the file was edited or cut",
		       (long long)written);
	return reader->kubelet->release == KUBELET_1_37
		       ? kubelet_put_before(reader, "checkpoint is corrupted")
		       : -EINVAL;
}

int kubelet_check_policy(struct kubelet_reader *reader, const char *prefix, const char *policy)
{
	const struct kubelet *kubelet = reader->kubelet;

	if (strcmp(policy, kubelet->policy) == 0)
		return 0;
	if (kubelet->release == KUBELET_1_37)
		return kubelet_refuse(reader, KUBELET_FAULT_POLICY,
				      "%sconfigured policy \"%.40s\" differs from state checkpoint "
				      "policy \"%.40s\"",
				      prefix, kubelet->policy, policy);
	return kubelet_refuse(reader, KUBELET_FAULT_POLICY,
			      "written under policy '%.40s', expected '%.40s'", policy,
			      kubelet->policy);
}

const char *kubelet_plain_string(struct json_object *value)
{
	const char *text;

	if (!value)
		return "";
	if (!json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

struct json_object *kubelet_member(struct json_object *object, const char *name)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, name, &value);
	return value;
}

int kubelet_check_object(struct kubelet_reader *reader, struct json_object *value, const char *what)
{
	if (value && !json_object_is_type(value, json_type_object))
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "'%.60s' is not an object",
				      what);
	return 0;
}

int kubelet_parse_json(struct kubelet_reader *reader, const char *data, size_t len,
		       struct json_object **ret_root)
{
	struct json_tokener *tokener;
	struct json_object *root;
	enum json_tokener_error problem;

	if (len > KUBELET_STATE_MAX_BYTES)
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "larger than %d bytes",
				      KUBELET_STATE_MAX_BYTES);
	if (!len)
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "the file is empty");
	tokener = json_tokener_new_ex(MAX_DEPTH);
	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	root = json_tokener_parse_ex(tokener, data, (int)len);
	/* The end of the text is also the end of a word such as null. */
	if (json_tokener_get_error(tokener) == json_tokener_continue)
		root = json_tokener_parse_ex(tokener, "", 1);
	problem = json_tokener_get_error(tokener);
	json_tokener_free(tokener);
	if (problem == json_tokener_success && !root && reader->kubelet->release != KUBELET_ANY)
		root = json_object_new_object();
	if (problem != json_tokener_success || !json_object_is_type(root, json_type_object)) {
		json_object_put(root);
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "not a JSON object: %s",
				      problem == json_tokener_success
					      ? "something else"
					      : json_tokener_error_desc(problem));
	}
	*ret_root = root;
	return 0;
}

void kubelet_note_unknown(struct kubelet_reader *reader, struct json_object *object,
			  const char *const *known)
{
	json_object_object_foreach (object, name, value) {
		const char *const *at = known;

		(void)value;
		while (*at && strcmp(*at, name) != 0)
			at++;
		if (!*at && !*reader->unknown)
			snprintf(reader->unknown, sizeof(reader->unknown), "%.40s", name);
	}
}

int kubelet_judge_unknown(struct kubelet_reader *reader, int r, bool verified, const char *newest)
{
	if (!*reader->unknown || r == -ENOMEM)
		return r;
	if (r < 0 && reader->kubelet->release == KUBELET_1_37)
		return r;
	if (r < 0 || (!verified && reader->kubelet->release != KUBELET_1_37))
		return kubelet_refuse(reader, KUBELET_FAULT_VERSION,
				      "'%s' is not part of any version up to %s, the newest "
				      "supported one; the file is from a newer kubelet",
				      reader->unknown, newest);
	snprintf(reader->warning, sizeof(reader->warning),
		 "ignoring '%s', which is not part of any version up to %s: a newer kubelet "
		 "wrote it; the checksum covers the rest",
		 reader->unknown, newest);
	return 0;
}

static uint32_t sum_of_data(const char *data)
{
	return kubelet_sum(kubelet_sum(KUBELET_SUM_START, "(string)"), data);
}

static bool is_sum(struct json_object *value)
{
	return !value ||
	       (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0);
}

/* The same order as in the kubelet: the file, the text, its checksum. */
int kubelet_read_data(struct kubelet_reader *reader, struct json_object *root, const char *what,
		      struct json_object **ret_inner)
{
	const char *data = kubelet_plain_string(kubelet_member(root, "data"));
	struct json_object *value = kubelet_member(root, "dataChecksum");
	struct json_object *inner;
	int r;

	if (!data || !is_sum(value)) {
		kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE,
			       "data or dataChecksum is malformed");
		return kubelet_put_before(reader, "failed to deserialize %s checkpoint", what);
	}
	r = kubelet_parse_json(reader, data, strlen(data), &inner);
	if (r == -EINVAL)
		return kubelet_put_before(reader, "failed to deserialize %s checkpoint data", what);
	if (r < 0)
		return r;
	if (json_object_get_int64(value) != sum_of_data(data)) {
		json_object_put(inner);
		kubelet_refuse(reader, KUBELET_FAULT_CHECKSUM,
			       "dataChecksum does not match the data");
		return kubelet_put_before(reader, "checkpoint is corrupted");
	}
	*ret_inner = inner;
	return 0;
}

/* Go decodes a member of another type as if it was absent. */
bool kubelet_has_data(struct json_object *root)
{
	struct json_object *data = kubelet_member(root, "data");
	struct json_object *value = kubelet_member(root, "dataChecksum");

	return (json_object_is_type(data, json_type_string) && json_object_get_string_len(data)) ||
	       (is_sum(value) && json_object_get_int64(value) > 0);
}

/* --- writing ---------------------------------------------------------------------------------- */

void kubelet_append_string(struct text *text, const char *string)
{
	text_append(text, "\"");
	for (const char *c = string; *c; c++) {
		if (*c == '"' || *c == '\\')
			text_printf(text, "\\%c", *c);
		else if ((unsigned char)*c < 0x20 || *c == '<' || *c == '>' || *c == '&')
			text_printf(text, "\\u%04x", (unsigned char)*c);
		else
			text_append_len(text, c, 1);
	}
	text_append(text, "\"");
}

uint32_t kubelet_sum(uint32_t sum, const char *string)
{
	for (const unsigned char *byte = (const unsigned char *)string; *byte; byte++)
		sum = (sum ^ *byte) * 16777619U;
	return sum;
}

int kubelet_append_data(struct text *text, const char *data)
{
	text_append(text, ",\"data\":");
	kubelet_append_string(text, data);
	text_printf(text, ",\"dataChecksum\":%u", sum_of_data(data));
	return text->error;
}

const char *kubelet_fault_name(enum kubelet_fault fault)
{
	static const char *const names[KUBELET_FAULT_NR] = {
		[KUBELET_FAULT_NONE] = "none",
		[KUBELET_FAULT_UNREADABLE] = "restore-failed",
		[KUBELET_FAULT_CHECKSUM] = "corrupt",
		[KUBELET_FAULT_POLICY] = "policy-differs",
		[KUBELET_FAULT_CPUSET] = "bad-cpuset",
		[KUBELET_FAULT_VERSION] = "newer-version",
	};

	return names[fault];
}
