// SPDX-License-Identifier: Apache-2.0
/*
 * The table of groups belongs to the pass while one runs, and to nobody between two passes: the
 * loop's thread begins a pass (worker_begin) and is told of its end.
 *
 * What a cpuset cannot hold is only counted: tasks of the root cgroup, which has no list, and
 * kernel threads, which are there.
 */
#include "cgroup/host.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pinfold/names.h>

#include "cgroup/apply.h"
#include "cgroup/drop_ins.h"
#include "cgroup/host_saved.h"
#include "cgroup/kubelets.h"
#include "cgroup/systemd.h"
#include "cgroup/tasks.h"
#include "format/error.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/proc_stat.h"
#include "lib/worker.h"

/* Paths of groups, which are the keys of other jobs, do not begin with a slash. */
#define HOST_KEY "/host"

/* include/linux/sched.h: the flags of kernel threads, and of those that nobody can move. */
#define PF_KTHREAD	  0x00200000
#define PF_NO_SETAFFINITY 0x04000000

#define STATUS_MAX (64U << 10)

struct host {
	struct groups *groups;
	int state_fd;
	char boot_id[64];
	struct worker_pool *pool;
	const struct host_sink *sink;

	/* The pass's: */
	bool is_loaded;		      /* the file was read */
	char problem[ROW_DETAIL_MAX]; /* why it cannot be used; "" = it can */
	struct host_table table;
};

struct host_pass {
	struct groups *groups;
	int state_fd;
	const char *boot_id;
	const struct host_request *request;
	struct host_table *table;
	struct host_report *report;
	struct cpuset possible; /* all CPUs that the machine can have */
	struct cpuset allowed;	/* those that are not taken */
};

/* --- who is left alone --------------------------------------------------------------------------- */

static void note_foreign(struct host_pass *pass, const char *group, const char *why)
{
	struct host_report *report = pass->report;

	if (report->nr_foreign++)
		return;
	snprintf(report->foreign, sizeof(report->foreign), "%.95s", group);
	report->why_foreign = why;
}

/* A group without the file has the root cgroup's CPUs; so has one that cannot be read, perhaps. */
static bool may_use_exclusive(const struct host_pass *pass, int fd)
{
	struct cpuset effective;

	if (cpuset_is_empty(&pass->request->exclusive) || dir_populated(fd) == 0)
		return false;
	return dir_read_list(fd, "cpuset.cpus.effective", &effective) ||
	       cpuset_intersects(&effective, &pass->request->exclusive);
}

static bool is_unit(const struct host_pass *pass, const char *group)
{
	char unit[NAME_MAX + 1], slice[NAME_MAX + 1];

	return !systemd_unit_of(group, unit, slice, sizeof(unit));
}

/* Why this group is somebody else's, whatever list it has; NULL = it is the host's. */
static const char *owner_of(const struct host_pass *pass, const char *group, bool pods)
{
	if (pods || tasks_is_foreign_scope(group))
		return "it belongs to a manager of containers or virtual machines";
	if (pass->groups->manager == &manager_systemd && !is_unit(pass, group))
		return "it is neither a slice nor a scope of systemd";
	return NULL;
}

/* --- deciding ------------------------------------------------------------------------------------ */

static bool is_ours(const struct host_entry *entry, const struct cpuset *now)
{
	return cpuset_is_empty(now) || cpuset_equal(now, &entry->written) ||
	       cpuset_equal(now, &entry->before);
}

/*
 * Before the list is written, because the file must name it first. What is kept beside it is what
 * the kernel has, because an earlier plan may never have been saved or written.
 */
static void plan_list(struct host_pass *pass, struct host_entry *entry, const struct cpuset *cpus)
{
	if (cpuset_equal(&entry->written, cpus))
		return;
	entry->before = entry->now;
	entry->written = *cpus;
	pass->table->is_unsaved = true;
}

/*
 * From now on its list is ours. Of others, and of those that hold pods, it is left alone, which is
 * reported if it lets tasks use exclusive CPUs; then *ret_entry is NULL.
 */
