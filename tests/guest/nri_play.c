// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/*
 * A container runtime with NRI, as far as a plugin sees one: it makes the cgroups of a kubelet's
 * pods, starts a process in each container, and writes the CPUs that the plugin answers. One
 * command per line on stdin, one line of answer on stdout:
 *
 *   accept                           wait for a plugin, register and synchronize it
 *   create POD CONTAINER ID CLASS MCPU   class: guaranteed or burstable
 *   stop ID | remove ID | stop-pod POD | remove-pod POD
 *   update ID CPUS                   as the kubelet asks for other CPUs
 *   resize ID MCPU                   as the kubelet resizes a container in place
 *   doom MOMENT                      the plugin dies in the next call: "unread", before it has read it;
 *                                    "answered", right after its answer, which is not carried out; "self",
 *                                    when it likes. The runtime goes on without it, as a real one does
 *   audit                            does the kernel keep all exclusive containers apart from the others?
 *   churn NUMBER                     the lives of so many pods, some at a time, with an audit after each step
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

#include "../lib/nri_runtime.h"

#define CGROUPS	       "/sys/fs/cgroup"
#define MAX_CONTAINERS 32

static struct played_container containers[MAX_CONTAINERS];
static size_t nr_containers;
static int listener = -1;
static struct played_plugin plugin = {.fd = -1};
static char doom[16]; /* of the plugin in the next call; "" = it lives */

/* --- cgroups and processes ---------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);

	if (file >= 0)
		close(file);
	return done;
}

static void container_file(const struct played_container *container, const char *file,
			   char path[512])
{
	snprintf(path, 512, CGROUPS "%s/%s/%s", container->parent, container->id, file);
}

/* Every level, with the controllers for the next one, as runc does. */
static void make_cgroup(const struct played_container *container)
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
static bool set_cpus(struct played_container *container, const char *cpus)
{
	char path[512];

	container_file(container, "cpuset.cpus", path);
	if (!write_file(path, cpus))
		return false;
	snprintf(container->cpus, sizeof(container->cpus), "%s", cpus);
	return true;
}

/* "" = they stay as they are, as in a real runtime. */
static bool set_mems(struct played_container *container, const char *mems)
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

static void start_process(struct played_container *container)
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

static void end_process(struct played_container *container)
{
	if (container->pid <= 0)
		return;
	kill(container->pid, SIGKILL);
	waitpid(container->pid, NULL, 0);
	container->pid = 0;
	container->has_exited = true;
}

static struct played_container *find_container(const char *id)
{
	for (size_t i = 0; i < nr_containers; i++)
		if (!strcmp(containers[i].id, id))
			return &containers[i];
	return NULL;
}

static void drop_container(struct played_container *container)
{
	char path[512];

	end_process(container);
	container_file(container, "", path);
	rmdir(path);
	*container = containers[--nr_containers];
}

/* --- the plugin's death ------------------------------------------------------------------------- */

/* SIG of the process at the other end. */
static void signal_plugin(int sig)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(plugin.fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || kill(peer.pid, sig))
		give_up("the plugin's process");
}

static void do_doom(const char *moment)
{
	snprintf(doom, sizeof(doom), "%.15s", moment);
	puts("doomed");
}

/* NULL: the plugin has died, or dies now, and there is no answer to be carried out. */
static Nri__Response *ask_plugin(const char *method, const ProtobufCMessage *payload)
{
	const bool is_doomed = *doom;
	Nri__Response *response;

	plugin.may_die = is_doomed;
	if (!strcmp(doom, "unread"))
		signal_plugin(SIGSTOP);
	send_call(&plugin, method, payload);
	if (!strcmp(doom, "unread"))
		signal_plugin(SIGKILL);
	response = await_response(&plugin, plugin.last_stream);
	if (!strcmp(doom, "answered"))
		signal_plugin(SIGKILL);
	*doom = '\0';
	if (!is_doomed)
		return response;
	free_response(response);
	return NULL;
}

/* See fill_event(). */
static void tell_event(int event, struct played_container *container)
{
	Nri__StateChangeEvent change;
	struct content content;

	fill_event(event, container, &content, &change);
	free_response(ask_plugin("StateChange", &change.base));
}

/* --- answers ------------------------------------------------------------------------------------ */

/* Unknown containers are no error, as in a real runtime. */
static void apply_updates(size_t nr, Nri__ContainerUpdate **updates)
{
	for (size_t i = 0; i < nr; i++) {
		struct played_container *container = find_container(updates[i]->container_id);
		const Nri__LinuxCPU *cpu = updates[i]->on_linux->resources->cpu;

		if (container &&
		    (!set_cpus(container, cpu->cpus) || !set_mems(container, cpu->mems)))
			fprintf(stderr, "CPUs %s and memory nodes '%s' of %s were not taken\n",
				cpu->cpus, cpu->mems, container->id);
	}
}

