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

#include "bpf/observe_maps.h"
#include "lib/file.h"
#include "lib/log.h"
#include "observe.skel.h"

#define PIN_PATH_MAX 256
/*
 * Tasks of containers that share a record lose a little precision, so there are
 * some for each CPU, of 24 bytes each: 1.5 MiB on 256 CPUs.
 */
#define TASK_RECORDS_PER_CPU 256
#define TASK_RECORDS_LEAST   4096

static const char *const map_names[OBSERVE_NR_MAPS] = {
	[OBSERVE_COUNTERS] = "observe_counters", [OBSERVE_CPUS] = "observe_cpus",
	[OBSERVE_PLACES] = "observe_places",	 [OBSERVE_SLOTS] = "observe_slots",
	[OBSERVE_MASKS] = "observe_masks",	 [OBSERVE_CONTROL] = "observe_control",
	[OBSERVE_CGROUPS] = "observe_cgroups",
};

static const char *const link_names[OBSERVE_NR_PROGS] = {"observe_switch", "observe_migrate"};

/* --- pins --------------------------------------------------------------------------------------- */

static int pin_path(const char *pin_dir, const char *kind, const char *name,
		    char path[PIN_PATH_MAX])
{
	int len = snprintf(path, PIN_PATH_MAX, "%s/%s/%s", pin_dir, kind, name);

	return len < PIN_PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int make_pin_dirs(const char *pin_dir)
{
	static const char *const kinds[] = {"", "/maps", "/links"};
	char path[PIN_PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (snprintf(path, sizeof(path), "%s%s", pin_dir, kinds[i]) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		if (mkdir(path, 0700) && errno != EEXIST)
			return log_err(-errno, "observe: make directory '%s' for pins", path);
	}
	return 0;
}

int observe_unpin(const char *pin_dir)
{
	char path[PIN_PATH_MAX];
	int failed = 0;

	/* links first: what has no link counts no more */
	for (int i = 0; i < OBSERVE_NR_PROGS; i++) {
		int r = pin_path(pin_dir, "links", link_names[i], path);

		if (!r && unlink(path) && errno != ENOENT)
			r = -errno;
		failed = failed ? failed : r;
	}
	for (int i = 0; i < OBSERVE_NR_MAPS; i++) {
		int r = pin_path(pin_dir, "maps", map_names[i], path);

		if (!r && unlink(path) && errno != ENOENT)
			r = -errno;
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
static int pin_all(const struct observe *skeleton, const char *pin_dir)
{
	char path[PIN_PATH_MAX];
	int r = 0;

	for (int i = 0; !r && i < OBSERVE_NR_MAPS; i++) {
		r = pin_path(pin_dir, "maps", map_names[i], path);
		if (!r)
			r = bpf_obj_pin(bpf_map__fd(map_of(skeleton, i)), path) ? -errno : 0;
	}
	for (int i = 0; !r && i < OBSERVE_NR_PROGS; i++) {
		r = pin_path(pin_dir, "links", link_names[i], path);
		if (!r)
			r = bpf_obj_pin(bpf_link__fd(link_of(skeleton, i)), path) ? -errno : 0;
	}
	if (!r)
		return 0;
	observe_unpin(pin_dir);
	return log_err(r, "observe: pin '%s' (is a bpf file system mounted there?)", path);
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
			return log_err(r, "observe: map '%s' into memory", map_names[i]);
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

void observe_close(struct observer *observer)
{
	if (!observer)
		return;
	if (observer->shown && observer->control)
		for (uint32_t slot = 0; slot < observer->control->nr_slots; slot++)
			free(observer->shown[slot].run_ns);
	free(observer->shown);
	unmap_all(observer);
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
			return log_err(-errno, "observe: keep map '%s'", map_names[i]);
	}
	return map_all(observer);
}

static uint32_t prog_id_of_link(int link_fd)
{
	struct bpf_link_info info = {0};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(link_fd, &info, &len) ? 0 : info.prog_id;
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
	for (int i = 0; i < OBSERVE_NR_PROGS; i++)
		observer->prog_ids[i] =
			prog_id_of_link(bpf_link__fd(link_of(observer->skeleton, i)));
	if (!setup->pin_dir)
		return 0;
	r = make_pin_dirs(setup->pin_dir);
	return r ? r : pin_all(observer->skeleton, setup->pin_dir);
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

static int open_pins(struct observer *observer, const char *pin_dir)
{
	char path[PIN_PATH_MAX];

	for (int i = 0; i < OBSERVE_NR_PROGS; i++) {
		int fd cleanup_close = -1;
		int r = pin_path(pin_dir, "links", link_names[i], path);

		if (r)
			return r;
		fd = bpf_obj_get(path);
		if (fd < 0)
			return -errno;
		observer->prog_ids[i] = prog_id_of_link(fd);
	}
	for (int i = 0; i < OBSERVE_NR_MAPS; i++) {
		int r = pin_path(pin_dir, "maps", map_names[i], path);

		if (r)
			return r;
		observer->map_fds[i] = bpf_obj_get(path);
		if (observer->map_fds[i] < 0)
			return -errno;
	}
	return map_all(observer);
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

	r = open_pins(observer, setup->pin_dir);
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
