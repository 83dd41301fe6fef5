// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/*
 * The port of strangers around its walks: the thread that walks, the file of originals that cannot
 * be read or belongs to another boot, and an uninstall that does not succeed.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "lib/worker.h"
#include "stranger_scene.h"

/* --- a walk that takes its time ------------------------------------------------------------------ */

static int gate[2];
static unsigned int nr_walked;

/* The first look of a walk waits until somebody writes to the gate. */
static int get_behind_gate(void *self, pid_t thread, struct cpuset *ret_cpus)
{
	char byte;

	if (gate[0] >= 0 && read(gate[0], &byte, 1) < 0)
		return -EIO;
	return get_cpus(self, thread, ret_cpus);
}

static const struct affinity_calls gated = {
	.get = get_behind_gate, .set = set_cpus, .now_ticks = get_ticks};

static void count_walks(void *self, int error, struct stranger_report *walked)
{
	nr_walked++;
	on_walked(self, error, walked);
}

static const struct stranger_sink counting = {.walked = count_walks};

static void await_walk(struct worker_pool *pool)
{
	struct pollfd ended = {.fd = worker_pool_fd(pool), .events = POLLIN};

	while (!nr_walked) {
		assert_int_equal(poll(&ended, 1, 600000), 1);
		worker_pool_dispatch(pool);
	}
}

static void a_walk_goes_on_without_its_caller(void **state)
{
	struct strangers_options options = {.root = root, .run_fd = run_fd, .calls = &gated};
	char boot_id[] = BOOT, workload_root[] = ROOT, where[64] = "x";
	struct stranger_owner owner = {.path = OWNER, .cpus = cpuset_of_text("4-5")};
	struct stranger_request request = {.mode = STRANGER_REPAIR,
					   .workload_root = workload_root,
					   .nr_owners = 1,
					   .owners = &owner,
					   .now_ns = S};
	struct stranger_port port;

	assert_int_equal(pipe(gate), 0);
	assert_int_equal(worker_pool_new(1, &options.pool), 0);
	worker_pool_set_grace(options.pool, 1);
	options.boot_id = boot_id;
	strangers_close(strangers);
	assert_int_equal(strangers_open(&options, &strangers), 0);
	*boot_id = 'x';
	strangers_listen(strangers, &counting);
	port = strangers_port(strangers);
	request.cpus.exclusive = owner.cpus;
	request.cpus.online = known_online;
	request.cpus.allowed = cpuset_of_text("0-3,6-7");
	nr_walked = 0;
	assert_int_equal(port.walk(port.self, &request), 0);
	assert_int_equal(nr_walked, 0);
	port.waits_in(port.self, where, sizeof(where));
	assert_string_not_equal(where, "x");
	assert_int_equal(port.walk(port.self, &request), -EBUSY);
	/* The caller's request is its own again. */
	strcpy(owner.path, "other");
	strcpy(workload_root, "other");
	owner.cpus = CPUSET_EMPTY;
	assert_int_equal(write(gate[1], "xxxxxxxx", 8), 8);
	await_walk(options.pool);
	assert_int_equal(nr_walked, 1);
	assert_int_equal(result, 0);
	expect_cpus(1, "0-3,6-7");
	assert_int_equal(tasks[index_of(50)].nr_tries, 0);
	assert_null(row_of(50));
	worker_pool_set_grace(options.pool, 600 * S);
	request.nr_owners = 0;
	request.owners = NULL;
	assert_int_equal(port.walk(port.self, &request), 0);
	assert_int_equal(nr_walked, 2);
	assert_int_equal(worker_pool_free(options.pool), 0);
	close(gate[0]);
	close(gate[1]);
	gate[0] = -1;
}

static void a_walk_before_anybody_listens_is_nobodys(void **state)
{
	strangers_listen(strangers, NULL);
	report.nr_held = 17;
	repair("4-5");
	assert_int_equal(report.nr_held, 17);
	expect_cpus(1, "0-3,6-7");
}

