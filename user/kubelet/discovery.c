// SPDX-License-Identifier: Apache-2.0
/* The rows of a discovery and its state files. */
#include "kubelet/discovery.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void row_fini(struct discovered_cgroup *row)
{
	free(row->path);
	free(row->namespace);
	free(row->pod);
	free(row->container);
	free(row->cpus);
	free(row->effective_cpus);
	free(row->mems);
	free(row->effective_mems);
	free(row->cpu_max);
	free(row->memory_max);
}

void discovery_fini(struct discovery *discovery)
{
	for (uint32_t i = 0; i < discovery->nr; i++)
		row_fini(&discovery->rows[i]);
	free(discovery->rows);
	kubelet_cpu_state_fini(&discovery->state);
	kubelet_memory_state_fini(&discovery->memory);
	*discovery = (struct discovery){0};
}

int discovery_add(struct discovery *discovery, const char *path, struct discovered_cgroup **ret_row)
{
	struct discovered_cgroup *row;
	char *copy cleanup_free = NULL;

	if (discovery->nr == DISCOVERY_MAX_ROWS) {
		discovery->nr_left_out++;
		return -ENOSPC;
	}
	/* The capacity is the next power of two, so it need not be stored. */
	if (!(discovery->nr & (discovery->nr - 1))) {
		struct discovered_cgroup *rows = realloc(
			discovery->rows, (discovery->nr ? discovery->nr * 2 : 1) * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		discovery->rows = rows;
	}
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	row = &discovery->rows[discovery->nr++];
	*row = (struct discovered_cgroup){
		.path = TAKE_PTR(copy),
		.cpu_request_mcpu = RESOURCE_UNSET,
		.cpu_weight = -1,
		.tasks = -1,
		.run_ns = -1,
		.throttled_ns = -1,
	};
	*ret_row = row;
	return 0;
}

static int compare_paths(const void *left, const void *right)
{
	const struct discovered_cgroup *a = left, *b = right;

	return strcmp(a->path, b->path);
}

void discovery_sort(struct discovery *discovery)
{
	if (discovery->nr)
		qsort(discovery->rows, discovery->nr, sizeof(discovery->rows[0]), compare_paths);
}

static bool is_below(const char *path, const char *parent)
{
	const size_t len = strlen(parent);

	return !strncmp(path, parent, len) && path[len] == '/';
}

static int name_pod(struct discovered_cgroup *pod, const struct discovered_cgroup *container)
{
	char *namespace cleanup_free = strdup(container->namespace);
	char *name cleanup_free = strdup(container->pod);

	if (!namespace || !name)
		return -ENOMEM;
	pod->namespace = TAKE_PTR(namespace);
	pod->pod = TAKE_PTR(name);
	pod->names = DISCOVERED_NAMES_READ;
	return 0;
}

int discovery_name_pods(struct discovery *discovery)
{
	struct discovered_cgroup *pod = NULL;

	for (uint32_t i = 0; i < discovery->nr; i++) {
		struct discovered_cgroup *row = &discovery->rows[i];
		int r = 0;

		if (row->name.kind == KUBEPODS_POD)
			pod = row;
		else if (pod && pod->names == DISCOVERED_NAMES_UNKNOWN &&
			 row->names == DISCOVERED_NAMES_READ && is_below(row->path, pod->path))
			r = name_pod(pod, row);
		if (r)
			return r;
	}
	return 0;
}

const struct discovered_cgroup *discovery_named_pod(const struct discovery *discovery,
						    const char *uid)
{
	for (uint32_t i = 0; i < discovery->nr; i++)
		if (discovery->rows[i].names == DISCOVERED_NAMES_READ &&
		    !strcmp(discovery->rows[i].name.uid, uid))
			return &discovery->rows[i];
	return NULL;
}

/* The kubelet's file, whatever its policy; -EINVAL with a sentence. */
static int parse_state(const char *data, size_t len, struct kubelet_cpu_state *ret_state,
		       enum kubelet_fault *ret_fault, char *error, size_t error_size)
{
	static const char *const policies[] = {"static", "none"};
	int r = -EINVAL;

	*ret_fault = KUBELET_FAULT_POLICY;
	for (size_t i = 0; i < ARRAY_SIZE(policies) && r && *ret_fault == KUBELET_FAULT_POLICY;
	     i++) {
		const struct kubelet kubelet = {KUBELET_ANY, true, policies[i]};

		r = kubelet_cpu_state_read(data, len, &kubelet, ret_state, ret_fault, error,
					   error_size);
	}
	return r;
}

/* The same of the other file. */
static int parse_memory(const char *data, size_t len, struct kubelet_memory_state *ret_memory,
			enum kubelet_fault *ret_fault, char *error, size_t error_size)
{
	static const char *const policies[] = {"Static", "None"};
	int r = -EINVAL;

	*ret_fault = KUBELET_FAULT_POLICY;
	for (size_t i = 0; i < ARRAY_SIZE(policies) && r && *ret_fault == KUBELET_FAULT_POLICY;
	     i++) {
		const struct kubelet kubelet = {KUBELET_ANY, true, policies[i]};

		r = kubelet_memory_state_read(data, len, &kubelet, ret_memory, ret_fault, error,
					      error_size);
	}
	return r;
}

static int note_read(struct discovered_file *file, int result, enum kubelet_fault fault,
		     const char *error)
{
	if (result == -ENOMEM)
		return result;
	file->presence = result ? KUBELET_STATE_UNUSABLE : KUBELET_STATE_READ;
	if (result)
		snprintf(file->problem, sizeof(file->problem), "%s: %.240s",
			 kubelet_fault_name(fault), error);
	return 0;
}

int discovery_read_state(struct discovery *discovery, const char *data, size_t len)
{
	enum kubelet_fault fault;
	char error[ROW_DETAIL_MAX - 64] = "";
	int r = parse_state(data, len, &discovery->state, &fault, error, sizeof(error));

	return note_read(&discovery->cpu_file, r, fault, error);
}

int discovery_read_memory(struct discovery *discovery, const char *data, size_t len)
{
	enum kubelet_fault fault;
	char error[ROW_DETAIL_MAX - 64] = "";
	int r = parse_memory(data, len, &discovery->memory, &fault, error, sizeof(error));

	return note_read(&discovery->memory_file, r, fault, error);
}

int discovery_keep_state(struct discovery *discovery, const char *data, size_t len)
{
	enum kubelet_fault fault;
	char error[ROW_DETAIL_MAX - 64] = "";
	int r = parse_state(data, len, &discovery->state, &fault, error, sizeof(error));

	discovery->cpu_file.is_kept = !r;
	return r == -ENOMEM ? r : 0;
}

int discovery_keep_memory(struct discovery *discovery, const char *data, size_t len)
{
	enum kubelet_fault fault;
	char error[ROW_DETAIL_MAX - 64] = "";
	int r = parse_memory(data, len, &discovery->memory, &fault, error, sizeof(error));

	discovery->memory_file.is_kept = !r;
	return r == -ENOMEM ? r : 0;
}

bool discovery_has_state(const struct discovery *discovery)
{
	return discovery->cpu_file.presence == KUBELET_STATE_READ || discovery->cpu_file.is_kept;
}

bool discovery_is_static(const struct discovery *discovery)
{
	return discovery_has_state(discovery) && !strcmp(discovery->state.policy, "static");
}

static bool has_pod(const struct kubelet_entries *entries, const char *uid)
{
	for (uint32_t i = 0; i < entries->nr; i++)
		if (!strcmp(entries->entries[i].pod, uid))
			return true;
	return false;
}

const struct kubelet_entry *discovery_entry(const struct discovery *discovery,
					    const struct discovered_cgroup *row)
{
	const struct kubelet_entries *entries = &discovery->state.containers;

	if (!row->container || !discovery_is_static(discovery))
		return NULL;
	for (uint32_t i = 0; i < entries->nr; i++)
		if (!strcmp(entries->entries[i].pod, row->name.uid) &&
		    !strcmp(entries->entries[i].container, row->container))
			return &entries->entries[i];
	return NULL;
}

const char *discovery_given(const struct discovery *discovery, const struct discovered_cgroup *row)
{
	const struct kubelet_entry *entry = discovery_entry(discovery, row);

	if (row->name.kind != KUBEPODS_CONTAINER || !row->name.has_qos ||
	    !discovery_is_static(discovery))
		return NULL;
	if (entry)
		return entry->list;
	/* What such a pod's exclusive containers leave to the others is not in the file. */
	if (has_pod(&discovery->state.pods, row->name.uid))
		return NULL;
	if (!row->container && has_pod(&discovery->state.containers, row->name.uid))
		return NULL;
	return discovery->state.default_list;
}

/* Without a usable file the state has no entries, and under another policy than Static none count. */
static const struct kubelet_memory_entries *memory_entries(const struct discovery *discovery)
{
	static const struct kubelet_memory_entries none;

	return discovery->memory.policy && !strcmp(discovery->memory.policy, "Static")
		       ? &discovery->memory.containers
		       : &none;
}

bool discovery_given_nodes(const struct discovery *discovery, const struct discovered_cgroup *row,
			   struct cpuset *ret_nodes)
{
	const struct kubelet_memory_entries *memory = memory_entries(discovery);
	struct cpuset nodes = CPUSET_EMPTY;

	for (uint32_t i = 0; row->container && i < memory->nr; i++) {
		const struct kubelet_memory_entry *entry = &memory->entries[i];

		if (strcmp(entry->pod, row->name.uid) || strcmp(entry->container, row->container))
			continue;
		for (uint32_t j = 0; j < entry->nr_blocks; j++)
			for (uint32_t k = 0; k < entry->blocks[j].nr_nodes; k++)
				if (entry->blocks[j].nodes[k] < CPUSET_MAX)
					cpuset_add(&nodes, entry->blocks[j].nodes[k]);
	}
	if (cpuset_is_empty(&nodes))
		return false;
	*ret_nodes = nodes;
	return true;
}

bool discovery_planned_cpus(const struct discovery *discovery, const struct discovered_cgroup *row,
			    struct cpuset *ret_cpus, bool *ret_is_own)
{
	const struct kubelet_cpu_state *state = &discovery->state;
	const struct kubelet_entry *own = discovery_entry(discovery, row);

	if (row->name.kind != KUBEPODS_CONTAINER || !row->name.has_qos || !row->container ||
	    discovery->cpu_file.presence != KUBELET_STATE_READ || !discovery_is_static(discovery))
		return false;
	if (!own && (has_pod(&state->pods, row->name.uid) || cpuset_is_empty(&state->default_cpus)))
		return false;
	*ret_cpus = own ? own->cpus : state->default_cpus;
	*ret_is_own = own;
	return !cpuset_is_empty(ret_cpus);
}

bool discovery_planned_nodes(const struct discovery *discovery, const struct discovered_cgroup *row,
			     struct cpuset *ret_nodes)
{
	return row->name.kind == KUBEPODS_CONTAINER && row->name.has_qos &&
	       discovery->memory_file.presence == KUBELET_STATE_READ &&
	       discovery_given_nodes(discovery, row, ret_nodes);
}

struct cpuset discovery_exclusive(const struct discovery *discovery)
{
	const struct kubelet_entries *const lists[] = {&discovery->state.containers,
						       &discovery->state.pods};
	struct cpuset cpus = CPUSET_EMPTY;

	if (!discovery_has_state(discovery))
		return cpus;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (uint32_t j = 0; j < lists[i]->nr; j++)
			cpuset_union(&cpus, &lists[i]->entries[j].cpus);
	return cpus;
}
