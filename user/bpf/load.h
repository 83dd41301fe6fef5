/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One part: the programs and maps of one BPF object, in force and pinned.
 *
 * Pins are in PIN_DIR/links (one per program, "<part>_<program>"), PIN_DIR/maps (by map name,
 * shared between parts) and PIN_DIR/meta. They keep the objects in force while no agent runs.
 * Bringing a part up finds the objects in force (inherit.h) and adopts them if they are
 * exactly those that would be loaded. Otherwise it loads again with the maps in force,
 * attaches, and only then releases the old programs, so there is no moment without either.
 */
#ifndef BPF_LOAD_H
#define BPF_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#include <pinfold/abi.h>

#include "bpf/pins.h"
#include "lib/cleanup.h"

#define PART_PROGRAMS_MAX 16
#define PART_MAPS_MAX	  24

struct part_program {
	char name[32];
	char section[48]; /* "lsm/file_open" */
	uint32_t id;
	int link_fd, prog_fd;
};

struct part_map {
	char name[32];
	int fd;
};

struct part {
	char name[16];
	enum part_id id;
	bool adopted; /* the programs were in force before this process started */
	/* The map `meta`, which all parts share; -1 if another part keeps it pinned. */
	int meta_fd;
	struct pins_report inherited; /* pins found wrong when the part was brought up */
	uint32_t nr_programs, nr_maps;
	struct part_program programs[PART_PROGRAMS_MAX];
	struct part_map maps[PART_MAPS_MAX];
};

/* Sizes of shared maps; all objects must request the same. */
struct part_sizes {
	uint32_t nr_slots;   /* including slot 0 */
	uint32_t mask_words; /* 64 CPUs each */
};

/* Entries of the map `managed`. */
uint32_t part_nr_managed(const struct part_sizes *sizes);

/* Programs of which only one generation may count (turn.h). */
struct part_turns {
	uint32_t *turn;	      /* their constant: set before they are loaded */
	uint32_t nr_cpus;     /* possible CPUs; `turns` has one entry more */
	const char *counters; /* the map whose content is carried over if its size has changed */
};

/*
 * A map of one entry that the programs address as memory, in the place of a section of
 * theirs. Unlike the map that libbpf would make for the section it has a name of ours, a
 * pin, and as many bytes as the machine needs.
 */
struct part_memory {
	struct bpf_map *map; /* the section's, of at least `bytes` */
	const char *name;
	uint32_t bytes;
	bool starts_empty; /* a new one gets no content from its predecessor */
};

struct part_spec {
	enum part_id id;
	const char *name; /* "guard" */
	enum mechanism mechanism;
	uint64_t digest; /* of everything that the caller chose: object bytes, constants, sizes */
	/* Opened, sized, autoload set; not loaded. Borrowed; the caller closes it afterwards. */
	struct bpf_object *object;
	const struct part_turns *turns; /* NULL: two generations may run side by side */
	const struct part_memory *memory;
	uint32_t nr_memory;
	bool adopt_only; /* return -EAGAIN instead of loading */
};

/* A digest of the object's bytes, its sizes, and the set of its programs to load. */
uint64_t part_digest(const void *bytes, size_t len, const void *sizes, size_t sizes_len,
		     const struct bpf_object *object);

/*
 * 0: the part is in force and pinned below `pin_dir`, which is on bpffs; with NULL it is
 * loaded for this process only. -ESTALE: the pins have a newer ABI; nothing was changed.
 * Otherwise the errno of the first operation that the kernel refused; the objects in force
 * before still are. Does not log: the caller knows whether it is an error or a missing
 * feature.
 */
int part_bring_up(const struct part_spec *spec, const char *pin_dir, struct part **ret_part);
/* Free it; the pins keep it in force. */
void part_free(struct part *part);
DEFINE_CLEANUP(struct part, part_freep, part_free);
#define cleanup_part cleanup(part_freep)

/* The map's descriptor, borrowed, or -1 if the part has no such map. */
int part_map_fd(const struct part *part, const char *name);
/* Restore pins that another process removed or replaced. Adds to the report. */
void part_restore_pins(const struct part *part, const char *pin_dir, struct pins_report *report);

/*
 * Unpin the links of the part called `name` below `pin_dir` and wait until its programs have
 * ended. Needs only bpffs. 0 also if there were none; -EBUSY after two seconds: another
 * process, such as a running agent, still holds them.
 */
int part_release(const char *pin_dir, const char *name);
/* Remove every pin of every part, and the directories. */
int parts_remove(const char *pin_dir);

#endif
