// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Pods that are aligned as a whole, and whose containers become known one by one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/admit/container.h"
#include "ledger_fixture.h"

/* Two nodes, 0 to 7 and 8 to 15; CPU 0 is reserved. */
static void set_up(struct fixture *fixture)
{
	fixture->topology = scene_machine(2, 1, 8, 1);
	fixture->policy = strict_policy("0");
	fixture->policy.align = ALIGN_SINGLE_NUMA_NODE;
	fixture->policy.scope = ALIGN_SCOPE_POD;
	fixture->ledger = scene_ledger(fixture->topology, &fixture->policy);
}

/* A budget of 0 = the pod has no pod-level resources. */
static struct pod_spec pod_of(const char *uid, int64_t budget_mcpu)
{
	struct pod_spec spec = {.is_of_runtime = true, .stated_qos = QOS_GUARANTEED};

	snprintf(spec.uid, sizeof(spec.uid), "%s", uid);
	snprintf(spec.name, sizeof(spec.name), "%s", uid);
	snprintf(spec.namespace, sizeof(spec.namespace), "test");
	spec.request = spec.limit = spec.overhead = RESOURCES_UNSET;
	if (!budget_mcpu)
		return spec;
	spec.has_pod_resources = true;
	spec.request.cpu_mcpu = spec.limit.cpu_mcpu = budget_mcpu;
	spec.request.memory_bytes = spec.limit.memory_bytes = GIB;
	return spec;
}

/* 0 = it states nothing, and shares. */
static struct container_spec container_of(const char *name, enum container_kind kind, int64_t mcpu)
{
	struct container_spec container = {.kind = kind};

	snprintf(container.name, sizeof(container.name), "%s", name);
	container.request = container.limit = RESOURCES_UNSET;
	if (!mcpu)
		return container;
	container.request.cpu_mcpu = container.limit.cpu_mcpu = mcpu;
	container.request.memory_bytes = container.limit.memory_bytes = GIB / 4;
	return container;
}

struct asked {
	const char *uid;
	int64_t budget_mcpu;
	const char *name;
	enum container_kind kind;
	int64_t mcpu;
};

static struct decision decide(struct fixture *fixture, const struct asked *asked)
{
	const struct pod_spec pod = pod_of(asked->uid, asked->budget_mcpu);
	const struct container_spec container = container_of(asked->name, asked->kind, asked->mcpu);
	struct decision decision;

	assert_int_equal(container_prepare(fixture->ledger, &pod, &container, &decision), 0);
	if (decision.admitted)
		ledger_commit(fixture->ledger);
	assert_sound(fixture->ledger);
	return decision;
}

#define CREATE(uid, budget, name, kind, mcpu) \
	decide(&fixture, &(struct asked){uid, budget, name, kind, mcpu})

static void assert_holds(const struct fixture *fixture, const char *uid, const char *name,
			 const char *list)
{
	const struct grant *grant = ledger_find_grant(ledger_find(fixture->ledger, uid), name);

	assert_non_null(grant);
	assert_cpus(ledger_effective(fixture->ledger, grant), list);
}

/* The budget is taken for the first container, on one node, and each later one finds its part there. */
static void a_budget_is_one_bubble_for_all_containers(void **state)
{
	FIXTURE(fixture);

	assert_true(CREATE("other", 0, "one", CONTAINER_APP, 3000).admitted);
	assert_holds(&fixture, "other", "one", "1-3");
	assert_true(CREATE("a", 6000, "init", CONTAINER_INIT, 0).admitted);
	assert_cpus(ledger_find(fixture.ledger, "a")->bubble, "8-13");
	assert_holds(&fixture, "a", "init", "8-13");
	assert_true(CREATE("a", 6000, "mesh", CONTAINER_SIDECAR, 0).admitted);
	assert_holds(&fixture, "a", "mesh", "8-13");
	assert_true(CREATE("a", 6000, "db", CONTAINER_APP, 4000).admitted);
	assert_holds(&fixture, "a", "db", "8-11");
	assert_holds(&fixture, "a", "mesh", "12-13");
	assert_true(CREATE("a", 6000, "log", CONTAINER_APP, 0).admitted);
	assert_holds(&fixture, "a", "log", "12-13");
	assert_holds(&fixture, "other", "one", "1-3");
	assert_cpus(ledger_shared_pool(fixture.ledger), "4-7,14-15");
}

