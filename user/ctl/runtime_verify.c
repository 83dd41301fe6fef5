// SPDX-License-Identifier: Apache-2.0
/*
 * Compares the CPUs and memory nodes that a runtime was told with those that its containers have.
 * The runtime does not report a change that failed, and nothing tells when another process writes
 * the files.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/runtime_private.h"

/* Containers whose files are read in one second, so that many containers do not hold up the loop. */
#define PER_TICK 16

bool ctl_runtime_may_repair(const struct controller *controller)
{
	/* Containers that were found are the business of user/runtime/kubepods.c. */
	return controller->ports.cpusets && *controller->options.config->sources.nri &&
	       ctl_may_repair(controller, GROUP_CPUSET_CPUS);
}

struct cpuset ctl_runtime_told(const struct controller *controller, const struct runtime_row *row,
			       enum group_file file)
{
	struct cpuset nodes = CPUSET_EMPTY;

	if (file != GROUP_CPUSET_MEMS)
		return row->told;
	if (row->told_nodes)
		topology_mems_of_mask(controller->topology, row->told_nodes, &nodes);
	return nodes;
}

void ctl_runtime_note_told(const struct controller *controller, struct runtime_row *row,
			   const struct cpuset *cpus, node_mask_t nodes)
{
	const struct cpuset_port *port = controller->ports.cpusets;

	if (cpuset_equal(cpus, &row->told) && nodes == row->told_nodes)
		return;
	row->told = *cpus;
	row->told_nodes = nodes;
	/* What was seen and done before was about the former ones. */
	row->differs_ns = 0;
	row->put_back = row->right_files = row->wrong_files = 0;
	row->failing = (struct stranger_pause){0};
	/* The CPUs may be another pod's by the time that the kernel lets a write go on. */
	if (controller->runtimes.writing_since_ns)
		port->cancel(port->self);
}

/* Also if it lacks only CPUs that are offline. */
static bool has_its_cpus(const struct controller *controller, const struct runtime_row *row,
			 const struct cpuset *found)
{
	struct cpuset wanted = row->told, answered = row->answered;

	cpuset_intersect(&wanted, &controller->online);
	/* A resize that the runtime has not confirmed may or may not have been carried out. */
	cpuset_intersect(&answered, &controller->online);
	return cpuset_is_empty(&wanted) || cpuset_is_empty(found) || cpuset_equal(found, &wanted) ||
	       cpuset_equal(found, &answered);
}

static bool has_its_nodes(const struct controller *controller, const struct runtime_row *row,
			  const struct cpuset *found)
{
	struct cpuset wanted;

	topology_mems_of_mask(controller->topology, row->told_nodes, &wanted);
	return !row->told_nodes || cpuset_is_empty(found) || cpuset_equal(found, &wanted);
}

/*
 * The files themselves: one that is right is not written, if it has no effect because an ancestor has
 * fewer CPUs.
 */
static void judge_files(const struct controller *controller, struct runtime_row *row,
			const struct group_status *status)
{
	static const enum group_file files[] = {GROUP_CPUSET_CPUS, GROUP_CPUSET_MEMS};
	const struct cpuset *has[] = {&status->cpus, &status->mems};
	const bool differs[] = {row->has_other_cpus, row->has_other_nodes};

	row->right_files = row->wrong_files = 0;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct cpuset told = ctl_runtime_told(controller, row, files[i]);

		if (cpuset_is_empty(&told))
			continue;
		if (cpuset_equal(has[i], &told))
			row->right_files |= runtime_file_bit(files[i]);
		else if (differs[i])
			row->wrong_files |= runtime_file_bit(files[i]);
	}
}

/* An unknown set does not differ. */
void ctl_runtime_read(const struct controller *controller, struct runtime_row *row)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_status status;
	int r = *row->cgroup ? groups->status(groups->self, row->cgroup, &status) : -ENOENT;

	if (r) {
		row->differs_ns = 0;
		row->right_files = row->wrong_files = 0;
		/* It has ended. */
		if (r != -EINPROGRESS)
			row->put_back = 0;
		return;
	}
	row->cgroup_id = status.cgroup_id;
	row->found = status.effective_cpus;
	row->found_mems = status.effective_mems;
	row->has_other_cpus = !has_its_cpus(controller, row, &row->found);
	row->has_other_nodes = !has_its_nodes(controller, row, &row->found_mems);
	judge_files(controller, row, &status);
	if (!row->has_other_cpus && !row->has_other_nodes)
		row->differs_ns = 0;
	else if (!row->differs_ns)
		row->differs_ns = clock_now_ns(controller->ports.clock);
}

