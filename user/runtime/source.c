// SPDX-License-Identifier: Apache-2.0
/* Translates both ways between NRI's messages and the controller's. Decides nothing. */
#include "runtime/source.h"

#include <errno.h>
#include <string.h>

#include "lib/crash.h"
#include "lib/log.h"
#include "runtime/cgroup_path.h"
#include "runtime/request.h"

#define EVENTS                                                                                   \
	(NRI_EVENT_BIT(NRI_EVENT_STOP_POD) | NRI_EVENT_BIT(NRI_EVENT_REMOVE_POD) |               \
	 NRI_EVENT_BIT(NRI_EVENT_CREATE_CONTAINER) | NRI_EVENT_BIT(NRI_EVENT_UPDATE_CONTAINER) | \
	 NRI_EVENT_BIT(NRI_EVENT_POST_UPDATE_CONTAINER) |                                        \
	 NRI_EVENT_BIT(NRI_EVENT_STOP_CONTAINER) | NRI_EVENT_BIT(NRI_EVENT_REMOVE_CONTAINER))

struct source {
	const struct runtime_sink *sink;
	void (*changed)(void *data, const struct plugin_status *status);
	void *data;
	struct plugin_sink plugin_sink;
	struct plugin *plugin;
};

/* --- what the runtime says -------------------------------------------------------------------- */

/* A translated pod or container, with what it points to. */
struct read_pod {
	struct runtime_pod pod;
	struct pod_spec spec;
	char error[REQUEST_ERROR_MAX];
};

/* Longer paths, which no runtime makes, are not known. */
#define SOURCE_CGROUP_MAX 512

struct read_container {
	struct container_spec spec;
	char cgroup[SOURCE_CGROUP_MAX];
	char error[REQUEST_ERROR_MAX];
};

static void read_pod(const struct nri_pod *from, struct read_pod *to)
{
	to->pod = (struct runtime_pod){.id = from->id, .error = to->error};
	if (!request_of_pod(from, &to->spec, to->error))
		to->pod.spec = &to->spec;
}

static void read_container(const struct nri_pod *pod, const struct nri_container *from,
			   struct read_pod *read, struct read_container *to,
			   struct runtime_container *ret_container)
{
	*ret_container = (struct runtime_container){
		.id = from->id,
		.pod = &read->pod,
		.error = to->error,
		.cpus = from->resources.cpus,
		.mems = from->resources.mems,
	};
	if (!request_of_container(pod, from, &to->spec, to->error))
		ret_container->spec = &to->spec;
	if (!cgroup_path_of_runtime(from->cgroups_path, to->cgroup, sizeof(to->cgroup)))
		ret_container->cgroup = to->cgroup;
	if (request_shows_pod_level(pod, from))
		read->spec.has_pod_resources = true;
}

static void create_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container)
{
	struct source *source = data;
	struct runtime_container read;
	struct read_container own;
	struct read_pod sandbox;

	read_pod(pod, &sandbox);
	read_container(pod, container, &sandbox, &own, &read);
	source->sink->created(source->sink->self, request, &read);
}

/* --- the whole state -------------------------------------------------------------------------- */

struct read_snapshot {
	struct read_pod *pods;
	struct runtime_pod *rows; /* the same, as the sink takes them */
	struct read_container *read;
	struct runtime_container *containers;
};

static void read_snapshot_fini(struct read_snapshot *read)
{
	free(read->pods);
	free(read->rows);
	free(read->read);
	free(read->containers);
}
#define cleanup_read_snapshot cleanup(read_snapshot_fini)

static size_t find_pod(const struct nri_snapshot *snapshot, const char *id)
{
	size_t i;

	for (i = 0; i < snapshot->nr_pods; i++)
		if (!strcmp(snapshot->pods[i].id, id))
			break;
	return i;
}

/*
 * A runtime lists sandboxes that have stopped, too, until their pods are removed. They have no process;
 * but a runtime that tells no sandbox's (with NRI before 0.7, or another kind of sandbox) says nothing.
 */
