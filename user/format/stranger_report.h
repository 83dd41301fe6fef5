/* SPDX-License-Identifier: Apache-2.0 */
/* What one walk over the tasks of the machine found and did about strangers. */
#ifndef FORMAT_STRANGER_REPORT_H
#define FORMAT_STRANGER_REPORT_H

#include <sys/types.h>

#include "core/stranger/stranger.h"
#include "format/rows.h"

/* The length of a task's name with its NUL, as in the kernel. */
#define STRANGER_COMM_LEN 16

enum stranger_state {
	STRANGER_STATE_MOVED,	/* it is kept off the exclusive CPUs */
	STRANGER_STATE_REACHES, /* it may run there; strangers are only reported, or nowhere else */
	STRANGER_STATE_BOUND,	/* a kernel thread that nobody can move */
	STRANGER_STATE_CPUSET,	/* its cgroup's cpuset is what has to be repaired */
	STRANGER_STATE_CONTENDED, /* another process sets its affinity back again and again */
	STRANGER_STATE_FAILED,	  /* the kernel refused its new affinity */
	STRANGER_STATE_NR
};

/* Who let a task run on exclusive CPUs. */
enum stranger_cause {
	STRANGER_CAUSE_DEFAULT,	 /* nobody restricted it */
	STRANGER_CAUSE_CHOSEN,	 /* somebody selected CPUs for it */
	STRANGER_CAUSE_SET_BACK, /* another process undid its correction */
	STRANGER_CAUSE_NR
};

/* One task; the texts are owned. */
struct stranger_row {
	pid_t thread, process;
	enum stranger_kind kind;
	enum stranger_state state;
	char comm[STRANGER_COMM_LEN];
	char *cgroup;	     /* below the mount, "/" = the root; NULL = not known */
	char *affinity;	     /* CPU lists */
	char *original;	     /* NULL = pinfold has not changed it */
	char *exclusive;     /* the exclusive CPUs of others that it may run on; "" = none */
	uint32_t nr_reverts; /* corrections after another process set it back, recently */
	int error;	     /* of STRANGER_STATE_FAILED, or 0 */
};

struct stranger_report {
	uint32_t nr;
	struct stranger_row *rows; /* owned; by thread */
	uint32_t nr_held;	   /* tasks whose original affinity is to be restored some day */
	uint32_t nr_narrowed;	   /* those of them that use only a part of what was written */
	/* Why no task was moved, or 0: the originals could not be saved. */
	int error;
	uint64_t cost_ns;  /* of CPU time */
	uint64_t wrote_ns; /* CLOCK_MONOTONIC after the last affinity was written; 0 = none was */
	/* In this walk: */
	uint32_t nr_moved, nr_restored, nr_failed;
	uint32_t nr_reverted; /* among the moved: another process had set them back */
	/* The first of the moved tasks; its thread is 0 if there is none. */
	struct {
		pid_t thread;
		char comm[STRANGER_COMM_LEN];
	} first;
};

/* Free the rows. */
void stranger_report_fini(struct stranger_report *report);
#define cleanup_stranger_report cleanup(stranger_report_fini)

#endif
