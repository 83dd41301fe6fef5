// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* What the backend makes of a policy if the guard is without the programs for its own files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "bpf/backend_private.h"

enum { CONFIG_FD = 100, OTHER_FD };

static struct guard_config in_force;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	if (fd == CONFIG_FD)
		memcpy(&in_force, value, sizeof(in_force));
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	if (fd == CONFIG_FD) {
		memcpy(value, &in_force, sizeof(in_force));
		return 0;
	}
	errno = ENOENT;
	return -1;
}

int bpf_map_get_next_key(int fd, const void *key, void *next_key)
{
	errno = ENOENT;
	return -1;
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *info_len)
{
	((struct bpf_map_info *)info)->max_entries = 8;
	return 0;
}

/* The guard is in force, but for this errno without the programs for its own files; 0 = with them. */
static void publish(int left_out, struct guard_status *ret_status)
{
	struct bpf_object_handle guard = {.mechanism = MECHANISM_LSM};
	struct bpf_backend backend = {
		.sizes = {.nr_slots = 2, .mask_words = 1},
		.maps = {OTHER_FD, OTHER_FD, -1, CONFIG_FD, OTHER_FD, -1, -1, 1, 2},
	};
	struct kernel_policy policy = {.may_be_empty = true};

	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		policy.modes[aspect] = ENFORCEMENT_ENFORCE;
	backend.objects.instances[BPF_OBJECT_GUARD].handle = &guard;
	backend.objects.instances[BPF_OBJECT_GUARD].left_out = left_out;
	memset(&in_force, 0, sizeof(in_force));
	backend_begin_status(&backend);
	assert_int_equal(backend_publish(&backend, &policy), 0);
	backend_guard_status(&backend, ret_status);
	earlier_groups_fini(&backend.earlier);
	free(backend.slots);
}

static void a_whole_guard_protects_its_files(void **state)
{
	struct guard_status status;

	publish(0, &status);
	assert_int_equal(status.modes[ASPECT_GUARD_FILES], ENFORCEMENT_ENFORCE);
	assert_string_equal(status.unprotected, "");
}

/* Whoever reads the configuration, with or without an agent, is told the truth. */
static void what_nobody_does_is_not_in_force(void **state)
{
	struct guard_status status;

	publish(-EINVAL, &status);
	assert_int_equal(status.modes[ASPECT_GUARD_FILES], ENFORCEMENT_OFF);
	assert_int_equal(status.modes[ASPECT_CPUSET_FILES], ENFORCEMENT_ENFORCE);
	assert_non_null(strstr(status.unprotected, "Invalid argument"));
}

/* A guard that could not be started, with an errno, on a kernel that can or cannot attach one. */
static bool is_impossible(enum feature_state ability, enum feature_state object, int error)
{
	struct bpf_backend backend = {0};

	backend.objects.abilities.rows[ABILITY_BPF_LSM].state = ability;
	backend.objects.rows[BPF_OBJECT_GUARD].state = object;
	backend.objects.rows[BPF_OBJECT_GUARD].error = error;
	backend_begin_status(&backend);
	assert_int_equal(backend.status.state, GUARD_INACTIVE);
	return backend.status.is_impossible;
}

/* Then the node is ready without it; a failure of another kind is one that somebody can end. */
static void only_a_kernel_makes_a_guard_impossible(void **state)
{
	assert_true(is_impossible(FEATURE_NO, FEATURE_NO, EOPNOTSUPP));
	assert_false(is_impossible(FEATURE_NO, FEATURE_UNKNOWN, EPERM));
	/* the verifier, no such hook */
	assert_true(is_impossible(FEATURE_YES, FEATURE_UNKNOWN, EACCES));
	assert_true(is_impossible(FEATURE_YES, FEATURE_NO, ESRCH));
	/* a folder where a pin belongs, no descriptors, another user of the hook */
	assert_false(is_impossible(FEATURE_YES, FEATURE_NO, ENOTEMPTY));
	assert_false(is_impossible(FEATURE_YES, FEATURE_NO, EMFILE));
	assert_false(is_impossible(FEATURE_YES, FEATURE_NO, EBUSY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_kernel_makes_a_guard_impossible),
		cmocka_unit_test(a_whole_guard_protects_its_files),
		cmocka_unit_test(what_nobody_does_is_not_in_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
