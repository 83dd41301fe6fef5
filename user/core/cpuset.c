// SPDX-License-Identifier: Apache-2.0
/*
 * CPU sets and their text form. Set operations work on whole words and stop at nr_words,
 * so their cost depends on the size of the machine and not on CPUSET_MAX. Cores and nodes
 * are the subject of topology.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/cpuset.h"

const struct cpuset cpuset_none = {.nr_words = 0};

static inline unsigned int word_of(unsigned int cpu)
{
	return cpu / CPUSET_WORD_BITS;
}

static inline uint64_t bit_of(unsigned int cpu)
{
	return 1ULL << (cpu % CPUSET_WORD_BITS);
}

/*
 * Plain arithmetic, because the builtin is a function call without -mpopcnt and takes
 * count words very often.
 */
static inline unsigned int count_bits(uint64_t word)
{
	word -= word >> 1 & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (unsigned int)(word * 0x0101010101010101ULL >> 56);
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void cpuset_add(struct cpuset *set, unsigned int cpu)
{
	unsigned int word = word_of(cpu);

	set->words[word] |= bit_of(cpu);
	if (word >= set->nr_words)
		set->nr_words = word + 1;
}

void cpuset_remove(struct cpuset *set, unsigned int cpu)
{
	set->words[word_of(cpu)] &= ~bit_of(cpu);
}

bool cpuset_has(const struct cpuset *set, unsigned int cpu)
{
	return cpu < CPUSET_MAX && (set->words[word_of(cpu)] & bit_of(cpu));
}

unsigned int cpuset_count(const struct cpuset *set)
{
	unsigned int count = 0;

	for (uint32_t i = 0; i < set->nr_words; i++)
		count += count_bits(set->words[i]);
	return count;
}

bool cpuset_is_empty(const struct cpuset *set)
{
	for (uint32_t i = 0; i < set->nr_words; i++) {
		if (set->words[i])
			return false;
	}
	return true;
}

bool cpuset_equal(const struct cpuset *a, const struct cpuset *b)
{
	uint32_t nr_words = a->nr_words > b->nr_words ? a->nr_words : b->nr_words;

	return memcmp(a->words, b->words, nr_words * sizeof(a->words[0])) == 0;
}

bool cpuset_is_subset(const struct cpuset *subset, const struct cpuset *set)
{
	for (uint32_t i = 0; i < subset->nr_words; i++) {
		if (subset->words[i] & ~set->words[i])
			return false;
	}
	return true;
}

bool cpuset_intersects(const struct cpuset *a, const struct cpuset *b)
{
	uint32_t nr_words = min_u32(a->nr_words, b->nr_words);

	for (uint32_t i = 0; i < nr_words; i++) {
		if (a->words[i] & b->words[i])
			return true;
	}
	return false;
}

void cpuset_union(struct cpuset *set, const struct cpuset *other)
{
	for (uint32_t i = 0; i < other->nr_words; i++)
		set->words[i] |= other->words[i];
	if (set->nr_words < other->nr_words)
		set->nr_words = other->nr_words;
}

void cpuset_intersect(struct cpuset *set, const struct cpuset *other)
{
	uint32_t nr_words = min_u32(set->nr_words, other->nr_words);

	for (uint32_t i = 0; i < nr_words; i++)
		set->words[i] &= other->words[i];
	for (uint32_t i = nr_words; i < set->nr_words; i++)
		set->words[i] = 0;
	set->nr_words = nr_words;
}

void cpuset_subtract(struct cpuset *set, const struct cpuset *other)
{
	uint32_t nr_words = min_u32(set->nr_words, other->nr_words);

	for (uint32_t i = 0; i < nr_words; i++)
		set->words[i] &= ~other->words[i];
}

unsigned int cpuset_count_common(const struct cpuset *a, const struct cpuset *b)
{
	uint32_t nr_words = min_u32(a->nr_words, b->nr_words);
	unsigned int count = 0;

	for (uint32_t i = 0; i < nr_words; i++)
		count += count_bits(a->words[i] & b->words[i]);
	return count;
}

unsigned int cpuset_next(const struct cpuset *set, unsigned int from)
{
	unsigned int word = word_of(from);
	uint64_t bits;

	if (word >= set->nr_words)
		return CPUSET_MAX;
	bits = set->words[word] & ~(bit_of(from) - 1);
	while (!bits) {
		if (++word >= set->nr_words)
			return CPUSET_MAX;
		bits = set->words[word];
	}
	return word * CPUSET_WORD_BITS + (unsigned int)__builtin_ctzll(bits);
}

/* Independent of the locale; isspace() would accept characters that the kernel does not. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(const char **pos, const char *end)
{
	while (*pos < end && is_blank(**pos))
		(*pos)++;
}

static int parse_id(const char **pos, const char *end, unsigned int *ret_id)
{
	unsigned int id = 0;

	if (*pos == end || **pos < '0' || **pos > '9')
		return -EINVAL;
	for (; *pos < end && **pos >= '0' && **pos <= '9'; (*pos)++) {
		id = id * 10 + (unsigned int)(**pos - '0');
		/* Further digits must not wrap the value back into range. */
		if (id > CPUSET_MAX)
			id = CPUSET_MAX;
	}
	if (id >= CPUSET_MAX)
		return -ERANGE;
	*ret_id = id;
	return 0;
}

static int parse_element(const char **pos, const char *end, struct cpuset *set)
{
	unsigned int first, last;
	int r;

	skip_blanks(pos, end);
	r = parse_id(pos, end, &first);
	if (r < 0)
		return r;
	last = first;
	if (*pos < end && **pos == '-') {
		(*pos)++;
		r = parse_id(pos, end, &last);
		if (r < 0)
			return r;
		if (last < first)
			return -EINVAL;
	}
	skip_blanks(pos, end);
	for (unsigned int cpu = first; cpu <= last; cpu++)
		cpuset_add(set, cpu);
	return 0;
}

int cpuset_parse(const char *text, size_t len, struct cpuset *ret_set)
{
	struct cpuset set = CPUSET_EMPTY;
	const char *pos = text, *end = text + len;
	int r;

	if (len && end[-1] == '\n')
		end--;
	skip_blanks(&pos, end);
	while (pos < end) {
		r = parse_element(&pos, end, &set);
		if (r < 0)
			return r;
		if (pos == end)
			break;
		if (*pos++ != ',' || pos == end)
			return -EINVAL;
	}
	*ret_set = set;
	return 0;
}

struct cpuset cpuset_of_text(const char *text)
{
	struct cpuset set;

	if (!text || cpuset_parse(text, strlen(text), &set))
		return CPUSET_EMPTY;
	return set;
}

static unsigned int end_of_run(const struct cpuset *set, unsigned int cpu)
{
	while (cpuset_has(set, cpu + 1))
		cpu++;
	return cpu;
}

size_t cpuset_format(const struct cpuset *set, char *buffer, size_t size)
{
	size_t len = 0;

	if (size)
		buffer[0] = '\0';
	cpuset_for_each (cpu, set) {
		unsigned int last = end_of_run(set, cpu);
		char element[24];
		int n;

		n = snprintf(element, sizeof(element), last > cpu ? "%s%u-%u" : "%s%u",
			     len ? "," : "", cpu, last);
		if (len + (size_t)n < size)
			memcpy(buffer + len, element, (size_t)n + 1);
		else if (len < size)
			snprintf(buffer + len, size - len, "%s", element);
		len += (size_t)n;
		cpu = last;
	}
	return len;
}
