/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's end of a connection with a plugin of NRI, for tests and benches that play a runtime: what
 * a Go runtime would send of a container, and calls that wait for their answer. Whatever fails ends the
 * process, with a line that says what it was.
 */
#ifndef NRI_RUNTIME_H
#define NRI_RUNTIME_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "nri.pb-c.h"
#include "nri/wire.h"

#define PLUGIN_SERVICE "nri.pkg.api.v1alpha1.Plugin"

struct played_container {
	char id[80], pod[64], name[64], parent[128], cpus[64], mems[64];
	bool is_guaranteed;
	long mcpu;
	pid_t pid;	 /* 0 = it has no process */
	bool has_exited; /* then its pod is listed, and it is not */
};

/* Begins with `fd` alone: a connected socket. */
struct played_plugin {
	int fd;
	struct nri_reader reader;
	uint8_t input[65536];
	const uint8_t *input_at;
	size_t input_len;
	uint32_t last_stream;
	bool may_die; /* what it does not answer then is no failure: calls return NULL */
};

__attribute__((format(printf, 1, 2), noreturn)) static inline void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	_exit(1);
}

/* What a Go runtime would send, from plain values; borrowed from the container. */
struct content {
	Nri__OptionalUInt64 shares, period;
	Nri__OptionalInt64 quota, limit;
	Nri__LinuxCPU cpu;
	Nri__LinuxMemory memory;
	Nri__LinuxResources resources;
	Nri__LinuxContainer on_linux;
	Nri__LinuxPodSandbox pod_linux;
	Nri__PodSandbox pod;
	Nri__Container container;
	char cgroup[256];
};

static inline char *text_of(const char *text)
{
	return (char *)(uintptr_t)text;
}

static inline void fill_content(struct played_container *from, struct content *to)
{
	nri__optional_uint64__init(&to->shares);
	nri__optional_uint64__init(&to->period);
	nri__optional_int64__init(&to->quota);
	nri__optional_int64__init(&to->limit);
	nri__linux_cpu__init(&to->cpu);
	nri__linux_memory__init(&to->memory);
	nri__linux_resources__init(&to->resources);
	nri__linux_container__init(&to->on_linux);
	nri__linux_pod_sandbox__init(&to->pod_linux);
	nri__pod_sandbox__init(&to->pod);
	nri__container__init(&to->container);
	to->shares.value = (uint64_t)from->mcpu * 1024 / 1000;
	to->period.value = 100000;
	to->quota.value = from->mcpu * 100;
	to->limit.value = 64 << 20;
	to->cpu.shares = &to->shares;
	to->cpu.period = &to->period;
	to->cpu.quota = &to->quota;
	to->cpu.cpus = from->cpus;
	to->cpu.mems = from->mems;
	to->memory.limit = &to->limit;
	to->resources.cpu = &to->cpu;
	to->resources.memory = &to->memory;
	to->on_linux.resources = &to->resources;
	snprintf(to->cgroup, sizeof(to->cgroup), "%.127s/%.79s", from->parent, from->id);
	to->on_linux.cgroups_path = to->cgroup;
	to->pod_linux.cgroup_parent = from->parent;
	to->pod.id = to->pod.name = to->pod.uid = from->pod;
	to->pod.namespace_ = text_of("default");
	to->pod.on_linux = &to->pod_linux;
	to->container.id = from->id;
	to->container.pod_sandbox_id = from->pod;
	to->container.name = from->name;
	to->container.state = 3;
	to->container.on_linux = &to->on_linux;
}

static inline void send_packed(const struct played_plugin *plugin, enum nri_connection connection,
			       enum nri_message_type type, uint32_t stream,
			       const ProtobufCMessage *content)
{
	size_t len = protobuf_c_message_get_packed_size(content);
	uint8_t *data cleanup_free = malloc(len + 1);
	struct nri_message message = {connection, stream, (uint8_t)type, data, len};
	struct nri_output output = {0};

	if (!data || protobuf_c_message_pack(content, data) != len ||
	    nri_output_add(&output, &message) ||
	    (send(plugin->fd, output.data, output.end, MSG_NOSIGNAL) != (ssize_t)output.end &&
	     !plugin->may_die))
		give_up("send");
	nri_output_fini(&output);
}

/* False = it has died, and may. */
static inline bool receive(struct played_plugin *plugin, struct nri_message *ret_message)
{
	for (;;) {
		ssize_t got;
		int r = nri_reader_next(&plugin->reader, &plugin->input_at, &plugin->input_len,
					ret_message);

		if (r < 0)
			give_up("the plugin's frames");
		if (r)
			return true;
		got = recv(plugin->fd, plugin->input, sizeof(plugin->input), 0);
		if (got <= 0 && plugin->may_die)
			return false;
		if (got <= 0)
			give_up("recv");
		plugin->input_at = plugin->input;
		plugin->input_len = (size_t)got;
	}
}

