// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* One agent per runtime directory, and only in a directory that is safe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/instance.h"
#include "lib/log.h"

static char parent[64], path[80];

static int make_parent(void **state)
{
	log_open("test", LOG_LEVEL_ERR);
	strcpy(parent, "/tmp/pinfold-instance-XXXXXX");
	if (!mkdtemp(parent))
		return -1;
	snprintf(path, sizeof(path), "%s/run", parent);
	return 0;
}

static int remove_parent(void **state)
{
	char lock[96];

	snprintf(lock, sizeof(lock), "%s/lock", path);
	unlink(lock);
	if (rmdir(path))
		unlink(path);
	return rmdir(parent);
}

static unsigned int mode_of(const char *name)
{
	struct stat status;

	assert_int_equal(lstat(name, &status), 0);
	return status.st_mode & 07777;
}

static void a_missing_directory_is_created(void **state)
{
	struct instance instance = INSTANCE_CLOSED;

	assert_int_equal(instance_take(path, &instance), 0);
	assert_int_equal(mode_of(path), 0700);
	assert_true(instance.dir_fd >= 0);
	instance_release(&instance);
	assert_int_equal(instance.dir_fd, -1);
	instance_release(&instance);
}

static unsigned int nr_open(void)
{
	unsigned int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void every_descriptor_is_closed_once(void **state)
{
	struct instance instance = INSTANCE_CLOSED;
	unsigned int nr = nr_open();
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fclose(file);
	assert_true(instance_take(path, &instance) < 0);
	assert_int_equal(nr_open(), nr);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(instance_take(path, &instance), 0);
	assert_int_equal(nr_open(), nr + 2);
	instance_release(&instance);
	assert_int_equal(nr_open(), nr);
}

static void a_second_agent_is_refused_until_the_first_ends(void **state)
{
	struct instance first = INSTANCE_CLOSED, second = INSTANCE_CLOSED;

	assert_int_equal(instance_take(path, &first), 0);
	assert_int_equal(instance_take(path, &second), -EBUSY);
	assert_int_equal(second.dir_fd, -1);
	assert_int_equal(second.lock_fd, -1);
	instance_release(&first);
	assert_int_equal(instance_take(path, &second), 0);
	instance_release(&second);
}

/* Refused as it is: changing a mode that somebody chose could break what relies on it. */
static void a_directory_writable_by_others_is_refused_unchanged(void **state)
{
	static const mode_t modes[] = {0770, 0707, 01777, 0720};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct instance instance = INSTANCE_CLOSED;

		assert_int_equal(mkdir(path, 0700), 0);
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(instance_take(path, &instance), -EPERM);
		assert_int_equal(mode_of(path), modes[i]);
		assert_int_equal(instance.dir_fd, -1);
		assert_int_equal(rmdir(path), 0);
	}
}

static void a_directory_with_another_owner_is_refused(void **state)
{
	struct instance instance = INSTANCE_CLOSED;

	if (geteuid())
		return; /* only root can give a directory away; the mode rows above need no root */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(instance_take(path, &instance), -EPERM);
	assert_int_equal(instance.dir_fd, -1);
}

static void links_and_files_are_refused(void **state)
{
	struct instance instance = INSTANCE_CLOSED;
	int fd;

	assert_int_equal(symlink(parent, path), 0);
	assert_true(instance_take(path, &instance) < 0);
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(instance_take(path, &instance), -ENOTDIR);
	assert_int_equal(instance.lock_fd, -1);
}

/* --- the end ------------------------------------------------------------------------------------- */

/* A child that holds the lock, and does not end when it is asked to. */
static pid_t hold_stubbornly(void)
{
	int pipe_fds[2];
	pid_t holder;
	char byte;

	assert_int_equal(pipe(pipe_fds), 0);
	holder = fork();
	if (!holder) {
		struct instance instance = INSTANCE_CLOSED;

		if (instance_take(path, &instance) || write(pipe_fds[1], "r", 1) != 1)
			_exit(1);
		/* Nobody waits for ever for one that was not ended. */
		alarm(20);
		for (;;)
			pause();
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	close(pipe_fds[0]);
	return holder;
}

static void the_lock_holder_is_stopped(void **state)
{
	struct instance instance = INSTANCE_CLOSED;
	pid_t holder;
	int status;

	assert_int_equal(instance_stop(path), 0);
	holder = hold_stubbornly();
	assert_int_equal(instance_take(path, &instance), -EBUSY);
	assert_int_equal(instance_stop(path), 0);
	assert_int_equal(waitpid(holder, &status, 0), holder);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_int_equal(instance_take(path, &instance), 0);
	/* Nobody holds it but us: a lock file alone ends nobody. */
	instance_release(&instance);
	assert_int_equal(instance_stop(path), 0);
}

static void all_files_of_the_agent_are_removed(void **state)
{
	static const char *const names[] = {"api.sock",	      ".api.sock.new",
					    "abilities",      "strangers.json",
					    "strangers.note", ".strangers.json.tmp"};
	struct instance instance = INSTANCE_CLOSED;

	assert_int_equal(instance_take(path, &instance), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		close(openat(instance.dir_fd, names[i], O_CREAT | O_WRONLY, 0600));
	instance_remove(&instance, path);
	assert_int_equal(instance.lock_fd, -1);
	assert_int_equal(access(path, F_OK), -1);
}

static void foreign_files_are_kept(void **state)
{
	struct instance instance = INSTANCE_CLOSED;
	char other[128], lock[128];

	snprintf(other, sizeof(other), "%s/notes", path);
	snprintf(lock, sizeof(lock), "%s/lock", path);
	assert_int_equal(instance_take(path, &instance), 0);
	close(openat(instance.dir_fd, "notes", O_CREAT | O_WRONLY, 0600));
	instance_remove(&instance, path);
	assert_int_equal(access(lock, F_OK), -1);
	assert_int_equal(unlink(other), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_missing_directory_is_created, make_parent,
						remove_parent),
		cmocka_unit_test_setup_teardown(every_descriptor_is_closed_once, make_parent,
						remove_parent),
		cmocka_unit_test_setup_teardown(a_second_agent_is_refused_until_the_first_ends,
						make_parent, remove_parent),
		cmocka_unit_test_setup_teardown(a_directory_writable_by_others_is_refused_unchanged,
						make_parent, remove_parent),
		cmocka_unit_test_setup_teardown(a_directory_with_another_owner_is_refused,
						make_parent, remove_parent),
		cmocka_unit_test_setup_teardown(links_and_files_are_refused, make_parent,
						remove_parent),
		cmocka_unit_test_setup_teardown(the_lock_holder_is_stopped, make_parent,
						remove_parent),
		cmocka_unit_test_setup_teardown(all_files_of_the_agent_are_removed, make_parent,
						remove_parent),
		cmocka_unit_test_setup_teardown(foreign_files_are_kept, make_parent, remove_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
