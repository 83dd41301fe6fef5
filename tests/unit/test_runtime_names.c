// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime nri format core lib
/* Borders of what a runtime's pods and containers may be called and may ask for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/text.h"
#include "request_scene.h"

static int read_pod(const struct nri_pod *pod, char error[REQUEST_ERROR_MAX])
{
	struct pod_spec spec;

	*error = '\0';
	return request_of_pod(pod, &spec, error);
}

static int read_container_name(const char *name)
{
	const struct nri_pod pod = make_pod(GUARANTEED);
	const struct nri_container container = make_container(name, 1024, 0, 0);
	char error[REQUEST_ERROR_MAX];
	struct container_spec spec;
	int r = request_of_container(&pod, &container, &spec, error);

	if (!r)
		assert_string_equal(spec.name, name);
	return r;
}

/* --- names -------------------------------------------------------------------------------------- */

static void names_have_letters_digits_and_few_others(void **state)
{
	char name[] = "a?b";

	for (int byte = 1; byte < 128; byte++) {
		const bool is_plain = (byte >= 'a' && byte <= 'z') ||
				      (byte >= 'A' && byte <= 'Z') ||
				      (byte >= '0' && byte <= '9') || byte == '-';
		struct nri_pod pod = make_pod(GUARANTEED);
		char error[REQUEST_ERROR_MAX];

		name[1] = (char)byte;
		assert_int_equal(read_container_name(name), is_plain ? 0 : -EINVAL);
		pod.uid = name;
		assert_int_equal(read_pod(&pod, error), is_plain ? 0 : -EINVAL);
		pod = make_pod(GUARANTEED);
		pod.namespace = name;
		assert_int_equal(read_pod(&pod, error), is_plain || byte == '.' ? 0 : -EINVAL);
		pod = make_pod(GUARANTEED);
		pod.name = name;
		assert_int_equal(read_pod(&pod, error), is_plain || byte == '.' ? 0 : -EINVAL);
	}
	assert_int_equal(read_container_name(""), -EINVAL);
}

static void names_have_a_length(void **state)
{
	char name[300], error[REQUEST_ERROR_MAX];
	struct nri_pod pod = make_pod(GUARANTEED);

	memset(name, 'a', sizeof(name));
	name[POD_CONTAINER_NAME - 1] = '\0';
	assert_int_equal(read_container_name(name), 0);
	name[POD_CONTAINER_NAME - 1] = 'a';
	name[POD_CONTAINER_NAME] = '\0';
	assert_int_equal(read_container_name(name), -EINVAL);
	name[POD_CONTAINER_NAME] = 'a';
	name[253] = '\0';
	pod.namespace = pod.name = name;
	assert_int_equal(read_pod(&pod, error), 0);
	name[253] = 'a';
	name[254] = '\0';
	pod.namespace = "default";
	assert_int_equal(read_pod(&pod, error), -EINVAL);
	assert_non_null(strstr(error, "invalid pod name 'aaa"));
}

/* The log of an operator is no place for what a terminal would act on. */
static void errors_show_what_can_be_printed(void **state)
{
	struct nri_pod pod = make_pod(GUARANTEED);
	char error[REQUEST_ERROR_MAX];

	pod.name = " ~\x7f\x1f\xc3\xa9";
	assert_int_equal(read_pod(&pod, error), -EINVAL);
	assert_string_equal(error, "invalid pod name ' ~???"
				   "?': expected up to 253 letters, digits and "
				   "any of '-.'");
}

/* --- lists -------------------------------------------------------------------------------------- */

static enum container_kind kind_of(const char *list, const char *name)
{
	const struct nri_pair pair = {"pinfold.dev/init-containers", list};
	const struct nri_container container = make_container(name, 1024, 0, 0);
	struct nri_pod pod = make_pod(GUARANTEED);
	char error[REQUEST_ERROR_MAX];
	struct container_spec spec;

	pod.annotations = (struct nri_pairs){&pair, 1};
	assert_int_equal(request_of_container(&pod, &container, &spec, error), 0);
	return spec.kind;
}

static void a_list_has_whole_names(void **state)
{
	assert_int_equal(kind_of("a", "a"), CONTAINER_INIT);
	assert_int_equal(kind_of("bb,a", "a"), CONTAINER_INIT);
	assert_int_equal(kind_of("a,bb", "bb"), CONTAINER_INIT);
	assert_int_equal(kind_of("a,bb,c", "bb"), CONTAINER_INIT);
	assert_int_equal(kind_of("aa,bb", "a"), CONTAINER_APP);
	assert_int_equal(kind_of("aa,bb", "b"), CONTAINER_APP);
	assert_int_equal(kind_of("a,b", "ab"), CONTAINER_APP);
}

/* A container is not started with an annotation that its pod was not admitted with. */
static void a_container_is_refused_with_its_pods_annotations(void **state)
{
	static const struct nri_pair pairs[] = {{"pinfold.dev/init-containers", "a,b"},
						{"pinfold.dev/sidecar-containers", "c,b"}};
	const struct nri_container container = make_container("x", 1024, 0, 0);
	struct nri_pod pod = make_pod(GUARANTEED);
	char error[REQUEST_ERROR_MAX];
	struct container_spec spec = {.name = "untouched"};

	pod.annotations = (struct nri_pairs){pairs, 2};
	assert_int_equal(request_of_container(&pod, &container, &spec, error), -EINVAL);
	assert_string_equal(error,
			    "container 'b' is in both annotations pinfold.dev/init-containers "
			    "and pinfold.dev/sidecar-containers; remove it from one of them");
	assert_string_equal(spec.name, "untouched");
}

