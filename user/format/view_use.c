// SPDX-License-Identifier: Apache-2.0
/*
 * What a container was granted, how much of it it ran, and for whom it waited, in one line and in
 * numbers. The share of waiting refers to the time that its tasks wanted to run, so it says the same
 * of a container with one task and of one with many, and does not exceed 100 %.
 */
#include "format/object_table.h"
#include "format/view_private.h"

#define PART_OF_WAIT "Part of window_wait_seconds: "

static const struct field_desc use_fields[] = {
	WORD(container_use_row, measured, NULL, HIDDEN | OR_NULL,
	     "Whether what it ran and waited in the last 60 seconds is known. awaited: less than a "
	     "second of them is known so far. no_cgroup: it has none, because it did not start or has "
	     "ended. no_slot: the observer has no room for it. no_observer: the observer is not loaded. "
	     "no_bpf: the agent runs without BPF programs. left_out: no history of it is kept. null = "
	     "the agent did not say this.",
	     "yes", "awaited", "no_cgroup", "no_slot", "no_observer", "no_bpf", "left_out"),
	SECONDS(container_use_row, window_ns, "window_seconds", NULL, HIDDEN | OR_NULL,
		"How much of the last 60 seconds is known, in samples of two seconds."),
	SECONDS(container_use_row, run_ns, "window_run_seconds", NULL, HIDDEN | OR_NULL,
		"CPU time in the window."),
	SECONDS(container_use_row, outside_ns, "window_outside_seconds", NULL, HIDDEN | OR_NULL,
		"Part of window_run_seconds: on CPUs that were not granted to it at that time."),
	SECONDS(container_use_row, wait_ns, "window_wait_seconds", NULL, HIDDEN | OR_NULL,
		"Time that its tasks were runnable but did not run, of waits that ended in the window. "
		"Tasks that wait at the same time add up."),
	SECONDS(container_use_row, cause_ns[WAIT_OWN_QUOTA], "window_wait_own_quota_seconds", NULL,
		HIDDEN | OR_NULL, PART_OF_WAIT "its cgroup or one above was throttled."),
	SECONDS(container_use_row, cause_ns[WAIT_OWN_CONTAINER],
		"window_wait_own_container_seconds", NULL, HIDDEN | OR_NULL,
		PART_OF_WAIT "its own tasks had the CPU."),
	SECONDS(container_use_row, cause_ns[WAIT_POD_SIBLING], "window_wait_pod_sibling_seconds",
		NULL, HIDDEN | OR_NULL, PART_OF_WAIT "another container of its pod had the CPU."),
	SECONDS(container_use_row, cause_ns[WAIT_OTHER_POD], "window_wait_other_pod_seconds", NULL,
		HIDDEN | OR_NULL, PART_OF_WAIT "another pod had the CPU."),
	SECONDS(container_use_row, cause_ns[WAIT_HOST], "window_wait_host_seconds", NULL,
		HIDDEN | OR_NULL, PART_OF_WAIT "a task of no container had the CPU."),
	SECONDS(container_use_row, cause_ns[WAIT_KERNEL], "window_wait_kernel_seconds", NULL,
		HIDDEN | OR_NULL, PART_OF_WAIT "a kernel thread had the CPU."),
	SECONDS(container_use_row, cause_ns[WAIT_IDLE], "window_wait_idle_seconds", NULL,
		HIDDEN | OR_NULL, PART_OF_WAIT "nobody had the CPU, which still had to wake up."),
	SECONDS(container_use_row, cause_ns[WAIT_UNATTRIBUTED], "window_wait_unattributed_seconds",
		NULL, HIDDEN | OR_NULL, PART_OF_WAIT "the cause is not known."),
	TEXT(container_use_row, summary, NULL, LINE | BARE | OR_NULL,
	     "The same in one line. Run time is in CPUs, which is seconds per second. Waiting is a "
	     "share of the time that its tasks ran or waited."),
};
DESCRIBE_PART(container_use_row, use_fields);

/* --- the line --------------------------------------------------------------------------------- */

static const char *const unmeasured[USE_STATE_NR] = {
	[USE_AWAITED] = "not measured yet: less than a second is known",
	[USE_NO_CGROUP] = "not measured: it has no cgroup",
	[USE_NO_SLOT] = "not measured: no slot of the observer is free; raise maxContainers",
	[USE_NO_OBSERVER] = "not measured: the observer is not loaded; see 'pinfold feature'",
	[USE_NO_BPF] = "not measured: the agent runs without BPF",
	[USE_LEFT_OUT] = "not measured: no more histories are kept",
};

