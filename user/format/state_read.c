// SPDX-License-Identifier: Apache-2.0
/*
 * Text to the ledger's content. The checksum tells damage from disk or editor;
 * everything is checked all the same, because whoever can write the file can
 * write its checksum.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/config.h"
#include "format/resources.h"
#include "format/state.h"
#include "format/state_private.h"

struct state_reader {
	struct format_error *error;
	int err; /* the first failure; nothing is read after it */
	const struct topology *topology;
	struct state *state;
	struct cpuset nodes; /* memory node ids when it was written */
};

/* A mapping of the file, with its name for sentences. */
struct state_place {
	struct state_reader *reader;
	const struct yaml_value *map;
	const char *field;
};

static void pod_fini(struct state_pod *pod)
{
	pod_spec_free(pod->pod.spec);
	free(pod->pod.grants);
	free(pod->pod.sets);
}

void state_free(struct state *state)
{
	if (!state)
		return;
	for (uint32_t i = 0; i < state->nr_pods; i++)
		pod_fini(&state->pods[i]);
	free(state->pods);
	free(state);
}

/* --- fields ----------------------------------------------------------------------------------- */

/* The member `key` and its name; NULL = it is missing, or something failed before. */
static const struct yaml_value *want(const struct state_place *place, const char *key,
				     char ret_field[FORMAT_FIELD_MAX])
{
	struct state_reader *reader = place->reader;
	const struct yaml_value *value = reader->err ? NULL : yaml_get(place->map, key);

	format_member(ret_field, place->field, key);
	if (!value && !reader->err)
		reader->err =
			yaml_refuse(place->map, ret_field, reader->error, "this field is missing");
	return value;
}

static void want_text(const struct state_place *place, const char *key, char *ret_text, size_t size)
{
	char field[FORMAT_FIELD_MAX];
	const struct yaml_value *value = want(place, key, field);

	if (value)
		place->reader->err =
			yaml_read_text(value, field, place->reader->error, ret_text, size);
}

static void want_set(const struct state_place *place, const char *key, struct cpuset *ret_set)
{
	char field[FORMAT_FIELD_MAX], shown[FORMAT_SHOW_MAX];
	const struct yaml_value *value = want(place, key, field);

	if (!value || (value->kind == YAML_TEXT && !cpuset_parse(value->text, value->len, ret_set)))
		return;
	place->reader->err =
		yaml_refuse(value, field, place->reader->error, "'%s' is not a list of ids",
			    value->kind == YAML_TEXT
				    ? format_show(value->text, value->len, shown, sizeof(shown))
				    : yaml_kind_name(value->kind));
}

/* Its number; 0 after a failure. */
static unsigned int want_word(const struct state_place *place, const char *key,
			      const char *const *words, unsigned int nr_words)
{
	char field[FORMAT_FIELD_MAX];
	const struct yaml_value *value = want(place, key, field);
	unsigned int word = 0;

	if (value)
		place->reader->err =
			yaml_read_word(value, field, place->reader->error, words, nr_words, &word);
	return word;
}

static void want_resources(const struct state_place *place, const char *key,
			   struct resources *ret_resources)
{
	char field[FORMAT_FIELD_MAX];
	const struct yaml_value *value = want(place, key, field);

	*ret_resources = RESOURCES_UNSET;
	if (value)
		place->reader->err = resources_read_list(value, field, NULL, place->reader->error,
							 ret_resources);
}

/* Letters, digits, "-" and ".": what the sources let through, and no path. */
static void want_name(const struct state_place *place, const char *key, char *ret_name, size_t size)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
	struct state_reader *reader = place->reader;
	char field[FORMAT_FIELD_MAX];

	want_text(place, key, ret_name, size);
	if (!reader->err && (!*ret_name || *ret_name == '.' || *ret_name == '-' ||
			     ret_name[strspn(ret_name, allowed)]))
		reader->err = yaml_refuse(place->map, format_member(field, place->field, key),
					  reader->error, "invalid name");
}

/* NULL = something failed. */
static const struct yaml_value *want_list(const struct state_place *place, const char *key,
					  char ret_field[FORMAT_FIELD_MAX])
{
	struct state_reader *reader = place->reader;
	const struct yaml_value *value = want(place, key, ret_field);

	if (value)
		reader->err = yaml_read_list(value, ret_field, reader->error);
	return reader->err ? NULL : value;
}

/* --- containers ------------------------------------------------------------------------------- */

/* Position of `id` among the ascending members. */
static unsigned int rank_in(const struct cpuset *set, unsigned int id)
{
	unsigned int rank = 0;

	cpuset_for_each (member, set) {
		if (member == id)
			break;
		rank++;
	}
	return rank;
}

static void refuse_node(struct state_pod *pod, uint32_t id)
{
	pod->is_unusable = true;
	snprintf(pod->problem, sizeof(pod->problem), "NUMA node %u no longer exists", id);
}

