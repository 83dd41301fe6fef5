// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime nri format core lib
/* What a runtime's figures say about the pod that a user wrote. */
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
#include "nri/session.h"
#include "request_scene.h"

#include "../lib/nri_recording.h"

/* --- quantities: forwards is the kubelet's helpers_linux.go ------------------------------------- */

static int64_t kubelet_shares(int64_t milli)
{
	int64_t shares = milli * 1024 / 1000;

	if (milli == 0 || shares < 2)
		return 2;
	return shares > 262144 ? 262144 : shares;
}

static int64_t kubelet_quota(int64_t milli, int64_t period_us)
{
	int64_t quota = milli * period_us / 1000;

	if (milli == 0)
		return 0;
	return quota < 1000 ? 1000 : quota;
}

static void shares_give_back_the_request(void **state)
{
	for (int64_t milli = 3; milli < 256000; milli++)
		assert_int_equal(pod_mcpu_of_shares(kubelet_shares(milli)), milli);
	for (int64_t milli = 0; milli < 3; milli++)
		assert_int_equal(pod_mcpu_of_shares(kubelet_shares(milli)), RESOURCE_UNSET);
	assert_int_equal(pod_mcpu_of_shares(kubelet_shares(400000)), 256000);
	assert_int_equal(pod_mcpu_of_shares(-1), RESOURCE_UNSET);
	assert_int_equal(pod_mcpu_of_shares(INT64_MAX), 256000);
}

static void a_quota_gives_back_the_limit(void **state)
{
	static const int64_t periods[] = {1000, 1500, 5000, 99999, 100000, 1000000};

	for (size_t i = 0; i < ARRAY_SIZE(periods); i++)
		for (int64_t milli = 1000; milli < 300000; milli += 7)
			assert_int_equal(request_mcpu_of_quota(kubelet_quota(milli, periods[i]),
							       periods[i]),
					 milli);
	for (int64_t milli = 10; milli < 1000; milli++)
		assert_int_equal(request_mcpu_of_quota(kubelet_quota(milli, 100000), 100000),
				 milli);
	assert_int_equal(request_mcpu_of_quota(kubelet_quota(3, 100000), 100000), 10);
	assert_int_equal(request_mcpu_of_quota(200000, 0), 2000);
	assert_int_equal(request_mcpu_of_quota(1, 100000), 1);
	assert_int_equal(request_mcpu_of_quota(2, 1), 2000);
	assert_int_equal(request_mcpu_of_quota(0, 100000), RESOURCE_UNSET);
	assert_int_equal(request_mcpu_of_quota(-1, 100000), RESOURCE_UNSET);
	assert_int_equal(request_mcpu_of_quota(INT64_MAX, 1), INT64_MAX);
}

/* --- the class -------------------------------------------------------------------------------- */

static void the_cgroup_parent_states_the_class(void **state)
{
	static const struct {
		const char *parent;
		enum qos_class qos;
	} parents[] = {
		{"/kubepods/pod" UID, QOS_GUARANTEED},
		{"/kubepods/burstable/pod" UID, QOS_BURSTABLE},
		{"/kubepods/besteffort/pod" UID, QOS_BEST_EFFORT},
		{"kubepods-pod11111111_2222_3333_4444_555555555555.slice", QOS_GUARANTEED},
		{"kubepods-burstable-pod11111111_2222.slice", QOS_BURSTABLE},
		{"kubepods-besteffort-pod11111111_2222.slice", QOS_BEST_EFFORT},
		{"kubelet-kubepods-burstable-pod11111111_2222.slice", QOS_BURSTABLE},
		{"/kubepods.slice/kubepods-pod11111111_2222.slice", QOS_GUARANTEED},
	};
	static const char *const strange[] = {
		"",
		"/",
		".slice",
		"-.slice",
		"a--b.slice",
		"system.slice",
		"/k8s.io/test",
		"kubepods.slice",
		"kubepods",
		"/kubepods/pod..",
		"kubepods-burstable.slice",
		"-kubepods-pod11111111_2222.slice",
		/* cut by the length of ".slice", it would be a pod's */
		"kubepods-pod11111111_2222.scope",
		/* a pod of podman */
		"/machine.slice/machine-libpod_pod_"
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.slice",
	};
	char long_name[2100];
	enum qos_class qos;

	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		assert_true(request_qos(parents[i].parent, &qos));
		assert_int_equal(qos, parents[i].qos);
	}
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++)
		assert_false(request_qos(strange[i], &qos));
	memset(long_name, '-', sizeof(long_name));
	strcpy(long_name + sizeof(long_name) - 7, ".slice");
	assert_false(request_qos(long_name, &qos));
	/* The first 2047 bytes of its path are the path of a pod. */
	memset(long_name, 'a', 667);
	strcpy(long_name + 667, "-kubepods-pod123.slice.slice");
	assert_false(request_qos(long_name, &qos));
}

