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
	const struct topology *topology;
	struct state *state;
	struct cpuset nodes; /* memory node ids when it was written */
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

/* The member `key`, or an error that it is missing. */
static int want(const struct state_reader *reader, const struct yaml_value *map, const char *field,
		const char *key, const struct yaml_value **ret_value)
{
	char child_field[FORMAT_FIELD_MAX];

	*ret_value = yaml_get(map, key);
	if (*ret_value)
		return 0;
	return yaml_refuse(map, format_member(child_field, field, key), reader->error,
			   "this field is missing");
}

static int want_text(const struct state_reader *reader, const struct yaml_value *map,
		     const char *field, const char *key, char *ret_text, size_t size)
{
	const struct yaml_value *value;
	char child_field[FORMAT_FIELD_MAX];
	int err = want(reader, map, field, key, &value);

	return err ? err
		   : yaml_read_text(value, format_member(child_field, field, key), reader->error,
				    ret_text, size);
}

static int want_set(const struct state_reader *reader, const struct yaml_value *map,
		    const char *field, const char *key, struct cpuset *ret_set)
{
	const struct yaml_value *value;
	char child_field[FORMAT_FIELD_MAX], shown[FORMAT_SHOW_MAX];
	int err = want(reader, map, field, key, &value);

	if (err)
		return err;
	format_member(child_field, field, key);
	if (value->kind == YAML_TEXT && cpuset_parse(value->text, value->len, ret_set) == 0)
		return 0;
	return yaml_refuse(value, child_field, reader->error, "'%s' is not a list of ids",
			   value->kind == YAML_TEXT
				   ? format_show(value->text, value->len, shown, sizeof(shown))
				   : yaml_kind_name(value->kind));
}

static int want_word(const struct state_reader *reader, const struct yaml_value *map,
		     const char *field, const char *key, const char *const *words,
		     unsigned int nr_words, unsigned int *ret_word)
{
	const struct yaml_value *value;
	char child_field[FORMAT_FIELD_MAX];
	int err = want(reader, map, field, key, &value);

	return err ? err
		   : yaml_read_word(value, format_member(child_field, field, key), reader->error,
				    words, nr_words, ret_word);
}

static int want_resources(const struct state_reader *reader, const struct yaml_value *map,
			  const char *field, const char *key, struct resources *ret_resources)
{
	struct resources resources = RESOURCES_UNSET;
	const struct yaml_value *value;
	char child_field[FORMAT_FIELD_MAX];
	int err = want(reader, map, field, key, &value);

	if (!err)
		err = resources_read_list(value, format_member(child_field, field, key), NULL,
					  reader->error, &resources);
	if (!err)
		*ret_resources = resources;
	return err;
}

/* Letters, digits, "-" and ".": what the sources let through, and no path. */
static int want_name(const struct state_reader *reader, const struct yaml_value *map,
		     const char *field, const char *key, char *ret_name, size_t size)
{
	char child_field[FORMAT_FIELD_MAX];
	int err = want_text(reader, map, field, key, ret_name, size);

	if (err)
		return err;
	if (*ret_name && *ret_name != '.' && *ret_name != '-' &&
	    strspn(ret_name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
		    strlen(ret_name))
		return 0;
	return yaml_refuse(map, format_member(child_field, field, key), reader->error,
			   "invalid name");
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
static int read_baseline(const struct state_reader *reader, const struct yaml_value *map,
			 const char *field, const char *key, const struct cpuset *cpus,
			 struct cpuset *ret_baseline)
{
	int err;

	if (!yaml_get(map, key))
		return 0;
	err = want_set(reader, map, field, key, ret_baseline);
	if (err || cpuset_is_subset(ret_baseline, cpus))
		return err;
	return yaml_refuse(map, field, reader->error, "%s is not a part of the CPUs", key);
}

static int read_grant(struct state_reader *reader, const struct yaml_value *map, const char *field,
		      struct state_pod *pod, struct grant *grant)
{
	const char *const words[] = {isolation_name(ISOLATION_HOST), isolation_name(ISOLATION_POD),
				     isolation_name(ISOLATION_CONTAINER)};
	struct cpuset mems = CPUSET_EMPTY;
	unsigned int word;
	int err = want_word(reader, map, field, "isolation", words, ARRAY_SIZE(words), &word);

	_Static_assert(ISOLATION_NR == 3, "a word for each isolation");
	if (!err)
		err = want_set(reader, map, field, "cpus", ledger_pod_edit(&pod->pod, grant->cpus));
	if (!err)
		err = read_baseline(reader, map, field, "baseline", grant->cpus,
				    ledger_pod_edit(&pod->pod, grant->baseline));
	if (!err)
		err = want_set(reader, map, field, "mems", &mems);
	if (err)
		return err;
	grant->isolation = word;
	if ((grant->isolation == ISOLATION_HOST) != cpuset_is_empty(grant->cpus))
		return yaml_refuse(map, field, reader->error,
				   "isolation '%s' contradicts the CPU list", words[word]);
	if (!cpuset_is_subset(&mems, &reader->nodes))
		return yaml_refuse(map, field, reader->error,
				   "mems names a NUMA node that the file does not list");
	translate_mems(reader, &mems, pod, &grant->mems);
	return 0;
}

static int read_container(struct state_reader *reader, const struct yaml_value *map,
			  const char *field, struct state_pod *pod,
			  struct container_spec *container, struct grant *grant)
{
	const char *const words[] = {container_kind_name(CONTAINER_INIT),
				     container_kind_name(CONTAINER_SIDECAR),
				     container_kind_name(CONTAINER_APP)};
	unsigned int word;
	int err = want_name(reader, map, field, "name", container->name, sizeof(container->name));

	_Static_assert(CONTAINER_KIND_NR == 3, "a word for each kind");
	if (!err)
		err = want_word(reader, map, field, "kind", words, ARRAY_SIZE(words), &word);
	if (!err)
		err = want_resources(reader, map, field, "requests", &container->request);
	if (!err)
		err = want_resources(reader, map, field, "limits", &container->limit);
	if (!err)
		err = read_grant(reader, map, field, pod, grant);
	if (err)
		return err;
	container->kind = word;
	grant->kind = word;
	memcpy(grant->container, container->name, sizeof(grant->container));
	return 0;
}

static int check_unique(const struct state_reader *reader, const struct yaml_value *list,
			const char *field, const struct pod_spec *spec)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(spec->containers[i].name, spec->containers[j].name) == 0)
				return yaml_refuse(list, field, reader->error,
						   "two containers are named '%s'",
						   spec->containers[i].name);
	return 0;
}

