// SPDX-License-Identifier: Apache-2.0
/*
 * A step that fails or waits stops its own pod's chain and no other. This file decides only
 * whether a step is carried out now; the plan decides which steps there are.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/apply.h"
#include "ctl/internal.h"
#include "lib/crash.h"

/* --- chains that wait ------------------------------------------------------------------------- */

/*
 * A chain waits while its operation is blocked in the kernel. Whether it is due is judged once
 * per round: a chain that failed in this round is not retried just because the round takes
 * long.
 */
static bool chain_waits(struct controller *controller, const char *uid)
{
	const struct retry *retry = chains_find(&controller->chains, uid);

	if (operations_find(&controller->operations, uid))
		return true;
	return retry && retry->progress != CHAIN_TRIED;
}

/* The resync retries; until then no pod counts as enforced. */
static void forget_chain(struct controller *controller, const char *error)
{
	look_doubt(&controller->look, "the agent had no memory to record a failed step: %s", error);
}

static void fail_chain(struct controller *controller, const struct step *step, int error_code,
		       const char *error)
{
	const struct retry *retry = chains_fail(&controller->chains, step, error_code, error,
						clock_now_ns(controller->ports.clock));

	if (retry)
		wakes_schedule(&controller->wakes, retry->delay_ns);
	else
		forget_chain(controller, error);
}

/* --- CPUs that are not free yet --------------------------------------------------------------- */

static void hold_written(struct controller *controller, const struct group_tree *desired,
			 const struct step *step)
{
	const struct group *group = group_tree_find(desired, step->path);
	const char *wanted = group ? group->files[GROUP_CPUSET_CPUS] : NULL;
	struct cpuset coming, own = cpuset_of_text(wanted);

	if (!chains_is_cpu_step(step))
		return;
	if (!step->value || cpuset_parse(step->value, strlen(step->value), &coming))
		coming = controller->topology->all;
	cpuset_subtract(&coming, &own);
	chains_hold(&controller->chains, step->uid, &coming);
}

void ctl_hold_in_flight(struct controller *controller, const struct group_tree *desired)
{
	const struct operations *operations = &controller->operations;
	const struct look *look = &controller->look;

	for (uint32_t i = 0; i < operations->nr; i++)
		if (operations->rows[i].kind == OPERATION_STEP)
			hold_written(controller, desired, &operations->rows[i].step);
	/*
	 * A write that failed during the look may still have taken effect after the look read
	 * the file.
	 */
	for (uint32_t i = 0; i < look->nr_done; i++)
		if (look->done[i].kind == OPERATION_STEP && look->done[i].result)
			hold_written(controller, desired, &look->done[i].step);
}

/* This step is not carried out: the CPUs that its container was to release are withheld. */
static void hold_unreleased(struct controller *controller, const struct round *round,
			    const struct step *step)
{
	const struct group *group = group_tree_find(round->observed, step->path);
	struct cpuset has, keeps;
	const char *value;

	if (!chains_is_cpu_step(step))
		return;
	has = cpuset_of_text(step->old);
	/* Without its own list it runs on all CPUs of its parent, if it has any process. */
	if (cpuset_is_empty(&has) && group && group->populated)
		has = controller->topology->all;
	value = round_final_value(round, step);
	keeps = cpuset_of_text(value ? value : step->value);
	cpuset_subtract(&has, &keeps);
	chains_hold(&controller->chains, step->uid, &has);
}

static bool is_held(struct controller *controller, const struct step *step)
{
	const struct held_cpus *holder;
	const struct retry *retry;
	char cpus[96], who[160], error[GROUP_ERROR_MAX];
	struct cpuset shared;

	holder = chains_find_holder(&controller->chains, step, &shared);
	if (!holder)
		return false;
	cpuset_format(&shared, cpus, sizeof(cpus));
	lookup_chain_label(controller->ledger, holder->uid, who, sizeof(who));
	retry = chains_find(&controller->chains, holder->uid);
	snprintf(error, sizeof(error),
		 "%.80s/%s waits for CPUs %.50s, which %.70s still has: %.60s", step->path,
		 group_file_name(step->file), cpus, who,
		 operations_find(&controller->operations, holder->uid) || !retry
			 ? "its own step is blocked in the kernel"
			 : retry->error);
	if (!chains_wait(&controller->chains, step, error))
		forget_chain(controller, error);
	return true;
}

/* --- partitions ------------------------------------------------------------------------------- */

