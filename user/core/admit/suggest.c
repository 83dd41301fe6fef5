// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the nearest changes that would admit a refused pod.
 *
 * Every suggestion has been tried: the change is applied to a copy of the request or of
 * the policy, the pod is assigned on the real ledger inside a transaction, and the
 * transaction is aborted. The numbers of the refusal determine only which values are
 * tried first.
 *
 * Cost: each try costs about as much as an admission. Each kind of change has its own share
 * of them, and no refusal leads to all kinds.
 */
#include "core/admit/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/assign.h"
#include "core/admit/change.h"
#include "core/admit/resize.h"

#define TRIES_CPUS	 10
#define TRIES_MEMORY	 10
#define TRIES_DEPARTURES 12

#define MEMORY_GRAIN (UINT64_C(1) << 20) /* step of the search for ordinary memory */

/* --- trying ----------------------------------------------------------------------------------- */

static bool is_policy_change(enum change_kind kind)
{
	return kind == CHANGE_ALIGN_POLICY || kind == CHANGE_ALIGN_SCOPE ||
	       kind == CHANGE_ANY_CORES || kind == CHANGE_REPAIRED;
}

struct change_search {
	struct ledger *ledger;
	const struct pod_spec *spec;
	enum qos_class qos;
	bool is_bubble;
	const struct decision *decision;
	uint32_t nr_tries, most_tries; /* most_tries: limit for the current kind of change */
	int error;
	uint32_t nr_found;
	struct change found[1 + DECISION_MAX_OTHERS];
};

/* Allow `nr` tries for the next kind of change. */
static void allow_tries(struct change_search *search, uint32_t nr)
{
	search->most_tries = search->nr_tries + nr;
}

static bool is_over(const struct change_search *search)
{
	return search->error || search->nr_tries >= search->most_tries;
}

/* Is this policy valid on the node, with the same reserved CPUs? */
static bool is_possible_policy(const struct ledger *ledger, const struct policy *policy)
{
	const struct topology *topology = ledger_topology(ledger);
	struct memory_manager memory;
	struct cpu_manager cpu;
	char error[256];

	if (policy_check(policy, topology, error, sizeof(error)) ||
	    cpu_manager_init(&cpu, topology, policy, error, sizeof(error)) ||
	    !cpuset_equal(&cpu.reserved, ledger_reserved(ledger)) ||
	    memory_manager_init(&memory, topology, policy, error, sizeof(error)))
		return false;
	return true;
}

static int try_resize(struct ledger *ledger, const struct pod_spec *spec, bool *ret_admitted)
{
	struct decision *decision cleanup_free = calloc(1, sizeof(*decision));
	int r = decision ? resize_decide(ledger, spec, UINT32_MAX, decision) : -ENOMEM;

	if (!r)
		*ret_admitted = decision->admitted;
	return r;
}

/* As admit_prepare() would decide: what a change turns into a resize keeps its CPUs. */
static int try_assign(struct ledger *ledger, const struct pod_spec *spec, bool *ret_admitted)
{
	const struct ledger_pod *known = ledger_find(ledger, spec->uid);
	struct cpu_reuse reuse = {.uid = ""};
	struct assignment assignment;
	int r;

	if (known && pod_spec_equal(known->spec, spec)) {
		*ret_admitted = true;
		return 0;
	}
	if (known && resize_is_wanted(ledger, known, spec))
		return try_resize(ledger, spec, ret_admitted);
	r = assign_new(&assignment, ledger, spec, &reuse);
	if (!r)
		r = assign_finish(&assignment);
	if (!r)
		*ret_admitted = !assignment.outcome;
	return r;
}

static int try_under_policy(struct ledger *ledger, const struct pod_spec *spec,
			    const struct change *change, bool *ret_admitted)
{
	const struct policy *policy = ledger_policy(ledger);
	struct policy *other cleanup_free = malloc(sizeof(*other));
	char error[256];
	int r = 0;

	if (!other)
		return -ENOMEM;
	*other = *policy;
	change_policy(change, other);
	if (!is_possible_policy(ledger, other))
		return 0;
	ledger_use_policy(ledger, other);
	/*
	 * Existing grants must be valid under the new policy too; otherwise the change
	 * would affect other pods.
	 */
	if (!ledger_check(ledger, error, sizeof(error)))
		r = try_assign(ledger, spec, ret_admitted);
	ledger_use_policy(ledger, policy);
	return r;
}

