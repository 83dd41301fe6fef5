// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime nri format core lib
/* Paths of cgroups from what containerd and CRI-O pass on, and what has no such form. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "runtime/cgroup_path.h"

static void both_drivers_are_understood(void **state)
{
	static const struct {
		const char *said, *path;
	} cases[] = {
		{"/kubepods/burstable/pod1111-2222/3f4e", "kubepods/burstable/pod1111-2222/3f4e"},
		{"kubepods/pod1111-2222/3f4e", "kubepods/pod1111-2222/3f4e"},
		{"kubepods-burstable-pod1111_2222.slice:cri-containerd:3f4e",
		 "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1111_2222.slice/"
		 "cri-containerd-3f4e.scope"},
		{"kubepods.slice:crio:3f4e", "kubepods.slice/crio-3f4e.scope"},
		{"system.slice::3f4e", "system.slice/3f4e.scope"},
		{"/a/...", "a/..."},
		{"/.a/..b", ".a/..b"},
	};
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(cgroup_path_of_runtime(cases[i].said, path, sizeof(path)), 0);
		assert_string_equal(path, cases[i].path);
	}
}

static void other_forms_are_refused(void **state)
{
	static const char *const said[] = {
		"",
		"/",
		"//a",
		"a//b",
		"a/",
		"a/../b",
		"a/./b",
		"a/.",
		"a/..",
		"..",
		".slice:a:b",
		"-.slice:a:b",
		"a--b.slice:c:d",
		"a-.slice:c:d",
		"-a.slice:c:d",
		"a:b:c",
		"kubepods.service:b:c",
		"a.slice:b",
		"a.slice:b:",
		"a.slice:b:c:d",
		"a.slice:b:../c",
		"a/b.slice/../c.slice:b:c",
	};

	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		char path[256] = "untouched";

		assert_int_equal(cgroup_path_of_runtime(said[i], path, sizeof(path)), -EINVAL);
		assert_string_equal(path, "untouched");
	}
}

static void a_path_that_does_not_fit_is_refused(void **state)
{
	char path[8] = "before";

	assert_int_equal(cgroup_path_of_runtime("/a/b/c/de", path, sizeof(path)), -ENAMETOOLONG);
	assert_string_equal(path, "before");
	assert_int_equal(cgroup_path_of_runtime("/a/b/c/d", path, sizeof(path)), 0);
	assert_string_equal(path, "a/b/c/d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_drivers_are_understood),
		cmocka_unit_test(other_forms_are_refused),
		cmocka_unit_test(a_path_that_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
