// SPDX-License-Identifier: Apache-2.0
/*
 * Points are kept as they come until there is no more room for one. Then those are dropped that the
 * windows do not need: every two seconds of the last twelve, every ten of the last minute, and every
 * thirty of the last five minutes. Between two points time is taken to have grown evenly.
 */
#include "ctl/pressure_cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_SHIFT 10
#define SECOND_NS  1000000000ULL
#define UNITS(ns)  ((uint32_t)((ns) >> UNIT_SHIFT))

/*
 * The end of an interval that is still open is an estimate: the scheduler's clock is read a tick
 * late at worst, of 10 ms with HZ=100. So much may a time seem to fall or exceed what has passed.
 */
#define SLACK_NS (20 * 1000000ULL)
/* Two reads that are further apart cannot be compared. */
#define WRAP_NS ((1ULL << 32) - 2 * SLACK_NS)

/* --- points -------------------------------------------------------------------------------------- */

/* Without the point between them, how far may two points be apart that are so old? */
static uint32_t widest_gap(uint32_t age)
{
	if (age <= UNITS(12 * SECOND_NS))
		return UNITS(2200 * 1000000ULL);
	if (age <= UNITS(64 * SECOND_NS))
		return UNITS(11 * SECOND_NS);
	return UNITS(31 * SECOND_NS);
}

static void drop(struct pressure_part *part, uint32_t at, uint32_t nr)
{
	memmove(&part->points[at], &part->points[at + nr],
		(part->nr - at - nr) * sizeof(*part->points));
	part->nr -= nr;
}

/* The two newest points stay: they are the window of a second. */
static void thin_out(struct pressure_part *part)
{
	const struct pressure_part_point *points = part->points;
	const uint32_t newest = points[part->nr - 1].time;
	uint32_t at = 1;

	/* One point at or before the beginning of the longest window is enough. */
	while (part->nr > 2 && newest - points[1].time >= UNITS(300 * SECOND_NS))
		drop(part, 0, 1);
	while (at + 2 < part->nr) {
		if (points[at + 1].time - points[at - 1].time <=
		    widest_gap(newest - points[at].time))
			drop(part, at, 1);
		else
			at++;
	}
	if (part->nr == PRESSURE_PART_POINTS)
		drop(part, 0, 1);
}

static void add_point(struct pressure_part *part, uint64_t read_ns)
{
	struct pressure_part_point *point;

	if (part->nr == PRESSURE_PART_POINTS)
		thin_out(part);
	point = &part->points[part->nr++];
	*point = (struct pressure_part_point){UNITS(read_ns), UNITS(part->known_ns), {0}};
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		point->waited[kind] = UNITS(part->waited_ns[kind]);
}

/* --- adding -------------------------------------------------------------------------------------- */

/* What grew on the CPUs of a node, or on all, between two reads. */
struct weighted {
	double waited[PRESSURE_KIND_NR]; /* times the weights */
	double weight;
	uint64_t active_ns;
	bool is_missed;
};

static void weigh(struct weighted *sum, const uint64_t grown_ns[PRESSURE_CPU_KIND_NR])
{
	const uint64_t active_ns = grown_ns[PRESSURE_ACTIVE];

	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		sum->waited[kind] += (double)grown_ns[kind] * (double)active_ns;
	sum->weight += (double)active_ns;
	sum->active_ns += active_ns;
}

static void add_weighted(struct pressure_part *part, const struct weighted *sum)
{
	part->waited_ns[PRESSURE_ACTIVE] += sum->active_ns;
	if (sum->weight <= 0)
		return;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		part->waited_ns[kind] += (uint64_t)(sum->waited[kind] / sum->weight + 0.5);
}

/* What a time grew by; false = that cannot be, so one of the two reads was torn. */
static bool grown(uint32_t last_ns, uint32_t now_ns, uint64_t passed_ns, uint64_t *ret_grown_ns)
{
	const uint32_t difference_ns = now_ns - last_ns;

	*ret_grown_ns = difference_ns;
	if (difference_ns <= passed_ns + SLACK_NS)
		return true;
	*ret_grown_ns = 0;
	return last_ns - now_ns <= SLACK_NS;
}

/* Can what was read of this CPU be compared with what was read before? */
static bool is_comparable(const struct pressure_cpus *cpus, const struct pressure_part *part,
			  uint64_t read_ns)
{
	return part->read_ns && !cpus->is_cut && read_ns - part->read_ns < WRAP_NS;
}

