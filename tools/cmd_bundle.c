// SPDX-License-Identifier: Apache-2.0
/*
 * bundle: all that somebody else needs to understand a node, in one file. It reads only. Each part is
 * gathered by a process that may fail or hang without harm to the others: the objects are what this
 * program prints for each `show`. What cannot be had is listed with its reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <pinfold/names.h>

#include "archive.h"
#include "clock.h"
#include "gather.h"
#include "inspect.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "redact.h"
#include "snapshot.h"

#define FOLDER	    "pinfold-bundle/"
#define MAX_MEMBERS 64
#define MAX_TOTAL   (64U << 20) /* before compression */
#define LOG_LINES   "5000"
/* A question to the agent, journalctl, and reading the cgroups. */
#define TIMEOUT_MS 15000
/*
 * All questions together, first to the agent and then to files: an agent that takes ten seconds for
 * each is as bad as one that hangs.
 */
#define TOTAL_MS 60000
/* Not a socket, so nobody listens there. */
#define NO_SOCKET "/dev/null"

struct member {
	char name[64];
	struct json_object *json; /* owned; NULL = text */
	struct text text;
	bool has_names;	 /* "name" is somebody's name in it */
	bool is_own_all; /* it has nobody's names: the programs and the versions */
};

struct gap {
	char name[64], reason[512];
};

struct support_bundle {
	struct session *session;
	struct redaction *redaction; /* NULL = all as it is */
	struct member members[MAX_MEMBERS];
	size_t nr_members;
	struct gap missing[MAX_MEMBERS];
	size_t nr_missing;
	uint64_t created_ns;
	int64_t deadline_ms; /* of all questions */
	bool is_hung;	     /* the agent did not answer, and is not asked any more */
};

static void bundle_free(struct support_bundle **bundle)
{
	if (!*bundle)
		return;
	for (size_t i = 0; i < (*bundle)->nr_members; i++) {
		json_object_put((*bundle)->members[i].json);
		text_fini(&(*bundle)->members[i].text);
	}
	redaction_free((*bundle)->redaction);
	free(*bundle);
}
#define cleanup_bundle cleanup(bundle_free)

static void miss(struct support_bundle *bundle, const char *name, const char *reason)
{
	struct gap *gap = &bundle->missing[bundle->nr_missing];

	if (bundle->nr_missing == MAX_MEMBERS)
		return;
	bundle->nr_missing++;
	snprintf(gap->name, sizeof(gap->name), "%s", name);
	snprintf(gap->reason, sizeof(gap->reason), "%s", reason);
}

/* NULL = there are too many, which is noted. */
static struct member *add(struct support_bundle *bundle, const char *name)
{
	struct member *member = &bundle->members[bundle->nr_members];

	if (bundle->nr_members == MAX_MEMBERS) {
		miss(bundle, name, "the bundle is full");
		return NULL;
	}
	bundle->nr_members++;
	snprintf(member->name, sizeof(member->name), "%s", name);
	return member;
}

/* *takes* json. */
static struct member *add_json(struct support_bundle *bundle, const char *name,
			       struct json_object *json)
{
	struct member *member = json ? add(bundle, name) : NULL;

	if (!json)
		miss(bundle, name, strerror(ENOMEM));
	if (member)
		member->json = json;
	else
		json_object_put(json);
	return member;
}

/* *takes* the text, which stays as it is. */
static struct member *add_plain(struct support_bundle *bundle, const char *name, struct text *text)
{
	struct member *member = add(bundle, name);

	if (!member)
		return NULL;
	member->text = *text;
	*text = (struct text){0};
	return member;
}

/* NULL = the text is not one document, or has more than that: a damaged file must not look sound. */
static struct json_object *parse_document(const struct text *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *json;
	size_t end;

	if (!tokener)
		return NULL;
	json = json_tokener_parse_ex(tokener, text->data, (int)text->len);
	end = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);
	if (!json || end + strspn(text->data + end, " \t\r\n") == text->len)
		return json;
	json_object_put(json);
	return NULL;
}

