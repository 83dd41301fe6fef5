// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * When a self-test that was not denied says that the guard does not deny: not while the kernel skips programs,
 * as it does where another task was preempted in one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "bpf/backend_private.h"

static const struct selftest_result denied = {.write_denied = true, .open_denied = true};
static const struct selftest_result let_through = {.open_denied = true};

/* What the kernel does in each attempt; the last row is that of all others. */
static struct {
	struct selftest_result results[4];
	int answers[4];
	uint64_t skips[4]; /* programs that it skips meanwhile */
	int nr;
	uint64_t misses;
	int error; /* of reading the misses */
} kernel;

static int nr_told;
static struct bpf_object_handle guard;
static struct bpf_backend backend;

int selftest_run(const struct selftest *test, const char *path, struct selftest_result *ret_result)
{
	int i = kernel.nr < 3 ? kernel.nr : 3;

	kernel.nr++;
	kernel.misses += kernel.skips[i];
	if (!kernel.answers[i])
		*ret_result = kernel.results[i];
	return kernel.answers[i];
}

void selftest_waits_in(const struct selftest *test, char *ret_text, size_t size)
{
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *info_len)
{
	if (kernel.error) {
		errno = kernel.error;
		return -1;
	}
	((struct bpf_prog_info *)info)->recursion_misses = kernel.misses;
	return 0;
}

static void note_tested(void *self)
{
	nr_told++;
}

static int set_up(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.misses = 7; /* from before */
	nr_told = 0;
	guard = (struct bpf_object_handle){
		.nr_programs = 1,
		.programs = {{.section = "fmod_ret/security_file_open", .prog_fd = 100}},
	};
	backend = (struct bpf_backend){.stats_fd = -1, .sink = {.tested = note_tested}};
	backend.objects.instances[BPF_OBJECT_GUARD].handle = &guard;
	backend.status.state = GUARD_UNKNOWN;
	strcpy(backend.status.mechanism, "fmod_ret");
	return 0;
}

static void what_is_denied_is_asked_once(void **state)
{
	kernel.results[0] = denied;
	kernel.skips[0] = 1;
	assert_int_equal(backend_self_test(&backend, "test"), 0);
	assert_int_equal(kernel.nr, 1);
	assert_int_not_equal(backend.status.state, GUARD_INACTIVE);
	assert_int_not_equal(backend.status.state, GUARD_UNKNOWN);
}

static void an_attempt_that_was_skipped_says_nothing(void **state)
{
	kernel.results[0] = kernel.results[1] = let_through;
	kernel.skips[0] = kernel.skips[1] = 1;
	kernel.results[2] = denied;
	assert_int_equal(backend_self_test(&backend, "test"), 0);
	assert_int_equal(kernel.nr, 3);
	assert_int_not_equal(backend.status.state, GUARD_INACTIVE);
}

static void a_guard_that_ran_and_did_not_deny_is_inactive(void **state)
{
	kernel.results[0] = let_through;
	kernel.results[1] = denied;
	assert_int_equal(backend_self_test(&backend, "test"), 0);
	assert_int_equal(kernel.nr, 1);
	assert_int_equal(backend.status.state, GUARD_INACTIVE);
	assert_non_null(strstr(backend.status.reason, "write"));
}

/* Also if they were skipped in the attempt before. */
static void each_attempt_has_its_own_misses(void **state)
{
	kernel.results[0] = kernel.results[1] = let_through;
	kernel.skips[0] = 1;
	kernel.results[2] = denied;
	assert_int_equal(backend_self_test(&backend, "test"), 0);
	assert_int_equal(kernel.nr, 2);
	assert_int_equal(backend.status.state, GUARD_INACTIVE);
}

static void misses_that_cannot_be_read_excuse_nothing(void **state)
{
	kernel.results[0] = let_through;
	kernel.results[1] = denied;
	kernel.skips[0] = 1;
	kernel.error = EPERM;
	assert_int_equal(backend_self_test(&backend, "test"), 0);
	assert_int_equal(kernel.nr, 1);
	assert_int_equal(backend.status.state, GUARD_INACTIVE);
}

static void attempts_come_to_an_end(void **state)
{
	for (int i = 0; i < 4; i++) {
		kernel.results[i] = let_through;
		kernel.skips[i] = 1;
	}
	assert_int_equal(backend_self_test(&backend, "test"), 0);
	assert_in_range(kernel.nr, 5, 50);
	assert_int_equal(backend.status.state, GUARD_INACTIVE);
}

static void an_attempt_that_fails_is_told(void **state)
{
	kernel.results[0] = let_through;
	kernel.skips[0] = 1;
	kernel.answers[1] = -ENOMEM;
	assert_int_equal(backend_self_test(&backend, "test"), -ENOMEM);
	assert_int_equal(backend.status.state, GUARD_UNKNOWN);
	assert_non_null(strstr(backend.status.reason, "could not be run"));
}

/* The controller hears of the last attempt only. */
static void attempts_that_end_later_are_repeated_as_well(void **state)
{
	kernel.answers[0] = kernel.answers[1] = -EINPROGRESS;
	kernel.skips[0] = 1;
	assert_int_equal(backend_self_test(&backend, "test"), -EINPROGRESS);
	backend_self_test_ended(&backend, "test", 0, &let_through);
	assert_int_equal(kernel.nr, 2);
	assert_int_equal(nr_told, 0);
	assert_int_equal(backend.status.state, GUARD_UNKNOWN);
	backend_self_test_ended(&backend, "test", 0, &denied);
	assert_int_equal(kernel.nr, 2);
	assert_int_equal(nr_told, 1);
	assert_int_not_equal(backend.status.state, GUARD_INACTIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_denied_is_asked_once, set_up),
		cmocka_unit_test_setup(an_attempt_that_was_skipped_says_nothing, set_up),
		cmocka_unit_test_setup(a_guard_that_ran_and_did_not_deny_is_inactive, set_up),
		cmocka_unit_test_setup(each_attempt_has_its_own_misses, set_up),
		cmocka_unit_test_setup(misses_that_cannot_be_read_excuse_nothing, set_up),
		cmocka_unit_test_setup(attempts_come_to_an_end, set_up),
		cmocka_unit_test_setup(an_attempt_that_fails_is_told, set_up),
		cmocka_unit_test_setup(attempts_that_end_later_are_repeated_as_well, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
