// SPDX-License-Identifier: Apache-2.0
/*
 * The state of the guard: whether it denies, according to its self-test, and what was reverted
 * or could not be.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <pinfold/release.h>

#include "bpf/backend_private.h"
#include "bpf/ftrace.h"
#include "bpf/object_guard.h"
#include "format/words.h"
#include "lib/fdinfo.h"
#include "lib/log.h"

void backend_say_mended(struct bpf_backend *backend, enum guard_mending what, const char *text)
{
	snprintf(backend->status.mended[what], sizeof(backend->status.mended[what]), "%s", text);
	backend->status.nr_mended[what]++;
}

void backend_say_pins(struct bpf_backend *backend, const struct pins_report *report)
{
	if (report->nr_wrong && !report->nr_failed)
		backend_say_mended(backend, MENDED_PINS, report->wrong);
	backend->status.is_unpinned = report->nr_failed > 0;
	snprintf(backend->status.unpinned, sizeof(backend->status.unpinned), "%s", report->failed);
}

/* Can this kernel not have it, so that no operator and no later attempt changes that? */
static bool is_impossible(const struct bpf_backend *backend)
{
	const struct feature_row *row = &backend->objects.rows[BPF_OBJECT_GUARD];

	/* lockdown is an "unknown" of the kernel's features, but no agent can change it either */
	if (probe_locked_down())
		return true;
	if (guard_find_obstacle(&backend->objects.abilities))
		return row->state == FEATURE_NO;
	return guard_is_refusal(-row->error);
}

void backend_begin_status(struct bpf_backend *backend)
{
	const struct feature_row *row = &backend->objects.rows[BPF_OBJECT_GUARD];
	const struct bpf_object_handle *guard = backend_guard(backend);
	int left_out = backend->objects.instances[BPF_OBJECT_GUARD].left_out;

	snprintf(backend->status.mechanism, sizeof(backend->status.mechanism), "%s",
		 guard ? mechanism_name(guard->mechanism) : "");
	backend->status.is_unprotected = left_out;
	if (left_out)
		snprintf(backend->status.unprotected, sizeof(backend->status.unprotected),
			 "the kernel refuses the programs that protect the guard's pins and "
			 "mounts: %s",
			 strerror(-left_out));
	backend->status.state = guard ? GUARD_UNKNOWN : GUARD_INACTIVE;
	backend->status.is_impossible = !guard && is_impossible(backend);
	snprintf(backend->status.reason, sizeof(backend->status.reason), "%s",
		 guard ? "not tested yet" : row->reason);
	snprintf(backend->status.remedy, sizeof(backend->status.remedy), "%s", row->remedy);
}

void backend_note_frozen(struct bpf_backend *backend, int error)
{
	const struct bpf_object_handle *guard = backend_guard(backend);

	for (uint32_t i = 0; error == -EPERM && guard && i < guard->nr_maps; i++)
		if (fdinfo_is(guard->maps[i].fd, "frozen", "1"))
			snprintf(backend->status.frozen_map, sizeof(backend->status.frozen_map),
				 "%s", guard->maps[i].name);
}

/* --- self-test --------------------------------------------------------------------------------- */

static const char *const state_words[GUARD_STATE_NR] = {
	[GUARD_INACTIVE] = "inactive",
	[GUARD_PARTIAL] = "partial",
	[GUARD_ACTIVE] = "active",
	[GUARD_UNKNOWN] = "unknown",
};

static void say_status(struct bpf_backend *backend, enum guard_state state, const char *reason,
		       const char *remedy)
{
	if (backend->status.state != state)
		log_info("guard: %s%s%s", state_words[state], *reason ? ": " : "", reason);
	backend->status.state = state;
	snprintf(backend->status.reason, sizeof(backend->status.reason), "%s", reason);
	snprintf(backend->status.remedy, sizeof(backend->status.remedy), "%s", remedy);
}

/* fmod_ret is as reliable as lsm only if tasks cannot be preempted inside the kernel. */
void backend_update_guard_status(struct bpf_backend *backend)
{
	const char *remedy = backend->objects.abilities.rows[ABILITY_BPF_LSM].remedy;

	if (!strcmp(backend->status.mechanism, "lsm"))
		return say_status(backend, GUARD_ACTIVE, "", "");
	if (backend->status.recursion_misses)
		return say_status(backend, GUARD_PARTIAL,
				  "fmod_ret programs were skipped, so calls were allowed, "
				  "while one was preempted on the same CPU",
				  remedy);
	switch (probe_preemption()) {
	case FEATURE_NO:
		return say_status(backend, GUARD_ACTIVE, "", "");
	case FEATURE_YES:
		return say_status(backend, GUARD_PARTIAL,
				  "attached as fmod_ret on a preemptible kernel: a write is "
				  "allowed while another is preempted on the same CPU",
				  remedy);
	default:
		return say_status(backend, GUARD_PARTIAL,
				  "attached as fmod_ret, and it cannot be read whether the kernel "
				  "is preemptible (debugfs sched/preempt)",
				  remedy);
	}
}

