/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes this process the agent of the programs in force before it changes their pins, which they
 * deny to everybody else (enforcement.guardFiles).
 */
#ifndef BPF_ADMIT_H
#define BPF_ADMIT_H

#include "bpf/inherit.h"

/*
 * Enter it among the actors of the programs in force; if that map cannot be written, let these
 * only record changes of their pins, unless a release or the mode has them do so already. 0 also if
 * there are no such programs; otherwise the errno of the first map: nothing can be changed then.
 */
int admit_agent(const char *pin_dir, const struct inherited *inherited);
/* The same for the programs whose links are pinned. */
int admit_to_pinned(const char *pin_dir);
/*
 * The same before they are removed: from now on they record what they would deny, whoever else
 * holds them and however long they take to end. If only that fails, it is reported.
 */
int admit_to_remove(const char *pin_dir);

#endif
