// SPDX-License-Identifier: Apache-2.0
#include "irq/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "irq/changes.h"
#include "irq/irq_originals.h"
#include "irq/irqbalance.h"
#include "lib/log.h"

/*
 * After a change by another process was reverted, the next one of the same mask is left alone for
 * this long, twice as long after each one that follows, and at most 64 times as long.
 */
#define PAUSE_NS	  (10 * 1000000000ULL)
#define LONGEST_PAUSE_LOG 6

struct irq_pass {
	const struct irq_context *context;
	const struct irq_request *request;
	struct irq_table *table;
	struct irq_report *report;
	struct irq_cpus cpus; /* those to decide by */
};

static int set_list(char **list, const struct cpuset *set)
{
	char *text = mask_text(MASK_LIST, set);

	if (!text)
		return -ENOMEM;
	free(*list);
	*list = text;
	return 0;
}

static void drop_list(char **list)
{
	free(*list);
	*list = NULL;
}

/* --- deciding ------------------------------------------------------------------------------------ */

/*
 * The original of a mask that we have not changed; see irq_original_of_new. Of an interrupt that
 * an earlier pass saw, somebody has chosen the mask since. In the first pass of an agent the
 * default mask has an original only if the file proves that an earlier agent narrowed it. Then
 * every interrupt that the file does not name counts as new: one for which an operator chose
 * exactly what our default yields is widened later. The opposite mistake would leave interrupts
 * that appeared while no agent ran narrow for ever.
 */
static void find_original(const struct irq_pass *pass, const struct irq_entry *entry,
			  const struct cpuset *affinity, struct cpuset *ret_original)
{
	const struct irq_entry *first = pass->table->entries;
	struct cpuset now, original;

	*ret_original = *affinity;
	if (entry->is_known || entry->kind != IRQ_KIND_INTERRUPT ||
	    first->kind != IRQ_KIND_DEFAULT || !first->original)
		return;
	now = cpuset_of_text(first->affinity);
	original = cpuset_of_text(first->original);
	irq_original_of_new(&pass->cpus, &now, &original, entry->node_id, affinity, ret_original);
}

static uint64_t pause_after(unsigned int nr_reverts)
{
	return PAUSE_NS << (nr_reverts < LONGEST_PAUSE_LOG ? nr_reverts : LONGEST_PAUSE_LOG);
}

static bool may_contend(const struct irq_pass *pass, const struct irq_entry *entry)
{
	return pass->request->masks == ENFORCEMENT_ENFORCE &&
	       pass->report->irqbalance != IRQBALANCE_CONTENDS &&
	       pass->request->now_ns >= entry->contend_ns;
}

/* A process that changes one mask mostly changes all, so the first one is named. */
static void name_first(struct irq_report *report, const struct irq_entry *entry)
{
	if (report->nr_reverted + report->nr_left)
		return;
	if (entry->kind == IRQ_KIND_INTERRUPT)
		snprintf(report->first.name, sizeof(report->first.name), "interrupt %u (%.40s)",
			 entry->number, entry->name);
	else
		snprintf(report->first.name, sizeof(report->first.name), "%.60s", entry->name);
	snprintf(report->first.mask, sizeof(report->first.mask), "%.60s", entry->affinity);
}

/* One that reaches exclusive CPUs and is left so is counted once, when it is found. */
static bool is_left(const struct irq_pass *pass, const struct irq_entry *entry)
{
	const struct cpuset affinity = cpuset_of_text(entry->affinity);

	return pass->request->masks == ENFORCEMENT_AUDIT && !entry->is_foreign &&
	       cpuset_intersects(&affinity, &pass->cpus.exclusive);
}

static void note_foreign(struct irq_pass *pass, struct irq_entry *entry, enum irq_action action)
{
	const bool is_foreign = action == IRQ_FOREIGN || action == IRQ_REVERT;

	if (is_foreign && !entry->is_foreign)
		pass->report->nr_foreign++;
	if (action == IRQ_FOREIGN && is_left(pass, entry)) {
		name_first(pass->report, entry);
		pass->report->nr_left++;
	}
	entry->is_foreign = action == IRQ_FOREIGN;
	if (action == IRQ_REVERT) {
		entry->contend_ns = pass->request->now_ns + pause_after(entry->nr_reverts++);
		name_first(pass->report, entry);
		pass->report->nr_reverted++;
	} else if (!is_foreign && pass->request->now_ns >= entry->contend_ns) {
		entry->nr_reverts = 0;
	}
}

/* A crash may leave the old mask or the new one, so meanwhile the file names neither as ours. */
static bool writes(const struct irq_entry *entry)
{
	return entry->action == IRQ_WRITE || entry->action == IRQ_REVERT;
}

