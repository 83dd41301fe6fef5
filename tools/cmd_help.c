// SPDX-License-Identifier: Apache-2.0
/* help: the objects, and the commands of one. */
#include "inspect.h"

static int help_run(struct session *session, int argc, char **argv)
{
	int status = STATUS_USAGE;
	const struct noun *noun;

	if (!argc)
		return help_general(session);
	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	noun = dispatch_find_noun(session, argv[0], &status);
	return noun ? help_noun(session, noun) : status;
}

static int help_list(struct session *session, int argc, char **argv)
{
	return argc ? unexpected(session, argv[0], "no more arguments") : help_all(session);
}

static const struct command help_commands[] = {
	{"object", NULL, "[OBJECT]",
	 "List the commands of an object, or the objects if none is given.", help_run},
	{"all", NULL, "", "List every command, one per line, for scripts.", help_list},
	{0},
};

const struct noun noun_help = {
	.name = "help",
	.help = "Print this help, or the help of an object.",
	.commands = help_commands,
	.bare = true,
};
