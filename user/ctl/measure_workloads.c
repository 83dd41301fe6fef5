// SPDX-License-Identifier: Apache-2.0
/*
 * The families of pods and containers on the page of metrics. Each number is read once and written into
 * the families afterwards, because the samples of a family are adjacent.
 */
#include "ctl/measure_workloads.h"

#include <errno.h>
#include <string.h>

#include "ctl/ended.h"
#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "ctl/report.h"
#include "format/metrics.h"

/* One container's counters, read once and written into several families. */
struct measured {
	const struct ledger_pod *pod;
	const char *container;
	const char *cgroup;
	struct usage usage;
	struct latency latency;
	uint64_t throttled_ns;
	bool has_usage;
	bool has_latency; /* only if it has its usage */
	bool has_throttled;
	bool is_gone; /* its cgroup; its pod has its counters until they are kept with those that ended */
};

/*
 * A pod that ends is left out if a newer pod has its name: each name has one set of series. Such pods are
 * listed once for a page, because looking for the name of each pod in each family would cost the square
 * of their number.
 */
struct left_out {
	uint32_t nr;
	const struct ledger_pod **pods; /* owned */
};

static void fini_left_out(struct left_out *left_out)
{
	free(left_out->pods);
}
#define cleanup_left_out cleanup(fini_left_out)

static int by_name(const void *left, const void *right)
{
	const struct pod_spec *a = (*(const struct ledger_pod *const *)left)->spec;
	const struct pod_spec *b = (*(const struct ledger_pod *const *)right)->spec;
	int order = strcmp(a->namespace, b->namespace);

	return order ? order : strcmp(a->name, b->name);
}

static int list_left_out(const struct ledger *ledger, struct left_out *ret_left_out)
{
	const uint32_t nr = ledger_nr_pods(ledger);
	const struct ledger_pod **pods cleanup_free = calloc(nr + 1, sizeof(*pods));
	uint32_t nr_left_out = 0;

	if (!pods)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		pods[i] = ledger_pod_at(ledger, i);
	qsort(pods, nr, sizeof(*pods), by_name);
	for (uint32_t i = 0; i < nr;) {
		uint32_t end = i + 1;

		while (end < nr && !by_name(&pods[i], &pods[end]))
			end++;
		if (end > i + 1) {
			const struct ledger_pod *shown = ledger_find_name(
				ledger, pods[i]->spec->namespace, pods[i]->spec->name);

			for (uint32_t j = i; j < end; j++)
				if (pods[j] != shown)
					pods[nr_left_out++] = pods[j];
		}
		i = end;
	}
	*ret_left_out = (struct left_out){nr_left_out, TAKE_PTR(pods)};
	return 0;
}

static bool is_left_out(const struct left_out *left_out, const struct ledger_pod *pod)
{
	for (uint32_t i = 0; i < left_out->nr; i++)
		if (left_out->pods[i] == pod)
			return true;
	return false;
}

/* NULL = no such pod, or it is left out. */
static const struct ledger_pod *find_shown(const struct controller *controller,
					   const struct left_out *left_out, const char *uid)
{
	const struct ledger_pod *pod = ledger_find(controller->ledger, uid);

	return is_left_out(left_out, pod) ? NULL : pod;
}

/*
 * Unknown values are marked as such, because a counter that shows 0, or that is missing from
 * one page, looks like a container that was restarted.
 */
static void measure_usage(struct controller *controller, uint64_t cgroup_id, struct measured *row)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct counted *counted = ctl_counted(controller, cgroup_id);

	if (counted && counted->has_latency) {
		row->has_usage = row->has_latency = true;
		row->usage = counted->usage;
		row->latency = counted->latency;
		return;
	}
	/* Its counters may have begun since the last look. */
	row->has_usage = kernel && cgroup_id &&
			 !kernel->usage(kernel->self, cgroup_id, &row->usage);
	row->has_latency = row->has_usage &&
			   !kernel->latency(kernel->self, cgroup_id, &row->latency);
}

/*
 * Files are read only of a container that the last pass of pressure did not read: for hundreds of
 * containers they take longer than the whole page. Returns false if its cgroup is gone, and what it
 * counted is not known any more or is kept in another place (ended.h).
 */
static bool measure_container(struct controller *controller, const struct group *group,
			      uint32_t *published, struct measured *row)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct managed_group *managed =
		ctl_published_next(controller, group->path, published);
	uint64_t cgroup_id = managed ? managed->cgroup_id : 0;

	row->has_throttled = ctl_throttled(controller, cgroup_id, &row->throttled_ns);
	if (!row->has_throttled) {
		struct group_status status;
		const int r = groups->status(groups->self, group->path, &status);

		row->is_gone = r == -ENOENT;
		row->has_throttled = !r;
		if (!r) {
			row->throttled_ns = status.throttled_usec * 1000;
			cgroup_id = status.cgroup_id;
		}
	}
	row->container = group->container;
	row->cgroup = group->path;
	measure_usage(controller, cgroup_id, row);
	return !row->is_gone || row->has_latency;
}

