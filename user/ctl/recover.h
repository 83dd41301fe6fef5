/* SPDX-License-Identifier: Apache-2.0 */
/* What a starting agent finds of an earlier one, and keeps. */
#ifndef CTL_RECOVER_H
#define CTL_RECOVER_H

struct controller;

/*
 * At the start: the ledger as the file has it, as far as it fits the machine; else from
 * the cgroups that run. -EPROTO: a newer agent wrote the file, which is left as it is.
 */
int ctl_recover(struct controller *controller);
/* Where there is no usable file: what runs keeps its CPUs. */
int ctl_rebuild(struct controller *controller);

#endif
