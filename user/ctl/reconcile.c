// SPDX-License-Identifier: Apache-2.0
/*
 * desired − observed → plan → steps, each read back. The same for a new pod,
 * drift, restart and reload. A step that fails stops its pod's chain, never
 * another pod's, and the chain is tried again with growing delays.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/crash.h"
#include "lib/log.h"
#include "lib/text.h"

const char *attribute_name(enum group_file file)
{
	static const char *const names[] = {
		[GROUP_CPUSET_MEMS] = "mems",
		[GROUP_CPUSET_CPUS] = "cpus",
		[GROUP_CPUSET_PARTITION] = "partition",
		[GROUP_CPU_WEIGHT] = "weight",
		[GROUP_CPU_MAX] = "quota",
		[GROUP_MEMORY_MAX] = "memory",
	};
	_Static_assert(ARRAY_SIZE(names) == GROUP_FILE_NR, "a word for each file");

	return names[file];
}

/* --- chains that wait -------------------------------------------------------------------------- */

struct retry *retry_find(const struct controller *controller, const char *uid)
{
	for (uint32_t i = 0; i < controller->nr_retries; i++)
		if (!strcmp(controller->retries[i].uid, uid))
			return &controller->retries[i];
	return NULL;
}

/*
 * In the kernel, or judged once a round: a chain that failed in it does not go on because
 * the round takes long.
 */
static bool chain_waits(struct controller *controller, const char *uid)
{
	const struct retry *retry = retry_find(controller, uid);

	if (operation_find(controller, uid))
		return true;
	return retry && retry->progress != CHAIN_TRIED;
}

static struct retry *note_retry(struct controller *controller, const struct step *step,
				const char *error)
{
	struct retry *retry = retry_find(controller, step->uid);

	if (!retry) {
		struct retry *grown =
			realloc(controller->retries, (controller->nr_retries + 1) * sizeof(*grown));

		if (!grown) {
			/* The resync tries again; until then nothing counts as held. */
			snprintf(controller->look_problem, sizeof(controller->look_problem),
				 "out of memory while recording a failed step: %s", error);
			return NULL;
		}
		controller->retries = grown;
		retry = &grown[controller->nr_retries++];
		*retry = (struct retry){0};
		snprintf(retry->uid, sizeof(retry->uid), "%s", step->uid);
	}
	snprintf(retry->error, sizeof(retry->error), "%s", error);
	return retry;
}

static void fail_chain(struct controller *controller, const struct step *step, int error_code,
		       const char *error)
{
	uint64_t longest_ns = error_code == -EAGAIN ? RETRY_PART_NS : RETRY_LONGEST_NS;
	struct retry *retry = retry_find(controller, step->uid);

	if (!retry || strcmp(retry->error, error))
		log_err(error_code, "apply: %s", error);
	retry = note_retry(controller, step, error);
	if (!retry)
		return;
	retry->progress = CHAIN_FAILED;
	retry->delay_ns = retry->delay_ns ? retry->delay_ns * 2 : RETRY_FIRST_NS;
	if (retry->delay_ns > longest_ns)
		retry->delay_ns = longest_ns;
	retry->due_ns = now_ns(controller) + retry->delay_ns;
	want_wake(controller, retry->delay_ns);
}

static void clear_retry(struct controller *controller, const char *uid)
{
	struct retry *retry = retry_find(controller, uid);

	if (retry)
		*retry = controller->retries[--controller->nr_retries];
}

/* A chain with no step left to do has succeeded, or its pod is gone. */
static void forget_done_chains(struct controller *controller, const struct plan *plan)
{
	for (uint32_t i = controller->nr_retries; i-- > 0;) {
		bool waiting = false;

		for (uint32_t j = 0; j < plan->nr_steps && !waiting; j++)
			waiting = !strcmp(plan->steps[j].uid, controller->retries[i].uid);
		if (!waiting)
			clear_retry(controller, controller->retries[i].uid);
	}
}

static void begin_round(struct controller *controller)
{
	uint64_t now = now_ns(controller);

	for (uint32_t i = 0; i < controller->nr_retries; i++) {
		struct retry *retry = &controller->retries[i];

		retry->progress = retry->due_ns > now ? CHAIN_PUT_OFF : CHAIN_TRIED;
	}
}

