/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world for the controller without a kernel: cgroups and the state file in
 * memory, a clock that stands still until told, one counter for everything BPF
 * would count. Groups are found by hash, so that a measurement is of the
 * controller and not of its stage.
 *
 * The world lies in shared memory: a child can die at any call of a port that
 * changes or reads it (calls_left), and who comes next finds what was left. It
 * never fails unless told to, and what it is told to be slow with goes on until the
 * test ends it (fake_end_…): in between nothing of it is there.
 */
#ifndef TESTS_FAKE_WORLD_H
#define TESTS_FAKE_WORLD_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/controller.h"
#include "format/bpf_inventory.h"

#define FAKE_GROUPS 2048 /* a power of two; half of it is used at most */
#define FAKE_VALUE  96
#define FAKE_STATE  (8 * 1024 * 1024)
#define FAKE_DEATH  42 /* exit status of a child that died of calls_left */

struct fake_group {
	char path[GROUP_PATH_MAX]; /* "" = free */
	enum group_role role;
	char uid[POD_UID_MAX], container[POD_CONTAINER_NAME];
	char files[GROUP_FILE_NR][FAKE_VALUE];
	bool populated;
};

struct fake_world {
	struct fake_group groups[FAKE_GROUPS];
	uint32_t order[FAKE_GROUPS], nr_groups; /* as they were made: parents first */
	char state[FAKE_STATE], saving[FAKE_STATE];
	size_t state_len;
	bool has_state;
	uint32_t nr_aside;
	uint64_t now_ns, cpu_ns;
	uint64_t wake_ns; /* when the controller wants to be woken; 0 = not */
	enum enforcement guard_modes[ASPECT_NR]; /* as they were last published */

	/* What a test asks for. */
	int calls_left;	   /* the process dies at 0; negative = never */
	int check_error;   /* whether the cgroups can be reached */
	int read_error;	   /* what a whole look answers */
	int status_error;  /* what the status of a group answers */
	int create_error;  /* what making the cgroup `apply_path` answers */
	int publish_error; /* what the BPF backend answers to a policy */
	int save_error;	   /* what a save of the state answers; -EPERM: and always will */
	int apply_error;   /* what a write of cpuset.cpus of `apply_path` answers */
	char apply_path[GROUP_PATH_MAX];
	int rewatch_error;    /* what a new set of watches answers */
	bool refuses_removal; /* cgroups stay */
	uint64_t look_ns;     /* time that a whole look takes */
	uint64_t reading_ns;  /* time that passes with each reading of the clock */
	/* Is this step to fail with -EIO? */
	bool (*refuses)(const struct step *step);
	/* Slow: steps on groups whose path has this in it, of this file; or all of them. */
	char slow_path[GROUP_PATH_MAX];
	enum group_file slow_file;
	bool slow_join, slow_kill, slow_save, slow_look, stuck_look, slow_name;
	bool is_stopping;	/* ends a wait for a slow look */
	uint64_t awaited_ns;	/* the limit of the last await_tree */
	uint64_t naming, named; /* the cgroup whose name is looked up, and was */
	/* What goes on now; one step, one join or kill. */
	struct step going;
	char going_value[FAKE_VALUE], joining[GROUP_PATH_MAX], killing[GROUP_PATH_MAX];
	bool has_step, is_saving;
	size_t saving_len;
	enum { FAKE_NO_LOOK, FAKE_LOOKING, FAKE_LOOKED } look;
	/* Called after each step that was done. */
	void (*on_step)(const struct step *step);
	bool overlap_seen; /* for an on_step that looks for it */
};

static struct fake_world *fake;

static inline void fake_maybe_die(void)
{
	if (fake->calls_left > 0 && --fake->calls_left == 0)
		_exit(FAKE_DEATH);
}

/* The groups that there are, parents first. */
static inline struct fake_group *fake_at(uint32_t index)
{
	return &fake->groups[fake->order[index]];
}

