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
	return row->differs_ns && now_ns - row->differs_ns >= RUNTIME_PATIENCE_NS &&
	       row->cgroup_id && strlen(row->cgroup) < GROUP_PATH_MAX &&
	       stranger_may_contend(&row->pause, now_ns);
}

static void add_write(const struct runtime_row *row, enum group_file file,
		      const struct cpuset *value, struct cpuset_write *writes, uint32_t *nr)
{
	struct cpuset_write *write = &writes[(*nr)++];

	*write = (struct cpuset_write){.cgroup_id = row->cgroup_id, .file = file, .value = *value};
	text_copy(write->path, sizeof(write->path), row->cgroup);
}

static void add_writes(const struct controller *controller, const struct runtime_row *row,
		       struct cpuset_write *writes, uint32_t *nr)
{
	struct cpuset nodes;

	if (row->has_other_cpus)
		add_write(row, GROUP_CPUSET_CPUS, &row->told, writes, nr);
	if (!row->has_other_nodes)
		return;
	topology_mems_of_mask(controller->topology, row->told_nodes, &nodes);
	add_write(row, GROUP_CPUSET_MEMS, &nodes, writes, nr);
}

static uint32_t put_back_bit(enum group_file file)
{
	return UINT32_C(1) << file;
}

/* What was put back, and has been seen in force since. */
static void note_repaired(struct controller *controller, struct runtime_row *row, uint64_t now_ns)
{
	if (row->differs_ns)
		return;
	for (enum group_file file = 0; file < GROUP_FILE_NR; file++) {
		struct cpuset value = row->told;

		if (!(row->put_back & put_back_bit(file)))
			continue;
		if (file == GROUP_CPUSET_MEMS)
			topology_mems_of_mask(controller->topology, row->told_nodes, &value);
		ctl_runtime_rewritten(controller, row->id, file, &value);
		row->contested_file = file;
	}
	row->put_back = 0;
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

static void write_back(struct controller *controller, uint64_t now_ns)
{
	const struct cpuset_port *port = controller->ports.cpusets;
	struct runtimes *runtimes = &controller->runtimes;
	struct cpuset_write *writes = calloc(WRITES_MAX, sizeof(*writes));
	uint32_t nr = 0;
	int r;

	if (!writes)
		return;
	for (uint32_t i = 0; i < runtimes->nr_rows && nr + 2 <= WRITES_MAX; i++) {
		struct runtime_row *row = &runtimes->rows[i];

		if (!may_write(row, now_ns) || is_behind(controller, row))
			continue;
		add_writes(controller, row, writes, &nr);
		stranger_note_revert(&row->pause, now_ns);
	}
	if (!nr) {
		free(writes);
		return;
	}
	runtimes->writing_since_ns = now_ns;
	r = port->write(port->self, writes, nr);
	if (!r)
		return;
	runtimes->writing_since_ns = 0;
	log_err(r, "runtime: cannot put cpusets back; trying again");
}

void ctl_runtime_repair(struct controller *controller)
{
	struct runtimes *runtimes = &controller->runtimes;
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);

	if (!runtimes->is_synchronized || !ctl_runtime_may_repair(controller))
		return;
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		note_repaired(controller, &runtimes->rows[i], now_ns);
	if (!runtimes->writing_since_ns)
		write_back(controller, now_ns);
	tell_contested(controller);
}

static void end_write(struct runtimes *runtimes, const struct cpuset_write *write)
{
	for (uint32_t i = 0; i < runtimes->nr_rows; i++) {
		struct runtime_row *row = &runtimes->rows[i];

		if (row->cgroup_id != write->cgroup_id || strcmp(row->cgroup, write->path) != 0)
			continue;
		/* The finding says what the container has; this is why it could not be changed. */
		if (write->result) {
			log_warn(0, "runtime: a cpuset is not put back: %s", write->error);
			return;
		}
		row->put_back |= put_back_bit(write->file);
		row->is_to_be_stated = true;
		return;
	}
}

void ctl_runtime_end_repair(struct controller *controller, const struct cpuset_write *rows,
			    uint32_t nr)
{
	struct runtimes *runtimes = &controller->runtimes;

	runtimes->writing_since_ns = 0;
	for (uint32_t i = 0; i < nr; i++)
		end_write(runtimes, &rows[i]);
}
