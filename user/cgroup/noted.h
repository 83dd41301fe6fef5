/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes that have no process yet: systemd cannot make them, so they are kept here with their
 * path, role, owner and future values until the first process joins (systemd.h). Every function
 * may be called from any thread.
 */
#ifndef CGROUP_NOTED_H
#define CGROUP_NOTED_H

#include <pthread.h>
#include <stdbool.h>

#include "cgroup/manager.h"

struct noted {
	pthread_mutex_t lock; /* never held across a call to systemd or the kernel */
	struct group_tree tree;
};

void noted_init(struct noted *noted);
void noted_fini(struct noted *noted);

/* Note the group of the step, unless it is noted. -ENOMEM, with a sentence in `error`. */
int noted_add(struct noted *noted, const struct step *step, char *error);
/* Record the step's value for a noted scope; has no effect on other groups. -ENOMEM. */
int noted_set(struct noted *noted, const struct step *step, char *error);
/* Forget the group at this path, but none below it; has no effect if it is not noted. */
void noted_drop(struct noted *noted, const char *path);
/* May be out of date when it returns: another thread may note or drop the group. */
bool noted_has(struct noted *noted, const char *path);
/* Add what is noted and not yet in the tree. -ENOMEM. */
int noted_copy_missing(struct noted *noted, struct group_tree *tree);
/* Copy a noted group into an empty tree, which stays empty if the group is not noted. -ENOMEM. */
int noted_find(struct noted *noted, const char *path, struct group_tree *ret_tree);

#endif
