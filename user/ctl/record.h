/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of the ledger in the state file: whether it is durable, and whether it can be
 * written.
 */
#ifndef CTL_RECORD_H
#define CTL_RECORD_H

#include "format/rows.h"
#include "lib/text.h"

struct controller;

/* What a start made of the state file. */
enum state_restored {
	STATE_RESTORED,
	STATE_PARTLY_RESTORED, /* a pod could not keep its grant */
	STATE_DAMAGED,	       /* the file could not be used and was set aside */
	STATE_ABSENT,	       /* there was no file */
	STATE_RESTORED_NR
};

struct record {
	/* The save in progress and its content. */
	uint64_t saving_since_ns;    /* 0 = none */
	struct text saving, durable; /* durable: set after a late save, until the next one */
	bool is_behind;		     /* the file lacks some changes of the ledger */
	bool is_writable;
	bool was_mended;	      /* it became writable; not yet taken by record_take_mended */
	char problem[ROW_DETAIL_MAX]; /* why it cannot be written, "" = it is writable */
	int64_t written_ns;
	uint64_t nr_written, nr_failed;
	uint64_t nr_restored[STATE_RESTORED_NR];
};

void record_init(struct record *record);
void record_fini(struct record *record);
/* Count a start that ended so, for the metrics. */
void record_count_restored(struct record *record, enum state_restored result);
/* Has the file become writable again since the last call? */
bool record_take_mended(struct record *record);

/*
 * Save the ledger. -EINPROGRESS: this record or an earlier one is being written. 0 only if the
 * file contains the current ledger.
 */
int ctl_save_state(struct controller *controller);
/* A save that returned -EINPROGRESS has ended. */
void ctl_end_save(struct controller *controller, int result);
/* Check whether the file could be written now, before there is something to write. */
void ctl_check_state(struct controller *controller);
/*
 * The file cannot be written: no new pod is admitted until it can be. Raises a finding with
 * the reason.
 */
void ctl_note_unwritable(struct controller *controller, const char *why);

#endif
