// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/* The requests of a runtime that are not answered yet, and the memory of a request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nri/memory.h"
#include "nri/pending.h"

static struct nri_pending *add(struct nri_pendings *pendings, uint32_t stream,
			       enum nri_request_kind kind, uint64_t deadline_ns)
{
	struct nri_pending *pending = nri_pendings_add(pendings, stream, deadline_ns);

	assert_non_null(pending);
	pending->kind = kind;
	pending->container_id = strdup("c");
	return pending;
}

static void give_answer(struct nri_pendings *pendings, uint32_t stream, uint64_t end)
{
	struct nri_pending *pending = nri_pendings_find(pendings, stream);

	assert_non_null(pending);
	pending->is_answered = true;
	pending->answer_end = end;
}

static void a_request_is_pending_until_it_is_answered(void **state)
{
	struct nri_pendings pendings = {0};

	add(&pendings, 3, NRI_REQUEST_SYNCHRONIZE, 100);
	assert_true(nri_pendings_has(&pendings, NRI_REQUEST_SYNCHRONIZE));
	assert_false(nri_pendings_has(&pendings, NRI_REQUEST_STOP));
	assert_int_equal(nri_pendings_find(&pendings, 3)->deadline_ns, 100);
	assert_null(nri_pendings_find(&pendings, 5));
	give_answer(&pendings, 3, 10);
	assert_false(nri_pendings_has(&pendings, NRI_REQUEST_SYNCHRONIZE));
	assert_null(nri_pendings_find(&pendings, 3));
	/* The answer has to leave in time, too. */
	assert_int_equal(nri_pendings_deadline(&pendings), 100);
	nri_pendings_sent(&pendings, 9);
	assert_int_equal(nri_pendings_deadline(&pendings), 100);
	nri_pendings_sent(&pendings, 10);
	assert_true(nri_pendings_deadline(&pendings) == NRI_NEVER);
	nri_pendings_fini(&pendings);
}

/* What was moved into the place of a request that has ended is there once. */
static void requests_end_in_any_order(void **state)
{
	struct nri_pendings pendings = {0};

	add(&pendings, 1, NRI_REQUEST_CREATE, 300);
	add(&pendings, 3, NRI_REQUEST_UPDATE, 100);
	add(&pendings, 5, NRI_REQUEST_STOP, 200);
	assert_int_equal(nri_pendings_deadline(&pendings), 100);
	give_answer(&pendings, 1, 10);
	give_answer(&pendings, 3, 20);
	nri_pendings_sent(&pendings, 20);
	assert_int_equal(pendings.nr, 1);
	assert_int_equal(nri_pendings_deadline(&pendings), 200);
	assert_false(nri_pendings_has(&pendings, NRI_REQUEST_CREATE));
	assert_false(nri_pendings_has(&pendings, NRI_REQUEST_UPDATE));
	give_answer(&pendings, 5, 30);
	assert_null(nri_pendings_find(&pendings, 5));
	assert_false(nri_pendings_has(&pendings, NRI_REQUEST_STOP));
	nri_pendings_fini(&pendings);
}

static void there_is_room_for_so_many_and_again_afterwards(void **state)
{
	struct nri_pendings pendings = {0};

	for (uint32_t i = 0; i < NRI_PENDING_MAX; i++)
		add(&pendings, 2 * i + 1, NRI_REQUEST_CREATE, NRI_NEVER);
	assert_null(nri_pendings_add(&pendings, 99999, NRI_NEVER));
	nri_pendings_fini(&pendings);
	assert_null(nri_pendings_find(&pendings, 1));
	assert_false(nri_pendings_has(&pendings, NRI_REQUEST_CREATE));
	add(&pendings, 1, NRI_REQUEST_STOP, NRI_NEVER);
	assert_int_equal(pendings.nr, 1);
	nri_pendings_fini(&pendings);
}

static bool do_fit(size_t limit, int nr_arrays)
{
	struct nri_memory memory cleanup_nri_memory;
	bool fit = true;

	nri_memory_init(&memory, limit);
	for (int i = 0; i < nr_arrays; i++)
		fit = fit && nri_memory_array(&memory, 1, 8);
	return fit;
}

/* An array costs its bytes and an overhead, and the last byte of the limit may be used. */
static void two_arrays_need_twice_the_limit_of_one(void **state)
{
	size_t limit = 8;

	while (!do_fit(limit, 1))
		limit++;
	assert_true(do_fit(2 * limit, 2));
	assert_false(do_fit(2 * limit - 1, 2));
}

static void memory_that_was_cleared_has_its_whole_limit(void **state)
{
	struct nri_memory memory cleanup_nri_memory;
	size_t limit = 8;

	while (!do_fit(limit, 1))
		limit++;
	nri_memory_init(&memory, limit);
	for (int i = 0; i < 3; i++) {
		assert_non_null(nri_memory_array(&memory, 1, 8));
		assert_null(nri_memory_array(&memory, 1, 8));
		nri_memory_clear(&memory);
	}
	assert_null(nri_memory_array(&memory, SIZE_MAX / 2, 4));
	assert_null(nri_memory_array(&memory, 1, SIZE_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_pending_until_it_is_answered),
		cmocka_unit_test(requests_end_in_any_order),
		cmocka_unit_test(there_is_room_for_so_many_and_again_afterwards),
		cmocka_unit_test(two_arrays_need_twice_the_limit_of_one),
		cmocka_unit_test(memory_that_was_cleared_has_its_whole_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
