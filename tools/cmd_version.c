// SPDX-License-Identifier: Apache-2.0
/* version: of the program, of libbpf and of the JSON. */
#include <stdio.h>

#include <bpf/libbpf.h>

#include "inspect.h"

static int version_show(struct session *session, int argc, char **argv)
{
	char libbpf[32];

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	snprintf(libbpf, sizeof(libbpf), "%u.%u", libbpf_major_version(), libbpf_minor_version());
	return out_object(session, &view_version_desc,
			  view_version("pinfold", program_revision, libbpf));
}

static const struct command version_commands[] = {
	{"show", NULL, "", "Show the versions of the program, of libbpf and of the JSON.",
	 version_show},
	{0},
};

const struct noun noun_version = {
	.name = "version",
	.help = "The versions of the program and of the JSON.",
	.commands = version_commands,
};
