// SPDX-License-Identifier: Apache-2.0
/*
 * Converts Kubernetes quantities to integers exactly, as decimal digits with a power of
 * ten and of two, without floating point.
 *
 * Values are exact up to MAX_DIGITS significant digits; further digits are rounded away
 * from zero like every other fraction.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/quantity.h"

typedef unsigned __int128 u128;

/* 10^38 < 2^127, so a remainder below it can still be doubled. */
#define MAX_DIGITS   38
#define MAX_EXPONENT 10000

/* value = digits * 10^exp10 * 2^exp2, plus something smaller than one digit when `more`. */
struct number {
	bool negative;
	u128 digits;
	int nr_digits;
	bool more;
	int exp10, exp2;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void add_digit(struct number *number, char c, bool fraction)
{
	unsigned int value = (unsigned int)(c - '0');

	if (number->nr_digits < MAX_DIGITS) {
		number->digits = number->digits * 10 + value;
		if (number->digits)
			number->nr_digits++;
		number->exp10 -= fraction;
		return;
	}
	number->more |= value != 0;
	/* The exponent must not overflow on long sequences of digits. */
	if (!fraction && number->exp10 < MAX_EXPONENT)
		number->exp10++;
}

/* A sign, and digits with at most one point; at least one digit. */
static int parse_digits(const char **pos, const char *end, struct number *number)
{
	bool fraction = false, any = false;

	if (*pos < end && (**pos == '+' || **pos == '-'))
		number->negative = *(*pos)++ == '-';
	for (; *pos < end; (*pos)++) {
		if (is_digit(**pos)) {
			add_digit(number, **pos, fraction);
			any = true;
		} else if (**pos == '.' && !fraction) {
			fraction = true;
		} else {
			break;
		}
	}
	return any ? 0 : -EINVAL;
}

static int parse_exponent(const char *pos, const char *end, int *ret_exponent)
{
	bool negative = false;
	int exponent = 0;

	if (pos < end && (*pos == '+' || *pos == '-'))
		negative = *pos++ == '-';
	if (pos == end)
		return -EINVAL;
	for (; pos < end; pos++) {
		if (!is_digit(*pos))
			return -EINVAL;
		if (exponent < MAX_EXPONENT)
			exponent = exponent * 10 + (*pos - '0');
	}
	*ret_exponent = negative ? -exponent : exponent;
	return 0;
}

static int parse_suffix(const char *pos, const char *end, struct number *number)
{
	static const struct {
		char letter;
		signed char exp10, exp2; /* exp2 0: no binary suffix */
	} suffixes[] = {
		{'n', -9, 0}, {'u', -6, 0}, {'m', -3, 0},  {'k', 3, 0},	  {'K', 0, 10},
		{'M', 6, 20}, {'G', 9, 30}, {'T', 12, 40}, {'P', 15, 50}, {'E', 18, 60},
	};
	size_t len = (size_t)(end - pos);
	int exponent;

	if (len == 0)
		return 0;
	if (len > 1 && (*pos == 'e' || (*pos == 'E' && pos[1] != 'i'))) {
		if (parse_exponent(pos + 1, end, &exponent) < 0)
			return -EINVAL;
		number->exp10 += exponent;
		return 0;
	}
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (suffixes[i].letter != *pos)
			continue;
		if (len == 1 && suffixes[i].exp10) {
			number->exp10 += suffixes[i].exp10;
			return 0;
		}
		if (len == 2 && pos[1] == 'i' && suffixes[i].exp2) {
			number->exp2 = suffixes[i].exp2;
			return 0;
		}
	}
	return -EINVAL;
}

/*
 * digits * 10^exp10 * 2^exp2 for exp10 >= 0. The value exceeds the range after at most 20
 * rounds. A number with more than MAX_DIGITS digits is out of range anyway.
 */
static int scale_up(const struct number *number, int64_t *ret_value)
{
	u128 value = number->digits;

	for (int i = 0; value && i < number->exp10; i++) {
		if (value > INT64_MAX)
			return -ERANGE;
		value *= 10;
	}
	if (value > (u128)INT64_MAX >> number->exp2)
		return -ERANGE;
	*ret_value = (int64_t)(value << number->exp2);
	return 0;
}

/*
 * The same for exp10 < 0: long division, one bit of 2^exp2 at a time, then rounding away
 * from zero.
 */
static int scale_down(const struct number *number, int64_t *ret_value)
{
	u128 digits = number->digits, divisor = 1, quotient, rest;
	bool more = number->more;
	int exp10 = -number->exp10;

	/* Beyond MAX_DIGITS places, the truncated part is below 10^-38 * 2^60. */
	for (; exp10 > MAX_DIGITS && digits; exp10--) {
		more |= digits % 10 != 0;
		digits /= 10;
	}
	for (int i = 0; i < exp10 && i < MAX_DIGITS; i++)
		divisor *= 10;
	quotient = digits / divisor;
	rest = digits % divisor;
	/* Ensures that 60 doublings fit into 128 bits. */
	if (quotient > INT64_MAX)
		return -ERANGE;
	for (int i = 0; i < number->exp2; i++) {
		rest *= 2;
		quotient = quotient * 2 + (rest >= divisor);
		if (rest >= divisor)
			rest -= divisor;
	}
	if (rest || more)
		quotient++;
	if (quotient > INT64_MAX)
		return -ERANGE;
	*ret_value = (int64_t)quotient;
	return 0;
}

static int parse_scaled(const char *text, size_t len, int extra_exp10, int64_t *ret_value)
{
	struct number number = {0};
	const char *pos = text, *end = text + len;
	int r;

	r = parse_digits(&pos, end, &number);
	if (r < 0)
		return r;
	r = parse_suffix(pos, end, &number);
	if (r < 0)
		return r;
	if (number.negative && number.digits)
		return -EDOM;
	number.exp10 += extra_exp10;
	return number.exp10 >= 0 ? scale_up(&number, ret_value) : scale_down(&number, ret_value);
}

int quantity_parse(const char *text, size_t len, int64_t *ret_value)
{
	return parse_scaled(text, len, 0, ret_value);
}

int quantity_parse_milli(const char *text, size_t len, int64_t *ret_milli)
{
	return parse_scaled(text, len, 3, ret_milli);
}

void quantity_format_binary(uint64_t bytes, char *buffer, size_t size)
{
	static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	unsigned int i = 0;

	/* 64 bits are exhausted before the suffixes: 1024^6 is the largest power that fits. */
	while (bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(buffer, size, "%llu%s", (unsigned long long)bytes, suffixes[i]);
}
