/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks of CPUs as the files of procfs and sysfs have them: as a list ("0-3,8"), or in
 * hexadecimal words of 32 bits, the highest first ("ff,ffffffff"), where there is no file with
 * a list.
 */
#ifndef IRQ_MASK_H
#define IRQ_MASK_H

#include "core/cpuset.h"

enum mask_form { MASK_LIST, MASK_HEX };

/* -EINVAL for other text, -ERANGE for a CPU >= CPUSET_MAX; *ret_set is then unchanged. */
int mask_parse(enum mask_form form, const char *text, struct cpuset *ret_set);
/* The text that a kernel takes; the caller owns it. NULL = no memory. */
char *mask_text(enum mask_form form, const struct cpuset *set);

/* Read the first line of a file. Negative errno; *ret_set is then unchanged. */
int mask_read(int dir_fd, const char *file, enum mask_form form, struct cpuset *ret_set);
/* One write; the kernel takes the mask as a whole or refuses it with an errno. */
int mask_write(int dir_fd, const char *file, enum mask_form form, const struct cpuset *set);

#endif
