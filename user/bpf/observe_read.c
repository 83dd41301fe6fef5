// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the observer's counters from mapped memory.
 *
 * A CPU adds to a counter only when it switches, and an exclusive CPU with one
 * busy task may not switch for seconds. So a reader adds the interval that is
 * still open. That sum is an estimate (two clocks); what it has once shown is a
 * floor for what it shows later, so the results are counters all the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/observe_maps.h"
#include "lib/clock.h"

/* Two switches can fall into one read; hundreds mean that the CPU's record is broken. */
#define READ_TRIES 200

#define OFFSET_VALID_NS 100000000ULL
/* The clocks drift apart; pairs much older than the newest are of no use. */
#define PAIR_AGE_NS 5000000000ULL

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* One CPU and slot as they were at one instant. */
struct sample {
	struct observe_counter counter;
	bool open;
	bool outside;
	uint64_t start_clock;
};

static void copy_counter(const struct observe_counter *from, struct observe_counter *to)
{
	to->run_ns = load((const uint64_t *)&from->run_ns);
	to->outside_ns = load((const uint64_t *)&from->outside_ns);
	to->switches = load((const uint64_t *)&from->switches);
	to->preemptions = load((const uint64_t *)&from->preemptions);
	to->migrations_thread = load((const uint64_t *)&from->migrations_thread);
	to->migrations_core = load((const uint64_t *)&from->migrations_core);
	to->migrations_llc = load((const uint64_t *)&from->migrations_llc);
	to->migrations_numa = load((const uint64_t *)&from->migrations_numa);
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		to->wait_ns[cause] = load((const uint64_t *)&from->wait_ns[cause]);
}

/* Pairs with arch_bump_ordered() in bpf/observe.bpf.c: odd, change, even. */
static void take_sample(const struct observer *observer, uint32_t slot, uint32_t cpu,
			struct sample *ret_sample)
{
	const struct observe_cpu *here = &observer->cpus[cpu];
	const struct observe_counter *counter =
		&observer->counters[(size_t)slot * observer->control->nr_cpus + cpu];

	for (int try = 0; try < READ_TRIES; try++) {
		uint32_t before = __atomic_load_n(&here->sequence, __ATOMIC_ACQUIRE);
		uint32_t running = __atomic_load_n(&here->slot, __ATOMIC_RELAXED);

		ret_sample->outside = running & SLOT_OUTSIDE;
		ret_sample->start_clock = load((const uint64_t *)&here->start_clock);
		ret_sample->open = (running & ~SLOT_OUTSIDE) == slot;
		copy_counter(counter, &ret_sample->counter);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && __atomic_load_n(&here->sequence, __ATOMIC_RELAXED) == before)
			return;
	}
	ret_sample->open = false;
}

/*
 * Did the container never run, wait, or send a task away here? Most CPUs are like this for most
 * containers, and then there is nothing to take a sample of. What stands behind the latencies is 0
 * then, too.
 */
static bool is_untouched(const struct observer *observer, uint32_t slot, uint32_t cpu)
{
	const struct observe_counter *counter =
		&observer->counters[(size_t)slot * observer->control->nr_cpus + cpu];
	const uint64_t *words = (const uint64_t *)counter;
	uint64_t any = 0;

	for (size_t i = 0; i < offsetof(struct observe_counter, latencies) / sizeof(*words); i++)
		any |= load(&words[i]);
	return !any && (__atomic_load_n(&observer->cpus[cpu].slot, __ATOMIC_RELAXED) &
			~SLOT_OUTSIDE) != slot;
}

/* Returns false if the CPU was in the middle of a change at each try, as a virtual one may stand still. */
static bool take_pair(const struct observe_cpu *here, uint64_t *ret_clock,
		      uint64_t *ret_monotonic_ns)
{
	for (int try = 0; try < READ_TRIES; try++) {
		uint32_t before = __atomic_load_n(&here->sequence, __ATOMIC_ACQUIRE);

		*ret_clock = load((const uint64_t *)&here->clock);
		*ret_monotonic_ns = load((const uint64_t *)&here->monotonic_ns);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && __atomic_load_n(&here->sequence, __ATOMIC_RELAXED) == before)
			return true;
	}
	return false;
}

/*
 * Each CPU keeps a pair of instants, the monotonic one read a little after the
 * other, or much after where a virtual CPU was taken away in between. So of the
 * fresh pairs the smallest difference is the true one.
 */
