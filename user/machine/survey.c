// SPDX-License-Identifier: Apache-2.0
/*
 * Derives the kubelet's ids from hwloc's objects. The kubelet reads sysfs through
 * cAdvisor and numbers objects by its own rules (v1.36). They are reproduced here, so
 * that ids refer to the same cores and caches in both.
 */
#include "machine/survey.h"

#include <errno.h>
#include <numa.h>
#include <string.h>

#include "machine/sysfs.h"

void survey_fini(struct survey *survey)
{
	free(survey->cpus);
	free(survey->nodes);
	free(survey->node_cpus);
	free(survey->distances);
	*survey = (struct survey){0};
}

static hwloc_obj_t pu_at(hwloc_topology_t hwloc, size_t index)
{
	return hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_PU, index);
}

/* XML files and synthetic descriptions may omit the number. */
static uint32_t number_of(const struct hwloc_obj *object)
{
	return object->os_index != HWLOC_UNKNOWN_INDEX ? object->os_index : object->logical_index;
}

/* --- memory ----------------------------------------------------------------------------------- */

static void read_hugepages(const struct hwloc_obj *object, struct topology_node *node)
{
	/* hwloc lists page sizes in ascending order; the first is the base page size. */
	for (unsigned int i = 1; i < object->attr->numanode.page_types_len; i++) {
		if (node->nr_hugepages == TOPOLOGY_MAX_HUGEPAGES)
			return;
		node->hugepages[node->nr_hugepages++] = (struct hugepages){
			.size_bytes = object->attr->numanode.page_types[i].size,
			.total_pages = object->attr->numanode.page_types[i].count,
			.free_pages = UINT64_MAX,
		};
	}
}

static void read_cpus(const struct hwloc_obj *object, struct cpuset *cpus)
{
	int cpu;

	hwloc_bitmap_foreach_begin(cpu, object->cpuset) if (cpu >= CPUSET_MAX) break;
	cpuset_add(cpus, cpu);
	hwloc_bitmap_foreach_end();
}

static void read_node(const struct hwloc_obj *object, int root_fd, bool use_libnuma,
		      struct topology_node *node, struct cpuset *cpus)
{
	long long size_bytes;

	node->id = number_of(object);
	node->memory_bytes = object->attr->numanode.local_memory;
	if (use_libnuma) {
		size_bytes = numa_node_size64(node->id, NULL);
		if (size_bytes >= 0)
			node->memory_bytes = size_bytes;
	}
	if (root_fd < 0 || sysfs_read_hugepages(root_fd, node) < 0)
		read_hugepages(object, node);
	/*
	 * hwloc assigns the nearest CPUs to nodes with slow or fast memory. For the
	 * kernel, and therefore for the kubelet, such nodes have no CPUs.
	 */
	if (root_fd < 0 || sysfs_read_node_cpus(root_fd, node->id, cpus) < 0)
		read_cpus(object, cpus);
}

static int compare_objects(const void *left, const void *right)
{
	uint32_t a = number_of(*(hwloc_obj_t const *)left);
	uint32_t b = number_of(*(hwloc_obj_t const *)right);

	return a < b ? -1 : a > b;
}

static int take_nodes(hwloc_topology_t hwloc, int root_fd, bool use_libnuma, struct survey *survey)
{
	int nr = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE);
	hwloc_obj_t objects[TOPOLOGY_MAX_NODES];

	if (nr > TOPOLOGY_MAX_NODES)
		return -E2BIG;
	if (nr < 0)
		nr = 0;
	survey->nodes = calloc(nr + 1, sizeof(*survey->nodes));
	survey->node_cpus = calloc(nr + 1, sizeof(*survey->node_cpus));
	if (!survey->nodes || !survey->node_cpus)
		return -ENOMEM;
	for (int i = 0; i < nr; i++)
		objects[i] = hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, i);
	qsort(objects, nr, sizeof(objects[0]), compare_objects);
	for (int i = 0; i < nr; i++)
		read_node(objects[i], root_fd, use_libnuma, &survey->nodes[i],
			  &survey->node_cpus[i]);
	survey->nr_nodes = nr;
	return 0;
}

static size_t node_index(const struct survey *survey, uint32_t id)
{
	size_t index = 0;

	while (index < survey->nr_nodes && survey->nodes[index].id != id)
		index++;
	return index;
}

static void copy_distances(struct survey *survey, const struct hwloc_distances_s *matrix)
{
	for (unsigned int i = 0; i < matrix->nbobjs; i++) {
		for (unsigned int j = 0; j < matrix->nbobjs; j++) {
			size_t from = node_index(survey, number_of(matrix->objs[i]));
			size_t to = node_index(survey, number_of(matrix->objs[j]));
			uint64_t value = matrix->values[i * matrix->nbobjs + j];

			if (from < survey->nr_nodes && to < survey->nr_nodes)
				survey->distances[from * survey->nr_nodes + to] =
					value < 65535 ? value : 65535;
		}
	}
}

