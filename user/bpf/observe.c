// SPDX-License-Identifier: Apache-2.0
/*
 * Loading the observer or adopting a pinned one, and giving slots to
 * containers. While the agent is down the pinned programs count on, for the
 * slots given so far.
 *
 * All that must survive the agent lies in the maps: which cgroup has which slot
 * is read from there, never remembered here.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/inherit.h"
#include "bpf/observe_maps.h"
#include "lib/file.h"
#include "lib/log.h"
#include "observe.skel.h"

/*
 * Tasks of containers that share a record lose a little precision, so there are
 * some for each CPU, of 24 bytes each: 1.5 MiB on 256 CPUs.
 */
#define TASK_RECORDS_PER_CPU 256
#define TASK_RECORDS_LEAST   4096

static const struct inherit_name map_names[OBSERVE_NR_MAPS] = {
	[OBSERVE_COUNTERS] = {"maps/observe_counters", "observe_counters"},
	[OBSERVE_CPUS] = {"maps/observe_cpus", "observe_cpus"},
	[OBSERVE_PLACES] = {"maps/observe_places", "observe_places"},
	[OBSERVE_SLOTS] = {"maps/observe_slots", "observe_slots"},
	[OBSERVE_MASKS] = {"maps/observe_masks", "observe_masks"},
	[OBSERVE_CONTROL] = {"maps/observe_control", "observe.bss"},
	[OBSERVE_CGROUPS] = {"maps/observe_cgroups", "observe_cgroups"},
};

static const struct inherit_name program_names[OBSERVE_NR_PROGS] = {
	{"links/observe_switch", "observe_switch"},
	{"links/observe_migrate", "observe_migrate"},
};

/* --- pins --------------------------------------------------------------------------------------- */

static int unpin(const char *pin_dir, const char *pin)
{
	char path[PIN_PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", pin_dir, pin) >= PIN_PATH_MAX)
		return -ENAMETOOLONG;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

int observe_unpin(const char *pin_dir)
{
	int failed = 0;

	/* links first: what has no link counts no more */
	for (int i = 0; i < OBSERVE_NR_PROGS; i++) {
		int r = unpin(pin_dir, program_names[i].pin);

		failed = failed ? failed : r;
	}
	for (int i = 0; i < OBSERVE_NR_MAPS; i++) {
		int r = unpin(pin_dir, map_names[i].pin);

		failed = failed ? failed : r;
	}
	return failed;
}

static struct bpf_map *map_of(const struct observe *skeleton, int map)
{
	struct bpf_map *const maps[OBSERVE_NR_MAPS] = {
		[OBSERVE_COUNTERS] = skeleton->maps.observe_counters,
		[OBSERVE_CPUS] = skeleton->maps.observe_cpus,
		[OBSERVE_PLACES] = skeleton->maps.observe_places,
		[OBSERVE_SLOTS] = skeleton->maps.observe_slots,
		[OBSERVE_MASKS] = skeleton->maps.observe_masks,
		[OBSERVE_CONTROL] = skeleton->maps.bss,
		[OBSERVE_CGROUPS] = skeleton->maps.observe_cgroups,
	};

	return maps[map];
}

static struct bpf_link *link_of(const struct observe *skeleton, int prog)
{
	return prog ? skeleton->links.observe_migrate : skeleton->links.observe_switch;
}

/* Links last: their presence says that everything before them is in place. */
static uint32_t list_pins(const struct observer *observer,
			  struct pin pins[OBSERVE_NR_MAPS + OBSERVE_NR_PROGS])
{
	uint32_t nr = 0;

	for (int i = 0; i < OBSERVE_NR_MAPS; i++, nr++) {
		memcpy(pins[nr].name, map_names[i].pin, sizeof(pins[nr].name));
		pins[nr].fd = observer->map_fds[i];
	}
	for (int i = 0; i < OBSERVE_NR_PROGS; i++, nr++) {
		memcpy(pins[nr].name, program_names[i].pin, sizeof(pins[nr].name));
		pins[nr].fd = observer->link_fds[i];
	}
	return nr;
}

static int pin_all(const struct observer *observer, const char *pin_dir)
{
	struct pin pins[OBSERVE_NR_MAPS + OBSERVE_NR_PROGS];
	uint32_t nr = list_pins(observer, pins);
	int r = pins_make_folders(pin_dir);

	if (r)
		return log_err(r, "observe: make the folders for pins in '%s'", pin_dir);
	for (uint32_t i = 0; i < nr; i++) {
		r = pin_put(pin_dir, pins[i].name, pins[i].fd);
		if (!r)
			continue;
		observe_unpin(pin_dir);
		return log_err(r, "observe: pin '%s/%s' (is a bpf file system mounted there?)",
			       pin_dir, pins[i].name);
	}
	return 0;
}

void observe_restore_pins(const struct observer *observer, const char *pin_dir,
			  struct pins_report *report)
{
	struct pin pins[OBSERVE_NR_MAPS + OBSERVE_NR_PROGS];
	uint32_t nr = list_pins(observer, pins);

	pins_restore(pin_dir, pins, nr, report);
}

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
	if (map == OBSERVE_CGROUPS)
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
		int r = map_memory(observer, i);

		if (r)
			return log_err(r, "observe: map '%s' into memory", map_names[i].name);
	}
	observer->counters = observer->memory[OBSERVE_COUNTERS];
	observer->cpus = observer->memory[OBSERVE_CPUS];
	observer->places = observer->memory[OBSERVE_PLACES];
	observer->slots = observer->memory[OBSERVE_SLOTS];
	observer->masks = observer->memory[OBSERVE_MASKS];
	observer->control = observer->memory[OBSERVE_CONTROL];
	return 0;
}

