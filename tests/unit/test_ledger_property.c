// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Random pods on random machines: after each step the ledger is sound, what is
 * refused or aborted changes nothing, grants come out of the candidates, and a
 * ledger restored from another one is equal to it.
 *
 * PINFOLD_STEPS: how many (20000). PINFOLD_SEED: where to begin. Each step is
 * made of one number of its own, so a failure is shrunk by leaving steps out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <time.h>

#include "chance.h"

#define SEQUENCE_MAX 200
#define NR_NAMES     12

struct counts {
	uint64_t steps, admissions, admitted, refused, suggestions, bubbles, init_reuse;
	uint64_t option[6], align[ALIGN_NR], refusal[REFUSAL_NR], change[CHANGE_KIND_NR];
};

struct world {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	struct counts *counts;
	char error[512]; /* "" = fine so far */
	bool is_verbose;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15;
	return hash ^ (hash >> 32);
}

static uint64_t mix_set(uint64_t hash, const struct cpuset *set)
{
	cpuset_for_each (cpu, set)
		hash = mix(hash, cpu + 1);
	return mix(hash, 0);
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t word;

		memcpy(&word, p + i, sizeof(word));
		hash = mix(hash, word);
	}
	return hash;
}

/* Everything a reader of the ledger can see. */
static uint64_t digest(const struct ledger *ledger)
{
	uint64_t hash = mix_set(1, ledger_shared_pool(ledger));

	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);

		hash = mix_bytes(hash, pod->spec->uid, sizeof(pod->spec->uid));
		hash = mix(hash,
			   (uint64_t)pod->state << 8 | (uint64_t)pod->qos << 1 | pod->has_bubble);
		hash = mix_set(mix_set(hash, &pod->held), &pod->bubble);
		hash = mix_bytes(hash, pod->detail, sizeof(pod->detail));
		for (uint32_t j = 0; j < pod->nr_grants; j++) {
			hash = mix_bytes(hash, &pod->spec->containers[j],
					 sizeof(pod->spec->containers[j]));
			hash = mix(hash,
				   (uint64_t)pod->grants[j].isolation << 4 | pod->grants[j].kind);
			hash = mix_set(hash, &pod->grants[j].cpus);
		}
	}
	return hash;
}

__attribute__((format(printf, 2, 3))) static void complain(struct world *world, const char *format,
							   ...)
{
	va_list args;

	if (world->error[0])
		return;
	va_start(args, format);
	vsnprintf(world->error, sizeof(world->error), format, args);
	va_end(args);
}

static void check_sound(struct world *world)
{
	char error[256];

	if (ledger_check(world->ledger, error, sizeof(error)))
		complain(world, "ledger: %s", error);
}

static void count_decision(struct world *world, const struct decision *decision,
			   const struct pod_spec *spec)
{
	const struct cpu_options *options = &world->policy.cpu_options;
	const bool on[] = {options->full_pcpus_only,	options->distribute_across_numa,
			   options->align_by_socket,	options->distribute_across_cores,
			   options->strict_reservation, options->prefer_uncore};
	struct counts *counts = world->counts;
	const struct ledger_pod *pod = ledger_find(world->ledger, spec->uid);

	counts->admissions++;
	counts->admitted += decision->admitted;
	counts->refused += !decision->admitted;
	counts->refusal[decision->refusal]++;
	counts->align[world->policy.align]++;
	for (size_t i = 0; i < ARRAY_SIZE(on); i++)
		counts->option[i] += on[i];
	if (decision->admitted && pod) {
		counts->bubbles += pod->has_bubble;
		counts->init_reuse += pod->nr_grants > 1 && pod->grants[0].kind == CONTAINER_INIT &&
				      cpuset_intersects(&pod->grants[0].cpus,
							&pod->grants[pod->nr_grants - 1].cpus);
	}
}

