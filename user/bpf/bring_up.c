// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bpf/bring_up.h"
#include "bpf/meta.h"
#include "bpf/remember.h"
#include "lib/log.h"

static const char *const part_feature_names[PART_FEATURES] = {
	[FEATURE_GUARD] = "guard",
	[FEATURE_WATCH] = "watch",
	[FEATURE_TRACES] = "watch_traces",
	[FEATURE_OBSERVE] = "observe",
};

void parts_begin(struct parts *parts)
{
	*parts = (struct parts){0};
	probe_begin(parts->features);
	for (int i = 0; i < PART_FEATURES; i++) {
		struct feature_row *row = &parts->features[ABILITY_NR + i];

		row->state = FEATURE_UNKNOWN;
		row->error = EINPROGRESS;
		snprintf(row->name, ROW_NAME_MAX, "%s", part_feature_names[i]);
		snprintf(row->reason, sizeof(row->reason), "its programs are being loaded");
		snprintf(row->remedy, sizeof(row->remedy),
			 "run the command again in a few seconds");
	}
}

void parts_free(struct parts *parts)
{
	observe_close(parts->observer);
	part_free(parts->watch);
	part_free(parts->guard);
}

/* --- reasons and remedies ------------------------------------------------------------------------ */

/*
 * In lockdown mode confidentiality programs may not call bpf_probe_read_kernel. It shows only
 * as a program that the verifier rejects (6.1 to 7.2), so the errno is misleading.
 */
static void say_locked_down(struct feature_row *row)
{
	row->state = FEATURE_UNKNOWN;
	row->error = EPERM;
	snprintf(row->reason, sizeof(row->reason),
		 "the kernel is in lockdown mode confidentiality, in which BPF programs may not "
		 "read kernel memory");
	snprintf(row->remedy, sizeof(row->remedy),
		 "boot without lockdown=confidentiality (lockdown=integrity is sufficient); the "
		 "agent still applies and repairs cpusets");
}

static void say_part(struct parts *parts, enum part_feature feature, int error, const char *reason)
{
	struct feature_row *row = &parts->features[ABILITY_NR + feature];

	if (error && probe_locked_down())
		return say_locked_down(row);
	row->state = error ? FEATURE_NO : FEATURE_YES;
	if (error == -EPERM || error == -EACCES)
		row->state = FEATURE_UNKNOWN;
	row->error = -error;
	snprintf(row->reason, sizeof(row->reason), "%s", error ? reason : "");
	snprintf(row->remedy, sizeof(row->remedy), "%s",
		 error ? "see the missing features above, and the log at level debug" : "");
}

/* Without a mechanism to attach, the rows of the abilities have the reason and the remedy. */
static void say_no_mechanism(struct parts *parts)
{
	const struct feature_row *lsm = &parts->features[ABILITY_BPF_LSM];
	struct feature_row *row = &parts->features[ABILITY_NR + FEATURE_GUARD];

	row->state = lsm->state == FEATURE_UNKNOWN ? FEATURE_UNKNOWN : FEATURE_NO;
	row->error = lsm->error;
	memcpy(row->reason, lsm->reason, sizeof(row->reason));
	memcpy(row->remedy, lsm->remedy, sizeof(row->remedy));
}

/* --- abilities ------------------------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void say_duration(const char *what, uint64_t begin_ms)
{
	log_debug("bpf: %s took %llu ms", what, (unsigned long long)(now_ms() - begin_ms));
}

static void recall(const struct bring_up *task, struct parts *parts)
{
	char key[REMEMBER_KEY_MAX];

	if (task->options->identity && !remember_key(task->options->identity, key))
		remember_load(task->options->runtime_dir_fd, key, parts->features,
			      &parts->nr_known);
}

/* If the results cannot be saved, the next start only has to probe again. */
static void remember(const struct bring_up *task, const struct parts *parts)
{
	char key[REMEMBER_KEY_MAX];
	int r;

	if (!task->options->identity)
		return;
	r = remember_key(task->options->identity, key);
	if (!r)
		r = remember_save(task->options->runtime_dir_fd, key, parts->features,
				  parts->nr_known);
	if (r)
		log_debug("bpf: the results of the probes cannot be saved: %s", strerror(-r));
}

/* Probe the abilities before `end` that have not been probed yet. */
static void find_out(const struct bring_up *task, struct parts *parts, uint32_t end)
{
	uint64_t begin_ms = now_ms();

	if (parts->nr_known >= end)
		return;
	probe_abilities(parts->features, parts->nr_known, end);
	parts->nr_known = end;
	remember(task, parts);
	say_duration("probing the kernel's features", begin_ms);
}

/*
 * A part could not be put in force although the abilities that it needs were available. If
 * those results came from the file, the kernel may have changed (ftrace switched off, for
 * example), and the table must be correct.
 */
