/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * An operator's release of the guard, and the way back. The inspector writes it into the
 * pinned configuration, with or without an agent; the agent tells it by its mark from a
 * change that nobody asked for.
 */
#ifndef PINFOLD_RELEASE_H
#define PINFOLD_RELEASE_H

#include <stdbool.h>

#include <pinfold/guard_modes.h>

_Static_assert(GUARD_RELEASED_SHIFT(ASPECT_NR) <= 31,
	       "guard_config.released has two bits for each aspect");

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
	for (__u32 i = 0; i < ASPECT_NR; i++) {
		config->released |= guard_mode_of(config, i) << GUARD_RELEASED_SHIFT(i);
		if (guard_mode_of(config, i) == GUARD_ENFORCE)
			guard_set_mode(config, i, GUARD_AUDIT);
	}
}

/* The modes there were before the release; without one nothing changes. */
static inline void release_end(struct guard_config *config)
{
	if (!release_stands(config))
		return;
	for (__u32 i = 0; i < ASPECT_NR; i++)
		guard_set_mode(config, i, config->released >> GUARD_RELEASED_SHIFT(i) & 3);
	config->released = 0;
}

#endif
