// SPDX-License-Identifier: Apache-2.0
/*
 * The answers to a runtime. Each also has the changes of other containers that are due:
 * whoever is on the shared pool shrinks before a new exclusive container starts, because the
 * runtime carries out the changes first.
 */
#include <errno.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/runtime_private.h"
#include "lib/log.h"

const struct ledger_pod *ctl_runtime_pod(const struct controller *controller, const char *uid)
{
	const struct ledger_pod *pod = *uid ? ledger_find(controller->ledger, uid) : NULL;

	return pod && pod->spec->is_of_runtime ? pod : NULL;
}

const struct grant *ctl_runtime_grant(const struct controller *controller, const char *uid,
				      const char *name)
{
	const struct ledger_pod *pod = *uid ? ledger_find(controller->ledger, uid) : NULL;

	return pod ? ledger_find_grant(pod, name) : NULL;
}

bool ctl_runtime_is_others(const struct controller *controller, const char *uid, const char *name)
{
	return !ctl_runtime_pod(controller, uid) && ctl_runtime_grant(controller, uid, name);
}

bool ctl_runtime_shares_refused(const struct controller *controller)
{
	const struct runtime_port *port = controller->ports.runtime;

	return controller->options.config->runtime_refusals == RUNTIME_REFUSALS_SHARE ||
	       (port && port->cannot_refuse);
}

bool ctl_runtime_is_exclusive(const struct controller *controller, const char *uid,
			      const char *name)
{
	const struct grant *grant = ctl_runtime_grant(controller, uid, name);

	return grant && grant->isolation == ISOLATION_CONTAINER;
}

/* What a container is to have. */
struct due {
	bool is_owner;	   /* of CPUs that only its pod has */
	node_mask_t nodes; /* that it is pinned to; 0 = none, and then it keeps what it has */
	struct cpuset cpus;
};

static void find_shared(const struct controller *controller, struct due *ret_due)
{
	ret_due->is_owner = false;
	ret_due->cpus = *ledger_shared_pool(controller->ledger);
	cpuset_intersect(&ret_due->cpus, &controller->online);
}

/*
 * A CPU that is offline would make the runtime's write fail. No CPUs if all are offline: then there is
 * nothing better than what it has, unless it shares for that reason since it was created.
 */
static void find_due(const struct controller *controller, const struct runtime_row *row,
		     struct due *ret_due)
{
	const struct grant *grant = ctl_runtime_grant(controller, row->uid, row->name);

	ret_due->is_owner = grant && grant->isolation != ISOLATION_HOST;
	ret_due->nodes = grant ? grant->mems : 0;
	ret_due->cpus = grant ? *ledger_effective(controller->ledger, grant)
			      : *ledger_shared_pool(controller->ledger);
	cpuset_intersect(&ret_due->cpus, &controller->online);
	if (ret_due->is_owner && cpuset_is_empty(&ret_due->cpus) && !row->is_told_own &&
	    !cpuset_is_empty(&row->told))
		find_shared(controller, ret_due);
}

/*
 * Without any CPUs in the answer a new container would run on everybody's. So it shares while its own
 * are offline; and if those that are shared are offline as well, the runtime is told these, and fails to
 * create it.
 */
static void find_due_created(const struct controller *controller, const struct runtime_row *row,
			     struct due *ret_due)
{
	find_due(controller, row, ret_due);
	if (!cpuset_is_empty(&ret_due->cpus))
		return;
	find_shared(controller, ret_due);
	if (cpuset_is_empty(&ret_due->cpus))
		ret_due->cpus = *ledger_shared_pool(controller->ledger);
}

/*
 * The CPUs that this answer takes from the resized container, which may run on them until the
 * runtime has carried out the rest of the answer.
 */
static struct cpuset released_cpus(const struct controller *controller, const char *resized_id)
{
	const struct runtime_row *row =
		resized_id ? runtime_rows_find(&controller->runtimes, resized_id) : NULL;
	struct cpuset cpus = CPUSET_EMPTY;
	struct due due;

	/* What it shared until now, the others have already. */
	if (!row || !row->is_told_own)
		return cpus;
	find_due(controller, row, &due);
	if (!due.is_owner)
		return cpus;
	cpus = row->told;
	cpuset_subtract(&cpus, &due.cpus);
	return cpus;
}

/* An answer that is being composed. The lists are owned; text is allocated at its full size. */
struct composition {
	struct runtime_change *changes;
	uint32_t nr_changes;
	char *own, *own_mems; /* of the container that is created; NULL = none */
	char *shared;
	struct cpuset released; /* CPUs that it gives to nobody yet */
};

static void composition_fini(struct composition *composition)
{
	for (uint32_t i = 0; i < composition->nr_changes; i++) {
		free((char *)(uintptr_t)composition->changes[i].cpus);
		free((char *)(uintptr_t)composition->changes[i].mems);
	}
	free(composition->changes);
	free(composition->own);
	free(composition->own_mems);
	free(composition->shared);
}
#define cleanup_composition cleanup(composition_fini)

