// SPDX-License-Identifier: Apache-2.0
/*
 * One request is open at a time, as a runtime has it, so answers come in the order of the requests.
 * Writes are one queue in the order of the answers: who has to leave CPUs is written before who gets
 * them. A scan may have read a file before it was written, so what it found is only compared if it surely
 * began after the last write.
 */
#include "runtime/kubepods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "lib/text.h"
#include "runtime/found.h"

/* The scan that runs when a write ends may have read the file before; the one after it has not. */
#define SCANS_AFTER_WRITE 2

enum progress {
	CONTAINER_NEW,	 /* the controller does not know it */
	CONTAINER_ASKED, /* its request is open */
	CONTAINER_KNOWN,
};

enum container_file { FILE_CPUS, FILE_MEMS, FILE_NR };

static const enum group_file group_files[FILE_NR] = {GROUP_CPUSET_CPUS, GROUP_CPUSET_MEMS};

struct cpuset_file {
	struct cpuset found;  /* at the last scan; empty = nothing */
	struct cpuset wanted; /* empty = as it is */
	bool was_written;     /* it had the wanted value once, so another one is somebody's */
	bool is_repair;	      /* what somebody wrote is being put back */
	bool has_failed;      /* which was logged */
};

struct container {
	uint64_t cgroup_id; /* not used again by the kernel before the next boot */
	char id[KUBEPODS_ID_MAX], uid[POD_UID_MAX], path[GROUP_PATH_MAX];
	struct found_request request;
	enum progress progress;
	struct cpuset_file files[FILE_NR];
	int64_t run_ns; /* CPU time at the last scan before its CPUs were written; -1 = unknown */
	uint32_t nr_scans; /* since its files were last written */
	bool is_alive;	   /* its cgroup exists */
	bool had_company;  /* another container of the pod ran at the same time */
	bool is_resized;   /* its amounts are others than the controller knows */
	bool is_due_again; /* it was refused, and there is more room now */
	bool is_missing;   /* when it was last written, there was no such cgroup or file */
};

struct kubepods {
	struct kubepods_options options;
	uint32_t nr, max;
	struct container *containers; /* owned */
	uint32_t nr_pods, max_pods;
	char (*pods)[POD_UID_MAX]; /* owned: those that the controller knows */

	bool is_synchronized;
	bool wants_changes;		/* what is due to any container is to be asked for */
	bool is_asking;			/* the controller is being called */
	uint32_t request, last_request; /* 0 = none is open */
	/* Of the container that the open request is about; "" = about none. */
	char asked_id[KUBEPODS_ID_MAX], asked_uid[POD_UID_MAX];
	char late_uid[POD_UID_MAX]; /* a pod that ended while its request was open; "" = none */

	bool is_writing;
	uint32_t nr_queued, max_queued;
	struct cpuset_write *queue; /* owned */
};

/* Room for one more element. */
static int grow(void **array, uint32_t nr, uint32_t *max, size_t size)
{
	const uint32_t wanted = *max ? 2 * *max : 16;
	void *more;

	if (nr < *max)
		return 0;
	more = reallocarray(*array, wanted, size);
	if (!more)
		return -ENOMEM;
	*array = more;
	*max = wanted;
	return 0;
}

/* --- who is known --------------------------------------------------------------------------------- */

static struct container *find_id(struct kubepods *kubepods, const char *id)
{
	for (uint32_t i = 0; i < kubepods->nr; i++)
		if (!strcmp(kubepods->containers[i].id, id))
			return &kubepods->containers[i];
	return NULL;
}

static struct container *find_cgroup(struct kubepods *kubepods, uint64_t cgroup_id)
{
	for (uint32_t i = 0; i < kubepods->nr; i++)
		if (kubepods->containers[i].cgroup_id == cgroup_id)
			return &kubepods->containers[i];
	return NULL;
}

static void drop(struct kubepods *kubepods, struct container *container)
{
	*container = kubepods->containers[--kubepods->nr];
}

static struct cpuset parse(const char *text)
{
	struct cpuset set;

	if (!text || cpuset_parse(text, strlen(text), &set))
		return CPUSET_EMPTY;
	return set;
}

