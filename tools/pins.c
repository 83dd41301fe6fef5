// SPDX-License-Identifier: Apache-2.0
/*
 * The BPF side as its pins show it. Pins outlive the agent, so this is what
 * really is in force when nobody answers on the socket.
 */
#include "pins.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <pinfold/names.h>

#include "format/bpf_inventory.h"
#include "format/words.h"
#include "lib/bpf_fd.h"
#include "lib/file.h"

char *pins_path(const struct session *session, const char *name)
{
	char *base cleanup_free = session->options.bpffs ? strdup(session->options.bpffs)
							 : source_path(session, PINFOLD_BPFFS_DIR);
	char *path;

	if (!base || asprintf(&path, "%s/%s", base, name) < 0)
		return NULL;
	return path;
}

static int report_pin(struct session *session, const char *path, int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return out_fail(session, STATUS_PERMISSION, "%s: %s; run as root", path,
				strerror(error));
	case ENOENT:
		return out_fail(session, STATUS_UNREACHABLE,
				"%s does not exist: the agent has not pinned it; start pinfoldd, "
				"or check --bpffs",
				path);
	case ENOSYS:
		return out_fail(session, STATUS_UNSUPPORTED,
				"%s: this kernel does not support "
				"bpf(2)",
				path);
	default:
		return out_fail(session, STATUS_FAILED, "%s: %s", path, strerror(error));
	}
}

int pins_open_map(struct session *session, const char *name, size_t value_bytes, int *ret_fd)
{
	char *path cleanup_free = pins_path(session, name);
	struct bpf_map_info info = {0};
	__u32 info_len = sizeof(info);
	int fd cleanup_close = -1;

	if (!path)
		return out_no_memory(session);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return report_pin(session, path, errno);
	if (bpf_obj_get_info_by_fd(fd, &info, &info_len))
		return report_pin(session, path, errno);
	if (info.value_size != value_bytes)
		return out_fail(session, STATUS_UNSUPPORTED,
				"%s: its values have %u bytes instead of %zu, so it belongs to "
				"another version of pinfold; use that version's inspector",
				path, info.value_size, value_bytes);
	*ret_fd = TAKE_FD(fd);
	return STATUS_DONE;
}

int pins_check_version(const struct session *session, enum bpf_object_id object,
		       struct bpf_object_meta *ret_meta)
{
	char *path cleanup_free = pins_path(session, "meta");
	struct bpf_object_meta meta = {0};
	int fd cleanup_close = -1;
	const __u32 key = object;

	if (!path)
		return -ENOMEM;
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_map_lookup_elem(fd, &key, &meta))
		return -errno;
	if (!meta.abi_version)
		return -ENOENT;
	if (meta.abi_version != ABI_VERSION)
		return -EPROTO;
	*ret_meta = meta;
	return 0;
}

/* --- programs --------------------------------------------------------------------------------- */

static const char *type_name(__u32 prog_type, __u32 attach_type)
{
	if (prog_type == BPF_PROG_TYPE_LSM)
		return "lsm";
	switch (attach_type) {
	case BPF_MODIFY_RETURN:
		return "fmod_ret";
	case BPF_TRACE_FEXIT:
		return "fexit";
	case BPF_TRACE_FENTRY:
		return "fentry";
	case BPF_TRACE_RAW_TP:
		return "tp_btf";
	case BPF_TRACE_ITER:
		return "iter";
	default:
		return prog_type == BPF_PROG_TYPE_TRACING ? "tracing" : "other";
	}
}

/*
 * The kernel tells the hook only as a type of its BTF. Without BTF, or for a function of a module,
 * it stays unknown.
 */
