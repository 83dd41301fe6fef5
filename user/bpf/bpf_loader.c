// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bpf/bpf_loader.h"
#include "bpf/links.h"
#include "bpf/meta.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/log.h"

/* --- reasons and remedies ------------------------------------------------------------------------ */

/*
 * In lockdown mode confidentiality programs may not call bpf_probe_read_kernel. It shows only
 * as a program that the verifier rejects (6.1 to 7.2), so the errno is misleading.
 */
static void say_locked_down(struct feature_row *row)
{
	row->state = FEATURE_UNKNOWN;
	row->error = EPERM;
	snprintf(row->reason, sizeof(row->reason),
		 "the kernel is in lockdown mode confidentiality, in which BPF programs may not "
		 "read kernel memory");
	snprintf(row->remedy, sizeof(row->remedy),
		 "boot without lockdown=confidentiality (lockdown=integrity is sufficient); the "
		 "agent still applies and repairs cpusets");
}

/* Does the error say nothing about the kernel, because rights or memory may be missing? */
static bool is_inconclusive(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOMEM || error == -EAGAIN;
}

static void say_result(struct feature_row *row, int error, const char *reason)
{
	if (error && probe_locked_down())
		return say_locked_down(row);
	row->state = error ? FEATURE_NO : FEATURE_YES;
	if (is_inconclusive(error))
		row->state = FEATURE_UNKNOWN;
	row->error = -error;
	snprintf(row->reason, sizeof(row->reason), "%s", error ? reason : "");
	snprintf(row->remedy, sizeof(row->remedy), "%s",
		 error ? "see the missing features above, and the log at level debug" : "");
}

/* Nothing can be attached: the ability's row has the reason and the remedy. */
static void say_obstacle(struct feature_row *row, const struct feature_row *ability)
{
	row->state = ability->state == FEATURE_UNKNOWN ? FEATURE_UNKNOWN : FEATURE_NO;
	row->error = ability->error;
	memcpy(row->reason, ability->reason, sizeof(row->reason));
	memcpy(row->remedy, ability->remedy, sizeof(row->remedy));
}

static void say_object(struct bpf_objects *objects, enum bpf_object_id id, int error)
{
	const struct bpf_object_row *object = bpf_object_row(id);
	const struct bpf_object_instance *instance = &objects->instances[id];
	const struct feature_row *obstacle =
		object->find_obstacle ? object->find_obstacle(&objects->abilities) : NULL;
	char reason[ROW_DETAIL_MAX];

	snprintf(reason, sizeof(reason), "%s's programs could not be loaded or attached: %s",
		 object->subject, strerror(-error));
	if (obstacle)
		say_obstacle(&objects->rows[id], obstacle);
	else
		say_result(&objects->rows[id], error, reason);
	if (object->optional)
		say_result(&objects->optional_rows[id], error || instance->left_out ? -ENOTSUP : 0,
			   object->optional_reason);
}

/* --- how long it took ---------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	return clock_monotonic_ns() / 1000000;
}

static void say_duration(const char *what, uint64_t begin_ms)
{
	log_debug("bpf: %s took %llu ms", what, (unsigned long long)(now_ms() - begin_ms));
}

/* --- objects ---------------------------------------------------------------------------------------- */

static int start_object(const struct bpf_loader *loader, struct bpf_objects *objects,
			enum bpf_object_id id, bool adopt_only)
{
	const struct bpf_object_row *row = bpf_object_row(id);
	struct bpf_object_request request = {
		.options = loader->options,
		.sizes = &loader->sizes,
		.abilities = &objects->abilities,
		.adopt_only = adopt_only,
	};

	if (objects->instances[id].handle)
		return 0;
	if (adopt_only && objects->abilities.nr_known < row->nr_abilities)
		return -EAGAIN;
	request.elf = row->elf(&request.elf_len);
	return row->start(&request, &objects->instances[id]);
}

static int start_awaited(const struct bpf_loader *loader, struct bpf_objects *objects,
			 enum bpf_object_id id)
{
	uint64_t begin_ms = now_ms();
	bool cached = objects->abilities.nr_known > 0;
	int r = start_object(loader, objects, id, false);

