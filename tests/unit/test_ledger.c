// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Transactions, restoring, and the detection of violated invariants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene.h"

#include <errno.h>

#include "core/ledger/ledger_check.h"

struct fixture {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->topology = scene_machine(1, 2, 4, 2); /* 16 CPUs */
	fixture->policy = strict_policy("0,8");
	fixture->ledger = scene_ledger(fixture->topology, &fixture->policy);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	ledger_free(fixture->ledger);
	topology_free(fixture->topology);
	free(fixture);
	return 0;
}

static void starts_with_everything_shared(void **state)
{
	struct fixture *fixture = *state;
	struct cpuset exclusive;

	assert_cpus(ledger_shared_pool(fixture->ledger), "1-7,9-15");
	assert_cpus(ledger_reserved(fixture->ledger), "0,8");
	ledger_exclusive(fixture->ledger, &exclusive);
	assert_true(cpuset_is_empty(&exclusive));
	assert_sound(fixture->ledger);
}

static void reserved_by_count(void **state)
{
	struct fixture *fixture = *state;
	struct policy policy = policy_default();
	struct ledger *ledger cleanup_ledger = NULL;

	policy.reserved_mcpu = 1500;
	ledger = scene_ledger(fixture->topology, &policy);
	assert_cpus(ledger_reserved(ledger), "0,8");
	/* Not strict: they stay in the shared pool. */
	assert_cpus(ledger_shared_pool(ledger), "0-15");
}

static void abort_restores(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = fixture->ledger;
	struct pod_spec *late cleanup_pod_spec = guaranteed_pod("c", 2);
	const struct ledger_pod *kept;

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);
	kept = ledger_find(ledger, "a");
	assert_int_equal(ledger_begin(ledger), 0);
	assert_int_equal(ledger_begin(ledger), -EBUSY);
	assert_int_equal(ledger_set_state(ledger, "a", POD_ENDING, "gone"), 0);
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	assert_int_equal(ledger_remove(ledger, "b"), 0);
	assert_non_null(ledger_new_pod(ledger, late));
	assert_int_equal(ledger_remove(ledger, "c"), 0);
	assert_non_null(ledger_new_pod(ledger, late));
	assert_int_equal(ledger_nr_pods(ledger), 1);
	ledger_abort(ledger);
	assert_int_equal(ledger_nr_pods(ledger), 2);
	assert_ptr_equal(ledger_find(ledger, "a"), kept);
	assert_int_equal(kept->state, POD_RUNNING);
	assert_cpus(ledger_shared_pool(ledger), "3-7,11-15");
	assert_sound(ledger);
}

static void removal_releases(void **state)
{
	struct fixture *fixture = *state;

	assert_true(admit_and_free(fixture->ledger, guaranteed_pod("a", 4)).admitted);
	assert_cpus(ledger_shared_pool(fixture->ledger), "3-7,11-15");
	assert_int_equal(ledger_remove(fixture->ledger, "b"), -ENOENT);
	assert_int_equal(ledger_remove(fixture->ledger, "a"), 0);
	assert_cpus(ledger_shared_pool(fixture->ledger), "1-7,9-15");
	assert_sound(fixture->ledger);
}

static void restores_what_was_decided(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *again cleanup_ledger = NULL;
	char error[256] = "";

	assert_true(admit_and_free(fixture->ledger, guaranteed_pod("a", 4)).admitted);
	assert_true(admit_and_free(fixture->ledger, burstable_pod("b")).admitted);
	again = scene_ledger(fixture->topology, &fixture->policy);
	for (uint32_t i = 0; i < 2; i++) {
		struct ledger_pod pod = *ledger_pod_at(fixture->ledger, i);

		/* Values that follow from the spec and the grants are not taken from the record. */
		pod.qos = QOS_BEST_EFFORT;
		pod.held = set_of("15");
		assert_int_equal(ledger_restore(again, &pod, error, sizeof(error)), 0);
	}
	/* No transaction is left open. */
	assert_int_equal(ledger_begin(again), 0);
	ledger_abort(again);
	assert_int_equal(ledger_nr_pods(again), 2);
	assert_sound(again);
	assert_true(cpuset_equal(ledger_shared_pool(again), ledger_shared_pool(fixture->ledger)));
	assert_int_equal(ledger_restore(again, ledger_pod_at(fixture->ledger, 0), error,
					sizeof(error)),
			 -EEXIST);
	assert_non_null(strstr(error, "a"));
}

