// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The agent dies at each call that it makes while a runtime tells it of the life of some pods: before
 * and after each write of the state, and before and after each answer. The runtime goes on as a real
 * one does, and tells the next agent what there is. Then nobody has a CPU of an exclusive container,
 * grants and runtime agree, so does the state file, and nothing is held for what is gone.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "ctl/internal.h"
#include "lib/log.h"

#define GIB (1LL << 30)

/* --- a runtime, which outlives the agent -------------------------------------------------------- */

enum { MAX_PODS = 8, MAX_CONTAINERS = 16 };

enum act { CREATE, UPDATE, RESIZE, STOP, REMOVE, STOP_POD, REMOVE_POD };

struct chapter {
	enum act act;
	const char *pod, *name, *id;
	int64_t mcpu; /* 0 = it states none */
	enum container_kind kind;
};

/* Pod b has a budget of four CPUs, and pod w is Burstable. */
static const struct chapter story[] = {
	{CREATE, "w", "web", "w1", 500, CONTAINER_APP},
	{CREATE, "a", "main", "a1", 4000, CONTAINER_APP},
	{UPDATE, "a", "main", "a1", 4000, CONTAINER_APP},
	{RESIZE, "a", "main", "a1", 6000, CONTAINER_APP},
	{RESIZE, "a", "main", "a1", 5000, CONTAINER_APP},
	{STOP, "a", "main", "a1", 5000, CONTAINER_APP},
	{CREATE, "a", "main", "a2", 5000, CONTAINER_APP},
	{REMOVE, "a", "main", "a1", 5000, CONTAINER_APP},
	{CREATE, "i", "setup", "i1", 2000, CONTAINER_INIT},
	{STOP, "i", "setup", "i1", 2000, CONTAINER_INIT},
	{CREATE, "i", "app", "i2", 2000, CONTAINER_APP},
	{REMOVE, "i", "setup", "i1", 2000, CONTAINER_INIT},
	{CREATE, "b", "mesh", "b1", 0, CONTAINER_SIDECAR},
	{CREATE, "b", "db", "b2", 2000, CONTAINER_APP},
	{UPDATE, "w", "web", "w1", 500, CONTAINER_APP},
	{STOP, "b", "db", "b2", 2000, CONTAINER_APP},
	{REMOVE, "b", "db", "b2", 2000, CONTAINER_APP},
	{CREATE, "b", "db", "b3", 3000, CONTAINER_APP},
	{STOP_POD, "a", "", "", 0, CONTAINER_APP},
	{REMOVE_POD, "a", "", "", 0, CONTAINER_APP},
	{REMOVE_POD, "i", "", "", 0, CONTAINER_APP},
	{STOP, "b", "mesh", "b1", 0, CONTAINER_SIDECAR},
	{STOP_POD, "b", "", "", 0, CONTAINER_APP},
	{REMOVE_POD, "b", "", "", 0, CONTAINER_APP},
	{STOP_POD, "w", "", "", 0, CONTAINER_APP},
	{REMOVE_POD, "w", "", "", 0, CONTAINER_APP},
};

struct played {
	char pod[8], name[16], id[8], cpus[64];
	int64_t mcpu;
	enum container_kind kind;
	bool is_created, runs;
};

/* Shared with the child whose agent dies. */
static struct {
	struct played containers[MAX_CONTAINERS];
	uint32_t nr;
	struct {
		char uid[8];
		bool is_stopped;
	} pods[MAX_PODS];
	uint32_t nr_pods;
	uint32_t nr_begun, nr_done; /* events */
	bool is_refused, has_lost_state;
} * node;

static struct played *find(const char *id)
{
	for (uint32_t i = 0; i < node->nr; i++)
		if (!strcmp(node->containers[i].id, id))
			return &node->containers[i];
	return NULL;
}

static void drop_containers(const char *pod)
{
	for (uint32_t i = node->nr; i-- > 0;)
		if (!strcmp(node->containers[i].pod, pod))
			node->containers[i] = node->containers[--node->nr];
}

static void note_pod(const char *uid, bool is_there, bool is_stopped)
{
	for (uint32_t i = 0; i < node->nr_pods; i++) {
		if (strcmp(node->pods[i].uid, uid) != 0)
			continue;
		if (is_there)
			node->pods[i].is_stopped = is_stopped;
		else
			node->pods[i] = node->pods[--node->nr_pods];
		return;
	}
	if (!is_there)
		return;
	assert_true(node->nr_pods < MAX_PODS);
	text_copy(node->pods[node->nr_pods++].uid, sizeof(node->pods[0].uid), uid);
}

