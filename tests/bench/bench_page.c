// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What the page for people costs with 250 pods of three containers on 256 CPUs and 8 NUMA nodes: its
 * bytes, the time from objects to HTML with something in every table, and the whole answer of a
 * controller, beside its page of metrics. The kernel's side is stubbed, so neither has what BPF
 * counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/fake_world.h"
#include "../lib/page_scene.h"
#include "bench.h"
#include "bench_controller.h"
#include "bench_pods.h"
#include "lib/log.h"

#define NR_PODS 250
#define PARAMS	"{\"pods\": 250, \"containers\": 750, \"cpus\": 256, \"nodes\": 8}"

static struct config config;
static struct policy policy;
static struct topology *topology;
static struct pod_spec *specs[NR_PODS];
static struct controller *controller;
static struct page scene;

static void die(const char *what)
{
	fprintf(stderr, "bench_page: %s\n", what);
	exit(1);
}

static void start(void)
{
	struct source_pod *pods = calloc(NR_PODS, sizeof(*pods));
	const struct source_sink *sink;

	fake_world_make();
	topology = fake_machine(8, 16, 2);
	config_default(&config);
	config.policy.cpu_options.strict_reservation = true;
	config.policy.has_reserved_list = true;
	cpuset_add(&config.policy.reserved_list, 0);
	cpuset_add(&config.policy.reserved_list, 128);
	policy = config.policy;
	if (!pods)
		die("no memory");
	controller = bench_controller_start(topology, &policy, &config, &fake_ports);
	for (int i = 0; i < NR_PODS; i++) {
		specs[i] = bench_pod(i);
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = 1, .name = specs[i]->name};
	}
	sink = &controller_sinks(controller)->source;
	sink->scanned(sink->self, pods, NR_PODS, true);
	controller_wake(controller);
	free(pods);
}

static void render(void *len)
{
	struct text text cleanup_text = {0};

	page_render(&scene, &text);
	*(size_t *)len = text.len;
}

static void answer(void *len)
{
	const struct faces_port *faces = controller_faces(controller);
	struct face_page page;

	if (faces->page(faces->self, &page) || !strstr(page.data, "pod-249/logs"))
		die("the page is not whole");
	*(size_t *)len = page.len;
}

static void scrape(void *len)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text text cleanup_text = {0};

	if (faces->metrics(faces->self, false, &text))
		die("the page of metrics is not whole");
	*(size_t *)len = text.len;
}

static void print_bytes(const char *name, size_t bytes)
{
	printf("{\"name\": \"%s\", \"params\": " PARAMS
	       ", \"unit\": \"bytes\", \"median\": %zu, \"p99\": %zu, \"n\": 1}\n",
	       name, bytes, bytes);
}

int main(void)
{
	static const struct page_scene_size size = {256, 8, NR_PODS, BENCH_CONTAINERS};
	size_t len = 0;

	log_open("bench_page", LOG_LEVEL_ERR);
	scene = page_scene_make(&size);
	bench_run("page_render", PARAMS, render, &len);
	print_bytes("page_render_bytes", len);
	page_scene_free(&scene);
	start();
	bench_run("page_answer", PARAMS, answer, &len);
	print_bytes("page_answer_bytes", len);
	bench_run("page_metrics", PARAMS, scrape, &len);
	print_bytes("page_metrics_bytes", len);
	controller_free(controller);
	for (int i = 0; i < NR_PODS; i++)
		pod_spec_free(specs[i]);
	topology_free(topology);
	fake_world_clear();
	return 0;
}
