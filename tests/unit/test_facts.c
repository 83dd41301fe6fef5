// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* Facts files: a machine there and back, the forms of recorded vectors, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/facts.h"
#include "lib/text.h"

#include "../lib/data.h"

static struct format_error error;

static struct topology *parse(const char *text)
{
	char sentence[FORMAT_ERROR_TEXT_MAX];
	struct topology *topology = NULL;

	if (facts_parse(text, strlen(text), &error, &topology) < 0)
		fail_msg("%s", format_error_text(&error, NULL, sentence, sizeof(sentence)));
	return topology;
}

static const char machine[] =
	"{\"kind\": \"topology\", \"topo\": \"t\",\n"
	" \"cpus\": [[0,0,0,0,0],[1,0,0,0,0],[4,4,1,8,1],[5,4,1,8,1]],\n"
	" \"nodes\": [{\"id\": 9, \"memory\": \"1Gi\"},\n"
	"   {\"id\": 0, \"memory\": 4294967296, \"hugepages\": [[2048, 512, 100], [1048576, 1]]},\n"
	"   {\"id\": 8, \"memory\": 4294967296}],\n"
	" \"distances\": [[10, 30, 40], [30, 10, 20], [40, 20, 10]]}\n";

static void every_field(void **state)
{
	struct topology *topology cleanup_topology = parse(machine);
	const struct topology_node *node = &topology->memory_nodes[0];

	assert_int_equal(cpuset_count(&topology->all), 4);
	assert_int_equal(topology->num_cores, 2);
	assert_int_equal(topology->nodes.nr, 2);
	assert_int_equal(topology->nodes.ids[1], 8);
	/* ascending, whatever the order of the file */
	assert_int_equal(topology->nr_memory_nodes, 3);
	assert_int_equal(topology->memory_nodes[2].id, 9);
	assert_int_equal(topology->memory_nodes[2].memory_bytes, 1 << 30);
	assert_int_equal(node->nr_hugepages, 2);
	assert_int_equal(node->hugepages[0].size_bytes, 2 << 20);
	assert_int_equal(node->hugepages[0].total_pages, 512);
	assert_int_equal(node->hugepages[0].free_pages, 100);
	assert_true(node->hugepages[1].free_pages == UINT64_MAX);
	/* node 0 to node 9: row and column 0 and 2 now */
	assert_int_equal(topology->distances[2], 30);
	assert_int_equal(topology->distances[1 * 3 + 2], 40);
}

static void rendering_reads_back(void **state)
{
	struct topology *topology cleanup_topology = parse(machine), *again cleanup_topology = NULL;
	struct text first cleanup_text = {0}, second cleanup_text = {0};

	facts_render(topology, &first);
	again = parse(first.data);
	facts_render(again, &second);
	assert_string_equal(first.data, second.data);
	assert_int_equal(again->memory_nodes[0].hugepages[0].free_pages, 100);
	assert_true(again->memory_nodes[0].hugepages[1].free_pages == UINT64_MAX);
	assert_int_equal(again->distances[2], 30);
}

static void counts_replace_the_list(void **state)
{
	struct topology *topology cleanup_topology =
		parse("{cpus: [[0,0,0,0,0]], num_cpus: 8, num_cores: 4, num_sockets: 2, "
		      "num_numa: 2, num_uncore: 1}");

	assert_int_equal(topology->num_cpus, 8);
	assert_int_equal(topology->cpus_per_core, 2);
	assert_int_equal(topology->cpus_per_socket, 4);
}

static void check_bad(const char *path, const char *data, size_t len, const char *expected)
{
	char sentence[FORMAT_ERROR_TEXT_MAX] = "accepted";
	struct topology *topology cleanup_topology = NULL;

	if (facts_parse(data, len, &error, &topology) < 0)
		format_error_text(&error, NULL, sentence, sizeof(sentence));
	if (strcmp(sentence, expected) != 0)
		fail_msg("%s: got '%s', expected '%s'", path, sentence, expected);
}

static void bad_files(void **state)
{
	data_for_each_bad("tests/data/bad/facts", 9, check_bad);
}

static void more_nodes_than_handled(void **state)
{
	struct text text cleanup_text = {0};
	struct topology *topology = NULL;

	text_append(&text, "{cpus: [[0,0,0,0,0]], nodes: [");
	for (int i = 0; i <= TOPOLOGY_MAX_NODES; i++)
		text_printf(&text, "{id: %d},", i);
	text_append(&text, "]}");
	assert_int_equal(facts_parse(text.data, text.len, &error, &topology), -EINVAL);
	assert_string_equal(error.message, "65 nodes; at most 64 are supported");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field),
		cmocka_unit_test(rendering_reads_back),
		cmocka_unit_test(counts_replace_the_list),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(more_nodes_than_handled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
