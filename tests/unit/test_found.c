// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime kubelet format core lib
/* What a container that was found asks for, from its bundle and its cgroup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/found.h"

#define POD	 "pod11111111-2222-3333-4444-555555555555"
#define MIB	 (1LL << 20)
#define UNSTATED RESOURCE_UNSET

struct container {
	const char *parent;			/* of the pod's cgroup, with a slash behind it */
	int64_t shares, quota_us, memory_bytes; /* of the bundle */
	const char *cpu_max, *memory_max;
};

static struct found_request read_found(const struct container *container)
{
	struct discovered_cgroup row = {
		.names = DISCOVERED_NAMES_READ,
		.namespace = (char *)(uintptr_t) "default",
		.pod = (char *)(uintptr_t) "db",
		.container = (char *)(uintptr_t) "main",
		.made_shares = container->shares,
		.made_quota_us = container->quota_us,
		.made_period_us = container->quota_us ? 100000 : 0,
		.made_memory_bytes = container->memory_bytes,
		.cpu_max = (char *)(uintptr_t)container->cpu_max,
		.memory_max = (char *)(uintptr_t)container->memory_max,
	};
	struct found_request request;
	char path[256];

	snprintf(path, sizeof(path), "%s" POD "/%064d", container->parent, 1);
	assert_int_equal(kubepods_parse(path, &row.name), KUBEPODS_CONTAINER);
	row.path = path;
	found_request_read(&row, &request);
	return request;
}

static void the_request_and_the_limit_are_inverted(void **state)
{
	const struct {
		struct container found;
		int64_t request, limit, memory_request, memory_limit;
		bool is_pod_level;
	} rows[] = {
		/* as created */
		{{"kubepods/", 2048, 200000, 64 * MIB, "200000 100000", "67108864"},
		 2000,
		 2000,
		 64 * MIB,
		 64 * MIB,
		 false},
		/* the cgroup is made, and the runtime has not written its files yet */
		{{"kubepods/", 2048, 200000, 64 * MIB, "max 100000", "max"},
		 2000,
		 2000,
		 64 * MIB,
		 64 * MIB,
		 false},
		/* a kubelet writes no quota for a container with CPUs of its own */
		{{"kubepods/", 2048, 0, 64 * MIB, "max 100000", "67108864"},
		 2000,
		 2000,
		 64 * MIB,
		 64 * MIB,
		 false},
		/* resized: CPUs, memory, and CPUs of a container that had no quota */
		{{"kubepods/", 2048, 200000, 64 * MIB, "400000 100000", "67108864"},
		 4000,
		 4000,
		 64 * MIB,
		 64 * MIB,
		 false},
		{{"kubepods/", 2048, 200000, 64 * MIB, "200000 100000", "134217728"},
		 2000,
		 2000,
		 128 * MIB,
		 128 * MIB,
		 false},
		{{"kubepods/", 2048, 0, 64 * MIB, "400000 100000", "67108864"},
		 4000,
		 4000,
		 64 * MIB,
		 64 * MIB,
		 false},
		/* the kernel rounds down to pages */
		{{"kubepods/", 2048, 200000, 64 * MIB + 1, "200000 100000", "67108864"},
		 2000,
		 2000,
		 64 * MIB + 1,
		 64 * MIB + 1,
		 false},
		/* not equal at its creation: the pod is Guaranteed by its own resources */
		{{"kubepods/", 1024, 400000, 64 * MIB, "400000 100000", "67108864"},
		 1000,
		 4000,
		 UNSTATED,
		 64 * MIB,
		 true},
		{{"kubepods/", 2048, 200000, 0, "200000 100000", "max"},
		 2000,
		 2000,
		 UNSTATED,
		 UNSTATED,
		 true},
		{{"kubepods/burstable/", 512, 0, 0, "max 100000", "max"},
		 500,
		 UNSTATED,
		 UNSTATED,
		 UNSTATED,
		 false},
		/* a Burstable pod's request need not follow its limit */
		{{"kubepods/burstable/", 512, 100000, 0, "200000 100000", "max"},
		 500,
		 2000,
		 UNSTATED,
		 UNSTATED,
		 false},
		{{"kubepods/besteffort/", 2, 0, 0, "max 100000", "max"},
		 UNSTATED,
		 UNSTATED,
		 UNSTATED,
		 UNSTATED,
		 false},
		/* files that cannot be read state nothing */
		{{"kubepods/burstable/", 512, 0, 0, NULL, NULL},
		 500,
		 UNSTATED,
		 UNSTATED,
		 UNSTATED,
		 false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct found_request request = read_found(&rows[i].found);
		const struct container_spec *spec = &request.container;

		if (!request.has_pod || !request.has_container)
			fail_msg("row %zu: %s", i, request.error);
		if (spec->request.cpu_mcpu != rows[i].request ||
		    spec->limit.cpu_mcpu != rows[i].limit ||
		    spec->request.memory_bytes != rows[i].memory_request ||
		    spec->limit.memory_bytes != rows[i].memory_limit ||
		    request.pod.has_pod_resources != rows[i].is_pod_level)
			fail_msg("row %zu: CPU %lld to %lld, memory %lld to %lld, pod level %d", i,
				 (long long)spec->request.cpu_mcpu, (long long)spec->limit.cpu_mcpu,
				 (long long)spec->request.memory_bytes,
				 (long long)spec->limit.memory_bytes,
				 request.pod.has_pod_resources);
	}
}

static void names_and_class_are_those_of_the_kubelet(void **state)
{
	const struct found_request request = read_found(
		&(struct container){"kubepods/burstable/", 512, 0, 0, "max 100000", "max"});

	assert_string_equal(request.pod.uid, POD + 3);
	assert_string_equal(request.pod.namespace, "default");
	assert_string_equal(request.pod.name, "db");
	assert_string_equal(request.container.name, "main");
	assert_int_equal(pod_qos(&request.pod), QOS_BURSTABLE);
	assert_true(request.pod.is_of_runtime);
}

static void without_names_there_is_no_request(void **state)
{
	struct discovered_cgroup row = {.names = DISCOVERED_NAMES_UNKNOWN};
	struct found_request request;

	kubepods_parse("kubepods/" POD, &row.name);
	found_request_read(&row, &request);
	assert_false(request.has_pod);
	assert_false(request.has_container);
	assert_non_null(strstr(request.error, "OCI bundle cannot be read"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_request_and_the_limit_are_inverted),
		cmocka_unit_test(names_and_class_are_those_of_the_kubelet),
		cmocka_unit_test(without_names_there_is_no_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
