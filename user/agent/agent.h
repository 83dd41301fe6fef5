/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent as a whole: its options, what it is built of, and the steps of its life that
 * user/main.c puts in order. Private to user/main.c and user/agent, the only files that see
 * every room.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <systemd/sd-event.h>
#include <time.h>

#include "bpf/bpf_backend.h"
#include "bpf/noise.h"
#include "bpf/pressure.h"
#include "cgroup/cpuset_writer.h"
#include "cgroup/members.h"
#include "cgroup/host.h"
#include "cgroup/numa_stat.h"
#include "cgroup/port.h"
#include "ctl/controller.h"
#include "ctl/instance.h"
#include "ctl/store.h"
#include "discover/discover.h"
#include "irq/irqs.h"
#include "machine/machine.h"
#include "machine/pages.h"
#include "runtime/kubepods.h"
#include "runtime/source.h"
#include "serve/server.h"
#include "source/manifests.h"
#include "stranger/strangers.h"

/* Exit codes, as pinfoldd(8) lists them. */
enum {
	EXIT_DONE = 0,
	EXIT_OTHER = 1,
	EXIT_USAGE = 2,
	EXIT_KERNEL_LACKS = 69, /* EX_UNAVAILABLE */
	EXIT_INSTANCE = 75,	/* EX_TEMPFAIL */
	EXIT_NOT_ROOT = 77,	/* EX_NOPERM */
	EXIT_CONFIG = 78,	/* EX_CONFIG */
};

enum task { TASK_SERVE, TASK_CHECK_CONFIG, TASK_DRY_RUN, TASK_UNINSTALL };

struct agent_options {
	enum task task;
	const char *config_file;
	bool config_given; /* named on the command line: must be there */
	const char *kubelet_config;
	const char *mode;     /* instead of the configuration's; NULL = not given */
	const char *root;     /* movable root of /sys and /proc, for tests */
	const char *topology; /* instead of the live machine; --dry-run and tests only */
	bool no_bpf;
	bool host_cgroups; /* a container's own cgroup namespace is to be left first */
	const char *log_level;
};

struct settings {
	struct config config;
	struct policy policy; /* the configuration's, with what the machine adds */
};

struct agent {
	struct agent_options options;
	uint64_t started_ns;	     /* CLOCK_REALTIME of the process */
	struct settings settings[2]; /* one in force, one to try at a reload */
	unsigned int current;
	struct machine machine;
	char boot_id[64], kernel_release[65], host[65];

	sd_event *event;
	sd_event_source *wake, *tick, *work, *watchdog, *sigterm, *sigint, *sighup;
	uint64_t wake_due_ns;	/* 0 = none asked for */
	uint64_t watchdog_usec; /* between two signs of life */
	char status[512];	/* as systemd was last told */
	bool owes_ready;	/* systemd did not read when it was to be told */
	bool reloads_again;	/* SIGHUP came while the configuration was being read */
	int stop_fd;		/* readable while SIGTERM or SIGINT is pending; -1 = not open */

	struct worker_pool *pool;
	struct instance instance;
	struct store store;
	struct groups *groups;
	struct bpf_backend *kernel;
	struct pressure_reader *pressure;
	struct numa_stat *resident; /* NULL = the topology is not this machine's */
	struct noise_counter *noise;
	struct irqs *irqs;
	struct strangers *strangers;  /* NULL = the mode changes nothing */
	struct host *host_groups;     /* likewise */
	struct member_mover *members; /* likewise */
	struct controller *controller;
	struct manifests *manifests;
	struct discover *discover;     /* NULL = the mode does not ask for it */
	struct cpuset_writer *cpusets; /* NULL = only cgroups of our own are written */
	struct source *runtime;	       /* NULL = no container runtime is asked */
	struct kubepods *kubepods;     /* NULL = containers that are found are nobody's pods */
	struct server *server;

	struct clock_port clock;
	struct loop_port loop;
	struct pages pages;
	struct machine_port machine_port;
	struct process_port process_port;
	struct groups_port groups_port;
	struct kernel_port kernel_port;
	struct pressure_port pressure_port;
	struct resident_port resident_port;
	struct noise_port noise_port;
	struct irq_port irq_port;
	struct stranger_port stranger_port;
	struct host_port host_port;
	struct store_port store_port;
	struct runtime_port runtime_port;
	struct cpuset_port cpuset_port;
	struct member_port member_port;
	struct discovery_port discovery_port;
	struct discovery_sink discovery_sink;
	struct cpuset_sink cpuset_sink; /* used if containers are found */
};

/* --- options.c: the command line ----------------------------------------------------------------- */

/* 0 = go on; else exit with *ret_exit. */
int options_parse(int argc, char **argv, struct agent_options *options, int *ret_exit);

/* --- settings.c: the configuration --------------------------------------------------------------- */

/*
 * Whole and valid, or *ret_config untouched. Reports failures; may run on any thread. The default
 * file may be missing, but not unreadable.
 */
int settings_load(const struct agent_options *options, struct config *ret_config);
/*
 * Does the configuration fit the machine? Asked before anything is touched; fills the policy.
 * -EAGAIN: it will, once CPUs that it reserves are online.
 */
int settings_check(const struct agent *agent, struct settings *settings);
/*
 * The exit status after this error of the configuration, or of what decides whether it may be used:
 * EXIT_CONFIG, after which systemd does not start the agent again, only if it stays as it is.
 */
