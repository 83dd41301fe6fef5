// SPDX-License-Identifier: Apache-2.0
/* What is observed rather than decided, and the small answers. */
#include "format/views.h"

#include <stdlib.h>
#include <string.h>

#include <pinfold/names.h>
#include <pinfold/pressure.h>

#include "format/event.h"
#include "format/object_table.h"
#include "format/view_private.h"

/* --- state ------------------------------------------------------------------------------------ */

static const struct field_desc state_fields[] = {
	TEXT(view_state, file, "state", HEAD, "Path of the state file."),
	ANSWER(view_state, present, NULL, HEAD, "It exists and could be read."),
	ANSWER(view_state, writable, NULL, HEAD | OR_NULL,
	       "The last write succeeded; without it there are no new grants."),
	COUNT(view_state, version, NULL, LINE | OR_NULL, "Version of its format."),
	TIME(view_state, written_ns, "written", OR_NULL, "When it was written."),
	TEXT(view_state, boot_id, "boot", OR_NULL, "Boot that wrote it."),
	COUNT_AS(view_state, nr_pods, "pods", NULL, LINE | OR_NULL, "Pods in it."),
	COUNT_AS(view_state, nr_containers, "containers", NULL, OR_NULL, "Containers in it."),
	TEXT(view_state, problem, NULL, LINE | OR_NULL, "Why it cannot be used."),
	TEXTS(view_state, set_aside, "set aside", LINE, "Unusable files kept for inspection."),
};
DESCRIBE(view_state, state_fields, "state", "The state file.");

struct json_object *view_state(const struct view_state *row)
{
	return object_json(&view_state_desc, row, 1);
}

/* --- drift ------------------------------------------------------------------------------------ */

static const struct field_desc drift_fields[] = {
	TEXT(view_drift, cgroup, "drift", HEAD, "Where, below the cgroup mount."),
	TEXT(view_drift, attribute, NULL, HEAD,
	     "cpus, mems, quota, weight, memory, partition, freeze or members."),
	ANSWER(view_drift, open, NULL, HEAD, "The kernel still differs."),
	TIME(view_drift, since_ns, "since", HEAD, "When it was first seen."),
	TIME(view_drift, repaired_ns, "repaired", HEAD | OR_NULL,
	     "When it was repaired, or when the kernel no longer differed."),
	SECONDS(view_drift, lasted_ns, "lasted_seconds", "lasted", HEAD | OR_NULL,
		"How long it lasted; null while it is open, and if the clock was set back meanwhile."),
	TEXT(view_drift, wanted, NULL, LINE, "The value in the ledger, or what a kubelet decided."),
	TEXT(view_drift, found, NULL, 0, "The value in the kernel."),
	TEXT(view_drift, action, NULL, OR_NULL, "What the agent did: repair, audit or none."),
	TEXT(view_drift, cause, NULL, LINE | OR_NULL,
	     "systemd, runtime, kubelet, user, kernel or unknown."),
	COUNT(view_drift, pid, NULL, OR_NULL, "Process that changed it."),
	TEXT(view_drift, comm, NULL, OR_NULL, "Its name."),
	TEXT(view_drift, writer_cgroup, "by", OR_NULL, "Its cgroup."),
};
DESCRIBE(view_drift, drift_fields, "drift",
	 "Where the kernel differs, or differed, from the ledger, or from a kubelet's decisions.",
	 .is_list = true);

/* -1 while it is open, and where the clock was set back meanwhile. */
static int64_t duration_of(const struct drift_row *row)
{
	return row->repaired_ns >= row->since_ns ? (int64_t)(row->repaired_ns - row->since_ns) : -1;
}

struct json_object *view_drifts(const struct drift_row *rows, size_t nr_rows)
{
	struct view_drift *drifts cleanup_free = calloc(nr_rows + 1, sizeof(*drifts));

	if (!drifts)
		return NULL;
	for (size_t i = 0; i < nr_rows; i++) {
		const struct drift_row *row = &rows[i];

		drifts[i] = (struct view_drift){
			.cgroup = row->path,
			.attribute = attribute_name(row->attribute),
			.open = !row->repaired_ns,
			.since_ns = row->since_ns,
			.repaired_ns = row->repaired_ns,
			.lasted_ns = duration_of(row),
			.wanted = row->wanted,
			.found = row->found,
			.action = given(action_name(row->action)),
			.cause = given(drift_cause_name(row->cause)),
			.pid = row->pid,
			.comm = given(row->comm),
			.writer_cgroup = given(row->cgroup),
		};
	}
	return object_json(&view_drift_desc, drifts, nr_rows);
}

