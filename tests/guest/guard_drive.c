// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * The BPF backend without a controller: a policy by command, one line each on
 * stdin, "done <errno name or ok>" on stdout after what the command prints.
 * Events go to the file named in the first argument, one line each.
 *
 *   pins DIR [MAX_CONTAINERS]     (options, before start)
 *   start                         load or adopt, become the agent
 *   group tree|self|overlap PATH  one managed cgroup, PATH below the mount
 *   container PATH CPUS
 *   actor PARENT_PATH NAME        a cgroup that may attach to containers' processes
 *   protect CPUS · modes MODE (of every aspect) · mode ASPECT MODE · expiry MS
 *   publish · selftest PATH · tick · sync · status · counts · programs · features
 *   write PATH FILE TEXT          as the agent
 *   mkdir PATH
 *   release · remove · quit
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/places.h"
#include "bpf/bpf_backend.h"
#include "lib/crash.h"
#include "lib/file.h"
#include "lib/log.h"

#define CGROUPS	   "/sys/fs/cgroup"
#define GROUPS_MAX 64

static struct {
	char pins[128];
	struct bpf_backend_options options;
	struct topology topology;
	struct bpf_backend *backend;
	struct kernel_port port;
	struct managed_group groups[GROUPS_MAX];
	struct cpuset cpus[GROUPS_MAX]; /* of these */
	struct actor_unit actors[GROUPS_MAX];
	struct kernel_policy policy;
	FILE *events;
} drive;

static void note_event(void *self, const struct event_record *event)
{
	char detail[ROW_DETAIL_MAX];

	event_detail(event, detail, sizeof(detail));
	fprintf(self,
		"kind=%s aspect=%s action=%s pid=%u comm=%s cgroup=%llu target=%llu "
		"suppressed=%u detail=%s\n",
		event_kind_name(event), aspect_name(event->aspect), action_name(event->action),
		event->pid, event->comm, (unsigned long long)event->culprit_id,
		(unsigned long long)event->target_id, event->suppressed, detail);
	fflush(self);
}

static const struct kernel_sink *sink(void)
{
	static struct kernel_sink events;

	events = (struct kernel_sink){.self = drive.events, .event = note_event};
	return &events;
}

static int locate(const char *path, uint64_t *ret_id, uint32_t *ret_level)
{
	char full[512];
	struct stat stat_of;

	snprintf(full, sizeof(full), CGROUPS "/%s", path);
	if (stat(full, &stat_of))
		return -errno;
	*ret_id = stat_of.st_ino;
	*ret_level = 0;
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		p += strspn(p, "/");
		*ret_level += *p != '\0' && *p != '.';
	}
	return 0;
}

static int add_group(const char *path, enum managed_scope scope, const char *cpus)
{
	struct managed_group *group = &drive.groups[drive.policy.nr_groups];
	int r;

	if (drive.policy.nr_groups == GROUPS_MAX)
		return -E2BIG;
	*group = (struct managed_group){.scope = scope, .is_container = cpus != NULL};
	r = locate(path, &group->cgroup_id, &group->level);
	if (!r && cpus)
		r = cpuset_parse(cpus, strlen(cpus), &drive.cpus[drive.policy.nr_groups]);
	if (!r && cpus)
		group->cpus = &drive.cpus[drive.policy.nr_groups];
	drive.policy.nr_groups += !r;
	return r;
}

static int run_group(char **args)
{
	enum managed_scope scope = MANAGED_OVERLAP;

	if (!strcmp(args[0], "tree"))
		scope = MANAGED_TREE;
	else if (!strcmp(args[0], "self"))
		scope = MANAGED_SELF;
	return add_group(args[1], scope, NULL);
}

static int run_container(char **args)
{
	return add_group(args[0], MANAGED_TREE, args[1]);
}

static int run_actor(char **args)
{
	struct actor_unit *actor = &drive.actors[drive.policy.nr_actors];
	int r = locate(args[0], &actor->parent_id, &actor->level);

	actor->level++;
	snprintf(actor->name, sizeof(actor->name), "%s", args[1]);
	drive.policy.nr_actors += !r;
	return r;
}

static int run_protect(char **args)
{
	return cpuset_parse(args[0], strlen(args[0]), &drive.policy.protected_cpus);
}

static enum enforcement mode_named(const char *name)
{
	if (!strcmp(name, "enforce"))
		return ENFORCEMENT_ENFORCE;
	return !strcmp(name, "audit") ? ENFORCEMENT_AUDIT : ENFORCEMENT_OFF;
}

static int run_modes(char **args)
{
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		drive.policy.modes[aspect] = mode_named(args[0]);
	return 0;
}

static int run_mode(char **args)
{
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++) {
		if (strcmp(args[0], aspect_name(aspect)))
			continue;
		drive.policy.modes[aspect] = mode_named(args[1]);
		return 0;
	}
	return -EINVAL;
}

static int run_expiry(char **args)
{
	drive.policy.guard_expiry_ns = strtoull(args[0], NULL, 10) * 1000000;
	return 0;
}

static int run_pins(char **args)
{
	snprintf(drive.pins, sizeof(drive.pins), "%s", args[0]);
	drive.options.max_containers = (uint32_t)strtoul(args[1], NULL, 10);
	return 0;
}

static int run_start(char **args)
{
	int r;

	drive.options.topology = &drive.topology;
	drive.options.bpffs_dir = drive.pins;
	r = bpf_backend_open(&drive.options, &drive.backend);
	if (r)
		return r;
	drive.port = bpf_backend_port(drive.backend);
	r = drive.port.start(drive.backend);
	return r ? r : drive.port.enter_actor(drive.backend);
}

