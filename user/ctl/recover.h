/* SPDX-License-Identifier: Apache-2.0 */
/* Restoring the state of an earlier agent at a start. */
#ifndef CTL_RECOVER_H
#define CTL_RECOVER_H

struct controller;

/*
 * At a start: restore the ledger from the file, as far as it fits the machine, or else from
 * live cgroups. -EPROTO: a newer agent wrote the file, which is left unchanged.
 */
int ctl_recover(struct controller *controller);
/*
 * Without a usable file: rebuild the ledger from live cgroups, so that running pods keep their
 * CPUs.
 */
int ctl_rebuild(struct controller *controller);

#endif
