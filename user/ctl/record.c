// SPDX-License-Identifier: Apache-2.0
/*
 * Writing the state file. What comes back from it at a start is in recover.c, and what a
 * grant has to wait for in admission.c.
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

void ctl_note_unwritable(struct controller *controller, const char *why)
{
	struct record *record = &controller->record;
	char message[ROW_DETAIL_MAX];

	if (record->is_writable)
		log_err(0, "state: cannot be written (%s); no new pod is admitted until it can",
			why);
	snprintf(record->problem, sizeof(record->problem), "%s", why);
	record->is_writable = false;
	snprintf(message, sizeof(message),
		 "the state file cannot be written, so no new pod is admitted: %.240s", why);
	findings_put(&controller->findings, "state_not_writable", message,
		     "make stateDirectory ours, writable and give it free space; a wrong "
		     "owner or mode is looked at again when pinfoldd restarts");
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
	findings_clear(&controller->findings, "state_not_writable");
	return 0;
}

void ctl_check_state(struct controller *controller)
{
	const struct store_port *store = controller->ports.store;
	const char *why = store->problem(store->self);

	/* Once it can be again, the next sweep saves and takes this back. */
	if (why && controller->record.is_writable)
		ctl_note_unwritable(controller, why);
}

static bool is_durable(const struct record *record, const struct text *text)
{
	return record->durable.data && record->durable.len == text->len &&
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
	state_encode(controller->ledger, controller->options.boot_id, &text);
	if (!text.error && record->saving_since_ns) {
		record->is_behind = true;
		return -EINPROGRESS;
	}
	record->is_behind = false;
	/* After a failure it is written all the same: only a write shows that it can be again. */
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
	/* What was written may be a transaction that is not in the ledger: it is looked at anew. */
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
