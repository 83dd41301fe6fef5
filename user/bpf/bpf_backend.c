// SPDX-License-Identifier: Apache-2.0
/*
 * Opens and starts the backend, and combines its files into one port. bpf_loader.c determines
 * which objects are in force. Each can be missing without the others: a missing one is shown in
 * the feature table and does not stop the agent.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <pinfold/release.h>

#include "bpf/admit.h"
#include "bpf/backend_private.h"
#include "bpf/links.h"
#include "bpf/meta.h"
#include "format/words.h"
#include "lib/file.h"
#include "lib/log.h"

#define CGROUP_DIR "/sys/fs/cgroup"

const char *bpf_backend_libbpf(void)
{
	static char version[16];

	snprintf(version, sizeof(version), "%u.%u", libbpf_major_version(), libbpf_minor_version());
	return version;
}

/* --- messages of libbpf --------------------------------------------------------------------------- */

/* Loading doubles as probing, so messages of libbpf are logged at level debug only. */
__attribute__((format(printf, 2, 0))) static int relay_libbpf(enum libbpf_print_level level,
							      const char *format, va_list args)
{
	char line[512];
	size_t len;

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	len = strcspn(line, "\n");
	line[len] = '\0';
	log_debug("%s", line);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------------ */

static uint32_t words_for(const struct cpuset *possible)
{
	int nr = libbpf_num_possible_cpus();
	uint32_t words = possible ? possible->nr_words : 0;

	if (nr > 0 && words < ((uint32_t)nr + 63) / 64)
		words = ((uint32_t)nr + 63) / 64;
	return words ? words : 1;
}

int bpf_backend_open(const struct bpf_backend_options *options, struct bpf_backend **ret_backend)
{
	struct bpf_backend *backend = calloc(1, sizeof(*backend));

	if (!backend)
		return -ENOMEM;
	backend->options = *options;
	if (!backend->options.cgroup_dir)
		backend->options.cgroup_dir = CGROUP_DIR;
	backend->sizes.nr_slots = options->max_containers + 1;
	backend->sizes.mask_words = words_for(options->possible);
	backend->stats_fd = -1;
	backend->files.mounts_fd = -1;
	backend->maps = (struct policy_maps){-1, -1, -1, -1, -1, -1, -1, 0, 0};
	backend_lease_init(backend);
	snprintf(backend->status.reason, sizeof(backend->status.reason), "not started");
	backend->load.done_fd = -1;
	backend->selftest = (struct selftest){
		.pool = options->pool,
		.cgroup_dir = backend->options.cgroup_dir,
		.maps = &backend->maps,
		.set = &backend->set,
		.ended = backend_self_test_ended,
		.self = backend,
	};
	bpf_objects_begin(&backend->objects, &backend->options);
	libbpf_set_print(relay_libbpf);
	*ret_backend = backend;
	return 0;
}

void bpf_backend_close(struct bpf_backend *backend)
{
	if (!backend)
		return;
	load_thread_join(&backend->load, &backend->objects);
	sd_event_source_unref(backend->load_source);
	sd_event_source_unref(backend->source);
	events_close(backend->reader);
	bpf_objects_free(&backend->objects);
	cleanup_close_fd(&backend->load.done_fd);
	cleanup_close_fd(&backend->stats_fd);
	guard_files_close(&backend->files);
	free(backend->slots);
	earlier_groups_fini(&backend->earlier);
	backend_lease_fini(backend);
	free(backend);
}

/* --- start ------------------------------------------------------------------------------------------ */

static void find_maps(struct bpf_backend *backend)
{
	backend->maps = (struct policy_maps){
		.managed = bpf_objects_map_fd(&backend->objects, "managed"),
		.actors = bpf_objects_map_fd(&backend->objects, "actors"),
		.actor_tasks = bpf_objects_map_fd(&backend->objects, "actor_tasks"),
		.config = bpf_objects_map_fd(&backend->objects, "guard_config"),
		.heartbeat = bpf_objects_map_fd(&backend->objects, "guard_heartbeat"),
		.watch_masks = bpf_objects_map_fd(&backend->objects, "watch_masks"),
		.slot_masks = bpf_objects_map_fd(&backend->objects, "slot_masks"),
		.mask_words = backend->sizes.mask_words,
		.nr_slots = backend->sizes.nr_slots,
	};
	backend_lease_use(backend, bpf_objects_map_fd(&backend->objects, "guard_lease"));
}

/*
 * Without a guard of our own, or without rights against it: nobody would give process 1 its lease, and
 * our own writes would be denied. A failure is logged.
 */
static void end_guard(struct bpf_backend *backend)
{
	struct bpf_object_instance *guard = &backend->objects.instances[BPF_OBJECT_GUARD];

	bpf_object_free(guard->handle);
	guard->handle = NULL;
	find_maps(backend);
	guard_end_earlier(backend->options.bpffs_dir);
}

static int start_reading(struct bpf_backend *backend)
{
	int r;

	find_maps(backend);
	if (backend->reader)
		return 0;
	/* the configuration of an earlier agent remains in force until the first policy */
	if (backend->maps.config >= 0) {
		r = policy_read(&backend->maps, &backend->set);
		if (r)
			return log_err(r, "bpf: cannot read the guard's configuration");
		release_end(&backend->set);
		backend_mend_files(backend);
	}
	r = backend_open_reader(backend);
	return r ? log_err(r, "bpf: cannot open the ring buffer of events") : 0;
}

/* "adopted"; "lsm" for one that was loaded and has a mechanism. */
static const char *origin_of(const struct bpf_backend *backend, enum bpf_object_id id)
{
	const struct bpf_object_handle *handle = bpf_objects_handle(&backend->objects, id);

	if (!handle)
		return backend->load.running ? "being loaded" : "absent";
	if (handle->adopted)
		return "adopted";
	return handle->mechanism == MECHANISM_NONE ? "loaded" : mechanism_name(handle->mechanism);
}

/* "bpf: guard lsm, watch adopted, observe being loaded" */
static void say_objects(const struct bpf_backend *backend)
{
	char line[128] = "";
	size_t len = 0;

	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++)
		if (bpf_object_row(id) && len < sizeof(line))
			len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%s %s",
						len ? ", " : "", bpf_object_name(id),
						origin_of(backend, id));
	log_info("bpf: %s", line);
}

