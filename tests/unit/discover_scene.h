/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of plain directories and files that stands for a node, and the scan of it. Include after
 * cmocka.h.
 */
#ifndef DISCOVER_SCENE_H
#define DISCOVER_SCENE_H

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "discover/discover.h"
#include "discover/scan.h"
#include "lib/file.h"

#define UID	"0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42"
#define UID_	"0e8c1f5e_6f61_4c77_a0d2_1f5f3a6d9b42"
#define ID	"3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define ID_TAIL "4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define POD	"kubepods/burstable/pod" UID
#define KUBELET "/var/lib/kubelet"
#define TASKS	"/run/containerd/io.containerd.runtime.v2.task/k8s.io"
#define STORAGE "/run/containers/storage/overlay-containers"

struct scene {
	char root[64];
	struct discovery_sink sink;
	struct discovery found; /* the last report */
	unsigned int nr_reports;
	struct discover *discover;
	sd_event *event;
	bool watches_cpusets;
};

static inline void keep_report(void *self, struct discovery *found)
{
	struct scene *scene = self;

	discovery_fini(&scene->found);
	scene->found = *found;
	*found = (struct discovery){0};
	scene->nr_reports++;
}

/* Make a path below the root with all its parents. */
static inline void make(struct scene *scene, const char *path)
{
	char name[1024]; /* the root, and a path of up to 512 bytes */

	snprintf(name, sizeof(name), "%s%s", scene->root, path);
	for (char *at = name + strlen(scene->root) + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(name, 0755);
		*at = '/';
	}
	mkdir(name, 0755);
}

static inline void put(struct scene *scene, const char *path, const char *text)
{
	char name[1024];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", scene->root, path);
	file = fopen(name, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline void cgroup(struct scene *scene, const char *path)
{
	char name[512];

	snprintf(name, sizeof(name), PINFOLD_CGROUP_MOUNT "/%s", path);
	make(scene, name);
}

static inline void attribute(struct scene *scene, const char *path, const char *file,
			     const char *text)
{
	char name[512];

	snprintf(name, sizeof(name), PINFOLD_CGROUP_MOUNT "/%s/%s", path, file);
	put(scene, name, text);
}

static inline int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	if (!scene)
		return -1;
	strcpy(scene->root, "/tmp/pinfold-discover-XXXXXX");
	if (!mkdtemp(scene->root))
		return -1;
	scene->sink = (struct discovery_sink){scene, keep_report};
	make(scene, PINFOLD_CGROUP_MOUNT);
	make(scene, KUBELET);
	*state = scene;
	return 0;
}

static inline int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline int tear_down(void **state)
{
	struct scene *scene = *state;

	discover_close(scene->discover);
	sd_event_unref(scene->event);
	discovery_fini(&scene->found);
	nftw(scene->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(scene);
	return 0;
}

static inline void open_room(struct scene *scene, sd_event *event)
{
	char kubelet_dir[128], runtime_dir[128];
	struct discover_options options = {
		.event = event,
		.root = scene->root,
		.kubelet_dir = kubelet_dir,
		.runtime_dir = runtime_dir,
		.watches_cpusets = scene->watches_cpusets,
		.sink = &scene->sink,
	};

	snprintf(kubelet_dir, sizeof(kubelet_dir), "%s" KUBELET, scene->root);
	snprintf(runtime_dir, sizeof(runtime_dir), "%s/run", scene->root);
	assert_int_equal(discover_open(&options, &scene->discover), 0);
}

static inline void scan(struct scene *scene)
{
	if (!scene->discover)
		open_room(scene, NULL);
	assert_int_equal(discover_scan(scene->discover), 0);
}

static inline const struct discovered_cgroup *find(struct scene *scene, const char *path)
{
	for (uint32_t i = 0; i < scene->found.nr; i++)
		if (!strcmp(scene->found.rows[i].path, path))
			return &scene->found.rows[i];
	fail_msg("%s was not found", path);
	return NULL;
}

static inline void process(struct scene *scene, const char *pid, const char *comm)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s", pid);
	make(scene, path);
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	put(scene, path, comm);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