static const char *const words[USE_STATE_NR] = {
	[USE_MEASURED] = "yes",
	[USE_AWAITED] = "awaited",
	[USE_NO_CGROUP] = "no_cgroup",
	[USE_NO_SLOT] = "no_slot",
	[USE_NO_OBSERVER] = "no_observer",
	[USE_NO_BPF] = "no_bpf",
	[USE_LEFT_OUT] = "left_out",
};

static void append_grant(struct text *text, const struct use_subject *subject)
{
	const char *plural = subject->nr_cpus == 1 ? "" : "s";

	text_printf(text, "%s %u CPU%s%s",
		    subject->isolation == ISOLATION_CONTAINER ? "granted" : "shares",
		    subject->nr_cpus, plural,
		    subject->isolation == ISOLATION_POD ? " of its pod" : "");
	/* An exclusive container's limit is what it was granted. */
	if (subject->isolation != ISOLATION_CONTAINER && subject->cpu_limit_mcpu > 0)
		text_printf(text, " up to %.2f", (double)subject->cpu_limit_mcpu / 1000);
}

static double percent(int64_t part_ns, int64_t whole_ns)
{
	return (double)part_ns * 100 / (double)whole_ns;
}

/* "own quota" */
static void append_cause(struct text *text, enum wait_cause cause)
{
	for (const char *at = wait_cause_name(cause); *at; at++)
		text_printf(text, "%c", *at == '_' ? ' ' : *at);
}

/* The largest part first; what would read 0.00% is left out. */
static void append_causes(struct text *text, const struct container_use_row *row)
{
	const int64_t wanted_ns = row->run_ns + row->wait_ns;
	bool is_done[WAIT_CAUSE_NR] = {false};

	for (int nr = 0; nr < WAIT_CAUSE_NR; nr++) {
		int largest = -1;

		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
			if (!is_done[cause] &&
			    (largest < 0 || row->cause_ns[cause] > row->cause_ns[largest]))
				largest = cause;
		is_done[largest] = true;
		if (percent(row->cause_ns[largest], wanted_ns) < 0.005)
			return;
		text_printf(text, "%s ", nr ? "," : ":");
		append_cause(text, (enum wait_cause)largest);
		text_printf(text, " %.2f%%", percent(row->cause_ns[largest], wanted_ns));
	}
}

static void append_use(struct text *text, const struct use_subject *subject,
		       const struct container_use_row *row)
{
	const double window_ns = (double)row->window_ns;
	const int64_t wanted_ns = row->run_ns + row->wait_ns;

	if (!wanted_ns) {
		text_printf(text, ", did not run in %.0f s", window_ns / 1e9);
		return;
	}
	text_printf(text, ", ran %.2f on %s, %.2f elsewhere, waited %.2f%% in %.0f s",
		    (double)(row->run_ns - row->outside_ns) / window_ns,
		    subject->nr_cpus == 1 ? "it" : "them", (double)row->outside_ns / window_ns,
		    percent(row->wait_ns, wanted_ns), window_ns / 1e9);
	append_causes(text, row);
}

struct container_use_row container_use_row_of(struct arena *arena,
					      const struct use_subject *subject,
					      const struct container_use *use)
{
	struct container_use_row row = container_use_unknown;
	struct text text cleanup_text = {0};

	row.measured = words[use->state];
	append_grant(&text, subject);
	if (use->state == USE_MEASURED) {
		row.window_ns = use->window_ns;
		row.run_ns = use->run_ns;
		row.outside_ns = use->outside_ns < use->run_ns ? use->outside_ns : use->run_ns;
		row.wait_ns = 0;
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++) {
			row.cause_ns[cause] = use->cause_ns[cause];
			row.wait_ns += use->cause_ns[cause];
		}
		append_use(&text, subject, &row);
	} else {
		text_printf(&text, ", %s", unmeasured[use->state]);
	}
	row.summary = arena_text(arena, &text);
	return row;
}

const struct container_use_row container_use_unknown = {
	.window_ns = -1,
	.run_ns = -1,
	.outside_ns = -1,
	.wait_ns = -1,
	.cause_ns = {[0 ... WAIT_CAUSE_NR - 1] = -1},
};