static int try_change(struct change_search *search, const struct change *change, bool *ret_admitted)
{
	struct pod_spec *spec cleanup_pod_spec = pod_spec_copy(search->spec);
	int r = 0;

	if (!spec)
		return -ENOMEM;
	change_apply(change, spec);
	if (change->kind == CHANGE_POD_LEAVES)
		r = ledger_remove(search->ledger, change->uid);
	if (r)
		return r;
	if (is_policy_change(change->kind))
		return try_under_policy(search->ledger, spec, change, ret_admitted);
	return try_assign(search->ledger, spec, ret_admitted);
}

/* Does the change admit the pod? Also false if no try is left. */
static bool is_admitted_by(struct change_search *search, const struct change *change)
{
	bool admitted = false;

	if (is_over(search))
		return false;
	search->nr_tries++;
	search->error = ledger_begin(search->ledger);
	if (search->error)
		return false;
	search->error = try_change(search, change, &admitted);
	ledger_abort(search->ledger);
	return admitted;
}

static void keep(struct change_search *search, const struct change *change)
{
	struct change *found = &search->found[search->nr_found];

	if (search->nr_found == ARRAY_SIZE(search->found))
		return;
	*found = *change;
	change_say(search->ledger, search->decision->is_memory, change, found->text,
		   sizeof(found->text));
	search->nr_found++;
}

/* --- amounts ---------------------------------------------------------------------------------- */

