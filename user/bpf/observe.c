// SPDX-License-Identifier: Apache-2.0
/*
 * The observer as a BPF object (bpf_object.h), and giving slots to containers. While the agent
 * is down the pinned programs count on, for the slots given so far.
 *
 * All that must survive the agent lies in the maps: which cgroup has which slot
 * is read from there, never remembered here.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/bpf_object.h"
#include "bpf/observe_maps.h"
#include "lib/file.h"
#include "lib/log.h"
#include "observe.skel.h"

/*
 * Tasks of containers that share a record lose a little precision, so there are
 * some for each CPU, of 64 bytes each: 4 MiB on 256 CPUs.
 */
#define TASK_RECORDS_PER_CPU 256
#define TASK_RECORDS_LEAST   4096

static const char *const map_names[OBSERVE_NR_MAPS] = {
	[OBSERVE_COUNTERS] = "observe_counters", [OBSERVE_CPUS] = "observe_cpus",
	[OBSERVE_PLACES] = "observe_places",	 [OBSERVE_SLOTS] = "observe_slots",
	[OBSERVE_MASKS] = "slot_masks",		 [OBSERVE_CONTROL] = "observe_control",
	[OBSERVE_MANAGED] = "managed",
};

DEFINE_CLEANUP(struct observe, observe_skeleton_closep, observe__destroy);
#define cleanup_observe cleanup(observe_skeleton_closep)

/* --- maps as memory ------------------------------------------------------------------------------ */

static int map_memory(struct observer *observer, int map)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	long page = sysconf(_SC_PAGESIZE);
	size_t bytes;
	void *memory;

	if (bpf_obj_get_info_by_fd(observer->map_fds[map], &info, &len))
		return -errno;
	bytes = (size_t)info.max_entries * ((info.value_size + 7) & ~7U);
	bytes = (bytes + (size_t)page - 1) & ~((size_t)page - 1);
	observer->memory_bytes[map] = bytes;
	if (map == OBSERVE_MANAGED)
		return 0;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, observer->map_fds[map], 0);
	if (memory == MAP_FAILED)
		return -errno;
	observer->memory[map] = memory;
	return 0;
}

static int map_all(struct observer *observer)
{
	for (int i = 0; i < OBSERVE_NR_MAPS; i++) {
		int r;

		observer->map_fds[i] = bpf_object_map_fd(observer->handle, map_names[i]);
		r = map_memory(observer, i);
		if (r)
			return log_err(r, "observe: cannot map '%s' into memory", map_names[i]);
	}
	observer->counters = observer->memory[OBSERVE_COUNTERS];
	observer->cpus = observer->memory[OBSERVE_CPUS];
	observer->places = observer->memory[OBSERVE_PLACES];
	observer->slots = observer->memory[OBSERVE_SLOTS];
	observer->masks = observer->memory[OBSERVE_MASKS];
	observer->control = observer->memory[OBSERVE_CONTROL];
	return 0;
}

static void fini_shown(struct observe_shown *shown)
{
	free(shown->settled);
	free(shown->floors);
}

void observe_close(struct observer *observer)
{
	if (!observer)
		return;
	if (observer->shown && observer->control)
		for (uint32_t slot = 0; slot < observer->control->nr_slots; slot++)
			fini_shown(&observer->shown[slot]);
	free(observer->shown);
	free(observer->given.run_ns);
	free(observer->given.floors);
	free(observer->pods);
	free(observer->released);
	free(observer->refused);
	for (int i = 0; i < OBSERVE_NR_MAPS; i++)
		if (observer->memory[i])
			munmap(observer->memory[i], observer->memory_bytes[i]);
	bpf_object_free(observer->handle);
	free(observer);
}

/* --- sizes ---------------------------------------------------------------------------------------- */

static uint32_t possible_cpus(const struct topology *topology)
{
	int nr = libbpf_num_possible_cpus();

	return nr > 0 && (uint32_t)nr > topology->nr_cpu_ids ? (uint32_t)nr : topology->nr_cpu_ids;
}

