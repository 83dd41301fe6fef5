// SPDX-License-Identifier: Apache-2.0
/*
 * The walk itself is an adapter's. Here is when one begins, whose the CPUs are, and what becomes of
 * its report.
 */
#include "ctl/stranger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/arena.h"
#include "lib/text.h"

/*
 * A stranger that gets an exclusive CPU is walked for at once. But one that does not run yet raises
 * no event, and not every kernel has the programs that see it. While CPUs are exclusive, a walk
 * follows a second after another, which is a little less here because it is a tick that begins one;
 * but these walks take 5 % of a CPU at most. A change of the exclusive CPUs does not wait for that.
 */
#define REWALK_NS	900000000ULL
#define WALK_COST_SHARE 20
/* Walks for strangers that were seen follow each other after this pause. */
#define SEEN_REWALK_NS 10000000ULL
/*
 * Where nobody asked for it, `pinfold stranger show` is a minute old at most. This is also how
 * long a task whose cpuset grows keeps what we wrote to it, when nothing is exclusive any more.
 */
#define IDLE_REWALK_NS (60ULL * 1000000000ULL)

void stranger_init(struct strangers_known *known)
{
	known->budget.share = WALK_COST_SHARE;
}

void stranger_fini(struct strangers_known *known)
{
	stranger_report_fini(&known->report);
}

/* --- when ---------------------------------------------------------------------------------------- */

static enum enforcement wanted_enforcement(const struct config *config)
{
	return config->mode == MODE_ALLOCATE ? config->enforcement.strangers : ENFORCEMENT_OFF;
}

/*
 * Not looked at. A container inherits the affinity of the runtime's process that starts it, which is a
 * task of the host: what the agent wrote there would keep the container off CPUs that it gets later.
 */
static struct cpuset cpus_of_runtime(const struct controller *controller)
{
	struct cpuset cpus = CPUSET_EMPTY;

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		if (pod->spec->is_of_runtime || ctl_runtime_names(controller, pod->spec->uid))
			cpuset_union(&cpus, pod->held);
	}
	return cpus;
}

static void fill_request(const struct controller *controller, struct stranger_request *request)
{
	const struct cpuset of_runtime = cpus_of_runtime(controller);
	struct cpu_states states;

	ledger_cpu_states(controller->ledger, &states);
	request->mode = wanted_enforcement(controller->options.config) == ENFORCEMENT_ENFORCE
				? STRANGER_REPAIR
				: STRANGER_OBSERVE;
	request->now_ns = clock_now_ns(controller->ports.clock);
	request->workload_root = controller->layout.root;
	request->cpus.online = controller->online;
	request->cpus.exclusive = states.exclusive;
	cpuset_subtract(&request->cpus.exclusive, &of_runtime);
	request->cpus.allowed = states.reserved;
	cpuset_union(&request->cpus.allowed, &states.shared);
	cpuset_intersect(&request->cpus.allowed, &controller->online);
}

/* Tasks that were made while the last walk wrote may have what their makers had before. */
static bool has_written(const struct strangers_known *known)
{
	return known->report.nr_moved || known->report.nr_restored;
}

/* Is there anything that another walk could find or restore? */
static bool has_work(const struct strangers_known *known, const struct stranger_request *request)
{
	return known->result || has_written(known) || known->report.nr_held ||
	       !cpuset_is_empty(&request->cpus.exclusive);
}

/* Are there none but tasks that another process, or a cpuset, gave a part of what we wrote? */
static bool has_only_narrowed(const struct strangers_known *known)
{
	return known->report.nr_held == known->report.nr_narrowed &&
	       cpuset_is_empty(&known->exclusive);
}

static uint64_t pause_before_walk(const struct strangers_known *known, enum enforcement enforcement)
{
	/* What made a walk fail is seldom over so soon. */
	if (known->seen.time_ns && !known->result)
		return SEEN_REWALK_NS;
	if (has_written(known))
		return REWALK_NS;
	return enforcement == ENFORCEMENT_OFF || has_only_narrowed(known) ? IDLE_REWALK_NS
									  : REWALK_NS;
}

static bool is_due(struct strangers_known *known, const struct stranger_request *request,
		   enum enforcement enforcement)
{
	if (known->since_ns)
		return false;
	/* The first walk restores what an earlier agent changed. */
	if (!known->begun_ns || known->enforcement != enforcement ||
	    !cpuset_equal(&known->exclusive, &request->cpus.exclusive))
		return true;
	if (!has_work(known, request))
		return false;
	if (!cpuset_equal(&known->allowed, &request->cpus.allowed))
		return true;
	return request->now_ns - known->begun_ns >= pause_before_walk(known, enforcement) &&
	       !token_bucket_delay_ns(&known->budget, request->now_ns);
}

