// SPDX-License-Identifier: Apache-2.0
/*
 * A path is read from the root, one component at a time. What a component may be depends only
 * on the stage that the components before it lead to, so each stage has one function.
 */
#include "format/kubepods.h"

#include <string.h>

#include "lib/text.h"

/* Where the components read so far lead to. */
enum path_stage {
	STAGE_OUTSIDE,	/* nothing of pods yet */
	STAGE_KUBEPODS, /* kubepods, or one of its two QoS levels */
	STAGE_MACHINE,	/* machine.slice */
	STAGE_LIBPOD,	/* libpod_parent: podman without systemd */
	STAGE_DOCKER,	/* /docker: docker without systemd */
	STAGE_POD,
	STAGE_LEAF, /* a container, a helper or an unknown name: nothing below is read */
	STAGE_NR
};

/* A part of the path, without NUL. */
struct part {
	const char *at;
	size_t len;
};

struct name_reader {
	enum path_stage stage;
	struct part parent; /* the component before; len 0 = none */
	struct kubepods_name *name;
};

/* --- parts of a name -------------------------------------------------------------------------- */

static bool part_is(struct part part, const char *word)
{
	return part.len == strlen(word) && !memcmp(part.at, word, part.len);
}

static bool cut_prefix(struct part *part, const char *prefix)
{
	const size_t len = strlen(prefix);

	if (part->len < len || memcmp(part->at, prefix, len))
		return false;
	part->at += len;
	part->len -= len;
	return true;
}

/* A suffix alone is not a name. */
static bool cut_suffix(struct part *part, const char *suffix)
{
	const size_t len = strlen(suffix);

	if (part->len <= len || memcmp(part->at + part->len - len, suffix, len))
		return false;
	part->len -= len;
	return true;
}

/* Runtimes write ids in lower case. */
static bool is_id(struct part part)
{
	if (part.len != KUBEPODS_ID_MAX - 1)
		return false;
	for (size_t i = 0; i < part.len; i++)
		if (!((part.at[i] >= '0' && part.at[i] <= '9') ||
		      (part.at[i] >= 'a' && part.at[i] <= 'f')))
			return false;
	return true;
}

static bool is_uid_byte(char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
	       (byte >= 'A' && byte <= 'Z');
}

/*
 * A pod's uid, in which `dash` stands for "-": the systemd driver writes "_", because "-" in
 * the name of a slice is a level of nesting. The uid of a static pod has no dashes at all.
 */
static bool take_uid(struct name_reader *reader, struct part part, char dash)
{
	if (!part.len || part.len >= POD_UID_MAX)
		return false;
	for (size_t i = 0; i < part.len; i++)
		if (!is_uid_byte(part.at[i]) && part.at[i] != dash)
			return false;
	for (size_t i = 0; i < part.len; i++)
		reader->name->uid[i] = (char)(part.at[i] == dash ? '-' : part.at[i]);
	reader->name->uid[part.len] = '\0';
	return true;
}

/* --- results ---------------------------------------------------------------------------------- */

static void lead_to(struct name_reader *reader, enum path_stage stage, enum kubepods_kind kind)
{
	reader->stage = stage;
	reader->name->kind = kind;
}

static void find_unknown(struct name_reader *reader)
{
	lead_to(reader, STAGE_LEAF, KUBEPODS_UNKNOWN);
}

static void find_container(struct name_reader *reader, enum kubepods_runtime runtime,
			   struct part id)
{
	memcpy(reader->name->id, id.at, id.len);
	reader->name->id[id.len] = '\0';
	reader->name->runtime = runtime;
	lead_to(reader, STAGE_LEAF, KUBEPODS_CONTAINER);
}

/* --- containers ------------------------------------------------------------------------------- */

/* The forms "PREFIX-ID" (cgroupfs) and "PREFIX-ID.scope" (systemd). */
static const struct {
	const char *prefix;
	enum kubepods_runtime runtime;
	bool is_helper;
} container_forms[] = {
	{"cri-containerd-", RUNTIME_CONTAINERD, false},
	{"crio-conmon-", RUNTIME_CRIO, true},
	{"crio-", RUNTIME_CRIO, false},
	{"libpod-conmon-", RUNTIME_PODMAN, true},
	{"libpod-", RUNTIME_PODMAN, false},
	{"docker-", RUNTIME_DOCKER, false},
};

/* True if the component is a container or a runtime's helper, which is then the result. */
static bool read_prefixed(struct name_reader *reader, struct part part)
{
	for (size_t i = 0; i < ARRAY_SIZE(container_forms); i++) {
		struct part id = part;

		if (!cut_prefix(&id, container_forms[i].prefix) || !is_id(id))
			continue;
		if (container_forms[i].is_helper)
			lead_to(reader, STAGE_LEAF, KUBEPODS_HELPER);
		else
			find_container(reader, container_forms[i].runtime, id);
		return true;
	}
	return false;
}