/* What was tried and did not fail again is done: whoever asks is told so at once. */
static void end_round(struct controller *controller)
{
	for (uint32_t i = controller->nr_retries; i-- > 0;)
		if (controller->retries[i].progress == CHAIN_TRIED &&
		    !operation_find(controller, controller->retries[i].uid))
			clear_retry(controller, controller->retries[i].uid);
}

/* Cgroups that resist their removal. No pod of the ledger waits for it, so nothing is broken. */
static void tell_leftovers(struct controller *controller)
{
	const struct retry *left = NULL;

	for (uint32_t i = 0; i < controller->nr_retries && !left; i++)
		if (*controller->retries[i].uid &&
		    !ledger_find(controller->ledger, controller->retries[i].uid))
			left = &controller->retries[i];
	if (left)
		controller_finding(
			controller, "cgroups_left", left->error,
			"end the processes in them and whatever creates more; the agent tries again");
	else
		controller_clear_finding(controller, "cgroups_left");
}

/* --- drift --------------------------------------------------------------------------------------- */

/* What the file is to hold in the end; a plan may get there in two writes. */
static const char *final_value(const struct group_tree *desired, const struct step *step)
{
	const struct group *group = group_tree_find(desired, step->path);

	return group ? group->files[step->file] : NULL;
}

/*
 * A file that is to hold what we wrote before has drifted: the ledger did not
 * change it, so somebody else did. A chain that failed proves nothing.
 */
static bool is_drift(struct controller *controller, const struct group_tree *desired,
		     const struct step *step)
{
	const struct group *before;
	const char *value;

	if (step->kind != STEP_WRITE || !step->old || retry_find(controller, step->uid))
		return false;
	before = group_tree_find(&controller->desired, step->path);
	value = final_value(desired, step);
	return before && value && before->files[step->file] &&
	       !strcmp(before->files[step->file], value);
}

static void name_owner(struct controller *controller, const struct step *step,
		       struct event_row *event)
{
	const char *container = "";

	if (container_of_path(controller, step->path, event->pod, sizeof(event->pod), &container))
		snprintf(event->container, sizeof(event->container), "%s", container);
}

static struct drift_row *note_drift(struct controller *controller, const struct step *step,
				    const char *wanted)
{
	const char *attribute = attribute_name(step->file);
	bool known = audit_open_drift(&controller->audit, step->path, attribute);
	struct drift_row *row = audit_drift(&controller->audit, step->path, attribute);
	struct event_row event = {0};

	if (known && *row->wanted)
		return row;
	snprintf(row->wanted, sizeof(row->wanted), "%s", wanted);
	snprintf(row->found, sizeof(row->found), "%s", step->old);
	if (step->file == GROUP_CPUSET_PARTITION && !row->pid)
		snprintf(row->cause, sizeof(row->cause), "kernel");
	controller->counters.drift_by_attribute[step->file]++;
	snprintf(event.kind, sizeof(event.kind), "drift");
	snprintf(event.aspect, sizeof(event.aspect), "cpuset_files");
	snprintf(event.action, sizeof(event.action), "none");
	snprintf(event.target, sizeof(event.target), "%.200s/%s", step->path,
		 group_file_name(step->file));
	name_owner(controller, step, &event);
	snprintf(event.detail, sizeof(event.detail), "wanted '%.140s', found '%.140s'", row->wanted,
		 row->found);
	event.pid = row->pid;
	memcpy(event.comm, row->comm, sizeof(event.comm));
	snprintf(event.cgroup, sizeof(event.cgroup), "%s", row->cgroup);
	audit_event(&controller->audit, &event);
	return row;
}

/* Only `enforce` mends what others changed; audit and off leave it and say so. */
static bool may_repair(const struct controller *controller)
{
	return controller->cpuset_files == ENFORCEMENT_ENFORCE;
}

static void note_repair(struct controller *controller, const struct step *step,
			struct drift_row *row)
{
	struct event_row event = {0};

	audit_close_drift(&controller->audit, row, "repair");
	controller->counters.repaired_by_attribute[step->file]++;
	snprintf(event.kind, sizeof(event.kind), "repair");
	snprintf(event.action, sizeof(event.action), "repair");
	snprintf(event.target, sizeof(event.target), "%.200s/%s", step->path,
		 group_file_name(step->file));
	name_owner(controller, step, &event);
	snprintf(event.detail, sizeof(event.detail), "back to '%.280s'", step->value);
	audit_event(&controller->audit, &event);
}

