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
	static const struct selection selection = {&view_irq_desc, reaches_cpus, fetch_irqs};

	return select_of_cpus(session, &selection, argc, argv);
}

static bool reaches_exclusive(struct json_object *item, const void *data)
{
	struct view_irq row;

	object_read(&view_irq_desc, item, &row);
	return row.exclusive_cpus;
}

static int irq_check(struct session *session, int argc, char **argv)
{
	static const struct selection selection = {&view_irq_desc, reaches_exclusive, fetch_irqs};

	return select_findings(session, &selection, argc, argv);
}

static const struct command irq_commands[] = {
	{"show", "list", "[CPUS]",
	 "Show each interrupt and the masks of kernel work with the CPUs "
	 "they may use. With CPUS, show only those that may use these "
	 "CPUs.",
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
