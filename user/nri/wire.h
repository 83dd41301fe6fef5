/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The framing of NRI: ttrpc messages inside the frames of NRI's multiplexer, both ways,
 * from bytes to bytes. No input or output, and no meaning: session.h knows what the
 * messages say.
 *
 * A frame has the number of a connection and a piece of that connection's stream of bytes;
 * it begins and ends anywhere in a message. Each side is the client of one connection.
 */
#ifndef NRI_WIRE_H
#define NRI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nri_connection {
	NRI_CONNECTION_PLUGIN = 1,  /* the runtime calls the plugin */
	NRI_CONNECTION_RUNTIME = 2, /* the plugin calls the runtime */
	NRI_CONNECTION_NR,
};

enum nri_message_type {
	NRI_MESSAGE_REQUEST = 1,
	NRI_MESSAGE_RESPONSE = 2,
};

/*
 * The protocol's limit for the data of a message is 4 MiB. Runtimes with NRI before 0.7 send
 * a larger Synchronize all the same, so more is read than written.
 */
#define NRI_READ_MAX  (16U << 20)
#define NRI_WRITE_MAX (4U << 20)
/* Answers that a runtime leaves unread. A well-behaved one waits for one answer at a time. */
#define NRI_OUTPUT_MAX (2 * NRI_WRITE_MAX)

struct nri_message {
	enum nri_connection connection;
	uint32_t stream;
	uint8_t type; /* enum nri_message_type, or a type that is to be ignored */
	const uint8_t *data;
	size_t len;
};

/* One connection: the message that is being received. */
struct nri_stream {
	uint8_t header[10];
	size_t nr_header;
	uint8_t *data; /* grows with the bytes that came, not with the length that was stated */
	size_t len, capacity;
};

struct nri_reader {
	uint8_t header[8];
	size_t nr_header;
	uint32_t payload_left; /* of the frame whose header is complete */
	struct nri_stream streams[NRI_CONNECTION_NR];
	struct nri_stream *given; /* whose message the caller has */
};

struct nri_output {
	uint8_t *data;
	size_t start, end, capacity; /* the bytes from start to end are to be written */
};

void nri_reader_fini(struct nri_reader *reader);
/*
 * Consume bytes until a message is complete, and advance `data` and `len` beyond them.
 * 1 = a message, whose data is borrowed until the next call; 0 = all bytes are consumed;
 * -EMSGSIZE = a frame or message above NRI_READ_MAX; -ENOMEM. After an error the streams
 * are out of step, so the reader can only be freed.
 */
int nri_reader_next(struct nri_reader *reader, const uint8_t **data, size_t *len,
		    struct nri_message *ret_message);
/* Would an end of the input now cut off a frame or a message? */
bool nri_reader_is_amid(const struct nri_reader *reader);

void nri_output_fini(struct nri_output *output);
/*
 * Append a message, in the frames that a peer in Go can read. Nothing is appended on error:
 * -EMSGSIZE = above NRI_WRITE_MAX, -ENOBUFS = above NRI_OUTPUT_MAX, -ENOMEM.
 */
int nri_output_add(struct nri_output *output, const struct nri_message *message);
/* The first `len` bytes have been written. */
void nri_output_drop(struct nri_output *output, size_t len);

#endif
