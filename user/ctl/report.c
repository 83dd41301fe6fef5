// SPDX-License-Identifier: Apache-2.0
/*
 * The objects of GET /v1/<object>: passes the ledger and the values read through the ports to
 * the builders of format/views. No key is written here.
 */
#include <errno.h>
#include <stdlib.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "ctl/bpf_report.h"
#include "ctl/guard_report.h"
#include "ctl/internal.h"
#include "ctl/latency_report.h"
#include "ctl/noise_report.h"
#include "ctl/placement_report.h"
#include "ctl/pod_report.h"
#include "ctl/pressure_cpu_report.h"
#include "ctl/pressure_report.h"
#include "ctl/ready.h"
#include "ctl/report.h"
#include "format/node_topology.h"
#include "format/state.h"
#include "format/view_objects.h"
#include "format/views.h"

/*
 * The mode in force in the kernel, whatever the configuration requests; "enforce" only if the
 * self-test confirmed it.
 */
static const char *guard_word(const struct guard_status *status)
{
	if (status->state == GUARD_INACTIVE)
		return "absent";
	if (status->state == GUARD_UNKNOWN)
		return "unknown";
	if (status->modes[ASPECT_CPUSET_FILES] == ENFORCEMENT_ENFORCE &&
	    status->state == GUARD_PARTIAL)
		return "partial";
	return enforcement_name(status->modes[ASPECT_CPUSET_FILES]);
}

static struct json_object *report_node(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	char reason[ROW_DETAIL_MAX + 64] = "", tiers[32], partition[128] = "member";
	struct guard_status guard = {.state = GUARD_INACTIVE};
	struct group_status status;
	struct view_node row = {
		.source = "agent",
		.mode = run_mode_name(controller->options.config->mode),
		.kernel = controller->options.kernel_release,
		.hierarchy = controller->layout.systemd ? "systemd" : "cgroupfs",
		.workload_root = controller->layout.root,
		.partition = partition,
		.tiers = tiers,
		.ready = controller->faces.ready(controller, reason, sizeof(reason)),
		.not_ready = reason,
		.nr_findings = controller->findings.nr,
		.findings = controller->findings.rows,
	};

	ctl_guard_status(controller, &guard);
	row.guard = guard_word(&guard);
	if (!groups->status(groups->self, controller->layout.root, &status) && *status.partition)
		snprintf(partition, sizeof(partition), "%s", status.partition);
	snprintf(tiers, sizeof(tiers), "0%s%s%s%s", controller->tier.is_held ? " 1" : "",
		 controller->tier.is_isolated ? " 1i" : "",
		 guard_denies(&guard, guard.modes[ASPECT_CPUSET_FILES]) ? " 2" : "",
		 ctl_moves_strangers(controller) ? " 3" : "");
	return view_node(controller->ledger, &row);
}

/* What the kernel says of a container as text; borrowed by the rows. */
struct observed_text {
	char cpus[CPUSET_TEXT_MAX], mems[CPUSET_TEXT_MAX], partition[128];
};

static void read_usage(struct controller *controller, uint64_t cgroup_id,
		       struct view_container *row)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	struct usage usage;

	if (!kernel || !cgroup_id || kernel->usage(kernel->self, cgroup_id, &usage))
		return;
	row->run_ns = (int64_t)(usage.run_local_ns + usage.run_remote_ns + usage.run_outside_ns);
	row->wait_ns = 0;
	for (enum wait_cause cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		row->cause_ns[cause] = (int64_t)usage.wait_ns[cause];
		row->wait_ns += row->cause_ns[cause];
	}
	row->migrations_within_node =
		(int64_t)(usage.migrations_thread + usage.migrations_core + usage.migrations_llc);
	row->migrations_across_nodes = (int64_t)usage.migrations_numa;
}

static const char *unless_empty(const char *text)
{
	return *text ? text : NULL;
}

static void read_container(struct controller *controller, const struct group *group,
			   bool with_processes, struct view_container *row,
			   struct observed_text *text)
{
	const struct groups_port *groups = controller->ports.groups;
	pid_t *pids cleanup_free = NULL;
	struct group_status status;
	uint32_t nr_pids;
	int r;

	*row = view_container_unknown;
	row->uid = group->uid;
	row->container = group->container;
	r = groups->status(groups->self, group->path, &status);
	if (r == -ENOENT)
		return;
	read_usage(controller, ctl_cgroup_id(controller, group->path, r ? NULL : &status), row);
	if (r)
		return;
	cpuset_format(&status.effective_cpus, text->cpus, sizeof(text->cpus));
	cpuset_format(&status.effective_mems, text->mems, sizeof(text->mems));
	row->effective_cpus = text->cpus;
	row->effective_mems = text->mems;
	text_copy(text->partition, sizeof(text->partition), status.partition);
	row->partition = unless_empty(text->partition);
	if (with_processes && !groups->tasks(groups->self, group->path, &pids, &nr_pids))
		row->processes = nr_pids;
}

