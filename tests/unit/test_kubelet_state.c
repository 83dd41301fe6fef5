// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
/* Checksums recorded from a kubelet, each fault, and what version 1 can still tell. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kubelet/cpu_state.h"

static char sentence[256]; /* of the last read: an error, a warning or nothing */

static enum kubelet_fault read_by(enum kubelet_release release, const char *text, bool pod_level,
				  struct kubelet_cpu_state *ret_state)
{
	const struct kubelet reader = {release, pod_level, "static"};
	enum kubelet_fault fault = KUBELET_FAULT_NONE;
	char error[256] = "";
	int r = kubelet_cpu_state_read(text, strlen(text), &reader, ret_state, &fault, error,
				       sizeof(error));

	assert_int_equal(r, fault == KUBELET_FAULT_NONE ? 0 : -EINVAL);
	if (fault != KUBELET_FAULT_NONE)
		assert_true(error[0] != '\0');
	snprintf(sentence, sizeof(sentence), "%s", error);
	return fault;
}

static enum kubelet_fault read_text(const char *text, bool pod_level,
				    struct kubelet_cpu_state *ret_state)
{
	return read_by(KUBELET_ANY, text, pod_level, ret_state);
}

static void recorded_checksums(void **state)
{
	static const struct {
		const char *text;
		bool pod_level;
	} cases[] = {
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":"
		 "{\"p\":{\"a\":\"4-5\"}},\"checksum\":2422712111}",
		 false},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":"
		 "{\"p\":{\"a\":\"4-5\"}},\"podEntries\":{\"a\":{},\"p\":{\"cpuSet\":\"4,6,12\"}},"
		 "\"checksum\":4058230429}",
		 true},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":1408856778}",
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};
		const struct kubelet writer = {KUBELET_1_36, cases[i].pod_level, "static"};
		char *text cleanup_free = NULL;

		assert_int_equal(read_text(cases[i].text, cases[i].pod_level, &got),
				 KUBELET_FAULT_NONE);
		assert_int_equal(got.version, cases[i].pod_level ? 3 : 2);
		assert_int_equal(cpuset_count(&got.default_cpus), 4);
		assert_int_equal(kubelet_cpu_state_write(&got, &writer, &text), 0);
		assert_string_equal(text, cases[i].text);
	}
}

/* As kubelet 1.37 writes it: the text counts, what stands beside it is for older ones. */
#define V4_BESIDE "\"policyName\":\"static\",\"defaultCpuSet\":\"0-9\",\"checksum\":0"
#define V4_DATA(more)                                                                            \
	"{\\\"policyName\\\":\\\"static\\\",\\\"defaultCpuSet\\\":\\\"0-3\\\",\\\"entries\\\":{" \
	"\\\"p\\\":{\\\"a\\\":\\\"4-5\\\"}},\\\"podEntries\\\":{\\\"p\\\":{\\\"cpuSet\\\":"      \
	"\\\"4-6\\\"}}" more "}"

/* FNV-1a of "(string)" and the text without its escapes. */
static uint32_t sum_of_data(const char *escaped)
{
	uint32_t sum = 2166136261U;

	for (const char *at = "(string)"; *at; at++)
		sum = (sum ^ (unsigned char)*at) * 16777619U;
	for (const char *at = escaped; *at; at++) {
		if (*at != '\\')
			sum = (sum ^ (unsigned char)*at) * 16777619U;
	}
	return sum;
}

static enum kubelet_fault read_v4(const char *escaped, uint32_t sum_change,
				  struct kubelet_cpu_state *ret_state)
{
	char text[1024];

	snprintf(text, sizeof(text), "{" V4_BESIDE ",\"data\":\"%s\",\"dataChecksum\":%u}", escaped,
		 sum_of_data(escaped) + sum_change);
	return read_text(text, false, ret_state);
}