static int decide(struct irq_pass *pass, struct irq_entry *entry)
{
	const struct cpuset affinity = cpuset_of_text(entry->affinity);
	const struct cpuset written = cpuset_of_text(entry->written);
	const struct cpuset refused = cpuset_of_text(entry->refused);
	const bool restores = pass->request->mode == IRQ_RESTORE;
	struct cpuset original = cpuset_of_text(entry->original), chosen, target;
	const struct irq_facts facts = {
		.affinity = &affinity,
		.original = &original,
		/* What is restored is restored whoever wrote last. */
		.written = entry->written && !restores ? &written : NULL,
		.refused = entry->refused ? &refused : NULL,
		.may_contend = may_contend(pass, entry),
	};

	if (!entry->original)
		find_original(pass, entry, &affinity, &original);
	entry->action = irq_decide(&pass->cpus, &facts, &chosen, &target);
	if (entry->is_fixed && entry->action != IRQ_KEEP)
		entry->action = IRQ_REFUSED;
	note_foreign(pass, entry, entry->action);
	if (entry->action == IRQ_REFUSED)
		return 0;
	if (set_list(&entry->target, &target))
		return -ENOMEM;
	if (entry->written && writes(entry)) {
		drop_list(&entry->written);
		pass->table->is_unsaved = true;
	}
	if (cpuset_equal(&chosen, entry->original ? &original : &target))
		return 0;
	pass->table->is_unsaved = true;
	return set_list(&entry->original, &chosen);
}

/* --- writing ------------------------------------------------------------------------------------- */

/* Sets the list anew from what the kernel has now. */
static void read_back(const struct irq_pass *pass, struct irq_entry *entry)
{
	char path[96];
	const enum mask_form form = irq_entry_file(entry, path, sizeof(path));
	struct cpuset now;

	if (!mask_read(pass->context->root_fd, path, form, &now))
		set_list(&entry->affinity, &now);
}

static void write_target(const struct irq_pass *pass, struct irq_entry *entry)
{
	const struct cpuset target = cpuset_of_text(entry->target);
	char path[96];
	const enum mask_form form = irq_entry_file(entry, path, sizeof(path));

	entry->error = mask_write(pass->context->root_fd, path, form, &target);
	/* EIO, from newer kernels EPERM: the kernel itself manages this interrupt. */
	if (entry->error == -EIO || entry->error == -EPERM) {
		set_list(&entry->refused, &target);
		pass->report->nr_refused++;
	} else if (entry->error) {
		pass->report->nr_failed++;
		log_debug("irq: cannot write '%s' to /%s: %s", entry->target, path,
			  strerror(-entry->error));
	} else {
		drop_list(&entry->refused);
		set_list(&entry->written, &target);
		pass->table->is_unsaved = true;
		pass->report->nr_written++;
	}
	read_back(pass, entry);
}

/* Is there nothing left to restore of a mask, and nothing to remember about it? */
static bool is_done_with(const struct irq_entry *entry)
{
	const struct cpuset affinity = cpuset_of_text(entry->affinity);
	const struct cpuset original = cpuset_of_text(entry->original);
	const struct cpuset target = cpuset_of_text(entry->target);
	const bool is_restored = cpuset_equal(&affinity, &original);

	/* It is still to be narrowed, but the kernel has refused that. */
	if (!entry->target || !cpuset_equal(&target, &original))
		return is_restored && entry->refused;
	/* It need not be narrowed any more, and what another process chose since then stays. */
	return is_restored || entry->action == IRQ_FOREIGN;
}

static void forget_original(const struct irq_pass *pass, struct irq_entry *entry)
{
	drop_list(&entry->original);
	drop_list(&entry->written);
	pass->table->is_unsaved = true;
}

static bool holds_masks(const struct irq_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++)
		if (table->entries[i].original)
			return true;
	return false;
}

/* Without the file the next agent would take our masks for the original ones. */
static void look_for_file(const struct irq_pass *pass)
{
	if (pass->table->is_unsaved || !holds_masks(pass->table) ||
	    !faccessat(pass->context->state_fd, PINFOLD_IRQS_FILE, F_OK, 0) || errno != ENOENT)
		return;
	log_warn(0, "irq: %s is gone from the state directory; it is written again",
		 PINFOLD_IRQS_FILE);
	pass->table->is_unsaved = true;
}

static int save(const struct irq_pass *pass)
{
	int r;

	if (!pass->table->is_unsaved)
		return 0;
	r = irq_originals_save(pass->context->state_fd, pass->context->boot_id, pass->table);
	if (!r)
		pass->table->is_unsaved = false;
	return r;
}