static inline uint32_t fake_slot(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (const char *at = path; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3ULL;
	for (uint32_t i = hash % FAKE_GROUPS;; i = (i + 1) % FAKE_GROUPS)
		if (!*fake->groups[i].path || !strcmp(fake->groups[i].path, path))
			return i;
}

static inline struct fake_group *fake_find(const char *path)
{
	struct fake_group *group = &fake->groups[fake_slot(path)];

	return *group->path ? group : NULL;
}

static inline uint64_t fake_now(void *self)
{
	return fake->now_ns += fake->reading_ns;
}

static inline uint64_t fake_cpu(void *self)
{
	return fake->cpu_ns;
}

static inline void fake_wake(void *self, uint64_t delay_ns)
{
	uint64_t due_ns = fake->now_ns + delay_ns;

	if (!fake->wake_ns || due_ns < fake->wake_ns)
		fake->wake_ns = due_ns;
}

static inline void fake_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice"};
}

static inline int fake_check(void *self, struct group_obstacle *ret_obstacle)
{
	if (fake->check_error)
		*ret_obstacle = (struct group_obstacle){"the cgroups are covered", "uncover them"};
	return fake->check_error;
}

static inline void fake_fill(const struct fake_group *from, struct group *group)
{
	group->populated = from->populated;
	for (int file = 0; file < GROUP_FILE_NR; file++)
		if (*from->files[file])
			group->files[file] = strdup(from->files[file]);
}

static inline int fake_read_group(void *self, struct group *group)
{
	const struct fake_group *from = fake_find(group->path);

	fake_maybe_die();
	if (!from)
		return -ENOENT;
	fake_fill(from, group);
	return 0;
}

static inline int64_t fake_number(const char *text)
{
	return text ? strtoll(text, NULL, 10) : 0;
}

/* As user/cgroup reads them; that it does is tested there. */
static inline void fake_limits(void *self, const struct group *group,
			       struct group_limits *ret_limits)
{
	const char *quota = group->files[GROUP_CPU_MAX];
	long long quota_us, period_us, mcpu;

	*ret_limits = (struct group_limits){
		.cpu_weight = fake_number(group->files[GROUP_CPU_WEIGHT]),
		.quota_mcpu = RESOURCE_UNSET,
		.memory_max_bytes = fake_number(group->files[GROUP_MEMORY_MAX]),
	};
	if (quota && sscanf(quota, "%lld %lld", &quota_us, &period_us) == 2 && period_us &&
	    !__builtin_mul_overflow(quota_us, 1000, &mcpu))
		ret_limits->quota_mcpu = mcpu / period_us;
}

static inline int fake_read_now(struct group_tree *ret_tree)
{
	struct group_tree tree = {0};

	fake_maybe_die();
	fake->now_ns += fake->look_ns;
	if (fake->read_error)
		return fake->read_error;
	if (!fake->nr_groups)
		return -ENOENT;
	for (uint32_t i = 0; i < fake->nr_groups; i++) {
		const struct fake_group *from = fake_at(i);
		struct group *group;

		/* Nothing can be seen below a pod in which something goes on. */
		if (fake->has_step && from->role > GROUP_POD && !strcmp(from->uid, fake->going.uid))
			continue;
		group = group_tree_add(&tree, from->role, from->path);
		if (!group)
			abort();
		memcpy(group->uid, from->uid, sizeof(group->uid));
		memcpy(group->container, from->container, sizeof(group->container));
		if (fake->has_step && from->role == GROUP_POD &&
		    !strcmp(from->uid, fake->going.uid))
			group->unseen = true;
		else
			fake_fill(from, group);
	}
	*ret_tree = tree;
	return 0;
}

/* A slow look sees what is there when it begins: the worst that can be. */
static struct group_tree fake_seen;
static int fake_seen_result;

