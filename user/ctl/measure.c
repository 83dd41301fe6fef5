// SPDX-License-Identifier: Apache-2.0
/*
 * The page of metrics. Names, types and labels follow docs/metrics.md; the
 * number of series is bounded by pods and containers, never by CPUs, paths or
 * process ids.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "ctl/internal.h"
#include "ctl/measure_node.h"
#include "ctl/publisher.h"
#include "ctl/ready.h"
#include "ctl/report.h"
#include "format/metrics.h"

static const char *const assignment_types[] = {
	[ASSIGNMENT_NODE_EXCLUSIVE] = "node_exclusive",
	[ASSIGNMENT_POD_EXCLUSIVE] = "pod_exclusive",
	[ASSIGNMENT_POD_SHARED] = "pod_shared",
	[ASSIGNMENT_NODE_SHARED] = "node_shared",
};
_Static_assert(ARRAY_SIZE(assignment_types) == ASSIGNMENT_NR, "a word for each assignment");

/* --- about the agent ----------------------------------------------------------------------------- */

static void write_identity(struct controller *controller, struct exposition *page)
{
	const struct policy *policy = controller->policy;
	const struct feature_row *rows = NULL;
	static const char *const states[] = {"no", "yes", "unknown"};
	char cpu_options[POLICY_OPTIONS_TEXT_MAX];
	uint32_t nr = 0;

	exposition_family(page, &metric_families.build_info);
	exposition_count(page,
			 LABELS({"version", PINFOLD_VERSION},
				{"revision", controller->options.revision},
				{"mode", run_mode_name(controller->options.config->mode)}),
			 1);
	if (controller->ports.kernel)
		nr = controller->ports.kernel->features(controller->ports.kernel->self, &rows);
	if (nr)
		exposition_family(page, &metric_families.feature_info);
	for (uint32_t i = 0; i < nr; i++)
		exposition_count(
			page, LABELS({"feature", rows[i].name}, {"state", states[rows[i].state]}),
			1);
	policy_options_text(&policy->cpu_options, cpu_options);
	exposition_family(page, &metric_families.policy_info);
	exposition_count(page,
			 LABELS({"policy", cpu_policy_name(policy->cpu)},
				{"scope", policy->scope == ALIGN_SCOPE_POD ? "pod" : "container"},
				{"topology_policy", align_policy_name(policy->align)},
				{"options", cpu_options}),
			 1);
}

/* --- CPUs ---------------------------------------------------------------------------------------- */

static void write_cpus(struct controller *controller, struct exposition *page)
{
	const struct topology_level *nodes = &controller->topology->nodes;
	struct cpu_states states;
	const struct {
		const char *name;
		const struct cpuset *set;
	} rows[] = {
		{"exclusive", &states.exclusive},
		{"pod_shared", &states.pod_shared},
		{"shared", &states.shared},
		{"reserved", &states.reserved},
	};

	ledger_cpu_states(controller->ledger, &states);
	exposition_family(page, &metric_families.cpus);
	exposition_count(page, LABELS({"state", "online"}),
			 cpuset_count(&controller->topology->all));
	exposition_count(page, LABELS({"state", "isolated"}),
			 cpuset_count(&controller->policy->excluded));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		exposition_count(page, LABELS({"state", rows[i].name}), cpuset_count(rows[i].set));
	exposition_family(page, &metric_families.numa_cpus);
	for (uint32_t node = 0; node < nodes->nr; node++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			char id[16];

			snprintf(id, sizeof(id), "%u", nodes->ids[node]);
			exposition_count(page, LABELS({"numa_node", id}, {"state", rows[i].name}),
					 cpuset_count_common(&nodes->cpus[node], rows[i].set));
		}
}

/* Without the observer there are no series: 0 would say that nobody waited. */
static void write_node_waits(struct controller *controller, struct exposition *page)
{
	const struct topology_level *nodes = &controller->topology->nodes;

	if (!controller->node_waits.has_begun)
		return;
	exposition_family(page, &metric_families.numa_cpu_wait);
	for (uint32_t node = 0; node < nodes->nr; node++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", nodes->ids[node]);
		exposition_seconds(page, LABELS({"numa_node", id}),
				   controller->node_waits.total_ns[node]);
	}
}

