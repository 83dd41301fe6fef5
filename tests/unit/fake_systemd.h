/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few methods of systemd's manager that the cgroup room calls, answered over a
 * socket of the real protocol by threads of the test. Units become directories of a
 * fake cgroup tree (cgroup_scene.h), properties the text of their files.
 *
 * It never fails unless told to. The test changes what it is told only while no call
 * is under way.
 */
#ifndef TESTS_FAKE_SYSTEMD_H
#define TESTS_FAKE_SYSTEMD_H

#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>

#include "cgroup_scene.h"
#include "core/cpuset.h"

#define FAKE_MANAGER  "org.freedesktop.systemd1.Manager"
#define FAKE_PATH_MAX 160

static struct fake_systemd {
	int listen_fd;
	pthread_t acceptor;
	char socket_path[108];

	/* Settings of the test. */
	const char *error_name;	 /* for the next call only */
	unsigned int nr_exists;	 /* StartTransientUnit calls that fail with UnitExists */
	const char *job_result;	 /* how jobs end; NULL = "done" */
	bool hang_up;		 /* close the connection instead of replying */
	bool wrong_job;		 /* answer with no job */
	bool is_late;		 /* a job ends only when the client waits: post client_waits */
	unsigned int nr_lasting; /* jobs that do not end; who asks again gets the same one */
	bool leaves;		 /* close the connection after a job, and post has_left */
	bool properties_are_odd; /* CPU lists are accepted but not applied */

	sem_t client_waits, has_left;
	sem_t lasts;	  /* posted when a client has been sent that a job does not end */
	bool is_realised; /* a call after the last SetUnitProperties was handled */
	char scope[FAKE_PATH_MAX], scope_path[FAKE_PATH_MAX]; /* the last one started */
	/* What happened: "Method unit property=value …", one line each. */
	char calls[8192];
} fake_systemd;

__attribute__((format(printf, 1, 2))) static inline void fake_note(const char *format, ...)
{
	size_t len = strlen(fake_systemd.calls);
	va_list args;

	va_start(args, format);
	vsnprintf(fake_systemd.calls + len, sizeof(fake_systemd.calls) - len, format, args);
	va_end(args);
}

/* "a-b.slice" is in "a.slice"; a scope is in the slice that was named. */
static inline void fake_unit_path(const char *unit, const char *slice, char *ret_path, size_t size)
{
	const char *dash = strchr(unit, '-');

	if (slice && *slice && strstr(unit, ".scope")) {
		char parent[FAKE_PATH_MAX];

		fake_unit_path(slice, NULL, parent, sizeof(parent));
		snprintf(ret_path, size, "%.79s/%.79s", parent, unit);
	} else if (!strcmp(unit, fake_systemd.scope)) {
		snprintf(ret_path, size, "%s", fake_systemd.scope_path);
	} else if (dash && strstr(unit, ".slice")) {
		snprintf(ret_path, size, "%.*s.slice/%.79s", (int)(dash - unit), unit, unit);
	} else {
		snprintf(ret_path, size, "%s", unit);
	}
}

static inline void fake_put_file(const char *path, const char *file, const char *text)
{
	char name[320];

	/* A unit that does not exist has no files. */
	snprintf(name, sizeof(name), "cg/%.200s", path);
	if (!exists(name))
		return;
	snprintf(name, sizeof(name), "cg/%.200s/%.80s", path, file);
	put(name, text);
}

static inline void fake_put_mask(sd_bus_message *message, const char *path, const char *property,
				 const char *file)
{
	struct cpuset set = CPUSET_EMPTY;
	char list[256], effective[64];
	const uint8_t *mask;
	size_t bytes;

	sd_bus_message_read_array(message, 'y', (const void **)&mask, &bytes);
	for (unsigned int cpu = 0; cpu < bytes * 8; cpu++)
		if (mask[cpu / 8] >> (cpu % 8) & 1)
			cpuset_add(&set, cpu);
	cpuset_format(&set, list, sizeof(list));
	fake_note(" %s=%s", property, list);
	if (!*path || fake_systemd.properties_are_odd)
		return;
	snprintf(effective, sizeof(effective), "%s.effective", file);
	fake_put_file(path, file, list);
	fake_put_file(path, effective, list);
}

static inline void fake_put_number(const char *path, const char *property, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
	if (*path && !strcmp(property, "CPUWeight"))
		fake_put_file(path, "cpu.weight", text);
	else if (*path && !strcmp(property, "MemoryMax"))
		fake_put_file(path, "memory.max", text);
}

