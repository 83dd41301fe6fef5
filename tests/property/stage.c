// SPDX-License-Identifier: Apache-2.0
/* Plays one scenario on a ledger and checks all rules after each step. */
#include "property.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void complain(struct stage *stage, const char *format, ...)
{
	va_list args;
	int used;

	/* Only the first violation is reported. */
	if (stage->error[0])
		return;
	used = snprintf(stage->error, sizeof(stage->error), "step %u: ", stage->nr_played);
	va_start(args, format);
	vsnprintf(stage->error + used, sizeof(stage->error) - (size_t)used, format, args);
	va_end(args);
}

void tell(const struct stage *stage, const char *format, ...)
{
	va_list args;

	if (!stage->is_verbose)
		return;
	printf("#   %3u: ", stage->nr_played);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

static void tell_amounts(const struct resources *request, const struct resources *limit)
{
	printf(" %lldm", (long long)request->cpu_mcpu);
	if (limit->cpu_mcpu != request->cpu_mcpu)
		printf("..%lldm", (long long)limit->cpu_mcpu);
	printf(" %lld bytes", (long long)request->memory_bytes);
	for (uint32_t i = 0; i < request->nr_hugepages; i++)
		printf(" %lld in pages of %llu", (long long)request->hugepages[i].bytes,
		       (unsigned long long)request->hugepages[i].size_bytes);
}

void tell_pod(const struct stage *stage, const char *what, const struct pod_spec *spec)
{
	if (!stage->is_verbose)
		return;
	printf("#   %3u: %s %s", stage->nr_played, what, spec->uid);
	if (spec->has_pod_resources) {
		printf(" budget");
		tell_amounts(&spec->request, &spec->limit);
	}
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		const struct container_spec *container = &spec->containers[i];

		printf("; %s %s", container->name, container_kind_name(container->kind));
		tell_amounts(&container->request, &container->limit);
	}
	printf("\n");
}

/* --- what was promised ------------------------------------------------------------------------ */

uint32_t name_of(const char *uid)
{
	return (uint32_t)strtoul(uid + 1, NULL, 10) % NR_NAMES;
}

static struct known_pod *known_of(struct stage *stage, const char *uid)
{
	return &stage->known[name_of(uid)];
}

static void forget(struct stage *stage, const char *uid)
{
	struct known_pod *known = known_of(stage, uid);

	pod_spec_free(known->spec);
	*known = (struct known_pod){0};
}

static void remember(struct stage *stage, const char *uid)
{
	const struct ledger_pod *pod = ledger_find(stage->ledger, uid);
	struct known_pod *known = known_of(stage, uid);

	forget(stage, uid);
	if (!pod)
		return;
	*known = (struct known_pod){
		.spec = pod_spec_copy(pod->spec),
		.state = pod->state,
		.align = stage->policy.align,
		.scope = stage->policy.scope,
		.digest = pod_digest(pod),
	};
	if (!known->spec)
		abort();
}

/* --- decisions -------------------------------------------------------------------------------- */

static void cover_pod(struct stage *stage, const struct pod_spec *spec)
{
	uint64_t *feature = stage->coverage->feature;
	bool has_init = false, has_sidecar = false, has_pages = false;

	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		has_init |= spec->containers[i].kind == CONTAINER_INIT;
		has_sidecar |= spec->containers[i].kind == CONTAINER_SIDECAR;
		has_pages |= spec->containers[i].request.nr_hugepages;
	}
	feature[FEATURE_INIT] += has_init;
	feature[FEATURE_SIDECAR] += has_sidecar;
	feature[FEATURE_PAGES] += has_pages;
	feature[FEATURE_BUDGET] += spec->has_pod_resources;
}

static void cover_grants(struct stage *stage, const struct ledger_pod *pod)
{
	uint64_t *feature = stage->coverage->feature;
	bool reuses = false, is_group = false;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		is_group |= __builtin_popcountll(pod->grants[i].mems) > 1;
		for (uint32_t j = 0; j < i; j++)
			reuses |= pod->grants[j].kind == CONTAINER_INIT && !pod->has_bubble &&
				  cpuset_intersects(pod->grants[i].cpus, pod->grants[j].cpus);
	}
	feature[FEATURE_BUBBLE] += pod->has_bubble;
	feature[FEATURE_INIT_REUSE] += reuses;
	feature[FEATURE_GROUP] += is_group;
}

