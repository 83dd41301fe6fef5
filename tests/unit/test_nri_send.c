// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/* When an answer has left, and what happens if there is no room for one more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nri_session_scene.h"

/* Less than the limit of a message by what surrounds the value of an annotation. */
#define LARGE (NRI_WRITE_MAX - 200)

static void answer_with(struct scene *scene, const char *value)
{
	const struct nri_pair pair = {"a", value};
	const struct nri_adjustment adjustment = {.cpus = "", .mems = "", {&pair, 1}};

	assert_int_equal(nri_session_answer(scene->session, scene->stream,
					    &(struct nri_answer){.adjustment = &adjustment}),
			 0);
}

static void what_has_not_left_is_still_to_be_written(void **state)
{
	struct scene *scene = *state;
	size_t len, left;
	uint8_t *before;
	const void *after;

	assert_int_equal(call_create(scene, 0), 0);
	after = nri_session_output(scene->session, &len);
	before = malloc(len);
	assert_non_null(before);
	memcpy(before, after, len);
	assert_int_equal(nri_session_sent(scene->session, 5, NOW), 0);
	after = nri_session_output(scene->session, &left);
	assert_int_equal(left, len - 5);
	assert_memory_equal(after, before + 5, left);
	free(before);
}

/* Also if others were in part before it in the output. */
static void an_answer_has_left_with_its_last_byte(void **state)
{
	struct scene *scene = *state;
	size_t len;

	scene->keeps_requests = true;
	call_create(scene, 2 * SECOND);
	answer_with(scene, "first");
	assert_int_equal(nri_session_sent(scene->session, 5, NOW), 0);
	call_create(scene, 4 * SECOND);
	answer_with(scene, "second");
	assert_true(nri_session_deadline(scene->session) == NOW + 2 * SECOND);
	nri_session_output(scene->session, &len);
	assert_int_equal(nri_session_sent(scene->session, len - 1, NOW), 0);
	assert_true(nri_session_deadline(scene->session) == NOW + 4 * SECOND);
	assert_int_equal(nri_session_sent(scene->session, 1, NOW), 0);
	assert_true(nri_session_deadline(scene->session) == UINT64_MAX);
}

static void fill_output(struct scene *scene)
{
	char *value = malloc(LARGE + 1);

	assert_non_null(value);
	memset(value, 'x', LARGE);
	value[LARGE] = '\0';
	scene->keeps_requests = true;
	for (int i = 0; i < 2; i++) {
		call_create(scene, 2 * SECOND);
		answer_with(scene, value);
	}
	free(value);
}

/* A runtime that does not read: some answers have room still, and then one has not. */
static void call_until_there_is_no_room(struct scene *scene, const char *method,
					const ProtobufCMessage *payload)
{
	int err = 0, nr = 0;

	for (; !err; nr++)
		err = call(scene, method, payload);
	assert_int_equal(err, -ENOBUFS);
	assert_true(nr > 1);
	ended(scene, -ENOBUFS, "cannot queue an answer: No buffer space available");
}

static void an_event_without_room_for_its_answer_ends_the_session(void **state)
{
	Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;
	struct scene *scene = *state;

	change.event = NRI_EVENT_RUN_POD;
	change.pod = &pod_p;
	fill_output(scene);
	call_until_there_is_no_room(scene, "StateChange", &change.base);
}

static void a_rejection_without_room_ends_the_session(void **state)
{
	struct scene *scene = *state;

	fill_output(scene);
	call_until_there_is_no_room(scene, "Unknown", NULL);
}

/* The next update is not taken for one that follows another. */
static void an_update_that_is_too_long_is_not_begun(void **state)
{
	const struct nri_update small = {"c", "2-3", "", true};
	struct nri_update large = small;
	struct scene *scene = *state;
	char *list = malloc(NRI_WRITE_MAX + 1);

	assert_non_null(list);
	memset(list, '1', NRI_WRITE_MAX);
	list[NRI_WRITE_MAX] = '\0';
	large.cpus = list;
	assert_int_equal(nri_session_update(scene->session, &large, 1, NOW), -EMSGSIZE);
	assert_true(nri_session_deadline(scene->session) == UINT64_MAX);
	assert_int_equal(nri_session_update(scene->session, &small, 1, NOW), 0);
	free(list);
}

static void a_start_whose_answer_is_too_long_goes_on(void **state)
{
	struct nri_update large = {"c", "", "", true};
	struct scene *scene = *state;
	char *list = malloc(NRI_WRITE_MAX + 1);

	assert_non_null(list);
	memset(list, '1', NRI_WRITE_MAX);
	list[NRI_WRITE_MAX] = '\0';
	large.cpus = list;
	scene->keeps_requests = true;
	assert_int_equal(call(scene, "Configure", NULL), 0);
	assert_int_equal(respond(scene, 1, 0, NULL), 0);
	assert_int_equal(call(scene, "Synchronize", NULL), 0);
	assert_int_equal(
		nri_session_answer(scene->session, scene->stream,
				   &(struct nri_answer){.updates = &large, .nr_updates = 1}),
		-EMSGSIZE);
	assert_false(nri_session_is_ready(scene->session));
	assert_int_equal(nri_session_answer(scene->session, scene->stream,
					    &(struct nri_answer){.updates = NULL}),
			 0);
	assert_true(nri_session_is_ready(scene->session));
	free(list);
}

static void what_the_runtime_says_is_quoted_without_control_characters(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(respond(scene, 1, 5, "a~b \x7f\x1f"), -EACCES);
	ended(scene, -EACCES, "the runtime refused the registration: a~b ??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STARTED(what_has_not_left_is_still_to_be_written),
		STARTED(an_answer_has_left_with_its_last_byte),
		STARTED(an_event_without_room_for_its_answer_ends_the_session),
		STARTED(a_rejection_without_room_ends_the_session),
		NEW(an_update_that_is_too_long_is_not_begun),
		STARTING(a_start_whose_answer_is_too_long_goes_on),
		STARTING(what_the_runtime_says_is_quoted_without_control_characters),
	};

	pod_p.id = (char *)(uintptr_t) "p";
	container_c.id = (char *)(uintptr_t) "c";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
