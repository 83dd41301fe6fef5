/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of the interface: their descriptions, and pure builders that
 * make them from the core's structs and from rows (rows.h). The agent
 * (live), the inspector (cold: from the state file) and simulate build the
 * same JSON here; nobody writes a key by hand anywhere else.
 *
 * Every builder returns an object the caller owns (json_object_put), or NULL
 * when memory ran out. Strings in rows are borrowed for the call and may be
 * NULL: JSON null, "not known". Numbers say in their comment what stands for
 * not known.
 *
 * The agent serves each as GET /v1/<name>; a failure there is an HTTP status
 * with {"error": "<sentence>"} (view_error). Statuses and the inspector's exit
 * code: 400 and 404 input rejected (5), 403 not permitted (4), 409 refused by a
 * decision (1), 501 not supported on this machine (6), 503 not ready (3), every
 * other one failed (7).
 */
#ifndef FORMAT_VIEWS_H
#define FORMAT_VIEWS_H

#include <pinfold/abi.h>

#include "core/admit/admit.h"
#include "core/plan/plan.h"
#include "format/object.h"
#include "format/rows.h"
#include "format/words.h"

struct config;
/* format/event.h */
struct drift_row;
struct event_row;
struct view_node; /* view_objects.h */
struct view_container;
struct view_placement;
struct view_cpu_use;
struct view_usage;
struct view_pressure;
struct view_pressure_part;
struct view_pressure_second;
struct view_history;
struct view_latency;
struct view_memory;
struct view_process_memory;
struct view_noise;
struct view_irq;
struct view_stranger;
struct view_discovery;
struct view_watch;
struct view_bundle;

extern const struct object_desc view_node_desc, view_cpu_desc, view_pod_desc, view_container_desc,
	view_policy_desc, view_state_desc, view_ledger_desc, view_drift_desc, view_pressure_desc,
	view_noise_desc, view_irq_desc, view_stranger_desc, view_discovery_desc, view_event_desc,
	view_watch_desc, view_feature_desc, view_prog_desc, view_map_desc, view_guard_desc,
	view_refusal_desc, view_explain_desc, view_simulate_desc, view_version_desc, view_run_desc,
	view_metric_desc, view_budget_desc, view_error_desc, view_latency_desc,
	view_latency_bucket_desc, view_memory_desc, view_process_memory_desc, view_numa_desc,
	view_numa_distance_desc, view_placement_desc, view_placement_cpu_desc, view_bundle_desc,
	view_bundle_member_desc, view_bundle_gap_desc, view_history_desc, view_history_sample_desc,
	view_cpu_use_desc, view_usage_desc, view_usage_prog_desc, view_cost_desc,
	view_pressure_cpu_desc, view_pressure_numa_desc, view_pressure_second_desc;

/* All of the above but error, in the order of the manual; NULL-terminated. */
extern const struct object_desc *const view_descs[];
/* The description called `name`, or NULL. */
const struct object_desc *view_find(const char *name);

/* --- node, cpu, pod, container, policy: from decisions ---------------------------------------- */

/* `said` has what the ledger does not know of the node; the rest of it is not looked at. */
struct json_object *view_node(const struct ledger *ledger, const struct view_node *said);
/* Every CPU of the machine, in ascending order, with who holds it. */
struct json_object *view_cpus(const struct ledger *ledger);
/* CPUs that a kubelet gave to one of its containers alone, or to a pod. All is borrowed. */
struct cpu_claim {
	const char *uid;
	const char *namespace, *pod; /* NULL = unknown */
	const char *container;	     /* "" = the pod as a whole */
	const struct cpuset *cpus;
};
/*
 * The same where a kubelet decides and the ledger grants nothing: the claims hold CPUs, and
 * containers without exclusive ones run on `shared`. Claims of pods must precede those of their
 * containers, which are parts of them.
 */
struct json_object *view_kubelet_cpus(const struct ledger *ledger, const struct cpu_claim *claims,
				      size_t nr_claims, const struct cpuset *shared);
/* How long tasks waited for the CPUs of a NUMA node, in all and in a window; -1 = not known. */
struct numa_wait {
	int64_t total_ns, window_ns, window_wait_ns;
};
/*
 * `now` has the huge pages free in the kernel, by index of the topology's memory_nodes, and `waits` is by
 * index of its nodes; NULL = unknown.
 */
struct json_object *view_numas(const struct ledger *ledger, const struct topology_node *now,
			       const struct numa_wait *waits);

