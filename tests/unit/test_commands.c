// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Requests that change something, `run` and `drift repair`: who may start when,
 * what ends for it, and what each refusal says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <fcntl.h>

#include "lib/log.h"
#include "node_scene.h"

static char joined_path[GROUP_PATH_MAX];
static pid_t joined_pid;
static int join_error;
static const char *join_sentence;

static int watched_join(void *self, const char *path, pid_t pid, int pidfd,
			char error[GROUP_ERROR_MAX])
{
	if (join_error) {
		snprintf(error, GROUP_ERROR_MAX, "%s", join_sentence);
		return join_error;
	}
	assert_true(pidfd >= 0);
	snprintf(joined_path, sizeof(joined_path), "%s", path);
	joined_pid = pid;
	return fake_join(self, path, pid, pidfd, error);
}

static int set_up_commands(void **state)
{
	int r = set_up_node(state);

	groups.join = watched_join;
	*joined_path = '\0';
	joined_pid = 0;
	join_error = 0;
	return r;
}

static struct json_object *ask(struct controller *controller, const char *object,
			       const char *command, struct json_object *body, unsigned int wanted)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;
	unsigned int status = 0;

	assert_int_equal(
		faces->command(faces->self, 1, object, command, body, getpid(), &json, &status), 0);
	if (status != wanted)
		fail_msg("status %u instead of %u: %s", status, wanted,
			 json_object_to_json_string(json));
	return json;
}

static struct json_object *ask_run(struct controller *controller, const char *pod,
				   const char *container, unsigned int wanted)
{
	struct json_object *body = json_object_new_object();
	struct json_object *json;

	if (pod)
		json_object_object_add(body, "pod", json_object_new_string(pod));
	if (container)
		json_object_object_add(body, "container", json_object_new_string(container));
	json = ask(controller, "run", "", body, wanted);
	json_object_put(body);
	return json;
}

/* The answer is an error with this in it. */
static void expect_error(struct json_object *json, const char *part)
{
	if (!strstr(member(json, "error"), part))
		fail_msg("'%s' does not say '%s'", member(json, "error"), part);
	json_object_put(json);
}

/* --- run -------------------------------------------------------------------------------------------- */

static void run_joins_the_container(void **state)
{
	static const char *const names[] = {"default/a", "a", "uid-a"};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 2);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct json_object *json = ask_run(controller, names[i], "exclusive", 200);

		assert_string_equal(joined_path, "pinfold.slice/poduid-a/exclusive");
		assert_int_equal(joined_pid, getpid());
		assert_string_equal(member(json, "namespace"), "default");
		assert_string_equal(member(json, "pod"), "a");
		assert_string_equal(member(json, "container"), "exclusive");
		assert_string_equal(member(json, "cgroup"), "pinfold.slice/poduid-a/exclusive");
		json_object_put(json);
		*joined_path = '\0';
	}
	controller_free(controller);
	free_pods(pods, 2);
}

/* Its cgroups are the runtime's, which is to know of the processes in them. */
static void run_leaves_the_pods_of_a_runtime_to_it(void **state)
{
	struct pod_spec *pod = fake_pod("r", "web", 4000, true);
	const struct runtime_pod sandbox = {.id = "sandbox", .spec = pod};
	const struct runtime_container container = {
		.id = "container", .pod = &sandbox, .spec = &pod->containers[0], .cpus = ""};
	struct controller *controller = start_node(NULL);
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;

	pod->is_of_runtime = true;
	pod->stated_qos = QOS_GUARANTEED;
	sink->synchronized(sink->self, 1, &(struct runtime_snapshot){0});
	sink->created(sink->self, 2, &container);
	expect_error(ask_run(controller, "default/r", "web", 409),
		     "pod default/r is a container runtime's");
	expect_error(ask_run(controller, "default/r", "other", 404),
		     "pod default/r has no container 'other'");
	assert_string_equal(joined_path, "");
	controller_free(controller);
	pod_spec_free(pod);
}

