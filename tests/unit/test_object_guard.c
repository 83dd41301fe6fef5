// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * How large its map of texts is, and when the guard does without the programs that protect its own files, with
 * what the kernel answers to loading.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/object_guard.h"

enum { GROUPS = 5000 };

uint32_t bpf_object_nr_managed(const struct bpf_object_sizes *sizes)
{
	return GROUPS;
}

static struct {
	int answers[2]; /* to each attempt */
	int nr;
	bool has_files[2]; /* the programs for the guard's files */
} kernel;

static bool has_program(const struct bpf_object *object, const char *name)
{
	return bpf_program__autoload(bpf_object__find_program_by_name(object, name));
}

int bpf_object_start(const struct bpf_object_spec *spec, const char *pin_dir,
		     struct bpf_object_handle **ret_handle)
{
	static struct bpf_object_handle handle;

	assert_in_range(kernel.nr, 0, 1);
	assert_true(has_program(spec->object, "lsm_file_perm"));
	assert_true(has_program(spec->object, "group_gone"));
	assert_false(has_program(spec->object, "mod_file_perm"));
	assert_int_equal(
		bpf_map__max_entries(bpf_object__find_map_by_name(spec->object, "pid1_writes")),
		8 * GROUPS);
	kernel.has_files[kernel.nr] = has_program(spec->object, "lsm_unlink");
	*ret_handle = &handle;
	return kernel.answers[kernel.nr++];
}

uint64_t bpf_object_digest(const void *bytes, size_t len, const void *sizes, size_t sizes_len,
			   const struct bpf_object *object)
{
	return 0;
}

static int start(int first, int second, struct bpf_object_instance *ret_instance)
{
	struct abilities abilities = {.nr_known = ABILITY_NR, .dir_fd = -1};
	const struct bpf_backend_options options = {.runtime_dir_fd = -1};
	const struct bpf_object_sizes sizes = {.nr_slots = 2, .mask_words = 1};
	struct bpf_object_request request = {
		.options = &options, .sizes = &sizes, .abilities = &abilities};

	abilities.rows[ABILITY_BPF_LSM].state = FEATURE_YES;
	memset(&kernel, 0, sizeof(kernel));
	kernel.answers[0] = first;
	kernel.answers[1] = second;
	*ret_instance = (struct bpf_object_instance){0};
	request.elf = guard_elf(&request.elf_len);
	return guard_start(&request, ret_instance);
}

static void everything_is_loaded(void **state)
{
	struct bpf_object_instance instance;

	assert_int_equal(start(0, 0, &instance), 0);
	assert_int_equal(kernel.nr, 1);
	assert_true(kernel.has_files[0]);
	assert_int_equal(instance.left_out, 0);
}

/* 524 is the kernel's own ENOTSUPP. */
static void without_what_this_kernel_cannot_do(void **state)
{
	static const int refusals[] = {-EINVAL, -EACCES, -E2BIG, -ESRCH, -EOPNOTSUPP, -524};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		struct bpf_object_instance instance;

		assert_int_equal(start(refusals[i], 0, &instance), 0);
		assert_int_equal(kernel.nr, 2);
		assert_false(kernel.has_files[1]);
		assert_int_equal(instance.left_out, refusals[i]);
	}
}

/* The kernel may well do it the next time, so nothing is left unprotected for it. */
static void any_other_error_is_returned(void **state)
{
	static const int errors[] = {-ENOMEM, -EPERM, -EMFILE, -ENOSPC,
				     -EBUSY,  -EIO,   -ESTALE, -EAGAIN};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct bpf_object_instance instance;

		assert_int_equal(start(errors[i], 0, &instance), errors[i]);
		assert_int_equal(kernel.nr, 1);
		assert_null(instance.handle);
	}
}

static void both_may_fail(void **state)
{
	struct bpf_object_instance instance;

	assert_int_equal(start(-EINVAL, -ENOMEM, &instance), -ENOMEM);
	assert_null(instance.handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_loaded),
		cmocka_unit_test(without_what_this_kernel_cannot_do),
		cmocka_unit_test(any_other_error_is_returned),
		cmocka_unit_test(both_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
