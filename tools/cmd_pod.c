// SPDX-License-Identifier: Apache-2.0
/* pod and container: what was granted, and what the kernel has. */
#include <stdio.h>
#include <string.h>

#include "simulation.h"

/* --- pod -------------------------------------------------------------------------------------- */

static bool pod_wanted(struct json_object *item, const void *data)
{
	struct view_pod row;

	object_read(&view_pod_desc, item, &row);
	return ref_matches(data, row.uid, row.namespace, row.name);
}

static bool refusal_wanted(struct json_object *item, const void *data)
{
	struct view_refusal row;

	object_read(&view_refusal_desc, item, &row);
	return ref_matches(data, row.uid, row.namespace, row.name);
}

static bool explain_wanted(struct json_object *item, const void *data)
{
	struct view_explain row;

	object_read(&view_explain_desc, item, &row);
	return ref_matches(data, row.uid, row.namespace, row.name);
}

/* The one of `all` that is meant; borrowed from *ret_some, NULL = none is. */
static int pick(struct session *session, struct json_object *all,
		bool (*is_wanted)(struct json_object *item, const void *ref),
		const struct pod_ref *ref, struct json_object **ret_some,
		struct json_object **ret_one)
{
	*ret_some = json_filter(all, is_wanted, ref);
	if (!*ret_some)
		return out_no_memory(session);
	*ret_one = json_object_array_length(*ret_some) ? json_object_array_get_idx(*ret_some, 0)
						       : NULL;
	return STATUS_DONE;
}

/* [POD]; *ret_one says whether there is one. */
static int parse_optional_pod(struct session *session, int argc, char **argv,
			      struct pod_ref *ret_ref, bool *ret_one)
{
	int r = STATUS_DONE;

	*ret_one = argc;
	if (argc)
		r = ref_parse_pod(session, &argc, &argv, ret_ref);
	if (!r && argc)
		return unexpected(session, argv[0], "no more arguments");
	return r;
}

/* The pods, and in plain text below them those that are refused. */
static int show_all(struct session *session, struct json_object *pods)
{
	struct json_object *refusals cleanup_json = NULL;
	int r = out_object(session, &view_pod_desc, pods);

	if (r || session->options.json)
		return r;
	r = source_add(session, "refusal", &refusals);
	if (r || !refusals)
		return r;
	return out_object(session, &view_refusal_desc, TAKE_PTR(refusals));
}

/* Not in the ledger: refused, which has its reason, or not known at all. */
static int not_admitted(struct session *session, const struct pod_ref *ref)
{
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	struct json_object *refusal = NULL;
	char buffer[2 * POD_NAME_MAX + 8];
	struct view_refusal row;
	int r = source_add(session, "refusal", &all);

	if (!r && all)
		r = pick(session, all, refusal_wanted, ref, &some, &refusal);
	if (r)
		return r;
	if (!refusal)
		return ref_missing(session, "pod", ref, NULL);
	ref_text(ref, buffer, sizeof(buffer));
	object_read(&view_refusal_desc, refusal, &row);
	return out_fail(session, STATUS_FINDING,
			"pod %s is refused: %s: %.300s; see 'pinfold pod explain %s'", buffer,
			row.reason ? row.reason : "", row.message ? row.message : "", buffer);
}

static int pod_show(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	struct json_object *pod = NULL;
	struct pod_ref ref;
	bool one;
	int r;

	r = parse_optional_pod(session, argc, argv, &ref, &one);
	if (!r)
		r = fetch_noun(session, "pod", &all);
	if (r || !one)
		return r ? r : show_all(session, TAKE_PTR(all));
	r = pick(session, all, pod_wanted, &ref, &some, &pod);
	if (r)
		return r;
	return pod ? out_object(session, &view_pod_desc, json_object_get(pod))
		   : not_admitted(session, &ref);
}

static int pod_refused(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	struct json_object *refusal = NULL;
	char buffer[2 * POD_NAME_MAX + 8];
	struct pod_ref ref;
	bool one;
	int r;

	r = parse_optional_pod(session, argc, argv, &ref, &one);
	if (!r)
		r = fetch_noun(session, "refusal", &all);
	if (r || !one)
		return r ? r : out_object(session, &view_refusal_desc, TAKE_PTR(all));
	r = pick(session, all, refusal_wanted, &ref, &some, &refusal);
	if (r)
		return r;
	if (!refusal)
		return out_fail(session, STATUS_INPUT,
				"pod %s is not refused; see 'pinfold pod refused'",
				ref_text(&ref, buffer, sizeof(buffer)));
	return out_object(session, &view_refusal_desc, json_object_get(refusal));
}

/* As if the file were written to the manifests directory now. */
static int explain_file(struct session *session, int argc, char **argv)
{
	struct simulation simulation cleanup_simulation = {0};
	int r;

	if (argc != 1)
		return out_fail(session, STATUS_USAGE,
				"invalid arguments: expected 'pod explain "
				"file FILE'");
	r = simulation_open(session, &simulation);
	if (!r)
		r = simulation_pods(&simulation, argv[0], 1);
	if (!r)
		r = out_object(session, &view_explain_desc, simulation_explain(&simulation));
	return r ? r : simulation_status(&simulation);
}

