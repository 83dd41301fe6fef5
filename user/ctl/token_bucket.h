/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket of time: work may take a share of the elapsed time, and a burst beyond that.
 * Work is charged when it has ended, so the level may become negative.
 */
#ifndef CTL_TOKEN_BUCKET_H
#define CTL_TOKEN_BUCKET_H

#include <stdint.h>

struct token_bucket {
	uint64_t share;	    /* one nanosecond of tokens is added per `share` nanoseconds */
	uint64_t burst_ns;  /* the bucket's capacity */
	uint64_t debt_ns;   /* what is missing to a full bucket */
	uint64_t filled_ns; /* the time until which tokens were added */
};

/* Take `cost_ns` at the time `now_ns`, even if the level becomes negative. */
void token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t cost_ns);
/* Time until the level is no longer negative; 0 = it is not. */
uint64_t token_bucket_delay_ns(struct token_bucket *bucket, uint64_t now_ns);

#endif
