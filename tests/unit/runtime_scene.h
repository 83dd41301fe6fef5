/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container runtime that does what it is answered, and reports of pods and containers to the
 * controller. The machine has CPUs 0 to 15, of which 0 and 1 are reserved. Include it after cmocka.
 */
#ifndef TESTS_RUNTIME_SCENE_H
#define TESTS_RUNTIME_SCENE_H

#include "controller_scene.h"

#define GIB (1LL << 30)

/* --- a runtime that does what it is answered ---------------------------------------------------- */

static struct {
	struct {
		char id[32], cpus[64], mems[64];
	} containers[16];
	uint32_t nr;
	char creating[32], updating[32];
	bool cannot_update; /* it fails to change the container that it is asked to update */
	char refusal[512];
	uint32_t request, nr_answers;
	uint32_t nr_strange; /* changes of containers that it does not have */
	int error;	     /* what it answers to an answer */
} node;

static inline const char *cpus_at(const char *id)
{
	for (uint32_t i = 0; i < node.nr; i++)
		if (!strcmp(node.containers[i].id, id))
			return node.containers[i].cpus;
	fail_msg("no container %s", id);
	return NULL;
}

/* A runtime ignores a change of a container that it does not have. */
static inline void set_cpus(const char *id, const char *cpus)
{
	for (uint32_t i = 0; i < node.nr; i++)
		if (!strcmp(node.containers[i].id, id)) {
			snprintf(node.containers[i].cpus, sizeof(node.containers[i].cpus), "%s",
				 cpus);
			return;
		}
	node.nr_strange++;
}

static inline const char *mems_at(const char *id)
{
	for (uint32_t i = 0; i < node.nr; i++)
		if (!strcmp(node.containers[i].id, id))
			return node.containers[i].mems;
	fail_msg("no container %s", id);
	return NULL;
}

/* Without them it keeps those that it has. */
static inline void set_mems(const char *id, const char *mems)
{
	for (uint32_t i = 0; i < node.nr && mems; i++)
		if (!strcmp(node.containers[i].id, id))
			snprintf(node.containers[i].mems, sizeof(node.containers[i].mems), "%s",
				 mems);
}

static inline bool is_exclusive(const char *id)
{
	return strstr(id, "excl");
}

/* In no step does anybody have a CPU of an exclusive container. */
static inline void assert_apart(void)
{
	for (uint32_t i = 0; i < node.nr; i++) {
		struct cpuset own = cpuset_of_text(node.containers[i].cpus), other;

		for (uint32_t j = 0; j < node.nr && is_exclusive(node.containers[i].id); j++) {
			other = cpuset_of_text(node.containers[j].cpus);
			if (j != i && *node.containers[j].cpus && cpuset_intersects(&own, &other))
				fail_msg("%s has CPUs of %s", node.containers[j].id,
					 node.containers[i].id);
		}
	}
}

static inline int take_answer(void *self, uint32_t request, const struct runtime_answer *answer)
{
	char own[64] = "";

	if (node.error)
		return node.error;
	assert_int_equal(request, node.request);
	node.nr_answers++;
	for (uint32_t i = 0; i < answer->nr_changes; i++) {
		const struct runtime_change *change = &answer->changes[i];

		/* The container that is updated comes last, wherever the answer has it. */
		if (!strcmp(change->container_id, node.updating))
			snprintf(own, sizeof(own), "%s", change->cpus);
		else
			set_cpus(change->container_id, change->cpus);
		set_mems(change->container_id, change->mems);
		assert_apart();
	}
	if (*own && !answer->refusal && !node.cannot_update) {
		set_cpus(node.updating, own);
		assert_apart();
	}
	snprintf(node.refusal, sizeof(node.refusal), "%s", answer->refusal ? answer->refusal : "");
	if (!*node.creating || answer->refusal)
		return 0;
	snprintf(node.containers[node.nr].id, sizeof(node.containers[0].id), "%s", node.creating);
	snprintf(node.containers[node.nr].cpus, sizeof(node.containers[0].cpus), "%s",
		 answer->cpus);
	snprintf(node.containers[node.nr].mems, sizeof(node.containers[0].mems), "%s",
		 answer->mems ? answer->mems : "");
	node.nr++;
	*node.creating = '\0';
	assert_apart();
	return 0;
}

static const struct runtime_port port = {.answer = take_answer};

/* --- what it reports ---------------------------------------------------------------------------- */

static inline struct pod_spec pod_of(const char *uid, enum qos_class qos)
{
	struct pod_spec spec = {.is_of_runtime = true, .stated_qos = qos};

	snprintf(spec.uid, sizeof(spec.uid), "%s", uid);
	snprintf(spec.name, sizeof(spec.name), "%s", uid);
	snprintf(spec.namespace, sizeof(spec.namespace), "default");
	spec.request = spec.limit = spec.overhead = RESOURCES_UNSET;
	return spec;
}

static inline struct container_spec container_of(const char *name, int64_t mcpu)
{
	struct container_spec spec = {.kind = CONTAINER_APP};

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	spec.request = spec.limit = RESOURCES_UNSET;
	spec.request.cpu_mcpu = spec.limit.cpu_mcpu = mcpu;
	spec.request.memory_bytes = spec.limit.memory_bytes = GIB;
	return spec;
}