static int pod_explain(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	struct json_object *found = NULL;
	struct pod_ref ref;
	struct view_explain row;
	int r;

	if (argc && !strcmp(argv[0], "file"))
		return explain_file(session, argc - 1, argv + 1);
	r = ref_parse_pod(session, &argc, &argv, &ref);
	if (!r && argc)
		r = unexpected(session, argv[0], "no more arguments");
	if (!r)
		r = fetch_noun(session, "explain", &all);
	if (!r)
		r = pick(session, all, explain_wanted, &ref, &some, &found);
	if (r)
		return r;
	if (!found)
		return ref_missing(session, "pod", &ref, NULL);
	object_read(&view_explain_desc, found, &row);
	r = out_object(session, &view_explain_desc, json_object_get(found));
	if (r)
		return r;
	return row.reason ? STATUS_FINDING : STATUS_DONE;
}

static const struct command pod_commands[] = {
	{"show", "list", "[POD]", "Show QoS class, bubble, exclusive CPUs, pool and containers.",
	 pod_show},
	{"refused", NULL, "[POD]", "Show the pods that were not admitted, and why.", pod_refused},
	{"explain", NULL, "{ POD | file FILE }",
	 "Explain why a pod has its CPUs, or why it is refused and what to do; exit with 1 if "
	 "refused.",
	 pod_explain},
	{0},
};

const struct noun noun_pod = {
	.name = "pod",
	.help = "Pods and their grants.",
	.commands = pod_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};

/* --- container -------------------------------------------------------------------------------- */

static bool container_wanted(struct json_object *item, const void *data)
{
	const struct container_ref *ref = data;

	struct view_container row;

	object_read(&view_container_desc, item, &row);
	return ref_matches(&ref->pod, row.uid, row.namespace, row.pod) &&
	       (!ref->container || is_same_text(row.container, ref->container));
}

static bool placement_wanted(struct json_object *item, const void *data)
{
	const struct container_ref *ref = data;
	struct view_placement row;

	object_read(&view_placement_desc, item, &row);
	return ref_matches(&ref->pod, row.uid, row.namespace, row.pod) &&
	       (!ref->container || is_same_text(row.container, ref->container));
}

/* Of the rows those of a pod, or the one of a container. */
static int show_of_container(struct session *session, const struct container_ref *ref,
			     const struct object_desc *desc, struct json_object *all,
			     bool (*is_wanted)(struct json_object *item, const void *ref))
{
	struct json_object *some cleanup_json = json_filter(all, is_wanted, ref);

	if (!some)
		return out_no_memory(session);
	if (!json_object_array_length(some))
		return ref_missing(session, "container", &ref->pod, ref->container);
	if (!ref->container)
		return out_object(session, desc, TAKE_PTR(some));
	return out_object(session, desc, json_object_get(json_object_array_get_idx(some, 0)));
}

static int container_show(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL;
	struct container_ref ref = {0};
	int r = argc ? ref_parse_container(session, argc, argv, &ref) : STATUS_DONE;

	if (!r)
		r = fetch_noun(session, "container", &all);
	if (r)
		return r;
	if (!argc)
		return out_object(session, &view_container_desc, TAKE_PTR(all));
	return show_of_container(session, &ref, &view_container_desc, all, container_wanted);
}

static int ask_placement(struct session *session, const struct container_ref *ref,
			 struct json_object **ret_json)
{
	char name[2 * POD_NAME_MAX + 8];
	const struct view_placement_request request = {
		ref->pod.uid ? ref->pod.uid : ref_text(&ref->pod, name, sizeof(name)),
		ref->container};
	struct json_object *body cleanup_json =
		object_json(&view_placement_request_desc, &request, 1);
	struct json_object *json cleanup_json = NULL;
	int r;

	if (!body)
		return out_no_memory(session);
	r = source_ask(session, "/v1/container/placement", json_object_to_json_string(body), &json);
	if (r)
		return r;
	if (!json_object_is_type(json, json_type_array))
		return out_fail(session, STATUS_FAILED,
				"the agent's answer to container placement is not a valid array");
	*ret_json = TAKE_PTR(json);
	return STATUS_DONE;
}

static int container_placement(struct session *session, int argc, char **argv)
{
	struct json_object *rows cleanup_json = NULL;
	struct container_ref ref;
	int r;

	if (session->options.given)
		return out_fail(session, STATUS_USAGE,
				"container placement shows what a running agent measured; omit "
				"--topology, --config and --state");
	if (!argc) {
		r = fetch_noun(session, "placement", &rows);
		return r ? r : out_object(session, &view_placement_desc, TAKE_PTR(rows));
	}
	r = ref_parse_container(session, argc, argv, &ref);
	if (!r)
		r = ask_placement(session, &ref, &rows);
	return r ? r
		 : show_of_container(session, &ref, &view_placement_desc, rows, placement_wanted);
}

static const struct command container_commands[] = {
	{"show", "list", "[POD | CONTAINER]",
	 "Show the CPUs, memory nodes and quota that were decided, and those in the kernel.",
	 container_show},
	{"placement", NULL, "[POD | CONTAINER]",
	 "Show where each container may run, the affinities of its tasks, and where they ran.",
	 container_placement},
	{0},
};

const struct noun noun_container = {
	.name = "container",
	.help = "Containers: the decision and what is in force.",
	.commands = container_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};
