// SPDX-License-Identifier: Apache-2.0
#include "cgroup/noted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/failure.h"

void noted_init(struct noted *noted)
{
	*noted = (struct noted){0};
	pthread_mutex_init(&noted->lock, NULL);
}

void noted_fini(struct noted *noted)
{
	group_tree_fini(&noted->tree);
	pthread_mutex_destroy(&noted->lock);
}

void noted_drop(struct noted *noted, const char *path)
{
	struct group *group;

	pthread_mutex_lock(&noted->lock);
	group = group_tree_find(&noted->tree, path);
	if (group) {
		group_fini(group);
		*group = noted->tree.groups[--noted->tree.nr_groups];
	}
	pthread_mutex_unlock(&noted->lock);
}

int noted_add(struct noted *noted, const struct step *step, char *error)
{
	struct group *group;
	int err = 0;

	pthread_mutex_lock(&noted->lock);
	if (!group_tree_find(&noted->tree, step->path)) {
		group = group_tree_add(&noted->tree, step->role, step->path);
		if (group) {
			memcpy(group->uid, step->uid, sizeof(group->uid));
			memcpy(group->container, step->container, sizeof(group->container));
		} else {
			err = failure(error, -ENOMEM, "%s: no memory", step->path);
		}
	}
	pthread_mutex_unlock(&noted->lock);
	return err;
}

bool noted_has(struct noted *noted, const char *path)
{
	bool found;

	pthread_mutex_lock(&noted->lock);
	found = group_tree_find(&noted->tree, path);
	pthread_mutex_unlock(&noted->lock);
	return found;
}

int noted_set(struct noted *noted, const struct step *step, char *error)
{
	char *value = strdup(step->value);
	struct group *group;

	if (!value)
		return failure(error, -ENOMEM, "%s: no memory", step->path);
	pthread_mutex_lock(&noted->lock);
	group = group_tree_find(&noted->tree, step->path);
	if (group) {
		char *before = group->files[step->file];

		group->files[step->file] = value;
		value = before;
	}
	pthread_mutex_unlock(&noted->lock);
	free(value);
	return 0;
}

static int copy_note(const struct group *from, struct group_tree *tree)
{
	struct group *group = group_tree_add(tree, from->role, from->path);

	if (!group)
		return -ENOMEM;
	memcpy(group->uid, from->uid, sizeof(group->uid));
	memcpy(group->container, from->container, sizeof(group->container));
	for (int file = 0; file < GROUP_FILE_NR; file++) {
		if (!from->files[file])
			continue;
		group->files[file] = strdup(from->files[file]);
		if (!group->files[file])
			return -ENOMEM;
	}
	return 0;
}

int noted_copy_missing(struct noted *noted, struct group_tree *tree)
{
	int err = 0;

	pthread_mutex_lock(&noted->lock);
	for (uint32_t i = noted->tree.nr_groups; !err && i-- > 0;)
		if (!group_tree_find(tree, noted->tree.groups[i].path))
			err = copy_note(&noted->tree.groups[i], tree);
	pthread_mutex_unlock(&noted->lock);
	return err;
}

int noted_find(struct noted *noted, const char *path, struct group_tree *ret_tree)
{
	const struct group *group;
	int err = 0;

	pthread_mutex_lock(&noted->lock);
	group = group_tree_find(&noted->tree, path);
	if (group)
		err = copy_note(group, ret_tree);
	pthread_mutex_unlock(&noted->lock);
	return err;
}
