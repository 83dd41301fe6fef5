// SPDX-License-Identifier: Apache-2.0
/*
 * A machine that stands still, for the inspector that tests/check/golden runs. Its clock goes on only
 * while somebody waits, and waiting takes no time. It has two NUMA nodes. Its BPF maps are the files
 * below the directory of --bpffs, and /proc/4242 is the folder proc/4242 of the working directory.
 *
 * The linker replaces a function NAME of the inspector's by __wrap_NAME (see the Makefile). What is
 * asked of an agent or of a child process does take its time, so poll() on a descriptor is not replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <pinfold/release.h>

#define NS_PER_SECOND 1000000000LL
#define STARTED_NS    (1700000000 * NS_PER_SECOND)
#define UPTIME_NS     (5000 * NS_PER_SECOND)

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);
time_t __wrap_time(time_t *ret_time);
int __wrap_nanosleep(const struct timespec *length, struct timespec *ret_left);
int __wrap_poll(struct pollfd *fds, nfds_t nr_fds, int timeout_ms);
int __wrap_ppoll(struct pollfd *fds, nfds_t nr_fds, const struct timespec *timeout,
		 const sigset_t *mask);
int __wrap_gethostname(char *ret_name, size_t size);
int __wrap_openat(int dir_fd, const char *path, int flags, ...);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_numa_available(void);
long long __wrap_numa_node_size64(int node, long long *ret_free);
int __wrap_bpf_obj_get(const char *path);
int __wrap_bpf_obj_get_info_by_fd(int fd, void *info, __u32 *len);
int __wrap_bpf_map_lookup_elem(int fd, const void *key, void *value);
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
int __wrap_bpf_enable_stats(enum bpf_stats_type type);

int __real_poll(struct pollfd *fds, nfds_t nr_fds, int timeout_ms);
int __real_ppoll(struct pollfd *fds, nfds_t nr_fds, const struct timespec *timeout,
		 const sigset_t *mask);
int __real_openat(int dir_fd, const char *path, int flags, ...);
FILE *__real_fopen(const char *path, const char *mode);

/* --- the clock -------------------------------------------------------------------------------- */

static int64_t waited_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	const int64_t now = waited_ns + (clock == CLOCK_REALTIME ? STARTED_NS : UPTIME_NS);

	*ret_time = (struct timespec){now / NS_PER_SECOND, now % NS_PER_SECOND};
	return 0;
}

time_t __wrap_time(time_t *ret_time)
{
	const time_t now = (STARTED_NS + waited_ns) / NS_PER_SECOND;

	if (ret_time)
		*ret_time = now;
	return now;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *ret_left)
{
	waited_ns += length->tv_sec * NS_PER_SECOND + length->tv_nsec;
	return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t nr_fds, int timeout_ms)
{
	if (nr_fds)
		return __real_poll(fds, nr_fds, timeout_ms);
	waited_ns += timeout_ms * (NS_PER_SECOND / 1000);
	return 0;
}

/* What a terminal says at once is heard. */
int __wrap_ppoll(struct pollfd *fds, nfds_t nr_fds, const struct timespec *timeout,
		 const sigset_t *mask)
{
	const struct timespec none = {0};
	const int r = __real_ppoll(fds, nr_fds, &none, mask);

	if (!r)
		__wrap_nanosleep(timeout, NULL);
	return r;
}

/* --- its name, a process, and memory -------------------------------------------------------------- */

int __wrap_gethostname(char *ret_name, size_t size)
{
	snprintf(ret_name, size, "worker-1.example");
	return 0;
}

static const char *placed(const char *path)
{
	return strncmp(path, "/proc/4242/", 11) ? path : path + 1;
}

int __wrap_openat(int dir_fd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return __real_openat(dir_fd, placed(path), flags, mode);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	return __real_fopen(placed(path), mode);
}

int __wrap_numa_available(void)
{
	return 0;
}

long long __wrap_numa_node_size64(int node, long long *ret_free)
{
	if (ret_free)
		*ret_free = 0;
	return node < 2 ? 8LL << 30 : -1;
}

/* --- BPF ---------------------------------------------------------------------------------------- */

/* What an agent that enforces all but two aspects has in them; its last heartbeat is 3.5 s ago. */
static int fill(int fd, const char *path)
{
	const __u64 beat_ns = UPTIME_NS - 3500000000ULL;
	struct guard_config config = {.generation = 7};

	if (strstr(path, "guard_heartbeat"))
		return write(fd, &beat_ns, sizeof(beat_ns)) == sizeof(beat_ns) ? 0 : -1;
	if (!strstr(path, "guard_config"))
		return 0;
	for (__u32 i = 0; i < ASPECT_NR; i++)
		guard_set_mode(&config, i, GUARD_ENFORCE);
	guard_set_mode(&config, ASPECT_AFFINITY, GUARD_AUDIT);
	guard_set_mode(&config, ASPECT_DEBUGGING, GUARD_OFF);
	return write(fd, &config, sizeof(config)) == sizeof(config) ? 0 : -1;
}

/* An empty file is a map that the agent has just filled. */
int __wrap_bpf_obj_get(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || (!status.st_size && fill(fd, path))) {
		close(fd);
		errno = EIO;
		return -EIO;
	}
	return fd;
}

static size_t value_size(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? 0 : (size_t)status.st_size;
}

int __wrap_bpf_obj_get_info_by_fd(int fd, void *info, __u32 *len)
{
	struct bpf_map_info found = {.value_size = (__u32)value_size(fd)};

	memcpy(info, &found, *len < sizeof(found) ? *len : sizeof(found));
	return 0;
}

int __wrap_bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	const size_t len = value_size(fd);

	return pread(fd, value, len, 0) == (ssize_t)len ? 0 : -errno;
}

int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	const size_t len = value_size(fd);

	return pwrite(fd, value, len, 0) == (ssize_t)len ? 0 : -errno;
}

int __wrap_bpf_enable_stats(enum bpf_stats_type type)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}
