// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Who is stopped as the holder of the lock, and how, when /proc/locks and the kernel are awkward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/instance.h"
#include "lib/log.h"

#define LIBC(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

/* --- a kernel that answers as a test needs it ---------------------------------------------------- */

/* What each reading of /proc/locks finds; NULL = the kernel's own, "" = the file cannot be opened. */
static const char *locks[2];
static unsigned int nr_readings;

/* These calls about a pidfd fail with this; 0 = the kernel decides. */
static int signal_error;
/* So many waits for the end of a process time out at once. */
static unsigned int nr_timeouts;
static int last_signal;
static pid_t last_opened;

FILE *fopen(const char *path, const char *mode)
{
	const char *text = NULL;

	if (!strcmp(path, "/proc/locks") && nr_readings < 2)
		text = locks[nr_readings++];
	if (!text)
		return LIBC(fopen)(path, mode);
	if (!*text) {
		errno = EACCES;
		return NULL;
	}
	return fmemopen((void *)text, strlen(text), "r");
}

int poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	if (!nr_timeouts)
		return LIBC(poll)(fds, nr, timeout_ms);
	nr_timeouts--;
	return 0;
}

long syscall(long number, ...)
{
	va_list args;
	long a[4];

	va_start(args, number);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_pidfd_open)
		last_opened = (pid_t)a[0];
	if (number == SYS_pidfd_send_signal) {
		last_signal = (int)a[1];
		/* Linux before 6.9 accepts no flags. */
		errno = a[3] ? EINVAL : signal_error;
		if (errno)
			return -1;
	}
	return LIBC(syscall)(number, a[0], a[1], a[2], a[3]);
}

/* --- a directory and a process that holds its lock ----------------------------------------------- */

static char path[64], lock_path[80];
static pid_t holder;

