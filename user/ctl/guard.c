// SPDX-License-Identifier: Apache-2.0
/*
 * Reports the state of the guard as the BPF backend finds it: whether it denies, whether an
 * operator has released it, and which changes by other processes were reverted.
 */
#include <errno.h>
#include <stdio.h>

#include "ctl/guard.h"
#include "ctl/internal.h"
#include "format/words.h"

#define SELF_TEST_NS (60ULL * 1000000000ULL)
/* The finding remains for this long after the last change by another process. */
#define MENDED_TOLD_NS (15ULL * 60 * 1000000000ULL)

static const struct {
	enum finding finding;
	const char *message, *remedy; /* the message is followed by what differed */
} mendings[MENDED_NR] = {
	[MENDED_CONFIG] =
		{FINDING_GUARD_CHANGED,
		 "another process changed the guard in the kernel; the agent reverted it",
		 "find out which process writes to the pinned maps or to the sysctl named "
		 "here; use `pinfold guard release` to release the guard"},
	[MENDED_PINS] =
		{FINDING_GUARD_PINS,
		 "another process changed pins of the BPF programs; the agent restored them",
		 "find out which process changes /sys/fs/bpf; without its pins the guard "
		 "ends when the agent ends"},
};

static void tell_mended(struct controller *controller, const struct guard_status *status,
			enum guard_mending what)
{
	struct event_record event = EVENT_RECORD(EVENT_FINDING);
	const enum finding kind = mendings[what].finding;
	uint64_t now = clock_now_ns(controller->ports.clock);

	if (status->nr_mended[what] == controller->guard.told_mended[what]) {
		if (now - controller->guard.mended_ns[what] >= MENDED_TOLD_NS)
			findings_clear(&controller->findings, kind);
		return;
	}
	controller->guard.told_mended[what] = status->nr_mended[what];
	controller->guard.mended_ns[what] = now;
	snprintf(event.finding, sizeof(event.finding), "%s: %.200s", mendings[what].message,
		 status->mended[what]);
	findings_put(&controller->findings, kind, mendings[what].remedy, "%s", event.finding);
	event_log_record(&controller->events, &event);
	controller->guard.is_test_due |= what == MENDED_CONFIG;
	/* A process that wrote one map may have written others, which are not read back. */
	if (what == MENDED_CONFIG && controller->started)
		ctl_publish(controller);
}

static void word_outage(const struct guard_status *status, char *text, size_t size)
{
	const uint64_t second = 1000000000ULL;
	int len = snprintf(text, size, "the agent stood still for %llu s",
			   (unsigned long long)(status->last_outage_ns / second));

	if (status->last_expired_ns)
		snprintf(text + len, size - (size_t)len,
			 ", of which the guard only recorded for %llu s (guardExpiry)",
			 (unsigned long long)(status->last_expired_ns / second));
	else
		snprintf(text + len, size - (size_t)len, "; the guard stayed in force");
}

static void tell_outage(struct controller *controller, const struct guard_status *status)
{
	const enum finding kind = FINDING_AGENT_OUTAGE;
	struct event_record event = EVENT_RECORD(EVENT_FINDING);
	uint64_t now = clock_now_ns(controller->ports.clock);

	if (status->nr_outages == controller->guard.told_outages) {
		if (now - controller->guard.outage_told_ns >= MENDED_TOLD_NS)
			findings_clear(&controller->findings, kind);
		return;
	}
	controller->guard.told_outages = status->nr_outages;
	controller->guard.outage_told_ns = now;
	word_outage(status, event.finding, sizeof(event.finding));
	findings_put(&controller->findings, kind,
		     "find out who stops, freezes or throttles pinfoldd, or what keeps the node "
		     "from running it",
		     "%s", event.finding);
	event_log_record(&controller->events, &event);
}

