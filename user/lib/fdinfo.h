/* SPDX-License-Identifier: Apache-2.0 */
/* What procfs tells about a descriptor, and no system call does. */
#ifndef LIB_FDINFO_H
#define LIB_FDINFO_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Does /proc/self/fdinfo/`fd` have a line "`field`:\t`value`"? False also where procfs is not
 * mounted or the kernel does not tell the field.
 */
bool fdinfo_is(int fd, const char *field, const char *value);
/* The decimal number behind "`field`:\t". -ENOENT where the kernel does not tell it. */
int fdinfo_number(int fd, const char *field, uint64_t *ret_number);

#endif
