// SPDX-License-Identifier: Apache-2.0
// LIBS: machine format core lib
/*
 * Machines from every source: descriptions, lstopo's XML, facts files, a copy of
 * sysfs below another root, and this very computer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/facts.h"
#include "lib/text.h"
#include "machine/machine.h"
#include "machine/pages.h"

#include "../lib/data.h"

static char error[MACHINE_ERROR_MAX];
static char root[64];

static void read_root(const char *source, const char *below, struct machine *ret_machine)
{
	if (machine_read(source, below, error, sizeof(error), ret_machine) < 0)
		fail_msg("%s", error);
}

static void assert_cpus(const struct cpuset *cpus, const char *expected)
{
	char text[256];

	assert_true(cpuset_format(cpus, text, sizeof(text)) < sizeof(text));
	assert_string_equal(text, expected);
}

static void assert_facts(const struct machine *machine, const char *expected)
{
	struct text text cleanup_text = {0};

	facts_render(machine->topology, &text);
	assert_non_null(text.data);
	if (!strstr(text.data, expected))
		fail_msg("'%s' is not in '%s'", expected, text.data);
}

/* --- descriptions ----------------------------------------------------------------------------- */

static void no_packages_is_one_socket(void **state)
{
	struct machine machine cleanup_machine = {0};
	const struct topology *topology;
	struct cpuset reserved, shared;

	read_root("numa:2 core:16 pu:2", NULL, &machine);
	topology = machine.topology;
	assert_false(machine.live);
	assert_cpus(&topology->all, "0-63");
	assert_cpus(&machine.online, "0-63");
	assert_cpus(&machine.possible, "0-63");
	assert_true(cpuset_is_empty(&machine.isolated));
	assert_int_equal(topology->num_sockets, 1);
	assert_int_equal(topology->num_nodes, 2);
	assert_int_equal(topology->num_cores, 32);
	assert_int_equal(topology->num_uncores, 1);
	assert_cpus(&topology->nodes.cpus[1], "32-63");
	assert_int_equal(topology->cores.ids[topology->core_of[17]], 16);
	assert_int_equal(cpuset_parse("0,32,1,33,16,48", 15, &reserved), 0);
	shared = topology->all;
	cpuset_subtract(&shared, &reserved);
	assert_cpus(&shared, "2-15,17-31,34-47,49-63");
}

static void caches_below_the_node_are_uncore(void **state)
{
	struct machine machine cleanup_machine = {0};

	read_root("package:2 numa:1 l3:2 core:2 pu:2", NULL, &machine);
	assert_int_equal(machine.topology->num_sockets, 2);
	assert_int_equal(machine.topology->num_uncores, 4);
	assert_cpus(&machine.topology->uncores.cpus[1], "4-7");
}

static void a_cache_of_the_whole_node_is_not(void **state)
{
	struct machine machine cleanup_machine = {0};

	read_root("package:2 numa:1 l3:1 core:4 pu:2", NULL, &machine);
	assert_int_equal(machine.topology->num_uncores, 2);
	/* named by the socket */
	assert_int_equal(machine.topology->uncores.ids[1], machine.topology->sockets.ids[1]);
	assert_cpus(&machine.topology->uncores.cpus[1], "8-15");
}

static void a_cache_over_several_nodes_is_uncore(void **state)
{
	struct machine machine cleanup_machine = {0};

	/* Not shared by exactly the CPUs of one node: the kubelet's rule takes it. */
	read_root("package:1 l3:1 numa:2 core:2 pu:1", NULL, &machine);
	assert_int_equal(machine.topology->num_nodes, 2);
	assert_int_equal(machine.topology->num_uncores, 1);
}

static void numbering_is_followed(void **state)
{
	struct machine machine cleanup_machine = {0};

	/* The threads of a core have distant numbers, as on most x86 machines. */
	read_root("numa:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)", NULL, &machine);
	assert_int_equal(machine.topology->num_cores, 4);
	assert_cpus(&machine.topology->cores.cpus[0], "0,4");
	assert_int_equal(machine.topology->cores.ids[3], 3);
}