/* --- writes --------------------------------------------------------------------------------------- */

/* The controller's notes and the files may differ from now on, so everything is told anew. */
static void start_over(struct kubepods *kubepods, int error)
{
	log_err(error, "kubepods: the containers are not followed until the next scan");
	kubepods->is_synchronized = false;
	kubepods->options.discovery->scan_soon(kubepods->options.discovery->self);
}

static int queue(struct kubepods *kubepods, const struct container *container,
		 enum container_file file)
{
	struct cpuset_write *write;
	int r = grow((void **)&kubepods->queue, kubepods->nr_queued, &kubepods->max_queued,
		     sizeof(*kubepods->queue));

	if (r)
		return r;
	write = &kubepods->queue[kubepods->nr_queued++];
	*write = (struct cpuset_write){.cgroup_id = container->cgroup_id,
				       .file = group_files[file],
				       .value = container->files[file].wanted};
	text_copy(write->path, sizeof(write->path), container->path);
	return 0;
}

static void write_queue(struct kubepods *kubepods)
{
	const struct cpuset_port *port = kubepods->options.cpusets;
	struct cpuset_write *rows = kubepods->queue;
	const uint32_t nr = kubepods->nr_queued;
	int r;

	if (kubepods->is_writing || !nr)
		return;
	kubepods->queue = NULL;
	kubepods->nr_queued = kubepods->max_queued = 0;
	kubepods->is_writing = true;
	r = port->write(port->self, rows, nr);
	if (!r)
		return;
	kubepods->is_writing = false;
	start_over(kubepods, r);
}

/* NULL or "" = as it is. */
static int set_files(struct kubepods *kubepods, struct container *container, const char *cpus,
		     const char *mems)
{
	const struct cpuset wanted[FILE_NR] = {parse(cpus), parse(mems)};
	int r = 0;

	for (int file = 0; !r && file < FILE_NR; file++) {
		if (cpuset_is_empty(&wanted[file]))
			continue;
		container->files[file].wanted = wanted[file];
		r = queue(kubepods, container, (enum container_file)file);
	}
	return r;
}

/* --- requests ------------------------------------------------------------------------------------- */

static void begin_request(struct kubepods *kubepods, const char *id, const char *uid)
{
	if (!++kubepods->last_request)
		kubepods->last_request = 1;
	kubepods->request = kubepods->last_request;
	text_copy(kubepods->asked_id, sizeof(kubepods->asked_id), id);
	text_copy(kubepods->asked_uid, sizeof(kubepods->asked_uid), uid);
}

/* What the controller takes; the texts are those of the container, and of the buffers. */
struct call {
	struct runtime_pod pod;
	struct runtime_container container;
	char cpus[CPUSET_TEXT_MAX], mems[CPUSET_TEXT_MAX];
};

static void fill_call(const struct container *from, struct call *call)
{
	const struct found_request *request = &from->request;

	call->pod = (struct runtime_pod){.id = from->uid,
					 .spec = request->has_pod ? &request->pod : NULL,
					 .error = request->error};
	cpuset_format(&from->files[FILE_CPUS].found, call->cpus, sizeof(call->cpus));
	cpuset_format(&from->files[FILE_MEMS].found, call->mems, sizeof(call->mems));
	call->container = (struct runtime_container){
		.id = from->id,
		.pod = &call->pod,
		.spec = request->has_container ? &request->container : NULL,
		.error = request->error,
		.cpus = call->cpus,
		.mems = call->mems,
		.cgroup = from->path,
	};
}

static int ask_about(struct kubepods *kubepods, struct container *container)
{
	const struct runtime_sink *sink = kubepods->options.sink;
	/* The rows may move while the controller is called. */
	const struct container copy = *container;
	const bool is_new = container->progress == CONTAINER_NEW;
	struct call *call cleanup_free = malloc(sizeof(*call));

	if (!call)
		return -ENOMEM;
	container->progress = CONTAINER_ASKED;
	container->is_due_again = false;
	fill_call(&copy, call);
	begin_request(kubepods, copy.id, copy.uid);
	if (is_new)
		sink->created(sink->self, kubepods->request, &call->container);
	else if (copy.is_resized)
		sink->resized(sink->self, kubepods->request, &call->container, true);
	else
		sink->retried(sink->self, kubepods->request, &call->container);
	return 0;
}

