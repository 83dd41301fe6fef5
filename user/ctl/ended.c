// SPDX-License-Identifier: Apache-2.0
#include "ctl/ended.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "lib/log.h"

void ended_fini(struct ended_pods *ended)
{
	free(ended->rows);
	*ended = (struct ended_pods){0};
}

void ended_add_usage(struct usage *sum, const struct usage *usage)
{
	sum->run_local_ns += usage->run_local_ns;
	sum->run_remote_ns += usage->run_remote_ns;
	sum->run_outside_ns += usage->run_outside_ns;
	sum->preemptions += usage->preemptions;
	sum->migrations_thread += usage->migrations_thread;
	sum->migrations_core += usage->migrations_core;
	sum->migrations_llc += usage->migrations_llc;
	sum->migrations_numa += usage->migrations_numa;
}

static struct ended_pod *find(const struct ended_pods *ended, uint64_t pod)
{
	for (uint32_t i = 0; i < ended->nr; i++)
		if (ended->rows[i].pod == pod)
			return &ended->rows[i];
	return NULL;
}

/* The row of a pod, which is added if there is none. NULL = no memory. */
static struct ended_pod *row_of(struct ended_pods *ended, uint64_t pod)
{
	struct ended_pod *found = find(ended, pod);

	if (found)
		return found;
	if (ended->nr == ended->max) {
		const uint32_t max = ended->max ? 2 * ended->max : 8;
		struct ended_pod *rows = realloc(ended->rows, max * sizeof(*rows));

		if (!rows)
			return NULL;
		ended->rows = rows;
		ended->max = max;
	}
	found = &ended->rows[ended->nr++];
	*found = (struct ended_pod){.pod = pod};
	return found;
}

static bool is_in_ledger(const struct ledger *ledger, uint64_t pod)
{
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
		if (ctl_pod_number(ledger_pod_at(ledger, i)->spec->uid) == pod)
			return true;
	return false;
}

static void drop_released(struct ended_pods *ended, const struct ledger *ledger)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ended->nr; i++)
		if (is_in_ledger(ledger, ended->rows[i].pod))
			ended->rows[nr++] = ended->rows[i];
	ended->nr = nr;
}

static bool is_published(const struct publisher *publisher, uint64_t cgroup_id)
{
	for (uint32_t i = 0; i < publisher->nr; i++)
		if (publisher->rows[i].managed.cgroup_id == cgroup_id)
			return true;
	return false;
}

void ctl_keep_ended(struct controller *controller)
{
	struct counters *counters = &controller->counters;
	struct ended_pods *ended = &controller->ended;

	for (uint32_t i = 0; i < counters->nr; i++) {
		struct counted *counted = &counters->rows[i];
		struct ended_pod *row;

		if (!counted->has_latency ||
		    is_published(&controller->publisher, counted->cgroup_id))
			continue;
		row = row_of(ended, counted->pod);
		if (row) {
			ended_add_usage(&row->usage, &counted->usage);
			latency_add(&row->latency, &counted->latency);
		} else {
			log_err(-ENOMEM, "ctl: the counters of a pod go back by those of a "
					 "container that has ended");
		}
		/* It is added once. */
		counted->has_usage = counted->has_latency = false;
	}
	drop_released(ended, controller->ledger);
}

const struct ended_pod *ctl_ended(const struct controller *controller, const char *uid)
{
	return controller->ended.nr ? find(&controller->ended, ctl_pod_number(uid)) : NULL;
}
