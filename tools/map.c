// SPDX-License-Identifier: Apache-2.0
/*
 * The machine on one screen: a paragraph per NUMA node, a column per core, a
 * row per hardware thread, a letter for whom the CPU is for. Small machines
 * show CPU ids; big ones only letters.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/cpuset.h"
#include "inspect.h"

#define COLUMNS 80
/* With ids a core takes four columns; beyond this many CPUs the picture gets too tall. */
#define CPUS_WITH_IDS 128
#define MAX_THREADS   8
/* No R and no x: these are states. */
static const char owner_letters[] = "ABCDEFGHIJKLMNOPQSTUVWYZabcdefghijklmnopqrstuvwyz";
#define LETTER_OF_MANY '+'

struct map_cpu {
	unsigned int cpu, core, uncore, node, socket;
	unsigned int thread; /* which of its core's */
	char letter;
};

struct owner {
	const char *name; /* namespace/pod; borrowed from the JSON for its length */
	size_t len;
	struct cpuset cpus;
};

struct map {
	size_t nr_cpus, nr_owners;
	struct map_cpu *cpus; /* by socket, node, uncore, core, cpu */
	struct owner *owners;
	struct cpuset reserved, shared, excluded;
	bool reserved_in_pool;
};

static void map_fini(struct map *map)
{
	free(map->cpus);
	free(map->owners);
}

static int compare(const void *a, const void *b)
{
	const struct map_cpu *one = a, *other = b;
	const unsigned int keys[][2] = {
		{one->socket, other->socket}, {one->node, other->node},
		{one->uncore, other->uncore}, {one->core, other->core},
		{one->cpu, other->cpu},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	}
	return 0;
}

/* "namespace/pod/container" belongs to "namespace/pod". */
static size_t pod_length(const char *owner)
{
	const char *slash = strchr(owner, '/');
	const char *second = slash ? strchr(slash + 1, '/') : NULL;

	return second ? (size_t)(second - owner) : strlen(owner);
}

static char owner_letter(struct map *map, const char *name, unsigned int cpu)
{
	size_t len = pod_length(name), i;

	for (i = 0; i < map->nr_owners; i++) {
		if (map->owners[i].len == len && !memcmp(map->owners[i].name, name, len))
			break;
	}
	if (i == map->nr_owners)
		map->owners[map->nr_owners++] = (struct owner){.name = name, .len = len};
	cpuset_add(&map->owners[i].cpus, cpu);
	return i < sizeof(owner_letters) - 1 ? owner_letters[i] : LETTER_OF_MANY;
}

static char letter_of(struct map *map, const struct view_cpu *row)
{
	if (row->state == CPU_EXCLUDED) {
		cpuset_add(&map->excluded, row->cpu);
		return 'x';
	}
	if (row->state == CPU_RESERVED) {
		cpuset_add(&map->reserved, row->cpu);
		map->reserved_in_pool |= row->in_shared_pool;
		return 'R';
	}
	if (row->owner)
		return owner_letter(map, row->owner, row->cpu);
	cpuset_add(&map->shared, row->cpu);
	return '.';
}

static int map_fill(struct map *map, struct json_object *json)
{
	size_t length = json_object_array_length(json);

	map->cpus = calloc(length + 1, sizeof(*map->cpus));
	map->owners = calloc(length + 1, sizeof(*map->owners));
	if (!map->cpus || !map->owners)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		struct view_cpu row;

		object_read(&view_cpu_desc, json_object_array_get_idx(json, i), &row);
		if (row.cpu >= CPUSET_MAX)
			return -EPROTO;
		map->cpus[map->nr_cpus++] = (struct map_cpu){
			.cpu = row.cpu,
			.core = row.core,
			.uncore = row.uncore,
			.node = row.numa,
			.socket = row.socket,
			.letter = letter_of(map, &row),
		};
	}
	qsort(map->cpus, map->nr_cpus, sizeof(*map->cpus), compare);
	for (size_t i = 1; i < map->nr_cpus; i++) {
		const struct map_cpu *before = &map->cpus[i - 1];
		struct map_cpu *cpu = &map->cpus[i];

		if (cpu->socket == before->socket && cpu->core == before->core)
			cpu->thread = before->thread + 1 < MAX_THREADS ? before->thread + 1
								       : MAX_THREADS - 1;
	}
	return 0;
}

static bool same_node(const struct map_cpu *a, const struct map_cpu *b)
{
	return a->socket == b->socket && a->node == b->node;
}

/* Cores of one paragraph, cut into lines of at most `width` cores. */
struct band {
	const struct map_cpu *first; /* first thread of the first core */
	size_t nr_cpus;
	unsigned int nr_threads;
};

