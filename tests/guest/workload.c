// SPDX-License-Identifier: Apache-2.0
/*
 * workload openmp|dpdk|systemd: does to itself, inside a container, what such programs do, and checks
 * that it had the effect. Ends with 0, or with 1 and a line that says what did not go.
 *
 * openmp: a thread for each allowed CPU, bound to it, as OMP_PROC_BIND=close does; then freed again.
 * dpdk: memory locked and bound to the NUMA node of a CPU, a thread polling on each CPU, messages
 * between them, and a control thread that may use all CPUs.
 * systemd: below its own cgroup a tree as systemd has it, with controllers, a service that is started
 * in its cgroup, weighed, pinned, frozen, moved and killed; then all of it is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_CPUS     256
#define MESSAGES     200
#define MEMORY_BYTES ((size_t)4 << 20)
#define WAIT_MS	     60000

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	const int error = errno;
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (errno: %s)\n", strerror(error));
	exit(1);
}

static void sleep_ms(long ms)
{
	const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* --- threads -------------------------------------------------------------------------------------- */

static cpu_set_t allowed;
static unsigned int cpus[MAX_CPUS], nr_cpus;

static void find_cpus(void)
{
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		fail("read the own affinity");
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE && nr_cpus < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[nr_cpus++] = cpu;
	if (nr_cpus < 2)
		fail("there are %u CPUs, and two are needed", nr_cpus);
}

static void bind_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("bind a thread to CPU %u", cpu);
	if (sched_getcpu() != (int)cpu)
		fail("a thread bound to CPU %u runs on CPU %d", cpu, sched_getcpu());
}

static pthread_barrier_t barrier;

static void *compute(void *data)
{
	const unsigned int cpu = *(unsigned int *)data;
	volatile double sum = 0;

	bind_to(cpu);
	pthread_barrier_wait(&barrier);
	for (int i = 1; i < 2000000; i++)
		sum += 1.0 / i;
	if (sched_getcpu() != (int)cpu || sum < 1)
		fail("a thread left its CPU %u, or computed %f", cpu, sum);
	pthread_barrier_wait(&barrier);
	if (sched_setaffinity(0, sizeof(allowed), &allowed))
		fail("free a thread again");
	return NULL;
}

static void run_openmp(void)
{
	pthread_t threads[MAX_CPUS];

	find_cpus();
	pthread_barrier_init(&barrier, NULL, nr_cpus);
	for (unsigned int i = 0; i < nr_cpus; i++)
		if (pthread_create(&threads[i], NULL, compute, &cpus[i]))
			fail("start thread %u", i);
	for (unsigned int i = 0; i < nr_cpus; i++)
		pthread_join(threads[i], NULL);
}

/* One of each pair is the worker's, the other the sender's; on cache lines of their own. */
static struct {
	_Alignas(64) atomic_uint asked;
	_Alignas(64) atomic_uint answered;
} rings[MAX_CPUS];

static void *poll_ring(void *data)
{
	const unsigned int worker = (unsigned int)((unsigned int *)data - cpus);
	const struct sched_param param = {0};
	char name[16];

	snprintf(name, sizeof(name), "lcore-worker-%u", worker % 10);
	if (prctl(PR_SET_NAME, name) || pthread_setschedparam(pthread_self(), SCHED_OTHER, &param))
		fail("name worker %u and set its policy", worker);
	bind_to(cpus[worker]);
	for (unsigned int seen = 0; seen < MESSAGES;)
		if (atomic_load(&rings[worker].asked) != seen)
			atomic_store(&rings[worker].answered, ++seen);
	return NULL;
}

static void *control(void *data)
{
	if (setpriority(PRIO_PROCESS, 0, 5))
		fail("make the control thread nice");
	for (unsigned int i = 0; i < nr_cpus; i++)
		bind_to(cpus[i]);
	if (sched_setaffinity(0, sizeof(allowed), &allowed))
		fail("let the control thread use all CPUs");
	return NULL;
}

/* Memory of the node on which the thread runs, as a memory pool is made. */
static void bind_memory(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	void *pages[MEMORY_BYTES / 4096];
	int nodes[MEMORY_BYTES / 4096];
	unsigned long mask;
	unsigned int node;
	char *memory;

	if (getcpu(NULL, &node))
		fail("find the own NUMA node");
	mask = 1UL << node;
	memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		fail("get memory");
	if (syscall(SYS_mbind, memory, MEMORY_BYTES, MPOL_BIND, &mask, 64, 0))
		fail("bind memory to node %u", node);
	memset(memory, 1, MEMORY_BYTES);
	if (mlock(memory, MEMORY_BYTES))
		fail("lock memory");
	for (size_t i = 0; i < MEMORY_BYTES / (size_t)page; i++)
		pages[i] = memory + i * (size_t)page;
	if (syscall(SYS_move_pages, 0, MEMORY_BYTES / (size_t)page, pages, NULL, nodes, 0))
		fail("ask where memory is");
	for (size_t i = 0; i < MEMORY_BYTES / (size_t)page; i++)
		if (nodes[i] != (int)node)
			fail("page %zu is on node %d instead of %u", i, nodes[i], node);
}

