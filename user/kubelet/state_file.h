/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of the kubelet's two state files have in common; nobody else includes it. */
#ifndef KUBELET_STATE_FILE_H
#define KUBELET_STATE_FILE_H

#include <json-c/json.h>

#include "kubelet/memory_state.h"
#include "kubelet/cpu_state.h"
#include "lib/text.h"

struct kubelet_reader {
	const struct kubelet *kubelet;
	enum kubelet_fault fault;
	char *error;
	size_t error_size;
	char unknown[48]; /* the first member that no version known here has; "" = none */
	char warning[160];
};

/* Note the fault and its sentence; returns -EINVAL. */
int kubelet_refuse(struct kubelet_reader *reader, enum kubelet_fault fault, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Put the kubelet's own words before the sentence noted last. Returns -EINVAL. */
int kubelet_put_before(struct kubelet_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Refuse a checksum that does not match the content. Returns -EINVAL. */
int kubelet_refuse_sum(struct kubelet_reader *reader, int64_t written);
/* 0 if the configured policy is the one in the file, else -EINVAL with a sentence. */
int kubelet_check_policy(struct kubelet_reader *reader, const char *prefix, const char *policy);
/*
 * The whole text as one JSON object; the caller puts it. By the rules of a release, null is
 * an object without members, as for Go.
 */
int kubelet_parse_json(struct kubelet_reader *reader, const char *data, size_t len,
		       struct json_object **ret_root);
int kubelet_check_object(struct kubelet_reader *reader, struct json_object *value,
			 const char *what);
/* A string without NUL in it; absent and null are "". NULL when it is something else. */
const char *kubelet_plain_string(struct json_object *value);
struct json_object *kubelet_member(struct json_object *object, const char *name);

/* Note the first member that is not in the NULL-terminated list `known`. */
void kubelet_note_unknown(struct kubelet_reader *reader, struct json_object *object,
			  const char *const *known);
/*
 * Judge a noted member once the rest was read with result `r`, which is returned where
 * none was noted. A kubelet that was downgraded ignores it, so where a checksum vouches
 * for the rest (`verified`) it is no more than a warning; otherwise -EINVAL.
 */
int kubelet_judge_unknown(struct kubelet_reader *reader, int r, bool verified, const char *newest);
/*
 * The object that member "data" holds as text under member "dataChecksum": how the
 * kubelet 1.37 writes both files. `what` is "cpu manager" or "memory manager". The caller
 * puts the object.
 */
int kubelet_read_data(struct kubelet_reader *reader, struct json_object *root, const char *what,
		      struct json_object **ret_inner);
/* Does the file claim to have that text, so that the older part does not count? */
bool kubelet_has_data(struct json_object *root);
/* Append the text and its checksum to a file up to its first checksum. -ENOMEM. */
int kubelet_append_data(struct text *text, const char *data);

/* As Go's encoder: also the characters that matter inside HTML are escaped. */
void kubelet_append_string(struct text *text, const char *string);
/* FNV-1a, 32 bits, continued from `sum`; begin with KUBELET_SUM_START. */
uint32_t kubelet_sum(uint32_t sum, const char *string);

#define KUBELET_SUM_START 2166136261U

/* Of the memory state: entries alone; the checksum of a layout (of layout 3: of the data). */
void kubelet_memory_entries_fini(struct kubelet_memory_entries *entries);
int kubelet_memory_sum(const struct kubelet_memory_state *state, enum kubelet_memory_layout layout,
		       uint32_t *ret_sum);

#endif
