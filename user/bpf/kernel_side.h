/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side as the controller's port: guard, watch and observe behind one
 * object, each there or not, each absence with its reason in the feature table.
 * Logs what it knows first; decides nothing about pods.
 */
#ifndef BPF_KERNEL_SIDE_H
#define BPF_KERNEL_SIDE_H

#include "core/topology/topology.h"
#include "ctl/ports.h"
#include "lib/cleanup.h"

struct kernel_side;
struct sd_event;
struct worker_pool;

struct kernel_side_options {
	const struct topology *topology; /* borrowed for the object's life */
	const struct cpuset *possible;	 /* CPUs; borrowed for the call */
	uint32_t max_containers;
	const char *bpffs_dir;	/* pins go below it; borrowed */
	const char *cgroup_dir; /* cgroup2 mount; NULL = /sys/fs/cgroup; borrowed */
	bool no_clone_guard;	/* leave clone3(CLONE_INTO_CGROUP) to detection */
	bool measure_cost;	/* keep the kernel's count of our programs' run time on */
	/*
	 * start() waits for the guard, and for what can be adopted; a thread loads the rest
	 * and kernel_sink.completed says when. Needs kernel_side_watch.
	 */
	bool load_later;
	struct worker_pool *pool; /* for the self-test; borrowed. NULL: it is waited for */
	/* Answers of the probes are kept for the boot: by which build, and where; NULL: not. */
	const char *identity;
	int runtime_dir_fd; /* borrowed; looked at only with an identity */
};

/* Nothing is loaded yet: kernel_port.start does that. -ENOMEM. */
int kernel_side_open(const struct kernel_side_options *options, struct kernel_side **ret_side);
/* What is pinned goes on guarding and counting. */
void kernel_side_close(struct kernel_side *side);
DEFINE_CLEANUP(struct kernel_side, kernel_side_closep, kernel_side_close);
#define cleanup_kernel_side cleanup(kernel_side_closep)

/*
 * The port; borrowed from `side`. Beyond its contract in ctl/ports.h: start answers
 * -EPROTO when what is pinned belongs to a newer version (nothing is touched), and
 * 0 when parts are missing, which features() and guard_status() tell.
 */
struct kernel_port kernel_side_port(struct kernel_side *side);

/* Events go to `sink` (borrowed) from the event loop `event`. */
int kernel_side_watch(struct kernel_side *side, struct sd_event *event,
		      const struct kernel_sink *sink);
/* The same without sd-event: a descriptor that polls readable, and the reading. */
int kernel_side_fd(const struct kernel_side *side);
int kernel_side_dispatch(struct kernel_side *side, const struct kernel_sink *sink);

/*
 * Unpin the guard and wait until nothing is denied any more: needs only bpffs. 0
 * also when there is none. -EBUSY: a running agent holds it, and pins it again.
 */
int guard_release(const char *bpffs_dir);
/* Remove all pins of pinfold. */
int kernel_side_remove(const char *bpffs_dir);

#endif
