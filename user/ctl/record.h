/* SPDX-License-Identifier: Apache-2.0 */
/* The record of the ledger in the state file: what of it is durable, and whether it can be. */
#ifndef CTL_RECORD_H
#define CTL_RECORD_H

#include "format/rows.h"
#include "lib/text.h"

struct controller;

struct record {
	/* A save that goes on, and what it writes. */
	uint64_t saving_since_ns;    /* 0 = none */
	struct text saving, durable; /* durable: after a late save, until the next one */
	bool is_behind;		     /* the file lacks something of the ledger */
	bool is_writable;
	bool was_mended;	      /* it can be written again, and nobody has asked since */
	char problem[ROW_DETAIL_MAX]; /* why it cannot be written, "" = it can */
	int64_t written_ns;
	uint64_t nr_written, nr_failed;
};

void record_init(struct record *record);
void record_fini(struct record *record);
/* Can the file be written again since this was last asked? */
bool record_take_mended(struct record *record);

/*
 * Save the ledger. -EINPROGRESS: it is being written, this or an earlier record; 0 only
 * when what the ledger says now is in the file.
 */
int ctl_save_state(struct controller *controller);
/* A save that had answered -EINPROGRESS has ended. */
void ctl_end_save(struct controller *controller, int result);
/* Could it be written now? Asked before there is something to write. */
void ctl_check_state(struct controller *controller);
/* It cannot be written: no new pod is admitted until it can. A finding says why. */
void ctl_note_unwritable(struct controller *controller, const char *why);

#endif
