// SPDX-License-Identifier: Apache-2.0
/* The list of objects, in the order of the manual. */
#include "format/views.h"

#include <string.h>

/* clang-format off */
const struct object_desc *const view_descs[] = {
	&view_node_desc,
	&view_cpu_desc,
	&view_numa_desc,
	&view_pod_desc,
	&view_refusal_desc,
	&view_explain_desc,
	&view_container_desc,
	&view_placement_desc,
	&view_cpu_use_desc,
	&view_policy_desc,
	&view_drift_desc,
	&view_pressure_desc,
	&view_pressure_cpu_desc,
	&view_pressure_numa_desc,
	&view_pressure_second_desc,
	&view_history_desc,
	&view_latency_desc,
	&view_memory_desc,
	&view_process_memory_desc,
	&view_noise_desc,
	&view_irq_desc,
	&view_stranger_desc,
	&view_discovery_desc,
	&view_event_desc,
	&view_watch_desc,
	&view_feature_desc,
	&view_prog_desc,
	&view_map_desc,
	&view_guard_desc,
	&view_usage_desc,
	&view_cost_desc,
	&view_state_desc,
	&view_ledger_desc,
	&view_simulate_desc,
	&view_version_desc,
	&view_run_desc,
	&view_metric_desc,
	&view_budget_desc,
	&view_bundle_desc,
	NULL,
};
/* clang-format on */

const struct object_desc *view_find(const char *name)
{
	for (const struct object_desc *const *desc = view_descs; *desc; desc++) {
		if (!strcmp((*desc)->name, name))
			return *desc;
	}
	return NULL;
}