/* The baseline is what a container was admitted with alone; a record of another kind has none. */
static void only_exclusive_containers_have_a_baseline(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *again cleanup_ledger = scene_ledger(fixture->topology, &fixture->policy);
	struct ledger_pod pod;
	struct grant grant;
	char error[256] = "";

	for (const char *uid = "ab"; *uid; uid++) {
		const char name[] = {*uid, 0};
		bool exclusive = *uid == 'a';

		assert_true(admit_and_free(fixture->ledger, exclusive ? guaranteed_pod(name, 2)
								      : burstable_pod(name))
				    .admitted);
		pod = *ledger_find(fixture->ledger, name);
		grant = pod.grants[0];
		grant.baseline = set_of("9");
		pod.grants = &grant;
		assert_int_equal(ledger_restore(again, &pod, error, sizeof(error)), 0);
		assert_cpus(ledger_find(again, name)->grants[0].baseline, exclusive ? "9" : "");
	}
}

static void refuses_to_restore_invalid_pods(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *again cleanup_ledger = NULL;
	struct policy policy = strict_policy("1,9");
	struct ledger_pod wrong;
	struct grant grants[1];
	char error[256] = "";

	assert_true(admit_and_free(fixture->ledger, guaranteed_pod("a", 2)).admitted);
	wrong = *ledger_find(fixture->ledger, "a");
	assert_cpus(wrong.held, "1,9");
	/* its CPUs became reserved */
	again = scene_ledger(fixture->topology, &policy);
	assert_int_equal(ledger_restore(again, &wrong, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "reserved"));
	/* fewer CPUs than it was promised */
	grants[0] = wrong.grants[0];
	grants[0].cpus = set_of("2");
	wrong.grants = grants;
	assert_int_equal(ledger_restore(again, &wrong, error, sizeof(error)), -EINVAL);
	/* CPUs that the machine does not have */
	grants[0].cpus = set_of("2,77");
	assert_int_equal(ledger_restore(again, &wrong, error, sizeof(error)), -EINVAL);
	/* CPUs of somebody else */
	assert_true(admit_and_free(again, guaranteed_pod("b", 2)).admitted);
	grants[0].cpus = ledger_find(again, "b")->held;
	assert_int_equal(ledger_restore(again, &wrong, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "holder: b"));
	assert_int_equal(ledger_nr_pods(again), 1);
	assert_sound(again);
}

static void finds_by_name(void **state)
{
	struct fixture *fixture = *state;

	assert_true(admit_and_free(fixture->ledger, burstable_pod("b")).admitted);
	assert_true(admit_and_free(fixture->ledger, burstable_pod("a")).admitted);
	assert_string_equal(ledger_pod_at(fixture->ledger, 0)->spec->uid, "a");
	assert_non_null(ledger_find_name(fixture->ledger, "test", "b"));
	assert_null(ledger_find_name(fixture->ledger, "other", "b"));
	assert_null(ledger_find_name(fixture->ledger, "test", "c"));
	assert_string_equal(ledger_find_name(fixture->ledger, "test", "b")->spec->uid, "b");
	assert_int_equal(ledger_nr_host_containers(fixture->ledger), 2);
}

/* A recreated pod has a new uid while its predecessor ends, in either order of uids. */
static void running_pod_is_found_by_name(void **state)
{
	static const char *const uids[] = {"a", "b"};

	for (size_t running = 0; running < ARRAY_SIZE(uids); running++) {
		struct fixture *fixture = *state;
		struct ledger *ledger cleanup_ledger =
			scene_ledger(fixture->topology, &fixture->policy);

		for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
			struct pod_spec *spec = burstable_pod(uids[i]);

			snprintf(spec->name, sizeof(spec->name), "same");
			assert_true(admit_and_free(ledger, spec).admitted);
		}
		assert_int_equal(ledger_begin(ledger), 0);
		assert_int_equal(ledger_set_state(ledger, uids[!running], POD_ENDING, ""), 0);
		ledger_commit(ledger);
		assert_string_equal(ledger_find_name(ledger, "test", "same")->spec->uid,
				    uids[running]);
		/* An ending pod is better than none. */
		assert_int_equal(ledger_begin(ledger), 0);
		assert_int_equal(ledger_remove(ledger, uids[running]), 0);
		ledger_commit(ledger);
		assert_string_equal(ledger_find_name(ledger, "test", "same")->spec->uid,
				    uids[!running]);
	}
}

