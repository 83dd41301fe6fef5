// SPDX-License-Identifier: Apache-2.0
/*
 * Runs the program of bpf/pressure.bpf.c, which reads the figures, and hands its rows to user/ctl.
 *
 * Rows and cells are memory that this process shares with the program. One pass at a time uses
 * them, on a thread of the pool (worker_begin).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
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
	/* Shared with the program. */
	struct pressure_row *rows;
	struct pressure_cell *cells;
	size_t rows_bytes, cells_bytes;
	char *root_dir;
	uint32_t max_cgroups, max_cells;
	struct worker_pool *pool;
	const struct pressure_sink *sink;
};

struct pressure_pass {
	struct worker_job job; /* first */
	struct pressure_reader *reader;
	uint32_t nr, nr_cells;
	struct pressure_cell *cells; /* behind the rows */
	struct pressure_row rows[];  /* by ascending id */
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
	memcpy(reader->cells, pass->cells, pass->nr_cells * sizeof(*pass->cells));
	reader->skeleton->bss->has_clock_offset = false;
	__atomic_store_n(&reader->skeleton->bss->nr_rows, pass->nr, __ATOMIC_RELEASE);
	/* The scheduler updates its clock on the way, which the program reads next. */
	if (pass->nr_cells)
		sched_yield();
	r = walk(reader);
	memcpy(pass->rows, reader->rows, pass->nr * sizeof(*pass->rows));
	memcpy(pass->cells, reader->cells, pass->nr_cells * sizeof(*pass->cells));
	return r;
}

static void pass_ended(struct worker_job *base, int result)
{
	const struct pressure_pass *pass = (struct pressure_pass *)base;
	struct pressure_reader *reader = pass->reader;

	if (reader->sink)
		reader->sink->sampled(reader->sink->self, result, pass->rows, result ? 0 : pass->nr,
				      pass->cells);
}

static int by_id(const void *left, const void *right)
{
	const struct pressure_row *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Of more cgroups than there is room for, the first ones are read. The others stay unknown, and the
 * controller says so, because it gets fewer rows than it asked for.
 */
static struct pressure_pass *make_pass(struct pressure_reader *reader,
				       const struct pressure_wanted *wanted)
{
	const uint32_t nr_rows = least(wanted->nr_rows, reader->max_cgroups);
	const uint32_t nr_cells = least(wanted->nr_cells, reader->max_cells);
	const size_t rows_bytes = nr_rows * sizeof(*wanted->rows);
	const size_t cells_bytes = nr_cells * sizeof(*wanted->cells);
	struct pressure_pass *pass = calloc(1, sizeof(*pass) + rows_bytes + cells_bytes);

	if (!pass)
		return NULL;
	pass->job = (struct worker_job){.run = run_pass, .completed = pass_ended};
	pass->reader = reader;
	pass->nr = nr_rows;
	pass->nr_cells = nr_cells;
	pass->cells = (struct pressure_cell *)&pass->rows[nr_rows];
	memcpy(pass->rows, wanted->rows, rows_bytes);
	if (cells_bytes)
		memcpy(pass->cells, wanted->cells, cells_bytes);
	for (uint32_t i = 0; i < nr_rows; i++)
		if (pass->rows[i].first_cell + pass->rows[i].nr_cells > nr_cells)
			pass->rows[i].nr_cells = 0;
	qsort(pass->rows, pass->nr, sizeof(*pass->rows), by_id);
	return pass;
}

static int sample(void *self, const struct pressure_wanted *wanted)
{
	struct pressure_reader *reader = self;
	struct pressure_pass *pass = make_pass(reader, wanted);

	return pass ? worker_begin(reader->pool, PRESSURE_KEY, &pass->job) : -ENOMEM;
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

static int map_memory(const struct bpf_map *map, size_t nr, size_t size, size_t *ret_bytes,
		      void **ret_memory)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = (nr * size + page - 1) & ~(page - 1);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return log_err(-errno, "pressure: cannot map '%s' into memory", bpf_map__name(map));
	*ret_bytes = bytes;
	*ret_memory = memory;
	return 0;
}

/* Without their offsets the cells of CPUs are unreadable, which the rows say. */
static void find_cpus(struct pressure_reader *reader)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	const int nr = libbpf_num_possible_cpus();
	int r = nr < 0 ? nr : 0;

	if (!r) {
		reader->skeleton->bss->nr_cpus = (uint32_t)nr;
		r = bpf_prog_test_run_opts(bpf_program__fd(reader->skeleton->progs.find_cpus),
					   &options);
	}
	if (r)
		log_warn(r, "pressure: find the memory of the CPUs; pressure per CPU is unknown");
}

static int load(struct pressure_reader *reader)
{
	struct bpf_map *rows, *cells;
	int r;

	reader->skeleton = pressure__open();
	if (!reader->skeleton)
		return log_err(-errno, "pressure: cannot open the BPF object");
	rows = reader->skeleton->maps.pressure_rows;
	cells = reader->skeleton->maps.pressure_cells;
	r = bpf_map__set_max_entries(rows, reader->max_cgroups);
	if (!r)
		r = bpf_map__set_max_entries(cells, reader->max_cells);
	if (!r)
		r = pressure__load(reader->skeleton);
	if (r)
		return log_err(r, "pressure: cannot load the BPF program");
	r = map_memory(rows, reader->max_cgroups, sizeof(*reader->rows), &reader->rows_bytes,
		       (void **)&reader->rows);
	if (!r)
		r = map_memory(cells, reader->max_cells, sizeof(*reader->cells),
			       &reader->cells_bytes, (void **)&reader->cells);
	if (!r)
		find_cpus(reader);
	return r;
}

/* No more than all cgroups can have on this machine. */
static uint32_t cells_for(uint32_t max_cgroups)
{
	const int nr = libbpf_num_possible_cpus();
	const uint64_t all = (uint64_t)max_cgroups * (uint64_t)(nr > 0 ? nr : 1);

	return all < PRESSURE_CELLS_MAX ? (uint32_t)all : PRESSURE_CELLS_MAX;
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
		return log_err(-ENOMEM, "pressure: cannot create the reader of pressure");
	reader->max_cgroups = bpf_object_nr_managed(&sizes);
	if (reader->max_cgroups > PRESSURE_ROWS_MAX)
		reader->max_cgroups = PRESSURE_ROWS_MAX;
	reader->max_cells = cells_for(reader->max_cgroups);
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
		munmap(reader->rows, reader->rows_bytes);
	if (reader->cells)
		munmap(reader->cells, reader->cells_bytes);
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
