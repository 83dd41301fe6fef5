// SPDX-License-Identifier: Apache-2.0
// LIBS: discover format core lib
/* The bundles that scans ask for: what is remembered of them, and what is told of a bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "discover/bundles.h"
#include "lib/cleanup.h"
#include "root_scene.h"

#define TASKS	   "containerd/io.containerd.runtime.v2.task/k8s.io"
#define NR_BUNDLES 5

static struct bundles bundles;

static int set_up(void **state)
{
	if (make_root("bundles-test"))
		return -1;
	bundles = (struct bundles){.state_dir = root};
	return 0;
}

static int tear_down(void **state)
{
	bundles_fini(&bundles);
	return remove_root();
}

static const char *file_of(const char *id)
{
	static char path[256];

	snprintf(path, sizeof(path), TASKS "/%s/config.json", id);
	return path;
}

/* Of a container that is named like its id. */
static void put_bundle(const char *id)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"annotations\": {\"io.kubernetes.cri.container-type\": \"container\","
		 "\"io.kubernetes.cri.container-name\": \"name-%s\"}}",
		 id);
	put(file_of(id), text);
}

static void remove_bundle(const char *id)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s/%s", root, file_of(id));
	assert_int_equal(unlink(whole), 0);
}

/* What is known of a container: its name, or "" */
static const char *name_of(const char *id)
{
	const struct bundle *bundle = bundles_find(&bundles, id);

	return bundle ? bundle->container : "";
}

/* Whatever the order in which the scans come across them. */
static void each_container_keeps_its_own_name(void **state)
{
	static const char *const ids[NR_BUNDLES] = {"d", "a", "e", "c", "b"};
	char name[64];

	for (size_t i = 0; i < NR_BUNDLES; i++)
		put_bundle(ids[i]);
	for (size_t scan = 0; scan < 3; scan++) {
		bundles_begin(&bundles);
		for (size_t i = 0; i < NR_BUNDLES; i++) {
			const char *id = ids[(i + scan) % NR_BUNDLES];

			snprintf(name, sizeof(name), "name-%s", id);
			assert_string_equal(name_of(id), name);
			if (!scan)
				remove_bundle(id);
		}
		bundles_end(&bundles);
	}
}

/* One that did not end knows nothing of the containers that the next one does not ask for. */
static void a_scan_that_began_anew_forgets_what_was_before(void **state)
{
	put_bundle("a");
	put_bundle("b");
	bundles_begin(&bundles);
	assert_string_equal(name_of("a"), "name-a");
	bundles_begin(&bundles);
	assert_string_equal(name_of("b"), "name-b");
	bundles_end(&bundles);
	remove_bundle("a");
	remove_bundle("b");
	bundles_begin(&bundles);
	assert_string_equal(name_of("a"), "");
	assert_string_equal(name_of("b"), "name-b");
	bundles_end(&bundles);
}

static void expect_problem(const char *id, const char *cause)
{
	char expected[512];

	snprintf(expected, sizeof(expected), "%s/%s: %s", root, file_of(id), cause);
	assert_string_equal(bundles.problem, *cause ? expected : "");
}

/* The first file of a scan that is no bundle; that there is none is no problem. */
static void the_first_problem_of_a_scan_is_told(void **state)
{
	static char large[BUNDLE_MAX_BYTES + 2];

	memset(large, ' ', sizeof(large) - 1);
	put_bundle("good");
	put(file_of("bad"), "{");
	put(file_of("large"), large);
	bundles_begin(&bundles);
	assert_string_equal(name_of("good"), "name-good");
	assert_string_equal(name_of("none"), "");
	expect_problem("good", "");
	assert_string_equal(name_of("bad"), "");
	assert_string_equal(name_of("large"), "");
	expect_problem("bad", "not a bundle's config.json");
	bundles_end(&bundles);
	bundles_begin(&bundles);
	expect_problem("bad", "");
	assert_string_equal(name_of("large"), "");
	expect_problem("large", "File too large");
	bundles_end(&bundles);
}

/* The files below the root directory are none of a runtime. */
static void without_a_directory_nothing_is_read(void **state)
{
	bundles.state_dir = "";
	bundles_begin(&bundles);
	assert_string_equal(name_of("a"), "");
	expect_problem("a", "");
	bundles_end(&bundles);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_container_keeps_its_own_name),
		TEST(a_scan_that_began_anew_forgets_what_was_before),
		TEST(the_first_problem_of_a_scan_is_told),
		TEST(without_a_directory_nothing_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
