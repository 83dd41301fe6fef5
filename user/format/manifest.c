// SPDX-License-Identifier: Apache-2.0
/*
 * From the document tree to pod specs. Each reader takes the value and its
 * field path, fills the error with both, and stops at the first fault.
 */
#include "format/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/resources.h"
#include "lib/text.h"

#define DNS_LABEL_MAX	  63
#define DNS_SUBDOMAIN_MAX 253

void manifest_fini(struct manifest *manifest)
{
	for (uint32_t i = 0; i < manifest->nr_documents; i++)
		pod_spec_free(manifest->documents[i].spec);
	free(manifest->documents);
	*manifest = (struct manifest){0};
}

void manifest_uid(const char *namespace, const char *name, char ret_uid[POD_UID_MAX])
{
	const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
	unsigned __int128 hash = ((unsigned __int128)0x6c62272e07bb0142ULL << 64) |
				 0x62b821756295c58dULL;
	const char *parts[] = {namespace, "/", name};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (const char *byte = parts[i]; *byte; byte++)
			hash = (hash ^ (unsigned char)*byte) * prime;
	snprintf(ret_uid, POD_UID_MAX, "%08x-%04x-%04x-%04x-%012llx", (unsigned int)(hash >> 96),
		 (unsigned int)(hash >> 80) & 0xffff, (unsigned int)(hash >> 64) & 0xffff,
		 (unsigned int)(hash >> 48) & 0xffff, (unsigned long long)hash & 0xffffffffffffULL);
}

