/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's own state, shared by the files of user/ctl only. */
#ifndef CTL_INTERNAL_H
#define CTL_INTERNAL_H

#include "core/admit.h"
#include "ctl/controller.h"
#include "format/views.h"
#include "lib/text.h"

#define MAX_FINDINGS 64 /* more than there are names, and MAX_LOST_NAMED of one */
#define MAX_REFUSED  256
#define MAX_TOUCHED  16 /* of more than that the whole look takes care */
#define RESYNC_NS    (10ULL * 1000000000ULL)
#define SELF_TEST_NS (60ULL * 1000000000ULL)
/* So long after somebody changed what guards us a finding still says so. */
#define MENDED_TOLD_NS	 (15ULL * 60 * 1000000000ULL)
#define RETRY_FIRST_NS	 (100ULL * 1000000ULL)
#define RETRY_LONGEST_NS (30ULL * 1000000000ULL)
/* The longest where the last try did a part of the work, as a removal in passes does. */
#define RETRY_PART_NS (2ULL * 1000000000ULL)
/*
 * Looks that others cause by writing, making or removing cgroups may take a
 * twentieth of the time, and this much at once before that; so a writer without end
 * cannot keep the agent busy, nor keep it from looking for longer than the last.
 */
#define LOOK_SHARE	    20
#define LOOK_BURST_NS	    (500ULL * 1000000ULL)
#define LOOK_LONGEST_GAP_NS (5ULL * 1000000000ULL)
#define LOOK_AGAIN_NS	    (1000ULL * 1000000ULL) /* after one that failed */
/* Namespace of pods found running without a record of them. */
#define REBUILT_NAMESPACE "recovered"
/* Below the workload root: the self-test's cgroup, never a pod's name. */
#define SELF_TEST_GROUP "pinfold-selftest"

/* A pod a source names and the ledger does not hold. */
struct refused_pod {
	char name[POD_NAME_MAX * 2]; /* namespace/name as far as known */
	char file[ROW_PATH_MAX];
	unsigned int line;
	struct pod_spec *spec; /* NULL: the document itself is wrong */
	struct decision decision;
};

/* Of a chain in the present round. */
enum chain_progress {
	CHAIN_PUT_OFF, /* not due yet */
	CHAIN_TRIED,   /* due, and no step has failed so far */
	CHAIN_FAILED,
	CHAIN_HELD, /* for CPUs that another pod has not left yet; due in the next round */
};

/* Why a pod's chain of steps stopped, and when to try again. */
struct retry {
	char uid[POD_UID_MAX]; /* "" = the root */
	uint64_t delay_ns, due_ns;
	enum chain_progress progress;
	char error[GROUP_ERROR_MAX];
};

/* An operator hears of a wait in the kernel after this long; after that long, /readyz does. */
#define OPERATION_TOLD_NS     (1ULL * 1000000000ULL)
#define OPERATION_DEADLINE_NS (5ULL * 1000000000ULL)

enum operation_kind { OPERATION_STEP, OPERATION_JOIN, OPERATION_KILL };

/*
 * What goes on in the kernel for a chain, which stands still until it ends: one at most
 * for each uid. The chain is then compared again, whatever the end was.
 */
struct operation {
	enum operation_kind kind;
	struct step step; /* join and kill: path and uid only; value is owned, may be NULL */
	uint64_t since_ns;
	bool is_repair;		   /* of a drift that is still open */
	uint64_t run;		   /* join: the request that waits for it */
	char told[ROW_DETAIL_MAX]; /* what an operator is told of it; "" = nothing yet */
};

/*
 * CPUs that a stopped chain still has, or gets any moment, and that the ledger gives
 * to others. Who is to get them waits too, else an exclusive container met a stranger.
 */
struct held_cpus {
	char uid[POD_UID_MAX];
	struct cpuset cpus;
};

/* The longest of all waits in the kernel, and how many there are. */
struct waiting {
	uint32_t nr;
	uint64_t longest_ns;
	char who[176], what[GROUP_PATH_MAX];
	char path[GROUP_PATH_MAX];
	bool is_save;
};

