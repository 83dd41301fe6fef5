// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The words for events: every kind has its sentence here, letter by letter. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "format/event.h"
#include "format/views.h"
#include "lib/cleanup.h"
#include "lib/text.h"

#define GUARD(hook_, aspect_, ...)                                                               \
	{                                                                                        \
		.kind = EVENT_GUARD, .aspect = (aspect_), .action = ACTION_DENY, .target_id = 9, \
		.guard = {                                                                       \
			.hook = (hook_),                                                         \
			__VA_ARGS__                                                              \
		}                                                                                \
	}

static const struct {
	struct event_record record;
	const char *kind, *detail;
	bool is_warning;
} sentences[] = {
	{GUARD(HOOK_FILE_PERMISSION, ASPECT_CPUSET_FILES, .file = "cpuset.cpus"), "deny",
	 "write cpuset.cpus", true},
	{GUARD(HOOK_FILE_OPEN, ASPECT_CPUSET_FILES, .file = "cpuset.cpus"), "deny",
	 "open for writing cpuset.cpus", true},
	{GUARD(HOOK_INODE_PERMISSION, ASPECT_CGROUP_MOVES, .file = "cgroup.procs"), "deny",
	 "clone3 into the cgroup", true},
	{GUARD(HOOK_INODE_MKDIR, ASPECT_CGROUP_MOVES, .file = "x"), "deny", "make cgroup x", true},
	{GUARD(HOOK_INODE_RMDIR, ASPECT_CGROUP_MOVES, .file = "x"), "deny", "remove cgroup x",
	 true},
	{GUARD(HOOK_TASK_SETSCHEDULER, ASPECT_AFFINITY, .target_pid = 99), "deny",
	 "change affinity or policy of pid 99", true},
	{GUARD(HOOK_TASK_SETSCHEDULER, ASPECT_CGROUP_MOVES, .target_pid = 99), "deny",
	 "move of pid 99", true},
	{GUARD(HOOK_TASK_MOVEMEMORY, ASPECT_MEMORY_MOVES, .target_pid = 99), "deny",
	 "move or locate memory of pid 99", true},
	{GUARD(HOOK_TASK_SETNICE, ASPECT_PRIORITIES, .target_pid = 99), "deny",
	 "change the nice value of pid 99", true},
	{GUARD(HOOK_TASK_SETIOPRIO, ASPECT_PRIORITIES, .target_pid = 99), "deny",
	 "change the I/O priority of pid 99", true},
	{GUARD(HOOK_TASK_SETRLIMIT, ASPECT_PRIORITIES, .target_pid = 99), "deny",
	 "change a resource limit of pid 99", true},
	{GUARD(HOOK_PTRACE_ACCESS_CHECK, ASPECT_DEBUGGING, .target_pid = 99), "deny",
	 "trace, or access the memory of pid 99", true},
	{GUARD(HOOK_INODE_UNLINK, ASPECT_GUARD_FILES, .file = "managed"), "deny",
	 "remove the pin managed", true},
	{GUARD(HOOK_INODE_RENAME, ASPECT_GUARD_FILES, .file = "managed"), "deny",
	 "move or replace the pin managed", true},
	{GUARD(HOOK_INODE_RMDIR, ASPECT_GUARD_FILES, .file = "links"), "deny",
	 "remove pin directory links", true},
	{GUARD(HOOK_INODE_MKDIR, ASPECT_GUARD_FILES, .file = "guard_x"), "deny",
	 "create pin directory guard_x", true},
	{GUARD(HOOK_SB_MOUNT, ASPECT_GUARD_FILES, .file = "/"), "deny",
	 "mount over, or change the mount of, /", true},
	{GUARD(HOOK_MOVE_MOUNT, ASPECT_GUARD_FILES, .file = "bpf"), "deny",
	 "mount over, or move the mount of, bpf", true},
	{GUARD(HOOK_SB_UMOUNT, ASPECT_GUARD_FILES, .file = "bpf"), "deny", "unmount bpf", true},
	{GUARD(HOOK_SB_REMOUNT, ASPECT_GUARD_FILES, .file = "/"), "deny", "remount /", true},
	{GUARD(HOOK_NONE, ASPECT_CGROUP_MOVES, .file = "new"), "deny", "new", true},
	{{.kind = EVENT_GUARD,
	  .action = ACTION_AUDIT,
	  .guard = {.hook = HOOK_FILE_PERMISSION, .file = "cpu.max"}},
	 "audit",
	 "write cpu.max",
	 true},
	{{.kind = EVENT_GUARD,
	  .action = ACTION_DENY,
	  .culprit_id = 9,
	  .target_id = 9,
	  .guard = {.hook = HOOK_INODE_PERMISSION}},
	 "deny",
	 "clone3 out of the cgroup",
	 true},
	{{.kind = EVENT_DRIFT, .write = {.file = "cpu.max", .text = "max 100000"}},
	 "drift",
	 "cpu.max = 'max 100000'",
	 true},
	{{.kind = EVENT_MOVE, .target_id = 9, .move = {.target_pid = 5, .from_id = 9}},
	 "move",
	 "pid 5 moved out",
	 false},
	{{.kind = EVENT_MOVE, .target_id = 9, .move = {.target_pid = 5, .from_id = 9, .to_id = 8}},
	 "move",
	 "pid 5 moved out to cgroup 8",
	 false},
	{{.kind = EVENT_MOVE, .target_id = 9, .move = {.target_pid = 5, .from_id = 8}},
	 "move",
	 "pid 5 moved in from cgroup 8",
	 false},
	{{.kind = EVENT_ATTEMPT,
	  .attempt = {.target_pid = 10, .nr_wanted = 3, .error = -EINVAL, .wanted = {0x30, 1}}},
	 "pin",
	 "pin pid 10 to CPUs 4-5,64 (3 wanted): Invalid argument",
	 true},
	{{.kind = EVENT_ATTEMPT,
	  .attempt = {.target_pid = 10, .nr_wanted = 2, .is_cut = true, .wanted = {0x30}}},
	 "pin",
	 "pin pid 10 to CPUs 4-5… (2 wanted): trimmed to the allowed CPUs",
	 true},
	{{.kind = EVENT_MKDIR, .life = {.path = "/a"}}, "mkdir", "/a", false},
	{{.kind = EVENT_RMDIR, .life = {.path = "/a"}}, "rmdir", "/a", false},
	{{.kind = EVENT_RELEASE, .life = {.path = "/a"}}, "release", "/a", false},
	{{.kind = EVENT_POPULATED, .life = {true, "/a"}}, "populated", "/a", false},
	{{.kind = EVENT_POPULATED, .life = {false, "/a"}}, "empty", "/a", false},
	{{.kind = EVENT_ATTACH, .life = {.path = "/a"}}, "attach", "/a", false},
	{{.kind = EVENT_SUPPRESSED, .nr_suppressed = 7},
	 "suppressed",
	 "7 events over the limit of 10 per second",
	 false},
	{{.kind = EVENT_ADMIT, .admit_reason = ADMIT_NEW}, "admit", "granted", false},
	{{.kind = EVENT_ADMIT, .admit_reason = ADMIT_CHANGED},
	 "admit",
	 "its changed manifest was accepted",
	 false},
	{{.kind = EVENT_ADMIT, .admit_reason = ADMIT_MANIFEST_BACK},
	 "admit",
	 "its manifest has returned",
	 false},
	{{.kind = EVENT_ADMIT, .admit_reason = ADMIT_RESIZED}, "admit", "resized in place", false},
	{{.kind = EVENT_REFUSE, .refusal = {"UnexpectedAdmissionError", "9 CPUs asked, 4 free"}},
	 "refuse",
	 "UnexpectedAdmissionError: 9 CPUs asked, 4 free",
	 true},
	{{.kind = EVENT_REFUSE, .refusal = {"InvalidPod", "no name", "fits with 4 CPUs"}},
	 "refuse",
	 "InvalidPod: no name; fits with 4 CPUs",
	 true},
	{{.kind = EVENT_ENDING},
	 "ending",
	 "no source names the pod any more; its processes keep their CPUs until they end",
	 false},
	{{.kind = EVENT_POD_RELEASE},
	 "release",
	 "its CPUs were returned to the shared pool",
	 false},
	{{.kind = EVENT_DIFFERENCE, .difference = {"2-3", "0-15"}},
	 "drift",
	 "expected '2-3', found '0-15'",
	 true},
	{{.kind = EVENT_REPAIR, .value = "2-3"}, "repair", "restored to '2-3'", false},
	{{.kind = EVENT_UNJUDGED, .nr_unjudged = 12},
	 "drift",
	 "the guard missed 12 calls; all managed files are read back",
	 true},
	{{.kind = EVENT_GUARD_RELEASE, .is_released = true},
	 "release",
	 "an operator has released the guard: nothing is denied",
	 false},
	{{.kind = EVENT_GUARD_RELEASE}, "release", "the release of the guard has ended", false},
	{{.kind = EVENT_FINDING, .finding = "somebody did it"}, "finding", "somebody did it", true},
	{{.kind = EVENT_STRANGERS, .strangers = {212, "4-7"}},
	 "stranger",
	 "212 tasks were moved off the exclusive CPUs 4-7; this is the first",
	 false},
	{{.kind = EVENT_STRANGERS, .strangers = {1, "4"}},
	 "stranger",
	 "1 task was moved off the exclusive CPUs 4",
	 false},
	{{.kind = EVENT_IRQ_MASKS, .irq_masks = {1, true, "interrupt 24 (nic)", "2-3"}},
	 "irq",
	 "1 mask of interrupts or kernel work was changed to reach exclusive CPUs and set back; the "
	 "first is interrupt 24 (nic), CPUs 2-3",
	 true},
	{{.kind = EVENT_IRQ_MASKS, .irq_masks = {7, false, "new interrupts", "0-15"}},
	 "irq",
	 "7 masks of interrupts or kernel work were changed to reach exclusive CPUs; the first is new "
	 "interrupts, CPUs 0-15",
	 true},
	{{.kind = EVENT_DISCOVER, .discovery = {KUBEPODS_POD, "kubepods/pod1"}},
	 "discover",
	 "pod kubepods/pod1",
	 false},
	{{.kind = EVENT_VANISH, .discovery = {KUBEPODS_SANDBOX, "kubepods/pod1/2"}},
	 "vanish",
	 "sandbox kubepods/pod1/2",
	 false},
	{{.kind = EVENT_START}, "start", "the agent has started", false},
	{{.kind = EVENT_RELOAD}, "reload", "a new configuration is in force", false},
};

