// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* Pod documents: what is read from the real examples, and every way to be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/manifest.h"
#include "lib/text.h"

#include "../lib/data.h"

#define GI (1024LL * 1024 * 1024)
#define MI (1024LL * 1024)

static void parse(const char *text, struct manifest *ret_manifest)
{
	assert_int_equal(manifest_parse(text, strlen(text), ret_manifest), 0);
}

static const struct pod_spec *only_spec(const struct manifest *manifest)
{
	char sentence[FORMAT_ERROR_TEXT_MAX];

	assert_int_equal(manifest->nr_documents, 1);
	if (!manifest->documents[0].spec)
		fail_msg("%s", format_error_text(&manifest->documents[0].error, NULL, sentence,
						 sizeof(sentence)));
	return manifest->documents[0].spec;
}

static void load(const char *name, struct manifest *ret_manifest)
{
	char path[256];
	char *data cleanup_free = NULL;
	size_t len;

	snprintf(path, sizeof(path), "docs/examples/pods/%s", name);
	data = data_read(path, &len);
	assert_int_equal(manifest_parse(data, len, ret_manifest), 0);
}

static void guaranteed_example(void **state)
{
	struct manifest manifest cleanup_manifest = {0};
	const struct pod_spec *spec;

	load("guaranteed.yaml", &manifest);
	spec = only_spec(&manifest);
	assert_string_equal(manifest.documents[0].name, "default/guaranteed");
	assert_int_equal(manifest.documents[0].line, 5);
	assert_string_equal(spec->namespace, "default");
	assert_int_equal(spec->nr_containers, 1);
	assert_string_equal(spec->containers[0].name, "database");
	assert_int_equal(spec->containers[0].kind, CONTAINER_APP);
	/* the limit alone was given */
	assert_int_equal(spec->containers[0].request.cpu_mcpu, 6000);
	assert_int_equal(spec->containers[0].limit.cpu_mcpu, 6000);
	assert_int_equal(spec->containers[0].request.memory_bytes, GI);
	assert_false(spec->has_pod_resources);
	assert_int_equal(pod_qos(spec), QOS_GUARANTEED);
}

static void burstable_example(void **state)
{
	struct manifest manifest cleanup_manifest = {0};
	const struct pod_spec *spec;

	load("burstable.yaml", &manifest);
	spec = only_spec(&manifest);
	assert_int_equal(spec->containers[0].request.cpu_mcpu, 500);
	assert_int_equal(spec->containers[0].limit.cpu_mcpu, 2000);
	assert_int_equal(spec->containers[0].request.memory_bytes, 128 * MI);
	assert_int_equal(spec->containers[0].limit.memory_bytes, 512 * MI);
	assert_int_equal(pod_qos(spec), QOS_BURSTABLE);
}