/* Carry out what a refusal suggests, and take it back. */
static void check_suggestion(struct world *world, const struct pod_spec *spec,
			     const struct change *change)
{
	struct pod_spec *changed cleanup_pod_spec = pod_spec_copy(spec);
	uint64_t before = digest(world->ledger);
	struct policy policy = world->policy;
	struct ledger *other cleanup_ledger = NULL;
	struct decision decision;
	char error[256];

	world->counts->suggestions++;
	world->counts->change[change->kind]++;
	change_policy(change, &policy);
	if (ledger_new(world->topology, &policy, error, sizeof(error), &other))
		return complain(world, "second ledger: %s", error);
	for (uint32_t i = 0; i < ledger_nr_pods(world->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(world->ledger, i);

		if (change->kind == CHANGE_POD_LEAVES && !strcmp(pod->spec->uid, change->uid))
			continue;
		if (ledger_restore(other, pod, error, sizeof(error)))
			return complain(world, "restore: %s", error);
	}
	change_apply(change, changed);
	if (admit_pod(other, changed, &decision))
		return complain(world, "admission after the suggested change is an error");
	if (!decision.admitted)
		complain(world, "suggestion does not work: %s", decision.message);
	if (digest(world->ledger) != before)
		complain(world, "looking for a suggestion changed the ledger");
}

static void check_candidates(struct world *world, const struct pod_spec *spec,
			     const struct cpuset *candidates)
{
	const struct ledger_pod *pod = ledger_find(world->ledger, spec->uid);

	if (!pod)
		return complain(world, "an admitted pod is not in the ledger");
	if (!cpuset_is_subset(&pod->held, candidates))
		complain(world, "pod %s got CPUs that were no candidates", spec->uid);
}

static void step_admit(struct world *world, struct chance *chance, const char *uid)
{
	uint32_t most = 1 + world->topology->num_cpus / 3;
	struct pod_spec *spec cleanup_pod_spec = chance_pod(chance, uid, most);
	const struct ledger_pod *known = ledger_find(world->ledger, uid);
	struct cpuset candidates = *ledger_shared_pool(world->ledger);
	uint64_t before = digest(world->ledger);
	struct decision decision;

	cpuset_subtract(&candidates, ledger_reserved(world->ledger));
	if (known)
		cpuset_union(&candidates, &known->held);
	if (admit_prepare(world->ledger, spec, &decision))
		return complain(world, "admission is an error");
	if (world->is_verbose)
		printf("  admit %s: %s %s\n", uid, decision.message, decision.suggestion);
	count_decision(world, &decision, spec);
	if (decision.admitted)
		check_candidates(world, spec, &candidates);
	if (decision.admitted && chance_percent(chance, 10)) {
		ledger_abort(world->ledger);
		if (digest(world->ledger) != before)
			complain(world, "abort left something changed");
	} else if (decision.admitted) {
		ledger_commit(world->ledger);
	} else if (digest(world->ledger) != before) {
		complain(world, "a refusal changed the ledger");
	}
	if (decision.admitted || decision.change.kind == CHANGE_NONE || !chance_percent(chance, 10))
		return;
	check_suggestion(world, spec, &decision.change);
	for (uint32_t i = 0; i < decision.nr_others; i++)
		check_suggestion(world, spec, &decision.others[i]);
}

/* Several changes of every kind in one transaction that is taken back. */
static void step_abort(struct world *world, struct chance *chance)
{
	uint64_t before = digest(world->ledger);

	if (ledger_begin(world->ledger))
		return complain(world, "cannot begin");
	for (int i = 0; i < 4; i++) {
		char uid[8];

		snprintf(uid, sizeof(uid), "p%u", chance_below(chance, NR_NAMES));
		if (chance_percent(chance, 50)) {
			ledger_remove(world->ledger, uid);
		} else if (ledger_find(world->ledger, uid)) {
			ledger_set_state(world->ledger, uid, POD_ENDING, "gone");
		} else {
			struct pod_spec *spec cleanup_pod_spec = chance_pod(chance, uid, 4);

			if (!ledger_new_pod(world->ledger, spec))
				complain(world, "no new pod");
		}
	}
	ledger_abort(world->ledger);
	if (digest(world->ledger) != before)
		complain(world, "abort left something changed");
}

static void step_recover(struct world *world)
{
	struct ledger *other cleanup_ledger = NULL;
	char error[256];

	if (ledger_new(world->topology, &world->policy, error, sizeof(error), &other))
		return complain(world, "second ledger: %s", error);
	for (uint32_t i = ledger_nr_pods(world->ledger); i-- > 0;) {
		if (ledger_restore(other, ledger_pod_at(world->ledger, i), error, sizeof(error)))
			return complain(world, "restore: %s", error);
	}
	if (digest(other) != digest(world->ledger))
		complain(world, "a restored ledger differs from the one it was made of");
}

static void play_step(struct world *world, uint64_t seed)
{
	struct chance chance = {seed};
	uint32_t what = chance_below(&chance, 100);
	char uid[8];

	world->counts->steps++;
	snprintf(uid, sizeof(uid), "p%u", chance_below(&chance, NR_NAMES));
	if (what < 70) {
		step_admit(world, &chance, uid);
	} else if (what < 90) {
		ledger_remove(world->ledger, uid);
	} else if (what < 94) {
		ledger_set_state(world->ledger, uid, POD_ENDING, "file removed");
	} else if (what < 98) {
		step_abort(world, &chance);
	} else {
		step_recover(world);
	}
	check_sound(world);
}

/* Play one machine with these steps; false with world->error. */
static bool play(uint64_t machine_seed, const uint64_t *steps, size_t nr, struct counts *counts,
		 bool is_verbose, char *error, size_t error_size)
{
	struct chance chance = {machine_seed};
	struct world world = {.counts = counts, .is_verbose = is_verbose};

	world.topology = chance_machine(&chance);
	world.policy = chance_policy(&chance, world.topology);
	if (ledger_new(world.topology, &world.policy, error, error_size, &world.ledger))
		complain(&world, "new ledger: %s", error);
	if (!world.error[0])
		check_sound(&world);
	for (size_t i = 0; i < nr && !world.error[0]; i++)
		play_step(&world, steps[i]);
	if (!world.error[0])
		step_recover(&world);
	ledger_free(world.ledger);
	topology_free(world.topology);
	snprintf(error, error_size, "%s", world.error);
	return !world.error[0];
}

/* Leave out every step without which it still fails, then show the rest. */
static void shrink(uint64_t machine_seed, uint64_t *steps, size_t nr)
{
	struct counts ignored = {0};
	char error[512];

	for (size_t i = nr; i-- > 0;) {
		uint64_t without[SEQUENCE_MAX];

		memcpy(without, steps, i * sizeof(steps[0]));
		memcpy(without + i, steps + i + 1, (nr - i - 1) * sizeof(steps[0]));
		if (play(machine_seed, without, nr - 1, &ignored, false, error, sizeof(error)))
			continue;
		nr--;
		memcpy(steps, without, nr * sizeof(steps[0]));
	}
	printf("smallest failing case: machine 0x%llx and %zu steps:\n",
	       (unsigned long long)machine_seed, nr);
	for (size_t i = 0; i < nr; i++)
		printf("  step 0x%llx\n", (unsigned long long)steps[i]);
	play(machine_seed, steps, nr, &ignored, true, error, sizeof(error));
	fail_msg("%s", error);
}

static void print_counts(const struct counts *counts)
{
	static const char *const options[] = {"full-pcpus-only", "distribute-numa",
					      "align-by-socket", "distribute-cores",
					      "strict",		 "uncore"};

	printf("%llu steps, %llu admissions: %llu admitted, %llu refused; %llu suggestions "
	       "carried out, %llu bubbles, %llu with reused init CPUs\n",
	       (unsigned long long)counts->steps, (unsigned long long)counts->admissions,
	       (unsigned long long)counts->admitted, (unsigned long long)counts->refused,
	       (unsigned long long)counts->suggestions, (unsigned long long)counts->bubbles,
	       (unsigned long long)counts->init_reuse);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		printf("  %s %llu", options[i], (unsigned long long)counts->option[i]);
	for (int i = 0; i < ALIGN_NR; i++)
		printf("  %s %llu", align_policy_name(i), (unsigned long long)counts->align[i]);
	for (int i = 0; i < REFUSAL_NR; i++)
		printf("  %s %llu", refusal_name(i), (unsigned long long)counts->refusal[i]);
	for (int i = 0; i < CHANGE_KIND_NR; i++)
		printf("  %s %llu", change_kind_name(i), (unsigned long long)counts->change[i]);
	printf("\n");
}

/* A run that never refuses, or never uses an option, proves less than it says. */
static void check_counts(const struct counts *counts)
{
	assert_true(counts->admitted * 4 >= counts->admissions);
	assert_true(counts->refused * 4 >= counts->admissions);
	for (size_t i = 0; i < ARRAY_SIZE(counts->option); i++)
		assert_true(counts->option[i] * 50 >= counts->admissions);
	for (int i = 0; i < ALIGN_NR; i++)
		assert_true(counts->align[i] * 50 >= counts->admissions);
	assert_true(counts->bubbles && counts->init_reuse);
	/* No pod here pins memory, and no policy keeps the kubelet's defects. */
	for (int i = CHANGE_NONE + 1; i < CHANGE_REPAIRED; i++)
		assert_true(counts->change[i] || i == CHANGE_CONTAINER_MEMORY ||
			    i == CHANGE_POD_MEMORY || i == CHANGE_PAGE_SIZE);
}

static void random_sequences(void **state)
{
	uint64_t seed = number_from_environment("PINFOLD_SEED", (uint64_t)time(NULL));
	uint64_t nr_steps = number_from_environment("PINFOLD_STEPS", 20000);
	struct chance chance = {seed};
	struct counts counts = {0};

	printf("seed %llu, PINFOLD_STEPS %llu\n", (unsigned long long)seed,
	       (unsigned long long)nr_steps);
	while (counts.steps < nr_steps) {
		uint64_t machine_seed = chance_next(&chance), steps[SEQUENCE_MAX];
		size_t nr = 20 + chance_below(&chance, SEQUENCE_MAX - 20);
		char error[512];

		for (size_t i = 0; i < nr; i++)
			steps[i] = chance_next(&chance);
		if (!play(machine_seed, steps, nr, &counts, false, error, sizeof(error))) {
			printf("seed %llu: %s\n", (unsigned long long)seed, error);
			shrink(machine_seed, steps, nr);
		}
	}
	print_counts(&counts);
	if (nr_steps >= 20000)
		check_counts(&counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
