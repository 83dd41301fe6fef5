// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/pins.h"
#include "lib/crash.h"
#include "lib/file.h"

/* bpffs does not allow dots in names */
#define NEW_SUFFIX "_new"

static int pin_path(const char *pin_dir, const char *name, const char *suffix,
		    char path[PIN_PATH_MAX])
{
	int len = snprintf(path, PIN_PATH_MAX, "%s/%s%s", pin_dir, name, suffix);

	return len < PIN_PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* --- objects ------------------------------------------------------------------------------------ */

/*
 * The kernel's info on a map, a program or a link begins with two words, the type and the id.
 * Only the name of the descriptor's file tells which of the three it is.
 */
int object_of(int fd, struct object *ret_object)
{
	static const struct {
		const char *name;
		enum object_type type;
	} types[] = {
		{"bpf-map", OBJECT_MAP},
		{"bpf-prog", OBJECT_PROGRAM},
		{"bpf_link", OBJECT_LINK},
		{"bpf-link", OBJECT_LINK},
	};
	struct bpf_prog_info info = {0}; /* the largest of the three */
	char path[32], target[64];
	struct object object = {0};
	__u32 len = sizeof(info);
	ssize_t target_len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	target_len = readlink(path, target, sizeof(target) - 1);
	if (target_len < 0)
		return -errno;
	target[target_len] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strstr(target, types[i].name))
			object.type = types[i].type;
	if (object.type == OBJECT_OTHER)
		return -EINVAL;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	object.id = info.id;
	*ret_object = object;
	return 0;
}

/* --- folders ------------------------------------------------------------------------------------ */

static bool is_namespace_of_host(void)
{
	struct stat own, host;

	return !stat("/proc/self/ns/mnt", &own) && !stat("/proc/1/ns/mnt", &host) &&
	       own.st_dev == host.st_dev && own.st_ino == host.st_ino;
}