static uint64_t sub_saturating(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * How much less than requested is available, in the unit of the decision. 0 if that is not a
 * number, as where CPUs and memory are not on the same nodes.
 */
static uint64_t missing_of(const struct decision *decision)
{
	if (decision->available < 0)
		return 0;
	return sub_saturating((uint64_t)decision->wanted, (uint64_t)decision->available);
}

/* Set the amount of a change, in the unit of its search. */
static void set_value(struct change *change, uint64_t value)
{
	if (change->kind == CHANGE_CONTAINER_CPUS || change->kind == CHANGE_POD_CPUS)
		change->cpus = (uint32_t)value;
	else
		change->bytes = value;
}

static bool fits_with(struct change_search *search, struct change *change, uint64_t value)
{
	set_value(change, value);
	return is_admitted_by(search, change);
}

/*
 * Find the largest multiple of `step` below `was` that fits, starting at `from`: go down
 * in doubling steps until a value or 0 fits, then up in halving steps. Fitting need not be
 * monotonic, so the result is always a value that was tried. It is the nearest one if
 * fitting is monotonic.
 */
static bool find_less(struct change_search *search, struct change *change, uint64_t from,
		      uint64_t was, uint64_t step)
{
	uint64_t most = sub_saturating(was, 1), jump = step;
	uint64_t fits = (from < most ? from : most) / step * step, fails = fits + step;

	while (fits && !fits_with(search, change, fits)) {
		fails = fits;
		fits = sub_saturating(fits, jump) / step * step;
		jump *= 2;
	}
	while (fails - fits > step) {
		uint64_t value = (fits + (fails - fits) / 2) / step * step;

		if (fits_with(search, change, value))
			fits = value;
		else
			fails = value;
	}
	set_value(change, fits);
	return fits != 0;
}

/* Search upwards from `from`: for whole cores, and for budgets that are used up. */
static bool find_more(struct change_search *search, struct change *change, uint64_t from,
		      uint64_t step)
{
	uint64_t value = (from + step - 1) / step * step;

	for (uint32_t i = 0; i < 4; i++, value += step) {
		if (fits_with(search, change, value))
			return true;
	}
	return false;
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static uint64_t cpus_of(const struct resources *resources)
{
	return (uint64_t)(resources->cpu_mcpu / 1000); /* RESOURCE_UNSET is less than one CPU */
}

/* Values above the machine's size need not be tried and might not fit into a change. */
static uint64_t bound_cpus(const struct change_search *search, uint64_t cpus)
{
	uint32_t all = cpuset_count(&ledger_topology(search->ledger)->all);

	return cpus < all ? cpus : all;
}

/* With full-pcpus-only, whole cores. */
static uint32_t cpu_step(const struct change_search *search)
{
	const struct cpu_manager *manager = ledger_cpu_manager(search->ledger);
	uint32_t per_core = manager->topology->cpus_per_core;

	return manager->policy->cpu_options.full_pcpus_only && per_core ? per_core : 1;
}

/*
 * Of the containers with exclusive CPUs, the one that failed or the one with the most;
 * NULL = none.
 */
static const struct container_spec *cpu_container(const struct change_search *search, bool failed)
{
	const struct cpu_manager *manager = ledger_cpu_manager(search->ledger);
	const struct container_spec *most = NULL;

	for (uint32_t i = 0; i < search->spec->nr_containers; i++) {
		const struct container_spec *container = &search->spec->containers[i];

		if (!cpu_exclusive_count(manager, search->spec, search->qos, i))
			continue;
		if (failed && !strcmp(container->name, search->decision->container))
			return container;
		if (!failed && (!most || container->request.cpu_mcpu > most->request.cpu_mcpu))
			most = container;
	}
	return most;
}

static bool find_container_cpus(struct change_search *search,
				const struct container_spec *container)
{
	const struct decision *decision = search->decision;
	struct change change = {.kind = CHANGE_CONTAINER_CPUS};
	uint64_t was = cpus_of(&container->request), step = cpu_step(search), from = was;
	bool found = false;

	memcpy(change.container, container->name, sizeof(change.container));
	/* If the budget is the limit, its total says nothing about one container. */
	if (decision->cpu_result != CPU_EMPTY_POD_POOL)
		from = sub_saturating(was, missing_of(decision));
	allow_tries(search, TRIES_CPUS);
	if (was % step && was == bound_cpus(search, was) && find_more(search, &change, was, step)) {
		keep(search, &change);
		found = true;
	}
	if (find_less(search, &change, bound_cpus(search, from), was, step)) {
		keep(search, &change);
		found = true;
	}
	return found;
}

/* Try the container that failed and, if that does not help, the largest one. */
static void try_container_cpus(struct change_search *search)
{
	const struct container_spec *failed = cpu_container(search, true);
	const struct container_spec *largest = cpu_container(search, false);

	if (failed && find_container_cpus(search, failed))
		return;
	if (largest != failed)
		find_container_cpus(search, largest);
}

static void try_pod_cpus(struct change_search *search)
{
	const struct cpu_manager *manager = ledger_cpu_manager(search->ledger);
	const struct decision *decision = search->decision;
	struct change change = {.kind = CHANGE_POD_CPUS};
	uint64_t was = cpus_of(&search->spec->request), step = cpu_step(search);
	uint64_t missing = decision->container[0] ? missing_of(decision) : 1;
	bool is_short = decision->refusal == REFUSAL_POD_BUDGET ||
			!cpu_pod_pool_is_enough(manager, search->spec, search->qos);

	if (!search->is_bubble)
		return;
	allow_tries(search, TRIES_CPUS);
	/* If the budget is too small, the missing amount is only known for a container. */
	if ((is_short || was % step) && was == bound_cpus(search, was)) {
		if (find_more(search, &change, was + missing, step))
			keep(search, &change);
	}
	if (is_short)
		return;
	/* -1, an unknown number, is bounded like an immense one. */
	if (find_less(search, &change, bound_cpus(search, (uint64_t)decision->available), was,
		      step))
		keep(search, &change);
}

/* --- memory ----------------------------------------------------------------------------------- */

static uint64_t grain_of(uint64_t page_bytes)
{
	return page_bytes ? page_bytes : MEMORY_GRAIN;
}

static uint64_t asked(const struct resources *resources, uint64_t page_bytes)
{
	const int64_t *amount = change_amount((struct resources *)resources, page_bytes);

	return amount ? (uint64_t)*amount : 0;
}

static const struct container_spec *memory_container(const struct change_search *search,
						     uint64_t page_bytes, bool failed)
{
	const struct container_spec *most = NULL;

	for (uint32_t i = 0; i < search->spec->nr_containers; i++) {
		const struct container_spec *container = &search->spec->containers[i];
		uint64_t bytes = asked(&container->request, page_bytes);

		if (!bytes)
			continue;
		if (failed && !strcmp(container->name, search->decision->container))
			return container;
		if (!failed && (!most || bytes > asked(&most->request, page_bytes)))
			most = container;
	}
	return most;
}

/* The memory of a node that is neither granted nor in use according to the kernel. */
static uint64_t free_of(const struct ledger *ledger, uint32_t node, uint64_t page_bytes)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	uint32_t type = memory_find_type(manager, page_bytes);
	uint64_t free;

	if (type == manager->nr_types)
		return 0;
	free = ledger_memory_state(ledger)->nodes[node].free_bytes[type];
	if (manager->kernel_free_bytes[node][type] < free)
		return manager->kernel_free_bytes[node][type];
	return free;
}

#define MAX_SEEDS 8

/* Totals that may just fit, largest first: the limits are where a set of nodes is full. */
struct seeds {
	uint32_t nr;
	uint64_t values[MAX_SEEDS];
};

static void add_seed(struct seeds *seeds, uint64_t total, uint64_t rest, uint64_t was)
{
	uint64_t value = sub_saturating(total, rest);
	uint32_t at = 0;

	if (value >= was)
		return;
	while (at < seeds->nr && seeds->values[at] > value)
		at++;
	if ((at < seeds->nr && seeds->values[at] == value) || at == MAX_SEEDS)
		return;
	if (seeds->nr == MAX_SEEDS)
		seeds->nr--;
	memmove(&seeds->values[at + 1], &seeds->values[at],
		(seeds->nr - at) * sizeof(seeds->values[0]));
	seeds->values[at] = value;
	seeds->nr++;
}

static int compare_bytes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/*
 * Collect the request without what is missing per decision, the free memory of each
 * node, and the sums over the nodes with the most free memory.
 */
static void gather_seeds(const struct change_search *search, uint64_t page_bytes, uint64_t rest,
			 uint64_t was, struct seeds *seeds)
{
	const struct decision *decision = search->decision;
	const struct topology *topology = ledger_topology(search->ledger);
	uint64_t free[TOPOLOGY_MAX_NODES], sum = 0;

	add_seed(seeds, was, missing_of(decision), was);
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		free[i] = free_of(search->ledger, i, page_bytes);
	qsort(free, topology->nr_memory_nodes, sizeof(free[0]), compare_bytes);
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		sum += free[i];
		add_seed(seeds, free[i], rest, was);
		add_seed(seeds, sum, rest, was);
	}
}