static void version_4(void **state)
{
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

	assert_int_equal(read_v4(V4_DATA(""), 0, &got), KUBELET_FAULT_NONE);
	assert_int_equal(got.version, 4);
	assert_string_equal(got.default_list, "0-3");
	assert_int_equal(got.containers.nr, 1);
	assert_string_equal(got.containers.entries[0].list, "4-5");
	assert_int_equal(got.pods.nr, 1);
	assert_int_equal(cpuset_count(&got.pods.entries[0].cpus), 3);
	kubelet_cpu_state_fini(&got);
	/* a text that is damaged is not made up for by what stands beside it */
	assert_int_equal(read_v4(V4_DATA(""), 1, &got), KUBELET_FAULT_CHECKSUM);
	assert_int_equal(read_v4("[]", 0, &got), KUBELET_FAULT_UNREADABLE);
	/* what 1.38 may add is passed over by a kubelet that was downgraded, but not silently */
	assert_int_equal(read_v4(V4_DATA(",\\\"originals\\\":{}"), 0, &got), KUBELET_FAULT_NONE);
	assert_int_equal(got.version, 4);
	assert_string_equal(got.containers.entries[0].list, "4-5");
	assert_non_null(strstr(sentence, "ignoring 'originals'"));
	kubelet_cpu_state_fini(&got);
	assert_int_equal(read_v4(V4_DATA(",\\\"originals\\\":{}"), 1, &got),
			 KUBELET_FAULT_CHECKSUM);
	assert_int_equal(read_text("{" V4_BESIDE ",\"version\":5}", true, &got),
			 KUBELET_FAULT_VERSION);
}

static void faults(void **state)
{
	static const struct {
		const char *text;
		enum kubelet_fault fault;
	} cases[] = {
		{"", KUBELET_FAULT_UNREADABLE},
		{"[]", KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"static\"", KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":0} x",
		 KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":7,\"checksum\":0}", KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"static\",\"entries\":[],\"checksum\":0}",
		 KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"static\",\"checksum\":\"0\"}", KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":5}",
		 KUBELET_FAULT_CHECKSUM},
		{"{\"policyName\":\"none\",\"defaultCpuSet\":\"0-3\",\"checksum\":0}",
		 KUBELET_FAULT_POLICY},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-x\",\"checksum\":0}",
		 KUBELET_FAULT_CPUSET},
		{"{\"policyName\":\"static\",\"entries\":{\"p\":{\"a\":\"9-1\"}},\"checksum\":0}",
		 KUBELET_FAULT_CPUSET},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

		assert_int_equal(read_text(cases[i].text, false, &got), cases[i].fault);
		assert_null(got.policy);
	}
}

static void an_empty_file_is_called_empty(void **state)
{
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};
	enum kubelet_fault fault = KUBELET_FAULT_NONE;
	char error[256] = "";

	(void)state;
	assert_int_equal(kubelet_cpu_state_read("", 0, &(struct kubelet){.policy = "static"}, &got,
						&fault, error, sizeof(error)),
			 -EINVAL);
	assert_int_equal(fault, KUBELET_FAULT_UNREADABLE);
	assert_non_null(strstr(error, "the file is empty"));
}

/* The file of a newer kubelet that keeps the part for older ones true. */
#define DOWNGRADED(checksum)                                                                        \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{\"p\":{\"a\":\"4-5\"}}," \
	"\"checksum\":" checksum ",\"claims\":{\"p\":\"gpu\"}}"

static void members_of_a_newer_kubelet(void **state)
{
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

	(void)state;
	assert_int_equal(read_text(DOWNGRADED("2422712111"), false, &got), KUBELET_FAULT_NONE);
	assert_string_equal(got.containers.entries[0].list, "4-5");
	assert_non_null(strstr(sentence, "ignoring 'claims'"));
	kubelet_cpu_state_fini(&got);
	/* Nothing vouches for the rest of these. */
	assert_int_equal(read_text(DOWNGRADED("2422712112"), false, &got), KUBELET_FAULT_VERSION);
	assert_int_equal(read_text(DOWNGRADED("0"), false, &got), KUBELET_FAULT_VERSION);
	assert_non_null(strstr(sentence, "'claims' is not part of any version"));
	assert_int_equal(read_text("{\"policyName\":\"static\",\"checksum\":0}", false, &got),
			 KUBELET_FAULT_NONE);
	assert_string_equal(sentence, "");
}

