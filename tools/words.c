// SPDX-License-Identifier: Apache-2.0
/*
 * A line of text into words, and words compared. No escapes: file names with quotes are
 * rare, surprises are not.
 */
#include "words.h"

#include <errno.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

/* One word from *in, written to *out and NUL-terminated there; out never overtakes in. */
static int cut_one(char **in, char **out)
{
	char quote = '\0';

	for (; **in && (quote || !strchr(blanks, **in)); ++*in) {
		if (quote ? **in == quote : **in == '"' || **in == '\'')
			quote = quote ? '\0' : **in;
		else
			*(*out)++ = **in;
	}
	if (quote)
		return -EINVAL;
	/* past the blank first: the word's end may be written over it */
	*in += **in != '\0';
	*(*out)++ = '\0';
	return 0;
}

int words_cut(char *text, char **words, int max_words)
{
	char *in = text, *out = text;
	int nr_words = 0;

	for (;;) {
		in += strspn(in, blanks);
		if (!*in || *in == '#')
			break;
		if (nr_words == max_words)
			return -E2BIG;
		words[nr_words++] = out;
		if (cut_one(&in, &out))
			return -EINVAL;
	}
	words[nr_words] = NULL;
	return nr_words;
}

bool is_prefix(const char *word, const char *name)
{
	return *word && !strncmp(word, name, strlen(word));
}
