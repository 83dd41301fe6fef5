// SPDX-License-Identifier: Apache-2.0
/*
 * Builds the tree of cgroups that a ledger asks for: names, quotas, weights. plan.c
 * computes the steps to reach it.
 */
#include "core/plan/plan.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The kernel's default, which it prints after "max". The kernel rejects quotas below 1 ms. */
#define PERIOD_US    100000
#define MIN_QUOTA_US 1000
/* The kernel stores memory.max in pages. Comparisons allow for larger page sizes. */
#define PAGE_BYTES 4096

const char *group_file_name(enum group_file file)
{
	static const char *const names[] = {
		[GROUP_CPUSET_MEMS] = "cpuset.mems",
		[GROUP_CPUSET_CPUS] = "cpuset.cpus",
		[GROUP_CPUSET_PARTITION] = "cpuset.cpus.partition",
		[GROUP_CPU_WEIGHT] = "cpu.weight",
		[GROUP_CPU_MAX] = "cpu.max",
		[GROUP_MEMORY_MAX] = "memory.max",
		[GROUP_FREEZE] = "cgroup.freeze",
		[GROUP_MEMBERS] = "cgroup.procs",
	};

	_Static_assert(ARRAY_SIZE(names) == GROUP_ATTRIBUTE_NR, "a name for each file");
	return names[file];
}

void group_fini(struct group *group)
{
	free(group->path);
	for (int file = 0; file < GROUP_FILE_NR; file++)
		free(group->files[file]);
}

void group_tree_fini(struct group_tree *tree)
{
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		group_fini(&tree->groups[i]);
	free(tree->groups);
	*tree = (struct group_tree){0};
}

void group_tree_drop(struct group_tree *tree, const char *path)
{
	size_t len = strlen(path);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < tree->nr_groups; i++) {
		struct group *group = &tree->groups[i];

		if (!strncmp(group->path, path, len) &&
		    (group->path[len] == '/' || !group->path[len]))
			group_fini(group);
		else
			tree->groups[nr++] = *group;
	}
	tree->nr_groups = nr;
}

struct group *group_tree_add(struct group_tree *tree, enum group_role role, const char *path)
{
	char *copy;

	if (tree->nr_groups == tree->capacity) {
		uint32_t capacity = tree->capacity ? tree->capacity * 2 : 16;
		struct group *grown = realloc(tree->groups, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		tree->groups = grown;
		tree->capacity = capacity;
	}
	/* Most paths are much shorter than the longest one, and the agent keeps three trees. */
	copy = strdup(path);
	if (!copy)
		return NULL;
	tree->groups[tree->nr_groups] = (struct group){.path = copy, .role = role};
	return &tree->groups[tree->nr_groups++];
}

struct group *group_tree_find(const struct group_tree *tree, const char *path)
{
	for (uint32_t i = 0; i < tree->nr_groups; i++) {
		if (!strcmp(tree->groups[i].path, path))
			return &tree->groups[i];
	}
	return NULL;
}

uint64_t plan_cpu_weight(int64_t request_mcpu)
{
	double shares = floor((double)request_mcpu * 1024 / 1000);
	double log_shares;

	if (shares <= 2)
		return 1;
	if (shares >= 262144)
		return 10000;
	log_shares = log2(shares);
	return (uint64_t)ceil(
		pow(10, (log_shares * log_shares + 125 * log_shares) / 612 - 7.0 / 34));
}

/* The state of one call of plan_desired. Only the first failure is kept. */
struct build {
	const struct ledger *ledger;
	const struct plan_layout *layout;
	const struct cpuset *online; /* NULL = all */
	struct group_tree tree;
	char all_mems[CPUSET_TEXT_MAX];
	char cpus[CPUSET_TEXT_MAX]; /* scratch */
	int error;
};

static void fail(struct build *build, int error)
{
	if (!build->error)
		build->error = error;
}

static void set_file(struct build *build, struct group *group, enum group_file file,
		     const char *value)
{
	if (!group)
		return;
	free(group->files[file]);
	group->files[file] = strdup(value);
	if (!group->files[file])
		fail(build, -ENOMEM);
}

static void set_cpus(struct build *build, struct group *group, const struct cpuset *cpus)
{
	/* Never write an empty set: the kernel would use the parent's set instead. */
	if (cpuset_is_empty(cpus))
		return;
	cpuset_format(cpus, build->cpus, sizeof(build->cpus));
	set_file(build, group, GROUP_CPUSET_CPUS, build->cpus);
}

static void set_quota(struct build *build, struct group *group, int64_t limit_mcpu)
{
	char text[48];
	int64_t quota_us;

	if (limit_mcpu < 0) {
		snprintf(text, sizeof(text), "max %d", PERIOD_US);
	} else {
		quota_us = limit_mcpu > INT64_MAX / (PERIOD_US / 1000)
				   ? INT64_MAX
				   : limit_mcpu * (PERIOD_US / 1000);
		if (quota_us < MIN_QUOTA_US)
			quota_us = MIN_QUOTA_US;
		snprintf(text, sizeof(text), "%lld %d", (long long)quota_us, PERIOD_US);
	}
	set_file(build, group, GROUP_CPU_MAX, text);
}

static void set_weight(struct build *build, struct group *group, int64_t request_mcpu)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)plan_cpu_weight(request_mcpu));
	set_file(build, group, GROUP_CPU_WEIGHT, text);
}

