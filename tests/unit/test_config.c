// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
/* The configuration: defaults, every field there and back, import, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "format/config.h"
#include "format/words.h"
#include "kubelet/config.h"
#include "lib/text.h"

#include "../lib/data.h"

static struct format_error error;

static void parse(const char *text, struct config *config)
{
	char sentence[FORMAT_ERROR_TEXT_MAX];

	if (config_parse(text, strlen(text), &error, config) < 0)
		fail_msg("%s", format_error_text(&error, NULL, sentence, sizeof(sentence)));
}

static char *render(const struct config *config, enum emit_style style)
{
	struct text text = {0};
	char *string = NULL;

	config_render(config, style, &text);
	assert_int_equal(text_take(&text, &string), 0);
	return string;
}

static void defaults(void **state)
{
	struct config config;

	config_default(&config);
	parse("", &config);
	parse("# nothing\n---\n", &config);
	assert_int_equal(config.mode, MODE_ALLOCATE);
	assert_int_equal(config.policy.cpu, CPU_POLICY_STATIC);
	assert_int_equal(config.enforcement.irq_masks, ENFORCEMENT_ENFORCE);
	assert_int_equal(config.enforcement.kubelet, KUBELET_REPORT);
	assert_int_equal(config.max_containers, 1024);
	assert_true(config.guard_expiry_ns == 0);
	assert_string_equal(config.sources.manifest_directory, PINFOLD_MANIFEST_DIR);
	assert_string_equal(config.metrics.listen, PINFOLD_METRICS_ADDRESS);
	assert_int_equal(config_host_tasks(&config), HOST_TASKS_FREE);
	parse("cpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}", &config);
	assert_int_equal(config_host_tasks(&config), HOST_TASKS_RESERVED);
	parse("hostTasks: free", &config);
	assert_int_equal(config_host_tasks(&config), HOST_TASKS_FREE);
}

static const char everything[] =
	"mode: guard\n"
	"cpuManagerPolicy: none\n"
	"cpuManagerPolicyOptions: {full-pcpus-only: 'true', align-by-socket: true,\n"
	"  distribute-cpus-across-numa: 'True', distribute-cpus-across-cores: 'false',\n"
	"  strict-cpu-reservation: '1', prefer-align-cpus-by-uncorecache: 't'}\n"
	"reservedSystemCPUs: 0,32,1,33,16,48\n"
	"kubeReserved: {cpu: 500m, memory: 1Gi, ephemeral-storage: 1Gi, pid: '100'}\n"
	"systemReserved: {cpu: 1, memory: 1500, hugepages-2Mi: 4Mi}\n"
	"evictionHard: {memory.available: 12.5%, nodefs.available: 10%}\n"
	"topologyManagerPolicy: single-numa-node\n"
	"topologyManagerScope: pod\n"
	"topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true',\n"
	"  max-allowable-numa-nodes: '16'}\n"
	"memoryManagerPolicy: Static\n"
	"reservedMemory:\n"
	"- {numaNode: 0, limits: {memory: 1Gi, hugepages-1Gi: 2Gi}}\n"
	"- {numaNode: 1, limits: {hugepages-2Mi: 64Mi}}\n"
	"featureGates: {PodLevelResourceManagers: false}\n"
	"compatibility: kubelet-1.36\n"
	"enforcement: {cpusetFiles: audit, affinity: off, cgroupMoves: audit, memoryMoves: audit,\n"
	"  priorities: off, debugging: enforce, strangers: off, irqMasks: audit,\n"
	"  debuggers: [/system.slice/gdb.service, /debug]}\n"
	"hostTasks: reserved\n"
	"partitions: isolated\n"
	"interrupts: steer\n"
	"runtimeWrites: deny\n"
	"runtimeRefusals: share\n"
	"guardExpiry: 1h30m\n"
	"maxContainers: 77\n"
	"sources: {manifestDirectory: '', kubepods: true, nri: /run/nri.sock}\n"
	"metrics: {listen: '[::1]:80', level: node, page: false}\n"
	"stateDirectory: /s\n"
	"runtimeDirectory: /r\n";

static void every_field(void **state)
{
	struct cpuset reserved;
	struct config config;
	const struct policy *policy = &config.policy;

	config_default(&config);
	parse(everything, &config);
	assert_int_equal(config.mode, MODE_GUARD);
	assert_int_equal(policy->cpu, CPU_POLICY_NONE);
	assert_true(policy->cpu_options.full_pcpus_only);
	assert_true(policy->cpu_options.align_by_socket);
	assert_true(policy->cpu_options.distribute_across_numa);
	assert_false(policy->cpu_options.distribute_across_cores);
	assert_true(policy->cpu_options.strict_reservation);
	assert_true(policy->cpu_options.prefer_uncore);
	assert_true(policy->has_reserved_list);
	assert_int_equal(cpuset_parse("0-1,16,32-33,48", 15, &reserved), 0);
	assert_true(cpuset_equal(&policy->reserved_list, &reserved));
	assert_int_equal(policy->reserved_mcpu, 1500);
	assert_int_equal(config.kube_reserved.memory_bytes, 1 << 30);
	assert_int_equal(config.system_reserved.nr_hugepages, 1);
	assert_int_equal(config.eviction_memory.percent_thousandths, 12500);
	assert_int_equal(policy->align, ALIGN_SINGLE_NUMA_NODE);
	assert_int_equal(policy->scope, ALIGN_SCOPE_POD);
	assert_true(policy->prefer_closest_nodes);
	assert_int_equal(policy->max_nodes, 16);
	assert_int_equal(policy->memory, MEMORY_POLICY_STATIC);
	assert_int_equal(policy->nr_memory_reservations, 3);
	assert_int_equal(policy->memory_reservations[0].size_bytes, 0);
	assert_int_equal(policy->memory_reservations[1].bytes, 2LL << 30);
	assert_int_equal(policy->memory_reservations[2].node_id, 1);
	assert_int_equal(policy->memory_reservations[2].size_bytes, 2 << 20);
	assert_false(policy->pod_level_managers);
	assert_int_equal(policy->compatibility, COMPATIBILITY_KUBELET_1_36);
	assert_int_equal(config.enforcement.guard[ASPECT_CPUSET_FILES], ENFORCEMENT_AUDIT);
	assert_int_equal(config.enforcement.guard[ASPECT_AFFINITY], ENFORCEMENT_OFF);
	assert_int_equal(config.enforcement.debuggers.nr, 2);
	assert_string_equal(config.enforcement.debuggers.paths[0], "/system.slice/gdb.service");
	assert_string_equal(config.enforcement.debuggers.paths[1], "/debug");
	assert_int_equal(config.host_tasks, HOST_TASKS_RESERVED);
	assert_int_equal(config.partitions, PARTITIONS_ISOLATED);
	assert_int_equal(config.interrupts, INTERRUPTS_STEER);
	assert_int_equal(config.runtime_writes, RUNTIME_WRITES_DENY);
	assert_int_equal(config.runtime_refusals, RUNTIME_REFUSALS_SHARE);
	assert_true(config.guard_expiry_ns == 5400 * 1000000000ULL);
	assert_int_equal(config.max_containers, 77);
	assert_string_equal(config.sources.manifest_directory, "");
	assert_true(config.sources.kubepods);
	assert_string_equal(config.sources.nri, "/run/nri.sock");
	assert_string_equal(config.metrics.listen, "[::1]:80");
	assert_int_equal(config.metrics.level, METRICS_NODE);
	assert_false(config.metrics.page);
	assert_string_equal(config.state_directory, "/s");
	assert_string_equal(config.runtime_directory, "/r");
}

/* Each aspect of the guard has its own option, with the name that messages use for it. */
static void each_aspect_has_its_option(void **state)
{
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++) {
		struct config config, expected;
		char text[80];

		config_default(&config);
		config_default(&expected);
		assert_int_not_equal(config.enforcement.guard[aspect], ENFORCEMENT_OFF);
		snprintf(text, sizeof(text), "enforcement: {%s: 'off'}\n", aspect_option(aspect));
		parse(text, &config);
		expected.enforcement.guard[aspect] = ENFORCEMENT_OFF;
		assert_memory_equal(&config.enforcement, &expected.enforcement,
				    sizeof(config.enforcement));
	}
}

