/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of ctl/ports.h: interrupts, cgroups and tasks of the host. Each is looked at in passes, which
 * end with a report.
 */
#ifndef CTL_HOST_PORTS_H
#define CTL_HOST_PORTS_H

#include "core/irq/irq.h"
#include "core/plan/plan.h"
#include "core/stranger/stranger.h"
#include "format/config.h"
#include "format/irq_report.h"
#include "format/rows.h"
#include "format/stranger_report.h"

/* --- interrupts: user/irq ------------------------------------------------------------------------ */
enum irq_mode {
	IRQ_OBSERVE, /* write nothing */
	IRQ_RESTORE, /* undo what was steered earlier, and nothing else */
	IRQ_STEER,
};

struct irq_request {
	enum irq_mode mode;
	struct irq_cpus cpus; /* the topology must outlive the pass */
	/*
	 * What becomes of masks that we wrote and another process changes, so that they reach
	 * exclusive CPUs: enforce sets them back, audit leaves and counts them, off leaves them.
	 */
	enum enforcement masks;
	uint64_t now_ns;
};

/* A process that wrote a mask. */
struct irq_writer {
	uint32_t pid;  /* 0 = it is in none of our pid namespaces */
	char comm[16]; /* "" = it has ended */
};

struct irq_port {
	void *self;
	/*
	 * Read all masks, and write those that the mode asks for. 0 = sink.passed gets the result,
	 * perhaps before this call returns. -EBUSY: an earlier pass has not ended yet.
	 */
	int (*pass)(void *self, const struct irq_request *request);
	/* The kernel function in which the pass is blocked; "" = unknown. */
	void (*waits_in)(void *self, char *ret_text, size_t size);
};

struct irq_sink {
	void *self;
	/*
	 * A pass has ended. A negative errno: nothing could be read, and there is no report.
	 * Otherwise the receiver may move the rows out of the report, which is freed after the call.
	 */
	void (*passed)(void *self, int result, struct irq_report *report);
	/* Another process wrote masks; a pass will show what. */
	void (*written)(void *self, const struct irq_writer *writer);
};

/* --- cgroups of the host: user/cgroup/host.c ------------------------------------------------------- */
enum host_mode {
	HOST_RESTORE, /* undo what was written earlier, and nothing else */
	HOST_CONFINE, /* keep the host's groups off the CPUs that are taken */
};

struct host_request {
	enum host_mode mode;
	/* Each group of the host gets all CPUs that the machine can have, without these. */
	struct cpuset taken;
	struct cpuset exclusive; /* who may use these is reported */
	/*
	 * For HOST_RESTORE: kernels before 7.0 do not empty the list of a group with processes. It
	 * then gets these CPUs, or all CPUs that the machine can have if the set is empty.
	 */
	struct cpuset rest;
	bool has_runtime; /* the pods of a container runtime are not the host's */
};

/* What a pass found and did. */
struct host_report {
	/*
	 * Why nothing was written, or 0: the names of the groups could not be saved, or the file
	 * of an earlier agent is damaged (-EBADMSG), which `problem` explains.
	 */
	int error;
	char problem[ROW_DETAIL_MAX];
	uint32_t nr_held; /* groups whose list is ours */
	/* Groups that may use exclusive CPUs and are left alone, the first one, and why. */
	uint32_t nr_foreign;
	char foreign[96];
	const char *why_foreign; /* static */
	/* Groups that could not be written, and the first error. */
	uint32_t nr_failed;
	char failure[GROUP_ERROR_MAX];
	/* In the root cgroup, which has no list of its own, and able to use exclusive CPUs. */
	uint32_t nr_processes, nr_kthreads;
	int count_error; /* why it is unknown how many these are, or 0 */
};

struct host_port {
	void *self;
	/*
	 * Look at the top-level groups that are not the workload root, and write the lists that the
	 * mode asks for. 0 = sink.passed gets the result, perhaps before this call returns. -EBUSY:
	 * an earlier pass has not ended yet.
	 */
	int (*pass)(void *self, const struct host_request *request);
	/* The kernel function in which the pass is blocked; "" = unknown. */
	void (*waits_in)(void *self, char *ret_text, size_t size);
};

struct host_sink {
	void *self;
	/* A pass has ended. A negative errno: the groups could not be read, and the report is empty. */
	void (*passed)(void *self, int result, const struct host_report *report);
};

/* --- strangers: user/stranger -------------------------------------------------------------------- */
enum stranger_mode {
	STRANGER_OBSERVE, /* report strangers, and undo what was changed earlier */
	STRANGER_REPAIR,  /* move them */
};

/* A container with exclusive CPUs: its tasks may use these. */
struct stranger_owner {
	char path[GROUP_PATH_MAX]; /* of its cgroup, below the mount */
	struct cpuset cpus;
};

struct stranger_request {
	enum stranger_mode mode;
	struct stranger_cpus cpus;
	const char *workload_root; /* borrowed for the call, as are the owners */
	uint32_t nr_owners;
	const struct stranger_owner *owners;
	uint64_t now_ns;
};

struct stranger_port {
	void *self;
	/*
	 * Walk over all tasks, and change the affinities that the mode asks for. Nothing below the
	 * workload root is ever changed. 0 = sink.walked gets the result, perhaps before this call
	 * returns. -EBUSY: an earlier walk has not ended yet.
	 */
	int (*walk)(void *self, const struct stranger_request *request);
	/* The kernel function in which the walk is blocked; "" = unknown. */
	void (*waits_in)(void *self, char *ret_text, size_t size);
};

struct stranger_sink {
	void *self;
	/*
	 * A walk has ended. A negative errno: nothing could be read, and the report has nothing but
	 * the cost. Otherwise the receiver may move the rows out of the report, which is freed after the call.
	 */
	void (*walked)(void *self, int result, struct stranger_report *report);
};

#endif