static int take_group(struct host_pass *pass, const char *group, int fd, bool pods,
		      const struct cpuset *now, struct host_entry **ret_entry)
{
	const char *owner = owner_of(pass, group, pods);
	struct host_entry *entry;

	*ret_entry = NULL;
	if (!owner && !cpuset_is_empty(now))
		owner = "another program wrote its cpuset.cpus";
	if (owner) {
		if (!(pods && pass->request->has_runtime) && may_use_exclusive(pass, fd))
			note_foreign(pass, group, owner);
		return 0;
	}
	if (strlen(group) >= sizeof(entry->group))
		return 0;
	entry = host_table_add(pass->table, group);
	if (!entry)
		return -ENOMEM;
	*ret_entry = entry;
	return 0;
}

static int judge_group(struct host_pass *pass, const char *group, int fd)
{
	/* The agent's own runtime writes the lists of a kubelet's pods as the agent tells it. */
	const int pods = kubelets_has_pods(group, fd);
	const bool confines = pass->request->mode == HOST_CONFINE;
	struct host_entry *entry = host_table_find(pass->table, group);
	struct cpuset now = CPUSET_EMPTY;
	int r;

	/* A removed group cannot be listed. */
	if (pods < 0)
		return pods == -ENOENT || pods == -ENODEV ? 0 : pods;
	r = dir_read_list(fd, "cpuset.cpus", &now);
	/* Without the controller there is no list yet. */
	if (r && r != -ENOENT)
		return r == -ENODEV ? 0 : r;
	/* Nobody is kept off anything; an agent that was uninstalled may have left it. */
	if (cpuset_equal(&now, &pass->possible))
		now = CPUSET_EMPTY;
	if (entry && !is_ours(entry, &now)) {
		log_warn(0, "cgroup: another program wrote cpuset.cpus of %s; it is left alone",
			 group);
		host_table_drop(pass->table, entry);
		entry = NULL;
	}
	if (!entry && confines) {
		r = take_group(pass, group, fd, pods, &now, &entry);
		if (r)
			return r;
	}
	if (!entry)
		return 0;
	entry->is_there = true;
	entry->now = now;
	/* It has our list from before a kubelet made its groups there. */
	entry->is_released = pods;
	if (confines && !pods)
		plan_list(pass, entry, &pass->allowed);
	return 0;
}

/* It cannot be opened now, and may have our list. */
static void keep_group(struct host_pass *pass, const char *group)
{
	struct host_entry *entry = host_table_find(pass->table, group);

	if (!entry)
		return;
	entry->is_there = true;
	entry->now = entry->written;
}

static int judge_groups(struct host_pass *pass)
{
	DIR *entries cleanup_dir = NULL;
	const struct dirent *found;
	int root_fd cleanup_close = -1;
	int r;

	for (uint32_t i = 0; i < pass->table->nr; i++)
		pass->table->entries[i].is_there = false;
	r = dir_open_group(&pass->groups->dir, "", &root_fd);
	if (!r)
		r = file_open_dir(root_fd, ".", &entries);
	if (r)
		return r;
	while ((r = file_next_entry(entries, &found)) > 0) {
		int fd cleanup_close = -1;

		if (found->d_name[0] == '.' || found->d_type != DT_DIR ||
		    !strcmp(found->d_name, pass->groups->workload_root))
			continue;
		r = dir_open_group(&pass->groups->dir, found->d_name, &fd);
		if (r) {
			if (r != -ENOENT)
				keep_group(pass, found->d_name);
			continue;
		}
		r = judge_group(pass, found->d_name, fd);
		if (r)
			return r;
	}
	for (uint32_t i = pass->table->nr; !r && i-- > 0;)
		if (!pass->table->entries[i].is_there)
			host_table_drop(pass->table, &pass->table->entries[i]);
	return r;
}

/* --- writing ------------------------------------------------------------------------------------- */

static void note_failure(struct host_pass *pass, const char *error)
{
	if (!pass->report->nr_failed++)
		memcpy(pass->report->failure, error, sizeof(pass->report->failure));
}

static int write_list(struct host_pass *pass, const struct host_entry *entry, char *error)
{
	char list[CPUSET_TEXT_MAX];
	struct step step = {.kind = STEP_WRITE, .file = GROUP_CPUSET_CPUS, .value = list};

	cpuset_format(&entry->written, list, sizeof(list));
	snprintf(step.path, sizeof(step.path), "%s", entry->group);
	return apply_step(pass->groups, &step, error);
}

