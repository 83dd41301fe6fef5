// SPDX-License-Identifier: Apache-2.0
/*
 * What is to be counted is told at any time; what is attached follows. One job at a time loads
 * or ends the programs on a thread of the pool. While it runs, `programs`, `cpus` and `untold_before`
 * belong to it; everything else belongs to the loop's thread, which begins a job and is told of its end.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/inventory.h"
#include "bpf/noise.h"
#include "bpf/noise_siblings.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/worker.h"
#include "noise.skel.h"

/* Paths of groups, which are the keys of other jobs, do not begin with a slash. */
#define NOISE_KEY "/noise"

/* Entries that are read while the CPU changes hands are read again; this often at most. */
#define READ_TRIES 64

/* Longer than a program runs that has read the clock. */
#define SETTLED_NS 20000

struct noise_counter {
	uint32_t nr_cpus; /* the highest possible CPU, plus 1 */
	struct worker_pool *pool;
	enum noise_state state;
	struct noise_owner *wanted; /* by CPU; epoch 0 = it is not exclusive */
	uint32_t nr_wanted;
	uint32_t epoch; /* the last one that was given out, to an owner or a share */
	struct noise_siblings siblings;
	bool knows_cores; /* which CPUs share a core */

	/* Strangers are told while something is counted. */
	bool tells_strangers;
	struct noise_strangers *hearing; /* NULL = nobody listens */

	struct noise *skeleton; /* NULL = nothing is loaded */
	/* Shared with the programs: by CPU, and of siblings. */
	struct noise_cpu *cpus, *records;
	bool counts[NOISE_SOURCE_NR];

	/* Strangers that the programs could not tell: of programs that have ended, and in all. */
	uint64_t untold_before, untold;
};

struct noise_job {
	struct worker_job job; /* first */
	struct noise_counter *counter;
};

static void follow(struct noise_counter *counter);

/* --- on a thread --------------------------------------------------------------------------------- */

/*
 * The tracepoints of interrupt vectors are those of x86-64; a program whose tracepoint the
 * kernel lacks would keep the whole object from being loaded.
 */
static int choose_programs(struct noise_counter *counter)
{
	static const struct {
		const char *tracepoint;
		enum noise_source source;
	} optional[] = {
		{"local_timer", NOISE_TIMER},
		{"reschedule", NOISE_RESCHEDULE},
		{"call_function", NOISE_CALL_FUNCTION},
		{"call_function_single", NOISE_CALL_FUNCTION},
	};
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_program *program;

	if (!btf)
		return -errno;
	for (int source = 0; source < NOISE_SOURCE_NR; source++)
		counter->counts[source] = true;
	counter->counts[NOISE_SMT_SIBLING] = counter->knows_cores;
	bpf_object__for_each_program (program, counter->skeleton->obj) {
		const char *tracepoint = bpf_program__section_name(program) + strlen("tp_btf/");
		char type[64];

		snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
		if (btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) >= 0)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(optional); i++) {
			const char *name = optional[i].tracepoint;

			if (strncmp(tracepoint, name, strlen(name)))
				continue;
			counter->counts[optional[i].source] = false;
			bpf_program__set_autoload(program, false);
		}
	}
	btf__free(btf);
	return 0;
}

/* A map of `nr` records, but one at least, because no map is empty. */
static size_t bytes_of(uint32_t nr)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = (nr ? nr : 1) * sizeof(struct noise_cpu);

	return (bytes + page - 1) & ~(page - 1);
}

static uint32_t nr_records(const struct noise_counter *counter)
{
	return counter->nr_cpus * counter->siblings.nr;
}