/* --- pods ------------------------------------------------------------------------------------- */

static struct container_spec read_container(const char *parent, int64_t shares, int64_t quota,
					    int64_t memory)
{
	const struct nri_pod pod = make_pod(parent);
	const struct nri_container container = make_container("app", shares, quota, memory);
	struct container_spec spec;
	char error[REQUEST_ERROR_MAX] = "";

	assert_int_equal(request_of_container(&pod, &container, &spec, error), 0);
	assert_string_equal(error, "");
	return spec;
}

/* The class that admission would see if the pod had this one container. */
static enum qos_class class_of(struct container_spec container)
{
	const struct pod_spec spec = {
		.request = RESOURCES_UNSET,
		.limit = RESOURCES_UNSET,
		.overhead = RESOURCES_UNSET,
		.nr_containers = 1,
		.containers = &container,
	};

	return pod_qos(&spec);
}

static void a_guaranteed_container_has_equal_requests_and_limits(void **state)
{
	struct container_spec spec = read_container(GUARANTEED, 2048, 200000, 64 * MIB);

	assert_int_equal(spec.request.cpu_mcpu, 2000);
	assert_int_equal(spec.limit.cpu_mcpu, 2000);
	assert_int_equal(spec.request.memory_bytes, 64 * MIB);
	assert_int_equal(spec.limit.memory_bytes, 64 * MIB);
	assert_int_equal(class_of(spec), QOS_GUARANTEED);
	/* The kubelet drops the quota of a container with exclusive CPUs. */
	spec = read_container(GUARANTEED, 2048, 0, 64 * MIB);
	assert_int_equal(spec.limit.cpu_mcpu, 2000);
	assert_int_equal(class_of(spec), QOS_GUARANTEED);
	/* The smallest quota stands for less than it says. */
	spec = read_container(GUARANTEED, kubelet_shares(5), 1000, 64 * MIB);
	assert_int_equal(spec.limit.cpu_mcpu, 5);
	assert_int_equal(class_of(spec), QOS_GUARANTEED);
	/* More CPUs than shares can say. */
	spec = read_container(GUARANTEED, 262144, 30000000, 64 * MIB);
	assert_int_equal(spec.request.cpu_mcpu, 300000);
	assert_int_equal(class_of(spec), QOS_GUARANTEED);
	spec = read_container(GUARANTEED, 262144, 0, 64 * MIB);
	assert_int_equal(spec.request.cpu_mcpu, 256000);
	assert_int_equal(spec.limit.cpu_mcpu, 256000);
}

/* Pod-level resources can make a pod Guaranteed whose containers are not. */
static void what_does_not_fit_the_class_is_left_as_it_is(void **state)
{
	struct container_spec spec = read_container(GUARANTEED, 1024, 200000, 64 * MIB);

	assert_int_equal(spec.request.cpu_mcpu, 1000);
	assert_int_equal(spec.limit.cpu_mcpu, 2000);
	assert_int_equal(class_of(spec), QOS_BURSTABLE);
	assert_int_equal(class_of(read_container(GUARANTEED, 2048, 200000, 0)), QOS_BURSTABLE);
	assert_int_equal(class_of(read_container(GUARANTEED, 2, 0, 0)), QOS_BEST_EFFORT);
	spec = read_container(GUARANTEED, 2, 0, 64 * MIB);
	assert_int_equal(spec.request.memory_bytes, RESOURCE_UNSET);
	assert_int_equal(spec.limit.memory_bytes, 64 * MIB);
}

