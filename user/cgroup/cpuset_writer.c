// SPDX-License-Identifier: Apache-2.0
/*
 * A write can wait for the cpuset lock and for memory that moves to other nodes, so it is made on a
 * thread. The id is compared on the open directory, so that a cgroup which took the place of another
 * one meanwhile is not written.
 */
#include "cgroup/cpuset_writer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/failure.h"
#include "cgroup/manager.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

/* Paths of groups, which are the keys of other jobs, do not begin with a slash. */
#define WRITER_KEY "/cpusets"

struct cpuset_writer {
	const struct groups *groups;
	struct worker_pool *pool;
	const struct cpuset_sink *sink;
	atomic_bool is_cancelled; /* set on the loop's thread, read on the one that writes */
};

struct write_job {
	struct worker_job job; /* first */
	struct cpuset_writer *writer;
	struct cpuset_write *rows; /* owned */
	uint32_t nr;
};

/* The list goes back as it came, unless another writer was faster. */
static int check_written(struct cpuset_write *row, int fd)
{
	const char *name = group_file_name(row->file);
	char *seen cleanup_free = NULL;
	struct cpuset has;
	int r = file_read_line(fd, name, &seen);

	if (!r)
		r = cpuset_parse(seen, strlen(seen), &has);
	if (r)
		return failure(row->error, r, "%s/%s: cannot read it back: %s", row->path, name,
			       strerror(-r));
	if (cpuset_equal(&has, &row->value))
		return 0;
	return failure(row->error, -EREMOTEIO,
		       "%s/%s has '%.96s' right after it was written: another program writes it",
		       row->path, name, seen);
}

static int write_row(const struct cpuset_writer *writer, struct cpuset_write *row)
{
	const char *name = group_file_name(row->file);
	char *list cleanup_free = malloc(CPUSET_TEXT_MAX);
	int fd cleanup_close = -1;
	uint64_t id;
	int r;

	if (!list)
		return failure(row->error, -ENOMEM, "%s: %s", row->path, strerror(ENOMEM));
	cpuset_format(&row->value, list, CPUSET_TEXT_MAX);
	r = dir_open_group(&writer->groups->dir, row->path, &fd);
	if (!r)
		r = dir_group_id(fd, &id);
	if (!r && id != row->cgroup_id)
		r = -ENOENT;
	if (r)
		return failure(row->error, r, "%s: %s", row->path, dir_open_cause(r));
	r = file_write_text(fd, name, list);
	if (r)
		return failure(row->error, r, "%s/%s: cannot write '%.96s': %s", row->path, name,
			       list, strerror(-r));
	return check_written(row, fd);
}

static int run_writes(struct worker_job *base)
{
	struct write_job *job = (struct write_job *)base;

	for (uint32_t i = 0; i < job->nr; i++)
		job->rows[i].result = atomic_load(&job->writer->is_cancelled)
					      ? -ECANCELED
					      : write_row(job->writer, &job->rows[i]);
	return 0;
}

static void writes_ended(struct worker_job *base, int result)
{
	struct write_job *job = (struct write_job *)base;

	if (job->writer->sink)
		job->writer->sink->written(job->writer->sink->self, job->rows, job->nr);
}

static void release(struct worker_job *base)
{
	struct write_job *job = (struct write_job *)base;

	free(job->rows);
	free(job);
}

static int begin_writes(void *self, struct cpuset_write *rows, uint32_t nr)
{
	struct cpuset_writer *writer = self;
	struct write_job *job = calloc(1, sizeof(*job));

	if (!job) {
		free(rows);
		return -ENOMEM;
	}
	job->job = (struct worker_job){
		.run = run_writes, .completed = writes_ended, .release = release};
	job->writer = writer;
	job->rows = rows;
	job->nr = nr;
	if (!worker_is_busy(writer->pool, WRITER_KEY))
		atomic_store(&writer->is_cancelled, false);
	return worker_begin(writer->pool, WRITER_KEY, &job->job);
}

static void cancel(void *self)
{
	struct cpuset_writer *writer = self;

	atomic_store(&writer->is_cancelled, true);
}

static void waits_in(void *self, char *ret_text, size_t size)
{
	const struct cpuset_writer *writer = self;

	worker_where(writer->pool, WRITER_KEY, ret_text, size);
}

int cpuset_writer_open(const struct cpuset_writer_options *options,
		       struct cpuset_writer **ret_writer)
{
	struct cpuset_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return log_err(-ENOMEM, "cgroup: cannot create the writer of cpusets");
	writer->groups = options->groups;
	writer->pool = options->pool;
	*ret_writer = writer;
	return 0;
}

void cpuset_writer_close(struct cpuset_writer *writer)
{
	free(writer);
}

void cpuset_writer_listen(struct cpuset_writer *writer, const struct cpuset_sink *sink)
{
	writer->sink = sink;
}

struct cpuset_port cpuset_writer_port(struct cpuset_writer *writer)
{
	return (struct cpuset_port){
		.self = writer, .write = begin_writes, .cancel = cancel, .waits_in = waits_in};
}