/* `pinfold run` that has no answer yet. */
struct run_request {
	uint64_t id;
	char pod[POD_NAME_MAX * 2 + POD_UID_MAX], container[POD_CONTAINER_NAME];
	char uid[POD_UID_MAX]; /* of the pod, once it is known */
	pid_t pid;
	int pidfd; /* owned */
	bool is_joining, has_ended_init;
};
#define MAX_RUNS 64

/* Where a container's CPUs come from, in the words of the kubelet's resource_manager_* metrics. */
enum assignment {
	ASSIGNMENT_NODE_EXCLUSIVE,
	ASSIGNMENT_POD_EXCLUSIVE, /* its own slice of the pod's bubble */
	ASSIGNMENT_POD_SHARED,
	ASSIGNMENT_NODE_SHARED,
	ASSIGNMENT_NR
};

enum assignment assignment_of(const struct ledger_pod *pod, const struct grant *grant);

/* Its grant is being written to the state file, and is in force once that is done. */
struct deferred_pod {
	struct pod_spec *spec; /* owned; NULL = none */
	char file[ROW_PATH_MAX];
	unsigned int line;
	uint64_t since_ns;
};

struct counters {
	uint64_t admitted, refused[REFUSAL_NR];
	uint64_t released;
	uint64_t drift_by_attribute[GROUP_FILE_NR];
	uint64_t repaired_by_attribute[GROUP_FILE_NR], failed_by_attribute[GROUP_FILE_NR];
	uint64_t state_written, state_failed;
	uint64_t assignments[ASSIGNMENT_NR];	     /* containers given that kind, ever */
	uint64_t admission_ns[15], admission_sum_ns; /* histogram, see measure.c */
};

struct controller {
	const struct topology *topology;
	struct cpuset online; /* as last read */
	const struct policy *policy;
	struct controller_options options;
	struct controller_ports ports;
	enum enforcement cpuset_files; /* the configuration's, or `enforce` for one round */

	struct ledger *ledger;
	struct plan_layout layout;
	bool root_partition_held; /* as the kernel reads it back */

	/* What we last wrote, so that a difference can be told from a change of ours. */
	struct group_tree desired;
	/* What the last look saw, kept while operations go on: their pods are unseen meanwhile. */
	struct group_tree observed;
	/* Containers that were written to since the last look: they are looked at first. */
	char touched[MAX_TOUCHED][GROUP_PATH_MAX];
	uint32_t nr_touched;
	bool ledger_changed; /* since the kernel side was last told */
	bool groups_changed; /* a cgroup was made or removed: ids are new */
	bool policy_stale;   /* the kernel side could not be told of the last change */
	bool watch_stale;    /* not every cgroup is watched */
	bool started, source_complete, state_writable;
	/* Why the cgroups cannot be reached, and why the last look at them failed; "" = neither. */
	char obstacle[ROW_DETAIL_MAX], look_problem[ROW_DETAIL_MAX];
	uint64_t last_resync_ns, last_self_test_ns;
	/* What of the kernel side's mendings has been told, and since when there was no other. */
	uint64_t told_mended[MENDED_NR], mended_ns[MENDED_NR];
	bool told_release;
	bool ends_release; /* with the next policy: the agent started or was told to reload */
	/* What looks for others cost, less what time has made good. */
	uint64_t look_debt_ns, look_counted_ns;
	bool others_wrote; /* since the last look */

	uint32_t nr_refused;
	struct refused_pod *refused; /* [MAX_REFUSED] */
	/* Refused in the last scan when the list was full; they wait for the next one. */
	uint32_t nr_unlisted;
	bool wants_scan;
	uint32_t nr_retries;
	struct retry *retries; /* grows to the pods + 1 */
	/* What goes on in the kernel. */
	uint32_t nr_operations, max_operations;
	struct operation *operations;
	uint32_t nr_held;
	struct held_cpus *held;
	/* Steps begun and ended: a look that saw another number in between is too old. */
	uint64_t nr_changes, changes_at_look;
	uint64_t looking_since_ns; /* 0 = no look goes on */
	bool has_looked;	   /* since the start */
	bool looks_again;	   /* asked for during a look, which may have passed it already */
	bool has_told_waiting;	   /* the finding operation_waiting stands */
	bool repairs_once; /* the next round mends drift even where the policy only audits */
	uint32_t nr_runs;
	struct run_request runs[MAX_RUNS];
	const struct answer_sink *answers;
	/* A save that goes on, and what it writes; a pod whose grant is in there. */
	uint64_t saving_since_ns;    /* 0 = none */
	struct text saving, durable; /* durable: after a late save, until the next one */
	bool state_is_behind;	     /* the file lacks something of the ledger */
	bool retries_refused; /* the file can be written again: the next sweep decides anew */
	struct deferred_pod deferred;
	uint32_t nr_findings;
	struct finding_row findings[MAX_FINDINGS];
	struct audit audit;
	struct counters counters;
	char state_problem[ROW_DETAIL_MAX];
	int64_t state_written_ns;