/* One container of a Burstable pod may look Guaranteed, and gets no exclusive CPUs for it. */
static void another_class_is_never_guaranteed(void **state)
{
	struct container_spec spec = read_container(BURSTABLE, 2048, 200000, 64 * MIB);

	assert_int_equal(spec.request.cpu_mcpu, 2000);
	assert_int_equal(spec.limit.cpu_mcpu, 2000);
	assert_int_equal(spec.request.memory_bytes, RESOURCE_UNSET);
	assert_int_equal(class_of(spec), QOS_BURSTABLE);
	assert_int_equal(class_of(read_container(BURSTABLE, 2048, 0, 64 * MIB)), QOS_BURSTABLE);
	assert_int_equal(class_of(read_container(BEST_EFFORT, 2, 0, 0)), QOS_BEST_EFFORT);
}

static struct pod_spec read_pod(const char *parent)
{
	const struct nri_pod pod = make_pod(parent);
	char error[REQUEST_ERROR_MAX];
	struct pod_spec spec;

	assert_int_equal(request_of_pod(&pod, &spec, error), 0);
	return spec;
}

static void the_class_of_a_pod_is_stated(void **state)
{
	const struct pod_spec guaranteed = read_pod(GUARANTEED), other = read_pod(NO_KUBELET);
	const struct pod_spec best_effort = read_pod(BEST_EFFORT);

	assert_true(guaranteed.is_of_runtime && other.is_of_runtime);
	assert_int_equal(pod_qos(&guaranteed), QOS_GUARANTEED);
	assert_int_equal(pod_qos(&best_effort), QOS_BEST_EFFORT);
	assert_int_equal(pod_qos(&other), QOS_BURSTABLE);
}

static void containers_show_pod_level_resources(void **state)
{
	const struct nri_pod guaranteed = make_pod(GUARANTEED), burstable = make_pod(BURSTABLE);
	const struct nri_container fitting = make_container("app", 2048, 200000, MIB);
	const struct nri_container limited = make_container("app", 1024, 200000, MIB);
	const struct nri_container unlimited = make_container("app", 2, 0, 0);
	const struct nri_container without_cpu = make_container("app", 2, 0, MIB);
	const struct nri_container without_memory = make_container("app", 2048, 200000, 0);

	assert_false(request_shows_pod_level(&guaranteed, &fitting));
	assert_true(request_shows_pod_level(&guaranteed, &limited));
	assert_true(request_shows_pod_level(&guaranteed, &unlimited));
	assert_true(request_shows_pod_level(&guaranteed, &without_cpu));
	assert_true(request_shows_pod_level(&guaranteed, &without_memory));
	assert_false(request_shows_pod_level(&burstable, &limited));
}

/* --- annotations ------------------------------------------------------------------------------ */

static int read_annotated(const struct nri_pair *pairs, size_t nr, const char *container,
			  struct pod_spec *ret_pod, struct container_spec *ret_container,
			  char error[REQUEST_ERROR_MAX])
{
	struct nri_pod pod = make_pod(GUARANTEED);
	struct nri_container row = make_container(container, 1024, 100000, MIB);
	int r;

	pod.annotations = (struct nri_pairs){pairs, nr};
	pod.resources = make_container("", 4096, 400000, 256 * MIB).resources;
	pod.overhead = make_container("", 256, 0, 16 * MIB).resources;
	r = request_of_pod(&pod, ret_pod, error);
	return r ? r : request_of_container(&pod, &row, ret_container, error);
}

static void annotations_state_the_kind_of_a_container(void **state)
{
	static const struct nri_pair pairs[] = {
		{"example.org/init-containers", "proxy"},
		{"pinfold.dev/sidecar-containers", "proxy,log"},
		{"pinfold.dev/init-containers", "migrate"},
	};
	static const struct {
		const char *name;
		enum container_kind kind;
	} containers[] = {
		{"migrate", CONTAINER_INIT}, {"proxy", CONTAINER_SIDECAR},
		{"log", CONTAINER_SIDECAR},  {"prox", CONTAINER_APP},
		{"logs", CONTAINER_APP},     {"app", CONTAINER_APP},
	};

	for (size_t i = 0; i < ARRAY_SIZE(containers); i++) {
		char error[REQUEST_ERROR_MAX];
		struct pod_spec pod;
		struct container_spec container;

		assert_int_equal(read_annotated(pairs, ARRAY_SIZE(pairs), containers[i].name, &pod,
						&container, error),
				 0);
		assert_int_equal(container.kind, containers[i].kind);
		assert_false(pod.has_pod_resources);
		assert_int_equal(pod.request.cpu_mcpu, RESOURCE_UNSET);
	}
}

