// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Answers to a container runtime, one by one: to creations that wait for the state file, to many
 * containers, and what each of them changes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/runtime.h"
#include "runtime_answers_scene.h"

/* --- waiting for the state file ----------------------------------------------------------------- */

static void creations_that_wait_are_answered_in_their_order(void **state)
{
	struct controller *controller = start_recorded();

	fake->slow_save = true;
	ask(controller, 11, "a", "excl-a", 4000);
	ask(controller, 12, "b", "excl-b", 2000);
	ask(controller, 13, "c", "excl-c", 4000);
	assert_int_equal(nr_answers, 0);
	end_all_saves(controller, 0);
	assert_int_equal(nr_answers, 3);
	expect_answer(0, 11, "2-5", "");
	expect_answer(1, 12, "6-7", "");
	expect_answer(2, 13, "8-11", "");
	assert_string_equal(pod_member(controller, "c", "held"), "8-11");
	controller_free(controller);
}

static void creations_that_wait_are_denied_if_the_save_fails(void **state)
{
	struct controller *controller = start_recorded();

	fake->slow_save = true;
	ask(controller, 11, "a", "excl-a", 4000);
	ask(controller, 12, "b", "excl-b", 2000);
	fake_end_save(controller, -EIO);
	assert_int_equal(nr_answers, 2);
	expect_denial(0, 11, "the state file cannot be written: Input/output error");
	expect_denial(1, 12, "the state file cannot be written: Input/output error");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

/* If the operator prefers that, the container is not denied for the state file either. */
static void creations_that_wait_may_share_if_the_save_fails(void **state)
{
	struct controller *controller;

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start_recorded();
	fake->slow_save = true;
	ask(controller, 11, "a", "c1", 4000);
	fake_end_save(controller, -EIO);
	assert_int_equal(nr_answers, 1);
	expect_answer(0, 11, "2-15", "");
	/* It is followed like others. */
	end_all_saves(controller, 0);
	fake->slow_save = false;
	ask(controller, 12, "b", "excl-1", 4000);
	expect_answer(1, 12, "2-5", "c1=6-15 ");
	controller_free(controller);
}

static void who_still_waits_at_the_end_is_not_answered(void **state)
{
	struct controller *controller = start_recorded();

	fake->slow_save = true;
	ask(controller, 11, "a", "excl-a", 4000);
	ask(controller, 12, "b", "excl-b", 2000);
	controller_free(controller);
	assert_int_equal(nr_answers, 0);
}

static struct controller *ending;

static int write_down_and_end(void *self, uint32_t request, const struct runtime_answer *answer)
{
	write_down(self, request, answer);
	sink_of(ending)->ended(ending);
	return 0;
}

/* The connection may end while the first of them is answered. */
static void who_waits_at_the_end_of_a_session_is_not_answered(void **state)
{
	static const struct runtime_port port_that_ends = {.answer = write_down_and_end};

	nr_answers = 0;
	scene_runtime = &port_that_ends;
	ending = start_controller();
	fake->slow_save = true;
	ask(ending, 11, "a", "excl-a", 4000);
	ask(ending, 12, "b", "excl-b", 2000);
	fake_end_save(ending, -EIO);
	assert_int_equal(nr_answers, 1);
	expect_denial(0, 11, "the state file cannot be written");
	controller_free(ending);
}

static void only_so_many_creations_wait(void **state)
{
	struct controller *controller = start_recorded();
	char uid[16], id[16];

	fake->slow_save = true;
	for (uint32_t i = 0; i < RUNTIME_MAX_WAITING; i++) {
		snprintf(uid, sizeof(uid), "p%u", i);
		snprintf(id, sizeof(id), "excl-%u", i);
		ask(controller, i, uid, id, 1000);
	}
	assert_int_equal(nr_answers, 0);
	ask(controller, 1000, "late", "excl-late", 1000);
	assert_int_equal(nr_answers, 1);
	expect_denial(0, 1000, "Device or resource busy");
	end_all_saves(controller, 0);
	assert_int_equal(nr_answers, 1 + RUNTIME_MAX_WAITING);
	/* CPUs 2 to 15 */
	expect_answer(14, 13, "15", "");
	expect_denial(15, 14, "only 0 are free");
	controller_free(controller);
}

/* --- many containers ---------------------------------------------------------------------------- */

#define MANY 100

static void everybody_who_shares_shrinks(void **state)
{
	struct controller *controller = start_recorded();
	char uid[16], id[16], wanted[32];

	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(uid, sizeof(uid), "p%u", i);
		snprintf(id, sizeof(id), "c%u", i);
		ask(controller, i, uid, id, 10 + i % 2);
		expect_answer(i, i, "2-15", "");
	}
	ask(controller, 500, "excl", "excl-1", 4000);
	assert_string_equal(answers[MANY].cpus, "2-5");
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(wanted, sizeof(wanted), "c%u=6-15 ", i);
		assert_non_null(strstr(answers[MANY].changes, wanted));
	}
	/* Each is told once. */
	sink_of(controller)->stopped(controller, 501, "c0");
	expect_answer(MANY + 1, 501, "", "");
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(uid, sizeof(uid), "p%u", i);
		sink_of(controller)->pod_stopped(controller, uid);
	}
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
}

