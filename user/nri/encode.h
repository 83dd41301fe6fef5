/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the plain structs of messages.h to the bytes that a request or a response carries.
 * The result is allocated in `memory`. -ENOMEM is the only error.
 */
#ifndef NRI_ENCODE_H
#define NRI_ENCODE_H

#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "nri/memory.h"
#include "nri/messages.h"

/* Any message of the generated ones. */
int nri_encode(const ProtobufCMessage *message, struct nri_memory *memory,
	       ProtobufCBinaryData *ret_bytes);
/* A response with the payload; an empty one is a response of no bytes at all. */
int nri_encode_success(ProtobufCBinaryData payload, struct nri_memory *memory,
		       ProtobufCBinaryData *ret_bytes);
/* A response with a status. Characters of `text` that are not printable ASCII become '?'. */
int nri_encode_failure(int32_t code, const char *text, struct nri_memory *memory,
		       ProtobufCBinaryData *ret_bytes);
int nri_encode_request(const char *service, const char *method, ProtobufCBinaryData payload,
		       struct nri_memory *memory, ProtobufCBinaryData *ret_bytes);

/* The payload of CreateContainer's response; `adjustment` may be NULL. */
int nri_encode_creation(const struct nri_adjustment *adjustment, const struct nri_update *updates,
			size_t nr_updates, struct nri_memory *memory,
			ProtobufCBinaryData *ret_bytes);
/* That of the responses to Synchronize, UpdateContainer and StopContainer, and of the request
 * UpdateContainers: all have the updates in their first field and nothing else. */
int nri_encode_updates(const struct nri_update *updates, size_t nr_updates,
		       struct nri_memory *memory, ProtobufCBinaryData *ret_bytes);

#endif
