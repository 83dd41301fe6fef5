// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * verified MAX : how many instructions the kernel's verifier went through to accept each program, the most
 * expensive ones on standard output. It gives up at a million, and a start of the agent waits for it.
 * Fails if a program needed more than MAX, or if there is no program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "lib/cleanup.h"
#include "lib/file.h"

/* Returns 1 if the program needed more than `max`, 0 if not, or a negative errno. */
static int check_program(__u32 id, unsigned long max, unsigned long *total)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	int prog_fd cleanup_close = bpf_prog_get_fd_by_id(id);

	if (prog_fd < 0 || bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -errno;
	*total += info.verified_insns;
	if (info.verified_insns > max / 4)
		printf("%s: %u instructions\n", info.name, info.verified_insns);
	return info.verified_insns > max;
}

int main(int argc, char **argv)
{
	unsigned long max = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, total = 0;
	int nr_above = 0;
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		int status = check_program(id, max, &total);

		/* it may be gone since it was listed */
		if (status < 0 && status != -ENOENT)
			fprintf(stderr, "program %u cannot be read: errno %d\n", id, -status);
		nr_above += status > 0 || (status < 0 && status != -ENOENT);
	}
	printf("all programs: %lu instructions\n", total);
	return nr_above || !total;
}
