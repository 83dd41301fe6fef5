// SPDX-License-Identifier: Apache-2.0
/*
 * A configuration against the machine: mode, policy, reservations, and whether the
 * ledger could be made at all. And against this version: what it cannot do yet.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/admit.h"
#include "core/ledger/ledger.h"
#include "format/config.h"

/* In mode guard, others decide; so somebody has to say what they decided. */
static int check_mode(const struct config *config, char *error, size_t error_size)
{
	const char *problem = NULL;

	if (config->mode != MODE_GUARD)
		return 0;
	if (!*config->sources.kubelet_directory)
		problem = "sources.kubeletDirectory is empty: mode guard takes the kubelet's state "
			  "files as its plan; set the directory, or use mode: observe";
	else if (*config->sources.nri)
		problem =
			"sources.nri is set: mode guard allocates nothing; remove sources.nri, or "
			"use mode: allocate";
	if (!problem)
		return 0;
	snprintf(error, error_size, "%s", problem);
	return -EINVAL;
}

const char *config_unbuilt_mode(const struct config *config)
{
	if (config->mode != MODE_GUARD || config_repairs_kubelet(config))
		return NULL;
	return "mode guard only reports unless enforcement.kubelet is repair: a change that does "
	       "not come from the kubelet or its runtime is neither denied nor reverted";
}

void config_list_unbuilt(const struct config *config,
			 struct config_unbuilt ret_options[CONFIG_UNBUILT_NR])
{
	const struct {
		bool is_asked;
		enum finding finding;
		const char *option;
	} options[] = {
		{*config->sources.nri && config->mode == MODE_OBSERVE, FINDING_NRI_NOT_BUILT,
		 "sources.nri in mode observe"},
		{config->runtime_writes == RUNTIME_WRITES_DENY, FINDING_RUNTIME_WRITES_NOT_BUILT,
		 "runtimeWrites: deny"},
		{config->enforcement.kubelet == KUBELET_REPAIR && config->mode != MODE_GUARD,
		 FINDING_KUBELET_REPAIR_NOT_BUILT,
		 "enforcement.kubelet: repair without mode guard"},
	};

	_Static_assert(ARRAY_SIZE(options) == CONFIG_UNBUILT_NR, "one for each");
	for (size_t i = 0; i < CONFIG_UNBUILT_NR; i++) {
		ret_options[i].is_asked = options[i].is_asked;
		ret_options[i].finding = options[i].finding;
		snprintf(ret_options[i].message, sizeof(ret_options[i].message),
			 "%s has no effect in this version", options[i].option);
	}
}

/* --- reservedMemory --------------------------------------------------------------------------- */

static uint64_t known(int64_t bytes)
{
	return bytes > 0 ? (uint64_t)bytes : 0;
}

static uint64_t eviction_bytes(const struct config *config, const struct topology *topology)
{
	const uint32_t thousandths = config->eviction_memory.percent_thousandths;
	uint64_t capacity = 0;

	if (!thousandths)
		return known(config->eviction_memory.bytes);
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		capacity += topology->memory_nodes[i].memory_bytes;
	/* In single precision and cut off, as the kubelet has it. */
	return (uint64_t)((double)capacity * (double)((float)(thousandths / 1000.0) / 100.0F));
}

/* What Node Allocatable takes off, by type; memory first. */
#define MAX_AMOUNTS (1 + 2 * POD_MAX_HUGEPAGES)

static void add_hugepages(const struct resources *reserved, struct memory_amount *amounts,
			  uint32_t *nr)
{
	for (uint32_t i = 0; i < reserved->nr_hugepages; i++)
		amounts[(*nr)++] =
			(struct memory_amount){.page_bytes = reserved->hugepages[i].size_bytes,
					       .bytes = known(reserved->hugepages[i].bytes)};
}