static void set_memory(struct build *build, struct group *group, int64_t limit_bytes)
{
	char text[24] = "max";

	if (limit_bytes > 0)
		snprintf(text, sizeof(text), "%lld",
			 (long long)(limit_bytes / PAGE_BYTES * PAGE_BYTES));
	set_file(build, group, GROUP_MEMORY_MAX, text);
}

__attribute__((format(printf, 5, 6))) static struct group *
add_group(struct build *build, enum group_role role, const char *uid, const char *container,
	  const char *format, ...)
{
	char path[GROUP_PATH_MAX];
	struct group *group;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if ((size_t)length >= sizeof(path)) {
		fail(build, -ENAMETOOLONG);
		return NULL;
	}
	group = group_tree_add(&build->tree, role, path);
	if (!group) {
		fail(build, -ENOMEM);
		return NULL;
	}
	snprintf(group->uid, sizeof(group->uid), "%s", uid);
	snprintf(group->container, sizeof(group->container), "%s", container);
	set_file(build, group, GROUP_FREEZE, "0");
	return group;
}

/* In a slice's name '-' means nesting, and '/' would mean a directory. */
static void unit_text(const char *text, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s", text);
	for (char *c = buffer; *c; c++) {
		if (*c == '-' || *c == '/')
			*c = '_';
	}
}

/* "a/pinfold.slice" -> "pinfold": the prefix of the names of the units below it. */
static void unit_prefix(const char *root, char *buffer, size_t size)
{
	const char *base = strrchr(root, '/');
	char *suffix;

	snprintf(buffer, size, "%s", base ? base + 1 : root);
	suffix = strstr(buffer, ".slice");
	if (suffix)
		*suffix = '\0';
}

struct pod_names {
	char unit[POD_UID_MAX]; /* the uid as part of a unit name */
	char prefix[128];	/* of units */
	char pod[GROUP_PATH_MAX];
	char shared[GROUP_PATH_MAX]; /* the level of the shared containers */
};

static void name_pod(const struct plan_layout *layout, const char *uid, struct pod_names *ret_names)
{
	struct pod_names *names = ret_names;

	unit_text(uid, names->unit, sizeof(names->unit));
	unit_prefix(layout->root, names->prefix, sizeof(names->prefix));
	if (layout->systemd) {
		snprintf(names->pod, sizeof(names->pod), "%s/%s-pod%s.slice", layout->root,
			 names->prefix, names->unit);
		snprintf(names->shared, sizeof(names->shared), "%.300s/%.120s-pod%s-shared.slice",
			 names->pod, names->prefix, names->unit);
	} else {
		snprintf(names->pod, sizeof(names->pod), "%s/pod%s", layout->root, uid);
		snprintf(names->shared, sizeof(names->shared), "%.300s/shared", names->pod);
	}
}

