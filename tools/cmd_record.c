// SPDX-License-Identifier: Apache-2.0
/* drift, pressure, latency, memory, noise, feature: lists of what was observed. */
#include <string.h>

#include "inspect.h"
#include "live.h"

static int show_all(struct session *session, const struct object_desc *desc, int argc, char **argv)
{
	struct json_object *list = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, desc->name, &list);
	return r ? r : out_object(session, desc, list);
}

/* --- drift ------------------------------------------------------------------------------------ */

static int drift_show(struct session *session, int argc, char **argv)
{
	return show_all(session, &view_drift_desc, argc, argv);
}

static bool drift_is_open(struct json_object *item, const void *data)
{
	struct view_drift drift;

	object_read(&view_drift_desc, item, &drift);
	return drift.open;
}

static int drift_check(struct session *session, int argc, char **argv)
{
	static const struct selection selection = {&view_drift_desc, drift_is_open, NULL};

	return select_findings(session, &selection, argc, argv);
}

/* A write that the kernel reported but that changed nothing has a row without values. */
static bool drift_is_past(struct json_object *item, const void *data)
{
	struct view_drift drift;

	object_read(&view_drift_desc, item, &drift);
	return !drift.open && drift.wanted && *drift.wanted;
}

static int drift_history(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "drift", &all);
	return r ? r : out_object(session, &view_drift_desc, json_filter(all, drift_is_past, NULL));
}

static int drift_repair(struct session *session, int argc, char **argv)
{
	struct json_object *list = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = source_ask(session, "/v1/drift/repair", "{}", &list);
	return r ? r : out_object(session, &view_drift_desc, list);
}

static const struct command drift_commands[] = {
	{"show", "list", "",
	 "Show where the kernel differs, or differed, from the ledger, and who changed it.",
	 drift_show},
	{"check", NULL, "", "Show open drift; exit with 1 if there is any.", drift_check},
	{"history", NULL, "",
	 "Show the drift that has ended: what was found, what was put "
	 "back, and how long it lasted.",
	 drift_history},
	{"watch", NULL, "[since N] [count N] [pod POD]",
	 "Print events of drift and its repair as they occur, one per "
	 "line.",
	 drift_watch},
	{"repair", NULL, "", "Have the agent repair all drift now, even where it only audits.",
	 drift_repair},
	{0},
};

const struct noun noun_drift = {
	.name = "drift",
	.help = "Differences between the kernel and the decisions.",
	.commands = drift_commands,
	.changing = {"repair"},
};

/* --- pressure, latency, memory, noise ----------------------------------------------------------------- */

#define NOT_IN_LEDGER "is not in the ledger; see 'pinfold pod show'"

/* The rows of an object, or those of one pod. */
static int show_of_pod(struct session *session, int argc, char **argv, const struct noun_rows *rows)
{
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	struct pod_ref ref = {0};
	const bool is_one = argc;
	int r;

	if (is_one) {
		r = ref_parse_pod(session, &argc, &argv, &ref);
		if (r)
			return r;
		if (argc)
			return unexpected(session, argv[0], "no more arguments");
	}
	r = fetch_noun(session, rows->desc->name, &all);
	if (r || !is_one)
		return r ? r : out_object(session, rows->desc, TAKE_PTR(all));
	some = json_filter(all, rows->is_wanted, &ref);
	if (!some)
		return out_no_memory(session);
	if (!json_object_array_length(some))
		r = top_no_rows(session, rows, &ref);
	return r ? r : out_object(session, rows->desc, TAKE_PTR(some));
}

static bool pressure_wanted(struct json_object *item, const void *ref)
{
	struct view_pressure row;

	object_read(&view_pressure_desc, item, &row);
	return ref_matches(ref, row.uid, row.namespace, row.pod);
}

static const struct noun_rows pressure_rows = {&view_pressure_desc, pressure_wanted, NOT_IN_LEDGER,
					       false};

static int pressure_show(struct session *session, int argc, char **argv)
{
	return show_of_pod(session, argc, argv, &pressure_rows);
}

static int pressure_top(struct session *session, int argc, char **argv)
{
	return top_run(session, &pressure_rows, argc, argv);
}

