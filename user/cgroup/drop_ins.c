// SPDX-License-Identifier: Apache-2.0
#include "cgroup/drop_ins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/file.h"
#include "lib/log.h"

#define DROP_IN	    "50-AllowedCPUs.conf"
#define DROP_IN_MAX 4096

/* unit_write_setting() of systemd 252 to 257 begins its files with this line. */
#define SYSTEMD_WROTE \
	"# This is a drop-in unit file extension, created via \"systemctl set-property\"\n"

/* Besides comments and the section: the list is emptied, and nothing is set. `text` is changed. */
static bool has_only_an_emptied_list(char *text)
{
	bool is_emptied = false;
	char *rest;

	if (strncmp(text, SYSTEMD_WROTE, strlen(SYSTEMD_WROTE)))
		return false;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (*line == '#' || *line == '[')
			continue;
		if (strcmp(line, "AllowedCPUs="))
			return false;
		is_emptied = true;
	}
	return is_emptied;
}

static bool remove_drop_in(int dir_fd, const char *dir, const char *unit_dir)
{
	char name[NAME_MAX + sizeof("/" DROP_IN)];
	char *text cleanup_free = NULL;
	size_t len;

	snprintf(name, sizeof(name), "%s/" DROP_IN, unit_dir);
	if (file_read_all(dir_fd, name, DROP_IN_MAX, &text, &len) ||
	    !has_only_an_emptied_list(text))
		return false;
	if (unlinkat(dir_fd, name, 0)) {
		log_warn(
			-errno,
			"cgroup: cannot remove /%s/%s, which hides AllowedCPUs= of the unit until the next "
			"boot: remove it and run 'systemctl daemon-reload'",
			dir, name);
		return false;
	}
	/* Unless it has other files. */
	(void)unlinkat(dir_fd, unit_dir, AT_REMOVEDIR);
	return true;
}

bool drop_ins_remove(int root_fd)
{
	/* init.scope and other units without a file have theirs in the second one. */
	static const char *const dirs[] = {"run/systemd/system.control", "run/systemd/transient"};
	bool is_any = false;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		DIR *entries cleanup_dir = NULL;
		const struct dirent *found;
		int r = file_open_dir(root_fd, dirs[i], &entries);

		if (r == -ENOENT)
			continue;
		while (r >= 0 && (r = file_next_entry(entries, &found)) > 0)
			if (found->d_type == DT_DIR && found->d_name[0] != '.')
				is_any |= remove_drop_in(dirfd(entries), dirs[i], found->d_name);
		if (r)
			log_warn(r, "cgroup: cannot look for emptied lists in /%s", dirs[i]);
	}
	return is_any;
}
