// SPDX-License-Identifier: Apache-2.0
/* Field by field; a message that is absent leaves the default. */
#include "nri/decode.h"

#include <errno.h>
#include <stdio.h>

/* Events 1 to 11, which every version has. Only from 0.12 on does a runtime state its version. */
#define EVENTS_ALWAYS 0x7ffU
/* Not event 14, VALIDATE_CONTAINER_ADJUSTMENT: no container is created if a validator fails. */
#define EVENTS_SINCE_10 (EVENTS_ALWAYS | 0x1800U)

bool nri_version_is_least(const char *version, unsigned int major, unsigned int minor,
			  unsigned int patch)
{
	unsigned int have[3] = {0};

	if (*version == 'v')
		version++;
	/* nine digits at most: sscanf(3) does not say when a number overflows */
	if (sscanf(version, "%9u.%9u.%9u", &have[0], &have[1], &have[2]) < 2)
		return false;
	if (have[0] != major)
		return have[0] > major;
	if (have[1] != minor)
		return have[1] > minor;
	return have[2] >= patch;
}

static int decode_pairs(size_t nr, Nri__Pair *const *messages, struct nri_memory *memory,
			struct nri_pairs *ret_pairs)
{
	struct nri_pair *pairs = nri_memory_array(memory, nr, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		pairs[i] = (struct nri_pair){messages[i]->key, messages[i]->value};
	*ret_pairs = (struct nri_pairs){pairs, nr};
	return 0;
}

static struct nri_number signed_number(const Nri__OptionalInt64 *message)
{
	return message ? (struct nri_number){true, message->value} : (struct nri_number){0};
}

static struct nri_number unsigned_number(const Nri__OptionalUInt64 *message)
{
	if (!message)
		return (struct nri_number){0};
	return (struct nri_number){
		.is_set = true,
		.value = message->value > INT64_MAX ? INT64_MAX : (int64_t)message->value,
	};
}

void nri_decode_resources(const Nri__LinuxResources *message, struct nri_resources *ret_resources)
{
	struct nri_resources resources = {.cpus = "", .mems = ""};

	if (message && message->cpu) {
		resources.shares = unsigned_number(message->cpu->shares);
		resources.quota_us = signed_number(message->cpu->quota);
		resources.period_us = unsigned_number(message->cpu->period);
		resources.cpus = message->cpu->cpus;
		resources.mems = message->cpu->mems;
	}
	if (message && message->memory)
		resources.memory_bytes = signed_number(message->memory->limit);
	for (size_t i = 0; message && i < message->n_hugepage_limits; i++) {
		const Nri__HugepageLimit *limit = message->hugepage_limits[i];
		size_t at = resources.nr_hugepages;

		/* A kubelet states 0 for each size that the container does not use. */
		if (!limit->limit)
			continue;
		if (at < NRI_MAX_HUGEPAGES) {
			resources.hugepages[at].page_size = limit->page_size;
			resources.hugepages[at].bytes = limit->limit;
		}
		resources.nr_hugepages++;
	}
	*ret_resources = resources;
}

int nri_decode_pod(const Nri__PodSandbox *message, struct nri_memory *memory,
		   struct nri_pod *ret_pod)
{
	static const Nri__PodSandbox empty_pod = NRI__POD_SANDBOX__INIT;
	static const Nri__LinuxPodSandbox empty_linux = NRI__LINUX_POD_SANDBOX__INIT;
	const Nri__PodSandbox *from = message ? message : &empty_pod;
	const Nri__LinuxPodSandbox *on_linux = from->on_linux ? from->on_linux : &empty_linux;
	struct nri_pod pod = {
		.id = from->id,
		.name = from->name,
		.uid = from->uid,
		.namespace = from->namespace_,
		.runtime_handler = from->runtime_handler,
		.cgroup_parent = on_linux->cgroup_parent,
		.cgroups_path = on_linux->cgroups_path,
		.pid = from->pid,
	};
	int err = decode_pairs(from->n_labels, from->labels, memory, &pod.labels);

	if (!err)
		err = decode_pairs(from->n_annotations, from->annotations, memory,
				   &pod.annotations);
	if (err)
		return err;
	nri_decode_resources(on_linux->pod_overhead, &pod.overhead);
	nri_decode_resources(on_linux->pod_resources, &pod.resources);
	*ret_pod = pod;
	return 0;
}

static enum nri_container_state known_state(int32_t number)
{
	return number >= NRI_CONTAINER_CREATED && number <= NRI_CONTAINER_STOPPED
		       ? (enum nri_container_state)number
		       : NRI_CONTAINER_UNKNOWN;
}

int nri_decode_container(const Nri__Container *message, struct nri_memory *memory,
			 struct nri_container *ret_container)
{
	static const Nri__Container empty_container = NRI__CONTAINER__INIT;
	static const Nri__LinuxContainer empty_linux = NRI__LINUX_CONTAINER__INIT;
	const Nri__Container *from = message ? message : &empty_container;
	const Nri__LinuxContainer *on_linux = from->on_linux ? from->on_linux : &empty_linux;
	struct nri_container container = {
		.id = from->id,
		.pod_id = from->pod_sandbox_id,
		.name = from->name,
		.state = known_state(from->state),
		.cgroups_path = on_linux->cgroups_path,
		.oom_score_adj = signed_number(on_linux->oom_score_adj),
		.pid = from->pid,
	};
	int err = decode_pairs(from->n_labels, from->labels, memory, &container.labels);

	if (!err)
		err = decode_pairs(from->n_annotations, from->annotations, memory,
				   &container.annotations);
	if (err)
		return err;
	nri_decode_resources(on_linux->resources, &container.resources);
	*ret_container = container;
	return 0;
}

static uint32_t milliseconds(int64_t value)
{
	if (value < 0)
		return 0;
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

void nri_decode_runtime(const Nri__ConfigureRequest *message, struct nri_runtime *ret_runtime)
{
	*ret_runtime = (struct nri_runtime){
		.name = message->runtime_name,
		.version = message->runtime_version,
		.nri_version = message->nri_version,
		.config = message->config,
		.registration_timeout_ms = milliseconds(message->registration_timeout),
		.request_timeout_ms = milliseconds(message->request_timeout),
		.known_events = nri_version_is_least(message->nri_version, 0, 10, 0)
					? EVENTS_SINCE_10
					: EVENTS_ALWAYS,
	};
}
