// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/guard_files.h"
#include "bpf/pins.h"
#include "lib/file.h"

/* A node with very many containers has some megabytes. */
#define MOUNTS_MAX_BYTES (64UL << 20)

/* A mount on the way from a file system to the root; more is a loop. */
#define MOUNTS_DEPTH 16

/* The agent's own namespace may be private; what ends the guard are the mounts of the host's. */
static const char *const mountinfo_files[] = {"/proc/1/mountinfo", "/proc/self/mountinfo"};

void guard_files_close(struct guard_files *files)
{
	cleanup_close_fd(&files->mounts_fd);
	files->mounts_fd = -1;
}

static bool is_same_key(const struct guard_file_key *a, const struct guard_file_key *b)
{
	return a->kind == b->kind && a->dev == b->dev && a->id == b->id;
}

static struct guard_file *find_row(struct guard_files *files, const struct guard_file_key *key)
{
	for (uint32_t i = 0; i < files->nr; i++)
		if (is_same_key(&files->rows[i].key, key))
			return &files->rows[i];
	return NULL;
}

void guard_files_add(struct guard_files *files, struct guard_file_key key, __u32 marks)
{
	struct guard_file *row = find_row(files, &key);

	if (row)
		row->marks |= marks;
	else if (files->nr < GUARD_FILES_MAX)
		files->rows[files->nr++] = (struct guard_file){key, marks};
}

/* --- mounts ------------------------------------------------------------------------------------ */

/* The kernel's own form of a device number, which is not that of st_dev. */
static __u32 kernel_dev(unsigned int major_nr, unsigned int minor_nr)
{
	return major_nr << 20 | minor_nr;
}

struct mount_ids {
	unsigned int id, parent;
};

struct mount_line {
	struct mount_ids ids;
	__u32 dev;
	char point[256];
};

/* "36 25 0:30 /root /point rw,opt shared:1 - fstype source options", of which the end is not needed. */
static bool parse_line(const char *line, size_t len, struct mount_line *ret_mount)
{
	struct mount_line mount = {0};
	unsigned int major_nr, minor_nr;
	char head[1024];

	/* a C library may have sscanf look for the end of its text, behind all the lines that follow */
	snprintf(head, sizeof(head), "%.*s", (int)len, line);
	if (sscanf(head, "%u %u %u:%u %*s %255s", &mount.ids.id, &mount.ids.parent, &major_nr,
		   &minor_nr, mount.point) < 4)
		return false;
	mount.dev = kernel_dev(major_nr, minor_nr);
	*ret_mount = mount;
	return true;
}

static bool is_at_or_above(const char *point, const char *path)
{
	size_t len = strlen(point);

	return !strncmp(point, path, len) &&
	       (!path[len] || path[len] == '/' || !strcmp(point, "/"));
}

/* The mount of each path that hides those before it, and the numbers of all. */
struct mount_table {
	struct mount_ids *ids; /* owned */
	size_t nr;
	const struct mount_ids *found[MOUNTED_PATHS_MAX];
};

static void add_line(struct mount_table *mounts, const char *line, size_t len,
		     const struct mounted_path *paths, uint32_t nr_paths)
{
	struct mount_line mount;

	if (!parse_line(line, len, &mount))
		return;
	mounts->ids[mounts->nr++] = mount.ids;
	for (uint32_t i = 0; i < nr_paths; i++)
		if (mount.dev == paths[i].dev && *mount.point &&
		    is_at_or_above(mount.point, paths[i].path))
			mounts->found[i] = &mounts->ids[mounts->nr - 1];
}

/* NULL: there is no such mount in this namespace. */
static const struct mount_ids *find_ids(const struct mount_table *mounts, unsigned int id)
{
	for (size_t i = 0; i < mounts->nr; i++)
		if (mounts->ids[i].id == id)
			return &mounts->ids[i];
	return NULL;
}

static void add_chain(struct guard_files *files, const struct mount_table *mounts,
		      const struct mount_ids *mount)
{
	for (int depth = 0; mount && depth < MOUNTS_DEPTH; depth++) {
		static const __u32 marks[] = {GUARD_FILE_OURS, GUARD_FILE_HOLDS};

		guard_files_add(files, (struct guard_file_key){GUARD_FILE_MOUNT, 0, mount->id},
				depth < 2 ? marks[depth] : GUARD_FILE_ABOVE);
		mount = mount->parent == mount->id ? NULL : find_ids(mounts, mount->parent);
	}
}

