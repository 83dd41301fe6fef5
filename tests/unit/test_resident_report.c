// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The kernel's memory.numa_stat: which of its lines count, for which nodes, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/resident_report.h"

static struct topology *topology;

/* Nodes 0 and 2 have a CPU each, node 5 has only memory. */
static int make_topology(void **state)
{
	const struct topology_cpu cpus[] = {{0, 0, 0, 0, 0}, {1, 1, 1, 2, 1}};
	const struct topology_node nodes[] = {{.id = 0, .memory_bytes = 1},
					      {.id = 2, .memory_bytes = 1},
					      {.id = 5, .memory_bytes = 1}};
	const struct topology_facts facts = {.cpus = cpus,
					     .nr_cpus = ARRAY_SIZE(cpus),
					     .nodes = nodes,
					     .nr_nodes = ARRAY_SIZE(nodes),
					     TOPOLOGY_COUNT_ALL};
	char error[256];

	(void)state;
	return topology_new(&facts, error, sizeof(error), &topology);
}

static int free_topology(void **state)
{
	(void)state;
	topology_free(topology);
	return 0;
}

/* As 6.12 writes it, shortened by lines of the same kinds. */
static const char recorded[] = "anon N0=4096 N2=8192 N5=12288\n"
			       "file N0=1048576 N2=0 N5=4096\n"
			       "kernel_stack N0=16384 N2=0 N5=0\n"
			       "pagetables N0=32768 N2=4096 N5=0\n"
			       "sec_pagetables N0=0 N2=4096 N5=0\n"
			       "shmem N0=4096 N2=0 N5=0\n"
			       "file_mapped N0=4096 N2=0 N5=0\n"
			       "anon_thp N0=2097152 N2=0 N5=0\n"
			       "inactive_anon N0=4096 N2=8192 N5=12288\n"
			       "slab_reclaimable N0=100 N2=200 N5=300\n"
			       "slab_unreclaimable N0=1 N2=2 N5=3\n"
			       "workingset_refault_anon N0=7 N2=7 N5=7";

static void huge_pages_are_added_to_what_there_is(void **state)
{
	struct resident_node nodes[3] = {{.hugetlb_bytes = 1}, {.bytes = {5}}};

	(void)state;
	assert_int_equal(resident_add_hugetlb("total=12 N0=4 N2=8 N5=0", topology, nodes), 0);
	assert_int_equal(resident_add_hugetlb("total=2 N5=2\n", topology, nodes), 0);
	assert_int_equal(nodes[0].hugetlb_bytes, 5);
	assert_int_equal(nodes[1].hugetlb_bytes, 8);
	assert_int_equal(nodes[1].bytes[0], 5);
	assert_int_equal(nodes[2].hugetlb_bytes, 2);
	/* What is refused adds nothing. */
	assert_int_equal(resident_add_hugetlb("total=2 N0=2 N7=2", topology, nodes), -ERANGE);
	assert_int_equal(resident_add_hugetlb("total=2 N0=2 N", topology, nodes), -EBADMSG);
	assert_int_equal(resident_add_hugetlb("N0=2", topology, nodes), -EBADMSG);
	assert_int_equal(resident_add_hugetlb("", topology, nodes), -EBADMSG);
	assert_int_equal(nodes[0].hugetlb_bytes, 5);
}

static void each_size_has_its_file(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *name;
	} sizes[] = {{64 << 10, "hugetlb.64KB.numa_stat"},
		     {2 << 20, "hugetlb.2MB.numa_stat"},
		     {512 << 20, "hugetlb.512MB.numa_stat"},
		     {1 << 30, "hugetlb.1GB.numa_stat"},
		     {16ULL << 30, "hugetlb.16GB.numa_stat"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char name[HUGETLB_FILE_MAX];

		resident_hugetlb_file(sizes[i].bytes, name);
		assert_string_equal(name, sizes[i].name);
	}
}