static void unmap_all(struct observer *observer)
{
	for (int i = 0; i < OBSERVE_NR_MAPS; i++) {
		if (observer->memory[i])
			munmap(observer->memory[i], observer->memory_bytes[i]);
		if (observer->map_fds[i] >= 0)
			close(observer->map_fds[i]);
		observer->memory[i] = NULL;
		observer->map_fds[i] = -1;
	}
}

static void close_links(struct observer *observer)
{
	for (int i = 0; i < OBSERVE_NR_PROGS; i++) {
		cleanup_close_fd(&observer->link_fds[i]);
		observer->link_fds[i] = -1;
	}
}

void observe_close(struct observer *observer)
{
	if (!observer)
		return;
	if (observer->shown && observer->control)
		for (uint32_t slot = 0; slot < observer->control->nr_slots; slot++)
			free(observer->shown[slot].run_ns);
	free(observer->shown);
	unmap_all(observer);
	close_links(observer);
	observe__destroy(observer->skeleton);
	free(observer);
}

/* --- load anew ------------------------------------------------------------------------------------ */

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

static void set_sizes(struct observe *skeleton, uint32_t nr_cpus, uint32_t nr_slots)
{
	uint32_t words = (nr_cpus + 63) / 64;
	uint32_t records = task_records(nr_cpus);

	skeleton->rodata->nr_cpus = nr_cpus;
	skeleton->rodata->mask_words = words;
	skeleton->rodata->task_mask = records - 1;
	bpf_map__set_max_entries(skeleton->maps.observe_counters, nr_cpus * nr_slots);
	bpf_map__set_max_entries(skeleton->maps.observe_cpus, nr_cpus);
	bpf_map__set_max_entries(skeleton->maps.observe_places, nr_cpus);
	bpf_map__set_max_entries(skeleton->maps.observe_slots, nr_slots);
	bpf_map__set_max_entries(skeleton->maps.observe_masks, words * nr_slots);
	bpf_map__set_max_entries(skeleton->maps.observe_cgroups, nr_slots);
	bpf_map__set_max_entries(skeleton->maps.observe_tasks, records);
}

static void write_places(struct observer *observer)
{
	const struct topology *topology = observer->topology;

	cpuset_for_each (cpu, &topology->all) {
		if (cpu >= observer->control->nr_cpus)
			break;
		observer->places[cpu].node = topology->node_of[cpu];
		observer->places[cpu].llc = topology->uncore_of[cpu];
	}
}