/* Ids to a mask over the topology's memory nodes, or over the file's without one. */
static void translate_mems(const struct state_reader *reader, const struct cpuset *ids,
			   struct state_pod *pod, node_mask_t *ret_mems)
{
	node_mask_t mems = 0;

	cpuset_for_each (id, ids) {
		uint32_t index = 0, nr = TOPOLOGY_MAX_NODES;

		if (reader->topology) {
			nr = reader->topology->nr_memory_nodes;
			while (index < nr && reader->topology->memory_nodes[index].id != id)
				index++;
		} else {
			index = rank_in(&reader->nodes, id);
		}
		if (index < nr)
			mems |= (node_mask_t)1 << index;
		else if (!pod->is_unusable)
			refuse_node(pod, id);
	}
	*ret_mems = mems;
}

/* Written only for what was resized; `cpus` are those that it is a part of. */
static void read_baseline(const struct state_place *place, const char *key,
			  const struct cpuset *cpus, struct cpuset *ret_baseline)
{
	struct state_reader *reader = place->reader;

	if (!yaml_get(place->map, key))
		return;
	want_set(place, key, ret_baseline);
	if (!reader->err && !cpuset_is_subset(ret_baseline, cpus))
		reader->err = yaml_refuse(place->map, place->field, reader->error,
					  "%s is not a part of the CPUs", key);
}

static void read_grant(const struct state_place *place, struct state_pod *pod, struct grant *grant)
{
	const char *const words[] = {isolation_name(ISOLATION_HOST), isolation_name(ISOLATION_POD),
				     isolation_name(ISOLATION_CONTAINER)};
	struct state_reader *reader = place->reader;
	struct cpuset mems = CPUSET_EMPTY;

	_Static_assert(ISOLATION_NR == 3, "a word for each isolation");
	grant->isolation = want_word(place, "isolation", words, ARRAY_SIZE(words));
	want_set(place, "cpus", ledger_pod_edit(&pod->pod, grant->cpus));
	read_baseline(place, "baseline", grant->cpus, ledger_pod_edit(&pod->pod, grant->baseline));
	want_set(place, "mems", &mems);
	if (reader->err)
		return;
	if ((grant->isolation == ISOLATION_HOST) != cpuset_is_empty(grant->cpus))
		reader->err = yaml_refuse(place->map, place->field, reader->error,
					  "isolation '%s' contradicts the CPU list",
					  words[grant->isolation]);
	else if (!cpuset_is_subset(&mems, &reader->nodes))
		reader->err = yaml_refuse(place->map, place->field, reader->error,
					  "mems names a NUMA node that the file does not list");
	else
		translate_mems(reader, &mems, pod, &grant->mems);
}

static void read_container(const struct state_place *place, struct state_pod *pod,
			   struct container_spec *container, struct grant *grant)
{
	const char *const words[] = {container_kind_name(CONTAINER_INIT),
				     container_kind_name(CONTAINER_SIDECAR),
				     container_kind_name(CONTAINER_APP)};

	_Static_assert(CONTAINER_KIND_NR == 3, "a word for each kind");
	want_name(place, "name", container->name, sizeof(container->name));
	container->kind = grant->kind = want_word(place, "kind", words, ARRAY_SIZE(words));
	want_resources(place, "requests", &container->request);
	want_resources(place, "limits", &container->limit);
	read_grant(place, pod, grant);
	memcpy(grant->container, container->name, sizeof(grant->container));
}

static int check_unique(const struct state_place *place, const struct pod_spec *spec)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(spec->containers[i].name, spec->containers[j].name) == 0)
				return yaml_refuse(place->map, place->field, place->reader->error,
						   "two containers are named '%s'",
						   spec->containers[i].name);
	return 0;
}

static int allocate(struct ledger_pod *pod, uint32_t nr)
{
	pod->spec->containers = calloc(nr, sizeof(*pod->spec->containers));
	pod->grants = calloc(nr, sizeof(*pod->grants));
	if (!pod->spec->containers || !pod->grants)
		return -ENOMEM;
	pod->nr_grants = nr;
	return ledger_pod_own_sets(pod);
}

