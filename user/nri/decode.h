/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the generated structs of protobuf-c to the plain ones of messages.h. The result
 * borrows the strings of the message; arrays are allocated in `memory`. -ENOMEM is the only
 * error: whatever is missing in a message has its default.
 */
#ifndef NRI_DECODE_H
#define NRI_DECODE_H

#include "nri.pb-c.h"
#include "nri/memory.h"
#include "nri/messages.h"

/* `message` may be NULL: every part of a message is optional. */
int nri_decode_pod(const Nri__PodSandbox *message, struct nri_memory *memory,
		   struct nri_pod *ret_pod);
int nri_decode_container(const Nri__Container *message, struct nri_memory *memory,
			 struct nri_container *ret_container);
void nri_decode_resources(const Nri__LinuxResources *message, struct nri_resources *ret_resources);
/* With the events that the stated version of NRI knows. */
void nri_decode_runtime(const Nri__ConfigureRequest *message, struct nri_runtime *ret_runtime);
/* Is the version, such as "0.12.1" or "v0.12.1", at least this one? False if it is not one. */
bool nri_version_is_least(const char *version, unsigned int major, unsigned int minor,
			  unsigned int patch);

#endif
