// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/* A manager that reads is told, one that does not keeps nobody waiting. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "lib/notify.h"

/* More than any queue of datagrams is long by default. */
#define MANY 100000

static char socket_path[64];

static int open_manager(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, name, strlen(name));
	if (*name == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len + (*name == '/')), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void hears(int fd, const char *wanted)
{
	char text[64];
	ssize_t len = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	assert_true(len >= 0);
	text[len] = '\0';
	assert_string_equal(text, wanted);
}

static void a_manager_is_told(void **state)
{
	const char *const names[] = {socket_path, "@pinfold-test-notify"};
	char name[96];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int fd cleanup_close = -1;

		snprintf(name, sizeof(name), "%s%d", names[i], getpid());
		fd = open_manager(name);
		assert_int_equal(notify_manager("READY=1"), 0);
		assert_int_equal(notify_manager("STATUS=a\nWATCHDOG=1"), 0);
		hears(fd, "READY=1");
		hears(fd, "STATUS=a\nWATCHDOG=1");
		if (*name == '/')
			unlink(name);
	}
}

static void one_that_does_not_read_is_not_waited_for(void **state)
{
	int fd cleanup_close = open_manager(socket_path);
	unsigned int nr = 0;
	int r = 0;

	alarm(60);
	while (!r && nr < MANY) {
		r = notify_manager("STATUS=it waits");
		nr += !r;
	}
	alarm(0);
	assert_int_equal(r, -EAGAIN);
	/* It reads again: what is told then is heard behind what was told before. */
	while (nr--)
		hears(fd, "STATUS=it waits");
	assert_int_equal(notify_manager("READY=1"), 0);
	hears(fd, "READY=1");
	unlink(socket_path);
}

static void nobody_and_nonsense(void **state)
{
	char name[200];

	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_manager("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "", 1);
	assert_int_equal(notify_manager("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
	assert_int_equal(notify_manager("READY=1"), -EAFNOSUPPORT);
	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(notify_manager("READY=1"), -ENAMETOOLONG);
	setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
	assert_int_equal(notify_manager("READY=1"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manager_is_told),
		cmocka_unit_test(one_that_does_not_read_is_not_waited_for),
		cmocka_unit_test(nobody_and_nonsense),
	};

	snprintf(socket_path, sizeof(socket_path), "/tmp/pinfold-notify-%d-", getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
