// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * A new session of a container runtime: which CPUs the containers that it lists keep or get, what has
 * ended meanwhile, and what of this is saved.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/runtime.h"
#include "runtime_answers_scene.h"

/* What a container has is found in its cgroup: nothing is recorded, and nothing can be denied. */
static const struct runtime_port finder = {.answer = write_down, .cannot_refuse = true};

static char asked_again[256]; /* "ID " for each */

static void note_question(void *self, const char *container_id)
{
	const size_t len = strlen(asked_again);

	snprintf(asked_again + len, sizeof(asked_again) - len, "%s ", container_id);
}

static const struct runtime_port asking = {.answer = write_down, .ask_again = note_question};

/* Whatever the order in which the runtime lists them. */
static void cpus_are_taken_away_before_they_are_given(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), b = pod_of("b", QOS_BURSTABLE);
	const struct container_spec whole = container_of("main", 4000),
				    part = container_of("main", 500);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a}, {.id = "b", .spec = &b}};
	const struct runtime_container containers[] = {
		{.id = "excl-1", .pod = &pods[0], .spec = &whole, .cpus = ""},
		{.id = "wide", .pod = &pods[1], .spec = &part, .cpus = "0-15"},
		{.id = "narrow", .pod = &pods[1], .spec = &part, .cpus = "7"},
		{.id = "fitting", .pod = &pods[1], .spec = &part, .cpus = "6-15"},
		{.id = "unset", .pod = &pods[1], .spec = &part, .cpus = ""},
	};
	struct controller *controller = start_recorded();

	synchronize(controller, pods, 2, containers, 5);
	assert_string_equal(answers[0].changes, "wide=6-15 unset=6-15 excl-1=2-5 narrow=6-15 ");
	controller_free(controller);
}

/* An owner that was on the shared pool has CPUs of others until it leaves it, and they have its own. */
static void who_leaves_the_shared_pool_does_so_between_the_others(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), b = pod_of("b", QOS_GUARANTEED),
			      c = pod_of("c", QOS_BURSTABLE), d = pod_of("d", QOS_GUARANTEED);
	const struct container_spec whole = container_of("main", 4000),
				    part = container_of("main", 500);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a},
					   {.id = "b", .spec = &b},
					   {.id = "c", .spec = &c},
					   {.id = "d", .spec = &d}};
	const struct runtime_container rows[] = {
		found("excl-grows", &pods[0], &whole, ""),
		found("excl-moves", &pods[1], &whole, "0-15"),
		found("excl-shrinks", &pods[3], &whole, "2-7"),
		found("wide", &pods[2], &part, "0-15"),
	};
	struct controller *controller = start_recorded();

	ask(controller, 1, "d", "excl-shrinks", 4000);
	resize(controller, "d", "main", "excl-shrinks", 6000);
	end_update(controller);
	synchronize(controller, pods, 4, rows, 4);
	assert_string_equal(answers[2].changes,
			    "excl-shrinks=2-5 wide=6-7 excl-moves=12-15 excl-grows=8-11 ");
	controller_free(controller);
}

static void recorded_cpus_are_kept_if_they_are_as_many_as_requested(void **state)
{
	static const struct {
		const char *cpus, *granted;
	} rows[] = {
		{"8-11", "8-11"}, {"4-6", "2-5"}, {"8-12", "2-5"},  {"", "2-5"},
		{"x", "2-5"},	  {"0-3", "2-5"}, {"12-16", "2-5"},
	};
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct runtime_container row = found("excl-1", &sandbox, &spec, rows[i].cpus);
		const struct runtime_container later = found("excl-1", &sandbox, &spec, "12-15");
		struct controller *controller = start_recorded();
		char wanted[32];

		synchronize(controller, &sandbox, 1, &row, 1);
		snprintf(wanted, sizeof(wanted), "excl-1=%s ", rows[i].granted);
		assert_string_equal(answers[0].changes, wanted);
		assert_string_equal(pod_member(controller, "a", "held"), rows[i].granted);
		assert_string_equal(pod_member(controller, "a", "state"), "running");
		assert_non_null(strstr(pod_member(controller, "a", "detail"),
				       "the container runtime made its cgroups"));
		assert_int_equal(nr_events(controller, "refuse"), 0);
		/* What was granted counts, whatever the runtime has recorded since. */
		synchronize(controller, &sandbox, 1, &later, 1);
		assert_string_equal(answers[1].changes, wanted);
		controller_free(controller);
	}
}

