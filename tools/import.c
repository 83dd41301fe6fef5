// SPDX-License-Identifier: Apache-2.0
/*
 * state import: a state file for the agent out of what a kubelet left. The plan
 * is made and shown first; the file is written last, whole, under the agent's own
 * lock and only where none is.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <pinfold/names.h>

#include "kubelet/import.h"
#include "lib/file.h"
#include "snapshot.h"

struct import {
	struct session *session;
	struct snapshot snapshot;
	bool has_cpu, has_memory;
	struct kubelet_cpu_state cpu;
	struct kubelet_memory_state memory;
	const char *file; /* of the CPU state; borrowed */
};

static void import_fini(struct import *import)
{
	snapshot_fini(&import->snapshot);
	kubelet_cpu_state_fini(&import->cpu);
	kubelet_memory_state_fini(&import->memory);
}
#define cleanup_import cleanup(import_fini)

/* --- the kubelet's files ---------------------------------------------------------------------- */

static int report_twice(struct import *import, const char *file, const char *what)
{
	return out_fail(import->session, STATUS_USAGE, "%s is a second %s; give only one of each",
			file, what);
}

/* The machine state stands in one of the two only, under a name no CPU state has. */
static bool is_memory_state(const char *data)
{
	return strstr(data, "\"machineState\"") != NULL;
}

/*
 * Whatever some kubelet left is taken over, unless the configuration names a release whose
 * layouts are known to be stricter than that.
 */
static struct kubelet reader_of(const struct import *import, const char *policy)
{
	const struct policy *configured = &import->snapshot.config->policy;

	if (configured->compatibility == COMPATIBILITY_KUBELET_1_37)
		return (struct kubelet){KUBELET_1_37, configured->pod_level_managers, policy};
	return (struct kubelet){KUBELET_ANY, true, policy};
}

static int read_file(struct import *import, const char *file)
{
	enum kubelet_fault fault = KUBELET_FAULT_NONE;
	struct kubelet kubelet;
	char *data cleanup_free = NULL;
	char error[320] = "";
	size_t len;
	int r;

	r = source_read(import->session, file, KUBELET_STATE_MAX_BYTES, &data, &len);
	if (r)
		return r;
	if (is_memory_state(data)) {
		if (import->has_memory)
			return report_twice(import, file, "memory_manager_state");
		import->has_memory = true;
		kubelet = reader_of(import, "Static");
		r = kubelet_memory_state_read(data, len, &kubelet, &import->memory, &fault, error,
					      sizeof(error));
	} else {
		if (import->has_cpu)
			return report_twice(import, file, "cpu_manager_state");
		import->has_cpu = true;
		import->file = file;
		kubelet = reader_of(import, "static");
		r = kubelet_cpu_state_read(data, len, &kubelet, &import->cpu, &fault, error,
					   sizeof(error));
	}
	if (r == -ENOMEM)
		return out_no_memory(import->session);
	if (r)
		return out_fail(import->session, STATUS_INPUT, "%s: %s: %s", file,
				kubelet_fault_name(fault), error);
	if (*error)
		out_note("%s: %s", file, error);
	return STATUS_DONE;
}

static int read_files(struct import *import, int argc, char **argv)
{
	int r = STATUS_DONE;

	for (int i = 0; i < argc && !r; i++)
		r = read_file(import, argv[i]);
	if (!r && !import->has_cpu)
		r = out_fail(import->session, STATUS_INPUT,
			     "none of these files is a cpu_manager_state, which names the pods; "
			     "add it");
	return r;
}

/* An empty ledger under this machine's configuration. */
static int open_empty(struct import *import)
{
	import->session->options.state = "none";
	return snapshot_open(import->session, 0, &import->snapshot);
}

static int fill_ledger(struct import *import)
{
	struct session *session = import->session;
	char error[320] = "";
	int r;

	r = kubelet_import(import->snapshot.ledger, &import->cpu,
			   import->has_memory ? &import->memory : NULL, error, sizeof(error));
	if (r == -ENOMEM)
		return out_no_memory(session);
	return r ? out_fail(session, STATUS_INPUT, "%s: %s", import->file, error) : STATUS_DONE;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* A directory of ours as the agent wants it; made where it is missing. */
static int open_own(struct session *session, const char *what, const char *path, int *ret_fd)
{
	int fd cleanup_close = -1;
	struct stat status;

	if (mkdir(path, 0700) && errno != EEXIST)
		return out_fail(session, STATUS_FAILED, "cannot create %s %s: %s", what, path,
				strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &status))
		return out_fail(session, errno == EACCES ? STATUS_PERMISSION : STATUS_FAILED,
				"cannot open %s %s: %s", what, path, strerror(errno));
	if (status.st_uid != geteuid() || (status.st_mode & 022))
		return out_fail(session, STATUS_PERMISSION,
				"cannot use %s %s: it belongs to uid %u and has mode %04o; make "
				"yourself its owner, and remove write permission for group and "
				"others",
				what, path, status.st_uid, status.st_mode & 07777);
	*ret_fd = TAKE_FD(fd);
	return STATUS_DONE;
}

