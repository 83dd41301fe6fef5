// SPDX-License-Identifier: Apache-2.0
// LIBS: irq format core lib
/* Steering interrupts on a made-up machine: what is written, remembered and restored. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <systemd/sd-event.h>

#include "irq/mask.h"
#include "irq_scene.h"
#include "lib/log.h"
#include "refused_calls.h"

#include <pinfold/names.h>

static void expect_originals(void)
{
	expect_file("proc/irq/default_smp_affinity", "ffff");
	expect_file("sys/devices/virtual/workqueue/cpumask", "ffff");
	expect_irq(24, "0-15");
	expect_irq(25, "5");
	expect_irq(26, "2");
	expect_irq(27, "0-15");
}

static void masks_have_two_forms(void **state)
{
	static const struct {
		const char *hex, *list; /* list NULL = refused */
	} rows[] = {
		{"1", "0"},
		{"ff", "0-7"},
		{"FF", "0-7"},
		{"0", ""},
		{"00000000,0000000f", "0-3"},
		{"80000001,00000000", "32,63"},
		{"ffff,ffffffff,ffffffff", "0-79"},
		{"", NULL},
		{"g", NULL},
		{"f,f", NULL},
		{"123456789", NULL},
		{"ff ", NULL},
		{"0-3", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *list cleanup_free = NULL, *hex cleanup_free = NULL;
		struct cpuset set = CPUSET_EMPTY, again = CPUSET_EMPTY;

		assert_int_equal(mask_parse(MASK_HEX, rows[i].hex, &set),
				 rows[i].list ? 0 : -EINVAL);
		if (!rows[i].list)
			continue;
		list = mask_text(MASK_LIST, &set);
		assert_string_equal(list, rows[i].list);
		hex = mask_text(MASK_HEX, &set);
		assert_int_equal(mask_parse(MASK_HEX, hex, &again), 0);
		assert_true(cpuset_equal(&set, &again));
	}
}

static void interrupts_leave_exclusive_cpus_and_come_back(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "");
	expect_originals();
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.nr_written, 4);
	expect_file("proc/irq/default_smp_affinity", "ff0f");
	expect_file("sys/devices/virtual/workqueue/cpumask", "ff0f");
	expect_irq(24, "0-3,8-15");
	/* the allowed CPUs of its node */
	expect_irq(25, "0-3");
	expect_irq(26, "2");
	/* it has no handler */
	expect_irq(27, "0-15");
	assert_null(row_of(27));
	assert_int_equal(state_of(24), IRQ_STATE_STEERED);
	assert_int_equal(state_of(26), IRQ_STATE_ALLOWED);
	assert_string_equal(row_of(25)->original, "5");
	assert_string_equal(row_of(25)->exclusive, "");
	/* more CPUs, then fewer: always from the original */
	pass_now(irqs, IRQ_STEER, "2-7");
	expect_irq(24, "0-1,8-15");
	expect_irq(26, "0-1");
	pass_now(irqs, IRQ_STEER, "6-7");
	expect_irq(24, "0-5,8-15");
	expect_irq(25, "5");
	expect_irq(26, "2");
	pass_now(irqs, IRQ_STEER, "6-7");
	assert_int_equal(report.nr_written, 0);
	pass_now(irqs, IRQ_STEER, "");
	expect_originals();
	assert_int_equal(state_of(24), IRQ_STATE_ALLOWED);
	assert_null(row_of(24)->original);
	irqs_close(irqs);
}

static void nothing_is_written_to_observe(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_OBSERVE, "4-7");
	expect_originals();
	assert_int_equal(report.nr, 5);
	assert_int_equal(state_of(24), IRQ_STATE_EXCLUSIVE);
	assert_string_equal(row_of(24)->exclusive, "4-7");
	assert_string_equal(row_of(25)->exclusive, "5");
	assert_int_equal(state_of(26), IRQ_STATE_ALLOWED);
	/* and leave, with nothing to undo */
	pass_now(irqs, IRQ_RESTORE, "4-7");
	expect_originals();
	assert_int_equal(report.nr_written, 0);
	assert_int_equal(faccessat(state_fd, PINFOLD_IRQS_FILE, F_OK, 0), -1);
	irqs_close(irqs);
}

