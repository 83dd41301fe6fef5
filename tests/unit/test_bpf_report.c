// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl bpf kubelet format core lib
/* What is loaded into the kernel's BPF: who is asked, and what stands for an object that is not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_noise.h"
#include "../lib/fake_pressure.h"
#include "bpf/inventory.h"
#include "ctl/internal.h"
#include "node_scene.h"

static struct controller *start_with(const struct kernel_port *kernel,
				     const struct pressure_port *pressure,
				     const struct noise_port *noise)
{
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &groups,
					       .kernel = kernel,
					       .store = &fake_store,
					       .pressure = pressure,
					       .noise = noise};
	struct controller *controller = NULL;
	char error[256] = "";

	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static int set_up_report(void **state)
{
	fake_noise_reset();
	return set_up_node(state);
}

static void expect(struct json_object *rows, size_t index, const char *key, const char *value)
{
	assert_string_equal(member(json_object_array_get_idx(rows, index), key), value);
}

static void every_port_is_asked(void **state)
{
	struct controller *controller =
		start_with(&fake_side_port, &fake_pressure_port, &fake_noise_port);
	struct json_object *progs = query(controller, "prog"), *maps = query(controller, "map");

	assert_int_equal(json_object_array_length(progs), 4);
	expect(progs, 0, "name", "on_file_permission");
	expect(progs, 2, "name", "read_pressure");
	expect(progs, 3, "name", "noise_switch");
	/* the kernel's port has said that run times are measured */
	expect(progs, 3, "run_count", "0");
	assert_int_equal(json_object_array_length(maps), 2);
	expect(maps, 0, "parts", "guard,watch");
	expect(maps, 1, "name", "pressure_rows");
	json_object_put(progs);
	json_object_put(maps);
	controller_free(controller);
}

static void what_is_not_loaded_says_why(void **state)
{
	struct controller *controller = start_with(&fake_side_port, NULL, &fake_noise_port);
	struct json_object *progs;

	fake_noise.state = NOISE_OFF;
	progs = query(controller, "prog");
	assert_int_equal(json_object_array_length(progs), 4);
	expect(progs, 2, "part", "pressure");
	expect(progs, 2, "name", "null");
	expect(progs, 2, "attached", "false");
	expect(progs, 2, "run_count", "null");
	expect(progs, 2, "run_time_ns", "null");
	expect(progs, 2, "reason", "it could not be loaded; see the agent's log");
	expect(progs, 3, "part", "noise");
	expect(progs, 3, "id", "null");
	expect(progs, 3, "reason", "no CPU is exclusive");
	json_object_put(progs);
	controller_free(controller);
}

static void mode_observe_is_a_reason(void **state)
{
	struct controller *controller;
	struct json_object *progs;

	config.mode = MODE_OBSERVE;
	controller = start_with(&fake_side_port, NULL, NULL);
	progs = query(controller, "prog");
	expect(progs, 2, "reason", "it is not loaded in mode observe");
	expect(progs, 3, "reason", "it is not loaded in mode observe");
	json_object_put(progs);
	controller_free(controller);
}

static void without_bpf_nothing_is_listed(void **state)
{
	struct controller *controller = start_with(NULL, NULL, NULL);

	assert_int_equal(nr_rows(controller, "prog"), 0);
	assert_int_equal(nr_rows(controller, "map"), 0);
	controller_free(controller);
}

static void a_section_names_type_and_hook(void **state)
{
	struct prog_row row;

	inventory_fill_prog(&row, "guard", "guard_open", "fmod_ret/security_file_open", -1, true);
	assert_string_equal(row.type, "fmod_ret");
	assert_string_equal(row.hook, "security_file_open");
	assert_string_equal(row.object, "guard");
	/* the kernel has told nothing of it */
	assert_int_equal(row.id, 0);
	assert_int_equal(row.run_count, -1);
	assert_int_equal(row.memory_bytes, -1);
	inventory_fill_prog(&row, "carry", "carry_counters", "syscall", -1, true);
	assert_string_equal(row.type, "syscall");
	assert_string_equal(row.hook, "");
}

#define MANY 300

static void list_many(void *self, struct bpf_inventory *inventory)
{
	for (uint32_t i = 1; i <= MANY; i++) {
		bpf_inventory_add_prog(inventory)->id = i;
		bpf_inventory_add_map(inventory)->id = i;
	}
}

/* A row that is missing would look like a program that is not loaded. */
static void nothing_is_left_out_of_a_long_list(void **state)
{
	struct kernel_port kernel = fake_side_port;
	struct controller *controller;
	struct json_object *progs, *maps;

	kernel.list = list_many;
	controller = start_with(&kernel, NULL, &fake_noise_port);
	progs = query(controller, "prog");
	maps = query(controller, "map");
	assert_int_equal(json_object_array_length(progs), MANY + 2);
	expect(progs, MANY - 1, "id", "300");
	expect(progs, MANY - 1, "run_count", "null");
	expect(progs, MANY, "part", "pressure");
	expect(progs, MANY + 1, "part", "noise");
	assert_int_equal(json_object_array_length(maps), MANY);
	expect(maps, MANY - 1, "id", "300");
	json_object_put(progs);
	json_object_put(maps);
	controller_free(controller);
}

static int usage_of_process(void *self, struct process_usage *ret_usage)
{
	*ret_usage = (struct process_usage){.cpu_ns = 123000000, .resident_bytes = 9000000};
	return 0;
}

