// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "bpf/object_watch.h"
#include "watch.skel.h"

DEFINE_CLEANUP(struct watch, watch_closep, watch__destroy);
#define cleanup_watch cleanup(watch_closep)

/* Not every kernel has it (CONFIG_SECURITY_NETWORK), and the other programs do without. */
static bool has_hook_of_sockets(void)
{
	return libbpf_find_vmlinux_btf_id("security_unix_stream_connect", BPF_TRACE_FENTRY) > 0;
}

/* Without fentry only the programs on typed tracepoints are loaded. */
static void choose_programs(struct watch *skeleton, bool traces)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, skeleton->obj) {
		const char *section = bpf_program__section_name(program);

		bpf_program__set_autoload(program, traces || !strncmp(section, "tp_btf/",
								      strlen("tp_btf/")));
	}
	if (traces && !has_hook_of_sockets())
		bpf_program__set_autoload(skeleton->progs.client_connects, false);
}

static int start_with(const struct bpf_object_request *request, bool traces,
		      struct bpf_object_handle **ret_handle)
{
	struct watch *skeleton cleanup_watch = watch__open();
	struct bpf_object_spec spec = {
		.id = BPF_OBJECT_WATCH,
		.sizes = request->sizes,
		.adopt_only = request->adopt_only,
	};

	if (!skeleton)
		return -errno;
	choose_programs(skeleton, traces);
	skeleton->rodata->mask_words = request->sizes->mask_words;
	bpf_map__set_max_entries(skeleton->maps.watch_masks, 2 * request->sizes->mask_words);
	spec.object = skeleton->obj;
	spec.digest = bpf_object_digest(request->elf, request->elf_len, request->sizes,
					sizeof(*request->sizes), skeleton->obj);
	return bpf_object_start(&spec, request->options->bpffs_dir, ret_handle);
}

const void *watch_elf(size_t *ret_len)
{
	return watch__elf_bytes(ret_len);
}

int watch_start(const struct bpf_object_request *request, struct bpf_object_instance *ret_instance)
{
	bool traces = request->abilities->rows[ABILITY_FENTRY].state == FEATURE_YES;
	struct bpf_object_handle *handle = NULL;
	int r = start_with(request, traces, &handle);

	/* on an unknown kernel a traced function may be inlined or renamed */
	if (r && r != -ESTALE && traces) {
		traces = false;
		r = start_with(request, false, &handle);
	}
	if (r)
		return r;
	*ret_instance =
		(struct bpf_object_instance){.handle = handle, .left_out = traces ? 0 : -ENOTSUP};
	return 0;
}
