// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of resources ("cpu: 500m", "hugepages-2Mi: 64Mi") wherever they occur:
 * in pods, in reservations, in the state file. The rules are the API server's.
 */
#include "format/resources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/quantity.h"

/* keys: of the state file, which format/state.c writes */

static int read_quantity(const struct yaml_value *value, const char *field,
			 struct format_error *error, bool milli, int64_t *ret_quantity)
{
	char shown[FORMAT_SHOW_MAX];
	const char *cause;
	int err;

	if (value->kind != YAML_TEXT)
		return yaml_refuse(value, field, error, "expected a quantity, not %s",
				   yaml_kind_name(value->kind));
	err = milli ? quantity_parse_milli(value->text, value->len, ret_quantity)
		    : quantity_parse(value->text, value->len, ret_quantity);
	if (!err)
		return 0;
	if (err == -EDOM)
		cause = "is negative; a quantity is zero or more";
	else if (err == -ERANGE)
		cause = "is too large";
	else
		cause = milli ? "is not a quantity; write CPUs as 2, 0.5 or 500m"
			      : "is not a quantity; write bytes as 1073741824, 1Gi or 1G";
	return yaml_refuse(value, field, error, "'%s' %s",
			   format_show(value->text, value->len, shown, sizeof(shown)), cause);
}

static int64_t *hugepages_of(struct resources *resources, uint64_t size_bytes)
{
	for (uint32_t i = 0; i < resources->nr_hugepages; i++)
		if (resources->hugepages[i].size_bytes == size_bytes)
			return &resources->hugepages[i].bytes;
	return NULL;
}

/* Amount of a page size, or RESOURCE_UNSET. */
static int64_t hugepage_amount(const struct resources *resources, uint64_t size_bytes)
{
	const int64_t *amount = hugepages_of((struct resources *)resources, size_bytes);

	return amount ? *amount : RESOURCE_UNSET;
}

static int read_hugepages(const struct yaml_value *value, const char *field,
			  struct format_error *error, struct resources *resources)
{
	const char *suffix = value->key + strlen("hugepages-");
	int64_t size_bytes, bytes;
	int err = quantity_parse(suffix, strlen(suffix), &size_bytes);

	if (err || size_bytes <= 0)
		return yaml_refuse(value, field, error,
				   "the page size in this name is not a quantity above zero; write "
				   "hugepages-2Mi or hugepages-1Gi");
	err = read_quantity(value, field, error, false, &bytes);
	if (err)
		return err;
	if (bytes % size_bytes)
		return yaml_refuse(value, field, error,
				   "%lld bytes are not a multiple of the page size, %lld bytes",
				   (long long)bytes, (long long)size_bytes);
	if (hugepages_of(resources, size_bytes))
		return yaml_refuse(value, field, error,
				   "this page size appears twice under different names");
	if (resources->nr_hugepages == POD_MAX_HUGEPAGES)
		return yaml_refuse(value, field, error, "more than %d page sizes",
				   POD_MAX_HUGEPAGES);
	resources->hugepages[resources->nr_hugepages].size_bytes = size_bytes;
	resources->hugepages[resources->nr_hugepages++].bytes = bytes;
	return 0;
}

/* Names with a slash are extended resources; the API server accepts no other unknown name. */
static bool is_foreign_resource(const char *name)
{
	return strchr(name, '/') || strcmp(name, "ephemeral-storage") == 0;
}

int resources_read_list(const struct yaml_value *list, const char *field, const char *also_skipped,
			struct format_error *error, struct resources *resources)
{
	char child_field[FORMAT_FIELD_MAX];
	int err = 0;

	if (!list)
		return 0;
	err = yaml_read_map(list, field, error);
	if (err)
		return err;
	yaml_for_each(child, list)
	{
		format_member(child_field, field, child->key);
		if (yaml_is_null(child) || is_foreign_resource(child->key) ||
		    (also_skipped && strcmp(child->key, also_skipped) == 0))
			continue;
		if (strcmp(child->key, "cpu") == 0)
			err = read_quantity(child, child_field, error, true, &resources->cpu_mcpu);
		else if (strcmp(child->key, "memory") == 0)
			err = read_quantity(child, child_field, error, false,
					    &resources->memory_bytes);
		else if (strncmp(child->key, "hugepages-", strlen("hugepages-")) == 0)
			err = read_hugepages(child, child_field, error, resources);
		else
			err = yaml_refuse(child, child_field, error,
					  "unknown resource; use cpu, memory, hugepages-<size>, "
					  "ephemeral-storage or a name with a domain/");
		if (err)
			return err;
	}
	return 0;
}

static int check_order(const struct yaml_value *value, const char *field,
		       struct format_error *error, const char *name, int64_t request, int64_t limit)
{
	char request_field[FORMAT_FIELD_MAX];

	if (request == RESOURCE_UNSET || limit == RESOURCE_UNSET || request <= limit)
		return 0;
	format_field(request_field, "%s.requests.%s", field, name);
	return yaml_refuse(
		value, request_field, error,
		"the request, %lld, is more than the limit, %lld (%s); lower the request "
		"or raise the limit",
		(long long)request, (long long)limit,
		strcmp(name, "cpu") == 0 ? "thousandths of a CPU" : "bytes");
}

