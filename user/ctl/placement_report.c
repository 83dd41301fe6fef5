// SPDX-License-Identifier: Apache-2.0
/*
 * Where each container may run, where its tasks want to run and where they ran, as rows for the
 * inspector. Affinities are read when somebody asks; nothing is kept of them.
 */
#include "ctl/placement_report.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/internal.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/arena.h"

/* A window that is shorter says more about the two reads than about the container. */
#define LEAST_WINDOW_NS 1000000000ULL
#define WHOLE		10000 /* in hundredths of a percent */

/* What is known of a container, in `row`, with the parts in the arena. */
struct placing {
	struct controller *controller;
	struct arena *arena;
	const struct managed_group *published; /* NULL = the kernel was not told of it yet */
	struct view_placement *row;
	uint32_t *rows_left; /* of places and affinities; NULL = any number */
};

/* --- affinities ----------------------------------------------------------------------------------- */

/* Takes as many rows from those that are left; false = there are not so many. */
static bool take_rows(const struct placing *placing, uint64_t nr)
{
	if (!placing->rows_left)
		return true;
	if (nr > *placing->rows_left)
		return false;
	*placing->rows_left -= (uint32_t)nr;
	return true;
}

static void add_affinities(struct placing *placing, const struct affinities *found,
			   const struct cpuset *effective)
{
	struct view_placement *row = placing->row;
	struct view_placement_affinity *rows =
		arena_array(placing->arena, found->nr, sizeof(*rows));

	if (!rows)
		return;
	row->tasks = found->nr_tasks;
	row->tasks_left_out = found->nr_left_out;
	row->narrower_tasks = effective ? 0 : -1;
	for (uint32_t i = 0; i < found->nr; i++) {
		const struct affinity_group *group = &found->groups[i];

		rows[i] = (struct view_placement_affinity){
			.cpus = arena_copy(placing->arena, &group->cpus, sizeof(group->cpus)),
			.tasks = group->nr_tasks,
			.narrower = effective ? affinity_is_narrower(&group->cpus, effective) : -1,
			.task = (uint32_t)group->task,
		};
		if (rows[i].narrower > 0)
			row->narrower_tasks += group->nr_tasks;
	}
	if (!take_rows(placing, found->nr))
		return;
	row->affinities = rows;
	row->nr_affinities = found->nr;
}

/* --- run time ------------------------------------------------------------------------------------- */

/* A slot that was given up and taken again begins with 0 once more. */
static int64_t grown(uint64_t now, uint64_t then)
{
	return now > then ? (int64_t)(now - then) : 0;
}

/* The end of an open interval is an estimate, so a part may exceed the whole (not 0) by some us. */
static int percent_of(uint64_t part, uint64_t whole)
{
	return part >= whole ? WHOLE : (int)((double)part * WHOLE / (double)whole + 0.5);
}

static struct view_placement_cpu place_on(const struct placing *placing, const struct usage *usage,
					  uint64_t run_ns, uint32_t cpu)
{
	const struct topology *topology = placing->controller->topology;
	const struct managed_group *published = placing->published;
	struct view_placement_cpu place = {
		.cpu = cpu,
		.numa = -1,
		.granted = cpuset_has(published->cpus, cpu),
		.local = -1,
		.run_ns = (int64_t)usage->run_ns[cpu],
		.outside_ns = (int64_t)usage->outside_ns[cpu],
		.wait_ns = usage->cpu_wait_ns ? (int64_t)usage->cpu_wait_ns[cpu] : -1,
		.switches = usage->cpu_switches ? (int64_t)usage->cpu_switches[cpu] : -1,
		.preemptions = usage->cpu_preemptions ? (int64_t)usage->cpu_preemptions[cpu] : -1,
		.migrations = usage->cpu_migrations ? (int64_t)usage->cpu_migrations[cpu] : -1,
		.run_percent = percent_of(usage->run_ns[cpu], run_ns),
		.window_run_ns = -1,
		.window_percent = -1,
	};

	/* A CPU that came after the agent's start is in no topology. */
	if (!cpuset_has(&topology->all, cpu))
		return place;
	place.numa = topology->nodes.ids[topology->node_of[cpu]];
	place.local = !published->nodes || (published->nodes >> topology->node_of[cpu] & 1);
	return place;
}

/* With which sample a window that ends now begins; NULL = none is long enough. */
static const struct placement_sample *window_of(const struct controller *controller,
						const struct managed_group *published,
						uint64_t now_ns)
{
	const struct placement_sample *then =
		placement_window(&controller->placements, published->cgroup_id);

	return then && now_ns - then->taken_ns >= LEAST_WINDOW_NS ? then : NULL;
}

