/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page for people as it was last built. Building it takes several times as long as a page of
 * metrics, and anybody who reaches the metrics port may ask for it. So it is kept and answered again
 * until building it has taken no more than a share of the time.
 */
#ifndef CTL_PAGE_H
#define CTL_PAGE_H

#include <stdint.h>

#include "lib/text.h"

/* Of the time of a CPU at most one part in so many; what is measured is CPU time of the event loop. */
#define PAGE_SHARE 20

struct page_copy {
	struct text text;	 /* its size is bounded, see format/page.h */
	int error;		 /* of the last try, which counts against the share as well */
	uint64_t version;	 /* how often `text` was built */
	uint64_t fresh_until_ns; /* CLOCK_MONOTONIC */
};

void page_fini(struct page_copy *copy);

#endif
