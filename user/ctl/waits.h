/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waits in the kernel: operations, a look, a save of the state file, the guard's
 * self-test, the name of a culprit, and a scan of the manifests directory.
 */
#ifndef CTL_WAITS_H
#define CTL_WAITS_H

#include "ctl/operations.h"

struct controller;

/* An operator hears of a wait in the kernel after this long; after that long, /readyz does. */
#define WAIT_TOLD_NS	 (1ULL * 1000000000ULL)
#define WAIT_DEADLINE_NS (5ULL * 1000000000ULL)

/* The longest of all waits, and how many there are. */
struct waiting {
	uint32_t nr;
	uint64_t longest_ns;
	char who[176], what[GROUP_PATH_MAX];
	char path[GROUP_PATH_MAX];
	enum {
		WAIT_FOR_GROUP,
		WAIT_FOR_SAVE,
		WAIT_FOR_SELF_TEST,
		WAIT_FOR_NAME,
		WAIT_FOR_SCAN
	} kind;
};

struct waits {
	bool has_told;		/* the finding operation_waiting stands */
	uint64_t scan_since_ns; /* of the manifests directory; 0 = none waits */
};

/* Whom this operation stops, what for and how long; `nr` is 1. */
void ctl_describe_wait(const struct controller *controller, const struct operation *operation,
		       struct waiting *ret_waiting);
/* The longest of all waits; `nr` 0 = there is none. */
void ctl_longest_wait(const struct controller *controller, struct waiting *ret_waiting);
/* Either of these in words, with the place in the kernel where it waits. */
void ctl_wait_sentence(const struct controller *controller, const struct waiting *waiting,
		       char *text, size_t size);
/*
 * Does one wait for so long that keeps something promised from being held? The sentence
 * says which. A self-test is no such thing: the guard stays in force while it waits. Nor
 * is a name, or a scan.
 */
bool ctl_is_overdue(const struct controller *controller, uint64_t deadline_ns, char *reason,
		    size_t size);
/* Raise the finding or clear it; each second, and when an operation ends. */
void ctl_tell_waits(struct controller *controller);

#endif
