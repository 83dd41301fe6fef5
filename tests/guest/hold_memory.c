// SPDX-License-Identifier: Apache-2.0
/*
 * hold_memory NODE MIB [NODE MIB]...: has this much anonymous memory on each of these NUMA nodes until
 * it is killed. Prints "held" when all of it is there.
 */
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

static void hold(unsigned int node, size_t mib)
{
	const unsigned long mask = 1UL << node;
	char *memory;

	if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 8 * sizeof(mask)))
		die("set_mempolicy");
	memory = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	memset(memory, 1, mib << 20);
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc % 2 == 0) {
		fprintf(stderr, "usage: hold_memory NODE MIB [NODE MIB]...\n");
		return 2;
	}
	for (int i = 1; i < argc; i += 2)
		hold((unsigned int)atoi(argv[i]), (size_t)atoi(argv[i + 1]));
	puts("held");
	fflush(stdout);
	for (;;)
		pause();
}
