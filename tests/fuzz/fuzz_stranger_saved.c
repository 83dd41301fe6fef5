// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
// COVERS: user/stranger/saved.c:read_set,read_row,decode_affinity,stranger_saved_decode,stranger_saved_encode
// COVERS: user/stranger/procs.c:thread_stat_parse
/* The original affinities: what is read can be written again. And the stat file of a thread. */
#include <errno.h>
#include <string.h>

#include "format/error.h"
#include "fuzz.h"
#include "lib/text.h"
#include "stranger/procs.h"
#include "stranger/saved.h"

#define BOOT "boot"

static void check_saved(const char *data, size_t size)
{
	struct stranger_table table cleanup_stranger_table = {0};
	struct stranger_table again cleanup_stranger_table = {0};
	struct text text cleanup_text = {0};
	struct format_error error = {0};
	int r = stranger_saved_decode(data, size, BOOT, &error, &table);

	FUZZ_CHECK(r != -EBADMSG || *error.message);
	if (r) {
		FUZZ_CHECK(!table.nr && !table.tasks);
		return;
	}
	stranger_saved_encode(&table, BOOT, &text);
	FUZZ_CHECK(!text.error);
	FUZZ_CHECK(stranger_saved_decode(text.data, text.len, BOOT, &error, &again) == 0);
	FUZZ_CHECK(again.nr == table.nr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text cleanup_free = strndup((const char *)data, size);
	struct thread_stat stat = {0};

	FUZZ_CHECK(text);
	if (!thread_stat_parse(text, &stat))
		FUZZ_CHECK(strlen(stat.comm) < sizeof(stat.comm));
	check_saved((const char *)data, size);
	return 0;
}