/* What the runtime does before it tells the agent. */
static void begin(const struct chapter *chapter)
{
	struct played *container = find(chapter->id);

	node->is_refused = false;
	switch (chapter->act) {
	case CREATE:
		assert_true(node->nr < MAX_CONTAINERS);
		container = &node->containers[node->nr++];
		*container = (struct played){.mcpu = chapter->mcpu, .kind = chapter->kind};
		text_copy(container->pod, sizeof(container->pod), chapter->pod);
		text_copy(container->name, sizeof(container->name), chapter->name);
		text_copy(container->id, sizeof(container->id), chapter->id);
		note_pod(chapter->pod, true, false);
		break;
	case STOP:
		container->runs = false;
		break;
	case REMOVE:
		*container = node->containers[--node->nr];
		break;
	case STOP_POD:
		drop_containers(chapter->pod);
		note_pod(chapter->pod, true, true);
		break;
	case REMOVE_POD:
		drop_containers(chapter->pod);
		note_pod(chapter->pod, false, false);
		break;
	default:
		break;
	}
}

/* And afterwards, whether there was an answer or not. */
static void finish(const struct chapter *chapter)
{
	struct played *container = find(chapter->id);

	if (chapter->act == CREATE)
		container->is_created = container->runs = true;
	if (chapter->act == RESIZE && !node->is_refused)
		container->mcpu = chapter->mcpu;
	node->nr_done++;
}

static int take_answer(void *self, uint32_t request, const struct runtime_answer *answer)
{
	const struct chapter *chapter = node->nr_begun ? &story[node->nr_begun - 1] : NULL;

	fake_maybe_die();
	/* Only a resize may be: an agent that lost its state does not know a smaller admission. */
	node->is_refused = answer->refusal;
	if (answer->refusal && (!node->has_lost_state || chapter->act != RESIZE))
		fail_msg("after %u events: %s", node->nr_done, answer->refusal);
	for (uint32_t i = 0; i < answer->nr_changes; i++) {
		struct played *container = find(answer->changes[i].container_id);

		if (container)
			text_copy(container->cpus, sizeof(container->cpus),
				  answer->changes[i].cpus);
	}
	if (chapter && node->nr_done < node->nr_begun && chapter->act == CREATE)
		text_copy(find(chapter->id)->cpus, sizeof(find(chapter->id)->cpus), answer->cpus);
	fake_maybe_die();
	return 0;
}

static const struct runtime_port port = {.answer = take_answer};

/* --- what it tells ------------------------------------------------------------------------------ */

static struct pod_spec spec_of_pod(const char *uid)
{
	const bool has_budget = !strcmp(uid, "b");
	struct pod_spec spec = {
		.is_of_runtime = true,
		.stated_qos = strcmp(uid, "w") ? QOS_GUARANTEED : QOS_BURSTABLE,
		.has_pod_resources = has_budget,
		.request = RESOURCES_UNSET,
		.limit = RESOURCES_UNSET,
		.overhead = RESOURCES_UNSET,
	};

	text_copy(spec.uid, sizeof(spec.uid), uid);
	text_copy(spec.name, sizeof(spec.name), uid);
	text_copy(spec.namespace, sizeof(spec.namespace), "default");
	if (has_budget) {
		spec.request.cpu_mcpu = spec.limit.cpu_mcpu = 4000;
		spec.request.memory_bytes = spec.limit.memory_bytes = 4 * GIB;
	}
	return spec;
}

static struct container_spec spec_of(const char *name, int64_t mcpu, enum container_kind kind)
{
	struct container_spec spec = {
		.kind = kind, .request = RESOURCES_UNSET, .limit = RESOURCES_UNSET};

	text_copy(spec.name, sizeof(spec.name), name);
	if (!mcpu)
		return spec;
	spec.request.cpu_mcpu = spec.limit.cpu_mcpu = mcpu;
	spec.request.memory_bytes = spec.limit.memory_bytes = GIB;
	return spec;
}

