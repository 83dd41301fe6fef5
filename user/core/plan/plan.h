/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the ordered steps that bring the kernel's cgroups into the state that the
 * ledger asks for.
 *
 * The desired and the observed state are trees of the same type: cgroups by relative
 * path, with the contents of the files that pinfold manages. The steps are ordered so
 * that no two exclusive owners ever share a CPU in between: other groups shrink before
 * the owner grows, memory nodes are added before CPUs move to them, parents are created
 * before children, and children are removed before parents. The code is pure; it treats
 * paths as names and opens no files.
 */
#ifndef CORE_PLAN_PLAN_H
#define CORE_PLAN_PLAN_H

#include "core/ledger/ledger.h"

/* The files that pinfold may manage, in the order in which they are written within a cgroup. */
enum group_file {
	GROUP_CPUSET_MEMS,
	GROUP_CPUSET_CPUS,
	GROUP_CPUSET_PARTITION,
	GROUP_CPU_WEIGHT,
	GROUP_CPU_MAX,
	GROUP_MEMORY_MAX,
	GROUP_FREEZE, /* nothing that pinfold does freezes a cgroup, so it is always to be "0" */
	GROUP_FILE_NR,
	/* What follows is only an attribute of drift and events: no plan writes it, no look reads it. */
	GROUP_MEMBERS = GROUP_FILE_NR, /* who is in the cgroup */
	GROUP_ATTRIBUTE_NR
};
const char *group_file_name(enum group_file file); /* "cpuset.cpus", … */

#define GROUP_PATH_MAX 512

enum group_role {
	GROUP_ROOT, /* the workload root */
	GROUP_POD,
	GROUP_SHARED, /* the level of a pod's shared containers; carries their quota */
	GROUP_CONTAINER,
	GROUP_ROLE_NR
};

/* Why an exclusive container is not an isolated partition although the layout asks for it. */
enum isolation_gap {
	ISOLATION_GAP_NONE,
	ISOLATION_GAP_POOL,    /* a container of its pod uses the shared pool of the node */
	ISOLATION_GAP_REUSED,  /* another container of its pod has some of its CPUs as well */
	ISOLATION_GAP_OFFLINE, /* some of its CPUs are offline */
	ISOLATION_GAP_NR
};

struct group {
	/* Owned: relative to the cgroup mount, no leading slash, shorter than GROUP_PATH_MAX. */
	char *path;
	enum group_role role;
	char uid[POD_UID_MAX];		    /* "" for the root */
	char container[POD_CONTAINER_NAME]; /* "" above containers */
	/* Owned. NULL = not managed (desired), or missing or unreadable (observed). */
	char *files[GROUP_FILE_NR];
	bool populated;		/* observed only */
	bool unseen;		/* observed only: neither this group nor its subtree was read */
	bool is_exclusive;	/* desired only: no other container may use its CPUs */
	enum isolation_gap gap; /* desired only, of an exclusive container */
};

struct group_tree {
	/* Parents before children. Desired: with all parents below the root, uids ascending (strcmp). */
	uint32_t nr_groups;
	uint32_t capacity;
	struct group *groups;
};

/* Free what the group owns; it must not be used afterwards. */
void group_fini(struct group *group);
/* Free the groups with what they own; the tree is empty afterwards. */
void group_tree_fini(struct group_tree *tree);
#define cleanup_tree cleanup(group_tree_fini)
/* Append an empty group with a copy of the path, shorter than GROUP_PATH_MAX. NULL = no memory. */
struct group *group_tree_add(struct group_tree *tree, enum group_role role, const char *path);
/* Remove a group and its whole subtree from the tree. */
void group_tree_drop(struct group_tree *tree, const char *path);
/* By its whole path; NULL = it is not in the tree. Valid until the tree is changed. */
struct group *group_tree_find(const struct group_tree *tree, const char *path);

/* The layout of the hierarchy that pinfold manages; user/cgroup supplies it. */
struct plan_layout {
	/* "pinfold.slice" */
	char root[128];
	/* True: names carry .slice and .scope suffixes. False: plain directories. */
	bool systemd;
	/* True: the root is a local root partition of all CPUs except the reserved ones. */
	bool root_partition;
	/* True: exclusive containers are isolated partitions below it, where their pod permits. */
	bool isolated;
};

