// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Control-file texts by meaning, processes' stat lines, uevents, systemd's forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "cgroup/systemd.h"
#include "cgroup/tasks.h"
#include "cgroup/value.h"
#include "cgroup/watch.h"

#define PAGE 4096

static bool same(enum group_file file, const char *wanted, const char *seen)
{
	return value_equal(file, wanted, seen, PAGE);
}

static void test_lists(void **state)
{
	assert_true(same(GROUP_CPUSET_CPUS, "0,1,2,3,8", "0-3,8"));
	assert_true(same(GROUP_CPUSET_CPUS, "", ""));
	assert_true(same(GROUP_CPUSET_MEMS, "1,0", "0-1"));
	assert_false(same(GROUP_CPUSET_CPUS, "0-3", "0-4"));
	assert_false(same(GROUP_CPUSET_CPUS, "0-3", ""));
	assert_false(same(GROUP_CPUSET_CPUS, "0-3", "junk"));
}

static void test_cpu_max(void **state)
{
	assert_true(same(GROUP_CPU_MAX, "max", "max 100000"));
	assert_true(same(GROUP_CPU_MAX, "max 100000", "max 50000"));
	assert_true(same(GROUP_CPU_MAX, "150000", "150000 100000"));
	assert_true(same(GROUP_CPU_MAX, "150000 50000", "150000 50000"));
	assert_false(same(GROUP_CPU_MAX, "150000 50000", "150000 100000"));
	assert_false(same(GROUP_CPU_MAX, "max", "150000 100000"));
	assert_false(same(GROUP_CPU_MAX, "150000", "150000 "));
	assert_false(same(GROUP_CPU_MAX, "150000", "150000 0"));
	assert_false(same(GROUP_CPU_MAX, "-1", "-1"));
	/* Invalid text is not equal to anything, not even to itself. */
	assert_false(same(GROUP_CPU_MAX, "150000 0", "150000 0"));
	assert_false(same(GROUP_CPU_MAX, "150000 max", "150000 max"));
	assert_false(same(GROUP_CPU_MAX, "150000x", "150000x"));
	assert_true(same(GROUP_CPU_MAX, "150000", "150000\n"));
}

static void test_memory(void **state)
{
	assert_true(same(GROUP_MEMORY_MAX, "1000000", "999424"));
	assert_true(same(GROUP_MEMORY_MAX, "max", "max"));
	assert_false(same(GROUP_MEMORY_MAX, "1000000", "1003520"));
	assert_false(same(GROUP_MEMORY_MAX, "max", "999424"));
	assert_false(same(GROUP_MEMORY_MAX, "999424", "max"));
	/* The largest number is in the same page as no limit at all. */
	assert_false(same(GROUP_MEMORY_MAX, "max", "18446744073709551614"));
	assert_false(same(GROUP_MEMORY_MAX, "18446744073709551614", "max"));
	assert_false(same(GROUP_MEMORY_MAX, "junk", "junk"));
}

static void test_weight(void **state)
{
	assert_true(same(GROUP_CPU_WEIGHT, "0100", "100"));
	assert_false(same(GROUP_CPU_WEIGHT, "100", "101"));
	assert_false(same(GROUP_CPU_WEIGHT, "", ""));
}

static void test_numbers(void **state)
{
	static const char *const odd[] = {"", "junk", "5x", "5 ", "-5", "18446744073709551616"};
	uint64_t number = 7;

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		assert_int_equal(value_number(odd[i], &number), -EINVAL);
	assert_int_equal(number, 7);
	assert_int_equal(value_number("5\n", &number), 0);
	assert_int_equal(number, 5);
}

static void test_partition(void **state)
{
	char reason[64] = "kept";

	assert_true(same(GROUP_CPUSET_PARTITION, "root", "root"));
	assert_false(same(GROUP_CPUSET_PARTITION, "root", "root invalid (x)"));
	assert_false(value_partition_invalid("root", reason, sizeof(reason)));
	assert_string_equal(reason, "kept");
	assert_true(value_partition_invalid("root invalid (Cpu list in cpuset.cpus not exclusive)",
					    reason, sizeof(reason)));
	assert_string_equal(reason, "Cpu list in cpuset.cpus not exclusive");
	assert_true(value_partition_invalid("isolated invalid", reason, sizeof(reason)));
	assert_string_equal(reason, "");
	assert_true(value_partition_invalid("root invalid (a reason (with brackets))", reason, 10));
	assert_string_equal(reason, "a reason ");
	assert_true(value_partition_invalid("root invalid (abcde)", reason, 5));
	assert_string_equal(reason, "abcd");
}

static struct cpuset set_of(const char *list)
{
	struct cpuset set;