/* The groups of a pod are adjacent, so it is looked for once. */
static uint32_t measure_containers(struct controller *controller, const struct left_out *left_out,
				   struct measured *rows)
{
	const struct ledger_pod *pod = NULL;
	const char *uid = "";
	uint32_t nr = 0, published = 0;

	for (uint32_t i = 0; i < controller->measured.tree.nr_groups; i++) {
		const struct group *group = &controller->measured.tree.groups[i];

		if (group->role != GROUP_CONTAINER)
			continue;
		if (strcmp(uid, group->uid)) {
			uid = group->uid;
			pod = find_shown(controller, left_out, uid);
		}
		rows[nr] = (struct measured){.pod = pod};
		if (pod && measure_container(controller, group, &published, &rows[nr]))
			nr++;
	}
	return nr;
}

/* The sum of a pod's containers, and a row that has the pod's labels. */
struct pod_usage {
	const struct measured *row;
	struct usage usage;
	struct latency latency;
};

static void begin_sum(const struct controller *controller, const struct measured *row,
		      struct pod_usage *ret_sum)
{
	const struct ended_pod *ended = ctl_ended(controller, row->pod->spec->uid);

	*ret_sum = (struct pod_usage){.row = row};
	if (!ended)
		return;
	ret_sum->usage = ended->usage;
	ret_sum->latency = ended->latency;
}

/*
 * The rows of a pod are adjacent. If a value of one container is unknown, the pod has no sum,
 * because the sum of the others would look like a counter that decreased.
 */
static uint32_t sum_pods(const struct controller *controller, const struct measured *rows,
			 uint32_t nr, struct pod_usage *sums)
{
	uint32_t nr_sums = 0;

	for (uint32_t i = 0; i < nr;) {
		struct pod_usage sum;
		bool is_whole = true;

		begin_sum(controller, &rows[i], &sum);
		for (; i < nr && rows[i].pod == sum.row->pod; i++) {
			is_whole &= rows[i].has_latency;
			ended_add_usage(&sum.usage, &rows[i].usage);
			latency_add(&sum.latency, &rows[i].latency);
		}
		if (is_whole)
			sums[nr_sums++] = sum;
	}
	return nr_sums;
}

