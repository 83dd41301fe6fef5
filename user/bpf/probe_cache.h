/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The features of a running kernel do not change, and probing them costs a restarted agent up
 * to a second under emulation. The results are therefore saved for the boot, in a file of the
 * runtime directory, and used only by the same build of the agent on the same boot of the same
 * kernel with the same security modules and lockdown mode. Only yes and no are saved: an
 * "unknown" must be probed again.
 */
#ifndef BPF_PROBE_CACHE_H
#define BPF_PROBE_CACHE_H

#include "bpf/probe.h"

#define PROBE_CACHE_KEY_MAX 1024

/*
 * Everything that the results depend on, as text. `identity` is the agent's build. 0,
 * -ENAMETOOLONG, or the error of a file that must be readable.
 */
int probe_cache_key(const char *identity, char key[PROBE_CACHE_KEY_MAX]);

/*
 * Fill the first *ret_nr rows. -ENOENT: nothing was saved, or not for this key, or the file is
 * damaged; rows are then unchanged. Does not log.
 */
int probe_cache_load(int dir_fd, const char key[PROBE_CACHE_KEY_MAX],
		     struct feature_row rows[ABILITY_NR], uint32_t *ret_nr);
/* Save the first `nr` rows. -EINVAL: one of them is unknown; the file is then unchanged. */
int probe_cache_save(int dir_fd, const char key[PROBE_CACHE_KEY_MAX],
		     const struct feature_row rows[ABILITY_NR], uint32_t nr);
/* Remove the file: a result turned out to be wrong. */
void probe_cache_forget(int dir_fd);

#endif
