// SPDX-License-Identifier: Apache-2.0
/*
 * Brings up parts and their pins. This file determines what is enforced while the agent is
 * down: everything whose link is pinned.
 *
 * The order of an exchange, in which a crash at any point must leave no gap: attach the new
 * programs (both run) → record in meta that the set is incomplete → pin the new links beside
 * the old ones → pass the turn to the new programs, if they take turns → replace the pins of
 * the maps, then each link's by rename; the old programs end when their descriptors are closed
 * → drop unneeded links → record in meta that the set is complete. An incomplete set is not
 * adopted: the next start loads again, over whatever mixture runs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/inherit.h"
#include "bpf/load.h"
#include "bpf/meta.h"
#include "bpf/reuse.h"
#include "bpf/turn.h"
#include "lib/crash.h"
#include "lib/fdinfo.h"
#include "lib/file.h"
#include "lib/hash.h"

/* Containers, their pods, the trees above and the workload root's siblings. */
#define MANAGED_PER_SLOT 3
#define MANAGED_EXTRA	 256

/* in units of 10 ms, for unpinned programs to end */
#define RELEASE_TRIES 200

/* --- names of pins ------------------------------------------------------------------------------ */

/* "<part>_<program>", or just the program's name if it begins with the part's name. */
static int link_pin(const char *part, const char *program, char pin[PIN_NAME_MAX])
{
	size_t part_len = strlen(part);
	bool has_part = !strncmp(program, part, part_len) && program[part_len] == '_';
	int len = snprintf(pin, PIN_NAME_MAX, "links/%s%s%s", has_part ? "" : part,
			   has_part ? "" : "_", program);

	return len < PIN_NAME_MAX ? 0 : -ENAMETOOLONG;
}

/* --- what to load ----------------------------------------------------------------------------------- */

uint32_t part_nr_managed(const struct part_sizes *sizes)
{
	return sizes->nr_slots * MANAGED_PER_SLOT + MANAGED_EXTRA;
}

/* Covers everything in which two loaded sets can differ. */
uint64_t part_digest(const void *bytes, size_t len, const void *sizes, size_t sizes_len,
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

/* --- the part in memory -------------------------------------------------------------------------- */

static bool is_wanted(const struct bpf_program *program)
{
	return bpf_program__autoload(program);
}

static int list_map(struct part *part, const char *name)
{
	struct part_map *entry = &part->maps[part->nr_maps];

	if (part->nr_maps == PART_MAPS_MAX)
		return -E2BIG;
	part->nr_maps++;
	entry->fd = -1;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	return 0;
}

static int list_maps(struct part *part, const struct part_spec *spec)
{
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map (map, spec->object)
		if (!r && !bpf_map__is_internal(map))
			r = list_map(part, bpf_map__name(map));
	for (uint32_t i = 0; !r && i < spec->nr_memory; i++)
		r = list_map(part, spec->memory[i].name);
	return r;
}

static int list_contents(struct part *part, const struct part_spec *spec)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, spec->object) {
		struct part_program *entry = &part->programs[part->nr_programs];

		if (!is_wanted(program))
			continue;
		if (part->nr_programs == PART_PROGRAMS_MAX)
			return -E2BIG;
		part->nr_programs++;
		*entry = (struct part_program){.link_fd = -1, .prog_fd = -1};
		snprintf(entry->name, sizeof(entry->name), "%s", bpf_program__name(program));
		snprintf(entry->section, sizeof(entry->section), "%s",
			 bpf_program__section_name(program));
	}
	return list_maps(part, spec);
}

static void close_descriptors(struct part *part)
{
	for (uint32_t i = 0; i < part->nr_programs; i++) {
		cleanup_close_fd(&part->programs[i].link_fd);
		cleanup_close_fd(&part->programs[i].prog_fd);
		part->programs[i].link_fd = part->programs[i].prog_fd = -1;
	}
	for (uint32_t i = 0; i < part->nr_maps; i++) {
		cleanup_close_fd(&part->maps[i].fd);
		part->maps[i].fd = -1;
	}
}

