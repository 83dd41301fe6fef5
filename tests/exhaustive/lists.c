// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Every text of up to 7 characters out of digits, comma, dash, blank and newline,
 * read as a CPU list and judged by an automaton: one row per state, one column
 * per kind of character. What is read is written and read again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpuset.h"
#include "verdict.h"

#define MAX_LENGTH 7

static const char alphabet[] = {'0', '1', '9', ',', '-', ' ', '\n'};

enum kind { DIGIT, COMMA, DASH, BLANK, NEWLINE, KIND_NR };

enum state {
	START,	/* nothing or only blanks so far */
	BEFORE, /* after a comma */
	FIRST,	/* in the only or lower id */
	DASHED, /* after the dash */
	LAST,	/* in the upper id */
	AFTER,	/* blanks after an element */
	END,	/* after the newline */
	WRONG,
	STATE_NR
};

static const enum state next[STATE_NR][KIND_NR] = {
	[START] = {[DIGIT] = FIRST,
		   [COMMA] = WRONG,
		   [DASH] = WRONG,
		   [BLANK] = START,
		   [NEWLINE] = END},
	[BEFORE] = {[DIGIT] = FIRST,
		    [COMMA] = WRONG,
		    [DASH] = WRONG,
		    [BLANK] = BEFORE,
		    [NEWLINE] = WRONG},
	[FIRST] = {[DIGIT] = FIRST,
		   [COMMA] = BEFORE,
		   [DASH] = DASHED,
		   [BLANK] = AFTER,
		   [NEWLINE] = END},
	[DASHED] = {[DIGIT] = LAST,
		    [COMMA] = WRONG,
		    [DASH] = WRONG,
		    [BLANK] = WRONG,
		    [NEWLINE] = WRONG},
	[LAST] = {[DIGIT] = LAST,
		  [COMMA] = BEFORE,
		  [DASH] = WRONG,
		  [BLANK] = AFTER,
		  [NEWLINE] = END},
	[AFTER] = {[DIGIT] = WRONG,
		   [COMMA] = BEFORE,
		   [DASH] = WRONG,
		   [BLANK] = AFTER,
		   [NEWLINE] = END},
	[END] = {WRONG, WRONG, WRONG, WRONG, WRONG},
	[WRONG] = {WRONG, WRONG, WRONG, WRONG, WRONG},
};

static enum kind kind_of(char c)
{
	switch (c) {
	case ',':
		return COMMA;
	case '-':
		return DASH;
	case ' ':
		return BLANK;
	case '\n':
		return NEWLINE;
	default:
		return DIGIT;
	}
}

/* The meaning of a text. Ids have at most MAX_LENGTH digits, so nothing overflows. */
struct meaning {
	bool is_list;	/* of the grammar */
	bool descends;	/* a range that does */
	bool too_large; /* an id */
	unsigned int nr_ranges, first[MAX_LENGTH], last[MAX_LENGTH];
};

static struct meaning read_text(const char *text, unsigned int length)
{
	struct meaning meaning = {0};
	enum state state = START;

	for (unsigned int i = 0; i < length; i++) {
		enum state before = state;
		unsigned int digit = (unsigned int)(text[i] - '0');

		state = next[state][kind_of(text[i])];
		if (state == FIRST && before != FIRST)
			meaning.first[meaning.nr_ranges++] = 0;
		if (state == FIRST) {
			unsigned int *first = &meaning.first[meaning.nr_ranges - 1];

			*first = *first * 10 + digit;
			meaning.last[meaning.nr_ranges - 1] = *first;
		}
		if (state == LAST) {
			unsigned int *last = &meaning.last[meaning.nr_ranges - 1];

			*last = (before == LAST ? *last * 10 : 0) + digit;
		}
	}
	meaning.is_list = state == START || state == FIRST || state == LAST || state == AFTER ||
			  state == END;
	for (unsigned int i = 0; i < meaning.nr_ranges; i++) {
		meaning.descends |= meaning.last[i] < meaning.first[i];
		meaning.too_large |= meaning.first[i] >= CPUSET_MAX ||
				     meaning.last[i] >= CPUSET_MAX;
	}
	return meaning;
}

struct tally {
	uint64_t texts, lists, wrong_answer, wrong_set, touched, wrong_text;
};

static bool is_error_lawful(const struct meaning *meaning, int r)
{
	if (r == -ERANGE)
		return meaning->too_large;
	/* A range that ends at an invalid character makes the text invalid, whatever its ids. */
	return r == -EINVAL && (!meaning->is_list || meaning->descends);
}

static bool has_all(const struct meaning *meaning, const struct cpuset *set)
{
	bool wanted[1000] = {false};
	unsigned int nr = 0;

	for (unsigned int i = 0; i < meaning->nr_ranges; i++) {
		if (meaning->last[i] >= 1000)
			return cpuset_has(set, meaning->last[i]);
		for (unsigned int cpu = meaning->first[i]; cpu <= meaning->last[i]; cpu++) {
			nr += !wanted[cpu];
			wanted[cpu] = true;
		}
	}
	for (unsigned int cpu = 0; cpu < 1000; cpu++) {
		if (wanted[cpu] != cpuset_has(set, cpu))
			return false;
	}
	return cpuset_count(set) == nr;
}

/* Ascending, ranges of two or more ids with a dash: equal sets have exactly one form. */
static bool is_written_back(const struct cpuset *set)
{
	char text[64], again[64];
	struct cpuset read;
	size_t length = cpuset_format(set, text, sizeof(text));

	if (length >= sizeof(text) || strchr(text, ' ') || cpuset_parse(text, length, &read) ||
	    !cpuset_equal(&read, set))
		return false;
	cpuset_format(&read, again, sizeof(again));
	return !strcmp(text, again);
}

static void judge(const char *text, unsigned int length, struct tally *tally)
{
	struct meaning meaning = read_text(text, length);
	struct cpuset set = CPUSET_EMPTY;
	int r;

	cpuset_add(&set, 77);
	r = cpuset_parse(text, length, &set);
	tally->texts++;
	if (r) {
		tally->wrong_answer += !is_error_lawful(&meaning, r);
		tally->touched += cpuset_count(&set) != 1 || !cpuset_has(&set, 77);
		return;
	}
	tally->lists++;
	if (!meaning.is_list || meaning.descends || meaning.too_large) {
		tally->wrong_answer++;
		return;
	}
	tally->wrong_set += !has_all(&meaning, &set);
	tally->wrong_text += !is_written_back(&set);
}

static void judge_all(char *text, unsigned int length, struct tally *tally)
{
	judge(text, length, tally);
	if (length == MAX_LENGTH)
		return;
	for (size_t i = 0; i < sizeof(alphabet); i++) {
		text[length] = alphabet[i];
		judge_all(text, length + 1, tally);
	}
}

int main(void)
{
	char text[MAX_LENGTH];
	struct tally tally = {0};

	judge_all(text, 0, &tally);
	printf("# %llu texts, %llu of them lists\n", (unsigned long long)tally.texts,
	       (unsigned long long)tally.lists);
	verdict(tally.lists && !tally.wrong_answer, "%llu texts are taken or refused wrongly",
		(unsigned long long)tally.wrong_answer);
	verdict(!tally.wrong_set, "%llu texts give another set",
		(unsigned long long)tally.wrong_set);
	verdict(!tally.touched, "%llu refused texts change the set",
		(unsigned long long)tally.touched);
	verdict(!tally.wrong_text, "%llu sets are not read back as written",
		(unsigned long long)tally.wrong_text);
	return verdicts();
}
