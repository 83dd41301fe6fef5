/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits in the kernel: operations, a look, a save of the state file, the guard's self-test,
 * the name of a culprit, a read of the pressure, a pass over the masks of interrupts, a walk over the
 * tasks for strangers, a pass over the host's groups, and a scan of the manifests directory.
 */
#ifndef CTL_WAITS_H
#define CTL_WAITS_H

#include "ctl/operations.h"

struct controller;

/* Waits are reported to the operator after the first time; /readyz fails after the second. */
#define WAIT_TOLD_NS	 (1ULL * 1000000000ULL)
#define WAIT_DEADLINE_NS (5ULL * 1000000000ULL)

enum wait_kind {
	WAIT_FOR_GROUP,
	WAIT_FOR_SAVE,
	WAIT_FOR_SELF_TEST,
	WAIT_FOR_NAME,
	WAIT_FOR_PRESSURE,
	WAIT_FOR_RESIDENT,
	WAIT_FOR_CPUSETS,
	WAIT_FOR_MEMBERS,
	WAIT_FOR_IRQS,
	WAIT_FOR_STRANGERS,
	WAIT_FOR_HOST,
	WAIT_FOR_SCAN
};

/* The longest of all waits, and their number. */
struct waiting {
	uint32_t nr;
	uint64_t longest_ns;
	char who[176], what[GROUP_PATH_MAX];
	char path[GROUP_PATH_MAX];
	enum wait_kind kind;
};

struct waits {
	bool has_told;		/* the finding operation_waiting is raised */
	uint64_t scan_since_ns; /* of the manifests directory; 0 = no scan is blocked */
};

/* Who waits for this operation, what it is and how long it has run; `nr` is 1. */
void ctl_describe_wait(const struct controller *controller, const struct operation *operation,
		       struct waiting *ret_waiting);
/* The longest of all waits; `nr` 0 = there is none. */
void ctl_longest_wait(const struct controller *controller, struct waiting *ret_waiting);
/* Format either of these as a sentence, with the kernel function in which it is blocked. */
void ctl_wait_sentence(const struct controller *controller, const struct waiting *waiting,
		       char *text, size_t size);
/*
 * Has an operation delayed something that was promised for this long? The sentence names it. A
 * self-test does not count, because the guard remains in force while it runs. Names, pressure,
 * interrupts and scans do not count either.
 */
bool ctl_is_overdue(const struct controller *controller, uint64_t deadline_ns, char *reason,
		    size_t size);
/* Raise or clear the finding; called each second, and when an operation ends. */
void ctl_tell_waits(struct controller *controller);

#endif
