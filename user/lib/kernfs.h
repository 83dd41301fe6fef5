/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of cgroup2 by the number that the kernel and BPF programs have for them. */
#ifndef LIB_KERNFS_H
#define LIB_KERNFS_H

#include <stdint.h>

/*
 * Open the cgroup with this id with O_PATH; `mount_fd` is any directory of the same mount. -ENOENT if it
 * is gone; otherwise a negative errno. Needs CAP_DAC_READ_SEARCH.
 */
int kernfs_open(int mount_fd, uint64_t id, int *ret_fd);

#endif