	struct source_sink source_sink;
	struct groups_sink groups_sink;
	struct kernel_sink kernel_sink;
	struct store_sink store_sink;
	struct faces_port faces;
};

/* admission.c: what sources say becomes ledger changes */
void admission_scanned(void *self, const struct source_pod *pods, uint32_t nr_pods, bool complete);
/* Ending pods without processes go; refused ones are tried again after a release. */
void admission_sweep(struct controller *controller);
/* A deferred pod's grant is durable, or cannot be saved: it is decided once more. */
void admission_resume(struct controller *controller, int result);
/* "namespace/name" of a pod, for people. */
void pod_label(const struct pod_spec *spec, char *buffer, size_t size);

/*
 * adopt.c: a pod that was taken over without its manifest (found running, or imported
 * from a kubelet) gets the spec a source has for it and keeps exactly what it holds,
 * where the spec is entitled to just that. Leaves the transaction open; 0, or -ENOTSUP
 * when it has to be decided anew (nothing is open then), -ENOMEM.
 */
bool is_without_manifest(const struct ledger_pod *pod);
int adopt_prepare(struct controller *controller, const struct ledger_pod *pod,
		  const struct pod_spec *spec);

/*
 * recover.c: the state file. -EINPROGRESS: it is being written, this or an earlier
 * record; 0 only when what the ledger says now is in the file.
 */
int state_save(struct controller *controller);
/* Could it be written now? Asked before there is something to write. */
void state_check(struct controller *controller);
/* store_sink.saved */
void on_state_saved(void *self, int result);
/*
 * At the start: the ledger as the file has it, as far as it fits the machine; else from
 * the cgroups that run. -EPROTO: a newer agent wrote the file, which is left as it is.
 */
int state_recover(struct controller *controller);

/* rebuild.c: what runs keeps its CPUs when there is no usable state file */
int rebuild_from_groups(struct controller *controller);

/* reconcile.c: desired − observed, applied */
void reconcile(struct controller *controller);
/* Why the chain of this uid ("" = the root's) stopped; NULL = it did not. */
struct retry *retry_find(const struct controller *controller, const char *uid);
/* Does the step write a container's CPUs? */
bool is_cpu_step(const struct step *step);
/* A step that had answered -EINPROGRESS has ended. */
void step_ended(struct controller *controller, const struct operation *operation, int result,
		const char *error);
/* Somebody wrote a file of this group: it comes first at the next look. */
void touch(struct controller *controller, const char *path);
/*
 * Mend the touched containers alone: drift is undone in a few file reads, whatever
 * the number of pods. A whole look must follow; what is odd is left to it.
 */
void reconcile_touched(struct controller *controller);
/* Words of drift rows and metrics for the files we own: "cpus", "quota", … */
const char *attribute_name(enum group_file file);
/* Would tier 1 hurt? Decides controller->layout.root_partition. */
void choose_tier(struct controller *controller);

/* ready.c: is what was promised held? `reason` is written only when it is not. */
bool is_ready(void *self, char *reason, size_t size);
/* Is the cgroup file system in its place and writable? A finding while it is not. */
void check_reach(struct controller *controller);
/* Is this pod not held, or unknown to be? Then why; the row borrows from the controller. */
bool pod_problem(const struct controller *controller, const struct ledger_pod *pod,
		 struct pod_problem *ret_problem);