static int map_memory(const struct bpf_map *map, uint32_t nr, struct noise_cpu **ret_memory)
{
	void *memory =
		mmap(NULL, bytes_of(nr), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return log_err(-errno, "noise: cannot map '%s' into memory", bpf_map__name(map));
	*ret_memory = memory;
	return 0;
}

/* What runs on another CPU meanwhile keeps its program and its map until it has ended. */
static void unload(struct noise_counter *counter)
{
	noise__destroy(counter->skeleton);
	counter->skeleton = NULL;
	if (counter->cpus)
		munmap(counter->cpus, bytes_of(counter->nr_cpus));
	if (counter->records)
		munmap(counter->records, bytes_of(nr_records(counter)));
	counter->cpus = counter->records = NULL;
}

static int set_sizes(const struct noise_counter *counter)
{
	const uint32_t nr = nr_records(counter);
	int r = bpf_map__set_max_entries(counter->skeleton->maps.noise_cpus, counter->nr_cpus);

	counter->skeleton->rodata->nr_siblings = counter->siblings.nr;
	if (!r)
		r = bpf_map__set_max_entries(counter->skeleton->maps.noise_siblings, nr ? nr : 1);
	return r;
}

/* No CPU has an owner yet, so the programs do nothing until the loop's thread says so. */
static int load(struct noise_counter *counter)
{
	int r;

	counter->skeleton = noise__open();
	if (!counter->skeleton)
		return log_err(-errno, "noise: cannot open the BPF object");
	r = set_sizes(counter);
	if (!r)
		r = choose_programs(counter);
	if (!r)
		r = noise__load(counter->skeleton);
	if (r)
		return log_err(r, "noise: cannot load the BPF programs");
	r = map_memory(counter->skeleton->maps.noise_cpus, counter->nr_cpus, &counter->cpus);
	if (!r)
		r = map_memory(counter->skeleton->maps.noise_siblings, nr_records(counter),
			       &counter->records);
	if (r)
		return r;
	r = noise__attach(counter->skeleton);
	return r ? log_err(r, "noise: cannot attach the BPF programs") : 0;
}

static int run_load(struct worker_job *job)
{
	struct noise_counter *counter = ((struct noise_job *)job)->counter;
	int r = load(counter);

	if (r)
		unload(counter);
	return r;
}

static uint64_t sum_untold(const struct noise_counter *counter)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < counter->nr_cpus; cpu++)
		sum += __atomic_load_n(&counter->cpus[cpu].untold, __ATOMIC_RELAXED);
	return sum;
}

static int run_unload(struct worker_job *job)
{
	struct noise_counter *counter = ((struct noise_job *)job)->counter;

	counter->untold_before += sum_untold(counter);
	unload(counter);
	return 0;
}

/* --- owners -------------------------------------------------------------------------------------- */

static bool is_same_owner(const struct noise_owner *a, const struct noise_owner *b)
{
	return a->cgroup_id == b->cgroup_id && a->pod_cgroup_id == b->pod_cgroup_id &&
	       a->root_cgroup_id == b->root_cgroup_id;
}

/* Pairs with begin_epoch(): whoever sees the new epoch sees its owner. */
static void publish_owner(struct noise_owner *shown, const struct noise_owner *wanted)
{
	__atomic_store_n(&shown->epoch, 0, __ATOMIC_SEQ_CST);
	shown->cgroup_id = wanted->cgroup_id;
	shown->pod_cgroup_id = wanted->pod_cgroup_id;
	shown->root_cgroup_id = wanted->root_cgroup_id;
	shown->level = wanted->level;
	shown->pod_level = wanted->pod_level;
	shown->root_level = wanted->root_level;
	__atomic_store_n(&shown->epoch, wanted->epoch, __ATOMIC_SEQ_CST);
}

/* A share is told after its owner, so the owner's time in it is not another's. */
static void publish_siblings(struct noise_counter *counter)
{
	const struct noise_siblings *siblings = &counter->siblings;

	for (uint32_t cpu = 0; cpu < counter->nr_cpus; cpu++)
		__atomic_store_n(&counter->cpus[cpu].share, siblings->shares[cpu].number,
				 __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < nr_records(counter); i++) {
		uint32_t other = 0, share = noise_siblings_share(siblings, i, &other);
		struct noise_owner owner = counter->wanted[other];

		owner.epoch = share;
		counter->records[i].other = other;
		if (counter->records[i].owner.epoch != share)
			publish_owner(&counter->records[i].owner, &owner);
	}
	for (uint32_t cpu = 0; cpu < counter->nr_cpus; cpu++) {
		uint32_t has_siblings = 0;

		for (uint32_t i = 0; i < siblings->nr; i++)
			has_siblings |= counter->records[cpu * siblings->nr + i].owner.epoch != 0;
		__atomic_store_n(&counter->cpus[cpu].has_siblings, has_siblings, __ATOMIC_RELEASE);
	}
}