struct json_object *ctl_report_containers(struct controller *controller, bool with_processes)
{
	uint32_t nr_groups = controller->measured.tree.nr_groups, nr = 0;
	struct view_container *rows cleanup_free = calloc(nr_groups + 1, sizeof(*rows));
	struct observed_text *texts cleanup_free = calloc(nr_groups + 1, sizeof(*texts));

	if (!rows || !texts)
		return NULL;
	for (uint32_t i = 0; i < nr_groups; i++) {
		const struct group *group = &controller->measured.tree.groups[i];

		if (group->role != GROUP_CONTAINER)
			continue;
		read_container(controller, group, with_processes, &rows[nr], &texts[nr]);
		nr++;
	}
	return view_containers(controller->ledger, &controller->desired, rows, nr);
}

static struct json_object *report_containers(struct controller *controller)
{
	return ctl_report_containers(controller, true);
}

static struct json_object *report_policy(struct controller *controller)
{
	return view_policy(controller->options.config, controller->options.config_file,
			   controller->policy, ledger_reserved(controller->ledger));
}

static struct json_object *report_state(struct controller *controller)
{
	struct view_state row = {
		.file = PINFOLD_STATE_FILE,
		.present = controller->record.written_ns > 0,
		.writable = controller->record.is_writable,
		.version = state_version(controller->ledger),
		.boot_id = controller->options.boot_id,
		.written_ns = controller->record.written_ns ? controller->record.written_ns : -1,
		.nr_pods = ledger_nr_pods(controller->ledger),
		.problem = *controller->record.problem ? controller->record.problem : NULL,
	};

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++)
		row.nr_containers += ledger_pod_at(controller->ledger, i)->nr_grants;
	return view_state(&row);
}

static struct json_object *report_ledger(struct controller *controller)
{
	struct text text cleanup_text = {0};

	state_encode(controller->ledger, controller->options.boot_id, &text);
	return text.error ? NULL : view_ledger(text.data);
}

static struct json_object *report_drift(struct controller *controller)
{
	return view_drifts(controller->drift.list.rows, controller->drift.list.nr_rows);
}

struct irq_text {
	char remedy[ROW_DETAIL_MAX];
};

static struct json_object *report_irqs(struct controller *controller)
{
	const struct irq_report *report = &controller->steering.report;
	struct view_irq *rows cleanup_free = calloc(report->nr + 1, sizeof(*rows));
	struct irq_text *texts cleanup_free = calloc(report->nr + 1, sizeof(*texts));

	if (!rows || !texts)
		return NULL;
	for (uint32_t i = 0; i < report->nr; i++) {
		const struct irq_row *row = &report->rows[i];
		const bool is_interrupt = row->kind == IRQ_KIND_INTERRUPT;

		ctl_irq_remedy(controller, row, texts[i].remedy, sizeof(texts[i].remedy));
		rows[i] = (struct view_irq){
			.kind = row->kind,
			.irq = is_interrupt ? (int64_t)row->number : -1,
			.name = row->name,
			.state = row->state,
			.affinity = row->affinity,
			.effective = row->effective,
			.original = row->original,
			.exclusive_cpus = unless_empty(row->exclusive),
			.fired = is_interrupt ? (int64_t)row->nr_fired : -1,
			.remedy = unless_empty(texts[i].remedy),
		};
	}
	return view_irqs(rows, report->nr);
}

static struct view_discovery discovery_row(const struct discovery *discovery,
					   const struct discovered_cgroup *found)
{
	static const char *const names[DISCOVERED_NAMES_NR] = {
		[DISCOVERED_NAMES_NONE] = "none",
		[DISCOVERED_NAMES_UNKNOWN] = "unknown",
		[DISCOVERED_NAMES_READ] = "read",
	};
	const struct kubepods_name *name = &found->name;

	return (struct view_discovery){
		.kind = kubepods_kind_name(name->kind),
		.namespace = found->namespace,
		.pod = found->pod,
		.container = found->container,
		.names = names[found->names],
		.id = unless_empty(name->id),
		.uid = unless_empty(name->uid),
		.qos = name->has_qos ? qos_class_name(name->qos) : NULL,
		.runtime = name->kind == KUBEPODS_POD ? NULL : kubepods_runtime_name(name->runtime),
		.driver = name->is_systemd ? "systemd" : "cgroupfs",
		.cpus = found->cpus,
		.effective_cpus = found->effective_cpus,
		.kubelet_cpus = discovery_given(discovery, found),
		.mems = found->mems,
		.effective_mems = found->effective_mems,
		.cpu_max = found->cpu_max,
		.memory_max = found->memory_max,
		.cpu_request_mcpu = found->cpu_request_mcpu,
		.cpu_weight = found->cpu_weight,
		.tasks = found->tasks,
		.run_ns = found->run_ns,
		.throttled_ns = found->throttled_ns,
		.cgroup = found->path,
	};
}

