/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket over time: work may take a share of the time that passes, and a burst at
 * once before that. Work is charged when it is done, so the level may fall below zero.
 */
#ifndef CTL_TOKEN_BUCKET_H
#define CTL_TOKEN_BUCKET_H

#include <stdint.h>

struct token_bucket {
	uint64_t share;	    /* one nanosecond of tokens comes in with each `share` that pass */
	uint64_t burst_ns;  /* the bucket's capacity */
	uint64_t debt_ns;   /* what is missing to a full bucket */
	uint64_t filled_ns; /* until then it was filled */
};

/* Take `cost_ns` at the time `now_ns`, whether they are there or not. */
void token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t cost_ns);
/* How long until the level is zero again; 0 = it is not below. */
uint64_t token_bucket_delay_ns(struct token_bucket *bucket, uint64_t now_ns);

#endif
