// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What it costs to add a sample to the history of 250 pods with one container each: the pass over
 * all of them as the agent makes it every two seconds, without reading the counters of the kernel;
 * and to read the 24 hours of one. All minutes are kept already, so that no memory is new.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "lib/log.h"

#define NR_PODS	  250
#define NR_GROUPS (2 * NR_PODS)
#define SECOND_NS 1000000000ULL
/* Every pass costs the same, so a day of passes that are a minute apart fills the rings. */
#define NR_FILL 1441

static const struct topology topology = {.nodes.nr = 8};
static struct controller controller = {.topology = &topology};
static uint64_t now_ns = 100 * SECOND_NS;
static struct pressure_reading readings[PRESSURE_RING_MINUTES + 1];

static uint64_t tell_time(void *self)
{
	return now_ns;
}

/* Counters that grow with the time. */
static int tell_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	*ret_usage = (struct usage){.run_local_ns = now_ns / 3, .run_remote_ns = now_ns / 5};
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		ret_usage->wait_ns[cause] = now_ns / (uint64_t)(cause + 7);
	return 0;
}

static const struct clock_port clock_port = {.now_ns = tell_time, .wall_ns = tell_time};
static int tell_no_latency(void *self, uint64_t cgroup_id, struct latency *ret_latency)
{
	return -ENOENT;
}

/* So the sums of the NUMA nodes, which the samples do not need, are left out. */
static int tell_no_space(void *self, struct observer_space *ret_space)
{
	return -ENODATA;
}

static const struct kernel_port kernel_port = {
	.usage = tell_usage, .latency = tell_no_latency, .observer_space = tell_no_space};

static int add_group(uint32_t number)
{
	const bool is_pod = number % 2 == 0;
	struct published *published = &controller.publisher.rows[number];
	struct pressure_track *track = calloc(1, sizeof(*track));
	char path[64];
	struct group *group;

	snprintf(path, sizeof(path), "pinfold.slice/pod%u%s", number / 2, is_pod ? "" : "/main");
	group = group_tree_add(&controller.measured.tree, is_pod ? GROUP_POD : GROUP_CONTAINER,
			       path);
	if (!track || !group)
		return -ENOMEM;
	snprintf(group->uid, sizeof(group->uid), "4e5c3a80-0000-4000-8000-%012u", number / 2);
	snprintf(group->container, sizeof(group->container), "%s", is_pod ? "" : "main");
	published->path = strdup(path);
	published->managed.cgroup_id = track->cgroup_id = number + 1;
	published->managed.is_container = !is_pod;
	track->state = PRESSURE_MEASURED;
	controller.pressures.tracks[number] = track;
	return published->path ? 0 : -ENOMEM;
}

static int make_groups(void)
{
	int r = 0;

	controller.ports.clock = &clock_port;
	controller.ports.kernel = &kernel_port;
	controller.publisher.rows = calloc(NR_GROUPS, sizeof(struct published));
	controller.pressures.tracks = calloc(NR_GROUPS, sizeof(struct pressure_track *));
	if (!controller.publisher.rows || !controller.pressures.tracks)
		return -ENOMEM;
	for (uint32_t i = 0; i < NR_GROUPS && !r; i++)
		r = add_group(i);
	controller.publisher.nr = controller.pressures.nr = NR_GROUPS;
	return r;
}

/* What the pass of the pressure leaves behind; it is not measured. */
static void update_pressure(void)
{
	struct pressure_row row = {.state = PRESSURE_MEASURED, .updated_ns = now_ns};

	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		row.total_ns[kind] = row.updated_total_ns[kind] = now_ns / (uint64_t)(kind + 2);
	for (uint32_t i = 0; i < NR_GROUPS; i++)
		pressure_history_add(&controller.pressures.tracks[i]->history, now_ns, &row);
}

static void pass(void *arg)
{
	now_ns += 2 * SECOND_NS;
	ctl_add_pressure_samples(&controller);
}

static void read_day(void *arg)
{
	const struct pressure_ring *ring = arg;

	pressure_ring_read(ring, PRESSURE_SPAN_24H, now_ns, readings);
}

static int fill(void)
{
	for (int i = 0; i < NR_FILL; i++) {
		now_ns += 56 * SECOND_NS;
		pass(NULL);
		pass(NULL);
	}
	/* As many points of the pressure's windows as a busy cgroup has. */
	for (int i = 0; i < 200; i++) {
		pass(NULL);
		update_pressure();
	}
	if (controller.samples.nr != NR_GROUPS)
		return -ENOMEM;
	read_day(&controller.samples.groups[1]->ring);
	return readings[PRESSURE_RING_MINUTES - 1].growth.usage_ns ? 0 : -ENODATA;
}

int main(void)
{
	int r;

	log_open("bench", LOG_LEVEL_WARN);
	r = make_groups();
	if (!r)
		r = fill();
	if (r)
		return log_err(r, "bench: history") ? 1 : 0;
	bench_run("history_pass", "{\"pods\": 250, \"containers\": 250}", pass, NULL);
	bench_run("history_read", "{\"span\": \"24h\"}", read_day,
		  &controller.samples.groups[1]->ring);
	return 0;
}
