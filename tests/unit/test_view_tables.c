// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The tables that describe objects, and what follows from them: schemas and docs/objects.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view_scene.h"

static void check_table(const struct object_desc *desc)
{
	assert_true(desc->row_size > 0);
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];

		assert_in_range(field->offset, 0, desc->row_size - 1);
		if (field->object)
			check_table(field->object);
		if (field->type == FIELD_PART)
			continue;
		assert_non_null(field->help);
		assert_int_equal(strspn(field->key, "abcdefghijklmnopqrstuvwxyz_0123456789"),
				 strlen(field->key));
		/* An enum whose names are added to is a text, and has words nevertheless. */
		assert_true(field->nr_words ? field->type == FIELD_ENUM || field->type == FIELD_TEXT
					    : field->type != FIELD_ENUM);
	}
}

/* A key that stood twice would be once among the properties and twice required. */
static void check_keys_differ(struct json_object *schema)
{
	struct json_object *properties, *required;

	json_object_object_foreach (schema, key, value) {
		(void)key;
		if (json_object_is_type(value, json_type_object))
			check_keys_differ(value);
	}
	if (!json_object_object_get_ex(schema, "properties", &properties) ||
	    !json_object_object_get_ex(schema, "required", &required) ||
	    !json_object_is_type(required, json_type_array))
		return;
	assert_int_equal(json_object_object_length(properties), json_object_array_length(required));
}

static void descriptions_are_sound(void **state)
{
	struct json_object *schemas = json_object_new_object();

	for (const struct object_desc *const *desc = view_descs; *desc; desc++) {
		struct json_object *schema = object_schema(*desc);

		assert_ptr_equal(view_find((*desc)->name), *desc);
		assert_non_null(schema);
		assert_non_null((*desc)->help);
		check_table(*desc);
		check_keys_differ(schema);
		json_object_object_add(schemas, (*desc)->name, schema);
	}
	assert_null(view_find("nothing"));
	compare("schemas", NULL, schemas);
	json_object_put(schemas);
}

/* --- docs/objects.md -------------------------------------------------------------------------- */

static void write_type(const struct field_desc *field, struct text *page)
{
	static const char *const names[FIELD_TYPE_NR] = {
		[FIELD_TEXT] = "text",
		[FIELD_CPULIST] = "list of ids, such as `0-3,8`",
		[FIELD_COUNT] = "integer",
		[FIELD_BYTES] = "integer, bytes",
		[FIELD_SECONDS] = "number, seconds",
		[FIELD_PERCENT] = "number, percent",
		[FIELD_TIME] = "integer, nanoseconds since 1970 UTC",
		[FIELD_BOOL] = "boolean",
		[FIELD_ENUM] = "",
		[FIELD_TEXTS] = "array of texts",
		[FIELD_OBJECT] = "object",
		[FIELD_LIST] = "array of objects",
	};

	text_append(page, names[field->type]);
	for (size_t i = 0; field->type == FIELD_ENUM && i < field->nr_words; i++)
		text_printf(page, "%s`%s`", i ? ", " : "", field_word(field, i));
	text_append(page, field->flags & FIELD_NULL ? ", or null" : "");
}

/* Fields of an object that stands under a key have that key in front: `nodes[].numa`. */
static void write_fields(const struct object_desc *desc, const char *above, struct text *page)
{
	for (size_t i = 0; i < desc->nr_fields; i++) {
		const struct field_desc *field = &desc->fields[i];
		char path[128];

		if (field->type == FIELD_PART) {
			write_fields(field->object, above, page);
			continue;
		}
		text_printf(page, "| `%s%s` | ", above, field->key);
		write_type(field, page);
		text_printf(page, " | %s |\n", field->help);
		snprintf(path, sizeof(path), "%s%s%s.", above, field->key,
			 field->type == FIELD_LIST ? "[]" : "");
		if (field->object)
			write_fields(field->object, path, page);
	}
}

/* The reference page is written from the tables. */
static void the_reference_page_is_of_these_tables(void **state)
{
	struct text page cleanup_text = {0};

	text_append(&page,
		    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
		    "<!-- Written by \"make golden\"; do not edit. -->\n"
		    "# Objects\n\n"
		    "What `pinfold -j OBJECT show` and `GET /v1/OBJECT` give. Keys are only added "
		    "within one schema\nversion. `pinfold schema OBJECT` says the same as JSON "
		    "Schema. A failure is `{\"error\": TEXT}`.\n");
	for (const struct object_desc *const *desc = view_descs; *desc; desc++) {
		text_printf(&page,
			    "\n## %s\n\n%s%s\n\n| key | value | meaning |\n| --- | --- | --- |\n",
			    (*desc)->name, (*desc)->is_list ? "An array of these: " : "",
			    (*desc)->help);
		write_fields(*desc, "", &page);
	}
	assert_int_equal(page.error, 0);
	golden_compare("docs/objects.md", page.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptions_are_sound),
		cmocka_unit_test(the_reference_page_is_of_these_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