static void note_stopped(const struct nri_snapshot *snapshot, struct runtime_pod *rows)
{
	bool tells_pids = false;

	for (size_t i = 0; i < snapshot->nr_pods; i++)
		tells_pids |= snapshot->pods[i].pid;
	for (size_t i = 0; i < snapshot->nr_pods; i++)
		rows[i].is_stopped = tells_pids && !snapshot->pods[i].pid;
}

/* The last pod is for containers whose sandbox is not listed. */
static int read_all(const struct nri_snapshot *snapshot, struct read_snapshot *read)
{
	static const struct nri_pod unlisted = {.id = "",
						.name = "",
						.uid = "",
						.namespace = "",
						.cgroup_parent = "",
						.cgroups_path = "",
						.runtime_handler = ""};

	read->pods = calloc(snapshot->nr_pods + 1, sizeof(*read->pods));
	read->rows = calloc(snapshot->nr_pods + 1, sizeof(*read->rows));
	read->read = calloc(snapshot->nr_containers + 1, sizeof(*read->read));
	read->containers = calloc(snapshot->nr_containers + 1, sizeof(*read->containers));
	if (!read->pods || !read->rows || !read->read || !read->containers)
		return -ENOMEM;
	for (size_t i = 0; i <= snapshot->nr_pods; i++)
		read_pod(i < snapshot->nr_pods ? &snapshot->pods[i] : &unlisted, &read->pods[i]);
	for (size_t i = 0; i < snapshot->nr_containers; i++) {
		size_t pod = find_pod(snapshot, snapshot->containers[i].pod_id);

		read_container(pod < snapshot->nr_pods ? &snapshot->pods[pod] : &unlisted,
			       &snapshot->containers[i], &read->pods[pod], &read->read[i],
			       &read->containers[i]);
	}
	for (size_t i = 0; i < snapshot->nr_pods; i++)
		read->rows[i] = read->pods[i].pod;
	note_stopped(snapshot, read->rows);
	return 0;
}

static void synchronize(void *data, uint32_t request, const struct nri_snapshot *snapshot)
{
	struct source *source = data;
	struct read_snapshot read cleanup_read_snapshot = {0};
	int r = read_all(snapshot, &read);

	if (r) {
		log_err(r, "nri: the containers of the runtime are not followed");
		plugin_answer(source->plugin, request, &(struct nri_answer){0});
		return;
	}
	source->sink->synchronized(source->sink->self, request,
				   &(struct runtime_snapshot){
					   .pods = read.rows,
					   .nr_pods = (uint32_t)snapshot->nr_pods,
					   .containers = read.containers,
					   .nr_containers = (uint32_t)snapshot->nr_containers,
				   });
}

/* --- the other callbacks ---------------------------------------------------------------------- */

static uint32_t configure(void *data, const struct nri_runtime *runtime)
{
	log_info("nri: the container runtime is %.64s %.64s", runtime->name, runtime->version);
	return EVENTS & runtime->known_events;
}

/* Replaces what is stated; 0 stands for "as it is". True = it was. */
static bool replace(struct nri_number stated, struct nri_number *number)
{
	if (!stated.is_set || !stated.value)
		return false;
	*number = stated;
	return true;
}

static void update_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container,
			     const struct nri_resources *wanted)
{
	struct source *source = data;
	struct nri_container changed = *container;
	struct nri_resources *resources = &changed.resources;
	struct runtime_container read;
	struct read_container own;
	struct read_pod sandbox;
	bool states_amounts = replace(wanted->shares, &resources->shares);

	states_amounts |= replace(wanted->quota_us, &resources->quota_us);
	states_amounts |= replace(wanted->period_us, &resources->period_us);
	states_amounts |= replace(wanted->memory_bytes, &resources->memory_bytes);
	read_pod(pod, &sandbox);
	read_container(pod, &changed, &sandbox, &own, &read);
	source->sink->resized(source->sink->self, request, &read, states_amounts);
}