static void run_gives_the_reason_of_a_refusal(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("big", "big", 12000, true)};
	struct controller *controller = start_node(NULL);
	struct json_object *body;

	scan(controller, pods, 2);
	expect_error(ask_run(controller, NULL, "exclusive", 400), "the body must be");
	expect_error(ask_run(controller, "default/a", NULL, 400), "the body must be");
	expect_error(ask(controller, "run", "", NULL, 400), "the body must be");
	body = json_tokener_parse("{\"pod\": 1, \"container\": \"exclusive\"}");
	expect_error(ask(controller, "run", "", body, 400), "the body must be");
	json_object_put(body);
	expect_error(ask_run(controller, "default/none", "x", 404), "unknown pod 'default/none'");
	expect_error(ask_run(controller, "other/a", "x", 404), "unknown pod 'other/a'");
	expect_error(ask_run(controller, "default/a", "none", 404), "no container 'none'");
	expect_error(ask_run(controller, "default/big", "big", 409), "pod default/big was refused");
	expect_error(ask_run(controller, "big", "big", 409), "pod default/big was refused");
	/* An ending pod starts nothing. */
	populate(true);
	scan(controller, pods, 0);
	expect_error(ask_run(controller, "default/a", "exclusive", 409),
		     "pod default/a is ending: no source names it");
	/* Nobody asks for the refused one any more, so it is not refused any more. */
	expect_error(ask_run(controller, "default/big", "big", 404), "unknown pod 'default/big'");
	assert_string_equal(joined_path, "");
	controller_free(controller);
	free_pods(pods, 2);
}

static void run_passes_on_errors_of_the_cgroup_room(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	join_error = -EBUSY;
	join_sentence = "the group is busy";
	expect_error(ask_run(controller, "a", "exclusive", 500), "the group is busy");
	join_sentence = "";
	expect_error(ask_run(controller, "a", "exclusive", 500), "Device or resource busy");
	controller_free(controller);
	free_pods(pods, 1);
}

/* A peer that has ended meanwhile cannot be held by a pidfd. */
static void run_needs_a_live_peer(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL, *body;
	unsigned int status = 0;

	scan(controller, pods, 1);
	body = json_tokener_parse("{\"pod\": \"a\", \"container\": \"exclusive\"}");
	assert_int_equal(faces->command(faces->self, 1, "run", "", body, -1, &json, &status), 0);
	assert_int_equal(status, 500);
	expect_error(json, "cannot open a pidfd for process -1");
	json_object_put(body);
	controller_free(controller);
	free_pods(pods, 1);
}

/* A name is never cut to that of another container, pod or namespace. */
static void names_that_are_too_long_are_unknown(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(NULL);
	char name[1024];

	memset(pods[0]->containers->name, 'c', POD_CONTAINER_NAME - 1);
	memset(pods[0]->namespace, 'n', POD_NAME_MAX - 1);
	pods[0]->containers->name[POD_CONTAINER_NAME - 1] = '\0';
	pods[0]->namespace[POD_NAME_MAX - 1] = '\0';
	scan(controller, pods, 1);
	memset(name, 'c', sizeof(name));
	name[POD_CONTAINER_NAME - 1] = '\0';
	json_object_put(ask_run(controller, "uid-a", name, 200));
	name[POD_CONTAINER_NAME - 1] = 'c';
	name[POD_CONTAINER_NAME] = '\0';
	expect_error(ask_run(controller, "uid-a", name, 404), "it is too long");
	memset(name, 'n', sizeof(name));
	strcpy(name + POD_NAME_MAX - 1, "/a");
	json_object_put(ask_run(controller, name, pods[0]->containers->name, 200));
	strcpy(name + POD_NAME_MAX - 1, "n/a");
	expect_error(ask_run(controller, name, "c", 404), "unknown pod 'nnn");
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	expect_error(ask_run(controller, name, "c", 404), "unknown pod 'nnn");
	controller_free(controller);
	free_pods(pods, 1);
}

/* Standard input is what a descriptor that was never opened would be taken for. */
static void a_refusal_closes_nothing_of_others(void **state)
{
	struct controller *controller = start_node(NULL);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	expect_error(ask_run(controller, NULL, "exclusive", 400), "the body must be");
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	if (fd != STDIN_FILENO)
		close(fd);
	controller_free(controller);
}

/* --- requests that are withdrawn ---------------------------------------------------------------------- */

