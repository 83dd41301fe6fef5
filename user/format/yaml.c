// SPDX-License-Identifier: Apache-2.0
/*
 * libyaml's events into a tree, with every bound checked while it grows. The
 * scanner is libyaml's; depth, number of values and keys are checked here.
 */
#include "format/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* Open lists and maps while building; the deepest yaml_limits anybody may ask for. */
#define DEEPEST 64

struct open_value {
	struct yaml_value *value;
	struct yaml_value *last; /* child */
	char *key;		 /* of a map: read, its value still to come; owned */
	unsigned int key_line, key_column;
};

struct builder {
	const struct yaml_limits *limits;
	struct format_error *error;
	unsigned int first_line;
	struct yaml_tree *tree;
	unsigned int nr_values, depth;
	struct open_value open[DEEPEST];
};

void yaml_tree_free(struct yaml_tree *tree)
{
	struct yaml_value *value, *following;

	if (!tree)
		return;
	for (value = tree->all; value; value = following) {
		following = value->allocated;
		free(value->key);
		free(value->text);
		free(value);
	}
	free(tree);
}

static unsigned int line_of(const struct builder *builder, const yaml_mark_t *mark)
{
	return builder->first_line + mark->line;
}

__attribute__((format(printf, 3, 4))) static int
refuse_at(struct builder *builder, const yaml_mark_t *mark, const char *format, ...)
{
	char message[FORMAT_MESSAGE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	format_error_set(builder->error, line_of(builder, mark), mark->column + 1, NULL, "%s",
			 message);
	return -EINVAL;
}

/* A new value with its place; the tree owns it from the start. */
static int add_value(struct builder *builder, enum yaml_kind kind, const yaml_mark_t *mark,
		     struct yaml_value **ret_value)
{
	struct yaml_value *value;

	if (builder->nr_values >= builder->limits->max_values)
		return refuse_at(builder, mark,
				 "the document has more than %u values; split it into smaller ones",
				 builder->limits->max_values);
	value = calloc(1, sizeof(*value));
	if (!value)
		return -ENOMEM;
	builder->nr_values++;
	value->kind = kind;
	value->line = line_of(builder, mark);
	value->column = mark->column + 1;
	value->allocated = builder->tree->all;
	builder->tree->all = value;
	*ret_value = value;
	return 0;
}

/* Hang a finished scalar, or a list or map that begins, where it belongs. */
static int attach_value(struct builder *builder, struct yaml_value *value, const yaml_mark_t *mark)
{
	struct open_value *parent;

	if (builder->depth == 0) {
		builder->tree->root = value;
		return 0;
	}
	parent = &builder->open[builder->depth - 1];
	if (parent->value->kind == YAML_MAP) {
		if (!parent->key)
			return refuse_at(builder, mark,
					 "a key must be text, not a list or a mapping");
		value->key = TAKE_PTR(parent->key);
		value->key_line = parent->key_line;
		value->key_column = parent->key_column;
	}
	if (parent->last)
		parent->last->next = value;
	else
		parent->value->children = value;
	parent->last = value;
	parent->value->nr_children++;
	return 0;
}

static int check_tag(struct builder *builder, const char *tag, const yaml_mark_t *mark)
{
	static const char *const known[] = {"str", "int", "float", "bool", "null", "map", "seq"};
	static const char prefix[] = "tag:yaml.org,2002:";
	char shown[FORMAT_SHOW_MAX];

	if (!tag || strcmp(tag, "!") == 0)
		return 0;
	if (strncmp(tag, prefix, sizeof(prefix) - 1) == 0)
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (strcmp(tag + sizeof(prefix) - 1, known[i]) == 0)
				return 0;
	return refuse_at(builder, mark, "tag '%s' is not supported; write the value without a tag",
			 format_show(tag, strlen(tag), shown, sizeof(shown)));
}

static int copy_scalar(struct builder *builder, const yaml_event_t *event, char **ret_text)
{
	const char *text = (const char *)event->data.scalar.value;
	char *copy;

	if (memchr(text, '\0', event->data.scalar.length))
		return refuse_at(builder, &event->start_mark,
				 "the text contains a NUL byte; remove the \\0 escape");
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	*ret_text = copy;
	return 0;
}

/* In a map every other scalar is a key; tells whether this one was. */
static int take_key(struct builder *builder, const yaml_event_t *event, bool *ret_taken)
{
	struct open_value *parent = builder->depth ? &builder->open[builder->depth - 1] : NULL;
	int err;

	*ret_taken = false;
	if (!parent || parent->value->kind != YAML_MAP || parent->key)
		return 0;
	err = copy_scalar(builder, event, &parent->key);
	if (err)
		return err;
	parent->key_line = line_of(builder, &event->start_mark);
	parent->key_column = event->start_mark.column + 1;
	*ret_taken = true;
	return 0;
}

static int add_scalar(struct builder *builder, const yaml_event_t *event)
{
	const char *tag = (const char *)event->data.scalar.tag;
	struct yaml_value *value;
	bool was_key;
	int err;

	err = check_tag(builder, tag, &event->start_mark);
	if (err)
		return err;
	err = take_key(builder, event, &was_key);
	if (err || was_key)
		return err;
	err = add_value(builder, YAML_TEXT, &event->start_mark, &value);
	if (err)
		return err;
	err = copy_scalar(builder, event, &value->text);
	if (err)
		return err;
	value->len = event->data.scalar.length;
	value->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
			(tag && strstr(tag, ":str"));
	return attach_value(builder, value, &event->start_mark);
}

static int begin_value(struct builder *builder, enum yaml_kind kind, const char *tag,
		       const yaml_mark_t *mark)
{
	struct yaml_value *value;
	int err;

	err = check_tag(builder, tag, mark);
	if (err)
		return err;
	if (builder->depth >= builder->limits->max_depth || builder->depth >= DEEPEST)
		return refuse_at(builder, mark, "the document is nested deeper than %u levels",
				 builder->depth);
	err = add_value(builder, kind, mark, &value);
	if (err)
		return err;
	err = attach_value(builder, value, mark);
	if (err)
		return err;
	builder->open[builder->depth++] = (struct open_value){.value = value};
	return 0;
}

static int compare_keys(const void *left, const void *right)
{
	const struct yaml_value *a = *(struct yaml_value *const *)left;
	const struct yaml_value *b = *(struct yaml_value *const *)right;
	int order = strcmp(a->key, b->key);

	if (order)
		return order;
	if (a->key_line != b->key_line)
		return a->key_line < b->key_line ? -1 : 1;
	return a->key_column < b->key_column ? -1 : a->key_column > b->key_column;
}

/* By sorting: comparing each pair would be quadratic in what a stranger can send. */
static int check_duplicates(struct builder *builder, const struct yaml_value *map)
{
	struct yaml_value **members cleanup_free = NULL;
	char shown[FORMAT_SHOW_MAX];
	uint32_t nr = 0;

	if (map->nr_children < 2)
		return 0;
	members = malloc(map->nr_children * sizeof(*members));
	if (!members)
		return -ENOMEM;
	for (struct yaml_value *child = map->children; child; child = child->next)
		members[nr++] = child;
	qsort(members, nr, sizeof(*members), compare_keys);
	for (uint32_t i = 1; i < nr; i++) {
		const struct yaml_value *first = members[i - 1], *second = members[i];

		if (strcmp(first->key, second->key) != 0)
			continue;
		format_error_set(builder->error, second->key_line, second->key_column, NULL,
				 "key '%s' appears twice, first in line %u; remove one of them",
				 format_show(second->key, strlen(second->key), shown,
					     sizeof(shown)),
				 first->key_line);
		return -EINVAL;
	}
	return 0;
}

static int end_value(struct builder *builder)
{
	struct open_value *open = &builder->open[--builder->depth];

	return open->value->kind == YAML_MAP ? check_duplicates(builder, open->value) : 0;
}

static int take_event(struct builder *builder, const yaml_event_t *event)
{
	char shown[FORMAT_SHOW_MAX];

	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return add_scalar(builder, event);
	case YAML_SEQUENCE_START_EVENT:
		return begin_value(builder, YAML_LIST, (const char *)event->data.sequence_start.tag,
				   &event->start_mark);
	case YAML_MAPPING_START_EVENT:
		return begin_value(builder, YAML_MAP, (const char *)event->data.mapping_start.tag,
				   &event->start_mark);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return end_value(builder);
	case YAML_ALIAS_EVENT:
		return refuse_at(builder, &event->start_mark,
				 "alias '*%s' is not supported; write the value out",
				 format_show((const char *)event->data.alias.anchor,
					     strlen((const char *)event->data.alias.anchor), shown,
					     sizeof(shown)));
	default:
		return 0;
	}
}

