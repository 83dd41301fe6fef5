// SPDX-License-Identifier: Apache-2.0
/*
 * The steps of a simulation. Each either happens whole or fails with a report
 * and leaves the simulation to be thrown away.
 */
#include "simulation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "format/manifest.h"

#define MAX_PODS 100000

/* --- holdings: before and after --------------------------------------------------------------- */

void simulation_mems(const struct ledger *ledger, const struct grant *grant,
		     struct cpuset *ret_mems)
{
	const struct topology *topology = ledger_topology(ledger);

	*ret_mems = CPUSET_EMPTY;
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		if (!grant->mems || (grant->mems >> i & 1))
			cpuset_add(ret_mems, topology->memory_nodes[i].id);
	}
}

static void fill_holding(const struct ledger *ledger, const struct ledger_pod *pod,
			 const struct grant *grant, const struct group *group,
			 struct holding *holding)
{
	struct container_facts *facts = &holding->facts;
	const char *cpu_max = group->files[GROUP_CPU_MAX];

	snprintf(holding->namespace, sizeof(holding->namespace), "%s", pod->spec->namespace);
	snprintf(holding->pod, sizeof(holding->pod), "%s", pod->spec->name);
	snprintf(holding->container, sizeof(holding->container), "%s", grant->container);
	facts->cpus = *ledger_effective(ledger, grant);
	facts->isolation = isolation_name(grant->isolation);
	snprintf(facts->cpu_max, sizeof(facts->cpu_max), "%s", cpu_max ? cpu_max : "");
	simulation_mems(ledger, grant, &facts->mems);
}

/* Quotas are those of the tree the agent would make. */
static int take_holdings(const struct ledger *ledger, struct holdings *ret_holdings)
{
	const struct plan_layout layout = {.root = PINFOLD_WORKLOAD_ROOT};
	struct group_tree desired cleanup_tree = {0};
	struct holdings holdings = {0};

	if (plan_desired(ledger, &layout, NULL, &desired))
		return -ENOMEM;
	holdings.items = calloc(desired.nr_groups + 1, sizeof(*holdings.items));
	if (!holdings.items)
		return -ENOMEM;
	for (uint32_t i = 0; i < desired.nr_groups; i++) {
		const struct group *group = &desired.groups[i];
		const struct ledger_pod *pod;

		if (group->role != GROUP_CONTAINER)
			continue;
		pod = ledger_find(ledger, group->uid);
		for (uint32_t c = 0; pod && c < pod->nr_grants; c++) {
			if (!strcmp(pod->grants[c].container, group->container))
				fill_holding(ledger, pod, &pod->grants[c], group,
					     &holdings.items[holdings.nr++]);
		}
	}
	*ret_holdings = holdings;
	return 0;
}

