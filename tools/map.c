// SPDX-License-Identifier: Apache-2.0
/*
 * The machine on one screen: a paragraph per NUMA node, a column per core, a
 * row per hardware thread, a letter for whom the CPU is for. Small machines
 * show CPU ids; big ones only letters. Below the letters is how much of its
 * time containers had each CPU, if the agent knows; colours tell the pods apart.
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
/*
 * Parameters of SGR that are readable on dark and light backgrounds. Like the letters they are
 * given out in the order of the CPUs, and begin again when there are more pods.
 */
static const char *const colours[] = {"32", "36", "33", "35", "34", "1;32", "1;36", "1;35", "1;34"};
#define COLOUR_OF_RESERVED "31"
#define COLOUR_OF_NONE	   ""
#define USE_UNKNOWN	   -1

struct map_cpu {
	unsigned int cpu, core, uncore, node, socket;
	unsigned int thread; /* which of its core's */
	char letter;
	const char *colour;
	int use; /* percent of the time, or USE_UNKNOWN */
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
	bool is_coloured;
	bool has_use;
	int64_t window_ns; /* that `use` is of */
	int *use;	   /* owned; by CPU id, in percent; NULL = not known */
};

static void map_fini(struct map *map)
{
	free(map->cpus);
	free(map->owners);
	free(map->use);
}
#define cleanup_map cleanup(map_fini)

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

static const char *owner_colour(size_t owner)
{
	return colours[owner % ARRAY_SIZE(colours)];
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

static const char *colour_of(const struct map *map, char letter, uint32_t cpu)
{
	if (letter == 'R')
		return COLOUR_OF_RESERVED;
	for (size_t i = 0; i < map->nr_owners; i++)
		if (cpuset_has(&map->owners[i].cpus, cpu))
			return owner_colour(i);
	return COLOUR_OF_NONE;
}

/* Of several containers on one CPU the windows may differ a little, so the sum may exceed 100. */
static int percent_of(int64_t run_ns, int64_t window_ns)
{
	return run_ns >= window_ns ? 100 : (int)((double)run_ns * 100 / (double)window_ns + 0.5);
}

static int use_of(const struct map *map, uint32_t cpu)
{
	if (!map->has_use)
		return USE_UNKNOWN;
	return map->use[cpu];
}

static int fill_use(struct map *map, struct json_object *uses)
{
	if (!json_object_is_type(uses, json_type_array))
		return 0;
	map->use = calloc(CPUSET_MAX, sizeof(*map->use));
	if (!map->use)
		return -ENOMEM;
	for (size_t i = 0; i < json_object_array_length(uses); i++) {
		struct view_cpu_use row;

		object_read(&view_cpu_use_desc, json_object_array_get_idx(uses, i), &row);
		if (row.cpu >= CPUSET_MAX || row.window_ns <= 0)
			continue;
		map->has_use = true;
		map->window_ns = row.window_ns;
		map->use[row.cpu] = percent_of(row.run_ns, row.window_ns);
	}
	return 0;
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
			.use = use_of(map, row.cpu),
		};
	}
	for (size_t i = 0; i < map->nr_cpus; i++)
		map->cpus[i].colour = colour_of(map, map->cpus[i].letter, map->cpus[i].cpu);
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

enum cell { CELL_ID, CELL_WIDE_LETTER, CELL_LETTER, CELL_WIDE_USE, CELL_USE };

static bool is_wide(enum cell cell)
{
	return cell != CELL_LETTER && cell != CELL_USE;
}

/* Tenths, cut; a CPU without any is told from one with a little. */
static char digit_of(int use)
{
	if (use <= 0)
		return '-';
	return use >= 100 ? '9' : (char)('0' + use / 10);
}

static void draw_cell(const struct map_cpu *cpu, enum cell cell, struct text *text)
{
	switch (cell) {
	case CELL_ID:
		text_printf(text, "%4u", cpu->cpu);
		break;
	case CELL_WIDE_LETTER:
		text_printf(text, "   %c", cpu->letter);
		break;
	case CELL_LETTER:
		text_append_len(text, &cpu->letter, 1);
		break;
	case CELL_WIDE_USE:
		text_printf(text, "%4d", cpu->use);
		break;
	case CELL_USE:
		text_printf(text, "%c", digit_of(cpu->use));
		break;
	}
}

static void begin_colour(const char *colour, struct text *text)
{
	if (*colour)
		text_printf(text, "\033[%sm", colour);
}

static void end_colour(const char *colour, struct text *text)
{
	if (*colour)
		text_append(text, "\033[0m");
}

/* One thread's row; a bar stands where another uncore cache begins. */
static void draw_row(const struct map *map, const struct band *band, unsigned int thread,
		     enum cell cell, struct text *text)
{
	const bool is_coloured = map->is_coloured && cell != CELL_ID;
	const struct map_cpu *before = NULL;

