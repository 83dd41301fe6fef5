// SPDX-License-Identifier: Apache-2.0
// LIBS: json
/*
 * rows [-p POINTER] [KEY | KEY=VALUE]...: print JSON from standard input as lines for the shell.
 *
 * The input is an array of objects, or one object; -p selects it inside a larger value by a JSON
 * pointer (RFC 6901). Each object whose KEYs have these VALUEs is one line: its other KEYs, in
 * the given order, separated by tabs. Without any such KEY the output is the number of objects.
 * Absent values and null are "-", arrays and objects remain JSON, and in strings each tab and
 * line feed becomes a space.
 *
 * Exit status: 0 if an object was selected or counted, 1 if none was, 2 if the input is not such JSON.
 *
 * It is no replacement for jq, whose start reads a library in jq's own language: that takes an
 * emulated guest several times as long as the agent's whole answer.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#define INPUT_MAX (16 << 20)

static char input[INPUT_MAX];

static const char *text_of(struct json_object *object, const char *key, size_t key_len)
{
	char name[64];
	struct json_object *value;

	snprintf(name, sizeof(name), "%.*s", (int)key_len, key);
	if (!json_object_object_get_ex(object, name, &value) || !value)
		return "-";
	if (json_object_is_type(value, json_type_string))
		return json_object_get_string(value);
	return json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
}

static bool is_selected(struct json_object *object, char **keys, int nr)
{
	for (int i = 0; i < nr; i++) {
		const char *wanted = strchr(keys[i], '=');

		if (wanted &&
		    strcmp(text_of(object, keys[i], (size_t)(wanted - keys[i])), wanted + 1))
			return false;
	}
	return true;
}

static void print_text(const char *text)
{
	for (; *text; text++)
		putchar(*text == '\t' || *text == '\n' ? ' ' : *text);
}

static void print_row(struct json_object *object, char **keys, int nr)
{
	bool any = false;

	for (int i = 0; i < nr; i++) {
		if (strchr(keys[i], '='))
			continue;
		if (any)
			putchar('\t');
		print_text(text_of(object, keys[i], strlen(keys[i])));
		any = true;
	}
	if (any)
		putchar('\n');
}

/* Returns the number of selected objects, or -1 if something else is among them. */
static int print_rows(struct json_object *value, char **keys, int nr)
{
	bool is_array = json_object_is_type(value, json_type_array);
	size_t nr_objects = is_array ? json_object_array_length(value) : 1;
	int selected = 0;

	for (size_t i = 0; i < nr_objects; i++) {
		struct json_object *object = is_array ? json_object_array_get_idx(value, i) : value;

		if (!json_object_is_type(object, json_type_object))
			return -1;
		if (!is_selected(object, keys, nr))
			continue;
		print_row(object, keys, nr);
		selected++;
	}
	return selected;
}

static bool only_counts(char **keys, int nr)
{
	for (int i = 0; i < nr; i++)
		if (!strchr(keys[i], '='))
			return false;
	return true;
}

static struct json_object *read_input(void)
{
	size_t len = fread(input, 1, sizeof(input) - 1, stdin);

	input[len] = '\0';
	return json_tokener_parse(input);
}

/* Borrowed from the value; NULL if it has no such part. */
static struct json_object *part_of(struct json_object *value, const char *pointer)
{
	struct json_object *part;

	return value && !json_pointer_get(value, pointer, &part) ? part : NULL;
}

int main(int argc, char **argv)
{
	bool has_pointer = argc > 2 && !strcmp(argv[1], "-p");
	int first = has_pointer ? 3 : 1;
	struct json_object *value = read_input();
	int selected = print_rows(has_pointer ? part_of(value, argv[2]) : value, argv + first,
				  argc - first);

	json_object_put(value);
	if (selected < 0) {
		fprintf(stderr, "rows: no array of objects on standard input: %.200s\n", input);
		return 2;
	}
	if (!only_counts(argv + first, argc - first))
		return selected ? 0 : 1;
	printf("%d\n", selected);
	return 0;
}
