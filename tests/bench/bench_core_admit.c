// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Cost of deciding on a whole pod, and of the plan that follows. Each admission
 * is prepared and aborted, so that all calls meet the same, half used node.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "core/admit/admit.h"
#include "core/plan/plan.h"

struct node {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

struct admit_case {
	struct node *node;
	struct pod_spec *spec;
	bool admitted; /* what must come out */
};

static void die(const char *what)
{
	fprintf(stderr, "bench_core_admit: %s\n", what);
	exit(1);
}

/* Two threads per core, numbered n and n + nr_cpus / 2; every node is a socket. */
static struct topology *make_topology(unsigned int nr_cpus, unsigned int nr_nodes)
{
	struct topology_cpu *cpus = calloc(nr_cpus, sizeof(*cpus));
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr_cpus,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "out of memory";

	for (unsigned int i = 0; cpus && i < nr_cpus; i++) {
		unsigned int core = i % (nr_cpus / 2), node = core / (nr_cpus / 2 / nr_nodes);

		cpus[i] = (struct topology_cpu){i, core, node, node, node};
	}
	if (!cpus || topology_new(&facts, error, sizeof(error), &topology))
		die(error);
	free(cpus);
	return topology;
}

static void add_container(struct pod_spec *spec, enum container_kind kind, int64_t mcpu)
{
	struct container_spec *container = &spec->containers[spec->nr_containers];

	*container = (struct container_spec){
		.kind = kind, .request = RESOURCES_UNSET, .limit = RESOURCES_UNSET};
	snprintf(container->name, sizeof(container->name), "c%u", spec->nr_containers++);
	container->request.cpu_mcpu = container->limit.cpu_mcpu = mcpu;
	container->request.memory_bytes = container->limit.memory_bytes = 1 << 30;
}

/* An init container, a sidecar and two app containers, all exclusive; and a shared one. */
static struct pod_spec *make_pod(const char *uid, int64_t cpus)
{
	struct pod_spec *spec = calloc(1, sizeof(*spec));

	if (!spec)
		die("no memory");
	snprintf(spec->uid, sizeof(spec->uid), "%s", uid);
	snprintf(spec->name, sizeof(spec->name), "%s", uid);
	spec->request = spec->limit = spec->overhead = RESOURCES_UNSET;
	spec->containers = calloc(8, sizeof(*spec->containers));
	if (!spec->containers)
		die("no memory");
	add_container(spec, CONTAINER_INIT, cpus * 1000);
	add_container(spec, CONTAINER_SIDECAR, 1000);
	add_container(spec, CONTAINER_APP, cpus * 1000);
	add_container(spec, CONTAINER_APP, 2000);
	add_container(spec, CONTAINER_APP, 500);
	return spec;
}

static void make_node(unsigned int nr_cpus, unsigned int nr_nodes, unsigned int nr_pods,
		      struct policy policy, struct node *ret_node)
{
	struct decision decision;
	char error[256], uid[32];

