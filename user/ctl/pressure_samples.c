// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel computes the pressure of a pod separately, while its run time and waits are the sums
 * of its containers'. They are summed as growth and not as totals, so that a container that ends or
 * is restarted does not make the sum go back. It only leaves a gap of one sample.
 */
#include "ctl/pressure_samples.h"

#include <errno.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/node_waits.h"
#include "ctl/publisher.h"
#include "lib/log.h"

/*
 * A pass that ends later than this after it was due leaves a gap, because a sample that long says
 * too little about when. On a busy machine passes are late by seconds.
 */
#define LATE_NS (15 * 1000000000ULL)
/* So many ns a sample has at least: a ring's samples last for its span only if they come so seldom. */
#define LEAST_NS (PRESSURE_PERIOD_NS * 3 / 4)

void pressure_samples_fini(struct pressure_samples *samples)
{
	for (uint32_t i = 0; i < samples->nr; i++)
		free(samples->groups[i]);
	free(samples->groups);
	*samples = (struct pressure_samples){0};
}

/* --- who has a ring ------------------------------------------------------------------------------ */

static bool has_pressure(const struct group *group)
{
	return group->role == GROUP_POD || group->role == GROUP_CONTAINER;
}

/* The container of a pod's own group is "". */
static bool is_of(const struct sampled_group *sampled, const struct group *group)
{
	return sampled && !strcmp(sampled->uid, group->uid) &&
	       !strcmp(sampled->container, group->container);
}

/*
 * Are the rings those of the measured groups, in their order, but for those that there is no room for?
 * Whoever was left out for lack of memory gets another try.
 */
static bool is_current(const struct pressure_samples *samples, const struct group_tree *measured)
{
	uint32_t nr = 0, nr_others = 0;

	for (uint32_t i = 0; i < measured->nr_groups; i++) {
		if (!has_pressure(&measured->groups[i]))
			continue;
		if (nr < samples->nr && is_of(samples->groups[nr], &measured->groups[i]))
			nr++;
		else
			nr_others++;
	}
	return nr == samples->nr && nr_others == samples->nr_left_out &&
	       (!nr_others || nr == PRESSURE_SAMPLES_MAX);
}

/*
 * The place of a group's ring, or NULL. The search begins where the one before ended, because the
 * order seldom changes.
 */
static struct sampled_group **find_ring(const struct pressure_samples *samples,
					const struct group *group, uint32_t *cursor)
{
	for (uint32_t i = 0; i < samples->nr; i++) {
		const uint32_t at = (*cursor + i) % samples->nr;

		if (!is_of(samples->groups[at], group))
			continue;
		*cursor = at + 1;
		return &samples->groups[at];
	}
	return NULL;
}

/* How many new rings there is room for: none is freed while its group is wanted. */
static uint32_t count_room(const struct pressure_samples *samples,
			   const struct group_tree *measured)
{
	uint32_t nr_kept = 0, cursor = 0;

	for (uint32_t i = 0; i < measured->nr_groups; i++)
		nr_kept += has_pressure(&measured->groups[i]) &&
			   find_ring(samples, &measured->groups[i], &cursor);
	return PRESSURE_SAMPLES_MAX - nr_kept;
}

static struct sampled_group *make_ring(const struct group *group)
{
	struct sampled_group *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	memcpy(made->uid, group->uid, sizeof(made->uid));
	memcpy(made->container, group->container, sizeof(made->container));
	return made;
}

/* Keep the rings of the groups that are still wanted, add new ones, and free the others. */
static int follow(struct pressure_samples *samples, const struct group_tree *measured)
{
	struct pressure_samples next = {.pause_ns = samples->pause_ns,
					.added_ns = samples->added_ns};
	uint32_t room = count_room(samples, measured), cursor = 0;

	next.groups = calloc(measured->nr_groups + 1, sizeof(struct sampled_group *));
	if (!next.groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < measured->nr_groups; i++) {
		struct sampled_group **before, *sampled = NULL;

		if (!has_pressure(&measured->groups[i]))
			continue;
		before = find_ring(samples, &measured->groups[i], &cursor);
		if (before)
			sampled = TAKE_PTR(*before);
		else if (room)
			sampled = make_ring(&measured->groups[i]);
		if (!before && sampled)
			room--;
		if (sampled)
			next.groups[next.nr++] = sampled;
		else
			next.nr_left_out++;
	}
	if (next.nr_left_out && next.nr_left_out != samples->nr_left_out)
		log_warn(room ? -ENOMEM : -ENOSPC,
			 "ctl: cannot keep a history of pressure for %u of the pods and containers",
			 next.nr_left_out);
	pressure_samples_fini(samples);
	*samples = next;
	return 0;
}

const struct sampled_group *pressure_samples_find(const struct pressure_samples *samples,
						  const char *uid, const char *container)
{
	for (uint32_t i = 0; i < samples->nr; i++)
		if (!strcmp(samples->groups[i]->uid, uid) &&
		    !strcmp(samples->groups[i]->container, container))
			return samples->groups[i];
	return NULL;
}

/* --- what is added ------------------------------------------------------------------------------- */

/* What does not depend on the group. */
struct sample_pass {
	struct controller *controller;
	uint64_t now_ns, longest_ns;
	uint32_t published; /* cursor */
};

