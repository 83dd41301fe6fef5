/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of other processes to the masks, as fanotify reports them. procfs and sysfs report what
 * comes through write(2), with the writer, but nothing that the kernel changes itself, and a mark
 * is lost when the kernel drops the inode under memory pressure. Each mount of procfs has inodes of
 * its own, so an agent in a container hears of nothing that is written on the host. So this is a
 * hint that a pass is due; passes find the changes.
 */
#ifndef IRQ_CHANGES_H
#define IRQ_CHANGES_H

#include <stdbool.h>

#include "ctl/ports.h"
#include "irq/table.h"

/* A descriptor for epoll, or a negative errno: -EPERM without CAP_SYS_ADMIN. */
int irq_changes_open(void);

/*
 * Mark the masks that can be changed. A mark that exists already costs a lookup of its path. What
 * cannot be marked is found by the passes that time begins.
 */
void irq_changes_mark(int fd, int root_fd, const struct irq_table *table);
void irq_changes_unmark(int fd);

/*
 * Read some of what was written. Returns whether another process wrote; *ret_writer is the last
 * one, its name "" if it has ended.
 */
bool irq_changes_read(int fd, struct irq_writer *ret_writer);

#endif