static void tell(struct controller *controller, const struct chapter *chapter)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;
	const struct pod_spec pod = spec_of_pod(chapter->pod);
	const struct container_spec spec = spec_of(chapter->name, chapter->mcpu, chapter->kind);
	const struct runtime_pod sandbox = {.id = chapter->pod, .spec = &pod};
	const struct runtime_container container = {
		.id = chapter->id, .pod = &sandbox, .spec = &spec, .cpus = ""};

	switch (chapter->act) {
	case CREATE:
		return sink->created(sink->self, 1, &container);
	case UPDATE:
		return sink->resized(sink->self, 1, &container, false);
	case RESIZE:
		sink->resized(sink->self, 1, &container, true);
		return sink->updated(sink->self, chapter->id);
	case STOP:
		return sink->stopped(sink->self, 1, chapter->id);
	case REMOVE:
		return sink->removed(sink->self, chapter->id);
	default:
		return sink->pod_stopped(sink->self, chapter->pod);
	}
}

static void synchronize(struct controller *controller)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;
	struct pod_spec pods[MAX_PODS];
	struct runtime_pod sandboxes[MAX_PODS];
	struct container_spec specs[MAX_CONTAINERS];
	struct runtime_container containers[MAX_CONTAINERS];
	struct runtime_snapshot snapshot = {sandboxes, node->nr_pods, containers, 0};

	for (uint32_t i = 0; i < node->nr_pods; i++) {
		pods[i] = spec_of_pod(node->pods[i].uid);
		sandboxes[i] = (struct runtime_pod){.id = node->pods[i].uid,
						    .spec = &pods[i],
						    .is_stopped = node->pods[i].is_stopped};
	}
	for (uint32_t i = 0; i < node->nr; i++) {
		const struct played *played = &node->containers[i];
		uint32_t nr = snapshot.nr_containers, pod = 0;

		if (!played->runs)
			continue;
		while (strcmp(node->pods[pod].uid, played->pod) != 0)
			pod++;
		specs[nr] = spec_of(played->name, played->mcpu, played->kind);
		containers[nr] = (struct runtime_container){.id = played->id,
							    .pod = &sandboxes[pod],
							    .spec = &specs[nr],
							    .cpus = played->cpus};
		snapshot.nr_containers++;
	}
	sink->synchronized(sink->self, 1, &snapshot);
	controller_wake(controller);
}

/* The rest of the story, as far as this agent lives. */
static void play(struct controller *controller)
{
	while (node->nr_begun < ARRAY_SIZE(story)) {
		const struct chapter *chapter = &story[node->nr_begun];

		begin(chapter);
		node->nr_begun++;
		tell(controller, chapter);
		finish(chapter);
		controller_wake(controller);
	}
}

/* --- what must hold ----------------------------------------------------------------------------- */

static bool is_exclusive(const struct played *container)
{
	return container->mcpu && container->mcpu % 1000 == 0;
}

static void assert_apart(void)
{
	for (uint32_t i = 0; i < node->nr; i++) {
		const struct played *owner = &node->containers[i];
		struct cpuset own = cpuset_of_text(owner->cpus);

		if (!owner->runs || !is_exclusive(owner))
			continue;
		assert_int_equal(cpuset_count(&own), owner->mcpu / 1000);
		for (uint32_t j = 0; j < node->nr; j++) {
			const struct played *other = &node->containers[j];
			struct cpuset cpus = cpuset_of_text(other->cpus);

			if (i != j && other->runs && cpuset_intersects(&own, &cpus))
				fail_msg("after %u events %s has CPUs of %s: %s, %s", node->nr_done,
					 other->id, owner->id, other->cpus, owner->cpus);
		}
	}
}

/* A pod that the runtime has no more, or whose sandbox has stopped, holds nothing. */
static void assert_no_leaks(const struct controller *controller)
{
	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const char *uid = ledger_pod_at(controller->ledger, i)->spec->uid;
		bool is_there = false;

		for (uint32_t j = 0; j < node->nr_pods; j++)
			is_there |= !strcmp(node->pods[j].uid, uid) && !node->pods[j].is_stopped;
		if (!is_there)
			fail_msg("after %u events pod %s is held", node->nr_done, uid);
	}
}

