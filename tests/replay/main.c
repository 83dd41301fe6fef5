// SPDX-License-Identifier: Apache-2.0
/*
 * Player of recorded vectors: reads JSON lines (plain or gzip), hands each case
 * to the function of its kind, prints a line per kind and the sum last.
 *
 * Exit 0 when nothing failed, 1 when a case failed or there was none, 2 for a
 * wrong command line or a file that cannot be read.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/cleanup.h"
#include "replay.h"

#define SHOWN_FAILURES 10

struct topology_entry {
	char *name;
	struct topology *topology;
};

struct kind {
	const char *name;
	replay_kind *run;
	unsigned int nr[OUTCOME_NR];
	unsigned int nr_kubelet_rules;
};

static struct kind kinds[] = {
	{"take_packed", replay_take_packed, {0}, 0},
	{"take_distributed", replay_take_distributed, {0}, 0},
	{"resize_packed", replay_resize_packed, {0}, 0},
	{"resize_distributed", replay_resize_distributed, {0}, 0},
	{"static", replay_static, {0}, 0},
	{"admit", replay_admit, {0}, 0},
	{"checkpoint", replay_checkpoint, {0}, 0},
	{"hint_merge", replay_hint_merge, {0}, 0},
	{"memory_seq", replay_memory_seq, {0}, 0},
	{"memory_reserved", replay_memory_reserved, {0}, 0},
	{"memory_checkpoint", replay_memory_checkpoint, {0}, 0},
	{"memory_restore", replay_memory_restore, {0}, 0},
	{"unknown", NULL, {0}, 0}, /* last: anything else */
};

enum outcome replay_fail(struct replay *replay, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(replay->why, sizeof(replay->why), format, args);
	va_end(args);
	return OUTCOME_FAILED;
}

enum outcome replay_skip(struct replay *replay, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(replay->why, sizeof(replay->why), format, args);
	va_end(args);
	return OUTCOME_SKIPPED;
}

struct json_object *field_of(struct json_object *object, const char *name)
{
	struct json_object *field = NULL;

	json_object_object_get_ex(object, name, &field);
	return field;
}

const char *field_text(struct json_object *object, const char *name, const char *absent)
{
	struct json_object *field = field_of(object, name);

	return field ? json_object_get_string(field) : absent;
}

int64_t field_int(struct json_object *object, const char *name, int64_t absent)
{
	struct json_object *field = field_of(object, name);

	return field ? json_object_get_int64(field) : absent;
}

bool field_bool(struct json_object *object, const char *name)
{
	return json_object_get_boolean(field_of(object, name));
}

bool field_copy(const char *text, char *buffer, size_t size)
{
	size_t len = strlen(text);

	if (len >= size)
		return false;
	memcpy(buffer, text, len + 1);
	return true;
}

bool field_cpus(struct json_object *object, const char *name, struct cpuset *ret_cpus)
{
	const char *text = field_text(object, name, "");

	return cpuset_parse(text, strlen(text), ret_cpus) == 0;
}

struct json_object *replay_want(const struct replay *replay, struct json_object *line)
{
	struct json_object *fixed = field_of(line, "want_fixed");

	if (fixed && !compatibility_is_kubelet(replay->compatibility))
		return fixed;
	return field_of(line, "want");
}

const struct topology *replay_topology(const struct replay *replay, struct json_object *line)
{
	const char *name = field_text(line, "topo", "");

	for (size_t i = 0; i < replay->nr_topologies; i++) {
		if (strcmp(replay->topologies[i].name, name) == 0)
			return replay->topologies[i].topology;
	}
	return NULL;
}

bool replay_says_reason(const char *raw, const char *error)
{
	static const char *const ours[] = {": json: ", ": unexpected end", ": strconv.",
					   ": invalid range", ", please drain"};
	const char *reason = strstr(raw, "checkpoint: "), *end;
	size_t len;

	if (!reason)
		return true;
	reason += strlen("checkpoint: ");
	if (!strncmp(reason, "json: ", 6) || !strncmp(reason, "unexpected end", 14))
		return true;
	len = strlen(reason);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		end = strstr(reason, ours[i]);
		if (end && (size_t)(end - reason) < len)
			len = (size_t)(end - reason);
	}
	return !strncmp(reason, error, len);
}

static void fill_cpu(struct json_object *row, struct topology_cpu *ret_cpu)
{
	uint32_t ids[5] = {0};

	for (size_t i = 0; i < 5 && i < json_object_array_length(row); i++)
		ids[i] = (uint32_t)json_object_get_int64(json_object_array_get_idx(row, i));
	*ret_cpu = (struct topology_cpu){ids[0], ids[1], ids[2], ids[3], ids[4]};
}

