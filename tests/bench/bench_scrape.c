// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl bpf kubelet format core lib
/*
 * What a scrape costs, and how much memory the agent takes, with 250 pods of three containers on 256
 * CPUs and 8 NUMA nodes. The observer's reader works on maps that are made up: memory laid out as
 * the kernel would. Everything else of the kernel's side is stubbed, and cheap.
 *
 *   granted   each container ran on the CPUs that its cpuset has
 *   all       each container ran on each of the 256 CPUs
 *
 * A scrape shows what the last look at the counters read, which comes every two seconds and has a figure
 * of its own.
 *
 * The page must have as many series as `pinfold metrics budget` says for such a node. Memory is that
 * of a process of its own whose history is full: one that has run for a day.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/fake_world.h"
#include "../lib/fake_irq.h"
#include "../lib/fake_resident.h"
#include "../lib/fake_stranger.h"
#include "bench.h"
#include "bench_controller.h"
#include "bench_pods.h"
#include "bpf/observe_maps.h"
#include "ctl/counters.h"
#include "ctl/pressure_ring.h"
#include "ctl/pressure_samples.h"
#include "format/bpf_inventory.h"
#include "format/metrics.h"
#include "lib/heap.h"
#include "lib/log.h"
#include "lib/text.h"

#define NR_PODS	    250
#define NR_CPUS	    256
#define NR_NODES    8
#define NR_FEATURES 15
#define NR_PROGRAMS 25
#define NR_MAPS	    7
#define NR_NOISE    12 /* programs of noise; the pressure has one */
#define SIZE	    "\"pods\": 250, \"containers\": 750, \"cpus\": 256, \"nodes\": 8"
#define GIB	    (1ULL << 30)
#define SECOND_NS   1000000000ULL

static struct config config;
static struct policy policy;
static struct topology *topology;
static struct pod_spec *specs[NR_PODS];
static struct source_pod pods[NR_PODS];
static struct controller *controller;

static void die(const char *what)
{
	fprintf(stderr, "bench_scrape: %s\n", what);
	exit(1);
}

static void print_bytes(const char *name, double bytes)
{
	printf("{\"name\": \"%s\", \"params\": {" SIZE "}, \"unit\": \"bytes\", \"median\": %.0f, "
	       "\"p99\": %.0f, \"n\": 1}\n",
	       name, bytes, bytes);
	fflush(stdout);
}

/* --- the observer's maps ------------------------------------------------------------------------- */

static struct observe_control control = {
	.version = ABI_VERSION,
	.nr_cpus = NR_CPUS,
	.nr_slots = 1024 + 1,
	.mask_words = NR_CPUS / 64,
};
static struct observe_slot slots[1024 + 1];
static struct observe_shown shown[1024 + 1];
static struct observer observer = {.control = &control, .slots = slots, .shown = shown};

static void *map_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("no memory for the maps");
	return memory;
}

static void make_maps(void)
{
	observer.topology = topology;
	observer.counters = map_memory(control.nr_slots * NR_CPUS * sizeof(*observer.counters));
	observer.cpus = map_memory(NR_CPUS * sizeof(*observer.cpus));
	for (uint32_t cpu = 0; cpu < NR_CPUS; cpu++) {
		observer.cpus[cpu].clock = SECOND_NS;
		observer.cpus[cpu].monotonic_ns = SECOND_NS;
	}
}

static void count(uint32_t slot, uint32_t cpu)
{
	struct observe_counter *counter = &observer.counters[(size_t)slot * NR_CPUS + cpu];

	*counter = (struct observe_counter){
		.run_ns = 7000000000ULL + cpu, .switches = 1000, .migrations_core = 10};
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		counter->wait_ns[cause] = 12345678 + slot;
	for (int bucket = 0; bucket < LATENCY_BUCKETS; bucket++)
		counter->latencies[bucket] = 100 + cpu;
	counter->latency_ns = 10 * (12345678ULL + slot);
	counter->longest_ns = 4000000;
}

