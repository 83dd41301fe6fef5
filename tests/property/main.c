// SPDX-License-Identifier: Apache-2.0
/*
 * The run. PINFOLD_STEPS: how many steps at least; PINFOLD_SEED: where to begin,
 * printed so that a failure can be repeated. A failure is shrunk to a scenario
 * from which nothing can be left out, and that one is shown; PINFOLD_SHRINK=0
 * leaves it as it is.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/facts.h"
#include "property.h"

#define DEFAULT_STEPS  80000
#define COVERAGE_STEPS 80000 /* with fewer, shares are not meaningful */
#define SHRINK_SECONDS 60

/* --- shrinking -------------------------------------------------------------------------------- */

struct shrinking {
	char kind[32]; /* the violation's text before its first colon */
	struct scenario best;
	struct scenario trial;
	time_t end;
};

/* "step 7: owners: pod p1 …" -> "owners" */
static void violation_kind(const char *error, char kind[32])
{
	const char *begin = strchr(error, ':');

	snprintf(kind, 32, "%.*s", begin ? (int)strcspn(begin + 2, ":") : 0,
		 begin ? begin + 2 : "");
}

/* The same violation; a scenario that fails for another reason is another case. */
static bool fails(const struct shrinking *shrinking, const struct scenario *scenario)
{
	struct coverage *ignored cleanup_free = calloc(1, sizeof(*ignored));
	char error[ERROR_MAX], kind[32];

	if (!ignored)
		abort();
	if (play(scenario, ignored, false, error) != 1)
		return false;
	violation_kind(error, kind);
	return !strcmp(kind, shrinking->kind);
}

/* Keep the trial if it also fails; otherwise start the next one from the best again. */
static bool keep_if_it_fails(struct shrinking *shrinking)
{
	bool better = time(NULL) < shrinking->end && fails(shrinking, &shrinking->trial);

	if (better)
		shrinking->best = shrinking->trial;
	else
		shrinking->trial = shrinking->best;
	return better;
}

/* Remove sequences of steps, halves first, then shorter and shorter ones. */
static bool drop_steps(struct shrinking *shrinking)
{
	bool better = false;

	for (uint32_t len = shrinking->best.nr_steps / 2 + 1; len; len /= 2) {
		for (uint32_t at = 0; at + len <= shrinking->best.nr_steps;) {
			struct scenario *trial = &shrinking->trial;

			if (trial->nr_steps == len)
				break;
			memmove(&trial->steps[at], &trial->steps[at + len],
				(trial->nr_steps - at - len) * sizeof(trial->steps[0]));
			trial->nr_steps -= len;
			if (keep_if_it_fails(shrinking))
				better = true;
			else
				at++;
		}
	}
	return better;
}

static bool lower(struct shrinking *shrinking, uint32_t *value, uint32_t least)
{
	bool better = false;

	while (*value > least) {
		uint32_t was = *value;

		*value = least;
		if (keep_if_it_fails(shrinking))
			return true;
		*value = was - 1;
		if (!keep_if_it_fails(shrinking))
			break;
		better = true;
	}
	return better;
}

static bool simplify_machine(struct shrinking *shrinking)
{
	struct shape *shape = &shrinking->trial.shape;
	bool better = lower(shrinking, &shape->nr_nodes, 1);

	better |= lower(shrinking, &shape->memory_only_nodes, 0);
	better |= lower(shrinking, &shape->threads, 1);
	better |= lower(shrinking, &shape->cores_per_node, 1);
	better |= lower(shrinking, &shape->offline_percent, 0);
	better |= lower(shrinking, &shape->uneven_percent, 0);
	better |= lower(shrinking, &shape->nr_page_sizes, 0);
	better |= lower(shrinking, &shape->node_stride, 1);
	better |= lower(shrinking, &shape->cpu_stride, 1);
	better |= lower(shrinking, &shape->nodes_per_socket, 1);
	return better;
}

static bool clear(struct shrinking *shrinking, bool *flag)
{
	if (!*flag)
		return false;
	*flag = false;
	return keep_if_it_fails(shrinking);
}

static bool simplify_policy(struct shrinking *shrinking)
{
	struct policy *policy = &shrinking->trial.policy;
	struct cpu_options *options = &policy->cpu_options;
	bool better = clear(shrinking, &options->full_pcpus_only);

	better |= clear(shrinking, &options->distribute_across_numa);
	better |= clear(shrinking, &options->align_by_socket);
	better |= clear(shrinking, &options->distribute_across_cores);
	better |= clear(shrinking, &options->strict_reservation);
	better |= clear(shrinking, &options->prefer_uncore);
	better |= clear(shrinking, &policy->prefer_closest_nodes);
	better |= lower(shrinking, &policy->nr_memory_reservations, 0);
	better |= lower(shrinking, &policy->max_nodes, 0);
	if (policy->memory != MEMORY_POLICY_NONE) {
		policy->memory = MEMORY_POLICY_NONE;
		better |= keep_if_it_fails(shrinking);
	}
	if (policy->align != ALIGN_NONE) {
		policy->align = ALIGN_NONE;
		better |= keep_if_it_fails(shrinking);
	}
	if (policy->has_reserved_list) {
		policy->has_reserved_list = false;
		policy->reserved_list = CPUSET_EMPTY;
		better |= keep_if_it_fails(shrinking);
	}
	if (!cpuset_is_empty(&policy->excluded)) {
		policy->excluded = CPUSET_EMPTY;
		better |= keep_if_it_fails(shrinking);
	}
	return better;
}

