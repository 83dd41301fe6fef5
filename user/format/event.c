// SPDX-License-Identifier: Apache-2.0
/* The words for events: one function for each kind, and one row of the table. */
#include "format/event.h"

#include <stdio.h>
#include <string.h>

#include "core/cpuset.h"
#include "lib/text.h"

/* --- one rendering for each kind -------------------------------------------------------------- */

static bool is_denied(const struct event_record *record)
{
	return record->action == ACTION_DENY;
}

/* What was to be done to a task; NULL for the hooks of files and cgroups. */
static const char *task_operation(const struct event_record *record)
{
	switch (record->guard.hook) {
	case HOOK_TASK_SETSCHEDULER:
		return record->aspect == ASPECT_AFFINITY ? "change affinity or policy" : "move";
	case HOOK_TASK_MOVEMEMORY:
		return "move or locate memory";
	case HOOK_TASK_SETNICE:
		return "change the nice value";
	case HOOK_TASK_SETIOPRIO:
		return "change the I/O priority";
	case HOOK_TASK_SETRLIMIT:
		return "change a resource limit";
	case HOOK_PTRACE_ACCESS_CHECK:
		return "trace, or access the memory";
	default:
		return NULL;
	}
}

static void write_guard(const struct event_record *record, char *text, size_t size)
{
	static const char *const operations[HOOK_NR] = {
		[HOOK_FILE_PERMISSION] = "write",
		[HOOK_FILE_OPEN] = "open for writing",
		[HOOK_INODE_UNLINK] = "remove the pin",
		[HOOK_INODE_RENAME] = "move or replace the pin",
		[HOOK_SB_MOUNT] = "mount over, or change the mount of,",
		[HOOK_MOVE_MOUNT] = "mount over, or move the mount of,",
		[HOOK_SB_UMOUNT] = "unmount",
		[HOOK_SB_REMOUNT] = "remount",
	};

	const char *task = task_operation(record);

	if (task) {
		snprintf(text, size, "%s of pid %u", task, record->guard.target_pid);
		return;
	}
	switch (record->guard.hook) {
	case HOOK_INODE_PERMISSION:
		/* A child made elsewhere leaves its maker's cgroup, which then is the target. */
		snprintf(text, size, "clone3 %s the cgroup",
			 record->target_id == record->culprit_id ? "out of" : "into");
		break;
	case HOOK_INODE_MKDIR:
		snprintf(text, size, "%s %s",
			 record->aspect == ASPECT_GUARD_FILES ? "create pin directory"
							      : "make cgroup",
			 record->guard.file);
		break;
	case HOOK_INODE_RMDIR:
		snprintf(text, size, "%s %s",
			 record->aspect == ASPECT_GUARD_FILES ? "remove pin directory"
							      : "remove cgroup",
			 record->guard.file);
		break;
	case HOOK_NONE:
		snprintf(text, size, "%s", record->guard.file);
		break;
	default:
		snprintf(text, size, "%s %s", operations[record->guard.hook], record->guard.file);
		break;
	}
}

static void write_write(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "%s = '%s'", record->write.file, record->write.text);
}

static void write_move(const struct event_record *record, char *text, size_t size)
{
	if (record->move.from_id == record->target_id && record->move.to_id)
		snprintf(text, size, "pid %u moved out to cgroup %llu", record->move.target_pid,
			 (unsigned long long)record->move.to_id);
	else if (record->move.from_id == record->target_id)
		snprintf(text, size, "pid %u moved out", record->move.target_pid);
	else
		snprintf(text, size, "pid %u moved in from cgroup %llu", record->move.target_pid,
			 (unsigned long long)record->move.from_id);
}

