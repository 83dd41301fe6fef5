// SPDX-License-Identifier: Apache-2.0
/* When to scan: at the start, after a change, and regularly in case a change raised no event. */
#include "discover/discover.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>

#include <pinfold/names.h>

#include "discover/scan.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/text.h"

/* One starting container makes and writes several cgroups. */
#define SETTLE_USEC (100 * 1000ULL)
/* A cpuset that somebody writes raises no event here, unless cpusets are watched. */
#define RESCAN_USEC (10 * 1000000ULL)
/*
 * Pause this many times as long as the last scan took, counted from its end, but no longer than
 * between two regular scans: what is found may get only so old before the node is unknown
 * (ctl/discovered.c), and a scan that took long has most likely waited, not worked.
 */
#define PAUSE_FACTOR 19
#define SCAN_KEY     "discover"
/* The files whose writers matter. */
#define CPUSET_PREFIX "cpuset."

struct discover {
	const struct discovery_sink *sink;
	sd_event *event;
	struct worker_pool *pool;
	sd_event_source *watch, *settle, *rescan;
	int inotify_fd;
	char *cgroup_dir, *proc_dir, *online_file, *kubelet_dir, *runtime_dir;
	struct bundles bundles;
	char bundle_problem[ROW_DETAIL_MAX]; /* as last reported */
	bool is_scanning, again, watches_cpusets;
	int watch_error; /* as last reported */
	uint64_t began_usec, ended_usec, took_usec;
	struct scan_kept kept[SCAN_FILE_NR]; /* between two scans */
};

/* --- the end of a scan ------------------------------------------------------------------------ */

static void tell_watch(struct discover *discover, int error)
{
	if (error && error != discover->watch_error)
		log_warn(error, "discover: cannot watch all cgroups, so changes are found every "
				"10 s only; raise fs.inotify.max_user_watches");
	discover->watch_error = error;
}

static void tell_bundles(struct discover *discover)
{
	const char *problem = discover->bundles.problem;

	if (*problem && text_is_news(discover->bundle_problem, problem))
		log_warn(0, "discover: the names of a container are unknown: cannot use %s",
			 problem);
	text_copy(discover->bundle_problem, sizeof(discover->bundle_problem), problem);
}

static void move_kept(struct scan_kept to[SCAN_FILE_NR], struct scan_kept from[SCAN_FILE_NR])
{
	for (size_t i = 0; i < SCAN_FILE_NR; i++)
		to[i] = (struct scan_kept){TAKE_PTR(from[i].data), from[i].len};
}

static void end_scan(struct node_scan *scan, int result)
{
	struct discover *discover = scan->discover;

	discover->is_scanning = false;
	discover->ended_usec = clock_monotonic_usec();
	discover->took_usec = discover->ended_usec - discover->began_usec;
	move_kept(discover->kept, scan->kept);
	tell_watch(discover, scan->watch_error);
	tell_bundles(discover);
	if (result)
		log_err(result, "discover: waiting for the next scan");
	else
		discover->sink->discovered(discover->sink->self, &scan->found);
}

uint64_t discover_pause_usec(uint64_t took_usec, uint64_t passed_usec)
{
	uint64_t pause = took_usec * PAUSE_FACTOR;

	if (pause > RESCAN_USEC)
		pause = RESCAN_USEC;
	if (pause < passed_usec + SETTLE_USEC)
		return SETTLE_USEC;
	return pause - passed_usec;
}

static void scan_soon(struct discover *discover)
{
	int enabled = SD_EVENT_OFF;

	if (!discover->event)
		return;
	/* Not put off by further events, or a busy node would never be scanned. */
	sd_event_source_get_enabled(discover->settle, &enabled);
	if (enabled != SD_EVENT_OFF)
		return;
	sd_event_source_set_time_relative(
		discover->settle,
		discover_pause_usec(discover->took_usec,
				    clock_monotonic_usec() - discover->ended_usec));
	sd_event_source_set_enabled(discover->settle, SD_EVENT_ONESHOT);
}

static void scan_ended(struct worker_job *job, int result)
{
	struct node_scan *scan = (struct node_scan *)job;
	struct discover *discover = scan->discover;

	end_scan(scan, result);
	if (!discover->again)
		return;
	discover->again = false;
	scan_soon(discover);
}

/* --- its beginning ---------------------------------------------------------------------------- */

static int start_scan(struct discover *discover)
{
	struct node_scan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan)
		return -ENOMEM;
	*scan = (struct node_scan){
		.job = {.run = cgroup_scan_run,
			.completed = scan_ended,
			.release = cgroup_scan_release},
		.discover = discover,
		.cgroup_dir = discover->cgroup_dir,
		.proc_dir = discover->proc_dir,
		.online_file = discover->online_file,
		.kubelet_dir = discover->kubelet_dir,
		.inotify_fd = discover->inotify_fd,
		.watches_cpusets = discover->watches_cpusets,
		.bundles = &discover->bundles,
	};
	move_kept(scan->kept, discover->kept);
	discover->is_scanning = true;
	discover->began_usec = clock_monotonic_usec();
	r = worker_run(discover->pool, SCAN_KEY, &scan->job);
	if (r == -EINPROGRESS)
		return 0;
	end_scan(scan, r);
	cgroup_scan_release(&scan->job);
	return r == -ENOMEM ? r : 0;
}

