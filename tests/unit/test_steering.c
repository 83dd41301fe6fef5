// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The controller's side of interrupts: for which CPUs masks are asked for and when, and what is
 * shown and found.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_irq.h"
#include "lib/text.h"
#include "two_pods_scene.h"

static struct controller *start_with_irqs(enum interrupts interrupts, enum run_mode mode)
{
	struct controller *controller;

	changed = config;
	changed.enforcement.irq_masks = ENFORCEMENT_ENFORCE;
	changed.interrupts = interrupts;
	changed.mode = mode;
	controller = make_node_with(
		(struct controller_ports){.kernel = &fake_side_port, .irq = &fake_irq_port});
	fake_irq.sink = &controller_sinks(controller)->irq;
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static struct controller *start_steering(void)
{
	return start_with_irqs(INTERRUPTS_STEER, MODE_ALLOCATE);
}

static int set_up_steering(void **state)
{
	memset(&fake_irq, 0, sizeof(fake_irq));
	return set_up_pods(state);
}

static void expect_request(enum irq_mode mode, const char *exclusive, const char *allowed)
{
	char text[128];

	assert_int_equal(fake_irq.request.mode, mode);
	cpuset_format(&fake_irq.request.cpus.exclusive, text, sizeof(text));
	assert_string_equal(text, exclusive);
	cpuset_format(&fake_irq.request.cpus.allowed, text, sizeof(text));
	assert_string_equal(text, allowed);
}

static const char *last_of(struct json_object *rows, const char *key)
{
	struct json_object *last =
		json_object_array_get_idx(rows, json_object_array_length(rows) - 1);

	return json_object_get_string(json_object_object_get(last, key));
}

/* Not before a tenth of a second has passed, and not while a pass runs. */
static void a_write_by_another_process_begins_a_pass(void **state)
{
	static const struct irq_writer writer = {4711, "tuner"};
	struct controller *controller = start_steering();
	struct json_object *rows;
	unsigned int nr_before;

	scan(controller, pods, 1);
	controller_wake(controller);
	nr_before = fake_irq.nr_passes;
	fake_irq.sink->written(fake_irq.sink->self, &writer);
	assert_int_equal(fake_irq.nr_passes, nr_before);
	fake_irq.counts = (struct irq_report){
		.nr_written = 2, .nr_foreign = 3, .nr_reverted = 2, .nr_left = 1};
	snprintf(fake_irq.counts.first.name, sizeof(fake_irq.counts.first.name),
		 "interrupt 24 (nic)");
	snprintf(fake_irq.counts.first.mask, sizeof(fake_irq.counts.first.mask), "2-3");
	tick(controller, 1);
	assert_int_equal(fake_irq.nr_passes, nr_before + 1);
	rows = query(controller, "event");
	assert_string_equal(last_of(rows, "kind"), "irq");
	assert_string_equal(last_of(rows, "action"), "repair");
	assert_string_equal(last_of(rows, "pid"), "4711");
	assert_string_equal(last_of(rows, "comm"), "tuner");
	assert_string_equal(last_of(rows, "detail"),
			    "3 masks of interrupts or kernel work were changed to reach exclusive "
			    "CPUs and set back; the first is interrupt 24 (nic), CPUs 2-3");
	json_object_put(rows);
	/* nothing was written since */
	fake_irq.counts = (struct irq_report){0};
	tick(controller, 1);
	assert_int_equal(fake_irq.nr_passes, nr_before + 1);
	fake_irq.is_slow = true;
	fake_irq.sink->written(fake_irq.sink->self, &writer);
	assert_int_equal(fake_irq.nr_passes, nr_before + 2);
	fake_irq.sink->written(fake_irq.sink->self, &writer);
	assert_int_equal(fake_irq.nr_passes, nr_before + 2);
	fake->now_ns += S / 5;
	fake_irq.is_slow = false;
	fake_irq_end();
	/* That pass had nothing to write, so the next one waits longer. */
	assert_int_equal(fake_irq.nr_passes, nr_before + 3);
	fake->now_ns += S / 5;
	fake_irq.sink->written(fake_irq.sink->self, &writer);
	assert_int_equal(fake_irq.nr_passes, nr_before + 3);
	fake->now_ns += S / 5;
	fake_irq.sink->written(fake_irq.sink->self, &writer);
	assert_int_equal(fake_irq.nr_passes, nr_before + 4);
	controller_free(controller);
}

/* It wrote another mask: what a later pass finds may be anybody's. */
static void a_writer_is_not_blamed_for_what_is_found_later(void **state)
{
	static const struct irq_writer writer = {4711, "tuner"};
	struct controller *controller = start_steering();
	struct json_object *rows;

	tick(controller, 1);
	fake->now_ns += S;
	fake_irq.sink->written(fake_irq.sink->self, &writer);
	assert_int_equal(fake_irq.nr_passes, 2);
	fake_irq.counts = (struct irq_report){.nr_foreign = 1, .nr_left = 1};
	snprintf(fake_irq.counts.first.name, sizeof(fake_irq.counts.first.name),
		 "interrupt 24 (nic)");
	snprintf(fake_irq.counts.first.mask, sizeof(fake_irq.counts.first.mask), "3");
	tick(controller, 10);
	assert_int_equal(fake_irq.nr_passes, 3);
	rows = query(controller, "event");
	assert_string_equal(last_of(rows, "kind"), "irq");
	assert_string_equal(last_of(rows, "action"), "audit");
	assert_null(last_of(rows, "pid"));
	assert_string_equal(last_of(rows, "detail"),
			    "1 mask of interrupts or kernel work was changed to reach exclusive "
			    "CPUs; the first is interrupt 24 (nic), CPUs 3");
	json_object_put(rows);
	controller_free(controller);
}

/* Down to the passes that look for new interrupts, which go on; and what is new is seen at once again. */
static void passes_become_rarer_for_a_writer_that_goes_on(void **state)
{
	static const struct irq_writer writer = {4711, "tuner"};
	struct controller *controller = start_steering();
	uint64_t last_ns, pause_ns = 0;
	unsigned int nr_before;

	tick(controller, 1);
	last_ns = fake->now_ns;
	for (int i = 0; i < 600; i++) {
		nr_before = fake_irq.nr_passes;
		fake->now_ns += S / 10;
		fake_irq.sink->written(fake_irq.sink->self, &writer);
		if (fake_irq.nr_passes == nr_before)
			continue;
		assert_true(fake->now_ns - last_ns >= pause_ns);
		pause_ns = fake->now_ns - last_ns;
		last_ns = fake->now_ns;
	}
	assert_int_equal(pause_ns, 10 * S);
	/* One pass more because of it, and one in whose time nobody wrote. */
	tick(controller, 20);
	fake->now_ns += S / 10;
	nr_before = fake_irq.nr_passes;
	fake_irq.sink->written(fake_irq.sink->self, &writer);
	assert_int_equal(fake_irq.nr_passes, nr_before + 1);
	controller_free(controller);
}

static void masks_follow_the_ledger(void **state)
{
	struct controller *controller = start_steering();

	tick(controller, 1);
	expect_request(IRQ_STEER, "", "0-15");
	scan(controller, pods, 2);
	controller_wake(controller);
	/* CPUs 0-1 are reserved */
	expect_request(IRQ_STEER, "2-5", "0-1,6-15");
	scan(controller, &pods[1], 1);
	controller_wake(controller);
	expect_request(IRQ_STEER, "", "0-15");
	controller_free(controller);
}

static void offline_cpus_are_not_allowed(void **state)
{
	struct controller *controller = start_steering();
	const struct groups_sink *sink = &controller_sinks(controller)->groups;
	struct cpuset online = topology->all;

	scan(controller, pods, 1);
	cpuset_remove(&online, 9);
	sink->hotplug(sink->self, &online);
	tick(controller, 1);
	expect_request(IRQ_STEER, "2-5", "0-1,6-8,10-15");
	controller_free(controller);
}

static void new_interrupts_are_looked_for(void **state)
{
	struct controller *controller = start_steering();

	tick(controller, 1);
	assert_int_equal(fake_irq.nr_passes, 1);
	controller_wake(controller);
	tick(controller, 9);
	assert_int_equal(fake_irq.nr_passes, 1);
	tick(controller, 1);
	assert_int_equal(fake_irq.nr_passes, 2);
	controller_free(controller);
}

static void nobody_waits_where_nothing_is_steered(void **state)
{
	struct controller *controller = start_with_irqs(INTERRUPTS_LEAVE, MODE_ALLOCATE);

	tick(controller, 60);
	assert_int_equal(fake_irq.nr_passes, 1);
	tick(controller, 1);
	assert_int_equal(fake_irq.nr_passes, 2);
	scan(controller, pods, 1);
	controller_wake(controller);
	assert_int_equal(fake_irq.nr_passes, 3);
	controller_free(controller);
}

static void one_pass_at_a_time(void **state)
{
	struct controller *controller = start_steering();

	fake_irq.is_slow = true;
	tick(controller, 1);
	scan(controller, pods, 1);
	tick(controller, 20);
	assert_int_equal(fake_irq.nr_passes, 1);
	assert_int_equal(nr_findings(controller, "operation_waiting", "the masks of interrupts"),
			 1);
	assert_true(node_has(controller, "a pass over them (in wq_pool_mutex)"));
	assert_true(node_has(controller, "may fire on exclusive CPUs until the pass ends"));
	fake_irq_end();
	tick(controller, 1);
	assert_int_equal(fake_irq.nr_passes, 2);
	expect_request(IRQ_STEER, "2-5", "0-1,6-15");
	controller_free(controller);
}

static void only_steer_and_allocate_change_anything(void **state)
{
	static const struct {
		enum interrupts interrupts;
		enum run_mode mode;
		enum irq_mode wanted;
	} rows[] = {
		{INTERRUPTS_LEAVE, MODE_ALLOCATE, IRQ_RESTORE},
		{INTERRUPTS_LEAVE, MODE_OBSERVE, IRQ_OBSERVE},
		{INTERRUPTS_STEER, MODE_OBSERVE, IRQ_OBSERVE},
		{INTERRUPTS_STEER, MODE_ALLOCATE, IRQ_STEER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct controller *controller = start_with_irqs(rows[i].interrupts, rows[i].mode);

		tick(controller, 1);
		assert_int_equal(fake_irq.request.mode, rows[i].wanted);
		controller_free(controller);
	}
}

static void a_reload_takes_effect(void **state)
{
	struct controller *controller = start_steering();
	char error[256];

	tick(controller, 1);
	changed.interrupts = INTERRUPTS_LEAVE;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	tick(controller, 1);
	assert_int_equal(fake_irq.request.mode, IRQ_RESTORE);
	controller_free(controller);
}

static const char *of_row(struct json_object *rows, const char *irq, const char *key)
{
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(member(row, "irq"), irq))
			return member(row, key);
	}
	return "no row";
}

