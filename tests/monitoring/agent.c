// SPDX-License-Identifier: Apache-2.0
// LIBS: serve ctl kubelet format core lib
/*
 * agent ADDRESS DIRECTORY: the agent's controller and its HTTP server, on a node that does not exist.
 * The counters of that node grow with the clock at known rates, which are printed as JSON once the
 * server answers: {"selector": rate, ...}. What Prometheus computes from the scrapes is compared with
 * them. Runs until it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>
#include <stdlib.h>

#include "../lib/fake_irq.h"
#include "../lib/fake_kernel.h"
#include "../lib/fake_noise.h"
#include "../lib/fake_pressure.h"
#include "../lib/fake_resident.h"
#include "../unit/controller_scene.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "serve/server.h"

/*
 * Counters of a node that has run for a while: rate() extrapolates to the time at which a counter
 * was 0, if that is near.
 */
#define BASE_S 10000
/*
 * How much faster the clock of that node runs: over five minutes, rate() of a counter that has been
 * known for some seconds is a small part of the true rate, and the alerts have thresholds.
 */
#define SPEED 100

/* What a container waits, in hundredths of a second per second. */
static const struct {
	const char *name;
	unsigned int percent;
} waits[WAIT_CAUSE_NR] = {
	[WAIT_UNATTRIBUTED] = {"unattributed", 1},
	[WAIT_OWN_CONTAINER] = {"own_container", 3},
	[WAIT_POD_SIBLING] = {"pod_sibling", 5},
	[WAIT_OTHER_POD] = {"other_pod", 30},
	[WAIT_HOST] = {"host", 9},
	[WAIT_KERNEL] = {"kernel", 11},
	[WAIT_IDLE] = {"idle", 13},
	[WAIT_OWN_QUOTA] = {"own_quota", 20},
};
#define RUN_PERCENT	  70
#define OUTSIDE_PERCENT	  2
#define PRESSURE_PERCENT  40
#define NOISE_PERCENT	  4
#define THROTTLED_PERCENT 25
#define PROGRAM_PERCENT	  6
#define FIRED_PER_SECOND  50
#define LOST_PER_SECOND	  2
/* Waits of a pod by their length: most take up to 33 us, one in a hundred up to 34 ms. */
#define SHORT_WAITS	99
#define LONG_WAITS	1
#define SHORT_BUCKET	5
#define LONG_BUCKET	15
#define LATENCY_PERCENT 3
/* Of the waits of each container, on CPUs of NUMA nodes 0 and 1. */
#define NODE_0_PERCENT 7
#define NODE_1_PERCENT 4

static struct controller *controller;
static uint64_t started_ns;

/* A counter that began BASE_S ago, in hundredths of what there is. */
static uint64_t grown(uint64_t percent)
{
	uint64_t elapsed_ns = BASE_S * 1000000000ULL + fake->now_ns - started_ns;

	return elapsed_ns / 100 * percent;
}

static int moving_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	static uint64_t cpu_wait_ns[16]; /* the first half of the CPUs is on node 0 */

	cpu_wait_ns[3] = grown(NODE_0_PERCENT);
	cpu_wait_ns[9] = grown(NODE_1_PERCENT);
	*ret_usage = (struct usage){.run_local_ns = grown(RUN_PERCENT),
				    .run_outside_ns = grown(OUTSIDE_PERCENT),
				    .migrations_core = grown(100) / 1000000000,
				    .nr_cpus = ARRAY_SIZE(cpu_wait_ns),
				    .cpu_wait_ns = cpu_wait_ns};
	for (size_t cause = 0; cause < WAIT_CAUSE_NR; cause++)
		ret_usage->wait_ns[cause] = grown(waits[cause].percent);
	return 0;
}

static int moving_latency(void *self, uint64_t cgroup_id, struct latency *ret_latency)
{
	*ret_latency = (struct latency){.sum_ns = grown(LATENCY_PERCENT)};
	ret_latency->counts[SHORT_BUCKET] = grown(100 * SHORT_WAITS) / 1000000000;
	ret_latency->counts[LONG_BUCKET] = grown(100 * LONG_WAITS) / 1000000000;
	return 0;
}

static uint32_t moving_programs(void *self, const struct prog_row **ret_rows)
{
	static struct prog_row row = {.name = "on_switch", .type = "tp_btf", .object = "observe"};

	row.run_time_ns = (int64_t)grown(PROGRAM_PERCENT);
	row.run_count = row.run_time_ns / 500;
	*ret_rows = &row;
	return 1;
}

static int moving_losses(void *self, enum event_counter what, uint64_t *ret_nr)
{
	*ret_nr = what == EVENTS_LOST ? grown(100 * LOST_PER_SECOND) / 1000000000 : 0;
	return 0;
}