static void pod_level_resources_are_read_if_the_pod_has_any(void **state)
{
	static const struct nri_pair pair = {"pinfold.dev/pod-level-resources", "true"};
	static const struct nri_pair none = {"pinfold.dev/pod-level-resources", "false"};
	char error[REQUEST_ERROR_MAX];
	struct pod_spec pod;
	struct container_spec container;

	assert_int_equal(read_annotated(&pair, 1, "app", &pod, &container, error), 0);
	assert_true(pod.has_pod_resources);
	assert_int_equal(pod.request.cpu_mcpu, 4000);
	assert_int_equal(pod.limit.cpu_mcpu, 4000);
	assert_int_equal(pod.request.memory_bytes, 256 * MIB);
	assert_int_equal(pod.limit.memory_bytes, 256 * MIB);
	assert_int_equal(pod.overhead.cpu_mcpu, 250);
	assert_int_equal(pod.overhead.memory_bytes, 16 * MIB);
	assert_int_equal(pod_qos(&pod), QOS_GUARANTEED);
	assert_int_equal(read_annotated(&none, 1, "app", &pod, &container, error), 0);
	assert_false(pod.has_pod_resources);
}

static void a_wrong_annotation_is_named(void **state)
{
	static const struct {
		struct nri_pair pairs[2];
		const char *error;
	} wrong[] = {
		{{{"pinfold.dev/init-container", "a"}, {"x", "y"}},
		 "unknown annotation pinfold.dev/init-container; remove it, or see "
		 "docs/kubernetes.md for those that pinfold reads"},
		{{{"x", "y"}, {"pinfold.dev/init-containers", "a,,b"}},
		 "invalid annotation pinfold.dev/init-containers 'a,,b': expected names of "
		 "containers separated by commas"},
		{{{"x", "y"}, {"pinfold.dev/init-containers", ""}},
		 "invalid annotation pinfold.dev/init-containers '': expected names of containers "
		 "separated by commas"},
		{{{"x", "y"}, {"pinfold.dev/sidecar-containers", "a, b"}},
		 "invalid annotation pinfold.dev/sidecar-containers 'a, b': expected names of "
		 "containers separated by commas"},
		{{{"x", "y"}, {"pinfold.dev/pod-level-resources", "yes"}},
		 "invalid annotation pinfold.dev/pod-level-resources 'yes': expected true or "
		 "false"},
		{{{"pinfold.dev/init-containers", "b,a"}, {"pinfold.dev/sidecar-containers", "a"}},
		 "container 'a' is in both annotations pinfold.dev/init-containers and "
		 "pinfold.dev/sidecar-containers; remove it from one of them"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char error[REQUEST_ERROR_MAX] = "";
		struct pod_spec pod = {.uid = "untouched"};
		struct container_spec container;

		assert_int_equal(read_annotated(wrong[i].pairs, 2, "app", &pod, &container, error),
				 -EINVAL);
		assert_string_equal(error, wrong[i].error);
		assert_string_equal(pod.uid, "untouched");
	}
}

/* A pod's author may write 256 KiB of names, and a name costs a comparison with every other. */
static void a_list_has_no_more_names_than_a_pod_has_containers(void **state)
{
	char names[POD_MAX_CONTAINERS * 2 + 2], error[REQUEST_ERROR_MAX] = "";
	const struct nri_pair pair = {"pinfold.dev/sidecar-containers", names};
	struct container_spec container;
	struct pod_spec pod;

	for (size_t i = 0; i < sizeof(names); i++)
		names[i] = i % 2 ? ',' : 'a';
	names[POD_MAX_CONTAINERS * 2 - 1] = '\0';
	assert_int_equal(read_annotated(&pair, 1, "app", &pod, &container, error), 0);
	names[POD_MAX_CONTAINERS * 2 - 1] = ',';
	names[POD_MAX_CONTAINERS * 2 + 1] = '\0';
	assert_int_equal(read_annotated(&pair, 1, "app", &pod, &container, error), -EINVAL);
	assert_string_equal(error, "annotation pinfold.dev/sidecar-containers names more than 128 "
				   "containers; remove some");
}

/* --- identities ------------------------------------------------------------------------------- */

static void assert_pod_error(struct nri_pod pod, const char *expected)
{
	char error[REQUEST_ERROR_MAX] = "";
	struct pod_spec spec;

	assert_int_equal(request_of_pod(&pod, &spec, error), -EINVAL);
	assert_string_equal(error, expected);
}

static void an_identity_that_cannot_be_kept_is_refused(void **state)
{
	struct nri_pod pod = make_pod(GUARANTEED);
	struct nri_container container = make_container("a/b", 2, 0, 0);
	char error[REQUEST_ERROR_MAX] = "", uid[80];
	struct container_spec spec;

	pod.uid = "";
	assert_pod_error(pod, "invalid pod uid '': expected up to 63 letters, digits and any of "
			      "'-'");
	memset(uid, 'a', sizeof(uid) - 1);
	uid[64] = '\0';
	pod.uid = uid;
	assert_pod_error(pod, "invalid pod uid "
			      "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': "
			      "expected up to 63 letters, digits and any of '-'");
	pod = make_pod(GUARANTEED);
	pod.namespace = "a\nb";
	assert_pod_error(pod, "invalid namespace 'a?b': expected up to 253 letters, digits and "
			      "any of '-.'");
	pod = make_pod(GUARANTEED);
	pod.name = "..";
	assert_int_equal(request_of_container(&pod, &container, &spec, error), -EINVAL);
	assert_string_equal(error, "invalid container name 'a/b': expected up to 63 letters, "
				   "digits and any of '-'");
}

/* --- recorded frames -------------------------------------------------------------------------- */

struct seen {
	struct nri_session *session;
	struct pod_spec pod;
	struct container_spec container;
	unsigned int nr;
};

static uint32_t configure(void *data, const struct nri_runtime *runtime)
{
	return 0;
}

static void answer(struct seen *seen, uint32_t request)
{
	assert_int_equal(nri_session_answer(seen->session, request, &(struct nri_answer){0}), 0);
}

static void read_both(struct seen *seen, const struct nri_pod *pod,
		      const struct nri_container *container)
{
	char error[REQUEST_ERROR_MAX];

	assert_int_equal(request_of_pod(pod, &seen->pod, error), 0);
	assert_int_equal(request_of_container(pod, container, &seen->container, error), 0);
	seen->nr++;
}

static void synchronize(void *data, uint32_t request, const struct nri_snapshot *snapshot)
{
	struct seen *seen = data;

	for (size_t i = 0; i < snapshot->nr_containers; i++)
		read_both(seen, &snapshot->pods[0], &snapshot->containers[i]);
	answer(seen, request);
}

static void create_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container)
{
	read_both(data, pod, container);
	answer(data, request);
}