/*
 * Build the desired tree, which has no pod of a container runtime. Values have the form in
 * which the kernel prints them.
 *
 * Quotas: an exclusive container and its pod have cpu.max "max 100000". If the pod itself
 * has a CPU limit, its other containers live in a separate group whose quota is the limit
 * minus the exclusive CPUs. The budget then limits them and never throttles the exclusive
 * containers. Compatibility kubelet-1.36 uses the kubelet's quotas and has no such group.
 *
 * Only the root, the containers and pods that are partitions have CPU lists. Other pods and
 * shared levels hold no tasks, and every further list could temporarily contradict another
 * one during an update. cpuset.mems is always written. No group is to be frozen.
 *
 * With `isolated`, an exclusive container is an isolated partition, and its pod is a root
 * partition that has the CPUs of all its containers. A pod that uses the node's shared pool
 * cannot be one, because its partition would take those CPUs from the others. Nor can a
 * container be isolated that shares CPUs with another one of its pod, because partitions
 * are exclusive, or while some of its CPUs are offline: Linux 6.12 and 7.2 do not isolate a
 * CPU again that comes back to a partition that lost all of them. `gap` says which it is.
 *
 * A container whose CPUs are all offline gets the shared pool until one of them is `online`
 * again (NULL = all are), because the kernel would let it run on all CPUs of the root, other
 * containers' exclusive CPUs among them. If the pool is offline as well, nothing better can
 * be written and the list stays as granted.
 *
 * Returns -EEXIST if two pods or containers have the same name after characters that a
 * unit name may not contain are replaced; -ENAMETOOLONG; -ENOMEM.
 */
int plan_desired(const struct ledger *ledger, const struct plan_layout *layout,
		 const struct cpuset *online, struct group_tree *ret_tree);

/*
 * The cgroup v2 weight of a CPU request. This is runc's formula since 1.3.2: a quadratic
 * function of log2 of the shares that maps 2 to 1, 1024 to 100 and 262144 to 10000
 * (opencontainers/cgroups, ConvertCPUSharesToCgroupV2Value).
 */
uint64_t plan_cpu_weight(int64_t request_mcpu);

enum step_kind { STEP_CREATE, STEP_WRITE, STEP_REMOVE, STEP_KIND_NR };

struct step {
	enum step_kind kind;
	enum group_role role;
	enum group_file file; /* STEP_WRITE */
	char path[GROUP_PATH_MAX];
	char uid[POD_UID_MAX]; /* a failed step stops only its pod's chain; "" = root */
	char container[POD_CONTAINER_NAME];
	char *value; /* STEP_WRITE; owned by the plan */
	char *old;   /* STEP_WRITE: the observed value, NULL = none */
};

/* Is it the write that ends a partition, or that makes one? */
bool step_ends_partition(const struct step *step);
bool step_makes_partition(const struct step *step);
/*
 * Is it one of several writes of a file that has its final value already? Then it only makes
 * another step possible.
 */
bool step_is_on_the_way(const struct step *step, const char *final_value);
/* Does the kernel reject the partition, for a reason that may lie above or beside the group? */
bool group_is_invalid(const struct group *group);
/* Is the group an isolated partition that is valid, or is it to be one? NULL is none. */
bool group_is_isolated(const struct group *group);

struct plan {
	uint32_t nr_steps;
	struct step *steps;
};

/* Free the steps with their values. */
void plan_fini(struct plan *plan);
#define cleanup_plan cleanup(plan_fini)
/*
 * Compute the steps in this order: remove empty groups that are not desired; create
 * groups, parents first; add memory nodes; move CPU sets; drop memory nodes; write
 * everything else; make the partitions of pods and containers (partitions.h). A populated
 * group that is not desired is never removed. It loses the CPUs that are granted
 * exclusively, unless it would have no CPU left.
 *
 * Two containers are *apart* if their desired sets have no CPU in common. A *conflict* is
 * a CPU that two containers have although they are apart. A step adds a conflict if these
 * two did not conflict on this CPU before the step. An order is *safe* if none of its
 * steps adds a conflict. A write may contain any CPUs that some container has or will
 * have, or that the root has, and never an empty list.
 *
 * The plan is safe if the initial state has no conflict and a safe order exists. A safe
 * order exists if nothing has to change, or if there are more such CPUs than owners,
 * where containers with common CPUs count as one owner. Otherwise every owner has exactly
 * one CPU that it cannot leave, and the plan breaks each cycle of owners with one write
 * that adds a conflict. (This assumes that sharing is transitive, as it is within a pool.
 * It is not transitive for init containers, whose CPUs later containers reuse;
 * tests/unit/test_random_plans.c covers them.)
 *
 * Conflicts in the initial state were caused by another writer. The writes that are
 * needed anyway resolve them, or an additional write does where those would have to wait.
 * tests/exhaustive/plans.c proves for all states of 3 containers on 4 CPUs: no plan adds
 * a conflict that some order avoids, whatever the initial state; a plan has at most 1
 * write more than the shortest safe order from a state without conflicts and at most 4
 * more from any other; and conflicts end at most 3 writes later than possible.
 *
 * Equal trees give an empty plan. Returns 0 or -ENOMEM.
 */
int plan_make(const struct group_tree *desired, const struct group_tree *observed,
	      struct plan *ret_plan);

#endif
