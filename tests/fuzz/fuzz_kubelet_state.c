// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
// COVERS: user/kubelet/cpu_state.c
// COVERS: user/kubelet/state_file.c
/* The kubelet's CPU state file: what is accepted can be written and read again, the same. */
#include <string.h>

#include "kubelet/cpu_state.h"
#include "fuzz.h"

static void check_written(const struct kubelet_cpu_state *state, int pod_level)
{
	struct kubelet_cpu_state again cleanup_kubelet_cpu_state = {0};
	char *text cleanup_free = NULL;
	enum kubelet_fault fault;
	char error[256];

	FUZZ_CHECK(kubelet_cpu_state_write(state, pod_level, &text) == 0);
	FUZZ_CHECK(kubelet_cpu_state_read(text, strlen(text), pod_level, "static", &again, &fault,
					  error, sizeof(error)) == 0);
	FUZZ_CHECK(again.containers.nr == state->containers.nr);
	FUZZ_CHECK(!pod_level || again.pods.nr == state->pods.nr);
	FUZZ_CHECK(cpuset_equal(&again.default_cpus, &state->default_cpus));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int pod_level = 0; pod_level <= 1; pod_level++) {
		struct kubelet_cpu_state state cleanup_kubelet_cpu_state = {0};
		enum kubelet_fault fault = KUBELET_FAULT_NONE;
		char error[256] = "";
		int r = kubelet_cpu_state_read((const char *)data, size, pod_level, "static",
					       &state, &fault, error, sizeof(error));

		if (r < 0)
			FUZZ_CHECK(fault != KUBELET_FAULT_NONE && error[0]);
		else
			check_written(&state, pod_level);
		FUZZ_CHECK(*kubelet_fault_name(fault));
	}
	return 0;
}
