// SPDX-License-Identifier: Apache-2.0
/*
 * pinfold-publisher: keeps the NodeResourceTopology of one node at the API server as the agent on
 * that node describes it. It needs no right on the node, only the token of a service account that may
 * create and patch such objects.
 *
 * It uses server-side apply: one request that creates or changes, for which nothing has to be
 * read before, and which leaves the fields of others alone.
 */
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <pinfold/names.h>

#include "http.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/node_name.h"
#include "object.h"

#define SOURCE_DEFAULT	    "http://127.0.0.1:9417/topology"
#define CREDENTIALS_DEFAULT "/var/run/secrets/kubernetes.io/serviceaccount"
#define TOKEN_MAX	    (16 * 1024)
#define URL_MAX		    1024
#define SENTENCE_MAX	    1024
/* The agent answers from memory; an API server may be busy. */
#define SOURCE_TIMEOUT_S 5
#define SERVER_TIMEOUT_S 15
/* Somebody else wrote at the same moment. */
#define CONFLICT_TRIES 3
#define BACK_OFF_MAX_S 60

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct publisher_options {
	const char *node, *source, *server, *credentials;
	unsigned long interval_s, refresh_s;
	bool once;
};

struct publication {
	struct publisher_options options;
	char url[URL_MAX];	 /* of the object */
	char told[SENTENCE_MAX]; /* the failure that was last reported; "" = none since a success */
	bool has_published;	 /* since the start */
	struct text published;	 /* what the API server was last seen to have */
	uint64_t refresh_due_s;	 /* CLOCK_MONOTONIC: when it is sent even if nothing changed */
};