/* --- decisions ----------------------------------------------------------------------------------- */

static void write_decisions(struct controller *controller, struct exposition *page)
{
	const struct admission *admission = &controller->admission;
	uint64_t held[ASSIGNMENT_NR] = {0};
	double bounds[ADMISSION_BUCKETS - 1];
	const struct metric_histogram duration = {
		bounds, ARRAY_SIZE(bounds), admission->duration_ns, admission->duration_sum_ns};

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		for (uint32_t j = 0; j < pod->nr_grants; j++)
			held[admission_assignment(pod, &pod->grants[j])]++;
	}
	exposition_family(page, &metric_families.containers);
	for (size_t i = 0; i < ASSIGNMENT_NR; i++)
		exposition_count(page, LABELS({"assignment_type", assignment_types[i]}), held[i]);
	exposition_family(page, &metric_families.assignments);
	for (size_t i = 0; i < ASSIGNMENT_NR; i++)
		exposition_count(page,
				 LABELS({"resource_name", "cpu"},
					{"assignment_type", assignment_types[i]}),
				 admission->nr_assigned[i]);
	exposition_family(page, &metric_families.admissions);
	exposition_count(page, LABELS({"result", "admitted"}, {"reason", "none"}),
			 admission->nr_admitted);
	for (int reason = REFUSAL_NONE + 1; reason < REFUSAL_NR; reason++)
		exposition_count(page,
				 LABELS({"result", "rejected"},
					{"reason", refusal_name((enum refusal)reason)}),
				 admission->refusals.nr_ever[reason]);
	exposition_family(page, &metric_families.refused_pods);
	exposition_count(page, LABELS({"listed", "yes"}), controller->admission.refusals.nr);
	exposition_count(page, LABELS({"listed", "no"}),
			 controller->admission.refusals.nr_unlisted);
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		bounds[i] = 50e-6 * (double)(1U << i);
	exposition_family(page, &metric_families.runtime_unpinned);
	exposition_seconds(page, NO_LABELS, controller->runtimes.unpinned_ns);
	exposition_family(page, &metric_families.admission_duration);
	exposition_histogram(page, NO_LABELS, &duration);
	exposition_family(page, &metric_families.state_writes);
	exposition_count(page, LABELS({"result", "ok"}), controller->record.nr_written);
	exposition_count(page, LABELS({"result", "failed"}), controller->record.nr_failed);
}

/* --- drift and guard ----------------------------------------------------------------------------- */

static void write_drift(struct controller *controller, struct exposition *page)
{
	const struct drift *drift = &controller->drift;

	exposition_family(page, &metric_families.drift_detected);
	for (enum group_file file = 0; file < GROUP_FILE_NR; file++)
		exposition_count(page, LABELS({"attribute", attribute_name(file)}),
				 drift->nr_detected[file]);
	exposition_family(page, &metric_families.drift_repaired);
	for (enum group_file file = 0; file < GROUP_FILE_NR; file++) {
		exposition_count(page,
				 LABELS({"attribute", attribute_name(file)}, {"result", "ok"}),
				 drift->nr_repaired[file]);
		exposition_count(page,
				 LABELS({"attribute", attribute_name(file)}, {"result", "failed"}),
				 drift->nr_failed[file]);
	}
	exposition_family(page, &metric_families.drift_open);
	for (enum group_file file = 0; file < GROUP_FILE_NR; file++)
		exposition_count(page, LABELS({"attribute", attribute_name(file)}),
				 drift_list_nr_open(&drift->list, file));
}

/* The counters stay at 0 until the kernel measures run times. */
static uint64_t counted(int64_t number)
{
	return number < 0 ? 0 : (uint64_t)number;
}