/* The kubelet splits at commas and hyphens and takes nothing but digits between them. */
static void cpu_lists_are_strict(void **state)
{
	static const char *const lists[] = {" 4",     "4 ",   "4, 5", "4 -5",
					    "4-5\\n", "\\t4", " ",    "4,"};
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};
	char text[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		snprintf(text, sizeof(text),
			 "{\"policyName\":\"static\",\"defaultCpuSet\":\"%s\",\"checksum\":0}",
			 lists[i]);
		assert_int_equal(read_text(text, false, &got), KUBELET_FAULT_CPUSET);
		snprintf(text, sizeof(text),
			 "{\"policyName\":\"static\",\"entries\":{\"p\":{\"a\":\"%s\"}},"
			 "\"checksum\":0}",
			 lists[i]);
		assert_int_equal(read_text(text, false, &got), KUBELET_FAULT_CPUSET);
	}
}

/* Go's numbers may have a plus sign and leading zeros. */
static void cpu_lists_are_as_liberal_as_go(void **state)
{
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

	(void)state;
	assert_int_equal(read_text("{\"policyName\":\"static\",\"defaultCpuSet\":\"+1-03,+8\","
				   "\"entries\":{\"p\":{\"a\":\"+4\"}},\"checksum\":0}",
				   false, &got),
			 KUBELET_FAULT_NONE);
	assert_int_equal(cpuset_count(&got.default_cpus), 4);
	assert_true(cpuset_has(&got.default_cpus, 8));
	assert_true(cpuset_has(&got.containers.entries[0].cpus, 4));
}

/* Without the runtime's ids nobody knows whose these are; the kubelet does not start either. */
static void version_1_by_container_id(void **state)
{
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

	(void)state;
	for (int pod_level = 0; pod_level < 2; pod_level++) {
		assert_int_equal(read_text("{\"policyName\":\"none\",\"defaultCpuSet\":\"0-3\","
					   "\"entries\":{\"b\":\"6\",\"a\":\"4-5\"},"
					   "\"checksum\":0}",
					   pod_level, &got),
				 KUBELET_FAULT_UNREADABLE);
		assert_non_null(strstr(sentence, "version 1"));
	}
	assert_int_equal(read_text("{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\","
				   "\"entries\":{},\"checksum\":0}",
				   true, &got),
			 KUBELET_FAULT_NONE);
	assert_int_equal(got.containers.nr, 0);
}

#define POD_SETS(sets)                                                                            \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{\"q\":{\"a\":\"7\"}}," \
	"\"podEntries\":" sets ",\"checksum\":0}"

/* A file of version 3 with checksum 0 passes as version 2; its pod sets are not lost. */
static void pod_sets_survive_checksum_zero(void **state)
{
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

	(void)state;
	assert_int_equal(read_text(POD_SETS("{\"p\":{\"cpuSet\":\"4-5\"}}"), true, &got),
			 KUBELET_FAULT_NONE);
	assert_int_equal(got.pods.nr, 1);
	assert_int_equal(cpuset_count(&got.pods.entries[0].cpus), 2);
}