static void masks_are_shown(void **state)
{
	struct controller *controller = start_steering();
	struct json_object *rows;

	fake_irq.rows = fake_irq_rows;
	fake_irq.nr = ARRAY_SIZE(fake_irq_rows);
	scan(controller, pods, 1);
	tick(controller, 1);
	rows = query(controller, "irq");
	assert_string_equal(of_row(rows, "null", "kind"), "default");
	assert_string_equal(of_row(rows, "null", "fired"), "null");
	assert_string_equal(of_row(rows, "null", "original"), "0-15");
	assert_string_equal(of_row(rows, "null", "exclusive_cpus"), "null");
	assert_string_equal(of_row(rows, "24", "state"), "exclusive");
	assert_string_equal(of_row(rows, "24", "fired"), "7");
	assert_non_null(strstr(of_row(rows, "24", "remedy"), "another process"));
	assert_non_null(strstr(of_row(rows, "25", "remedy"), "isolcpus=managed_irq,2"));
	assert_non_null(strstr(of_row(rows, "27", "remedy"), "requests that CPUs 4 make"));
	assert_string_equal(of_row(rows, "26", "remedy"), "null");
	json_object_put(rows);
	/* The queue that only exclusive CPUs use is the container's own. */
	assert_int_equal(nr_findings(controller, "irqs_on_exclusive_cpus", "2 masks"), 1);
	fake_irq.nr = 1;
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "irqs_on_exclusive_cpus", ""), 0);
	controller_free(controller);
}

