// SPDX-License-Identifier: Apache-2.0
/*
 * Both lists hold samples of one type, so a minute is the sum of stored numbers: what is added
 * up is exactly what can be read.
 */
#include "ctl/pressure_ring.h"

#define MS_NS	  1000000ULL
#define LENGTH_NS (2 * MS_NS) /* the unit of lengths and pressure */
#define USAGE_NS  10000ULL    /* the unit of run time and waits */
#define MINUTE_NS (60 * 1000 * MS_NS)
#define DAY_MS	  (24 * 60 * 60 * 1000U)

/* --- growth -------------------------------------------------------------------------------------- */

static bool can_compare(const struct pressure_totals *before, const struct pressure_totals *now,
			uint64_t longest_ns)
{
	return before->cgroup_id == now->cgroup_id && now->time_ns > before->time_ns &&
	       now->time_ns - before->time_ns <= longest_ns;
}

static bool usage_went_back(const struct pressure_totals *before, const struct pressure_totals *now)
{
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		if (now->wait_ns[cause] < before->wait_ns[cause])
			return true;
	return now->run_ns < before->run_ns || now->outside_ns < before->outside_ns;
}

static bool pressure_went_back(const struct pressure_totals *before,
			       const struct pressure_totals *now)
{
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		if (now->waited_ns[kind] < before->waited_ns[kind])
			return true;
	return now->until_ns < before->until_ns || now->since_ns != before->since_ns;
}

void pressure_ring_growth(const struct pressure_totals *before, const struct pressure_totals *now,
			  uint64_t longest_ns, struct pressure_growth *ret_growth)
{
	*ret_growth = (struct pressure_growth){0};
	if (!can_compare(before, now, longest_ns))
		return;
	if (before->has_usage && now->has_usage && !usage_went_back(before, now)) {
		ret_growth->usage_ns = now->time_ns - before->time_ns;
		ret_growth->run_ns = now->run_ns - before->run_ns;
		ret_growth->outside_ns = now->outside_ns - before->outside_ns;
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
			ret_growth->wait_ns[cause] = now->wait_ns[cause] - before->wait_ns[cause];
	}
	if (before->has_pressure && now->has_pressure && !pressure_went_back(before, now)) {
		ret_growth->pressure_ns = now->until_ns - before->until_ns;
		for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
			ret_growth->waited_ns[kind] =
				now->waited_ns[kind] - before->waited_ns[kind];
	}
}

/* --- storing ------------------------------------------------------------------------------------- */

/* Whole units of the growth and what was left before; less than a unit is left again. */
static uint64_t take_units(uint64_t *rest_ns, uint64_t growth_ns, uint64_t unit_ns)
{
	const uint64_t sum_ns = *rest_ns + growth_ns;

	*rest_ns = sum_ns % unit_ns;
	return sum_ns / unit_ns;
}