/* A pod of the ledger that is not held as decided, or of which nobody can tell. */
struct pod_problem {
	const char *uid;
	enum pod_condition condition; /* WAITING, FAILED or UNKNOWN, in the place of RUNNING */
	char detail[ROW_DETAIL_MAX];  /* why, in a sentence */
};

/* Whether it is known what a container ran and waited, and if not, why. */
enum use_state {
	USE_MEASURED,
	USE_AWAITED,
	USE_NO_CGROUP,
	USE_NO_SLOT,
	USE_NO_OBSERVER,
	USE_NO_BPF,
	USE_LEFT_OUT,
	USE_STATE_NR
};

/* What a container ran and waited in the last seconds; the numbers are of USE_MEASURED. */
struct container_use {
	const char *uid, *container;
	enum use_state state;
	int64_t window_ns, run_ns;
	int64_t outside_ns; /* part of run_ns: on CPUs that were not granted */
	int64_t cause_ns[WAIT_CAUSE_NR];
};

/* What the agent observed of the ledger's pods, in any order. */
struct pods_observed {
	const struct pod_problem *problems; /* without a row a pod is held */
	size_t nr_problems;
	const struct container_use *uses; /* without a row a container has no cgroup */
	size_t nr_uses;
};

/* `observed`: NULL = nobody did. */
struct json_object *view_pods(const struct ledger *ledger, const struct pods_observed *observed);

/* What nobody observed of a container. */
extern const struct view_container view_container_unknown;

/*
 * `desired` (plan_desired's tree) gives path, quota, weight and memory limit;
 * NULL leaves them null. `observed` has nr_observed rows in any order: uid and container say
 * of whom, and what the kernel says of it; the rest of them is not looked at.
 */
struct json_object *view_containers(const struct ledger *ledger, const struct group_tree *desired,
				    const struct view_container *observed, size_t nr_observed);

/*
 * The configuration read from `file`, and the policy it makes on this machine
 * (its own with what the machine adds). `reserved`: the CPUs in fact reserved
 * (ledger_reserved), NULL = not known yet.
 */
struct json_object *view_policy(const struct config *config, const char *file,
				const struct policy *policy, const struct cpuset *reserved);

/* --- rows ------------------------------------------------------------------------------------- */

struct view_state {
	const char *file;
	int present;			/* 1, 0 */
	int writable;			/* 1, 0; -1 = not known */
	int64_t version;		/* of the format; -1 = not known */
	const char *boot_id;		/* of the boot that wrote it */
	int64_t written_ns;		/* since 1970; -1 = not known */
	int64_t nr_pods, nr_containers; /* -1 = not known */
	const char *problem;		/* why it could not be used, NULL = none */
	size_t nr_set_aside;
	const char *const *set_aside; /* names of older files put aside */
};
/* One object, not an array. */
struct json_object *view_state(const struct view_state *row);
/* `state`: what the state file would hold now; for programs, so that they may decide on it. */
struct json_object *view_ledger(const char *state);

/* In the order of the rows. */
struct json_object *view_placements(const struct view_placement *rows, size_t nr_rows);
/* The body of POST /v1/container/placement: struct view_placement_request of view_objects.h. */
extern const struct object_desc view_placement_request_desc;
/* In the order of the rows. */
struct json_object *view_cpu_uses(const struct view_cpu_use *rows, size_t nr_rows);
/* In the order of the rows; a row that was not repaired is open. */
struct json_object *view_drifts(const struct drift_row *rows, size_t nr_rows);
/* In the order of the rows. */
struct json_object *view_pressures(const struct view_pressure *rows, size_t nr_rows);
struct json_object *view_pressure_cpus(const struct view_pressure_part *rows, size_t nr_rows);
struct json_object *view_pressure_numas(const struct view_pressure_part *rows, size_t nr_rows);
struct json_object *view_pressure_seconds(const struct view_pressure_second *rows, size_t nr_rows);
/* The body of POST /v1/pressure/cpu: struct view_pressure_cpu_request of view_objects.h. */
extern const struct object_desc view_pressure_cpu_request_desc;
/* The body of POST /v1/pressure/history: struct view_history_request of view_objects.h. */
extern const struct object_desc view_history_request_desc;
struct json_object *view_history(const struct view_history *row);
/* In the order of the rows. */
struct json_object *view_latencies(const struct view_latency *rows, size_t nr_rows);
/* In the order of the rows. */
struct json_object *view_memories(const struct view_memory *rows, size_t nr_rows);
struct json_object *view_process_memories(const struct view_process_memory *rows, size_t nr_rows);
/* In the order of the rows. */
struct json_object *view_noises(const struct view_noise *rows, size_t nr_rows);
struct json_object *view_irqs(const struct view_irq *rows, size_t nr_rows);
struct json_object *view_strangers(const struct view_stranger *rows, size_t nr_rows);
struct json_object *view_discoveries(const struct view_discovery *rows, size_t nr_rows);
/* In the order of the rows; bytes of names that are not UTF-8 are replaced. */
struct json_object *view_events(const struct event_row *rows, size_t nr_rows);
struct json_object *view_watch(const struct view_watch *row);
/* The versions are filled in here. */
struct json_object *view_bundle(const struct view_bundle *row);
/* In the order of the rows; an errno of either sign is shown as its number and name. */
struct json_object *view_features(const struct feature_row *rows, size_t nr_rows);
/* Figures that the kernel does not tell (-1) are null. */
/* `cpus`: how many are online. */
struct json_object *view_progs(const struct prog_row *rows, size_t nr_rows, uint32_t cpus);
struct json_object *view_maps(const struct map_row *rows, size_t nr_rows);
struct json_object *view_guard(const struct guard_row *rows, size_t nr_rows);
struct json_object *view_usage(const struct view_usage *usage);
/*
 * The growth from one reading to a later one of the same agent, per second and as a share of the time
 * of all CPUs. The kernel measured run times all the while, so a total that is not known is 0.
 */