/* libyaml counts characters, we cut bytes. */
static size_t byte_offset(const char *data, size_t len, size_t nr_characters)
{
	size_t offset = 0;

	while (offset < len && nr_characters > 0) {
		offset++;
		while (offset < len && (data[offset] & 0xc0) == 0x80)
			offset++;
		nr_characters--;
	}
	return offset;
}

/* What libyaml found wrong, in its words but our form. */
static int refuse_syntax(struct builder *builder, const yaml_parser_t *parser, const char *data,
			 size_t len)
{
	size_t at = byte_offset(data, len, parser->problem_mark.index);
	const char *problem = parser->problem ? parser->problem : "not YAML";
	unsigned int line = builder->first_line;

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR) {
		for (size_t i = 0; i < parser->problem_offset; i++)
			line += data[i] == '\n';
		format_error_set(builder->error, line, 1, NULL, "not UTF-8 text: %s (byte %zu)",
				 problem, parser->problem_offset);
		return -EINVAL;
	}
	if (parser->error == YAML_SCANNER_ERROR && at < len && data[at] == '\t')
		return refuse_at(builder, &parser->problem_mark,
				 "unexpected tab; indent YAML with spaces");
	return refuse_at(builder, &parser->problem_mark, "not YAML: %s%s%s", problem,
			 parser->context ? " " : "", parser->context ? parser->context : "");
}

