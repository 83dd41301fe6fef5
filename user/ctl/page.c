// SPDX-License-Identifier: Apache-2.0
/*
 * The objects that the page for people is made of. Anybody who reaches the metrics port may ask for
 * it, so it starts nothing that a page of metrics does not start: no list of processes is read.
 */
#include "format/page.h"

#include <errno.h>
#include <json-c/json.h>

#include "ctl/internal.h"
#include "ctl/report.h"

static void put_objects(struct page *page)
{
	for (enum page_object i = 0; i < PAGE_OBJECT_NR; i++)
		json_object_put(page->objects[i]);
}

static int read_object(struct controller *controller, enum page_object object,
		       struct json_object **ret_json)
{
	if (object != PAGE_CONTAINER)
		return ctl_query(controller, page_descs[object]->name, ret_json);
	*ret_json = ctl_report_containers(controller, false);
	return *ret_json ? 0 : -ENOMEM;
}

int ctl_page(void *self, struct text *out)
{
	struct controller *controller = self;
	struct page page cleanup(put_objects) = {
		.host = controller->options.host ? controller->options.host : "",
		.written_ns = clock_wall_ns(controller->ports.clock),
	};

	if (!controller->options.config->metrics.page)
		return -ENOENT;
	for (enum page_object i = 0; i < PAGE_OBJECT_NR; i++) {
		int r = read_object(controller, i, &page.objects[i]);

		if (r)
			return r;
	}
	page_render(&page, out);
	return out->error;
}