void replay_node(struct json_object *object, struct topology_node *ret_node)
{
	struct json_object *pages = field_of(object, "hugepages");
	struct json_object *free = field_of(object, "kernel_free_pages");

	*ret_node = (struct topology_node){
		.id = (uint32_t)field_int(object, "id", 0),
		.memory_bytes = (uint64_t)field_int(object, "memory", 0),
	};
	for (size_t i = 0;
	     pages && i < json_object_array_length(pages) && i < TOPOLOGY_MAX_HUGEPAGES; i++) {
		struct json_object *row = json_object_array_get_idx(pages, i);
		int64_t kib = json_object_get_int64(json_object_array_get_idx(row, 0));
		int64_t nr = json_object_get_int64(json_object_array_get_idx(row, 1));

		ret_node->hugepages[ret_node->nr_hugepages++] = (struct hugepages){
			.size_bytes = (uint64_t)kib << 10,
			.total_pages = (uint64_t)nr,
			.free_pages = free ? (uint64_t)json_object_get_int64(
						     json_object_array_get_idx(free, i))
					   : UINT64_MAX,
		};
	}
}

static int make_topology(struct json_object *line, char *error, size_t error_size,
			 struct topology **ret_topology)
{
	struct json_object *rows = field_of(line, "cpus");
	size_t nr = rows ? json_object_array_length(rows) : 0;
	struct topology_cpu *cpus cleanup_free = calloc(nr + 1, sizeof(*cpus));
	struct json_object *list = field_of(line, "nodes");
	size_t nr_nodes = list ? json_object_array_length(list) : 0;
	struct topology_node *nodes cleanup_free = calloc(nr_nodes + 1, sizeof(*nodes));
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr,
		.nodes = nodes,
		.nr_nodes = nr_nodes,
		.num_cpus = (uint32_t)field_int(line, "num_cpus", TOPOLOGY_COUNTED),
		.num_cores = (uint32_t)field_int(line, "num_cores", TOPOLOGY_COUNTED),
		.num_sockets = (uint32_t)field_int(line, "num_sockets", TOPOLOGY_COUNTED),
		.num_nodes = (uint32_t)field_int(line, "num_numa", TOPOLOGY_COUNTED),
		.num_uncores = (uint32_t)field_int(line, "num_uncore", TOPOLOGY_COUNTED),
		/* Only machines of the kubelet's unit tests come with counts of their own. */
		.split_cores = field_of(line, "num_cpus") != NULL,
	};

	if (!cpus || !nodes)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		fill_cpu(json_object_array_get_idx(rows, i), &cpus[i]);
	for (size_t i = 0; i < nr_nodes; i++)
		replay_node(json_object_array_get_idx(list, i), &nodes[i]);
	return topology_new(&facts, error, error_size, ret_topology);
}

/* A name given again replaces the machine: files reuse each other's names. */
static int add_topology(struct replay *replay, struct json_object *line, char *error,
			size_t error_size)
{
	struct topology *topology cleanup_topology = NULL;
	const char *name = field_text(line, "topo", "");
	struct topology_entry *entry = NULL;
	int r;

	r = make_topology(line, error, error_size, &topology);
	if (r < 0)
		return r;
	for (size_t i = 0; i < replay->nr_topologies && !entry; i++) {
		if (strcmp(replay->topologies[i].name, name) == 0)
			entry = &replay->topologies[i];
	}
	if (!entry) {
		entry = reallocarray(replay->topologies, replay->nr_topologies + 1,
				     sizeof(*replay->topologies));
		if (!entry)
			return -ENOMEM;
		replay->topologies = entry;
		entry += replay->nr_topologies;
		*entry = (struct topology_entry){.name = strdup(name)};
		if (!entry->name)
			return -ENOMEM;
		replay->nr_topologies++;
	}
	topology_free(entry->topology);
	entry->topology = TAKE_PTR(topology);
	return 0;
}

static struct kind *find_kind(const char *name)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(kinds) && strcmp(kinds[i].name, name) != 0)
		i++;
	return &kinds[i];
}

static void count_case(struct kind *kind, enum outcome outcome, const char *id, const char *why)
{
	kind->nr[outcome]++;
	if (outcome == OUTCOME_FAILED && kind->nr[OUTCOME_FAILED] <= SHOWN_FAILURES)
		printf("  %s: %s\n", id, why);
}

