// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
/* The kubelet's memory state file: what is believed under which checksum, and each fault. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kubelet/memory_state.h"

#define MACHINE                                                                                 \
	"\"policyName\":\"Static\",\"machineState\":{\"0\":{\"numberOfAssignments\":1,"         \
	"\"memoryMap\":{\"memory\":{\"total\":9,\"systemReserved\":1,\"allocatable\":8,"        \
	"\"reserved\":2,\"free\":6}},\"cells\":[0]},\"10\":{\"numberOfAssignments\":0,"         \
	"\"memoryMap\":{},\"cells\":[10]},\"2\":{\"numberOfAssignments\":0,\"memoryMap\":{},"   \
	"\"cells\":[2]}},\"entries\":{\"p\":{\"a\":[{\"numaAffinity\":[0],\"type\":\"memory\"," \
	"\"size\":2}],\"b\":[]}}"
#define PODS                                                                                   \
	",\"podEntries\":{\"p\":{\"memoryBlocks\":[{\"numaAffinity\":[0],\"type\":\"memory\"," \
	"\"size\":2}]}}"

static char sentence[256]; /* of the last read: an error, a warning or nothing */

static enum kubelet_fault read_by(const struct kubelet *kubelet, const char *text,
				  struct kubelet_memory_state *ret_state)
{
	enum kubelet_fault fault = KUBELET_FAULT_NONE;
	char error[256] = "";
	int r = kubelet_memory_state_read(text, strlen(text), kubelet, ret_state, &fault, error,
					  sizeof(error));

	assert_int_equal(r, fault == KUBELET_FAULT_NONE ? 0 : -EINVAL);
	if (fault != KUBELET_FAULT_NONE)
		assert_true(error[0] != '\0');
	snprintf(sentence, sizeof(sentence), "%s", error);
	return fault;
}

static enum kubelet_fault read_text(const char *text, struct kubelet_memory_state *ret_state)
{
	return read_by(&(struct kubelet){KUBELET_ANY, true, "Static"}, text, ret_state);
}

/* Checksum 0 passes, but then nobody vouches for the pod entries. */
static void unchecked(void **state)
{
	struct kubelet_memory_state got cleanup_kubelet_memory_state = {0};

	(void)state;
	assert_int_equal(read_text("{" MACHINE PODS ",\"checksum\":0}", &got), KUBELET_FAULT_NONE);
	assert_int_equal(got.layout, KUBELET_MEMORY_V1);
	assert_int_equal(got.nr_nodes, 3);
	assert_int_equal(got.nodes[2].id, 10);
	assert_int_equal(got.nodes[0].tables[0].free_bytes, 6);
	assert_int_equal(got.containers.nr, 2);
	assert_int_equal(got.containers.entries[0].blocks[0].bytes, 2);
	assert_int_equal(got.containers.entries[1].nr_blocks, 0);
	assert_int_equal(got.pods.nr, 0);
}

/* Every layout written is read as itself, and the keys are sorted as text. */
static void layouts(void **state)
{
	struct kubelet_memory_state given cleanup_kubelet_memory_state = {0};

	(void)state;
	assert_int_equal(read_text("{" MACHINE ",\"checksum\":0}", &given), KUBELET_FAULT_NONE);
	for (int layout = 0; layout < KUBELET_MEMORY_LAYOUT_NR; layout++) {
		struct kubelet_memory_state got cleanup_kubelet_memory_state = {0};
		char *text cleanup_free = NULL;

		assert_int_equal(kubelet_memory_state_write(
					 &given, (enum kubelet_memory_layout)layout, &text),
				 0);
		assert_int_equal(strncmp(text, "{" MACHINE, strlen("{" MACHINE)), 0);
		assert_int_equal(read_text(text, &got), KUBELET_FAULT_NONE);
		assert_int_equal(got.layout, layout);
	}
}

/* One changed digit: the older layouts do not help, and of 1.37's copy the inner one counts. */
static void changed(void **state)
{
	struct kubelet_memory_state given cleanup_kubelet_memory_state = {0},
					  got cleanup_kubelet_memory_state = {0};
	char *text cleanup_free = NULL;
	char *digit;

	(void)state;
	assert_int_equal(read_text("{" MACHINE ",\"checksum\":0}", &given), KUBELET_FAULT_NONE);
	assert_int_equal(kubelet_memory_state_write(&given, KUBELET_MEMORY_V3, &text), 0);
	digit = strstr(text, "\"size\":2");
	assert_non_null(digit);
	digit[7] = '3';
	assert_int_equal(read_text(text, &got), KUBELET_FAULT_NONE);
	assert_int_equal(got.layout, KUBELET_MEMORY_V3);
	assert_int_equal(got.containers.entries[0].blocks[0].bytes, 2);
	digit = strstr(text, "\\\"size\\\":2");
	assert_non_null(digit);
	digit[10] = '3';
	assert_int_equal(read_text(text, &given), KUBELET_FAULT_CHECKSUM);
}

