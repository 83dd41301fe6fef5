// SPDX-License-Identifier: Apache-2.0
/*
 * Kinds take_packed, take_distributed, resize_packed and resize_distributed: one take, one
 * answer. Whatever the recorded answer says, but for kubelet-1.36 the CPUs must be candidates
 * and their number exact.
 */
#include <stdio.h>
#include <string.h>

#include "core/cpu/take.h"
#include "replay.h"

typedef enum take_status take_function(const struct topology *topology, const struct cpuset *free,
				       unsigned int count, const struct take_options *options,
				       struct cpuset *ret_cpus);

static void answer_text(enum take_status status, const struct cpuset *cpus, char *text, size_t size)
{
	if (status == TAKE_OK)
		cpuset_format(cpus, text, size);
	else
		snprintf(text, size, "%s", take_status_name(status));
}

typedef enum take_status resize_function(const struct topology *topology, const struct cpuset *held,
					 const struct cpuset *free, unsigned int count,
					 const struct take_options *options,
					 struct cpuset *ret_cpus);

static struct take_options options_of(const struct replay *replay, struct json_object *line)
{
	return (struct take_options){
		.compatibility = replay->compatibility,
		.sorting = strcmp(field_text(line, "sorting", "packed"), "spread") == 0
				   ? TAKE_SPREAD
				   : TAKE_PACKED,
		.uncore = field_bool(line, "uncore"),
		.group = (unsigned int)field_int(line, "group", 1),
		.min_nodes = (unsigned int)field_int(line, "min_nodes", 0),
		.by_socket = field_bool(line, "by_socket") || field_bool(line, "align_by_socket"),
	};
}

static enum outcome compare(struct replay *replay, struct json_object *want, const char *got)
{
	const char *wanted = field_text(want, "error", NULL);

	if (!wanted)
		wanted = field_text(want, "cpus", NULL);
	if (!wanted)
		return replay_fail(replay, "the case wants neither CPUs nor an error");
	if (strcmp(got, wanted) != 0)
		return replay_fail(replay, "want %.1900s, got %.1900s", wanted, got);
	return OUTCOME_PASSED;
}

static enum outcome play(struct replay *replay, struct json_object *line, take_function *take)
{
	const struct topology *topology = replay_topology(replay, line);
	struct json_object *want = replay_want(replay, line);
	unsigned int count = (unsigned int)field_int(line, "num", 0);
	const struct take_options options = options_of(replay, line);
	struct cpuset available, got = CPUSET_EMPTY;
	char text[CPUSET_TEXT_MAX];
	enum take_status status;
	enum outcome outcome;

	if (!topology || !want || !field_cpus(line, "available", &available))
		return replay_fail(replay, "the case lacks topo, want or a valid available");
	status = take(topology, &available, count, &options, &got);
	answer_text(status, &got, text, sizeof(text));
	outcome = compare(replay, want, text);
	if (outcome != OUTCOME_PASSED)
		return outcome;
	if (!compatibility_is_kubelet(replay->compatibility) && status == TAKE_OK &&
	    (cpuset_count(&got) != count || !cpuset_is_subset(&got, &available)))
		return replay_fail(replay, "%.3000s is not %u CPUs out of the candidates", text,
				   count);
	return OUTCOME_PASSED;
}

/*
 * The CPUs of a container that is resized in place: it keeps what it has when it grows, and
 * stays within that, but keeps those of its admission, when it shrinks.
 */
static enum outcome play_resize(struct replay *replay, struct json_object *line,
				resize_function *resize)
{
	const struct topology *topology = replay_topology(replay, line);
	/* No kubelet resizes yet, so each mode gives the answer without the proposal's flaws. */
	struct json_object *fixed = field_of(line, "want_fixed");
	struct json_object *want = fixed ? fixed : replay_want(replay, line);
	const unsigned int count = (unsigned int)field_int(line, "num", 0);
	const struct take_options options = options_of(replay, line);
	struct cpuset available, baseline, current, got = CPUSET_EMPTY;
	char text[CPUSET_TEXT_MAX];
	const struct cpuset *held;
	enum take_status status;

	if (!topology || !want || !field_cpus(line, "available", &available) ||
	    !field_cpus(line, "baseline", &baseline) || !field_cpus(line, "current", &current))
		return replay_fail(replay, "the case lacks topo, want or a valid CPU list");
	/* The ledger never has such a container. */
	if (!cpuset_is_subset(&baseline, &current))
		return replay_skip(replay, "the baseline is not among the current CPUs");
	held = count >= cpuset_count(&current) ? &current : &baseline;
	status = resize(topology, held, &available, count, &options, &got);
	answer_text(status, &got, text, sizeof(text));
	return compare(replay, want, text);
}

enum outcome replay_take_packed(struct replay *replay, struct json_object *line)
{
	return play(replay, line, take_packed);
}

enum outcome replay_take_distributed(struct replay *replay, struct json_object *line)
{
	return play(replay, line, take_distributed);
}

enum outcome replay_resize_distributed(struct replay *replay, struct json_object *line)
{
	return play_resize(replay, line, take_distributed_near);
}

enum outcome replay_resize_packed(struct replay *replay, struct json_object *line)
{
	return play_resize(replay, line, take_packed_near);
}
