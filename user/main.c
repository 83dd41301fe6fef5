// SPDX-License-Identifier: Apache-2.0
/*
 * pinfoldd: options, build, wire, run, take down in reverse. The only file that
 * sees every room; what each part does is in its room.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>

#include <pinfold/names.h>

#include "bpf/bpf_backend.h"
#include "bpf/pressure.h"
#include "cgroup/port.h"
#include "ctl/controller.h"
#include "ctl/instance.h"
#include "ctl/store.h"
#include "kubelet/config.h"
#include "lib/crash.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/text.h"
#include "lib/worker.h"
#include "machine/machine.h"
#include "machine/pages.h"
#include "serve/server.h"
#include "source/manifests.h"

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
	const char *root;     /* movable root of /sys and /proc, for tests */
	const char *topology; /* instead of the live machine; --dry-run and tests only */
	bool no_bpf;
	const char *log_level;
};

/*
 * So long the loop waits for a call that a thread makes for it: what is fast is done at
 * once, in order. At a start nobody is served yet, so what is slow may be waited for too.
 */
#define GRACE_NS       20000000ULL
#define START_GRACE_NS 5000000000ULL

struct settings {
	struct config config;
	struct policy policy; /* the configuration's, with what the machine adds */
};

struct agent {
	struct agent_options options;
	struct settings settings[2]; /* one in force, one to try at a reload */
	unsigned int current;
	struct machine machine;
	char boot_id[64], kernel_release[65];

	sd_event *event;
	sd_event_source *wake, *tick, *work, *watchdog, *sigterm, *sigint, *sighup;
	uint64_t wake_due_ns;	/* 0 = none asked for */
	uint64_t watchdog_usec; /* between two signs of life */
	char status[512];	/* as systemd was last told */
	bool owes_ready;	/* systemd did not read when it was to be told */

	struct worker_pool *pool;
	struct instance instance;
	struct store store;
	struct groups *groups;
	struct bpf_backend *kernel;
	struct pressure_reader *pressure;
	struct controller *controller;
	struct manifests *manifests;
	struct server *server;

	struct clock_port clock;
	struct loop_port loop;
	struct pages pages;
	struct machine_port machine_port;
	struct groups_port groups_port;
	struct kernel_port kernel_port;
	struct pressure_port pressure_port;
	struct store_port store_port;
};

/* --- options ------------------------------------------------------------------------------------- */

static const char usage_text[] =
	"Usage: pinfoldd [OPTIONS]\n"
	"\n"
	"Keep pods on the CPUs and memory nodes they were promised.\n"
	"\n"
	"  -c, --config FILE         read this configuration (default " PINFOLD_CONFIG_FILE ")\n"
	"      --kubelet-config FILE import the fields of a kubelet's configuration first\n"
	"      --check-config        validate the configuration and exit\n"
	"      --dry-run             print the plan without changing anything and exit\n"
	"      --uninstall           stop the agent, remove everything pinfold created and exit\n"
	"      --no-bpf              enforce with cpusets only, load no BPF programs\n"
	"      --topology SOURCE     decide for another machine (with --dry-run)\n"
	"  -l, --log-level LEVEL     log at this level: err, warn, info (default) or debug\n"
	"  -V, --version             print the version and exit\n"
	"  -h, --help                print this help and exit\n"
	"\n"
	"Exit codes: 0 success, 2 invalid command line, 69 a required kernel feature is\n"
	"missing, 75 another instance is running, 77 not root, 78 invalid configuration,\n"
	"1 any other failure. See pinfoldd(8).\n";

/* One that only looks and one that writes must not be asked together. */
static int choose_task(struct agent_options *options, enum task task)
{
	if (options->task != TASK_SERVE && options->task != task) {
		fprintf(stderr, "pinfoldd: --check-config, --dry-run and --uninstall are "
				"mutually exclusive; give one of them\n");
		return EXIT_USAGE;
	}
	options->task = task;
	return 0;
}

