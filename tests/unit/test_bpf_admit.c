// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* A new agent whose map of actors is frozen opens the pins, and leaves a release as it is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include <pinfold/release.h>

#include "bpf/admit.h"

static struct guard_config config;
static int config_fd, nr_writes;
static bool is_frozen; /* the configuration, too */

int inherit_map_fd(const struct inherited *inherited, const char *pin_dir, const char *name,
		   int *ret_fd)
{
	*ret_fd = memfd_create(name, MFD_CLOEXEC);
	if (!strcmp(name, "guard_config"))
		config_fd = *ret_fd;
	return 0;
}

int inherit_find(const char *pin_dir, const struct inherit_wanted *wanted,
		 struct inherited **ret_inherited)
{
	return 0;
}

void inherited_free(struct inherited *inherited)
{
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	memcpy(value, &config, sizeof(config));
	return 0;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	if (fd != config_fd || is_frozen) {
		errno = EPERM;
		return -1;
	}
	memcpy(&config, value, sizeof(config));
	nr_writes++;
	return 0;
}

static int begin(void **state)
{
	config = (struct guard_config){.generation = 1};
	config_fd = -1;
	nr_writes = 0;
	is_frozen = false;
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		guard_set_mode(&config, aspect, GUARD_ENFORCE);
	return 0;
}

static void admit(void)
{
	const struct inherited inherited = {0};

	assert_int_equal(admit_agent("/pins", &inherited), 0);
}

static void the_pins_are_opened(void **state)
{
	admit();
	assert_int_equal(guard_mode_of(&config, ASPECT_GUARD_FILES), GUARD_AUDIT);
	assert_int_equal(guard_mode_of(&config, ASPECT_CPUSET_FILES), GUARD_ENFORCE);
}

static void a_release_keeps_the_modes_that_it_saved(void **state)
{
	struct guard_config released;

	release_make(&config);
	released = config;
	admit();
	assert_memory_equal(&config, &released, sizeof(config));
	release_end(&config);
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		assert_int_equal(guard_mode_of(&config, aspect), GUARD_ENFORCE);
}

static void open_pins_need_no_write(void **state)
{
	guard_set_mode(&config, ASPECT_GUARD_FILES, GUARD_OFF);
	admit();
	assert_int_equal(nr_writes, 0);
}

/* What another pin holds would go on denying after an uninstall. */
static void what_is_to_be_removed_only_records(void **state)
{
	assert_int_equal(admit_to_remove("/pins"), 0);
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		assert_int_equal(guard_mode_of(&config, aspect), GUARD_AUDIT);
	assert_false(release_stands(&config));
	assert_int_equal(nr_writes, 1);
}

static void what_is_to_be_removed_may_be_released(void **state)
{
	struct guard_config released;

	release_make(&config);
	released = config;
	assert_int_equal(admit_to_remove("/pins"), 0);
	assert_memory_equal(&config, &released, sizeof(config));
}

static void pins_that_cannot_be_opened_are_not_removed(void **state)
{
	is_frozen = true;
	assert_int_equal(admit_to_remove("/pins"), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_pins_are_opened, begin),
		cmocka_unit_test_setup(a_release_keeps_the_modes_that_it_saved, begin),
		cmocka_unit_test_setup(open_pins_need_no_write, begin),
		cmocka_unit_test_setup(what_is_to_be_removed_only_records, begin),
		cmocka_unit_test_setup(what_is_to_be_removed_may_be_released, begin),
		cmocka_unit_test_setup(pins_that_cannot_be_opened_are_not_removed, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