static void update_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container,
			     const struct nri_resources *wanted)
{
	answer(data, request);
}

static void stop_container(void *data, uint32_t request, const struct nri_pod *pod,
			   const struct nri_container *container)
{
	answer(data, request);
}

static void container_event(void *data, enum nri_event event, const struct nri_pod *pod,
			    const struct nri_container *container)
{
}

static void pod_event(void *data, enum nri_event event, const struct nri_pod *pod)
{
}

static void updated(void *data, int32_t code, const char *text)
{
}

static struct seen play(const char *runtime, char name)
{
	static const struct nri_callbacks callbacks = {
		configure,	synchronize,	 create_container, update_container,
		stop_container, container_event, pod_event,	   updated,
	};
	const struct nri_options options = {.name = "probe", .index = "10", .nri_version = ""};
	struct recording recording;
	struct seen seen = {0};

	recording_read(runtime, name, &recording);
	assert_int_equal(nri_session_new(&options, &callbacks, &seen, 1, &seen.session), 0);
	for (size_t i = 0; i < recording.nr; i++)
		if (recording.frames[i].by_runtime)
			nri_session_receive(seen.session, recording.frames[i].data,
					    recording.frames[i].len, 1);
	nri_session_free(seen.session);
	recording_free(&recording);
	return seen;
}

