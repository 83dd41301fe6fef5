/* SPDX-License-Identifier: Apache-2.0 */
/* From what the agent answers to what the API server is sent, and what that says of a failure. */
#ifndef PUBLISHER_OBJECT_H
#define PUBLISHER_OBJECT_H

#include "lib/text.h"

#define OBJECT_ERROR_MAX 256

/*
 * Append the NodeResourceTopology that `answer` describes, under the name of the node, with nothing
 * else of its metadata. -EBADMSG: it is not one, and `error` (OBJECT_ERROR_MAX bytes) says why;
 * -ENOMEM.
 */
int object_read(const char *answer, size_t len, const char *node, struct text *out, char *error);

/* The sentence in an error of the API server, printable; "" if there is none. */
void object_read_error(const char *answer, size_t len, char ret_sentence[OBJECT_ERROR_MAX]);

#endif