static int build(struct builder *builder, yaml_parser_t *parser, const char *data, size_t len,
		 size_t *ret_used)
{
	for (;;) {
		yaml_event_t event;
		bool ended;
		int err;

		if (!yaml_parser_parse(parser, &event))
			return refuse_syntax(builder, parser, data, len);
		ended = event.type == YAML_DOCUMENT_END_EVENT;
		if (ended || event.type == YAML_STREAM_END_EVENT) {
			*ret_used = ended ? byte_offset(data, len, event.end_mark.index) : len;
			yaml_event_delete(&event);
			return 0;
		}
		err = take_event(builder, &event);
		yaml_event_delete(&event);
		if (err)
			return err;
	}
}

static bool is_separator(const char *data, size_t len, size_t at)
{
	return len - at >= 3 && memcmp(data + at, "---", 3) == 0 &&
	       (len - at == 3 || strchr(" \t\r\n", data[at + 3]));
}

/* Blank lines and comments only? */
static bool is_blank(const char *data, size_t len)
{
	bool comment = false;

	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\n')
			comment = false;
		else if (data[i] == '#')
			comment = true;
		else if (!comment && !strchr(" \t\r", data[i]))
			return false;
	}
	return true;
}

/* A second document may follow after "---" or as a JSON object; everything else is a slip. */
static int check_rest(struct builder *builder, const char *data, size_t len, size_t *used)
{
	unsigned int line = builder->first_line;

	if (is_blank(data + *used, len - *used)) {
		*used = len;
		return 0;
	}
	if (builder->tree->root && (data[*used] == '{' || is_separator(data, len, *used)))
		return 0;
	for (size_t i = 0; i < *used; i++)
		line += data[i] == '\n';
	format_error_set(builder->error, line, 1, NULL,
			 "text follows the end of the document; put a line \"---\" before it");
	return -EINVAL;
}

