/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager where PID 1 is systemd: pinfold.slice, a slice per pod, and a
 * scope with Delegate=yes per container, over sd-bus.
 *
 * A scope cannot exist without a process ("Scope has no PIDs. Refusing.",
 * systemd 252 to 257), and systemd removes it with its last one. So a
 * container's group is only *noted* (in memory, with the values it will have)
 * while it has no process; the first one joins a scope made with these limits.
 * The alternative, a placeholder process in each scope, would make every
 * container look populated for ever, cost a process each, and die with the
 * workload's own kill(-1).
 *
 * Every value is set as a unit property too, else systemd puts an older one
 * back at the next daemon-reload or property change.
 */
#ifndef CGROUP_SYSTEMD_H
#define CGROUP_SYSTEMD_H

#include "cgroup/manager.h"

/* "a/a-b.slice/x.scope" -> "x.scope" and its slice "a-b.slice" ("-.slice" at the top). Pure. */
int systemd_unit_of(const char *path, char *ret_unit, char *ret_slice, size_t size);

/* A CPU list as systemd's bit mask, lowest CPU in bit 0 of byte 0; returns its bytes. Pure. */
size_t systemd_mask(const struct cpuset *set, uint8_t *ret_mask, size_t size);

/* cpu.max as CPUQuotaPerSecUSec: microseconds per second, UINT64_MAX = none. -EINVAL. Pure. */
int systemd_quota(const char *cpu_max, uint64_t *ret_usec_per_sec, uint64_t *ret_period_usec);

#endif
