// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What an operator is told of masks that reach exclusive CPUs, and what to do about them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_irq.h"
#include "ctl/irq.h"
#include "node_scene.h"

static struct config changed;
static struct pod_spec *pod;

static struct controller *start_with_irqs(enum interrupts interrupts, enum run_mode mode)
{
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &groups,
					       .kernel = &fake_side_port,
					       .store = &fake_store,
					       .irq = &fake_irq_port};
	struct controller *controller = NULL;
	char error[256] = "";

	changed = config;
	changed.enforcement.irq_masks = ENFORCEMENT_ENFORCE;
	changed.interrupts = interrupts;
	changed.mode = mode;
	options.config = &changed;
	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	fake_irq.sink = &controller_sinks(controller)->irq;
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

/* CPUs 2-5 are exclusive. */
static struct controller *start_steering(void)
{
	struct controller *controller = start_with_irqs(INTERRUPTS_STEER, MODE_ALLOCATE);

	scan(controller, &pod, 1);
	return controller;
}

static int set_up_steering(void **state)
{
	memset(&fake_irq, 0, sizeof(fake_irq));
	pod = fake_pod("a", "exclusive", 4000, true);
	return set_up_node(state);
}

static int tear_down_steering(void **state)
{
	pod_spec_free(pod);
	return tear_down(state);
}

static void pass_after(struct controller *controller, unsigned int seconds)
{
	fake->now_ns += seconds * S;
	controller_tick(controller);
}

/* The first finding of this name is said so, with this to do. */
static void expect_finding(struct controller *controller, const char *name, const char *message,
			   const char *remedy)
{
	struct json_object *node = query(controller, "node");
	struct json_object *rows = json_object_object_get(node, "findings");
	bool is_found = false;

	for (size_t i = 0; i < json_object_array_length(rows) && !is_found; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		is_found = !strcmp(member(row, "name"), name);
		if (!is_found)
			continue;
		assert_string_equal(member(row, "message"), message);
		assert_string_equal(member(row, "remedy"), remedy);
	}
	assert_true(is_found);
	json_object_put(node);
}

static void expect_remedy(struct controller *controller, const char *wanted)
{
	struct json_object *rows = query(controller, "irq");

	assert_int_equal(json_object_array_length(rows), 1);
	assert_string_equal(member(json_object_array_get_idx(rows, 0), "remedy"), wanted);
	json_object_put(rows);
}

static void a_pass_knows_the_machine(void **state)
{
	struct controller *controller = start_with_irqs(INTERRUPTS_STEER, MODE_ALLOCATE);
	struct cpuset online = topology->all;

	cpuset_remove(&online, 9);
	tell_online(controller, "0-8,10-15");
	pass_after(controller, 1);
	assert_ptr_equal(fake_irq.request.cpus.topology, topology);
	assert_true(cpuset_equal(&fake_irq.request.cpus.online, &online));
	controller_free(controller);
}

/* Nothing else changes with it, because the pod's CPUs are offline. */
static void fewer_exclusive_cpus_are_a_reason_to_look(void **state)
{
	struct controller *controller = start_steering();
	unsigned int nr_before;

	tell_online(controller, "0-1,6-15");
	controller_wake(controller);
	pass_after(controller, 10);
	nr_before = fake_irq.nr_passes;
	assert_int_equal(cpuset_count(&fake_irq.request.cpus.exclusive), 4);
	scan(controller, NULL, 0);
	pass_after(controller, 1);
	assert_int_equal(fake_irq.nr_passes, nr_before + 1);
	assert_int_equal(cpuset_count(&fake_irq.request.cpus.exclusive), 0);
	controller_free(controller);
}

static void masks_on_exclusive_cpus_are_a_finding(void **state)
{
	static const char remedy[] =
		"another process changes this mask; see 'pinfold event show kind irq' for who "
		"does";
	struct controller *controller = start_steering();
	struct irq_row rows[2] = {fake_irq_rows[1], fake_irq_rows[1]};

	fake_irq.rows = rows;
	fake_irq.nr = 1;
	/* Of all its CPUs, but nothing says that it serves only them. */
	rows[0].affinity = (char *)"3";
	rows[0].exclusive = (char *)"3";
	pass_after(controller, 10);
	expect_finding(controller, "irqs_on_exclusive_cpus",
		       "1 mask of interrupts or kernel work reaches exclusive CPUs; the first is "
		       "of nic, CPUs 3",
		       remedy);
	expect_remedy(controller, remedy);
	fake_irq.nr = 2;
	pass_after(controller, 10);
	expect_finding(controller, "irqs_on_exclusive_cpus",
		       "2 masks of interrupts or kernel work reach exclusive CPUs; the first is of "
		       "nic, CPUs 3",
		       remedy);
	controller_free(controller);
}