static bool pressure_numa_wanted(struct json_object *item, const void *ref)
{
	struct view_pressure_part row;

	object_read(&view_pressure_numa_desc, item, &row);
	return ref_matches(ref, row.uid, row.namespace, row.pod);
}

static int pressure_numa(struct session *session, int argc, char **argv)
{
	static const struct noun_rows rows = {&view_pressure_numa_desc, pressure_numa_wanted,
					      NOT_IN_LEDGER, false};

	return show_of_pod(session, argc, argv, &rows);
}

static const struct command pressure_commands[] = {
	{"show", "list", "[POD]",
	 "Show the share of the last 10, 60 and 300 seconds in which tasks waited for CPU, memory "
	 "or IO, for each pod and container.",
	 pressure_show},
	{"top", NULL, "[POD]",
	 "Refresh the same view like top(1), with the time spent waiting "
	 "per second since the last refresh.",
	 pressure_top},
	{"history", NULL, "POD [container NAME] [span { 10m | 24h }]",
	 "Show the pressure, run time and waits of a pod or container in the last 10 minutes, every "
	 "two seconds, or in the last 24 hours, every minute.",
	 pressure_history},
	{"cpu", NULL, "POD [container NAME]",
	 "Show the same for each CPU of the grants of a pod and its containers.", pressure_cpu},
	{"numa", NULL, "[POD]", "Show the same for the CPUs of each NUMA node.", pressure_numa},
	{"watch", NULL, "[POD]",
	 "Show the share of the last second repeatedly, until it is "
	 "interrupted. The agent reads the pressure this often only while "
	 "somebody watches.",
	 pressure_watch},
	{0},
};

const struct noun noun_pressure = {
	.name = "pressure",
	.help = "How long pods and containers wait for CPU, memory and IO.",
	.commands = pressure_commands,
	.views = {"cpu", "numa"},
	.live = "watch",
};

static bool latency_wanted(struct json_object *item, const void *ref)
{
	struct view_latency row;

	object_read(&view_latency_desc, item, &row);
	return ref_matches(ref, row.uid, row.namespace, row.pod);
}

static const struct noun_rows latency_rows = {&view_latency_desc, latency_wanted, NOT_IN_LEDGER,
					      false};

static int latency_show(struct session *session, int argc, char **argv)
{
	return show_of_pod(session, argc, argv, &latency_rows);
}

/* The pod's own row, or that of the container. */
static bool histogram_wanted(struct json_object *item, const void *data)
{
	const struct container_ref *ref = data;
	struct view_latency row;

	object_read(&view_latency_desc, item, &row);
	if (!ref_matches(&ref->pod, row.uid, row.namespace, row.pod))
		return false;
	return ref->container ? is_same_text(row.container, ref->container) : !row.container;
}

static int show_histogram(struct session *session, struct json_object *json)
{
	struct text text cleanup_text = {0};
	struct view_latency row;

	object_read(&view_latency_desc, json, &row);
	if (row.state != LATENCY_COUNTED)
		return out_fail(
			session, STATUS_FAILED,
			"the waits of pod %s/%s are not counted: the observer is not loaded or has "
			"no free slot for a container (see 'pinfold feature show'), or no process "
			"of it runs (see 'pinfold container show')",
			row.namespace, row.pod);
	if (session->options.json)
		return out_object(session, &view_latency_desc, json_object_get(json));
	histogram_draw(json, &text);
	return text.error ? out_no_memory(session) : out_text(session, "histogram", text.data);
}

static int latency_histogram(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	struct container_ref ref = {0};
	int r = ref_parse_container(session, argc, argv, &ref);

	if (!r)
		r = fetch_noun(session, "latency", &all);
	if (r)
		return r;
	some = json_filter(all, histogram_wanted, &ref);
	if (!some)
		return out_no_memory(session);
	if (!json_object_array_length(some))
		return ref_missing(session, ref.container ? "container" : "pod", &ref.pod,
				   ref.container);
	return show_histogram(session, json_object_array_get_idx(some, 0));
}