static void an_exclusive_container_may_be_the_first(void **state)
{
	FIXTURE(fixture);

	assert_true(CREATE("a", 4000, "side", CONTAINER_SIDECAR, 1000).admitted);
	assert_holds(&fixture, "a", "side", "1");
	assert_cpus(ledger_find(fixture.ledger, "a")->bubble, "1-4");
	/* An init container borrows, and leaves the sidecar alone. */
	assert_true(CREATE("a", 4000, "init", CONTAINER_INIT, 3000).admitted);
	assert_holds(&fixture, "a", "init", "2-4");
	assert_true(CREATE("a", 4000, "db", CONTAINER_APP, 2000).admitted);
	assert_holds(&fixture, "a", "db", "2-3");
	assert_true(CREATE("a", 4000, "log", CONTAINER_APP, 0).admitted);
	assert_holds(&fixture, "a", "log", "4");
}

static void more_than_the_budget_is_refused_with_numbers(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	CREATE("a", 4000, "log", CONTAINER_APP, 0);
	decision = CREATE("a", 4000, "db", CONTAINER_APP, 6000);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_POD_BUDGET);
	assert_string_equal(decision.container, "db");
	assert_non_null(strstr(decision.message, "the pod's budget of 4 has 4 left for it"));
	/* One CPU stays for those that share. */
	decision = CREATE("a", 4000, "db", CONTAINER_APP, 4000);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_EMPTY_SHARED_POOL);
	assert_true(CREATE("a", 4000, "db", CONTAINER_APP, 3000).admitted);
	assert_holds(&fixture, "a", "log", "4");
	/* Nor does one that comes later find the slices of others. */
	assert_true(CREATE("b", 2000, "db", CONTAINER_APP, 2000).admitted);
	assert_false(CREATE("b", 2000, "log", CONTAINER_APP, 0).admitted);
}

static void a_budget_that_no_node_has_is_refused(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	decision = CREATE("a", 9000, "log", CONTAINER_APP, 0);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_null(ledger_find(fixture.ledger, "a"));
	assert_cpus(ledger_shared_pool(fixture.ledger), "1-15");
}

/* A kubelet gives such a pod no CPUs of its own either. */
static void a_budget_of_no_whole_cpus_makes_no_bubble(void **state)
{
	FIXTURE(fixture);

	assert_true(CREATE("a", 3500, "db", CONTAINER_APP, 2000).admitted);
	assert_holds(&fixture, "a", "db", "1-15");
	assert_false(ledger_find(fixture.ledger, "a")->has_bubble);
}

static void slices_return_to_the_pod_and_the_bubble_to_the_node(void **state)
{
	FIXTURE(fixture);

	CREATE("a", 4000, "log", CONTAINER_APP, 0);
	CREATE("a", 4000, "db", CONTAINER_APP, 2000);
	assert_holds(&fixture, "a", "log", "3-4");
	assert_int_equal(container_release(fixture.ledger, "a", "db"), 0);
	assert_sound(fixture.ledger);
	assert_holds(&fixture, "a", "log", "1-4");
	assert_int_equal(container_release(fixture.ledger, "a", "log"), 0);
	assert_cpus(ledger_shared_pool(fixture.ledger), "1-15");
}

static void a_slice_is_resized_within_the_bubble(void **state)
{
	const struct container_spec more = container_of("db", CONTAINER_APP, 3000);
	const struct container_spec most = container_of("db", CONTAINER_APP, 4000);
	struct decision decision;
	FIXTURE(fixture);

	CREATE("a", 4000, "log", CONTAINER_APP, 0);
	CREATE("a", 4000, "db", CONTAINER_APP, 2000);
	assert_int_equal(container_prepare_resize(fixture.ledger, "a", &more, &decision), 0);
	assert_true(decision.admitted);
	ledger_commit(fixture.ledger);
	assert_holds(&fixture, "a", "db", "1-3");
	assert_holds(&fixture, "a", "log", "4");
	assert_int_equal(container_prepare_resize(fixture.ledger, "a", &most, &decision), 0);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_EMPTY_SHARED_POOL);
}