static void without_calls_those_of_the_kernel_are_used(void **state)
{
	const struct strangers_options options = {.root = root, .run_fd = run_fd, .boot_id = BOOT};
	struct cpuset own;
	char text[CPUSET_TEXT_MAX];

	assert_int_equal(affinity_system_calls.get(NULL, 0, &own), 0);
	cpuset_format(&own, text, sizeof(text));
	put_process(getpid(), "self", 1, USER, 20, "user.slice", "");
	strangers_close(strangers);
	assert_int_equal(strangers_open(&options, &strangers), 0);
	strangers_listen(strangers, &sink);
	walk(STRANGER_OBSERVE, text);
	expect_state(getpid(), STRANGER_STATE_REACHES);
	assert_string_equal(row_of(getpid())->affinity, text);
}

static void without_procfs_the_room_does_not_open(void **state)
{
	const struct strangers_options options = {.root = "/nonexistent", .boot_id = BOOT};
	struct strangers *none = NULL;

	assert_int_equal(strangers_open(&options, &none), -ENOENT);
	assert_null(none);
	strangers_close(NULL);
}

/* --- the file of originals ----------------------------------------------------------------------- */

static void walk_fails(int error)
{
	const struct stranger_request request = {
		.mode = STRANGER_REPAIR, .workload_root = ROOT, .now_ns = now_ns += S};
	const struct stranger_port port = strangers_port(strangers);

	assert_int_equal(port.walk(port.self, &request), 0);
	assert_int_equal(result, error);
	assert_true(report.cost_ns);
}

/* A walk without the originals would take what agents wrote for what tasks had. */
static void no_walk_begins_until_the_file_can_be_read(void **state)
{
	char *data cleanup_free = NULL;
	size_t len;

	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	assert_int_equal(file_read_all(run_fd, PINFOLD_STRANGERS_FILE, 65536, &data, &len), 0);
	assert_int_equal(unlinkat(run_fd, PINFOLD_STRANGERS_FILE, 0), 0);
	assert_int_equal(mkdirat(run_fd, PINFOLD_STRANGERS_FILE, 0700), 0);
	restart();
	walk_fails(-EISDIR);
	expect_cpus(20, "0-3,6-7");
	assert_int_equal(unlinkat(run_fd, PINFOLD_STRANGERS_FILE, AT_REMOVEDIR), 0);
	assert_int_equal(file_replace(run_fd, PINFOLD_STRANGERS_FILE, data, len), 0);
	repair("");
	expect_cpus(20, "0-7");
}

/* Once it has been read, the table knows more than the file. */
static void the_file_is_read_once(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	assert_int_equal(file_replace(run_fd, PINFOLD_STRANGERS_FILE, "{", 1), 0);
	repair("");
	expect_cpus(20, "0-7");
	assert_int_equal(report.nr_restored, 2);
}

#define FILE_OF_BOOT(boot)                                              \
	"{\"version\": 1, \"boot_id\": \"" boot "\", \"affinities\": [" \
	"{\"original\": \"0-7\", \"written\": \"0-3\", \"tasks\": [[20, 20, 1]]}]}"

static void replace_file(const char *text)
{
	assert_int_equal(file_replace(run_fd, PINFOLD_STRANGERS_FILE, text, strlen(text)), 0);
}

static void tasks_of_another_boot_are_not_restored(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-3");
	replace_file(FILE_OF_BOOT("another"));
	repair("");
	expect_cpus(20, "0-3");
	assert_int_equal(report.nr_held, 0);
	restart();
	replace_file(FILE_OF_BOOT(BOOT));
	repair("");
	expect_cpus(20, "0-7");
}

/* --- uninstall ----------------------------------------------------------------------------------- */

/* What the uninstall logs; borrowed until the next call. */
static const char *uninstall_says(int wanted)
{
	FILE *cleanup_file file = tmpfile();
	const int before = dup(STDERR_FILENO);
	static char said[2048];
	int r;

	assert_non_null(file);
	log_set_level(LOG_LEVEL_WARN);
	dup2(fileno(file), STDERR_FILENO);
	r = uninstall();
	dup2(before, STDERR_FILENO);
	close(before);
	log_set_level(LOG_LEVEL_ERR);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	assert_int_equal(r, wanted);
	return said;
}

