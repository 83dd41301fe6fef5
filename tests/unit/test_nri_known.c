// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/* What a runtime sends without what we do not know of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nri.pb-c.h"
#include "nri/known.h"
#include "nri/session.h"

static const ProtobufCMessageDescriptor *const descriptor = &nri__synchronize_request__descriptor;

/* One of each wire type; the last makes the message longer than a length of one byte can state. */
static ProtobufCMessageUnknownField unknown[] = {
	{1000, PROTOBUF_C_WIRE_TYPE_VARINT, 2, (uint8_t *)(uintptr_t) "\x80\x01"},
	{1001, PROTOBUF_C_WIRE_TYPE_64BIT, 8, (uint8_t *)(uintptr_t) "12345678"},
	{1002, PROTOBUF_C_WIRE_TYPE_32BIT, 4, (uint8_t *)(uintptr_t) "1234"},
	{1003, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, 202, NULL},
};

/* Returns its length; free `ret_bytes`. */
static size_t pack(bool with_unknown, uint8_t **ret_bytes)
{
	Nri__SynchronizeRequest request = NRI__SYNCHRONIZE_REQUEST__INIT;
	Nri__Container container = NRI__CONTAINER__INIT, *containers[] = {&container, &container};
	Nri__LinuxContainer on_linux = NRI__LINUX_CONTAINER__INIT;
	Nri__Pair label = NRI__PAIR__INIT, *labels[] = {&label};
	ProtobufCMessage *messages[] = {&request.base, &container.base, &on_linux.base,
					&label.base};

	label.key = "key";
	label.value = "value";
	on_linux.cgroups_path = "/path";
	container.id = "c";
	container.pid = 300;
	container.on_linux = &on_linux;
	container.labels = labels;
	container.n_labels = 1;
	request.containers = containers;
	request.n_containers = 2;
	request.more = true;
	for (size_t i = 0; with_unknown && i < 4; i++) {
		messages[i]->unknown_fields = unknown;
		messages[i]->n_unknown_fields = 4;
	}
	*ret_bytes = malloc(protobuf_c_message_get_packed_size(&request.base));
	assert_non_null(*ret_bytes);
	return protobuf_c_message_pack(&request.base, *ret_bytes);
}

static void what_is_known_stays_as_it_was(void **state)
{
	uint8_t *all, *expected, *packed;
	size_t len = pack(true, &all), expected_len = pack(false, &expected);
	ProtobufCMessage *message;

	len = nri_known_keep(descriptor, NULL, all, len);
	message = protobuf_c_message_unpack(descriptor, NULL, len, all);
	assert_non_null(message);
	assert_int_equal(protobuf_c_message_get_packed_size(message), expected_len);
	packed = malloc(expected_len);
	assert_non_null(packed);
	protobuf_c_message_pack(message, packed);
	assert_memory_equal(packed, expected, expected_len);
	protobuf_c_message_free_unpacked(message, NULL);
	free(packed);
	free(expected);
	free(all);
}

static void a_message_without_bytes_stays_empty(void **state)
{
	assert_int_equal(nri_known_keep(descriptor, NULL, NULL, 0), 0);
}

/* The author of a pod chooses how many it has, and what their keys are. */
static void a_list_keeps_some_of_our_pairs(void **state)
{
	enum { NR = 1000 };
	static Nri__Pair ours = NRI__PAIR__INIT, others = NRI__PAIR__INIT;
	Nri__Pair *pairs[NR];
	Nri__SynchronizeRequest request = NRI__SYNCHRONIZE_REQUEST__INIT, *kept;
	Nri__PodSandbox pod = NRI__POD_SANDBOX__INIT, *pods = &pod;
	uint8_t *bytes;
	size_t len;

	ours.key = "ours/key";
	ours.value = others.value = "value";
	others.key = "our";
	for (size_t i = 0; i < NR; i++)
		pairs[i] = i % 2 ? &ours : &others;
	pod.labels = pod.annotations = pairs;
	pod.n_labels = NR;
	pod.n_annotations = 6;
	pod.pid = 7;
	request.pods = &pods;
	request.n_pods = 1;
	bytes = malloc(protobuf_c_message_get_packed_size(&request.base));
	assert_non_null(bytes);
	len = protobuf_c_message_pack(&request.base, bytes);
	len = nri_known_keep(descriptor, "ours/", bytes, len);
	kept = nri__synchronize_request__unpack(NULL, len, bytes);
	assert_non_null(kept);
	assert_int_equal(kept->pods[0]->n_labels, NRI_PAIRS_MAX);
	assert_int_equal(kept->pods[0]->n_annotations, 3);
	assert_string_equal(kept->pods[0]->annotations[2]->key, "ours/key");
	assert_string_equal(kept->pods[0]->annotations[2]->value, "value");
	assert_int_equal(kept->pods[0]->pid, 7);
	nri__synchronize_request__free_unpacked(kept, NULL);
	free(bytes);
}

/* Each end of the bytes, exactly allocated so that a sanitizer sees what is read beyond. */
static void what_is_cut_off_is_left_to_be_rejected(void **state)
{
	uint8_t *all;
	const size_t len = pack(true, &all);
	size_t nr_rejected = 0;

	for (size_t cut = 1; cut < len; cut++) {
		uint8_t *bytes = malloc(cut);
		ProtobufCMessage *before, *after;
		size_t kept;

		assert_non_null(bytes);
		memcpy(bytes, all, cut);
		before = protobuf_c_message_unpack(descriptor, NULL, cut, bytes);
		kept = nri_known_keep(descriptor, NULL, bytes, cut);
		assert_true(kept <= cut);
		after = protobuf_c_message_unpack(descriptor, NULL, kept, bytes);
		assert_int_equal(!before, !after);
		nr_rejected += !after;
		if (before)
			protobuf_c_message_free_unpacked(before, NULL);
		if (after)
			protobuf_c_message_free_unpacked(after, NULL);
		free(bytes);
	}
	assert_true(nr_rejected > len / 2);
	free(all);
}

int main(void)
{
	static uint8_t text[202] = {200, 1};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_stays_as_it_was),
		cmocka_unit_test(a_message_without_bytes_stays_empty),
		cmocka_unit_test(a_list_keeps_some_of_our_pairs),
		cmocka_unit_test(what_is_cut_off_is_left_to_be_rejected),
	};

	memset(text + 2, 'x', sizeof(text) - 2);
	unknown[3].data = text;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