int yaml_parse(const char *data, size_t len, unsigned int first_line,
	       const struct yaml_limits *limits, struct format_error *error,
	       struct yaml_tree **ret_tree, size_t *ret_used)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	struct builder builder = {.limits = limits, .error = error, .first_line = first_line};
	struct yaml_tree *tree cleanup_yaml = calloc(1, sizeof(*tree));
	size_t skipped = 0, used = 0;
	yaml_parser_t parser;
	int err;

	if (!tree)
		return -ENOMEM;
	if (len > limits->max_bytes) {
		format_error_set(error, 0, 0, NULL, "%zu bytes are more than the limit of %zu", len,
				 limits->max_bytes);
		return -EINVAL;
	}
	if (len >= 3 && memcmp(data, byte_order_mark, 3) == 0)
		skipped = 3;
	builder.tree = tree;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	/* Fixed, so that a byte order mark cannot choose another encoding than the one we cut. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)data + skipped, len - skipped);
	err = build(&builder, &parser, data + skipped, len - skipped, &used);
	yaml_parser_delete(&parser);
	/* Keys whose value never came belong to nobody yet. */
	for (unsigned int i = 0; i < builder.depth; i++)
		free(builder.open[i].key);
	if (err)
		return err;
	used += skipped;
	err = check_rest(&builder, data, len, &used);
	if (err)
		return err;
	*ret_tree = TAKE_PTR(tree);
	*ret_used = used;
	return 0;
}

int yaml_parse_one(const char *data, size_t len, const struct yaml_limits *limits,
		   struct format_error *error, struct yaml_tree **ret_tree)
{
	struct yaml_tree *tree cleanup_yaml = NULL;
	size_t used;
	int err = yaml_parse(data, len, 1, limits, error, &tree, &used);

	if (err)
		return err;
	if (!tree->root) {
		format_error_set(error, 0, 0, NULL, "the document is empty");
		return -EINVAL;
	}
	if (used < len) {
		format_error_set(error, 0, 0, NULL, "more than one document; expected one");
		return -EINVAL;
	}
	*ret_tree = TAKE_PTR(tree);
	return 0;
}

static size_t next_line(const char *data, size_t len, size_t at)
{
	const char *end = memchr(data + at, '\n', len - at);

	return end ? (size_t)(end - data) + 1 : len;
}

bool yaml_next_piece(const char *data, size_t len, size_t *offset, unsigned int *line,
		     const char **ret_piece, size_t *ret_len, unsigned int *ret_line)
{
	size_t start = *offset, end;

	if (start >= len)
		return false;
	*ret_line = *line;
	/* The separator itself stays in the piece: text may follow it on its line. */
	for (end = next_line(data, len, start), ++*line; end < len && !is_separator(data, len, end);
	     end = next_line(data, len, end))
		++*line;
	*offset = end;
	*ret_piece = data + start;
	*ret_len = end - start;
	return true;
}

bool yaml_is_null(const struct yaml_value *value)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};

	if (value->kind != YAML_TEXT || value->quoted)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(value->text, words[i]) == 0)
			return true;
	return false;
}

const struct yaml_value *yaml_get(const struct yaml_value *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	yaml_for_each(child, map) if (strcmp(child->key, key) == 0) return yaml_is_null(child)
		? NULL
		: child;
	return NULL;
}

const struct yaml_value *yaml_need(const struct yaml_value *map, const char *key,
				   struct format_error *error)
{
	const struct yaml_value *member = yaml_get(map, key);

	if (!member)
		yaml_refuse(map, key, error, "it is missing");
	return member;
}

const char *yaml_kind_name(enum yaml_kind kind)
{
	switch (kind) {
	case YAML_TEXT:
		return "text";
	case YAML_LIST:
		return "a list";
	case YAML_MAP:
		return "a mapping";
	}
	return "";
}