/* "CPUs than the runtime was told; the first is web of pod default/a, which was given 2-3 and has 0-15" */
static void describe(const struct controller *controller, const struct runtime_row *row,
		     char *message, size_t size)
{
	const bool is_about_cpus = row->has_other_cpus;
	const struct ledger_pod *owner = ledger_find(controller->ledger, row->uid);
	char told_text[96], found_text[96], pod[160] = "unknown";
	struct cpuset told = row->told;

	if (!is_about_cpus)
		topology_mems_of_mask(controller->topology, row->told_nodes, &told);
	if (owner)
		lookup_pod_label(owner->spec, pod, sizeof(pod));
	cpuset_format(&told, told_text, sizeof(told_text));
	cpuset_format(is_about_cpus ? &row->found : &row->found_mems, found_text,
		      sizeof(found_text));
	snprintf(
		message, size,
		"%s than the runtime was told; the first is %.48s of pod %.60s, which was given %.40s "
		"and has %.40s",
		is_about_cpus ? "CPUs" : "memory nodes", *row->name ? row->name : row->id, pod,
		told_text, found_text);
}

static void tell(struct controller *controller)
{
	const struct runtimes *runtimes = &controller->runtimes;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	/* What is put back in time is an event, and no finding. */
	const uint64_t patience_ns = ctl_runtime_may_repair(controller) ? 2 * RUNTIME_PATIENCE_NS
									: RUNTIME_PATIENCE_NS;
	const struct runtime_row *first = NULL;
	char difference[288];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < runtimes->nr_rows; i++) {
		const struct runtime_row *row = &runtimes->rows[i];

		if (!row->differs_ns || now_ns - row->differs_ns < patience_ns)
			continue;
		first = first ? first : row;
		nr++;
	}
	if (!first) {
		findings_clear(&controller->findings, FINDING_RUNTIME_CPUS_DIFFER);
		return;
	}
	describe(controller, first, difference, sizeof(difference));
	findings_update(&controller->findings, FINDING_RUNTIME_CPUS_DIFFER,
			"see the runtime's log for a change that failed, or find out what writes "
			"the container's cpuset; an update of the container sets it again, and so "
			"does a restart of the agent if its CPUs are exclusive",
			"%u container%s of the runtime %s other %.260s", nr, nr == 1 ? "" : "s",
			nr == 1 ? "has" : "have", difference);
}

void ctl_runtime_pinned(void *self, const char *container_id, uint64_t run_ns)
{
	struct controller *controller = self;

	controller->runtimes.unpinned_ns += run_ns;
}

void ctl_runtime_rewritten(void *self, const char *container_id, enum group_file file,
			   const struct cpuset *value)
{
	struct controller *controller = self;
	const struct runtime_row *row = runtime_rows_find(&controller->runtimes, container_id);
	const struct ledger_pod *owner = row ? ledger_find(controller->ledger, row->uid) : NULL;
	struct event_row event = {.record = EVENT_RECORD(EVENT_REPAIR)};

	if (!row)
		return;
	drift_count_rewritten(&controller->drift, file);
	event.record.attribute = file;
	event.record.action = ACTION_REPAIR;
	if (cpuset_format(value, event.record.value, sizeof(event.record.value)) >=
	    sizeof(event.record.value))
		memcpy(event.record.value + sizeof(event.record.value) - 4, "...", 4);
	text_copy(event.target, sizeof(event.target), row->cgroup);
	text_copy(event.container, sizeof(event.container), row->name);
	if (owner)
		lookup_pod_label(owner->spec, event.pod, sizeof(event.pod));
	event_log_add(&controller->events, &event);
}

/* Who it is, nothing tells: the BPF programs watch only the cgroups that the agent makes. */
void ctl_runtime_contested(void *self, const char *container_id, enum group_file file,
			   uint32_t nr_reverts)
{
	struct controller *controller = self;
	const struct runtime_row *row =
		container_id ? runtime_rows_find(&controller->runtimes, container_id) : NULL;
	const struct ledger_pod *owner = row ? ledger_find(controller->ledger, row->uid) : NULL;
	char pod[160] = "unknown";

	if (!row) {
		findings_clear(&controller->findings, FINDING_RUNTIME_CPUSET_CONTESTED);
		return;
	}
	if (owner)
		lookup_pod_label(owner->spec, pod, sizeof(pod));
	findings_update(
		&controller->findings, FINDING_RUNTIME_CPUSET_CONTESTED,
		"find out what writes the cpusets of containers, such as another agent, a "
		"plugin of the runtime or the kubelet's CPU manager, and end one of the two",
		"another program keeps writing %s of container %.63s of pod %.120s; the agent put it "
		"back %u times, and now does so at longer intervals",
		group_file_name(file), *row->name ? row->name : row->id, pod, nr_reverts);
}

void ctl_runtime_verify(struct controller *controller)
{
	struct runtimes *runtimes = &controller->runtimes;

	if (!runtimes->is_synchronized)
		return;
	for (uint32_t i = 0; i < PER_TICK && i < runtimes->nr_rows; i++)
		ctl_runtime_read(controller,
				 &runtimes->rows[runtimes->verified++ % runtimes->nr_rows]);
	tell(controller);
}