static void read_containers(const struct state_place *pod_place, struct state_pod *pod)
{
	char list_field[FORMAT_FIELD_MAX], field[FORMAT_FIELD_MAX];
	struct state_reader *reader = pod_place->reader;
	const struct state_place list = {reader, want_list(pod_place, "containers", list_field),
					 list_field};
	struct pod_spec *spec = pod->pod.spec;

	if (reader->err)
		return;
	if (list.map->nr_children == 0 || list.map->nr_children > POD_MAX_CONTAINERS)
		reader->err = yaml_refuse(list.map, list_field, reader->error,
					  "%u containers; a pod has 1 to %d", list.map->nr_children,
					  POD_MAX_CONTAINERS);
	else
		reader->err = allocate(&pod->pod, list.map->nr_children);
	yaml_for_each(child, list.map)
	{
		const struct state_place place = {reader, child, field};
		const uint32_t at = spec->nr_containers;

		if (reader->err)
			return;
		format_field(field, "%s[%u]", list_field, at);
		read_container(&place, pod, &spec->containers[at], &pod->pod.grants[at]);
		spec->nr_containers++;
	}
	if (!reader->err)
		reader->err = check_unique(&list, spec);
}

/* --- pods ------------------------------------------------------------------------------------- */

static void read_names(const struct state_place *place, struct ledger_pod *pod)
{
	const char *const words[] = {pod_state_name(POD_RUNNING), pod_state_name(POD_ENDING)};
	struct pod_spec *spec = pod->spec;
	char detail[3 * sizeof(pod->detail)] = "";

	_Static_assert(POD_STATE_NR == 2, "a word for each state");
	want_name(place, "uid", spec->uid, sizeof(spec->uid));
	want_name(place, "namespace", spec->namespace, sizeof(spec->namespace));
	want_name(place, "name", spec->name, sizeof(spec->name));
	pod->state = want_word(place, "state", words, ARRAY_SIZE(words));
	want_text(place, "detail", detail, sizeof(detail));
	/* A byte that was no UTF-8 came back as three; what is told of a pod may be cut. */
	snprintf(pod->detail, sizeof(pod->detail), "%.*s", (int)sizeof(pod->detail) - 1, detail);
}

/* Only a runtime's pod has a class in the file. */
static void read_class(const struct state_place *place, struct pod_spec *spec)
{
	const char *words[QOS_NR];

	if (!yaml_get(place->map, "runtime_class"))
		return;
	for (enum qos_class qos = 0; qos < QOS_NR; qos++)
		words[qos] = qos_class_name(qos);
	spec->is_of_runtime = true;
	spec->stated_qos = want_word(place, "runtime_class", words, QOS_NR);
}

static void read_totals(const struct state_place *place, struct pod_spec *spec)
{
	char field[FORMAT_FIELD_MAX];
	const struct state_place resources = {place->reader, yaml_get(place->map, "resources"),
					      format_member(field, place->field, "resources")};

	want_resources(place, "overhead", &spec->overhead);
	spec->request = spec->limit = RESOURCES_UNSET;
	if (!resources.map)
		return;
	spec->has_pod_resources = true;
	want_resources(&resources, "requests", &spec->request);
	want_resources(&resources, "limits", &spec->limit);
}

static void read_pod(const struct state_place *place, struct state_pod *saved)
{
	struct state_reader *reader = place->reader;
	struct ledger_pod *pod = &saved->pod;

	reader->err = yaml_read_map(place->map, place->field, reader->error);
	if (reader->err)
		return;
	pod->spec = calloc(1, sizeof(*pod->spec));
	if (!pod->spec || ledger_pod_own_sets(pod)) {
		reader->err = -ENOMEM;
		return;
	}
	pod->has_bubble = yaml_get(place->map, "bubble");
	read_names(place, pod);
	read_class(place, pod->spec);
	read_totals(place, pod->spec);
	if (pod->has_bubble)
		want_set(place, "bubble", ledger_pod_edit(pod, pod->bubble));
	read_baseline(place, "bubble_baseline", pod->bubble,
		      ledger_pod_edit(pod, pod->bubble_baseline));
	want_set(place, "held", ledger_pod_edit(pod, pod->held));
	read_containers(place, saved);
	if (!reader->err)
		pod->qos = pod_qos(pod->spec);
}

