/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller decides when things happen and in what order.
 *
 * It owns the ledger. Everything that arrives (a scan of the sources, a kernel event, a
 * request on the socket, a timer) only means "compare again": one function, controller_wake,
 * compares the ledger with the kernel and applies the difference. The controller knows the
 * world only through ports.h and runs on one thread.
 */
#ifndef CTL_CONTROLLER_H
#define CTL_CONTROLLER_H

#include "ctl/ports.h"

/* All borrowed for the controller's life (until controller_reload replaces them). */
struct controller_options {
	const struct config *config;
	const char *config_file; /* where it was read from, "" = built-in defaults */
	const char *kernel_release, *boot_id, *revision;
	const char *libbpf; /* its version; NULL = not known */
	const char *host;   /* the machine's name, for people; NULL = not known */
	bool discovers; /* the discovery_sink gets scans of the node; without one it is not ready */
	bool dry_run;	/* make the plan, apply nothing, write nothing */
};

/* All borrowed for the controller's life. */
struct controller_ports {
	const struct clock_port *clock;
	const struct loop_port *loop;
	const struct groups_port *groups;
	const struct kernel_port *kernel; /* NULL = no BPF on this machine; findings say why */
	const struct store_port *store;
	const struct machine_port *machine;   /* NULL = free huge pages are unknown */
	const struct process_port *process;   /* NULL = the agent's own cost is unknown */
	const struct pressure_port *pressure; /* NULL = pressure is unknown */
	const struct resident_port *resident; /* NULL = nobody knows where memory is */
	const struct noise_port *noise;	      /* NULL = noise is unknown */
	const struct irq_port *irq;	      /* NULL = interrupts are unknown */
	const struct stranger_port *stranger; /* NULL = nobody looks for strangers */
	const struct host_port *host;	      /* NULL = the host's groups are left alone */
	const struct runtime_port *runtime;   /* NULL = no container runtime is asked */
	const struct member_port *members;    /* NULL = processes that were moved stay there */
	/* Both or neither; NULL = what a kubelet decided is not put back. */
	const struct cpuset_port *cpusets;
	const struct discovery_port *discovery;
};

struct controller;

/*
 * Borrows topology and policy for its life; policy is the configured one plus what the machine
 * adds (excluded CPUs). -EINVAL with a sentence (size >= 256) if the policy does not fit the
 * machine.
 */
int controller_new(const struct topology *topology, const struct policy *policy,
		   const struct controller_options *options, const struct controller_ports *ports,
		   char *error, size_t error_size, struct controller **ret_controller);
/*
 * Cgroups and programs remain as they are. Events that wait for a name are recorded without one,
 * and runs that wait get no answer. Nothing may call a sink or a face of the controller any more.
 * NULL is accepted.
 */
void controller_free(struct controller *controller);

/*
 * Restore earlier decisions from the state file, or from live cgroups if there is none; then
 * load or adopt the BPF objects and reconcile once. A missing, old or damaged state file never
 * stops the agent. -EPROTO: the state or the pins belong to a newer agent and are left
 * unchanged; the caller exits.
 */
int controller_start(struct controller *controller);

/* Reconcile now; main calls it when the requested wake is due. */
void controller_wake(struct controller *controller);
/* Each second: heartbeat, self-test when due, resync when due. */
void controller_tick(struct controller *controller);

/*
 * New policy and options after a reload. The reload is refused as a whole if running pods do
 * not fit: -EBUSY or -EINVAL with a sentence that names the reason (size >= 256). If it is
 * accepted, the controller borrows policy and options from then on.
 */
int controller_reload(struct controller *controller, const struct policy *policy,
		      const struct controller_options *options, char *error, size_t error_size);

/* CPUs reserved for the system, including this agent; borrowed. */
const struct cpuset *controller_reserved(const struct controller *controller);

/* Print the plan of a dry run, one step per line. */
int controller_print_plan(struct controller *controller, struct text *out);

/*
 * CPUs became free, and some refused pods are not in the list: only another scan of the
 * sources can decide them again.
 */
bool controller_wants_scan(const struct controller *controller);

/* What the sources and the adapters call, on the loop's thread only; `self` is the controller. */
struct controller_sinks {
	struct source_sink source;
	struct groups_sink groups;
	struct kernel_sink kernel;
	struct pressure_sink pressure;
	struct resident_sink resident;
	struct irq_sink irq;
	struct noise_sink noise;
	struct stranger_sink stranger;
	struct host_sink host;
	struct discovery_sink discovery;
	struct cpuset_sink cpuset;
	struct member_sink member;
	struct store_sink store;
	struct runtime_sink runtime;
};
/* Borrowed, and valid as long as the controller. */
const struct controller_sinks *controller_sinks(const struct controller *controller);
/* What the server calls for requests, /readyz and /metrics; borrowed like the sinks. */
const struct faces_port *controller_faces(struct controller *controller);

/* A finding that main raises; it remains until cleared. */
void controller_finding(struct controller *controller, enum finding kind, const char *message,
			const char *remedy);
/* It no longer applies; has no effect if it was not raised. */
void controller_clear_finding(struct controller *controller, enum finding kind);

#endif
