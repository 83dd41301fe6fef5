// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* How systemd is asked to stop the agent's service. tests/guest/unit-systemd asks the real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-login.h>
#include <time.h>

#include "cgroup/service.h"
#include "fake_systemd.h"

#define LIBC(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))
#define STOP	       "StopUnit pinfoldd.service replace\n"

static char error[GROUP_ERROR_MAX];
static const char *own_unit; /* of the caller; NULL = none */

int sd_pid_get_unit(pid_t pid, char **ret_unit)
{
	assert_int_equal(pid, 0);
	if (!own_unit)
		return -ENODATA;
	*ret_unit = strdup(own_unit);
	return 0;
}

/*
 * What the client waited for in vain has passed at once. In vain means that systemd has said that the job lasts,
 * and not that it is slow to answer on a loaded machine.
 */
static uint64_t passed_usec;
static pthread_t client;

int sd_bus_wait(sd_bus *bus, uint64_t timeout_usec)
{
	const uint64_t a_while_usec = 20000;
	int r = 0;

	if (!pthread_equal(pthread_self(), client))
		return LIBC(sd_bus_wait)(bus, timeout_usec);
	while (!r && sem_trywait(&fake_systemd.lasts))
		r = LIBC(sd_bus_wait)(bus, a_while_usec);
	if (r)
		return r;
	/* what says so may have come just now */
	r = LIBC(sd_bus_wait)(bus, 0);
	if (r)
		sem_post(&fake_systemd.lasts);
	else
		passed_usec += timeout_usec;
	return r;
}

int clock_gettime(clockid_t id, struct timespec *ret_now)
{
	int r = LIBC(clock_gettime)(id, ret_now);

	if (pthread_equal(pthread_self(), client)) {
		ret_now->tv_nsec += (long)(passed_usec % 1000000) * 1000;
		ret_now->tv_sec += (time_t)(passed_usec / 1000000) + ret_now->tv_nsec / 1000000000;
		ret_now->tv_nsec %= 1000000000;
	}
	return r;
}

static int begin(void **state)
{
	int r = set_up(state);

	/* Never use the machine's own bus if the private socket is not found. */
	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
	own_unit = NULL;
	passed_usec = 0;
	client = pthread_self();
	*error = '\0';
	if (r)
		return r;
	fake_systemd_start("run/systemd/private");
	put("run/systemd/system/marker", "");
	return 0;
}

static int end(void **state)
{
	fake_systemd_stop();
	return tear_down(state);
}

static void the_service_is_stopped(void **state)
{
	assert_int_equal(service_stop(root, error), 0);
	assert_non_null(strstr(fake_systemd.calls, STOP));
}

static void nobody_is_asked_without_systemd(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/run/systemd/system", root);
	assert_int_equal(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(service_stop(root, error), 0);
	assert_string_equal(fake_systemd.calls, "");
}

static void a_service_that_systemd_does_not_know_is_no_failure(void **state)
{
	fake_systemd.error_name = "org.freedesktop.systemd1.NoSuchUnit";
	assert_int_equal(service_stop(root, error), 0);
}

/* It would wait for its own end. */
static void a_command_of_the_service_does_not_stop_it(void **state)
{
	own_unit = "pinfoldd.service";
	assert_int_equal(service_stop(root, error), 0);
	assert_string_equal(fake_systemd.calls, "");
	own_unit = "ssh.service";
	assert_int_equal(service_stop(root, error), 0);
	assert_non_null(strstr(fake_systemd.calls, STOP));
}

static void a_refusal_is_told(void **state)
{
	fake_systemd.error_name = "org.freedesktop.DBus.Error.AccessDenied";
	assert_int_equal(service_stop(root, error), -EACCES);
	assert_non_null(strstr(error, "systemd refuses StopUnit"));
}

static void a_stop_that_fails_is_told(void **state)
{
	fake_systemd.job_result = "failed";
	assert_int_equal(service_stop(root, error), -ECANCELED);
	assert_non_null(strstr(error, "'failed'"));
}

/* systemd kills a service that does not end only after TimeoutStopSec=. */
static void a_slow_stop_is_waited_for(void **state)
{
	fake_systemd.nr_lasting = 18;
	assert_int_equal(service_stop(root, error), 0);
	assert_true(passed_usec >= 80000000);
	assert_int_equal(fake_systemd.nr_lasting, 0);
	/* That is the last time it is asked. */
	fake_systemd.nr_lasting = 19;
	assert_int_equal(service_stop(root, error), 0);
	assert_int_equal(fake_systemd.nr_lasting, 0);
	fake_systemd.nr_lasting = 20;
	assert_int_equal(service_stop(root, error), -ETIMEDOUT);
	assert_int_equal(fake_systemd.nr_lasting, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_service_is_stopped, begin, end),
		cmocka_unit_test_setup_teardown(nobody_is_asked_without_systemd, begin, end),
		cmocka_unit_test_setup_teardown(a_service_that_systemd_does_not_know_is_no_failure,
						begin, end),
		cmocka_unit_test_setup_teardown(a_command_of_the_service_does_not_stop_it, begin,
						end),
		cmocka_unit_test_setup_teardown(a_refusal_is_told, begin, end),
		cmocka_unit_test_setup_teardown(a_stop_that_fails_is_told, begin, end),
		cmocka_unit_test_setup_teardown(a_slow_stop_is_waited_for, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
