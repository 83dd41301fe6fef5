// SPDX-License-Identifier: Apache-2.0
#include "core/stranger/stranger.h"

#define CALM_NS (120 * 1000000000ULL)

void stranger_target(const struct stranger_cpus *cpus, const struct cpuset *original,
		     struct cpuset *ret_target)
{
	struct cpuset target = *original, usable;

	cpuset_subtract(&target, &cpus->exclusive);
	/* The kernel accepts a mask only if one of its CPUs is online. */
	usable = target;
	cpuset_intersect(&usable, &cpus->online);
	if (cpuset_is_empty(&usable))
		target = cpuset_is_empty(&cpus->allowed) ? *original : cpus->allowed;
	*ret_target = target;
}

static bool is_stranger(const struct stranger_cpus *cpus, const struct stranger_facts *facts)
{
	struct cpuset foreign = cpus->exclusive;

	if (facts->own)
		cpuset_subtract(&foreign, facts->own);
	return cpuset_intersects(facts->affinity, &foreign);
}

bool stranger_shows(const struct cpuset *affinity, const struct cpuset *written,
		    const struct cpuset *online)
{
	struct cpuset usable = *written;

	/* CPUs that are offline are in what we wrote, but not in what can be read. */
	cpuset_intersect(&usable, online);
	/* The kernel may show a CPU that came online before the caller knew. */
	return cpuset_is_subset(&usable, affinity) && cpuset_is_subset(affinity, written);
}

static enum stranger_action follow(const struct stranger_cpus *cpus,
				   const struct stranger_facts *facts, struct cpuset *ret_original,
				   struct cpuset *ret_target)
{
	struct cpuset target = *facts->original;

	if (facts->repairs)
		stranger_target(cpus, facts->original, &target);
	if (cpuset_equal(&target, facts->written))
		return STRANGER_KEEP;
	*ret_original = *facts->original;
	*ret_target = target;
	return STRANGER_WRITE;
}

/*
 * Another process has chosen CPUs that are nobody's, or a cpuset has become smaller. The kernel keeps
 * the mask that was asked for behind a cpuset, so ours may show again when the cpuset grows. The
 * two cannot be told apart, also not when nothing is exclusive any more.
 */
static enum stranger_action give_way(const struct stranger_facts *facts)
{
	return cpuset_is_subset(facts->affinity, facts->written) ? STRANGER_NARROWED
								 : STRANGER_FORGET;
}

/* Of a task below the workload root and a bound thread nothing is ever written. */
static bool is_movable(enum stranger_kind kind)
{
	return kind == STRANGER_TASK || kind == STRANGER_KTHREAD;
}

enum stranger_action stranger_decide(const struct stranger_cpus *cpus,
				     const struct stranger_facts *facts,
				     struct cpuset *ret_original, struct cpuset *ret_target)
{
	const bool reaches = is_stranger(cpus, facts);
	struct cpuset target;

	if (!is_movable(facts->kind)) {
		if (reaches)
			return STRANGER_LEAVE;
		return facts->written ? STRANGER_FORGET : STRANGER_ABSENT;
	}
	if (facts->written) {
		/* Without an online CPU of ours, the kernel itself has chosen others. */
		if (!cpuset_intersects(facts->written, &cpus->online) ||
		    stranger_shows(facts->affinity, facts->written, &cpus->online))
			return follow(cpus, facts, ret_original, ret_target);
		if (!reaches)
			return give_way(facts);
	}
	if (!reaches)
		return STRANGER_ABSENT;
	if (!facts->repairs)
		return STRANGER_LEAVE;
	stranger_target(cpus, facts->affinity, &target);
	if (cpuset_equal(&target, facts->affinity))
		return STRANGER_LEAVE;
	if (facts->written && !facts->may_contend)
		return STRANGER_WAIT;
	*ret_original = *facts->affinity;
	*ret_target = target;
	return facts->written ? STRANGER_REVERT : STRANGER_WRITE;
}

/* --- back-off ------------------------------------------------------------------------------------ */

static uint64_t pause_ns(const struct stranger_pause *pause)
{
	const uint32_t nr_over = pause->nr_reverts - STRANGER_PATIENCE;

	if (pause->nr_reverts < STRANGER_PATIENCE)
		return 0;
	/* 64 = 2^6 */
	return nr_over < 6 ? STRANGER_PAUSE_NS << nr_over : STRANGER_LONGEST_PAUSE_NS;
}

bool stranger_may_contend(const struct stranger_pause *pause, uint64_t now_ns)
{
	return now_ns >= pause->until_ns;
}

bool stranger_is_contended(const struct stranger_pause *pause)
{
	return pause->nr_reverts >= STRANGER_PATIENCE;
}

void stranger_note_revert(struct stranger_pause *pause, uint64_t now_ns)
{
	pause->nr_reverts++;
	pause->reverted_ns = now_ns;
	pause->until_ns = now_ns + pause_ns(pause);
}

void stranger_note_calm(struct stranger_pause *pause, uint64_t now_ns)
{
	if (pause->nr_reverts && now_ns - pause->reverted_ns >= CALM_NS + pause_ns(pause))
		*pause = (struct stranger_pause){0};
}
