/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics as they were last built. Anybody who reaches the port may ask for them, as often as they
 * like, and they are built on the event loop. So they are answered again until building them has taken
 * no more than a share of the time, or METRICS_AGE_MAX_NS has passed.
 */
#ifndef SERVE_METRICS_COPIES_H
#define SERVE_METRICS_COPIES_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/ports.h"

/* Of the time of a CPU at most one part in so many, unless that would take longer than this. */
#define METRICS_SHARE	   20
#define METRICS_AGE_MAX_NS 1000000000ULL

/* Begin with {0}. */
struct metrics_copies {
	struct {
		struct MHD_Response *response; /* owned; NULL = none yet */
		uint64_t fresh_until_ns;       /* CLOCK_MONOTONIC */
	} formats[2];			       /* Prometheus' text, and OpenMetrics */
};

/* Peers that are still reading keep their copies. */
void metrics_copies_drop(struct metrics_copies *copies);
enum MHD_Result metrics_copies_answer(struct metrics_copies *copies,
				      struct MHD_Connection *connection,
				      const struct faces_port *faces, bool openmetrics);

#endif