/* Give each container a slot, and let it have run on these CPUs. */
static void fill_maps(bool everywhere)
{
	uint32_t slot = 0;

	for (uint32_t i = 0; i < fake->nr_groups; i++) {
		const struct fake_group *group = fake_at(i);
		struct group_status status;

		if (group->role != GROUP_CONTAINER || fake_status(NULL, group->path, &status))
			continue;
		slots[++slot] = (struct observe_slot){
			.cgroup_id = status.cgroup_id, .nodes = 1, .level = 3, .pod = slot};
		for (uint32_t cpu = 0; cpu < NR_CPUS; cpu++)
			if (everywhere || cpuset_has(&status.effective_cpus, cpu))
				count(slot, cpu);
	}
	if (slot != NR_PODS * BENCH_CONTAINERS)
		die("not every container was admitted");
}

/* --- ports ----------------------------------------------------------------------------------------- */

/* A day of passes is to fill the history, not to measure the reader. */
static bool is_filling;

static int read_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	struct observe_usage usage;
	int r;

	if (is_filling)
		return fake_usage(self, cgroup_id, ret_usage);
	r = observe_usage(&observer, cgroup_id, &usage);
	if (r)
		return r;
	*ret_usage = (struct usage){
		.run_local_ns = usage.run_local_ns,
		.run_remote_ns = usage.run_remote_ns,
		.run_outside_ns = usage.run_outside_ns,
		.switches = usage.switches,
		.preemptions = usage.preemptions,
		.migrations_thread = usage.migrations_thread,
		.migrations_core = usage.migrations_core,
		.migrations_llc = usage.migrations_llc,
		.migrations_numa = usage.migrations_numa,
		.nr_cpus = usage.nr_cpus,
		.run_ns = usage.run_ns,
		.outside_ns = usage.outside_ns,
		.remote_ns = usage.remote_ns,
	};
	memcpy(ret_usage->wait_ns, usage.wait_ns, sizeof(ret_usage->wait_ns));
	return 0;
}

static int read_latency(void *self, uint64_t cgroup_id, struct latency *ret_latency)
{
	return observe_latency(&observer, cgroup_id, ret_latency);
}

static int read_space(void *self, struct observer_space *ret_space)
{
	*ret_space =
		(struct observer_space){.nr_slots = 1024, .nr_used = NR_PODS * BENCH_CONTAINERS};
	return 0;
}

static uint32_t list_features(void *self, const struct feature_row **ret_rows)
{
	static struct feature_row rows[NR_FEATURES];

	for (uint32_t i = 0; i < NR_FEATURES; i++) {
		rows[i] = (struct feature_row){.state = FEATURE_YES};
		snprintf(rows[i].name, sizeof(rows[i].name), "feature_%u", i);
	}
	*ret_rows = rows;
	return NR_FEATURES;
}

static uint32_t list_programs(void *self, const struct prog_row **ret_rows)
{
	static struct prog_row rows[NR_PROGRAMS];

	for (uint32_t i = 0; i < NR_PROGRAMS; i++) {
		rows[i] = (struct prog_row){.type = "lsm", .object = "guard", .attached = true};
		snprintf(rows[i].name, sizeof(rows[i].name), "program_%u", i);
	}
	*ret_rows = rows;
	return NR_PROGRAMS;
}

static void list_maps(void *self, struct bpf_inventory *inventory)
{
	for (uint32_t i = 0; i < NR_MAPS; i++) {
		struct map_row *row = bpf_inventory_add_map(inventory);

		if (!row)
			die("no memory for the maps");
		row->used = 1000;
		row->max_entries = 4096;
		snprintf(row->name, sizeof(row->name), "map_%u", i);
	}
}

static uint32_t list_hooks(void *self, const struct hook_count **ret_counts)
{
	static struct hook_count counts[HOOK_NR];

	for (uint32_t i = 0; i < HOOK_NR; i++)
		snprintf(counts[i].hook, sizeof(counts[i].hook), "hook_%u", i);
	*ret_counts = counts;
	return HOOK_NR;
}

static const struct pressure_sink *pressure_sink;

