/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded sessions of tests/data/nri, frame by frame; see the README there. */
#ifndef TESTS_NRI_RECORDING_H
#define TESTS_NRI_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "data.h"

#define RECORDED_MAX 64

struct recorded_frame {
	bool by_runtime;
	const uint8_t *data; /* header included */
	size_t len;
};

struct recording {
	char *file;
	struct recorded_frame frames[RECORDED_MAX];
	size_t nr;
};

static const char *const recorded_runtimes[] = {"containerd-1.7.24", "containerd-2.1.9"};

static inline size_t frame_length(const uint8_t *frame)
{
	return 8 +
	       ((size_t)frame[4] << 24 | (size_t)frame[5] << 16 | (size_t)frame[6] << 8 | frame[7]);
}

static inline void recording_read(const char *runtime, char session, struct recording *ret)
{
	char path[128];
	size_t len, at = 0;

	snprintf(path, sizeof(path), "tests/data/nri/%s/session-%c", runtime, session);
	*ret = (struct recording){.file = data_read(path, &len)};
	while (at < len) {
		const uint8_t *record = (const uint8_t *)ret->file + at;
		size_t frame;

		assert_true(len - at > 9 && (*record == 'r' || *record == 'p'));
		frame = frame_length(record + 1);
		assert_true(frame <= len - at - 1 && ret->nr < RECORDED_MAX);
		ret->frames[ret->nr++] = (struct recorded_frame){*record == 'r', record + 1, frame};
		at += 1 + frame;
	}
	assert_true(ret->nr > 0);
}

static inline void recording_free(struct recording *recording)
{
	free(recording->file);
}

#endif
