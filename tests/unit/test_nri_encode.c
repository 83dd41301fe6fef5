// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/* What the agent sends, as protobuf-c reads it: each field, and the limit of the memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nri.pb-c.h"
#include "nri/encode.h"

#define MEMORY 65536 /* bytes */

static const struct nri_update updates[] = {
	{"c1", "2-3", "0", true},
	{"c2", "", "1", false},
};
static const struct nri_pair annotations[] = {{"a1", "v1"}, {"a2", "v2"}};
static const struct nri_adjustment adjustment = {.cpus = "4-5", .mems = "1", {annotations, 2}};

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

static void expect_updates(Nri__ContainerUpdate *const *rows, size_t nr)
{
	assert_int_equal(nr, ARRAY_SIZE(updates));
	for (size_t i = 0; i < nr; i++) {
		const Nri__LinuxCPU *cpu = rows[i]->on_linux->resources->cpu;

		assert_string_equal(rows[i]->container_id, updates[i].container_id);
		assert_int_equal(rows[i]->ignore_failure, updates[i].ignore_failure);
		assert_string_equal(cpu->cpus, updates[i].cpus);
		assert_string_equal(cpu->mems, updates[i].mems);
		assert_null(rows[i]->on_linux->resources->memory);
		assert_null(cpu->shares);
		assert_null(cpu->quota);
		assert_null(cpu->period);
	}
}

static void a_creation_has_an_adjustment_and_updates(void **state)
{
	ProtobufCBinaryData bytes;
	Nri__CreateContainerResponse *response;
	const Nri__LinuxCPU *cpu;

	assert_int_equal(nri_encode_creation(&adjustment, updates, 2, &memory, &bytes), 0);
	response = nri__create_container_response__unpack(NULL, bytes.len, bytes.data);
	assert_non_null(response);
	expect_updates(response->update, response->n_update);
	cpu = response->adjust->on_linux->resources->cpu;
	assert_string_equal(cpu->cpus, "4-5");
	assert_string_equal(cpu->mems, "1");
	assert_null(response->adjust->on_linux->resources->memory);
	assert_int_equal(response->adjust->n_annotations, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(response->adjust->annotations[i]->key, annotations[i].key);
		assert_string_equal(response->adjust->annotations[i]->value, annotations[i].value);
	}
	nri__create_container_response__free_unpacked(response, NULL);
}

static void a_creation_may_have_neither(void **state)
{
	ProtobufCBinaryData bytes;
	Nri__CreateContainerResponse *response;

	assert_int_equal(nri_encode_creation(NULL, NULL, 0, &memory, &bytes), 0);
	response = nri__create_container_response__unpack(NULL, bytes.len, bytes.data);
	assert_non_null(response);
	assert_null(response->adjust);
	assert_int_equal(response->n_update, 0);
	nri__create_container_response__free_unpacked(response, NULL);
}

static void updates_are_in_order(void **state)
{
	ProtobufCBinaryData bytes;
	Nri__Updates *message;

	assert_int_equal(nri_encode_updates(updates, 2, &memory, &bytes), 0);
	message = nri__updates__unpack(NULL, bytes.len, bytes.data);
	assert_non_null(message);
	expect_updates(message->update, message->n_update);
	nri__updates__free_unpacked(message, NULL);
}

static void a_failure_has_printable_text(void **state)
{
	ProtobufCBinaryData bytes;
	Nri__Response *response;

	assert_int_equal(nri_encode_failure(12, "\x1f !a~\x7f\xc3\xbc\n", &memory, &bytes), 0);
	response = nri__response__unpack(NULL, bytes.len, bytes.data);
	assert_non_null(response);
	assert_int_equal(response->status->code, 12);
	assert_string_equal(response->status->message, "? !a~????");
	assert_int_equal(response->payload.len, 0);
	nri__response__free_unpacked(response, NULL);
}

static void a_success_has_its_payload(void **state)
{
	uint8_t payload[] = {1, 0, 255};
	ProtobufCBinaryData bytes;
	Nri__Response *response;

	assert_int_equal(nri_encode_success((ProtobufCBinaryData){sizeof(payload), payload},
					    &memory, &bytes),
			 0);
	response = nri__response__unpack(NULL, bytes.len, bytes.data);
	assert_non_null(response);
	assert_null(response->status);
	assert_int_equal(response->payload.len, sizeof(payload));
	assert_memory_equal(response->payload.data, payload, sizeof(payload));
	nri__response__free_unpacked(response, NULL);
}

static void a_request_has_its_method_and_payload(void **state)
{
	uint8_t payload[] = {7, 8};
	ProtobufCBinaryData bytes;
	Nri__Request *request;

	assert_int_equal(nri_encode_request("service", "Method",
					    (ProtobufCBinaryData){sizeof(payload), payload},
					    &memory, &bytes),
			 0);
	request = nri__request__unpack(NULL, bytes.len, bytes.data);
	assert_non_null(request);
	assert_string_equal(request->service, "service");
	assert_string_equal(request->method, "Method");
	assert_int_equal(request->payload.len, sizeof(payload));
	assert_memory_equal(request->payload.data, payload, sizeof(payload));
	assert_int_equal(request->timeout_nano, 0);
	nri__request__free_unpacked(request, NULL);
}

static int encode_creation(ProtobufCBinaryData *ret_bytes)
{
	return nri_encode_creation(&adjustment, updates, 2, &memory, ret_bytes);
}

static int encode_updates(ProtobufCBinaryData *ret_bytes)
{
	return nri_encode_updates(updates, 2, &memory, ret_bytes);
}

static int encode_failure(ProtobufCBinaryData *ret_bytes)
{
	return nri_encode_failure(12, "no room", &memory, ret_bytes);
}

/* Whichever of its allocations is the first above the limit. */
static void with_too_little_memory_nothing_is_encoded(void **state)
{
	static int (*const encode[])(ProtobufCBinaryData *
				     ret_bytes) = {encode_creation, encode_updates, encode_failure};

	for (size_t i = 0; i < ARRAY_SIZE(encode); i++) {
		ProtobufCBinaryData bytes = {.len = 99};
		size_t limit = 0;
		int r;

		for (;; limit++) {
			nri_memory_clear(&memory);
			nri_memory_init(&memory, limit);
			r = encode[i](&bytes);
			if (!r)
				break;
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(bytes.len, 99);
		}
		assert_true(limit > 0 && limit < MEMORY);
		assert_int_not_equal(bytes.len, 99);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_creation_has_an_adjustment_and_updates),
		TEST(a_creation_may_have_neither),
		TEST(updates_are_in_order),
		TEST(a_failure_has_printable_text),
		TEST(a_success_has_its_payload),
		TEST(a_request_has_its_method_and_payload),
		TEST(with_too_little_memory_nothing_is_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
