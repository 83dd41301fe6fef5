// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger says whose a CPU is, the publisher which cgroup that is. The figures stay with the
 * port: a CPU that gets another owner begins with 0 there. The sum of a pod must not fall by that, so
 * what such a CPU had counted is kept here, until the pod ends.
 */
#include "ctl/noise.h"

#include <errno.h>

#include "ctl/counters.h"
#include "ctl/internal.h"
#include "lib/log.h"
#include "lib/text.h"

void noise_fini(struct noise *noise)
{
	free(noise->grants);
	free(noise->pods);
	free(noise->kept);
}

/* --- whose the CPUs are --------------------------------------------------------------------------- */

/* Of the groups above a container, as the walk through the tree has met them. */
struct above {
	const struct managed_group *root, *pod;
};

static struct noise_owner owner_of(const struct above *above, const struct managed_group *group)
{
	if (!above->root || !above->pod || !group)
		return (struct noise_owner){0};
	return (struct noise_owner){
		.cgroup_id = group->cgroup_id,
		.level = group->level,
		.pod_cgroup_id = above->pod->cgroup_id,
		.pod_level = above->pod->level,
		.root_cgroup_id = above->root->cgroup_id,
		.root_level = above->root->level,
	};
}

/*
 * An init container's CPUs go to the containers after it, so a CPU may be in several grants of
 * one pod; the pod as a whole is then its owner.
 */
static void add_cpu(struct noisy_cpu *rows, uint32_t *nr, struct cpuset *seen,
		    const struct noisy_cpu *row)
{
	if (!cpuset_has(seen, row->grant.cpu)) {
		cpuset_add(seen, row->grant.cpu);
		rows[(*nr)++] = *row;
		return;
	}
	for (uint32_t i = 0; i < *nr; i++) {
		struct noise_owner *owner = &rows[i].grant.owner;

		if (rows[i].grant.cpu != row->grant.cpu)
			continue;
		if (!owner->cgroup_id)
			*owner = row->grant.owner;
		owner->cgroup_id = owner->pod_cgroup_id;
		owner->level = owner->pod_level;
		rows[i].container = "";
	}
}

static int by_cpu(const void *left, const void *right)
{
	const struct noisy_cpu *a = left, *b = right;

	return (a->grant.cpu > b->grant.cpu) - (a->grant.cpu < b->grant.cpu);
}

static uint32_t find_cpus(const struct controller *controller, struct noisy_cpu *rows)
{
	struct cpuset seen = CPUSET_EMPTY;
	struct above above = {0};
	uint32_t nr = 0, cursor = 0;

	for (uint32_t i = 0; i < controller->measured.tree.nr_groups; i++) {
		const struct group *group = &controller->measured.tree.groups[i];
		const struct managed_group *published =
			ctl_published_next(controller, group->path, &cursor);
		const struct ledger_pod *pod = ledger_find(controller->ledger, group->uid);
		const struct grant *grant = pod ? ledger_find_grant(pod, group->container) : NULL;
		struct noisy_cpu row = {.pod = pod, .container = group->container};

		if (group->role == GROUP_ROOT)
			above = (struct above){.root = published};
		else if (group->role == GROUP_POD)
			above.pod = published;
		/* Nothing is granted to the groups above containers. */
		if (!grant || grant->isolation != ISOLATION_CONTAINER)
			continue;
		row.grant.owner = owner_of(&above, published);
		cpuset_for_each (cpu, grant->cpus) {
			row.grant.cpu = cpu;
			add_cpu(rows, &nr, &seen, &row);
		}
	}
	qsort(rows, nr, sizeof(*rows), by_cpu);
	return nr;
}

