/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's requests until their answers have left, each with the time until which the
 * runtime waits. Only the time at which an answer leaves matters, not when it is given: one
 * that waits behind others in the socket can be late too.
 */
#ifndef NRI_PENDING_H
#define NRI_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NRI_PENDING_MAX 64 /* a runtime sends one request at a time */
#define NRI_NEVER	UINT64_MAX

enum nri_request_kind {
	NRI_REQUEST_PLAIN, /* the session answers by itself, at once */
	NRI_REQUEST_SYNCHRONIZE,
	NRI_REQUEST_CREATE,
	NRI_REQUEST_UPDATE,
	NRI_REQUEST_STOP,
};

struct nri_pending {
	uint32_t stream;
	enum nri_request_kind kind;
	uint64_t deadline_ns; /* NRI_NEVER = the runtime waits for any time */
	char *container_id;   /* of a creation; owned */
	bool is_answered;
	uint64_t answer_end; /* the answer has left once this many bytes were written */
};

struct nri_pendings {
	struct nri_pending items[NRI_PENDING_MAX];
	size_t nr;
};

void nri_pendings_fini(struct nri_pendings *pendings);
/* NULL if there are NRI_PENDING_MAX already. Valid until the next nri_pendings_sent(). */
struct nri_pending *nri_pendings_add(struct nri_pendings *pendings, uint32_t stream,
				     uint64_t deadline_ns);
/* The unanswered request of this stream, or NULL. */
struct nri_pending *nri_pendings_find(struct nri_pendings *pendings, uint32_t stream);
/* Is a request of this kind unanswered? */
bool nri_pendings_has(const struct nri_pendings *pendings, enum nri_request_kind kind);
/* `sent` bytes have been written in all: forget the answers among them. */
void nri_pendings_sent(struct nri_pendings *pendings, uint64_t sent);
/* The earliest deadline of an answer that has not left; NRI_NEVER if there is none. */
uint64_t nri_pendings_deadline(const struct nri_pendings *pendings);

#endif