/*
 * Does a partition wait for another one? Those of pods and containers wait for the root's, which
 * is missing as long as its own chain stops, and that is reported there. The root's waits until
 * every nested one has ended, because some kernels give the containers in those the CPUs of others
 * when the root becomes valid above them (core/plan/partitions.h).
 */
static bool waits_for_partition(struct controller *controller, const struct step *step,
				bool is_end_missing)
{
	char error[GROUP_ERROR_MAX];

	if (!step_makes_partition(step))
		return false;
	if (step->role != GROUP_ROOT)
		return chain_waits(controller, "");
	if (!is_end_missing)
		return false;
	snprintf(error, sizeof(error),
		 "%.80s/%s waits for partitions below it, which could not be ended yet", step->path,
		 group_file_name(step->file));
	if (!chains_wait(&controller->chains, step, error))
		forget_chain(controller, error);
	return true;
}

/*
 * Where drift is not repaired, a partition does not end, and a pod's list does not change, for the
 * sake of a write that is left out.
 */
static bool is_left_out(struct controller *controller, const struct round *round,
			const struct step *step)
{
	if (ctl_may_repair(controller, step->file) ||
	    !step_is_on_the_way(step, round_final_value(round, step)) ||
	    !(step->file == GROUP_CPUSET_PARTITION || step->role == GROUP_POD))
		return false;
	for (uint32_t i = 0; i < round->plan->nr_steps; i++) {
		const struct step *other = &round->plan->steps[i];

		/* Who is frozen has the CPUs that it had. */
		if (other->file != GROUP_FREEZE && !strcmp(other->uid, step->uid) &&
		    ctl_is_drift(controller, round, other))
			return true;
	}
	return false;
}

/* --- steps ------------------------------------------------------------------------------------ */

static void step_failed(struct controller *controller, const struct step *step, bool is_repair,
			int error_code, const char *error)
{
	if (is_repair)
		controller->drift.nr_failed[step->file]++;
	fail_chain(controller, step, error_code, error);
}

void ctl_end_step(struct controller *controller, const struct operation *operation, int result,
		  const char *error)
{
	const struct step *step = &operation->step;
	struct drift_row *row = NULL;

	dirty_mark_chains(&controller->dirty);
	if (result) {
		step_failed(controller, step, operation->is_repair, result, error);
		return;
	}
	if (operation->is_repair)
		row = drift_list_find_open(&controller->drift.list, step->path, step->file);
	if (row && step->value && !strcmp(step->value, row->wanted))
		ctl_note_repair(controller, step, row);
}

static int apply_step(struct controller *controller, const struct step *step,
		      struct drift_row *drift)
{
	const struct groups_port *groups = controller->ports.groups;
	char error[GROUP_ERROR_MAX] = "";
	int r;

	r = operations_reserve(&controller->operations);
	if (!r) {
		r = groups->apply(groups->self, step, error);
		crash_point("plan_step");
	}
	if (r == -EINPROGRESS)
		operations_begin(&controller->operations, OPERATION_STEP, step,
				 clock_now_ns(controller->ports.clock))
			->is_repair = drift;
	else
		look_note(&controller->look, OPERATION_STEP, step, r);
	if (!r && step->kind != STEP_WRITE)
		dirty_mark_groups(&controller->dirty);
	if (r && r != -EINPROGRESS)
		step_failed(controller, step, drift, r, *error ? error : strerror(-r));
	if (!r && drift && !strcmp(step->value, drift->wanted))
		ctl_note_repair(controller, step, drift);
	return r;
}

/* Returns whether the step is carried out. */
static bool take_step(struct controller *controller, const struct round *round,
		      const struct step *step, bool is_end_missing)
{
	struct drift_row *row;

	if (chain_waits(controller, step->uid)) {
		hold_unreleased(controller, round, step);
		return false;
	}
	row = ctl_find_drift(controller, round, step);
	if (row && !ctl_may_repair(controller, step->file)) {
		row->action = ACTION_AUDIT;
		return false;
	}
	if (is_left_out(controller, round, step) ||
	    waits_for_partition(controller, step, is_end_missing))
		return false;
	if (is_held(controller, step) || apply_step(controller, step, row)) {
		hold_unreleased(controller, round, step);
		return false;
	}
	return true;
}

void ctl_apply(struct controller *controller, const struct round *round)
{
	bool is_end_missing = false;

	for (uint32_t i = 0; i < round->plan->nr_steps; i++) {
		const struct step *step = &round->plan->steps[i];

		if (!take_step(controller, round, step, is_end_missing))
			is_end_missing |= step_ends_partition(step) && step->role != GROUP_ROOT;
	}
}