static bool has_list(int fd, const struct cpuset *list)
{
	struct cpuset now;

	return !dir_read_list(fd, "cpuset.cpus", &now) && cpuset_equal(&now, list);
}

static void confine_group(struct host_pass *pass, const struct host_entry *entry)
{
	char error[GROUP_ERROR_MAX] = "";
	int fd cleanup_close = -1;

	/* The next pass forgets one that has gone. */
	if (dir_open_group(&pass->groups->dir, entry->group, &fd) || has_list(fd, &entry->written))
		return;
	if (write_list(pass, entry, error))
		note_failure(pass, error);
}

/*
 * 0 if the list is empty again, or gone with its group or controller. Up to Linux 6.12 the kernel
 * refuses to empty the list of a group with processes (ENOSPC). Such an entry stays, because the
 * list is still ours. systemd is not told of what the group has then, so that it does not write it
 * again, for example beside a partition.
 */
static int empty_group(struct host_pass *pass, const struct host_entry *entry, char *error)
{
	const struct cpuset none = CPUSET_EMPTY;
	char rest[CPUSET_TEXT_MAX];
	int fd cleanup_close = -1;
	int r = dir_open_group(&pass->groups->dir, entry->group, &fd);

	if (r == -ENOENT || (!r && has_list(fd, &none)))
		return 0;
	if (!r && pass->groups->manager == &manager_systemd && !has_list(fd, &entry->written))
		r = systemd_reset_cpus(pass->groups, entry->group, error);
	if (r)
		return *error ? r : failure(error, r, "%s: %s", entry->group, strerror(-r));
	r = file_write_text(fd, "cpuset.cpus", "");
	if (!r || r == -ENOENT || r == -ENODEV)
		return 0;
	cpuset_format(&entry->written, rest, sizeof(rest));
	if (r == -ENOSPC)
		r = file_write_text(fd, "cpuset.cpus", rest);
	return r ? failure(error, r, "%s/cpuset.cpus: cannot write '%.96s': %s", entry->group, rest,
			   strerror(-r))
		 : -ENOSPC;
}

static void restore_group(struct host_pass *pass, struct host_entry *entry)
{
	char error[GROUP_ERROR_MAX] = "";
	const int r = empty_group(pass, entry, error);

	if (!r)
		host_table_drop(pass->table, entry);
	else if (*error)
		note_failure(pass, error);
}

static bool is_restored(const struct host_pass *pass, const struct host_entry *entry)
{
	return pass->request->mode == HOST_RESTORE || entry->is_released;
}

/* Nothing is written to a group whose list is not in the file yet; undoing needs no entry. */
static void write_groups(struct host_pass *pass)
{
	for (uint32_t i = pass->table->nr; i-- > 0;) {
		struct host_entry *entry = &pass->table->entries[i];

		if (is_restored(pass, entry))
			restore_group(pass, entry);
		else if (!pass->report->error)
			confine_group(pass, entry);
	}
}

/* --- what no list holds -------------------------------------------------------------------------- */

/* Has it ended? That is not an error. */
static bool has_ended(int r)
{
	return r == -ENOENT || r == -ESRCH;
}

/* 1, 0, or a negative errno. */
static int reaches_exclusive(const struct host_pass *pass, pid_t pid)
{
	char path[64], *status cleanup_free = NULL;
	const char *line;
	struct cpuset cpus;
	size_t len;
	int r;

	snprintf(path, sizeof(path), "proc/%d/status", (int)pid);
	r = file_read_all(pass->groups->dir.root_fd, path, STATUS_MAX, &status, &len);
	if (r)
		return has_ended(r) ? 0 : r;
	line = strstr(status, "\nCpus_allowed_list:");
	if (!line)
		return 0;
	line += strlen("\nCpus_allowed_list:");
	line += strspn(line, " \t");
	return !cpuset_parse(line, strcspn(line, "\n"), &cpus) &&
	       cpuset_intersects(&cpus, &pass->request->exclusive);
}

