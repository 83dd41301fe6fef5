// SPDX-License-Identifier: Apache-2.0
/*
 * Puts a BPF object and its pins in force. This file determines what is enforced while the agent
 * is down: everything whose link is pinned (links.c).
 *
 * The order of an exchange, in which a crash at any point must leave no gap: attach the new
 * programs (both run) → record in meta that the set is incomplete → pin the new links beside
 * the old ones → pass the turn to the new programs, if they take turns → replace the pins of
 * the maps, then each link's by rename; the old programs end when their descriptors are closed
 * → drop unneeded links → record in meta that the set is complete. An incomplete set is not
 * adopted: the next start loads again, over whatever mixture runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/admit.h"
#include "bpf/bpf_object.h"
#include "bpf/inherit.h"
#include "bpf/links.h"
#include "bpf/meta.h"
#include "bpf/reuse.h"
#include "bpf/turn.h"
#include "format/words.h"
#include "lib/crash.h"
#include "lib/fdinfo.h"
#include "lib/file.h"
#include "lib/hash.h"

/* Containers, their pods, the trees above and the workload root's siblings. */
#define MANAGED_PER_SLOT 3
#define MANAGED_EXTRA	 256

/* --- what to load ----------------------------------------------------------------------------------- */

/* Covers everything in which two loaded sets can differ. */
uint64_t bpf_object_digest(const void *bytes, size_t len, const void *sizes, size_t sizes_len,
			   const struct bpf_object *object)
{
	uint64_t digest = hash_add(HASH_START, bytes, len);
	struct bpf_program *program;

	digest = hash_add(digest, sizes, sizes_len);
	bpf_object__for_each_program (program, object) {
		bool wanted = bpf_program__autoload(program);

		digest = hash_add(digest, &wanted, sizeof(wanted));
	}
	return digest;
}

uint32_t bpf_object_nr_managed(const struct bpf_object_sizes *sizes)
{
	return sizes->nr_slots * MANAGED_PER_SLOT + MANAGED_EXTRA;
}

static uint32_t nr_mask_words(const struct bpf_object_sizes *sizes)
{
	return sizes->nr_slots * sizes->mask_words;
}

static const struct {
	const char *name;
	uint32_t (*nr_entries)(const struct bpf_object_sizes *sizes);
} shared_maps[] = {
	{"managed", bpf_object_nr_managed},
	{"slot_masks", nr_mask_words},
};

/* All objects must ask for the same sizes of a map that they share, so this is the only place. */
static int size_shared(const struct bpf_object_spec *spec)
{
	for (size_t i = 0; i < ARRAY_SIZE(shared_maps); i++) {
		struct bpf_map *map =
			bpf_object__find_map_by_name(spec->object, shared_maps[i].name);
		int r = map ? bpf_map__set_max_entries(map, shared_maps[i].nr_entries(spec->sizes))
			    : 0;

		if (r)
			return r;
	}
	return 0;
}

/* --- the object in memory -------------------------------------------------------------------------- */

static bool is_wanted(const struct bpf_program *program)
{
	return bpf_program__autoload(program);
}

static int list_map(struct bpf_object_handle *handle, const char *name)
{
	struct bpf_object_map *entry = &handle->maps[handle->nr_maps];

	if (handle->nr_maps == BPF_OBJECT_MAPS_MAX)
		return -E2BIG;
	handle->nr_maps++;
	entry->fd = -1;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	return 0;
}

static int list_maps(struct bpf_object_handle *handle, const struct bpf_object_spec *spec)
{
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map (map, spec->object)
		if (!r && !bpf_map__is_internal(map))
			r = list_map(handle, bpf_map__name(map));
	for (uint32_t i = 0; !r && i < spec->nr_memory; i++)
		r = list_map(handle, spec->memory[i].name);
	return r;
}

static int list_contents(struct bpf_object_handle *handle, const struct bpf_object_spec *spec)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, spec->object) {
		struct bpf_object_program *entry = &handle->programs[handle->nr_programs];

		if (!is_wanted(program))
			continue;
		if (handle->nr_programs == BPF_OBJECT_PROGRAMS_MAX)
			return -E2BIG;
		handle->nr_programs++;
		*entry = (struct bpf_object_program){.link_fd = -1, .prog_fd = -1};
		snprintf(entry->name, sizeof(entry->name), "%s", bpf_program__name(program));
		snprintf(entry->section, sizeof(entry->section), "%s",
			 bpf_program__section_name(program));
	}
	return list_maps(handle, spec);
}