static void originals_survive_a_crash(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	irqs_close(irqs);
	/* Other CPUs, and what was exclusive is not any more. */
	irqs = open_irqs();
	pass_now(irqs, IRQ_STEER, "8-9");
	expect_irq(24, "0-7,10-15");
	expect_irq(25, "5");
	irqs_close(irqs);
	irqs = open_irqs();
	pass_now(irqs, IRQ_RESTORE, "8-9");
	expect_originals();
	irqs_close(irqs);
}

static void the_file_is_written_before_the_masks(void **state)
{
	struct irqs *irqs = open_irqs();

	refuse("openat", "." PINFOLD_IRQS_FILE ".tmp", EROFS);
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.error, -EROFS);
	expect_originals();
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_originals();
	refuse_nothing();
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.error, 0);
	expect_irq(24, "0-3,8-15");
	/* Killed between the file and the masks: they are originals still. */
	set_irq(24, "0-15\n");
	irqs_close(irqs);
	irqs = open_irqs();
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(24, "0-3,8-15");
	pass_now(irqs, IRQ_STEER, "");
	expect_originals();
	irqs_close(irqs);
}

static void a_damaged_file_ends_steering(void **state)
{
	struct irqs *irqs;

	assert_int_equal(file_replace(state_fd, PINFOLD_IRQS_FILE, "{", 1), 0);
	irqs = open_irqs();
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.error, -EBADMSG);
	assert_non_null(strstr(report.problem, PINFOLD_IRQS_FILE));
	expect_originals();
	assert_int_equal(state_of(24), IRQ_STATE_EXCLUSIVE);
	irqs_close(irqs);
}

static void texts_that_are_no_originals_are_refused(void **state)
{
	static const char *const texts[] = {
		"[]",
		"{\"version\":2,\"boot_id\":\"" BOOT "\",\"masks\":[]}",
		"{\"version\":1,\"masks\":[]}",
		"{\"version\":1,\"boot_id\":\"" BOOT "\"}",
		"{\"version\":1,\"boot_id\":\"" BOOT "\",\"masks\":[{\"kind\":\"interrupt\"}]}",
		"{\"version\":1,\"boot_id\":\"" BOOT "\",\"masks\":[{\"kind\":\"x\",\"number\":1,"
		"\"identity\":\"\",\"original\":\"0\"}]}",
		"{\"version\":1,\"boot_id\":\"" BOOT "\",\"masks\":[{\"kind\":\"default\","
		"\"number\":-1,\"identity\":\"\",\"original\":\"0\"}]}",
		"{\"version\":1,\"boot_id\":\"" BOOT "\",\"masks\":[{\"kind\":\"default\","
		"\"number\":1,\"identity\":\"\",\"original\":\"\"}]}",
		"{\"version\":1,\"boot_id\":\"" BOOT "\",\"masks\":[{\"kind\":\"default\","
		"\"number\":1,\"identity\":\"\",\"original\":\"3-1\"}]}",
		"{\"version\":1,\"boot_id\":\"" BOOT "\",\"masks\":[{\"kind\":\"default\","
		"\"number\":1,\"identity\":\"\",\"original\":\"0\",\"written\":\"\"}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct irqs *irqs;

		assert_int_equal(
			file_replace(state_fd, PINFOLD_IRQS_FILE, texts[i], strlen(texts[i])), 0);
		irqs = open_irqs();
		pass_now(irqs, IRQ_STEER, "4-7");
		assert_int_equal(report.error, -EBADMSG);
		irqs_close(irqs);
	}
	expect_originals();
}

/* A boot resets the masks, and gives the numbers to others. */
static void originals_of_another_boot_mean_nothing(void **state)
{
	static const char text[] =
		"{\"version\":1,\"boot_id\":\"another\",\"masks\":[{\"kind\":\"interrupt\","
		"\"number\":24,\"identity\":\"PCI-MSI 1\",\"original\":\"9\"}]}";
	struct irqs *irqs;

	assert_int_equal(file_replace(state_fd, PINFOLD_IRQS_FILE, text, strlen(text)), 0);
	irqs = open_irqs();
	pass_now(irqs, IRQ_STEER, "");
	expect_originals();
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(24, "0-3,8-15");
	irqs_close(irqs);
}

