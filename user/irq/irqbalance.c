// SPDX-License-Identifier: Apache-2.0
#include "irq/irqbalance.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "irq/mask.h"
#include "lib/file.h"

#define ENVIRON_MAX (1U << 20)

#define STATUS_MAX (64U << 10)

/* Only root can write masks, while any process can take the name. */
static bool is_privileged(int root_fd, const char *pid)
{
	char path[64], *status cleanup_free = NULL;
	const char *uids;
	unsigned int effective;
	size_t len;

	if ((size_t)snprintf(path, sizeof(path), "proc/%s/status", pid) >= sizeof(path) ||
	    file_read_all(root_fd, path, STATUS_MAX, &status, &len))
		return false;
	uids = strstr(status, "\nUid:");
	return uids && sscanf(uids, "\nUid: %*u %u", &effective) == 1 && !effective;
}

static bool is_irqbalance(int root_fd, const char *pid)
{
	char path[64], *name cleanup_free = NULL;

	if (!isdigit((unsigned char)*pid) ||
	    (size_t)snprintf(path, sizeof(path), "proc/%s/comm", pid) >= sizeof(path) ||
	    file_read_line(root_fd, path, &name))
		return false;
	name[strcspn(name, "\n")] = '\0';
	return !strcmp(name, "irqbalance") && is_privileged(root_fd, pid);
}

/* The value of a variable in a list of "NAME=VALUE", each ending with a NUL; NULL = not set. */
static const char *variable(const char *list, size_t len, const char *name)
{
	const size_t name_len = strlen(name);

	for (const char *at = list; at < list + len; at += strlen(at) + 1)
		if (!strncmp(at, name, name_len) && at[name_len] == '=' && at[name_len + 1])
			return at + name_len + 1;
	return NULL;
}

/* Of the two variables the newer one, with a list, wins in irqbalance as well. */
static void banned_cpus(int root_fd, const char *pid, struct cpuset *ret_banned)
{
	char path[64], *list cleanup_free = NULL;
	const char *value;
	size_t len;

	*ret_banned = CPUSET_EMPTY;
	snprintf(path, sizeof(path), "proc/%.16s/environ", pid);
	if (file_read_all(root_fd, path, ENVIRON_MAX, &list, &len))
		return;
	value = variable(list, len, "IRQBALANCE_BANNED_CPULIST");
	if (value) {
		mask_parse(MASK_LIST, value, ret_banned);
		return;
	}
	value = variable(list, len, "IRQBALANCE_BANNED_CPUS");
	if (value)
		mask_parse(MASK_HEX, value, ret_banned);
}

int irqbalance_look(int root_fd, const struct cpuset *exclusive, enum irqbalance_state *ret_state)
{
	DIR *dir cleanup_dir = NULL;
	enum irqbalance_state state = IRQBALANCE_ABSENT;
	const struct dirent *entry;
	struct cpuset banned;
	int r = file_open_dir(root_fd, "proc", &dir);

	if (r)
		return r;
	while (state != IRQBALANCE_CONTENDS && (r = file_next_entry(dir, &entry)) > 0) {
		if (!is_irqbalance(root_fd, entry->d_name))
			continue;
		banned_cpus(root_fd, entry->d_name, &banned);
		state = cpuset_is_subset(exclusive, &banned) ? IRQBALANCE_SPARES
							     : IRQBALANCE_CONTENDS;
	}
	if (r < 0)
		return r;
	*ret_state = state;
	return 0;
}
