// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/* The framing of NRI, on recorded sessions and on what no well-behaved runtime sends. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nri/wire.h"

#include "../lib/nri_recording.h"

#define MESSAGES_MAX 64

/* What a stream of frames contained, copied out of the reader. */
struct heard {
	struct nri_message messages[MESSAGES_MAX];
	uint8_t *data[MESSAGES_MAX];
	size_t nr;
};

static void heard_free(struct heard *heard)
{
	for (size_t i = 0; i < heard->nr; i++)
		free(heard->data[i]);
	heard->nr = 0;
}

static int hear(struct nri_reader *reader, const void *bytes, size_t len, struct heard *heard)
{
	const uint8_t *data = bytes;
	struct nri_message message;
	int found;

	while ((found = nri_reader_next(reader, &data, &len, &message)) == 1) {
		assert_true(heard->nr < MESSAGES_MAX);
		heard->data[heard->nr] = malloc(message.len + 1);
		assert_non_null(heard->data[heard->nr]);
		if (message.len)
			memcpy(heard->data[heard->nr], message.data, message.len);
		message.data = heard->data[heard->nr];
		heard->messages[heard->nr++] = message;
	}
	assert_true(found < 0 || len == 0);
	return found;
}

static void assert_same(const struct nri_message *a, const struct nri_message *b)
{
	assert_int_equal(a->connection, b->connection);
	assert_int_equal(a->stream, b->stream);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->len, b->len);
	if (a->len)
		assert_memory_equal(a->data, b->data, a->len);
}

static void read_all(const uint8_t *bytes, size_t len, struct heard *heard)
{
	struct nri_reader reader = {0};

	assert_int_equal(hear(&reader, bytes, len, heard), 0);
	assert_false(nri_reader_is_amid(&reader));
	nri_reader_fini(&reader);
}

/* --- recorded frames ----------------------------------------------------------------------- */

typedef void (*group_check)(const uint8_t *bytes, size_t len);

/* Call `check` for each message with the frames, one or two, that carry it. */
static void for_each_recorded_message(group_check check)
{
	for (size_t i = 0; i < 2; i++) {
		for (char session = 'A'; session <= 'G'; session++) {
			struct recording recording;

			recording_read(recorded_runtimes[i], session, &recording);
			for (size_t j = 0; j < recording.nr; j++) {
				const struct recorded_frame *frame = &recording.frames[j];
				uint8_t *both = NULL;

				if (frame->len < 8 + 4096) {
					check(frame->data, frame->len);
					continue;
				}
				/* the record has the direction between the two */
				both = malloc(frame->len + frame[1].len);
				assert_non_null(both);
				memcpy(both, frame->data, frame->len);
				memcpy(both + frame->len, frame[1].data, frame[1].len);
				check(both, frame->len + frame[1].len);
				free(both);
				j++;
			}
			recording_free(&recording);
		}
	}
}

static void is_written_as_recorded(const uint8_t *bytes, size_t len)
{
	struct nri_output output = {0};
	struct heard heard = {0};

	read_all(bytes, len, &heard);
	assert_int_equal(heard.nr, 1);
	assert_int_equal(nri_output_add(&output, &heard.messages[0]), 0);
	assert_int_equal(output.end - output.start, len);
	assert_memory_equal(output.data + output.start, bytes, len);
	nri_output_fini(&output);
	heard_free(&heard);
}

static void every_recorded_message_is_written_as_it_was(void **state)
{
	for_each_recorded_message(is_written_as_recorded);
}

/* Each split, but only some of those that are far inside a long second frame. */
static size_t next_cut(size_t cut, size_t len)
{
	return cut > 5000 && cut + 1000 < len ? 509 : 1;
}

static void survives_each_split(const uint8_t *bytes, size_t len)
{
	struct heard whole = {0};

	read_all(bytes, len, &whole);
	for (size_t cut = 1; cut < len; cut += next_cut(cut, len)) {
		struct nri_reader reader = {0};
		struct heard heard = {0};

		assert_int_equal(hear(&reader, bytes, cut, &heard), 0);
		assert_int_equal(heard.nr, 0);
		assert_true(nri_reader_is_amid(&reader));
		assert_int_equal(hear(&reader, bytes + cut, len - cut, &heard), 0);
		assert_false(nri_reader_is_amid(&reader));
		assert_int_equal(heard.nr, 1);
		assert_same(&heard.messages[0], &whole.messages[0]);
		heard_free(&heard);
		nri_reader_fini(&reader);
	}
	heard_free(&whole);
}

