/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager for machines whose PID 1 is systemd. Over sd-bus it creates pinfold.slice,
 * a slice per pod, and a scope with Delegate=yes per container.
 *
 * A scope cannot exist without a process ("Scope has no PIDs. Refusing.", systemd 252 to
 * 257), and systemd removes it when its last process ends. While a container has no
 * process, its group is therefore only *noted*: kept in memory with its future values.
 * The first process joins a scope that is created with these limits. A placeholder
 * process in each scope would be an alternative, but every container would then always
 * look populated and cost a process, and a workload that calls kill(-1) would kill it.
 *
 * Every value is also set as a unit property. Otherwise systemd would restore an older
 * value at the next daemon-reload or property change.
 */
#ifndef CGROUP_SYSTEMD_H
#define CGROUP_SYSTEMD_H

#include "cgroup/manager.h"

struct systemd;

/* Through `port` (copied) the guard learns when systemd acts for us. */
void systemd_set_lease(struct systemd *systemd, const struct lease_port *port);

/* "a/a-b.slice/x.scope" -> "x.scope" and its slice "a-b.slice" ("-.slice" at the top). Pure. */
int systemd_unit_of(const char *path, char *ret_unit, char *ret_slice, size_t size);

/*
 * Convert a set to systemd's bit mask, with the lowest CPU in bit 0 of byte 0. Returns
 * its length in bytes. Pure.
 */
size_t systemd_mask(const struct cpuset *set, uint8_t *ret_mask, size_t size);

/*
 * Convert cpu.max to CPUQuotaPerSecUSec: microseconds per second, UINT64_MAX = none.
 * -EINVAL. Pure.
 */
int systemd_quota(const char *cpu_max, uint64_t *ret_usec_per_sec, uint64_t *ret_period_usec);

/*
 * Let systemd forget the CPU list of a top-level unit. The file keeps what it has, because systemd
 * writes only lists that a unit has. Returns a negative errno with a message.
 */
int systemd_reset_cpus(struct groups *groups, const char *path, char *error);

/* Let systemd read its units again. Returns a negative errno with a message. */
int systemd_reload(struct groups *groups, char *error);

#endif