static int compare_rows(const void *left, const void *right)
{
	const struct pressure_row *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

/* Everything grows on every CPU, so whatever is kept of it is written. */
static int sample_pressure(void *self, const struct pressure_wanted *wanted)
{
	const uint32_t nr = wanted->nr_rows;
	struct pressure_row *rows = calloc(nr + 1, sizeof(*rows));
	struct pressure_cell *cells = calloc(wanted->nr_cells + 1, sizeof(*cells));

	if (!rows || !cells)
		die("no memory for the pressure");
	for (uint32_t i = 0; i < wanted->nr_cells; i++) {
		cells[i].cpu = wanted->cells[i].cpu;
		for (int kind = 0; kind < PRESSURE_CPU_KIND_NR; kind++)
			cells[i].time_ns[kind] = (uint32_t)(fake->now_ns / (2 + (uint64_t)kind));
	}
	for (uint32_t i = 0; i < nr; i++) {
		rows[i] = wanted->rows[i];
		rows[i].state = PRESSURE_MEASURED;
		rows[i].cells = PRESSURE_CELLS_READ;
		rows[i].read_ns = fake->now_ns;
		for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
			rows[i].total_ns[kind] = rows[i].updated_total_ns[kind] =
				fake->now_ns / 100;
		rows[i].updated_ns = fake->now_ns;
		rows[i].due_ns = fake->now_ns + 2 * SECOND_NS;
	}
	qsort(rows, nr, sizeof(*rows), compare_rows);
	pressure_sink->sampled(pressure_sink->self, 0, rows, nr, cells);
	free(rows);
	free(cells);
	return 0;
}

static void wait_nowhere(void *self, char *ret_text, size_t size)
{
	*ret_text = '\0';
}

static void list_others(struct bpf_inventory *inventory, const char *object, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct prog_row *row = bpf_inventory_add_prog(inventory);

		if (!row)
			die("no memory for the programs");
		row->recursion_misses = 0;
		snprintf(row->name, sizeof(row->name), "%s_%u", object, i);
	}
}

static void list_pressure(void *self, struct bpf_inventory *inventory)
{
	list_others(inventory, "pressure", 1);
}

static void list_noise(void *self, struct bpf_inventory *inventory)
{
	list_others(inventory, "noise", NR_NOISE);
}

static const struct pressure_port pressure_port = {
	.sample = sample_pressure, .list = list_pressure, .waits_in = wait_nowhere};

static int watch_noise(void *self, const struct noise_grant *grants, uint32_t nr)
{
	return 0;
}

static enum noise_state noise_state(void *self)
{
	return NOISE_COUNTING;
}

static bool counts_noise(void *self, enum noise_source source)
{
	return true;
}

static int read_noise(void *self, uint32_t cpu, uint64_t cgroup_id, struct noise_entry *ret_entries,
		      uint32_t *ret_nr)
{
	for (uint32_t i = 0; i < NOISE_SOURCE_NR; i++)
		ret_entries[i] =
			(struct noise_entry){.source = i, .count = 10 + cpu, .total_ns = 12345};
	*ret_nr = NOISE_SOURCE_NR;
	return 0;
}

static void tell_nobody(void *self, bool wanted)
{
}

static uint64_t none_untold(void *self)
{
	return 0;
}

static const struct noise_port noise_port = {.watch = watch_noise,
					     .list = list_noise,
					     .state = noise_state,
					     .counts = counts_noise,
					     .read = read_noise,
					     .tell_strangers = tell_nobody,
					     .untold = none_untold};

static int usage_of_process(void *self, struct process_usage *ret_usage)
{
	*ret_usage = (struct process_usage){.cpu_ns = 1, .resident_bytes = 1, .nr_fds = 1};
	return 0;
}

static const struct process_port process_port = {.usage = usage_of_process};

static struct kernel_port kernel;
static struct controller_ports ports;