static bool read_scope(struct name_reader *reader, struct part part)
{
	if (!cut_suffix(&part, ".scope") || !read_prefixed(reader, part))
		return false;
	reader->name->is_systemd = true;
	return true;
}

/* In a pod's cgroup: a container, whichever driver made the pod. */
static void read_in_pod(struct name_reader *reader, struct part part)
{
	if (is_id(part))
		find_container(reader, reader->name->has_qos ? RUNTIME_CONTAINERD : RUNTIME_PODMAN,
			       part);
	else if (part_is(part, "conmon"))
		lead_to(reader, STAGE_LEAF, KUBEPODS_HELPER);
	else if (!read_scope(reader, part) && !read_prefixed(reader, part))
		find_unknown(reader);
}

/* --- kubepods --------------------------------------------------------------------------------- */

/* systemd nests a slice below the one whose name is this one's up to the last dash. */
static bool is_nested_slice(const struct name_reader *reader, struct part slice)
{
	struct part parent = reader->parent;
	const char *dash = memrchr(slice.at, '-', slice.len);

	return dash && cut_suffix(&parent, ".slice") && parent.len == (size_t)(dash - slice.at) &&
	       !memcmp(parent.at, slice.at, parent.len);
}

/* Below a class there are pods, as below kubepods itself. */
static bool read_qos(struct name_reader *reader, struct part word)
{
	if (part_is(word, "burstable"))
		reader->name->qos = QOS_BURSTABLE;
	else if (part_is(word, "besteffort"))
		reader->name->qos = QOS_BEST_EFFORT;
	else
		return false;
	return true;
}

/*
 * Below kubepods each level adds a word to the name of its slice. A class that was read
 * already cannot be followed by another.
 */
static bool read_kubepods_slice(struct name_reader *reader, struct part part)
{
	struct part slice = part, word;

	if (!cut_suffix(&slice, ".slice") || !is_nested_slice(reader, slice))
		return false;
	word.at = (const char *)memrchr(slice.at, '-', slice.len) + 1;
	word.len = slice.len - (size_t)(word.at - slice.at);
	if (reader->name->qos == QOS_GUARANTEED && read_qos(reader, word))
		return true;
	if (!cut_prefix(&word, "pod") || !take_uid(reader, word, '_'))
		return false;
	lead_to(reader, STAGE_POD, KUBEPODS_POD);
	return true;
}

static bool read_kubepods_directory(struct name_reader *reader, struct part part)
{
	if (reader->name->qos == QOS_GUARANTEED && read_qos(reader, part))
		return true;
	if (!cut_prefix(&part, "pod") || !take_uid(reader, part, '-'))
		return false;
	lead_to(reader, STAGE_POD, KUBEPODS_POD);
	return true;
}

static void read_in_kubepods(struct name_reader *reader, struct part part)
{
	if (!(reader->name->is_systemd ? read_kubepods_slice(reader, part)
				       : read_kubepods_directory(reader, part)))
		find_unknown(reader);
}

/* --- podman and docker ------------------------------------------------------------------------ */

static bool take_podman_pod(struct name_reader *reader, struct part id)
{
	if (!is_id(id))
		return false;
	memcpy(reader->name->uid, id.at, id.len);
	reader->name->uid[id.len] = '\0';
	lead_to(reader, STAGE_POD, KUBEPODS_POD);
	return true;
}

/* systemd-machined keeps virtual machines here as well: what is not podman's is not odd. */
static void read_in_machine(struct name_reader *reader, struct part part)
{
	struct part id = part;

	if (cut_prefix(&id, "machine-libpod_pod_") && cut_suffix(&id, ".slice") &&
	    take_podman_pod(reader, id))
		return;
	if (!read_scope(reader, part))
		lead_to(reader, STAGE_LEAF, KUBEPODS_NONE);
}

static void read_in_libpod(struct name_reader *reader, struct part part)
{
	if (take_podman_pod(reader, part) || read_prefixed(reader, part))
		return;
	if (part_is(part, "conmon"))
		lead_to(reader, STAGE_LEAF, KUBEPODS_HELPER);
	else
		find_unknown(reader);
}

static void read_in_docker(struct name_reader *reader, struct part part)
{
	if (is_id(part))
		find_container(reader, RUNTIME_DOCKER, part);
	else
		find_unknown(reader);
}

/* --- from the root ---------------------------------------------------------------------------- */