/* Whoever could not be in its bubble shares with the node, and is decided again. */
static void one_that_had_to_share_gets_its_bubble_later(void **state)
{
	const struct pod_spec pod = pod_of("a", 8000);
	const struct container_spec log = container_of("log", CONTAINER_APP, 0);
	FIXTURE(fixture);

	CREATE("other", 0, "one", CONTAINER_APP, 1000);
	CREATE("third", 0, "one", CONTAINER_APP, 7000);
	assert_holds(&fixture, "third", "one", "8-14");
	assert_false(CREATE("a", 8000, "log", CONTAINER_APP, 0).admitted);
	assert_int_equal(container_prepare_shared(fixture.ledger, &pod, &log), 0);
	ledger_commit(fixture.ledger);
	assert_holds(&fixture, "a", "log", "2-7,15");
	assert_int_equal(ledger_remove(fixture.ledger, "third"), 0);
	assert_true(CREATE("a", 8000, "log", CONTAINER_APP, 0).admitted);
	assert_holds(&fixture, "a", "log", "8-15");
}

static int prepare_as(struct fixture *fixture, const struct asked *asked, const char *cpus,
		      const char *pod_cpus)
{
	const struct pod_spec pod = pod_of(asked->uid, asked->budget_mcpu);
	const struct container_spec container = container_of(asked->name, asked->kind, asked->mcpu);
	int r = container_prepare_as(fixture->ledger, &pod, &container,
				     &(struct container_found){.cpus = cpus_of(cpus),
							       .pod_cpus = cpus_of(pod_cpus)});

	if (!r)
		ledger_commit(fixture->ledger);
	assert_sound(fixture->ledger);
	return r;
}

static void a_bubble_is_made_of_what_its_containers_have(void **state)
{
	const struct asked db = {"a", 4000, "db", CONTAINER_APP, 2000};
	const struct asked log = {"a", 4000, "log", CONTAINER_APP, 0};
	FIXTURE(fixture);

	/* Not what the whole node shares, and not what somebody else has. */
	assert_int_equal(prepare_as(&fixture, &log, "1-15", "1-15"), -ENOTSUP);
	CREATE("other", 0, "one", CONTAINER_APP, 1000);
	assert_int_equal(prepare_as(&fixture, &log, "1-4", "1-4"), -ENOTSUP);
	assert_null(ledger_find(fixture.ledger, "a"));
	assert_int_equal(prepare_as(&fixture, &db, "10-11", "10-13"), 0);
	assert_int_equal(prepare_as(&fixture, &log, "12-13", "10-13"), 0);
	assert_holds(&fixture, "a", "db", "10-11");
	assert_holds(&fixture, "a", "log", "12-13");
	assert_cpus(ledger_find(fixture.ledger, "a")->bubble, "10-13");
}

/* Only one with its own slice runs: the others of the budget are near it. */
static void a_bubble_grows_to_its_budget(void **state)
{
	const struct asked db = {"a", 4000, "db", CONTAINER_APP, 2000};
	FIXTURE(fixture);

	assert_int_equal(prepare_as(&fixture, &db, "10-11", "10-11"), 0);
	assert_holds(&fixture, "a", "db", "10-11");
	assert_int_equal(cpuset_count(ledger_find(fixture.ledger, "a")->bubble), 4);
	assert_true(cpuset_is_subset(ledger_find(fixture.ledger, "a")->bubble, set_of("8-15")));
}

/* Without a budget the first container does not know of the others, but those follow it. */
static void containers_of_a_pod_stay_on_its_node(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	assert_true(CREATE("a", 0, "one", CONTAINER_APP, 4000).admitted);
	assert_holds(&fixture, "a", "one", "1-4");
	decision = CREATE("a", 0, "two", CONTAINER_APP, 4000);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_non_null(
		strstr(decision.message,
		       "the pod asks for 8 exclusive CPUs, but a pod that runs keeps the NUMA "
		       "nodes of its 4 CPUs, and 0 has 3 more free"));
	assert_true(CREATE("a", 0, "two", CONTAINER_APP, 3000).admitted);
	assert_holds(&fixture, "a", "two", "5-7");
	assert_true(CREATE("b", 0, "init", CONTAINER_INIT, 6000).admitted);
	assert_true(CREATE("b", 0, "main", CONTAINER_APP, 8000).admitted);
	assert_holds(&fixture, "b", "main", "8-15");
}

