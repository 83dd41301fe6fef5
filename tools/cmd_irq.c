// SPDX-License-Identifier: Apache-2.0
/* irq: where interrupts fire, and whether one may fire on an exclusive CPU. */
#include "core/cpuset.h"
#include "inspect.h"

static bool reaches_cpus(struct json_object *item, const void *data)
{
	struct cpuset affinity;
	struct view_irq row;

	object_read(&view_irq_desc, item, &row);
	affinity = cpuset_of_text(row.affinity);
	return cpuset_intersects(&affinity, data);
}

/* Every machine has masks, so an agent that shows none does not know them. */
static int fetch_irqs(struct session *session, struct json_object **ret_json)
{
	struct json_object *all cleanup_json = NULL;
	int r = fetch_noun(session, "irq", &all);

	if (r)
		return r;
	if (!json_object_array_length(all))
		return out_fail(session, STATUS_FAILED,
				"cannot tell where interrupts fire: the agent has not read their "
				"masks; see the findings of 'pinfold node show', or ask again");
	*ret_json = TAKE_PTR(all);
	return STATUS_DONE;
}

static int irq_show(struct session *session, int argc, char **argv)
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
	r = fetch_irqs(session, &all);
	if (r || !is_some)
		return r ? r : out_object(session, &view_irq_desc, TAKE_PTR(all));
	some = json_filter(all, reaches_cpus, &cpus);
	return some ? out_object(session, &view_irq_desc, some) : out_no_memory(session);
}

static bool reaches_exclusive(struct json_object *item, const void *data)
{
	struct view_irq row;

	object_read(&view_irq_desc, item, &row);
	return row.exclusive_cpus;
}

static int irq_check(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL, *exposed;
	bool is_exposed;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_irqs(session, &all);
	if (r)
		return r;
	exposed = json_filter(all, reaches_exclusive, NULL);
	if (!exposed)
		return out_no_memory(session);
	is_exposed = json_object_array_length(exposed);
	r = out_object(session, &view_irq_desc, exposed);
	if (r)
		return r;
	return is_exposed ? STATUS_FINDING : STATUS_DONE;
}

static const struct command irq_commands[] = {
	{"show", "list", "[CPUS]",
	 "Show each interrupt and the masks of kernel work with the CPUs they may use, or only those "
	 "that may use these CPUs.",
	 irq_show},
	{"check", NULL, "",
	 "Show those that may use exclusive CPUs, with the remedy; exit with 1 if there are any.",
	 irq_check},
	{0},
};

const struct noun noun_irq = {
	.name = "irq",
	.help = "Interrupts and kernel work: where they run, and what is kept off exclusive CPUs.",
	.commands = irq_commands,
};
