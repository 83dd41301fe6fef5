// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/bpf_objects.h"
#include "bpf/object_guard.h"
#include "bpf/object_observe.h"
#include "bpf/object_watch.h"
#include "format/words.h"

static const struct bpf_object_row rows[BPF_OBJECT_NR] = {
	[BPF_OBJECT_GUARD] =
		{
			.is_awaited = true,
			.subject = "the guard",
			.optional = "guard_files",
			.optional_reason =
				"the kernel refuses the programs that protect pins and mounts: "
				"changes are reverted while the agent runs, but not denied",
			.elf = guard_elf,
			.start = guard_start,
			.find_obstacle = guard_find_obstacle,
		},
	[BPF_OBJECT_WATCH] =
		{
			.nr_abilities = ABILITY_NR,
			.subject = "the watch",
			.optional = "watch_traces",
			.optional_reason =
				"no fentry and fexit: inotify detects drift, but without the "
				"writer's name",
			.elf = watch_elf,
			.start = watch_start,
		},
	[BPF_OBJECT_OBSERVE] =
		{
			.subject = "the observer",
			.elf = observe_elf,
			.start = observe_start,
			.stop = observe_stop,
		},
};

const struct bpf_object_row *bpf_object_row(enum bpf_object_id id)
{
	return id < BPF_OBJECT_NR && rows[id].start ? &rows[id] : NULL;
}

/* --- those in force -------------------------------------------------------------------------------- */

static void begin_row(struct feature_row *row, const char *name)
{
	*row = (struct feature_row){.state = FEATURE_UNKNOWN, .error = EINPROGRESS};
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->reason, sizeof(row->reason), "its programs are being loaded");
	snprintf(row->remedy, sizeof(row->remedy), "run the command again in a few seconds");
}

void bpf_objects_begin(struct bpf_objects *objects, const struct bpf_backend_options *options)
{
	*objects = (struct bpf_objects){0};
	abilities_begin(&objects->abilities, options->identity, options->runtime_dir_fd);
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		const struct bpf_object_row *row = bpf_object_row(id);

		if (!row)
			continue;
		begin_row(&objects->rows[id], bpf_object_name(id));
		if (row->optional)
			begin_row(&objects->optional_rows[id], row->optional);
	}
}

void bpf_objects_free(struct bpf_objects *objects)
{
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		const struct bpf_object_row *row = bpf_object_row(id);
		struct bpf_object_instance *instance = &objects->instances[id];

		if (row && row->stop)
			row->stop(instance);
		else
			bpf_object_free(instance->handle);
		*instance = (struct bpf_object_instance){0};
	}
}

bool bpf_objects_any(const struct bpf_objects *objects)
{
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++)
		if (objects->instances[id].handle)
			return true;
	return false;
}

struct bpf_object_handle *bpf_objects_handle(const struct bpf_objects *objects,
					     enum bpf_object_id id)
{
	return objects->instances[id].handle;
}

int bpf_objects_map_fd(const struct bpf_objects *objects, const char *name)
{
	int fd = -1;

	for (enum bpf_object_id id = 0; fd < 0 && id < BPF_OBJECT_NR; id++)
		fd = bpf_object_map_fd(objects->instances[id].handle, name);
	return fd;
}

uint32_t bpf_objects_features(const struct bpf_objects *objects,
			      struct feature_row ret_rows[BPF_FEATURES_MAX])
{
	uint32_t nr = ABILITY_NR;

	memcpy(ret_rows, objects->abilities.rows, sizeof(objects->abilities.rows));
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		const struct bpf_object_row *row = bpf_object_row(id);

		if (row)
			ret_rows[nr++] = objects->rows[id];
		if (row && row->optional)
			ret_rows[nr++] = objects->optional_rows[id];
	}
	return nr;
}

void bpf_objects_merge(struct bpf_objects *objects, const struct bpf_objects *later)
{
	objects->abilities = later->abilities;
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		const struct bpf_object_row *row = bpf_object_row(id);

		if (!row || row->is_awaited)
			continue;
		objects->instances[id] = later->instances[id];
		objects->rows[id] = later->rows[id];
		objects->optional_rows[id] = later->optional_rows[id];
	}
}
