// SPDX-License-Identifier: Apache-2.0
/*
 * Where the object behind a noun comes from: the running agent, else what it left
 * behind. Which of them answered is said on stderr whenever it is not the agent.
 */
#include "inspect.h"

int fetch_noun(struct session *session, const char *noun, struct json_object **ret_json)
{
	struct json_object *json = NULL;
	int r;

	/* another machine, configuration or state was asked for by name */
	if (session->options.given)
		return offline_fetch(session, noun, ret_json);
	r = source_ask_noun(session, noun, &json);
	if (r)
		return r;
	if (!json)
		return offline_fetch(session, noun, ret_json);
	*ret_json = json;
	return STATUS_DONE;
}