static void each_container_of_a_session_is_decided(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), b = pod_of("b", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a}, {.id = "b", .spec = &b}};
	const struct runtime_container rows[] = {found("excl-1", &pods[0], &spec, ""),
						 found("excl-2", &pods[1], &spec, "")};
	struct controller *controller = start_recorded();

	controller_wake(controller);
	fake->wake_ns = 0;
	synchronize(controller, pods, 2, rows, 2);
	assert_string_equal(answers[0].changes, "excl-1=2-5 excl-2=6-9 ");
	/* Pods of manifests have to leave these CPUs. */
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_free(controller);
	/* It is saved, and an agent that is restarted says so. */
	controller = start_controller();
	assert_string_equal(pod_member(controller, "a", "held"), "2-5");
	assert_string_equal(pod_member(controller, "b", "held"), "6-9");
	synchronize(controller, pods, 2, rows, 2);
	assert_string_equal(pod_member(controller, "b", "state"), "running");
	assert_non_null(strstr(pod_member(controller, "b", "detail"),
			       "the container runtime made its cgroups"));
	controller_free(controller);
}

/* A request that has changed counts as soon as the runtime has lost the CPUs that were granted. */
static void without_its_cpus_a_resized_container_is_decided_again(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec smaller = container_of("main", 2000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container kept = found("excl-1", &sandbox, &smaller, "2-5"),
				       lost = found("excl-1", &sandbox, &smaller, "");
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 4000);
	synchronize(controller, &sandbox, 1, &kept, 1);
	assert_string_equal(answers[1].changes, "excl-1=2-5 ");
	synchronize(controller, &sandbox, 1, &lost, 1);
	assert_string_equal(answers[2].changes, "excl-1=2-3 ");
	controller_free(controller);
}

static void who_had_to_share_is_decided_again_in_a_new_session(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), big = pod_of("big", QOS_GUARANTEED);
	const struct container_spec four = container_of("main", 4000),
				    twelve = container_of("main", 12000);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a}, {.id = "big", .spec = &big}};
	const struct runtime_container rows[] = {found("c", &pods[0], &four, ""),
						 found("excl-big", &pods[1], &twelve, "2-13")};
	const struct runtime_container later[] = {found("c", &pods[0], &four, "14-15"), rows[1]};
	struct controller *controller = start_recorded();

	synchronize(controller, pods, 2, rows, 2);
	assert_string_equal(answers[0].changes, "c=14-15 excl-big=2-13 ");
	assert_int_equal(nr_events(controller, "refuse"), 1);
	/* The CPUs that it shares are not its own: it is no resize. */
	synchronize(controller, pods, 2, later, 2);
	assert_int_equal(nr_told(controller, "refuse", "it runs on the shared pool instead"), 2);
	synchronize(controller, pods, 1, rows, 1);
	assert_string_equal(answers[2].changes, "c=2-5 ");
	assert_string_equal(pod_member(controller, "a", "held"), "2-5");
	controller_free(controller);
}

