// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime ctl kubelet format core lib
/*
 * Containers that are found below kubepods, the real controller, and a node whose cpuset files can be
 * written: who gets CPUs, in which order the files are written, and what becomes of what others write.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

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
	uint32_t nr_rows, nr_passes, nr_scans_wanted;
	int write_error;
	bool is_incomplete;  /* the next scan cannot visit all cgroups */
	uint32_t nr_unread;  /* and leaves so many bundles to the one after it */
	bool writes_at_once; /* as a thread of the pool that is fast: before the call returns */
} node;

static struct kubepods *kubepods;
static struct controller *controller;

static struct node_container *find_container(uint64_t id)
{
	for (uint32_t i = 0; i < node.nr; i++)
		if (node.containers[i].id == id)
			return &node.containers[i];
	return NULL;
}

static struct node_container *container_with(uint64_t id)
{
	struct node_container *container = find_container(id);

	if (!container) {
		fail_msg("no container %llu", (unsigned long long)id);
		abort();
	}
	return container;
}

/* In no step has anybody but its pod a CPU of an exclusive container. Its name begins with "excl". */
static void assert_apart(void)
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

static void end_write(void);

static int begin_write(void *self, struct cpuset_write *rows, uint32_t nr)
{
	assert_null(node.rows);
	node.rows = rows;
	node.nr_rows = nr;
	if (node.writes_at_once)
		end_write();
	return 0;
}

static void wants_scan(void *self)
{
	node.nr_scans_wanted++;
}

static const struct cpuset_port cpuset_port = {.write = begin_write};
static const struct discovery_port discovery_port = {.scan_soon = wants_scan};

static int answer(void *self, uint32_t request, const struct runtime_answer *given)
{
	return kubepods_answer(kubepods, request, given);
}

static const struct runtime_port runtime_port = {
	.answer = answer, .cannot_refuse = true, .ask_soon = wants_scan};

/* The thread has written the files, each of which is judged when it was. */
static void end_write(void)
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

static void end_writes(void)
{
	while (node.rows)
		end_write();
}

static char *copy_text(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	return copy;
}

static const char *qos_folder(enum qos_class qos)
{
	static const char *const folders[QOS_NR] = {[QOS_GUARANTEED] = "",
						    [QOS_BURSTABLE] = "burstable/",
						    [QOS_BEST_EFFORT] = "besteffort/"};

	return folders[qos];
}

static struct discovered_cgroup *add_row(struct discovery *found, const char *path)
{
	struct discovered_cgroup *row;

	assert_int_equal(discovery_add(found, path, &row), 0);
	assert_int_not_equal(kubepods_parse(path, &row->name), KUBEPODS_NONE);
	row->cpu_request_mcpu = RESOURCE_UNSET;
	row->run_ns = row->cpu_weight = row->tasks = row->throttled_ns = -1;
	return row;
}

static void add_container(struct discovery *found, const struct node_container *container)
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
	row->memory_max = copy_text(GIB);
	row->names = DISCOVERED_NAMES_UNKNOWN;
	if (!container->has_bundle)
		return;
	row->names = DISCOVERED_NAMES_READ;
	row->namespace = copy_text("default");
	row->pod = copy_text(container->uid);
	row->container = copy_text(container->name);
	row->made_shares = container->mcpu * 1024 / 1000;
	row->made_quota_us = container->qos == QOS_GUARANTEED ? container->mcpu * 100 : 0;
	row->made_period_us = 100000;
	row->made_memory_bytes = 1 << 30;
}

static void scan_node(void)
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
static void settle(void)
{
	for (int i = 0; i < 20; i++) {
		scan_node();
		end_writes();
	}
	assert_null(node.rows);
}

/* As the runtime writes it. */
static void resize(uint64_t id, int cpus)
{
	struct node_container *container = container_with(id);

	snprintf(container->cpu_max, sizeof(container->cpu_max), "%d00000 100000", cpus);
}

static void end_saves(void)
{
	while (fake->is_saving)
		fake_end_save(controller, 0);
	fake->slow_save = false;
}

/* A Guaranteed container has the request as its limit; 0 = none. */
static uint64_t start_in(const char *uid, enum qos_class qos, const char *name, int64_t mcpu)
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
	if (qos == QOS_GUARANTEED)
		snprintf(container->cpu_max, sizeof(container->cpu_max), "%lld 100000",
			 (long long)mcpu * 100);
	return container->id;
}

static void stop(uint64_t id)
{
	struct node_container *container = container_with(id);

	*container = node.containers[--node.nr];
}

static void remove_pod(const char *uid)
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

static const char *cpus_of(uint64_t id)
{
	return container_with(id)->cpus;
}

#define A "aaaaaaaa-0000-0000-0000-000000000000"
#define B "bbbbbbbb-0000-0000-0000-000000000000"
#define C "cccccccc-0000-0000-0000-000000000000"