/* 0 = go on; else exit with *ret_exit. */
static int parse_options(int argc, char **argv, struct agent_options *options, int *ret_exit)
{
	enum { KUBELET = 256, CHECK, DRY_RUN, UNINSTALL, NO_BPF, ROOT, TOPOLOGY };
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'},
		{"kubelet-config", required_argument, NULL, KUBELET},
		{"check-config", no_argument, NULL, CHECK},
		{"dry-run", no_argument, NULL, DRY_RUN},
		{"uninstall", no_argument, NULL, UNINSTALL},
		{"no-bpf", no_argument, NULL, NO_BPF},
		{"root", required_argument, NULL, ROOT},
		{"topology", required_argument, NULL, TOPOLOGY},
		{"log-level", required_argument, NULL, 'l'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	*ret_exit = 0;
	*options = (struct agent_options){
		.config_file = PINFOLD_CONFIG_FILE, .root = "/", .log_level = "info"};
	while ((option = getopt_long(argc, argv, "c:l:Vh", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			options->config_file = optarg;
			options->config_given = true;
			break;
		case KUBELET:
			options->kubelet_config = optarg;
			break;
		case CHECK:
			*ret_exit = choose_task(options, TASK_CHECK_CONFIG);
			break;
		case DRY_RUN:
			*ret_exit = choose_task(options, TASK_DRY_RUN);
			break;
		case UNINSTALL:
			*ret_exit = choose_task(options, TASK_UNINSTALL);
			break;
		case NO_BPF:
			options->no_bpf = true;
			break;
		case ROOT:
			options->root = optarg;
			break;
		case TOPOLOGY:
			options->topology = optarg;
			break;
		case 'l':
			options->log_level = optarg;
			break;
		case 'V':
			printf("pinfoldd %s (%s)\n", PINFOLD_VERSION, PINFOLD_REVISION);
			*ret_exit = EXIT_DONE;
			return 1;
		case 'h':
			fputs(usage_text, stdout);
			*ret_exit = EXIT_DONE;
			return 1;
		default:
			fputs(usage_text, stderr);
			*ret_exit = EXIT_USAGE;
			return 1;
		}
		if (*ret_exit)
			return 1;
	}
	if (optind < argc) {
		fprintf(stderr, "pinfoldd: unexpected argument '%s': expected options only\n",
			argv[optind]);
		*ret_exit = EXIT_USAGE;
		return 1;
	}
	if (options->topology && options->task != TASK_DRY_RUN) {
		fprintf(stderr, "pinfoldd: --topology requires --dry-run: a running agent reads "
				"the machine it runs on\n");
		*ret_exit = EXIT_USAGE;
		return 1;
	}
	return 0;
}

/* --- configuration ------------------------------------------------------------------------------- */

typedef int config_reader(const char *data, size_t len, struct format_error *error,
			  struct config *config);

static int read_config_file(const char *path, config_reader *reader, struct config *config)
{
	char *data cleanup_free = NULL;
	struct format_error error;
	char text[FORMAT_ERROR_TEXT_MAX];
	size_t len;
	int r;

	r = file_read_path(path, CONFIG_MAX_BYTES, &data, &len);
	if (r)
		return log_err(r, "config: cannot read %s", path);
	r = reader(data, len, &error, config);
	if (r == -ENOMEM)
		return log_err(r, "config: %s", path);
	if (r) {
		log_err(0, "config: %s", format_error_text(&error, path, text, sizeof(text)));
		return r;
	}
	return 0;
}

/* Whole and valid, or *ret_config untouched. The default file may be missing, but not unreadable. */
static int load_config(const struct agent_options *options, struct config *ret_config)
{
	struct config config;
	int r;

	config_default(&config);
	if (options->kubelet_config) {
		r = read_config_file(options->kubelet_config, kubelet_config_import, &config);
		if (r)
			return r;
	}
	if (!options->config_given && access(options->config_file, F_OK) && errno == ENOENT) {
		log_info("config: %s is not there, taking the built-in defaults",
			 options->config_file);
	} else {
		r = read_config_file(options->config_file, config_parse, &config);
		if (r)
			return r;
	}
	*ret_config = config;
	return 0;
}

/* Does the configuration fit the machine? Asked before anything is touched; fills the policy. */
static int check_settings(const struct agent *agent, struct settings *settings)
{
	struct cpuset special;
	char error[512] = "";
	int r;

	machine_special_cpus(&agent->machine, &special);
	r = config_check(&settings->config, agent->machine.topology, &special, &settings->policy,
			 error, sizeof(error));
	return r ? log_err(0, "config: %s", *error ? error : strerror(-r)), r : 0;
}

static const struct config *config_of(const struct agent *agent)
{
	return &agent->settings[agent->current].config;
}

static struct controller_options controller_options(const struct agent *agent,
						    const struct config *config)
{
	return (struct controller_options){
		.config = config,
		.config_file = agent->options.config_file,
		.kernel_release = agent->kernel_release,
		.boot_id = agent->boot_id,
		.revision = PINFOLD_REVISION,
		.dry_run = agent->options.task == TASK_DRY_RUN,
	};
}

/* --- ports of main's own ------------------------------------------------------------------------- */

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static uint64_t clock_now(void *self)
{
	return read_clock(CLOCK_MONOTONIC);
}

static uint64_t clock_wall(void *self)
{
	return read_clock(CLOCK_REALTIME);
}

static void loop_wake(void *self, uint64_t delay_ns)
{
	struct agent *agent = self;
	uint64_t due = clock_now(NULL) + delay_ns;

	if (agent->wake_due_ns && agent->wake_due_ns <= due)
		return;
	agent->wake_due_ns = due;
	sd_event_source_set_time_relative(agent->wake, delay_ns / 1000);
	sd_event_source_set_enabled(agent->wake, SD_EVENT_ONESHOT);
}

static int on_wake(sd_event_source *source, uint64_t usec, void *data)
{
	struct agent *agent = data;

	agent->wake_due_ns = 0;
	if (agent->manifests && controller_wants_scan(agent->controller))
		manifests_scan(agent->manifests);
	controller_wake(agent->controller);
	return 0;
}

/* At each tick again until it has been told: without it a start or a reload never ends. */
static void tell_ready(struct agent *agent)
{
	agent->owes_ready = notify_manager("READY=1") == -EAGAIN;
}

/* What `systemctl status` shows: the answer of /readyz, whenever it changes. */
static void tell_status(struct agent *agent)
{
	const struct faces_port *faces = controller_faces(agent->controller);
	char status[sizeof(agent->status)] = "", line[sizeof(status) + sizeof("STATUS=")];

	if (faces->ready(faces->self, status, sizeof(status)))
		snprintf(status, sizeof(status), "holding");
	if (!strcmp(status, agent->status))
		return;
	snprintf(line, sizeof(line), "STATUS=%s", status);
	if (notify_manager(line) != -EAGAIN)
		memcpy(agent->status, status, sizeof(status));
}

/*
 * Fed by this loop and by nothing else: no thread may vouch for it. sd_event_set_watchdog()
 * would wait for a systemd that does not read.
 */
static int on_watchdog(sd_event_source *source, uint64_t usec, void *data)
{
	const struct agent *agent = data;

	notify_manager("WATCHDOG=1");
	sd_event_source_set_time_relative(source, agent->watchdog_usec);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int open_watchdog(struct agent *agent)
{
	uint64_t limit_usec;
	int r = sd_watchdog_enabled(0, &limit_usec);

	if (r <= 0)
		return r;
	agent->watchdog_usec = limit_usec / 3;
	return sd_event_add_time_relative(agent->event, &agent->watchdog, CLOCK_MONOTONIC, 0, 1000,
					  on_watchdog, agent);
}

static int on_work(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct agent *agent = data;

	worker_pool_dispatch(agent->pool);
	return 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *data)
{
	struct agent *agent = data;

	if (agent->owes_ready)
		tell_ready(agent);
	controller_tick(agent->controller);
	if (agent->manifests && controller_wants_scan(agent->controller))
		manifests_scan(agent->manifests);
	tell_status(agent);
	sd_event_source_set_time_relative(source, 1000000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct agent *agent = data;

	log_info("stopping on signal %u; cpusets, partition and guard stay in force",
		 info->ssi_signo);
	notify_manager("STOPPING=1");
	return sd_event_exit(agent->event, EXIT_DONE);
}

/*
 * Keep off the pods' CPUs ourselves. Under a root partition the kernel sees to
 * it; without one this is all that does. Threads to come do as the one that starts them.
 */
static void move_to_reserved(const struct agent *agent)
{
	const struct cpuset *reserved = controller_reserved(agent->controller);
	DIR *threads cleanup_dir = opendir("/proc/self/task");
	const struct dirent *entry;
	cpu_set_t *mask;

	if (cpuset_is_empty(reserved))
		return;
	mask = CPU_ALLOC(CPUSET_MAX);
	if (!mask)
		return;
	CPU_ZERO_S(CPU_ALLOC_SIZE(CPUSET_MAX), mask);
	cpuset_for_each (cpu, reserved)
		CPU_SET_S(cpu, CPU_ALLOC_SIZE(CPUSET_MAX), mask);
	while (threads && (entry = readdir(threads))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread > 0 && sched_setaffinity(thread, CPU_ALLOC_SIZE(CPUSET_MAX), mask) &&
		    errno != ESRCH)
			log_warn(-errno, "cannot move to the reserved CPUs; continuing");
	}
	CPU_FREE(mask);
}

/*
 * The new file is validated whole first; what would break a running pod refuses
 * it. The controller borrows configuration and policy, so there are two places
 * for them, used in turn: one in force, one to try.
 */
static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct agent *agent = data;
	struct settings *next = &agent->settings[!agent->current];
	struct controller_options options;
	char field[FORMAT_FIELD_MAX];
	char error[512] = "", line[64];
	int r;

	snprintf(line, sizeof(line), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(clock_now(NULL) / 1000));
	notify_manager(line);
	r = load_config(&agent->options, &next->config);
	if (!r && config_needs_restart(config_of(agent), &next->config, field))
		r = log_err(-EBUSY,
			    "reload refused, the old configuration stays in force: %s takes "
			    "effect only after a restart",
			    field);
	if (!r) {
		r = check_settings(agent, next);
		if (r)
			log_err(0, "reload refused, the old configuration stays in force");
	}
	if (!r) {
		options = controller_options(agent, &next->config);
		r = controller_reload(agent->controller, &next->policy, &options, error,
				      sizeof(error));
		if (r)
			log_err(0, "reload refused, the old configuration stays in force: %s",
				error);
	}
	if (!r) {
		agent->current = !agent->current;
		move_to_reserved(agent);
		if (agent->manifests)
			manifests_scan(agent->manifests);
		log_info("configuration reloaded");
	}
	tell_ready(agent);
	return 0;
}

/* --- building ------------------------------------------------------------------------------------ */

static int read_identity(struct agent *agent)
{
	char *boot_id cleanup_free = NULL;
	struct utsname name;
	int r;

	if (uname(&name))
		return log_err(-errno, "uname");
	snprintf(agent->kernel_release, sizeof(agent->kernel_release), "%.64s", name.release);
	r = file_read_line(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &boot_id);
	if (r)
		return log_err(r, "cannot read the boot id");
	snprintf(agent->boot_id, sizeof(agent->boot_id), "%s", boot_id);
	return 0;
}

static int read_machine(struct agent *agent)
{
	char error[MACHINE_ERROR_MAX] = "";
	int r;

	r = machine_read(agent->options.topology ? agent->options.topology : "live",
			 agent->options.root, error, sizeof(error), &agent->machine);
	if (r)
		return log_err(0, "machine: %s", *error ? error : strerror(-r)), r;
	agent->pages = (struct pages){agent->options.root, agent->machine.topology};
	agent->machine_port = pages_port(&agent->pages);
	return 0;
}

static int open_groups(struct agent *agent)
{
	const struct groups_options options = {
		.root = agent->options.root,
		.workload_root = PINFOLD_WORKLOAD_ROOT,
		.may_write = agent->options.task == TASK_UNINSTALL ||
			     (agent->options.task == TASK_SERVE &&
			      config_of(agent)->mode == MODE_ALLOCATE),
		.pool = agent->pool,
	};
	enum dir_problem problem = DIR_FINE;
	char error[GROUP_ERROR_MAX] = "";
	int r;

	r = groups_open(&options, &agent->groups, &problem, error);
	if (r)
		return log_err(0, "cgroup: %s: %s", dir_problem_name(problem), error), r;
	agent->groups_port = groups_port(agent->groups);
	return 0;
}

/* What was there before the very first start. */
static void keep_originals(struct agent *agent)
{
	const struct originals *originals = groups_originals(agent->groups);
	int r = 0;

	if (originals && agent->store.dir_fd >= 0)
		r = originals_keep(agent->store.dir_fd, originals);
	if (r)
		log_warn(r, "state: cannot save the original values; an uninstall cannot restore "
			    "them");
}

static bool load_originals(struct agent *agent, struct originals *ret_originals)
{
	struct format_error error;
	char sentence[FORMAT_ERROR_TEXT_MAX];
	int r;

	if (agent->store.dir_fd < 0)
		return false;
	r = originals_load(agent->store.dir_fd, &error, ret_originals);
	if (r == -EBADMSG)
		log_warn(0, "state: %s; the original values are not restored",
			 format_error_text(&error, PINFOLD_ORIGINALS_FILE, sentence,
					   sizeof(sentence)));
	else if (r && r != -ENOENT)
		log_warn(r, "state: cannot read %s; the original values are not restored",
			 PINFOLD_ORIGINALS_FILE);
	return !r;
}

/* BPF that cannot be had is a finding, not the end: cpusets and the partition hold without. */
static void open_kernel(struct agent *agent)
{
	const struct bpf_backend_options options = {
		.topology = agent->machine.topology,
		.possible = &agent->machine.possible,
		.max_containers = config_of(agent)->max_containers,
		.bpffs_dir = PINFOLD_BPFFS_DIR,
		.load_later = true,
		.pool = agent->pool,
		.identity = PINFOLD_VERSION " " PINFOLD_REVISION,
		.runtime_dir_fd = agent->instance.dir_fd,
	};

	if (agent->options.no_bpf)
		return;
	if (!bpf_backend_open(&options, &agent->kernel))
		agent->kernel_port = bpf_backend_port(agent->kernel);
}

/* Each container has a cgroup, its pod has one, and there is the root. */
static uint32_t most_groups(const struct config *config)
{
	const uint64_t most = 2 * (uint64_t)config->max_containers + 1;

	return most < PRESSURE_ROWS_MAX ? (uint32_t)most : PRESSURE_ROWS_MAX;
}

/* Without it the agent does all but show pressure. */
static void open_pressure(struct agent *agent)
{
	const struct pressure_options options = {
		.root_dir = PINFOLD_CGROUP_MOUNT "/" PINFOLD_WORKLOAD_ROOT,
		.max_cgroups = most_groups(config_of(agent)),
		.pool = agent->pool,
	};

	if (agent->options.no_bpf)
		return;
	if (!pressure_reader_open(&options, &agent->pressure))
		agent->pressure_port = pressure_reader_port(agent->pressure);
}

static int new_controller(struct agent *agent)
{
	const struct controller_options options = controller_options(agent, config_of(agent));
	const struct controller_ports ports = {
		.clock = &agent->clock,
		.loop = &agent->loop,
		.groups = &agent->groups_port,
		.kernel = agent->kernel ? &agent->kernel_port : NULL,
		.pressure = agent->pressure ? &agent->pressure_port : NULL,
		.store = &agent->store_port,
		/* of a machine that is only described nobody knows what is free */
		.machine = agent->options.topology ? NULL : &agent->machine_port,
	};
	char error[512] = "";
	int r;

	r = controller_new(agent->machine.topology, &agent->settings[agent->current].policy,
			   &options, &ports, error, sizeof(error), &agent->controller);
	if (r)
		log_err(0, "config: %s", *error ? error : strerror(-r));
	return r;
}

static int open_loop(struct agent *agent)
{
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = sd_event_default(&agent->event);
	if (r >= 0)
		r = sd_event_add_signal(agent->event, &agent->sigterm, SIGTERM, on_terminate,
					agent);
	if (r >= 0)
		r = sd_event_add_signal(agent->event, &agent->sigint, SIGINT, on_terminate, agent);
	if (r >= 0)
		r = sd_event_add_signal(agent->event, &agent->sighup, SIGHUP, on_reload, agent);
	if (r >= 0)
		r = sd_event_add_time_relative(agent->event, &agent->wake, CLOCK_MONOTONIC, 0, 1,
					       on_wake, agent);
	if (r >= 0)
		r = sd_event_source_set_enabled(agent->wake, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(agent->event, &agent->tick, CLOCK_MONOTONIC, 1000000,
					       1000, on_tick, agent);
	if (r >= 0 && agent->pool)
		r = sd_event_add_io(agent->event, &agent->work, worker_pool_fd(agent->pool),
				    EPOLLIN, on_work, agent);
	/* What has ended is taken before the tick tells what waits. */
	if (r >= 0 && agent->pool)
		r = sd_event_source_set_priority(agent->work, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		r = open_watchdog(agent);
	return r < 0 ? log_err(r, "event loop") : 0;
}

static int start_sources(struct agent *agent)
{
	const char *directory = config_of(agent)->sources.manifest_directory;
	int r;

	if (!*directory)
		return 0;
	r = manifests_new(agent->event, agent->pool, directory,
			  controller_source_sink(agent->controller), &agent->manifests);
	if (r)
		return log_err(r, "source: cannot watch the manifests directory %s", directory);
	return manifests_scan(agent->manifests);
}

static int start_server(struct agent *agent)
{
	const struct server_options options = {
		.metrics_address = config_of(agent)->metrics.listen,
		.runtime_dir_fd = agent->instance.dir_fd,
		.runtime_dir = config_of(agent)->runtime_directory,
		.socket_name = PINFOLD_SOCKET_FILE,
	};

	return server_open(&options, controller_faces(agent->controller), agent->event,
			   &agent->server);
}

/* --- what the program is asked to do ------------------------------------------------------------- */

static int check_config(struct agent *agent)
{
	struct config_unbuilt options[CONFIG_UNBUILT_NR];

	if (read_machine(agent))
		return EXIT_OTHER;
	if (check_settings(agent, &agent->settings[agent->current]))
		return EXIT_CONFIG;
	config_list_unbuilt(config_of(agent), options);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].is_asked)
			log_warn(0, "%s: %s; %s", agent->options.config_file, options[i].message,
				 CONFIG_UNBUILT_REMEDY);
	}
	printf("%s: the configuration is valid on this machine\n", agent->options.config_file);
	return EXIT_DONE;
}

static int dry_run(struct agent *agent)
{
	struct text out cleanup_text = {0};
	int r;

	if (read_machine(agent) || read_identity(agent))
		return EXIT_OTHER;
	if (check_settings(agent, &agent->settings[agent->current]))
		return EXIT_CONFIG;
	if (open_groups(agent))
		return EXIT_KERNEL_LACKS;
	agent->store.dir_fd = open(config_of(agent)->state_directory,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	agent->store_port = store_port(&agent->store);
	if (new_controller(agent))
		return EXIT_CONFIG;
	if (open_loop(agent) || controller_start(agent->controller) || start_sources(agent))
		return EXIT_OTHER;
	r = controller_print_plan(agent->controller, &out);
	if (r)
		return EXIT_OTHER;
	fputs(out.data ? out.data : "", stdout);
	return EXIT_DONE;
}

/* Cgroups as they were before us; -EPERM while programs of the guard are still there. */
static int uninstall_groups(struct agent *agent, const struct originals *originals,
			    uint32_t *ret_nr_left, char *error)
{
	int r;

	/* Unpinned programs end when the kernel's workqueue lets them go, a little later. */
	for (int attempt = 0; attempt < 50; attempt++) {
		r = groups_uninstall(agent->groups, originals, ret_nr_left, error);
		/* Of very many nested groups one pass removes a part. */
		if (r != -EPERM && r != -EAGAIN)
			break;
		usleep(100000);
	}
	return r;
}

/*
 * In an order in which nothing denies what follows: a running agent ends, the guard goes,
 * then partitions, cgroups and before-values, and the state last, so that what failed can
 * be tried again. Each thing that stays is named with its reason.
 */
static int uninstall(struct agent *agent)
{
	const struct config *config = config_of(agent);
	struct originals originals cleanup(originals_fini) = {0};
	char error[GROUP_ERROR_MAX] = "";
	bool has_originals;
	uint32_t nr_left = 0;
	int r;

	r = instance_stop(config->runtime_directory);
	if (!r)
		r = instance_take(config->runtime_directory, &agent->instance);
	if (r)
		return r == -EBUSY ? EXIT_INSTANCE : EXIT_OTHER;
	r = bpf_backend_remove(PINFOLD_BPFFS_DIR);
	if (r)
		log_warn(r, "uninstall: the pins below %s remain", PINFOLD_BPFFS_DIR);
	if (open_groups(agent))
		return EXIT_KERNEL_LACKS;
	store_open(&agent->store, config->state_directory);
	has_originals = load_originals(agent, &originals);
	r = uninstall_groups(agent, has_originals ? &originals : groups_originals(agent->groups),
			     &nr_left, error);
	if (r) {
		log_err(0, "uninstall: %s; the state is kept for another attempt", error);
		return EXIT_OTHER;
	}
	if (nr_left)
		log_warn(0,
			 "uninstall: the processes of %u cgroup%s are still running; the cgroups "
			 "and the controllers they use remain until these end",
			 nr_left, nr_left == 1 ? "" : "s");
	store_remove(&agent->store, config->state_directory, nr_left && has_originals);
	instance_remove(&agent->instance, config->runtime_directory);
	log_info("uninstalled; %s and the pods' manifests were left in place",
		 agent->options.config_file);
	return EXIT_DONE;
}

static int serve(struct agent *agent)
{
	int r;

	r = instance_take(config_of(agent)->runtime_directory, &agent->instance);
	if (r)
		return r == -EBUSY ? EXIT_INSTANCE : EXIT_OTHER;
	if (read_identity(agent) || read_machine(agent))
		return EXIT_OTHER;
	if (check_settings(agent, &agent->settings[agent->current]))
		return EXIT_CONFIG;
	r = worker_pool_new(WORKER_THREADS, &agent->pool);
	if (r) {
		log_err(r, "cannot create the pool of threads");
		return EXIT_OTHER;
	}
	worker_pool_set_grace(agent->pool, START_GRACE_NS);
	if (open_groups(agent))
		return EXIT_KERNEL_LACKS;
	agent->store.pool = agent->pool;
	store_open(&agent->store, config_of(agent)->state_directory);
	keep_originals(agent);
	agent->store_port = store_port(&agent->store);
	if (open_loop(agent))
		return EXIT_OTHER;
	open_kernel(agent);
	open_pressure(agent);
	r = new_controller(agent);
	if (r)
		return r == -ENOMEM ? EXIT_OTHER : EXIT_CONFIG;
	move_to_reserved(agent);
	agent->store.sink = controller_store_sink(agent->controller);
	if (controller_start(agent->controller))
		return EXIT_OTHER;
	if (agent->pressure)
		pressure_reader_listen(agent->pressure,
				       controller_pressure_sink(agent->controller));
	worker_pool_set_grace(agent->pool, GRACE_NS);
	if (groups_watch(agent->groups, agent->event, controller_groups_sink(agent->controller)))
		return EXIT_OTHER;
	if (agent->kernel && bpf_backend_watch(agent->kernel, agent->event,
					       controller_kernel_sink(agent->controller)))
		return EXIT_OTHER;
	if (start_sources(agent) || start_server(agent))
		return EXIT_OTHER;
	tell_ready(agent);
	tell_status(agent);
	r = sd_event_loop(agent->event);
	return r < 0 ? EXIT_OTHER : r;
}

static void take_down(struct agent *agent, int status)
{
	server_close(agent->server);
	/* What a thread in the kernel uses must stay until the process ends. */
	if (worker_pool_free(agent->pool) > 0) {
		log_warn(0, "stopping while operations wait in the kernel; the process exits when "
			    "they return");
		_exit(status);
	}
	manifests_free(agent->manifests);
	controller_free(agent->controller);
	bpf_backend_close(agent->kernel);
	pressure_reader_close(agent->pressure);
	groups_close(agent->groups);
	store_close(&agent->store);
	machine_fini(&agent->machine);
	sd_event_source_unref(agent->wake);
	sd_event_source_unref(agent->tick);
	sd_event_source_unref(agent->work);
	sd_event_source_unref(agent->watchdog);
	sd_event_source_unref(agent->sigterm);
	sd_event_source_unref(agent->sigint);
	sd_event_source_unref(agent->sighup);
	sd_event_unref(agent->event);
	instance_release(&agent->instance);
}

int main(int argc, char **argv)
{
	struct agent agent = {
		.instance = INSTANCE_CLOSED,
		.store = {.dir_fd = -1},
		.clock = {NULL, clock_now, clock_wall},
		.loop = {&agent, loop_wake},
	};
	enum log_level level;
	int status;

	if (parse_options(argc, argv, &agent.options, &status))
		return status;
	if (log_level_parse(agent.options.log_level, &level)) {
		fprintf(stderr,
			"pinfoldd: invalid --log-level '%s': expected err, warn, info or "
			"debug\n",
			agent.options.log_level);
		return EXIT_USAGE;
	}
	log_open("pinfoldd", level);
	crash_arm();
	if (load_config(&agent.options, &agent.settings[0].config)) {
		if (agent.options.task != TASK_UNINSTALL)
			return EXIT_CONFIG;
		config_default(&agent.settings[0].config);
		log_warn(0, "uninstall: using the default directories; files in other "
			    "directories that the configuration named remain");
	}
	if (agent.options.task == TASK_CHECK_CONFIG) {
		status = check_config(&agent);
	} else if (agent.options.task == TASK_DRY_RUN) {
		status = dry_run(&agent);
	} else if (geteuid() != 0) {
		log_err(0, "pinfoldd needs root to write cgroups and load BPF programs; run it "
			   "as root, or use --dry-run or 'pinfold simulate', which do not need it");
		status = EXIT_NOT_ROOT;
	} else {
		status = agent.options.task == TASK_UNINSTALL ? uninstall(&agent) : serve(&agent);
	}
	take_down(&agent, status);
	return status;
}
