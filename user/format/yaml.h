/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One document of YAML or JSON (which is YAML in flow style) as a bounded tree.
 *
 * Nothing of YAML that lets a small text become a large or ambiguous one:
 * aliases, duplicate keys, keys that are not plain text, foreign tags and NUL
 * bytes are refused. Scalars stay text; the readers below give them a type, so
 * "0,32" and "1e3" never change their meaning on the way.
 */
#ifndef FORMAT_YAML_H
#define FORMAT_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "format/error.h"
#include "lib/cleanup.h"

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_value {
	enum yaml_kind kind;
	bool quoted;		   /* text in quotes or a block: never null, true or a number */
	unsigned int line, column; /* from 1 */
	/* Place inside its parent: next sibling; for members of a map their key. */
	struct yaml_value *next;
	char *key;
	unsigned int key_line, key_column;
	char *text; /* YAML_TEXT, NUL-terminated, without NUL inside */
	size_t len;
	uint32_t nr_children; /* YAML_LIST, YAML_MAP */
	struct yaml_value *children;
	struct yaml_value *allocated; /* private: the tree's list of all values */
};

struct yaml_limits {
	size_t max_bytes;
	unsigned int max_depth, max_values;
};

#define YAML_MAX_BYTES (1U << 20)
/* 8192 CPUs as rows of five numbers are 57,344 values. */
#define YAML_LIMITS ((struct yaml_limits){YAML_MAX_BYTES, 32, 1U << 17})

struct yaml_tree {
	struct yaml_value *root; /* NULL = an empty document */
	struct yaml_value *all;
};

/* Free the tree with all values and texts that were read from it. */
void yaml_tree_free(struct yaml_tree *tree);
DEFINE_CLEANUP(struct yaml_tree, yaml_tree_freep, yaml_tree_free);
#define cleanup_yaml cleanup(yaml_tree_freep)

/*
 * Parse the first document of `data`; its first line counts as `first_line`.
 * *ret_used is how many bytes belong to it: less than `len` only when another
 * document follows (JSON objects one after another, or a line "---").
 * -EINVAL with `error` filled for text that is no YAML or breaks a limit;
 * -ENOMEM. Outputs are untouched on failure.
 */
int yaml_parse(const char *data, size_t len, unsigned int first_line,
	       const struct yaml_limits *limits, struct format_error *error,
	       struct yaml_tree **ret_tree, size_t *ret_used);

/* As yaml_parse for a text that must be exactly one document, not empty. */
int yaml_parse_one(const char *data, size_t len, const struct yaml_limits *limits,
		   struct format_error *error, struct yaml_tree **ret_tree);

/*
 * Walk over a text that may hold several documents, cutting at lines that
 * begin with "---" as kubectl does: a syntax error stays in its own piece.
 * `*offset` and `*line` start at 0 and 1; false at the end.
 */
bool yaml_next_piece(const char *data, size_t len, size_t *offset, unsigned int *line,
		     const char **ret_piece, size_t *ret_len, unsigned int *ret_line);

/* The member of a map; NULL when it is absent, null, or `map` is NULL or no map. */
const struct yaml_value *yaml_get(const struct yaml_value *map, const char *key);
/* The same, but NULL is an error: the sentence says that the member is missing. */
const struct yaml_value *yaml_need(const struct yaml_value *map, const char *key,
				   struct format_error *error);
/* Plain ~, null or nothing. */
bool yaml_is_null(const struct yaml_value *value);
/* "a mapping", "a list", "text": for sentences. */
const char *yaml_kind_name(enum yaml_kind kind);

#define yaml_for_each(child, parent)                                                       \
	for (const struct yaml_value *child = (parent) ? (parent)->children : NULL; child; \
	     child = child->next)

/*
 * Typed readers. Each fills `error` with place, `field`, value and remedy and
 * returns -EINVAL when the value does not fit; outputs untouched then.
 */
int yaml_read_map(const struct yaml_value *value, const char *field, struct format_error *error);
int yaml_read_list(const struct yaml_value *value, const char *field, struct format_error *error);
/* Text of at most size - 1 bytes, copied. */
int yaml_read_text(const struct yaml_value *value, const char *field, struct format_error *error,
		   char *ret_text, size_t size);
/* true or false; plain words only. */
int yaml_read_bool(const struct yaml_value *value, const char *field, struct format_error *error,
		   bool *ret_bool);
/* Decimal, min to max, without sign. */
int yaml_read_uint(const struct yaml_value *value, const char *field, struct format_error *error,
		   uint64_t min, uint64_t max, uint64_t *ret_number);
/* One of nr_names words; NULL entries are skipped. The sentence lists them. */
int yaml_read_word(const struct yaml_value *value, const char *field, struct format_error *error,
		   const char *const *names, unsigned int nr_names, unsigned int *ret_index);

/* Error at a value: "…" as in printf; returns -EINVAL. */
int yaml_refuse(const struct yaml_value *value, const char *field, struct format_error *error,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