static void every_kind_has_its_sentence(void **state)
{
	bool seen[EVENT_KINDS] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		const struct event_record *record = &sentences[i].record;
		char detail[ROW_DETAIL_MAX];

		seen[record->kind] = true;
		event_detail(record, detail, sizeof(detail));
		assert_string_equal(detail, sentences[i].detail);
		assert_string_equal(event_kind_name(record), sentences[i].kind);
		assert_int_equal(event_is_warning(record), sentences[i].is_warning);
	}
	for (uint32_t kind = EVENT_NONE + 1; kind < EVENT_KINDS; kind++)
		if (!seen[kind])
			fail_msg("kind %u has no sentence in this test", kind);
}

static void a_kind_without_a_row_is_unknown(void **state)
{
	const struct event_record none = EVENT_RECORD(EVENT_NONE),
				  beyond = EVENT_RECORD(EVENT_KINDS);
	struct event_row row = {.record = EVENT_RECORD(EVENT_NONE), .target = "a/b"};
	struct event_words words;
	char detail[ROW_DETAIL_MAX];

	assert_string_equal(event_kind_name(&none), "unknown");
	assert_string_equal(event_kind_name(&beyond), "unknown");
	assert_false(event_is_warning(&none));
	assert_false(event_is_warning(&beyond));
	strcpy(detail, "old");
	event_detail(&beyond, detail, sizeof(detail));
	assert_string_equal(detail, "");
	event_words(&row, &words);
	assert_string_equal(words.kind, "unknown");
	assert_string_equal(words.target, "a/b");
	assert_string_equal(aspect_name(none.aspect), "");
	assert_string_equal(action_name(none.action), "none");
	assert_int_equal(none.attribute, GROUP_ATTRIBUTE_NR);
}