/* Corrupt a valid ledger and verify that the check reports it. */
static void assert_unsound(struct ledger *ledger, const char *words)
{
	char error[256] = "";

	assert_int_equal(ledger_check(ledger, error, sizeof(error)), -EUCLEAN);
	if (!strstr(error, words))
		fail_msg("'%s' does not say '%s'", error, words);
}

static void check_sees_each_violation(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = fixture->ledger;
	struct ledger_pod *a, *b;

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);

	assert_int_equal(ledger_begin(ledger), 0);
	cpuset_add(ledger_edit_shared_pool(ledger), 1);
	assert_unsound(ledger, "granted exclusively");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	cpuset_remove(ledger_edit_shared_pool(ledger), 7);
	assert_unsound(ledger, "but pods may use");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	b = ledger_edit_pod(ledger, "b");
	b->grants[0].cpus = b->held = a->held;
	assert_unsound(ledger, "another pod");
	/* A kubelet of that version may do so. */
	fixture->policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	assert_sound(ledger);
	fixture->policy.compatibility = COMPATIBILITY_REPAIRED;
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	cpuset_add(ledger_pod_edit(a, a->held), 5);
	assert_unsound(ledger, "sum of its grants");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	a->spec->containers[0].request.cpu_mcpu = a->spec->containers[0].limit.cpu_mcpu = 3000;
	assert_unsound(ledger, "for 3000m");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	a->grants[0].isolation = ISOLATION_POD;
	assert_unsound(ledger, "pod's shared pool");
	ledger_abort(ledger);
	assert_sound(ledger);
}

/* The record of a pod must agree with its spec. */
static void check_sees_each_wrong_record(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = fixture->ledger;
	struct ledger_pod *a, *b;

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);

	assert_int_equal(ledger_begin(ledger), 0);
	ledger_edit_pod(ledger, "a")->nr_grants = 0;
	assert_unsound(ledger, "pod a has 0 grants for 1 containers");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	ledger_edit_pod(ledger, "a")->qos = QOS_BEST_EFFORT;
	assert_unsound(ledger, "recorded as BestEffort but its spec says Guaranteed");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	ledger_edit_pod(ledger, "a")->grants[0].container[0] = 'p';
	assert_unsound(ledger, "grant 0 is for container 'pain', not 'main'");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	ledger_edit_pod(ledger, "b")->grants[0].kind = CONTAINER_INIT;
	assert_unsound(ledger, "pod b: grant 0 is for container");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	ledger_edit_pod(ledger, "b")->grants[0].isolation = ISOLATION_NR;
	assert_unsound(ledger, "invalid isolation");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	ledger_edit_pod(ledger, "b")->grants[0].isolation = ISOLATION_HOST;
	assert_unsound(ledger, "isolation host, but it has 2 CPUs");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	ledger_edit_pod(ledger, "b")->grants[0].cpus = &cpuset_none;
	assert_unsound(ledger, "isolation container, but it has 0 CPUs");
	ledger_abort(ledger);

	/* Ascending by uid, without duplicates. The names are restored before abort needs them. */
	for (const char *uid = "cb"; *uid; uid++) {
		assert_int_equal(ledger_begin(ledger), 0);
		a = ledger_edit_pod(ledger, "a");
		a->spec->uid[0] = *uid;
		assert_unsound(ledger, "not ascending by uid at b");
		a->spec->uid[0] = 'a';
		ledger_abort(ledger);
	}

	/* "a" has 1 and 9; CPU 8 is reserved, CPU 77 does not exist. */
	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	b = ledger_edit_pod(ledger, "b");
	assert_cpus(a->held, "1,9");
	a->held = a->grants[0].cpus = set_of("1,8");
	assert_unsound(ledger, "pod a holds reserved CPUs");
	a->held = a->grants[0].cpus = set_of("1,9");
	b->held = b->grants[0].cpus = set_of("2,77");
	assert_unsound(ledger,
		       "pod b holds CPUs that pods may not use or that no longer exist: 77");
	ledger_abort(ledger);
	assert_sound(ledger);
}