/* Cgroups of others are written in one mode only, and only if the file asks for it. */
static void who_repairs_a_kubelets_containers(void **state)
{
	static const struct {
		const char *text;
		bool repairs, is_unbuilt;
	} files[] = {
		{"mode: guard\nenforcement: {kubelet: repair}", true, false},
		{"mode: guard\nenforcement: {kubelet: report}", false, true},
		{"mode: guard", false, true},
		{"mode: observe\nenforcement: {kubelet: repair}", false, false},
		{"mode: allocate\nenforcement: {kubelet: repair}", false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct config config, next;
		char field[FORMAT_FIELD_MAX];

		config_default(&config);
		parse(files[i].text, &config);
		assert_int_equal(config_repairs_kubelet(&config), files[i].repairs);
		assert_int_equal(config_unbuilt_mode(&config) != NULL, files[i].is_unbuilt);
		next = config;
		next.enforcement.kubelet = !config.enforcement.kubelet;
		assert_true(config_needs_restart(&config, &next, field));
		assert_string_equal(field, "enforcement.kubelet");
	}
}

static void rendering_reads_back(void **state)
{
	static const enum emit_style styles[] = {EMIT_YAML, EMIT_JSON, EMIT_JSON_PRETTY};
	struct config config, again;

	config_default(&config);
	parse(everything, &config);
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		char *text cleanup_free = render(&config, styles[i]);
		char *second cleanup_free = NULL;

		config_default(&again);
		parse(text, &again);
		second = render(&again, styles[i]);
		assert_string_equal(text, second);
		assert_memory_equal(&again.enforcement, &config.enforcement,
				    sizeof(config.enforcement));
		assert_true(again.guard_expiry_ns == config.guard_expiry_ns);
		assert_int_equal(again.policy.reserved_mcpu, config.policy.reserved_mcpu);
		assert_int_equal(again.policy.nr_memory_reservations, 3);
	}
}

