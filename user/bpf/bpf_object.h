/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life cycle of one BPF object: its programs and maps, in force and pinned.
 *
 * libbpf's struct bpf_object is the object as it was opened from its file. What is in force in
 * the kernel is struct bpf_object_handle here, and its functions begin with bpf_object_, with
 * one underscore.
 *
 * Pins are in PIN_DIR/links (one per program, "<object>_<program>"), PIN_DIR/maps (by map name,
 * shared between objects) and PIN_DIR/meta. They keep the objects in force while no agent runs.
 * bpf_object_start finds the programs and maps in force (inherit.h) and adopts them if
 * they are exactly those that would be loaded. Otherwise it loads again with the maps in
 * force, attaches, and only then releases the old programs, so there is no moment without
 * either.
 */
#ifndef BPF_OBJECT_H
#define BPF_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#include <pinfold/abi.h>

#include "bpf/pins.h"
#include "lib/cleanup.h"

#define BPF_OBJECT_PROGRAMS_MAX 24
#define BPF_OBJECT_MAPS_MAX	24

struct bpf_object_program {
	char name[32];
	char section[48]; /* "lsm/file_open" */
	uint32_t id;
	int link_fd, prog_fd;
};

struct bpf_object_map {
	char name[32];
	int fd;
};

/* Descriptors of what is in force; closing them leaves pinned objects in force. */
struct bpf_object_handle {
	char name[16];
	enum bpf_object_id id;
	enum mechanism mechanism;
	bool adopted; /* the programs were in force before this process started */
	/* The map `meta`, which all objects share; -1 if another object keeps it pinned. */
	int meta_fd;
	struct pins_report inherited; /* pins found wrong when the object was started */
	uint32_t nr_programs, nr_maps;
	struct bpf_object_program programs[BPF_OBJECT_PROGRAMS_MAX];
	struct bpf_object_map maps[BPF_OBJECT_MAPS_MAX];
};

/* What the sizes of the maps depend on that several objects share. */
struct bpf_object_sizes {
	uint32_t nr_slots;   /* including slot 0 */
	uint32_t mask_words; /* 64 CPUs each */
};

/* Entries of the map `managed`: no more groups than these are ever published. */
uint32_t bpf_object_nr_managed(const struct bpf_object_sizes *sizes);

/* Programs of which only one generation may count (turn.h). */
struct bpf_object_turns {
	uint32_t *turn;	      /* their constant: set before they are loaded */
	uint32_t nr_cpus;     /* possible CPUs; `turns` has one entry more */
	const char *counters; /* the map whose content is carried over if its size has changed */
};

/*
 * A map of one entry that the programs address as memory, in the place of a section of
 * theirs. Unlike the map that libbpf would make for the section it has a name of ours, a
 * pin, and as many bytes as the machine needs.
 */
struct bpf_object_memory {
	struct bpf_map *map; /* the section's, of at least `bytes` */
	const char *name;
	uint32_t bytes;
	bool starts_empty; /* a new one gets no content from its predecessor */
};

struct bpf_object_spec {
	enum bpf_object_id id;
	enum mechanism mechanism;
	uint64_t digest; /* of everything that the caller chose: object bytes, constants, sizes */
	const struct bpf_object_sizes *sizes; /* of the shared maps */
	/*
	 * Opened, its own maps sized, autoload set; not loaded. Borrowed; the caller closes it
	 * afterwards.
	 */
	struct bpf_object *object;
	const struct bpf_object_turns *turns; /* NULL: two generations may run side by side */
	const struct bpf_object_memory *memory;
	uint32_t nr_memory;
	bool adopt_only; /* return -EAGAIN instead of loading */
	bool keeps_meta; /* restores the pin of the map `meta`; one object does it for all */
};

/* A digest of the object's bytes, its sizes, and the set of its programs to load. */
uint64_t bpf_object_digest(const void *bytes, size_t len, const void *sizes, size_t sizes_len,
			   const struct bpf_object *object);

/*
 * 0: the object is in force and pinned below `pin_dir`, which is on bpffs; with NULL it is
 * loaded for this process only. -ESTALE: the pins have a newer ABI; nothing was changed.
 * Otherwise the errno of the first operation that the kernel refused; the objects in force
 * before still are. Does not log: the caller knows whether it is an error or a missing
 * feature.
 */
int bpf_object_start(const struct bpf_object_spec *spec, const char *pin_dir,
		     struct bpf_object_handle **ret_handle);
/* Free it; the pins keep it in force. */
void bpf_object_free(struct bpf_object_handle *handle);
DEFINE_CLEANUP(struct bpf_object_handle, bpf_object_freep, bpf_object_free);
#define cleanup_bpf_object cleanup(bpf_object_freep)

/* The map's descriptor, borrowed, or -1 if the object has no such map. */
int bpf_object_map_fd(const struct bpf_object_handle *handle, const char *name);
/* Restore pins that another process removed or replaced. Adds to the report. */
void bpf_object_restore_pins(const struct bpf_object_handle *handle, const char *pin_dir,
			     struct pins_report *report);

#endif