	assert_int_equal(cpuset_parse(list, strlen(list), &set), 0);
	return set;
}

static void test_effective(void **state)
{
	struct cpuset wanted = set_of("4-7"), whole = set_of("4-7"), less = set_of("4-5"),
		      parent = set_of("2-15"), half = set_of("7-8"), offline = set_of("6-7");

	assert_int_equal(value_effective(&wanted, &whole, NULL), EFFECTIVE_WHOLE);
	assert_int_equal(value_effective(&wanted, &less, NULL), EFFECTIVE_LESS);
	assert_int_equal(value_effective(&wanted, &less, &offline), EFFECTIVE_WHOLE);
	/* The kernel silently does this if a list does not intersect the parent's. */
	assert_int_equal(value_effective(&wanted, &parent, NULL), EFFECTIVE_FOREIGN);
	assert_int_equal(value_effective(&wanted, &half, NULL), EFFECTIVE_FOREIGN);
}

static void test_foreign_scopes(void **state)
{
	assert_true(tasks_is_foreign_scope("machine.slice"));
	assert_true(tasks_is_foreign_scope("system.slice/docker-0123.scope"));
	assert_true(tasks_is_foreign_scope("kubepods.slice"));
	assert_false(tasks_is_foreign_scope("system.slice"));
	assert_false(tasks_is_foreign_scope("system.slice/docker.service"));
	assert_false(tasks_is_foreign_scope("user.slice/user-0.slice/session-1.scope"));
}