/* Each line of the annotated example is the default, but for what it says itself. */
static void the_example_is_the_default(void **state)
{
	struct config config, expected;
	char *data cleanup_free = NULL, *rendered cleanup_free = NULL, *wanted cleanup_free = NULL;
	size_t len;

	data = data_read("docs/examples/config.yaml", &len);
	config_default(&config);
	parse(data, &config);
	config_default(&expected);
	parse("cpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}\n"
	      "reservedSystemCPUs: 0-1\n",
	      &expected);
	rendered = render(&config, EMIT_YAML);
	wanted = render(&expected, EMIT_YAML);
	assert_string_equal(rendered, wanted);
	/* and it shows every key there is */
	for (const char *line = wanted; *line; line = strchr(line, '\n') + 1) {
		char key[64];

		if (sscanf(line, " %63[A-Za-z]:", key) == 1)
			assert_non_null(strstr(data, key));
	}
}

static void kubelet_import(void **state)
{
	static const char kubelet[] =
		"apiVersion: kubelet.config.k8s.io/v1beta1\n"
		"kind: KubeletConfiguration\n"
		"cpuManagerPolicy: static\n"
		"cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\n"
		"reservedSystemCPUs: 0-3\n"
		"kubeReserved: {cpu: 1000m, pid: \"1000\"}\n"
		"featureGates: {NodeSwap: true, PodLevelResourceManagers: true}\n"
		"mode: observe\n"
		"metrics: {listen: nonsense}\n"
		"evictionHard: {memory.available: 100Mi}\n"
		"topologyManagerPolicy: restricted\n";
	struct config config;

	config_default(&config);
	assert_int_equal(kubelet_config_import(kubelet, strlen(kubelet), &error, &config), 0);
	assert_true(config.policy.cpu_options.full_pcpus_only);
	assert_int_equal(cpuset_count(&config.policy.reserved_list), 4);
	assert_int_equal(config.policy.reserved_mcpu, 1000);
	assert_int_equal(config.policy.align, ALIGN_RESTRICTED);
	/* what is not the kubelet's is not taken from its file */
	assert_int_equal(config.mode, MODE_ALLOCATE);
	assert_string_equal(config.metrics.listen, PINFOLD_METRICS_ADDRESS);
	/* its own fields are checked all the same */
	assert_int_equal(kubelet_config_import("cpuManagerPolicy: dynamic", 25, &error, &config),
			 -EINVAL);
	/* and our file may say otherwise afterwards */
	parse("topologyManagerPolicy: none", &config);
	assert_int_equal(config.policy.align, ALIGN_NONE);
	assert_int_equal(config.policy.reserved_mcpu, 1000);
}

