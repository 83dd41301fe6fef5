// SPDX-License-Identifier: Apache-2.0
/*
 * Writes are one queue in the order of the answers: who has to leave CPUs is written before who gets
 * them. A scan may have read a file before it was written, so what it found is only compared if it surely
 * began after the last write.
 */
#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/text.h"
#include "runtime/kubepods_private.h"

/* The scan that runs when a write ends may have read the file before; the one after it has not. */
#define SCANS_AFTER_WRITE 2

static const enum group_file group_files[FILE_NR] = {GROUP_CPUSET_CPUS, GROUP_CPUSET_MEMS};

/* The controller's notes and the files may differ from now on, so everything is told anew. */
void kubepods_files_start_over(struct kubepods *kubepods, int error)
{
	log_err(error, "kubepods: the containers are not followed until the next scan");
	kubepods->is_synchronized = false;
	kubepods->options.discovery->scan_soon(kubepods->options.discovery->self);
}

static int queue(struct kubepods *kubepods, const struct container *container,
		 enum container_file file)
{
	struct cpuset_write *write;
	int r = kubepods_rows_grow((void **)&kubepods->queue, kubepods->nr_queued,
				   &kubepods->max_queued, sizeof(*kubepods->queue));

	if (r)
		return r;
	write = &kubepods->queue[kubepods->nr_queued++];
	*write = (struct cpuset_write){.cgroup_id = container->cgroup_id,
				       .file = group_files[file],
				       .value = container->files[file].wanted};
	text_copy(write->path, sizeof(write->path), container->path);
	return 0;
}

void kubepods_files_flush(struct kubepods *kubepods)
{
	const struct cpuset_port *port = kubepods->options.cpusets;
	struct cpuset_write *rows = kubepods->queue;
	const uint32_t nr = kubepods->nr_queued;
	int r;

	if (kubepods->is_writing || !nr)
		return;
	kubepods->queue = NULL;
	kubepods->nr_queued = kubepods->max_queued = 0;
	kubepods->is_writing = true;
	r = port->write(port->self, rows, nr);
	if (!r)
		return;
	kubepods->is_writing = false;
	kubepods_files_start_over(kubepods, r);
}

/* NULL or "" = as it is. */
int kubepods_files_set(struct kubepods *kubepods, struct container *container, const char *cpus,
		       const char *mems)
{
	const struct cpuset wanted[FILE_NR] = {cpuset_of_text(cpus), cpuset_of_text(mems)};
	int r = 0;

	for (int file = 0; !r && file < FILE_NR; file++) {
		if (cpuset_is_empty(&wanted[file]))
			continue;
		container->files[file].wanted = wanted[file];
		r = queue(kubepods, container, (enum container_file)file);
	}
	return r;
}

static bool is_undecided(const struct container *container)
{
	return container->is_alive && !container->is_decided;
}

static int set_cpus(struct kubepods *kubepods, struct container *container,
		    const struct cpuset *cpus)
{
	if (cpuset_is_empty(cpus) || cpuset_equal(&container->files[FILE_CPUS].wanted, cpus))
		return 0;
	container->files[FILE_CPUS].wanted = *cpus;
	return queue(kubepods, container, FILE_CPUS);
}

int kubepods_files_leave(struct kubepods *kubepods, const struct cpuset *shared)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < kubepods->nr; i++) {
		struct container *container = &kubepods->containers[i];
		struct cpuset left = container->files[FILE_CPUS].wanted;

		cpuset_intersect(&left, shared);
		if (is_undecided(container))
			r = set_cpus(kubepods, container, &left);
	}
	return r;
}

int kubepods_files_share(struct kubepods *kubepods)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < kubepods->nr; i++)
		if (is_undecided(&kubepods->containers[i]))
			r = set_cpus(kubepods, &kubepods->containers[i], &kubepods->shared);
	return r;
}

/* That there is no such file is worth a word only if the cgroup is there at the next scan. */
static void note_failure(struct container *container, struct cpuset_file *file,
			 const struct cpuset_write *row)
{
	if (row->result == -ECANCELED)
		return;
	if (row->result == -ENOENT && !container->is_missing) {
		container->is_missing = true;
		return;
	}
	if (!file->has_failed)
		log_warn(0, "kubepods: %s; trying again with each scan", row->error);
	file->has_failed = true;
}