static void cover_decision(struct stage *stage, const struct pod_spec *spec,
			   const struct decision *decision)
{
	struct coverage *coverage = stage->coverage;

	coverage->admissions++;
	coverage->admitted += decision->admitted;
	coverage->refused += !decision->admitted;
	coverage->refusal[decision->refusal]++;
	cover_pod(stage, spec);
	if (decision->admitted)
		cover_grants(stage, ledger_find(stage->ledger, spec->uid));
}

/* Fill a second ledger with the pods of this one, except `without` (NULL = none). */
static struct ledger *copy_ledger(struct stage *stage, const struct policy *policy,
				  const char *without)
{
	struct ledger *copy cleanup_ledger = NULL;
	char error[256];

	if (ledger_new(stage->topology, policy, error, sizeof(error), &copy)) {
		complain(stage, "a second ledger: %s", error);
		return NULL;
	}
	for (uint32_t i = 0; i < ledger_nr_pods(stage->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(stage->ledger, i);

		if (without && !strcmp(pod->spec->uid, without))
			continue;
		if (ledger_restore(copy, pod, error, sizeof(error))) {
			complain(stage, "restore: %s", error);
			return NULL;
		}
	}
	return TAKE_PTR(copy);
}

/* Apply a refusal's suggestion to a copy and verify that the pod is admitted. */
static void check_suggestion(struct stage *stage, const struct pod_spec *spec,
			     const struct change *change)
{
	struct pod_spec *changed cleanup_pod_spec = pod_spec_copy(spec);
	struct policy *policy cleanup_free = malloc(sizeof(*policy));
	struct ledger *copy cleanup_ledger = NULL;
	struct decision decision;

	if (!changed || !policy)
		abort();
	*policy = stage->policy;
	change_policy(change, policy);
	copy = copy_ledger(stage, &stage->policy,
			   change->kind == CHANGE_POD_LEAVES ? change->uid : NULL);
	if (!copy)
		return;
	/* Under another policy existing grants stay unchanged. */
	ledger_use_policy(copy, policy);
	change_apply(change, changed);
	stage->coverage->feature[FEATURE_SUGGESTION]++;
	if (admit_pod(copy, changed, &decision))
		complain(stage, "refusal: the suggested change of pod %s is an error", spec->uid);
	else if (!decision.admitted)
		complain(stage, "refusal: the suggested change of pod %s (kind %d) is refused: %s",
			 spec->uid, change->kind, decision.message);
	ledger_use_policy(copy, &stage->policy);
}

static void after_refusal(struct stage *stage, struct chance *chance, const struct pod_spec *spec,
			  const struct decision *decision, const struct pod_before *was)
{
	check_refused(stage, spec, decision, was);
	stage->coverage->change[decision->change.kind]++;
	/* Restoring needs a ledger without the kubelet's defects. */
	if (decision->change.kind == CHANGE_NONE || !chance_percent(chance, 10) ||
	    !rules_hold_cpus(stage) || !rules_hold_memory(stage))
		return;
	check_suggestion(stage, spec, &decision->change);
	for (uint32_t i = 0; i < decision->nr_others; i++) {
		stage->coverage->change[decision->others[i].kind]++;
		check_suggestion(stage, spec, &decision->others[i]);
	}
}

static void decide(struct stage *stage, struct chance *chance, const struct pod_spec *spec)
{
	struct pod_before was cleanup_pod_before = before_decision(stage, spec);
	uint64_t before = ledger_digest(stage->ledger);
	struct cpuset candidates;
	struct decision decision;

	tell_pod(stage, "admit", spec);
	rules_candidates(stage, spec->uid, &candidates);
	if (admit_prepare(stage->ledger, spec, &decision))
		return complain(stage, "admission of pod %s is an error", spec->uid);
	tell(stage, "%s: %s %s", decision.admitted ? "admitted" : decision.reason, decision.message,
	     decision.suggestion);
	cover_decision(stage, spec, &decision);
	if (!decision.admitted) {
		if (ledger_digest(stage->ledger) != before)
			complain(stage, "transaction: the refusal of pod %s changed something",
				 spec->uid);
		return after_refusal(stage, chance, spec, &decision, &was);
	}
	check_admitted(stage, spec, &candidates, &was);
	if (!chance_percent(chance, 8)) {
		ledger_commit(stage->ledger);
		return remember(stage, spec->uid);
	}
	tell(stage, "taken back");
	ledger_abort(stage->ledger);
	if (ledger_digest(stage->ledger) != before)
		complain(stage, "transaction: taking back pod %s left something changed",
			 spec->uid);
}

/* --- events ----------------------------------------------------------------------------------- */

static void step_admit(struct stage *stage, struct chance *chance, const char *uid,
		       unsigned int plainness)
{
	struct pod_spec *spec cleanup_pod_spec =
		generate_pod(chance, stage->hardware, &stage->policy, uid, plainness);

	stage->coverage->event[ledger_find(stage->ledger, uid) ? EVENT_CHANGE : EVENT_ADMIT]++;
	decide(stage, chance, spec);
}

/* Up to twice as many CPUs as before and two more, or fewer. */
static void resize_at_random(struct chance *chance, struct resources *request,
			     struct resources *limit)
{
	int64_t cpus = request->cpu_mcpu / 1000;

	if (cpus <= 0 || request->cpu_mcpu != limit->cpu_mcpu || cpus > MAX_CPUS)
		return;
	cpus = 1 + chance_below(chance, (uint32_t)cpus * 2 + 2);
	request->cpu_mcpu = limit->cpu_mcpu = cpus * 1000;
}

static void step_resize(struct stage *stage, struct chance *chance, const char *uid)
{
	struct known_pod *known = known_of(stage, uid);
	struct pod_spec *spec cleanup_pod_spec = known->spec ? pod_spec_copy(known->spec) : NULL;

	if (!spec)
		return;
	if (spec->has_pod_resources && chance_percent(chance, 70))
		resize_at_random(chance, &spec->request, &spec->limit);
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (chance_percent(chance, 60))
			resize_at_random(chance, &spec->containers[i].request,
					 &spec->containers[i].limit);
	}
	if (pod_spec_equal(spec, known->spec))
		return;
	stage->coverage->event[EVENT_RESIZE]++;
	decide(stage, chance, spec);
}

