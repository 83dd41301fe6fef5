/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of what is observed rather than decided: kernel features, BPF programs,
 * findings. Plain values, filled by adapters and the controller, rendered by
 * format/views; fixed-size text so that a ring of them needs no ownership.
 */
#ifndef FORMAT_ROWS_H
#define FORMAT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/finding.h"

#define ROW_NAME_MAX   64
#define ROW_PATH_MAX   256
#define ROW_DETAIL_MAX 320
/* A sentence that says why something could not be done to a cgroup. */
#define GROUP_ERROR_MAX 320

enum feature_state { FEATURE_NO, FEATURE_YES, FEATURE_UNKNOWN, FEATURE_STATE_NR };

struct feature_row {
	char name[ROW_NAME_MAX];
	enum feature_state state;
	int error; /* errno behind no or unknown, 0 = none */
	char reason[ROW_DETAIL_MAX];
	char remedy[ROW_DETAIL_MAX];
};

/* A BPF program, or an object that is not loaded: then only `object` and `reason` are set. */
struct prog_row {
	char name[ROW_NAME_MAX];
	char type[24];		 /* lsm fmod_ret tp_btf fexit iter */
	char hook[ROW_NAME_MAX]; /* what it is attached to: file_open, sched_switch */
	char object[24];	 /* observe guard watch pressure noise */
	char tag[17];
	uint32_t id;
	bool attached, pinned;
	int64_t run_time_ns, run_count; /* -1 unless kernel.bpf_stats_enabled */
	int64_t age_ns;			/* since it was loaded; 0 = not known */
	int machine_percent; /* view_progs() fills it: hundredths of a percent; -1 = not known */
	int64_t recursion_misses;    /* -1 = unknown: nothing of the program could be read */
	int64_t memory_bytes;	     /* -1 = unknown */
	char reason[ROW_DETAIL_MAX]; /* why it is not loaded or not attached */
};

struct map_row {
	char name[ROW_NAME_MAX];
	char type[24];		    /* hash array ringbuf task_storage */
	char objects[ROW_NAME_MAX]; /* that use it: "guard,watch" */
	uint32_t id;
	bool pinned;
	int64_t used; /* entries; -1 = they cannot be counted */
	uint32_t max_entries;
	int64_t memory_bytes; /* -1 = unknown */
};

/* One protection of the guard. All text is borrowed, but the reason. */
struct guard_row {
	const char *protection;	      /* its option below `enforcement` */
	const char *asked, *in_force; /* words of that option; NULL = it cannot be told */
	char reason[ROW_DETAIL_MAX];  /* why they differ, or what weakens the mode; "" = nothing */
};

/* How far back the pressure of a pod is shown: in samples of 2 s, or of a minute. */
enum pressure_span { PRESSURE_SPAN_10M, PRESSURE_SPAN_24H, PRESSURE_SPAN_NR };

/* What a mask of CPUs is for. */
enum irq_kind {
	IRQ_KIND_DEFAULT,    /* where new interrupts fire */
	IRQ_KIND_WORKQUEUES, /* where the kernel's unbound work runs */
	IRQ_KIND_INTERRUPT,  /* where one interrupt fires */
	IRQ_KIND_NR
};

enum irq_state {
	IRQ_STATE_ALLOWED,   /* it reaches no exclusive CPU by itself */
	IRQ_STATE_STEERED,   /* pinfold narrowed it */
	IRQ_STATE_MANAGED,   /* the kernel does not let its mask be changed */
	IRQ_STATE_EXCLUSIVE, /* it reaches exclusive CPUs, and could be moved */
	IRQ_STATE_NR
};

/* Something an operator should know and mend: what, why, remedy. */
struct finding_row {
	enum finding kind;
	char message[ROW_DETAIL_MAX];
	char remedy[ROW_DETAIL_MAX];
};

#endif