static void run_dpdk(void)
{
	pthread_t threads[MAX_CPUS], controller;

	find_cpus();
	bind_to(cpus[0]);
	bind_memory();
	if (pthread_create(&controller, NULL, control, NULL))
		fail("start the control thread");
	for (unsigned int i = 1; i < nr_cpus; i++)
		if (pthread_create(&threads[i], NULL, poll_ring, &cpus[i]))
			fail("start worker %u", i);
	for (unsigned int message = 1; message <= MESSAGES; message++) {
		for (unsigned int i = 1; i < nr_cpus; i++)
			atomic_store(&rings[i].asked, message);
		for (unsigned int i = 1; i < nr_cpus; i++)
			while (atomic_load(&rings[i].answered) != message)
				;
	}
	for (unsigned int i = 1; i < nr_cpus; i++)
		pthread_join(threads[i], NULL);
	pthread_join(controller, NULL);
}

/* --- cgroups -------------------------------------------------------------------------------------- */

static int own_fd; /* of the own cgroup at the beginning */

static void open_own(void)
{
	char line[512], path[600];
	FILE *file = fopen("/proc/self/cgroup", "re");

	if (!file || !fgets(line, sizeof(line), file) || strncmp(line, "0::/", 4))
		fail("find the own cgroup");
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", line + 4);
	own_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own_fd < 0)
		fail("open %s", path);
}

static void put(const char *path, const char *text)
{
	const int fd = openat(own_fd, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail("write '%s' to %s", text, path);
	close(fd);
}

static void put_number(const char *path, long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", number);
	put(path, text);
}

static bool has(const char *path, const char *word)
{
	char text[4096];
	const int fd = openat(own_fd, path, O_RDONLY | O_CLOEXEC);
	const ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len < 0)
		fail("read %s", path);
	close(fd);
	text[len] = '\0';
	return strstr(text, word);
}

static void await(const char *path, const char *word)
{
	for (int ms = 0; !has(path, word); ms += 10) {
		if (ms >= WAIT_MS)
			fail("%s does not come to have '%s'", path, word);
		sleep_ms(10);
	}
}

static void make(const char *path)
{
	if (mkdirat(own_fd, path, 0755))
		fail("make %s", path);
}

static void drop(const char *path)
{
	if (unlinkat(own_fd, path, AT_REMOVEDIR))
		fail("remove %s", path);
}

/* A service begins in its cgroup; nothing moves it there. */
static pid_t start_in(const char *path)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
	};
	const int fd = openat(own_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid;

	args.cgroup = (uint64_t)fd;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		fail("start a process in %s", path);
	if (!pid)
		for (;;)
			pause();
	close(fd);
	return pid;
}

static void check_affinity(pid_t pid, unsigned int cpu)
{
	cpu_set_t set;

	if (sched_getaffinity(pid, sizeof(set), &set))
		fail("read the affinity of the service");
	if (CPU_COUNT(&set) != 1 || !CPU_ISSET(cpu, &set))
		fail("the service may use %d CPUs instead of CPU %u", CPU_COUNT(&set), cpu);
}

static void run_service(const char *group)
{
	char path[128], text[32];
	pid_t pid = start_in(group);

	snprintf(text, sizeof(text), "%d\n", pid);
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	await(path, text);
	snprintf(path, sizeof(path), "%s/cpu.weight", group);
	put_number(path, 50);
	snprintf(path, sizeof(path), "%s/cpuset.cpus", group);
	put_number(path, cpus[0]);
	check_affinity(pid, cpus[0]);
	snprintf(path, sizeof(path), "%s/cgroup.freeze", group);
	put_number(path, 1);
	snprintf(path, sizeof(path), "%s/cgroup.events", group);
	await(path, "frozen 1");
	snprintf(path, sizeof(path), "%s/cgroup.freeze", group);
	put_number(path, 0);
	put_number("init.scope/cgroup.procs", pid);
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	put_number(path, pid);
	snprintf(path, sizeof(path), "%s/cgroup.kill", group);
	put_number(path, 1);
	if (waitpid(pid, NULL, 0) != pid)
		fail("await the end of the service");
}

static void run_systemd(void)
{
	find_cpus();
	open_own();
	make("init.scope");
	put_number("init.scope/cgroup.procs", getpid());
	put("cgroup.subtree_control", "+cpu +cpuset +memory");
	make("system.slice");
	put("system.slice/cgroup.subtree_control", "+cpu +cpuset +memory");
	make("system.slice/a.service");
	run_service("system.slice/a.service");
	drop("system.slice/a.service");
	drop("system.slice");
	put("cgroup.subtree_control", "-cpu -cpuset -memory");
	put_number("cgroup.procs", getpid());
	drop("init.scope");
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "openmp"))
		run_openmp();
	else if (argc == 2 && !strcmp(argv[1], "dpdk"))
		run_dpdk();
	else if (argc == 2 && !strcmp(argv[1], "systemd"))
		run_systemd();
	else
		fail("invalid arguments: expected openmp, dpdk or systemd");
	return 0;
}