/* Where a kind is about a file, the target is that file, else the cgroup alone. */
static void a_row_becomes_words(void **state)
{
	struct event_row row = {.record = EVENT_RECORD(EVENT_REPAIR), .target = "a/b"};
	struct event_words words;

	row.record.action = ACTION_REPAIR;
	row.record.attribute = GROUP_CPUSET_CPUS;
	strcpy(row.record.value, "2");
	event_words(&row, &words);
	assert_string_equal(words.kind, "repair");
	assert_string_equal(words.aspect, "");
	assert_string_equal(words.action, "repair");
	assert_string_equal(words.target, "a/b/cpuset.cpus");
	assert_string_equal(words.detail, "restored to '2'");
	row.record.attribute = GROUP_ATTRIBUTE_NR;
	event_words(&row, &words);
	assert_string_equal(words.target, "a/b");
	row.record = EVENT_RECORD(EVENT_DRIFT);
	row.record.aspect = ASPECT_CPUSET_FILES;
	row.record.action = ACTION_ALLOW;
	row.record.attribute = GROUP_CPUSET_CPUS;
	event_words(&row, &words);
	assert_string_equal(words.aspect, "cpuset_files");
	assert_string_equal(words.action, "allow");
	assert_string_equal(words.target, "a/b");
}

/* A line names the culprit, or else whom it concerns; the fields are for filters. */
static void the_journal_gets_fields_and_a_sentence(void **state)
{
	struct event_row row = {.record = EVENT_RECORD(EVENT_DIFFERENCE),
				.cgroup = "user.slice",
				.target = "a/b",
				.pod = "default/a",
				.container = "x"};
	struct event_journal journal;

	row.record.attribute = GROUP_CPU_MAX;
	row.record.difference.wanted[0] = '1';
	row.record.difference.found[0] = '2';
	event_journal(&row, 0, &journal);
	assert_string_equal(journal.kind, "PINFOLD_EVENT=drift");
	assert_string_equal(journal.pod, "PINFOLD_POD=default/a");
	assert_string_equal(journal.pid, "PINFOLD_CULPRIT_PID=0");
	assert_string_equal(journal.target, "PINFOLD_TARGET=a/b/cpu.max");
	assert_string_equal(journal.message,
			    "drift: default/a/x: a/b/cpu.max: expected '1', found '2'");
	row.record.pid = 7;
	strcpy(row.record.comm, "sh");
	event_journal(&row, 3, &journal);
	assert_string_equal(journal.pid, "PINFOLD_CULPRIT_PID=7");
	assert_string_equal(journal.message,
			    "drift: sh (pid 7, cgroup /user.slice) on a/b/cpu.max: expected '1', "
			    "found '2' (more events of this kind were not logged)");
	strcpy(row.cgroup, "/");
	event_journal(&row, 0, &journal);
	assert_string_equal(journal.message,
			    "drift: sh (pid 7, cgroup /) on a/b/cpu.max: expected '1', found '2'");
	row.record.client.pid = 8;
	strcpy(row.record.client.comm, "systemctl");
	strcpy(row.client, "user.slice");
	event_journal(&row, 0, &journal);
	assert_string_equal(journal.message,
			    "drift: sh (pid 7, cgroup /), probably for systemctl (pid 8, cgroup "
			    "/user.slice), on a/b/cpu.max: expected '1', found '2'");
}

