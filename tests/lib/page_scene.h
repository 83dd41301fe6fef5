/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects for a page, as an agent would have them on a node of a given size. Some names are what an
 * attacker would choose. The same size makes the same objects. For programs without cmocka too.
 */
#ifndef TESTS_PAGE_SCENE_H
#define TESTS_PAGE_SCENE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpuset.h"
#include "format/event.h"
#include "format/page.h"
#include "format/view_objects.h"
#include "format/view_private.h"
#include "format/views.h"

struct page_scene_size {
	uint32_t cpus, nodes, pods, containers; /* containers of each pod */
};

/* What a browser must show and not do. Run, it would leave a mark on the document. */
#define PAGE_SCENE_SCRIPT  "<script>document.title='pwned'</script>"
#define PAGE_SCENE_TIME_NS 1700000100000000000ULL
#define PAGE_SCENE_IMAGE   "\"><img src=x onerror=document.title='pwned'>"

static inline struct cpuset *page_scene_cpus(uint32_t first, uint32_t last)
{
	static struct cpuset sets[8192];
	static size_t nr;
	struct cpuset *set = &sets[nr++ % ARRAY_SIZE(sets)];

	*set = CPUSET_EMPTY;
	for (uint32_t cpu = first; cpu <= last; cpu++)
		cpuset_add(set, cpu);
	return set;
}

/* Names are kept until the program ends. */
__attribute__((format(printf, 1, 2))) static inline char *page_scene_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

static inline const char *page_scene_pod(uint32_t i)
{
	static const char *const names[] = {"checkout", "search", "db", "cache", "queue", "mail"};

	if (i == 1)
		return PAGE_SCENE_SCRIPT;
	if (i == 2)
		return PAGE_SCENE_IMAGE;
	return page_scene_text("%s-%u", names[i % ARRAY_SIZE(names)], i);
}

static inline const char *page_scene_container(uint32_t i)
{
	static const char *const names[] = {"main", "proxy", "logs"};

	return i < ARRAY_SIZE(names) ? names[i] : page_scene_text("more-%u", i);
}

/* Every third pod holds two cores, as long as there are any. CPUs 0 and 1 are reserved. */
static inline bool page_scene_is_exclusive(const struct page_scene_size *size, uint32_t pod)
{
	return pod % 3 == 0 && 2 + pod / 3 * 4 + 3 < size->cpus * 3 / 4;
}

static inline uint32_t page_scene_first_cpu(uint32_t pod)
{
	return 2 + pod / 3 * 4;
}

static inline struct json_object *page_scene_node(const struct page_scene_size *size)
{
	static const struct finding_row findings[] = {
		{FINDING_TIER1_NOT_HELD, "the workload root is not a root partition: <b>cpuset</b>",
		 "move the tasks of system.slice off CPUs 4-7"},
	};
	const uint32_t per_node = size->cpus / size->nodes;
	struct numa_row *nodes = calloc(size->nodes, sizeof(*nodes));
	struct view_node row = {
		.schema_version = 1,
		.source = "agent",
		.mode = "allocate",
		.ready = 1,
		.kernel = "6.12.1",
		.hierarchy = "systemd",
		.workload_root = "pinfold.slice",
		.partition = "root",
		.guard = "enforce",
		.tiers = "0 1 2",
		.machine = {size->cpus, size->cpus / 2, size->nodes, size->nodes, 2,
			    page_scene_cpus(size->cpus * 3 / 4, size->cpus - 1),
			    page_scene_cpus(0, 1), page_scene_cpus(2, 5), page_scene_cpus(1, 0)},
		.pods = size->pods,
		.containers = size->pods * size->containers,
		.nodes = nodes,
		.nr_nodes = size->nodes,
		.findings = findings,
		.nr_findings = ARRAY_SIZE(findings),
	};
	struct json_object *json;

	if (!nodes)
		abort();
	for (uint32_t i = 0; i < size->nodes; i++)
		nodes[i] = (struct numa_row){
			.numa = i,
			.memory_bytes = 64ULL << 30,
			.cpus = page_scene_cpus(i * per_node, (i + 1) * per_node - 1),
			.reserved = page_scene_cpus(0, 1),
			.shared = page_scene_cpus(i * per_node, i * per_node + 1),
			.exclusive = page_scene_cpus(i * per_node + 2, i * per_node + 3),
		};
	json = object_json(&view_node_desc, &row, 1);
	free(nodes);
	return json;
}