static void make_ports(void)
{
	kernel = fake_kernel;
	kernel.usage = read_usage;
	kernel.latency = read_latency;
	kernel.observer_space = read_space;
	kernel.features = list_features;
	kernel.programs = list_programs;
	kernel.list = list_maps;
	kernel.hook_counts = list_hooks;
	ports = fake_ports;
	ports.kernel = &kernel;
	ports.pressure = &pressure_port;
	ports.resident = &fake_resident_port;
	ports.noise = &noise_port;
	ports.process = &process_port;
	ports.irq = &fake_irq_port;
	ports.stranger = &fake_stranger_port;
}

/* --- the stage ------------------------------------------------------------------------------------- */

static void make_stage(void)
{
	static struct topology_node memory[NR_NODES];
	static const struct irq_row irq = {.name = "eth0",
					   .affinity = "0",
					   .effective = "0",
					   .original = "",
					   .exclusive = "",
					   .state = IRQ_STATE_ALLOWED};

	fake_world_make();
	for (uint32_t i = 0; i < NR_NODES; i++)
		memory[i] = (struct topology_node){.id = i, .memory_bytes = 64 * GIB};
	topology = fake_machine_with(NR_NODES, NR_CPUS / 2 / NR_NODES, 2, memory);
	fake_resident.topology = topology;
	fake_irq.rows = &irq;
	fake_irq.nr = 1;
	config_default(&config);
	config.metrics.level = METRICS_CONTAINER;
	config.policy.cpu_options.strict_reservation = true;
	config.policy.has_reserved_list = true;
	cpuset_add(&config.policy.reserved_list, 0);
	cpuset_add(&config.policy.reserved_list, 128);
	policy = config.policy;
	policy.memory = MEMORY_POLICY_STATIC;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] = (struct memory_reservation){.node_id = 0, .bytes = GIB};
	for (int i = 0; i < NR_PODS; i++) {
		specs[i] = bench_pod(i);
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = 1, .name = specs[i]->name};
	}
}

static void start(void)
{
	const struct source_sink *sink;

	controller = bench_controller_start(topology, &policy, &config, &ports);
	pressure_sink = &controller_sinks(controller)->pressure;
	fake_resident.sink = &controller_sinks(controller)->resident;
	fake_irq.sink = &controller_sinks(controller)->irq;
	fake_stranger.sink = &controller_sinks(controller)->stranger;
	sink = &controller_sinks(controller)->source;
	sink->scanned(sink->self, pods, NR_PODS, true);
	controller_wake(controller);
	if (fake->nr_groups != 1 + NR_PODS * (1 + BENCH_CONTAINERS))
		die("not every pod was admitted");
}

static void pass_time(uint64_t ns)
{
	fake->now_ns += ns;
	controller_tick(controller);
	controller_wake(controller);
}

/* --- scrapes ------------------------------------------------------------------------------------- */

static void scrape(void *unused)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	if (faces->metrics(faces->self, false, &page))
		die("no page of metrics");
}

static void look(void *unused)
{
	if (ctl_look_counters(controller))
		die("no memory for a look");
}

static uint64_t count_lines(const char *page, const char *begin)
{
	uint64_t nr = 0;

	for (const char *line = page; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		nr += !strncmp(line, begin, strlen(begin));
	}
	return nr;
}

/* As many as the formula says, and as many as the page says of itself. */
static void check_series(void)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	uint64_t population[PER_NR] = {
		[PER_NODE] = 1,
		[PER_NUMA_NODE] = NR_NODES,
		[PER_FEATURE] = NR_FEATURES,
		[PER_HOOK] = HOOK_NR,
		[PER_PROGRAM] = NR_PROGRAMS + 1 + NR_NOISE,
		[PER_MAP] = NR_MAPS,
		[PER_POD] = NR_PODS,
		[PER_EXCLUSIVE_POD] = (NR_PODS + 3) / 4,
		[PER_CONTAINER] = NR_PODS * BENCH_CONTAINERS,
	};
	uint64_t nr, expected;
	char said[64];

	if (faces->metrics(faces->self, false, &page))
		die("no page of metrics");
	population[PER_FINDING] = count_lines(page.data, "pinfold_finding_info{");
	expected = metrics_budget(population, METRICS_CONTAINER);
	nr = count_lines(page.data, "pinfold_") + count_lines(page.data, "process_") +
	     count_lines(page.data, "resource_manager_");
	snprintf(said, sizeof(said), "\npinfold_scrape_series %ju\n", (uintmax_t)expected);
	if (nr != expected || !strstr(page.data, said)) {
		fprintf(stderr, "bench_scrape: the page has %ju series, the formula %ju\n",
			(uintmax_t)nr, (uintmax_t)expected);
		exit(1);
	}
	print_bytes("scrape_750_containers_page", (double)page.len);
}