static void publish_owners(struct noise_counter *counter)
{
	for (uint32_t cpu = 0; cpu < counter->nr_cpus; cpu++)
		if (counter->cpus[cpu].owner.epoch != counter->wanted[cpu].epoch)
			publish_owner(&counter->cpus[cpu].owner, &counter->wanted[cpu]);
	publish_siblings(counter);
}

/* --- strangers ----------------------------------------------------------------------------------- */

/* Without it the agent's walks find strangers later. */
static void hear_strangers(struct noise_counter *counter)
{
	int r;

	if (!counter->hearing)
		return;
	r = noise_strangers_hear(counter->hearing,
				 bpf_map__fd(counter->skeleton->maps.noise_strangers));
	if (r)
		log_warn(r, "noise: cannot listen for strangers, so only walks move them");
}

void noise_counter_listen(struct noise_counter *counter, sd_event *event,
			  const struct noise_corrector *corrector, const struct noise_sink *sink)
{
	int r = noise_strangers_open(event, corrector, sink, &counter->hearing);

	if (r)
		log_warn(r, "noise: cannot create the thread that listens for strangers");
	else if (counter->state == NOISE_COUNTING)
		hear_strangers(counter);
}

/* --- what is attached follows what is wanted ------------------------------------------------------ */

static void job_ended(struct worker_job *base, int result)
{
	struct noise_counter *counter = ((struct noise_job *)base)->counter;

	if (result)
		counter->state = NOISE_FAILED;
	else
		counter->state = counter->skeleton ? NOISE_COUNTING : NOISE_OFF;
	follow(counter);
}

static void begin_job(struct noise_counter *counter, int (*run)(struct worker_job *job))
{
	struct noise_job *job = calloc(1, sizeof(*job));

	if (!job) {
		log_err(-ENOMEM, "noise: cannot change which CPUs are counted");
		counter->state = counter->skeleton ? NOISE_COUNTING : NOISE_FAILED;
		return;
	}
	job->job = (struct worker_job){.run = run, .completed = job_ended};
	job->counter = counter;
	/* Never refused: while a job runs, the state is NOISE_LOADING or NOISE_ENDING. */
	(void)worker_begin(counter->pool, NOISE_KEY, &job->job);
}

static void follow(struct noise_counter *counter)
{
	if (counter->state == NOISE_FAILED && !counter->nr_wanted)
		counter->state = NOISE_OFF;
	if (counter->state == NOISE_OFF && counter->nr_wanted) {
		counter->state = NOISE_LOADING;
		begin_job(counter, run_load);
	} else if (counter->state == NOISE_COUNTING) {
		publish_owners(counter);
		counter->skeleton->bss->tells_strangers = counter->tells_strangers;
		hear_strangers(counter);
		if (counter->nr_wanted)
			return;
		if (counter->hearing)
			noise_strangers_give_up(counter->hearing);
		counter->state = NOISE_ENDING;
		begin_job(counter, run_unload);
	}
}

/* --- the port ------------------------------------------------------------------------------------ */

static int watch(void *self, const struct noise_grant *grants, uint32_t nr)
{
	struct noise_counter *counter = self;
	uint32_t next = 0;

	if (nr && grants[nr - 1].cpu >= counter->nr_cpus)
		return -ERANGE;
	for (uint32_t cpu = 0; cpu < counter->nr_cpus; cpu++) {
		struct noise_owner *wanted = &counter->wanted[cpu];

		if (next == nr || grants[next].cpu != cpu) {
			*wanted = (struct noise_owner){0};
		} else if (!wanted->epoch || !is_same_owner(wanted, &grants[next].owner)) {
			*wanted = grants[next].owner;
			wanted->epoch = ++counter->epoch;
		}
		next += next < nr && grants[next].cpu == cpu;
	}
	counter->nr_wanted = nr;
	noise_siblings_follow(&counter->siblings, counter->wanted, &counter->epoch);
	follow(counter);
	return 0;
}

