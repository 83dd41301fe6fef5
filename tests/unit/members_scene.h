/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that somebody moves over the borders of two containers, and a port that moves them back as
 * a test tells it. The pod a has the container `exclusive`, and b the container `other`. Include it
 * after cmocka.
 */
#ifndef TESTS_MEMBERS_SCENE_H
#define TESTS_MEMBERS_SCENE_H

#include <fcntl.h>
#include <unistd.h>

#include "ctl/backoff.h"
#include "ctl/members.h"
#include "node_scene.h"

#define A	"pinfold.slice/poduid-a/exclusive"
#define B	"pinfold.slice/poduid-b/other"
#define OUTSIDE 1500 /* the id of a cgroup of the host */
#define START	4711

/* --- a mover that does what it is told ---------------------------------------------------------- */

static struct {
	unsigned int nr_calls;
	struct member_move last;
	int error;  /* of the call */
	int result; /* of the move */
	uint32_t nr_children;
	bool is_late;
	const struct member_sink *sink;
} port;

static inline void end_move(void)
{
	struct member_move move = port.last;

	move.result = port.result;
	move.nr_children = port.nr_children;
	snprintf(move.to, sizeof(move.to), "%s", move.home_id ? move.home : "user.slice");
	snprintf(move.error, sizeof(move.error), "%s", port.result ? "no way" : "");
	port.sink->ended(port.sink->self, &move);
}

static inline int restore(void *self, const struct member_move *move)
{
	port.nr_calls++;
	port.last = *move;
	if (!port.error && !port.is_late)
		end_move();
	return port.error;
}

static inline void where(void *self, const struct member_move *move, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "cgroup_procs_write of %u", move->pid);
}

static const struct member_port member_port = {NULL, restore, where};

/* --- the scene ---------------------------------------------------------------------------------- */

static struct pod_spec *pods[2];

static inline struct controller *start_with_port(enum enforcement moves,
						 const struct member_port *members)
{
	const struct controller_ports ports = {.kernel = &fake_side_port, .members = members};
	struct controller *controller;

	memset(&port, 0, sizeof(port));
	config.enforcement.guard[ASPECT_CGROUP_MOVES] = moves;
	pods[0] = fake_pod("a", "exclusive", 4000, true);
	pods[1] = fake_pod("b", "other", 2000, true);
	controller = make_node_with(ports);
	port.sink = &controller_sinks(controller)->member;
	assert_int_equal(controller_start(controller), 0);
	scan(controller, pods, 2);
	return controller;
}

static inline struct controller *start_with(enum enforcement moves)
{
	return start_with_port(moves, &member_port);
}

static inline void end(struct controller *controller)
{
	controller_free(controller);
	free_pods(pods, 2);
}

/* As the watch tells it: between containers, the destination is the target. 0 = outside. */
static inline struct event_record moved(uint32_t pid, uint64_t from, uint64_t to)
{
	struct event_record event = EVENT_RECORD(EVENT_MOVE);

	event.aspect = ASPECT_CGROUP_MOVES;
	event.action = ACTION_ALLOW;
	event.pid = 77;
	event.culprit_id = id_of_path("pinfold.slice");
	snprintf(event.comm, sizeof(event.comm), "culprit");
	event.target_id = to ? to : from;
	event.move.target_pid = pid;
	event.move.start_ticks = START;
	event.move.moved_ticks = START + 100;
	event.move.from_id = from ? from : OUTSIDE;
	event.move.to_id = to ? to : OUTSIDE + 1;
	event.move.from_border_id = from;
	event.move.to_border_id = to;
	return event;
}

static inline void tell(struct controller *controller, const struct event_record *event)
{
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;

	sink->event(sink->self, event);
}

static inline void tell_move(struct controller *controller, uint32_t pid, uint64_t from,
			     uint64_t to)
{
	struct event_record event = moved(pid, from, to);

	tell(controller, &event);
}

static inline void pass(struct controller *controller, uint64_t ns)
{
	fake->now_ns += ns;
	controller_tick(controller);
}

/* The last row of the object has this value. */
static inline void expect_last(struct controller *controller, const char *object, const char *key,
			       const char *wanted)
{
	struct json_object *list = query(controller, object);
	size_t nr = json_object_array_length(list);

	assert_true(nr);
	assert_string_equal(member(json_object_array_get_idx(list, nr - 1), key), wanted);
	json_object_put(list);
}

/* The last drift of this cgroup is open, or is not. */
static inline void expect_open(struct controller *controller, const char *path, bool is_open)
{
	struct json_object *list = query(controller, "drift"), *last = NULL;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (!strcmp(member(row, "cgroup"), path))
			last = row;
	}
	assert_non_null(last);
	assert_string_equal(member(last, "open"), is_open ? "true" : "false");
	json_object_put(list);
}

/* "" = there is no such finding. `is_end`: the message ends with it. */
static inline void expect_said(struct controller *controller, const char *name, const char *part,
			       bool is_end)
{
	struct json_object *node = query(controller, "node"), *findings = NULL;
	const char *message = "", *found;

	assert_true(json_object_object_get_ex(node, "findings", &findings));
	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *row = json_object_array_get_idx(findings, i);

		if (!strcmp(member(row, "name"), name))
			message = member(row, "message");
	}
	found = strstr(message, part);
	if (*part ? !found || (is_end && strlen(found) != strlen(part)) : *message)
		fail_msg("%s says '%s' instead of '%s'", name, message, part);
	json_object_put(node);
}

static inline void expect_finding(struct controller *controller, const char *name, const char *part)
{
	expect_said(controller, name, part, false);
}

/* It is moved as often as makes a fight of it, each time after a quiet while, and back each time. */
static inline void fight(struct controller *controller, uint32_t pid, uint64_t from, uint64_t to)
{
	for (unsigned int i = 0; i < BACKOFF_FIGHT; i++) {
		tell_move(controller, pid, from, to);
		pass(controller, 10 * S);
	}
}

/* A second passes, and this is what is written to the journal meanwhile. */
static inline const char *journal_of_a_second(struct controller *controller)
{
	static char journal[1024];
	FILE *file = tmpfile();
	int stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	size_t len;

	assert_non_null(file);
	assert_true(stderr_fd >= 0);
	dup2(fileno(file), STDERR_FILENO);
	pass(controller, S);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	rewind(file);
	len = fread(journal, 1, sizeof(journal) - 1, file);
	journal[len] = '\0';
	fclose(file);
	return journal;
}

#endif
