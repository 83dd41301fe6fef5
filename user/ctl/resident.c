// SPDX-License-Identifier: Apache-2.0
/*
 * Figures belong to a path, which has the uid of the pod and the name of the container. No BPF
 * program is needed for them.
 */
#include "ctl/resident.h"

#include <errno.h>
#include <string.h>

#include "ctl/internal.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/log.h"

/*
 * The kernel sums up the counters of all CPUs for each cgroup that is read, and memory moves
 * slowly. The tick comes each second; half of one is room for a tick that comes early.
 */
#define PAUSE_NS (10 * 1000000000ULL - 500000000ULL)
/* Older figures are not shown. */
#define STALE_NS (30 * 1000000000ULL)

/*
 * Containers of others whose memory is read: ten times as many as a kubelet runs pods. Finding the
 * rows again is a comparison of all with all if nearly all of them are new.
 */
#define MAX_DISCOVERED 1024

/* A container, with what is known of its memory. Borrowed until something changes. */
struct container_memory {
	const char *uid, *namespace, *pod, *container; /* NULL = not known, except the uid */
	const char *path;			       /* of its cgroup; "" = not known */
	uint64_t discovered_id;			       /* of its cgroup; 0 = it is in the ledger */
	/*
	 * The nodes on which its memory is local: those it was granted, or for unrestricted memory
	 * those of its CPUs. Indexes of topology->memory_nodes.
	 */
	node_mask_t local;
	const struct resident_row *row; /* NULL = unknown: not read, or too long ago */
};

void resident_fini(struct resident *resident)
{
	resident_report_fini(&resident->report);
}

/* Those that have names, whether or not these are known. */
static bool is_followed(const struct discovered_cgroup *found)
{
	return found->name.kind == KUBEPODS_CONTAINER && found->cgroup_id &&
	       found->names != DISCOVERED_NAMES_NONE;
}

/* How many containers there may be: of manifests, of a runtime and of others. */
static uint32_t max_containers(const struct controller *controller)
{
	return controller->desired.nr_groups + controller->runtimes.nr_rows + MAX_DISCOVERED;
}

/* --- the containers ------------------------------------------------------------------------------ */

/* What is not restricted is local wherever it runs; without a cpuset it may run everywhere. */
static node_mask_t discovered_nodes(const struct topology *topology,
				    const struct discovered_cgroup *found)
{
	const struct cpuset mems = cpuset_of_text(found->mems);
	const struct cpuset cpus = cpuset_of_text(found->effective_cpus);
	node_mask_t mask = topology_mask_of_mems(topology, &mems);

	if (!mask)
		mask = topology_memory_of_cpus(topology, &cpus);
	return mask ? mask : ~(node_mask_t)0;
}

/* A container of the ledger whose CPUs are on these NUMA nodes. */
static struct container_memory ledger_row(const struct ledger_pod *pod, const char *container,
					  node_mask_t nodes, const char *path)
{
	const struct grant *grant = ledger_find_grant(pod, container);

	return (struct container_memory){
		.uid = pod->spec->uid,
		.namespace = pod->spec->namespace,
		.pod = pod->spec->name,
		.container = container,
		.path = path,
		.local = grant && grant->mems ? grant->mems : nodes,
	};
}

/* Those whose cgroups the agent makes, pod by pod. */
static uint32_t list_own(const struct controller *controller, struct container_memory *ret_rows)
{
	const char *last = NULL;
	node_mask_t nodes = 0;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < controller->desired.nr_groups; i++) {
		const struct group *group = &controller->desired.groups[i];
		const char *cpus = group->files[GROUP_CPUSET_CPUS];
		const struct ledger_pod *pod;

		if (group->role != GROUP_CONTAINER)
			continue;
		pod = ledger_find(controller->ledger, group->uid);
		if (!pod)
			continue;
		/* text: the list is parsed again only if it is another, and most have the node's pool */
		if (!last || !cpus || strcmp(last, cpus)) {
			const struct cpuset set = cpuset_of_text(cpus);

			nodes = topology_memory_of_cpus(controller->topology, &set);
		}
		last = cpus;
		ret_rows[nr++] = ledger_row(pod, group->container, nodes, group->path);
	}
	return nr;
}