static bool is_kubepods_slice(const struct name_reader *reader, struct part part)
{
	struct part slice = part;

	if (part_is(part, "kubepods.slice"))
		return !reader->parent.len;
	/* With --cgroup-root=/NAME the kubelet makes NAME.slice/NAME-kubepods.slice. */
	return cut_suffix(&part, "-kubepods.slice") && is_nested_slice(reader, slice);
}

static void enter_kubepods(struct name_reader *reader, bool is_systemd)
{
	reader->name->has_qos = true;
	reader->name->qos = QOS_GUARANTEED; /* it has no level of its own */
	reader->name->is_systemd = is_systemd;
	lead_to(reader, STAGE_KUBEPODS, KUBEPODS_PARENT);
}

static void read_outside(struct name_reader *reader, struct part part)
{
	const bool is_top = !reader->parent.len;

	if (is_kubepods_slice(reader, part)) {
		enter_kubepods(reader, true);
	} else if (part_is(part, "kubepods")) {
		enter_kubepods(reader, false);
	} else if (is_top && part_is(part, "machine.slice")) {
		reader->name->is_systemd = true;
		lead_to(reader, STAGE_MACHINE, KUBEPODS_PARENT);
	} else if (is_top && part_is(part, "libpod_parent")) {
		lead_to(reader, STAGE_LIBPOD, KUBEPODS_PARENT);
	} else if (is_top && part_is(part, "docker")) {
		lead_to(reader, STAGE_DOCKER, KUBEPODS_PARENT);
	} else {
		/* docker under systemd, and podman of a user who is not root */
		read_scope(reader, part);
	}
}

/* crun moves the processes to a child of the scope, and a container may make its own. */
static void read_in_leaf(struct name_reader *reader, struct part part)
{
	if (reader->name->kind == KUBEPODS_CONTAINER)
		reader->name->kind = KUBEPODS_INSIDE;
	else if (reader->name->kind == KUBEPODS_UNKNOWN)
		reader->name->kind = KUBEPODS_NONE;
}

static void read_part(struct name_reader *reader, struct part part)
{
	static void (*const readers[STAGE_NR])(struct name_reader *, struct part) = {
		[STAGE_OUTSIDE] = read_outside,	   [STAGE_KUBEPODS] = read_in_kubepods,
		[STAGE_MACHINE] = read_in_machine, [STAGE_LIBPOD] = read_in_libpod,
		[STAGE_DOCKER] = read_in_docker,   [STAGE_POD] = read_in_pod,
		[STAGE_LEAF] = read_in_leaf,
	};

	readers[reader->stage](reader, part);
	reader->parent = part;
}

/* Also not what /proc/PID/cgroup has for a cgroup that was removed. */
static bool is_sound(const char *path)
{
	struct part whole = {path, strlen(path)};

	for (size_t i = 0; i < whole.len; i++)
		if ((unsigned char)path[i] < ' ' || (unsigned char)path[i] >= 0x7f)
			return false;
	return !cut_suffix(&whole, " (deleted)");
}

enum kubepods_kind kubepods_parse(const char *path, struct kubepods_name *ret_name)
{
	struct kubepods_name name = {.kind = KUBEPODS_NONE};
	struct name_reader reader = {.stage = STAGE_OUTSIDE, .name = &name};
	bool is_refused = !is_sound(path);

	for (const char *at = path; !is_refused && *at;) {
		struct part part = {at, strcspn(at, "/")};

		at += part.len + (at[part.len] == '/');
		if (part_is(part, ".."))
			is_refused = true;
		else if (part.len)
			read_part(&reader, part);
	}
	if (is_refused)
		name = (struct kubepods_name){.kind = KUBEPODS_NONE};
	*ret_name = name;
	return name.kind;
}

/* --- words ------------------------------------------------------------------------------------ */

const char *kubepods_kind_name(enum kubepods_kind kind)
{
	static const char *const names[KUBEPODS_KIND_NR] = {
		[KUBEPODS_NONE] = "none",	[KUBEPODS_PARENT] = "parent",
		[KUBEPODS_POD] = "pod",		[KUBEPODS_CONTAINER] = "container",
		[KUBEPODS_SANDBOX] = "sandbox", [KUBEPODS_HELPER] = "helper",
		[KUBEPODS_INSIDE] = "inside",	[KUBEPODS_UNKNOWN] = "unknown",
	};

	return names[kind];
}

const char *kubepods_runtime_name(enum kubepods_runtime runtime)
{
	static const char *const names[RUNTIME_NR] = {
		[RUNTIME_UNKNOWN] = "unknown", [RUNTIME_CONTAINERD] = "containerd",
		[RUNTIME_CRIO] = "cri-o",      [RUNTIME_PODMAN] = "podman",
		[RUNTIME_DOCKER] = "docker",
	};

	return names[runtime];
}
