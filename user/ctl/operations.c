// SPDX-License-Identifier: Apache-2.0
/*
 * What goes on in the kernel while the controller does other things: which chain it
 * stops, which CPUs it keeps from others, since when, and who is told.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

#define SECOND_NS 1000000000ULL

/* --- begin and end ------------------------------------------------------------------------------- */

struct operation *operation_find(const struct controller *controller, const char *uid)
{
	for (uint32_t i = 0; i < controller->nr_operations; i++)
		if (!strcmp(controller->operations[i].step.uid, uid))
			return &controller->operations[i];
	return NULL;
}

int operations_reserve(struct controller *controller)
{
	struct operation *grown;

	if (controller->nr_operations < controller->max_operations)
		return 0;
	grown = realloc(controller->operations, (controller->max_operations + 8) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	controller->operations = grown;
	controller->max_operations += 8;
	return 0;
}

struct operation *operation_begin(struct controller *controller, enum operation_kind kind,
				  const struct step *step)
{
	struct operation *operation = &controller->operations[controller->nr_operations++];

	*operation = (struct operation){
		.kind = kind,
		.step = *step,
		.since_ns = now_ns(controller),
	};
	operation->step.old = NULL;
	operation->step.value = step->value ? strdup(step->value) : NULL;
	return operation;
}

static void operation_end(struct controller *controller, struct operation *operation)
{
	free(operation->step.value);
	*operation = controller->operations[--controller->nr_operations];
}

void operations_free(struct controller *controller)
{
	while (controller->nr_operations)
		operation_end(controller, &controller->operations[0]);
	free(controller->operations);
}

void on_group_completed(void *self, const char *path, int result, const char *error)
{
	struct controller *controller = self;
	struct operation *operation = NULL;

	for (uint32_t i = 0; i < controller->nr_operations && !operation; i++)
		if (!strcmp(controller->operations[i].step.path, path))
			operation = &controller->operations[i];
	if (!operation)
		return;
	/* A look that began before may have seen the time before this. */
	controller->nr_changes++;
	/* The guard and the watch may have had to pass the pod by. */
	controller->groups_changed = true;
	if (!*error && result)
		error = strerror(-result);
	if (operation->kind == OPERATION_STEP)
		step_ended(controller, operation, result, error);
	else if (operation->kind == OPERATION_JOIN)
		join_ended(controller, operation, result, error);
	else if (result)
		log_warn(0, "ctl: %s", error);
	operation_end(controller, operation);
	operations_tell(controller);
	want_wake(controller, 0);
}

void on_looked(void *self)
{
	want_wake(self, 0);
}

/* --- CPUs that are not free yet -------------------------------------------------------------------- */

void hold_cpus(struct controller *controller, const char *uid, const struct cpuset *cpus)
{
	struct held_cpus *held;

	if (cpuset_is_empty(cpus))
		return;
	for (uint32_t i = 0; i < controller->nr_held; i++)
		if (!strcmp(controller->held[i].uid, uid)) {
			cpuset_union(&controller->held[i].cpus, cpus);
			return;
		}
	held = realloc(controller->held, (controller->nr_held + 1) * sizeof(*held));
	if (!held) {
		/* Without a place of its own it goes to the last one's: held it must be. */
		if (controller->nr_held)
			cpuset_union(&controller->held[controller->nr_held - 1].cpus, cpus);
		return;
	}
	controller->held = held;
	held = &controller->held[controller->nr_held++];
	*held = (struct held_cpus){.cpus = *cpus};
	snprintf(held->uid, sizeof(held->uid), "%s", uid);
}

void hold_in_flight(struct controller *controller, const struct group_tree *desired)
{
	for (uint32_t i = 0; i < controller->nr_operations; i++) {
		const struct step *step = &controller->operations[i].step;
		const struct group *group = group_tree_find(desired, step->path);
		const char *wanted = group ? group->files[GROUP_CPUSET_CPUS] : NULL;
		struct cpuset coming, own = cpuset_of_text(wanted);

		if (controller->operations[i].kind != OPERATION_STEP || !is_cpu_step(step))
			continue;
		if (!step->value || cpuset_parse(step->value, strlen(step->value), &coming))
			coming = controller->topology->all;
		cpuset_subtract(&coming, &own);
		hold_cpus(controller, step->uid, &coming);
	}
}

/* --- telling ------------------------------------------------------------------------------------- */

static const char *const kind_words[] = {
	[OPERATION_STEP] = "a step",
	[OPERATION_JOIN] = "a process to join",
	[OPERATION_KILL] = "the end of the processes of",
};

/* "the write of pinfold.slice/…/cpuset.mems" */
static void describe(const struct operation *operation, char *text, size_t size)
{
	const struct step *step = &operation->step;

	if (operation->kind != OPERATION_STEP)
		snprintf(text, size, "%s %.200s", kind_words[operation->kind], step->path);
	else if (step->kind == STEP_WRITE)
		snprintf(text, size, "the write of %.200s/%s", step->path,
			 group_file_name(step->file));
	else
		snprintf(text, size, "the %s of %.200s",
			 step->kind == STEP_CREATE ? "creation" : "removal", step->path);
}

void chain_label(const struct controller *controller, const char *uid, char *text, size_t size)
{
	const struct ledger_pod *pod = *uid ? ledger_find(controller->ledger, uid) : NULL;
	char name[POD_NAME_MAX * 2];

	if (pod) {
		pod_label(pod->spec, name, sizeof(name));
		snprintf(text, size, "pod %.120s", name);
	} else if (*uid) {
		snprintf(text, size, "pod with uid %.80s", uid);
	} else {
		snprintf(text, size, "the workload root");
	}
}

void operation_describe(const struct controller *controller, const struct operation *operation,
			struct waiting *ret_waiting)
{
	*ret_waiting = (struct waiting){
		.nr = 1,
		.longest_ns = now_ns(controller) - operation->since_ns,
	};
	chain_label(controller, operation->step.uid, ret_waiting->who, sizeof(ret_waiting->who));
	describe(operation, ret_waiting->what, sizeof(ret_waiting->what));
	memcpy(ret_waiting->path, operation->step.path, sizeof(ret_waiting->path));
}

void operations_longest(const struct controller *controller, struct waiting *ret_waiting)
{
	uint64_t now = now_ns(controller), look_ns = 0, save_ns = 0;
	const struct operation *longest = NULL;
	struct waiting waiting = {0};

	for (uint32_t i = 0; i < controller->nr_operations; i++)
		if (!longest || controller->operations[i].since_ns < longest->since_ns)
			longest = &controller->operations[i];
	if (longest)
		operation_describe(controller, longest, &waiting);
	if (controller->looking_since_ns)
		look_ns = now - controller->looking_since_ns;
	if (controller->saving_since_ns)
		save_ns = now - controller->saving_since_ns;
	if (controller->looking_since_ns && look_ns >= waiting.longest_ns) {
		waiting = (struct waiting){.longest_ns = look_ns};
		snprintf(waiting.who, sizeof(waiting.who), "every pod");
		snprintf(waiting.what, sizeof(waiting.what), "a look at the cgroups below %.100s",
			 controller->layout.root);
	}
	if (controller->saving_since_ns && save_ns >= waiting.longest_ns) {
		waiting = (struct waiting){.longest_ns = save_ns, .is_save = true};
		snprintf(waiting.who, sizeof(waiting.who), "every new grant");
		snprintf(waiting.what, sizeof(waiting.what), "the write of the state file");
	}
	waiting.nr = controller->nr_operations + (controller->looking_since_ns > 0) +
		     (controller->saving_since_ns > 0);
	*ret_waiting = waiting;
}

static void waits_in(const struct controller *controller, const struct waiting *waiting, char *text,
		     size_t size)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct store_port *store = controller->ports.store;

	*text = '\0';
	if (waiting->is_save && store->waits_in)
		store->waits_in(store->self, text, size);
	else if (!waiting->is_save && groups->waits_in)
		groups->waits_in(groups->self, waiting->path, text, size);
}