/* Those of a runtime, pod by pod. One that was restarted has several rows until the old one goes. */
static uint32_t list_of_runtime(const struct controller *controller,
				struct container_memory *ret_rows)
{
	const struct runtimes *runtimes = &controller->runtimes;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		/* One that a manifest names as well is among our own. */
		for (uint32_t j = 0; pod->spec->is_of_runtime && j < runtimes->nr_rows; j++) {
			const struct runtime_row *row = &runtimes->rows[j];
			const struct grant *grant = strcmp(row->uid, pod->spec->uid)
							    ? NULL
							    : ledger_find_grant(pod, row->name);

			if (grant)
				ret_rows[nr++] = ledger_row(
					pod, grant->container,
					topology_memory_of_cpus(controller->topology,
								ledger_effective(controller->ledger,
										 grant)),
					row->cgroup);
		}
	}
	return nr;
}

/* The rows without those of the pod with this uid, which are the last ones. */
static uint32_t drop_pod(const struct container_memory *rows, uint32_t nr, const char *uid)
{
	while (nr && !strcmp(rows[nr - 1].uid, uid))
		nr--;
	return nr;
}

/* Pod by pod. At the limit the last pod is whole. */
static uint32_t list_discovered(const struct controller *controller,
				struct container_memory *ret_rows)
{
	const struct discovery *discovery = &controller->discovered.last;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < discovery->nr; i++) {
		const struct discovered_cgroup *found = &discovery->rows[i];

		if (is_followed(found) && nr == MAX_DISCOVERED)
			return drop_pod(ret_rows, nr, found->name.uid);
		if (is_followed(found))
			ret_rows[nr++] = (struct container_memory){
				.uid = found->name.uid,
				.namespace = found->namespace,
				.pod = found->pod,
				.container = found->container,
				.path = found->path,
				.discovered_id = found->cgroup_id,
				.local = discovered_nodes(controller->topology, found),
			};
	}
	return nr;
}

/* All of them, without figures. ret_rows has room for max_containers(). */
static uint32_t list_containers(const struct controller *controller,
				struct container_memory *ret_rows)
{
	uint32_t nr = list_own(controller, ret_rows);

	nr += list_of_runtime(controller, ret_rows + nr);
	return nr + list_discovered(controller, ret_rows + nr);
}

/* --- a pass -------------------------------------------------------------------------------------- */

/* A pass that keeps failing is logged once. */
static void note_error(struct resident *resident, int error)
{
	if (error && error != resident->error)
		log_warn(error, "ctl: cannot read on which NUMA nodes the memory of containers is; "
				"it is unknown until that succeeds");
	resident->error = error;
}

void ctl_end_resident(struct controller *controller, int result, struct resident_report *report)
{
	struct resident *resident = &controller->resident;

	resident->since_ns = 0;
	note_error(resident, result);
	if (result)
		return;
	resident->read_ns = clock_now_ns(controller->ports.clock);
	resident_report_fini(&resident->report);
	resident->report = *report;
	*report = (struct resident_report){0};
}

static bool is_due(const struct resident *resident, uint64_t now_ns)
{
	return !resident->since_ns &&
	       (!resident->sampled_ns || now_ns - resident->sampled_ns >= PAUSE_NS);
}

static int request(struct controller *controller)
{
	const struct resident_port *port = controller->ports.resident;
	struct container_memory *rows cleanup_free =
		calloc(max_containers(controller), sizeof(*rows));
	const char **paths cleanup_free = calloc(max_containers(controller), sizeof(*paths));
	uint32_t nr, nr_paths = 0;

	if (!rows || !paths)
		return -ENOMEM;
	nr = list_containers(controller, rows);
	for (uint32_t i = 0; i < nr; i++)
		if (*rows[i].path)
			paths[nr_paths++] = rows[i].path;
	return port->sample(port->self, paths, nr_paths);
}