struct json_object *view_cost(const struct view_usage *before, const struct view_usage *after);

/* --- metrics ---------------------------------------------------------------------------------- */

/* The descriptions of those metrics whose names begin with `prefix`; "" = all. */
struct json_object *view_metrics(const char *prefix);
/* How many series a page has on a node that has these many of each enum metric_per. */
struct json_object *view_budget(const uint64_t *population);

/* --- refusals --------------------------------------------------------------------------------- */

/* One refusal, with the document it came from. */
struct refusal_row {
	const char *namespace, *name; /* NULL = the document does not say */
	const char *uid;	      /* NULL = not known */
	const char *file;	      /* NULL = none */
	unsigned int line;	      /* where the document begins; 0 = not known */
	const struct decision *decision;
};
/* In the order of the rows, each of which has a decision that does not admit its pod. */
struct json_object *view_refusals(const struct refusal_row *rows, size_t nr_rows);

/*
 * Every pod of the ledger and every refused one: why it has what it has, or
 * nothing. A refusal of a pod that is in the ledger (a changed document) stands
 * with that pod. `desired` as in view_containers. Every pod is decided once
 * more, inside a transaction that is taken back (trace_grant).
 */
struct json_object *view_explains(struct ledger *ledger, const struct group_tree *desired,
				  const struct refusal_row *refusals, size_t nr_refusals,
				  const struct pod_problem *problems, size_t nr_problems);

/* --- simulate --------------------------------------------------------------------------------- */

/* What a change can change of a container. */
struct container_facts {
	struct cpuset cpus, mems; /* mems: ids of the NUMA nodes it may use */
	const char *isolation;
	char cpu_max[32]; /* "200000 100000" */
};

/* Before and after of one container, for drain, offline and policy. */
struct container_change {
	const char *namespace, *pod, *container;
	const struct container_facts *before, *after; /* NULL = was or is not there */
};

/* One `expect` line of a script. */
struct expect_row {
	const char *file;
	unsigned int line;
	const char *expect; /* the line's text */
	bool met;
	const char *found; /* what held instead, NULL = nothing */
};

struct simulate_row {
	const char *topology; /* as given on the command line */
	size_t nr_refusals;
	const struct refusal_row *refusals;
	size_t nr_changes;
	const struct container_change *changes;
	size_t nr_expects;
	const struct expect_row *expects;
};
/*
 * The machine and the pods of the ledger after a simulation, with what was refused, changed and
 * expected; one object.
 */
struct json_object *view_simulate(const struct ledger *ledger, const struct simulate_row *row);

/* --- the rest --------------------------------------------------------------------------------- */

/* `libbpf` and `revision` may be NULL, which is shown as null. */
struct json_object *view_version(const char *program, const char *revision, const char *libbpf);
/* The body of POST /v1/run: struct view_run_request of view_objects.h. */
extern const struct object_desc view_run_request_desc;
/* The agent's answer to it: the cgroup the caller now is in. */
struct json_object *view_run(const char *namespace, const char *pod, const char *container,
			     const char *cgroup);
/* {"error": "<sentence>"}: the body of each answer that is a failure. */
struct json_object *view_error(const char *sentence);

#endif
