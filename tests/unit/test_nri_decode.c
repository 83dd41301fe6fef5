// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/* Each field of NRI's messages reaches its place, and what is missing has its default. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nri/decode.h"

#define MEMORY	  65536 /* bytes */
#define NR_LABELS 100

static struct nri_memory memory;

static int set_up(void **state)
{
	nri_memory_init(&memory, MEMORY);
	return 0;
}

static int tear_down(void **state)
{
	nri_memory_clear(&memory);
	return 0;
}

static char *word(const char *text)
{
	return (char *)(uintptr_t)text;
}

/* Resources of which all numbers follow `first`. */
struct full_resources {
	Nri__LinuxResources row;
	Nri__LinuxCPU cpu;
	Nri__LinuxMemory memory;
	Nri__OptionalUInt64 shares, period;
	Nri__OptionalInt64 quota, limit;
};

static Nri__LinuxResources *make_resources(struct full_resources *full, int64_t first)
{
	nri__linux_resources__init(&full->row);
	nri__linux_cpu__init(&full->cpu);
	nri__linux_memory__init(&full->memory);
	nri__optional_uint64__init(&full->shares);
	nri__optional_uint64__init(&full->period);
	nri__optional_int64__init(&full->quota);
	nri__optional_int64__init(&full->limit);
	full->shares.value = (uint64_t)first;
	full->quota.value = first + 1;
	full->period.value = (uint64_t)first + 2;
	full->limit.value = first + 3;
	full->cpu.shares = &full->shares;
	full->cpu.quota = &full->quota;
	full->cpu.period = &full->period;
	full->cpu.cpus = word("2-3");
	full->cpu.mems = word("1");
	full->memory.limit = &full->limit;
	full->row.cpu = &full->cpu;
	full->row.memory = &full->memory;
	return &full->row;
}

static void expect_number(struct nri_number number, int64_t value)
{
	assert_true(number.is_set);
	assert_int_equal(number.value, value);
}

static void expect_cpu(const struct nri_resources *resources, int64_t first)
{
	expect_number(resources->shares, first);
	expect_number(resources->quota_us, first + 1);
	expect_number(resources->period_us, first + 2);
	assert_string_equal(resources->cpus, "2-3");
	assert_string_equal(resources->mems, "1");
}

static void expect_no_cpu(const struct nri_resources *resources)
{
	assert_false(resources->shares.is_set || resources->quota_us.is_set ||
		     resources->period_us.is_set);
	assert_string_equal(resources->cpus, "");
	assert_string_equal(resources->mems, "");
}

static void each_part_of_the_resources_may_be_missing(void **state)
{
	struct full_resources full;
	struct nri_resources resources;

	nri_decode_resources(make_resources(&full, 10), &resources);
	expect_cpu(&resources, 10);
	expect_number(resources.memory_bytes, 13);
	full.row.cpu = NULL;
	nri_decode_resources(&full.row, &resources);
	expect_no_cpu(&resources);
	expect_number(resources.memory_bytes, 13);
	full.row.cpu = &full.cpu;
	full.row.memory = NULL;
	nri_decode_resources(&full.row, &resources);
	expect_cpu(&resources, 10);
	assert_false(resources.memory_bytes.is_set);
	nri_decode_resources(NULL, &resources);
	expect_no_cpu(&resources);
	assert_false(resources.memory_bytes.is_set);
}

