// SPDX-License-Identifier: Apache-2.0
/*
 * cpu_manager_state between bytes and structure.
 *
 * The kubelet's checksum is FNV-1a over a dump of its own Go object, so a file
 * is verified by making the same dump, type names included; CPU lists enter the
 * dump as they are written, pod sets as their members.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "core/go_text.h"
#include "kubelet/state_file.h"

static int compare_entries(const void *a, const void *b)
{
	const struct kubelet_entry *x = a, *y = b;
	int order = strcmp(x->pod, y->pod);

	return order ? order : strcmp(x->container, y->container);
}

void kubelet_entries_sort(struct kubelet_entries *entries)
{
	if (entries->nr)
		qsort(entries->entries, entries->nr, sizeof(*entries->entries), compare_entries);
}

int kubelet_entries_add(struct kubelet_entries *entries, const char *pod, const char *container,
			const char *list)
{
	struct kubelet_entry *grown, *entry;

	/* Grow at powers of two. */
	if ((entries->nr & (entries->nr - 1)) == 0) {
		grown = reallocarray(entries->entries, entries->nr ? 2 * (size_t)entries->nr : 1,
				     sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		entries->entries = grown;
	}
	entry = &entries->entries[entries->nr++];
	*entry = (struct kubelet_entry){strdup(pod), strdup(container), strdup(list), CPUSET_EMPTY};
	return entry->pod && entry->container && entry->list ? 0 : -ENOMEM;
}

static void entries_fini(struct kubelet_entries *entries)
{
	for (uint32_t i = 0; i < entries->nr; i++) {
		free(entries->entries[i].pod);
		free(entries->entries[i].container);
		free(entries->entries[i].list);
	}
	free(entries->entries);
	*entries = (struct kubelet_entries){0};
}

void kubelet_cpu_state_fini(struct kubelet_cpu_state *state)
{
	free(state->policy);
	free(state->default_list);
	entries_fini(&state->containers);
	entries_fini(&state->pods);
	*state = (struct kubelet_cpu_state){0};
}

/* --- the dump under the checksum -------------------------------------------------------------- */

static void dump_container_map(struct text *text, const struct kubelet_entries *entries)
{
	text_append(text, "map[");
	for (uint32_t i = 0; i < entries->nr; i++) {
		const struct kubelet_entry *entry = &entries->entries[i];
		bool first = i == 0 || strcmp(entry->pod, entry[-1].pod) != 0;

		if (first)
			text_printf(text, "%s%s:map[", i ? "] " : "", entry->pod);
		/* A pod without containers has one entry without a name. */
		if (entry->container[0])
			text_printf(text, "%s%s:%s", first ? "" : " ", entry->container,
				    entry->list);
	}
	text_append(text, entries->nr ? "]]" : "]");
}

static void dump_flat_map(struct text *text, const struct kubelet_entries *entries)
{
	text_append(text, "map[");
	for (uint32_t i = 0; i < entries->nr; i++)
		text_printf(text, "%s%s:%s", i ? " " : "", entries->entries[i].container,
			    entries->entries[i].list);
	text_append(text, "]");
}

static void dump_pod_map(struct text *text, const struct kubelet_entries *entries)
{
	text_append(text, "map[");
	for (uint32_t i = 0; i < entries->nr; i++) {
		const struct kubelet_entry *entry = &entries->entries[i];
		const char *separator = "";

		text_printf(text, "%s%s:{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[",
			    i ? " " : "", entry->pod);
		cpuset_for_each (cpu, &entry->cpus) {
			text_printf(text, "%s%u:{}", separator, cpu);
			separator = " ";
		}
		text_append(text, "]}}");
	}
	text_append(text, "]");
}