/* --- whose the CPUs are --------------------------------------------------------------------------- */

/* Init containers hand their CPUs on, so two containers of a pod may own the same ones. */
static int find_owners(const struct controller *controller, struct stranger_owner **ret_owners,
		       uint32_t *ret_nr)
{
	const struct group_tree *desired = &controller->desired;
	struct stranger_owner *owners = calloc(desired->nr_groups + 1, sizeof(*owners));
	uint32_t nr = 0;

	if (!owners)
		return -ENOMEM;
	for (uint32_t i = 0; i < desired->nr_groups; i++) {
		const struct group *group = &desired->groups[i];
		const struct ledger_pod *pod = ledger_find(controller->ledger, group->uid);
		const struct grant *grant = pod ? ledger_find_grant(pod, group->container) : NULL;

		if (group->role != GROUP_CONTAINER || !grant ||
		    grant->isolation != ISOLATION_CONTAINER)
			continue;
		text_copy(owners[nr].path, sizeof(owners[nr].path), group->path);
		owners[nr++].cpus = *grant->cpus;
	}
	*ret_owners = owners;
	*ret_nr = nr;
	return 0;
}

void ctl_find_strangers(struct controller *controller)
{
	const struct stranger_port *port = controller->ports.stranger;
	struct strangers_known *known = &controller->strangers;
	struct stranger_owner *owners cleanup_free = NULL;
	const enum enforcement enforcement = wanted_enforcement(controller->options.config);
	struct stranger_request request = {0};
	int r;

	if (!port)
		return;
	fill_request(controller, &request);
	if (controller->ports.noise)
		controller->ports.noise->tell_strangers(controller->ports.noise->self,
							enforcement == ENFORCEMENT_ENFORCE);
	if (!is_due(known, &request, enforcement))
		return;
	known->enforcement = enforcement;
	known->exclusive = request.cpus.exclusive;
	known->allowed = request.cpus.allowed;
	known->begun_ns = known->since_ns = request.now_ns;
	r = find_owners(controller, &owners, &request.nr_owners);
	request.owners = owners;
	if (!r)
		r = port->walk(port->self, &request);
	if (r)
		ctl_end_stranger_walk(controller, r, NULL);
}

bool ctl_moves_strangers(const struct controller *controller)
{
	const struct strangers_known *known = &controller->strangers;

	return known->nr_walks && known->enforcement == ENFORCEMENT_ENFORCE && !known->result &&
	       !known->report.error;
}

/* --- those that were seen ------------------------------------------------------------------------- */

static const struct stranger_row *find_row(const struct stranger_report *report, uint32_t thread)
{
	for (uint32_t i = 0; i < report->nr; i++)
		if ((uint32_t)report->rows[i].thread == thread)
			return &report->rows[i];
	return NULL;
}

void ctl_see_stranger(struct controller *controller, const struct noise_stranger *stranger)
{
	struct strangers_known *known = &controller->strangers;
	const struct stranger_row *row = find_row(&known->report, stranger->pid);
	const struct cpuset of_runtime = cpus_of_runtime(controller);

	/* Noise is counted there, but nobody is moved away. */
	if (cpuset_has(&of_runtime, stranger->cpu))
		return;
	known->nr_seen++;
	/* Another walk would not move it either. */
	if (row && row->state != STRANGER_STATE_MOVED)
		return;
	if (!known->seen.time_ns)
		known->seen = *stranger;
	ctl_find_strangers(controller);
}

static void count_exposure(struct strangers_known *known, uint64_t ns)
{
	uint32_t bucket = 0;

	while (bucket + 1 < STRANGER_BUCKETS && ns > STRANGER_FIRST_BUCKET_NS << bucket)
		bucket++;
	known->nr_exposed[bucket]++;
	known->exposed_ns += ns;
}

/*
 * A walk that was begun after the stranger got its CPU has looked at it. One that was begun before
 * may have moved it all the same.
 */
static void end_exposure(struct controller *controller)
{
	struct strangers_known *known = &controller->strangers;
	const struct stranger_row *row = find_row(&known->report, known->seen.pid);

	if (!known->seen.time_ns)
		return;
	if (row && row->state == STRANGER_STATE_MOVED && known->report.nr_moved &&
	    known->report.wrote_ns >= known->seen.time_ns)
		count_exposure(known, known->report.wrote_ns - known->seen.time_ns);
	else if (known->seen.time_ns > known->begun_ns)
		return;
	known->seen.time_ns = 0;
}

/* --- what an operator is told --------------------------------------------------------------------- */