/* An admitted pod keeps its grants, however full the node is. */
static void step_again(struct stage *stage, const char *uid)
{
	struct known_pod *known = known_of(stage, uid);
	struct decision decision;

	if (!known->spec)
		return;
	stage->coverage->event[EVENT_AGAIN]++;
	tell(stage, "admit %s again as it is", uid);
	if (admit_pod(stage->ledger, known->spec, &decision))
		return complain(stage, "admission of pod %s is an error", uid);
	if (!decision.admitted)
		complain(stage, "promise: pod %s was admitted, and now is not: %s", uid,
			 decision.message);
	known->state = POD_RUNNING;
}

static void step_remove(struct stage *stage, const char *uid)
{
	if (!ledger_find(stage->ledger, uid))
		return;
	stage->coverage->event[EVENT_REMOVE]++;
	tell(stage, "remove %s", uid);
	if (ledger_remove(stage->ledger, uid))
		complain(stage, "pod %s cannot be removed", uid);
	forget(stage, uid);
}

static void step_ending(struct stage *stage, const char *uid)
{
	if (!ledger_find(stage->ledger, uid))
		return;
	stage->coverage->event[EVENT_ENDING]++;
	tell(stage, "%s ends", uid);
	if (ledger_set_state(stage->ledger, uid, POD_ENDING, "file removed"))
		complain(stage, "pod %s cannot end", uid);
	known_of(stage, uid)->state = POD_ENDING;
}

