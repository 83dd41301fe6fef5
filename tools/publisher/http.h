/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP request with a bounded answer, by libcurl: no redirects, no proxies, no cookies. */
#ifndef PUBLISHER_HTTP_H
#define PUBLISHER_HTTP_H

#include "lib/text.h"

/* Of an answer; longer ones are an error. A node of 16 NUMA nodes is described in 10 KiB. */
#define HTTP_ANSWER_MAX (1024 * 1024)
#define HTTP_ERROR_MAX	320

struct http_call {
	const char *url;
	const char *method;	  /* with a body; NULL = GET */
	const char *body;	  /* NULL = none */
	const char *content_type; /* of the body */
	const char *token;	  /* a bearer's; NULL = none. Sent over https only */
	const char *ca_file;	  /* whom https trusts; NULL = nobody, so https is refused */
	unsigned int timeout_s;	  /* of all of it */
};

/*
 * Whatever the status is, *ret_status and `answer` are what came. -EIO: nothing came, not all, or
 * too much, and `error` (HTTP_ERROR_MAX bytes) says why. -ENOMEM.
 */
int http_ask(const struct http_call *call, long *ret_status, struct text *answer, char *error);

#endif
