// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * What the programs that count noise cost: a datagram that this process sends to itself over the
 * loopback device, which is one softirq, and a pipe's ping-pong of two threads, which is two
 * switches. Each without the programs, with them while another CPU is exclusive, while one is whose
 * core this one is said to share, and while this one is. All on one CPU; the exclusive CPU's owner is
 * a cgroup that does not exist, so the bench itself is what disturbs, the most expensive case.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "bpf/noise.h"
#include "lib/file.h"
#include "lib/log.h"

#define HERE	  0
#define ELSEWHERE 1
#define ROUNDS	  1000

struct scene {
	int socket_fd;
	struct sockaddr_in self;
	int to_echo[2], from_echo[2];
	struct noise_port port;
};

static void send_datagrams(void *arg)
{
	const struct scene *scene = arg;
	char byte = 0;

	for (int i = 0; i < ROUNDS; i++)
		if (sendto(scene->socket_fd, &byte, 1, 0, (const struct sockaddr *)&scene->self,
			   sizeof(scene->self)) != 1 ||
		    recv(scene->socket_fd, &byte, 1, 0) != 1)
			abort();
}

static void play_ping_pong(void *arg)
{
	const struct scene *scene = arg;
	char byte = 0;

	for (int i = 0; i < ROUNDS; i++)
		if (write(scene->to_echo[1], &byte, 1) != 1 ||
		    read(scene->from_echo[0], &byte, 1) != 1)
			abort();
}

static void *echo(void *arg)
{
	const struct scene *scene = arg;
	char byte;

	while (read(scene->to_echo[0], &byte, 1) == 1)
		if (write(scene->from_echo[1], &byte, 1) != 1)
			break;
	return NULL;
}

static int set_up(struct scene *scene)
{
	socklen_t len = sizeof(scene->self);
	cpu_set_t here;
	pthread_t thread;

	CPU_ZERO(&here);
	CPU_SET(HERE, &here);
	if (sched_setaffinity(0, sizeof(here), &here))
		return -errno;
	scene->self = (struct sockaddr_in){.sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	scene->socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (scene->socket_fd < 0 || bind(scene->socket_fd, (struct sockaddr *)&scene->self, len) ||
	    getsockname(scene->socket_fd, (struct sockaddr *)&scene->self, &len) ||
	    pipe(scene->to_echo) || pipe(scene->from_echo))
		return -errno;
	return -pthread_create(&thread, NULL, echo, scene);
}

static void measure(struct scene *scene, const char *params)
{
	bench_run("noise_datagrams", params, send_datagrams, scene);
	bench_run("noise_ping_pong", params, play_ping_pong, scene);
}

static int make_exclusive(const struct scene *scene, uint32_t cpu)
{
	const struct noise_grant grant = {.cpu = cpu,
					  .owner = {.cgroup_id = UINT64_MAX,
						    .pod_cgroup_id = UINT64_MAX,
						    .root_cgroup_id = UINT64_MAX,
						    .level = 1,
						    .pod_level = 1,
						    .root_level = 1}};
	int r = scene->port.watch(scene->port.self, &grant, 1);

	if (!r && scene->port.state(scene->port.self) != NOISE_COUNTING)
		r = -ENODATA;
	return r;
}

/* Both CPUs are threads of one core, or have a core each. */
static struct topology *make_topology(bool is_one_core)
{
	const struct topology_cpu cpus[] = {{.id = HERE, .core = 0},
					    {.id = ELSEWHERE, .core = is_one_core ? 0 : 1}};
	const struct topology_facts facts = {.cpus = cpus, .nr_cpus = 2, TOPOLOGY_COUNT_ALL};
	struct topology *topology = NULL;
	char error[256];

	if (topology_new(&facts, error, sizeof(error), &topology))
		abort();
	return topology;
}

static int measure_with(struct scene *scene, bool is_one_core)
{
	struct noise_counter *counter cleanup_noise_counter = NULL;
	struct topology *topology cleanup_topology = make_topology(is_one_core);
	struct cpuset possible = CPUSET_EMPTY;
	struct noise_options options = {.possible = &possible, .topology = topology};
	int r;

	cpuset_add(&possible, ELSEWHERE);
	r = noise_counter_open(&options, &counter);
	if (r)
		return r;
	scene->port = noise_counter_port(counter);
	r = make_exclusive(scene, ELSEWHERE);
	if (!r)
		measure(scene, is_one_core ? "{\"exclusive\": \"sibling\"}"
					   : "{\"exclusive\": \"another\"}");
	if (!r && !is_one_core)
		r = make_exclusive(scene, HERE);
	if (!r && !is_one_core)
		measure(scene, "{\"exclusive\": \"this\"}");
	return r;
}

int main(void)
{
	struct scene scene = {0};
	int r;

	log_open("bench", LOG_LEVEL_WARN);
	r = set_up(&scene);
	if (r)
		return log_err(r, "bench: set up") ? 1 : 0;
	for (int round = 0; round < 3 && !r; round++) {
		measure(&scene, "{\"exclusive\": \"none\"}");
		r = measure_with(&scene, false);
		if (!r)
			r = measure_with(&scene, true);
	}
	return r ? log_err(r, "bench: count noise") && 1 : 0;
}