static int say_newer(const struct bpf_backend *backend)
{
	log_err(0,
		"bpf: pins below %s belong to a newer pinfold that does not permit a downgrade to "
		"this version (ABI %d) and are not changed; start that version, or remove them with pinfoldd --uninstall",
		backend->options.bpffs_dir, ABI_VERSION);
	return -EPROTO;
}

static struct bpf_loader loader_of(const struct bpf_backend *backend)
{
	return (struct bpf_loader){.options = &backend->options, .sizes = backend->sizes};
}

static int start_objects(struct bpf_backend *backend)
{
	const struct bpf_loader loader = loader_of(backend);
	int r;

	backend_mend_switch(backend);
	r = bpf_loader_start_awaited(&loader, &backend->objects);
	if (!r && !backend_guard(backend))
		end_guard(backend);
	if (!r)
		backend_begin_status(backend);
	if (!r)
		r = bpf_loader_adopt_rest(&loader, &backend->objects);
	if (r == -EAGAIN)
		r = backend->options.load_later
			    ? load_thread_begin(&backend->load, &loader, &backend->objects)
			    : bpf_loader_start_rest(&loader, &backend->objects);
	if (r == -ESTALE)
		return say_newer(backend);
	if (!r)
		r = start_reading(backend);
	if (r)
		return r;
	backend_say_inherited(backend);
	if (backend->options.measure_cost)
		backend->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	say_objects(backend);
	return 0;
}

static int start(void *self)
{
	struct bpf_backend *backend = self;
	int r = start_objects(backend);

	/* A newer version's guard is its own business: the agent does not start. */
	if (r && r != -EPROTO)
		end_guard(backend);
	return r;
}

static int enter_actor(void *self)
{
	int r = backend_enter_actor(self);

	if (r)
		end_guard(self);
	return r;
}

/* --- the port ------------------------------------------------------------------------------------- */

static uint32_t get_features(void *self, const struct feature_row **ret_rows)
{
	struct bpf_backend *backend = self;

	*ret_rows = backend->features;
	return bpf_objects_features(&backend->objects, backend->features);
}

