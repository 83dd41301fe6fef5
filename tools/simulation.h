/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would happen if: the same core that decides in the agent, on a machine
 * and a configuration of the user's choice. Nothing is ever written.
 */
#ifndef TOOLS_SIMULATION_H
#define TOOLS_SIMULATION_H

#include "snapshot.h"

/* What a container holds at one moment. */
struct holding {
	char namespace[POD_NAME_MAX], pod[POD_NAME_MAX], container[POD_CONTAINER_NAME];
	struct container_facts facts;
};

struct holdings {
	size_t nr;
	struct holding *items;
};

/* A pod that was refused; owns its texts. */
struct refused {
	char namespace[POD_NAME_MAX], name[POD_NAME_MAX], uid[POD_UID_MAX];
	char *file;	   /* NULL = none */
	unsigned int line; /* 0 = none */
	struct decision decision;
};

struct expectation {
	unsigned int line;
	bool met;
	char *text, *found;
};

struct simulation {
	struct session *session;
	struct snapshot snapshot;
	struct holdings before;
	size_t nr_named, nr_refused, nr_expectations;
	char (*named)[POD_UID_MAX]; /* pods its files named */
	struct refused *refused;
	struct expectation *expectations;
	const char *script; /* its file; borrowed */
};

/*
 * Read the machine, the configuration and the pods that the options name, else the agent's.
 * Returns enum status, reported; call simulation_fini() in either case.
 */
int simulation_open(struct session *session, struct simulation *simulation);
void simulation_fini(struct simulation *simulation);
#define cleanup_simulation cleanup(simulation_fini)

/* Admit all pods of a file, `times` times; the second and later copies are called NAME-2, … */
int simulation_pods(struct simulation *simulation, const char *file, unsigned int times);
/*
 * A container of the pod, or with "" the pod's budget, is to have `cpus` CPUs; decided as the
 * agent decides on a changed manifest.
 */
int simulation_resize(struct simulation *simulation, const struct pod_ref *ref,
		      const char *container, unsigned int cpus);
/* The pod leaves. */
int simulation_drain(struct simulation *simulation, const struct pod_ref *ref);
/* These CPUs go; pods that lose any are admitted anew, the others stay where they are. */
int simulation_offline(struct simulation *simulation, const struct cpuset *cpus);
/* Another configuration; pods whose grants it allows stay where they are. */
int simulation_policy(struct simulation *simulation, const char *file);
/* Note whether line `line` of a script holds; `found` is what was there instead. Copies. */
int simulation_expect(struct simulation *simulation, unsigned int line, const char *text, bool met,
		      const char *found);
/* What came of it, as JSON; NULL = no memory. */
struct json_object *simulation_view(const struct simulation *simulation);
/* The pods its files named, explained; NULL = no memory. */
struct json_object *simulation_explain(const struct simulation *simulation);
/* 1 for a refusal or an expectation not met. Where a script expects, only these count. */
int simulation_status(const struct simulation *simulation);

/* `simulate policy`, which `policy diff` is too. cmd_simulate.c */
int simulate_policy(struct session *session, int argc, char **argv);

/* Ids of the NUMA nodes whose memory a container may use. */
void simulation_mems(const struct ledger *ledger, const struct grant *grant,
		     struct cpuset *ret_mems);
/* The pod as it is held, or as it was refused; NULL = neither of that name. Borrowed. */
const struct ledger_pod *simulation_find(const struct simulation *simulation,
					 const struct pod_ref *ref);
const struct refused *simulation_find_refused(const struct simulation *simulation,
					      const struct pod_ref *ref);

#endif