void part_free(struct part *part)
{
	if (!part)
		return;
	close_descriptors(part);
	cleanup_close_fd(&part->meta_fd);
	free(part);
}

int part_map_fd(const struct part *part, const char *name)
{
	for (uint32_t i = 0; part && i < part->nr_maps; i++)
		if (!strcmp(part->maps[i].name, name))
			return part->maps[i].fd;
	return -1;
}

/* Set the id and descriptor of its program, from which its run time is read. */
static int complete_program(struct part_program *program)
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

static int find_inherited(const struct part *part, const char *pin_dir,
			  struct inherited **ret_inherited)
{
	struct inherit_name programs[PART_PROGRAMS_MAX], maps[PART_MAPS_MAX];
	struct inherit_wanted wanted = {programs, part->nr_programs, maps, part->nr_maps};
	int r = 0;

	for (uint32_t i = 0; !r && i < part->nr_programs; i++) {
		const char *name = part->programs[i].name;

		snprintf(programs[i].name, sizeof(programs[i].name), "%s", name);
		r = link_pin(part->name, name, programs[i].pin);
	}
	for (uint32_t i = 0; !r && i < part->nr_maps; i++)
		r = inherit_name_map(part->maps[i].name, &maps[i]);
	return r ? r : inherit_find(pin_dir, &wanted, ret_inherited);
}

static int adopt_link(struct part *part, struct part_program *program,
		      const struct inherited *inherited)
{
	const struct inherited_link *link;
	char pin[PIN_NAME_MAX];
	int r = link_pin(part->name, program->name, pin);

	if (r)
		return r;
	link = inherited_link(inherited, pin);
	if (!link) {
		pins_report_wrong(&part->inherited, pin, "missing together with its program");
		return -ENOENT;
	}
	/* a set left incomplete by an interrupted exchange */
	if (!inherited_link_fits(inherited, link))
		return -EXDEV;
	program->link_fd = fcntl(link->fd, F_DUPFD_CLOEXEC, 3);
	return program->link_fd < 0 ? -errno : complete_program(program);
}

static int adopt_part(struct part *part, const char *pin_dir, const struct inherited *inherited)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < part->nr_maps; i++) {
		r = inherit_map_fd(inherited, pin_dir, part->maps[i].name, &part->maps[i].fd);
		if (!r && fdinfo_is(part->maps[i].fd, "frozen", "1"))
			r = -EPERM;
	}
	for (uint32_t i = 0; !r && i < part->nr_programs; i++)
		r = adopt_link(part, &part->programs[i], inherited);
	if (r)
		return r;
	part->adopted = true;
	part_restore_pins(part, pin_dir, &part->inherited);
	return 0;
}

/* --- load again ---------------------------------------------------------------------------------- */

static const struct part_memory *find_memory(const struct part_spec *spec, const char *name)
{
	for (uint32_t i = 0; i < spec->nr_memory; i++)
		if (!strcmp(spec->memory[i].name, name))
			return &spec->memory[i];
	return NULL;
}

/* The counters are carried over with the turn: until then the previous programs write theirs. */
static bool has_content(const struct part_spec *spec, const char *map)
{
	const struct part_memory *memory = find_memory(spec, map);

	if (memory && memory->starts_empty)
		return false;
	return !spec->turns || strcmp(spec->turns->counters, map);
}

static struct bpf_map *find_map(const struct part_spec *spec, const char *name)
{
	const struct part_memory *memory = find_memory(spec, name);

	return memory ? memory->map : bpf_object__find_map_by_name(spec->object, name);
}

static int keep_maps(struct part *part, const struct part_spec *spec, const char *pin_dir,
		     const struct inherited *inherited)
{
	for (uint32_t i = 0; i < part->nr_maps; i++) {
		const char *name = part->maps[i].name;
		struct bpf_map *map = find_map(spec, name);
		int r;

		if (!map)
			return -ENOENT;
		part->maps[i].fd = fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3);
		if (part->maps[i].fd < 0)
			return -errno;
		if (!has_content(spec, name))
			continue;
		r = reuse_content(pin_dir, inherited, name, part->maps[i].fd);
		if (r)
			return r;
	}
	return 0;
}

