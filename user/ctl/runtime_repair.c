// SPDX-License-Identifier: Apache-2.0
/*
 * Puts back the cpusets of a runtime's containers that another process wrote behind the runtime's
 * back. The runtime's record has had our CPUs since the answer that stated them, so the cgroup's file
 * is written directly: asking the runtime for an update can freeze it (NRI before 0.12.1). Should the
 * record be another one after all, the next answer repeats the CPUs.
 *
 * Whoever insists is put back three times, and then ever more rarely.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/runtime_private.h"
#include "lib/log.h"

/* In one pass; the others follow with the next one. */
#define WRITES_MAX 32

static bool may_write(const struct runtime_row *row, uint64_t now_ns)
{
	return row->wrong_files && now_ns - row->differs_ns >= RUNTIME_PATIENCE_NS &&
	       row->cgroup_id && strlen(row->cgroup) < GROUP_PATH_MAX &&
	       stranger_may_contend(&row->pause, now_ns) &&
	       stranger_may_contend(&row->failing, now_ns);
}

static void add_write(const struct runtime_row *row, enum group_file file,
		      const struct cpuset *value, struct cpuset_write *writes, uint32_t *nr)
{
	struct cpuset_write *write = &writes[(*nr)++];

	*write = (struct cpuset_write){.cgroup_id = row->cgroup_id, .file = file, .value = *value};
	text_copy(write->path, sizeof(write->path), row->cgroup);
}

static void add_writes(const struct controller *controller, struct runtime_row *row,
		       struct cpuset_write *writes, uint32_t *nr)
{
	static const enum group_file files[] = {GROUP_CPUSET_CPUS, GROUP_CPUSET_MEMS};
	const uint32_t first = *nr;

	/* Of a correction that could not begin. */
	row->corrected = 0;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct cpuset value = ctl_runtime_told(controller, row, files[i]);

		if (row->wrong_files & runtime_file_bit(files[i]))
			add_write(row, files[i], &value, writes, nr);
	}
	row->contested_file = writes[first].file;
}

/* What was put back, and has been read since with what the runtime was told. */
static void note_repaired(struct controller *controller, struct runtime_row *row, uint64_t now_ns)
{
	const uint32_t seen = row->put_back & row->right_files;

	for (enum group_file file = 0; file < GROUP_FILE_NR; file++) {
		const struct cpuset value = ctl_runtime_told(controller, row, file);

		if (seen & runtime_file_bit(file))
			ctl_runtime_rewritten(controller, row->id, file, &value);
	}
	row->put_back &= ~seen;
	if (!row->wrong_files)
		stranger_note_calm(&row->pause, now_ns);
}

static void tell_contested(struct controller *controller)
{
	const struct runtimes *runtimes = &controller->runtimes;
	const struct runtime_row *worst = NULL;

	for (uint32_t i = 0; i < runtimes->nr_rows; i++) {
		const struct runtime_row *row = &runtimes->rows[i];

		if (stranger_is_contended(&row->pause) &&
		    (!worst || row->pause.nr_reverts > worst->pause.nr_reverts))
			worst = row;
	}
	ctl_runtime_contested(controller, worst ? worst->id : NULL,
			      worst ? worst->contested_file : GROUP_CPUSET_CPUS,
			      worst ? worst->pause.nr_reverts : 0);
}

/* Its record has CPUs that others got meanwhile: the next answer takes them away. */
static bool is_behind(const struct controller *controller, const struct runtime_row *row)
{
	struct cpu_states states;

	ledger_cpu_states(controller->ledger, &states);
	return ctl_runtime_is_behind(controller, row, &states.exclusive);
}

/* Takes the writes. */
static void begin_writes(struct controller *controller, struct cpuset_write *writes, uint32_t nr)
{
	const struct cpuset_port *port = controller->ports.cpusets;
	int r;

	if (!nr) {
		free(writes);
		return;
	}
	controller->runtimes.writing_since_ns = clock_now_ns(controller->ports.clock);
	r = port->write(port->self, writes, nr);
	if (!r)
		return;
	controller->runtimes.writing_since_ns = 0;
	log_err(r, "runtime: cannot put cpusets back; trying again");
}

