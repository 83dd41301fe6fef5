// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Hundreds of pods of a runtime live and die: no step gives a container a CPU of an exclusive one, and
 * afterwards the controller has as much of them as before, in its tables and on the heap.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "lib/log.h"
#include "runtime_scene.h"

static void begin_pod(struct controller *controller, unsigned int number)
{
	/* The first one shares, the others have one or two CPUs of their own. */
	const int64_t mcpu = number % 3 ? number % 3 * 1000 : 500;
	char uid[16], id[32];

	snprintf(uid, sizeof(uid), "pod%u", number);
	snprintf(id, sizeof(id), "%s-%u", number % 3 ? "excl" : "burst", number);
	assert_true(create(controller, uid, "main", id, mcpu));
	assert_string_equal(node.refusal, "");
	assert_apart();
}

static void end_pod(struct controller *controller, unsigned int number)
{
	char uid[16], id[32];

	snprintf(uid, sizeof(uid), "pod%u", number);
	snprintf(id, sizeof(id), "%s-%u", number % 3 ? "excl" : "burst", number);
	stop(controller, id);
	assert_apart();
	remove_container(controller, id);
	sink_of(controller)->pod_stopped(controller, uid);
	sink_of(controller)->pod_stopped(controller, uid);
}

/* Six live at a time. */
static void churn(struct controller *controller, unsigned int first, unsigned int nr)
{
	for (unsigned int i = first; i < first + nr; i++) {
		begin_pod(controller, i);
		if (i >= first + 5)
			end_pod(controller, i - 5);
		controller_wake(controller);
		fake->now_ns += 1000000000;
		controller_tick(controller);
	}
	for (unsigned int i = first + nr - 5; i < first + nr; i++)
		end_pod(controller, i);
	for (int i = 0; i < 5; i++) {
		fake->now_ns += 1000000000;
		controller_wake(controller);
		controller_tick(controller);
	}
}

static void assert_empty(const struct controller *controller)
{
	const struct runtimes *runtimes = &controller->runtimes;

	assert_int_equal(ledger_nr_pods(controller->ledger), 0);
	assert_int_equal(cpuset_count(ledger_shared_pool(controller->ledger)), 14);
	assert_int_equal(runtimes->nr_rows, 0);
	assert_int_equal(runtimes->nr_sandboxes, 0);
	assert_int_equal(runtimes->nr_waiting, 0);
	assert_int_equal(node.nr, 0);
}

static void pods_that_ended_leave_nothing(void **state)
{
	struct controller *controller = start();
	size_t used;

	/* Long enough for the log of events to be full. */
	churn(controller, 0, 600);
	assert_empty(controller);
	malloc_trim(0);
	used = mallinfo2().uordblks;
	churn(controller, 600, 600);
	assert_empty(controller);
	/* Texts of events differ in length. */
	assert_true(mallinfo2().uordblks <= used + 64 * 1024);
	print_message("%zu bytes in use after 600 pods, %zu after 1200\n", used,
		      mallinfo2().uordblks);
	controller_free(controller);
}

/* Those of the pods that live when the agent connects again are the only ones that it has. */
static void a_new_session_keeps_none_of_the_old(void **state)
{
	struct controller *controller = start();

	churn(controller, 0, 30);
	begin_pod(controller, 1000);
	begin_pod(controller, 1001);
	sink_of(controller)->ended(controller);
	node.nr = 0;
	synchronize(controller, NULL, 0, NULL, 0);
	assert_empty(controller);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pods_that_ended_leave_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_new_session_keeps_none_of_the_old, set_up,
						tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