static int take_distances(hwloc_topology_t hwloc, struct survey *survey)
{
	struct hwloc_distances_s *matrix = NULL;
	unsigned int nr = 1;
	int err = 0;

	if (hwloc_distances_get_by_name(hwloc, "NUMALatency", &nr, &matrix, 0) < 0 || nr == 0)
		return 0;
	/* Use complete matrices only: single zeros do not mean "not known". */
	if (matrix->nbobjs == survey->nr_nodes && survey->nr_nodes > 0) {
		survey->distances =
			calloc(survey->nr_nodes * survey->nr_nodes, sizeof(*survey->distances));
		if (survey->distances)
			copy_distances(survey, matrix);
		else
			err = -ENOMEM;
	}
	hwloc_distances_release(hwloc, matrix);
	return err;
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static hwloc_obj_t core_of(hwloc_topology_t hwloc, hwloc_obj_t pu)
{
	hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(hwloc, HWLOC_OBJ_CORE, pu);

	return core ? core : pu;
}

static uint32_t socket_of(hwloc_topology_t hwloc, hwloc_obj_t pu)
{
	hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, pu);

	return package ? number_of(package) : 0;
}

static uint32_t node_of(const struct survey *survey, uint32_t cpu)
{
	for (size_t i = 0; i < survey->nr_nodes; i++)
		if (cpu < CPUSET_MAX && cpuset_has(&survey->node_cpus[i], cpu))
			return survey->nodes[i].id;
	/* The CPU is in no node's list: a machine without NUMA. */
	return survey->nr_nodes ? survey->nodes[0].id : 0;
}

/* The lowest CPU of the core in the same NUMA node. */
static uint32_t leader_of(const struct survey *survey, hwloc_obj_t core, uint32_t cpu,
			  uint32_t node)
{
	int other;

	hwloc_bitmap_foreach_begin(other,
				   core->cpuset) if (node_of(survey, other) == node) return other;
	hwloc_bitmap_foreach_end();
	return cpu;
}

/* Count the CPUs that share both node and core with `cpu`, and the cores of its node. */
static void count_around(const struct survey *survey, const struct topology_cpu *cpu,
			 uint32_t *ret_threads, uint32_t *ret_cores)
{
	*ret_threads = 0;
	*ret_cores = 0;
	for (size_t i = 0; i < survey->nr_cpus; i++) {
		const struct topology_cpu *other = &survey->cpus[i];

		if (other->node != cpu->node)
			continue;
		*ret_threads += other->core == cpu->core;
		*ret_cores += other->core == other->id;
	}
}

static bool is_uncore_cache(const struct hwloc_obj *object)
{
	return object->type == HWLOC_OBJ_L3CACHE || object->type == HWLOC_OBJ_L4CACHE ||
	       object->type == HWLOC_OBJ_L5CACHE;
}

/*
 * The kubelet treats a cache as the node's cache, and not as an uncore cache, if it is
 * shared by exactly (cores of the node) x (threads of this core) CPUs.
 */
static uint32_t uncore_of(const struct survey *survey, hwloc_obj_t pu,
			  const struct topology_cpu *cpu)
{
	uint32_t threads, cores;

	count_around(survey, cpu, &threads, &cores);
	for (hwloc_obj_t object = pu->parent; object; object = object->parent)
		if (is_uncore_cache(object) &&
		    hwloc_bitmap_weight(object->cpuset) != (int)(cores * threads))
			return number_of(object);
	return cpu->socket;
}

static int take_cpus(hwloc_topology_t hwloc, struct survey *survey)
{
	int nr = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_PU);

	if (nr <= 0 || nr > CPUSET_MAX)
		return -E2BIG;
	survey->cpus = calloc(nr, sizeof(*survey->cpus));
	if (!survey->cpus)
		return -ENOMEM;
	for (int i = 0; i < nr; i++) {
		hwloc_obj_t pu = pu_at(hwloc, i);
		struct topology_cpu *cpu = &survey->cpus[i];

		cpu->id = number_of(pu);
		cpu->socket = socket_of(hwloc, pu);
		cpu->node = node_of(survey, cpu->id);
		cpu->core = leader_of(survey, core_of(hwloc, pu), cpu->id, cpu->node);
	}
	survey->nr_cpus = nr;
	for (int i = 0; i < nr; i++)
		survey->cpus[i].uncore = uncore_of(survey, pu_at(hwloc, i), &survey->cpus[i]);
	return 0;
}

/* Without a NUMA directory each package is a node with the same number. */
static void name_nodes_by_socket(struct survey *survey)
{
	for (size_t i = 0; i < survey->nr_cpus; i++) {
		survey->cpus[i].node = survey->cpus[i].socket;
		if (i == 0 || survey->cpus[i].socket < survey->nodes[0].id)
			survey->nodes[0].id = survey->cpus[i].socket;
	}
}

int survey_take(hwloc_topology_t hwloc, int root_fd, bool use_libnuma, struct survey *ret_survey)
{
	struct survey survey = {0};
	int err = take_nodes(hwloc, root_fd, use_libnuma, &survey);

	if (!err)
		err = take_cpus(hwloc, &survey);
	if (!err)
		err = take_distances(hwloc, &survey);
	if (err) {
		survey_fini(&survey);
		return err;
	}
	if (root_fd >= 0 && !sysfs_has_nodes(root_fd) && survey.nr_nodes == 1)
		name_nodes_by_socket(&survey);
	*ret_survey = survey;
	return 0;
}