static void tell_release(struct controller *controller, const struct guard_status *status)
{
	struct event_record event = EVENT_RECORD(EVENT_GUARD_RELEASE);

	if (status->released != controller->guard.told_release) {
		event.is_released = status->released;
		event_log_record(&controller->events, &event);
	}
	controller->guard.told_release = status->released;
	findings_put_if(&controller->findings, FINDING_GUARD_RELEASED, status->released,
			"end the release with `pinfold guard arm`; a reload or a restart of "
			"pinfoldd also ends it",
			"an operator has released the guard (`pinfold guard release`): it denies "
			"nothing and only records violations");
}

/* While a self-test is overdue, the result of the previous one is not reported as current. */
bool ctl_guard_status(const struct controller *controller, struct guard_status *ret_status)
{
	const struct kernel_port *kernel = controller->ports.kernel;

	if (!kernel)
		return false;
	kernel->guard_status(kernel->self, ret_status);
	if (ret_status->state == GUARD_INACTIVE || !controller->guard.testing_since_ns ||
	    clock_now_ns(controller->ports.clock) - controller->guard.testing_since_ns <
		    WAIT_DEADLINE_NS)
		return true;
	ret_status->state = GUARD_UNKNOWN;
	snprintf(ret_status->reason, sizeof(ret_status->reason),
		 "it is unknown whether the guard denies: its self-test is blocked in the kernel");
	snprintf(ret_status->remedy, sizeof(ret_status->remedy),
		 "the finding operation_waiting names the place; the programs remain in force");
	return true;
}

static void word_frozen(const struct guard_status *status, char *text, size_t size)
{
	snprintf(text, size,
		 "another process froze the BPF map %s: the guard remains in force, but no change "
		 "reaches it",
		 status->frozen_map);
}

static void tell_frozen(struct controller *controller, const struct guard_status *status)
{
	char text[ROW_DETAIL_MAX];

	word_frozen(status, text, sizeof(text));
	findings_put_if(&controller->findings, FINDING_GUARD_FROZEN, *status->frozen_map,
			"restart pinfoldd, which replaces the map and its programs without a gap",
			"%s", text);
}

static bool is_observing(const struct controller *controller)
{
	return !run_mode_writes(controller->options.config->mode);
}

static void tell_unprotected(struct controller *controller, const struct guard_status *status)
{
	const struct config *config = controller->options.config;

	findings_put_if(&controller->findings, FINDING_GUARD_FILES_UNPROTECTED,
			status->is_unprotected &&
				config_guard_mode(config, ASPECT_GUARD_FILES) != ENFORCEMENT_OFF,
			"report this kernel, or set enforcement.guardFiles to off; while the "
			"agent runs, it reverts changes of the pins",
			"%s", status->unprotected);
}

/* --- readiness ----------------------------------------------------------------------------------- */

/* Where nothing is to be denied, a guard that denies nothing breaks no promise. */
static bool is_to_deny(const struct config *config)
{
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		if (config_guard_mode(config, aspect) == ENFORCEMENT_ENFORCE)
			return true;
	return false;
}

static bool is_in_mode(const struct config *config, const struct guard_status *status,
		       enum aspect aspect)
{
	/* without its programs the protection of the guard's files is off: a finding reports that */
	return status->modes[aspect] == config_guard_mode(config, aspect) ||
	       (aspect == ASPECT_GUARD_FILES && status->is_unprotected);
}

/* "affinity audit instead of enforce, debugging off instead of audit"; false = there is none. */
static bool word_other_modes(const struct config *config, const struct guard_status *status,
			     char *text, size_t size)
{
	size_t len = 0;

	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++) {
		if (is_in_mode(config, status, aspect))
			continue;
		if (len < size)
			len += (size_t)snprintf(
				text + len, size - len, "%s%s %s instead of %s", len ? ", " : "",
				aspect_option(aspect), enforcement_name(status->modes[aspect]),
				enforcement_name(config_guard_mode(config, aspect)));
	}
	return len > 0;
}

