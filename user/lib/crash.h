/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named crash points: places where a test kills the agent to prove that a
 * restart finds nothing lost. Armed only by PINFOLD_CRASH_AT=name[:count] in
 * the environment (the count-th passing dies); otherwise one load and a branch.
 */
#ifndef LIB_CRASH_H
#define LIB_CRASH_H

/* Read the environment once, at start. */
void crash_arm(void);
/* SIGKILL to self at the armed point: no handler, no flush, as in a power cut of the process. */
void crash_point(const char *name);

#endif
