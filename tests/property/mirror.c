// SPDX-License-Identifier: Apache-2.0
/*
 * The same ledger by other ways. What the agent would write and read back must
 * be an equal ledger, and `pinfold simulate` on files of this machine, policy
 * and state must decide on a pod as the ledger does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../tools/simulation.h"
#include "format/facts.h"
#include "format/manifest.h"
#include "format/resources.h"
#include "property.h"

#define BOOT_ID "01234567-89ab-cdef-0123-456789abcdef"

/* --- the state file --------------------------------------------------------------------------- */

static bool policies_equal(const struct policy *a, const struct policy *b)
{
	struct text text_a cleanup_text = {0};
	struct text text_b cleanup_text = {0};
	struct emitter emitter;

	emit_begin(&emitter, &text_a, EMIT_JSON);
	config_emit_policy(&emitter, "policy", a);
	emit_end(&emitter);
	emit_begin(&emitter, &text_b, EMIT_JSON);
	config_emit_policy(&emitter, "policy", b);
	emit_end(&emitter);
	return a->cpu == b->cpu && a->align == b->align && a->scope == b->scope &&
	       a->memory == b->memory && a->compatibility == b->compatibility &&
	       a->nr_memory_reservations == b->nr_memory_reservations &&
	       cpuset_equal(&a->excluded, &b->excluded) &&
	       cpuset_equal(&a->reserved_list, &b->reserved_list) &&
	       !memcmp(&a->cpu_options, &b->cpu_options, sizeof(a->cpu_options)) &&
	       !strcmp(text_a.data, text_b.data);
}

/* As the agent does at its start: one pod at a time, in the order of the file. */
static struct ledger *restore_all(struct stage *stage, const struct state *state)
{
	struct ledger *ledger cleanup_ledger = NULL;
	char error[256];

	if (ledger_new(stage->topology, &stage->policy, error, sizeof(error), &ledger)) {
		complain(stage, "recover: %s", error);
		return NULL;
	}
	for (uint32_t i = 0; i < state->nr_pods; i++) {
		const struct state_pod *pod = &state->pods[i];

		snprintf(error, sizeof(error), "%s", pod->problem);
		if (*error || ledger_restore(ledger, &pod->pod, error, sizeof(error))) {
			complain(stage, "recover: pod %s is not kept: %s", pod->pod.spec->uid,
				 error);
			return NULL;
		}
	}
	return TAKE_PTR(ledger);
}

struct ledger *mirror_recover(struct stage *stage)
{
	struct text text cleanup_text = {0};
	struct text again cleanup_text = {0};
	struct state *state cleanup_state = NULL;
	struct ledger *ledger cleanup_ledger = NULL;
	struct format_error error;

	stage->coverage->feature[FEATURE_MIRRORED]++;
	state_encode(stage->ledger, BOOT_ID, &text);
	if (text.error || state_decode(text.data, text.len, stage->topology, &error, &state)) {
		complain(stage, "recover: the state is not readable: %s",
			 text.error ? strerror(-text.error) : error.message);
		return NULL;
	}
	if (!policies_equal(&state->policy, &stage->policy))
		complain(stage, "recover: the state has another policy");
	ledger = restore_all(stage, state);
	if (!ledger)
		return NULL;
	if (ledger_digest(ledger) != ledger_digest(stage->ledger))
		complain(stage, "recover: the ledger that comes back is another one");
	state_encode(ledger, BOOT_ID, &again);
	if (again.error || again.len != text.len || memcmp(again.data, text.data, text.len) != 0)
		complain(stage, "recover: the ledger that comes back is written in other words");
	return TAKE_PTR(ledger);
}

/* --- files for simulate ----------------------------------------------------------------------- */

enum { FILE_TOPOLOGY, FILE_CONFIG, FILE_STATE, FILE_POD, FILE_NR };

static const char *const file_names[FILE_NR] = {"machine.json", "config.json", "state.json",
						"pod.json"};
static char directory[64];
static char files[FILE_NR][96];