/* What is recorded was told once. What is found may be what all share, as many as it asks for by chance. */
static void found_cpus_are_kept_if_no_other_pod_has_them(void **state)
{
	static const struct {
		const struct runtime_port *port;
		const char *of_pod, *of_other, *granted;
	} rows[] = {
		{&recorder, "12-15", "8-11", "8-11"}, {&recorder, "8-15", "8-15", "8-11"},
		{&finder, "12-15", "2-7", "8-11"},    {&finder, "12-15", "8-15", "2-5"},
		{&finder, "8-15", "12-15", "8-11"},   {&finder, "12-15", "11", "2-5"},
		{&finder, "12-15", "", "8-11"},	      {NULL, "8-15", "8-15", "8-11"},
	};
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), b = pod_of("b", QOS_BURSTABLE);
	const struct container_spec whole = container_of("main", 4000),
				    side = container_of("side", 500);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a}, {.id = "b", .spec = &b}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int is_last = 0; is_last < 2; is_last++) {
			struct runtime_container found_ones[] = {
				found("other", &pods[1], &side, rows[i].of_other),
				found("side", &pods[0], &side, rows[i].of_pod),
				found("excl-1", &pods[0], &whole, "8-11"),
			};
			struct controller *controller;

			if (is_last) {
				const struct runtime_container first = found_ones[0];

				found_ones[0] = found_ones[2];
				found_ones[2] = first;
			}
			nr_answers = 0;
			scene_runtime = rows[i].port;
			controller = start_controller();
			synchronize(controller, pods, 2, found_ones, 3);
			assert_string_equal(pod_member(controller, "a", "held"), rows[i].granted);
			controller_free(controller);
			fake_world_clear();
			fake_world_make();
		}
	scene_runtime = NULL;
}

/* When CPUs are released, those are asked about again that a session has left with fewer than they want. */
static void who_got_less_in_a_session_is_asked_about_again(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), b = pod_of("b", QOS_GUARANTEED),
			      d = pod_of("d", QOS_GUARANTEED), fresh = pod_of("g", QOS_GUARANTEED);
	struct pod_spec as_a_whole = pod_of("e", QOS_GUARANTEED), others = pod_of("m", 0);
	const struct container_spec two = container_of("main", 2000),
				    four = container_of("main", 4000),
				    many = container_of("main", 14000),
				    web = container_of("web", 500);
	const struct runtime_pod pods[] = {
		{.id = "a", .spec = &a},      {.id = "b", .spec = &b},
		{.id = "d", .spec = &d},      {.id = "e", .spec = &as_a_whole},
		{.id = "m", .spec = &others}, {.id = "g", .spec = &fresh}};
	const struct runtime_container rows[] = {
		found("excl-same", &pods[0], &two, "2-3"),
		found("excl-larger", &pods[1], &four, "4-5"),
		found("excl-short", &pods[2], &many, "6-7"),
		found("excl-whole", &pods[3], &two, "8-9"),
		found("of-manifest", &pods[4], &web, "10-15"),
		found("excl-fresh", &pods[5], &two, ""),
	};
	struct pod_spec *manifest = manifest_pod("m", 500);
	struct controller *controller;

	nr_answers = 0;
	*asked_again = '\0';
	scene_runtime = &asking;
	controller = start_controller();
	synchronize(controller, NULL, 0, NULL, 0);
	scan(controller, &manifest, 1);
	ask(controller, 1, "a", "excl-same", 2000);
	ask(controller, 2, "b", "excl-larger", 2000);
	ask(controller, 3, "d", "excl-short", 2000);
	ask(controller, 4, "e", "excl-whole", 2000);
	ask(controller, 5, "f", "excl-gone", 2000);
	as_a_whole.has_pod_resources = true;
	as_a_whole.request = as_a_whole.limit = four.request;
	synchronize(controller, pods, 6, rows, 6);
	assert_string_equal(pod_member(controller, "b", "held"), "4-5,10-11");
	assert_string_equal(pod_member(controller, "d", "held"), "6-7");
	assert_string_equal(pod_member(controller, "e", "held"), "8-9");
	assert_string_equal(pod_member(controller, "g", "held"), "12-13");
	*asked_again = '\0';
	sink_of(controller)->pod_stopped(controller, "a");
	assert_string_equal(asked_again, "excl-short ");
	controller_free(controller);
	pod_spec_free(manifest);
}

