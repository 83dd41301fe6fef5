// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What the event loop spends on where containers ran, with 300 containers that all have run on each of
 * 256 CPUs: about all of them, about one of them, and summed up for each CPU. The kernel's side is
 * stubbed, so the reading of the counters and affinities is not measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "../lib/fake_world.h"
#include "bench.h"
#include "bench_controller.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/log.h"

#define NR_PODS 300
#define NR_CPUS 256
#define PARAMS	"{\"pods\": 300, \"containers\": 300, \"cpus\": 256, \"nodes\": 8}"

static struct config config;
static struct policy policy;
static struct topology *topology;
static struct pod_spec *specs[NR_PODS];
static struct controller *controller;
static uint64_t run_ns[NR_CPUS], outside_ns[NR_CPUS], remote_ns[NR_CPUS];

static void die(const char *what)
{
	fprintf(stderr, "bench_placement: %s\n", what);
	exit(1);
}

static int usage_everywhere(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	*ret_usage = (struct usage){.run_local_ns = NR_CPUS * run_ns[0],
				    .nr_cpus = NR_CPUS,
				    .run_ns = run_ns,
				    .outside_ns = outside_ns,
				    .remote_ns = remote_ns};
	return 0;
}

/* Every CPU ran each container for so long since the last time. */
static void run_for(uint64_t ns)
{
	for (int cpu = 0; cpu < NR_CPUS; cpu++)
		run_ns[cpu] += ns;
	fake->now_ns += 20 * 1000000000ULL;
	controller_tick(controller);
}

static void start(void)
{
	static struct controller_ports ports;
	static struct kernel_port kernel;
	static struct source_pod pods[NR_PODS];
	const struct source_sink *sink;
	char name[32];

	fake_world_make();
	ports = fake_ports;
	kernel = fake_kernel;
	kernel.usage = usage_everywhere;
	ports.kernel = &kernel;
	topology = fake_machine(8, 16, 2);
	config_default(&config);
	config.policy.has_reserved_list = true;
	cpuset_add(&config.policy.reserved_list, 0);
	policy = config.policy;
	controller = bench_controller_start(topology, &policy, &config, &ports);
	for (int i = 0; i < NR_PODS; i++) {
		snprintf(name, sizeof(name), "pod-%03d", i);
		specs[i] = fake_pod(name, "main", 100, false);
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = 1, .name = specs[i]->name};
	}
	sink = &controller_sinks(controller)->source;
	sink->scanned(sink->self, pods, NR_PODS, true);
	controller_wake(controller);
	for (int i = 0; i < 3; i++)
		run_for(1234567890);
	fake->now_ns += 5 * 1000000000ULL;
}

/* *takes* json. The bytes that the server sends. */
static size_t length_of(struct json_object *json)
{
	size_t len = json ? strlen(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN))
			  : 0;

	json_object_put(json);
	return len;
}

static void ask(const char *object, size_t *ret_len)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;

	if (faces->query(faces->self, object, &json))
		die(object);
	*ret_len = length_of(json);
}

static void all(void *len)
{
	ask("placement", len);
}

static void summed(void *len)
{
	ask("cpu_use", len);
}

static void one(void *len)
{
	const struct view_placement_request request = {.pod = "pod-007"};
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *body = object_json(&view_placement_request_desc, &request, 1);
	struct json_object *json = NULL;
	unsigned int status = 0;

	if (faces->command(faces->self, 1, "container", "placement", body, 1, &json, &status) ||
	    status != 200)
		die("container placement");
	json_object_put(body);
	*(size_t *)len = length_of(json);
}

static void measure(const char *name, void (*call)(void *len))
{
	char bytes[64];
	size_t len = 0;

	bench_run(name, PARAMS, call, &len);
	snprintf(bytes, sizeof(bytes), "%s_bytes", name);
	printf("{\"name\": \"%s\", \"params\": " PARAMS
	       ", \"unit\": \"bytes\", \"median\": %zu, \"p99\": %zu, \"n\": 1}\n",
	       bytes, len, len);
}

int main(void)
{
	log_open("bench_placement", LOG_LEVEL_ERR);
	start();
	measure("placement_all", all);
	measure("placement_one", one);
	measure("placement_summed", summed);
	controller_free(controller);
	for (int i = 0; i < NR_PODS; i++)
		pod_spec_free(specs[i]);
	topology_free(topology);
	fake_world_clear();
	return 0;
}
