// SPDX-License-Identifier: Apache-2.0
/*
 * The machine as a map. A colour belongs to an owner as long as it stands at the same place in the
 * order of CPUs; neighbours differ, but there are fewer colours than owners may be, so the owners
 * are also listed with their CPUs.
 */
#include <errno.h>
#include <string.h>

#include "core/cpuset.h"
#include "format/object_html.h"
#include "format/page_private.h"
#include "format/view_objects.h"
#include "format/views.h"

/* As many as page.css has classes owner0, owner1, … */
#define COLOURS 12

struct page_map_owner {
	const char *name;     /* borrowed from the JSON */
	enum cpu_state state; /* of its first CPU */
	struct cpuset cpus;
};

struct page_map_cpu {
	struct view_cpu row;
	size_t owner; /* of the map's; only if row.owner is not NULL */
};

struct page_map {
	struct page_map_cpu *cpus; /* by NUMA node, then core */
	size_t nr_cpus;
	struct page_map_owner *owners; /* in the order of their first CPU */
	size_t nr_owners;
};

static const struct {
	const char *class, *name;
} states[] = {
	[CPU_RESERVED] = {"reserved", "reserved"},
	[CPU_SHARED] = {"shared", "shared pool"},
	[CPU_EXCLUSIVE] = {"exclusive", "exclusive"},
	[CPU_POD_SHARED] = {"pod-shared", "shared within a pod"},
	[CPU_EXCLUDED] = {"excluded", "excluded"},
};

static void map_fini(struct page_map *map)
{
	free(map->cpus);
	free(map->owners);
}
#define cleanup_map cleanup(map_fini)

static int by_place(const void *left, const void *right)
{
	const struct view_cpu *a = &((const struct page_map_cpu *)left)->row;
	const struct view_cpu *b = &((const struct page_map_cpu *)right)->row;

	if (a->numa != b->numa)
		return a->numa < b->numa ? -1 : 1;
	if (a->socket != b->socket)
		return a->socket < b->socket ? -1 : 1;
	if (a->core != b->core)
		return a->core < b->core ? -1 : 1;
	return (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

/* The owner that came last is tried first: CPUs of one owner mostly are neighbours. */
static size_t find_owner(struct page_map *map, const struct view_cpu *cpu)
{
	for (size_t i = map->nr_owners; i > 0; i--)
		if (!strcmp(map->owners[i - 1].name, cpu->owner))
			return i - 1;
	map->owners[map->nr_owners].name = cpu->owner;
	map->owners[map->nr_owners].state = cpu->state;
	return map->nr_owners++;
}

static int map_read(struct json_object *cpus, struct page_map *ret_map)
{
	size_t nr = json_object_array_length(cpus);

	ret_map->cpus = calloc(nr + 1, sizeof(*ret_map->cpus));
	ret_map->owners = calloc(nr + 1, sizeof(*ret_map->owners));
	if (!ret_map->cpus || !ret_map->owners)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		object_read(&view_cpu_desc, json_object_array_get_idx(cpus, i),
			    &ret_map->cpus[i].row);
	ret_map->nr_cpus = nr;
	qsort(ret_map->cpus, nr, sizeof(*ret_map->cpus), by_place);
	for (size_t i = 0; i < nr; i++) {
		struct page_map_cpu *cpu = &ret_map->cpus[i];

		if (!cpu->row.owner)
			continue;
		cpu->owner = find_owner(ret_map, &cpu->row);
		if (cpu->row.cpu < CPUSET_MAX)
			cpuset_add(&ret_map->owners[cpu->owner].cpus, cpu->row.cpu);
	}
	return 0;
}

static const char *class_of(enum cpu_state state)
{
	return state < ARRAY_SIZE(states) ? states[state].class : "excluded";
}

static void append_cpu(const struct page_map_cpu *cpu, struct text *text)
{
	const struct view_cpu *row = &cpu->row;

	text_printf(text, "<i class=\"cpu %s", class_of(row->state));
	if (row->owner)
		text_printf(text, " owner%zu", cpu->owner % COLOURS);
	text_printf(text, "\" title=\"CPU %u, core %u: %s", row->cpu, row->core,
		    row->state < ARRAY_SIZE(states) ? states[row->state].name : "unknown");
	if (row->owner) {
		text_append(text, ", ");
		html_append(text, row->owner);
	}
	text_printf(text, "\">%u</i>", row->cpu);
}

static void append_nodes(const struct page_map *map, struct text *text)
{
	text_append(text, "<div class=nodes>\n");
	for (size_t i = 0; i < map->nr_cpus; i++) {
		const struct view_cpu *cpu = &map->cpus[i].row;
		const struct view_cpu *last = i ? &map->cpus[i - 1].row : NULL;
		const bool is_new_node = !last || last->numa != cpu->numa;
		const bool is_new_core = is_new_node || last->core != cpu->core ||
					 last->socket != cpu->socket;

		if (is_new_core)
			text_append(text, last ? "</span>\n" : "");
		if (is_new_node)
			text_printf(text,
				    "%s<div class=node><h3>NUMA node %u <small>socket "
				    "%u</small></h3><p class=cores>\n",
				    last ? "</p></div>\n" : "", cpu->numa, cpu->socket);
		if (is_new_core)
			text_append(text, "<span class=core>");
		append_cpu(&map->cpus[i], text);
	}
	text_append(text, map->nr_cpus ? "</span></p></div>\n</div>\n" : "</div>\n");
}

/* Only what occurs: most machines exclude nothing. */
static void append_legend(const struct page_map *map, struct text *text)
{
	text_append(text, "<ul class=legend>");
	for (size_t state = 0; state < ARRAY_SIZE(states); state++) {
		size_t nr = 0;

		for (size_t i = 0; i < map->nr_cpus; i++)
			nr += map->cpus[i].row.state == state;
		if (nr)
			text_printf(text, "<li><i class=\"cpu %s owner0\">%zu</i> %s",
				    states[state].class, nr, states[state].name);
	}
	text_append(text, "</ul>\n");
}

static void append_owners(const struct page_map *map, struct text *text)
{
	char list[CPUSET_TEXT_MAX];

	if (!map->nr_owners)
		return;
	text_printf(text, "<details id=owners open><summary>%zu owner%s of CPUs</summary>\n<ul>\n",
		    map->nr_owners, map->nr_owners == 1 ? "" : "s");
	for (size_t i = 0; i < map->nr_owners && i < PAGE_ROWS_MAX; i++) {
		const struct page_map_owner *owner = &map->owners[i];

		text_printf(text, "<li><i class=\"cpu %s owner%zu\"></i> <b>",
			    class_of(owner->state), i % COLOURS);
		html_append(text, owner->name);
		cpuset_format(&owner->cpus, list, sizeof(list));
		text_printf(text, "</b> %s\n", list);
	}
	text_append(text, "</ul></details>\n");
}

void page_append_map(struct json_object *cpus, struct text *text)
{
	struct page_map map cleanup_map = {0};

	if (map_read(cpus, &map)) {
		text->error = -ENOMEM;
		return;
	}
	append_legend(&map, text);
	append_nodes(&map, text);
	append_owners(&map, text);
}
