// SPDX-License-Identifier: Apache-2.0
/*
 * Names end up in messages and in labels of metrics, and a container's maker can influence the
 * file, so only what looks like a name is accepted.
 */
#include "format/bundle.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <json-c/json.h>

#include "lib/cleanup.h"
#include "lib/json.h"
#include "lib/text.h"

/* A bundle nests seven levels: linux, seccomp, syscalls, args. */
#define MAX_DEPTH 32

/* Both runtimes state the same things. CRI-O writes the labels of the CRI as annotations. */
static const struct {
	const char *kind, *uid, *namespace, *pod, *container;
} annotation_keys[] = {
	{"io.kubernetes.cri.container-type", "io.kubernetes.cri.sandbox-uid",
	 "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name",
	 "io.kubernetes.cri.container-name"},
	{"io.kubernetes.cri-o.ContainerType", "io.kubernetes.pod.uid",
	 "io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name"},
};

static int parse_object(const char *data, size_t len, struct json_object **ret_root)
{
	struct json_tokener *tokener;
	struct json_object *root;

	if (len > INT_MAX)
		return -EINVAL;
	tokener = json_tokener_new_ex(MAX_DEPTH);
	if (!tokener)
		return -ENOMEM;
	/* NULL also if there is an error, or no end. */
	root = json_tokener_parse_ex(tokener, data, (int)len);
	json_tokener_free(tokener);
	if (!json_object_is_type(root, json_type_object)) {
		json_object_put(root);
		return -EINVAL;
	}
	*ret_root = root;
	return 0;
}

static bool is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '-' && c != '.' && c != '_')
			return false;
	}
	return len;
}

/* NULL = there is no such annotation, or it is not text. */
static const char *find_text(struct json_object *annotations, const char *key, size_t *ret_len)
{
	struct json_object *value;

	if (!json_object_object_get_ex(annotations, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	*ret_len = (size_t)json_object_get_string_len(value);
	return json_object_get_string(value);
}

static void read_name(struct json_object *annotations, const char *key, char *name, size_t size)
{
	size_t len = 0; /* of no text, which is not a name either */
	const char *text = find_text(annotations, key, &len);

	if (len < size && is_name(text, len))
		text_copy(name, size, text);
}

static enum bundle_kind read_kind(struct json_object *annotations, const char *key)
{
	size_t len;
	const char *text = find_text(annotations, key, &len);

	if (text && !strcmp(text, "sandbox"))
		return BUNDLE_SANDBOX;
	return text && !strcmp(text, "container") ? BUNDLE_CONTAINER : BUNDLE_UNSTATED;
}

static void read_annotations(struct json_object *annotations, struct bundle *bundle)
{
	for (size_t i = 0; i < ARRAY_SIZE(annotation_keys) && !bundle->kind; i++) {
		bundle->kind = read_kind(annotations, annotation_keys[i].kind);
		if (!bundle->kind)
			continue;
		read_name(annotations, annotation_keys[i].uid, bundle->uid, sizeof(bundle->uid));
		read_name(annotations, annotation_keys[i].namespace, bundle->namespace,
			  sizeof(bundle->namespace));
		read_name(annotations, annotation_keys[i].pod, bundle->pod, sizeof(bundle->pod));
		/* CRI-O names the sandbox's container POD, which is not a container of the pod. */
		if (bundle->kind == BUNDLE_CONTAINER)
			read_name(annotations, annotation_keys[i].container, bundle->container,
				  sizeof(bundle->container));
	}
}

/* linux.resources.TYPE.NAME; 0 = it is not there, or no number. */
static int64_t read_resource(struct json_object *root, const char *type, const char *name)
{
	const char *const keys[] = {"linux", "resources", type, name};
	struct json_object *value = root;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!json_object_object_get_ex(value, keys[i], &value))
			return 0;
	return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
}

int bundle_parse(const char *data, size_t len, struct bundle *ret_bundle)
{
	struct json_object *root cleanup_json = NULL, *annotations = NULL;
	struct bundle bundle = {.kind = BUNDLE_UNSTATED};
	int r = parse_object(data, len, &root);

	if (r)
		return r;
	if (json_object_object_get_ex(root, "annotations", &annotations)) {
		if (!json_object_is_type(annotations, json_type_object))
			return -EINVAL;
		read_annotations(annotations, &bundle);
	}
	bundle.cpu_shares = read_resource(root, "cpu", "shares");
	bundle.cpu_quota_us = read_resource(root, "cpu", "quota");
	bundle.cpu_period_us = read_resource(root, "cpu", "period");
	bundle.memory_bytes = read_resource(root, "memory", "limit");
	*ret_bundle = bundle;
	return 0;
}
