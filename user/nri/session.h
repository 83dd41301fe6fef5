/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One session of an NRI plugin, from the registration to the end of the connection: bytes
 * from the runtime become typed callbacks, and their answers become bytes. It has no socket
 * and no clock. The caller reads, writes and says what time it is, in nanoseconds of a
 * monotonic clock that is never 0; so every call returns at once.
 *
 * A session ends by its first error, for a reason that nri_session_error() tells: whatever
 * the runtime sends against the protocol, the remedy is to close the connection and to make a
 * new session, whose Synchronize has the whole state. It also ends when an answer left later
 * than the runtime waits: the runtime then takes the plugin for dead, but those with NRI
 * before 0.12 may leave the connection open and send nothing any more.
 *
 * NRI fails open: a container of a runtime that does not hear an answer is created without
 * one. Only a refusal stops it.
 */
#ifndef NRI_SESSION_H
#define NRI_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "nri/messages.h"

/* What a request, or the pieces of one Synchronize, may take in memory when decoded. */
#define NRI_REQUEST_MEMORY (64U << 20)
/* More than a prefix has keys with a meaning, so a pod that loses some is known to have wrong ones. */
#define NRI_PAIRS_MAX 16
/*
 * From the connection to the end of the first Synchronize. A runtime accepts plugins one by
 * one and waits five seconds for one that says nothing, so this is not five seconds.
 */
#define NRI_START_LIMIT_NS (30 * 1000000000ULL)
/*
 * Until then it must be known at least so often that nothing waits to be read: a runtime that waited in
 * vain for the answer to Configure or Synchronize may say nothing about it.
 */
#define NRI_START_LOOK_NS (100 * 1000000ULL)
/* For the runtime's answer to nri_session_update(). */
#define NRI_UPDATE_LIMIT_NS  (30 * 1000000000ULL)
#define NRI_SESSION_TEXT_MAX 256

struct nri_session;

struct nri_options {
	const char *name;	 /* letters, digits and "_.+-" */
	const char *index;	 /* two digits; plugins are called in this order */
	const char *nri_version; /* that the agent was written for; "" = not stated */
	/* The runtime is known to be free of the deadlock for which nri_session_update() is
	 * refused, although it does not state NRI 0.12.1: a release with the fix backported. */
	bool update_always;
	/* Of the labels and annotations in a Synchronize, only some whose keys begin with this
	 * are kept: at most NRI_PAIRS_MAX of each list. NULL = all of them. Not copied. */
	const char *pair_prefix;
};

/* All pods and containers, except containers that have exited. */
struct nri_snapshot {
	const struct nri_pod *pods;
	size_t nr_pods;
	const struct nri_container *containers;
	size_t nr_containers;
};

/*
 * All must be set. Those with a `request` have to answer it with nri_session_answer(), from
 * within or later; the runtime waits for it, with a lock that stops all other pods. A callback
 * calls no other function of the session. Of the pod of an event only the id is certain, and
 * not even that if the event is about a container.
 */
struct nri_callbacks {
	/* The mask of events to subscribe to; 0 = all that the runtime knows. */
	uint32_t (*configure)(void *data, const struct nri_runtime *runtime);
	void (*synchronize)(void *data, uint32_t request, const struct nri_snapshot *snapshot);
	void (*create_container)(void *data, uint32_t request, const struct nri_pod *pod,
				 const struct nri_container *container);
	/* `wanted` is what was asked of the runtime; an update in the answer overrides it. */
	void (*update_container)(void *data, uint32_t request, const struct nri_pod *pod,
				 const struct nri_container *container,
				 const struct nri_resources *wanted);
	/* May come after the creation of the container's successor, and need not come at all:
	 * the removal of a container or a pod includes it. */
	void (*stop_container)(void *data, uint32_t request, const struct nri_pod *pod,
			       const struct nri_container *container);
	/* Events that ask nothing: they were answered already. */
	void (*container_event)(void *data, enum nri_event event, const struct nri_pod *pod,
				const struct nri_container *container);
	void (*pod_event)(void *data, enum nri_event event, const struct nri_pod *pod);
	/* The end of nri_session_update(): code 0 for success. Otherwise some updates may be in
	 * force; which ones, only the cgroups tell. An unknown container counts as success. */
	void (*updated)(void *data, int32_t code, const char *text);
};

struct nri_answer {
	const struct nri_adjustment *adjustment; /* for a creation only; NULL = none */
	/* Of other containers, and for an update of that container as well. */
	const struct nri_update *updates;
	size_t nr_updates;
	/* Makes a creation or an update fail with this text; then nothing else is sent. */
	const char *refusal;
};

/* Begins with the registration in the output. The other strings of `options` are copied. */
int nri_session_new(const struct nri_options *options, const struct nri_callbacks *callbacks,
		    void *data, uint64_t now_ns, struct nri_session **ret_session);
void nri_session_free(struct nri_session *session);
DEFINE_CLEANUP(struct nri_session, nri_session_free_ptr, nri_session_free);
#define cleanup_nri_session cleanup(nri_session_free_ptr)

/*
 * Each returns the session's error, 0 while it has none: -EPROTO, -EBADMSG or -EMSGSIZE for
 * what the runtime sent, -EACCES for a refused registration, -ETIMEDOUT, -ECONNRESET,
 * -ESHUTDOWN for an orderly end, -ENOMEM, -ENOBUFS.
 */
int nri_session_receive(struct nri_session *session, const void *bytes, size_t len,
			uint64_t now_ns);
/*
 * At that time everything that had come was read. Until the session has started, a request counts as sent
 * at the last such time, not when it is read: it may have waited for a caller who was busy or had no CPU.
 * Later no such time is needed, because the runtime then closes the connection of a plugin that is late.
 */
void nri_session_drained(struct nri_session *session, uint64_t now_ns);
/* The runtime closed the connection. */
int nri_session_end_of_input(struct nri_session *session);
/* The first `len` bytes of the output were written, just now. */
int nri_session_sent(struct nri_session *session, size_t len, uint64_t now_ns);
/* To be called when nri_session_deadline() has passed, and what has come was read. */
int nri_session_check(struct nri_session *session, uint64_t now_ns);
/* With a sentence about the first error; `ret_text` may be NULL. */
int nri_session_error(const struct nri_session *session, const char **ret_text);

/* What is to be written; borrowed until the next call that takes the session. */
const void *nri_session_output(const struct nri_session *session, size_t *ret_len);
/* When the session ends unless something happens before, or is to look for input; UINT64_MAX = never. */
uint64_t nri_session_deadline(const struct nri_session *session);
/* Registered, synchronized, and without error? */
bool nri_session_is_ready(const struct nri_session *session);

/*
 * -ENOENT = no such request, or it was answered; -EINVAL = the answer does not fit the
 * request; -EMSGSIZE = too long. The request is then still unanswered.
 */
int nri_session_answer(struct nri_session *session, uint32_t request,
		       const struct nri_answer *answer);
/*
 * Change containers without being asked. -EOPNOTSUPP for a runtime with NRI before 0.12.1,
 * where a call that coincides with an event can stop the node's containers for good: use the
 * answers. -EBUSY until the previous call has ended, -ENOTCONN if the session is not ready.
 */
int nri_session_update(struct nri_session *session, const struct nri_update *updates,
		       size_t nr_updates, uint64_t now_ns);

#endif
