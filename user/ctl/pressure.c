// SPDX-License-Identifier: Apache-2.0
/*
 * A history belongs to a cgroup's id, not to a name: a container that was restarted in a new
 * cgroup begins with an empty one. Tracks and the kernel's rows are both sorted by id, so a
 * pass merges them in one walk.
 */
#include "ctl/pressure.h"

#include <errno.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

/*
 * The tick comes each second; half of one is room for a tick that comes early. A pass holds the
 * lock of all cgroups, so a slow one is followed by a long pause.
 */
#define PAUSE_NS	 (PRESSURE_PERIOD_NS * 3 / 4)
#define PAUSE_FACTOR	 20
#define LONGEST_PAUSE_NS (30 * 1000000000ULL)
/* Whoever wants windows of a second asks each second, or goes without them. */
#define SECOND_WANTED_NS (4 * 1000000000ULL)
#define SECOND_PAUSE_NS	 (750 * 1000000ULL)
/* Figures that are older by this than the next pass should be are not shown. */
#define STALE_NS (10 * 1000000000ULL)

static void free_track(struct pressure_track *track)
{
	if (track)
		free(track->cpus);
	free(track);
}

static void free_tracks(struct pressure_track **tracks, uint32_t nr)
{
	for (uint32_t i = 0; tracks && i < nr; i++)
		free_track(tracks[i]);
	free(tracks);
}

void pressure_fini(struct pressures *pressures)
{
	free_tracks(pressures->tracks, pressures->nr);
	*pressures = (struct pressures){0};
}