static const struct holding *find_holding(const struct holdings *holdings,
					  const struct holding *like)
{
	for (size_t i = 0; i < holdings->nr; i++) {
		const struct holding *holding = &holdings->items[i];

		if (!strcmp(holding->pod, like->pod) &&
		    !strcmp(holding->container, like->container) &&
		    !strcmp(holding->namespace, like->namespace))
			return holding;
	}
	return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

int simulation_open(struct session *session, struct simulation *simulation)
{
	int r;

	*simulation = (struct simulation){.session = session};
	r = snapshot_open(session, SNAPSHOT_POLICY_OF_STATE | SNAPSHOT_OF_AGENT,
			  &simulation->snapshot);
	if (!r && take_holdings(simulation->snapshot.ledger, &simulation->before))
		r = out_no_memory(session);
	return r;
}

void simulation_fini(struct simulation *simulation)
{
	for (size_t i = 0; i < simulation->nr_refused; i++)
		free(simulation->refused[i].file);
	for (size_t i = 0; i < simulation->nr_expectations; i++) {
		free(simulation->expectations[i].text);
		free(simulation->expectations[i].found);
	}
	free(simulation->named);
	free(simulation->refused);
	free(simulation->expectations);
	free(simulation->before.items);
	snapshot_fini(&simulation->snapshot);
}

/* --- pods ------------------------------------------------------------------------------------- */

/* Where a pod stands; file NULL = nowhere, it was there before. */
struct origin {
	const char *file;
	unsigned int line;
};

static int add_refused(struct simulation *simulation, const struct pod_spec *spec,
		       struct origin origin, const struct decision *decision)
{
	struct refused *refused =
		reallocarray(simulation->refused, simulation->nr_refused + 1, sizeof(*refused));

	if (!refused)
		return out_no_memory(simulation->session);
	simulation->refused = refused;
	refused = &refused[simulation->nr_refused++];
	*refused = (struct refused){.decision = *decision, .line = origin.line};
	snprintf(refused->namespace, sizeof(refused->namespace), "%s", spec->namespace);
	snprintf(refused->name, sizeof(refused->name), "%s", spec->name);
	snprintf(refused->uid, sizeof(refused->uid), "%s", spec->uid);
	refused->file = origin.file ? strdup(origin.file) : NULL;
	if (origin.file && !refused->file)
		return out_no_memory(simulation->session);
	return STATUS_DONE;
}

static int add_named(struct simulation *simulation, const char *uid)
{
	char(*grown)[POD_UID_MAX] =
		reallocarray(simulation->named, simulation->nr_named + 1, sizeof(*grown));

	if (!grown)
		return out_no_memory(simulation->session);
	simulation->named = grown;
	snprintf(grown[simulation->nr_named++], sizeof(*grown), "%s", uid);
	return STATUS_DONE;
}

static int admit_one(struct simulation *simulation, const struct pod_spec *spec,
		     struct origin origin)
{
	struct decision decision;
	int r = admit_pod(simulation->snapshot.ledger, spec, &decision);

	if (r == -ENOMEM)
		return out_no_memory(simulation->session);
	if (r)
		return out_fail(simulation->session, STATUS_FAILED, "cannot decide pod %s/%s: %s",
				spec->namespace, spec->name, strerror(-r));
	r = origin.file ? add_named(simulation, spec->uid) : STATUS_DONE;
	if (r || decision.admitted)
		return r;
	return add_refused(simulation, spec, origin, &decision);
}

/* The n-th copy has a name and an identity of its own. */
static int admit_copy(struct simulation *simulation, const struct pod_spec *spec,
		      struct origin origin, unsigned int n)
{
	struct pod_spec *copy cleanup_pod_spec = pod_spec_copy(spec);
	size_t len;

	if (!copy)
		return out_no_memory(simulation->session);
	len = strlen(copy->name);
	if (n > 1) {
		snprintf(copy->name + len, sizeof(copy->name) - len, "-%u", n);
		manifest_uid(copy->namespace, copy->name, copy->uid);
	}
	return admit_one(simulation, copy, origin);
}

/* All documents must be sound before the first is tried. */
static int check_documents(struct simulation *simulation, const struct manifest *manifest,
			   const char *file)
{
	char text[FORMAT_ERROR_TEXT_MAX];

	if (!manifest->nr_documents)
		return out_fail(simulation->session, STATUS_INPUT, "%s contains no pod", file);
	for (uint32_t i = 0; i < manifest->nr_documents; i++) {
		const struct manifest_document *document = &manifest->documents[i];

		if (!document->spec)
			return out_fail(simulation->session, STATUS_INPUT, "%s",
					format_error_text(&document->error, file, text,
							  sizeof(text)));
		if (*document->note)
			out_note("%s:%u: %s", file, document->line, document->note);
	}
	return STATUS_DONE;
}

int simulation_pods(struct simulation *simulation, const char *file, unsigned int times)
{
	struct manifest manifest cleanup_manifest = {0};
	char *data cleanup_free = NULL;
	size_t len;
	int r;

	r = source_read(simulation->session, file, MANIFEST_MAX_BYTES, &data, &len);
	if (r)
		return r;
	if (manifest_parse(data, len, &manifest))
		return out_no_memory(simulation->session);
	r = check_documents(simulation, &manifest, file);
	for (unsigned int n = 1; n <= times && !r; n++) {
		for (uint32_t i = 0; i < manifest.nr_documents && !r; i++)
			r = admit_copy(simulation, manifest.documents[i].spec,
				       (struct origin){file, manifest.documents[i].line}, n);
		if (simulation->nr_refused + ledger_nr_pods(simulation->snapshot.ledger) > MAX_PODS)
			return out_fail(simulation->session, STATUS_INPUT,
					"%s times %u: more than %d pods; ask for fewer", file,
					times, MAX_PODS);
	}
	return r;
}

const struct ledger_pod *simulation_find(const struct simulation *simulation,
					 const struct pod_ref *ref)
{
	const struct ledger *ledger = simulation->snapshot.ledger;

	return ref->uid ? ledger_find(ledger, ref->uid)
			: ledger_find_name(ledger, ref->namespace, ref->name);
}

const struct refused *simulation_find_refused(const struct simulation *simulation,
					      const struct pod_ref *ref)
{
	for (size_t i = 0; i < simulation->nr_refused; i++) {
		const struct refused *refused = &simulation->refused[i];

		if (!strcmp(refused->name, ref->name) &&
		    !strcmp(refused->namespace, ref->namespace))
			return refused;
	}
	return NULL;
}

/* The pod that a step is about; NULL = there is none, and that is reported. */
static const struct ledger_pod *need_pod(const struct simulation *simulation, const char *step,
					 const struct pod_ref *ref)
{
	const struct ledger_pod *pod = simulation_find(simulation, ref);
	char buffer[2 * POD_NAME_MAX + 8];

	if (!pod)
		out_fail(simulation->session, STATUS_INPUT,
			 "%s %s: there is no such pod; give a state file with --state, or let a "
			 "script admit it first",
			 step, ref_text(ref, buffer, sizeof(buffer)));
	return pod;
}

/* Why the container, or with "" the budget, cannot be resized in place; NULL = it can. */
static const char *why_not_resizable(const struct ledger_pod *pod, const char *container)
{
	const struct grant *grant = *container ? ledger_find_grant(pod, container) : NULL;

	if (!*container && !pod->has_bubble)
		return "it has no budget of exclusive CPUs; name a container";
	if (*container && !grant)
		return "it has no container of this name; see pinfold container show";
	if (grant && grant->isolation != ISOLATION_CONTAINER)
		return "this container has no exclusive CPUs";
	return NULL;
}

/* A container runtime has each container resized by itself. */
static int resize_one(struct simulation *simulation, const struct pod_spec *spec,
		      const char *container)
{
	struct ledger *ledger = simulation->snapshot.ledger;
	struct decision decision;
	uint32_t index = 0;
	int r;

	while (strcmp(spec->containers[index].name, container))
		index++;
	r = container_prepare_resize(ledger, spec->uid, &spec->containers[index], &decision);
	if (r == -ENOMEM)
		return out_no_memory(simulation->session);
	if (r)
		return out_fail(simulation->session, STATUS_FAILED, "cannot decide pod %s/%s: %s",
				spec->namespace, spec->name, strerror(-r));
	if (decision.admitted)
		ledger_commit(ledger);
	return decision.admitted ? STATUS_DONE
				 : add_refused(simulation, spec, (struct origin){0}, &decision);
}

int simulation_resize(struct simulation *simulation, const struct pod_ref *ref,
		      const char *container, unsigned int cpus)
{
	const struct ledger_pod *pod = need_pod(simulation, "resize", ref);
	struct pod_spec *spec cleanup_pod_spec = pod ? pod_spec_copy(pod->spec) : NULL;
	struct change change = {
		.kind = *container ? CHANGE_CONTAINER_CPUS : CHANGE_POD_CPUS,
		.cpus = cpus,
	};
	char buffer[2 * POD_NAME_MAX + 8];
	const char *why;

	if (!pod)
		return STATUS_INPUT;
	if (!spec)
		return out_no_memory(simulation->session);
	why = why_not_resizable(pod, container);
	if (why)
		return out_fail(simulation->session, STATUS_INPUT, "resize %s%s%s: %s",
				ref_text(ref, buffer, sizeof(buffer)), *container ? " " : "",
				container, why);
	snprintf(change.container, sizeof(change.container), "%s", container);
	change_apply(&change, spec);
	return pod->spec->is_of_runtime ? resize_one(simulation, spec, container)
					: admit_one(simulation, spec, (struct origin){0});
}

int simulation_drain(struct simulation *simulation, const struct pod_ref *ref)
{
	const struct ledger_pod *pod = need_pod(simulation, "drain", ref);
	struct ledger *ledger = simulation->snapshot.ledger;
	char uid[POD_UID_MAX];

	if (!pod)
		return STATUS_INPUT;
	snprintf(uid, sizeof(uid), "%s", pod->spec->uid);
	if (ledger_begin(ledger))
		return out_no_memory(simulation->session);
	if (ledger_remove(ledger, uid)) {
		ledger_abort(ledger);
		return out_fail(simulation->session, STATUS_FAILED, "cannot drain %s", uid);
	}
	ledger_commit(ledger);
	return STATUS_DONE;
}

/* --- another machine or configuration under the same pods ------------------------------------- */

static bool keep_grant(struct ledger *ledger, const struct ledger_pod *pod)
{
	char error[256];

	if (ledger_begin(ledger))
		return false;
	/* a grant may be allowed by itself, but not beside the others */
	if (ledger_restore(ledger, pod, error, sizeof(error)) ||
	    ledger_check(ledger, error, sizeof(error))) {
		ledger_abort(ledger);
		return false;
	}
	ledger_commit(ledger);
	return true;
}

/* Pods that may stay do; the others are admitted anew after them, in the order of the ledger. */
static int move_pods(struct simulation *simulation, const struct ledger *from)
{
	struct ledger *to = simulation->snapshot.ledger;
	bool *kept cleanup_free = calloc(ledger_nr_pods(from) + 1, sizeof(*kept));
	int r = STATUS_DONE;

	if (!kept)
		return out_no_memory(simulation->session);
	for (uint32_t i = 0; i < ledger_nr_pods(from); i++)
		kept[i] = keep_grant(to, ledger_pod_at(from, i));
	for (uint32_t i = 0; i < ledger_nr_pods(from) && !r; i++) {
		if (!kept[i])
			r = admit_one(simulation, ledger_pod_at(from, i)->spec,
				      (struct origin){NULL, 0});
	}
	return r;
}

static int build_without(const struct topology *topology, const struct cpuset *gone, char *error,
			 size_t error_size, struct topology **ret_topology)
{
	struct topology_cpu *cpus cleanup_free = calloc(topology->nr_cpu_ids + 1, sizeof(*cpus));
	struct topology_facts facts = {
		.cpus = cpus,
		.nodes = topology->memory_nodes,
		.nr_nodes = topology->nr_memory_nodes,
		.distances = topology->distances,
		TOPOLOGY_COUNT_ALL,
	};

	if (!cpus)
		return -ENOMEM;
	cpuset_for_each (cpu, &topology->all) {
		if (cpuset_has(gone, cpu))
			continue;
		cpus[facts.nr_cpus++] = (struct topology_cpu){
			.id = cpu,
			.core = topology->cores.ids[topology->core_of[cpu]],
			.socket = topology->sockets.ids[topology->socket_of[cpu]],
			.node = topology->nodes.ids[topology->node_of[cpu]],
			.uncore = topology->uncores.ids[topology->uncore_of[cpu]],
		};
	}
	return topology_new(&facts, error, error_size, ret_topology);
}

int simulation_offline(struct simulation *simulation, const struct cpuset *cpus)
{
	struct snapshot *snapshot = &simulation->snapshot;
	struct topology *topology cleanup_topology = NULL;
	struct ledger *old cleanup_ledger = NULL;
	struct topology *old_topology;
	struct ledger *ledger = NULL;
	char error[256];
	int r;

	if (!cpuset_is_subset(cpus, &snapshot->machine.topology->all))
		return out_fail(simulation->session, STATUS_INPUT,
				"cannot take the CPUs offline: the machine does not have all of "
				"them");
	r = build_without(snapshot->machine.topology, cpus, error, sizeof(error), &topology);
	if (r)
		return out_fail(simulation->session, STATUS_INPUT,
				"cannot take the CPUs "
				"offline: %s",
				r == -ENOMEM ? "out of memory" : error);
	r = snapshot_new_ledger(simulation->session, snapshot->config_file, topology,
				&snapshot->config->policy, &ledger);
	if (r)
		return r;
	old = snapshot->ledger;
	snapshot->ledger = ledger;
	old_topology = snapshot->machine.topology;
	snapshot->machine.topology = TAKE_PTR(topology);
	r = move_pods(simulation, old);
	/* the old ledger borrows the old topology */
	ledger_free(TAKE_PTR(old));
	topology_free(old_topology);
	return r;
}

int simulation_policy(struct simulation *simulation, const char *file)
{
	struct snapshot *snapshot = &simulation->snapshot;
	struct config *config cleanup_free = NULL;
	struct ledger *old cleanup_ledger = NULL;
	struct ledger *ledger = NULL;
	int r;

	r = snapshot_read_config(simulation->session, file, &config);
	if (!r)
		r = snapshot_check_config(simulation->session, file, &snapshot->machine, config);
	if (r)
		return r;
	r = snapshot_new_ledger(simulation->session, file, snapshot->machine.topology,
				&config->policy, &ledger);
	if (r)
		return r;
	old = snapshot->ledger;
	snapshot->ledger = ledger;
	r = move_pods(simulation, old);
	/* the old ledger borrows the old policy, which goes after it */
	ledger_free(TAKE_PTR(old));
	free(snapshot->config);
	snapshot->config = TAKE_PTR(config);
	return r;
}

/* --- what came of it -------------------------------------------------------------------------- */

int simulation_expect(struct simulation *simulation, unsigned int line, const char *text, bool met,
		      const char *found)
{
	struct expectation *grown = reallocarray(simulation->expectations,
						 simulation->nr_expectations + 1,
						 sizeof(*simulation->expectations));
	struct expectation expectation = {.line = line, .met = met};

	if (!grown)
		return out_no_memory(simulation->session);
	simulation->expectations = grown;
	expectation.text = strdup(text);
	expectation.found = strdup(met ? "" : found);
	grown[simulation->nr_expectations++] = expectation;
	if (!expectation.text || !expectation.found)
		return out_no_memory(simulation->session);
	return STATUS_DONE;
}

int simulation_status(const struct simulation *simulation)
{
	for (size_t i = 0; i < simulation->nr_expectations; i++) {
		if (!simulation->expectations[i].met)
			return STATUS_FINDING;
	}
	if (simulation->nr_expectations)
		return STATUS_DONE;
	return simulation->nr_refused ? STATUS_FINDING : STATUS_DONE;
}

static bool facts_equal(const struct container_facts *a, const struct container_facts *b)
{
	return cpuset_equal(&a->cpus, &b->cpus) && cpuset_equal(&a->mems, &b->mems) &&
	       !strcmp(a->isolation, b->isolation) && !strcmp(a->cpu_max, b->cpu_max);
}

/* Of the pods that were there before: changed or gone. New pods do not change them. */
static void compare_holdings(const struct holdings *before, const struct holdings *after,
			     struct container_change *rows, size_t *ret_nr)
{
	*ret_nr = 0;
	for (size_t i = 0; i < before->nr; i++) {
		const struct holding *was = &before->items[i];
		const struct holding *is = find_holding(after, was);

		if (is && facts_equal(&was->facts, &is->facts))
			continue;
		rows[(*ret_nr)++] = (struct container_change){
			.namespace = was->namespace,
			.pod = was->pod,
			.container = was->container,
			.before = &was->facts,
			.after = is ? &is->facts : NULL,
		};
	}
}

static void fill_refusals(const struct simulation *simulation, struct refusal_row *refusals)
{
	for (size_t i = 0; i < simulation->nr_refused; i++) {
		const struct refused *refused = &simulation->refused[i];

		refusals[i] = (struct refusal_row){
			.namespace = refused->namespace,
			.name = refused->name,
			.uid = refused->uid,
			.file = refused->file,
			.line = refused->line,
			.decision = &refused->decision,
		};
	}
}

static void fill_expects(const struct simulation *simulation, struct expect_row *expects)
{
	for (size_t i = 0; i < simulation->nr_expectations; i++) {
		const struct expectation *expectation = &simulation->expectations[i];

		expects[i] = (struct expect_row){
			.file = simulation->script,
			.line = expectation->line,
			.expect = expectation->text,
			.met = expectation->met,
			.found = *expectation->found ? expectation->found : NULL,
		};
	}
}

struct json_object *simulation_view(const struct simulation *simulation)
{
	const struct holdings *before = &simulation->before;
	struct refusal_row *refusals cleanup_free =
		calloc(simulation->nr_refused + 1, sizeof(*refusals));
	struct expect_row *expects cleanup_free =
		calloc(simulation->nr_expectations + 1, sizeof(*expects));
	struct container_change *changes cleanup_free = calloc(before->nr + 1, sizeof(*changes));
	struct holdings after = {0};
	struct simulate_row row = {
		.topology = simulation->snapshot.topology,
		.nr_refusals = simulation->nr_refused,
		.refusals = refusals,
		.nr_expects = simulation->nr_expectations,
		.expects = expects,
		.changes = changes,
	};
	struct json_object *json;

	if (!refusals || !expects || !changes || take_holdings(simulation->snapshot.ledger, &after))
		return NULL;
	fill_refusals(simulation, refusals);
	fill_expects(simulation, expects);
	compare_holdings(before, &after, changes, &row.nr_changes);
	json = view_simulate(simulation->snapshot.ledger, &row);
	free(after.items);
	return json;
}

static bool is_named(struct json_object *item, const void *data)
{
	const struct simulation *simulation = data;
	struct view_explain row;

	object_read(&view_explain_desc, item, &row);
	for (size_t i = 0; i < simulation->nr_named; i++) {
		if (is_same_text(simulation->named[i], row.uid))
			return true;
	}
	return false;
}

struct json_object *simulation_explain(const struct simulation *simulation)
{
	struct refusal_row *refusals cleanup_free =
		calloc(simulation->nr_refused + 1, sizeof(*refusals));
	struct json_object *all cleanup_json = NULL;

	if (!refusals)
		return NULL;
	fill_refusals(simulation, refusals);
	all = snapshot_explain(&simulation->snapshot, refusals, simulation->nr_refused);
	return all ? json_filter(all, is_named, simulation) : NULL;
}
