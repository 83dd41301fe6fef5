// SPDX-License-Identifier: Apache-2.0
/*
 * The runtime makes a container's cgroup in that of its pod, wherever the kubelet put it, so the
 * path of the container says where the pod is.
 */
#include "ctl/measured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pinfold/abi.h>

#include "ctl/internal.h"
#include "format/group_path.h"
#include "lib/log.h"
#include "lib/text.h"

/* --- the agent's own ------------------------------------------------------------------------------ */

/* NULL = no memory. */
static struct group *add_group(struct group_tree *tree, enum group_role role, const char *path,
			       const char *uid, const char *container)
{
	struct group *group = group_tree_add(tree, role, path);

	if (!group)
		return NULL;
	text_copy(group->uid, sizeof(group->uid), uid);
	text_copy(group->container, sizeof(group->container), container);
	return group;
}

/* The others say how a group is enforced, which those who measure it do not ask for. */
static int copy_files(const struct group *group, struct group *copy)
{
	static const enum group_file files[] = {GROUP_CPUSET_CPUS, GROUP_CPUSET_MEMS};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *value = group->files[files[i]];

		if (!value)
			continue;
		copy->files[files[i]] = strdup(value);
		if (!copy->files[files[i]])
			return -ENOMEM;
	}
	return 0;
}

static int add_own(const struct group_tree *desired, struct group_tree *tree)
{
	for (uint32_t i = 0; i < desired->nr_groups; i++) {
		const struct group *group = &desired->groups[i];
		struct group *copy =
			add_group(tree, group->role, group->path, group->uid, group->container);

		if (!copy || copy_files(group, copy))
			return -ENOMEM;
	}
	return 0;
}

/* --- a runtime's ---------------------------------------------------------------------------------- */

/* The rows by pod and container, of one container the newest first. */
static int by_container(const void *left, const void *right)
{
	const struct runtime_row *a = *(const struct runtime_row *const *)left;
	const struct runtime_row *b = *(const struct runtime_row *const *)right;
	int order = strcmp(a->uid, b->uid);

	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : (a->serial < b->serial) - (a->serial > b->serial);
}

/* The first row of the pod if it has any, otherwise where it would be. */
static uint32_t find_pod(const struct runtime_row *const *rows, uint32_t nr, const char *uid)
{
	uint32_t low = 0, high = nr;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (strcmp(rows[middle]->uid, uid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * An entry for a cgroup in our own tree would take it from the guard, so no runtime may name one
 * there.
 */
static bool is_measurable(const struct plan_layout *layout, const char *path)
{
	const uint32_t depth = group_path_depth(path);

	/* A root, a pod in it, and the container: three cgroups. */
	return depth > 2 && depth < MANAGED_LEVELS_MAX && !group_path_is_in(path, layout->root);
}

/* Is it the newest instance of its container, with a cgroup that can be measured? */
static bool is_followed(const struct controller *controller, const struct runtime_row *const *rows,
			uint32_t at)
{
	const struct runtime_row *row = rows[at];
	const bool is_newest = !at || strcmp(rows[at - 1]->uid, row->uid) ||
			       strcmp(rows[at - 1]->name, row->name);

	return is_newest && is_measurable(&controller->layout, row->cgroup);
}

/* The pod at `path`, below its root. Pods that follow each other mostly have the same one. */
static int add_pod(struct group_tree *tree, const char *path, const char *uid,
		   char root[GROUP_PATH_MAX])
{
	if (!group_path_is_in(path, root)) {
		group_path_top(path, root);
		if (!group_tree_find(tree, root) && !add_group(tree, GROUP_ROOT, root, "", ""))
			return -ENOMEM;
	}
	return add_group(tree, GROUP_POD, path, uid, "") ? 0 : -ENOMEM;
}

static int add_container(const struct controller *controller, const struct grant *grant,
			 const struct runtime_row *row, struct group_tree *tree)
{
	struct group *group = add_group(tree, GROUP_CONTAINER, row->cgroup, row->uid, row->name);
	char cpus[CPUSET_TEXT_MAX];

	if (!group)
		return -ENOMEM;
	cpuset_format(ledger_effective(controller->ledger, grant), cpus, sizeof(cpus));
	group->files[GROUP_CPUSET_CPUS] = strdup(cpus);
	return group->files[GROUP_CPUSET_CPUS] ? 0 : -ENOMEM;
}

static int add_containers(const struct controller *controller, const struct ledger_pod *pod,
			  const struct runtime_row *const *rows, uint32_t nr,
			  struct group_tree *tree, char root[GROUP_PATH_MAX])
{
	const char *uid = pod->spec->uid;
	bool has_pod = false;
	int r = 0;

	for (uint32_t i = find_pod(rows, nr, uid); !r && i < nr && !strcmp(rows[i]->uid, uid);
	     i++) {
		const struct grant *grant = ledger_find_grant(pod, rows[i]->name);
		char parent[GROUP_PATH_MAX];

		if (!grant || !is_followed(controller, rows, i))
			continue;
		group_path_parent(rows[i]->cgroup, parent);
		/* Two pods in one cgroup: whose figures these are cannot be told. */
		if (!has_pod && group_tree_find(tree, parent))
			return 0;
		if (!has_pod)
			r = add_pod(tree, parent, uid, root);
		has_pod = true;
		if (!r)
			r = add_container(controller, grant, rows[i], tree);
	}
	return r;
}

static int add_runtime(const struct controller *controller, struct group_tree *tree)
{
	const struct runtimes *runtimes = &controller->runtimes;
	const struct runtime_row **rows cleanup_free =
		calloc(runtimes->nr_rows + 1, sizeof(const struct runtime_row *));
	char root[GROUP_PATH_MAX] = "";
	int r = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		rows[i] = &runtimes->rows[i];
	qsort(rows, runtimes->nr_rows, sizeof(*rows), by_container);
	for (uint32_t i = 0; !r && i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		if (pod->spec->is_of_runtime)
			r = add_containers(controller, pod, rows, runtimes->nr_rows, tree, root);
	}
	return r;
}

/* --- both ----------------------------------------------------------------------------------------- */

void measured_fini(struct measured_groups *measured)
{
	group_tree_fini(&measured->tree);
}

bool measured_is_foreign(const struct measured_groups *measured, uint32_t index)
{
	return index >= measured->nr_own;
}

int ctl_follow_measured(struct controller *controller)
{
	struct measured_groups made cleanup_measured = {0};
	int r = add_own(&controller->desired, &made.tree);

	made.nr_own = made.tree.nr_groups;
	if (!r)
		r = add_runtime(controller, &made.tree);
	if (r)
		return log_err(r, "ctl: cannot measure new containers before the next reconcile");
	measured_fini(&controller->measured);
	controller->measured = made;
	made = (struct measured_groups){0};
	return 0;
}
