// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/*
 * The state file: a ledger there and back, the frame, and damage of every kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/admit.h"
#include "format/facts.h"
#include "format/manifest.h"
#include "format/state.h"
#include "format/state_private.h"
#include "lib/text.h"

static const char pods[] =
	"apiVersion: v1\n"
	"kind: Pod\n"
	"metadata: {name: whole, uid: u-1}\n"
	"spec:\n"
	"  overhead: {cpu: 100m}\n"
	"  initContainers:\n"
	"  - {name: setup, resources: {limits: {cpu: 2, memory: 1Mi}}}\n"
	"  - {name: side, restartPolicy: Always, resources: {limits: {cpu: 100m, memory: 1Mi}}}\n"
	"  containers:\n"
	"  - name: main\n"
	"    resources: {limits: {cpu: 3, memory: 1Gi, hugepages-2Mi: 4Mi}}\n"
	"---\n"
	"apiVersion: v1\n"
	"kind: Pod\n"
	"metadata: {name: burst, namespace: x, uid: u-2}\n"
	"spec: {containers: [{name: web, resources: {requests: {cpu: 250m}, limits: {cpu: 1}}}]}\n"
	"---\n"
	"apiVersion: v1\n"
	"kind: Pod\n"
	"metadata: {name: bubble, uid: u-3}\n"
	"spec:\n"
	"  resources: {limits: {cpu: 4, memory: 1Gi}}\n"
	"  containers:\n"
	"  - {name: one, resources: {limits: {cpu: 2, memory: 1Mi}}}\n"
	"  - {name: rest}\n";

struct fixture {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	char *text;
	size_t len;
};

static struct format_error error;

static struct topology *make_topology(void)
{
	static const char facts[] =
		"{cpus: [[0,0,0,0,0],[1,0,0,0,0],[2,2,0,0,0],[3,2,0,0,0],[4,4,0,0,0],[5,4,0,0,0],"
		"[6,6,1,2,1],[7,6,1,2,1],[8,8,1,2,1],[9,8,1,2,1],[10,10,1,2,1],[11,10,1,2,1]],"
		" nodes: [{id: 0, memory: 8Gi}, {id: 2, memory: 8Gi}]}";
	struct topology *topology = NULL;

	assert_int_equal(facts_parse(facts, sizeof(facts) - 1, &error, &topology), 0);
	return topology;
}

static void admit_all(struct fixture *fixture)
{
	struct manifest manifest cleanup_manifest = {0};

	assert_int_equal(manifest_parse(pods, sizeof(pods) - 1, &manifest), 0);
	assert_int_equal(manifest.nr_documents, 3);
	for (uint32_t i = 0; i < manifest.nr_documents; i++) {
		struct decision decision;

		assert_non_null(manifest.documents[i].spec);
		assert_int_equal(admit_pod(fixture->ledger, manifest.documents[i].spec, &decision),
				 0);
		if (!decision.admitted)
			fail_msg("%s: %s", manifest.documents[i].name, decision.message);
	}
	assert_int_equal(ledger_set_state(fixture->ledger, "u-2", POD_ENDING, "its \"file\" left"),
			 0);
}