int yaml_refuse(const struct yaml_value *value, const char *field, struct format_error *error,
		const char *format, ...)
{
	char message[FORMAT_MESSAGE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	format_error_set(error, value->line, value->column, field, "%s", message);
	return -EINVAL;
}

static int want_kind(const struct yaml_value *value, enum yaml_kind kind, const char *field,
		     struct format_error *error)
{
	if (value->kind == kind)
		return 0;
	return yaml_refuse(value, field, error, "expected %s, not %s", yaml_kind_name(kind),
			   yaml_kind_name(value->kind));
}

int yaml_read_map(const struct yaml_value *value, const char *field, struct format_error *error)
{
	return want_kind(value, YAML_MAP, field, error);
}

int yaml_read_list(const struct yaml_value *value, const char *field, struct format_error *error)
{
	return want_kind(value, YAML_LIST, field, error);
}

int yaml_read_text(const struct yaml_value *value, const char *field, struct format_error *error,
		   char *ret_text, size_t size)
{
	int err = want_kind(value, YAML_TEXT, field, error);

	if (err)
		return err;
	if (value->len >= size) {
		char shown[FORMAT_SHOW_MAX];

		return yaml_refuse(value, field, error, "'%s' is longer than %zu bytes",
				   format_show(value->text, value->len, shown, sizeof(shown)),
				   size - 1);
	}
	memcpy(ret_text, value->text, value->len + 1);
	return 0;
}

int yaml_read_bool(const struct yaml_value *value, const char *field, struct format_error *error,
		   bool *ret_bool)
{
	char shown[FORMAT_SHOW_MAX];
	int err = want_kind(value, YAML_TEXT, field, error);

	if (err)
		return err;
	if (!value->quoted && strcmp(value->text, "true") == 0)
		*ret_bool = true;
	else if (!value->quoted && strcmp(value->text, "false") == 0)
		*ret_bool = false;
	else
		return yaml_refuse(value, field, error, "'%s' is %s; write true or false%s",
				   format_show(value->text, value->len, shown, sizeof(shown)),
				   value->quoted ? "text" : "neither true nor false",
				   value->quoted ? ", without quotes" : "");
	return 0;
}

int yaml_read_uint(const struct yaml_value *value, const char *field, struct format_error *error,
		   uint64_t min, uint64_t max, uint64_t *ret_number)
{
	char shown[FORMAT_SHOW_MAX];
	uint64_t number = 0;
	int err = want_kind(value, YAML_TEXT, field, error);
	bool good = !err && value->len > 0;

	if (err)
		return err;
	for (size_t i = 0; good && i < value->len; i++) {
		unsigned int digit = (unsigned char)value->text[i] - '0';

		good = digit <= 9 && number <= (max - (digit < max ? digit : max)) / 10;
		number = number * 10 + digit;
	}
	if (!good || number < min || number > max)
		return yaml_refuse(value, field, error,
				   "'%s' is not a whole number from %llu to %llu",
				   format_show(value->text, value->len, shown, sizeof(shown)),
				   (unsigned long long)min, (unsigned long long)max);
	*ret_number = number;
	return 0;
}

int yaml_read_word(const struct yaml_value *value, const char *field, struct format_error *error,
		   const char *const *names, unsigned int nr_names, unsigned int *ret_index)
{
	char known[FORMAT_MESSAGE_MAX / 2] = "", shown[FORMAT_SHOW_MAX];
	int err = want_kind(value, YAML_TEXT, field, error);
	size_t len = 0;

	if (err)
		return err;
	for (unsigned int i = 0; i < nr_names; i++) {
		if (!names[i])
			continue;
		if (strcmp(value->text, names[i]) == 0) {
			*ret_index = i;
			return 0;
		}
		if (len < sizeof(known))
			len += snprintf(known + len, sizeof(known) - len, "%s%s", len ? ", " : "",
					names[i]);
	}
	return yaml_refuse(value, field, error, "invalid value '%s': expected one of %s",
			   format_show(value->text, value->len, shown, sizeof(shown)), known);
}