/* Rows the plan no longer speaks of were undone by whoever made them. */
static void close_gone_drift(struct controller *controller, const struct plan *plan)
{
	for (uint32_t i = 0; i < controller->audit.nr_drift; i++) {
		struct drift_row *row = &controller->audit.drift[i];
		bool there = row->repaired_ns;

		for (uint32_t j = 0; j < plan->nr_steps && !there; j++)
			there = plan->steps[j].kind == STEP_WRITE &&
				!strcmp(plan->steps[j].path, row->path) &&
				!strcmp(attribute_name(plan->steps[j].file), row->attribute);
		if (!there)
			audit_close_drift(&controller->audit, row, "none");
	}
}

/* --- steps --------------------------------------------------------------------------------------- */

bool is_cpu_step(const struct step *step)
{
	return step->kind == STEP_WRITE && step->file == GROUP_CPUSET_CPUS &&
	       step->role == GROUP_CONTAINER;
}

/* This step is not done: what its container was to give up stays with it for now. */
static void hold_unreleased(struct controller *controller, const struct group_tree *desired,
			    const struct group_tree *observed, const struct step *step)
{
	const struct group *group = group_tree_find(observed, step->path);
	struct cpuset has, keeps;
	const char *value;

	if (!is_cpu_step(step))
		return;
	has = cpuset_of_text(step->old);
	/* Without a list of its own it runs wherever its parent may, if anything runs there. */
	if (cpuset_is_empty(&has) && group && group->populated)
		has = controller->topology->all;
	value = final_value(desired, step);
	keeps = cpuset_of_text(value ? value : step->value);
	cpuset_subtract(&has, &keeps);
	hold_cpus(controller, step->uid, &has);
}

/* Would this step put its container on CPUs that another one has not left yet? */
static const struct held_cpus *find_holder(const struct controller *controller,
					   const struct step *step, struct cpuset *ret_cpus)
{
	struct cpuset gained, had;

	if (!controller->nr_held || !is_cpu_step(step))
		return NULL;
	gained = cpuset_of_text(step->value);
	had = cpuset_of_text(step->old);
	cpuset_subtract(&gained, &had);
	for (uint32_t i = 0; i < controller->nr_held; i++) {
		const struct held_cpus *held = &controller->held[i];

		if (!strcmp(held->uid, step->uid) || !cpuset_intersects(&held->cpus, &gained))
			continue;
		*ret_cpus = held->cpus;
		cpuset_intersect(ret_cpus, &gained);
		return held;
	}
	return NULL;
}

static bool is_held(struct controller *controller, const struct step *step)
{
	const struct held_cpus *holder;
	const struct retry *retry;
	struct retry *own;
	char cpus[96], who[160], error[GROUP_ERROR_MAX];
	struct cpuset shared;

	holder = find_holder(controller, step, &shared);
	if (!holder)
		return false;
	cpuset_format(&shared, cpus, sizeof(cpus));
	chain_label(controller, holder->uid, who, sizeof(who));
	retry = retry_find(controller, holder->uid);
	snprintf(error, sizeof(error),
		 "%.80s/%s waits for CPUs %.50s, which %.70s still has: %.60s", step->path,
		 group_file_name(step->file), cpus, who,
		 operation_find(controller, holder->uid) || !retry
			 ? "its own step waits in the kernel"
			 : retry->error);
	own = retry_find(controller, step->uid);
	if (!own || strcmp(own->error, error))
		log_info("apply: %s", error);
	own = note_retry(controller, step, error);
	if (own) {
		own->progress = CHAIN_HELD;
		own->due_ns = 0;
	}
	return true;
}

static void step_done(struct controller *controller, const struct step *step)
{
	if (step->kind != STEP_WRITE)
		controller->groups_changed = true;
}

static void step_failed(struct controller *controller, const struct step *step, bool is_repair,
			int error_code, const char *error)
{
	if (is_repair)
		controller->counters.failed_by_attribute[step->file]++;
	fail_chain(controller, step, error_code, error);
}

void step_ended(struct controller *controller, const struct operation *operation, int result,
		const char *error)
{
	const struct step *step = &operation->step;
	struct drift_row *row = NULL;

	if (result) {
		step_failed(controller, step, operation->is_repair, result, error);
		return;
	}
	step_done(controller, step);
	if (operation->is_repair)
		row = audit_open_drift(&controller->audit, step->path, attribute_name(step->file));
	if (row && step->value && !strcmp(step->value, row->wanted))
		note_repair(controller, step, row);
}

