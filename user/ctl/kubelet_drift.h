/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In mode guard, with enforcement.kubelet: repair: cpusets that differ from what a kubelet decided,
 * and when they are put back.
 *
 * Each scan of the node compares cpuset.cpus with the kubelet's state file, which the scan reads
 * first, and cpuset.mems with that of its memory manager. A difference counts once two scans in a
 * row have it under the same plan, because between the two reads of one scan both may change. It is
 * then put back
 *  - at once, if the file had the planned value before, and nobody that the kubelet works with is
 *    known to have written it since;
 *  - otherwise after KUBELET_GRACE_NS without a new plan or another such write: a new container, a
 *    plan that is not carried out yet, a write by the runtime, the kubelet or systemd. The kubelet
 *    corrects what it knows of within 10 s.
 * Left alone are containers without a plan of their own that never had the planned value, and
 * whatever the runtime writes again after it was put back: then the two plans differ, and nobody
 * wins by writing. Each repair of one file makes the next one wait longer.
 *
 * Nothing here denies anything to anybody.
 */
#ifndef CTL_KUBELET_DRIFT_H
#define CTL_KUBELET_DRIFT_H

#include "ctl/ports.h"

struct controller;

#define KUBELET_GRACE_NS (15ULL * 1000000000ULL)

enum kubelet_file { KUBELET_CPUS, KUBELET_MEMS, KUBELET_FILE_NR };

/* Who wrote the file last, as far as the kernel told. */
struct kubelet_writer {
	uint64_t ns; /* when; 0 = nobody is known */
	enum drift_cause cause;
	uint32_t pid;
	char comm[EVENT_COMM_LEN];
	char cgroup[160]; /* cut */
};

/* One file of one container. Times are CLOCK_MONOTONIC. */
struct kubelet_file_state {
	uint64_t plan;				/* a hash of the planned value; 0 = there is none */
	uint64_t planned_ns;			/* since when */
	uint64_t differed_ns;			/* since when it differs; 0 = it does not */
	uint32_t nr_differed;			/* scans in a row that saw that */
	bool is_own;				/* the container has an entry */
	bool has_matched;			/* it once had the planned value */
	bool is_given_up;			/* until there is another plan */
	bool is_failed;				/* the last write to it failed */
	uint32_t nr_repairs;			/* without a quiet time; failed ones count */
	uint64_t repaired_ns;			/* the last of them */
	struct kubelet_writer writer, opponent; /* opponent: of the change that was put back last */
};

struct kubelet_container {
	uint64_t cgroup_id;
	uint32_t level; /* of the cgroup, 1 = below the mount */
	struct kubelet_file_state files[KUBELET_FILE_NR];
};

struct kubelet_drift {
	uint32_t nr;
	struct kubelet_container *containers; /* owned; ascending by cgroup_id */
	uint64_t due_ns;	    /* when a scan is needed again; 0 = with the next one */
	uint64_t writing_since_ns;  /* 0 = nothing is being written */
	char error[ROW_DETAIL_MAX]; /* of the last write that failed, as logged */
};

void kubelet_drift_fini(struct kubelet_drift *drift);
/* May the kubelet be behind it: it, its container runtime, or systemd? */
bool kubelet_drift_is_kubelets(enum drift_cause cause);

/*
 * Judge what the last scan found, and begin the writes that are due. True: other containers are to
 * be watched than before. Without the ports, or in another mode, nothing is done.
 */
bool ctl_judge_kubelet_drift(struct controller *controller);
/* The writes have ended. */
void ctl_end_kubelet_repair(struct controller *controller, const struct cpuset_write *rows,
			    uint32_t nr);
/*
 * If the event is about a container that is judged here, note who it was, record the event with its
 * names, and return true. Writes by the kubelet's runtime are what is expected, and not recorded.
 */
bool ctl_hear_kubelet_drift(struct controller *controller, const struct event_row *event);
/* Each second: have the node scanned when something is due. */
void ctl_follow_kubelet_drift(struct controller *controller);

#endif
