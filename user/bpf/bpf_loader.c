// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bpf/bpf_loader.h"
#include "bpf/meta.h"
#include "bpf/remember.h"
#include "lib/log.h"

static const char *const object_feature_names[OBJECT_FEATURES] = {
	[FEATURE_GUARD] = "guard",
	[FEATURE_WATCH] = "watch",
	[FEATURE_TRACES] = "watch_traces",
	[FEATURE_OBSERVE] = "observe",
};

void bpf_objects_begin(struct bpf_objects *objects)
{
	*objects = (struct bpf_objects){0};
	probe_begin(objects->features);
	for (int i = 0; i < OBJECT_FEATURES; i++) {
		struct feature_row *row = &objects->features[ABILITY_NR + i];

		row->state = FEATURE_UNKNOWN;
		row->error = EINPROGRESS;
		snprintf(row->name, ROW_NAME_MAX, "%s", object_feature_names[i]);
		snprintf(row->reason, sizeof(row->reason), "its programs are being loaded");
		snprintf(row->remedy, sizeof(row->remedy),
			 "run the command again in a few seconds");
	}
}

void bpf_objects_free(struct bpf_objects *objects)
{
	observe_close(objects->observer);
	bpf_object_free(objects->watch);
	bpf_object_free(objects->guard);
}

int bpf_objects_map_fd(const struct bpf_objects *objects, const char *name)
{
	const struct bpf_object_handle *const handles[] = {objects->guard, objects->watch,
							   observe_handle(objects->observer)};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(handles); i++)
		fd = bpf_object_map_fd(handles[i], name);
	return fd;
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