/* Its CPUs are no room for others: they share them as before, but for those that it has now. */
static void who_leaves_the_shared_pool_makes_no_room(void **state)
{
	const struct pod_spec a = pod_of("a", QOS_GUARANTEED), b = pod_of("b", QOS_GUARANTEED);
	const struct container_spec four = container_of("main", 4000),
				    many = container_of("main", 16000);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &a}, {.id = "b", .spec = &b}};
	const struct runtime_container rows[] = {found("excl-short", &pods[1], &many, ""),
						 found("excl-moves", &pods[0], &four, "0-15")};
	const struct runtime_container resized[] = {rows[0],
						    found("excl-moves", &pods[0], &four, "2-7")};
	struct controller *controller;

	scene_runtime = &asking;
	controller = start_controller();
	*asked_again = '\0';
	synchronize(controller, pods, 2, rows, 2);
	assert_string_equal(pod_member(controller, "a", "held"), "2-5");
	assert_string_equal(asked_again, "");
	/* An owner that has fewer than before is another matter. */
	resize(controller, "a", "main", "excl-moves", 6000);
	end_update(controller);
	assert_string_equal(asked_again, "");
	synchronize(controller, pods, 2, resized, 2);
	assert_string_equal(asked_again, "excl-short ");
	*asked_again = '\0';
	sink_of(controller)->pod_stopped(controller, "a");
	assert_string_equal(asked_again, "excl-short ");
	/* And once. */
	controller_tick(controller);
	assert_string_equal(asked_again, "excl-short ");
	controller_free(controller);
}

static void a_pod_of_a_manifest_that_ends_makes_room(void **state)
{
	const struct pod_spec pod = pod_of("b", QOS_GUARANTEED);
	const struct container_spec many = container_of("main", 14000);
	const struct runtime_pod sandbox = {.id = "b", .spec = &pod};
	const struct runtime_container row = found("excl-short", &sandbox, &many, "");
	struct pod_spec *manifest = manifest_pod("m", 4000);
	struct controller *controller;

	scene_runtime = &asking;
	controller = start_controller();
	scan(controller, &manifest, 1);
	synchronize(controller, &sandbox, 1, &row, 1);
	controller_tick(controller);
	*asked_again = '\0';
	controller_tick(controller);
	assert_string_equal(asked_again, "");
	scan(controller, NULL, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_tick(controller);
	assert_string_equal(asked_again, "excl-short ");
	controller_free(controller);
	pod_spec_free(manifest);
}

static unsigned int nr_hurries;

static void note_hurry(void *self)
{
	nr_hurries++;
}

/* Where it can ask for a request soon it does, and where it cannot, the operator learns who is behind. */
static void who_is_behind_is_told_unless_a_request_comes_soon(void **state)
{
	static const struct runtime_port hurrying = {.answer = write_down, .ask_soon = note_hurry};
	static const struct runtime_port *const ports[] = {NULL, &recorder, &hurrying};
	const struct pod_spec pod = pod_of("b", QOS_GUARANTEED);
	const struct container_spec many = container_of("main", 16000);
	const struct runtime_pod sandbox = {.id = "b", .spec = &pod};
	const struct runtime_container row = found("short", &sandbox, &many, "2-15");
	struct pod_spec *manifest = manifest_pod("m", 4000);

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		const bool is_hurrying = ports[i] == &hurrying;
		struct controller *controller;

		nr_answers = 0;
		nr_hurries = 0;
		scene_runtime = ports[i];
		controller = start_controller();
		synchronize(controller, &sandbox, 1, &row, 1);
		assert_int_equal(nr_hurries, 0);
		scan(controller, &manifest, 1);
		assert_string_equal(pod_member(controller, "m", "held"), "2-5");
		assert_int_equal(nr_findings(controller, "runtime_behind", "1 container of"),
				 !is_hurrying);
		assert_int_equal(nr_hurries > 0, is_hurrying);
		/* Who was refused may ask again where somebody can be asked. */
		scan(controller, NULL, 0);
		controller_tick(controller);
		assert_int_equal(nr_findings(controller, "runtime_behind", ""), 0);
		controller_free(controller);
		fake_world_clear();
		fake_world_make();
	}
	scene_runtime = NULL;
	pod_spec_free(manifest);
}

