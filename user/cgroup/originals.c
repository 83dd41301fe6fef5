// SPDX-License-Identifier: Apache-2.0
/* Saves and restores the values that we change outside our own groups. */
#include "cgroup/originals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <pinfold/names.h>

#include "cgroup/manager.h"
#include "format/emit.h"
#include "format/yaml.h"
#include "lib/file.h"

/* keys: of the file of what cgroups had before */

void originals_fini(struct originals *originals)
{
	for (uint32_t i = 0; i < originals->nr; i++)
		free(originals->items[i].value);
	free(originals->items);
	*originals = (struct originals){0};
}

static int capture(const struct dir *dir, const char *path, const char *file,
		   struct originals *originals)
{
	struct original *bigger, *item;
	char *value cleanup_free = NULL;
	int fd cleanup_close = -1;
	int err = dir_open_group(dir, path, &fd);

	if (!err)
		err = file_read_line(fd, file, &value);
	if (err)
		return err == -ENOENT ? 0 : err;
	bigger = realloc(originals->items, (originals->nr + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	originals->items = bigger;
	item = &bigger[originals->nr++];
	*item = (struct original){.value = TAKE_PTR(value)};
	snprintf(item->path, sizeof(item->path), "%s", path);
	snprintf(item->file, sizeof(item->file), "%s", file);
	return 0;
}

int originals_capture(const struct dir *dir, const char *workload_root,
		      struct originals *ret_originals)
{
	struct originals originals cleanup_originals = {0};
	int err = capture(dir, "", "cgroup.subtree_control", &originals);

	for (int file = 0; !err && file < GROUP_FILE_NR; file++) {
		/* What runs there when the agent is removed goes on. */
		if (file != GROUP_FREEZE)
			err = capture(dir, workload_root, group_file_name(file), &originals);
	}
	if (err)
		return err;
	*ret_originals = originals;
	originals = (struct originals){0};
	return 0;
}

void originals_encode(const struct originals *originals, struct text *out)
{
	struct emitter emitter;

	emit_begin(&emitter, out, EMIT_JSON_PRETTY);
	emit_number(&emitter, "version", 1);
	emit_list(&emitter, "files");
	for (uint32_t i = 0; i < originals->nr; i++) {
		emit_map(&emitter, NULL);
		emit_text(&emitter, "group", originals->items[i].path);
		emit_text(&emitter, "file", originals->items[i].file);
		emit_text(&emitter, "value", originals->items[i].value);
		emit_close(&emitter);
	}
	emit_close(&emitter);
	emit_end(&emitter);
}

static int read_member(const struct yaml_value *map, const char *key, struct format_error *error,
		       char *ret_text, size_t size)
{
	const struct yaml_value *member = yaml_need(map, key, error);

	return member ? yaml_read_text(member, key, error, ret_text, size) : -EINVAL;
}

static int decode_item(const struct yaml_value *map, struct format_error *error,
		       struct originals *originals)
{
	struct original item = {0}, *bigger;
	char value[4096] = "";
	int err;

	err = yaml_read_map(map, "files", error);
	if (!err)
		err = read_member(map, "group", error, item.path, sizeof(item.path));
	if (!err)
		err = read_member(map, "file", error, item.file, sizeof(item.file));
	if (!err)
		err = read_member(map, "value", error, value, sizeof(value));
	/* A cgroup file's name has no slash, and the group must be below the mount. */
	if (!err && (strchr(item.file, '/') || strstr(item.path, "..") || *item.path == '/'))
		err = yaml_refuse(map, "files", error, "a path leaves the cgroup mount");
	if (err)
		return -EBADMSG;
	bigger = realloc(originals->items, (originals->nr + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	originals->items = bigger;
	item.value = strdup(value);
	if (!item.value)
		return -ENOMEM;
	bigger[originals->nr++] = item;
	return 0;
}

int originals_decode(const char *data, size_t len, struct format_error *error,
		     struct originals *ret_originals)
{
	static const struct yaml_limits limits = {ORIGINALS_MAX_BYTES, 8, 1024};
	struct originals originals cleanup_originals = {0};
	struct yaml_tree *tree cleanup_yaml = NULL;
	const struct yaml_value *number, *files;
	uint64_t version;
	int err;

	err = yaml_parse_one(data, len, &limits, error, &tree);
	if (!err)
		err = yaml_read_map(tree->root, "", error);
	if (err)
		return err == -ENOMEM ? err : -EBADMSG;
	number = yaml_get(tree->root, "version");
	files = yaml_get(tree->root, "files");
	if (!number || !files)
		err = yaml_refuse(tree->root, "", error, "version and files are needed");
	if (!err)
		err = yaml_read_uint(number, "version", error, 1, 1, &version);
	if (!err)
		err = yaml_read_list(files, "files", error);
	if (err)
		return -EBADMSG;
	yaml_for_each(item, files)
	{
		err = decode_item(item, error, &originals);
		if (err)
			return err;
	}
	*ret_originals = originals;
	originals = (struct originals){0};
	return 0;
}

/*
 * Disable the controllers that were not enabled before. One that a unit needs by now
 * stays enabled (EBUSY).
 */
static int restore_controllers(int fd, const char *before, const char *now)
{
	static const char *const ours[] = {"cpuset", "cpu", "memory"};
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		char order[16];
		int err;

		if (dir_words_have(before, ours[i]) || !dir_words_have(now, ours[i]))
			continue;
		snprintf(order, sizeof(order), "-%s", ours[i]);
		err = file_write_text(fd, "cgroup.subtree_control", order);
		if (err && err != -EBUSY)
			result = err;
	}
	return result;
}

static int restore(struct groups *groups, const struct original *item, char *error)
{
	char *now cleanup_free = NULL;
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, item->path, &fd);

	if (!err)
		err = file_read_line(fd, item->file, &now);
	if (err == -ENOENT || (!err && !strcmp(now, item->value)))
		return 0;
	if (!err && !strcmp(item->file, "cgroup.subtree_control"))
		err = restore_controllers(fd, item->value, now);
	else if (!err)
		err = file_write_text(fd, item->file, item->value);
	return err ? failure(error, err, "%s/%s: cannot put back '%s': %s",
			     *item->path ? item->path : "the root cgroup", item->file, item->value,
			     strerror(-err))
		   : 0;
}

bool originals_are_kept(int dir_fd)
{
	return !faccessat(dir_fd, PINFOLD_ORIGINALS_FILE, F_OK, AT_SYMLINK_NOFOLLOW);
}

int originals_keep(int dir_fd, const struct originals *originals)
{
	struct text text cleanup_text = {0};

	if (!originals->nr || originals_are_kept(dir_fd))
		return 0;
	originals_encode(originals, &text);
	return text.error ? text.error
			  : file_replace(dir_fd, PINFOLD_ORIGINALS_FILE, text.data, text.len);
}

int originals_load(int dir_fd, struct format_error *error, struct originals *ret_originals)
{
	char *data cleanup_free = NULL;
	size_t len;
	int r;

	r = file_read_all(dir_fd, PINFOLD_ORIGINALS_FILE, ORIGINALS_MAX_BYTES, &data, &len);
	return r ? r : originals_decode(data, len, error, ret_originals);
}

int originals_restore(struct groups *groups, const struct originals *originals,
		      char error[GROUP_ERROR_MAX])
{
	char sentence[GROUP_ERROR_MAX];
	int result = 0;

	for (uint32_t i = 0; i < originals->nr; i++) {
		int err = restore(groups, &originals->items[i], sentence);

		if (err && !result) {
			result = err;
			memcpy(error, sentence, sizeof(sentence));
		}
	}
	return result;
}
