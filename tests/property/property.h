/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The property run: random machines, policies and sequences of events, and the rules that
 * must hold after every one of them.
 *
 *   generate.c  scenarios from a seed: hardware, policy, steps, pods
 *   stage.c     runs one scenario on a ledger, step by step
 *   digest.c    a hash of the visible state, to detect changes
 *   rules*.c    the rules, derived only from the hardware, the policy and the requests;
 *               they call no tested code except accessors
 *   mirror.c    the same ledger by other means: the state file, and `pinfold simulate`
 *   coverage.c  how often each option, policy, machine and event occurred
 *   main.c      the run, and the reduction of a failure to a minimal scenario
 */
#ifndef PROPERTY_H
#define PROPERTY_H

#include "../unit/random.h"
#include "core/admit/admit.h"
#include "lib/text.h"

#define MAX_STEPS      200
#define MAX_CPUS       1024 /* of a machine; ids are less than twice this */
#define MAX_CONTAINERS 8
#define NR_NAMES       12
#define MIRROR_EVERY   50
#define MEASURE_EVERY  5
#define ERROR_MAX      640

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

/* --- generate.c ------------------------------------------------------------------------------- */

/* Parameters of a machine: small numbers that shrinking can reduce. */
struct shape {
	uint64_t seed; /* of the holes */
	uint32_t nr_nodes, memory_only_nodes, cores_per_node, threads;
	uint32_t nodes_per_socket, cores_per_uncore;
	uint32_t node_stride, cpu_stride; /* ids are sparse when above 1 */
	uint32_t offline_percent, uneven_percent;
	uint32_t nr_page_sizes;
	bool adjacent; /* siblings numbered one after the other */
	bool has_distances;
};

/* The machine as the generator made it: what the rules are checked against. */
struct hardware {
	uint32_t nr_cpus;
	struct topology_cpu cpus[MAX_CPUS];
	uint32_t nr_nodes; /* including nodes that have only memory */
	struct topology_node nodes[TOPOLOGY_MAX_NODES];
	uint32_t distances[TOPOLOGY_MAX_NODES * TOPOLOGY_MAX_NODES];
	bool has_distances;
	uint32_t threads; /* of most cores */
	bool is_even;	  /* all cores, sockets and nodes have equal sizes */
};

enum plainness {
	PLAIN_CONTAINERS = 1 << 0, /* one container only */
	PLAIN_INIT = 1 << 1,	   /* neither init containers nor sidecars */
	PLAIN_BUDGET = 1 << 2,	   /* no pod-level resources */
	PLAIN_PAGES = 1 << 3,	   /* no huge pages */
	PLAIN_ALL = 15
};

/* Everything a step does follows from its seed. */
struct action {
	uint64_t seed;
	unsigned int plainness; /* of its pod; set only by shrinking */
};

struct scenario {
	struct shape shape;
	struct policy policy;
	uint32_t nr_steps;
	struct action steps[MAX_STEPS];
};

void generate_scenario(uint64_t seed, struct scenario *ret_scenario);
void generate_hardware(const struct shape *shape, struct hardware *ret_hardware);
/* Returns -EINVAL if the hardware or the CPUs do not form a valid machine. */
int hardware_topology(const struct hardware *hardware, const struct cpuset *offline,
		      struct topology **ret_topology);
/* Generate a pod that may or may not fit on this machine. The caller owns it. Never NULL. */
struct pod_spec *generate_pod(struct chance *chance, const struct hardware *hardware,
			      const struct policy *policy, const char *uid, unsigned int plainness);

/* --- coverage.c ------------------------------------------------------------------------------- */

enum option {
	OPTION_FULL_PCPUS,
	OPTION_DISTRIBUTE_NUMA,
	OPTION_ALIGN_SOCKET,
	OPTION_DISTRIBUTE_CORES,
	OPTION_STRICT,
	OPTION_UNCORE,
	OPTION_CPU_NONE,
	OPTION_CPU_STATIC,
	OPTION_RESERVED_LIST,
	OPTION_RESERVED_COUNT,
	OPTION_EXCLUDED,
	OPTION_CLOSEST,
	OPTION_MAX_NODES,
	OPTION_MEMORY_NONE,
	OPTION_MEMORY_STATIC,
	OPTION_MEMORY_RESERVED,
	OPTION_POD_LEVEL,
	OPTION_POD_LEVEL_OFF,
	OPTION_NR
};

enum property_event {
	EVENT_ADMIT,
	EVENT_CHANGE, /* the same pod with another request */
	EVENT_RESIZE, /* the same pod with other numbers of exclusive CPUs */
	EVENT_AGAIN,  /* the same request again */
	EVENT_REMOVE,
	EVENT_ENDING,
	EVENT_ABORT,
	EVENT_RESTART,
	EVENT_STALE, /* recovery is given a record with CPUs that are already held */
	EVENT_OFFLINE,
	EVENT_RELOAD, /* the alignment policy changes while pods run */
	EVENT_NR
};