/* Who waits longest comes first: the kernel counts the ids of cgroups up. */
static struct container *find_due_again(struct kubepods *kubepods)
{
	struct container *first = NULL;

	for (uint32_t i = 0; i < kubepods->nr; i++) {
		struct container *container = &kubepods->containers[i];

		if (container->is_alive && container->is_due_again &&
		    container->progress == CONTAINER_KNOWN &&
		    (!first || container->cgroup_id < first->cgroup_id))
			first = container;
	}
	return first;
}

static struct container *find_asking(struct kubepods *kubepods)
{
	for (uint32_t i = 0; i < kubepods->nr; i++) {
		struct container *container = &kubepods->containers[i];

		if (container->is_alive &&
		    (container->progress == CONTAINER_NEW || container->is_resized))
			return container;
	}
	return find_due_again(kubepods);
}

static bool is_of(const struct container *container, const char *uid)
{
	return !strcmp(container->uid, uid);
}

/* Such a one runs beside others, or while they are down, and takes nobody's place. */
static bool is_ephemeral(const struct container *container)
{
	return container->request.has_container &&
	       !container_has_amounts(&container->request.container);
}

/* Is another container of the pod there that the controller has heard of, or is yet to hear of? */
static bool has_successor(const struct kubepods *kubepods, const struct container *ended)
{
	for (uint32_t i = 0; i < kubepods->nr; i++) {
		const struct container *other = &kubepods->containers[i];
		const bool has_name =
			!strcmp(other->request.container.name, ended->request.container.name);

		/* Whose name is not known yet may be the same one. */
		if (!other->is_alive || !is_of(other, ended->uid) || !other->request.has_container)
			continue;
		/* Its successor takes the grant over before this one leaves it. */
		if (has_name ? other->progress == CONTAINER_KNOWN
			     : !ended->had_company && !is_ephemeral(other))
			return true;
	}
	return false;
}

static bool is_over(const struct kubepods *kubepods, const struct container *container)
{
	return !container->is_alive && container->progress != CONTAINER_ASKED &&
	       (!container->request.has_container || has_successor(kubepods, container));
}

static void end_containers(struct kubepods *kubepods)
{
	const struct runtime_sink *sink = kubepods->options.sink;

	for (uint32_t i = kubepods->nr; i-- > 0;) {
		char id[KUBEPODS_ID_MAX];

		if (!is_over(kubepods, &kubepods->containers[i]))
			continue;
		memcpy(id, kubepods->containers[i].id, sizeof(id));
		drop(kubepods, &kubepods->containers[i]);
		sink->removed(sink->self, id);
		kubepods->wants_changes = true;
	}
}

/* It holds CPUs since the controller decided on its container. */
static void end_late(struct kubepods *kubepods)
{
	const struct runtime_sink *sink = kubepods->options.sink;
	char uid[POD_UID_MAX];

	if (!*kubepods->late_uid)
		return;
	memcpy(uid, kubepods->late_uid, sizeof(uid));
	*kubepods->late_uid = '\0';
	sink->pod_stopped(sink->self, uid);
	kubepods->wants_changes = true;
}

/* 1 = there was something to ask, 0 = there is nothing. */
static int ask_next(struct kubepods *kubepods)
{
	const struct runtime_sink *sink = kubepods->options.sink;
	struct container *container;
	int r;

	end_late(kubepods);
	end_containers(kubepods);
	container = find_asking(kubepods);
	if (container) {
		r = ask_about(kubepods, container);
		return r ? r : 1;
	}
	if (!kubepods->wants_changes)
		return 0;
	kubepods->wants_changes = false;
	begin_request(kubepods, "", "");
	/* A runtime asks so when a container stops: the answer has what is due to all others. */
	sink->stopped(sink->self, kubepods->request, "");
	return 1;
}