/* *takes* the text. JSON becomes a document, so that names are found by its keys. */
static struct member *add_text(struct support_bundle *bundle, const char *name, struct text *text)
{
	struct json_object *json = NULL;

	if (text->len && strchr("[{", *text->data))
		json = parse_document(text);
	return json ? add_json(bundle, name, json) : add_plain(bundle, name, text);
}

/* --- what is gathered ------------------------------------------------------------------------- */

/* Why there is nothing to take: what the inspector says itself, or the status. */
static void miss_output(struct support_bundle *bundle, const char *name, int status,
			const struct text *output)
{
	struct json_object *json cleanup_json =
		json_tokener_parse(output->data ? output->data : "");
	struct view_error row = {0};
	char reason[64];

	if (json_object_is_type(json, json_type_object))
		object_read(&view_error_desc, json, &row);
	snprintf(reason, sizeof(reason), "it printed nothing and ended with status %d", status);
	miss(bundle, name, row.error ? row.error : reason);
}

/* Exit status 1 is a finding, and its output as good as any. */
static struct member *take_output(struct support_bundle *bundle, const char *name, int r,
				  int status, struct text *output)
{
	if (!r && status <= STATUS_FINDING && output->len)
		return add_text(bundle, name, output);
	if (r)
		miss(bundle, name, strerror(-r));
	else
		miss_output(bundle, name, status, output);
	return NULL;
}

/* What this program prints for these words; -ETIMEDOUT. Without the agent it reads files. */
static int ask(const struct support_bundle *bundle, const char *noun, const char *command,
	       struct text *output, int *ret_status)
{
	const int64_t left_ms = bundle->deadline_ms - clock_ms();
	const struct options *options = &bundle->session->options;
	const char *socket = bundle->is_hung ? NO_SOCKET : options->socket;
	const char *argv[12] = {"/proc/self/exe"};
	int nr = 1;

	if (left_ms <= 0)
		return -ETIMEDOUT;
	if (options->root) {
		argv[nr++] = "--root";
		argv[nr++] = options->root;
	}
	if (socket) {
		argv[nr++] = "--socket";
		argv[nr++] = socket;
	}
	if (options->bpffs) {
		argv[nr++] = "--bpffs";
		argv[nr++] = options->bpffs;
	}
	argv[nr++] = "--json";
	argv[nr++] = noun;
	argv[nr] = command;
	return gather_command((char *const *)argv, left_ms < TIMEOUT_MS ? left_ms : TIMEOUT_MS,
			      output, ret_status);
}

/* Once: whatever else is asked would wait as long. */
static void give_up_agent(struct support_bundle *bundle)
{
	static const char reason[] =
		"it did not answer in time and was not asked again; the bundle "
		"contains what the files say";

	bundle->is_hung = true;
	bundle->deadline_ms = clock_ms() + TOTAL_MS;
	miss(bundle, "agent", reason);
	out_note("agent: %s", reason);
}

static struct member *gather_own(struct support_bundle *bundle, const char *name, const char *noun,
				 const char *command)
{
	struct text output cleanup_text = {0};
	int status = 0, r = ask(bundle, noun, command, &output, &status);

	if (r == -ETIMEDOUT && !bundle->is_hung) {
		give_up_agent(bundle);
		text_fini(&output);
		r = ask(bundle, noun, command, &output, &status);
	}
	if (!r && bundle->is_hung && status == STATUS_UNREACHABLE) {
		miss(bundle, name, "only the agent knows it");
		return NULL;
	}
	return take_output(bundle, name, r, status, &output);
}

static const char *const named_nouns[] = {"pod", "container"};
static const char *const own_nouns[] = {"prog", "version"};

static bool is_one_of(const char *word, const char *const *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(word, words[i]))
			return true;
	}
	return false;
}

