// SPDX-License-Identifier: Apache-2.0
// LIBS: format lib
/* The kernel's numa_maps: whose pages a line counts, by node and size, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/numa_maps.h"

static struct numa_maps_node nodes[NUMA_MAPS_NODES];

static int clear(void **state)
{
	memset(nodes, 0, sizeof(nodes));
	return 0;
}

static void nothing_is_added(const char *line, int error)
{
	static const struct numa_maps_node none[NUMA_MAPS_NODES];

	assert_int_equal(numa_maps_add(line, nodes), error);
	assert_memory_equal(nodes, none, sizeof(none));
}

/* As 6.12 writes them. */
static void pages_are_counted_by_node(void **state)
{
	assert_int_equal(numa_maps_add("7f1c2a600000 bind:0 anon=8192 dirty=8192 active=0 N0=6144 "
				       "N1=2048 kernelpagesize_kB=4\n",
				       nodes),
			 0);
	assert_int_equal(numa_maps_add("55d0c0a00000 default file=/usr/bin/x\\0401 mapped=3 "
				       "mapmax=2 N1=3 kernelpagesize_kB=4\n",
				       nodes),
			 0);
	assert_int_equal(nodes[0].bytes, 6144 * 4096);
	assert_int_equal(nodes[1].bytes, 2051 * 4096);
	assert_int_equal(nodes[0].hugetlb_bytes + nodes[1].hugetlb_bytes, 0);
}

static void huge_pages_are_counted_apart(void **state)
{
	assert_int_equal(numa_maps_add("7f1c00000000 default file=/dev/hugepages/x huge anon=2 "
				       "dirty=2 N0=1 N3=2 kernelpagesize_kB=2048",
				       nodes),
			 0);
	assert_int_equal(nodes[0].hugetlb_bytes, 2 << 20);
	assert_int_equal(nodes[3].hugetlb_bytes, 4 << 20);
	assert_int_equal(nodes[0].bytes, 0);
}

static void a_mapping_without_pages_adds_nothing(void **state)
{
	nothing_is_added("7ffd1a5e1000 default\n", 0);
	nothing_is_added("7ffd1a5e1000 default file=/usr/lib/huge\n", 0);
	nothing_is_added("7ffd1a5e1000 prefer:1 stack\n", 0);
}

/* A name is a word of its own, so it does not pass for a figure. */
static void names_are_no_figures(void **state)
{
	assert_int_equal(numa_maps_add("7f00 default file=/N0\\0757 mapped=1 N2=1 huges "
				       "kernelpagesize_kB=4",
				       nodes),
			 0);
	assert_int_equal(nodes[0].bytes, 0);
	assert_int_equal(nodes[2].bytes, 4096);
}

static void the_last_node_has_a_place(void **state)
{
	assert_int_equal(numa_maps_add("7f00 default N1023=1 kernelpagesize_kB=4", nodes), 0);
	assert_int_equal(nodes[1023].bytes, 4096);
}

static void what_is_no_such_line_is_refused(void **state)
{
	nothing_is_added("", -EBADMSG);
	nothing_is_added("\n", -EBADMSG);
	nothing_is_added("default N0=1 kernelpagesize_kB=4", -EBADMSG);
	nothing_is_added("7f00", -EBADMSG);
	/* the size of its pages is not known */
	nothing_is_added("7f00 default N0=1", -EBADMSG);
	nothing_is_added("7f00 default N0=1 kernelpagesize_kB=0", -EBADMSG);
}

static void what_is_beyond_all_limits_is_refused(void **state)
{
	nothing_is_added("7f00 default N1024=1 kernelpagesize_kB=4", -ERANGE);
	/* nothing of the line is added, also what is right in it */
	nothing_is_added("7f00 default N0=1 N5000=1 kernelpagesize_kB=4", -ERANGE);
	nothing_is_added("7f00 default N0=18446744073709551615 kernelpagesize_kB=4", -ERANGE);
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_are_counted_by_node),
		TEST(huge_pages_are_counted_apart),
		TEST(a_mapping_without_pages_adds_nothing),
		TEST(names_are_no_figures),
		TEST(the_last_node_has_a_place),
		TEST(what_is_no_such_line_is_refused),
		TEST(what_is_beyond_all_limits_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