/* One more than a pod may have shares like the others, and is no refusal: it was not decided. */
static void too_many_containers_of_a_pod_share(void **state)
{
	enum { NR = POD_MAX_CONTAINERS + 1 };
	const struct pod_spec pod = pod_of("a", QOS_BURSTABLE);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	struct controller *controller = start_recorded();
	struct runtime_container rows[NR];
	struct container_spec specs[NR];
	char ids[NR][16];

	for (int i = 0; i < NR; i++) {
		snprintf(ids[i], sizeof(ids[i]), "c%d", i);
		specs[i] = container_of("", 10);
		memcpy(specs[i].name, ids[i], sizeof(ids[i]));
		rows[i] = found(ids[i], &sandbox, &specs[i], "0-15");
	}
	synchronize(controller, &sandbox, 1, rows, NR);
	assert_non_null(strstr(answers[0].changes, "c127=2-15 c128=2-15 "));
	assert_int_equal(nr_events(controller, "refuse"), 0);
	controller_free(controller);
}

/* It keeps what it has, whatever that is: nothing was recorded, so it did not share for this reason. */
static void who_is_met_while_its_cpus_are_offline_is_told_nothing(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container row = found("excl-1", &sandbox, &spec, "");
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 4000);
	tell_online(controller, "0-1,6-15");
	synchronize(controller, &sandbox, 1, &row, 1);
	assert_string_equal(answers[1].changes, "");
	tell_online(controller, "0-15");
	sink_of(controller)->stopped(controller, 2, "none");
	expect_answer(2, 2, "", "excl-1=2-5 ");
	controller_free(controller);
}

/* Others may have written its cgroup, whatever the runtime was told while one of its CPUs was offline. */
static void an_owners_cpus_are_stated_again_also_without_one_that_is_offline(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container row = found("excl-1", &sandbox, &spec, "2-4");
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 4000);
	tell_online(controller, "0-4,6-15");
	synchronize(controller, &sandbox, 1, &row, 1);
	assert_string_equal(answers[1].changes, "excl-1=2-4 ");
	controller_free(controller);
}

/* They shrink like others, and their CPUs are recorded like those of others. */
static void invalid_containers_share(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod pods[] = {{.id = "a", .spec = &pod},
					   {.id = "b", .error = "unknown annotation"}};
	const struct runtime_container rows[] = {
		found("excl-1", &pods[0], &spec, "2-5"),
		{.id = "invalid", .pod = &pods[0], .error = "invalid name", .cpus = "0-15"},
		found("strange", &pods[1], &spec, "6-15"),
	};
	struct controller *controller = start_recorded();

	synchronize(controller, pods, 2, rows, 3);
	assert_string_equal(answers[0].changes, "invalid=6-15 excl-1=2-5 ");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	update_otherwise(controller, 70, "strange");
	expect_answer(1, 70, "", "strange=6-15 ");
	controller_free(controller);
}

static void what_a_session_does_not_list_has_ended(void **state)
{
	struct pod_spec *spec = manifest_pod("m", 500);
	struct controller *controller = start_recorded();

	scan(controller, &spec, 1);
	ask(controller, 1, "a", "c1", 500);
	ask(controller, 2, "b", "excl-1", 4000);
	assert_int_equal(nr_rows(controller, "pod"), 3);
	controller_wake(controller);
	fake->wake_ns = 0;
	synchronize(controller, NULL, 0, NULL, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	/* Pods of manifests may use the CPUs at once. */
	assert_int_equal(fake->wake_ns, fake->now_ns);
	/* Nobody is left who would have to shrink. */
	ask(controller, 3, "d", "excl-2", 4000);
	expect_answer(3, 3, "2-5", "");
	pod_spec_free(spec);
	controller_free(controller);
}

/* Its pod has not ended before the last of them is gone. */
static void a_sandbox_that_has_stopped_counts_while_it_has_containers(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod, .is_stopped = true};
	const struct runtime_container row = found("excl-1", &sandbox, &spec, "2-5");
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 4000);
	synchronize(controller, &sandbox, 1, &row, 1);
	assert_int_equal(nr_events(controller, "release"), 0);
	sink_of(controller)->pod_stopped(controller, "a");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	ask(controller, 2, "a", "excl-1", 4000);
	synchronize(controller, &sandbox, 1, NULL, 0);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

