/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins below one directory of bpffs. A pin is named by its path there: "maps/managed",
 * "links/guard_lsm_file_perm", "meta". The objects in force are those of which the agent holds
 * descriptors; a pin only keeps an object when the agent has gone. Root can remove, move or
 * replace pins, so it is always checked which object a pin refers to, not only that it exists.
 */
#ifndef BPF_PINS_H
#define BPF_PINS_H

#include <stddef.h>
#include <stdint.h>

#define PIN_NAME_MAX 64
#define PIN_PATH_MAX 256

enum object_type { OBJECT_OTHER, OBJECT_MAP, OBJECT_PROGRAM, OBJECT_LINK };

/* An object of the kernel; each type has its own space of ids. */
struct object {
	enum object_type type;
	uint32_t id;
};

/* The object behind a descriptor. -EINVAL: none of these types. */
int object_of(int fd, struct object *ret_object);

/*
 * Check that the directory above `pin_dir` is on bpffs. If bpffs was unmounted, mount it again
 * and return 1. -EXDEV: not possible, because this process is in a mount namespace that ends
 * with it.
 */
int pins_mount(const char *pin_dir);
/* Create the directory with maps/ and links/ in it, replacing anything else in their place. */
int pins_make_folders(const char *pin_dir);

/* The path of the pin of map `map`: "maps/…". -ENAMETOOLONG. */
int pin_of_map(const char *map, char ret_pin[PIN_NAME_MAX]);

/* -ENOENT: no such pin; -EEXIST: another object is in its place. */
int pin_open(const char *pin_dir, const char *name, enum object_type type, int *ret_fd);
/* Pin `fd` in place of whatever is there, without a moment without a pin. */
int pin_put(const char *pin_dir, const char *name, int fd);
/* The two halves of pin_put: pin `fd` beside its place, then move it there. */
int pin_stage(const char *pin_dir, const char *name, int fd);
int pin_commit(const char *pin_dir, const char *name);
/* Instead of pin_commit: remove what pin_stage created, if it exists. */
void pin_unstage(const char *pin_dir, const char *name);

struct pin {
	char name[PIN_NAME_MAX];
	int fd; /* of the object in force; borrowed */
};

#define PINS_TEXT_MAX 180

/* Pins that were not as expected. Several calls add to one report. */
struct pins_report {
	uint32_t nr_wrong, nr_named, nr_failed;
	size_t len;		    /* length of the part of `wrong` that lists names */
	char wrong[PINS_TEXT_MAX];  /* "maps/managed lost, links/… replaced, and 3 more" */
	char failed[PINS_TEXT_MAX]; /* the first pin that could not be restored, and why */
};

/* Count one more pin, and add its name and problem ("lost") while there is space. */
void pins_report_wrong(struct pins_report *report, const char *name, const char *how);
/* Add `other` to `report`, which keeps its own first failure. */
void pins_report_add(struct pins_report *report, const struct pins_report *other);
/* Compare each pin with the object in force, and restore those that differ. */
void pins_restore(const char *pin_dir, const struct pin *pins, uint32_t nr,
		  struct pins_report *report);

/*
 * Remove every pin of every object, and the directories. No symbolic link is followed, whoever put
 * it there. 0 also if nothing is pinned.
 */
int pins_remove(const char *pin_dir);

#endif
