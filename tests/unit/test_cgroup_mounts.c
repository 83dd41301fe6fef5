// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* The cgroup mounts of a machine, and the named problem for each unusual one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cgroup/dir.h"

#define ROOTFS "21 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
#define V2(point, options) \
	"30 25 0:26 / " point " " options ",nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

static enum dir_problem judge(const char *mountinfo, char *error)
{
	struct mounts mounts;

	mounts_parse(mountinfo, &mounts);
	return mounts_judge(&mounts, DIR_TO_MANAGE, error);
}

static void test_unified(void **state)
{
	char error[GROUP_ERROR_MAX];
	struct mounts mounts;

	mounts_parse(ROOTFS V2("/sys/fs/cgroup", "rw"), &mounts);
	assert_true(mounts.v2);
	assert_string_equal(mounts.v2_path, "/sys/fs/cgroup");
	assert_string_equal(mounts.v2_root, "/");
	assert_false(mounts.v2_read_only);
	assert_int_equal(mounts_judge(&mounts, DIR_TO_MANAGE, error), DIR_FINE);
}

static void test_usual_place_wins(void **state)
{
	struct mounts mounts;

	mounts_parse(V2("/mnt/x", "rw") V2("/sys/fs/cgroup", "rw") V2("/mnt/y", "rw"), &mounts);
	assert_string_equal(mounts.v2_path, "/sys/fs/cgroup");
	mounts_parse(V2("/mnt/x", "rw") V2("/mnt/y", "rw"), &mounts);
	assert_string_equal(mounts.v2_path, "/mnt/x");
}

static void test_escaped_path(void **state)
{
	struct mounts mounts;

	mounts_parse(V2("/mnt/with\\040blank", "rw"), &mounts);
	assert_string_equal(mounts.v2_path, "/mnt/with blank");
}