static void encode(struct fixture *fixture)
{
	struct text text = {0};

	state_encode(fixture->ledger, "01234567-89ab-cdef-0123-456789abcdef", &text);
	fixture->len = text.len;
	assert_int_equal(text_take(&text, &fixture->text), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char sentence[256];

	assert_non_null(fixture);
	fixture->topology = make_topology();
	fixture->policy = policy_default();
	fixture->policy.scope = ALIGN_SCOPE_POD;
	fixture->policy.align = ALIGN_BEST_EFFORT;
	fixture->policy.cpu_options.strict_reservation = true;
	fixture->policy.reserved_mcpu = 500;
	cpuset_add(&fixture->policy.excluded, 11);
	if (ledger_new(fixture->topology, &fixture->policy, sentence, sizeof(sentence),
		       &fixture->ledger) < 0)
		fail_msg("%s", sentence);
	admit_all(fixture);
	encode(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	ledger_free(fixture->ledger);
	topology_free(fixture->topology);
	free(fixture->text);
	free(fixture);
	return 0;
}

static struct state *decode(const char *text, size_t len, const struct topology *topology)
{
	char sentence[FORMAT_ERROR_TEXT_MAX];
	struct state *decoded = NULL;

	if (state_decode(text, len, topology, &error, &decoded) < 0)
		fail_msg("%s", format_error_text(&error, NULL, sentence, sizeof(sentence)));
	return decoded;
}

static void every_field_of(struct fixture *fixture, uint32_t nr_pods)
{
	struct state *decoded cleanup_state =
		decode(fixture->text, fixture->len, fixture->topology);

	assert_string_equal(decoded->boot_id, "01234567-89ab-cdef-0123-456789abcdef");
	assert_true(cpuset_equal(&decoded->cpus, &fixture->topology->all));
	assert_true(cpuset_equal(&decoded->reserved, ledger_reserved(fixture->ledger)));
	assert_true(cpuset_equal(&decoded->shared_pool, ledger_shared_pool(fixture->ledger)));
	assert_true(decoded->policy.cpu_options.strict_reservation);
	assert_int_equal(decoded->policy.scope, ALIGN_SCOPE_POD);
	assert_int_equal(decoded->policy.reserved_mcpu, 500);
	assert_true(cpuset_equal(&decoded->policy.excluded, &fixture->policy.excluded));
	assert_int_equal(decoded->nr_pods, nr_pods);
	for (uint32_t i = 0; i < decoded->nr_pods; i++) {
		const struct ledger_pod *is = &decoded->pods[i].pod;
		const struct ledger_pod *was = ledger_pod_at(fixture->ledger, i);

		assert_string_equal(decoded->pods[i].problem, "");
		assert_true(pod_spec_equal(is->spec, was->spec));
		assert_int_equal(is->qos, was->qos);
		assert_int_equal(is->state, was->state);
		assert_string_equal(is->detail, was->detail);
		assert_int_equal(is->has_bubble, was->has_bubble);
		assert_true(cpuset_equal(is->bubble, was->bubble));
		assert_true(cpuset_equal(is->held, was->held));
		assert_int_equal(is->nr_grants, was->nr_grants);
		for (uint32_t j = 0; j < is->nr_grants; j++) {
			assert_string_equal(is->grants[j].container, was->grants[j].container);
			assert_int_equal(is->grants[j].kind, was->grants[j].kind);
			assert_int_equal(is->grants[j].isolation, was->grants[j].isolation);
			assert_true(cpuset_equal(is->grants[j].cpus, was->grants[j].cpus));
			/* Written only if it differs from the CPUs. */
			assert_true(cpuset_is_empty(is->grants[j].baseline));
			assert_true(is->grants[j].mems == was->grants[j].mems);
		}
	}
}

static void every_field_comes_back(void **state)
{
	every_field_of(*state, 3);
}

/* The whole circle: what a new ledger makes of the file writes the same file. */
static void a_new_ledger_writes_the_same(void **state)
{
	struct fixture *fixture = *state;
	struct state *decoded cleanup_state =
		decode(fixture->text, fixture->len, fixture->topology);
	struct ledger *ledger cleanup_ledger = NULL;
	struct text text cleanup_text = {0};
	char sentence[256];

	assert_int_equal(ledger_new(fixture->topology, &fixture->policy, sentence, sizeof(sentence),
				    &ledger),
			 0);
	for (uint32_t i = 0; i < decoded->nr_pods; i++)
		if (ledger_restore(ledger, &decoded->pods[i].pod, sentence, sizeof(sentence)) < 0)
			fail_msg("%s", sentence);
	state_encode(ledger, decoded->boot_id, &text);
	assert_string_equal(text.data, fixture->text);
}

/* Its class is in the file, because it does not follow from its containers. */
static void a_runtimes_pod_comes_back(void **state)
{
	struct fixture *fixture = *state;
	struct ledger_pod pod = *ledger_find(fixture->ledger, "u-2");
	struct pod_spec spec = *pod.spec;
	char sentence[256];

	assert_int_equal(state_version(fixture->ledger), 1);
	spec.is_of_runtime = true;
	spec.stated_qos = QOS_GUARANTEED;
	snprintf(spec.uid, sizeof(spec.uid), "u-9");
	pod.spec = &spec;
	assert_int_equal(ledger_restore(fixture->ledger, &pod, sentence, sizeof(sentence)), 0);
	assert_int_equal(state_version(fixture->ledger), 2);
	free(fixture->text);
	encode(fixture);
	every_field_of(fixture, 4);
}

static int try_decode(const char *text, size_t len)
{
	struct state *decoded cleanup_state = NULL;
	struct topology *topology cleanup_topology = make_topology();
	int err;

	memset(&error, 0, sizeof(error));
	err = state_decode(text, len, topology, &error, &decoded);
	assert_true((err == 0) == (decoded != NULL));
	return err;
}

static void every_truncation_is_damage(void **state)
{
	struct fixture *fixture = *state;

	for (size_t len = 0; len < fixture->len; len++) {
		assert_int_equal(try_decode(fixture->text, len), -EBADMSG);
		assert_true(*error.message);
	}
}

static void every_flipped_byte_is_damage(void **state)
{
	struct fixture *fixture = *state;
	/* A flip of the version's digit may well be another version. */
	const size_t version = strlen(STATE_HEAD);

	for (size_t i = 0; i < fixture->len; i++) {
		fixture->text[i] ^= 1 << (i % 8);
		if (i != version)
			assert_int_equal(try_decode(fixture->text, fixture->len), -EBADMSG);
		fixture->text[i] ^= 1 << (i % 8);
	}
	assert_int_equal(try_decode(fixture->text, fixture->len), 0);
}

static void newer_is_not_damage(void **state)
{
	static const char newer[] = "{\"version\":3,\"anything\":";

	assert_int_equal(try_decode(newer, sizeof(newer) - 1), -EPROTONOSUPPORT);
	assert_non_null(strstr(error.message, "newer pinfold"));
	assert_int_equal(try_decode("{\"version\":0,", 13), -EBADMSG);
	assert_int_equal(try_decode("{}", 2), -EBADMSG);
	assert_int_equal(try_decode("", 0), -EBADMSG);
	assert_string_equal(error.message, "the file is empty");
}

/* A content of our own making, in a right frame. */
static int try_content(const char *content)
{
	struct text text cleanup_text = {0};

	text_printf(&text, STATE_HEAD "1" STATE_SUM "%016" PRIx64 STATE_CONTENT "%s" STATE_TAIL,
		    state_checksum(content, strlen(content)), content);
	return try_decode(text.data, text.len);
}

#define TOP                                                                     \
	"\"boot_id\":\"b\",\"cpus\":\"0-3\",\"nodes\":\"0\",\"reserved\":\"\"," \
	"\"shared_pool\":\"0-3\",\"policy\":{},\"excluded\":\"\""
#define POD(uid, state, containers)                                                  \
	"{\"uid\":\"" uid "\",\"namespace\":\"n\",\"name\":\"p\",\"state\":\"" state \
	"\",\"detail\":\"\",\"overhead\":{},\"held\":\"\",\"containers\":[" containers "]}"
#define CONTAINER(name, isolation, cpus, mems)                                         \
	"{\"name\":\"" name                                                            \
	"\",\"kind\":\"app\",\"requests\":{},\"limits\":{},\"isolation\":\"" isolation \
	"\",\"cpus\":\"" cpus "\",\"mems\":\"" mems "\"}"

static void right_frame_wrong_content(void **state)
{
	static const struct {
		const char *content, *field, *part;
	} cases[] = {
		{"[]", "", "expected a mapping"},
		{"{}", "boot_id", "missing"},
		{"{" TOP "}", "pods", "missing"},
		{"{" TOP ",\"pods\":{}}", "pods", "expected a list"},
		{"{" TOP ",\"pods\":[{}]}", "pods[0].uid", "missing"},
		{"{" TOP ",\"pods\":[" POD("../x", "running", "") "]}", "pods[0].uid",
		 "invalid name"},
		{"{" TOP ",\"pods\":[" POD("a", "asleep", "") "]}", "pods[0].state",
		 "expected one of running, ending"},
		{"{" TOP ",\"pods\":[" POD("a", "running", "") "]}", "pods[0].containers",
		 "0 containers"},
		{"{" TOP ",\"pods\":[" POD("a", "running", CONTAINER("c", "host", "1", "")) "]}",
		 "pods[0].containers[0]", "contradicts the CPU list"},
		{"{" TOP
		 ",\"pods\":[" POD("a", "running", CONTAINER("c", "container", "", "")) "]}",
		 "pods[0].containers[0]", "contradicts the CPU list"},
		{"{" TOP ",\"pods\":[" POD("a", "running", CONTAINER("c", "own", "1", "")) "]}",
		 "pods[0].containers[0].isolation", "expected one of"},
		{"{" TOP ",\"pods\":[" POD("a", "running", CONTAINER("c", "pod", "1-", "")) "]}",
		 "pods[0].containers[0].cpus", "not a list of ids"},
		{"{" TOP ",\"pods\":[" POD("a", "running", CONTAINER("c", "pod", "1", "3")) "]}",
		 "pods[0].containers[0]", "does not list"},
		{"{" TOP ",\"pods\":[" POD("a", "running",
					   CONTAINER("c", "pod", "1",
						     "") "," CONTAINER("c", "host", "", "")) "]}",
		 "pods[0].containers", "two containers are named 'c'"},
		{"{" TOP ",\"pods\":[" POD("b", "running", CONTAINER("c", "host", "", "")) "," POD(
			 "a", "running", CONTAINER("c", "host", "", "")) "]}",
		 "pods[1]", "out of order"},
	};

	assert_int_equal(try_content("{" TOP ",\"pods\":[]}"), 0);
	assert_int_equal(try_content("{" TOP ",\"pods\":[" POD(
				 "a", "running", CONTAINER("c", "pod", "1", "0")) "]}"),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(try_content(cases[i].content), -EBADMSG);
		assert_string_equal(error.field, cases[i].field);
		if (!strstr(error.message, cases[i].part))
			fail_msg("'%s' is not in '%s'", cases[i].part, error.message);
		assert_int_equal(error.line, 2);
	}
}

static void memory_nodes_are_kept_by_id(void **state)
{
	static const char content[] =
		"{\"boot_id\":\"\",\"cpus\":\"0-3\",\"nodes\":\"1-2\",\"reserved\":\"\","
		"\"shared_pool\":\"0-3\",\"policy\":{},\"excluded\":\"\",\"pods\":[" POD(
			"a", "running",
			CONTAINER("c", "pod", "1", "2")) "," POD("b", "running",
								 CONTAINER("c", "pod", "2",
									   "1-2")) "]}";
	struct topology *topology cleanup_topology = make_topology();
	struct state *here cleanup_state = NULL, *apart cleanup_state = NULL;
	struct text text cleanup_text = {0};

	text_printf(&text, STATE_HEAD "1" STATE_SUM "%016" PRIx64 STATE_CONTENT "%s" STATE_TAIL,
		    state_checksum(content, strlen(content)), content);
	/* This machine has nodes 0 and 2: node 2 is its second one, node 1 is gone. */
	here = decode(text.data, text.len, topology);
	assert_true(here->pods[0].pod.grants[0].mems == 2);
	assert_string_equal(here->pods[0].problem, "");
	assert_true(here->pods[1].pod.grants[0].mems == 2);
	assert_string_equal(here->pods[1].problem, "NUMA node 1 no longer exists");
	/* Without a machine the order is the file's. */
	apart = decode(text.data, text.len, NULL);
	assert_true(apart->pods[0].pod.grants[0].mems == 2);
	assert_true(apart->pods[1].pod.grants[0].mems == 3);
}

/* A file name of any bytes may stand in a pod's detail; the file must stay readable. */
static void a_detail_of_any_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct state *decoded cleanup_state = NULL;
	char detail[160];

	memset(detail, 0xff, sizeof(detail) - 1);
	detail[sizeof(detail) - 1] = '\0';
	assert_int_equal(ledger_set_state(fixture->ledger, "u-1", POD_ENDING, detail), 0);
	free(fixture->text);
	encode(fixture);
	decoded = decode(fixture->text, fixture->len, fixture->topology);
	assert_int_equal(strncmp(decoded->pods[0].pod.detail, "\xef\xbf\xbd\xef", 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_field_comes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_new_ledger_writes_the_same, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_runtimes_pod_comes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_truncation_is_damage, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_flipped_byte_is_damage, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_detail_of_any_bytes, set_up, tear_down),
		cmocka_unit_test(newer_is_not_damage),
		cmocka_unit_test(right_frame_wrong_content),
		cmocka_unit_test(memory_nodes_are_kept_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
