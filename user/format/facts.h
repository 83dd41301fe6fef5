/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine as a small JSON (or YAML) file, for trying decisions away from it:
 *
 *   {"cpus": [[cpu, core, socket, numa, uncore], …],
 *    "num_cpus": n, "num_cores": n, "num_sockets": n, "num_numa": n, "num_uncore": n,
 *    "nodes": [{"id": 0, "memory": bytes, "hugepages": [[KiB, pages(, free)], …]}, …],
 *    "distances": [[10, 20], [20, 10]]}
 *
 * Only `cpus` is needed. The five counts replace what the list says; `nodes`
 * adds memory and nodes without CPUs; `distances` has a row per entry of
 * `nodes`. Keys "kind" and "topo" are accepted and mean nothing.
 */
#ifndef FORMAT_FACTS_H
#define FORMAT_FACTS_H

#include "core/topology/topology.h"
#include "format/emit.h"
#include "format/yaml.h"

#define FACTS_MAX_BYTES YAML_MAX_BYTES

/* -EINVAL with `error`, -ENOMEM. */
int facts_parse(const char *data, size_t len, struct format_error *error,
		struct topology **ret_topology);

/* One JSON object and a newline; facts_parse makes an equal topology of it. */
void facts_render(const struct topology *topology, struct text *out);

#endif