/* Go decodes the keys of a map of numbers with ParseInt. */
static void keys_of_nodes(void **state)
{
	static const struct {
		const char *nodes;
		enum kubelet_fault fault;
	} cases[] = {
		{"\"+1\":{}", KUBELET_FAULT_NONE},
		{"\"001\":{}", KUBELET_FAULT_NONE},
		{"\" 1\":{}", KUBELET_FAULT_UNREADABLE},
		{"\"\":{}", KUBELET_FAULT_UNREADABLE},
		/* stricter than Go: the first has no machine, the second no order */
		{"\"-1\":{}", KUBELET_FAULT_UNREADABLE},
		{"\"1\":{},\"+1\":{}", KUBELET_FAULT_UNREADABLE},
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_memory_state got cleanup_kubelet_memory_state = {0};

		snprintf(text, sizeof(text),
			 "{\"policyName\":\"Static\",\"machineState\":{%s},\"checksum\":0}",
			 cases[i].nodes);
		assert_int_equal(read_text(text, &got), cases[i].fault);
		if (cases[i].fault == KUBELET_FAULT_NONE)
			assert_int_equal(got.nodes[0].id, 1);
	}
}

/* A kubelet that was downgraded passes over what the newer one added. */
static void members_of_a_newer_kubelet(void **state)
{
	struct kubelet_memory_state given cleanup_kubelet_memory_state = {0};

	(void)state;
	assert_int_equal(read_text("{" MACHINE ",\"checksum\":0}", &given), KUBELET_FAULT_NONE);
	assert_string_equal(sentence, "");
	for (int layout = 0; layout < KUBELET_MEMORY_LAYOUT_NR; layout++) {
		struct kubelet_memory_state got cleanup_kubelet_memory_state = {0};
		char *text cleanup_free = NULL, *more cleanup_free = NULL;

		assert_int_equal(kubelet_memory_state_write(
					 &given, (enum kubelet_memory_layout)layout, &text),
				 0);
		assert_true(asprintf(&more, "%.*s,\"swap\":{}}", (int)strlen(text) - 1, text) > 0);
		assert_int_equal(read_text(more, &got), KUBELET_FAULT_NONE);
		assert_int_equal(got.layout, layout);
		assert_int_equal(got.containers.nr, given.containers.nr);
		assert_non_null(strstr(sentence, "ignoring 'swap'"));
	}
	assert_int_equal(read_text("{" MACHINE ",\"swap\":{},\"checksum\":0}", &given),
			 KUBELET_FAULT_VERSION);
	assert_int_equal(read_text("{" MACHINE ",\"swap\":{},\"checksum\":7}", &given),
			 KUBELET_FAULT_VERSION);
	assert_non_null(strstr(sentence, "'swap' is not part of any version"));
}

