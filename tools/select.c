// SPDX-License-Identifier: Apache-2.0
/* Commands that show some of a noun's objects: those that are findings, or those of some CPUs. */
#include "inspect.h"

static int fetch(struct session *session, const struct selection *selection,
		 struct json_object **ret_json)
{
	return selection->fetch ? selection->fetch(session, ret_json)
				: fetch_noun(session, selection->desc->name, ret_json);
}

int select_findings(struct session *session, const struct selection *selection, int argc,
		    char **argv)
{
	struct json_object *all cleanup_json = NULL, *found;
	bool is_found;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch(session, selection, &all);
	if (r)
		return r;
	found = json_filter(all, selection->keep, NULL);
	is_found = found && json_object_array_length(found);
	r = out_object(session, selection->desc, found);
	if (r)
		return r;
	return is_found ? STATUS_FINDING : STATUS_DONE;
}

int select_of_cpus(struct session *session, const struct selection *selection, int argc,
		   char **argv)
{
	struct json_object *all cleanup_json = NULL;
	struct cpuset cpus;
	int r;

	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	r = argc ? ref_parse_cpus(session, argv[0], &cpus) : STATUS_DONE;
	if (!r)
		r = fetch(session, selection, &all);
	if (r)
		return r;
	return out_object(session, selection->desc,
			  argc ? json_filter(all, selection->keep, &cpus) : TAKE_PTR(all));
}