static void tell_strangers(void *self, bool wanted)
{
	struct noise_counter *counter = self;

	counter->tells_strangers = wanted;
	if (counter->state == NOISE_COUNTING)
		counter->skeleton->bss->tells_strangers = wanted;
}

static enum noise_state state(void *self)
{
	const struct noise_counter *counter = self;

	return counter->state;
}

static bool counts(void *self, enum noise_source source)
{
	const struct noise_counter *counter = self;

	return counter->counts[source];
}

/*
 * Who runs, and whose the entries are, belong together: read again what changed meanwhile. After
 * many tries the last copy has to do; each number in it is right by itself.
 */
static void copy_cpu(const struct noise_cpu *shown, struct noise_cpu *ret_cpu)
{
	for (int i = 0; i < READ_TRIES; i++) {
		uint32_t before = __atomic_load_n(&shown->sequence, __ATOMIC_ACQUIRE);

		memcpy(ret_cpu, shown, sizeof(*ret_cpu));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && before == __atomic_load_n(&shown->sequence, __ATOMIC_RELAXED))
			return;
	}
}

/* The time of an interrupt that has not ended yet, which is in none of the sums. */
static int64_t open_interrupt_ns(const struct noise_cpu *cpu, int64_t now_ns)
{
	int64_t ns = 0;

	/* Of the hard interrupts in a softirq those that have ended are in hard_ns. */
	if (cpu->soft_start_ns)
		ns = now_ns - (int64_t)cpu->soft_start_ns -
		     (int64_t)(cpu->hard_ns - cpu->soft_taken_ns);
	else if (cpu->hard_start_ns)
		ns = now_ns - (int64_t)cpu->hard_start_ns;
	return ns > 0 ? ns : 0;
}

/*
 * Add the time of whoever has the CPU, without the interrupts in it. One that has not ended is left
 * out as well: its time would be taken off again at its end, and a counter must not fall. Nor may
 * `now_ns` be later than the copy, or whoever has left the CPU since would have too much.
 */
static void add_open_time(struct noise_cpu *cpu, int64_t now_ns)
{
	struct noise_entry *entry;
	int64_t ns;

	if (cpu->running >= NOISE_NOBODY)
		return;
	entry = &cpu->entries[cpu->running];
	ns = now_ns - (int64_t)cpu->since_ns -
	     (int64_t)(cpu->hard_ns + cpu->soft_ns - cpu->since_taken_ns) -
	     open_interrupt_ns(cpu, now_ns);
	if (ns < 0)
		return;
	entry->total_ns += (uint64_t)ns;
	if ((uint64_t)ns > entry->longest_ns)
		entry->longest_ns = (uint64_t)ns;
}

static void name_softirqs(struct noise_cpu *cpu)
{
	static const char names[NOISE_SOFTIRQS][sizeof(cpu->entries->name)] = {
		"HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
		"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU",
	};

	for (int i = 0; i < NOISE_SOFTIRQS; i++)
		memcpy(cpu->entries[NOISE_VECTORS + i].name, names[i], sizeof(names[i]));
}

/*
 * The owner's time is read as of some time ago, so what it will have been then is not less: a
 * CPU that switches has read its clock before it writes, and a counter must not fall.
 */
static uint32_t read_sibling(const struct noise_counter *counter, uint32_t cpu, uint32_t i,
			     struct noise_entry *ret_entries)
{
	const uint64_t then_ns = clock_monotonic_ns() - SETTLED_NS;
	const struct noise_cpu *owned = &counter->cpus[cpu];
	const uint32_t index = noise_siblings_index(&counter->siblings, cpu, i);
	const uint32_t number = counter->siblings.shares[cpu].number;
	struct noise_cpu copy;
	uint64_t word;

	if (index == NOISE_NO_CPU || !(counter->siblings.shares[cpu].foreign >> i & 1))
		return 0;
	copy_cpu(&counter->records[index], &copy);
	word = __atomic_load_n(&owned->owner_time, __ATOMIC_ACQUIRE);
	/* Nothing has happened there since, or not on the exclusive CPU. */
	if (copy.epoch != number || __atomic_load_n(&owned->shared, __ATOMIC_RELAXED) != number)
		return 0;
	return noise_siblings_read(&copy, index / counter->siblings.nr,
				   noise_owner_ns(word, then_ns), ret_entries);
}