static void every_split_of_every_message_gives_the_same(void **state)
{
	for_each_recorded_message(survives_each_split);
}

static void survives_single_bytes(const uint8_t *bytes, size_t len)
{
	struct heard whole = {0}, heard = {0};
	struct nri_reader reader = {0};

	read_all(bytes, len, &whole);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(hear(&reader, bytes + i, 1, &heard), 0);
	assert_int_equal(heard.nr, 1);
	assert_same(&heard.messages[0], &whole.messages[0]);
	nri_reader_fini(&reader);
	heard_free(&heard);
	heard_free(&whole);
}

static void single_bytes_give_the_same(void **state)
{
	for_each_recorded_message(survives_single_bytes);
}

/* --- made-up frames ------------------------------------------------------------------------ */

static const uint8_t two_in_one_frame[] = {
	0, 0, 0, 1, 0, 0, 0, 23,		 /* connection 1, 23 bytes */
	0, 0, 0, 2, 0, 0, 0, 3,	 1, 0, 'a', 'b', /* stream 3, request of two bytes */
	0, 0, 0, 1, 0, 0, 0, 9,	 2, 0, 'c',	 /* stream 9, response of one byte */
};

static void one_frame_may_carry_two_messages(void **state)
{
	struct heard heard = {0};

	read_all(two_in_one_frame, sizeof(two_in_one_frame), &heard);
	assert_int_equal(heard.nr, 2);
	assert_same(&heard.messages[0],
		    &(struct nri_message){NRI_CONNECTION_PLUGIN, 3, NRI_MESSAGE_REQUEST,
					  (const uint8_t *)"ab", 2});
	assert_same(&heard.messages[1],
		    &(struct nri_message){NRI_CONNECTION_PLUGIN, 9, NRI_MESSAGE_RESPONSE,
					  (const uint8_t *)"c", 1});
	heard_free(&heard);
}

static void connections_interleave_within_messages(void **state)
{
	static const uint8_t bytes[] = {
		0, 0, 0, 1,   0, 0, 0, 5,  0,	0,   0,	  2, 0, /* half a header */
		0, 0, 0, 2,   0, 0, 0, 11, 0,	0,   0,	  1, 0, 0,   0,
		1, 2, 0, 'x',					     /* a whole message */
		0, 0, 0, 1,   0, 0, 0, 6,  0,	0,   3,	  1, 0, 'a', /* the rest, without one byte */
		0, 0, 0, 7,   0, 0, 0, 3,  'd', 'i', 'e',	     /* a connection nobody uses */
		0, 0, 0, 1,   0, 0, 0, 0,			     /* an empty frame */
		0, 0, 0, 1,   0, 0, 0, 1,  'b',
	};
	struct heard heard = {0};

	read_all(bytes, sizeof(bytes), &heard);
	assert_int_equal(heard.nr, 2);
	assert_same(&heard.messages[0],
		    &(struct nri_message){NRI_CONNECTION_RUNTIME, 1, NRI_MESSAGE_RESPONSE,
					  (const uint8_t *)"x", 1});
	assert_same(&heard.messages[1],
		    &(struct nri_message){NRI_CONNECTION_PLUGIN, 3, NRI_MESSAGE_REQUEST,
					  (const uint8_t *)"ab", 2});
	heard_free(&heard);
}

static void a_frame_above_the_limit_is_an_error(void **state)
{
	static const uint8_t largest[] = {0, 0, 0, 9, 1, 0, 0, 10},
			     larger[] = {0, 0, 0, 9, 1, 0, 0, 11};
	struct nri_reader reader = {0};
	struct heard heard = {0};

	assert_int_equal(hear(&reader, largest, sizeof(largest), &heard), 0);
	nri_reader_fini(&reader);
	assert_int_equal(hear(&reader, larger, sizeof(larger), &heard), -EMSGSIZE);
	nri_reader_fini(&reader);
}

static void a_message_above_the_limit_is_an_error(void **state)
{
	static const uint8_t largest[] = {0, 0, 0, 1, 0, 0, 0, 10, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0},
			     larger[] = {0, 0, 0, 1, 0, 0, 0, 10, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0};
	struct nri_reader reader = {0};
	struct heard heard = {0};

	assert_int_equal(hear(&reader, largest, sizeof(largest), &heard), 0);
	/* what was only announced takes no memory */
	assert_true(reader.streams[NRI_CONNECTION_PLUGIN].capacity <= 4096);
	nri_reader_fini(&reader);
	assert_int_equal(hear(&reader, larger, sizeof(larger), &heard), -EMSGSIZE);
	nri_reader_fini(&reader);
}