static bool simplify_pods(struct shrinking *shrinking)
{
	bool better = false;

	for (uint32_t i = 0; i < shrinking->best.nr_steps; i++) {
		for (unsigned int bit = 1; bit < PLAIN_ALL; bit <<= 1) {
			if (shrinking->trial.steps[i].plainness & bit)
				continue;
			shrinking->trial.steps[i].plainness |= bit;
			better |= keep_if_it_fails(shrinking);
		}
	}
	return better;
}

static void show(const struct scenario *scenario)
{
	struct hardware *hardware cleanup_free = malloc(sizeof(*hardware));
	struct coverage *ignored cleanup_free = calloc(1, sizeof(*ignored));
	struct topology *topology cleanup_topology = NULL;
	struct text machine cleanup_text = {0};
	struct text policy cleanup_text = {0};
	char error[ERROR_MAX] = "";

	if (!hardware || !ignored)
		abort();
	generate_hardware(&scenario->shape, hardware);
	if (hardware_topology(hardware, &CPUSET_EMPTY, &topology))
		return;
	facts_render(topology, &machine);
	mirror_config(&scenario->policy, &policy);
	printf("# smallest failing case, %u steps\n# machine: %s# configuration: %s\n",
	       scenario->nr_steps, machine.data, policy.data);
	play(scenario, ignored, true, error);
	printf("# %s\n", error);
}

static void shrink(const struct scenario *scenario, const char *error)
{
	struct shrinking *shrinking cleanup_free = malloc(sizeof(*shrinking));
	bool better;

	if (!shrinking)
		abort();
	violation_kind(error, shrinking->kind);
	shrinking->best = shrinking->trial = *scenario;
	shrinking->end = time(NULL) + SHRINK_SECONDS;
	do {
		better = drop_steps(shrinking);
		better |= simplify_machine(shrinking);
		better |= simplify_policy(shrinking);
		better |= simplify_pods(shrinking);
	} while (better && time(NULL) < shrinking->end);
	show(&shrinking->best);
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Returns true if no property was violated. */
static bool run(uint64_t seed, uint64_t nr_steps, struct coverage *coverage)
{
	struct scenario *scenario cleanup_free = malloc(sizeof(*scenario));
	struct chance chance = {seed};
	char error[ERROR_MAX];

	if (!scenario)
		abort();
	while (coverage->steps < nr_steps) {
		int r;

		generate_scenario(chance_next(&chance), scenario);
		r = play(scenario, coverage, false, error);
		if (!r)
			continue;
		printf("# violated after %llu steps: %s\n", (unsigned long long)coverage->steps,
		       r == 1 ? error : "the generator made what is no scenario");
		if (r == 1 && number_from_environment("PINFOLD_SHRINK", 1))
			shrink(scenario, error);
		return false;
	}
	return true;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void interrupted(int number)
{
	mirror_end();
	_exit(128 + number);
}

int main(void)
{
	uint64_t nr_steps = number_from_environment("PINFOLD_STEPS", DEFAULT_STEPS);
	uint64_t seed = number_from_environment("PINFOLD_SEED", (uint64_t)time(NULL));
	struct coverage *coverage cleanup_free = calloc(1, sizeof(*coverage));
	double begin = seconds();
	bool held, enough = true;

	if (!coverage)
		abort();
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	printf("# PINFOLD_SEED=%llu PINFOLD_STEPS=%llu\n", (unsigned long long)seed,
	       (unsigned long long)nr_steps);
	fflush(stdout);
	held = run(seed, nr_steps, coverage);
	if (held) {
		coverage_print(coverage);
		enough = nr_steps < COVERAGE_STEPS || coverage_is_enough(coverage);
	}
	printf("# %.1f s of CPU time, %.1f us a step\n", seconds() - begin,
	       (seconds() - begin) * 1e6 / (double)(coverage->steps ? coverage->steps : 1));
	printf("1..2\n%s 1 - every property held after each of %llu steps\n",
	       held ? "ok" : "not ok", (unsigned long long)coverage->steps);
	printf("%s 2 - every option, policy and event occurred often enough\n",
	       held && enough ? "ok" : "not ok");
	mirror_end();
	return held && enough ? 0 : 1;
}