static void fill(char *text, size_t size)
{
	memset(text, 'x', size - 1);
	text[size - 1] = '\0';
}

/* Full arguments fit: what is behind them is still in the sentence. */
static void the_longest_arguments_fit(void **state)
{
	struct event_record record = EVENT_RECORD(EVENT_DIFFERENCE);
	char detail[ROW_DETAIL_MAX];

	fill(record.difference.wanted, sizeof(record.difference.wanted));
	fill(record.difference.found, sizeof(record.difference.found));
	event_detail(&record, detail, sizeof(detail));
	assert_int_equal(strlen(detail), 2 * 143 + strlen("expected '', found ''"));
	record = EVENT_RECORD(EVENT_REPAIR);
	fill(record.value, sizeof(record.value));
	event_detail(&record, detail, sizeof(detail));
	assert_int_equal(strlen(detail), 287 + strlen("restored to ''"));
	record = EVENT_RECORD(EVENT_REFUSE);
	fill(record.refusal.reason, sizeof(record.refusal.reason));
	fill(record.refusal.message, sizeof(record.refusal.message));
	fill(record.refusal.suggestion, sizeof(record.refusal.suggestion));
	event_detail(&record, detail, sizeof(detail));
	assert_int_equal(strlen(detail), 39 + 207 + 63 + strlen(": ; "));
	record = EVENT_RECORD(EVENT_DRIFT);
	fill(record.write.file, sizeof(record.write.file));
	fill(record.write.text, sizeof(record.write.text));
	event_detail(&record, detail, sizeof(detail));
	assert_int_equal(strlen(detail), EVENT_FILE_LEN + EVENT_TEXT_LEN + strlen(" = ''"));
	/* Every second CPU of 2048 is a list far longer than a detail. */
	record = EVENT_RECORD(EVENT_ATTEMPT);
	memset(record.attempt.wanted, 0x55, sizeof(record.attempt.wanted));
	record.attempt.nr_wanted = 1024;
	record.attempt.error = -EPERM;
	event_detail(&record, detail, sizeof(detail));
	assert_non_null(strstr(detail, "… (1024 wanted): Operation not permitted"));
}