static int read_cpu(void *self, uint32_t cpu, uint64_t cgroup_id, struct noise_entry *ret_entries,
		    uint32_t *ret_nr)
{
	struct noise_counter *counter = self;
	const int64_t now_ns = (int64_t)clock_monotonic_ns();
	struct noise_cpu copy;
	uint32_t nr = 0;

	if (counter->state != NOISE_COUNTING || cpu >= counter->nr_cpus ||
	    !counter->wanted[cpu].epoch || counter->wanted[cpu].cgroup_id != cgroup_id)
		return -ENODATA;
	copy_cpu(&counter->cpus[cpu], &copy);
	/* Nothing has happened there since the cgroup has the CPU. */
	if (copy.epoch != copy.owner.epoch) {
		*ret_nr = 0;
		return 0;
	}
	add_open_time(&copy, now_ns);
	name_softirqs(&copy);
	for (uint32_t i = 0; i < NOISE_ENTRIES; i++)
		if (copy.entries[i].epoch == copy.epoch && copy.entries[i].count)
			ret_entries[nr++] = copy.entries[i];
	for (uint32_t i = 0; i < counter->siblings.nr; i++)
		nr += read_sibling(counter, cpu, i, &ret_entries[nr]);
	*ret_nr = nr;
	return 0;
}

/* --- life ---------------------------------------------------------------------------------------- */

int noise_counter_open(const struct noise_options *options, struct noise_counter **ret_counter)
{
	struct noise_counter *counter cleanup_noise_counter = calloc(1, sizeof(*counter));

	if (!counter)
		return log_err(-ENOMEM, "noise: cannot create the counter of noise");
	cpuset_for_each (cpu, options->possible)
		counter->nr_cpus = cpu + 1;
	counter->pool = options->pool;
	counter->wanted = calloc(counter->nr_cpus + 1, sizeof(*counter->wanted));
	counter->knows_cores = options->topology;
	if (!counter->wanted ||
	    noise_siblings_init(&counter->siblings, options->topology, counter->nr_cpus))
		return log_err(-ENOMEM, "noise: cannot create the counter of noise");
	*ret_counter = TAKE_PTR(counter);
	return 0;
}

void noise_counter_close(struct noise_counter *counter)
{
	if (!counter)
		return;
	noise_strangers_close(counter->hearing);
	unload(counter);
	noise_siblings_fini(&counter->siblings);
	free(counter->wanted);
	free(counter);
}

static const char *why_not_loaded(enum noise_state state)
{
	switch (state) {
	case NOISE_LOADING:
		return "it is being loaded, because a container has exclusive CPUs";
	case NOISE_ENDING:
		return "it is being detached, because no CPU is exclusive any more";
	case NOISE_FAILED:
		return "it could not be loaded; see the agent's log";
	default:
		return "no CPU is exclusive; it is attached while a container has exclusive CPUs";
	}
}

/* In other states the counts belong to a thread; what was shown before is then shown again. */
static uint64_t untold(void *self)
{
	struct noise_counter *counter = self;

	if (counter->state == NOISE_COUNTING)
		counter->untold = counter->untold_before + sum_untold(counter);
	return counter->untold + (counter->hearing ? noise_strangers_untold(counter->hearing) : 0);
}

/* In other states the skeleton belongs to a thread. */
static void list(void *self, struct bpf_inventory *inventory)
{
	const struct noise_counter *counter = self;

	if (counter->state == NOISE_COUNTING)
		inventory_add_object(inventory, "noise", counter->skeleton->obj, "");
	else
		bpf_inventory_add_missing(inventory, "noise", why_not_loaded(counter->state));
}

struct noise_port noise_counter_port(struct noise_counter *counter)
{
	return (struct noise_port){
		.self = counter,
		.watch = watch,
		.state = state,
		.counts = counts,
		.read = read_cpu,
		.tell_strangers = tell_strangers,
		.untold = untold,
		.list = list,
	};
}