static void write_guard(struct controller *controller, struct exposition *page)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct hook_count *hooks = NULL;
	const struct prog_row *programs = NULL;
	struct guard_status status = {0};
	uint32_t nr_hooks, nr_programs;

	ctl_guard_status(controller, &status);
	exposition_family(page, &metric_families.guard_up);
	exposition_count(page, NO_LABELS, status.state == GUARD_ACTIVE);
	if (!kernel)
		return;
	exposition_family(page, &metric_families.guard_enforcing);
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		exposition_count(page, LABELS({"aspect", aspect_name(aspect)}),
				 guard_denies(&status, status.modes[aspect]));
	exposition_family(page, &metric_families.guard_mended);
	exposition_count(page, LABELS({"what", "config"}), status.nr_mended[MENDED_CONFIG]);
	exposition_count(page, LABELS({"what", "pins"}), status.nr_mended[MENDED_PINS]);
	exposition_family(page, &metric_families.agent_outage);
	exposition_seconds(page, NO_LABELS, status.outage_ns);
	nr_hooks = kernel->hook_counts(kernel->self, &hooks);
	exposition_family(page, &metric_families.enforcement_actions);
	for (uint32_t i = 0; i < nr_hooks; i++)
		for (uint32_t action = 0; action < ACTION_NR; action++)
			exposition_count(page,
					 LABELS({"hook", hooks[i].hook},
						{"action", action_name(action)}),
					 hooks[i].counts[action]);
	nr_programs = kernel->programs(kernel->self, &programs);
	exposition_family(page, &metric_families.program_seconds);
	for (uint32_t i = 0; i < nr_programs; i++)
		exposition_seconds(page, LABELS({"program", programs[i].name}),
				   counted(programs[i].run_time_ns));
	exposition_family(page, &metric_families.program_runs);
	for (uint32_t i = 0; i < nr_programs; i++)
		exposition_count(page, LABELS({"program", programs[i].name}),
				 counted(programs[i].run_count));
	measure_node_losses(controller, page);
	exposition_family(page, &metric_families.groups_left_out);
	exposition_count(page, NO_LABELS,
			 kernel->groups_left_out ? kernel->groups_left_out(kernel->self) : 0);
}

static bool is_first_of_name(const struct findings *list, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (!strcmp(list->rows[i].name, list->rows[index].name))
			return false;
	return true;
}

/* Several findings may have one name, which has one series. */
static void write_findings(const struct findings *list, struct exposition *page)
{
	exposition_family(page, &metric_families.findings);
	exposition_count(page, NO_LABELS, list->nr);
	if (list->nr)
		exposition_family(page, &metric_families.finding_info);
	for (uint32_t i = 0; i < list->nr; i++)
		if (is_first_of_name(list, i))
			exposition_count(page, LABELS({"name", list->rows[i].name}), 1);
}

static void write_readiness(struct controller *controller, struct exposition *page)
{
	uint32_t nr[CONDITION_NR] = {0};
	char reason[ROW_DETAIL_MAX];

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++)
		nr[ctl_pod_condition(controller, ledger_pod_at(controller->ledger, i))]++;
	exposition_family(page, &metric_families.readiness);
	exposition_count(page, NO_LABELS, ctl_is_ready(controller, reason, sizeof(reason)));
	exposition_family(page, &metric_families.pods);
	for (enum pod_condition i = 0; i < CONDITION_NR; i++)
		exposition_count(page, LABELS({"state", ready_condition_name(i)}), nr[i]);
	write_findings(&controller->findings, page);
}

/* --- pods and containers ------------------------------------------------------------------------- */

/* One container's counters, read once and written into several families. */
struct measured {
	const struct ledger_pod *pod;
	const char *container;
	struct usage usage;
	struct latency latency;
	uint64_t throttled_ns;
	bool has_usage;
	bool has_latency; /* only if it has its usage */
	bool has_throttled;
};

/*
 * A pod that ends is left out if a newer pod has its name: each name has one set of series. Such pods are
 * listed once for a page, because looking for the name of each pod in each family would cost the square
 * of their number.
 */
