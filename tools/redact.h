/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudonyms for what identifies somebody's workload. The rule is one of permission: words that
 * pinfold itself uses and numbers stay, and every other word becomes a pseudonym, whatever it means.
 * A word that is known to be a name becomes one even if pinfold uses it, too. The same word has the
 * same pseudonym as long as the struct lives, and nothing else keeps the mapping.
 */
#ifndef TOOLS_REDACT_H
#define TOOLS_REDACT_H

#include <stdbool.h>

#include <json-c/json.h>

#include "lib/text.h"

struct redaction;

/* NULL = no memory. */
struct redaction *redaction_new(void);
void redaction_free(struct redaction *redaction);

/*
 * Somebody's name of this kind ("pod"); each part of a name with slashes is one. A number is
 * replaced only where nothing but names can stand. 0 or -ENOMEM.
 */
int redaction_add(struct redaction *redaction, const char *kind, const char *name);
/* All names in a document: the values of keys that hold names. `has_names`: "name" is such a key. */
int redaction_learn(struct redaction *redaction, struct json_object *json, bool has_names);

/* Appends `string` with pseudonyms; errors stick in `text`. */
void redaction_text(struct redaction *redaction, const char *string, struct text *text);
/* A copy of the document with pseudonyms in its strings and keys; NULL = no memory. */
struct json_object *redaction_json(struct redaction *redaction, struct json_object *json,
				   bool has_names);

#endif