static void add_window(const struct placing *placing, const struct usage *usage, uint64_t now_ns,
		       struct view_placement_cpu *places, size_t nr)
{
	const struct placement_sample *then =
		window_of(placing->controller, placing->published, now_ns);
	struct view_placement *row = placing->row;

	if (!then)
		return;
	row->window_ns = (int64_t)(now_ns - then->taken_ns);
	row->window_outside_ns = grown(usage->run_outside_ns, then->outside_ns);
	row->window_remote_ns = grown(usage->run_remote_ns, then->remote_ns);
	row->window_run_ns = 0;
	for (size_t i = 0; i < nr; i++) {
		places[i].window_run_ns = (int64_t)placement_run_since(then, usage, places[i].cpu);
		places[i].window_percent =
			percent_of((uint64_t)places[i].window_run_ns, (uint64_t)row->window_ns);
		row->window_run_ns += places[i].window_run_ns;
	}
}

static void add_places(struct placing *placing, const struct usage *usage, uint64_t now_ns)
{
	struct view_placement *row = placing->row;
	const uint64_t run_ns = usage->run_local_ns + usage->run_remote_ns + usage->run_outside_ns;
	struct view_placement_cpu *places =
		arena_array(placing->arena, usage->nr_cpus, sizeof(*places));
	size_t nr = 0;

	if (!places)
		return;
	for (uint32_t cpu = 0; cpu < usage->nr_cpus; cpu++)
		if (usage->run_ns[cpu])
			places[nr++] = place_on(placing, usage, run_ns, cpu);
	row->state = PLACEMENT_COUNTED;
	row->run_ns = (int64_t)run_ns;
	row->outside_ns = (int64_t)usage->run_outside_ns;
	row->remote_ns = (int64_t)usage->run_remote_ns;
	row->switches = (int64_t)usage->switches;
	row->preemptions = (int64_t)usage->preemptions;
	row->migrations_thread = (int64_t)usage->migrations_thread;
	row->migrations_core = (int64_t)usage->migrations_core;
	row->migrations_llc = (int64_t)usage->migrations_llc;
	row->migrations_numa = (int64_t)usage->migrations_numa;
	add_window(placing, usage, now_ns, places, nr);
	row->places_left_out = 0;
	if (take_rows(placing, nr)) {
		row->places = places;
		row->nr_places = nr;
	} else {
		row->places_left_out = (int64_t)nr;
	}
}

/* --- rows ----------------------------------------------------------------------------------------- */

static void add_observed(struct placing *placing, const struct group *group)
{
	struct controller *controller = placing->controller;
	const struct groups_port *groups = controller->ports.groups;
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct cpuset *effective = NULL;
	struct group_status status;
	struct affinities found;
	struct usage usage;
	uint64_t now_ns;

	if (!groups->status(groups->self, group->path, &status)) {
		effective = arena_copy(placing->arena, &status.effective_cpus,
				       sizeof(status.effective_cpus));
		placing->row->effective_cpus = effective;
		placing->row->effective_mems = arena_copy(placing->arena, &status.effective_mems,
							  sizeof(status.effective_mems));
	}
	now_ns = clock_now_ns(controller->ports.clock);
	/* What was published went to the kernel port, so there is one. */
	if (placing->published &&
	    !kernel->usage(kernel->self, placing->published->cgroup_id, &usage) && usage.run_ns)
		add_places(placing, &usage, now_ns);
	/* Reading them takes a job for each container, so not for rows without details. */
	if (placing->row->places_left_out <= 0 &&
	    !groups->affinities(groups->self, group->path, &found))
		add_affinities(placing, &found, effective);
}

static struct view_placement row_of(const struct ledger_pod *pod, const struct group *group)
{
	const struct grant *grant = ledger_find_grant(pod, group->container);

	return (struct view_placement){
		.namespace = pod->spec->namespace,
		.pod = pod->spec->name,
		.container = group->container,
		.uid = pod->spec->uid,
		.isolation = grant ? grant->isolation : ISOLATION_HOST,
		.cpus = group->files[GROUP_CPUSET_CPUS],
		.mems = group->files[GROUP_CPUSET_MEMS],
		.run_ns = -1,
		.outside_ns = -1,
		.remote_ns = -1,
		.switches = -1,
		.preemptions = -1,
		.migrations_thread = -1,
		.migrations_core = -1,
		.migrations_llc = -1,
		.migrations_numa = -1,
		.window_ns = -1,
		.window_run_ns = -1,
		.window_outside_ns = -1,
		.window_remote_ns = -1,
		.tasks = -1,
		.narrower_tasks = -1,
		.tasks_left_out = -1,
		.places_left_out = -1,
	};
}

