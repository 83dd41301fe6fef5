/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public interface of the cgroup room: opens the machine's cgroups and fills the
 * controller's port.
 */
#ifndef CGROUP_PORT_H
#define CGROUP_PORT_H

#include <systemd/sd-event.h>

#include "cgroup/mounts.h"
#include "cgroup/originals.h"
#include "ctl/ports.h"

struct worker_pool;

enum groups_layout { GROUPS_LAYOUT_AUTO, GROUPS_LAYOUT_CGROUPFS, GROUPS_LAYOUT_SYSTEMD };

struct groups_options {
	const char *root;	   /* root directory; "/" on a real machine */
	const char *workload_root; /* top-level group, such as "pinfold.slice" */
	enum groups_layout layout; /* auto: systemd if it is PID 1 */
	enum dir_purpose purpose;  /* whether the mounts must permit writes */
	bool may_write;		   /* false: read only (--dry-run, observe mode) */
	bool without_originals;	   /* nobody needs them, because an earlier start saved them */
	uint64_t wait_ns;	   /* how long to wait for the original values */
	struct worker_pool
		*pool; /* for blocking calls; borrowed. NULL: everything runs synchronously */
};

/*
 * Find the hierarchy and, if may_write, enable the cpuset controller below its root. On
 * failure, returns a negative errno, the problem and a message. -EBUSY: another process holds
 * the lock of the workload root's directory, so the original values cannot be read now.
 */
int groups_open(const struct groups_options *options, struct groups **ret_groups,
		enum dir_problem *ret_problem, char error[GROUP_ERROR_MAX]);
void groups_close(struct groups *groups);
DEFINE_CLEANUP(struct groups, groups_closep, groups_close);
#define cleanup_groups cleanup(groups_closep)

/* The function table; valid until groups_close. */
struct groups_port groups_port(struct groups *groups);

/*
 * Through `port` (copied) the guard learns when systemd changes cgroups for us. Has no effect where it
 * does not make them. Call it before the first change.
 */
void groups_set_lease(struct groups *groups, const struct lease_port *port);

/*
 * Start to deliver events through `sink` (borrowed); the port's rewatch sets the groups
 * to watch. Reports at once which CPUs are online, because what was read at the beginning of a
 * start may be old.
 */
int groups_watch(struct groups *groups, sd_event *event, const struct groups_sink *sink);

/*
 * The values from before groups_open changed anything. Save them once, before the first
 * plan, in a file that later starts never overwrite.
 */
const struct originals *groups_originals(const struct groups *groups);

/*
 * Remove everything pinfold created in the kernel, leaves first: partitions become
 * members, and groups without processes are removed. Groups with processes stay, with
 * their lists widened to all possible CPUs and memory nodes; *ret_nr_left counts them.
 * Finally `originals` (may be NULL) are restored. Returns a negative errno with a message
 * for what could not be undone; -EAGAIN = a tree was larger than one pass removes, call
 * again.
 */
int groups_uninstall(struct groups *groups, const struct originals *originals,
		     uint32_t *ret_nr_left, char error[GROUP_ERROR_MAX]);

#endif
