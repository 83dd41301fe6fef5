/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: a plan while it is being made. */
#ifndef CORE_PLAN_PLANNER_H
#define CORE_PLAN_PLANNER_H

#include "core/plan/pairing.h"
#include "core/plan/plan.h"

/* More peers than a pod's init containers normally have; a pool has more. */
#define PEERS_MAX  8
#define PEERS_MANY UINT32_MAX

/* The migration of a container from its current to its desired CPUs. */
struct migration {
	const struct group *group; /* whose path and owner the steps name */
	const char *old;	   /* the kernel's list, NULL = none */
	struct cpuset now, target; /* now: its CPUs after the steps so far */
	/* Those that are not apart from it, itself included (uses.h). PEERS_MANY = too many. */
	uint32_t nr_peers;
	const struct migration *peers[PEERS_MAX];
	bool is_unlisted;  /* its file differs from `now`, so the target must be written */
	bool is_unbounded; /* has tasks and no list */
	bool is_astray;	   /* runs on a CPU outside its target */
};

/* How a migration uses a CPU. */
enum use {
	USE_NOW,    /* has it now */
	USE_ASTRAY, /* has it now and is astray */
	USE_WANTED, /* has it in its target and is astray */
	USE_TARGET, /* has it in its target */
	USE_NR
};

struct use_count {
	uint32_t nr[CPUSET_MAX]; /* of migrations */
	struct cpuset cpus;	 /* those with at least one */
};

/* What becomes of an observed group and of its partition, if it is one. */
enum fate {
	FATE_KEPT,
	FATE_ENDED, /* it is a member after the steps so far */
	FATE_REMOVED,
};

struct planner {
	const struct group_tree *desired, *observed;
	struct plan plan;
	uint32_t capacity;
	uint32_t nr_migrations;
	struct migration *migrations;
	struct cpuset exclusive; /* of all desired exclusive containers */
	struct cpuset bound;	 /* the root's list while containers move */
	struct cpuset home;	 /* CPUs for containers in the final state */
	struct cpuset room;	 /* CPUs that containers may use in between; includes `home` */
	struct use_count uses[USE_NR];
	enum fate *fates;   /* by index in `observed` */
	bool is_root_ended; /* a step ends the root's partition, which was invalid */
	char text[CPUSET_TEXT_MAX];
	int error;
};

/*
 * Append a step; its value is filled in by the caller. NULL = no memory, now or at an earlier
 * step: planner->error says so.
 */
struct step *planner_add_step(struct planner *planner, enum step_kind kind,
			      const struct group *group);
/* Append the write of a file. `old` is the kernel's value, NULL = none. */
void planner_write(struct planner *planner, const struct group *group, enum group_file file,
		   const char *value, const char *old);
void planner_write_set(struct planner *planner, const struct group *group, enum group_file file,
		       const struct cpuset *set, const char *old);

#endif