static void apply_response(Nri__Response *response)
{
	Nri__Updates *updates;

	if (!response)
		return;
	updates = nri__updates__unpack(NULL, response->payload.len, response->payload.data);
	if (!updates)
		give_up("updates");
	apply_updates(updates->n_update, updates->update);
	nri__updates__free_unpacked(updates, NULL);
	free_response(response);
}

/* --- commands ----------------------------------------------------------------------------------- */

/* The plugin may be doomed in the middle of its registration, or right after it. */
static void do_accept(void)
{
	Nri__Response *response;

	if (plugin.fd >= 0)
		close(plugin.fd);
	nri_reader_fini(&plugin.reader);
	plugin = (struct played_plugin){.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)};
	if (plugin.fd < 0)
		give_up("accept");
	plugin.may_die = *doom;
	response = register_plugin(&plugin, "nri_play", containers, nr_containers);
	if (!strcmp(doom, "answered"))
		signal_plugin(SIGKILL);
	if (*doom) {
		free_response(response);
		response = NULL;
	}
	*doom = '\0';
	apply_response(response);
	puts("accepted");
}

static void do_create(const char *pod, const char *name, const char *id, const char *class,
		      const char *mcpu)
{
	struct played_container *container = &containers[nr_containers];
	Nri__ContainerEventRequest create = NRI__CONTAINER_EVENT_REQUEST__INIT;
	Nri__CreateContainerResponse *answer;
	struct content content;
	Nri__Response *response;

	name_container(container, pod, name, id, !strcmp(class, "guaranteed"),
		       strtol(mcpu, NULL, 10));
	fill_content(container, &content);
	create.pod = &content.pod;
	create.container = &content.container;
	response = ask_plugin("CreateContainer", &create.base);
	if (response && response->status && response->status->code) {
		printf("refused %s\n", response->status->message);
		free_response(response);
		return;
	}
	if (!response) {
		make_cgroup(container);
		nr_containers++;
		start_process(container);
		puts("created alone");
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
	free_response(response);
}

static void do_stop(struct played_container *container)
{
	Nri__ContainerEventRequest stop = NRI__CONTAINER_EVENT_REQUEST__INIT;
	struct content content;

	end_process(container);
	fill_content(container, &content);
	stop.pod = &content.pod;
	stop.container = &content.container;
	apply_response(ask_plugin("StopContainer", &stop.base));
	puts("stopped");
}

static void do_remove(struct played_container *container)
{
	struct played_container copy = *container;

	drop_container(container);
	tell_event(11, &copy);
	puts("removed");
}

static void do_stop_pod(const char *pod)
{
	struct played_container copy;

	name_container(&copy, pod, "", "", true, 0);
	for (size_t i = nr_containers; i-- > 0;) {
		if (strcmp(containers[i].pod, pod))
			continue;
		copy = containers[i];
		drop_container(&containers[i]);
	}
	tell_event(2, &copy);
	puts("stopped");
}

static void do_update(struct played_container *container, const char *cpus)
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
	apply_response(ask_plugin("UpdateContainer", &update.base));
	puts("updated");
}

/* As in a real runtime, the change of the container itself comes last. */
static void apply_resize(struct played_container *container, Nri__Response *response)
{
	Nri__Updates *updates;

	if (!response)
		return;
	updates = nri__updates__unpack(NULL, response->payload.len, response->payload.data);
	if (!updates)
		give_up("updates");
	for (int own = 0; own < 2; own++) {
		for (size_t i = 0; i < updates->n_update; i++)
			if ((strcmp(updates->update[i]->container_id, container->id) ? 0 : 1) ==
			    own)
				apply_updates(1, &updates->update[i]);
	}
	nri__updates__free_unpacked(updates, NULL);
	free_response(response);
}

static void do_resize(struct played_container *container, const char *mcpu)
{
	Nri__ContainerRequest update = NRI__CONTAINER_REQUEST__INIT;
	struct played_container resized = *container;
	struct content content, wanted;
	Nri__Response *response;
	bool is_alone;

	resized.mcpu = strtol(mcpu, NULL, 10);
	*resized.cpus = '\0';
	fill_content(container, &content);
	fill_content(&resized, &wanted);
	update.pod = &content.pod;
	update.container = &content.container;
	update.linux_resources = &wanted.resources;
	response = ask_plugin("UpdateContainer", &update.base);
	if (response && response->status && response->status->code) {
		printf("refused %s\n", response->status->message);
		free_response(response);
		return;
	}
	is_alone = !response;
	apply_resize(container, response);
	container->mcpu = resized.mcpu;
	if (!is_alone)
		tell_event(9, container);
	printf("resized %s\n", container->cpus);
}

