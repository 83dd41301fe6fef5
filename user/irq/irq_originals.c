// SPDX-License-Identifier: Apache-2.0
#include "irq/irq_originals.h"

#include <errno.h>
#include <string.h>

#include <pinfold/names.h>

#include "format/emit.h"
#include "format/yaml.h"
#include "lib/file.h"

static const char *const kind_words[IRQ_KIND_NR] = {"default", "workqueues", "interrupt"};

void irq_originals_encode(const struct irq_table *table, const char *boot_id, struct text *out)
{
	struct emitter emitter;

	emit_begin(&emitter, out, EMIT_JSON_PRETTY);
	emit_number(&emitter, "version", 1);
	emit_text(&emitter, "boot_id", boot_id);
	emit_list(&emitter, "masks");
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
	emit_close(&emitter);
	emit_end(&emitter);
}

static int read_set(const struct yaml_value *member, const char *key, struct format_error *error,
		    char **ret_list)
{
	char list[CPUSET_TEXT_MAX];
	struct cpuset set;
	int r;

	r = yaml_read_text(member, key, error, list, sizeof(list));
	if (!r && (cpuset_parse(list, strlen(list), &set) || cpuset_is_empty(&set)))
		r = yaml_refuse(member, key, error, "'%.40s' is not a list of CPUs", list);
	if (r)
		return r;
	*ret_list = strdup(list);
	return *ret_list ? 0 : -ENOMEM;
}

static int decode_mask(const struct yaml_value *map, struct format_error *error,
		       struct irq_table *table)
{
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

static int decode_masks(const struct yaml_value *masks, struct format_error *error,
			struct irq_table *table)
{
	int r = yaml_read_list(masks, "masks", error);

	yaml_for_each(mask, r ? NULL : masks)
	{
		r = decode_mask(mask, error, table);
		if (r)
			return r;
	}
	irq_table_sort(table);
	return r;
}

int irq_originals_decode(const char *data, size_t len, const char *boot_id,
			 struct format_error *error, struct irq_table *ret_table)
{
	static const struct yaml_limits limits = {IRQ_ORIGINALS_MAX_BYTES, 8, 1U << 17};
	struct irq_table table cleanup(irq_table_fini) = {0};
	const struct yaml_value *version, *boot, *masks;
	struct yaml_tree *tree cleanup_yaml = NULL;
	char saved_boot[64];
	uint64_t number;
	int r;

	r = yaml_parse_one(data, len, &limits, error, &tree);
	if (!r)
		r = yaml_read_map(tree->root, "", error);
	if (r)
		return r == -ENOMEM ? r : -EBADMSG;
	version = yaml_need(tree->root, "version", error);
	boot = version ? yaml_need(tree->root, "boot_id", error) : NULL;
	masks = boot ? yaml_need(tree->root, "masks", error) : NULL;
	if (!masks || yaml_read_uint(version, "version", error, 1, 1, &number) ||
	    yaml_read_text(boot, "boot_id", error, saved_boot, sizeof(saved_boot)))
		return -EBADMSG;
	if (strcmp(saved_boot, boot_id))
		return -ESTALE;
	r = decode_masks(masks, error, &table);
	if (r)
		return r == -ENOMEM ? r : -EBADMSG;
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
	r = file_read_all(dir_fd, PINFOLD_IRQS_FILE, IRQ_ORIGINALS_MAX_BYTES, &data, &len);
	return r ? r : irq_originals_decode(data, len, boot_id, error, ret_table);
}
