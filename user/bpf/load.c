// SPDX-License-Identifier: Apache-2.0
/*
 * Bringing parts up and their pins. What is enforced while the agent is down is
 * decided here: everything whose link is pinned.
 *
 * The order of an exchange, with the points where a crash must leave no gap:
 * attach new (both run) → say in meta that the set is not whole → replace the
 * pins of maps, then each link's by rename, which is what detaches the old program
 * → drop links nobody wants → say in meta that the set is whole. A set that is not whole is not
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

#include "bpf/load.h"
#include "lib/crash.h"
#include "lib/file.h"

/* bpffs allows no dots in names */
#define NEW_SUFFIX "_new"

/* of 10 ms, for unpinned programs to end */
#define RELEASE_TRIES 200

uint64_t digest_add(uint64_t digest, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++)
		digest = (digest ^ bytes[i]) * 0x100000001b3ULL;
	return digest;
}

/* --- paths -------------------------------------------------------------------------------------- */

static int link_path(const char *pin_dir, const char *part, const char *program, const char *suffix,
		     char path[PART_PATH_MAX])
{
	int len = snprintf(path, PART_PATH_MAX, "%s/links/%s_%s%s", pin_dir, part, program, suffix);

	return len < PART_PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int map_path(const char *pin_dir, const char *map, const char *suffix,
		    char path[PART_PATH_MAX])
{
	int len = snprintf(path, PART_PATH_MAX, "%s/maps/%s%s", pin_dir, map, suffix);

	return len < PART_PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int make_folders(const char *pin_dir)
{
	static const char *const folders[] = {"", "/links", "/maps"};
	char path[PART_PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if (snprintf(path, sizeof(path), "%s%s", pin_dir, folders[i]) >= PART_PATH_MAX)
			return -ENAMETOOLONG;
		if (mkdir(path, 0700) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* Pin under a temporary name, then replace: at no moment is there no pin. */
static int pin_over(int fd, const char *path)
{
	char fresh[PART_PATH_MAX];

	if (snprintf(fresh, sizeof(fresh), "%s%s", path, NEW_SUFFIX) >= PART_PATH_MAX)
		return -ENAMETOOLONG;
	/* left over from a crash in here */
	if (unlink(fresh) && errno != ENOENT)
		return -errno;
	if (bpf_obj_pin(fd, fresh))
		return -errno;
	crash_point("pin-exchange");
	return rename(fresh, path) ? -errno : 0;
}

/* --- meta ---------------------------------------------------------------------------------------- */

static int open_meta(const char *pin_dir, int *ret_fd)
{
	int fd cleanup_close = -1;
	char path[PART_PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/meta", pin_dir) >= PART_PATH_MAX)
		return -ENAMETOOLONG;
	fd = bpf_obj_get(path);
	if (fd < 0 && errno != ENOENT)
		return -errno;
	if (fd < 0) {
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "pinfold_meta", sizeof(__u32),
				    sizeof(struct part_meta), PART_NR, NULL);
		if (fd < 0)
			return -errno;
		if (bpf_obj_pin(fd, path))
			return -errno;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int read_meta(int meta_fd, enum part_id id, struct part_meta *ret_meta)
{
	__u32 key = id;

	return bpf_map_lookup_elem(meta_fd, &key, ret_meta) ? -errno : 0;
}

static int write_meta(int meta_fd, const struct part_spec *spec, uint64_t digest)
{
	struct part_meta meta = {ABI_VERSION, spec->mechanism, digest};
	__u32 key = spec->id;

	return bpf_map_update_elem(meta_fd, &key, &meta, BPF_ANY) ? -errno : 0;
}

/* Parts share maps, so one newer part makes all of it untouchable for us. */
static int check_version(int meta_fd)
{
	for (enum part_id id = 0; id < PART_NR; id++) {
		struct part_meta meta;
		int r = read_meta(meta_fd, id, &meta);

		if (r)
			return r;
		if (meta.abi_version > ABI_VERSION)
			return -ESTALE;
	}
	return 0;
}

int parts_check_version(const char *pin_dir)
{
	int fd cleanup_close = -1;
	char path[PART_PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/meta", pin_dir) >= PART_PATH_MAX)
		return -ENAMETOOLONG;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return check_version(fd);
}

/* --- the part in memory -------------------------------------------------------------------------- */

static bool is_wanted(const struct bpf_program *program)
{
	return bpf_program__autoload(program);
}

static int list_contents(struct part *part, struct bpf_object *object)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program (program, object) {
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
	bpf_object__for_each_map (map, object) {
		struct part_map *entry = &part->maps[part->nr_maps];

		if (bpf_map__is_internal(map))
			continue;
		if (part->nr_maps == PART_MAPS_MAX)
			return -E2BIG;
		part->nr_maps++;
		entry->fd = -1;
		snprintf(entry->name, sizeof(entry->name), "%s", bpf_map__name(map));
	}
	return 0;
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
	free(part);
}

int part_map_fd(const struct part *part, const char *name)
{
	for (uint32_t i = 0; part && i < part->nr_maps; i++)
		if (!strcmp(part->maps[i].name, name))
			return part->maps[i].fd;
	return -1;
}

/* Its program's id and descriptor, which the cost of the program is read from. */
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

static int adopt_part(struct part *part, const char *pin_dir)
{
	char path[PART_PATH_MAX];
	int r;

	for (uint32_t i = 0; i < part->nr_maps; i++) {
		r = map_path(pin_dir, part->maps[i].name, "", path);
		if (r)
			return r;
		part->maps[i].fd = bpf_obj_get(path);
		if (part->maps[i].fd < 0)
			return -errno;
	}
	for (uint32_t i = 0; i < part->nr_programs; i++) {
		struct part_program *program = &part->programs[i];

		r = link_path(pin_dir, part->name, program->name, "", path);
		if (r)
			return r;
		program->link_fd = bpf_obj_get(path);
		if (program->link_fd < 0)
			return -errno;
		r = complete_program(program);
		if (r)
			return r;
	}
	part->adopted = true;
	return 0;
}

/* --- load anew ----------------------------------------------------------------------------------- */

static bool is_compatible(const struct bpf_map *map, const struct bpf_map_info *info)
{
	return info->type == bpf_map__type(map) && info->key_size == bpf_map__key_size(map) &&
	       info->value_size == bpf_map__value_size(map) &&
	       info->max_entries == bpf_map__max_entries(map) &&
	       info->map_flags == bpf_map__map_flags(map);
}

/* Take over the pinned maps that are as we would make them, content and all. */
static int reuse_maps(struct bpf_object *object, const char *pin_dir)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object) {
		int fd cleanup_close = -1;
		struct bpf_map_info info = {0};
		__u32 len = sizeof(info);
		char path[PART_PATH_MAX];
		int r;

		if (bpf_map__is_internal(map))
			continue;
		r = map_path(pin_dir, bpf_map__name(map), "", path);
		if (r)
			return r;
		fd = bpf_obj_get(path);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
			return -errno;
		if (!is_compatible(map, &info))
			continue;
		r = bpf_map__reuse_fd(map, fd);
		if (r)
			return r;
	}
	return 0;
}

static void copy_entries(int old_fd, int new_fd, const struct bpf_map_info *info)
{
	char key[128], next[128], value[256];
	bool first = true;

	if (info->key_size > sizeof(key) || info->value_size > sizeof(value))
		return;
	while (!bpf_map_get_next_key(old_fd, first ? NULL : key, next)) {
		memcpy(key, next, info->key_size);
		first = false;
		if (!bpf_map_lookup_elem(old_fd, key, value))
			bpf_map_update_elem(new_fd, key, value, BPF_ANY);
	}
}

/*
 * A map of another size starts with its predecessor's content, so that the new
 * programs guard from their first instruction. What does not fit any more is
 * written by the next publication.
 */
static int inherit_map(const char *pin_dir, const struct part_map *map)
{
	struct bpf_map_info old = {0}, new = {0};
	__u32 old_len = sizeof(old), new_len = sizeof(new);
	int old_fd cleanup_close = -1;
	char path[PART_PATH_MAX];
	int r = map_path(pin_dir, map->name, "", path);

	if (r)
		return r;
	old_fd = bpf_obj_get(path);
	if (old_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (bpf_obj_get_info_by_fd(old_fd, &old, &old_len) ||
	    bpf_obj_get_info_by_fd(map->fd, &new, &new_len))
		return -errno;
	if (old.id != new.id &&
	    old.type == new.type &&old.key_size == new.key_size &&old.value_size ==
		    new.value_size &&
	    (new.type == BPF_MAP_TYPE_HASH || new.type == BPF_MAP_TYPE_ARRAY))
		copy_entries(old_fd, map->fd, &new);
	return 0;
}

static int keep_maps(struct part *part, struct bpf_object *object, const char *pin_dir)
{
	for (uint32_t i = 0; i < part->nr_maps; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, part->maps[i].name);
		int r;

		if (!map)
			return -ENOENT;
		part->maps[i].fd = fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3);
		if (part->maps[i].fd < 0)
			return -errno;
		r = inherit_map(pin_dir, &part->maps[i]);
		if (r)
			return r;
	}
	return 0;
}

static int pin_maps(const struct part *part, const char *pin_dir)
{
	char path[PART_PATH_MAX];

	for (uint32_t i = 0; i < part->nr_maps; i++) {
		int r = map_path(pin_dir, part->maps[i].name, "", path);

		if (!r)
			r = pin_over(part->maps[i].fd, path);
		if (r)
			return r;
	}
	return 0;
}

/* Attached programs end again when this fails: their links are not pinned yet. */
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

static int exchange_links(const struct part *part, const char *pin_dir)
{
	char path[PART_PATH_MAX];

	for (uint32_t i = 0; i < part->nr_programs; i++) {
		int r = link_path(pin_dir, part->name, part->programs[i].name, "", path);

		if (!r)
			r = pin_over(part->programs[i].link_fd, path);
		if (r)
			return r;
	}
	return 0;
}

/* Is `name` in the links folder a link of `part`, and not one that `part` has now? */
static bool is_leftover(const char *name, const char *part_name, const struct part *part)
{
	size_t len = strlen(part_name);

	if (strncmp(name, part_name, len) || name[len] != '_')
		return false;
	for (uint32_t i = 0; part && i < part->nr_programs; i++)
		if (!strcmp(name + len + 1, part->programs[i].name))
			return false;
	return true;
}

/* Unpin the links called `part_name`_* that are not among those of `part` (NULL: all). */
static int drop_links(const char *pin_dir, const char *part_name, const struct part *part)
{
	DIR *dir cleanup_dir = NULL;
	char path[PART_PATH_MAX];
	struct dirent *entry;
	int failed = 0;

	if (snprintf(path, sizeof(path), "%s/links", pin_dir) >= PART_PATH_MAX)
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

static int load_part(struct part *part, const struct part_spec *spec, int meta_fd,
		     const char *pin_dir)
{
	int r = reuse_maps(spec->object, pin_dir);

	if (!r)
		r = bpf_object__load(spec->object);
	if (!r)
		r = keep_maps(part, spec->object, pin_dir);
	if (!r)
		r = attach_programs(part, spec->object);
	if (!r)
		r = write_meta(meta_fd, spec, 0);
	if (!r)
		r = pin_maps(part, pin_dir);
	if (!r)
		r = exchange_links(part, pin_dir);
	if (!r)
		r = drop_links(pin_dir, part->name, part);
	return r ? r : write_meta(meta_fd, spec, spec->digest);
}

int part_bring_up(const struct part_spec *spec, const char *pin_dir, struct part **ret_part)
{
	struct part *part cleanup_part = calloc(1, sizeof(*part));
	int meta_fd cleanup_close = -1;
	struct part_meta meta;
	int r;

	if (!part)
		return -ENOMEM;
	part->id = spec->id;
	snprintf(part->name, sizeof(part->name), "%s", spec->name);
	r = list_contents(part, spec->object);
	if (!r)
		r = make_folders(pin_dir);
	if (!r)
		r = open_meta(pin_dir, &meta_fd);
	if (!r)
		r = check_version(meta_fd);
	if (!r)
		r = read_meta(meta_fd, spec->id, &meta);
	if (r)
		return r;
	if (meta.abi_version != ABI_VERSION || meta.mechanism != spec->mechanism ||
	    meta.digest != spec->digest || adopt_part(part, pin_dir)) {
		close_descriptors(part);
		if (spec->adopt_only)
			return -EAGAIN;
		r = load_part(part, spec, meta_fd, pin_dir);
		if (r)
			return r;
	}
	*ret_part = TAKE_PTR(part);
	return 0;
}

uint32_t part_restore_pins(const struct part *part, const char *pin_dir)
{
	char path[PART_PATH_MAX];
	uint32_t nr_missing = 0;

	for (uint32_t i = 0; part && i < part->nr_programs; i++) {
		if (link_path(pin_dir, part->name, part->programs[i].name, "", path) ||
		    !access(path, F_OK))
			continue;
		nr_missing++;
		if (!make_folders(pin_dir))
			pin_over(part->programs[i].link_fd, path);
	}
	return nr_missing;
}

/* Ids of the programs behind the pinned links of a part. */
static uint32_t list_pinned(const char *pin_dir, const char *name, __u32 ids[PART_PROGRAMS_MAX])
{
	DIR *dir cleanup_dir = NULL;
	char path[PART_PATH_MAX];
	struct dirent *entry;
	uint32_t nr = 0;

	if (snprintf(path, sizeof(path), "%s/links", pin_dir) < PART_PATH_MAX)
		dir = opendir(path);
	while (dir && nr < PART_PROGRAMS_MAX && (entry = readdir(dir)) != NULL) {
		struct part_program program = {.link_fd = -1, .prog_fd = -1};

		if (!is_leftover(entry->d_name, name, NULL) ||
		    snprintf(path, sizeof(path), "%s/links/%s", pin_dir, entry->d_name) >=
			    PART_PATH_MAX)
			continue;
		program.link_fd = bpf_obj_get(path);
		if (program.link_fd >= 0 && !complete_program(&program))
			ids[nr++] = program.id;
		cleanup_close_fd(&program.link_fd);
		cleanup_close_fd(&program.prog_fd);
	}
	return nr;
}

/* The kernel detaches behind our back, after a grace period: an unpinned program runs on a while. */
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

static int empty_folder(const char *pin_dir, const char *name)
{
	DIR *dir cleanup_dir = NULL;
	char path[PART_PATH_MAX];
	struct dirent *entry;
	int failed = 0;

	if (snprintf(path, sizeof(path), "%s/%s", pin_dir, name) >= PART_PATH_MAX)
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && unlinkat(dirfd(dir), entry->d_name, 0) && !failed)
			failed = -errno;
	if (!failed && rmdir(path))
		failed = -errno;
	return failed;
}

int parts_remove(const char *pin_dir)
{
	char path[PART_PATH_MAX];
	int r = empty_folder(pin_dir, "links");

	if (!r)
		r = empty_folder(pin_dir, "maps");
	if (r)
		return r;
	if (snprintf(path, sizeof(path), "%s/meta", pin_dir) >= PART_PATH_MAX)
		return -ENAMETOOLONG;
	if (unlink(path) && errno != ENOENT)
		return -errno;
	return rmdir(pin_dir) && errno != ENOENT ? -errno : 0;
}
