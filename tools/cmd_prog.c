// SPDX-License-Identifier: Apache-2.0
/* prog: what pinfold has loaded into the kernel's BPF, programs and maps. */
#include "inspect.h"

/* Nothing that is loaded has a run time: the kernel does not measure it. */
static bool are_untimed(struct json_object *progs)
{
	const bool is_list = json_object_is_type(progs, json_type_array);
	bool is_any_loaded = false;

	for (size_t i = 0; is_list && i < json_object_array_length(progs); i++) {
		struct prog_row row;

		object_read(&view_prog_desc, json_object_array_get_idx(progs, i), &row);
		if (row.run_count >= 0)
			return false;
		is_any_loaded |= row.id > 0;
	}
	return is_any_loaded;
}

static int show(struct session *session, const struct object_desc *desc, int argc, char **argv,
		struct json_object **ret_list)
{
	return argc ? unexpected(session, argv[0], "no more arguments")
		    : fetch_noun(session, desc->name, ret_list);
}

static int prog_show(struct session *session, int argc, char **argv)
{
	struct json_object *progs = NULL;
	int r = show(session, &view_prog_desc, argc, argv, &progs);

	if (r)
		return r;
	if (!session->options.json && are_untimed(progs))
		out_note("the kernel does not measure run times; "
			 "run 'sysctl kernel.bpf_stats_enabled=1', which costs some time per run");
	return out_object(session, &view_prog_desc, progs);
}

static int prog_maps(struct session *session, int argc, char **argv)
{
	struct json_object *maps = NULL;
	int r = show(session, &view_map_desc, argc, argv, &maps);

	return r ? r : out_object(session, &view_map_desc, maps);
}

static const struct command prog_commands[] = {
	{"show", "list", "",
	 "Show the hook, the state, the cost and the memory of each "
	 "program, and why an object is not loaded.",
	 prog_show},
	{"cost", NULL, "[SECONDS]",
	 "Let the kernel measure the programs for SECONDS (5 by default), "
	 "and show how much of the machine each of them and the agent use.",
	 prog_cost},
	{"maps", NULL, "", "Show the type, the entries in use and the memory of each map.",
	 prog_maps},
	{0},
};

const struct noun noun_prog = {
	.name = "prog",
	.help = "The BPF programs and maps of pinfold.",
	.commands = prog_commands,
};
