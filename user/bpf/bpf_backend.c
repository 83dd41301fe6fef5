// SPDX-License-Identifier: Apache-2.0
/*
 * Combines the objects behind one port. bpf_loader.c determines which objects are in force; this
 * file publishes policies to them and reports from them. Each object can be missing without the
 * others. A missing object is shown in the feature table and does not stop the agent.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <pinfold/abi.h>

#include "bpf/bpf_backend.h"
#include "bpf/bpf_loader.h"
#include "bpf/events.h"
#include "bpf/ftrace.h"
#include "bpf/in_force.h"
#include "bpf/policy.h"
#include "bpf/selftest.h"
#include "lib/fdinfo.h"
#include "lib/file.h"
#include "lib/log.h"

#define CGROUP_DIR  "/sys/fs/cgroup"
#define ONLINE_FILE "/sys/devices/system/cpu/online"

static const char *const hook_names[HOOK_NR] = {
	[HOOK_FILE_PERMISSION] = "file_permission",
	[HOOK_FILE_OPEN] = "file_open",
	[HOOK_INODE_PERMISSION] = "inode_permission",
	[HOOK_INODE_MKDIR] = "inode_mkdir",
	[HOOK_INODE_RMDIR] = "inode_rmdir",
	[HOOK_TASK_SETSCHEDULER] = "task_setscheduler",
};

#define PROGRAMS_MAX (3 * BPF_OBJECT_PROGRAMS_MAX)

/*
 * State of the thread that loads watch and observer. Only the thread accesses it until it has
 * ended; afterwards only the rest of the agent does.
 */
struct later {
	struct bpf_loader loader;
	struct bpf_objects objects; /* begun as a copy; objects that existed before are borrowed */
	int result;
	int done_fd; /* eventfd, readable when the thread is about to end */
	bool running;
	pthread_t thread;
};

struct bpf_backend {
	struct bpf_backend_options options;
	struct bpf_object_sizes sizes;
	struct bpf_objects objects;
	struct later later;
	struct policy_maps maps;
	struct guard_config
		set; /* the configuration last set, without a release; compared each second */
	struct event_reader *reader;
	struct kernel_sink sink; /* the function is NULL until bpf_backend_watch is called */
	struct sd_event *event;	 /* borrowed; NULL until bpf_backend_watch is called */
	sd_event_source *source, *later_source;
	struct selftest selftest;
	struct guard_status status;
	int switch_error;  /* errno of setting kernel.ftrace_enabled to 1; 0 = it is 1 */
	int config_error;  /* errno of restoring the guard's configuration; 0 = none */
	int publish_error; /* result of the last publication */
	struct prog_row programs[PROGRAMS_MAX];
	struct hook_count hooks[HOOK_NR];
	uint32_t *slots; /* for each group of the policy that is being published */
	int stats_fd;	 /* keeps run time statistics enabled, or -1 */
};

static void self_test_ended(void *self, const char *path, int result,
			    const struct selftest_result *found);

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

/* --- objects loaded after the start --------------------------------------------------------------- */

static void *load_rest(void *self)
{
	struct later *later = self;
	const uint64_t one = 1;

	later->result = bpf_loader_start_rest(&later->loader, &later->objects);
	if (write(later->done_fd, &one, sizeof(one)) != sizeof(one))
		log_warn(-errno, "bpf: tell that watch and observe are loaded, ignoring");
	return NULL;
}

/* Loading takes seconds under emulation; the agent must enforce and answer meanwhile. */
static int begin_later(struct bpf_backend *backend)
{
	struct later *later = &backend->later;
	int r;

	later->loader = (struct bpf_loader){.options = &backend->options, .sizes = backend->sizes};
	later->objects = backend->objects;
	later->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (later->done_fd < 0)
		return log_err(-errno, "bpf: eventfd");
	r = pthread_create(&later->thread, NULL, load_rest, later);
	later->running = !r;
	if (!r)
		return 0;
	log_warn(-r, "bpf: no thread to load watch and observe, loading them first");
	return bpf_loader_start_rest(&later->loader, &backend->objects);
}

static void take_later(struct bpf_backend *backend)
{
	backend->later.running = false;
	bpf_objects_merge(&backend->objects, &backend->later.objects);
	/* the kernel's types, some MiB, were allocated in an arena of this thread */
	malloc_trim(0);
}

