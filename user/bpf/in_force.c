// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "bpf/in_force.h"
#include "format/words.h"

struct guard_config guard_config_expected(const struct guard_config *set,
					  const struct guard_config *found)
{
	struct guard_config expected = *set;

	expected.released = 0;
	if (release_stands(found))
		release_make(&expected);
	return expected;
}

/* --- words ------------------------------------------------------------------------------------ */

struct words {
	char *text;
	size_t size, len;
};

static void add(struct words *words, const char *what, const char *found, const char *expected)
{
	int len = snprintf(words->text + words->len, words->size - words->len,
			   "%s%s %s instead of %s", words->len ? ", " : "", what, found, expected);

	if (len > 0)
		words->len += (size_t)len;
	if (words->len >= words->size)
		words->len = words->size - 1;
}

static void add_number(struct words *words, const char *what, __u64 found, __u64 expected)
{
	char left[24], right[24];

	if (found == expected)
		return;
	snprintf(left, sizeof(left), "%llu", (unsigned long long)found);
	snprintf(right, sizeof(right), "%llu", (unsigned long long)expected);
	add(words, what, left, right);
}

static void add_bits(struct words *words, const char *what, __u32 found, __u32 expected)
{
	char left[16], right[16];

	if (found == expected)
		return;
	snprintf(left, sizeof(left), "%#x", found);
	snprintf(right, sizeof(right), "%#x", expected);
	add(words, what, left, right);
}

bool guard_config_differs(const struct guard_config *expected, const struct guard_config *found,
			  char *text, size_t size)
{
	struct words words = {text, size, 0};

	*text = '\0';
	for (enum aspect i = 0; i < ASPECT_NR; i++)
		if (guard_mode_of(found, i) != guard_mode_of(expected, i))
			add(&words, aspect_option(i), guard_mode_name(guard_mode_of(found, i)),
			    guard_mode_name(guard_mode_of(expected, i)));
	add_bits(&words, "modes of unknown aspects",
		 found->later_modes >> GUARD_LATER_SHIFT(ASPECT_NR),
		 expected->later_modes >> GUARD_LATER_SHIFT(ASPECT_NR));
	add_bits(&words, "release", found->released, expected->released);
	add_number(&words, "expiry", found->expiry_ns, expected->expiry_ns);
	add_bits(&words, "rights of process 1", found->pid1_rights, expected->pid1_rights);
	add_bits(&words, "levels of managed cgroups", found->managed_levels,
		 expected->managed_levels);
	add_bits(&words, "levels of actors", found->actor_levels, expected->actor_levels);
	add_number(&words, "level of siblings", found->sibling_level, expected->sibling_level);
	add_number(&words, "generation", found->generation, expected->generation);
	return words.len > 0;
}
