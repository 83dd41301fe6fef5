// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/*
 * The answers to the requests of a runtime, their time limits, and the updates that the
 * agent asks for itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nri_session_scene.h"

static void an_answer_may_come_later_and_in_any_order(void **state)
{
	const struct nri_adjustment adjustment = {"2-3", "0", {0}};
	const struct nri_update update = {"d", "1", "", true};
	struct scene *scene = *state;
	uint32_t first;

	scene->keeps_requests = true;
	call_create(scene, 0);
	first = scene->request;
	call_create(scene, 0);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){.refusal = "full"}),
			 0);
	hear(scene);
	logged(scene, "create p/c\ncreate p/c\nanswer 7: code 9 full\n");
	assert_int_equal(nri_session_answer(scene->session, first,
					    &(struct nri_answer){.adjustment = &adjustment,
								 .updates = &update,
								 .nr_updates = 1}),
			 0);
	hear(scene);
	logged(scene, "answer 5: 0a 0e 32 0c 12 0a 12 08 32 03 32 2d 33 3a 01 30"
		      " 12 0e 0a 01 64 12 07 0a 05 12 03 32 01 31 18 01\n");
}

static void an_answer_fits_its_request(void **state)
{
	const struct nri_adjustment adjustment = {"2-3", "", {0}};
	struct scene *scene = *state;
	Nri__ContainerRequest request = NRI__CONTAINER_REQUEST__INIT;

	scene->keeps_requests = true;
	request.pod = &pod_p;
	request.container = &container_c;
	call(scene, "UpdateContainer", &request.base);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){.adjustment = &adjustment}),
			 -EINVAL);
	assert_int_equal(nri_session_answer(scene->session, 4711, &(struct nri_answer){0}),
			 -ENOENT);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){.refusal = "caf\xc3\xa9"}),
			 0);
	hear(scene);
	logged(scene, "update p/c cpus=''\nanswer 5: code 9 caf??\n");
}

static void too_long_an_answer_leaves_the_request_unanswered(void **state)
{
	char *cpus = malloc((4U << 20) + 1);
	const struct nri_adjustment adjustment = {cpus, "", {0}};
	struct scene *scene = *state;

	assert_non_null(cpus);
	memset(cpus, '1', 4U << 20);
	cpus[4U << 20] = '\0';
	scene->keeps_requests = true;
	call_create(scene, 0);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){.adjustment = &adjustment}),
			 -EMSGSIZE);
	free(cpus);
	answer_nothing(scene, scene->request);
	assert_int_equal(
		nri_session_answer(scene->session, scene->request, &(struct nri_answer){0}), 0);
}

static void unread_answers_have_a_limit(void **state)
{
	const size_t size = 3U << 20;
	char *cpus = malloc(size + 1);
	const struct nri_adjustment adjustment = {cpus, "", {0}};
	const struct nri_answer answer = {.adjustment = &adjustment};
	struct scene *scene = *state;

	assert_non_null(cpus);
	memset(cpus, '1', size);
	cpus[size] = '\0';
	scene->keeps_requests = true;
	for (unsigned int i = 0; i < 3; i++) {
		call_create(scene, 0);
		assert_int_equal(nri_session_answer(scene->session, scene->request, &answer),
				 i < 2 ? 0 : -ENOBUFS);
	}
	free(cpus);
}

/* --- time ---------------------------------------------------------------------------------- */

static void an_answer_in_time_keeps_the_session(void **state)
{
	struct scene *scene = *state;

	call_create(scene, 2 * SECOND);
	assert_true(nri_session_deadline(scene->session) == NOW + 2 * SECOND);
	assert_int_equal(hear_at(scene, NOW + 2 * SECOND), 0);
	assert_true(nri_session_deadline(scene->session) == UINT64_MAX);
	assert_int_equal(nri_session_check(scene->session, NOW + 1000 * SECOND), 0);
}