static void say_object(struct bpf_objects *objects, enum object_feature feature, int error,
		       const char *reason)
{
	struct feature_row *row = &objects->features[ABILITY_NR + feature];

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
static void say_no_mechanism(struct bpf_objects *objects)
{
	const struct feature_row *lsm = &objects->features[ABILITY_BPF_LSM];
	struct feature_row *row = &objects->features[ABILITY_NR + FEATURE_GUARD];

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

static void recall(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	char key[REMEMBER_KEY_MAX];

	if (loader->options->identity && !remember_key(loader->options->identity, key))
		remember_load(loader->options->runtime_dir_fd, key, objects->features,
			      &objects->nr_known);
}

/* If the results cannot be saved, the next start only has to probe again. */
static void remember(const struct bpf_loader *loader, const struct bpf_objects *objects)
{
	char key[REMEMBER_KEY_MAX];
	int r;

	if (!loader->options->identity)
		return;
	r = remember_key(loader->options->identity, key);
	if (!r)
		r = remember_save(loader->options->runtime_dir_fd, key, objects->features,
				  objects->nr_known);
	if (r)
		log_debug("bpf: the results of the probes cannot be saved: %s", strerror(-r));
}

/* Probe the abilities before `end` that have not been probed yet. */
static void find_out(const struct bpf_loader *loader, struct bpf_objects *objects, uint32_t end)
{
	uint64_t begin_ms = now_ms();

	if (objects->nr_known >= end)
		return;
	probe_abilities(objects->features, objects->nr_known, end);
	objects->nr_known = end;
	remember(loader, objects);
	say_duration("probing the kernel's features", begin_ms);
}

/*
 * A object could not be put in force although the abilities that it needs were available. If
 * those results came from the file, the kernel may have changed (ftrace switched off, for
 * example), and the table must be correct.
 */
static void ask_again(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	if (loader->options->identity)
		remember_forget(loader->options->runtime_dir_fd);
	probe_begin(objects->features);
	objects->nr_known = 0;
	find_out(loader, objects, ABILITY_NR);
}

/* --- objects ----------------------------------------------------------------------------------------- */

static int load_guard(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	const struct bpf_backend_options *options = loader->options;

	find_out(loader, objects, ABILITY_BPF_LSM + 1);
	if (objects->features[ABILITY_BPF_LSM].state != FEATURE_YES)
		find_out(loader, objects, ABILITY_FMOD_RET + 1);
	return guard_start(objects->features, &loader->sizes, !options->no_clone_guard,
			   options->bpffs_dir, &objects->guard);
}

int bpf_loader_start_guard(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	uint64_t begin_ms = now_ms();
	char reason[ROW_DETAIL_MAX];
	bool remembered;
	int r = pins_mount(loader->options->bpffs_dir);

	if (r > 0)
		log_info("bpf: mounted bpffs for %s", loader->options->bpffs_dir);
	else if (r < 0)
		log_warn(r, "bpf: no bpffs is mounted for %s, ignoring",
			 loader->options->bpffs_dir);
	r = meta_check_pinned(loader->options->bpffs_dir);
	if (r == -ESTALE)
		return r;
	recall(loader, objects);
	remembered = objects->nr_known > 0;
	r = load_guard(loader, objects);
	if (r && r != -ESTALE && remembered) {
		ask_again(loader, objects);
		r = load_guard(loader, objects);
	}
	if (r == -ESTALE)
		return r;
	if (guard_mechanism(objects->features) == MECHANISM_NONE) {
		say_no_mechanism(objects);
	} else {
		snprintf(reason, sizeof(reason),
			 "the guard's programs could not be loaded or attached: %s", strerror(-r));
		say_object(objects, FEATURE_GUARD, r, reason);
	}
	say_duration("the guard", begin_ms);
	return 0;
}

static void say_watch(struct bpf_objects *objects, int error, bool traces)
{
	char reason[ROW_DETAIL_MAX];

	snprintf(reason, sizeof(reason), "the watch's programs could not be loaded or attached: %s",
		 strerror(-error));
	say_object(objects, FEATURE_WATCH, error, reason);
	say_object(objects, FEATURE_TRACES, traces ? 0 : -ENOTSUP,
		   "no fentry and fexit: inotify detects drift, but without the writer's name");
}

static int start_watch(const struct bpf_loader *loader, struct bpf_objects *objects,
		       bool adopt_only)
{
	bool traces = false;
	int r;

	if (objects->watch)
		return 0;
	r = watch_start(objects->features, &loader->sizes, loader->options->bpffs_dir, adopt_only,
			&objects->watch, &traces);
	if (r != -ESTALE && r != -EAGAIN)
		say_watch(objects, r, traces);
	return r;
}

static int start_observe(const struct bpf_loader *loader, struct bpf_objects *objects,
			 bool adopt_only)
{
	const struct observe_setup setup = {
		.pin_dir = loader->options->bpffs_dir,
		.topology = loader->options->topology,
		.max_containers = loader->options->max_containers,
		.mask_words = loader->sizes.mask_words,
		.adopt_only = adopt_only,
	};
	int r;

	if (objects->observer)
		return 0;
	r = observe_open(&setup, &objects->observer);
	if (r != -ESTALE && r != -EAGAIN)
		say_object(objects, FEATURE_OBSERVE, r,
			   "the observer's programs could not be loaded or attached");
	return r;
}

int bpf_loader_adopt_rest(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	/* the watch's programs depend on the abilities */
	int watch = objects->nr_known == ABILITY_NR ? start_watch(loader, objects, true) : -EAGAIN;
	int observe = start_observe(loader, objects, true);

	if (watch == -ESTALE || observe == -ESTALE)
		return -ESTALE;
	return watch || observe ? -EAGAIN : 0;
}

int bpf_loader_start_rest(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	bool remembered = objects->nr_known == ABILITY_NR;
	uint64_t begin_ms = now_ms();
	int watch, observe;

	find_out(loader, objects, ABILITY_NR);
	watch = start_watch(loader, objects, false);
	say_duration("the watch", begin_ms);
	begin_ms = now_ms();
	observe = start_observe(loader, objects, false);
	say_duration("the observer", begin_ms);
	if (watch == -ESTALE || observe == -ESTALE)
		return -ESTALE;
	if ((watch || observe) && remembered)
		ask_again(loader, objects);
	return 0;
}

void bpf_objects_merge(struct bpf_objects *objects, const struct bpf_objects *later)
{
	struct feature_row guard = objects->features[ABILITY_NR + FEATURE_GUARD];

	memcpy(objects->features, later->features, sizeof(objects->features));
	objects->features[ABILITY_NR + FEATURE_GUARD] = guard;
	objects->nr_known = later->nr_known;
	objects->watch = later->watch;
	objects->observer = later->observer;
}
