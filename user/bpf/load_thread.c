// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <malloc.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bpf/load_thread.h"
#include "lib/log.h"

static void *load_rest(void *self)
{
	struct load_thread *load = self;
	const uint64_t one = 1;

	load->result = bpf_loader_start_rest(&load->loader, &load->objects);
	if (write(load->done_fd, &one, sizeof(one)) != sizeof(one))
		log_warn(-errno, "bpf: cannot report that the BPF objects are loaded");
	return NULL;
}

int load_thread_begin(struct load_thread *load, const struct bpf_loader *loader,
		      struct bpf_objects *objects)
{
	int r;

	load->loader = *loader;
	load->objects = *objects;
	load->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (load->done_fd < 0)
		return log_err(
			-errno,
			"bpf: cannot create an eventfd for the thread that loads BPF objects");
	r = pthread_create(&load->thread, NULL, load_rest, load);
	load->running = !r;
	if (!r)
		return 0;
	log_warn(-r, "bpf: cannot create a thread, so the start waits for all BPF objects");
	return bpf_loader_start_rest(&load->loader, objects);
}

static void take_objects(struct load_thread *load, struct bpf_objects *objects)
{
	load->running = false;
	bpf_objects_merge(objects, &load->objects);
	/* the kernel's types, some MiB, were allocated in an arena of this thread */
	malloc_trim(0);
}

bool load_thread_end(struct load_thread *load, struct bpf_objects *objects)
{
	uint64_t told;

	if (!load->running || read(load->done_fd, &told, sizeof(told)) < 0)
		return false;
	pthread_detach(load->thread);
	take_objects(load, objects);
	return true;
}

void load_thread_join(struct load_thread *load, struct bpf_objects *objects)
{
	if (!load->running)
		return;
	pthread_join(load->thread, NULL);
	take_objects(load, objects);
}