static inline int fake_read_tree(void *self, struct group_tree *ret_tree)
{
	if (fake->look == FAKE_LOOKED) {
		fake->look = FAKE_NO_LOOK;
		*ret_tree = fake_seen;
		fake_seen = (struct group_tree){0};
		return fake_seen_result;
	}
	if (fake->look == FAKE_LOOKING)
		return -EINPROGRESS;
	if (!fake->slow_look)
		return fake_read_now(ret_tree);
	fake->look = FAKE_LOOKING;
	group_tree_fini(&fake_seen);
	fake_seen_result = fake_read_now(&fake_seen);
	return -EINPROGRESS;
}

/* A look that is slow ends by itself, unless it is stuck. */
static inline int fake_await_tree(void *self, uint64_t limit_ns)
{
	fake->awaited_ns = limit_ns;
	if (fake->look == FAKE_LOOKING && fake->is_stopping)
		return -EINTR;
	if (fake->look == FAKE_LOOKING && fake->stuck_look)
		return -ETIMEDOUT;
	if (fake->look == FAKE_LOOKING)
		fake->look = FAKE_LOOKED;
	return 0;
}

static inline void fake_end_look(struct controller *controller)
{
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	if (fake->look != FAKE_LOOKING)
		abort();
	fake->look = FAKE_LOOKED;
	sink->looked(sink->self);
}

/* Backward shift would be needed to free a slot of the hash; tests remove few, so rebuild. */
static inline void fake_remove(const char *path)
{
	struct fake_group *kept = calloc(fake->nr_groups + 1, sizeof(*kept));
	uint32_t nr = 0;

	if (!kept)
		abort();
	for (uint32_t i = 0; i < fake->nr_groups; i++)
		if (strcmp(fake->groups[fake->order[i]].path, path))
			kept[nr++] = fake->groups[fake->order[i]];
	memset(fake->groups, 0, FAKE_GROUPS * sizeof(*fake->groups));
	fake->nr_groups = nr;
	for (uint32_t i = 0; i < nr; i++) {
		fake->order[i] = fake_slot(kept[i].path);
		fake->groups[fake->order[i]] = kept[i];
	}
	free(kept);
}

static inline int fake_create(const struct step *step, char error[GROUP_ERROR_MAX])
{
	uint32_t slot = fake_slot(step->path);
	struct fake_group *group = &fake->groups[slot];

	if (fake->create_error && !strcmp(fake->apply_path, step->path)) {
		snprintf(error, GROUP_ERROR_MAX, "%.200s: injected", step->path);
		return fake->create_error;
	}
	if (*group->path)
		return -EEXIST;
	if (fake->nr_groups >= FAKE_GROUPS / 2)
		return -ENOSPC;
	*group = (struct fake_group){.role = step->role, .files[GROUP_FREEZE] = "0"};
	memcpy(group->path, step->path, sizeof(group->path));
	memcpy(group->uid, step->uid, sizeof(group->uid));
	memcpy(group->container, step->container, sizeof(group->container));
	fake->order[fake->nr_groups++] = slot;
	return 0;
}

static inline int fake_write(const struct step *step, char error[GROUP_ERROR_MAX])
{
	struct fake_group *group = fake_find(step->path);

	if (!group)
		return -ENOENT;
	if (step->file == GROUP_CPUSET_CPUS && fake->apply_error &&
	    !strcmp(fake->apply_path, step->path)) {
		snprintf(error, GROUP_ERROR_MAX, "%.200s: injected", step->path);
		return fake->apply_error;
	}
	if (strlen(step->value) >= FAKE_VALUE)
		return -E2BIG;
	memcpy(group->files[step->file], step->value, strlen(step->value) + 1);
	return 0;
}

static inline int fake_drop(const struct step *step, char error[GROUP_ERROR_MAX])
{
	const struct fake_group *group = fake_find(step->path);

	if (!group)
		return -ENOENT;
	if (fake->refuses_removal)
		snprintf(error, GROUP_ERROR_MAX, "%.200s: stays", step->path);
	if (group->populated || fake->refuses_removal)
		return -EBUSY;
	fake_remove(step->path);
	return 0;
}

