// SPDX-License-Identifier: Apache-2.0
/*
 * simulate: the grammar of its steps, on the command line and in scripts.
 *
 * A script has one step per line: pod file FILE [times N], policy file FILE,
 * resize POD [CONTAINER] cpu=N, drain POD, offline CPUS, and expectations:
 *   expect admitted POD            expect refused POD [REASON]
 *   expect cpus POD CONTAINER CPUS expect mems POD CONTAINER NODES
 *   expect shared CPUS             expect fits CPUS
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/capacity/capacity.h"
#include "simulation.h"
#include "words.h"

#define MAX_TIMES	 10000
#define MAX_SCRIPT_BYTES (1 << 20)
#define MAX_SCRIPT_WORDS 16

/* --- steps ------------------------------------------------------------------------------------ */

static int parse_number(struct session *session, const char *what, const char *word,
			unsigned int most, unsigned int *ret_number)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(word, &end, 10);
	if (errno || end == word || *end || *word < '0' || *word > '9' || value < 1 || value > most)
		return out_fail(session, STATUS_USAGE,
				"invalid %s '%.60s': expected a number "
				"from 1 to %u",
				what, word, most);
	*ret_number = (unsigned int)value;
	return STATUS_DONE;
}

/* FILE… [times N], after an optional "file". */
static int step_pods(struct simulation *simulation, int argc, char **argv)
{
	unsigned int times = 1;
	int r = STATUS_DONE;

	if (argc && !strcmp(argv[0], "file")) {
		argc--;
		argv++;
	}
	if (argc >= 2 && !strcmp(argv[argc - 2], "times")) {
		r = parse_number(simulation->session, "times", argv[argc - 1], MAX_TIMES, &times);
		argc -= 2;
	}
	if (r)
		return r;
	if (!argc)
		return out_fail(simulation->session, STATUS_USAGE,
				"a file with pods is missing; write 'simulate [pod file] FILE… "
				"[times N]'");
	for (int i = 0; i < argc && !r; i++)
		r = simulation_pods(simulation, argv[i], times);
	return r;
}

static int step_policy(struct simulation *simulation, int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[0], "file"))
		return out_fail(simulation->session, STATUS_USAGE,
				"invalid arguments: expected "
				"'policy file FILE'");
	return simulation_policy(simulation, argv[1]);
}

/* POD [CONTAINER] cpu=N: without a container, it is the pod's budget. */
static int step_resize(struct simulation *simulation, int argc, char **argv)
{
	struct session *session = simulation->session;
	const char *container = "";
	struct pod_ref ref;
	unsigned int cpus;
	int r = ref_parse_pod(session, &argc, &argv, &ref);

	if (r)
		return r;
	if (argc == 2)
		container = *argv++;
	if (argc < 1 || argc > 2 || strncmp(argv[0], "cpu=", strlen("cpu=")) ||
	    strlen(container) >= POD_CONTAINER_NAME)
		return out_fail(session, STATUS_USAGE,
				"invalid arguments: expected 'resize POD [CONTAINER] cpu=N'");
	r = parse_number(session, "cpu", argv[0] + strlen("cpu="), CPUSET_MAX, &cpus);
	return r ? r : simulation_resize(simulation, &ref, container, cpus);
}

static int step_drain(struct simulation *simulation, int argc, char **argv)
{
	struct pod_ref ref;
	int r = ref_parse_pod(simulation->session, &argc, &argv, &ref);

	if (r)
		return r;
	if (argc)
		return unexpected(simulation->session, argv[0], "no more arguments");
	return simulation_drain(simulation, &ref);
}

static int parse_cpus(struct session *session, const char *word, struct cpuset *ret_cpus)
{
	if (cpuset_parse(word, strlen(word), ret_cpus))
		return out_fail(session, STATUS_INPUT,
				"invalid CPU list '%.60s': expected numbers and ranges, e.g. "
				"0-3,8",
				word);
	return STATUS_DONE;
}

static int step_offline(struct simulation *simulation, int argc, char **argv)
{
	struct cpuset cpus;
	int r;

	if (argc != 1)
		return out_fail(simulation->session, STATUS_USAGE,
				"invalid arguments: expected "
				"'offline CPUS'");
	r = parse_cpus(simulation->session, argv[0], &cpus);
	return r ? r : simulation_offline(simulation, &cpus);
}

/* --- expectations ----------------------------------------------------------------------------- */

/* A line of the script being looked at. */
struct script_line {
	unsigned int number;
	char *text; /* whole */
	int argc;
	char *argv[MAX_SCRIPT_WORDS + 1];
};

