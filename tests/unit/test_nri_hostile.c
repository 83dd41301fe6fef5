// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/*
 * Peers that are slow, odd or hostile: the recorded sessions of two versions of containerd, cut at a
 * thousand bytes, ended there, with these bytes changed, and with frames that are missing, doubled or
 * exchanged. What is only slow is answered the same; whatever else it is, the session goes on or ends
 * with a sentence, and never answers a request twice. Run with SAN=1, it also leaks nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "nri/session.h"
#include "nri/wire.h"

#include "../lib/nri_recording.h"

#define NOW 1000000000ULL

static const char sessions[] = "ABCDEFG";

/* --- a plugin that answers everything ----------------------------------------------------------- */

struct peer {
	struct nri_session *session;
	uint32_t nr_answered;
	uint32_t requests[RECORDED_MAX * 2];
	uint8_t *sent; /* owned */
	size_t nr_sent;
};

static void answer(struct peer *peer, uint32_t request)
{
	for (uint32_t i = 0; i < peer->nr_answered; i++)
		assert_int_not_equal(peer->requests[i], request);
	assert_true(peer->nr_answered < ARRAY_SIZE(peer->requests));
	peer->requests[peer->nr_answered++] = request;
	assert_int_equal(nri_session_answer(peer->session, request, &(struct nri_answer){0}), 0);
}

static uint32_t configure(void *data, const struct nri_runtime *runtime)
{
	return runtime->known_events;
}

static void synchronize(void *data, uint32_t request, const struct nri_snapshot *snapshot)
{
	answer(data, request);
}

static void create_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container)
{
	answer(data, request);
}

static void update_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container,
			     const struct nri_resources *wanted)
{
	answer(data, request);
}

static void container_event(void *data, enum nri_event event, const struct nri_pod *pod,
			    const struct nri_container *container)
{
	assert_non_null(container->id);
}

static void pod_event(void *data, enum nri_event event, const struct nri_pod *pod)
{
	assert_non_null(pod->id);
}

static void updated(void *data, int32_t code, const char *text)
{
}

static const struct nri_callbacks callbacks = {
	configure,	  synchronize,	   create_container, update_container,
	create_container, container_event, pod_event,	     updated,
};

static void open_peer(struct peer *peer)
{
	const struct nri_options options = {.name = "probe", .index = "10", .nri_version = ""};

	*peer = (struct peer){.session = NULL};
	assert_int_equal(nri_session_new(&options, &callbacks, peer, NOW, &peer->session), 0);
}

static void close_peer(struct peer *peer)
{
	nri_session_free(peer->session);
	free(peer->sent);
}

/* What it sends leaves at once. */
static void drain(struct peer *peer)
{
	size_t len;
	const void *output = nri_session_output(peer->session, &len);

	if (!len)
		return;
	peer->sent = realloc(peer->sent, peer->nr_sent + len);
	assert_non_null(peer->sent);
	memcpy(peer->sent + peer->nr_sent, output, len);
	peer->nr_sent += len;
	nri_session_sent(peer->session, len, NOW);
}

static int feed(struct peer *peer, const uint8_t *bytes, size_t len)
{
	int r = nri_session_receive(peer->session, bytes, len, NOW);

	drain(peer);
	return r;
}

/* It goes on, or it has ended with a sentence. */
static void assert_says_why(struct peer *peer)
{
	const char *text = NULL;
	int r = nri_session_error(peer->session, &text);

	assert_true(r <= 0);
	if (r)
		assert_true(text && *text);
}

/* --- recordings --------------------------------------------------------------------------------- */

/* The bytes that a runtime sent, and where each of its frames begins. */
struct input {
	uint8_t *bytes; /* owned */
	size_t len, nr;
	size_t begins[RECORDED_MAX + 1];
};

static void input_fini(struct input *input)
{
	free(input->bytes);
}
#define cleanup_input cleanup(input_fini)