static inline Nri__Response *await_response(struct played_plugin *plugin, uint32_t stream)
{
	struct nri_message message;
	Nri__Response *response;

	do {
		if (!receive(plugin, &message))
			return NULL;
	} while (message.connection != NRI_CONNECTION_PLUGIN || message.stream != stream);
	response = nri__response__unpack(NULL, message.len, message.data);
	if (!response)
		give_up("a response");
	return response;
}

static inline void free_response(Nri__Response *response)
{
	if (response)
		nri__response__free_unpacked(response, NULL);
}

/* Its answer is that to stream plugin->last_stream. */
static inline void send_call(struct played_plugin *plugin, const char *method,
			     const ProtobufCMessage *payload)
{
	Nri__Request request = NRI__REQUEST__INIT;
	uint8_t *data cleanup_free = malloc(protobuf_c_message_get_packed_size(payload) + 1);

	request.service = text_of(PLUGIN_SERVICE);
	request.method = text_of(method);
	request.timeout_nano = 60000000000LL;
	request.payload.data = data;
	request.payload.len = protobuf_c_message_pack(payload, data);
	plugin->last_stream += 2;
	send_packed(plugin, NRI_CONNECTION_PLUGIN, NRI_MESSAGE_REQUEST, plugin->last_stream,
		    &request.base);
}

/* To be freed with free_response(). */
static inline Nri__Response *call_plugin(struct played_plugin *plugin, const char *method,
					 const ProtobufCMessage *payload)
{
	send_call(plugin, method, payload);
	return await_response(plugin, plugin->last_stream);
}

/* A container of the kubelet's cgroupfs driver. */
static inline void name_container(struct played_container *container, const char *pod,
				  const char *name, const char *id, bool is_guaranteed, long mcpu)
{
	*container = (struct played_container){.is_guaranteed = is_guaranteed, .mcpu = mcpu};
	snprintf(container->id, sizeof(container->id), "%s", id);
	snprintf(container->pod, sizeof(container->pod), "%s", pod);
	snprintf(container->name, sizeof(container->name), "%s", name);
	snprintf(container->parent, sizeof(container->parent), "/kubepods%s/pod%s",
		 is_guaranteed ? "" : "/burstable", pod);
}

/* The update of a container (9), its removal (11), or the end of its sandbox (2). */
static inline void fill_event(int event, struct played_container *container,
			      struct content *content, Nri__StateChangeEvent *change)
{
	nri__state_change_event__init(change);
	fill_content(container, content);
	change->event = event;
	change->pod = &content->pod;
	change->container = event < 4 ? NULL : &content->container;
}

static inline void send_event(struct played_plugin *plugin, int event,
			      struct played_container *container)
{
	Nri__StateChangeEvent change;
	struct content content;

	fill_event(event, container, &content, &change);
	free_response(call_plugin(plugin, "StateChange", &change.base));
}

/* Wait for the registration of a plugin that has connected, and tell it what runs. To be freed as above. */
static inline Nri__Response *register_plugin(struct played_plugin *plugin, const char *runtime,
					     struct played_container *containers, size_t nr)
{
	struct content *contents cleanup_free = calloc(nr + 1, sizeof(*contents));
	Nri__PodSandbox **pods cleanup_free = calloc(nr + 1, sizeof(*pods));
	Nri__Container **rows cleanup_free = calloc(nr + 1, sizeof(*rows));
	Nri__ConfigureRequest configure = NRI__CONFIGURE_REQUEST__INIT;
	Nri__SynchronizeRequest synchronize = NRI__SYNCHRONIZE_REQUEST__INIT;
	Nri__Response empty = NRI__RESPONSE__INIT;
	struct nri_message message;
	size_t nr_rows = 0;

	if (!contents || !pods || !rows)
		give_up("memory");
	plugin->last_stream = 1;
	do {
		if (!receive(plugin, &message))
			return NULL;
	} while (message.connection != NRI_CONNECTION_RUNTIME);
	configure.runtime_name = text_of(runtime);
	configure.runtime_version = text_of("1.0");
	free_response(call_plugin(plugin, "Configure", &configure.base));
	send_packed(plugin, NRI_CONNECTION_RUNTIME, NRI_MESSAGE_RESPONSE, 1, &empty.base);
	for (size_t i = 0; i < nr; i++) {
		fill_content(&containers[i], &contents[i]);
		pods[i] = &contents[i].pod;
		if (!containers[i].has_exited)
			rows[nr_rows++] = &contents[i].container;
	}
	synchronize.pods = pods;
	synchronize.containers = rows;
	synchronize.n_pods = nr;
	synchronize.n_containers = nr_rows;
	return call_plugin(plugin, "Synchronize", &synchronize.base);
}

#endif