/* Without a strict reservation pods run on reserved CPUs too, but never alone. */
static void check_sees_reserved_cpus_granted_or_lost(void **state)
{
	struct fixture *fixture = *state;
	struct policy policy = fixture->policy;
	struct ledger *ledger cleanup_ledger = NULL;
	struct ledger_pod *a;

	policy.cpu_options.strict_reservation = false;
	ledger = scene_ledger(fixture->topology, &policy);
	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);

	assert_int_equal(ledger_begin(ledger), 0);
	a = ledger_edit_pod(ledger, "a");
	a->held = a->grants[0].cpus = set_of("1,8");
	assert_unsound(ledger, "pod a holds reserved CPUs");
	ledger_abort(ledger);

	assert_int_equal(ledger_begin(ledger), 0);
	cpuset_remove(ledger_edit_shared_pool(ledger), 8);
	assert_unsound(ledger, "reserved CPUs are missing from the shared pool");
	ledger_abort(ledger);
	assert_sound(ledger);
}

/*
 * An ordinary init container ends before what follows it starts, so it borrows: what
 * later containers get, and the pod shared pool. Nobody else shares a CPU, except on
 * that pool.
 */
static void check_knows_who_may_share_a_cpu(void **state)
{
	static const struct {
		enum container_kind first_kind, second_kind;
		enum isolation first, second;
		bool may;
	} cases[] = {
		{CONTAINER_APP, CONTAINER_APP, ISOLATION_CONTAINER, ISOLATION_CONTAINER, false},
		{CONTAINER_APP, CONTAINER_APP, ISOLATION_CONTAINER, ISOLATION_POD, false},
		{CONTAINER_APP, CONTAINER_APP, ISOLATION_POD, ISOLATION_CONTAINER, false},
		{CONTAINER_APP, CONTAINER_APP, ISOLATION_POD, ISOLATION_POD, true},
		{CONTAINER_INIT, CONTAINER_APP, ISOLATION_CONTAINER, ISOLATION_CONTAINER, true},
		{CONTAINER_INIT, CONTAINER_SIDECAR, ISOLATION_CONTAINER, ISOLATION_POD, true},
		{CONTAINER_SIDECAR, CONTAINER_APP, ISOLATION_CONTAINER, ISOLATION_CONTAINER, false},
		{CONTAINER_SIDECAR, CONTAINER_INIT, ISOLATION_CONTAINER, ISOLATION_CONTAINER,
		 false},
		{CONTAINER_SIDECAR, CONTAINER_INIT, ISOLATION_CONTAINER, ISOLATION_POD, false},
		{CONTAINER_SIDECAR, CONTAINER_INIT, ISOLATION_POD, ISOLATION_CONTAINER, true},
		{CONTAINER_SIDECAR, CONTAINER_INIT, ISOLATION_POD, ISOLATION_POD, true},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_spec *spec cleanup_pod_spec = scene_pod("a");
		struct grant grants[2] = {
			{.container = "one",
			 .kind = cases[i].first_kind,
			 .isolation = cases[i].first,
			 .cpus = set_of("1")},
			{.container = "two",
			 .kind = cases[i].second_kind,
			 .isolation = cases[i].second,
			 .cpus = set_of("1")},
		};
		struct ledger_pod pod = {.spec = spec,
					 .has_bubble = true,
					 .bubble = set_of("1-2"),
					 .nr_grants = 2,
					 .grants = grants,
					 .held = set_of("1-2")};
		char error[256] = "";
		int r;

		add_container(spec, "one", grants[0].kind, 1000, 1000);
		add_container(spec, "two", grants[1].kind, 1000, 1000);
		set_budget(spec, 2);
		r = ledger_check_pod(ledger_cpu_manager(fixture->ledger), &pod, error,
				     sizeof(error));
		if (r != (cases[i].may ? 0 : -EUCLEAN))
			fail_msg("case %zu: %d, '%s'", i, r, error);
		if (!cases[i].may)
			assert_string_equal(error, "pod a: containers one and two share CPUs");
		/* Each of them alone is valid. */
		grants[1].cpus = set_of("2");
		assert_int_equal(ledger_check_pod(ledger_cpu_manager(fixture->ledger), &pod, error,
						  sizeof(error)),
				 0);
		/* The budget is the bubble, to the CPU. */
		pod.bubble = pod.held = set_of("1-3");
		assert_int_equal(ledger_check_pod(ledger_cpu_manager(fixture->ledger), &pod, error,
						  sizeof(error)),
				 -EUCLEAN);
		assert_string_equal(error, "pod a holds 3 CPUs for a budget of 2000m");
		/* Nothing else is held either, by any container. */
		pod.bubble = set_of("1-2");
		grants[1].cpus = set_of("3");
		assert_int_equal(ledger_check_pod(ledger_cpu_manager(fixture->ledger), &pod, error,
						  sizeof(error)),
				 -EUCLEAN);
		assert_string_equal(error, "pod a: what it holds is not the sum of its grants");
	}
}

