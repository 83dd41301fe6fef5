// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/*
 * A container runtime with NRI, as far as a plugin sees one: it makes the cgroups of a kubelet's
 * pods, starts a process in each container, and writes the CPUs that the plugin answers. One
 * command per line on stdin, one line of answer on stdout:
 *
 *   accept                           wait for a plugin, register and synchronize it
 *   create POD CONTAINER ID CLASS MCPU   class: guaranteed or burstable
 *   stop ID | remove ID | stop-pod POD
 *   update ID CPUS                   as the kubelet asks for other CPUs
 *   resize ID MCPU                   as the kubelet resizes a container in place
 *
 * nri_play SOCKET
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "nri.pb-c.h"
#include "nri/wire.h"

#define CGROUPS	       "/sys/fs/cgroup"
#define PLUGIN_SERVICE "nri.pkg.api.v1alpha1.Plugin"
#define MAX_CONTAINERS 32

struct container {
	char id[80], pod[64], name[64], parent[128], cpus[64], mems[64];
	bool is_guaranteed;
	long mcpu;
	pid_t pid;
};

static struct container containers[MAX_CONTAINERS];
static size_t nr_containers;
static int listener = -1, fd = -1;
static struct nri_reader reader;
static uint8_t input[65536];
static const uint8_t *input_at;
static size_t input_len;
static uint32_t last_stream = 1;

__attribute__((format(printf, 1, 2), noreturn)) static void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	_exit(1);
}

/* --- cgroups and processes ---------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);

	if (file >= 0)
		close(file);
	return done;
}

static void container_file(const struct container *container, const char *file, char path[512])
{
	snprintf(path, 512, CGROUPS "%s/%s/%s", container->parent, container->id, file);
}

/* Every level, with the controllers for the next one, as runc does. */
static void make_cgroup(const struct container *container)
{
	char path[512], control[640];

	snprintf(path, sizeof(path), CGROUPS "%s/%s", container->parent, container->id);
	for (char *at = path + strlen(CGROUPS); at; at = strchr(at + 1, '/')) {
		char kept = *at;

		*at = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			give_up("mkdir %s", path);
		snprintf(control, sizeof(control), "%s/cgroup.subtree_control", path);
		if (!write_file(control, "+cpuset +cpu"))
			give_up("%s", control);
		*at = kept;
	}
	if (mkdir(path, 0755))
		give_up("mkdir %s", path);
}

/* False: the kernel did not take them, and they stay as they were. */
static bool set_cpus(struct container *container, const char *cpus)
{
	char path[512];

	container_file(container, "cpuset.cpus", path);
	if (!write_file(path, cpus))
		return false;
	snprintf(container->cpus, sizeof(container->cpus), "%s", cpus);
	return true;
}

/* "" = they stay as they are, as in a real runtime. */
static bool set_mems(struct container *container, const char *mems)
{
	char path[512];

	if (!*mems)
		return true;
	container_file(container, "cpuset.mems", path);
	if (!write_file(path, mems))
		return false;
	snprintf(container->mems, sizeof(container->mems), "%s", mems);
	return true;
}

static void start_process(struct container *container)
{
	char path[512], pid[32];

	container->pid = fork();
	if (container->pid)
		return;
	container_file(container, "cgroup.procs", path);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (!write_file(path, pid))
		give_up("%s", path);
	for (;;)
		pause();
}

static void end_process(struct container *container)
{
	if (container->pid <= 0)
		return;
	kill(container->pid, SIGKILL);
	waitpid(container->pid, NULL, 0);
	container->pid = 0;
}

static struct container *find_container(const char *id)
{
	for (size_t i = 0; i < nr_containers; i++)
		if (!strcmp(containers[i].id, id))
			return &containers[i];
	return NULL;
}

static void drop_container(struct container *container)
{
	char path[512];

	end_process(container);
	container_file(container, "", path);
	rmdir(path);
	*container = containers[--nr_containers];
}

/* --- messages ----------------------------------------------------------------------------------- */

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

static char *text_of(const char *text)
{
	return (char *)(uintptr_t)text;
}

static void fill_content(struct container *from, struct content *to)
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
	snprintf(to->cgroup, sizeof(to->cgroup), "%s/%s", from->parent, from->id);
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

static void send_packed(enum nri_connection connection, enum nri_message_type type, uint32_t stream,
			const ProtobufCMessage *content)
{
	size_t len = protobuf_c_message_get_packed_size(content);
	uint8_t *data cleanup_free = malloc(len + 1);
	struct nri_message message = {connection, stream, (uint8_t)type, data, len};
	struct nri_output output = {0};

	if (!data || protobuf_c_message_pack(content, data) != len ||
	    nri_output_add(&output, &message) ||
	    send(fd, output.data, output.end, MSG_NOSIGNAL) != (ssize_t)output.end)
		give_up("send");
	nri_output_fini(&output);
}

static void receive(struct nri_message *ret_message)
{
	for (;;) {
		ssize_t got;
		int r = nri_reader_next(&reader, &input_at, &input_len, ret_message);

		if (r < 0)
			give_up("the plugin's frames");
		if (r)
			return;
		got = recv(fd, input, sizeof(input), 0);
		if (got <= 0)
			give_up("recv");
		input_at = input;
		input_len = (size_t)got;
	}
}

