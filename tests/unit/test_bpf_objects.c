// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* The table of the BPF objects against the objects themselves; no kernel needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/bpf_objects.h"
#include "format/words.h"

static struct bpf_object *open_object(enum bpf_object_id id)
{
	size_t len;
	const void *bytes = bpf_object_row(id)->elf(&len);

	return bpf_object__open_mem(bytes, len, NULL);
}

/* The inspector shows what has a name, the agent loads what has a row. */
static void a_row_has_a_name(void **state)
{
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++)
		if ((bpf_object_row(id) != NULL) != (*bpf_object_name(id) != '\0'))
			fail_msg("object %d has a row or a name, but not both", id);
}

static void a_number_without_a_row_has_none(void **state)
{
	assert_null(bpf_object_row(BPF_OBJECT_NR));
	assert_null(bpf_object_row(BPF_OBJECT_NR - 1));
	assert_string_equal(bpf_object_name(BPF_OBJECT_NR), "");
}

/* Pins of links are named NAME_PROGRAM: NAME tells whose they are. */
static void no_name_begins_with_another(void **state)
{
	for (enum bpf_object_id a = 0; a < BPF_OBJECT_NR; a++) {
		const char *name = bpf_object_name(a);
		size_t len = strlen(name);

		for (enum bpf_object_id b = 0; b < BPF_OBJECT_NR; b++) {
			const char *other = bpf_object_name(b);

			if (len && a != b && !strncmp(other, name, len) && other[len] == '_')
				fail_msg("pins of %s look like pins of %s", other, name);
		}
	}
}

static void compare_map(enum bpf_object_id id, const struct bpf_map *map, enum bpf_object_id other,
			const struct bpf_map *same)
{
	if (bpf_map__type(map) != bpf_map__type(same) ||
	    bpf_map__key_size(map) != bpf_map__key_size(same) ||
	    bpf_map__value_size(map) != bpf_map__value_size(same) ||
	    bpf_map__max_entries(map) != bpf_map__max_entries(same) ||
	    bpf_map__map_flags(map) != bpf_map__map_flags(same))
		fail_msg("map %s of %s is not like that of %s", bpf_map__name(map),
			 bpf_object_name(id), bpf_object_name(other));
}

/* Returns the number of maps that both have. */
static uint32_t compare_objects(enum bpf_object_id id, struct bpf_object *object,
				enum bpf_object_id other, struct bpf_object *same)
{
	const struct bpf_map *map;
	uint32_t nr = 0;

	bpf_object__for_each_map (map, object) {
		const struct bpf_map *found;

		if (bpf_map__is_internal(map))
			continue;
		found = bpf_object__find_map_by_name(same, bpf_map__name(map));
		if (!found)
			continue;
		compare_map(id, map, other, found);
		nr++;
	}
	return nr;
}

/*
 * They share a map through its pin. If they disagreed, each would replace the other's by one of
 * its own, and policies would reach only the last.
 */
static void maps_of_one_name_are_the_same_in_all_objects(void **state)
{
	struct bpf_object *objects[BPF_OBJECT_NR] = {0};
	uint32_t nr = 0;

	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		if (!bpf_object_row(id))
			continue;
		objects[id] = open_object(id);
		assert_non_null(objects[id]);
		for (enum bpf_object_id other = 0; other < id; other++)
			if (objects[other])
				nr += compare_objects(id, objects[id], other, objects[other]);
	}
	/* all have `managed` */
	assert_true(nr > 2);
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++)
		bpf_object__close(objects[id]);
}

static void the_features_are_in_order(void **state)
{
	static const char *const expected[] = {"guard", "guard_files", "watch", "watch_traces",
					       "observe"};
	const struct bpf_backend_options options = {.runtime_dir_fd = -1};
	struct feature_row rows[BPF_FEATURES_MAX];
	struct bpf_objects objects;
	uint32_t nr;

	bpf_objects_begin(&objects, &options);
	nr = bpf_objects_features(&objects, rows);
	assert_int_equal(nr, ABILITY_NR + sizeof(expected) / sizeof(*expected));
	for (uint32_t i = ABILITY_NR; i < nr; i++) {
		assert_string_equal(rows[i].name, expected[i - ABILITY_NR]);
		assert_int_equal(rows[i].state, FEATURE_UNKNOWN);
	}
	bpf_objects_free(&objects);
}

/* What the thread has loaded is taken over, and what others may have used meanwhile is not. */
static void a_merge_keeps_the_awaited_objects(void **state)
{
	const struct bpf_backend_options options = {.runtime_dir_fd = -1};
	struct bpf_object_handle guard = {0}, watch = {0};
	struct bpf_objects objects, later;

	bpf_objects_begin(&objects, &options);
	later = objects;
	objects.instances[BPF_OBJECT_GUARD].handle = &guard;
	later.instances[BPF_OBJECT_WATCH].handle = &watch;
	later.rows[BPF_OBJECT_WATCH].state = FEATURE_YES;
	later.abilities.nr_known = 5;
	assert_true(bpf_objects_any(&objects));
	bpf_objects_merge(&objects, &later);
	assert_ptr_equal(bpf_objects_handle(&objects, BPF_OBJECT_GUARD), &guard);
	assert_ptr_equal(bpf_objects_handle(&objects, BPF_OBJECT_WATCH), &watch);
	assert_int_equal(objects.rows[BPF_OBJECT_WATCH].state, FEATURE_YES);
	assert_int_equal(objects.abilities.nr_known, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_a_name),
		cmocka_unit_test(a_number_without_a_row_has_none),
		cmocka_unit_test(no_name_begins_with_another),
		cmocka_unit_test(maps_of_one_name_are_the_same_in_all_objects),
		cmocka_unit_test(the_features_are_in_order),
		cmocka_unit_test(a_merge_keeps_the_awaited_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
