/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A controller with every port, on a machine with huge pages where each source of figures has
 * some: what the page of metrics says of them. Include it after cmocka.
 */
#ifndef TESTS_METRICS_SCENE_H
#define TESTS_METRICS_SCENE_H

#include "../lib/fake_kernel.h"
#include "../lib/fake_noise.h"
#include "../lib/fake_irq.h"
#include "../lib/fake_stranger.h"
#include "../lib/fake_pressure.h"
#include "../lib/fake_resident.h"
#include "controller_scene.h"
#include "ctl/internal.h"

#define MS 1000000ULL

/* A save takes time, so that admissions fall into different buckets. */
static uint64_t save_ns;
static uint64_t read_ns;
static unsigned int nr_files_read;

static inline int slow_save(void *self, const char *data, size_t len)
{
	fake->now_ns += save_ns;
	return fake_save(self, data, len);
}

static inline int throttled_status(void *self, const char *path, struct group_status *ret_status)
{
	int r = fake_status(self, path, ret_status);

	if (!r)
		ret_status->throttled_usec = 1250000;
	nr_files_read++;
	return r;
}

static int status_error;

static inline int late_status(void *self, const char *path, struct group_status *ret_status)
{
	return status_error ? status_error : throttled_status(self, path, ret_status);
}

#define MIB (1ULL << 20)

/* 64 huge pages of 2 MiB on the first node, none on the second. */
static const struct topology_node memory[] = {
	{.id = 0,
	 .memory_bytes = 4096 * MIB,
	 .nr_hugepages = 1,
	 .hugepages = {{.size_bytes = 2 * MIB, .total_pages = 64}}},
	{.id = 1, .memory_bytes = 2048 * MIB},
};

/* Somebody took some of the huge pages without asking. */
static uint64_t nr_free_pages;

static inline uint32_t free_pages(void *self, struct topology_node *ret_nodes)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(memory); i++)
		ret_nodes[i] = topology->memory_nodes[i];
	ret_nodes[0].hugepages[0].free_pages = nr_free_pages;
	/* A scrape takes time too. */
	fake->now_ns += read_ns;
	return ARRAY_SIZE(memory);
}

static const struct machine_port machine_port = {.free_pages = free_pages};

static int process_error;

static inline int usage_of_process(void *self, struct process_usage *ret_usage)
{
	*ret_usage = (struct process_usage){
		.cpu_ns = 1234567890,
		.resident_bytes = 9 * MIB,
		.virtual_bytes = 90 * MIB,
		.nr_fds = 61,
		.max_fds = 1024,
		.started_ns = 1700000000123456789,
	};
	return process_error;
}

static const struct process_port process_port = {.usage = usage_of_process};

static inline struct controller *make_metrics_node(bool with_kernel)
{
	static const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.1",
		.boot_id = "boot",
		.revision = "revision",
		.libbpf = "1.5",
	};
	static struct store_port store;
	static struct groups_port groups;
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &groups,
					       .kernel = with_kernel ? &fake_side_port : NULL,
					       .machine = &machine_port,
					       .process = &process_port,
					       .pressure = with_kernel ? &fake_pressure_port : NULL,
					       .resident = with_kernel ? &fake_resident_port : NULL,
					       .noise = with_kernel ? &fake_noise_port : NULL,
					       .irq = &fake_irq_port,
					       .stranger = &fake_stranger_port,
					       .store = &store};
	struct controller *controller = NULL;
	char error[256] = "";

	store = fake_store;
	store.save = slow_save;
	groups = fake_groups;
	groups.status = late_status;
	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	fake_pressure.sink = &controller_sinks(controller)->pressure;
	fake_resident.sink = &controller_sinks(controller)->resident;
	fake_irq.sink = &controller_sinks(controller)->irq;
	fake_stranger.sink = &controller_sinks(controller)->stranger;
	return controller;
}

static inline struct controller *start_metrics_node(bool with_kernel)
{
	struct controller *controller = make_metrics_node(with_kernel);

	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static inline int set_up_page(void **state)
{
	fake_side_reset();
	memset(&fake_irq, 0, sizeof(fake_irq));
	fake_irq.rows = fake_irq_rows;
	fake_irq.nr = ARRAY_SIZE(fake_irq_rows);
	fake_irq.counts = (struct irq_report){.nr_written = 6,
					      .nr_refused = 2,
					      .nr_failed = 1,
					      .nr_foreign = 3,
					      .nr_fired = 1234};
	memset(&fake_stranger, 0, sizeof(fake_stranger));
	fake_stranger.rows = fake_stranger_rows;
	fake_stranger.nr = ARRAY_SIZE(fake_stranger_rows);
	fake_stranger.counts = (struct stranger_report){.nr_held = 2,
							.nr_moved = 5,
							.nr_restored = 3,
							.nr_failed = 1,
							.nr_reverted = 7,
							.cost_ns = 1234567};
	memset(&fake_pressure, 0, sizeof(fake_pressure));
	fake_pressure.all.state = PRESSURE_MEASURED;
	fake_pressure.all.throttled_ns = 2500000000;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		fake_pressure.all.total_ns[kind] = (uint64_t)(kind + 1) * 1000000001;
	memset(&fake_resident, 0, sizeof(fake_resident));
	fake_noise_reset();
	for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++)
		fake_noise_add(source, "", 1, (uint64_t)(source + 1) * 1000000001);
	save_ns = read_ns = 0;
	nr_free_pages = 50;
	status_error = process_error = 0;
	if (set_up(state))
		return -1;
	topology_free(topology);
	topology = fake_machine_with(2, 4, 2, memory);
	policy.memory = MEMORY_POLICY_STATIC;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] =
		(struct memory_reservation){.node_id = 0, .bytes = 100 * MIB};
	fake_resident.topology = topology;
	return 0;
}

#define PRESSURE_SERIES                                                              \
	"pinfold_pressure_io_stalled_seconds_total{namespace=\"default\",pod=\"a\"," \
	"container="

#endif
