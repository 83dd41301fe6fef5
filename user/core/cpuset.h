/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of CPU ids, as a value: no allocation, copied with `=`.
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
 * CONFIG_NR_CPUS tops out at 8192 on x86-64 and arm64 (kernels to 7.2). A build
 * for a small world, a proof say, may set another multiple of CPUSET_WORD_BITS.
 */
#ifndef CPUSET_MAX
#define CPUSET_MAX 8192
#endif
#define CPUSET_WORD_BITS 64
/* Longest list: every second CPU, "8190," each. */
#define CPUSET_TEXT_MAX (CPUSET_MAX / 2 * 5 + 1)

struct cpuset {
	/* Words at and above nr_words are zero; every loop ends at nr_words. */
	uint32_t nr_words;
	uint64_t words[CPUSET_MAX / CPUSET_WORD_BITS];
};

#define CPUSET_EMPTY ((struct cpuset){.nr_words = 0})

/* cpu < CPUSET_MAX is the caller's duty; parse and topology check it at the door. */
void cpuset_add(struct cpuset *set, unsigned int cpu);
void cpuset_remove(struct cpuset *set, unsigned int cpu);
bool cpuset_has(const struct cpuset *set, unsigned int cpu);

unsigned int cpuset_count(const struct cpuset *set);
bool cpuset_is_empty(const struct cpuset *set);
bool cpuset_equal(const struct cpuset *a, const struct cpuset *b);
bool cpuset_is_subset(const struct cpuset *subset, const struct cpuset *set);
bool cpuset_intersects(const struct cpuset *a, const struct cpuset *b);

/* `set` becomes set ∪ other, set ∩ other, set − other. */
void cpuset_union(struct cpuset *set, const struct cpuset *other);
void cpuset_intersect(struct cpuset *set, const struct cpuset *other);
void cpuset_subtract(struct cpuset *set, const struct cpuset *other);
/* |a ∩ b| without building it. */
unsigned int cpuset_count_common(const struct cpuset *a, const struct cpuset *b);

/* Lowest member >= from, or CPUSET_MAX when there is none. */
unsigned int cpuset_next(const struct cpuset *set, unsigned int from);

#define cpuset_for_each(cpu, set)                                        \
	for (unsigned int cpu = cpuset_next((set), 0); cpu < CPUSET_MAX; \
	     cpu = cpuset_next((set), cpu + 1))

/*
 * Parse a CPU list of `len` bytes. Accepts what the kernel prints and accepts:
 * elements in any order, blanks around elements, one trailing newline.
 * -EINVAL for anything else (descending range, empty element, sign), -ERANGE
 * for an id >= CPUSET_MAX. *ret_set is untouched on failure.
 */
int cpuset_parse(const char *text, size_t len, struct cpuset *ret_set);
/* The set in a file's text; empty also for NULL and for what is not a list. */
struct cpuset cpuset_of_text(const char *text);

/*
 * Write the CPU list, NUL-terminated, as snprintf does: returns the length it
 * has whole. A buffer of CPUSET_TEXT_MAX always suffices.
 */
size_t cpuset_format(const struct cpuset *set, char *buffer, size_t size);

#endif
