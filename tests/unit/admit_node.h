/* SPDX-License-Identifier: Apache-2.0 */
/* A node with a ledger for tests of admission, and what they assert of a grant and a refusal. */
#ifndef ADMIT_NODE_H
#define ADMIT_NODE_H

#include "scene.h"

struct node {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

static inline void free_node(struct node *node)
{
	ledger_free(node->ledger);
	topology_free(node->topology);
	free(node);
}
DEFINE_CLEANUP(struct node, free_nodep, free_node);
#define cleanup_node cleanup(free_nodep)

static inline struct node *make_node(struct topology *topology, struct policy policy)
{
	struct node *node = calloc(1, sizeof(*node));

	assert_non_null(node);
	node->topology = topology;
	node->policy = policy;
	node->ledger = scene_ledger(topology, &node->policy);
	return node;
}

/* 8 CPUs: cores 0/4 1/5 2/6 3/7, one node, CPU 0 and 4 reserved. */
static inline struct node *small_node(void)
{
	return make_node(scene_machine(1, 1, 4, 2), strict_policy("0,4"));
}

static inline const struct grant *grant_of(const struct node *node, const char *uid,
					   const char *name)
{
	const struct ledger_pod *pod = ledger_find(node->ledger, uid);

	assert_non_null(pod);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!strcmp(pod->grants[i].container, name))
			return &pod->grants[i];
	}
	fail_msg("no container %s", name);
	return NULL;
}

static inline void assert_grant(const struct node *node, const char *uid, const char *name,
				enum isolation isolation, const char *cpus)
{
	const struct grant *grant = grant_of(node, uid, name);

	assert_int_equal(grant->isolation, isolation);
	assert_cpus(grant->cpus, cpus);
}

/*
 * The pod is refused, nothing changes, and the suggestion is of this kind and works when
 * applied.
 */
static inline void assert_refused(struct node *node, struct pod_spec *spec, enum refusal refusal,
				  const char *reason, enum change_kind kind)
{
	struct cpuset before = *ledger_shared_pool(node->ledger);
	uint32_t nr_before = ledger_nr_pods(node->ledger);
	struct decision decision;

	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	assert_false(decision.admitted);
	assert_int_equal(decision.refusal, refusal);
	assert_string_equal(decision.reason, reason);
	assert_true(decision.message[0]);
	assert_true(cpuset_equal(ledger_shared_pool(node->ledger), &before));
	assert_int_equal(ledger_nr_pods(node->ledger), nr_before);
	assert_sound(node->ledger);
	assert_int_equal(decision.change.kind, kind);
	assert_int_equal(decision.suggestion[0] != 0, kind != CHANGE_NONE);
	if (kind == CHANGE_NONE)
		return;
	if (kind == CHANGE_POD_LEAVES)
		assert_int_equal(ledger_remove(node->ledger, decision.change.uid), 0);
	change_apply(&decision.change, spec);
	assert_int_equal(admit_pod(node->ledger, spec, &decision), 0);
	if (!decision.admitted)
		fail_msg("suggestion did not work: %s", decision.message);
	assert_sound(node->ledger);
}

#endif
