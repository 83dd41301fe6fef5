// SPDX-License-Identifier: Apache-2.0
/*
 * Reading one manifest file: judged by its descriptor, read once, parsed, and
 * what its new version does not tell any more carried over from the old one.
 */
#include "source/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/file.h"

void entry_free(struct entry *entry)
{
	if (!entry)
		return;
	manifest_fini(&entry->manifest);
	free(entry->since);
	free(entry->name);
	free(entry);
}

const char *entry_distrust(const struct stat *status)
{
	if (status->st_uid != 0 && status->st_uid != geteuid())
		return "does not belong to root; chown it to root";
	if (status->st_mode & (S_IWGRP | S_IWOTH))
		return "is writable by others than its owner; chmod it go-w";
	return NULL;
}

static struct entry_identity identity_of(const struct stat *status)
{
	return (struct entry_identity){
		.device = status->st_dev,
		.inode = status->st_ino,
		.size = status->st_size,
		.modified = status->st_mtim,
		.changed = status->st_ctim,
	};
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_identity(const struct entry_identity *a, const struct entry_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

/* A manifest of one refused document: the file as a whole. */
static int refuse_file(const char *reason, struct manifest *ret_manifest)
{
	struct manifest_document *document = calloc(1, sizeof(*document));

	if (!document)
		return -ENOMEM;
	document->line = 1;
	format_error_set(&document->error, 0, 0, NULL, "the file %s", reason);
	*ret_manifest = (struct manifest){.nr_documents = 1, .documents = document};
	return 0;
}

static const struct manifest_document *find_name(const struct manifest *manifest, const char *name)
{
	for (uint32_t i = 0; i < manifest->nr_documents; i++)
		if (*name && strcmp(manifest->documents[i].name, name) == 0)
			return &manifest->documents[i];
	return NULL;
}

/* Is there a document of which not even the name could be read? */
static bool has_nameless(const struct manifest *manifest)
{
	for (uint32_t i = 0; i < manifest->nr_documents; i++)
		if (!*manifest->documents[i].name)
			return true;
	return false;
}

/* Pods that `old` named and that may hide in what `fresh` cannot read. */
static int carry_over(struct manifest *old, struct manifest *fresh)
{
	struct manifest_document *documents;

	if (!has_nameless(fresh) || old->nr_documents == 0)
		return 0;
	documents = reallocarray(fresh->documents, fresh->nr_documents + old->nr_documents,
				 sizeof(*documents));
	if (!documents)
		return -ENOMEM;
	fresh->documents = documents;
	for (uint32_t i = 0; i < old->nr_documents; i++) {
		struct manifest_document *document = &old->documents[i];

		if (!document->spec || find_name(fresh, document->name))
			continue;
		documents[fresh->nr_documents++] = *document;
		document->spec = NULL; /* moved */
	}
	return 0;
}

static uint64_t age_in(const struct entry *entry, const char *name)
{
	const struct manifest_document *document = find_name(&entry->manifest, name);

	return document ? entry->since[document - entry->manifest.documents] : 0;
}

/* Takes the fresh manifest's content on success and failure alike. */
static int adopt(struct entry *entry, struct manifest *fresh, uint64_t *clock)
{
	struct manifest manifest cleanup_manifest = *fresh;
	uint64_t *since cleanup_free = NULL;
	struct manifest old;
	int err;

	*fresh = (struct manifest){0};
	since = calloc(manifest.nr_documents + entry->manifest.nr_documents + 1, sizeof(*since));
	if (!since)
		return -ENOMEM;
	/* Ages first: carrying over empties the old manifest, but keeps its names. */
	err = carry_over(&entry->manifest, &manifest);
	if (err)
		return err;
	for (uint32_t i = 0; i < manifest.nr_documents; i++) {
		since[i] = age_in(entry, manifest.documents[i].name);
		if (!since[i])
			since[i] = ++*clock;
	}
	old = entry->manifest;
	entry->manifest = manifest;
	manifest = old; /* goes at the end of this scope */
	free(entry->since);
	entry->since = TAKE_PTR(since);
	entry->read = true;
	return 0;
}

static int read_manifest(int fd, const struct stat *status, struct manifest *ret_manifest)
{
	char *data cleanup_free = NULL;
	const char *reason;
	size_t len;
	int err;

	if (!S_ISREG(status->st_mode))
		return refuse_file("is not a regular file; put the document itself here",
				   ret_manifest);
	reason = entry_distrust(status);
	if (reason)
		return refuse_file(reason, ret_manifest);
	err = file_read_fd(fd, MANIFEST_MAX_BYTES, &data, &len);
	if (err == -EFBIG)
		return refuse_file("is larger than 1 MiB; split it", ret_manifest);
	return err ? err : manifest_parse(data, len, ret_manifest);
}

/* Read until the file stood still meanwhile; a busy one is left for its closing. */
static int read_stable(int fd, struct entry_identity *ret_identity, struct manifest *ret_manifest)
{
	struct manifest manifest cleanup_manifest = {0};
	struct entry_identity before, after;
	struct stat status;
	int err;

	if (fstat(fd, &status) < 0)
		return -errno;
	before = identity_of(&status);
	err = read_manifest(fd, &status, &manifest);
	if (err)
		return err;
	if (fstat(fd, &status) < 0)
		return -errno;
	after = identity_of(&status);
	if (!same_identity(&before, &after))
		return -EBUSY;
	*ret_identity = after;
	*ret_manifest = manifest;
	manifest = (struct manifest){0};
	return 0;
}

static int refresh_open(struct entry *entry, int fd, uint64_t *clock, enum entry_result *ret_result)
{
	struct manifest manifest cleanup_manifest = {0};
	struct entry_identity identity;
	struct stat status;
	int err;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode)) {
		*ret_result = ENTRY_GONE;
		return 0;
	}
	identity = identity_of(&status);
	if (entry->read && !entry->stale && same_identity(&identity, &entry->identity)) {
		*ret_result = ENTRY_SAME;
		return 0;
	}
	err = read_stable(fd, &identity, &manifest);
	if (!err)
		err = adopt(entry, &manifest, clock);
	if (err)
		return err;
	entry->identity = identity;
	entry->stale = false;
	*ret_result = ENTRY_CHANGED;
	return 0;
}

int entry_refresh(struct entry *entry, int directory_fd, uint64_t *clock,
		  enum entry_result *ret_result)
{
	struct manifest manifest cleanup_manifest = {0};
	int fd cleanup_close = -1;
	int err;

	if (entry->writing) {
		*ret_result = ENTRY_UNKNOWN;
		return 0;
	}
	/* O_NONBLOCK: a FIFO or a device planted here must not hang the agent. */
	fd = openat(directory_fd, entry->name,
		    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		err = refresh_open(entry, fd, clock, ret_result);
	} else if (errno == ENOENT) {
		*ret_result = ENTRY_GONE;
		return 0;
	} else if (errno == ELOOP || errno == ENXIO || errno == ENODEV) {
		/* Judged anew each time: a link or a device has no descriptor to compare. */
		err = refuse_file(errno == ELOOP
					  ? "is a symbolic link; put the document itself here"
					  : "is a device or a socket, not a document; "
					    "remove it",
				  &manifest);
		if (!err)
			err = adopt(entry, &manifest, clock);
		entry->identity = (struct entry_identity){0};
		*ret_result = ENTRY_CHANGED;
	} else {
		err = -errno;
	}
	if (err && err != -ENOMEM) {
		*ret_result = ENTRY_UNKNOWN;
		return 0;
	}
	return err;
}