static void test_flat(void **state)
{
	const char *text = "populated 1\nfrozen 0\n";
	uint64_t value = 7;

	assert_int_equal(dir_flat_value(text, "frozen", &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(dir_flat_value(text, "populated", &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(dir_flat_value(text, "popul", &value), -ENOENT);
	assert_int_equal(dir_flat_value("populated x\n", "populated", &value), -EINVAL);
	assert_int_equal(dir_flat_value("populated \n", "populated", &value), -EINVAL);
	assert_int_equal(dir_flat_value("populated ", "populated", &value), -EINVAL);
	assert_int_equal(dir_flat_value("populated 1x\n", "populated", &value), -EINVAL);
	/* Another key is as long, and another one ends like it. */
	assert_int_equal(dir_flat_value("something 5\nunpopulated 7\npopulated 3\n", "populated",
					&value),
			 0);
	assert_int_equal(value, 3);
	assert_int_equal(dir_flat_value("unpopulated 7\n", "populated", &value), -ENOENT);
	assert_true(dir_words_have("io cpu\n", "cpu"));
	assert_true(dir_words_have("cpuset cpu io", "cpu"));
	assert_true(dir_words_have("cpuset cpu", "cpuset"));
	assert_false(dir_words_have("cpuset io", "cpu"));
}

static void test_uevent(void **state)
{
	static const char off[] = "offline@/devices/system/cpu/cpu13\0ACTION=offline";
	static const char on[] = "online@/devices/system/cpu/cpu0";
	static const char other[] = "add@/devices/system/cpu/cpu1";
	static const char driver[] = "online@/devices/system/cpu/cpufreq";
	static const char bare[] = "online@/devices/system/cpu/cpu";
	static const char longer[] = "online@/devices/system/cpu/cpu1/node";

	assert_true(watch_is_cpu_event(off, sizeof(off)));
	assert_true(watch_is_cpu_event(on, sizeof(on)));
	assert_false(watch_is_cpu_event(other, sizeof(other)));
	assert_false(watch_is_cpu_event(driver, sizeof(driver)));
	assert_false(watch_is_cpu_event(bare, sizeof(bare)));
	assert_false(watch_is_cpu_event(longer, sizeof(longer)));
	assert_false(watch_is_cpu_event(on, 10)); /* not terminated */
	assert_false(watch_is_cpu_event("", 0));
}

static void test_units(void **state)
{
	char unit[64], slice[64];

	assert_int_equal(systemd_unit_of("pinfold.slice", unit, slice, sizeof(unit)), 0);
	assert_string_equal(unit, "pinfold.slice");
	assert_string_equal(slice, "-.slice");
	assert_int_equal(systemd_unit_of("pinfold.slice/pinfold-a.slice", unit, slice, 64), 0);
	assert_string_equal(slice, "pinfold.slice");
	assert_int_equal(systemd_unit_of("pinfold.slice/pinfold-a.slice/x.scope", unit, slice, 64),
			 0);
	assert_string_equal(unit, "x.scope");
	assert_string_equal(slice, "pinfold-a.slice");
	/* systemd would place these elsewhere. */
	assert_int_equal(systemd_unit_of("pinfold.slice/other.slice", unit, slice, 64), -EINVAL);
	assert_int_equal(systemd_unit_of("pinfold.slice/pinfuld-a.slice", unit, slice, 64),
			 -EINVAL);
	assert_int_equal(systemd_unit_of("pin.slice/pinfold-a.slice", unit, slice, 64), -EINVAL);
	assert_int_equal(systemd_unit_of("pinfold-b.slice/pinfold-a.slice", unit, slice, 64),
			 -EINVAL);
	/* A suffix alone is not a name. */
	assert_int_equal(systemd_unit_of(".slice", unit, slice, 64), -EINVAL);
	assert_int_equal(systemd_unit_of(".slice/x.scope", unit, slice, 64), -EINVAL);
	/* Both names and their ends must fit. */
	assert_int_equal(systemd_unit_of("pinfold.slice/x.scope", unit, slice, 13), -ENAMETOOLONG);
	assert_int_equal(systemd_unit_of("pinfold.slice/x.scope", unit, slice, 14), 0);
	assert_int_equal(systemd_unit_of("pinfold-a.slice", unit, slice, 64), -EINVAL);
	assert_int_equal(systemd_unit_of("pinfold.slice/plain", unit, slice, 64), -EINVAL);
	assert_int_equal(systemd_unit_of("plain/x.scope", unit, slice, 64), -EINVAL);
	assert_int_equal(systemd_unit_of("pinfold.slice", unit, slice, 8), -ENAMETOOLONG);
}

static void test_masks(void **state)
{
	struct cpuset set = set_of("0,9,15,16"), empty = CPUSET_EMPTY;
	uint8_t mask[8];

	assert_int_equal(systemd_mask(&set, mask, sizeof(mask)), 3);
	assert_int_equal(mask[0], 0x01);
	assert_int_equal(mask[1], 0x82);
	assert_int_equal(mask[2], 0x01);
	assert_int_equal(systemd_mask(&empty, mask, sizeof(mask)), 0);
}

static void test_quota(void **state)
{
	uint64_t per_sec, period;

	assert_int_equal(systemd_quota("150000 100000", &per_sec, &period), 0);
	assert_int_equal(per_sec, 1500000);
	assert_int_equal(period, 100000);
	assert_int_equal(systemd_quota("max", &per_sec, &period), 0);
	assert_true(per_sec == UINT64_MAX);
	assert_int_equal(systemd_quota("fast", &per_sec, &period), -EINVAL);
}

static void limits_are_numbers(void **state)
{
	static const struct {
		char weight[24], quota[48], memory[24];
		struct group_limits limits;
	} rows[] = {
		{"59", "50000 100000\n", "1073741824\n", {59, 500, 1 << 30}},
		{"", "max 100000", "max", {0, RESOURCE_UNSET, 0}},
		{"100\n", "50000", "", {100, 500, 0}},
		{"x", "1 0", "12 34", {0, RESOURCE_UNSET, 0}},
		{"1", "9223372036854775807 100000", "18446744073709551614", {1, RESOURCE_UNSET, 0}},
		{"1", "-5 100000", "-1", {1, RESOURCE_UNSET, 0}},
	};
	struct group_limits limits;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char weight[24], quota[48], memory[24];
		const struct group group = {.files = {[GROUP_CPU_WEIGHT] = weight,
						      [GROUP_CPU_MAX] = quota,
						      [GROUP_MEMORY_MAX] = memory}};

		memcpy(weight, rows[i].weight, sizeof(weight));
		memcpy(quota, rows[i].quota, sizeof(quota));
		memcpy(memory, rows[i].memory, sizeof(memory));
		value_limits(&group, &limits);
		assert_int_equal(limits.cpu_weight, rows[i].limits.cpu_weight);
		assert_int_equal(limits.quota_mcpu, rows[i].limits.quota_mcpu);
		assert_int_equal(limits.memory_max_bytes, rows[i].limits.memory_max_bytes);
	}
	value_limits(&(struct group){0}, &limits);
	assert_int_equal(limits.cpu_weight, 0);
	assert_int_equal(limits.quota_mcpu, RESOURCE_UNSET);
	assert_int_equal(limits.memory_max_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_numbers), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_cpu_max),	      cmocka_unit_test(test_memory),
		cmocka_unit_test(test_weight),	      cmocka_unit_test(test_partition),
		cmocka_unit_test(test_effective),     cmocka_unit_test(test_foreign_scopes),
		cmocka_unit_test(test_flat),	      cmocka_unit_test(test_uevent),
		cmocka_unit_test(test_units),	      cmocka_unit_test(test_masks),
		cmocka_unit_test(test_quota),	      cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