/* What the CPUs are used for: disjoint, and together all that pods may use. */
static void cpus_are_counted_by_use(void **state)
{
	struct fixture *fixture = *state;
	struct policy policy = fixture->policy;
	struct ledger *ledger cleanup_ledger = NULL;
	struct pod_spec *spec = scene_pod("a");
	struct cpu_states states;

	policy.cpu_options.strict_reservation = false;
	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(fixture->topology, &policy);
	add_container(spec, "web", CONTAINER_APP, 500, 1000);
	add_container(spec, "own", CONTAINER_APP, 2000, 2000);
	set_budget(spec, 4);
	assert_true(admit_and_free(ledger, spec).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);
	assert_true(admit_and_free(ledger, burstable_pod("c")).admitted);

	ledger_cpu_states(ledger, &states);
	assert_cpus(&states.reserved, "0,8");
	assert_int_equal(cpuset_count(&states.exclusive), 4);
	assert_true(cpuset_is_subset(ledger_find(ledger, "b")->held, &states.exclusive));
	assert_true(cpuset_is_subset(ledger_find_grant(ledger_find(ledger, "a"), "own")->cpus,
				     &states.exclusive));
	assert_true(cpuset_equal(ledger_find_grant(ledger_find(ledger, "a"), "web")->cpus,
				 &states.pod_shared));
	assert_int_equal(cpuset_count(&states.pod_shared), 2);
	assert_int_equal(cpuset_count(&states.shared), 16 - 2 - 4 - 2);
	cpuset_union(&states.shared, &states.reserved);
	assert_true(cpuset_equal(&states.shared, ledger_shared_pool(ledger)));
	assert_int_equal(ledger_nr_host_containers(ledger), 1);
	assert_null(ledger_find_grant(ledger_find(ledger, "a"), "other"));
	assert_ptr_equal(ledger_effective(ledger, &ledger_find(ledger, "c")->grants[0]),
			 ledger_shared_pool(ledger));
	assert_true(cpuset_equal(ledger_effective(ledger, &ledger_find(ledger, "a")->grants[0]),
				 ledger_find(ledger, "a")->grants[0].cpus));
}

/* A ledger freed during a transaction frees both its records and those saved for abort. */
static void freed_in_the_middle_of_a_transaction(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = scene_ledger(fixture->topology, &fixture->policy);
	struct pod_spec *spec cleanup_pod_spec = burstable_pod("c");

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_true(admit_and_free(ledger, guaranteed_pod("b", 2)).admitted);
	assert_int_equal(ledger_begin(ledger), 0);
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	assert_int_equal(ledger_set_state(ledger, "b", POD_ENDING, NULL), 0);
	assert_non_null(ledger_new_pod(ledger, spec));
	ledger_free(ledger);
}

