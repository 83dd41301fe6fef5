// SPDX-License-Identifier: Apache-2.0
#include "bpf/object_observe.h"

int observe_start(const struct bpf_object_request *request,
		  struct bpf_object_instance *ret_instance)
{
	const struct observe_setup setup = {
		.pin_dir = request->options->bpffs_dir,
		.topology = request->options->topology,
		.max_containers = request->options->max_containers,
		.mask_words = request->sizes->mask_words,
		.adopt_only = request->adopt_only,
	};
	struct observer *observer = NULL;
	int r = observe_open(&setup, &observer);

	if (r)
		return r;
	*ret_instance = (struct bpf_object_instance){
		.handle = observe_handle(observer),
		.state = observer,
	};
	return 0;
}

/* The observer owns the handle. */
void observe_stop(struct bpf_object_instance *instance)
{
	observe_close(instance->state);
}
