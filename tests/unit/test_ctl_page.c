// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What of the controller goes into the page for people, and what is not done for it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "controller_scene.h"
#include "ctl/internal.h"
#include "lib/log.h"

static unsigned int nr_task_lists, nr_reads;
/* What reading one cgroup takes on the CPU, and how long something else has the CPU meanwhile. */
static uint64_t read_ns, waited_ns;

static int slow_status(void *self, const char *path, struct group_status *ret_status)
{
	nr_reads++;
	fake->now_ns += read_ns + waited_ns;
	fake->cpu_ns += read_ns;
	return fake_status(self, path, ret_status);
}

static int counted_tasks(void *self, const char *path, pid_t **ret_pids, uint32_t *ret_nr)
{
	nr_task_lists++;
	return fake_groups.tasks(self, path, ret_pids, ret_nr);
}

static struct controller *start(void)
{
	static const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.1",
		.boot_id = "boot",
		.revision = "test",
		.host = "node-<1>",
	};
	static struct groups_port groups;
	const struct controller_ports ports = {
		.clock = &fake_clock, .loop = &fake_loop, .groups = &groups, .store = &fake_store};
	struct controller *controller = NULL;
	char error[256] = "";

	groups = fake_groups;
	groups.tasks = counted_tasks;
	groups.status = slow_status;
	read_ns = waited_ns = 0;
	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	assert_int_equal(controller_start(controller), 0);
	nr_task_lists = 0;
	return controller;
}

static uint64_t version; /* of the page that was read last */

static int read_page(struct controller *controller, struct text *text)
{
	const struct faces_port *faces = controller_faces(controller);
	struct face_page page;
	int r = faces->page(faces->self, &page);

	if (r)
		return r;
	version = page.version;
	text_append_len(text, page.data, page.len);
	return text->error;
}

static void expect(const struct text *page, const char *wanted)
{
	if (!strstr(page->data, wanted))
		fail_msg("no '%s' in: %s", wanted, strstr(page->data, "<main>"));
}

static void the_page_has_pods_refusals_and_drift(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("b<i>", "web", 500, false),
				   fake_pod("c", "big", 64000, true)};
	struct controller *controller = start();
	struct text page cleanup_text = {0};

	scan(controller, pods, ARRAY_SIZE(pods));
	tell_online(controller, "0-14");
	fake->apply_error = -EIO;
	strcpy(fake->apply_path, group_of(GROUP_CONTAINER, "exclusive")->path);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-9");
	controller_wake(controller);
	assert_int_equal(read_page(controller, &page), 0);
	expect(&page, "<title>pinfold node-&lt;1&gt;</title>");
	expect(&page, "title=\"CPU 2, core 2: exclusive, default/a/exclusive\">2</i>");
	expect(&page, "<th scope=row>default/a/exclusive<td");
	expect(&page, "<th scope=row>default/b&lt;i&gt;<td");
	expect(&page, "<a href=\"#refused\" class=bad><b>1</b> refused pod</a>");
	expect(&page, "<a href=\"#drift\" class=bad><b>1</b> open drift</a>");
	expect(&page, "<td>2-3<td>2-9<td>");
	expect(&page, "cpus_changed");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* Each would be a job on a thread, and anybody who reaches the port could ask for them. */
static void no_processes_are_listed_for_it(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start();
	struct text page cleanup_text = {0};
	struct json_object *json;

	scan(controller, pods, ARRAY_SIZE(pods));
	nr_task_lists = 0;
	assert_int_equal(read_page(controller, &page), 0);
	assert_int_equal(nr_task_lists, 0);
	/* The inspector's request does list them. */
	json = query(controller, "container");
	assert_int_equal(nr_task_lists, 1);
	json_object_put(json);
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* Whoever asks all the time gets the same page until it has cost a twentieth of the time. */
static void asking_often_costs_a_share_of_the_time(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start();
	uint64_t begun_ns, spent_ns;

	scan(controller, pods, ARRAY_SIZE(pods));
	read_ns = 1000000;
	begun_ns = fake->now_ns;
	nr_reads = 0;
	while (fake->now_ns < begun_ns + 1000 * read_ns) {
		struct text page cleanup_text = {0};

		assert_int_equal(read_page(controller, &page), 0);
		expect(&page, "default/a/exclusive");
		fake->now_ns += read_ns / 10;
	}
	spent_ns = nr_reads * read_ns;
	assert_true(spent_ns > 0);
	assert_true(spent_ns <= (fake->now_ns - begun_ns) / PAGE_SHARE + 4 * read_ns);
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* Who comes back later gets what is true then. */
static void a_later_page_is_a_new_one(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start();
	struct text before cleanup_text = {0}, soon cleanup_text = {0}, later cleanup_text = {0};

	scan(controller, pods, 1);
	read_ns = 1000000;
	/* The agent has run for long, which is nothing that the page has cost. */
	fake->cpu_ns = 3600000000000;
	assert_int_equal(read_page(controller, &before), 0);
	scan(controller, pods, 2);
	assert_int_equal(read_page(controller, &soon), 0);
	assert_string_equal(soon.data, before.data);
	assert_int_equal(version, 1);
	fake->now_ns += 1000 * read_ns;
	assert_int_equal(read_page(controller, &later), 0);
	assert_int_equal(version, 2);
	expect(&later, "default/b/web");
	/* A copy is not given out either once the page is off. */
	config.metrics.page = false;
	assert_int_equal(read_page(controller, &later), -ENOENT);
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* A copy is given out for nineteen times as long as it took to build. */
static void a_page_is_renewed_when_its_cost_is_a_share_of_the_time(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start();
	struct text page cleanup_text = {0};
	uint64_t before_ns, cost_ns;

	scan(controller, pods, 1);
	read_ns = 1000000;
	before_ns = fake->cpu_ns;
	assert_int_equal(read_page(controller, &page), 0);
	cost_ns = fake->cpu_ns - before_ns;
	assert_true(cost_ns > 0);
	fake->now_ns += cost_ns * (PAGE_SHARE - 1) - 1;
	assert_int_equal(read_page(controller, &page), 0);
	assert_int_equal(version, 1);
	fake->now_ns++;
	assert_int_equal(read_page(controller, &page), 0);
	assert_int_equal(version, 2);
	controller_free(controller);
	free_pods(pods, 1);
}

/* On a busy machine building it takes long, but costs no more. */
static void time_of_others_is_not_charged(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start();
	struct text before cleanup_text = {0}, after cleanup_text = {0};

	scan(controller, pods, 1);
	read_ns = 1000;
	waited_ns = 1000000000;
	assert_int_equal(read_page(controller, &before), 0);
	assert_int_equal(version, 1);
	fake->now_ns += 1000 * read_ns;
	assert_int_equal(read_page(controller, &after), 0);
	assert_int_equal(version, 2);
	controller_free(controller);
	free_pods(pods, 1);
}

static void the_page_can_be_switched_off(void **state)
{
	struct controller *controller = start();
	struct text page cleanup_text = {0};

	config.metrics.page = false;
	assert_int_equal(read_page(controller, &page), -ENOENT);
	assert_int_equal(page.len, 0);
	/* A reload may switch it on again. */
	config.metrics.page = true;
	assert_int_equal(read_page(controller, &page), 0);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_page_has_pods_refusals_and_drift, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_processes_are_listed_for_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(asking_often_costs_a_share_of_the_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_later_page_is_a_new_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_page_is_renewed_when_its_cost_is_a_share_of_the_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(time_of_others_is_not_charged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_page_can_be_switched_off, set_up, tear_down),
	};

	/* What goes wrong here does so on purpose. */
	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