static inline int fake_do(const struct step *step, char error[GROUP_ERROR_MAX])
{
	int r = -EINVAL;

	if (fake->refuses && fake->refuses(step))
		return -EIO;
	if (step->kind == STEP_CREATE)
		r = fake_create(step, error);
	else if (step->kind == STEP_WRITE)
		r = fake_write(step, error);
	else if (step->kind == STEP_REMOVE)
		r = fake_drop(step, error);
	if (r)
		return r;
	if (fake->on_step)
		fake->on_step(step);
	return 0;
}

static inline int fake_apply(void *self, const struct step *step, char error[GROUP_ERROR_MAX])
{
	int r;

	fake_maybe_die();
	if (*fake->slow_path && strstr(step->path, fake->slow_path) &&
	    (fake->slow_file == GROUP_FILE_NR ||
	     (step->kind == STEP_WRITE && step->file == fake->slow_file))) {
		/* Two at once would be two of one chain here, which the contract excludes. */
		if (fake->has_step)
			abort();
		fake->going = *step;
		fake->going.old = NULL;
		if (step->value)
			snprintf(fake->going_value, FAKE_VALUE, "%s", step->value);
		fake->going.value = fake->going_value;
		fake->has_step = true;
		return -EINPROGRESS;
	}
	r = fake_do(step, error);
	fake_maybe_die();
	return r;
}

static inline void fake_tell_end(struct controller *controller, const char *path, int result)
{
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	sink->completed(sink->self, path, result, result ? "injected at the end" : "");
}

/* The step that goes on takes effect, or fails. */
static inline void fake_end_step(struct controller *controller, int result)
{
	char error[GROUP_ERROR_MAX];

	if (!fake->has_step)
		abort();
	fake->has_step = false;
	if (!result)
		result = fake_do(&fake->going, error);
	fake_tell_end(controller, fake->going.path, result);
}

static inline int fake_status(void *self, const char *path, struct group_status *ret_status)
{
	const struct fake_group *group = fake_find(path);
	const char *cpus;

	if (fake->status_error)
		return fake->status_error;
	if (!group)
		return -ENOENT;
	cpus = group->files[GROUP_CPUSET_CPUS];
	*ret_status = (struct group_status){
		.cgroup_id = (uint64_t)(group - fake->groups) + 1,
		.level = 3,
		.populated = group->populated,
		.usage_usec = 1000,
	};
	cpuset_parse(cpus, strlen(cpus), &ret_status->effective_cpus);
	ret_status->cpus = ret_status->effective_cpus;
	ret_status->mems = cpuset_of_text(group->files[GROUP_CPUSET_MEMS]);
	memcpy(ret_status->partition, group->files[GROUP_CPUSET_PARTITION], FAKE_VALUE);
	ret_status->is_root_partition = !strcmp(ret_status->partition, "root");
	ret_status->is_member = !strcmp(ret_status->partition, "member");
	return 0;
}

static inline int fake_id_of(void *self, const char *path, uint64_t *ret_cgroup_id)
{
	struct group_status status;
	int r;

	if (!*path) {
		*ret_cgroup_id = 9999;
		return 0;
	}
	r = fake_status(self, path, &status);
	if (!r)
		*ret_cgroup_id = status.cgroup_id;
	return r;
}

static inline int fake_tasks(void *self, const char *path, pid_t **ret_pids, uint32_t *ret_nr)
{
	*ret_pids = NULL;
	*ret_nr = 0;
	return 0;
}

/* One task, which may run wherever its container may. */
static inline int fake_affinities(void *self, const char *path, struct affinities *ret_affinities)
{
	struct group_status status;
	int r = fake_status(self, path, &status);

	if (r)
		return r;
	*ret_affinities = (struct affinities){0};
	affinity_add(ret_affinities, 4711, &status.effective_cpus);
	return 0;
}

static inline int fake_join_now(const char *path)
{
	struct fake_group *group = fake_find(path);
	char parent[GROUP_PATH_MAX];

	if (!group)
		return -ENOENT;
	group->populated = true;
	snprintf(parent, sizeof(parent), "%s", path);
	for (char *slash; (slash = strrchr(parent, '/'));) {
		*slash = '\0';
		group = fake_find(parent);
		if (group)
			group->populated = true;
	}
	return 0;
}

