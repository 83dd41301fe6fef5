// SPDX-License-Identifier: Apache-2.0
/*
 * How strangers are told (bpf/noise_tell.bpf.h), compiled for this machine: of those for which the ring
 * buffer has no room each is counted, on the CPU where it was seen.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/fake_bpf.h"

/* --- what the kernel gives to a program, as far as the header asks for it --------------------- */

#define PF_NO_SETAFFINITY 0x04000000

struct task_struct {
	uint32_t flags, pid, tgid;
	uint64_t start_boottime;
	char comm[16];
};

static void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags);
static void bpf_ringbuf_submit(void *data, uint64_t flags);
static uint32_t bpf_get_smp_processor_id(void);
static long bpf_probe_read_kernel_str(void *to, uint32_t size, const void *from);

#include "../../bpf/noise_tell.bpf.h"

static struct noise_stranger slot;
static uint32_t nr_told;
static bool is_full;

static void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags)
{
	return is_full ? NULL : &slot;
}

static void bpf_ringbuf_submit(void *data, uint64_t flags)
{
	nr_told++;
}

static uint32_t bpf_get_smp_processor_id(void)
{
	return 3;
}

static long bpf_probe_read_kernel_str(void *to, uint32_t size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

/* --- the tests ------------------------------------------------------------------------------- */

static struct task_struct task = {.pid = 12, .tgid = 11, .comm = "stranger"};
static struct noise_cpu here;

static int set_up(void **state)
{
	memset(&here, 0, sizeof(here));
	nr_told = 0;
	is_full = false;
	tells_strangers = true;
	task.flags = 0;
	return 0;
}

static void a_stranger_is_told(void **state)
{
	tell_stranger(&here, &task, NOISE_HOST_TASK, TELL_NS);
	assert_int_equal(nr_told, 1);
	assert_int_equal(slot.pid, 12);
	assert_int_equal(slot.cpu, 3);
	assert_int_equal(here.untold, 0);
}

static void one_without_room_is_counted(void **state)
{
	is_full = true;
	for (uint64_t i = 1; i <= 5; i++)
		tell_stranger(&here, &task, NOISE_HOST_TASK, i * TELL_NS);
	assert_int_equal(here.untold, 5);
	is_full = false;
	tell_stranger(&here, &task, NOISE_KTHREAD, 6 * TELL_NS);
	assert_int_equal(nr_told, 1);
	assert_int_equal(here.untold, 5);
}

/* Not once for each switch. */
static void a_cpu_counts_as_often_as_it_would_tell(void **state)
{
	is_full = true;
	for (uint64_t i = 0; i < 100; i++)
		tell_stranger(&here, &task, NOISE_HOST_TASK, TELL_NS + i);
	assert_int_equal(here.untold, 1);
}

static void who_is_not_told_is_not_lost(void **state)
{
	is_full = true;
	tell_stranger(&here, &task, NOISE_OTHER_POD, TELL_NS);
	task.flags = PF_NO_SETAFFINITY;
	tell_stranger(&here, &task, NOISE_KTHREAD, TELL_NS);
	task.flags = 0;
	tells_strangers = false;
	tell_stranger(&here, &task, NOISE_HOST_TASK, TELL_NS);
	assert_int_equal(here.untold, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_stranger_is_told, set_up),
		cmocka_unit_test_setup(one_without_room_is_counted, set_up),
		cmocka_unit_test_setup(a_cpu_counts_as_often_as_it_would_tell, set_up),
		cmocka_unit_test_setup(who_is_not_told_is_not_lost, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
