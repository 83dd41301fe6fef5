// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime nri ctl kubelet format core lib
/*
 * What pinfold adds to the creation of a container, as a runtime sees it through NRI: from the request
 * on the socket to the answer, with 1, 100 and 250 pods of three containers on 256 CPUs and 8 NUMA nodes.
 * Every fourth pod has three exclusive CPUs. "exclusive" is a container that gets two: its grant is in
 * the state file, which is synchronized to the disk, before the answer. "shared" is one on the shared pool.
 * Then what the agent itself costs while pods come and go. The cgroups are stubbed, because with NRI
 * the runtime writes them.
 *
 * bench_nri [DIRECTORY]: the disk that has the state file; without it that of the build folder.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "../lib/fake_world.h"
#include "../lib/nri_runtime.h"
#include "bench.h"
#include "bench_controller.h"
#include "ctl/store.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/worker.h"
#include "runtime/source.h"

#define NR_SAMPLES  200
#define NR_CHURN    200
#define NR_PER_POD  3
#define MAX_PODS    250
#define EXCLUSIVE_M 3000

static struct config config;
static struct store store;
static struct store_port port_of_store;
static struct worker_pool *pool;
static struct source *source;
static struct controller *controller;

/* --- the runtime, a process of its own ------------------------------------------------------------ */

static struct played_plugin plugin;
static struct played_container containers[MAX_PODS * NR_PER_POD];

/* How long the answer took. */
static double create(struct played_container *container)
{
	Nri__ContainerEventRequest request = NRI__CONTAINER_EVENT_REQUEST__INIT;
	struct content content;
	Nri__Response *response;
	double begun_ns, took_ns;

	fill_content(container, &content);
	content.container.state = 0;
	request.pod = &content.pod;
	request.container = &content.container;
	begun_ns = (double)clock_monotonic_ns();
	response = call_plugin(&plugin, "CreateContainer", &request.base);
	took_ns = (double)clock_monotonic_ns() - begun_ns;
	if (response->status && response->status->code)
		give_up("refused: %s", response->status->message);
	nri__response__free_unpacked(response, NULL);
	return took_ns;
}

static void end_pod(struct played_container *container)
{
	send_event(&plugin, 11, container);
	send_event(&plugin, 2, container);
}

static void print_samples(const char *what, unsigned int nr_pods, double *samples, unsigned int nr)
{
	qsort(samples, nr, sizeof(samples[0]), bench_compare);
	printf("{\"name\": \"nri_create_%s\", \"params\": {\"pods\": %u, \"cpus\": 256, "
	       "\"nodes\": 8}, \"unit\": \"ns\", \"median\": %.0f, \"p99\": %.0f, \"n\": %u}\n",
	       what, nr_pods, samples[nr / 2], samples[nr * 99 / 100], nr);
	fflush(stdout);
}

static void measure(unsigned int nr_pods, bool is_exclusive)
{
	static double samples[NR_SAMPLES];

	for (unsigned int i = 0; i < NR_SAMPLES; i++) {
		struct played_container container;
		char name[32];

		snprintf(name, sizeof(name), "%s-%u", is_exclusive ? "exclusive" : "shared", i);
		name_container(&container, name, "main", name, is_exclusive,
			       is_exclusive ? 2000 : 100);
		samples[i] = create(&container);
		end_pod(&container);
	}
	print_samples(is_exclusive ? "exclusive" : "shared", nr_pods, samples, NR_SAMPLES);
}

/* Pods of three containers each, that stay. */
static void fill_node(unsigned int nr_pods)
{
	for (unsigned int i = 0; i < nr_pods * NR_PER_POD; i++) {
		const unsigned int pod = i / NR_PER_POD, nr = i % NR_PER_POD;
		char pod_name[32], name[32], id[64];

		snprintf(pod_name, sizeof(pod_name), "pod-%03u", pod);
		snprintf(name, sizeof(name), "container-%u", nr);
		snprintf(id, sizeof(id), "%s-%u", pod_name, nr);
		/* of a Guaranteed pod the first container has exclusive CPUs */
		name_container(&containers[i], pod_name, name, id, pod % 4 == 0,
			       pod % 4 == 0 && nr == 0 ? EXCLUSIVE_M : 100);
		create(&containers[i]);
	}
}

static void play(int fd, unsigned int nr_pods)
{
	plugin.fd = fd;
	nri__response__free_unpacked(register_plugin(&plugin, "bench", NULL, 0), NULL);
	fill_node(nr_pods);
	measure(nr_pods, true);
	measure(nr_pods, false);
}

/* Ends with the socket, when there is nothing more to answer. */
static void churn(unsigned int nr_pods)
{
	for (unsigned int i = 0; i < NR_CHURN; i++) {
		struct played_container *first = &containers[i % nr_pods * NR_PER_POD];

		for (int nr = 0; nr < NR_PER_POD; nr++)
			send_event(&plugin, 11, &first[nr]);
		send_event(&plugin, 2, first);
		for (int nr = 0; nr < NR_PER_POD; nr++)
			create(&first[nr]);
	}
}

/* --- the agent ------------------------------------------------------------------------------------ */

static uint64_t real_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t monotonic_ns(void *self)
{
	return real_ns(CLOCK_MONOTONIC);
}

static uint64_t wall_ns(void *self)
{
	return real_ns(CLOCK_REALTIME);
}