static int parse_compatibility(const char *text, enum compatibility *ret_compatibility)
{
	for (int i = 0; i < COMPATIBILITY_NR; i++) {
		if (strcmp(text, compatibility_name((enum compatibility)i)) == 0) {
			*ret_compatibility = (enum compatibility)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* In the mode that the case states, or else the one asked for. */
static enum outcome play_case(struct replay *replay, const struct kind *kind,
			      struct json_object *line)
{
	enum compatibility asked = replay->compatibility;
	const char *stated = field_text(line, "compatibility", NULL);
	enum outcome outcome;

	if (!kind->run)
		return OUTCOME_SKIPPED;
	if (!replay_has_shape(replay, kind->name, line))
		return OUTCOME_FAILED;
	if (stated && parse_compatibility(stated, &replay->compatibility) < 0)
		return replay_fail(replay, "compatibility '%s' is unknown", stated);
	outcome = kind->run(replay, line);
	replay->compatibility = asked;
	return outcome;
}

static void play_line(struct replay *replay, const char *text, const char *file, size_t number)
{
	struct json_object *line = json_tokener_parse(text);
	const char *name = line ? field_text(line, "kind", "") : "";
	char place[512], error[256] = "out of memory";
	struct kind *kind;

	snprintf(place, sizeof(place), "%s:%zu", file, number);
	if (!line) {
		count_case(find_kind("unknown"), OUTCOME_FAILED, place, "this line is not JSON");
	} else if (strcmp(name, "topology") == 0) {
		if (!replay_has_shape(replay, name, line))
			count_case(find_kind("unknown"), OUTCOME_FAILED, place, replay->why);
		else if (add_topology(replay, line, error, sizeof(error)) < 0)
			count_case(find_kind("unknown"), OUTCOME_FAILED, place, error);
	} else {
		enum outcome outcome;

		kind = find_kind(name);
		replay->why[0] = '\0';
		replay->kubelet_rules = false;
		outcome = play_case(replay, kind, line);
		kind->nr_kubelet_rules += replay->kubelet_rules;
		count_case(kind, outcome, field_text(line, "id", place), replay->why);
	}
	json_object_put(line);
}

/* One line of any length without its newline; false at the end of the file. */
static bool read_line(gzFile file, char **buffer, size_t *size)
{
	size_t len = 0;

	for (;;) {
		if (*size - len < 2) {
			size_t larger = *size ? *size * 2 : 65536;
			char *grown = realloc(*buffer, larger);

			if (!grown)
				return false;
			*buffer = grown;
			*size = larger;
		}
		if (!gzgets(file, *buffer + len, (int)(*size - len)))
			return len > 0;
		len += strlen(*buffer + len);
		if (len && (*buffer)[len - 1] == '\n') {
			(*buffer)[len - 1] = '\0';
			return true;
		}
	}
}

static int play_file(struct replay *replay, const char *name)
{
	gzFile file = strcmp(name, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "r") : gzopen(name, "r");
	char *line cleanup_free = NULL;
	size_t size = 0, number = 0;
	int error;

	if (!file) {
		fprintf(stderr, "replay: cannot open %s: %s\n", name, strerror(errno));
		return -1;
	}
	while (read_line(file, &line, &size)) {
		number++;
		if (line[0])
			play_line(replay, line, name, number);
	}
	gzerror(file, &error);
	if (error != Z_OK && error != Z_STREAM_END) {
		fprintf(stderr, "replay: cannot read %s beyond line %zu\n", name, number);
		gzclose(file);
		return -1;
	}
	gzclose(file);
	return 0;
}

static void free_topologies(struct replay *replay)
{
	for (size_t i = 0; i < replay->nr_topologies; i++) {
		free(replay->topologies[i].name);
		topology_free(replay->topologies[i].topology);
	}
	free(replay->topologies);
}

static bool print_sum(void)
{
	unsigned int sum[OUTCOME_NR] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *kind = &kinds[i];

		if (!kind->nr[OUTCOME_PASSED] && !kind->nr[OUTCOME_FAILED] &&
		    !kind->nr[OUTCOME_SKIPPED])
			continue;
		printf("%-18s %u passed, %u failed, %u skipped", kind->name,
		       kind->nr[OUTCOME_PASSED], kind->nr[OUTCOME_FAILED],
		       kind->nr[OUTCOME_SKIPPED]);
		if (!kind->run)
			printf(" (no handler for this kind)");
		if (kind->nr_kubelet_rules)
			printf(" (%u by kubelet-1.36 rules in every mode)", kind->nr_kubelet_rules);
		putchar('\n');
		for (size_t j = 0; j < OUTCOME_NR; j++)
			sum[j] += kind->nr[j];
	}
	printf("%u passed, %u failed, %u skipped\n", sum[OUTCOME_PASSED], sum[OUTCOME_FAILED],
	       sum[OUTCOME_SKIPPED]);
	return sum[OUTCOME_FAILED] == 0 && sum[OUTCOME_PASSED] + sum[OUTCOME_SKIPPED] > 0;
}

static int usage(FILE *out)
{
	fprintf(out, "usage: replay [--compatibility repaired|kubelet-1.36|kubelet-1.37|improved] "
		     "FILE...\n"
		     "FILE: recorded vectors, JSON lines, plain or gzip; - reads standard input\n");
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"compatibility", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct replay replay = {.compatibility = COMPATIBILITY_REPAIRED};
	bool readable = true, passed;
	int option;

	while ((option = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		if (option == 'h')
			return usage(stdout);
		if (option != 'c')
			return usage(stderr);
		if (parse_compatibility(optarg, &replay.compatibility) < 0) {
			fprintf(stderr,
				"replay: compatibility '%s' is unknown; say repaired, "
				"kubelet-1.36, kubelet-1.37 or improved\n",
				optarg);
			return 2;
		}
	}
	if (optind == argc)
		return usage(stderr);
	for (int i = optind; i < argc; i++)
		readable &= play_file(&replay, argv[i]) == 0;
	passed = print_sum();
	free_topologies(&replay);
	return readable ? !passed : 2;
}