static int load_skeleton(struct observer *observer, uint32_t nr_cpus, uint32_t nr_slots)
{
	struct observe *skeleton = observe__open();

	if (!skeleton)
		return log_err(-errno, "observe: open the BPF object");
	observer->skeleton = skeleton;
	set_sizes(skeleton, nr_cpus, nr_slots);
	if (observe__load(skeleton))
		return log_err(
			-ENOTSUP,
			"observe: the kernel refuses the programs (errno %d); they need BTF, "
			"tp_btf and CONFIG_FAIR_GROUP_SCHED",
			errno);
	skeleton->bss->control = (struct observe_control){
		.version = ABI_VERSION,
		.nr_cpus = nr_cpus,
		.nr_slots = nr_slots,
		.mask_words = (nr_cpus + 63) / 64,
		.generation = 1, /* a CPU's empty lookups are of generation 0 */
	};
	for (int i = 0; i < OBSERVE_NR_MAPS; i++) {
		observer->map_fds[i] = fcntl(bpf_map__fd(map_of(skeleton, i)), F_DUPFD_CLOEXEC, 3);
		if (observer->map_fds[i] < 0)
			return log_err(-errno, "observe: keep map '%s'", map_names[i].name);
	}
	return map_all(observer);
}

static int keep_link(struct observer *observer, int program, int link_fd)
{
	struct bpf_link_info info = {0};
	__u32 len = sizeof(info);

	observer->link_fds[program] = fcntl(link_fd, F_DUPFD_CLOEXEC, 3);
	if (observer->link_fds[program] < 0 || bpf_obj_get_info_by_fd(link_fd, &info, &len))
		return -errno;
	observer->prog_ids[program] = info.prog_id;
	return 0;
}

static int load_anew(struct observer *observer, const struct observe_setup *setup)
{
	int r = load_skeleton(observer, possible_cpus(setup->topology), setup->max_containers + 1);

	if (r)
		return r;
	write_places(observer);
	if (observe__attach(observer->skeleton))
		return log_err(-ENOTSUP,
			       "observe: attach to the scheduler's tracepoints (errno %d)", errno);
	for (int i = 0; i < OBSERVE_NR_PROGS; i++) {
		r = keep_link(observer, i, bpf_link__fd(link_of(observer->skeleton, i)));
		if (r)
			return log_err(r, "observe: keep the link of '%s'", program_names[i].name);
	}
	return setup->pin_dir ? pin_all(observer, setup->pin_dir) : 0;
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

/* --- adopt ---------------------------------------------------------------------------------------- */

static int open_inherited(struct observer *observer, const char *pin_dir)
{
	const struct inherit_wanted wanted = {program_names, OBSERVE_NR_PROGS, map_names,
					      OBSERVE_NR_MAPS};
	struct inherited *inherited cleanup_inherited = NULL;
	int r = inherit_find(pin_dir, &wanted, &inherited);

	for (int i = 0; !r && i < OBSERVE_NR_PROGS; i++) {
		const struct inherited_link *link = inherited_link(inherited, program_names[i].pin);

		if (!link)
			return -ENOENT;
		r = inherited_link_fits(inherited, link) ? keep_link(observer, i, link->fd)
							 : -EXDEV;
	}
	for (int i = 0; !r && i < OBSERVE_NR_MAPS; i++)
		r = inherit_map_fd(inherited, pin_dir, &map_names[i], &observer->map_fds[i]);
	return r ? r : map_all(observer);
}

/*
 * A claim writes the slot before the cgroup, a release takes the cgroup first;
 * so whatever an agent died in, every slot in use may have its cgroup again.
 */
static void complete_claims(struct observer *observer)
{
	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++) {
		uint64_t id = observer->slots[slot].cgroup_id;

		if (id &&
		    bpf_map_update_elem(observer->map_fds[OBSERVE_CGROUPS], &id, &slot, BPF_ANY))
			log_warn(-errno, "observe: give slot %u to cgroup %llu again", slot,
				 (unsigned long long)id);
	}
	publish_slots(observer);
}

/*
 * 0 = adopted; -ENOENT = no pins, -EBADMSG = not as we want them, both: load anew;
 * -ESTALE = hands off.
 * Leaves the observer as it was unless it returns 0.
 */
static int adopt(struct observer *observer, const struct observe_setup *setup)
{
	const struct observe_control *control;
	int r;

	r = open_inherited(observer, setup->pin_dir);
	if (r)
		goto discard;
	control = observer->control;
	if (control->version > ABI_VERSION) {
		r = log_err(-ESTALE,
			    "observe: pins in '%s' have layout %u, newer than our %u; "
			    "use the newer agent, or remove them with 'pinfoldd --uninstall'",
			    setup->pin_dir, control->version, ABI_VERSION);
		goto discard;
	}
	if (control->version != ABI_VERSION || control->nr_slots != setup->max_containers + 1 ||
	    control->nr_cpus != possible_cpus(setup->topology)) {
		r = -EBADMSG;
		goto discard;
	}
	write_places(observer);
	complete_claims(observer);
	observer->adopted = true;
	return 0;
discard:
	unmap_all(observer);
	close_links(observer);
	return r == -ESTALE || r == -EBADMSG ? r : -ENOENT;
}