static void a_late_answer_ends_the_session(void **state)
{
	struct scene *scene = *state;

	call_create(scene, 2 * SECOND);
	assert_int_equal(hear_at(scene, NOW + 2 * SECOND + 1), -ETIMEDOUT);
	ended(scene, -ETIMEDOUT, "an answer was not sent before the runtime's timeout");
}

/* Only the last byte of an answer counts. */
static void an_answer_that_leaves_in_part_is_late(void **state)
{
	struct scene *scene = *state;
	size_t len;

	call_create(scene, 2 * SECOND);
	nri_session_output(scene->session, &len);
	assert_int_equal(nri_session_sent(scene->session, len - 1, NOW + SECOND), 0);
	assert_int_equal(nri_session_sent(scene->session, 1, NOW + 3 * SECOND), -ETIMEDOUT);
}

static void no_answer_at_all_ends_the_session(void **state)
{
	struct scene *scene = *state;

	scene->keeps_requests = true;
	call_create(scene, 2 * SECOND);
	assert_int_equal(nri_session_check(scene->session, NOW + 2 * SECOND), 0);
	assert_int_equal(nri_session_check(scene->session, NOW + 2 * SECOND + 1), -ETIMEDOUT);
}

/* However short it is, it is not over before it began. */
static void the_shortest_timeout_is_kept(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call_create(scene, 1), 0);
	assert_int_equal(hear(scene), 0);
}

/* The runtime has given up already. It is answered all the same. */
static void a_negative_timeout_has_expired(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call_create(scene, -5), 0);
	assert_int_equal(hear(scene), -ETIMEDOUT);
	logged(scene, "create p/c\nanswer 5:\n");
}

static void no_timeout_and_a_huge_one_never_expire(void **state)
{
	struct scene *scene = *state;

	call_create(scene, 0);
	assert_true(nri_session_deadline(scene->session) == UINT64_MAX);
	call_create(scene, INT64_MAX);
	assert_true(nri_session_deadline(scene->session) > NOW + 1000 * SECOND);
	assert_int_equal(hear_at(scene, NOW + 1000 * SECOND), 0);
}

/* --- our own calls -------------------------------------------------------------------------- */

static const struct nri_update one_update = {"c", "1", "", false};

static void an_update_is_refused_where_it_can_deadlock(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), -EOPNOTSUPP);
}

static void an_update_needs_a_session_that_is_ready(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), -ENOTCONN);
}

static void the_versions_with_the_fix_are_known(void **state)
{
	static const struct {
		const char *version;
		int expected;
	} rows[] = {{"0.12.1", 0},	   {"v0.12.1", 0},
		    {"0.12.2-rc.1", 0},	   {"0.13", 0},
		    {"1.0.0", 0},	   {"0.12.0", -EOPNOTSUPP},
		    {"0.12", -EOPNOTSUPP}, {"0.9.9", -EOPNOTSUPP},
		    {"1", -EOPNOTSUPP},	   {"unknown", -EOPNOTSUPP}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene *scene;

		set_up_version(state, rows[i].version, true);
		scene = *state;
		assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW),
				 rows[i].expected);
		tear_down(state);
	}
}

static void an_update_ends_with_its_response(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), -EBUSY);
	hear(scene);
	assert_int_equal(respond(scene, 5, 0, NULL), 0); /* not ours yet */
	logged(scene, "");
	assert_int_equal(respond(scene, 3, 0, NULL), 0);
	assert_int_equal(respond(scene, 3, 2, "again"), 0);
	logged(scene, "updated 0 \n");
	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	hear(scene);
	respond(scene, 5, 2, "some failed");
	logged(scene, "updated 2 some failed\n");
}

static void failed_updates_in_a_response_are_a_failure(void **state)
{
	/* payload: failed { container_id: "c" } */
	static const uint8_t data[] = "\x12\x05\x0a\x03\x0a\x01"
				      "c";
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	send_raw(scene, &(struct nri_message){NRI_CONNECTION_RUNTIME, 3, NRI_MESSAGE_RESPONSE, data,
					      sizeof(data) - 1});
	logged(scene, "updated 2 the runtime could not update some containers\n");
}