/* Both files take what the kubelet takes, and only ours takes blanks. */
static void reserved_cpus_have_the_kubelets_form(void **state)
{
	static const char go[] = "reservedSystemCPUs: \"+1-03\"";
	static const char blank[] = "reservedSystemCPUs: \"0-1, 3\"";
	struct config config;

	(void)state;
	config_default(&config);
	parse(go, &config);
	assert_int_equal(cpuset_count(&config.policy.reserved_list), 3);
	parse(blank, &config);
	assert_int_equal(cpuset_count(&config.policy.reserved_list), 3);
	assert_true(cpuset_has(&config.policy.reserved_list, 0));
	assert_int_equal(kubelet_config_import(go, strlen(go), &error, &config), 0);
	assert_false(cpuset_has(&config.policy.reserved_list, 0));
	assert_int_equal(kubelet_config_import(blank, strlen(blank), &error, &config), -EINVAL);
}

/* A name missing on the list of the kubelet's fields would be ignored in silence. */
static void each_kubelet_field_is_read(void **state)
{
	static const char *const wrong[] = {
		"cpuManagerPolicy: 1",
		"cpuManagerPolicyOptions: {no-such-option: \"true\"}",
		"reservedSystemCPUs: x",
		"kubeReserved: {cpu: x}",
		"systemReserved: {cpu: x}",
		"evictionHard: {memory.available: x}",
		"topologyManagerPolicy: x",
		"topologyManagerScope: x",
		"topologyManagerPolicyOptions: {no-such-option: \"true\"}",
		"memoryManagerPolicy: x",
		"reservedMemory: [{numaNode: x}]",
		"featureGates: {PodLevelResourceManagers: x}",
	};
	struct config config;

	config_default(&config);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (kubelet_config_import(wrong[i], strlen(wrong[i]), &error, &config) != -EINVAL)
			fail_msg("'%s' is not read", wrong[i]);
}

static void failure_changes_nothing(void **state)
{
	struct config config, before;

	config_default(&config);
	memcpy(&before, &config, sizeof(before));
	assert_int_equal(config_parse("mode: guard\nmaxContainers: x\n", 29, &error, &config),
			 -EINVAL);
	assert_memory_equal(&config, &before, sizeof(config));
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"0", 0},
		    {"0s", 0},
		    {"90s", 90000000000ULL},
		    {"5m", 300000000000ULL},
		    {"1500ms", 1500000000ULL},
		    {"1h0m1s", 3601000000000ULL},
		    {"7us", 7000},
		    {"1ns", 1},
		    {"8760h", 8760 * 3600000000000ULL}};
	static const char *const bad[] = {
		"s", "5", "-1s", "1.5h", "8761h", "5 m", "1d", "99999999999999999999s", "1m2"};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		char text[64];
		char *rendered cleanup_free = NULL;
		struct config config, again;

		snprintf(text, sizeof(text), "guardExpiry: '%s'", good[i].text);
		config_default(&config);
		config.guard_expiry_ns = 42;
		parse(text, &config);
		assert_true(config.guard_expiry_ns == good[i].ns);
		rendered = render(&config, EMIT_YAML);
		config_default(&again);
		parse(rendered, &again);
		assert_true(again.guard_expiry_ns == good[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct config config;
		char text[64];

		snprintf(text, sizeof(text), "guardExpiry: '%s'", bad[i]);
		config_default(&config);
		assert_int_equal(config_parse(text, strlen(text), &error, &config), -EINVAL);
	}
}

static void listen_addresses(void **state)
{
	static const char *const good[] = {"", "0.0.0.0:1", "127.0.0.1:65535", "[::]:9417"};
	static const char *const bad[] = {
		"9417",	    ":9417",	 "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
		"::1:9417", "[::1:9417", "[]:1",       "1.2.3:5",     "127.0.0.1:+1"};
	struct config config;
	char text[64];

	config_default(&config);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(text, sizeof(text), "metrics: {listen: '%s'}", good[i]);
		parse(text, &config);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "metrics: {listen: '%s'}", bad[i]);
		if (config_parse(text, strlen(text), &error, &config) != -EINVAL)
			fail_msg("'%s' was taken for an address", bad[i]);
	}
}

/* "/a/a/…", so deep. */
static const char *deep_path(unsigned int depth)
{
	static char path[CONFIG_PATH_MAX];

	path[0] = '\0';
	while (depth--)
		strcat(path, "/a");
	return path;
}

