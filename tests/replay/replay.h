/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contract between the player of recorded vectors and the families of kinds.
 *
 * A family is one file here that defines the functions of its kinds, declared
 * below. They are weak: a family that is not built leaves its function NULL and
 * its cases are counted as skipped, never as passed.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include <json-c/json.h>

#include "core/policy/policy.h"
#include "core/topology/topology.h"

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED, OUTCOME_NR };

#define REPLAY_WHY_MAX 4096

struct replay {
	enum compatibility compatibility; /* what the case states, else the command line */
	struct topology_entry *topologies;
	size_t nr_topologies;
	/* Set by a handler: why the case failed or was skipped. */
	char why[REPLAY_WHY_MAX];
	/* Set by a handler that compared with the kubelet's own rules whatever the mode. */
	bool kubelet_rules;
};

typedef enum outcome replay_kind(struct replay *replay, struct json_object *line);

replay_kind replay_take_packed __attribute__((weak));
replay_kind replay_take_distributed __attribute__((weak));
replay_kind replay_resize_packed __attribute__((weak));
replay_kind replay_resize_distributed __attribute__((weak));
replay_kind replay_static __attribute__((weak));
replay_kind replay_admit __attribute__((weak));
replay_kind replay_checkpoint __attribute__((weak));
replay_kind replay_hint_merge __attribute__((weak));
replay_kind replay_memory_seq __attribute__((weak));
replay_kind replay_memory_reserved __attribute__((weak));
replay_kind replay_memory_checkpoint __attribute__((weak));
replay_kind replay_memory_restore __attribute__((weak));

/* Write `why` and return the outcome. */
enum outcome replay_fail(struct replay *replay, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
enum outcome replay_skip(struct replay *replay, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Has a line of this kind the members that its family reads, and one answer for each step?
 * `why` says what is missing.
 */
bool replay_has_shape(struct replay *replay, const char *kind, struct json_object *line);

/* The topology that `line` names in its field "topo"; NULL when it was not in the file. */
const struct topology *replay_topology(const struct replay *replay, struct json_object *line);

/* The expected answer in the mode asked for: want_fixed where given and repaired, else want. */
struct json_object *replay_want(const struct replay *replay, struct json_object *line);

/*
 * Does a refusal begin with the kubelet's reason? `raw` is its whole message. The reason
 * stands after "could not restore state from checkpoint" and before the advice to drain the
 * node; the words of Go's JSON and number libraries do not count. True without a reason.
 */
bool replay_says_reason(const char *raw, const char *error);

/* {"id", "memory", "hugepages", "kernel_free_pages"}, of a topology or of a memory_seq. */
void replay_node(struct json_object *object, struct topology_node *ret_node);

/* Fields by name; the second form of each is for absent fields. */
struct json_object *field_of(struct json_object *object, const char *name);
const char *field_text(struct json_object *object, const char *name, const char *absent);
int64_t field_int(struct json_object *object, const char *name, int64_t absent);
bool field_bool(struct json_object *object, const char *name);
/* A copy; false, and none, when it does not fit whole. */
bool field_copy(const char *text, char *buffer, size_t size);
/* A CPU list; absent = empty. False when it does not parse. */
bool field_cpus(struct json_object *object, const char *name, struct cpuset *ret_cpus);

#endif
