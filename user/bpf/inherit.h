/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the objects that an earlier agent left in force by following the kernel's references:
 * a link keeps its program, and a program keeps its maps. The pins are only the starting
 * point, because any of them may have been removed, moved or replaced while the programs
 * continued to run.
 *
 * Works for every BPF object of pinfold. The caller lists the object's programs. Links that
 * are not pinned are searched among all links of the kernel, by the names of program and maps.
 */
#ifndef BPF_INHERIT_H
#define BPF_INHERIT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/pins.h"
#include "lib/cleanup.h"

#define INHERIT_LINKS_MAX 64
#define INHERIT_MAPS_MAX  96
#define INHERIT_USES_MAX  32
#define INHERIT_NAME_MAX  16 /* the kernel's limit: it cuts longer names */

struct inherited_link {
	char pin[PIN_NAME_MAX]; /* "links/…": the path where it is or should be pinned */
	bool pinned;		/* at that path; otherwise found among all links */
	uint32_t id, prog_id;
	int fd;
	uint32_t nr_maps, map_ids[INHERIT_USES_MAX]; /* of its program */
};

struct inherited_map {
	char name[INHERIT_NAME_MAX];
	uint32_t id;
	uint32_t nr_users; /* number of programs in force that use it */
	bool pinned;	   /* under its own name */
	int fd;
};

struct inherited {
	uint32_t nr_links, nr_maps;
	struct inherited_link links[INHERIT_LINKS_MAX];
	struct inherited_map maps[INHERIT_MAPS_MAX];
};

/* A program's link, or a map: the path of its pin, and its name in the object. */
struct inherit_name {
	char pin[PIN_NAME_MAX];
	char name[32]; /* the kernel stores the first 15 bytes */
};

struct inherit_wanted {
	const struct inherit_name *programs;
	uint32_t nr_programs;
	/*
	 * A program whose link is not pinned is accepted as pinfold's if it uses one of these
	 * maps.
	 */
	const struct inherit_name *maps;
	uint32_t nr_maps;
};

/* Find all pinned links of pinfold, and those of `wanted` that are not pinned. -ENOMEM. */
int inherit_find(const char *pin_dir, const struct inherit_wanted *wanted,
		 struct inherited **ret_inherited);
void inherited_free(struct inherited *inherited);
DEFINE_CLEANUP(struct inherited, inherited_freep, inherited_free);
#define cleanup_inherited cleanup(inherited_freep)

/*
 * The map in force with that name. If there are several, because an exchange was interrupted:
 * the pinned one, otherwise the one that most programs use. Borrowed; NULL if no program in
 * force uses such a map.
 */
const struct inherited_map *inherited_map(const struct inherited *inherited, const char *name);
/* NULL: no such link is in force. */
const struct inherited_link *inherited_link(const struct inherited *inherited, const char *pin);
/* Does the link's program use exactly the maps that inherited_map returns? */
bool inherited_link_fits(const struct inherited *inherited, const struct inherited_link *link);

/* The path of the pin of map `name`. -ENAMETOOLONG. */
int inherit_name_map(const char *name, struct inherit_name *ret_name);
/*
 * A descriptor of the map: the one in force, otherwise the pinned one, which no program uses
 * yet or any more. -ENOENT; also without a directory of pins (NULL).
 */
int inherit_map_fd(const struct inherited *inherited, const char *pin_dir, const char *name,
		   int *ret_fd);

#endif