static char *format_cpus(const struct cpuset *cpus)
{
	char text[CPUSET_TEXT_MAX];

	cpuset_format(cpus, text, sizeof(text));
	return strdup(text);
}

/* *ret_text is NULL if there are none. */
static int format_nodes(const struct controller *controller, node_mask_t nodes, char **ret_text)
{
	struct cpuset ids;

	*ret_text = NULL;
	if (!nodes)
		return 0;
	topology_mems_of_mask(controller->topology, nodes, &ids);
	*ret_text = format_cpus(&ids);
	return *ret_text ? 0 : -ENOMEM;
}

static int add_change(const struct controller *controller, const struct runtime_row *row,
		      const struct due *due, struct composition *composition)
{
	char *text cleanup_free = format_cpus(&due->cpus), *mems;
	int r = text ? format_nodes(controller, due->nodes, &mems) : -ENOMEM;

	if (r)
		return r;
	composition->changes[composition->nr_changes++] =
		(struct runtime_change){row->id, TAKE_PTR(text), mems};
	return 0;
}

/* Does the runtime know already what the container is to have? */
static bool is_told(const struct runtime_row *row, const struct due *due)
{
	return !row->is_to_be_stated && cpuset_equal(&due->cpus, &row->told) &&
	       (!due->nodes || due->nodes == row->told_nodes);
}

/* As find_due(), without the CPUs that this answer gives to nobody yet. None: it keeps what it has. */
static void find_due_now(const struct controller *controller, const struct runtime_row *row,
			 const struct cpuset *released, struct due *ret_due)
{
	find_due(controller, row, ret_due);
	cpuset_subtract(&ret_due->cpus, released);
}

/* An owner whose CPUs are stated again counts as one that grows. */
static bool is_growth(const struct runtime_row *row, const struct due *due)
{
	const bool is_known = !cpuset_is_empty(&row->told);

	if (!due->is_owner)
		return is_known && cpuset_is_subset(&row->told, &due->cpus);
	return !is_known || cpuset_equal(&due->cpus, &row->told) ||
	       !cpuset_is_subset(&due->cpus, &row->told);
}

/*
 * In which order changes are carried out: an owner's set has to be free of others before it grows. One
 * that shared until now leaves the pool, and may do so only when the others have left its CPUs.
 */
enum change_rank { CHANGE_LEAVES, CHANGE_MOVES, CHANGE_GROWS, CHANGE_RANK_NR };

static enum change_rank find_rank(const struct runtime_row *row, const struct due *due)
{
	if (!row->is_told_own && due->is_owner && cpuset_is_subset(&due->cpus, &row->told))
		return CHANGE_MOVES;
	return is_growth(row, due) ? CHANGE_GROWS : CHANGE_LEAVES;
}

/* The rank of the row's change, or CHANGE_RANK_NR: none is due. */
static enum change_rank judge_row(const struct controller *controller,
				  const struct runtime_row *row, const char *created_id,
				  const char *always_id, const struct cpuset *released)
{
	struct due due;

	if (created_id && !strcmp(row->id, created_id))
		return CHANGE_RANK_NR;
	find_due_now(controller, row, released, &due);
	if (cpuset_is_empty(&due.cpus) ||
	    (is_told(row, &due) && !(always_id && !strcmp(row->id, always_id))))
		return CHANGE_RANK_NR;
	return find_rank(row, &due);
}

/*
 * All changes that are due. `always_id` is included in any case, `created_id` is not a change. Each row
 * is judged once, because a container waits for the answer, and there may be many rows.
 */
