/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * The mode of each aspect in struct guard_config, for the programs and for user space. The
 * first aspects have a word each. The later ones share what was the unused half of another
 * word, because the map's layout has to stay: an agent of another version takes it over.
 */
#ifndef PINFOLD_GUARD_MODES_H
#define PINFOLD_GUARD_MODES_H

#include <pinfold/abi.h>

/* Where the two bits of an aspect are in guard_config.later_modes. */
#define GUARD_LATER_SHIFT(aspect) (2 * ((aspect)-ASPECTS_WITH_WORD))

_Static_assert(GUARD_LATER_SHIFT(ASPECT_NR) <= 16,
	       "later_modes has two bits for each later aspect");

/* Any number: what a newer version or another process wrote need not be an enum guard_mode. */
static inline __u32 guard_mode_of(const struct guard_config *config, __u32 aspect)
{
	/* the mask is for the verifier */
	if (aspect < ASPECTS_WITH_WORD)
		return config->modes[aspect & 3];
	return config->later_modes >> GUARD_LATER_SHIFT(aspect) & 3;
}

static inline void guard_set_mode(struct guard_config *config, __u32 aspect, __u32 mode)
{
	if (aspect < ASPECTS_WITH_WORD) {
		config->modes[aspect & 3] = mode;
		return;
	}
	config->later_modes &= (__u16) ~(3u << GUARD_LATER_SHIFT(aspect));
	config->later_modes |= (__u16)((mode & 3) << GUARD_LATER_SHIFT(aspect));
}

#endif