/*
 * Take over the objects of the thread, which has signalled its end and accesses nothing any
 * more. The thread is not joined, because its exit may wait for another process that moves
 * tasks.
 */
static bool end_later(struct bpf_backend *backend)
{
	uint64_t told;

	if (!backend->later.running || read(backend->later.done_fd, &told, sizeof(told)) < 0)
		return false;
	pthread_detach(backend->later.thread);
	take_later(backend);
	return true;
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

static void name_hooks(struct bpf_backend *backend)
{
	for (int i = 0; i < HOOK_NR; i++)
		snprintf(backend->hooks[i].hook, sizeof(backend->hooks[i].hook), "%s",
			 hook_names[i]);
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
	backend->maps = (struct policy_maps){-1, -1, -1, -1, -1, -1, -1, 0, 0};
	snprintf(backend->status.reason, sizeof(backend->status.reason), "not started");
	backend->later.done_fd = -1;
	backend->selftest = (struct selftest){
		.pool = options->pool,
		.cgroup_dir = backend->options.cgroup_dir,
		.maps = &backend->maps,
		.set = &backend->set,
		.ended = self_test_ended,
		.self = backend,
	};
	bpf_objects_begin(&backend->objects);
	name_hooks(backend);
	libbpf_set_print(relay_libbpf);
	*ret_backend = backend;
	return 0;
}

void bpf_backend_close(struct bpf_backend *backend)
{
	if (!backend)
		return;
	if (backend->later.running) {
		pthread_join(backend->later.thread, NULL);
		take_later(backend);
	}
	sd_event_source_unref(backend->later_source);
	sd_event_source_unref(backend->source);
	events_close(backend->reader);
	bpf_objects_free(&backend->objects);
	cleanup_close_fd(&backend->later.done_fd);
	cleanup_close_fd(&backend->stats_fd);
	free(backend->slots);
	free(backend);
}

/* --- reverted changes ----------------------------------------------------------------------------- */

static void say_mended(struct bpf_backend *backend, enum guard_mending what, const char *text)
{
	snprintf(backend->status.mended[what], sizeof(backend->status.mended[what]), "%s", text);
	backend->status.nr_mended[what]++;
}

static void say_pins(struct bpf_backend *backend, const struct pins_report *report)
{
	if (report->nr_wrong && !report->nr_failed)
		say_mended(backend, MENDED_PINS, report->wrong);
	snprintf(backend->status.unpinned, sizeof(backend->status.unpinned), "%s", report->failed);
}

/*
 * Another process switched off the mechanism that calls the programs. At a start this is
 * reverted before any probe: a probe would find that programs are never called, and that
 * result would be saved.
 */
static void mend_switch(struct bpf_backend *backend)
{
	int r = ftrace_mend(FTRACE_FILE);

	if (r > 0) {
		log_warn(0, "guard: " FTRACE_SYSCTL " was 0; the agent set it to 1");
		say_mended(backend, MENDED_CONFIG, FTRACE_SYSCTL " 0 instead of 1");
	}
	if (r < 0 && backend->switch_error != r)
		log_err(r, "guard: set " FTRACE_SYSCTL " to 1");
	backend->switch_error = r < 0 ? r : 0;
}

/* Report wrong pins found while the objects were brought up; each object reports them once. */
static void say_inherited(struct bpf_backend *backend)
{
	struct bpf_object_handle *const objects[] = {backend->objects.guard, backend->objects.watch,
						     observe_handle(backend->objects.observer)};
	struct pins_report report = {0};

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		if (!objects[i])
			continue;
		pins_report_add(&report, &objects[i]->inherited);
		objects[i]->inherited = (struct pins_report){0};
	}
	say_pins(backend, &report);
}

/* --- start ------------------------------------------------------------------------------------------ */

/* The status of the guard before its first self-test. */
static void begin_status(struct bpf_backend *backend)
{
	const struct feature_row *row = &backend->objects.features[ABILITY_NR + FEATURE_GUARD];
	bool lsm = guard_mechanism(backend->objects.features) == MECHANISM_LSM;

	backend->status.mechanism[0] = '\0';
	if (backend->objects.guard)
		snprintf(backend->status.mechanism, sizeof(backend->status.mechanism), "%s",
			 lsm ? "lsm" : "fmod_ret");
	backend->status.state = backend->objects.guard ? GUARD_UNKNOWN : GUARD_INACTIVE;
	snprintf(backend->status.reason, sizeof(backend->status.reason), "%s",
		 backend->objects.guard ? "not tested yet" : row->reason);
	snprintf(backend->status.remedy, sizeof(backend->status.remedy), "%s", row->remedy);
}

