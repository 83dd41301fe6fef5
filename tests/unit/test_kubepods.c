// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* What cgroup paths say about pods: each known layout, and names that only look like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "format/kubepods.h"
#include "lib/cleanup.h"

#define UID  "0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42"
#define UID_ "0e8c1f5e_6f61_4c77_a0d2_1f5f3a6d9b42"
/* A static pod's uid is a hash of its manifest. */
#define STATIC_UID "b5ed8d5d7b9b6e5a7c6f1d2e3f4a5b6c"
#define ID	   "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define POD_ID	   "aa4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"

#define BURSTABLE "/kubepods.slice/kubepods-burstable.slice"
#define SLICE	  BURSTABLE "/kubepods-burstable-pod" UID_ ".slice"
#define KIND_ROOT "/kubelet.slice/kubelet-kubepods.slice"

struct layout {
	const char *path;
	struct kubepods_name name;
};

#define POD(systemd, class, uid_)                                             \
	{                                                                     \
		KUBEPODS_POD, systemd, true, class, RUNTIME_UNKNOWN, uid_, "" \
	}
#define CONTAINER(systemd, class, runtime, uid_)                            \
	{                                                                   \
		KUBEPODS_CONTAINER, systemd, true, class, runtime, uid_, ID \
	}
#define OF_PODMAN(systemd, uid_)                                                             \
	{                                                                                    \
		KUBEPODS_CONTAINER, systemd, false, QOS_GUARANTEED, RUNTIME_PODMAN, uid_, ID \
	}

static const struct layout layouts[] = {
	/* kubelet and containerd, cgroupfs driver */
	{"/kubepods/pod" UID, POD(false, QOS_GUARANTEED, UID)},
	{"/kubepods/burstable/pod" UID, POD(false, QOS_BURSTABLE, UID)},
	{"/kubepods/besteffort/pod" STATIC_UID, POD(false, QOS_BEST_EFFORT, STATIC_UID)},
	{"/kubepods/pod" UID "/" ID, CONTAINER(false, QOS_GUARANTEED, RUNTIME_CONTAINERD, UID)},
	{"/kubepods/burstable/pod" UID "/" ID,
	 CONTAINER(false, QOS_BURSTABLE, RUNTIME_CONTAINERD, UID)},
	/* kubelet and containerd, systemd driver */
	{"/kubepods.slice/kubepods-pod" UID_ ".slice", POD(true, QOS_GUARANTEED, UID)},
	{SLICE, POD(true, QOS_BURSTABLE, UID)},
	{SLICE "/cri-containerd-" ID ".scope",
	 CONTAINER(true, QOS_BURSTABLE, RUNTIME_CONTAINERD, UID)},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 CONTAINER(true, QOS_BEST_EFFORT, RUNTIME_CONTAINERD, UID)},
	/* CRI-O */
	{"/kubepods/pod" UID "/crio-" ID, CONTAINER(false, QOS_GUARANTEED, RUNTIME_CRIO, UID)},
	{SLICE "/crio-" ID ".scope", CONTAINER(true, QOS_BURSTABLE, RUNTIME_CRIO, UID)},
	/* cri-dockerd */
	{SLICE "/docker-" ID ".scope", CONTAINER(true, QOS_BURSTABLE, RUNTIME_DOCKER, UID)},
	/* --cgroup-root, as kind sets it */
	{KIND_ROOT "/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" UID_ ".slice",
	 POD(true, QOS_BURSTABLE, UID)},
	{"/kubelet/kubepods/burstable/pod" UID, POD(false, QOS_BURSTABLE, UID)},
	/* podman, with pods and without; docker */
	{"/libpod_parent/" POD_ID,
	 {KUBEPODS_POD, false, false, QOS_GUARANTEED, RUNTIME_UNKNOWN, POD_ID, ""}},
	{"/libpod_parent/" POD_ID "/libpod-" ID, OF_PODMAN(false, POD_ID)},
	{"/libpod_parent/libpod-" ID, OF_PODMAN(false, "")},
	{"/machine.slice/machine-libpod_pod_" POD_ID ".slice",
	 {KUBEPODS_POD, true, false, QOS_GUARANTEED, RUNTIME_UNKNOWN, POD_ID, ""}},
	{"/machine.slice/machine-libpod_pod_" POD_ID ".slice/libpod-" ID ".scope",
	 OF_PODMAN(true, POD_ID)},
	{"/machine.slice/libpod-" ID ".scope", OF_PODMAN(true, "")},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
	 OF_PODMAN(true, "")},
	{"/system.slice/docker-" ID ".scope",
	 {KUBEPODS_CONTAINER, true, false, QOS_GUARANTEED, RUNTIME_DOCKER, "", ID}},
	{"/docker/" ID, {KUBEPODS_CONTAINER, false, false, QOS_GUARANTEED, RUNTIME_DOCKER, "", ID}},
};