/* Statistics of the pods that were decided on, and of the decisions. */
enum feature {
	FEATURE_BUDGET,
	FEATURE_BUBBLE,
	FEATURE_INIT,
	FEATURE_SIDECAR,
	FEATURE_INIT_REUSE,
	FEATURE_PAGES,
	FEATURE_GROUP, /* memory over several nodes */
	FEATURE_ALIGNED,
	FEATURE_SUGGESTION,
	FEATURE_MIRRORED,
	FEATURE_SIMULATED,
	FEATURE_EPHEMERAL,
	FEATURE_KEPT_OFFLINE,
	FEATURE_LOST_OFFLINE,
	FEATURE_NR
};

struct coverage {
	uint64_t steps, sequences, admissions, admitted, refused;
	uint64_t option[OPTION_NR], align[ALIGN_NR], scope[ALIGN_SCOPE_NR],
		compatibility[COMPATIBILITY_NR];
	uint64_t nodes[17], threads[9], holes, uneven, sparse;
	uint64_t event[EVENT_NR], feature[FEATURE_NR], refusal[REFUSAL_NR];
	uint64_t change[CHANGE_KIND_NR];
};

void cover_policy(struct coverage *coverage, const struct shape *shape,
		  const struct policy *policy);
void coverage_print(const struct coverage *coverage);
/* Is everything covered often enough to be meaningful? Prints what is not. */
bool coverage_is_enough(const struct coverage *coverage);

/* --- stage.c ---------------------------------------------------------------------------------- */

/* The run's own record of a pod, to check the ledger against. */
struct known_pod {
	struct pod_spec *spec; /* NULL = not there */
	enum pod_state state;
	enum align_policy align; /* when it was admitted */
	enum align_scope scope;
	uint64_t digest;
};

struct stage {
	const struct scenario *scenario;
	struct hardware *hardware;
	struct cpuset offline;
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	struct known_pod known[NR_NAMES];
	struct coverage *coverage;
	uint32_t nr_played;
	char error[ERROR_MAX]; /* "" = fine so far */
	bool is_verbose;
};

/* Pods are called p0, p1, …: the index in `known`. */
uint32_t name_of(const char *uid);

void complain(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Print what happens; used only to show a shrunk failure. */
void tell(const struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tell_pod(const struct stage *stage, const char *what, const struct pod_spec *spec);

/*
 * Play it whole. 0; 1 with the violated property in `error`; -EINVAL when it is
 * no scenario (shrinking makes such): nothing is proved then.
 */
int play(const struct scenario *scenario, struct coverage *coverage, bool is_verbose,
	 char error[ERROR_MAX]);

/* --- digest.c --------------------------------------------------------------------------------- */

/* A hash of everything that a reader of the ledger can see, and of one pod. */
uint64_t ledger_digest(const struct ledger *ledger);
uint64_t pod_digest(const struct ledger_pod *pod);

/* --- rules*.c --------------------------------------------------------------------------------- */

/*
 * Kubelet-1.36 mode keeps defects that break counts and owners where cores are
 * uneven, caches span nodes or CPUs are distributed; elsewhere it must hold what
 * the other modes hold everywhere.
 */
bool rules_hold_cpus(const struct stage *stage);
/* Its overwritten groups break memory accounting, so only wrap-around is checked there. */
bool rules_hold_memory(const struct stage *stage);

/* The CPUs that a pod may get, including all that the given pod (NULL = none) holds. */
void rules_candidates(const struct stage *stage, const char *uid, struct cpuset *ret_cpus);

/* What a pod has before it is decided again, if that is a resize in place. */
struct pod_before {
	bool is_resize;
	const struct cpuset *bubble, *bubble_baseline;
	uint32_t nr;
	struct grant *grants; /* owned */
	struct cpuset *sets;  /* owned: those of the pod and of its grants */
};

/* After every step. */
void check_rules(struct stage *stage);
/* Check a pod that was just assigned, from these candidates; `was` may be empty. */
void check_admitted(struct stage *stage, const struct pod_spec *spec,
		    const struct cpuset *candidates, const struct pod_before *was);
/* Was the refusal correct? Checked only if the rule compares two counts. */
void check_refused(struct stage *stage, const struct pod_spec *spec,
		   const struct decision *decision, const struct pod_before *was);

/* `spec` is what it will be decided with. */
struct pod_before before_decision(const struct stage *stage, const struct pod_spec *spec);
void before_fini(struct pod_before *was);
#define cleanup_pod_before cleanup(before_fini)
/* rules_resize.c: growing keeps, shrinking stays within, the CPUs of the admission stay. */
void check_resized(struct stage *stage, const struct pod_spec *spec, const struct pod_before *was);
/* Is a container, or the budget, to have fewer CPUs than at the admission, or than it must keep? */
bool is_below_baseline(const struct stage *stage, const struct pod_spec *spec,
		       const struct pod_before *was);

/* --- mirror.c --------------------------------------------------------------------------------- */

/*
 * Write and read the state file, which must give an equal ledger. The caller owns the
 * result, which may be NULL.
 */
struct ledger *mirror_recover(struct stage *stage);
/*
 * Admit `spec` by `pinfold simulate` on files of this stage, then here: the same
 * must come out. An ephemeral container in its document must make no difference.
 * True = admitted.
 */
bool mirror_simulate(struct stage *stage, const struct pod_spec *spec, bool has_ephemeral);
/* The configuration file of a policy, on one line. */
void mirror_config(const struct policy *policy, struct text *text);
/* Remove the input files of simulate. Safe to call from a signal handler. */
void mirror_end(void);

#endif