static void open_source(void)
{
	struct kubepods_options options = {.cpusets = &cpuset_port, .discovery = &discovery_port};

	scene_runtime = &runtime_port;
	controller = start_controller();
	options.sink = controller_runtime_sink(controller);
	assert_int_equal(kubepods_open(&options, &kubepods), 0);
}

static int open_node(void **state)
{
	set_up(state);
	config.sources.kubepods = true;
	memset(&node, 0, sizeof(node));
	open_source();
	return 0;
}

static int close_node(void **state)
{
	free(node.rows);
	kubepods_close(kubepods);
	controller_free(controller);
	scene_runtime = NULL;
	return tear_down(state);
}

/* --- tests -------------------------------------------------------------------------------------- */

static void who_is_there_gets_its_cpus_and_others_leave_first(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	const uint64_t owner = start_in(B, QOS_GUARANTEED, "excl", 4000);

	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	assert_string_equal(cpus_of(shared), "6-15");
	assert_int_equal(node.nr_passes, 1);
}

static void a_container_that_comes_gets_cpus_and_gives_them_back(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	uint64_t owner;

	settle();
	owner = start_in(B, QOS_GUARANTEED, "excl", 2000);
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(shared), "4-15");
	remove_pod(B);
	settle();
	assert_string_equal(cpus_of(shared), "2-15");
	assert_int_equal(nr_rows(controller, "pod"), 1);
}

static void a_container_that_restarts_keeps_its_cpus(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t other, second;

	settle();
	assert_string_equal(cpus_of(first), "2-3");
	stop(first);
	settle();
	other = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	second = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	assert_string_equal(cpus_of(other), "4-5");
	assert_string_equal(cpus_of(second), "2-3");
}

static void an_init_container_leaves_its_cpus_to_the_next(void **state)
{
	const uint64_t init = start_in(A, QOS_GUARANTEED, "excl-init", 12000);
	uint64_t app;

	settle();
	assert_string_equal(cpus_of(init), "2-5,8-15");
	stop(init);
	settle();
	app = start_in(A, QOS_GUARANTEED, "excl-app", 12000);
	settle();
	assert_string_equal(cpus_of(app), "2-5,8-15");
}

static void one_of_two_that_crashed_keeps_its_cpus(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t second, third;

	start_in(A, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	assert_string_equal(cpus_of(first), "2-3");
	stop(first);
	second = start_in(A, QOS_GUARANTEED, "excl-c", 2000);
	settle();
	third = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	assert_string_equal(cpus_of(second), "6-7");
	assert_string_equal(cpus_of(third), "2-3");
}

static void who_cannot_have_its_cpus_shares(void **state)
{
	const uint64_t big = start_in(A, QOS_GUARANTEED, "excl", 10000);
	uint64_t more;

	settle();
	more = start_in(B, QOS_GUARANTEED, "too-big", 10000);
	settle();
	assert_string_equal(cpus_of(big), "2-3,8-15");
	assert_string_equal(cpus_of(more), "4-7");
}

static void what_others_write_is_put_back(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	settle();
	snprintf(container_with(owner)->cpus, sizeof(container_with(owner)->cpus), "0-15");
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_int_equal(nr_rows(controller, "event"), 2); /* start, repair */
}

/* A scan that began before a write ended shows what was there before. */
static void an_old_scan_is_no_difference(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	scan_node();
	end_writes();
	snprintf(container_with(owner)->cpus, sizeof(container_with(owner)->cpus), "%s", "");
	scan_node();
	assert_null(node.rows);
	assert_true(node.nr_scans_wanted);
	scan_node();
	assert_non_null(node.rows);
	end_writes();
	assert_string_equal(cpus_of(owner), "2-3");
}

static void a_resize_is_followed(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	const uint64_t owner = start_in(B, QOS_GUARANTEED, "excl", 2000);

	settle();
	resize(owner, 4);
	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	assert_string_equal(cpus_of(shared), "6-15");
	resize(owner, 2);
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(shared), "4-15");
}

/* Its record is being written when the next one comes. */
static void a_resize_during_another_one_is_not_lost(void **state)
{
	const uint64_t owner = start_in(B, QOS_GUARANTEED, "excl", 2000);

	settle();
	fake->slow_save = true;
	resize(owner, 4);
	scan_node();
	resize(owner, 6);
	scan_node();
	end_saves();
	settle();
	assert_string_equal(cpus_of(owner), "2-7");
}