	if (r && r != -ESTALE && cached) {
		abilities_reprobe(&objects->abilities);
		r = start_object(loader, objects, id, false);
	}
	if (r == -ESTALE)
		return r;
	say_object(objects, id, r);
	say_duration(bpf_object_row(id)->subject, begin_ms);
	return 0;
}

static void mount_pins(const char *pin_dir)
{
	int r = pins_mount(pin_dir);

	if (r > 0)
		log_info("bpf: the agent mounted bpffs for %s", pin_dir);
	else if (r < 0)
		log_warn(r,
			 "bpf: cannot mount bpffs for %s, so the BPF programs end with the agent",
			 pin_dir);
}

/*
 * After a downgrade a newer agent may have left objects that this version does not know, so
 * nobody would maintain them. They end here, after the awaited objects of this version are in
 * force.
 */
static void drop_unknown(const char *pin_dir)
{
	int meta_fd cleanup_close = -1;
	bool is_left = false;
	int r;

	if (meta_open_pinned(pin_dir, &meta_fd))
		return;
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		struct bpf_object_meta meta;

		if (!bpf_object_row(id) && !meta_read(meta_fd, id, &meta) && meta.abi_version)
			is_left = true;
	}
	if (!is_left)
		return;
	r = links_drop_unknown(pin_dir);
	for (enum bpf_object_id id = 0; !r && id < BPF_OBJECT_NR; id++)
		if (!bpf_object_row(id))
			r = meta_clear(meta_fd, id);
	if (r)
		log_warn(r,
			 "bpf: cannot remove the objects of a newer version before the next start");
	else
		log_info("bpf: the agent removed objects that only a newer version knows");
}

int bpf_loader_start_awaited(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	bool are_in_force = true;
	int r;

	mount_pins(loader->options->bpffs_dir);
	r = meta_check_pinned(loader->options->bpffs_dir);
	if (r == -ESTALE)
		return r;
	abilities_load(&objects->abilities);
	r = 0;
	for (enum bpf_object_id id = 0; !r && id < BPF_OBJECT_NR; id++) {
		if (!bpf_object_row(id) || !bpf_object_row(id)->is_awaited)
			continue;
		r = start_awaited(loader, objects, id);
		are_in_force &= objects->instances[id].handle != NULL;
	}
	if (!r && are_in_force)
		drop_unknown(loader->options->bpffs_dir);
	return r;
}

/*
 * Start the others, each whatever became of those before. -ESTALE, or the first other error;
 * -EAGAIN is not entered in the feature table, because the object is yet to be loaded.
 */
static int start_others(const struct bpf_loader *loader, struct bpf_objects *objects,
			bool adopt_only)
{
	int failed = 0;

	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		const struct bpf_object_row *row = bpf_object_row(id);
		uint64_t begin_ms = now_ms();
		int r;

		if (!row || row->is_awaited || objects->instances[id].handle)
			continue;
		r = start_object(loader, objects, id, adopt_only);
		if (r != -ESTALE && r != -EAGAIN)
			say_object(objects, id, r);
		if (!adopt_only)
			say_duration(row->subject, begin_ms);
		if (r == -ESTALE || !failed)
			failed = r;
	}
	return failed;
}

int bpf_loader_adopt_rest(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	int r = start_others(loader, objects, true);

	return r && r != -ESTALE ? -EAGAIN : r;
}

int bpf_loader_start_rest(const struct bpf_loader *loader, struct bpf_objects *objects)
{
	bool cached = objects->abilities.nr_known == ABILITY_NR;
	uint64_t begin_ms = now_ms();
	int r;

	abilities_probe(&objects->abilities, ABILITY_NR);
	say_duration("probing the kernel's features", begin_ms);
	r = start_others(loader, objects, false);
	if (r == -ESTALE)
		return r;
	if (r && cached)
		abilities_reprobe(&objects->abilities);
	return 0;
}