static Nri__Response *await_response(uint32_t stream)
{
	struct nri_message message;
	Nri__Response *response;

	do {
		receive(&message);
	} while (message.connection != NRI_CONNECTION_PLUGIN || message.stream != stream);
	response = nri__response__unpack(NULL, message.len, message.data);
	if (!response)
		give_up("a response");
	return response;
}

static Nri__Response *call_plugin(const char *method, const ProtobufCMessage *payload)
{
	Nri__Request request = NRI__REQUEST__INIT;
	uint8_t *data cleanup_free = malloc(protobuf_c_message_get_packed_size(payload) + 1);

	request.service = text_of(PLUGIN_SERVICE);
	request.method = text_of(method);
	request.timeout_nano = 60000000000LL;
	request.payload.data = data;
	request.payload.len = protobuf_c_message_pack(payload, data);
	last_stream += 2;
	send_packed(NRI_CONNECTION_PLUGIN, NRI_MESSAGE_REQUEST, last_stream, &request.base);
	return await_response(last_stream);
}

/* Unknown containers are no error, as in a real runtime. */
static void apply_updates(size_t nr, Nri__ContainerUpdate **updates)
{
	for (size_t i = 0; i < nr; i++) {
		struct container *container = find_container(updates[i]->container_id);
		const Nri__LinuxCPU *cpu = updates[i]->on_linux->resources->cpu;

		if (container &&
		    (!set_cpus(container, cpu->cpus) || !set_mems(container, cpu->mems)))
			fprintf(stderr, "CPUs %s and memory nodes '%s' of %s were not taken\n",
				cpu->cpus, cpu->mems, container->id);
	}
}

static void apply_response(Nri__Response *response)
{
	Nri__Updates *updates =
		nri__updates__unpack(NULL, response->payload.len, response->payload.data);

	if (!updates)
		give_up("updates");
	apply_updates(updates->n_update, updates->update);
	nri__updates__free_unpacked(updates, NULL);
	nri__response__free_unpacked(response, NULL);
}

/* --- commands ----------------------------------------------------------------------------------- */

static void do_accept(void)
{
	Nri__ConfigureRequest configure = NRI__CONFIGURE_REQUEST__INIT;
	Nri__SynchronizeRequest synchronize = NRI__SYNCHRONIZE_REQUEST__INIT;
	Nri__Response empty = NRI__RESPONSE__INIT;
	static struct content contents[MAX_CONTAINERS];
	Nri__PodSandbox *pods[MAX_CONTAINERS];
	Nri__Container *rows[MAX_CONTAINERS];
	struct nri_message message;

	if (fd >= 0)
		close(fd);
	nri_reader_fini(&reader);
	reader = (struct nri_reader){0};
	input_len = 0;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		give_up("accept");
	do {
		receive(&message);
	} while (message.connection != NRI_CONNECTION_RUNTIME);
	configure.runtime_name = text_of("nri_play");
	configure.runtime_version = text_of("1.0");
	nri__response__free_unpacked(call_plugin("Configure", &configure.base), NULL);
	send_packed(NRI_CONNECTION_RUNTIME, NRI_MESSAGE_RESPONSE, 1, &empty.base);
	for (size_t i = 0; i < nr_containers; i++) {
		fill_content(&containers[i], &contents[i]);
		pods[i] = &contents[i].pod;
		rows[i] = &contents[i].container;
	}
	synchronize.pods = pods;
	synchronize.containers = rows;
	synchronize.n_pods = synchronize.n_containers = nr_containers;
	apply_response(call_plugin("Synchronize", &synchronize.base));
	puts("accepted");
}

static void do_create(const char *pod, const char *name, const char *id, const char *class,
		      const char *mcpu)
{
	struct container *container = &containers[nr_containers];
	Nri__ContainerEventRequest create = NRI__CONTAINER_EVENT_REQUEST__INIT;
	Nri__CreateContainerResponse *answer;
	struct content content;
	Nri__Response *response;

	*container = (struct container){.is_guaranteed = !strcmp(class, "guaranteed"),
					.mcpu = strtol(mcpu, NULL, 10)};
	snprintf(container->id, sizeof(container->id), "%s", id);
	snprintf(container->pod, sizeof(container->pod), "%s", pod);
	snprintf(container->name, sizeof(container->name), "%s", name);
	snprintf(container->parent, sizeof(container->parent), "/kubepods%s/pod%s",
		 container->is_guaranteed ? "" : "/burstable", pod);
	fill_content(container, &content);
	create.pod = &content.pod;
	create.container = &content.container;
	response = call_plugin("CreateContainer", &create.base);
	if (response->status && response->status->code) {
		printf("refused %s\n", response->status->message);
		nri__response__free_unpacked(response, NULL);
		return;
	}
	answer = nri__create_container_response__unpack(NULL, response->payload.len,
							response->payload.data);
	if (!answer)
		give_up("an answer");
	apply_updates(answer->n_update, answer->update);
	make_cgroup(container);
	nr_containers++;
	if (answer->adjust &&
	    (!set_cpus(container, answer->adjust->on_linux->resources->cpu->cpus) ||
	     !set_mems(container, answer->adjust->on_linux->resources->cpu->mems)))
		give_up("cpuset");
	start_process(container);
	printf("created %s %d\n", *container->cpus ? container->cpus : "-", container->pid);
	nri__create_container_response__free_unpacked(answer, NULL);
	nri__response__free_unpacked(response, NULL);
}