static void faults(void **state)
{
	static const struct {
		const char *text;
		enum kubelet_fault fault;
	} cases[] = {
		{"", KUBELET_FAULT_UNREADABLE},
		{"{" MACHINE, KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"None\",\"checksum\":0}", KUBELET_FAULT_POLICY},
		{"{" MACHINE ",\"checksum\":5}", KUBELET_FAULT_CHECKSUM},
		{"{" MACHINE ",\"checksum\":\"5\"}", KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"Static\",\"machineState\":{\"1x\":{}},\"checksum\":0}",
		 KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"Static\",\"machineState\":{\"1\":null},\"checksum\":0}",
		 KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"Static\",\"entries\":{\"p\":{\"a\":[null]}},\"checksum\":0}",
		 KUBELET_FAULT_UNREADABLE},
		{"{\"policyName\":\"Static\",\"entries\":{\"p\":{\"a\":[{\"size\":-1}]}},"
		 "\"checksum\":0}",
		 KUBELET_FAULT_UNREADABLE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_memory_state got cleanup_kubelet_memory_state = {0};

		assert_int_equal(read_text(cases[i].text, &got), cases[i].fault);
		assert_null(got.policy);
	}
}

/* --- kubelet 1.37 ----------------------------------------------------------------------------- */

static enum kubelet_fault read_1_37(const char *text, bool pod_level,
				    struct kubelet_memory_state *ret_state)
{
	return read_by(&(struct kubelet){KUBELET_1_37, pod_level, "Static"}, text, ret_state);
}

/* A state with pod entries in that layout. */
static char *file_of(enum kubelet_memory_layout layout)
{
	struct kubelet_memory_state given cleanup_kubelet_memory_state = {0};
	char *text = NULL;

	assert_int_equal(read_text("{" MACHINE ",\"checksum\":0}", &given), KUBELET_FAULT_NONE);
	given.pods.nr = 1;
	given.pods.entries = calloc(1, sizeof(*given.pods.entries));
	assert_non_null(given.pods.entries);
	given.pods.entries[0].pod = strdup("p");
	given.pods.entries[0].container = strdup("");
	assert_int_equal(kubelet_memory_state_write(&given, layout, &text), 0);
	return text;
}

static void files_of_1_37(void **state)
{
	char *text cleanup_free = file_of(KUBELET_MEMORY_V3);

	(void)state;
	for (unsigned int pod_level = 0; pod_level <= 1; pod_level++) {
		const struct kubelet older = {KUBELET_1_36, pod_level, "Static"};
		struct kubelet_memory_state got cleanup_kubelet_memory_state = {0},
						downgraded cleanup_kubelet_memory_state = {0};
		char *again cleanup_free = NULL;

		assert_int_equal(read_1_37(text, pod_level, &got), KUBELET_FAULT_NONE);
		assert_int_equal(got.layout, KUBELET_MEMORY_V3);
		assert_int_equal(got.containers.nr, 2);
		/* without the gate the pod entries are dropped, and lost at the next write */
		assert_int_equal(got.pods.nr, pod_level);
		assert_int_equal(kubelet_memory_state_write(&got, KUBELET_MEMORY_V3, &again), 0);
		assert_int_equal(!strcmp(again, text), pod_level);
		/* a kubelet that is downgraded reads the part for it, without them */
		assert_int_equal(read_by(&older, text, &downgraded), KUBELET_FAULT_NONE);
		assert_string_equal(sentence, "");
		assert_int_equal(downgraded.layout, KUBELET_MEMORY_V1);
		assert_int_equal(downgraded.containers.nr, 2);
		assert_int_equal(downgraded.pods.nr, 0);
	}
}

/* The files of 1.36, in both states of the gate; of a failed try nothing remains. */
static void files_of_1_36(void **state)
{
	(void)state;
	for (unsigned int pod_level = 0; pod_level <= 1; pod_level++) {
		for (int layout = 0; layout < KUBELET_MEMORY_V3; layout++) {
			struct kubelet_memory_state got cleanup_kubelet_memory_state = {0};
			char *text cleanup_free = file_of((enum kubelet_memory_layout)layout);

			if (layout == KUBELET_MEMORY_V1_NAMED) {
				assert_int_equal(read_1_37(text, pod_level, &got),
						 KUBELET_FAULT_CHECKSUM);
				continue;
			}
			assert_int_equal(read_1_37(text, pod_level, &got), KUBELET_FAULT_NONE);
			assert_int_equal(got.layout, layout);
			assert_int_equal(got.pods.nr, layout == KUBELET_MEMORY_V2 ? pod_level : 0);
		}
		for (int bad = 0; bad <= 1; bad++) {
			struct kubelet_memory_state got cleanup_kubelet_memory_state = {0};

			assert_int_equal(read_1_37(bad ? "{" MACHINE ",\"podEntries\":5}"
						       : "{" MACHINE PODS "}",
						   pod_level, &got),
					 KUBELET_FAULT_NONE);
			assert_int_equal(got.layout, KUBELET_MEMORY_V1);
			assert_int_equal(got.pods.nr, 0);
		}
	}
}

static void refusals_of_1_37(void **state)
{
	static const struct {
		const char *text;
		enum kubelet_fault fault;
		const char *reason;
	} cases[] = {
		{"{" MACHINE ",\"checksum\":0,\"data\":\"{}\",\"dataChecksum\":1}",
		 KUBELET_FAULT_CHECKSUM, "could not load v3 checkpoint: checkpoint is corrupted"},
		{"{" MACHINE ",\"checksum\":0,\"data\":\"{}\"}", KUBELET_FAULT_CHECKSUM,
		 "could not load v3 checkpoint: checkpoint is corrupted"},
		{"{" MACHINE ",\"checksum\":0,\"dataChecksum\":1}", KUBELET_FAULT_UNREADABLE,
		 "could not load v3 checkpoint: failed to deserialize memory manager checkpoint "
		 "data: "},
		{"{" MACHINE ",\"checksum\":0,\"data\":[],\"dataChecksum\":1}",
		 KUBELET_FAULT_UNREADABLE,
		 "could not load v3 checkpoint: failed to deserialize memory manager checkpoint: "},
		{"{\"machineState\":[],\"data\":\"{}\",\"dataChecksum\":1}",
		 KUBELET_FAULT_UNREADABLE,
		 "could not load v3 checkpoint: failed to deserialize memory manager checkpoint: "},
		{"{" MACHINE ",\"checksum\":5}", KUBELET_FAULT_CHECKSUM, "checkpoint is corrupted"},
		{"{\"policyName\":\"None\"}", KUBELET_FAULT_POLICY,
		 "[memorymanager] configured policy \"Static\" differs from state checkpoint policy "
		 "\"None\""},
		{"{" MACHINE, KUBELET_FAULT_UNREADABLE, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_memory_state got cleanup_kubelet_memory_state = {0};

		assert_int_equal(read_1_37(cases[i].text, i & 1, &got), cases[i].fault);
		assert_int_equal(strncmp(sentence, cases[i].reason, strlen(cases[i].reason)), 0);
		assert_null(got.policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unchecked),
		cmocka_unit_test(layouts),
		cmocka_unit_test(keys_of_nodes),
		cmocka_unit_test(changed),
		cmocka_unit_test(members_of_a_newer_kubelet),
		cmocka_unit_test(faults),
		cmocka_unit_test(files_of_1_37),
		cmocka_unit_test(files_of_1_36),
		cmocka_unit_test(refusals_of_1_37),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
