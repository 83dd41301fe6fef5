/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The original masks, in a file of the state directory. It is written before the first mask is,
 * so that after a crash at any point each mask can be restored. The numbers of interrupts mean
 * something in one boot only, and a boot resets all masks.
 *
 * The mask that was written last stands beside the original, so that the next agent can tell it
 * from one that another process wrote. It is left out while it is being written, and in files of
 * earlier versions.
 */
#ifndef IRQ_IRQ_ORIGINALS_H
#define IRQ_IRQ_ORIGINALS_H

#include "irq/table.h"

struct format_error;
struct text;

/* Convert the entries that have an original to the file's text and back. */
void irq_originals_encode(const struct irq_table *table, const char *boot_id, struct text *out);
/*
 * -EBADMSG with `error` filled for invalid text, -ESTALE for that of another boot, -ENOMEM.
 * *ret_table is then unchanged; otherwise its entries have nothing but kind, number, identity,
 * original and, if it is known, what was written last.
 */
int irq_originals_decode(const char *data, size_t len, const char *boot_id,
			 struct format_error *error, struct irq_table *ret_table);

/* Replace the file below `dir_fd` and wait for the disk. Negative errno. */
int irq_originals_save(int dir_fd, const char *boot_id, const struct irq_table *table);
/* As decode; -ENOENT = there is no file. */
int irq_originals_load(int dir_fd, const char *boot_id, struct format_error *error,
		       struct irq_table *ret_table);

#endif
