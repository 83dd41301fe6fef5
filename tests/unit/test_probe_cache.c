// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* Answers of the probes come back only whole, and only to who may believe them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <pinfold/names.h>

#include "bpf/probe_cache.h"

static char directory[] = "/tmp/pinfold-probe-cache-XXXXXX";
static int dir_fd;
static const char key[PROBE_CACHE_KEY_MAX] = "build 1\nboot 2\nkernel 3";

static void fill(struct feature_row rows[ABILITY_NR])
{
	probe_begin(rows);
	for (int i = 0; i < ABILITY_NR; i++) {
		rows[i].state = i % 2 ? FEATURE_YES : FEATURE_NO;
		rows[i].error = i % 2 ? 0 : ENOENT;
		snprintf(rows[i].reason, sizeof(rows[i].reason), "reason %d", i);
	}
}

static int begin(void **state)
{
	struct feature_row rows[ABILITY_NR];

	fill(rows);
	probe_cache_forget(dir_fd);
	return probe_cache_save(dir_fd, key, rows, ABILITY_NR);
}

static int load(const char *with_key, struct feature_row rows[ABILITY_NR], uint32_t *ret_nr)
{
	char padded[PROBE_CACHE_KEY_MAX] = "";

	snprintf(padded, sizeof(padded), "%s", with_key);
	return probe_cache_load(dir_fd, padded, rows, ret_nr);
}

static void test_saved_rows_are_loaded(void **state)
{
	struct feature_row saved[ABILITY_NR], rows[ABILITY_NR];
	uint32_t nr = 0;

	fill(saved);
	probe_begin(rows);
	assert_int_equal(load(key, rows, &nr), 0);
	assert_int_equal(nr, ABILITY_NR);
	assert_memory_equal(rows, saved, sizeof(rows));
}

static void test_first_rows_only(void **state)
{
	struct feature_row rows[ABILITY_NR], untouched[ABILITY_NR];
	uint32_t nr = 0;

	fill(rows);
	assert_int_equal(probe_cache_save(dir_fd, key, rows, 2), 0);
	memset(rows, 7, sizeof(rows));
	memset(untouched, 7, sizeof(untouched));
	assert_int_equal(load(key, rows, &nr), 0);
	assert_int_equal(nr, 2);
	assert_memory_equal(&rows[2], &untouched[2], (ABILITY_NR - 2) * sizeof(rows[0]));
}

static void test_other_key(void **state)
{
	struct feature_row rows[ABILITY_NR];
	uint32_t nr = 77;

	assert_int_equal(load("build 1\nboot 2\nkernel 4", rows, &nr), -ENOENT);
	assert_int_equal(load("build 1\nboot 2\nkernel", rows, &nr), -ENOENT);
	assert_int_equal(nr, 77);
}

/* Each damaged byte, and each length but the right one. */
static void test_damage(void **state)
{
	int fd = openat(dir_fd, PINFOLD_ABILITIES_FILE, O_RDWR);
	struct feature_row rows[ABILITY_NR];
	uint32_t nr = 77;
	struct stat stat;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	for (off_t at = 0; at < stat.st_size; at++) {
		char byte, broken;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		broken = (char)(byte ^ 0x10);
		assert_int_equal(pwrite(fd, &broken, 1, at), 1);
		assert_int_equal(load(key, rows, &nr), -ENOENT);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(load(key, rows, &nr), 0);
	assert_int_equal(ftruncate(fd, stat.st_size + 1), 0);
	assert_int_equal(load(key, rows, &nr), -ENOENT);
	assert_int_equal(ftruncate(fd, stat.st_size - 1), 0);
	assert_int_equal(load(key, rows, &nr), -ENOENT);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(load(key, rows, &nr), -ENOENT);
	close(fd);
}

static void test_unknown_is_not_saved(void **state)
{
	struct feature_row rows[ABILITY_NR];
	uint32_t nr = 0;

	fill(rows);
	rows[1].state = FEATURE_UNKNOWN;
	assert_int_equal(probe_cache_save(dir_fd, key, rows, ABILITY_NR), -EINVAL);
	/* what was kept before stays */
	assert_int_equal(load(key, rows, &nr), 0);
	assert_int_equal(rows[1].state, FEATURE_YES);
}

static void test_forgotten(void **state)
{
	struct feature_row rows[ABILITY_NR];
	uint32_t nr = 0;

	probe_cache_forget(dir_fd);
	assert_int_equal(load(key, rows, &nr), -ENOENT);
}

static void test_key_names_the_build_and_the_boot(void **state)
{
	char one[PROBE_CACHE_KEY_MAX], two[PROBE_CACHE_KEY_MAX], boot_id[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%63s", boot_id), 1);
	fclose(file);
	assert_int_equal(probe_cache_key("build 1", one), 0);
	assert_int_equal(probe_cache_key("build 2", two), 0);
	assert_string_not_equal(one, two);
	assert_non_null(strstr(one, boot_id));
}

static int make_directory(void **state)
{
	if (!mkdtemp(directory))
		return -1;
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0;
}

static int remove_directory(void **state)
{
	probe_cache_forget(dir_fd);
	close(dir_fd);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_saved_rows_are_loaded, begin),
		cmocka_unit_test_setup(test_first_rows_only, begin),
		cmocka_unit_test_setup(test_other_key, begin),
		cmocka_unit_test_setup(test_damage, begin),
		cmocka_unit_test_setup(test_unknown_is_not_saved, begin),
		cmocka_unit_test_setup(test_forgotten, begin),
		cmocka_unit_test(test_key_names_the_build_and_the_boot),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
