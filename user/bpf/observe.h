/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of bpf/observe.bpf.c: loading, telling which cgroup is which
 * container, reading. Reading makes no system call.
 *
 * With a pin directory, programs and counters stay in the kernel when the agent
 * ends and go on counting; the next observe_open adopts them. Nothing here
 * depends on the guard or changes what runs where.
 */
#ifndef BPF_OBSERVE_H
#define BPF_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include <pinfold/abi.h>

#include "bpf/bpf_object.h"
#include "core/cpuset.h"
#include "core/topology/topology.h"
#include "format/latency.h"
#include "lib/cleanup.h"

struct observer;

struct observe_setup {
	/* Below it maps/ and links/ are used and made; on bpffs. NULL: count for this process only. */
	const char *pin_dir;
	/* Nodes and last-level caches of CPUs. Borrowed for the observer's life. */
	const struct topology *topology;
	uint32_t max_containers;
	uint32_t mask_words; /* as the other objects have it; 0: as the topology needs */
	bool adopt_only;     /* -EAGAIN instead of loading anew */
};

/*
 * Adopt what is in force, or exchange it for what we would make: slots, counts and the
 * intervals that are open go on, and no switch is lost or counted twice. Of slots that
 * another max_containers has no room for the counts are lost. Errors are logged, but for
 * -EAGAIN; they are those of bpf_object_start.
 */
int observe_open(const struct observe_setup *setup, struct observer **ret_observer);
/* Pinned programs go on counting. */
void observe_close(struct observer *observer);
DEFINE_CLEANUP(struct observer, observe_closep, observe_close);
#define cleanup_observer cleanup(observe_closep)

/* The bytes of its BPF object. */
const void *observe_elf(size_t *ret_len);
/* Its programs and pins; borrowed. NULL for no observer. */
struct bpf_object_handle *observe_handle(struct observer *observer);

struct observe_group {
	uint64_t cgroup_id; /* of the container's cgroup; cgroups below count with it */
	uint32_t level;	    /* its depth: 1 = directly below the root; at most 31 */
	uint64_t pod;	/* any number, equal for the containers of one pod; 0 = a pod of its own */
	uint64_t nodes; /* NUMA node indexes that are local to it; 0 = all */
	const struct cpuset *cpus; /* its own CPUs; time elsewhere is "outside"; NULL = none */
	bool is_only_counted;	   /* the guard must not take it for a container of ours */
};

/*
 * Slots are said in the map `managed`, which guard and watch read, too: a claim enters the
 * group there as a container's border, unless it is only counted; a release takes the slot and
 * leaves the entry.
 *
 * Give the group a slot, or update the one it has (counters go on). Slots are
 * numbered from 1; those of released groups are used again as late as possible.
 * -ENOSPC: max_containers have one already (counted, see observe_status).
 */
int observe_claim(struct observer *observer, const struct observe_group *group, uint32_t *ret_slot);
/* Forget the group; its counts are gone. Its tasks, if any, count as the host's. -ENOENT. */
int observe_release(struct observer *observer, uint64_t cgroup_id);
/* Release every group whose id is not among the `nr` ids. */
void observe_retain(struct observer *observer, const uint64_t *cgroup_ids, uint32_t nr);
/* -ENOENT. */
int observe_find(const struct observer *observer, uint64_t cgroup_id, uint32_t *ret_slot);

/* One container since its slot was given, the interval it is running right now included. */
struct observe_usage {
	/* Their sum is all its run time. What was near or far is judged by the nodes of that time. */
	uint64_t run_local_ns, run_remote_ns, run_outside_ns;
	/* Waits that are over, by enum wait_cause; their sum is all its waiting. */
	uint64_t wait_ns[WAIT_CAUSE_NR];
	uint64_t switches;
	uint64_t preemptions;
	uint64_t migrations_thread, migrations_core, migrations_llc, migrations_numa;
	uint32_t nr_cpus; /* length of the arrays */
	/*
	 * By CPU id; valid until the next call. Of run_ns, outside_ns was
	 * spent on a CPU while it was not the group's, and remote_ns on a CPU of the group that
	 * is far from its memory. Whether a CPU is far is judged by the nodes of now, so
	 * remote_ns may go back when they change. The others are the parts of wait_ns,
	 * switches, preemptions and the migrations together on the CPU.
	 */
	const uint64_t *run_ns, *outside_ns, *remote_ns, *cpu_wait_ns, *cpu_switches;
	const uint64_t *cpu_preemptions, *cpu_migrations;
};

/* All the waiting of a container: the sum of its causes. */
uint64_t observe_wait_ns(const struct observe_usage *usage);

/* Values never go back while the group has its slot. -ENOENT, -ENOMEM. */
int observe_usage(struct observer *observer, uint64_t cgroup_id, struct observe_usage *ret_usage);

/*
 * The waits of one container since its slot was given. A wait counts when it is over, so one
 * that goes on is not in it yet. Values never go back while the group has its slot, unless a sum is more
 * than 64 bits hold; that is counted, see observe_status. -ENOENT.
 */
int observe_latency(struct observer *observer, uint64_t cgroup_id, struct latency *ret_latency);

struct observe_node {
	uint64_t run_ns, wait_ns;
};

/* All containers of now, summed per NUMA node index of the topology; ret_nodes holds nodes.nr. */
void observe_nodes(struct observer *observer, struct observe_node *ret_nodes);

struct observe_status {
	bool adopted; /* the programs were there before this process */
	uint32_t nr_slots, nr_used;
	uint32_t nr_unmeasured; /* containers that were asked for and have no slot now */
	uint64_t exhausted;	/* containers that found no free slot */
	uint64_t forgotten;	/* tasks, also ended ones, whose record another task took over */
	uint64_t wrapped;	/* histograms that were read with a smaller sum than before */
	uint64_t map_bytes;	/* kernel memory of the counters, by formula */
};

/* The numbers as they are now; reads mapped memory only. */
void observe_status(const struct observer *observer, struct observe_status *ret_status);

#endif
