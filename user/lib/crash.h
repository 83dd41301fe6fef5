/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named crash points: places where a test kills the agent to prove that a restart loses
 * nothing. A point is armed by PINFOLD_CRASH_AT=name[:count] in the environment and kills
 * the process when it is passed for the count-th time. Otherwise it costs one load and a
 * branch.
 */
#ifndef LIB_CRASH_H
#define LIB_CRASH_H

/* Read the environment. Call this once, at start. */
void crash_arm(void);
/*
 * Send SIGKILL to the own process at the armed point, so that no handler runs and nothing
 * is flushed.
 */
void crash_point(const char *name);

#endif
