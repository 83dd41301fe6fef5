// SPDX-License-Identifier: Apache-2.0
/* What 'bundle create' wrote, which is also the manifest in the bundle. */
#include <pinfold/names.h>

#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"

static const struct field_desc member_fields[] = {
	TEXT(view_bundle_member, name, "member", 0, "Its name below pinfold-bundle/."),
	BYTES(view_bundle_member, bytes, "size", 0, "Its size before compression."),
};
DESCRIBE_PART(view_bundle_member, member_fields, .layout = OBJECT_TABLE);

static const struct field_desc gap_fields[] = {
	TEXT(view_bundle_gap, name, "missing", 0, "What could not be had."),
	TEXT(view_bundle_gap, reason, NULL, 0, "Why."),
};
DESCRIBE_PART(view_bundle_gap, gap_fields, .layout = OBJECT_TABLE);

static const struct field_desc bundle_fields[] = {
	TEXT(view_bundle, file, "bundle", HEAD | OR_NULL, "The file; null in the file itself."),
	TIME(view_bundle, created_ns, "created", HEAD, "When."),
	ANSWER(view_bundle, redacted, NULL, HEAD,
	       "Names, addresses and words that pinfold does not use have pseudonyms, which differ "
	       "from bundle to bundle."),
	TEXT(view_bundle, version, NULL, LINE, "Version of the inspector."),
	TEXT(view_bundle, revision, NULL, 0, "Its source revision."),
	COUNT(view_bundle, schema_version, "schema", 0, "Version of the JSON contract."),
	LIST(view_bundle, members, view_bundle_member, NULL, BARE, "What is in it."),
	LIST(view_bundle, missing, view_bundle_gap, NULL, BARE, "What is not, and why."),
};
DESCRIBE(view_bundle, bundle_fields, "bundle", "A support bundle.");

struct json_object *view_bundle(const struct view_bundle *row)
{
	struct view_bundle full = *row;

	full.version = PINFOLD_VERSION;
	full.schema_version = PINFOLD_SCHEMA_VERSION;
	return object_json(&view_bundle_desc, &full, 1);
}