/* The pass begins with a look at the counters of all that was published. */
static void read_usage(const struct sample_pass *pass, struct pressure_totals *totals)
{
	const struct counted *counted = ctl_counted(pass->controller, totals->cgroup_id);
	const struct usage *usage;

	totals->has_usage = counted && counted->has_usage;
	if (!totals->has_usage)
		return;
	usage = &counted->usage;
	totals->run_ns = usage->run_local_ns + usage->run_remote_ns + usage->run_outside_ns;
	totals->outside_ns = usage->run_outside_ns;
	memcpy(totals->wait_ns, usage->wait_ns, sizeof(totals->wait_ns));
}

/* The phase of the kernel's updates moves by some ms, and what was settled remains so. */
static void keep_settled(const struct pressure_totals *last, struct pressure_totals *totals)
{
	if (last->cgroup_id != totals->cgroup_id || last->since_ns != totals->since_ns ||
	    last->until_ns <= totals->until_ns)
		return;
	totals->until_ns = last->until_ns;
	memcpy(totals->waited_ns, last->waited_ns, sizeof(totals->waited_ns));
}

static void read_pressure(const struct sample_pass *pass, const struct pressure_totals *last,
			  struct pressure_totals *totals)
{
	const struct pressure_track *track =
		pressure_find(&pass->controller->pressures, totals->cgroup_id);

	if (!track)
		return;
	totals->has_pressure = pressure_history_settled(&track->history, pass->now_ns,
							&totals->until_ns, totals->waited_ns);
	totals->since_ns = track->history.since_ns;
	if (totals->has_pressure)
		keep_settled(last, totals);
}

/* What grew since the last pass. Nothing is known of a group that has no cgroup. */
static struct pressure_growth measure(struct sample_pass *pass, const struct group *group,
				      struct sampled_group *sampled)
{
	const struct managed_group *published =
		ctl_published_next(pass->controller, group->path, &pass->published);
	struct pressure_totals totals = {.time_ns = pass->now_ns};
	struct pressure_growth growth;

	if (published) {
		totals.cgroup_id = published->cgroup_id;
		if (group->role == GROUP_CONTAINER)
			read_usage(pass, &totals);
		read_pressure(pass, &sampled->last, &totals);
	}
	pressure_ring_growth(&sampled->last, &totals, pass->longest_ns, &growth);
	sampled->last = totals;
	return growth;
}

/* A pod and what is known of its containers so far. */
struct pod_pressure {
	struct sampled_group *pod; /* NULL = it has no ring */
	struct pressure_growth growth;
	bool is_partial; /* of a container nothing is known */
};

static void add_container(struct pod_pressure *sum, const struct pressure_growth *growth)
{
	sum->is_partial |= !growth->usage_ns;
	sum->growth.usage_ns = growth->usage_ns;
	sum->growth.run_ns += growth->run_ns;
	sum->growth.outside_ns += growth->outside_ns;
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		sum->growth.wait_ns[cause] += growth->wait_ns[cause];
}

static void end_pod(const struct sample_pass *pass, struct pod_pressure *sum)
{
	if (sum->is_partial) {
		sum->growth.usage_ns = sum->growth.run_ns = sum->growth.outside_ns = 0;
		memset(sum->growth.wait_ns, 0, sizeof(sum->growth.wait_ns));
	}
	if (sum->pod)
		pressure_ring_add(&sum->pod->ring, pass->now_ns, &sum->growth);
	*sum = (struct pod_pressure){0};
}

static void sample_container(struct sample_pass *pass, const struct group *group,
			     struct sampled_group *sampled, struct pod_pressure *sum)
{
	const bool had_cgroup = sampled && sampled->last.cgroup_id;
	struct pressure_growth growth = {0};

	if (sampled) {
		growth = measure(pass, group, sampled);
		pressure_ring_add(&sampled->ring, pass->now_ns, &growth);
	}
	/* One that has not started, or has long ended, adds nothing to its pod. */
	if (!sampled || had_cgroup || sampled->last.cgroup_id)
		add_container(sum, &growth);
}

/* What grew is one sample only if two passes are at most so far apart. */
static uint64_t longest_of(const struct pressure_samples *samples)
{
	return samples->pause_ns > PRESSURE_PERIOD_NS ? samples->pause_ns + LATE_NS
						      : PRESSURE_PERIOD_NS + LATE_NS;
}

void ctl_add_pressure_samples(struct controller *controller)
{
	struct pressure_samples *samples = &controller->samples;
	const struct group_tree *measured = &controller->measured.tree;
	struct sample_pass pass = {
		.controller = controller,
		.now_ns = clock_now_ns(controller->ports.clock),
		.longest_ns = longest_of(samples),
	};
	struct pod_pressure sum = {0};
	uint32_t at = 0;

	/* Passes that come each second, because somebody wants them, do not make samples shorter. */
	if (samples->added_ns && pass.now_ns - samples->added_ns < LEAST_NS)
		return;
	samples->added_ns = pass.now_ns;
	ctl_count_node_waits(controller);
	if (!is_current(samples, measured) && follow(samples, measured))
		return;
	for (uint32_t i = 0; i < measured->nr_groups; i++) {
		const struct group *group = &measured->groups[i];
		struct sampled_group *sampled = NULL;

		if (!has_pressure(group))
			continue;
		if (at < samples->nr && is_of(samples->groups[at], group))
			sampled = samples->groups[at++];
		if (group->role == GROUP_CONTAINER) {
			sample_container(&pass, group, sampled, &sum);
			continue;
		}
		end_pod(&pass, &sum);
		sum.pod = sampled;
		if (sampled)
			sum.growth = measure(&pass, group, sampled);
	}
	end_pod(&pass, &sum);
	samples->pause_ns = controller->pressures.pause_ns;
}