bool ctl_lacks_guard(const struct controller *controller, char *reason, size_t size)
{
	const struct config *config = controller->options.config;
	bool denies = is_to_deny(config);
	struct guard_status status;
	char modes[ROW_DETAIL_MAX];

	if (!ctl_guard_status(controller, &status)) {
		if (!controller->guard.is_lost || !denies)
			return false;
		snprintf(reason, size,
			 "the guard is to deny, but the BPF programs could not be loaded");
	} else if (*status.frozen_map) {
		word_frozen(&status, reason, size);
	} else if (status.released && denies) {
		snprintf(reason, size,
			 "an operator has released the guard, so it denies nothing: end the "
			 "release with `pinfold guard arm`");
	} else if (status.state == GUARD_INACTIVE) {
		if (status.is_impossible || !denies)
			return false;
		snprintf(reason, size, "%s", status.reason);
	} else if (status.is_unread) {
		snprintf(reason, size, "%s", status.reason);
	} else if (word_other_modes(config, &status, modes, sizeof(modes))) {
		snprintf(reason, size, "the guard is not in the mode asked for: %s", modes);
	} else {
		return false;
	}
	return true;
}

void guard_lose(struct guard *guard)
{
	guard->is_lost = true;
}

/* --- what it denies, and its self-test ------------------------------------------------------------ */

bool guard_denies(const struct guard_status *status, enum enforcement mode)
{
	return (status->state == GUARD_ACTIVE || status->state == GUARD_PARTIAL) &&
	       mode == ENFORCEMENT_ENFORCE;
}

void ctl_tell_guard(struct controller *controller)
{
	struct guard_status status;

	if (!ctl_guard_status(controller, &status))
		return;
	/* Mode observe denies nothing, so a guard that does not deny is not a finding there. */
	findings_put_if(&controller->findings, FINDING_GUARD_NOT_ACTIVE,
			status.state != GUARD_ACTIVE && !is_observing(controller), status.remedy,
			"%s", status.reason);
	/* When the guard is on again, the result of a test made while it was off is outdated. */
	controller->guard.is_test_due |= controller->guard.was_switched_off &&
					 !status.is_switched_off;
	controller->guard.was_switched_off = status.is_switched_off;
	tell_release(controller, &status);
	tell_frozen(controller, &status);
	tell_unprotected(controller, &status);
	tell_outage(controller, &status);
	for (enum guard_mending what = 0; what < MENDED_NR; what++)
		tell_mended(controller, &status, what);
	findings_put_if(&controller->findings, FINDING_GUARD_NOT_PINNED, status.is_unpinned,
			"mount bpffs at /sys/fs/bpf (mount -t bpf bpf /sys/fs/bpf); the "
			"agent then pins them within a second",
			"%s", status.unpinned);
}

void ctl_test_guard(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	char path[GROUP_PATH_MAX];

	if (controller->guard.testing_since_ns)
		return;
	controller->guard.tested_ns = clock_now_ns(controller->ports.clock);
	controller->guard.is_test_due = false;
	if (!kernel)
		return;
	/* The test makes a cgroup and writes to it, which an observer never does. */
	if (is_observing(controller)) {
		ctl_tell_guard(controller);
		return;
	}
	lookup_self_test(&controller->layout, path);
	if (kernel->self_test(kernel->self, path) == -EINPROGRESS)
		controller->guard.testing_since_ns = clock_now_ns(controller->ports.clock);
	ctl_tell_guard(controller);
}

void ctl_test_guard_again(struct controller *controller)
{
	uint64_t now = clock_now_ns(controller->ports.clock);

	if (controller->guard.is_test_due || now - controller->guard.tested_ns >= SELF_TEST_NS)
		ctl_test_guard(controller);
}

void ctl_end_guard_test(struct controller *controller)
{
	controller->guard.testing_since_ns = 0;
	ctl_tell_guard(controller);
	ctl_tell_waits(controller);
}
