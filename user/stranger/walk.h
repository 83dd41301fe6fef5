/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over all tasks: find the strangers, decide, make the originals durable, and write the
 * affinities.
 */
#ifndef STRANGER_WALK_H
#define STRANGER_WALK_H

#include "ctl/ports.h"
#include "stranger/procs.h"
#include "stranger/table.h"

struct stranger_context {
	int proc_fd;
	int run_fd;		    /* -1 = nothing can be changed */
	struct stranger_note *note; /* NULL = only walks correct */
	const char *boot_id;
	const struct affinity_calls *calls;
};

/*
 * `table` has what the last walk, or the file, knew, and then what this one knows. Negative errno:
 * it is unchanged, nothing was written and there is no report. The caller frees the report.
 */
int stranger_walk(const struct stranger_context *context, const struct stranger_request *request,
		  struct stranger_table *table, struct stranger_report *ret_report);

/*
 * Look at one user task outside the workload root that got an exclusive CPU, and move it unless the next
 * walk has to: no file of procfs is read, so little is known of it. The report has no rows.
 */
void stranger_correct(const struct stranger_context *context,
		      const struct stranger_request *request, const struct noise_stranger *seen,
		      struct stranger_table *table, struct stranger_report *ret_report);

/* The CPU time of the calling thread. */
uint64_t stranger_thread_time_ns(void);

#endif