static uint32_t task_records(uint32_t nr_cpus)
{
	uint32_t nr = TASK_RECORDS_LEAST; /* a power of two, for the mask */

	while (nr < nr_cpus * TASK_RECORDS_PER_CPU)
		nr *= 2;
	return nr;
}

static struct bpf_object_sizes shared_sizes(const struct observe_setup *setup, uint32_t nr_cpus)
{
	return (struct bpf_object_sizes){
		.nr_slots = setup->max_containers + 1,
		.mask_words = setup->mask_words ? setup->mask_words : (nr_cpus + 63) / 64,
	};
}

static void set_sizes(struct observe *skeleton, uint32_t nr_cpus,
		      const struct bpf_object_sizes *sizes)
{
	uint32_t records = task_records(nr_cpus);

	skeleton->rodata->nr_cpus = nr_cpus;
	skeleton->rodata->mask_words = sizes->mask_words;
	skeleton->rodata->task_mask = records - 1;
	bpf_map__set_max_entries(skeleton->maps.observe_counters, nr_cpus * sizes->nr_slots);
	bpf_map__set_max_entries(skeleton->maps.observe_places, nr_cpus);
	bpf_map__set_max_entries(skeleton->maps.observe_slots, sizes->nr_slots);
	bpf_map__set_max_entries(skeleton->maps.observe_pods, nr_cpus * sizes->nr_slots);
	bpf_map__set_max_entries(skeleton->maps.observe_tasks, records);
	bpf_map__set_max_entries(skeleton->maps.turns, nr_cpus + 1);
}

/* --- what is there, and what it was told -------------------------------------------------------------- */

static void write_places(struct observer *observer)
{
	const struct topology *topology = observer->topology;

	cpuset_for_each (cpu, &topology->all) {
		if (cpu >= observer->control->nr_cpus)
			break;
		observer->places[cpu].node = topology->node_of[cpu];
		observer->places[cpu].llc = topology->uncore_of[cpu];
		observer->places[cpu].core = topology->core_of[cpu];
	}
}

/* Of an earlier agent's maps all but the sizes stays as it is. */
static void write_control(struct observer *observer, uint32_t nr_cpus,
			  const struct bpf_object_sizes *sizes)
{
	struct observe_control *control = observer->control;

	control->version = ABI_VERSION;
	control->nr_cpus = nr_cpus;
	control->nr_slots = sizes->nr_slots;
	control->mask_words = sizes->mask_words;
}

/* Every CPU looks its tasks' slots and masks up again from its next switch on. */
static void publish_slots(struct observer *observer)
{
	struct observe_control *control = observer->control;
	uint32_t levels = 0;

	for (uint32_t slot = 1; slot < control->nr_slots; slot++)
		if (observer->slots[slot].cgroup_id)
			levels |= 1U << observer->slots[slot].level;
	__atomic_store_n(&control->levels, levels, __ATOMIC_RELEASE);
	__atomic_store_n(&control->generation, control->generation + 1, __ATOMIC_RELEASE);
}

/* A container that is only counted must not be guarded for a moment: its runtime writes its files. */
static int enter_slot(const struct observer *observer, uint32_t slot, bool is_only_counted)
{
	const struct observe_slot *entry = &observer->slots[slot];
	const struct managed managed = {
		.kind = is_only_counted ? MANAGED_KIND_NONE : MANAGED_KIND_TREE,
		.level = entry->level,
		.slot = slot,
		.flags = is_only_counted ? 0 : MANAGED_BORDER,
	};
	__u64 id = entry->cgroup_id;

	return bpf_map_update_elem(observer->map_fds[OBSERVE_MANAGED], &id, &managed, BPF_ANY)
		       ? -errno
		       : 0;
}

static bool is_pod_taken(const struct observer *observer, uint32_t number)
{
	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++)
		if (observer->slots[slot].cgroup_id && observer->slots[slot].pod == number)
			return true;
	return false;
}

