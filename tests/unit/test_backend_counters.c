// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* What the programs counted is told only if it can be read: 0 is a count like any other. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/backend_private.h"

enum { GUARD_FD = 100, EVENTS_FD, PROG_FD };

#define ALL UINT32_MAX

/* The value whose index is this cannot be read; ALL = none can. */
static int unreadable_fd;
static uint32_t unreadable;
static int prog_error;
static uint64_t prog_misses;

/* Each CPU has counted the index and one more. */
int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	const __u32 index = *(const __u32 *)key;
	uint64_t *values = value;

	if ((fd != GUARD_FD && fd != EVENTS_FD) ||
	    (fd == unreadable_fd && (index == unreadable || unreadable == ALL))) {
		errno = EPERM;
		return -1;
	}
	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		values[i] = index + 1;
	return 0;
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *info_len)
{
	if (prog_error) {
		errno = prog_error;
		return -1;
	}
	((struct bpf_prog_info *)info)->recursion_misses = prog_misses;
	return 0;
}

static struct bpf_object_handle guard;
static struct bpf_backend backend;

static int set_up(void **state)
{
	guard = (struct bpf_object_handle){
		.nr_maps = 2,
		.maps = {{.name = "guard_counters", .fd = GUARD_FD},
			 {.name = "event_counters", .fd = EVENTS_FD}},
		.nr_programs = 2,
		.programs = {{.section = "tp_btf/cgroup_mkdir", .prog_fd = PROG_FD},
			     {.section = "fmod_ret/security_file_open", .prog_fd = PROG_FD}},
	};
	backend = (struct bpf_backend){.stats_fd = -1};
	backend.objects.instances[BPF_OBJECT_GUARD].handle = &guard;
	unreadable_fd = -1;
	prog_error = 0;
	prog_misses = 0;
	return 0;
}

static uint64_t on_all_cpus(uint64_t nr)
{
	return nr * (uint64_t)libbpf_num_possible_cpus();
}

static void a_count_is_the_sum_over_the_cpus(void **state)
{
	const struct hook_count *counts;
	uint64_t nr;

	assert_int_equal(backend_events_lost(&backend, EVENTS_NO_ERRAND, &nr), 0);
	assert_int_equal(nr, on_all_cpus(EVENTS_NO_ERRAND + 1));
	assert_int_equal(backend_hook_counts(&backend, &counts), HOOK_NR);
	assert_string_equal(counts[HOOK_FILE_OPEN].hook, "file_open");
	assert_int_equal(counts[HOOK_FILE_OPEN].counts[ACTION_DENY],
			 on_all_cpus(HOOK_FILE_OPEN * ACTION_NR + ACTION_DENY + 1));
}

static void a_loss_that_cannot_be_read_is_not_none(void **state)
{
	uint64_t nr = 77;

	unreadable_fd = EVENTS_FD;
	unreadable = EVENTS_NO_ERRAND;
	assert_int_equal(backend_events_lost(&backend, EVENTS_NO_ERRAND, &nr), -EPERM);
	assert_int_equal(nr, 77);
	assert_int_equal(backend_events_lost(&backend, EVENTS_LOST, &nr), 0);
	assert_int_equal(nr, on_all_cpus(EVENTS_LOST + 1));
}

static void without_an_object_nothing_is_counted(void **state)
{
	const struct hook_count *counts;
	uint64_t nr = 77;

	backend.objects.instances[BPF_OBJECT_GUARD].handle = NULL;
	assert_int_equal(backend_events_lost(&backend, EVENTS_LOST, &nr), -ENOENT);
	assert_int_equal(nr, 77);
	assert_int_equal(backend_hook_counts(&backend, &counts), 0);
}

/* The sums of a hook belong together. */
static void a_hook_that_cannot_be_read_is_left_out(void **state)
{
	const struct hook_count *counts;
	uint32_t nr;

	unreadable_fd = GUARD_FD;
	unreadable = HOOK_FILE_OPEN * ACTION_NR + ACTION_AUDIT;
	nr = backend_hook_counts(&backend, &counts);
	assert_int_equal(nr, HOOK_NR - 1);
	for (uint32_t i = 0; i < nr; i++)
		assert_string_not_equal(counts[i].hook, "file_open");
	unreadable = ALL;
	assert_int_equal(backend_hook_counts(&backend, &counts), 0);
}

/* They would be told as new ones when they can be read again. */
static void misses_that_cannot_be_read_are_those_of_before(void **state)
{
	uint64_t misses = 77;

	prog_misses = 3;
	assert_int_equal(backend_recursion_misses(&backend, &misses), 0);
	assert_int_equal(misses, 3);
	prog_error = ENOMEM;
	misses = 77;
	assert_int_equal(backend_recursion_misses(&backend, &misses), -ENOMEM);
	assert_int_equal(misses, 77);
}

static void a_program_that_cannot_be_read_has_no_known_misses(void **state)
{
	const struct prog_row *rows;

	assert_int_equal(backend_programs(&backend, &rows), 2);
	assert_int_equal(rows[1].recursion_misses, 0);
	prog_error = ENOMEM;
	assert_int_equal(backend_programs(&backend, &rows), 2);
	assert_int_equal(rows[1].recursion_misses, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_count_is_the_sum_over_the_cpus, set_up),
		cmocka_unit_test_setup(a_loss_that_cannot_be_read_is_not_none, set_up),
		cmocka_unit_test_setup(without_an_object_nothing_is_counted, set_up),
		cmocka_unit_test_setup(a_hook_that_cannot_be_read_is_left_out, set_up),
		cmocka_unit_test_setup(misses_that_cannot_be_read_are_those_of_before, set_up),
		cmocka_unit_test_setup(a_program_that_cannot_be_read_has_no_known_misses, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