static void close_descriptors(struct bpf_object_handle *handle)
{
	for (uint32_t i = 0; i < handle->nr_programs; i++) {
		cleanup_close_fd(&handle->programs[i].link_fd);
		cleanup_close_fd(&handle->programs[i].prog_fd);
		handle->programs[i].link_fd = handle->programs[i].prog_fd = -1;
	}
	for (uint32_t i = 0; i < handle->nr_maps; i++) {
		cleanup_close_fd(&handle->maps[i].fd);
		handle->maps[i].fd = -1;
	}
}

void bpf_object_free(struct bpf_object_handle *handle)
{
	if (!handle)
		return;
	close_descriptors(handle);
	cleanup_close_fd(&handle->meta_fd);
	free(handle);
}

int bpf_object_map_fd(const struct bpf_object_handle *handle, const char *name)
{
	for (uint32_t i = 0; handle && i < handle->nr_maps; i++)
		if (!strcmp(handle->maps[i].name, name))
			return handle->maps[i].fd;
	return -1;
}

/* Set the id and descriptor of its program, from which its run time is read. */
static int complete_program(struct bpf_object_program *program)
{
	struct bpf_link_info info = {0};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(program->link_fd, &info, &len))
		return -errno;
	program->id = info.prog_id;
	program->prog_fd = bpf_prog_get_fd_by_id(info.prog_id);
	return program->prog_fd < 0 ? -errno : 0;
}

/* --- adopt --------------------------------------------------------------------------------------- */

static int find_inherited(const struct bpf_object_handle *handle, const char *pin_dir,
			  struct inherited **ret_inherited)
{
	struct inherit_name programs[BPF_OBJECT_PROGRAMS_MAX], maps[BPF_OBJECT_MAPS_MAX];
	struct inherit_wanted wanted = {programs, handle->nr_programs, maps, handle->nr_maps};
	int r = 0;

	for (uint32_t i = 0; !r && i < handle->nr_programs; i++) {
		const char *name = handle->programs[i].name;

		snprintf(programs[i].name, sizeof(programs[i].name), "%s", name);
		r = links_pin_of(handle->name, name, programs[i].pin);
	}
	for (uint32_t i = 0; !r && i < handle->nr_maps; i++)
		r = inherit_name_map(handle->maps[i].name, &maps[i]);
	return r ? r : inherit_find(pin_dir, &wanted, ret_inherited);
}

static int adopt_link(struct bpf_object_handle *handle, struct bpf_object_program *program,
		      const struct inherited *inherited)
{
	const struct inherited_link *link;
	char pin[PIN_NAME_MAX];
	int r = links_pin_of(handle->name, program->name, pin);

	if (r)
		return r;
	link = inherited_link(inherited, pin);
	if (!link) {
		pins_report_wrong(&handle->inherited, pin, "missing together with its program");
		return -ENOENT;
	}
	/* a set left incomplete by an interrupted exchange */
	if (!inherited_link_fits(inherited, link))
		return -EXDEV;
	program->link_fd = fcntl(link->fd, F_DUPFD_CLOEXEC, 3);
	return program->link_fd < 0 ? -errno : complete_program(program);
}

static int adopt_object(struct bpf_object_handle *handle, const char *pin_dir,
			const struct inherited *inherited)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < handle->nr_maps; i++) {
		r = inherit_map_fd(inherited, pin_dir, handle->maps[i].name, &handle->maps[i].fd);
		if (!r && fdinfo_is(handle->maps[i].fd, "frozen", "1"))
			r = -EPERM;
	}
	for (uint32_t i = 0; !r && i < handle->nr_programs; i++)
		r = adopt_link(handle, &handle->programs[i], inherited);
	if (r)
		return r;
	handle->adopted = true;
	bpf_object_restore_pins(handle, pin_dir, &handle->inherited);
	return 0;
}

/* --- load again ---------------------------------------------------------------------------------- */

static const struct bpf_object_memory *find_memory(const struct bpf_object_spec *spec,
						   const char *name)
{
	for (uint32_t i = 0; i < spec->nr_memory; i++)
		if (!strcmp(spec->memory[i].name, name))
			return &spec->memory[i];
	return NULL;
}

/* The counters are carried over with the turn: until then the previous programs write theirs. */
static bool has_content(const struct bpf_object_spec *spec, const char *map)
{
	const struct bpf_object_memory *memory = find_memory(spec, map);

	if (memory && memory->starts_empty)
		return false;
	return !spec->turns || strcmp(spec->turns->counters, map);
}

