/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel can do does not change while it runs, and asking costs a restarted
 * agent up to a second under emulation. So answers are kept for the boot, in a file
 * of the runtime directory, and believed only by the same build of the agent on
 * the same boot of the same kernel with the same security modules and lockdown.
 * Only plain yes and no are kept: an "unknown" has to be asked again.
 */
#ifndef BPF_REMEMBER_H
#define BPF_REMEMBER_H

#include "bpf/probe.h"

#define REMEMBER_KEY_MAX 1024

/*
 * Everything the answers hold for, as text. `identity` is the agent's own build.
 * 0, -ENAMETOOLONG, or the error of a file that must be readable.
 */
int remember_key(const char *identity, char key[REMEMBER_KEY_MAX]);

/*
 * Fill the first *ret_nr rows. -ENOENT: nothing was kept, or not for this key, or
 * the file is damaged; rows are untouched then. Does not log.
 */
int remember_load(int dir_fd, const char key[REMEMBER_KEY_MAX], struct feature_row rows[ABILITY_NR],
		  uint32_t *ret_nr);
/* Keep the first `nr` rows. -EINVAL: one of them is unknown; what was kept before stays. */
int remember_save(int dir_fd, const char key[REMEMBER_KEY_MAX],
		  const struct feature_row rows[ABILITY_NR], uint32_t nr);
/* It turned out to be wrong. */
void remember_forget(int dir_fd);

#endif
