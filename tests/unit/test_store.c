// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl format core lib
/* The state directory on a real file system: set aside, kept short, removed whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "ctl/store.h"
#include "lib/file.h"
#include "lib/log.h"

static char parent[64], path[80];
static struct store store;

static int make_store(void **state)
{
	log_open("test", LOG_LEVEL_ERR);
	strcpy(parent, "/tmp/pinfold-store-XXXXXX");
	if (!mkdtemp(parent))
		return -1;
	snprintf(path, sizeof(path), "%s/a", parent);
	return store_open(&store, path);
}

static int remove_store(void **state)
{
	store_close(&store);
	rmdir(path);
	return rmdir(parent);
}

static void make_file(const char *name)
{
	int fd = openat(store.dir_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static bool has(const char *name)
{
	char file[256];

	snprintf(file, sizeof(file), "%s/%s", path, name);
	return !access(file, F_OK);
}

static unsigned int nr_files(void)
{
	DIR *dir cleanup_dir = opendir(path);
	unsigned int nr = 0;

	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir));)
		nr += entry->d_name[0] != '.';
	return nr;
}

static void a_record_comes_back(void **state)
{
	const struct store_port port = store_port(&store);
	char *data cleanup_free = NULL;
	size_t len;

	assert_int_equal(port.load(port.self, &data, &len), -ENOENT);
	assert_int_equal(port.save(port.self, "one", 3), 0);
	assert_int_equal(port.save(port.self, "other", 5), 0);
	assert_int_equal(port.load(port.self, &data, &len), 0);
	assert_string_equal(data, "other");
	store_remove(&store, path, false);
}

static void five_are_kept_aside(void **state)
{
	const struct store_port port = store_port(&store);
	char name[128], first[128] = "";

	for (int i = 0; i < STORE_SET_ASIDE + 3; i++) {
		assert_int_equal(port.save(port.self, "bad", 3), 0);
		assert_int_equal(port.set_aside(port.self, name, sizeof(name)), 0);
		if (!*first)
			strcpy(first, name);
	}
	assert_int_equal(nr_files(), STORE_SET_ASIDE);
	assert_true(has(name));
	assert_false(has(first));
	store_remove(&store, path, false);
	assert_int_equal(access(path, F_OK), -1);
}

static void all_of_ours_goes(void **state)
{
	make_file(PINFOLD_STATE_FILE);
	make_file("." PINFOLD_STATE_FILE ".tmp");
	make_file(PINFOLD_ORIGINALS_FILE);
	make_file("." PINFOLD_ORIGINALS_FILE ".tmp");
	make_file(PINFOLD_STATE_FILE ".bad-20260101T000000.000000000");
	store_remove(&store, path, false);
	assert_int_equal(store.dir_fd, -1);
	assert_int_equal(access(path, F_OK), -1);
}

static void before_values_may_stay(void **state)
{
	make_file(PINFOLD_STATE_FILE);
	make_file(PINFOLD_ORIGINALS_FILE);
	store_remove(&store, path, true);
	assert_true(has(PINFOLD_ORIGINALS_FILE));
	assert_int_equal(nr_files(), 1);
	assert_int_equal(store_open(&store, path), 0);
	store_remove(&store, path, false);
}

static void what_is_not_ours_stays(void **state)
{
	char file[256];

	make_file(PINFOLD_STATE_FILE);
	make_file("notes");
	store_remove(&store, path, false);
	assert_true(has("notes"));
	assert_int_equal(nr_files(), 1);
	snprintf(file, sizeof(file), "%s/notes", path);
	assert_int_equal(unlink(file), 0);
}

static void expect_problem(const char *part)
{
	const struct store_port port = store_port(&store);
	const char *problem = port.problem(port.self);

	if (!part) {
		assert_null(problem);
		return;
	}
	assert_non_null(problem);
	assert_non_null(strstr(problem, path));
	/* Nothing is saved where nobody finds it. */
	assert_int_equal(port.save(port.self, "{}", 2), -EROFS);
	assert_non_null(strstr(problem, part));
}

static void a_lost_directory_is_told(void **state)
{
	char aside[96];

	expect_problem(NULL);
	assert_int_equal(rmdir(path), 0);
	expect_problem("No such file");
	/* Ours is gone for good, although there is one of its name. */
	assert_int_equal(mkdir(path, 0700), 0);
	expect_problem("another directory is in its place");
	store_close(&store);
	assert_int_equal(store_open(&store, path), 0);
	expect_problem(NULL);
	/* One that comes back is the same. */
	snprintf(aside, sizeof(aside), "%s-aside", path);
	assert_int_equal(rename(path, aside), 0);
	expect_problem("No such file");
	assert_int_equal(rename(aside, path), 0);
	expect_problem(NULL);
}

/* What cannot hold a record is said in a sentence, and no record is taken for kept. */
static void a_directory_of_others_keeps_nothing(void **state)
{
	struct store_port port;
	struct store other;
	char open_to_all[96], nowhere[128], name[64], *data = NULL;
	size_t len = 0;

	snprintf(open_to_all, sizeof(open_to_all), "%s/b", path);
	assert_int_equal(mkdir(open_to_all, 0700), 0);
	assert_int_equal(chmod(open_to_all, 0777), 0);
	assert_true(store_open(&other, open_to_all) < 0);
	assert_int_equal(other.dir_fd, -1);
	port = store_port(&other);
	assert_non_null(strstr(port.problem(port.self), "stateDirectory "));
	assert_non_null(strstr(port.problem(port.self), open_to_all));
	assert_int_equal(port.load(port.self, &data, &len), -ENOENT);
	assert_int_equal(port.save(port.self, "x", 1), -EROFS);
	store_remove(&other, open_to_all, false);
	assert_int_equal(access(open_to_all, F_OK), 0);
	/* Below a file no directory can be. */
	make_file(PINFOLD_STATE_FILE);
	snprintf(nowhere, sizeof(nowhere), "%s/" PINFOLD_STATE_FILE "/c/d", path);
	assert_int_equal(store_open(&other, nowhere), -ENOTDIR);
	port = store_port(&other);
	assert_non_null(strstr(port.problem(port.self), "cannot make stateDirectory"));
	/* Ours has no problem, and nothing to set aside is told. */
	port = store_port(&store);
	assert_null(port.problem(port.self));
	assert_int_equal(unlinkat(store.dir_fd, PINFOLD_STATE_FILE, 0), 0);
	assert_int_equal(port.set_aside(port.self, name, sizeof(name)), -ENOENT);
	assert_int_equal(rmdir(open_to_all), 0);
	store_remove(&store, path, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_record_comes_back, make_store, remove_store),
		cmocka_unit_test_setup_teardown(five_are_kept_aside, make_store, remove_store),
		cmocka_unit_test_setup_teardown(all_of_ours_goes, make_store, remove_store),
		cmocka_unit_test_setup_teardown(before_values_may_stay, make_store, remove_store),
		cmocka_unit_test_setup_teardown(a_lost_directory_is_told, make_store, remove_store),
		cmocka_unit_test_setup_teardown(what_is_not_ours_stays, make_store, remove_store),
		cmocka_unit_test_setup_teardown(a_directory_of_others_keeps_nothing, make_store,
						remove_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
