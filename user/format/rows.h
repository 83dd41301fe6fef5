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

#define ROW_NAME_MAX   64
#define ROW_PATH_MAX   256
#define ROW_DETAIL_MAX 320

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
	char name[ROW_NAME_MAX]; /* stable, e.g. "tier1_not_held" */
	char message[ROW_DETAIL_MAX];
	char remedy[ROW_DETAIL_MAX];
};

#endif
