// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The line of a container that says what it was granted, ran and waited, and its numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/view_private.h"
#include "view_scene.h"

/* Container "main" of prod/db, which has CPUs 1-2,9-10 for itself. */
static const struct container_use db_use = {
	.uid = "uid-db",
	.container = "main",
	.state = USE_MEASURED,
	.window_ns = 60 * 1000000000LL,
	.run_ns = 235200000000, /* 3.92 CPUs */
	.cause_ns = {[WAIT_HOST] = 714140000, [WAIT_OWN_QUOTA] = 2142420000},
};

static void expect_line(const struct stage *stage, const struct container_use *use,
			const char *line)
{
	const struct pods_observed observed = {.uses = use, .nr_uses = 1};
	struct json_object *pods = view_pods(stage->ledger, &observed);

	expect(pods,
	       strcmp(use->uid, "uid-db") ? "/1/containers/0/summary" : "/0/containers/0/summary",
	       line);
	json_object_put(pods);
}

static void a_line_says_what_a_container_ran_and_waited(void **state)
{
	const struct stage *stage = *state;
	const struct container_use uses[] = {
		db_use,
		{.uid = "uid-web",
		 .container = "main",
		 .window_ns = 14 * 1000000000LL,
		 .run_ns = 5880000000,
		 .outside_ns = 1400000000,
		 .cause_ns = {[WAIT_OTHER_POD] = 5880000000}},
	};
	const struct pods_observed observed = {.uses = uses, .nr_uses = ARRAY_SIZE(uses)};
	struct json_object *pods = view_pods(stage->ledger, &observed);

	check("pods-used", &view_pod_desc, pods);
	expect(pods, "/0/containers/0/measured", "yes");
	expect(pods, "/0/containers/0/window_seconds", "60.000000000");
	expect(pods, "/0/containers/0/window_run_seconds", "235.200000000");
	expect(pods, "/0/containers/0/window_outside_seconds", "0.000000000");
	expect(pods, "/0/containers/0/window_wait_seconds", "2.856560000");
	expect(pods, "/0/containers/0/window_wait_own_quota_seconds", "2.142420000");
	expect(pods, "/0/containers/0/window_wait_kernel_seconds", "0.000000000");
	expect(pods, "/0/containers/0/summary",
	       "granted 4 CPUs, ran 3.92 on them, 0.00 elsewhere, waited 1.20% in 60 s: "
	       "own quota 0.90%, host 0.30%");
	expect(pods, "/1/containers/0/summary",
	       "shares 10 CPUs, ran 0.32 on them, 0.10 elsewhere, waited 50.00% in 14 s: "
	       "other pod 50.00%");
	json_object_put(pods);
}

static void a_line_leaves_out_what_did_not_happen(void **state)
{
	const struct stage *stage = *state;
	struct container_use use = db_use;

	memset(use.cause_ns, 0, sizeof(use.cause_ns));
	expect_line(stage, &use,
		    "granted 4 CPUs, ran 3.92 on them, 0.00 elsewhere, waited 0.00% in 60 s");
	/* Too little to be shown, and just enough. */
	use.cause_ns[WAIT_IDLE] = 11000000;
	expect_line(stage, &use,
		    "granted 4 CPUs, ran 3.92 on them, 0.00 elsewhere, waited 0.00% in 60 s");
	use.cause_ns[WAIT_KERNEL] = 12000000;
	expect_line(stage, &use,
		    "granted 4 CPUs, ran 3.92 on them, 0.00 elsewhere, waited 0.01% in 60 s: "
		    "kernel 0.01%");
	/* All of the time it only waited. */
	use = (struct container_use){.uid = "uid-db",
				     .container = "main",
				     .window_ns = 2000000000,
				     .cause_ns = {[WAIT_UNATTRIBUTED] = 3000000000}};
	expect_line(stage, &use,
		    "granted 4 CPUs, ran 0.00 on them, 0.00 elsewhere, waited 100.00% in 2 s: "
		    "unattributed 100.00%");
	use.cause_ns[WAIT_UNATTRIBUTED] = 0;
	expect_line(stage, &use, "granted 4 CPUs, did not run in 2 s");
	/* What was read at two moments may disagree a little. */
	use.run_ns = 1000000000;
	use.outside_ns = 1000000001;
	expect_line(stage, &use,
		    "granted 4 CPUs, ran 0.00 on them, 0.50 elsewhere, waited 0.00% in 2 s");
}

