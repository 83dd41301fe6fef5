// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * Which mounts the guard protects, from the text of mountinfo, and that its map learns of a change
 * even if this fails at first. The map and the file systems are behind the calls that ask for them.
 */
#include <errno.h>
#include <linux/magic.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "bpf/guard_files.h"

#define DEV(major_nr, minor_nr) ((major_nr) << 20 | (minor_nr))

static struct guard_files files;

/* As a machine with systemd has it, and a bind mount of each of the two elsewhere. */
static const char shared[] =
	"26 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"24 26 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
	"30 24 0:26 / /sys/fs/cgroup rw shared:9 master:3 - cgroup2 cgroup2 rw\n"
	"31 24 0:28 / /sys/fs/bpf rw shared:11 - bpf bpf rw,mode=700\n"
	"40 26 0:28 / /mnt/bpf rw shared:11 - bpf bpf rw,mode=700\n"
	"41 26 0:26 / /mnt/with\\040blank rw - cgroup2 cgroup2 rw\n";

static int begin(void **state)
{
	files = (struct guard_files){.mounts_fd = -1};
	return 0;
}

static __u32 marks(enum guard_file_kind kind, uint64_t id)
{
	for (uint32_t i = 0; i < files.nr; i++)
		if (files.rows[i].key.kind == kind && files.rows[i].key.id == id)
			return files.rows[i].marks;
	return 0;
}

static void add_mount(const char *mountinfo, const char *path, __u32 dev)
{
	const struct mounted_path place = {path, dev};

	assert_int_equal(guard_files_add_mounts(&files, mountinfo, &place, 1), 0);
}

static void a_mount_and_those_below_it(void **state)
{
	add_mount(shared, "/sys/fs/bpf/pinfold", DEV(0, 28));
	assert_int_equal(files.nr, 3);
	assert_int_equal(marks(GUARD_FILE_MOUNT, 31), GUARD_FILE_OURS);
	assert_int_equal(marks(GUARD_FILE_MOUNT, 24), GUARD_FILE_HOLDS);
	assert_int_equal(marks(GUARD_FILE_MOUNT, 26), GUARD_FILE_ABOVE);
	/* what both have below them is there once */
	add_mount(shared, "/sys/fs/cgroup", DEV(0, 26));
	assert_int_equal(files.nr, 4);
	assert_int_equal(marks(GUARD_FILE_MOUNT, 30), GUARD_FILE_OURS);
	/* a bind mount elsewhere is nobody's business */
	assert_int_equal(marks(GUARD_FILE_MOUNT, 40), 0);
	assert_int_equal(marks(GUARD_FILE_MOUNT, 41), 0);
}

static void another_file_system_in_the_same_place(void **state)
{
	add_mount(shared, "/sys/fs/bpf/pinfold", DEV(0, 29));
	add_mount(shared, "/sys/fs/bp", DEV(0, 28));
	assert_int_equal(files.nr, 0);
}

static void the_last_mount_hides_the_others(void **state)
{
	static const char twice[] = "1 1 0:2 / / rw - rootfs none rw\n"
				    "5 1 0:28 / /sys/fs/bpf rw - bpf bpf rw\n"
				    "6 5 0:28 / /sys/fs/bpf rw - bpf bpf rw\n";

	add_mount(twice, "/sys/fs/bpf", DEV(0, 28));
	assert_int_equal(marks(GUARD_FILE_MOUNT, 6), GUARD_FILE_OURS);
	assert_int_equal(marks(GUARD_FILE_MOUNT, 5), GUARD_FILE_HOLDS);
	/* the root is mounted on itself */
	assert_int_equal(marks(GUARD_FILE_MOUNT, 1), GUARD_FILE_ABOVE);
	assert_int_equal(files.nr, 3);
}

/* Text that no kernel writes, and mounts that are mounted on each other. */
static void odd_texts_end(void **state)
{
	static const char circle[] = "7 8 0:28 / /a rw shared:x\n\nx\n"
				     "8 7 0:9 / /b rw - bpf bpf rw";

	add_mount("", "/a", DEV(0, 28));
	add_mount("0 0 0:1 / / rw - rootfs none rw\n", "/a", DEV(0, 28));
	assert_int_equal(files.nr, 0);
	add_mount(circle, "/a", DEV(0, 28));
	assert_int_equal(files.nr, 2);
}

/* It took ten seconds of computing time when a line was searched to the end of the text. */
static void thousands_of_mounts_take_no_time(void **state)
{
	enum { MOUNTS = 20000, LINE_LEN = 64 };
	static char text[MOUNTS * LINE_LEN + sizeof(shared)];
	size_t len = 0;
	clock_t begin = clock();

	for (int i = 0; i < MOUNTS; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%d 26 0:%d / /mnt/%d rw,relatime - tmpfs none rw\n",
					i + 100, i + 100, i);
	memcpy(text + len, shared, sizeof(shared));
	add_mount(text, "/sys/fs/bpf/pinfold", DEV(0, 28));
	assert_int_equal(marks(GUARD_FILE_MOUNT, 31), GUARD_FILE_OURS);
	assert_int_equal(marks(GUARD_FILE_MOUNT, 26), GUARD_FILE_ABOVE);
	assert_in_range(clock() - begin, 0, CLOCKS_PER_SEC);
}

