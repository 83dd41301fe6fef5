/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing the ledger and the cgroups to the BPF side. */
#ifndef CTL_PUBLISHER_H
#define CTL_PUBLISHER_H

#include "ctl/ports.h"

struct controller;

/* CPUs that groups were granted: mostly many have the same ones. */
struct granted_cpus {
	struct granted_cpus *next; /* owned */
	struct cpuset cpus;
};

/* The values last published for a group. */
struct published {
	char *path; /* owned */
	struct managed_group managed;
};

struct publisher {
	uint32_t nr;
	struct published *rows;	     /* owned, in the order of the tree */
	struct granted_cpus *cpus;   /* owned; those of the rows, each once */
	bool is_stale;		     /* the last change could not be published */
	bool is_waiting;	     /* one of the groups waits, and may be read soon */
	uint32_t nr_unread;	     /* groups that could not be read for the last policy */
	char unread[GROUP_PATH_MAX]; /* the first of them */
	bool is_whole;	   /* a policy was published for which every group could be read */
	bool ends_release; /* set by a start and a reload, for the next policy */
};

void publisher_fini(struct publisher *publisher);
/* The next policy ends an operator's release. */
void publisher_end_release(struct publisher *publisher);
/*
 * Publish the whole policy. Raises a finding if that fails. Before the first comparison with the
 * kernel there is none yet, and what is in force stays.
 */
void ctl_publish(struct controller *controller);
/*
 * Call each second: a runtime makes the cgroup of a container after it was told its CPUs, and says
 * neither when nor whether. Publishes if one is there that was not, or if a debugger's cgroup is in
 * another one than before.
 */
void ctl_publish_appeared(struct controller *controller);
/*
 * The id of the cgroup at `path`, whose counters go on while an operation on its pod keeps it from
 * being read: that of its status, or with NULL the one last published. 0 = neither is known.
 */
uint64_t ctl_cgroup_id(const struct controller *controller, const char *path,
		       const struct group_status *status);
/*
 * The values last published for the group at `path`; NULL if there are none. Borrowed until the next
 * publication. *cursor begins with 0: a caller that goes through the desired tree passes the same one
 * each time, and the search begins where the last one ended.
 */
const struct managed_group *ctl_published_next(const struct controller *controller,
					       const char *path, uint32_t *cursor);

#endif
