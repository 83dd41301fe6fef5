// SPDX-License-Identifier: Apache-2.0
/*
 * Operations blocked in the kernel: describes in a sentence who waits for what and how long,
 * raises a finding, and tells whether a promise is delayed.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/waits.h"
#include "lib/log.h"

#define SECOND_NS 1000000000ULL

static const char *const kind_words[] = {
	[OPERATION_STEP] = "a step",
	[OPERATION_JOIN] = "a process to join",
	[OPERATION_KILL] = "the kill of the processes of",
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

void ctl_describe_wait(const struct controller *controller, const struct operation *operation,
		       struct waiting *ret_waiting)
{
	*ret_waiting = (struct waiting){
		.nr = 1,
		.longest_ns = clock_now_ns(controller->ports.clock) - operation->since_ns,
	};
	lookup_chain_label(controller->ledger, operation->step.uid, ret_waiting->who,
			   sizeof(ret_waiting->who));
	describe(operation, ret_waiting->what, sizeof(ret_waiting->what));
	memcpy(ret_waiting->path, operation->step.path, sizeof(ret_waiting->path));
}

/* Add a wait; of two waits the longer one is described. */
static void add_wait(struct waiting *longest, const struct waiting *other)
{
	uint32_t nr = longest->nr + other->nr;

	if (other->longest_ns >= longest->longest_ns)
		*longest = *other;
	longest->nr = nr;
}

/* Add what is known to have waited since then; 0 = it does not wait. */
static void add_since(const struct controller *controller, uint64_t since_ns, enum wait_kind kind,
		      const char *who, const char *what, struct waiting *longest)
{
	struct waiting other = {
		.nr = 1,
		.longest_ns = clock_now_ns(controller->ports.clock) - since_ns,
		.kind = kind,
	};

	if (!since_ns)
		return;
	snprintf(other.who, sizeof(other.who), "%s", who);
	snprintf(other.what, sizeof(other.what), "%s", what);
	add_wait(longest, &other);
}

/* The longest wait among those that delay something that was promised. */
static void longest_of_promised(const struct controller *controller, struct waiting *ret_waiting)
{
	const struct operation *longest = NULL;
	char look[160];

	*ret_waiting = (struct waiting){0};
	for (uint32_t i = 0; i < controller->operations.nr; i++)
		if (!longest || controller->operations.rows[i].since_ns < longest->since_ns)
			longest = &controller->operations.rows[i];
	if (longest) {
		ctl_describe_wait(controller, longest, ret_waiting);
		ret_waiting->nr = controller->operations.nr;
	}
	snprintf(look, sizeof(look), "a read of the cgroups below %.100s", controller->layout.root);
	add_since(controller, controller->look.since_ns, WAIT_FOR_GROUP, "every pod", look,
		  ret_waiting);
	add_since(controller, controller->record.saving_since_ns, WAIT_FOR_SAVE, "every new grant",
		  "the write of the state file", ret_waiting);
}

static void add_name(const struct controller *controller, struct waiting *longest)
{
	const struct unnamed *first = controller->culprits.rows;
	char what[GROUP_PATH_MAX];

	if (!controller->culprits.nr)
		return;
	snprintf(what, sizeof(what), "the name of cgroup %llu",
		 (unsigned long long)(first->nr_named ? first->event.target_id
						      : first->event.culprit_id));
	add_since(controller, first->since_ns, WAIT_FOR_NAME, "every event", what, longest);
}

static void add_members(const struct controller *controller, struct waiting *longest)
{
	const struct displaced *member = NULL;
	const uint64_t since_ns = members_since_ns(&controller->members, &member);

	if (since_ns)
		add_since(controller, since_ns, WAIT_FOR_MEMBERS,
			  "the repair of a container's members", "a move of a process", longest);
}

