// SPDX-License-Identifier: Apache-2.0
/* Reads the managed files and the populated state of groups. Changes nothing. */
#include "cgroup/read_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cgroup/kubelets.h"
#include "lib/file.h"

/* A limit for the number of our groups below one parent; more indicate an error. */
#define CHILDREN_MAX 65536

enum group_role read_role(enum group_role parent, const char *name)
{
	size_t len = strlen(name);

	switch (parent) {
	case GROUP_ROOT:
		return GROUP_POD;
	case GROUP_POD:
		if (!strcmp(name, "shared") ||
		    (len > 13 && !strcmp(name + len - 13, "-shared.slice")))
			return GROUP_SHARED;
		return GROUP_CONTAINER;
	default:
		return GROUP_CONTAINER;
	}
}

/* "pod<uid>", or "<prefix>-pod<uid>.slice" with '_' for each '-' of the uid. */
static void owner_pod(const char *name, char *ret_uid)
{
	const char *at = !strncmp(name, "pod", 3) ? name : strstr(name, "-pod");
	const char *suffix = strstr(name, ".slice");
	size_t len;

	if (!at)
		return;
	at += at == name ? 3 : 4;
	len = suffix ? (size_t)(suffix - at) : strlen(at);
	snprintf(ret_uid, POD_UID_MAX, "%.*s", (int)len, at);
}

/* "<container>", or "<prefix>-<uid>-<container>.scope", where the uid has no '-'. */
static void owner_container(const char *name, char *ret_container)
{
	const char *suffix = strstr(name, ".scope");
	const char *at = name;

	if (!suffix) {
		/* The name used for a container that is called "shared" like the level. */
		snprintf(ret_container, POD_CONTAINER_NAME, "%.63s",
			 strcmp(name, "_shared") ? name : "shared");
		return;
	}
	for (int dashes = 0; dashes < 2 && at; dashes++) {
		at = strchr(at, '-');
		at += at != NULL;
	}
	if (at && at < suffix)
		snprintf(ret_container, POD_CONTAINER_NAME, "%.*s", (int)(suffix - at), at);
}

void read_owner(struct group *group, const struct group *parent)
{
	const char *slash = strrchr(group->path, '/');
	const char *name = slash ? slash + 1 : group->path;

	if (group->role == GROUP_POD)
		owner_pod(name, group->uid);
	else if (parent)
		memcpy(group->uid, parent->uid, sizeof(group->uid));
	if (group->role == GROUP_CONTAINER)
		owner_container(name, group->container);
}

static int read_files(int fd, struct group *group)
{
	int populated = dir_populated(fd);

	for (int file = 0; file < GROUP_FILE_NR; file++) {
		int err = file_read_line(fd, group_file_name(file), &group->files[file]);

		if (err == -ENOMEM)
			return err;
		/* ENODEV: the group is being removed concurrently. */
	}
	group->populated = populated != 0;
	return 0;
}

struct names {
	uint32_t nr;
	char **names;
};

static void names_fini(struct names *names)
{
	for (uint32_t i = 0; i < names->nr; i++)
		free(names->names[i]);
	free(names->names);
}
#define cleanup_names cleanup(names_fini)

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_add(struct names *names, const char *name)
{
	if (names->nr == CHILDREN_MAX)
		return -E2BIG;
	if ((names->nr & (names->nr - 1)) == 0) {
		char **bigger = realloc(names->names, sizeof(*bigger) * (names->nr * 2 + 1));

		if (!bigger)
			return -ENOMEM;
		names->names = bigger;
	}
	names->names[names->nr] = strdup(name);
	if (!names->names[names->nr])
		return -ENOMEM;
	names->nr++;
	return 0;
}

/* List the child groups of fd in order of name. */
static int list_children(int fd, struct names *names)
{
	DIR *entries cleanup_dir = NULL;
	const struct dirent *entry;
	int err = file_open_dir(fd, ".", &entries);

	if (err)
		return err;
	while ((err = file_next_entry(entries, &entry)) > 0) {
		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		err = names_add(names, entry->d_name);
		if (err)
			return err;
	}
	if (err)
		return err;
	if (names->nr)
		qsort(names->names, names->nr, sizeof(*names->names), by_name);
	return 0;
}

