// SPDX-License-Identifier: Apache-2.0
/*
 * One record, replaced by rename. Only the program that wrote it reads it, so it contains the
 * rows as they are in memory, with a digest over all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <pinfold/names.h>

#include "bpf/bpf_object.h"
#include "bpf/probe_cache.h"
#include "lib/file.h"
#include "lib/hash.h"

#define BOOT_ID_FILE  "/proc/sys/kernel/random/boot_id"
#define LSM_FILE      "/sys/kernel/security/lsm"
#define LOCKDOWN_FILE "/sys/kernel/security/lockdown"

struct cached_probes {
	uint64_t digest; /* over everything that follows */
	char key[PROBE_CACHE_KEY_MAX];
	uint32_t nr_rows;
	uint32_t row_bytes;
	struct feature_row rows[ABILITY_NR];
};

static uint64_t digest_rows(const struct cached_probes *record)
{
	return hash_add(HASH_START, record->key,
			sizeof(*record) - offsetof(struct cached_probes, key));
}

int probe_cache_key(const char *identity, char key[PROBE_CACHE_KEY_MAX])
{
	char *boot_id cleanup_free = NULL;
	char *modules cleanup_free = NULL;
	char *lockdown cleanup_free = NULL;
	struct utsname name;
	int r = file_read_line(AT_FDCWD, BOOT_ID_FILE, &boot_id);
	int len;

	if (r)
		return r;
	if (uname(&name))
		return -errno;
	/* without securityfs the file is missing at this start and the next */
	file_read_line(AT_FDCWD, LSM_FILE, &modules);
	file_read_line(AT_FDCWD, LOCKDOWN_FILE, &lockdown);
	len = snprintf(key, PROBE_CACHE_KEY_MAX, "%s\n%s\n%s %s\n%s\n%s", identity, boot_id,
		       name.release, name.version, modules ? modules : "",
		       lockdown ? lockdown : "");
	return len < PROBE_CACHE_KEY_MAX ? 0 : -ENAMETOOLONG;
}

static bool is_sound(const struct cached_probes *record, size_t len, const char *key)
{
	return len == sizeof(*record) && record->digest == digest_rows(record) &&
	       !strncmp(record->key, key, PROBE_CACHE_KEY_MAX) && record->nr_rows <= ABILITY_NR &&
	       record->row_bytes == sizeof(record->rows[0]);
}

int probe_cache_load(int dir_fd, const char key[PROBE_CACHE_KEY_MAX],
		     struct feature_row rows[ABILITY_NR], uint32_t *ret_nr)
{
	char *data cleanup_free = NULL;
	const struct cached_probes *record;
	size_t len;

	if (file_read_all(dir_fd, PINFOLD_ABILITIES_FILE, sizeof(*record), &data, &len))
		return -ENOENT;
	record = (const struct cached_probes *)data;
	if (!is_sound(record, len, key))
		return -ENOENT;
	memcpy(rows, record->rows, record->nr_rows * sizeof(rows[0]));
	*ret_nr = record->nr_rows;
	return 0;
}

int probe_cache_save(int dir_fd, const char key[PROBE_CACHE_KEY_MAX],
		     const struct feature_row rows[ABILITY_NR], uint32_t nr)
{
	struct cached_probes *record cleanup_free = calloc(1, sizeof(*record));

	if (!record)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		if (rows[i].state == FEATURE_UNKNOWN)
			return -EINVAL;
	snprintf(record->key, sizeof(record->key), "%s", key);
	record->nr_rows = nr;
	record->row_bytes = sizeof(rows[0]);
	memcpy(record->rows, rows, nr * sizeof(rows[0]));
	record->digest = digest_rows(record);
	return file_replace(dir_fd, PINFOLD_ABILITIES_FILE, record, sizeof(*record));
}

void probe_cache_forget(int dir_fd)
{
	unlinkat(dir_fd, PINFOLD_ABILITIES_FILE, 0);
}