/* Which containers are asked for, and how many rows of places and affinities there may be. */
struct wanted {
	const struct ledger_pod *pod; /* NULL = any */
	const char *container;	      /* NULL = any */
	uint32_t *rows_left;	      /* NULL = any number */
};

static bool is_wanted(const struct wanted *wanted, const struct ledger_pod *pod,
		      const struct group *group)
{
	if (!pod || group->role != GROUP_CONTAINER || (wanted->pod && wanted->pod != pod))
		return false;
	return !wanted->container || !strcmp(wanted->container, group->container);
}

static struct json_object *report(struct controller *controller, const struct wanted *wanted)
{
	struct arena arena cleanup_arena = {0};
	const struct group_tree *measured = &controller->measured.tree;
	struct view_placement *rows = arena_array(&arena, measured->nr_groups, sizeof(*rows));
	uint32_t nr = 0, cursor = 0;

	for (uint32_t i = 0; rows && i < measured->nr_groups; i++) {
		const struct group *group = &measured->groups[i];
		const struct ledger_pod *pod = ledger_find(controller->ledger, group->uid);
		struct placing placing = {.controller = controller,
					  .arena = &arena,
					  .row = &rows[nr],
					  .rows_left = wanted->rows_left};

		if (!is_wanted(wanted, pod, group))
			continue;
		placing.published = ctl_published_next(controller, group->path, &cursor);
		rows[nr++] = row_of(pod, group);
		add_observed(&placing, group);
	}
	return arena.failed ? NULL : view_placements(rows, nr);
}

struct json_object *ctl_report_placement(struct controller *controller)
{
	uint32_t rows_left = PLACEMENT_ROWS_MAX;

	return report(controller, &(struct wanted){.rows_left = &rows_left});
}

struct json_object *ctl_report_placement_of(struct controller *controller,
					    const struct ledger_pod *pod, const char *container)
{
	return report(controller, &(struct wanted){.pod = pod, .container = container});
}

/* --- all containers together ---------------------------------------------------------------------- */

struct cpu_sums {
	double shares[CPUSET_MAX]; /* of the time of each CPU, by CPU id */
	int64_t window_ns;	   /* the longest; 0 = nothing is known */
};

static void add_container(struct controller *controller, const struct managed_group *published,
			  struct cpu_sums *sums)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	const struct placement_sample *then = window_of(controller, published, now_ns);
	struct usage usage;
	int64_t window_ns;

	if (!then || kernel->usage(kernel->self, published->cgroup_id, &usage) || !usage.run_ns)
		return;
	window_ns = (int64_t)(now_ns - then->taken_ns);
	if (window_ns > sums->window_ns)
		sums->window_ns = window_ns;
	for (uint32_t cpu = 0; cpu < usage.nr_cpus && cpu < CPUSET_MAX; cpu++)
		sums->shares[cpu] +=
			(double)placement_run_since(then, &usage, cpu) / (double)window_ns;
}

static struct json_object *view_sums(const struct topology *topology, const struct cpu_sums *sums)
{
	struct arena arena cleanup_arena = {0};
	struct view_cpu_use *rows = arena_array(&arena, CPUSET_MAX, sizeof(*rows));
	uint32_t nr = 0;

	if (!rows)
		return NULL;
	for (uint32_t cpu = 0; sums->window_ns && cpu < CPUSET_MAX; cpu++)
		if (sums->shares[cpu] > 0 || cpuset_has(&topology->all, cpu))
			rows[nr++] = (struct view_cpu_use){
				.cpu = cpu,
				.run_ns = (int64_t)(sums->shares[cpu] * (double)sums->window_ns +
						    0.5),
				.window_ns = sums->window_ns};
	return view_cpu_uses(rows, nr);
}

struct json_object *ctl_report_cpu_use(struct controller *controller)
{
	struct cpu_sums *sums cleanup_free = calloc(1, sizeof(*sums));
	uint32_t cursor = 0;

	if (!sums)
		return NULL;
	for (uint32_t i = 0; controller->ports.kernel && i < controller->measured.tree.nr_groups;
	     i++) {
		const struct group *group = &controller->measured.tree.groups[i];
		const struct managed_group *published;

		if (group->role != GROUP_CONTAINER)
			continue;
		published = ctl_published_next(controller, group->path, &cursor);
		if (published)
			add_container(controller, published, sums);
	}
	return view_sums(controller->topology, sums);
}
