// SPDX-License-Identifier: Apache-2.0
/* metrics: the page of the running agent, and what there is on it, which needs no agent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/metrics.h"
#include "inspect.h"

/* Lines about metrics that begin with `prefix`; "# HELP name" and "# TYPE name" too. */
static void select_metrics(const char *page, const char *prefix, struct text *text)
{
	size_t len = strlen(prefix);

	while (*page) {
		const char *end = strchrnul(page, '\n'), *name = page;

		if (!strncmp(page, "# HELP ", 7) || !strncmp(page, "# TYPE ", 7))
			name = page + 7;
		if (!strncmp(name, prefix, len)) {
			text_append_len(text, page, (size_t)(end - page));
			text_append(text, "\n");
		}
		page = *end ? end + 1 : end;
	}
}

/* The page has no such metric: it is not known at all, or not at this level, or cannot be read. */
static int no_metric(struct session *session, const char *prefix)
{
	struct json_object *known cleanup_json = view_metrics(prefix);

	if (!known)
		return out_no_memory(session);
	if (!json_object_array_length(known))
		return out_fail(session, STATUS_INPUT,
				"no metric begins with '%.60s'; see pinfold metrics list", prefix);
	return out_fail(session, STATUS_INPUT,
			"the page of this agent has no metric that begins with '%.60s', although "
			"there are such metrics; see metrics.level in the configuration",
			prefix);
}

static int metrics_show(struct session *session, int argc, char **argv)
{
	struct answer_text answer cleanup_answer = {0};
	struct text text cleanup_text = {0};
	int r;

	if (argc && (argc != 2 || !is_prefix(argv[0], "name")))
		return unexpected(session, argv[0], "name PREFIX, or no more arguments");
	r = source_ask_text(session, "/metrics", &answer);
	if (r)
		return r;
	select_metrics(answer.body.data ? answer.body.data : "", argc ? argv[1] : "", &text);
	if (text.error)
		return out_no_memory(session);
	if (argc && !text.len)
		return no_metric(session, argv[1]);
	return out_text(session, KEY_METRICS, text.data ? text.data : "");
}

static int metrics_list(struct session *session, int argc, char **argv)
{
	const char *prefix = argc ? argv[0] : "";
	struct json_object *all;

	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	all = view_metrics(prefix);
	if (!all)
		return out_no_memory(session);
	if (!json_object_array_length(all)) {
		json_object_put(all);
		return out_fail(session, STATUS_INPUT,
				"no metric begins with '%.60s'; see pinfold metrics list", prefix);
	}
	return out_object(session, &view_metric_desc, all);
}

#define AS_MANY_AS_PODS UINT64_MAX

/*
 * The words of a budget with their defaults: a large node, and an agent of this version on a kernel
 * with every feature; tests/guest/agent compares them with a page.
 */
static const struct {
	const char *word;
	enum metric_per per;
	uint64_t usual;
} budget_words[] = {
	{"nodes", PER_NUMA_NODE, 2},
	{"hugepages", PER_HUGEPAGES, 2},
	{"pods", PER_POD, 110},
	{"exclusive", PER_EXCLUSIVE_POD, AS_MANY_AS_PODS},
	{"containers", PER_CONTAINER, 330},
	{"features", PER_FEATURE, 15},
	{"hooks", PER_HOOK, HOOK_NR},
	{"programs", PER_PROGRAM, 40},
	{"maps", PER_MAP, 7},
	{"findings", PER_FINDING, 0},
};

#define BUDGET_MOST 1000000

static int parse_population(struct session *session, const char *word, const char *value,
			    uint64_t *population)
{
	unsigned long number;
	char *end;

	for (size_t i = 0; i < ARRAY_SIZE(budget_words); i++) {
		if (strcmp(word, budget_words[i].word))
			continue;
		errno = 0;
		number = strtoul(value, &end, 10);
		if (errno || *end || *value < '0' || *value > '9' || number > BUDGET_MOST)
			return out_fail(session, STATUS_USAGE,
					"invalid number '%.60s' of %s: expected 0 to %u", value,
					word, BUDGET_MOST);
		population[budget_words[i].per] = number;
		return STATUS_DONE;
	}
	return unexpected(session, word,
			  "nodes, hugepages, pods, exclusive, containers, features, hooks, "
			  "programs, maps or findings, each with a number");
}

static int metrics_budget_show(struct session *session, int argc, char **argv)
{
	uint64_t population[PER_NR] = {[PER_NODE] = 1};
	struct json_object *budget;
	int r = STATUS_DONE;

	for (size_t i = 0; i < ARRAY_SIZE(budget_words); i++)
		population[budget_words[i].per] = budget_words[i].usual;
	for (int i = 0; i < argc && !r; i += 2) {
		if (i + 1 == argc)
			return out_fail(session, STATUS_USAGE, "a number is missing after '%.60s'",
					argv[i]);
		r = parse_population(session, argv[i], argv[i + 1], population);
	}
	if (r)
		return r;
	if (population[PER_EXCLUSIVE_POD] == AS_MANY_AS_PODS)
		population[PER_EXCLUSIVE_POD] = population[PER_POD];
	if (population[PER_EXCLUSIVE_POD] > population[PER_POD])
		return out_fail(
			session, STATUS_USAGE,
			"invalid number of exclusive pods %ju: expected at most the %ju pods",
			(uintmax_t)population[PER_EXCLUSIVE_POD], (uintmax_t)population[PER_POD]);
	budget = view_budget(population);
	return budget ? out_object(session, &view_budget_desc, budget) : out_no_memory(session);
}

static const struct command metrics_commands[] = {
	{"show", NULL, "[name PREFIX]", "Show the agent's metrics in the Prometheus text format.",
	 metrics_show},
	{"list", NULL, "[PREFIX]",
	 "List the metrics that an agent of this version has, or those whose names begin with PREFIX.",
	 metrics_list},
	{"budget", NULL,
	 "[nodes COUNT] [hugepages COUNT] [pods COUNT] [exclusive COUNT] [containers COUNT] "
	 "[features COUNT] [hooks COUNT] [programs COUNT] [maps COUNT] [findings COUNT]",
	 "Compute how many series the page has on a node of this size, at each metrics.level.",
	 metrics_budget_show},
	{0},
};

const struct noun noun_metrics = {
	.name = "metrics",
	.help = "The agent's metrics.",
	.commands = metrics_commands,
};