/* In memory if possible, because the files are rewritten each time. */
static void make_directory(void)
{
	const char *base = getenv("TMPDIR");

	if (*directory)
		return;
	if (!base || strlen(base) > 30)
		base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(directory, sizeof(directory), "%.30s/pinfold-property-XXXXXX", base);
	if (!mkdtemp(directory)) {
		perror(directory);
		abort();
	}
	for (int i = 0; i < FILE_NR; i++)
		snprintf(files[i], sizeof(files[i]), "%s/%s", directory, file_names[i]);
}

void mirror_end(void)
{
	if (!*directory)
		return;
	for (int i = 0; i < FILE_NR; i++)
		unlink(files[i]);
	rmdir(directory);
	*directory = '\0';
}

static void write_file(const char *path, const struct text *text)
{
	FILE *file = text->error ? NULL : fopen(path, "we");

	if (!file || fwrite(text->data, 1, text->len, file) != text->len || fclose(file)) {
		perror(path);
		abort();
	}
}

static void write_resources(struct emitter *emitter, const struct resources *request,
			    const struct resources *limit)
{
	emit_map(emitter, "resources");
	resources_emit(emitter, "requests", request);
	resources_emit(emitter, "limits", limit);
	emit_close(emitter);
}

static void write_containers(struct emitter *emitter, const struct pod_spec *spec, bool init)
{
	emit_list(emitter, init ? "initContainers" : "containers");
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		const struct container_spec *container = &spec->containers[i];

		if ((container->kind != CONTAINER_APP) != init)
			continue;
		emit_map(emitter, NULL);
		emit_text(emitter, "name", container->name);
		if (container->kind == CONTAINER_SIDECAR)
			emit_text(emitter, "restartPolicy", "Always");
		write_resources(emitter, &container->request, &container->limit);
		emit_close(emitter);
	}
	emit_close(emitter);
}

static void write_manifest(const struct pod_spec *spec, bool has_ephemeral, struct text *text)
{
	struct emitter emitter;

	emit_begin(&emitter, text, EMIT_JSON);
	emit_text(&emitter, "apiVersion", "v1");
	emit_text(&emitter, "kind", "Pod");
	emit_map(&emitter, "metadata");
	emit_text(&emitter, "name", spec->name);
	emit_text(&emitter, "namespace", spec->namespace);
	emit_text(&emitter, "uid", spec->uid);
	emit_close(&emitter);
	emit_map(&emitter, "spec");
	if (spec->has_pod_resources)
		write_resources(&emitter, &spec->request, &spec->limit);
	resources_emit(&emitter, "overhead", &spec->overhead);
	write_containers(&emitter, spec, true);
	write_containers(&emitter, spec, false);
	if (has_ephemeral) {
		emit_list(&emitter, "ephemeralContainers");
		emit_map(&emitter, NULL);
		emit_text(&emitter, "name", "debugger");
		emit_close(&emitter);
		emit_close(&emitter);
	}
	emit_close(&emitter);
	emit_end(&emitter);
}

/* The reservations per node must add up to the total; there is no eviction threshold. */
static int64_t reserved_memory(const struct policy *policy)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < policy->nr_memory_reservations; i++)
		sum += (int64_t)policy->memory_reservations[i].bytes;
	return sum;
}

void mirror_config(const struct policy *policy, struct text *text)
{
	struct config *config cleanup_free = malloc(sizeof(*config));

	if (!config)
		abort();
	config_default(config);
	config->policy = *policy;
	config->kube_reserved.cpu_mcpu = policy->reserved_mcpu;
	config->kube_reserved.memory_bytes = reserved_memory(policy);
	config->eviction_memory.bytes = 0;
	config_render(config, EMIT_JSON, text);
}

static void write_files(const struct stage *stage, const struct pod_spec *spec, bool has_ephemeral)
{
	struct text topology cleanup_text = {0};
	struct text config cleanup_text = {0};
	struct text state cleanup_text = {0};
	struct text pod cleanup_text = {0};

	make_directory();
	facts_render(stage->topology, &topology);
	mirror_config(&stage->policy, &config);
	state_encode(stage->ledger, BOOT_ID, &state);
	write_manifest(spec, has_ephemeral, &pod);
	write_file(files[FILE_TOPOLOGY], &topology);
	write_file(files[FILE_CONFIG], &config);
	write_file(files[FILE_STATE], &state);
	write_file(files[FILE_POD], &pod);
}

/* --- simulate --------------------------------------------------------------------------------- */

