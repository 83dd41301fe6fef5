// SPDX-License-Identifier: Apache-2.0
/*
 * Walks the cgroup tree by descriptors and reads the files of what the names say is a pod or a
 * container. The whole tree is walked, because --cgroup-root may put kubepods anywhere. Not
 * entered are containers, which may nest cgroups as they like, and pinfold's own root.
 *
 * A cgroup that disappears during the walk is not an error: the next scan does not see it.
 */
#include "discover/scan.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <pinfold/names.h>

#include "lib/file.h"
#include "lib/text.h"

#define PATH_SIZE 2048

struct scan_walk {
	struct node_scan *scan;
	struct cpuset exclusive; /* tasks of the host that may use them are counted */
	cpu_set_t *mask;	 /* CPUSET_MAX bits */
	uint32_t nr_visits, nr_tasks;
	char path[PATH_SIZE]; /* of the cgroup at work, below the mount, without a leading slash */
	int error;	      /* -ENOMEM */
};

/* --- problems --------------------------------------------------------------------------------- */

static bool is_gone(int error)
{
	/* A file of a cgroup that was removed after it was opened gives ENODEV. */
	return error == -ENOENT || error == -ENODEV;
}

/* Only the first is told: the others have most likely the same cause. */
static void __attribute__((format(printf, 2, 3)))
note_problem(struct scan_walk *walk, const char *format, ...)
{
	struct discovery *found = &walk->scan->found;
	va_list args;

	if (found->is_incomplete)
		return;
	va_start(args, format);
	found->is_incomplete = true;
	vsnprintf(found->problem, sizeof(found->problem), format, args);
	va_end(args);
}

static void note_error(struct scan_walk *walk, const char *what, int error)
{
	if (error == -ENOMEM) {
		walk->error = error;
	} else if (!is_gone(error)) {
		walk->scan->found.is_partial = true;
		note_problem(walk, "%s /%.200s: %s", what, walk->path, strerror(-error));
	}
}

/* --- files of a cgroup ------------------------------------------------------------------------ */

/* NULL if there is no such file, which is normal where a controller is not enabled. */
static char *read_text(struct scan_walk *walk, int fd, const char *name)
{
	char *text = NULL;
	int r = file_read_line(fd, name, &text);

	if (r && r != -EOPNOTSUPP)
		note_error(walk, "cannot read a file of", r);
	return r ? NULL : text;
}

/* -1 if there is no such file or it has no number. */
static int64_t read_number(struct scan_walk *walk, int fd, const char *name)
{
	char *text cleanup_free = read_text(walk, fd, name);

	return text && isdigit((unsigned char)*text) ? strtoll(text, NULL, 10) : -1;
}

static int64_t stat_ns(const char *text, const char *key)
{
	const size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, key, len) && at[len] == ' ')
			return (int64_t)strtoull(at + len, NULL, 10) * 1000;
	}
	return -1;
}

static void read_stat(struct scan_walk *walk, int fd, struct discovered_cgroup *row)
{
	char *text cleanup_free = read_text(walk, fd, "cpu.stat");

	if (!text)
		return;
	row->run_ns = stat_ns(text, "usage_usec");
	row->throttled_ns = stat_ns(text, "throttled_usec");
}

static bool has_comm(struct scan_walk *walk, long pid, const char *wanted)
{
	char path[PATH_SIZE], *comm cleanup_free = NULL;

	snprintf(path, sizeof(path), "%s/%ld/comm", walk->scan->proc_dir, pid);
	return !file_read_line(AT_FDCWD, path, &comm) && !strcmp(comm, wanted);
}

/*
 * The sandbox holds the pod's namespaces: one process named pause, which only sleeps. Nothing
 * in the cgroup's name tells it from other containers, and the kubelet does not pin it.
 */
static bool is_sandbox(struct scan_walk *walk, int fd)
{
	static const char *const files[] = {"cgroup.procs", "container/cgroup.procs"};
	long pid = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *text cleanup_free = read_text(walk, fd, files[i]);

		if (!text || !*text)
			continue;
		/* One line is one process. */
		if (pid || strchr(text, '\n'))
			return false;
		pid = strtol(text, NULL, 10);
	}
	return pid > 0 && has_comm(walk, pid, "pause");
}

/* NULL with the walk's error set = no memory. */
static char *copy(struct scan_walk *walk, const char *text)
{
	char *copied = strdup(text);

	if (!copied)
		walk->error = -ENOMEM;
	return copied;
}

