// SPDX-License-Identifier: Apache-2.0
/* prog cost: what the agent and its BPF programs use of the machine, measured for some seconds. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "inspect.h"
#include "lib/bpf_fd.h"
#include "lib/file.h"

#define USUAL_SECONDS 5
#define MOST_SECONDS  3600

/* One reading; the texts of the programs are borrowed from the JSON. */
struct cost_reading {
	struct json_object *json;
	struct view_usage usage;
};

static void reading_fini(struct cost_reading *reading)
{
	json_object_put(reading->json);
	free(reading->usage.programs);
}
#define cleanup_reading cleanup(reading_fini)

static int take_reading(struct session *session, struct cost_reading *reading)
{
	struct json_object *list;
	size_t nr;
	int r = source_ask(session, "/v1/usage", NULL, &reading->json);

	if (r)
		return r;
	list = object_list(&view_usage_desc, reading->json, &view_usage_prog_desc);
	nr = list ? json_object_array_length(list) : 0;
	object_read(&view_usage_desc, reading->json, &reading->usage);
	reading->usage.programs = calloc(nr + 1, sizeof(*reading->usage.programs));
	if (!reading->usage.programs)
		return out_no_memory(session);
	reading->usage.nr_programs = nr;
	for (size_t i = 0; i < nr; i++)
		object_read(&view_usage_prog_desc, json_object_array_get_idx(list, i),
			    &reading->usage.programs[i]);
	return STATUS_DONE;
}

static int parse_seconds(struct session *session, int argc, char **argv, unsigned int *ret_seconds)
{
	unsigned long seconds = USUAL_SECONDS;
	char *end;

	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	if (argc) {
		errno = 0;
		seconds = strtoul(argv[0], &end, 10);
		if (errno || end == argv[0] || *end || *argv[0] == '-' || !seconds ||
		    seconds > MOST_SECONDS)
			return out_fail(session, STATUS_USAGE,
					"invalid time '%.60s': expected whole seconds from 1 to %d",
					argv[0], MOST_SECONDS);
	}
	*ret_seconds = (unsigned int)seconds;
	return STATUS_DONE;
}

static int begin_timing(struct session *session, int *ret_fd)
{
	int fd = bpf_fd_time_programs();

	if (fd == -EPERM || fd == -EACCES)
		return out_fail(
			session, STATUS_PERMISSION,
			"the kernel measures run times only for root, who has CAP_SYS_ADMIN; run "
			"pinfold as root");
	if (fd < 0)
		return out_fail(session, STATUS_UNSUPPORTED,
				"the kernel cannot measure run times of BPF programs: %s",
				strerror(-fd));
	*ret_fd = fd;
	return STATUS_DONE;
}

static void wait_for(unsigned int seconds)
{
	struct timespec left = {.tv_sec = seconds};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

int prog_cost(struct session *session, int argc, char **argv)
{
	struct cost_reading before cleanup_reading = {0}, after cleanup_reading = {0};
	int timing cleanup_close = -1;
	unsigned int seconds = 0;
	int r = parse_seconds(session, argc, argv, &seconds);

	if (!r)
		r = begin_timing(session, &timing);
	if (!r)
		r = take_reading(session, &before);
	if (r)
		return r;
	wait_for(seconds);
	r = take_reading(session, &after);
	if (r)
		return r;
	/* Another agent counts its own time from its own start. */
	if (after.usage.time_ns <= before.usage.time_ns || !after.usage.cpus ||
	    after.usage.agent_ns < before.usage.agent_ns)
		return out_fail(session, STATUS_FAILED,
				"the agent was restarted during the measurement; try again");
	return out_object(session, &view_cost_desc, view_cost(&before.usage, &after.usage));
}