static void fill_hook(const struct btf *btf, __u32 type_id, struct prog_row *row)
{
	static const char *const prefixes[] = {"btf_trace_", "bpf_lsm_", "bpf_iter_"};
	const struct btf_type *type = btf ? btf__type_by_id(btf, type_id) : NULL;
	const char *name = type ? btf__name_by_offset(btf, type->name_off) : NULL;

	for (size_t i = 0; name && i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			name += strlen(prefixes[i]);
	if (name)
		snprintf(row->hook, sizeof(row->hook), "%.63s", name);
}

static int fill_prog(__u32 prog_id, bool is_timed, const struct btf *btf, struct prog_row *row)
{
	int fd cleanup_close = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = {0};
	__u32 info_len = sizeof(info);
	struct bpf_fd_prog found;

	if (fd < 0 || bpf_fd_read_prog(fd, is_timed, &found) ||
	    bpf_obj_get_info_by_fd(fd, &info, &info_len))
		return -errno;
	row->id = found.id;
	memcpy(row->tag, found.tag, sizeof(row->tag));
	row->age_ns = found.age_ns;
	row->run_time_ns = found.run_ns;
	row->run_count = found.nr_runs;
	row->recursion_misses = found.recursion_misses;
	row->memory_bytes = found.memory_bytes;
	fill_hook(btf, info.attach_btf_id, row);
	return 0;
}

/* A pin is called "<object>_<program>"; the kernel cuts a program's own name to 15 bytes. */
static int fill_link(const char *path, const char *pin, bool is_timed, const struct btf *btf,
		     struct prog_row *row)
{
	int fd cleanup_close = bpf_obj_get(path);
	struct bpf_link_info info = {0};
	__u32 info_len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &info_len))
		return -errno;
	*row = (struct prog_row){.attached = true, .pinned = true};
	snprintf(row->name, sizeof(row->name), "%.63s", pin);
	snprintf(row->object, sizeof(row->object), "%.*s", (int)strcspn(pin, "_"), row->name);
	if (info.type == BPF_LINK_TYPE_TRACING)
		snprintf(row->type, sizeof(row->type), "%s",
			 type_name(BPF_PROG_TYPE_TRACING, info.tracing.attach_type));
	else
		snprintf(row->type, sizeof(row->type), "other");
	if (info.type == BPF_LINK_TYPE_TRACING && info.tracing.attach_type == BPF_LSM_MAC)
		snprintf(row->type, sizeof(row->type), "lsm");
	return fill_prog(info.prog_id, is_timed, btf, row);
}

/* A link that goes while we look is left out. */
static int read_links(DIR *dir, const char *path, struct bpf_inventory *inventory)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const bool is_timed = bpf_fd_is_timed();
	const struct dirent *entry;
	int r = 0;

	while (!inventory->error && (r = file_next_entry(dir, &entry)) > 0) {
		char *pin cleanup_free = NULL;
		struct prog_row found, *row;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&pin, "%s/%s", path, entry->d_name) < 0) {
			pin = NULL;
			r = -ENOMEM;
			break;
		}
		if (fill_link(pin, entry->d_name, is_timed, btf, &found))
			continue;
		row = bpf_inventory_add_prog(inventory);
		if (row)
			*row = found;
	}
	btf__free(btf);
	return r < 0 ? r : inventory->error;
}

