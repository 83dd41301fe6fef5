// SPDX-License-Identifier: Apache-2.0
#include "irq/irq_originals.h"

#include <errno.h>
#include <string.h>

#include <pinfold/names.h>

#include "format/boot_file.h"
#include "lib/file.h"

/* keys: of the file of original masks */

static const char *const kind_words[IRQ_KIND_NR] = {"default", "workqueues", "interrupt"};

void irq_originals_encode(const struct irq_table *table, const char *boot_id, struct text *out)
{
	struct emitter emitter;

	boot_file_begin(&emitter, out, boot_id, "masks");
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct irq_entry *entry = &table->entries[i];

		if (!entry->original)
			continue;
		emit_map(&emitter, NULL);
		emit_text(&emitter, "kind", kind_words[entry->kind]);
		emit_number(&emitter, "number", entry->number);
		emit_text(&emitter, "identity", entry->identity);
		emit_text(&emitter, "original", entry->original);
		if (entry->written)
			emit_text(&emitter, "written", entry->written);
		emit_close(&emitter);
	}
	boot_file_end(&emitter);
}

static int read_set(const struct yaml_value *member, const char *key, struct format_error *error,
		    char **ret_list)
{
	struct cpuset set;
	int r = boot_file_read_cpus(member, key, error, &set);

	if (r)
		return r;
	*ret_list = strdup(member->text);
	return *ret_list ? 0 : -ENOMEM;
}

static int decode_mask(const struct yaml_value *map, struct format_error *error, void *self)
{
	struct irq_table *table = self;
	const struct yaml_value *kind = yaml_need(map, "kind", error);
	const struct yaml_value *number = kind ? yaml_need(map, "number", error) : NULL;
	const struct yaml_value *identity = number ? yaml_need(map, "identity", error) : NULL;
	const struct yaml_value *original = identity ? yaml_need(map, "original", error) : NULL;
	char identity_text[256];
	const struct yaml_value *written = yaml_get(map, "written");
	unsigned int kind_index;
	struct irq_entry *entry;
	uint64_t irq;
	int r;

	if (!original ||
	    yaml_read_word(kind, "kind", error, kind_words, IRQ_KIND_NR, &kind_index) ||
	    yaml_read_uint(number, "number", error, 0, UINT32_MAX, &irq) ||
	    yaml_read_text(identity, "identity", error, identity_text, sizeof(identity_text)))
		return -EBADMSG;
	entry = irq_table_add(table, (enum irq_kind)kind_index, (uint32_t)irq);
	if (!entry)
		return -ENOMEM;
	entry->identity = strdup(identity_text);
	if (!entry->identity)
		return -ENOMEM;
	r = read_set(original, "original", error, &entry->original);
	if (!r && written)
		r = read_set(written, "written", error, &entry->written);
	return r;
}

int irq_originals_decode(const char *data, size_t len, const char *boot_id,
			 struct format_error *error, struct irq_table *ret_table)
{
	struct irq_table table cleanup_irq_table = {0};
	int r = boot_file_decode(data, len, boot_id, "masks", error, decode_mask, &table);

	if (r)
		return r;
	irq_table_sort(&table);
	*ret_table = table;
	table = (struct irq_table){0};
	return 0;
}

int irq_originals_save(int dir_fd, const char *boot_id, const struct irq_table *table)
{
	struct text text cleanup_text = {0};

	if (dir_fd < 0)
		return -EROFS;
	irq_originals_encode(table, boot_id, &text);
	return text.error ? text.error
			  : file_replace(dir_fd, PINFOLD_IRQS_FILE, text.data, text.len);
}

int irq_originals_load(int dir_fd, const char *boot_id, struct format_error *error,
		       struct irq_table *ret_table)
{
	char *data cleanup_free = NULL;
	size_t len;
	int r;

	if (dir_fd < 0)
		return -ENOENT;
	r = file_read_all(dir_fd, PINFOLD_IRQS_FILE, BOOT_FILE_MAX_BYTES, &data, &len);
	return r ? r : irq_originals_decode(data, len, boot_id, error, ret_table);
}