/* `total` is the amount of which the change's container is a part; the rest stays unchanged. */
static bool find_less_memory(struct change_search *search, struct change *change, uint64_t was,
			     uint64_t total)
{
	uint64_t grain = grain_of(change->page_bytes);
	struct seeds seeds = {0};

	gather_seeds(search, change->page_bytes, sub_saturating(total, was), was, &seeds);
	for (uint32_t i = 0; i < seeds.nr; i++) {
		uint64_t value = change->page_bytes ? seeds.values[i] / grain * grain
						    : seeds.values[i];

		if (value && fits_with(search, change, value))
			return true;
	}
	for (uint64_t value = was / 2 / grain * grain; value; value = value / 2 / grain * grain) {
		if (fits_with(search, change, value))
			return true;
	}
	return false;
}

/* Compute how much an exhausted budget lacks. Returns false if the budget is not the limit. */
static bool find_budget_gap(const struct change_search *search, uint64_t *ret_missing)
{
	const struct memory_manager *manager = ledger_memory_manager(search->ledger);
	struct memory_shortage shortage;

	if (!memory_is_whole(manager, search->spec) ||
	    !memory_check_budget(manager, search->spec, &shortage))
		return false;
	*ret_missing = sub_saturating(shortage.wanted_bytes, shortage.available_bytes);
	return true;
}