static void gather_object(struct support_bundle *bundle, const char *noun, const char *command)
{
	struct member *member;
	char name[64];

	snprintf(name, sizeof(name), "objects/%s-%s.json", noun, command);
	member = gather_own(bundle, name, noun, command);
	if (!member)
		return;
	member->has_names = is_one_of(noun, named_nouns, ARRAY_SIZE(named_nouns));
	member->is_own_all = is_one_of(noun, own_nouns, ARRAY_SIZE(own_nouns));
}

/* As Prometheus reads it: a text within the JSON that also says why there is none. */
static void gather_metrics(struct support_bundle *bundle)
{
	struct member *member = gather_own(bundle, "metrics.prom", "metrics", "show");
	struct json_object *page;

	if (!member)
		return;
	page = json_object_object_get(member->json, KEY_METRICS);
	if (!page)
		return;
	text_append(&member->text, json_object_get_string(page));
	json_object_put(member->json);
	member->json = NULL;
}

/* A new object with a `show` is in the bundle without a line here. */
static void gather_objects(struct support_bundle *bundle)
{
	for (const struct noun *const *noun = bundle->session->nouns; *noun; noun++) {
		const struct command *command = (*noun)->commands;

		if (strcmp(command->name, "show") || *noun == &noun_metrics ||
		    *noun == &noun_schema)
			continue;
		gather_object(bundle, (*noun)->name, "show");
	}
	gather_object(bundle, "prog", "maps");
	gather_object(bundle, "container", "placement");
	gather_object(bundle, "pod", "refused");
	gather_metrics(bundle);
}

static void gather_file(struct support_bundle *bundle, const char *name, const char *path,
			bool has_names)
{
	struct text text cleanup_text = {0};
	struct member *member;
	size_t len;
	int r = file_read_path(path, GATHER_MAX_BYTES, &text.data, &len);

	if (r) {
		miss(bundle, name, strerror(-r));
		return;
	}
	text.len = len;
	member = bundle->redaction ? add_text(bundle, name, &text) : add_plain(bundle, name, &text);
	if (member)
		member->has_names = has_names;
}

/* The directory that the configuration names; the usual one if that cannot be read. */
static char *find_state_directory(const struct support_bundle *bundle)
{
	struct session session = {.nouns = bundle->session->nouns,
				  .options = bundle->session->options};
	char *file cleanup_free = NULL, *slash;
	bool present;
	int r;

	/* its failure is that of state-show as well, which says it */
	session.options.json = true;
	r = snapshot_find_state(&session, &file, &present);
	json_object_put(session.result);
	slash = r ? NULL : strrchr(file, '/');
	if (!slash)
		return source_path(bundle->session, PINFOLD_STATE_DIR);
	*slash = '\0';
	return TAKE_PTR(file);
}

static void gather_files(struct support_bundle *bundle)
{
	static const char *const files[] = {PINFOLD_STATE_FILE, PINFOLD_ORIGINALS_FILE,
					    PINFOLD_IRQS_FILE};
	char *config cleanup_free = source_path(bundle->session, PINFOLD_CONFIG_FILE);
	char *directory cleanup_free = find_state_directory(bundle);
	char *strangers cleanup_free =
		source_path(bundle->session, PINFOLD_RUNTIME_DIR "/" PINFOLD_STRANGERS_FILE);

	if (config)
		gather_file(bundle, "config.yaml", config, false);
	for (size_t i = 0; i < ARRAY_SIZE(files) && directory; i++) {
		char *path cleanup_free = NULL;
		char name[64];

		if (asprintf(&path, "%s/%s", directory, files[i]) < 0)
			path = NULL;
		snprintf(name, sizeof(name), "state/%s", files[i]);
		if (path)
			gather_file(bundle, name, path, i == 0);
	}
	if (strangers)
		gather_file(bundle, "run/" PINFOLD_STRANGERS_FILE, strangers, false);
}