struct left_out {
	uint32_t nr;
	const struct ledger_pod **pods; /* owned */
};

static void fini_left_out(struct left_out *left_out)
{
	free(left_out->pods);
}

static int by_name(const void *left, const void *right)
{
	const struct pod_spec *a = (*(const struct ledger_pod *const *)left)->spec;
	const struct pod_spec *b = (*(const struct ledger_pod *const *)right)->spec;
	int order = strcmp(a->namespace, b->namespace);

	return order ? order : strcmp(a->name, b->name);
}

static int list_left_out(const struct ledger *ledger, struct left_out *ret_left_out)
{
	const uint32_t nr = ledger_nr_pods(ledger);
	const struct ledger_pod **pods cleanup_free = calloc(nr + 1, sizeof(*pods));
	uint32_t nr_left_out = 0;

	if (!pods)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		pods[i] = ledger_pod_at(ledger, i);
	qsort(pods, nr, sizeof(*pods), by_name);
	for (uint32_t i = 0; i < nr;) {
		uint32_t end = i + 1;

		while (end < nr && !by_name(&pods[i], &pods[end]))
			end++;
		if (end > i + 1) {
			const struct ledger_pod *shown = ledger_find_name(
				ledger, pods[i]->spec->namespace, pods[i]->spec->name);

			for (uint32_t j = i; j < end; j++)
				if (pods[j] != shown)
					pods[nr_left_out++] = pods[j];
		}
		i = end;
	}
	*ret_left_out = (struct left_out){nr_left_out, TAKE_PTR(pods)};
	return 0;
}

static bool is_left_out(const struct left_out *left_out, const struct ledger_pod *pod)
{
	for (uint32_t i = 0; i < left_out->nr; i++)
		if (left_out->pods[i] == pod)
			return true;
	return false;
}

/* NULL = no such pod, or it is left out. */
static const struct ledger_pod *find_shown(const struct controller *controller,
					   const struct left_out *left_out, const char *uid)
{
	const struct ledger_pod *pod = ledger_find(controller->ledger, uid);

	return pod && !is_left_out(left_out, pod) ? pod : NULL;
}

/*
 * Unknown values are marked as such, because a counter that shows 0, or that is missing from
 * one page, looks like a container that was restarted.
 */
static void measure_container(struct controller *controller, const struct group *group,
			      const struct group_status *status, struct measured *row)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	uint64_t cgroup_id = ctl_cgroup_id(controller, group->path, status);
	const struct counted *counted = ctl_counted(controller, cgroup_id);

	row->container = group->container;
	row->has_throttled = status;
	if (status)
		row->throttled_ns = status->throttled_usec * 1000;
	if (counted && counted->has_latency) {
		row->has_usage = row->has_latency = true;
		row->usage = counted->usage;
		row->latency = counted->latency;
		return;
	}
	/* Its counters may have begun since the last look. */
	row->has_usage = kernel && cgroup_id &&
			 !kernel->usage(kernel->self, cgroup_id, &row->usage);
	row->has_latency = row->has_usage &&
			   !kernel->latency(kernel->self, cgroup_id, &row->latency);
}

/* The groups of a pod are adjacent, so it is looked for once. */
static uint32_t measure_containers(struct controller *controller, const struct left_out *left_out,
				   struct measured *rows)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct ledger_pod *pod = NULL;
	const char *uid = "";
	uint32_t nr = 0;

	for (uint32_t i = 0; i < controller->measured.tree.nr_groups; i++) {
		const struct group *group = &controller->measured.tree.groups[i];
		struct group_status status;
		int r;

		if (group->role != GROUP_CONTAINER)
			continue;
		if (strcmp(uid, group->uid)) {
			uid = group->uid;
			pod = find_shown(controller, left_out, uid);
		}
		r = pod ? groups->status(groups->self, group->path, &status) : -ENOENT;
		if (r == -ENOENT)
			continue;
		rows[nr].pod = pod;
		measure_container(controller, group, r ? NULL : &status, &rows[nr++]);
	}
	return nr;
}