static int expect_cpuset(struct simulation *simulation, const struct script_line *line,
			 const char *wanted_list, const struct cpuset *found)
{
	char *list cleanup_free = malloc(CPUSET_TEXT_MAX);
	struct cpuset wanted;
	int r;

	if (!list)
		return out_no_memory(simulation->session);
	r = parse_cpus(simulation->session, wanted_list, &wanted);
	if (r)
		return r;
	cpuset_format(found, list, CPUSET_TEXT_MAX);
	return simulation_expect(simulation, line->number, line->text, cpuset_equal(&wanted, found),
				 list);
}

static int expect_refused(struct simulation *simulation, const struct script_line *line,
			  const struct pod_ref *ref, const char *reason)
{
	const struct refused *refused = simulation_find_refused(simulation, ref);
	bool met = refused && (!reason || !strcmp(refused->decision.reason, reason) ||
			       !strcmp(refusal_name(refused->decision.refusal), reason));

	return simulation_expect(simulation, line->number, line->text, met,
				 refused ? refused->decision.reason : "not refused");
}

/* argv: container and list; `what` is "cpus" or "mems". */
static int expect_of_container(struct simulation *simulation, const struct script_line *line,
			       const struct pod_ref *ref, const char *what, char **argv)
{
	const struct ledger_pod *pod = simulation_find(simulation, ref);
	const struct ledger *ledger = simulation->snapshot.ledger;

	for (uint32_t i = 0; pod && i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		struct cpuset mems;

		if (strcmp(grant->container, argv[0]))
			continue;
		if (!strcmp(what, "cpus"))
			return expect_cpuset(simulation, line, argv[1],
					     ledger_effective(ledger, grant));
		simulation_mems(ledger, grant, &mems);
		return expect_cpuset(simulation, line, argv[1], &mems);
	}
	return simulation_expect(simulation, line->number, line->text, false,
				 pod ? "no such container" : "not admitted");
}

/* A request of so many exclusive CPUs can be had from one NUMA node. */
static int expect_fits(struct simulation *simulation, const struct script_line *line,
		       const char *word)
{
	struct capacity capacity;
	unsigned int wanted;
	char found[64];
	int r = parse_number(simulation->session, "fits", word, CPUSET_MAX, &wanted);

	if (r)
		return r;
	capacity_measure(simulation->snapshot.ledger, &capacity);
	snprintf(found, sizeof(found), "at most %u", capacity.largest_request);
	return simulation_expect(simulation, line->number, line->text,
				 wanted <= capacity.largest_request, found);
}

static int step_expect(struct simulation *simulation, const struct script_line *line)
{
	static const char grammar[] =
		"expect admitted POD, expect refused POD [REASON], expect cpus POD CONTAINER CPUS, "
		"expect mems POD CONTAINER NODES, expect shared CPUS, expect fits NUMBER";
	struct session *session = simulation->session;
	char **argv = (char **)line->argv + 2;
	int argc = line->argc - 2;
	const char *what = argc >= 0 ? line->argv[1] : "";
	struct pod_ref ref;
	int r;

	if (!strcmp(what, "shared") && argc == 1)
		return expect_cpuset(simulation, line, argv[0],
				     ledger_shared_pool(simulation->snapshot.ledger));
	if (!strcmp(what, "fits") && argc == 1)
		return expect_fits(simulation, line, argv[0]);
	if (argc < 1)
		return unexpected(session, what, grammar);
	r = ref_parse_pod(session, &argc, &argv, &ref);
	if (r)
		return r;
	if (!strcmp(what, "admitted") && !argc)
		return simulation_expect(simulation, line->number, line->text,
					 simulation_find(simulation, &ref) != NULL, "not admitted");
	if (!strcmp(what, "refused") && argc <= 1)
		return expect_refused(simulation, line, &ref, argc ? argv[0] : NULL);
	if ((!strcmp(what, "cpus") || !strcmp(what, "mems")) && argc == 2)
		return expect_of_container(simulation, line, &ref, what, argv);
	return unexpected(session, what, grammar);
}

/* --- scripts ---------------------------------------------------------------------------------- */

static int do_script_line(struct simulation *simulation, const struct script_line *line)
{
	static const struct {
		const char *name;
		int (*step)(struct simulation *simulation, int argc, char **argv);
	} steps[] = {
		{"pod", step_pods},    {"policy", step_policy},	  {"resize", step_resize},
		{"drain", step_drain}, {"offline", step_offline},
	};

	if (!strcmp(line->argv[0], "expect"))
		return step_expect(simulation, line);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (!strcmp(line->argv[0], steps[i].name))
			return steps[i].step(simulation, line->argc - 1, (char **)line->argv + 1);
	}
	return unexpected(simulation->session, line->argv[0],
			  "pod, policy, resize, drain, offline, expect");
}