/* Hugepages cannot be overcommitted: the request is the limit. */
static int check_hugepages(const struct yaml_value *value, const char *field,
			   struct format_error *error, const struct resources *request,
			   const struct resources *limit)
{
	for (uint32_t i = 0; i < request->nr_hugepages; i++) {
		uint64_t size_bytes = request->hugepages[i].size_bytes;
		int64_t bound = hugepage_amount(limit, size_bytes);

		if (bound == RESOURCE_UNSET || bound != request->hugepages[i].bytes)
			return yaml_refuse(value, field, error,
					   "hugepages of %llu bytes: the request, %lld, must have "
					   "an equal limit, as hugepages cannot be overcommitted",
					   (unsigned long long)size_bytes,
					   (long long)request->hugepages[i].bytes);
	}
	return 0;
}

static int check_resources(const struct yaml_value *value, const char *field,
			   struct format_error *error, const struct resources *request,
			   const struct resources *limit)
{
	bool plain = request->cpu_mcpu != RESOURCE_UNSET || limit->cpu_mcpu != RESOURCE_UNSET ||
		     request->memory_bytes != RESOURCE_UNSET ||
		     limit->memory_bytes != RESOURCE_UNSET;
	int err = check_order(value, field, error, "cpu", request->cpu_mcpu, limit->cpu_mcpu);

	if (!err)
		err = check_order(value, field, error, "memory", request->memory_bytes,
				  limit->memory_bytes);
	if (!err)
		err = check_hugepages(value, field, error, request, limit);
	if (!err && !plain && (request->nr_hugepages || limit->nr_hugepages))
		err = yaml_refuse(value, field, error,
				  "hugepages alone are not enough; ask for cpu or memory too");
	return err;
}

/* A key that is passed over would drop its promise without a word. */
static int check_keys(const struct yaml_value *value, const char *field, struct format_error *error)
{
	static const char *const known[] = {"requests", "limits", "claims"};
	char child_field[FORMAT_FIELD_MAX];

	yaml_for_each(child, value)
	{
		const char *nearest = NULL;
		unsigned int best = FORMAT_SLIPS_MAX + 1;

		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			unsigned int slips = format_slips(child->key, known[i]);

			if (slips < best) {
				best = slips;
				nearest = known[i];
			}
		}
		if (best == 0)
			continue;
		format_error_set(error, child->key_line, child->key_column,
				 format_member(child_field, field, child->key),
				 "unknown key; %s%s%s", nearest ? "did you mean '" : "use requests",
				 nearest ? nearest : " and limits", nearest ? "'?" : "");
		return -EINVAL;
	}
	return 0;
}

int resources_read(const struct yaml_value *value, const char *field, struct format_error *error,
		   struct resources *request, struct resources *limit)
{
	char child_field[FORMAT_FIELD_MAX];
	int err;

	*request = RESOURCES_UNSET;
	*limit = RESOURCES_UNSET;
	if (!value)
		return 0;
	err = yaml_read_map(value, field, error);
	if (!err)
		err = check_keys(value, field, error);
	if (!err)
		err = resources_read_list(yaml_get(value, "requests"),
					  format_member(child_field, field, "requests"), NULL,
					  error, request);
	if (!err)
		err = resources_read_list(yaml_get(value, "limits"),
					  format_member(child_field, field, "limits"), NULL, error,
					  limit);
	if (!err)
		err = check_resources(value, field, error, request, limit);
	return err;
}

bool resources_any(const struct resources *resources)
{
	return resources->cpu_mcpu != RESOURCE_UNSET || resources->memory_bytes != RESOURCE_UNSET ||
	       resources->nr_hugepages;
}

void resources_emit(struct emitter *emitter, const char *key, const struct resources *resources)
{
	char name[48] = "hugepages-", quantity[32];

	emit_map(emitter, key);
	if (resources->cpu_mcpu != RESOURCE_UNSET) {
		bool whole = resources->cpu_mcpu % 1000 == 0;

		snprintf(quantity, sizeof(quantity), "%" PRId64 "%s",
			 whole ? resources->cpu_mcpu / 1000 : resources->cpu_mcpu,
			 whole ? "" : "m");
		emit_text(emitter, "cpu", quantity);
	}
	if (resources->memory_bytes != RESOURCE_UNSET) {
		quantity_format_binary(resources->memory_bytes, quantity, sizeof(quantity));
		emit_text(emitter, "memory", quantity);
	}
	for (uint32_t i = 0; i < resources->nr_hugepages; i++) {
		quantity_format_binary(resources->hugepages[i].size_bytes,
				       name + strlen("hugepages-"),
				       sizeof(name) - strlen("hugepages-"));
		quantity_format_binary(resources->hugepages[i].bytes, quantity, sizeof(quantity));
		emit_text(emitter, name, quantity);
	}
	emit_close(emitter);
}