static void assert_agreed(const struct controller *controller)
{
	char error[256] = "";

	if (ledger_check(controller->ledger, error, sizeof(error)))
		fail_msg("%s", error);
	for (uint32_t i = 0; i < node->nr; i++) {
		const struct played *container = &node->containers[i];
		const struct ledger_pod *pod = ledger_find(controller->ledger, container->pod);
		struct cpuset cpus = cpuset_of_text(container->cpus);
		const struct grant *grant;

		if (!container->runs)
			continue;
		grant = pod ? ledger_find_grant(pod, container->name) : NULL;
		assert_non_null(grant);
		if (!cpuset_equal(ledger_effective(controller->ledger, grant), &cpus))
			fail_msg("after %u events %s has %s, which is not its grant", node->nr_done,
				 container->id, container->cpus);
	}
	assert_apart();
	assert_no_leaks(controller);
}

/* The state file alone says the same as the agent that wrote it. */
static void assert_saved(struct controller *controller)
{
	struct controller *next;

	for (int i = 0; i < 3; i++)
		controller_wake(controller);
	next = start_controller();
	assert_int_equal(ledger_nr_pods(next->ledger), ledger_nr_pods(controller->ledger));
	for (uint32_t i = 0; i < ledger_nr_pods(next->ledger); i++) {
		const struct ledger_pod *saved = ledger_pod_at(next->ledger, i);
		const struct ledger_pod *pod = ledger_find(controller->ledger, saved->spec->uid);

		assert_non_null(pod);
		assert_true(cpuset_equal(saved->held, pod->held));
		assert_int_equal(saved->nr_grants, pod->nr_grants);
	}
	controller_free(next);
}

/* --- deaths ------------------------------------------------------------------------------------- */

static int set_up_node(void **state)
{
	if (set_up(state))
		return -1;
	config.policy.align = ALIGN_BEST_EFFORT;
	config.policy.scope = ALIGN_SCOPE_POD;
	policy = config.policy;
	node = mmap(NULL, sizeof(*node), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(node != MAP_FAILED);
	scene_runtime = &port;
	return 0;
}

static int tear_down_node(void **state)
{
	munmap(node, sizeof(*node));
	scene_runtime = NULL;
	return tear_down(state);
}

/* An agent that starts, hears of all that there is, and follows the story, until it dies. */
static bool dies_at(int call)
{
	pid_t child;
	int status;

	fake->calls_left = call;
	child = fork();
	if (!child) {
		struct controller *controller = start_controller();

		synchronize(controller);
		play(controller);
		_exit(0);
	}
	waitpid(child, &status, 0);
	fake->calls_left = -1;
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == FAKE_DEATH);
	/* The runtime goes on without the plugin. */
	if (node->nr_done < node->nr_begun)
		finish(&story[node->nr_begun - 1]);
	return WEXITSTATUS(status);
}

/* The last agent of all; it lives. */
static void end_well(void)
{
	struct controller *controller = start_controller();

	synchronize(controller);
	assert_agreed(controller);
	assert_saved(controller);
	play(controller);
	assert_int_equal(node->nr_pods, 0);
	assert_no_leaks(controller);
	assert_saved(controller);
	assert_int_equal(ledger_nr_pods(controller->ledger), 0);
	controller_free(controller);
}

static void begin_anew(void)
{
	fake_world_reset();
	memset(node, 0, sizeof(*node));
}

static void each_call_may_be_the_last(void **state)
{
	int call = 1;

	for (bool died = true; died; call++) {
		begin_anew();
		died = dies_at(call);
		end_well();
	}
	print_message("died at each of %d calls\n", call - 2);
	assert_true(call > 4 * (int)ARRAY_SIZE(story));
}

/* The next agent dies as well, while it begins, and the one after that, a bit later each time. */
static void agents_may_die_one_after_the_other(void **state)
{
	for (int first = 3; first < 200; first += 7) {
		begin_anew();
		dies_at(first);
		for (int call = 1; node->nr_begun < ARRAY_SIZE(story) && call < 40; call++)
			dies_at(call);
		end_well();
	}
}

/* Whatever was durable is lost: what the runtime has recorded is all that there is. */
static void the_state_may_be_lost_as_well(void **state)
{
	int call = 1;

	for (bool died = true; died; call++) {
		begin_anew();
		died = dies_at(call);
		fake->state_len = 0;
		fake->has_state = false;
		node->has_lost_state = true;
		end_well();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_call_may_be_the_last, set_up_node,
						tear_down_node),
		cmocka_unit_test_setup_teardown(agents_may_die_one_after_the_other, set_up_node,
						tear_down_node),
		cmocka_unit_test_setup_teardown(the_state_may_be_lost_as_well, set_up_node,
						tear_down_node),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
