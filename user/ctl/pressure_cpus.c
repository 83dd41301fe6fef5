// SPDX-License-Identifier: Apache-2.0
/*
 * A point is an earlier read. Points are kept as they come until there is no more room for one. Then
 * those are dropped that the windows do not need: every two seconds of the last ten, every ten of the
 * last minute, and every thirty of the last five minutes. Between two points time is taken to have
 * grown evenly.
 *
 * A point has its totals in units of 0.5 ms modulo 2^16, which is 34 s: as much as a total may grow
 * between two points. The window of a part is what it grew by from each point to the next one, and
 * the totals of the last read are exact.
 */
#include "ctl/pressure_cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ULL
#define UNIT_NS	  (1ULL << 19)

/*
 * The end of an interval that is still open is an estimate: the scheduler's clock is read a tick
 * late at worst, of 10 ms with HZ=100. So much may a time seem to fall or exceed what has passed.
 */
#define SLACK_NS (20 * 1000000ULL)
/* Two reads that are further apart cannot be compared. */
#define WRAP_NS ((1ULL << 32) - 2 * SLACK_NS)
/* Without the point between them, two points may be so far apart, because they count modulo 34 s. */
#define WIDEST_NS  (31 * SECOND_NS)
#define LONGEST_NS (300 * SECOND_NS)

/* --- points -------------------------------------------------------------------------------------- */

/* To the nearest unit. */
static uint64_t units(uint64_t ns)
{
	return (ns + UNIT_NS / 2) / UNIT_NS;
}

static uint32_t nr_sums_of(const struct pressure_cpus *cpus)
{
	return cpus->nr_parts - cpus->nr_cpus;
}

/* A row: what is known of the CPUs, and of each sum, and what was waited in each part. */
static uint32_t row_width(uint32_t nr_parts, uint32_t nr_sums)
{
	return 1 + nr_sums + nr_parts * PRESSURE_KIND_NR;
}

static uint16_t *row_at(const struct pressure_cpus *cpus, uint32_t point)
{
	return &cpus->values[cpus->rows[point] * row_width(cpus->nr_parts, nr_sums_of(cpus))];
}

static uint32_t known_column(const struct pressure_cpus *cpus, uint32_t part)
{
	return part < cpus->nr_cpus ? 0 : 1 + part - cpus->nr_cpus;
}

static uint32_t waited_column(const struct pressure_cpus *cpus, uint32_t part)
{
	return 1 + nr_sums_of(cpus) + part * PRESSURE_KIND_NR;
}

static void drop(struct pressure_cpus *cpus, uint32_t at)
{
	const uint32_t nr_after = --cpus->nr_points - at;
	const uint8_t row = cpus->rows[at];

	memmove(&cpus->times_ns[at], &cpus->times_ns[at + 1], nr_after * sizeof(*cpus->times_ns));
	memmove(&cpus->rows[at], &cpus->rows[at + 1], nr_after * sizeof(*cpus->rows));
	cpus->rows[cpus->nr_points] = row;
}

/* How far may two points be apart, if the younger one is so old? */
static uint64_t widest_gap(uint64_t age_ns)
{
	if (age_ns <= 10 * SECOND_NS)
		return 2200 * 1000000ULL;
	return age_ns <= 60 * SECOND_NS ? 11 * SECOND_NS : WIDEST_NS;
}

/* That of the last read follows those of the points. */
static uint64_t time_at(const struct pressure_cpus *cpus, uint32_t point)
{
	return point < cpus->nr_points ? cpus->times_ns[point] : cpus->read_ns;
}

static uint64_t gap_without(const struct pressure_cpus *cpus, uint32_t at)
{
	return time_at(cpus, at + 1) - time_at(cpus, at - 1);
}

/*
 * Reads at odd distances leave more points than there is room for. The one goes whose gap is the
 * smallest for its age.
 */
static void drop_least(struct pressure_cpus *cpus, uint64_t now_ns)
{
	double least = 0;
	uint32_t found = 0;

	for (uint32_t at = 1; at < cpus->nr_points; at++) {
		const uint64_t gap_ns = gap_without(cpus, at);
		const double part =
			(double)gap_ns / (double)widest_gap(now_ns - time_at(cpus, at + 1));

		if (gap_ns > WIDEST_NS || (found && part >= least))
			continue;
		least = part;
		found = at;
	}
	drop(cpus, found);
}