static void note_success(struct kubepods *kubepods, struct container *container,
			 struct cpuset_file *file, const struct cpuset_write *row)
{
	const struct runtime_sink *sink = kubepods->options.sink;
	const bool is_repair = file->is_repair, is_first = !file->was_written;

	file->has_failed = file->is_repair = container->is_missing = false;
	/* A later value is on its way. */
	if (!cpuset_equal(&row->value, &file->wanted))
		return;
	file->was_written = true;
	if (is_repair)
		sink->rewritten(sink->self, container->id, row->file, &row->value);
	if (row->file != GROUP_CPUSET_CPUS)
		return;
	if (is_first && container->run_ns > 0)
		sink->pinned(sink->self, container->id, (uint64_t)container->run_ns);
	/* As a runtime reports that it has carried a resize out. */
	sink->updated(sink->self, container->id);
}

void kubepods_files_end_write(struct kubepods *kubepods, const struct cpuset_write *row)
{
	struct container *container = kubepods_rows_find_cgroup(kubepods, row->cgroup_id);
	struct cpuset_file *file;

	if (!container)
		return;
	container->nr_scans = 0;
	file = &container->files[row->file == GROUP_CPUSET_CPUS ? FILE_CPUS : FILE_MEMS];
	if (row->result)
		note_failure(container, file, row);
	else
		note_success(kubepods, container, file, row);
}

static bool has_wanted(const struct cpuset_file *file)
{
	return cpuset_is_empty(&file->wanted) || cpuset_equal(&file->wanted, &file->found);
}

static uint64_t now_ns(const struct kubepods *kubepods)
{
	const struct clock_port *clock = kubepods->options.clock;

	return clock->now_ns(clock->self);
}

static int repair_container(struct kubepods *kubepods, struct container *container)
{
	const uint64_t now = now_ns(kubepods);
	int r = 0;

	for (int i = 0; !r && i < FILE_NR; i++) {
		struct cpuset_file *file = &container->files[i];

		if (has_wanted(file))
			continue;
		if (file->was_written && !stranger_may_contend(&file->pause, now))
			continue;
		file->is_repair = file->was_written;
		if (file->is_repair)
			stranger_note_revert(&file->pause, now);
		r = queue(kubepods, container, (enum container_file)i);
	}
	return r;
}

/* What another program wrote is put back, and what could not be written is tried again. */
int kubepods_files_repair(struct kubepods *kubepods)
{
	const struct discovery_port *discovery = kubepods->options.discovery;
	int r = 0;

	if (kubepods->is_writing || kubepods->nr_queued)
		return 0;
	for (uint32_t i = 0; !r && i < kubepods->nr; i++) {
		struct container *container = &kubepods->containers[i];

		if (!container->is_alive || container->progress != CONTAINER_KNOWN ||
		    (has_wanted(&container->files[FILE_CPUS]) &&
		     has_wanted(&container->files[FILE_MEMS])))
			continue;
		if (container->nr_scans < SCANS_AFTER_WRITE)
			discovery->scan_soon(discovery->self);
		else
			r = repair_container(kubepods, container);
	}
	return r;
}

void kubepods_files_tell_contested(struct kubepods *kubepods)
{
	const struct runtime_sink *sink = kubepods->options.sink;
	const uint64_t now = now_ns(kubepods);
	const struct container *worst = NULL;
	uint32_t nr_reverts = 0;
	int worst_file = 0;

	for (uint32_t i = 0; i < kubepods->nr; i++)
		for (int file = 0; file < FILE_NR; file++) {
			struct container *container = &kubepods->containers[i];
			struct stranger_pause *pause = &container->files[file].pause;

			if (has_wanted(&container->files[file]))
				stranger_note_calm(pause, now);
			if (!container->is_alive || !stranger_is_contended(pause) ||
			    pause->nr_reverts <= nr_reverts)
				continue;
			worst = container;
			worst_file = file;
			nr_reverts = pause->nr_reverts;
		}
	sink->contested(sink->self, worst ? worst->id : NULL, group_files[worst_file], nr_reverts);
}
