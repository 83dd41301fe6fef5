/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container runtime as a source of pods: its messages become what the controller's
 * runtime_sink takes, and the controller's answers become NRI's.
 *
 * Only events that lead to a decision are subscribed to, because each one delays the start of
 * pods: the creation, update, stop and removal of containers, and the end of sandboxes.
 */
#ifndef RUNTIME_SOURCE_H
#define RUNTIME_SOURCE_H

#include "ctl/ports.h"
#include "runtime/plugin.h"

/* Plugins are called in this order, and two of them must not set CPUs. */
#define SOURCE_PLUGIN_NAME  "pinfold"
#define SOURCE_PLUGIN_INDEX "50"

struct source;

struct source_options {
	sd_event *event;		 /* borrowed */
	const char *socket;		 /* path; copied */
	const struct runtime_sink *sink; /* borrowed */
	/* See plugin_sink; `data` is passed on. */
	void (*changed)(void *data, const struct plugin_status *status);
	void *data;
};

/* As plugin_open(). */
int source_open(const struct source_options *options, struct source **ret_source);
/* NULL is allowed. */
void source_close(struct source *source);
DEFINE_CLEANUP(struct source, source_closep, source_close);
#define cleanup_source cleanup(source_closep)
/* As plugin_connect(). */
void source_connect(struct source *source);
/* The member of runtime_port. */
int source_answer(struct source *source, uint32_t request, const struct runtime_answer *answer);

#endif
