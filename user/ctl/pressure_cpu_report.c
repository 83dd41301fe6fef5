// SPDX-License-Identifier: Apache-2.0
/* A group of which no CPU is known has rows without figures, which say why. */
#include "ctl/pressure_cpu_report.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/pressure_report.h"
#include "format/view_objects.h"
#include "format/views.h"

#define SECOND_NS 1000000000ULL

/* --- groups -------------------------------------------------------------------------------------- */

struct pressure_groups {
	struct group_pressure *rows; /* owned */
	uint32_t nr;
};

static void fini_groups(struct pressure_groups *groups)
{
	free(groups->rows);
}
#define cleanup_pressure_groups cleanup(fini_groups)

static struct pressure_groups list_groups(const struct controller *controller)
{
	struct pressure_groups groups = {
		.rows = calloc(controller->measured.tree.nr_groups + 1, sizeof(*groups.rows))};

	if (groups.rows)
		groups.nr = ctl_pressures(controller, groups.rows);
	return groups;
}

static enum pressure_part_state state_of(const struct group_pressure *group)
{
	const struct pressure_track *track = group->track;

	if (!track || track->state == PRESSURE_UNKNOWN)
		return PRESSURE_PART_UNKNOWN;
	if (track->state == PRESSURE_OFF)
		return PRESSURE_PART_OFF;
	if (track->state == PRESSURE_OFF_CGROUP)
		return PRESSURE_PART_OFF_CGROUP;
	if (track->is_left_out)
		return PRESSURE_PART_LEFT_OUT;
	if (track->is_unreadable)
		return PRESSURE_PART_UNREADABLE;
	return track->cpus && track->cpus->read_ns ? PRESSURE_PART_MEASURED : PRESSURE_PART_UNKNOWN;
}

/* NULL = nothing can be said of its CPUs. */
static const struct pressure_cpus *cpus_of(const struct group_pressure *group)
{
	return state_of(group) == PRESSURE_PART_MEASURED ? group->track->cpus : NULL;
}

static const char *container_of(const struct group_pressure *group)
{
	return *group->container ? group->container : NULL;
}

/* --- parts --------------------------------------------------------------------------------------- */

/* `part` NULL = nothing is known. */
static struct view_pressure_part view_of(const struct group_pressure *group,
					 const struct pressure_part *part,
					 enum pressure_resource resource)
{
	const enum pressure_kind some = pressure_report_kinds[resource].some,
				 full = pressure_report_kinds[resource].full;
	const struct pressure_cpus *cpus;
	struct view_pressure_part view = {
		.namespace = group->pod->spec->namespace,
		.pod = group->pod->spec->name,
		.container = container_of(group),
		.uid = group->pod->spec->uid,
		.cpu = part ? part->cpu : -1,
		.numa = part ? part->node : -1,
		.resource = resource,
		.state = state_of(group),
		.some_10 = -1,
		.some_60 = -1,
		.some_300 = -1,
		.full_10 = -1,
		.full_60 = -1,
		.full_300 = -1,
		.some_ns = -1,
		.full_ns = -1,
		.active_ns = -1,
		.known_ns = -1,
		.missed_ns = -1,
	};

	if (!part)
		return view;
	cpus = group->track->cpus;
	view.some_10 = pressure_cpus_share(cpus, part, 10 * SECOND_NS, some);
	view.some_60 = pressure_cpus_share(cpus, part, 60 * SECOND_NS, some);
	view.some_300 = pressure_cpus_share(cpus, part, 300 * SECOND_NS, some);
	view.full_10 = pressure_cpus_share(cpus, part, 10 * SECOND_NS, full);
	view.full_60 = pressure_cpus_share(cpus, part, 60 * SECOND_NS, full);
	view.full_300 = pressure_cpus_share(cpus, part, 300 * SECOND_NS, full);
	view.some_ns = (int64_t)part->waited_ns[some];
	view.full_ns = (int64_t)part->waited_ns[full];
	view.active_ns = (int64_t)part->waited_ns[PRESSURE_ACTIVE];
	view.known_ns = (int64_t)part->known_ns;
	view.missed_ns = (int64_t)part->missed_ns;
	return view;
}

static void fill_part(const struct group_pressure *group, const struct pressure_part *part,
		      struct view_pressure_part rows[PRESSURE_RESOURCE_NR])
{
	for (int i = 0; i < PRESSURE_RESOURCE_NR; i++)
		rows[i] = view_of(group, part, (enum pressure_resource)i);
}

/* The part at a place, or NULL for the only place of a group of which nothing is known. */
static const struct pressure_part *part_at(const struct pressure_cpus *cpus, uint32_t at)
{
	return cpus ? &cpus->parts[at] : NULL;
}

