// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
// COVERS: user/kubelet/memory_state.c
// COVERS: user/kubelet/memory_state_read.c
/* The kubelet's memory state file: what is accepted can be written and read again, the same. */
#include <string.h>

#include "kubelet/memory_state.h"
#include "fuzz.h"

static const struct kubelet any_kubelet = {KUBELET_ANY, true, "Static"};

static void check_written(const struct kubelet_memory_state *state,
			  enum kubelet_memory_layout layout)
{
	struct kubelet_memory_state again cleanup_kubelet_memory_state = {0};
	char *text cleanup_free = NULL, *twice cleanup_free = NULL;
	enum kubelet_fault fault;
	char error[256];

	FUZZ_CHECK(kubelet_memory_state_write(state, layout, &text) == 0);
	FUZZ_CHECK(kubelet_memory_state_read(text, strlen(text), &any_kubelet, &again, &fault,
					     error, sizeof(error)) == 0);
	FUZZ_CHECK(again.nr_nodes == state->nr_nodes);
	FUZZ_CHECK(again.containers.nr == state->containers.nr);
	FUZZ_CHECK(again.pods.nr == (layout >= KUBELET_MEMORY_V2 ? state->pods.nr : 0));
	FUZZ_CHECK(kubelet_memory_state_write(&again, layout, &twice) == 0);
	FUZZ_CHECK(strcmp(text, twice) == 0);
}

/* By the rules of one kubelet; what it accepts has every layout. */
static void check_read(const char *data, size_t size, const struct kubelet *kubelet)
{
	struct kubelet_memory_state state cleanup_kubelet_memory_state = {0};
	enum kubelet_fault fault = KUBELET_FAULT_NONE;
	char error[256] = "";
	int r = kubelet_memory_state_read(data, size, kubelet, &state, &fault, error,
					  sizeof(error));

	FUZZ_CHECK(*kubelet_fault_name(fault));
	if (r < 0) {
		FUZZ_CHECK(fault != KUBELET_FAULT_NONE && error[0]);
		return;
	}
	for (int layout = 0; layout < KUBELET_MEMORY_LAYOUT_NR; layout++)
		check_written(&state, (enum kubelet_memory_layout)layout);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int i = 0; i < 6; i++)
		check_read((const char *)data, size,
			   &(struct kubelet){(enum kubelet_release)(i / 2), i % 2, "Static"});
	return 0;
}