static void a_message_at_the_limit_is_read(void **state)
{
	uint8_t head[] = {0, 0, 0, 1, 1, 0, 0, 10, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0};
	uint8_t *body = calloc(1, NRI_READ_MAX);
	struct nri_reader reader = {0};
	struct heard heard = {0};

	assert_non_null(body);
	assert_int_equal(hear(&reader, head, sizeof(head), &heard), 0);
	assert_int_equal(hear(&reader, body, NRI_READ_MAX, &heard), 0);
	assert_int_equal(heard.nr, 1);
	assert_int_equal(heard.messages[0].len, NRI_READ_MAX);
	/* and its memory is given back before the next */
	assert_int_equal(reader.streams[NRI_CONNECTION_PLUGIN].capacity, 0);
	heard_free(&heard);
	nri_reader_fini(&reader);
	free(body);
}

static void an_end_of_input_may_cut_something_off(void **state)
{
	for (size_t len = 0; len <= sizeof(two_in_one_frame); len++) {
		struct nri_reader reader = {0};
		struct heard heard = {0};

		assert_int_equal(hear(&reader, two_in_one_frame, len, &heard), 0);
		assert_int_equal(nri_reader_is_amid(&reader),
				 len > 0 && len < sizeof(two_in_one_frame));
		heard_free(&heard);
		nri_reader_fini(&reader);
	}
}

static void an_empty_frame_is_whole(void **state)
{
	static const uint8_t empty[] = {0, 0, 0, 1, 0, 0, 0, 0};
	struct nri_reader reader = {0};
	struct heard heard = {0};

	assert_int_equal(hear(&reader, empty, sizeof(empty), &heard), 0);
	assert_int_equal(heard.nr, 0);
	assert_false(nri_reader_is_amid(&reader));
	assert_int_equal(hear(&reader, two_in_one_frame, sizeof(two_in_one_frame), &heard), 0);
	assert_int_equal(heard.nr, 2);
	heard_free(&heard);
	nri_reader_fini(&reader);
}

/* Wherever the bytes are cut, the first message takes none of the second. */
static void messages_of_one_frame_do_not_take_bytes_of_each_other(void **state)
{
	static const uint8_t frame[] = {0, 0, 0, 1, 0, 0, 0,   28,  0,	 0,   0,   4,
					0, 0, 0, 1, 1, 0, 'a', 'b', 'c', 'd', 0,   0,
					0, 4, 0, 0, 0, 3, 1,   0,   'e', 'f', 'g', 'h'};

	for (size_t cut = 0; cut <= sizeof(frame); cut++) {
		struct nri_reader reader = {0};
		struct heard heard = {0};

		assert_int_equal(hear(&reader, frame, cut, &heard), 0);
		assert_int_equal(hear(&reader, frame + cut, sizeof(frame) - cut, &heard), 0);
		assert_int_equal(heard.nr, 2);
		assert_int_equal(heard.messages[0].len, 4);
		assert_memory_equal(heard.messages[0].data, "abcd", 4);
		assert_int_equal(heard.messages[1].stream, 3);
		assert_int_equal(heard.messages[1].len, 4);
		assert_memory_equal(heard.messages[1].data, "efgh", 4);
		heard_free(&heard);
		nri_reader_fini(&reader);
	}
}

static void a_message_that_was_given_is_whole(void **state)
{
	static const uint8_t frame[] = {0, 0, 0, 1, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0};
	const uint8_t *data = frame;
	size_t len = sizeof(frame);
	struct nri_reader reader = {0};
	struct nri_message message;

	assert_int_equal(nri_reader_next(&reader, &data, &len, &message), 1);
	assert_false(nri_reader_is_amid(&reader));
	nri_reader_fini(&reader);
}

static void output_keeps_what_was_not_written(void **state)
{
	const struct nri_message first = {NRI_CONNECTION_PLUGIN, 1, NRI_MESSAGE_RESPONSE,
					  (const uint8_t *)"abcd", 4};
	const struct nri_message second = {NRI_CONNECTION_PLUGIN, 3, NRI_MESSAGE_RESPONSE,
					   (const uint8_t *)"efgh", 4};
	struct nri_output cut = {0}, whole = {0};

	assert_int_equal(nri_output_add(&whole, &first), 0);
	assert_int_equal(nri_output_add(&whole, &second), 0);
	assert_int_equal(nri_output_add(&cut, &first), 0);
	nri_output_drop(&cut, 5);
	assert_int_equal(nri_output_add(&cut, &second), 0);
	assert_int_equal(cut.end - cut.start, whole.end - 5);
	assert_memory_equal(cut.data + cut.start, whole.data + 5, whole.end - 5);
	/* More than there is, of which some was written before. */
	nri_output_drop(&cut, 5);
	nri_output_drop(&cut, 1000);
	assert_int_equal(cut.start, 0);
	assert_int_equal(cut.end, 0);
	nri_output_fini(&cut);
	nri_output_fini(&whole);
}