static void who_withdraws_is_told_what_the_request_waited_for(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	const struct source_pod source = {.spec = pods[0], .file = "a.yaml", .name = ""};
	struct controller *controller = start_node(NULL);
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;
	struct json_object *body =
		json_tokener_parse("{\"pod\": \"a\", \"container\": \"exclusive\"}");
	unsigned int status;
	char why[512] = "";

	fake->slow_look = true;
	sink->scanned(sink->self, &source, 1, true);
	assert_int_equal(faces->command(faces->self, 1, "run", "", body, getpid(), &json, &status),
			 -EINPROGRESS);
	/* However short the wait was. */
	faces->withdraw(faces->self, 1, why, sizeof(why));
	assert_non_null(strstr(why, "every pod has waited 0 s for a read of the "
				    "cgroups below pinfold.slice"));
	/* A request that does not wait any more. */
	faces->withdraw(faces->self, 1, why, sizeof(why));
	assert_string_equal(why, "the agent is busy; try again");
	json_object_put(body);
	controller_free(controller);
	free_pods(pods, 1);
}

/* A pod that is admitted while nothing woke the controller has its cgroups when it is run. */
static void run_reconciles_a_new_pod_at_once(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	const struct source_pod source = {.spec = pods[0], .file = "a.yaml", .name = ""};
	struct controller *controller = start_node(NULL);
	const struct source_sink *sink = &controller_sinks(controller)->source;

	sink->scanned(sink->self, &source, 1, true);
	json_object_put(ask_run(controller, "a", "exclusive", 200));
	assert_string_equal(joined_path, "pinfold.slice/poduid-a/exclusive");
	controller_free(controller);
	free_pods(pods, 1);
}

static void run_without_a_cgroup_is_not_ready(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	const struct source_pod source = {.spec = pods[0], .file = "a.yaml", .name = ""};
	struct controller *controller = start_node(NULL);
	const struct source_sink *sink = &controller_sinks(controller)->source;

	sink->scanned(sink->self, &source, 1, true);
	fake->read_error = -EIO;
	expect_error(ask_run(controller, "a", "exclusive", 503), "has no cgroup yet; try again");
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- init containers --------------------------------------------------------------------------------- */

static struct pod_spec *staged_pod(void)
{
	static const struct {
		const char *name;
		enum container_kind kind;
	} rows[] = {
		{"first", CONTAINER_INIT},
		{"proxy", CONTAINER_SIDECAR},
		{"second", CONTAINER_INIT},
		{"main", CONTAINER_APP},
	};
	struct pod_spec *spec = fake_pod("staged", "x", 100, false);
	struct container_spec *containers = calloc(ARRAY_SIZE(rows), sizeof(*containers));

	assert_non_null(containers);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		containers[i] = spec->containers[0];
		strcpy(containers[i].name, rows[i].name);
		containers[i].kind = rows[i].kind;
	}
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = ARRAY_SIZE(rows);
	return spec;
}

static struct fake_group *container(const char *name)
{
	char path[GROUP_PATH_MAX];

	snprintf(path, sizeof(path), "pinfold.slice/poduid-staged/%s", name);
	assert_non_null(fake_find(path));
	return fake_find(path);
}

static void init_containers_run_one_after_another(void **state)
{
	struct pod_spec *pods[] = {staged_pod()};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	json_object_put(ask_run(controller, "staged", "first", 200));
	expect_error(ask_run(controller, "staged", "second", 409),
		     "init container second cannot start while first runs");
	/* Itself is no obstacle: another process may join it. Nor is a sidecar one. */
	json_object_put(ask_run(controller, "staged", "first", 200));
	json_object_put(ask_run(controller, "staged", "proxy", 200));
	container("first")->populated = false;
	json_object_put(ask_run(controller, "staged", "second", 200));
	/* The others start when all that is over, so their start ends it; sidecars stay. */
	json_object_put(ask_run(controller, "staged", "main", 200));
	assert_false(container("second")->populated);
	assert_true(container("proxy")->populated);
	assert_true(container("main")->populated);
	expect_error(ask_run(controller, "staged", "first", 409),
		     "init container first cannot start while main runs");
	controller_free(controller);
	free_pods(pods, 1);
}

