// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* The lease in the guard's map: set, ended by the next agent, and put back if another process wrote it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "bpf/backend_private.h"
#include "lib/fdinfo.h"

enum { LEASE_FD = 100 };

static __u64 in_map;
static int map_error;

bool fdinfo_is(int fd, const char *field, const char *value)
{
	return fd == LEASE_FD && map_error == EPERM;
}

int fdinfo_number(int fd, const char *field, uint64_t *ret_number)
{
	return -ENOENT;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	assert_int_equal(fd, LEASE_FD);
	if (map_error) {
		errno = map_error;
		return -1;
	}
	memcpy(&in_map, value, sizeof(in_map));
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	assert_int_equal(fd, LEASE_FD);
	memcpy(value, &in_map, sizeof(in_map));
	return 0;
}

static struct bpf_backend backend;

static int set_up(void **state)
{
	memset(&backend, 0, sizeof(backend));
	backend.maps.actor_tasks = -1;
	backend_lease_init(&backend);
	in_map = 0;
	map_error = 0;
	return 0;
}

static int tear_down(void **state)
{
	backend_lease_fini(&backend);
	return 0;
}

static void without_a_guard_it_is_nothing(void **state)
{
	assert_int_equal(backend_set_lease(&backend, 7), 0);
	backend_mend_lease(&backend);
	assert_int_equal(in_map, 0);
}

static void it_is_in_the_map(void **state)
{
	const struct lease_port port = bpf_backend_lease_port(&backend);

	backend_lease_use(&backend, LEASE_FD);
	assert_int_equal(port.set(port.self, 7), 0);
	assert_int_equal(in_map, 7);
	/* it is the agent's own */
	backend_mend_lease(&backend);
	assert_int_equal(in_map, 7);
	assert_int_equal(backend.status.nr_mended[MENDED_CONFIG], 0);
	assert_int_equal(port.set(port.self, 0), 0);
	assert_int_equal(in_map, 0);
}

static void the_next_agent_ends_it(void **state)
{
	in_map = 7;
	backend_lease_use(&backend, LEASE_FD);
	assert_int_equal(backend_enter_actor(&backend), 0);
	assert_int_equal(in_map, 0);
}

static void of_another_process_it_is_reverted(void **state)
{
	backend_lease_use(&backend, LEASE_FD);
	in_map = 9;
	backend_mend_lease(&backend);
	assert_int_equal(in_map, 0);
	assert_int_equal(backend.status.nr_mended[MENDED_CONFIG], 1);
	assert_string_equal(backend.status.mended[MENDED_CONFIG],
			    "lease of process 1 until 9 instead of 0");
	backend_mend_lease(&backend);
	assert_int_equal(backend.status.nr_mended[MENDED_CONFIG], 1);
}

/* A lease that could not be written is not expected, and one that stays behind is still reverted. */
static void a_failure_is_returned(void **state)
{
	backend_lease_use(&backend, LEASE_FD);
	assert_int_equal(backend_set_lease(&backend, 7), 0);
	map_error = EPERM;
	assert_int_equal(backend_set_lease(&backend, 0), -EPERM);
	assert_int_equal(in_map, 7);
	map_error = 0;
	assert_int_equal(backend_set_lease(&backend, 0), 0);
	assert_int_equal(in_map, 0);
}

/* The map stays as it is, so there may be nothing to revert. */
static void a_frozen_map_is_reported(void **state)
{
	struct bpf_object_handle guard = {.nr_maps = 1, .maps = {{"guard_lease", LEASE_FD}}};

	backend.objects.instances[BPF_OBJECT_GUARD].handle = &guard;
	backend_lease_use(&backend, LEASE_FD);
	map_error = EPERM;
	backend_mend_lease(&backend);
	assert_string_equal(backend.status.frozen_map, "");
	assert_int_equal(backend_set_lease(&backend, 7), -EPERM);
	backend_mend_lease(&backend);
	assert_string_equal(backend.status.frozen_map, "guard_lease");
}

static void a_frozen_lease_of_another_process_is_reported(void **state)
{
	struct bpf_object_handle guard = {.nr_maps = 1, .maps = {{"guard_lease", LEASE_FD}}};

	backend.objects.instances[BPF_OBJECT_GUARD].handle = &guard;
	backend_lease_use(&backend, LEASE_FD);
	map_error = EPERM;
	in_map = 9;
	backend_mend_lease(&backend);
	assert_string_equal(backend.status.frozen_map, "guard_lease");
	assert_int_equal(backend.status.nr_mended[MENDED_CONFIG], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_guard_it_is_nothing),
		TEST(it_is_in_the_map),
		TEST(the_next_agent_ends_it),
		TEST(of_another_process_it_is_reverted),
		TEST(a_failure_is_returned),
		TEST(a_frozen_map_is_reported),
		TEST(a_frozen_lease_of_another_process_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