/* A number for another pod. There is one: no more pods have one than slots are in use. */
static uint32_t pick_pod(const struct observer *observer)
{
	uint32_t number = 1;

	while (number < observer->control->nr_slots - 1 && is_pod_taken(observer, number))
		number++;
	return number;
}

/*
 * The number of the slot's pod: that of a container that was claimed for the same pod, or the
 * one that the slot has, from an earlier agent, if no other pod has it, or a free one.
 */
static uint32_t number_pod(const struct observer *observer, uint32_t slot, uint64_t pod)
{
	uint32_t number = observer->slots[slot].pod;

	for (uint32_t i = 1; i < observer->control->nr_slots; i++)
		if (i != slot && observer->slots[i].cgroup_id && observer->pods[i] == pod)
			return observer->slots[i].pod;
	for (uint32_t i = 1; i < observer->control->nr_slots; i++)
		if (i != slot && observer->slots[i].cgroup_id && observer->pods[i] &&
		    observer->slots[i].pod == number)
			return pick_pod(observer);
	return number ? number : pick_pod(observer);
}

/* Slots of an agent that knew no pods: each is its own until it is claimed. */
static void complete_pods(struct observer *observer)
{
	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++) {
		struct observe_slot *entry = &observer->slots[slot];

		if (entry->cgroup_id && (!entry->pod || entry->pod >= observer->control->nr_slots))
			entry->pod = pick_pod(observer);
	}
}

/* Does the slot's cgroup have an entry that says that it is not guarded? */
static bool is_only_counted(const struct observer *observer, uint32_t slot)
{
	__u64 id = observer->slots[slot].cgroup_id;
	struct managed managed;

	return !bpf_map_lookup_elem(observer->map_fds[OBSERVE_MANAGED], &id, &managed) &&
	       managed.kind == MANAGED_KIND_NONE;
}

/*
 * A claim writes the slot before the cgroup's entry, a release takes it from the entry
 * first; and without an observer the agent gives slots as it likes. What is said here
 * counts: every slot in use has its cgroup again.
 */
static void complete_claims(struct observer *observer)
{
	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++) {
		int r = observer->slots[slot].cgroup_id
				? enter_slot(observer, slot, is_only_counted(observer, slot))
				: 0;

		if (r)
			log_warn(
				r,
				"observe: cannot give slot %u to cgroup %llu again, so it is not measured",
				slot, (unsigned long long)observer->slots[slot].cgroup_id);
	}
	publish_slots(observer);
}

/* --- open ------------------------------------------------------------------------------------------- */

static int say_refused(const struct observe_setup *setup, int error)
{
	if (error == -EAGAIN)
		return error;
	if (error == -ESTALE)
		return log_err(error,
			       "observe: pins in '%s' have a newer layout than our %u; use the "
			       "newer agent, or remove them with 'pinfoldd --uninstall'",
			       setup->pin_dir, ABI_VERSION);
	return log_err(error,
		       "observe: cannot put the programs in force; they need BTF, tp_btf and "
		       "CONFIG_FAIR_GROUP_SCHED, and pins need bpffs");
}

