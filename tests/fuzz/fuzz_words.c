// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
// COVERS: tools/words.c
/* Lines of batches and scripts: words stay inside the line, in order, and are counted right. */
#include "../../tools/words.c"
#include "fuzz.h"

#define MAX_WORDS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *words[MAX_WORDS + 1];
	char *text = malloc(size + 1);
	int nr;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	nr = words_cut(text, words, MAX_WORDS);
	FUZZ_CHECK(nr <= MAX_WORDS);
	for (int i = 0; i < nr; i++) {
		FUZZ_CHECK(words[i] >= text && words[i] + strlen(words[i]) <= text + size);
		FUZZ_CHECK(i == 0 || words[i] > words[i - 1] + strlen(words[i - 1]));
	}
	FUZZ_CHECK(nr < 0 || !words[nr]);
	free(text);
	return 0;
}