static bool is_asked(const struct group_pressure *group, const struct ledger_pod *pod,
		     const char *container)
{
	return group->pod == pod && (!container || !strcmp(group->container, container));
}

static uint32_t nr_cpus_of(const struct group_pressure *group)
{
	const struct pressure_cpus *cpus = cpus_of(group);

	return cpus ? cpus->nr_cpus : 1;
}

struct json_object *ctl_report_pressure_cpus_of(struct controller *controller,
						const struct ledger_pod *pod, const char *container)
{
	struct pressure_groups groups cleanup_pressure_groups = list_groups(controller);
	struct view_pressure_part *rows cleanup_free = NULL;
	size_t nr = 0, nr_parts = 0;

	for (uint32_t i = 0; i < groups.nr; i++)
		if (is_asked(&groups.rows[i], pod, container))
			nr_parts += nr_cpus_of(&groups.rows[i]);
	rows = calloc(nr_parts * PRESSURE_RESOURCE_NR + 1, sizeof(*rows));
	if (!groups.rows || !rows)
		return NULL;
	for (uint32_t i = 0; i < groups.nr; i++) {
		const struct group_pressure *group = &groups.rows[i];

		if (!is_asked(group, pod, container))
			continue;
		for (uint32_t cpu = 0; cpu < nr_cpus_of(group); cpu++, nr += PRESSURE_RESOURCE_NR)
			fill_part(group, part_at(cpus_of(group), cpu), &rows[nr]);
	}
	return view_pressure_cpus(rows, nr);
}

/* One for a group of which nothing is known, and none if no node of its CPUs is. */
static uint32_t nr_nodes_of(const struct group_pressure *group)
{
	const struct pressure_cpus *cpus = cpus_of(group);

	return cpus ? cpus->nr_parts - cpus->nr_cpus - 1 : 1;
}

struct json_object *ctl_report_pressure_numa(struct controller *controller)
{
	struct pressure_groups groups cleanup_pressure_groups = list_groups(controller);
	struct view_pressure_part *rows cleanup_free = NULL;
	size_t nr = 0, nr_parts = 0;

	for (uint32_t i = 0; i < groups.nr; i++)
		nr_parts += nr_nodes_of(&groups.rows[i]);
	rows = calloc(nr_parts * PRESSURE_RESOURCE_NR + 1, sizeof(*rows));
	if (!groups.rows || !rows)
		return NULL;
	for (uint32_t i = 0; i < groups.nr; i++) {
		const struct group_pressure *group = &groups.rows[i];
		const struct pressure_cpus *cpus = cpus_of(group);
		const uint32_t first = cpus ? cpus->nr_cpus : 0;

		for (uint32_t node = 0; node < nr_nodes_of(group);
		     node++, nr += PRESSURE_RESOURCE_NR)
			fill_part(group, part_at(cpus, first + node), &rows[nr]);
	}
	return view_pressure_numas(rows, nr);
}

/* --- the last second ----------------------------------------------------------------------------- */

static void fill_second(const struct group_pressure *group,
			struct view_pressure_second rows[PRESSURE_RESOURCE_NR])
{
	const struct pressure_cpus *cpus = cpus_of(group);
	const uint64_t window_ns = cpus ? pressure_cpus_second(cpus) : 0;

	for (int i = 0; i < PRESSURE_RESOURCE_NR; i++) {
		rows[i] = (struct view_pressure_second){
			.namespace = group->pod->spec->namespace,
			.pod = group->pod->spec->name,
			.container = container_of(group),
			.uid = group->pod->spec->uid,
			.resource = (enum pressure_resource)i,
			.state = state_of(group),
			.window_ns = window_ns ? (int64_t)window_ns : -1,
			.some = -1,
			.full = -1,
		};
		if (!window_ns)
			continue;
		rows[i].some = pressure_cpus_second_share(cpus, pressure_report_kinds[i].some);
		rows[i].full = pressure_cpus_second_share(cpus, pressure_report_kinds[i].full);
	}
}

struct json_object *ctl_report_pressure_second(struct controller *controller)
{
	struct pressure_groups groups cleanup_pressure_groups = list_groups(controller);
	struct view_pressure_second *rows cleanup_free =
		calloc(groups.nr * PRESSURE_RESOURCE_NR + 1, sizeof(*rows));

	if (!groups.rows || !rows)
		return NULL;
	ctl_want_pressure_second(controller);
	for (uint32_t i = 0; i < groups.nr; i++)
		fill_second(&groups.rows[i], &rows[i * PRESSURE_RESOURCE_NR]);
	return view_pressure_seconds(rows, groups.nr * PRESSURE_RESOURCE_NR);
}