#define POD_LABELS(row, ...)                                                                \
	LABELS({"namespace", (row)->pod->spec->namespace}, {"pod", (row)->pod->spec->name}, \
	       ##__VA_ARGS__)

static void write_pods(const struct pod_usage *sums, uint32_t nr, struct exposition *page)
{
	exposition_family(page, &metric_families.pod_cpu);
	for (uint32_t i = 0; i < nr; i++) {
		const struct usage *usage = &sums[i].usage;
		const struct measured *row = sums[i].row;

		exposition_row(page, POD_LABELS(row));
		exposition_seconds(page, LABELS({"placement", "local_numa"}), usage->run_local_ns);
		exposition_seconds(page, LABELS({"placement", "remote_numa"}),
				   usage->run_remote_ns);
		exposition_seconds(page, LABELS({"placement", "outside"}), usage->run_outside_ns);
	}
	exposition_family(page, &metric_families.migrations);
	for (uint32_t i = 0; i < nr; i++) {
		const struct usage *usage = &sums[i].usage;
		const struct measured *row = sums[i].row;

		exposition_row(page, POD_LABELS(row));
		exposition_count(page, LABELS({"span", "thread"}), usage->migrations_thread);
		exposition_count(page, LABELS({"span", "core"}), usage->migrations_core);
		exposition_count(page, LABELS({"span", "llc"}), usage->migrations_llc);
		exposition_count(page, LABELS({"span", "numa"}), usage->migrations_numa);
	}
	exposition_family(page, &metric_families.preemptions);
	for (uint32_t i = 0; i < nr; i++)
		exposition_count(page, POD_LABELS(sums[i].row), sums[i].usage.preemptions);
}

/* Bounds of the page: 1.024 us, and so on, four times as long each, up to 1.07 s. */
#define LATENCY_BOUNDS 11

/* Every second bound of the histogram: half as many series, for a factor of four. */
static void write_latencies(const struct pod_usage *sums, uint32_t nr, struct exposition *page)
{
	double bounds[LATENCY_BOUNDS];

	for (uint32_t i = 0; i < LATENCY_BOUNDS; i++)
		bounds[i] = (double)latency_bound(2 * i) / 1e9;
	exposition_family(page, &metric_families.runqueue_latency);
	for (uint32_t i = 0; i < nr; i++) {
		const struct latency *latency = &sums[i].latency;
		uint64_t counts[LATENCY_BOUNDS + 1] = {0};
		const struct metric_histogram histogram = {bounds, LATENCY_BOUNDS, counts,
							   latency->sum_ns};

		for (uint32_t j = 0; j < LATENCY_BUCKETS; j++) {
			const uint32_t bound = (j + 1) / 2;

			counts[bound < LATENCY_BOUNDS ? bound : LATENCY_BOUNDS] +=
				latency->counts[j];
		}
		exposition_histogram(page, POD_LABELS(sums[i].row), &histogram);
	}
}

static void write_waits(const struct measured *row, struct exposition *page)
{
	exposition_row(page, POD_LABELS(row, {"container", row->container}));
	for (enum wait_cause cause = 0; cause < WAIT_CAUSE_NR; cause++)
		exposition_seconds(page, LABELS({"cause", wait_cause_name(cause)}),
				   row->usage.wait_ns[cause]);
}

/* Texts of sets, each made anew only where the last one was another: this takes longer than all the rest. */
struct set_texts {
	const struct cpuset *pool, *set;
	node_mask_t mask;
	bool has_mask;
	char pool_text[CPUSET_TEXT_MAX], set_text[CPUSET_TEXT_MAX];
	char mask_text[TOPOLOGY_MAX_NODES * sizeof("8191,")];
};

/* Most containers have the node's pool. */
static const char *cpus_text(struct set_texts *texts, const struct cpuset *set)
{
	if (set == texts->pool)
		return texts->pool_text;
	if (texts->set != set)
		cpuset_format(set, texts->set_text, sizeof(texts->set_text));
	texts->set = set;
	return texts->set_text;
}

/* Without restriction it is all nodes. */
static const char *mems_text(struct set_texts *texts, const struct topology *topology,
			     node_mask_t mems)
{
	struct cpuset nodes = CPUSET_EMPTY;

	if (texts->has_mask && texts->mask == mems)
		return texts->mask_text;
	topology_mems_of_mask(topology, mems ? mems : ~(node_mask_t)0, &nodes);
	cpuset_format(&nodes, texts->mask_text, sizeof(texts->mask_text));
	texts->mask = mems;
	texts->has_mask = true;
	return texts->mask_text;
}

static void write_info(const struct controller *controller, const struct measured *rows,
		       uint32_t nr, struct exposition *page)
{
	struct set_texts texts;

	texts.pool = ledger_shared_pool(controller->ledger);
	texts.set = NULL;
	texts.has_mask = false;
	cpuset_format(texts.pool, texts.pool_text, sizeof(texts.pool_text));
	exposition_family(page, &metric_families.container_info);
	for (uint32_t i = 0; i < nr; i++) {
		const struct ledger_pod *pod = rows[i].pod;
		const struct grant *grant = ledger_find_grant(pod, rows[i].container);
		const char *assignment;

		if (!grant || rows[i].is_gone)
			continue;
		assignment = admission_assignment_name(admission_assignment_type(pod, grant));
		exposition_count(
			page,
			POD_LABELS(&rows[i], {"container", rows[i].container},
				   {"uid", pod->spec->uid}, {"qos", qos_class_name(pod->qos)},
				   {"assignment_type", assignment},
				   {"cpus",
				    cpus_text(&texts, ledger_effective(controller->ledger, grant))},
				   {"mems", mems_text(&texts, controller->topology, grant->mems)},
				   {"cgroup", rows[i].cgroup}),
			1);
	}
}

static void write_containers(const struct measured *rows, uint32_t nr, struct exposition *page)
{
	exposition_family(page, &metric_families.cpu_wait);
	for (uint32_t i = 0; i < nr; i++)
		if (rows[i].has_usage && !rows[i].is_gone)
			write_waits(&rows[i], page);
	exposition_family(page, &metric_families.throttled);
	for (uint32_t i = 0; i < nr; i++)
		if (rows[i].has_throttled)
			exposition_seconds(page,
					   POD_LABELS(&rows[i], {"container", rows[i].container}),
					   rows[i].throttled_ns);
}

static const struct {
	const struct metric_family *family;
	enum pressure_kind kind;
} pressure_families[] = {
	{&metric_families.pressure_cpu_waiting, PRESSURE_CPU_SOME},
	{&metric_families.pressure_cpu_stalled, PRESSURE_CPU_FULL},
	{&metric_families.pressure_memory_waiting, PRESSURE_MEMORY_SOME},
	{&metric_families.pressure_memory_stalled, PRESSURE_MEMORY_FULL},
	{&metric_families.pressure_io_waiting, PRESSURE_IO_SOME},
	{&metric_families.pressure_io_stalled, PRESSURE_IO_FULL},
};

/* Where the kernel does not measure there is no series: 0 would say that nobody waited. */
static bool has_pressure(const struct controller *controller, const struct group_pressure *group)
{
	if (*group->container && controller->options.config->metrics.level < METRICS_CONTAINER)
		return false;
	return group->track && group->track->state == PRESSURE_MEASURED;
}

static uint32_t keep_measured(const struct controller *controller, const struct left_out *left_out,
			      struct group_pressure *rows, uint32_t nr)
{
	const struct ledger_pod *pod = NULL;
	bool is_shown = false;
	uint32_t nr_kept = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!has_pressure(controller, &rows[i]))
			continue;
		if (rows[i].pod != pod) {
			pod = rows[i].pod;
			is_shown = !is_left_out(left_out, pod);
		}
		if (is_shown)
			rows[nr_kept++] = rows[i];
	}
	return nr_kept;
}