/* The name of an actor has room for 63 bytes. */
static const char *long_path(size_t len)
{
	static char path[CONFIG_PATH_MAX];

	snprintf(path, sizeof(path), "/%0*d", (int)len, 0);
	return path;
}

static void debuggers_are_cgroups(void **state)
{
	const struct {
		const char *path, *cause; /* NULL = it is valid */
	} rows[] = {
		{"/debug.slice", NULL},
		{"/user.slice/user-0.slice/session-1.scope", NULL},
		{"/..a/b..", NULL},
		{deep_path(31), NULL},
		{long_path(63), NULL},
		{"debug.slice", "such as /system.slice/debug.service"},
		{"", "such as /system.slice/debug.service"},
		{"/", "such as /system.slice/debug.service"},
		{"/a/", "such as /system.slice/debug.service"},
		{"//a", "such as /system.slice/debug.service"},
		{"/a//b", "such as /system.slice/debug.service"},
		{"/a/./b", "such as /system.slice/debug.service"},
		{"/..", "such as /system.slice/debug.service"},
		{"/a/../b", "such as /system.slice/debug.service"},
		{"/" PINFOLD_WORKLOAD_ROOT, "each container could attach to all others"},
	};
	char text[CONFIG_PATH_MAX + 64], sentence[FORMAT_ERROR_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config config;
		int r;

		config_default(&config);
		snprintf(text, sizeof(text), "enforcement: {debuggers: ['%s']}", rows[i].path);
		r = config_parse(text, strlen(text), &error, &config);
		format_error_text(&error, NULL, sentence, sizeof(sentence));
		if (r != (rows[i].cause ? -EINVAL : 0))
			fail_msg("%s: %d, %s", rows[i].path, r, sentence);
		if (!rows[i].cause)
			assert_string_equal(config.enforcement.debuggers.paths[0], rows[i].path);
		else if (!strstr(sentence, rows[i].cause) ||
			 !strstr(sentence, "enforcement.debuggers[0]: invalid cgroup '"))
			fail_msg("%s: %s", rows[i].path, sentence);
	}
}

static void debuggers_have_limits(void **state)
{
	static const char *const causes[] = {
		"its name has more than 63 bytes; name a cgroup above it",
		"deeper than 31 levels; name a cgroup above it",
		"more than 16 cgroups; name one above several of them"};
	char texts[3][512] = {"", "", "enforcement: {debuggers: [/a"};
	char sentence[FORMAT_ERROR_TEXT_MAX];
	struct config config;

	snprintf(texts[0], sizeof(texts[0]), "enforcement: {debuggers: ['%s']}", long_path(64));
	snprintf(texts[1], sizeof(texts[1]), "enforcement: {debuggers: ['%s']}", deep_path(32));
	for (int i = 1; i < CONFIG_DEBUGGERS_MAX; i++)
		strcat(texts[2], ", /a");
	strcat(texts[2], ", /last]}");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		config_default(&config);
		assert_int_equal(config_parse(texts[i], strlen(texts[i]), &error, &config),
				 -EINVAL);
		format_error_text(&error, NULL, sentence, sizeof(sentence));
		if (!strstr(sentence, causes[i]))
			fail_msg("%s", sentence);
	}
	strcpy(strstr(texts[2], ", /last"), "]}");
	parse(texts[2], &config);
	assert_int_equal(config.enforcement.debuggers.nr, CONFIG_DEBUGGERS_MAX);
	/* A later list is not added to an earlier one. */
	parse("enforcement: {debuggers: [/b]}", &config);
	assert_int_equal(config.enforcement.debuggers.nr, 1);
	assert_string_equal(config.enforcement.debuggers.paths[0], "/b");
	assert_string_equal(config.enforcement.debuggers.paths[1], "");
}

static void policy_alone(void **state)
{
	struct yaml_tree *tree cleanup_yaml = NULL;
	struct text text cleanup_text = {0};
	struct emitter emitter;
	struct config config;
	struct policy policy;

	config_default(&config);
	parse(everything, &config);
	emit_begin(&emitter, &text, EMIT_JSON);
	config_emit_policy(&emitter, "policy", &config.policy);
	emit_end(&emitter);
	assert_null(strstr(text.data, "guardExpiry"));
	assert_int_equal(yaml_parse_one(text.data, text.len, &YAML_LIMITS, &error, &tree), 0);
	assert_int_equal(
		config_read_policy(yaml_get(tree->root, "policy"), "policy", &error, &policy), 0);
	assert_memory_equal(&policy.cpu_options, &config.policy.cpu_options,
			    sizeof(policy.cpu_options));
	assert_true(cpuset_equal(&policy.reserved_list, &config.policy.reserved_list));
	assert_int_equal(policy.reserved_mcpu, 1500);
	assert_int_equal(policy.compatibility, COMPATIBILITY_KUBELET_1_36);
	assert_int_equal(policy.memory, MEMORY_POLICY_STATIC);
	assert_false(policy.pod_level_managers);
}