static bool has_word(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ',' || at[len] == '.'))
			return true;
	return false;
}

static const char *help_of(const char *key)
{
	for (size_t i = 0; i < view_event_desc.nr_fields; i++)
		if (!strcmp(view_event_desc.fields[i].key, key))
			return view_event_desc.fields[i].help;
	fail_msg("an event has no key %s", key);
	return "";
}

/* The words that the reference lists are those that are written, no more and no less. */
static void expect_words(const char *help, const char *const *names, size_t nr)
{
	size_t nr_listed = 1;

	for (const char *at = help; (at = strchr(at, ',')); at++)
		nr_listed++;
	assert_int_equal(nr_listed, nr);
	for (size_t i = 0; i < nr; i++)
		assert_true(has_word(help, names[i]));
}

static void actions_and_aspects_are_listed(void **state)
{
	const char *actions[] = {action_name(ACTION_ALLOW), action_name(ACTION_AUDIT),
				 action_name(ACTION_DENY), action_name(ACTION_REPAIR)};
	const char *aspects[ASPECT_NR];

	for (uint32_t i = 0; i < ASPECT_NR; i++)
		aspects[i] = aspect_name(i);
	expect_words(help_of("action"), actions, ARRAY_SIZE(actions));
	expect_words(help_of("aspect"), aspects, ARRAY_SIZE(aspects));
}

/* Whoever filters by kind is told which there are; so are the readers of the JSON. */
static void all_kinds_are_listed(void **state)
{
	struct text list cleanup_text = {0};
	const char *help = help_of("kind");
	uint32_t nr_names = 1;

	event_append_kind_names(&list);
	assert_int_equal(list.error, 0);
	for (const char *at = list.data; (at = strchr(at, ',')); at++)
		nr_names++;
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		assert_true(has_word(help, sentences[i].kind));
		assert_true(event_is_kind_name(sentences[i].kind));
		assert_true(has_word(list.data, sentences[i].kind));
	}
	/* each once: what several kinds are called is one word for those who filter */
	assert_int_equal(nr_names, 24);
	assert_true(has_word(list.data, "unknown"));
	assert_true(event_is_kind_name("unknown"));
	assert_false(event_is_kind_name("den"));
	assert_false(event_is_kind_name("denny"));
	assert_false(event_is_kind_name(""));
}

