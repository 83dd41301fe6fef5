// SPDX-License-Identifier: Apache-2.0
/*
 * Writing down how nodes were chosen. Runs after the choice and beside it: the
 * hints are listed again here, because deciding does not list all of them.
 */
#include "core/account.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit_private.h"
#include "core/quantity.h"

const char *account_opinion_name(enum account_opinion opinion)
{
	static const char *const names[] = {
		[ACCOUNT_NO_OPINION] = "any nodes will do",
		[ACCOUNT_IMPOSSIBLE] = "no nodes will do",
		[ACCOUNT_KEEPS] = "keeps its nodes",
		[ACCOUNT_HINTS] = "hints",
	};

	_Static_assert(ARRAY_SIZE(names) == ACCOUNT_OPINION_NR, "a name for each opinion");
	return names[opinion];
}

static void list_hints(struct account_provider *provider, const struct hint *hints, uint32_t nr,
		       bool preferred)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (hints[i].preferred != preferred)
			continue;
		provider->nr_preferred += preferred;
		if (provider->nr_listed < ACCOUNT_MAX_HINTS)
			provider->hints[provider->nr_listed++] = hints[i];
	}
}

static void fill_hints(struct account_provider *provider, const struct hint *hints, uint32_t nr)
{
	provider->opinion = nr ? ACCOUNT_HINTS : ACCOUNT_IMPOSSIBLE;
	provider->nr_hints = nr;
	list_hints(provider, hints, nr, true);
	list_hints(provider, hints, nr, false);
}

static int account_cpus(const struct topology *topology, const struct cpu_offer *offer,
			struct account_provider *provider)
{
	struct hint *hints cleanup_free = NULL;
	uint32_t nr = 0;
	int r;

	*provider = (struct account_provider){.wanted = -1, .is_exact = true};
	snprintf(provider->resource, sizeof(provider->resource), "cpu");
	if (offer->opinion == CPU_NO_OPINION)
		return 0;
	provider->opinion = ACCOUNT_IMPOSSIBLE;
	if (offer->opinion == CPU_IMPOSSIBLE)
		return 0;
	r = cpu_offer_list(offer, &hints, &nr);
	if (r)
		return r;
	for (uint32_t i = 0; i < nr; i++)
		hints[i].nodes = place_all_nodes(topology, hints[i].nodes);
	provider->wanted = offer->request;
	provider->is_exact = topology->nodes.nr <= CPU_LIST_NODES;
	fill_hints(provider, hints, nr);
	return 0;
}

static void account_unknown_pages(const struct memory_offer *offer, struct account *account)
{
	struct account_provider *provider = &account->providers[account->nr_providers++];
	char size[24];

	*provider = (struct account_provider){
		.opinion = ACCOUNT_IMPOSSIBLE,
		.wanted = (int64_t)offer->request.unknown_bytes,
		.is_bytes = true,
		.is_exact = true,
	};
	quantity_format_binary(offer->request.unknown_page_bytes, size, sizeof(size));
	snprintf(provider->resource, sizeof(provider->resource), "hugepages-%s", size);
}

/* Every type has the same hints, each is a list of its own to the merge. */
static int account_memory(const struct memory_offer *offer, struct account *account)
{
	const struct memory_manager *manager = offer->manager;
	struct hint *hints cleanup_free = NULL;
	uint32_t nr = 0;
	int r = memory_offer_list(offer, &hints, &nr);

	for (uint32_t type = 0; type < manager->nr_types && !r; type++) {
		struct account_provider *provider = &account->providers[account->nr_providers];

		if (!(offer->request.types >> type & 1))
			continue;
		*provider = (struct account_provider){
			.wanted = (int64_t)offer->request.bytes[type],
			.is_bytes = true,
			.is_exact = manager->topology->nr_memory_nodes <= MEMORY_EXACT_NODES,
		};
		memory_type_name(manager, type, provider->resource, sizeof(provider->resource));
		if (offer->opinion == MEMORY_OFFERS) {
			fill_hints(provider, hints, nr);
		} else if (offer->opinion == MEMORY_KEEPS) {
			fill_hints(provider, &offer->kept, 1);
			provider->opinion = ACCOUNT_KEEPS;
		} else if (offer->opinion == MEMORY_IMPOSSIBLE) {
			provider->opinion = ACCOUNT_IMPOSSIBLE;
		}
		account->nr_providers++;
	}
	if (offer->request.is_unknown)
		account_unknown_pages(offer, account);
	return r;
}

int account_alignment(const struct placing *placing, const struct cpu_offer *cpu,
		      const struct memory_offer *memory, const struct alignment *alignment,
		      uint32_t container)
{
	const struct topology *topology = ledger_topology(placing->ledger);
	uint32_t index = container == UINT32_MAX ? 0 : container * placing->account_stride;
	struct account *account = &placing->accounts[index];
	int r;

	account->is_aligned = true;
	account->container = container;
	account->policy = ledger_policy(placing->ledger)->align;
	account->merged = *alignment;
	account->nr_providers = 1;
	r = account_cpus(topology, cpu, &account->providers[0]);
	if (r)
		return r;
	if (account->providers[0].wanted > 0)
		account->providers[0].wanted =
			cpu_asked(placing->pod->spec, container, cpu->request);
	return account_memory(memory, account);
}

static bool has_same_grants(const struct ledger_pod *a, const struct ledger_pod *b)
{
	for (uint32_t i = 0; i < a->nr_grants; i++) {
		if (a->grants[i].isolation != b->grants[i].isolation ||
		    a->grants[i].mems != b->grants[i].mems ||
		    !cpuset_equal(&a->grants[i].cpus, &b->grants[i].cpus))
			return false;
	}
	return cpuset_equal(&a->held, &b->held);
}

int explain_grant(struct ledger *ledger, const char *uid, struct account *accounts, bool *ret_same)
{
	const struct ledger_pod *pod = ledger_find(ledger, uid);
	struct decision *decision cleanup_free = malloc(sizeof(*decision));
	struct pod_spec *spec cleanup_pod_spec = NULL;
	struct ledger_pod was;
	struct grant *grants cleanup_free = NULL;
	int r;

	if (!pod)
		return -ENOENT;
	/* Removing it frees what it points to: the ledger's own copy comes back on abort only. */
	was = *pod;
	spec = pod_spec_copy(pod->spec);
	grants = calloc(was.nr_grants, sizeof(*grants));
	if (!decision || !spec || !grants)
		return -ENOMEM;
	memcpy(grants, pod->grants, was.nr_grants * sizeof(*grants));
	was.grants = grants;
	memset(accounts, 0, was.nr_grants * sizeof(*accounts));
	r = ledger_begin(ledger);
	if (r)
		return r;
	r = admit_place_accounted(ledger, spec, decision, accounts, 1);
	if (!r)
		*ret_same = decision->admitted &&
			    has_same_grants(&was, ledger_find(ledger, spec->uid));
	ledger_abort(ledger);
	return r;
}
