/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container runtime that writes down each answer that it gets, and what it asks the controller.
 * Include it after cmocka.
 */
#ifndef TESTS_RUNTIME_ANSWERS_SCENE_H
#define TESTS_RUNTIME_ANSWERS_SCENE_H

#include "runtime_scene.h"

#define MAX_ANSWERS 256

static struct {
	uint32_t request;
	char cpus[64], refusal[256];
	char changes[4096]; /* "ID=CPUS " for each, in their order */
} answers[MAX_ANSWERS];
static uint32_t nr_answers;

static inline int write_down(void *self, uint32_t request, const struct runtime_answer *answer)
{
	size_t at = 0;

	assert_true(nr_answers < MAX_ANSWERS);
	answers[nr_answers].request = request;
	snprintf(answers[nr_answers].cpus, sizeof(answers->cpus), "%s", answer->cpus);
	snprintf(answers[nr_answers].refusal, sizeof(answers->refusal), "%s",
		 answer->refusal ? answer->refusal : "");
	*answers[nr_answers].changes = '\0';
	for (uint32_t i = 0; i < answer->nr_changes; i++)
		at += (size_t)snprintf(answers[nr_answers].changes + at,
				       sizeof(answers->changes) - at, "%s=%s ",
				       answer->changes[i].container_id, answer->changes[i].cpus);
	nr_answers++;
	return 0;
}

static const struct runtime_port recorder = {.answer = write_down};

static inline struct controller *start_recorded(void)
{
	struct controller *controller;

	nr_answers = 0;
	scene_runtime = &recorder;
	controller = start_controller();
	synchronize(controller, NULL, 0, NULL, 0);
	assert_int_equal(nr_answers, 1);
	nr_answers = 0;
	return controller;
}

/* A request for a container of pod UID in this sandbox; Guaranteed if it asks for whole CPUs. */
static inline void ask_in(struct controller *controller, uint32_t request, const char *sandbox_id,
			  const char *uid, const char *name, const char *id, int64_t mcpu)
{
	const struct pod_spec pod = pod_of(uid, mcpu % 1000 ? QOS_BURSTABLE : QOS_GUARANTEED);
	const struct container_spec spec = container_of(name, mcpu);
	const struct runtime_pod sandbox = {.id = sandbox_id, .spec = &pod};
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .spec = &spec, .cpus = ""};

	sink_of(controller)->created(controller, request, &container);
}

static inline void ask(struct controller *controller, uint32_t request, const char *uid,
		       const char *id, int64_t mcpu)
{
	ask_in(controller, request, uid, uid, "main", id, mcpu);
}

static inline void expect_answer(uint32_t index, uint32_t request, const char *cpus,
				 const char *changes)
{
	assert_true(index < nr_answers);
	assert_int_equal(answers[index].request, request);
	assert_string_equal(answers[index].refusal, "");
	assert_string_equal(answers[index].cpus, cpus);
	assert_string_equal(answers[index].changes, changes);
}

static inline void expect_denial(uint32_t index, uint32_t request, const char *part)
{
	assert_true(index < nr_answers);
	assert_int_equal(answers[index].request, request);
	if (!strstr(answers[index].refusal, part))
		fail_msg("'%s' does not say '%s'", answers[index].refusal, part);
}

static inline void end_all_saves(struct controller *controller, int result)
{
	while (fake->is_saving)
		fake_end_save(controller, result);
}

/* A row of a snapshot. */
static inline struct runtime_container found(const char *id, const struct runtime_pod *pod,
					     const struct container_spec *spec, const char *cpus)
{
	return (struct runtime_container){.id = id, .pod = pod, .spec = spec, .cpus = cpus};
}

#endif