static void read_pods(const struct state_place *root)
{
	char list_field[FORMAT_FIELD_MAX], field[FORMAT_FIELD_MAX];
	struct state_reader *reader = root->reader;
	const struct yaml_value *list = want_list(root, "pods", list_field);
	struct state *state = reader->state;

	if (reader->err)
		return;
	if (list->nr_children > STATE_MAX_PODS) {
		reader->err = yaml_refuse(list, list_field, reader->error, "more than %d pods",
					  STATE_MAX_PODS);
		return;
	}
	state->pods = calloc(list->nr_children + 1, sizeof(*state->pods));
	if (!state->pods)
		reader->err = -ENOMEM;
	yaml_for_each(child, state->pods ? list : NULL)
	{
		const struct state_place place = {reader, child, field};
		struct state_pod *pod = &state->pods[state->nr_pods];

		if (reader->err)
			return;
		format_field(field, "%s[%u]", list_field, state->nr_pods);
		/* Counted first: a pod read in part is given back too. */
		state->nr_pods++;
		read_pod(&place, pod);
		if (!reader->err && pod > state->pods &&
		    strcmp(pod[-1].pod.spec->uid, pod->pod.spec->uid) >= 0)
			reader->err = yaml_refuse(child, field, reader->error,
						  "uid '%s' is out of order or appears twice",
						  pod->pod.spec->uid);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static int read_content(struct state_reader *reader, const struct yaml_value *content)
{
	const struct state_place root = {reader, content, ""};
	struct state *state = reader->state;
	const struct yaml_value *policy;
	char field[FORMAT_FIELD_MAX];

	reader->err = yaml_read_map(content, NULL, reader->error);
	want_text(&root, "boot_id", state->boot_id, sizeof(state->boot_id));
	want_set(&root, "cpus", &state->cpus);
	want_set(&root, "nodes", &reader->nodes);
	if (!reader->err && cpuset_count(&reader->nodes) > TOPOLOGY_MAX_NODES)
		reader->err = yaml_refuse(content, "nodes", reader->error,
					  "more than %d NUMA nodes", TOPOLOGY_MAX_NODES);
	want_set(&root, "reserved", &state->reserved);
	want_set(&root, "shared_pool", &state->shared_pool);
	policy = want(&root, "policy", field);
	if (policy)
		reader->err = config_read_policy(policy, field, reader->error, &state->policy);
	want_set(&root, "excluded", &state->policy.excluded);
	read_pods(&root);
	return reader->err;
}

static int damaged(struct format_error *error, const char *cause)
{
	format_error_set(error, 1, 1, NULL, "%s", cause);
	return -EBADMSG;
}

/* Skip `frame` at *at; false when something else stands there. */
static bool skip(const char *data, size_t len, size_t *at, const char *frame)
{
	size_t size = strlen(frame);

	if (len - *at < size || memcmp(data + *at, frame, size) != 0)
		return false;
	*at += size;
	return true;
}

/* Digits of a base, at most `most` of them. */
static bool read_digits(const char *data, size_t len, size_t *at, unsigned int base,
			unsigned int most, uint64_t *ret_number)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t number = 0;
	unsigned int nr = 0;

	for (; *at < len && nr < most; ++*at, nr++) {
		const char *digit = data[*at] ? strchr(digits, data[*at]) : NULL;

		if (!digit || (unsigned int)(digit - digits) >= base)
			break;
		number = number * base + (digit - digits);
	}
	*ret_number = number;
	return nr > 0;
}

/* Check the frame and find the content inside it. */
static int open_frame(const char *data, size_t len, struct format_error *error,
		      const char **ret_content, size_t *ret_len)
{
	uint64_t version, checksum;
	size_t at = 0, tail = strlen(STATE_TAIL);

	if (len == 0)
		return damaged(error, "the file is empty");
	if (!skip(data, len, &at, STATE_HEAD) || !read_digits(data, len, &at, 10, 9, &version))
		return damaged(error, "this is not a pinfold state file");
	if (version > STATE_VERSION) {
		format_error_set(error, 1, 1, "version",
				 "version %" PRIu64
				 " was written by a newer pinfold, this one reads "
				 "up to %d; start the newer one, or set the file aside by hand",
				 version, STATE_VERSION);
		return -EPROTONOSUPPORT;
	}
	if (version == 0 || !skip(data, len, &at, STATE_SUM) ||
	    !read_digits(data, len, &at, 16, 16, &checksum) || !skip(data, len, &at, STATE_CONTENT))
		return damaged(error, "the first line is damaged");
	if (len - at < tail || memcmp(data + len - tail, STATE_TAIL, tail) != 0)
		return damaged(error, "the end is missing: the file is truncated");
	if (state_checksum(data + at, len - at - tail) != checksum)
		return damaged(error, "the checksum does not match: the file was changed or "
				      "damaged");
	*ret_content = data + at;
	*ret_len = len - at - tail;
	return 0;
}

int state_decode(const char *data, size_t len, const struct topology *topology,
		 struct format_error *error, struct state **ret_state)
{
	const struct yaml_limits limits = {STATE_MAX_BYTES, 12, 1U << 19};
	struct yaml_tree *tree cleanup_yaml = NULL;
	struct state *state cleanup_state = calloc(1, sizeof(*state));
	struct state_reader reader = {.error = error, .topology = topology, .state = state};
	const char *content;
	size_t content_len;
	int err;

	if (!state)
		return -ENOMEM;
	err = open_frame(data, len, error, &content, &content_len);
	if (err)
		return err;
	err = yaml_parse_one(content, content_len, &limits, error, &tree);
	if (!err)
		err = read_content(&reader, tree->root);
	if (err) {
		/* The content is the second line of the file. */
		error->line += error->line > 0;
		return err == -EINVAL ? -EBADMSG : err;
	}
	*ret_state = TAKE_PTR(state);
	return 0;
}
