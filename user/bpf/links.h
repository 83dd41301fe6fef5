/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pins of an object's links, PIN_DIR/links/<object>_<program>. What is pinned there is in
 * force without the agent, so the order in which these pins change decides whether there is a
 * moment without either generation (bpf_object.c).
 */
#ifndef BPF_LINKS_H
#define BPF_LINKS_H

#include "bpf/bpf_object.h"

/*
 * The path of a pin: "links/<object>_<program>", or just the program's name if that begins with
 * the object's. -ENAMETOOLONG.
 */
int links_pin_of(const char *object, const char *program, char ret_pin[PIN_NAME_MAX]);

/*
 * Pin the links beside those of an earlier generation. Programs with pins then exist at every
 * moment, even after a crash. On an error none of them is pinned.
 */
int links_stage(const struct bpf_object_handle *handle, const char *pin_dir);
/* Put what links_stage pinned in place of the earlier generation, one by one. */
int links_commit(const struct bpf_object_handle *handle, const char *pin_dir);
/* Unpin the object's links that `handle` does not have. */
int links_drop_others(const struct bpf_object_handle *handle, const char *pin_dir);
/* Unpin the links of objects that this version does not have. */
int links_drop_unknown(const char *pin_dir);

/* Is any link of the object called `name` pinned? */
bool links_any(const char *pin_dir, const char *name);
/*
 * Unpin the links of the object called `name` and wait until its programs have ended. Needs
 * only bpffs. 0 also if there were none; -EBUSY after ten seconds: another process, such as a
 * running agent, still holds them.
 */
int links_release(const char *pin_dir, const char *name);

#endif
