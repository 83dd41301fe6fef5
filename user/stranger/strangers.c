// SPDX-License-Identifier: Apache-2.0
/*
 * The loop's thread begins a walk (worker_begin) and is told of its end. Between two walks single
 * tasks are corrected, on the thread that hears of them.
 */
#include "stranger/strangers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "format/error.h"
#include "lib/file.h"
#include "lib/lock.h"
#include "lib/log.h"
#include "lib/worker.h"
#include "stranger/saved.h"
#include "stranger/walk.h"

/* Paths of groups, which are the keys of other jobs, do not begin with a slash. */
#define STRANGER_KEY "/stranger"

struct strangers {
	int proc_fd;		    /* owned */
	int run_fd;		    /* borrowed */
	struct stranger_note *note; /* owned; NULL = only walks correct */
	char boot_id[64];
	struct worker_pool *pool;
	const struct affinity_calls *calls;
	const struct stranger_sink *sink;

	/* Whoever looks at tasks has the lock; with its priority if a real-time thread waits for it. */
	pthread_mutex_t lock;
	bool is_loaded; /* the file of originals was read */
	struct stranger_table table;
	struct stranger_request
		request; /* of the last walk; owned, without a root = there was none */
	struct stranger_report corrected; /* since then */
	uint64_t busy_until_ns;		  /* corrections have used up their share until then */
};

struct walk_job {
	struct worker_job job; /* first */
	struct strangers *strangers;
	struct stranger_request request; /* owns its texts and owners */
	struct stranger_report report;
};

