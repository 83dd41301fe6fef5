// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Writing cpusets of other programs' cgroups: only the cgroup that was meant, and read back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroup/cpuset_writer.h"
#include "cgroup_scene.h"
#include "lib/file.h"

static struct groups *groups;
static struct cpuset_writer *writer;
static unsigned int nr_ended;
static struct cpuset_write ended[4];

static void written(void *self, const struct cpuset_write *rows, uint32_t nr)
{
	nr_ended++;
	assert_in_range(nr, 1, 4);
	memcpy(ended, rows, nr * sizeof(*rows));
}

static const struct cpuset_sink sink = {NULL, written};

static int set_up_writer(void **state)
{
	struct cpuset_writer_options options = {0};

	if (set_up(state))
		return -1;
	/* As in mode guard: the room makes and writes nothing by itself. */
	groups = open_as(GROUPS_LAYOUT_CGROUPFS, false);
	options.groups = groups;
	nr_ended = 0;
	/* Unlike a cgroup's, these files keep what is beyond the text that is written. */
	put("cg/kubepods/poda/one/cpuset.cpus", "7\n");
	put("cg/kubepods/poda/one/cpuset.mems", "0\n");
	put("cg/kubepods/poda/two/cpuset.cpus", "7\n");
	return cpuset_writer_open(&options, &writer);
}

static int tear_down_writer(void **state)
{
	cpuset_writer_close(writer);
	groups_close(groups);
	return tear_down(state);
}

static uint64_t id_of(const char *path)
{
	char name[512];
	struct stat status;

	snprintf(name, sizeof(name), "%s/cg/%s", root, path);
	return stat(name, &status) ? 0 : status.st_ino;
}

static void fill(struct cpuset_write *row, const char *path, enum group_file file,
		 const char *value)
{
	*row = (struct cpuset_write){.cgroup_id = id_of(path), .file = file, .result = 1};
	snprintf(row->path, sizeof(row->path), "%s", path);
	assert_int_equal(cpuset_parse(value, strlen(value), &row->value), 0);
}

static void expect_file(const char *path, const char *wanted)
{
	char name[512], *text cleanup_free = NULL;

	snprintf(name, sizeof(name), "%s/cg/%s", root, path);
	assert_int_equal(file_read_line(AT_FDCWD, name, &text), 0);
	assert_string_equal(text, wanted);
}

static void each_file_is_written_and_read_back(void **state)
{
	struct cpuset_port port = cpuset_writer_port(writer);
	struct cpuset_write *rows = calloc(2, sizeof(*rows));

	fill(&rows[0], "kubepods/poda/one", GROUP_CPUSET_CPUS, "2-3,8");
	fill(&rows[1], "kubepods/poda/one", GROUP_CPUSET_MEMS, "1");
	cpuset_writer_listen(writer, &sink);
	assert_int_equal(port.write(port.self, rows, 2), 0);
	assert_int_equal(nr_ended, 1);
	assert_int_equal(ended[0].result, 0);
	assert_int_equal(ended[1].result, 0);
	expect_file("kubepods/poda/one/cpuset.cpus", "2-3,8");
	expect_file("kubepods/poda/one/cpuset.mems", "1");
	expect_file("kubepods/poda/two/cpuset.cpus", "7");
}

/* A container was made anew in a cgroup of the same name. */
static void another_cgroup_in_its_place_is_left_alone(void **state)
{
	struct cpuset_port port = cpuset_writer_port(writer);
	struct cpuset_write *rows = calloc(4, sizeof(*rows));

	fill(&rows[0], "kubepods/poda/one", GROUP_CPUSET_CPUS, "2-3");
	rows[0].cgroup_id++;
	fill(&rows[1], "kubepods/poda/gone", GROUP_CPUSET_CPUS, "2-3");
	fill(&rows[2], "kubepods/poda/two", GROUP_CPUSET_MEMS, "0");
	fill(&rows[3], "kubepods/../../etc", GROUP_CPUSET_CPUS, "0");
	cpuset_writer_listen(writer, &sink);
	assert_int_equal(port.write(port.self, rows, 4), 0);
	assert_int_equal(ended[0].result, -ENOENT);
	expect_file("kubepods/poda/one/cpuset.cpus", "7");
	assert_int_equal(ended[1].result, -ENOENT);
	assert_int_equal(ended[2].result, -ENOENT);
	assert_non_null(strstr(ended[2].error, "kubepods/poda/two/cpuset.mems"));
	assert_int_equal(ended[3].result, -EXDEV);
}

/*
 * Another program was faster. These files keep the tail of a longer text, so the list that is read
 * back is another one than was written, or none.
 */
static void a_list_that_another_program_wrote_is_no_success(void **state)
{
	struct cpuset_port port = cpuset_writer_port(writer);
	struct cpuset_write *rows = calloc(3, sizeof(*rows));

	put("cg/kubepods/poda/one/cpuset.cpus", "12\n");
	put("cg/kubepods/poda/one/cpuset.mems", "0,,\n");
	fill(&rows[0], "kubepods/poda/one", GROUP_CPUSET_CPUS, "3");
	fill(&rows[1], "kubepods/poda/one", GROUP_CPUSET_MEMS, "1");
	fill(&rows[2], "kubepods/poda/two", GROUP_CPUSET_CPUS, "5");
	cpuset_writer_listen(writer, &sink);
	assert_int_equal(port.write(port.self, rows, 3), 0);
	expect_failure(-EREMOTEIO, ended[0].result, ended[0].error,
		       "kubepods/poda/one/cpuset.cpus has '32' right after it was written");
	assert_true(ended[1].result < 0 && ended[1].result != -EREMOTEIO);
	assert_non_null(
		strstr(ended[1].error, "kubepods/poda/one/cpuset.mems: cannot read it back"));
	/* The others are written all the same. */
	assert_int_equal(ended[2].result, 0);
	expect_file("kubepods/poda/two/cpuset.cpus", "5");
}

/* Before somebody listens, the end is nobody's. */
static void an_end_that_nobody_waits_for_is_no_fault(void **state)
{
	struct cpuset_port port = cpuset_writer_port(writer);
	struct cpuset_write *rows = calloc(1, sizeof(*rows));

	fill(&rows[0], "kubepods/poda/one", GROUP_CPUSET_CPUS, "4");
	assert_int_equal(port.write(port.self, rows, 1), 0);
	assert_int_equal(nr_ended, 0);
	expect_file("kubepods/poda/one/cpuset.cpus", "4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_file_is_written_and_read_back, set_up_writer,
						tear_down_writer),
		cmocka_unit_test_setup_teardown(another_cgroup_in_its_place_is_left_alone,
						set_up_writer, tear_down_writer),
		cmocka_unit_test_setup_teardown(a_list_that_another_program_wrote_is_no_success,
						set_up_writer, tear_down_writer),
		cmocka_unit_test_setup_teardown(an_end_that_nobody_waits_for_is_no_fault,
						set_up_writer, tear_down_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
