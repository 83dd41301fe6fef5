// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/links.h"
#include "format/words.h"
#include "lib/file.h"

/* in units of 10 ms, for unpinned programs to end; a loaded machine has long grace periods */
#define RELEASE_TRIES 1000

/* --- names of pins ------------------------------------------------------------------------------ */

int links_pin_of(const char *object, const char *program, char ret_pin[PIN_NAME_MAX])
{
	size_t object_len = strlen(object);
	bool has_object = !strncmp(program, object, object_len) && program[object_len] == '_';
	int len = snprintf(ret_pin, PIN_NAME_MAX, "links/%s%s%s", has_object ? "" : object,
			   has_object ? "" : "_", program);

	return len < PIN_NAME_MAX ? 0 : -ENAMETOOLONG;
}

/* --- an exchange ------------------------------------------------------------------------------------ */

/* Remove the links pinned beside their places, ignoring those that were not. Returns `error`. */
static int unstage_links(const struct bpf_object_handle *handle, const char *pin_dir, int error)
{
	char pin[PIN_NAME_MAX];

	for (uint32_t i = 0; i < handle->nr_programs; i++)
		if (!links_pin_of(handle->name, handle->programs[i].name, pin))
			pin_unstage(pin_dir, pin);
	return error;
}

int links_stage(const struct bpf_object_handle *handle, const char *pin_dir)
{
	char pin[PIN_NAME_MAX];

	for (uint32_t i = 0; i < handle->nr_programs; i++) {
		int r = links_pin_of(handle->name, handle->programs[i].name, pin);

		if (!r)
			r = pin_stage(pin_dir, pin, handle->programs[i].link_fd);
		if (r)
			return unstage_links(handle, pin_dir, r);
	}
	return 0;
}

int links_commit(const struct bpf_object_handle *handle, const char *pin_dir)
{
	char pin[PIN_NAME_MAX];

	for (uint32_t i = 0; i < handle->nr_programs; i++) {
		int r = links_pin_of(handle->name, handle->programs[i].name, pin);

		if (!r)
			r = pin_commit(pin_dir, pin);
		if (r)
			return r;
	}
	return 0;
}

/* Is `name` in the directory of links a link of `handle`, but not one that `handle` has now? */
static bool is_leftover(const char *name, const char *object_name,
			const struct bpf_object_handle *handle)
{
	size_t len = strlen(object_name);
	char pin[PIN_NAME_MAX];

	if (strncmp(name, object_name, len) || name[len] != '_')
		return false;
	for (uint32_t i = 0; handle && i < handle->nr_programs; i++)
		if (!links_pin_of(object_name, handle->programs[i].name, pin) &&
		    !strcmp(name, pin + strlen("links/")))
			return false;
	return true;
}

/* No object that this version has is called so. */
static bool is_unknown(const char *name)
{
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		const char *object_name = bpf_object_name(id);

		if (*object_name && is_leftover(name, object_name, NULL))
			return false;
	}
	return name[0] != '.';
}

/*
 * Unpin the links named `object_name`_* that `handle` does not have (NULL: all); those of
 * unknown objects if `object_name` is NULL.
 */
static int drop_links(const char *pin_dir, const char *object_name,
		      const struct bpf_object_handle *handle)
{
	DIR *dir cleanup_dir = NULL;
	char path[PIN_PATH_MAX];
	const struct dirent *entry;
	int failed = 0, r;

	if (snprintf(path, sizeof(path), "%s/links", pin_dir) >= PIN_PATH_MAX)
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((r = file_next_entry(dir, &entry)) > 0) {
		bool is_dropped = object_name ? is_leftover(entry->d_name, object_name, handle)
					      : is_unknown(entry->d_name);

		if (is_dropped && unlinkat(dirfd(dir), entry->d_name, 0) && !failed)
			failed = -errno;
	}
	return failed ? failed : r;
}

int links_drop_unknown(const char *pin_dir)
{
	return drop_links(pin_dir, NULL, NULL);
}

int links_drop_others(const struct bpf_object_handle *handle, const char *pin_dir)
{
	return drop_links(pin_dir, handle->name, handle);
}

/* --- release --------------------------------------------------------------------------------------- */

/*
 * Ids of the programs behind the pinned links of an object. If not all can be listed, drop_links
 * fails as well.
 */
static uint32_t list_pinned(const char *pin_dir, const char *name,
			    __u32 ids[BPF_OBJECT_PROGRAMS_MAX])
{
	DIR *dir cleanup_dir = NULL;
	char path[PIN_PATH_MAX];
	const struct dirent *entry;
	uint32_t nr = 0;

	if (snprintf(path, sizeof(path), "%s/links", pin_dir) < PIN_PATH_MAX)
		dir = opendir(path);
	while (dir && nr < BPF_OBJECT_PROGRAMS_MAX && file_next_entry(dir, &entry) > 0) {
		int fd cleanup_close = -1;
		struct bpf_link_info info = {0};
		__u32 len = sizeof(info);

		if (!is_leftover(entry->d_name, name, NULL) ||
		    snprintf(path, sizeof(path), "%s/links/%s", pin_dir, entry->d_name) >=
			    PIN_PATH_MAX)
			continue;
		fd = bpf_obj_get(path);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
			ids[nr++] = info.prog_id;
	}
	return nr;
}

/*
 * The kernel detaches asynchronously, after a grace period: an unpinned program still runs for
 * a while.
 */
static int wait_for_end(const __u32 *ids, uint32_t nr)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (uint32_t i = 0, tries = 0; i < nr;) {
		int fd = bpf_prog_get_fd_by_id(ids[i]);

		if (fd < 0) {
			i++;
			continue;
		}
		close(fd);
		if (tries++ == RELEASE_TRIES)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
	return 0;
}

bool links_any(const char *pin_dir, const char *name)
{
	DIR *dir cleanup_dir = NULL;
	char path[PIN_PATH_MAX];
	const struct dirent *entry;

	if (snprintf(path, sizeof(path), "%s/links", pin_dir) < PIN_PATH_MAX)
		dir = opendir(path);
	while (dir && file_next_entry(dir, &entry) > 0)
		if (is_leftover(entry->d_name, name, NULL))
			return true;
	return false;
}

int links_release(const char *pin_dir, const char *name)
{
	__u32 ids[BPF_OBJECT_PROGRAMS_MAX];
	uint32_t nr = list_pinned(pin_dir, name, ids);
	int r = drop_links(pin_dir, name, NULL);

	return r ? r : wait_for_end(ids, nr);
}
