// SPDX-License-Identifier: Apache-2.0
/*
 * Where the kernel does not measure pressure, no share stands in for it: the observer adds up the
 * waits of all tasks, while the time of several tasks that wait at once counts once in a share. What
 * the observer has is beside the shares instead, under a name of its own.
 */
#include "ctl/pressure_report.h"

#include <errno.h>
#include <stdio.h>

#include <pinfold/names.h>

#include "ctl/guard.h"
#include "ctl/internal.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/log.h"

struct remedy {
	char text[ROW_DETAIL_MAX];
};

/* The guard denies the operator the file that has to be written. */
static bool is_guarded(struct controller *controller)
{
	struct guard_status guard = {.state = GUARD_INACTIVE};

	ctl_guard_status(controller, &guard);
	return guard_denies(&guard, guard.modes[ASPECT_CPUSET_FILES]);
}

static void find_remedy(const struct group_pressure *group, bool guarded, struct remedy *ret_remedy)
{
	const enum pressure_state state = group->track ? group->track->state : PRESSURE_UNKNOWN;
	char *text = ret_remedy->text;
	const size_t size = sizeof(ret_remedy->text);

	*text = '\0';
	if (state == PRESSURE_OFF)
		snprintf(text, size, "boot with psi=1");
	else if (state == PRESSURE_OFF_CGROUP)
		snprintf(text, size,
			 "%swrite 1 to " PINFOLD_CGROUP_MOUNT "/%.200s/cgroup.pressure%s",
			 guarded ? "run 'pinfold guard release', " : "", group->path,
			 guarded ? ", then run 'pinfold guard arm'" : "");
}

/* --- rows ---------------------------------------------------------------------------------------- */

/*
 * The windows end with the last pass: what has happened since, nobody knows. While a cgroup is not
 * measured, its history is empty.
 */
static int percent_of(const struct group_pressure *group, uint64_t seconds, enum pressure_kind kind)
{
	if (!group->track)
		return -1;
	return pressure_history_share(&group->track->history, group->read_ns, seconds * 1000000000,
				      kind);
}

/*
 * Of the samples that pressure_samples.c adds after each pass, which there are also while the kernel
 * does not measure. -1 = less than a second of the window is known.
 */
static int64_t task_wait(const struct group_pressure *group, const struct sampled_group *sampled,
			 uint64_t seconds)
{
	struct pressure_growth sum;
	uint64_t wait_ns = 0;

	if (!sampled || !group->track)
		return -1;
	pressure_ring_sum(&sampled->ring, seconds * 1000000000, group->read_ns, &sum);
	if (sum.usage_ns < 1000000000)
		return -1;
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		wait_ns += sum.wait_ns[cause];
	return (int64_t)((double)wait_ns / (double)sum.usage_ns * 1e9 + 0.5);
}

static void fill_waits(const struct controller *controller, const struct group_pressure *group,
		       struct view_pressure *row)
{
	const struct sampled_group *sampled = pressure_samples_find(
		&controller->samples, group->pod->spec->uid, group->container);

	row->task_wait_10_ns = task_wait(group, sampled, 10);
	row->task_wait_60_ns = task_wait(group, sampled, 60);
	row->task_wait_300_ns = task_wait(group, sampled, 300);
}

const struct pressure_kinds pressure_report_kinds[PRESSURE_RESOURCE_NR] = {
	[PRESSURE_CPU] = {PRESSURE_CPU_SOME, PRESSURE_CPU_FULL},
	[PRESSURE_MEMORY] = {PRESSURE_MEMORY_SOME, PRESSURE_MEMORY_FULL},
	[PRESSURE_IO] = {PRESSURE_IO_SOME, PRESSURE_IO_FULL},
};

/* One row for each resource; they borrow the remedy, "" = there is none. */
static void fill_rows(const struct group_pressure *group, const char *remedy,
		      struct view_pressure rows[PRESSURE_RESOURCE_NR])
{
	const struct pressure_track *track = group->track;
	const bool is_measured = track && track->state == PRESSURE_MEASURED;

	for (int i = 0; i < PRESSURE_RESOURCE_NR; i++) {
		const enum pressure_kind some = pressure_report_kinds[i].some,
					 full = pressure_report_kinds[i].full;

		rows[i] = (struct view_pressure){
			.namespace = group->pod->spec->namespace,
			.pod = group->pod->spec->name,
			.container = *group->container ? group->container : NULL,
			.uid = group->pod->spec->uid,
			.resource = (enum pressure_resource)i,
			.state = track ? track->state : PRESSURE_UNKNOWN,
			.some_10 = percent_of(group, 10, some),
			.some_60 = percent_of(group, 60, some),
			.some_300 = percent_of(group, 300, some),
			.full_10 = percent_of(group, 10, full),
			.full_60 = percent_of(group, 60, full),
			.full_300 = percent_of(group, 300, full),
			.some_ns = is_measured ? (int64_t)track->total_ns[some] : -1,
			.full_ns = is_measured ? (int64_t)track->total_ns[full] : -1,
			.task_wait_10_ns = -1,
			.task_wait_60_ns = -1,
			.task_wait_300_ns = -1,
			.remedy = *remedy ? remedy : NULL,
		};
	}
}