static int latency_top(struct session *session, int argc, char **argv)
{
	return top_run(session, &latency_rows, argc, argv);
}

static const struct command latency_commands[] = {
	{"show", "list", "[POD]",
	 "Show how long the tasks of each pod and container waited for a "
	 "CPU, as quantiles and the longest wait. A quantile is an upper "
	 "bound and less than twice the true value.",
	 latency_show},
	{"top", NULL, "[POD]",
	 "Refresh the same view like top(1), with the number of waits and "
	 "the time spent waiting per second since the last refresh.",
	 latency_top},
	{"histogram", NULL, "POD | CONTAINER", "Draw the waits of a pod or container by length.",
	 latency_histogram},
	{0},
};

const struct noun noun_latency = {
	.name = "latency",
	.help = "How long tasks of pods and containers waited for a CPU.",
	.commands = latency_commands,
};

static bool memory_wanted(struct json_object *item, const void *ref)
{
	struct view_memory row;

	object_read(&view_memory_desc, item, &row);
	return ref_matches(ref, row.uid, row.namespace, row.pod);
}

static const struct noun_rows memory_rows = {&view_memory_desc, memory_wanted, NOT_IN_LEDGER,
					     false};

static int memory_show(struct session *session, int argc, char **argv)
{
	return show_of_pod(session, argc, argv, &memory_rows);
}

static const struct command memory_commands[] = {
	{"show", "list", "[POD]",
	 "Show how much memory each container has on each NUMA node, and whether it was granted "
	 "memory there.",
	 memory_show},
	{"process", NULL, "PID",
	 "Show how many resident pages one process has on each NUMA node. "
	 "The command works without the agent; it needs root, or "
	 "permission to trace that process.",
	 memory_process},
	{0},
};

const struct noun noun_memory = {
	.name = "memory",
	.help = "The NUMA nodes that hold the memory of containers, or of a "
		"process.",
	.commands = memory_commands,
};

static bool noise_wanted(struct json_object *item, const void *ref)
{
	struct view_noise row;

	object_read(&view_noise_desc, item, &row);
	return ref_matches(ref, row.uid, row.namespace, row.pod);
}

static const struct noun_rows noise_rows = {
	&view_noise_desc, noise_wanted,
	"has no exclusive CPU that anybody disturbed; see 'pinfold pod show'", true};

static int noise_show(struct session *session, int argc, char **argv)
{
	return show_of_pod(session, argc, argv, &noise_rows);
}

static int noise_top(struct session *session, int argc, char **argv)
{
	return top_run(session, &noise_rows, argc, argv);
}

static const struct command noise_commands[] = {
	{"show", "list", "[POD]",
	 "Show who took time on each exclusive CPU, how often, for how "
	 "long in total, and for how long at most.",
	 noise_show},
	{"top", NULL, "[POD]",
	 "Refresh the same view like top(1), with disturbances and the "
	 "time they took per second since the last refresh.",
	 noise_top},
	{0},
};

const struct noun noun_noise = {
	.name = "noise",
	.help = "Who disturbs the CPUs that containers have exclusively.",
	.commands = noise_commands,
};

/* --- feature ---------------------------------------------------------------------------------- */

static int feature_show(struct session *session, int argc, char **argv)
{
	return show_all(session, &view_feature_desc, argc, argv);
}

static bool feature_is_missing(struct json_object *item, const void *data)
{
	struct view_feature feature;

	object_read(&view_feature_desc, item, &feature);
	return feature.state != FEATURE_YES;
}

static int feature_check(struct session *session, int argc, char **argv)
{
	static const struct selection selection = {&view_feature_desc, feature_is_missing, NULL};

	return select_findings(session, &selection, argc, argv);
}

static const struct command feature_commands[] = {
	{"show", "list", "", "Show each kernel feature: yes, no or unknown, why, and the remedy.",
	 feature_show},
	{"check", NULL, "", "Show what is missing or unknown; exit with 1 if anything is.",
	 feature_check},
	{0},
};

const struct noun noun_feature = {
	.name = "feature",
	.help = "Kernel features, and why any are missing.",
	.commands = feature_commands,
};