static void add_usage(struct usage *sum, const struct usage *usage)
{
	sum->run_local_ns += usage->run_local_ns;
	sum->run_remote_ns += usage->run_remote_ns;
	sum->run_outside_ns += usage->run_outside_ns;
	sum->preemptions += usage->preemptions;
	sum->migrations_thread += usage->migrations_thread;
	sum->migrations_core += usage->migrations_core;
	sum->migrations_llc += usage->migrations_llc;
	sum->migrations_numa += usage->migrations_numa;
}

/* The sum of a pod's containers, and a row that has the pod's labels. */
struct pod_usage {
	const struct measured *row;
	struct usage usage;
	struct latency latency;
};

/*
 * The rows of a pod are adjacent. If a value of one container is unknown, the pod has no sum,
 * because the sum of the others would look like a counter that decreased.
 */
static uint32_t sum_pods(const struct measured *rows, uint32_t nr, struct pod_usage *sums)
{
	uint32_t nr_sums = 0;

	for (uint32_t i = 0; i < nr;) {
		struct pod_usage sum = {.row = &rows[i]};
		bool is_whole = true;

		for (; i < nr && rows[i].pod == sum.row->pod; i++) {
			is_whole &= rows[i].has_latency;
			add_usage(&sum.usage, &rows[i].usage);
			latency_add(&sum.latency, &rows[i].latency);
		}
		if (is_whole)
			sums[nr_sums++] = sum;
	}
	return nr_sums;
}

#define POD_LABELS(row, ...)                                                                \
	LABELS({"namespace", (row)->pod->spec->namespace}, {"pod", (row)->pod->spec->name}, \
	       __VA_ARGS__)

static void write_pods(const struct pod_usage *sums, uint32_t nr, struct exposition *page)
{
	exposition_family(page, &metric_families.pod_cpu);
	for (uint32_t i = 0; i < nr; i++) {
		const struct usage *usage = &sums[i].usage;
		const struct measured *row = sums[i].row;

		exposition_seconds(page, POD_LABELS(row, {"placement", "local_numa"}),
				   usage->run_local_ns);
		exposition_seconds(page, POD_LABELS(row, {"placement", "remote_numa"}),
				   usage->run_remote_ns);
		exposition_seconds(page, POD_LABELS(row, {"placement", "outside"}),
				   usage->run_outside_ns);
	}
	exposition_family(page, &metric_families.migrations);
	for (uint32_t i = 0; i < nr; i++) {
		const struct usage *usage = &sums[i].usage;
		const struct measured *row = sums[i].row;

		exposition_count(page, POD_LABELS(row, {"span", "thread"}),
				 usage->migrations_thread);
		exposition_count(page, POD_LABELS(row, {"span", "core"}), usage->migrations_core);
		exposition_count(page, POD_LABELS(row, {"span", "llc"}), usage->migrations_llc);
		exposition_count(page, POD_LABELS(row, {"span", "numa"}), usage->migrations_numa);
	}
	exposition_family(page, &metric_families.preemptions);
	for (uint32_t i = 0; i < nr; i++)
		exposition_count(page,
				 LABELS({"namespace", sums[i].row->pod->spec->namespace},
					{"pod", sums[i].row->pod->spec->name}),
				 sums[i].usage.preemptions);
}

/* Bounds of the page: 1.024 us, and so on, four times as long each, up to 1.07 s. */
#define LATENCY_BOUNDS 11

