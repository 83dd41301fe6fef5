/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page for people as it is being sent. A peer may take seconds to read it, and all that read the
 * same version share one copy. Peers that read slowly keep old versions alive, so there are at most
 * PAGE_COPIES_MAX: until one of them is free, newcomers get the latest that was copied.
 */
#ifndef SERVE_PAGE_COPIES_H
#define SERVE_PAGE_COPIES_H

#include <microhttpd.h>

#include "ctl/ports.h"

#define PAGE_COPIES_MAX 3

/* Begin with {0}. Must not move, and must outlive the daemon whose peers read the copies. */
struct page_copies {
	struct MHD_Response *latest; /* owned; NULL = none yet */
	uint64_t version;	     /* of `latest` */
	unsigned int nr;	     /* copies in memory, with `latest` */
};

/* Peers that are still reading keep their copies. */
void page_copies_drop(struct page_copies *copies);
/*
 * Answer with the page. *ret_found is false if it is switched off; nothing is answered then, and
 * MHD_NO returned.
 */
enum MHD_Result page_copies_answer(struct page_copies *copies, struct MHD_Connection *connection,
				   const struct faces_port *faces, bool *ret_found);

#endif