/* Only three octal digits that fit in one byte form an escape. */
static void test_escapes(void **state)
{
	static const char *const rows[][2] = {
		{"/a\\011b", "/a\tb"}, {"/\\134", "/\\"},    {"/\\377", "/\377"},
		{"/\\100", "/@"},      {"/\\/40", "/\\/40"}, {"/\\440", "/\\440"},
		{"/\\0/0", "/\\0/0"},  {"/\\080", "/\\080"}, {"/\\04/", "/\\04/"},
		{"/\\048", "/\\048"},  {"/\\04", "/\\04"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mounts mounts;
		char line[256];

		snprintf(line, sizeof(line), "30 25 0:26 / %s rw - cgroup2 cgroup2 rw\n",
			 rows[i][0]);
		mounts_parse(line, &mounts);
		assert_string_equal(mounts.v2_path, rows[i][1]);
	}
}

static void test_long_path(void **state)
{
	char line[MOUNT_PATH_MAX + 64];
	struct mounts mounts;

	snprintf(line, sizeof(line), "30 25 0:26 / /%0*d rw - cgroup2 cgroup2 rw\n", MOUNT_PATH_MAX,
		 7);
	mounts_parse(line, &mounts);
	assert_int_equal(strlen(mounts.v2_path), MOUNT_PATH_MAX - 1);
}

static void test_covered_mount(void **state)
{
	char error[GROUP_ERROR_MAX];

	/* The later mount on the same mount point is the visible one. */
	assert_int_equal(judge(V2("/sys/fs/cgroup", "rw") V2("/sys/fs/cgroup", "ro"), error),
			 DIR_READ_ONLY);
	assert_string_equal(error, "the cgroup2 mount at /sys/fs/cgroup is read-only; remount it: "
				   "mount -o remount,rw /sys/fs/cgroup");
	assert_int_equal(judge(V2("/sys/fs/cgroup", "ro") V2("/sys/fs/cgroup", "rw"), error),
			 DIR_FINE);
}

/* The mount point may be read-only, or the file system; other options only begin like that. */
static void test_read_only(void **state)
{
	char error[GROUP_ERROR_MAX];

	assert_int_equal(judge("30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 ro\n", error),
			 DIR_READ_ONLY);
	assert_int_equal(judge(V2("/sys/fs/cgroup", "rw,rootcontext=x"), error), DIR_FINE);
}

static void test_none(void **state)
{
	char error[GROUP_ERROR_MAX];

	assert_int_equal(judge(ROOTFS, error), DIR_NOT_MOUNTED);
	assert_string_equal(error, "no cgroup file system is mounted; mount version 2: "
				   "mount -t cgroup2 none /sys/fs/cgroup");
}

static void test_v1(void **state)
{
	char error[GROUP_ERROR_MAX];

	assert_int_equal(judge("34 25 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
			       error),
			 DIR_V1);
	assert_string_equal(error, "only cgroup version 1 is mounted (/sys/fs/cgroup/cpuset); "
				   "pinfold needs version 2: boot with "
				   "systemd.unified_cgroup_hierarchy=1, or cgroup_no_v1=all and "
				   "mount cgroup2");
}

static void test_hybrid(void **state)
{
	char error[GROUP_ERROR_MAX];

	assert_int_equal(judge("34 25 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup "
			       "rw,cpuset\n" V2("/sys/fs/cgroup/unified", "rw"),
			       error),
			 DIR_HYBRID);
	assert_string_equal(error, "hybrid cgroups: version 2 is at /sys/fs/cgroup/unified, but "
				   "the cpuset controller belongs to version 1 at "
				   "/sys/fs/cgroup/cpuset; boot with "
				   "systemd.unified_cgroup_hierarchy=1 or cgroup_no_v1=all");
	/* A named hierarchy, or one without the cpuset controller, does no harm. */
	assert_int_equal(
		judge("34 25 0:30 / /a rw - cgroup cgroup rw,name=systemd\n"
		      "35 25 0:31 / /b rw - cgroup cgroup rw,net_cls\n" V2("/sys/fs/cgroup", "rw"),
		      error),
		DIR_FINE);
}

static void test_partial(void **state)
{
	char error[GROUP_ERROR_MAX];

	assert_int_equal(judge("30 25 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			       error),
			 DIR_PARTIAL_MOUNT);
	assert_string_equal(error, "the cgroup2 mount at /sys/fs/cgroup shows only /docker/0123, "
				   "not the whole hierarchy: this is a container or a bind mount; "
				   "run on the host, with the host's cgroup mount");
	/* A partial one is known as that wherever it is mounted. */
	assert_int_equal(judge("30 25 0:26 /a /mnt/x rw - cgroup2 cgroup rw\n", error),
			 DIR_PARTIAL_MOUNT);
	/* A complete mount elsewhere is preferred to a partial one on the usual mount point. */
	assert_int_equal(
		judge("30 25 0:26 /a /sys/fs/cgroup rw - cgroup2 cgroup rw\n" V2("/mnt/all", "rw"),
		      error),
		DIR_FINE);
}

static void test_namespace(void **state)
{
	char error[GROUP_ERROR_MAX];

	assert_int_equal(judge("30 25 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", error),
			 DIR_OWN_NAMESPACE);
	assert_string_equal(error,
			    "this process has its own cgroup namespace, like a container (the "
			    "mount at /sys/fs/cgroup shows /../.. from it); run on the host "
			    "or with the host's cgroup namespace");
}

/* An observer in a container sees the machine's cgroups through a mount from outside. */
static void test_observer(void **state)
{
	static const struct {
		const char *mountinfo;
		enum dir_problem problem;
	} cases[] = {
		{"30 25 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", DIR_FINE},
		{"30 25 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 ro\n", DIR_FINE},
		/* The container's own mount, which the other one covers. */
		{V2("/sys/fs/cgroup",
		    "ro") "31 30 0:26 /.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
		 DIR_FINE},
		{V2("/sys/fs/cgroup", "ro"), DIR_FINE},
		/* beside us, and below us */
		{"30 25 0:26 /../other /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
		 DIR_PARTIAL_MOUNT},
		{"30 25 0:26 /own /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", DIR_PARTIAL_MOUNT},
		{"30 25 0:26 /..x /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", DIR_PARTIAL_MOUNT},
	};
	char error[GROUP_ERROR_MAX];
	struct mounts mounts;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mounts_parse(cases[i].mountinfo, &mounts);
		assert_int_equal(mounts_judge(&mounts, DIR_TO_OBSERVE, error), cases[i].problem);
	}
}

static void test_nonsense_lines(void **state)
{
	char error[GROUP_ERROR_MAX];
	char longest[6000];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(judge("", error), DIR_NOT_MOUNTED);
	assert_int_equal(judge("\n\n - cgroup2\n1 2 3 4 5 6 7 -\n", error), DIR_NOT_MOUNTED);
	assert_int_equal(judge(longest, error), DIR_NOT_MOUNTED);
	/* As long as the buffer of a line, and with more fields than any line has. */
	longest[2048] = '\0';
	assert_int_equal(judge(longest, error), DIR_NOT_MOUNTED);
	for (size_t i = 1; i < 2000; i += 2)
		longest[i] = ' ';
	longest[2000] = '\0';
	assert_int_equal(judge(longest, error), DIR_NOT_MOUNTED);
	/* A line that ends too early takes nothing from the line before. */
	assert_int_equal(judge(ROOTFS "30 25 0:26 / /p rw,nosuid shared:4 - cgroup2 none\n", error),
			 DIR_NOT_MOUNTED);
}

static void test_names(void **state)
{
	for (int problem = 0; problem < DIR_PROBLEM_NR; problem++)
		assert_true(strlen(dir_problem_name(problem)) > 3);
	assert_string_equal(dir_problem_name(DIR_FINE), "fine");
	assert_string_equal(dir_problem_name(DIR_PROBLEM_NR), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unified),	       cmocka_unit_test(test_usual_place_wins),
		cmocka_unit_test(test_escaped_path),   cmocka_unit_test(test_covered_mount),
		cmocka_unit_test(test_none),	       cmocka_unit_test(test_v1),
		cmocka_unit_test(test_hybrid),	       cmocka_unit_test(test_partial),
		cmocka_unit_test(test_namespace),      cmocka_unit_test(test_observer),
		cmocka_unit_test(test_nonsense_lines), cmocka_unit_test(test_names),
		cmocka_unit_test(test_escapes),	       cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_read_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
