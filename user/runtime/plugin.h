/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent as an external plugin of a container runtime: the runtime's socket on the agent's
 * event loop, and a new connection whenever the old one has ended. user/nri has the protocol;
 * what the messages mean is decided by whoever fills the sink.
 *
 * There is at most one connection at a time, because a runtime takes two connections of one
 * plugin for two plugins that contradict each other. The next attempt follows after 1 s, and
 * after each further failure twice as late, up to 30 s. A session that was synchronized ends the
 * row of failures.
 *
 * Nothing here blocks: a runtime that does not accept, read or write only delays its own session.
 */
#ifndef RUNTIME_PLUGIN_H
#define RUNTIME_PLUGIN_H

#include <systemd/sd-event.h>

#include "format/rows.h"
#include "lib/cleanup.h"
#include "nri/session.h"

#define PLUGIN_RETRY_MIN_NS 1000000000ULL
#define PLUGIN_RETRY_MAX_NS 30000000000ULL

enum plugin_state {
	PLUGIN_WAITING,	 /* not connected; the next attempt is due later */
	PLUGIN_STARTING, /* connected, but not registered and synchronized yet */
	PLUGIN_READY,
};

struct plugin_status {
	enum plugin_state state;
	/* Why it is not ready, as for a finding; "" before the first failure and while ready. */
	char message[ROW_DETAIL_MAX], remedy[ROW_DETAIL_MAX];
	uint32_t nr_failures; /* attempts and sessions that failed since it was last ready */
};

struct plugin;

struct plugin_sink {
	void *self; /* the `data` of the callbacks, too */
	/* See session.h. Answers are given with plugin_answer(), from within or later. */
	struct nri_callbacks callbacks;
	/* The session has ended: its requests cannot be answered any more. */
	void (*ended)(void *self);
	/*
	 * It became ready, or it is not for another reason than before. The reason was logged.
	 * Neither this nor `ended` may close the plugin.
	 */
	void (*changed)(void *self, const struct plugin_status *status);
};

struct plugin_options {
	sd_event *event;		/* borrowed */
	const char *socket;		/* path; copied */
	struct nri_options nri;		/* its strings are borrowed for the plugin's life */
	const struct plugin_sink *sink; /* borrowed */
};

/*
 * Connect for the first time. 0 also if there is no runtime at present, which sink->changed
 * reports, perhaps before this call returns. -ENAMETOOLONG: no socket can have this path.
 */
int plugin_open(const struct plugin_options *options, struct plugin **ret_plugin);
/* NULL is allowed. The sink is not called any more. */
void plugin_close(struct plugin *plugin);
DEFINE_CLEANUP(struct plugin, plugin_closep, plugin_close);
#define cleanup_plugin cleanup(plugin_closep)

/* Connect now, if it is not connected, instead of after the pause: for a reload. */
void plugin_connect(struct plugin *plugin);
/*
 * Answer a request; the bytes leave once the loop runs. -ENOTCONN = there is no session; else
 * as nri_session_answer().
 */
int plugin_answer(struct plugin *plugin, uint32_t request, const struct nri_answer *answer);
/* Borrowed for the plugin's life. */
const struct plugin_status *plugin_status(const struct plugin *plugin);

/* The pause after this many failures in a row; at least 1. */
uint64_t plugin_pause_ns(uint32_t nr_failures);

#endif
