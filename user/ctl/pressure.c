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
/* Figures that are older by this than the next pass should be are not shown. */
#define STALE_NS (10 * 1000000000ULL)

static void free_tracks(struct pressure_track **tracks, uint32_t nr)
{
	for (uint32_t i = 0; tracks && i < nr; i++)
		free(tracks[i]);
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
	track->state = (enum pressure_state)row->state;
	if (track->state != PRESSURE_MEASURED) {
		/* What happens until it is measured again, nobody knows. */
		track->history.nr = 0;
		return;
	}
	memcpy(track->total_ns, row->total_ns, sizeof(track->total_ns));
	pressure_history_add(&track->history, now_ns, row);
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
			free(pressures->tracks[at++]);
		if (!tracks[i])
			tracks[i] = pressures->tracks[at++];
		update_track(tracks[i], &rows[i], now_ns);
	}
	while (at < pressures->nr)
		free(pressures->tracks[at++]);
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
		     uint32_t nr)
{
	struct pressures *pressures = &controller->pressures;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);

	pressures->since_ns = 0;
	pressures->pause_ns = (now_ns - pressures->sampled_ns) * PAUSE_FACTOR;
	if (pressures->pause_ns > LONGEST_PAUSE_NS)
		pressures->pause_ns = LONGEST_PAUSE_NS;
	/* The workload root is gone, and with it every cgroup. */
	if (result == -ENOENT)
		result = nr = 0;
	if (!result)
		result = take_rows(pressures, rows, nr, now_ns);
	if (!result)
		pressures->read_ns = now_ns;
	note_error(pressures, result);
	return result;
}

static bool is_due(const struct pressures *pressures, uint64_t now_ns)
{
	const uint64_t passed_ns = now_ns - pressures->sampled_ns;

	if (pressures->since_ns)
		return false;
	return !pressures->sampled_ns ||
	       (passed_ns >= PAUSE_NS && passed_ns >= pressures->pause_ns);
}

void ctl_sample_pressure(struct controller *controller)
{
	const struct pressure_port *port = controller->ports.pressure;
	const struct publisher *publisher = &controller->publisher;
	struct pressures *pressures = &controller->pressures;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	uint64_t *ids cleanup_free = NULL;
	int r;

	/* Nothing was published yet, or nothing can be: in mode observe there may be no root. */
	if (!port || !publisher->nr || !is_due(pressures, now_ns))
		return;
	ids = calloc(publisher->nr, sizeof(*ids));
	if (!ids) {
		note_error(pressures, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < publisher->nr; i++)
		ids[i] = publisher->rows[i].managed.cgroup_id;
	pressures->sampled_ns = pressures->since_ns = now_ns;
	r = port->sample(port->self, ids, publisher->nr);
	if (!r)
		return;
	pressures->since_ns = 0;
	note_error(pressures, r);
}

static bool is_stale(const struct pressures *pressures, uint64_t now_ns)
{
	return now_ns - pressures->read_ns > pressures->pause_ns + STALE_NS;
}

uint32_t ctl_pressures(const struct controller *controller, struct group_pressure *ret_rows)
{
	const struct pressures *pressures = &controller->pressures;
	const bool are_unknown = is_stale(pressures, clock_now_ns(controller->ports.clock));
	uint32_t nr = 0, cursor = 0;

	for (uint32_t i = 0; i < controller->desired.nr_groups; i++) {
		const struct group *group = &controller->desired.groups[i];
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