/* One that is none spoils version 3 but not version 2; those before it stay, as in the kubelet. */
static void bad_pod_sets_fall_back(void **state)
{
	static const struct {
		const char *text;
		uint32_t nr_pods;
	} cases[] = {
		{POD_SETS("5"), 0},
		{POD_SETS("[]"), 0},
		{POD_SETS("{\"p\":5}"), 0},
		{POD_SETS("{\"p\":{\"cpuSet\":5}}"), 0},
		{POD_SETS("{\"p\":{\"cpuSet\":\"4, 5\"}}"), 0},
		{POD_SETS("{\"p\":{\"cpuSet\":\"4-5\"},\"b\":{\"cpuSet\":\"5-4\"},"
			  "\"a\":{\"cpuSet\":\"6\"}}"),
		 1},
		{POD_SETS("{\"z\":{\"cpuSet\":\"4-5\"},\"c\":{},\"b\":{\"cpuSet\":\"x\"}}"), 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

		assert_int_equal(read_text(cases[i].text, true, &got), KUBELET_FAULT_NONE);
		assert_int_equal(got.version, 2);
		assert_int_equal(got.containers.nr, 1);
		assert_int_equal(got.pods.nr, cases[i].nr_pods);
		if (got.pods.nr == 2)
			assert_string_equal(got.pods.entries[0].pod, "c");
		kubelet_cpu_state_fini(&got);
		/* Without the gate nobody looks at them. */
		assert_int_equal(read_text(cases[i].text, false, &got), KUBELET_FAULT_NONE);
		assert_int_equal(got.pods.nr, 0);
	}
}

/* --- kubelet 1.37 ----------------------------------------------------------------------------- */

/* Files as kubelet 1.37 writes them, without and with the gate PodLevelResourceManagers. */
#define GATE_OFF_OLD                                                                      \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3,6\",\"entries\":{\"pod-1\":{" \
	"\"app\":\"4-5\"}},\"checksum\":2561190618"
#define GATE_OFF                                                                             \
	GATE_OFF_OLD                                                                         \
	",\"data\":\"{\\\"policyName\\\":\\\"static\\\",\\\"defaultCpuSet\\\":\\\"0-3,6\\\"" \
	",\\\"entries\\\":{\\\"pod-1\\\":{\\\"app\\\":\\\"4-5\\\"}}}\""                      \
	",\"dataChecksum\":3709478197}"
#define GATE_ON_DATA                                                                       \
	"{\\\"policyName\\\":\\\"static\\\",\\\"defaultCpuSet\\\":\\\"0-1\\\","            \
	"\\\"entries\\\":{\\\"pod-1\\\":{\\\"app\\\":\\\"2-3\\\",\\\"side\\\":\\\"4-5\\\"" \
	"}},\\\"podEntries\\\":{\\\"pod-1\\\":{\\\"cpuSet\\\":\\\"2-5\\\"}}}"
#define GATE_ON                                                                                 \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1\",\"entries\":{\"pod-1\":{\"app\":" \
	"\"2-3\",\"side\":\"4-5\"}},\"checksum\":1225840449,\"data\":\"" GATE_ON_DATA           \
	"\",\"dataChecksum\":3850843632}"

static enum kubelet_fault read_1_37(const char *text, bool pod_level,
				    struct kubelet_cpu_state *ret_state)
{
	return read_by(KUBELET_1_37, text, pod_level, ret_state);
}

static void files_of_1_37_are_read_and_written(void **state)
{
	static const char *const files[] = {GATE_OFF, GATE_ON};

	(void)state;
	for (int pod_level = 0; pod_level <= 1; pod_level++) {
		const struct kubelet kubelet = {KUBELET_1_37, pod_level, "static"};
		struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};
		char *text cleanup_free = NULL;

		assert_int_equal(read_1_37(files[pod_level], pod_level, &got), KUBELET_FAULT_NONE);
		assert_string_equal(sentence, "");
		assert_int_equal(got.version, 4);
		assert_int_equal(got.pods.nr, pod_level);
		assert_int_equal(kubelet_cpu_state_write(&got, &kubelet, &text), 0);
		assert_string_equal(text, files[pod_level]);
	}
}

/* Pod entries need the gate, whoever wrote them, and the next write loses them. */
static void pod_entries_need_the_gate(void **state)
{
	const struct kubelet off = {KUBELET_1_37, false, "static"};
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};
	char *text cleanup_free = NULL;

	(void)state;
	assert_int_equal(read_1_37(GATE_ON, true, &got), KUBELET_FAULT_NONE);
	assert_int_equal(kubelet_cpu_state_write(&got, &off, &text), 0);
	assert_null(strstr(text, "podEntries"));
	kubelet_cpu_state_fini(&got);
	assert_int_equal(read_1_37(GATE_ON, false, &got), KUBELET_FAULT_NONE);
	assert_int_equal(got.containers.nr, 2);
	assert_int_equal(got.pods.nr, 0);
}

/* A kubelet that is downgraded reads the part for it: all but the pod entries. */
static void kubelet_1_36_reads_the_older_part(void **state)
{
	(void)state;
	for (int pod_level = 0; pod_level <= 1; pod_level++) {
		struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

		assert_int_equal(read_by(KUBELET_1_36, GATE_ON, pod_level, &got),
				 KUBELET_FAULT_NONE);
		assert_string_equal(sentence, "");
		assert_int_equal(got.version, 2);
		assert_string_equal(got.default_list, "0-1");
		assert_int_equal(got.containers.nr, 2);
		assert_string_equal(got.containers.entries[1].list, "4-5");
		assert_int_equal(got.pods.nr, 0);
	}
}