static int pin_maps(const struct part *part, const char *pin_dir)
{
	char pin[PIN_NAME_MAX];

	for (uint32_t i = 0; i < part->nr_maps; i++) {
		int r = pin_of_map(part->maps[i].name, pin);

		if (!r)
			r = pin_put(pin_dir, pin, part->maps[i].fd);
		if (r)
			return r;
	}
	return 0;
}

/* If this fails, attached programs end again, because their links are not pinned yet. */
static int attach_programs(struct part *part, struct bpf_object *object)
{
	for (uint32_t i = 0; i < part->nr_programs; i++) {
		struct part_program *entry = &part->programs[i];
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

/* Remove the links pinned beside their places, ignoring those that were not. Returns `error`. */
static int unstage_links(const struct part *part, const char *pin_dir, int error)
{
	char pin[PIN_NAME_MAX];

	for (uint32_t i = 0; i < part->nr_programs; i++)
		if (!link_pin(part->name, part->programs[i].name, pin))
			pin_unstage(pin_dir, pin);
	return error;
}

/*
 * Pin them beside the old ones, so that programs with pins exist at every moment, even after a
 * crash.
 */
static int stage_links(const struct part *part, const char *pin_dir)
{
	char pin[PIN_NAME_MAX];

	for (uint32_t i = 0; i < part->nr_programs; i++) {
		int r = link_pin(part->name, part->programs[i].name, pin);

		if (!r)
			r = pin_stage(pin_dir, pin, part->programs[i].link_fd);
		if (r)
			return unstage_links(part, pin_dir, r);
	}
	return 0;
}

static int commit_links(const struct part *part, const char *pin_dir)
{
	char pin[PIN_NAME_MAX];

	for (uint32_t i = 0; i < part->nr_programs; i++) {
		int r = link_pin(part->name, part->programs[i].name, pin);

		if (!r)
			r = pin_commit(pin_dir, pin);
		if (r)
			return r;
	}
	return 0;
}

/* Is `name` in the directory of links a link of `part`, but not one that `part` has now? */
static bool is_leftover(const char *name, const char *part_name, const struct part *part)
{
	size_t len = strlen(part_name);
	char pin[PIN_NAME_MAX];

	if (strncmp(name, part_name, len) || name[len] != '_')
		return false;
	for (uint32_t i = 0; part && i < part->nr_programs; i++)
		if (!link_pin(part_name, part->programs[i].name, pin) &&
		    !strcmp(name, pin + strlen("links/")))
			return false;
	return true;
}

/* Unpin the links named `part_name`_* that `part` does not have (NULL: all). */
static int drop_links(const char *pin_dir, const char *part_name, const struct part *part)
{
	DIR *dir cleanup_dir = NULL;
	char path[PIN_PATH_MAX];
	struct dirent *entry;
	int failed = 0;

	if (snprintf(path, sizeof(path), "%s/links", pin_dir) >= PIN_PATH_MAX)
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir)) != NULL)
		if (is_leftover(entry->d_name, part_name, part) &&
		    unlinkat(dirfd(dir), entry->d_name, 0) && !failed)
			failed = -errno;
	return failed;
}

/* Determine the generation number of these programs. */
static int prepare_turn(const struct part_spec *spec, const char *pin_dir,
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

static int take_turn(const struct part *part, const struct part_spec *spec)
{
	return spec->turns ? turn_take(part_map_fd(part, TURNS_MAP), *spec->turns->turn) : 0;
}

static int begin_turn(const struct part *part, const struct part_spec *spec, const char *pin_dir,
		      const struct inherited *inherited)
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
		.turns_fd = part_map_fd(part, TURNS_MAP),
		.turn = *spec->turns->turn,
		.nr_cpus = spec->turns->nr_cpus,
		.before_fd = before_fd,
		.now_fd = part_map_fd(part, spec->turns->counters),
	};
	return turn_begin(&change);
}

