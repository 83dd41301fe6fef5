// SPDX-License-Identifier: Apache-2.0
#include "cgroup/host_saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pinfold/names.h>

#include "format/boot_file.h"
#include "lib/file.h"
#include "lib/text.h"

/* keys: of the file of the host's cgroups */

/* --- the table ----------------------------------------------------------------------------------- */

void host_table_fini(struct host_table *table)
{
	free(table->entries);
	*table = (struct host_table){0};
}

struct host_entry *host_table_add(struct host_table *table, const char *group)
{
	struct host_entry *bigger =
		realloc(table->entries, (table->nr + 1) * sizeof(*table->entries));

	if (!bigger)
		return NULL;
	table->entries = bigger;
	bigger[table->nr] = (struct host_entry){.is_there = true};
	text_copy(bigger[table->nr].group, sizeof(bigger[table->nr].group), group);
	return &bigger[table->nr++];
}

struct host_entry *host_table_find(const struct host_table *table, const char *group)
{
	for (uint32_t i = 0; i < table->nr; i++)
		if (!strcmp(table->entries[i].group, group))
			return &table->entries[i];
	return NULL;
}

void host_table_drop(struct host_table *table, struct host_entry *entry)
{
	*entry = table->entries[--table->nr];
	table->is_unsaved = true;
}

/* --- the file ------------------------------------------------------------------------------------ */

void host_saved_encode(const struct host_table *table, const char *boot_id, struct text *out)
{
	struct emitter emitter;

	boot_file_begin(&emitter, out, boot_id, "groups");
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct host_entry *entry = &table->entries[i];

		emit_map(&emitter, NULL);
		emit_text(&emitter, "group", entry->group);
		emit_cpuset(&emitter, "written", &entry->written);
		if (!cpuset_is_empty(&entry->before))
			emit_cpuset(&emitter, "before", &entry->before);
		emit_close(&emitter);
	}
	boot_file_end(&emitter);
}

static int decode_group(const struct yaml_value *map, struct format_error *error, void *self)
{
	struct host_table *table = self;
	const struct yaml_value *group = yaml_need(map, "group", error);
	const struct yaml_value *written = group ? yaml_need(map, "written", error) : NULL;
	const struct yaml_value *before = yaml_get(map, "before");
	char name[sizeof(table->entries->group)];
	struct host_entry *entry;
	int r;

	if (!written || yaml_read_text(group, "group", error, name, sizeof(name)))
		return -EBADMSG;
	if (!*name || *name == '.' || strchr(name, '/')) {
		yaml_refuse(group, "group", error, "it is not the name of a top-level group");
		return -EBADMSG;
	}
	entry = host_table_add(table, name);
	if (!entry)
		return -ENOMEM;
	r = boot_file_read_cpus(written, "written", error, &entry->written);
	if (!r && before)
		r = boot_file_read_cpus(before, "before", error, &entry->before);
	return r;
}

int host_saved_decode(const char *data, size_t len, const char *boot_id, struct format_error *error,
		      struct host_table *ret_table)
{
	struct host_table table cleanup_host_table = {0};
	int r = boot_file_decode(data, len, boot_id, "groups", error, decode_group, &table);

	if (r)
		return r;
	*ret_table = table;
	table = (struct host_table){0};
	return 0;
}

int host_saved_save(int dir_fd, const char *boot_id, const struct host_table *table)
{
	struct text text cleanup_text = {0};

	if (dir_fd < 0)
		return -EROFS;
	host_saved_encode(table, boot_id, &text);
	return text.error ? text.error
			  : file_replace(dir_fd, PINFOLD_HOST_FILE, text.data, text.len);
}

int host_saved_load(int dir_fd, const char *boot_id, struct format_error *error,
		    struct host_table *ret_table)
{
	char *data cleanup_free = NULL;
	size_t len;
	int r;

	if (dir_fd < 0)
		return -ENOENT;
	r = file_read_all(dir_fd, PINFOLD_HOST_FILE, BOOT_FILE_MAX_BYTES, &data, &len);
	return r ? r : host_saved_decode(data, len, boot_id, error, ret_table);
}
