/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says of a BPF program or map, by its descriptor: bpf(2), and procfs for the
 * memory, which no system call tells. Needs only the descriptor; knows nothing of who loaded it.
 */
#ifndef LIB_BPF_FD_H
#define LIB_BPF_FD_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_fd_prog {
	uint32_t id;
	char tag[17];		 /* digest of its instructions, in hexadecimal */
	int64_t age_ns;		 /* since it was loaded */
	int64_t run_ns, nr_runs; /* -1 = the kernel has not measured them */
	uint64_t recursion_misses;
	int64_t memory_bytes; /* -1 = unknown */
};

struct bpf_fd_map {
	uint32_t id;
	char name[16];	  /* as far as the kernel keeps it */
	const char *type; /* as bpftool names it; a constant, or NULL for an unknown one */
	uint32_t max_entries;
	/*
	 * Entries in use. -1: they cannot be counted, because all entries of an array exist from
	 * the start, and other kinds cannot be walked.
	 */
	int64_t nr_used;
	int64_t memory_bytes; /* -1 = unknown */
};

/* Is kernel.bpf_stats_enabled set? A process that measures by bpf(2) is not seen here. */
bool bpf_fd_is_timed(void);
/*
 * Let the kernel measure run times, of all programs on the machine, until the returned descriptor is
 * closed. -EPERM without CAP_SYS_ADMIN; -errno.
 */
int bpf_fd_time_programs(void);
/* `is_timed`: a program without runs has run 0 times; otherwise that is not known. -errno. */
int bpf_fd_read_prog(int fd, bool is_timed, struct bpf_fd_prog *ret_prog);
/* The maps that a program uses; ret_ids has room for `max`, and further ones are left out. -errno. */
int bpf_fd_maps_of(int prog_fd, uint32_t *ret_ids, uint32_t max, uint32_t *ret_nr);
/*
 * Costs a system call for each 64 KiB of a hash map's entries, or one for each entry where values are larger
 * than 1 KiB or per CPU. -errno.
 */
int bpf_fd_read_map(int fd, struct bpf_fd_map *ret_map);

#endif
