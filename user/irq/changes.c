// SPDX-License-Identifier: Apache-2.0
#include "irq/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/file.h"
#include "lib/log.h"

int irq_changes_open(void)
{
	/* The kernel opens the file of each event for us, and O_PATH is not allowed. */
	const int fd =
		fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void irq_changes_mark(int fd, int root_fd, const struct irq_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++) {
		char path[96];

		if (table->entries[i].is_fixed)
			continue;
		irq_entry_file(&table->entries[i], path, sizeof(path));
		/* An interrupt has its mask in two files, so its folder is marked. */
		if (table->entries[i].kind == IRQ_KIND_INTERRUPT)
			*strrchr(path, '/') = '\0';
		/* Of an interrupt that goes, an inode would stay for good if the mark held it. */
		if (fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_EVICTABLE,
				  FAN_MODIFY | FAN_EVENT_ON_CHILD, root_fd, path))
			log_debug("irq: cannot watch /%s: %s", path, strerror(errno));
	}
}

void irq_changes_unmark(int fd)
{
	if (fanotify_mark(fd, FAN_MARK_FLUSH, 0, AT_FDCWD, NULL))
		log_debug("irq: cannot end the watch of masks: %s", strerror(errno));
}

static void name_of(pid_t pid, char *name, size_t size)
{
	char path[32], *text cleanup_free = NULL;

	*name = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (!file_read_line(AT_FDCWD, path, &text))
		snprintf(name, size, "%s", text);
}

bool irq_changes_read(int fd, struct irq_writer *ret_writer)
{
	_Alignas(struct fanotify_event_metadata) char buffer[4096];
	const struct fanotify_event_metadata *event = (const void *)buffer;
	ssize_t size = read(fd, buffer, sizeof(buffer));
	bool is_foreign = false;
	pid_t pid = 0;

	for (; size > 0 && FAN_EVENT_OK(event, size); event = FAN_EVENT_NEXT(event, size)) {
		if (event->fd >= 0)
			close(event->fd);
		if (event->pid == getpid())
			continue;
		is_foreign = true;
		pid = event->pid;
	}
	if (!is_foreign)
		return false;
	*ret_writer = (struct irq_writer){.pid = (uint32_t)pid};
	name_of(pid, ret_writer->comm, sizeof(ret_writer->comm));
	return true;
}
