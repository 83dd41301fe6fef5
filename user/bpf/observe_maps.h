/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer's maps as memory, shared by its two halves: observe.c loads and
 * writes, observe_read.c reads. Private to this room.
 */
#ifndef BPF_OBSERVE_MAPS_H
#define BPF_OBSERVE_MAPS_H

#include <pinfold/abi.h>

#include "bpf/observe.h"

enum observe_map {
	OBSERVE_COUNTERS,
	OBSERVE_CPUS,
	OBSERVE_PLACES,
	OBSERVE_SLOTS,
	OBSERVE_MASKS,
	OBSERVE_CONTROL,
	OBSERVE_MANAGED, /* a hash: no memory to map */
	OBSERVE_NR_MAPS
};

/* What was shown of a slot on one CPU while its counter said less. */
struct observe_floor {
	uint64_t run_ns, outside_ns;
	uint32_t cpu;
};

/* What the reader has shown of a slot: values it must not fall below. */
struct observe_shown {
	uint64_t cgroup_id; /* 0 = nothing shown yet */
	uint64_t claim;	    /* of the slot, by that cgroup */
	uint64_t run_local_ns, run_remote_ns, run_outside_ns;
	/*
	 * The NUMA nodes that were near when it was read last. When others are, what it ran until then stays
	 * what it was: `settled` has its run time on each CPU at that moment, and only what comes on top is
	 * divided by the new ones. Owned; NULL = they never changed.
	 */
	uint64_t nodes;
	uint64_t *settled;
	uint64_t settled_local_ns, settled_remote_ns;
	/* The waits as they were read last, and of which claim of the slot that was. */
	uint64_t waits_claim, nr_waits, waits_ns;
	/*
	 * Owned; by ascending CPU. A counter that has reached what was shown needs none, so there are
	 * few: the interval of only one slot is open on a CPU, and only its end is an estimate.
	 */
	struct observe_floor *floors;
	uint32_t nr_floors;
};

/* What a reader is given, which nobody has to remember; [nr_cpus] each. */
struct observe_given {
	uint64_t *run_ns; /* owned; has room for all */
	uint64_t *outside_ns, *remote_ns, *cpu_wait_ns, *cpu_switches;
	uint64_t *cpu_preemptions, *cpu_migrations;
	struct observe_floor *floors; /* owned; those that the read leaves */
};

struct observer {
	const struct topology *topology;
	struct bpf_object_handle *handle;
	int map_fds[OBSERVE_NR_MAPS]; /* the object's */
	void *memory[OBSERVE_NR_MAPS];
	size_t memory_bytes[OBSERVE_NR_MAPS];

	struct observe_counter *counters;
	struct observe_cpu *cpus;
	struct observe_place *places;
	struct observe_slot *slots;
	uint64_t *masks;
	struct observe_control *control;

	struct observe_shown *shown; /* owned; [nr_slots] */
	struct observe_given given;  /* of the group that was read last */
	uint64_t *pods;		     /* owned; by slot: the pod as it was claimed, 0 = not yet */
	uint64_t *released;	     /* owned; by slot: nr_releases as it was released, 0 = never */
	uint64_t nr_releases;
	/*
	 * Owned: cgroups that were counted as without a slot. No more than a policy has, because
	 * observe_retain() forgets the others, and the map `managed` has no room for more.
	 */
	uint64_t *refused;
	uint32_t nr_refused, refused_size;
	uint64_t nr_wrapped; /* histograms of which a sum went back */
	/* CLOCK_MONOTONIC - run queue clock, and when it was last looked for */
	bool has_offset;
	int64_t offset_ns;
	uint64_t offset_taken_ns;
};

#endif
