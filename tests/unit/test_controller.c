// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl format core lib
/*
 * The controller against a fake world: cgroups and the state file live in shared
 * memory, so a child can die at any call of a port and the next controller finds
 * what was left. After each write the world checks what the kernel would show:
 * no exclusive container ever shares a CPU with anybody.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "core/admit.h"
#include "ctl/controller.h"
#include "lib/log.h"
#include "lib/text.h"

#define WORLD_GROUPS 64
#define WORLD_STATE  (256 * 1024)

struct world_group {
	char path[GROUP_PATH_MAX];
	enum group_role role;
	char files[GROUP_FILE_NR][256];
	bool populated;
};

struct world {
	uint32_t nr_groups;
	struct world_group groups[WORLD_GROUPS];
	size_t state_len;
	bool has_state;
	char state[WORLD_STATE];
	int calls_left;	   /* dies at 0; negative = never */
	int observe_error; /* what a whole look answers */
	int save_error;	   /* what a save of the state answers */
	int apply_error;   /* what a write of cpuset.cpus of `apply_path` answers */
	char apply_path[GROUP_PATH_MAX];
	bool overlap_seen; /* two owners met on a CPU, once is enough */
	uint64_t now_ns, wake_ns;
	uint32_t nr_aside;
};

static struct world *world;
static struct topology *topology;

static void maybe_die(void)
{
	if (world->calls_left > 0 && --world->calls_left == 0)
		_exit(42);
}

/* --- the fake ports ------------------------------------------------------------------------------ */

static uint64_t fake_now(void *self)
{
	return world->now_ns;
}

static void fake_wake(void *self, uint64_t delay_ns)
{
	if (!world->wake_ns || world->now_ns + delay_ns < world->wake_ns)
		world->wake_ns = world->now_ns + delay_ns;
}

static void fake_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice"};
}

static struct world_group *find_group(const char *path)
{
	for (uint32_t i = 0; i < world->nr_groups; i++)
		if (!strcmp(world->groups[i].path, path))
			return &world->groups[i];
	return NULL;
}

static int fake_observe(void *self, struct group_tree *ret_tree)
{
	struct group_tree tree = {0};

	maybe_die();
	if (world->observe_error)
		return world->observe_error;
	if (!world->nr_groups)
		return -ENOENT;
	for (uint32_t i = 0; i < world->nr_groups; i++) {
		const struct world_group *from = &world->groups[i];
		struct group *group = group_tree_add(&tree, from->role, from->path);
		const char *uid = strstr(from->path, "/pod");

		/* pinfold.slice/pod<uid>/<container> */
		if (uid)
			snprintf(group->uid, sizeof(group->uid), "%.*s", (int)strcspn(uid + 4, "/"),
				 uid + 4);
		if (from->role == GROUP_CONTAINER)
			snprintf(group->container, sizeof(group->container), "%s",
				 strrchr(from->path, '/') + 1);

		group->populated = from->populated;
		for (int file = 0; file < GROUP_FILE_NR; file++)
			if (*from->files[file])
				group->files[file] = strdup(from->files[file]);
	}
	*ret_tree = tree;
	return 0;
}

static int fake_observe_group(void *self, struct group *group)
{
	const struct world_group *from = find_group(group->path);

	maybe_die();
	if (!from)
		return -ENOENT;
	group->populated = from->populated;
	for (int file = 0; file < GROUP_FILE_NR; file++)
		if (*from->files[file])
			group->files[file] = strdup(from->files[file]);
	return 0;
}

static void cpus_of(const struct world_group *group, struct cpuset *ret_cpus)
{
	const char *text = group->files[GROUP_CPUSET_CPUS];

	*ret_cpus = CPUSET_EMPTY;
	cpuset_parse(text, strlen(text), ret_cpus);
}

/* Exclusive is who has no quota and is not alone in wanting its CPUs: told by cpu.max "max". */
static void look_for_overlap(void)
{
	for (uint32_t i = 0; i < world->nr_groups; i++) {
		const struct world_group *owner = &world->groups[i];
		struct cpuset own, other;

		if (owner->role != GROUP_CONTAINER || !strstr(owner->path, "exclusive"))
			continue;
		cpus_of(owner, &own);
		for (uint32_t j = 0; j < world->nr_groups; j++) {
			if (j == i || world->groups[j].role != GROUP_CONTAINER)
				continue;
			cpus_of(&world->groups[j], &other);
			if (cpuset_intersects(&own, &other))
				world->overlap_seen = true;
		}
	}
}

