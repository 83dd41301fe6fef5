/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's headers and libbpf define for a BPF program, for a test that compiles a header
 * of bpf/ as plain C. Include before that header; the test defines the helpers that it calls.
 */
#ifndef FAKE_BPF_H
#define FAKE_BPF_H

#undef __always_inline
#define __always_inline	    inline __attribute__((unused))
#define __noinline	    static __attribute__((unused))
#define SEC(name)	    __attribute__((unused))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name

#define BPF_MAP_TYPE_HASH	       1
#define BPF_MAP_TYPE_ARRAY	       2
#define BPF_MAP_TYPE_PERCPU_ARRAY      6
#define BPF_MAP_TYPE_LRU_HASH	       9
#define BPF_MAP_TYPE_RINGBUF	       27
#define BPF_MAP_TYPE_TASK_STORAGE      29
#define BPF_F_NO_PREALLOC	       1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_ANY			       0
#define BPF_NOEXIST		       1

#endif
