/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small writer of mappings and lists, as YAML in block style or as JSON,
 * from the same calls. What it writes, yaml.h reads back unchanged.
 */
#ifndef FORMAT_EMIT_H
#define FORMAT_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cpuset.h"
#include "lib/text.h"

enum emit_style { EMIT_YAML, EMIT_JSON, EMIT_JSON_PRETTY };

#define EMIT_MAX_DEPTH 16

struct emitter {
	struct text *out; /* borrowed; the first failure sticks there */
	enum emit_style style;
	unsigned int depth;
	bool dashed; /* YAML: a "- " waits for the first member of a list's mapping */
	struct {
		bool list;
		uint32_t nr;
	} level[EMIT_MAX_DEPTH];
};

/* The outermost mapping is opened by begin and closed by end. */
void emit_begin(struct emitter *emitter, struct text *out, enum emit_style style);
void emit_end(struct emitter *emitter);

/* `key` is NULL inside a list. Empty mappings and lists come out as {} and []. */
void emit_map(struct emitter *emitter, const char *key);
void emit_list(struct emitter *emitter, const char *key);
void emit_close(struct emitter *emitter);

/* Always quoted, with JSON's escapes. */
void emit_text(struct emitter *emitter, const char *key, const char *value);
void emit_number(struct emitter *emitter, const char *key, int64_t value);
void emit_bool(struct emitter *emitter, const char *key, bool value);
/* The ids as a list in the kernel's format, quoted; "" = none. */
void emit_cpuset(struct emitter *emitter, const char *key, const struct cpuset *set);
/* A list of numbers on one line, in every style: a row of a table. */
void emit_row(struct emitter *emitter, const char *key, const uint64_t *values, size_t nr_values);

#endif