/* Returns true if only the pod's budget matters, and not its containers. */
static bool try_pod_memory(struct change_search *search, uint64_t page_bytes)
{
	struct change change = {.kind = CHANGE_POD_MEMORY, .page_bytes = page_bytes};
	uint64_t was = asked(&search->spec->request, page_bytes);
	uint64_t missing;

	if (!memory_is_whole(ledger_memory_manager(search->ledger), search->spec))
		return false;
	allow_tries(search, TRIES_MEMORY);
	if (find_budget_gap(search, &missing)) {
		if (find_more(search, &change, was + (missing ? missing : 1), grain_of(page_bytes)))
			keep(search, &change);
		return false;
	}
	if (find_less_memory(search, &change, was, was))
		keep(search, &change);
	return true;
}

static bool find_container_memory(struct change_search *search, uint64_t page_bytes,
				  const struct container_spec *container)
{
	struct change change = {.kind = CHANGE_CONTAINER_MEMORY, .page_bytes = page_bytes};
	uint64_t was = asked(&container->request, page_bytes), missing;
	bool found;

	memcpy(change.container, container->name, sizeof(change.container));
	allow_tries(search, TRIES_MEMORY);
	if (find_budget_gap(search, &missing))
		found = find_less(search, &change, sub_saturating(was, missing), was,
				  grain_of(page_bytes));
	else
		found = find_less_memory(search, &change, was, (uint64_t)search->decision->wanted);
	if (found)
		keep(search, &change);
	return found;
}

static void try_memory(struct change_search *search, uint64_t page_bytes)
{
	const struct container_spec *failed = memory_container(search, page_bytes, true);
	const struct container_spec *largest = memory_container(search, page_bytes, false);

	if (try_pod_memory(search, page_bytes))
		return;
	if (failed && find_container_memory(search, page_bytes, failed))
		return;
	if (largest != failed)
		find_container_memory(search, page_bytes, largest);
}

/* Try the page sizes that nodes have. */
static void try_page_sizes(struct change_search *search)
{
	const struct memory_manager *manager = ledger_memory_manager(search->ledger);
	struct change change = {.kind = CHANGE_PAGE_SIZE,
				.page_bytes = search->decision->page_bytes};

	if (!change.page_bytes)
		return;
	allow_tries(search, manager->nr_types);
	for (uint32_t type = 1; type < manager->nr_types; type++) {
		change.to_page_bytes = manager->page_bytes[type];
		if (change.to_page_bytes == change.page_bytes || !is_admitted_by(search, &change))
			continue;
		keep(search, &change);
		return;
	}
}

/* --- policy ----------------------------------------------------------------------------------- */

/* Try policies from the nearest to the loosest and keep the first that admits the pod. */
static void try_alignment(struct change_search *search)
{
	const struct policy *policy = ledger_policy(search->ledger);
	struct change change = {.kind = CHANGE_ALIGN_POLICY};

	allow_tries(search, ALIGN_NR);
	for (int align = (int)policy->align - 1; align > ALIGN_NONE; align--) {
		change.align = (enum align_policy)align;
		if (is_admitted_by(search, &change)) {
			keep(search, &change);
			break;
		}
	}
	change = (struct change){
		.kind = CHANGE_ALIGN_SCOPE,
		.scope = policy->scope == ALIGN_SCOPE_POD ? ALIGN_SCOPE_CONTAINER : ALIGN_SCOPE_POD,
	};
	if (is_admitted_by(search, &change))
		keep(search, &change);
}

static void try_other_rules(struct change_search *search)
{
	const struct policy *policy = ledger_policy(search->ledger);
	struct change cores = {.kind = CHANGE_ANY_CORES}, repaired = {.kind = CHANGE_REPAIRED};

	allow_tries(search, 2);
	if (search->decision->refusal == REFUSAL_SMT && is_admitted_by(search, &cores))
		keep(search, &cores);
	if (compatibility_is_kubelet(policy->compatibility) && is_admitted_by(search, &repaired))
		keep(search, &repaired);
}

/* --- departures ------------------------------------------------------------------------------- */

struct candidate {
	bool is_ending;
	uint64_t held; /* CPUs, or bytes of the memory that is short */
	const char *uid;
};