/* The creation fails with a message if one of the managers cannot start. */
static void creation_fails_without_its_managers(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = fixture->ledger;
	struct policy policy = fixture->policy;
	char error[256] = "";

	policy.memory = MEMORY_POLICY_STATIC;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0].node_id = 63;
	policy.memory_reservations[0].bytes = GIB;
	assert_int_equal(ledger_new(fixture->topology, &policy, error, sizeof(error), &ledger),
			 -EINVAL);
	assert_ptr_equal(ledger, fixture->ledger);
	assert_string_not_equal(error, "");
	policy = policy_default();
	policy.reserved_mcpu = 17000;
	assert_int_equal(ledger_new(fixture->topology, &policy, error, sizeof(error), &ledger),
			 -EINVAL);
	assert_ptr_equal(ledger, fixture->ledger);
	assert_string_equal(error,
			    "cannot reserve 17 CPUs of the 16 this machine offers; reserve fewer");
}

/* More pods than an initial allocation has room for, in random order, undone at once. */
static void many_pods_in_one_transaction(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = fixture->ledger;
	char uid[8];

	for (uint32_t i = 0; i < 70; i++) {
		snprintf(uid, sizeof(uid), "p%02u", i * 37 % 70);
		assert_true(admit_and_free(ledger, burstable_pod(uid)).admitted);
	}
	/* Changes alone, before anything has come or gone in a transaction as large. */
	assert_int_equal(ledger_begin(ledger), 0);
	for (uint32_t i = 0; i < 70; i++)
		assert_int_equal(ledger_set_state(ledger, ledger_pod_at(ledger, i)->spec->uid,
						  POD_ENDING, NULL),
				 0);
	ledger_abort(ledger);
	assert_int_equal(ledger_begin(ledger), 0);
	for (uint32_t i = 0; i < 70; i++) {
		struct pod_spec *spec cleanup_pod_spec = NULL;

		snprintf(uid, sizeof(uid), "p%02u", i * 11 % 70);
		assert_int_equal(ledger_set_state(ledger, uid, POD_ENDING, "it ends"), 0);
		assert_int_equal(ledger_remove(ledger, uid), 0);
		snprintf(uid, sizeof(uid), "q%02u", i * 11 % 70);
		spec = burstable_pod(uid);
		assert_non_null(ledger_new_pod(ledger, spec));
		assert_null(ledger_new_pod(ledger, spec));
	}
	assert_sound(ledger);
	ledger_abort(ledger);
	assert_int_equal(ledger_nr_pods(ledger), 70);
	for (uint32_t i = 0; i < 70; i++) {
		snprintf(uid, sizeof(uid), "p%02u", i);
		assert_string_equal(ledger_pod_at(ledger, i)->spec->uid, uid);
		assert_int_equal(ledger_pod_at(ledger, i)->state, POD_RUNNING);
	}
	assert_sound(ledger);
}

/* A change outside a transaction runs in its own: it is done completely or not at all. */
static void single_change_is_a_transaction(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger = fixture->ledger;
	char error[256];

	assert_true(admit_and_free(ledger, guaranteed_pod("a", 2)).admitted);
	assert_int_equal(ledger_set_state(ledger, "a", POD_ENDING, "dropped"), 0);
	assert_string_equal(ledger_find(ledger, "a")->detail, "dropped");
	assert_int_equal(ledger_set_state(ledger, "a", POD_ENDING, NULL), 0);
	assert_string_equal(ledger_find(ledger, "a")->detail, "");
	assert_int_equal(ledger_set_state(ledger, "b", POD_ENDING, NULL), -ENOENT);
	assert_int_equal(ledger_remove(ledger, "b"), -ENOENT);
	assert_int_equal(ledger_restore(ledger, ledger_find(ledger, "a"), error, sizeof(error)),
			 -EEXIST);
	/* None of these transactions is still open, and there is nothing to abort. */
	ledger_abort(ledger);
	assert_int_equal(ledger_find(ledger, "a")->state, POD_ENDING);
	assert_int_equal(ledger_begin(ledger), 0);
	/* Inside a transaction, a failure does not affect the other changes. */
	assert_null(ledger_edit_pod(ledger, "0"));
	assert_null(ledger_edit_pod(ledger, "b"));
	assert_int_equal(ledger_remove(ledger, "a"), 0);
	assert_int_equal(ledger_remove(ledger, "a"), -ENOENT);
	assert_int_equal(ledger_begin(ledger), -EBUSY);
	ledger_abort(ledger);
	assert_non_null(ledger_find(ledger, "a"));
}