static inline int fake_join(void *self, const char *path, pid_t pid, int pidfd,
			    char error[GROUP_ERROR_MAX])
{
	if (!fake->slow_join)
		return fake_join_now(path);
	if (*fake->joining)
		abort();
	snprintf(fake->joining, sizeof(fake->joining), "%s", path);
	return -EINPROGRESS;
}

static inline void fake_end_join(struct controller *controller, int result)
{
	char path[GROUP_PATH_MAX];

	memcpy(path, fake->joining, sizeof(path));
	*fake->joining = '\0';
	fake_tell_end(controller, path, result ? result : fake_join_now(path));
}

static inline int fake_kill_now(const char *path)
{
	struct fake_group *group = fake_find(path);

	if (group)
		group->populated = false;
	return 0;
}

static inline int fake_kill(void *self, const char *path)
{
	if (!fake->slow_kill)
		return fake_kill_now(path);
	snprintf(fake->killing, sizeof(fake->killing), "%s", path);
	return -EINPROGRESS;
}

static inline void fake_end_kill(struct controller *controller)
{
	fake_tell_end(controller, fake->killing, fake_kill_now(fake->killing));
}

static inline int fake_outsiders(void *self, uint32_t *ret_nr, char *ret_scope, size_t size)
{
	*ret_nr = 0;
	*ret_scope = '\0';
	return 0;
}

static inline int fake_path_of(void *self, uint64_t id, char *ret_path, size_t size)
{
	if (fake->naming)
		return -EINPROGRESS;
	if (fake->slow_name && fake->named != id) {
		fake->naming = id;
		return -EINPROGRESS;
	}
	fake->named = 0;
	if (!id || id > FAKE_GROUPS || !*fake->groups[id - 1].path)
		return -ENOENT;
	snprintf(ret_path, size, "%s", fake->groups[id - 1].path);
	return 0;
}

static inline void fake_end_name(struct controller *controller)
{
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	if (!fake->naming)
		abort();
	fake->named = fake->naming;
	fake->naming = 0;
	sink->named(sink->self);
}

static inline int fake_rewatch(void *self, const struct group_tree *tree)
{
	return fake->rewatch_error;
}

/* --- the BPF backend: everything there, everything counted ------------------------------------- */

static inline int fake_kernel_done(void *self)
{
	return 0;
}

static inline int fake_publish(void *self, const struct kernel_policy *policy)
{
	if (!fake->publish_error)
		memcpy(fake->guard_modes, policy->modes, sizeof(fake->guard_modes));
	return fake->publish_error;
}

static inline int fake_self_test(void *self, const char *test_cgroup)
{
	return 0;
}

static inline void fake_guard_status(void *self, struct guard_status *ret_status)
{
	*ret_status = (struct guard_status){
		.state = GUARD_ACTIVE,
		.mechanism = "lsm",
	};
	memcpy(ret_status->modes, fake->guard_modes, sizeof(ret_status->modes));
}

static inline int fake_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	*ret_usage = (struct usage){
		.run_local_ns = cgroup_id * 1234567891,
		.wait_ns = {[WAIT_OWN_CONTAINER] = cgroup_id * 12345678, [WAIT_HOST] = cgroup_id},
		.switches = cgroup_id * 321,
		.preemptions = 2 * cgroup_id,
		.migrations_core = cgroup_id,
	};
	return 0;
}

static inline int fake_latency(void *self, uint64_t cgroup_id, struct latency *ret_latency)
{
	*ret_latency = (struct latency){.counts = {[3] = cgroup_id}, .longest_ns = 8000};
	return 0;
}

static inline void fake_kernel_tick(void *self)
{
}

static inline uint32_t fake_features(void *self, const struct feature_row **ret_rows)
{
	static const struct feature_row rows[] = {
		{.name = "btf", .state = FEATURE_YES},
		{.name = "bpf_lsm", .state = FEATURE_YES},
		{.name = "guard", .state = FEATURE_YES},
	};

	*ret_rows = rows;
	return ARRAY_SIZE(rows);
}

