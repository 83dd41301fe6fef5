/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the views of views.h only. */
#ifndef FORMAT_VIEW_PRIVATE_H
#define FORMAT_VIEW_PRIVATE_H

#include "format/view_objects.h"
#include "format/views.h"
#include "lib/arena.h"

#define SCHEMA_VERSION(row)                      \
	COUNT(row, schema_version, NULL, HIDDEN, \
	      "Version of this contract; fields are only added within one.")

/* NULL for an empty text: rows of fixed size say "none" with it. */
static inline const char *given(const char *text)
{
	return text && *text ? text : NULL;
}

#define KIND_HELP      "init, sidecar (init container that stays) or app."
#define ISOLATION_HELP "Whose CPUs: its own (container), the pod's pool, the node's (host)."

/* --- parts of several objects; view_pod.c ----------------------------------------------------- */

/* A container of a pod, by its name. */
struct named_grant_row {
	const char *name;
	enum container_kind kind;
	enum isolation isolation;
};
extern const struct object_desc named_grant_row_desc;

/* All of the ledger; NULL = no memory. `observed` as for view_pods. */
struct view_pod *pod_rows(struct arena *arena, const struct ledger *ledger,
			  const struct pods_observed *observed, size_t *ret_nr);

/* --- parts of several objects; view_use.c ------------------------------------------------------ */

/* What a container ran and waited; -1 or NULL = not known. */
struct container_use_row {
	const char *measured, *summary;
	int64_t window_ns, run_ns, outside_ns, wait_ns, cause_ns[WAIT_CAUSE_NR];
};
extern const struct object_desc container_use_row_desc;
/* What nobody observed. */
extern const struct container_use_row container_use_unknown;

/* What the line says of the grant. */
struct use_subject {
	enum isolation isolation;
	uint32_t nr_cpus;	/* that it may use */
	int64_t cpu_limit_mcpu; /* -1 = none */
};

/* The arena owns the text. */
struct container_use_row container_use_row_of(struct arena *arena,
					      const struct use_subject *subject,
					      const struct container_use *use);

/* --- parts of several objects; view_node.c ---------------------------------------------------- */

extern const struct object_desc machine_row_desc;
/* Its texts are borrowed from the topology or belong to the arena. */
struct machine_row machine_of(struct arena *arena, const struct ledger *ledger);

struct numa_row {
	uint32_t numa;
	uint64_t memory_bytes;
	const struct cpuset *cpus, *reserved, *shared, *exclusive;
};
extern const struct object_desc numa_row_desc;
/* What is in both; the arena owns it. */
const struct cpuset *common_cpus(struct arena *arena, const struct cpuset *a,
				 const struct cpuset *b);
/* One row for each memory node, ascending by id; the arena owns them. NULL = no memory. */
struct numa_row *numa_rows(struct arena *arena, const struct ledger *ledger, size_t *ret_nr);

/* The findings of the node. */
extern const struct object_desc finding_row_desc;

/* --- parts of several objects; view_refusal.c ------------------------------------------------- */

#define UNIT(row)                                    \
	TEXT(row, unit, NULL, HEAD | BARE | OR_NULL, \
	     "Of wanted and available: CPUs or bytes; null = these are none.")
/* "bytes", "CPUs", or NULL if the refusal has no numbers. */
const char *unit_of(const struct decision *decision);

extern const struct object_desc changes_row_desc;
/* What would admit the pod. The arena owns its texts; members that do not apply are NULL. */
struct changes_row changes_of(struct arena *arena, const struct decision *decision);

/* In the order of `refusals`; the arena owns the rows. NULL with *ret_nr 0 = no memory. */
struct view_refusal *refusal_rows(struct arena *arena, const struct refusal_row *refusals,
				  size_t nr_refusals, size_t *ret_nr);

/* --- all views -------------------------------------------------------------------------------- */

/* Memory nodes the container may use, all of them when it is not restricted. */
const struct cpuset *grant_mems(struct arena *arena, const struct ledger *ledger,
				const struct grant *grant);
/* What keeps this pod from being held; NULL = nothing, or it is ending, which says more. */
const struct pod_problem *problem_of(const struct ledger_pod *pod,
				     const struct pod_problem *problems, size_t nr_problems);
/* NULL = the pod is held. */
enum pod_condition condition_of(const struct ledger_pod *pod, const struct pod_problem *problem);

static inline uint32_t count_containers(const struct ledger *ledger)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
		nr += ledger_pod_at(ledger, i)->nr_grants;
	return nr;
}

/* --- texts; view_text.c ----------------------------------------------------------------------- */

/* The CPUs as a list, "" for none. */
const char *cpus_text(struct arena *arena, const struct cpuset *cpus);

/* "memory", or "hugepages-" and the size of its pages. */
const char *memory_name(struct arena *arena, uint64_t page_bytes);
const char *memory_type(struct arena *arena, const struct memory_manager *manager, uint32_t type);

/* The JSON of rows whose parts lie in `arena`; NULL when memory ran out, there or here. */
#define view_finish(arena, desc, rows, nr) ((arena)->failed ? NULL : object_json(desc, rows, nr))

#endif
