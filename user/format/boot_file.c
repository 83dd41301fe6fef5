// SPDX-License-Identifier: Apache-2.0
#include "format/boot_file.h"

#include <errno.h>
#include <string.h>

/* keys: of the files that hold what the machine had before, one for each boot */

#define BOOT_FILE_VERSION 1

void boot_file_begin(struct emitter *emitter, struct text *out, const char *boot_id,
		     const char *key)
{
	emit_begin(emitter, out, EMIT_JSON_PRETTY);
	emit_number(emitter, "version", BOOT_FILE_VERSION);
	emit_text(emitter, "boot_id", boot_id);
	emit_list(emitter, key);
}

void boot_file_end(struct emitter *emitter)
{
	emit_close(emitter);
	emit_end(emitter);
}

/* *ret_list is the list, which the tree owns. */
static int parse(const char *data, size_t len, const char *boot_id, const char *key,
		 struct format_error *error, struct yaml_tree **ret_tree,
		 const struct yaml_value **ret_list)
{
	static const struct yaml_limits limits = {BOOT_FILE_MAX_BYTES, 8, 1U << 19};
	const struct yaml_value *version, *boot, *list;
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
	list = boot ? yaml_need(tree->root, key, error) : NULL;
	if (!list ||
	    yaml_read_uint(version, "version", error, BOOT_FILE_VERSION, BOOT_FILE_VERSION,
			   &number) ||
	    yaml_read_text(boot, "boot_id", error, saved_boot, sizeof(saved_boot)))
		return -EBADMSG;
	if (strcmp(saved_boot, boot_id))
		return -ESTALE;
	if (yaml_read_list(list, key, error))
		return -EBADMSG;
	*ret_tree = TAKE_PTR(tree);
	*ret_list = list;
	return 0;
}

int boot_file_decode(const char *data, size_t len, const char *boot_id, const char *key,
		     struct format_error *error, boot_file_add *add, void *self)
{
	struct yaml_tree *tree cleanup_yaml = NULL;
	const struct yaml_value *list;
	int r = parse(data, len, boot_id, key, error, &tree, &list);

	yaml_for_each(entry, r ? NULL : list)
	{
		r = add(entry, error, self);
		if (r)
			break;
	}
	return r;
}

int boot_file_read_cpus(const struct yaml_value *value, const char *field,
			struct format_error *error, struct cpuset *ret_set)
{
	char list[CPUSET_TEXT_MAX];
	struct cpuset set;

	if (yaml_read_text(value, field, error, list, sizeof(list)))
		return -EBADMSG;
	if (cpuset_parse(list, strlen(list), &set) || cpuset_is_empty(&set)) {
		yaml_refuse(value, field, error, "'%.40s' is not a list of CPUs", list);
		return -EBADMSG;
	}
	*ret_set = set;
	return 0;
}