/* The map of this name. All objects that have it share it through its pin. */
static int shared_map(const struct bpf_backend *backend, const char *name)
{
	const struct bpf_object_handle *const objects[] = {
		backend->objects.guard, backend->objects.watch,
		observe_handle(backend->objects.observer)};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(objects); i++)
		fd = bpf_object_map_fd(objects[i], name);
	return fd;
}

static void find_maps(struct bpf_backend *backend)
{
	backend->maps = (struct policy_maps){
		.managed = shared_map(backend, "managed"),
		.actors = shared_map(backend, "actors"),
		.actor_tasks = shared_map(backend, "actor_tasks"),
		.config = shared_map(backend, "guard_config"),
		.heartbeat = shared_map(backend, "guard_heartbeat"),
		.watch_masks = bpf_object_map_fd(backend->objects.watch, "watch_masks"),
		.slot_masks = shared_map(backend, "slot_masks"),
		.mask_words = backend->sizes.mask_words,
		.nr_slots = backend->sizes.nr_slots,
	};
}

static void relay_event(void *self, const struct event_record *event)
{
	const struct bpf_backend *backend = self;

	if (backend->sink.event)
		backend->sink.event(backend->sink.self, event);
}

static int open_reader(struct bpf_backend *backend)
{
	const struct event_setup setup = {
		.events_fd = shared_map(backend, "events"),
		.budgets_fd = shared_map(backend, "event_budgets"),
		.sink = {.self = backend, .event = relay_event},
	};

	if (setup.events_fd < 0)
		return 0;
	return events_open(&setup, &backend->reader);
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
			return log_err(r, "bpf: read the guard's configuration");
		release_end(&backend->set);
	}
	r = open_reader(backend);
	return r ? log_err(r, "bpf: read the ring buffer of events") : 0;
}

/* The origin of an object: absent, taken over, or loaded, which `loaded` describes. */
static const char *origin(bool present, bool adopted, const char *loaded)
{
	if (!present)
		return "absent";
	return adopted ? "adopted" : loaded;
}

static const char *object_origin(const struct bpf_object_handle *handle)
{
	return origin(handle, handle && handle->adopted, "loaded");
}

static const char *guard_origin(const struct bpf_backend *backend)
{
	const struct bpf_objects *objects = &backend->objects;

	return origin(objects->guard, objects->guard && objects->guard->adopted,
		      backend->status.mechanism);
}

static void say_objects(const struct bpf_backend *backend)
{
	const struct bpf_objects *objects = &backend->objects;

	log_info("bpf: guard %s, watch %s, observe %s", guard_origin(backend),
		 object_origin(objects->watch), object_origin(observe_handle(objects->observer)));
}

static int say_newer(const struct bpf_backend *backend)
{
	log_err(0,
		"bpf: pins below %s belong to a newer pinfold (their ABI is above %d) and are not "
		"changed; start that version, or remove them with pinfoldd --uninstall",
		backend->options.bpffs_dir, ABI_VERSION);
	return -EPROTO;
}

static struct bpf_loader loader_of(const struct bpf_backend *backend)
{
	return (struct bpf_loader){.options = &backend->options, .sizes = backend->sizes};
}

static int start(void *self)
{
	struct bpf_backend *backend = self;
	const struct bpf_loader loader = loader_of(backend);
	int r;

	mend_switch(backend);
	r = bpf_loader_start_guard(&loader, &backend->objects);
	if (!r)
		begin_status(backend);
	if (!r)
		r = bpf_loader_adopt_rest(&loader, &backend->objects);
	if (r == -EAGAIN)
		r = backend->options.load_later ? begin_later(backend)
						: bpf_loader_start_rest(&loader, &backend->objects);
	if (r == -ESTALE)
		return say_newer(backend);
	if (!r)
		r = start_reading(backend);
	if (r)
		return r;
	say_inherited(backend);
	if (backend->options.measure_cost)
		backend->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (backend->later.running)
		log_info("bpf: guard %s; watch and observe are being loaded",
			 guard_origin(backend));
	else
		say_objects(backend);
	return 0;
}

