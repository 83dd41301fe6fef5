/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The noise on exclusive CPUs as a test says it is: the same entries on each CPU that is
 * watched.
 */
#ifndef TESTS_FAKE_NOISE_H
#define TESTS_FAKE_NOISE_H

#include <errno.h>
#include <string.h>

#include "ctl/ports.h"
#include "format/bpf_inventory.h"

#define FAKE_NOISE_CPUS 16

static struct {
	enum noise_state state;
	bool lacks[NOISE_SOURCE_NR]; /* what this kernel cannot count */
	struct noise_entry entries[NOISE_ENTRIES];
	uint32_t nr_entries;
	/* What was watched last, and how often that was said. */
	struct noise_grant grants[FAKE_NOISE_CPUS];
	uint32_t nr;
	unsigned int nr_calls;
	bool tells_strangers;
	int unread; /* CPU that is not counted; -1 = none */
	/* Of a CPU that got its owner with the last call nothing is counted yet. */
	bool begins_anew;
	bool is_new[FAKE_NOISE_CPUS]; /* by grant */
} fake_noise;

static inline void fake_noise_reset(void)
{
	memset(&fake_noise, 0, sizeof(fake_noise));
	fake_noise.state = NOISE_COUNTING;
	fake_noise.unread = -1;
}

static inline struct noise_entry *fake_noise_add(enum noise_source source, const char *name,
						 uint64_t count, uint64_t total_ns)
{
	struct noise_entry *entry = &fake_noise.entries[fake_noise.nr_entries++];

	*entry = (struct noise_entry){
		.source = source, .count = count, .total_ns = total_ns, .longest_ns = total_ns / 2};
	memcpy(entry->name, name, strlen(name));
	return entry;
}

static inline bool fake_noise_has(const struct noise_grant *grant)
{
	for (uint32_t i = 0; i < fake_noise.nr; i++)
		if (fake_noise.grants[i].cpu == grant->cpu &&
		    fake_noise.grants[i].owner.cgroup_id == grant->owner.cgroup_id)
			return true;
	return false;
}

static inline int fake_noise_watch(void *self, const struct noise_grant *grants, uint32_t nr)
{
	if (nr > FAKE_NOISE_CPUS)
		return -ERANGE;
	for (uint32_t i = 0; i < nr; i++)
		fake_noise.is_new[i] = fake_noise.begins_anew && !fake_noise_has(&grants[i]);
	memcpy(fake_noise.grants, grants, nr * sizeof(*grants));
	fake_noise.nr = nr;
	fake_noise.nr_calls++;
	return 0;
}

static inline enum noise_state fake_noise_state(void *self)
{
	return fake_noise.state;
}

static inline bool fake_noise_counts(void *self, enum noise_source source)
{
	return !fake_noise.lacks[source];
}

static inline int fake_noise_read(void *self, uint32_t cpu, uint64_t cgroup_id,
				  struct noise_entry *ret_entries, uint32_t *ret_nr)
{
	for (uint32_t i = 0; i < fake_noise.nr; i++) {
		if (fake_noise.grants[i].cpu != cpu || (int)cpu == fake_noise.unread ||
		    fake_noise.grants[i].owner.cgroup_id != cgroup_id ||
		    fake_noise.state != NOISE_COUNTING)
			continue;
		*ret_nr = fake_noise.is_new[i] ? 0 : fake_noise.nr_entries;
		memcpy(ret_entries, fake_noise.entries, *ret_nr * sizeof(*ret_entries));
		return 0;
	}
	return -ENODATA;
}

static inline void fake_noise_tell_strangers(void *self, bool wanted)
{
	fake_noise.tells_strangers = wanted;
}

/* One program while it counts; whether that is timed, the kernel's port has said before. */
static inline uint64_t fake_noise_untold(void *self)
{
	return 11;
}

static inline void fake_noise_list(void *self, struct bpf_inventory *inventory)
{
	struct prog_row *row = bpf_inventory_add_prog(inventory);

	*row = (struct prog_row){.object = "noise", .run_time_ns = -1, .run_count = -1};
	if (fake_noise.state == NOISE_COUNTING) {
		strcpy(row->name, "noise_switch");
		row->attached = true;
		row->run_count = inventory->is_timed ? 0 : -1;
	} else {
		strcpy(row->reason, "no CPU is exclusive");
	}
}

static const struct noise_port fake_noise_port = {
	.watch = fake_noise_watch,
	.state = fake_noise_state,
	.counts = fake_noise_counts,
	.read = fake_noise_read,
	.tell_strangers = fake_noise_tell_strangers,
	.untold = fake_noise_untold,
	.list = fake_noise_list,
};

#endif
