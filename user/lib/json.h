/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership of JSON in one function. What JSON means is the business of user/format. */
#ifndef LIB_JSON_H
#define LIB_JSON_H

#include "lib/cleanup.h"

#include <json-c/json.h>

static inline void cleanup_put_json(struct json_object **json)
{
	json_object_put(*json);
}

/* For a reference that the function holds; TAKE_PTR hands it on. */
#define cleanup_json cleanup(cleanup_put_json)

#endif
