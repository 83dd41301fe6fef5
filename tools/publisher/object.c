// SPDX-License-Identifier: Apache-2.0
#include "lib/json.h"
#include "object.h"

#include <errno.h>
#include <limits.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 16

static void free_tokener(struct json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}
#define cleanup_tokener cleanup(free_tokener)

static int bad(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int bad(char *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, OBJECT_ERROR_MAX, format, args);
	va_end(args);
	text_make_printable(error);
	return -EBADMSG;
}

/* An object and nothing behind it. */
static int parse(const char *answer, size_t len, struct json_object **ret_object, char *error)
{
	struct json_tokener *tokener cleanup_tokener = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *object cleanup_json = NULL;
	enum json_tokener_error problem;

	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, answer, len > INT_MAX ? INT_MAX : (int)len);
	problem = json_tokener_get_error(tokener);
	if (problem != json_tokener_success)
		return bad(error, "cannot parse it: %s", json_tokener_error_desc(problem));
	if (!json_object_is_type(object, json_type_object))
		return bad(error, "it is not a JSON object");
	*ret_object = TAKE_PTR(object);
	return 0;
}

static int expect_text(struct json_object *object, const char *key, const char *value, char *error)
{
	const char *is = json_object_get_string(json_object_object_get(object, key));

	if (!is || strcmp(is, value))
		return bad(error, "its %s is '%.60s', not '%s'", key, is ? is : "", value);
	return 0;
}

/* `add` is owned by the result, also on failure. */
static int put(struct json_object *object, const char *key, struct json_object *add)
{
	if (!add || json_object_object_add(object, key, add)) {
		json_object_put(add);
		return -ENOMEM;
	}
	return 0;
}

/* Whose object this is, so that those of nodes that are gone can be found. */
static struct json_object *make_metadata(const char *node)
{
	struct json_object *metadata cleanup_json = json_object_new_object();
	struct json_object *labels cleanup_json = json_object_new_object();

	if (!metadata || !labels ||
	    put(labels, "app.kubernetes.io/managed-by", json_object_new_string("pinfold")) ||
	    put(metadata, "name", json_object_new_string(node)) ||
	    put(metadata, "labels", json_object_get(labels)))
		return NULL;
	return TAKE_PTR(metadata);
}

int object_read(const char *answer, size_t len, const char *node, struct text *out, char *error)
{
	struct json_object *object cleanup_json = NULL;
	int r = parse(answer, len, &object, error);

	if (!r)
		r = expect_text(object, "apiVersion", "topology.node.k8s.io/v1alpha2", error);
	if (!r)
		r = expect_text(object, "kind", "NodeResourceTopology", error);
	if (!r && !json_object_is_type(json_object_object_get(object, "zones"), json_type_array))
		r = bad(error, "it has no zones");
	if (!r)
		r = put(object, "metadata", make_metadata(node));
	/* Deprecated in favour of the attributes, but the first releases of v1alpha2 require it. */
	if (!r && !json_object_object_get(object, "topologyPolicies"))
		r = put(object, "topologyPolicies", json_object_new_array());
	if (r)
		return r;
	text_append(out, json_object_to_json_string_ext(
				 object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	return out->error;
}

void object_read_error(const char *answer, size_t len, char ret_sentence[OBJECT_ERROR_MAX])
{
	struct json_object *object cleanup_json = NULL;
	char ignored[OBJECT_ERROR_MAX];
	const char *message = NULL;

	ret_sentence[0] = '\0';
	/* A proxy on the way answers in whatever form; the status says enough then. */
	if (parse(answer, len, &object, ignored))
		return;
	message = json_object_get_string(json_object_object_get(object, "message"));
	text_copy(ret_sentence, OBJECT_ERROR_MAX, message ? message : "");
	text_make_printable(ret_sentence);
}