static inline struct json_object *page_scene_map(const struct page_scene_size *size)
{
	struct view_cpu *rows = calloc(size->cpus, sizeof(*rows));
	struct json_object *json;

	if (!rows)
		abort();
	for (uint32_t i = 0; i < size->cpus; i++) {
		const uint32_t node = i / (size->cpus / size->nodes),
			       pod = i < 2 ? 0 : (i - 2) / 4 * 3;

		rows[i] = (struct view_cpu){.cpu = i,
					    .core = i / 2,
					    .uncore = node,
					    .numa = node,
					    .socket = node * 2 / size->nodes,
					    .state = i < 2 ? CPU_RESERVED : CPU_SHARED,
					    .in_shared_pool = i >= 2};
		if (i < 2 || pod >= size->pods || !page_scene_is_exclusive(size, pod))
			continue;
		rows[i].state = pod % 12 ? CPU_EXCLUSIVE : CPU_POD_SHARED;
		rows[i].in_shared_pool = false;
		rows[i].owner =
			page_scene_text("shop/%s%s", page_scene_pod(pod), pod % 12 ? "/main" : "");
		rows[i].owner_uid = "uid";
	}
	rows[size->cpus - 1].state = CPU_EXCLUDED;
	rows[size->cpus - 2] = rows[size->cpus - 1];
	rows[size->cpus - 2].cpu--;
	json = object_json(&view_cpu_desc, rows, size->cpus);
	free(rows);
	return json;
}

static inline struct json_object *page_scene_pods(const struct page_scene_size *size)
{
	struct view_pod *rows = calloc(size->pods + 1, sizeof(*rows));
	static const enum pod_condition states[] = {CONDITION_RUNNING, CONDITION_RUNNING,
						    CONDITION_WAITING, CONDITION_FAILED};
	struct json_object *json;

	if (!rows)
		abort();
	for (uint32_t i = 0; i < size->pods; i++) {
		const bool is_exclusive = page_scene_is_exclusive(size, i);
		const uint32_t first = page_scene_first_cpu(i);
		const enum pod_condition state = states[i % 40 < ARRAY_SIZE(states) ? i % 40 : 0];

		rows[i] = (struct view_pod){
			.namespace = "shop",
			.name = page_scene_pod(i),
			.qos = is_exclusive ? QOS_GUARANTEED : QOS_BURSTABLE,
			.state = state,
			.scope = "container",
			.uid = page_scene_text("5f2c7a31-94be-4d0c-b7a5-%012u", i),
			.exclusive = is_exclusive ? page_scene_cpus(first, first + 3)
						  : page_scene_cpus(1, 0),
			.pool = page_scene_cpus(1, 0),
			.held = page_scene_cpus(1, 0),
			.cpu_request_mcpu = is_exclusive ? 4000 : 250,
			.cpu_limit_mcpu = is_exclusive ? 4000 : -1,
			.memory_request_bytes = 256 << 20,
			.memory_limit_bytes = is_exclusive ? 256 << 20 : -1,
			.detail = state != CONDITION_RUNNING ? "cpuset.cpus could not be written: "
							       "Device or resource busy"
							     : NULL,
		};
	}
	json = object_json(&view_pod_desc, rows, size->pods);
	free(rows);
	return json;
}

static inline void page_scene_fill_waits(uint32_t i, struct view_container *row)
{
	row->run_ns = (int64_t)(i * 7919 % 9973 + 1) * 100000000;
	row->wait_ns = 0;
	for (uint32_t cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		row->cause_ns[cause] = (int64_t)((i + cause * 37) * 6007 % 9967) * 3000000;
		if ((i + cause) % 4 == 0)
			row->cause_ns[cause] /= 50;
		row->wait_ns += row->cause_ns[cause];
	}
}

static inline struct json_object *page_scene_containers(const struct page_scene_size *size)
{
	const uint32_t nr = size->pods * size->containers;
	struct view_container *rows = calloc(nr + 1, sizeof(*rows));
	struct json_object *json;

	if (!rows)
		abort();
	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t pod = i / size->containers, which = i % size->containers;
		const bool is_exclusive = !which && page_scene_is_exclusive(size, pod);
		const uint32_t first = page_scene_first_cpu(pod);

		rows[i] = (struct view_container){
			.namespace = "shop",
			.pod = page_scene_pod(pod),
			.container = page_scene_container(which),
			.uid = "uid",
			.kind = CONTAINER_APP,
			.isolation = is_exclusive ? ISOLATION_CONTAINER : ISOLATION_HOST,
			.cpus = is_exclusive ? page_scene_cpus(first, first + 3)
					     : page_scene_cpus(size->cpus * 3 / 4, size->cpus - 3),
			.mems = page_scene_cpus(0, size->nodes - 1),
			.effective_cpus = page_scene_text("%u-%u", first, first + 3),
			.effective_mems = "0-7",
			.cpu_max = "max 100000",
			.memory_max = "268435456",
			.cpu_weight = 79,
			.processes = -1,
			.migrations_within_node = i * 13,
			.migrations_across_nodes = i % 5,
			.cgroup = page_scene_text("pinfold.slice/pinfold-pod5f2c7a31_94be_4d0c_"
						  "b7a5_%012u.slice/%s",
						  pod, page_scene_container(which)),
		};
		page_scene_fill_waits(i, &rows[i]);
	}
	json = object_json(&view_container_desc, rows, nr);
	free(rows);
	return json;
}

