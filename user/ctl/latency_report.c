// SPDX-License-Identifier: Apache-2.0
/* How long tasks waited, as rows for the inspector: each pod, then its containers. */
#include "ctl/latency_report.h"

#include <errno.h>

#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "format/view_objects.h"
#include "format/views.h"

/* A pod (container NULL) or a container, and what is known of its waits. */
struct latency_row {
	const struct ledger_pod *pod;
	const char *container;
	bool is_known;
	bool is_absent; /* it has no cgroup: it has ended, or has not begun */
	struct latency latency;
};

static struct latency_row measure(const struct controller *controller, const struct ledger_pod *pod,
				  const struct group *group, const struct managed_group *published)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct groups_port *groups = controller->ports.groups;
	struct latency_row row = {.pod = pod, .container = group->container};
	struct group_status status;

	row.is_absent = !published && groups->status(groups->self, group->path, &status) == -ENOENT;
	row.is_known = kernel && published &&
		       !kernel->latency(kernel->self, published->cgroup_id, &row.latency);
	return row;
}

/*
 * A pod is the sum of its containers, and unknown if one of them is. An init container that has ended
 * would otherwise leave its pod unknown for ever, because the runtime keeps it for its log.
 */
static void add_to_pod(struct latency_row *pod, const struct latency_row *container)
{
	if (container->is_absent)
		return;
	pod->is_known = container->is_known && (pod->is_absent || pod->is_known);
	pod->is_absent = false;
	latency_add(&pod->latency, &container->latency);
}

/* `rows` has room for as many as there are measured groups. Returns the number. */
static uint32_t measure_all(const struct controller *controller, struct latency_row *rows)
{
	uint32_t nr = 0, cursor = 0, of_pod = 0;

	for (uint32_t i = 0; i < controller->measured.tree.nr_groups; i++) {
		const struct group *group = &controller->measured.tree.groups[i];
		const struct managed_group *published =
			ctl_published_next(controller, group->path, &cursor);
		const struct ledger_pod *pod = ledger_find(controller->ledger, group->uid);

		if (pod && group->role == GROUP_POD) {
			of_pod = nr;
			rows[nr++] = (struct latency_row){.pod = pod, .is_absent = true};
		} else if (pod && group->role == GROUP_CONTAINER) {
			rows[nr] = measure(controller, pod, group, published);
			add_to_pod(&rows[of_pod], &rows[nr++]);
		}
	}
	return nr;
}

static void fill_quantile(const struct latency *latency, uint32_t per_mille, int64_t *ret_ns,
			  int64_t *ret_least_ns)
{
	struct latency_range range;

	*ret_ns = *ret_least_ns = -1;
	if (!latency_quantile(latency, per_mille, &range))
		return;
	*ret_ns = (int64_t)range.most_ns;
	*ret_least_ns = (int64_t)range.least_ns;
}

static void fill_buckets(const struct latency *latency,
			 struct view_latency_bucket buckets[LATENCY_BUCKETS])
{
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
		buckets[i] = (struct view_latency_bucket){
			.above_ns = i ? (int64_t)latency_bound(i - 1) : 0,
			.up_to_ns = i + 1 < LATENCY_BUCKETS ? (int64_t)latency_bound(i) : -1,
			.count = latency->counts[i],
		};
}

static struct view_latency view_of(const struct latency_row *row,
				   struct view_latency_bucket buckets[LATENCY_BUCKETS])
{
	const struct latency none = {0}, *latency = row->is_known ? &row->latency : &none;
	struct view_latency view = {
		.namespace = row->pod->spec->namespace,
		.pod = row->pod->spec->name,
		.container = row->container,
		.uid = row->pod->spec->uid,
		.count = row->is_known ? (int64_t)latency_count(latency) : -1,
		.longest_ns = row->is_known ? (int64_t)latency->longest_ns : -1,
		.sum_ns = row->is_known ? (int64_t)latency->sum_ns : -1,
		.state = row->is_known ? LATENCY_COUNTED : LATENCY_UNKNOWN,
		.nr_buckets = row->is_known ? LATENCY_BUCKETS : 0,
		.buckets = buckets,
	};

	fill_quantile(latency, 500, &view.p50_ns, &view.p50_least_ns);
	fill_quantile(latency, 900, &view.p90_ns, &view.p90_least_ns);
	fill_quantile(latency, 990, &view.p99_ns, &view.p99_least_ns);
	fill_quantile(latency, 999, &view.p999_ns, &view.p999_least_ns);
	fill_buckets(latency, buckets);
	return view;
}

struct json_object *ctl_report_latency(struct controller *controller)
{
	const uint32_t nr_groups = controller->measured.tree.nr_groups;
	struct latency_row *rows cleanup_free = calloc(nr_groups + 1, sizeof(*rows));
	struct view_latency *views cleanup_free = calloc(nr_groups + 1, sizeof(*views));
	struct view_latency_bucket *buckets cleanup_free =
		calloc(nr_groups + 1, LATENCY_BUCKETS * sizeof(*buckets));
	uint32_t nr;

	if (!rows || !views || !buckets)
		return NULL;
	nr = measure_all(controller, rows);
	for (uint32_t i = 0; i < nr; i++)
		views[i] = view_of(&rows[i], &buckets[(size_t)i * LATENCY_BUCKETS]);
	return view_latencies(views, nr);
}