static inline uint32_t fake_programs(void *self, const struct prog_row **ret_rows)
{
	static const struct prog_row rows[] = {
		{.name = "on_file_permission", .type = "lsm", .object = "guard", .attached = true},
		{.name = "on_switch", .type = "tp_btf", .object = "observe", .attached = true},
	};

	*ret_rows = rows;
	return ARRAY_SIZE(rows);
}

static inline void fake_list(void *self, struct bpf_inventory *inventory)
{
	const struct prog_row *rows;

	for (uint32_t i = 0, nr = fake_programs(self, &rows); i < nr; i++)
		*bpf_inventory_add_prog(inventory) = rows[i];
}

static inline uint32_t fake_hook_counts(void *self, const struct hook_count **ret_counts)
{
	static const struct hook_count counts[] = {{"file_permission", {1, 2, 3}}};

	*ret_counts = counts;
	return ARRAY_SIZE(counts);
}

static inline int fake_events_lost(void *self, enum event_counter what, uint64_t *ret_nr)
{
	*ret_nr = 0;
	return 0;
}

static inline int fake_observer_space(void *self, struct observer_space *ret_space)
{
	return -EAGAIN;
}

/* --- state --------------------------------------------------------------------------------------- */

static inline int fake_load(void *self, char **ret_data, size_t *ret_len)
{
	if (!fake->has_state)
		return -ENOENT;
	*ret_data = malloc(fake->state_len + 1);
	if (!*ret_data)
		return -ENOMEM;
	memcpy(*ret_data, fake->state, fake->state_len);
	(*ret_data)[fake->state_len] = '\0';
	*ret_len = fake->state_len;
	return 0;
}

static inline int fake_save(void *self, const char *data, size_t len)
{
	fake_maybe_die();
	if (fake->save_error)
		return fake->save_error;
	if (len > FAKE_STATE)
		return -ENOSPC;
	if (fake->is_saving)
		abort();
	if (fake->slow_save) {
		memcpy(fake->saving, data, len);
		fake->saving_len = len;
		fake->is_saving = true;
		return -EINPROGRESS;
	}
	memcpy(fake->state, data, len);
	fake->state_len = len;
	fake->has_state = true;
	fake_maybe_die();
	return 0;
}

static inline void fake_end_save(struct controller *controller, int result)
{
	const struct store_sink *sink = &controller_sinks(controller)->store;

	if (!fake->is_saving)
		abort();
	fake->is_saving = false;
	if (!result) {
		memcpy(fake->state, fake->saving, fake->saving_len);
		fake->state_len = fake->saving_len;
		fake->has_state = true;
	}
	sink->saved(sink->self, result);
}

static inline int fake_set_aside(void *self, char *ret_name, size_t size)
{
	fake->has_state = false;
	snprintf(ret_name, size, "state.json.bad-%u", ++fake->nr_aside);
	return 0;
}

static inline void fake_waits_in(void *self, const char *path, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "fake_wait");
}

static inline void fake_save_waits_in(void *self, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "fake_fsync");
}

static inline const char *fake_problem(void *self)
{
	return fake->save_error == -EPERM ? "the directory is not ours" : NULL;
}