/* The node goes on to the present, and the agent looks at it. */
static int live_metrics(void *self, bool openmetrics, struct text *out)
{
	const struct faces_port *faces = controller_faces(controller);

	fake->now_ns = started_ns + SPEED * (clock_monotonic_ns() - started_ns);
	for (uint32_t i = 0; i < fake_noise.nr_entries; i++)
		fake_noise.entries[i].total_ns = grown(NOISE_PERCENT);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		fake_pressure.all.total_ns[kind] = grown(PRESSURE_PERCENT);
	fake_pressure.all.throttled_ns = grown(THROTTLED_PERCENT);
	fake_irq.counts.nr_fired = grown(100 * FIRED_PER_SECOND) / 1000000000;
	controller_tick(controller);
	controller_wake(controller);
	return faces->metrics(faces->self, openmetrics, out);
}

static void make_node(void)
{
	static const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.1",
		.boot_id = "boot",
		.revision = "revision",
	};
	static struct kernel_port kernel;
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &fake_groups,
					       .kernel = &kernel,
					       .pressure = &fake_pressure_port,
					       .noise = &fake_noise_port,
					       .resident = &fake_resident_port,
					       .irq = &fake_irq_port,
					       .store = &fake_store};
	char error[256] = "";

	set_up(NULL);
	fake_side_reset();
	fake_noise_reset();
	for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++)
		fake_noise_add(source, "", 1, 0);
	fake_pressure.all.state = PRESSURE_MEASURED;
	fake_irq.rows = fake_irq_rows;
	fake_irq.nr = ARRAY_SIZE(fake_irq_rows);
	kernel = fake_side_port;
	kernel.usage = moving_usage;
	kernel.latency = moving_latency;
	kernel.programs = moving_programs;
	kernel.events_lost = moving_losses;
	started_ns = fake->now_ns = clock_monotonic_ns();
	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	fake_pressure.sink = controller_pressure_sink(controller);
	fake_resident.topology = topology;
	fake_resident.sink = controller_resident_sink(controller);
	fake_irq.sink = controller_irq_sink(controller);
	assert_int_equal(controller_start(controller), 0);
}

/* Two pods, one with exclusive CPUs; a third one is refused, drift of the first is not repaired, and there is a finding. */
static void play(void)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("b", "web", 500, false),
				   fake_pod("c", "big", 64000, true)};

	scan(controller, pods, ARRAY_SIZE(pods));
	fake->apply_error = -EIO;
	strcpy(fake->apply_path, group_of(GROUP_CONTAINER, "exclusive")->path);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-9");
	fake_side.guard.is_unpinned = true;
	strcpy(fake_side.guard.unpinned, "bpffs is not mounted");
	controller_wake(controller);
}

/* What a counter grows by in a second of our clock, given hundredths for a second of the node's. */
static void print_rate(const char *selector, unsigned int percent)
{
	static const char *separator = "{";

	printf("%s\"%s\": %g", separator, selector, SPEED * percent / 100.0);
	separator = ", ";
}

static void print_rates(void)
{
	char selector[128];

	for (size_t cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		snprintf(selector, sizeof(selector), "pinfold_cpu_wait_seconds_total{cause='%s'}",
			 waits[cause].name);
		print_rate(selector, waits[cause].percent);
	}
	print_rate("pinfold_pod_cpu_seconds_total{placement='local_numa'}", RUN_PERCENT);
	print_rate("pinfold_pod_cpu_seconds_total{placement='outside'}", OUTSIDE_PERCENT);
	print_rate("pinfold_runqueue_latency_seconds_count", 100 * (SHORT_WAITS + LONG_WAITS));
	print_rate("pinfold_runqueue_latency_seconds_sum", LATENCY_PERCENT);
	/* Two containers. */
	print_rate("pinfold_numa_cpu_wait_seconds_total{numa_node='0'}", 2 * NODE_0_PERCENT);
	print_rate("pinfold_numa_cpu_wait_seconds_total{numa_node='1'}", 2 * NODE_1_PERCENT);
	print_rate("pinfold_pressure_cpu_waiting_seconds_total", PRESSURE_PERCENT);
	print_rate("pinfold_pressure_memory_stalled_seconds_total", PRESSURE_PERCENT);
	/* Two exclusive CPUs. */
	print_rate("pinfold_noise_seconds_total{pod='a'}", 2 * NOISE_PERCENT);
	print_rate("pinfold_throttled_seconds_total", THROTTLED_PERCENT);
	print_rate("pinfold_bpf_program_run_seconds_total{program='on_switch'}", PROGRAM_PERCENT);
	puts("}");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct server_options options = {.socket_name = "api.sock"};
	struct faces_port faces;
	struct server *server = NULL;
	sd_event *event = NULL;

	if (argc != 3)
		return 2;
	log_open("agent", LOG_LEVEL_ERR);
	make_node();
	play();
	faces = *controller_faces(controller);
	faces.metrics = live_metrics;
	options.metrics_address = argv[1];
	options.runtime_dir = argv[2];
	options.runtime_dir_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (options.runtime_dir_fd < 0 || sd_event_default(&event) < 0 ||
	    server_open(&options, &faces, event, &server))
		return 1;
	print_rates();
	return sd_event_loop(event);
}
