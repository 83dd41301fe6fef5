/* SPDX-License-Identifier: Apache-2.0 */
/* A line of text into words, for batches and scripts, and what a word may stand for. Pure. */
#ifndef TOOLS_WORDS_H
#define TOOLS_WORDS_H

#include <stdbool.h>

/*
 * Cut `text` into words in place. Words stand between blanks; "…" and '…' keep
 * blanks together, # at the start of a word begins a comment. `words` has room
 * for max_words + 1 and ends with NULL. Returns how many, -EINVAL for a quote
 * that does not end, -E2BIG for more than max_words.
 */
int words_cut(char *text, char **words, int max_words);

/* Does `word` abbreviate `name`? */
bool is_prefix(const char *word, const char *name);

#endif