static struct json_object *report_discovery(struct controller *controller)
{
	const struct discovery *discovery = &controller->discovered.last;
	struct view_discovery *rows cleanup_free = calloc(discovery->nr + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < discovery->nr; i++)
		rows[i] = discovery_row(discovery, &discovery->rows[i]);
	return view_discoveries(rows, discovery->nr);
}

static struct json_object *events_from(struct controller *controller, uint64_t sequence)
{
	const uint32_t first = event_log_find(&controller->events, sequence);
	const uint32_t nr = event_log_nr(&controller->events) - first;
	struct event_row *rows cleanup_free = calloc(nr + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < nr; i++)
		rows[i] = *event_log_at(&controller->events, first + i);
	return view_events(rows, nr);
}

static struct json_object *report_events(struct controller *controller)
{
	return events_from(controller, 0);
}

static struct json_object *report_features(struct controller *controller)
{
	const struct feature_row *rows = NULL;
	uint32_t nr = 0;

	if (controller->ports.kernel)
		nr = controller->ports.kernel->features(controller->ports.kernel->self, &rows);
	return view_features(rows, nr);
}

static uint32_t add_claims(struct cpu_claim *claims, const struct discovery *discovery,
			   const struct kubelet_entries *entries)
{
	for (uint32_t i = 0; i < entries->nr; i++) {
		const struct kubelet_entry *entry = &entries->entries[i];
		const struct discovered_cgroup *pod = discovery_named_pod(discovery, entry->pod);

		claims[i] = (struct cpu_claim){
			.uid = entry->pod,
			.namespace = pod ? pod->namespace : NULL,
			.pod = pod ? pod->pod : NULL,
			.container = entry->container,
			.cpus = &entry->cpus,
		};
	}
	return entries->nr;
}

static struct json_object *report_cpus(struct controller *controller)
{
	const struct discovery *discovery = &controller->discovered.last;
	const struct kubelet_cpu_state *state = &discovery->state;
	struct cpu_claim *claims cleanup_free = NULL;
	uint32_t nr;

	if (!discovery_is_static(discovery))
		return view_cpus(controller->ledger);
	claims = calloc((size_t)state->pods.nr + state->containers.nr + 1, sizeof(*claims));
	if (!claims)
		return NULL;
	nr = add_claims(claims, discovery, &state->pods);
	nr += add_claims(claims + nr, discovery, &state->containers);
	return view_kubelet_cpus(controller->ledger, claims, nr, &state->default_cpus);
}

/* false = nobody counts the waits. */
static bool fill_numa_waits(struct controller *controller, struct numa_wait *ret_waits)
{
	const struct node_waits *waits = &controller->node_waits;
	const uint64_t *from_ns = NULL;
	uint64_t window_ns;

	ctl_follow_node_waits(controller);
	if (!waits->has_begun)
		return false;
	window_ns = node_waits_window(waits, &from_ns);
	for (uint32_t node = 0; node < controller->topology->nodes.nr; node++)
		ret_waits[node] = (struct numa_wait){
			.total_ns = (int64_t)waits->total_ns[node],
			.window_ns = window_ns ? (int64_t)window_ns : -1,
			.window_wait_ns =
				window_ns ? (int64_t)(waits->total_ns[node] - from_ns[node]) : -1,
		};
	return true;
}

static struct json_object *report_numa_nodes(struct controller *controller)
{
	const struct machine_port *machine = controller->ports.machine;
	struct topology_node now[TOPOLOGY_MAX_NODES];
	struct numa_wait waits[TOPOLOGY_MAX_NODES];
	const bool has_waits = fill_numa_waits(controller, waits);

	if (machine)
		machine->free_pages(machine->self, now);
	return view_numas(controller->ledger, machine ? now : NULL, has_waits ? waits : NULL);
}

/* The path of a refused document; borrowed by the row. */
struct refusal_text {
	char file[CONFIG_PATH_MAX + ROW_PATH_MAX];
};

static void fill_refusal(const struct controller *controller, const struct refused_pod *refused,
			 struct refusal_row *row, struct refusal_text *text)
{
	const char *directory = controller->options.config->sources.manifest_directory;