static void a_mask_that_audit_leaves_is_told_with_the_option(void **state)
{
	struct controller *controller = start_steering();

	changed.enforcement.irq_masks = ENFORCEMENT_AUDIT;
	fake_irq.rows = &fake_irq_rows[1];
	fake_irq.nr = 1;
	pass_after(controller, 1);
	assert_int_equal(fake_irq.request.masks, ENFORCEMENT_AUDIT);
	expect_remedy(controller, "another process changed this mask; set 'enforcement: "
				  "{irqMasks: enforce}' to have it set back");
	controller_free(controller);
}

static void a_refused_mask_is_told_with_its_error(void **state)
{
	struct controller *controller = start_steering();
	struct irq_row row = fake_irq_rows[1];

	row.error = -EIO;
	fake_irq.rows = &row;
	fake_irq.nr = 1;
	pass_after(controller, 10);
	expect_remedy(controller,
		      "the kernel refused CPUs 0-1,6-15 (Input/output error); the agent "
		      "tries again");
	controller_free(controller);
}

static void an_observer_tells_what_to_do(void **state)
{
	struct controller *controller = start_with_irqs(INTERRUPTS_STEER, MODE_OBSERVE);

	fake_irq.rows = &fake_irq_rows[1];
	fake_irq.nr = 1;
	pass_after(controller, 60);
	expect_remedy(controller, "restrict it to CPUs 0-15; mode observe changes nothing");
	controller_free(controller);
}

static void irqbalance_is_told_the_cpus_to_spare(void **state)
{
	struct controller *controller = start_steering();

	fake_irq.counts.irqbalance = IRQBALANCE_CONTENDS;
	pass_after(controller, 10);
	expect_finding(controller, "irqbalance_contends",
		       "irqbalance runs and may move interrupts to the exclusive CPUs 2-5; what it "
		       "moves there is not moved back",
		       "set IRQBALANCE_BANNED_CPULIST to all CPUs that may become exclusive, now "
		       "2-5, in the environment of irqbalance and restart it, or stop irqbalance");
	snprintf(fake_irq.counts.irqbalance_problem, sizeof(fake_irq.counts.irqbalance_problem),
		 "its socket refuses");
	pass_after(controller, 10);
	assert_int_equal(nr_findings(controller, "irqbalance_contends",
				     "CPUs 2-5, because its socket refuses; what it moves"),
			 1);
	fake_irq.counts.irqbalance_error = -EPIPE;
	pass_after(controller, 10);
	assert_int_equal(nr_findings(controller, "irqbalance_not_released", "Broken pipe"), 1);
	fake_irq.counts.irqbalance_error = 0;
	pass_after(controller, 10);
	assert_int_equal(nr_findings(controller, "irqbalance_not_released", ""), 0);
	controller_free(controller);
}

static void a_mask_that_spares_them_needs_nothing(void **state)
{
	struct controller *controller = start_steering();
	char text[ROW_DETAIL_MAX] = "what was there before";

	ctl_irq_remedy(controller, &fake_irq_rows[3], text, sizeof(text));
	assert_string_equal(text, "");
	controller_free(controller);
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_up_steering, tear_down_steering)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCENE(a_pass_knows_the_machine),
		IN_SCENE(fewer_exclusive_cpus_are_a_reason_to_look),
		IN_SCENE(masks_on_exclusive_cpus_are_a_finding),
		IN_SCENE(a_mask_that_audit_leaves_is_told_with_the_option),
		IN_SCENE(a_refused_mask_is_told_with_its_error),
		IN_SCENE(an_observer_tells_what_to_do),
		IN_SCENE(irqbalance_is_told_the_cpus_to_spare),
		IN_SCENE(a_mask_that_spares_them_needs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