int observe_open(const struct observe_setup *setup, struct observer **ret_observer)
{
	struct observer *observer cleanup_observer = calloc(1, sizeof(*observer));
	int r = -ENOENT;

	if (!observer)
		return -ENOMEM;
	for (int i = 0; i < OBSERVE_NR_MAPS; i++)
		observer->map_fds[i] = -1;
	for (int i = 0; i < OBSERVE_NR_PROGS; i++)
		observer->link_fds[i] = -1;
	observer->topology = setup->topology;
	if (setup->pin_dir)
		r = adopt(observer, setup);
	if ((r == -ENOENT || r == -EBADMSG) && setup->adopt_only)
		return -EAGAIN;
	if (r == -EBADMSG)
		log_warn(0, "observe: pinned counters have other sizes or an older layout; "
			    "counting starts again");
	if (r == -ENOENT || r == -EBADMSG) {
		if (setup->pin_dir)
			observe_unpin(setup->pin_dir);
		r = load_anew(observer, setup);
	}
	if (r)
		return r;
	observer->shown = calloc(observer->control->nr_slots, sizeof(*observer->shown));
	if (!observer->shown)
		return -ENOMEM;
	*ret_observer = TAKE_PTR(observer);
	return 0;
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

/* The free slot that rested longest: a CPU may still add to a slot until its next switch. */
static uint32_t pick_free(const struct observer *observer)
{
	uint32_t best = 0;

	for (uint32_t slot = 1; slot < observer->control->nr_slots; slot++) {
		const struct observe_slot *candidate = &observer->slots[slot];

		if (!candidate->cgroup_id &&
		    (!best || candidate->claims < observer->slots[best].claims))
			best = slot;
	}
	return best;
}

/* Whether the mask is another than before. */
static bool write_mask(struct observer *observer, uint32_t slot, const struct cpuset *cpus)
{
	uint32_t words = observer->control->mask_words;
	uint64_t *mask = &observer->masks[(size_t)slot * words];
	bool changed = false;

	for (uint32_t i = 0; i < words; i++) {
		uint64_t word = i < cpus->nr_words ? cpus->words[i] : 0;

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

/* Once for a container, however often it is asked for. */
static void count_refused(struct observer *observer, uint64_t cgroup_id)
{
	if (is_among(cgroup_id, observer->refused, observer->nr_refused) ||
	    observer->nr_refused == OBSERVE_MAX_REFUSED)
		return;
	observer->refused[observer->nr_refused++] = cgroup_id;
	observer->control->exhausted++;
}

int observe_claim(struct observer *observer, const struct observe_group *group, uint32_t *ret_slot)
{
	struct observe_slot *entry;
	uint32_t slot;

	if (!group->cgroup_id || group->level == 0 || group->level >= MANAGED_LEVELS_MAX)
		return -EINVAL;
	if (!observe_find(observer, group->cgroup_id, &slot)) {
		if (write_mask(observer, slot, group->cpus))
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
	if (bpf_map_update_elem(observer->map_fds[OBSERVE_CGROUPS], &group->cgroup_id, &slot,
				BPF_ANY)) {
		entry->cgroup_id = 0;
		return log_err(-errno, "observe: give slot %u to cgroup %llu", slot,
			       (unsigned long long)group->cgroup_id);
	}
	publish_slots(observer);
	*ret_slot = slot;
	return 0;
}

static void release_slot(struct observer *observer, uint32_t slot)
{
	uint64_t cgroup_id = observer->slots[slot].cgroup_id;

	if (bpf_map_delete_elem(observer->map_fds[OBSERVE_CGROUPS], &cgroup_id) && errno != ENOENT)
		log_warn(-errno, "observe: take slot %u from cgroup %llu", slot,
			 (unsigned long long)cgroup_id);
	observer->slots[slot].cgroup_id = 0;
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

void observe_prog_ids(const struct observer *observer, uint32_t ret_ids[OBSERVE_NR_PROGS])
{
	memcpy(ret_ids, observer->prog_ids, sizeof(observer->prog_ids));
}