static void there_is_no_space_for_more(void **state)
{
	for (uint64_t i = 0; i < GUARD_FILES_MAX + 5; i++)
		guard_files_add(&files, (struct guard_file_key){GUARD_FILE_MOUNT, 0, i},
				GUARD_FILE_OURS);
	assert_int_equal(files.nr, GUARD_FILES_MAX);
	guard_files_add(&files, (struct guard_file_key){GUARD_FILE_MOUNT, 0, 3}, GUARD_FILE_HOLDS);
	assert_int_equal(marks(GUARD_FILE_MOUNT, 3), GUARD_FILE_OURS | GUARD_FILE_HOLDS);
}

/* --- the map ---------------------------------------------------------------------------------- */

enum { MAP_FD = 100 };

static struct {
	struct guard_files rows;
	bool is_full, has_news;
} kernel;

static struct guard_file *row_of(const struct guard_file_key *key)
{
	for (uint32_t i = 0; i < kernel.rows.nr; i++)
		if (!memcmp(&kernel.rows.rows[i].key, key, sizeof(*key)))
			return &kernel.rows.rows[i];
	errno = ENOENT;
	return NULL;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	const struct guard_file *row = row_of(key);

	assert_int_equal(fd, MAP_FD);
	if (!row)
		return -1;
	memcpy(value, &row->marks, sizeof(row->marks));
	return 0;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	struct guard_file row;

	assert_int_equal(fd, MAP_FD);
	if (kernel.is_full) {
		errno = ENOMEM;
		return -1;
	}
	memcpy(&row.key, key, sizeof(row.key));
	memcpy(&row.marks, value, sizeof(row.marks));
	guard_files_add(&kernel.rows, row.key, row.marks);
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	struct guard_file *row = row_of(key);

	assert_int_equal(fd, MAP_FD);
	if (!row)
		return -1;
	*row = kernel.rows.rows[--kernel.rows.nr];
	return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next_key)
{
	const struct guard_file *row = key ? row_of(key) + 1 : kernel.rows.rows;

	assert_int_equal(fd, MAP_FD);
	if (row == kernel.rows.rows + kernel.rows.nr) {
		errno = ENOENT;
		return -1;
	}
	memcpy(next_key, &row->key, sizeof(row->key));
	return 0;
}

/* As the kernel does: who was told once is not told again. */
int poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	bool has_news = kernel.has_news;

	kernel.has_news = false;
	return has_news;
}

int statfs(const char *path, struct statfs *ret_info)
{
	*ret_info =
		(struct statfs){.f_type = strstr(path, "bpf") ? BPF_FS_MAGIC : CGROUP2_SUPER_MAGIC};
	return 0;
}

int stat(const char *path, struct stat *ret_info)
{
	*ret_info = (struct stat){.st_dev = makedev(0, strstr(path, "bpf") ? 28 : 26)};
	return 0;
}

static int update(void)
{
	bool mended;

	return guard_files_update(&files, MAP_FD, "/sys/fs/bpf/pinfold", "/sys/fs/cgroup", &mended);
}

static bool has_mount(uint64_t id)
{
	const struct guard_file_key key = {GUARD_FILE_MOUNT, 0, id};

	return row_of(&key);
}

static void a_change_that_could_not_be_written_is_written_later(void **state)
{
	static const char more[] = "45 24 0:28 / /sys/fs/bpf rw shared:12 - bpf bpf rw\n";

	kernel.rows = (struct guard_files){0};
	files.mounts_fd = memfd_create("mountinfo", MFD_CLOEXEC);
	assert_int_equal(write(files.mounts_fd, shared, strlen(shared)), strlen(shared));
	assert_int_equal(update(), 0);
	assert_true(has_mount(31) && has_mount(30));
	assert_int_equal(write(files.mounts_fd, more, strlen(more)), strlen(more));
	/* nobody says that it has changed */
	assert_int_equal(update(), 0);
	assert_false(has_mount(45));
	kernel.has_news = true;
	kernel.is_full = true;
	assert_int_equal(update(), -ENOMEM);
	assert_int_equal(update(), -ENOMEM);
	kernel.is_full = false;
	assert_int_equal(update(), 0);
	assert_true(has_mount(45) && has_mount(30));
	assert_false(has_mount(31));
	/* and then it is done */
	assert_false(files.must_read);
	guard_files_close(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_mount_and_those_below_it, begin),
		cmocka_unit_test_setup(another_file_system_in_the_same_place, begin),
		cmocka_unit_test_setup(the_last_mount_hides_the_others, begin),
		cmocka_unit_test_setup(odd_texts_end, begin),
		cmocka_unit_test_setup(thousands_of_mounts_take_no_time, begin),
		cmocka_unit_test_setup(there_is_no_space_for_more, begin),
		cmocka_unit_test_setup(a_change_that_could_not_be_written_is_written_later, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