/* The new programs are attached: replace the old ones by them. */
static int exchange(struct part *part, const struct part_spec *spec, const char *pin_dir,
		    const struct inherited *inherited)
{
	int r = meta_write(part->meta_fd, spec->id, spec->mechanism, 0);

	if (!r)
		r = stage_links(part, pin_dir);
	if (r)
		return r;
	/* after this point the links of the new programs stay pinned whatever happens */
	r = begin_turn(part, spec, pin_dir, inherited);
	crash_point("turn");
	if (!r)
		r = pin_maps(part, pin_dir);
	if (!r)
		r = commit_links(part, pin_dir);
	if (!r)
		r = drop_links(pin_dir, part->name, part);
	return r ? r : meta_write(part->meta_fd, spec->id, spec->mechanism, spec->digest);
}

/* `inherited` keeps the old objects in force, pinned or not, until the new ones are. */
static int load_part(struct part *part, const struct part_spec *spec, const char *pin_dir,
		     const struct inherited *inherited)
{
	int r = reuse_maps(spec->object, pin_dir, inherited, &part->inherited);

	for (uint32_t i = 0; !r && i < spec->nr_memory; i++)
		r = reuse_memory(&spec->memory[i], pin_dir, inherited, &part->inherited);
	if (!r)
		r = prepare_turn(spec, pin_dir, inherited);
	if (!r)
		r = bpf_object__load(spec->object);
	if (!r)
		r = keep_maps(part, spec, pin_dir, inherited);
	if (!r)
		r = take_turn(part, spec);
	if (!r)
		r = attach_programs(part, spec->object);
	if (r)
		return r;
	return pin_dir ? exchange(part, spec, pin_dir, inherited)
		       : begin_turn(part, spec, pin_dir, inherited);
}

/* Load for this process only, without pins. */
static int load_unpinned(struct part *part, const struct part_spec *spec)
{
	const struct inherited nothing = {0};

	return spec->adopt_only ? -EAGAIN : load_part(part, spec, NULL, &nothing);
}

static int adopt_or_load(struct part *part, const struct part_spec *spec, const char *pin_dir)
{
	struct inherited *inherited cleanup_inherited = NULL;
	struct part_meta meta;
	int r = find_inherited(part, pin_dir, &inherited);

	if (!r)
		r = pins_make_folders(pin_dir);
	if (!r)
		r = meta_open(pin_dir, inherited, &part->inherited, &part->meta_fd);
	if (!r)
		r = meta_check_version(part->meta_fd);
	if (!r)
		r = meta_read(part->meta_fd, spec->id, &meta);
	if (r)
		return r;
	if (meta.abi_version == ABI_VERSION && meta.mechanism == spec->mechanism &&
	    meta.digest == spec->digest && !adopt_part(part, pin_dir, inherited))
		return 0;
	close_descriptors(part);
	return spec->adopt_only ? -EAGAIN : load_part(part, spec, pin_dir, inherited);
}

int part_bring_up(const struct part_spec *spec, const char *pin_dir, struct part **ret_part)
{
	struct part *part cleanup_part = calloc(1, sizeof(*part));
	int r;

	if (!part)
		return -ENOMEM;
	part->id = spec->id;
	part->meta_fd = -1;
	snprintf(part->name, sizeof(part->name), "%s", spec->name);
	r = list_contents(part, spec);
	if (!r)
		r = pin_dir ? adopt_or_load(part, spec, pin_dir) : load_unpinned(part, spec);
	if (r)
		return r;
	/*
	 * only one part keeps the shared map pinned; otherwise two parts might each pin their
	 * own after a loss
	 */
	if (part->id != PART_GUARD) {
		cleanup_close_fd(&part->meta_fd);
		part->meta_fd = -1;
	}
	*ret_part = TAKE_PTR(part);
	return 0;
}

static void add_pin(struct pin *pins, uint32_t *nr, const char *name, int fd)
{
	memcpy(pins[*nr].name, name, PIN_NAME_MAX);
	pins[(*nr)++].fd = fd;
}

