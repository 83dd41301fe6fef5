/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container of a runtime whose cgroup has CPUs 2 and 3, and a port that writes cpusets at once, or as
 * late as a test likes. Include it after cmocka.
 */
#ifndef TESTS_RUNTIME_REPAIR_SCENE_H
#define TESTS_RUNTIME_REPAIR_SCENE_H

#include <errno.h>

#include "ctl/internal.h"
#include "ctl/runtime_private.h"
#include "node_scene.h"

#define CGROUP "kubepods/poda/1"

static struct controller *controller;

/* A port that writes at once, or as late as the test likes. */
static struct {
	unsigned int nr_writes, nr_files, nr_cancels;
	int call_error; /* of a call that cannot begin */
	bool is_late, is_without_effect;
	int error;
	struct cpuset_write *rows; /* owned; of the call that is late */
	uint32_t nr_rows;
} port;

static struct {
	unsigned int nr_changes;
	char cpus[64]; /* of the last change */
} told;

static inline void end_writes(struct cpuset_write *rows, uint32_t nr)
{
	const struct cpuset_sink *sink = &controller_sinks(controller)->cpuset;
	char text[64];

	for (uint32_t i = 0; i < nr; i++) {
		struct fake_group *group = fake_find(rows[i].path);

		rows[i].result = port.error;
		port.nr_files++;
		if (port.error || port.is_without_effect)
			continue;
		assert_non_null(group);
		assert_int_equal(rows[i].cgroup_id, (uint64_t)(group - fake->groups) + 1);
		cpuset_format(&rows[i].value, text, sizeof(text));
		text_copy(group->files[rows[i].file], FAKE_VALUE, text);
	}
	sink->written(sink->self, rows, nr);
	free(rows);
}

static inline int write_cpusets(void *self, struct cpuset_write *rows, uint32_t nr)
{
	port.nr_writes++;
	if (port.call_error) {
		free(rows);
		return port.call_error;
	}
	if (port.is_late) {
		assert_null(port.rows);
		port.rows = rows;
		port.nr_rows = nr;
		return 0;
	}
	end_writes(rows, nr);
	return 0;
}

static inline void cancel(void *self)
{
	port.nr_cancels++;
}

static inline void where(void *self, char *text, size_t size)
{
	text_copy(text, size, "cpuset_write_resmask");
}

static inline int take_answer(void *self, uint32_t request, const struct runtime_answer *answer)
{
	for (uint32_t i = 0; i < answer->nr_changes; i++) {
		told.nr_changes++;
		text_copy(told.cpus, sizeof(told.cpus), answer->changes[i].cpus);
	}
	return 0;
}

static const struct cpuset_port cpuset_port = {
	.write = write_cpusets, .cancel = cancel, .waits_in = where};
static const struct runtime_port runtime_port = {.answer = take_answer};

/* The runtime creates a container with this many CPUs of its own, or one that shares if there are none. */
static inline void create(uint32_t request, const char *uid, const char *id, int64_t cpu_mcpu,
			  const char *cgroup)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;
	struct pod_spec pod = {.namespace = "default",
			       .is_of_runtime = true,
			       .stated_qos = cpu_mcpu ? QOS_GUARANTEED : QOS_BURSTABLE,
			       .request = RESOURCES_UNSET,
			       .limit = RESOURCES_UNSET,
			       .overhead = RESOURCES_UNSET};
	struct container_spec spec = {.name = "main",
				      .kind = CONTAINER_APP,
				      .request = RESOURCES_UNSET,
				      .limit = RESOURCES_UNSET};
	const struct runtime_pod sandbox = {.id = uid, .spec = &pod};
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .spec = &spec, .cpus = "", .cgroup = cgroup};

	text_copy(pod.uid, sizeof(pod.uid), uid);
	text_copy(pod.name, sizeof(pod.name), uid);
	if (cpu_mcpu) {
		spec.request.cpu_mcpu = spec.limit.cpu_mcpu = cpu_mcpu;
		spec.request.memory_bytes = spec.limit.memory_bytes = 1 << 20;
	}
	sink->created(sink->self, request, &container);
}

/* A container with CPUs 2 and 3, which its cgroup has. */
static inline int start(void **state)
{
	const struct runtime_sink *sink;
	struct fake_group *group;

	if (set_up_node(state))
		return -1;
	memset(&port, 0, sizeof(port));
	memset(&told, 0, sizeof(told));
	text_copy(config.sources.nri, sizeof(config.sources.nri), "/run/nri.sock");
	controller = start_node(&fake_side_port);
	controller->ports.runtime = &runtime_port;
	controller->ports.cpusets = &cpuset_port;
	group = &fake->groups[fake_slot(CGROUP)];
	text_copy(group->path, sizeof(group->path), CGROUP);
	text_copy(group->files[GROUP_CPUSET_CPUS], FAKE_VALUE, "2-3");
	sink = &controller_sinks(controller)->runtime;
	sink->synchronized(sink->self, 1, &(struct runtime_snapshot){0});
	create(2, "a", "1", 2000, CGROUP);
	return 0;
}

static inline int stop(void **state)
{
	controller_free(controller);
	free(port.rows);
	return tear_down(state);
}

static inline void tick_for(int seconds)
{
	for (int i = 0; i < seconds; i++) {
		fake->now_ns += S;
		controller_tick(controller);
	}
}

static inline void write_cpus(const char *list)
{
	text_copy(fake_find(CGROUP)->files[GROUP_CPUSET_CPUS], FAKE_VALUE, list);
}

static inline void assert_has(const char *list)
{
	assert_string_equal(fake_find(CGROUP)->files[GROUP_CPUSET_CPUS], list);
}

static inline bool has_finding(enum finding kind)
{
	for (uint32_t i = 0; i < controller->findings.nr; i++)
		if (controller->findings.rows[i].kind == kind)
			return true;
	return false;
}

static inline uint64_t nr_repaired(void)
{
	return controller->drift.nr_repaired[GROUP_CPUSET_CPUS];
}

static inline struct runtime_row *row_of(const char *id)
{
	return runtime_rows_find(&controller->runtimes, id);
}

/* So many containers that each is read only every few seconds. */
static inline void create_many(void)
{
	const struct runtimes *runtimes = &controller->runtimes;

	/* The table is full, so nobody can read beyond it unnoticed. */
	for (int i = 0; i < 200 || runtimes->nr_rows < runtimes->max_rows; i++) {
		struct runtime_row *row;
		char id[16];

		snprintf(id, sizeof(id), "z%d", i);
		row = runtime_rows_note(&controller->runtimes, id, "z", "", "");
		assert_non_null(row);
		row->told = row_of("1")->told;
	}
}

/* The finding's message; NULL = there is no such finding. */
static inline const char *message_of(enum finding kind)
{
	for (uint32_t i = 0; i < controller->findings.nr; i++)
		if (controller->findings.rows[i].kind == kind)
			return controller->findings.rows[i].message;
	return NULL;
}

static inline void insist(void)
{
	for (int i = 0; i < 20; i++) {
		write_cpus("0-15");
		tick_for(1);
	}
	assert_true(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
}

#endif
