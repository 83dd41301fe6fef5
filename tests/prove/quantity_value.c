// SPDX-License-Identifier: Apache-2.0
// CBMC: --slice-formula --unwind 62 --unwindset main.1:62,scale_down.0:2,scale_up.0:23
// FAULT: user/core/quantity.c s/if (rest || more)/if (rest > divisor || more)/
// FAULT: user/core/quantity.c s/(u128)INT64_MAX >> number->exp2/(u128)UINT64_MAX >> number->exp2/
/*
 * Scaling of quantities, for every number up to DIGITS_MAX times every power of ten
 * and two that a suffix and a few places behind the point make: the answer is the least
 * whole number that is not below it, or -ERANGE where int64_t cannot hold that.
 */
#include <assert.h>

#include "../../user/core/quantity.c"

#ifndef DIGITS_MAX
#define DIGITS_MAX 99
#endif
#define UNTOUCHED (-77)

unsigned int nondet_digits(void);

static void prove(int ten, int two)
{
	struct number number = {.digits = nondet_digits(), .exp10 = ten, .exp2 = two};
	u128 exact, power = 1;
	int64_t value = UNTOUCHED;
	int r;

	__CPROVER_assume(number.digits <= DIGITS_MAX);
	exact = number.digits << two;
	for (int i = 0; i < (ten < 0 ? -ten : ten); i++)
		power *= 10;
	if (ten >= 0) {
		r = scale_up(&number, &value);
		if (exact > INT64_MAX / power)
			assert(r == -ERANGE && value == UNTOUCHED);
		else
			assert(r == 0 && value == (int64_t)(exact * power));
		return;
	}
	r = scale_down(&number, &value);
	if (exact > INT64_MAX * power)
		assert(r == -ERANGE && value == UNTOUCHED);
	else if (!number.digits)
		assert(r == 0 && value == 0);
	else
		assert(r == 0 && value > 0 && (u128)value * power >= exact &&
		       (u128)(value - 1) * power < exact);
}

int main(void)
{
	for (int ten = -15; ten <= 22; ten++)
		prove(ten, 0);
	for (int two = 10; two <= 60; two += 10) {
		for (int ten = -6; ten <= 3; ten++)
			prove(ten, two);
	}
	return 0;
}