static int apply_step(struct controller *controller, const struct step *step,
		      struct drift_row *drift)
{
	const struct groups_port *groups = controller->ports.groups;
	char error[GROUP_ERROR_MAX] = "";
	int r;

	r = operations_reserve(controller);
	if (!r) {
		controller->nr_changes++;
		r = groups->apply(groups->self, step, error);
		crash_point("plan_step");
	}
	if (r == -EINPROGRESS)
		operation_begin(controller, OPERATION_STEP, step)->is_repair = drift;
	else if (r)
		step_failed(controller, step, drift, r, *error ? error : strerror(-r));
	else
		step_done(controller, step);
	if (!r && drift && !strcmp(step->value, drift->wanted))
		note_repair(controller, step, drift);
	return r;
}

/*
 * Strangers leave before the owner arrives: where one does not leave, because its step
 * waits or fails, the owner is held too. Chains that have nothing to do with it go on.
 */
static void apply_plan(struct controller *controller, const struct group_tree *desired,
		       const struct group_tree *observed, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nr_steps; i++) {
		const struct step *step = &plan->steps[i];
		struct drift_row *row = NULL;

		if (chain_waits(controller, step->uid)) {
			hold_unreleased(controller, desired, observed, step);
			continue;
		}
		if (is_drift(controller, desired, step)) {
			row = note_drift(controller, step, final_value(desired, step));
			if (!may_repair(controller)) {
				snprintf(row->action, sizeof(row->action), "audit");
				continue;
			}
		}
		if (is_held(controller, step) || apply_step(controller, step, row))
			hold_unreleased(controller, desired, observed, step);
	}
}

/* --- the root partition -------------------------------------------------------------------------- */

void choose_tier(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct config *config = controller->options.config;
	char scope[GROUP_PATH_MAX] = "", message[ROW_DETAIL_MAX];
	uint32_t nr_tasks = 0;
	int r;

	if (config->partitions == PARTITIONS_OFF ||
	    config_host_tasks(config) != HOST_TASKS_RESERVED) {
		controller_finding(
			controller, "tier1_not_in_use",
			"user tasks of the host may run on CPUs that pods hold",
			"strict-cpu-reservation with hostTasks: reserved and partitions: "
			"auto keeps them off");
		controller->layout.root_partition = false;
		return;
	}
	r = groups->outsiders(groups->self, &nr_tasks, scope, sizeof(scope));
	/* What cannot be told now changes nothing that is in force. */
	if (r == -EINPROGRESS && controller->started)
		return;
	if (!r && *scope && config->host_tasks == HOST_TASKS_AUTO) {
		snprintf(
			message, sizeof(message),
			"%.180s runs outside the workload root; a partition would push it onto the "
			"reserved CPUs",
			scope);
		controller_finding(controller, "tier1_not_in_use", message,
				   "write hostTasks: reserved to accept that");
		controller->layout.root_partition = false;
		return;
	}
	log_info("ctl: %u user tasks outside %s will share the reserved CPUs", nr_tasks,
		 controller->layout.root);
	controller_clear_finding(controller, "tier1_not_in_use");
	controller->layout.root_partition = true;
}

/* What the kernel says of the partition, not what we wrote. */
static void check_root_partition(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_status status;
	char message[ROW_DETAIL_MAX];
	int r;

	if (!controller->layout.root_partition)
		return;
	r = groups->status(groups->self, controller->layout.root, &status);
	controller->root_partition_held = !r && !strcmp(status.partition, "root");
	if (controller->root_partition_held) {
		controller_clear_finding(controller, "tier1_not_held");
		return;
	}
	snprintf(message, sizeof(message), "%s is not a valid root partition: '%.120s'",
		 controller->layout.root, r ? strerror(-r) : status.partition);
	controller_finding(
		controller, "tier1_not_held", message,
		"remove overlapping cpuset.cpus of its siblings (AllowedCPUs= of units); "
		"until then host tasks may run on pods' CPUs");
}

/* --- one round ----------------------------------------------------------------------------------- */