/* The other tables of names; JSON, metrics and the journal share them. */
static void values_have_their_names(void **state)
{
	static const char *const aspects[] = {"cpuset_files", "affinity",
					      "cgroup_moves", "memory_moves",
					      "priorities",   "debugging",
					      "guard_files",  ""};
	static const char *const options[] = {"cpusetFiles", "affinity",   "cgroupMoves",
					      "memoryMoves", "priorities", "debugging",
					      "guardFiles"};
	static const char *const actions[] = {"allow", "audit", "deny", "none", "repair", "", ""};
	static const char *const modes[] = {"off", "audit", "enforce", "unknown"};
	static const char *const attributes[] = {"mems",  "cpus",   "partition", "weight",
						 "quota", "memory", "freeze",	 "members"};
	static const char *const causes[] = {"unknown", "systemd", "runtime",
					     "kubelet", "user",	   "kernel"};

	for (uint32_t i = 0; i < ARRAY_SIZE(aspects); i++)
		assert_string_equal(aspect_name(i), aspects[i]);
	for (uint32_t i = 0; i < ARRAY_SIZE(options); i++)
		assert_string_equal(aspect_option(i), options[i]);
	for (uint32_t i = 0; i < ARRAY_SIZE(actions); i++)
		assert_string_equal(action_name(i), actions[i]);
	for (uint32_t i = 0; i < ARRAY_SIZE(modes); i++)
		assert_string_equal(guard_mode_name(i), modes[i]);
	for (uint32_t i = 0; i < GROUP_ATTRIBUTE_NR; i++)
		assert_string_equal(attribute_name(i), attributes[i]);
	for (uint32_t i = 0; i < CAUSE_NR; i++)
		assert_string_equal(drift_cause_name(i), causes[i]);
}

static void causes_follow_where_the_culprit_lives(void **state)
{
	assert_int_equal(drift_cause_of(1, "init.scope"), CAUSE_SYSTEMD);
	assert_int_equal(drift_cause_of(9, "system.slice/kubelet.service"), CAUSE_KUBELET);
	assert_int_equal(drift_cause_of(9, "system.slice/containerd.service/x"), CAUSE_RUNTIME);
	assert_int_equal(drift_cause_of(9, "system.slice/crio.service"), CAUSE_RUNTIME);
	assert_int_equal(drift_cause_of(9, "system.slice/docker.service"), CAUSE_RUNTIME);
	/* anybody may give a cgroup such a name */
	assert_int_equal(drift_cause_of(9, "user.slice/my-kubelet.service"), CAUSE_USER);
	assert_int_equal(drift_cause_of(9, "user.slice/kubelet.service.d/x"), CAUSE_USER);
	assert_int_equal(drift_cause_of(9, "a-crio.service/crio.service/x"), CAUSE_RUNTIME);
	assert_int_equal(drift_cause_of(9, "system.slice/cron.service"), CAUSE_USER);
	assert_int_equal(drift_cause_of(9, ""), CAUSE_USER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_its_sentence),
		cmocka_unit_test(a_kind_without_a_row_is_unknown),
		cmocka_unit_test(a_row_becomes_words),
		cmocka_unit_test(the_journal_gets_fields_and_a_sentence),
		cmocka_unit_test(the_longest_arguments_fit),
		cmocka_unit_test(actions_and_aspects_are_listed),
		cmocka_unit_test(all_kinds_are_listed),
		cmocka_unit_test(values_have_their_names),
		cmocka_unit_test(causes_follow_where_the_culprit_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