static void add_self_test(const struct controller *controller, struct waiting *longest)
{
	char path[GROUP_PATH_MAX], what[GROUP_PATH_MAX];

	lookup_self_test(&controller->layout, path);
	snprintf(what, sizeof(what), "its self-test in %.200s", path);
	add_since(controller, controller->guard.testing_since_ns, WAIT_FOR_SELF_TEST, "the guard",
		  what, longest);
}

void ctl_longest_wait(const struct controller *controller, struct waiting *ret_waiting)
{
	const uint64_t walking_since_ns = controller->strangers.since_ns;

	longest_of_promised(controller, ret_waiting);
	add_name(controller, ret_waiting);
	add_since(controller, controller->pressures.since_ns, WAIT_FOR_PRESSURE,
		  "the read of pressure", "a walk over the cgroups", ret_waiting);
	add_since(controller, controller->resident.since_ns, WAIT_FOR_RESIDENT,
		  "the read of the containers' memory", "their memory.numa_stat", ret_waiting);
	add_since(controller, controller->kubelet_drift.writing_since_ns, WAIT_FOR_CPUSETS,
		  "the repair of a kubelet's containers", "a write of their cpusets", ret_waiting);
	add_members(controller, ret_waiting);
	add_since(controller, controller->runtimes.writing_since_ns, WAIT_FOR_CPUSETS,
		  "the repair of a runtime's containers", "a write of their cpusets", ret_waiting);
	add_since(controller, controller->steering.since_ns, WAIT_FOR_IRQS,
		  "the masks of interrupts", "a pass over them", ret_waiting);
	add_since(controller, controller->host.since_ns, WAIT_FOR_HOST, "the host's groups",
		  "a pass over them", ret_waiting);
	/* Very many tasks take some seconds without anything that blocks. */
	if (clock_now_ns(controller->ports.clock) - walking_since_ns >= WAIT_DEADLINE_NS)
		add_since(controller, walking_since_ns, WAIT_FOR_STRANGERS,
			  "the search for strangers", "a walk over the tasks", ret_waiting);
	add_since(controller, controller->waits.scan_since_ns, WAIT_FOR_SCAN,
		  "every change to a manifest", "a scan of manifestDirectory", ret_waiting);
	add_self_test(controller, ret_waiting);
}

static void waits_in(const struct controller *controller, const struct waiting *waiting, char *text,
		     size_t size)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct store_port *store = controller->ports.store;
	const struct pressure_port *pressure = controller->ports.pressure;
	const struct resident_port *resident = controller->ports.resident;
	const struct cpuset_port *cpusets = controller->ports.cpusets;
	const struct member_port *members = controller->ports.members;
	const struct displaced *member = NULL;
	const struct irq_port *irq = controller->ports.irq;
	const struct stranger_port *stranger = controller->ports.stranger;
	const struct host_port *host = controller->ports.host;

	switch (waiting->kind) {
	case WAIT_FOR_GROUP:
		return groups->waits_in(groups->self, waiting->path, text, size);
	case WAIT_FOR_SAVE:
		return store->waits_in(store->self, text, size);
	case WAIT_FOR_SELF_TEST:
		return kernel->self_test_waits_in(kernel->self, text, size);
	case WAIT_FOR_PRESSURE:
		return pressure->waits_in(pressure->self, text, size);
	case WAIT_FOR_RESIDENT:
		return resident->waits_in(resident->self, text, size);
	case WAIT_FOR_CPUSETS:
		return cpusets->waits_in(cpusets->self, text, size);
	case WAIT_FOR_MEMBERS:
		if (members_since_ns(&controller->members, &member))
			members->waits_in(members->self, &member->move, text, size);
		return;
	case WAIT_FOR_IRQS:
		return irq->waits_in(irq->self, text, size);
	case WAIT_FOR_STRANGERS:
		return stranger->waits_in(stranger->self, text, size);
	case WAIT_FOR_HOST:
		return host->waits_in(host->self, text, size);
	case WAIT_FOR_NAME:
	case WAIT_FOR_SCAN:
		return;
	}
}

