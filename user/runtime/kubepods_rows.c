// SPDX-License-Identifier: Apache-2.0
/* What the scans find. Nothing here asks the controller or writes a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "runtime/kubepods_private.h"

/* Room for one more element. */
int kubepods_rows_grow(void **array, uint32_t nr, uint32_t *max, size_t size)
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

struct container *kubepods_rows_find(struct kubepods *kubepods, const char *id)
{
	for (uint32_t i = 0; i < kubepods->nr; i++)
		if (!strcmp(kubepods->containers[i].id, id))
			return &kubepods->containers[i];
	return NULL;
}

struct container *kubepods_rows_find_cgroup(struct kubepods *kubepods, uint64_t cgroup_id)
{
	for (uint32_t i = 0; i < kubepods->nr; i++)
		if (kubepods->containers[i].cgroup_id == cgroup_id)
			return &kubepods->containers[i];
	return NULL;
}

void kubepods_rows_drop(struct kubepods *kubepods, struct container *container)
{
	*container = kubepods->containers[--kubepods->nr];
}

bool kubepods_rows_is_of(const struct container *container, const char *uid)
{
	return !strcmp(container->uid, uid);
}

/* Such a one runs beside others, or while they are down, and takes nobody's place. */
bool kubepods_rows_is_ephemeral(const struct container *container)
{
	return container->request.has_container &&
	       !container_has_amounts(&container->request.container);
}

static bool same_amounts(const struct container_spec *a, const struct container_spec *b)
{
	return a->request.cpu_mcpu == b->request.cpu_mcpu &&
	       a->limit.cpu_mcpu == b->limit.cpu_mcpu &&
	       a->limit.memory_bytes == b->limit.memory_bytes;
}

static int add(struct kubepods *kubepods, const struct discovered_cgroup *row,
	       struct container **ret_container)
{
	int r = kubepods_rows_grow((void **)&kubepods->containers, kubepods->nr, &kubepods->max,
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
	struct container *container = kubepods_rows_find_cgroup(kubepods, row->cgroup_id);
	struct found_request request;
	int r = container ? 0 : add(kubepods, row, &container);

	if (r)
		return r;
	found_request_read(row, &request);
	take_request(container, &request);
	container->is_alive = true;
	container->files[FILE_CPUS].found = cpuset_of_text(row->cpus);
	container->files[FILE_MEMS].found = cpuset_of_text(row->mems);
	if (!container->files[FILE_CPUS].was_written)
		container->run_ns = row->run_ns;
	container->nr_scans += container->nr_scans < UINT32_MAX;
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
				? kubepods_rows_find_cgroup(kubepods, found->rows[i].cgroup_id)
				: NULL;

		if (!container || kubepods_rows_is_ephemeral(container))
			continue;
		if (before && kubepods_rows_is_of(before, container->uid))
			before->had_company = container->had_company = true;
		before = container;
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
		r = kubepods_rows_grow((void **)&kubepods->pods, kubepods->nr_pods,
				       &kubepods->max_pods, sizeof(*kubepods->pods));
		if (r)
			return r;
		text_copy(kubepods->pods[kubepods->nr_pods++], POD_UID_MAX, row->name.uid);
	}
	return 0;
}

int kubepods_rows_take(struct kubepods *kubepods, const struct discovery *found, bool is_complete)
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