/* One property: noted, and put into force where it has a file. *ret_slice: of a scope. */
static inline void fake_property(sd_bus_message *message, const char *path, char *ret_slice)
{
	const char *property, *contents, *text;
	uint64_t number;
	uint32_t pid;
	int flag;

	sd_bus_message_read(message, "s", &property);
	sd_bus_message_peek_type(message, NULL, &contents);
	sd_bus_message_enter_container(message, 'v', contents);
	if (!strcmp(property, "AllowedCPUs")) {
		fake_put_mask(message, path, property, "cpuset.cpus");
	} else if (!strcmp(property, "AllowedMemoryNodes")) {
		fake_put_mask(message, path, property, "cpuset.mems");
	} else if (!strcmp(contents, "t")) {
		sd_bus_message_read(message, "t", &number);
		fake_note(" %s=%llu", property, (unsigned long long)number);
		fake_put_number(path, property, number);
	} else if (!strcmp(contents, "s")) {
		sd_bus_message_read(message, "s", &text);
		fake_note(" %s=%s", property, text);
		if (!strcmp(property, "Slice"))
			snprintf(ret_slice, FAKE_PATH_MAX, "%s", text);
	} else if (!strcmp(contents, "b")) {
		sd_bus_message_read(message, "b", &flag);
		fake_note(" %s=%d", property, flag);
	} else if (!strcmp(contents, "au")) {
		sd_bus_message_read(message, "au", 1, &pid);
		fake_note(" %s=%s", property, pid == (uint32_t)getpid() ? "self" : "other");
	}
	sd_bus_message_exit_container(message);
}

static inline void fake_properties(sd_bus_message *message, const char *path, char *ret_slice)
{
	sd_bus_message_enter_container(message, 'a', "(sv)");
	while (sd_bus_message_enter_container(message, 'r', "sv") > 0) {
		fake_property(message, path, ret_slice);
		sd_bus_message_exit_container(message);
	}
	sd_bus_message_exit_container(message);
}

static inline void fake_answer_job(sd_bus_message *call, const char *unit)
{
	sd_bus *bus = sd_bus_message_get_bus(call);

	if (fake_systemd.wrong_job) {
		sd_bus_reply_method_return(call, "s", "no job");
		return;
	}
	/* Another job ends in the meantime; it is not the one the client waits for. */
	sd_bus_emit_signal(bus, "/org/freedesktop/systemd1", FAKE_MANAGER, "JobRemoved", "uoss", 6,
			   "/org/freedesktop/systemd1/job/6", "other.service", "failed");
	sd_bus_reply_method_return(call, "o", "/org/freedesktop/systemd1/job/7");
	if (fake_systemd.nr_lasting) {
		fake_systemd.nr_lasting--;
		sd_bus_flush(bus);
		sem_post(&fake_systemd.lasts);
		return;
	}
	if (fake_systemd.is_late) {
		sd_bus_flush(bus);
		sem_wait(&fake_systemd.client_waits);
	}
	sd_bus_emit_signal(bus, "/org/freedesktop/systemd1", FAKE_MANAGER, "JobRemoved", "uoss", 7,
			   "/org/freedesktop/systemd1/job/7", unit,
			   fake_systemd.job_result ? fake_systemd.job_result : "done");
	if (!fake_systemd.leaves)
		return;
	for (int i = 0; i < 2; i++)
		sd_bus_emit_signal(bus, "/org/freedesktop/systemd1", FAKE_MANAGER, "JobRemoved",
				   "uoss", 8, "/org/freedesktop/systemd1/job/8", "other.service",
				   "done");
	sd_bus_flush(bus);
	sd_bus_close(bus);
}

static inline void fake_start_transient(sd_bus_message *call)
{
	char slice[FAKE_PATH_MAX] = "", path[FAKE_PATH_MAX];
	const char *unit, *mode;

	sd_bus_message_read(call, "ss", &unit, &mode);
	fake_note("StartTransientUnit %s %s", unit, mode);
	if (!sd_bus_message_has_signature(call, "ssa(sv)a(sa(sv))"))
		fake_note(" of another signature");
	if (fake_systemd.nr_exists) {
		fake_systemd.nr_exists--;
		fake_note(" exists\n");
		sd_bus_reply_method_errorf(call, "org.freedesktop.systemd1.UnitExists",
					   "Unit %s already exists.", unit);
		return;
	}
	/* The slice is among the properties, so the group is made in a second reading. */
	fake_properties(call, "", slice);
	fake_note("\n");
	fake_unit_path(unit, slice, path, sizeof(path));
	if (strstr(unit, ".scope")) {
		snprintf(fake_systemd.scope, sizeof(fake_systemd.scope), "%s", unit);
		memcpy(fake_systemd.scope_path, path, sizeof(path));
	}
	put_group(path, "", "0-15\n", strstr(unit, ".scope"));
	sd_bus_message_rewind(call, true);
	sd_bus_message_skip(call, "ss");
	{
		size_t len = strlen(fake_systemd.calls);

		fake_properties(call, path, slice);
		fake_systemd.calls[len] = '\0';
	}
	fake_answer_job(call, unit);
}

