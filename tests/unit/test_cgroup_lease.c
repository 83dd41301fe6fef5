// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * When process 1 gets its rights and when it loses them: around each call that has it change
 * cgroups, however the call ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include <pinfold/abi.h>

#include "cgroup/lease.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "systemd_scene.h"

#define LIBC(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

/* A client that waits for a job in vain: its wait takes no time, but the clock says it did. */
static pthread_t client;
static bool waits_in_vain;
static uint64_t passed_ns;

int sd_bus_wait(sd_bus *connection, uint64_t timeout_usec)
{
	if (!waits_in_vain || !pthread_equal(pthread_self(), client))
		return LIBC(sd_bus_wait)(connection, timeout_usec);
	passed_ns += timeout_usec * 1000;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	int r = LIBC(clock_gettime)(clock, ret_time);
	uint64_t ns = (uint64_t)ret_time->tv_nsec + passed_ns;

	if (!pthread_equal(pthread_self(), client))
		return r;
	ret_time->tv_sec += (time_t)(ns / 1000000000);
	ret_time->tv_nsec = (long)(ns % 1000000000);
	return r;
}

/* What the guard was told last, and what it answers. */
static uint64_t until_ns;
static bool was_realised; /* when the lease ended */
static int answer;

/* Noted among the calls, so that the order shows. */
static int set_lease(void *self, uint64_t deadline_ns)
{
	uint64_t now = clock_monotonic_ns();

	assert_ptr_equal(self, &until_ns);
	until_ns = deadline_ns;
	if (deadline_ns) {
		assert_true(deadline_ns > now + LEASE_NS - 1000000000);
		assert_true(deadline_ns <= now + LEASE_NS);
	} else {
		was_realised = fake_systemd.is_realised;
	}
	fake_note(deadline_ns ? "lease\n" : "end\n");
	return answer;
}

static const struct lease_port lease_port = {&until_ns, set_lease};

static int set_up_lease(void **state)
{
	int r = set_up_systemd(state);

	if (r)
		return r;
	client = pthread_self();
	waits_in_vain = was_realised = false;
	until_ns = passed_ns = 0;
	answer = 0;
	groups_set_lease(groups, &lease_port);
	return 0;
}

static void expect_calls(const char *wanted)
{
	assert_string_equal(fake_systemd.calls, wanted);
	assert_int_equal(until_ns, 0);
	*fake_systemd.calls = '\0';
}

/* Set before the call, again before each further wait, and ended when systemd has done everything. */
static void a_new_slice_has_a_lease(void **state)
{
	create(GROUP_ROOT, "pinfold.slice");
	expect_calls("lease\nStartTransientUnit pinfold.slice fail Description=pinfold\n"
		     "lease\nlease\nend\n");
	fake_systemd.nr_exists = 1;
	create(GROUP_POD, POD);
	expect_calls("lease\nStartTransientUnit pinfold-poda.slice fail exists\nend\n"
		     "lease\nStartUnit pinfold-poda.slice fail\nlease\nlease\nend\n");
}

/* systemd writes the files of a property after its answer, so the lease has to last longer. */
static void a_property_has_a_lease_until_it_is_written(void **state)
{
	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	*fake_systemd.calls = '\0';
	was_realised = false;
	write_file(GROUP_POD, POD, GROUP_CPUSET_CPUS, "2-5");
	expect_calls("lease\nSetUnitProperties pinfold-poda.slice runtime=1 AllowedCPUs=2-5\n"
		     "lease\nend\n");
	assert_true(was_realised);
}