static int start_object(struct observer *observer, const struct observe_setup *setup)
{
	struct observe *skeleton cleanup_observe = observe__open();
	const uint32_t nr_cpus = possible_cpus(setup->topology);
	const struct bpf_object_sizes shared = shared_sizes(setup, nr_cpus);
	const uint32_t sizes[] = {nr_cpus, shared.nr_slots, shared.mask_words};
	struct bpf_object_turns turns = {.nr_cpus = nr_cpus,
					 .counters = map_names[OBSERVE_COUNTERS]};
	struct bpf_object_memory memory[] = {
		{.name = map_names[OBSERVE_CPUS],
		 .bytes = nr_cpus * (uint32_t)sizeof(struct observe_cpu),
		 .starts_empty = true /* what it says changes all the time */},
		{.name = map_names[OBSERVE_CONTROL], .bytes = sizeof(struct observe_control)},
	};
	struct bpf_object_spec spec = {
		.id = BPF_OBJECT_OBSERVE,
		.sizes = &shared,
		.turns = &turns,
		.memory = memory,
		.nr_memory = ARRAY_SIZE(memory),
		.adopt_only = setup->adopt_only,
	};
	const void *bytes;
	size_t len;
	int r;

	if (!skeleton)
		return log_err(-errno, "observe: cannot open the BPF object");
	set_sizes(skeleton, nr_cpus, &shared);
	memory[0].map = skeleton->maps.bss;
	memory[1].map = skeleton->maps.data;
	turns.turn = (uint32_t *)&skeleton->rodata->turn;
	bytes = observe__elf_bytes(&len);
	spec.object = skeleton->obj;
	spec.digest = bpf_object_digest(bytes, len, sizes, sizeof(sizes), skeleton->obj);
	r = bpf_object_start(&spec, setup->pin_dir, &observer->handle);
	if (r)
		return say_refused(setup, r);
	r = map_all(observer);
	if (!r)
		write_control(observer, nr_cpus, &shared);
	return r;
}

int observe_open(const struct observe_setup *setup, struct observer **ret_observer)
{
	struct observer *observer cleanup_observer = calloc(1, sizeof(*observer));
	int r;

	if (!observer)
		return -ENOMEM;
	observer->topology = setup->topology;
	r = start_object(observer, setup);
	if (r)
		return r;
	observer->shown = calloc(observer->control->nr_slots, sizeof(*observer->shown));
	observer->pods = calloc(observer->control->nr_slots, sizeof(*observer->pods));
	observer->released = calloc(observer->control->nr_slots, sizeof(*observer->released));
	if (!observer->shown || !observer->pods || !observer->released)
		return -ENOMEM;
	write_places(observer);
	complete_pods(observer);
	complete_claims(observer);
	*ret_observer = TAKE_PTR(observer);
	return 0;
}

const void *observe_elf(size_t *ret_len)
{
	return observe__elf_bytes(ret_len);
}

struct bpf_object_handle *observe_handle(struct observer *observer)
{
	return observer ? observer->handle : NULL;
}

/* --- slots ------------------------------------------------------------------------------------------ */