static void new_interrupts_are_steered_and_restored(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	/* from our default mask: the kernel would have given it all CPUs of its node */
	put_irq(30, "PCI-MSI\n", "late\n", "0-3\n", "0\n");
	/* its driver chose it */
	put_irq(31, "PCI-MSI\n", "pinned\n", "6\n", "0\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(30, "0-3");
	expect_irq(31, "0-3");
	assert_int_equal(state_of(30), IRQ_STATE_STEERED);
	/* the number is given to another device */
	put_irq(24, "IO-APIC\n", "other\n", "7\n", "-1\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(24, "0-3");
	irqs_close(irqs);
	irqs = open_irqs();
	pass_now(irqs, IRQ_RESTORE, "4-7");
	expect_irq(24, "7");
	expect_irq(30, "0-7");
	expect_irq(31, "6");
	irqs_close(irqs);
}

/* Its handler goes away for a while and comes back: the mask is ours, not an original. */
static void an_interrupt_without_a_handler_keeps_its_original(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	put("sys/kernel/irq/24/actions", "\n");
	/* The kernel's default for this one would be more than its original. */
	put("sys/kernel/irq/25/actions", "\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	put("sys/kernel/irq/24/actions", "nic,second\n");
	put("sys/kernel/irq/25/actions", "disk\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	pass_now(irqs, IRQ_STEER, "");
	expect_originals();
	irqs_close(irqs);
}

static void what_the_kernel_manages_is_tried_once(void **state)
{
	struct irqs *irqs = open_irqs();

	set_irq(24, "6,9\n");
	put("proc/irq/24/effective_affinity_list", "6\n");
	refuse("write", "9\n", EIO);
	pass_now(irqs, IRQ_STEER, "4-7");
	refuse_nothing();
	assert_int_equal(report.nr_refused, 1);
	expect_irq(24, "6,9");
	assert_int_equal(state_of(24), IRQ_STATE_MANAGED);
	assert_string_equal(row_of(24)->exclusive, "6");
	assert_null(row_of(24)->original);
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.nr_written, 0);
	expect_irq(24, "6,9");
	/* another mask is tried */
	pass_now(irqs, IRQ_STEER, "5-9");
	expect_irq(24, "0-4,10-15");
	assert_int_equal(state_of(24), IRQ_STATE_STEERED);
	pass_now(irqs, IRQ_STEER, "");
	expect_irq(24, "6,9");
	irqs_close(irqs);
}

static void a_mask_that_cannot_be_written_is_left_alone(void **state)
{
	struct irqs *irqs = open_irqs();

	assert_int_equal(fchmodat(state_fd, "../proc/irq/24/smp_affinity_list", 0444, 0), 0);
	put("proc/irq/24/effective_affinity_list", "1\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(24, "0-15");
	assert_int_equal(state_of(24), IRQ_STATE_MANAGED);
	/* it fires on CPU 1, and nobody can change that */
	assert_string_equal(row_of(24)->exclusive, "");
	irqs_close(irqs);
}

static void another_error_is_tried_again(void **state)
{
	struct irqs *irqs = open_irqs();

	refuse("write", "0-3,8-15\n", ENOSPC);
	pass_now(irqs, IRQ_STEER, "4-7");
	refuse_nothing();
	assert_int_equal(report.nr_failed, 1);
	assert_int_equal(state_of(24), IRQ_STATE_EXCLUSIVE);
	assert_int_equal(row_of(24)->error, -ENOSPC);
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(24, "0-3,8-15");
	assert_int_equal(row_of(24)->error, 0);
	irqs_close(irqs);
}

static void another_writer_is_not_fought(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	/* within the allowed CPUs: its own business, also when others become exclusive */
	set_irq(24, "9\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.nr_foreign, 1);
	pass_now(irqs, IRQ_STEER, "2-7");
	expect_irq(24, "9");
	assert_int_equal(report.nr_foreign, 0);
	/* on an exclusive CPU: set back at once, then after a pause that doubles */
	set_irq(24, "4,9-15\n");
	pass_at(irqs, IRQ_STEER, "2-7", 2000);
	expect_irq(24, "9-15");
	set_irq(24, "4,9-15\n");
	pass_at(irqs, IRQ_STEER, "2-7", 2009);
	expect_irq(24, "4,9-15");
	assert_int_equal(state_of(24), IRQ_STATE_EXCLUSIVE);
	assert_int_equal(report.nr_foreign, 1);
	pass_at(irqs, IRQ_STEER, "2-7", 2010);
	expect_irq(24, "9-15");
	assert_int_equal(report.nr_foreign, 0);
	set_irq(24, "4,9-15\n");
	pass_at(irqs, IRQ_STEER, "2-7", 2029);
	expect_irq(24, "4,9-15");
	pass_at(irqs, IRQ_STEER, "2-7", 2030);
	expect_irq(24, "9-15");
	/* A writer that was quiet for a while has its pauses begin anew. */
	pass_at(irqs, IRQ_STEER, "2-7", 3000);
	set_irq(24, "4,9-15\n");
	pass_at(irqs, IRQ_STEER, "2-7", 3001);
	expect_irq(24, "9-15");
	set_irq(24, "4,9-15\n");
	pass_at(irqs, IRQ_STEER, "2-7", 3011);
	expect_irq(24, "9-15");
	/* To leave restores what was chosen for the exclusive CPUs, too, whoever wrote since. */
	set_irq(24, "9\n");
	pass_now(irqs, IRQ_RESTORE, "2-7");
	expect_irq(24, "4,9-15");
	irqs_close(irqs);
}

/* With audit it is counted once, with off not at all, and neither is fought. */
static void a_foreign_mask_stays_unless_it_is_enforced(void **state)
{
	static const enum enforcement modes[] = {ENFORCEMENT_AUDIT, ENFORCEMENT_OFF};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct irqs *irqs;

		masks = modes[i];
		irqs = open_irqs();
		pass_at(irqs, IRQ_STEER, "2-5", 1000);
		expect_irq(24, "0-1,6-15");
		set_irq(24, "2-3\n");
		pass_at(irqs, IRQ_STEER, "2-5", 1010);
		expect_irq(24, "2-3");
		assert_int_equal(report.nr_foreign, 1);
		assert_int_equal(report.nr_reverted, 0);
		assert_int_equal(report.nr_left, modes[i] == ENFORCEMENT_AUDIT);
		assert_string_equal(report.first.name,
				    modes[i] == ENFORCEMENT_AUDIT ? "interrupt 24 (nic)" : "");
		pass_at(irqs, IRQ_STEER, "2-5", 2000);
		assert_int_equal(report.nr_left, 0);
		masks = ENFORCEMENT_ENFORCE;
		pass_at(irqs, IRQ_STEER, "2-5", 2010);
		expect_irq(24, "0-1,6-15");
		assert_int_equal(report.nr_reverted, 1);
		assert_string_equal(report.first.mask, "2-3");
		pass_at(irqs, IRQ_RESTORE, "", 2020);
		irqs_close(irqs);
	}
}

/* Let another process write a file, and the loop hear of it. Returns its pid. */
static pid_t write_elsewhere(sd_event *event, const char *path, const char *text)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "tuner");
		put(path, text);
		/* The name is read while the process is there. */
		usleep(200000);
		_exit(0);
	}
	assert_true(pid > 0);
	for (int i = 0; i < 100 && !nr_told; i++)
		sd_event_run(event, 10000);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return pid;
}

static void a_write_by_another_process_is_heard_of(void **state)
{
	struct irqs *irqs = open_irqs();
	sd_event *event = NULL;
	pid_t pid;

	assert_true(sd_event_new(&event) >= 0);
	irqs_listen(irqs, event, &sink);
	if (geteuid()) {
		irqs_close(irqs);
		sd_event_unref(event);
		skip(); /* fanotify needs CAP_SYS_ADMIN */
	}
	nr_told = 0;
	pass_at(irqs, IRQ_STEER, "2-5", 1000);
	sd_event_run(event, 10000);
	assert_int_equal(nr_told, 0);
	pid = write_elsewhere(event, "proc/irq/24/smp_affinity_list", "2-3\n");
	assert_int_equal(nr_told, 1);
	assert_int_equal(writer.pid, pid);
	assert_string_equal(writer.comm, "tuner");
	nr_told = 0;
	write_elsewhere(event, "proc/irq/default_smp_affinity", "4\n");
	assert_int_equal(nr_told, 1);
	/* Where nothing is steered, nobody need know. */
	nr_told = 0;
	pass_at(irqs, IRQ_RESTORE, "", 1010);
	write_elsewhere(event, "proc/irq/24/smp_affinity_list", "4\n");
	assert_int_equal(nr_told, 0);
	irqs_close(irqs);
	sd_event_unref(event);
}

static void a_mask_that_another_process_chose_stays_in_the_end(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	set_irq(24, "9\n");
	pass_now(irqs, IRQ_STEER, "");
	expect_irq(24, "9");
	expect_irq(25, "5");
	pass_now(irqs, IRQ_RESTORE, "");
	expect_irq(24, "9");
	irqs_close(irqs);
}

/* `uids` are the real, effective, saved and file system ones. */
static void put_process(uint32_t pid, const char *name, const char *uids)
{
	char status[256];

	snprintf(status, sizeof(status), "Name:\t%sUmask:\t0022\nUid:\t%sGid:\t0\t0\t0\t0\n", name,
		 uids);
	put_of("proc", pid, "comm", name);
	put_of("proc", pid, "status", status);
	put_of("proc", pid, "environ", "");
}

static void irqbalance_is_respected(void **state)
{
	static const char banned[] = "A=b\nIRQBALANCE_BANNED_CPULIST=4-7,9\n";
	static const char hex[] = "IRQBALANCE_BANNED_CPUS=f0\n";
	char environ[64];
	struct irqs *irqs = open_irqs();

	put_process(77, "irqbalance\n", "0\t0\t0\t0\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.irqbalance, IRQBALANCE_CONTENDS);
	expect_irq(24, "0-3,8-15");
	set_irq(24, "4\n");
	pass_at(irqs, IRQ_STEER, "4-7", 5000);
	expect_irq(24, "4");
	for (size_t i = 0; i < 2; i++) {
		const char *text = i ? hex : banned;
		const size_t len = strlen(text);
		int fd = openat(state_fd, "../proc/77/environ", O_WRONLY | O_TRUNC | O_CLOEXEC);

		memcpy(environ, text, len);
		for (size_t at = 0; at < len; at++)
			if (environ[at] == '\n')
				environ[at] = '\0';
		assert_int_equal(write(fd, environ, len), len);
		close(fd);
		pass_at(irqs, IRQ_STEER, "4-7", 5000);
		assert_int_equal(report.irqbalance, IRQBALANCE_SPARES);
		expect_irq(24, "0-3,8-15");
		pass_at(irqs, IRQ_STEER, "3-7", 5000);
		assert_int_equal(report.irqbalance, IRQBALANCE_CONTENDS);
	}
	/* Nothing is exclusive, so nobody is looked for. */
	pass_now(irqs, IRQ_STEER, "");
	assert_int_equal(report.irqbalance, IRQBALANCE_ABSENT);
	irqs_close(irqs);
}

/* Only root can write masks, and anybody may take the name. */
static void any_privileged_irqbalance_contends(void **state)
{
	struct irqs *irqs = open_irqs();

	put_process(70, "irqbalance\n", "0\t1000\t0\t1000\n");
	put_process(71, "irqbalance\n", "1000\t1000\t1000\t1000\n");
	put("proc/72/comm", "irqbalance\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.irqbalance, IRQBALANCE_ABSENT);
	/* One that spares the CPUs hides no other one, in whatever order they are found. */
	put_process(73, "irqbalance\n", "1000\t0\t0\t0\n");
	put("proc/73/environ", "IRQBALANCE_BANNED_CPUS=f0");
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.irqbalance, IRQBALANCE_SPARES);
	put_process(74, "irqbalance\n", "0\t0\t0\t0\n");
	put_process(75, "irqbalance\n", "0\t0\t0\t0\n");
	put("proc/75/environ", "IRQBALANCE_BANNED_CPUS=f0");
	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(report.irqbalance, IRQBALANCE_CONTENDS);
	irqs_close(irqs);
}

static void interrupts_on_exclusive_cpus_are_counted(void **state)
{
	struct irqs *irqs = open_irqs();

	/* CPU 3 is offline. */
	put("proc/interrupts", "  CPU0 CPU1 CPU2 CPU4 CPU5\n"
			       " 24:  1  2  4  100  1000  PCI-MSI 1-edge  nic\n"
			       " 25:  9  9\n"
			       "LOC: 77 77 77 77 77 Local timer interrupts\n"
			       " 99:  7  7  7  7  7  PCI-MSI 9-edge  nobody\n");
	pass_now(irqs, IRQ_OBSERVE, "2,4");
	assert_int_equal(row_of(24)->nr_fired, 0);
	put("proc/interrupts", "  CPU0 CPU1 CPU2 CPU4 CPU5\n"
			       " 24:  500  2  6  130  1000  PCI-MSI 1-edge  nic\n");
	pass_now(irqs, IRQ_OBSERVE, "2,4");
	assert_int_equal(row_of(24)->nr_fired, 32);
	assert_int_equal(report.nr_fired, 32);
	/* What CPU 5 had before it was exclusive does not count. */
	pass_now(irqs, IRQ_OBSERVE, "4-5");
	assert_int_equal(row_of(24)->nr_fired, 32);
	assert_int_equal(report.nr_fired, 0);
	irqs_close(irqs);
}

static void a_machine_that_cannot_be_read_is_an_error(void **state)
{
	struct irqs *irqs = open_irqs();

	refuse("openat", "proc/interrupts", EACCES);
	pass_at(irqs, IRQ_STEER, "4-7", 1);
	refuse_nothing();
	assert_int_equal(result, -EACCES);
	expect_originals();
	irqs_close(irqs);
}

static void expect_restore_says(const struct irqs_options *options, int error, const char *part)
{
	FILE *cleanup_file file = tmpfile();
	const int before = dup(STDERR_FILENO);
	char said[1024];

	assert_non_null(file);
	log_open("test", LOG_LEVEL_WARN);
	dup2(fileno(file), STDERR_FILENO);
	assert_int_equal(irqs_restore(options, topology), error);
	dup2(before, STDERR_FILENO);
	close(before);
	log_open("test", LOG_LEVEL_ERR);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	if (!strstr(said, part))
		fail_msg("'%s' does not say '%s'", said, part);
}

/* An operator's choice looks like what the narrowed default mask would have given. */
static void a_chosen_mask_gets_no_invented_original(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	set_irq(26, "0-3\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(26, "0-3");
	assert_null(row_of(26)->original);
	pass_now(irqs, IRQ_STEER, "");
	expect_irq(26, "0-3");
	irqs_close(irqs);
}

static void another_writer_is_known_after_a_restart(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	set_irq(24, "9\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	irqs_close(irqs);
	irqs = open_irqs();
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(24, "9");
	/* What was written last is ours, and follows the CPUs. */
	pass_now(irqs, IRQ_STEER, "2-7");
	expect_irq(24, "9");
	expect_irq(25, "0-1");
	irqs_close(irqs);
}

static void what_another_process_chose_is_kept_for_a_restart(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	set_irq(24, "4-11\n");
	pass_now(irqs, IRQ_STEER, "4-7");
	expect_irq(24, "8-11");
	irqs_close(irqs);
	irqs = open_irqs();
	pass_now(irqs, IRQ_STEER, "6-7");
	expect_irq(24, "4-5,8-11");
	pass_now(irqs, IRQ_RESTORE, "6-7");
	expect_irq(24, "4-11");
	irqs_close(irqs);
}

static void a_lost_file_is_written_again(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	assert_int_equal(unlinkat(state_fd, PINFOLD_IRQS_FILE, 0), 0);
	pass_now(irqs, IRQ_STEER, "4-7");
	irqs_close(irqs);
	irqs = open_irqs();
	pass_now(irqs, IRQ_RESTORE, "");
	expect_originals();
	irqs_close(irqs);
}

static void a_file_that_cannot_be_read_is_tried_again(void **state)
{
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	irqs_close(irqs);
	irqs = open_irqs();
	refuse("openat", PINFOLD_IRQS_FILE, EMFILE);
	pass_at(irqs, IRQ_STEER, "", 1);
	assert_int_equal(result, -EMFILE);
	refuse_nothing();
	pass_now(irqs, IRQ_STEER, "");
	expect_originals();
	irqs_close(irqs);
}

static void an_unreadable_file_is_not_a_missing_one(void **state)
{
	static const char *const files[] = {
		"proc/irq/default_smp_affinity",       "proc/irq/24/smp_affinity_list",
		"proc/irq/24/effective_affinity_list", "proc/irq/24/node",
		"sys/kernel/irq/24/chip_name",	       "sys/kernel/irq/24/actions",
	};
	struct irqs *irqs = open_irqs();

	pass_now(irqs, IRQ_STEER, "4-7");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		refuse("openat", files[i], EMFILE);
		pass_at(irqs, IRQ_STEER, "4-7", 1);
		refuse_nothing();
		if (result != -EMFILE)
			fail_msg("%s: %d", files[i], result);
	}
	pass_now(irqs, IRQ_STEER, "");
	expect_originals();
	irqs_close(irqs);
}

static void an_uninstall_restores_everything(void **state)
{
	const struct irqs_options options = {.root = root, .state_fd = state_fd, .boot_id = BOOT};
	struct irqs *irqs = open_irqs();

	assert_int_equal(irqs_restore(&options, topology), 0);
	pass_now(irqs, IRQ_STEER, "4-7");
	irqs_close(irqs);
	refuse("write", "5\n", EIO);
	expect_restore_says(&options, -EIO, "interrupt 25 (disk) to CPUs 5, so it keeps 0-3");
	refuse_nothing();
	expect_irq(24, "0-15");
	assert_int_equal(irqs_restore(&options, topology), 0);
	expect_originals();
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_have_two_forms),
		IN_SCENE(interrupts_leave_exclusive_cpus_and_come_back),
		IN_SCENE(nothing_is_written_to_observe),
		IN_SCENE(originals_survive_a_crash),
		IN_SCENE(the_file_is_written_before_the_masks),
		IN_SCENE(a_damaged_file_ends_steering),
		IN_SCENE(texts_that_are_no_originals_are_refused),
		IN_SCENE(originals_of_another_boot_mean_nothing),
		IN_SCENE(new_interrupts_are_steered_and_restored),
		IN_SCENE(an_interrupt_without_a_handler_keeps_its_original),
		IN_SCENE(what_the_kernel_manages_is_tried_once),
		IN_SCENE(a_mask_that_cannot_be_written_is_left_alone),
		IN_SCENE(another_error_is_tried_again),
		IN_SCENE(another_writer_is_not_fought),
		IN_SCENE(a_foreign_mask_stays_unless_it_is_enforced),
		IN_SCENE(a_write_by_another_process_is_heard_of),
		IN_SCENE(a_mask_that_another_process_chose_stays_in_the_end),
		IN_SCENE(irqbalance_is_respected),
		IN_SCENE(any_privileged_irqbalance_contends),
		IN_SCENE(interrupts_on_exclusive_cpus_are_counted),
		IN_SCENE(a_machine_that_cannot_be_read_is_an_error),
		IN_SCENE(a_chosen_mask_gets_no_invented_original),
		IN_SCENE(another_writer_is_known_after_a_restart),
		IN_SCENE(what_another_process_chose_is_kept_for_a_restart),
		IN_SCENE(a_lost_file_is_written_again),
		IN_SCENE(a_file_that_cannot_be_read_is_tried_again),
		IN_SCENE(an_unreadable_file_is_not_a_missing_one),
		IN_SCENE(an_uninstall_restores_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