static void stop_container(void *data, uint32_t request, const struct nri_pod *pod,
			   const struct nri_container *container)
{
	struct source *source = data;

	source->sink->stopped(source->sink->self, request, container->id);
}

static void container_event(void *data, enum nri_event event, const struct nri_pod *pod,
			    const struct nri_container *container)
{
	struct source *source = data;

	if (event == NRI_EVENT_REMOVE_CONTAINER)
		source->sink->removed(source->sink->self, container->id);
	else if (event == NRI_EVENT_POST_UPDATE_CONTAINER)
		source->sink->updated(source->sink->self, container->id);
	crash_point("nri-event");
}

static void pod_event(void *data, enum nri_event event, const struct nri_pod *pod)
{
	struct source *source = data;

	if (event == NRI_EVENT_STOP_POD || event == NRI_EVENT_REMOVE_POD)
		source->sink->pod_stopped(source->sink->self, pod->id);
	crash_point("nri-event");
}

/* Nothing calls nri_session_update(): all changes are in answers. */
static void updated(void *data, int32_t code, const char *text)
{
}

static void ended(void *self)
{
	struct source *source = self;

	source->sink->ended(source->sink->self);
}

static void changed(void *self, const struct plugin_status *status)
{
	struct source *source = self;

	source->changed(source->data, status);
}

/* --- answers ---------------------------------------------------------------------------------- */

int source_answer(struct source *source, uint32_t request, const struct runtime_answer *answer)
{
	struct nri_update *updates cleanup_free = calloc(answer->nr_changes + 1, sizeof(*updates));
	const struct nri_adjustment adjustment = {.cpus = answer->cpus,
						  .mems = answer->mems ? answer->mems : ""};
	struct nri_answer given = {
		.adjustment = *answer->cpus ? &adjustment : NULL,
		.updates = updates,
		.nr_updates = answer->nr_changes,
		.refusal = answer->refusal,
	};
	int r;

	if (!updates)
		return -ENOMEM;
	/* A container that has just exited must not make the creation of another one fail. */
	for (uint32_t i = 0; i < answer->nr_changes; i++) {
		const struct runtime_change *change = &answer->changes[i];

		updates[i] = (struct nri_update){change->container_id, change->cpus,
						 change->mems ? change->mems : "", true};
	}
	crash_point("nri-answer");
	r = plugin_answer(source->plugin, request, &given);
	/* Too long: without any answer the runtime would give up the session. */
	if (r == -EMSGSIZE || r == -ENOBUFS)
		plugin_answer(source->plugin, request, &(struct nri_answer){0});
	return r;
}

/* --- life ------------------------------------------------------------------------------------- */

void source_connect(struct source *source)
{
	plugin_connect(source->plugin);
}

void source_close(struct source *source)
{
	if (!source)
		return;
	plugin_close(source->plugin);
	free(source);
}

int source_open(const struct source_options *options, struct source **ret_source)
{
	struct source *source cleanup_source = calloc(1, sizeof(*source));
	int r;

	if (!source)
		return -ENOMEM;
	*source = (struct source){
		.sink = options->sink,
		.changed = options->changed,
		.data = options->data,
		.plugin_sink = {.self = source,
				.callbacks = {configure, synchronize, create_container,
					      update_container, stop_container, container_event,
					      pod_event, updated},
				.ended = ended,
				.changed = changed},
	};
	r = plugin_open(&(struct plugin_options){.event = options->event,
						 .socket = options->socket,
						 .nri = {.name = SOURCE_PLUGIN_NAME,
							 .index = SOURCE_PLUGIN_INDEX,
							 .nri_version = "",
							 .pair_prefix = REQUEST_ANNOTATION_PREFIX},
						 .sink = &source->plugin_sink},
			&source->plugin);
	if (r)
		return r;
	*ret_source = TAKE_PTR(source);
	return 0;
}