/* A sidecar begins among the init containers: its start ends none of them. */
static void a_sidecar_does_not_end_init_containers(void **state)
{
	struct pod_spec *pods[] = {staged_pod()};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	json_object_put(ask_run(controller, "staged", "first", 200));
	json_object_put(ask_run(controller, "staged", "proxy", 200));
	assert_true(container("first")->populated);
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- scopes -------------------------------------------------------------------------------------------- */

static void systemd_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice", .systemd = true};
}

/* A scope comes to be with its first process, so only then the guard can be told its id. */
static void a_new_scope_is_guarded_at_once(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;
	unsigned int nr;

	groups.layout = systemd_layout;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 1);
	nr = fake_side.nr_published;
	json_object_put(ask_run(controller, "a", "exclusive", 200));
	assert_int_equal(fake_side.nr_published, nr + 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- repair -------------------------------------------------------------------------------------------- */

static void an_operator_may_repair_audited_drift(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;
	struct json_object *json;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(NULL);
	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	json = ask(controller, "drift", "repair", NULL, 200);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_int_equal(json_object_array_length(json), 1);
	assert_string_equal(member(json_object_array_get_idx(json, 0), "action"), "repair");
	json_object_put(json);
	/* For that round only. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	controller_free(controller);
	free_pods(pods, 1);
}

static void other_commands_are_unknown(void **state)
{
	const struct controller_ports ports = {
		.clock = &fake_clock, .loop = &fake_loop, .groups = &groups, .store = &fake_store};
	struct controller *controller = NULL;
	const struct faces_port *faces;
	struct json_object *json = NULL;
	unsigned int status = 0;
	char error[256];

	assert_int_equal(controller_new(topology, &policy, &options, &ports, error, sizeof(error),
					&controller),
			 0);
	/* Nothing is done before the ledger is there. */
	expect_error(ask(controller, "drift", "repair", NULL, 503), "is starting; try again");
	assert_int_equal(controller_start(controller), 0);
	faces = controller_faces(controller);
	assert_int_equal(faces->command(faces->self, 1, "drift", "", NULL, 1, &json, &status),
			 -ENOENT);
	assert_int_equal(faces->command(faces->self, 1, "run", "x", NULL, 1, &json, &status),
			 -ENOENT);
	assert_int_equal(faces->command(faces->self, 1, "pod", "repair", NULL, 1, &json, &status),
			 -ENOENT);
	assert_null(json);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(run_joins_the_container, set_up_commands,
						tear_down),
		cmocka_unit_test_setup_teardown(run_leaves_the_pods_of_a_runtime_to_it,
						set_up_commands, tear_down),
		cmocka_unit_test_setup_teardown(run_gives_the_reason_of_a_refusal, set_up_commands,
						tear_down),
		cmocka_unit_test_setup_teardown(run_passes_on_errors_of_the_cgroup_room,
						set_up_commands, tear_down),
		cmocka_unit_test_setup_teardown(run_needs_a_live_peer, set_up_commands, tear_down),
		cmocka_unit_test_setup_teardown(names_that_are_too_long_are_unknown,
						set_up_commands, tear_down),
		cmocka_unit_test_setup_teardown(a_refusal_closes_nothing_of_others, set_up_commands,
						tear_down),
		cmocka_unit_test_setup_teardown(who_withdraws_is_told_what_the_request_waited_for,
						set_up_commands, tear_down),
		cmocka_unit_test_setup_teardown(run_reconciles_a_new_pod_at_once, set_up_commands,
						tear_down),
		cmocka_unit_test_setup_teardown(run_without_a_cgroup_is_not_ready, set_up_commands,
						tear_down),
		cmocka_unit_test_setup_teardown(init_containers_run_one_after_another,
						set_up_commands, tear_down),
		cmocka_unit_test_setup_teardown(a_sidecar_does_not_end_init_containers,
						set_up_commands, tear_down),
		cmocka_unit_test_setup_teardown(a_new_scope_is_guarded_at_once, set_up_commands,
						tear_down),
		cmocka_unit_test_setup_teardown(an_operator_may_repair_audited_drift,
						set_up_commands, tear_down),
		cmocka_unit_test_setup_teardown(other_commands_are_unknown, set_up_commands,
						tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
