// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The annotations of OCI bundles: both runtimes, what is not stated, and what cannot be a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/bundle.h"
#include "lib/file.h"

#define UID "0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42"
#define CRI "io.kubernetes.cri."

static int parse(const char *text, struct bundle *ret_bundle)
{
	return bundle_parse(text, strlen(text), ret_bundle);
}

static void containerd_states_all_names(void **state)
{
	struct bundle bundle;

	assert_int_equal(parse("{\"ociVersion\": \"1.2.0\", \"annotations\": {"
			       "\"" CRI "container-name\": \"nginx\","
			       "\"" CRI "container-type\": \"container\","
			       "\"" CRI "sandbox-name\": \"web-0\","
			       "\"" CRI "sandbox-namespace\": \"shop\","
			       "\"" CRI "sandbox-uid\": \"" UID "\"}}",
			       &bundle),
			 0);
	assert_int_equal(bundle.kind, BUNDLE_CONTAINER);
	assert_string_equal(bundle.uid, UID);
	assert_string_equal(bundle.namespace, "shop");
	assert_string_equal(bundle.pod, "web-0");
	assert_string_equal(bundle.container, "nginx");
}

static void crio_states_the_labels_of_the_cri(void **state)
{
	struct bundle bundle;

	assert_int_equal(parse("{\"annotations\": {"
			       "\"io.kubernetes.cri-o.ContainerType\": \"container\","
			       "\"io.kubernetes.container.name\": \"db\","
			       "\"io.kubernetes.pod.name\": \"db-0.cell\","
			       "\"io.kubernetes.pod.namespace\": \"shop\","
			       "\"io.kubernetes.pod.uid\": \"" UID "\"}}",
			       &bundle),
			 0);
	assert_int_equal(bundle.kind, BUNDLE_CONTAINER);
	assert_string_equal(bundle.pod, "db-0.cell");
	assert_string_equal(bundle.container, "db");
	assert_string_equal(bundle.uid, UID);
}

/* containerd gives it no name, and CRI-O the name POD, which no container of the pod has. */
static void a_sandbox_has_no_containers_name(void **state)
{
	struct bundle bundle;

	assert_int_equal(parse("{\"annotations\": {"
			       "\"io.kubernetes.cri-o.ContainerType\": \"sandbox\","
			       "\"io.kubernetes.container.name\": \"POD\","
			       "\"io.kubernetes.pod.name\": \"db-0\","
			       "\"io.kubernetes.pod.namespace\": \"shop\"}}",
			       &bundle),
			 0);
	assert_int_equal(bundle.kind, BUNDLE_SANDBOX);
	assert_string_equal(bundle.pod, "db-0");
	assert_string_equal(bundle.container, "");
	assert_string_equal(bundle.uid, "");
}

/* docker and ctr write bundles without these annotations; a user may write some of them. */
static void what_is_not_stated_is_empty(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"annotations\": {}}",
		"{\"annotations\": {\"" CRI "sandbox-name\": \"web-0\"}}",
		"{\"annotations\": {\"" CRI "container-type\": \"other\","
		" \"" CRI "sandbox-name\": \"web-0\"}}",
		"{\"annotations\": {\"" CRI "container-type\": [\"container\"],"
		" \"" CRI "sandbox-name\": \"web-0\"}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct bundle bundle;

		assert_int_equal(parse(texts[i], &bundle), 0);
		assert_int_equal(bundle.kind, BUNDLE_UNSTATED);
		assert_string_equal(bundle.pod, "");
	}
}

static void what_cannot_be_a_name_is_not_stated(void **state)
{
	char longest[POD_CONTAINER_NAME + 1] = {0};
	const char *const names[] = {"",	   "a b",	"a/b",	       "/ab",  "a\\\"b",
				     "\\u001b[0m", "a\\u0000b", "n\xc3\xa4me", longest};
	struct bundle bundle;
	char text[512];

	memset(longest, 'a', POD_CONTAINER_NAME);
	for (size_t i = 0; i <= ARRAY_SIZE(names); i++) {
		/* In the last turn the longest name that fits. */
		bool fits = i == ARRAY_SIZE(names);

		longest[POD_CONTAINER_NAME - fits] = '\0';
		snprintf(text, sizeof(text),
			 "{\"annotations\": {\"" CRI "container-type\": \"container\","
			 "\"" CRI "sandbox-name\": \"web-0\", \"" CRI "container-name\": \"%s\"}}",
			 fits ? longest : names[i]);
		assert_int_equal(parse(text, &bundle), 0);
		assert_string_equal(bundle.pod, "web-0");
		assert_string_equal(bundle.container, fits ? longest : "");
	}
}

