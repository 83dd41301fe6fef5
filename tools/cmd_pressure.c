// SPDX-License-Identifier: Apache-2.0
/*
 * pressure cpu: a table of one pod. pressure watch: the last second. The agent reads the pressure
 * each second only while somebody asks for it, so the first answers may have no window yet.
 */
#include <poll.h>

#include "inspect.h"
#include "live.h"

#define SECOND_MS	 1000
#define TRY_AGAIN_MS	 250
#define MOST_TRIES	 20
#define NO_ROWS_OF_A_POD "is not in the ledger; see 'pinfold pod show'"

/* --- cpu ----------------------------------------------------------------------------------------- */

int pressure_cpu(struct session *session, int argc, char **argv)
{
	char name[2 * POD_NAME_MAX + 8];
	struct view_pressure_cpu_request request = {0};
	struct json_object *body cleanup_json = NULL, *json cleanup_json = NULL;
	struct container_ref ref = {0};
	int r = ref_parse_container(session, argc, argv, &ref);

	if (r)
		return r;
	request.pod = ref.pod.uid ? ref.pod.uid : ref_text(&ref.pod, name, sizeof(name));
	request.container = ref.container;
	body = object_json(&view_pressure_cpu_request_desc, &request, 1);
	if (!body)
		return out_no_memory(session);
	r = source_ask(session, "/v1/pressure/cpu", json_object_to_json_string(body), &json);
	if (r)
		return r;
	if (!json_object_is_type(json, json_type_array))
		return out_fail(session, STATUS_FAILED,
				"the agent's answer to pressure cpu is not a valid array");
	return out_object(session, &view_pressure_cpu_desc, TAKE_PTR(json));
}

/* --- watch --------------------------------------------------------------------------------------- */

struct second {
	struct pod_ref ref;
	bool is_one; /* only the pod that `ref` names */
};

static bool is_wanted(struct json_object *item, const void *ref)
{
	struct view_pressure_second row;

	object_read(&view_pressure_second_desc, item, &row);
	return ref_matches(ref, row.uid, row.namespace, row.pod);
}

/* Has no row a window yet, though one may get it? */
static bool is_awaited(struct json_object *rows)
{
	bool may_come = false;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct view_pressure_second row;

		object_read(&view_pressure_second_desc, json_object_array_get_idx(rows, i), &row);
		if (row.window_ns >= 0)
			return false;
		may_come |= row.state == PRESSURE_PART_MEASURED ||
			    row.state == PRESSURE_PART_UNKNOWN;
	}
	return may_come;
}

static int fetch(struct session *session, const struct second *second,
		 struct json_object **ret_rows)
{
	struct json_object *all cleanup_json = NULL;
	int r = fetch_noun(session, view_pressure_second_desc.name, &all);

	if (r)
		return r;
	*ret_rows = second->is_one ? json_filter(all, is_wanted, &second->ref) : TAKE_PTR(all);
	return *ret_rows ? STATUS_DONE : out_no_memory(session);
}

/* An agent that has lately been asked has the window at once, another one after two passes. */
static int take(struct live *live, struct session *session)
{
	const struct second *second = live->data;
	struct json_object *rows cleanup_json = NULL;
	int r = fetch(session, second, &rows);

	for (int nr = 0; !r && is_awaited(rows) && nr < MOST_TRIES; nr++) {
		poll(NULL, 0, TRY_AGAIN_MS);
		json_object_put(TAKE_PTR(rows));
		r = fetch(session, second, &rows);
	}
	if (r)
		return r;
	if (second->is_one && !json_object_array_length(rows))
		return ref_no_rows(session, &second->ref, NO_ROWS_OF_A_POD);
	return out_object(session, &view_pressure_second_desc, TAKE_PTR(rows));
}

int pressure_watch(struct session *session, int argc, char **argv)
{
	struct second second = {.is_one = argc};
	struct live live = {.take = take, .data = &second, .usual_ms = SECOND_MS};
	struct text title cleanup_text = {0};
	int r;

	live_title(&title, "pressure", "watch", argc, argv);
	r = argc ? ref_parse_pod(session, &argc, &argv, &second.ref) : STATUS_DONE;
	if (!r && argc)
		r = unexpected(session, argv[0], "no more arguments");
	if (r)
		return r;
	if (title.error)
		return out_no_memory(session);
	live.title = title.data;
	return live_run(session, &live);
}