static struct group *add_container(struct build *build, const struct pod_names *names,
				   const char *parent, const struct ledger_pod *pod,
				   const char *container)
{
	/*
	 * A container with the name of the shared level gets a name that no other
	 * container can have.
	 */
	const char *folder = strcmp(container, "shared") ? container : "_shared";

	if (build->layout->systemd)
		return add_group(build, GROUP_CONTAINER, pod->spec->uid, container,
				 "%s/%s-%s-%s.scope", parent, names->prefix, names->unit,
				 container);
	return add_group(build, GROUP_CONTAINER, pod->spec->uid, container, "%s/%s", parent,
			 folder);
}

/* What decides the quotas of one pod. */
struct pod_quota {
	int64_t limit_mcpu; /* of the pod; -1 = none */
	bool has_exclusive; /* of any container, including init containers */
	bool all_exclusive;
	bool kubelet;		  /* use the kubelet's rules */
	bool has_level;		  /* the shared containers have a separate level */
	int64_t level_limit_mcpu; /* of that level */
	int64_t level_request_mcpu;
	int64_t init_limit_mcpu; /* of a shared ordinary init container; -1 = none */
};

static int64_t positive(int64_t value)
{
	return value > 0 ? value : 0;
}

static struct pod_quota quota_of(const struct build *build, const struct ledger_pod *pod)
{
	struct pod_totals totals = pod_totals(pod->spec);
	struct pod_quota quota = {
		.limit_mcpu = totals.cpu_limit_mcpu,
		.all_exclusive = true,
		.kubelet = compatibility_is_kubelet(ledger_policy(build->ledger)->compatibility),
		.level_limit_mcpu = totals.cpu_limit_mcpu,
		.init_limit_mcpu = totals.cpu_limit_mcpu,
	};
	bool has_shared = false, has_pod_limit;

	has_pod_limit = pod->spec->has_pod_resources && pod->spec->limit.cpu_mcpu > 0;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		int64_t request = positive(pod->spec->containers[i].request.cpu_mcpu);

		if (grant->isolation != ISOLATION_CONTAINER) {
			quota.all_exclusive = false;
			has_shared |= grant->kind != CONTAINER_INIT;
			if (grant->kind != CONTAINER_INIT)
				quota.level_request_mcpu += request;
			continue;
		}
		quota.has_exclusive = true;
		if (grant->kind == CONTAINER_INIT)
			continue;
		quota.level_limit_mcpu -= request;
		if (grant->kind == CONTAINER_SIDECAR)
			quota.init_limit_mcpu -= request;
	}
	quota.has_level = !quota.kubelet && has_pod_limit && quota.has_exclusive && has_shared;
	if (!has_pod_limit || !quota.has_exclusive || quota.kubelet)
		quota.init_limit_mcpu = -1;
	else
		quota.init_limit_mcpu = positive(quota.init_limit_mcpu);
	/*
	 * If nothing is left, which only container scope permits, use the kernel's
	 * smallest quota.
	 */
	quota.level_limit_mcpu = positive(quota.level_limit_mcpu);
	return quota;
}

static int64_t pod_quota_mcpu(const struct ledger_pod *pod, const struct pod_quota *quota)
{
	bool dropped = quota->kubelet && pod->spec->has_pod_resources ? quota->all_exclusive
								      : quota->has_exclusive;

	return dropped ? -1 : quota->limit_mcpu;
}

static int64_t container_quota_mcpu(const struct ledger_pod *pod, uint32_t index,
				    const struct pod_quota *quota)
{
	const struct grant *grant = &pod->grants[index];
	int64_t own = pod->spec->containers[index].limit.cpu_mcpu;

	if (grant->isolation == ISOLATION_CONTAINER)
		return -1;
	if (own <= 0)
		own = -1;
	if (quota->kubelet && own < 0 && pod->spec->has_pod_resources &&
	    pod->spec->limit.cpu_mcpu > 0)
		return pod->spec->limit.cpu_mcpu;
	if (grant->kind == CONTAINER_INIT && quota->init_limit_mcpu >= 0 &&
	    (own < 0 || quota->init_limit_mcpu < own))
		return quota->init_limit_mcpu;
	return own;
}