static void ask_again(const struct bring_up *task, struct parts *parts)
{
	if (task->options->identity)
		remember_forget(task->options->runtime_dir_fd);
	probe_begin(parts->features);
	parts->nr_known = 0;
	find_out(task, parts, ABILITY_NR);
}

/* --- parts ----------------------------------------------------------------------------------------- */

static int load_guard(const struct bring_up *task, struct parts *parts)
{
	const struct bpf_backend_options *options = task->options;

	find_out(task, parts, ABILITY_BPF_LSM + 1);
	if (parts->features[ABILITY_BPF_LSM].state != FEATURE_YES)
		find_out(task, parts, ABILITY_FMOD_RET + 1);
	return guard_bring_up(parts->features, &task->sizes, !options->no_clone_guard,
			      options->bpffs_dir, &parts->guard);
}

int bring_up_guard(const struct bring_up *task, struct parts *parts)
{
	uint64_t begin_ms = now_ms();
	char reason[ROW_DETAIL_MAX];
	bool remembered;
	int r = pins_mount(task->options->bpffs_dir);

	if (r > 0)
		log_info("bpf: mounted bpffs for %s", task->options->bpffs_dir);
	else if (r < 0)
		log_warn(r, "bpf: no bpffs is mounted for %s, ignoring", task->options->bpffs_dir);
	r = meta_check_pinned(task->options->bpffs_dir);
	if (r == -ESTALE)
		return r;
	recall(task, parts);
	remembered = parts->nr_known > 0;
	r = load_guard(task, parts);
	if (r && r != -ESTALE && remembered) {
		ask_again(task, parts);
		r = load_guard(task, parts);
	}
	if (r == -ESTALE)
		return r;
	if (guard_mechanism(parts->features) == MECHANISM_NONE) {
		say_no_mechanism(parts);
	} else {
		snprintf(reason, sizeof(reason),
			 "the guard's programs could not be loaded or attached: %s", strerror(-r));
		say_part(parts, FEATURE_GUARD, r, reason);
	}
	say_duration("the guard", begin_ms);
	return 0;
}

static void say_watch(struct parts *parts, int error, bool traces)
{
	char reason[ROW_DETAIL_MAX];

	snprintf(reason, sizeof(reason), "the watch's programs could not be loaded or attached: %s",
		 strerror(-error));
	say_part(parts, FEATURE_WATCH, error, reason);
	say_part(parts, FEATURE_TRACES, traces ? 0 : -ENOTSUP,
		 "no fentry and fexit: inotify detects drift, but without the writer's name");
}

static int start_watch(const struct bring_up *task, struct parts *parts, bool adopt_only)
{
	bool traces = false;
	int r;

	if (parts->watch)
		return 0;
	r = watch_bring_up(parts->features, &task->sizes, task->options->bpffs_dir, adopt_only,
			   &parts->watch, &traces);
	if (r != -ESTALE && r != -EAGAIN)
		say_watch(parts, r, traces);
	return r;
}

static int start_observe(const struct bring_up *task, struct parts *parts, bool adopt_only)
{
	const struct observe_setup setup = {
		.pin_dir = task->options->bpffs_dir,
		.topology = task->options->topology,
		.max_containers = task->options->max_containers,
		.mask_words = task->sizes.mask_words,
		.adopt_only = adopt_only,
	};
	int r;

	if (parts->observer)
		return 0;
	r = observe_open(&setup, &parts->observer);
	if (r != -ESTALE && r != -EAGAIN)
		say_part(parts, FEATURE_OBSERVE, r,
			 "the observer's programs could not be loaded or attached");
	return r;
}

int adopt_rest(const struct bring_up *task, struct parts *parts)
{
	/* the watch's programs depend on the abilities */
	int watch = parts->nr_known == ABILITY_NR ? start_watch(task, parts, true) : -EAGAIN;
	int observe = start_observe(task, parts, true);

	if (watch == -ESTALE || observe == -ESTALE)
		return -ESTALE;
	return watch || observe ? -EAGAIN : 0;
}

int bring_up_rest(const struct bring_up *task, struct parts *parts)
{
	bool remembered = parts->nr_known == ABILITY_NR;
	uint64_t begin_ms = now_ms();
	int watch, observe;

	find_out(task, parts, ABILITY_NR);
	watch = start_watch(task, parts, false);
	say_duration("the watch", begin_ms);
	begin_ms = now_ms();
	observe = start_observe(task, parts, false);
	say_duration("the observer", begin_ms);
	if (watch == -ESTALE || observe == -ESTALE)
		return -ESTALE;
	if ((watch || observe) && remembered)
		ask_again(task, parts);
	return 0;
}

void parts_merge(struct parts *parts, const struct parts *later)
{
	struct feature_row guard = parts->features[ABILITY_NR + FEATURE_GUARD];

	memcpy(parts->features, later->features, sizeof(parts->features));
	parts->features[ABILITY_NR + FEATURE_GUARD] = guard;
	parts->nr_known = later->nr_known;
	parts->watch = later->watch;
	parts->observer = later->observer;
}
