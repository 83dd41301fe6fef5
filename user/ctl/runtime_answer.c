// SPDX-License-Identifier: Apache-2.0
/*
 * The answers to a runtime. Each also has the changes of other containers that are due:
 * whoever is on the shared pool shrinks before a new exclusive container starts, because the
 * runtime carries out the changes first.
 */
#include <errno.h>
#include <stdio.h>
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
	const struct ledger_pod *pod = ctl_runtime_pod(controller, uid);

	return pod ? ledger_find_grant(pod, name) : NULL;
}

bool ctl_runtime_is_exclusive(const struct controller *controller, const char *uid,
			      const char *name)
{
	const struct grant *grant = ctl_runtime_grant(controller, uid, name);

	return grant && grant->isolation == ISOLATION_CONTAINER;
}

/*
 * The CPUs that a container is to have. A CPU that is offline would make the runtime's write
 * fail. Empty if all are offline: then there is nothing better than what it has.
 */
static struct cpuset wanted_cpus(const struct controller *controller, const struct runtime_row *row)
{
	const struct grant *grant = ctl_runtime_grant(controller, row->uid, row->name);
	struct cpuset cpus = grant ? *ledger_effective(controller->ledger, grant)
				   : *ledger_shared_pool(controller->ledger);

	cpuset_intersect(&cpus, &controller->online);
	return cpus;
}

/* An answer that is being composed. The lists are owned; text is allocated at its full size. */
struct composition {
	struct runtime_change *changes;
	uint32_t nr_changes;
	char *own; /* of the container that is created; NULL = none */
};

static void composition_fini(struct composition *composition)
{
	for (uint32_t i = 0; i < composition->nr_changes; i++)
		free((char *)(uintptr_t)composition->changes[i].cpus);
	free(composition->changes);
	free(composition->own);
}

static char *format_cpus(const struct cpuset *cpus)
{
	char text[CPUSET_TEXT_MAX];

	cpuset_format(cpus, text, sizeof(text));
	return strdup(text);
}

static int add_change(struct composition *composition, const struct runtime_row *row,
		      const struct cpuset *cpus)
{
	char *text = format_cpus(cpus);

	if (!text)
		return -ENOMEM;
	composition->changes[composition->nr_changes++] = (struct runtime_change){row->id, text};
	return 0;
}

/*
 * All changes that are due, those that take CPUs away first: an owner's set has to be free of
 * others before it grows. `always_id` is included in any case, `created_id` is not a change.
 */
static int compose_changes(const struct controller *controller, const char *created_id,
			   const char *always_id, struct composition *composition)
{
	const struct runtimes *runtimes = &controller->runtimes;
	int r = 0;

	composition->changes = calloc(runtimes->nr_rows + 1, sizeof(*composition->changes));
	if (!composition->changes)
		return -ENOMEM;
	for (int grows = 0; grows < 2; grows++) {
		for (uint32_t i = 0; !r && i < runtimes->nr_rows; i++) {
			const struct runtime_row *row = &runtimes->rows[i];
			struct cpuset cpus = wanted_cpus(controller, row);
			bool is_owner = ctl_runtime_is_exclusive(controller, row->uid, row->name);
			bool is_growth = is_owner || (!cpuset_is_empty(&row->told) &&
						      cpuset_is_subset(&row->told, &cpus));

			if (is_growth != grows || cpuset_is_empty(&cpus) ||
			    (created_id && !strcmp(row->id, created_id)))
				continue;
			if (!cpuset_equal(&cpus, &row->told) ||
			    (always_id && !strcmp(row->id, always_id)))
				r = add_change(composition, row, &cpus);
		}
	}
	return r;
}

/* Of its own pod's CPUs init containers and others may have the same ones. */
static bool is_behind(const struct controller *controller, const struct runtime_row *row,
		      const struct cpuset *exclusive)
{
	const struct ledger_pod *pod = ctl_runtime_pod(controller, row->uid);
	struct cpuset cpus = row->told;

	if (pod)
		cpuset_subtract(&cpus, &pod->held);
	return cpuset_intersects(&cpus, exclusive);
}

void ctl_runtime_check(struct controller *controller)
{
	const struct runtimes *runtimes = &controller->runtimes;
	char message[ROW_DETAIL_MAX];
	struct cpu_states states;
	uint32_t nr = 0;

	ledger_cpu_states(controller->ledger, &states);
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		nr += is_behind(controller, &runtimes->rows[i], &states.exclusive);
	if (!nr) {
		findings_clear(&controller->findings, "runtime_behind");
		return;
	}
	snprintf(message, sizeof(message),
		 "%u container%s of the runtime may run on exclusive CPUs of other pods until the "
		 "runtime asks about any container again",
		 nr, nr == 1 ? "" : "s");
	findings_update(&controller->findings, "runtime_behind", message,
			"update or restart any container of the runtime");
}

/* The runtime carries them out now. */
static void note_told(struct controller *controller)
{
	struct runtimes *runtimes = &controller->runtimes;

	for (uint32_t i = 0; i < runtimes->nr_rows; i++) {
		struct cpuset cpus = wanted_cpus(controller, &runtimes->rows[i]);

		if (!cpuset_is_empty(&cpus))
			runtimes->rows[i].told = cpus;
	}
	ctl_runtime_check(controller);
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
	struct composition composition cleanup(composition_fini) = {0};
	/* Whoever has no row, for lack of memory or since its id is too long, shares. */
	const struct runtime_row nobody = {.uid = ""}, *row = NULL;
	struct runtime_answer answer = {.cpus = ""};
	struct cpuset cpus;
	int r = compose_changes(controller, created_id, always_id, &composition);

	if (created_id)
		row = runtime_rows_find(&controller->runtimes, created_id);
	if (!r && created_id) {
		cpus = wanted_cpus(controller, row ? row : &nobody);
		composition.own = format_cpus(&cpus);
		r = composition.own ? 0 : -ENOMEM;
	}
	/* The runtime goes on without an answer. An empty one at least does not cost the session. */
	if (r) {
		log_err(r, "runtime: a container goes without its CPUs until the next answer");
		ctl_runtime_send(controller, request, &answer);
		return;
	}
	answer.cpus = composition.own ? composition.own : "";
	answer.changes = composition.changes;
	answer.nr_changes = composition.nr_changes;
	if (!ctl_runtime_send(controller, request, &answer))
		note_told(controller);
}
