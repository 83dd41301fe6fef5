// SPDX-License-Identifier: Apache-2.0
// LIBS: serve ctl kubelet format core lib
/*
 * What the agent costs with 250 pods on 256 CPUs and 8 NUMA nodes: memory, start,
 * a round of looking, a scrape (the page alone, and over HTTP), and the time from
 * word of a foreign write to the correcting one. The kernel's side is stubbed:
 * what is measured is the agent's own.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/fake_world.h"
#include "bench.h"
#include "bench_controller.h"
#include "core/admit/admit.h"
#include "format/state.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/worker.h"
#include "serve/server.h"

#define NR_PODS	    250
#define NR_DRIFTS   2001
#define NR_REQUESTS 201
#define PARAMS	    "{\"pods\": 250, \"cpus\": 256, \"nodes\": 8}"

static struct config config;
static struct policy policy;
static struct topology *topology;
static struct pod_spec *specs[NR_PODS];
static struct source_pod pods[NR_PODS];
static struct controller *controller;
static struct groups_port groups_port;
static struct controller_ports ports;

static void die(const char *what)
{
	fprintf(stderr, "bench_agent: %s\n", what);
	exit(1);
}

static void print_line(const char *name, const char *params, const char *unit, double *samples,
		       unsigned int nr)
{
	qsort(samples, nr, sizeof(samples[0]), bench_compare);
	printf("{\"name\": \"%s\", \"params\": %s, \"unit\": \"%s\", \"median\": %.0f, \"p99\": %.0f, "
	       "\"n\": %u}\n",
	       name, params, unit, samples[nr / 2], samples[nr * 99 / 100], nr);
	fflush(stdout);
}

/* --- the stage ----------------------------------------------------------------------------------- */

static void make_stage(void)
{
	fake_world_make();
	topology = fake_machine(8, 16, 2);
	config_default(&config);
	config.policy.cpu_options.strict_reservation = true;
	config.policy.has_reserved_list = true;
	cpuset_add(&config.policy.reserved_list, 0);
	cpuset_add(&config.policy.reserved_list, 128);
	policy = config.policy;
	for (int i = 0; i < NR_PODS; i++) {
		char name[32];

		/* every fourth has CPUs of its own: 63 pods with 3 each */
		snprintf(name, sizeof(name), "pod-%03d", i);
		specs[i] = fake_pod(name, "main", i % 4 ? 100 : 3000, i % 4 == 0);
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = 1, .name = name};
	}
}

/* Steps run on a thread, as the cgroup room runs them: the handing over is part of the cost. */
static struct worker_pool *pool;

struct step_job {
	struct worker_job job; /* first */
	const struct step *step;
	char *error;
};

static int run_step(struct worker_job *job)
{
	struct step_job *step_job = (struct step_job *)job;

	return fake_apply(NULL, step_job->step, step_job->error);
}

static int apply_on_a_thread(void *self, const struct step *step, char error[GROUP_ERROR_MAX])
{
	struct step_job job = {.job.run = run_step, .step = step, .error = error};

	if (worker_run(pool, step->path, &job.job) == -EINPROGRESS)
		die("a step took longer than the grace");
	return 0;
}

static void make_threads(void)
{
	if (worker_pool_new(WORKER_THREADS, &pool))
		die("no threads");
	worker_pool_set_grace(pool, 10000000000ULL);
	groups_port = fake_groups;
	groups_port.apply = apply_on_a_thread;
	ports = fake_ports;
	ports.groups = &groups_port;
}

static void start(void *unused)
{
	controller = bench_controller_start(topology, &policy, &config, &ports);
}

static void start_and_stop(void *unused)
{
	start(NULL);
	controller_free(controller);
}

static void scan(void)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;
	struct json_object *json = NULL;

	sink->scanned(sink->self, pods, NR_PODS, true);
	controller_wake(controller);
	if (fake->nr_groups != 1 + 2 * NR_PODS)
		die("not every pod was admitted");
	(void)json;
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

static void scrape(void *unused)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	if (faces->metrics(faces->self, false, &page) || page.len < 10000)
		die("the page of metrics is not whole");
}

/*
 * A process of its own, so that nothing was freed before that could be used again:
 * all pods admitted, some rounds, some scrapes.
 */
static double measure_memory(void)
{
	double before, grown = 0;
	int pipe_fds[2], status;
	pid_t child;

	if (pipe(pipe_fds))
		die("pipe");
	child = fork();
	if (!child) {
		before = rss_anon_bytes();
		start(NULL);
		scan();
		for (int i = 0; i < 10; i++) {
			controller_wake(controller);
			scrape(NULL);
		}
		grown = rss_anon_bytes() - before;
		_exit(write(pipe_fds[1], &grown, sizeof(grown)) != sizeof(grown));
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &grown, sizeof(grown)) != sizeof(grown) ||
	    waitpid(child, &status, 0) != child || status)
		die("the process that measures memory failed");
	close(pipe_fds[0]);
	return grown;
}

static void bench_memory(void)
{
	double samples[5];

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		samples[i] = measure_memory();
	print_line("agent_rss_250_pods", PARAMS, "bytes", samples, ARRAY_SIZE(samples));
}

/* --- drift --------------------------------------------------------------------------------------- */

static uint64_t corrected_ns;

/* Two threads take part and one waits for the other: the time that passes, load included. */
static uint64_t passing_ns(void)
{
	return clock_monotonic_ns();
}

