// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What containers had counted when they ended, against a sum that is made naively. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/fake_world.h"
#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "random.h"

#define NR_PODS	      40
#define NR_CONTAINERS 60
#define ROUNDS	      300

static struct controller controller;
static struct topology *topology;
static uint64_t run_ns[NR_PODS];
static bool is_there[NR_PODS];

static void uid_of(uint32_t pod, char uid[16])
{
	snprintf(uid, 16, "uid-%04u", pod);
}

static void put_pod(uint32_t pod, bool wanted)
{
	char name[16], uid[16];

	snprintf(name, sizeof(name), "%04u", pod);
	uid_of(pod, uid);
	assert_int_equal(ledger_begin(controller.ledger), 0);
	if (wanted) {
		struct pod_spec *spec = fake_pod(name, "main", 100, false);

		assert_non_null(ledger_new_pod(controller.ledger, spec));
		pod_spec_free(spec);
	} else {
		assert_int_equal(ledger_remove(controller.ledger, uid), 0);
	}
	ledger_commit(controller.ledger);
	is_there[pod] = wanted;
}

/* As a look has them; several have the same pod, and in some rows nothing was read. */
static void look(struct chance *chance)
{
	uint64_t id = 0;

	controller.counters.nr = chance_below(chance, NR_CONTAINERS + 1);
	for (uint32_t i = 0; i < controller.counters.nr; i++) {
		const bool is_read = chance_below(chance, 10);
		char uid[16];

		uid_of(chance_below(chance, NR_PODS), uid);
		id += 1 + chance_below(chance, 3);
		controller.counters.rows[i] =
			(struct counted){.cgroup_id = id,
					 .pod = ctl_pod_number(uid),
					 .has_usage = is_read,
					 .has_latency = is_read,
					 .usage = {.run_local_ns = 1 + chance_below(chance, 99)}};
	}
}

/* Most of them, in another order; and groups that no look has seen. */
static void publish(struct chance *chance)
{
	uint32_t nr = 0;

	for (uint32_t i = controller.counters.nr; i-- > 0;)
		if (chance_below(chance, 3))
			controller.publisher.rows[nr++].managed.cgroup_id =
				controller.counters.rows[i].cgroup_id;
	controller.publisher.rows[nr++].managed.cgroup_id = 1000000;
	controller.publisher.nr = nr;
}

static bool is_published(uint64_t cgroup_id)
{
	for (uint32_t i = 0; i < controller.publisher.nr; i++)
		if (controller.publisher.rows[i].managed.cgroup_id == cgroup_id)
			return true;
	return false;
}

static void expect(void)
{
	for (uint32_t pod = 0; pod < NR_PODS; pod++) {
		char uid[16];

		uid_of(pod, uid);
		for (uint32_t i = 0; i < controller.counters.nr; i++) {
			const struct counted *row = &controller.counters.rows[i];

			if (row->has_latency && row->pod == ctl_pod_number(uid) &&
			    !is_published(row->cgroup_id))
				run_ns[pod] += row->usage.run_local_ns;
		}
		if (!is_there[pod])
			run_ns[pod] = 0;
	}
}

static void check(void)
{
	for (uint32_t pod = 0; pod < NR_PODS; pod++) {
		const struct ended_pod *ended;
		char uid[16];

		uid_of(pod, uid);
		ended = ctl_ended(&controller, uid);
		assert_int_equal(ended ? ended->usage.run_local_ns : 0, run_ns[pod]);
	}
	for (uint32_t i = 1; i < controller.ended.nr; i++)
		assert_true(controller.ended.rows[i - 1].pod < controller.ended.rows[i].pod);
}

static void each_container_is_kept_once(void **state)
{
	struct chance chance = {7};

	for (int round = 0; round < ROUNDS; round++) {
		const uint32_t pod = chance_below(&chance, NR_PODS);

		put_pod(pod, !is_there[pod]);
		look(&chance);
		publish(&chance);
		expect();
		ctl_keep_ended(&controller);
		check();
		/* the next publication comes before the next look */
		ctl_keep_ended(&controller);
		check();
	}
}

static uint32_t nr_unmeasured;

static int tell_space(void *self, struct observer_space *ret_space)
{
	*ret_space = (struct observer_space){.nr_unmeasured = nr_unmeasured};
	return 0;
}

/* The second container has no slot any more. */
static int tell_latency(void *self, uint64_t cgroup_id, struct latency *ret_latency)
{
	*ret_latency = (struct latency){0};
	return cgroup_id == 2 ? -ENOENT : 0;
}

/* It may get one again, where it begins with 0, or may end without one. */
static void who_gives_up_its_slot_is_kept_like_one_that_has_ended(void **state)
{
	static const struct kernel_port port = {.observer_space = tell_space,
						.latency = tell_latency};

	controller.ports.kernel = &port;
	put_pod(1, true);
	for (uint32_t i = 0; i < 2; i++) {
		controller.counters.rows[i] = (struct counted){.cgroup_id = i + 1,
							       .pod = ctl_pod_number("uid-0001"),
							       .has_usage = true,
							       .has_latency = true,
							       .usage = {.run_local_ns = 10 + i}};
		controller.publisher.rows[i].managed.cgroup_id = i + 1;
	}
	controller.counters.nr = controller.publisher.nr = 2;
	/* as long as there are slots for all, nobody asks */
	nr_unmeasured = 0;
	ctl_keep_ended(&controller);
	assert_null(ctl_ended(&controller, "uid-0001"));
	nr_unmeasured = 1;
	for (int i = 0; i < 2; i++) {
		ctl_keep_ended(&controller);
		assert_non_null(ctl_ended(&controller, "uid-0001"));
		assert_int_equal(ctl_ended(&controller, "uid-0001")->usage.run_local_ns, 11);
	}
	controller.ports.kernel = NULL;
}

static int set_up(void **state)
{
	static struct policy policy = {.cpu = CPU_POLICY_STATIC, .reserved_mcpu = 2000};
	char error[256];

	topology = fake_machine(1, 8, 2);
	controller.counters.rows = calloc(NR_CONTAINERS, sizeof(*controller.counters.rows));
	controller.publisher.rows = calloc(NR_CONTAINERS + 1, sizeof(*controller.publisher.rows));
	return ledger_new(topology, &policy, error, sizeof(error), &controller.ledger);
}

static int tear_down(void **state)
{
	ledger_free(controller.ledger);
	ended_fini(&controller.ended);
	free(controller.counters.rows);
	free(controller.publisher.rows);
	topology_free(topology);
	memset(&controller, 0, sizeof(controller));
	memset(is_there, 0, sizeof(is_there));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_container_is_kept_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_gives_up_its_slot_is_kept_like_one_that_has_ended, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
