// SPDX-License-Identifier: Apache-2.0
/* Pods that were not admitted, and the changes that were found to admit them. */
#include "format/object_table.h"
#include "format/view_private.h"

/* --- changes that fit ------------------------------------------------------------------------- */

struct change_row {
	const char *suggestion, *kind, *container, *uid;
	int64_t cpus, bytes;
	const char *resource, *instead_of;
	const char *option, *value;
};

static const struct field_desc change_fields[] = {
	TEXT(change_row, suggestion, "or", HEAD, "The change as a sentence."),
	TEXT(change_row, kind, NULL, HIDDEN, "What is changed."),
	TEXT(change_row, container, NULL, HIDDEN | OR_NULL,
	     "The container that requests another amount; null = none."),
	TEXT(change_row, uid, NULL, HIDDEN | OR_NULL, "The pod that leaves; null = none."),
	COUNT(change_row, cpus, NULL, HIDDEN | OR_NULL,
	      "CPUs to request instead; null = unchanged, which also applies to the next."),
	COUNT(change_row, bytes, NULL, HIDDEN | OR_NULL, "Bytes to request instead."),
	TEXT(change_row, resource, NULL, HIDDEN | OR_NULL, "The memory these bytes are of."),
	TEXT(change_row, instead_of, NULL, HIDDEN | OR_NULL,
	     "The huge pages that are requested now, if their size changes."),
	TEXT(change_row, option, NULL, HIDDEN | OR_NULL,
	     "The field of the configuration; null = the configuration does not change."),
	TEXT(change_row, value, NULL, HIDDEN | OR_NULL, "Its new value."),
};
static DESCRIBE_PART(change_row, change_fields);

static const struct field_desc changes_fields[] = {
	OBJECT(changes_row, change, change_row, NULL, HIDDEN | OR_NULL,
	       "The suggestion as data; null = there is none."),
	LIST(changes_row, others, change_row, NULL, BARE,
	     "Changes of other kinds that were tried and fit as well."),
};
DESCRIBE_PART(changes_row, changes_fields);

/* The field of the configuration and its new value; NULL = the change is not one of the policy. */
static const char *option_of(const struct change *change, const char **ret_value)
{
	switch (change->kind) {
	case CHANGE_ALIGN_POLICY:
		*ret_value = align_policy_name(change->align);
		return "topologyManagerPolicy";
	case CHANGE_ALIGN_SCOPE:
		*ret_value = align_scope_name(change->scope);
		return "topologyManagerScope";
	case CHANGE_ANY_CORES:
		*ret_value = "false";
		return "full-pcpus-only";
	case CHANGE_REPAIRED:
		*ret_value = compatibility_name(COMPATIBILITY_REPAIRED);
		return "compatibility";
	default:
		*ret_value = NULL;
		return NULL;
	}
}

static struct change_row change_of(struct arena *arena, const struct change *change)
{
	const bool is_cpus = change->kind == CHANGE_CONTAINER_CPUS ||
			     change->kind == CHANGE_POD_CPUS;
	const bool is_memory = change->kind == CHANGE_CONTAINER_MEMORY ||
			       change->kind == CHANGE_POD_MEMORY;
	const bool is_size = change->kind == CHANGE_PAGE_SIZE;
	struct change_row row = {
		.suggestion = change->text,
		.kind = change_kind_name(change->kind),
		.container = given(change->container),
		.uid = given(change->uid),
		.cpus = is_cpus ? (int64_t)change->cpus : -1,
		.bytes = is_memory ? (int64_t)change->bytes : -1,
	};

	if (is_memory)
		row.resource = memory_name(arena, change->page_bytes);
	if (is_size) {
		row.resource = memory_name(arena, change->to_page_bytes);
		row.instead_of = memory_name(arena, change->page_bytes);
	}
	row.option = option_of(change, &row.value);
	return row;
}

struct changes_row changes_of(struct arena *arena, const struct decision *decision)
{
	struct changes_row row = {
		.others = arena_array(arena, decision->nr_others, sizeof(*row.others)),
	};

	if (decision->change.kind) {
		struct change_row change = change_of(arena, &decision->change);

		row.change = arena_copy(arena, &change, sizeof(change));
	}
	for (uint32_t i = 0; row.others && i < decision->nr_others; i++)
		row.others[row.nr_others++] = change_of(arena, &decision->others[i]);
	return row;
}

const char *unit_of(const struct decision *decision)
{
	if (decision->wanted < 0)
		return NULL;
	return decision->is_memory ? "bytes" : "CPUs";
}

/* --- refusals --------------------------------------------------------------------------------- */

static const struct field_desc refusal_fields[] = {
	TEXT(view_refusal, namespace, "pod", HEAD | OR_NULL,
	     "Namespace of the pod; null = its document does not specify it."),
	TEXT(view_refusal, name, NULL, HEAD | BARE | SLASH | OR_NULL,
	     "Name of the pod; null = its document does not specify it."),
	TEXT(view_refusal, uid, NULL, HIDDEN | OR_NULL, "Identity of the pod."),
	TEXT(view_refusal, reason, "refused", HEAD, "The kubelet's reason."),
	TEXT(view_refusal, refusal, "kind", HEAD, "pinfold's kind of refusal, as in the metrics."),
	TEXT(view_refusal, container, NULL, HEAD | OR_NULL,
	     "The container that does not fit; null = the pod as a whole."),
	COUNT(view_refusal, wanted, NULL, HEAD | OR_NULL,
	      "Amount that was requested, in the resource's unit."),
	COUNT(view_refusal, available, NULL, HEAD | OR_NULL, "Amount that is available."),
	UNIT(view_refusal),
	TEXT(view_refusal, message, NULL, LINE | BARE, "The whole sentence."),
	TEXT(view_refusal, suggestion, NULL, LINE | OR_NULL,
	     "The nearest change that fits; it was tried when the pod was refused."),
	TEXT(view_refusal, file, NULL, LINE | OR_NULL, "File of its document."),
	COUNT(view_refusal, line, NULL, OR_NULL, "Line in which its document begins."),
	PART(view_refusal, changes, changes_row),
};
DESCRIBE(view_refusal, refusal_fields, "refusal", "A pod that was not admitted, and why.",
	 .is_list = true);

struct view_refusal *refusal_rows(struct arena *arena, const struct refusal_row *refusals,
				  size_t nr_refusals, size_t *ret_nr)
{
	struct view_refusal *rows = arena_array(arena, nr_refusals, sizeof(*rows));

	for (size_t i = 0; rows && i < nr_refusals; i++) {
		const struct refusal_row *refusal = &refusals[i];
		const struct decision *decision = refusal->decision;

		rows[i] = (struct view_refusal){
			.namespace = refusal->namespace,
			.name = refusal->name,
			.uid = refusal->uid,
			.reason = decision->reason,
			.refusal = refusal_name(decision->refusal),
			.container = given(decision->container),
			.wanted = decision->wanted,
			.available = decision->available,
			.unit = unit_of(decision),
			.message = decision->message,
			.suggestion = given(decision->suggestion),
			.file = refusal->file,
			.line = refusal->line,
			.changes = changes_of(arena, decision),
		};
	}
	*ret_nr = rows ? nr_refusals : 0;
	return rows;
}

struct json_object *view_refusals(const struct refusal_row *rows, size_t nr_rows)
{
	struct arena arena cleanup_arena = {0};
	size_t nr;
	const struct view_refusal *refusals = refusal_rows(&arena, rows, nr_rows, &nr);

	return view_finish(&arena, &view_refusal_desc, refusals, nr);
}