/* Each end of the ranges of characters that names consist of, and what is next to them. */
static void names_have_letters_digits_and_three_signs(void **state)
{
	static const char beside[] = "`{@[/:,^";
	struct bundle bundle;
	char text[256];

	for (size_t i = 0; i < sizeof(beside); i++) {
		/* In the last turn none of these. */
		const int nr = beside[i] != '\0';

		snprintf(text, sizeof(text),
			 "{\"annotations\": {\"" CRI "container-type\": \"container\","
			 "\"" CRI "container-name\": \"azAZ09-._%.*s\"}}",
			 nr, beside + i);
		assert_int_equal(parse(text, &bundle), 0);
		assert_string_equal(bundle.container, nr ? "" : "azAZ09-._");
	}
}

static void the_shares_are_read_where_they_are_a_number(void **state)
{
	static const struct {
		const char *text;
		int64_t shares;
	} cases[] = {
		{"{\"linux\": {\"resources\": {\"cpu\": {\"shares\": 1536, \"quota\": 1}}}}", 1536},
		{"{\"linux\": {\"resources\": {\"cpu\": {\"shares\": 99999999999999999999}}}}",
		 INT64_MAX},
		{"{\"linux\": {\"resources\": {\"cpu\": {\"shares\": \"1536\"}}}}", 0},
		{"{\"linux\": {\"resources\": {\"cpu\": {}}}}", 0},
		{"{\"linux\": {\"resources\": {\"cpu\": [1536]}}}", 0},
		{"{\"linux\": {\"resources\": null}}", 0},
		{"{\"linux\": 1536}", 0},
		{"{}", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bundle bundle;

		assert_int_equal(parse(cases[i].text, &bundle), 0);
		assert_int_equal(bundle.cpu_shares, cases[i].shares);
	}
}

static void the_other_amounts_are_read_as_the_shares_are(void **state)
{
	struct bundle bundle;

	assert_int_equal(
		parse("{\"linux\": {\"resources\": {\"cpu\": {\"quota\": 200000, \"period\": "
		      "100000}, \"memory\": {\"limit\": 67108864}}}}",
		      &bundle),
		0);
	assert_int_equal(bundle.cpu_quota_us, 200000);
	assert_int_equal(bundle.cpu_period_us, 100000);
	assert_int_equal(bundle.memory_bytes, 67108864);
	assert_int_equal(bundle.cpu_shares, 0);
	assert_int_equal(parse("{\"linux\": {\"resources\": {\"memory\": {\"limit\": \"1\"}}}}",
			       &bundle),
			 0);
	assert_int_equal(bundle.cpu_quota_us, 0);
	assert_int_equal(bundle.cpu_period_us, 0);
	assert_int_equal(bundle.memory_bytes, 0);
}

/* json-c counts in an int, in which this is the number of bytes that are there. */
static void a_length_of_gigabytes_is_refused(void **state)
{
	struct bundle bundle = {.pod = "untouched"};

	assert_int_equal(bundle_parse("{}", (1ULL << 32) + 2, &bundle), -EINVAL);
	assert_string_equal(bundle.pod, "untouched");
}

static void what_is_not_a_bundle_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "null", "[]", "{", "{\"annotations\": []}", "{\"annotations\": {\"a\": ",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct bundle bundle = {.pod = "untouched"};

		assert_int_equal(parse(texts[i], &bundle), -EINVAL);
		assert_string_equal(bundle.pod, "untouched");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containerd_states_all_names),
		cmocka_unit_test(crio_states_the_labels_of_the_cri),
		cmocka_unit_test(a_sandbox_has_no_containers_name),
		cmocka_unit_test(what_is_not_stated_is_empty),
		cmocka_unit_test(what_cannot_be_a_name_is_not_stated),
		cmocka_unit_test(names_have_letters_digits_and_three_signs),
		cmocka_unit_test(the_shares_are_read_where_they_are_a_number),
		cmocka_unit_test(the_other_amounts_are_read_as_the_shares_are),
		cmocka_unit_test(a_length_of_gigabytes_is_refused),
		cmocka_unit_test(what_is_not_a_bundle_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