static void refresh_offset(struct observer *observer, uint64_t now_ns)
{
	uint64_t newest = 0;
	bool found = false;
	int64_t least = 0;

	if (observer->has_offset && now_ns - observer->offset_taken_ns < OFFSET_VALID_NS)
		return;
	for (uint32_t i = 0; i < observer->control->nr_cpus; i++)
		newest = max_u64(newest, load((const uint64_t *)&observer->cpus[i].monotonic_ns));
	for (uint32_t i = 0; i < observer->control->nr_cpus; i++) {
		uint64_t clock, monotonic;

		if (!take_pair(&observer->cpus[i], &clock, &monotonic) || !monotonic ||
		    monotonic + PAIR_AGE_NS < newest)
			continue;
		if (!found || (int64_t)(monotonic - clock) < least)
			least = (int64_t)(monotonic - clock);
		found = true;
	}
	observer->has_offset = found;
	observer->offset_ns = least;
	observer->offset_taken_ns = now_ns;
}

/* ns that the open interval of this sample has lasted by now; 0 when there is none. */
static uint64_t open_ns(const struct observer *observer, const struct sample *sample)
{
	int64_t now_clock;

	if (!sample->open || !observer->has_offset)
		return 0;
	now_clock = (int64_t)clock_monotonic_ns() - observer->offset_ns;
	return now_clock > (int64_t)sample->start_clock ? (uint64_t)now_clock - sample->start_clock
							: 0;
}

/* Of struct observe_given. */
#define GIVEN_ARRAYS 7

/* Begins with zeros. */
static int prepare_given(struct observer *observer)
{
	const uint32_t nr_cpus = observer->control->nr_cpus;
	struct observe_given *given = &observer->given;

	if (given->run_ns) {
		memset(given->run_ns, 0, GIVEN_ARRAYS * nr_cpus * sizeof(*given->run_ns));
		return 0;
	}
	if (!given->floors)
		given->floors = calloc(nr_cpus, sizeof(*given->floors));
	if (!given->floors)
		return -ENOMEM;
	given->run_ns = calloc(nr_cpus, GIVEN_ARRAYS * sizeof(*given->run_ns));
	if (!given->run_ns)
		return -ENOMEM;
	given->outside_ns = given->run_ns + nr_cpus;
	given->remote_ns = given->outside_ns + nr_cpus;
	given->cpu_wait_ns = given->remote_ns + nr_cpus;
	given->cpu_switches = given->cpu_wait_ns + nr_cpus;
	given->cpu_preemptions = given->cpu_switches + nr_cpus;
	given->cpu_migrations = given->cpu_preemptions + nr_cpus;
	return 0;
}

static struct observe_shown *prepare_shown(struct observer *observer, uint32_t slot)
{
	struct observe_shown *shown = &observer->shown[slot];
	const struct observe_slot *entry = &observer->slots[slot];

	/* the same cgroup may have given it up and have got it again, and then it begins with 0, too */
	if (shown->cgroup_id != entry->cgroup_id || shown->claim != entry->claims) {
		shown->cgroup_id = entry->cgroup_id;
		shown->claim = entry->claims;
		shown->run_local_ns = shown->run_remote_ns = shown->run_outside_ns = 0;
		shown->nodes = entry->nodes;
		free(shown->settled);
		shown->settled = NULL;
		shown->settled_local_ns = shown->settled_remote_ns = 0;
		shown->nr_floors = 0;
	}
	return shown;
}

/*
 * Other nodes are near since the last read, or a moment longer. Without memory for it the old ones count
 * until the next read.
 */
static void settle(const struct observer *observer, uint32_t slot, struct observe_shown *shown)
{
	const struct observe_given *given = &observer->given;
	const uint32_t nr_cpus = observer->control->nr_cpus;

	if (shown->nodes == observer->slots[slot].nodes)
		return;
	if (!shown->settled)
		shown->settled = malloc(nr_cpus * sizeof(*shown->settled));
	if (!shown->settled)
		return;
	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++)
		shown->settled[cpu] = given->run_ns[cpu] - given->outside_ns[cpu];
	shown->settled_local_ns = shown->run_local_ns;
	shown->settled_remote_ns = shown->run_remote_ns;
	shown->nodes = observer->slots[slot].nodes;
}