static int fake_apply(void *self, const struct step *step, char error[GROUP_ERROR_MAX])
{
	struct world_group *group = find_group(step->path);

	maybe_die();
	switch (step->kind) {
	case STEP_CREATE:
		if (group)
			return -EEXIST;
		assert_true(world->nr_groups < WORLD_GROUPS);
		group = &world->groups[world->nr_groups++];
		*group = (struct world_group){.role = step->role};
		snprintf(group->path, sizeof(group->path), "%s", step->path);
		break;
	case STEP_WRITE:
		assert_non_null(group);
		if (step->file == GROUP_CPUSET_CPUS && world->apply_error &&
		    !strcmp(world->apply_path, step->path)) {
			snprintf(error, GROUP_ERROR_MAX, "%.200s: injected", step->path);
			return world->apply_error;
		}
		snprintf(group->files[step->file], sizeof(group->files[0]), "%s", step->value);
		break;
	case STEP_REMOVE:
		assert_non_null(group);
		assert_false(group->populated);
		*group = world->groups[--world->nr_groups];
		break;
	default:
		return -EINVAL;
	}
	look_for_overlap();
	maybe_die();
	return 0;
}

static int fake_status(void *self, const char *path, struct group_status *ret_status)
{
	const struct world_group *group = find_group(path);

	if (!group)
		return -ENOENT;
	*ret_status = (struct group_status){.cgroup_id = (uint64_t)(group - world->groups) + 1,
					    .level = 1,
					    .populated = group->populated};
	cpus_of(group, &ret_status->effective_cpus);
	snprintf(ret_status->partition, sizeof(ret_status->partition), "%.120s",
		 group->files[GROUP_CPUSET_PARTITION]);
	return 0;
}

static int fake_tasks(void *self, const char *path, pid_t **ret_pids, uint32_t *ret_nr)
{
	*ret_pids = NULL;
	*ret_nr = 0;
	return 0;
}

static int fake_join(void *self, const char *path, pid_t pid, int pidfd,
		     char error[GROUP_ERROR_MAX])
{
	struct world_group *group = find_group(path);
	char parent[GROUP_PATH_MAX];

	if (!group)
		return -ENOENT;
	snprintf(parent, sizeof(parent), "%s", path);
	group->populated = true;
	for (char *slash; (slash = strrchr(parent, '/'));) {
		*slash = '\0';
		group = find_group(parent);
		if (group)
			group->populated = true;
	}
	return 0;
}

static int fake_kill(void *self, const char *path)
{
	find_group(path)->populated = false;
	return 0;
}

static int fake_outsiders(void *self, uint32_t *ret_nr, char *ret_scope, size_t size)
{
	*ret_nr = 0;
	*ret_scope = '\0';
	return 0;
}

static int fake_path_of(void *self, uint64_t id, char *ret_path, size_t size)
{
	if (!id || id > world->nr_groups)
		return -ENOENT;
	snprintf(ret_path, size, "%s", world->groups[id - 1].path);
	return 0;
}

static int fake_rewatch(void *self, const struct group_tree *tree)
{
	return 0;
}

static int fake_load(void *self, char **ret_data, size_t *ret_len)
{
	if (!world->has_state)
		return -ENOENT;
	*ret_data = malloc(world->state_len + 1);
	memcpy(*ret_data, world->state, world->state_len);
	(*ret_data)[world->state_len] = '\0';
	*ret_len = world->state_len;
	return 0;
}

static int fake_save(void *self, const char *data, size_t len)
{
	maybe_die();
	if (world->save_error)
		return world->save_error;
	assert_true(len < WORLD_STATE);
	memcpy(world->state, data, len);
	world->state_len = len;
	world->has_state = true;
	maybe_die();
	return 0;
}

static int fake_set_aside(void *self, char *ret_name, size_t size)
{
	world->has_state = false;
	world->nr_aside++;
	snprintf(ret_name, size, "state.json.bad-%u", world->nr_aside);
	return 0;
}

static const struct clock_port clock_fake = {NULL, fake_now, fake_now};
static const struct loop_port loop_fake = {NULL, fake_wake};
static const struct groups_port groups_fake = {
	.layout = fake_layout,
	.observe = fake_observe,
	.observe_group = fake_observe_group,
	.apply = fake_apply,
	.status = fake_status,
	.tasks = fake_tasks,
	.join = fake_join,
	.kill = fake_kill,
	.outsiders = fake_outsiders,
	.path_of = fake_path_of,
	.rewatch = fake_rewatch,
};
static const char *fake_problem(void *self)
{
	return world->save_error == -EPERM ? "the directory is not ours" : NULL;
}

