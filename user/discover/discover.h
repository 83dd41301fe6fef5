/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pods and containers of a node by their cgroups, whoever made them. It writes
 * nothing: cgroups and the kubelet's state file are opened for reading, and watched.
 *
 * Each report is everything that was found, never a difference. A change in the tree only means
 * "scan again": after a short time, so that the many changes of one starting pod make one scan,
 * and never so soon that scans take more than a twentieth of the time, unless one takes longer than
 * half a second: then the next one begins 10 s after its end.
 */
#ifndef DISCOVER_DISCOVER_H
#define DISCOVER_DISCOVER_H

#include <systemd/sd-event.h>

#include "ctl/ports.h"

struct discover;
struct worker_pool;

/* All borrowed for the life of the object, except the texts, which are copied. */
struct discover_options {
	sd_event *event;	  /* NULL = no timer and no watch, discover_scan only */
	struct worker_pool *pool; /* NULL = scans run on the caller's thread */
	const char *root;	  /* of /sys and /proc: "/", or a test's directory */
	const char *kubelet_dir;  /* has cpu_manager_state; "" = there is no kubelet */
	/* Has the state of container runtimes, normally /run; "" = names are not read. */
	const char *runtime_dir;
	bool watches_cpusets; /* a cpuset that somebody writes means "scan again", too */
	const struct discovery_sink *sink;
};

/* -ENOMEM, or what sd-event says. Reports nothing before the first scan. */
int discover_open(const struct discover_options *options, struct discover **ret_discover);
/* While a thread of the pool runs a scan, this must not be called. Accepts NULL. */
void discover_close(struct discover *discover);

/*
 * Scan now and report: before this returns, or later if the kernel is slow. A scan that is
 * asked for while one runs follows it, once. -ENOMEM, or 0: what cannot be read is part of the
 * report.
 */
int discover_scan(struct discover *discover);

/* The port: scans after a change, as the room does for itself. */
struct discovery_port discover_port(struct discover *discover);

/*
 * How long after a request the next scan begins: `took_usec` is how long the last one took,
 * `passed_usec` the time since its end. Pure.
 */
uint64_t discover_pause_usec(uint64_t took_usec, uint64_t passed_usec);

#endif
