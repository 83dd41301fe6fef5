/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the guard which files it protects for its own sake (enforcement.guardFiles): the
 * directories with the pins, and the mounts and file systems of bpffs and cgroup2. Written to the
 * map `guard_files`, which keeps protecting them without an agent.
 */
#ifndef BPF_GUARD_FILES_H
#define BPF_GUARD_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pinfold/abi.h>

struct guard_file {
	struct guard_file_key key;
	__u32 marks;
};

/* What was written last. Begin with mounts_fd -1. */
struct guard_files {
	int mounts_fd;	/* mountinfo of the host; tells when it changes. -1: not open yet */
	bool must_read; /* the map does not have the last change of mountinfo yet */
	uint32_t nr;
	struct guard_file rows[GUARD_FILES_MAX];
};

void guard_files_close(struct guard_files *files);

/* Add marks to the row with this key. Does nothing if there is no space for another one. */
void guard_files_add(struct guard_files *files, struct guard_file_key key, __u32 marks);

/* A path, and the file system that it is on. */
struct mounted_path {
	const char *path;
	__u32 dev;
};

#define MOUNTED_PATHS_MAX 2

/*
 * Add the mount that each path is on, with all mounts below it, from the text of mountinfo; of
 * several at the same place the last, which hides the others. Nothing if there is none. A node has
 * thousands of mounts, so the text is read once. 0 or -ENOMEM.
 */
int guard_files_add_mounts(struct guard_files *files, const char *mountinfo,
			   const struct mounted_path *paths, uint32_t nr_paths);

/*
 * Bring the map up to date. `ret_mended`: another process had changed entries that should have
 * been the same. 0, or a negative errno of the map or of mountinfo.
 */
int guard_files_update(struct guard_files *files, int map_fd, const char *pin_dir,
		       const char *cgroup_dir, bool *ret_mended);

#endif