/* Who let it run there. */
static enum stranger_cause cause_of(const struct controller *controller,
				    const struct stranger_row *row)
{
	const struct cpuset first = cpuset_of_text(row->original ? row->original : row->affinity);

	if (row->nr_reverts)
		return STRANGER_CAUSE_SET_BACK;
	return cpuset_is_subset(&controller->online, &first) ? STRANGER_CAUSE_DEFAULT
							     : STRANGER_CAUSE_CHOSEN;
}

static void fill_remedy(const struct strangers_known *known, const struct stranger_row *row,
			char *text, size_t size)
{
	*text = '\0';
	switch (row->state) {
	case STRANGER_STATE_REACHES:
		if (known->enforcement != ENFORCEMENT_ENFORCE)
			snprintf(text, size, "set 'enforcement: {strangers: enforce}'");
		else if (known->report.error)
			snprintf(
				text, size,
				"make runtimeDirectory writable: see the finding strangers_unsaved");
		else
			snprintf(
				text, size,
				"reserve CPUs for the host: no CPU is reserved or shared, so the task cannot be moved");
		break;
	case STRANGER_STATE_BOUND:
		snprintf(
			text, size,
			"set 'interrupts: steer' and boot with nohz_full and rcu_nocbs, which give "
			"it less to do: a kernel thread of one CPU cannot be moved");
		break;
	case STRANGER_STATE_CPUSET:
		snprintf(text, size,
			 "see 'pinfold drift show' and 'pinfold pod show' for why its cpuset is "
			 "not repaired");
		break;
	case STRANGER_STATE_CONTENDED:
		snprintf(text, size,
			 "find out what calls sched_setaffinity(2) for it: the task itself, or a "
			 "program that manages it");
		break;
	case STRANGER_STATE_FAILED:
		snprintf(
			text, size,
			"widen the cpuset of its cgroup if that has only exclusive CPUs: the kernel "
			"refused other CPUs (%s)",
			strerror(-row->error));
		break;
	default:
		break;
	}
}

static void tell_unread(struct controller *controller, int error)
{
	if (error == -EFBIG)
		findings_put(
			&controller->findings, FINDING_STRANGERS_UNKNOWN,
			"start the version that wrote it with 'strangers: off', which restores "
			"the tasks that it names; or move the file away: they then keep the CPUs "
			"they have",
			"strangers.json in runtimeDirectory is larger than 4 MiB, so it is not "
			"read, and no stranger is moved");
	else
		findings_put_if(
			&controller->findings, FINDING_STRANGERS_UNKNOWN, error,
			"see whether /proc, and strangers.json in runtimeDirectory, can be read",
			"cannot look for strangers on exclusive CPUs, so none is moved: %s",
			strerror(-error));
}

static void tell_unsaved(struct controller *controller, const struct stranger_report *report)
{
	findings_put_if(
		&controller->findings, FINDING_STRANGERS_UNSAVED, report->error,
		"check the space and the permissions of runtimeDirectory",
		"the original affinities of strangers cannot be saved, so none is moved: %s",
		strerror(-report->error));
}

/* An opponent is named as long as its corrections are remembered, also while it is beaten. */
static void tell_opponent(struct controller *controller, const struct stranger_report *report)
{
	const struct stranger_row *worst = NULL;

	for (uint32_t i = 0; i < report->nr; i++)
		if (report->rows[i].nr_reverts >= STRANGER_PATIENCE &&
		    (!worst || report->rows[i].nr_reverts > worst->nr_reverts))
			worst = &report->rows[i];
	if (!worst) {
		findings_clear(&controller->findings, FINDING_STRANGERS_CONTENDED);
		return;
	}
	findings_update(
		&controller->findings, FINDING_STRANGERS_CONTENDED,
		"find out what calls sched_setaffinity(2) for it: the task itself, or a program that "
		"manages it",
		"another process keeps giving exclusive CPUs to thread %d (%s) in cgroup %.120s; the "
		"agent corrected it %u times, and now does so at longer intervals",
		(int)worst->thread, worst->comm, worst->cgroup ? worst->cgroup : "unknown",
		worst->nr_reverts);
}

/* Those that nobody can move, and those whose cpuset is drift, are reported elsewhere. */
static bool is_told(const struct stranger_row *row)
{
	return row->state == STRANGER_STATE_REACHES || row->state == STRANGER_STATE_FAILED;
}