static void limits_of_huge_pages_are_read(void **state)
{
	struct full_resources full;
	struct nri_resources resources;
	Nri__HugepageLimit limits[NRI_MAX_HUGEPAGES + 2], *pointers[NRI_MAX_HUGEPAGES + 2];

	make_resources(&full, 10);
	for (size_t i = 0; i < NRI_MAX_HUGEPAGES + 2; i++) {
		nri__hugepage_limit__init(&limits[i]);
		limits[i].page_size = (char *)(uintptr_t)(i ? "2MB" : "1GB");
		limits[i].limit = i * 100;
		pointers[i] = &limits[i];
	}
	full.row.hugepage_limits = pointers;
	full.row.n_hugepage_limits = 2;
	nri_decode_resources(&full.row, &resources);
	/* One of 0 says that the container does not use them. */
	assert_int_equal(resources.nr_hugepages, 1);
	assert_string_equal(resources.hugepages[0].page_size, "2MB");
	assert_int_equal(resources.hugepages[0].bytes, 100);
	/* Those that do not fit are counted. */
	full.row.n_hugepage_limits = NRI_MAX_HUGEPAGES + 2;
	nri_decode_resources(&full.row, &resources);
	assert_int_equal(resources.nr_hugepages, NRI_MAX_HUGEPAGES + 1);
	assert_int_equal(resources.hugepages[NRI_MAX_HUGEPAGES - 1].bytes, NRI_MAX_HUGEPAGES * 100);
}

static void a_number_that_is_too_large_is_the_largest(void **state)
{
	struct full_resources full;
	struct nri_resources resources;

	make_resources(&full, 10);
	full.shares.value = UINT64_MAX;
	full.period.value = (uint64_t)INT64_MAX + 1;
	full.quota.value = -1;
	nri_decode_resources(&full.row, &resources);
	expect_number(resources.shares, INT64_MAX);
	expect_number(resources.period_us, INT64_MAX);
	expect_number(resources.quota_us, -1);
}

static void make_pair(Nri__Pair *pair, const char *key, const char *value)
{
	nri__pair__init(pair);
	pair->key = word(key);
	pair->value = word(value);
}

static void expect_pair(const struct nri_pairs *pairs, size_t i, const char *key, const char *value)
{
	assert_true(i < pairs->nr);
	assert_string_equal(pairs->pairs[i].key, key);
	assert_string_equal(pairs->pairs[i].value, value);
}

static void a_pod_is_decoded_whole(void **state)
{
	Nri__PodSandbox message = NRI__POD_SANDBOX__INIT;
	Nri__LinuxPodSandbox on_linux = NRI__LINUX_POD_SANDBOX__INIT;
	struct full_resources overhead, resources;
	Nri__Pair labels[2], annotation;
	Nri__Pair *label_rows[] = {&labels[0], &labels[1]}, *annotation_rows[] = {&annotation};
	struct nri_pod pod;

	make_pair(&labels[0], "l1", "v1");
	make_pair(&labels[1], "l2", "v2");
	make_pair(&annotation, "a1", "w1");
	message.id = word("id");
	message.name = word("name");
	message.uid = word("uid");
	message.namespace_ = word("namespace");
	message.runtime_handler = word("handler");
	message.pid = 7;
	message.labels = label_rows;
	message.n_labels = 2;
	message.annotations = annotation_rows;
	message.n_annotations = 1;
	message.on_linux = &on_linux;
	on_linux.cgroup_parent = word("parent");
	on_linux.cgroups_path = word("path");
	on_linux.pod_overhead = make_resources(&overhead, 20);
	on_linux.pod_resources = make_resources(&resources, 40);
	assert_int_equal(nri_decode_pod(&message, &memory, &pod), 0);
	assert_string_equal(pod.id, "id");
	assert_string_equal(pod.name, "name");
	assert_string_equal(pod.uid, "uid");
	assert_string_equal(pod.namespace, "namespace");
	assert_string_equal(pod.runtime_handler, "handler");
	assert_string_equal(pod.cgroup_parent, "parent");
	assert_string_equal(pod.cgroups_path, "path");
	assert_int_equal(pod.pid, 7);
	assert_int_equal(pod.labels.nr, 2);
	expect_pair(&pod.labels, 0, "l1", "v1");
	expect_pair(&pod.labels, 1, "l2", "v2");
	assert_int_equal(pod.annotations.nr, 1);
	expect_pair(&pod.annotations, 0, "a1", "w1");
	expect_cpu(&pod.overhead, 20);
	expect_cpu(&pod.resources, 40);
}

