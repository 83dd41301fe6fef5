// SPDX-License-Identifier: Apache-2.0
/*
 * hold_memory [-h] NODE MIB [NODE MIB]...: has this much anonymous memory on each of these NUMA nodes
 * until it is killed, with -h in huge pages of hugetlbfs. Prints "held" when all of it is there.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* khugepaged would gather pages of both mappings on one node, if they were one and had huge pages. */
static void hold(unsigned int node, size_t mib, int flags)
{
	const unsigned long mask = 1UL << node;
	const size_t len = mib << 20;
	char *memory;

	memory =
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	if (!flags && madvise(memory, len, MADV_NOHUGEPAGE) && errno != EINVAL)
		die("madvise");
	if (syscall(SYS_mbind, memory, len, MPOL_BIND, &mask, 8 * sizeof(mask), 0))
		die("mbind");
	memset(memory, 1, len);
}

int main(int argc, char **argv)
{
	int first = argc > 1 && !strcmp(argv[1], "-h") ? 2 : 1;

	if (argc < first + 2 || (argc - first) % 2) {
		fprintf(stderr, "usage: hold_memory [-h] NODE MIB [NODE MIB]...\n");
		return 2;
	}
	for (int i = first; i < argc; i += 2)
		hold((unsigned int)atoi(argv[i]), (size_t)atoi(argv[i + 1]),
		     first > 1 ? MAP_HUGETLB : 0);
	puts("held");
	fflush(stdout);
	for (;;)
		pause();
}