/* What cannot be read may be anything; the log hears of it once. */
static int fail_look(struct controller *controller, int error_code, const char *what)
{
	char problem[ROW_DETAIL_MAX];

	snprintf(problem, sizeof(problem), "%s: %s", what, strerror(-error_code));
	if (strcmp(controller->look_problem, problem))
		log_err(0, "ctl: %s", problem);
	snprintf(controller->look_problem, sizeof(controller->look_problem), "%s", problem);
	return error_code;
}

/* A look that took long is taken only if nothing of ours happened meanwhile. */
static int observe(struct controller *controller, struct group_tree *ret_observed)
{
	const struct groups_port *groups = controller->ports.groups;
	bool was_looking = controller->looking_since_ns;
	int r;

	r = groups->observe(groups->self, ret_observed);
	if (was_looking && r != -EINPROGRESS) {
		controller->looking_since_ns = 0;
		if (controller->changes_at_look != controller->nr_changes) {
			group_tree_fini(ret_observed);
			was_looking = false;
			r = groups->observe(groups->self, ret_observed);
		}
	}
	if (r != -EINPROGRESS) {
		if (controller->looks_again)
			want_wake(controller, 0);
		controller->looks_again = false;
		return r;
	}
	if (was_looking) {
		/* Who asked now may know of something that this look has passed already. */
		controller->looks_again = true;
		return r;
	}
	controller->looking_since_ns = now_ns(controller);
	controller->changes_at_look = controller->nr_changes;
	return r;
}

static int copy_files(const struct group *from, struct group *to)
{
	to->populated = from->populated;
	for (int file = 0; file < GROUP_FILE_NR; file++) {
		free(to->files[file]);
		to->files[file] = from->files[file] ? strdup(from->files[file]) : NULL;
		if (from->files[file] && !to->files[file])
			return -ENOMEM;
	}
	return 0;
}

/*
 * A pod whose chain waits was not looked at. It stands still, so what was seen of it
 * before goes for it now; what the operation changes is known from the operation.
 */
static int fill_unseen(const struct controller *controller, struct group_tree *observed)
{
	uint32_t nr = observed->nr_groups;

	for (uint32_t i = 0; i < nr; i++) {
		char below[GROUP_PATH_MAX + 1];

		if (!observed->groups[i].unseen)
			continue;
		snprintf(below, sizeof(below), "%s/", observed->groups[i].path);
		for (uint32_t j = 0; j < controller->observed.nr_groups; j++) {
			const struct group *seen = &controller->observed.groups[j];
			bool is_pod = !strcmp(seen->path, observed->groups[i].path);
			struct group *group = &observed->groups[i];

			if (!is_pod && strncmp(seen->path, below, strlen(below)))
				continue;
			if (!is_pod && !group_tree_find(observed, seen->path))
				group = group_tree_add(observed, seen->role, seen->path);
			else if (!is_pod)
				continue; /* noted, with the values to come */
			if (!group || copy_files(seen, group))
				return -ENOMEM;
			memcpy(group->uid, seen->uid, sizeof(group->uid));
			memcpy(group->container, seen->container, sizeof(group->container));
		}
	}
	return 0;
}

static int look(struct controller *controller, struct group_tree *ret_desired,
		struct group_tree *ret_observed, struct plan *ret_plan)
{
	struct group_tree observed cleanup(group_tree_fini) = {0};
	struct group_tree desired cleanup(group_tree_fini) = {0};
	int r;

	r = observe(controller, &observed);
	if (r == -EINPROGRESS)
		return r;
	if (r && r != -ENOENT)
		return fail_look(controller, r, "the cgroups cannot be read");
	r = fill_unseen(controller, &observed);
	if (r)
		return fail_look(controller, r, "the cgroups of pods that wait cannot be kept");
	r = plan_desired(controller->ledger, &controller->layout, &desired);
	if (r)
		return fail_look(controller, r,
				 "the wanted state of the cgroups cannot be computed");
	r = plan_make(&desired, &observed, ret_plan);
	if (r)
		return fail_look(controller, r, "no plan can be made for the cgroups");
	*controller->look_problem = '\0';
	*ret_desired = desired;
	desired = (struct group_tree){0};
	*ret_observed = observed;
	observed = (struct group_tree){0};
	return 0;
}

void touch(struct controller *controller, const char *path)
{
	if (controller->nr_touched == MAX_TOUCHED)
		return;
	for (uint32_t i = 0; i < controller->nr_touched; i++)
		if (!strcmp(controller->touched[i], path))
			return;
	snprintf(controller->touched[controller->nr_touched++], GROUP_PATH_MAX, "%s", path);
}

