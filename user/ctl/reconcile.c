// SPDX-License-Identifier: Apache-2.0
/*
 * desired − observed → plan → steps, each of which is read back. A new pod, drift, a restart
 * and a reload all take this path. apply.c carries the steps out, and drift.c defines drift.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/apply.h"
#include "ctl/internal.h"
#include "ctl/reconcile.h"

static int make_plan(struct controller *controller, struct group_tree *ret_desired,
		     struct group_tree *ret_observed, struct plan *ret_plan)
{
	struct group_tree observed cleanup_tree = {0};
	struct group_tree desired cleanup_tree = {0};
	struct look *look = &controller->look;
	int r;

	r = ctl_look(controller, &observed);
	if (r)
		return r;
	r = plan_desired(controller->ledger, &controller->layout, &controller->online, &desired);
	if (r)
		return look_fail(look, r, "the desired state of the cgroups cannot be computed");
	r = plan_make(&desired, &observed, ret_plan);
	if (r)
		return look_fail(look, r, "the plan for the cgroups cannot be computed");
	look_succeed(look);
	*ret_desired = desired;
	desired = (struct group_tree){0};
	*ret_observed = observed;
	observed = (struct group_tree){0};
	return 0;
}

/*
 * Exclusive sets in the ledger are disjoint, so the values of one container can be restored
 * without reading the others. A root or a pod needs an order, which the plan computes.
 */
static void mend_container(struct controller *controller, struct group *wanted)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct group_tree desired = {.nr_groups = 1, .groups = wanted};
	struct group_tree observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};
	const struct round round = {&desired, &observed, &controller->look.observed, &plan};
	struct group *found = group_tree_add(&observed, GROUP_CONTAINER, wanted->path);

	/* What makes a partition invalid is not to be seen in the container alone. */
	if (!found || groups->read_group(groups->self, found) || group_is_invalid(found))
		return;
	if (!plan_make(&desired, &observed, &plan))
		ctl_apply(controller, &round);
}

void ctl_reconcile_dirty(struct controller *controller)
{
	uint32_t nr = dirty_take_paths(&controller->dirty);

	/* The values last written are not those of the current ledger. */
	if (controller->dirty.ledger || controller->options.dry_run ||
	    controller->options.config->mode != MODE_ALLOCATE)
		return;
	chains_begin_round(&controller->chains, clock_now_ns(controller->ports.clock));
	for (uint32_t i = 0; i < nr; i++) {
		struct group *wanted =
			group_tree_find(&controller->desired, controller->dirty.paths[i]);

		/* An operation that is blocked in the pod's directory would block this too. */
		if (wanted && wanted->role == GROUP_CONTAINER &&
		    !operations_find(&controller->operations, wanted->uid))
			mend_container(controller, wanted);
	}
}

/* Changes of a cgroup that cannot be watched are detected by the next look, that is, later. */
static void rewatch(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	int r = groups->rewatch(groups->self, &controller->desired);

	controller->reconciler.is_watch_stale = r;
	/* Another process holds the lock of a new cgroup's directory. */
	if (r == -EINPROGRESS) {
		wakes_schedule(&controller->wakes, WAKES_RETRY_NS);
		return;
	}
	/* -ENOTCONN: there is no event loop yet to receive events. */
	findings_put_if(
		&controller->findings, FINDING_CGROUPS_NOT_WATCHED, r && r != -ENOTCONN,
		"raise fs.inotify.max_user_watches",
		"some cgroups cannot be watched (%s): the agent detects changes there later",
		strerror(-r));
}

/* Cgroups that cannot be removed. They belong to no pod of the ledger, so no promise is broken. */
static void tell_leftovers(struct controller *controller)
{
	const struct retry *left = NULL;

	for (uint32_t i = 0; i < controller->chains.nr_retries && !left; i++)
		if (*controller->chains.retries[i].uid &&
		    !ledger_find(controller->ledger, controller->chains.retries[i].uid))
			left = &controller->chains.retries[i];
	findings_put_if(&controller->findings, FINDING_CGROUPS_LEFT, left,
			"end the processes in them and whatever starts more; the agent retries",
			"%s", left ? left->error : "");
}

/* Steps change cgroup ids and the set of files to be watched. */
static void bring_up_to_date(struct controller *controller)
{
	const struct dirty *dirty = &controller->dirty;

	if (dirty->ledger || dirty->groups || controller->publisher.is_stale ||
	    controller->publisher.nr_unread)
		ctl_publish(controller);
	if (dirty->ledger || dirty->groups || controller->reconciler.is_watch_stale) {
		rewatch(controller);
		dirty_clear(&controller->dirty);
	}
}

static void run_round(struct controller *controller)
{
	struct group_tree known cleanup_tree = {0};
	struct group_tree desired = {0}, observed = {0};
	struct plan plan cleanup_plan = {0};
	const struct round round = {&desired, &controller->look.observed, &known, &plan};
	struct drift *drift = &controller->drift;
	int r;

	r = make_plan(controller, &desired, &observed, &plan);
	if (r) {
		if (r != -EINPROGRESS)
			wakes_schedule(&controller->wakes, WAKES_RETRY_NS);
		return;
	}
	look_replace(&controller->look, &observed, &known);
	/* Compute the withheld CPUs again from what this look saw. */
	chains_release(&controller->chains);
	ctl_hold_in_flight(controller, &desired);
	chains_forget_done(&controller->chains, &plan);
	drift_close_gone(drift, &plan, controller->look.began_ns, &controller->operations);
	chains_begin_round(&controller->chains, clock_now_ns(controller->ports.clock));
	drift_begin_round(drift);
	if (controller->options.config->mode == MODE_ALLOCATE)
		ctl_apply(controller, &round);
	drift_end_round(drift);
	chains_end_round(&controller->chains, &controller->operations);
	dirty_clear_chains(&controller->dirty);
	tell_leftovers(controller);
	group_tree_fini(&controller->desired);
	controller->desired = desired;
	if (ctl_follow_measured(controller))
		wakes_schedule(&controller->wakes, WAKES_RETRY_NS);
	controller->reconciler.has_compared = true;
	ctl_check_tier(controller);
	bring_up_to_date(controller);
}

void ctl_reconcile(struct controller *controller)
{
	controller->reconciler.resynced_ns = clock_now_ns(controller->ports.clock);
	if (controller->options.dry_run)
		return;
	run_round(controller);
	ctl_tell_waits(controller);
	/* The condition that a request waits for may have changed without a look. */
	ctl_advance_runs(controller);
}

int ctl_print_plan(struct controller *controller, struct text *out)
{
	struct group_tree desired cleanup_tree = {0};
	struct group_tree observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};
	int r = make_plan(controller, &desired, &observed, &plan);

	if (r)
		return r;
	for (uint32_t i = 0; i < plan.nr_steps; i++) {
		const struct step *step = &plan.steps[i];

		if (step->kind == STEP_WRITE)
			text_printf(out, "write %s/%s %s%s%s\n", step->path,
				    group_file_name(step->file), step->value,
				    step->old ? " was " : "", step->old ? step->old : "");
		else
			text_printf(out, "%s %s\n", step->kind == STEP_CREATE ? "create" : "remove",
				    step->path);
	}
	if (!plan.nr_steps)
		text_append(out, "nothing to do\n");
	return out->error;
}