static void pod_level_examples(void **state)
{
	static const struct {
		const char *file, *containers[3];
		int64_t cpu_mcpu, memory_bytes, app_mcpu;
		uint32_t nr;
	} examples[] = {
		{"database-with-sidecars.yaml",
		 {"metrics", "backup", "database"},
		 8000,
		 16 * GI,
		 6000,
		 3},
		{"training-with-mesh.yaml", {"service-mesh", "ml-training"}, 4000, 8 * GI, 3000, 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct manifest manifest cleanup_manifest = {0};
		const struct pod_spec *spec;

		load(examples[i].file, &manifest);
		spec = only_spec(&manifest);
		assert_true(spec->has_pod_resources);
		assert_int_equal(spec->request.cpu_mcpu, examples[i].cpu_mcpu);
		assert_int_equal(spec->limit.memory_bytes, examples[i].memory_bytes);
		assert_int_equal(spec->nr_containers, examples[i].nr);
		for (uint32_t j = 0; j < spec->nr_containers; j++) {
			bool last = j + 1 == spec->nr_containers;

			assert_string_equal(spec->containers[j].name, examples[i].containers[j]);
			assert_int_equal(spec->containers[j].kind,
					 last ? CONTAINER_APP : CONTAINER_SIDECAR);
			if (last)
				assert_int_equal(spec->containers[j].request.cpu_mcpu,
						 examples[i].app_mcpu);
		}
		assert_int_equal(pod_qos(spec), QOS_GUARANTEED);
	}
}

static void every_field_we_read(void **state)
{
	struct manifest manifest cleanup_manifest = {0};
	const struct pod_spec *spec;

	parse("apiVersion: v1\n"
	      "kind: Pod\n"
	      "metadata: {name: a.b, namespace: x, uid: 0123-ab, labels: {k: v}}\n"
	      "spec:\n"
	      "  hostNetwork: true\n"
	      "  volumes: [{name: v, emptyDir: {}}]\n"
	      "  overhead: {cpu: 250m, memory: 64Mi}\n"
	      "  initContainers:\n"
	      "  - {name: first, restartPolicy: Never, resources: {limits: {cpu: 1e0}}}\n"
	      "  - {name: side, restartPolicy: Always}\n"
	      "  containers:\n"
	      "  - name: main\n"
	      "    resources:\n"
	      "      limits: {cpu: '0.5', memory: 1G, hugepages-2Mi: 4Mi, hugepages-1Gi: 1Gi,\n"
	      "               example.org/gpu: 1, ephemeral-storage: 1Gi}\n"
	      "  ephemeralContainers: [{name: debug}]\n",
	      &manifest);
	spec = only_spec(&manifest);
	assert_string_equal(spec->name, "a.b");
	assert_string_equal(spec->uid, "0123-ab");
	assert_int_equal(spec->overhead.cpu_mcpu, 250);
	assert_int_equal(spec->overhead.memory_bytes, 64 * MI);
	assert_int_equal(spec->nr_containers, 3);
	assert_int_equal(spec->containers[0].kind, CONTAINER_INIT);
	assert_int_equal(spec->containers[0].limit.cpu_mcpu, 1000);
	assert_int_equal(spec->containers[1].kind, CONTAINER_SIDECAR);
	assert_int_equal(spec->containers[1].limit.cpu_mcpu, RESOURCE_UNSET);
	assert_int_equal(spec->containers[2].limit.cpu_mcpu, 500);
	assert_int_equal(spec->containers[2].limit.memory_bytes, 1000000000);
	assert_int_equal(spec->containers[2].limit.nr_hugepages, 2);
	assert_int_equal(spec->containers[2].request.nr_hugepages, 2);
	assert_int_equal(spec->containers[2].limit.hugepages[0].size_bytes, 2 * MI);
	assert_int_equal(spec->containers[2].limit.hugepages[0].bytes, 4 * MI);
	assert_non_null(strstr(manifest.documents[0].note, "ephemeralContainers is ignored"));
}

static void identity_without_uid(void **state)
{
	char uid[POD_UID_MAX], other[POD_UID_MAX];
	struct manifest manifest cleanup_manifest = {0};

	/* FNV-1a of nothing but the slash, computed apart from this code. */
	manifest_uid("", "", uid);
	assert_string_equal(uid, "d228cb69-251a-8caf-7891-2b704e4a2e56");
	manifest_uid("default", "a", uid);
	manifest_uid("default", "b", other);
	assert_string_not_equal(uid, other);
	/* The separator counts: "a/bc" is not "ab/c". */
	manifest_uid("a", "bc", uid);
	manifest_uid("ab", "c", other);
	assert_string_not_equal(uid, other);
	parse("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}",
	      &manifest);
	manifest_uid("default", "a", uid);
	assert_string_equal(only_spec(&manifest)->uid, uid);
}

static void one_bad_document_refuses_only_itself(void **state)
{
	struct manifest manifest cleanup_manifest = {0};

	parse("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n"
	      "---\n"
	      "# nothing here\n"
	      "---\n"
	      "kind: \"unclosed\nmore\n"
	      "---\n"
	      "apiVersion: v1\nkind: Pod\nmetadata: {name: B}\n"
	      "---\n"
	      "apiVersion: v1\nkind: Pod\nmetadata: {name: d}\nspec: {containers: [{name: c}]}\n",
	      &manifest);
	assert_int_equal(manifest.nr_documents, 4);
	assert_non_null(manifest.documents[0].spec);
	assert_null(manifest.documents[1].spec);
	assert_int_equal(manifest.documents[1].error.line, 10);
	assert_null(manifest.documents[2].spec);
	assert_int_equal(manifest.documents[2].error.line, 13);
	assert_string_equal(manifest.documents[2].error.field, "metadata.name");
	assert_non_null(manifest.documents[3].spec);
	assert_int_equal(manifest.documents[3].line, 15);
	assert_string_equal(manifest.documents[3].name, "default/d");
	assert_string_equal(manifest.documents[3].namespace, "default");
	assert_string_equal(manifest.documents[3].pod, "d");
	assert_string_equal(manifest.documents[2].pod, "");
}

static void json_and_lists(void **state)
{
	static const char pod[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
				  "\"%s\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}";
	struct manifest manifest cleanup_manifest = {0};
	struct text text cleanup_text = {0};

	text_printf(&text, pod, "one");
	text_append(&text, "\n");
	text_printf(&text, pod, "two");
	text_append(&text, "\n{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[\n");
	text_printf(&text, pod, "three");
	text_append(&text, ",\n");
	text_printf(&text, pod, "Four");
	text_append(&text, "]}\n");
	parse(text.data, &manifest);
	assert_int_equal(manifest.nr_documents, 4);
	assert_string_equal(manifest.documents[0].name, "default/one");
	assert_string_equal(manifest.documents[1].name, "default/two");
	assert_int_equal(manifest.documents[1].line, 2);
	assert_non_null(manifest.documents[2].spec);
	assert_int_equal(manifest.documents[2].line, 4);
	assert_null(manifest.documents[3].spec);
	assert_string_equal(manifest.documents[3].error.field, "items[1].metadata.name");
}

static void bounds(void **state)
{
	struct manifest manifest cleanup_manifest = {0}, many cleanup_manifest = {0};
	struct manifest large cleanup_manifest = {0};
	struct text text cleanup_text = {0};
	char *data cleanup_free = calloc(1, MANIFEST_MAX_BYTES + 2);

	for (int i = 0; i < MANIFEST_MAX_DOCUMENTS + 5; i++)
		text_printf(&text,
			    "---\n{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: "
			    "{containers: [{name: c}]}}\n",
			    i);
	parse(text.data, &manifest);
	assert_int_equal(manifest.nr_documents, MANIFEST_MAX_DOCUMENTS + 1);
	assert_non_null(manifest.documents[MANIFEST_MAX_DOCUMENTS - 1].spec);
	assert_null(manifest.documents[MANIFEST_MAX_DOCUMENTS].spec);
	assert_non_null(strstr(manifest.documents[MANIFEST_MAX_DOCUMENTS].error.message,
			       "more than 64 documents"));

	text_fini(&text);
	text_append(&text, "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [");
	for (int i = 0; i < POD_MAX_CONTAINERS + 1; i++)
		text_printf(&text, "{name: c%d},", i);
	text_append(&text, "]}}");
	parse(text.data, &many);
	assert_null(many.documents[0].spec);
	assert_string_equal(many.documents[0].error.field, "spec.containers[128]");

	assert_non_null(data);
	memset(data, '#', MANIFEST_MAX_BYTES + 1);
	assert_int_equal(manifest_parse(data, MANIFEST_MAX_BYTES + 1, &large), 0);
	assert_int_equal(large.nr_documents, 1);
	assert_non_null(strstr(large.documents[0].error.message, "more than the limit"));
}

/* A mebibyte of documents that hold nothing must not cost a parser each. */
static void floods_of_nothing(void **state)
{
	static const char *const pieces[] = {"---\n", "---\n~\n", "{kind: List}\n", "---\n#\n"};

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct manifest manifest cleanup_manifest = {0};
		struct text text cleanup_text = {0};

		while (text.len + 20 < MANIFEST_MAX_BYTES)
			text_append(&text, pieces[i]);
		parse(text.data, &manifest);
		if (i == 0) {
			assert_int_equal(manifest.nr_documents, 0);
			continue;
		}
		assert_int_equal(manifest.nr_documents, 1);
		assert_non_null(strstr(manifest.documents[0].error.message, "more than 64"));
	}
}

static void empty_texts_hold_nothing(void **state)
{
	static const char *const texts[] = {"", "\n", "---\n---\n", "# a\n---\nnull\n", "~"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct manifest manifest cleanup_manifest = {0};

		parse(texts[i], &manifest);
		assert_int_equal(manifest.nr_documents, 0);
	}
}

static void check_bad(const char *path, const char *data, size_t len, const char *expected)
{
	struct manifest manifest cleanup_manifest = {0};
	char sentence[FORMAT_ERROR_TEXT_MAX];

	assert_int_equal(manifest_parse(data, len, &manifest), 0);
	assert_int_equal(manifest.nr_documents, 1);
	assert_null(manifest.documents[0].spec);
	format_error_text(&manifest.documents[0].error, NULL, sentence, sizeof(sentence));
	if (strcmp(sentence, expected) != 0)
		fail_msg("%s: got '%s', expected '%s'", path, sentence, expected);
}

static void bad_files(void **state)
{
	data_for_each_bad("tests/data/bad/manifest", 21, check_bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guaranteed_example),
		cmocka_unit_test(burstable_example),
		cmocka_unit_test(pod_level_examples),
		cmocka_unit_test(every_field_we_read),
		cmocka_unit_test(identity_without_uid),
		cmocka_unit_test(one_bad_document_refuses_only_itself),
		cmocka_unit_test(json_and_lists),
		cmocka_unit_test(bounds),
		cmocka_unit_test(floods_of_nothing),
		cmocka_unit_test(empty_texts_hold_nothing),
		cmocka_unit_test(bad_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