	*ret_node = (struct node){.topology = make_topology(nr_cpus, nr_nodes), .policy = policy};
	ret_node->policy.reserved_mcpu = 4000;
	if (ledger_new(ret_node->topology, &ret_node->policy, error, sizeof(error),
		       &ret_node->ledger))
		die(error);
	for (unsigned int i = 0; i < nr_pods; i++) {
		struct pod_spec *spec cleanup_pod_spec = NULL;

		snprintf(uid, sizeof(uid), "there-%04u", i);
		spec = make_pod(uid, 1);
		if (admit_pod(ret_node->ledger, spec, &decision) || !decision.admitted)
			die(decision.message);
	}
}

static void fini_node(struct node *node)
{
	ledger_free(node->ledger);
	topology_free(node->topology);
}

static void call_admit(void *arg)
{
	struct admit_case *this = arg;
	struct decision decision;

	if (admit_prepare(this->node->ledger, this->spec, &decision))
		die("an admission is an error");
	if (decision.admitted != this->admitted)
		die(decision.message);
	ledger_abort(this->node->ledger);
}

static void bench_admit(const char *name, const char *params, struct node *node, int64_t cpus,
			bool admitted)
{
	struct pod_spec *spec cleanup_pod_spec = make_pod("new", cpus);
	struct admit_case this = {node, spec, admitted};

	bench_run(name, params, call_admit, &this);
}

struct explain_case {
	struct node *node;
	const char *uid;
	struct trace traces[8];
};

static void call_explain(void *arg)
{
	struct explain_case *this = arg;
	bool is_same;

	if (trace_grant(this->node->ledger, this->uid, this->traces, &is_same))
		die("an explanation is an error");
	if (!this->traces[2].is_aligned)
		die("an explanation has no hints");
}

static void bench_explain(const char *name, const char *params, struct node *node)
{
	static struct explain_case this;

	this.node = node;
	this.uid = "there-0011";
	bench_run(name, params, call_explain, &this);
}

struct plan_case {
	const struct ledger *ledger;
	struct group_tree observed;
};

static const struct plan_layout layout = {.root = "pinfold.slice", .root_partition = true};

static void call_plan(void *arg)
{
	struct plan_case *this = arg;
	struct group_tree desired = {0};
	struct plan plan = {0};

	if (plan_desired(this->ledger, &layout, NULL, &desired) ||
	    plan_make(&desired, &this->observed, &plan))
		die("a plan is an error");
	if (!plan.nr_steps)
		die("a plan for a new pod has no step");
	plan_fini(&plan);
	group_tree_fini(&desired);
}

/* One pod more on a node with 250: every shared container's list changes. */
static void bench_plan(void)
{
	struct policy policy = policy_default();
	struct plan_case this = {0};
	struct decision decision;
	struct pod_spec *spec cleanup_pod_spec = make_pod("new", 8);
	struct node node;

	make_node(1024, 8, 200, policy, &node);
	if (plan_desired(node.ledger, &layout, NULL, &this.observed))
		die("no tree");
	this.ledger = node.ledger;
	if (admit_pod(node.ledger, spec, &decision) || !decision.admitted)
		die(decision.message);
	bench_run("plan_one_pod_more_of_200", "{\"cpus\": 1024, \"containers\": 1005}", call_plan,
		  &this);
	group_tree_fini(&this.observed);
	fini_node(&node);
}

int main(void)
{
	struct policy policy = policy_default();
	struct node node;

	policy.align = ALIGN_BEST_EFFORT;
	make_node(256, 8, 24, policy, &node);
	bench_admit("admit_pod_256_cpus_8_nodes",
		    "{\"cpus\": 256, \"nodes\": 8, \"pods\": 24, \"containers\": 5, "
		    "\"align\": \"best-effort\"}",
		    &node, 8, true);
	bench_admit("refuse_pod_256_cpus_8_nodes",
		    "{\"cpus\": 256, \"nodes\": 8, \"pods\": 24, \"containers\": 5, "
		    "\"align\": \"best-effort\"}",
		    &node, 200, false);
	bench_explain("explain_grant_256_cpus_8_nodes",
		      "{\"cpus\": 256, \"nodes\": 8, \"pods\": 24, \"containers\": 5, "
		      "\"align\": \"best-effort\"}",
		      &node);
	fini_node(&node);
	policy.align = ALIGN_RESTRICTED;
	make_node(256, 8, 24, policy, &node);
	bench_admit("refuse_restricted_256_cpus_8_nodes",
		    "{\"cpus\": 256, \"nodes\": 8, \"pods\": 24, \"containers\": 5, "
		    "\"align\": \"restricted\"}",
		    &node, 200, false);
	fini_node(&node);
	policy.align = ALIGN_BEST_EFFORT;
	policy.cpu_options.distribute_across_numa = true;
	policy.max_nodes = 64;
	make_node(1024, 64, 24, policy, &node);
	bench_admit("admit_pod_64_nodes",
		    "{\"cpus\": 1024, \"nodes\": 64, \"pods\": 24, \"containers\": 5, "
		    "\"align\": \"best-effort\", \"distribute\": true}",
		    &node, 40, true);
	bench_admit("refuse_pod_64_nodes",
		    "{\"cpus\": 1024, \"nodes\": 64, \"pods\": 24, \"containers\": 5, "
		    "\"align\": \"best-effort\", \"distribute\": true}",
		    &node, 1000, false);
	fini_node(&node);
	bench_plan();
	return 0;
}
