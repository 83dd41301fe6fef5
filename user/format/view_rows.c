// SPDX-License-Identifier: Apache-2.0
/* The builders of what is observed rather than decided, and of the small answers. */
#include "format/views.h"

#include <string.h>

#include <pinfold/names.h>

#include "format/view_build.h"

/* --- rows ------------------------------------------------------------------------------------- */

struct json_object *view_state(const struct state_row *row)
{
	struct build build = {0};
	struct json_object *object = build_object(&build);
	struct json_object *set_aside = build_array(&build);

	build_put_text(&build, object, "file", row->file);
	build_put_bool(&build, object, "present", row->present > 0);
	build_put_answer(&build, object, "writable", row->writable);
	build_put_known(&build, object, "version", row->version);
	build_put_text(&build, object, "boot_id", row->boot_id);
	build_put_known(&build, object, "written_ns", row->written_ns);
	build_put_known(&build, object, "pods", row->nr_pods);
	build_put_known(&build, object, "containers", row->nr_containers);
	build_put_text(&build, object, "problem", row->problem);
	for (size_t i = 0; i < row->nr_set_aside; i++)
		build_push_text(&build, set_aside, row->set_aside[i]);
	build_put(&build, object, "set_aside", set_aside);
	return build_finish(&build, object);
}

static struct json_object *one_drift(struct build *build, const struct drift_row *row)
{
	struct json_object *object = build_object(build);

	build_put_int(build, object, "since_ns", (int64_t)row->since_ns);
	build_put_bool(build, object, "open", !row->repaired_ns);
	build_put_known(build, object, "repaired_ns",
			row->repaired_ns ? (int64_t)row->repaired_ns : -1);
	build_put_text(build, object, "cgroup", row->path);
	build_put_text(build, object, "attribute", row->attribute);
	build_put_text(build, object, "wanted", row->wanted);
	build_put_text(build, object, "found", row->found);
	build_put_given(build, object, "cause", row->cause);
	build_put_known(build, object, "pid", row->pid ? (int64_t)row->pid : -1);
	build_put_given(build, object, "comm", row->comm);
	build_put_given(build, object, "writer_cgroup", row->cgroup);
	build_put_given(build, object, "action", row->action);
	return object;
}

struct json_object *view_drifts(const struct drift_row *rows, size_t nr_rows)
{
	struct build build = {0};
	struct json_object *array = build_array(&build);

	for (size_t i = 0; i < nr_rows; i++)
		build_push(&build, array, one_drift(&build, &rows[i]));
	return build_finish(&build, array);
}

static struct json_object *one_event(struct build *build, const struct event_row *row)
{
	struct json_object *object = build_object(build);

	build_put_int(build, object, "sequence", (int64_t)row->sequence);
	build_put_int(build, object, "time_ns", (int64_t)row->time_ns);
	build_put_text(build, object, "kind", row->kind);
	build_put_given(build, object, "action", row->action);
	build_put_given(build, object, "aspect", row->aspect);
	build_put_known(build, object, "pid", row->pid ? (int64_t)row->pid : -1);
	build_put_given(build, object, "comm", row->comm);
	build_put_given(build, object, "cgroup", row->cgroup);
	build_put_given(build, object, "target", row->target);
	build_put_given(build, object, "pod", row->pod);
	build_put_given(build, object, "container", row->container);
	build_put_given(build, object, "detail", row->detail);
	build_put_int(build, object, "suppressed", row->suppressed);
	return object;
}

struct json_object *view_events(const struct event_row *rows, size_t nr_rows)
{
	struct build build = {0};
	struct json_object *array = build_array(&build);

	for (size_t i = 0; i < nr_rows; i++)
		build_push(&build, array, one_event(&build, &rows[i]));
	return build_finish(&build, array);
}

static const char *const answer_names[FEATURE_STATE_NR] = {
	[FEATURE_NO] = "no",
	[FEATURE_YES] = "yes",
	[FEATURE_UNKNOWN] = "unknown",
};

struct json_object *view_features(const struct feature_row *rows, size_t nr_rows)
{
	struct build build = {0};
	struct json_object *array = build_array(&build);

	for (size_t i = 0; i < nr_rows; i++) {
		const struct feature_row *row = &rows[i];
		struct json_object *object = build_object(&build);
		const int error = row->error < 0 ? -row->error : row->error;

		build_put_text(&build, object, "name", row->name);
		build_put_text(&build, object, "state", answer_names[row->state]);
		build_put_int(&build, object, "errno", error);
		build_put_text(&build, object, "error", error ? strerrorname_np(error) : NULL);
		build_put_given(&build, object, "reason", row->reason);
		build_put_given(&build, object, "remedy", row->remedy);
		build_push(&build, array, object);
	}
	return build_finish(&build, array);
}

struct json_object *view_progs(const struct prog_row *rows, size_t nr_rows)
{
	struct build build = {0};
	struct json_object *array = build_array(&build);

	for (size_t i = 0; i < nr_rows; i++) {
		const struct prog_row *row = &rows[i];
		const bool counted = row->run_time_ns || row->run_count;
		struct json_object *object = build_object(&build);

		build_put_known(&build, object, "id", row->id ? (int64_t)row->id : -1);
		build_put_text(&build, object, "name", row->name);
		build_put_text(&build, object, "type", row->type);
		build_put_text(&build, object, "part", row->object);
		build_put_bool(&build, object, "attached", row->attached);
		build_put_bool(&build, object, "pinned", row->pinned);
		build_put_known(&build, object, "run_time_ns",
				counted ? (int64_t)row->run_time_ns : -1);
		build_put_known(&build, object, "run_count",
				counted ? (int64_t)row->run_count : -1);
		build_put_int(&build, object, "recursion_misses", (int64_t)row->recursion_misses);
		build_push(&build, array, object);
	}
	return build_finish(&build, array);
}

/* --- the rest --------------------------------------------------------------------------------- */

struct json_object *view_version(const char *program, const char *revision, const char *libbpf)
{
	struct build build = {0};
	struct json_object *object = build_object(&build);

	build_put_text(&build, object, "program", program);
	build_put_text(&build, object, "version", PINFOLD_VERSION);
	build_put_text(&build, object, "revision", revision);
	build_put_text(&build, object, "libbpf_version", libbpf);
	build_put_int(&build, object, "schema_version", PINFOLD_SCHEMA_VERSION);
	return build_finish(&build, object);
}

struct json_object *view_run(const char *namespace, const char *pod, const char *container,
			     const char *cgroup)
{
	struct build build = {0};
	struct json_object *object = build_object(&build);

	build_put_text(&build, object, "namespace", namespace);
	build_put_text(&build, object, "pod", pod);
	build_put_text(&build, object, "container", container);
	build_put_text(&build, object, "cgroup", cgroup);
	return build_finish(&build, object);
}

struct json_object *view_error(const char *sentence)
{
	struct build build = {0};
	struct json_object *object = build_object(&build);

	build_put_text(&build, object, "error", sentence);
	return build_finish(&build, object);
}