void ctl_sample_resident(struct controller *controller)
{
	struct resident *resident = &controller->resident;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	int r;

	if (!controller->ports.resident || !is_due(resident, now_ns))
		return;
	resident->sampled_ns = resident->since_ns = now_ns;
	r = request(controller);
	if (!r)
		return;
	resident->since_ns = 0;
	note_error(resident, r);
}

/* --- what is known of the containers ------------------------------------------------------------- */

/*
 * Both ascend in the order of the tree, unless it has changed since: the search begins behind the
 * row that was found last, and so ends at once. *cursor begins with 0.
 */
static const struct resident_row *find_row(const struct resident_report *report, const char *path,
					   uint32_t *cursor)
{
	for (uint32_t i = 0; i < report->nr; i++) {
		const uint32_t at = (*cursor + i) % report->nr;

		if (strcmp(report->rows[at].path, path))
			continue;
		*cursor = at + 1;
		return &report->rows[at];
	}
	return NULL;
}

/*
 * A container of a runtime whose cgroup is gone has ended, and is kept by the runtime for its log:
 * it has no memory. The others of its pod are complete without it.
 */
static bool has_ended(const struct controller *controller, const struct container_memory *container)
{
	const struct ledger_pod *pod = ledger_find(controller->ledger, container->uid);

	return pod && pod->spec->is_of_runtime && container->row &&
	       container->row->error == -ENOENT;
}

/* The same with figures, and without those that have ended. */
static uint32_t measure_containers(const struct controller *controller,
				   struct container_memory *ret_rows)
{
	const struct resident *resident = &controller->resident;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	const uint32_t nr = list_containers(controller, ret_rows);
	uint32_t nr_kept = 0, cursor = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct container_memory row = ret_rows[i];

		if (now_ns - resident->read_ns <= STALE_NS)
			row.row = find_row(&resident->report, row.path, &cursor);
		if (!has_ended(controller, &row))
			ret_rows[nr_kept++] = row;
	}
	return nr_kept;
}

static uint64_t sum_of(const struct resident_node *node)
{
	uint64_t sum = 0;

	for (enum memory_use use = 0; use < MEMORY_USE_NR; use++)
		sum += node->bytes[use];
	return sum;
}

/* False: nothing is known of this container. */
static bool add_container(const struct topology *topology, const struct container_memory *container,
			  struct pod_memory *sum)
{
	if (!container->row || container->row->error)
		return false;
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		const uint64_t bytes = sum_of(&container->row->nodes[i]);

		if (container->local >> i & 1)
			sum->local_bytes += bytes;
		else
			sum->remote_bytes += bytes;
	}
	return true;
}

/* By name; of two pods with one name the newer is first, since ids of cgroups ascend. */
static int compare_pods(const void *left, const void *right)
{
	const struct pod_memory *a = left, *b = right;
	int order = strcmp(a->namespace, b->namespace);

	if (!order)
		order = strcmp(a->name, b->name);
	if (!order)
		order = (a->discovered_id < b->discovered_id) -
			(a->discovered_id > b->discovered_id);
	return order;
}

static bool is_same_name(const struct pod_memory *a, const struct pod_memory *b)
{
	return !strcmp(a->namespace, b->namespace) && !strcmp(a->name, b->name);
}

/* Leave one pod of others for each name that is not in the ledger. Returns how many are left. */
static uint32_t keep_names(const struct controller *controller, struct pod_memory *pods,
			   uint32_t nr)
{
	uint32_t nr_kept = 0;

	if (nr)
		qsort(pods, nr, sizeof(*pods), compare_pods);
	for (uint32_t i = 0; i < nr; i++)
		if (!ledger_find_name(controller->ledger, pods[i].namespace, pods[i].name) &&
		    (!nr_kept || !is_same_name(&pods[nr_kept - 1], &pods[i])))
			pods[nr_kept++] = pods[i];
	return nr_kept;
}

