/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of building a json-c object that either comes out whole or not at all:
 * a failed allocation is remembered, and build_finish then gives NULL. Shared
 * by the builders of views.h only.
 *
 * A json-c NULL is JSON null, so constructors of real values pass through
 * build_checked first. Values and items are taken, also on failure.
 */
#ifndef FORMAT_VIEW_BUILD_H
#define FORMAT_VIEW_BUILD_H

#include <json-c/json.h>

#include "core/ledger.h"

struct pod_problem;

struct build {
	bool failed;
};

struct json_object *build_checked(struct build *build, struct json_object *json);
/* `json`, or NULL and `json` released when anything failed. */
struct json_object *build_finish(const struct build *build, struct json_object *json);

struct json_object *build_object(struct build *build);
struct json_object *build_array(struct build *build);

void build_put(struct build *build, struct json_object *object, const char *key,
	       struct json_object *value);
void build_push(struct build *build, struct json_object *array, struct json_object *item);
void build_push_text(struct build *build, struct json_object *array, const char *text);

/* NULL text = null. */
void build_put_text(struct build *build, struct json_object *object, const char *key,
		    const char *text);
/* NULL or empty text = null: rows of fixed size say "none" with an empty string. */
void build_put_given(struct build *build, struct json_object *object, const char *key,
		     const char *text);
void build_put_int(struct build *build, struct json_object *object, const char *key, int64_t value);
/* Negative = not known = null; so the next two. */
void build_put_known(struct build *build, struct json_object *object, const char *key,
		     int64_t value);
void build_put_seconds(struct build *build, struct json_object *object, const char *key,
		       int64_t value_ns);
void build_put_answer(struct build *build, struct json_object *object, const char *key, int value);
void build_put_bool(struct build *build, struct json_object *object, const char *key, bool value);
/* The set as a CPU list; NULL = null. */
void build_put_set(struct build *build, struct json_object *object, const char *key,
		   const struct cpuset *set);
/* Memory nodes the container may use, all of them when it is not restricted. views.c */
void build_put_mems(struct build *build, struct json_object *object, const char *key,
		    const struct ledger *ledger, const struct grant *grant);
/* What keeps this pod from being held; NULL = nothing, or it is ending, which says more. views.c */
const struct pod_problem *build_problem_of(const struct ledger_pod *pod,
					   const struct pod_problem *problems, size_t nr_problems);
/* Fragmentation, totals per NUMA node, memory per node and type. view_capacity.c */
void build_put_capacity(struct build *build, struct json_object *object,
			const struct ledger *ledger);

#endif
