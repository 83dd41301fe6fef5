/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller: when things happen and in what order.
 *
 * It owns the ledger. Everything that arrives (a scan of the sources, an event of
 * the kernel, a request on the socket, time) only says "look again"; one function,
 * controller_wake, then compares what the ledger says with what the kernel has and
 * applies the difference. It knows the world through ports.h only and runs on one
 * thread.
 */
#ifndef CTL_CONTROLLER_H
#define CTL_CONTROLLER_H

#include "ctl/ports.h"

/* All borrowed for the controller's life (until controller_reload replaces them). */
struct controller_options {
	const struct config *config;
	const char *config_file; /* where it came from, "" = built-in defaults */
	const char *kernel_release, *boot_id, *revision;
	bool dry_run; /* make the plan, apply nothing, write nothing */
};

/* All borrowed for the controller's life. */
struct controller_ports {
	const struct clock_port *clock;
	const struct loop_port *loop;
	const struct groups_port *groups;
	const struct kernel_port *kernel; /* NULL = no BPF on this machine; findings say why */
	const struct store_port *store;
	const struct machine_port *machine; /* NULL = what is free cannot be told */
};

struct controller;

/*
 * Borrows topology and policy for its life; policy is the configuration's with what
 * the machine adds (excluded CPUs). -EINVAL with a sentence (size >= 256) when
 * policy and machine do not fit.
 */
int controller_new(const struct topology *topology, const struct policy *policy,
		   const struct controller_options *options, const struct controller_ports *ports,
		   char *error, size_t error_size, struct controller **ret_controller);
void controller_free(struct controller *controller);

/*
 * Bring back what was decided before: the state file, else what can be read from live
 * cgroups; then attach or adopt the kernel side and reconcile once. A state that is
 * missing, old or damaged never stops the agent. -EPROTO: a newer agent's state or pins,
 * which are left alone; the caller exits.
 */
int controller_start(struct controller *controller);

/* Reconcile now; main calls it when the wake it was asked for is due. */
void controller_wake(struct controller *controller);
/* Each second: heartbeat, self-test when due, resync when due. */
void controller_tick(struct controller *controller);

/*
 * New policy and options after a reload. Refused whole, with what would break, when running
 * pods do not fit: -EBUSY or -EINVAL and a sentence (size >= 256). When it is taken the
 * controller borrows them from here on, so they must stay where they are.
 */
int controller_reload(struct controller *controller, const struct policy *policy,
		      const struct controller_options *options, char *error, size_t error_size);

/* CPUs kept for the system, this agent among it; borrowed. */
const struct cpuset *controller_reserved(const struct controller *controller);

/* The plan of a dry run, one step a line. */
int controller_print_plan(struct controller *controller, struct text *out);

/*
 * Room was made, and pods are refused that are not remembered: only the sources, told
 * again, bring them another answer.
 */
bool controller_wants_scan(const struct controller *controller);

const struct source_sink *controller_source_sink(struct controller *controller);
const struct groups_sink *controller_groups_sink(struct controller *controller);
const struct kernel_sink *controller_kernel_sink(struct controller *controller);
const struct store_sink *controller_store_sink(struct controller *controller);
const struct faces_port *controller_faces(struct controller *controller);

/* Something main found that an operator should know; stays until cleared. */
void controller_finding(struct controller *controller, const char *name, const char *message,
			const char *remedy);
void controller_clear_finding(struct controller *controller, const char *name);

#endif