static int run_publish(char **args)
{
	drive.policy.groups = drive.groups;
	drive.policy.actors = drive.actors;
	drive.policy.may_be_empty = true;
	return drive.port.publish(drive.backend, &drive.policy);
}

static int run_selftest(char **args)
{
	return drive.port.self_test(drive.backend, args[0]);
}

static int run_tick(char **args)
{
	drive.port.tick(drive.backend);
	return 0;
}

static int run_sync(char **args)
{
	int r = bpf_backend_dispatch(drive.backend, sink());

	return r < 0 ? r : 0;
}

static int run_status(char **args)
{
	static const char *const names[] = {"inactive", "partial", "active", "unknown"};
	struct guard_status status;

	drive.port.guard_status(drive.backend, &status);
	printf("state=%s mechanism=%s misses=%llu reason=%s remedy=%s\n", names[status.state],
	       status.mechanism, (unsigned long long)status.recursion_misses, status.reason,
	       status.remedy);
	return 0;
}

static int run_counts(char **args)
{
	const struct hook_count *counts;
	uint32_t nr = drive.port.hook_counts(drive.backend, &counts);
	struct observer_space space;

	for (uint32_t i = 0; i < nr; i++)
		printf("hook=%s allowed=%llu audited=%llu denied=%llu\n", counts[i].hook,
		       (unsigned long long)counts[i].counts[ACTION_ALLOW],
		       (unsigned long long)counts[i].counts[ACTION_AUDIT],
		       (unsigned long long)counts[i].counts[ACTION_DENY]);
	for (enum event_counter what = EVENTS_LOST; what < EVENTS_NR; what++) {
		const char *map = event_counter_map(what);
		uint64_t nr_lost;

		if (*map && !drive.port.events_lost(drive.backend, what, &nr_lost))
			printf("lost map=%s nr=%llu\n", map, (unsigned long long)nr_lost);
	}
	if (!drive.port.observer_space(drive.backend, &space))
		printf("observer slots=%u used=%u refused=%llu\n", space.nr_slots, space.nr_used,
		       (unsigned long long)space.nr_refused);
	return 0;
}

static int run_programs(char **args)
{
	const struct prog_row *rows;
	uint32_t nr = drive.port.programs(drive.backend, &rows);

	for (uint32_t i = 0; i < nr; i++)
		printf("object=%s program=%s type=%s id=%u time=%lld runs=%lld misses=%llu\n",
		       rows[i].object, rows[i].name, rows[i].type, rows[i].id,
		       (long long)rows[i].run_time_ns, (long long)rows[i].run_count,
		       (unsigned long long)rows[i].recursion_misses);
	return 0;
}

static int run_features(char **args)
{
	static const char *const names[] = {"no", "yes", "unknown"};
	const struct feature_row *rows;
	uint32_t nr = drive.port.features(drive.backend, &rows);

	for (uint32_t i = 0; i < nr; i++)
		printf("feature=%s state=%s error=%d reason=%s\n", rows[i].name,
		       names[rows[i].state], rows[i].error, rows[i].reason);
	return 0;
}

static int run_write(char **args)
{
	char path[512];

	snprintf(path, sizeof(path), CGROUPS "/%s/%s", args[0], args[1]);
	return file_write_text(AT_FDCWD, path, args[2]);
}

static int run_mkdir(char **args)
{
	char path[512];

	snprintf(path, sizeof(path), CGROUPS "/%s", args[0]);
	return mkdir(path, 0755) ? -errno : 0;
}

static int run_release(char **args)
{
	return guard_release(drive.pins);
}

static int run_remove(char **args)
{
	return bpf_backend_remove(drive.pins);
}

static const struct {
	const char *name;
	int nr_args;
	int (*run)(char **args);
} commands[] = {
	{"pins", 2, run_pins},		 {"start", 0, run_start},	{"group", 2, run_group},
	{"container", 2, run_container}, {"actor", 2, run_actor},	{"protect", 1, run_protect},
	{"modes", 1, run_modes},	 {"mode", 2, run_mode},		{"expiry", 1, run_expiry},
	{"publish", 0, run_publish},	 {"selftest", 1, run_selftest}, {"tick", 0, run_tick},
	{"sync", 0, run_sync},		 {"status", 0, run_status},	{"counts", 0, run_counts},
	{"programs", 0, run_programs},	 {"features", 0, run_features}, {"write", 3, run_write},
	{"mkdir", 1, run_mkdir},	 {"release", 0, run_release},	{"remove", 0, run_remove},
};

static int run_command(char *line)
{
	char *args[5] = {NULL}, *name = strtok(line, " \n");
	int nr = 0;

	/* the last argument is the rest of the line: values have blanks in them */
	for (size_t i = 0; name && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(name, commands[i].name))
			continue;
		while (nr < commands[i].nr_args &&
		       (args[nr] = strtok(NULL, nr + 1 < commands[i].nr_args ? " \n" : "\n")))
			nr++;
		return nr < commands[i].nr_args ? -EINVAL : commands[i].run(args);
	}
	return -ENOSYS;
}

int main(int argc, char **argv)
{
	char line[512];

	log_open("guard_drive", LOG_LEVEL_DEBUG);
	crash_arm();
	drive.events = argc > 1 ? fopen(argv[1], "ae") : NULL;
	if (!drive.events)
		return 2;
	snprintf(drive.pins, sizeof(drive.pins), "/sys/fs/bpf/pinfold");
	drive.options.max_containers = 64;
	if (places_open(&drive.topology))
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		int r;

		if (!strncmp(line, "quit", 4))
			break;
		r = run_command(line);
		printf("done %s\n", r ? strerrorname_np(-r) : "ok");
		fflush(stdout);
	}
	bpf_backend_close(drive.backend);
	return 0;
}