static void refused_descriptions(void **state)
{
	static const struct {
		const char *source, *part;
	} cases[] = {
		{"nonsense", "nor an hwloc description"},
		{"", "nor an hwloc description"},
		{"package:2 numa:1 core:99999999 pu:2", "maximum of 8192 CPUs"},
		{"node:64 core:64 pu:64", "maximum of 8192 CPUs"},
		{"1000 1000 1000", "maximum of 8192 CPUs"},
		{"core:5000 pu:2", "maximum of 8192 CPUs"},
		{"core:1025 pu:1", "more than 1024 children"},
		{"numa:1 pu:8192", "more than 1024 children"},
		{"2 1500", "more than 1024 children"},
		{"numa:65 core:1 pu:1", "64 NUMA nodes"},
		{"/no/such/file.xml", "No such file"},
		{"/no/such/file.json", "No such file"},
		{"/proc/self/mounts.json", "cannot be read"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine machine = {0};

		assert_true(machine_read(cases[i].source, NULL, error, sizeof(error), &machine) <
			    0);
		assert_null(machine.topology);
		if (!strstr(error, cases[i].part))
			fail_msg("'%s' is not in '%s'", cases[i].part, error);
	}
}

/* --- files ------------------------------------------------------------------------------------ */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	return remove(path);
}