static enum kubelet_fault read_data_1_37(const char *outer, const char *escaped, bool pod_level,
					 struct kubelet_cpu_state *ret_state)
{
	char text[1024];

	snprintf(text, sizeof(text), "{%s\"data\":\"%s\",\"dataChecksum\":%u}", outer, escaped,
		 sum_of_data(escaped));
	return read_1_37(text, pod_level, ret_state);
}

static void only_the_data_counts(void **state)
{
	static const char *const outers[] = {
		"",
		"\"policyName\":\"none\",\"defaultCpuSet\":\"9-\",\"checksum\":5,",
		"\"entries\":null,\"checksum\":null,",
		"\"entries\":{\"q\":{\"b\":\"x\"}},\"claims\":[],",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(outers); i++) {
		struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

		assert_int_equal(read_data_1_37(outers[i], GATE_ON_DATA, true, &got),
				 KUBELET_FAULT_NONE);
		assert_int_equal(got.containers.nr, 2);
		assert_int_equal(cpuset_count(&got.pods.entries[0].cpus), 4);
	}
}

/* Inside the data, members that are not known are passed over as well. */
static void unknown_members_are_ignored(void **state)
{
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

	(void)state;
	assert_int_equal(read_data_1_37("", V4_DATA(",\\\"baselines\\\":{\\\"p\\\":{}}"), true,
					&got),
			 KUBELET_FAULT_NONE);
	assert_non_null(strstr(sentence, "ignoring 'baselines'"));
	kubelet_cpu_state_fini(&got);
	assert_int_equal(read_1_37("{\"policyName\":\"static\",\"claims\":{},\"checksum\":0}",
				   false, &got),
			 KUBELET_FAULT_NONE);
}

/* The kubelet's own words, and no way back to the older part. */
static void refusals_of_1_37(void **state)
{
	static const struct {
		const char *text;
		enum kubelet_fault fault;
		const char *reason;
	} cases[] = {
		{GATE_OFF_OLD ",\"data\":\"{}\",\"dataChecksum\":1}", KUBELET_FAULT_CHECKSUM,
		 "could not load v4 checkpoint: checkpoint is corrupted"},
		{GATE_OFF_OLD ",\"data\":\"{}\"}", KUBELET_FAULT_CHECKSUM,
		 "could not load v4 checkpoint: checkpoint is corrupted"},
		{GATE_OFF_OLD ",\"dataChecksum\":1}", KUBELET_FAULT_UNREADABLE,
		 "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint data: "},
		{GATE_OFF_OLD ",\"data\":\"{\",\"dataChecksum\":1}", KUBELET_FAULT_UNREADABLE,
		 "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint data: "},
		{GATE_OFF_OLD ",\"data\":{},\"dataChecksum\":1}", KUBELET_FAULT_UNREADABLE,
		 "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint: "},
		{GATE_OFF_OLD ",\"data\":\"{}\",\"dataChecksum\":\"1\"}", KUBELET_FAULT_UNREADABLE,
		 "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint: "},
		{"{\"entries\":[],\"data\":\"{}\",\"dataChecksum\":1}", KUBELET_FAULT_UNREADABLE,
		 "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint: "},
		{"{\"checksum\":-1,\"data\":\"{}\",\"dataChecksum\":1}", KUBELET_FAULT_UNREADABLE,
		 "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint: "},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":5}",
		 KUBELET_FAULT_CHECKSUM, "checkpoint is corrupted"},
		/* version 1, whose checksum is over another type */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{\"a\":\"4\"},"
		 "\"checksum\":0}",
		 KUBELET_FAULT_UNREADABLE, ""},
		{"{\"policyName\":\"none\",\"checksum\":0}", KUBELET_FAULT_POLICY,
		 "configured policy \"static\" differs from state checkpoint policy \"none\""},
		{"null", KUBELET_FAULT_POLICY,
		 "configured policy \"static\" differs from state checkpoint policy \"\""},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-\",\"checksum\":0}",
		 KUBELET_FAULT_CPUSET, "could not parse default CPU set \"0-\""},
		{"{\"policyName\":\"static\",\"entries\":{\"p\":{\"a\":\"x\"}},\"checksum\":0}",
		 KUBELET_FAULT_CPUSET,
		 "could not parse cpuset \"x\" for container \"a\" in pod \"p\""},
		{"", KUBELET_FAULT_UNREADABLE, ""},
		{"[]", KUBELET_FAULT_UNREADABLE, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int pod_level = 0; pod_level <= 1; pod_level++) {
			struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

			assert_int_equal(read_1_37(cases[i].text, pod_level, &got), cases[i].fault);
			assert_int_equal(
				strncmp(sentence, cases[i].reason, strlen(cases[i].reason)), 0);
			assert_null(got.policy);
		}
	}
}

