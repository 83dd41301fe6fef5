// SPDX-License-Identifier: Apache-2.0
/*
 * Admits one pod through the managers in one transaction, completely or not at all, and
 * describes the decision: message, trace, suggestions.
 *
 * Every assignment goes through assign.c. Suggestions use it on the same ledger and abort
 * afterwards, so each of them has been tried.
 */
#include "core/admit/admit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/assign.h"
#include "core/admit/refuse.h"
#include "core/admit/resize.h"
#include "core/admit/suggest.h"

/* Reject names without a terminating NUL, because they are compared and printed. */
static bool is_bounded(const struct pod_spec *spec)
{
	if (!spec->nr_containers || spec->nr_containers > POD_MAX_CONTAINERS || !spec->uid[0] ||
	    !memchr(spec->uid, 0, sizeof(spec->uid)) ||
	    !memchr(spec->name, 0, sizeof(spec->name)) ||
	    !memchr(spec->namespace, 0, sizeof(spec->namespace)))
		return false;
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		const struct container_spec *container = &spec->containers[i];

		if (!container->name[0] || !memchr(container->name, 0, sizeof(container->name)) ||
		    container->kind >= CONTAINER_KIND_NR)
			return false;
	}
	return true;
}

/*
 * The pod is in the ledger with an equal spec: keep its grants, whatever the node looks
 * like now.
 */
static int admit_again(struct ledger *ledger, const struct ledger_pod *pod,
		       struct decision *decision)
{
	decision->admitted = true;
	snprintf(decision->message, sizeof(decision->message),
		 "pod is admitted already and holds %u exclusive CPUs", cpuset_count(pod->held));
	if (pod->state == POD_RUNNING && !pod->detail[0])
		return 0;
	return ledger_set_state(ledger, pod->spec->uid, POD_RUNNING, NULL);
}

static int decide(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision)
{
	struct cpu_reuse reuse = {.uid = ""};
	struct assignment assignment;
	int r = assign_new(&assignment, ledger, spec, &reuse);

	if (!r)
		r = assign_finish(&assignment);
	if (r)
		return r;
	if (assignment.outcome)
		return refuse_assignment(&assignment, decision);
	decision->admitted = true;
	snprintf(decision->message, sizeof(decision->message),
		 "%s pod holds %u exclusive CPUs; %u CPUs stay in the shared pool",
		 qos_class_name(assignment.pod->qos), cpuset_count(assignment.pod->held),
		 cpuset_count(ledger_shared_pool(ledger)));
	return 0;
}

/* Add the trace and the suggestions to a refusal. */
static int explain(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision)
{
	int r = trace_request(ledger, spec, &decision->trace);

	return r ? r : suggest_changes(ledger, spec, decision);
}

int admit_prepare(struct ledger *ledger, const struct pod_spec *spec, struct decision *ret_decision)
{
	struct decision decision = {.wanted = -1, .available = -1};
	const struct ledger_pod *known;
	bool is_resize = false;
	int r;

	if (!is_bounded(spec))
		return -EINVAL;
	r = ledger_begin(ledger);
	if (r)
		return r;
	known = ledger_find(ledger, spec->uid);
	if (known && pod_spec_equal(known->spec, spec))
		r = admit_again(ledger, known, &decision);
	else if ((is_resize = known && resize_is_wanted(ledger, known, spec)))
		r = resize_decide(ledger, spec, UINT32_MAX, &decision);
	else
		r = decide(ledger, spec, &decision);
	if (r || !decision.admitted)
		ledger_abort(ledger);
	if (!r && !decision.admitted)
		r = is_resize ? resize_suggest(ledger, spec, UINT32_MAX, &decision)
			      : explain(ledger, spec, &decision);
	if (r)
		return r;
	decision.is_resize = is_resize;
	*ret_decision = decision;
	return 0;
}

int admit_pod(struct ledger *ledger, const struct pod_spec *spec, struct decision *ret_decision)
{
	int r = admit_prepare(ledger, spec, ret_decision);

	if (!r && ret_decision->admitted)
		ledger_commit(ledger);
	return r;
}
