// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The metrics of what was granted: on which NUMA nodes containers are, how large the pools are, what
 * was allocated and in vain, how well it is aligned, and what became of resizes and of the state file.
 * The machine has CPUs 0 to 15 on two nodes, of which 0 and 1 are reserved.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "ctl/internal.h"
#include "format/bpf_inventory.h"
#include "lib/log.h"
#include "mixed_pod.h"

static void offline_cpus_are_counted(void **state)
{
	struct controller *controller = start_controller();

	expect_metric(controller, "pinfold_cpus{state=\"online\"} 16\n");
	expect_metric(controller, "pinfold_cpus{state=\"offline\"} 0\n");
	tell_online(controller, "0-12");
	expect_metric(controller, "pinfold_cpus{state=\"online\"} 13\n");
	expect_metric(controller, "pinfold_cpus{state=\"offline\"} 3\n");
	controller_free(controller);
}

/* The second takes what the first node has left, and the whole second node. */
static void containers_count_on_each_of_their_nodes(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true),
				   fake_pod("b", "shared", 500, false),
				   fake_pod("c", "large", 10000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	expect_metric(controller, "pinfold_numa_containers{numa_node=\"0\"} 1\n");
	expect_metric(controller, "pinfold_numa_containers{numa_node=\"1\"} 0\n");
	scan(controller, pods, 3);
	expect_metric(controller, "pinfold_numa_containers{numa_node=\"0\"} 2\n");
	expect_metric(controller, "pinfold_numa_containers{numa_node=\"1\"} 1\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* What joins the series of a container with its cgroup, its class and what it was granted. */
static void a_container_says_what_it_is(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "own", 2000, true),
				   fake_pod("b", "shared", 500, false)};
	struct controller *controller;
	char line[1024];

	config.metrics.level = METRICS_CONTAINER;
	controller = start_controller();
	scan(controller, pods, 2);
	snprintf(
		line, sizeof(line),
		"pinfold_container_info{namespace=\"default\",pod=\"a\",container=\"own\",uid=\"uid-a\","
		"qos=\"Guaranteed\",assignment_type=\"node_exclusive\",cpus=\"2-3\",mems=\"0-1\","
		"cgroup=\"%s\"} 1\n",
		group_of(GROUP_CONTAINER, "own")->path);
	expect_metric(controller, line);
	snprintf(line, sizeof(line),
		 "pinfold_container_info{namespace=\"default\",pod=\"b\",container=\"shared\","
		 "uid=\"uid-b\",qos=\"Burstable\",assignment_type=\"node_shared\",cpus=\"4-15\","
		 "mems=\"0-1\",cgroup=\"%s\"} 1\n",
		 group_of(GROUP_CONTAINER, "shared")->path);
	expect_metric(controller, line);
	scan(controller, pods, 1);
	assert_int_equal(
		nr_series(controller, "pinfold_container_info{namespace=\"default\",pod=\"b\""), 0);
	config.metrics.level = METRICS_POD;
	assert_int_equal(nr_series(controller, "pinfold_container_info"), 0);
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

static struct map_row hash = {.name = "managed", .type = "hash", .used = 3, .max_entries = 10};
static unsigned int nr_lists;

static void list_maps(void *self, struct bpf_inventory *inventory)
{
	const struct map_row ring = {.name = "events", .used = -1, .max_entries = 4096};

	nr_lists++;
	*bpf_inventory_add_map(inventory) = hash;
	*bpf_inventory_add_map(inventory) = ring;
	/* the same of another version, while the two are exchanged */
	*bpf_inventory_add_map(inventory) = hash;
}

/* Walking over their entries takes long, so pages share it. */
static void maps_are_counted_every_ten_seconds(void **state)
{
	static struct kernel_port kernel;
	struct controller *controller;

	kernel = fake_kernel;
	kernel.list = list_maps;
	scene_kernel = &kernel;
	controller = start_controller();
	expect_metric(controller, "pinfold_bpf_map_entries{map=\"managed\",state=\"used\"} 6\n");
	expect_metric(controller, "pinfold_bpf_map_entries{map=\"managed\",state=\"free\"} 14\n");
	assert_int_equal(nr_series(controller, "pinfold_bpf_map_entries{"), 2);
	assert_int_equal(nr_lists, 1);
	hash.used = 4;
	fake->now_ns += 10000000000ULL;
	expect_metric(controller, "pinfold_bpf_map_entries{map=\"managed\",state=\"used\"} 8\n");
	assert_int_equal(nr_lists, 2);
	fake->now_ns += 9999999999ULL;
	expect_metric(controller, "pinfold_bpf_map_entries{map=\"managed\",state=\"used\"} 8\n");
	assert_int_equal(nr_lists, 2);
	/* an empty one is counted as well */
	hash.used = 0;
	fake->now_ns += 10000000000ULL;
	expect_metric(controller, "pinfold_bpf_map_entries{map=\"managed\",state=\"free\"} 20\n");
	/* a full one has no room, nor has one whose entries are exchanged while they are counted */
	for (hash.used = 10; hash.used < 12; hash.used++) {
		fake->now_ns += 10000000000ULL;
		expect_metric(controller,
			      "pinfold_bpf_map_entries{map=\"managed\",state=\"free\"} 0\n");
	}
	controller_free(controller);
	scene_kernel = NULL;
}

static void list_pressures(void *self, struct bpf_inventory *inventory)
{
	const struct map_row map = {.name = "of_pressure", .type = "hash", .used = 1};

	*bpf_inventory_add_map(inventory) = map;
}

static void list_noises(void *self, struct bpf_inventory *inventory)
{
	const struct map_row map = {.name = "of_noise", .type = "hash", .used = 2};

	*bpf_inventory_add_map(inventory) = map;
}

/* The programs that the agent loads itself have maps as well. */
static void the_maps_of_all_programs_are_counted(void **state)
{
	static const struct pressure_port pressure = {.list = list_pressures};
	static const struct noise_port noise = {.list = list_noises};
	struct controller *controller = start_controller();
	struct controller_ports *ports = &controller->ports;
	struct kernel_port kernel = fake_kernel;
	const struct map_space *space;

	assert_null(ports->kernel);
	assert_int_equal(ctl_map_space(controller)->nr, 0);
	kernel.list = list_maps;
	ports->kernel = &kernel;
	ports->pressure = &pressure;
	ports->noise = &noise;
	space = ctl_map_space(controller);
	assert_int_equal(space->nr, 3);
	assert_string_equal(space->rows[1].name, "of_pressure");
	assert_int_equal(space->rows[1].nr_used, 1);
	assert_string_equal(space->rows[2].name, "of_noise");
	assert_int_equal(space->rows[2].nr_used, 2);
	*ports = (struct controller_ports){
		.clock = ports->clock,
		.loop = ports->loop,
		.groups = ports->groups,
		.store = ports->store,
	};
	controller_free(controller);
}

/* A container without exclusive CPUs whose memory is granted is where its memory is. */
static void granted_memory_places_a_container(void **state)
{
	static const struct topology_node memory[] = {{.id = 0, .memory_bytes = 4ULL << 30},
						      {.id = 1, .memory_bytes = 4ULL << 30}};
	struct pod_spec *pods[] = {fake_pod("a", "half", 500, true)};
	struct controller *controller;

	topology_free(topology);
	topology = fake_machine_with(2, 4, 2, memory);
	policy.memory = MEMORY_POLICY_STATIC;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] =
		(struct memory_reservation){.node_id = 0, .bytes = 64ULL << 20};
	controller = start_controller();
	scan(controller, pods, 1);
	expect_metric(controller, "pinfold_numa_containers{numa_node=\"0\"} 1\n");
	expect_metric(controller, "pinfold_numa_containers{numa_node=\"1\"} 0\n");
	expect_metric(controller, "resource_manager_allocations_total{resource_name=\"memory\","
				  "source=\"node\"} 1\n");
	expect_metric(controller, "resource_manager_allocations_total{resource_name=\"cpu\","
				  "source=\"node\"} 0\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

static void pools_have_their_size(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true)};
	struct controller *controller = start_controller();

	expect_metric(controller, "pinfold_pool_cpus{pool=\"node\"} 14\n");
	expect_metric(controller, "pinfold_pool_cpus{pool=\"pod\"} 0\n");
	scan(controller, pods, 1);
	expect_metric(controller, "pinfold_pool_cpus{pool=\"node\"} 12\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* --- allocations ------------------------------------------------------------------------------- */

#define ALLOCATIONS "resource_manager_allocations_total{resource_name="
#define ERRORS	    "resource_manager_allocation_errors_total{resource_name="

/* As the kubelet counts: each container of a pod with CPUs of its own is an allocation of the pod. */
static void allocations_are_counted_by_their_source(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true),
				   fake_pod("b", "shared", 500, false), bubble_pod(4000)};
	struct controller *controller;

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	controller = start_controller();
	expect_metric(controller, ALLOCATIONS "\"cpu\",source=\"node\"} 0\n");
	scan(controller, pods, ARRAY_SIZE(pods));
	expect_metric(controller, ALLOCATIONS "\"cpu\",source=\"node\"} 1\n");
	expect_metric(controller, ALLOCATIONS "\"cpu\",source=\"pod\"} 3\n");
	expect_metric(controller, ALLOCATIONS "\"memory\",source=\"node\"} 0\n");
	expect_metric(controller, ERRORS "\"cpu\",source=\"node\"} 0\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* A document that is wrong and a state that cannot be written are no allocations. */
static void allocations_in_vain_are_errors(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 40000, true), bubble_pod(40000),
				   fake_pod("b", "two", 2000, true)};
	struct controller *controller;

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	controller = start_controller();
	scan(controller, pods, 1);
	expect_metric(controller, ERRORS "\"cpu\",source=\"node\"} 1\n");
	expect_metric(controller, ERRORS "\"cpu\",source=\"pod\"} 0\n");
	/* The first one is refused again for the same reason, which is not counted twice. */
	scan(controller, pods, 2);
	expect_metric(controller, ERRORS "\"cpu\",source=\"node\"} 1\n");
	expect_metric(controller, ERRORS "\"cpu\",source=\"pod\"} 1\n");
	fake->save_error = -ENOSPC;
	scan(controller, pods, 3);
	expect_metric(controller,
		      "pinfold_admissions_total{result=\"rejected\",reason=\"state\"} 1\n");
	expect_metric(controller, ERRORS "\"cpu\",source=\"node\"} 1\n");
	expect_metric(controller, ERRORS "\"memory\",source=\"node\"} 0\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* There the kubelet has these series, and a sum over both would count twice. */
static void who_does_not_allocate_has_no_allocations(void **state)
{
	struct controller *controller;

	config.mode = MODE_OBSERVE;
	controller = start_controller();
	assert_int_equal(nr_series(controller, "resource_manager_"), 0);
	assert_int_equal(nr_series(controller, "pinfold_aligned_allocations_total{"), 16);
	controller_free(controller);
}

#define ALIGNED "pinfold_aligned_allocations_total{scope="

static void allocations_are_counted_by_their_alignment(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 3000, true),
				   fake_pod("c", "large", 9000, true),
				   fake_pod("b", "shared", 500, false)};
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"core\",result=\"aligned\"} 0\n");
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"core\",result=\"unaligned\"} 1\n");
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"uncore_cache\",result=\"aligned\"} 1\n");
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"numa_node\",result=\"aligned\"} 1\n");
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"socket\",result=\"aligned\"} 1\n");
	scan(controller, pods, 3);
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"numa_node\",result=\"aligned\"} 1\n");
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"numa_node\",result=\"unaligned\"} 1\n");
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"socket\",result=\"unaligned\"} 1\n");
	expect_metric(controller, ALIGNED "\"pod\",boundary=\"socket\",result=\"aligned\"} 0\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* The pod is aligned as a whole, and counts once. */
static void with_the_scope_of_pods_each_pod_counts_once(void **state)
{
	struct pod_spec *pods[] = {bubble_pod(4000), fake_pod("b", "shared", 500, false)};
	struct controller *controller;

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	controller = start_controller();
	scan(controller, pods, ARRAY_SIZE(pods));
	expect_metric(controller, ALIGNED "\"pod\",boundary=\"core\",result=\"aligned\"} 1\n");
	expect_metric(controller, ALIGNED "\"pod\",boundary=\"numa_node\",result=\"aligned\"} 1\n");
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"numa_node\",result=\"aligned\"} 0\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* The container that has a CPU of its own has half a core, and the pod has all of it. */
static void with_the_scope_of_pods_all_cpus_of_the_pod_count(void **state)
{
	struct pod_spec *pods[] = {mixed_pod("m", "one", 1000, 2000)};
	struct controller *controller;

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	controller = start_controller();
	scan(controller, pods, ARRAY_SIZE(pods));
	expect_metric(controller, ALIGNED "\"pod\",boundary=\"core\",result=\"unaligned\"} 0\n");
	expect_metric(controller, ALIGNED "\"pod\",boundary=\"core\",result=\"aligned\"} 1\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* CPU 0 is usually reserved, but need not be. */
static void cpu_0_alone_is_somewhere_and_aligned(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 1000, true)};
	struct controller *controller;

	cpuset_parse("2-3", strlen("2-3"), &policy.reserved_list);
	controller = start_controller();
	scan(controller, pods, 1);
	assert_string_equal(file_of("one", GROUP_CPUSET_CPUS), "0");
	expect_metric(controller, "pinfold_numa_containers{numa_node=\"0\"} 1\n");
	expect_metric(controller,
		      ALIGNED "\"container\",boundary=\"socket\",result=\"aligned\"} 1\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* Of what was refused, only what lacked CPUs or memory, and of these the one that it lacked. */
static void a_refusal_counts_for_what_was_short(void **state)
{
	static const struct {
		struct decision decision;
		uint64_t nr_cpu, nr_memory;
	} cases[] = {
		{{.refusal = REFUSAL_CPUS}, 1, 0},
		{{.refusal = REFUSAL_SMT}, 1, 0},
		{{.refusal = REFUSAL_EMPTY_SHARED_POOL}, 1, 0},
		{{.refusal = REFUSAL_LAST_SHARED_CPU}, 1, 0},
		{{.refusal = REFUSAL_MEMORY}, 0, 1},
		{{.refusal = REFUSAL_HUGEPAGES}, 0, 1},
		{{.refusal = REFUSAL_POD_BUDGET, .is_memory = true}, 0, 1},
		{{.refusal = REFUSAL_POD_BUDGET}, 1, 0},
		{{.refusal = REFUSAL_TOPOLOGY}, 0, 0},
	};
	struct controller *controller = start_controller();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct allocations allocations = {0};

		/* What could not even be read has no spec, and no CPUs of a pod. */
		allocations_count_refusal(&allocations, controller->ledger, NULL,
					  &cases[i].decision);
		assert_int_equal(allocations.nr_errors[ALLOCATION_CPU][ALLOCATION_NODE],
				 cases[i].nr_cpu);
		assert_int_equal(allocations.nr_errors[ALLOCATION_MEMORY][ALLOCATION_NODE],
				 cases[i].nr_memory);
		assert_int_equal(allocations.nr_errors[ALLOCATION_CPU][ALLOCATION_POD], 0);
		assert_int_equal(allocations.nr_errors[ALLOCATION_MEMORY][ALLOCATION_POD], 0);
	}
	controller_free(controller);
}

/* --- resizes ----------------------------------------------------------------------------------- */

#define RESIZES "pinfold_resizes_total{result="

static void resizes_are_counted_by_their_result(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true),
				   fake_pod("b", "shared", 500, false)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	expect_metric(controller, RESIZES "\"admitted\"} 0\n");
	pods[0]->containers->request.cpu_mcpu = pods[0]->containers->limit.cpu_mcpu = 4000;
	scan(controller, pods, 2);
	expect_metric(controller, RESIZES "\"admitted\"} 1\n");
	pods[0]->containers->request.cpu_mcpu = pods[0]->containers->limit.cpu_mcpu = 40000;
	scan(controller, pods, 2);
	scan(controller, pods, 2);
	expect_metric(controller, RESIZES "\"admitted\"} 1\n");
	expect_metric(controller, RESIZES "\"rejected\"} 1\n");
	/* What has no exclusive CPUs is decided anew, which is no resize. */
	pods[1]->containers->request.cpu_mcpu = 600;
	scan(controller, pods, 2);
	expect_metric(controller, RESIZES "\"admitted\"} 1\n");
	expect_metric(controller, RESIZES "\"rejected\"} 1\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* --- the state file ---------------------------------------------------------------------------- */

#define RESTORE "pinfold_state_restore_total{result="

static void expect_restore(const char *result)
{
	static const char *const results[] = {"ok", "partial", "damaged", "absent"};
	struct controller *controller = start_controller();
	char line[128];

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		snprintf(line, sizeof(line), RESTORE "\"%s\"} %d\n", results[i],
			 !strcmp(results[i], result));
		expect_metric(controller, line);
	}
	controller_free(controller);
}

static void a_start_says_what_it_made_of_the_state(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 2000, true)};
	struct controller *controller;

	expect_restore("absent");
	controller = start_controller();
	scan(controller, pods, 1);
	controller_free(controller);
	expect_restore("ok");
	/* The CPUs of the only pod are reserved now. */
	cpuset_parse("0-3", strlen("0-3"), &policy.reserved_list);
	expect_restore("partial");
	fake->state[strlen(fake->state) / 2] ^= 1;
	expect_restore("damaged");
	free_pods(pods, ARRAY_SIZE(pods));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(offline_cpus_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(containers_count_on_each_of_their_nodes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_container_says_what_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(maps_are_counted_every_ten_seconds, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_maps_of_all_programs_are_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(granted_memory_places_a_container, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(pools_have_their_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(allocations_are_counted_by_their_source, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(allocations_in_vain_are_errors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_does_not_allocate_has_no_allocations, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(allocations_are_counted_by_their_alignment, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(with_the_scope_of_pods_each_pod_counts_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(with_the_scope_of_pods_all_cpus_of_the_pod_count,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(cpu_0_alone_is_somewhere_and_aligned, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_refusal_counts_for_what_was_short, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(resizes_are_counted_by_their_result, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_start_says_what_it_made_of_the_state, set_up,
						tear_down),
	};

	/* What goes wrong here does so on purpose. */
	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