int ctl_pod_memories(const struct controller *controller, struct pod_memory **ret_rows,
		     uint32_t *ret_nr)
{
	struct container_memory *containers cleanup_free =
		calloc(max_containers(controller), sizeof(*containers));
	struct pod_memory *pods cleanup_free = calloc(max_containers(controller), sizeof(*pods));
	uint32_t nr_containers, nr = 0, nr_own = 0;

	if (!containers || !pods)
		return -ENOMEM;
	nr_containers = measure_containers(controller, containers);
	for (uint32_t i = 0; i < nr_containers;) {
		struct pod_memory sum = {
			.uid = containers[i].uid,
			.namespace = containers[i].namespace,
			.name = containers[i].pod,
			.discovered_id = containers[i].discovered_id,
		};
		bool is_whole = true;

		for (; i < nr_containers && !strcmp(containers[i].uid, sum.uid); i++)
			is_whole &= containers[i].container &&
				    add_container(controller->topology, &containers[i], &sum);
		if (is_whole)
			pods[nr++] = sum;
		if (!sum.discovered_id)
			nr_own = nr;
	}
	*ret_nr = nr_own + keep_names(controller, pods + nr_own, nr - nr_own);
	*ret_rows = TAKE_PTR(pods);
	return 0;
}

/* --- rows for the inspector ---------------------------------------------------------------------- */

static struct view_memory unknown_row(const struct container_memory *container)
{
	return (struct view_memory){
		.namespace = container->namespace,
		.pod = container->pod,
		.container = container->container,
		.uid = container->uid,
		.numa = -1,
		.local = -1,
		.anon_bytes = -1,
		.file_bytes = -1,
		.kernel_bytes = -1,
		.hugetlb_bytes = -1,
		.state = container->row && container->row->error == -EOPNOTSUPP
				 ? RESIDENT_UNSUPPORTED
				 : RESIDENT_UNKNOWN,
	};
}

/* One row for each node that has memory of the container, or should. Returns the number. */
static size_t add_rows(const struct topology *topology, const struct container_memory *container,
		       struct view_memory *rows)
{
	size_t nr = 0;

	if (!container->row || container->row->error) {
		rows[0] = unknown_row(container);
		return 1;
	}
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		const struct resident_node *node = &container->row->nodes[i];
		const bool is_local = container->local >> i & 1;
		const bool has_hugetlb = container->row->has_hugetlb;

		if (!is_local && !sum_of(node) && !(has_hugetlb && node->hugetlb_bytes))
			continue;
		rows[nr] = unknown_row(container);
		rows[nr].numa = topology->memory_nodes[i].id;
		rows[nr].local = is_local;
		rows[nr].anon_bytes = (int64_t)node->bytes[MEMORY_ANON];
		rows[nr].file_bytes = (int64_t)node->bytes[MEMORY_FILE];
		rows[nr].kernel_bytes = (int64_t)node->bytes[MEMORY_KERNEL];
		if (has_hugetlb)
			rows[nr].hugetlb_bytes = (int64_t)node->hugetlb_bytes;
		rows[nr++].state = RESIDENT_READ;
	}
	return nr;
}

struct json_object *ctl_report_memory(struct controller *controller)
{
	const struct topology *topology = controller->topology;
	struct container_memory *containers cleanup_free =
		calloc(max_containers(controller), sizeof(*containers));
	struct view_memory *rows cleanup_free = NULL;
	uint32_t nr_containers;
	size_t nr = 0;

	if (!containers)
		return NULL;
	nr_containers = measure_containers(controller, containers);
	/* Each container has a row at least. */
	rows = calloc((size_t)nr_containers * (topology->nr_memory_nodes + 1) + 1, sizeof(*rows));
	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < nr_containers; i++)
		if (containers[i].container)
			nr += add_rows(topology, &containers[i], &rows[nr]);
	return view_memories(rows, nr);
}