static void an_interrupt_without_a_handler_is_named_by_its_number(void **state)
{
	struct controller *controller = start_steering();
	struct irq_row row = fake_irq_rows[1];

	row.name = (char *)"";
	fake_irq.rows = &row;
	fake_irq.nr = 1;
	scan(controller, pods, 1);
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "irqs_on_exclusive_cpus",
				     "the first is of interrupt 24, CPUs 2-5"),
			 1);
	controller_free(controller);
}

/* It is no finding where nobody asked for it, but the remedy is told. */
static void leave_tells_what_would_help(void **state)
{
	struct controller *controller = start_with_irqs(INTERRUPTS_LEAVE, MODE_ALLOCATE);
	struct json_object *rows;

	fake_irq.rows = fake_irq_rows;
	fake_irq.nr = ARRAY_SIZE(fake_irq_rows);
	fake_irq.counts.irqbalance = IRQBALANCE_CONTENDS;
	tick(controller, 1);
	rows = query(controller, "irq");
	assert_non_null(strstr(of_row(rows, "24", "remedy"), "interrupts: steer"));
	json_object_put(rows);
	assert_int_equal(nr_findings(controller, "irqs_on_exclusive_cpus", ""), 0);
	assert_int_equal(nr_findings(controller, "irqbalance_contends", ""), 0);
	controller_free(controller);
}

