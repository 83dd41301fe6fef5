/* SPDX-License-Identifier: Apache-2.0 */
/* The pressure of pods and containers, read from the kernel every two seconds. */
#ifndef CTL_PRESSURE_H
#define CTL_PRESSURE_H

#include "core/ledger/ledger.h"
#include "ctl/ports.h"
#include "ctl/pressure_cpus.h"
#include "ctl/pressure_history.h"

struct controller;

struct pressure_track {
	uint64_t cgroup_id;
	enum pressure_state state;
	uint64_t total_ns[PRESSURE_KIND_NR]; /* as last read; only if it was measured */
	/* By its quota, as last read; or PRESSURE_THROTTLED_UNKNOWN. */
	uint64_t throttled_ns;
	struct pressure_history history;
	/*
	 * On each CPU; owned. NULL: there was no room for its CPUs (`is_left_out`), or the kernel
	 * was not asked yet.
	 */
	struct pressure_cpus *cpus;
	bool is_left_out;
	bool is_unreadable; /* the kernel's state of a CPU cannot be read */
};

struct pressures {
	uint32_t nr;
	struct pressure_track **tracks; /* owned; by ascending id */
	uint64_t sampled_ns;		/* when the last pass began; 0 = none has */
	uint64_t since_ns;		/* of the pass that has not ended; 0 = there is none */
	uint64_t pause_ns;		/* between the beginnings of two passes; 0 = the usual */
	uint64_t read_ns;		/* when the last pass ended that succeeded; 0 = none has */
	int error;			/* of the last pass */
	uint32_t nr_asked;		/* cgroups that the last pass was asked for */
	uint32_t nr_without_cpus;	/* pods and containers whose CPUs it was not asked for */
	uint32_t nr_left_out;	  /* those for which the last pass that succeeded had no room */
	uint64_t second_until_ns; /* until then somebody wants a pass each second */
};

/* A pod (container "") or a container of the ledger, with what is known of its cgroup. */
struct group_pressure {
	const struct ledger_pod *pod;
	const char *container;
	const char *path;		    /* of its cgroup, below the mount */
	const struct pressure_track *track; /* NULL = unknown: not read, or too long ago */
	uint64_t read_ns;		    /* of the track's figures */
};

void pressure_fini(struct pressures *pressures);

/* Read the pressure if it is time to; called each second. */
void ctl_sample_pressure(struct controller *controller);
/* Take over the result of a pass; see pressure_sink. 0, or why nothing new is known. */
int ctl_end_pressure(struct controller *controller, int result, const struct pressure_row *rows,
		     uint32_t nr, const struct pressure_cell *cells);
/* Somebody wants windows of a second: for some seconds there is a pass each second. */
void ctl_want_pressure_second(struct controller *controller);
/* What is known of a cgroup; NULL = it was not read in the last pass. Borrowed until the next one. */
const struct pressure_track *pressure_find(const struct pressures *pressures, uint64_t cgroup_id);
/*
 * For how long its quota kept this cgroup from running, in ns, as the last pass read it. false = not
 * known, or too long ago.
 */
bool ctl_throttled(const struct controller *controller, uint64_t cgroup_id, uint64_t *ret_ns);
/*
 * The measured pods and containers, each pod before its containers. ret_rows has room for as
 * many rows as there are measured groups. Borrowed until the next pass. Returns the number.
 */
uint32_t ctl_pressures(const struct controller *controller, struct group_pressure *ret_rows);

#endif
