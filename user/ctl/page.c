// SPDX-License-Identifier: Apache-2.0
/*
 * The objects that the page for people is made of. Anybody who reaches the metrics port may ask for
 * it, so no list of processes is read for it and no name of a cgroup looked up, and its cost is
 * limited: see PAGE_SHARE.
 */
#include "format/page.h"

#include <errno.h>
#include <json-c/json.h>

#include "ctl/history_report.h"
#include "ctl/internal.h"
#include "ctl/noise_report.h"
#include "ctl/page.h"
#include "ctl/report.h"

static void put_objects(struct page *page)
{
	for (enum page_object i = 0; i < PAGE_OBJECT_NR; i++)
		json_object_put(page->objects[i]);
}
#define cleanup_page cleanup(put_objects)

/* What the inspector gets, without what might have to wait: see above. */
static int read_object(struct controller *controller, enum page_object object,
		       struct json_object **ret_json)
{
	switch (object) {
	case PAGE_CONTAINER:
		*ret_json = ctl_report_containers(controller, false);
		break;
	case PAGE_HISTORY:
		*ret_json = ctl_report_histories(controller);
		break;
	case PAGE_NOISE:
		*ret_json = ctl_report_noise_from_memory(controller);
		break;
	default:
		return ctl_query(controller, page_descs[object]->name, ret_json);
	}
	return *ret_json ? 0 : -ENOMEM;
}

static int build(struct controller *controller, struct text *out)
{
	struct page page cleanup_page = {
		.host = controller->options.host ? controller->options.host : "",
		.written_ns = clock_wall_ns(controller->ports.clock),
	};

	for (enum page_object i = 0; i < PAGE_OBJECT_NR; i++) {
		int r = read_object(controller, i, &page.objects[i]);

		if (r)
			return r;
	}
	page_render(&page, out);
	return out->error;
}

static int renew(struct controller *controller)
{
	struct page_copy *copy = &controller->page;
	struct text text cleanup_text = {0};
	const uint64_t begun_ns = clock_cpu_ns(controller->ports.clock);
	int r = build(controller, &text);
	/* Time in which something else ran is nobody's cost. */
	const uint64_t cost_ns = clock_cpu_ns(controller->ports.clock) - begun_ns;

	copy->fresh_until_ns = clock_now_ns(controller->ports.clock) + cost_ns * (PAGE_SHARE - 1);
	copy->error = r;
	if (r)
		return r;
	page_fini(copy);
	copy->text = text;
	copy->version++;
	text = (struct text){0};
	return 0;
}

int ctl_page(void *self, struct face_page *ret_page)
{
	struct controller *controller = self;
	const struct page_copy *copy = &controller->page;
	int r = copy->error;

	if (!controller->options.config->metrics.page)
		return -ENOENT;
	if (clock_now_ns(controller->ports.clock) >= copy->fresh_until_ns)
		r = renew(controller);
	if (r)
		return r;
	*ret_page = (struct face_page){copy->text.data, copy->text.len, copy->version};
	return 0;
}

void page_fini(struct page_copy *copy)
{
	text_fini(&copy->text);
}