static void write_attempt(const struct event_record *record, char *text, size_t size)
{
	struct cpuset wanted = {.nr_words = EVENT_MASK_WORDS};
	char list[ROW_DETAIL_MAX / 2];
	size_t len;

	memcpy(wanted.words, record->attempt.wanted, sizeof(record->attempt.wanted));
	len = cpuset_format(&wanted, list, sizeof(list));
	snprintf(text, size, "pin pid %u to CPUs %s%s (%u wanted): %s", record->attempt.target_pid,
		 list, len >= sizeof(list) || record->attempt.is_cut ? "…" : "",
		 record->attempt.nr_wanted,
		 record->attempt.error ? strerror(-record->attempt.error)
				       : "trimmed to the allowed CPUs");
}

static bool is_populated(const struct event_record *record)
{
	return record->life.is_populated;
}

static void write_life(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->life.path);
}

static void write_suppressed(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "%u events over the limit of %d per second", record->nr_suppressed,
		 EVENT_BUDGET_PER_S);
}

static void write_admit(const struct event_record *record, char *text, size_t size)
{
	static const char *const reasons[ADMIT_REASON_NR] = {
		[ADMIT_NEW] = "granted",
		[ADMIT_CHANGED] = "its changed manifest was accepted",
		[ADMIT_MANIFEST_BACK] = "its manifest has returned",
		[ADMIT_RESIZED] = "resized in place",
	};

	snprintf(text, size, "%s", reasons[record->admit_reason]);
}

static void write_refuse(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "%s: %s%s%s", record->refusal.reason, record->refusal.message,
		 *record->refusal.suggestion ? "; " : "", record->refusal.suggestion);
}

static void write_ending(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size,
		 "no source names the pod any more; its processes keep their CPUs "
		 "until they end");
}

static void write_pod_release(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "its CPUs were returned to the shared pool");
}

static void write_difference(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "expected '%s', found '%s'", record->difference.wanted,
		 record->difference.found);
}

static void write_repair(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "restored to '%s'", record->value);
}

static void write_unjudged(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "the guard missed %llu calls; all managed files are read back",
		 (unsigned long long)record->nr_unjudged);
}

static void write_guard_release(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "%s",
		 record->is_released ? "an operator has released the guard: nothing is denied"
				     : "the release of the guard has ended");
}

static void write_strangers(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "%u task%s moved off the exclusive CPUs %s%s", record->strangers.nr,
		 record->strangers.nr == 1 ? " was" : "s were", record->strangers.cpus,
		 record->strangers.nr == 1 ? "" : "; this is the first");
}

static void write_irq_masks(const struct event_record *record, char *text, size_t size)
{
	const uint32_t nr = record->irq_masks.nr;

	snprintf(
		text, size,
		"%u mask%s of interrupts or kernel work %s changed to reach exclusive CPUs%s; the first "
		"is %s, CPUs %s",
		nr, nr == 1 ? "" : "s", nr == 1 ? "was" : "were",
		record->irq_masks.is_reverted ? " and set back" : "", record->irq_masks.first,
		record->irq_masks.mask);
}

static void write_finding(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->finding);
}

static void write_discovery(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "%s %s", kubepods_kind_name(record->discovery.kind),
		 record->discovery.path);
}

static void write_start(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "the agent has started");
}

static void write_reload(const struct event_record *record, char *text, size_t size)
{
	snprintf(text, size, "a new configuration is in force");
}

/* --- the kinds -------------------------------------------------------------------------------- */