/* Several changes of every kind in one transaction that is aborted. */
static void step_abort(struct stage *stage, struct chance *chance)
{
	uint64_t before = ledger_digest(stage->ledger);

	stage->coverage->event[EVENT_ABORT]++;
	tell(stage, "four changes, taken back");
	if (ledger_begin(stage->ledger))
		return complain(stage, "cannot begin");
	for (int i = 0; i < 4; i++) {
		char uid[8];

		snprintf(uid, sizeof(uid), "p%u", chance_below(chance, NR_NAMES));
		if (chance_percent(chance, 50)) {
			int want = ledger_find(stage->ledger, uid) ? 0 : -ENOENT;

			if (ledger_remove(stage->ledger, uid) != want)
				complain(stage, "a pod cannot be removed");
		} else if (ledger_find(stage->ledger, uid)) {
			if (ledger_set_state(stage->ledger, uid, POD_ENDING, "gone"))
				complain(stage, "no other state of a pod");
		} else {
			struct pod_spec *spec cleanup_pod_spec = generate_pod(
				chance, stage->hardware, &stage->policy, uid, PLAIN_ALL);

			if (!ledger_new_pod(stage->ledger, spec))
				complain(stage, "no new pod");
		}
	}
	ledger_abort(stage->ledger);
	if (ledger_digest(stage->ledger) != before)
		complain(stage, "transaction: abort left something changed");
}

/* With the kubelet's defects some pods cannot survive a restart. */
static bool can_restart(const struct stage *stage)
{
	return rules_hold_cpus(stage) && rules_hold_memory(stage);
}

static void step_restart(struct stage *stage)
{
	struct ledger *recovered;

	if (!can_restart(stage))
		return;
	stage->coverage->event[EVENT_RESTART]++;
	tell(stage, "restart");
	recovered = mirror_recover(stage);
	if (!recovered)
		return;
	ledger_free(stage->ledger);
	stage->ledger = recovered;
}

/* A record with CPUs that another pod holds must be rejected. */
static void step_stale(struct stage *stage, const char *uid)
{
	const struct ledger_pod *pod = ledger_find(stage->ledger, uid);
	uint64_t before = ledger_digest(stage->ledger);
	struct ledger_pod stale;
	char error[256];

	if (!pod || cpuset_is_empty(pod->held) || !can_restart(stage))
		return;
	stage->coverage->event[EVENT_STALE]++;
	tell(stage, "a stale record of %s", uid);
	stale = *pod;
	stale.spec = pod_spec_copy(pod->spec);
	if (!stale.spec)
		abort();
	snprintf(stale.spec->uid, sizeof(stale.spec->uid), "stale");
	if (ledger_restore(stage->ledger, &stale, error, sizeof(error)) != -EINVAL)
		complain(stage, "owners: a stale record is given the CPUs of pod %s", uid);
	else if (ledger_digest(stage->ledger) != before)
		complain(stage, "transaction: a stale record changed something");
	pod_spec_free(stale.spec);
}

/* --- CPUs that go and come -------------------------------------------------------------------- */

/* Every pod that can stay does; the others are removed and their CPUs are free. */
static void move_pods(struct stage *stage, struct ledger *from)
{
	uint64_t *feature = stage->coverage->feature;
	struct cpuset free, before;
	char error[256];

	rules_candidates(stage, NULL, &free);
	for (uint32_t i = 0; i < ledger_nr_pods(from); i++) {
		const struct ledger_pod *pod = ledger_pod_at(from, i);
		bool fits = cpuset_is_subset(pod->held, &free);
		int r = ledger_restore(stage->ledger, pod, error, sizeof(error));

		before = *pod->held;
		feature[r ? FEATURE_LOST_OFFLINE : FEATURE_KEPT_OFFLINE]++;
		if (r && fits)
			complain(stage, "promise: pod %s loses CPUs that are there: %s",
				 pod->spec->uid, error);
		if (!r && !fits)
			complain(stage, "candidates: pod %s keeps CPUs that are gone",
				 pod->spec->uid);
		if (r)
			forget(stage, pod->spec->uid);
		else
			cpuset_subtract(&free, &before);
	}
}