static struct band cut_band(const struct map_cpu *cpus, size_t nr_cpus, unsigned int width)
{
	struct band band = {.first = cpus};
	unsigned int nr_cores = 0;

	for (size_t i = 0; i < nr_cpus && same_node(&cpus[i], cpus); i++) {
		nr_cores += cpus[i].thread == 0;
		if (nr_cores > width)
			break;
		band.nr_cpus++;
		if (cpus[i].thread + 1 > band.nr_threads)
			band.nr_threads = cpus[i].thread + 1;
	}
	return band;
}

enum cell { CELL_ID, CELL_WIDE_LETTER, CELL_LETTER };

/* One thread's row; a bar stands where another uncore cache begins. */
static void draw_row(const struct band *band, unsigned int thread, enum cell cell,
		     struct text *text)
{
	const struct map_cpu *before = NULL;

	text_append(text, "  ");
	for (size_t i = 0; i < band->nr_cpus; i++) {
		const struct map_cpu *cpu = &band->first[i];

		if (cpu->thread == 0) {
			if (before && before->uncore != cpu->uncore)
				text_append(text, cell == CELL_LETTER ? "|" : " |");
			before = cpu;
		}
		if (cpu->thread != thread)
			continue;
		if (cell == CELL_ID)
			text_printf(text, "%4u", cpu->cpu);
		else if (cell == CELL_WIDE_LETTER)
			text_printf(text, "   %c", cpu->letter);
		else
			text_append_len(text, &cpu->letter, 1);
	}
	text_append(text, "\n");
}

static void draw_band(const struct band *band, bool with_ids, struct text *text)
{
	for (unsigned int thread = 0; thread < band->nr_threads; thread++) {
		if (with_ids)
			draw_row(band, thread, CELL_ID, text);
		draw_row(band, thread, with_ids ? CELL_WIDE_LETTER : CELL_LETTER, text);
	}
}

static void draw_node_head(const struct map *map, size_t at, struct text *text)
{
	struct cpuset cpus = CPUSET_EMPTY;
	unsigned int nr_cores = 0;
	char list[48];

	for (size_t i = at; i < map->nr_cpus && same_node(&map->cpus[i], &map->cpus[at]); i++) {
		cpuset_add(&cpus, map->cpus[i].cpu);
		nr_cores += map->cpus[i].thread == 0;
	}
	if (cpuset_format(&cpus, list, sizeof(list)) >= sizeof(list))
		memcpy(list + sizeof(list) - 4, "...", 4);
	text_printf(text, "socket %u  node %u  %u cores  CPUs %s\n", map->cpus[at].socket,
		    map->cpus[at].node, nr_cores, list);
}

static void legend_line(char letter, const char *meaning, int meaning_len,
			const struct cpuset *cpus, struct text *text)
{
	char *list cleanup_free = malloc(CPUSET_TEXT_MAX);

	if (!list) {
		text->error = -ENOMEM;
		return;
	}
	cpuset_format(cpus, list, CPUSET_TEXT_MAX);
	text_printf(text, "  %c %-24.*s %4u  %s\n", letter, meaning_len, meaning,
		    cpuset_count(cpus), list);
}

static void draw_legend(const struct map *map, struct text *text)
{
	text_append(text, "\n");
	if (!cpuset_is_empty(&map->reserved))
		legend_line('R', map->reserved_in_pool ? "reserved, pods allowed" : "reserved", 24,
			    &map->reserved, text);
	legend_line('.', "shared pool", 24, &map->shared, text);
	if (!cpuset_is_empty(&map->excluded))
		legend_line('x', "excluded", 24, &map->excluded, text);
	for (size_t i = 0; i < map->nr_owners; i++) {
		const struct owner *owner = &map->owners[i];

		legend_line(i < sizeof(owner_letters) - 1 ? owner_letters[i] : LETTER_OF_MANY,
			    owner->name, (int)owner->len, &owner->cpus, text);
	}
}

int map_draw(struct json_object *cpus, struct text *text)
{
	struct map map cleanup(map_fini) = {0};
	bool with_ids;
	int r;

	if (!json_object_is_type(cpus, json_type_array))
		return -EPROTO;
	r = map_fill(&map, cpus);
	if (r)
		return r;
	with_ids = map.nr_cpus <= CPUS_WITH_IDS;
	for (size_t i = 0; i < map.nr_cpus;) {
		struct band band = cut_band(&map.cpus[i], map.nr_cpus - i,
					    with_ids ? (COLUMNS - 8) / 4 : COLUMNS - 16);

		if (!i || !same_node(&map.cpus[i], &map.cpus[i - 1]))
			draw_node_head(&map, i, text);
		draw_band(&band, with_ids, text);
		i += band.nr_cpus;
	}
	draw_legend(&map, text);
	return text->error;
}
