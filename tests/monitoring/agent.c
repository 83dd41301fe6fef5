// SPDX-License-Identifier: Apache-2.0
// LIBS: serve ctl kubelet format core lib
/*
 * agent ADDRESS DIRECTORY: the agent's controller and its HTTP server, on a node that does not exist.
 * The counters of that node grow with the clock at known rates, which are printed as JSON once the
 * server answers: {"selector": rate, ...}. What Prometheus computes from the scrapes is compared with
 * them. At SIGUSR1 it plays changes that are counted when they happen, stops its clock, and prints how
 * often each has happened since the start: {"selector": number, ...}. Runs until it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
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
#include "../lib/fake_stranger.h"
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
#define REMOTE_PERCENT	  8
#define PROCESS_PERCENT	  12
#define OUTAGE_PERCENT	  14
#define NS_PER_RUN	  500
#define WALK_NS		  125000000ULL
/* Numbers grow fast, so that a rounded one is within the tolerance of a rate. */
#define LOST_PER_SECOND	      200
#define MIGRATIONS_PER_SECOND 300
#define PREEMPTED_PER_SECOND  500
#define JUDGED_PER_SECOND     700
#define MISSED_PER_SECOND     800
#define MENDED_PER_SECOND     900
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

static bool is_frozen;

/* A counter that began BASE_S ago, in hundredths of what there is. */
static uint64_t grown(uint64_t percent)
{
	uint64_t elapsed_ns = BASE_S * 1000000000ULL + fake->now_ns - started_ns;

	return elapsed_ns / 100 * percent;
}

/* The same of a number, by what there is in a second. */
static uint64_t number(uint64_t per_second)
{
	return grown(100 * per_second) / 1000000000;
}

static int moving_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	static uint64_t cpu_wait_ns[16]; /* the first half of the CPUs is on node 0 */

	cpu_wait_ns[3] = grown(NODE_0_PERCENT);
	cpu_wait_ns[9] = grown(NODE_1_PERCENT);
	*ret_usage = (struct usage){.run_local_ns = grown(RUN_PERCENT),
				    .run_outside_ns = grown(OUTSIDE_PERCENT),
				    .run_remote_ns = grown(REMOTE_PERCENT),
				    .preemptions = number(PREEMPTED_PER_SECOND),
				    .migrations_thread = number(MIGRATIONS_PER_SECOND),
				    .migrations_core = number(2 * MIGRATIONS_PER_SECOND),
				    .migrations_llc = number(3 * MIGRATIONS_PER_SECOND),
				    .migrations_numa = number(4 * MIGRATIONS_PER_SECOND),
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
	row.run_count = row.run_time_ns / NS_PER_RUN;
	*ret_rows = &row;
	return 1;
}

static int moving_losses(void *self, enum event_counter what, uint64_t *ret_nr)
{
	*ret_nr = what == EVENTS_LOST ? number(LOST_PER_SECOND) : 0;
	return 0;
}

static uint32_t moving_hooks(void *self, const struct hook_count **ret_counts)
{
	static struct hook_count counts = {.hook = "file_permission"};

	for (uint32_t action = 0; action < ACTION_NR; action++)
		counts.counts[action] = number((action + 1) * JUDGED_PER_SECOND);
	*ret_counts = &counts;
	return 1;
}

static int moving_space(void *self, struct observer_space *ret_space)
{
	*ret_space = (struct observer_space){.nr_slots = 256,
					     .nr_used = 2,
					     .nr_refused = (uint32_t)number(LOST_PER_SECOND),
					     .nr_forgotten = number(2 * LOST_PER_SECOND),
					     .nr_wrapped = (uint32_t)number(3 * LOST_PER_SECOND)};
	return 0;
}

static int moving_process(void *self, struct process_usage *ret_usage)
{
	*ret_usage = (struct process_usage){
		.cpu_ns = grown(PROCESS_PERCENT), .resident_bytes = 9 << 20, .max_fds = 1024};
	return 0;
}