static void recorded_containers_are_read(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(recorded_runtimes); i++) {
		struct seen seen = play(recorded_runtimes[i], 'A');

		assert_int_equal(seen.nr, 1);
		assert_string_equal(seen.pod.namespace, "default");
		assert_string_equal(seen.pod.name, "guar");
		assert_string_equal(seen.pod.uid, UID);
		assert_string_equal(seen.container.name, "c1");
		assert_int_equal(seen.container.request.cpu_mcpu, 2000);
		assert_int_equal(seen.container.limit.memory_bytes, 64 * MIB);
		assert_int_equal(class_of(seen.container), QOS_GUARANTEED);
		seen = play(recorded_runtimes[i], 'B');
		assert_int_equal(seen.nr, 2);
		/* no quota and no memory limit */
		seen = play(recorded_runtimes[i], 'E');
		assert_string_equal(seen.container.name, "e1");
		assert_int_equal(seen.container.request.cpu_mcpu, 1000);
		assert_int_equal(seen.container.limit.cpu_mcpu, RESOURCE_UNSET);
		assert_int_equal(class_of(seen.container), QOS_BURSTABLE);
	}
}

static void huge_pages_are_read(void **state)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {
		{"64KB", 64 << 10},
		{"2MB", 2 << 20},
		{"1GB", 1 << 30},
		{"429496729GB", 429496729ULL << 30},
	};
	static const char *const wrong[] = {"",	    "MB",   "0MB",	    "2", "2mb", "2M",
					    "-2MB", "2MB ", "42949672900GB"};
	const struct nri_pod pod = make_pod(GUARANTEED);
	struct nri_container container = make_container("c1", 2048, 200000, 64 * MIB);
	struct container_spec spec;
	char error[REQUEST_ERROR_MAX];

	container.resources.nr_hugepages = 1;
	container.resources.hugepages[0].bytes = 128 * MIB;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		container.resources.hugepages[0].page_size = sizes[i].name;
		assert_int_equal(request_of_container(&pod, &container, &spec, error), 0);
		assert_int_equal(spec.request.nr_hugepages, 1);
		assert_int_equal(spec.request.hugepages[0].size_bytes, sizes[i].bytes);
		assert_int_equal(spec.request.hugepages[0].bytes, 128 * MIB);
		assert_true(resources_same_memory(&spec.request, &spec.limit));
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		container.resources.hugepages[0].page_size = wrong[i];
		assert_int_equal(request_of_container(&pod, &container, &spec, error), -EINVAL);
		assert_non_null(strstr(error, "invalid huge page size '"));
	}
	container.resources.hugepages[0].page_size = "2MB";
	container.resources.hugepages[0].bytes = UINT64_MAX;
	assert_int_equal(request_of_container(&pod, &container, &spec, error), 0);
	assert_int_equal(spec.limit.hugepages[0].bytes, INT64_MAX);
	container.resources.nr_hugepages = NRI_MAX_HUGEPAGES + 1;
	assert_int_equal(request_of_container(&pod, &container, &spec, error), -EINVAL);
	assert_string_equal(error,
			    "the container has limits for 9 huge page sizes; expected 8 at most");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_give_back_the_request),
		cmocka_unit_test(a_quota_gives_back_the_limit),
		cmocka_unit_test(the_cgroup_parent_states_the_class),
		cmocka_unit_test(a_guaranteed_container_has_equal_requests_and_limits),
		cmocka_unit_test(what_does_not_fit_the_class_is_left_as_it_is),
		cmocka_unit_test(another_class_is_never_guaranteed),
		cmocka_unit_test(the_class_of_a_pod_is_stated),
		cmocka_unit_test(containers_show_pod_level_resources),
		cmocka_unit_test(annotations_state_the_kind_of_a_container),
		cmocka_unit_test(pod_level_resources_are_read_if_the_pod_has_any),
		cmocka_unit_test(a_wrong_annotation_is_named),
		cmocka_unit_test(a_list_has_no_more_names_than_a_pod_has_containers),
		cmocka_unit_test(an_identity_that_cannot_be_kept_is_refused),
		cmocka_unit_test(recorded_containers_are_read),
		cmocka_unit_test(huge_pages_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