static int write_pressure(const struct controller *controller, const struct left_out *left_out,
			  struct exposition *page)
{
	struct group_pressure *rows cleanup_free =
		calloc(controller->measured.tree.nr_groups + 1, sizeof(*rows));
	uint32_t nr;

	if (!rows)
		return -ENOMEM;
	nr = keep_measured(controller, left_out, rows, ctl_pressures(controller, rows));
	for (size_t i = 0; i < ARRAY_SIZE(pressure_families); i++) {
		exposition_family(page, pressure_families[i].family);
		for (uint32_t j = 0; j < nr; j++)
			exposition_seconds(page,
					   POD_LABELS(&rows[j], {"container", rows[j].container}),
					   rows[j].track->total_ns[pressure_families[i].kind]);
	}
	return 0;
}

/* A source that this kernel cannot count has no series: 0 would say that it took no time. */
static int write_noise(const struct controller *controller, const struct left_out *left_out,
		       struct exposition *page)
{
	struct pod_noise *rows cleanup_free = NULL;
	uint32_t nr;
	int r = ctl_pod_noises(controller, &rows, &nr);

	if (r)
		return r;
	exposition_family(page, &metric_families.noise);
	for (uint32_t i = 0; i < nr; i++) {
		if (is_left_out(left_out, rows[i].pod))
			continue;
		exposition_row(page, POD_LABELS(&rows[i]));
		for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++)
			if (rows[i].total_ns[source] != UINT64_MAX)
				exposition_seconds(page,
						   LABELS({"source", noise_source_name(source)}),
						   rows[i].total_ns[source]);
	}
	return 0;
}

static int write_memory(const struct controller *controller, const struct left_out *left_out,
			struct exposition *page)
{
	struct pod_memory *rows cleanup_free = NULL;
	uint32_t nr;
	int r = ctl_pod_memories(controller, &rows, &nr);

	if (r)
		return r;
	exposition_family(page, &metric_families.pod_memory);
	for (uint32_t i = 0; i < nr; i++) {
		const struct pod_memory *row = &rows[i];

		if (!row->discovered_id && !find_shown(controller, left_out, row->uid))
			continue;
		exposition_row(page, LABELS({"namespace", row->namespace}, {"pod", row->name}));
		exposition_count(page, LABELS({"placement", "local_numa"}), row->local_bytes);
		exposition_count(page, LABELS({"placement", "remote_numa"}), row->remote_bytes);
	}
	return 0;
}

int ctl_measure_workloads(struct controller *controller, struct exposition *page)
{
	const enum metrics_level level = controller->options.config->metrics.level;
	const uint32_t nr_groups = controller->measured.tree.nr_groups;
	struct measured *rows cleanup_free = calloc(nr_groups + 1, sizeof(*rows));
	struct pod_usage *sums cleanup_free = calloc(nr_groups + 1, sizeof(*sums));
	struct left_out left_out cleanup_left_out = {0};
	uint32_t nr, nr_sums;
	int r;

	if (!rows || !sums)
		return -ENOMEM;
	r = list_left_out(controller->ledger, &left_out);
	if (r)
		return r;
	nr = measure_containers(controller, &left_out, rows);
	nr_sums = sum_pods(controller, rows, nr, sums);
	if (level >= METRICS_POD) {
		write_pods(sums, nr_sums, page);
		write_latencies(sums, nr_sums, page);
	}
	if (level >= METRICS_CONTAINER) {
		write_info(controller, rows, nr, page);
		write_containers(rows, nr, page);
	}
	if (level < METRICS_POD)
		return 0;
	r = controller->ports.pressure ? write_pressure(controller, &left_out, page) : 0;
	if (!r && controller->ports.resident)
		r = write_memory(controller, &left_out, page);
	if (!r && controller->ports.noise)
		r = write_noise(controller, &left_out, page);
	return r;
}
