// SPDX-License-Identifier: Apache-2.0
/* Typed references of the command line, and looking things up in JSON. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"

struct json_object *json_filter(struct json_object *array,
				bool (*keep)(struct json_object *item, const void *data),
				const void *data)
{
	struct json_object *kept = json_object_new_array();

	for (size_t i = 0; kept && i < json_object_array_length(array); i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		if (!keep(item, data))
			continue;
		if (json_object_array_add(kept, json_object_get(item))) {
			json_object_put(item);
			json_object_put(kept);
			return NULL;
		}
	}
	return kept;
}

static int parse_name(struct session *session, const char *word, struct pod_ref *ref)
{
	const char *slash = strchr(word, '/');
	size_t len = slash ? (size_t)(slash - word) : strlen("default");
	const char *name = slash ? slash + 1 : word;

	if (!len || len >= sizeof(ref->namespace) || !*name || strchr(name, '/') ||
	    strlen(name) >= sizeof(ref->name))
		return out_fail(session, STATUS_USAGE,
				"invalid pod '%.60s': expected [NAMESPACE/]NAME or uid UID", word);
	snprintf(ref->namespace, sizeof(ref->namespace), "%.*s", (int)len,
		 slash ? word : "default");
	snprintf(ref->name, sizeof(ref->name), "%s", name);
	return STATUS_DONE;
}

int ref_parse_pod(struct session *session, int *argc, char ***argv, struct pod_ref *ret_ref)
{
	struct pod_ref ref = {0};
	bool uid, named;
	int r = STATUS_DONE;

	if (!*argc)
		return out_fail(session, STATUS_USAGE,
				"a pod is missing; write [NAMESPACE/]NAME or uid UID");
	uid = !strcmp((*argv)[0], "uid");
	named = !strcmp((*argv)[0], "name") || !strcmp((*argv)[0], "pod");
	if ((uid || named) && *argc < 2)
		return out_fail(session, STATUS_USAGE, "a value is missing after '%s'", (*argv)[0]);
	*argv += uid || named;
	*argc -= uid || named;
	if (uid)
		ref.uid = (*argv)[0];
	else
		r = parse_name(session, (*argv)[0], &ref);
	if (r)
		return r;
	++*argv;
	--*argc;
	*ret_ref = ref;
	return STATUS_DONE;
}

int ref_parse_container(struct session *session, int argc, char **argv,
			struct container_ref *ret_ref)
{
	struct container_ref ref = {0};
	int r;

	r = ref_parse_pod(session, &argc, &argv, &ref.pod);
	if (r)
		return r;
	if (argc && is_prefix(argv[0], "container")) {
		if (argc < 2)
			return out_fail(session, STATUS_USAGE, "a name is missing after '%.60s'",
					argv[0]);
		ref.container = argv[1];
		argc -= 2;
		argv += 2;
	}
	if (argc)
		return unexpected(session, argv[0], "container NAME, or no more arguments");
	*ret_ref = ref;
	return STATUS_DONE;
}

bool ref_matches(const struct pod_ref *ref, const char *uid, const char *namespace,
		 const char *name)
{
	if (ref->uid)
		return is_same_text(uid, ref->uid);
	return is_same_text(namespace, ref->namespace) && is_same_text(name, ref->name);
}

const char *ref_text(const struct pod_ref *ref, char *buffer, size_t size)
{
	if (ref->uid)
		snprintf(buffer, size, "uid %s", ref->uid);
	else
		snprintf(buffer, size, "%s/%s", ref->namespace, ref->name);
	return buffer;
}

int ref_missing(struct session *session, const char *what, const struct pod_ref *ref,
		const char *container)
{
	char buffer[2 * POD_NAME_MAX + 8];

	return out_fail(session, STATUS_INPUT,
			"%s %s%s%s is not in the ledger; see 'pinfold %s show' and 'pinfold pod "
			"refused'",
			what, ref_text(ref, buffer, sizeof(buffer)), container ? "/" : "",
			container ? container : "", what);
}

int ref_no_rows(struct session *session, const struct pod_ref *ref, const char *missing)
{
	char buffer[2 * POD_NAME_MAX + 8];

	return out_fail(session, STATUS_INPUT, "pod %s %s", ref_text(ref, buffer, sizeof(buffer)),
			missing);
}

int ref_parse_cpus(struct session *session, const char *word, struct cpuset *ret_cpus)
{
	int r = cpuset_parse(word, strlen(word), ret_cpus);

	if (r == -ERANGE)
		return out_fail(session, STATUS_INPUT,
				"invalid CPU list '%.60s': expected CPU "
				"numbers up to %d",
				word, CPUSET_MAX - 1);
	if (r || cpuset_is_empty(ret_cpus))
		return out_fail(session, STATUS_INPUT,
				"invalid CPU list '%.60s': expected numbers and ranges, e.g. "
				"0-3,8",
				word);
	return STATUS_DONE;
}