/* Every second bound of the histogram: half as many series, for a factor of four. */
static void write_latencies(const struct pod_usage *sums, uint32_t nr, struct exposition *page)
{
	double bounds[LATENCY_BOUNDS];

	for (uint32_t i = 0; i < LATENCY_BOUNDS; i++)
		bounds[i] = (double)latency_bound(2 * i) / 1e9;
	exposition_family(page, &metric_families.runqueue_latency);
	for (uint32_t i = 0; i < nr; i++) {
		const struct latency *latency = &sums[i].latency;
		uint64_t counts[LATENCY_BOUNDS + 1] = {0};
		const struct metric_histogram histogram = {bounds, LATENCY_BOUNDS, counts,
							   latency->sum_ns};

		for (uint32_t j = 0; j < LATENCY_BUCKETS; j++) {
			const uint32_t bound = (j + 1) / 2;

			counts[bound < LATENCY_BOUNDS ? bound : LATENCY_BOUNDS] +=
				latency->counts[j];
		}
		exposition_histogram(page,
				     LABELS({"namespace", sums[i].row->pod->spec->namespace},
					    {"pod", sums[i].row->pod->spec->name}),
				     &histogram);
	}
}

static void write_waits(const struct measured *row, struct exposition *page)
{
	static const char *const causes[WAIT_CAUSE_NR] = {
		[WAIT_OWN_QUOTA] = "own_quota",
		[WAIT_OWN_CONTAINER] = "own_container",
		[WAIT_POD_SIBLING] = "pod_sibling",
		[WAIT_OTHER_POD] = "other_pod",
		[WAIT_HOST] = "host",
		[WAIT_KERNEL] = "kernel",
		[WAIT_IDLE] = "idle",
		[WAIT_UNATTRIBUTED] = "unattributed",
	};

	for (enum wait_cause cause = 0; cause < WAIT_CAUSE_NR; cause++)
		exposition_seconds(page,
				   POD_LABELS(row, {"container", row->container},
					      {"cause", causes[cause]}),
				   row->usage.wait_ns[cause]);
}

static void write_containers(const struct measured *rows, uint32_t nr, struct exposition *page)
{
	exposition_family(page, &metric_families.cpu_wait);
	for (uint32_t i = 0; i < nr; i++)
		if (rows[i].has_usage)
			write_waits(&rows[i], page);
	exposition_family(page, &metric_families.throttled);
	for (uint32_t i = 0; i < nr; i++)
		if (rows[i].has_throttled)
			exposition_seconds(page,
					   POD_LABELS(&rows[i], {"container", rows[i].container}),
					   rows[i].throttled_ns);
}

static const struct {
	const struct metric_family *family;
	enum pressure_kind kind;
} pressure_families[] = {
	{&metric_families.pressure_cpu_waiting, PRESSURE_CPU_SOME},
	{&metric_families.pressure_cpu_stalled, PRESSURE_CPU_FULL},
	{&metric_families.pressure_memory_waiting, PRESSURE_MEMORY_SOME},
	{&metric_families.pressure_memory_stalled, PRESSURE_MEMORY_FULL},
	{&metric_families.pressure_io_waiting, PRESSURE_IO_SOME},
	{&metric_families.pressure_io_stalled, PRESSURE_IO_FULL},
};

/* Where the kernel does not measure there is no series: 0 would say that nobody waited. */
static bool has_pressure(const struct controller *controller, const struct group_pressure *group)
{
	if (*group->container && controller->options.config->metrics.level < METRICS_CONTAINER)
		return false;
	return group->track && group->track->state == PRESSURE_MEASURED;
}

static uint32_t keep_measured(const struct controller *controller, const struct left_out *left_out,
			      struct group_pressure *rows, uint32_t nr)
{
	const struct ledger_pod *pod = NULL;
	bool is_shown = false;
	uint32_t nr_kept = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!has_pressure(controller, &rows[i]))
			continue;
		if (rows[i].pod != pod) {
			pod = rows[i].pod;
			is_shown = !is_left_out(left_out, pod);
		}
		if (is_shown)
			rows[nr_kept++] = rows[i];
	}
	return nr_kept;
}

static int write_pressure(const struct controller *controller, const struct left_out *left_out,
			  struct exposition *page)
{
	struct group_pressure *rows cleanup_free =
		calloc(controller->measured.tree.nr_groups + 1, sizeof(*rows));
	uint32_t nr;