static void list_two(void *self, struct bpf_inventory *inventory)
{
	struct prog_row *row = bpf_inventory_add_prog(inventory);

	snprintf(row->name, sizeof(row->name), "on_file_permission");
	snprintf(row->object, sizeof(row->object), "guard");
	snprintf(row->hook, sizeof(row->hook), "file_permission");
	row->id = 31;
	row = bpf_inventory_add_prog(inventory);
	snprintf(row->name, sizeof(row->name), "carry_counters");
	row->id = 32;
	row->run_time_ns = 4500;
	row->run_count = 3;
}

/* Programs that are loaded, and what the agent has used; pressure and noise are not loaded here. */
static void usage_is_of_what_is_loaded(void **state)
{
	static const struct process_port process = {.usage = usage_of_process};
	struct kernel_port kernel = fake_side_port;
	struct controller *controller;
	struct json_object *usage, *programs;

	kernel.list = list_two;
	controller = start_with(&kernel, NULL, &fake_noise_port);
	usage = query(controller, "usage");
	programs = json_object_object_get(usage, "programs");
	assert_int_equal(json_object_array_length(programs), 2);
	expect(programs, 0, "name", "on_file_permission");
	expect(programs, 0, "part", "guard");
	expect(programs, 0, "hook", "file_permission");
	expect(programs, 0, "run_time_ns", "null");
	expect(programs, 1, "id", "32");
	expect(programs, 1, "hook", "null");
	expect(programs, 1, "run_time_ns", "4500");
	expect(programs, 1, "run_count", "3");
	assert_int_equal(atoi(member(usage, "cpus")), cpuset_count(&topology->all));
	assert_string_equal(member(usage, "agent_ns"), "null");
	assert_string_equal(member(usage, "agent_memory_bytes"), "null");
	assert_int_equal(json_object_get_int64(json_object_object_get(usage, "time_ns")),
			 fake->now_ns);
	json_object_put(usage);
	controller->ports.process = &process;
	usage = query(controller, "usage");
	assert_string_equal(member(usage, "agent_ns"), "123000000");
	assert_string_equal(member(usage, "agent_memory_bytes"), "9000000");
	json_object_put(usage);
	controller_free(controller);
}

static void list_and_lack_memory(void *self, struct bpf_inventory *inventory)
{
	list_two(self, inventory);
	inventory->error = -ENOMEM;
}

/* Part of a list would look like all of it. */
static void a_list_with_missing_rows_is_no_answer(void **state)
{
	static const char *const objects[] = {"prog", "map", "usage"};
	struct kernel_port kernel = fake_side_port;
	struct controller *controller;
	const struct faces_port *faces;

	kernel.list = list_and_lack_memory;
	controller = start_with(&kernel, NULL, &fake_noise_port);
	faces = controller_faces(controller);
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		struct json_object *json = NULL;

		assert_int_equal(faces->query(faces->self, objects[i], &json), -ENOMEM);
		assert_null(json);
	}
	controller_free(controller);
}

static void list_loaded(void *self, struct bpf_inventory *inventory)
{
	bpf_inventory_add_prog(inventory)->id = 33;
}

/* No row is left over for a program that is not loaded. */
static void usage_lists_each_program_when_all_are_loaded(void **state)
{
	struct kernel_port kernel = fake_side_port;
	struct pressure_port pressure = fake_pressure_port;
	struct noise_port noise = fake_noise_port;
	struct controller *controller;
	struct json_object *usage, *programs;

	kernel.list = list_two;
	pressure.list = list_loaded;
	noise.list = list_loaded;
	controller = start_with(&kernel, &pressure, &noise);
	usage = query(controller, "usage");
	programs = json_object_object_get(usage, "programs");
	assert_int_equal(json_object_array_length(programs), 4);
	expect(programs, 0, "id", "31");
	expect(programs, 3, "id", "33");
	json_object_put(usage);
	controller_free(controller);
}

static void a_map_that_the_kernel_does_not_answer_for_is_not_listed(void **state)
{
	struct bpf_inventory inventory = {0};

	inventory_add_map(&inventory, "noise", "noise_cpus", -1, false);
	assert_int_equal(inventory.nr_maps, 0);
	assert_int_equal(inventory.error, 0);
	bpf_inventory_fini(&inventory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_port_is_asked, set_up_report, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_loaded_says_why, set_up_report,
						tear_down),
		cmocka_unit_test_setup_teardown(mode_observe_is_a_reason, set_up_report, tear_down),
		cmocka_unit_test_setup_teardown(without_bpf_nothing_is_listed, set_up_report,
						tear_down),
		cmocka_unit_test(a_section_names_type_and_hook),
		cmocka_unit_test_setup_teardown(nothing_is_left_out_of_a_long_list, set_up_report,
						tear_down),
		cmocka_unit_test_setup_teardown(usage_is_of_what_is_loaded, set_up_report,
						tear_down),
		cmocka_unit_test_setup_teardown(a_list_with_missing_rows_is_no_answer,
						set_up_report, tear_down),
		cmocka_unit_test_setup_teardown(usage_lists_each_program_when_all_are_loaded,
						set_up_report, tear_down),
		cmocka_unit_test(a_map_that_the_kernel_does_not_answer_for_is_not_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