/* Where nothing is steered, nobody need be told of what others write. */
static void watch_masks(const struct irq_pass *pass)
{
	if (pass->context->changes_fd < 0)
		return;
	if (pass->request->mode == IRQ_STEER && pass->request->masks != ENFORCEMENT_OFF &&
	    !cpuset_is_empty(&pass->request->cpus.exclusive))
		irq_changes_mark(pass->context->changes_fd, pass->context->root_fd, pass->table);
	else
		irq_changes_unmark(pass->context->changes_fd);
}

static int change(struct irq_pass *pass)
{
	struct irq_table *table = pass->table;

	for (uint32_t i = 0; i < table->nr; i++) {
		if (decide(pass, &table->entries[i]))
			return -ENOMEM;
	}
	look_for_file(pass);
	pass->report->error = save(pass);
	if (pass->report->error && pass->request->mode == IRQ_STEER)
		return 0;
	/* The mask of new interrupts is the first entry, so none begins with the old one meanwhile. */
	for (uint32_t i = 0; i < table->nr; i++) {
		struct irq_entry *entry = &table->entries[i];

		if (writes(entry))
			write_target(pass, entry);
		if (entry->original && is_done_with(entry))
			forget_original(pass, entry);
	}
	if (!pass->report->error)
		pass->report->error = save(pass);
	return 0;
}

/* --- reporting ----------------------------------------------------------------------------------- */

static enum irq_state state_of(const struct irq_entry *entry, bool reaches_exclusive)
{
	if (entry->is_fixed || entry->refused)
		return IRQ_STATE_MANAGED;
	if (reaches_exclusive)
		return IRQ_STATE_EXCLUSIVE;
	return entry->original && strcmp(entry->original, entry->affinity) ? IRQ_STATE_STEERED
									   : IRQ_STATE_ALLOWED;
}

static int copy(const char *text, char **ret_copy)
{
	if (!text)
		return 0;
	*ret_copy = strdup(text);
	return *ret_copy ? 0 : -ENOMEM;
}

static int describe(const struct irq_entry *entry, const struct cpuset *exclusive,
		    struct irq_row *row)
{
	/* Whoever may change a mask may let it fire anywhere in it; nobody changes the others. */
	const bool is_managed = entry->is_fixed || entry->refused;
	struct cpuset reached =
		cpuset_of_text(is_managed && entry->effective ? entry->effective : entry->affinity);

	cpuset_intersect(&reached, exclusive);
	*row = (struct irq_row){
		.kind = entry->kind,
		.number = entry->number,
		.state = state_of(entry, !cpuset_is_empty(&reached)),
		.exclusive = mask_text(MASK_LIST, &reached),
		.nr_fired = entry->nr_fired,
		.error = entry->error,
	};
	if (!row->exclusive || copy(entry->name, &row->name) ||
	    copy(entry->affinity, &row->affinity) || copy(entry->effective, &row->effective) ||
	    copy(entry->original, &row->original))
		return -ENOMEM;
	return 0;
}

static int describe_all(const struct irq_pass *pass)
{
	struct irq_report *report = pass->report;

	report->rows = calloc(pass->table->nr + 1, sizeof(*report->rows));
	if (!report->rows)
		return -ENOMEM;
	while (report->nr < pass->table->nr) {
		const struct irq_entry *entry = &pass->table->entries[report->nr];

		if (describe(entry, &pass->request->cpus.exclusive, &report->rows[report->nr++]))
			return -ENOMEM;
	}
	return 0;
}

int irq_pass(const struct irq_context *context, const struct irq_request *request,
	     struct irq_table *table, struct irq_report *ret_report)
{
	struct irq_report report cleanup_irq_report = {0};
	struct irq_table fresh = {0};
	struct irq_pass pass = {
		.context = context,
		.request = request,
		.table = table,
		.report = &report,
		.cpus = request->cpus,
	};
	int r;

	r = irq_table_read(context->root_fd, &request->cpus.exclusive, table, &fresh);
	if (r)
		return r;
	irq_table_inherit(&fresh, table, &report.nr_fired);
	irq_table_fini(table);
	*table = fresh;
	if (request->mode == IRQ_RESTORE ||
	    (request->mode == IRQ_STEER && cpuset_is_empty(&request->cpus.exclusive)))
		report.irqbalance_error = irqbalance_release(context);
	if (!cpuset_is_empty(&request->cpus.exclusive))
		r = irqbalance_look(context, request, &report);
	if (r)
		return r;
	if (request->mode == IRQ_RESTORE)
		pass.cpus.exclusive = CPUSET_EMPTY;
	r = request->mode == IRQ_OBSERVE ? 0 : change(&pass);
	watch_masks(&pass);
	if (!r)
		r = describe_all(&pass);
	if (r)
		return r;
	*ret_report = report;
	report = (struct irq_report){0};
	return 0;
}
