/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The property run: random machines, policies and sequences of events, and what
 * must hold after every one of them.
 *
 *   generate.c  a scenario out of a seed: hardware, policy, steps, pods
 *   stage.c     plays one scenario on a ledger, step by step
 *   digest.c    a number of all that can be seen, to find that nothing changed
 *   rules*.c    what must hold, worked out from the hardware, the policy and the
 *               requests alone; calls nothing of what it judges but accessors
 *   mirror.c    the same ledger by other ways: through the state file, and
 *               through `pinfold simulate`
 *   coverage.c  how often each option, policy, machine and event occurred
 *   main.c      the run, and shrinking a failure to a smallest scenario
 */
#ifndef PROPERTY_H
#define PROPERTY_H

#include "../unit/random.h"
#include "core/admit.h"
#include "lib/text.h"

#define MAX_STEPS      200
#define MAX_CPUS       1024 /* of a machine; ids are below twice as many */
#define MAX_CONTAINERS 8
#define NR_NAMES       12
#define MIRROR_EVERY   50
#define MEASURE_EVERY  5
#define ERROR_MAX      640

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

/* --- generate.c ------------------------------------------------------------------------------- */

/* Parameters of a machine, small numbers that a failure can be shrunk in. */
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
	uint32_t nr_nodes; /* with those that have memory only */
	struct topology_node nodes[TOPOLOGY_MAX_NODES];
	uint32_t distances[TOPOLOGY_MAX_NODES * TOPOLOGY_MAX_NODES];
	bool has_distances;
	uint32_t threads; /* of most cores */
	bool is_even;	  /* each core has as many threads, each socket and node as many CPUs */
};

enum plainness {
	PLAIN_CONTAINERS = 1 << 0, /* one container only */
	PLAIN_INIT = 1 << 1,	   /* neither init containers nor sidecars */
	PLAIN_BUDGET = 1 << 2,	   /* no resources of the pod's own */
	PLAIN_PAGES = 1 << 3,	   /* no huge pages */
	PLAIN_ALL = 15
};

/* Everything a step does follows from its seed. */
struct action {
	uint64_t seed;
	unsigned int plainness; /* of its pod; only shrinking sets it */
};

struct scenario {
	struct shape shape;
	struct policy policy;
	uint32_t nr_steps;
	struct action steps[MAX_STEPS];
};

void generate_scenario(uint64_t seed, struct scenario *ret_scenario);
void generate_hardware(const struct shape *shape, struct hardware *ret_hardware);
/* -EINVAL for hardware or CPUs that make no machine. */
int hardware_topology(const struct hardware *hardware, const struct cpuset *offline,
		      struct topology **ret_topology);
/* A pod that this machine may or may not have room for; the caller's. Never NULL. */
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

enum event {
	EVENT_ADMIT,
	EVENT_CHANGE, /* the same pod with another request */
	EVENT_AGAIN,  /* the same request again */
	EVENT_REMOVE,
	EVENT_ENDING,
	EVENT_ABORT,
	EVENT_RESTART,
	EVENT_STALE, /* a record of CPUs that are held is offered for recovery */
	EVENT_OFFLINE,
	EVENT_RELOAD, /* another alignment policy under pods that run */
	EVENT_NR
};

/* What pods that came to a decision were like, and what decisions were like. */
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
/* Is there enough of everything to mean something? Prints what is not. */
bool coverage_is_enough(const struct coverage *coverage);

/* --- stage.c ---------------------------------------------------------------------------------- */

/* What the run itself remembers of a pod, to hold the ledger to it. */
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
/* Say in words what happens; only when a shrunk failure is shown. */
void tell(const struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tell_pod(const struct stage *stage, const char *what, const struct pod_spec *spec);

/*
 * Play it whole. 0; 1 with the violated property in `error`; -EINVAL when it is
 * no scenario (shrinking makes such): nothing is proved then.
 */
int play(const struct scenario *scenario, struct coverage *coverage, bool is_verbose,
	 char error[ERROR_MAX]);

/* --- digest.c --------------------------------------------------------------------------------- */

/* Everything a reader of the ledger can see, and of one pod. */
uint64_t ledger_digest(const struct ledger *ledger);
uint64_t pod_digest(const struct ledger_pod *pod);

/* --- rules*.c --------------------------------------------------------------------------------- */

/*
 * Kubelet-1.36 mode keeps defects that break counts and owners where cores are
 * uneven, caches span nodes or CPUs are distributed; elsewhere it must hold what
 * the other modes hold everywhere.
 */
bool rules_hold_cpus(const struct stage *stage);
/* Its group overwrite breaks the accounts of memory, so there only wrapping is looked for. */
bool rules_hold_memory(const struct stage *stage);

/* CPUs that a pod may be given, all that the given pod (NULL = none) holds included. */
void rules_candidates(const struct stage *stage, const char *uid, struct cpuset *ret_cpus);

/* After every step. */
void check_rules(struct stage *stage);
/* A pod that was just given its place, out of these candidates. */
void check_admitted(struct stage *stage, const struct pod_spec *spec,
		    const struct cpuset *candidates);
/* Was it right to refuse? Only where the rule is a comparison of two counts. */
void check_refused(struct stage *stage, const struct pod_spec *spec,
		   const struct decision *decision);

/* --- mirror.c --------------------------------------------------------------------------------- */

/* The state file there and back is an equal ledger; that one is the caller's, or NULL. */
struct ledger *mirror_recover(struct stage *stage);
/*
 * Admit `spec` by `pinfold simulate` on files of this stage, then here: the same
 * must come out. An ephemeral container in its document must make no difference.
 * True = admitted.
 */
bool mirror_simulate(struct stage *stage, const struct pod_spec *spec, bool has_ephemeral);
/* The configuration file of a policy, on one line. */
void mirror_config(const struct policy *policy, struct text *text);
/* Remove the files simulate was given; a signal handler may call it. */
void mirror_end(void);

#endif
