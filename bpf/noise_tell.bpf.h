/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the agent is told of strangers on exclusive CPUs. A part of noise.bpf.c. */
#ifndef NOISE_TELL_BPF_H
#define NOISE_TELL_BPF_H

#include <pinfold/noise.h>

/*
 * Strangers, for the agent. If the buffer is full, one is not told, which is counted, and the agent's
 * next walk over all tasks finds it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16384);
} noise_strangers SEC(".maps");

/* The agent wants to be told; it sets this at any time. */
bool tells_strangers;

/*
 * A CPU tells of one stranger in this time, or tries to, so that many switches do not wake the agent as
 * often.
 */
#define TELL_NS 10000000ULL

/* A thread that the kernel binds to this CPU belongs here; tasks of pods are kept off by cpusets. */
static __always_inline void tell_stranger(struct noise_cpu *here, struct task_struct *task,
					  __u32 source, __u64 now)
{
	struct noise_stranger *stranger;

	if ((source != NOISE_HOST_TASK && source != NOISE_KTHREAD) || !tells_strangers ||
	    (task->flags & PF_NO_SETAFFINITY) || now - here->told_ns < TELL_NS)
		return;
	here->told_ns = now;
	stranger = bpf_ringbuf_reserve(&noise_strangers, sizeof(*stranger), 0);
	if (!stranger) {
		here->untold++;
		return;
	}
	stranger->time_ns = now;
	stranger->start_ns = task->start_boottime;
	stranger->pid = task->pid;
	stranger->process = task->tgid;
	stranger->cpu = bpf_get_smp_processor_id();
	stranger->source = source;
	bpf_probe_read_kernel_str(stranger->comm, sizeof(stranger->comm), task->comm);
	bpf_ringbuf_submit(stranger, 0);
}

#endif