static const char usage_text[] =
	"Usage: pinfold-publisher [OPTIONS]\n"
	"\n"
	"Keep the NodeResourceTopology of a Kubernetes node as its agent describes it.\n"
	"\n"
	"      --node NAME        the node (default: the environment's NODE_NAME)\n"
	"      --source URL       where the agent answers (default " SOURCE_DEFAULT ")\n"
	"      --server URL       the API server, https (default: that of the pod)\n"
	"      --credentials DIR  has token and ca.crt (default: those of the pod)\n"
	"      --interval SECONDS time between two questions to the agent, 1 to 3600 (default 10)\n"
	"      --refresh SECONDS  time until an unchanged object is sent again, 1 to 86400 (default 300)\n"
	"      --once             publish once and exit\n"
	"  -V, --version          print the version and exit\n"
	"  -h, --help             print this help and exit\n"
	"\n"
	"Exit codes: 0 success, 1 failure, 2 invalid command line.\n";

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
	va_list args;

	fputs("pinfold-publisher: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* Each failure is reported when it begins, and not again before something else happens. */
static int fail(struct publication *publication, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int fail(struct publication *publication, const char *format, ...)
{
	char sentence[SENTENCE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (text_is_news(publication->told, sentence))
		complain("%s", sentence);
	text_copy(publication->told, sizeof(publication->told), sentence);
	return -EIO;
}

static uint64_t now_s(void)
{
	return clock_monotonic_ns() / CLOCK_NS_PER_S;
}

/* Between three and five quarters of it, so that the nodes of a cluster do not ask at once. */
static uint64_t spread_ms(uint64_t seconds)
{
	uint32_t random = UINT32_MAX / 2;

	/* Without randomness it is the middle. */
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = UINT32_MAX / 2;
	return seconds * 750 + seconds * 500 * random / UINT32_MAX;
}

static int read_topology(struct publication *publication, struct text *object)
{
	const struct http_call request = {
		.url = publication->options.source,
		.timeout_s = SOURCE_TIMEOUT_S,
	};
	struct text answer cleanup_text = {0};
	char error[HTTP_ERROR_MAX] = "", why[OBJECT_ERROR_MAX];
	long status = 0;
	int r = http_ask(&request, &status, &answer, error);

	if (r == -ENOMEM)
		return r;
	if (r)
		return fail(publication, "cannot read the topology from %s: %s", request.url,
			    error);
	if (status != 200) {
		object_read_error(answer.data ? answer.data : "", answer.len, why);
		return fail(publication,
			    "cannot read the topology from %s: the agent answers %ld; "
			    "it has to be in mode allocate",
			    request.url, status);
	}
	r = object_read(answer.data ? answer.data : "", answer.len, publication->options.node,
			object, why);
	return r == -EBADMSG ? fail(publication, "invalid topology from %s: %s", request.url, why)
			     : r;
}

/* The kubelet replaces the token before it expires, so it is read for each request. */
static int read_token(struct publication *publication, char **ret_token)
{
	char path[URL_MAX];
	char *token cleanup_free = NULL;
	size_t len;
	int r;

	snprintf(path, sizeof(path), "%s/token", publication->options.credentials);
	r = file_read_path(path, TOKEN_MAX, &token, &len);
	if (r == -ENOMEM)
		return r;
	if (r)
		return fail(publication, "cannot read %s: %s", path, strerror(-r));
	token[strcspn(token, "\r\n")] = '\0';
	if (!*token || strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789-._~+/=") != strlen(token))
		return fail(publication, "invalid token in %s: expected one line of base64", path);
	*ret_token = TAKE_PTR(token);
	return 0;
}

/* What an operator can do about an answer that is not a success. */
static const char *remedy(long status)
{
	switch (status) {
	case 401:
		return "; the token of the service account is not accepted";
	case 403:
		return "; permit the service account to create and patch "
		       "noderesourcetopologies.topology.node.k8s.io";
	case 404:
		return "; install the CustomResourceDefinition of NodeResourceTopology "
		       "(topology.node.k8s.io/v1alpha2)";
	case 409:
		return "; somebody else keeps changing the object";
	default:
		return "";
	}
}

static int send_object(struct publication *publication, const struct text *object, long *ret_status)
{
	char *token cleanup_free = NULL;
	char ca_file[URL_MAX], error[HTTP_ERROR_MAX] = "", why[OBJECT_ERROR_MAX];
	struct text answer cleanup_text = {0};
	struct http_call request = {
		.url = publication->url,
		.method = "PATCH",
		.body = object->data,
		/* JSON is YAML; servers before 1.31 know server-side apply by this type only */
		.content_type = "application/apply-patch+yaml",
		.ca_file = ca_file,
		.timeout_s = SERVER_TIMEOUT_S,
	};
	int r = read_token(publication, &token);

	if (r)
		return r;
	request.token = token;
	snprintf(ca_file, sizeof(ca_file), "%s/ca.crt", publication->options.credentials);
	r = http_ask(&request, ret_status, &answer, error);
	if (r == -ENOMEM)
		return r;
	if (r)
		return fail(publication, "cannot reach the API server: %s", error);
	if (*ret_status == 200 || *ret_status == 201)
		return 0;
	object_read_error(answer.data ? answer.data : "", answer.len, why);
	return fail(publication,
		    "cannot publish the topology of %s: the API server answers %ld%s%s%s",
		    publication->options.node, *ret_status, *why ? ": " : "", why,
		    remedy(*ret_status));
}

static int publish(struct publication *publication, const struct text *object)
{
	long status;
	int r;

	for (unsigned int try = 0; try < CONFLICT_TRIES; try++) {
		status = 0;
		r = send_object(publication, object, &status);
		if (status != 409)
			break;
	}
	return r;
}

/* The first success, and the end of a failure; the next failure is news then. */
static void tell_success(struct publication *publication)
{
	if (!publication->has_published)
		complain("published the topology of %s", publication->options.node);
	else if (*publication->told)
		complain("the topology of %s is published again", publication->options.node);
	publication->has_published = true;
	publication->told[0] = '\0';
}

/* One look at the agent; what is new or due is sent. 0, -EIO (reported), -ENOMEM. */
static int look(struct publication *publication)
{
	struct text object cleanup_text = {0};
	int r = read_topology(publication, &object);

	if (r)
		return r;
	if (publication->published.data && !strcmp(publication->published.data, object.data) &&
	    now_s() < publication->refresh_due_s) {
		/* What failed was the question, and the API server has the answer already. */
		tell_success(publication);
		return 0;
	}
	/* Whatever becomes of it, what the server has is unknown meanwhile. */
	text_fini(&publication->published);
	r = publish(publication, &object);
	if (r)
		return r;
	tell_success(publication);
	publication->published = object;
	object = (struct text){0};
	publication->refresh_due_s = now_s() + spread_ms(publication->options.refresh_s) / 1000;
	return 0;
}

static void wait_ms(uint64_t ms)
{
	const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

	nanosleep(&time, NULL);
}

static int run(struct publication *publication)
{
	uint64_t back_off_s = 1;
	int r;

	for (;;) {
		r = look(publication);
		if (r == -ENOMEM)
			fail(publication, "out of memory");
		if (publication->options.once)
			return r ? EXIT_FAILED : EXIT_DONE;
		wait_ms(r ? spread_ms(back_off_s) : publication->options.interval_s * 1000);
		back_off_s = r ? back_off_s * 2 : 1;
		if (back_off_s > BACK_OFF_MAX_S)
			back_off_s = BACK_OFF_MAX_S;
	}
}

/* --- the command line ----------------------------------------------------------------------------- */

static int parse_seconds(const char *name, const char *text, unsigned long most,
			 unsigned long *ret_seconds)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < 1 || value > most) {
		complain("invalid --%s '%s': expected 1 to %lu seconds", name, text, most);
		return -EINVAL;
	}
	*ret_seconds = value;
	return 0;
}

/* 0 = go on; else exit with *ret_exit. */
static int parse_options(int argc, char **argv, struct publisher_options *options, int *ret_exit)
{
	enum { NODE = 256, SOURCE, SERVER, CREDENTIALS, INTERVAL, REFRESH, ONCE };
	static const struct option longs[] = {
		{"node", required_argument, NULL, NODE},
		{"source", required_argument, NULL, SOURCE},
		{"server", required_argument, NULL, SERVER},
		{"credentials", required_argument, NULL, CREDENTIALS},
		{"interval", required_argument, NULL, INTERVAL},
		{"refresh", required_argument, NULL, REFRESH},
		{"once", no_argument, NULL, ONCE},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, r = 0;

	*ret_exit = EXIT_USAGE;
	*options = (struct publisher_options){
		.node = getenv("NODE_NAME"),
		.source = SOURCE_DEFAULT,
		.credentials = CREDENTIALS_DEFAULT,
		.interval_s = 10,
		.refresh_s = 300,
	};
	while ((option = getopt_long(argc, argv, "Vh", longs, NULL)) != -1) {
		switch (option) {
		case NODE:
			options->node = optarg;
			break;
		case SOURCE:
			options->source = optarg;
			break;
		case SERVER:
			options->server = optarg;
			break;
		case CREDENTIALS:
			options->credentials = optarg;
			break;
		case INTERVAL:
			r = parse_seconds("interval", optarg, 3600, &options->interval_s);
			break;
		case REFRESH:
			r = parse_seconds("refresh", optarg, 86400, &options->refresh_s);
			break;
		case ONCE:
			options->once = true;
			break;
		case 'V':
			printf("pinfold-publisher %s\n", PINFOLD_VERSION);
			*ret_exit = EXIT_DONE;
			return 1;
		case 'h':
			fputs(usage_text, stdout);
			*ret_exit = EXIT_DONE;
			return 1;
		default:
			fputs(usage_text, stderr);
			return 1;
		}
		if (r)
			return 1;
	}
	if (optind < argc) {
		complain("unexpected argument '%s': expected options only", argv[optind]);
		return 1;
	}
	return 0;
}

/* The object's URL at the API server: of the command line, or where Kubernetes tells pods to look. */
static int choose_url(const struct publisher_options *options, char url[URL_MAX])
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	char server[URL_MAX];
	int len;

	if (options->server)
		snprintf(server, sizeof(server), "%s", options->server);
	else if (host && port)
		snprintf(server, sizeof(server),
			 strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	else {
		complain(
			"no API server is known: give --server, or run pinfold-publisher in a pod");
		return -EINVAL;
	}
	if (strncmp(server, "https://", strlen("https://"))) {
		complain("invalid --server '%s': expected an https URL, because a token is sent",
			 server);
		return -EINVAL;
	}
	len = snprintf(url, URL_MAX,
		       "%s/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/%s"
		       "?fieldManager=pinfold&force=true",
		       server, options->node);
	if (len >= URL_MAX) {
		complain("invalid --server: it is too long");
		return -EINVAL;
	}
	return 0;
}

/* As process 1 of a container it would not even end by a signal that it does not handle. */
static void end(int signal)
{
	_exit(EXIT_DONE);
}

static void publication_fini(struct publication *publication)
{
	text_fini(&publication->published);
}
#define cleanup_publication cleanup(publication_fini)

int main(int argc, char **argv)
{
	struct publication publication cleanup_publication = {0};
	const struct sigaction ending = {.sa_handler = end};
	int status;

	if (parse_options(argc, argv, &publication.options, &status))
		return status;
	if (!publication.options.node || !node_name_is_valid(publication.options.node)) {
		complain("invalid --node '%.80s': expected the name of the Kubernetes node",
			 publication.options.node ? publication.options.node : "");
		return EXIT_USAGE;
	}
	if (choose_url(&publication.options, publication.url))
		return EXIT_USAGE;
	if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
		complain("cannot initialise libcurl");
		return EXIT_FAILED;
	}
	sigaction(SIGTERM, &ending, NULL);
	sigaction(SIGINT, &ending, NULL);
	return run(&publication);
}
