// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The controller and memory: huge pages the kernel has free are looked at when a pod
 * is decided, and the BPF backend is told on which nodes a container's memory is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_resident.h"
#include "controller_scene.h"
#include "lib/log.h"

#define MIB  (INT64_C(1) << 20)
#define PAGE (2 * MIB)

/* What the fake kernel has free on each node, and how often it was asked. */
static uint64_t free_now[2];
static unsigned int nr_asked;

static uint32_t free_pages(void *self, struct topology_node *ret_nodes)
{
	nr_asked++;
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		ret_nodes[i] = topology->memory_nodes[i];
		ret_nodes[i].hugepages[0].free_pages = free_now[i];
	}
	return topology->nr_memory_nodes;
}

static struct managed_group container_told;

static int publish(void *self, const struct kernel_policy *kernel_policy)
{
	for (uint32_t i = 0; i < kernel_policy->nr_groups; i++)
		if (kernel_policy->groups[i].is_container)
			container_told = kernel_policy->groups[i];
	return 0;
}

/* Two nodes of 4 GiB, 64 huge pages of 2 MiB on each; the second may get another number. */
static uint32_t second_node = 1;

static void add_memory(void)
{
	const struct hugepages pages = {.size_bytes = PAGE, .total_pages = 64};
	const struct topology_node nodes[] = {
		{.id = 0, .memory_bytes = 4096 * MIB, .nr_hugepages = 1, .hugepages = {pages}},
		{.id = second_node,
		 .memory_bytes = 4096 * MIB,
		 .nr_hugepages = 1,
		 .hugepages = {pages}}};
	struct topology_cpu cpus[16];
	struct topology_facts facts = {.cpus = cpus,
				       .nr_cpus = ARRAY_SIZE(cpus),
				       .nodes = nodes,
				       .nr_nodes = 2,
				       TOPOLOGY_COUNT_ALL};
	char error[256];

	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){i, i / 2 * 2, i / 8, i / 8 * second_node, i / 8};
	topology_free(topology);
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
}

static struct controller *start_on(const struct machine_port *machine)
{
	static struct kernel_port kernel;
	const struct controller_options options = {.config = &config,
						   .config_file = "",
						   .kernel_release = "6.1",
						   .boot_id = "boot",
						   .revision = "test"};
	struct controller_ports ports = fake_ports;
	struct controller *controller = NULL;
	char error[256] = "";

	add_memory();
	kernel = fake_kernel;
	kernel.publish = publish;
	ports.kernel = &kernel;
	ports.machine = machine;
	ports.resident = &fake_resident_port;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] =
		(struct memory_reservation){.node_id = 0, .bytes = 100 * MIB};
	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	fake_resident.sink = &controller_sinks(controller)->resident;
	fake_resident.topology = topology;
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static struct controller *start(void)
{
	static const struct machine_port machine = {.free_pages = free_pages};

	return start_on(&machine);
}

static struct pod_spec *hugepages_pod(const char *name, int64_t pages)
{
	struct pod_spec *spec = fake_pod(name, "exclusive", 2000, true);
	struct container_spec *container = spec->containers;

	container->request.nr_hugepages = 1;
	container->request.hugepages[0].size_bytes = PAGE;
	container->request.hugepages[0].bytes = pages * PAGE;
	container->limit = container->request;
	return spec;
}

static const char *refusal_message(struct controller *controller, struct json_object **ret_all)
{
	struct json_object *message;

	*ret_all = query(controller, "refusal");
	assert_int_equal(json_object_array_length(*ret_all), 1);
	assert_true(json_object_object_get_ex(json_object_array_get_idx(*ret_all, 0), "message",
					      &message));
	return json_object_get_string(message);
}