/* As many as the pods of the size, each with one container. */
static inline struct json_object *page_scene_discovery(const struct page_scene_size *size)
{
	struct view_discovery *rows = calloc(size->pods + 1, sizeof(*rows));
	struct json_object *json;

	if (!rows)
		abort();
	for (uint32_t i = 0; i < size->pods; i++)
		rows[i] = (struct view_discovery){
			.kind = "container",
			.namespace = "shop",
			.pod = page_scene_text("web-%u", i),
			.container = "nginx",
			.names = "read",
			.id = page_scene_text("%064x", i),
			.uid = page_scene_text("5f2c7a31-94be-4d0c-b7a5-%012u", i),
			.qos = "Burstable",
			.runtime = "containerd",
			.driver = "systemd",
			.effective_cpus = "0-255",
			.cpu_request_mcpu = 2000,
			.cpu_weight = 79,
			.tasks = 12,
			.run_ns = (int64_t)i * 1000000000,
			.throttled_ns = -1,
			.cgroup =
				page_scene_text("kubepods.slice/kubepods-pod%u.slice/cri-%u", i, i),
		};
	json = object_json(&view_discovery_desc, rows, size->pods);
	free(rows);
	return json;
}

static inline struct json_object *page_scene_pressure(const struct page_scene_size *size)
{
	const uint32_t per_pod = (size->containers + 1) * PRESSURE_RESOURCE_NR;
	struct view_pressure *rows = calloc(size->pods * per_pod + 1, sizeof(*rows));
	struct json_object *json;

	if (!rows)
		abort();
	for (uint32_t i = 0; i < size->pods * per_pod; i++) {
		const uint32_t which = i % per_pod / PRESSURE_RESOURCE_NR;
		const int share = (int)(i * 6151 % 977);

		rows[i] = (struct view_pressure){
			.namespace = "shop",
			.pod = page_scene_pod(i / per_pod),
			.container = which ? page_scene_container(which - 1) : NULL,
			.uid = "uid",
			.resource = (enum pressure_resource)(i % PRESSURE_RESOURCE_NR),
			.state = PRESSURE_MEASURED,
			.some_10 = share * (share % 9),
			.some_60 = share * 2,
			.some_300 = share,
			.full_10 = share / 2 * (share % 9),
			.full_60 = share / 2,
			.full_300 = share / 4,
			.some_ns = share,
			.full_ns = share,
			.task_wait_10_ns = i % PRESSURE_RESOURCE_NR == PRESSURE_CPU
						   ? (int64_t)share * 1000000
						   : -1,
			.task_wait_60_ns = -1,
			.task_wait_300_ns = -1,
		};
	}
	json = object_json(&view_pressure_desc, rows, size->pods * per_pod);
	free(rows);
	return json;
}

/* Of a pod whose agent did not run for a minute, and whose run time is not counted if `i` is 3. */
static inline struct json_object *page_scene_past(uint32_t i, uint64_t end_ns)
{
	struct view_history_sample samples[55];
	const struct view_history history = {
		.namespace = "shop",
		.pod = page_scene_pod(i),
		.uid = "uid",
		.nr_samples = ARRAY_SIZE(samples),
		.samples = samples,
	};

	for (size_t at = 0; at < ARRAY_SIZE(samples); at++) {
		const int64_t share = (int64_t)((i + 1) * 6151 + at * 389) % 977;
		struct view_history_sample *sample = &samples[at];

		*sample = (struct view_history_sample){
			.time_ns = end_ns - (ARRAY_SIZE(samples) - 1 - at) * PAGE_HISTORY_SAMPLE_NS,
			.length_ns = PAGE_HISTORY_SAMPLE_NS,
			.kind = at == 20 ? HISTORY_GAP : HISTORY_SAMPLE,
			.pressure_length_ns = at == 20 ? -1 : (int64_t)PAGE_HISTORY_SAMPLE_NS,
			.run_ns = at == 20 || i == 3 ? -1 : share * 20000000,
		};
		if (at < 20)
			sample->time_ns -= 5 * PAGE_HISTORY_SAMPLE_NS;
		if (at == 20)
			sample->length_ns = 6 * PAGE_HISTORY_SAMPLE_NS;
		for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
			sample->waited_ns[kind] = at == 20 ? -1
							   : share * 1000000 / (kind + 1) / (i + 1);
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
			sample->cause_ns[cause] = sample->run_ns < 0 ? -1 : share * 100000 * cause;
	}
	return object_json(&view_history_desc, &history, 1);
}