static uint64_t nr_saved;

static int counted_save(void *self, const char *data, size_t len)
{
	nr_saved++;
	return fake_save(self, data, len);
}

/* The node goes on to the present, and the agent looks at it. */
static int live_metrics(void *self, bool openmetrics, struct text *out)
{
	const struct faces_port *faces = controller_faces(controller);

	if (is_frozen)
		return faces->metrics(faces->self, openmetrics, out);
	fake->now_ns = started_ns + SPEED * (clock_monotonic_ns() - started_ns);
	for (uint32_t i = 0; i < fake_noise.nr_entries; i++)
		fake_noise.entries[i].total_ns = grown(NOISE_PERCENT);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		fake_pressure.all.total_ns[kind] = grown(PRESSURE_PERCENT + kind);
	fake_pressure.all.throttled_ns = grown(THROTTLED_PERCENT);
	fake_side.guard.recursion_misses = number(MISSED_PER_SECOND);
	fake_side.guard.outage_ns = grown(OUTAGE_PERCENT);
	fake_side.guard.nr_mended[MENDED_CONFIG] = number(MENDED_PER_SECOND);
	fake_side.guard.nr_mended[MENDED_PINS] = number(2 * MENDED_PER_SECOND);
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
	static const struct process_port process = {.usage = moving_process};
	static struct kernel_port kernel;
	static struct store_port store;
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &fake_groups,
					       .kernel = &kernel,
					       .pressure = &fake_pressure_port,
					       .noise = &fake_noise_port,
					       .resident = &fake_resident_port,
					       .irq = &fake_irq_port,
					       .stranger = &fake_stranger_port,
					       .process = &process,
					       .store = &store};
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
	kernel.hook_counts = moving_hooks;
	kernel.observer_space = moving_space;
	store = fake_store;
	store.save = counted_save;
	/* Each pass and each walk has done this much. */
	fake_irq.counts = (struct irq_report){
		.nr_written = 2, .nr_refused = 3, .nr_failed = 5, .nr_foreign = 7, .nr_fired = 11};
	fake_stranger.counts = (struct stranger_report){.nr_moved = 2,
							.nr_restored = 3,
							.nr_failed = 5,
							.nr_reverted = 7,
							.cost_ns = WALK_NS};
	started_ns = fake->now_ns = clock_monotonic_ns();
	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	fake_pressure.sink = &controller_sinks(controller)->pressure;
	fake_resident.topology = topology;
	fake_resident.sink = &controller_sinks(controller)->resident;
	fake_irq.sink = &controller_sinks(controller)->irq;
	fake_stranger.sink = &controller_sinks(controller)->stranger;
	assert_int_equal(controller_start(controller), 0);
}

static struct pod_spec *pods[6];

/* Two pods, one with exclusive CPUs; a third one is refused, drift of the first is not repaired, and there is a finding. */
static void play(void)
{
	pods[0] = fake_pod("a", "exclusive", 2000, true);
	pods[1] = fake_pod("b", "web", 500, false);
	pods[2] = fake_pod("c", "big", 64000, true);
	scan(controller, pods, 3);
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

	printf("%s\"%s\": %.10g", separator, selector, SPEED * percent / 100.0);
	separator = ", ";
}

static void print_number_rate(const char *selector, unsigned int per_second)
{
	print_rate(selector, 100 * per_second);
}

