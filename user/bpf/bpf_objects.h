/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the BPF objects, and those in force. An object is one row of the table in
 * bpf_objects.c and one file, such as object_watch.c, with what only this object needs. All else is
 * common: bpf_object.c adopts or exchanges an object, bpf_loader.c decides when, and
 * backend_*.c restores its pins and reports it.
 *
 * The ABI version is one number for all objects (ABI_VERSION), because they share maps.
 */
#ifndef BPF_OBJECTS_H
#define BPF_OBJECTS_H

#include "bpf/abilities.h"
#include "bpf/bpf_backend.h"
#include "bpf/bpf_object.h"

/* What an object's file gets to put its object in force. All pointers are borrowed. */
struct bpf_object_request {
	const struct bpf_backend_options *options;
	const struct bpf_object_sizes *sizes;
	struct abilities *abilities;
	const void *elf; /* the object's file, for its digest */
	size_t elf_len;
	bool adopt_only; /* -EAGAIN instead of loading */
};

struct bpf_object_instance {
	struct bpf_object_handle *handle; /* NULL: not in force */
	void *state;			  /* of the object's file; observe: struct observer */
	int left_out; /* errno for which it is without its optional programs; 0 = it has them */
};

struct bpf_object_row {
	/*
	 * Readiness waits for it: kernel_port.start returns when it is in force or refused. The
	 * others are then only adopted, and a thread loads what cannot be adopted.
	 */
	bool is_awaited;
	/* The abilities that `start` reads, from the first: only then can it be adopted. */
	uint32_t nr_abilities;
	const char *subject; /* in messages: "the guard" */
	/* The feature row of its optional programs, and why they are missing. NULL: has none. */
	const char *optional, *optional_reason;
	/*
	 * The object's file. Maps that several objects have must be the same in each;
	 * tests/unit/test_bpf_objects.c compares them.
	 */
	const void *(*elf)(size_t *ret_len);
	/*
	 * Adopt, exchange or load: choose programs and sizes, then call bpf_object_start. Its
	 * errors; *ret_instance is set on success only.
	 */
	int (*start)(const struct bpf_object_request *request,
		     struct bpf_object_instance *ret_instance);
	/* Close handle and state; pinned programs remain in force. NULL: there is no state. */
	void (*stop)(struct bpf_object_instance *instance);
	/* The ability without which no program of the object can be attached; NULL: none is. */
	const struct feature_row *(*find_obstacle)(const struct abilities *abilities);
};

/* NULL: this version has no object of that number. */
const struct bpf_object_row *bpf_object_row(enum bpf_object_id id);

/* --- those in force -------------------------------------------------------------------------------- */

/* Abilities, objects, and the rows of optional programs. */
#define BPF_FEATURES_MAX (ABILITY_NR + 2 * BPF_OBJECT_NR)

struct bpf_objects {
	struct abilities abilities;
	struct bpf_object_instance instances[BPF_OBJECT_NR];
	/* Of the feature table; unused where an object has no row or no optional programs. */
	struct feature_row rows[BPF_OBJECT_NR], optional_rows[BPF_OBJECT_NR];
};

/* None is in force; all features are unknown or being loaded. `options` is borrowed. */
void bpf_objects_begin(struct bpf_objects *objects, const struct bpf_backend_options *options);
/* Close the descriptors; pinned objects remain in force. */
void bpf_objects_free(struct bpf_objects *objects);

/* Is at least one in force? */
bool bpf_objects_any(const struct bpf_objects *objects);
/* Borrowed; NULL: the object is not in force. */
struct bpf_object_handle *bpf_objects_handle(const struct bpf_objects *objects,
					     enum bpf_object_id id);
/* The map of this name, borrowed, or -1. All objects that have it share it through its pin. */
int bpf_objects_map_fd(const struct bpf_objects *objects, const char *name);
/* The feature table: abilities, then each object with its optional programs. Returns the number. */
uint32_t bpf_objects_features(const struct bpf_objects *objects,
			      struct feature_row ret_rows[BPF_FEATURES_MAX]);

/* Take over the objects that `later`, which began as a copy of `objects`, has started since. */
void bpf_objects_merge(struct bpf_objects *objects, const struct bpf_objects *later);

#endif
