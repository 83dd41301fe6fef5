// SPDX-License-Identifier: Apache-2.0
/* The command line. */
#include <getopt.h>
#include <stdio.h>

#include <pinfold/names.h>

#include "agent/agent.h"

static const char usage_text[] =
	"Usage: pinfoldd [OPTIONS]\n"
	"\n"
	"Keep pods on the CPUs and memory nodes they were promised.\n"
	"\n"
	"  -c, --config FILE         read this configuration (default " PINFOLD_CONFIG_FILE ")\n"
	"      --kubelet-config FILE import the fields of a kubelet's configuration first\n"
	"      --mode MODE           allocate; guard: compare what runs with a kubelet's state\n"
	"                            files; or observe: discover what runs and change nothing.\n"
	"                            Takes precedence over the configuration\n"
	"      --check-config        validate the configuration and exit\n"
	"      --dry-run             print the plan without changing anything and exit\n"
	"      --uninstall           stop the agent, remove everything pinfold created and exit\n"
	"      --no-bpf              enforce with cpusets only, load no BPF programs\n"
	"      --host-cgroups        leave the container's cgroup namespace for that of process 1;\n"
	"                            needs the host's PID namespace\n"
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

static int choose_mode(struct agent_options *options, const char *word)
{
	enum run_mode mode;

	if (run_mode_parse(word, &mode)) {
		fprintf(stderr,
			"pinfoldd: invalid --mode '%s': expected allocate, guard or observe\n",
			word);
		return EXIT_USAGE;
	}
	options->mode = word;
	return 0;
}

int options_parse(int argc, char **argv, struct agent_options *options, int *ret_exit)
{
	enum {
		KUBELET = 256,
		MODE,
		CHECK,
		DRY_RUN,
		UNINSTALL,
		NO_BPF,
		HOST_CGROUPS,
		ROOT,
		TOPOLOGY
	};
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'},
		{"kubelet-config", required_argument, NULL, KUBELET},
		{"mode", required_argument, NULL, MODE},
		{"check-config", no_argument, NULL, CHECK},
		{"dry-run", no_argument, NULL, DRY_RUN},
		{"uninstall", no_argument, NULL, UNINSTALL},
		{"no-bpf", no_argument, NULL, NO_BPF},
		{"host-cgroups", no_argument, NULL, HOST_CGROUPS},
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
		case MODE:
			*ret_exit = choose_mode(options, optarg);
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
		case HOST_CGROUPS:
			options->host_cgroups = true;
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