static int make_root(void **state)
{
	strcpy(root, "/tmp/pinfold-machine-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *format, ...)
{
	char whole[512];
	va_list args;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

static void facts_file(void **state)
{
	struct machine machine cleanup_machine = {0};
	char path[128];

	put("m.json", "{\"cpus\": [[0,0,0,0,0],[2,2,0,3,0]], \"nodes\": [{\"id\": 7}]}");
	snprintf(path, sizeof(path), "%s/m.json", root);
	read_root(path, NULL, &machine);
	assert_cpus(&machine.topology->all, "0,2");
	assert_int_equal(machine.topology->nr_memory_nodes, 3);
	put("m.json", "{\"cpus\": [[0,0,0,0]]}");
	machine_fini(&machine);
	assert_int_equal(machine_read(path, NULL, error, sizeof(error), &machine), -EINVAL);
	assert_non_null(strstr(error, "m.json"));
	assert_non_null(strstr(error, "line 1:11: cpus[0]: 4 numbers; expected 5"));
}

static void lstopo_file(void **state)
{
	struct machine machine cleanup_machine = {0};
	char path[128];

	/* Two packages with an L3 each half of a package; the nodes know their distances. */
	read_root("tests/data/machines/two-packages.xml", NULL, &machine);
	assert_int_equal(machine.topology->num_cpus, 16);
	assert_int_equal(machine.topology->num_sockets, 2);
	assert_int_equal(machine.topology->num_uncores, 4);
	assert_int_equal(machine.topology->memory_nodes[1].memory_bytes, 2000000000);
	put("m.xml", "<topology><object type=\"Machine\"");
	snprintf(path, sizeof(path), "%s/m.xml", root);
	machine_fini(&machine);
	assert_int_equal(machine_read(path, NULL, error, sizeof(error), &machine), -EINVAL);
	assert_non_null(strstr(error, "hwloc cannot read this XML"));
}

/* --- a copy of sysfs -------------------------------------------------------------------------- */

#define CPU  "sys/devices/system/cpu"
#define NODE "sys/devices/system/node"

struct fake_cpu {
	unsigned int id, package, core;
	const char *siblings, *package_list, *cache_list;
	unsigned int cache_id;
};

static void put_cpu(const struct fake_cpu *cpu)
{
	char path[128];

#define PUT(file, ...)                                                     \
	do {                                                               \
		snprintf(path, sizeof(path), CPU "/cpu%u/" file, cpu->id); \
		put(path, __VA_ARGS__);                                    \
	} while (0)
	PUT("topology/core_id", "%u\n", cpu->core);
	PUT("topology/physical_package_id", "%u\n", cpu->package);
	PUT("topology/thread_siblings", "%s\n", cpu->siblings);
	PUT("topology/core_cpus", "%s\n", cpu->siblings);
	PUT("topology/core_siblings", "%s\n", cpu->package_list);
	PUT("topology/package_cpus", "%s\n", cpu->package_list);
	PUT("cache/index3/level", "3\n");
	PUT("cache/index3/type", "Unified\n");
	PUT("cache/index3/id", "%u\n", cpu->cache_id);
	PUT("cache/index3/size", "16384K\n");
	PUT("cache/index3/shared_cpu_map", "%s\n", cpu->cache_list);
#undef PUT
}

static void put_node(unsigned int id, const char *map, const char *list, const char *distance)
{
	char path[128];

#define PUT(file, ...)                                                  \
	do {                                                            \
		snprintf(path, sizeof(path), NODE "/node%u/" file, id); \
		put(path, __VA_ARGS__);                                 \
	} while (0)
	PUT("cpumap", "%s\n", map);
	PUT("cpulist", "%s\n", list);
	PUT("distance", "%s\n", distance);
	PUT("meminfo", "Node %u MemTotal:    4194304 kB\nNode %u MemFree: 1 kB\n", id, id);
	PUT("hugepages/hugepages-2048kB/nr_hugepages", "10\n");
	PUT("hugepages/hugepages-2048kB/free_hugepages", "%u\n", id + 3);
	PUT("hugepages/hugepages-1048576kB/nr_hugepages", "0\n");
	PUT("hugepages/hugepages-1048576kB/free_hugepages", "0\n");
#undef PUT
}

/*
 * Package 0: cores {0,4} {1,5}, each under its own L3; package 1: core {2} (its
 * thread 6 is offline) and core {3,7}, one L3; node 2 has memory only.
 */
static void put_machine(void)
{
	static const struct fake_cpu cpus[] = {
		{0, 0, 0, "11", "33", "11", 5}, {4, 0, 0, "11", "33", "11", 5},
		{1, 0, 1, "22", "33", "22", 6}, {5, 0, 1, "22", "33", "22", 6},
		{2, 1, 0, "04", "8c", "8c", 9}, {3, 1, 1, "88", "8c", "8c", 9},
		{7, 1, 1, "88", "8c", "8c", 9},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++)
		put_cpu(&cpus[i]);
	/* An offline CPU has a directory, and no topology in it. */
	put(CPU "/cpu6/online", "0\n");
	put(CPU "/online", "0-5,7\n");
	put(CPU "/possible", "0-7\n");
	put(CPU "/present", "0-7\n");
	put(CPU "/isolated", "5\n");
	put(CPU "/nohz_full", "(null)\n");
	put_node(0, "33", "0-1,4-5", "10 21 17");
	put_node(1, "8c", "2-3,7", "21 10 28");
	put_node(2, "00", "", "17 28 10");
	put(NODE "/online", "0-2\n");
	put(NODE "/possible", "0-2\n");
	put("proc/cpuinfo", "processor : 0\n");
	put("proc/meminfo", "MemTotal: 12582912 kB\n");
}

static void another_root(void **state)
{
	struct machine machine cleanup_machine = {0};
	const struct topology *topology;
	struct cpuset special;

	put_machine();
	read_root("live", root, &machine);
	topology = machine.topology;
	assert_true(machine.live);
	assert_cpus(&topology->all, "0-5,7");
	assert_cpus(&machine.online, "0-5,7");
	assert_cpus(&machine.possible, "0-7");
	assert_cpus(&machine.isolated, "5");
	assert_true(cpuset_is_empty(&machine.nohz_full));
	machine_special_cpus(&machine, &special);
	assert_cpus(&special, "5");
	/*
	 * Core ids: the lowest online CPU. Uncore: the cache, unless it is the node's own; with
	 * a thread offline the kubelet's count (cores x threads) no longer fits package 1, and
	 * its cache counts as uncore although it spans the node.
	 */
	assert_facts(&machine, "[0,0,0,0,5],[1,1,0,0,6],[2,2,1,1,9],[3,3,1,1,9],[4,0,0,0,5],"
			       "[5,1,0,0,6],[7,3,1,1,9]");
	assert_int_equal(topology->num_nodes, 2);
	assert_int_equal(topology->nr_memory_nodes, 3);
	assert_int_equal(topology->memory_nodes[2].memory_bytes, 4LL << 30);
	assert_int_equal(topology->memory_nodes[2].nr_hugepages, 2);
	assert_int_equal(topology->memory_nodes[2].hugepages[0].size_bytes, 2 << 20);
	assert_int_equal(topology->memory_nodes[2].hugepages[0].total_pages, 10);
	assert_int_equal(topology->memory_nodes[2].hugepages[0].free_pages, 5);
	assert_non_null(topology->distances);
	assert_int_equal(topology->distances[0 * 3 + 1], 21);
	assert_int_equal(topology->distances[1 * 3 + 2], 28);
	/* the environment is unchanged */
	assert_null(getenv("HWLOC_FSROOT"));
}

static uint64_t free_of_node_2(struct machine_port port)
{
	struct topology_node nodes[TOPOLOGY_MAX_NODES];

	assert_int_equal(port.free_pages(port.self, nodes), 3);
	assert_int_equal(nodes[2].id, 2);
	assert_int_equal(nodes[2].hugepages[0].size_bytes, 2 << 20);
	assert_true(nodes[2].hugepages[1].free_pages == 0);
	return nodes[2].hugepages[0].free_pages;
}

/* Unreadable means unknown, not zero. */
static void free_pages_are_current(void **state)
{
	struct machine machine cleanup_machine = {0};
	struct topology_node nodes[TOPOLOGY_MAX_NODES];
	struct pages pages;
	struct machine_port port;

	put_machine();
	read_root("live", root, &machine);
	pages = (struct pages){root, machine.topology};
	port = pages_port(&pages);
	assert_int_equal(free_of_node_2(port), 5);
	put(NODE "/node2/hugepages/hugepages-2048kB/free_hugepages", "1\n");
	assert_int_equal(free_of_node_2(port), 1);
	put(NODE "/node2/hugepages/hugepages-2048kB/free_hugepages", "?\n");
	assert_true(free_of_node_2(port) == UINT64_MAX);
	pages.root = "/no/such/root";
	port.free_pages(port.self, nodes);
	assert_true(nodes[0].hugepages[0].free_pages == UINT64_MAX);
	assert_int_equal(nodes[0].hugepages[0].total_pages, 10);
}

/*
 * With that thread online the count matches: the cache is the node's own and not an
 * uncore cache.
 */
static void a_cache_of_the_node_in_sysfs(void **state)
{
	static const struct fake_cpu cpus[] = {
		{2, 1, 0, "44", "cc", "cc", 9},
		{6, 1, 0, "44", "cc", "cc", 9},
		{3, 1, 1, "88", "cc", "cc", 9},
		{7, 1, 1, "88", "cc", "cc", 9},
	};
	struct machine machine cleanup_machine = {0};

	put_machine();
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++)
		put_cpu(&cpus[i]);
	put(CPU "/cpu6/online", "1\n");
	put(CPU "/online", "0-7\n");
	put_node(1, "cc", "2-3,6-7", "21 10 28");
	read_root("live", root, &machine);
	assert_facts(&machine, "[2,2,1,1,1],[3,3,1,1,1],[4,0,0,0,5],[5,1,0,0,6],[6,2,1,1,1],"
			       "[7,3,1,1,1]");
}

static void bad_roots(void **state)
{
	struct machine machine = {0};

	assert_int_equal(machine_read("live", "/no/such/root", error, sizeof(error), &machine),
			 -ENOENT);
	assert_non_null(strstr(error, "/no/such/root"));
	put_machine();
	put(CPU "/isolated", "5-\n");
	assert_int_equal(machine_read("live", root, error, sizeof(error), &machine), -EINVAL);
	assert_non_null(strstr(error, "/sys/devices/system/cpu/isolated"));
}

static void this_computer(void **state)
{
	struct machine machine cleanup_machine = {0};

	read_root("live", NULL, &machine);
	assert_true(cpuset_equal(&machine.topology->all, &machine.online));
	assert_true(machine.topology->nr_memory_nodes > 0);
	assert_true(machine.topology->memory_nodes[0].memory_bytes > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_packages_is_one_socket),
		cmocka_unit_test(caches_below_the_node_are_uncore),
		cmocka_unit_test(a_cache_of_the_whole_node_is_not),
		cmocka_unit_test(a_cache_over_several_nodes_is_uncore),
		cmocka_unit_test(numbering_is_followed),
		cmocka_unit_test(refused_descriptions),
		cmocka_unit_test_setup_teardown(facts_file, make_root, remove_root),
		cmocka_unit_test_setup_teardown(free_pages_are_current, make_root, remove_root),
		cmocka_unit_test_setup_teardown(lstopo_file, make_root, remove_root),
		cmocka_unit_test_setup_teardown(another_root, make_root, remove_root),
		cmocka_unit_test_setup_teardown(a_cache_of_the_node_in_sysfs, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(bad_roots, make_root, remove_root),
		cmocka_unit_test(this_computer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