static const char *remedy_for(const struct waiting *waiting)
{
	switch (waiting->kind) {
	case WAIT_FOR_SAVE:
		return "check the disk of stateDirectory, and whether its file system is frozen; "
		       "running pods remain enforced";
	case WAIT_FOR_SCAN:
		return "check the disk of manifestDirectory; running pods remain enforced";
	case WAIT_FOR_PRESSURE:
		return "all pods remain enforced; their pressure is unknown until the walk ends";
	case WAIT_FOR_RESIDENT:
		return "all pods remain enforced; on which NUMA nodes their memory is stays unknown "
		       "until the read ends";
	case WAIT_FOR_CPUSETS:
		return "the operation cannot be cancelled; cpusets of containers are not put back "
		       "until it ends";
	case WAIT_FOR_MEMBERS:
		return "the operation cannot be cancelled; the process stays where it was moved "
		       "until it ends, and so do other changes to its pod";
	case WAIT_FOR_IRQS:
		return "all pods remain enforced; interrupts may fire on exclusive CPUs until the "
		       "pass ends";
	case WAIT_FOR_STRANGERS:
		return "all pods remain enforced; other tasks may run on exclusive CPUs until the "
		       "walk ends";
	case WAIT_FOR_HOST:
		return "all pods remain enforced; tasks of the host may run on exclusive CPUs until "
		       "the pass ends";
	default:
		return "the operation cannot be cancelled; other pods remain enforced. If "
		       "pinfoldd(8) lists the function under WAITING, it also gives a remedy";
	}
}

void ctl_wait_sentence(const struct controller *controller, const struct waiting *waiting,
		       char *text, size_t size)
{
	char where[160] = "";
	int len;

	waits_in(controller, waiting, where, sizeof(where));
	len = snprintf(text, size, "%s has waited %llu s for %s%s%s%s", waiting->who,
		       (unsigned long long)(waiting->longest_ns / SECOND_NS), waiting->what,
		       *where ? " (in " : "", where, *where ? ")" : "");
	if (waiting->nr > 1 && (size_t)len < size)
		snprintf(text + len, size - (size_t)len, "; %u more such operation%s",
			 waiting->nr - 1, waiting->nr > 2 ? "s wait" : " waits");
}

bool ctl_is_overdue(const struct controller *controller, uint64_t deadline_ns, char *reason,
		    size_t size)
{
	struct waiting waiting;

	longest_of_promised(controller, &waiting);
	if (!waiting.nr || waiting.longest_ns < deadline_ns)
		return false;
	ctl_wait_sentence(controller, &waiting, reason, size);
	return true;
}

void ctl_tell_waits(struct controller *controller)
{
	struct waiting waiting;
	char message[ROW_DETAIL_MAX];

	for (uint32_t i = 0; i < controller->operations.nr; i++) {
		struct operation *operation = &controller->operations.rows[i];

		ctl_describe_wait(controller, operation, &waiting);
		if (waiting.longest_ns < WAIT_TOLD_NS)
			continue;
		ctl_wait_sentence(controller, &waiting, operation->told, sizeof(operation->told));
		operation->is_told = true;
	}
	ctl_longest_wait(controller, &waiting);
	if (waiting.longest_ns < WAIT_TOLD_NS) {
		if (controller->waits.has_told) {
			log_info("ctl: no operation is blocked in the kernel any more");
			findings_clear(&controller->findings, FINDING_OPERATION_WAITING);
		}
		controller->waits.has_told = false;
		return;
	}
	ctl_wait_sentence(controller, &waiting, message, sizeof(message));
	/* The duration in the message changes each second, so the wait is logged only once. */
	findings_update(&controller->findings, FINDING_OPERATION_WAITING, remedy_for(&waiting),
			"%s", message);
	controller->waits.has_told = true;
}
