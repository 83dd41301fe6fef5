/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the backend, and what its files call of each other. Private to bpf_backend.c
 * and backend_*.c, which are a stack: bpf_backend.c uses them all; revert uses guard, counters,
 * events and lease; publish uses guard and lease; lease uses guard; guard uses counters; the others use
 * none.
 */
#ifndef BPF_BACKEND_PRIVATE_H
#define BPF_BACKEND_PRIVATE_H

#include <pthread.h>

#include "bpf/bpf_backend.h"
#include "bpf/events.h"
#include "bpf/guard_files.h"
#include "bpf/load_thread.h"
#include "bpf/observe.h"
#include "bpf/policy.h"
#include "bpf/selftest.h"

#define PROGRAMS_MAX (BPF_OBJECT_NR * BPF_OBJECT_PROGRAMS_MAX)

/* The lease of process 1 as it was set last; other threads set it. */
struct backend_lease {
	pthread_mutex_t lock; /* of the other members, and of the map's value */
	int map_fd;	      /* borrowed from an object; -1 = there is no guard */
	uint64_t until_ns;
	int error; /* errno of the last write of the map; 0 = none */
};

struct bpf_backend {
	struct bpf_backend_options options;
	struct bpf_object_sizes sizes;
	struct bpf_objects objects;
	struct load_thread load;
	struct policy_maps maps; /* of the objects in force */
	/* the configuration last set, without a release; compared each second */
	struct guard_config set;
	struct earlier_groups earlier;
	struct backend_lease lease;
	struct guard_files files; /* last written to the map */
	struct heartbeat heartbeat;
	struct event_reader *reader;
	struct kernel_sink sink; /* the function is NULL until bpf_backend_watch is called */
	struct sd_event *event;	 /* borrowed; NULL until bpf_backend_watch is called */
	struct sd_event_source *source, *load_source;
	struct selftest selftest;
	uint32_t nr_attempts;	     /* of the self-test that runs or ran last */
	uint64_t misses_before_test; /* before the last of these; UINT64_MAX = unknown */
	struct guard_status status;
	int switch_error;     /* errno of setting kernel.ftrace_enabled to 1; 0 = it is 1 */
	int config_error;     /* errno of restoring the guard's configuration; 0 = none */
	int files_error;      /* errno of updating the map `guard_files`; 0 = none */
	int publish_error;    /* result of the last publication */
	uint32_t nr_left_out; /* groups that are only counted and had no room in `managed` */
	struct feature_row features[BPF_FEATURES_MAX];
	struct prog_row programs[PROGRAMS_MAX];
	struct hook_count hooks[HOOK_NR];
	uint32_t *slots; /* for each group of the policy that is being published */
	int stats_fd;	 /* keeps run time statistics enabled, or -1 */
};

/* Borrowed; NULL: not in force. */
static inline struct bpf_object_handle *backend_guard(const struct bpf_backend *backend)
{
	return bpf_objects_handle(&backend->objects, BPF_OBJECT_GUARD);
}

static inline struct observer *backend_observer(const struct bpf_backend *backend)
{
	return backend->objects.instances[BPF_OBJECT_OBSERVE].state;
}

/* --- backend_guard.c: the state of the guard ----------------------------------------------------- */

/* Before the first self-test: unknown, or inactive with the reason why there is no guard. */
void backend_begin_status(struct bpf_backend *backend);
/* Count a change that was reverted; `text` describes it. */
void backend_say_mended(struct bpf_backend *backend, enum guard_mending what, const char *text);
/* The same for pins that were restored, or that could not be. */
void backend_say_pins(struct bpf_backend *backend, const struct pins_report *report);
/* If a write failed (`error`), check whether a map is frozen: only replacing it helps then. */
void backend_note_frozen(struct bpf_backend *backend, int error);
/* The self-test was denied: active, or partial if the mechanism may skip programs. */
void backend_update_guard_status(struct bpf_backend *backend);
void backend_self_test_ended(void *self, const char *path, int result,
			     const struct selftest_result *found);
/* Members of kernel_port. */
int backend_self_test(void *self, const char *test_cgroup);
void backend_self_test_waits_in(void *self, char *ret_text, size_t size);
void backend_guard_status(void *self, struct guard_status *ret_status);

/* --- backend_counters.c: what the programs counted ------------------------------------------------ */

/* Calls that the guard's programs missed because one of them was preempted. -errno: not known. */
int backend_recursion_misses(const struct bpf_backend *backend, uint64_t *ret_misses);
/* Members of kernel_port. */
uint32_t backend_programs(void *self, const struct prog_row **ret_rows);
void backend_list(void *self, struct bpf_inventory *inventory);
uint32_t backend_hook_counts(void *self, const struct hook_count **ret_counts);
int backend_events_lost(void *self, enum event_counter what, uint64_t *ret_nr);
int backend_observer_space(void *self, struct observer_space *ret_space);
int backend_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage);
int backend_latency(void *self, uint64_t cgroup_id, struct latency *ret_latency);

/* --- backend_events.c: events ---------------------------------------------------------------------- */

/* Open the ring buffer if an object in force has one. */
int backend_open_reader(struct bpf_backend *backend);
/* Read from the event loop as soon as there are a reader and a loop. */
int backend_listen(struct bpf_backend *backend);
/* Pass on an event that the backend itself has made. */
void backend_relay_event(void *self, const struct event_record *event);

/* --- backend_lease.c: the rights of process 1 ------------------------------------------------------ */

void backend_lease_init(struct bpf_backend *backend);
void backend_lease_fini(struct bpf_backend *backend);
/* The objects in force have this map; -1 = none. */
void backend_lease_use(struct bpf_backend *backend, int map_fd);
/* Member of lease_port. */
int backend_set_lease(void *self, uint64_t until_ns);
/* Revert a lease that another process wrote, and report it. Reports a frozen map as well. */
void backend_mend_lease(struct bpf_backend *backend);

/* --- backend_publish.c: policies ------------------------------------------------------------------- */

/* Members of kernel_port. */
int backend_enter_actor(void *self);
int backend_publish(void *self, const struct kernel_policy *policy);
uint32_t backend_groups_left_out(void *self);

/* --- backend_revert.c: what is in force, compared with what was set ----------------------------- */

/*
 * Another process switched off the mechanism that calls the programs. At a start this is
 * reverted before any probe: a probe would find that programs are never called, and that
 * result would be saved.
 */
void backend_mend_switch(struct bpf_backend *backend);
/* Bring the map `guard_files` up to date with pins and mounts. */
void backend_mend_files(struct bpf_backend *backend);
/* Report the pins found wrong while the objects were put in force; each object reports them once. */
void backend_say_inherited(struct bpf_backend *backend);
/* Member of kernel_port: compare everything. */
void backend_tick(void *self);

#endif
