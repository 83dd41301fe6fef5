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
	struct json_object *all cleanup_json = NULL, *some;
	const bool is_some = argc;
	struct cpuset cpus;
	int r;

	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	if (is_some) {
		r = ref_parse_cpus(session, argv[0], &cpus);
		if (r)
			return r;
	}
	r = fetch_noun(session, "stranger", &all);
	if (r || !is_some)
		return r ? r : out_object(session, &view_stranger_desc, TAKE_PTR(all));
	some = json_filter(all, has_had_cpus, &cpus);
	return some ? out_object(session, &view_stranger_desc, some) : out_no_memory(session);
}

/* Kernel threads that nobody can move are on every machine, and are no fault of this one. */
static bool could_be_moved(struct json_object *item, const void *data)
{
	struct view_stranger row;

	object_read(&view_stranger_desc, item, &row);
	return row.exclusive_cpus && row.state != STRANGER_STATE_BOUND;
}

static int stranger_check(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL, *found;
	bool is_found;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "stranger", &all);
	if (r)
		return r;
	found = json_filter(all, could_be_moved, NULL);
	if (!found)
		return out_no_memory(session);
	is_found = json_object_array_length(found);
	r = out_object(session, &view_stranger_desc, found);
	if (r)
		return r;
	return is_found ? STATUS_FINDING : STATUS_DONE;
}

static const struct command stranger_commands[] = {
	{"show", "list", "[CPUS]",
	 "Show the tasks that may run on exclusive CPUs without belonging there, and those that are "
	 "kept off them, or only those of these CPUs.",
	 stranger_show},
	{"check", NULL, "",
	 "Show those that may run there and could be moved, with the remedy; exit with 1 if there are "
	 "any.",
	 stranger_check},
	{0},
};

const struct noun noun_stranger = {
	.name = "stranger",
	.help = "Tasks that may run on exclusive CPUs without belonging there.",
	.commands = stranger_commands,
};
