/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins below one folder of bpffs. A pin is named by its path there: "maps/managed",
 * "links/guard_lsm_file_perm", "meta". What is in force is what we hold a descriptor of;
 * a pin is only what keeps it there when we are gone, and root can remove, move or
 * replace pins as it likes: so each is asked whose it is, never only whether it exists.
 */
#ifndef BPF_PINS_H
#define BPF_PINS_H

#include <stddef.h>
#include <stdint.h>

#define PIN_NAME_MAX 64
#define PIN_PATH_MAX 256

enum object_type { OBJECT_OTHER, OBJECT_MAP, OBJECT_PROGRAM, OBJECT_LINK };

/* One object of the kernel; ids of different types are different numbers' spaces. */
struct object {
	enum object_type type;
	uint32_t id;
};

/* What the descriptor is of. -EINVAL: none of these. */
int object_of(int fd, struct object *ret_object);

/*
 * Is there bpffs at the folder that `pin_dir` lies in? Where it was unmounted it is
 * mounted again: 1. -EXDEV: not by us, who live in a mount namespace that ends with us.
 */
int pins_mount(const char *pin_dir);
/* The folder, and maps/ and links/ in it. Something else in their place goes. */
int pins_make_folders(const char *pin_dir);

/* Where the map called `map` is pinned: "maps/…". -ENAMETOOLONG. */
int pin_of_map(const char *map, char ret_pin[PIN_NAME_MAX]);

/* -ENOENT: no such pin; -EEXIST: something else stands there. */
int pin_open(const char *pin_dir, const char *name, enum object_type type, int *ret_fd);
/* Pin `fd`, in place of whatever is there: at no moment is there no pin. */
int pin_put(const char *pin_dir, const char *name, int fd);
/* The two halves of pin_put: pin `fd` beside the place that is meant for it, then put it there. */
int pin_stage(const char *pin_dir, const char *name, int fd);
int pin_commit(const char *pin_dir, const char *name);
/* Instead of pin_commit: remove what pin_stage made, if it is there. */
void pin_unstage(const char *pin_dir, const char *name);

struct pin {
	char name[PIN_NAME_MAX];
	int fd; /* of what is in force; borrowed */
};

#define PINS_TEXT_MAX 180

/* What was found other than it should be. Several calls add to one report. */
struct pins_report {
	uint32_t nr_wrong, nr_named, nr_failed;
	size_t len;		    /* of those named in `wrong` */
	char wrong[PINS_TEXT_MAX];  /* "maps/managed lost, links/… replaced, and 3 more" */
	char failed[PINS_TEXT_MAX]; /* what could not be put back: the first, and why */
};

/* Count one more pin, and name it with what was wrong ("lost") while there is room. */
void pins_report_wrong(struct pins_report *report, const char *name, const char *how);
/* `report` becomes both; of those that could not be put back its own is kept. */
void pins_report_add(struct pins_report *report, const struct pins_report *other);
/* Compare each pin with what is in force, and put back what is not the same. */
void pins_restore(const char *pin_dir, const struct pin *pins, uint32_t nr,
		  struct pins_report *report);

#endif