static void say_tested(struct bpf_backend *backend, const char *path, int error_code,
		       const struct selftest_result *found)
{
	char reason[ROW_DETAIL_MAX];

	if (error_code) {
		snprintf(reason, sizeof(reason), "the self-test in %.160s could not be run: %s",
			 path, strerror(-error_code));
		say_status(backend, GUARD_UNKNOWN, reason,
			   "see the log; the test is repeated each minute");
		return;
	}
	if (found->write_denied && found->open_denied) {
		backend_update_guard_status(backend);
		return;
	}
	snprintf(reason, sizeof(reason), "the self-test was not denied (%s%s%s)",
		 found->open_denied ? "" : "open",
		 found->write_denied || found->open_denied ? "" : ", ",
		 found->write_denied ? "" : "write");
	say_status(backend, GUARD_INACTIVE, reason,
		   "boot with bpf in the list of lsm=, or report this kernel");
}

/* A real-time task that preempts others may be in the way for as long as a few attempts take. */
#define ATTEMPTS_MAX 20

static int attempt(struct bpf_backend *backend, const char *path, struct selftest_result *ret_found)
{
	/* what cannot be read excuses nothing */
	backend->misses_before_test = UINT64_MAX;
	backend_recursion_misses(backend, &backend->misses_before_test);
	backend->nr_attempts++;
	return selftest_run(&backend->selftest, path, ret_found);
}

/*
 * Was the last attempt let through while the kernel skipped programs of the guard, which it does on a CPU where
 * another task is preempted in one? That says nothing about the next call. Only fmod_ret programs are skipped.
 */
static bool proves_nothing(const struct bpf_backend *backend, int result,
			   const struct selftest_result *found)
{
	uint64_t misses;

	return !result && !(found->write_denied && found->open_denied) &&
	       backend->nr_attempts < ATTEMPTS_MAX && !backend_recursion_misses(backend, &misses) &&
	       misses > backend->misses_before_test;
}

/* Repeat an attempt that proved nothing. Returns the last result, like selftest_run. */
static int attempt_until_proven(struct bpf_backend *backend, const char *path, int result,
				struct selftest_result *found)
{
	while (proves_nothing(backend, result, found))
		result = attempt(backend, path, found);
	return result;
}

void backend_self_test_ended(void *self, const char *path, int result,
			     const struct selftest_result *found)
{
	struct bpf_backend *backend = self;
	struct selftest_result last = *found;

	result = attempt_until_proven(backend, path, result, &last);
	if (result == -EINPROGRESS)
		return;
	say_tested(backend, path, result, &last);
	if (backend->sink.tested)
		backend->sink.tested(backend->sink.self);
}

int backend_self_test(void *self, const char *test_cgroup)
{
	struct bpf_backend *backend = self;
	struct selftest_result found = {0};
	int r;

	if (!backend_guard(backend))
		return 0;
	backend->nr_attempts = 0;
	r = attempt(backend, test_cgroup, &found);
	r = attempt_until_proven(backend, test_cgroup, r, &found);
	if (r != -EINPROGRESS)
		say_tested(backend, test_cgroup, r, &found);
	return r;
}

void backend_self_test_waits_in(void *self, char *ret_text, size_t size)
{
	const struct bpf_backend *backend = self;

	selftest_waits_in(&backend->selftest, ret_text, size);
}

/* --- report ------------------------------------------------------------------------------------ */

static enum enforcement enforcement_of(__u32 mode)
{
	switch (mode) {
	case GUARD_ENFORCE:
		return ENFORCEMENT_ENFORCE;
	case GUARD_AUDIT:
		return ENFORCEMENT_AUDIT;
	default:
		return ENFORCEMENT_OFF;
	}
}

/* While the sysctl is 0 nothing is denied, whatever the last self-test found. */
static void add_switch(const struct bpf_backend *backend, struct guard_status *status)
{
	static const char off[] = FTRACE_SYSCTL " is 0, which disables the guard's programs";

	if (!backend->switch_error && !ftrace_is_off(FTRACE_FILE))
		return;
	status->state = GUARD_INACTIVE;
	status->is_switched_off = backend->switch_error;
	snprintf(status->remedy, sizeof(status->remedy), "run sysctl " FTRACE_SYSCTL "=1");
	if (backend->switch_error)
		snprintf(status->reason, sizeof(status->reason),
			 "%s, and the agent cannot set it to 1: %s", off,
			 strerror(-backend->switch_error));
	else
		snprintf(status->reason, sizeof(status->reason), "%s", off);
}

/* Reads the modes from the kernel on each call instead of caching them. */
void backend_guard_status(void *self, struct guard_status *ret_status)
{
	const struct bpf_backend *backend = self;
	struct guard_config found;
	int r;

	*ret_status = backend->status;
	if (!backend_guard(backend))
		return;
	r = policy_read(&backend->maps, &found);
	if (r) {
		ret_status->state = GUARD_UNKNOWN;
		ret_status->is_unread = true;
		snprintf(ret_status->reason, sizeof(ret_status->reason),
			 "the guard's configuration cannot be read: %s", strerror(-r));
		return;
	}
	ret_status->released = release_stands(&found);
	ret_status->nr_outages = backend->heartbeat.nr_outages;
	ret_status->outage_ns = backend->heartbeat.outage_ns;
	ret_status->last_outage_ns = backend->heartbeat.last_ns;
	ret_status->last_expired_ns = backend->heartbeat.last_expired_ns;
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		ret_status->modes[aspect] = enforcement_of(guard_mode_of(&found, aspect));
	add_switch(backend, ret_status);
}