static const struct store_port store_fake = {NULL, fake_load, fake_save, fake_set_aside,
					     fake_problem};

/* --- a machine, a policy, pods ------------------------------------------------------------------- */

static struct config config;
static struct policy policy;

static void make_machine(void)
{
	struct topology_cpu cpus[16];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.num_cpus = TOPOLOGY_COUNTED,
		.num_cores = TOPOLOGY_COUNTED,
		.num_sockets = TOPOLOGY_COUNTED,
		.num_nodes = TOPOLOGY_COUNTED,
		.num_uncores = TOPOLOGY_COUNTED,
	};
	char error[256];

	/* two sockets, four cores each, two threads: siblings are neighbours */
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){i, i / 2 * 2, i / 8, i / 8, i / 8};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
}

static int set_up(void **state)
{
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_true(world != MAP_FAILED);
	world->calls_left = -1;
	world->now_ns = 1000000000ULL;
	make_machine();
	config_default(&config);
	config.policy.cpu = CPU_POLICY_STATIC;
	config.policy.cpu_options.strict_reservation = true;
	config.policy.has_reserved_list = true;
	cpuset_parse("0-1", 3, &config.policy.reserved_list);
	policy = config.policy;
	return 0;
}

static int tear_down(void **state)
{
	topology_free(topology);
	munmap(world, sizeof(*world));
	return 0;
}

static struct pod_spec *make_pod(const char *name, const char *container, int64_t cpu_mcpu,
				 bool guaranteed)
{
	struct pod_spec *spec = calloc(1, sizeof(*spec));

	snprintf(spec->uid, sizeof(spec->uid), "uid-%s", name);
	snprintf(spec->namespace, sizeof(spec->namespace), "default");
	snprintf(spec->name, sizeof(spec->name), "%s", name);
	spec->request = spec->limit = spec->overhead = RESOURCES_UNSET;
	spec->nr_containers = 1;
	spec->containers = calloc(1, sizeof(*spec->containers));
	snprintf(spec->containers->name, sizeof(spec->containers->name), "%s", container);
	spec->containers->kind = CONTAINER_APP;
	spec->containers->request = RESOURCES_UNSET;
	spec->containers->limit = RESOURCES_UNSET;
	spec->containers->request.cpu_mcpu = cpu_mcpu;
	spec->containers->request.memory_bytes = 64 << 20;
	if (guaranteed)
		spec->containers->limit = spec->containers->request;
	return spec;
}

static struct controller *start_controller(void)
{
	static const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.1",
		.boot_id = "boot",
		.revision = "test",
	};
	const struct controller_ports ports = {&clock_fake, &loop_fake, &groups_fake, NULL,
					       &store_fake};
	struct controller *controller = NULL;
	char error[256] = "";

	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static void scan(struct controller *controller, struct pod_spec *const *specs, uint32_t nr)
{
	const struct source_sink *sink = controller_source_sink(controller);
	struct source_pod pods[8] = {0};

	for (uint32_t i = 0; i < nr; i++)
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = i + 1, .name = ""};
	sink->scanned(sink->self, pods, nr, true);
	controller_wake(controller);
}

static struct json_object *query(struct controller *controller, const char *object)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;

	assert_int_equal(faces->query(faces->self, object, &json), 0);
	return json;
}

static size_t nr_rows(struct controller *controller, const char *object)
{
	struct json_object *json = query(controller, object);
	size_t nr = json_object_array_length(json);

	json_object_put(json);
	return nr;
}

static const char *file_of(const char *needle, enum group_file file)
{
	for (uint32_t i = 0; i < world->nr_groups; i++)
		if (world->groups[i].role == GROUP_CONTAINER &&
		    strstr(world->groups[i].path, needle))
			return world->groups[i].files[file];
	return NULL;
}

static void free_pods(struct pod_spec **specs, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		pod_spec_free(specs[i]);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void admits_and_applies(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "web", 500, false)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_true(world->has_state);
	controller_free(controller);
	free_pods(pods, 2);
}

static void releases_what_no_source_names(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "web", 500, false)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	scan(controller, pods + 1, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	assert_null(file_of("exclusive", GROUP_CPUSET_CPUS));
	controller_free(controller);
	free_pods(pods, 2);
}