/* The runtime's own code says more. */
static void a_response_may_have_a_code_and_failed_updates(void **state)
{
	Nri__Response response = NRI__RESPONSE__INIT;
	Nri__Status status = NRI__STATUS__INIT;
	struct scene *scene = *state;

	status.code = 5;
	status.message = (char *)(uintptr_t) "no";
	response.status = &status;
	response.payload = (ProtobufCBinaryData){5, (uint8_t *)(uintptr_t) "\x0a\x03\x0a\x01"
									   "c"};
	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	send_packed(scene, NRI_CONNECTION_RUNTIME, NRI_MESSAGE_RESPONSE, 3, &response.base);
	logged(scene, "updated 5 no\n");
}

/* Neither the response itself nor what is in it. */
static void a_response_that_is_not_protobuf_ends_the_session(void **state)
{
	static const struct {
		const char *data;
		const char *sentence;
	} rows[] = {
		{"\x12\x05xy", "a response cannot be decoded"},
		{"\x12\x02\x0a\x05", "the answer to UpdateContainers cannot be decoded"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct nri_message message = {NRI_CONNECTION_RUNTIME, 3, NRI_MESSAGE_RESPONSE,
						    (const uint8_t *)rows[i].data,
						    strlen(rows[i].data)};
		struct scene *scene;

		set_up_new(state);
		scene = *state;
		assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
		assert_int_equal(send_raw(scene, &message), -EBADMSG);
		ended(scene, -EBADMSG, rows[i].sentence);
		logged(scene, "");
		tear_down(state);
	}
}

/* What ends the session first is the earliest of all that it waits for. */
static void an_answer_may_be_due_before_an_update_ends(void **state)
{
	struct scene *scene = *state;

	scene->keeps_requests = true;
	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	call_create(scene, 2 * SECOND);
	assert_true(nri_session_deadline(scene->session) == NOW + 2 * SECOND);
}

static void an_update_without_response_ends_the_session(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	assert_true(nri_session_deadline(scene->session) == NOW + 30 * SECOND);
	assert_int_equal(nri_session_check(scene->session, NOW + 30 * SECOND), 0);
	assert_int_equal(nri_session_check(scene->session, NOW + 30 * SECOND + 1), -ETIMEDOUT);
	ended(scene, -ETIMEDOUT, "the runtime did not answer UpdateContainers");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STARTED(an_answer_may_come_later_and_in_any_order),
		STARTED(an_answer_fits_its_request),
		STARTED(too_long_an_answer_leaves_the_request_unanswered),
		STARTED(unread_answers_have_a_limit),
		STARTED(an_answer_in_time_keeps_the_session),
		STARTED(a_late_answer_ends_the_session),
		STARTED(an_answer_that_leaves_in_part_is_late),
		STARTED(no_answer_at_all_ends_the_session),
		STARTED(the_shortest_timeout_is_kept),
		STARTED(a_negative_timeout_has_expired),
		STARTED(no_timeout_and_a_huge_one_never_expire),
		STARTED(an_update_is_refused_where_it_can_deadlock),
		STARTING(an_update_needs_a_session_that_is_ready),
		cmocka_unit_test(the_versions_with_the_fix_are_known),
		NEW(an_update_ends_with_its_response),
		NEW(failed_updates_in_a_response_are_a_failure),
		NEW(a_response_may_have_a_code_and_failed_updates),
		cmocka_unit_test(a_response_that_is_not_protobuf_ends_the_session),
		NEW(an_answer_may_be_due_before_an_update_ends),
		NEW(an_update_without_response_ends_the_session),
	};

	pod_p.id = (char *)(uintptr_t) "p";
	container_c.id = (char *)(uintptr_t) "c";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