static void toggle_cpus(struct stage *stage, struct chance *chance, struct cpuset *offline)
{
	const struct hardware *hardware = stage->hardware;
	uint32_t nr = 1 + chance_below(chance, 3);

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t id = hardware->cpus[chance_below(chance, hardware->nr_cpus)].id;

		if (cpuset_has(offline, id))
			cpuset_remove(offline, id);
		else if (id)
			cpuset_add(offline, id);
	}
}

static void step_offline(struct stage *stage, struct chance *chance)
{
	struct topology *topology cleanup_topology = NULL, *old_topology = stage->topology;
	struct ledger *ledger cleanup_ledger = NULL, *old_ledger = stage->ledger;
	struct cpuset offline = stage->offline;
	char error[256], list[64];

	if (!can_restart(stage))
		return;
	toggle_cpus(stage, chance, &offline);
	/* Too few CPUs, or a reserved CPU no longer exists: the policy is not valid here. */
	if (hardware_topology(stage->hardware, &offline, &topology) ||
	    policy_check(&stage->policy, topology, error, sizeof(error)) ||
	    ledger_new(topology, &stage->policy, error, sizeof(error), &ledger))
		return;
	/* In kubelet mode the rules hold only for complete machines. */
	if (compatibility_is_kubelet(stage->policy.compatibility))
		return;
	stage->coverage->event[EVENT_OFFLINE]++;
	cpuset_format(&offline, list, sizeof(list));
	tell(stage, "CPUs offline are now: %s", list);
	stage->offline = offline;
	stage->topology = TAKE_PTR(topology);
	stage->ledger = TAKE_PTR(ledger);
	move_pods(stage, old_ledger);
	ledger_free(old_ledger);
	topology_free(old_topology);
}

/* --- another policy under the same pods ------------------------------------------------------- */

/*
 * Whether the memory of a budget was charged as one is read off the bubble; a
 * budget without one (no whole CPUs, no CPU policy) goes by the policy in force.
 */