	if (!rows)
		return -ENOMEM;
	nr = keep_measured(controller, left_out, rows, ctl_pressures(controller, rows));
	for (size_t i = 0; i < ARRAY_SIZE(pressure_families); i++) {
		exposition_family(page, pressure_families[i].family);
		for (uint32_t j = 0; j < nr; j++)
			exposition_seconds(page,
					   POD_LABELS(&rows[j], {"container", rows[j].container}),
					   rows[j].track->total_ns[pressure_families[i].kind]);
	}
	return 0;
}

/* A source that this kernel cannot count has no series: 0 would say that it took no time. */
static int write_noise(const struct controller *controller, const struct left_out *left_out,
		       struct exposition *page)
{
	struct pod_noise *rows cleanup_free = NULL;
	uint32_t nr;
	int r = ctl_pod_noises(controller, &rows, &nr);

	if (r)
		return r;
	exposition_family(page, &metric_families.noise);
	for (uint32_t i = 0; i < nr; i++) {
		if (is_left_out(left_out, rows[i].pod))
			continue;
		for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++)
			if (rows[i].total_ns[source] != UINT64_MAX)
				exposition_seconds(
					page,
					POD_LABELS(&rows[i], {"source", noise_source_name(source)}),
					rows[i].total_ns[source]);
	}
	return 0;
}

static int write_memory(const struct controller *controller, const struct left_out *left_out,
			struct exposition *page)
{
	struct pod_memory *rows cleanup_free = NULL;
	uint32_t nr;
	int r = ctl_pod_memories(controller, &rows, &nr);

	if (r)
		return r;
	exposition_family(page, &metric_families.pod_memory);
	for (uint32_t i = 0; i < nr; i++) {
		const struct pod_memory *row = &rows[i];

		if (!row->discovered_id && !find_shown(controller, left_out, row->uid))
			continue;
		exposition_count(page,
				 LABELS({"namespace", row->namespace}, {"pod", row->name},
					{"placement", "local_numa"}),
				 row->local_bytes);
		exposition_count(page,
				 LABELS({"namespace", row->namespace}, {"pod", row->name},
					{"placement", "remote_numa"}),
				 row->remote_bytes);
	}
	return 0;
}

static int write_workloads(struct controller *controller, struct exposition *page)
{
	const enum metrics_level level = controller->options.config->metrics.level;
	const uint32_t nr_groups = controller->measured.tree.nr_groups;
	struct measured *rows cleanup_free = calloc(nr_groups + 1, sizeof(*rows));
	struct pod_usage *sums cleanup_free = calloc(nr_groups + 1, sizeof(*sums));
	struct left_out left_out cleanup(fini_left_out) = {0};
	uint32_t nr, nr_sums;
	int r;

	if (!rows || !sums)
		return -ENOMEM;
	r = list_left_out(controller->ledger, &left_out);
	if (r)
		return r;
	nr = measure_containers(controller, &left_out, rows);
	nr_sums = sum_pods(rows, nr, sums);
	if (level >= METRICS_POD) {
		write_pods(sums, nr_sums, page);
		write_latencies(sums, nr_sums, page);
	}
	if (level >= METRICS_CONTAINER)
		write_containers(rows, nr, page);
	if (level < METRICS_POD)
		return 0;
	r = controller->ports.pressure ? write_pressure(controller, &left_out, page) : 0;
	if (!r && controller->ports.resident)
		r = write_memory(controller, &left_out, page);
	if (!r && controller->ports.noise)
		r = write_noise(controller, &left_out, page);
	return r;
}