static void an_ending_pod_keeps_its_cpus(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	struct world_group *group = NULL;

	scan(controller, pods, 1);
	for (uint32_t i = 0; i < world->nr_groups; i++) {
		group = &world->groups[i];
		group->populated = true;
	}
	scan(controller, pods, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	/* A restart does not change that. */
	controller = start_controller();
	scan(controller, pods, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	for (uint32_t i = 0; i < world->nr_groups; i++)
		world->groups[i].populated = false;
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

static void an_unreadable_directory_ends_nothing(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct source_sink *sink = controller_source_sink(controller);

	scan(controller, pods, 1);
	sink->scanned(sink->self, NULL, 0, false);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_damaged_document_ends_nothing(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct source_sink *sink = controller_source_sink(controller);
	const struct source_pod damaged = {
		.file = "pods.yaml", .line = 3, .error = "line 3: no", .name = "default/a"};

	scan(controller, pods, 1);
	sink->scanned(sink->self, &damaged, 1, true);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void drift_is_repaired_and_recorded(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = controller_groups_sink(controller);
	struct json_object *drift;

	scan(controller, pods, 1);
	for (uint32_t i = 0; i < world->nr_groups; i++)
		if (strstr(world->groups[i].path, "exclusive"))
			strcpy(world->groups[i].files[GROUP_CPUSET_CPUS], "2-15");
	sink->changed(sink->self, "pinfold.slice/x", "cpuset.cpus");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	drift = query(controller, "drift");
	assert_int_equal(json_object_array_length(drift), 1);
	json_object_put(drift);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Not even a whole look that fails is in the way of a container known to be touched. */
static void a_touched_container_comes_first(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = controller_groups_sink(controller);
	struct json_object *drift, *action;

	scan(controller, pods, 2);
	strcpy(find_group("pinfold.slice/poduid-a/exclusive")->files[GROUP_CPUSET_CPUS], "2-15");
	strcpy(find_group("pinfold.slice/poduid-b/web")->files[GROUP_CPUSET_CPUS], "2-15");
	sink->changed(sink->self, "pinfold.slice/poduid-a/exclusive", "cpuset.cpus");
	sink->changed(sink->self, "pinfold.slice/poduid-none/gone", "cpuset.cpus");
	world->observe_error = -EIO;
	controller_wake(controller);
	world->observe_error = 0;
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	drift = query(controller, "drift");
	assert_int_equal(json_object_array_length(drift), 1);
	assert_true(
		json_object_object_get_ex(json_object_array_get_idx(drift, 0), "action", &action));
	assert_string_equal(json_object_get_string(action), "repair");
	json_object_put(drift);
	/* What nobody told of is found by the whole look. */
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	controller_free(controller);
	free_pods(pods, 2);
}

static void audit_records_and_leaves_it(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};
	struct controller *controller;

	config.enforcement.cpuset_files = ENFORCEMENT_AUDIT;
	controller = start_controller();
	scan(controller, pods, 1);
	for (uint32_t i = 0; i < world->nr_groups; i++)
		if (strstr(world->groups[i].path, "exclusive"))
			strcpy(world->groups[i].files[GROUP_CPUSET_CPUS], "2-15");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	assert_int_equal(nr_rows(controller, "drift"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_state_that_cannot_be_written_admits_nothing(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	char reason[256];

	world->save_error = -ENOSPC;
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	/* Space again: the next look admits it without being asked. */
	world->save_error = 0;
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_true(faces->ready(faces->self, reason, sizeof(reason)));
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_foreign_state_directory_is_said_at_once(void **state)
{
	struct controller *controller;
	const struct faces_port *faces;
	char reason[256];

	world->save_error = -EPERM;
	controller = start_controller();
	faces = controller_faces(controller);
	scan(controller, NULL, 0);
	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	assert_non_null(strstr(reason, "the directory is not ours"));
	controller_free(controller);
}

static void a_failing_step_stops_its_pod_only(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "exclusive-too", 2000, true)};
	struct controller *controller = start_controller();

	world->apply_error = -EIO;
	scan(controller, pods, 1);
	for (uint32_t i = 0; i < world->nr_groups; i++)
		if (strstr(world->groups[i].path, "exclusive"))
			strcpy(world->apply_path, world->groups[i].path);
	for (uint32_t i = 0; i < world->nr_groups; i++)
		if (strstr(world->groups[i].path, "exclusive"))
			*world->groups[i].files[GROUP_CPUSET_CPUS] = '\0';
	scan(controller, pods, 2);
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "6-7");
	world->apply_error = 0;
	world->now_ns += 60ULL * 1000000000ULL;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 2);
}

static void a_damaged_state_is_set_aside(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	controller_free(controller);
	world->state[world->state_len / 2] ^= 1;
	controller = start_controller();
	assert_int_equal(world->nr_aside, 1);
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

static void populate(bool populated)
{
	for (uint32_t i = 0; i < world->nr_groups; i++)
		world->groups[i].populated = populated;
}

static void what_runs_keeps_its_cpus_without_a_state(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "web", 500, false),
				   make_pod("c", "exclusive-too", 4000, true)};
	struct controller *controller = start_controller();
	char weight[16];

	scan(controller, pods, 2);
	populate(true);
	snprintf(weight, sizeof(weight), "%s", file_of("uid-b", GROUP_CPU_WEIGHT));
	controller_free(controller);
	world->has_state = false;
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 2);
	/* Nor do they feel it otherwise: 64 MiB, no quota, the weight of 500m. */
	assert_string_equal(file_of("uid-a", GROUP_MEMORY_MAX), "67108864");
	assert_string_equal(file_of("uid-a", GROUP_CPU_MAX), "max 100000");
	assert_string_equal(file_of("uid-b", GROUP_MEMORY_MAX), "max");
	assert_string_equal(file_of("uid-b", GROUP_CPU_MAX), "max 100000");
	assert_string_equal(file_of("uid-b", GROUP_CPU_WEIGHT), weight);
	/* A source that names only others takes nothing from them. */
	scan(controller, pods + 2, 1);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("uid-c", GROUP_CPUSET_CPUS), "6-9");
	assert_false(world->overlap_seen);
	/* Named again, they are decided properly. */
	scan(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "pod"), 3);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("uid-b", GROUP_CPUSET_CPUS), "10-15");
	controller_free(controller);
	free_pods(pods, 3);
}

