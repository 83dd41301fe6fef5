/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What differs between processors: arm64. BPF programs and user space include <arch.h>; the
 * build finds the one of its ARCH, so a processor without a folder here does not compile.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#define ARCH_NAME "arm64"

/*
 * The first kernel that attaches BPF programs to its functions: fentry, fexit, fmod_ret, lsm.
 * The trampolines came with 6.0, but ftrace could not call one directly before 6.4; until then
 * the kernel answers 524 (its internal ENOTSUPP). Typed tracepoints need no trampoline.
 */
#define ARCH_FUNCTION_HOOKS_SINCE "6.4"

#ifdef __bpf__
/*
 * The processor reorders stores and loads. BPF has no fence, and its first loads and stores with
 * an order came with 6.15, so an atomic addition whose result is used orders instead: the
 * kernel's compiler makes it a full barrier (ldaddal, or a loop with dmb). One whose result is
 * not used becomes a plain stadd, which orders nothing, hence barrier_var().
 */

/* Adds 1 to a word that nobody else writes; stores before it and behind it keep that order. */
static __always_inline void arch_bump_ordered(__u32 *word)
{
	__u32 before = __sync_fetch_and_add(word, 1);

	barrier_var(before);
}

/* Loads before it are done before those behind it. `word` is any that nobody else writes. */
static __always_inline void arch_order_loads(__u32 *word)
{
	__u32 before = __sync_fetch_and_add(word, 0);

	barrier_var(before);
}

/* The number of write(2). */
#define ARCH_NR_WRITE 64
/* The number of process_madvise(2). */
#define ARCH_NR_PROCESS_MADVISE 440

/*
 * What a task hands over with its system call. `registers` are those of bpf_task_pt_regs(); the
 * libbpf headers come before this one.
 */
static __always_inline __u64 arch_call_number(void *registers)
{
	return BPF_CORE_READ((struct pt_regs___arm64 *)registers, regs[8]);
}

static __always_inline __u64 arch_call_argument_2(void *registers)
{
	return BPF_CORE_READ((struct pt_regs___arm64 *)registers, regs[1]);
}

static __always_inline __u64 arch_call_argument_3(void *registers)
{
	return BPF_CORE_READ((struct pt_regs___arm64 *)registers, regs[2]);
}
#else
/*
 * For a loop that waits: the core gives its other thread more time, and an emulator that runs all
 * CPUs in one thread goes on to the next CPU.
 */
static inline void arch_relax(void)
{
	__asm__ volatile("yield");
}
#endif

#endif
