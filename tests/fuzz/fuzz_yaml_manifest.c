// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
// COVERS: user/format/yaml.c:yaml_parse,yaml_next_piece,yaml_get,build,take_event,add_scalar,begin_value,end_value,place_value,check_duplicates,check_tag,check_rest,byte_offset,refuse_syntax
// COVERS: user/format/manifest.c
// COVERS: user/format/resources.c:resources_read_list,resources_read,check_resources,check_keys,check_hugepages,read_hugepages,read_quantity
/*
 * Pod documents: every document is either a pod that keeps the core's bounds or
 * a refusal with a sentence, never both and never neither.
 */
#include <string.h>

#include "format/manifest.h"
#include "fuzz.h"

static void check_spec(const struct pod_spec *spec)
{
	FUZZ_CHECK(*spec->uid && *spec->name && *spec->namespace);
	FUZZ_CHECK(!strchr(spec->uid, '/') && !strchr(spec->name, '/'));
	FUZZ_CHECK(spec->name[0] != '.' && spec->uid[0] != '.');
	FUZZ_CHECK(spec->nr_containers > 0 && spec->nr_containers <= POD_MAX_CONTAINERS);
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		const struct container_spec *container = &spec->containers[i];

		FUZZ_CHECK(*container->name && !strpbrk(container->name, "/._ \n"));
		FUZZ_CHECK(container->kind < CONTAINER_KIND_NR);
		FUZZ_CHECK(container->request.cpu_mcpu >= RESOURCE_UNSET);
		FUZZ_CHECK(container->request.nr_hugepages <= POD_MAX_HUGEPAGES);
		for (uint32_t j = 0; j < container->request.nr_hugepages; j++)
			FUZZ_CHECK(container->request.hugepages[j].size_bytes > 0);
	}
	FUZZ_CHECK(pod_qos(spec) < QOS_NR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manifest manifest cleanup_manifest = {0};
	char sentence[FORMAT_ERROR_TEXT_MAX];

	FUZZ_CHECK(manifest_parse((const char *)data, size, &manifest) == 0);
	FUZZ_CHECK(manifest.nr_documents <= MANIFEST_MAX_DOCUMENTS + 1);
	for (uint32_t i = 0; i < manifest.nr_documents; i++) {
		const struct manifest_document *document = &manifest.documents[i];

		FUZZ_CHECK((document->spec != NULL) == (*document->error.message == '\0'));
		FUZZ_CHECK(document->line > 0);
		if (document->spec)
			check_spec(document->spec);
		format_error_text(&document->error, "file", sentence, sizeof(sentence));
		for (const char *c = sentence; *c; c++)
			FUZZ_CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
	return 0;
}