const struct pressure_track *pressure_find(const struct pressures *pressures, uint64_t cgroup_id)
{
	uint32_t low = 0, high = pressures->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (pressures->tracks[middle]->cgroup_id == cgroup_id)
			return pressures->tracks[middle];
		if (pressures->tracks[middle]->cgroup_id < cgroup_id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void update_track(struct pressure_track *track, const struct pressure_row *row,
			 uint64_t now_ns)
{
	track->throttled_ns = row->throttled_ns;
	track->state = (enum pressure_state)row->state;
	if (track->state != PRESSURE_MEASURED) {
		/* What happens until it is measured again, nobody knows. */
		track->history.nr = 0;
		return;
	}
	memcpy(track->total_ns, row->total_ns, sizeof(track->total_ns));
	pressure_history_add(&track->history, now_ns, row);
}

/* The row of a cgroup without cells is one whose CPUs were not asked for. */
static int update_cpus(const struct controller *controller, struct pressure_track *track,
		       const struct pressure_row *row, const struct pressure_cell *cells)
{
	track->is_left_out = !row->nr_cells;
	track->is_unreadable = row->cells == PRESSURE_CELLS_UNREADABLE;
	if (track->is_left_out) {
		free(track->cpus);
		track->cpus = NULL;
		return 0;
	}
	if (pressure_cpus_follow(&track->cpus, controller->topology, &cells[row->first_cell],
				 row->nr_cells))
		return -ENOMEM;
	if (row->state != PRESSURE_MEASURED)
		pressure_cpus_cut(track->cpus);
	else if (row->cells == PRESSURE_CELLS_READ)
		pressure_cpus_add(track->cpus, row->read_ns, &cells[row->first_cell]);
	return 0;
}

/* Keep the tracks of these rows, add those that are new, and free the others. */
static int take_rows(struct pressures *pressures, const struct pressure_row *rows, uint32_t nr,
		     uint64_t now_ns)
{
	struct pressure_track **tracks = calloc(nr + 1, sizeof(*tracks));
	uint32_t at = 0;

	if (!tracks)
		return -ENOMEM;
	/* New ones first: until all are there, nothing of the old state has changed. */
	for (uint32_t i = 0; i < nr; i++) {
		if (pressure_find(pressures, rows[i].cgroup_id))
			continue;
		tracks[i] = calloc(1, sizeof(*tracks[i]));
		if (!tracks[i]) {
			free_tracks(tracks, nr);
			return -ENOMEM;
		}
		tracks[i]->cgroup_id = rows[i].cgroup_id;
	}
	for (uint32_t i = 0; i < nr; i++) {
		while (at < pressures->nr && pressures->tracks[at]->cgroup_id < rows[i].cgroup_id)
			free_track(pressures->tracks[at++]);
		if (!tracks[i])
			tracks[i] = pressures->tracks[at++];
		update_track(tracks[i], &rows[i], now_ns);
	}
	while (at < pressures->nr)
		free_track(pressures->tracks[at++]);
	free(pressures->tracks);
	pressures->tracks = tracks;
	pressures->nr = nr;
	return 0;
}

/* A pass that keeps failing is logged once. */
static void note_error(struct pressures *pressures, int error)
{
	if (error && error != pressures->error)
		log_warn(error, "ctl: cannot read the pressure of the cgroups; it is unknown until "
				"that succeeds");
	pressures->error = error;
}

int ctl_end_pressure(struct controller *controller, int result, const struct pressure_row *rows,
		     uint32_t nr, const struct pressure_cell *cells)
{
	struct pressures *pressures = &controller->pressures;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);

	pressures->since_ns = 0;
	pressures->pause_ns = (now_ns - pressures->sampled_ns) * PAUSE_FACTOR;
	if (pressures->pause_ns > LONGEST_PAUSE_NS)
		pressures->pause_ns = LONGEST_PAUSE_NS;
	/* The workload root is gone, and with it every cgroup. */
	if (result == -ENOENT)
		result = nr = pressures->nr_asked = 0;
	if (!result)
		pressures->nr_left_out = pressures->nr_asked > nr ? pressures->nr_asked - nr : 0;
	if (!result)
		result = take_rows(pressures, rows, nr, now_ns);
	for (uint32_t i = 0; !result && i < nr; i++)
		result = update_cpus(controller, pressures->tracks[i], &rows[i], cells);
	if (!result)
		pressures->read_ns = now_ns;
	note_error(pressures, result);
	return result;
}

void ctl_want_pressure_second(struct controller *controller)
{
	controller->pressures.second_until_ns =
		clock_now_ns(controller->ports.clock) + SECOND_WANTED_NS;
}

static bool is_due(const struct pressures *pressures, uint64_t now_ns)
{
	const uint64_t passed_ns = now_ns - pressures->sampled_ns;
	const uint64_t pause_ns = now_ns < pressures->second_until_ns ? SECOND_PAUSE_NS : PAUSE_NS;

	if (pressures->since_ns)
		return false;
	return !pressures->sampled_ns ||
	       (passed_ns >= pause_ns && passed_ns >= pressures->pause_ns);
}

/* --- what a pass asks for ------------------------------------------------------------------------ */

struct asked {
	struct pressure_row *rows; /* those of the publisher */
	struct pressure_cell *cells;
	uint32_t nr_cells;
	uint32_t nr_without; /* pods and containers for whose CPUs there was no room */
};

static void fini_asked(struct asked *asked)
{
	free(asked->rows);
	free(asked->cells);
}
#define cleanup_asked cleanup(fini_asked)

/* A pod or container among the published groups, and the CPUs that are read of it. */
struct cell_candidate {
	uint32_t at, nr_cpus;
	bool is_foreign; /* only counted: of a container runtime */
	struct cpuset cpus;
};

/* The agent's own before those of a runtime, and small grants first: they are what per-CPU figures are about, and the more of them fit. */
static int by_size(const void *left, const void *right)
{
	const struct cell_candidate *a = *(const struct cell_candidate *const *)left;
	const struct cell_candidate *b = *(const struct cell_candidate *const *)right;

	if (a->is_foreign != b->is_foreign)
		return a->is_foreign ? 1 : -1;
	if (a->nr_cpus != b->nr_cpus)
		return a->nr_cpus > b->nr_cpus ? 1 : -1;
	return (a->at > b->at) - (a->at < b->at);
}

/*
 * The cpuset of a pod's own cgroup is usually wider than what its containers may use, so a pod has
 * their CPUs. Each pod stands before its containers. Returns the number.
 */
static uint32_t list_candidates(const struct controller *controller,
				struct cell_candidate *ret_candidates)
{
	struct cell_candidate *pod = NULL;
	uint32_t nr = 0, cursor = 0;

	for (uint32_t i = 0; i < controller->measured.tree.nr_groups; i++) {
		const struct group *group = &controller->measured.tree.groups[i];
		const struct managed_group *published;
		struct cell_candidate *candidate = &ret_candidates[nr];

		if (group->role != GROUP_POD && group->role != GROUP_CONTAINER)
			continue;
		if (group->role == GROUP_POD)
			pod = NULL;
		published = ctl_published_next(controller, group->path, &cursor);
		if (!published || nr == controller->publisher.nr)
			continue;
		candidate->at = cursor;
		candidate->is_foreign = published->scope == MANAGED_COUNTED;
		nr++;
		if (group->role == GROUP_POD) {
			pod = candidate;
			continue;
		}
		candidate->cpus = *published->cpus;
		if (pod)
			cpuset_union(&pod->cpus, published->cpus);
	}
	for (uint32_t i = 0; i < nr; i++)
		ret_candidates[i].nr_cpus = cpuset_count(&ret_candidates[i].cpus);
	return nr;
}

static void ask_for(const struct cell_candidate *candidate, struct pressure_row *row,
		    struct asked *asked)
{
	row->first_cell = asked->nr_cells;
	cpuset_for_each (cpu, &candidate->cpus)
		asked->cells[asked->nr_cells++].cpu = cpu;
	row->nr_cells = asked->nr_cells - row->first_cell;
}

static int make_asked(const struct controller *controller, struct asked *ret_asked)
{
	const struct publisher *publisher = &controller->publisher;
	struct cell_candidate *candidates cleanup_free = calloc(publisher->nr, sizeof(*candidates));
	const struct cell_candidate **sorted cleanup_free = calloc(publisher->nr, sizeof(*sorted));
	struct asked asked cleanup_asked = {.rows = calloc(publisher->nr, sizeof(*asked.rows))};
	uint32_t nr, nr_cells = 0, nr_fitting = 0;

	if (!candidates || !sorted || !asked.rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < publisher->nr; i++)
		asked.rows[i] = (struct pressure_row){
			.cgroup_id = publisher->rows[i].managed.cgroup_id,
			.throttled_ns = PRESSURE_THROTTLED_UNKNOWN,
		};
	nr = list_candidates(controller, candidates);
	for (uint32_t i = 0; i < nr; i++)
		sorted[i] = &candidates[i];
	qsort(sorted, nr, sizeof(struct cell_candidate *), by_size);
	while (nr_fitting < nr && nr_cells + sorted[nr_fitting]->nr_cpus <= PRESSURE_CELLS_MAX)
		nr_cells += sorted[nr_fitting++]->nr_cpus;
	asked.cells = calloc(nr_cells + 1, sizeof(*asked.cells));
	if (!asked.cells)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_fitting; i++)
		ask_for(sorted[i], &asked.rows[sorted[i]->at], &asked);
	asked.nr_without = nr - nr_fitting;
	*ret_asked = asked;
	asked = (struct asked){0};
	return 0;
}