/* --- memory -------------------------------------------------------------------------------------- */

static double rss_anon_bytes(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];
	double kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %lf kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	if (kib < 0)
		die("no RssAnon in /proc/self/status");
	return kib * 1024;
}

/* Two passes two seconds apart give a minute its sample; a pass a minute later is a gap. */
static void fill_history(void)
{
	is_filling = true;
	for (int i = 0; i < PRESSURE_RING_FINE + 10; i++)
		pass_time(2 * SECOND_NS);
	for (int i = 0; i < PRESSURE_RING_MINUTES + 10; i++) {
		pass_time(58 * SECOND_NS);
		pass_time(2 * SECOND_NS);
	}
	is_filling = false;
}

/* The agent has copies of them. */
static void free_pods(void)
{
	for (int i = 0; i < NR_PODS; i++)
		pod_spec_free(specs[i]);
}

/*
 * The whole process without the made-up pods; the maps and the cgroups are shared memory, which is not
 * the agent's, as the kernel's is not.
 */
static double measure_memory(void)
{
	double bytes = 0;
	int pipe_fds[2], status;
	pid_t child;

	if (pipe(pipe_fds))
		die("pipe");
	child = fork();
	if (!child) {
		start();
		free_pods();
		fill_maps(true);
		fill_history();
		for (int i = 0; i < 10; i++) {
			pass_time(2 * SECOND_NS);
			scrape(NULL);
		}
		bytes = rss_anon_bytes();
		_exit(write(pipe_fds[1], &bytes, sizeof(bytes)) != sizeof(bytes));
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &bytes, sizeof(bytes)) != sizeof(bytes) ||
	    waitpid(child, &status, 0) != child || status)
		die("the process that measures memory failed");
	close(pipe_fds[0]);
	return bytes;
}

/* docs/performance.md has the formula of the history. */
static void bench_memory(void)
{
	double history = (double)NR_PODS * (BENCH_CONTAINERS + 1) * sizeof(struct sampled_group);
	double all = measure_memory();

	print_bytes("agent_rss_750_containers", all);
	print_bytes("agent_rss_750_containers_history", history);
	print_bytes("agent_rss_750_containers_above_history", all - history);
	fake_world_clear();
	fake_world_make();
}

/* ------------------------------------------------------------------------------------------------- */

/* With the argument "scrape" the memory is left out, which takes most of the time. */
int main(int argc, char **argv)
{
	heap_set_up();
	log_open("bench_scrape", LOG_LEVEL_ERR);
	make_stage();
	make_maps();
	make_ports();
	if (argc < 2 || strcmp(argv[1], "scrape"))
		bench_memory();
	start();
	for (int i = 0; i < 15; i++)
		pass_time(2 * SECOND_NS);
	fill_maps(false);
	look(NULL);
	check_series();
	bench_run("scrape_750_containers", "{" SIZE ", \"ran_on\": \"granted\"}", scrape, NULL);
	bench_run("look_750_containers", "{" SIZE ", \"ran_on\": \"granted\"}", look, NULL);
	fill_maps(true);
	look(NULL);
	bench_run("scrape_750_containers", "{" SIZE ", \"ran_on\": \"all\"}", scrape, NULL);
	bench_run("look_750_containers", "{" SIZE ", \"ran_on\": \"all\"}", look, NULL);
	controller_free(controller);
	free_pods();
	topology_free(topology);
	fake_world_clear();
	return 0;
}