static void read_input(const char *runtime, char session, struct input *input)
{
	struct recording recording;

	*input = (struct input){.bytes = NULL};
	recording_read(runtime, session, &recording);
	for (size_t i = 0; i < recording.nr; i++) {
		const struct recorded_frame *frame = &recording.frames[i];

		if (!frame->by_runtime)
			continue;
		input->bytes = realloc(input->bytes, input->len + frame->len);
		assert_non_null(input->bytes);
		memcpy(input->bytes + input->len, frame->data, frame->len);
		input->begins[input->nr++] = input->len;
		input->len += frame->len;
	}
	input->begins[input->nr] = input->len;
	recording_free(&recording);
}

/* Calls `test` with each recorded session. */
static void for_each_session(void (*test)(const struct input *input))
{
	for (size_t i = 0; i < ARRAY_SIZE(recorded_runtimes); i++) {
		for (const char *session = sessions; *session; session++) {
			struct input input cleanup_input = {0};

			read_input(recorded_runtimes[i], *session, &input);
			test(&input);
		}
	}
}

/* About a thousand positions, however long the session is; test_nri_wire.c splits at each of them. */
static size_t step_of(const struct input *input)
{
	return input->len / 1000 + 1;
}

/* --- slow --------------------------------------------------------------------------------------- */

static void split_everywhere(const struct input *input)
{
	struct peer whole;
	int result;

	open_peer(&whole);
	result = feed(&whole, input->bytes, input->len);
	for (size_t cut = 1; cut < input->len; cut += step_of(input)) {
		struct peer peer;
		int r;

		open_peer(&peer);
		r = feed(&peer, input->bytes, cut);
		if (!r)
			r = feed(&peer, input->bytes + cut, input->len - cut);
		assert_int_equal(r, result);
		assert_int_equal(peer.nr_sent, whole.nr_sent);
		assert_memory_equal(peer.sent, whole.sent, whole.nr_sent);
		close_peer(&peer);
	}
	close_peer(&whole);
}

static void a_session_may_be_split_anywhere(void **state)
{
	for_each_session(split_everywhere);
}

/* --- cut off ------------------------------------------------------------------------------------ */

static void end_everywhere(const struct input *input)
{
	for (size_t cut = 0; cut < input->len; cut += step_of(input)) {
		struct peer peer;
		int r;

		open_peer(&peer);
		r = feed(&peer, input->bytes, cut);
		assert_int_equal(nri_session_end_of_input(peer.session), r ? r : -ECONNRESET);
		assert_says_why(&peer);
		assert_false(nri_session_is_ready(peer.session));
		/* What comes after the end changes nothing. */
		assert_true(feed(&peer, input->bytes + cut, input->len - cut) < 0);
		close_peer(&peer);
	}
}

static void a_session_may_end_anywhere(void **state)
{
	for_each_session(end_everywhere);
}

/* --- damaged ------------------------------------------------------------------------------------ */

static void change_everywhere(const struct input *input)
{
	static const uint8_t changes[] = {0xff, 0x80, 0x01};

	for (size_t at = 0; at < input->len; at += step_of(input)) {
		for (size_t i = 0; i < sizeof(changes); i++) {
			struct peer peer;

			open_peer(&peer);
			input->bytes[at] ^= changes[i];
			feed(&peer, input->bytes, input->len);
			input->bytes[at] ^= changes[i];
			assert_says_why(&peer);
			close_peer(&peer);
		}
	}
}

static void each_byte_may_be_another_one(void **state)
{
	for_each_session(change_everywhere);
}

/* --- out of order ------------------------------------------------------------------------------- */

static const uint8_t *frame_at(const struct input *input, size_t index, size_t *ret_len)
{
	*ret_len = input->begins[index + 1] - input->begins[index];
	return input->bytes + input->begins[index];
}