static const struct kind {
	const char *name;
	void (*write_detail)(const struct event_record *record, char *text, size_t size);
	bool is_warning;
	/* Where the name depends on the arguments: the other one, and whether this record has it. */
	const char *other_name;
	bool (*has_other_name)(const struct event_record *record);
	bool is_about_file; /* the target is the file `attribute`, not its cgroup */
} kinds[EVENT_KINDS] = {
	[EVENT_GUARD] = {.name = "audit",
			 .write_detail = write_guard,
			 .is_warning = true,
			 .other_name = "deny",
			 .has_other_name = is_denied},
	[EVENT_DRIFT] = {.name = "drift", .write_detail = write_write, .is_warning = true},
	[EVENT_MOVE] = {.name = "move", .write_detail = write_move},
	[EVENT_ATTEMPT] = {.name = "pin", .write_detail = write_attempt, .is_warning = true},
	[EVENT_MKDIR] = {.name = "mkdir", .write_detail = write_life},
	[EVENT_RMDIR] = {.name = "rmdir", .write_detail = write_life},
	[EVENT_RELEASE] = {.name = "release", .write_detail = write_life},
	[EVENT_POPULATED] = {.name = "empty",
			     .write_detail = write_life,
			     .other_name = "populated",
			     .has_other_name = is_populated},
	[EVENT_ATTACH] = {.name = "attach", .write_detail = write_life},
	[EVENT_SUPPRESSED] = {.name = "suppressed", .write_detail = write_suppressed},
	[EVENT_ADMIT] = {.name = "admit", .write_detail = write_admit},
	[EVENT_REFUSE] = {.name = "refuse", .write_detail = write_refuse, .is_warning = true},
	[EVENT_ENDING] = {.name = "ending", .write_detail = write_ending},
	[EVENT_POD_RELEASE] = {.name = "release", .write_detail = write_pod_release},
	[EVENT_DIFFERENCE] = {.name = "drift",
			      .write_detail = write_difference,
			      .is_warning = true,
			      .is_about_file = true},
	[EVENT_REPAIR] = {.name = "repair", .write_detail = write_repair, .is_about_file = true},
	[EVENT_UNJUDGED] = {.name = "drift", .write_detail = write_unjudged, .is_warning = true},
	[EVENT_GUARD_RELEASE] = {.name = "release", .write_detail = write_guard_release},
	[EVENT_STRANGERS] = {.name = "stranger", .write_detail = write_strangers},
	[EVENT_IRQ_MASKS] = {.name = "irq", .write_detail = write_irq_masks, .is_warning = true},
	[EVENT_FINDING] = {.name = "finding", .write_detail = write_finding, .is_warning = true},
	[EVENT_DISCOVER] = {.name = "discover", .write_detail = write_discovery},
	[EVENT_VANISH] = {.name = "vanish", .write_detail = write_discovery},
	[EVENT_START] = {.name = "start", .write_detail = write_start},
	[EVENT_RELOAD] = {.name = "reload", .write_detail = write_reload},
};

static const char unknown_name[] = "unknown";

/* EVENT_NONE, and what an agent of another version left in the ring buffer, has no row. */
static const struct kind *kind_of(const struct event_record *record)
{
	const struct kind *kind = record->kind < EVENT_KINDS ? &kinds[record->kind] : NULL;

	return kind && kind->write_detail ? kind : NULL;
}

const char *event_kind_name(const struct event_record *record)
{
	const struct kind *kind = kind_of(record);

	if (!kind)
		return unknown_name;
	return kind->has_other_name && kind->has_other_name(record) ? kind->other_name : kind->name;
}

/* Names by number; NULL where a kind has no other name, or no row. */
#define NAMES_NR (2 * EVENT_KINDS + 1)

static const char *name_at(uint32_t number)
{
	if (number == 2 * EVENT_KINDS)
		return unknown_name;
	return number % 2 ? kinds[number / 2].other_name : kinds[number / 2].name;
}

/* The number of the first one with this name; NAMES_NR = there is none. */
static uint32_t find_name(const char *name)
{
	uint32_t i = 0;

	while (i < NAMES_NR && (!name_at(i) || strcmp(name_at(i), name)))
		i++;
	return i;
}

bool event_is_kind_name(const char *name)
{
	return find_name(name) < NAMES_NR;
}

void event_append_kind_names(struct text *out)
{
	bool is_first = true;

	for (uint32_t i = 0; i < NAMES_NR; i++) {
		/* several kinds may have one name */
		if (!name_at(i) || find_name(name_at(i)) != i)
			continue;
		text_printf(out, "%s%s", is_first ? "" : ", ", name_at(i));
		is_first = false;
	}
}

