/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One part: the programs and maps of one BPF object, in force and pinned.
 *
 * Pins lie in PIN_DIR/links (one per program, "<part>_<program>"), PIN_DIR/maps
 * (by map name, shared between parts) and PIN_DIR/meta. They hold while the agent
 * is dead: bringing a part up finds what is in force (inherit.h), adopts it if it is
 * exactly what we would make, else loads anew on its maps, attaches, and only then
 * lets the old programs go, so there is no moment without either.
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
	bool adopted; /* the programs were there before this process */
	/*
	 * Of the map `meta`, which all parts share; -1 where it is another part's to keep
	 * pinned.
	 */
	int meta_fd;
	struct pins_report inherited; /* pins that were wrong when it was brought up */
	uint32_t nr_programs, nr_maps;
	struct part_program programs[PART_PROGRAMS_MAX];
	struct part_map maps[PART_MAPS_MAX];
};

/* Sizes of the maps that objects share; all must ask for the same. */
struct part_sizes {
	uint32_t nr_slots;   /* including slot 0 */
	uint32_t mask_words; /* 64 CPUs each */
};

/* Entries of the map `managed`. */
uint32_t part_nr_managed(const struct part_sizes *sizes);

/* Programs of which one generation alone may count (turn.h). */
struct part_turns {
	uint32_t *turn;	      /* their constant: filled in before they are loaded */
	uint32_t nr_cpus;     /* possible ones; `turns` has as many entries and one */
	const char *counters; /* the map whose content is carried over if its size has changed */
};

struct part_spec {
	enum part_id id;
	const char *name; /* "guard" */
	enum mechanism mechanism;
	uint64_t digest; /* of everything the caller decided: object bytes, constants, sizes */
	/* Opened, sized, autoload set; not loaded. Borrowed; the caller closes it afterwards. */
	struct bpf_object *object;
	const struct part_turns *turns; /* NULL: two generations may run side by side */
	bool adopt_only;		/* -EAGAIN instead of loading anew */
};

/* A digest to begin with: the object's bytes, its sizes, and which of its programs are wanted. */
uint64_t part_digest(const void *bytes, size_t len, const void *sizes, size_t sizes_len,
		     const struct bpf_object *object);

/*
 * 0: the part is in force and pinned below `pin_dir`, which is on bpffs. With NULL it is
 * loaded for this process alone.
 * -ESTALE: what is pinned belongs to a newer ABI; nothing was touched. Else the
 * errno of the first thing the kernel refused; what was in force before still is.
 * Does not log: the caller knows whether it is an error or a missing ability.
 */
int part_bring_up(const struct part_spec *spec, const char *pin_dir, struct part **ret_part);
/* Forget it; the pins keep it in force. */
void part_free(struct part *part);
DEFINE_CLEANUP(struct part, part_freep, part_free);
#define cleanup_part cleanup(part_freep)

/* The map's descriptor, borrowed, or -1 when the part has no such map. */
int part_map_fd(const struct part *part, const char *name);
/* Pin again what somebody unpinned or replaced while we hold it. Adds to the report. */
void part_restore_pins(const struct part *part, const char *pin_dir, struct pins_report *report);

/*
 * Unpin the links of the part called `name` below `pin_dir` and wait until its
 * programs have ended. Needs nothing but bpffs. 0 also when there were none;
 * -EBUSY after two seconds: somebody, a running agent, still holds them.
 */
int part_release(const char *pin_dir, const char *name);
/* Remove every pin of every part, and the folders. */
int parts_remove(const char *pin_dir);

#endif