	text_append(text, "  ");
	for (size_t i = 0; i < band->nr_cpus; i++) {
		const struct map_cpu *cpu = &band->first[i];
		const char *colour = is_coloured ? cpu->colour : COLOUR_OF_NONE;

		if (cpu->thread == 0) {
			if (before && before->uncore != cpu->uncore)
				text_append(text, is_wide(cell) ? " |" : "|");
			before = cpu;
		}
		if (cpu->thread != thread)
			continue;
		begin_colour(colour, text);
		draw_cell(cpu, cell, text);
		end_colour(colour, text);
	}
	text_append(text, "\n");
}

static void draw_band(const struct map *map, const struct band *band, bool with_ids,
		      struct text *text)
{
	for (unsigned int thread = 0; thread < band->nr_threads; thread++) {
		if (with_ids)
			draw_row(map, band, thread, CELL_ID, text);
		draw_row(map, band, thread, with_ids ? CELL_WIDE_LETTER : CELL_LETTER, text);
		if (map->has_use)
			draw_row(map, band, thread, with_ids ? CELL_WIDE_USE : CELL_USE, text);
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

struct legend {
	char letter;
	const char *colour;
	const char *meaning;
	int meaning_len;
	const struct cpuset *cpus;
};

static void legend_line(const struct map *map, const struct legend *line, struct text *text)
{
	const char *colour = map->is_coloured ? line->colour : COLOUR_OF_NONE;
	char *list cleanup_free = malloc(CPUSET_TEXT_MAX);
	char meaning[2 * POD_NAME_MAX];

	if (!list) {
		text->error = -ENOMEM;
		return;
	}
	cpuset_format(line->cpus, list, CPUSET_TEXT_MAX);
	snprintf(meaning, sizeof(meaning), "%.*s", line->meaning_len, line->meaning);
	text_hide_controls(meaning);
	text_append(text, "  ");
	begin_colour(colour, text);
	text_append_len(text, &line->letter, 1);
	end_colour(colour, text);
	text_printf(text, " %-24s %4u  %s\n", meaning, cpuset_count(line->cpus), list);
}

static void draw_use_legend(const struct map *map, bool with_ids, struct text *text)
{
	text_printf(text, "\nbelow a letter: %s of the last ", with_ids ? "percent" : "tenths");
	object_append_seconds(text, (double)map->window_ns / 1e9);
	text_printf(text, " in which containers ran there%s\n", with_ids ? "" : ", - none");
}

static void draw_legend(const struct map *map, struct text *text)
{
	const struct legend reserved = {
		'R', COLOUR_OF_RESERVED,
		map->reserved_in_pool ? "reserved, pods allowed" : "reserved", 24, &map->reserved};
	const struct legend shared = {'.', COLOUR_OF_NONE, "shared pool", 24, &map->shared};
	const struct legend excluded = {'x', COLOUR_OF_NONE, "excluded", 24, &map->excluded};

	text_append(text, "\n");
	if (!cpuset_is_empty(&map->reserved))
		legend_line(map, &reserved, text);
	legend_line(map, &shared, text);
	if (!cpuset_is_empty(&map->excluded))
		legend_line(map, &excluded, text);
	for (size_t i = 0; i < map->nr_owners; i++) {
		const struct owner *owner = &map->owners[i];
		const struct legend line = {
			.letter = i < sizeof(owner_letters) - 1 ? owner_letters[i] : LETTER_OF_MANY,
			.colour = owner_colour(i),
			.meaning = owner->name,
			.meaning_len = (int)owner->len,
			.cpus = &owner->cpus,
		};

		legend_line(map, &line, text);
	}
}

int map_draw(const struct map_request *request, struct text *text)
{
	struct map map cleanup_map = {.is_coloured = request->is_coloured};
	bool with_ids;
	int r;

	if (!json_object_is_type(request->cpus, json_type_array))
		return -EPROTO;
	r = fill_use(&map, request->uses);
	if (!r)
		r = map_fill(&map, request->cpus);
	if (r)
		return r;
	with_ids = map.nr_cpus <= CPUS_WITH_IDS;
	for (size_t i = 0; i < map.nr_cpus;) {
		struct band band = cut_band(&map.cpus[i], map.nr_cpus - i,
					    with_ids ? (COLUMNS - 8) / 4 : COLUMNS - 16);

		if (!i || !same_node(&map.cpus[i], &map.cpus[i - 1]))
			draw_node_head(&map, i, text);
		draw_band(&map, &band, with_ids, text);
		i += band.nr_cpus;
	}
	draw_legend(&map, text);
	if (map.has_use)
		draw_use_legend(&map, with_ids, text);
	return text->error;
}
