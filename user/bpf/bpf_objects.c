// SPDX-License-Identifier: Apache-2.0
/*
 * Knows the objects' programs and map sizes. The features are decided here, in one place:
 * abilities → programs to load → bring up.
 */
#include <errno.h>
#include <string.h>

#include "bpf/bpf_objects.h"
#include "guard.skel.h"
#include "watch.skel.h"

DEFINE_CLEANUP(struct guard, guard_closep, guard__destroy);
DEFINE_CLEANUP(struct watch, watch_closep, watch__destroy);

enum mechanism guard_mechanism(const struct feature_row abilities[ABILITY_NR])
{
	if (abilities[ABILITY_BPF_LSM].state == FEATURE_YES)
		return MECHANISM_LSM;
	return abilities[ABILITY_FMOD_RET].state == FEATURE_YES ? MECHANISM_FMOD_RET
								: MECHANISM_NONE;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

int guard_start(const struct feature_row abilities[ABILITY_NR],
		const struct bpf_object_sizes *sizes, bool clone_guard, const char *pin_dir,
		struct bpf_object_handle **ret_handle)
{
	struct guard *skeleton cleanup(guard_closep) = NULL;
	enum mechanism mechanism = guard_mechanism(abilities);
	struct bpf_object_spec spec = {
		.id = BPF_OBJECT_GUARD, .name = "guard", .mechanism = mechanism};
	struct bpf_program *program;
	const void *bytes;
	size_t len;

	if (mechanism == MECHANISM_NONE)
		return -ENOTSUP;
	skeleton = guard__open();
	if (!skeleton)
		return -errno;
	bpf_object__for_each_program (program, skeleton->obj) {
		const char *section = bpf_program__section_name(program);

		bpf_program__set_autoload(program, starts_with(section, "lsm/") ==
							   (mechanism == MECHANISM_LSM));
	}
	if (!clone_guard) {
		bpf_program__set_autoload(skeleton->progs.lsm_fork, false);
		bpf_program__set_autoload(skeleton->progs.mod_fork, false);
		bpf_program__set_autoload(skeleton->progs.lsm_clone, false);
		bpf_program__set_autoload(skeleton->progs.mod_clone, false);
	}
	bpf_map__set_max_entries(skeleton->maps.managed, bpf_object_nr_managed(sizes));
	bytes = guard__elf_bytes(&len);
	spec.object = skeleton->obj;
	spec.digest = bpf_object_digest(bytes, len, sizes, sizeof(*sizes), skeleton->obj);
	return bpf_object_start(&spec, pin_dir, ret_handle);
}

static int start_watch_with(const struct bpf_object_sizes *sizes, bool traces, const char *pin_dir,
			    bool adopt_only, struct bpf_object_handle **ret_handle)
{
	struct watch *skeleton cleanup(watch_closep) = watch__open();
	struct bpf_object_spec spec = {
		.id = BPF_OBJECT_WATCH, .name = "watch", .adopt_only = adopt_only};
	struct bpf_program *program;
	const void *bytes;
	size_t len;

	if (!skeleton)
		return -errno;
	bpf_object__for_each_program (program, skeleton->obj)
		bpf_program__set_autoload(program,
					  traces || starts_with(bpf_program__section_name(program),
								"tp_btf/"));
	skeleton->rodata->mask_words = sizes->mask_words;
	bpf_map__set_max_entries(skeleton->maps.managed, bpf_object_nr_managed(sizes));
	bpf_map__set_max_entries(skeleton->maps.watch_masks, 2 * sizes->mask_words);
	bpf_map__set_max_entries(skeleton->maps.slot_masks, sizes->nr_slots * sizes->mask_words);
	bytes = watch__elf_bytes(&len);
	spec.object = skeleton->obj;
	spec.digest = bpf_object_digest(bytes, len, sizes, sizeof(*sizes), skeleton->obj);
	return bpf_object_start(&spec, pin_dir, ret_handle);
}

int watch_start(const struct feature_row abilities[ABILITY_NR],
		const struct bpf_object_sizes *sizes, const char *pin_dir, bool adopt_only,
		struct bpf_object_handle **ret_handle, bool *ret_traces)
{
	bool traces = abilities[ABILITY_FENTRY].state == FEATURE_YES;
	int r = start_watch_with(sizes, traces, pin_dir, adopt_only, ret_handle);

	/* on an unknown kernel a traced function may be inlined or renamed */
	if (r && r != -ESTALE && traces) {
		traces = false;
		r = start_watch_with(sizes, false, pin_dir, adopt_only, ret_handle);
	}
	if (!r)
		*ret_traces = traces;
	return r;
}
