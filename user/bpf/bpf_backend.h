/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF backend as the controller's port: guard, watch and observer behind one object. Each
 * of them may be absent, with the reason in the feature table. Logs the failures that it
 * detects first; decides nothing about pods.
 */
#ifndef BPF_BACKEND_H
#define BPF_BACKEND_H

#include "core/topology/topology.h"
#include "ctl/ports.h"
#include "lib/cleanup.h"

struct bpf_backend;
struct sd_event;
struct worker_pool;

struct bpf_backend_options {
	const struct topology *topology; /* borrowed for the object's life */
	const struct cpuset *possible;	 /* possible CPUs; borrowed for the call */
	uint32_t max_containers;
	const char *bpffs_dir;	/* directory of the pins; borrowed */
	const char *cgroup_dir; /* cgroup2 mount; NULL = /sys/fs/cgroup; borrowed */
	bool no_clone_guard;	/* only detect clone3(CLONE_INTO_CGROUP), do not deny it */
	bool measure_cost;	/* keep the kernel's run time statistics enabled */
	/*
	 * start() waits for the guard and for objects that can be adopted. A thread loads the
	 * rest, and kernel_sink.completed reports its end. Needs bpf_backend_watch.
	 */
	bool load_later;
	struct worker_pool
		*pool; /* for the self-test; borrowed. NULL: the self-test runs synchronously */
	/* Results of probes are saved for the boot: the build that saves them. NULL: not saved. */
	const char *identity;
	int runtime_dir_fd; /* borrowed; used only with an identity */
};

/* The version of libbpf: "1.5". */
const char *bpf_backend_libbpf(void);
/* Does not load anything yet: kernel_port.start does that. -ENOMEM. */
int bpf_backend_open(const struct bpf_backend_options *options, struct bpf_backend **ret_backend);
/* Pinned objects continue to guard and count. */
void bpf_backend_close(struct bpf_backend *backend);

/*
 * The port; borrowed from `backend`. In addition to its contract in ctl/ports.h: start returns
 * -EPROTO if the pins belong to a newer version (nothing is changed), and 0 if objects are
 * missing, which features() and guard_status() report.
 */
struct kernel_port bpf_backend_port(struct bpf_backend *backend);

/* The same for the lease of process 1; without a guard it does nothing. */
struct lease_port bpf_backend_lease_port(struct bpf_backend *backend);

/* Pass events to `sink` (borrowed) from the event loop `event`. */
int bpf_backend_watch(struct bpf_backend *backend, struct sd_event *event,
		      const struct kernel_sink *sink);
/* The same without an event loop: pass on what has come. Returns its number or a negative errno. */
int bpf_backend_dispatch(struct bpf_backend *backend, const struct kernel_sink *sink);

/*
 * Unpin the guard and wait until nothing is denied any more: needs only bpffs. 0 also if there
 * is no guard. -EBUSY: a running agent holds it and will pin it again.
 */
int guard_release(const char *bpffs_dir);
/*
 * The same at the start of an agent without a guard, which could make no pods beside an earlier
 * agent's: nobody would give process 1 its lease, and its own writes would be denied. What was done,
 * and a failure, is logged.
 */
int guard_end_earlier(const char *bpffs_dir);
/* Remove all pins of pinfold. */
int bpf_backend_remove(const char *bpffs_dir);

#endif