static void expect_said(const char *said, const char *part)
{
	if (!strstr(said, part))
		fail_msg("'%s' does not say '%s'", said, part);
}

static void what_could_not_be_restored_is_said(void **state)
{
	const char *said;

	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-7");
	put_process(21, "other", 1, USER, 20, "system.slice", "0-7");
	put_process(22, "narrowed", 1, USER, 20, "system.slice", "0-7");
	repair("4-5");
	/* A cpuset hides a part of what was written, so it cannot be restored now. */
	write_from_outside(22, "0-1");
	tasks[index_of(20)].error = -EPERM;
	said = uninstall_says(-EPERM);
	expect_said(said, "cannot restore thread 20 (sshd) to CPUs 0-7, it may use 0-3,6-7");
	assert_null(strstr(said, "(other)"));
	expect_said(said, "thread 22 (narrowed) is not restored to CPUs 0-7, because a cpuset or "
			  "another process lets it use 0-1 only");
	expect_cpus(21, "0-7");
	tasks[index_of(20)].error = 0;
	said = uninstall_says(0);
	assert_null(strstr(said, "(sshd)"));
	expect_said(said, "(narrowed)");
	expect_cpus(20, "0-7");
	/* What was written shows again. */
	write_from_outside(22, "0-3,6-7");
	assert_string_equal(uninstall_says(0), "");
	expect_cpus(22, "0-7");
}

/* There is no sign that any agent of this boot changed an affinity. */
static void an_uninstall_without_originals_changes_nothing(void **state)
{
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-3");
	assert_string_equal(uninstall_says(0), "");
	replace_file(FILE_OF_BOOT("another"));
	assert_string_equal(uninstall_says(0), "");
	assert_int_equal(tasks[index_of(20)].nr_tries, 0);
	/* So it does not matter whether the tasks can be read. */
	put("proc/77", "not a directory");
	assert_string_equal(uninstall_says(0), "");
}

/* An agent that knew no limit may have written it. What it names can still be restored by that agent. */
static void a_file_that_is_too_long_is_kept(void **state)
{
	const int fd = openat(run_fd, PINFOLD_STRANGERS_FILE, O_WRONLY | O_CREAT, 0600);
	struct stat status;

	assert_int_equal(ftruncate(fd, (4 << 20) + 1), 0);
	close(fd);
	walk_fails(-EFBIG);
	expect_said(uninstall_says(-EFBIG), "strangers.json is larger than 4 MiB");
	assert_int_equal(fstatat(run_fd, PINFOLD_STRANGERS_FILE, &status, 0), 0);
	assert_int_equal(status.st_size, (4 << 20) + 1);
}

static void an_uninstall_reports_what_it_cannot_read(void **state)
{
	assert_int_equal(mkdirat(run_fd, PINFOLD_STRANGERS_FILE, 0700), 0);
	expect_said(uninstall_says(-EISDIR), "cannot read strangers.json");
	assert_int_equal(unlinkat(run_fd, PINFOLD_STRANGERS_FILE, AT_REMOVEDIR), 0);
	replace_file(FILE_OF_BOOT(BOOT));
	put("proc/77", "not a directory");
	expect_said(uninstall_says(-ENOTDIR), "cannot walk over the tasks");
	put_process(20, "sshd", 1, USER, 20, "system.slice", "0-3");
	strcat(root, "/none");
	expect_said(uninstall_says(-ENOENT), "/none/proc");
	root[strlen(root) - strlen("/none")] = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_walk_goes_on_without_its_caller),
		ROW(a_walk_before_anybody_listens_is_nobodys),
		ROW(without_calls_those_of_the_kernel_are_used),
		ROW(without_procfs_the_room_does_not_open),
		ROW(no_walk_begins_until_the_file_can_be_read),
		ROW(the_file_is_read_once),
		ROW(tasks_of_another_boot_are_not_restored),
		ROW(what_could_not_be_restored_is_said),
		ROW(an_uninstall_without_originals_changes_nothing),
		ROW(a_file_that_is_too_long_is_kept),
		ROW(an_uninstall_reports_what_it_cannot_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
