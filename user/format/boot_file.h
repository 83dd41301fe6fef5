/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the state directory that is valid in one boot only, because numbers of interrupts and
 * ids of tasks mean something in one boot only: its version, the boot, and one list of mappings.
 * The agent keeps in such files what others had before it changed it.
 */
#ifndef FORMAT_BOOT_FILE_H
#define FORMAT_BOOT_FILE_H

#include "core/cpuset.h"
#include "format/emit.h"
#include "format/yaml.h"

#define BOOT_FILE_MAX_BYTES (4U << 20)

/* Between the two the caller emits the entries of the list that `key` names. */
void boot_file_begin(struct emitter *emitter, struct text *out, const char *boot_id,
		     const char *key);
void boot_file_end(struct emitter *emitter);

/* Adds an entry of the list to `self`. 0, -EBADMSG with `error` filled, or -ENOMEM. */
typedef int boot_file_add(const struct yaml_value *entry, struct format_error *error, void *self);
/*
 * Call `add` for each entry of the list, in order, until it fails. What `add` returns, -EBADMSG with
 * `error` filled for invalid text, -ESTALE for the file of another boot, -ENOMEM.
 */
int boot_file_decode(const char *data, size_t len, const char *boot_id, const char *key,
		     struct format_error *error, boot_file_add *add, void *self);
/* The CPU list that a text names, which is not empty. 0 or -EBADMSG with `error` filled. */
int boot_file_read_cpus(const struct yaml_value *value, const char *field,
			struct format_error *error, struct cpuset *ret_set);

#endif