/* The CPUs to write for a container: those of its grant, or a substitute while they are offline. */
static const struct cpuset *cpus_of_container(const struct build *build, const struct grant *grant)
{
	const struct cpuset *cpus = ledger_effective(build->ledger, grant);
	const struct cpuset *pool = ledger_shared_pool(build->ledger);

	if (!build->online || cpuset_intersects(cpus, build->online) ||
	    !cpuset_intersects(pool, build->online))
		return cpus;
	return pool;
}

static void build_container(struct build *build, const struct pod_names *names, const char *parent,
			    const struct ledger_pod *pod, uint32_t index,
			    const struct pod_quota *quota)
{
	const struct container_spec *spec = &pod->spec->containers[index];
	const struct grant *grant = &pod->grants[index];
	const struct cpuset *cpus = cpus_of_container(build, grant);
	struct group *group = add_container(build, names, parent, pod, grant->container);

	if (!group)
		return;
	group->is_exclusive = grant->isolation == ISOLATION_CONTAINER && cpus == grant->cpus;
	if (grant->mems) {
		struct cpuset ids;

		topology_mems_of_mask(ledger_topology(build->ledger), grant->mems, &ids);
		cpuset_format(&ids, build->cpus, sizeof(build->cpus));
		set_file(build, group, GROUP_CPUSET_MEMS, build->cpus);
	} else {
		set_file(build, group, GROUP_CPUSET_MEMS, build->all_mems);
	}
	set_cpus(build, group, cpus);
	set_weight(build, group, spec->request.cpu_mcpu);
	set_quota(build, group, container_quota_mcpu(pod, index, quota));
	set_memory(build, group, spec->limit.memory_bytes);
}

static bool is_below_level(const struct grant *grant, const struct pod_quota *quota)
{
	return quota->has_level && grant->isolation != ISOLATION_CONTAINER &&
	       grant->kind != CONTAINER_INIT;
}

static bool is_of_pod(const struct group *group, const char *uid)
{
	return group->role == GROUP_CONTAINER && !strcmp(group->uid, uid);
}

/* Do other containers of the pod, whose groups begin at `first`, have CPUs of this one? */
static bool are_reused(const struct build *build, uint32_t first, const struct group *group)
{
	struct cpuset cpus = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]), others;

	for (uint32_t i = first; i < build->tree.nr_groups; i++) {
		const struct group *other = &build->tree.groups[i];

		others = cpuset_of_text(other->files[GROUP_CPUSET_CPUS]);
		if (other != group && other->role == GROUP_CONTAINER &&
		    cpuset_intersects(&others, &cpus))
			return true;
	}
	return false;
}

static enum isolation_gap find_gap(const struct build *build, uint32_t first,
				   const struct cpuset *of_pod, const struct group *group)
{
	struct cpuset cpus = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]);

	if (cpuset_intersects(of_pod, ledger_shared_pool(build->ledger)))
		return ISOLATION_GAP_POOL;
	if (are_reused(build, first, group))
		return ISOLATION_GAP_REUSED;
	if (build->online && !cpuset_is_subset(&cpus, build->online))
		return ISOLATION_GAP_OFFLINE;
	return ISOLATION_GAP_NONE;
}

/* The groups of the pod are the last ones of the tree, from `first` on. */
static void isolate_pod(struct build *build, uint32_t first, const char *uid)
{
	struct cpuset of_pod = CPUSET_EMPTY;
	bool is_partition = false;

	for (uint32_t i = first; i < build->tree.nr_groups; i++) {
		const struct group *group = &build->tree.groups[i];
		struct cpuset cpus = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]);

		if (is_of_pod(group, uid))
			cpuset_union(&of_pod, &cpus);
	}
	for (uint32_t i = first; i < build->tree.nr_groups; i++) {
		struct group *group = &build->tree.groups[i];
		bool is_isolated;

		if (!is_of_pod(group, uid))
			continue;
		if (group->is_exclusive)
			group->gap = find_gap(build, first, &of_pod, group);
		is_isolated = group->is_exclusive && group->gap == ISOLATION_GAP_NONE;
		is_partition |= is_isolated;
		set_file(build, group, GROUP_CPUSET_PARTITION, is_isolated ? "isolated" : "member");
	}
	if (is_partition)
		set_cpus(build, &build->tree.groups[first], &of_pod);
	set_file(build, &build->tree.groups[first], GROUP_CPUSET_PARTITION,
		 is_partition ? "root" : "member");
}