/* The runtime has removed the sandbox, and with it the pod's cgroup. */
static void do_remove_pod(const char *pod)
{
	struct played_container gone;
	char path[512];

	for (int is_guaranteed = 0; is_guaranteed < 2; is_guaranteed++) {
		name_container(&gone, pod, "", "", is_guaranteed, 0);
		snprintf(path, sizeof(path), CGROUPS "%s", gone.parent);
		rmdir(path);
	}
	tell_event(3, &gone);
	puts("removed");
}

/* --- what the kernel has ------------------------------------------------------------------------ */

/* "2-5,8", of the first 64 CPUs */
static uint64_t mask_of(const char *list)
{
	uint64_t mask = 0;

	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list || first > 63)
			break;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < 64; first++)
			mask |= UINT64_C(1) << first;
		list = *end == ',' ? end + 1 : end;
	}
	return mask;
}

/* 0 = it is gone, or its process is */
static uint64_t kernel_mask(const struct played_container *container)
{
	char path[512], list[256] = "";
	ssize_t len;
	int file;

	if (!container->pid)
		return 0;
	container_file(container, "cpuset.cpus.effective", path);
	file = open(path, O_RDONLY | O_CLOEXEC);
	len = file < 0 ? -1 : read(file, list, sizeof(list) - 1);
	if (file >= 0)
		close(file);
	if (len <= 0)
		give_up("%s", path);
	list[len] = '\0';
	return mask_of(list);
}

static bool is_exclusive(const struct played_container *container)
{
	return container->is_guaranteed && container->mcpu % 1000 == 0;
}

/* How many containers have the CPUs of an exclusive one, or another number of them than it is to have. */
static unsigned int count_violations(void)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < nr_containers; i++) {
		const uint64_t own = kernel_mask(&containers[i]);

		if (!own || !is_exclusive(&containers[i]))
			continue;
		nr += __builtin_popcountll(own) != containers[i].mcpu / 1000;
		for (size_t j = 0; j < nr_containers; j++)
			nr += j != i && own & kernel_mask(&containers[j]);
	}
	return nr;
}

/* --- the lives of many pods --------------------------------------------------------------------- */

/* Each of them tells the caller's caller what it did, which is too much here. */
static void end_oldest(void)
{
	char pod[64];

	snprintf(pod, sizeof(pod), "%s", containers[0].pod);
	do_stop(&containers[0]);
	do_remove(&containers[0]);
	do_stop_pod(pod);
	do_remove_pod(pod);
}

/* Some live at a time: one of them shares, one has one CPU, one has two. */
static void do_churn(unsigned int nr)
{
	static unsigned int nr_churned;
	const size_t nr_others = nr_containers;
	unsigned int nr_violations = 0;
	FILE *said = stdout;

	/* Each of many pods says the same; what is counted is said at the end. */
	stdout = fopen("/tmp/churn.said", "a");
	if (!stdout || nr_others)
		give_up("churn");
	for (unsigned int i = 0; i < nr; i++, nr_churned++) {
		char pod[32], id[32], mcpu[16];

		snprintf(pod, sizeof(pod), "churn%u", nr_churned);
		snprintf(id, sizeof(id), "id%u", nr_churned);
		snprintf(mcpu, sizeof(mcpu), "%u", i % 3 ? i % 3 * 1000 : 500);
		do_create(pod, "main", id, i % 3 ? "guaranteed" : "burstable", mcpu);
		nr_violations += count_violations();
		if (nr_containers < 6)
			continue;
		end_oldest();
		nr_violations += count_violations();
	}
	while (nr_containers) {
		end_oldest();
		nr_violations += count_violations();
	}
	fclose(stdout);
	stdout = said;
	printf("churned %u violations %u\n", nr, nr_violations);
}

static void obey(char *line)
{
	char word[6][64] = {0};
	struct played_container *container;

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
	else if (!strcmp(word[0], "remove-pod"))
		do_remove_pod(word[1]);
	else if (!strcmp(word[0], "doom"))
		do_doom(word[1]);
	else if (!strcmp(word[0], "audit"))
		printf("violations %u\n", count_violations());
	else if (!strcmp(word[0], "churn"))
		do_churn((unsigned int)strtoul(word[1], NULL, 10));
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
