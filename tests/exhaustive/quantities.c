// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Every text of up to 5 characters out of those a quantity may have, and every suffix
 * of up to two bytes behind a digit: is it a quantity, and of what value. The grammar is
 * one regular expression, the value one exact fraction that is rounded away from zero.
 */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "core/quantity.h"
#include "verdict.h"

#define MAX_LENGTH 5
#define UNTOUCHED  (-77)
/* 5 characters contain at most this many digits; 10^19 and above is out of range. */
#define TOO_LARGE 19

typedef unsigned __int128 u128;

static const char alphabet[] = "019.+-eEimkKx";

/* The groups of the expression. */
enum { WHOLE, SIGN, MANTISSA, FRACTION, BEHIND, SUFFIX, EXPONENT, NR_GROUPS };

static regex_t grammar;

static void compile_grammar(void)
{
	int r = regcomp(&grammar,
			"^([+-]?)"
			"([0-9]+(\\.[0-9]*)?|\\.[0-9]+)"
			"(([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?$",
			REG_EXTENDED);

	if (r) {
		fprintf(stderr, "the grammar is no regular expression: %d\n", r);
		exit(1);
	}
}

struct meaning {
	bool is_quantity, negative;
	uint64_t digits; /* of the mantissa, without its point */
	int exp10, exp2;
};

static void read_mantissa(const char *text, const regmatch_t *match, struct meaning *meaning)
{
	bool behind_point = false;

	for (regoff_t i = match->rm_so; i < match->rm_eo; i++) {
		if (text[i] == '.') {
			behind_point = true;
			continue;
		}
		meaning->digits = meaning->digits * 10 + (uint64_t)(text[i] - '0');
		meaning->exp10 -= behind_point;
	}
}

static void read_suffix(const char *text, const regmatch_t *match, struct meaning *meaning)
{
	static const char small[] = "num", large[] = "KMGTPE";
	const char *letter;

	if (match->rm_so < 0)
		return;
	letter = strchr(small, text[match->rm_so]);
	if (letter) {
		meaning->exp10 += (int)(letter - small) * 3 - 9;
		return;
	}
	letter = strchr(large, text[match->rm_so] == 'k' ? 'K' : text[match->rm_so]);
	if (match->rm_eo - match->rm_so == 2)
		meaning->exp2 = (int)(letter - large + 1) * 10;
	else
		meaning->exp10 += (int)(letter - large + 1) * 3;
}

static struct meaning read_text(const char *text)
{
	struct meaning meaning = {0};
	regmatch_t matches[NR_GROUPS];

	if (regexec(&grammar, text, NR_GROUPS, matches, 0))
		return meaning;
	meaning.is_quantity = true;
	meaning.negative = text[matches[SIGN].rm_so] == '-';
	read_mantissa(text, &matches[MANTISSA], &meaning);
	read_suffix(text, &matches[SUFFIX], &meaning);
	if (matches[EXPONENT].rm_so >= 0)
		meaning.exp10 += atoi(text + matches[EXPONENT].rm_so);
	return meaning;
}

/* The value of a quantity in units of 10^-unit; -EDOM and -ERANGE as in quantity.h. */
static int worth(const struct meaning *meaning, int unit, int64_t *ret_value)
{
	u128 value = meaning->digits, divisor = 1;
	int exp10 = meaning->exp10 + unit;

	*ret_value = 0;
	if (!value)
		return 0;
	if (meaning->negative)
		return -EDOM;
	if (exp10 >= TOO_LARGE)
		return -ERANGE;
	for (; exp10 > 0; exp10--)
		value *= 10;
	value <<= meaning->exp2;
	/* Of 10^5 * 2^60 nothing but a fraction is left below 10^-24. */
	for (; exp10 < 0 && divisor < (u128)1 << 100; exp10++)
		divisor *= 10;
	value = (value + divisor - 1) / divisor;
	if (value > INT64_MAX)
		return -ERANGE;
	*ret_value = (int64_t)value;
	return 0;
}

struct tally {
	uint64_t texts, quantities, wrong_answer, wrong_value, touched;
	char example[MAX_LENGTH + 1];
};

static void judge_as(const char *text, const struct meaning *meaning, int unit, struct tally *tally)
{
	int64_t value = UNTOUCHED, wanted;
	int r = unit ? quantity_parse_milli(text, strlen(text), &value)
		     : quantity_parse(text, strlen(text), &value);
	int wanted_r = meaning->is_quantity ? worth(meaning, unit, &wanted) : -EINVAL;

	if (r == wanted_r && value == (r ? UNTOUCHED : wanted))
		return;
	if (r != wanted_r)
		tally->wrong_answer++;
	else if (r)
		tally->touched++;
	else
		tally->wrong_value++;
	memcpy(tally->example, text, strlen(text) + 1);
}

static void judge(const char *text, struct tally *tally)
{
	struct meaning meaning = read_text(text);

	tally->texts++;
	tally->quantities += meaning.is_quantity;
	judge_as(text, &meaning, 0, tally);
	judge_as(text, &meaning, 3, tally);
}

static void judge_all(char *text, unsigned int length, struct tally *tally)
{
	text[length] = '\0';
	judge(text, tally);
	if (length == MAX_LENGTH)
		return;
	for (size_t i = 0; i < sizeof(alphabet) - 1; i++) {
		text[length] = alphabet[i];
		judge_all(text, length + 1, tally);
	}
}

/* A zero byte ends the text, so these include suffixes of one byte. */
static void judge_suffixes(struct tally *tally)
{
	for (unsigned int first = 1; first < 256; first++) {
		for (unsigned int second = 0; second < 256; second++) {
			char text[] = {'9', (char)first, (char)second, '\0'};

			judge(text, tally);
		}
	}
}

static void tell(const char *what, const struct tally *tally)
{
	printf("# %s: %llu texts, %llu of them quantities%s%s\n", what,
	       (unsigned long long)tally->texts, (unsigned long long)tally->quantities,
	       *tally->example ? "; wrong for one: " : "", tally->example);
	verdict(tally->quantities && !tally->wrong_answer,
		"%s: %llu texts are taken or refused wrongly", what,
		(unsigned long long)tally->wrong_answer);
	verdict(!tally->wrong_value, "%s: %llu texts have another value", what,
		(unsigned long long)tally->wrong_value);
	verdict(!tally->touched, "%s: %llu refused texts change the value", what,
		(unsigned long long)tally->touched);
}

int main(void)
{
	char text[MAX_LENGTH + 1];
	struct tally all = {0}, suffixes = {0};

	compile_grammar();
	judge_all(text, 0, &all);
	judge_suffixes(&suffixes);
	tell("short texts", &all);
	tell("suffixes", &suffixes);
	regfree(&grammar);
	return verdicts();
}
