/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to config*.c: what a row of the tables is, and the types a row can
 * have. A type knows how its value is read and written, nothing of the table.
 */
#ifndef FORMAT_CONFIG_PRIVATE_H
#define FORMAT_CONFIG_PRIVATE_H

#include "format/config.h"

struct config_reader {
	struct format_error *error;
	struct config *config;
	/* NULL = all, and unknown keys are errors; see config_parse_fields */
	const char *const *fields;
};

struct key;

struct key_type {
	int (*read)(struct config_reader *reader, const struct yaml_value *value, const char *field,
		    const struct key *key);
	void (*emit)(struct emitter *emitter, const struct config *config, const struct key *key);
};

enum key_flag {
	KEY_POLICY = 1 << 0,  /* part of struct policy: stands in the state file */
	KEY_RESTART = 1 << 1, /* opened or sized once at the start: a reload cannot change it */
};

struct key {
	const char *name;
	const struct key_type *type;
	size_t offset; /* of the value in struct config */
	unsigned int flags;
	const char *const *words;  /* type word */
	uint32_t max;		   /* word: how many; count, text: the largest, the size */
	const struct key *members; /* group; ends with a NULL name */
};

static inline void *member_of(const struct config_reader *reader, const struct key *key)
{
	return (char *)reader->config + key->offset;
}

static inline const void *value_of(const struct config *config, const struct key *key)
{
	return (const char *)config + key->offset;
}

/* config_types.c: one of `words`; true or false; a number from 1 to `max`. */
extern const struct key_type config_word, config_flag, config_count;
/* An absolute path; one that may be ""; ADDRESS:PORT or ""; "1h30m". */
extern const struct key_type config_directory, config_optional_path, config_listen;
extern const struct key_type config_duration;
/* A struct cgroup_list whose members may be actors. */
extern const struct key_type config_cgroups;
/* config_policy.c: fields of the policy that have a form of their own. */
extern const struct key_type config_reserved_cpus, config_reservation, config_cpu_options;
extern const struct key_type config_align_options, config_reserved_memory, config_gates;
extern const struct key_type config_eviction;

#endif