static int checksum_of(const struct kubelet_cpu_state *state, const char *type, uint32_t *ret_sum)
{
	struct text text cleanup_text = {0};
	char *dump cleanup_free = NULL;
	int r;

	text_printf(
		&text,
		"(*state.%s){PolicyName:(string)%s DefaultCPUSet:(string)%s Entries:(map[string]",
		type, state->policy, state->default_list);
	if (state->version == 1) {
		text_append(&text, "string)");
		dump_flat_map(&text, &state->containers);
	} else {
		text_append(&text, "map[string]string)");
		dump_container_map(&text, &state->containers);
	}
	if (state->version == 3) {
		text_append(&text, " PodEntries:(state.PodCPUAssignments)");
		dump_pod_map(&text, &state->pods);
	}
	text_append(&text, " Checksum:(checksum.Checksum)0}");
	r = text_take(&text, &dump);
	if (r < 0)
		return r;
	*ret_sum = kubelet_sum(KUBELET_SUM_START, dump);
	return 0;
}

static int add_entry(struct kubelet_reader *reader, struct kubelet_entries *entries,
		     const char *pod, const char *container, struct json_object *value)
{
	const char *list = kubelet_plain_string(value);

	if (!list)
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE,
				      "the CPU list of '%.40s' '%.40s' is not a string", pod,
				      container);
	if (entries->nr == KUBELET_STATE_MAX_ENTRIES)
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "more than %d entries",
				      KUBELET_STATE_MAX_ENTRIES);
	return kubelet_entries_add(entries, pod, container, list);
}

static int read_containers_of(struct kubelet_reader *reader, const char *pod,
			      struct json_object *containers, struct kubelet_entries *ret_entries)
{
	int r = kubelet_check_object(reader, containers, pod);

	if (r < 0)
		return r;
	if (!containers || json_object_object_length(containers) == 0)
		return add_entry(reader, ret_entries, pod, "", NULL);
	json_object_object_foreach (containers, name, list) {
		r = add_entry(reader, ret_entries, pod, name, list);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_containers(struct kubelet_reader *reader, struct json_object *root,
			   unsigned int version, struct kubelet_entries *ret_entries)
{
	struct json_object *entries = kubelet_member(root, "entries");
	int r = kubelet_check_object(reader, entries, "entries");

	if (r < 0 || !entries)
		return r;
	json_object_object_foreach (entries, key, value) {
		r = version == 1 ? add_entry(reader, ret_entries, "", key, value)
				 : read_containers_of(reader, key, value, ret_entries);
		if (r < 0)
			return r;
	}
	kubelet_entries_sort(ret_entries);
	return 0;
}

static int read_pods(struct kubelet_reader *reader, struct json_object *root,
		     struct kubelet_entries *ret_entries)
{
	struct json_object *pods = kubelet_member(root, "podEntries");
	int r = kubelet_check_object(reader, pods, "podEntries");

	if (r < 0 || !pods)
		return r;
	json_object_object_foreach (pods, pod, value) {
		const char *list;
		struct cpuset cpus;

		r = kubelet_check_object(reader, value, pod);
		if (r < 0)
			return r;
		/* Pod sets are parsed while decoding, so a bad one spoils the whole version. */
		list = kubelet_plain_string(kubelet_member(value, "cpuSet"));
		if (!list || go_parse_cpus(list, strlen(list), &cpus) < 0)
			return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE,
					      "pod '%.40s': '%.40s' is not a CPU list", pod,
					      list ? list : "(not a string)");
		r = add_entry(reader, ret_entries, pod, "", kubelet_member(value, "cpuSet"));
		if (r < 0)
			return r;
		ret_entries->entries[ret_entries->nr - 1].cpus = cpus;
	}
	kubelet_entries_sort(ret_entries);
	return 0;
}

static int check_sum(struct kubelet_reader *reader, struct json_object *root,
		     const struct kubelet_cpu_state *state)
{
	static const char *const types[] = {"CPUManagerCheckpoint", "CPUManagerCheckpointV2"};
	bool two_names = state->version == 2 && reader->kubelet->release != KUBELET_1_37;
	struct json_object *value = kubelet_member(root, "checksum");
	int64_t written = json_object_get_int64(value);
	uint32_t sum = 0;

	if (value && !json_object_is_type(value, json_type_int))
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "checksum is not a number");
	if (written == 0 && state->version < 3)
		return 0;
	/* To 1.36, version 2 counts under either name; the others under one. */
	for (unsigned int i = 0; i < (two_names ? 2 : 1); i++) {
		int r = checksum_of(
			state, state->version == 1 ? "CPUManagerCheckpointV1" : types[i], &sum);

		if (r < 0)
			return r;
		if (sum == written)
			return 0;
	}
	return kubelet_refuse_sum(reader, written);
}

