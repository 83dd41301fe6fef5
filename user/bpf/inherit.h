/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an earlier agent left in force, found the way the kernel holds it: a link keeps its
 * program, a program keeps its maps. Pins are only where the search begins, because any
 * one of them may have been lost, moved or replaced while the programs went on.
 *
 * Serves every object of ours. The caller says which programs the object has; links whose
 * pins are gone are looked for among all links of the kernel, by the names of program and
 * maps.
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
#define INHERIT_NAME_MAX  16 /* the kernel's, which cuts longer names */

struct inherited_link {
	char pin[PIN_NAME_MAX]; /* "links/…": where it is pinned, or would be */
	bool pinned;		/* there; else found among all links */
	uint32_t id, prog_id;
	int fd;
	uint32_t nr_maps, map_ids[INHERIT_USES_MAX]; /* of its program */
};

struct inherited_map {
	char name[INHERIT_NAME_MAX];
	uint32_t id;
	uint32_t nr_users; /* programs in force that use it */
	bool pinned;	   /* under its own name */
	int fd;
};

struct inherited {
	uint32_t nr_links, nr_maps;
	struct inherited_link links[INHERIT_LINKS_MAX];
	struct inherited_map maps[INHERIT_MAPS_MAX];
};

/* A program's link, or a map: where its pin should be, and how the object calls it. */
struct inherit_name {
	char pin[PIN_NAME_MAX];
	char name[32]; /* the kernel keeps the first 15 bytes */
};

struct inherit_wanted {
	const struct inherit_name *programs;
	uint32_t nr_programs;
	/* A program whose link is not pinned is ours when it uses one of these as well. */
	const struct inherit_name *maps;
	uint32_t nr_maps;
};

/* All pinned links of pinfold, and the wanted ones that are not pinned. -ENOMEM. */
int inherit_find(const char *pin_dir, const struct inherit_wanted *wanted,
		 struct inherited **ret_inherited);
void inherited_free(struct inherited *inherited);
DEFINE_CLEANUP(struct inherited, inherited_freep, inherited_free);
#define cleanup_inherited cleanup(inherited_freep)

/*
 * The map of that name in force: of several (an exchange was cut off) the pinned one, else
 * the one most programs use. Borrowed; NULL when no program in force uses such a map.
 */
const struct inherited_map *inherited_map(const struct inherited *inherited, const char *name);
/* NULL: it is not in force. */
const struct inherited_link *inherited_link(const struct inherited *inherited, const char *pin);
/* Does the link's program use exactly those maps that inherited_map chooses? */
bool inherited_link_fits(const struct inherited *inherited, const struct inherited_link *link);

/* How the map `name` is called among the pins. -ENAMETOOLONG. */
int inherit_name_map(const char *name, struct inherit_name *ret_name);
/*
 * A descriptor of the map: the one in force, else the one that is pinned, which no program
 * uses yet or any more. -ENOENT; also without a folder of pins (NULL).
 */
int inherit_map_fd(const struct inherited *inherited, const char *pin_dir, const char *name,
		   int *ret_fd);

#endif