/*
 * The kubelet takes a core of uneven size whole, also where only a part of it is
 * the pod's: kept on purpose in its mode, so a restart must keep such a pod too.
 */
static void kubelet_slices_outside_the_bubble_survive_a_restart(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *ledger cleanup_ledger = NULL, *again cleanup_ledger = NULL;
	struct policy policy = fixture->policy;
	struct pod_spec *spec = guaranteed_pod("a", 2);
	struct ledger_pod *pod;
	char error[256] = "";

	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	set_budget(spec, 4);
	ledger = scene_ledger(fixture->topology, &policy);
	assert_true(admit_and_free(ledger, spec).admitted);
	assert_int_equal(ledger_begin(ledger), 0);
	pod = ledger_edit_pod(ledger, "a");
	assert_cpus(pod->bubble, "1-2,9-10");
	pod->grants[0].cpus = set_of("2-3");
	assert_sound(ledger);
	again = scene_ledger(fixture->topology, &policy);
	assert_int_equal(ledger_restore(again, pod, error, sizeof(error)), 0);
	assert_cpus(ledger_find(again, "a")->grants[0].cpus, "2-3");
	assert_cpus(ledger_find(again, "a")->held, "1-2,9-10");

	policy.compatibility = COMPATIBILITY_REPAIRED;
	assert_unsound(ledger, "does not hold");
	ledger_abort(ledger);
}

/*
 * In the kubelet's mode the record of a pod is not checked, so a file may give it CPUs that
 * no pod can get. The message then says that nobody holds them.
 */
static void cpus_of_no_pod_are_not_restored(void **state)
{
	struct fixture *fixture = *state;
	struct ledger *again cleanup_ledger = NULL;
	struct policy policy = fixture->policy;
	struct ledger_pod pod;
	struct grant grant;
	char error[256] = "";

	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	assert_true(admit_and_free(fixture->ledger, guaranteed_pod("a", 2)).admitted);
	pod = *ledger_find(fixture->ledger, "a");
	grant = pod.grants[0];
	grant.cpus = set_of("0-1");
	pod.grants = &grant;
	again = scene_ledger(fixture->topology, &policy);
	assert_int_equal(ledger_restore(again, &pod, error, sizeof(error)), -EINVAL);
	assert_string_equal(error, "pod a held CPU 0, which is not free now; holder: none, the CPU "
				   "is reserved or does not exist");
	assert_int_equal(ledger_nr_pods(again), 0);
}

static void names_are_complete(void **state)
{
	for (int i = 0; i < ISOLATION_NR; i++)
		assert_non_null(isolation_name(i));
	for (int i = 0; i < POD_STATE_NR; i++)
		assert_non_null(pod_state_name(i));
	for (int i = 0; i < CPU_RESULT_NR; i++)
		assert_non_null(cpu_result_name(i));
	for (int i = 0; i < CPU_STATE_PROBLEM_NR; i++)
		assert_non_null(cpu_state_problem_name(i));
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(starts_with_everything_shared),
		with_fixture(reserved_by_count),
		with_fixture(abort_restores),
		with_fixture(removal_releases),
		with_fixture(restores_what_was_decided),
		with_fixture(only_exclusive_containers_have_a_baseline),
		with_fixture(refuses_to_restore_invalid_pods),
		with_fixture(kubelet_slices_outside_the_bubble_survive_a_restart),
		with_fixture(cpus_of_no_pod_are_not_restored),
		with_fixture(finds_by_name),
		with_fixture(running_pod_is_found_by_name),
		with_fixture(check_sees_each_violation),
		with_fixture(check_sees_each_wrong_record),
		with_fixture(check_sees_reserved_cpus_granted_or_lost),
		with_fixture(check_knows_who_may_share_a_cpu),
		with_fixture(cpus_are_counted_by_use),
		with_fixture(freed_in_the_middle_of_a_transaction),
		with_fixture(creation_fails_without_its_managers),
		with_fixture(many_pods_in_one_transaction),
		with_fixture(single_change_is_a_transaction),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