/* --- policy ------------------------------------------------------------------------------------------ */

static int enter_actor(void *self)
{
	struct bpf_backend *backend = self;
	int r = backend->maps.actor_tasks < 0 ? 0 : policy_enter_agent(&backend->maps, getpid());

	return r ? log_err(r, "bpf: enter the agent among the guard's actors") : 0;
}

static uint32_t find_free(const bool *used, uint32_t nr_slots)
{
	for (uint32_t slot = 1; slot < nr_slots; slot++)
		if (!used[slot])
			return slot;
	return SLOT_NONE;
}

/*
 * Without an observer each container keeps its slot, because programs of an earlier agent may
 * use it for counting until they are exchanged. A new container gets an unused slot.
 */
static int keep_slots(struct bpf_backend *backend, const struct kernel_policy *policy)
{
	uint32_t nr_slots = backend->sizes.nr_slots;
	bool *used cleanup_free = calloc(nr_slots, sizeof(*used));
	int r;

	if (!used)
		return -ENOMEM;
	r = backend->maps.managed < 0 ? 0 : policy_mark_slots(&backend->maps, used, nr_slots);
	for (uint32_t i = 0; !r && i < policy->nr_groups; i++)
		if (policy->groups[i].is_container && backend->maps.managed >= 0)
			backend->slots[i] =
				policy_slot(&backend->maps, policy->groups[i].cgroup_id);
	for (uint32_t i = 0; !r && i < policy->nr_groups; i++) {
		if (!policy->groups[i].is_container || backend->slots[i] < nr_slots)
			continue;
		backend->slots[i] = find_free(used, nr_slots);
		if (backend->slots[i] < nr_slots)
			used[backend->slots[i]] = true;
	}
	return r;
}

/*
 * A container without a free slot is guarded but not counted; the observer counts such
 * containers.
 */
static int claim_slots(struct bpf_backend *backend, const struct kernel_policy *policy)
{
	uint64_t *ids cleanup_free = calloc(policy->nr_groups + 1, sizeof(*ids));
	uint32_t *slots = realloc(backend->slots, (policy->nr_groups + 1) * sizeof(*slots));
	uint32_t nr_ids = 0;

	if (slots)
		backend->slots = slots;
	if (!slots || !ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < policy->nr_groups; i++) {
		slots[i] = SLOT_NONE;
		if (policy->groups[i].is_container)
			ids[nr_ids++] = policy->groups[i].cgroup_id;
	}
	if (!backend->objects.observer)
		return keep_slots(backend, policy);
	observe_retain(backend->objects.observer, ids, nr_ids);
	for (uint32_t i = 0; i < policy->nr_groups; i++) {
		const struct managed_group *group = &policy->groups[i];
		const struct observe_group observed = {group->cgroup_id, group->level, group->nodes,
						       &group->cpus};

		if (group->is_container &&
		    observe_claim(backend->objects.observer, &observed, &slots[i]))
			slots[i] = SLOT_NONE;
	}
	return 0;
}

static void read_online(struct cpuset *ret_online)
{
	char *list cleanup_free = NULL;

	*ret_online = CPUSET_EMPTY;
	if (!file_read_line(AT_FDCWD, ONLINE_FILE, &list))
		cpuset_parse(list, strlen(list), ret_online);
}

/* If a write failed (`error`), check whether a map is frozen: only replacing it helps then. */
static void note_frozen(struct bpf_backend *backend, int error)
{
	const struct bpf_object_handle *guard = backend->objects.guard;

	for (uint32_t i = 0; error == -EPERM && guard && i < guard->nr_maps; i++)
		if (fdinfo_is(guard->maps[i].fd, "frozen", "1"))
			snprintf(backend->status.frozen_map, sizeof(backend->status.frozen_map),
				 "%s", guard->maps[i].name);
}

static int publish(void *self, const struct kernel_policy *policy)
{
	struct bpf_backend *backend = self;
	struct cpuset online;
	int before = backend->publish_error, r = claim_slots(backend, policy);

	if (!r && backend->maps.config >= 0) {
		read_online(&online);
		r = policy_publish(&backend->maps, policy, backend->slots, &online, &backend->set);
	} else if (!r && backend->maps.managed >= 0) {
		r = policy_drop_groups(&backend->maps, policy);
	}
	backend->publish_error = r;
	note_frozen(backend, r);
	if (r == -E2BIG && r != before)
		log_err(r, "bpf: maxContainers does not allow for %u groups", policy->nr_groups);
	else if (r && r != before)
		log_err(r, "bpf: publish a policy of %u groups", policy->nr_groups);
	return r;
}

