// SPDX-License-Identifier: Apache-2.0
/* topology: the node as other programs want it described. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "format/node_topology.h"
#include "lib/node_name.h"
#include "snapshot.h"

/* The kubelet's own choice: the host's name in lower case. */
static int name_of_host(struct session *session, char ret_name[NODE_NAME_MAX])
{
	if (gethostname(ret_name, NODE_NAME_MAX - 1))
		return out_fail(session, STATUS_FAILED, "cannot read the host's name: %s",
				strerror(errno));
	ret_name[NODE_NAME_MAX - 1] = '\0';
	for (char *at = ret_name; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return STATUS_DONE;
}

static int print_topology(struct session *session, const struct ledger *ledger, const char *name)
{
	struct text text cleanup_text = {0};

	node_topology_write(ledger, name, session->options.json ? EMIT_JSON : EMIT_YAML, &text);
	if (text.error)
		return out_no_memory(session);
	if (!session->options.json) {
		fputs(text.data, stdout);
		return STATUS_DONE;
	}
	session->result = json_tokener_parse(text.data);
	session->has_result = session->result != NULL;
	return session->has_result ? STATUS_DONE : out_no_memory(session);
}

/* An agent that only observes grants nothing: everything would be called available. */
static int check_mode(struct session *session)
{
	struct json_object *node cleanup_json = NULL;
	struct view_node row;
	int r;

	r = fetch_noun(session, "node", &node);
	if (r)
		return r;
	object_read(&view_node_desc, node, &row);
	if (row.mode && strcmp(row.mode, "allocate") != 0)
		return out_fail(session, STATUS_UNSUPPORTED,
				"the agent runs in mode %s and grants nothing itself, so what is "
				"available is unknown",
				row.mode);
	return STATUS_DONE;
}

static int topology_export(struct session *session, int argc, char **argv)
{
	struct snapshot snapshot cleanup_snapshot = {0};
	char name[NODE_NAME_MAX];
	int r;

	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	r = argc ? STATUS_DONE : name_of_host(session, name);
	if (r)
		return r;
	if (argc)
		snprintf(name, sizeof(name), "%.*s", NODE_NAME_MAX - 1, argv[0]);
	if (!node_name_is_valid(argc ? argv[0] : name))
		return out_fail(session, STATUS_INPUT,
				"invalid node name '%.80s': expected the name of the Kubernetes "
				"node, in lower-case letters, digits, '-' and '.'",
				argc ? argv[0] : name);
	r = check_mode(session);
	if (!r)
		r = snapshot_open(session, SNAPSHOT_POLICY_OF_STATE | SNAPSHOT_OF_AGENT, &snapshot);
	if (r)
		return r;
	if (snapshot.state.nr_left_out)
		return out_fail(session, STATUS_FAILED,
				"%u pods of %s do not fit this machine, for example because CPUs "
				"that they hold are offline, so what is available is unknown; "
				"restart pinfoldd, or bring the CPUs online",
				snapshot.state.nr_left_out, snapshot.state.file);
	return print_topology(session, snapshot.ledger, name);
}

static const struct command topology_commands[] = {
	{"export", NULL, "[NODE]",
	 "Print the NUMA nodes and what is available of them as a NodeResourceTopology, the object "
	 "that topology-aware schedulers of Kubernetes read.",
	 topology_export},
	{0},
};

const struct noun noun_topology = {
	.name = "topology",
	.help = "The NUMA nodes, for schedulers.",
	.commands = topology_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};