/* Without data the files of 1.36 are read, whatever the gate, and no failed try leaves a trace. */
static void files_of_1_36_are_read(void **state)
{
	static const struct {
		const char *text;
		unsigned int version, nr_pods;
	} cases[] = {
		{GATE_OFF_OLD "}", 2, 0},
		{GATE_OFF_OLD ",\"data\":\"\",\"dataChecksum\":0}", 2, 0},
		{GATE_OFF_OLD ",\"data\":{}}", 2, 0},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{\"p\":{\"a\":"
		 "\"4-5\"}},\"podEntries\":{\"a\":{},\"p\":{\"cpuSet\":\"4,6,12\"}},"
		 "\"checksum\":4058230429}",
		 3, 2},
		{POD_SETS("{\"p\":{\"cpuSet\":\"4-5\"}}"), 2, 0},
		{POD_SETS("5"), 2, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (unsigned int pod_level = 0; pod_level <= 1; pod_level++) {
			struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};

			assert_int_equal(read_1_37(cases[i].text, pod_level, &got),
					 KUBELET_FAULT_NONE);
			assert_int_equal(got.version, cases[i].version);
			assert_int_equal(got.containers.nr, 1);
			assert_int_equal(got.pods.nr, pod_level * cases[i].nr_pods);
		}
	}
}

/* A file of 1.36 counts under two names of its type, for 1.37 only without the version. */
static void the_name_with_a_version_is_not_accepted(void **state)
{
	static const char dump[] =
		"(*state.CPUManagerCheckpointV2){PolicyName:(string)static "
		"DefaultCPUSet:(string)0-3 Entries:(map[string]map[string]string)map[] "
		"Checksum:(checksum.Checksum)0}";
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0};
	uint32_t sum = 2166136261U;
	char text[128];

	(void)state;
	for (const char *at = dump; *at; at++)
		sum = (sum ^ (unsigned char)*at) * 16777619U;
	snprintf(text, sizeof(text),
		 "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":%u}", sum);
	assert_int_equal(read_1_37(text, false, &got), KUBELET_FAULT_CHECKSUM);
	assert_int_equal(read_by(KUBELET_1_36, text, false, &got), KUBELET_FAULT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_checksums),
		cmocka_unit_test(version_4),
		cmocka_unit_test(faults),
		cmocka_unit_test(an_empty_file_is_called_empty),
		cmocka_unit_test(members_of_a_newer_kubelet),
		cmocka_unit_test(cpu_lists_are_strict),
		cmocka_unit_test(cpu_lists_are_as_liberal_as_go),
		cmocka_unit_test(version_1_by_container_id),
		cmocka_unit_test(pod_sets_survive_checksum_zero),
		cmocka_unit_test(bad_pod_sets_fall_back),
		cmocka_unit_test(files_of_1_37_are_read_and_written),
		cmocka_unit_test(pod_entries_need_the_gate),
		cmocka_unit_test(kubelet_1_36_reads_the_older_part),
		cmocka_unit_test(only_the_data_counts),
		cmocka_unit_test(unknown_members_are_ignored),
		cmocka_unit_test(refusals_of_1_37),
		cmocka_unit_test(files_of_1_36_are_read),
		cmocka_unit_test(the_name_with_a_version_is_not_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