/* --- who is told what --------------------------------------------------------------------------- */

static void who_has_ended_is_not_told_anything(void **state)
{
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "c1", 500);
	ask(controller, 2, "b", "c2", 500);
	ask(controller, 3, "d", "c3", 500);
	sink_of(controller)->pod_stopped(controller, "a");
	sink_of(controller)->removed(controller, "c2");
	ask(controller, 4, "x", "excl-1", 4000);
	expect_answer(3, 4, "2-5", "c3=6-15 ");
	controller_free(controller);
}

static void only_the_container_that_is_updated_is_told_again(void **state)
{
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "c1", 500);
	ask(controller, 2, "b", "excl-1", 4000);
	update_otherwise(controller, 3, "excl-1");
	expect_answer(2, 3, "", "excl-1=2-5 ");
	update_otherwise(controller, 4, "c1");
	expect_answer(3, 4, "", "c1=6-15 ");
	update_otherwise(controller, 5, "unknown");
	expect_answer(4, 5, "", "");
	controller_free(controller);
}

/* The part of its id that would fit may be another container's. */
static void who_has_an_id_that_is_too_long_shares_and_is_told_nothing(void **state)
{
	char id[RUNTIME_ID_MAX + 1] = "";
	struct controller *controller;

	memset(id, 'x', RUNTIME_ID_MAX);
	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start_recorded();
	ask(controller, 1, "a", id, 500);
	expect_answer(0, 1, "2-15", "");
	ask(controller, 2, "b", "excl-1", 4000);
	expect_answer(1, 2, "2-5", "");
	controller_free(controller);
}

/* An empty list would not take them away. */
static void who_has_no_cpu_online_keeps_what_it_has(void **state)
{
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 4000);
	ask(controller, 2, "b", "c1", 500);
	tell_online(controller, "0-1,6-12");
	sink_of(controller)->stopped(controller, 3, "none");
	expect_answer(2, 3, "", "c1=6-12 ");
	update_otherwise(controller, 4, "excl-1");
	expect_answer(3, 4, "", "");
	/* It has them again, without being told. */
	tell_online(controller, "0-1,3-12");
	tell_online(controller, "0-15");
	sink_of(controller)->stopped(controller, 5, "none");
	expect_answer(4, 5, "", "c1=6-15 ");
	update_otherwise(controller, 6, "excl-1");
	expect_answer(5, 6, "", "excl-1=2-5 ");
	controller_free(controller);
}

/* Only that of the updated container waits for the event which says that it has been carried out. */
static void changes_of_others_are_told_once_with_an_update(void **state)
{
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 2000);
	ask(controller, 2, "b", "c1", 500);
	resize(controller, "a", "main", "excl-1", 4000);
	assert_string_equal(answers[2].changes, "c1=6-15 excl-1=2-5 ");
	/* The runtime does not say that it has done this. */
	update_otherwise(controller, 4, "c1");
	expect_answer(3, 4, "", "excl-1=2-5 c1=6-15 ");
	sink_of(controller)->stopped(controller, 5, "none");
	expect_answer(4, 5, "", "");
	controller_free(controller);
}

/* The update does not change its CPUs, so nobody has to wait for its end. */
static void cpus_that_nobody_else_shared_become_its_own_at_once(void **state)
{
	struct controller *controller;

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start_recorded();
	ask(controller, 1, "b", "excl-b", 10000);
	fake->slow_save = true;
	ask(controller, 2, "a", "c1", 4000);
	fake_end_save(controller, -EIO);
	expect_answer(1, 2, "4-7", "");
	end_all_saves(controller, 0);
	fake->slow_save = false;
	resize(controller, "a", "main", "c1", 4000);
	assert_string_equal(answers[2].changes, "c1=4-7 ");
	/* As an owner it keeps them while they are offline; whoever shares would get others. */
	sink_of(controller)->removed(controller, "excl-b");
	tell_online(controller, "0-3,8-15");
	sink_of(controller)->stopped(controller, 4, "none");
	expect_answer(3, 4, "", "");
	controller_free(controller);
}

