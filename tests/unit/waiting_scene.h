/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A controller while something waits in the kernel or on the disk, and a process that asks
 * to join a container meanwhile. Include after cmocka.h.
 */
#ifndef WAITING_SCENE_H
#define WAITING_SCENE_H

#include <errno.h>

#include "controller_scene.h"
#include "lib/log.h"

#define SECOND 1000000000ULL

static inline void be_slow_with(const char *path, enum group_file file)
{
	snprintf(fake->slow_path, sizeof(fake->slow_path), "%s", path);
	fake->slow_file = file;
}

static inline void be_fast(void)
{
	*fake->slow_path = '\0';
}

static inline bool is_ready(struct controller *controller, char reason[512])
{
	const struct faces_port *faces = controller_faces(controller);

	*reason = '\0';
	return faces->ready(faces->self, reason, 512);
}

static inline void end(struct controller *controller, struct pod_spec **pods, uint32_t nr)
{
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, nr);
}

static inline void end_look(struct controller *controller)
{
	fake_end_look(controller);
	controller_wake(controller);
}

/* web runs on all CPUs; then an exclusive pod and one that has nothing to do with it come. */
static inline struct controller *start_with_web(struct pod_spec **pods)
{
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	populate(true);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	return controller;
}

static uint64_t answered_request;
static unsigned int answered_status, nr_answers;
static char answered_text[1024];

static inline void on_answered(void *self, uint64_t request, unsigned int status,
			       struct json_object *json)
{
	answered_request = request;
	answered_status = status;
	snprintf(answered_text, sizeof(answered_text), "%s", json_object_to_json_string(json));
	json_object_put(json);
	nr_answers++;
}

static const struct answer_sink answers = {NULL, on_answered};

static const struct answer_sink *listener = &answers;

/* This very process is who asks. */
static inline int run(struct controller *controller, uint64_t request, const char *pod,
		      const char *container, unsigned int *ret_status)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *body = json_object_new_object(), *answer = NULL;
	int r;

	answered_request = answered_status = nr_answers = 0;
	faces->listen(faces->self, listener);
	json_object_object_add(body, "pod", json_object_new_string(pod));
	json_object_object_add(body, "container", json_object_new_string(container));
	r = faces->command(faces->self, request, "run", "", body, getpid(), &answer, ret_status);
	json_object_put(body);
	json_object_put(answer);
	return r;
}

#endif
