// SPDX-License-Identifier: Apache-2.0
#include "redact.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/* Sorted by strcmp; see tools/lexicon. */
static const char *const lexicon[] = {
#include "lexicon.h"
};

/* Keys whose values are names in every document, and what their pseudonyms begin with. */
static const struct {
	const char *key, *kind;
} name_keys[] = {
	{"namespace", "namespace"}, {"pod", "pod"},	{"container", "container"},
	{"owner", "name"},	    {"image", "image"}, {"uid", "uid"},
	{"owner_uid", "uid"},	    {"id", "id"},	{"node_name", "node"},
};

struct redaction {
	struct json_object *pseudonyms; /* by word */
	unsigned int nr;
};

struct redaction *redaction_new(void)
{
	struct redaction *redaction cleanup_free = calloc(1, sizeof(*redaction));

	if (!redaction)
		return NULL;
	redaction->pseudonyms = json_object_new_object();
	return redaction->pseudonyms ? TAKE_PTR(redaction) : NULL;
}

void redaction_free(struct redaction *redaction)
{
	if (!redaction)
		return;
	json_object_put(redaction->pseudonyms);
	free(redaction);
}

/* NULL = it has none. */
static const char *find_pseudonym(const struct redaction *redaction, const char *word)
{
	struct json_object *value;

	return json_object_object_get_ex(redaction->pseudonyms, word, &value)
		       ? json_object_get_string(value)
		       : NULL;
}

/* NULL = no memory. */
static const char *pseudonym_of(struct redaction *redaction, const char *kind, const char *word)
{
	const char *known = find_pseudonym(redaction, word);
	struct json_object *value;
	char pseudonym[48];

	if (known)
		return known;
	snprintf(pseudonym, sizeof(pseudonym), "%s-%u", kind, ++redaction->nr);
	value = json_object_new_string(pseudonym);
	if (!value || json_object_object_add(redaction->pseudonyms, word, value)) {
		json_object_put(value);
		return NULL;
	}
	return json_object_get_string(value);
}

/* --- words ------------------------------------------------------------------------------------ */

/* Bytes beyond ASCII belong to words: they are nobody's punctuation here. */
static bool is_word_byte(char byte)
{
	return isalnum((unsigned char)byte) || (byte && strchr("_.:@-", byte)) || (byte & 0x80);
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

static bool is_own_word(const char *word)
{
	return bsearch(word, lexicon, ARRAY_SIZE(lexicon), sizeof(lexicon[0]), compare_words);
}

/* The C library's words for errors, which messages end with. */
static bool is_error_word(const char *word)
{
	const size_t len = strlen(word);

	for (int error = 1; error <= EHWPOISON; error++) {
		const char *text = strerrordesc_np(error);
		const char *at = text ? strstr(text, word) : NULL;

		if (at && (at == text || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	}
	return false;
}

/* IPv4, also with a port; IPv6 and MAC addresses have colons between hexadecimal digits. */
static bool is_address(const char *word)
{
	unsigned int nr_dots = 0, nr_colons = 0;

	for (const char *at = word; *at; at++) {
		nr_dots += *at == '.';
		nr_colons += *at == ':';
	}
	return (nr_dots == 3 && strspn(word, "0123456789.:") == strlen(word)) ||
	       (nr_colons >= 2 && strspn(word, "0123456789abcdefABCDEF.:") == strlen(word));
}

/* A count, a share, a range of a CPU list, a quantity ("64Mi", "1.5s"). No date and no UUID. */
static bool is_number(const char *word)
{
	const char *end = word + strspn(word, "0123456789.-");
	unsigned int nr_dots = 0, nr_dashes = 0;

	for (const char *at = word; at < end; at++) {
		nr_dots += *at == '.';
		nr_dashes += *at == '-';
	}
	return isdigit((unsigned char)*word) && nr_dots <= 1 && nr_dashes <= 1 &&
	       end - word <= 20 && strlen(end) <= 2 && strspn(end, "KMGTPEimunse") == strlen(end);
}

/* What stands for a word in the output; NULL = no memory. */
static const char *replace(struct redaction *redaction, const char *word)
{
	const char *known = find_pseudonym(redaction, word);

	/* somebody may be called 2, and still nearly every 2 is a number */
	if (is_number(word) && !is_address(word))
		return word;
	if (known)
		return known;
	if (is_address(word))
		return pseudonym_of(redaction, "address", word);
	if (is_own_word(word) || is_error_word(word))
		return word;
	return pseudonym_of(redaction, "word", word);
}

static void append_word(struct redaction *redaction, const char *bytes, size_t len,
			struct text *text)
{
	char *word cleanup_free = NULL;
	size_t begin = 0, end = len;
	const char *instead;

	/* punctuation around a word is not part of it */
	while (end && strchr(".:@-", bytes[end - 1]))
		end--;
	while (begin < end && strchr(".:@-", bytes[begin]))
		begin++;
	word = strndup(bytes + begin, end - begin);
	instead = word && *word ? replace(redaction, word) : word;
	if (!instead) {
		text->error = -ENOMEM;
		return;
	}
	text_append_len(text, bytes, begin);
	text_append(text, instead);
	text_append_len(text, bytes + end, len - end);
}

void redaction_text(struct redaction *redaction, const char *string, struct text *text)
{
	while (*string) {
		size_t len = 0;

		while (is_word_byte(string[len]))
			len++;
		if (len)
			append_word(redaction, string, len, text);
		else
			text_append_len(text, string, len = 1);
		string += len;
	}
}

/* --- names ------------------------------------------------------------------------------------ */

int redaction_add(struct redaction *redaction, const char *kind, const char *name)
{
	while (*name) {
		size_t len = strcspn(name, "/");
		char *part cleanup_free = strndup(name, len);

		if (!part)
			return -ENOMEM;
		if (len && !pseudonym_of(redaction, kind, part))
			return -ENOMEM;
		name += len + (name[len] == '/');
	}
	return 0;
}

static const char *kind_of_key(const char *key, bool has_names)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_keys); i++) {
		if (!strcmp(key, name_keys[i].key))
			return name_keys[i].kind;
	}
	return has_names && !strcmp(key, "name") ? "name" : NULL;
}