/* As after a restart of the agent with another scope: what a container has is neither lost nor moved. */
static void a_pod_that_has_cpus_gets_no_bubble(void **state)
{
	FIXTURE(fixture);

	fixture.policy.scope = ALIGN_SCOPE_CONTAINER;
	assert_true(CREATE("a", 6000, "db", CONTAINER_APP, 4000).admitted);
	assert_true(CREATE("a", 6000, "log", CONTAINER_APP, 0).admitted);
	assert_holds(&fixture, "a", "db", "1-4");
	fixture.policy.scope = ALIGN_SCOPE_POD;
	assert_true(CREATE("a", 6000, "log", CONTAINER_APP, 0).admitted);
	assert_true(CREATE("a", 6000, "web", CONTAINER_APP, 2000).admitted);
	assert_holds(&fixture, "a", "db", "1-4");
	assert_holds(&fixture, "a", "web", "5-6");
	assert_holds(&fixture, "a", "log", "7-15");
	assert_int_equal(container_release(fixture.ledger, "a", "web"), 0);
	assert_cpus(ledger_shared_pool(fixture.ledger), "5-15");
	/* When it holds nothing any more, it begins anew. */
	assert_int_equal(container_release(fixture.ledger, "a", "db"), 0);
	assert_true(CREATE("a", 6000, "db", CONTAINER_APP, 4000).admitted);
	assert_cpus(ledger_find(fixture.ledger, "a")->bubble, "1-6");
	assert_holds(&fixture, "a", "log", "7-15");
	assert_true(CREATE("a", 6000, "log", CONTAINER_APP, 0).admitted);
	assert_holds(&fixture, "a", "log", "5-6");
	assert_int_equal(ledger_remove(fixture.ledger, "a"), 0);
	assert_cpus(ledger_shared_pool(fixture.ledger), "1-15");
}

/* Nor is it adopted into one. */
static void a_pod_that_has_cpus_is_not_adopted_as_a_whole(void **state)
{
	const struct asked log = {"a", 6000, "log", CONTAINER_APP, 0};
	FIXTURE(fixture);

	fixture.policy.scope = ALIGN_SCOPE_CONTAINER;
	CREATE("a", 6000, "db", CONTAINER_APP, 4000);
	fixture.policy.scope = ALIGN_SCOPE_POD;
	assert_int_equal(prepare_as(&fixture, &log, "8-9", "8-9"), -ENOTSUP);
	assert_holds(&fixture, "a", "db", "1-4");
	assert_cpus(ledger_find(fixture.ledger, "a")->held, "1-4");
}

static void share(struct fixture *fixture, const struct asked *asked)
{
	const struct pod_spec pod = pod_of(asked->uid, asked->budget_mcpu);
	const struct container_spec container = container_of(asked->name, asked->kind, asked->mcpu);

	assert_int_equal(container_prepare_shared(fixture->ledger, &pod, &container), 0);
	ledger_commit(fixture->ledger);
	assert_sound(fixture->ledger);
}

/* It shares with the node, and uses nothing of the budget. */
static void a_refused_container_takes_nothing_from_the_others(void **state)
{
	const struct container_spec more = container_of("db", CONTAINER_APP, 3000);
	struct decision decision;
	FIXTURE(fixture);

	assert_true(CREATE("a", 4000, "db", CONTAINER_APP, 2000).admitted);
	assert_false(CREATE("a", 4000, "big", CONTAINER_APP, 4000).admitted);
	share(&fixture, &(struct asked){"a", 4000, "big", CONTAINER_APP, 4000});
	assert_true(CREATE("a", 4000, "log", CONTAINER_APP, 0).admitted);
	assert_holds(&fixture, "a", "log", "3-4");
	assert_holds(&fixture, "a", "big", "5-15");
	assert_int_equal(container_prepare_resize(fixture.ledger, "a", &more, &decision), 0);
	assert_true(decision.admitted);
	ledger_commit(fixture.ledger);
	assert_holds(&fixture, "a", "db", "1-3");
	assert_holds(&fixture, "a", "log", "4");
}