static void ask(struct kubepods *kubepods)
{
	int r = 1;

	if (kubepods->is_asking)
		return;
	kubepods->is_asking = true;
	while (r > 0 && kubepods->is_synchronized && !kubepods->request)
		r = ask_next(kubepods);
	kubepods->is_asking = false;
	if (r < 0)
		start_over(kubepods, r);
	write_queue(kubepods);
}

/* --- answers -------------------------------------------------------------------------------------- */

static int take_answer(struct kubepods *kubepods, struct container *asked,
		       const struct runtime_answer *answer)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < answer->nr_changes; i++) {
		const struct runtime_change *change = &answer->changes[i];
		struct container *container = find_id(kubepods, change->container_id);

		if (container && container->is_alive)
			r = set_files(kubepods, container, change->cpus, change->mems);
	}
	if (!asked)
		return r;
	if (answer->refusal)
		log_warn(0, "kubepods: container %.64s goes on as it is: %s", asked->id,
			 answer->refusal);
	asked->progress = CONTAINER_KNOWN;
	asked->is_resized = false;
	return r ? r : set_files(kubepods, asked, answer->cpus, answer->mems);
}

/*
 * The controller is in the middle of its answer, so it is not asked again before it returns, also not when
 * the writes end at once: that is for whoever asked, or for the next scan.
 */
int kubepods_answer(struct kubepods *kubepods, uint32_t request,
		    const struct runtime_answer *answer)
{
	const struct discovery_port *discovery = kubepods->options.discovery;
	const bool was_asking = kubepods->is_asking;
	struct container *asked;
	int r;

	if (!request || request != kubepods->request)
		return -ENOENT;
	asked = find_id(kubepods, kubepods->asked_id);
	kubepods->request = 0;
	if (*kubepods->asked_id && !asked)
		text_copy(kubepods->late_uid, sizeof(kubepods->late_uid), kubepods->asked_uid);
	kubepods->is_asking = true;
	r = take_answer(kubepods, asked, answer);
	if (r)
		kubepods->is_synchronized = false;
	else
		write_queue(kubepods);
	kubepods->is_asking = was_asking;
	if (!was_asking)
		discovery->scan_soon(discovery->self);
	return r;
}

void kubepods_ask_again(struct kubepods *kubepods, const char *container_id)
{
	const struct discovery_port *discovery = kubepods->options.discovery;
	struct container *container = find_id(kubepods, container_id);

	if (!container)
		return;
	container->is_due_again = true;
	if (!kubepods->is_asking)
		discovery->scan_soon(discovery->self);
}

/* That there is no such file is worth a word only if the cgroup is there at the next scan. */
static void note_failure(struct container *container, struct cpuset_file *file,
			 const struct cpuset_write *row)
{
	if (row->result == -ECANCELED)
		return;
	if (row->result == -ENOENT && !container->is_missing) {
		container->is_missing = true;
		return;
	}
	if (!file->has_failed)
		log_warn(0, "kubepods: %s; trying again with each scan", row->error);
	file->has_failed = true;
}

static void note_success(struct kubepods *kubepods, struct container *container,
			 struct cpuset_file *file, const struct cpuset_write *row)
{
	const struct runtime_sink *sink = kubepods->options.sink;
	const bool is_repair = file->is_repair, is_first = !file->was_written;

	file->has_failed = file->is_repair = container->is_missing = false;
	/* A later value is on its way. */
	if (!cpuset_equal(&row->value, &file->wanted))
		return;
	file->was_written = true;
	if (is_repair)
		sink->rewritten(sink->self, container->id, row->file, &row->value);
	if (row->file != GROUP_CPUSET_CPUS)
		return;
	if (is_first && container->run_ns > 0)
		sink->pinned(sink->self, container->id, (uint64_t)container->run_ns);
	/* As a runtime reports that it has carried a resize out. */
	sink->updated(sink->self, container->id);
}

static void end_write(struct kubepods *kubepods, const struct cpuset_write *row)
{
	struct container *container = find_cgroup(kubepods, row->cgroup_id);
	struct cpuset_file *file;

	if (!container)
		return;
	container->nr_scans = 0;
	file = &container->files[row->file == GROUP_CPUSET_CPUS ? FILE_CPUS : FILE_MEMS];
	if (row->result)
		note_failure(container, file, row);
	else
		note_success(kubepods, container, file, row);
}