	snprintf(text->file, sizeof(text->file), "%s/%s", directory, refused->file);
	*row = (struct refusal_row){
		.file = *refused->file ? text->file : NULL,
		.line = refused->line,
		.decision = &refused->decision,
		.namespace = unless_empty(refused->namespace),
		.name = unless_empty(refused->pod),
	};
	if (refused->spec)
		row->uid = refused->spec->uid;
}

/* All refused pods; if `explained`, the pods of the ledger with their explanations too. */
static struct json_object *with_refusals(struct controller *controller, bool explained)
{
	uint32_t nr = controller->admission.refusals.nr;
	struct refusal_row *rows cleanup_free = calloc(nr + 1, sizeof(*rows));
	struct refusal_text *texts cleanup_free = calloc(nr + 1, sizeof(*texts));
	struct pod_problem *problems cleanup_free =
		calloc(ledger_nr_pods(controller->ledger) + 1, sizeof(*problems));

	if (!rows || !texts || !problems)
		return NULL;
	for (uint32_t i = 0; i < nr; i++)
		fill_refusal(controller, &controller->admission.refusals.rows[i], &rows[i],
			     &texts[i]);
	if (!explained)
		return view_refusals(rows, nr);
	return view_explains(controller->ledger, &controller->desired, rows, nr, problems,
			     ctl_pod_problems(controller, problems));
}

static struct json_object *report_refusals(struct controller *controller)
{
	return with_refusals(controller, false);
}

static struct json_object *report_explanations(struct controller *controller)
{
	return with_refusals(controller, true);
}

static const struct {
	const char *object;
	struct json_object *(*build)(struct controller *controller);
} reports[] = {
	{"node", report_node},
	{"cpu", report_cpus},
	{"numa", report_numa_nodes},
	{"pod", ctl_report_pods},
	{"container", report_containers},
	{"placement", ctl_report_placement},
	{"cpu_use", ctl_report_cpu_use},
	{"policy", report_policy},
	{"state", report_state},
	{"drift", report_drift},
	{"event", report_events},
	{"feature", report_features},
	{"prog", ctl_report_progs},
	{"map", ctl_report_maps},
	{"guard", ctl_report_guard},
	{"usage", ctl_report_usage},
	{"refusal", report_refusals},
	{"explain", report_explanations},
	{"ledger", report_ledger},
	{"pressure", ctl_report_pressure},
	{"pressure_numa", ctl_report_pressure_numa},
	{"pressure_second", ctl_report_pressure_second},
	{"latency", ctl_report_latency},
	{"memory", ctl_report_memory},
	{"noise", ctl_report_noise},
	{"irq", report_irqs},
	{"stranger", ctl_report_strangers},
	{"discovery", report_discovery},
};

/* Behind "object/NUMBER": only what follows, for those who ask again and again. */
static const struct {
	const char *object;
	struct json_object *(*build)(struct controller *controller, uint64_t number);
} reports_from[] = {
	{"event", events_from},
};

/* Decimal digits and nothing else. */
static bool parse_number(const char *digits, uint64_t *ret_number)
{
	/* strtoull also takes signs and blanks */
	for (const char *at = digits; *at; at++)
		if (*at < '0' || *at > '9') /* text: a request has the number so */
			return false;
	errno = 0;
	*ret_number = strtoull(digits, NULL, 10); /* text: the same */
	return *digits && !errno;
}

static int query_from(struct controller *controller, const char *object, const char *slash,
		      struct json_object **ret_json)
{
	const size_t len = (size_t)(slash - object);
	uint64_t number;

	if (!parse_number(slash + 1, &number))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(reports_from); i++) {
		struct json_object *json;

		if (strlen(reports_from[i].object) != len ||
		    memcmp(object, reports_from[i].object, len))
			continue;
		json = reports_from[i].build(controller, number);
		if (!json)
			return -ENOMEM;
		*ret_json = json;
		return 0;
	}
	return -ENOENT;
}

int ctl_query(void *self, const char *object, struct json_object **ret_json)
{
	const char *slash = strchr(object, '/'); /* text: a request asks for "object/NUMBER" */

	if (slash)
		return query_from(self, object, slash, ret_json);
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		if (!strcmp(object, reports[i].object)) {
			struct json_object *json = reports[i].build(self);

			if (!json)
				return -ENOMEM;
			*ret_json = json;
			return 0;
		}
	return -ENOENT;
}

int ctl_topology(void *self, struct text *out)
{
	const struct controller *controller = self;

	if (controller->options.config->mode != MODE_ALLOCATE)
		return -ENOENT;
	node_topology_write(controller->ledger,
			    controller->options.host ? controller->options.host : "", EMIT_JSON,
			    out);
	return out->error;
}
