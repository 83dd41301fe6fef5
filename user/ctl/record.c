// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the state file. recover.c reads it at a start, and admission.c makes grants wait for
 * the write.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/record.h"
#include "format/state.h"
#include "lib/log.h"

void record_init(struct record *record)
{
	*record = (struct record){.is_writable = true};
}

void record_fini(struct record *record)
{
	text_fini(&record->saving);
	text_fini(&record->durable);
}

void record_count_restored(struct record *record, enum state_restored result)
{
	record->nr_restored[result]++;
}

void ctl_note_unwritable(struct controller *controller, const char *why)
{
	struct record *record = &controller->record;

	if (record->is_writable)
		log_err(0,
			"state: the file cannot be written (%s); no new pod is admitted until it "
			"can be",
			why);
	snprintf(record->problem, sizeof(record->problem), "%s", why);
	record->is_writable = false;
	findings_put(&controller->findings, FINDING_STATE_NOT_WRITABLE,
		     "make stateDirectory writable and free some space; after correcting its "
		     "owner or mode, restart pinfoldd",
		     "the state file cannot be written, so no new pod is admitted: %.240s", why);
}

bool record_take_mended(struct record *record)
{
	bool was_mended = record->was_mended;

	record->was_mended = false;
	return was_mended;
}

static int note_saved(struct controller *controller, int r)
{
	struct record *record = &controller->record;
	const struct store_port *store = controller->ports.store;
	const char *why;

	if (r) {
		record->nr_failed++;
		why = store->problem(store->self);
		ctl_note_unwritable(controller, why ? why : strerror(-r));
		return r;
	}
	record->nr_written++;
	record->is_writable = true;
	*record->problem = '\0';
	record->written_ns = (int64_t)clock_wall_ns(controller->ports.clock);
	findings_clear(&controller->findings, FINDING_STATE_NOT_WRITABLE);
	return 0;
}

void ctl_check_state(struct controller *controller)
{
	const struct store_port *store = controller->ports.store;
	const char *why = store->problem(store->self);

	/*
	 * When the directory is writable again, the next sweep saves the state and clears the
	 * finding.
	 */
	if (why)
		ctl_note_unwritable(controller, why);
}

static bool is_durable(const struct record *record, const struct text *text)
{
	return record->durable.len == text->len &&
	       !memcmp(record->durable.data, text->data, text->len);
}

int ctl_save_state(struct controller *controller)
{
	struct record *record = &controller->record;
	const struct store_port *store = controller->ports.store;
	struct text text cleanup_text = {0};
	int r;

	if (controller->options.dry_run)
		return 0;
	/* Its end compares the record with the ledger again. */
	if (record->saving_since_ns)
		return -EINPROGRESS;
	state_encode(controller->ledger, controller->options.boot_id, &text);
	record->is_behind = false;
	/*
	 * Write again after a failure even if nothing changed: only a write shows that the
	 * file is writable.
	 */
	if (!text.error && record->is_writable && is_durable(record, &text))
		return 0;
	text_fini(&record->durable);
	r = text.error ? text.error : store->save(store->self, text.data, text.len);
	if (r != -EINPROGRESS)
		return note_saved(controller, r);
	record->saving = text;
	text = (struct text){0};
	record->saving_since_ns = clock_now_ns(controller->ports.clock);
	return r;
}

void ctl_end_save(struct controller *controller, int result)
{
	struct record *record = &controller->record;

	record->saving_since_ns = 0;
	/* The record may contain a transaction that is not in the ledger, so compare them again. */
	record->is_behind = true;
	if (result) {
		text_fini(&record->saving);
	} else {
		record->durable = record->saving;
		record->saving = (struct text){0};
	}
	record->was_mended |= !result && !record->is_writable;
	note_saved(controller, result);
}
