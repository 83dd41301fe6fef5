/* SPDX-License-Identifier: Apache-2.0 */
/* Resource lists of Kubernetes documents to struct resources, and back. */
#ifndef FORMAT_RESOURCES_H
#define FORMAT_RESOURCES_H

#include "core/pod/pod.h"
#include "format/emit.h"
#include "format/yaml.h"

/*
 * A mapping of resource names to quantities. Sets what it names in `resources`
 * and leaves the rest. Names with a slash and ephemeral-storage are skipped, so
 * is `also_skipped` (NULL = none); other unknown names are refused. `list` may
 * be NULL: nothing. -EINVAL with error.
 */
int resources_read_list(const struct yaml_value *list, const char *field, const char *also_skipped,
			struct format_error *error, struct resources *resources);

/*
 * {requests, limits} of a container or pod; claims are passed over, other keys
 * refused. Both outputs begin unset. Checked: requests <= limits, hugepages not
 * overcommitted and not alone.
 */
int resources_read(const struct yaml_value *value, const char *field, struct format_error *error,
		   struct resources *request, struct resources *limit);

/* Write what is set as a mapping under `key`; nothing set is an empty mapping. */
void resources_emit(struct emitter *emitter, const char *key, const struct resources *resources);

/* Is any amount set, also 0? */
bool resources_any(const struct resources *resources);

#endif