/*
 * Values the ledger stands behind are disjoint, so one container's can be put
 * back without looking at the others; a root or a pod has an order to keep.
 */
static void mend_container(struct controller *controller, struct group *wanted)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct group_tree desired = {.nr_groups = 1, .groups = wanted};
	struct group_tree observed cleanup(group_tree_fini) = {0};
	struct plan plan cleanup(plan_fini) = {0};
	struct group *found = group_tree_add(&observed, GROUP_CONTAINER, wanted->path);

	if (!found || groups->observe_group(groups->self, found))
		return;
	memcpy(found->uid, wanted->uid, sizeof(found->uid));
	memcpy(found->container, wanted->container, sizeof(found->container));
	if (!plan_make(&desired, &observed, &plan))
		apply_plan(controller, &desired, &observed, &plan);
}

void reconcile_touched(struct controller *controller)
{
	uint32_t nr = controller->nr_touched;

	controller->nr_touched = 0;
	/* What we last wrote is not what the ledger says now. */
	if (controller->ledger_changed || controller->options.dry_run ||
	    controller->options.config->mode != MODE_ALLOCATE ||
	    !controller->ports.groups->observe_group)
		return;
	begin_round(controller);
	for (uint32_t i = 0; i < nr; i++) {
		struct group *wanted =
			group_tree_find(&controller->desired, controller->touched[i]);

		/* What waits in a pod's directory would keep this waiting too. */
		if (wanted && wanted->role == GROUP_CONTAINER &&
		    !operation_find(controller, wanted->uid))
			mend_container(controller, wanted);
	}
}

/* What cannot be watched is seen at the next look all the same, only later. */
static void rewatch(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	int r = groups->rewatch(groups->self, &controller->desired);
	char message[ROW_DETAIL_MAX];

	controller->watch_stale = r;
	/* -ENOTCONN: there is no event loop to hear them yet. */
	if (!r || r == -ENOTCONN) {
		controller_clear_finding(controller, "cgroups_not_watched");
		return;
	}
	snprintf(message, sizeof(message),
		 "not every cgroup can be watched (%s): changes there are noticed later",
		 strerror(-r));
	controller_finding(controller, "cgroups_not_watched", message,
			   "raise fs.inotify.max_user_watches");
}

void reconcile(struct controller *controller)
{
	struct group_tree observed cleanup(group_tree_fini) = {0};
	enum enforcement before = controller->cpuset_files;
	struct group_tree desired = {0};
	struct plan plan cleanup(plan_fini) = {0};
	int r;

	controller->last_resync_ns = now_ns(controller);
	if (controller->options.dry_run)
		return;
	r = look(controller, &desired, &observed, &plan);
	if (r) {
		if (r != -EINPROGRESS)
			want_wake(controller, LOOK_AGAIN_NS);
		return;
	}
	controller->has_looked = true;
	/* What is held is found anew from what was seen. */
	controller->nr_held = 0;
	hold_in_flight(controller, &desired);
	forget_done_chains(controller, &plan);
	close_gone_drift(controller, &plan);
	begin_round(controller);
	if (controller->repairs_once)
		controller->cpuset_files = ENFORCEMENT_ENFORCE;
	if (controller->options.config->mode == MODE_ALLOCATE)
		apply_plan(controller, &desired, &observed, &plan);
	controller->cpuset_files = before;
	controller->repairs_once = false;
	end_round(controller);
	tell_leftovers(controller);
	group_tree_fini(&controller->desired);
	controller->desired = desired;
	group_tree_fini(&controller->observed);
	if (controller->nr_operations) {
		controller->observed = observed;
		observed = (struct group_tree){0};
	}
	check_root_partition(controller);
	if (controller->ledger_changed || controller->groups_changed || controller->policy_stale)
		publish_policy(controller);
	if (controller->ledger_changed || controller->groups_changed || controller->watch_stale) {
		rewatch(controller);
		controller->ledger_changed = false;
		controller->groups_changed = false;
	}
	operations_tell(controller);
	runs_advance(controller);
}

int controller_print_plan(struct controller *controller, struct text *out)
{
	struct group_tree desired cleanup(group_tree_fini) = {0};
	struct group_tree observed cleanup(group_tree_fini) = {0};
	struct plan plan cleanup(plan_fini) = {0};
	int r = look(controller, &desired, &observed, &plan);

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