/* -ENOMEM: the old ones remain. */
static int keep_floors(struct observe_shown *shown, const struct observe_floor *floors, uint32_t nr)
{
	if (nr > shown->nr_floors) {
		struct observe_floor *grown = realloc(shown->floors, nr * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		shown->floors = grown;
	}
	if (nr)
		memcpy(shown->floors, floors, nr * sizeof(*floors));
	shown->nr_floors = nr;
	return 0;
}

/* Is the CPU on one of these nodes? 0 = all are near. */
static bool is_local(const struct observer *observer, uint64_t nodes, uint32_t cpu)
{
	const struct topology *topology = observer->topology;

	if (!nodes || cpu >= topology->nr_cpu_ids || !cpuset_has(&topology->all, cpu))
		return true;
	return nodes >> topology->node_of[cpu] & 1;
}

/* Divide what it ran here since the nodes changed last. */
static void add_run(const struct observer *observer, const struct observe_shown *shown,
		    uint32_t cpu, uint64_t run_ns, struct observe_usage *usage)
{
	const uint64_t settled_ns = shown->settled ? shown->settled[cpu] : 0;
	const uint64_t grown_ns = run_ns > settled_ns ? run_ns - settled_ns : 0;

	if (is_local(observer, shown->nodes, cpu))
		usage->run_local_ns += grown_ns;
	else
		usage->run_remote_ns += grown_ns;
}

/* What is shown of one CPU. Returns false if its counter says the same. */
static bool add_sample(const struct observer *observer, uint32_t slot, uint32_t cpu,
		       const struct sample *sample, const struct observe_floor *floor,
		       struct observe_usage *usage)
{
	const struct observe_given *given = &observer->given;
	const uint64_t nodes = observer->slots[slot].nodes;
	uint64_t open = open_ns(observer, sample);
	uint64_t run = max_u64(sample->counter.run_ns + open, floor->run_ns);
	uint64_t outside = max_u64(sample->counter.outside_ns + (sample->outside ? open : 0),
				   floor->outside_ns);

	if (outside > run)
		outside = run;
	given->run_ns[cpu] = run;
	given->outside_ns[cpu] = outside;
	given->remote_ns[cpu] = is_local(observer, nodes, cpu) ? 0 : run - outside;
	usage->run_outside_ns += outside;
	add_run(observer, &observer->shown[slot], cpu, run - outside, usage);
	given->cpu_wait_ns[cpu] = 0;
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		usage->wait_ns[cause] += sample->counter.wait_ns[cause];
		given->cpu_wait_ns[cpu] += sample->counter.wait_ns[cause];
	}
	given->cpu_switches[cpu] = sample->counter.switches;
	given->cpu_preemptions[cpu] = sample->counter.preemptions;
	given->cpu_migrations[cpu] =
		sample->counter.migrations_thread + sample->counter.migrations_core +
		sample->counter.migrations_llc + sample->counter.migrations_numa;
	usage->switches += sample->counter.switches;
	usage->preemptions += sample->counter.preemptions;
	usage->migrations_thread += sample->counter.migrations_thread;
	usage->migrations_core += sample->counter.migrations_core;
	usage->migrations_llc += sample->counter.migrations_llc;
	usage->migrations_numa += sample->counter.migrations_numa;
	return run > sample->counter.run_ns || outside > sample->counter.outside_ns;
}

uint64_t observe_wait_ns(const struct observe_usage *usage)
{
	uint64_t sum = 0;

	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		sum += usage->wait_ns[cause];
	return sum;
}

int observe_usage(struct observer *observer, uint64_t cgroup_id, struct observe_usage *ret_usage)
{
	struct observe_usage usage = {.nr_cpus = observer->control->nr_cpus};
	struct observe_floor *left;
	struct observe_shown *shown;
	uint32_t slot, nr_left = 0, at = 0;
	int r;

	r = observe_find(observer, cgroup_id, &slot);
	if (!r)
		r = prepare_given(observer);
	if (r)
		return r;
	shown = prepare_shown(observer, slot);
	usage.run_local_ns = shown->settled_local_ns;
	usage.run_remote_ns = shown->settled_remote_ns;
	left = observer->given.floors;
	refresh_offset(observer, clock_monotonic_ns());
	for (uint32_t cpu = 0; cpu < usage.nr_cpus; cpu++) {
		const bool has_floor = at < shown->nr_floors && shown->floors[at].cpu == cpu;
		const struct observe_floor floor = has_floor ? shown->floors[at++]
							     : (struct observe_floor){0};
		struct sample sample;

		if (!has_floor && is_untouched(observer, slot, cpu))
			continue;
		take_sample(observer, slot, cpu, &sample);
		if (add_sample(observer, slot, cpu, &sample, &floor, &usage))
			left[nr_left++] = (struct observe_floor){
				observer->given.run_ns[cpu], observer->given.outside_ns[cpu], cpu};
	}
	r = keep_floors(shown, left, nr_left);
	if (r)
		return r;
	usage.run_local_ns = shown->run_local_ns = max_u64(usage.run_local_ns, shown->run_local_ns);
	usage.run_remote_ns = shown->run_remote_ns =
		max_u64(usage.run_remote_ns, shown->run_remote_ns);
	usage.run_outside_ns = shown->run_outside_ns =
		max_u64(usage.run_outside_ns, shown->run_outside_ns);
	settle(observer, slot, shown);
	usage.run_ns = observer->given.run_ns;
	usage.outside_ns = observer->given.outside_ns;
	usage.remote_ns = observer->given.remote_ns;
	usage.cpu_wait_ns = observer->given.cpu_wait_ns;
	usage.cpu_switches = observer->given.cpu_switches;
	usage.cpu_preemptions = observer->given.cpu_preemptions;
	usage.cpu_migrations = observer->given.cpu_migrations;
	*ret_usage = usage;
	return 0;
}