/* The same for all pods; `ret_problems` has room for as many as the ledger has pods. */
uint32_t pod_problems(const struct controller *controller, struct pod_problem *ret_problems);

/* operations.c: what goes on in the kernel meanwhile. The operation of this uid's chain, or NULL. */
struct operation *operation_find(const struct controller *controller, const char *uid);
/* Room for one more, made before it begins: then operation_begin cannot fail. */
int operations_reserve(struct controller *controller);
/* The step is copied. Borrowed until the next call that begins or ends an operation. */
struct operation *operation_begin(struct controller *controller, enum operation_kind kind,
				  const struct step *step);
void operations_free(struct controller *controller);
/* groups_sink.completed and groups_sink.looked */
void on_group_completed(void *self, const char *path, int result, const char *error);
void on_looked(void *self);
/* Keep these CPUs from all chains but that of `uid` until the next round. */
void hold_cpus(struct controller *controller, const char *uid, const struct cpuset *cpus);
/* What writes that go on may give their containers, though the ledger does not any more. */
void hold_in_flight(struct controller *controller, const struct group_tree *desired);
/* "pod namespace/name", "the workload root" */
void chain_label(const struct controller *controller, const char *uid, char *text, size_t size);
/* Whom this operation stops, what for and how long; `nr` is 1. */
void operation_describe(const struct controller *controller, const struct operation *operation,
			struct waiting *ret_waiting);
/* The longest of all waits, a look and a save included. */
void operations_longest(const struct controller *controller, struct waiting *ret_waiting);
/* Either of these in words, with the place in the kernel where it waits. */
void operations_sentence(const struct controller *controller, const struct waiting *waiting,
			 char *text, size_t size);
/* Does one wait for so long? The sentence says which. */
bool operations_overdue(const struct controller *controller, uint64_t deadline_ns, char *reason,
			size_t size);
/* Make the finding or take it back; each second, and when an operation ends. */
void operations_tell(struct controller *controller);

/* guard.c: how the guard stands in the kernel, as findings and events */
void look_at_guard(struct controller *controller);
/* Have the guard try itself; then the same. */
void test_guard(struct controller *controller);

/* publish.c: what the BPF side is told */
void publish_policy(struct controller *controller);
/* kernel_sink.event and kernel_sink.completed */
void on_kernel_event(void *self, const struct kernel_event *event);
void on_kernel_completed(void *self);
/* The ledger's container behind a cgroup path; false = none. */
bool container_of_path(const struct controller *controller, const char *path, char *ret_pod,
		       size_t size, const char **ret_container);

/* report.c, command.c, measure.c: the members of faces_port */
int report_query(void *self, const char *object, struct json_object **ret_json);
int command_run(void *self, uint64_t request, const char *object, const char *command,
		struct json_object *body, pid_t peer_pid, struct json_object **ret_json,
		unsigned int *ret_status);
void command_listen(void *self, const struct answer_sink *sink);
void command_withdraw(void *self, uint64_t request, char *ret_why, size_t size);
/* Requests that waited for a chain or for a look are tried again. */
void runs_advance(struct controller *controller);
/* The join of a request has ended: the request is answered. */
void join_ended(struct controller *controller, const struct operation *operation, int result,
		const char *error);
void runs_free(struct controller *controller);
int measure_page(void *self, bool openmetrics, struct text *out);

/* controller.c: have controller_wake called in so long, or sooner. */
void want_wake(struct controller *controller, uint64_t delay_ns);
/* The same for somebody else's doing: at once, or when what such looks may cost allows it. */
void want_look(struct controller *controller);
uint64_t now_ns(const struct controller *controller);
/* As controller_finding, but beside others of that name instead of in their place. */
void add_finding(struct controller *controller, const char *name, const char *message,
		 const char *remedy);
/* As controller_finding, for a message that changes with time: the log has the first only. */
void controller_update_finding(struct controller *controller, const char *name, const char *message,
			       const char *remedy);
/* A finding for each option of the configuration that has no effect in this version. */
void find_unbuilt(struct controller *controller);
/* Group of a container or pod in the desired tree, NULL = none. */
const struct group *desired_group(const struct controller *controller, const char *uid,
				  const char *container);

#endif
