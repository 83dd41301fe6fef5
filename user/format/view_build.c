// SPDX-License-Identifier: Apache-2.0
/* Steps of building an object that either comes out whole or not at all. */
#include "format/view_build.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/text.h"

struct json_object *build_checked(struct build *build, struct json_object *json)
{
	if (!json)
		build->failed = true;
	return json;
}

struct json_object *build_finish(const struct build *build, struct json_object *json)
{
	if (!build->failed)
		return json;
	json_object_put(json);
	return NULL;
}

void build_put(struct build *build, struct json_object *object, const char *key,
	       struct json_object *value)
{
	if (!object || json_object_object_add(object, key, value)) {
		json_object_put(value);
		build->failed = true;
	}
}

void build_push(struct build *build, struct json_object *array, struct json_object *item)
{
	if (!array || !item || json_object_array_add(array, item)) {
		json_object_put(item);
		build->failed = true;
	}
}

/* Bytes of the UTF-8 character at `text`, 0 if there is none. RFC 3629, surrogates let through. */
static size_t utf8_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80	 ? 1
			: text[0] < 0xc2 ? 0
			: text[0] < 0xe0 ? 2
			: text[0] < 0xf0 ? 3
			: text[0] < 0xf5 ? 4
					 : 0;

	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

/*
 * A process chooses its own name, any bytes but NUL; JSON allows UTF-8 only,
 * and json-c passes on what it gets. Other bytes become U+FFFD.
 */
static struct json_object *text_of(struct build *build, const char *text)
{
	cleanup_text struct text clean = {0};
	const char *at = text;

	while (*at) {
		size_t length = utf8_length((const unsigned char *)at);

		if (length)
			text_append_len(&clean, at, length);
		else
			text_append(&clean, "\xef\xbf\xbd");
		at += length ? length : 1;
	}
	if (clean.error) {
		build->failed = true;
		return NULL;
	}
	return build_checked(build, json_object_new_string(clean.data ? clean.data : ""));
}

void build_put_text(struct build *build, struct json_object *object, const char *key,
		    const char *text)
{
	build_put(build, object, key, text ? text_of(build, text) : NULL);
}

void build_put_given(struct build *build, struct json_object *object, const char *key,
		     const char *text)
{
	build_put_text(build, object, key, text && *text ? text : NULL);
}

void build_put_int(struct build *build, struct json_object *object, const char *key, int64_t value)
{
	build_put(build, object, key, build_checked(build, json_object_new_int64(value)));
}

/* Negative = not known. */
void build_put_known(struct build *build, struct json_object *object, const char *key,
		     int64_t value)
{
	if (value < 0)
		build_put(build, object, key, NULL);
	else
		build_put_int(build, object, key, value);
}

void build_put_seconds(struct build *build, struct json_object *object, const char *key,
		       int64_t value_ns)
{
	char digits[40];

	if (value_ns < 0) {
		build_put(build, object, key, NULL);
		return;
	}
	/* json-c would print 17 digits of the double, noise after the ninth decimal */
	snprintf(digits, sizeof(digits), "%" PRId64 ".%09" PRId64, value_ns / 1000000000,
		 value_ns % 1000000000);
	build_put(build, object, key,
		  build_checked(build, json_object_new_double_s((double)value_ns / 1e9, digits)));
}

void build_put_bool(struct build *build, struct json_object *object, const char *key, bool value)
{
	build_put(build, object, key, build_checked(build, json_object_new_boolean(value)));
}

void build_put_answer(struct build *build, struct json_object *object, const char *key, int value)
{
	if (value < 0)
		build_put(build, object, key, NULL);
	else
		build_put_bool(build, object, key, value != 0);
}

void build_put_set(struct build *build, struct json_object *object, const char *key,
		   const struct cpuset *set)
{
	cleanup_free char *list = NULL;
	size_t size;

	if (!set) {
		build_put(build, object, key, NULL);
		return;
	}
	size = cpuset_format(set, NULL, 0) + 1;
	list = malloc(size);
	if (!list) {
		build->failed = true;
		return;
	}
	cpuset_format(set, list, size);
	build_put_text(build, object, key, list);
}

struct json_object *build_object(struct build *build)
{
	return build_checked(build, json_object_new_object());
}

struct json_object *build_array(struct build *build)
{
	return build_checked(build, json_object_new_array());
}

void build_push_text(struct build *build, struct json_object *array, const char *text)
{
	build_push(build, array, text_of(build, text));
}