static void build_pod(struct build *build, const struct ledger_pod *pod)
{
	const uint32_t first = build->tree.nr_groups;
	struct pod_totals totals = pod_totals(pod->spec);
	struct pod_quota quota = quota_of(build, pod);
	struct pod_names names;
	struct group *group;

	name_pod(build->layout, pod->spec->uid, &names);
	group = add_group(build, GROUP_POD, pod->spec->uid, "", "%s", names.pod);
	set_weight(build, group, totals.cpu_request_mcpu);
	set_quota(build, group, pod_quota_mcpu(pod, &quota));
	set_memory(build, group, totals.memory_limit_bytes);
	if (quota.has_level) {
		group = add_group(build, GROUP_SHARED, pod->spec->uid, "", "%s", names.shared);
		set_weight(build, group, quota.level_request_mcpu);
		set_quota(build, group, quota.level_limit_mcpu);
	}
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const char *parent = is_below_level(&pod->grants[i], &quota) ? names.shared
									     : names.pod;

		build_container(build, &names, parent, pod, i, &quota);
	}
	if (build->layout->root_partition && build->layout->isolated && !build->error)
		isolate_pod(build, first, pod->spec->uid);
}

static void build_root(struct build *build)
{
	const struct cpu_manager *manager = ledger_cpu_manager(build->ledger);
	const struct plan_layout *layout = build->layout;
	struct group *group = add_group(build, GROUP_ROOT, "", "", "%s", layout->root);
	struct cpuset cpus;

	cpu_initial_pool(manager, &cpus);
	if (layout->root_partition)
		cpuset_subtract(&cpus, &manager->reserved);
	set_cpus(build, group, &cpus);
	set_file(build, group, GROUP_CPUSET_PARTITION, layout->root_partition ? "root" : "member");
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_names(struct build *build)
{
	const char **paths cleanup_free = calloc(build->tree.nr_groups, sizeof(*paths));

	if (!paths)
		return fail(build, -ENOMEM);
	for (uint32_t i = 0; i < build->tree.nr_groups; i++)
		paths[i] = build->tree.groups[i].path;
	qsort(paths, build->tree.nr_groups, sizeof(paths[0]), compare_paths);
	for (uint32_t i = 1; i < build->tree.nr_groups; i++) {
		if (!strcmp(paths[i - 1], paths[i]))
			fail(build, -EEXIST);
	}
}

/*
 * cpuset.mems may not contain nodes without memory (EINVAL). If all nodes have 0 bytes,
 * the sizes are not known.
 */
static void list_memory_nodes(const struct topology *topology, char *buffer, size_t size)
{
	struct cpuset ids = CPUSET_EMPTY, with_memory = CPUSET_EMPTY;

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		cpuset_add(&ids, topology->memory_nodes[i].id);
		if (topology->memory_nodes[i].memory_bytes)
			cpuset_add(&with_memory, topology->memory_nodes[i].id);
	}
	cpuset_format(cpuset_is_empty(&with_memory) ? &ids : &with_memory, buffer, size);
}

int plan_desired(const struct ledger *ledger, const struct plan_layout *layout,
		 const struct cpuset *online, struct group_tree *ret_tree)
{
	struct build *build cleanup_free = calloc(1, sizeof(*build));

	if (!build)
		return -ENOMEM;
	build->ledger = ledger;
	build->layout = layout;
	build->online = online;
	list_memory_nodes(ledger_topology(ledger), build->all_mems, sizeof(build->all_mems));
	build_root(build);
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);

		/* Its cgroups are the runtime's, and are neither made nor written here. */
		if (!pod->spec->is_of_runtime)
			build_pod(build, pod);
	}
	if (!build->error)
		check_names(build);
	if (build->error) {
		group_tree_fini(&build->tree);
		return build->error;
	}
	*ret_tree = build->tree;
	return 0;
}
