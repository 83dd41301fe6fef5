// SPDX-License-Identifier: Apache-2.0
#include "bpf/noise_siblings.h"

#include <errno.h>
#include <stdlib.h>

/* --- threads of a core --------------------------------------------------------------------------- */

static const struct cpuset *core_of(const struct topology *topology, uint32_t cpu)
{
	return &topology->cores.cpus[topology->core_of[cpu]];
}

static uint32_t count_siblings(const struct topology *topology)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < topology->cores.nr; i++)
		if (topology->cores.nr_cpus[i] > most)
			most = topology->cores.nr_cpus[i];
	return most - 1 < NOISE_SIBLINGS_MAX ? most - 1 : NOISE_SIBLINGS_MAX;
}

static void find_others(struct noise_siblings *siblings, const struct topology *topology)
{
	for (uint32_t i = 0; i < siblings->nr_cpus * siblings->nr; i++)
		siblings->others[i] = NOISE_NO_CPU;
	cpuset_for_each (cpu, &topology->all) {
		uint32_t nr = 0;

		if (cpu >= siblings->nr_cpus)
			break;
		cpuset_for_each (other, core_of(topology, cpu))
			if (other != cpu && other < siblings->nr_cpus && nr < siblings->nr)
				siblings->others[cpu * siblings->nr + nr++] = other;
	}
}

int noise_siblings_init(struct noise_siblings *siblings, const struct topology *topology,
			uint32_t nr_cpus)
{
	*siblings = (struct noise_siblings){.nr_cpus = nr_cpus};
	if (topology)
		siblings->nr = count_siblings(topology);
	siblings->others = calloc((size_t)nr_cpus * siblings->nr + 1, sizeof(*siblings->others));
	siblings->shares = calloc(nr_cpus + 1, sizeof(*siblings->shares));
	if (!siblings->others || !siblings->shares) {
		noise_siblings_fini(siblings);
		return -ENOMEM;
	}
	if (topology)
		find_others(siblings, topology);
	return 0;
}

void noise_siblings_fini(struct noise_siblings *siblings)
{
	free(siblings->others);
	free(siblings->shares);
	*siblings = (struct noise_siblings){0};
}

/* --- whose they are ------------------------------------------------------------------------------ */

static bool is_foreign(const struct noise_owner *owners, uint32_t cpu, uint32_t other)
{
	return other != NOISE_NO_CPU &&
	       (!owners[other].epoch || owners[other].cgroup_id != owners[cpu].cgroup_id);
}

void noise_siblings_follow(struct noise_siblings *siblings, const struct noise_owner *owners,
			   uint32_t *number)
{
	for (uint32_t cpu = 0; cpu < siblings->nr_cpus; cpu++) {
		struct noise_share *share = &siblings->shares[cpu];
		uint32_t foreign = 0;

		for (uint32_t i = 0; owners[cpu].epoch && i < siblings->nr; i++)
			if (is_foreign(owners, cpu, siblings->others[cpu * siblings->nr + i]))
				foreign |= 1u << i;
		if (foreign == share->foreign && (!foreign || share->epoch == owners[cpu].epoch))
			continue;
		*share = (struct noise_share){
			.number = foreign ? ++*number : 0,
			.epoch = owners[cpu].epoch,
			.foreign = foreign,
		};
	}
}

uint32_t noise_siblings_index(const struct noise_siblings *siblings, uint32_t cpu, uint32_t i)
{
	const uint32_t sibling = siblings->others[cpu * siblings->nr + i];

	for (uint32_t j = 0; sibling != NOISE_NO_CPU && j < siblings->nr; j++)
		if (siblings->others[sibling * siblings->nr + j] == cpu)
			return sibling * siblings->nr + j;
	return NOISE_NO_CPU;
}

uint32_t noise_siblings_share(const struct noise_siblings *siblings, uint32_t index,
			      uint32_t *ret_cpu)
{
	const uint32_t cpu = siblings->others[index];

	if (cpu == NOISE_NO_CPU)
		return 0;
	*ret_cpu = cpu;
	for (uint32_t i = 0; i < siblings->nr; i++)
		if (siblings->shares[cpu].foreign >> i & 1 &&
		    noise_siblings_index(siblings, cpu, i) == index)
			return siblings->shares[cpu].number;
	return 0;
}

/* --- what is counted ----------------------------------------------------------------------------- */

static struct noise_entry with_open_stay(const struct noise_cpu *record, uint32_t at,
					 uint64_t owner_ns)
{
	struct noise_entry entry = record->entries[at];
	const int64_t ns = (int64_t)(owner_ns - record->since_ns);

	if (at != record->running || ns <= 0)
		return entry;
	entry.count++;
	entry.total_ns += (uint64_t)ns;
	if ((uint64_t)ns > entry.longest_ns)
		entry.longest_ns = (uint64_t)ns;
	return entry;
}

uint32_t noise_siblings_read(const struct noise_cpu *record, uint32_t sibling, uint64_t owner_ns,
			     struct noise_entry *ret_entries)
{
	uint32_t nr = 0;

	for (uint32_t at = 0; at < NOISE_ENTRIES; at++) {
		struct noise_entry entry = with_open_stay(record, at, owner_ns);

		if (entry.epoch != record->epoch || !entry.count || nr == NOISE_SIBLING_ENTRIES)
			continue;
		entry.by = (uint16_t)entry.source;
		entry.source = NOISE_SMT_SIBLING;
		entry.sibling = (uint16_t)sibling;
		ret_entries[nr++] = entry;
	}
	return nr;
}