static uint16_t saturate_16(uint64_t value)
{
	return value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

/*
 * A number of units in 32 bits: 30 of them count, and the other two say how often these are shifted.
 * A minute of four million tasks fits, which is as many as Linux has, and what is cut off of a number
 * that is too long is less than a part in 2^22 of it.
 */
#define COUNT_BITS 30
#define COUNT_MAX  ((1ULL << COUNT_BITS) - 1)
#define SHIFT_STEP 7
#define SHIFTS_MAX 3

static uint32_t pack(uint64_t units)
{
	uint32_t shifts = 0;

	while (units > COUNT_MAX && shifts < SHIFTS_MAX) {
		units >>= SHIFT_STEP;
		shifts++;
	}
	return shifts << COUNT_BITS | (uint32_t)(units < COUNT_MAX ? units : COUNT_MAX);
}

static uint64_t unpack(uint32_t packed)
{
	return (packed & COUNT_MAX) << (packed >> COUNT_BITS) * SHIFT_STEP;
}

static uint16_t take_length(uint64_t *rest_ns, uint64_t growth_ns)
{
	return saturate_16(take_units(rest_ns, growth_ns, LENGTH_NS));
}

/* What is cut off is left, too. 64 bits of ns are fewer units than can be packed. */
static uint32_t take_usage(uint64_t *rest_ns, uint64_t growth_ns)
{
	const uint64_t units = take_units(rest_ns, growth_ns, USAGE_NS);
	const uint32_t packed = pack(units);

	*rest_ns += (units - unpack(packed)) * USAGE_NS;
	return packed;
}

static uint32_t sum_usage(uint32_t sum, uint32_t added)
{
	return pack(unpack(sum) + unpack(added));
}

static struct pressure_sample make_sample(struct pressure_growth *rest, uint64_t now_ns,
					  const struct pressure_growth *growth)
{
	struct pressure_sample sample = {
		.time_ms = (uint32_t)(now_ns / MS_NS),
		.usage = take_length(&rest->usage_ns, growth->usage_ns),
		.pressure = take_length(&rest->pressure_ns, growth->pressure_ns),
		.run = take_usage(&rest->run_ns, growth->run_ns),
	};

	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		sample.wait[cause] = take_usage(&rest->wait_ns[cause], growth->wait_ns[cause]);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		sample.waited[kind] = take_length(&rest->waited_ns[kind], growth->waited_ns[kind]);
	return sample;
}

static void add_sample(struct pressure_sample *sum, const struct pressure_sample *sample)
{
	sum->usage = saturate_16((uint64_t)sum->usage + sample->usage);
	sum->pressure = saturate_16((uint64_t)sum->pressure + sample->pressure);
	sum->run = sum_usage(sum->run, sample->run);
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		sum->wait[cause] = sum_usage(sum->wait[cause], sample->wait[cause]);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		sum->waited[kind] = saturate_16((uint64_t)sum->waited[kind] + sample->waited[kind]);
}

static uint32_t oldest_of(const struct pressure_ring_end *end, uint32_t size)
{
	return (end->next + size - end->nr) % size;
}

/*
 * Samples that no span reaches any more go at once, so the times of those that remain can be told
 * although they are stored modulo 2^32 ms, which is 49 days.
 */
static void push(struct pressure_sample *samples, uint32_t size, struct pressure_ring_end *end,
		 const struct pressure_sample *sample)
{
	while (end->nr && sample->time_ms - samples[oldest_of(end, size)].time_ms > DAY_MS)
		end->nr--;
	samples[end->next] = *sample;
	end->next = (end->next + 1) % size;
	if (end->nr < size)
		end->nr++;
}

/* The end of the minute that a sample belongs to, by its own end. */
static uint64_t minute_end_ns(uint64_t time_ns)
{
	return (time_ns + MINUTE_NS - 1) / MINUTE_NS * MINUTE_NS;
}

void pressure_ring_add(struct pressure_ring *ring, uint64_t now_ns,
		       const struct pressure_growth *growth)
{
	const uint64_t end_ns = minute_end_ns(now_ns);
	struct pressure_sample sample;

	if (!growth->usage_ns && !growth->pressure_ns)
		return;
	/* No span reaches what was before so long a gap, and its times would wrap around. */
	if (now_ns - ring->newest_ns > DAY_MS * MS_NS + MINUTE_NS)
		*ring = (struct pressure_ring){0};
	if (ring->newest_ns && minute_end_ns(ring->newest_ns) != end_ns) {
		push(ring->minutes, PRESSURE_RING_MINUTES, &ring->minutes_end, &ring->minute);
		ring->minute = (struct pressure_sample){0};
	}
	sample = make_sample(&ring->rest, now_ns, growth);
	ring->outside[ring->fine_end.next] = take_usage(&ring->rest.outside_ns, growth->outside_ns);
	push(ring->fine, PRESSURE_RING_FINE, &ring->fine_end, &sample);
	ring->minute.time_ms = (uint32_t)(end_ns / MS_NS);
	add_sample(&ring->minute, &sample);
	ring->newest_ns = now_ns;
}

/* --- reading ------------------------------------------------------------------------------------- */

static uint64_t length_ns(enum pressure_span span)
{
	return span == PRESSURE_SPAN_10M ? 10 * MINUTE_NS : 24 * 60 * MINUTE_NS;
}

uint32_t pressure_ring_room(enum pressure_span span)
{
	/* Also with the minute that ended last, because then the first one is a day ago. */
	return span == PRESSURE_SPAN_10M ? PRESSURE_RING_FINE : PRESSURE_RING_MINUTES;
}

/* The time of a sample that ended at most 49 days before `newest_ms`. */
static uint64_t time_of(const struct pressure_sample *sample, uint64_t newest_ms)
{
	return (newest_ms - (uint32_t)((uint32_t)newest_ms - sample->time_ms)) * MS_NS;
}

static struct pressure_reading read_sample(const struct pressure_sample *sample, uint64_t time_ns)
{
	struct pressure_reading reading = {
		.time_ns = time_ns,
		.growth =
			{
				.usage_ns = sample->usage * LENGTH_NS,
				.run_ns = unpack(sample->run) * USAGE_NS,
				.pressure_ns = sample->pressure * LENGTH_NS,
			},
	};

	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		reading.growth.wait_ns[cause] = unpack(sample->wait[cause]) * USAGE_NS;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		reading.growth.waited_ns[kind] = sample->waited[kind] * LENGTH_NS;
	return reading;
}

/* The fine sample `i` samples after the oldest one. */
static struct pressure_reading read_fine(const struct pressure_ring *ring, uint32_t i)
{
	const uint32_t at =
		(oldest_of(&ring->fine_end, PRESSURE_RING_FINE) + i) % PRESSURE_RING_FINE;
	const struct pressure_sample *sample = &ring->fine[at];
	struct pressure_reading reading =
		read_sample(sample, time_of(sample, ring->newest_ns / MS_NS));

	reading.growth.outside_ns = unpack(ring->outside[at]) * USAGE_NS;
	return reading;
}

static uint32_t read_all_fine(const struct pressure_ring *ring, uint64_t now_ns,
			      struct pressure_reading *ret_readings)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ring->fine_end.nr; i++) {
		const struct pressure_reading reading = read_fine(ring, i);

		if (reading.time_ns + length_ns(PRESSURE_SPAN_10M) > now_ns)
			ret_readings[nr++] = reading;
	}
	return nr;
}