static void write_irqs(const struct controller *controller, struct exposition *page)
{
	const struct steering *steering = &controller->steering;
	uint64_t nr[IRQ_STATE_NR] = {0};

	if (!controller->ports.irq)
		return;
	for (uint32_t i = 0; i < steering->report.nr; i++)
		nr[steering->report.rows[i].state]++;
	if (steering->report.nr) {
		exposition_family(page, &metric_families.irqs);
		for (enum irq_state state = 0; state < IRQ_STATE_NR; state++)
			exposition_count(page, LABELS({"state", irq_state_name(state)}), nr[state]);
	}
	exposition_family(page, &metric_families.irq_writes);
	exposition_count(page, LABELS({"result", "done"}), steering->nr_written);
	exposition_count(page, LABELS({"result", "managed"}), steering->nr_refused);
	exposition_count(page, LABELS({"result", "failed"}), steering->nr_failed);
	exposition_family(page, &metric_families.irq_foreign);
	exposition_count(page, NO_LABELS, steering->nr_foreign);
	exposition_family(page, &metric_families.irq_fired);
	exposition_count(page, NO_LABELS, steering->nr_fired);
}

static void write_strangers(const struct controller *controller, struct exposition *page)
{
	const struct strangers_known *known = &controller->strangers;
	uint64_t nr[STRANGER_STATE_NR] = {0};
	double bounds[STRANGER_BUCKETS - 1];
	const struct metric_histogram exposure = {bounds, ARRAY_SIZE(bounds), known->nr_exposed,
						  known->exposed_ns};

	if (!controller->ports.stranger)
		return;
	for (uint32_t i = 0; i < known->report.nr; i++)
		nr[known->report.rows[i].state]++;
	exposition_family(page, &metric_families.strangers);
	for (enum stranger_state state = 0; state < STRANGER_STATE_NR; state++)
		exposition_count(page, LABELS({"state", stranger_state_name(state)}), nr[state]);
	exposition_family(page, &metric_families.stranger_moves);
	exposition_count(page, LABELS({"result", "moved"}), known->nr_moved);
	exposition_count(page, LABELS({"result", "restored"}), known->nr_restored);
	exposition_count(page, LABELS({"result", "failed"}), known->nr_failed);
	exposition_family(page, &metric_families.stranger_set_back);
	exposition_count(page, NO_LABELS, known->nr_reverted);
	exposition_family(page, &metric_families.stranger_seen);
	exposition_count(page, NO_LABELS, known->nr_seen);
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		bounds[i] = 1e-9 * (double)(STRANGER_FIRST_BUCKET_NS << i);
	exposition_family(page, &metric_families.stranger_exposure);
	exposition_histogram(page, NO_LABELS, &exposure);
	exposition_family(page, &metric_families.stranger_walks);
	exposition_count(page, NO_LABELS, known->nr_walks);
	exposition_family(page, &metric_families.stranger_walk_time);
	exposition_seconds(page, NO_LABELS, known->cost_ns);
}

int ctl_metrics(void *self, bool openmetrics, struct text *out)
{
	struct controller *controller = self;
	uint64_t started = clock_now_ns(controller->ports.clock);
	struct exposition page;
	struct waiting waiting;
	int r;

	ctl_follow_node_waits(controller);
	exposition_init(&page, out, openmetrics);
	write_identity(controller, &page);
	write_cpus(controller, &page);
	write_node_waits(controller, &page);
	measure_node_memory(controller, &page);
	write_decisions(controller, &page);
	write_drift(controller, &page);
	write_guard(controller, &page);
	measure_node_observer(controller, &page);
	write_irqs(controller, &page);
	write_strangers(controller, &page);
	ctl_longest_wait(controller, &waiting);
	exposition_family(&page, &metric_families.operations_waiting);
	exposition_count(&page, NO_LABELS, waiting.nr);
	exposition_family(&page, &metric_families.operation_wait);
	exposition_seconds(&page, NO_LABELS, waiting.longest_ns);
	write_readiness(controller, &page);
	r = write_workloads(controller, &page);
	if (r)
		return r;
	measure_node_agent(controller, &page);
	exposition_family(&page, &metric_families.scrape_duration);
	exposition_seconds(&page, NO_LABELS, clock_now_ns(controller->ports.clock) - started);
	exposition_family(&page, &metric_families.scrape_series);
	exposition_count(&page, NO_LABELS, page.nr_series + 1);
	exposition_finish(&page);
	return out->error;
}
