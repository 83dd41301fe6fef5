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
#include "ctl/measure_grants.h"
#include "ctl/measure_node.h"
#include "ctl/measure_workloads.h"
#include "ctl/publisher.h"
#include "ctl/ready.h"
#include "ctl/report.h"
#include "format/bpf_inventory.h"
#include "format/metrics.h"

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
				{"libbpf", controller->options.libbpf ?: ""},
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
	const unsigned int nr_online =
		cpuset_count_common(&controller->topology->all, &controller->online);

	ledger_cpu_states(controller->ledger, &states);
	exposition_family(page, &metric_families.cpus);
	exposition_count(page, LABELS({"state", "online"}), nr_online);
	exposition_count(page, LABELS({"state", "offline"}),
			 cpuset_count(&controller->topology->all) - nr_online);
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
	measure_grants_pools(controller, &states, page);
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
	static const char *const restored[STATE_RESTORED_NR] = {
		[STATE_RESTORED] = "ok",
		[STATE_PARTLY_RESTORED] = "partial",
		[STATE_DAMAGED] = "damaged",
		[STATE_ABSENT] = "absent",
	};
	const struct admission *admission = &controller->admission;
	uint64_t held[ASSIGNMENT_NR] = {0};
	double bounds[ADMISSION_BUCKETS - 1];
	const struct metric_histogram duration = {
		bounds, ARRAY_SIZE(bounds), admission->duration_ns, admission->duration_sum_ns};

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		for (uint32_t j = 0; j < pod->nr_grants; j++)
			held[admission_assignment_type(pod, &pod->grants[j])]++;
	}
	exposition_family(page, &metric_families.containers);
	for (size_t i = 0; i < ASSIGNMENT_NR; i++)
		exposition_count(page, LABELS({"assignment_type", admission_assignment_name(i)}),
				 held[i]);
	exposition_family(page, &metric_families.assignments);
	for (size_t i = 0; i < ASSIGNMENT_NR; i++)
		exposition_count(page,
				 LABELS({"resource_name", "cpu"},
					{"assignment_type", admission_assignment_name(i)}),
				 admission->nr_assigned[i]);
	measure_grants_allocations(controller, page);
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
	exposition_family(page, &metric_families.state_restore);
	for (size_t i = 0; i < STATE_RESTORED_NR; i++)
		exposition_count(page, LABELS({"result", restored[i]}),
				 controller->record.nr_restored[i]);
}

/* --- drift and guard ----------------------------------------------------------------------------- */

static void write_drift(struct controller *controller, struct exposition *page)
{
	const struct drift *drift = &controller->drift;
	double bounds[DRIFT_BUCKETS - 1];
	const struct metric_histogram exposure = {bounds, ARRAY_SIZE(bounds), drift->nr_exposed,
						  drift->exposed_ns};

	drift_count_named(&controller->drift);
	exposition_family(page, &metric_families.drift_detected);
	for (enum group_file file = 0; file < GROUP_ATTRIBUTE_NR; file++)
		for (enum drift_cause cause = 0; cause < CAUSE_NR; cause++)
			exposition_count(page,
					 LABELS({"attribute", attribute_name(file)},
						{"cause", drift_cause_name(cause)}),
					 drift->nr_detected[file][cause]);
	exposition_family(page, &metric_families.drift_repaired);
	for (enum group_file file = 0; file < GROUP_ATTRIBUTE_NR; file++) {
		exposition_count(page,
				 LABELS({"attribute", attribute_name(file)}, {"result", "ok"}),
				 drift->nr_repaired[file]);
		exposition_count(page,
				 LABELS({"attribute", attribute_name(file)}, {"result", "failed"}),
				 drift->nr_failed[file]);
	}
	exposition_family(page, &metric_families.drift_open);
	for (enum group_file file = 0; file < GROUP_ATTRIBUTE_NR; file++)
		exposition_count(page, LABELS({"attribute", attribute_name(file)}),
				 drift_list_nr_open(&drift->list, file));
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		bounds[i] = 1e-9 * (double)(DRIFT_FIRST_BUCKET_NS << 2 * i);
	exposition_family(page, &metric_families.drift_exposure);
	exposition_histogram(page, NO_LABELS, &exposure);
}

/* The counters stay at 0 until the kernel measures run times. */
static uint64_t counted(int64_t number)
{
	return number < 0 ? 0 : (uint64_t)number;
}

/* Programs of which nothing can be read have no series, nor has the row that says why none is loaded. */
static bool is_loaded(const struct prog_row *row)
{
	return *row->name && row->recursion_misses >= 0;
}

static void write_times(const struct prog_row *rows, uint32_t nr, struct exposition *page)
{
	for (uint32_t i = 0; i < nr; i++)
		if (is_loaded(&rows[i]))
			exposition_seconds(page, LABELS({"program", rows[i].name}),
					   counted(rows[i].run_time_ns));
}

static void write_runs(const struct prog_row *rows, uint32_t nr, struct exposition *page)
{
	for (uint32_t i = 0; i < nr; i++)
		if (is_loaded(&rows[i]))
			exposition_count(page, LABELS({"program", rows[i].name}),
					 counted(rows[i].run_count));
}

/* Those of the ports that load programs only while they are needed come last. */
static void write_programs(const struct controller_ports *ports, struct exposition *page)
{
	const struct kernel_port *kernel = ports->kernel;
	const struct prog_row *rows = NULL;
	const uint32_t nr = kernel->programs(kernel->self, &rows);
	struct bpf_inventory others cleanup_bpf_inventory = {
		.is_timed = nr && rows[0].run_time_ns >= 0, .without_maps = true};

	if (ports->pressure)
		ports->pressure->list(ports->pressure->self, &others);
	if (ports->noise)
		ports->noise->list(ports->noise->self, &others);
	exposition_family(page, &metric_families.program_seconds);
	write_times(rows, nr, page);
	write_times(others.progs, others.nr_progs, page);
	exposition_family(page, &metric_families.program_runs);
	write_runs(rows, nr, page);
	write_runs(others.progs, others.nr_progs, page);
}

static void write_guard(struct controller *controller, struct exposition *page)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct hook_count *hooks = NULL;
	struct guard_status status = {0};
	uint32_t nr_hooks;

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
	exposition_family(page, &metric_families.guard_missed);
	exposition_count(page, NO_LABELS, status.recursion_misses);
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
	write_programs(&controller->ports, page);
	measure_node_maps(controller, page);
	measure_node_losses(controller, page);
	exposition_family(page, &metric_families.groups_left_out);
	exposition_count(page, NO_LABELS,
			 kernel->groups_left_out ? kernel->groups_left_out(kernel->self) : 0);
}

/* Several findings may be of one kind, which has one series. */
static void write_findings(const struct findings *list, struct exposition *page)
{
	bool is_written[FINDING_NR] = {false};

	exposition_family(page, &metric_families.findings);
	exposition_count(page, NO_LABELS, list->nr);
	if (list->nr)
		exposition_family(page, &metric_families.finding_info);
	for (uint32_t i = 0; i < list->nr; i++) {
		const enum finding kind = list->rows[i].kind;

		if (!is_written[kind])
			exposition_count(page, LABELS({"name", finding_name(kind)}), 1);
		is_written[kind] = true;
	}
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
		exposition_count(page, LABELS({"state", pod_condition_name(i)}), nr[i]);
	write_findings(&controller->findings, page);
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
	struct exposition page cleanup_exposition;
	struct waiting waiting;
	int r;

	exposition_init(&page, out, openmetrics);
	ctl_follow_node_waits(controller);
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
	r = ctl_measure_workloads(controller, &page);
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
