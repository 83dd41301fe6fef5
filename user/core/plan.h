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
	GROUP_ROOT,	 /* the workload root */
	GROUP_POD,
	GROUP_SHARED,	 /* the shared level of a bubble: pod's quota binds it */
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
	bool populated; /* observed only */
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
 * What the tree should be. Quotas: an exclusive container has cpu.max "max"; a
 * pod has one only where the kubelet's rules give it one; in our hierarchy the
 * shared part of a bubble has its own level. cpuset.mems is written always.
 */
int plan_desired(const struct ledger *ledger, const struct plan_layout *layout,
		 struct group_tree *ret_tree);

/* cgroup v2 weight of a CPU request, runc's formula since 1.3 (log2 fit, 1..10000). */
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
/* -ENOMEM. Equal trees give an empty plan. Populated groups are never removed. */
int plan_make(const struct group_tree *desired, const struct group_tree *observed,
	      struct plan *ret_plan);

#endif