static void obstacles_are_found(void **state)
{
	struct controller *controller = start_steering();

	scan(controller, pods, 1);
	fake_irq.counts = (struct irq_report){.irqbalance = IRQBALANCE_CONTENDS, .error = -EROFS};
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "irqbalance_contends", "2-5"), 1);
	assert_int_equal(nr_findings(controller, "irq_originals_unusable", "Read-only"), 1);
	fake_irq.counts = (struct irq_report){
		.irqbalance = IRQBALANCE_SPARES, .error = -EBADMSG, .problem = "irqs.json:1:2: no"};
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "irqbalance_contends", ""), 0);
	assert_int_equal(nr_findings(controller, "irq_originals_unusable", "irqs.json:1:2"), 1);
	fake_irq.counts = (struct irq_report){0};
	fake_irq.rows = fake_irq_rows;
	fake_irq.nr = ARRAY_SIZE(fake_irq_rows);
	tick(controller, 10);
	assert_int_equal(nr_rows(controller, "irq"), ARRAY_SIZE(fake_irq_rows));
	fake_irq.result = -EACCES;
	tick(controller, 10);
	assert_int_equal(nr_rows(controller, "irq"), 0);
	assert_int_equal(nr_findings(controller, "irqs_unknown", "Permission denied"), 1);
	fake_irq.result = 0;
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "irqs_unknown", ""), 0);
	assert_int_equal(nr_findings(controller, "irq_originals_unusable", ""), 0);
	fake_irq.error = -ENOMEM;
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "irqs_unknown", "memory"), 1);
	controller_free(controller);
}

static void passes_are_counted(void **state)
{
	struct controller *controller = start_steering();

	fake_irq.rows = fake_irq_rows;
	fake_irq.nr = ARRAY_SIZE(fake_irq_rows);
	fake_irq.counts = (struct irq_report){
		.nr_written = 3, .nr_refused = 2, .nr_failed = 1, .nr_foreign = 4, .nr_fired = 5};
	tick(controller, 11);
	expect_metric(controller, "\npinfold_irq_writes_total{result=\"done\"} 6\n");
	expect_metric(controller, "\npinfold_irq_writes_total{result=\"managed\"} 4\n");
	expect_metric(controller, "\npinfold_irq_writes_total{result=\"failed\"} 2\n");
	expect_metric(controller, "\npinfold_irq_foreign_changes_total 8\n");
	expect_metric(controller, "\npinfold_exclusive_cpu_interrupts_total 10\n");
	expect_metric(controller, "\npinfold_irqs{state=\"steered\"} 1\n");
	expect_metric(controller, "\npinfold_irqs{state=\"exclusive\"} 1\n");
	controller_free(controller);
}

static void without_the_port_there_is_nothing(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	tick(controller, 1);
	assert_int_equal(nr_rows(controller, "irq"), 0);
	controller_free(controller);
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_up_steering, tear_down_pods)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCENE(a_write_by_another_process_begins_a_pass),
		IN_SCENE(a_writer_is_not_blamed_for_what_is_found_later),
		IN_SCENE(passes_become_rarer_for_a_writer_that_goes_on),
		IN_SCENE(masks_follow_the_ledger),
		IN_SCENE(offline_cpus_are_not_allowed),
		IN_SCENE(new_interrupts_are_looked_for),
		IN_SCENE(nobody_waits_where_nothing_is_steered),
		IN_SCENE(one_pass_at_a_time),
		IN_SCENE(only_steer_and_allocate_change_anything),
		IN_SCENE(a_reload_takes_effect),
		IN_SCENE(masks_are_shown),
		IN_SCENE(an_interrupt_without_a_handler_is_named_by_its_number),
		IN_SCENE(leave_tells_what_would_help),
		IN_SCENE(obstacles_are_found),
		IN_SCENE(passes_are_counted),
		IN_SCENE(without_the_port_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
