/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this kernel permits, probed as far as somebody needs it (probe.h) and saved for the boot
 * (probe_cache.h).
 */
#ifndef BPF_ABILITIES_H
#define BPF_ABILITIES_H

#include "bpf/probe.h"

struct abilities {
	struct feature_row rows[ABILITY_NR];
	uint32_t nr_known;    /* number of abilities probed so far, from the first */
	const char *identity; /* the agent's build; NULL: results are not saved. Borrowed */
	int dir_fd;	      /* of the saved results; borrowed */
};

/* Nothing is known. */
void abilities_begin(struct abilities *abilities, const char *identity, int dir_fd);
/* Load the results that were saved on this boot, if there are any. */
void abilities_load(struct abilities *abilities);
/* Probe those before `end` that are not known yet, and save them. */
void abilities_probe(struct abilities *abilities, uint32_t end);
/*
 * An object could not be put in force although the abilities that it needs were available. If
 * those results came from the file, the kernel may have changed (ftrace switched off, for
 * example), and the table must be correct: forget them and probe all again.
 */
void abilities_reprobe(struct abilities *abilities);

#endif