static void assert_name(const char *path, const struct kubepods_name *wanted)
{
	struct kubepods_name name;

	if (kubepods_parse(path, &name) != wanted->kind)
		fail_msg("%s is a %s", path, kubepods_kind_name(name.kind));
	assert_int_equal(name.kind, wanted->kind);
	assert_int_equal(name.is_systemd, wanted->is_systemd);
	assert_int_equal(name.has_qos, wanted->has_qos);
	assert_int_equal(name.qos, wanted->qos);
	assert_int_equal(name.runtime, wanted->runtime);
	assert_string_equal(name.uid, wanted->uid);
	assert_string_equal(name.id, wanted->id);
}

static void known_layouts_are_read(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		assert_name(layouts[i].path, &layouts[i].name);
}

static void slashes_do_not_matter(void **state)
{
	struct kubepods_name name;

	assert_int_equal(kubepods_parse(&SLICE[1], &name), KUBEPODS_POD);
	assert_int_equal(kubepods_parse("//kubepods//pod" UID "/", &name), KUBEPODS_POD);
	assert_int_equal(kubepods_parse("", &name), KUBEPODS_NONE);
	assert_int_equal(kubepods_parse("/", &name), KUBEPODS_NONE);
}

/* What is below a container carries the container's ids, so that its tasks can be attributed. */
static void nested_cgroups_belong_to_their_container(void **state)
{
	static const char *const below[] = {"/container", "/init.scope", "/kubepods/pod" UID "/" ID,
					    "/system.slice/docker-" ID ".scope"};
	char path[1024];
	struct kubepods_name name;

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(below); j++) {
			struct kubepods_name wanted = layouts[i].name;

			if (wanted.kind != KUBEPODS_CONTAINER)
				continue;
			wanted.kind = KUBEPODS_INSIDE;
			snprintf(path, sizeof(path), "%s%s", layouts[i].path, below[j]);
			assert_name(path, &wanted);
		}
	}
	assert_int_equal(kubepods_parse(SLICE "/crio-conmon-" ID ".scope/x", &name),
			 KUBEPODS_HELPER);
}

/* Of a container: 64 digits, and every one counts. */
static void ids_are_lower_case_hexadecimal(void **state)
{
	static const char good[] = "09af", bad[] = ".:`gAF_-";
	char path[] = "/docker/" ID;
	const size_t first = strlen("/docker/");
	struct kubepods_name name;

	for (size_t i = first; i < sizeof(path) - 1; i++) {
		const char before = path[i];

		for (const char *c = good; *c; c++) {
			path[i] = *c;
			assert_int_equal(kubepods_parse(path, &name), KUBEPODS_CONTAINER);
			assert_string_equal(name.id, path + first);
		}
		for (const char *c = bad; *c; c++) {
			path[i] = *c;
			assert_int_equal(kubepods_parse(path, &name), KUBEPODS_UNKNOWN);
		}
		path[i] = before;
	}
}

/* Of a pod: letters, digits and the driver's dash, which is "-" in the uid. */
static void uids_are_letters_and_digits(void **state)
{
	static const char good[] = "09azAZ", bad[] = ".:@[`{\\ ";
	char directory[] = "/kubepods/podabc", slice[] = "/kubepods.slice/kubepods-podabc.slice";
	char *const paths[] = {directory, slice};
	struct kubepods_name name;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char *uid = strstr(paths[i], "abc");

		for (size_t at = 0; at < 3; at++) {
			const char before = uid[at];

			for (const char *c = good; *c; c++) {
				uid[at] = *c;
				assert_int_equal(kubepods_parse(paths[i], &name), KUBEPODS_POD);
				assert_int_equal(strlen(name.uid), 3);
				assert_memory_equal(name.uid, uid, 3);
			}
			for (const char *c = bad; *c; c++) {
				uid[at] = *c;
				assert_int_equal(kubepods_parse(paths[i], &name), KUBEPODS_UNKNOWN);
			}
			uid[at] = before;
		}
	}
	/* A space is printable: a group above may have one. */
	assert_int_equal(kubepods_parse("/my group/kubepods/pod" UID, &name), KUBEPODS_POD);
}

static void levels_above_pods_are_parents(void **state)
{
	static const char *const paths[] = {
		"/kubepods",
		"/kubepods/burstable",
		"/kubepods/besteffort",
		"/kubepods.slice",
		BURSTABLE,
		KIND_ROOT,
		"/machine.slice",
		"/libpod_parent",
		"/docker",
	};
	struct kubepods_name name;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(kubepods_parse(paths[i], &name), KUBEPODS_PARENT);
}