/* The book says 64 pages on each node; somebody else has all but 3. */
static void free_pages_in_the_kernel_decide(void **state)
{
	struct pod_spec *pods[] = {hugepages_pod("a", 16)};
	struct controller *controller = start();
	struct json_object *refusals;
	const char *message;

	free_now[0] = free_now[1] = 3;
	nr_asked = 0;
	scan(controller, pods, 1);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	message = refusal_message(controller, &refusals);
	/* what is asked for, and what the kernel has */
	if (!strstr(message, "33554432 bytes") || !strstr(message, "kernel has 12582912"))
		fail_msg("says: %s", message);
	json_object_put(refusals);
	/* they are given back, and the next look admits it */
	free_now[1] = 16;
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void unknown_free_pages_are_not_zero(void **state)
{
	struct pod_spec *pods[] = {hugepages_pod("a", 16)};
	struct controller *controller = start();

	free_now[0] = free_now[1] = UINT64_MAX;
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void without_a_machine_to_ask_the_ledger_decides(void **state)
{
	struct pod_spec *pods[] = {hugepages_pod("a", 16)};
	struct controller *controller = start_on(NULL);

	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/* CPUs of node 0, memory of node 1, where the huge pages are. */
static void granted_memory_nodes_are_near(void **state)
{
	struct pod_spec *pods[] = {hugepages_pod("a", 16)};
	struct controller *controller = start();

	free_now[0] = 0;
	free_now[1] = 64;
	scan(controller, pods, 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-3");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_MEMS), "1");
	assert_int_equal(container_told.nodes, 2);
	controller_free(controller);
	free_pods(pods, 1);
}

/* As above: what it has on the node of its CPUs is remote. */
static void memory_is_local_on_the_nodes_of_its_grant(void **state)
{
	struct pod_spec *pods[] = {hugepages_pod("a", 16)};
	struct controller *controller = start();
	static const char *const local[] = {"false", "true"};
	struct json_object *rows;

	free_now[0] = 0;
	free_now[1] = 64;
	scan(controller, pods, 1);
	controller_tick(controller);
	rows = query(controller, "memory");
	assert_int_equal(json_object_array_length(rows), 2);
	for (size_t node = 0; node < 2; node++) {
		struct json_object *row = json_object_array_get_idx(rows, node), *value = NULL;

		assert_true(json_object_object_get_ex(row, "local", &value));
		assert_string_equal(json_object_get_string(value), local[node]);
	}
	json_object_put(rows);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Memory of node 0, and after that of both. */
static void near_are_all_nodes_of_the_memory(void **state)
{
	struct pod_spec *pods[] = {hugepages_pod("a", 16), hugepages_pod("b", 100)};
	struct controller *controller = start();

	free_now[0] = free_now[1] = 64;
	scan(controller, pods, 1);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_MEMS), "0");
	assert_int_equal(container_told.nodes, 1);
	controller_free(controller);
	controller = start();
	scan(controller, &pods[1], 1);
	assert_string_equal(file_of("uid-b", GROUP_CPUSET_MEMS), "0-1");
	assert_int_equal(container_told.nodes, 3);
	controller_free(controller);
	free_pods(pods, 2);
}

static void a_grant_on_a_node_that_is_gone_is_told(void **state)
{
	struct pod_spec *pods[] = {hugepages_pod("a", 16)};
	struct controller *controller = start();

	free_now[0] = 0;
	free_now[1] = 64;
	scan(controller, pods, 1);
	controller_free(controller);
	second_node = 2;
	controller = start();
	second_node = 1;
	assert_int_equal(
		nr_findings(controller, "grant_lost",
			    "default/a could not keep its grant: NUMA node 1 no longer exists"),
		1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void with_unrestricted_memory_the_nodes_of_its_cpus_are_near(void **state)
{
	struct pod_spec *pods[] = {fake_pod("b", "web", 500, false)};
	struct controller *controller = start();

	scan(controller, pods, 1);
	assert_int_equal(container_told.nodes, 3);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Such a policy is accepted neither at the start nor by a reload. */
static void a_reservation_on_an_unknown_node_is_refused(void **state)
{
	const struct controller_options options = {.config = &config,
						   .config_file = "",
						   .kernel_release = "6.1",
						   .boot_id = "boot",
						   .revision = "test"};
	struct controller *controller = start(), *other = NULL;
	struct policy wrong = policy;
	char error[256] = "";

	wrong.memory_reservations[0].node_id = 7;
	assert_true(controller_new(topology, &wrong, &options, &fake_ports, error, sizeof(error),
				   &other) < 0);
	assert_null(other);
	assert_string_not_equal(error, "");
	*error = '\0';
	assert_true(controller_reload(controller, &wrong, &options, error, sizeof(error)) < 0);
	assert_string_not_equal(error, "");
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(free_pages_in_the_kernel_decide, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_free_pages_are_not_zero, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_a_machine_to_ask_the_ledger_decides, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(granted_memory_nodes_are_near, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_is_local_on_the_nodes_of_its_grant, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(near_are_all_nodes_of_the_memory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_grant_on_a_node_that_is_gone_is_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			with_unrestricted_memory_the_nodes_of_its_cpus_are_near, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reservation_on_an_unknown_node_is_refused, set_up,
						tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