static int compose_changes(const struct controller *controller, const char *created_id,
			   const char *always_id, struct composition *composition)
{
	const struct runtimes *runtimes = &controller->runtimes;
	const struct cpuset *released = &composition->released;
	unsigned char *ranks cleanup_free = malloc(runtimes->nr_rows + 1);
	int r = 0;

	composition->changes = calloc(runtimes->nr_rows + 1, sizeof(*composition->changes));
	if (!composition->changes || !ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		ranks[i] = (unsigned char)judge_row(controller, &runtimes->rows[i], created_id,
						    always_id, released);
	for (enum change_rank rank = 0; rank < CHANGE_RANK_NR; rank++) {
		for (uint32_t i = 0; !r && i < runtimes->nr_rows; i++) {
			struct due due;

			if (ranks[i] != rank)
				continue;
			find_due_now(controller, &runtimes->rows[i], released, &due);
			r = add_change(controller, &runtimes->rows[i], &due, composition);
		}
	}
	return r;
}

/* Of its own pod's CPUs init containers and others may have the same ones. */
bool ctl_runtime_is_behind(const struct controller *controller, const struct runtime_row *row,
			   const struct cpuset *exclusive)
{
	const struct ledger_pod *pod;
	struct cpuset cpus;

	if (!cpuset_intersects(&row->told, exclusive))
		return false;
	cpus = row->told;
	pod = *row->uid ? ledger_find(controller->ledger, row->uid) : NULL;
	if (pod)
		cpuset_subtract(&cpus, pod->held);
	return cpuset_intersects(&cpus, exclusive);
}

/* Where the containers can be written at any time, nothing lasts that would be worth a finding. */
void ctl_runtime_check(struct controller *controller)
{
	const struct runtimes *runtimes = &controller->runtimes;
	const struct runtime_port *port = controller->ports.runtime;
	struct cpu_states states;
	uint32_t nr = 0;

	ledger_cpu_states(controller->ledger, &states);
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		nr += ctl_runtime_is_behind(controller, &runtimes->rows[i], &states.exclusive);
	if (nr && port && port->ask_soon) {
		port->ask_soon(port->self);
		nr = 0;
	}
	findings_update_if(
		&controller->findings, FINDING_RUNTIME_BEHIND, nr,
		"update or restart any container of the runtime",
		"%u container%s of the runtime may run on exclusive CPUs of other pods until the "
		"runtime asks about any container again",
		nr, nr == 1 ? "" : "s");
}

/*
 * The runtime carries them out now. The change of the container that it updates comes last, together
 * with amounts that the kernel may refuse: it counts when the runtime says so, and until then the next
 * answer repeats it. Returns whether an owner leaves CPUs with this answer.
 */
static bool note_told(struct controller *controller, const char *updated_id,
		      const struct cpuset *released)
{
	struct runtimes *runtimes = &controller->runtimes;
	bool has_left = false;

	for (uint32_t i = 0; i < runtimes->nr_rows; i++) {
		struct runtime_row *row = &runtimes->rows[i];
		struct due due;
		bool is_last;

		find_due_now(controller, row, released, &due);
		if (cpuset_is_empty(&due.cpus))
			continue;
		is_last = updated_id && !strcmp(row->id, updated_id) &&
			  !cpuset_equal(&row->told, &due.cpus);
		row->is_to_be_stated = false;
		row->answered = is_last ? due.cpus : CPUSET_EMPTY;
		row->is_answered_own = due.is_owner;
		if (is_last) {
			ctl_runtime_note_told(controller, row, &row->told, due.nodes);
			continue;
		}
		has_left |= row->is_told_own && !cpuset_is_subset(&row->told, &due.cpus);
		ctl_runtime_note_told(controller, row, &due.cpus, due.nodes);
		row->is_told_own = due.is_owner;
	}
	ctl_runtime_check(controller);
	return has_left;
}

void ctl_runtime_offer(struct controller *controller)
{
	struct runtimes *runtimes = &controller->runtimes;
	const struct runtime_port *port = controller->ports.runtime;

	if (runtimes->nr_offers == controller->admission.nr_offers)
		return;
	runtimes->nr_offers = controller->admission.nr_offers;
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		if (runtimes->rows[i].is_short && port && port->ask_again)
			port->ask_again(port->self, runtimes->rows[i].id);
}

int ctl_runtime_send(struct controller *controller, uint32_t request,
		     const struct runtime_answer *answer)
{
	const struct runtime_port *port = controller->ports.runtime;
	int r = port ? port->answer(port->self, request, answer) : -ENOTCONN;

	if (r)
		log_warn(r, "runtime: an answer could not be given; the next session repeats it");
	return r;
}

void ctl_runtime_answer(struct controller *controller, uint32_t request, const char *created_id,
			const char *always_id)
{
	struct composition composition cleanup_composition = {0};
	/* Whoever has no row, for lack of memory or since its id is too long, shares. */
	const struct runtime_row nobody = {.uid = ""};
	struct runtime_row *row = NULL;
	struct runtime_answer answer = {.cpus = ""};
	struct due due, own;
	int r;

	composition.released = released_cpus(controller, always_id);
	r = compose_changes(controller, created_id, always_id, &composition);
	if (created_id)
		row = runtime_rows_find(&controller->runtimes, created_id);
	if (!r && created_id) {
		find_due_created(controller, row ? row : &nobody, &own);
		composition.own = format_cpus(&own.cpus);
		r = composition.own ? format_nodes(controller, own.nodes, &composition.own_mems)
				    : -ENOMEM;
	}
	if (!r) {
		find_due_now(controller, &nobody, &composition.released, &due);
		composition.shared = format_cpus(&due.cpus);
		r = composition.shared ? 0 : -ENOMEM;
	}
	/* The runtime goes on without an answer. An empty one at least does not cost the session. */
	if (r) {
		log_err(r, "runtime: cannot answer with the CPUs of a container, so it is without "
			   "them until the next answer");
		ctl_runtime_send(controller, request, &answer);
		return;
	}
	answer.cpus = composition.own ? composition.own : "";
	answer.mems = composition.own_mems;
	answer.shared_cpus = composition.shared;
	answer.changes = composition.changes;
	answer.nr_changes = composition.nr_changes;
	if (ctl_runtime_send(controller, request, &answer))
		return;
	/* What it shares although it is an owner, it has to leave when others get that. */
	if (row && !own.is_owner) {
		row->told = own.cpus;
		row->is_told_own = false;
	}
	/* Pods of manifests that were refused may fit there now. */
	if (!note_told(controller, always_id, &composition.released))
		return;
	ctl_offer_room(controller);
	ctl_runtime_offer(controller);
}
