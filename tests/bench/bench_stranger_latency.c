// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf stranger format core lib
/*
 * From the moment in which a stranger gets an exclusive CPU to its new affinity in the kernel: the
 * programs see it, and it is corrected. Each sample is a new process that keeps the CPU busy. The
 * controller and the cgroups are left out, and all other tasks of this machine are looked at, but
 * never written to. With load there are two busy processes for each CPU, and one that waits for the
 * disk all the time.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "bench.h"
#include "bpf/noise.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"
#include "stranger/procs.h"
#include "stranger/strangers.h"

#define EXCLUSIVE   1
#define NR_SAMPLES  200
#define PATIENCE_US 500000

struct scene {
	struct affinity_calls calls;
	struct worker_pool *pool;
	struct strangers *strangers;
	struct noise_counter *counter;
	struct stranger_request request;
	struct stranger_port port;
	pid_t stranger;
	uint64_t seen_ns;      /* it got the CPU; 0 = not yet */
	uint64_t corrected_ns; /* 0 = not yet */
	double samples[NR_SAMPLES];
	unsigned int nr;
};

/* --- the machine, of which only the stranger may be changed --------------------------------------- */

static int get_affinity(void *self, pid_t thread, struct cpuset *ret_cpus)
{
	const struct scene *scene = self;
	int r = affinity_system_calls.get(NULL, thread, ret_cpus);

	if (!r && thread != scene->stranger)
		cpuset_subtract(ret_cpus, &scene->request.cpus.exclusive);
	return r;
}

static int set_affinity(void *self, pid_t thread, const struct cpuset *cpus)
{
	struct scene *scene = self;
	int r = thread == scene->stranger ? affinity_system_calls.set(NULL, thread, cpus) : -EPERM;

	if (!r && !scene->corrected_ns)
		scene->corrected_ns = clock_monotonic_ns();
	return r;
}

static void spin(void)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static void wait_for_disk(void)
{
	char name[] = "build/bench_load.XXXXXX";
	const int fd = mkstemp(name);

	unlink(name);
	for (char byte = 0; fd >= 0; byte++)
		if (pwrite(fd, &byte, 1, 0) != 1 || fsync(fd))
			break;
}

/*
 * This program again, with a word that says what it does. A fork() would write-protect the memory of
 * the thread that corrects, which the agent never suffers, and each page would cost that thread a fault.
 */
static pid_t start(const char *act)
{
	char *const arguments[] = {(char *)"bench_stranger_latency", (char *)act, NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ))
		abort();
	return pid;
}

/*
 * As the agent is, which is moved like any other task of the host. A stranger begins there as well, so
 * none is seen before its id is known.
 */