static void thin_out(struct pressure_cpus *cpus, uint64_t now_ns)
{
	uint32_t at = 1;

	/* One point at or before the beginning of the longest window is enough. */
	while (cpus->nr_points > 1 && now_ns - cpus->times_ns[1] >= LONGEST_NS)
		drop(cpus, 0);
	while (at < cpus->nr_points) {
		if (gap_without(cpus, at) <= widest_gap(now_ns - time_at(cpus, at + 1)))
			drop(cpus, at);
		else
			at++;
	}
	if (cpus->nr_points == PRESSURE_CPUS_POINTS)
		drop_least(cpus, now_ns);
}

/* Before the totals change: the last read is an earlier one from now on. */
static void add_point(struct pressure_cpus *cpus, uint64_t now_ns)
{
	uint16_t *row;

	if (!cpus->read_ns)
		return;
	if (cpus->nr_points == PRESSURE_CPUS_POINTS)
		thin_out(cpus, now_ns);
	cpus->times_ns[cpus->nr_points] = cpus->read_ns;
	row = row_at(cpus, cpus->nr_points++);
	*row++ = (uint16_t)units(cpus->known_ns);
	for (uint32_t i = cpus->nr_cpus; i < cpus->nr_parts; i++)
		*row++ = (uint16_t)units(cpus->parts[i].known_ns);
	for (uint32_t i = 0; i < cpus->nr_parts; i++)
		for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
			*row++ = (uint16_t)units(cpus->parts[i].waited_ns[kind]);
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
static bool is_comparable(const struct pressure_cpus *cpus, uint64_t read_ns)
{
	return cpus->read_ns && !cpus->is_cut && read_ns - cpus->read_ns < WRAP_NS;
}

/* A torn row is left out as a whole. The next one has what it would have said. */
static bool is_torn(const struct pressure_cpus *cpus, uint64_t read_ns,
		    const struct pressure_cell *cells)
{
	uint64_t unused_ns;

	if (cpus->read_ns && read_ns <= cpus->read_ns)
		return true;
	if (!is_comparable(cpus, read_ns))
		return false;
	for (uint32_t i = 0; i < cpus->nr_cpus; i++) {
		const struct pressure_part *part = &cpus->parts[i];

		for (int kind = 0; part->is_read && kind < PRESSURE_CPU_KIND_NR; kind++)
			if (!grown(part->last_ns[kind], cells[i].time_ns[kind],
				   read_ns - cpus->read_ns, &unused_ns))
				return true;
	}
	return false;
}

static void add_passed(struct pressure_part *part, uint64_t passed_ns, bool is_known)
{
	if (part->is_read && is_known)
		part->known_ns += passed_ns;
	else if (part->is_read)
		part->missed_ns += passed_ns;
	part->is_read = true;
}

/* Returns false if it is not known what has grown. */
static bool add_cpu(const struct pressure_cpus *cpus, struct pressure_part *part, uint64_t read_ns,
		    const struct pressure_cell *cell, uint64_t ret_grown_ns[PRESSURE_CPU_KIND_NR])
{
	const uint64_t passed_ns = read_ns - cpus->read_ns;
	const bool is_known = part->is_read && is_comparable(cpus, read_ns);

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
	add_passed(part, passed_ns, is_known);
	return is_known;
}

static bool has_part(const struct pressure_part *part, int32_t node)
{
	return part->node < 0 || part->node == node;
}

static void note_last(struct pressure_cpus *cpus, const struct pressure_part *before,
		      uint64_t read_ns)
{
	const struct pressure_part *whole = pressure_cpus_whole(cpus);

	cpus->last = (struct pressure_last){0};
	if (!before->is_read)
		return;
	cpus->last.passed_ns = read_ns - cpus->read_ns;
	cpus->last.known_ns = whole->known_ns - before->known_ns;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		cpus->last.waited_ns[kind] = whole->waited_ns[kind] - before->waited_ns[kind];
}

void pressure_cpus_add(struct pressure_cpus *cpus, uint64_t read_ns,
		       const struct pressure_cell *cells)
{
	struct weighted sums[TOPOLOGY_MAX_NODES + 1] = {0};
	const uint32_t nr_sums = nr_sums_of(cpus);
	const struct pressure_part before = *pressure_cpus_whole(cpus);

	if (is_torn(cpus, read_ns, cells))
		return;
	add_point(cpus, read_ns);
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
	/* Nodes and all together begin with the second read of their first CPUs. */
	for (uint32_t j = 0; j < nr_sums; j++) {
		struct pressure_part *part = &cpus->parts[cpus->nr_cpus + j];

		add_passed(part, read_ns - cpus->read_ns, !sums[j].is_missed);
		if (!sums[j].is_missed)
			add_weighted(part, &sums[j]);
	}
	if (is_comparable(cpus, read_ns))
		cpus->known_ns += read_ns - cpus->read_ns;
	note_last(cpus, &before, read_ns);
	cpus->read_ns = read_ns;
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

/* What a part has in each row. */
static void keep_values(const struct pressure_cpus *before, uint32_t from,
			struct pressure_cpus *cpus, uint32_t to)
{
	for (uint32_t point = 0; point < cpus->nr_points; point++) {
		const uint16_t *old = row_at(before, point);
		uint16_t *row = row_at(cpus, point);

		row[known_column(cpus, to)] = old[known_column(before, from)];
		memcpy(&row[waited_column(cpus, to)], &old[waited_column(before, from)],
		       PRESSURE_KIND_NR * sizeof(*row));
	}
}

/* A CPU that is new has the points of the others, from before it was read: no window reaches them. */
static void keep_known(const struct pressure_cpus *before, struct pressure_cpus *cpus)
{
	cpus->is_cut = before->is_cut;
	cpus->read_ns = before->read_ns;
	cpus->known_ns = before->known_ns;
	cpus->last = before->last;
	cpus->nr_points = before->nr_points;
	memcpy(cpus->times_ns, before->times_ns, sizeof(cpus->times_ns));
	memcpy(cpus->rows, before->rows, sizeof(cpus->rows));
	for (uint32_t i = 0; i < cpus->nr_parts; i++)
		for (uint32_t j = 0; j < before->nr_parts; j++) {
			if (cpus->parts[i].cpu != before->parts[j].cpu ||
			    cpus->parts[i].node != before->parts[j].node)
				continue;
			cpus->parts[i] = before->parts[j];
			keep_values(before, j, cpus, i);
		}
}

/* For `nr_sums` of them, and without a part yet. NULL = no memory. */
static struct pressure_cpus *make_cpus(uint32_t nr_cpus, uint32_t nr_sums)
{
	const size_t nr_parts = nr_cpus + nr_sums;
	const size_t nr_values = PRESSURE_CPUS_POINTS * row_width((uint32_t)nr_parts, nr_sums);
	struct pressure_cpus *made;

	made = calloc(1, sizeof(*made) + nr_parts * sizeof(*made->parts) +
				 nr_values * sizeof(*made->values));
	if (!made)
		return NULL;
	made->nr_cpus = nr_cpus;
	made->values = (uint16_t *)&made->parts[nr_parts];
	for (uint32_t i = 0; i < PRESSURE_CPUS_POINTS; i++)
		made->rows[i] = (uint8_t)i;
	return made;
}

/* The indexes of the NUMA nodes that these CPUs are on. */
static node_mask_t nodes_of(const struct topology *topology, const struct pressure_cell *cells,
			    uint32_t nr)
{
	node_mask_t nodes = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (cpuset_has(&topology->all, cells[i].cpu))
			nodes |= (node_mask_t)1 << topology->node_of[cells[i].cpu];
	return nodes;
}

int pressure_cpus_follow(struct pressure_cpus **cpus, const struct topology *topology,
			 const struct pressure_cell *cells, uint32_t nr)
{
	const node_mask_t nodes = nodes_of(topology, cells, nr);
	struct pressure_cpus *made;

	if (*cpus && is_current(*cpus, cells, nr))
		return 0;
	made = make_cpus(nr, (uint32_t)__builtin_popcountll(nodes) + 1);
	if (!made)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		add_part(made, (int32_t)cells[i].cpu, node_of(topology, cells[i].cpu));
	for (uint32_t node = 0; node < topology->nodes.nr; node++)
		if (nodes >> node & 1)
			add_part(made, -1, (int32_t)topology->nodes.ids[node]);
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

/* One of the totals of a part. */
struct part_total {
	uint32_t column;
	uint64_t total_ns; /* at the last read */
	uint64_t own_ns;   /* how much of it grew since the part was read first */
};

/* What it grew by from a point to the last read. */
static uint64_t grown_since(const struct pressure_cpus *cpus, const struct part_total *total,
			    uint32_t point)
{
	const uint64_t nr_all = units(total->total_ns);
	uint16_t later = (uint16_t)nr_all;
	uint64_t nr = 0;

	for (uint32_t at = cpus->nr_points; at-- > point;) {
		const uint16_t value = row_at(cpus, at)[total->column];

		nr += (uint16_t)(later - value);
		later = value;
	}
	/* Less than a unit may be nothing at all. */
	return nr ? total->total_ns - (nr_all - nr) * UNIT_NS : 0;
}

/* It lies between this point and the next one, or the last read. */
struct window_begin {
	uint32_t point;
	bool is_first; /* the part was read first at or after that point */
	double share;  /* of the time between the two, so much is in the window */
};

static struct window_begin begin_of(const struct pressure_cpus *cpus,
				    const struct pressure_part *part, uint64_t window_ns)
{
	const uint64_t first_ns = cpus->read_ns - part->known_ns - part->missed_ns;
	const uint64_t begin_ns = cpus->read_ns > window_ns ? cpus->read_ns - window_ns : 0;
	struct window_begin begin = {.point = cpus->nr_points, .share = 1};
	uint64_t time_ns = cpus->read_ns;

	while (begin.point && time_ns > begin_ns && time_ns > first_ns)
		time_ns = time_at(cpus, --begin.point);
	begin.is_first = time_ns <= first_ns;
	if (begin.is_first)
		time_ns = first_ns;
	if (time_ns < begin_ns) {
		const uint64_t next_ns = time_at(cpus, begin.point + 1);

		begin.share = (double)(next_ns - begin_ns) / (double)(next_ns - time_ns);
	}
	return begin;
}

static uint64_t grown_in(const struct pressure_cpus *cpus, const struct part_total *total,
			 const struct window_begin *begin)
{
	const uint64_t least_ns = grown_since(cpus, total, begin->point + 1);
	const uint64_t most_ns = begin->is_first ? total->own_ns
						 : grown_since(cpus, total, begin->point);

	return most_ns > least_ns
		       ? least_ns + (uint64_t)(begin->share * (double)(most_ns - least_ns) + 0.5)
		       : most_ns;
}

/* To the nearest, which is that of the exact times from windows of 6 s on. */
static int share_of(uint64_t waited_ns, uint64_t known_ns)
{
	if (known_ns < SECOND_NS / 2)
		return -1;
	if (waited_ns >= known_ns)
		return 10000;
	return (int)((waited_ns * 10000 + known_ns / 2) / known_ns);
}

int pressure_cpus_share(const struct pressure_cpus *cpus, const struct pressure_part *part,
			uint64_t window_ns, enum pressure_kind kind)
{
	const uint32_t at = (uint32_t)(part - cpus->parts);
	const struct part_total known = {
		.column = known_column(cpus, at),
		.total_ns = at < cpus->nr_cpus ? cpus->known_ns : part->known_ns,
		.own_ns = part->known_ns,
	};
	const struct part_total waited = {
		.column = waited_column(cpus, at) + (uint32_t)kind,
		.total_ns = part->waited_ns[kind],
		.own_ns = part->waited_ns[kind],
	};
	struct window_begin begin;

	if (!part->is_read)
		return -1;
	begin = begin_of(cpus, part, window_ns);
	return share_of(grown_in(cpus, &waited, &begin), grown_in(cpus, &known, &begin));
}

uint64_t pressure_cpus_second(const struct pressure_cpus *cpus)
{
	const struct pressure_last *last = &cpus->last;

	if (last->known_ns != last->passed_ns || last->known_ns < SECOND_NS / 2 ||
	    last->known_ns > SECOND_NS * 8 / 5)
		return 0;
	return last->known_ns;
}

int pressure_cpus_second_share(const struct pressure_cpus *cpus, enum pressure_kind kind)
{
	return share_of(cpus->last.waited_ns[kind], pressure_cpus_second(cpus));
}