static void a_container_is_decoded_whole(void **state)
{
	Nri__Container message = NRI__CONTAINER__INIT;
	Nri__LinuxContainer on_linux = NRI__LINUX_CONTAINER__INIT;
	Nri__OptionalInt64 score = NRI__OPTIONAL_INT64__INIT;
	struct full_resources resources;
	Nri__Pair label, annotations[2];
	Nri__Pair *label_rows[] = {&label}, *annotation_rows[] = {&annotations[0], &annotations[1]};
	struct nri_container container;

	make_pair(&label, "l1", "v1");
	make_pair(&annotations[0], "a1", "w1");
	make_pair(&annotations[1], "a2", "w2");
	score.value = -999;
	message.id = word("id");
	message.pod_sandbox_id = word("pod");
	message.name = word("name");
	message.state = NRI_CONTAINER_RUNNING;
	message.pid = 8;
	message.labels = label_rows;
	message.n_labels = 1;
	message.annotations = annotation_rows;
	message.n_annotations = 2;
	message.on_linux = &on_linux;
	on_linux.cgroups_path = word("path");
	on_linux.oom_score_adj = &score;
	on_linux.resources = make_resources(&resources, 30);
	assert_int_equal(nri_decode_container(&message, &memory, &container), 0);
	assert_string_equal(container.id, "id");
	assert_string_equal(container.pod_id, "pod");
	assert_string_equal(container.name, "name");
	assert_int_equal(container.state, NRI_CONTAINER_RUNNING);
	assert_string_equal(container.cgroups_path, "path");
	assert_int_equal(container.pid, 8);
	assert_int_equal(container.labels.nr, 1);
	expect_pair(&container.labels, 0, "l1", "v1");
	assert_int_equal(container.annotations.nr, 2);
	expect_pair(&container.annotations, 0, "a1", "w1");
	expect_pair(&container.annotations, 1, "a2", "w2");
	expect_number(container.oom_score_adj, -999);
	expect_cpu(&container.resources, 30);
}

static void a_message_that_is_missing_is_an_empty_one(void **state)
{
	struct nri_container container;
	struct nri_pod pod;

	assert_int_equal(nri_decode_pod(NULL, &memory, &pod), 0);
	assert_string_equal(pod.id, "");
	assert_string_equal(pod.cgroup_parent, "");
	assert_int_equal(pod.labels.nr, 0);
	expect_no_cpu(&pod.overhead);
	assert_int_equal(nri_decode_container(NULL, &memory, &container), 0);
	assert_string_equal(container.id, "");
	assert_string_equal(container.cgroups_path, "");
	assert_false(container.oom_score_adj.is_set);
	expect_no_cpu(&container.resources);
}