static void gather_log(struct support_bundle *bundle)
{
	struct text output cleanup_text = {0};
	const char *argv[] = {"journalctl",
			      "--unit=pinfoldd.service",
			      "--lines=" LOG_LINES,
			      "--output=short-unix",
			      "--no-hostname",
			      "--no-pager",
			      "--quiet",
			      NULL,
			      NULL};
	char *root cleanup_free = NULL;
	int status = 0, r;

	if (bundle->session->options.root &&
	    asprintf(&root, "--root=%s", bundle->session->options.root) < 0)
		root = NULL;
	argv[7] = root;
	r = gather_command((char *const *)argv, TIMEOUT_MS, &output, &status);
	take_output(bundle, "journal.txt", r, status, &output);
}

static void gather_tree(struct support_bundle *bundle)
{
	char *mount cleanup_free = source_path(bundle->session, PINFOLD_CGROUP_MOUNT);
	size_t nr_left_out = 0;
	struct json_object *values cleanup_json = NULL;
	int r = mount ? gather_cgroups(mount, TIMEOUT_MS, &values, &nr_left_out) : -ENOMEM;
	char reason[96];

	if (r) {
		miss(bundle, "cgroups.json",
		     r == -ETIMEDOUT ? "they could not be read in time; another process may hold "
				       "the lock of a cgroup's directory"
				     : strerror(-r));
		return;
	}
	if (nr_left_out) {
		snprintf(reason, sizeof(reason), "it contains only %u of %zu cgroups",
			 GATHER_MAX_CGROUPS, GATHER_MAX_CGROUPS + nr_left_out);
		miss(bundle, "cgroups.json", reason);
		out_note("cgroups.json: %s", reason);
	}
	if (!json_object_object_length(values))
		miss(bundle, "cgroups.json", "no cgroup of pinfold, a pod or a container exists");
	else
		add_json(bundle, "cgroups.json", TAKE_PTR(values));
}

static void gather_all(struct support_bundle *bundle)
{
	struct member *kernel = add_json(bundle, "kernel.json", gather_kernel());

	bundle->deadline_ms = clock_ms() + TOTAL_MS;
	if (kernel)
		kernel->is_own_all = true;
	gather_objects(bundle);
	gather_files(bundle);
	gather_tree(bundle);
	gather_log(bundle);
}

/* --- redaction -------------------------------------------------------------------------------- */

static int learn_host(struct redaction *redaction)
{
	char host[256] = "";
	char *dot;
	int r;

	if (gethostname(host, sizeof(host) - 1) || !*host)
		return 0;
	r = redaction_add(redaction, "host", host);
	dot = strchr(host, '.');
	if (r || !dot)
		return r;
	*dot = '\0';
	return redaction_add(redaction, "host", host);
}

/* A damaged file may have zeros, which stay. */
static int redact_text(struct redaction *redaction, struct text *original)
{
	struct text text = {0};

	for (size_t i = 0; i < original->len; i++) {
		redaction_text(redaction, original->data + i, &text);
		i += strlen(original->data + i);
		if (i < original->len)
			text_append_len(&text, "", 1);
	}
	text_fini(original);
	*original = text;
	return text.error;
}

static int redact_member(struct redaction *redaction, struct member *member)
{
	struct json_object *json;

	if (member->is_own_all)
		return 0;
	if (!member->json)
		return redact_text(redaction, &member->text);
	json = redaction_json(redaction, member->json, member->has_names);
	if (!json)
		return -ENOMEM;
	json_object_put(member->json);
	member->json = json;
	return 0;
}

