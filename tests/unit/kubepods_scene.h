/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node whose containers are found below kubepods and whose cpuset files can be written, the source
 * that finds them, and the real controller. The machine has CPUs 0 to 15, of which 0 and 1 are
 * reserved. Include it after cmocka.
 */
#ifndef TESTS_KUBEPODS_SCENE_H
#define TESTS_KUBEPODS_SCENE_H

#include <errno.h>

#include "controller_scene.h"
#include "runtime/kubepods.h"

#define GIB "1073741824"

/* --- a node with cgroups ------------------------------------------------------------------------ */

struct node_container {
	uint64_t id;
	char uid[40], name[32];
	enum qos_class qos;
	int64_t mcpu; /* of the request, as in the bundle */
	char cpu_max[32], cpus[64];
	bool has_bundle;
};

static struct {
	struct node_container containers[16];
	uint32_t nr;
	uint64_t last_id;
	char pods[8][40]; /* uids of those whose cgroup exists */
	enum qos_class qos[8];
	uint32_t nr_pods;
	/* What is being written: a pass ends when the test says so. */
	struct cpuset_write *rows;
	uint32_t nr_rows, nr_passes, nr_scans_wanted, nr_retries;
	int write_error;
	bool is_incomplete;  /* the next scan cannot visit all cgroups */
	uint32_t nr_unread;  /* and leaves so many bundles to the one after it */
	bool writes_at_once; /* as a thread of the pool that is fast: before the call returns */
} node;

static struct kubepods *kubepods;
static struct controller *controller;

static inline struct node_container *find_container(uint64_t id)
{
	for (uint32_t i = 0; i < node.nr; i++)
		if (node.containers[i].id == id)
			return &node.containers[i];
	return NULL;
}

static inline struct node_container *container_with(uint64_t id)
{
	struct node_container *container = find_container(id);

	if (!container) {
		fail_msg("no container %llu", (unsigned long long)id);
		abort();
	}
	return container;
}

/* In no step has anybody but its pod a CPU of an exclusive container. Its name begins with "excl". */
static inline void assert_apart(void)
{
	for (uint32_t i = 0; i < node.nr; i++)
		for (uint32_t j = 0; j < node.nr; j++) {
			struct cpuset own, other;

			if (i == j || strncmp(node.containers[i].name, "excl", 4) != 0 ||
			    !*node.containers[i].cpus || !*node.containers[j].cpus ||
			    !strcmp(node.containers[i].uid, node.containers[j].uid))
				continue;
			own = cpuset_of_text(node.containers[i].cpus);
			other = cpuset_of_text(node.containers[j].cpus);
			if (cpuset_intersects(&own, &other))
				fail_msg("%s has CPUs of %s: %s and %s", node.containers[j].name,
					 node.containers[i].name, node.containers[j].cpus,
					 node.containers[i].cpus);
		}
}

static inline void end_write(void);

static inline int begin_write(void *self, struct cpuset_write *rows, uint32_t nr)
{
	assert_null(node.rows);
	node.rows = rows;
	node.nr_rows = nr;
	if (node.writes_at_once)
		end_write();
	return 0;
}

static inline void wants_scan(void *self)
{
	node.nr_scans_wanted++;
}

static const struct cpuset_port cpuset_port = {.write = begin_write};
static const struct discovery_port discovery_port = {.scan_soon = wants_scan};

static inline int answer(void *self, uint32_t request, const struct runtime_answer *given)
{
	return kubepods_answer(kubepods, request, given);
}

static inline void ask_again(void *self, const char *container_id)
{
	kubepods_ask_again(kubepods, container_id);
}

static const struct runtime_port runtime_port = {.answer = answer,
						 .cannot_refuse = true,
						 .has_no_kinds = true,
						 .ask_soon = wants_scan,
						 .ask_again = ask_again};

/* The controller's, with a look at what passes. */
static struct runtime_sink runtime_sink;

static inline void count_retry(void *self, uint32_t request,
			       const struct runtime_container *container)
{
	node.nr_retries++;
	controller_sinks(controller)->runtime.retried(self, request, container);
}

/* The thread has written the files, each of which is judged when it was. */
static inline void end_write(void)
{
	struct cpuset_write *rows = node.rows;
	const uint32_t nr = node.nr_rows;

	assert_non_null(rows);
	node.rows = NULL;
	node.nr_passes++;
	for (uint32_t i = 0; i < nr; i++) {
		struct node_container *container = find_container(rows[i].cgroup_id);

		rows[i].result = container ? node.write_error : -ENOENT;
		snprintf(rows[i].error, sizeof(rows[i].error), "cannot write: the test says so");
		if (rows[i].result || rows[i].file != GROUP_CPUSET_CPUS)
			continue;
		cpuset_format(&rows[i].value, container->cpus, sizeof(container->cpus));
		assert_apart();
	}
	kubepods_written(kubepods, rows, nr);
	free(rows);
}

static inline void end_writes(void)
{
	while (node.rows)
		end_write();
}

static inline char *copy_text(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	return copy;
}

static inline const char *qos_folder(enum qos_class qos)
{
	static const char *const folders[QOS_NR] = {[QOS_GUARANTEED] = "",
						    [QOS_BURSTABLE] = "burstable/",
						    [QOS_BEST_EFFORT] = "besteffort/"};

	return folders[qos];
}

static inline struct discovered_cgroup *add_row(struct discovery *found, const char *path)
{
	struct discovered_cgroup *row;

	assert_int_equal(discovery_add(found, path, &row), 0);
	assert_int_not_equal(kubepods_parse(path, &row->name), KUBEPODS_NONE);
	row->cpu_request_mcpu = RESOURCE_UNSET;
	row->run_ns = row->cpu_weight = row->tasks = row->throttled_ns = -1;
	return row;
}