int pins_fetch_progs(struct session *session, struct json_object **ret_json)
{
	struct bpf_inventory inventory cleanup_bpf_inventory = {0};
	char *path cleanup_free = pins_path(session, "links");
	DIR *dir cleanup_dir = NULL;
	int r;

	if (!path)
		return out_no_memory(session);
	dir = opendir(path);
	if (!dir)
		return report_pin(session, path, errno);
	out_note("no agent answers; these are the programs pinned in %s", path);
	r = read_links(dir, path, &inventory);
	if (r)
		return r == -ENOMEM ? out_no_memory(session) : report_pin(session, path, -r);
	*ret_json = view_progs(inventory.progs, inventory.nr_progs,
			       (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	return *ret_json ? STATUS_DONE : out_no_memory(session);
}

/* --- maps ---------------------------------------------------------------------------------------- */

/* A map that goes while we look is left out. */
static void add_map(const char *path, const char *name, struct bpf_inventory *inventory)
{
	int fd cleanup_close = bpf_obj_get(path);
	struct bpf_fd_map found;
	struct map_row *row;

	if (fd < 0 || bpf_fd_read_map(fd, &found))
		return;
	row = bpf_inventory_add_map(inventory);
	if (!row)
		return;
	*row = (struct map_row){
		.id = found.id,
		.pinned = true,
		.used = found.nr_used,
		.max_entries = found.max_entries,
		.memory_bytes = found.memory_bytes,
	};
	snprintf(row->name, sizeof(row->name), "%.63s", name);
	snprintf(row->type, sizeof(row->type), "%s", found.type ? found.type : "");
}

static int read_maps(DIR *dir, const char *path, struct bpf_inventory *inventory)
{
	const struct dirent *entry;
	int r = 0;

	while (!inventory->error && (r = file_next_entry(dir, &entry)) > 0) {
		char *pin cleanup_free = NULL;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&pin, "%s/%s", path, entry->d_name) < 0) {
			pin = NULL;
			return -ENOMEM;
		}
		add_map(pin, entry->d_name, inventory);
	}
	return r < 0 ? r : inventory->error;
}

int pins_fetch_maps(struct session *session, struct json_object **ret_json)
{
	struct bpf_inventory inventory cleanup_bpf_inventory = {0};
	char *path cleanup_free = pins_path(session, "maps");
	char *meta cleanup_free = pins_path(session, "meta");
	DIR *dir cleanup_dir = NULL;
	int r;

	if (!path || !meta)
		return out_no_memory(session);
	dir = opendir(path);
	if (!dir)
		return report_pin(session, path, errno);
	out_note("no agent answers; these are the maps pinned in %s", path);
	r = read_maps(dir, path, &inventory);
	if (r)
		return r == -ENOMEM ? out_no_memory(session) : report_pin(session, path, -r);
	add_map(meta, "meta", &inventory);
	*ret_json = inventory.error ? NULL : view_maps(inventory.maps, inventory.nr_maps);
	return *ret_json ? STATUS_DONE : out_no_memory(session);
}

/* --- objects ------------------------------------------------------------------------------------ */

static void fill_object(const struct session *session, enum bpf_object_id object,
			struct feature_row *row)
{
	struct bpf_object_meta meta = {0};
	int r = pins_check_version(session, object, &meta);
	const char *mechanism = mechanism_name(meta.mechanism);

	*row = (struct feature_row){.error = r};
	snprintf(row->name, sizeof(row->name), "%s", bpf_object_name(object));
	if (!r) {
		row->state = FEATURE_YES;
		snprintf(row->reason, sizeof(row->reason), "pinned%s%s; in force without the agent",
			 *mechanism ? ", attached as " : "", mechanism);
	} else if (r == -ENOENT) {
		row->state = FEATURE_NO;
		row->error = 0;
		snprintf(row->reason, sizeof(row->reason), "not pinned");
		snprintf(row->remedy, sizeof(row->remedy), "start pinfoldd");
	} else if (r == -EPROTO) {
		row->state = FEATURE_UNKNOWN;
		snprintf(row->reason, sizeof(row->reason), "pinned by another version of pinfold");
		snprintf(row->remedy, sizeof(row->remedy), "use that version's inspector");
	} else {
		row->state = FEATURE_UNKNOWN;
		snprintf(row->reason, sizeof(row->reason), "the pins cannot be read");
		snprintf(row->remedy, sizeof(row->remedy), "run as root");
	}
}

int pins_fetch_features(struct session *session, struct json_object **ret_json)
{
	struct feature_row *rows cleanup_free = calloc(BPF_OBJECT_NR, sizeof(*rows));
	size_t nr = 0;

	if (!rows)
		return out_no_memory(session);
	out_note("no agent answers; this shows only the pinned objects");
	for (int object = 0; object < BPF_OBJECT_NR; object++) {
		if (*bpf_object_name(object))
			fill_object(session, object, &rows[nr++]);
	}
	*ret_json = view_features(rows, nr);
	return *ret_json ? STATUS_DONE : out_no_memory(session);
}
