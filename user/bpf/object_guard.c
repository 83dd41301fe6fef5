// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "bpf/object_guard.h"
#include "guard.skel.h"
#include "lib/file.h"

/*
 * systemd writes a dozen files for each container's scope and as many for its pod's slice, which
 * have three entries of `managed` together. The map `pid1_writes` has the last text of each.
 */
#define TEXTS_PER_GROUP 8

DEFINE_CLEANUP(struct guard, guard_closep, guard__destroy);
#define cleanup_guard cleanup(guard_closep)

static bool has_ability(const struct abilities *abilities, enum ability ability)
{
	return abilities->rows[ability].state == FEATURE_YES;
}

static enum mechanism find_mechanism(const struct abilities *abilities)
{
	if (has_ability(abilities, ABILITY_BPF_LSM))
		return MECHANISM_LSM;
	return has_ability(abilities, ABILITY_FMOD_RET) ? MECHANISM_FMOD_RET : MECHANISM_NONE;
}

/* fmod_ret is probed only where lsm is not available: each probe takes time at a start. */
static enum mechanism choose_mechanism(struct abilities *abilities)
{
	abilities_probe(abilities, ABILITY_BPF_LSM + 1);
	if (!has_ability(abilities, ABILITY_BPF_LSM))
		abilities_probe(abilities, ABILITY_FMOD_RET + 1);
	return find_mechanism(abilities);
}

const struct feature_row *guard_find_obstacle(const struct abilities *abilities)
{
	return find_mechanism(abilities) == MECHANISM_NONE ? &abilities->rows[ABILITY_BPF_LSM]
							   : NULL;
}

/* What protects the guard itself; it guards the containers without them. */
static void leave_out_files(struct guard *skeleton)
{
	struct bpf_program *programs[] = {
		skeleton->progs.lsm_unlink,	skeleton->progs.mod_unlink,
		skeleton->progs.lsm_rename,	skeleton->progs.mod_rename,
		skeleton->progs.lsm_mount,	skeleton->progs.mod_mount,
		skeleton->progs.lsm_move_mount, skeleton->progs.mod_move_mount,
		skeleton->progs.lsm_umount,	skeleton->progs.mod_umount,
		skeleton->progs.lsm_remount,	skeleton->progs.mod_remount,
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		bpf_program__set_autoload(programs[i], false);
}

static void choose_programs(struct guard *skeleton, enum mechanism mechanism, bool clone_guard,
			    bool files)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, skeleton->obj) {
		const char *section = bpf_program__section_name(program);
		bool is_lsm = !strncmp(section, "lsm/", strlen("lsm/"));

		if (is_lsm || !strncmp(section, "fmod_ret/", strlen("fmod_ret/")))
			bpf_program__set_autoload(program, is_lsm == (mechanism == MECHANISM_LSM));
	}
	if (!files)
		leave_out_files(skeleton);
	if (clone_guard)
		return;
	bpf_program__set_autoload(skeleton->progs.lsm_fork, false);
	bpf_program__set_autoload(skeleton->progs.mod_fork, false);
	bpf_program__set_autoload(skeleton->progs.lsm_clone, false);
	bpf_program__set_autoload(skeleton->progs.mod_clone, false);
}

const void *guard_elf(size_t *ret_len)
{
	return guard__elf_bytes(ret_len);
}

static int start_with(const struct bpf_object_request *request, enum mechanism mechanism,
		      bool files, struct bpf_object_handle **ret_handle)
{
	struct bpf_object_spec spec = {
		.id = BPF_OBJECT_GUARD,
		.mechanism = mechanism,
		.sizes = request->sizes,
		.adopt_only = request->adopt_only,
		.keeps_meta = true,
	};
	struct guard *skeleton cleanup_guard = guard__open();

	if (!skeleton)
		return -errno;
	choose_programs(skeleton, mechanism, !request->options->no_clone_guard, files);
	skeleton->rodata->guard_mask_words = request->sizes->mask_words;
	bpf_map__set_max_entries(skeleton->maps.pid1_writes,
				 TEXTS_PER_GROUP * bpf_object_nr_managed(request->sizes));
	spec.object = skeleton->obj;
	spec.digest = bpf_object_digest(request->elf, request->elf_len, request->sizes,
					sizeof(*request->sizes), skeleton->obj);
	return bpf_object_start(&spec, request->options->bpffs_dir, ret_handle);
}

/* An unknown kernel may have other functions for mounts. 524 is its own ENOTSUPP. */
bool guard_is_refusal(int error)
{
	switch (-error) {
	case ESRCH:
	case EINVAL:
	case EACCES:
	case E2BIG:
	case EOPNOTSUPP:
	case 524:
		return true;
	default:
		return false;
	}
}

int guard_start(const struct bpf_object_request *request, struct bpf_object_instance *ret_instance)
{
	enum mechanism mechanism = choose_mechanism(request->abilities);
	struct bpf_object_handle *handle = NULL;
	int left_out = 0, r;

	if (mechanism == MECHANISM_NONE)
		return -ENOTSUP;
	r = start_with(request, mechanism, true, &handle);
	if (guard_is_refusal(r)) {
		left_out = r;
		r = start_with(request, mechanism, false, &handle);
	}
	if (r)
		return r;
	*ret_instance = (struct bpf_object_instance){.handle = handle, .left_out = left_out};
	return 0;
}