static void print_rates(void)
{
	static const char *const pressures[PRESSURE_KIND_NR] = {
		[PRESSURE_CPU_SOME] = "pinfold_pressure_cpu_waiting_seconds_total",
		[PRESSURE_CPU_FULL] = "pinfold_pressure_cpu_stalled_seconds_total",
		[PRESSURE_MEMORY_SOME] = "pinfold_pressure_memory_waiting_seconds_total",
		[PRESSURE_MEMORY_FULL] = "pinfold_pressure_memory_stalled_seconds_total",
		[PRESSURE_IO_SOME] = "pinfold_pressure_io_waiting_seconds_total",
		[PRESSURE_IO_FULL] = "pinfold_pressure_io_stalled_seconds_total",
	};
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
	print_rate("pinfold_pod_cpu_seconds_total{placement='remote_numa'}", REMOTE_PERCENT);
	print_number_rate("pinfold_pod_migrations_total{span='thread'}", MIGRATIONS_PER_SECOND);
	print_number_rate("pinfold_pod_migrations_total{span='core'}", 2 * MIGRATIONS_PER_SECOND);
	print_number_rate("pinfold_pod_migrations_total{span='llc'}", 3 * MIGRATIONS_PER_SECOND);
	print_number_rate("pinfold_pod_migrations_total{span='numa'}", 4 * MIGRATIONS_PER_SECOND);
	print_number_rate("pinfold_pod_preemptions_total", PREEMPTED_PER_SECOND);
	/* Two containers. */
	print_rate("pinfold_numa_cpu_wait_seconds_total{numa_node='0'}", 2 * NODE_0_PERCENT);
	print_rate("pinfold_numa_cpu_wait_seconds_total{numa_node='1'}", 2 * NODE_1_PERCENT);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		print_rate(pressures[kind], PRESSURE_PERCENT + kind);
	/* Two exclusive CPUs. */
	print_rate("pinfold_noise_seconds_total{pod='a'}", 2 * NOISE_PERCENT);
	print_rate("pinfold_throttled_seconds_total", THROTTLED_PERCENT);
	print_rate("pinfold_bpf_program_run_seconds_total{program='on_switch'}", PROGRAM_PERCENT);
	print_number_rate("pinfold_bpf_program_runs_total{program='on_switch'}",
			  PROGRAM_PERCENT * (1000000000 / NS_PER_RUN / 100));
	print_number_rate("pinfold_bpf_events_lost_total{map='events'}", LOST_PER_SECOND);
	print_number_rate("pinfold_observer_lost_total{what='containers'}", LOST_PER_SECOND);
	print_number_rate("pinfold_observer_lost_total{what='tasks'}", 2 * LOST_PER_SECOND);
	print_number_rate("pinfold_observer_lost_total{what='histograms'}", 3 * LOST_PER_SECOND);
	print_number_rate("pinfold_enforcement_actions_total{action='allow'}", JUDGED_PER_SECOND);
	print_number_rate("pinfold_enforcement_actions_total{action='audit'}",
			  2 * JUDGED_PER_SECOND);
	print_number_rate("pinfold_enforcement_actions_total{action='deny'}",
			  3 * JUDGED_PER_SECOND);
	print_number_rate("pinfold_guard_missed_calls_total", MISSED_PER_SECOND);
	print_number_rate("pinfold_guard_mended_total{what='config'}", MENDED_PER_SECOND);
	print_number_rate("pinfold_guard_mended_total{what='pins'}", 2 * MENDED_PER_SECOND);
	print_rate("pinfold_agent_outage_seconds_total", OUTAGE_PERCENT);
	print_rate("process_cpu_seconds_total", PROCESS_PERCENT);
	puts("}");
	fflush(stdout);
}

/* --- changes ---------------------------------------------------------------------------------- */

#define UNPINNED_S 5

static void set_cpus(struct pod_spec *spec, int64_t mcpu)
{
	spec->containers->request.cpu_mcpu = spec->containers->limit.cpu_mcpu = mcpu;
}

/* Beside what was played at the start: a pod is admitted, resized, and in vain; drift is repaired. */
static void play_changes(void)
{
	const struct runtime_sink *runtime = &controller_sinks(controller)->runtime;
	const struct noise_sink *noise = &controller_sinks(controller)->noise;
	const struct noise_stranger stranger = {.pid = 99, .cpu = 2};

	tamper("web", GROUP_MEMORY_MAX, "4096");
	controller_wake(controller);
	pods[3] = fake_pod("d", "own", 2000, true);
	scan(controller, pods, 4);
	set_cpus(pods[3], 4000);
	scan(controller, pods, 4);
	set_cpus(pods[3], 40000);
	scan(controller, pods, 4);
	runtime->pinned(runtime->self, "id", UNPINNED_S * 1000000000ULL);
	noise->stranger(noise->self, &stranger);
	noise->stranger(noise->self, &stranger);
	/* Who caused the drift is not told any more. */
	fake->now_ns += 6000000000;
	is_frozen = true;
}