static void a_state_that_is_not_known_is_unknown(void **state)
{
	static const struct {
		int32_t number;
		enum nri_container_state state;
	} rows[] = {
		{INT32_MIN, NRI_CONTAINER_UNKNOWN}, {-1, NRI_CONTAINER_UNKNOWN},
		{0, NRI_CONTAINER_UNKNOWN},	    {1, NRI_CONTAINER_CREATED},
		{4, NRI_CONTAINER_STOPPED},	    {5, NRI_CONTAINER_UNKNOWN},
		{INT32_MAX, NRI_CONTAINER_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Nri__Container message = NRI__CONTAINER__INIT;
		struct nri_container container;

		message.state = rows[i].number;
		assert_int_equal(nri_decode_container(&message, &memory, &container), 0);
		assert_int_equal(container.state, rows[i].state);
	}
}

/* The labels alone are above the limit; without them there would be room. */
static void memory_has_a_limit(void **state)
{
	Nri__Pair pair = NRI__PAIR__INIT;
	Nri__Pair *pairs[NR_LABELS];
	Nri__PodSandbox pod_message = NRI__POD_SANDBOX__INIT;
	Nri__Container container_message = NRI__CONTAINER__INIT;
	struct nri_pod pod = {.id = "untouched"};
	struct nri_container container = {.id = "untouched"};

	for (size_t i = 0; i < NR_LABELS; i++)
		pairs[i] = &pair;
	nri_memory_clear(&memory);
	nri_memory_init(&memory, NR_LABELS * sizeof(struct nri_pair));
	pod_message.labels = container_message.labels = pairs;
	pod_message.n_labels = container_message.n_labels = NR_LABELS;
	assert_int_equal(nri_decode_pod(&pod_message, &memory, &pod), -ENOMEM);
	assert_int_equal(nri_decode_container(&container_message, &memory, &container), -ENOMEM);
	assert_string_equal(pod.id, "untouched");
	assert_string_equal(container.id, "untouched");
}

static void a_runtime_is_decoded_whole(void **state)
{
	static const struct {
		int64_t milliseconds;
		uint32_t wanted;
	} times[] = {{-1, 0},
		     {0, 0},
		     {5000, 5000},
		     {UINT32_MAX, UINT32_MAX},
		     {(int64_t)UINT32_MAX + 1, UINT32_MAX}};
	Nri__ConfigureRequest message = NRI__CONFIGURE_REQUEST__INIT;
	struct nri_runtime runtime;

	message.config = word("config");
	message.runtime_name = word("containerd");
	message.runtime_version = word("2.1");
	message.nri_version = word("0.9.9");
	nri_decode_runtime(&message, &runtime);
	assert_string_equal(runtime.config, "config");
	assert_string_equal(runtime.name, "containerd");
	assert_string_equal(runtime.version, "2.1");
	assert_string_equal(runtime.nri_version, "0.9.9");
	assert_int_equal(runtime.known_events, 0x7ff);
	message.nri_version = word("0.10.0");
	nri_decode_runtime(&message, &runtime);
	assert_int_equal(runtime.known_events, 0x1fff);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		message.registration_timeout = times[i].milliseconds;
		message.request_timeout = 1;
		nri_decode_runtime(&message, &runtime);
		assert_int_equal(runtime.registration_timeout_ms, times[i].wanted);
		assert_int_equal(runtime.request_timeout_ms, 1);
		message.registration_timeout = 1;
		message.request_timeout = times[i].milliseconds;
		nri_decode_runtime(&message, &runtime);
		assert_int_equal(runtime.registration_timeout_ms, 1);
		assert_int_equal(runtime.request_timeout_ms, times[i].wanted);
	}
}

static void versions_are_compared_as_numbers(void **state)
{
	static const struct {
		const char *version;
		bool is_least;
	} rows[] = {
		{"1.12.1", true},  {"v1.12.1", true},  {"1.12.2", true}, {"1.12.10", true},
		{"1.13", true},	   {"1.13.0", true},   {"2.0.0", true},	 {"2.0", true},
		{"1.12.0", false}, {"1.12", false},    {"1.2.9", false}, {"1.11.99", false},
		{"0.99.9", false}, {"v0.12.1", false}, {"", false},	 {"v", false},
		{"2", false},	   {"unknown", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(nri_version_is_least(rows[i].version, 1, 12, 1), rows[i].is_least);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_part_of_the_resources_may_be_missing),
		TEST(limits_of_huge_pages_are_read),
		TEST(a_number_that_is_too_large_is_the_largest),
		TEST(a_pod_is_decoded_whole),
		TEST(a_container_is_decoded_whole),
		TEST(a_message_that_is_missing_is_an_empty_one),
		TEST(a_state_that_is_not_known_is_unknown),
		TEST(memory_has_a_limit),
		TEST(a_runtime_is_decoded_whole),
		TEST(versions_are_compared_as_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