int ctl_noisy_cpus(const struct controller *controller, struct noisy_cpu **ret_rows,
		   uint32_t *ret_nr)
{
	struct noisy_cpu *rows = calloc(cpuset_count(&controller->topology->all), sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	*ret_nr = find_cpus(controller, rows);
	*ret_rows = rows;
	return 0;
}

/* --- names ---------------------------------------------------------------------------------------- */

static const char *find_name(const struct noise *noise, uint64_t cgroup_id)
{
	for (uint32_t i = 0; i < NOISE_NAMES; i++)
		if (noise->names[i].cgroup_id == cgroup_id)
			return noise->names[i].path;
	return NULL;
}

/*
 * The number that follows the one tried last is next, and after the highest the lowest: one that has
 * no name any more does not keep the others from theirs.
 */
static bool is_before(const struct noise *noise, uint64_t cgroup_id)
{
	return cgroup_id - noise->tried - 1 < noise->wanted - noise->tried - 1;
}

const char *noise_cgroup_in_memory(struct noise *noise, uint64_t cgroup_id)
{
	const char *path = find_name(noise, cgroup_id);

	if (!path && (!noise->wanted || is_before(noise, cgroup_id)))
		noise->wanted = cgroup_id;
	return path;
}

const char *ctl_noise_cgroup(struct controller *controller, uint64_t cgroup_id)
{
	const struct groups_port *groups = controller->ports.groups;
	struct noise *noise = &controller->noise;
	struct noise_name *name = &noise->names[noise->nr_names % NOISE_NAMES];
	const char *known = find_name(noise, cgroup_id);
	char path[sizeof(name->path)];

	if (known)
		return known;
	if (groups->path_of(groups->self, cgroup_id, path, sizeof(path)))
		return NULL;
	name->cgroup_id = cgroup_id;
	text_copy(name->path, sizeof(name->path), *path ? path : "/");
	noise->nr_names++;
	return name->path;
}

/* --- what is kept --------------------------------------------------------------------------------- */

/* The totals of one CPU by source. */
struct cpu_noise {
	uint64_t total_ns[NOISE_SOURCE_NR];
};

/* Adds to `sum`. False: this CPU is not counted at present. */
static bool add_noise(const struct noise_port *port, const struct noise_grant *grant,
		      struct cpu_noise *sum)
{
	struct noise_entry entries[NOISE_READ_MAX];
	uint32_t nr;

	if (port->read(port->self, grant->cpu, grant->owner.cgroup_id, entries, &nr))
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (entries[i].source < NOISE_SOURCE_NR)
			sum->total_ns[entries[i].source] += entries[i].total_ns;
	return true;
}

static struct noise_kept *find_kept(const struct noise *noise, uint64_t pod)
{
	for (uint32_t i = 0; i < noise->nr_kept; i++)
		if (noise->kept[i].pod == pod)
			return &noise->kept[i];
	return NULL;
}

/* A row for each pod that has CPUs now, so that what it loses can be kept. -ENOMEM. */
static int make_room(struct noise *noise)
{
	struct noise_kept *kept =
		reallocarray(noise->kept, noise->nr_kept + noise->nr + 1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	noise->kept = kept;
	for (uint32_t i = 0; i < noise->nr; i++)
		if (!find_kept(noise, noise->pods[i]))
			kept[noise->nr_kept++] = (struct noise_kept){.pod = noise->pods[i]};
	return 0;
}

static void read_told(const struct noise_port *port, const struct noise *noise,
		      struct cpu_noise *ret_cpus)
{
	for (uint32_t i = 0; i < noise->nr; i++)
		add_noise(port, &noise->grants[i], &ret_cpus[i]);
}

/*
 * After the port was told of other owners: what a CPU has less of than before has begun anew there, if
 * it is counted for this owner at all.
 */
static void keep_lost(const struct noise_port *port, const struct noise *noise,
		      const struct cpu_noise *before)
{
	for (uint32_t i = 0; i < noise->nr; i++) {
		struct noise_kept *kept = find_kept(noise, noise->pods[i]);
		struct cpu_noise now = {0};

		add_noise(port, &noise->grants[i], &now);
		for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++)
			if (now.total_ns[source] < before[i].total_ns[source])
				kept->total_ns[source] += before[i].total_ns[source];
	}
}

static void drop_released(struct noise *noise, const struct ledger *ledger)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < noise->nr_kept; i++)
		noise->kept[i].is_in_ledger = false;
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		struct noise_kept *found =
			find_kept(noise, ctl_pod_number(ledger_pod_at(ledger, i)->spec->uid));

		if (found)
			found->is_in_ledger = true;
	}
	for (uint32_t i = 0; i < noise->nr_kept; i++)
		if (noise->kept[i].is_in_ledger)
			noise->kept[nr++] = noise->kept[i];
	noise->nr_kept = nr;
}

/* --- what the port is told ------------------------------------------------------------------------ */

/* The ids of cgroups are never used twice, so their levels need no look. */
static bool is_same_grant(const struct noise_grant *a, const struct noise_grant *b)
{
	return a->cpu == b->cpu && a->owner.cgroup_id == b->owner.cgroup_id &&
	       a->owner.pod_cgroup_id == b->owner.pod_cgroup_id &&
	       a->owner.root_cgroup_id == b->owner.root_cgroup_id;
}

static bool is_told(const struct noise *noise, const struct noise_grant *grants, uint32_t nr)
{
	bool is_same = noise->nr == nr;

	for (uint32_t i = 0; is_same && i < nr; i++)
		is_same = is_same_grant(&noise->grants[i], &grants[i]);
	return is_same;
}

