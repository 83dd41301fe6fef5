// SPDX-License-Identifier: Apache-2.0
/*
 * pinfold, the inspector. It shows, explains and simulates. The few commands that change
 * anything are in the `changing` list of their noun.
 */
#include <stdio.h>

#include "inspect.h"

/* In the order of the manual. */
static const struct noun *const nouns[] = {
	&noun_node,
	&noun_cpu,
	&noun_numa,
	&noun_pod,
	&noun_container,
	&noun_policy,
	&noun_drift,
	&noun_pressure,
	&noun_latency,
	&noun_memory,
	&noun_noise,
	&noun_irq,
	&noun_stranger,
	&noun_discovery,
	&noun_event,
	&noun_feature,
	&noun_prog,
	&noun_topology,
	&noun_state,
	&noun_simulate,
	&noun_run,
	&noun_guard,
	&noun_metrics,
	&noun_bundle,
	&noun_schema,
	&noun_version,
	&noun_batch,
	&noun_help,
	NULL,
};

int main(int argc, char **argv)
{
	struct session session = {.nouns = nouns};

	setvbuf(stdout, NULL, _IOLBF, 0);
	return out_finish(&session, dispatch_line(&session, argc, argv));
}
