// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/*
 * Holds a lock of the kernel for as long as its standard input is open: whoever needs it
 * waits in the kernel meanwhile, and cannot be called back.
 *
 *   waiting_hold DIRECTORY           the directory's: nothing is made or removed in it
 *   waiting_hold --cgroups CGROUP    cgroup_mutex: no cgroup is made or removed, and no
 *                                    process moved, on the whole machine
 *
 * The kernel copies something to user memory with the lock held: getdents64 the names
 * (iterate_dir), BPF_PROG_QUERY the programs of a cgroup (cgroup_bpf_query), both from 6.1
 * to 7.2. Here that memory is a page that userfaultfd does not give before it is told to.
 * Prints "held" once the kernel waits for it.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

struct holding {
	int dir_fd;
	void *page;
};

static void *list(void *data)
{
	const struct holding *holding = data;

	if (syscall(SYS_getdents64, holding->dir_fd, holding->page, sysconf(_SC_PAGESIZE)) < 0)
		die("getdents64");
	return NULL;
}

static int bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
	return (int)syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

/* There must be one to copy: it lets all packets pass. */
static void attach_program(int dir_fd)
{
	const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SKB,
		.insns = (uintptr_t)pass,
		.insn_cnt = sizeof(pass) / sizeof(*pass),
		.license = (uintptr_t) "GPL",
		.expected_attach_type = BPF_CGROUP_INET_EGRESS,
	};
	union bpf_attr attach = {
		.target_fd = (__u32)dir_fd,
		.attach_type = BPF_CGROUP_INET_EGRESS,
	};
	int fd = bpf(BPF_PROG_LOAD, &load);

	if (fd < 0)
		die("BPF_PROG_LOAD");
	attach.attach_bpf_fd = (__u32)fd;
	if (bpf(BPF_PROG_ATTACH, &attach))
		die("BPF_PROG_ATTACH");
	close(fd);
}

static void *query(void *data)
{
	const struct holding *holding = data;
	union bpf_attr attributes = {.query = {
					     .target_fd = (__u32)holding->dir_fd,
					     .attach_type = BPF_CGROUP_INET_EGRESS,
					     .prog_ids = (uintptr_t)holding->page,
					     .prog_cnt = 1,
				     }};

	if (bpf(BPF_PROG_QUERY, &attributes))
		die("BPF_PROG_QUERY");
	return NULL;
}

int main(int argc, char **argv)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_zeropage zero = {0};
	bool cgroups = argc == 3 && !strcmp(argv[1], "--cgroups");
	struct holding holding;
	struct uffd_msg message;
	pthread_t thread;
	char byte;

	if (argc != 2 && !cgroups) {
		fprintf(stderr, "usage: waiting_hold [--cgroups] DIRECTORY\n");
		return 2;
	}
	holding.dir_fd = open(argv[argc - 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || holding.dir_fd < 0)
		die(fd < 0 ? "userfaultfd" : argv[argc - 1]);
	if (cgroups)
		attach_program(holding.dir_fd);
	holding.page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (unsigned long)holding.page;
	range.range.len = size;
	if (holding.page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		die("userfaultfd range");
	if (pthread_create(&thread, NULL, cgroups ? query : list, &holding))
		die("thread");
	/* One message: the kernel has touched the page and waits. */
	if (read(fd, &message, sizeof(message)) != sizeof(message))
		die("read of userfaultfd");
	printf("held\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	zero.range = range.range;
	if (ioctl(fd, UFFDIO_ZEROPAGE, &zero))
		die("zero page");
	pthread_join(thread, NULL);
	return 0;
}