static int read_content(struct kubelet_reader *reader, struct json_object *root,
			unsigned int version, struct kubelet_cpu_state *state)
{
	const char *policy = kubelet_plain_string(kubelet_member(root, "policyName"));
	const char *list = kubelet_plain_string(kubelet_member(root, "defaultCpuSet"));
	int r;

	if (!policy || !list)
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE,
				      "policyName or defaultCpuSet is not a string");
	state->version = version;
	state->policy = strdup(policy);
	state->default_list = strdup(list);
	if (!state->policy || !state->default_list)
		return -ENOMEM;
	r = read_containers(reader, root, version, &state->containers);
	if (r == 0 && version >= 3)
		r = read_pods(reader, root, &state->pods);
	return r;
}

static int read_version(struct kubelet_reader *reader, struct json_object *root,
			unsigned int version, struct kubelet_cpu_state *state)
{
	int r = read_content(reader, root, version, state);

	return r < 0 ? r : check_sum(reader, root, state);
}

/* The older version beside the text is for older kubelets, its checksum empty. */
static int read_v4(struct kubelet_reader *reader, struct json_object *root,
		   struct kubelet_cpu_state *state)
{
	static const char *const known[] = {"policyName", "defaultCpuSet", "entries", "podEntries",
					    NULL};
	struct json_object *inner = NULL;
	int r = kubelet_read_data(reader, root, "cpu manager", &inner);

	if (r < 0)
		return r;
	kubelet_note_unknown(reader, inner, known);
	r = read_content(reader, inner, 4, state);
	json_object_put(inner);
	return r == -EINVAL
		       ? kubelet_put_before(reader,
					    "failed to deserialize cpu manager checkpoint data")
		       : r;
}

/* Go decodes the whole file at once, so the types of the part that does not count matter. */
static int check_types(struct kubelet_reader *reader, struct json_object *root)
{
	struct kubelet_cpu_state unused cleanup_kubelet_cpu_state = {0};
	struct json_object *sum = kubelet_member(root, "checksum");
	int r = read_content(reader, root, 2, &unused);

	if (r == 0 && sum &&
	    (!json_object_is_type(sum, json_type_int) || json_object_get_int64(sum) < 0))
		r = kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "checksum is not a number");
	return r == -EINVAL
		       ? kubelet_put_before(reader, "failed to deserialize cpu manager checkpoint")
		       : r;
}

/* Version 4, and only if the file has nothing of it those that 1.36 wrote. */
static int read_as_1_37(struct kubelet_reader *reader, struct json_object *root,
			struct kubelet_cpu_state *state)
{
	int r = check_types(reader, root);

	if (r == 0)
		r = read_v4(reader, root, state);
	if (r == -EINVAL && kubelet_has_data(root))
		return kubelet_put_before(reader, "could not load v4 checkpoint");
	for (unsigned int version = 3; version >= 2 && r == -EINVAL; version--) {
		kubelet_cpu_state_fini(state);
		r = read_version(reader, root, version, state);
	}
	if (r == 0 && !reader->kubelet->pod_level)
		entries_fini(&state->pods);
	return r;
}

/* Entries of pods without containers were needed for the checksum only. */
static void drop_nameless(struct kubelet_entries *entries)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < entries->nr; i++) {
		struct kubelet_entry *entry = &entries->entries[i];

		if (entry->container[0]) {
			entries->entries[kept++] = *entry;
			continue;
		}
		free(entry->pod);
		free(entry->container);
		free(entry->list);
	}
	entries->nr = kept;
}

static int refuse_list(struct kubelet_reader *reader, const struct kubelet_entry *entry)
{
	if (reader->kubelet->release == KUBELET_1_37)
		return kubelet_refuse(reader, KUBELET_FAULT_CPUSET,
				      "could not parse cpuset \"%.40s\" for container \"%.40s\" in "
				      "pod \"%.40s\": not a CPU list",
				      entry->list, entry->container, entry->pod);
	return kubelet_refuse(reader, KUBELET_FAULT_CPUSET,
			      "pod '%.40s' container '%.40s': '%.40s' is not a CPU list",
			      entry->pod, entry->container, entry->list);
}