static void tell_strangers(struct controller *controller, const struct stranger_report *report)
{
	const struct stranger_row *first = NULL;
	char remedy[ROW_DETAIL_MAX];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < report->nr; i++) {
		if (!is_told(&report->rows[i]) || !*report->rows[i].exclusive)
			continue;
		if (!nr++)
			first = &report->rows[i];
	}
	if (!nr || controller->strangers.enforcement == ENFORCEMENT_OFF) {
		findings_clear(&controller->findings, FINDING_STRANGERS_ON_EXCLUSIVE_CPUS);
		return;
	}
	fill_remedy(&controller->strangers, first, remedy, sizeof(remedy));
	findings_update(
		&controller->findings, FINDING_STRANGERS_ON_EXCLUSIVE_CPUS, remedy,
		"%u task%s may run on exclusive CPUs without belonging there; the first is thread "
		"%d (%s), CPUs %.120s",
		nr, nr == 1 ? "" : "s", (int)first->thread, first->comm, first->exclusive);
}

static void record_moves(struct controller *controller, const struct stranger_report *report)
{
	struct event_record event = EVENT_RECORD(EVENT_STRANGERS);

	if (!report->nr_moved)
		return;
	event.action = ACTION_REPAIR;
	event.pid = (uint32_t)report->first.thread;
	_Static_assert(sizeof(event.comm) == sizeof(report->first.comm), "both are the kernel's");
	memcpy(event.comm, report->first.comm, sizeof(event.comm));
	event.strangers.nr = report->nr_moved;
	cpuset_format(&controller->strangers.exclusive, event.strangers.cpus,
		      sizeof(event.strangers.cpus));
	event_log_record(&controller->events, &event);
}

void ctl_end_stranger_walk(struct controller *controller, int result,
			   struct stranger_report *report)
{
	struct strangers_known *known = &controller->strangers;
	const uint32_t nr_held = known->report.nr_held, nr_narrowed = known->report.nr_narrowed;

	known->since_ns = 0;
	known->result = result;
	tell_unread(controller, result);
	/* Of tasks that cannot be read nobody is told that they spare the exclusive CPUs. */
	stranger_report_fini(&known->report);
	known->report.nr_held = nr_held;
	known->report.nr_narrowed = nr_narrowed;
	/* A walk that failed has cost as much; one that could not begin has no report. */
	if (report) {
		known->cost_ns += report->cost_ns;
		token_bucket_take(&known->budget, clock_now_ns(controller->ports.clock),
				  report->cost_ns);
	}
	if (result)
		return;
	known->nr_walks++;
	known->nr_moved += report->nr_moved;
	known->nr_restored += report->nr_restored;
	known->nr_failed += report->nr_failed;
	known->nr_reverted += report->nr_reverted;
	known->report = *report;
	*report = (struct stranger_report){0};
	tell_unsaved(controller, &known->report);
	tell_opponent(controller, &known->report);
	tell_strangers(controller, &known->report);
	record_moves(controller, &known->report);
	end_exposure(controller);
	/* It got its CPU during the walk. */
	if (known->seen.time_ns)
		ctl_find_strangers(controller);
}

/* --- rows ----------------------------------------------------------------------------------------- */

static const char *unless_empty(const char *text)
{
	return *text ? text : NULL;
}

static enum drift_cause origin_of(const struct stranger_row *row)
{
	if (row->kind == STRANGER_KTHREAD || row->kind == STRANGER_BOUND)
		return CAUSE_KERNEL;
	return row->cgroup ? drift_cause_of((uint32_t)row->process, row->cgroup) : CAUSE_UNKNOWN;
}

static void fill_row(const struct controller *controller, const struct stranger_row *found,
		     struct arena *arena, struct view_stranger *row)
{
	char unit[ROW_PATH_MAX], remedy[ROW_DETAIL_MAX];

	cgroup_unit(found->cgroup, unit, sizeof(unit));
	fill_remedy(&controller->strangers, found, remedy, sizeof(remedy));
	*row = (struct view_stranger){
		.pid = found->thread,
		.process = found->process,
		.name = found->comm,
		.kind = found->kind,
		.state = found->state,
		.cause = cause_of(controller, found),
		.origin = origin_of(found),
		.cgroup = found->cgroup,
		.unit = *unit ? arena_printf(arena, "%s", unit) : NULL,
		.affinity = found->affinity,
		.original = found->original,
		.exclusive_cpus = unless_empty(found->exclusive),
		.set_back = found->nr_reverts,
		.remedy = *remedy ? arena_printf(arena, "%s", remedy) : NULL,
	};
}

struct json_object *ctl_report_strangers(struct controller *controller)
{
	const struct stranger_report *report = &controller->strangers.report;
	struct arena arena cleanup_arena = {0};
	struct view_stranger *rows = arena_array(&arena, report->nr, sizeof(*rows));

	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < report->nr; i++)
		fill_row(controller, &report->rows[i], &arena, &rows[i]);
	return arena.failed ? NULL : view_strangers(rows, report->nr);
}