/* --- names ------------------------------------------------------------------------------------ */

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Letters a-z, digits and, not at the ends, "-". */
static bool is_label(const char *text, size_t len)
{
	if (!len || !is_lower_or_digit(text[0]) || !is_lower_or_digit(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_lower_or_digit(text[i]) && text[i] != '-')
			return false;
	return true;
}

static bool is_subdomain(const char *text, size_t len)
{
	const char *end = text + len;

	for (;;) {
		const char *dot = memchr(text, '.', end - text);

		if (!is_label(text, (dot ? dot : end) - text))
			return false;
		if (!dot)
			return true;
		text = dot + 1;
	}
}

/* Names become directory names and labels of metrics: nothing but the strict form passes. */
static int read_name(const struct yaml_value *value, const char *field, struct format_error *error,
		     bool dots, char *ret_name, size_t size)
{
	const size_t longest = dots ? DNS_SUBDOMAIN_MAX : DNS_LABEL_MAX;
	char shown[FORMAT_SHOW_MAX];

	if (value->kind != YAML_TEXT)
		return yaml_refuse(value, field, error, "expected a name, not %s",
				   yaml_kind_name(value->kind));
	if (value->len <= longest && value->len < size &&
	    (dots ? is_subdomain(value->text, value->len) : is_label(value->text, value->len))) {
		memcpy(ret_name, value->text, value->len + 1);
		return 0;
	}
	return yaml_refuse(value, field, error,
			   "'%s' is not a DNS %s: use at most %zu of a-z, 0-9%s and '-', beginning "
			   "and ending with a letter or digit",
			   format_show(value->text, value->len, shown, sizeof(shown)),
			   dots ? "subdomain" : "label", longest, dots ? ", '.'" : "");
}

static int require(const struct yaml_value *map, const char *key, const char *field,
		   struct format_error *error, const struct yaml_value **ret_value)
{
	*ret_value = yaml_get(map, key);
	if (*ret_value)
		return 0;
	return yaml_refuse(map, field, error, "this field is missing; a Pod needs it");
}

/* --- containers ------------------------------------------------------------------------------- */

static int read_container_kind(const struct yaml_value *value, const char *field,
			       struct format_error *error, bool init, enum container_kind *ret_kind)
{
	static const char *const policies[] = {"Always", "OnFailure", "Never"};
	const struct yaml_value *policy = yaml_get(value, "restartPolicy");
	char child_field[FORMAT_FIELD_MAX];
	unsigned int word = 1;
	int err = policy ? yaml_read_word(policy,
					  format_member(child_field, field, "restartPolicy"), error,
					  policies, ARRAY_SIZE(policies), &word)
			 : 0;

	if (err)
		return err;
	*ret_kind = CONTAINER_APP;
	if (init)
		*ret_kind = word == 0 ? CONTAINER_SIDECAR : CONTAINER_INIT;
	return 0;
}

static int read_container(const struct yaml_value *value, const char *field,
			  struct format_error *error, bool init, const struct pod_spec *spec,
			  struct container_spec *container)
{
	const struct yaml_value *name;
	char child_field[FORMAT_FIELD_MAX];
	int err = yaml_read_map(value, field, error);

	if (!err)
		err = require(value, "name", format_member(child_field, field, "name"), error,
			      &name);
	if (!err)
		err = read_name(name, child_field, error, false, container->name,
				sizeof(container->name));
	if (err)
		return err;
	for (uint32_t i = 0; i < spec->nr_containers; i++)
		if (strcmp(spec->containers[i].name, container->name) == 0)
			return yaml_refuse(name, child_field, error,
					   "'%s' names two containers of this pod; rename one",
					   container->name);
	err = read_container_kind(value, field, error, init, &container->kind);
	if (!err)
		err = resources_read(yaml_get(value, "resources"),
				     format_member(child_field, field, "resources"), error,
				     &container->request, &container->limit);
	return err;
}

static int read_containers(const struct yaml_value *list, const char *field,
			   struct format_error *error, bool init, struct pod_spec *spec)
{
	char child_field[FORMAT_FIELD_MAX];
	unsigned int index = 0;
	int err;

	if (!list)
		return 0;
	err = yaml_read_list(list, field, error);
	if (err)
		return err;
	yaml_for_each(child, list)
	{
		struct container_spec *container = &spec->containers[spec->nr_containers];

		format_field(child_field, "%s[%u]", field, index++);
		if (spec->nr_containers == POD_MAX_CONTAINERS)
			return yaml_refuse(child, child_field, error,
					   "the pod has more than %d containers",
					   POD_MAX_CONTAINERS);
		err = read_container(child, child_field, error, init, spec, container);
		if (err)
			return err;
		spec->nr_containers++;
	}
	return 0;
}

/* --- the pod ---------------------------------------------------------------------------------- */

static int read_uid(const struct yaml_value *metadata, const char *field,
		    struct format_error *error, struct pod_spec *spec)
{
	const struct yaml_value *uid = yaml_get(metadata, "uid");

	if (uid)
		return read_name(uid, field, error, false, spec->uid, sizeof(spec->uid));
	manifest_uid(spec->namespace, spec->name, spec->uid);
	return 0;
}

static int read_metadata(const struct yaml_value *pod, const char *prefix,
			 struct manifest_document *document, struct pod_spec *spec)
{
	struct format_error *error = &document->error;
	const struct yaml_value *metadata, *name, *namespace;
	char field[FORMAT_FIELD_MAX];
	int err;

	format_field(field, "%smetadata", prefix);
	err = require(pod, "metadata", field, error, &metadata);
	if (!err)
		err = yaml_read_map(metadata, field, error);
	if (err)
		return err;
	format_field(field, "%smetadata.name", prefix);
	name = yaml_get(metadata, "name");
	if (!name)
		return yaml_refuse(metadata, field, error,
				   "this field is missing; a Pod needs a fixed name%s",
				   yaml_get(metadata, "generateName")
					   ? ", because only the API server can resolve "
					     "generateName"
					   : "");
	err = read_name(name, field, error, true, spec->name, sizeof(spec->name));
	if (err)
		return err;
	namespace = yaml_get(metadata, "namespace");
	format_field(field, "%smetadata.namespace", prefix);
	snprintf(spec->namespace, sizeof(spec->namespace), "default");
	if (namespace)
		err = read_name(namespace, field, error, false, spec->namespace,
				sizeof(spec->namespace));
	if (err)
		return err;
	snprintf(document->name, sizeof(document->name), "%s/%s", spec->namespace, spec->name);
	text_copy(document->namespace, sizeof(document->namespace), spec->namespace);
	text_copy(document->pod, sizeof(document->pod), spec->name);
	format_field(field, "%smetadata.uid", prefix);
	return read_uid(metadata, field, error, spec);
}

static int read_pod_resources(const struct yaml_value *body, const char *prefix,
			      struct format_error *error, struct pod_spec *spec)
{
	char field[FORMAT_FIELD_MAX];
	int err;

	format_field(field, "%sspec.resources", prefix);
	err = resources_read(yaml_get(body, "resources"), field, error, &spec->request,
			     &spec->limit);
	if (err)
		return err;
	spec->has_pod_resources = resources_any(&spec->request) || resources_any(&spec->limit);
	format_field(field, "%sspec.overhead", prefix);
	spec->overhead = RESOURCES_UNSET;
	return resources_read_list(yaml_get(body, "overhead"), field, NULL, error, &spec->overhead);
}

static int read_pod_containers(const struct yaml_value *body, const char *prefix,
			       struct format_error *error, struct pod_spec *spec)
{
	const struct yaml_value *list;
	char field[FORMAT_FIELD_MAX];
	int err;

	format_field(field, "%sspec.initContainers", prefix);
	err = read_containers(yaml_get(body, "initContainers"), field, error, true, spec);
	if (err)
		return err;
	format_field(field, "%sspec.containers", prefix);
	err = require(body, "containers", field, error, &list);
	if (!err)
		err = read_containers(list, field, error, false, spec);
	if (!err && list->nr_children == 0)
		err = yaml_refuse(list, field, error,
				  "the list is empty; a Pod needs at least "
				  "one container");
	return err;
}

static int read_body(const struct yaml_value *pod, const char *prefix,
		     struct manifest_document *document, struct pod_spec *spec)
{
	struct format_error *error = &document->error;
	const struct yaml_value *body;
	char field[FORMAT_FIELD_MAX];
	int err;

	format_field(field, "%sspec", prefix);
	err = require(pod, "spec", field, error, &body);
	if (!err)
		err = yaml_read_map(body, field, error);
	if (!err)
		err = read_pod_resources(body, prefix, error, spec);
	if (!err)
		err = read_pod_containers(body, prefix, error, spec);
	if (err)
		return err;
	pod_spec_default(spec);
	if (yaml_get(body, "ephemeralContainers"))
		snprintf(document->note, sizeof(document->note),
			 "spec.ephemeralContainers is ignored: ephemeral containers run in the "
			 "shared pool and hold no CPUs");
	return 0;
}

static int check_kind(const struct yaml_value *pod, const char *prefix, struct format_error *error)
{
	static const struct {
		const char *key, *wanted;
	} fields[] = {{"kind", "Pod"}, {"apiVersion", "v1"}};
	char field[FORMAT_FIELD_MAX], shown[FORMAT_SHOW_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct yaml_value *value;
		int err;

		format_field(field, "%s%s", prefix, fields[i].key);
		err = require(pod, fields[i].key, field, error, &value);
		if (err)
			return err;
		if (value->kind == YAML_TEXT && strcmp(value->text, fields[i].wanted) == 0)
			continue;
		return yaml_refuse(value, field, error,
				   "found %s%s%s, expected '%s'; only Pods are supported, move "
				   "other objects elsewhere",
				   value->kind == YAML_TEXT ? "'" : yaml_kind_name(value->kind),
				   value->kind == YAML_TEXT ? format_show(value->text, value->len,
									  shown, sizeof(shown))
							    : "",
				   value->kind == YAML_TEXT ? "'" : "", fields[i].wanted);
	}
	return 0;
}

/* While reading there is room for the most containers; give back what is not used. */
static void shrink_containers(struct pod_spec *spec)
{
	struct container_spec *fitting =
		realloc(spec->containers, spec->nr_containers * sizeof(*fitting));

	if (fitting)
		spec->containers = fitting;
}

static int read_pod(const struct yaml_value *pod, const char *prefix,
		    struct manifest_document *document)
{
	struct pod_spec *spec cleanup_pod_spec = calloc(1, sizeof(*spec));
	int err;

	if (!spec)
		return -ENOMEM;
	spec->containers = calloc(POD_MAX_CONTAINERS, sizeof(*spec->containers));
	if (!spec->containers)
		return -ENOMEM;
	if (pod->kind != YAML_MAP)
		return yaml_refuse(pod, *prefix ? prefix : NULL, &document->error,
				   "expected a Pod, not %s", yaml_kind_name(pod->kind));
	err = check_kind(pod, prefix, &document->error);
	if (!err)
		err = read_metadata(pod, prefix, document, spec);
	if (!err)
		err = read_body(pod, prefix, document, spec);
	if (err)
		return err;
	shrink_containers(spec);
	document->spec = TAKE_PTR(spec);
	return 0;
}

/* --- documents -------------------------------------------------------------------------------- */

/* The array has room for all documents and one more that says the rest is refused. */
static bool is_full(const struct manifest *manifest)
{
	return manifest->nr_documents > MANIFEST_MAX_DOCUMENTS;
}

static void refuse_rest(struct manifest *manifest, unsigned int line)
{
	struct manifest_document *document = &manifest->documents[manifest->nr_documents];

	if (is_full(manifest))
		return;
	manifest->nr_documents++;
	document->line = line;
	format_error_set(&document->error, line, 1, NULL,
			 "more than %d documents in one file; this one and all later ones are "
			 "refused, move them to another file",
			 MANIFEST_MAX_DOCUMENTS);
}

/* NULL when there are too many. */
static struct manifest_document *add_document(struct manifest *manifest, unsigned int line)
{
	struct manifest_document *document = &manifest->documents[manifest->nr_documents];

	if (manifest->nr_documents >= MANIFEST_MAX_DOCUMENTS) {
		refuse_rest(manifest, line);
		return NULL;
	}
	manifest->nr_documents++;
	document->line = line;
	return document;
}

/* -EINVAL of a reader is the document's affair and ends here; -ENOMEM goes on. */
static int add_pod(struct manifest *manifest, const struct yaml_value *pod, const char *prefix)
{
	struct manifest_document *document = add_document(manifest, pod->line);
	int err = document ? read_pod(pod, prefix, document) : 0;

	return err == -ENOMEM ? err : 0;
}

static bool is_pod_list(const struct yaml_value *root)
{
	const struct yaml_value *kind = yaml_get(root, "kind");

	return kind && kind->kind == YAML_TEXT &&
	       (strcmp(kind->text, "List") == 0 || strcmp(kind->text, "PodList") == 0);
}

static int add_root(struct manifest *manifest, const struct yaml_value *root)
{
	const struct yaml_value *items = yaml_get(root, "items");
	char prefix[FORMAT_FIELD_MAX];
	unsigned int index = 0;

	if (!is_pod_list(root))
		return add_pod(manifest, root, "");
	if (!items)
		return 0;
	if (items->kind != YAML_LIST) {
		struct manifest_document *document = add_document(manifest, root->line);

		if (document)
			yaml_read_list(items, "items", &document->error);
		return 0;
	}
	yaml_for_each(item, items)
	{
		int err;

		format_field(prefix, "items[%u].", index++);
		err = add_pod(manifest, item, prefix);
		if (err)
			return err;
	}
	return 0;
}

/* All documents of one piece: one, or JSON objects one after another. */
static int add_piece(struct manifest *manifest, const char *piece, size_t len, unsigned int line,
		     unsigned int *nr_parsed)
{
	size_t offset = 0;

	while (offset < len && !is_full(manifest)) {
		struct yaml_tree *tree cleanup_yaml = NULL;
		struct format_error error = {0};
		struct manifest_document *document;
		size_t used;
		int err;

		/* Documents that hold nothing count too: setting up a parser is not free. */
		if (++*nr_parsed > MANIFEST_MAX_DOCUMENTS) {
			refuse_rest(manifest, line);
			return 0;
		}
		err = yaml_parse(piece + offset, len - offset, line, &YAML_LIMITS, &error, &tree,
				 &used);
		if (err == -EINVAL) {
			document = add_document(manifest, error.line ? error.line : line);
			if (document)
				document->error = error;
			return 0;
		}
		if (!err && tree->root && !yaml_is_null(tree->root))
			err = add_root(manifest, tree->root);
		if (err)
			return err;
		for (size_t i = offset; i < offset + used; i++)
			line += piece[i] == '\n';
		offset += used;
	}
	return 0;
}

/* A separator and nothing else: worth no parser. */
static bool is_blank_piece(const char *piece, size_t len)
{
	size_t at = len >= 3 && memcmp(piece, "---", 3) == 0 ? 3 : 0;

	while (at < len && strchr(" \t\r\n", piece[at]) && piece[at])
		at++;
	return at == len;
}

static int add_pieces(struct manifest *manifest, const char *data, size_t len)
{
	unsigned int line = 1, piece_line, nr_parsed = 0;
	size_t offset = 0, piece_len;
	const char *piece;

	while (!is_full(manifest) && nr_parsed <= MANIFEST_MAX_DOCUMENTS &&
	       yaml_next_piece(data, len, &offset, &line, &piece, &piece_len, &piece_line)) {
		int err = is_blank_piece(piece, piece_len)
				  ? 0
				  : add_piece(manifest, piece, piece_len, piece_line, &nr_parsed);

		if (err)
			return err;
	}
	return 0;
}

int manifest_parse(const char *data, size_t len, struct manifest *ret_manifest)
{
	struct manifest manifest cleanup_manifest = {0};
	struct manifest_document *fitting;
	int err = 0;

	manifest.documents = calloc(MANIFEST_MAX_DOCUMENTS + 1, sizeof(*manifest.documents));
	if (!manifest.documents)
		return -ENOMEM;
	if (len > MANIFEST_MAX_BYTES)
		format_error_set(&add_document(&manifest, 1)->error, 0, 0, NULL,
				 "%zu bytes are more than the limit of %u; split the file", len,
				 MANIFEST_MAX_BYTES);
	else
		err = add_pieces(&manifest, data, len);
	if (err)
		return err;
	/* Most files hold one document and are kept as long as they are there. */
	fitting = reallocarray(manifest.documents, manifest.nr_documents + 1, sizeof(*fitting));
	if (fitting)
		manifest.documents = fitting;
	*ret_manifest = manifest;
	manifest = (struct manifest){0};
	return 0;
}