static bool is_placed_visibly(const struct stage *stage)
{
	for (uint32_t i = 0; i < ledger_nr_pods(stage->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(stage->ledger, i);

		if (pod->spec->has_pod_resources &&
		    (stage->policy.cpu == CPU_POLICY_NONE || pod->spec->request.cpu_mcpu % 1000))
			return false;
	}
	return true;
}

/* Existing grants stay, whatever alignment the policy demands for new pods. */
static void step_reload(struct stage *stage, struct chance *chance)
{
	struct ledger *ledger cleanup_ledger = NULL, *old = stage->ledger;
	struct policy before = stage->policy;
	char error[256];

	if (!can_restart(stage) || !is_placed_visibly(stage))
		return;
	stage->policy.align = chance_below(chance, ALIGN_NR);
	stage->policy.scope = chance_below(chance, ALIGN_SCOPE_NR);
	if (policy_check(&stage->policy, stage->topology, error, sizeof(error))) {
		stage->policy = before;
		return;
	}
	stage->coverage->event[EVENT_RELOAD]++;
	tell(stage, "policy %s, scope %s", align_policy_name(stage->policy.align),
	     align_scope_name(stage->policy.scope));
	if (ledger_new(stage->topology, &stage->policy, error, sizeof(error), &ledger))
		return complain(stage, "reload: %s", error);
	for (uint32_t i = 0; i < ledger_nr_pods(old); i++) {
		if (ledger_restore(ledger, ledger_pod_at(old, i), error, sizeof(error)))
			complain(stage, "reload: %s", error);
	}
	stage->ledger = TAKE_PTR(ledger);
	ledger_free(old);
}

/* --- a scenario ------------------------------------------------------------------------------- */

/* The pod of this step is first tried with simulate. */
static void step_mirror(struct stage *stage, struct chance *chance, const char *uid,
			unsigned int plainness)
{
	struct pod_spec *spec cleanup_pod_spec =
		generate_pod(chance, stage->hardware, &stage->policy, uid, plainness);

	if (!can_restart(stage))
		return;
	tell_pod(stage, "simulate and admit", spec);
	ledger_free(mirror_recover(stage));
	if (!stage->error[0] && mirror_simulate(stage, spec, chance_percent(chance, 2)))
		remember(stage, uid);
}

/* An existing pod, if there is one; otherwise the name itself. */
static void choose_pod(const struct stage *stage, struct chance *chance, char uid[8])
{
	uint32_t nr = ledger_nr_pods(stage->ledger);

	if (nr)
		snprintf(uid, 8, "%.7s",
			 ledger_pod_at(stage->ledger, chance_below(chance, nr))->spec->uid);
}

static void play_step(struct stage *stage, const struct action *step)
{
	struct chance chance = {step->seed};
	uint32_t what = chance_below(&chance, 100);
	char uid[8];

	stage->nr_played++;
	stage->coverage->steps++;
	cover_policy(stage->coverage, &stage->scenario->shape, &stage->policy);
	snprintf(uid, sizeof(uid), "p%u", chance_below(&chance, NR_NAMES));
	if ((what >= 48 && what < 87) || what == 93 || what == 94)
		choose_pod(stage, &chance, uid);
	if (what < 48)
		step_admit(stage, &chance, uid, step->plainness);
	else if (what < 55)
		step_resize(stage, &chance, uid);
	else if (what < 63)
		step_again(stage, uid);
	else if (what < 83)
		step_remove(stage, uid);
	else if (what < 87)
		step_ending(stage, uid);
	else if (what < 91)
		step_abort(stage, &chance);
	else if (what < 93)
		step_restart(stage);
	else if (what < 95)
		step_stale(stage, uid);
	else if (what < 97)
		step_reload(stage, &chance);
	else
		step_offline(stage, &chance);
	if (!stage->error[0])
		check_rules(stage);
	if (!stage->error[0] && stage->nr_played % MIRROR_EVERY == 0)
		step_mirror(stage, &chance, uid, step->plainness);
}

static void play_steps(struct stage *stage)
{
	const struct scenario *scenario = stage->scenario;
	struct chance chance = {scenario->shape.seed};

	check_rules(stage);
	for (uint32_t i = 0; i < scenario->nr_steps && !stage->error[0]; i++)
		play_step(stage, &scenario->steps[i]);
	if (!stage->error[0])
		step_mirror(stage, &chance, "p0", scenario->steps[0].plainness);
	if (!stage->error[0])
		check_rules(stage);
	/* After all pods are removed, everything is free. */
	for (uint32_t i = 0; i < NR_NAMES && !stage->error[0]; i++) {
		char uid[8];

		snprintf(uid, sizeof(uid), "p%u", i);
		step_remove(stage, uid);
	}
	if (!stage->error[0])
		check_rules(stage);
}

static int set_up(struct stage *stage)
{
	char error[256];

	stage->hardware = malloc(sizeof(*stage->hardware));
	if (!stage->hardware)
		abort();
	generate_hardware(&stage->scenario->shape, stage->hardware);
	if (hardware_topology(stage->hardware, &stage->offline, &stage->topology) ||
	    policy_check(&stage->policy, stage->topology, error, sizeof(error)) ||
	    ledger_new(stage->topology, &stage->policy, error, sizeof(error), &stage->ledger))
		return -EINVAL;
	return 0;
}

int play(const struct scenario *scenario, struct coverage *coverage, bool is_verbose,
	 char error[ERROR_MAX])
{
	struct stage *stage cleanup_free = calloc(1, sizeof(*stage));
	int r;

	if (!stage)
		abort();
	stage->scenario = scenario;
	stage->policy = scenario->policy;
	stage->coverage = coverage;
	stage->is_verbose = is_verbose;
	coverage->sequences++;
	r = set_up(stage);
	if (!r && !stage->error[0])
		play_steps(stage);
	if (!r && stage->error[0])
		r = 1;
	memcpy(error, stage->error, ERROR_MAX);
	for (uint32_t i = 0; i < NR_NAMES; i++)
		pod_spec_free(stage->known[i].spec);
	ledger_free(stage->ledger);
	topology_free(stage->topology);
	free(stage->hardware);
	return r;
}
