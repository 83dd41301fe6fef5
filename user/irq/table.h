/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The masks of one machine: every interrupt that has a handler, the mask that new interrupts
 * begin with, and the mask of the kernel's unbound work; with what is remembered of them from one
 * pass to the next. Sets are kept as CPU lists, because a machine may have thousands of
 * interrupts and few lists are long.
 */
#ifndef IRQ_TABLE_H
#define IRQ_TABLE_H

#include "core/irq/irq.h"
#include "format/rows.h"
#include "irq/mask.h"

struct irq_entry {
	enum irq_kind kind;
	uint32_t number; /* of an interrupt */
	/* Chip and line of an interrupt: the number may be given to another one. Owned. */
	char *identity;
	char *name;	 /* its handlers; owned */
	char *affinity;	 /* owned, all the lists below too */
	char *effective; /* NULL = unknown */
	int node_id;	 /* of its device; -1 = none */
	bool is_fixed;	 /* the kernel offers no writable mask */
	uint64_t count;	 /* since boot, on the CPUs that are exclusive now */

	bool is_known; /* the last pass or the file of originals has the same one */

	/* Remembered: */
	char *original;		 /* NULL = the mask is not changed by us */
	char *written;		 /* by us, last; NULL = nothing, or it is unknown */
	char *refused;		 /* a mask that the kernel did not take; NULL = none */
	int error;		 /* with which it did not take it */
	bool is_foreign;	 /* another process changed it last, and it was left so */
	unsigned int nr_reverts; /* changes by others that were reverted */
	uint64_t contend_ns;	 /* the next one is reverted at this time at the earliest */
	uint64_t nr_fired;	 /* on CPUs while they were exclusive, as counted by passes */

	/* Of the pass that runs: */
	enum irq_action action;
	char *target; /* owned */
};

struct irq_table {
	uint32_t nr;
	struct irq_entry *entries; /* owned; by kind and number */
	char *exclusive;	   /* the CPUs that `count` is about; owned */
	bool is_unsaved;	   /* the file of originals does not have those of the entries */
};

void irq_table_fini(struct irq_table *table);
#define cleanup_irq_table cleanup(irq_table_fini)
/* Add an entry without any list; NULL = no memory. Pointers to others become invalid. */
struct irq_entry *irq_table_add(struct irq_table *table, enum irq_kind kind, uint32_t number);
void irq_table_sort(struct irq_table *table);

/*
 * Read what the kernel has below `root_fd`. An interrupt that disappears meanwhile is left out,
 * one without a handler cannot fire and is left out unless `known` has an original of it.
 * Negative errno if a file exists but cannot be read, or there is no memory; *ret_table is then
 * unchanged.
 */
int irq_table_read(int root_fd, const struct cpuset *exclusive, const struct irq_table *known,
		   struct irq_table *ret_table);
/*
 * Move what was remembered from `old` to the same interrupts of `table`. *ret_nr_fired counts the
 * interrupts since then on CPUs that were exclusive then and are now.
 */
void irq_table_inherit(struct irq_table *table, struct irq_table *old, uint64_t *ret_nr_fired);

/* The file of a mask below the root, and its form. `size` >= 64. */
enum mask_form irq_entry_file(const struct irq_entry *entry, char *ret_path, size_t size);

#endif