int observe_find(const struct observer *observer, uint64_t cgroup_id, uint32_t *ret_slot)
{
	if (!cgroup_id)
		return -ENOENT;
	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++) {
		if (observer->slots[slot].cgroup_id == cgroup_id) {
			*ret_slot = slot;
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * The free slot that rested longest: a CPU may still add to a slot until its next switch. When an
 * earlier agent released its slots is not known: they count as never held.
 */
static uint32_t pick_free(const struct observer *observer)
{
	uint32_t best = 0;

	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++) {
		if (!observer->slots[slot].cgroup_id &&
		    (!best || observer->released[slot] < observer->released[best]))
			best = slot;
	}
	return best;
}

/* Whether the pod is another than before. */
static bool write_pod(struct observer *observer, uint32_t slot, const struct observe_group *group)
{
	struct observe_slot *entry = &observer->slots[slot];
	uint64_t pod = group->pod ? group->pod : group->cgroup_id;
	uint32_t number = number_pod(observer, slot, pod);
	bool changed = entry->pod != number;

	observer->pods[slot] = pod;
	__atomic_store_n(&entry->pod, number, __ATOMIC_RELAXED);
	return changed;
}

/* Whether the mask is another than before. */
static bool write_mask(struct observer *observer, uint32_t slot, const struct cpuset *cpus)
{
	uint32_t words = observer->control->mask_words;
	uint64_t *mask = &observer->masks[(size_t)slot * words];
	bool changed = false;

	for (uint32_t i = 0; i < words; i++) {
		uint64_t word = cpus && i < cpus->nr_words ? cpus->words[i] : 0;

		changed |= mask[i] != word;
		__atomic_store_n(&mask[i], word, __ATOMIC_RELAXED);
	}
	return changed;
}

static bool is_among(uint64_t id, const uint64_t *ids, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* Once for a container, however often it is asked for; without memory, each time. */
static void count_refused(struct observer *observer, uint64_t cgroup_id)
{
	if (is_among(cgroup_id, observer->refused, observer->nr_refused))
		return;
	observer->control->exhausted++;
	if (observer->nr_refused == observer->refused_size) {
		const uint32_t size = observer->refused_size ? 2 * observer->refused_size : 16;
		uint64_t *refused = realloc(observer->refused, size * sizeof(*refused));

		if (!refused)
			return;
		observer->refused = refused;
		observer->refused_size = size;
	}
	observer->refused[observer->nr_refused++] = cgroup_id;
}

int observe_claim(struct observer *observer, const struct observe_group *group, uint32_t *ret_slot)
{
	struct observe_slot *entry;
	uint32_t slot;
	int r;

	if (!group->cgroup_id || group->level == 0 || group->level >= MANAGED_LEVELS_MAX)
		return -EINVAL;
	if (!observe_find(observer, group->cgroup_id, &slot)) {
		bool changed = write_mask(observer, slot, group->cpus);

		if (write_pod(observer, slot, group) || changed)
			publish_slots(observer);
		observer->slots[slot].nodes = group->nodes;
		*ret_slot = slot;
		return 0;
	}
	slot = pick_free(observer);
	if (!slot) {
		count_refused(observer, group->cgroup_id);
		return -ENOSPC;
	}
	entry = &observer->slots[slot];
	memset(&observer->counters[(size_t)slot * observer->control->nr_cpus], 0,
	       observer->control->nr_cpus * sizeof(*observer->counters));
	write_mask(observer, slot, group->cpus);
	*entry = (struct observe_slot){.cgroup_id = group->cgroup_id,
				       .nodes = group->nodes,
				       .level = group->level,
				       .claims = entry->claims + 1};
	write_pod(observer, slot, group);
	r = enter_slot(observer, slot, group->is_only_counted);
	if (r) {
		entry->cgroup_id = 0;
		return log_err(r,
			       "observe: cannot give slot %u to cgroup %llu, so it is not measured",
			       slot, (unsigned long long)group->cgroup_id);
	}
	publish_slots(observer);
	*ret_slot = slot;
	return 0;
}

/* The guard may still have to hold what is there; who publishes a policy removes the entry. */
static void release_slot(struct observer *observer, uint32_t slot)
{
	int fd = observer->map_fds[OBSERVE_MANAGED];
	__u64 cgroup_id = observer->slots[slot].cgroup_id;
	struct managed managed;

	if (!bpf_map_lookup_elem(fd, &cgroup_id, &managed)) {
		managed.slot = SLOT_NONE;
		if (bpf_map_update_elem(fd, &cgroup_id, &managed, BPF_EXIST))
			log_warn(-errno,
				 "observe: cannot take slot %u from cgroup %llu, which has ended",
				 slot, (unsigned long long)cgroup_id);
	}
	observer->slots[slot].cgroup_id = 0;
	observer->slots[slot].pod = 0;
	observer->pods[slot] = 0;
	observer->released[slot] = ++observer->nr_releases;
}

int observe_release(struct observer *observer, uint64_t cgroup_id)
{
	uint32_t slot;
	int r = observe_find(observer, cgroup_id, &slot);

	if (r)
		return r;
	release_slot(observer, slot);
	publish_slots(observer);
	return 0;
}

void observe_retain(struct observer *observer, const uint64_t *cgroup_ids, uint32_t nr)
{
	uint32_t nr_refused = 0;
	bool changed = false;

	for (uint32_t i = 0; i < observer->nr_refused; i++)
		if (is_among(observer->refused[i], cgroup_ids, nr))
			observer->refused[nr_refused++] = observer->refused[i];
	observer->nr_refused = nr_refused;
	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++) {
		uint64_t id = observer->slots[slot].cgroup_id;

		if (!id || is_among(id, cgroup_ids, nr))
			continue;
		release_slot(observer, slot);
		changed = true;
	}
	if (changed)
		publish_slots(observer);
}
