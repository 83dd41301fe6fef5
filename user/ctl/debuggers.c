// SPDX-License-Identifier: Apache-2.0
/*
 * The guard knows an actor by its parent and its name, so nothing has to be told when the cgroup itself
 * is made or made anew. That of its parent raises no event, hence the look each second.
 */
#include "ctl/debuggers.h"

#include <errno.h>
#include <string.h>

#include "ctl/internal.h"
#include "format/group_path.h"
#include "lib/text.h"

/* Empty where nothing is denied: no cgroups are looked for then. */
static const struct cgroup_list *list_of(const struct controller *controller)
{
	static const struct cgroup_list none;
	const struct config *config = controller->options.config;

	return run_mode_writes(config->mode) ? &config->enforcement.debuggers : &none;
}

/*
 * What cannot be looked up now, for example because another process holds the lock of a directory, is
 * where it was. Before it has been found once it has no right: fails closed.
 */
static uint64_t find_parent(const struct controller *controller, const char *path, uint64_t before)
{
	const struct groups_port *groups = controller->ports.groups;
	char parent[GROUP_PATH_MAX];
	uint64_t id;
	int r;

	group_path_parent(path, parent);
	r = groups->id_of(groups->self, parent, &id);
	if (!r)
		return id;
	return r == -ENOENT ? 0 : before;
}

bool ctl_find_debuggers(struct controller *controller)
{
	struct debuggers *debuggers = &controller->debuggers;
	const struct cgroup_list *list = list_of(controller);
	bool has_changed = list->nr != debuggers->list.nr;

	for (uint32_t i = 0; i < list->nr; i++) {
		bool is_same = !strcmp(list->paths[i], debuggers->list.paths[i]);
		uint64_t before = is_same ? debuggers->parent_ids[i] : 0;
		uint64_t id = find_parent(controller, list->paths[i] + 1, before);

		has_changed |= !is_same || id != before;
		debuggers->parent_ids[i] = id;
	}
	debuggers->list = *list;
	return has_changed;
}

uint32_t ctl_list_debuggers(const struct controller *controller, struct actor_unit *ret_units)
{
	const struct cgroup_list *list = list_of(controller);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < list->nr; i++) {
		const char *path = list->paths[i] + 1;
		const char *slash = strrchr(path, '/');
		struct actor_unit *unit = &ret_units[nr];

		if (!controller->debuggers.parent_ids[i])
			continue;
		*unit = (struct actor_unit){
			.parent_id = controller->debuggers.parent_ids[i],
			.level = group_path_depth(path),
		};
		text_copy(unit->name, sizeof(unit->name), slash ? slash + 1 : path);
		nr++;
	}
	return nr;
}
