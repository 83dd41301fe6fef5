// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
// COVERS: tools/client.c:find_header,parse_status,parse_head,read_head,read_answer,receive,client_status
/* The inspector's HTTP client: whatever listens on the socket, an answer or an error, bounded. */
#include "../../tools/client.c"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer_text answer cleanup_answer = {0};
	int pair[2];
	int r;

	/* more would block: nobody reads while we write */
	if (size > 32768 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 0;
	FUZZ_CHECK(write(pair[0], data, size) == (ssize_t)size);
	close(pair[0]);
	r = read_answer(pair[1], clock_ms() + 1000, &answer);
	close(pair[1]);
	FUZZ_CHECK(r == 0 || r == -EPROTO || r == -ECONNRESET || r == -EFBIG);
	if (r)
		return 0;
	FUZZ_CHECK(answer.status >= 100 && answer.status <= 999);
	FUZZ_CHECK(answer.body.len <= size);
	client_status(answer.status);
	return 0;
}
