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

static int by_pod(const void *left, const void *right)
{
	const struct ended_pod *a = left, *b = right;

	return (a->pod > b->pod) - (a->pod < b->pod);
}

static struct ended_pod *find(const struct ended_pods *ended, uint64_t pod)
{
	const struct ended_pod wanted = {.pod = pod};

	return ended->nr ? bsearch(&wanted, ended->rows, ended->nr, sizeof(*ended->rows), by_pod)
			 : NULL;
}

/* A row behind the others, with a pod that another one may have already. NULL = no memory. */
static struct ended_pod *append(struct ended_pods *ended, uint64_t pod)
{
	struct ended_pod *added;

	if (ended->nr == ended->max) {
		const uint32_t max = ended->max ? 2 * ended->max : 8;
		struct ended_pod *rows = realloc(ended->rows, max * sizeof(*rows));

		if (!rows)
			return NULL;
		ended->rows = rows;
		ended->max = max;
	}
	added = &ended->rows[ended->nr++];
	*added = (struct ended_pod){.pod = pod};
	return added;
}

/* Sort the rows, and make one of those of one pod. */
static void unite(struct ended_pods *ended)
{
	uint32_t nr = 0;

	if (ended->nr)
		qsort(ended->rows, ended->nr, sizeof(*ended->rows), by_pod);
	for (uint32_t i = 0; i < ended->nr; i++) {
		if (!nr || ended->rows[nr - 1].pod != ended->rows[i].pod) {
			ended->rows[nr++] = ended->rows[i];
			continue;
		}
		ended_add_usage(&ended->rows[nr - 1].usage, &ended->rows[i].usage);
		latency_add(&ended->rows[nr - 1].latency, &ended->rows[i].latency);
	}
	ended->nr = nr;
}

static void drop_released(struct ended_pods *ended, const struct ledger *ledger)
{
	uint32_t nr = 0;

	if (!ended->nr)
		return;
	for (uint32_t i = 0; i < ended->nr; i++)
		ended->rows[i].is_in_ledger = false;
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		struct ended_pod *found =
			find(ended, ctl_pod_number(ledger_pod_at(ledger, i)->spec->uid));

		if (found)
			found->is_in_ledger = true;
	}
	for (uint32_t i = 0; i < ended->nr; i++)
		if (ended->rows[i].is_in_ledger)
			ended->rows[nr++] = ended->rows[i];
	ended->nr = nr;
}

static void mark_published(struct counters *counters, const struct publisher *publisher)
{
	for (uint32_t i = 0; i < counters->nr; i++)
		counters->rows[i].is_published = false;
	for (uint32_t i = 0; i < publisher->nr; i++) {
		struct counted *found =
			counters_find(counters, publisher->rows[i].managed.cgroup_id);

		if (found)
			found->is_published = true;
	}
}

/*
 * A runtime's container yields its slot to one of ours, and is published nevertheless. Without want of
 * slots nobody does, and then none of them is read.
 */
static void mark_without_slot(const struct controller *controller, struct counters *counters)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	struct observer_space space;

	if (!kernel || kernel->observer_space(kernel->self, &space) || !space.nr_unmeasured)
		return;
	for (uint32_t i = 0; i < counters->nr; i++) {
		struct counted *row = &counters->rows[i];
		struct latency latency;

		if (row->has_latency && row->is_published &&
		    kernel->latency(kernel->self, row->cgroup_id, &latency) == -ENOENT)
			row->is_published = false;
	}
}

/* Called with each publication, on nodes with a thousand pods: nothing here is searched row by row. */
void ctl_keep_ended(struct controller *controller)
{
	struct counters *counters = &controller->counters;
	struct ended_pods *ended = &controller->ended;
	const uint32_t nr_before = ended->nr;
	struct ended_pods before;

	mark_published(counters, &controller->publisher);
	mark_without_slot(controller, counters);
	for (uint32_t i = 0; i < counters->nr; i++) {
		struct counted *counted = &counters->rows[i];
		struct ended_pod *row;

		if (!counted->has_latency || counted->is_published)
			continue;
		/* those that were appended are not sorted yet */
		before = (struct ended_pods){.nr = nr_before, .rows = ended->rows};
		row = find(&before, counted->pod);
		if (!row)
			row = append(ended, counted->pod);
		if (row) {
			ended_add_usage(&row->usage, &counted->usage);
			latency_add(&row->latency, &counted->latency);
		} else {
			log_err(-ENOMEM, "ctl: cannot keep the counters of a container that "
					 "has ended, so those of its pod decrease");
		}
		/* It is added once. */
		counted->has_usage = counted->has_latency = false;
	}
	if (ended->nr > nr_before)
		unite(ended);
	drop_released(ended, controller->ledger);
}

const struct ended_pod *ctl_ended(const struct controller *controller, const char *uid)
{
	return find(&controller->ended, ctl_pod_number(uid));
}