bool event_is_warning(const struct event_record *record)
{
	const struct kind *kind = kind_of(record);

	return kind && kind->is_warning;
}

void event_detail(const struct event_record *record, char *text, size_t size)
{
	const struct kind *kind = kind_of(record);

	*text = '\0';
	if (kind)
		kind->write_detail(record, text, size);
}

/* --- rows of the event log -------------------------------------------------------------------- */

void event_words(const struct event_row *row, struct event_words *ret_words)
{
	const struct event_record *record = &row->record;
	const struct kind *kind = kind_of(record);

	ret_words->kind = event_kind_name(record);
	ret_words->aspect = aspect_name(record->aspect);
	ret_words->action = action_name(record->action);
	if (kind && kind->is_about_file && record->attribute < GROUP_ATTRIBUTE_NR)
		snprintf(ret_words->target, sizeof(ret_words->target), "%s/%s", row->target,
			 group_file_name(record->attribute));
	else
		text_copy(ret_words->target, sizeof(ret_words->target), row->target);
	event_detail(record, ret_words->detail, sizeof(ret_words->detail));
}

/* "bash (pid 12, cgroup /user.slice)" */
static void write_process(const char *comm, uint32_t pid, const char *cgroup, char *text,
			  size_t size)
{
	/* The root's name is "/"; all other names are relative to it. */
	snprintf(text, size, "%s (pid %u, cgroup %s%s)", comm, pid, *cgroup == '/' ? "" : "/",
		 cgroup);
}

/*
 * "bash (pid 12, cgroup /user.slice) on pinfold.slice/a: write cpuset.cpus", or "systemd (pid 1,
 * cgroup /init.scope), probably for systemctl (pid 12, cgroup /user.slice), on …"
 */
static void write_culprit(const struct event_row *row, const struct event_words *words,
			  uint32_t nr_skipped, char *text, size_t size)
{
	const struct event_record *record = &row->record;
	char culprit[ROW_PATH_MAX + 64], client[ROW_PATH_MAX + 64] = "";

	write_process(record->comm, record->pid, row->cgroup, culprit, sizeof(culprit));
	if (record->client.pid)
		write_process(record->client.comm, record->client.pid, row->client, client,
			      sizeof(client));
	snprintf(text, size, "%s: %s%s%s%s on %s: %s%s", words->kind, culprit,
		 *client ? ", probably for " : "", client, *client ? "," : "", words->target,
		 words->detail, nr_skipped ? " (more events of this kind were not logged)" : "");
}

/* "refuse: default/a/x: pinfold.slice/a: no room", without the parts that are not known. */
static void write_subject(const struct event_row *row, const struct event_words *words, char *text,
			  size_t size)
{
	const bool has_pod = *row->pod, has_container = has_pod && *row->container;

	snprintf(text, size, "%s: %s%s%s%s%s%s%s", words->kind, row->pod, has_container ? "/" : "",
		 has_container ? row->container : "", has_pod ? ": " : "", words->target,
		 *words->target ? ": " : "", words->detail);
}

void event_journal(const struct event_row *row, uint32_t nr_skipped,
		   struct event_journal *ret_journal)
{
	struct event_words words;

	event_words(row, &words);
	snprintf(ret_journal->kind, sizeof(ret_journal->kind), "PINFOLD_EVENT=%s", words.kind);
	snprintf(ret_journal->pod, sizeof(ret_journal->pod), "PINFOLD_POD=%s", row->pod);
	snprintf(ret_journal->pid, sizeof(ret_journal->pid), "PINFOLD_CULPRIT_PID=%u",
		 row->record.pid);
	snprintf(ret_journal->target, sizeof(ret_journal->target), "PINFOLD_TARGET=%s",
		 words.target);
	if (row->record.pid)
		write_culprit(row, &words, nr_skipped, ret_journal->message,
			      sizeof(ret_journal->message));
	else
		write_subject(row, &words, ret_journal->message, sizeof(ret_journal->message));
}
