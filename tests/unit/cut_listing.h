/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory whose listing the kernel ends with an error, as a failing disk or a kernel without
 * memory does. Include it after cmocka, once: it takes the place of libc's readdir. The scene that is
 * included with it has the functions that each test begins and ends with.
 */
#ifndef TESTS_CUT_LISTING_H
#define TESTS_CUT_LISTING_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

static struct {
	bool is_set;
	dev_t device;
	ino_t inode;
	unsigned int nr_left; /* entries before the error */
} cut;

/* Listings of this directory end with EIO after so many entries, "." and ".." among them. */
static inline void cut_listing(const char *path, unsigned int nr_entries)
{
	struct stat info;

	assert_int_equal(stat(path, &info), 0);
	cut.is_set = true;
	cut.device = info.st_dev;
	cut.inode = info.st_ino;
	cut.nr_left = nr_entries;
}

static inline void cut_nothing(void)
{
	cut.is_set = false;
}

struct dirent *readdir(DIR *dir)
{
	struct dirent *(*next)(DIR *) = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
	struct stat info;

	if (cut.is_set && !fstat(dirfd(dir), &info) && info.st_dev == cut.device &&
	    info.st_ino == cut.inode && !cut.nr_left--) {
		cut.nr_left = 0;
		errno = EIO;
		return NULL;
	}
	errno = 0;
	return next(dir);
}

static inline int set_up(void **state);
static inline int tear_down(void **state);

static inline int set_up_listing(void **state)
{
	cut_nothing();
	return set_up(state);
}

static inline int tear_down_listing(void **state)
{
	cut_nothing();
	return tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_listing, tear_down_listing)

#endif