/* Held until the program ends: no agent starts while the file is being written. */
static int take_lock(struct import *import, int *ret_fd)
{
	const char *directory = import->snapshot.config->runtime_directory;
	struct session *session = import->session;
	int dir_fd cleanup_close = -1, fd cleanup_close = -1;
	char *path cleanup_free = NULL;
	int r = snapshot_path(session, directory, "", &path);

	if (!r)
		r = open_own(session, "runtimeDirectory", path, &dir_fd);
	if (r)
		return r;
	fd = openat(dir_fd, PINFOLD_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return out_fail(session, STATUS_FAILED, "cannot open %s/%s: %s", path,
				PINFOLD_LOCK_FILE, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB))
		return out_fail(session, STATUS_FINDING,
				"pinfoldd is running (it holds %s/%s) and would overwrite the "
				"import; stop it first, or show the plan with --dry-run",
				path, PINFOLD_LOCK_FILE);
	*ret_fd = TAKE_FD(fd);
	return STATUS_DONE;
}

static int read_boot_id(struct session *session, char **ret_boot_id)
{
	char *path cleanup_free = source_path(session, "/proc/sys/kernel/random/boot_id");
	int r;

	if (!path)
		return out_no_memory(session);
	r = file_read_line(AT_FDCWD, path, ret_boot_id);
	return r ? out_fail(session, STATUS_FAILED, "%s: %s", path, strerror(-r)) : STATUS_DONE;
}

/* Where the file goes, with everything that can be in the way out of it. */
struct destination {
	char *directory, *boot_id;
	int lock_fd, dir_fd;
};

static void destination_fini(struct destination *destination)
{
	cleanup_close_fd(&destination->lock_fd);
	cleanup_close_fd(&destination->dir_fd);
	free(destination->directory);
	free(destination->boot_id);
}
#define cleanup_destination cleanup(destination_fini)

static int take_destination(struct import *import, struct destination *destination)
{
	struct session *session = import->session;
	int r = take_lock(import, &destination->lock_fd);

	if (!r)
		r = snapshot_path(session, import->snapshot.config->state_directory, "",
				  &destination->directory);
	if (!r)
		r = open_own(session, "stateDirectory", destination->directory,
			     &destination->dir_fd);
	if (!r)
		r = read_boot_id(session, &destination->boot_id);
	if (r)
		return r;
	if (!faccessat(destination->dir_fd, PINFOLD_STATE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) ||
	    errno != ENOENT)
		return out_fail(session, STATUS_FINDING,
				"%s/%s already exists, so the agent has its own pods; remove the "
				"file if they are not needed",
				destination->directory, PINFOLD_STATE_FILE);
	return STATUS_DONE;
}

static int write_state(struct import *import, const struct destination *destination)
{
	struct session *session = import->session;
	struct text text cleanup_text = {0};
	int r;

	state_encode(import->snapshot.ledger, destination->boot_id, &text);
	r = text.error ? text.error
		       : file_replace(destination->dir_fd, PINFOLD_STATE_FILE, text.data, text.len);
	if (r)
		return out_fail(session, STATUS_FAILED, "%s/%s: %s", destination->directory,
				PINFOLD_STATE_FILE, strerror(-r));
	out_note("wrote %u pod%s to %s/%s; when pinfoldd starts, it releases each "
		 "pod for which no manifest with its uid exists",
		 ledger_nr_pods(import->snapshot.ledger),
		 ledger_nr_pods(import->snapshot.ledger) == 1 ? "" : "s", destination->directory,
		 PINFOLD_STATE_FILE);
	return STATUS_DONE;
}

static int show_plan(const struct import *import)
{
	return out_object(import->session, &view_pod_desc,
			  view_pods(import->snapshot.ledger, NULL));
}

int state_import(struct session *session, int argc, char **argv)
{
	struct import import cleanup_import = {.session = session};
	struct destination destination cleanup_destination = {.lock_fd = -1, .dir_fd = -1};
	int r;

	if (argc < 2 || !is_prefix(argv[0], "kubelet"))
		return out_fail(session, STATUS_USAGE,
				"invalid arguments: expected 'state "
				"import kubelet FILE…'");
	if (session->options.state || (session->options.topology && !session->options.dry_run))
		return out_fail(session, STATUS_USAGE,
				"'state import' writes this machine's own state file; remove "
				"--state, and use --topology only with --dry-run");
	r = open_empty(&import);
	if (!r)
		r = read_files(&import, argc - 1, argv + 1);
	if (!r && !import.has_memory)
		out_note("no memory_manager_state was given, so the memory of the pods is "
			 "unknown: 1Pi is recorded for each until a manifest specifies it");
	if (!r)
		r = fill_ledger(&import);
	if (!r && !session->options.dry_run)
		r = take_destination(&import, &destination);
	if (!r)
		r = show_plan(&import);
	return r || session->options.dry_run ? r : write_state(&import, &destination);
}