static int count_root_task(struct host_pass *pass, pid_t pid)
{
	struct proc_stat stat;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "proc/%d/stat", (int)pid);
	r = proc_stat_read(pass->groups->dir.root_fd, name, &stat);
	if (r)
		return has_ended(r) ? 0 : r;
	if (stat.flags & PF_NO_SETAFFINITY)
		return 0;
	r = reaches_exclusive(pass, pid);
	if (r <= 0)
		return r;
	if (stat.flags & PF_KTHREAD)
		pass->report->nr_kthreads++;
	else
		pass->report->nr_processes++;
	return 0;
}

/* Eight bytes for each of the 4 Mi that the kernel can have. */
#define ROOT_PIDS_MAX (32U << 20)

/* They are only counted, so without the file the lists are there all the same. */
static int count_root_tasks(struct host_pass *pass)
{
	char *pids cleanup_free = NULL, *end;
	int r = file_read_kernel(pass->groups->dir.mount_fd, "cgroup.procs", ROOT_PIDS_MAX, &pids);

	if (r)
		return r;
	for (char *at = pids; *at && !r; at = end + strspn(end, "\n")) {
		const long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		/* 0 stands for a process of another pid namespace. */
		if (pid)
			r = count_root_task(pass, (pid_t)pid);
	}
	return r;
}

/* --- the pass ------------------------------------------------------------------------------------ */

static int save(struct host_pass *pass)
{
	int r;

	if (!pass->table->is_unsaved)
		return 0;
	r = host_saved_save(pass->state_fd, pass->boot_id, pass->table);
	if (!r)
		pass->table->is_unsaved = false;
	return r;
}

/* What a group gets that cannot be emptied. */
static void plan_rest(struct host_pass *pass)
{
	const struct cpuset *rest = &pass->request->rest;

	if (cpuset_is_empty(rest))
		rest = &pass->possible;
	for (uint32_t i = 0; i < pass->table->nr; i++)
		if (is_restored(pass, &pass->table->entries[i]))
			plan_list(pass, &pass->table->entries[i], rest);
}

static int read_possible(struct host_pass *pass)
{
	char *possible cleanup_free = NULL;
	int r = file_read_line(pass->groups->dir.root_fd, "sys/devices/system/cpu/possible",
			       &possible);

	if (!r)
		r = cpuset_parse(possible, strlen(possible), &pass->possible);
	if (r)
		return r;
	pass->allowed = pass->possible;
	cpuset_subtract(&pass->allowed, &pass->request->taken);
	return pass->request->mode == HOST_CONFINE && cpuset_is_empty(&pass->allowed) ? -ERANGE : 0;
}

static int run_host_pass(struct host_pass *pass)
{
	const bool confines = pass->request->mode == HOST_CONFINE;
	int r = confines || pass->table->nr ? read_possible(pass) : 0;

	if (!r)
		r = judge_groups(pass);
	if (r)
		return r;
	plan_rest(pass);
	pass->report->error = save(pass);
	write_groups(pass);
	if (!pass->report->error)
		pass->report->error = save(pass);
	pass->report->nr_held = pass->table->nr;
	if (confines && !cpuset_is_empty(&pass->request->exclusive))
		pass->report->count_error = count_root_tasks(pass);
	return 0;
}

/* --- the port ------------------------------------------------------------------------------------ */

struct host_job {
	struct worker_job job; /* first */
	struct host *host;
	struct host_request request;
	struct host_report report;
};

/*
 * Lists of an earlier agent would pass for another owner's if its file were ignored. Only damage
 * lasts; a file that cannot be read now is tried again by the next pass.
 */
static int load(struct host *host)
{
	struct format_error error = {0};
	char sentence[FORMAT_ERROR_TEXT_MAX];
	int r;

	if (host->is_loaded)
		return 0;
	r = host_saved_load(host->state_fd, host->boot_id, &error, &host->table);
	if (r && r != -ENOENT && r != -ESTALE && r != -EBADMSG)
		return log_warn(r, "cgroup: cannot read %s", PINFOLD_HOST_FILE);
	if (r == -EBADMSG)
		snprintf(host->problem, sizeof(host->problem), "%.300s",
			 format_error_text(&error, PINFOLD_HOST_FILE, sentence, sizeof(sentence)));
	host->is_loaded = true;
	return 0;
}

