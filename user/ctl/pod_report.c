// SPDX-License-Identifier: Apache-2.0
/*
 * The figures are those of the history that pressure_samples.c keeps, so they agree with what the
 * inspector shows of pressure and history, and no counter is read for them.
 */
#include "ctl/pod_report.h"

#include <stdlib.h>

#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "ctl/ready.h"
#include "format/views.h"

#define WINDOW_NS (60 * 1000000000ULL)
/* As for pressure: less says nothing. */
#define LEAST_NS 1000000000ULL

/* Why nothing is known; `published` is NULL without a cgroup that the kernel was told of. */
static enum use_state why_unknown(const struct controller *controller,
				  const struct managed_group *published,
				  const struct sampled_group *sampled)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct counted *counted;
	struct observer_space space;

	if (!kernel)
		return USE_NO_BPF;
	if (kernel->observer_space(kernel->self, &space))
		return USE_NO_OBSERVER;
	if (!published)
		return USE_NO_CGROUP;
	counted = ctl_counted(controller, published->cgroup_id);
	if (counted && !counted->has_usage && !counted->is_unreadable)
		return USE_NO_SLOT;
	if (!sampled && controller->samples.nr >= PRESSURE_SAMPLES_MAX)
		return USE_LEFT_OUT;
	return USE_AWAITED;
}

static struct container_use use_of(const struct controller *controller, const struct group *group,
				   const struct managed_group *published)
{
	const struct sampled_group *sampled =
		pressure_samples_find(&controller->samples, group->uid, group->container);
	struct container_use use = {.uid = group->uid, .container = group->container};
	struct pressure_growth sum = {0};

	if (sampled)
		pressure_ring_sum(&sampled->ring, WINDOW_NS, clock_now_ns(controller->ports.clock),
				  &sum);
	if (sum.usage_ns < LEAST_NS) {
		use.state = why_unknown(controller, published, sampled);
		return use;
	}
	use.state = USE_MEASURED;
	use.window_ns = (int64_t)sum.usage_ns;
	use.run_ns = (int64_t)sum.run_ns;
	use.outside_ns = (int64_t)sum.outside_ns;
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		use.cause_ns[cause] = (int64_t)sum.wait_ns[cause];
	return use;
}

struct json_object *ctl_report_pods(struct controller *controller)
{
	const struct group_tree *measured = &controller->measured.tree;
	struct pod_problem *problems cleanup_free =
		calloc(ledger_nr_pods(controller->ledger) + 1, sizeof(*problems));
	struct container_use *uses cleanup_free = calloc(measured->nr_groups + 1, sizeof(*uses));
	struct pods_observed observed = {.problems = problems, .uses = uses};
	uint32_t cursor = 0;

	if (!problems || !uses)
		return NULL;
	observed.nr_problems = ctl_pod_problems(controller, problems);
	for (uint32_t i = 0; i < measured->nr_groups; i++) {
		const struct group *group = &measured->groups[i];

		if (group->role == GROUP_CONTAINER)
			uses[observed.nr_uses++] =
				use_of(controller, group,
				       ctl_published_next(controller, group->path, &cursor));
	}
	return view_pods(controller->ledger, &observed);
}
