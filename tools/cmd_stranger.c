// SPDX-License-Identifier: Apache-2.0
/* stranger: tasks that may run on exclusive CPUs without belonging there. */
#include "core/cpuset.h"
#include "inspect.h"

static bool has_had_cpus(struct json_object *item, const void *data)
{
	struct cpuset affinity, original;
	struct view_stranger row;

	object_read(&view_stranger_desc, item, &row);
	affinity = cpuset_of_text(row.affinity);
	original = cpuset_of_text(row.original);
	return cpuset_intersects(&affinity, data) || cpuset_intersects(&original, data);
}

static int stranger_show(struct session *session, int argc, char **argv)
{
	static const struct selection selection = {&view_stranger_desc, has_had_cpus, NULL};

	return select_of_cpus(session, &selection, argc, argv);
}

/* Kernel threads that nobody can move are on every machine, so they are not a fault of this one. */
static bool could_be_moved(struct json_object *item, const void *data)
{
	struct view_stranger row;

	object_read(&view_stranger_desc, item, &row);
	return row.exclusive_cpus && row.state != STRANGER_STATE_BOUND;
}

static int stranger_check(struct session *session, int argc, char **argv)
{
	static const struct selection selection = {&view_stranger_desc, could_be_moved, NULL};

	return select_findings(session, &selection, argc, argv);
}

static const struct command stranger_commands[] = {
	{"show", "list", "[CPUS]",
	 "Show the tasks that may run on exclusive CPUs without belonging "
	 "there, and those that are kept off them. With CPUS, show only "
	 "the tasks of these CPUs.",
	 stranger_show},
	{"check", NULL, "",
	 "Show the tasks that may run there and could be moved, with the "
	 "remedy; exit with 1 if there are any.",
	 stranger_check},
	{0},
};

const struct noun noun_stranger = {
	.name = "stranger",
	.help = "Tasks that may run on exclusive CPUs without belonging there.",
	.commands = stranger_commands,
};
