// SPDX-License-Identifier: Apache-2.0
/* Who disturbs exclusive CPUs, as rows for the inspector: the most time first, CPU by CPU. */
#include "ctl/noise_report.h"

#include <errno.h>

#include "ctl/internal.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/arena.h"

struct noise_rows {
	bool looks_up;		 /* names that are not in memory */
	struct arena *arena;	 /* has their texts */
	struct view_noise *rows; /* owned */
	size_t nr, room;
};

/* Room for so many more: a CPU may have hundreds of rows, and most have few. */
static bool make_room(struct noise_rows *rows, size_t nr)
{
	const size_t room = (rows->nr + nr) * 2;
	struct view_noise *more;

	if (rows->nr + nr <= rows->room)
		return true;
	more = reallocarray(rows->rows, room, sizeof(*more));
	if (!more)
		return false;
	rows->rows = more;
	rows->room = room;
	return true;
}

/* What all rows of a CPU have. */
static struct view_noise row_of(const struct noisy_cpu *cpu)
{
	return (struct view_noise){
		.cpu = cpu->grant.cpu,
		.namespace = cpu->pod->spec->namespace,
		.pod = cpu->pod->spec->name,
		.container = *cpu->container ? cpu->container : NULL,
		.uid = cpu->pod->spec->uid,
		.irq = -1,
		.sibling = -1,
		.count = -1,
		.total_ns = -1,
		.longest_ns = -1,
	};
}

static void add_missing(struct noise_rows *rows, const struct noisy_cpu *cpu,
			enum noise_source source, enum noise_row_state state)
{
	struct view_noise *row = &rows->rows[rows->nr++];

	*row = row_of(cpu);
	row->source = source;
	row->state = state;
}

static bool is_user_task(uint32_t source)
{
	return source == NOISE_HOST_TASK || source == NOISE_POD_SIBLING ||
	       source == NOISE_OTHER_POD;
}

/* Copied, because the names that are kept are fewer than the rows may be. */
static const char *path_of(struct controller *controller, uint64_t cgroup_id,
			   const struct noise_rows *rows)
{
	const char *path = rows->looks_up ? ctl_noise_cgroup(controller, cgroup_id)
					  : noise_cgroup_in_memory(&controller->noise, cgroup_id);

	return path ? arena_printf(rows->arena, "%s", path) : NULL;
}

static void add_entry(struct controller *controller, struct noise_rows *rows,
		      const struct noisy_cpu *cpu, const struct noise_entry *entry)
{
	struct view_noise *row = &rows->rows[rows->nr++];
	uint32_t source = entry->source;

	*row = row_of(cpu);
	row->source = (enum noise_source)source;
	row->count = (int64_t)entry->count;
	row->total_ns = (int64_t)entry->total_ns;
	row->longest_ns = (int64_t)entry->longest_ns;
	row->pid = entry->pid;
	if (*entry->name)
		row->name =
			arena_printf(rows->arena, "%.*s", (int)sizeof(entry->name), entry->name);
	if (entry->source == NOISE_HARDIRQ && *entry->name)
		row->irq = (int64_t)entry->id;
	if (entry->source == NOISE_SMT_SIBLING) {
		row->sibling = entry->sibling;
		row->by = noise_source_name(entry->by);
		source = entry->by;
	}
	if (is_user_task(source) && entry->id)
		row->cgroup = path_of(controller, entry->id, rows);
}

static int by_time(const void *left, const void *right)
{
	const struct noise_entry *a = left, *b = right;

	return (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
}

/* Before the port is told of any CPU it is off: it may never be, without published cgroups. */
static enum noise_row_state missing_state(const struct controller *controller)
{
	const struct noise_port *port = controller->ports.noise;
	enum noise_state state = port ? port->state(port->self) : NOISE_FAILED;

	if (state == NOISE_FAILED || (state == NOISE_OFF && !controller->noise.nr))
		return NOISE_ROW_UNKNOWN;
	return NOISE_ROW_LOADING;
}

/* False: no memory. */
static bool add_cpu(struct controller *controller, struct noise_rows *rows,
		    const struct noisy_cpu *cpu)
{
	const struct noise_port *port = controller->ports.noise;
	struct noise_entry entries[NOISE_READ_MAX];
	uint32_t nr = 0;
	int r = -ENODATA;

	if (port)
		r = port->read(port->self, cpu->grant.cpu, cpu->grant.owner.cgroup_id, entries,
			       &nr);
	if (!make_room(rows, nr + NOISE_SOURCE_NR))
		return false;
	for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++)
		if (r)
			add_missing(rows, cpu, source, missing_state(controller));
		else if (!port->counts(port->self, source))
			add_missing(rows, cpu, source, NOISE_ROW_UNSUPPORTED);
	if (r)
		return true;
	qsort(entries, nr, sizeof(*entries), by_time);
	for (uint32_t i = 0; i < nr; i++)
		if (entries[i].source < NOISE_SOURCE_NR)
			add_entry(controller, rows, cpu, &entries[i]);
	return true;
}

static bool add_cpus(struct controller *controller, struct noise_rows *rows,
		     const struct noisy_cpu *cpus, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!add_cpu(controller, rows, &cpus[i]))
			return false;
	return !rows->arena->failed;
}

static struct json_object *report(struct controller *controller, bool looks_up)
{
	struct arena arena cleanup_arena = {0};
	struct noisy_cpu *cpus cleanup_free = NULL;
	struct noise_rows rows = {.looks_up = looks_up, .arena = &arena};
	struct json_object *json = NULL;
	uint32_t nr;

	if (ctl_noisy_cpus(controller, &cpus, &nr))
		return NULL;
	if (add_cpus(controller, &rows, cpus, nr))
		json = view_noises(rows.rows, rows.nr);
	free(rows.rows);
	return json;
}

struct json_object *ctl_report_noise(struct controller *controller)
{
	return report(controller, true);
}

struct json_object *ctl_report_noise_from_memory(struct controller *controller)
{
	return report(controller, false);
}
