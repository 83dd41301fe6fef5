// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "bpf/object_guard.h"
#include "guard.skel.h"

DEFINE_CLEANUP(struct guard, guard_closep, guard__destroy);

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

static void choose_programs(struct guard *skeleton, enum mechanism mechanism, bool clone_guard)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, skeleton->obj) {
		bool is_lsm = !strncmp(bpf_program__section_name(program), "lsm/", strlen("lsm/"));

		bpf_program__set_autoload(program, is_lsm == (mechanism == MECHANISM_LSM));
	}
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

int guard_start(const struct bpf_object_request *request, struct bpf_object_instance *ret_instance)
{
	enum mechanism mechanism = choose_mechanism(request->abilities);
	struct bpf_object_spec spec = {
		.id = BPF_OBJECT_GUARD,
		.mechanism = mechanism,
		.sizes = request->sizes,
		.adopt_only = request->adopt_only,
		.keeps_meta = true,
	};
	struct guard *skeleton cleanup(guard_closep) = NULL;

	if (mechanism == MECHANISM_NONE)
		return -ENOTSUP;
	skeleton = guard__open();
	if (!skeleton)
		return -errno;
	choose_programs(skeleton, mechanism, !request->options->no_clone_guard);
	spec.object = skeleton->obj;
	spec.digest = bpf_object_digest(request->elf, request->elf_len, request->sizes,
					sizeof(*request->sizes), skeleton->obj);
	return bpf_object_start(&spec, request->options->bpffs_dir, &ret_instance->handle);
}