static void keep_off_exclusive(void)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	CPU_CLR(EXCLUSIVE, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* It ends with the bench. */
static int act(const char *what)
{
	cpu_set_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(what, "stranger"))
		spin();
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	if (!strcmp(what, "load"))
		spin();
	wait_for_disk();
	return 1;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- one sample ----------------------------------------------------------------------------------- */

static void on_seen(void *self, const struct noise_stranger *stranger)
{
	struct scene *scene = self;

	if ((pid_t)stranger->pid != scene->stranger || scene->seen_ns)
		return;
	scene->seen_ns = stranger->time_ns;
	scene->request.now_ns = clock_monotonic_ns();
	scene->port.walk(scene->port.self, &scene->request);
}

static void on_walked(void *self, int result, struct stranger_report *report)
{
}

static void sample(struct scene *scene, sd_event *event)
{
	const uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_US * 1000ULL;
	cpu_set_t cpus;

	scene->seen_ns = scene->corrected_ns = 0;
	CPU_ZERO(&cpus);
	CPU_SET(EXCLUSIVE, &cpus);
	scene->stranger = start("stranger");
	sched_setaffinity(scene->stranger, sizeof(cpus), &cpus);
	while (!(scene->seen_ns && scene->corrected_ns) && clock_monotonic_ns() < limit_ns)
		sd_event_run(event, 10000);
	end(scene->stranger);
	if (scene->seen_ns && scene->corrected_ns)
		scene->samples[scene->nr++] = (double)(scene->corrected_ns - scene->seen_ns);
}

static void measure(struct scene *scene, sd_event *event, const char *params)
{
	scene->nr = 0;
	for (unsigned int i = 0; i < 2 * NR_SAMPLES && scene->nr < NR_SAMPLES; i++)
		sample(scene, event);
	if (!scene->nr)
		abort();
	qsort(scene->samples, scene->nr, sizeof(scene->samples[0]), bench_compare);
	printf("{\"name\": \"stranger_corrected\", \"params\": %s, \"unit\": \"ns\", "
	       "\"median\": %.0f, \"p99\": %.0f, \"n\": %u}\n",
	       params, scene->samples[scene->nr / 2], scene->samples[scene->nr * 99 / 100],
	       scene->nr);
	fflush(stdout);
}

static int on_pool(sd_event_source *source, int fd, uint32_t events, void *self)
{
	worker_pool_dispatch(self);
	return 0;
}

static int open_all(struct scene *scene, sd_event *event)
{
	static const struct noise_grant grant = {.cpu = EXCLUSIVE,
						 .owner = {.cgroup_id = UINT64_MAX,
							   .pod_cgroup_id = UINT64_MAX,
							   .root_cgroup_id = UINT64_MAX,
							   .level = 1,
							   .pod_level = 1,
							   .root_level = 1}};
	static struct stranger_sink stranger_sink = {.walked = on_walked};
	static struct noise_sink noise_sink = {.stranger = on_seen};
	const struct noise_options noise_options = {.possible = &scene->request.cpus.exclusive};
	struct strangers_options options = {
		.root = "/", .boot_id = "bench", .calls = &scene->calls};
	struct noise_port noise;

	noise_sink.self = scene;
	options.run_fd = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (worker_pool_new(4, &options.pool))
		return -ENODATA;
	scene->pool = options.pool;
	if (strangers_open(&options, &scene->strangers) ||
	    noise_counter_open(&noise_options, &scene->counter) ||
	    sd_event_add_io(event, NULL, worker_pool_fd(options.pool), EPOLLIN, on_pool,
			    options.pool) < 0)
		return -ENODATA;
	worker_pool_set_grace(options.pool, 20000000);
	strangers_listen(scene->strangers, &stranger_sink);
	scene->port = strangers_port(scene->strangers);
	noise_counter_listen(scene->counter, event,
			     &(struct noise_corrector){scene->strangers, strangers_correct},
			     &noise_sink);
	noise = noise_counter_port(scene->counter);
	if (noise.watch(noise.self, &grant, 1) || noise.state(noise.self) != NOISE_COUNTING)
		return -ENODATA;
	noise.tell_strangers(noise.self, true);
	return scene->port.walk(scene->port.self, &scene->request);
}

/* The thread that corrects ends first, then the walks: both use the scene. */
static void close_all(struct scene *scene)
{
	noise_counter_close(scene->counter);
	if (!worker_pool_free(scene->pool))
		strangers_close(scene->strangers);
}

int main(int nr_arguments, char **arguments)
{
	static struct scene scene = {.request = {.mode = STRANGER_REPAIR, .workload_root = "x"}};
	struct stranger_cpus *cpus = &scene.request.cpus;
	pid_t load[64];
	unsigned int nr_load = 0;
	sd_event *event = NULL;

	if (nr_arguments > 1)
		return act(arguments[1]);
	scene.calls = (struct affinity_calls){&scene, get_affinity, set_affinity,
					      affinity_system_calls.now_ticks};
	log_open("bench", LOG_LEVEL_WARN);
	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		cpuset_add(&cpus->online, (unsigned int)cpu);
	cpuset_add(&cpus->exclusive, EXCLUSIVE);
	cpus->allowed = cpus->online;
	cpuset_subtract(&cpus->allowed, &cpus->exclusive);
	keep_off_exclusive();
	if (sd_event_default(&event) < 0 || open_all(&scene, event))
		return log_err(0, "bench: cannot see strangers"), 1;
	measure(&scene, event, "{\"load\": false}");
	for (long i = 0; i < 2 * sysconf(_SC_NPROCESSORS_ONLN) && nr_load < 60; i++)
		load[nr_load++] = start("load");
	load[nr_load++] = start("disk");
	measure(&scene, event, "{\"load\": true}");
	while (nr_load)
		end(load[--nr_load]);
	close_all(&scene);
	sd_event_unref(event);
	return 0;
}