static void a_name_in_a_list_has_a_length(void **state)
{
	char list[POD_CONTAINER_NAME + 1], error[REQUEST_ERROR_MAX];
	const struct nri_pair pair = {"pinfold.dev/init-containers", list};
	struct nri_pod pod = make_pod(GUARANTEED);

	pod.annotations = (struct nri_pairs){&pair, 1};
	memset(list, 'a', sizeof(list));
	list[POD_CONTAINER_NAME - 1] = '\0';
	assert_int_equal(read_pod(&pod, error), 0);
	list[POD_CONTAINER_NAME - 1] = 'a';
	list[POD_CONTAINER_NAME] = '\0';
	assert_int_equal(read_pod(&pod, error), -EINVAL);
}

/* --- resources ---------------------------------------------------------------------------------- */

static struct container_spec read_container(int64_t shares, int64_t quota, int64_t memory)
{
	const struct nri_pod pod = make_pod(GUARANTEED);
	const struct nri_container container = make_container("app", shares, quota, memory);
	char error[REQUEST_ERROR_MAX];
	struct container_spec spec;

	assert_int_equal(request_of_container(&pod, &container, &spec, error), 0);
	return spec;
}

static void limits_count_for_requests_at_the_borders_only(void **state)
{
	/* The smallest quota stands for any limit up to 10m. */
	assert_int_equal(read_container(5, 1000, MIB).limit.cpu_mcpu, 5);
	assert_int_equal(read_container(10, 1000, MIB).limit.cpu_mcpu, 10);
	/* 12 shares are 12m, more than a limit of 10m. */
	assert_int_equal(read_container(12, 1000, MIB).limit.cpu_mcpu, 10);
	assert_int_equal(read_container(5, 1001, MIB).limit.cpu_mcpu, 11);
	/* Only the most shares stand for more CPUs than they say. */
	assert_int_equal(read_container(262144, 30000000, MIB).request.cpu_mcpu, 300000);
	assert_int_equal(read_container(262143, 30000000, MIB).request.cpu_mcpu, 256000);
	assert_int_equal(read_container(262144, 20000000, MIB).limit.cpu_mcpu, 200000);
	assert_int_equal(read_container(262144, 20000000, MIB).request.cpu_mcpu, 256000);
	/* A negative or absent limit of memory is none. */
	assert_int_equal(read_container(1024, 100000, -1).limit.memory_bytes, RESOURCE_UNSET);
	assert_int_equal(read_container(1024, 100000, 0).limit.memory_bytes, RESOURCE_UNSET);
	assert_int_equal(read_container(1024, 100000, 1).limit.memory_bytes, 1);
}

/* Numbers that the runtime did not set count for nothing, whatever they are. */
static void numbers_that_are_not_set_are_ignored(void **state)
{
	struct nri_container container = make_container("app", 2048, 200000, MIB);
	const struct nri_pod pod = make_pod(BURSTABLE);
	char error[REQUEST_ERROR_MAX];
	struct container_spec spec;

	container.resources.shares.is_set = container.resources.quota_us.is_set = false;
	container.resources.memory_bytes.is_set = false;
	assert_int_equal(request_of_container(&pod, &container, &spec, error), 0);
	assert_int_equal(spec.request.cpu_mcpu, RESOURCE_UNSET);
	assert_int_equal(spec.limit.cpu_mcpu, RESOURCE_UNSET);
	assert_int_equal(spec.limit.memory_bytes, RESOURCE_UNSET);
}

static void only_a_guaranteed_pods_memory_limit_is_its_request(void **state)
{
	static const struct nri_pair pair = {"pinfold.dev/pod-level-resources", "true"};
	static const char *const parents[] = {GUARANTEED, BURSTABLE};

	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		struct nri_pod pod = make_pod(parents[i]);
		char error[REQUEST_ERROR_MAX];
		struct pod_spec spec;

		pod.annotations = (struct nri_pairs){&pair, 1};
		pod.resources = make_container("", 4096, 400000, 256 * MIB).resources;
		assert_int_equal(request_of_pod(&pod, &spec, error), 0);
		assert_int_equal(spec.request.cpu_mcpu, 4000);
		assert_int_equal(spec.limit.memory_bytes, 256 * MIB);
		assert_int_equal(spec.request.memory_bytes, i ? RESOURCE_UNSET : 256 * MIB);
		/* Without a limit of the overhead's memory it is not known. */
		assert_int_equal(spec.overhead.memory_bytes, RESOURCE_UNSET);
		assert_int_equal(spec.overhead.cpu_mcpu, RESOURCE_UNSET);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_letters_digits_and_few_others),
		cmocka_unit_test(names_have_a_length),
		cmocka_unit_test(errors_show_what_can_be_printed),
		cmocka_unit_test(a_list_has_whole_names),
		cmocka_unit_test(a_container_is_refused_with_its_pods_annotations),
		cmocka_unit_test(a_name_in_a_list_has_a_length),
		cmocka_unit_test(limits_count_for_requests_at_the_borders_only),
		cmocka_unit_test(numbers_that_are_not_set_are_ignored),
		cmocka_unit_test(only_a_guaranteed_pods_memory_limit_is_its_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