/* A request in one frame, as all but the long ones are. */
static bool is_whole_request(const struct input *input, size_t index)
{
	size_t len;
	const uint8_t *frame = frame_at(input, index, &len);

	return len >= 18 && frame[3] == NRI_CONNECTION_PLUGIN && frame[16] == NRI_MESSAGE_REQUEST &&
	       len == 18 + ((size_t)frame[8] << 24 | (size_t)frame[9] << 16 |
			    (size_t)frame[10] << 8 | frame[11]);
}

enum disorder { WITHOUT, TWICE, EXCHANGED, DISORDER_NR };

/* Feeds all frames, but frame `at` in disorder. */
static int feed_disorder(struct peer *peer, const struct input *input, size_t at,
			 enum disorder disorder)
{
	int r = 0;

	for (size_t i = 0; i < input->nr && !r; i++) {
		size_t len, from = i;
		const uint8_t *frame;

		if (i == at && disorder == WITHOUT)
			continue;
		if (disorder == EXCHANGED && at + 1 < input->nr && (i == at || i == at + 1))
			from = i == at ? at + 1 : at;
		frame = frame_at(input, from, &len);
		r = feed(peer, frame, len);
		if (!r && i == at && disorder == TWICE)
			r = feed(peer, frame, len);
	}
	return r;
}

static void disorder_everywhere(const struct input *input)
{
	for (size_t at = 0; at < input->nr; at++) {
		for (enum disorder disorder = 0; disorder < DISORDER_NR; disorder++) {
			struct peer peer;
			int r;

			open_peer(&peer);
			r = feed_disorder(&peer, input, at, disorder);
			assert_says_why(&peer);
			/* Streams never go back, so nothing is done twice. */
			if (disorder == TWICE && is_whole_request(input, at))
				assert_true(r < 0);
			if (disorder == EXCHANGED && at + 1 < input->nr &&
			    is_whole_request(input, at) && is_whole_request(input, at + 1))
				assert_true(r < 0);
			close_peer(&peer);
		}
	}
}

static void frames_may_be_missing_doubled_or_exchanged(void **state)
{
	for_each_session(disorder_everywhere);
}

/* --- without end -------------------------------------------------------------------------------- */

/* Frames of connections that nobody opened, and of messages that nobody asked for, take no memory. */
static void noise_without_end_keeps_the_session(void **state)
{
	uint8_t unknown[8 + 4096] = {0, 0, 0, 77, 0, 0, 0x10, 0};
	/* Stream 4711 of connection 2 was never asked for. */
	uint8_t response[8 + 10] = {0, 0, 0, 2, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0x12, 0x67, 2, 0};
	struct peer peer;

	open_peer(&peer);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(feed(&peer, unknown, sizeof(unknown)), 0);
		assert_int_equal(feed(&peer, response, sizeof(response)), 0);
	}
	assert_false(nri_session_is_ready(peer.session));
	close_peer(&peer);
}

/* Whoever announces a message and sends it a byte at a time only delays its own session. */
static void a_peer_that_never_ends_a_message_meets_the_deadline(void **state)
{
	const uint8_t begin[18] = {0, 0, 0, 1, 0, 0x3f, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 1, 1, 0};
	const uint8_t byte = 0;
	const uint64_t deadline_ns = NOW + NRI_START_LIMIT_NS;
	struct peer peer;

	open_peer(&peer);
	assert_int_equal(feed(&peer, begin, sizeof(begin)), 0);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(feed(&peer, &byte, 1), 0);
	assert_true(nri_session_deadline(peer.session) <= deadline_ns);
	assert_int_equal(nri_session_check(peer.session, deadline_ns - 1), 0);
	assert_int_equal(nri_session_check(peer.session, deadline_ns + 1), -ETIMEDOUT);
	assert_says_why(&peer);
	close_peer(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_may_be_split_anywhere),
		cmocka_unit_test(a_session_may_end_anywhere),
		cmocka_unit_test(each_byte_may_be_another_one),
		cmocka_unit_test(frames_may_be_missing_doubled_or_exchanged),
		cmocka_unit_test(noise_without_end_keeps_the_session),
		cmocka_unit_test(a_peer_that_never_ends_a_message_meets_the_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