static void every_word_has_a_name(void **state)
{
	for (int i = 0; i < MODE_NR; i++)
		assert_non_null(run_mode_name(i));
	for (int i = 0; i < HOST_TASKS_NR; i++)
		assert_non_null(host_tasks_name(i));
	for (int i = 0; i < METRICS_LEVEL_NR; i++)
		assert_non_null(metrics_level_name(i));
	assert_string_equal(enforcement_name(ENFORCEMENT_ENFORCE), "enforce");
	assert_string_equal(partitions_name(PARTITIONS_OFF), "off");
	assert_string_equal(interrupts_name(INTERRUPTS_STEER), "steer");
	assert_string_equal(runtime_writes_name(RUNTIME_WRITES_DENY), "deny");
	assert_string_equal(runtime_refusals_name(RUNTIME_REFUSALS_SHARE), "share");
}

static void parse_over_default(const char *text, struct config *ret_config)
{
	config_default(ret_config);
	assert_int_equal(config_parse(text, strlen(text), &error, ret_config), 0);
}

static void says_what_a_reload_cannot_change(void **state)
{
	static const struct {
		const char *text, *field;
	} rows[] = {
		{"", ""},
		{"topologyManagerPolicy: restricted\nmetrics: {level: node, page: false}\n", ""},
		{"enforcement: {affinity: audit}\nguardExpiry: 1h\n", ""},
		{"enforcement: {debuggers: [/a]}\n", ""},
		{"mode: observe\n", "mode"},
		{"maxContainers: 7\n", "maxContainers"},
		{"metrics: {listen: '127.0.0.1:1'}\n", "metrics.listen"},
		{"sources: {manifestDirectory: /elsewhere}\n", "sources.manifestDirectory"},
		{"stateDirectory: /elsewhere\n", "stateDirectory"},
		{"runtimeDirectory: /elsewhere\n", "runtimeDirectory"},
		{"runtimeDirectory: /elsewhere\nmode: observe\n", "mode"},
	};
	struct config now, next;
	char field[FORMAT_FIELD_MAX];

	config_default(&now);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		parse_over_default(rows[i].text, &next);
		assert_int_equal(config_needs_restart(&now, &next, field), *rows[i].field != 0);
		assert_string_equal(field, rows[i].field);
		assert_int_equal(config_needs_restart(&next, &now, field), *rows[i].field != 0);
	}
}

static void check_bad(const char *path, const char *data, size_t len, const char *expected)
{
	char sentence[FORMAT_ERROR_TEXT_MAX] = "accepted";
	struct config config;

	config_default(&config);
	if (config_parse(data, len, &error, &config) < 0)
		format_error_text(&error, NULL, sentence, sizeof(sentence));
	if (strcmp(sentence, expected) != 0)
		fail_msg("%s: got '%s', expected '%s'", path, sentence, expected);
}

static void bad_files(void **state)
{
	data_for_each_bad("tests/data/bad/config", 24, check_bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(every_field),
		cmocka_unit_test(each_aspect_has_its_option),
		cmocka_unit_test(who_repairs_a_kubelets_containers),
		cmocka_unit_test(rendering_reads_back),
		cmocka_unit_test(the_example_is_the_default),
		cmocka_unit_test(kubelet_import),
		cmocka_unit_test(each_kubelet_field_is_read),
		cmocka_unit_test(reserved_cpus_have_the_kubelets_form),
		cmocka_unit_test(failure_changes_nothing),
		cmocka_unit_test(durations),
		cmocka_unit_test(listen_addresses),
		cmocka_unit_test(debuggers_are_cgroups),
		cmocka_unit_test(debuggers_have_limits),
		cmocka_unit_test(policy_alone),
		cmocka_unit_test(every_word_has_a_name),
		cmocka_unit_test(says_what_a_reload_cannot_change),
		cmocka_unit_test(bad_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
