// SPDX-License-Identifier: Apache-2.0
/* node and cpu: the machine and whom its CPUs are for. */
#include <errno.h>
#include <string.h>

#include "core/cpuset.h"
#include "inspect.h"

/* --- node ------------------------------------------------------------------------------------- */

static int node_show(struct session *session, int argc, char **argv)
{
	struct json_object *node = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = source_fetch(session, "node", &node);
	return r ? r : out_object(session, &view_node_desc, node);
}

static int node_check(struct session *session, int argc, char **argv)
{
	struct json_object *node = NULL, *findings, *ready;
	bool found;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = source_fetch(session, "node", &node);
	if (r)
		return r;
	found = json_object_object_get_ex(node, "findings", &findings) &&
		json_object_is_type(findings, json_type_array) &&
		json_object_array_length(findings);
	if (json_object_object_get_ex(node, "ready", &ready) && ready)
		found |= !json_object_get_boolean(ready);
	r = out_object(session, &view_node_desc, node);
	return r ? r : (found ? STATUS_FINDING : STATUS_DONE);
}

static const struct command node_commands[] = {
	{"show", "list", "", "The machine, its pools, the mode, what holds and what does not.",
	 node_show},
	{"check", NULL, "", "The same; exit status 1 when there is a finding.", node_check},
	{0},
};

const struct noun noun_node = {
	.name = "node",
	.help = "The machine, its pools, mode and health.",
	.commands = node_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};

/* --- cpu -------------------------------------------------------------------------------------- */

static bool cpu_wanted(struct json_object *item, const void *data)
{
	struct json_object *cpu;

	return json_object_object_get_ex(item, "cpu", &cpu) &&
	       json_object_get_int64(cpu) < CPUSET_MAX &&
	       cpuset_has(data, (unsigned int)json_object_get_int64(cpu));
}

static int parse_cpus(struct session *session, const char *word, struct cpuset *ret_cpus)
{
	int r = cpuset_parse(word, strlen(word), ret_cpus);

	if (r == -ERANGE)
		return out_fail(session, STATUS_INPUT, "CPU list '%.60s': ids go up to %d on Linux",
				word, CPUSET_MAX - 1);
	if (r || cpuset_is_empty(ret_cpus))
		return out_fail(session, STATUS_INPUT,
				"'%.60s' is no CPU list; write numbers and ranges, e.g. 0-3,8",
				word);
	return STATUS_DONE;
}

/* Every asked CPU must exist: a typing error would else look like an empty answer. */
static int select_cpus(struct session *session, const char *word, struct json_object *all,
		       struct json_object **ret_some)
{
	cleanup_json struct json_object *some = NULL;
	struct cpuset wanted;
	int r;

	r = parse_cpus(session, word, &wanted);
	if (r)
		return r;
	some = json_filter(all, cpu_wanted, &wanted);
	if (!some)
		return out_no_memory(session);
	if (json_object_array_length(some) != cpuset_count(&wanted))
		return out_fail(session, STATUS_INPUT,
				"CPU list '%.60s': this machine does not have all of them", word);
	*ret_some = TAKE_PTR(some);
	return STATUS_DONE;
}

static int cpu_show(struct session *session, int argc, char **argv)
{
	cleanup_json struct json_object *all = NULL;
	struct json_object *some = NULL;
	int r;

	if (argc > 1)
		return unexpected(session, argv[1], "nothing more");
	r = source_fetch(session, "cpu", &all);
	if (r || !argc)
		return r ? r : out_object(session, &view_cpu_desc, TAKE_PTR(all));
	r = select_cpus(session, argv[0], all, &some);
	return r ? r : out_object(session, &view_cpu_desc, some);
}

static int cpu_owner(struct session *session, int argc, char **argv)
{
	if (!argc)
		return out_fail(session, STATUS_USAGE,
				"a CPU list is missing; e.g. 'cpu owner 2-5'");
	return cpu_show(session, argc, argv);
}

static int cpu_map(struct session *session, int argc, char **argv)
{
	cleanup_json struct json_object *cpus = NULL;
	cleanup_text struct text text = {0};
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = source_fetch(session, "cpu", &cpus);
	if (r)
		return r;
	r = map_draw(cpus, &text);
	if (r == -EPROTO)
		return out_fail(session, STATUS_FAILED, "the list of CPUs is none");
	if (r)
		return out_no_memory(session);
	return out_text(session, "map", text.data);
}

static const struct command cpu_commands[] = {
	{"show", "list", "[CPUS]",
	 "Every CPU: its place in the machine, for whom it is, its owner.", cpu_show},
	{"owner", NULL, "CPUS", "Who holds these CPUs.", cpu_owner},
	{"map", NULL, "", "The machine on one screen, a letter per CPU.", cpu_map},
	{0},
};

const struct noun noun_cpu = {
	.name = "cpu",
	.help = "CPUs, their place and their owners.",
	.commands = cpu_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};