static int read_containers(struct state_reader *reader, const struct yaml_value *map,
			   const char *field, struct state_pod *pod)
{
	struct pod_spec *spec = pod->pod.spec;
	const struct yaml_value *list;
	char list_field[FORMAT_FIELD_MAX], child_field[FORMAT_FIELD_MAX];
	uint32_t nr = 0;
	int err = want(reader, map, field, "containers", &list);

	format_member(list_field, field, "containers");
	if (!err)
		err = yaml_read_list(list, list_field, reader->error);
	if (err)
		return err;
	if (list->nr_children == 0 || list->nr_children > POD_MAX_CONTAINERS)
		return yaml_refuse(list, list_field, reader->error,
				   "%u containers; a pod has 1 to %d", list->nr_children,
				   POD_MAX_CONTAINERS);
	spec->containers = calloc(list->nr_children, sizeof(*spec->containers));
	pod->pod.grants = calloc(list->nr_children, sizeof(*pod->pod.grants));
	if (!spec->containers || !pod->pod.grants)
		return -ENOMEM;
	pod->pod.nr_grants = list->nr_children;
	if (ledger_pod_own_sets(&pod->pod))
		return -ENOMEM;
	yaml_for_each(child, list)
	{
		format_field(child_field, "%s[%u]", list_field, nr);
		err = read_container(reader, child, child_field, pod, &spec->containers[nr],
				     &pod->pod.grants[nr]);
		if (err)
			return err;
		nr++;
	}
	spec->nr_containers = nr;
	return check_unique(reader, list, list_field, spec);
}

/* --- pods ------------------------------------------------------------------------------------- */

static int read_names(const struct state_reader *reader, const struct yaml_value *map,
		      const char *field, struct state_pod *pod)
{
	const char *const words[] = {pod_state_name(POD_RUNNING), pod_state_name(POD_ENDING)};
	struct pod_spec *spec = pod->pod.spec;
	char detail[3 * sizeof(pod->pod.detail)];
	unsigned int word;
	int err = want_name(reader, map, field, "uid", spec->uid, sizeof(spec->uid));

	_Static_assert(POD_STATE_NR == 2, "a word for each state");
	if (!err)
		err = want_name(reader, map, field, "namespace", spec->namespace,
				sizeof(spec->namespace));
	if (!err)
		err = want_name(reader, map, field, "name", spec->name, sizeof(spec->name));
	if (!err)
		err = want_word(reader, map, field, "state", words, ARRAY_SIZE(words), &word);
	if (!err)
		err = want_text(reader, map, field, "detail", detail, sizeof(detail));
	if (err)
		return err;
	pod->pod.state = word;
	/* A byte that was no UTF-8 came back as three; what is told of a pod may be cut. */
	snprintf(pod->pod.detail, sizeof(pod->pod.detail), "%.*s", (int)sizeof(pod->pod.detail) - 1,
		 detail);
	return 0;
}

/* Only a runtime's pod has a class in the file. */
static int read_class(const struct state_reader *reader, const struct yaml_value *map,
		      const char *field, struct pod_spec *spec)
{
	const char *words[QOS_NR];
	unsigned int word;
	int err;

	if (!yaml_get(map, "runtime_class"))
		return 0;
	for (enum qos_class qos = 0; qos < QOS_NR; qos++)
		words[qos] = qos_class_name(qos);
	err = want_word(reader, map, field, "runtime_class", words, QOS_NR, &word);
	if (err)
		return err;
	spec->is_of_runtime = true;
	spec->stated_qos = word;
	return 0;
}

