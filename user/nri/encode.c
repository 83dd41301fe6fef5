// SPDX-License-Identifier: Apache-2.0
/* Only cpusets are ever sent: a memory limit in an update would set swap as well. */
#include "nri/encode.h"

#include <errno.h>
#include <string.h>

#include "lib/text.h"
#include "nri.pb-c.h"

/* The messages that nest around the two lists of one update. */
struct nested_update {
	Nri__ContainerUpdate update;
	Nri__LinuxContainerUpdate on_linux;
	Nri__LinuxResources resources;
	Nri__LinuxCPU cpu;
};

/* protobuf-c does not change the strings of what it packs, but its structs are not const. */
static char *borrow(const char *string)
{
	return (char *)(uintptr_t)string;
}

int nri_encode(const ProtobufCMessage *message, struct nri_memory *memory,
	       ProtobufCBinaryData *ret_bytes)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	uint8_t *data = nri_memory_array(memory, 1, len);

	if (!data)
		return -ENOMEM;
	protobuf_c_message_pack(message, data);
	*ret_bytes = (ProtobufCBinaryData){.len = len, .data = data};
	return 0;
}

int nri_encode_success(ProtobufCBinaryData payload, struct nri_memory *memory,
		       ProtobufCBinaryData *ret_bytes)
{
	Nri__Response response = NRI__RESPONSE__INIT;

	response.payload = payload;
	return nri_encode(&response.base, memory, ret_bytes);
}

int nri_encode_failure(int32_t code, const char *text, struct nri_memory *memory,
		       ProtobufCBinaryData *ret_bytes)
{
	size_t size = strlen(text) + 1;
	char *printable = nri_memory_array(memory, 1, size);
	Nri__Response response = NRI__RESPONSE__INIT;
	Nri__Status status = NRI__STATUS__INIT;

	if (!printable)
		return -ENOMEM;
	/* A peer in Go rejects a message whose strings are not UTF-8. */
	memcpy(printable, text, size);
	text_make_printable(printable);
	status.code = code;
	status.message = printable;
	response.status = &status;
	return nri_encode(&response.base, memory, ret_bytes);
}

int nri_encode_request(const char *service, const char *method, ProtobufCBinaryData payload,
		       struct nri_memory *memory, ProtobufCBinaryData *ret_bytes)
{
	Nri__Request request = NRI__REQUEST__INIT;

	request.service = borrow(service);
	request.method = borrow(method);
	request.payload = payload;
	return nri_encode(&request.base, memory, ret_bytes);
}

static void fill_update(const struct nri_update *update, struct nested_update *ret_nested)
{
	nri__container_update__init(&ret_nested->update);
	nri__linux_container_update__init(&ret_nested->on_linux);
	nri__linux_resources__init(&ret_nested->resources);
	nri__linux_cpu__init(&ret_nested->cpu);
	ret_nested->update.container_id = borrow(update->container_id);
	ret_nested->update.ignore_failure = update->ignore_failure;
	ret_nested->update.on_linux = &ret_nested->on_linux;
	ret_nested->on_linux.resources = &ret_nested->resources;
	ret_nested->resources.cpu = &ret_nested->cpu;
	ret_nested->cpu.cpus = borrow(update->cpus);
	ret_nested->cpu.mems = borrow(update->mems);
}

static Nri__ContainerUpdate **fill_updates(const struct nri_update *updates, size_t nr,
					   struct nri_memory *memory)
{
	Nri__ContainerUpdate **pointers = nri_memory_array(memory, nr, sizeof(*pointers));
	struct nested_update *nested = nri_memory_array(memory, nr, sizeof(*nested));

	if (!pointers || !nested)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		fill_update(&updates[i], &nested[i]);
		pointers[i] = &nested[i].update;
	}
	return pointers;
}

int nri_encode_updates(const struct nri_update *updates, size_t nr_updates,
		       struct nri_memory *memory, ProtobufCBinaryData *ret_bytes)
{
	Nri__Updates message = NRI__UPDATES__INIT;

	message.n_update = nr_updates;
	message.update = fill_updates(updates, nr_updates, memory);
	return message.update ? nri_encode(&message.base, memory, ret_bytes) : -ENOMEM;
}

static Nri__Pair **fill_pairs(const struct nri_pairs *pairs, struct nri_memory *memory)
{
	Nri__Pair **pointers = nri_memory_array(memory, pairs->nr, sizeof(*pointers));
	Nri__Pair *messages = nri_memory_array(memory, pairs->nr, sizeof(*messages));

	if (!pointers || !messages)
		return NULL;
	for (size_t i = 0; i < pairs->nr; i++) {
		nri__pair__init(&messages[i]);
		messages[i].key = borrow(pairs->pairs[i].key);
		messages[i].value = borrow(pairs->pairs[i].value);
		pointers[i] = &messages[i];
	}
	return pointers;
}

int nri_encode_creation(const struct nri_adjustment *adjustment, const struct nri_update *updates,
			size_t nr_updates, struct nri_memory *memory,
			ProtobufCBinaryData *ret_bytes)
{
	Nri__CreateContainerResponse response = NRI__CREATE_CONTAINER_RESPONSE__INIT;
	Nri__ContainerAdjustment adjust = NRI__CONTAINER_ADJUSTMENT__INIT;
	Nri__LinuxContainerAdjustment on_linux = NRI__LINUX_CONTAINER_ADJUSTMENT__INIT;
	Nri__LinuxResources resources = NRI__LINUX_RESOURCES__INIT;
	Nri__LinuxCPU cpu = NRI__LINUX_CPU__INIT;

	response.n_update = nr_updates;
	response.update = fill_updates(updates, nr_updates, memory);
	if (!response.update)
		return -ENOMEM;
	if (adjustment) {
		adjust.n_annotations = adjustment->annotations.nr;
		adjust.annotations = fill_pairs(&adjustment->annotations, memory);
		if (!adjust.annotations)
			return -ENOMEM;
		cpu.cpus = borrow(adjustment->cpus);
		cpu.mems = borrow(adjustment->mems);
		resources.cpu = &cpu;
		on_linux.resources = &resources;
		adjust.on_linux = &on_linux;
		response.adjust = &adjust;
	}
	return nri_encode(&response.base, memory, ret_bytes);
}