/* Ending pods first, then those that hold the least; by uid, so that the order is total. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->is_ending != y->is_ending)
		return x->is_ending ? -1 : 1;
	if (x->held != y->held)
		return x->held < y->held ? -1 : 1;
	return strcmp(x->uid, y->uid);
}

static uint64_t memory_held(const struct change_search *search, const struct ledger_pod *pod)
{
	const struct memory_manager *manager = ledger_memory_manager(search->ledger);
	const struct memory_blocks *blocks = pod->memory;
	uint64_t sum = 0;

	for (uint32_t type = 0; blocks && type < manager->nr_types; type++) {
		if (manager->page_bytes[type] != search->decision->page_bytes)
			continue;
		sum = blocks->pod.present ? blocks->pod.bytes[type] : 0;
		for (uint32_t i = 0; i < blocks->nr && !blocks->pod.present; i++)
			sum += blocks->containers[i].present ? blocks->containers[i].bytes[type]
							     : 0;
	}
	return sum;
}

/*
 * List the pods whose removal could help. A pod that holds nothing matters only for the
 * last shared CPU.
 */
static uint32_t list_candidates(const struct change_search *search, struct candidate *candidates)
{
	const struct decision *decision = search->decision;
	uint64_t missing = missing_of(decision);
	bool anyone = decision->refusal == REFUSAL_LAST_SHARED_CPU;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(search->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(search->ledger, i);
		uint64_t held = decision->is_memory ? memory_held(search, pod)
						    : cpuset_count(pod->held);

		if ((held || anyone || decision->is_both) && (held >= missing || anyone) &&
		    strcmp(pod->spec->uid, search->spec->uid))
			candidates[nr++] =
				(struct candidate){pod->state == POD_ENDING, held, pod->spec->uid};
	}
	return nr;
}

static void try_departures(struct change_search *search)
{
	uint32_t nr_pods = ledger_nr_pods(search->ledger), nr;
	struct candidate *candidates cleanup_free = NULL;

	if (!nr_pods)
		return;
	candidates = calloc(nr_pods, sizeof(*candidates));
	if (!candidates) {
		search->error = -ENOMEM;
		return;
	}
	nr = list_candidates(search, candidates);
	qsort(candidates, nr, sizeof(candidates[0]), compare_candidates);
	allow_tries(search, TRIES_DEPARTURES);
	for (uint32_t i = 0; i < nr; i++) {
		struct change change = {.kind = CHANGE_POD_LEAVES};

		snprintf(change.uid, sizeof(change.uid), "%s", candidates[i].uid);
		if (is_admitted_by(search, &change)) {
			keep(search, &change);
			return;
		}
	}
}

/* --- all changes ------------------------------------------------------------------------------ */

/* Try smaller and larger amounts of the request, nearest first. */
static void try_amounts(struct change_search *search)
{
	const struct decision *decision = search->decision;

	if (decision->is_memory)
		try_memory(search, decision->page_bytes);
	if (decision->is_memory && !decision->is_both)
		return try_page_sizes(search);
	try_pod_cpus(search);
	/* A bubble is the pod's budget; its containers matter only if it is too small for them. */
	if (!search->is_bubble || decision->refusal == REFUSAL_POD_BUDGET ||
	    !cpu_pod_pool_is_enough(ledger_cpu_manager(search->ledger), search->spec, search->qos))
		try_container_cpus(search);
}

int suggest_changes(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision)
{
	struct change_search *search cleanup_free = calloc(1, sizeof(*search));

	if (!search)
		return -ENOMEM;
	search->ledger = ledger;
	search->spec = spec;
	search->qos = pod_qos(spec);
	search->decision = decision;
	search->is_bubble = cpu_is_bubble_pod(ledger_cpu_manager(ledger), spec, search->qos);
	try_amounts(search);
	if (decision->refusal == REFUSAL_TOPOLOGY)
		try_alignment(search);
	try_other_rules(search);
	try_departures(search);
	if (search->error || !search->nr_found)
		return search->error;
	decision->change = search->found[0];
	snprintf(decision->suggestion, sizeof(decision->suggestion), "%s", search->found[0].text);
	decision->nr_others = search->nr_found - 1;
	memcpy(decision->others, search->found + 1,
	       decision->nr_others * sizeof(decision->others[0]));
	return 0;
}
