// SPDX-License-Identifier: Apache-2.0
/* libmicrohttpd counts who uses a response, and says when nobody does any more. */
#include "serve/page_copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/page.h"
#include "lib/cleanup.h"
#include "serve/respond.h"

/* What a response has. */
struct copy {
	struct page_copies *owner;
	char data[];
};

static void free_copy(void *data)
{
	struct copy *copy = data;

	copy->owner->nr--;
	free(copy);
}

void page_copies_drop(struct page_copies *copies)
{
	if (copies->latest)
		MHD_destroy_response(copies->latest);
	copies->latest = NULL;
}

static int renew(struct page_copies *copies, const struct face_page *page)
{
	struct copy *copy = malloc(sizeof(*copy) + page->len);
	struct MHD_Response *response;

	if (!copy)
		return -ENOMEM;
	copy->owner = copies;
	memcpy(copy->data, page->data, page->len);
	copies->nr++;
	response = respond_make_page(page_security_policy, copy->data, page->len, free_copy, copy);
	if (!response)
		return -ENOMEM;
	page_copies_drop(copies);
	copies->latest = response;
	copies->version = page->version;
	return 0;
}

enum MHD_Result page_copies_answer(struct page_copies *copies, struct MHD_Connection *connection,
				   const struct faces_port *faces, bool *ret_found)
{
	struct face_page page;
	int r = faces->page(faces->self, &page);

	*ret_found = r != -ENOENT;
	if (r == -ENOENT) {
		page_copies_drop(copies);
		return MHD_NO;
	}
	if (!r &&
	    (!copies->latest || (copies->version != page.version && copies->nr < PAGE_COPIES_MAX)))
		r = renew(copies, &page);
	if (r)
		return respond_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "page: %s",
				     strerror(-r));
	return MHD_queue_response(connection, MHD_HTTP_OK, copies->latest);
}
