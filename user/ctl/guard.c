// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel side finds of the guard, told: whether it denies, whether an
 * operator has released it, and what somebody else changed that was put right.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"

static const struct {
	const char *finding, *message, *remedy; /* the message is followed by what differed */
} mendings[MENDED_NR] = {
	[MENDED_CONFIG] = {"guard_changed",
			   "somebody changed the guard in the kernel; the agent put it back",
			   "find out who writes to the pinned maps; to release the guard use "
			   "`pinfold guard release`"},
	[MENDED_PINS] = {"guard_pins",
			 "somebody changed pins of the BPF programs; the agent put them back",
			 "find out who changes what is below /sys/fs/bpf; without its pins the "
			 "guard would have ended with the agent"},
};

static void tell_mended(struct controller *controller, const struct guard_status *status,
			enum guard_mending what)
{
	const char *name = mendings[what].finding;
	char message[ROW_DETAIL_MAX];
	uint64_t now = now_ns(controller);

	if (status->nr_mended[what] == controller->told_mended[what]) {
		if (now - controller->mended_ns[what] >= MENDED_TOLD_NS)
			controller_clear_finding(controller, name);
		return;
	}
	controller->told_mended[what] = status->nr_mended[what];
	controller->mended_ns[what] = now;
	snprintf(message, sizeof(message), "%s: %.200s", mendings[what].message,
		 status->mended[what]);
	controller_finding(controller, name, message, mendings[what].remedy);
	controller_note(controller, "finding", message);
	/* whoever wrote one map may have written others, which are not read back */
	if (what == MENDED_CONFIG && controller->started)
		publish_policy(controller);
}

static void tell_release(struct controller *controller, const struct guard_status *status)
{
	static const char name[] = "guard_released";

	if (!status->released) {
		if (controller->told_release)
			controller_note(controller, "release",
					"the release of the guard has ended");
		controller->told_release = false;
		controller_clear_finding(controller, name);
		return;
	}
	if (!controller->told_release)
		controller_note(controller, "release",
				"an operator has released the guard: nothing is denied");
	controller->told_release = true;
	controller_finding(
		controller, name,
		"an operator has released the guard (`pinfold guard release`): what it "
		"would deny is only recorded",
		"take the release back with `pinfold guard arm`; a reload or a restart of "
		"pinfoldd ends it too");
}

void look_at_guard(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	struct guard_status status;

	if (!kernel)
		return;
	kernel->guard_status(kernel->self, &status);
	if (status.state == GUARD_ACTIVE)
		controller_clear_finding(controller, "guard_not_active");
	else
		controller_finding(controller, "guard_not_active", status.reason, status.remedy);
	tell_release(controller, &status);
	for (enum guard_mending what = 0; what < MENDED_NR; what++)
		tell_mended(controller, &status, what);
	if (*status.unpinned)
		controller_finding(controller, "guard_not_pinned", status.unpinned,
				   "mount bpffs at /sys/fs/bpf (mount -t bpf bpf /sys/fs/bpf); the "
				   "agent pins again within a second");
	else
		controller_clear_finding(controller, "guard_not_pinned");
}

void test_guard(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	char path[GROUP_PATH_MAX];

	controller->last_self_test_ns = now_ns(controller);
	if (!kernel)
		return;
	snprintf(path, sizeof(path), "%s/%s", controller->layout.root, SELF_TEST_GROUP);
	kernel->self_test(kernel->self, path);
	look_at_guard(controller);
}