int discover_scan(struct discover *discover)
{
	if (!discover->is_scanning)
		return start_scan(discover);
	discover->again = true;
	return 0;
}

/* --- events ----------------------------------------------------------------------------------- */

static int on_settled(sd_event_source *source, uint64_t usec, void *data)
{
	struct discover *discover = data;

	if (discover_scan(discover))
		log_err(-ENOMEM, "discover: waiting for the next scan");
	return 0;
}

static int on_rescan(sd_event_source *source, uint64_t usec, void *data)
{
	scan_soon(data);
	sd_event_source_set_time_relative(source, RESCAN_USEC);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/*
 * The kernel says that memory.events of a container was modified whenever it is short of memory,
 * which is no reason to scan.
 */
static bool is_news(const struct inotify_event *event)
{
	return !(event->mask & IN_MODIFY) ||
	       (event->len && !strncmp(event->name, CPUSET_PREFIX, strlen(CPUSET_PREFIX)));
}

/* Which directory changed does not matter, as everything is scanned again. */
static int on_change(sd_event_source *source, int fd, uint32_t events, void *data)
{
	char buffer[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len = read(fd, buffer, sizeof(buffer)); /* the rest keeps it readable */
	bool has_news = false;

	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *event = (const struct inotify_event *)(buffer + at);

		has_news |= is_news(event);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	if (has_news)
		scan_soon(data);
	return 0;
}

static int add_sources(struct discover *discover)
{
	int r;

	discover->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (discover->inotify_fd < 0)
		tell_watch(discover, -errno);
	r = sd_event_add_time_relative(discover->event, &discover->settle, CLOCK_MONOTONIC,
				       SETTLE_USEC, 0, on_settled, discover);
	if (r >= 0)
		r = sd_event_source_set_enabled(discover->settle, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(discover->event, &discover->rescan, CLOCK_MONOTONIC,
					       RESCAN_USEC, 0, on_rescan, discover);
	if (r >= 0 && discover->inotify_fd >= 0)
		r = sd_event_add_io(discover->event, &discover->watch, discover->inotify_fd,
				    EPOLLIN, on_change, discover);
	return r < 0 ? r : 0;
}

/* --- the port --------------------------------------------------------------------------------- */

static void port_scan_soon(void *self)
{
	struct discover *discover = self;

	/* What a scan that runs has read already may be older than the request. */
	if (discover->is_scanning)
		discover->again = true;
	else
		scan_soon(discover);
}

struct discovery_port discover_port(struct discover *discover)
{
	return (struct discovery_port){discover, port_scan_soon};
}

/* --- life ------------------------------------------------------------------------------------- */

void discover_close(struct discover *discover)
{
	if (!discover)
		return;
	sd_event_source_disable_unref(discover->watch);
	sd_event_source_disable_unref(discover->settle);
	sd_event_source_disable_unref(discover->rescan);
	cleanup_close_fd(&discover->inotify_fd);
	free(discover->cgroup_dir);
	free(discover->proc_dir);
	free(discover->online_file);
	free(discover->kubelet_dir);
	bundles_fini(&discover->bundles);
	free(discover->runtime_dir);
	for (size_t i = 0; i < SCAN_FILE_NR; i++)
		free(discover->kept[i].data);
	free(discover);
}
DEFINE_CLEANUP(struct discover, discover_closep, discover_close);
#define cleanup_discover cleanup(discover_closep)

/* A path below the movable root; NULL = no memory. */
static char *below(const char *root, const char *path)
{
	char *text;

	return asprintf(&text, "%s%s", strcmp(root, "/") ? root : "", path) < 0 ? NULL : text;
}

int discover_open(const struct discover_options *options, struct discover **ret_discover)
{
	struct discover *discover cleanup_discover = calloc(1, sizeof(*discover));
	int r;

	if (!discover)
		return -ENOMEM;
	discover->inotify_fd = -1;
	discover->sink = options->sink;
	discover->event = options->event;
	discover->pool = options->pool;
	discover->watches_cpusets = options->watches_cpusets;
	discover->cgroup_dir = below(options->root, PINFOLD_CGROUP_MOUNT);
	discover->proc_dir = below(options->root, "/proc");
	discover->online_file = below(options->root, "/sys/devices/system/cpu/online");
	discover->kubelet_dir = strdup(options->kubelet_dir);
	discover->runtime_dir = strdup(options->runtime_dir);
	discover->bundles.state_dir = discover->runtime_dir;
	if (!discover->cgroup_dir || !discover->proc_dir || !discover->online_file ||
	    !discover->kubelet_dir || !discover->runtime_dir)
		return -ENOMEM;
	r = discover->event ? add_sources(discover) : 0;
	if (r)
		return r;
	*ret_discover = TAKE_PTR(discover);
	return 0;
}
