/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What differs between processors: x86-64. BPF programs and user space include <arch.h>; the
 * build finds the one of its ARCH, so a processor without a folder here does not compile.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#define ARCH_NAME "x86-64"

/* The first kernel that attaches BPF programs to its functions: fentry, fexit, fmod_ret, lsm. */
#define ARCH_FUNCTION_HOOKS_SINCE "5.7"

#ifdef __bpf__
/*
 * The processor keeps stores in order among themselves, and loads among themselves, so only the
 * compiler needs telling.
 */

/* Adds 1 to a word that nobody else writes; stores before it and behind it keep that order. */
static __always_inline void arch_bump_ordered(__u32 *word)
{
	barrier();
	*(volatile __u32 *)word += 1;
	barrier();
}

/* Loads before it are done before those behind it. `word` is any that nobody else writes. */
static __always_inline void arch_order_loads(__u32 *word)
{
	barrier();
}

/* The number of write(2). */
#define ARCH_NR_WRITE 1
/* The number of process_madvise(2). */
#define ARCH_NR_PROCESS_MADVISE 440

/*
 * What a task hands over with its system call. `registers` are those of bpf_task_pt_regs(); the
 * libbpf headers come before this one.
 */
static __always_inline __u64 arch_call_number(void *registers)
{
	/* without the bit that marks a call of the x32 ABI */
	return BPF_CORE_READ((struct pt_regs___amd64 *)registers, orig_ax) & ~0x40000000ULL;
}

static __always_inline __u64 arch_call_argument_2(void *registers)
{
	return BPF_CORE_READ((struct pt_regs___amd64 *)registers, si);
}

static __always_inline __u64 arch_call_argument_3(void *registers)
{
	return BPF_CORE_READ((struct pt_regs___amd64 *)registers, dx);
}
#else
/*
 * For a loop that waits: the core gives its other thread more time, and an emulator that runs all
 * CPUs in one thread goes on to the next CPU.
 */
static inline void arch_relax(void)
{
	__asm__ volatile("pause");
}
#endif

#endif