static int parse_lists(struct kubelet_reader *reader, struct kubelet_cpu_state *state)
{
	if (go_parse_cpus(state->default_list, strlen(state->default_list), &state->default_cpus) <
	    0)
		return kubelet_refuse(
			reader, KUBELET_FAULT_CPUSET,
			reader->kubelet->release == KUBELET_1_37
				? "could not parse default CPU set \"%.60s\": not a CPU "
				  "list"
				: "defaultCpuSet '%.60s' is not a CPU list",
			state->default_list);
	for (uint32_t i = 0; i < state->containers.nr; i++) {
		struct kubelet_entry *entry = &state->containers.entries[i];

		if (go_parse_cpus(entry->list, strlen(entry->list), &entry->cpus) < 0)
			return refuse_list(reader, entry);
	}
	return 0;
}

static int read_versions(struct kubelet_reader *reader, struct json_object *root, bool pod_level,
			 struct kubelet_cpu_state *state)
{
	char checksum_error[160] = "";
	int r = -EINVAL;

	/*
	 * The last version's fault is the one that is told, as in the kubelet; but the
	 * sentence about a checksum that is wrong says more than that it is not version 1.
	 */
	for (unsigned int version = pod_level ? 3 : 2; version >= 1 && r == -EINVAL; version--) {
		kubelet_cpu_state_fini(state);
		r = read_version(reader, root, version, state);
		if (r == -EINVAL && reader->fault == KUBELET_FAULT_CHECKSUM && !*checksum_error)
			snprintf(checksum_error, sizeof(checksum_error), "%s", reader->error);
	}
	if (r == -EINVAL && *checksum_error)
		snprintf(reader->error, reader->error_size, "%s", checksum_error);
	return r;
}

/*
 * The kubelet 1.36 decodes all versions into one object: where version 3 fails (by its
 * checksum, which may not be 0 there but may for version 2, or by a pod set that is
 * none) the pod sets which that attempt has read stay, up to the first that is none.
 */
static int keep_pods(struct kubelet_reader *reader, struct json_object *root,
		     struct kubelet_cpu_state *state)
{
	int r = read_pods(reader, root, &state->pods);

	if (r == -EINVAL && state->pods.nr == KUBELET_STATE_MAX_ENTRIES)
		return r;
	kubelet_entries_sort(&state->pods);
	return r == -EINVAL ? 0 : r;
}

/* As 1.36, which knows nothing of version 4. */
static int read_as_1_36(struct kubelet_reader *reader, struct json_object *root,
			struct kubelet_cpu_state *state)
{
	bool pod_level = reader->kubelet->pod_level;
	int r = read_versions(reader, root, pod_level, state);

	return r == 0 && pod_level && state->version < 3 ? keep_pods(reader, root, state) : r;
}

static int read_as_release(struct kubelet_reader *reader, struct json_object *root,
			   struct kubelet_cpu_state *state)
{
	enum kubelet_release release = reader->kubelet->release;

	if (release == KUBELET_1_37)
		return read_as_1_37(reader, root, state);
	if (release == KUBELET_ANY && kubelet_member(root, "data"))
		return read_v4(reader, root, state);
	return read_as_1_36(reader, root, state);
}

static int read_root(struct kubelet_reader *reader, struct json_object *root,
		     struct kubelet_cpu_state *state)
{
	static const char *const known[] = {"policyName",   "defaultCpuSet",
					    "entries",	    "podEntries",
					    "checksum",	    "data",
					    "dataChecksum", NULL};
	int r;

	kubelet_note_unknown(reader, root, known);
	r = read_as_release(reader, root, state);
	/* A checksum of 0, which only versions before 4 may have, vouches for nothing. */
	r = kubelet_judge_unknown(reader, r,
				  state->version == 4 ||
					  json_object_get_int64(kubelet_member(root, "checksum")),
				  "4");
	if (r < 0)
		return r;
	if (state->version == 1 && state->containers.nr)
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE,
				      "it has version 1, which names containers by their runtime "
				      "id; start kubelet 1.18 or later once to rewrite it with "
				      "pods and names");
	r = kubelet_check_policy(reader, "", state->policy);
	if (r < 0)
		return r;
	drop_nameless(&state->containers);
	return parse_lists(reader, state);
}

