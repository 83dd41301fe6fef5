/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one scan found on a node: the cgroups of pods and containers, and the state files of
 * the kubelet that made them. Plain data; user/discover fills it, kubelet/compare.h judges it.
 */
#ifndef KUBELET_DISCOVERY_H
#define KUBELET_DISCOVERY_H

#include "format/kubepods.h"
#include "format/rows.h"
#include "kubelet/cpu_state.h"
#include "kubelet/memory_state.h"

/* A kubelet has 110 pods by default; pods, containers and sandboxes count. */
#define DISCOVERY_MAX_ROWS 4096

/* What is known of the names that Kubernetes has for a pod or container. */
enum discovered_names {
	DISCOVERED_NAMES_NONE,	  /* no kubelet made it, so it has none */
	DISCOVERED_NAMES_UNKNOWN, /* the runtime's file could not be found or read */
	DISCOVERED_NAMES_READ,
	DISCOVERED_NAMES_NR
};

/* A pod, container or sandbox. */
struct discovered_cgroup {
	struct kubepods_name name;
	enum discovered_names names;
	/* Owned. NULL unless the names were read; `container` also for a pod and a sandbox. */
	char *namespace, *pod, *container;
	char *path; /* below the cgroup mount, without a leading slash */
	uint64_t cgroup_id;
	/* The files' contents; NULL = the cgroup has no such file, or it could not be read. */
	char *cpus, *effective_cpus, *mems, *effective_mems, *cpu_max, *memory_max;
	/*
	 * Of a container, in thousandths of a CPU, when it was made: the bundle is not written
	 * again. RESOURCE_UNSET = unknown, or at most 2m.
	 */
	int64_t cpu_request_mcpu;
	/* Of the same file; 0 = not stated. */
	int64_t made_shares, made_quota_us, made_period_us, made_memory_bytes;
	/* -1 = unknown. Tasks are those of the cgroup and of all below it. */
	int64_t cpu_weight, tasks, run_ns, throttled_ns;
};

enum kubelet_state_presence {
	KUBELET_STATE_ABSENT,
	KUBELET_STATE_READ,
	KUBELET_STATE_UNUSABLE, /* it exists; `problem` says why it was not read */
};

/* One of the kubelet's two state files. */
struct discovered_file {
	char path[ROW_PATH_MAX]; /* "" = none was to be read */
	enum kubelet_state_presence presence;
	char problem[ROW_DETAIL_MAX];
	/* It is unusable now, and what is known is what it said when it last could be read. */
	bool is_kept;
};

/* User tasks of system.slice and user.slice that may run on CPUs of containers. */
struct discovered_tasks {
	uint32_t nr;
	uint32_t pid; /* of one of them */
	char comm[32], cgroup[ROW_PATH_MAX];
	struct cpuset cpus; /* the exclusive CPUs that they may use together */
};

struct discovery {
	uint32_t nr;
	struct discovered_cgroup *rows; /* owned; ascending by path */
	/* Pods and containers beyond DISCOVERY_MAX_ROWS. */
	uint32_t nr_left_out;
	bool is_incomplete; /* not all cgroups were visited; `problem` says why */
	char problem[ROW_DETAIL_MAX];
	bool is_partial;    /* pods or containers may have been among those */
	uint32_t nr_unread; /* bundles that are left to the next scan */
	/* Names of no known form in places of pods or containers, and one of them. */
	uint32_t nr_unknown;
	char unknown[ROW_PATH_MAX];

	struct cpuset online; /* CPUs; empty = unknown */

	struct discovered_file cpu_file, memory_file;
	struct kubelet_cpu_state state;	    /* see discovery_has_state */
	struct kubelet_memory_state memory; /* of memory_file, under the same condition */
	struct discovered_tasks host_tasks;
};

/* Free the rows and the state, and leave an empty discovery. */
void discovery_fini(struct discovery *discovery);
#define cleanup_discovery cleanup(discovery_fini)

/* Append an empty row, whose path is copied. -ENOMEM; -ENOSPC: counted in nr_left_out. */
int discovery_add(struct discovery *discovery, const char *path,
		  struct discovered_cgroup **ret_row);
/* Sort by path. */
void discovery_sort(struct discovery *discovery);
/*
 * Name the pods, which have no file of their own, as their containers are named. The rows must
 * be sorted. -ENOMEM.
 */
int discovery_name_pods(struct discovery *discovery);
/* Parse the state file whatever its policy, and note what is wrong with it. -ENOMEM. */
int discovery_read_state(struct discovery *discovery, const char *data, size_t len);
/*
 * If that found the file unusable: take the state from what it contained before, which could be
 * read. A kubelet goes on with what it decided whatever happens to its file. -ENOMEM.
 */
int discovery_keep_state(struct discovery *discovery, const char *data, size_t len);
/* The same for the memory manager's file. */
int discovery_read_memory(struct discovery *discovery, const char *data, size_t len);
int discovery_keep_memory(struct discovery *discovery, const char *data, size_t len);
/* Is `state` known, from the file as it is or as it was before? */
bool discovery_has_state(const struct discovery *discovery);
/* A row of this pod that has the names of the pod; NULL = they are unknown. */
const struct discovered_cgroup *discovery_named_pod(const struct discovery *discovery,
						    const char *uid);
/* The entry of this container, by the name of both; NULL = none, or its name is unknown. */
const struct kubelet_entry *discovery_entry(const struct discovery *discovery,
					    const struct discovered_cgroup *row);
/*
 * The CPUs that the kubelet's static policy gives to a container, as the file has them; NULL =
 * unknown, or it is not the kubelet's. Borrowed from the discovery.
 */
const char *discovery_given(const struct discovery *discovery, const struct discovered_cgroup *row);
/* The nodes of this container's entry in the memory manager's file; false = it has none. */
bool discovery_given_nodes(const struct discovery *discovery, const struct discovered_cgroup *row,
			   struct cpuset *ret_nodes);
/*
 * The CPUs that the kubelet surely means this container to have now, so that they may be written
 * for it: the state file can be read as it is, the container's name is known, and it has an entry,
 * or the default set, which is not empty. What is left to such containers of a pod that has CPUs as
 * a whole is not in the file. *ret_is_own: they are of its own entry.
 */
bool discovery_planned_cpus(const struct discovery *discovery, const struct discovered_cgroup *row,
			    struct cpuset *ret_cpus, bool *ret_is_own);
/* The same for the nodes of its own entry in the memory manager's file. */
bool discovery_planned_nodes(const struct discovery *discovery, const struct discovered_cgroup *row,
			     struct cpuset *ret_nodes);
/* Is it known, and does it say that the kubelet allocates exclusive CPUs? */
bool discovery_is_static(const struct discovery *discovery);
/*
 * The CPUs that the state file gives to single containers or pods; empty without one or under
 * a policy other than static.
 */
struct cpuset discovery_exclusive(const struct discovery *discovery);

#endif
