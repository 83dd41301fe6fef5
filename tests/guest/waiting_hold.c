// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/*
 * Holds a directory's lock for as long as its standard input is open: whoever makes or
 * removes something in it waits in the kernel meanwhile, and cannot be called back.
 *
 * getdents64 copies names to user memory with the lock held (iterate_dir, kernels 6.1
 * to 7.2). Here that memory is a page that userfaultfd does not give before it is told
 * to. Prints "held" once the kernel waits for it.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

struct listing {
	int dir_fd;
	void *page;
};

static void *list(void *data)
{
	const struct listing *listing = data;

	if (syscall(SYS_getdents64, listing->dir_fd, listing->page, sysconf(_SC_PAGESIZE)) < 0)
		die("getdents64");
	return NULL;
}

int main(int argc, char **argv)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_zeropage zero = {0};
	struct listing listing;
	struct uffd_msg message;
	pthread_t thread;
	char byte;

	if (argc != 2) {
		fprintf(stderr, "usage: waiting_hold DIRECTORY\n");
		return 2;
	}
	listing.dir_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || listing.dir_fd < 0)
		die(fd < 0 ? "userfaultfd" : argv[1]);
	listing.page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (unsigned long)listing.page;
	range.range.len = size;
	if (listing.page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		die("userfaultfd range");
	if (pthread_create(&thread, NULL, list, &listing))
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