static int check_reserved_memory(const struct config *config, const struct topology *topology,
				 char *error, size_t error_size)
{
	const struct policy *policy = &config->policy;
	const uint64_t kube = known(config->kube_reserved.memory_bytes);
	const uint64_t system = known(config->system_reserved.memory_bytes);
	const uint64_t eviction = eviction_bytes(config, topology);
	struct memory_amount amounts[MAX_AMOUNTS] = {{0, kube + system + eviction}};
	uint32_t node_ids[TOPOLOGY_MAX_NODES], nr = 1;
	char sentence[256] = "";

	if (policy->memory != MEMORY_POLICY_STATIC)
		return 0;
	add_hugepages(&config->kube_reserved, amounts, &nr);
	add_hugepages(&config->system_reserved, amounts, &nr);
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		node_ids[i] = topology->memory_nodes[i].id;
	if (!memory_check_reservations(policy->memory_reservations, policy->nr_memory_reservations,
				       node_ids, topology->nr_memory_nodes, amounts, nr, sentence,
				       sizeof(sentence)))
		return 0;
	snprintf(error, error_size,
		 "reservedMemory: %s; the sum over all NUMA nodes must be kubeReserved + "
		 "systemReserved, for memory plus evictionHard memory.available (%llu + %llu + "
		 "%llu bytes)",
		 sentence, (unsigned long long)kube, (unsigned long long)system,
		 (unsigned long long)eviction);
	return -EINVAL;
}

/* --- without allocating ----------------------------------------------------------------------- */

/*
 * An agent that does not allocate grants no CPUs, so it need not know which ones to keep for the
 * system. Without this it would need a configuration file.
 */
static void relax_policy(const struct config *config, struct policy *policy)
{
	if (config->mode != MODE_ALLOCATE && policy->cpu == CPU_POLICY_STATIC &&
	    !policy_reserved_count(policy))
		policy->cpu = CPU_POLICY_NONE;
}

/* --- container runtimes ---------------------------------------------------------------------- */

static int check_runtime(const struct config *config, const struct policy *policy, char *error,
			 size_t error_size)
{
	char sentence[256] = "";

	if (config->mode != MODE_ALLOCATE || !config_has_runtime(config))
		return 0;
	if (*config->sources.nri && config->sources.kubepods) {
		snprintf(
			error, error_size,
			"sources.nri and sources.kubepods are both set: each decides the CPUs of the "
			"same containers; remove sources.kubepods if the runtime has NRI, otherwise "
			"sources.nri");
		return -EINVAL;
	}
	if (config->sources.kubepods && !*config->sources.runtime_state_directory) {
		snprintf(
			error, error_size,
			"sources.runtimeStateDirectory is empty: sources.kubepods reads the names and "
			"requests of containers there; set it, or remove sources.kubepods");
		return -EINVAL;
	}
	if (!container_check_policy(policy, sentence, sizeof(sentence)))
		return 0;
	snprintf(error, error_size, "%s: %s",
		 *config->sources.nri ? "sources.nri" : "sources.kubepods", sentence);
	return -EINVAL;
}

/* --- the whole -------------------------------------------------------------------------------- */

int config_check(const struct config *config, const struct topology *topology,
		 const struct cpuset *special, struct policy *ret_policy, char *error,
		 size_t error_size)
{
	struct policy *policy cleanup_free = malloc(sizeof(*policy));
	struct ledger *ledger cleanup_ledger = NULL;
	int r;

	if (!policy)
		return -ENOMEM;
	*policy = config->policy;
	policy_exclude(policy, special);
	relax_policy(config, policy);
	r = check_mode(config, error, error_size);
	if (!r)
		r = policy_check(policy, topology, error, error_size);
	if (!r)
		r = check_reserved_memory(config, topology, error, error_size);
	if (!r)
		r = check_runtime(config, policy, error, error_size);
	if (!r)
		r = ledger_new(topology, policy, error, error_size, &ledger);
	if (!r)
		*ret_policy = *policy;
	return r;
}
