/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of root_scene.h with the files of interrupts. CPUs 0-7 are on NUMA node 0, 8-15 on
 * node 1. Include it after cmocka.
 */
#ifndef TESTS_IRQ_SCENE_H
#define TESTS_IRQ_SCENE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "irq/irqs.h"
#include "lib/file.h"
#include "root_scene.h"

#define BOOT "11111111-2222-3333-4444-555555555555"

static int state_fd;
static struct topology *topology;
/* The end of the last pass. */
static struct irq_report report;
static int result;

/* The first line of a file. */
static inline void expect_file(const char *path, const char *wanted)
{
	char *text = get(path);

	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, wanted);
}

static inline void expect_irq(uint32_t number, const char *wanted)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", number);
	expect_file(path, wanted);
}

static inline void set_irq(uint32_t number, const char *affinity)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", number);
	put(path, affinity);
}

static inline void put_of(const char *folder, uint32_t number, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%u/%s", folder, number, file);
	put(path, text);
}

static inline void put_irq(uint32_t number, const char *chip, const char *actions,
			   const char *affinity, const char *node)
{
	set_irq(number, affinity);
	put_of("proc/irq", number, "effective_affinity_list", affinity);
	put_of("proc/irq", number, "node", node);
	put_of("sys/kernel/irq", number, "chip_name", chip);
	put_of("sys/kernel/irq", number, "hwirq", "1\n");
	put_of("sys/kernel/irq", number, "actions", actions);
}

static inline int set_up(void **state)
{
	struct topology_cpu rows[16];
	const struct topology_facts facts = {.cpus = rows, .nr_cpus = 16, TOPOLOGY_COUNT_ALL};
	char error[160], path[128];

	for (uint32_t i = 0; i < 16; i++)
		rows[i] = (struct topology_cpu){.id = i, .core = i, .node = i / 8, .uncore = i / 8};
	if (make_root("irq-test") || topology_new(&facts, error, sizeof(error), &topology))
		return -1;
	snprintf(path, sizeof(path), "%s/state", root);
	mkdir(path, 0700);
	state_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put("proc/irq/default_smp_affinity", "ffff\n");
	put("sys/devices/virtual/workqueue/cpumask", "ffff\n");
	put("proc/interrupts", "            CPU0       CPU1\n");
	put_irq(24, "PCI-MSI\n", "nic\n", "0-15\n", "-1\n");
	put_irq(25, "PCI-MSI\n", "disk\n", "5\n", "0\n");
	put_irq(26, "PCI-MSI\n", "timer\n", "2\n", "0\n");
	put_irq(27, "PCI-MSI\n", "\n", "0-15\n", "-1\n");
	return 0;
}

static inline int tear_down(void **state)
{
	irq_report_fini(&report);
	topology_free(topology);
	close(state_fd);
	return remove_root();
}

static inline void passed(void *self, int r, struct irq_report *taken)
{
	irq_report_fini(&report);
	result = r;
	report = *taken;
	*taken = (struct irq_report){0};
}

/* The last process that wrote masks, and how often one was told of. */
static struct irq_writer writer;
static unsigned int nr_told;
/* What the passes do about masks that others change. */
static enum enforcement masks = ENFORCEMENT_ENFORCE;

static inline void written(void *self, const struct irq_writer *by)
{
	writer = *by;
	nr_told++;
}

static const struct irq_sink sink = {.passed = passed, .written = written};

static inline struct irqs *open_irqs(void)
{
	const struct irqs_options options = {.root = root, .state_fd = state_fd, .boot_id = BOOT};
	struct irqs *irqs = NULL;

	assert_int_equal(irqs_open(&options, &irqs), 0);
	irqs_listen(irqs, NULL, &sink);
	return irqs;
}

/* A pass at this second, with CPUs 0-1 reserved and the others shared or exclusive. */
static inline void pass_at(struct irqs *irqs, enum irq_mode mode, const char *exclusive,
			   uint64_t second)
{
	const struct irq_port port = irqs_port(irqs);
	struct irq_request request = {.mode = mode, .masks = masks, .now_ns = second * 1000000000};

	request.cpus.topology = topology;
	request.cpus.online = request.cpus.allowed = topology->all;
	request.cpus.exclusive = cpuset_of_text(exclusive);
	cpuset_subtract(&request.cpus.allowed, &request.cpus.exclusive);
	assert_int_equal(port.pass(port.self, &request), 0);
}

static inline void pass_now(struct irqs *irqs, enum irq_mode mode, const char *exclusive)
{
	pass_at(irqs, mode, exclusive, 1000);
	assert_int_equal(result, 0);
}

static inline const struct irq_row *row_of(uint32_t number)
{
	for (uint32_t i = 0; i < report.nr; i++)
		if (report.rows[i].kind == IRQ_KIND_INTERRUPT && report.rows[i].number == number)
			return &report.rows[i];
	return NULL;
}

static inline enum irq_state state_of(uint32_t number)
{
	assert_non_null(row_of(number));
	return row_of(number)->state;
}

#endif