static const struct clock_port fake_clock = {NULL, fake_now, fake_now, fake_cpu};
static const struct loop_port fake_loop = {NULL, fake_wake};
static const struct groups_port fake_groups = {
	.layout = fake_layout,
	.check = fake_check,
	.read_tree = fake_read_tree,
	.await_tree = fake_await_tree,
	.read_group = fake_read_group,
	.limits = fake_limits,
	.apply = fake_apply,
	.status = fake_status,
	.id_of = fake_id_of,
	.tasks = fake_tasks,
	.affinities = fake_affinities,
	.join = fake_join,
	.kill = fake_kill,
	.outsiders = fake_outsiders,
	.path_of = fake_path_of,
	.rewatch = fake_rewatch,
	.waits_in = fake_waits_in,
};
static const struct kernel_port fake_kernel = {
	.start = fake_kernel_done,
	.enter_actor = fake_kernel_done,
	.publish = fake_publish,
	.self_test = fake_self_test,
	.guard_status = fake_guard_status,
	.usage = fake_usage,
	.latency = fake_latency,
	.tick = fake_kernel_tick,
	.features = fake_features,
	.programs = fake_programs,
	.list = fake_list,
	.hook_counts = fake_hook_counts,
	.events_lost = fake_events_lost,
	.observer_space = fake_observer_space,
};
static const struct store_port fake_store = {NULL,	     fake_load,	   fake_save,
					     fake_set_aside, fake_problem, fake_save_waits_in};
static const struct controller_ports fake_ports = {.clock = &fake_clock,
						   .loop = &fake_loop,
						   .groups = &fake_groups,
						   .kernel = &fake_kernel,
						   .store = &fake_store};

/* Empty again, and nothing asked of it. */
static inline void fake_world_reset(void)
{
	memset(fake, 0, offsetof(struct fake_world, state));
	memset((char *)fake + offsetof(struct fake_world, state_len), 0,
	       sizeof(*fake) - offsetof(struct fake_world, state_len));
	fake->calls_left = -1;
	fake->now_ns = 1000000000;
}

static inline void fake_world_make(void)
{
	fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fake == MAP_FAILED)
		abort();
	fake_world_reset();
}

static inline void fake_world_clear(void)
{
	munmap(fake, sizeof(*fake));
	fake = NULL;
}

/* --- machine and pods ------------------------------------------------------------------------------ */

/*
 * Threads of a core are numbered far apart, as on most x86 servers. `memory` has a row for each
 * node, or is NULL.
 */
static inline struct topology *fake_machine_with(uint32_t nodes, uint32_t cores_per_node,
						 uint32_t threads,
						 const struct topology_node *memory)
{
	uint32_t nr_cores = nodes * cores_per_node;
	struct topology_cpu *cpus = calloc(nr_cores * threads, sizeof(*cpus));
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr_cores * threads,
		.nodes = memory,
		.nr_nodes = memory ? nodes : 0,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256];

	for (uint32_t i = 0; cpus && i < nr_cores * threads; i++) {
		uint32_t core = i % nr_cores, node = core / cores_per_node;

		cpus[i] = (struct topology_cpu){i, core, node / 4, node, node};
	}
	if (!cpus || topology_new(&facts, error, sizeof(error), &topology))
		abort();
	free(cpus);
	return topology;
}

static inline struct topology *fake_machine(uint32_t nodes, uint32_t cores_per_node,
					    uint32_t threads)
{
	return fake_machine_with(nodes, cores_per_node, threads, NULL);
}

/* One container; Guaranteed with whole CPUs is exclusive. */
static inline struct pod_spec *fake_pod(const char *name, const char *container, int64_t cpu_mcpu,
					bool guaranteed)
{
	struct pod_spec *spec = calloc(1, sizeof(*spec));

	if (spec)
		spec->containers = calloc(1, sizeof(*spec->containers));
	if (!spec || !spec->containers)
		abort();
	snprintf(spec->uid, sizeof(spec->uid), "uid-%s", name);
	snprintf(spec->namespace, sizeof(spec->namespace), "default");
	snprintf(spec->name, sizeof(spec->name), "%s", name);
	spec->request = spec->limit = spec->overhead = RESOURCES_UNSET;
	spec->nr_containers = 1;
	snprintf(spec->containers->name, sizeof(spec->containers->name), "%s", container);
	spec->containers->kind = CONTAINER_APP;
	spec->containers->request = spec->containers->limit = RESOURCES_UNSET;
	spec->containers->request.cpu_mcpu = cpu_mcpu;
	spec->containers->request.memory_bytes = 64 << 20;
	if (guaranteed)
		spec->containers->limit = spec->containers->request;
	return spec;
}

#endif