struct tree_reading {
	struct groups *groups;
	bool (*is_busy)(struct groups *groups, const char *path);
	struct group_tree *tree;
};

static int add_unseen(const struct tree_reading *reading, enum group_role role, const char *path,
		      uint32_t parent)
{
	struct group *group = group_tree_add(reading->tree, role, path);

	if (!group)
		return -ENOMEM;
	group->unseen = true;
	read_owner(group, &reading->tree->groups[parent]);
	return 0;
}

/* `parent` is the parent's index in the tree; it is ignored for the root. */
static int read_below(const struct tree_reading *reading, int fd, const char *path,
		      enum group_role role, uint32_t parent)
{
	struct names names cleanup_names = {0};
	struct group_tree *tree = reading->tree;
	struct group *group = group_tree_add(tree, role, path);
	uint32_t self = tree->nr_groups - 1;
	int err = group ? read_files(fd, group) : -ENOMEM;

	if (!err && role != GROUP_ROOT)
		read_owner(group, &tree->groups[parent]);
	if (err || role == GROUP_CONTAINER)
		return err;
	err = list_children(fd, &names);
	for (uint32_t i = 0; !err && i < names.nr; i++) {
		enum group_role child_role = read_role(role, names.names[i]);
		char child[GROUP_PATH_MAX];
		int child_fd cleanup_close = -1;

		if ((size_t)snprintf(child, sizeof(child), "%s/%s", path, names.names[i]) >=
		    sizeof(child))
			return -ENAMETOOLONG;
		if (role == GROUP_ROOT && reading->is_busy &&
		    reading->is_busy(reading->groups, child)) {
			err = add_unseen(reading, child_role, child, self);
			continue;
		}
		child_fd =
			openat(fd, names.names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* Removed since it was listed, so it is not part of the tree. */
		if (child_fd < 0)
			continue;
		err = read_below(reading, child_fd, child, child_role, self);
	}
	return err;
}

int read_group(struct groups *groups, struct group *group)
{
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, group->path, &fd);

	return err ? err : read_files(fd, group);
}

int read_tree(struct groups *groups, bool (*is_busy)(struct groups *groups, const char *path),
	      struct group_tree *ret_tree)
{
	struct group_tree tree cleanup_tree = {0};
	const struct tree_reading reading = {groups, is_busy, &tree};
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, groups->workload_root, &fd);

	if (!err)
		err = read_below(&reading, fd, groups->workload_root, GROUP_ROOT, 0);
	if (!err)
		err = groups->manager->add_noted(groups, &tree);
	if (err)
		return err;
	*ret_tree = tree;
	tree = (struct group_tree){0};
	return 0;
}

/* --- surroundings ----------------------------------------------------------------------------- */

int read_surroundings(struct groups *groups, struct managed_group *ret_groups, uint32_t max,
		      uint32_t *ret_nr)
{
	struct names names cleanup_names = {0};
	uint32_t nr = 0;
	int err = list_children(groups->dir.mount_fd, &names);

	if (!err && max) {
		ret_groups[0] = (struct managed_group){.scope = MANAGED_SELF};
		err = dir_group_id(groups->dir.mount_fd, &ret_groups[nr++].cgroup_id);
	}
	for (uint32_t i = 0; !err && i < names.nr && nr < max; i++) {
		int fd cleanup_close = -1;

		if (!strcmp(names.names[i], groups->workload_root) ||
		    dir_open_group(&groups->dir, names.names[i], &fd))
			continue;
		/* The kubelet and systemd may write these lists as they like. */
		if (kubelets_has_pods_now(&groups->kubelets, names.names[i], fd) > 0)
			continue;
		ret_groups[nr] = (struct managed_group){.scope = MANAGED_OVERLAP, .level = 1};
		err = dir_group_id(fd, &ret_groups[nr++].cgroup_id);
	}
	if (err)
		return err;
	*ret_nr = nr;
	return 0;
}