/*
 * The bundle is trusted only if it states the pod that the cgroup is in. It also says what the
 * sandbox is, which is otherwise seen from its process.
 */
static void read_bundle(struct scan_walk *walk, struct discovered_cgroup *row)
{
	const struct bundle *bundle = NULL;

	if (!row->name.has_qos)
		return;
	row->names = DISCOVERED_NAMES_UNKNOWN;
	if (row->name.kind == KUBEPODS_CONTAINER)
		bundle = bundles_find(walk->scan->bundles, row->name.id);
	if (!bundle || strcmp(bundle->uid, row->name.uid) || !*bundle->namespace || !*bundle->pod)
		return;
	if (bundle->kind == BUNDLE_SANDBOX) {
		row->name.kind = KUBEPODS_SANDBOX;
	} else if (!*bundle->container) {
		return;
	} else {
		row->container = copy(walk, bundle->container);
		row->cpu_request_mcpu = pod_mcpu_of_shares(bundle->cpu_shares);
		row->made_shares = bundle->cpu_shares;
		row->made_quota_us = bundle->cpu_quota_us;
		row->made_period_us = bundle->cpu_period_us;
		row->made_memory_bytes = bundle->memory_bytes;
	}
	row->namespace = copy(walk, bundle->namespace);
	row->pod = copy(walk, bundle->pod);
	row->names = DISCOVERED_NAMES_READ;
}

static void read_cgroup(struct scan_walk *walk, int fd, const struct kubepods_name *name)
{
	struct discovered_cgroup *row;
	struct stat status;
	int r = discovery_add(&walk->scan->found, walk->path, &row);

	if (r) {
		walk->error = r == -ENOMEM ? r : walk->error;
		return;
	}
	row->name = *name;
	row->cgroup_id = fstat(fd, &status) ? 0 : status.st_ino;
	read_bundle(walk, row);
	if (name->kind == KUBEPODS_CONTAINER && row->names != DISCOVERED_NAMES_READ &&
	    is_sandbox(walk, fd))
		row->name.kind = KUBEPODS_SANDBOX;
	row->cpus = read_text(walk, fd, "cpuset.cpus");
	row->effective_cpus = read_text(walk, fd, "cpuset.cpus.effective");
	row->mems = read_text(walk, fd, "cpuset.mems");
	row->effective_mems = read_text(walk, fd, "cpuset.mems.effective");
	row->cpu_max = read_text(walk, fd, "cpu.max");
	row->memory_max = read_text(walk, fd, "memory.max");
	row->cpu_weight = read_number(walk, fd, "cpu.weight");
	row->tasks = read_number(walk, fd, "pids.current");
	read_stat(walk, fd, row);
}

/* --- tasks of the host ------------------------------------------------------------------------ */

static void judge_task(struct scan_walk *walk, long pid)
{
	struct discovered_tasks *tasks = &walk->scan->found.host_tasks;
	const size_t size = CPU_ALLOC_SIZE(CPUSET_MAX);
	char path[PATH_SIZE], *comm cleanup_free = NULL;
	bool may_run = false;

	/* ESRCH: it has ended meanwhile. */
	if (pid <= 0 || sched_getaffinity((pid_t)pid, size, walk->mask))
		return;
	cpuset_for_each (cpu, &walk->exclusive) {
		if (!CPU_ISSET_S(cpu, size, walk->mask))
			continue;
		cpuset_add(&tasks->cpus, cpu);
		may_run = true;
	}
	if (!may_run || tasks->nr++)
		return;
	tasks->pid = (uint32_t)pid;
	snprintf(path, sizeof(path), "%s/%ld/comm", walk->scan->proc_dir, pid);
	if (!file_read_line(AT_FDCWD, path, &comm))
		text_copy(tasks->comm, sizeof(tasks->comm), comm);
	text_copy(tasks->cgroup, sizeof(tasks->cgroup), walk->path);
}

static bool is_host_slice(const char *path)
{
	const size_t len = strcspn(path, "/");

	return (len == 12 && !strncmp(path, "system.slice", len)) ||
	       (len == 10 && !strncmp(path, "user.slice", len));
}

