/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of what is observed rather than decided: events, drift, kernel features,
 * BPF programs. Plain values, filled by adapters and the controller, rendered by
 * format/views; fixed-size text so that a ring of them needs no ownership.
 */
#ifndef FORMAT_ROWS_H
#define FORMAT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#define ROW_NAME_MAX   64
#define ROW_PATH_MAX   256
#define ROW_DETAIL_MAX 320

/* One line of the audit log: a decision of ours, or something that happened to us. */
struct event_row {
	uint64_t sequence; /* ascending without gaps while the agent lives */
	uint64_t time_ns;  /* CLOCK_REALTIME */
	char kind[24];	   /* admit refuse release drift repair deny audit start stop reload … */
	char aspect[24];   /* cpuset_files affinity cgroup_moves partition, or "" */
	char action[12];   /* allow audit deny move repair none */
	uint32_t pid;	   /* of the culprit, 0 = none known */
	char comm[16];
	char cgroup[ROW_PATH_MAX]; /* the culprit's */
	char target[ROW_PATH_MAX]; /* the managed cgroup or file */
	char pod[ROW_PATH_MAX];	   /* namespace/name, or "" */
	char container[ROW_NAME_MAX];
	char detail[ROW_DETAIL_MAX];
	uint32_t suppressed; /* same culprit, not listed one by one */
};

/* Something that differs, or differed, from the ledger. */
struct drift_row {
	char path[ROW_PATH_MAX];
	char attribute[16]; /* cpus mems quota weight memory partition affinity */
	char wanted[ROW_DETAIL_MAX];
	char found[ROW_DETAIL_MAX];
	char cause[12]; /* systemd runtime kubelet user kernel unknown */
	uint32_t pid;
	char comm[16];
	char cgroup[ROW_PATH_MAX];
	uint64_t since_ns;    /* CLOCK_REALTIME */
	uint64_t repaired_ns; /* 0 = still open */
	char action[12];      /* repair audit none */
};

enum feature_state { FEATURE_NO, FEATURE_YES, FEATURE_UNKNOWN, FEATURE_STATE_NR };

struct feature_row {
	char name[ROW_NAME_MAX];
	enum feature_state state;
	int error; /* errno behind no or unknown, 0 = none */
	char reason[ROW_DETAIL_MAX];
	char remedy[ROW_DETAIL_MAX];
};

struct prog_row {
	char name[ROW_NAME_MAX];
	char type[24];	 /* lsm fmod_ret tp_btf fexit iter */
	char object[24]; /* observe guard watch */
	uint32_t id;
	bool attached, pinned;
	uint64_t run_time_ns, run_count; /* 0 unless kernel.bpf_stats_enabled */
	uint64_t recursion_misses;
};

/* Something an operator should know and mend: what, why, remedy. */
struct finding_row {
	char name[ROW_NAME_MAX]; /* stable, e.g. "tier1_not_held" */
	char message[ROW_DETAIL_MAX];
	char remedy[ROW_DETAIL_MAX];
};

#endif