static void note_write(const struct step *step)
{
	if (!corrected_ns && step->kind == STEP_WRITE && step->file == GROUP_CPUSET_CPUS)
		corrected_ns = passing_ns();
}

static void bench_drift(void)
{
	static double samples[NR_DRIFTS];
	const struct groups_sink *sink = &controller_sinks(controller)->groups;

	fake->on_step = note_write;
	for (int i = 0; i < NR_DRIFTS; i++) {
		char path[GROUP_PATH_MAX], before[FAKE_VALUE];
		struct fake_group *group;
		uint64_t begun_ns;

		/* a pod with CPUs of its own */
		snprintf(path, sizeof(path), "pinfold.slice/poduid-pod-%03d/main",
			 i * 4 % NR_PODS / 4 * 4);
		group = fake_find(path);
		if (!group)
			die("no such container");
		memcpy(before, group->files[GROUP_CPUSET_CPUS], sizeof(before));
		memcpy(group->files[GROUP_CPUSET_CPUS], "1-127", 6);
		fake->wake_ns = 0;
		corrected_ns = 0;
		begun_ns = passing_ns();
		sink->changed(sink->self, path, "cpuset.cpus");
		if (fake->wake_ns)
			controller_wake(controller);
		if (!corrected_ns || strcmp(before, group->files[GROUP_CPUSET_CPUS]))
			die("the drift was not corrected");
		samples[i] = (double)(corrected_ns - begun_ns);
	}
	fake->on_step = NULL;
	print_line("drift_event_to_write", PARAMS, "ns", samples, NR_DRIFTS);
}

/* --- a scrape over HTTP -------------------------------------------------------------------------- */

static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) ||
	    getsockname(fd, (struct sockaddr *)&address, &len))
		die("no free port");
	close(fd);
	return ntohs(address.sin_port);
}

/* Peer and server take turns on this one thread: the sum of both is what it costs. */
static void get_page(sd_event *event, uint16_t port)
{
	static const char request[] =
		"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t received = 0;
	char data[65536];
	ssize_t len;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    write(fd, request, sizeof(request) - 1) != sizeof(request) - 1)
		die("cannot connect");
	for (;;) {
		len = recv(fd, data, sizeof(data), MSG_DONTWAIT);
		if (!len)
			break;
		if (len > 0)
			received += (size_t)len;
		else if (errno != EAGAIN || sd_event_run(event, 1000000) < 0)
			die("no answer");
	}
	close(fd);
	if (received < 10000)
		die("the answer is not whole");
}

static void bench_http(void)
{
	static double samples[NR_REQUESTS];
	char directory[] = "/tmp/bench-agent.XXXXXX", address[32];
	struct server_options options = {.metrics_address = address, .socket_name = "api.sock"};
	struct server *server = NULL;
	sd_event *event = NULL;
	uint16_t port = free_port();

	snprintf(address, sizeof(address), "127.0.0.1:%u", port);
	if (!mkdtemp(directory) || sd_event_new(&event) < 0)
		die("no folder or loop");
	options.runtime_dir = directory;
	options.runtime_dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (server_open(&options, controller_faces(controller), event, &server))
		die("server_open");
	for (int i = -5; i < NR_REQUESTS; i++) {
		uint64_t begun_ns = bench_now_ns();

		get_page(event, port);
		if (i >= 0)
			samples[i] = (double)(bench_now_ns() - begun_ns);
	}
	print_line("scrape_250_pods",
		   "{\"pods\": 250, \"cpus\": 256, \"nodes\": 8, \"over\": \"http\"}", "ns",
		   samples, NR_REQUESTS);
	server_close(server);
	sd_event_unref(event);
	close(options.runtime_dir_fd);
	rmdir(directory);
}

/* ------------------------------------------------------------------------------------------------- */

static void reconcile(void *unused)
{
	controller_wake(controller);
}

/* A ledger with the same pods: each grant of exclusive CPUs waits for its state to be written. */
static struct ledger *make_ledger(void)
{
	struct ledger *ledger = NULL;
	char error[256] = "";

	if (ledger_new(topology, &policy, error, sizeof(error), &ledger))
		die(error);
	for (int i = 0; i < NR_PODS; i++) {
		struct decision *decision = calloc(1, sizeof(*decision));

		if (!decision || admit_pod(ledger, specs[i], decision) || !decision->admitted)
			die("not every pod was admitted");
		free(decision);
	}
	return ledger;
}

static void encode(void *ledger)
{
	struct text text cleanup_text = {0};

	state_encode(ledger, "boot", &text);
	if (text.error)
		die("the state cannot be encoded");
}

int main(void)
{
	struct ledger *ledger;

	log_open("bench_agent", LOG_LEVEL_ERR);
	make_stage();
	ports = fake_ports;
	bench_memory();
	make_threads();
	start(NULL);
	scan();
	bench_run("scrape_250_pods",
		  "{\"pods\": 250, \"cpus\": 256, \"nodes\": 8, \"over\": \"page\"}", scrape, NULL);
	bench_http();
	bench_run("reconcile_250_pods", PARAMS, reconcile, NULL);
	bench_drift();
	controller_free(controller);
	bench_run("start_250_pods", PARAMS, start_and_stop, NULL);
	ledger = make_ledger();
	bench_run("state_encode_250_pods", PARAMS, encode, ledger);
	ledger_free(ledger);
	for (int i = 0; i < NR_PODS; i++)
		pod_spec_free(specs[i]);
	worker_pool_free(pool);
	topology_free(topology);
	fake_world_clear();
	return 0;
}