/* --- state of the guard ------------------------------------------------------------------------------- */

static void read_program(int fd, uint32_t id, struct prog_row *row)
{
	int own cleanup_close = fd < 0 ? bpf_prog_get_fd_by_id(id) : -1;
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	row->id = id;
	if (bpf_obj_get_info_by_fd(fd < 0 ? own : fd, &info, &len))
		return;
	if (!row->name[0])
		snprintf(row->name, sizeof(row->name), "%s", info.name);
	row->run_time_ns = info.run_time_ns;
	row->run_count = info.run_cnt;
	row->recursion_misses = info.recursion_misses;
}

static uint64_t read_recursion_misses(const struct bpf_backend *backend)
{
	uint64_t misses = 0;

	for (uint32_t i = 0; backend->objects.guard && i < backend->objects.guard->nr_programs;
	     i++) {
		struct prog_row row = {0};

		read_program(backend->objects.guard->programs[i].prog_fd,
			     backend->objects.guard->programs[i].id, &row);
		misses += row.recursion_misses;
	}
	return misses;
}

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
static void say_denied(struct bpf_backend *backend)
{
	const char *remedy = backend->objects.features[ABILITY_BPF_LSM].remedy;

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
		say_denied(backend);
		return;
	}
	snprintf(reason, sizeof(reason), "the self-test was not denied (%s%s%s)",
		 found->open_denied ? "" : "open",
		 found->write_denied || found->open_denied ? "" : ", ",
		 found->write_denied ? "" : "write");
	say_status(backend, GUARD_INACTIVE, reason,
		   "boot with bpf in the list of lsm=, or report this kernel");
}

static void self_test_ended(void *self, const char *path, int result,
			    const struct selftest_result *found)
{
	struct bpf_backend *backend = self;

	say_tested(backend, path, result, found);
	if (backend->sink.tested)
		backend->sink.tested(backend->sink.self);
}

static int self_test(void *self, const char *test_cgroup)
{
	struct bpf_backend *backend = self;
	struct selftest_result found = {0};
	int r;

	if (!backend->objects.guard)
		return 0;
	r = selftest_run(&backend->selftest, test_cgroup, &found);
	if (r != -EINPROGRESS)
		say_tested(backend, test_cgroup, r, &found);
	return r;
}

static void self_test_waits_in(void *self, char *ret_text, size_t size)
{
	const struct bpf_backend *backend = self;

	selftest_waits_in(&backend->selftest, ret_text, size);
}

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
static void get_guard_status(void *self, struct guard_status *ret_status)
{
	const struct bpf_backend *backend = self;
	struct guard_config found;
	int r;

	*ret_status = backend->status;
	if (!backend->objects.guard)
		return;
	r = policy_read(&backend->maps, &found);
	if (r) {
		ret_status->state = GUARD_UNKNOWN;
		snprintf(ret_status->reason, sizeof(ret_status->reason),
			 "the guard's configuration cannot be read: %s", strerror(-r));
		return;
	}
	ret_status->released = release_stands(&found);
	ret_status->cpuset_files = enforcement_of(found.aspect_modes[ASPECT_CPUSET_FILES]);
	ret_status->affinity = enforcement_of(found.aspect_modes[ASPECT_AFFINITY]);
	ret_status->cgroup_moves = enforcement_of(found.aspect_modes[ASPECT_CGROUP_MOVES]);
	add_switch(backend, ret_status);
}

/* Revert a configuration that another process wrote, unless it is a release. */
static void mend_config(struct bpf_backend *backend)
{
	struct guard_config found, expected;
	char text[ROW_DETAIL_MAX];
	int r;

	if (!backend->objects.guard || policy_read(&backend->maps, &found))
		return;
	expected = guard_config_expected(&backend->set, &found);
	if (!guard_config_differs(&expected, &found, text, sizeof(text)))
		return;
	r = policy_rewrite(&backend->maps, &backend->set);
	if (!r)
		say_mended(backend, MENDED_CONFIG, text);
	else if (r != backend->config_error)
		log_err(r, "bpf: restore the guard's configuration (%s)", text);
	backend->config_error = r;
	note_frozen(backend, r);
}

