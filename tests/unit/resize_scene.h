/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger whose pods are resized in place. Include after cmocka.h. */
#ifndef RESIZE_SCENE_H
#define RESIZE_SCENE_H

#include "scene.h"

#include "core/admit/resize.h"

struct scene {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

/* 2 sockets with one node each, 8 cores of 2 threads: cores N/N+16. */
static inline void set_up_reserved(struct scene *scene, const char *reserved,
				   enum align_policy align)
{
	scene->topology = scene_machine(2, 1, 8, 2);
	scene->policy = strict_policy(reserved);
	scene->policy.align = align;
	scene->ledger = scene_ledger(scene->topology, &scene->policy);
}

/* CPU 0 and 16 are reserved. */
static inline void set_up(struct scene *scene, enum align_policy align)
{
	set_up_reserved(scene, "0,16", align);
}

static inline void tear_down(struct scene *scene)
{
	ledger_free(scene->ledger);
	topology_free(scene->topology);
}
#define cleanup_scene cleanup(tear_down)

static inline struct decision admit_pods(struct scene *scene, struct pod_spec *spec)
{
	return admit_and_free(scene->ledger, spec);
}

static inline const struct grant *grant_of(const struct scene *scene, const char *uid,
					   uint32_t index)
{
	const struct ledger_pod *pod = ledger_find(scene->ledger, uid);

	assert_non_null(pod);
	return &pod->grants[index];
}

static inline void assert_has(const struct scene *scene, const char *uid, uint32_t index,
			      const char *cpus)
{
	assert_cpus(grant_of(scene, uid, index)->cpus, cpus);
}

/* Two containers of which each may be resized. */
static inline struct pod_spec *two(int64_t first, int64_t second)
{
	struct pod_spec *spec = scene_pod("p");

	add_container(spec, "first", CONTAINER_APP, first * 1000, first * 1000);
	add_container(spec, "second", CONTAINER_APP, second * 1000, second * 1000);
	return spec;
}

/* A pod with a budget, an exclusive container and one that shares the rest. */
static inline struct pod_spec *budget(int64_t pod, int64_t exclusive)
{
	struct pod_spec *spec = scene_pod("p");

	add_container(spec, "db", CONTAINER_APP, exclusive * 1000, exclusive * 1000);
	add_container(spec, "log", CONTAINER_APP, 500, RESOURCE_UNSET);
	set_budget(spec, pod);
	return spec;
}

#endif