/* The caller frees it; NULL = no memory. */
static struct group_pressure *list_groups(const struct controller *controller, uint32_t *ret_nr)
{
	struct group_pressure *groups =
		calloc(controller->measured.tree.nr_groups + 1, sizeof(*groups));

	if (groups)
		*ret_nr = ctl_pressures(controller, groups);
	return groups;
}

struct json_object *ctl_report_pressure(struct controller *controller)
{
	uint32_t nr = 0;
	struct group_pressure *groups cleanup_free = list_groups(controller, &nr);
	struct remedy *remedies cleanup_free = calloc(nr + 1, sizeof(*remedies));
	struct view_pressure *rows cleanup_free =
		calloc(nr * PRESSURE_RESOURCE_NR + 1, sizeof(*rows));
	const bool guarded = is_guarded(controller);

	if (!groups || !remedies || !rows)
		return NULL;
	for (uint32_t i = 0; i < nr; i++) {
		find_remedy(&groups[i], guarded, &remedies[i]);
		fill_rows(&groups[i], remedies[i].text, &rows[i * PRESSURE_RESOURCE_NR]);
		fill_waits(controller, &groups[i], &rows[i * PRESSURE_RESOURCE_NR + PRESSURE_CPU]);
	}
	return view_pressures(rows, nr * PRESSURE_RESOURCE_NR);
}

/* --- findings ------------------------------------------------------------------------------------ */

static bool is_any(const struct pressures *pressures, enum pressure_state state)
{
	for (uint32_t i = 0; i < pressures->nr; i++)
		if (pressures->tracks[i]->state == state)
			return true;
	return false;
}

static void put_off_cgroups(struct controller *controller, const struct group_pressure *first,
			    uint32_t nr)
{
	char container[96] = "", others[64] = "";
	struct remedy remedy;

	if (*first->container)
		snprintf(container, sizeof(container), "container %.63s of ", first->container);
	if (nr > 1)
		snprintf(others, sizeof(others), " and %u other cgroup%s", nr - 1,
			 nr > 2 ? "s" : "");
	find_remedy(first, is_guarded(controller), &remedy);
	findings_put(&controller->findings, FINDING_PRESSURE_OFF_CGROUP, remedy.text,
		     "cgroup.pressure is 0, so the pressure of %spod %.80s/%.80s%s is unknown",
		     container, first->pod->spec->namespace, first->pod->spec->name, others);
}

static void tell_off_cgroups(struct controller *controller)
{
	struct group_pressure *groups cleanup_free = NULL;
	const struct group_pressure *first = NULL;
	uint32_t nr = 0, nr_off = 0;

	/* Hardly ever, so the walk over all groups after each pass is saved. */
	if (is_any(&controller->pressures, PRESSURE_OFF_CGROUP)) {
		groups = list_groups(controller, &nr);
		if (!groups) {
			log_err(-ENOMEM,
				"ctl: cannot list the cgroups whose pressure the kernel does not measure");
			return;
		}
	}
	for (uint32_t i = 0; i < nr; i++) {
		if (!groups[i].track || groups[i].track->state != PRESSURE_OFF_CGROUP)
			continue;
		first = first ? first : &groups[i];
		nr_off++;
	}
	if (first)
		put_off_cgroups(controller, first, nr_off);
	else
		findings_clear(&controller->findings, FINDING_PRESSURE_OFF_CGROUP);
}

static void tell_left_out(struct controller *controller)
{
	const uint32_t nr = controller->pressures.nr_left_out;

	findings_update_if(
		&controller->findings, FINDING_PRESSURE_LEFT_OUT, nr,
		"raise maxContainers in the configuration and restart the agent",
		"the pressure of %u %s is not read, because the program that reads it has no room "
		"for %s; maxContainers sets how many cgroups it has room for",
		nr, nr == 1 ? "cgroup" : "cgroups", nr == 1 ? "it" : "them");
}

static void tell_without_cpus(struct controller *controller)
{
	const uint32_t nr = controller->pressures.nr_without_cpus;

	findings_update_if(
		&controller->findings, FINDING_CPU_PRESSURE_LEFT_OUT, nr,
		"give containers exclusive CPUs, which are fewer than the shared pool's; "
		"`pinfold pressure cpu` says who is left out",
		"the pressure of %u %s on single CPUs and NUMA nodes is not read, "
		"because the pods and containers of this node have more than %u CPUs in all",
		nr, nr == 1 ? "pod or container" : "pods and containers", PRESSURE_CELLS_MAX);
}

void ctl_tell_pressure(struct controller *controller)
{
	tell_left_out(controller);
	tell_without_cpus(controller);
	findings_put_if(&controller->findings, FINDING_PRESSURE_OFF,
			is_any(&controller->pressures, PRESSURE_OFF),
			"boot with psi=1; until then the column 'task wait/s' of 'pinfold "
			"pressure show' has the waits for a CPU, added up over tasks",
			"the kernel does not measure pressure: it was booted with psi=0 or "
			"cgroup_disable=pressure, or built so");
	tell_off_cgroups(controller);
}
