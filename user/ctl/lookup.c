// SPDX-License-Identifier: Apache-2.0
/* Only compares names, uids and paths; the callers decide what follows. */
#include <stdio.h>
#include <string.h>

#include "ctl/lookup.h"
#include "lib/text.h"

/* Cannot be the name of a pod. The cgroup is created once and kept. */
#define SELF_TEST_GROUP "pinfold-selftest"

bool lookup_split_name(const char *text, char ret_namespace[POD_NAME_MAX],
		       char ret_name[POD_NAME_MAX])
{
	const char *slash = strchr(text, '/'); /* text: a request names a pod in this form */
	const char *namespace = slash ? text : "default";
	const char *name = slash ? slash + 1 : text;
	const size_t len = slash ? (size_t)(slash - text) : strlen(namespace);

	/* Cut to the size of the fields, they might be those of another pod. */
	if (!len || len >= POD_NAME_MAX || !*name || strlen(name) >= POD_NAME_MAX)
		return false;
	snprintf(ret_namespace, POD_NAME_MAX, "%.*s", (int)len, namespace);
	snprintf(ret_name, POD_NAME_MAX, "%s", name);
	return true;
}

const struct ledger_pod *lookup_pod(const struct ledger *ledger, const char *text)
{
	const struct ledger_pod *pod = ledger_find(ledger, text);
	char namespace[POD_NAME_MAX], name[POD_NAME_MAX];

	if (pod || !lookup_split_name(text, namespace, name))
		return pod;
	return ledger_find_name(ledger, namespace, name);
}

/* The first group of the pod, or where it would be. */
static uint32_t first_group(const struct group_tree *tree, const char *uid)
{
	uint32_t low = 0, high = tree->nr_groups;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(tree->groups[middle].uid, uid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct group *lookup_group(const struct group_tree *desired, const char *uid,
				 const char *container)
{
	enum group_role role = *container ? GROUP_CONTAINER : GROUP_POD;

	for (uint32_t i = first_group(desired, uid); i < desired->nr_groups; i++) {
		const struct group *group = &desired->groups[i];

		if (strcmp(group->uid, uid))
			break;
		if (group->role == role && !strcmp(group->container, container))
			return group;
	}
	return NULL;
}

const struct group *lookup_container_at(const struct group_tree *tree, const char *path)
{
	for (uint32_t i = 0; i < tree->nr_groups; i++) {
		const struct group *group = &tree->groups[i];
		size_t len = strlen(group->path);

		if (group->role == GROUP_CONTAINER && !strncmp(path, group->path, len) &&
		    (!path[len] || path[len] == '/'))
			return group;
	}
	return NULL;
}

void lookup_pod_label(const struct pod_spec *spec, char *text, size_t size)
{
	snprintf(text, size, "%s/%s", spec->namespace, spec->name);
}

void lookup_chain_label(const struct ledger *ledger, const char *uid, char *text, size_t size)
{
	const struct ledger_pod *pod = *uid ? ledger_find(ledger, uid) : NULL;
	char name[POD_NAME_MAX * 2];

	if (pod) {
		lookup_pod_label(pod->spec, name, sizeof(name));
		snprintf(text, size, "pod %.120s", name);
	} else if (*uid) {
		snprintf(text, size, "pod with uid %.80s", uid);
	} else {
		snprintf(text, size, "the workload root");
	}
}

void lookup_name_event(const struct ledger *ledger, const struct group_tree *tree, const char *path,
		       struct event_row *event)
{
	const struct group *group = lookup_container_at(tree, path);
	const struct ledger_pod *pod = group ? ledger_find(ledger, group->uid) : NULL;
	char name[POD_NAME_MAX * 2];

	if (!pod)
		return;
	lookup_pod_label(pod->spec, name, sizeof(name));
	text_copy(event->pod, sizeof(event->pod), name);
	text_copy(event->container, sizeof(event->container), group->container);
}

void lookup_self_test(const struct plan_layout *layout, char ret_path[GROUP_PATH_MAX])
{
	snprintf(ret_path, GROUP_PATH_MAX, "%s/%s", layout->root, SELF_TEST_GROUP);
}
