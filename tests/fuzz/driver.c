// SPDX-License-Identifier: Apache-2.0
/* Runs a fuzz target once on each file named on the command line; no fuzzing. */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_MAX (1 << 20)

int main(int argc, char **argv)
{
	static uint8_t buffer[INPUT_MAX];

	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "re");
		uint8_t *input;
		size_t size;

		if (!file) {
			perror(argv[i]);
			return 2;
		}
		size = fread(buffer, 1, sizeof(buffer), file);
		fclose(file);
		/* Exactly as large as the input, so that a sanitizer sees a byte too far. */
		input = malloc(size ? size : 1);
		if (!input)
			return 2;
		memcpy(input, buffer, size);
		LLVMFuzzerTestOneInput(input, size);
		free(input);
	}
	printf("%d inputs\n", argc - 1);
	return argc > 1 ? 0 : 2;
}