static inline void add_container(struct discovery *found, const struct node_container *container)
{
	struct discovered_cgroup *row;
	char path[256];

	snprintf(path, sizeof(path), "kubepods/%spod%s/%064llx", qos_folder(container->qos),
		 container->uid, (unsigned long long)container->id);
	row = add_row(found, path);
	row->cgroup_id = container->id;
	row->run_ns = 1000000;
	row->cpus = copy_text(container->cpus);
	row->cpu_max = copy_text(container->cpu_max);
	row->memory_max = copy_text(container->mcpu ? GIB : "max");
	row->names = DISCOVERED_NAMES_UNKNOWN;
	if (!container->has_bundle)
		return;
	row->names = DISCOVERED_NAMES_READ;
	row->namespace = copy_text("default");
	row->pod = copy_text(container->uid);
	row->container = copy_text(container->name);
	row->made_shares = container->mcpu ? container->mcpu * 1024 / 1000 : 2;
	row->made_quota_us = container->qos == QOS_GUARANTEED ? container->mcpu * 100 : 0;
	row->made_period_us = 100000;
	row->made_memory_bytes = container->mcpu ? 1 << 30 : 0;
}

static inline void scan_node(void)
{
	struct discovery found cleanup_discovery = {0};
	char path[256];

	for (uint32_t i = 0; i < node.nr_pods; i++) {
		snprintf(path, sizeof(path), "kubepods/%spod%s", qos_folder(node.qos[i]),
			 node.pods[i]);
		add_row(&found, path)->cgroup_id = 1000 + i;
	}
	for (uint32_t i = 0; i < node.nr; i++)
		add_container(&found, &node.containers[i]);
	discovery_sort(&found);
	if (node.is_incomplete)
		snprintf(found.problem, sizeof(found.problem), "cannot list /kubepods");
	found.is_partial = node.is_incomplete;
	found.nr_unread = node.nr_unread;
	kubepods_discovered(kubepods, &found);
}

/* Until nothing is written or asked for any more. */
static inline void settle(void)
{
	for (int i = 0; i < 20; i++) {
		scan_node();
		end_writes();
	}
	assert_null(node.rows);
}

/* As the runtime writes it. */
static inline void resize(uint64_t id, int cpus)
{
	struct node_container *container = container_with(id);

	snprintf(container->cpu_max, sizeof(container->cpu_max), "%d00000 100000", cpus);
}

static inline void end_saves(void)
{
	while (fake->is_saving)
		fake_end_save(controller, 0);
	fake->slow_save = false;
}

/* A Guaranteed container has the request as its limit; 0 = it has none, as an ephemeral container. */
static inline uint64_t start_in(const char *uid, enum qos_class qos, const char *name, int64_t mcpu)
{
	struct node_container *container = &node.containers[node.nr++];
	uint32_t at = 0;

	while (at < node.nr_pods && strcmp(node.pods[at], uid) != 0)
		at++;
	if (at == node.nr_pods) {
		snprintf(node.pods[at], sizeof(node.pods[at]), "%s", uid);
		node.qos[at] = qos;
		node.nr_pods++;
	}
	*container = (struct node_container){
		.id = ++node.last_id, .qos = qos, .mcpu = mcpu, .has_bundle = true};
	snprintf(container->uid, sizeof(container->uid), "%s", uid);
	snprintf(container->name, sizeof(container->name), "%s", name);
	snprintf(container->cpu_max, sizeof(container->cpu_max), "max 100000");
	if (qos == QOS_GUARANTEED && mcpu)
		snprintf(container->cpu_max, sizeof(container->cpu_max), "%lld 100000",
			 (long long)mcpu * 100);
	return container->id;
}

static inline void stop(uint64_t id)
{
	struct node_container *container = container_with(id);

	*container = node.containers[--node.nr];
}

static inline void remove_pod(const char *uid)
{
	for (uint32_t i = node.nr; i-- > 0;)
		if (!strcmp(node.containers[i].uid, uid))
			node.containers[i] = node.containers[--node.nr];
	for (uint32_t i = 0; i < node.nr_pods; i++)
		if (!strcmp(node.pods[i], uid)) {
			node.nr_pods--;
			memcpy(node.pods[i], node.pods[node.nr_pods], sizeof(node.pods[i]));
			node.qos[i] = node.qos[node.nr_pods];
			break;
		}
}

static inline const char *cpus_of(uint64_t id)
{
	return container_with(id)->cpus;
}

#define A "aaaaaaaa-0000-0000-0000-000000000000"
#define B "bbbbbbbb-0000-0000-0000-000000000000"
#define C "cccccccc-0000-0000-0000-000000000000"

static inline void open_source(void)
{
	struct kubepods_options options = {
		.clock = &fake_clock, .cpusets = &cpuset_port, .discovery = &discovery_port};

	scene_runtime = &runtime_port;
	controller = start_controller();
	runtime_sink = *&controller_sinks(controller)->runtime;
	runtime_sink.retried = count_retry;
	options.sink = &runtime_sink;
	assert_int_equal(kubepods_open(&options, &kubepods), 0);
}

static inline void restart_agent(void)
{
	kubepods_close(kubepods);
	controller_free(controller);
	open_source();
}

static inline int open_node(void **state)
{
	set_up(state);
	config.sources.kubepods = true;
	memset(&node, 0, sizeof(node));
	open_source();
	return 0;
}

static inline int close_node(void **state)
{
	free(node.rows);
	kubepods_close(kubepods);
	controller_free(controller);
	scene_runtime = NULL;
	return tear_down(state);
}

#endif