/* --- pressure --------------------------------------------------------------------------------- */

#define SOME "at least one of its tasks waited for it"
#define FULL "tasks waited for it and none ran"

static const struct field_desc pressure_fields[] = {
	TEXT(view_pressure, namespace, NULL, 0, "Namespace of the pod."),
	TEXT(view_pressure, pod, NULL, SLASH, "Name of the pod."),
	TEXT(view_pressure, container, NULL, OR_NULL | SLASH | IDENTITY,
	     "Name of the container; null for the pod as a whole, which is not the sum of its "
	     "containers."),
	TEXT(view_pressure, uid, NULL, HIDDEN | IDENTITY, "Identity of the pod."),
	WORD(view_pressure, resource, NULL, IDENTITY, "What its tasks waited for.",
	     [PRESSURE_CPU] = "cpu", [PRESSURE_MEMORY] = "memory", [PRESSURE_IO] = "io"),
	PERCENT(view_pressure, some_10, "some 10s", OR_NULL | RANK,
		"Share of the last 10 seconds in which " SOME "."),
	PERCENT(view_pressure, some_60, "some 60s", OR_NULL, "The same for the last 60 seconds."),
	PERCENT(view_pressure, some_300, "some 300s", OR_NULL,
		"The same for the last 300 seconds."),
	PERCENT(view_pressure, full_10, "full 10s", OR_NULL,
		"Share of the last 10 seconds in which " FULL "."),
	PERCENT(view_pressure, full_60, "full 60s", OR_NULL, "The same for the last 60 seconds."),
	PERCENT(view_pressure, full_300, "full 300s", OR_NULL,
		"The same for the last 300 seconds."),
	SECONDS(view_pressure, some_ns, "some_seconds", "some", OR_NULL | HIDDEN | TOTAL,
		"Time since the cgroup was created in which " SOME "."),
	SECONDS(view_pressure, full_ns, "full_seconds", "full", OR_NULL | HIDDEN | TOTAL,
		"Time since the cgroup was created in which " FULL "."),
	SECONDS(view_pressure, task_wait_10_ns, "task_wait_10", "task wait/s", OR_NULL,
		"Time that its tasks waited for a CPU in each second of the last 10, as the observer "
		"counts it, whether the kernel measures pressure or not. It is not a share: tasks that "
		"wait at the same time add up, and a wait counts when it is over. Null for memory and "
		"IO."),
	SECONDS(view_pressure, task_wait_60_ns, "task_wait_60", NULL, OR_NULL | HIDDEN,
		"The same for the last 60 seconds."),
	SECONDS(view_pressure, task_wait_300_ns, "task_wait_300", NULL, OR_NULL | HIDDEN,
		"The same for the last 300 seconds."),
	WORD(view_pressure, state, NULL, 0,
	     "Whether the kernel measures it: off if it was booted with psi=0, off_cgroup if "
	     "cgroup.pressure is 0, unknown if it was not read lately or the agent could not load "
	     "the program that reads it.",
	     [PRESSURE_UNKNOWN] = "unknown", [PRESSURE_MEASURED] = "measured",
	     [PRESSURE_OFF] = "off", [PRESSURE_OFF_CGROUP] = "off_cgroup"),
	TEXT(view_pressure, remedy, NULL, OR_NULL, "What makes the kernel measure it."),
};
DESCRIBE(view_pressure, pressure_fields, "pressure",
	 "How long the tasks of a pod or container waited for CPU, memory or IO, as the kernel "
	 "measures it (PSI).",
	 .is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_pressures(const struct view_pressure *rows, size_t nr_rows)
{
	return object_json(&view_pressure_desc, rows, nr_rows);
}

/* --- noise ------------------------------------------------------------------------------------ */

static const struct field_desc noise_fields[] = {
	COUNT(view_noise, cpu, NULL, IDENTITY, "The exclusive CPU."),
	TEXT(view_noise, namespace, NULL, 0, "Namespace of the pod that owns it."),
	TEXT(view_noise, pod, NULL, SLASH, "Name of that pod."),
	TEXT(view_noise, container, NULL, OR_NULL | SLASH | IDENTITY,
	     "The container that owns it; null if several containers of the pod use it one after "
	     "the other."),
	TEXT(view_noise, uid, NULL, HIDDEN | IDENTITY, "Identity of the pod."),
	ENUM(view_noise, source, NULL, IDENTITY,
	     "Who disturbs: an interrupt line (hardirq), a softirq, the interrupt of the CPU's "
	     "timer, an interrupt that another CPU sends (reschedule, call_function), a kernel "
	     "thread (kthread), or a task of the host, of another container of the pod, or of "
	     "another pod. Or what ran on another thread of the core while the owner ran "
	     "(smt_sibling), which took no time from the CPU but slowed it down.",
	     noise_source_name, NOISE_SOURCE_NR),
	COUNT(view_noise, sibling, NULL, OR_NULL | IDENTITY,
	      "Of smt_sibling: that thread of the core."),
	WORD(view_noise, by, NULL, OR_NULL | IDENTITY,
	     "Of smt_sibling: whose the task there was, in the words of the source.", "kthread",
	     "host_task", "pod_sibling", "other_pod"),
	COUNT(view_noise, irq, NULL, OR_NULL | IDENTITY, "Number of the interrupt line."),
	TEXT(view_noise, name, NULL, OR_NULL | IDENTITY,
	     "Name of the interrupt's handler, the softirq, the kernel thread or the task; null for "
	     "the timer and for interrupts of other CPUs, and for the sum of all that are too many "
	     "to be listed one by one."),
	COUNT(view_noise, pid, NULL, OR_NULL, "The thread or task; the last one of that name."),
	TEXT(view_noise, cgroup, NULL, OR_NULL | IDENTITY,
	     "Cgroup of the task, below the cgroup mount; null if it is gone, or until its name has "
	     "been looked up."),
	COUNT(view_noise, count, NULL, OR_NULL | TOTAL,
	      "How often since the container has the CPU; null if that is not known."),
	SECONDS(view_noise, total_ns, "seconds", "total", OR_NULL | TOTAL | RANK,
		"How long altogether, without interrupts that have rows of their own. Of "
		"smt_sibling: while the owner ran, with the interrupts on both threads."),
	SECONDS(view_noise, longest_ns, "longest_seconds", "longest", OR_NULL,
		"The longest single disturbance."),
	WORD(view_noise, state, NULL, 0,
	     "Whether it is counted: loading until the programs are attached, unsupported if the "
	     "kernel has no tracepoint for this source or the machine's cores are not known, "
	     "unknown if they could not be loaded.",
	     [NOISE_ROW_COUNTED] = "counted", [NOISE_ROW_LOADING] = "loading",
	     [NOISE_ROW_UNSUPPORTED] = "unsupported", [NOISE_ROW_UNKNOWN] = "unknown"),
};
DESCRIBE(view_noise, noise_fields, "noise",
	 "Who took time on a CPU that a container has exclusively, or ran beside it on the same "
	 "core. A source without a row took none.",
	 .is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_noises(const struct view_noise *rows, size_t nr_rows)
{
	return object_json(&view_noise_desc, rows, nr_rows);
}

/* --- events ----------------------------------------------------------------------------------- */

static const struct field_desc event_fields[] = {
	TIME(view_event, time_ns, "time", 0, "When."),
	TIME(view_event, log_ns, NULL, HIDDEN,
	     "When the log with this event began, which is when the agent started."),
	COUNT(view_event, sequence, NULL, HIDDEN,
	      "Increases without gaps within one log; a gap is a lost event."),
	TEXT(view_event, kind, NULL, 0,
	     "admit, refuse, ending, release, deny, audit, drift, repair, stranger, irq, finding, "
	     "discover, vanish, start, reload, move, pin, mkdir, rmdir, attach, empty, populated, "
	     "suppressed, or unknown, which a newer or older BPF program sent."),
	TEXT(view_event, action, NULL, OR_NULL, "allow, audit, deny, repair."),
	TEXT(view_event, aspect, NULL, OR_NULL,
	     "cpuset_files, affinity, cgroup_moves, memory_moves, priorities, debugging, guard_files."),
	COUNT(view_event, pid, NULL, OR_NULL, "Process that did it."),
	TEXT(view_event, comm, NULL, OR_NULL, "Its name."),
	TEXT(view_event, cgroup, NULL, OR_NULL, "Its cgroup."),
	COUNT(view_event, client_pid, NULL, HIDDEN | OR_NULL,
	      "If process 1 did it: the process for which it probably did, because no other connected "
	      "to it within five seconds before."),
	TEXT(view_event, client_comm, NULL, HIDDEN | OR_NULL, "Its name."),
	TEXT(view_event, client_cgroup, NULL, HIDDEN | OR_NULL, "Its cgroup."),
	TEXT(view_event, target, NULL, OR_NULL, "Managed cgroup or file."),
	TEXT(view_event, pod, NULL, OR_NULL, "Pod concerned, namespace/name."),
	TEXT(view_event, container, NULL, OR_NULL | SLASH, "Container concerned."),
	COUNT(view_event, suppressed, "more", 0,
	      "Events of the same culprit that were only counted."),
	TIME(view_event, last_ns, "last", OR_NULL,
	     "Time of the last audited operation that is only counted here; null if there is none."),
	TEXT(view_event, detail, NULL, OR_NULL, "Details."),
};
DESCRIBE(view_event, event_fields, "event",
	 "A decision, or an observation of the guard or the "
	 "watch.",
	 .is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_events(const struct event_row *rows, size_t nr_rows)
{
	struct event_words *words cleanup_free = calloc(nr_rows + 1, sizeof(*words));
	struct view_event *events cleanup_free = calloc(nr_rows + 1, sizeof(*events));

	if (!words || !events)
		return NULL;
	for (size_t i = 0; i < nr_rows; i++) {
		const struct event_row *row = &rows[i];

		event_words(row, &words[i]);
		events[i] = (struct view_event){
			.time_ns = row->time_ns,
			.log_ns = row->log_ns,
			.sequence = row->sequence,
			.kind = words[i].kind,
			.action = given(words[i].action),
			.aspect = given(words[i].aspect),
			.pid = row->record.pid,
			.comm = given(row->record.comm),
			.cgroup = given(row->cgroup),
			.client_pid = row->record.client.pid,
			.client_comm = given(row->record.client.comm),
			.client_cgroup = given(row->client),
			.target = given(words[i].target),
			.pod = given(row->pod),
			.container = given(row->container),
			.suppressed = row->record.suppressed,
			.last_ns = row->last_ns,
			.detail = given(words[i].detail),
		};
	}
	return object_json(&view_event_desc, events, nr_rows);
}

static const struct field_desc watch_fields[] = {
	TIME(view_watch, time_ns, "time", 0, "When the inspector noticed it."),
	WORD(view_watch, watch, NULL, 0,
	     "lost: events were overwritten before they were read; restarted: the agent was, and its "
	     "log began anew; unreachable: it does not answer; back: it answers again.",
	     [WATCH_LOST] = "lost", [WATCH_RESTARTED] = "restarted",
	     [WATCH_UNREACHABLE] = "unreachable", [WATCH_BACK] = "back"),
	COUNT(view_watch, nr_lost, "lost", OR_NULL, "How many events."),
	TEXT(view_watch, detail, NULL, 0, "The same in a sentence."),
};
DESCRIBE(view_watch, watch_fields, "watch",
	 "A line of 'event watch' or 'drift watch' that is not an event.", .layout = OBJECT_TABLE);

struct json_object *view_watch(const struct view_watch *row)
{
	return object_json(&view_watch_desc, row, 1);
}

/* --- feature, prog, map ----------------------------------------------------------------------- */

static const struct field_desc feature_fields[] = {
	TEXT(view_feature, name, "feature", 0, "Feature of this machine."),
	WORD(view_feature, state, NULL, 0,
	     "Whether it is available; unknown = could not be "
	     "determined.",
	     "no", "yes", "unknown"),
	COUNT_AS(view_feature, error_number, "errno", NULL, HIDDEN, "Error of the probe."),
	TEXT(view_feature, error, NULL, OR_NULL, "Its name."),
	TEXT(view_feature, reason, NULL, OR_NULL, "Why not, or why unknown."),
	TEXT(view_feature, remedy, NULL, OR_NULL, "How to get it."),
};
DESCRIBE(view_feature, feature_fields, "feature",
	 "Features of this kernel and machine, and why any are missing.", .is_list = true,
	 .layout = OBJECT_TABLE);

struct json_object *view_features(const struct feature_row *rows, size_t nr_rows)
{
	struct view_feature *features cleanup_free = calloc(nr_rows + 1, sizeof(*features));

	if (!features)
		return NULL;
	for (size_t i = 0; i < nr_rows; i++) {
		const struct feature_row *row = &rows[i];

		features[i] = (struct view_feature){
			.name = row->name,
			.state = row->state,
			.error_number = abs(row->error),
			.error = row->error ? strerrorname_np(abs(row->error)) : NULL,
			.reason = given(row->reason),
			.remedy = given(row->remedy),
		};
	}
	return object_json(&view_feature_desc, features, nr_rows);
}

static const struct field_desc prog_fields[] = {
	COUNT(prog_row, id, NULL, OR_NULL, "The kernel's id of the program."),
	TEXT(prog_row, name, NULL, OR_NULL,
	     "Name of the program; null for an object that is not loaded."),
	TEXT(prog_row, type, NULL, OR_NULL, "lsm, fmod_ret, tp_btf, fexit, iter, …"),
	TEXT(prog_row, hook, NULL, OR_NULL, "What it is attached to."),
	TEXT_AS(prog_row, object, "part", NULL, 0, "Object it belongs to."),
	TEXT(prog_row, tag, NULL, OR_NULL, "Digest of its instructions, as bpftool shows it."),
	ANSWER(prog_row, attached, NULL, 0, "It runs at its hook."),
	ANSWER(prog_row, pinned, NULL, 0, "Its link outlives the agent."),
	COUNT(prog_row, run_time_ns, "run ns", OR_NULL,
	      "Time spent in it; null without kernel.bpf_stats_enabled."),
	COUNT(prog_row, run_count, "runs", OR_NULL, "Number of runs; null as above."),
	PERCENT(prog_row, machine_percent, "of machine", OR_NULL,
		"Time spent in it as a share of the time of all CPUs since it was loaded; less than that if "
		"the kernel did not measure all the time, for which 'pinfold prog cost' is better."),
	COUNT(prog_row, recursion_misses, "missed", OR_NULL,
	      "Number of times that the kernel skipped it; null for a program that cannot be "
	      "read, and for an object that is not loaded."),
	BYTES(prog_row, memory_bytes, "memory", OR_NULL, "Memory of its instructions."),
	TEXT(prog_row, reason, NULL, OR_NULL, "Why it is not loaded or not attached."),
};

const struct object_desc view_prog_desc = {
	.name = "prog",
	.help = "The BPF programs of pinfold.",
	.is_list = true,
	.layout = OBJECT_TABLE,
	TABLE(prog_row, prog_fields),
};

static int machine_percent(const struct prog_row *row, uint32_t cpus)
{
	if (row->run_time_ns < 0 || row->age_ns <= 0 || !cpus)
		return -1;
	return (int)((double)row->run_time_ns / (double)row->age_ns / cpus * 10000 + 0.5);
}

struct json_object *view_progs(const struct prog_row *rows, size_t nr_rows, uint32_t cpus)
{
	struct prog_row *filled cleanup_free = calloc(nr_rows + 1, sizeof(*filled));

	if (!filled)
		return NULL;
	for (size_t i = 0; i < nr_rows; i++) {
		filled[i] = rows[i];
		filled[i].machine_percent = machine_percent(&rows[i], cpus);
	}
	return object_json(&view_prog_desc, filled, nr_rows);
}

static const struct field_desc map_fields[] = {
	COUNT(map_row, id, NULL, 0, "The kernel's id of the map."),
	TEXT(map_row, name, NULL, 0, "Name of the map."),
	TEXT(map_row, type, NULL, OR_NULL,
	     "hash, array, ringbuf, …; null for a type that this version does not know."),
	TEXT_AS(map_row, objects, "parts", NULL, OR_NULL,
		"Objects that use it; null without the agent, which knows them."),
	ANSWER(map_row, pinned, NULL, 0,
	       "It outlives the agent: it is pinned, or a program that uses it is."),
	COUNT(map_row, used, NULL, OR_NULL,
	      "Entries in use; null where they cannot be counted: those of an array all exist."),
	COUNT(map_row, max_entries, "max", 0,
	      "Number of entries it has room for; bytes in a ringbuf, 0 where there is no limit."),
	BYTES(map_row, memory_bytes, "memory", OR_NULL, "Memory that the kernel counts for it."),
};

const struct object_desc view_map_desc = {
	.name = "map",
	.help = "The BPF maps of pinfold.",
	.is_list = true,
	.layout = OBJECT_TABLE,
	TABLE(map_row, map_fields),
};

struct json_object *view_maps(const struct map_row *rows, size_t nr_rows)
{
	return object_json(&view_map_desc, rows, nr_rows);
}

static const struct field_desc guard_fields[] = {
	TEXT(guard_row, protection, NULL, 0, "The option below enforcement in the configuration."),
	WORD(guard_row, asked, NULL, OR_NULL,
	     "The mode that the configuration asks for: denied and recorded, allowed and recorded, "
	     "or neither. Without an agent, the mode that the last one set; null for one that this "
	     "version does not know.",
	     "enforce", "audit", "off"),
	WORD(guard_row, in_force, "in force", OR_NULL,
	     "The mode in force in the kernel; off where no program is called, null where it "
	     "cannot be read or is not known.",
	     "enforce", "audit", "off"),
	TEXT(guard_row, reason, NULL, OR_NULL,
	     "Why the two differ, or why some operations may pass all the same."),
};

const struct object_desc view_guard_desc = {
	.name = "guard",
	.help = "A protection of the guard: the mode asked for, and the mode in force.",
	.is_list = true,
	.layout = OBJECT_TABLE,
	TABLE(guard_row, guard_fields),
};

struct json_object *view_guard(const struct guard_row *rows, size_t nr_rows)
{
	return object_json(&view_guard_desc, rows, nr_rows);
}

/* --- ledger ----------------------------------------------------------------------------------- */

static const struct field_desc ledger_fields[] = {
	SCHEMA_VERSION(view_ledger),
	TEXT(view_ledger, state, NULL, HIDDEN,
	     "What the state file would contain now, as one text with its own checksum."),
};
DESCRIBE(view_ledger, ledger_fields, "ledger",
	 "What the agent holds at this moment, for programs that decide on it.");

struct json_object *view_ledger(const char *state)
{
	const struct view_ledger row = {PINFOLD_SCHEMA_VERSION, state};

	return object_json(&view_ledger_desc, &row, 1);
}

/* --- version, run, error ---------------------------------------------------------------------- */

struct view_version {
	const char *program, *version, *revision, *libbpf_version;
	int schema_version;
};

static const struct field_desc version_fields[] = {
	TEXT(view_version, program, NULL, HEAD | BARE, "pinfold or pinfoldd."),
	TEXT(view_version, version, NULL, HEAD | BARE, "Release."),
	TEXT(view_version, revision, NULL, LINE | OR_NULL, "Source revision."),
	TEXT(view_version, libbpf_version, "libbpf", OR_NULL, "Version of libbpf."),
	COUNT(view_version, schema_version, "schema", 0, "Version of the JSON contract."),
};
DESCRIBE(view_version, version_fields, "version", "Versions of the program and of its JSON.");

struct json_object *view_version(const char *program, const char *revision, const char *libbpf)
{
	const struct view_version row = {
		.program = program,
		.version = PINFOLD_VERSION,
		.revision = revision,
		.libbpf_version = libbpf,
		.schema_version = PINFOLD_SCHEMA_VERSION,
	};

	return object_json(&view_version_desc, &row, 1);
}

static const struct field_desc run_request_fields[] = {
	TEXT(view_run_request, pod, NULL, 0, "namespace/name, name in namespace default, or uid."),
	TEXT(view_run_request, container, NULL, 0, "Name of the container."),
};
DESCRIBE(view_run_request, run_request_fields, "run request",
	 "The request of a process to be moved into a container.");

struct view_run {
	const char *namespace, *pod, *container, *cgroup;
};

static const struct field_desc run_fields[] = {
	TEXT(view_run, namespace, "joined", HEAD, "Namespace of the pod."),
	TEXT(view_run, pod, NULL, HEAD | BARE | SLASH, "Name of the pod."),
	TEXT(view_run, container, NULL, HEAD | BARE | SLASH, "Name of the container."),
	TEXT(view_run, cgroup, NULL, HEAD | OR_NULL, "The cgroup of the process now."),
};
DESCRIBE(view_run, run_fields, "run",
	 "The answer to a process that asked to be moved into a container.");

struct json_object *view_run(const char *namespace, const char *pod, const char *container,
			     const char *cgroup)
{
	const struct view_run row = {namespace, pod, container, cgroup};

	return object_json(&view_run_desc, &row, 1);
}

static const struct field_desc error_fields[] = {
	TEXT(view_error, error, "Error:", HEAD,
	     "What failed, with which value, why, and what to do."),
};
DESCRIBE(view_error, error_fields, "error", "A failure.");

struct json_object *view_error(const char *sentence)
{
	const struct view_error row = {sentence};

	return object_json(&view_error_desc, &row, 1);
}
