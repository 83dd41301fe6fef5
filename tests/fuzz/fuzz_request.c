// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
// COVERS: user/ctl/command.c
// COVERS: user/ctl/report.c:ctl_query
/*
 * Requests of the API: the first line is the path after /v1/, the rest the body,
 * no body = GET. Whatever is asked, the answer is whole, the ledger as it was.
 */
#include <errno.h>
#include <json-c/json.h>
#include <unistd.h>

#include "../lib/fake_world.h"
#include "fuzz.h"
#include "lib/log.h"

#define PATH_SIZE 128

static struct config config;
static struct controller *controller;

static void add_init_container(struct pod_spec *spec)
{
	struct container_spec *containers = calloc(2, sizeof(*containers));

	FUZZ_CHECK(containers);
	containers[1] = spec->containers[0];
	containers[0] = containers[1];
	containers[0].kind = CONTAINER_INIT;
	snprintf(containers[0].name, sizeof(containers[0].name), "init");
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = 2;
}

static void set_populated(bool init)
{
	for (uint32_t i = 0; i < fake->nr_groups; i++) {
		struct fake_group *group = fake_at(i);

		group->populated = group->role != GROUP_CONTAINER ||
				   !strcmp(group->container, "old") ||
				   (init && !strcmp(group->container, "web"));
	}
}

/* One pod of each kind of answer: exclusive, with an init container, ending, refused. */
static void make_world(void)
{
	static struct policy policy;
	const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.12",
		.boot_id = "boot",
		.revision = "fuzz",
	};
	struct pod_spec *specs[] = {fake_pod("db", "postgres", 4000, true),
				    fake_pod("web", "web", 500, false),
				    fake_pod("old", "old", 500, false),
				    fake_pod("huge", "solver", 400000, true)};
	struct source_pod pods[ARRAY_SIZE(specs)];
	const struct source_sink *sink;
	char error[256];

	add_init_container(specs[1]);
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = 1, .name = ""};
	log_open("fuzz", LOG_LEVEL_ERR);
	fake_world_make();
	config_default(&config);
	config.policy.has_reserved_list = true;
	cpuset_add(&config.policy.reserved_list, 0);
	policy = config.policy;
	FUZZ_CHECK(!controller_new(fake_machine(2, 4, 2), &policy, &options, &fake_ports, error,
				   sizeof(error), &controller));
	FUZZ_CHECK(!controller_start(controller));
	sink = &controller_sinks(controller)->source;
	sink->scanned(sink->self, pods, ARRAY_SIZE(pods), true);
	controller_wake(controller);
	set_populated(false);
	pods[2] = pods[3];
	sink->scanned(sink->self, pods, 3, true);
	controller_wake(controller);
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		pod_spec_free(specs[i]);
}

static struct json_object *ask(const char *object)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;
	int r = faces->query(faces->self, object, &json);

	FUZZ_CHECK(r == 0 || r == -ENOENT);
	FUZZ_CHECK((r == 0) == (json != NULL));
	return json;
}

static void command(const char *path, struct json_object *body)
{
	const struct faces_port *faces = controller_faces(controller);
	const char *slash = strchr(path, '/');
	struct json_object *reply = NULL, *error;
	unsigned int status = 0;
	char object[64], why[256] = "";
	int r;

	snprintf(object, sizeof(object), "%.*s", slash ? (int)(slash - path) : 63, path);
	r = faces->command(faces->self, 1, object, slash ? slash + 1 : "", body, getpid(), &reply,
			   &status);
	FUZZ_CHECK(r == 0 || r == -ENOENT || r == -EINPROGRESS);
	if (r == -EINPROGRESS) {
		/* the client goes away before the process has joined */
		faces->withdraw(faces->self, 1, why, sizeof(why));
		FUZZ_CHECK(*why && memchr(why, '\0', sizeof(why)));
		fake_end_join(controller, 0);
	}
	if (r)
		return;
	FUZZ_CHECK(reply && status >= 200 && status < 600);
	if (status >= 300)
		FUZZ_CHECK(json_object_object_get_ex(reply, "error", &error));
	json_object_put(reply);
}

static void check_ledger(void)
{
	struct json_object *pods = ask("pod");

	FUZZ_CHECK(json_object_array_length(pods) == 3);
	json_object_put(pods);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = memchr(data, '\n', size);
	size_t path_len = line ? (size_t)(line - data) : size;
	struct json_tokener *tokener;
	struct json_object *body = NULL;
	char path[PATH_SIZE];

	if (!controller)
		make_world();
	if (path_len >= sizeof(path) || memchr(data, '\0', path_len))
		return 0;
	memcpy(path, data, path_len);
	path[path_len] = '\0';
	if (!line) {
		json_object_put(ask(path));
		return 0;
	}
	tokener = json_tokener_new_ex(16);
	FUZZ_CHECK(tokener);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	if (path_len + 1 < size)
		body = json_tokener_parse_ex(tokener, (const char *)line + 1,
					     (int)(size - path_len - 1));
	set_populated(size % 2);
	fake->slow_join = size % 3 == 0;
	/* the server lets only objects through; the rest must do no harm */
	command(path, body);
	json_object_put(body);
	json_tokener_free(tokener);
	check_ledger();
	return 0;
}