static int read_totals(const struct state_reader *reader, const struct yaml_value *map,
		       const char *field, struct state_pod *pod)
{
	const struct yaml_value *resources = yaml_get(map, "resources");
	struct pod_spec *spec = pod->pod.spec;
	char child_field[FORMAT_FIELD_MAX];
	int err = want_resources(reader, map, field, "overhead", &spec->overhead);

	spec->request = RESOURCES_UNSET;
	spec->limit = RESOURCES_UNSET;
	if (err || !resources)
		return err;
	spec->has_pod_resources = true;
	format_member(child_field, field, "resources");
	err = want_resources(reader, resources, child_field, "requests", &spec->request);
	if (!err)
		err = want_resources(reader, resources, child_field, "limits", &spec->limit);
	return err;
}

static int read_pod(struct state_reader *reader, const struct yaml_value *map, const char *field,
		    struct state_pod *pod)
{
	int err = yaml_read_map(map, field, reader->error);

	if (err)
		return err;
	pod->pod.spec = calloc(1, sizeof(*pod->pod.spec));
	if (!pod->pod.spec || ledger_pod_own_sets(&pod->pod))
		return -ENOMEM;
	pod->pod.has_bubble = yaml_get(map, "bubble") != NULL;
	err = read_names(reader, map, field, pod);
	if (!err)
		err = read_class(reader, map, field, pod->pod.spec);
	if (!err)
		err = read_totals(reader, map, field, pod);
	if (!err && pod->pod.has_bubble)
		err = want_set(reader, map, field, "bubble",
			       ledger_pod_edit(&pod->pod, pod->pod.bubble));
	if (!err)
		err = read_baseline(reader, map, field, "bubble_baseline", pod->pod.bubble,
				    ledger_pod_edit(&pod->pod, pod->pod.bubble_baseline));
	if (!err)
		err = want_set(reader, map, field, "held",
			       ledger_pod_edit(&pod->pod, pod->pod.held));
	if (!err)
		err = read_containers(reader, map, field, pod);
	if (!err)
		pod->pod.qos = pod_qos(pod->pod.spec);
	return err;
}

static int read_pods(struct state_reader *reader, const struct yaml_value *root)
{
	struct state *state = reader->state;
	const struct yaml_value *list;
	char field[FORMAT_FIELD_MAX];
	int err = want(reader, root, "", "pods", &list);

	if (!err)
		err = yaml_read_list(list, "pods", reader->error);
	if (err)
		return err;
	if (list->nr_children > STATE_MAX_PODS)
		return yaml_refuse(list, "pods", reader->error, "more than %d pods",
				   STATE_MAX_PODS);
	state->pods = calloc(list->nr_children + 1, sizeof(*state->pods));
	if (!state->pods)
		return -ENOMEM;
	yaml_for_each(child, list)
	{
		struct state_pod *pod = &state->pods[state->nr_pods];

		format_field(field, "pods[%u]", state->nr_pods);
		/* Counted first: a pod read in part is given back too. */
		state->nr_pods++;
		err = read_pod(reader, child, field, pod);
		if (err)
			return err;
		if (pod > state->pods && strcmp(pod[-1].pod.spec->uid, pod->pod.spec->uid) >= 0)
			return yaml_refuse(child, field, reader->error,
					   "uid '%s' is out of order or appears twice",
					   pod->pod.spec->uid);
	}
	return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int read_machine(struct state_reader *reader, const struct yaml_value *root)
{
	struct state *state = reader->state;
	int err = want_text(reader, root, "", "boot_id", state->boot_id, sizeof(state->boot_id));

	if (!err)
		err = want_set(reader, root, "", "cpus", &state->cpus);
	if (!err)
		err = want_set(reader, root, "", "nodes", &reader->nodes);
	if (!err && cpuset_count(&reader->nodes) > TOPOLOGY_MAX_NODES)
		err = yaml_refuse(root, "nodes", reader->error, "more than %d NUMA nodes",
				  TOPOLOGY_MAX_NODES);
	if (!err)
		err = want_set(reader, root, "", "reserved", &state->reserved);
	if (!err)
		err = want_set(reader, root, "", "shared_pool", &state->shared_pool);
	return err;
}

static int read_content(struct state_reader *reader, const struct yaml_value *root)
{
	const struct yaml_value *policy;
	int err = yaml_read_map(root, NULL, reader->error);

	if (!err)
		err = read_machine(reader, root);
	if (!err)
		err = want(reader, root, "", "policy", &policy);
	if (!err)
		err = config_read_policy(policy, "policy", reader->error, &reader->state->policy);
	if (!err)
		err = want_set(reader, root, "", "excluded", &reader->state->policy.excluded);
	return err ? err : read_pods(reader, root);
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