/* A torn row is left out as a whole. The next one has what it would have said. */
static bool is_torn(const struct pressure_cpus *cpus, uint64_t read_ns,
		    const struct pressure_cell *cells)
{
	uint64_t unused_ns;

	for (uint32_t i = 0; i < cpus->nr_cpus; i++) {
		const struct pressure_part *part = &cpus->parts[i];

		if (part->read_ns && read_ns <= part->read_ns)
			return true;
		if (!is_comparable(cpus, part, read_ns))
			continue;
		for (int kind = 0; kind < PRESSURE_CPU_KIND_NR; kind++)
			if (!grown(part->last_ns[kind], cells[i].time_ns[kind],
				   read_ns - part->read_ns, &unused_ns))
				return true;
	}
	return false;
}

/* Returns false if it is not known what has grown. */
static bool add_cpu(const struct pressure_cpus *cpus, struct pressure_part *part, uint64_t read_ns,
		    const struct pressure_cell *cell, uint64_t ret_grown_ns[PRESSURE_CPU_KIND_NR])
{
	const uint64_t passed_ns = part->read_ns ? read_ns - part->read_ns : 0;
	const bool is_known = is_comparable(cpus, part, read_ns);

	for (int kind = 0; kind < PRESSURE_CPU_KIND_NR; kind++) {
		const uint32_t now_ns = cell->time_ns[kind];

		ret_grown_ns[kind] = 0;
		if (is_known)
			grown(part->last_ns[kind], now_ns, passed_ns, &ret_grown_ns[kind]);
		part->waited_ns[kind] += ret_grown_ns[kind];
		/* One that seemed to fall has been counted up to the larger value. */
		if (!is_known || ret_grown_ns[kind])
			part->last_ns[kind] = now_ns;
	}
	if (is_known)
		part->known_ns += passed_ns;
	else
		part->missed_ns += passed_ns;
	part->read_ns = read_ns;
	add_point(part, read_ns);
	return is_known;
}

static bool has_part(const struct pressure_part *part, int32_t node)
{
	return part->node < 0 || part->node == node;
}

/* Nodes and all together begin with the second read of their first CPUs. */
static void add_sum(struct pressure_part *part, uint64_t read_ns, const struct weighted *sum)
{
	const uint64_t passed_ns = part->read_ns ? read_ns - part->read_ns : 0;

	if (sum->is_missed) {
		part->missed_ns += passed_ns;
	} else {
		part->known_ns += passed_ns;
		add_weighted(part, sum);
	}
	part->read_ns = read_ns;
	add_point(part, read_ns);
}

void pressure_cpus_add(struct pressure_cpus *cpus, uint64_t read_ns,
		       const struct pressure_cell *cells)
{
	struct weighted sums[TOPOLOGY_MAX_NODES + 1] = {0};
	const uint32_t nr_sums = cpus->nr_parts - cpus->nr_cpus;

	if (is_torn(cpus, read_ns, cells))
		return;
	for (uint32_t i = 0; i < cpus->nr_cpus; i++) {
		uint64_t grown_ns[PRESSURE_CPU_KIND_NR];
		const bool is_known = add_cpu(cpus, &cpus->parts[i], read_ns, &cells[i], grown_ns);

		for (uint32_t j = 0; j < nr_sums; j++) {
			if (!has_part(&cpus->parts[cpus->nr_cpus + j], cpus->parts[i].node))
				continue;
			sums[j].is_missed |= !is_known;
			weigh(&sums[j], grown_ns);
		}
	}
	for (uint32_t j = 0; j < nr_sums; j++)
		add_sum(&cpus->parts[cpus->nr_cpus + j], read_ns, &sums[j]);
	cpus->is_cut = false;
}

void pressure_cpus_cut(struct pressure_cpus *cpus)
{
	cpus->is_cut = true;
}

/* --- which CPUs ---------------------------------------------------------------------------------- */

static bool is_current(const struct pressure_cpus *cpus, const struct pressure_cell *cells,
		       uint32_t nr)
{
	if (cpus->nr_cpus != nr)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (cpus->parts[i].cpu != (int32_t)cells[i].cpu)
			return false;
	return true;
}

