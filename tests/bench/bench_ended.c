// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What each publication costs of keeping the counters of containers that have ended: on a node with
 * 750 containers that go on and 1,000 pods of which one has ended, which is four times the pods of a
 * full node; and if all 750 end at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/fake_world.h"
#include "bench.h"
#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "lib/log.h"

#define NR_PODS	      1000
#define NR_CONTAINERS 750

static struct controller controller;

static int add_pods(void)
{
	int r = ledger_begin(controller.ledger);

	for (uint32_t i = 0; i < NR_PODS && !r; i++) {
		char uid[40];
		struct pod_spec *spec;

		snprintf(uid, sizeof(uid), "%06u", i);
		spec = fake_pod(uid, "main", 100, false);
		if (!ledger_new_pod(controller.ledger, spec))
			r = -ENOMEM;
		pod_spec_free(spec);
	}
	if (!r)
		ledger_commit(controller.ledger);
	return r;
}

static uint64_t number_of(uint32_t pod)
{
	return ctl_pod_number(ledger_pod_at(controller.ledger, pod)->spec->uid);
}

/* The containers of the last look, each with counters. */
static void look(uint32_t first_pod, uint32_t nr)
{
	struct counters *counters = &controller.counters;

	for (uint32_t i = 0; i < nr; i++)
		counters->rows[i] = (struct counted){.cgroup_id = 2 * i + 1,
						     .pod = number_of((first_pod + i) % NR_PODS),
						     .has_usage = true,
						     .has_latency = true};
	counters->nr = nr;
}

static void publish(uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		controller.publisher.rows[i].managed.cgroup_id = 2 * (nr - i) - 1;
	controller.publisher.nr = nr;
}

static void keep(void *arg)
{
	ctl_keep_ended(&controller);
}

/* As a look makes them, and then none is published any more. */
static void end_all(void *arg)
{
	look(0, NR_CONTAINERS);
	publish(0);
	ctl_keep_ended(&controller);
}

static int make_stage(void)
{
	static struct policy policy = {.cpu = CPU_POLICY_STATIC};
	struct topology *topology = fake_machine(2, 32, 2);
	char error[256] = "";
	int r;

	policy.reserved_mcpu = 4000;
	r = ledger_new(topology, &policy, error, sizeof(error), &controller.ledger);
	if (!r)
		r = add_pods();
	controller.counters.rows = calloc(NR_PODS, sizeof(struct counted));
	controller.publisher.rows = calloc(NR_CONTAINERS, sizeof(struct published));
	if (!controller.counters.rows || !controller.publisher.rows)
		return -ENOMEM;
	return r;
}

int main(void)
{
	int r;

	log_open("bench", LOG_LEVEL_WARN);
	r = make_stage();
	if (r)
		return log_err(r, "bench: ended") ? 1 : 0;
	look(0, NR_PODS);
	keep(NULL);
	look(0, NR_CONTAINERS);
	publish(NR_CONTAINERS);
	keep(NULL);
	if (controller.ended.nr != NR_PODS)
		return log_err(-ENODATA, "bench: ended") ? 1 : 0;
	bench_run("ended_keep", "{\"containers\": 750, \"kept\": 1000, \"ended\": 0}", keep, NULL);
	bench_run("ended_keep", "{\"containers\": 750, \"kept\": 1000, \"ended\": 750}", end_all,
		  NULL);
	return 0;
}
