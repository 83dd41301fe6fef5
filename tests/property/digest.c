// SPDX-License-Identifier: Apache-2.0
/* A hash of everything that a reader of the ledger can see, to detect changes. */
#include "property.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15;
	return hash ^ (hash >> 32);
}

static uint64_t mix_words(uint64_t hash, const uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		hash = mix(hash, words[i]);
	return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = mix(hash, (unsigned char)*text);
	return mix(hash, 0);
}

/* Equal sets may have different nr_words. */
static uint64_t mix_set(uint64_t hash, const struct cpuset *set)
{
	uint32_t nr = set->nr_words;

	while (nr && !set->words[nr - 1])
		nr--;
	return mix(mix_words(hash, set->words, nr), nr);
}

static uint64_t mix_share(uint64_t hash, const struct memory_share *share)
{
	hash = mix(hash, share->present);
	if (!share->present || !share->types)
		return hash;
	hash = mix(mix(hash, share->nodes), share->types);
	for (uint32_t type = 0; type < MEMORY_MAX_TYPES; type++)
		hash = mix(hash, share->types >> type & 1 ? share->bytes[type] : 0);
	return hash;
}

uint64_t pod_digest(const struct ledger_pod *pod)
{
	uint64_t hash = mix_text(1, pod->spec->uid);

	hash = mix(hash, (uint64_t)pod->qos << 1 | pod->has_bubble);
	hash = mix_set(mix_set(hash, pod->held), pod->bubble);
	hash = mix_set(hash, pod->bubble_baseline);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];

		hash = mix_text(hash, grant->container);
		hash = mix(hash, (uint64_t)grant->isolation << 4 | grant->kind);
		hash = mix(mix_set(hash, grant->cpus), grant->mems);
		hash = mix_set(hash, grant->baseline);
	}
	if (!pod->memory)
		return hash;
	hash = mix_share(hash, &pod->memory->pod);
	for (uint32_t i = 0; i < pod->memory->nr; i++)
		hash = mix_share(hash, &pod->memory->containers[i]);
	return hash;
}

uint64_t ledger_digest(const struct ledger *ledger)
{
	const struct memory_manager *memory = ledger_memory_manager(ledger);
	const struct memory_state *state = ledger_memory_state(ledger);
	uint64_t hash = mix_set(1, ledger_shared_pool(ledger));

	hash = mix_set(hash, ledger_reserved(ledger));
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);

		hash = mix(mix(hash, pod_digest(pod)), pod->state);
		hash = mix_text(hash, pod->detail);
	}
	if (ledger_policy(ledger)->memory != MEMORY_POLICY_STATIC)
		return hash;
	for (uint32_t i = 0; i < memory->topology->nr_memory_nodes; i++) {
		const struct memory_node *node = &state->nodes[i];

		hash = mix(mix(hash, node->nr_assignments), node->cells);
		hash = mix_words(hash, node->free_bytes, memory->nr_types);
	}
	return hash;
}