static void write_back(struct controller *controller, uint64_t now_ns)
{
	struct runtimes *runtimes = &controller->runtimes;
	struct cpuset_write *writes = calloc(WRITES_MAX, sizeof(*writes));
	uint32_t nr = 0;

	if (!writes)
		return;
	for (uint32_t i = 0; i < runtimes->nr_rows && nr + 2 <= WRITES_MAX; i++) {
		struct runtime_row *row = &runtimes->rows[i];

		if (!may_write(row, now_ns) || is_behind(controller, row))
			continue;
		/* With many containers the last reading is old: it may be right by now. */
		ctl_runtime_read(controller, row);
		if (!row->wrong_files)
			continue;
		add_writes(controller, row, writes, &nr);
	}
	begin_writes(controller, writes, nr);
}

/* Nothing is being put back. Of containers that are found, user/runtime/kubepods.c tells this. */
static void end_contest(struct controller *controller)
{
	if (*controller->options.config->sources.nri)
		ctl_runtime_contested(controller, NULL, GROUP_CPUSET_CPUS, 0);
}

void ctl_runtime_repair(struct controller *controller)
{
	struct runtimes *runtimes = &controller->runtimes;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);

	if (!runtimes->is_synchronized || !ctl_runtime_may_repair(controller)) {
		end_contest(controller);
		return;
	}
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		note_repaired(controller, &runtimes->rows[i], now_ns);
	if (!runtimes->writing_since_ns)
		write_back(controller, now_ns);
	tell_contested(controller);
}

/* A row of a session that has begun since has not been read yet. */
static struct runtime_row *find_written(const struct runtimes *runtimes,
					const struct cpuset_write *write)
{
	for (uint32_t i = 0; i < runtimes->nr_rows; i++) {
		struct runtime_row *row = &runtimes->rows[i];

		if ((!row->cgroup_id || row->cgroup_id == write->cgroup_id) &&
		    !strcmp(row->cgroup, write->path))
			return row;
	}
	return NULL;
}

/* Did it end with what the runtime was told before? Others may own these CPUs now. */
static bool is_outdated(const struct controller *controller, const struct runtime_row *row,
			const struct cpuset_write *write)
{
	const struct cpuset value = ctl_runtime_told(controller, row, write->file);

	return !cpuset_is_empty(&value) && !cpuset_equal(&value, &write->value) &&
	       write->result != -ECANCELED && write->result != -ENOENT &&
	       !is_behind(controller, row);
}

static void end_write(struct runtime_row *row, const struct cpuset_write *write, uint64_t now_ns)
{
	const bool is_corrected = row->corrected & runtime_file_bit(write->file);

	row->corrected &= ~runtime_file_bit(write->file);
	if (write->result == -ECANCELED)
		return;
	/* Until it is read again. */
	row->right_files = row->wrong_files = 0;
	/* The finding says what the container has; this is why it could not be changed. */
	if (write->result) {
		stranger_note_revert(&row->failing, now_ns);
		log_warn(0, "runtime: cannot put a cpuset back: %s", write->error);
		return;
	}
	row->failing = (struct stranger_pause){0};
	/* That was our own write: nobody is blamed for it. */
	if (is_corrected)
		return;
	/* Two files that were written together count once. */
	if (write->file == row->contested_file)
		stranger_note_revert(&row->pause, now_ns);
	row->put_back |= runtime_file_bit(write->file);
	row->is_to_be_stated = true;
}

void ctl_runtime_end_repair(struct controller *controller, const struct cpuset_write *rows,
			    uint32_t nr)
{
	struct runtimes *runtimes = &controller->runtimes;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	struct cpuset_write *writes = calloc(nr + 1, sizeof(*writes));
	uint32_t nr_writes = 0;

	runtimes->writing_since_ns = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct runtime_row *row = find_written(runtimes, &rows[i]);
		struct cpuset value;

		if (!row)
			continue;
		if (!writes || !is_outdated(controller, row, &rows[i])) {
			end_write(row, &rows[i], now_ns);
			continue;
		}
		row->cgroup_id = rows[i].cgroup_id;
		row->corrected |= runtime_file_bit(rows[i].file);
		value = ctl_runtime_told(controller, row, rows[i].file);
		add_write(row, rows[i].file, &value, writes, &nr_writes);
	}
	begin_writes(controller, writes, nr_writes);
}
