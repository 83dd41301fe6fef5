// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Which mask an interrupt gets, and when it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/irq/irq.h"
#include "scene.h"

/* Two NUMA nodes: CPUs 0-7 on node 0, 8-15 on node 2. */
static struct topology *topology;
static struct irq_cpus cpus;

static int set_up(void **state)
{
	struct topology_cpu rows[16];
	const struct topology_facts facts = {.cpus = rows, .nr_cpus = 16, TOPOLOGY_COUNT_ALL};
	char error[160];

	for (uint32_t i = 0; i < 16; i++)
		rows[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / 8 * 2, .uncore = i / 8};
	return topology_new(&facts, error, sizeof(error), &topology);
}

static int tear_down(void **state)
{
	topology_free(topology);
	return 0;
}

static void at(const char *exclusive, const char *allowed)
{
	cpus = (struct irq_cpus){topology, cpus_of(exclusive), cpus_of(allowed), cpus_of("0-15")};
}

static void targets_spare_exclusive_cpus(void **state)
{
	static const struct {
		const char *exclusive, *allowed, *original, *target;
	} rows[] = {
		/* nothing is exclusive */
		{"", "0-15", "0-15", "0-15"},
		{"", "0-15", "5", "5"},
		/* the intersection; bits of CPUs that do not exist are dropped with the others */
		{"4-7", "0-3,8-15", "0-15", "0-3,8-15"},
		{"4-7", "0-3,8-15", "0-63", "0-3,8-15"},
		{"4-7", "0-3,8-15", "3-4", "3"},
		/* it reaches no exclusive CPU, so it is left alone, on a pod's pool too */
		{"4-7", "0-1,10-15", "8-9", "8-9"},
		{"4-7", "0-1", "0-3", "0-3"},
		/* the allowed CPUs of its NUMA node */
		{"4-7", "0-3,8-15", "5", "0-3"},
		{"8-11", "0-3,12-15", "9", "12-15"},
		{"4-11", "0-3,12-15", "5,9", "0-3,12-15"},
		/* none on its node */
		{"8-15", "0-7", "9", "0-7"},
		/* a CPU of no node that is known */
		{"20", "0-7", "20", "0-7"},
		/* no CPU is left */
		{"0-15", "", "0-15", "0-15"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct cpuset original = cpus_of(rows[i].original);
		struct cpuset target;

		at(rows[i].exclusive, rows[i].allowed);
		irq_target(&cpus, &original, &target);
		assert_cpus(&target, rows[i].target);
	}
}

static void new_interrupts_get_the_original_default(void **state)
{
	static const struct {
		const char *now, *original;
		int node;
		const char *affinity, *wanted;
	} rows[] = {
		/* from our default mask: what the original one would have given */
		{"0-3,8-15", "0-63", -1, "0-3,8-15", "0-15"},
		{"0-3,8-15", "0-63", 0, "0-3", "0-7"},
		{"0-3,8-15", "0-63", 2, "8-15", "8-15"},
		/* the node has none of the default mask's CPUs */
		{"0-3", "0-7", 2, "0-3", "0-7"},
		/* a node that is not known */
		{"0-3", "0-15", 9, "0-3", "0-15"},
		/* somebody chose it */
		{"0-3", "0-15", -1, "2", "2"},
		{"0-3", "0-15", 0, "0-7", "0-7"},
		/* the default mask is not ours */
		{"0-15", "0-15", 0, "0-7", "0-7"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct cpuset now = cpus_of(rows[i].now),
				    original = cpus_of(rows[i].original);
		const struct cpuset affinity = cpus_of(rows[i].affinity);
		struct cpuset result;

		at("4-7", "0-3,8-15");
		irq_original_of_new(&cpus, &now, &original, rows[i].node, &affinity, &result);
		assert_cpus(&result, rows[i].wanted);
	}
}

static void a_mask_is_written_once_and_not_fought_over(void **state)
{
	static const struct {
		const char *affinity, *written, *refused; /* NULL = none */
		bool may_contend;
		enum irq_action action;
	} rows[] = {
		{"0-15", NULL, NULL, false, IRQ_WRITE},
		{"0-3,8-15", NULL, NULL, false, IRQ_KEEP},
		{"0-3,8-15", "0-3,8-15", NULL, false, IRQ_KEEP},
		/* our mask for other exclusive CPUs */
		{"0-1", "0-1", NULL, false, IRQ_WRITE},
		/* the kernel refused this mask, or another one */
		{"0-15", NULL, "0-3,8-15", true, IRQ_REFUSED},
		{"0-15", NULL, "0-1", false, IRQ_WRITE},
		/* somebody wrote after us */
		{"0-15", "0-3,8-15", NULL, true, IRQ_REVERT},
		{"0-15", "0-3,8-15", NULL, false, IRQ_FOREIGN},
		{"2", "0-3,8-15", NULL, true, IRQ_FOREIGN},
		/* CPU 16 went offline, and the kernel widened the mask */
		{"0-15", "16", NULL, false, IRQ_WRITE},
		{"2", "16", NULL, false, IRQ_WRITE},
		{"0-15", "15-16", NULL, false, IRQ_FOREIGN},
		/* before a restart: nobody knows whose it is */
		{"5", NULL, NULL, false, IRQ_WRITE},
	};
	const struct cpuset original = cpus_of("0-15");

	at("4-7", "0-3,8-15");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct cpuset affinity = cpus_of(rows[i].affinity);
		const struct cpuset written = cpus_of(rows[i].written ? rows[i].written : "");
		const struct cpuset refused = cpus_of(rows[i].refused ? rows[i].refused : "");
		const struct irq_facts facts = {
			.affinity = &affinity,
			.original = &original,
			.written = rows[i].written ? &written : NULL,
			.refused = rows[i].refused ? &refused : NULL,
			.may_contend = rows[i].may_contend,
		};
		struct cpuset chosen, target;

		assert_int_equal(irq_decide(&cpus, &facts, &chosen, &target), rows[i].action);
		assert_cpus(&chosen, "0-15");
		assert_cpus(&target, "0-3,8-15");
	}
}

static void what_others_leave_out_stays_so(void **state)
{
	static const struct {
		const char *affinity, *original, *target;
	} rows[] = {
		{"0-1,4-9", "0-1,4-9", "0-1,8-9"},
		{"4,9", "4,9", "9"},
		/* nothing of it would be left */
		{"5", "0-15", "0-3,8-15"},
		/* The kernel narrows a mask by itself, and that is nobody's choice. */
		{"2", "0-15", "0-3,8-15"},
	};
	const struct cpuset original = cpus_of("0-15"), written = cpus_of("0-3,8-15");

	at("4-7", "0-3,8-15");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct cpuset affinity = cpus_of(rows[i].affinity);
		struct irq_facts facts = {
			.affinity = &affinity,
			.original = &original,
			.written = &written,
		};
		struct cpuset chosen, target;

		/* Whether the target is written now or after a pause, it is this one. */
		assert_int_equal(irq_decide(&cpus, &facts, &chosen, &target), IRQ_FOREIGN);
		assert_cpus(&chosen, rows[i].original);
		assert_cpus(&target, rows[i].target);
		facts.may_contend = true;
		irq_decide(&cpus, &facts, &chosen, &target);
		assert_cpus(&chosen, rows[i].original);
		assert_cpus(&target, rows[i].target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_spare_exclusive_cpus),
		cmocka_unit_test(new_interrupts_get_the_original_default),
		cmocka_unit_test(a_mask_is_written_once_and_not_fought_over),
		cmocka_unit_test(what_others_leave_out_stays_so),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
