// SPDX-License-Identifier: Apache-2.0
#include "runtime/found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

/* The kubelet's. */
#define MIN_SHARES 2
/* The largest page of any processor: memory.max is a multiple of the page. */
#define PAGE_MAX_BYTES 65536

/* The kubelet's MilliCPUToShares. */
static int64_t shares_of_mcpu(int64_t mcpu)
{
	const int64_t shares = mcpu * 1024 / 1000;

	if (mcpu == RESOURCE_UNSET || shares < MIN_SHARES)
		return MIN_SHARES;
	return shares > CPU_SHARES_MAX ? CPU_SHARES_MAX : shares;
}

/* "200000 100000", "max 100000". False = there is no quota, not yet, or it is not known. */
static bool read_quota(const char *text, int64_t *ret_quota_us, int64_t *ret_period_us)
{
	char *end;

	if (!text)
		return false;
	*ret_quota_us = strtoll(text, &end, 10);
	if (end == text)
		return false;
	*ret_period_us = strtoll(end, NULL, 10);
	return *ret_quota_us > 0;
}

static struct nri_number number(int64_t value)
{
	return (struct nri_number){.is_set = true, .value = value};
}

/* A resize changes the cgroup and not the bundle. In a Guaranteed pod the request follows the limit. */
static void read_cpu(const struct discovered_cgroup *row, struct nri_resources *resources)
{
	int64_t quota_us, period_us;

	resources->shares = number(row->made_shares);
	resources->quota_us = number(row->made_quota_us);
	resources->period_us = number(row->made_period_us);
	if (!read_quota(row->cpu_max, &quota_us, &period_us) ||
	    request_mcpu_of_quota(quota_us, period_us) ==
		    request_mcpu_of_quota(row->made_quota_us, row->made_period_us))
		return;
	resources->quota_us = number(quota_us);
	resources->period_us = number(period_us);
	if (row->name.qos == QOS_GUARANTEED)
		resources->shares =
			number(shares_of_mcpu(request_mcpu_of_quota(quota_us, period_us)));
}

/* The kernel rounds a limit down to pages, of which the bundle has the exact number. */
static void read_memory(const struct discovered_cgroup *row, struct nri_resources *resources)
{
	const int64_t made = row->made_memory_bytes;
	const int64_t has = row->memory_max ? strtoll(row->memory_max, NULL, 10) : 0;
	const bool is_rounded = has <= made && made - has < PAGE_MAX_BYTES;

	if (has > 0 || made > 0)
		resources->memory_bytes = number(has > 0 && !is_rounded ? has : made);
}

static struct nri_resources read_resources(const struct discovered_cgroup *row)
{
	struct nri_resources resources = {.cpus = "", .mems = ""};

	read_cpu(row, &resources);
	read_memory(row, &resources);
	return resources;
}

void found_request_read(const struct discovered_cgroup *row, struct found_request *ret_request)
{
	const struct nri_resources none = {.cpus = "", .mems = ""};
	char parent[ROW_PATH_MAX] = "", *slash;
	struct nri_container container = {.id = row->name.id, .name = "", .cgroups_path = ""};
	struct nri_pod pod = {.id = row->name.uid,
			      .uid = row->name.uid,
			      .name = "",
			      .namespace = "",
			      .runtime_handler = "",
			      .cgroup_parent = parent,
			      .cgroups_path = "",
			      .overhead = none,
			      .resources = none};

	*ret_request = (struct found_request){0};
	if (row->names != DISCOVERED_NAMES_READ || !row->container) {
		snprintf(
			ret_request->error, sizeof(ret_request->error),
			"its OCI bundle cannot be read, so its name and its requests are unknown; set "
			"sources.runtimeStateDirectory to where the runtime has its state");
		return;
	}
	/* With the slash in front: as the cgroupfs driver states a parent. */
	snprintf(parent, sizeof(parent), "/%s", row->path);
	slash = strrchr(parent, '/');
	*slash = '\0';
	pod.name = row->pod;
	pod.namespace = row->namespace;
	container.pod_id = row->name.uid;
	container.name = row->container;
	container.resources = read_resources(row);
	ret_request->has_pod = !request_of_pod(&pod, &ret_request->pod, ret_request->error);
	if (!ret_request->has_pod)
		return;
	ret_request->has_container = !request_of_container(
		&pod, &container, &ret_request->container, ret_request->error);
	ret_request->pod.has_pod_resources = request_shows_pod_level(&pod, &container);
}