int guard_files_add_mounts(struct guard_files *files, const char *mountinfo,
			   const struct mounted_path *paths, uint32_t nr_paths)
{
	struct mount_ids *ids cleanup_free = NULL;
	struct mount_table mounts = {0};
	size_t nr_lines = 1, len;

	for (const char *at = mountinfo; (at = strchr(at, '\n')); at++)
		nr_lines++;
	ids = mounts.ids = calloc(nr_lines, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (const char *line = mountinfo; *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		add_line(&mounts, line, len, paths, nr_paths);
	}
	for (uint32_t i = 0; i < nr_paths; i++)
		add_chain(files, &mounts, mounts.found[i]);
	return 0;
}

static int open_mounts(int *ret_fd)
{
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(mountinfo_files); i++)
		fd = open(mountinfo_files[i], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* Has it changed since it was opened or since this was asked last? */
static bool has_changed(int mounts_fd)
{
	struct pollfd mounts = {.fd = mounts_fd, .events = POLLPRI};

	return poll(&mounts, 1, 0) > 0;
}

static int read_mounts(int mounts_fd, char **ret_text)
{
	size_t len;

	if (lseek(mounts_fd, 0, SEEK_SET) < 0)
		return -errno;
	return file_read_fd(mounts_fd, MOUNTS_MAX_BYTES, ret_text, &len);
}

/* --- directories and file systems ------------------------------------------------------------------ */

static bool find_dev(const char *path, __u32 *ret_dev)
{
	struct stat info;

	if (stat(path, &info))
		return false;
	*ret_dev = kernel_dev(major(info.st_dev), minor(info.st_dev));
	return true;
}

static void add_directories(struct guard_files *files, const char *pin_dir)
{
	static const char *const names[] = {"", "/maps", "/links"};
	char path[PIN_PATH_MAX];
	struct stat info;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (snprintf(path, sizeof(path), "%s%s", pin_dir, names[i]) >= PIN_PATH_MAX ||
		    lstat(path, &info) || !S_ISDIR(info.st_mode))
			continue;
		guard_files_add(files,
				(struct guard_file_key){
					GUARD_FILE_DIRECTORY,
					kernel_dev(major(info.st_dev), minor(info.st_dev)),
					info.st_ino,
				},
				GUARD_FILE_OURS);
	}
}

static bool is_on(const char *path, __u32 magic)
{
	struct statfs info;

	return !statfs(path, &info) && (__u32)info.f_type == magic;
}

/* --- all of them ------------------------------------------------------------------------------------- */

/* The rows of mounts are as before if there is no text. 0 or -ENOMEM. */
static int find_all(struct guard_files *now, const struct guard_files *before,
		    const char *mountinfo, const char *pin_dir, const char *cgroup_dir)
{
	struct mounted_path paths[MOUNTED_PATHS_MAX];
	uint32_t nr = 0;
	__u32 dev;

	if (is_on(pin_dir, BPF_FS_MAGIC) && find_dev(pin_dir, &dev)) {
		add_directories(now, pin_dir);
		paths[nr++] = (struct mounted_path){pin_dir, dev};
	}
	if (is_on(cgroup_dir, CGROUP2_SUPER_MAGIC) && find_dev(cgroup_dir, &dev))
		paths[nr++] = (struct mounted_path){cgroup_dir, dev};
	for (uint32_t i = 0; i < nr; i++)
		guard_files_add(now, (struct guard_file_key){GUARD_FILE_SUPER, paths[i].dev, 0},
				GUARD_FILE_OURS);
	if (mountinfo)
		return guard_files_add_mounts(now, mountinfo, paths, nr);
	for (uint32_t i = 0; i < before->nr; i++)
		if (before->rows[i].key.kind >= GUARD_FILE_MOUNT)
			guard_files_add(now, before->rows[i].key, before->rows[i].marks);
	return 0;
}

static bool has_super(struct guard_files *files, const struct guard_files *other)
{
	for (uint32_t i = 0; i < other->nr; i++)
		if (other->rows[i].key.kind == GUARD_FILE_SUPER &&
		    !find_row(files, &other->rows[i].key))
			return false;
	return true;
}

static int drop_others(struct guard_files *files, int map_fd)
{
	struct guard_file_key keys[GUARD_FILES_MAX];
	uint32_t nr = 0;

	/* deleting during a walk of a hash would restart the walk */
	while (nr < GUARD_FILES_MAX &&
	       !bpf_map_get_next_key(map_fd, nr ? &keys[nr - 1] : NULL, &keys[nr]))
		nr++;
	for (uint32_t i = 0; i < nr; i++)
		if (!find_row(files, &keys[i]) && bpf_map_delete_elem(map_fd, &keys[i]) &&
		    errno != ENOENT)
			return -errno;
	return 0;
}

/* Write the rows that the map does not have. */
static int write_rows(struct guard_files *files, struct guard_files *before, int map_fd,
		      bool *ret_mended)
{
	for (uint32_t i = 0; i < files->nr; i++) {
		const struct guard_file *row = &files->rows[i];
		const struct guard_file *old = find_row(before, &row->key);
		__u32 marks;

		if (!bpf_map_lookup_elem(map_fd, &row->key, &marks) && marks == row->marks)
			continue;
		if (old && old->marks == row->marks)
			*ret_mended = true;
		if (!bpf_map_update_elem(map_fd, &row->key, &row->marks, BPF_ANY))
			continue;
		/* no space left: what is no longer needed goes first then */
		if (errno != E2BIG || drop_others(files, map_fd) ||
		    bpf_map_update_elem(map_fd, &row->key, &row->marks, BPF_ANY))
			return -errno;
	}
	return 0;
}

int guard_files_update(struct guard_files *files, int map_fd, const char *pin_dir,
		       const char *cgroup_dir, bool *ret_mended)
{
	struct guard_files before = *files, now = {.mounts_fd = files->mounts_fd};
	char *mountinfo cleanup_free = NULL;
	bool mended = false;
	int r = 0;

	if (now.mounts_fd < 0) {
		r = open_mounts(&now.mounts_fd);
		files->mounts_fd = now.mounts_fd;
	}
	/* the first time, and when a file system was mounted anew */
	(void)find_all(&now, &before, NULL, pin_dir, cgroup_dir);
	/* asking takes the news away, so it is kept until the map has it */
	if (!r && (has_changed(now.mounts_fd) || !has_super(&before, &now) || !before.nr))
		files->must_read = true;
	if (files->must_read && !r) {
		r = read_mounts(now.mounts_fd, &mountinfo);
		now.nr = 0;
		if (!r)
			r = find_all(&now, &before, mountinfo, pin_dir, cgroup_dir);
	}
	if (!r)
		r = write_rows(&now, &before, map_fd, &mended);
	if (!r)
		r = drop_others(&now, map_fd);
	if (r)
		return r;
	*files = now;
	*ret_mended = mended;
	return 0;
}