/* A pod of a manifest, with a container "web". */
static inline struct pod_spec *manifest_pod(const char *uid, int64_t mcpu)
{
	struct pod_spec *spec = calloc(1, sizeof(*spec));

	assert_non_null(spec);
	*spec = pod_of(uid, 0);
	spec->is_of_runtime = false;
	spec->nr_containers = 1;
	spec->containers = calloc(1, sizeof(*spec->containers));
	assert_non_null(spec->containers);
	spec->containers[0] = container_of("web", mcpu);
	return spec;
}

static inline const struct runtime_sink *sink_of(struct controller *controller)
{
	return &controller_sinks(controller)->runtime;
}

/* Pod UID's only sandbox is called like it. Returns whether an answer came at once. */
static inline bool create(struct controller *controller, const char *uid, const char *name,
			  const char *id, int64_t mcpu)
{
	const struct pod_spec pod = pod_of(uid, mcpu % 1000 ? QOS_BURSTABLE : QOS_GUARANTEED);
	const struct container_spec spec = container_of(name, mcpu);
	const struct runtime_pod sandbox = {.id = uid, .spec = &pod};
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .spec = &spec, .cpus = ""};
	uint32_t nr_answers = node.nr_answers;

	snprintf(node.creating, sizeof(node.creating), "%s", id);
	node.request++;
	sink_of(controller)->created(controller, node.request, &container);
	return node.nr_answers > nr_answers;
}

static inline void forget(const char *id)
{
	for (uint32_t i = 0; i < node.nr; i++)
		if (!strcmp(node.containers[i].id, id))
			node.containers[i] = node.containers[--node.nr];
}

static inline void stop(struct controller *controller, const char *id)
{
	node.request++;
	sink_of(controller)->stopped(controller, node.request, id);
}

/* Pod UID's container is to have so many CPUs, and a kubelet states all amounts. */
static inline bool resize(struct controller *controller, const char *uid, const char *name,
			  const char *id, int64_t mcpu)
{
	const struct pod_spec pod = pod_of(uid, QOS_GUARANTEED);
	const struct container_spec spec = container_of(name, mcpu);
	const struct runtime_pod sandbox = {.id = uid, .spec = &pod};
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .spec = &spec, .cpus = ""};
	uint32_t nr_answers = node.nr_answers;

	snprintf(node.updating, sizeof(node.updating), "%s", id);
	node.request++;
	sink_of(controller)->resized(controller, node.request, &container, true);
	return node.nr_answers > nr_answers;
}

/* The runtime has changed what it was asked to update, if it could. */
static inline void end_update(struct controller *controller)
{
	char id[32];

	snprintf(id, sizeof(id), "%s", node.updating);
	*node.updating = '\0';
	if (!node.cannot_update)
		sink_of(controller)->updated(controller, id);
	node.cannot_update = false;
}

/* An update of something else than amounts. */
static inline void update_otherwise(struct controller *controller, uint32_t request, const char *id)
{
	static const struct runtime_pod sandbox = {.id = "", .error = "not stated"};
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .error = "not stated", .cpus = ""};

	sink_of(controller)->resized(controller, request, &container, false);
}

static inline void remove_container(struct controller *controller, const char *id)
{
	forget(id);
	sink_of(controller)->removed(controller, id);
}

static inline void synchronize(struct controller *controller, const struct runtime_pod *pods,
			       uint32_t nr_pods, const struct runtime_container *containers,
			       uint32_t nr_containers)
{
	const struct runtime_snapshot snapshot = {pods, nr_pods, containers, nr_containers};

	node.request++;
	*node.creating = '\0';
	sink_of(controller)->synchronized(controller, node.request, &snapshot);
}

static inline struct controller *start(void)
{
	struct controller *controller;

	memset(&node, 0, sizeof(node));
	scene_runtime = &port;
	controller = start_controller();
	synchronize(controller, NULL, 0, NULL, 0);
	return controller;
}

/* The member of the named pod's row; "" if there is no such pod. */
static inline const char *pod_member(struct controller *controller, const char *name,
				     const char *key)
{
	struct json_object *pods = query(controller, "pod");
	static char text[256];

	*text = '\0';
	for (size_t i = 0; i < json_object_array_length(pods); i++) {
		struct json_object *row = json_object_array_get_idx(pods, i);

		if (!strcmp(json_object_get_string(json_object_object_get(row, "name")), name))
			snprintf(text, sizeof(text), "%s",
				 json_object_get_string(json_object_object_get(row, key)));
	}
	json_object_put(pods);
	return text;
}

/* Events of this kind whose detail has `part` in it. */
static inline unsigned int nr_told(struct controller *controller, const char *kind,
				   const char *part)
{
	struct json_object *events = query(controller, "event");
	unsigned int nr = 0;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *row = json_object_array_get_idx(events, i);

		nr += !strcmp(json_object_get_string(json_object_object_get(row, "kind")), kind) &&
		      strstr(json_object_get_string(json_object_object_get(row, "detail")), part);
	}
	json_object_put(events);
	return nr;
}

static inline unsigned int nr_events(struct controller *controller, const char *kind)
{
	return nr_told(controller, kind, "");
}

static inline void put_container(const char *id, const char *cpus)
{
	snprintf(node.containers[node.nr].id, sizeof(node.containers[0].id), "%s", id);
	snprintf(node.containers[node.nr].cpus, sizeof(node.containers[0].cpus), "%s", cpus);
	node.nr++;
}

#endif