static inline void fake_stop(sd_bus_message *call)
{
	const char *unit, *mode;
	char path[FAKE_PATH_MAX], whole[FAKE_PATH_MAX + 80];
	const char *partition = "member";

	sd_bus_message_read(call, "ss", &unit, &mode);
	fake_unit_path(unit, NULL, path, sizeof(path));
	snprintf(whole, sizeof(whole), "cg/%s/cpuset.cpus.partition", path);
	if (exists(whole))
		partition = get(whole);
	fake_note("StopUnit %s %s%s\n", unit, mode,
		  strncmp(partition, "member", 6) ? " of a partition" : "");
	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	nftw(whole, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	fake_answer_job(call, unit);
}

static inline int fake_on_message(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	const char *member = sd_bus_message_get_member(call), *unit, *text;
	char path[FAKE_PATH_MAX], slice[FAKE_PATH_MAX];
	uint32_t pid;
	int runtime;

	fake_systemd.is_realised = strcmp(member, "SetUnitProperties") != 0;
	if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus", "Hello"))
		return sd_bus_reply_method_return(call, "s", ":1.1");
	if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus", NULL))
		return sd_bus_reply_method_return(call, "");
	if (!sd_bus_message_is_method_call(call, FAKE_MANAGER, NULL))
		return 0;
	if (fake_systemd.hang_up) {
		fake_systemd.hang_up = false;
		sd_bus_close(sd_bus_message_get_bus(call));
		return 1;
	}
	if (fake_systemd.error_name) {
		const char *name = fake_systemd.error_name;

		fake_systemd.error_name = NULL;
		fake_note("%s refused\n", member);
		return sd_bus_reply_method_errorf(call, name, "not today");
	}
	if (!strcmp(member, "StartTransientUnit")) {
		fake_start_transient(call);
	} else if (!strcmp(member, "StopUnit")) {
		fake_stop(call);
	} else if (!strcmp(member, "StartUnit")) {
		sd_bus_message_read(call, "ss", &unit, &text);
		fake_note("StartUnit %s %s\n", unit, text);
		fake_unit_path(unit, NULL, path, sizeof(path));
		put_group(path, "", "0-15\n", false);
		fake_answer_job(call, unit);
	} else if (!strcmp(member, "SetUnitProperties")) {
		sd_bus_message_read(call, "sb", &unit, &runtime);
		fake_note("SetUnitProperties %s runtime=%d", unit, runtime);
		fake_unit_path(unit, "", path, sizeof(path));
		fake_properties(call, path, slice);
		fake_note("\n");
		sd_bus_reply_method_return(call, "");
	} else if (!strcmp(member, "AttachProcessesToUnit")) {
		sd_bus_message_read(call, "ssau", &unit, &text, 1, &pid);
		fake_note("AttachProcessesToUnit %s '%s' %s\n", unit, text,
			  pid == (uint32_t)getpid() ? "self" : "other");
		sd_bus_reply_method_return(call, "");
	} else {
		/* Subscribe */
		fake_note("%s\n", member);
		sd_bus_reply_method_return(call, "");
	}
	return 1;
}

static inline void *fake_serve(void *argument)
{
	int fd = (int)(intptr_t)argument;
	sd_id128_t id = {.bytes = {1}};
	sd_bus *bus = NULL;

	if (sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
	    sd_bus_set_server(bus, 1, id) < 0 || sd_bus_start(bus) < 0 ||
	    sd_bus_add_filter(bus, NULL, fake_on_message, NULL) < 0)
		abort();
	while (sd_bus_is_open(bus) > 0) {
		int r = sd_bus_process(bus, NULL);

		if (r < 0 || (!r && sd_bus_wait(bus, UINT64_MAX) < 0))
			break;
	}
	sd_bus_close_unref(bus);
	if (fake_systemd.leaves)
		sem_post(&fake_systemd.has_left);
	return NULL;
}

static inline void *fake_accept(void *argument)
{
	int fd;

	while ((fd = accept4(fake_systemd.listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, fake_serve, (void *)(intptr_t)fd))
			abort();
		pthread_detach(thread);
	}
	return NULL;
}

/* Listen at this path below the configured root. */
static inline void fake_systemd_start(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	fake_systemd = (struct fake_systemd){0};
	sem_init(&fake_systemd.client_waits, 0, 0);
	sem_init(&fake_systemd.has_left, 0, 0);
	sem_init(&fake_systemd.lasts, 0, 0);
	/* The directories above it. */
	put(path, "");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", root, path);
	assert_int_equal(unlink(address.sun_path), 0);
	fake_systemd.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fake_systemd.listen_fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(fake_systemd.listen_fd, 8), 0);
	assert_int_equal(pthread_create(&fake_systemd.acceptor, NULL, fake_accept, NULL), 0);
}

static inline void fake_systemd_stop(void)
{
	shutdown(fake_systemd.listen_fd, SHUT_RDWR);
	pthread_join(fake_systemd.acceptor, NULL);
	close(fake_systemd.listen_fd);
}

#endif