/* The answer comes from the end of a save, and is written before the controller has noted it. */
static void who_was_told_to_grow_is_told_to_leave(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	const uint64_t owner = start_in(B, QOS_GUARANTEED, "excl", 2000);
	uint64_t other;

	node.writes_at_once = true;
	settle();
	resize(owner, 4);
	settle();
	assert_string_equal(cpus_of(shared), "6-15");
	fake->slow_save = true;
	resize(owner, 2);
	scan_node();
	end_saves();
	other = start_in(C, QOS_GUARANTEED, "excl-c", 2000);
	settle();
	assert_string_equal(cpus_of(other), "4-5");
	assert_string_equal(cpus_of(shared), "6-15");
}

static void end_during_its_save(bool writes_at_once)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);

	node.writes_at_once = writes_at_once;
	settle();
	start_in(B, QOS_GUARANTEED, "excl", 4000);
	fake->slow_save = true;
	scan_node();
	remove_pod(B);
	scan_node();
	while (fake->is_saving) {
		fake_end_save(controller, 0);
		end_writes();
	}
	fake->slow_save = false;
	settle();
	assert_string_equal(cpus_of(shared), "2-15");
	assert_int_equal(nr_rows(controller, "pod"), 1);
}

static void a_pod_that_ends_during_its_save_holds_nothing(void **state)
{
	end_during_its_save(false);
}

static void nor_if_writes_are_fast(void **state)
{
	end_during_its_save(true);
}

static void a_restart_of_the_agent_changes_nothing(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	const uint64_t second = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	const uint64_t shared = start_in(C, QOS_BURSTABLE, "web", 500);

	settle();
	node.nr_passes = 0;
	kubepods_close(kubepods);
	controller_free(controller);
	open_source();
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(second), "4-5");
	assert_string_equal(cpus_of(shared), "6-15");
}

/* The runtime makes the cgroup, and writes its files a moment later. */
static void a_cgroup_that_is_not_filled_yet_is_no_resize(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);
	const struct node_container written = *container_with(owner);

	snprintf(container_with(owner)->cpu_max, sizeof(written.cpu_max), "max 100000");
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	memcpy(container_with(owner)->cpu_max, written.cpu_max, sizeof(written.cpu_max));
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_int_equal(nr_rows(controller, "event"), 1); /* start */
}

/* Nothing is known to have ended, and an agent that begins waits. */
static void what_was_not_visited_has_not_ended(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);
	const struct node_container kept = *container_with(owner);
	uint64_t other;

	node.is_incomplete = true;
	scan_node();
	assert_null(node.rows);
	node.is_incomplete = false;
	settle();
	node.is_incomplete = true;
	remove_pod(A);
	settle();
	node.is_incomplete = false;
	node.containers[node.nr++] = kept;
	snprintf(node.pods[node.nr_pods++], sizeof(node.pods[0]), A);
	other = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(other), "4-5");
}

/* A scan reads some hundred bundles; who has CPUs must not lose them until the next one. */
static void an_agent_begins_when_all_bundles_are_read(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	node.nr_unread = 1;
	scan_node();
	assert_null(node.rows);
	assert_true(node.nr_scans_wanted);
	node.nr_unread = 0;
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
}

/* Who it is, is not known: it may be the one that ended. */
static void a_successor_without_its_bundle_ends_nobody(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t second, other;

	settle();
	stop(first);
	settle();
	second = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	container_with(second)->has_bundle = false;
	other = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	container_with(second)->has_bundle = true;
	settle();
	assert_string_equal(cpus_of(second), "2-3");
	assert_string_equal(cpus_of(other), "4-5");
}

static void without_its_bundle_a_container_shares(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	container_with(owner)->has_bundle = false;
	settle();
	assert_string_equal(cpus_of(owner), "2-15");
	container_with(owner)->has_bundle = true;
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
}

/* Written or not, it is told once; and it is written when that works again. */
static void a_write_that_fails_is_repeated(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	node.write_error = -EBUSY;
	settle();
	assert_string_equal(cpus_of(owner), "");
	node.nr_scans_wanted = 0;
	scan_node();
	scan_node();
	end_writes();
	/* Not as fast as scans can be. */
	assert_true(node.nr_scans_wanted <= 1);
	node.write_error = 0;
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_int_equal(nr_rows(controller, "event"), 1); /* start */
}

/* Starts, ends, resizes, foreign writes, slow saves and fast writes in any order; then all comes right. */
static unsigned int random_state;

static unsigned int any(unsigned int nr)
{
	random_state = random_state * 1103515245U + 12345U;
	return (random_state >> 16) % nr;
}

static bool is_there(const char *uid, const char *name)
{
	for (uint32_t i = 0; i < node.nr; i++)
		if (!strcmp(node.containers[i].uid, uid) && !strcmp(node.containers[i].name, name))
			return true;
	return false;
}

