/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file: what the ledger holds, as text. Written whole at each
 * decision, so that half a pod cannot be in it; canonical, so that equal
 * ledgers make equal files but for the boot id.
 *
 * Layout: a first line with version and checksum, the content on one line, a
 * closing brace. It is one JSON object, and the checksum (FNV-1a, 64 bits)
 * covers the bytes of the second line. A changed meaning raises the version.
 */
#ifndef FORMAT_STATE_H
#define FORMAT_STATE_H

#include "core/ledger/ledger.h"
#include "format/error.h"
#include "lib/text.h"

/*
 * The newest version that can be read. Pods of a container runtime came with 2. A file without
 * any is written as 1, so that an older agent can still take over.
 */
#define STATE_VERSION	  2
#define STATE_MAX_BYTES	  (16U << 20)
#define STATE_MAX_PODS	  8192
#define STATE_BOOT_ID_MAX 40

struct state_pod {
	struct ledger_pod pod;
	/* Something of it is not on this machine any more: `problem` says "NUMA node 3 no longer exists". */
	bool is_unusable;
	char problem[160];
};

struct state {
	char boot_id[STATE_BOOT_ID_MAX]; /* /proc/sys/kernel/random/boot_id when it was written */
	struct cpuset cpus;		 /* online then */
	struct cpuset reserved, shared_pool;
	struct policy policy;
	uint32_t nr_pods; /* ascending by uid */
	struct state_pod *pods;
};

/* Free the state with all its pods. NULL is allowed. */
void state_free(struct state *state);
DEFINE_CLEANUP(struct state, state_freep, state_free);
#define cleanup_state cleanup(state_freep)

/* The version that state_encode() writes for this ledger. */
int state_version(const struct ledger *ledger);
/* Append the whole file to `out`; errors stick there. */
void state_encode(const struct ledger *ledger, const char *boot_id, struct text *out);

/*
 * Read it back, every field checked and bounded. Memory nodes are translated
 * from ids to indexes of `topology`; NULL = the order of the file.
 * -EPROTONOSUPPORT: written by a newer version, leave everything alone.
 * -EBADMSG: damaged, set it aside. Both with `error` filled. -ENOMEM.
 */
int state_decode(const char *data, size_t len, const struct topology *topology,
		 struct format_error *error, struct state **ret_state);

#endif