/* Two frames have 16 bytes around a message, and its header has 10. */
static void output_may_be_full_to_its_last_byte(void **state)
{
	uint8_t *data = calloc(1, NRI_WRITE_MAX);
	struct nri_message message = {NRI_CONNECTION_PLUGIN, 1, NRI_MESSAGE_RESPONSE, data,
				      NRI_WRITE_MAX};
	struct nri_output output = {0};

	assert_non_null(data);
	assert_int_equal(nri_output_add(&output, &message), 0);
	message.len = NRI_OUTPUT_MAX - NRI_WRITE_MAX - 2 * 26 + 1;
	assert_int_equal(nri_output_add(&output, &message), -ENOBUFS);
	message.len--;
	assert_int_equal(nri_output_add(&output, &message), 0);
	assert_int_equal(output.end, NRI_OUTPUT_MAX);
	nri_output_fini(&output);
	free(data);
}

static void a_message_is_written_in_two_frames_at_most(void **state)
{
	static const struct {
		size_t len, frames[2]; /* lengths of the payloads */
	} rows[] = {{0, {10, 0}}, {4086, {4096, 0}}, {4087, {4096, 1}}, {100000, {4096, 95914}}};
	uint8_t *data = calloc(1, 100000);

	assert_non_null(data);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nri_message message = {NRI_CONNECTION_PLUGIN, 5, NRI_MESSAGE_RESPONSE, data,
					      rows[i].len};
		struct nri_output output = {0};
		const uint8_t *second;

		assert_int_equal(nri_output_add(&output, &message), 0);
		assert_int_equal(frame_length(output.data), 8 + rows[i].frames[0]);
		second = output.data + 8 + rows[i].frames[0];
		assert_int_equal(output.end,
				 8 + rows[i].frames[0] +
					 (rows[i].frames[1] ? 8 + rows[i].frames[1] : 0));
		if (rows[i].frames[1])
			assert_int_equal(frame_length(second), 8 + rows[i].frames[1]);
		nri_output_fini(&output);
	}
	free(data);
}

static void what_is_written_has_limits(void **state)
{
	uint8_t *data = calloc(1, NRI_WRITE_MAX + 1);
	struct nri_message message = {NRI_CONNECTION_PLUGIN, 5, NRI_MESSAGE_RESPONSE, data,
				      NRI_WRITE_MAX + 1};
	struct nri_output output = {0};
	size_t pending;

	assert_non_null(data);
	assert_int_equal(nri_output_add(&output, &message), -EMSGSIZE);
	assert_int_equal(output.end, 0);
	message.len = NRI_WRITE_MAX;
	assert_int_equal(nri_output_add(&output, &message), 0);
	pending = output.end;
	assert_int_equal(nri_output_add(&output, &message), -ENOBUFS);
	assert_int_equal(output.end, pending);
	/* what was written makes room */
	nri_output_drop(&output, pending - 7);
	assert_int_equal(nri_output_add(&output, &message), 0);
	assert_int_equal(output.end - output.start, pending + 7);
	nri_output_drop(&output, pending + 7);
	assert_int_equal(output.end, 0);
	assert_null(output.data);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_recorded_message_is_written_as_it_was),
		cmocka_unit_test(every_split_of_every_message_gives_the_same),
		cmocka_unit_test(single_bytes_give_the_same),
		cmocka_unit_test(one_frame_may_carry_two_messages),
		cmocka_unit_test(connections_interleave_within_messages),
		cmocka_unit_test(a_frame_above_the_limit_is_an_error),
		cmocka_unit_test(a_message_above_the_limit_is_an_error),
		cmocka_unit_test(a_message_at_the_limit_is_read),
		cmocka_unit_test(an_end_of_input_may_cut_something_off),
		cmocka_unit_test(an_empty_frame_is_whole),
		cmocka_unit_test(messages_of_one_frame_do_not_take_bytes_of_each_other),
		cmocka_unit_test(a_message_that_was_given_is_whole),
		cmocka_unit_test(output_keeps_what_was_not_written),
		cmocka_unit_test(output_may_be_full_to_its_last_byte),
		cmocka_unit_test(a_message_is_written_in_two_frames_at_most),
		cmocka_unit_test(what_is_written_has_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
