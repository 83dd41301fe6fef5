// SPDX-License-Identifier: Apache-2.0
/*
 * One request is open at a time, as a runtime has it, so answers come in the order of the requests. It
 * stays open while what it got is being recorded, and whoever is to be decided then or later shares.
 */
#include "runtime/kubepods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "lib/text.h"
#include "runtime/kubepods_private.h"

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

/* Is another container of the pod there that the controller has heard of, or is yet to hear of? */
static bool has_successor(const struct kubepods *kubepods, const struct container *ended)
{
	for (uint32_t i = 0; i < kubepods->nr; i++) {
		const struct container *other = &kubepods->containers[i];
		const bool has_name =
			!strcmp(other->request.container.name, ended->request.container.name);

		/* Whose name is not known yet may be the same one. */
		if (!other->is_alive || !kubepods_rows_is_of(other, ended->uid) ||
		    !other->request.has_container)
			continue;
		/* Its successor takes the grant over before this one leaves it. */
		if (has_name ? other->progress == CONTAINER_KNOWN
			     : !ended->had_company && !kubepods_rows_is_ephemeral(other))
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
		kubepods_rows_drop(kubepods, &kubepods->containers[i]);
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
	if (r >= 0 && kubepods->is_synchronized && kubepods->request)
		r = kubepods_files_share(kubepods);
	if (r < 0)
		kubepods_files_start_over(kubepods, r);
	kubepods_files_flush(kubepods);
}

/* --- answers -------------------------------------------------------------------------------------- */

static int take_answer(struct kubepods *kubepods, struct container *asked,
		       const struct runtime_answer *answer)
{
	int r = 0;

	if (asked)
		asked->is_decided = true;
	if (answer->shared_cpus) {
		kubepods->shared = cpuset_of_text(answer->shared_cpus);
		r = kubepods_files_leave(kubepods, &kubepods->shared);
	}
	for (uint32_t i = 0; !r && i < answer->nr_changes; i++) {
		const struct runtime_change *change = &answer->changes[i];
		struct container *container = kubepods_rows_find(kubepods, change->container_id);

		if (container && container->is_alive)
			r = kubepods_files_set(kubepods, container, change->cpus, change->mems);
	}
	if (!asked)
		return r;
	if (answer->refusal)
		log_warn(0, "kubepods: container %.64s goes on as it is: %s", asked->id,
			 answer->refusal);
	asked->progress = CONTAINER_KNOWN;
	asked->is_resized = false;
	return r ? r : kubepods_files_set(kubepods, asked, answer->cpus, answer->mems);
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
	asked = kubepods_rows_find(kubepods, kubepods->asked_id);
	kubepods->request = 0;
	if (*kubepods->asked_id && !asked)
		text_copy(kubepods->late_uid, sizeof(kubepods->late_uid), kubepods->asked_uid);
	kubepods->is_asking = true;
	r = take_answer(kubepods, asked, answer);
	if (r)
		kubepods->is_synchronized = false;
	else
		kubepods_files_flush(kubepods);
	kubepods->is_asking = was_asking;
	if (!was_asking)
		discovery->scan_soon(discovery->self);
	return r;
}

void kubepods_ask_again(struct kubepods *kubepods, const char *container_id)
{
	const struct discovery_port *discovery = kubepods->options.discovery;
	struct container *container = kubepods_rows_find(kubepods, container_id);

	if (!container)
		return;
	container->is_due_again = true;
	if (!kubepods->is_asking)
		discovery->scan_soon(discovery->self);
}

/* What could not be written is tried again after the next regular scan, not at once. */
void kubepods_written(struct kubepods *kubepods, const struct cpuset_write *rows, uint32_t nr)
{
	const struct discovery_port *discovery = kubepods->options.discovery;
	bool has_written = false;

	kubepods->is_writing = false;
	for (uint32_t i = 0; i < nr; i++) {
		has_written |= !rows[i].result;
		kubepods_files_end_write(kubepods, &rows[i]);
	}
	kubepods_files_flush(kubepods);
	ask(kubepods);
	if (has_written)
		discovery->scan_soon(discovery->self);
}

/* --- scans ---------------------------------------------------------------------------------------- */

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
		if (kubepods_rows_is_of(&kubepods->containers[i], uid))
			kubepods_rows_drop(kubepods, &kubepods->containers[i]);
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
#define cleanup_whole_node cleanup(whole_node_fini)

/* What the controller knew does not count any more. */
static int synchronize(struct kubepods *kubepods)
{
	const struct runtime_sink *sink = kubepods->options.sink;
	struct whole_node snapshot cleanup_whole_node = {
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
		container->is_decided = true;
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
	r = kubepods_rows_take(kubepods, found, true);
	return r ? r : synchronize(kubepods);
}

static int follow(struct kubepods *kubepods, const struct discovery *found, bool is_complete)
{
	int r = kubepods_rows_take(kubepods, found, is_complete);

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
		kubepods_files_start_over(kubepods, r);
		return;
	}
	ask(kubepods);
	r = kubepods_files_repair(kubepods);
	if (r)
		kubepods_files_start_over(kubepods, r);
	kubepods_files_tell_contested(kubepods);
	kubepods_files_flush(kubepods);
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