/* The n-th refusal's member as text, "null" for null. */
static void expect_refusal(struct controller *controller, size_t n, const char *key,
			   const char *wanted)
{
	struct json_object *json = query(controller, "refusal"), *value = NULL;
	const char *found;

	assert_true(n < json_object_array_length(json));
	json_object_object_get_ex(json_object_array_get_idx(json, n), key, &value);
	found = value ? json_object_get_string(value) : "null";
	assert_string_equal(found, wanted);
	json_object_put(json);
}

static void refusals_are_listed_until_they_are_none(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "big", 12000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "namespace", "default");
	expect_refusal(controller, 0, "name", "b");
	expect_refusal(controller, 0, "uid", "uid-b");
	expect_refusal(controller, 0, "file", "/etc/pinfold/pods.d/pods.yaml");
	expect_refusal(controller, 0, "line", "2");
	expect_refusal(controller, 0, "refusal", "cpus");
	expect_refusal(controller, 0, "container", "big");
	expect_refusal(controller, 0, "wanted", "12");
	expect_refusal(controller, 0, "available", "10");
	expect_refusal(controller, 0, "suggestion", "fits with 10 CPUs for container big");
	assert_int_equal(nr_rows(controller, "explain"), 2);
	/* What is suggested is done: admitted, and no longer among the refused. */
	pods[1]->containers->request.cpu_mcpu = 10000;
	pods[1]->containers->limit = pods[1]->containers->request;
	scan(controller, pods, 2);
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

static void a_refused_pod_goes_with_its_document_or_for_room(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "big", 12000, true),
				   make_pod("c", "huge", 99000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "refusal"), 2);
	scan(controller, pods, 2);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "name", "b");
	scan(controller, pods + 1, 1);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 3);
}

