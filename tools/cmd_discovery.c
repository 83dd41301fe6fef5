// SPDX-License-Identifier: Apache-2.0
/* discovery: pods and containers that others made. */
#include "inspect.h"

static int discovery_show(struct session *session, int argc, char **argv)
{
	struct json_object *all = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "discovery", &all);
	return r ? r : out_object(session, &view_discovery_desc, all);
}

static const struct command discovery_commands[] = {
	{"show", "list", "",
	 "Show pods and containers that others created, with the CPUs and "
	 "limits in force.",
	 discovery_show},
	{0},
};

const struct noun noun_discovery = {
	.name = "discovery",
	.help = "Pods and containers of a kubelet, podman or docker, in mode observe.",
	.commands = discovery_commands,
};