void ctl_sample_pressure(struct controller *controller)
{
	const struct pressure_port *port = controller->ports.pressure;
	const struct publisher *publisher = &controller->publisher;
	struct pressures *pressures = &controller->pressures;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	struct asked asked cleanup_asked = {0};
	struct pressure_wanted wanted;
	int r;

	/* Nothing was published yet, or nothing can be: in mode observe there may be no root. */
	if (!port || !publisher->nr || !is_due(pressures, now_ns))
		return;
	r = make_asked(controller, &asked);
	if (r) {
		note_error(pressures, r);
		return;
	}
	wanted = (struct pressure_wanted){publisher->nr, asked.nr_cells, asked.rows, asked.cells};
	pressures->sampled_ns = pressures->since_ns = now_ns;
	pressures->nr_asked = wanted.nr_rows;
	pressures->nr_without_cpus = asked.nr_without;
	r = port->sample(port->self, &wanted);
	if (!r)
		return;
	pressures->since_ns = 0;
	note_error(pressures, r);
}

static bool is_stale(const struct pressures *pressures, uint64_t now_ns)
{
	return now_ns - pressures->read_ns > pressures->pause_ns + STALE_NS;
}

bool ctl_throttled(const struct controller *controller, uint64_t cgroup_id, uint64_t *ret_ns)
{
	const struct pressures *pressures = &controller->pressures;
	const struct pressure_track *track = pressure_find(pressures, cgroup_id);

	if (!track || track->throttled_ns == PRESSURE_THROTTLED_UNKNOWN ||
	    is_stale(pressures, clock_now_ns(controller->ports.clock)))
		return false;
	/* cpu.stat, which is read without a pass, says it in whole microseconds, and a counter must not fall */
	*ret_ns = track->throttled_ns / 1000 * 1000;
	return true;
}

uint32_t ctl_pressures(const struct controller *controller, struct group_pressure *ret_rows)
{
	const struct pressures *pressures = &controller->pressures;
	const bool are_unknown = is_stale(pressures, clock_now_ns(controller->ports.clock));
	uint32_t nr = 0, cursor = 0;

	for (uint32_t i = 0; i < controller->measured.tree.nr_groups; i++) {
		const struct group *group = &controller->measured.tree.groups[i];
		const struct managed_group *published =
			ctl_published_next(controller, group->path, &cursor);
		const struct ledger_pod *pod = ledger_find(controller->ledger, group->uid);

		if (!pod || (group->role != GROUP_POD && group->role != GROUP_CONTAINER))
			continue;
		ret_rows[nr++] = (struct group_pressure){
			.pod = pod,
			.container = group->role == GROUP_POD ? "" : group->container,
			.path = group->path,
			.track = published && !are_unknown
					 ? pressure_find(pressures, published->cgroup_id)
					 : NULL,
			.read_ns = pressures->read_ns,
		};
	}
	return nr;
}
