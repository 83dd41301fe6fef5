// SPDX-License-Identifier: Apache-2.0
/* pod and container: what was granted, and what the kernel has. */
#include <stdio.h>
#include <string.h>

#include "inspect.h"

/* --- pod -------------------------------------------------------------------------------------- */

static bool pod_wanted(struct json_object *item, const void *data)
{
	return ref_matches(data, item, "name");
}

static int no_such(struct session *session, const char *what, const struct pod_ref *ref,
		   const char *container)
{
	char buffer[2 * POD_NAME_MAX + 8];

	return out_fail(session, STATUS_INPUT,
			"%s %s%s%s: not in the ledger; 'pinfold %s show' lists what is, 'pinfold "
			"event show' says why one was refused",
			what, ref_text(ref, buffer, sizeof(buffer)), container ? "/" : "",
			container ? container : "", what);
}

static int pod_show(struct session *session, int argc, char **argv)
{
	cleanup_json struct json_object *all = NULL, *some = NULL;
	struct pod_ref ref;
	int r;

	if (argc) {
		r = ref_parse_pod(session, &argc, &argv, &ref);
		if (r)
			return r;
		if (argc)
			return unexpected(session, argv[0], "nothing more");
		argc = 1;
	}
	r = source_fetch(session, "pod", &all);
	if (r || !argc)
		return r ? r : out_object(session, &view_pod_desc, TAKE_PTR(all));
	some = json_filter(all, pod_wanted, &ref);
	if (!some)
		return out_no_memory(session);
	if (!json_object_array_length(some))
		return no_such(session, "pod", &ref, NULL);
	return out_object(session, &view_pod_desc,
			  json_object_get(json_object_array_get_idx(some, 0)));
}

static const struct command pod_commands[] = {
	{"show", "list", "[POD]", "Pods: QoS class, bubble, exclusive CPUs, pool, containers.",
	 pod_show},
	{0},
};

const struct noun noun_pod = {
	.name = "pod",
	.help = "Pods and what they were granted.",
	.commands = pod_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};

/* --- container -------------------------------------------------------------------------------- */

struct container_ref {
	struct pod_ref pod;
	const char *container; /* NULL = all of the pod */
};

static bool container_wanted(struct json_object *item, const void *data)
{
	const struct container_ref *ref = data;

	return ref_matches(&ref->pod, item, "pod") &&
	       (!ref->container || !strcmp(json_text(item, "container"), ref->container));
}

static int parse_container(struct session *session, int argc, char **argv,
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
		return unexpected(session, argv[0], "container NAME, or nothing more");
	*ret_ref = ref;
	return STATUS_DONE;
}

static int container_show(struct session *session, int argc, char **argv)
{
	cleanup_json struct json_object *all = NULL, *some = NULL;
	struct container_ref ref = {0};
	int r;

	if (argc) {
		r = parse_container(session, argc, argv, &ref);
		if (r)
			return r;
	}
	r = source_fetch(session, "container", &all);
	if (r || !argc)
		return r ? r : out_object(session, &view_container_desc, TAKE_PTR(all));
	some = json_filter(all, container_wanted, &ref);
	if (!some)
		return out_no_memory(session);
	if (!json_object_array_length(some))
		return no_such(session, "container", &ref.pod, ref.container);
	if (!ref.container)
		return out_object(session, &view_container_desc, TAKE_PTR(some));
	return out_object(session, &view_container_desc,
			  json_object_get(json_object_array_get_idx(some, 0)));
}

static const struct command container_commands[] = {
	{"show", "list", "[POD | CONTAINER]",
	 "Containers: CPUs, memory nodes and quota decided, and what the kernel has.",
	 container_show},
	{0},
};

const struct noun noun_container = {
	.name = "container",
	.help = "Containers: decided and in force.",
	.commands = container_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};