int kubelet_cpu_state_read(const char *data, size_t len, const struct kubelet *kubelet,
			   struct kubelet_cpu_state *ret_state, enum kubelet_fault *ret_fault,
			   char *error, size_t error_size)
{
	struct kubelet_cpu_state state cleanup_kubelet_cpu_state = {0};
	struct kubelet_reader reader = {
		.kubelet = kubelet, .error = error, .error_size = error_size};
	struct json_object *root = NULL;
	int r;

	r = kubelet_parse_json(&reader, data, len, &root);
	if (r == 0)
		r = read_root(&reader, root, &state);
	json_object_put(root);
	if (r < 0) {
		*ret_fault = reader.fault;
		return r;
	}
	/* If a later version was read, what an earlier one was refused for says nothing new. */
	snprintf(error, error_size, "%s", reader.warning);
	*ret_state = state;
	state = (struct kubelet_cpu_state){0};
	return 0;
}

static void append_containers(struct text *text, const struct kubelet_entries *entries)
{
	text_append(text, ",\"entries\":{");
	for (uint32_t i = 0; i < entries->nr; i++) {
		const struct kubelet_entry *entry = &entries->entries[i];
		bool first = i == 0 || strcmp(entry->pod, entry[-1].pod) != 0;

		if (first) {
			text_append(text, i ? "}," : "");
			kubelet_append_string(text, entry->pod);
			text_append(text, ":{");
		}
		if (!entry->container[0])
			continue;
		text_append(text, first ? "" : ",");
		kubelet_append_string(text, entry->container);
		text_append(text, ":");
		kubelet_append_string(text, entry->list);
	}
	text_append(text, "}}");
}

static void append_pods(struct text *text, const struct kubelet_entries *entries)
{
	text_append(text, ",\"podEntries\":{");
	for (uint32_t i = 0; i < entries->nr; i++) {
		text_append(text, i ? "," : "");
		kubelet_append_string(text, entries->entries[i].pod);
		text_append(text, ":{");
		if (entries->entries[i].list[0]) {
			text_append(text, "\"cpuSet\":");
			kubelet_append_string(text, entries->entries[i].list);
		}
		text_append(text, "}");
	}
	text_append(text, "}");
}

/* The object up to its checksum, without the closing brace. */
static void append_content(struct text *text, const struct kubelet_cpu_state *state, bool with_pods)
{
	text_append(text, "{\"policyName\":");
	kubelet_append_string(text, state->policy);
	text_append(text, ",\"defaultCpuSet\":");
	kubelet_append_string(text, state->default_list);
	if (state->containers.nr)
		append_containers(text, &state->containers);
	if (with_pods && state->pods.nr)
		append_pods(text, &state->pods);
}

static int append_v4(struct text *text, const struct kubelet_cpu_state *state, bool pod_level)
{
	struct text content cleanup_text = {0};
	char *data cleanup_free = NULL;
	int r;

	append_content(&content, state, pod_level);
	text_append(&content, "}");
	r = text_take(&content, &data);
	return r < 0 ? r : kubelet_append_data(text, data);
}

int kubelet_cpu_state_write(const struct kubelet_cpu_state *state, const struct kubelet *kubelet,
			    char **ret_text)
{
	bool is_v4 = kubelet->release == KUBELET_1_37, is_v3 = !is_v4 && kubelet->pod_level;
	struct text text cleanup_text = {0};
	struct kubelet_cpu_state versioned = *state;
	uint32_t sum;
	int r;

	versioned.version = is_v3 ? 3 : 2;
	r = checksum_of(&versioned, "CPUManagerCheckpoint", &sum);
	if (r < 0)
		return r;
	append_content(&text, state, is_v3);
	text_printf(&text, ",\"checksum\":%u", sum);
	if (is_v4)
		r = append_v4(&text, state, kubelet->pod_level);
	if (r < 0)
		return r;
	text_append(&text, "}");
	return text_take(&text, ret_text);
}