int pins_mount(const char *pin_dir)
{
	char folder[PIN_PATH_MAX];
	struct statfs info;
	char *slash;

	if (snprintf(folder, sizeof(folder), "%s", pin_dir) >= PIN_PATH_MAX)
		return -ENAMETOOLONG;
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	if (statfs(folder, &info))
		return -errno;
	if (info.f_type == BPF_FS_MAGIC)
		return 0;
	if (!is_namespace_of_host())
		return -EXDEV;
	if (mount("bpf", folder, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700"))
		return -errno;
	return 1;
}

static int make_folder(const char *path)
{
	struct stat info;

	if (!mkdir(path, 0700))
		return 0;
	if (errno != EEXIST || lstat(path, &info))
		return -errno;
	if (S_ISDIR(info.st_mode))
		return 0;
	return unlink(path) || mkdir(path, 0700) ? -errno : 0;
}

int pins_make_folders(const char *pin_dir)
{
	static const char *const folders[] = {"", "/maps", "/links"};
	char path[PIN_PATH_MAX];
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(folders); i++) {
		if (snprintf(path, sizeof(path), "%s%s", pin_dir, folders[i]) >= PIN_PATH_MAX)
			return -ENAMETOOLONG;
		r = make_folder(path);
	}
	return r;
}

/* --- one pin ------------------------------------------------------------------------------------ */

int pin_of_map(const char *map, char ret_pin[PIN_NAME_MAX])
{
	int len = snprintf(ret_pin, PIN_NAME_MAX, "maps/%s", map);

	return len < PIN_NAME_MAX ? 0 : -ENAMETOOLONG;
}

int pin_open(const char *pin_dir, const char *name, enum object_type type, int *ret_fd)
{
	int fd cleanup_close = -1;
	char path[PIN_PATH_MAX];
	struct object object;
	struct stat info;
	int r = pin_path(pin_dir, name, "", path);

	if (r)
		return r;
	if (lstat(path, &info))
		return errno == ENOTDIR ? -ENOENT : -errno;
	/* pinfold pins neither links nor directories, wherever they lead */
	if (!S_ISREG(info.st_mode))
		return -EEXIST;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return errno == EACCES || errno == EINVAL ? -EEXIST : -errno;
	r = object_of(fd, &object);
	if (r)
		return r;
	if (object.type != type)
		return -EEXIST;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int pin_stage(const char *pin_dir, const char *name, int fd)
{
	char fresh[PIN_PATH_MAX];
	int r = pin_path(pin_dir, name, NEW_SUFFIX, fresh);

	if (r)
		return r;
	/* left by an agent that died before pin_commit */
	if (unlink(fresh) && errno != ENOENT)
		return -errno;
	return bpf_obj_pin(fd, fresh) ? -errno : 0;
}

int pin_commit(const char *pin_dir, const char *name)
{
	char path[PIN_PATH_MAX], fresh[PIN_PATH_MAX];
	int r = pin_path(pin_dir, name, "", path);

	if (!r)
		r = pin_path(pin_dir, name, NEW_SUFFIX, fresh);
	if (r)
		return r;
	crash_point("pin-exchange");
	if (!rename(fresh, path))
		return 0;
	/* an empty directory is removed; one with content belongs to somebody else */
	if (errno != EISDIR || rmdir(path))
		return -errno;
	return rename(fresh, path) ? -errno : 0;
}

void pin_unstage(const char *pin_dir, const char *name)
{
	char fresh[PIN_PATH_MAX];

	if (!pin_path(pin_dir, name, NEW_SUFFIX, fresh))
		unlink(fresh);
}

int pin_put(const char *pin_dir, const char *name, int fd)
{
	int r = pin_stage(pin_dir, name, fd);

	return r ? r : pin_commit(pin_dir, name);
}

/* --- many pins ---------------------------------------------------------------------------------- */

void pins_report_wrong(struct pins_report *report, const char *name, const char *how)
{
	/* added if there is no space for all of them */
	static const char more[] = ", and 4294967295 more";
	size_t room = sizeof(report->wrong) - sizeof(more);

	report->nr_wrong++;
	if (report->nr_named + 1 == report->nr_wrong &&
	    report->len + strlen(name) + strlen(how) + sizeof(",  ") < room) {
		report->nr_named++;
		report->len += (size_t)snprintf(report->wrong + report->len,
						sizeof(report->wrong) - report->len, "%s%s %s",
						report->len ? ", " : "", name, how);
		return;
	}
	snprintf(report->wrong + report->len, sizeof(report->wrong) - report->len, ", and %u more",
		 report->nr_wrong - report->nr_named);
}

void pins_report_add(struct pins_report *report, const struct pins_report *other)
{
	if (!report->nr_wrong && !report->nr_failed) {
		*report = *other;
		return;
	}
	report->nr_wrong += other->nr_wrong;
	report->nr_failed += other->nr_failed;
	if (other->nr_wrong)
		snprintf(report->wrong + report->len, sizeof(report->wrong) - report->len,
			 ", and %u more", report->nr_wrong - report->nr_named);
	if (!*report->failed)
		memcpy(report->failed, other->failed, sizeof(report->failed));
}

/* 0: the pin refers to the object in force; otherwise an error as for pin_open. */
static int check_pin(const char *pin_dir, const struct pin *pin)
{
	int fd cleanup_close = -1;
	struct object wanted, found;
	int r = object_of(pin->fd, &wanted);

	if (!r)
		r = pin_open(pin_dir, pin->name, wanted.type, &fd);
	if (!r)
		r = object_of(fd, &found);
	if (r)
		return r;
	return found.id == wanted.id ? 0 : -EEXIST;
}

void pins_restore(const char *pin_dir, const struct pin *pins, uint32_t nr,
		  struct pins_report *report)
{
	for (uint32_t i = 0; i < nr; i++) {
		int r = check_pin(pin_dir, &pins[i]);

		if (!r)
			continue;
		if (r == -ENOENT || r == -EEXIST) {
			pins_report_wrong(report, pins[i].name, r == -ENOENT ? "lost" : "replaced");
			r = pins_make_folders(pin_dir);
			if (!r)
				r = pin_put(pin_dir, pins[i].name, pins[i].fd);
		}
		if (r && !report->nr_failed++)
			snprintf(report->failed, sizeof(report->failed), "%s/%s: %s", pin_dir,
				 pins[i].name, strerror(-r));
	}
}

/* --- remove everything --------------------------------------------------------------------------- */

/* Also removes an empty directory that another process created in the place of a pin. */
static int remove_entry(int dir_fd, const char *name)
{
	if (!unlinkat(dir_fd, name, 0))
		return 0;
	return errno == EISDIR ? unlinkat(dir_fd, name, AT_REMOVEDIR) : -1;
}

/*
 * Remove the directory `path` with its entries. A symbolic link in its place is removed and not
 * followed: pinfold never makes one, so what it leads to belongs to somebody else.
 */
static int remove_folder(const char *path)
{
	DIR *dir cleanup_dir = NULL;
	const struct dirent *entry;
	int fd cleanup_close = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int failed = 0, r;

	if (fd < 0 && errno == ENOTDIR)
		return unlink(path) ? -errno : 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	TAKE_FD(fd);
	while ((r = file_next_entry(dir, &entry)) > 0)
		if (entry->d_name[0] != '.' && remove_entry(dirfd(dir), entry->d_name) && !failed)
			failed = -errno;
	if (!failed)
		failed = r;
	if (!failed && rmdir(path))
		failed = -errno;
	return failed;
}

int pins_remove(const char *pin_dir)
{
	static const char *const folders[] = {"links", "maps"};
	char path[PIN_PATH_MAX];
	struct stat info;
	int r = 0;

	if (lstat(pin_dir, &info))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(info.st_mode))
		return unlink(pin_dir) ? -errno : 0;
	for (size_t i = 0; !r && i < ARRAY_SIZE(folders); i++) {
		r = pin_path(pin_dir, folders[i], "", path);
		if (!r)
			r = remove_folder(path);
	}
	if (!r)
		r = pin_path(pin_dir, "meta", "", path);
	if (r)
		return r;
	if (unlink(path) && errno != ENOENT)
		return -errno;
	return rmdir(pin_dir) && errno != ENOENT ? -errno : 0;
}
