/* SPDX-License-Identifier: Apache-2.0 */
/* How the guard stands in the kernel, as findings and events. */
#ifndef CTL_GUARD_H
#define CTL_GUARD_H

#include "ctl/ports.h"

struct controller;

struct guard {
	uint64_t tested_ns;	   /* when the last self-test began */
	uint64_t testing_since_ns; /* one that goes on; 0 = none */
	/* What of the kernel side's mendings has been told, and since when there was no other. */
	uint64_t told_mended[MENDED_NR], mended_ns[MENDED_NR];
	bool told_release;
	bool was_switched_off; /* as the last tell found it */
	bool is_test_due;      /* before its time: something else is in force than was tested */
};

/* Does it deny what this mode covers, all of it or what the kernel asks it about? */
bool guard_denies(const struct guard_status *status, enum enforcement mode);

/* Tell how it stands. */
void ctl_tell_guard(struct controller *controller);
/* Is it switched off, so that nothing is denied that should be? Then why. */
bool ctl_guard_is_off(const struct controller *controller, char *reason, size_t size);
/* Have the guard try itself, unless it does; then the same. */
void ctl_test_guard(struct controller *controller);
/* A self-test that had answered -EINPROGRESS has ended. */
void ctl_end_guard_test(struct controller *controller);
/* The same when it is time for it. */
void ctl_test_guard_again(struct controller *controller);
/* The guard as it stands and is known to; false = there is no kernel side. */
bool ctl_guard_status(const struct controller *controller, struct guard_status *ret_status);

#endif
