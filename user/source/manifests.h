/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifests directory as a source of pods. It is watched, but every report
 * is the whole truth, never a difference.
 *
 * Trust: the directory and each file must belong to root (or to whoever runs
 * this) and be writable by nobody else; files are opened below the directory's
 * descriptor without following links and judged by the descriptor, not by the
 * name. Dot files, names ending in "~" or ".tmp" and subdirectories are ignored.
 *
 * A file that somebody is writing keeps its last whole version until it is
 * closed. A file in which something can no longer be read keeps the pods it
 * named before, beside the refusal: a slip of the editor ends no pod.
 */
#ifndef SOURCE_MANIFESTS_H
#define SOURCE_MANIFESTS_H

#include <systemd/sd-event.h>

#include "ctl/ports.h"

#define MANIFESTS_MAX_FILES 1024
#define MANIFESTS_MAX_PODS  4096

struct manifests;
struct worker_pool;

/*
 * Watch `directory` in `event` and report to `sink` (borrowed for life) whenever
 * something changed. `event` NULL: no watch, manifests_scan only. A directory
 * that does not exist yet is waited for. Reports nothing before the first scan.
 * Scans run on `pool` (borrowed), because the disk may be slow or hung; NULL: on the
 * caller's thread.
 */
int manifests_new(sd_event *event, struct worker_pool *pool, const char *directory,
		  const struct source_sink *sink, struct manifests **ret_manifests);
/* While a thread of the pool runs a scan, this must not be called. */
void manifests_free(struct manifests *manifests);
DEFINE_CLEANUP(struct manifests, manifests_freep, manifests_free);
#define cleanup_manifests cleanup(manifests_freep)

/*
 * Look now and report in any case: before this returns, or later if the disk is slow. A
 * scan asked for while one runs follows it, once. -ENOMEM, or 0: what cannot be read is
 * part of the report.
 */
int manifests_scan(struct manifests *manifests);

#endif
