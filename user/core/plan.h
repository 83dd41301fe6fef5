/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordered steps from what the kernel has to what the ledger says.
 *
 * Desired and observed are the same kind of tree: cgroups by relative path with
 * the text of the files we own. The difference, in an order that never lets two
 * owners meet: strangers shrink before the owner grows, memory nodes grow
 * before CPUs move there, parents before children on the way in, children
 * before parents on the way out. Pure: paths are only names here.
 */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include "core/ledger.h"

/* The files pinfold may own. Order is the order of writing inside one cgroup. */
enum group_file {
	GROUP_CPUSET_MEMS,
	GROUP_CPUSET_CPUS,
	GROUP_CPUSET_PARTITION,
	GROUP_CPU_WEIGHT,
	GROUP_CPU_MAX,
	GROUP_MEMORY_MAX,
	GROUP_FILE_NR
};
const char *group_file_name(enum group_file file); /* "cpuset.cpus", … */

#define GROUP_PATH_MAX 512

enum group_role {
	GROUP_ROOT, /* the workload root */
	GROUP_POD,
	GROUP_SHARED, /* the shared level of a bubble: pod's quota binds it */
	GROUP_CONTAINER,
	GROUP_ROLE_NR
};

struct group {
	char path[GROUP_PATH_MAX]; /* relative to the cgroup mount, no leading slash */
	enum group_role role;
	char uid[POD_UID_MAX];		    /* "" for the root */
	char container[POD_CONTAINER_NAME]; /* "" above containers */
	/* NULL = not ours (desired) or not there / not readable (observed); owned */
	char *files[GROUP_FILE_NR];
	bool populated;	   /* observed only */
	bool unseen;	   /* observed only: neither this nor what is below was looked at */
	bool is_exclusive; /* desired only: its CPUs are nobody else's */
};

struct group_tree {
	uint32_t nr_groups; /* parents before children */
	uint32_t capacity;
	struct group *groups;
};

void group_tree_fini(struct group_tree *tree);
/* Appends an empty group, NULL = no memory. */
struct group *group_tree_add(struct group_tree *tree, enum group_role role, const char *path);
struct group *group_tree_find(const struct group_tree *tree, const char *path);

/* How the tree of our own hierarchy looks; the cgroup room supplies it. */
struct plan_layout {
	/* "pinfold.slice" */
	char root[128];
	/* systemd: names carry .slice/.scope suffixes; else plain directories */
	bool systemd;
	/* tier 1: the root is a local root partition of all CPUs but the reserved */
	bool root_partition;
};

/*
 * What the tree should be; values in the form in which the kernel prints them.
 *
 * Quotas: an exclusive container has cpu.max "max 100000", and so has its pod.
 * Where the pod itself has a CPU limit, its other containers live below a level
 * of their own whose quota is the limit less the exclusive CPUs, so the budget
 * binds them without ever throttling the exclusive ones. With compatibility
 * kubelet-1.36 the kubelet's own quotas, and no such level.
 *
 * Only the root and the containers have cpusets: pods and levels hold no tasks,
 * and each list less is a moment less in which two could disagree. cpuset.mems
 * is written always.
 *
 * -EEXIST: two pods or containers have one name after replacing what a unit
 * name may not contain; -ENAMETOOLONG, -ENOMEM.
 */
int plan_desired(const struct ledger *ledger, const struct plan_layout *layout,
		 struct group_tree *ret_tree);

/*
 * cgroup v2 weight of a CPU request, runc's formula since 1.3.2: a quadratic in
 * log2 of the shares that meets 2 -> 1, 1024 -> 100, 262144 -> 10000
 * (opencontainers/cgroups, ConvertCPUSharesToCgroupV2Value).
 */
uint64_t plan_cpu_weight(int64_t request_mcpu);

enum step_kind { STEP_CREATE, STEP_WRITE, STEP_REMOVE, STEP_KIND_NR };

struct step {
	enum step_kind kind;
	enum group_role role;
	enum group_file file; /* STEP_WRITE */
	char path[GROUP_PATH_MAX];
	char uid[POD_UID_MAX]; /* a failed step stops its pod's chain only; "" = root */
	char container[POD_CONTAINER_NAME];
	char *value; /* STEP_WRITE; owned by the plan */
	char *old;   /* STEP_WRITE: observed before, NULL = none */
};

struct plan {
	uint32_t nr_steps;
	struct step *steps;
};

void plan_fini(struct plan *plan);
/*
 * The steps in order: empty groups that nobody wants go; groups are made,
 * parents first; memory nodes grow; CPU sets move; memory nodes shrink; the
 * rest. A populated group that is not desired is never removed; it loses the
 * CPUs that are exclusive, unless it would have none then.
 *
 * Two containers are apart when their desired sets have no CPU in common. A
 * meeting is a CPU that two have who are apart. A step adds a meeting when there
 * was none of these two on this CPU before it. An order is safe when no step of
 * it adds one; a write may hold any CPUs that some container has or will have,
 * or that the root has, never none.
 *
 * The plan is safe whenever it starts without a meeting and a safe order exists.
 * One exists when there is nothing to do, or when there are more such CPUs than
 * owners, where containers with CPUs in common count as one owner. Otherwise
 * every owner has exactly one CPU and cannot leave it; then each circle of
 * owners is opened by one write that adds a meeting. (This takes sharing to be
 * transitive, as it is inside a pool. Init containers, whose CPUs later ones
 * reuse, are not; tests/unit/test_plan.c plays them at random.)
 *
 * Meetings found at the start are somebody else's doing. They end in the course
 * of the writes that are needed anyway, or by an additional write where these
 * would have to wait. In all worlds of 3 containers on 4 CPUs no plan adds a
 * meeting that any order avoids, whatever the start; it has at most 1 write more
 * than the shortest safe order from a lawful state and 4 from any other; and
 * meetings end at most 3 writes later than they can (tests/exhaustive/plans.c).
 *
 * -ENOMEM. Equal trees give an empty plan.
 */
int plan_make(const struct group_tree *desired, const struct group_tree *observed,
	      struct plan *ret_plan);

#endif