static struct bpf_map *find_map(const struct bpf_object_spec *spec, const char *name)
{
	const struct bpf_object_memory *memory = find_memory(spec, name);

	return memory ? memory->map : bpf_object__find_map_by_name(spec->object, name);
}

static int keep_maps(struct bpf_object_handle *handle, const struct bpf_object_spec *spec,
		     const char *pin_dir, const struct inherited *inherited)
{
	for (uint32_t i = 0; i < handle->nr_maps; i++) {
		const char *name = handle->maps[i].name;
		struct bpf_map *map = find_map(spec, name);
		int r;

		if (!map)
			return -ENOENT;
		handle->maps[i].fd = fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3);
		if (handle->maps[i].fd < 0)
			return -errno;
		if (!has_content(spec, name))
			continue;
		r = reuse_content(pin_dir, inherited, name, handle->maps[i].fd);
		if (r)
			return r;
	}
	return 0;
}

static int pin_maps(const struct bpf_object_handle *handle, const char *pin_dir)
{
	char pin[PIN_NAME_MAX];

	for (uint32_t i = 0; i < handle->nr_maps; i++) {
		int r = pin_of_map(handle->maps[i].name, pin);

		if (!r)
			r = pin_put(pin_dir, pin, handle->maps[i].fd);
		if (r)
			return r;
	}
	return 0;
}

/* If this fails, attached programs end again, because their links are not pinned yet. */
static int attach_programs(struct bpf_object_handle *handle, struct bpf_object *object)
{
	for (uint32_t i = 0; i < handle->nr_programs; i++) {
		struct bpf_object_program *entry = &handle->programs[i];
		struct bpf_program *program = bpf_object__find_program_by_name(object, entry->name);
		struct bpf_link *link;
		int r;

		if (!program)
			return -ENOENT;
		link = bpf_program__attach(program);
		if (!link)
			return -errno;
		entry->link_fd = fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 3);
		r = entry->link_fd < 0 ? -errno : complete_program(entry);
		bpf_link__destroy(link);
		if (r)
			return r;
		crash_point("attach");
	}
	return 0;
}

/* Determine the generation number of these programs. */
static int prepare_turn(const struct bpf_object_spec *spec, const char *pin_dir,
			const struct inherited *inherited)
{
	int fd cleanup_close = -1;
	int r;

	if (!spec->turns)
		return 0;
	r = inherit_map_fd(inherited, pin_dir, TURNS_MAP, &fd);
	if (!r)
		return turn_next(fd, spec->turns->turn);
	/* the first generation: no earlier programs take turns */
	*spec->turns->turn = 1;
	return r == -ENOENT ? 0 : r;
}

static int take_turn(const struct bpf_object_handle *handle, const struct bpf_object_spec *spec)
{
	return spec->turns ? turn_take(bpf_object_map_fd(handle, TURNS_MAP), *spec->turns->turn)
			   : 0;
}

static int begin_turn(const struct bpf_object_handle *handle, const struct bpf_object_spec *spec,
		      const char *pin_dir, const struct inherited *inherited)
{
	int before_fd cleanup_close = -1;
	struct turn_change change;
	int r;

	if (!spec->turns)
		return 0;
	r = inherit_map_fd(inherited, pin_dir, spec->turns->counters, &before_fd);
	if (r && r != -ENOENT)
		return r;
	change = (struct turn_change){
		.turns_fd = bpf_object_map_fd(handle, TURNS_MAP),
		.turn = *spec->turns->turn,
		.nr_cpus = spec->turns->nr_cpus,
		.before_fd = before_fd,
		.now_fd = bpf_object_map_fd(handle, spec->turns->counters),
	};
	return turn_begin(&change);
}

/* The new programs are attached: replace the old ones by them. */
static int exchange(struct bpf_object_handle *handle, const struct bpf_object_spec *spec,
		    const char *pin_dir, const struct inherited *inherited)
{
	int r = meta_write(handle->meta_fd, spec->id, spec->mechanism, 0);

	if (!r)
		r = links_stage(handle, pin_dir);
	if (r)
		return r;
	/* after this point the links of the new programs stay pinned whatever happens */
	r = begin_turn(handle, spec, pin_dir, inherited);
	crash_point("turn");
	if (!r)
		r = pin_maps(handle, pin_dir);
	if (!r)
		r = links_commit(handle, pin_dir);
	if (!r)
		r = links_drop_others(handle, pin_dir);
	return r ? r : meta_write(handle->meta_fd, spec->id, spec->mechanism, spec->digest);
}