static void lines_that_do_not_overlap_are_summed_up_by_node(void **state)
{
	static const uint64_t wanted[3][MEMORY_USE_NR] = {
		{4096, 1048576, 16384 + 32768 + 101},
		{8192, 0, 4096 + 4096 + 202},
		{12288, 4096, 303},
	};
	struct resident_node nodes[3];

	(void)state;
	memset(nodes, 0xff, sizeof(nodes));
	assert_int_equal(resident_parse(recorded, topology, nodes), 0);
	for (int i = 0; i < 3; i++)
		for (int use = 0; use < MEMORY_USE_NR; use++)
			assert_int_equal(nodes[i].bytes[use], wanted[i][use]);
}

static void older_kernels_have_fewer_lines(void **state)
{
	struct resident_node nodes[3];

	(void)state;
	assert_int_equal(resident_parse("anon N0=1\nfile N0=2\nkernel_stack N0=3\n"
					"slab_reclaimable N0=4\nslab_unreclaimable N0=5\n",
					topology, nodes),
			 0);
	assert_int_equal(nodes[0].bytes[MEMORY_ANON], 1);
	assert_int_equal(nodes[0].bytes[MEMORY_FILE], 2);
	assert_int_equal(nodes[0].bytes[MEMORY_KERNEL], 12);
	assert_int_equal(nodes[2].bytes[MEMORY_ANON], 0);
}

#define REST "\nfile N0=0\nkernel_stack N0=0\nslab_reclaimable N0=0\nslab_unreclaimable N0=0\n"

static void what_is_no_such_file_is_refused(void **state)
{
	static const struct {
		const char *text;
		int result;
	} rows[] = {
		{"", -EBADMSG},
		{"anon N0=1", -EBADMSG},
		{"anon", -EBADMSG},
		{"anonymous N0=1" REST, -EBADMSG},
		{"anon N0" REST, -EBADMSG},
		{"anon N0=" REST, -EBADMSG},
		{"anon N=1" REST, -EBADMSG},
		{"anon 0=1" REST, -EBADMSG},
		{"anon N0=1x" REST, -EBADMSG},
		{"anon N0=1,N2=1" REST, -EBADMSG},
		{"anon N0=1N2=1" REST, -EBADMSG},
		{"file N0=1\nkernel_stack N0=0\nslab_reclaimable N0=0\nslab_unreclaimable N0=0\n",
		 -EBADMSG},
		{"anon N0=1" REST, 0},
		{"anon" REST, -EBADMSG},
		{"anon " REST, -EBADMSG},
		{"anon N1=0 N0=1" REST, 0},
		{"anon N1=1" REST, -ERANGE},
		{"anon N0=18446744073709551615" REST, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resident_node nodes[3];

		memset(nodes, 0x5a, sizeof(nodes));
		if (resident_parse(rows[i].text, topology, nodes) != rows[i].result)
			fail_msg("'%s' is not %d", rows[i].text, rows[i].result);
		if (rows[i].result)
			assert_int_equal(nodes[0].bytes[0], 0x5a5a5a5a5a5a5a5aULL);
	}
}

static void a_new_report_is_empty(void **state)
{
	const char *const paths[] = {"pods/one", ""};
	struct resident_report report;

	(void)state;
	assert_int_equal(resident_report_new(paths, 2, topology, &report), 0);
	assert_int_equal(report.nr, 2);
	assert_string_equal(report.rows[0].path, "pods/one");
	assert_string_equal(report.rows[1].path, "");
	report.rows[0].nodes[2].bytes[MEMORY_KERNEL] = 1;
	assert_int_equal(report.rows[1].nodes[0].bytes[MEMORY_ANON], 0);
	assert_int_equal(report.rows[1].nodes[2].bytes[MEMORY_KERNEL], 0);
	resident_report_fini(&report);
	assert_null(report.rows);
	resident_report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_do_not_overlap_are_summed_up_by_node),
		cmocka_unit_test(huge_pages_are_added_to_what_there_is),
		cmocka_unit_test(each_size_has_its_file),
		cmocka_unit_test(older_kernels_have_fewer_lines),
		cmocka_unit_test(what_is_no_such_file_is_refused),
		cmocka_unit_test(a_new_report_is_empty),
	};

	return cmocka_run_group_tests(tests, make_topology, free_topology);
}