/* Whose it is cannot be told. Without any CPUs on record it has none that might be its own. */
static void a_container_without_a_sandbox_shares_unless_it_has_cpus_of_its_own(void **state)
{
	static const struct runtime_pod nobody = {.id = "", .error = "its sandbox is not listed"};
	static const struct {
		const char *cpus, *changes;
	} rows[] = {
		{"", "orphan=6-15 "}, {"4-9", "orphan=6-15 "}, {"x", "orphan=6-15 "}, {"2-5", ""}};
	struct controller *controller = start_recorded();

	ask(controller, 1, "a", "excl-1", 4000);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct runtime_container row = found("orphan", &nobody, NULL, rows[i].cpus);

		synchronize(controller, NULL, 0, &row, 1);
		assert_string_equal(answers[1 + i].changes, rows[i].changes);
	}
	controller_free(controller);
}

/*
 * Where nobody says which are init containers, one that was alone has ended if another one of its pod is
 * met, unless it is listed as well.
 */
static void a_container_that_was_alone_has_ended_only_if_it_is_not_listed(void **state)
{
	static const struct runtime_port kindless = {.answer = write_down, .has_no_kinds = true};
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec one = container_of("one", 4000),
				    two = container_of("two", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container rows[] = {found("excl-2", &sandbox, &two, ""),
						 found("excl-1", &sandbox, &one, "2-5")};

	for (uint32_t nr = 1; nr <= 2; nr++) {
		struct controller *controller;

		nr_answers = 0;
		scene_runtime = &kindless;
		controller = start_controller();
		synchronize(controller, NULL, 0, NULL, 0);
		ask_in(controller, 1, "a", "a", "one", "excl-1", 4000);
		synchronize(controller, &sandbox, 1, rows, nr);
		assert_int_equal(nr_events(controller, "release"), nr == 1);
		assert_string_equal(pod_member(controller, "a", "held"), nr == 1 ? "2-5" : "2-9");
		controller_free(controller);
		fake_world_clear();
		fake_world_make();
	}
}

/* What a session changed, as the file has it: an agent that starts now knows the pod "kept" alone. */
static void expect_saved_session(struct controller *controller)
{
	controller_free(controller);
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(pod_member(controller, "kept", "held"), "8-11");
	controller_free(controller);
}

static void begin_session(struct controller *controller)
{
	const struct pod_spec pod = pod_of("kept", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "kept", .spec = &pod};
	const struct runtime_container row = found("excl-1", &sandbox, &spec, "8-11");

	synchronize(controller, &sandbox, 1, &row, 1);
}

/* The release is being written when the adoption has to be. */
static void a_session_is_saved_in_its_last_state(void **state)
{
	struct controller *controller = start_recorded();

	ask(controller, 1, "gone", "excl-2", 4000);
	fake->slow_save = true;
	begin_session(controller);
	for (int i = 0; i < 4 && fake->is_saving; i++) {
		fake->wake_ns = 0;
		fake_end_save(controller, 0);
		assert_int_equal(fake->wake_ns, fake->now_ns);
		controller_wake(controller);
	}
	assert_false(fake->is_saving);
	fake->slow_save = false;
	expect_saved_session(controller);
}

static void a_session_is_saved_when_the_file_can_be_written_again(void **state)
{
	struct controller *controller = start_recorded();

	ask(controller, 1, "gone", "excl-2", 4000);
	fake->save_error = -ENOSPC;
	begin_session(controller);
	assert_string_equal(pod_member(controller, "kept", "held"), "8-11");
	for (int i = 0; i < 5; i++) {
		fake->now_ns += 1000000000;
		controller_tick(controller);
	}
	fake->save_error = 0;
	for (int i = 0; i < 120; i++) {
		fake->now_ns += 1000000000;
		controller_tick(controller);
	}
	expect_saved_session(controller);
}

static void who_waits_is_not_answered_in_the_next_session(void **state)
{
	struct controller *controller = start_recorded();

	fake->slow_save = true;
	ask(controller, 11, "a", "excl-a", 4000);
	node.request = 20;
	synchronize(controller, NULL, 0, NULL, 0);
	end_all_saves(controller, 0);
	assert_int_equal(nr_answers, 1);
	expect_answer(0, 21, "", "");
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

/* They are not recorded, so nobody can be told of them later. */
static void ids_that_are_too_long_are_left_out_of_a_session(void **state)
{
	char id[RUNTIME_ID_MAX + 1] = "", longest[RUNTIME_ID_MAX] = "", wanted[256];
	const struct pod_spec pod = pod_of("a", QOS_BURSTABLE);
	const struct container_spec spec = container_of("main", 500);
	const struct runtime_pod sandboxes[] = {
		{.id = "a", .spec = &pod}, {.id = id, .spec = &pod}, {.id = longest, .spec = &pod}};
	const struct runtime_container rows[] = {
		found(id, &sandboxes[0], &spec, "0-15"),
		found("in-long", &sandboxes[1], &spec, "0-15"),
		found(longest, &sandboxes[2], &spec, "0-15"),
	};
	struct controller *controller = start_recorded();

	memset(id, 'x', RUNTIME_ID_MAX);
	memset(longest, 'y', RUNTIME_ID_MAX - 1);
	synchronize(controller, sandboxes, 3, rows, 3);
	snprintf(wanted, sizeof(wanted), "in-long=2-15 %s=2-15 ", longest);
	assert_string_equal(answers[0].changes, wanted);
	/* The pod ends with its last sandbox that is recorded. */
	sink_of(controller)->pod_stopped(controller, "a");
	assert_int_equal(nr_rows(controller, "pod"), 1);
	sink_of(controller)->pod_stopped(controller, longest);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(cpus_are_taken_away_before_they_are_given),
		TEST(who_leaves_the_shared_pool_does_so_between_the_others),
		TEST(recorded_cpus_are_kept_if_they_are_as_many_as_requested),
		TEST(each_container_of_a_session_is_decided),
		TEST(without_its_cpus_a_resized_container_is_decided_again),
		TEST(who_had_to_share_is_decided_again_in_a_new_session),
		TEST(found_cpus_are_kept_if_no_other_pod_has_them),
		TEST(who_got_less_in_a_session_is_asked_about_again),
		TEST(who_leaves_the_shared_pool_makes_no_room),
		TEST(a_pod_of_a_manifest_that_ends_makes_room),
		TEST(who_is_behind_is_told_unless_a_request_comes_soon),
		TEST(too_many_containers_of_a_pod_share),
		TEST(who_is_met_while_its_cpus_are_offline_is_told_nothing),
		TEST(an_owners_cpus_are_stated_again_also_without_one_that_is_offline),
		TEST(invalid_containers_share),
		TEST(what_a_session_does_not_list_has_ended),
		TEST(a_sandbox_that_has_stopped_counts_while_it_has_containers),
		TEST(a_container_without_a_sandbox_shares_unless_it_has_cpus_of_its_own),
		TEST(a_container_that_was_alone_has_ended_only_if_it_is_not_listed),
		TEST(a_session_is_saved_in_its_last_state),
		TEST(a_session_is_saved_when_the_file_can_be_written_again),
		TEST(who_waits_is_not_answered_in_the_next_session),
		TEST(ids_that_are_too_long_are_left_out_of_a_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