static int learn_member(struct redaction *redaction, const char *key, struct json_object *value,
			bool has_names)
{
	const char *kind = kind_of_key(key, has_names);

	if (json_object_is_type(value, json_type_string))
		return kind ? redaction_add(redaction, kind, json_object_get_string(value)) : 0;
	return redaction_learn(redaction, value, has_names);
}

int redaction_learn(struct redaction *redaction, struct json_object *json, bool has_names)
{
	int r = 0;

	if (json_object_is_type(json, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(json) && !r; i++)
			r = redaction_learn(redaction, json_object_array_get_idx(json, i),
					    has_names);
	} else if (json_object_is_type(json, json_type_object)) {
		json_object_object_foreach (json, key, value) {
			if (!r)
				r = learn_member(redaction, key, value, has_names);
		}
	}
	return r;
}

/* --- documents -------------------------------------------------------------------------------- */

/* Where nothing but names stand, each part is one, also a number. */
static struct json_object *redact_name(struct redaction *redaction, const char *kind,
				       const char *name)
{
	struct text text cleanup_text = {0};

	while (*name) {
		size_t len = strcspn(name, "/");
		char *part cleanup_free = strndup(name, len);
		const char *instead = part && len ? pseudonym_of(redaction, kind, part) : part;

		if (!instead)
			return NULL;
		text_printf(&text, "%s%s", instead, name[len] ? "/" : "");
		name += len + (name[len] == '/');
	}
	return text.error ? NULL : json_object_new_string(text.data ? text.data : "");
}

static struct json_object *redact_array(struct redaction *redaction, struct json_object *json,
					bool has_names)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < json_object_array_length(json); i++) {
		struct json_object *item = json_object_array_get_idx(json, i);
		struct json_object *copy = redaction_json(redaction, item, has_names);

		if ((item && !copy) || json_object_array_add(array, copy)) {
			json_object_put(copy);
			json_object_put(array);
			return NULL;
		}
	}
	return array;
}

/* Only pinfold's own words are keys as they are: a name can stand there too, and pods are called so. */
static int add_member(struct redaction *redaction, struct json_object *object, const char *key,
		      struct json_object *value, bool has_names)
{
	const char *kind = kind_of_key(key, has_names);
	struct text name cleanup_text = {0};
	struct json_object *copy;

	if (kind && json_object_is_type(value, json_type_string))
		copy = redact_name(redaction, kind, json_object_get_string(value));
	else
		copy = redaction_json(redaction, value, has_names);

	if (is_own_word(key))
		text_append(&name, key);
	else
		redaction_text(redaction, key, &name);
	if ((value && !copy) || name.error ||
	    json_object_object_add(object, name.data ? name.data : "", copy)) {
		json_object_put(copy);
		return -ENOMEM;
	}
	return 0;
}

static struct json_object *redact_object(struct redaction *redaction, struct json_object *json,
					 bool has_names)
{
	struct json_object *object = json_object_new_object();
	int r = object ? 0 : -ENOMEM;

	json_object_object_foreach (json, key, value) {
		if (!r)
			r = add_member(redaction, object, key, value, has_names);
	}
	if (!r)
		return object;
	json_object_put(object);
	return NULL;
}

struct json_object *redaction_json(struct redaction *redaction, struct json_object *json,
				   bool has_names)
{
	struct text text cleanup_text = {0};

	switch (json_object_get_type(json)) {
	case json_type_array:
		return redact_array(redaction, json, has_names);
	case json_type_object:
		return redact_object(redaction, json, has_names);
	case json_type_string:
		redaction_text(redaction, json_object_get_string(json), &text);
		return text.error ? NULL : json_object_new_string(text.data ? text.data : "");
	default:
		return json_object_get(json);
	}
}