static void what_is_not_measured_has_a_word_and_no_numbers(void **state)
{
	static const struct {
		enum use_state state;
		const char *word, *line;
	} rows[] = {
		{USE_AWAITED, "awaited",
		 "shares 10 CPUs, not measured yet: less than a second is known"},
		{USE_NO_CGROUP, "no_cgroup", "shares 10 CPUs, not measured: it has no cgroup"},
		{USE_NO_SLOT, "no_slot",
		 "shares 10 CPUs, not measured: no slot of the observer is free; raise "
		 "maxContainers"},
		{USE_NO_OBSERVER, "no_observer",
		 "shares 10 CPUs, not measured: the observer is not loaded; see 'pinfold feature'"},
		{USE_NO_BPF, "no_bpf", "shares 10 CPUs, not measured: the agent runs without BPF"},
		{USE_LEFT_OUT, "left_out",
		 "shares 10 CPUs, not measured: no more histories are kept"},
	};
	const struct stage *stage = *state;

	assert_int_equal(ARRAY_SIZE(rows), USE_STATE_NR - 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct container_use uses[] = {
			db_use, {.uid = "uid-web", .container = "main", .state = rows[i].state}};
		const struct pods_observed observed = {.uses = uses, .nr_uses = 2};
		struct json_object *pods = view_pods(stage->ledger, &observed);

		expect(pods, "/1/containers/0/measured", rows[i].word);
		expect(pods, "/1/containers/0/summary", rows[i].line);
		expect(pods, "/1/containers/0/window_seconds", "null");
		expect(pods, "/1/containers/0/window_run_seconds", "null");
		expect(pods, "/1/containers/0/window_outside_seconds", "null");
		expect(pods, "/1/containers/0/window_wait_seconds", "null");
		expect(pods, "/1/containers/0/window_wait_host_seconds", "null");
		json_object_put(pods);
	}
}

static void a_grant_says_whose_the_cpus_are(void **state)
{
	static const struct {
		struct use_subject subject;
		const char *line;
	} rows[] = {
		{{ISOLATION_CONTAINER, 4, -1}, "granted 4 CPUs, ran 0.50 on them, "},
		{{ISOLATION_CONTAINER, 1, 1000}, "granted 1 CPU, ran 0.50 on it, "},
		{{ISOLATION_POD, 2, -1}, "shares 2 CPUs of its pod, ran 0.50 on them, "},
		{{ISOLATION_POD, 1, 250}, "shares 1 CPU of its pod up to 0.25, ran 0.50 on it, "},
		{{ISOLATION_HOST, 10, 1500}, "shares 10 CPUs up to 1.50, ran 0.50 on them, "},
	};
	const struct container_use use = {
		.state = USE_MEASURED, .window_ns = 2000000000, .run_ns = 1000000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena cleanup_arena = {0};
		const struct container_use_row row =
			container_use_row_of(&arena, &rows[i].subject, &use);

		assert_false(arena.failed);
		assert_memory_equal(row.summary, rows[i].line, strlen(rows[i].line));
	}
}

/* The first 80 columns of a terminal, behind two tabs, have the totals. */
static void the_totals_fit_into_80_columns(void **state)
{
	const struct use_subject subject = {ISOLATION_CONTAINER, 64, -1};
	struct container_use use = db_use;
	struct arena arena cleanup_arena = {0};
	const char *summary, *end;

	(void)state;
	use.run_ns = 63 * use.window_ns;
	summary = container_use_row_of(&arena, &subject, &use).summary;
	end = strchr(summary, '%');
	assert_non_null(end);
	assert_in_range(end - summary + 1, 1, 80 - 16);
}

/* A container that nobody looked at: the agent says so, a state file says nothing. */
static void without_a_row_there_is_no_cgroup(void **state)
{
	const struct stage *stage = *state;
	const struct pods_observed observed = {.uses = &db_use, .nr_uses = 1};
	struct json_object *pods = view_pods(stage->ledger, &observed);

	expect(pods, "/0/containers/0/measured", "yes");
	expect(pods, "/1/containers/0/measured", "no_cgroup");
	json_object_put(pods);
	pods = view_pods(stage->ledger, NULL);
	expect(pods, "/0/containers/0/measured", "null");
	expect(pods, "/0/containers/0/summary", "null");
	expect(pods, "/0/containers/0/window_run_seconds", "null");
	json_object_put(pods);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_what_a_container_ran_and_waited),
		cmocka_unit_test(a_line_leaves_out_what_did_not_happen),
		cmocka_unit_test(what_is_not_measured_has_a_word_and_no_numbers),
		cmocka_unit_test(a_grant_says_whose_the_cpus_are),
		cmocka_unit_test(the_totals_fit_into_80_columns),
		cmocka_unit_test(without_a_row_there_is_no_cgroup),
	};

	return cmocka_run_group_tests_name("view_use", tests, open_stage, close_stage);
}