struct kernel_port bpf_backend_port(struct bpf_backend *backend)
{
	return (struct kernel_port){
		.self = backend,
		.start = start,
		.enter_actor = enter_actor,
		.publish = backend_publish,
		.self_test = backend_self_test,
		.self_test_waits_in = backend_self_test_waits_in,
		.guard_status = backend_guard_status,
		.usage = backend_usage,
		.latency = backend_latency,
		.tick = backend_tick,
		.features = get_features,
		.programs = backend_programs,
		.list = backend_list,
		.hook_counts = backend_hook_counts,
		.events_lost = backend_events_lost,
		.observer_space = backend_observer_space,
		.groups_left_out = backend_groups_left_out,
	};
}

struct lease_port bpf_backend_lease_port(struct bpf_backend *backend)
{
	return (struct lease_port){.self = backend, .set = backend_set_lease};
}

/*
 * Where there is no guard, the watch is the first that asks who the agent is: it would report our own
 * moves, and they would be undone. Its programs report nothing before the policy that follows.
 */
static int enter_watch(struct bpf_backend *backend, bool knew_us)
{
	int r = knew_us || backend->maps.actor_tasks < 0
			? 0
			: policy_enter_agent(&backend->maps, getpid());

	return r ? log_err(r, "bpf: enter the agent among the actors; no events are read") : 0;
}

static int on_loaded(sd_event_source *source, int fd, uint32_t events, void *self)
{
	struct bpf_backend *backend = self;
	const bool knew_us = backend->maps.actor_tasks >= 0;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (!load_thread_end(&backend->load, &backend->objects))
		return 0;
	if (backend->load.result == -ESTALE)
		say_newer(backend);
	backend_say_inherited(backend);
	if (!start_reading(backend) && !enter_watch(backend, knew_us))
		backend_listen(backend);
	say_objects(backend);
	if (backend->sink.completed)
		backend->sink.completed(backend->sink.self);
	return 0;
}

int bpf_backend_watch(struct bpf_backend *backend, struct sd_event *event,
		      const struct kernel_sink *sink)
{
	int r;

	backend->sink = *sink;
	backend->event = event;
	if (backend->load.running) {
		r = sd_event_add_io(event, &backend->load_source, backend->load.done_fd, EPOLLIN,
				    on_loaded, backend);
		if (r < 0)
			return log_err(
				r,
				"bpf: cannot wait for the BPF objects watch and observe to be loaded");
	}
	return backend_listen(backend);
}

/* --- removal ----------------------------------------------------------------------------------------------- */

int guard_release(const char *bpffs_dir)
{
	int r = admit_to_pinned(bpffs_dir);

	return r ? r : links_release(bpffs_dir, bpf_object_name(BPF_OBJECT_GUARD));
}

int guard_end_earlier(const char *bpffs_dir)
{
	int meta_fd cleanup_close = -1;
	int r;

	if (!links_any(bpffs_dir, bpf_object_name(BPF_OBJECT_GUARD)))
		return 0;
	r = guard_release(bpffs_dir);
	if (r)
		return log_err(r,
			       "bpf: cannot end the guard pinned below %s, which denies what this "
			       "agent does; stop pinfoldd and run pinfoldd --uninstall",
			       bpffs_dir);
	/* The next agent is not to take the missing pins for somebody else's doing. */
	r = meta_open_pinned(bpffs_dir, &meta_fd);
	if (!r)
		r = meta_clear(meta_fd, BPF_OBJECT_GUARD);
	if (r && r != -ENOENT)
		log_warn(
			r,
			"bpf: cannot record that no guard is pinned, so the next start may report lost pins");
	log_warn(0, "bpf: the agent ended the guard pinned below %s, which would deny what it does",
		 bpffs_dir);
	return 0;
}

int bpf_backend_remove(const char *bpffs_dir)
{
	int r = admit_to_remove(bpffs_dir);

	if (r)
		return r;
	/*
	 * The kernel ends programs some time after their pins are gone, and another pin may hold them.
	 * What cannot be removed here, pins_remove() reports.
	 */
	if (links_release(bpffs_dir, bpf_object_name(BPF_OBJECT_GUARD)) == -EBUSY)
		log_warn(0, "bpf: programs of the guard have not ended yet, and record for some "
			    "seconds more what is done to cgroups");
	return pins_remove(bpffs_dir);
}
