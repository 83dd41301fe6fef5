// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* The page for people as a document: its whole text once, and its rules for every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/golden.h"
#include "../lib/page_scene.h"

static const struct page_scene_size small = {16, 2, 5, 2}, none = {4, 1, 0, 0},
				    large = {256, 8, 250, 3};

static void render(const struct page_scene_size *size, struct text *text)
{
	struct page page = page_scene_make(size);

	page_render(&page, text);
	assert_int_equal(text->error, 0);
	page_scene_free(&page);
}

static size_t count(const char *text, const char *what)
{
	size_t nr = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		nr++;
	return nr;
}

/* `text` without what stands between the first `from` and the next `to`. */
static char *without(char *text, const char *from, const char *to)
{
	const char *begin = strstr(text, from), *end;
	char *rest = NULL;

	assert_non_null(begin);
	begin += strlen(from);
	end = strstr(begin, to);
	assert_non_null(end);
	assert_true(asprintf(&rest, "%.*s…%s", (int)(begin - text), text, end) > 0);
	free(text);
	return rest;
}

/* Style and script have their own files, and the version changes with each release. */
static char *without_assets(const char *text)
{
	char *rest = strdup(text);

	assert_non_null(rest);
	rest = without(rest, "<style>", "</style>");
	rest = without(rest, "<script>", "</script>");
	return without(rest, "<footer>pinfold ", ",");
}

static void the_whole_document(void **state)
{
	struct text text cleanup_text = {0};
	char *rest cleanup_free = NULL;

	render(&small, &text);
	rest = without_assets(text.data);
	golden_compare("tests/data/page/small.html", rest);
}

/* Its own script is the only one, and no name of the scene has become mark-up. */
static void names_are_text(void **state)
{
	struct text text cleanup_text = {0};

	render(&large, &text);
	assert_int_equal(count(text.data, "<script"), 1);
	assert_int_equal(count(text.data, "</script"), 1);
	assert_int_equal(count(text.data, "<style"), 1);
	assert_int_equal(count(text.data, "<img"), 0);
	assert_int_equal(count(text.data, "<svg/"), 0);
	assert_int_equal(count(text.data, "<sons>"), 0);
	assert_true(count(text.data, "&lt;script&gt;document.title=&#39;pwned&#39;") > 0);
	assert_true(count(text.data, "&quot;&gt;&lt;img src=x") > 0);
}

static void nothing_comes_from_elsewhere(void **state)
{
	static const char *const references[] = {"http:", "https:",  "url(",  "@import", " src=\"",
						 "<link", "<iframe", "<form", "<base",	 " style="};
	struct text text cleanup_text = {0};

	render(&small, &text);
	for (size_t i = 0; i < ARRAY_SIZE(references); i++)
		if (strstr(text.data, references[i]))
			fail_msg("the page has %s", references[i]);
}

static void an_empty_node_says_so(void **state)
{
	struct text text cleanup_text = {0};

	render(&none, &text);
	assert_non_null(strstr(text.data, "No pod is known."));
	assert_non_null(strstr(text.data, "No container is known."));
	assert_non_null(strstr(text.data, "No container waited"));
	assert_non_null(strstr(text.data, "No pod waited"));
}

/* However much a node has, a table has its limit and says what it leaves out. */
static void tables_have_a_limit(void **state)
{
	static const struct page_scene_size crowded = {64, 1, 600, 3};
	struct text text cleanup_text = {0};

	render(&crowded, &text);
	assert_non_null(
		strstr(text.data, "1000 of 1800 rows; <code>pinfold container show</code>"));
	assert_non_null(strstr(text.data, "1000 of 1800 rows; <code>pinfold pressure show</code>"));
	assert_non_null(strstr(text.data, "These are 100 of "));
	assert_null(strstr(text.data, "600 of 600 rows"));
}

/* In mode observe; elsewhere there is no such section. */
static void pods_of_others_have_a_section(void **state)
{
	struct page page = page_scene_make(&none);
	struct text without_any cleanup_text = {0}, text cleanup_text = {0};

	page_render(&page, &without_any);
	assert_null(strstr(without_any.data, "id=discovery"));
	json_object_put(page.objects[PAGE_DISCOVERY]);
	page.objects[PAGE_DISCOVERY] = page_scene_discovery(&small);
	page_render(&page, &text);
	assert_non_null(strstr(text.data, "<section id=discovery>"));
	assert_non_null(strstr(text.data, "kubepods.slice/kubepods-pod4.slice/cri-4"));
	page_scene_free(&page);
}

/* Five lines for each pod, each in two parts, because nothing is known of a minute. */
static void gaps_break_the_lines(void **state)
{
	static const struct page_scene_size two = {4, 1, 2, 1};
	struct text text cleanup_text = {0};

	render(&two, &text);
	assert_int_equal(count(text.data, "<polyline "), 2 * 5 * 2);
	assert_int_equal(count(text.data, "<polyline class=line-io "), 2 * 2);
	assert_int_equal(count(text.data, "role=img><title>"), 2 * 2);
	assert_non_null(strstr(text.data, "<title>shop/&lt;script&gt;"));
}