/* A child that takes the lock of `path`, and exits on SIGTERM only if it is not stubborn. */
static void hold(bool is_stubborn)
{
	int fds[2];
	char byte;

	assert_int_equal(pipe(fds), 0);
	holder = fork();
	if (!holder) {
		struct instance instance = INSTANCE_CLOSED;

		if (is_stubborn)
			signal(SIGTERM, SIG_IGN);
		if (instance_take(path, &instance) || write(fds[1], "r", 1) != 1)
			_exit(1);
		/* A test that fails does not leave it for ever. */
		alarm(60);
		for (;;)
			pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
}

/* The signal that ended the holder; 0 = it still runs. */
static int ended_by(void)
{
	int status;

	if (waitpid(holder, &status, WNOHANG) != holder)
		return 0;
	holder = 0;
	return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void end_holder(void)
{
	if (!holder)
		return;
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	holder = 0;
}

static int set_up(void **state)
{
	log_open("test", LOG_LEVEL_ERR);
	strcpy(path, "/tmp/pinfold-stop-XXXXXX");
	if (!mkdtemp(path))
		return -1;
	snprintf(lock_path, sizeof(lock_path), "%s/lock", path);
	locks[0] = locks[1] = NULL;
	nr_readings = nr_timeouts = 0;
	signal_error = last_signal = 0;
	last_opened = -1;
	return 0;
}

static int tear_down(void **state)
{
	end_holder();
	unlink(lock_path);
	return rmdir(path);
}

/* One line of /proc/locks; `device` and `inode` are added to those of the lock file. */
static const char *lock_line(pid_t pid, unsigned int device, unsigned int inode, char text[128])
{
	struct stat lock;

	assert_int_equal(stat(lock_path, &lock), 0);
	snprintf(text, 128, "1: FLOCK  ADVISORY  WRITE %d %02x:%02x:%lu 0 EOF\n", pid,
		 major(lock.st_dev), minor(lock.st_dev) + device, lock.st_ino + inode);
	return text;
}

/* --- who ----------------------------------------------------------------------------------------- */

/* The lock of another file may be held by anybody. */
static void only_the_holder_of_this_lock_is_stopped(void **state)
{
	char text[128];

	hold(false);
	locks[0] = locks[1] = lock_line(holder, 0, 1, text);
	assert_int_equal(instance_stop(path), 0);
	nr_readings = 0;
	lock_line(holder, 1, 0, text);
	assert_int_equal(instance_stop(path), 0);
	assert_int_equal(last_signal, 0);
	nr_readings = 0;
	lock_line(holder, 0, 0, text);
	assert_int_equal(instance_stop(path), 0);
	assert_int_equal(ended_by(), SIGTERM);
}

/* Another process may have the number of a holder that has exited. */
static void a_process_that_lost_the_lock_is_not_stopped(void **state)
{
	char first[128], second[128];

	hold(false);
	locks[0] = lock_line(holder, 0, 0, first);
	locks[1] = lock_line(getpid(), 0, 0, second);
	assert_int_equal(instance_stop(path), 0);
	assert_int_equal(last_signal, 0);
	assert_int_equal(ended_by(), 0);
}

static void an_unknown_holder_is_not_stopped(void **state)
{
	struct instance instance = INSTANCE_CLOSED;
	char text[128];

	hold(false);
	/* In another pid namespace. */
	locks[0] = locks[1] = lock_line(0, 0, 0, text);
	assert_int_equal(instance_stop(path), 0);
	nr_readings = 0;
	locks[0] = locks[1] = "";
	assert_int_equal(instance_stop(path), 0);
	assert_int_equal(ended_by(), 0);
	assert_int_equal(instance_take(path, &instance), -EBUSY);
}

/* --- how ----------------------------------------------------------------------------------------- */

static void a_holder_that_ignores_the_request_is_killed(void **state)
{
	hold(true);
	nr_timeouts = 1;
	assert_int_equal(instance_stop(path), 0);
	assert_int_equal(ended_by(), SIGKILL);
}

static void a_holder_that_cannot_be_killed_keeps_the_lock(void **state)
{
	hold(true);
	nr_timeouts = 2;
	assert_int_equal(instance_stop(path), -EBUSY);
	assert_int_equal(last_signal, SIGKILL);
}

static void a_holder_that_may_not_be_signalled_is_reported(void **state)
{
	hold(false);
	signal_error = EPERM;
	assert_int_equal(instance_stop(path), -EPERM);
	assert_int_equal(last_signal, SIGTERM);
}

/* It exits between the look at the lock and the signal; nothing but its end is awaited. */
static void a_holder_that_has_just_exited_is_no_failure(void **state)
{
	char text[128];

	hold(false);
	locks[0] = locks[1] = lock_line(holder, 0, 0, text);
	kill(holder, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)holder, NULL, WEXITED | WNOWAIT), 0);
	signal_error = ESRCH;
	assert_int_equal(instance_stop(path), 0);
	assert_int_equal(last_signal, SIGTERM);
}

/* In a container the agent may be process 1. */
static void the_first_process_may_be_the_holder(void **state)
{
	char text[128];

	hold(false);
	locks[0] = lock_line(1, 0, 0, text);
	locks[1] = "";
	assert_int_equal(instance_stop(path), 0);
	assert_int_equal(last_opened, 1);
	assert_int_equal(last_signal, 0);
}

static void a_path_that_is_not_a_directory_is_an_error(void **state)
{
	char file[96];

	assert_int_equal(instance_stop("/nonexistent"), 0);
	snprintf(file, sizeof(file), "%s/lock", path);
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(instance_stop(file), -ENOTDIR);
	assert_int_equal(last_opened, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(only_the_holder_of_this_lock_is_stopped),
		TEST(a_process_that_lost_the_lock_is_not_stopped),
		TEST(an_unknown_holder_is_not_stopped),
		TEST(a_holder_that_ignores_the_request_is_killed),
		TEST(a_holder_that_cannot_be_killed_keeps_the_lock),
		TEST(a_holder_that_may_not_be_signalled_is_reported),
		TEST(a_holder_that_has_just_exited_is_no_failure),
		TEST(the_first_process_may_be_the_holder),
		TEST(a_path_that_is_not_a_directory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
