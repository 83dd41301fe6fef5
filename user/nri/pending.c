// SPDX-License-Identifier: Apache-2.0
/* A small array; its order has no meaning. */
#include "nri/pending.h"

#include <stdlib.h>

void nri_pendings_fini(struct nri_pendings *pendings)
{
	for (size_t i = 0; i < pendings->nr; i++)
		free(pendings->items[i].container_id);
	pendings->nr = 0;
}

struct nri_pending *nri_pendings_add(struct nri_pendings *pendings, uint32_t stream,
				     uint64_t deadline_ns)
{
	struct nri_pending *pending;

	if (pendings->nr == NRI_PENDING_MAX)
		return NULL;
	pending = &pendings->items[pendings->nr++];
	*pending = (struct nri_pending){.stream = stream, .deadline_ns = deadline_ns};
	return pending;
}

struct nri_pending *nri_pendings_find(struct nri_pendings *pendings, uint32_t stream)
{
	for (size_t i = 0; i < pendings->nr; i++) {
		struct nri_pending *pending = &pendings->items[i];

		if (pending->stream == stream && !pending->is_answered)
			return pending;
	}
	return NULL;
}

bool nri_pendings_has(const struct nri_pendings *pendings, enum nri_request_kind kind)
{
	for (size_t i = 0; i < pendings->nr; i++) {
		if (pendings->items[i].kind == kind && !pendings->items[i].is_answered)
			return true;
	}
	return false;
}

void nri_pendings_sent(struct nri_pendings *pendings, uint64_t sent)
{
	size_t i = 0;

	while (i < pendings->nr) {
		struct nri_pending *pending = &pendings->items[i];

		if (pending->is_answered && pending->answer_end <= sent) {
			free(pending->container_id);
			*pending = pendings->items[--pendings->nr];
		} else {
			i++;
		}
	}
}

uint64_t nri_pendings_deadline(const struct nri_pendings *pendings)
{
	uint64_t deadline = NRI_NEVER;

	for (size_t i = 0; i < pendings->nr; i++) {
		if (pendings->items[i].deadline_ns < deadline)
			deadline = pendings->items[i].deadline_ns;
	}
	return deadline;
}
