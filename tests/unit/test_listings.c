// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf irq stranger machine format core lib
/*
 * A listing that ends with an error is not taken for a complete one. Each directory exists and has
 * something in it that must not be missed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/links.h"
#include "bpf/pins.h"
#include "cut_listing.h"
#include "irq_scene.h"
#include "lib/log.h"
#include "machine/sysfs.h"
#include "stranger/procs.h"

static const char *path_of(const char *path)
{
	static char whole[128];

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	return whole;
}

/* No interrupt is steered on the word of half a list. */
static void interrupts(void **state)
{
	struct irqs *irqs = open_irqs();

	for (unsigned int nr = 0; nr < 4; nr++) {
		cut_listing(path_of("proc/irq"), nr);
		pass_at(irqs, IRQ_STEER, "0-7", 1000);
		assert_int_equal(result, -EIO);
		expect_irq(25, "5");
		expect_irq(26, "2");
	}
	cut_nothing();
	pass_at(irqs, IRQ_STEER, "0-7", 2000);
	assert_int_equal(result, 0);
	expect_irq(26, "8-15");
	irqs_close(irqs);
}

/* Nobody knows whether irqbalance is among those that were not listed. */
static void irqbalance(void **state)
{
	struct irqs *irqs = open_irqs();

	cut_listing(path_of("proc"), 0);
	pass_at(irqs, IRQ_STEER, "0-7", 1000);
	assert_int_equal(result, -EIO);
	irqs_close(irqs);
}

static int count_thread(void *self, pid_t process, pid_t thread)
{
	++*(unsigned int *)self;
	return 0;
}

static void tasks(void **state)
{
	unsigned int nr = 0;
	int fd;

	put("proc/77/task/77/comm", "a\n");
	put("proc/77/task/78/comm", "b\n");
	fd = open(path_of("proc"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cut_listing(path_of("proc"), 0);
	assert_int_equal(procs_walk(fd, count_thread, &nr), -EIO);
	cut_listing(path_of("proc/77/task"), 0);
	assert_int_equal(procs_walk(fd, count_thread, &nr), -EIO);
	assert_int_equal(nr, 0);
	cut_nothing();
	assert_int_equal(procs_walk(fd, count_thread, &nr), 0);
	assert_int_equal(nr, 2);
	close(fd);
}

static void huge_pages(void **state)
{
	static const char pages[] = "sys/devices/system/node/node0/hugepages";
	struct topology_node node = {.id = 0};
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n");
	put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "3\n");
	assert_int_equal(sysfs_read_hugepages(fd, &node), 0);
	assert_int_equal(node.nr_hugepages, 1);
	cut_listing(path_of(pages), 0);
	assert_int_equal(sysfs_read_hugepages(fd, &node), -EIO);
	close(fd);
}

static bool is_ours(const char *name)
{
	return !strcmp(name, "ours");
}

static void our_files(void **state)
{
	char other[64];
	int fd;

	put("dir/ours", "");
	fd = open(path_of("dir"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cut_listing(path_of("dir"), 0);
	assert_int_equal(file_remove_directory(fd, path_of("dir"), is_ours, other, sizeof(other)),
			 -EIO);
	cut_nothing();
	assert_int_equal(file_remove_directory(fd, path_of("dir"), is_ours, other, sizeof(other)),
			 0);
	close(fd);
}

static void pins(void **state)
{
	char pin_dir[128];

	snprintf(pin_dir, sizeof(pin_dir), "%s/bpf", root);
	put("bpf/links/unknown_link", "");
	cut_listing(path_of("bpf/links"), 0);
	assert_int_equal(links_drop_unknown(pin_dir), -EIO);
	assert_int_equal(pins_remove(pin_dir), -EIO);
	cut_nothing();
	assert_int_equal(links_drop_unknown(pin_dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(interrupts), TEST(irqbalance), TEST(tasks),
		TEST(huge_pages), TEST(our_files),  TEST(pins),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
