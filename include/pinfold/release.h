/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * An operator's release of the guard, and the way back. The inspector writes it into the
 * pinned configuration, with or without an agent; the agent tells it by its mark from a
 * change that nobody asked for.
 */
#ifndef PINFOLD_RELEASE_H
#define PINFOLD_RELEASE_H

#include <stdbool.h>

#include <pinfold/abi.h>

_Static_assert(ASPECT_NR == 3, "guard_config.released lies behind the last aspect's mode");

static inline bool release_stands(const struct guard_config *config)
{
	return config->released & GUARD_RELEASED;
}

/* What is denied is only recorded from now on. A release that stands stays as it is. */
static inline void release_make(struct guard_config *config)
{
	if (release_stands(config))
		return;
	config->released = GUARD_RELEASED;
	for (int i = 0; i < ASPECT_NR; i++) {
		config->released |= config->aspect_modes[i] << GUARD_RELEASED_SHIFT(i);
		if (config->aspect_modes[i] == GUARD_ENFORCE)
			config->aspect_modes[i] = GUARD_AUDIT;
	}
}

/* The modes there were before the release; without one nothing changes. */
static inline void release_end(struct guard_config *config)
{
	if (!release_stands(config))
		return;
	for (int i = 0; i < ASPECT_NR; i++)
		config->aspect_modes[i] = config->released >> GUARD_RELEASED_SHIFT(i) & 3;
	config->released = 0;
}

#endif
