/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of CPU ids. It is a plain value: it needs no allocation and is copied with `=`.
 *
 * In this project "cpuset" means the set and "CPU list" its Linux text form
 * ("0-3,8": ascending, ranges with "-", no spaces, empty text for the empty
 * set). The kernel's "cpumask" hex form is not used.
 */
#ifndef CORE_CPUSET_H
#define CORE_CPUSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The maximum of CONFIG_NR_CPUS on x86-64 and arm64 is 8192 (up to Linux 7.2). A build
 * for a small model, such as a proof, may set another multiple of CPUSET_WORD_BITS.
 */
#ifndef CPUSET_MAX
#define CPUSET_MAX 8192
#endif
#define CPUSET_WORD_BITS 64
/* Length of the longest list: every second CPU, at most five characters ("8190,") each. */
#define CPUSET_TEXT_MAX (CPUSET_MAX / 2 * 5 + 1)

struct cpuset {
	/* Words from nr_words on are zero; every loop stops at nr_words. */
	uint32_t nr_words;
	uint64_t words[CPUSET_MAX / CPUSET_WORD_BITS];
};

#define CPUSET_EMPTY ((struct cpuset){.nr_words = 0})
/* The empty set for those who keep a pointer: it never ends. */
extern const struct cpuset cpuset_none;

/*
 * Add or remove one CPU; one that is already there, or not there, changes nothing. The caller
 * must ensure that cpu < CPUSET_MAX; cpuset_parse and topology_new validate their input.
 */
void cpuset_add(struct cpuset *set, unsigned int cpu);
void cpuset_remove(struct cpuset *set, unsigned int cpu);
/* Any `cpu` may be asked for: none beyond CPUSET_MAX is in a set. */
bool cpuset_has(const struct cpuset *set, unsigned int cpu);

/* 0 to CPUSET_MAX. */
unsigned int cpuset_count(const struct cpuset *set);
bool cpuset_is_empty(const struct cpuset *set);
/* Compares the members, whatever nr_words is. */
bool cpuset_equal(const struct cpuset *a, const struct cpuset *b);
/* Is every member of `subset` in `set`? The empty set is a subset of every set. */
bool cpuset_is_subset(const struct cpuset *subset, const struct cpuset *set);
/* Do they have a member in common? */
bool cpuset_intersects(const struct cpuset *a, const struct cpuset *b);

/* Store set ∪ other, set ∩ other or set − other in `set`. */
void cpuset_union(struct cpuset *set, const struct cpuset *other);
void cpuset_intersect(struct cpuset *set, const struct cpuset *other);
void cpuset_subtract(struct cpuset *set, const struct cpuset *other);
/* The size of a ∩ b, computed without building the intersection. */
unsigned int cpuset_count_common(const struct cpuset *a, const struct cpuset *b);

/* The lowest member >= from, or CPUSET_MAX if there is none. */
unsigned int cpuset_next(const struct cpuset *set, unsigned int from);

#define cpuset_for_each(cpu, set)                                        \
	for (unsigned int cpu = cpuset_next((set), 0); cpu < CPUSET_MAX; \
	     cpu = cpuset_next((set), cpu + 1))

/*
 * Parse a CPU list of `len` bytes. Accepts the syntax that the kernel prints and accepts:
 * elements in any order, blanks around elements, one trailing newline. Returns -EINVAL
 * for anything else (descending range, empty element, sign) and -ERANGE for an id >=
 * CPUSET_MAX. *ret_set is unchanged on failure.
 */
int cpuset_parse(const char *text, size_t len, struct cpuset *ret_set);
/* The set that the text of a file names; the empty set for NULL and for invalid text. */
struct cpuset cpuset_of_text(const char *text);

/*
 * Write the CPU list, NUL-terminated. Like snprintf, this returns the length of the
 * complete list. A buffer of CPUSET_TEXT_MAX bytes is always large enough.
 */
size_t cpuset_format(const struct cpuset *set, char *buffer, size_t size);

#endif
