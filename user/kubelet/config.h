/* SPDX-License-Identifier: Apache-2.0 */
/* KubeletConfiguration: what of a kubelet's own configuration is ours as well. */
#ifndef KUBELET_CONFIG_H
#define KUBELET_CONFIG_H

#include "format/config.h"

/*
 * Lay the fields that decide allocations over `config`; all others are ignored. Errors
 * as those of config_parse.
 */
int kubelet_config_import(const char *data, size_t len, struct format_error *error,
			  struct config *config);

#endif
