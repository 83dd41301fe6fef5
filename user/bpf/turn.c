// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <pinfold/abi.h>

#include "bpf/turn.h"
#include "carry.skel.h"
#include "lib/cleanup.h"

DEFINE_CLEANUP(struct carry, carry_closep, carry__destroy);
#define cleanup_carry cleanup(carry_closep)

static int read_info(int fd, struct bpf_map_info *ret_info)
{
	__u32 len = sizeof(*ret_info);

	*ret_info = (struct bpf_map_info){0};
	return bpf_obj_get_info_by_fd(fd, ret_info, &len) ? -errno : 0;
}

/* The last entry, behind those of the CPUs, is the number that was given out last. */
static int find_last(int turns_fd, uint32_t *ret_key)
{
	struct bpf_map_info info;
	int r = read_info(turns_fd, &info);

	if (!r)
		*ret_key = info.max_entries - 1;
	return r;
}

int turn_next(int turns_fd, uint32_t *ret_turn)
{
	uint32_t key, last;
	int r = find_last(turns_fd, &key);

	if (r)
		return r;
	if (bpf_map_lookup_elem(turns_fd, &key, &last))
		return -errno;
	*ret_turn = last + 1;
	return 0;
}

int turn_take(int turns_fd, uint32_t turn)
{
	uint32_t key;
	int r = find_last(turns_fd, &key);

	if (r)
		return r;
	return bpf_map_update_elem(turns_fd, &key, &turn, BPF_ANY) ? -errno : 0;
}

static int use_counters(struct carry *skeleton, const struct turn_change *change)
{
	struct bpf_map_info before, now;
	uint32_t entries;
	int r;

	if (change->before_fd < 0 || change->now_fd < 0)
		return 0;
	r = read_info(change->before_fd, &before);
	if (!r)
		r = read_info(change->now_fd, &now);
	if (r || before.id == now.id)
		return r;
	/* another layout of a counter: the version that brings it brings its translation, too */
	skeleton->rodata->is_before_v3 = before.value_size == sizeof(struct observe_counter_v2);
	skeleton->rodata->is_before_v4 = before.value_size == OBSERVE_COUNTER_V3_SIZE;
	skeleton->rodata->is_before_v5 = before.value_size == sizeof(struct observe_counter_v4) ||
					 skeleton->rodata->is_before_v4;
	if (now.value_size != sizeof(struct observe_counter) ||
	    (before.value_size != now.value_size && !skeleton->rodata->is_before_v3 &&
	     !skeleton->rodata->is_before_v5))
		return 0;
	entries = before.max_entries < now.max_entries ? before.max_entries : now.max_entries;
	skeleton->rodata->nr_slots = entries / change->nr_cpus;
	r = bpf_map__reuse_fd(skeleton->maps.before, change->before_fd);
	return r ? r : bpf_map__reuse_fd(skeleton->maps.now, change->now_fd);
}

static int begin_on(int program_fd, uint32_t cpu)
{
	__u64 arguments[] = {cpu};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
		    .ctx_size_in = sizeof(arguments), .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

	if (!bpf_prog_test_run_opts(program_fd, &options))
		return 0;
	if (errno != ENXIO)
		return -errno;
	/* an offline CPU counts nothing, so anybody may do it in its place */
	options.flags = 0;
	options.cpu = 0;
	return bpf_prog_test_run_opts(program_fd, &options) ? -errno : 0;
}

int turn_begin(const struct turn_change *change)
{
	struct carry *skeleton cleanup_carry = carry__open();
	int r;

	if (!skeleton)
		return -errno;
	skeleton->rodata->turn = change->turn;
	skeleton->rodata->nr_cpus = change->nr_cpus;
	r = bpf_map__reuse_fd(skeleton->maps.turns, change->turns_fd);
	if (!r)
		r = use_counters(skeleton, change);
	if (!r)
		r = carry__load(skeleton);
	for (uint32_t cpu = 0; !r && cpu < change->nr_cpus; cpu++)
		r = begin_on(bpf_program__fd(skeleton->progs.begin_turn), cpu);
	return r;
}
