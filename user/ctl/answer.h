/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a request that changes something. */
#ifndef CTL_ANSWER_H
#define CTL_ANSWER_H

struct json_object;

/* HTTP statuses; format/views.h defines what they mean to the inspector. */
enum answer_status {
	STATUS_OK = 200,
	STATUS_REJECTED = 400,
	STATUS_UNKNOWN = 404,
	STATUS_CONFLICT = 409,
	STATUS_FAILED = 500,
	STATUS_NOT_READY = 503,
};

struct answer {
	struct json_object *json; /* owned by the sender; NULL = out of memory */
	enum answer_status status;
};

/* The request succeeded with this result; *takes* json. 0, or -ENOMEM if json is NULL. */
int answer_object(struct answer *answer, struct json_object *json);
/* The request failed, for the reason in the sentence. 0 or -ENOMEM. */
int answer_error(struct answer *answer, enum answer_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
