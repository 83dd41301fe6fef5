// SPDX-License-Identifier: Apache-2.0
// LIBS: serve format core lib
/*
 * node ADDRESS DIRECTORY CPUS NODES PODS CONTAINERS: the agent's HTTP server with the page of a node
 * of that size that does not exist, for a browser. Each time it is read, the page is a second older.
 * Runs until it is killed.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "../lib/page_scene.h"
#include "lib/log.h"
#include "serve/server.h"

static struct page page;

static int next_page(void *self, struct face_page *ret_page)
{
	static struct text text;
	static uint64_t version;

	page.written_ns += 1000000000;
	text_fini(&text);
	page_render(&page, &text);
	*ret_page = (struct face_page){text.data, text.len, ++version};
	return text.error;
}

static int no_metrics(void *self, bool openmetrics, struct text *out)
{
	text_append(out, "# EOF\n");
	return out->error;
}

static bool is_good(void *self, char *reason, size_t size)
{
	return true;
}

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	const struct faces_port faces = {
		.page = next_page, .metrics = no_metrics, .healthy = is_good, .ready = is_good};
	struct server_options options = {.socket_name = "api.sock"};
	struct page_scene_size size;
	struct server *server = NULL;
	sd_event *event = NULL;

	if (argc != 7)
		return 2;
	log_open("node", LOG_LEVEL_ERR);
	size = (struct page_scene_size){number(argv[3]), number(argv[4]), number(argv[5]),
					number(argv[6])};
	page = page_scene_make(&size);
	options.metrics_address = argv[1];
	options.runtime_dir = argv[2];
	options.runtime_dir_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (options.runtime_dir_fd < 0 || sd_event_default(&event) < 0 ||
	    server_open(&options, &faces, event, &server))
		return 1;
	return sd_event_loop(event);
}