/* What could not be written is tried again after the next regular scan, not at once. */
void kubepods_written(struct kubepods *kubepods, const struct cpuset_write *rows, uint32_t nr)
{
	const struct discovery_port *discovery = kubepods->options.discovery;
	bool has_written = false;

	kubepods->is_writing = false;
	for (uint32_t i = 0; i < nr; i++) {
		has_written |= !rows[i].result;
		end_write(kubepods, &rows[i]);
	}
	write_queue(kubepods);
	ask(kubepods);
	if (has_written)
		discovery->scan_soon(discovery->self);
}

/* --- scans ---------------------------------------------------------------------------------------- */

static bool same_amounts(const struct container_spec *a, const struct container_spec *b)
{
	return a->request.cpu_mcpu == b->request.cpu_mcpu &&
	       a->limit.cpu_mcpu == b->limit.cpu_mcpu &&
	       a->limit.memory_bytes == b->limit.memory_bytes;
}

static int add(struct kubepods *kubepods, const struct discovered_cgroup *row,
	       struct container **ret_container)
{
	int r = grow((void **)&kubepods->containers, kubepods->nr, &kubepods->max,
		     sizeof(*kubepods->containers));

	if (r)
		return r;
	*ret_container = &kubepods->containers[kubepods->nr++];
	**ret_container = (struct container){.cgroup_id = row->cgroup_id};
	text_copy((*ret_container)->id, sizeof((*ret_container)->id), row->name.id);
	text_copy((*ret_container)->uid, sizeof((*ret_container)->uid), row->name.uid);
	text_copy((*ret_container)->path, sizeof((*ret_container)->path), row->path);
	return 0;
}

static void take_request(struct container *container, const struct found_request *request)
{
	const bool was_valid = container->request.has_container;

	/* What the open request is about stays; the next scan shows the difference to it. */
	if (container->progress == CONTAINER_ASKED)
		return;
	if (container->progress == CONTAINER_KNOWN && !was_valid && request->has_container)
		container->progress = CONTAINER_NEW; /* its bundle can be read now */
	else if (container->progress == CONTAINER_KNOWN && request->has_container &&
		 !same_amounts(&container->request.container, &request->container))
		container->is_resized = true;
	/* Known once, its names stay known. */
	if (!was_valid || request->has_container)
		container->request = *request;
}

static int take_container(struct kubepods *kubepods, const struct discovered_cgroup *row)
{
	struct container *container = find_cgroup(kubepods, row->cgroup_id);
	struct found_request request;
	int r = container ? 0 : add(kubepods, row, &container);

	if (r)
		return r;
	found_request_read(row, &request);
	take_request(container, &request);
	container->is_alive = true;
	container->files[FILE_CPUS].found = parse(row->cpus);
	container->files[FILE_MEMS].found = parse(row->mems);
	if (!container->files[FILE_CPUS].was_written)
		container->run_ns = row->run_ns;
	if (container->nr_scans < SCANS_AFTER_WRITE)
		container->nr_scans++;
	return 0;
}

/* Containers of podman and docker, and those of systemd, are the host's. */
static bool is_container(const struct discovered_cgroup *row)
{
	return row->name.kind == KUBEPODS_CONTAINER && row->name.has_qos && row->cgroup_id;
}

/* Rows are sorted by path, so the containers of a pod follow each other. */
static void note_company(struct kubepods *kubepods, const struct discovery *found)
{
	struct container *before = NULL;

	for (uint32_t i = 0; i < found->nr; i++) {
		struct container *container =
			is_container(&found->rows[i])
				? find_cgroup(kubepods, found->rows[i].cgroup_id)
				: NULL;

		if (!container || is_ephemeral(container))
			continue;
		if (before && is_of(before, container->uid))
			before->had_company = container->had_company = true;
		before = container;
	}
}

