// SPDX-License-Identifier: Apache-2.0
/*
 * Runs the program of bpf/pressure.bpf.c, which reads the figures, and hands its rows to user/ctl.
 *
 * The rows are memory that this process shares with the program. One pass at a time uses
 * them, on a thread of the pool (worker_begin).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/bpf_object.h"
#include "bpf/inventory.h"
#include "bpf/pressure.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"
#include "pressure.skel.h"

/* Paths of groups, which are the keys of other jobs, do not begin with a slash. */
#define PRESSURE_KEY "/pressure"

struct pressure_reader {
	struct pressure *skeleton;
	struct pressure_row *rows; /* shared with the program */
	size_t memory_bytes;
	char *root_dir;
	uint32_t max_cgroups;
	struct worker_pool *pool;
	const struct pressure_sink *sink;
};

struct pressure_pass {
	struct worker_job job; /* first */
	struct pressure_reader *reader;
	uint32_t nr;
	struct pressure_row rows[]; /* input: the ids, ascending */
};

/* --- a pass -------------------------------------------------------------------------------------- */

/* The link is made anew each time: it would keep the root of an earlier life. */
static int open_iterator(const struct pressure_reader *reader)
{
	int root_fd cleanup_close = open(reader->root_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int link_fd cleanup_close = -1;
	union bpf_iter_link_info info = {0};
	LIBBPF_OPTS(bpf_link_create_opts, options, .iter_info = &info,
		    .iter_info_len = sizeof(info));
	int fd;

	if (root_fd < 0)
		return -errno;
	info.cgroup.order = BPF_CGROUP_ITER_DESCENDANTS_PRE;
	info.cgroup.cgroup_fd = (__u32)root_fd;
	link_fd = bpf_link_create(bpf_program__fd(reader->skeleton->progs.read_pressure), 0,
				  BPF_TRACE_ITER, &options);
	if (link_fd < 0)
		return link_fd;
	fd = bpf_iter_create(link_fd);
	return fd < 0 ? -errno : fd;
}

static int walk(const struct pressure_reader *reader)
{
	int fd cleanup_close = open_iterator(reader);
	char nothing[64];
	ssize_t len;

	if (fd < 0)
		return fd;
	do
		len = read(fd, nothing, sizeof(nothing));
	while (len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR)));
	return len < 0 ? -errno : 0;
}

static int run_pass(struct worker_job *base)
{
	struct pressure_pass *pass = (struct pressure_pass *)base;
	struct pressure_reader *reader = pass->reader;
	int r;

	memcpy(reader->rows, pass->rows, pass->nr * sizeof(*pass->rows));
	__atomic_store_n(&reader->skeleton->bss->nr_rows, pass->nr, __ATOMIC_RELEASE);
	r = walk(reader);
	memcpy(pass->rows, reader->rows, pass->nr * sizeof(*pass->rows));
	return r;
}

static void pass_ended(struct worker_job *base, int result)
{
	const struct pressure_pass *pass = (struct pressure_pass *)base;
	struct pressure_reader *reader = pass->reader;

	if (reader->sink)
		reader->sink->sampled(reader->sink->self, result, pass->rows,
				      result ? 0 : pass->nr);
}

static void release(struct worker_job *job)
{
	free(job);
}

static int by_id(const void *left, const void *right)
{
	const struct pressure_row *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

static int sample(void *self, const uint64_t *cgroup_ids, uint32_t nr)
{
	struct pressure_reader *reader = self;
	struct pressure_pass *pass;

	if (nr > reader->max_cgroups)
		return -E2BIG;
	pass = calloc(1, sizeof(*pass) + nr * sizeof(*pass->rows));
	if (!pass)
		return -ENOMEM;
	pass->job =
		(struct worker_job){.run = run_pass, .completed = pass_ended, .release = release};
	pass->reader = reader;
	pass->nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		pass->rows[i].cgroup_id = cgroup_ids[i];
	qsort(pass->rows, nr, sizeof(*pass->rows), by_id);
	return worker_begin(reader->pool, PRESSURE_KEY, &pass->job);
}

static void waits_in(void *self, char *ret_text, size_t size)
{
	const struct pressure_reader *reader = self;

	worker_where(reader->pool, PRESSURE_KEY, ret_text, size);
}

static void list(void *self, struct bpf_inventory *inventory)
{
	const struct pressure_reader *reader = self;

	inventory_add_object(inventory, "pressure", reader->skeleton->obj,
			     "it runs only while the agent reads pressure, every 2 seconds");
}

/* --- life ---------------------------------------------------------------------------------------- */

static int load(struct pressure_reader *reader)
{
	long page = sysconf(_SC_PAGESIZE);
	struct bpf_map *map;
	void *memory;
	int r;

	reader->skeleton = pressure__open();
	if (!reader->skeleton)
		return log_err(-errno, "pressure: open the BPF object");
	map = reader->skeleton->maps.pressure_rows;
	r = bpf_map__set_max_entries(map, reader->max_cgroups);
	if (!r)
		r = pressure__load(reader->skeleton);
	if (r)
		return log_err(r, "pressure: load the BPF program");
	reader->memory_bytes = reader->max_cgroups * sizeof(*reader->rows);
	reader->memory_bytes = (reader->memory_bytes + (size_t)page - 1) & ~((size_t)page - 1);
	memory = mmap(NULL, reader->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(map), 0);
	if (memory == MAP_FAILED)
		return log_err(-errno, "pressure: map 'pressure_rows' into memory");
	reader->rows = memory;
	return 0;
}

int pressure_reader_open(const struct pressure_options *options,
			 struct pressure_reader **ret_reader)
{
	const struct bpf_object_sizes sizes = {.nr_slots = options->max_containers + 1};
	struct pressure_reader *reader cleanup_pressure_reader = NULL;
	int r;

	reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->root_dir = strdup(options->root_dir);
	if (!reader || !reader->root_dir)
		return log_err(-ENOMEM, "pressure");
	reader->max_cgroups = bpf_object_nr_managed(&sizes);
	if (reader->max_cgroups > PRESSURE_ROWS_MAX)
		reader->max_cgroups = PRESSURE_ROWS_MAX;
	reader->pool = options->pool;
	r = load(reader);
	if (r)
		return r;
	*ret_reader = TAKE_PTR(reader);
	return 0;
}

void pressure_reader_close(struct pressure_reader *reader)
{
	if (!reader)
		return;
	if (reader->rows)
		munmap(reader->rows, reader->memory_bytes);
	pressure__destroy(reader->skeleton);
	free(reader->root_dir);
	free(reader);
}

void pressure_reader_listen(struct pressure_reader *reader, const struct pressure_sink *sink)
{
	reader->sink = sink;
}

struct pressure_port pressure_reader_port(struct pressure_reader *reader)
{
	return (struct pressure_port){
		.self = reader, .sample = sample, .list = list, .waits_in = waits_in};
}