static int run_pass(struct worker_job *base)
{
	struct host_job *job = (struct host_job *)base;
	struct host *host = job->host;
	struct host_pass pass = {
		.groups = host->groups,
		.state_fd = host->state_fd,
		.boot_id = host->boot_id,
		.request = &job->request,
		.table = &host->table,
		.report = &job->report,
	};
	int r = load(host);

	if (r)
		return r;
	if (*host->problem) {
		job->report.error = -EBADMSG;
		memcpy(job->report.problem, host->problem, sizeof(host->problem));
		return 0;
	}
	return run_host_pass(&pass);
}

static void pass_ended(struct worker_job *base, int result)
{
	struct host_job *job = (struct host_job *)base;

	if (job->host->sink)
		job->host->sink->passed(job->host->sink->self, result, &job->report);
}

static int begin_pass(void *self, const struct host_request *request)
{
	struct host *host = self;
	struct host_job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->job = (struct worker_job){.run = run_pass, .completed = pass_ended};
	job->host = host;
	job->request = *request;
	return worker_begin(host->pool, HOST_KEY, &job->job);
}

static void waits_in(void *self, char *ret_text, size_t size)
{
	const struct host *host = self;

	worker_where(host->pool, HOST_KEY, ret_text, size);
}

int host_open(const struct host_options *options, struct host **ret_host)
{
	struct host *host = calloc(1, sizeof(*host));

	if (!host)
		return log_err(-ENOMEM, "cgroup: cannot prepare to hold the cgroups of the host");
	host->groups = options->groups;
	host->state_fd = options->state_fd;
	snprintf(host->boot_id, sizeof(host->boot_id), "%s", options->boot_id);
	host->pool = options->pool;
	*ret_host = host;
	return 0;
}

void host_close(struct host *host)
{
	if (!host)
		return;
	host_table_fini(&host->table);
	free(host);
}

void host_listen(struct host *host, const struct host_sink *sink)
{
	host->sink = sink;
}

struct host_port host_port(struct host *host)
{
	return (struct host_port){.self = host, .pass = begin_pass, .waits_in = waits_in};
}

/* --- uninstall ----------------------------------------------------------------------------------- */

/* Not while the agent runs: a reload puts into force whatever unit files somebody is editing. */
static void forget_drop_ins(struct groups *groups)
{
	char error[GROUP_ERROR_MAX] = "";

	if (groups->manager == &manager_systemd && drop_ins_remove(groups->dir.root_fd) &&
	    systemd_reload(groups, error))
		log_warn(0, "cgroup: %s; run 'systemctl daemon-reload'", error);
}

int host_restore(const struct host_options *options)
{
	struct host_request *request cleanup_free = calloc(1, sizeof(*request));
	struct host_table table cleanup_host_table = {0};
	struct host_report report = {0};
	struct host_pass pass = {
		.groups = options->groups,
		.state_fd = options->state_fd,
		.boot_id = options->boot_id,
		.request = request,
		.table = &table,
		.report = &report,
	};
	struct format_error error = {0};
	char sentence[FORMAT_ERROR_TEXT_MAX];
	int r;

	if (!request)
		return -ENOMEM;
	request->mode = HOST_RESTORE;
	r = host_saved_load(options->state_fd, options->boot_id, &error, &table);
	if (r == -ENOENT || r == -ESTALE)
		return 0;
	if (r == -EBADMSG)
		return log_warn(0,
				"cgroup: %s; the CPU lists of the host's groups are not restored: "
				"restart the machine, or write them yourself and remove the file",
				format_error_text(&error, PINFOLD_HOST_FILE, sentence,
						  sizeof(sentence))),
		       r;
	if (r)
		return log_warn(r, "cgroup: cannot read %s", PINFOLD_HOST_FILE);
	r = run_host_pass(&pass);
	if (r)
		return log_warn(r, "cgroup: cannot restore the CPU lists of the host's groups");
	forget_drop_ins(options->groups);
	return report.nr_failed ? log_warn(0, "cgroup: %s", report.failure), -EIO : 0;
}