/* A runtime may create it anew. It is on the shared pool then, and leaves the CPUs that others get. */
static void who_is_created_while_its_cpus_are_offline_shares_like_others(void **state)
{
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 4000);
	expect_answer(0, 1, "2-5", "");
	tell_online(controller, "0-1,6-15");
	ask(controller, 2, "a", "excl-1", 4000);
	expect_answer(1, 2, "6-15", "");
	ask(controller, 3, "b", "excl-2", 4000);
	expect_answer(2, 3, "6-9", "excl-1=10-15 ");
	controller_free(controller);
}

/* Who shares leaves CPUs before an owner gets any, and before its own are stated again. */
static void an_owner_is_changed_after_those_that_share(void **state)
{
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 2000);
	ask(controller, 2, "b", "c1", 500);
	tell_online(controller, "0-14");
	update_otherwise(controller, 3, "excl-1");
	expect_answer(2, 3, "", "c1=4-14 excl-1=2-3 ");
	tell_online(controller, "0-15");
	/* The runtime does not say that it has done this, so the next answer repeats it. */
	resize(controller, "a", "main", "excl-1", 6000);
	assert_string_equal(answers[3].changes, "c1=8-15 excl-1=2-7 ");
	ask(controller, 5, "d", "excl-2", 4000);
	expect_answer(4, 5, "8-11", "c1=12-15 excl-1=2-7 ");
	controller_free(controller);
}

/* --- sandboxes ---------------------------------------------------------------------------------- */

/* Otherwise an agent that is restarted would hold the CPUs until the next session. */
static void the_end_of_containers_and_pods_is_saved(void **state)
{
	struct controller *controller = start_recorded();

	ask_in(controller, 1, "a", "a", "main", "excl-1", 4000);
	ask_in(controller, 2, "a", "a", "log", "c1", 500);
	ask(controller, 3, "b", "excl-2", 2000);
	sink_of(controller)->removed(controller, "excl-2");
	sink_of(controller)->removed(controller, "excl-1");
	controller_free(controller);
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(pod_member(controller, "a", "held"), "");
	controller_free(controller);
}

/* A sandbox that was restarted is another one of the same pod. */
static void a_pod_ends_with_its_last_sandbox(void **state)
{
	struct controller *controller = start_recorded();

	ask_in(controller, 1, "sandbox-1", "a", "main", "excl-1", 4000);
	ask_in(controller, 2, "sandbox-1", "a", "log", "excl-2", 2000);
	ask_in(controller, 3, "other", "b", "main", "excl-3", 2000);
	ask_in(controller, 4, "sandbox-2", "a", "main", "excl-1b", 4000);
	expect_answer(3, 4, "2-5", "");
	sink_of(controller)->pod_stopped(controller, "sandbox-1");
	assert_string_equal(pod_member(controller, "a", "held"), "2-7");
	sink_of(controller)->pod_stopped(controller, "other");
	assert_string_equal(pod_member(controller, "a", "held"), "2-7");
	assert_string_equal(pod_member(controller, "b", "held"), "");
	sink_of(controller)->pod_stopped(controller, "sandbox-2");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(creations_that_wait_are_answered_in_their_order),
		TEST(creations_that_wait_are_denied_if_the_save_fails),
		TEST(creations_that_wait_may_share_if_the_save_fails),
		TEST(who_still_waits_at_the_end_is_not_answered),
		TEST(who_waits_at_the_end_of_a_session_is_not_answered),
		TEST(only_so_many_creations_wait),
		TEST(everybody_who_shares_shrinks),
		TEST(who_has_ended_is_not_told_anything),
		TEST(only_the_container_that_is_updated_is_told_again),
		TEST(who_has_an_id_that_is_too_long_shares_and_is_told_nothing),
		TEST(who_has_no_cpu_online_keeps_what_it_has),
		TEST(changes_of_others_are_told_once_with_an_update),
		TEST(cpus_that_nobody_else_shared_become_its_own_at_once),
		TEST(who_is_created_while_its_cpus_are_offline_shares_like_others),
		TEST(an_owner_is_changed_after_those_that_share),
		TEST(the_end_of_containers_and_pods_is_saved),
		TEST(a_pod_ends_with_its_last_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