uint32_t pressure_ring_read(const struct pressure_ring *ring, enum pressure_span span,
			    uint64_t now_ns, struct pressure_reading *ret_readings)
{
	const struct pressure_ring_end *end = &ring->minutes_end;
	const uint64_t minute_ns = minute_end_ns(ring->newest_ns);
	const uint32_t oldest = oldest_of(end, PRESSURE_RING_MINUTES);
	uint32_t nr = 0;

	if (span == PRESSURE_SPAN_10M)
		return read_all_fine(ring, now_ns, ret_readings);
	for (uint32_t i = 0; i < end->nr; i++) {
		const struct pressure_sample *sample =
			&ring->minutes[(oldest + i) % PRESSURE_RING_MINUTES];
		const uint64_t time_ns = time_of(sample, ring->newest_ns / MS_NS);

		if (time_ns + length_ns(span) > now_ns)
			ret_readings[nr++] = read_sample(sample, time_ns);
	}
	if (ring->newest_ns && minute_ns <= now_ns && minute_ns + length_ns(span) > now_ns)
		ret_readings[nr++] = read_sample(&ring->minute, minute_ns);
	return nr;
}

void pressure_ring_sum(const struct pressure_ring *ring, uint64_t window_ns, uint64_t now_ns,
		       struct pressure_growth *ret_sum)
{
	*ret_sum = (struct pressure_growth){0};
	/* From the newest one: most windows are short. */
	for (uint32_t i = ring->fine_end.nr; i-- > 0;) {
		const struct pressure_reading reading = read_fine(ring, i);

		if (reading.time_ns + window_ns <= now_ns)
			return;
		ret_sum->usage_ns += reading.growth.usage_ns;
		ret_sum->run_ns += reading.growth.run_ns;
		ret_sum->outside_ns += reading.growth.outside_ns;
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
			ret_sum->wait_ns[cause] += reading.growth.wait_ns[cause];
	}
}