static uint64_t cpu_ns(void *self)
{
	return real_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t due_ns; /* when the controller wants to be woken; 0 = not */

static void wake(void *self, uint64_t delay_ns)
{
	const uint64_t wanted_ns = monotonic_ns(NULL) + delay_ns;

	if (!due_ns || wanted_ns < due_ns)
		due_ns = wanted_ns;
}

static int answer(void *self, uint32_t request, const struct runtime_answer *given)
{
	return source_answer(source, request, given);
}

static void changed(void *data, const struct plugin_status *status)
{
}

static int on_pool(sd_event_source *from, int fd, uint32_t events, void *self)
{
	worker_pool_dispatch(self);
	return 0;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_nri: %s\n", what);
	exit(1);
}

static void run_loop(sd_event *event, const int *is_over)
{
	while (!*is_over) {
		uint64_t wait_us = 1000000;

		if (due_ns) {
			const uint64_t now = monotonic_ns(NULL);

			wait_us = due_ns > now ? (due_ns - now) / 1000 + 1 : 0;
		}
		if (sd_event_run(event, wait_us) < 0)
			die("the event loop failed");
		if (due_ns && due_ns <= monotonic_ns(NULL)) {
			due_ns = 0;
			controller_wake(controller);
		}
	}
}

static int on_runtime_said(sd_event_source *from, int fd, uint32_t events, void *is_over)
{
	*(int *)is_over = 1;
	return 0;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];
	long kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %ld kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

static void open_agent(const char *directory, const char *path, sd_event *event)
{
	static const struct clock_port clock = {
		.now_ns = monotonic_ns, .wall_ns = wall_ns, .cpu_ns = cpu_ns};
	static const struct loop_port loop = {.wake = wake};
	static const struct runtime_port runtime = {.answer = answer};
	static struct controller_ports ports;
	static struct policy policy;
	struct source_options options = {.event = event, .socket = path, .changed = changed};
	struct topology *topology = fake_machine(8, 16, 2);

	config_default(&config);
	config.policy.cpu_options.strict_reservation = true;
	config.policy.has_reserved_list = true;
	cpuset_add(&config.policy.reserved_list, 0);
	cpuset_add(&config.policy.reserved_list, 128);
	policy = config.policy;
	if (store_open(&store, directory) || worker_pool_new(WORKER_THREADS, &pool))
		die("no state directory, or no threads");
	worker_pool_set_grace(pool, 20000000);
	port_of_store = store_port(&store);
	ports = fake_ports;
	ports.clock = &clock;
	ports.loop = &loop;
	ports.store = &port_of_store;
	ports.runtime = &runtime;
	controller = bench_controller_start(topology, &policy, &config, &ports);
	store.pool = pool;
	store.sink = &controller_sinks(controller)->store;
	options.sink = &controller_sinks(controller)->runtime;
	if (source_open(&options, &source) ||
	    sd_event_add_io(event, NULL, worker_pool_fd(pool), EPOLLIN, on_pool, pool) < 0)
		die("no connection with the runtime");
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
	return remove(path);
}

/* In processes of their own, so that each number of pods begins with a fresh agent. */
static int run(const char *directory, unsigned int nr_pods)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char state[256], byte;
	int said[2], go[2], is_over = 0, listener;
	sd_event *event = NULL;
	double cpu;
	long grown;
	pid_t child;

	snprintf(state, sizeof(state), "%s/%u", directory, nr_pods);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/nri.sock", directory);
	unlink(address.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1) || pipe(said) || pipe(go))
		die("no socket");
	child = fork();
	if (!child) {
		play(accept4(listener, NULL, NULL, SOCK_CLOEXEC), nr_pods);
		if (write(said[1], "m", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		churn(nr_pods);
		_exit(write(said[1], "c", 1) != 1);
	}
	/* so that the end of the child is one of the pipe */
	close(said[1]);
	close(go[0]);
	fake_world_make();
	if (sd_event_new(&event) < 0 ||
	    sd_event_add_io(event, NULL, said[0], EPOLLIN, on_runtime_said, &is_over) < 0)
		die("no event loop");
	open_agent(state, address.sun_path, event);
	run_loop(event, &is_over);
	if (read(said[0], &byte, 1) != 1)
		die("the runtime has ended");
	is_over = 0;
	grown = resident_kib();
	cpu = (double)real_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (write(go[1], "g", 1) != 1)
		die("the runtime has ended");
	run_loop(event, &is_over);
	cpu = ((double)real_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / NR_CHURN;
	grown = (resident_kib() - grown) * 1024;
	printf("{\"name\": \"nri_churn_cpu_per_pod\", \"params\": {\"pods\": %u, \"containers\": %d}, "
	       "\"unit\": \"ns\", \"median\": %.0f, \"p99\": %.0f, \"n\": 1}\n",
	       nr_pods, NR_PER_POD, cpu, cpu);
	printf("{\"name\": \"nri_churn_rss_anon_growth\", \"params\": {\"pods\": %u}, \"unit\": "
	       "\"bytes\", \"median\": %ld, \"p99\": %ld, \"n\": 1}\n",
	       nr_pods, grown, grown);
	fflush(stdout);
	return waitpid(child, &is_over, 0) != child || is_over;
}

int main(int argc, char **argv)
{
	static const unsigned int numbers[] = {1, 100, MAX_PODS};
	char directory[96];

	log_open("bench", LOG_LEVEL_WARN);
	snprintf(directory, sizeof(directory), "%.60s/bench_nri.XXXXXX",
		 argc > 1 ? argv[1] : "build");
	if (!mkdtemp(directory))
		die("cannot make a directory");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const pid_t child = fork();
		int status;

		if (!child)
			exit(run(directory, numbers[i]));
		if (waitpid(child, &status, 0) != child || status)
			die("a run failed");
	}
	if (nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS))
		die("cannot remove its directory");
	return 0;
}