static void do_stop(struct container *container)
{
	Nri__ContainerEventRequest stop = NRI__CONTAINER_EVENT_REQUEST__INIT;
	struct content content;

	end_process(container);
	fill_content(container, &content);
	stop.pod = &content.pod;
	stop.container = &content.container;
	apply_response(call_plugin("StopContainer", &stop.base));
	puts("stopped");
}

static void send_event(int event, struct container *container)
{
	Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;
	struct content content;

	fill_content(container, &content);
	change.event = event;
	change.pod = &content.pod;
	change.container = event == 2 ? NULL : &content.container;
	nri__response__free_unpacked(call_plugin("StateChange", &change.base), NULL);
}

static void do_remove(struct container *container)
{
	struct container copy = *container;

	drop_container(container);
	send_event(11, &copy);
	puts("removed");
}

static void do_stop_pod(const char *pod)
{
	struct container copy = {0};

	for (size_t i = nr_containers; i-- > 0;) {
		if (strcmp(containers[i].pod, pod))
			continue;
		copy = containers[i];
		drop_container(&containers[i]);
	}
	send_event(2, &copy);
	puts("stopped");
}

static void do_update(struct container *container, const char *cpus)
{
	Nri__ContainerRequest update = NRI__CONTAINER_REQUEST__INIT;
	Nri__LinuxResources wanted = NRI__LINUX_RESOURCES__INIT;
	Nri__LinuxCPU cpu = NRI__LINUX_CPU__INIT;
	struct content content;

	fill_content(container, &content);
	cpu.cpus = text_of(cpus);
	wanted.cpu = &cpu;
	update.pod = &content.pod;
	update.container = &content.container;
	update.linux_resources = &wanted;
	set_cpus(container, cpus);
	apply_response(call_plugin("UpdateContainer", &update.base));
	puts("updated");
}

/* As in a real runtime, the change of the container itself comes last. */
static void apply_resize(struct container *container, Nri__Response *response)
{
	Nri__Updates *updates =
		nri__updates__unpack(NULL, response->payload.len, response->payload.data);

	if (!updates)
		give_up("updates");
	for (int own = 0; own < 2; own++) {
		for (size_t i = 0; i < updates->n_update; i++)
			if ((strcmp(updates->update[i]->container_id, container->id) ? 0 : 1) ==
			    own)
				apply_updates(1, &updates->update[i]);
	}
	nri__updates__free_unpacked(updates, NULL);
	nri__response__free_unpacked(response, NULL);
}

static void do_resize(struct container *container, const char *mcpu)
{
	Nri__ContainerRequest update = NRI__CONTAINER_REQUEST__INIT;
	struct container resized = *container;
	struct content content, wanted;
	Nri__Response *response;

	resized.mcpu = strtol(mcpu, NULL, 10);
	*resized.cpus = '\0';
	fill_content(container, &content);
	fill_content(&resized, &wanted);
	update.pod = &content.pod;
	update.container = &content.container;
	update.linux_resources = &wanted.resources;
	response = call_plugin("UpdateContainer", &update.base);
	if (response->status && response->status->code) {
		printf("refused %s\n", response->status->message);
		nri__response__free_unpacked(response, NULL);
		return;
	}
	apply_resize(container, response);
	container->mcpu = resized.mcpu;
	send_event(9, container);
	printf("resized %s\n", container->cpus);
}

static void obey(char *line)
{
	char word[6][64] = {0};
	struct container *container;

	sscanf(line, "%63s %63s %63s %63s %63s %63s", word[0], word[1], word[2], word[3], word[4],
	       word[5]);
	container = find_container(word[1]);
	if (!strcmp(word[0], "accept"))
		do_accept();
	else if (!strcmp(word[0], "create") && nr_containers < MAX_CONTAINERS)
		do_create(word[1], word[2], word[3], word[4], word[5]);
	else if (!strcmp(word[0], "stop") && container)
		do_stop(container);
	else if (!strcmp(word[0], "remove") && container)
		do_remove(container);
	else if (!strcmp(word[0], "update") && container)
		do_update(container, word[2]);
	else if (!strcmp(word[0], "resize") && container)
		do_resize(container, word[2]);
	else if (!strcmp(word[0], "stop-pod"))
		do_stop_pod(word[1]);
	else
		puts("unknown");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char line[512];

	if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path))
		give_up("nri_play SOCKET");
	strcpy(address.sun_path, argv[1]);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 4))
		give_up("%s", argv[1]);
	puts("listening");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	while (nr_containers)
		drop_container(&containers[nr_containers - 1]);
	return 0;
}
