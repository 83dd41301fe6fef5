// SPDX-License-Identifier: Apache-2.0
/*
 * A track belongs to a cgroup's id, not to a name: a container that was restarted in a new
 * cgroup begins without samples.
 *
 * Reading makes no system call. It takes one or two cache misses for each container and CPU,
 * so it is done rarely.
 */
#include "ctl/placement.h"

#include <errno.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

#define PERIOD_NS (10 * 1000000000ULL)
/* The tick comes each second; this is room for one that comes early. */
#define EARLY_NS (500 * 1000000ULL)

static void free_tracks(struct placement_track *tracks, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		free(tracks[i].newer);
		free(tracks[i].older);
	}
	free(tracks);
}

void placement_fini(struct placements *placements)
{
	free_tracks(placements->tracks, placements->nr);
	*placements = (struct placements){0};
}

static int by_id(const void *left, const void *right)
{
	const struct placement_track *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

static struct placement_track *find_track(const struct placements *placements, uint64_t cgroup_id)
{
	const struct placement_track wanted = {.cgroup_id = cgroup_id};

	if (!placements->nr)
		return NULL;
	return bsearch(&wanted, placements->tracks, placements->nr, sizeof(wanted), by_id);
}

const struct placement_sample *placement_window(const struct placements *placements,
						uint64_t cgroup_id)
{
	const struct placement_track *track = find_track(placements, cgroup_id);

	if (!track)
		return NULL;
	return track->older ? track->older : track->newer;
}

static uint64_t run_of(const struct usage *usage)
{
	return usage->run_local_ns + usage->run_remote_ns + usage->run_outside_ns;
}

uint64_t placement_run_since(const struct placement_sample *sample, const struct usage *usage,
			     uint32_t cpu)
{
	/* A CPU that came after the sample has run nothing before. */
	const uint32_t then_us = cpu < sample->nr_cpus ? sample->run_us[cpu] : 0;
	const uint32_t grown_us = (uint32_t)(usage->run_ns[cpu] / 1000) - then_us;

	/* Half an hour on one CPU cannot be growth within seconds: the counter fell. */
	return run_of(usage) < sample->run_ns || grown_us > INT32_MAX ? 0 : grown_us * 1000ULL;
}

/* *ret_sample is NULL if the container is not counted. */
static int take_sample(const struct controller *controller, uint64_t cgroup_id,
		       struct placement_sample **ret_sample)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	/* Before the counters are read, as for the other end of the window. */
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	struct placement_sample *sample;
	struct usage usage;

	*ret_sample = NULL;
	if (kernel->usage(kernel->self, cgroup_id, &usage) || !usage.run_ns)
		return 0;
	sample = calloc(1, sizeof(*sample) + usage.nr_cpus * sizeof(*sample->run_us));
	if (!sample)
		return -ENOMEM;
	sample->taken_ns = now_ns;
	sample->run_ns = run_of(&usage);
	sample->outside_ns = usage.run_outside_ns;
	sample->remote_ns = usage.run_remote_ns;
	sample->nr_cpus = usage.nr_cpus;
	for (uint64_t cpu = 0; cpu < usage.nr_cpus; cpu++)
		sample->run_us[cpu] = (uint32_t)(usage.run_ns[cpu] / 1000);
	*ret_sample = sample;
	return 0;
}

/* A new track for each container that is counted; the newer samples of the old ones move there. */
static int take_samples(struct controller *controller, struct placement_track *tracks,
			uint32_t *ret_nr)
{
	const struct publisher *publisher = &controller->publisher;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < publisher->nr; i++) {
		const struct managed_group *managed = &publisher->rows[i].managed;
		struct placement_track *before;
		struct placement_sample *sample;
		int r;

		if (!managed->is_container)
			continue;
		r = take_sample(controller, managed->cgroup_id, &sample);
		if (r)
			return r;
		if (!sample)
			continue;
		before = find_track(&controller->placements, managed->cgroup_id);
		tracks[nr++] = (struct placement_track){
			.cgroup_id = managed->cgroup_id,
			.newer = sample,
			.older = before ? TAKE_PTR(before->newer) : NULL,
		};
		*ret_nr = nr;
	}
	return 0;
}

void ctl_sample_placement(struct controller *controller)
{
	struct placements *placements = &controller->placements;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	struct placement_track *tracks;
	uint32_t nr = 0;
	int r = -ENOMEM;

	/* Without a BPF side nothing is published. */
	if (!controller->publisher.nr)
		return;
	if (placements->sampled_ns && now_ns - placements->sampled_ns < PERIOD_NS - EARLY_NS)
		return;
	placements->sampled_ns = now_ns;
	tracks = calloc(controller->publisher.nr, sizeof(*tracks));
	if (tracks)
		r = take_samples(controller, tracks, &nr);
	if (r)
		log_err(r, "ctl: cannot keep where some containers ran; their windows begin anew");
	if (!tracks)
		return;
	qsort(tracks, nr, sizeof(*tracks), by_id);
	free_tracks(placements->tracks, placements->nr);
	placements->tracks = tracks;
	placements->nr = nr;
}