/* The whole of one drawing: a gap of 40 s between 10 s of one CPU and 10 s of three quarters. */
static void a_line_is_what_the_samples_say(void **state)
{
	struct view_history_sample samples[3];
	const struct view_history history = {
		.namespace = "shop", .pod = "web", .nr_samples = 3, .samples = samples};
	struct page page = page_scene_make(&none);
	struct text text cleanup_text = {0};

	memset(samples, -1, sizeof(samples));
	for (size_t i = 0; i < 3; i++) {
		samples[i].kind = i == 1 ? HISTORY_GAP : HISTORY_SAMPLE;
		samples[i].time_ns = PAGE_SCENE_TIME_NS - (2 - i) * 25000000000;
		samples[i].length_ns = 10000000000;
	}
	samples[0].run_ns = 10000000000;
	samples[2].run_ns = 7500000000;
	samples[2].cause_ns[WAIT_HOST] = 500000000;
	json_object_array_add(page.objects[PAGE_HISTORY],
			      object_json(&view_history_desc, &history, 1));
	page_render(&page, &text);
	assert_int_equal(text.error, 0);
	assert_non_null(strstr(text.data,
			       "<desc>Share of the time in which a task: waited for a CPU is not "
			       "known; waited for memory is not known; waited for IO is not "
			       "known</desc></svg>"));
	assert_non_null(strstr(
		text.data, "<desc>CPUs on which it: ran 0.875 on average, 1 at most; was runnable "
			   "but did not run 0.025 on average, 0.05 at most</desc>"
			   "<polyline class=line-ran points=\"540,0 550,0 \"/>"
			   "<polyline class=line-ran points=\"590,25 600,25 \"/>"
			   "<polyline class=line-waited points=\"540,100 550,100 \"/>"
			   "<polyline class=line-waited points=\"590,95 600,95 \"/></svg>"
			   "<small>CPUs: 0 to 1</small>"));
	page_scene_free(&page);
}

/* Whoever made the objects. */
static void pods_with_lines_have_a_limit(void **state)
{
	struct page page = page_scene_make(&small);
	struct text text cleanup_text = {0};

	json_object_put(page.objects[PAGE_HISTORY]);
	page.objects[PAGE_HISTORY] =
		page_scene_histories(PAGE_HISTORIES_MAX + 5, PAGE_SCENE_TIME_NS);
	page_render(&page, &text);
	assert_int_equal(count(text.data, "role=img><title>"), PAGE_HISTORIES_MAX * 2);
	page_scene_free(&page);
}

static void what_is_not_ready_is_said_first(void **state)
{
	struct view_node node = {.source = "agent", .ready = 0, .not_ready = "pod \"a\" <waits>"};
	struct page page = page_scene_make(&none);
	struct text text cleanup_text = {0};

	node.machine = (struct machine_row){.shared_pool = page_scene_cpus(0, 3),
					    .reserved = page_scene_cpus(0, 3),
					    .exclusive = page_scene_cpus(0, 3),
					    .excluded = page_scene_cpus(0, 3)};
	json_object_put(page.objects[PAGE_NODE]);
	page.objects[PAGE_NODE] = object_json(&view_node_desc, &node, 1);
	page_render(&page, &text);
	assert_non_null(
		strstr(text.data, "<p class=\"state bad\">pod &quot;a&quot; &lt;waits&gt;</p>"));
	page_scene_free(&page);
}

/* A figure for the documentation; what bounds the size is the number of rows. */
static void a_large_node_is_measured(void **state)
{
	struct page page = page_scene_make(&large);
	struct text text cleanup_text = {0};
	struct timespec before, after;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	page_render(&page, &text);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	print_message("# %u CPUs, %u pods, %u containers: %zu bytes in %.1f ms\n", large.cpus,
		      large.pods, large.pods * large.containers, text.len,
		      (double)(after.tv_sec - before.tv_sec) * 1e3 +
			      (double)(after.tv_nsec - before.tv_nsec) / 1e6);
	assert_true(text.len < 1 << 20);
	page_scene_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_document),
		cmocka_unit_test(names_are_text),
		cmocka_unit_test(nothing_comes_from_elsewhere),
		cmocka_unit_test(an_empty_node_says_so),
		cmocka_unit_test(tables_have_a_limit),
		cmocka_unit_test(pods_of_others_have_a_section),
		cmocka_unit_test(gaps_break_the_lines),
		cmocka_unit_test(a_line_is_what_the_samples_say),
		cmocka_unit_test(pods_with_lines_have_a_limit),
		cmocka_unit_test(what_is_not_ready_is_said_first),
		cmocka_unit_test(a_large_node_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
