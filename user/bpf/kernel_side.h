/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side as the controller's port: guard, watch and observer behind one object. Each
 * of them may be absent, with the reason in the feature table. Logs the failures that it
 * detects first; decides nothing about pods.
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
	const struct cpuset *possible;	 /* possible CPUs; borrowed for the call */
	uint32_t max_containers;
	const char *bpffs_dir;	/* directory of the pins; borrowed */
	const char *cgroup_dir; /* cgroup2 mount; NULL = /sys/fs/cgroup; borrowed */
	bool no_clone_guard;	/* only detect clone3(CLONE_INTO_CGROUP), do not deny it */
	bool measure_cost;	/* keep the kernel's run time statistics enabled */
	/*
	 * start() waits for the guard and for parts that can be adopted. A thread loads the
	 * rest, and kernel_sink.completed reports its end. Needs kernel_side_watch.
	 */
	bool load_later;
	struct worker_pool
		*pool; /* for the self-test; borrowed. NULL: the self-test runs synchronously */
	/* Results of probes are saved for the boot: the build that saves them. NULL: not saved. */
	const char *identity;
	int runtime_dir_fd; /* borrowed; used only with an identity */
};

/* Does not load anything yet: kernel_port.start does that. -ENOMEM. */
int kernel_side_open(const struct kernel_side_options *options, struct kernel_side **ret_side);
/* Pinned parts continue to guard and count. */
void kernel_side_close(struct kernel_side *side);
DEFINE_CLEANUP(struct kernel_side, kernel_side_closep, kernel_side_close);
#define cleanup_kernel_side cleanup(kernel_side_closep)

/*
 * The port; borrowed from `side`. In addition to its contract in ctl/ports.h: start returns
 * -EPROTO if the pins belong to a newer version (nothing is changed), and 0 if parts are
 * missing, which features() and guard_status() report.
 */
struct kernel_port kernel_side_port(struct kernel_side *side);

/* Pass events to `sink` (borrowed) from the event loop `event`. */
int kernel_side_watch(struct kernel_side *side, struct sd_event *event,
		      const struct kernel_sink *sink);
/* The same without sd-event: a descriptor that polls readable, and the function to read from it. */
int kernel_side_fd(const struct kernel_side *side);
int kernel_side_dispatch(struct kernel_side *side, const struct kernel_sink *sink);

/*
 * Unpin the guard and wait until nothing is denied any more: needs only bpffs. 0 also if there
 * is no guard. -EBUSY: a running agent holds it and will pin it again.
 */
int guard_release(const char *bpffs_dir);
/* Remove all pins of pinfold. */
int kernel_side_remove(const char *bpffs_dir);

#endif