/* `inherited` keeps the old objects in force, pinned or not, until the new ones are. */
static int load_object(struct bpf_object_handle *handle, const struct bpf_object_spec *spec,
		       const char *pin_dir, const struct inherited *inherited)
{
	int r = reuse_maps(spec->object, pin_dir, inherited, &handle->inherited);

	for (uint32_t i = 0; !r && i < spec->nr_memory; i++)
		r = reuse_memory(&spec->memory[i], pin_dir, inherited, &handle->inherited);
	if (!r)
		r = prepare_turn(spec, pin_dir, inherited);
	if (!r)
		r = bpf_object__load(spec->object);
	if (!r)
		r = keep_maps(handle, spec, pin_dir, inherited);
	if (!r)
		r = take_turn(handle, spec);
	if (!r)
		r = attach_programs(handle, spec->object);
	if (r)
		return r;
	return pin_dir ? exchange(handle, spec, pin_dir, inherited)
		       : begin_turn(handle, spec, pin_dir, inherited);
}

/* Load for this process only, without pins. */
static int load_unpinned(struct bpf_object_handle *handle, const struct bpf_object_spec *spec)
{
	const struct inherited nothing = {0};

	return spec->adopt_only ? -EAGAIN : load_object(handle, spec, NULL, &nothing);
}

static int adopt_or_load(struct bpf_object_handle *handle, const struct bpf_object_spec *spec,
			 const char *pin_dir)
{
	struct inherited *inherited cleanup_inherited = NULL;
	struct bpf_object_meta meta;
	int r = find_inherited(handle, pin_dir, &inherited);

	if (!r)
		r = admit_agent(pin_dir, inherited);
	if (!r)
		r = pins_make_folders(pin_dir);
	if (!r)
		r = meta_open(pin_dir, inherited, &handle->inherited, &handle->meta_fd);
	if (!r)
		r = meta_check_version(handle->meta_fd);
	if (!r)
		r = meta_read(handle->meta_fd, spec->id, &meta);
	if (r)
		return r;
	if (meta.abi_version == ABI_VERSION && meta.mechanism == spec->mechanism &&
	    meta.digest == spec->digest && !adopt_object(handle, pin_dir, inherited))
		return 0;
	close_descriptors(handle);
	return spec->adopt_only ? -EAGAIN : load_object(handle, spec, pin_dir, inherited);
}

int bpf_object_start(const struct bpf_object_spec *spec, const char *pin_dir,
		     struct bpf_object_handle **ret_handle)
{
	struct bpf_object_handle *handle cleanup_bpf_object = calloc(1, sizeof(*handle));
	int r;

	if (!handle)
		return -ENOMEM;
	handle->id = spec->id;
	handle->meta_fd = -1;
	handle->mechanism = spec->mechanism;
	snprintf(handle->name, sizeof(handle->name), "%s", bpf_object_name(spec->id));
	r = size_shared(spec);
	if (!r)
		r = list_contents(handle, spec);
	if (!r)
		r = pin_dir ? adopt_or_load(handle, spec, pin_dir) : load_unpinned(handle, spec);
	if (r)
		return r;
	/* if several objects kept it, each might pin its own after a loss */
	if (!spec->keeps_meta) {
		cleanup_close_fd(&handle->meta_fd);
		handle->meta_fd = -1;
	}
	*ret_handle = TAKE_PTR(handle);
	return 0;
}

static void add_pin(struct pin *pins, uint32_t *nr, const char *name, int fd)
{
	memcpy(pins[*nr].name, name, PIN_NAME_MAX);
	pins[(*nr)++].fd = fd;
}

void bpf_object_restore_pins(const struct bpf_object_handle *handle, const char *pin_dir,
			     struct pins_report *report)
{
	struct pin pins[1 + BPF_OBJECT_MAPS_MAX + BPF_OBJECT_PROGRAMS_MAX];
	char name[PIN_NAME_MAX] = PIN_META;
	uint32_t nr = 0;

	if (handle->meta_fd >= 0)
		add_pin(pins, &nr, name, handle->meta_fd);
	for (uint32_t i = 0; i < handle->nr_maps; i++)
		if (!pin_of_map(handle->maps[i].name, name))
			add_pin(pins, &nr, name, handle->maps[i].fd);
	for (uint32_t i = 0; i < handle->nr_programs; i++)
		if (!links_pin_of(handle->name, handle->programs[i].name, name))
			add_pin(pins, &nr, name, handle->programs[i].link_fd);
	pins_restore(pin_dir, pins, nr, report);
}