/*
 * Restore pins that another process removed or replaced: without them the guard remains in
 * force, but ends with the agent. Not while the loading thread pins maps with the same names.
 */
static void restore_pins(struct bpf_backend *backend)
{
	const char *pin_dir = backend->options.bpffs_dir;
	struct pins_report report = {0};
	int mounted;

	if (backend->later.running ||
	    (!backend->objects.guard && !backend->objects.watch && !backend->objects.observer))
		return;
	mounted = pins_mount(pin_dir);
	if (mounted > 0)
		pins_report_wrong(&report, "bpffs", "unmounted");
	if (backend->objects.guard)
		bpf_object_restore_pins(backend->objects.guard, pin_dir, &report);
	if (backend->objects.watch)
		bpf_object_restore_pins(backend->objects.watch, pin_dir, &report);
	if (backend->objects.observer)
		bpf_object_restore_pins(observe_handle(backend->objects.observer), pin_dir,
					&report);
	if (mounted == -EXDEV && report.nr_failed)
		snprintf(report.failed, sizeof(report.failed),
			 "no bpffs is mounted for %s, and a mount by the agent would end with it",
			 pin_dir);
	say_pins(backend, &report);
}

/*
 * Some calls were not judged, and it is unknown which. Every managed file must therefore be
 * compared again, which this event requests from the controller.
 */
static void say_skipped(struct bpf_backend *backend, uint64_t nr)
{
	struct event_record event = EVENT_RECORD(EVENT_UNJUDGED);

	log_warn(0, "guard: %llu calls were allowed because a program was preempted",
		 (unsigned long long)nr);
	event.aspect = ASPECT_CPUSET_FILES;
	event.action = ACTION_ALLOW;
	event.nr_unjudged = nr;
	relay_event(backend, &event);
	if (backend->status.state == GUARD_ACTIVE)
		say_denied(backend);
}

static void tick(void *self)
{
	struct bpf_backend *backend = self;
	uint64_t misses = read_recursion_misses(backend), before = backend->status.recursion_misses;

	backend->status.recursion_misses = misses;
	if (backend->maps.heartbeat >= 0)
		policy_heartbeat(&backend->maps);
	/* the counters of reloaded programs start at zero */
	if (misses > before)
		say_skipped(backend, misses - before);
	if (backend->objects.guard)
		mend_switch(backend);
	mend_config(backend);
	restore_pins(backend);
	if (backend->reader)
		events_sweep(backend->reader);
}

/* --- rows --------------------------------------------------------------------------------------------- */

static uint32_t get_features(void *self, const struct feature_row **ret_rows)
{
	struct bpf_backend *backend = self;

	*ret_rows = backend->objects.features;
	return ARRAY_SIZE(backend->objects.features);
}

/* "fmod_ret/security_file_open" → "fmod_ret" */
static void fill_type(struct prog_row *row, const char *section)
{
	snprintf(row->type, sizeof(row->type), "%.*s", (int)strcspn(section, "/"), section);
}

static uint32_t list_object(const struct bpf_object_handle *handle, struct prog_row *rows)
{
	uint32_t nr = handle ? handle->nr_programs : 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct bpf_object_program *program = &handle->programs[i];

		rows[i] = (struct prog_row){.attached = true, .pinned = true};
		snprintf(rows[i].name, sizeof(rows[i].name), "%s", program->name);
		snprintf(rows[i].object, sizeof(rows[i].object), "%s", handle->name);
		fill_type(&rows[i], program->section);
		read_program(program->prog_fd, program->id, &rows[i]);
	}
	return nr;
}

static uint32_t get_programs(void *self, const struct prog_row **ret_rows)
{
	struct bpf_backend *backend = self;
	uint32_t nr = list_object(backend->objects.guard, backend->programs);

	nr += list_object(backend->objects.watch, backend->programs + nr);
	nr += list_object(observe_handle(backend->objects.observer), backend->programs + nr);
	*ret_rows = backend->programs;
	return nr;
}

