/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of cgroups as a ledger wants them, and their files. Include after cmocka.h. */
#ifndef PLAN_SCENE_H
#define PLAN_SCENE_H

#include "core/plan/plan.h"
#include "scene.h"

static const struct plan_layout plain = {.root = "pinfold.slice"};
static const struct plan_layout partitioned = {.root = "pinfold.slice", .root_partition = true};
static const struct plan_layout systemd = {.root = "pinfold.slice", .systemd = true};

static inline struct group_tree desired_of(const struct ledger *ledger,
					   const struct plan_layout *layout)
{
	struct group_tree tree = {0};

	assert_int_equal(plan_desired(ledger, layout, NULL, &tree), 0);
	return tree;
}

static inline void assert_file(const struct group_tree *tree, const char *path,
			       enum group_file file, const char *value)
{
	const struct group *group = group_tree_find(tree, path);

	if (!group)
		fail_msg("no group %s", path);
	if (!value) {
		assert_null(group->files[file]);
		return;
	}
	if (!group->files[file])
		fail_msg("%s has no %s", path, group_file_name(file));
	assert_string_equal(group->files[file], value);
}

static inline char *copy_text(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	assert_true(!text || copy);
	return copy;
}

#endif
