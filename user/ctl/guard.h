/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the guard in the kernel, reported as findings and events. */
#ifndef CTL_GUARD_H
#define CTL_GUARD_H

#include "ctl/ports.h"

struct controller;

struct guard {
	uint64_t tested_ns;	   /* when the last self-test began */
	uint64_t testing_since_ns; /* start of the running self-test; 0 = none */
	/* Reverted changes that have been reported, and when the last one was reported. */
	uint64_t told_mended[MENDED_NR], mended_ns[MENDED_NR];
	uint64_t told_outages, outage_told_ns; /* the same for outages of the agent */
	bool told_release;
	bool was_switched_off; /* at the last report */
	bool is_lost;
	bool is_test_due; /* before its time: the guard has changed since the last test */
};

/* Does it deny the operations of this mode, at least those that the kernel lets it judge? */
bool guard_denies(const struct guard_status *status, enum enforcement mode);

/* Report its state as findings and events. */
void ctl_tell_guard(struct controller *controller);
/*
 * Is it not in the modes that the configuration asks for: released, changed, switched off, missing or
 * unread? Or frozen, so that it cannot follow? `reason` is set only then. A guard that the kernel
 * cannot run, or can run only partially, is no such case: findings report it.
 */
bool ctl_lacks_guard(const struct controller *controller, char *reason, size_t size);
/* The kernel could run it, but the agent could not start it and goes on without. */
void guard_lose(struct guard *guard);
/* Start a self-test unless one is running or the mode is observe, and report the state. */
void ctl_test_guard(struct controller *controller);
/* A self-test that had answered -EINPROGRESS has ended. */
void ctl_end_guard_test(struct controller *controller);
/* Start a self-test if one is due. */
void ctl_test_guard_again(struct controller *controller);
/* The state of the guard as far as it is known; false = there is no BPF backend. */
bool ctl_guard_status(const struct controller *controller, struct guard_status *ret_status);

#endif