void part_restore_pins(const struct part *part, const char *pin_dir, struct pins_report *report)
{
	struct pin pins[1 + PART_MAPS_MAX + PART_PROGRAMS_MAX];
	char name[PIN_NAME_MAX] = PIN_META;
	uint32_t nr = 0;

	if (part->meta_fd >= 0)
		add_pin(pins, &nr, name, part->meta_fd);
	for (uint32_t i = 0; i < part->nr_maps; i++)
		if (!pin_of_map(part->maps[i].name, name))
			add_pin(pins, &nr, name, part->maps[i].fd);
	for (uint32_t i = 0; i < part->nr_programs; i++)
		if (!link_pin(part->name, part->programs[i].name, name))
			add_pin(pins, &nr, name, part->programs[i].link_fd);
	pins_restore(pin_dir, pins, nr, report);
}

/* Ids of the programs behind the pinned links of a part. */
static uint32_t list_pinned(const char *pin_dir, const char *name, __u32 ids[PART_PROGRAMS_MAX])
{
	DIR *dir cleanup_dir = NULL;
	char path[PIN_PATH_MAX];
	struct dirent *entry;
	uint32_t nr = 0;

	if (snprintf(path, sizeof(path), "%s/links", pin_dir) < PIN_PATH_MAX)
		dir = opendir(path);
	while (dir && nr < PART_PROGRAMS_MAX && (entry = readdir(dir)) != NULL) {
		struct part_program program = {.link_fd = -1, .prog_fd = -1};

		if (!is_leftover(entry->d_name, name, NULL) ||
		    snprintf(path, sizeof(path), "%s/links/%s", pin_dir, entry->d_name) >=
			    PIN_PATH_MAX)
			continue;
		program.link_fd = bpf_obj_get(path);
		if (program.link_fd >= 0 && !complete_program(&program))
			ids[nr++] = program.id;
		cleanup_close_fd(&program.link_fd);
		cleanup_close_fd(&program.prog_fd);
	}
	return nr;
}

/*
 * The kernel detaches asynchronously, after a grace period: an unpinned program still runs for
 * a while.
 */
static int wait_for_end(const __u32 *ids, uint32_t nr)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (uint32_t i = 0, tries = 0; i < nr;) {
		int fd = bpf_prog_get_fd_by_id(ids[i]);

		if (fd < 0) {
			i++;
			continue;
		}
		close(fd);
		if (tries++ == RELEASE_TRIES)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int part_release(const char *pin_dir, const char *name)
{
	__u32 ids[PART_PROGRAMS_MAX];
	uint32_t nr = list_pinned(pin_dir, name, ids);
	int r = drop_links(pin_dir, name, NULL);

	return r ? r : wait_for_end(ids, nr);
}

/* --- remove everything --------------------------------------------------------------------------- */

/* Also removes an empty directory that another process created in the place of a pin. */
static int remove_entry(int dir_fd, const char *name)
{
	if (!unlinkat(dir_fd, name, 0))
		return 0;
	return errno == EISDIR ? unlinkat(dir_fd, name, AT_REMOVEDIR) : -1;
}

static int empty_folder(const char *pin_dir, const char *name)
{
	DIR *dir cleanup_dir = NULL;
	char path[PIN_PATH_MAX];
	struct dirent *entry;
	int failed = 0;

	if (snprintf(path, sizeof(path), "%s/%s", pin_dir, name) >= PIN_PATH_MAX)
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && remove_entry(dirfd(dir), entry->d_name) && !failed)
			failed = -errno;
	if (!failed && rmdir(path))
		failed = -errno;
	return failed;
}

int parts_remove(const char *pin_dir)
{
	char path[PIN_PATH_MAX];
	int r = empty_folder(pin_dir, "links");

	if (!r)
		r = empty_folder(pin_dir, "maps");
	if (r)
		return r;
	if (snprintf(path, sizeof(path), "%s/meta", pin_dir) >= PIN_PATH_MAX)
		return -ENAMETOOLONG;
	if (unlink(path) && errno != ENOENT)
		return -errno;
	return rmdir(pin_dir) && errno != ENOENT ? -errno : 0;
}