static int run_script_line(struct simulation *simulation, char *text, unsigned int number)
{
	char *words cleanup_free = strdup(text);
	struct script_line line = {.number = number, .text = text};

	if (!words)
		return out_no_memory(simulation->session);
	line.argc = words_cut(words, line.argv, MAX_SCRIPT_WORDS);
	if (line.argc < 0)
		return out_fail(simulation->session, STATUS_INPUT, "%s",
				line.argc == -E2BIG ? "too many words" : "unterminated quote");
	return line.argc ? do_script_line(simulation, &line) : STATUS_DONE;
}

/* Every failure names its line. */
static int run_placed_line(struct simulation *simulation, char *text, unsigned int number)
{
	struct session *session = simulation->session;
	char *place cleanup_free = NULL;
	int r;

	if (asprintf(&place, "%s:%u", simulation->script, number) < 0)
		return out_no_memory(session);
	session->place = place;
	r = run_script_line(simulation, text, number);
	session->place = NULL;
	/* a word out of place in a file is rejected input, not a wrong command line */
	return r == STATUS_USAGE ? STATUS_INPUT : r;
}

static int step_script(struct simulation *simulation, int argc, char **argv)
{
	char *data cleanup_free = NULL;
	unsigned int number = 0;
	size_t len;
	char *next;
	int r;

	if (argc != 2 || strcmp(argv[0], "file"))
		return out_fail(simulation->session, STATUS_USAGE,
				"invalid arguments: expected "
				"'script file FILE'");
	r = source_read(simulation->session, argv[1], MAX_SCRIPT_BYTES, &data, &len);
	if (r)
		return r;
	if (memchr(data, '\0', len))
		return out_fail(simulation->session, STATUS_INPUT, "%s contains a NUL byte",
				argv[1]);
	simulation->script = argv[1];
	next = data;
	while (next && !r) {
		char *text = strsep(&next, "\n");

		r = run_placed_line(simulation, text, ++number);
	}
	return r;
}

/* --- the noun --------------------------------------------------------------------------------- */

static int simulate(struct session *session, int argc, char **argv,
		    int (*step)(struct simulation *simulation, int argc, char **argv))
{
	struct simulation simulation cleanup_simulation = {0};
	int r;

	r = simulation_open(session, &simulation);
	if (!r)
		r = step(&simulation, argc, argv);
	if (!r)
		r = out_object(session, &view_simulate_desc, simulation_view(&simulation));
	return r ? r : simulation_status(&simulation);
}

static int simulate_pods(struct session *session, int argc, char **argv)
{
	return simulate(session, argc, argv, step_pods);
}

int simulate_policy(struct session *session, int argc, char **argv)
{
	return simulate(session, argc, argv, step_policy);
}

static int simulate_resize(struct session *session, int argc, char **argv)
{
	return simulate(session, argc, argv, step_resize);
}

static int simulate_drain(struct session *session, int argc, char **argv)
{
	return simulate(session, argc, argv, step_drain);
}

static int simulate_offline(struct session *session, int argc, char **argv)
{
	return simulate(session, argc, argv, step_offline);
}

static int simulate_script(struct session *session, int argc, char **argv)
{
	return simulate(session, argc, argv, step_script);
}

static const struct command simulate_commands[] = {
	{"pod", NULL, "[pod file] FILE… [times N]",
	 "Admit the pods of these files; exit with 1 if one is refused.", simulate_pods},
	{"policy", NULL, "file FILE", "Apply another configuration to the running pods.",
	 simulate_policy},
	{"resize", NULL, "POD [CONTAINER] cpu=N",
	 "Give a running container, or the pod's budget, N CPUs in place.", simulate_resize},
	{"drain", NULL, "POD", "Remove a pod.", simulate_drain},
	{"offline", NULL, "CPUS", "Take these CPUs offline.", simulate_offline},
	{"script", NULL, "file FILE",
	 "Run steps and check expectations, one per line; exit with 1 if one is not met.",
	 simulate_script},
	{0},
};

const struct noun noun_simulate = {
	.name = "simulate",
	.help = "Predict the effect of pod, CPU or configuration changes.",
	.commands = simulate_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
	.bare = true,
};