static void print_count(const char *selector, double count)
{
	static const char *separator = "{";

	printf("%s\"%s\": %.10g", separator, selector, count);
	separator = ", ";
}

static void print_counts(void)
{
	const unsigned int nr_passes = fake_irq.nr_passes, nr_walks = fake_stranger.nr_walks;

	/*
	 * a, b, d, and the resize of d, which is granted anew; c, whose refusal has other numbers after
	 * each of the two changes of d, and the resize in vain.
	 */
	print_count("pinfold_admissions_total{result='admitted'}", 4);
	print_count("pinfold_admissions_total{reason='cpus'}", 4);
	print_count("pinfold_container_assignments_total{assignment_type='node_exclusive'}", 3);
	print_count("pinfold_container_assignments_total{assignment_type='node_shared'}", 1);
	print_count("resource_manager_allocations_total{resource_name='cpu',source='node'}", 3);
	print_count("resource_manager_allocation_errors_total{resource_name='cpu',source='node'}",
		    4);
	print_count(
		"pinfold_aligned_allocations_total{scope='container',boundary='numa_node',result='aligned'}",
		3);
	print_count("pinfold_resizes_total{result='admitted'}", 1);
	print_count("pinfold_resizes_total{result='rejected'}", 1);
	print_count("pinfold_runtime_unpinned_seconds_total", UNPINNED_S);
	print_count("pinfold_state_writes_total{result='ok'}", (double)nr_saved);
	print_count("pinfold_state_writes_total{result='failed'}", 0);
	print_count("pinfold_state_restore_total{result='absent'}", 1);
	print_count("pinfold_drift_detected_total{attribute='memory',cause='unknown'}", 1);
	print_count("pinfold_drift_repaired_total{attribute='memory',result='ok'}", 1);
	print_count("pinfold_drift_detected_total{attribute='cpus',cause='unknown'}", 1);
	print_count("pinfold_drift_repaired_total{attribute='cpus',result='ok'}", 0);
	print_count("pinfold_irq_writes_total{result='done'}", 2 * nr_passes);
	print_count("pinfold_irq_writes_total{result='managed'}", 3 * nr_passes);
	print_count("pinfold_irq_writes_total{result='failed'}", 5 * nr_passes);
	print_count("pinfold_irq_foreign_changes_total", 7 * nr_passes);
	print_count("pinfold_exclusive_cpu_interrupts_total", 11 * nr_passes);
	print_count("pinfold_stranger_moves_total{result='moved'}", 2 * nr_walks);
	print_count("pinfold_stranger_moves_total{result='restored'}", 3 * nr_walks);
	print_count("pinfold_stranger_moves_total{result='failed'}", 5 * nr_walks);
	print_count("pinfold_stranger_set_back_total", 7 * nr_walks);
	print_count("pinfold_stranger_walks_total", nr_walks);
	print_count("pinfold_stranger_walk_cpu_seconds_total", WALK_NS / 1e9 * nr_walks);
	print_count("pinfold_stranger_seen_total", 2);
	puts("}");
	fflush(stdout);
}

static int change(sd_event_source *source, const struct signalfd_siginfo *info, void *unused)
{
	play_changes();
	print_counts();
	return 0;
}

int main(int argc, char **argv)
{
	struct server_options options = {.socket_name = "api.sock"};
	struct faces_port faces;
	struct server *server = NULL;
	sd_event *event = NULL;
	sigset_t signals;

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
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) ||
	    sd_event_add_signal(event, NULL, SIGUSR1, change, NULL) < 0)
		return 1;
	print_rates();
	return sd_event_loop(event);
}
