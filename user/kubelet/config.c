// SPDX-License-Identifier: Apache-2.0
/*
 * KubeletConfiguration (kubelet.config.k8s.io/v1beta1). Our own configuration has these
 * fields under the same names and in the same forms, so only the list is the kubelet's.
 */
#include "kubelet/config.h"

static const char *const fields[] = {
	"cpuManagerPolicy",
	"cpuManagerPolicyOptions",
	"reservedSystemCPUs",
	"kubeReserved",
	"systemReserved",
	"evictionHard",
	"topologyManagerPolicy",
	"topologyManagerScope",
	"topologyManagerPolicyOptions",
	"memoryManagerPolicy",
	"reservedMemory",
	"featureGates",
	NULL,
};

int kubelet_config_import(const char *data, size_t len, struct format_error *error,
			  struct config *config)
{
	return config_parse_fields(data, len, fields, error, config);
}