/* It notes on stderr that ephemeral containers hold nothing, each time: kept aside in `notes`. */
static int set_notes_aside(int *ret_notes)
{
	int kept = dup(STDERR_FILENO), notes = memfd_create("notes", MFD_CLOEXEC);

	if (kept < 0 || notes < 0 || dup2(notes, STDERR_FILENO) < 0)
		abort();
	*ret_notes = notes;
	return kept;
}

static void restore_notes(int kept, int notes, bool are_shown)
{
	char text[512];
	ssize_t len;
	off_t at = 0;

	dup2(kept, STDERR_FILENO);
	close(kept);
	while (are_shown && (len = pread(notes, text, sizeof(text), at)) > 0) {
		fwrite(text, 1, len, stderr);
		at += len;
	}
	close(notes);
}

/* The output of simulate, or NULL with a complaint. */
static struct json_object *run_simulate(struct stage *stage, bool has_notes)
{
	struct session session = {
		.options = {.json = true,
			    .topology = files[FILE_TOPOLOGY],
			    .config = files[FILE_CONFIG],
			    .state = files[FILE_STATE]},
	};
	struct simulation simulation;
	struct json_object *json = NULL;
	int notes = -1, kept = has_notes ? set_notes_aside(&notes) : -1;
	int r = simulation_open(&session, &simulation);

	if (!r)
		r = simulation_pods(&simulation, files[FILE_POD], 1);
	if (!r)
		json = simulation_view(&simulation);
	if (!json)
		complain(stage, "simulate: %s",
			 session.result ? json_object_to_json_string(session.result) : "no memory");
	json_object_put(session.result);
	simulation_fini(&simulation);
	if (has_notes)
		restore_notes(kept, notes, !json);
	return json;
}

/* The values under the key must be equal; `changed` exists only in the simulation. */
static void compare_member(struct stage *stage, struct json_object *live,
			   struct json_object *simulated, const char *key)
{
	struct json_object *a = json_object_object_get(live, key);
	struct json_object *b = json_object_object_get(simulated, key);

	if (!a || !b || !json_object_equal(a, b))
		complain(stage, "simulate: '%s' is %.200s, live it is %.200s", key,
			 json_object_to_json_string_ext(b, JSON_C_TO_STRING_PLAIN),
			 json_object_to_json_string_ext(a, JSON_C_TO_STRING_PLAIN));
}

static struct json_object *view_live(const struct stage *stage, const struct pod_spec *spec,
				     const struct decision *decision)
{
	const struct refusal_row refusal = {
		.namespace = spec->namespace,
		.name = spec->name,
		.uid = spec->uid,
		.file = files[FILE_POD],
		.line = 1,
		.decision = decision,
	};
	const struct simulate_row row = {
		.topology = files[FILE_TOPOLOGY],
		.refusals = &refusal,
		.nr_refusals = decision->admitted ? 0 : 1,
	};

	return view_simulate(stage->ledger, &row);
}

bool mirror_simulate(struct stage *stage, const struct pod_spec *spec, bool has_ephemeral)
{
	static const char *const keys[] = {"topology",	  "cpus",     "cores",	   "uncores",
					   "numa_nodes",  "sockets",  "pods",	   "refusals",
					   "shared_pool", "reserved", "exclusive", "nodes"};
	struct json_object *live cleanup_json = NULL, *simulated cleanup_json = NULL;
	struct decision decision;

	/* Isolated CPUs are read from a live machine; a file does not have them. */
	if (cpuset_is_empty(&stage->policy.excluded)) {
		stage->coverage->feature[FEATURE_SIMULATED]++;
		write_files(stage, spec, has_ephemeral);
		stage->coverage->feature[FEATURE_EPHEMERAL] += has_ephemeral;
		simulated = run_simulate(stage, has_ephemeral);
		if (!simulated)
			return false;
	}
	if (admit_pod(stage->ledger, spec, &decision)) {
		complain(stage, "admission of pod %s is an error", spec->uid);
		return false;
	}
	if (simulated)
		live = view_live(stage, spec, &decision);
	for (size_t i = 0; simulated && i < ARRAY_SIZE(keys); i++)
		compare_member(stage, live, simulated, keys[i]);
	return decision.admitted;
}
