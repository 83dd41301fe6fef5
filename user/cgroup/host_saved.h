/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's groups whose CPU list is ours, in a file of the state directory. It is written before
 * the lists are, so that after a crash at any point each of them can be emptied again. Only groups
 * without a list are taken, so there is no other original. A boot makes all groups anew.
 */
#ifndef CGROUP_HOST_SAVED_H
#define CGROUP_HOST_SAVED_H

#include "core/cpuset.h"
#include "ctl/ports.h"

struct format_error;
struct text;

struct host_entry {
	char group[96]; /* its name in the root cgroup */
	/*
	 * What is to be written, and what the kernel had before that. After a crash the group may
	 * have either: any other list is another owner's. `before` may be empty.
	 */
	struct cpuset written, before;
	/*
	 * Of the pass: it has seen the group, the group is not the host's any more, and what the
	 * kernel has; empty = no list, or one of all CPUs.
	 */
	bool is_there, is_released;
	struct cpuset now;
};

struct host_table {
	uint32_t nr;
	struct host_entry *entries; /* owned */
	bool is_unsaved;
};

void host_table_fini(struct host_table *table);
#define cleanup_host_table cleanup(host_table_fini)
/* Add an entry of this name; NULL = no memory. Earlier pointers to entries are not valid any more. */
struct host_entry *host_table_add(struct host_table *table, const char *group);
struct host_entry *host_table_find(const struct host_table *table, const char *group);
void host_table_drop(struct host_table *table, struct host_entry *entry);

/* Convert to the file's text and back. */
void host_saved_encode(const struct host_table *table, const char *boot_id, struct text *out);
/*
 * -EBADMSG with `error` filled for invalid text, -ESTALE for that of another boot, -ENOMEM.
 * *ret_table is then unchanged.
 */
int host_saved_decode(const char *data, size_t len, const char *boot_id, struct format_error *error,
		      struct host_table *ret_table);

/* Replace the file below `dir_fd` and wait for the disk. Negative errno. */
int host_saved_save(int dir_fd, const char *boot_id, const struct host_table *table);
/* As decode; -ENOENT = there is no file. */
int host_saved_load(int dir_fd, const char *boot_id, struct format_error *error,
		    struct host_table *ret_table);

#endif
