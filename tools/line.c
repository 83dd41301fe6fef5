// SPDX-License-Identifier: Apache-2.0
/* One command line: its options, then OBJECT COMMAND. */
#include <getopt.h>

#include <bpf/libbpf.h>

#include "inspect.h"

enum {
	LONG_SOCKET = 256,
	LONG_BPFFS,
	LONG_TOPOLOGY,
	LONG_CONFIG,
	LONG_STATE,
	LONG_DRY_RUN,
	LONG_WAIT,
	LONG_OUTPUT,
	LONG_REDACT,
	LONG_NO_REDACT,
	LONG_FORCE,
	LONG_COUNT,
	LONG_SORT,
};

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"pretty", no_argument, NULL, 'p'},
	{"debug", no_argument, NULL, 'd'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{"watch", optional_argument, NULL, 'w'},
	{"count", required_argument, NULL, LONG_COUNT},
	{"sort", required_argument, NULL, LONG_SORT},
	{"root", required_argument, NULL, 'S'},
	{"socket", required_argument, NULL, LONG_SOCKET},
	{"bpffs", required_argument, NULL, LONG_BPFFS},
	{"topology", required_argument, NULL, LONG_TOPOLOGY},
	{"config", required_argument, NULL, LONG_CONFIG},
	{"state", required_argument, NULL, LONG_STATE},
	{"dry-run", no_argument, NULL, LONG_DRY_RUN},
	{"wait", required_argument, NULL, LONG_WAIT},
	{"output", required_argument, NULL, LONG_OUTPUT},
	{"redact", no_argument, NULL, LONG_REDACT},
	{"no-redact", no_argument, NULL, LONG_NO_REDACT},
	{"force", no_argument, NULL, LONG_FORCE},
	{0},
};

static void take_noun_option(struct options *options, enum noun_option bit, const char **slot)
{
	*slot = optarg;
	options->given |= bit;
}

/* 0, or -1 for what is not an option. */
static int take_option(struct options *options, int option)
{
	switch (option) {
	case 'p':
		options->pretty = true;
		__attribute__((fallthrough));
	case 'j':
		options->json = true;
		return 0;
	case 'd':
		options->debug = true;
		return 0;
	case 'V':
		options->version = true;
		return 0;
	case 'h':
		options->help = true;
		return 0;
	case 'w':
		options->watch = true;
		options->period = optarg;
		return 0;
	case LONG_COUNT:
		options->count = optarg;
		return 0;
	case LONG_SORT:
		options->sort = optarg;
		return 0;
	case 'S':
		options->root = optarg;
		return 0;
	case LONG_SOCKET:
		options->socket = optarg;
		return 0;
	case LONG_BPFFS:
		options->bpffs = optarg;
		return 0;
	case LONG_TOPOLOGY:
		take_noun_option(options, OPTION_TOPOLOGY, &options->topology);
		return 0;
	case LONG_CONFIG:
		take_noun_option(options, OPTION_CONFIG, &options->config);
		return 0;
	case LONG_STATE:
		take_noun_option(options, OPTION_STATE, &options->state);
		return 0;
	case LONG_WAIT:
		take_noun_option(options, OPTION_WAIT, &options->wait);
		return 0;
	case LONG_OUTPUT:
		options->output = optarg;
		options->flags |= OPTION_OUTPUT;
		return 0;
	case LONG_REDACT:
		options->flags |= OPTION_REDACT;
		return 0;
	case LONG_NO_REDACT:
		options->flags |= OPTION_NO_REDACT;
		return 0;
	case LONG_FORCE:
		options->flags |= OPTION_FORCE;
		return 0;
	case LONG_DRY_RUN:
		options->dry_run = true;
		return 0;
	default:
		return -1;
	}
}

static int wrong_option(struct session *session, int option, const char *word)
{
	if (option == ':')
		return out_fail(session, STATUS_USAGE, "%.60s needs a value; see 'pinfold help'",
				word);
	return out_fail(session, STATUS_USAGE,
			"unknown or ambiguous option '%.60s'; see 'pinfold help' (put the "
			"options of a command to run after '--')",
			word);
}

int dispatch_line(struct session *session, int argc, char **argv)
{
	const char *wrong_word = NULL;
	int option, wrong = 0;

	opterr = 0;
	optind = 0; /* glibc: start anew, a batch calls this once per line */
	for (;;) {
		int at = optind ? optind : 1;

		option = getopt_long(argc, argv, ":jpdVhS:w::", long_options, NULL);
		if (option < 0)
			break;
		if (take_option(&session->options, option) && !wrong) {
			wrong = option;
			wrong_word = argv[optind > at ? optind - 1 : at];
		}
	}
	/* not before the last option: a -j that follows says how to report */
	if (wrong)
		return wrong_option(session, wrong, wrong_word);
	if (session->options.help && optind < argc)
		return dispatch(session, 2, (char *[]){"help", argv[optind], NULL});
	if (session->options.help)
		return help_general(session);
	if (session->options.version)
		return dispatch(session, 1, (char *[]){"version", NULL});
	/* libbpf explains its failures on stderr; ours say enough for most */
	if (!session->options.debug)
		libbpf_set_print(NULL);
	return dispatch(session, argc - optind, argv + optind);
}