/* The first process starts the scope, and the second is attached to it. */
static void joining_has_a_lease(void **state)
{
	char error[GROUP_ERROR_MAX] = "", name[64];
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	assert_true(pidfd >= 0);
	snprintf(name, sizeof(name), "proc/%d/stat", getpid());
	put(name, "1 (test) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	snprintf(name, sizeof(name), "proc/%d/cgroup", getpid());
	put(name, "0::/" SCOPE "\n");
	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	create(GROUP_CONTAINER, SCOPE);
	*fake_systemd.calls = '\0';
	if (port.join(port.self, SCOPE, getpid(), pidfd, error))
		fail_msg("%s", error);
	expect_calls("lease\nStartTransientUnit pinfold-a-main.scope fail "
		     "Description=pinfold container Slice=pinfold-poda.slice Delegate=1 "
		     "CollectMode=inactive-or-failed PIDs=self\nlease\nlease\nend\n");
	if (port.join(port.self, SCOPE, getpid(), pidfd, error))
		fail_msg("%s", error);
	close(pidfd);
	expect_calls("lease\nAttachProcessesToUnit pinfold-a-main.scope '' self\nlease\nend\n");
}

/* Process 1 may always remove what is empty, but then writes the files of the slices above it. */
static void a_removal_has_a_lease(void **state)
{
	char error[GROUP_ERROR_MAX];

	create(GROUP_ROOT, "pinfold.slice");
	create(GROUP_POD, POD);
	*fake_systemd.calls = '\0';
	assert_int_equal(do_step(STEP_REMOVE, GROUP_POD, POD, 0, NULL, error), 0);
	expect_calls("lease\nStopUnit pinfold-poda.slice fail\nlease\nlease\nend\n");
}

/* --- calls that fail ---------------------------------------------------------------------------------- */

static int create_fails(char *error)
{
	return do_step(STEP_CREATE, GROUP_ROOT, "pinfold.slice", 0, NULL, error);
}

static void a_refusal_ends_it(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.error_name = "org.freedesktop.DBus.Error.AccessDenied";
	expect_failure(-EACCES, create_fails(error), error, "refuses StartTransientUnit");
	expect_calls("lease\nStartTransientUnit refused\nend\n");
}

static void a_failed_job_ends_it(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.job_result = "failed";
	expect_failure(-ECANCELED, create_fails(error), error, "job ended with 'failed'");
	expect_calls("lease\nStartTransientUnit pinfold.slice fail Description=pinfold\n"
		     "lease\nend\n");
}

static void a_lost_connection_ends_it(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.hang_up = true;
	assert_true(create_fails(error) < 0);
	expect_calls("lease\nend\n");
}

static void a_job_that_does_not_end_ends_it(void **state)
{
	char error[GROUP_ERROR_MAX];

	fake_systemd.is_late = true;
	waits_in_vain = true;
	expect_failure(-ETIMEDOUT, create_fails(error), error, "has not ended after 5 s");
	expect_calls("lease\nStartTransientUnit pinfold.slice fail Description=pinfold\n"
		     "lease\nend\n");
	sem_post(&fake_systemd.client_waits);
}

/* The guard then denies what systemd does, or is not there. */
static void a_guard_that_cannot_be_told_stops_no_call(void **state)
{
	answer = -EPERM;
	create(GROUP_ROOT, "pinfold.slice");
	expect_calls("lease\nStartTransientUnit pinfold.slice fail Description=pinfold\n"
		     "lease\nlease\nend\n");
}

/* --- several calls at a time -------------------------------------------------------------------------- */

static void the_last_of_several_calls_ends_it(void **state)
{
	struct lease lease;

	lease_init(&lease);
	/* without a guard nobody is told */
	lease_begin(&lease);
	lease_end(&lease);
	assert_string_equal(fake_systemd.calls, "");
	lease_set_port(&lease, &lease_port);
	lease_begin(&lease);
	lease_begin(&lease);
	lease_end(&lease);
	assert_true(until_ns);
	lease_begin(&lease);
	lease_end(&lease);
	assert_true(until_ns);
	lease_end(&lease);
	assert_int_equal(until_ns, 0);
	assert_string_equal(fake_systemd.calls, "lease\nlease\nlease\nend\n");
	lease_fini(&lease);
}

static void the_guard_accepts_its_length(void **state)
{
	assert_true(LEASE_NS < GUARD_LEASE_MAX_NS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_lease, tear_down_systemd)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_new_slice_has_a_lease),
		TEST(a_property_has_a_lease_until_it_is_written),
		TEST(joining_has_a_lease),
		TEST(a_removal_has_a_lease),
		TEST(a_refusal_ends_it),
		TEST(a_failed_job_ends_it),
		TEST(a_lost_connection_ends_it),
		TEST(a_job_that_does_not_end_ends_it),
		TEST(a_guard_that_cannot_be_told_stops_no_call),
		TEST(the_last_of_several_calls_ends_it),
		TEST(the_guard_accepts_its_length),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