static bool has_pod(const struct discovery *found, const char *uid)
{
	for (uint32_t i = 0; i < found->nr; i++)
		if (!strcmp(found->rows[i].name.uid, uid))
			return true;
	return false;
}

static void end_pod(struct kubepods *kubepods, const char *uid)
{
	const struct runtime_sink *sink = kubepods->options.sink;

	for (uint32_t i = kubepods->nr; i-- > 0;)
		if (is_of(&kubepods->containers[i], uid))
			drop(kubepods, &kubepods->containers[i]);
	sink->pod_stopped(sink->self, uid);
	kubepods->wants_changes = true;
}

static void end_pods(struct kubepods *kubepods, const struct discovery *found)
{
	for (uint32_t i = kubepods->nr_pods; i-- > 0;) {
		char uid[POD_UID_MAX];

		if (has_pod(found, kubepods->pods[i]))
			continue;
		memcpy(uid, kubepods->pods[i], sizeof(uid));
		memcpy(kubepods->pods[i], kubepods->pods[--kubepods->nr_pods], sizeof(uid));
		end_pod(kubepods, uid);
	}
}

static int note_pods(struct kubepods *kubepods, const struct discovery *found)
{
	for (uint32_t i = 0; i < found->nr; i++) {
		const struct discovered_cgroup *row = &found->rows[i];
		uint32_t at = 0;
		int r;

		if (row->name.kind != KUBEPODS_POD || !row->name.has_qos)
			continue;
		while (at < kubepods->nr_pods && strcmp(kubepods->pods[at], row->name.uid) != 0)
			at++;
		if (at < kubepods->nr_pods)
			continue;
		r = grow((void **)&kubepods->pods, kubepods->nr_pods, &kubepods->max_pods,
			 sizeof(*kubepods->pods));
		if (r)
			return r;
		text_copy(kubepods->pods[kubepods->nr_pods++], POD_UID_MAX, row->name.uid);
	}
	return 0;
}

static int take_rows(struct kubepods *kubepods, const struct discovery *found, bool is_complete)
{
	int r = 0;

	for (uint32_t i = 0; is_complete && i < kubepods->nr; i++)
		kubepods->containers[i].is_alive = false;
	for (uint32_t i = 0; !r && i < found->nr; i++)
		if (is_container(&found->rows[i]))
			r = take_container(kubepods, &found->rows[i]);
	if (r)
		return r;
	note_company(kubepods, found);
	return note_pods(kubepods, found);
}

static bool has_wanted(const struct cpuset_file *file)
{
	return cpuset_is_empty(&file->wanted) || cpuset_equal(&file->wanted, &file->found);
}

static int repair_container(struct kubepods *kubepods, struct container *container)
{
	int r = 0;

	for (int i = 0; !r && i < FILE_NR; i++) {
		struct cpuset_file *file = &container->files[i];

		if (has_wanted(file))
			continue;
		file->is_repair = file->was_written;
		r = queue(kubepods, container, (enum container_file)i);
	}
	return r;
}

/* What another program wrote is put back, and what could not be written is tried again. */
static int repair(struct kubepods *kubepods)
{
	const struct discovery_port *discovery = kubepods->options.discovery;
	int r = 0;

	if (kubepods->is_writing || kubepods->nr_queued)
		return 0;
	for (uint32_t i = 0; !r && i < kubepods->nr; i++) {
		struct container *container = &kubepods->containers[i];

		if (!container->is_alive || container->progress != CONTAINER_KNOWN ||
		    (has_wanted(&container->files[FILE_CPUS]) &&
		     has_wanted(&container->files[FILE_MEMS])))
			continue;
		if (container->nr_scans < SCANS_AFTER_WRITE)
			discovery->scan_soon(discovery->self);
		else
			r = repair_container(kubepods, container);
	}
	return r;
}

struct whole_node {
	struct runtime_pod *pods;
	struct pod_spec *specs; /* of the pods: only their uids */
	struct call *calls;
	struct runtime_container *containers;
};

static void whole_node_fini(struct whole_node *snapshot)
{
	free(snapshot->pods);
	free(snapshot->specs);
	free(snapshot->calls);
	free(snapshot->containers);
}

