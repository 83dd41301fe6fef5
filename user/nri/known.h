/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we know of a message. A runtime sends a container's environment, arguments and mounts too, which
 * the author of a pod chooses. protobuf-c would keep them as unknown fields, at a hundred bytes for
 * each, so they are taken out of the bytes before. So are labels and annotations of others, which take
 * twice as much.
 */
#ifndef NRI_KNOWN_H
#define NRI_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/*
 * Close up the fields that `descriptor` and those of its parts have, and return how long the message is
 * then. Of each list of labels or annotations, at most NRI_PAIRS_MAX stay, whose keys begin with
 * `pair_prefix`; NULL = all stay. From where it cannot be read on, it stays as it is, for protobuf-c to reject.
 */
size_t nri_known_keep(const ProtobufCMessageDescriptor *descriptor, const char *pair_prefix,
		      uint8_t *bytes, size_t len);

#endif
