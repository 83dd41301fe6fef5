// SPDX-License-Identifier: Apache-2.0
/*
 * A step that fails stops only its own chain, which is retried with exponential back-off.
 * Other tasks leave a CPU before its owner arrives: if they do not leave, the owner's chain
 * waits too.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/chains.h"
#include "lib/log.h"
#include "lib/text.h"

#define RETRY_FIRST_NS	 (100ULL * 1000000ULL)
#define RETRY_LONGEST_NS (30ULL * 1000000000ULL)
/* The longest delay if the last attempt did part of the work, as a removal in passes does. */
#define RETRY_PART_NS (2ULL * 1000000000ULL)

void chains_fini(struct chains *chains)
{
	free(chains->retries);
	free(chains->held);
}

/* --- retries ---------------------------------------------------------------------------------- */

struct retry *chains_find(const struct chains *chains, const char *uid)
{
	for (uint32_t i = 0; i < chains->nr_retries; i++)
		if (!strcmp(chains->retries[i].uid, uid))
			return &chains->retries[i];
	return NULL;
}

static struct retry *note_retry(struct chains *chains, const struct step *step, const char *error)
{
	struct retry *retry = chains_find(chains, step->uid);

	if (!retry) {
		struct retry *grown =
			realloc(chains->retries, (chains->nr_retries + 1) * sizeof(*grown));

		if (!grown)
			return NULL;
		chains->retries = grown;
		retry = &grown[chains->nr_retries++];
		*retry = (struct retry){0};
		snprintf(retry->uid, sizeof(retry->uid), "%s", step->uid);
	}
	snprintf(retry->error, sizeof(retry->error), "%s", error);
	return retry;
}

struct retry *chains_fail(struct chains *chains, const struct step *step, int error_code,
			  const char *error, uint64_t now_ns)
{
	uint64_t longest_ns = error_code == -EAGAIN ? RETRY_PART_NS : RETRY_LONGEST_NS;
	struct retry *retry = chains_find(chains, step->uid);

	if (!retry || text_is_news(retry->error, error))
		log_err(error_code, "apply: %s", error);
	retry = note_retry(chains, step, error);
	if (!retry)
		return NULL;
	retry->progress = CHAIN_FAILED;
	retry->delay_ns = retry->delay_ns ? retry->delay_ns * 2 : RETRY_FIRST_NS;
	if (retry->delay_ns > longest_ns)
		retry->delay_ns = longest_ns;
	retry->due_ns = now_ns + retry->delay_ns;
	return retry;
}

struct retry *chains_wait(struct chains *chains, const struct step *step, const char *error)
{
	struct retry *retry = chains_find(chains, step->uid);

	if (!retry || text_is_news(retry->error, error))
		log_info("apply: %s", error);
	retry = note_retry(chains, step, error);
	if (!retry)
		return NULL;
	retry->progress = CHAIN_HELD;
	retry->due_ns = 0;
	return retry;
}

static void clear_retry(struct chains *chains, struct retry *retry)
{
	*retry = chains->retries[--chains->nr_retries];
}

void chains_forget_done(struct chains *chains, const struct plan *plan)
{
	for (uint32_t i = chains->nr_retries; i-- > 0;) {
		bool waiting = false;

		for (uint32_t j = 0; j < plan->nr_steps && !waiting; j++)
			waiting = !strcmp(plan->steps[j].uid, chains->retries[i].uid);
		if (!waiting)
			clear_retry(chains, &chains->retries[i]);
	}
}

void chains_begin_round(struct chains *chains, uint64_t now_ns)
{
	for (uint32_t i = 0; i < chains->nr_retries; i++) {
		struct retry *retry = &chains->retries[i];

		retry->progress = retry->due_ns > now_ns ? CHAIN_PUT_OFF : CHAIN_TRIED;
	}
}

void chains_end_round(struct chains *chains, const struct operations *operations)
{
	for (uint32_t i = chains->nr_retries; i-- > 0;)
		if (chains->retries[i].progress == CHAIN_TRIED &&
		    !operations_find(operations, chains->retries[i].uid))
			clear_retry(chains, &chains->retries[i]);
}

/* --- CPUs that are not free yet --------------------------------------------------------------- */

bool chains_is_cpu_step(const struct step *step)
{
	return step->kind == STEP_WRITE && step->file == GROUP_CPUSET_CPUS &&
	       step->role == GROUP_CONTAINER;
}

void chains_hold(struct chains *chains, const char *uid, const struct cpuset *cpus)
{
	struct held_cpus *held;

	if (cpuset_is_empty(cpus))
		return;
	for (uint32_t i = 0; i < chains->nr_held; i++)
		if (!strcmp(chains->held[i].uid, uid)) {
			cpuset_union(&chains->held[i].cpus, cpus);
			return;
		}
	held = realloc(chains->held, (chains->nr_held + 1) * sizeof(*held));
	if (!held) {
		/*
		 * Without memory for an entry, add the CPUs to the last one: they must be
		 * withheld.
		 */
		if (chains->nr_held)
			cpuset_union(&chains->held[chains->nr_held - 1].cpus, cpus);
		return;
	}
	chains->held = held;
	held = &chains->held[chains->nr_held++];
	*held = (struct held_cpus){.cpus = *cpus};
	snprintf(held->uid, sizeof(held->uid), "%s", uid);
}

void chains_release(struct chains *chains)
{
	chains->nr_held = 0;
}

const struct held_cpus *chains_find_holder(const struct chains *chains, const struct step *step,
					   struct cpuset *ret_cpus)
{
	struct cpuset gained, had;

	if (!chains->nr_held || !chains_is_cpu_step(step))
		return NULL;
	gained = cpuset_of_text(step->value);
	had = cpuset_of_text(step->old);
	cpuset_subtract(&gained, &had);
	for (uint32_t i = 0; i < chains->nr_held; i++) {
		const struct held_cpus *held = &chains->held[i];

		if (!strcmp(held->uid, step->uid) || !cpuset_intersects(&held->cpus, &gained))
			continue;
		*ret_cpus = held->cpus;
		cpuset_intersect(ret_cpus, &gained);
		return held;
	}
	return NULL;
}