/* What the controller knew does not count any more. */
static int synchronize(struct kubepods *kubepods)
{
	const struct runtime_sink *sink = kubepods->options.sink;
	struct whole_node snapshot cleanup(whole_node_fini) = {
		calloc(kubepods->nr_pods + 1, sizeof(*snapshot.pods)),
		calloc(kubepods->nr_pods + 1, sizeof(*snapshot.specs)),
		calloc(kubepods->nr + 1, sizeof(*snapshot.calls)),
		calloc(kubepods->nr + 1, sizeof(*snapshot.containers)),
	};

	if (!snapshot.pods || !snapshot.specs || !snapshot.calls || !snapshot.containers)
		return -ENOMEM;
	for (uint32_t i = 0; i < kubepods->nr_pods; i++) {
		text_copy(snapshot.specs[i].uid, POD_UID_MAX, kubepods->pods[i]);
		snapshot.pods[i] = (struct runtime_pod){
			.id = kubepods->pods[i], .spec = &snapshot.specs[i], .error = ""};
	}
	for (uint32_t i = 0; i < kubepods->nr; i++) {
		struct container *container = &kubepods->containers[i];

		container->progress = CONTAINER_KNOWN;
		container->is_resized = false;
		/* The answer has the changes only. */
		for (int file = 0; file < FILE_NR; file++) {
			container->files[file].wanted = container->files[file].found;
			container->files[file].was_written =
				!cpuset_is_empty(&container->files[file].found);
		}
		fill_call(container, &snapshot.calls[i]);
		snapshot.containers[i] = snapshot.calls[i].container;
	}
	kubepods->is_synchronized = true;
	begin_request(kubepods, "", "");
	kubepods->is_asking = true;
	sink->synchronized(sink->self, kubepods->request,
			   &(struct runtime_snapshot){snapshot.pods, kubepods->nr_pods,
						      snapshot.containers, kubepods->nr});
	kubepods->is_asking = false;
	return 0;
}

/* From nothing: an earlier list may name containers that the controller lost. */
static int begin(struct kubepods *kubepods, const struct discovery *found)
{
	int r;

	kubepods->nr = kubepods->nr_pods = kubepods->nr_queued = 0;
	kubepods->request = 0;
	*kubepods->late_uid = '\0';
	r = take_rows(kubepods, found, true);
	return r ? r : synchronize(kubepods);
}

static int follow(struct kubepods *kubepods, const struct discovery *found, bool is_complete)
{
	int r = take_rows(kubepods, found, is_complete);

	if (r)
		return r;
	if (is_complete)
		end_pods(kubepods, found);
	/* Pods of manifests and CPUs that came or went may have changed what is due. */
	kubepods->wants_changes = true;
	return 0;
}

void kubepods_discovered(struct kubepods *kubepods, const struct discovery *found)
{
	/* What was not read has not ended. */
	const bool is_complete = !found->is_partial && !found->nr_left_out;
	const struct discovery_port *discovery = kubepods->options.discovery;
	int r = 0;

	if (kubepods->is_synchronized)
		r = follow(kubepods, found, is_complete);
	else if (is_complete && !found->nr_unread)
		r = begin(kubepods, found);
	else if (is_complete)
		/* A container whose bundle is still to be read would lose its CPUs. */
		discovery->scan_soon(discovery->self);
	if (r) {
		start_over(kubepods, r);
		return;
	}
	ask(kubepods);
	r = repair(kubepods);
	if (r)
		start_over(kubepods, r);
	write_queue(kubepods);
}

/* --- life ----------------------------------------------------------------------------------------- */

int kubepods_open(const struct kubepods_options *options, struct kubepods **ret_kubepods)
{
	struct kubepods *kubepods = calloc(1, sizeof(*kubepods));

	if (!kubepods)
		return -ENOMEM;
	kubepods->options = *options;
	*ret_kubepods = kubepods;
	return 0;
}

void kubepods_close(struct kubepods *kubepods)
{
	if (!kubepods)
		return;
	free(kubepods->containers);
	free(kubepods->pods);
	free(kubepods->queue);
	free(kubepods);
}