static void change_anything(void)
{
	static const char *const uids[] = {A, B};
	const char *uid = uids[any(2)];
	char name[32];

	snprintf(name, sizeof(name), "own-%u", any(2));
	switch (any(7)) {
	case 0:
		if (node.nr < 8 && !is_there(uid, name))
			container_with(start_in(uid, QOS_GUARANTEED, name, 2000))->has_bundle =
				any(3);
		break;
	case 1:
		if (node.nr < 8)
			start_in(C, QOS_BURSTABLE, "web", 500);
		break;
	case 2:
		if (node.nr)
			stop(node.containers[any(node.nr)].id);
		break;
	case 3:
		if (!any(2))
			remove_pod(uid);
		break;
	case 4:
		for (uint32_t i = 0; i < node.nr && any(2); i++)
			if (node.containers[i].qos == QOS_GUARANTEED)
				resize(node.containers[i].id, any(2) ? 2 : 4);
		break;
	case 5:
		if (node.nr)
			strcpy(node.containers[any(node.nr)].cpus, any(2) ? "" : "0-15");
		break;
	default:
		for (uint32_t i = 0; i < node.nr; i++)
			node.containers[i].has_bundle = true;
	}
}

static void come_to_rest(void)
{
	node.writes_at_once = fake->slow_save = false;
	for (uint32_t i = 0; i < node.nr; i++)
		node.containers[i].has_bundle = true;
	for (int i = 0; i < 30; i++) {
		end_saves();
		scan_node();
		end_writes();
		fake->now_ns += 1000000000;
		controller_tick(controller);
		controller_wake(controller);
	}
}

/* Who has as many CPUs as its quota owns them. All others share the same. */
static void assert_right(unsigned int seed)
{
	const char *pool = NULL;

	for (uint32_t i = 0; i < node.nr; i++) {
		const struct node_container *owner = &node.containers[i];
		const struct cpuset own = cpuset_of_text(owner->cpus);

		if (owner->qos == QOS_BURSTABLE) {
			if (pool && strcmp(pool, owner->cpus) != 0)
				fail_msg("seed %u: some share %s, some %s", seed, pool,
					 owner->cpus);
			pool = owner->cpus;
			continue;
		}
		if (cpuset_count(&own) != (unsigned int)atoi(owner->cpu_max) / 100000)
			continue;
		for (uint32_t j = 0; j < node.nr; j++) {
			struct cpuset other = cpuset_of_text(node.containers[j].cpus);

			if (j != i && cpuset_intersects(&own, &other))
				fail_msg("seed %u: %s has %s of %s", seed, node.containers[j].name,
					 node.containers[j].cpus, owner->name);
		}
	}
}

static void in_any_order_all_comes_right(void **state)
{
	for (unsigned int seed = 1; seed <= 300; seed++) {
		random_state = seed;
		for (int step = 0; step < 25; step++) {
			fake->slow_save = any(2);
			node.writes_at_once = any(2) && !node.rows;
			change_anything();
			if (fake->is_saving && !any(3))
				fake_end_save(controller, 0);
			if (node.rows && !any(3))
				end_write();
			if (any(3))
				scan_node();
		}
		come_to_rest();
		assert_right(seed);
		close_node(state);
		open_node(state);
	}
}

/* Pods of manifests get CPUs, too: the containers that share leave them at the next scan. */
static void a_pod_of_a_manifest_moves_containers(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	struct pod_spec *pods[] = {fake_pod("m", "main", 4000, true)};

	settle();
	scan(controller, pods, 1);
	settle();
	assert_string_equal(cpus_of(shared), "6-15");
	free_pods(pods, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	const struct CMUnitTest tests[] = {
		TEST(who_is_there_gets_its_cpus_and_others_leave_first),
		TEST(a_container_that_comes_gets_cpus_and_gives_them_back),
		TEST(a_container_that_restarts_keeps_its_cpus),
		TEST(an_init_container_leaves_its_cpus_to_the_next),
		TEST(one_of_two_that_crashed_keeps_its_cpus),
		TEST(who_cannot_have_its_cpus_shares),
		TEST(what_others_write_is_put_back),
		TEST(an_old_scan_is_no_difference),
		TEST(a_resize_is_followed),
		TEST(a_resize_during_another_one_is_not_lost),
		TEST(who_was_told_to_grow_is_told_to_leave),
		TEST(a_pod_that_ends_during_its_save_holds_nothing),
		TEST(nor_if_writes_are_fast),
		TEST(a_restart_of_the_agent_changes_nothing),
		TEST(a_cgroup_that_is_not_filled_yet_is_no_resize),
		TEST(what_was_not_visited_has_not_ended),
		TEST(an_agent_begins_when_all_bundles_are_read),
		TEST(a_successor_without_its_bundle_ends_nobody),
		TEST(without_its_bundle_a_container_shares),
		TEST(in_any_order_all_comes_right),
		TEST(a_write_that_fails_is_repeated),
		TEST(a_pod_of_a_manifest_moves_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