int settings_exit_status(int err);
/* Warn if the mode promises more than this version does. */
void settings_tell_mode(const struct agent *agent);
/* The configuration in force. */
const struct config *settings_config(const struct agent *agent);
struct controller_options settings_controller_options(const struct agent *agent,
						      const struct config *config);

/* --- beside.c: a kubelet on the same node ---------------------------------------------------------- */

/*
 * Does another allocator own the CPUs of this node? -EBUSY, reported with the remedy, if the agent
 * is to allocate while a kubelet's state file says that the kubelet does, or cannot be used; 0
 * if there is no such file, or its policy is none. Asked once, before anything is touched. Another
 * negative errno: the file could not be read now.
 */
int beside_check(const struct agent *agent);

/* --- manager.c: what systemd is told ------------------------------------------------------------- */

/* At each tick again until it has been told: without it a start or a reload never ends. */
void manager_tell_ready(struct agent *agent);
/* What `systemctl status` shows: the answer of /readyz, whenever it changes. */
void manager_tell_status(struct agent *agent);
/* Feed the watchdog from the event loop, if systemd asks for it. Negative errno. */
int manager_open_watchdog(struct agent *agent);

/* --- clock.c, process.c, own_cpus.c, reload.c, loop.c ---------------------------------------------------------------- */

/* The clock port, in ns. `self` is not used. */
uint64_t clock_now(void *self);
uint64_t clock_wall(void *self);
uint64_t clock_cpu(void *self);
/* Note when the process started, for process_usage(); the port's `self` is the agent. */
int process_note_start(struct agent *agent);
int process_usage(void *self, struct process_usage *ret_usage);
/*
 * Keep off the pods' CPUs ourselves. Under a root partition the kernel sees to it; without one
 * this is all that does. Threads created later inherit this.
 */
void own_cpus_apply(const struct agent *agent);
/*
 * SIGHUP: put a new configuration in force, or refuse it whole. A thread reads the files, so this
 * may return before; however many signals come meanwhile, one reading follows.
 */
int reload_on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data);
/* The port that the loop fills. */
void loop_wake(void *self, uint64_t delay_ns);
/*
 * The event loop with its timers, signals and the pool's descriptor, and stop_fd, which ends the
 * waits of a start: the loop itself serves signals only when it runs. Reported.
 */
int loop_open(struct agent *agent);
/* Tell the log and systemd that a signal ended the start. Returns the exit code. */
int loop_end_start(void);

/* --- namespace.c: an agent in a container ----------------------------------------------------------- */

/*
 * Enter the cgroup namespace of process 1 with all later threads, if the command line asks for it;
 * reported. Whether that is the machine's own is judged when the cgroups are opened. Called while
 * there is one thread, because a namespace belongs to a thread.
 */
int namespace_enter_host(const struct agent *agent);

/* --- build.c: the steps of a start; each reports its failure ------------------------------------- */

/* Boot id and kernel release. */
int build_read_identity(struct agent *agent);
int build_read_machine(struct agent *agent);
/* On failure *ret_status is what to exit with: EXIT_KERNEL_LACKS only if another start would fail too. */
int build_open_groups(struct agent *agent, int *ret_status);
/* What was there before the first start of an agent that may write; nothing in mode observe. */
void build_keep_originals(struct agent *agent);
/*
 * BPF that cannot be had is a finding, not the end: cpusets and the partition hold without. Only a guard
 * of an earlier agent that cannot be ended then is.
 */
int build_open_kernel(struct agent *agent);
/* Without it the agent does all but show pressure. */
void build_open_pressure(struct agent *agent);
/* Loads nothing yet; without it the agent does all but show noise. */
void build_open_noise(struct agent *agent);
/* Without it interrupts are neither steered nor shown. */
void build_open_resident(struct agent *agent);
void build_open_irqs(struct agent *agent);
/* Without it nobody looks for tasks on exclusive CPUs. */
void build_open_strangers(struct agent *agent);
/* Only if the cpusets of containers that others made are to be written. */
int build_open_cpusets(struct agent *agent);
/* Without it tasks of the host are kept off exclusive CPUs by other tiers, or not at all. */
void build_open_host(struct agent *agent);
/* Without it processes that were moved over the border of a container stay where they are. */
void build_open_members(struct agent *agent);
int build_new_controller(struct agent *agent);
int build_start_sources(struct agent *agent);
/* Pods and containers of others, in mode observe. */
int build_start_discovery(struct agent *agent);
/* As a plugin of a container runtime, if there is one to ask. It need not run yet. */
int build_start_runtime(struct agent *agent);
int build_start_server(struct agent *agent);

/* --- what the program is asked to do, other than to serve; these return the exit code ------------- */

/* Read the machine and check the configuration against it; what is not built yet is a warning. */
int dry_run_check_config(struct agent *agent);
/*
 * Print the plan of a start to stdout, one step per line. Reads cgroups and the state file, and
 * changes nothing.
 */
int dry_run_print(struct agent *agent);
/*
 * In an order in which nothing denies what follows: the service and a running agent end, the guard goes,
 * then the masks of interrupts, the affinities of tasks, partitions, cgroups and before-values,
 * and the state last, so that what failed can be tried again. Each thing that stays is named with
 * its reason.
 */
int uninstall_run(struct agent *agent);

#endif