void operations_sentence(const struct controller *controller, const struct waiting *waiting,
			 char *text, size_t size)
{
	char where[160];
	int len;

	waits_in(controller, waiting, where, sizeof(where));
	len = snprintf(text, size, "%s has waited %llu s in the kernel for %s%s%s%s", waiting->who,
		       (unsigned long long)(waiting->longest_ns / SECOND_NS), waiting->what,
		       *where ? " (in " : "", where, *where ? ")" : "");
	if (waiting->nr > 1 && len > 0 && (size_t)len < size)
		snprintf(text + len, size - (size_t)len, "; %u more such operation%s",
			 waiting->nr - 1, waiting->nr > 2 ? "s wait" : " waits");
}

bool operations_overdue(const struct controller *controller, uint64_t deadline_ns, char *reason,
			size_t size)
{
	struct waiting waiting;

	operations_longest(controller, &waiting);
	if (!waiting.nr || waiting.longest_ns < deadline_ns)
		return false;
	operations_sentence(controller, &waiting, reason, size);
	return true;
}

void operations_tell(struct controller *controller)
{
	struct waiting waiting;
	char message[ROW_DETAIL_MAX];

	for (uint32_t i = 0; i < controller->nr_operations; i++) {
		struct operation *operation = &controller->operations[i];

		operation_describe(controller, operation, &waiting);
		if (waiting.longest_ns >= OPERATION_TOLD_NS)
			operations_sentence(controller, &waiting, operation->told,
					    sizeof(operation->told));
	}
	operations_longest(controller, &waiting);
	if (!waiting.nr || waiting.longest_ns < OPERATION_TOLD_NS) {
		if (controller->has_told_waiting) {
			log_info("ctl: no operation waits in the kernel any more");
			controller_clear_finding(controller, "operation_waiting");
		}
		controller->has_told_waiting = false;
		return;
	}
	operations_sentence(controller, &waiting, message, sizeof(message));
	/* Its time grows by the second; the log hears of the wait once. */
	controller_update_finding(
		controller, "operation_waiting", message,
		waiting.is_save
			? "check the disk of stateDirectory, and whether its file system is frozen; "
			  "pods that run are held as before"
			: "nothing can cancel it; other pods are held as before. If pinfoldd(8) "
			  "names the function under WAITING, it has a remedy");
	controller->has_told_waiting = true;
}
