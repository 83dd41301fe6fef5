/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files in which systemd keeps lists of CPUs that were set at run time. Emptied, such a file
 * still hides until the next boot what an administrator configures for the unit, and no call of
 * systemd removes this one alone.
 */
#ifndef CGROUP_DROP_INS_H
#define CGROUP_DROP_INS_H

#include <stdbool.h>

/*
 * Remove those that have nothing but an emptied list. One that cannot be removed is logged.
 * Returns whether systemd has to be reloaded, because some are gone.
 */
bool drop_ins_remove(int root_fd);

#endif