/* cgroup.threads has the threads of the cgroup itself, one id per line. */
static void count_tasks(struct scan_walk *walk, int fd)
{
	char *text cleanup_free = NULL;

	if (cpuset_is_empty(&walk->exclusive) || !is_host_slice(walk->path))
		return;
	text = read_text(walk, fd, "cgroup.threads");
	for (char *at = text, *end; at && *at; at = end + (*end == '\n')) {
		if (walk->nr_tasks++ == SCAN_MAX_TASKS) {
			note_problem(walk, "only the first %d tasks of the host were checked",
				     SCAN_MAX_TASKS);
			return;
		}
		judge_task(walk, strtol(at, &end, 10));
		if (end == at)
			return;
	}
}

/* --- the tree --------------------------------------------------------------------------------- */

/*
 * Watched are the directories in which pods and containers appear. The watch is added before
 * the directory is listed, so nothing appears unnoticed between the two. Adding it again
 * changes nothing, and the kernel removes it with the directory, so none is remembered here.
 */
static void watch_for(struct scan_walk *walk, int fd, uint32_t events)
{
	char path[64];

	if (walk->scan->inotify_fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (inotify_add_watch(walk->scan->inotify_fd, path, events | IN_ONLYDIR) < 0 &&
	    !walk->scan->watch_error)
		walk->scan->watch_error = -errno;
}

static void watch(struct scan_walk *walk, int fd)
{
	watch_for(walk, fd, IN_CREATE | IN_DELETE);
}

static void visit(struct scan_walk *walk, int fd, unsigned int depth);

/* What is in the directory open as `fd`; `name` follows the walk's path. */
static void visit_child(struct scan_walk *walk, int parent_fd, const char *name, unsigned int depth)
{
	const size_t len = strlen(walk->path);
	int fd cleanup_close = -1;

	if (len + strlen(name) + 2 > sizeof(walk->path) || depth == SCAN_MAX_DEPTH) {
		/* No kubelet puts pods there, and anybody may make such cgroups. */
		note_problem(walk, "/%.200s is nested too deeply", walk->path);
		return;
	}
	snprintf(walk->path + len, sizeof(walk->path) - len, "%s%s", len ? "/" : "", name);
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		note_error(walk, "cannot open", -errno);
	else
		visit(walk, fd, depth + 1);
	walk->path[len] = '\0';
}

static void list(struct scan_walk *walk, int fd, unsigned int depth)
{
	DIR *directory cleanup_dir = NULL;
	const struct dirent *entry;
	int r = file_open_dir(fd, ".", &directory);

	if (r) {
		note_error(walk, "cannot list", r);
		return;
	}
	while (!walk->error && (r = file_next_entry(directory, &entry)) > 0) {
		/* cgroupfs has files, directories and no links. */
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (walk->nr_visits == SCAN_MAX_VISITS) {
			walk->scan->found.is_partial = true;
			note_problem(walk, "only the first %d cgroups were visited",
				     SCAN_MAX_VISITS);
			return;
		}
		walk->nr_visits++;
		visit_child(walk, fd, entry->d_name, depth);
	}
	if (r < 0)
		note_error(walk, "cannot list", r);
}

static void note_unknown(struct scan_walk *walk)
{
	struct discovery *found = &walk->scan->found;

	if (!found->nr_unknown++)
		text_copy(found->unknown, sizeof(found->unknown), walk->path);
}

static void visit(struct scan_walk *walk, int fd, unsigned int depth)
{
	struct kubepods_name name;

	switch (kubepods_parse(walk->path, &name)) {
	case KUBEPODS_CONTAINER:
		/* Of the directory: a watch on a file would outlive its cgroup. */
		if (walk->scan->watches_cpusets)
			watch_for(walk, fd, IN_MODIFY);
		read_cgroup(walk, fd, &name);
		return;
	case KUBEPODS_HELPER:
		return;
	case KUBEPODS_UNKNOWN:
		note_unknown(walk);
		return;
	case KUBEPODS_POD:
		watch(walk, fd);
		read_cgroup(walk, fd, &name);
		break;
	case KUBEPODS_PARENT:
		watch(walk, fd);
		break;
	default:
		if (!strcmp(walk->path, PINFOLD_WORKLOAD_ROOT))
			return;
		if (!depth)
			watch(walk, fd);
		count_tasks(walk, fd);
		break;
	}
	list(walk, fd, depth);
}

/* --- the kubelet's files ---------------------------------------------------------------------- */

struct file_reader {
	const char *name;
	enum scan_file index;
	struct discovered_file *file;
	int (*read)(struct discovery *found, const char *data, size_t len);
	int (*keep)(struct discovery *found, const char *data, size_t len);
};

/* The kubelet renames a new file over the old one; an editor may write to it in place. */
static void watch_kubelet(struct node_scan *scan)
{
	if (scan->inotify_fd >= 0 &&
	    inotify_add_watch(scan->inotify_fd, scan->kubelet_dir,
			      IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_ONLYDIR) < 0 &&
	    errno != ENOENT && !scan->watch_error)
		scan->watch_error = -errno;
}

static void keep_data(struct scan_kept *kept, char *data, size_t len)
{
	free(kept->data);
	*kept = (struct scan_kept){data, len};
}

/*
 * Only ENOENT means that there is no file. One that is half written, damaged or unreadable says
 * nothing about what the kubelet decided, so what it said before stands until it says otherwise.
 */
static int read_state(struct node_scan *scan, const struct file_reader *reader)
{
	struct discovered_file *file = reader->file;
	struct scan_kept *kept = &scan->kept[reader->index];
	char path[PATH_SIZE], *data cleanup_free = NULL;
	size_t len;
	int r;

	snprintf(path, sizeof(path), "%s/%s", scan->kubelet_dir, reader->name);
	text_copy(file->path, sizeof(file->path), path);
	r = file_read_path(path, KUBELET_STATE_MAX_BYTES, &data, &len);
	if (r == -ENOENT)
		keep_data(kept, NULL, 0);
	if (r == -ENOENT || r == -ENOMEM)
		return r == -ENOENT ? 0 : r;
	if (r) {
		file->presence = KUBELET_STATE_UNUSABLE;
		snprintf(file->problem, sizeof(file->problem), "cannot read it: %s", strerror(-r));
	} else {
		r = reader->read(&scan->found, data, len);
		if (r)
			return r;
	}
	if (file->presence == KUBELET_STATE_READ)
		keep_data(kept, TAKE_PTR(data), len);
	else if (kept->data)
		return reader->keep(&scan->found, kept->data, kept->len);
	return 0;
}

static int read_states(struct node_scan *scan)
{
	const struct file_reader readers[] = {
		{"cpu_manager_state", SCAN_CPU_STATE, &scan->found.cpu_file, discovery_read_state,
		 discovery_keep_state},
		{"memory_manager_state", SCAN_MEMORY_STATE, &scan->found.memory_file,
		 discovery_read_memory, discovery_keep_memory},
	};
	int r = 0;

	if (!*scan->kubelet_dir)
		return 0;
	watch_kubelet(scan);
	for (size_t i = 0; i < ARRAY_SIZE(readers) && !r; i++)
		r = read_state(scan, &readers[i]);
	return r;
}

/* Without the file the CPUs are unknown, and none is taken to be offline. */
static void read_online(struct node_scan *scan)
{
	char *text cleanup_free = NULL;

	if (!file_read_line(AT_FDCWD, scan->online_file, &text))
		scan->found.online = cpuset_of_text(text);
}

int cgroup_scan_run(struct worker_job *job)
{
	struct node_scan *scan = (struct node_scan *)job;
	cpu_set_t *mask cleanup_free = calloc(1, CPU_ALLOC_SIZE(CPUSET_MAX));
	struct scan_walk walk = {.scan = scan, .mask = mask};
	int fd cleanup_close = open(scan->cgroup_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (!mask)
		return -ENOMEM;
	bundles_begin(scan->bundles);
	walk.error = read_states(scan);
	read_online(scan);
	walk.exclusive = discovery_exclusive(&scan->found);
	if (fd < 0)
		note_problem(&walk, "cannot open %.200s: %s", scan->cgroup_dir, strerror(errno));
	else if (!walk.error)
		visit(&walk, fd, 0);
	scan->found.nr_unread = scan->bundles->nr_left;
	bundles_end(scan->bundles);
	discovery_sort(&scan->found);
	return walk.error ? walk.error : discovery_name_pods(&scan->found);
}

void cgroup_scan_release(struct worker_job *job)
{
	struct node_scan *scan = (struct node_scan *)job;

	discovery_fini(&scan->found);
	for (size_t i = 0; i < SCAN_FILE_NR; i++)
		free(scan->kept[i].data);
	free(scan);
}
