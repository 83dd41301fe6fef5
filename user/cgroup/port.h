/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroup room's door: open the machine's cgroups and fill the port.
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
	const char *root;	   /* movable root; "/" on a real machine */
	const char *workload_root; /* top-level group, such as "pinfold.slice" */
	enum groups_layout layout; /* auto: systemd where it is PID 1 */
	bool may_write;		   /* false: look only (--dry-run, observe mode) */
	struct worker_pool *pool;  /* for what may wait; borrowed. NULL: everything runs at once */
};

/*
 * Find the hierarchy and, where we may, make the cpuset controller available
 * below its root. On refusal: negative errno, the problem's name and a sentence.
 */
int groups_open(const struct groups_options *options, struct groups **ret_groups,
		enum dir_problem *ret_problem, char error[GROUP_ERROR_MAX]);
void groups_close(struct groups *groups);
DEFINE_CLEANUP(struct groups, groups_closep, groups_close);
#define cleanup_groups cleanup(groups_closep)

/* The filled table; valid until groups_close. */
struct groups_port groups_port(struct groups *groups);

/* Start calling back through the sink (borrowed); rewatch says what to watch. */
int groups_watch(struct groups *groups, sd_event *event, const struct groups_sink *sink);

/*
 * What was there before groups_open changed anything. To be kept once, before
 * the first plan, in a file that a later start never overwrites.
 */
const struct originals *groups_originals(const struct groups *groups);

/*
 * Remove everything pinfold made in the kernel, leaves first: partitions become
 * members, groups without processes are removed. Groups with processes stay, with
 * their lists widened to all online CPUs and memory nodes; *ret_nr_left counts them.
 * Negative errno with a sentence for what could not be undone; -EAGAIN = a tree was
 * larger than one pass removes, call again. `originals` (may be NULL) are put back at
 * the end.
 */
int groups_uninstall(struct groups *groups, const struct originals *originals,
		     uint32_t *ret_nr_left, char error[GROUP_ERROR_MAX]);

#endif
