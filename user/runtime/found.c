// SPDX-License-Identifier: Apache-2.0
#include "runtime/found.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

#define MIN_SHARES 2

/* The kubelet's MilliCPUToShares. */
static int64_t shares_of_mcpu(int64_t mcpu)
{
	const int64_t shares = mcpu * 1024 / 1000;

	if (mcpu == RESOURCE_UNSET || shares < MIN_SHARES)
		return MIN_SHARES;
	return shares > CPU_SHARES_MAX ? CPU_SHARES_MAX : shares;
}

/* What runtimes make of shares: as Kubernetes did at first, and as runc 1.3.2 and crun 1.23 do. */
static int64_t linear_weight(int64_t shares)
{
	return 1 + (shares - MIN_SHARES) * 9999 / (CPU_SHARES_MAX - MIN_SHARES);
}

static int64_t quadratic_weight(int64_t shares)
{
	const double log = log2((double)shares);

	if (shares <= MIN_SHARES)
		return 1;
	return (int64_t)ceil(pow(10, (log * log + 125 * log) / 612.0 - 7.0 / 34.0));
}

/* "200000 100000", "max 100000". False = there is no quota, or it is not known. */
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

/* A resize changes the cgroup and not the bundle. */
static bool was_resized(const struct discovered_cgroup *row, int64_t shares)
{
	return row->cpu_weight > 0 && row->cpu_weight != linear_weight(shares) &&
	       row->cpu_weight != quadratic_weight(shares);
}

static struct nri_resources read_resources(const struct discovered_cgroup *row)
{
	struct nri_resources resources = {.cpus = "", .mems = ""};
	int64_t shares = shares_of_mcpu(row->cpu_request_mcpu), quota_us, period_us, bytes;

	if (read_quota(row->cpu_max, &quota_us, &period_us)) {
		resources.quota_us = number(quota_us);
		resources.period_us = number(period_us);
		/* In a Guaranteed pod the new request is the new limit. */
		if (row->name.qos == QOS_GUARANTEED && was_resized(row, shares))
			shares = shares_of_mcpu(request_mcpu_of_quota(quota_us, period_us));
	}
	resources.shares = number(shares);
	bytes = row->memory_max ? strtoll(row->memory_max, NULL, 10) : 0;
	if (bytes > 0)
		resources.memory_bytes = number(bytes);
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