/* Nobody is put on CPUs of the budget that are all offline. */
static void offline_cpus_of_a_bubble_are_given_to_nobody(void **state)
{
	struct decision decision;
	FIXTURE(fixture);

	assert_true(CREATE("a", 4000, "db", CONTAINER_APP, 2000).admitted);
	ledger_set_offline(fixture.ledger, set_of("3-4"));
	decision = CREATE("a", 4000, "log", CONTAINER_APP, 0);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_EMPTY_SHARED_POOL);
	assert_string_equal(decision.message,
			    "2 of the 4 CPUs of the pod's budget are offline, and its exclusive "
			    "containers leave none of the others for its other containers");
	decision = CREATE("a", 4000, "web", CONTAINER_APP, 1000);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, REFUSAL_POD_BUDGET);
	assert_non_null(strstr(decision.message, "has 0 left for it"));
	ledger_set_offline(fixture.ledger, set_of("3"));
	assert_true(CREATE("a", 4000, "log", CONTAINER_APP, 0).admitted);
	assert_holds(&fixture, "a", "log", "3-4");
	/* It would take the last one that is online. */
	assert_int_equal(CREATE("a", 4000, "web", CONTAINER_APP, 1000).refusal,
			 REFUSAL_EMPTY_SHARED_POOL);
	/* What is offline already for others is no reason. */
	ledger_set_offline(fixture.ledger, set_of("3-4"));
	assert_true(CREATE("a", 4000, "init", CONTAINER_INIT, 2000).admitted);
	assert_holds(&fixture, "a", "init", "1-2");
}

/* The first one said nothing of a budget, and got nothing of its own. */
static void a_later_container_may_tell_the_budget(void **state)
{
	FIXTURE(fixture);

	assert_true(CREATE("a", 0, "log", CONTAINER_APP, 0).admitted);
	assert_true(CREATE("a", 4000, "db", CONTAINER_APP, 2000).admitted);
	assert_holds(&fixture, "a", "db", "1-2");
	assert_cpus(ledger_find(fixture.ledger, "a")->bubble, "1-4");
	/* What is known is not changed by another one. */
	assert_true(CREATE("a", 6000, "web", CONTAINER_APP, 1000).admitted);
	assert_int_equal(ledger_find(fixture.ledger, "a")->spec->request.cpu_mcpu, 4000);
}

/* A container that was refused does not get the place of another one that returns. */
static void who_returns_comes_before_who_was_refused(void **state)
{
	FIXTURE(fixture);

	assert_true(CREATE("a", 4000, "db", CONTAINER_APP, 2000).admitted);
	assert_false(CREATE("a", 4000, "big", CONTAINER_APP, 4000).admitted);
	share(&fixture, &(struct asked){"a", 4000, "big", CONTAINER_APP, 4000});
	assert_int_equal(container_release(fixture.ledger, "a", "db"), 0);
	assert_cpus(ledger_shared_pool(fixture.ledger), "1-15");
	assert_true(CREATE("a", 4000, "db", CONTAINER_APP, 2000).admitted);
	assert_holds(&fixture, "a", "db", "1-2");
	assert_cpus(ledger_find(fixture.ledger, "a")->bubble, "1-4");
	assert_holds(&fixture, "a", "big", "5-15");
	assert_false(CREATE("a", 4000, "big", CONTAINER_APP, 4000).admitted);
	assert_true(CREATE("a", 4000, "log", CONTAINER_APP, 0).admitted);
	assert_holds(&fixture, "a", "log", "3-4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_budget_is_one_bubble_for_all_containers),
		cmocka_unit_test(an_exclusive_container_may_be_the_first),
		cmocka_unit_test(more_than_the_budget_is_refused_with_numbers),
		cmocka_unit_test(a_budget_that_no_node_has_is_refused),
		cmocka_unit_test(a_budget_of_no_whole_cpus_makes_no_bubble),
		cmocka_unit_test(slices_return_to_the_pod_and_the_bubble_to_the_node),
		cmocka_unit_test(a_slice_is_resized_within_the_bubble),
		cmocka_unit_test(one_that_had_to_share_gets_its_bubble_later),
		cmocka_unit_test(a_bubble_is_made_of_what_its_containers_have),
		cmocka_unit_test(a_bubble_grows_to_its_budget),
		cmocka_unit_test(containers_of_a_pod_stay_on_its_node),
		cmocka_unit_test(a_refused_container_takes_nothing_from_the_others),
		cmocka_unit_test(who_returns_comes_before_who_was_refused),
		cmocka_unit_test(a_later_container_may_tell_the_budget),
		cmocka_unit_test(offline_cpus_of_a_bubble_are_given_to_nobody),
		cmocka_unit_test(a_pod_that_has_cpus_gets_no_bubble),
		cmocka_unit_test(a_pod_that_has_cpus_is_not_adopted_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
