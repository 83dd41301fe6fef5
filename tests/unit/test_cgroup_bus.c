// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Sessions with systemd: each for one thread at a time, reused, and each job with its own result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <fcntl.h>

#include "cgroup/systemd_bus.h"
#include "fake_systemd.h"
#include "lib/log.h"

#define LIBC(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

static struct systemd_bus bus;
static int root_fd;

/* How often the lock of the idle sessions was taken, and whether it is held. */
static unsigned int nr_locked;
static bool is_locked;

int pthread_mutex_lock(pthread_mutex_t *lock)
{
	int r = LIBC(pthread_mutex_lock)(lock);

	if (lock == &bus.lock) {
		is_locked = true;
		nr_locked++;
	}
	return r;
}

int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	if (lock == &bus.lock) {
		assert_true(is_locked);
		is_locked = false;
	}
	return LIBC(pthread_mutex_unlock)(lock);
}

/* The fake's own threads wait as well. */
static pthread_t client;

int sd_bus_wait(sd_bus *connection, uint64_t timeout_usec)
{
	if (pthread_equal(pthread_self(), client))
		sem_post(&fake_systemd.client_waits);
	return LIBC(sd_bus_wait)(connection, timeout_usec);
}

static int set_up_bus(void **state)
{
	int r = set_up(state);

	/* Never use the machine's own bus if the private socket is not found. */
	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
	if (r)
		return r;
	fake_systemd_start("run/systemd/private");
	client = pthread_self();
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	systemd_bus_init(&bus, root_fd);
	return 0;
}

static int tear_down_bus(void **state)
{
	systemd_bus_fini(&bus);
	close(root_fd);
	fake_systemd_stop();
	return tear_down(state);
}

static struct systemd_session *take(void)
{
	struct systemd_session *session = NULL;
	char error[GROUP_ERROR_MAX] = "";

	if (systemd_take_session(&bus, error, &session))
		fail_msg("%s", error);
	assert_non_null(session);
	return session;
}

static void sessions_are_reused_and_never_shared(void **state)
{
	struct systemd_session *first = take(), *second = take(), *again, *other;

	assert_ptr_not_equal(first, second);
	systemd_return_session(&bus, first);
	systemd_return_session(&bus, second);
	again = take();
	other = take();
	assert_ptr_not_equal(again, other);
	assert_true(again == first || again == second);
	assert_true(other == first || other == second);
	systemd_return_session(&bus, again);
	systemd_return_session(&bus, other);
}

static void the_list_of_sessions_is_locked(void **state)
{
	struct systemd_session *session;

	nr_locked = 0;
	session = take();
	assert_int_equal(nr_locked, 1);
	systemd_return_session(&bus, session);
	assert_int_equal(nr_locked, 2);
	assert_false(is_locked);
}

/* Of one job after another in the same session. */
static void each_job_has_its_own_result(void **state)
{
	struct systemd_session *session = take();
	char error[GROUP_ERROR_MAX] = "";

	assert_int_equal(systemd_call_unit(session, "StopUnit", "a.slice", SYSTEMD_JOB, error), 0);
	fake_systemd.job_result = "failed";
	assert_int_equal(systemd_call_unit(session, "StopUnit", "a.slice", SYSTEMD_JOB, error),
			 -ECANCELED);
	assert_non_null(strstr(error, "job ended with 'failed'"));
	fake_systemd.job_result = "done";
	assert_int_equal(systemd_call_unit(session, "StopUnit", "a.slice", SYSTEMD_JOB, error), 0);
	systemd_return_session(&bus, session);
}

/* A job rarely ends before it is waited for, and nothing may be there to read until then. */
static void a_job_may_end_late(void **state)
{
	struct systemd_session *session = take();
	char error[GROUP_ERROR_MAX] = "";

	fake_systemd.is_late = true;
	fake_systemd.job_result = "failed";
	assert_int_equal(systemd_call_unit(session, "StopUnit", "a.slice", SYSTEMD_JOB, error),
			 -ECANCELED);
	systemd_return_session(&bus, session);
}

/* Before it left, systemd sent signals that nobody waited for. */
static void a_connection_that_systemd_closed_is_not_used_again(void **state)
{
	struct systemd_session *session = take();
	char error[GROUP_ERROR_MAX] = "";

	fake_systemd.leaves = true;
	assert_int_equal(systemd_call_unit(session, "StopUnit", "a.slice", SYSTEMD_JOB, error), 0);
	systemd_return_session(&bus, session);
	sem_wait(&fake_systemd.has_left);
	fake_systemd.leaves = false;
	session = take();
	if (systemd_call_unit(session, "StopUnit", "a.slice", SYSTEMD_JOB, error))
		fail_msg("%s", error);
	systemd_return_session(&bus, session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_bus, tear_down_bus)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(sessions_are_reused_and_never_shared),
		TEST(the_list_of_sessions_is_locked),
		TEST(each_job_has_its_own_result),
		TEST(a_job_may_end_late),
		TEST(a_connection_that_systemd_closed_is_not_used_again),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
