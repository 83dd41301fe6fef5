// SPDX-License-Identifier: Apache-2.0
/*
 * Parses the text of mountinfo: which cgroup hierarchies are mounted, and whether version
 * 2 can be used. Opens no files.
 */
#include "cgroup/mounts.h"

#include <errno.h>
#include <string.h>

#include "cgroup/failure.h"

static const char *const problem_names[] = {
	[DIR_FINE] = "fine",
	[DIR_NOT_MOUNTED] = "cgroup-not-mounted",
	[DIR_V1] = "cgroup-v1",
	[DIR_HYBRID] = "cgroup-hybrid",
	[DIR_PARTIAL_MOUNT] = "cgroup-partial-mount",
	[DIR_OWN_NAMESPACE] = "cgroup-namespace",
	[DIR_READ_ONLY] = "cgroup-read-only",
	[DIR_NO_CPUSET] = "no-cpuset-controller",
	[DIR_CPUSET_NOT_ENABLED] = "cpuset-not-enabled",
	[DIR_NOT_PERMITTED] = "not-permitted",
	[DIR_UNREADABLE] = "cgroup-unreadable",
};
_Static_assert(ARRAY_SIZE(problem_names) == DIR_PROBLEM_NR, "a problem has no name");

const char *dir_problem_name(enum dir_problem problem)
{
	return problem < DIR_PROBLEM_NR ? problem_names[problem] : "unknown";
}

#define LINE_FIELDS_MAX 32

/* Undo the octal escapes (\040 is a blank) of a mountinfo path. */
static void unescape(const char *field, char *ret_path, size_t size)
{
	size_t len = 0;

	while (*field && len + 1 < size) {
		if (field[0] == '\\' && field[1] >= '0' && field[1] <= '3' && field[2] >= '0' &&
		    field[2] <= '7' && field[3] >= '0' && field[3] <= '7') {
			ret_path[len++] = (char)((field[1] - '0') << 6 | (field[2] - '0') << 3 |
						 (field[3] - '0'));
			field += 4;
		} else {
			ret_path[len++] = *field++;
		}
	}
	ret_path[len] = '\0';
}

/* Is `word` one of the comma-separated words of `list`? */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list) {
		if (!strncmp(list, word, len) && (list[len] == ',' || !list[len]))
			return true;
		list = strchr(list, ',');
		if (list)
			list++;
	}
	return false;
}

/* Split in place at single blanks; fields beyond `max` are not counted. */
static unsigned int split(char *line, char **fields, unsigned int max)
{
	unsigned int nr = 0;
	char *rest = NULL;

	for (char *field = strtok_r(line, " ", &rest); field && nr < max;
	     field = strtok_r(NULL, " ", &rest))
		fields[nr++] = field;
	return nr;
}

static void note_v1(struct mounts *mounts, const char *point, const char *super_options)
{
	char path[MOUNT_PATH_MAX];

	/* A named hierarchy, which systemd uses for its bookkeeping, has no controller. */
	if (strstr(super_options, "name="))
		return;
	unescape(point, path, sizeof(path));
	if (!mounts->v1)
		memcpy(mounts->v1_path, path, sizeof(path));
	mounts->v1 = true;
	if (list_has(super_options, "cpuset"))
		memcpy(mounts->cpuset_v1_path, path, sizeof(path));
}

/* Prefer a mount of the whole hierarchy, and then the usual mount point. */
static int worth(const char *fs_root, const char *path)
{
	return 2 * !strcmp(fs_root, "/") + !strcmp(path, "/sys/fs/cgroup");
}

static void note_v2(struct mounts *mounts, char **fields, const char *super_options)
{
	char path[MOUNT_PATH_MAX], fs_root[MOUNT_PATH_MAX];

	unescape(fields[3], fs_root, sizeof(fs_root));
	unescape(fields[4], path, sizeof(path));
	/* A later mount on the same mount point hides the earlier one, so the later one counts. */
	if (mounts->v2 && strcmp(mounts->v2_path, path) &&
	    worth(fs_root, path) <= worth(mounts->v2_root, mounts->v2_path))
		return;
	mounts->v2 = true;
	memcpy(mounts->v2_path, path, sizeof(path));
	memcpy(mounts->v2_root, fs_root, sizeof(fs_root));
	mounts->v2_read_only = list_has(fields[5], "ro") || list_has(super_options, "ro");
}

