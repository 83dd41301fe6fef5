// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the file makes the kernel sum up the counters of all CPUs, for which it may have to wait,
 * so a pass runs on a thread of the pool.
 */
#include "cgroup/numa_stat.h"

#include <errno.h>
#include <string.h>

#include "cgroup/manager.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

/* Paths of groups, which are the keys of other jobs, do not begin with a slash. */
#define RESIDENT_KEY "/resident"

struct numa_stat {
	const struct groups *groups;
	const struct topology *topology;
	struct worker_pool *pool;
	const struct resident_sink *sink;
};

struct sample_job {
	struct worker_job job; /* first */
	struct numa_stat *stat;
	struct resident_report report;
};

/* Is this size one of those of an earlier node? Then its file has been read. */
static bool is_read(const struct topology *topology, uint32_t node, uint64_t page_bytes)
{
	for (uint32_t i = 0; i < node; i++)
		for (uint32_t j = 0; j < topology->memory_nodes[i].nr_hugepages; j++)
			if (topology->memory_nodes[i].hugepages[j].size_bytes == page_bytes)
				return true;
	return false;
}

/* Without the controller there is no such file, nor before Linux 5.16. */
static int read_hugetlb_of(int fd, uint64_t page_bytes, const struct topology *topology,
			   struct resident_row *row)
{
	char *text cleanup_free = NULL;
	char name[HUGETLB_FILE_MAX];
	int r;

	resident_hugetlb_file(page_bytes, name);
	r = file_read_line(fd, name, &text);
	if (r == -ENOENT)
		return 0;
	if (!r)
		r = resident_add_hugetlb(text, topology, row->nodes);
	row->has_hugetlb |= !r;
	return r;
}

static int read_hugetlb(int fd, const struct topology *topology, struct resident_row *row)
{
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		const struct topology_node *node = &topology->memory_nodes[i];

		for (uint32_t j = 0; j < node->nr_hugepages; j++) {
			const uint64_t page_bytes = node->hugepages[j].size_bytes;
			int r = 0;

			if (!is_read(topology, i, page_bytes))
				r = read_hugetlb_of(fd, page_bytes, topology, row);
			if (r)
				return r;
		}
	}
	return 0;
}

/* Memory that is known remains so when the huge pages cannot be read. */
static int read_group(const struct numa_stat *stat, struct resident_row *row)
{
	char *text cleanup_free = NULL;
	int fd cleanup_close = -1;
	int r;

	r = dir_open_group(&stat->groups->dir, row->path, &fd);
	if (r)
		return r;
	r = file_read_line(fd, "memory.numa_stat", &text);
	if (r)
		return r == -ENOENT ? -EOPNOTSUPP : r;
	r = resident_parse(text, stat->topology, row->nodes);
	if (!r && read_hugetlb(fd, stat->topology, row))
		row->has_hugetlb = false;
	return r;
}

static int run_sample(struct worker_job *base)
{
	struct sample_job *job = (struct sample_job *)base;

	for (uint32_t i = 0; i < job->report.nr; i++)
		job->report.rows[i].error = read_group(job->stat, &job->report.rows[i]);
	return 0;
}

static void sample_ended(struct worker_job *base, int result)
{
	struct sample_job *job = (struct sample_job *)base;

	if (job->stat->sink)
		job->stat->sink->sampled(job->stat->sink->self, result, &job->report);
}

static void release(struct worker_job *base)
{
	struct sample_job *job = (struct sample_job *)base;

	resident_report_fini(&job->report);
	free(job);
}

static int sample(void *self, const char *const *paths, uint32_t nr)
{
	struct numa_stat *stat = self;
	struct sample_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->job = (struct worker_job){
		.run = run_sample, .completed = sample_ended, .release = release};
	job->stat = stat;
	r = resident_report_new(paths, nr, stat->topology, &job->report);
	if (r) {
		release(&job->job);
		return r;
	}
	return worker_begin(stat->pool, RESIDENT_KEY, &job->job);
}

static void waits_in(void *self, char *ret_text, size_t size)
{
	const struct numa_stat *stat = self;

	worker_where(stat->pool, RESIDENT_KEY, ret_text, size);
}

int numa_stat_open(const struct numa_stat_options *options, struct numa_stat **ret_stat)
{
	struct numa_stat *stat = calloc(1, sizeof(*stat));

	if (!stat)
		return log_err(-ENOMEM, "cgroup: cannot create the reader of resident memory");
	stat->groups = options->groups;
	stat->topology = options->topology;
	stat->pool = options->pool;
	*ret_stat = stat;
	return 0;
}

void numa_stat_close(struct numa_stat *stat)
{
	free(stat);
}

void numa_stat_listen(struct numa_stat *stat, const struct resident_sink *sink)
{
	stat->sink = sink;
}

struct resident_port numa_stat_port(struct numa_stat *stat)
{
	return (struct resident_port){.self = stat, .sample = sample, .waits_in = waits_in};
}