static int open_proc(const char *root)
{
	const int root_fd cleanup_close = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int proc_fd = root_fd < 0 ? -1
					: openat(root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return proc_fd < 0 ? -errno : proc_fd;
}

/*
 * The tasks that a damaged file named keep what they have: nobody knows what they had before. Those
 * that may run on exclusive CPUs are still found. Damage lasts, so this is 0 like an absent file; an
 * error is worth another attempt.
 */
static int load(int run_fd, const char *boot_id, struct stranger_table *table)
{
	struct format_error error = {0};
	char sentence[FORMAT_ERROR_TEXT_MAX];
	int r = stranger_saved_load(run_fd, boot_id, &error, table);

	if (!r || r == -ENOENT || r == -ESTALE)
		return 0;
	if (r == -EFBIG) {
		log_warn(
			0,
			"stranger: %s is larger than 4 MiB, so it is not read, and nobody is moved "
			"or restored; the version that wrote it can restore what it names",
			PINFOLD_STRANGERS_FILE);
		return r;
	}
	if (r != -EBADMSG)
		return log_warn(r, "stranger: cannot read %s", PINFOLD_STRANGERS_FILE);
	log_warn(
		0,
		"stranger: %s; tasks that an earlier agent kept off exclusive CPUs keep the CPUs they "
		"have, until they are restarted",
		format_error_text(&error, PINFOLD_STRANGERS_FILE, sentence, sizeof(sentence)));
	return 0;
}

static void free_request(struct stranger_request *request)
{
	free((char *)request->workload_root);
	free((struct stranger_owner *)request->owners);
	*request = (struct stranger_request){0};
}

static int copy_request(const struct stranger_request *request, struct stranger_request *copy)
{
	struct stranger_owner *owners = calloc(request->nr_owners + 1, sizeof(*owners));

	*copy = *request;
	copy->workload_root = strdup(request->workload_root);
	copy->owners = owners;
	if (!owners || !copy->workload_root)
		return -ENOMEM;
	if (request->nr_owners)
		memcpy(owners, request->owners, request->nr_owners * sizeof(*owners));
	return 0;
}

/* Without memory for it nobody is corrected before the next walk. */
static void keep_request(struct strangers *strangers, const struct stranger_request *request)
{
	free_request(&strangers->request);
	if (copy_request(request, &strangers->request))
		free_request(&strangers->request);
}

static void add_corrected(struct stranger_report *sum, const struct stranger_report *more)
{
	sum->nr_moved += more->nr_moved;
	sum->nr_failed += more->nr_failed;
	sum->nr_reverted += more->nr_reverted;
	sum->cost_ns += more->cost_ns;
	if (more->wrote_ns > sum->wrote_ns)
		sum->wrote_ns = more->wrote_ns;
	if (!sum->first.thread)
		sum->first = more->first;
}

static struct stranger_context context_of(const struct strangers *strangers)
{
	return (struct stranger_context){strangers->proc_fd, strangers->run_fd, strangers->note,
					 strangers->boot_id, strangers->calls};
}

static int walk_locked(struct walk_job *job)
{
	struct strangers *strangers = job->strangers;
	const struct stranger_context context = context_of(strangers);
	int r;

	if (!strangers->is_loaded) {
		r = load(strangers->run_fd, strangers->boot_id, &strangers->table);
		if (r)
			return r;
		strangers->is_loaded = true;
		if (!strangers->table.nr ||
		    !stranger_saved_save(strangers->run_fd, strangers->boot_id, &strangers->table))
			stranger_note_drop(strangers->note);
	}
	keep_request(strangers, &job->request);
	r = stranger_walk(&context, &job->request, &strangers->table, &job->report);
	if (!r) {
		add_corrected(&job->report, &strangers->corrected);
		strangers->corrected = (struct stranger_report){0};
	}
	return r;
}

static int run_walk(struct worker_job *base)
{
	struct walk_job *job = (struct walk_job *)base;
	const uint64_t begun_ns = stranger_thread_time_ns();
	int r;

	pthread_mutex_lock(&job->strangers->lock);
	r = walk_locked(job);
	pthread_mutex_unlock(&job->strangers->lock);
	if (r)
		job->report.cost_ns = stranger_thread_time_ns() - begun_ns;
	return r;
}

static void walk_ended(struct worker_job *base, int result)
{
	struct walk_job *job = (struct walk_job *)base;

	if (job->strangers->sink)
		job->strangers->sink->walked(job->strangers->sink->self, result, &job->report);
}

static void release(struct worker_job *base)
{
	struct walk_job *job = (struct walk_job *)base;

	stranger_report_fini(&job->report);
	free_request(&job->request);
	free(job);
}

static int begin_walk(void *self, const struct stranger_request *request)
{
	struct strangers *strangers = self;
	struct walk_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->job =
		(struct worker_job){.run = run_walk, .completed = walk_ended, .release = release};
	job->strangers = strangers;
	r = copy_request(request, &job->request);
	if (r) {
		release(&job->job);
		return r;
	}
	return worker_begin(strangers->pool, STRANGER_KEY, &job->job);
}

static void waits_in(void *self, char *ret_text, size_t size)
{
	const struct strangers *strangers = self;

	worker_where(strangers->pool, STRANGER_KEY, ret_text, size);
}

int strangers_open(const struct strangers_options *options, struct strangers **ret_strangers)
{
	struct strangers *strangers = calloc(1, sizeof(*strangers));
	int r;

	if (!strangers)
		return log_err(-ENOMEM, "stranger: cannot prepare to look for strangers");
	strangers->proc_fd = open_proc(options->root);
	if (strangers->proc_fd < 0) {
		r = log_err(strangers->proc_fd, "stranger: cannot open %s/proc", options->root);

		free(strangers);
		return r;
	}
	strangers->run_fd = options->run_fd;
	snprintf(strangers->boot_id, sizeof(strangers->boot_id), "%s", options->boot_id);
	strangers->pool = options->pool;
	strangers->calls = options->calls ? options->calls : &affinity_system_calls;
	r = stranger_note_open(strangers->run_fd, strangers->boot_id, &strangers->note);
	if (r)
		log_warn(r, "stranger: cannot open %s, so only walks move strangers",
			 PINFOLD_STRANGERS_NOTE);
	lock_init_inheriting(&strangers->lock);
	*ret_strangers = strangers;
	return 0;
}

void strangers_close(struct strangers *strangers)
{
	if (!strangers)
		return;
	stranger_table_fini(&strangers->table);
	free_request(&strangers->request);
	pthread_mutex_destroy(&strangers->lock);
	stranger_note_close(strangers->note);
	close(strangers->proc_fd);
	free(strangers);
}

void strangers_listen(struct strangers *strangers, const struct stranger_sink *sink)
{
	strangers->sink = sink;
}

struct stranger_port strangers_port(struct strangers *strangers)
{
	return (struct stranger_port){.self = strangers, .walk = begin_walk, .waits_in = waits_in};
}

/* --- those that were seen ------------------------------------------------------------------------- */

/* Each correction is paid off at 5 % of a CPU; this much may be owed. */
#define CORRECTION_SHARE 20
#define LONGEST_DEBT_NS	 1000000000ULL

static void correct_locked(struct strangers *strangers, const struct noise_stranger *stranger)
{
	const struct stranger_context context = context_of(strangers);
	struct stranger_report report;

	if (stranger->source != NOISE_HOST_TASK || !strangers->request.workload_root ||
	    strangers->request.mode != STRANGER_REPAIR ||
	    strangers->busy_until_ns > stranger->time_ns + LONGEST_DEBT_NS)
		return;
	strangers->request.now_ns = stranger->time_ns;
	stranger_correct(&context, &strangers->request, stranger, &strangers->table, &report);
	add_corrected(&strangers->corrected, &report);
	if (strangers->busy_until_ns < stranger->time_ns)
		strangers->busy_until_ns = stranger->time_ns;
	strangers->busy_until_ns += report.cost_ns * CORRECTION_SHARE;
}

void strangers_correct(void *self, const struct noise_stranger *stranger)
{
	struct strangers *strangers = self;

	pthread_mutex_lock(&strangers->lock);
	correct_locked(strangers, stranger);
	pthread_mutex_unlock(&strangers->lock);
}

/* --- uninstall ----------------------------------------------------------------------------------- */

static int say_unrestored(const struct stranger_report *report)
{
	int r = 0;

	for (uint32_t i = 0; i < report->nr; i++) {
		const struct stranger_row *row = &report->rows[i];

		/* Its owner may have chosen that, so the uninstall does not fail. */
		if (row->state != STRANGER_STATE_FAILED && row->original)
			log_warn(0,
				 "stranger: thread %d (%s) is not restored to CPUs %s, because a "
				 "cpuset or another process lets it use %s only",
				 (int)row->thread, row->comm, row->original, row->affinity);
		if (row->state != STRANGER_STATE_FAILED)
			continue;
		r = log_warn(row->error,
			     "stranger: cannot restore thread %d (%s) to CPUs %s, it may use %s",
			     (int)row->thread, row->comm, row->original ? row->original : "unknown",
			     row->affinity);
	}
	return r;
}

int strangers_restore(const struct strangers_options *options, const struct topology *topology,
		      const char *workload_root)
{
	const int proc_fd cleanup_close = open_proc(options->root);
	const struct stranger_context context = {proc_fd, options->run_fd, NULL, options->boot_id,
						 options->calls ? options->calls
								: &affinity_system_calls};
	struct stranger_request *request cleanup_free = calloc(1, sizeof(*request));
	struct stranger_table table cleanup_stranger_table = {0};
	struct stranger_report report cleanup_stranger_report = {0};
	int r;

	if (!request)
		return -ENOMEM;
	if (proc_fd < 0)
		return log_warn(proc_fd, "stranger: cannot open %s/proc", options->root);
	r = load(options->run_fd, options->boot_id, &table);
	if (r || !table.nr)
		return r;
	request->mode = STRANGER_OBSERVE;
	request->cpus.allowed = request->cpus.online = topology->all;
	request->workload_root = workload_root;
	/* The second walk finds what was made by others while the first one wrote. */
	for (unsigned int i = 0; i < 2; i++) {
		stranger_report_fini(&report);
		r = stranger_walk(&context, request, &table, &report);
		if (r)
			return log_warn(r, "stranger: cannot walk over the tasks");
	}
	return say_unrestored(&report);
}
