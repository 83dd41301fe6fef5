// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
// COVERS: user/format/state_read.c
/*
 * The state file, as it is and as the content of a right frame: a fuzzer does not
 * guess a checksum. What is accepted keeps the bounds of the ledger's records.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "format/state.h"
#include "format/state_private.h"
#include "fuzz.h"

static void check_state(const struct state *state)
{
	FUZZ_CHECK(state->nr_pods <= STATE_MAX_PODS);
	for (uint32_t i = 0; i < state->nr_pods; i++) {
		const struct ledger_pod *pod = &state->pods[i].pod;

		FUZZ_CHECK(pod->nr_grants == pod->spec->nr_containers);
		FUZZ_CHECK(pod->nr_grants > 0 && pod->nr_grants <= POD_MAX_CONTAINERS);
		FUZZ_CHECK(*pod->spec->uid && !strchr(pod->spec->uid, '/'));
		FUZZ_CHECK(pod->state < POD_STATE_NR && pod->qos < QOS_NR);
		for (uint32_t j = 0; j < pod->nr_grants; j++) {
			const struct grant *grant = &pod->grants[j];

			FUZZ_CHECK(!strcmp(grant->container, pod->spec->containers[j].name));
			FUZZ_CHECK(!strchr(grant->container, '/'));
			FUZZ_CHECK((grant->isolation == ISOLATION_HOST) ==
				   cpuset_is_empty(grant->cpus));
		}
	}
}

static void try_decode(const char *data, size_t len)
{
	struct state *state cleanup_state = NULL;
	struct format_error error = {0};
	int err = state_decode(data, len, NULL, &error, &state);

	FUZZ_CHECK(err == 0 || err == -EBADMSG || err == -EPROTONOSUPPORT);
	FUZZ_CHECK((err == 0) == (state != NULL));
	if (err)
		FUZZ_CHECK(*error.message);
	else
		check_state(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text text cleanup_text = {0};

	try_decode((const char *)data, size);
	text_printf(&text, STATE_HEAD "%d" STATE_SUM "%016" PRIx64 STATE_CONTENT, STATE_VERSION,
		    state_checksum((const char *)data, size));
	text_append_len(&text, (const char *)data, size);
	text_append(&text, STATE_TAIL);
	FUZZ_CHECK(!text.error);
	try_decode(text.data, text.len);
	return 0;
}