static void monitors_are_helpers(void **state)
{
	static const char *const paths[] = {
		SLICE "/crio-conmon-" ID ".scope",	     "/kubepods/pod" UID "/crio-conmon-" ID,
		"/libpod_parent/" POD_ID "/conmon",	     "/libpod_parent/conmon",
		"/machine.slice/libpod-conmon-" ID ".scope",
	};
	struct kubepods_name name;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(kubepods_parse(paths[i], &name), KUBEPODS_HELPER);
}

static void odd_names_in_a_pods_place_are_unknown(void **state)
{
	static const char *const paths[] = {
		/* wrong escapes: each driver has its own */
		"/kubepods/pod" UID_,
		"/kubepods.slice/kubepods-pod" UID ".slice",
		"/kubepods.slice/kubepods-podab\\x2dcd.slice",
		/* no uid, or a longer one than any source gives */
		"/kubepods/pod",
		"/kubepods.slice/kubepods-pod.slice",
		"/kubepods/pod" ID,
		/* nested where systemd would not put it */
		"/kubepods.slice/kubepods-burstable-pod" UID_ ".slice",
		BURSTABLE "/kubepods-pod" UID_ ".slice",
		BURSTABLE "/kubepods-burstable-burstable.slice",
		"/kubepods/burstable/besteffort",
		"/kubepods.slice/pod" UID,
		"/kubepods.slice/foo.slice",
		"/kubepods.slice/kubepodz-burstable.slice",
		"/kubepods.slice/kubepodz-pod" UID_ ".slice",
		/* an id that is too short, too long, or of other digits */
		"/kubepods/pod" UID "/3f4e",
		"/kubepods/pod" UID "/" ID "0",
		"/kubepods/pod" UID "/A" POD_ID,
		SLICE "/cri-containerd-" ID "x.scope",
		SLICE "/cri-containerd-" ID ".slice",
		SLICE "/other-" ID ".scope",
		SLICE "/.scope",
		"/docker/buildx",
		"/libpod_parent/x",
	};
	struct kubepods_name name;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (kubepods_parse(paths[i], &name) != KUBEPODS_UNKNOWN)
			fail_msg("%s is a %s", paths[i], kubepods_kind_name(name.kind));
		assert_string_equal(name.id, "");
	}
}

static void other_cgroups_are_nothing(void **state)
{
	static const char *const paths[] = {
		"/system.slice/ssh.service",
		"/system.slice/docker-" ID ".service",
		"/system.slice/docker-1.scope",
		"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope",
		"/my-kubepods.slice",
		"/-kubepods.slice",
		"/.slice/-kubepods.slice",
		"/kubelex.slice/kubelet-kubepods.slice",
		/* only at the top */
		"/x/machine.slice",
		"/x/libpod_parent/" POD_ID,
		"/x/docker/" ID,
		/* below a name that is not known */
		"/kubepods/x/y",
		"/docker/buildx/" ID,
		"/kubepods.slice.d/kubepods-pod" UID_ ".slice",
		"/system.slice/kubepods.slice",
		"/system.slice/machine.slice/libpod-conmon",
		/* removed, beyond a cgroup namespace, or not printable */
		SLICE " (deleted)",
		SLICE "/cri-containerd-" ID ".scope (deleted)",
		"/../kubepods/pod" UID,
		"/kubepods/pod" UID "/../pod1",
		"/kubepods/pod1\n",
		"/\xffkubepods/pod" UID,
		"/\xff/kubepods/pod" UID,
		"\x1f/kubepods/pod" UID,
		"/\x7f/kubepods/pod" UID,
	};
	struct kubepods_name name;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (kubepods_parse(paths[i], &name) != KUBEPODS_NONE)
			fail_msg("%s is a %s", paths[i], kubepods_kind_name(name.kind));
		assert_string_equal(name.uid, "");
	}
}

static void every_value_has_a_word(void **state)
{
	for (enum kubepods_kind kind = 0; kind < KUBEPODS_KIND_NR; kind++)
		assert_non_null(kubepods_kind_name(kind));
	for (enum kubepods_runtime runtime = 0; runtime < RUNTIME_NR; runtime++)
		assert_non_null(kubepods_runtime_name(runtime));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_layouts_are_read),
		cmocka_unit_test(slashes_do_not_matter),
		cmocka_unit_test(nested_cgroups_belong_to_their_container),
		cmocka_unit_test(ids_are_lower_case_hexadecimal),
		cmocka_unit_test(uids_are_letters_and_digits),
		cmocka_unit_test(levels_above_pods_are_parents),
		cmocka_unit_test(monitors_are_helpers),
		cmocka_unit_test(odd_names_in_a_pods_place_are_unknown),
		cmocka_unit_test(other_cgroups_are_nothing),
		cmocka_unit_test(every_value_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