/* "36 25 0:30 /root /point rw,opt shared:1 - fstype source super,options" */
static void parse_line(char *line, struct mounts *mounts)
{
	char *fields[LINE_FIELDS_MAX];
	unsigned int nr = split(line, fields, LINE_FIELDS_MAX), dash = 6;

	while (dash < nr && strcmp(fields[dash], "-"))
		dash++;
	if (dash + 3 >= nr)
		return;
	if (!strcmp(fields[dash + 1], "cgroup"))
		note_v1(mounts, fields[4], fields[dash + 3]);
	else if (!strcmp(fields[dash + 1], "cgroup2"))
		note_v2(mounts, fields, fields[dash + 3]);
}

void mounts_parse(const char *mountinfo, struct mounts *ret_mounts)
{
	*ret_mounts = (struct mounts){0};
	while (*mountinfo) {
		size_t len = strcspn(mountinfo, "\n");
		char line[2048];

		/*
		 * Skip lines that are too long: overlay options can be very long, but a
		 * cgroup's line is short.
		 */
		if (len < sizeof(line)) {
			memcpy(line, mountinfo, len);
			line[len] = '\0';
			parse_line(line, ret_mounts);
		}
		mountinfo += len;
		mountinfo += *mountinfo == '\n';
	}
}

/* Seen from our cgroup namespace, is it the root of the namespace or a group above it? */
static bool is_at_or_above(const char *fs_root)
{
	if (!strcmp(fs_root, "/"))
		return true;
	while (!strncmp(fs_root, "/..", 3))
		fs_root += 3;
	return !*fs_root;
}

enum dir_problem mounts_judge(const struct mounts *mounts, enum dir_purpose purpose, char *error)
{
	bool observe = purpose == DIR_TO_OBSERVE;

	if (!mounts->v2 && !mounts->v1) {
		failure(error, 0,
			"no cgroup file system is mounted; mount version 2: "
			"mount -t cgroup2 none /sys/fs/cgroup");
		return DIR_NOT_MOUNTED;
	}
	if (!mounts->v2) {
		failure(error, 0,
			"only cgroup version 1 is mounted (%s); pinfold needs version 2: boot with "
			"systemd.unified_cgroup_hierarchy=1, or cgroup_no_v1=all and mount cgroup2",
			mounts->v1_path);
		return DIR_V1;
	}
	if (mounts->cpuset_v1_path[0]) {
		failure(error, 0,
			"hybrid cgroups: version 2 is at %s, but the cpuset controller belongs to "
			"version 1 at %s; boot with systemd.unified_cgroup_hierarchy=1 or "
			"cgroup_no_v1=all",
			mounts->v2_path, mounts->cpuset_v1_path);
		return DIR_HYBRID;
	}
	/*
	 * The kernel shows a mount's root relative to our cgroup namespace; "/.." means
	 * above it.
	 */
	if (!observe && !strncmp(mounts->v2_root, "/..", 3)) {
		failure(error, 0,
			"this process has its own cgroup namespace, like a container (the mount at %s "
			"shows %s from it); run on the host or with the host's cgroup namespace",
			mounts->v2_path, mounts->v2_root);
		return DIR_OWN_NAMESPACE;
	}
	if (!is_at_or_above(mounts->v2_root)) {
		failure(error, 0,
			"the cgroup2 mount at %s shows only %s, not the whole hierarchy: this is a "
			"container or a bind mount; run on the host, with the host's cgroup mount",
			mounts->v2_path, mounts->v2_root);
		return DIR_PARTIAL_MOUNT;
	}
	if (!observe && mounts->v2_read_only) {
		failure(error, 0,
			"the cgroup2 mount at %s is read-only; remount it: "
			"mount -o remount,rw %s",
			mounts->v2_path, mounts->v2_path);
		return DIR_READ_ONLY;
	}
	return DIR_FINE;
}