static inline struct json_object *page_scene_histories(uint32_t nr, uint64_t end_ns)
{
	struct json_object *all = json_object_new_array();

	for (uint32_t i = 0; i < nr; i++)
		json_object_array_add(all, page_scene_past(i, end_ns));
	return all;
}

static inline struct json_object *page_scene_noise(const struct page_scene_size *size)
{
	const uint32_t nr = size->cpus * NOISE_SOURCE_NR;
	struct view_noise *rows = calloc(nr, sizeof(*rows));
	static const char *const names[] = {"nvme0q1", "ksoftirqd/7", PAGE_SCENE_SCRIPT, "kworker"};
	struct json_object *json;

	if (!rows)
		abort();
	for (uint32_t i = 0; i < nr; i++)
		rows[i] = (struct view_noise){
			.cpu = i / NOISE_SOURCE_NR,
			.namespace = "shop",
			.pod = page_scene_pod(i / NOISE_SOURCE_NR / 4 * 3),
			.container = "main",
			.uid = "uid",
			.source = (enum noise_source)(i % NOISE_SOURCE_NR),
			.irq = i % NOISE_SOURCE_NR ? -1 : 40 + (int64_t)i,
			.sibling = i % NOISE_SOURCE_NR == NOISE_SMT_SIBLING ? (int64_t)i : -1,
			.name = names[i % ARRAY_SIZE(names)],
			.pid = i,
			.count = i * 3,
			.total_ns = (int64_t)(i * 7907 % 9931) * 10000,
			.longest_ns = (int64_t)(i * 7907 % 9931) * 50,
		};
	json = object_json(&view_noise_desc, rows, nr);
	free(rows);
	return json;
}

static inline struct json_object *page_scene_refusals(void)
{
	const struct view_refusal rows[] = {{
		.namespace = "batch",
		.name = "train-0",
		.reason = "UnexpectedAdmissionError",
		.refusal = "cpus",
		.container = "main",
		.wanted = 64,
		.available = 12,
		.unit = "CPUs",
		.message = "container main asks for 64 exclusive CPUs, but only 12 are free",
		.suggestion = "fits with 12 CPUs for container main",
		.file = "/etc/pinfold/pods.d/train.yaml",
		.line = 1,
	}};

	return object_json(&view_refusal_desc, rows, ARRAY_SIZE(rows));
}

static inline struct json_object *page_scene_drift(void)
{
	const struct view_drift rows[] = {
		{
			.cgroup = "pinfold.slice/pinfold-pod5f2c7a31.slice/main",
			.attribute = "cpus",
			.wanted = "2-5",
			.found = "0-31",
			.open = true,
			.since_ns = 1700000000123456789,
			.action = "audit",
			.cause = "user",
			.pid = 4711,
			.comm = "'><svg/onload=1",
			.writer_cgroup = "user.slice/user-1000.slice/\"x\"",
		},
		{
			.cgroup = "pinfold.slice",
			.attribute = "partition",
			.wanted = "root",
			.found = "member",
			.since_ns = 1700000000123456789,
			.repaired_ns = 1700000000523456789,
			.action = "repair",
			.cause = "systemd",
			.pid = 1,
			.comm = "systemd",
			.writer_cgroup = "init.scope",
		},
	};

	return object_json(&view_drift_desc, rows, ARRAY_SIZE(rows));
}

static inline struct page page_scene_make(const struct page_scene_size *size)
{
	/* Who decides over pods finds none of others. */
	static const struct page_scene_size nobody = {0};

	return (struct page){
		.host = "node-7.example & <sons>",
		.written_ns = PAGE_SCENE_TIME_NS,
		.objects =
			{
				[PAGE_NODE] = page_scene_node(size),
				[PAGE_CPU] = page_scene_map(size),
				[PAGE_POD] = page_scene_pods(size),
				[PAGE_CONTAINER] = page_scene_containers(size),
				[PAGE_HISTORY] = page_scene_histories(
					size->pods < PAGE_HISTORIES_MAX ? size->pods
									: PAGE_HISTORIES_MAX,
					PAGE_SCENE_TIME_NS),
				[PAGE_DISCOVERY] = page_scene_discovery(&nobody),
				[PAGE_REFUSAL] = page_scene_refusals(),
				[PAGE_PRESSURE] = page_scene_pressure(size),
				[PAGE_NOISE] = page_scene_noise(size),
				[PAGE_DRIFT] = page_scene_drift(),
			},
	};
}

static inline void page_scene_free(struct page *page)
{
	for (int i = 0; i < PAGE_OBJECT_NR; i++)
		json_object_put(page->objects[i]);
}

#endif