static int32_t node_of(const struct topology *topology, uint32_t cpu)
{
	/* A CPU that came after the agent's start is in no topology. */
	return cpuset_has(&topology->all, cpu)
		       ? (int32_t)topology->nodes.ids[topology->node_of[cpu]]
		       : -1;
}

static struct pressure_part *add_part(struct pressure_cpus *cpus, int32_t cpu, int32_t node)
{
	struct pressure_part *part = &cpus->parts[cpus->nr_parts++];

	part->cpu = cpu;
	part->node = node;
	return part;
}

static void keep_known(const struct pressure_cpus *before, struct pressure_cpus *cpus)
{
	for (uint32_t i = 0; i < cpus->nr_parts; i++)
		for (uint32_t j = 0; j < before->nr_parts; j++)
			if (cpus->parts[i].cpu == before->parts[j].cpu &&
			    cpus->parts[i].node == before->parts[j].node)
				cpus->parts[i] = before->parts[j];
	cpus->is_cut = before->is_cut;
}

int pressure_cpus_follow(struct pressure_cpus **cpus, const struct topology *topology,
			 const struct pressure_cell *cells, uint32_t nr)
{
	const uint32_t nr_nodes = topology->nodes.nr;
	struct pressure_cpus *made;

	if (*cpus && is_current(*cpus, cells, nr))
		return 0;
	made = calloc(1, sizeof(*made) + (nr + nr_nodes + 1) * sizeof(*made->parts));
	if (!made)
		return -ENOMEM;
	made->nr_cpus = nr;
	for (uint32_t i = 0; i < nr; i++)
		add_part(made, (int32_t)cells[i].cpu, node_of(topology, cells[i].cpu));
	for (uint32_t node = 0; node < nr_nodes; node++)
		for (uint32_t i = 0; i < nr; i++)
			if (made->parts[i].node == (int32_t)topology->nodes.ids[node]) {
				add_part(made, -1, made->parts[i].node);
				break;
			}
	add_part(made, -1, -1);
	if (*cpus)
		keep_known(*cpus, made);
	free(*cpus);
	*cpus = made;
	return 0;
}

/* --- reading ------------------------------------------------------------------------------------- */

const struct pressure_part *pressure_cpus_whole(const struct pressure_cpus *cpus)
{
	return &cpus->parts[cpus->nr_parts - 1];
}

/* A point at the time `age` before the newest one, or the oldest. */
static struct pressure_part_point point_before(const struct pressure_part *part, uint32_t age,
					       enum pressure_kind kind)
{
	const struct pressure_part_point *points = part->points;
	const uint32_t newest = points[part->nr - 1].time;
	struct pressure_part_point between;
	uint32_t before = part->nr - 1;
	double share;

	while (before && newest - points[before].time < age)
		before--;
	if (newest - points[before].time <= age)
		return points[before];
	between = points[before];
	share = (double)(newest - points[before].time - age) /
		(double)(points[before + 1].time - points[before].time);
	between.known +=
		(uint32_t)(share * (double)(points[before + 1].known - points[before].known));
	between.waited[kind] += (uint32_t)(share * (double)(points[before + 1].waited[kind] -
							    points[before].waited[kind]));
	return between;
}

static int share_between(const struct pressure_part_point *from,
			 const struct pressure_part_point *to, enum pressure_kind kind)
{
	const uint64_t known = to->known - from->known;
	const uint64_t waited = to->waited[kind] - from->waited[kind];

	if (known < UNITS(SECOND_NS / 2))
		return -1;
	return (int)(waited >= known ? 10000 : waited * 10000 / known);
}

int pressure_cpus_share(const struct pressure_part *part, uint64_t window_ns,
			enum pressure_kind kind)
{
	struct pressure_part_point from;

	if (!part->nr)
		return -1;
	from = point_before(part, UNITS(window_ns), kind);
	return share_between(&from, &part->points[part->nr - 1], kind);
}

uint64_t pressure_cpus_second(const struct pressure_part *part)
{
	const struct pressure_part_point *last = &part->points[part->nr - 1];
	uint32_t passed, known;

	if (part->nr < 2)
		return 0;
	passed = last->time - last[-1].time;
	known = last->known - last[-1].known;
	if (known != passed && known + 1 != passed && known != passed + 1)
		return 0;
	if (known < UNITS(SECOND_NS / 2) || known > UNITS(SECOND_NS * 8 / 5))
		return 0;
	return (uint64_t)known << UNIT_SHIFT;
}