static void tell(struct controller *controller, const struct noisy_cpu *rows, uint32_t nr_rows)
{
	const struct noise_port *port = controller->ports.noise;
	struct noise *noise = &controller->noise;
	struct noise_grant *grants cleanup_free = calloc(nr_rows + 1, sizeof(*grants));
	uint64_t *pods cleanup_free = calloc(nr_rows + 1, sizeof(*pods));
	struct cpu_noise *before cleanup_free = calloc(noise->nr + 1, sizeof(*before));
	uint32_t nr = 0;
	int r;

	if (!grants || !pods || !before)
		return; /* the next second is soon enough */
	for (uint32_t i = 0; i < nr_rows; i++) {
		if (!rows[i].grant.owner.cgroup_id)
			continue;
		pods[nr] = ctl_pod_number(rows[i].pod->spec->uid);
		grants[nr++] = rows[i].grant;
	}
	if (is_told(noise, grants, nr))
		return;
	if (make_room(noise))
		return;
	read_told(port, noise, before);
	r = port->watch(port->self, grants, nr);
	if (r)
		log_warn(r, "ctl: cannot count the noise on exclusive CPUs");
	keep_lost(port, noise, before);
	drop_released(noise, controller->ledger);
	free(noise->grants);
	free(noise->pods);
	noise->grants = TAKE_PTR(grants);
	noise->pods = TAKE_PTR(pods);
	noise->nr = nr;
}

static void tell_failure(struct controller *controller)
{
	const struct noise_port *port = controller->ports.noise;

	findings_put_if(&controller->findings, FINDING_NOISE_ABSENT,
			port->state(port->self) == NOISE_FAILED,
			"see the log; everything else works",
			"the BPF programs that count noise on exclusive CPUs could not be loaded");
}

static void look_up_wanted(struct controller *controller)
{
	struct noise *noise = &controller->noise;

	if (!noise->wanted)
		return;
	noise->tried = noise->wanted;
	noise->wanted = 0;
	ctl_noise_cgroup(controller, noise->tried);
}

void ctl_tell_noise(struct controller *controller)
{
	struct noisy_cpu *rows cleanup_free = NULL;
	uint32_t nr;

	if (!controller->ports.noise || ctl_noisy_cpus(controller, &rows, &nr))
		return;
	tell(controller, rows, nr);
	tell_failure(controller);
	look_up_wanted(controller);
}

/* --- totals of pods ------------------------------------------------------------------------------- */

static bool is_watched(const struct noise *noise, const struct noise_grant *grant)
{
	for (uint32_t i = 0; i < noise->nr; i++)
		if (noise->grants[i].cpu == grant->cpu)
			return noise->grants[i].owner.cgroup_id == grant->owner.cgroup_id;
	return false;
}

/*
 * The sum is of the CPUs that the port was told of: one that the pod has just given up counts until its
 * noise is kept. False: not every CPU that the pod has is counted.
 */
static bool sum_pod(const struct controller *controller, const struct noisy_cpu *rows, uint32_t nr,
		    struct pod_noise *sum)
{
	const struct noise_port *port = controller->ports.noise;
	const struct noise *noise = &controller->noise;
	const uint64_t pod = ctl_pod_number(sum->pod->spec->uid);
	const struct noise_kept *kept = find_kept(noise, pod);
	struct cpu_noise cpus = {0};

	for (uint32_t i = 0; i < nr; i++)
		if (rows[i].pod == sum->pod && !is_watched(noise, &rows[i].grant))
			return false;
	for (uint32_t i = 0; i < noise->nr; i++)
		if (noise->pods[i] == pod && !add_noise(port, &noise->grants[i], &cpus))
			return false;
	for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++) {
		if (kept)
			cpus.total_ns[source] += kept->total_ns[source];
		sum->total_ns[source] = port->counts(port->self, source) ? cpus.total_ns[source]
									 : UINT64_MAX;
	}
	return true;
}

static bool has_earlier_row(const struct noisy_cpu *rows, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (rows[i].pod == rows[at].pod)
			return true;
	return false;
}

int ctl_pod_noises(const struct controller *controller, struct pod_noise **ret_rows,
		   uint32_t *ret_nr)
{
	struct noisy_cpu *cpus cleanup_free = NULL;
	struct pod_noise *pods cleanup_free = NULL;
	uint32_t nr_cpus = 0, nr = 0;
	int r = ctl_noisy_cpus(controller, &cpus, &nr_cpus);

	if (r)
		return r;
	pods = calloc(nr_cpus + 1, sizeof(*pods));
	if (!pods)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_cpus; i++) {
		pods[nr] = (struct pod_noise){.pod = cpus[i].pod};
		if (!has_earlier_row(cpus, i) && sum_pod(controller, cpus, nr_cpus, &pods[nr]))
			nr++;
	}
	*ret_rows = TAKE_PTR(pods);
	*ret_nr = nr;
	return 0;
}