static void a_wrong_document_is_a_refusal(void **state)
{
	struct controller *controller = start_controller();
	const struct source_sink *sink = controller_source_sink(controller);
	const struct source_pod wrong[] = {
		{.file = "pods.yaml", .line = 3, .error = "line 5: no", .name = "default/a"},
		{.file = "pods.yaml", .line = 9, .error = "line 9: no name", .name = ""},
	};
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};

	sink->scanned(sink->self, wrong, 2, true);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "refusal"), 2);
	expect_refusal(controller, 0, "name", "a");
	expect_refusal(controller, 0, "reason", "InvalidPod");
	expect_refusal(controller, 0, "uid", "null");
	expect_refusal(controller, 1, "name", "null");
	expect_refusal(controller, 1, "line", "9");
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "refusal"), 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Once the document is damaged, what it said before is not tried again. */
static void a_damaged_document_forgets_what_it_said(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "big", 12000, true)};
	struct controller *controller = start_controller();
	const struct source_sink *sink = controller_source_sink(controller);
	const struct source_pod damaged = {
		.file = "pods.yaml", .line = 2, .error = "line 2: no", .name = "default/b"};

	scan(controller, pods, 2);
	populate(true);
	sink->scanned(sink->self, &damaged, 1, true);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	/* the last process of the other pod ends: there is room now */
	populate(false);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	assert_int_equal(nr_rows(controller, "refusal"), 1);
	expect_refusal(controller, 0, "reason", "InvalidPod");
	controller_free(controller);
	free_pods(pods, 2);
}

static void metrics_page_is_whole(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	cleanup_text struct text page = {0};

	scan(controller, pods, 1);
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_non_null(strstr(page.data, "pinfold_cpus{state=\"exclusive\"} 4\n"));
	assert_non_null(strstr(page.data, "pinfold_cpus{state=\"reserved\"} 2\n"));
	assert_non_null(strstr(page.data, "pinfold_cpus{state=\"shared\"} 10\n"));
	assert_non_null(strstr(page.data, "pinfold_admissions_total{result=\"admitted\","
					  "reason=\"none\"} 1\n"));
	controller_free(controller);
	free_pods(pods, 1);
}

/* What dies with the process is the controller; the world stays. */
static void story(void)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "web", 500, false),
				   make_pod("c", "exclusive-too", 2000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	scan(controller, pods, 3);
	scan(controller, pods + 1, 2);
	scan(controller, pods, 3);
	controller_free(controller);
	free_pods(pods, 3);
}

static int run_story_with(int calls)
{
	pid_t child;
	int status;

	memset(world->groups, 0, sizeof(world->groups));
	world->nr_groups = 0;
	world->has_state = false;
	world->calls_left = calls;
	child = fork();
	if (!child) {
		story();
		_exit(0);
	}
	waitpid(child, &status, 0);
	world->calls_left = -1;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void every_call_may_be_the_last(void **state)
{
	struct pod_spec *pods[] = {make_pod("a", "exclusive", 4000, true),
				   make_pod("b", "web", 500, false),
				   make_pod("c", "exclusive-too", 2000, true)};
	int calls = 1, status;

	do {
		struct controller *controller;
		struct cpuset a = CPUSET_EMPTY, c = CPUSET_EMPTY, web = CPUSET_EMPTY;

		status = run_story_with(calls);
		assert_true(status == 0 || status == 42);
		controller = start_controller();
		scan(controller, pods, 3);
		assert_int_equal(nr_rows(controller, "pod"), 3);
		cpuset_parse(file_of("uid-a", GROUP_CPUSET_CPUS),
			     strlen(file_of("uid-a", GROUP_CPUSET_CPUS)), &a);
		cpuset_parse(file_of("uid-c", GROUP_CPUSET_CPUS),
			     strlen(file_of("uid-c", GROUP_CPUSET_CPUS)), &c);
		cpuset_parse(file_of("web", GROUP_CPUSET_CPUS),
			     strlen(file_of("web", GROUP_CPUSET_CPUS)), &web);
		assert_int_equal(cpuset_count(&web), 8);
		assert_int_equal(cpuset_count(&a) + cpuset_count(&c), 6);
		assert_false(world->overlap_seen);
		controller_free(controller);
		calls++;
	} while (status == 42);
	print_message("died at each of %d calls\n", calls - 2);
	assert_true(calls > 30);
	free_pods(pods, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(admits_and_applies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(releases_what_no_source_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_ending_pod_keeps_its_cpus, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_unreadable_directory_ends_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_document_ends_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(drift_is_repaired_and_recorded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_touched_container_comes_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(audit_records_and_leaves_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_state_that_cannot_be_written_admits_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_foreign_state_directory_is_said_at_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_failing_step_stops_its_pod_only, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_state_is_set_aside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_runs_keeps_its_cpus_without_a_state, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(refusals_are_listed_until_they_are_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_refused_pod_goes_with_its_document_or_for_room,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_wrong_document_is_a_refusal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_document_forgets_what_it_said, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(metrics_page_is_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_call_may_be_the_last, set_up, tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