/* The sum of a per-CPU counter over all CPUs; 0 if it cannot be read. */
static uint64_t read_counter(int map_fd, __u32 index)
{
	int nr_cpus = libbpf_num_possible_cpus();
	uint64_t *values cleanup_free = nr_cpus > 0 ? calloc((size_t)nr_cpus, sizeof(*values))
						    : NULL;
	uint64_t sum = 0;

	if (!values || map_fd < 0 || bpf_map_lookup_elem(map_fd, &index, values))
		return 0;
	for (int i = 0; i < nr_cpus; i++)
		sum += values[i];
	return sum;
}

static uint32_t get_hook_counts(void *self, const struct hook_count **ret_counts)
{
	struct bpf_backend *backend = self;
	int fd = bpf_object_map_fd(backend->objects.guard, "guard_counters");

	for (uint32_t i = 0; i < HOOK_NR; i++)
		for (uint32_t action = 0; action < ACTION_NR; action++)
			backend->hooks[i].counts[action] = read_counter(fd, i * ACTION_NR + action);
	*ret_counts = backend->hooks;
	return HOOK_NR;
}

static uint64_t get_events_lost(void *self)
{
	return read_counter(shared_map(self, "event_counters"), EVENTS_LOST);
}

static int get_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	const struct bpf_backend *backend = self;
	struct observe_usage usage;
	int r = backend->objects.observer
			? observe_usage(backend->objects.observer, cgroup_id, &usage)
			: -ENOENT;

	if (r)
		return r;
	*ret_usage = (struct usage){
		.run_local_ns = usage.run_local_ns,
		.run_remote_ns = usage.run_remote_ns,
		.run_outside_ns = usage.run_outside_ns,
		.wait_ns = usage.wait_ns,
		.wait_own_quota_ns = usage.wait_own_quota_ns,
		.switches = usage.switches,
		.migrations_core = usage.migrations_core,
		.migrations_llc = usage.migrations_llc,
		.migrations_numa = usage.migrations_numa,
		.nr_cpus = usage.nr_cpus,
		.run_ns = usage.run_ns,
	};
	return 0;
}

struct kernel_port bpf_backend_port(struct bpf_backend *backend)
{
	return (struct kernel_port){
		.self = backend,
		.start = start,
		.enter_actor = enter_actor,
		.publish = publish,
		.self_test = self_test,
		.self_test_waits_in = self_test_waits_in,
		.guard_status = get_guard_status,
		.usage = get_usage,
		.tick = tick,
		.features = get_features,
		.programs = get_programs,
		.hook_counts = get_hook_counts,
		.events_lost = get_events_lost,
	};
}

/* --- events --------------------------------------------------------------------------------------------- */

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *self)
{
	struct bpf_backend *backend = self;
	int r = events_dispatch(backend->reader);

	if (r < 0)
		log_warn(r, "bpf: read events, ignoring until the next");
	return 0;
}

static int listen(struct bpf_backend *backend)
{
	int r;

	if (!backend->reader || backend->source)
		return 0;
	r = sd_event_add_io(backend->event, &backend->source, events_fd(backend->reader), EPOLLIN,
			    on_readable, backend);
	return r < 0 ? log_err(r, "bpf: watch the ring buffer of events") : 0;
}

static int on_loaded(sd_event_source *source, int fd, uint32_t events, void *self)
{
	struct bpf_backend *backend = self;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (!end_later(backend))
		return 0;
	if (backend->later.result == -ESTALE)
		say_newer(backend);
	say_inherited(backend);
	if (!start_reading(backend))
		listen(backend);
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
	if (backend->later.running) {
		r = sd_event_add_io(event, &backend->later_source, backend->later.done_fd, EPOLLIN,
				    on_loaded, backend);
		if (r < 0)
			return log_err(r, "bpf: wait for watch and observe");
	}
	return listen(backend);
}

int bpf_backend_fd(const struct bpf_backend *backend)
{
	return backend->reader ? events_fd(backend->reader) : -ENOENT;
}

int bpf_backend_dispatch(struct bpf_backend *backend, const struct kernel_sink *sink)
{
	backend->sink = *sink;
	return backend->reader ? events_dispatch(backend->reader) : 0;
}

/* --- removal ----------------------------------------------------------------------------------------------- */

int guard_release(const char *bpffs_dir)
{
	return bpf_object_release(bpffs_dir, "guard");
}

int bpf_backend_remove(const char *bpffs_dir)
{
	return bpf_objects_remove(bpffs_dir);
}