/* All names first: a word in the first member may be a name in the last one. */
static int redact_all(struct support_bundle *bundle)
{
	int r = learn_host(bundle->redaction);

	for (size_t i = 0; i < bundle->nr_members && !r; i++)
		r = redaction_learn(bundle->redaction, bundle->members[i].json,
				    bundle->members[i].has_names);
	for (size_t i = 0; i < bundle->nr_members && !r; i++)
		r = redact_member(bundle->redaction, &bundle->members[i]);
	for (size_t i = 0; i < bundle->nr_missing && !r; i++) {
		struct gap *gap = &bundle->missing[i];
		struct text text cleanup_text = {0};

		redaction_text(bundle->redaction, gap->reason, &text);
		r = text.error;
		if (!r)
			snprintf(gap->reason, sizeof(gap->reason), "%s",
				 text.data ? text.data : "");
	}
	return r;
}

/* --- the file --------------------------------------------------------------------------------- */

/* JSON becomes text, and what does not fit is left out. */
static int finish_members(struct support_bundle *bundle)
{
	size_t total = 0, kept = 0;

	for (size_t i = 0; i < bundle->nr_members; i++) {
		struct member *member = &bundle->members[i];

		if (member->json)
			text_printf(&member->text, "%s\n",
				    json_object_to_json_string_ext(
					    member->json, JSON_C_TO_STRING_PRETTY |
								  JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(member->json);
		member->json = NULL;
		if (member->text.error)
			return member->text.error;
		if (total + member->text.len > MAX_TOTAL) {
			miss(bundle, member->name, "the bundle would become larger than 64 MiB");
			text_fini(&member->text);
			continue;
		}
		total += member->text.len;
		bundle->members[kept++] = *member;
		if (kept <= i)
			*member = (struct member){0};
	}
	bundle->nr_members = kept;
	return 0;
}

/* `file` NULL = as the bundle itself has it. NULL = no memory. */
static struct json_object *describe(const struct support_bundle *bundle, const char *file)
{
	struct view_bundle_member members[MAX_MEMBERS];
	struct view_bundle_gap missing[MAX_MEMBERS];

	for (size_t i = 0; i < bundle->nr_members; i++)
		members[i] = (struct view_bundle_member){bundle->members[i].name,
							 bundle->members[i].text.len};
	for (size_t i = 0; i < bundle->nr_missing; i++)
		missing[i] = (struct view_bundle_gap){bundle->missing[i].name,
						      bundle->missing[i].reason};
	return view_bundle(&(struct view_bundle){
		.file = file,
		.created_ns = bundle->created_ns,
		.redacted = bundle->redaction != NULL,
		.revision = program_revision,
		.members = members,
		.nr_members = bundle->nr_members,
		.missing = missing,
		.nr_missing = bundle->nr_missing,
	});
}

static int write_members(struct archive *archive, const struct support_bundle *bundle)
{
	struct json_object *manifest cleanup_json = describe(bundle, NULL);
	const char *text = manifest ? json_object_to_json_string_ext(
					      manifest, JSON_C_TO_STRING_PRETTY |
								JSON_C_TO_STRING_NOSLASHESCAPE)
				    : NULL;
	int r = text ? archive_add(archive, FOLDER "MANIFEST.json", text, strlen(text)) : -ENOMEM;

	for (size_t i = 0; i < bundle->nr_members && !r; i++) {
		const struct member *member = &bundle->members[i];
		char name[sizeof(FOLDER) + sizeof(member->name)];

		snprintf(name, sizeof(name), FOLDER "%s", member->name);
		r = archive_add(archive, name, member->text.data ? member->text.data : "",
				member->text.len);
	}
	return r;
}

static int write_to(int fd, const struct support_bundle *bundle)
{
	struct archive *archive = NULL;
	int r = archive_new(fd, (time_t)(bundle->created_ns / 1000000000), &archive), end;

	if (r)
		return r;
	r = write_members(archive, bundle);
	end = archive_close(archive);
	if (!r)
		r = end;
	return r || !fsync(fd) ? r : -errno;
}

/* Complete and with its name, or not at all; a file of that name stays unless `force`. */
static int write_file(const struct support_bundle *bundle, const char *file, bool force)
{
	char *temporary cleanup_free = NULL;
	int fd cleanup_close = -1;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", file) < 0)
		return -ENOMEM;
	/* mode 0600 from the first byte on */
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = write_to(fd, bundle);
	if (!r && force)
		r = rename(temporary, file) ? -errno : 0;
	else if (!r)
		r = file_rename_new(temporary, file);
	if (r)
		unlink(temporary);
	return r;
}

/* A signal that would end the process waits for the file, so that no temporary one is left behind. */
static int write_whole(const struct support_bundle *bundle, const char *file, bool force)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t blocked, before;
	int r;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaddset(&blocked, ends[i]);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	r = write_file(bundle, file, force);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

static int report_write(struct session *session, const char *file, int error)
{
	if (error == -EEXIST)
		return out_fail(session, STATUS_INPUT,
				"%s: the file exists; name another with --output, or replace it "
				"with --force",
				file);
	if (error == -ENOMEM)
		return out_no_memory(session);
	return out_fail(session,
			error == -EACCES || error == -EPERM ? STATUS_PERMISSION : STATUS_FAILED,
			"cannot write %s: %s; name another file with --output", file,
			strerror(-error));
}

/* --- command ---------------------------------------------------------------------------------- */

static void usual_name(char *name, size_t size)
{
	const time_t now = time(NULL);
	struct tm utc;

	strftime(name, size, "pinfold-bundle-%Y%m%dT%H%M%SZ.tar.gz", gmtime_r(&now, &utc));
}

static int make(struct session *session, const char *file)
{
	struct support_bundle *bundle cleanup_bundle = calloc(1, sizeof(*bundle));
	int r = 0;

	if (!bundle)
		return out_no_memory(session);
	bundle->session = session;
	bundle->created_ns = clock_read_ns(CLOCK_REALTIME);
	if (!(session->options.flags & OPTION_NO_REDACT)) {
		bundle->redaction = redaction_new();
		if (!bundle->redaction)
			return out_no_memory(session);
	}
	gather_all(bundle);
	if (bundle->redaction)
		r = redact_all(bundle);
	if (!r)
		r = finish_members(bundle);
	if (!r)
		r = write_whole(bundle, file, session->options.flags & OPTION_FORCE);
	if (r)
		return report_write(session, file, r);
	return out_object(session, &view_bundle_desc, describe(bundle, file));
}

/*
 * Before all is gathered; the rename decides. The rename would replace a device, such as /dev/null, or
 * a link, such as /dev/stdout, by a file, so --force is for regular files.
 */
static int check_file(struct session *session, const char *file)
{
	struct stat status;

	if (lstat(file, &status))
		return errno == ENOENT ? STATUS_DONE : report_write(session, file, -errno);
	if (!S_ISREG(status.st_mode))
		return out_fail(session, STATUS_INPUT,
				"%s: not a regular file, so it is not replaced; name another file "
				"with --output",
				file);
	return session->options.flags & OPTION_FORCE ? STATUS_DONE
						     : report_write(session, file, -EEXIST);
}

static int bundle_create(struct session *session, int argc, char **argv)
{
	const unsigned int both = OPTION_REDACT | OPTION_NO_REDACT;
	char usual[64];
	const char *file = session->options.output;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	if ((session->options.flags & both) == both)
		return out_fail(session, STATUS_USAGE,
				"--redact and --no-redact exclude each other; give one of them");
	usual_name(usual, sizeof(usual));
	file = file ? file : usual;
	r = check_file(session, file);
	return r ? r : make(session, file);
}

static const struct command bundle_commands[] = {
	{"create", NULL, "",
	 "Write everything that describes this node to a .tar.gz, with pseudonyms for names.",
	 bundle_create},
	{0},
};

const struct noun noun_bundle = {
	.name = "bundle",
	.help = "A support bundle: the state of this node in one file.",
	.commands = bundle_commands,
	.options = OPTION_OUTPUT | OPTION_REDACT | OPTION_NO_REDACT | OPTION_FORCE,
};
