// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
// COVERS: user/kubelet/cpu_state.c
// COVERS: user/kubelet/state_file.c
/* The kubelet's CPU state file: what is accepted can be written and read again, the same. */
#include <string.h>

#include "kubelet/cpu_state.h"
#include "fuzz.h"

static void check_written(const struct kubelet_cpu_state *state, const struct kubelet *kubelet)
{
	struct kubelet_cpu_state again cleanup_kubelet_cpu_state = {0};
	char *text cleanup_free = NULL;
	enum kubelet_fault fault;
	char error[256];

	FUZZ_CHECK(kubelet_cpu_state_write(state, kubelet, &text) == 0);
	FUZZ_CHECK(kubelet_cpu_state_read(text, strlen(text), kubelet, &again, &fault, error,
					  sizeof(error)) == 0);
	FUZZ_CHECK(again.containers.nr == state->containers.nr);
	FUZZ_CHECK(!kubelet->pod_level || again.pods.nr == state->pods.nr);
	FUZZ_CHECK(cpuset_equal(&again.default_cpus, &state->default_cpus));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int i = 0; i < 6; i++) {
		const struct kubelet kubelet = {(enum kubelet_release)(i / 2), i % 2, "static"};
		struct kubelet_cpu_state state cleanup_kubelet_cpu_state = {0};
		enum kubelet_fault fault = KUBELET_FAULT_NONE;
		char error[256] = "";
		int r = kubelet_cpu_state_read((const char *)data, size, &kubelet, &state, &fault,
					       error, sizeof(error));

		if (r < 0)
			FUZZ_CHECK(fault != KUBELET_FAULT_NONE && error[0]);
		else
			check_written(&state, &kubelet);
		FUZZ_CHECK(*kubelet_fault_name(fault));
	}
	return 0;
}