static void copy_latency(const struct observe_counter *from, struct latency *to)
{
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
		to->counts[i] = load((const uint64_t *)&from->latencies[i]);
	to->sum_ns = load((const uint64_t *)&from->latency_ns);
	to->longest_ns = load((const uint64_t *)&from->longest_ns);
}

/* As take_sample(). */
static void take_latency(const struct observe_cpu *here, const struct observe_counter *counter,
			 struct latency *ret_latency)
{
	for (int try = 0; try < READ_TRIES; try++) {
		uint32_t before = __atomic_load_n(&here->sequence, __ATOMIC_ACQUIRE);

		copy_latency(counter, ret_latency);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && __atomic_load_n(&here->sequence, __ATOMIC_RELAXED) == before)
			return;
	}
}

/* All the waiting of a container in 584 years fits, but that of thousands of tasks together may not. */
static void notice_wrap(struct observer *observer, uint32_t slot, const struct latency *now)
{
	struct observe_shown *shown = &observer->shown[slot];
	const uint64_t claim = observer->slots[slot].claims, nr = latency_count(now);

	/* at 0 nothing was read yet, and no sum is smaller */
	if (shown->waits_claim == claim && (nr < shown->nr_waits || now->sum_ns < shown->waits_ns))
		observer->nr_wrapped++;
	shown->waits_claim = claim;
	shown->nr_waits = nr;
	shown->waits_ns = now->sum_ns;
}

/* Where no task of the container ever got the CPU, one cache line of the counter says so. */
int observe_latency(struct observer *observer, uint64_t cgroup_id, struct latency *ret_latency)
{
	const uint32_t nr_cpus = observer->control->nr_cpus;
	struct latency sum = {0};
	uint32_t slot;
	int r = observe_find(observer, cgroup_id, &slot);

	if (r)
		return r;
	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++) {
		const struct observe_counter *counter =
			&observer->counters[(size_t)slot * nr_cpus + cpu];
		struct latency here;

		if (!load((const uint64_t *)&counter->switches))
			continue;
		take_latency(&observer->cpus[cpu], counter, &here);
		latency_add(&sum, &here);
	}
	notice_wrap(observer, slot, &sum);
	*ret_latency = sum;
	return 0;
}

void observe_nodes(struct observer *observer, struct observe_node *ret_nodes)
{
	const struct topology *topology = observer->topology;
	struct observe_usage usage;

	memset(ret_nodes, 0, topology->nodes.nr * sizeof(*ret_nodes));
	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++) {
		uint64_t id = observer->slots[slot].cgroup_id;

		if (!id || observe_usage(observer, id, &usage))
			continue;
		cpuset_for_each (cpu, &topology->all) {
			struct observe_node *node = &ret_nodes[topology->node_of[cpu]];
			const struct observe_counter *counter;

			if (cpu >= usage.nr_cpus)
				break;
			counter = &observer->counters[(size_t)slot * usage.nr_cpus + cpu];
			node->run_ns += usage.run_ns[cpu];
			for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
				node->wait_ns += load((const uint64_t *)&counter->wait_ns[cause]);
		}
	}
}

void observe_status(const struct observer *observer, struct observe_status *ret_status)
{
	struct observe_status status = {.adopted = observer->handle->adopted,
					.nr_slots = observer->control->nr_slots - 1,
					.exhausted = observer->control->exhausted,
					.wrapped = observer->nr_wrapped};

	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++)
		status.nr_used += observer->slots[slot].cgroup_id != 0;
	/* One that was refused may have got a slot since then. */
	for (uint32_t i = 0; i < observer->nr_refused; i++) {
		uint32_t slot;

		status.nr_unmeasured += observe_find(observer, observer->refused[i], &slot) != 0;
	}
	for (uint32_t cpu = 0; cpu < observer->control->nr_cpus; cpu++)
		status.forgotten += load((const uint64_t *)&observer->cpus[cpu].forgotten);
	for (int i = 0; i < OBSERVE_NR_MAPS; i++)
		status.map_bytes += observer->memory_bytes[i];
	*ret_status = status;
}
