// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Cost of the memory manager: all hints (what the kubelet computes for every
 * request), the best set alone, and a pod's admission with CPUs and memory pinned.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "core/admit/admit.h"

#define GIB (UINT64_C(1) << 30)

struct machine {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	struct pod_spec *spec;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_core_memory: %s\n", what);
	exit(1);
}

static void add_container(struct pod_spec *spec, int64_t cpus, uint64_t gib, bool pages)
{
	struct container_spec *container = &spec->containers[spec->nr_containers];

	container->kind = CONTAINER_APP;
	container->request = RESOURCES_UNSET;
	snprintf(container->name, sizeof(container->name), "c%u", spec->nr_containers++);
	container->request.cpu_mcpu = cpus * 1000;
	container->request.memory_bytes = (int64_t)(gib * GIB);
	if (pages) {
		container->request.nr_hugepages = 1;
		container->request.hugepages[0].size_bytes = GIB;
		container->request.hugepages[0].bytes = (int64_t)GIB;
	}
	container->limit = container->request;
}

static struct pod_spec *make_pod(const char *uid, unsigned int nr, int64_t cpus, uint64_t gib,
				 bool pages)
{
	struct pod_spec *spec = calloc(1, sizeof(*spec));

	if (!spec)
		die("no memory");
	snprintf(spec->uid, sizeof(spec->uid), "%s", uid);
	snprintf(spec->name, sizeof(spec->name), "%s", uid);
	spec->request = spec->limit = spec->overhead = RESOURCES_UNSET;
	spec->containers = calloc(nr, sizeof(*spec->containers));
	if (!spec->containers)
		die("no memory");
	for (unsigned int i = 0; i < nr; i++)
		add_container(spec, cpus, gib, pages);
	return spec;
}

/* 64 GiB and 8 pages of 1 GiB per node, a quarter of the CPUs in use. */
static void make_machine(unsigned int nr_cpus, unsigned int nr_nodes, enum align_policy align,
			 struct machine *ret_machine)
{
	struct topology_cpu *cpus = calloc(nr_cpus, sizeof(*cpus));
	struct topology_node nodes[TOPOLOGY_MAX_NODES];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr_cpus,
		.nodes = nodes,
		.nr_nodes = nr_nodes,
		TOPOLOGY_COUNT_ALL,
	};
	char error[256] = "out of memory";

	*ret_machine = (struct machine){.policy = policy_default()};
	for (unsigned int i = 0; cpus && i < nr_cpus; i++) {
		unsigned int core = i % (nr_cpus / 2), node = core / (nr_cpus / 2 / nr_nodes);

		cpus[i] = (struct topology_cpu){i, core, node, node, node};
	}
	for (unsigned int i = 0; i < nr_nodes; i++)
		nodes[i] = (struct topology_node){
			.id = i,
			.memory_bytes = 72 * GIB,
			.nr_hugepages = 1,
			.hugepages = {{GIB, 8, UINT64_MAX}},
		};
	if (!cpus || topology_new(&facts, error, sizeof(error), &ret_machine->topology))
		die(error);
	free(cpus);
	ret_machine->policy.memory = MEMORY_POLICY_STATIC;
	ret_machine->policy.align = align;
	ret_machine->policy.reserved_mcpu = 4000;
	ret_machine->policy.max_nodes = 64;
	if (ledger_new(ret_machine->topology, &ret_machine->policy, error, sizeof(error),
		       &ret_machine->ledger))
		die(error);
	for (unsigned int i = 0; i < 24; i++) {
		struct pod_spec *spec cleanup_pod_spec = NULL;
		struct decision decision;
		char uid[32];

		snprintf(uid, sizeof(uid), "there-%04u", i);
		spec = make_pod(uid, 1, nr_cpus / 96, 4, false);
		if (admit_pod(ret_machine->ledger, spec, &decision) || !decision.admitted)
			die(decision.message);
	}
}

static void fini_machine(struct machine *machine)
{
	pod_spec_free(machine->spec);
	ledger_free(machine->ledger);
	topology_free(machine->topology);
}

static void offer(const struct machine *machine, struct memory_offer *ret_offer)
{
	struct memory_pod pod = {.spec = machine->spec, .qos = pod_qos(machine->spec)};

	memory_offer_container(ledger_memory_manager(machine->ledger),
			       ledger_memory_state(machine->ledger), &pod, 0, NULL, ret_offer);
}

static void call_hints(void *arg)
{
	struct hint *hints cleanup_free = NULL;
	struct memory_offer memory;
	uint32_t nr;

	offer(arg, &memory);
	if (memory_offer_list(&memory, &hints, &nr) || !nr)
		die("no hints");
}

static void call_best(void *arg)
{
	struct memory_offer memory;
	struct hint best;

	offer(arg, &memory);
	if (!memory_offer_best(&memory, 0, &best))
		die("no best set");
}

static void call_admit(void *arg)
{
	struct machine *machine = arg;
	struct decision decision;

	if (admit_prepare(machine->ledger, machine->spec, &decision) || !decision.admitted)
		die(decision.message);
	ledger_abort(machine->ledger);
}

static void bench_hints(const char *name, const char *params, unsigned int nr_nodes, bool pages)
{
	struct machine machine;

	make_machine(1024, nr_nodes, ALIGN_RESTRICTED, &machine);
	machine.spec = make_pod("new", 1, 4, 2, pages);
	bench_run(name, params, call_hints, &machine);
	fini_machine(&machine);
}

static void bench_admit(const char *name, const char *params, unsigned int nr_cpus,
			unsigned int nr_nodes, int64_t cpus)
{
	struct machine machine;

	make_machine(nr_cpus, nr_nodes, ALIGN_BEST_EFFORT, &machine);
	machine.spec = make_pod("new", 4, cpus, 2, true);
	bench_run(name, params, call_admit, &machine);
	fini_machine(&machine);
}

int main(void)
{
	struct machine machine;

	bench_hints("memory_hints_8x1", "{\"nodes\": 8, \"types\": 1}", 8, false);
	bench_hints("memory_hints_8x2", "{\"nodes\": 8, \"types\": 2}", 8, true);
	bench_hints("memory_hints_16x1", "{\"nodes\": 16, \"types\": 1}", 16, false);
	bench_hints("memory_hints_16x2", "{\"nodes\": 16, \"types\": 2}", 16, true);
	make_machine(1024, 64, ALIGN_RESTRICTED, &machine);
	machine.spec = make_pod("new", 1, 4, 1000, true);
	bench_run("memory_best_64_nodes", "{\"nodes\": 64, \"types\": 2, \"gib\": 1000}", call_best,
		  &machine);
	fini_machine(&machine);
	bench_admit("admit_pod_memory_256_cpus_8_nodes",
		    "{\"cpus\": 256, \"nodes\": 8, \"containers\": 4, \"types\": 2}", 256, 8, 8);
	bench_admit("admit_pod_memory_16_nodes",
		    "{\"cpus\": 1024, \"nodes\": 16, \"containers\": 4, \"types\": 2}", 1024, 16,
		    8);
	bench_admit("admit_pod_memory_64_nodes",
		    "{\"cpus\": 1024, \"nodes\": 64, \"containers\": 4, \"types\": 2}", 1024, 64,
		    24);
	return 0;
}
