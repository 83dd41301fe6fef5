// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
// COVERS: user/format/config.c
// COVERS: user/format/config_types.c
// COVERS: user/format/config_policy.c
/*
 * The configuration: what is accepted renders, reads back and renders the same;
 * what is refused has a sentence and changes nothing.
 */
#include <string.h>

#include "format/config.h"
#include "kubelet/config.h"
#include "fuzz.h"

static char *render(const struct config *config, enum emit_style style)
{
	struct text text = {0};
	char *string = NULL;

	config_render(config, style, &text);
	FUZZ_CHECK(text_take(&text, &string) == 0);
	return string;
}

static void check_round_trip(const struct config *config, enum emit_style style)
{
	static struct config again;
	struct format_error error = {0};
	char *first cleanup_free = render(config, style), *second cleanup_free = NULL;

	config_default(&again);
	FUZZ_CHECK(config_parse(first, strlen(first), &error, &again) == 0);
	second = render(&again, style);
	FUZZ_CHECK(strcmp(first, second) == 0);
}

/* The deciding fields as they stand in the state file. */
static void check_policy(const struct config *config)
{
	static struct policy policy;
	struct yaml_tree *tree cleanup_yaml = NULL;
	struct text text cleanup_text = {0};
	struct format_error error = {0};
	struct emitter emitter;

	emit_begin(&emitter, &text, EMIT_JSON);
	config_emit_policy(&emitter, "policy", &config->policy);
	emit_end(&emitter);
	FUZZ_CHECK(yaml_parse_one(text.data, text.len, &YAML_LIMITS, &error, &tree) == 0);
	FUZZ_CHECK(config_read_policy(yaml_get(tree->root, "policy"), "policy", &error, &policy) ==
		   0);
	FUZZ_CHECK(policy.reserved_mcpu == config->policy.reserved_mcpu);
	FUZZ_CHECK(cpuset_equal(&policy.reserved_list, &config->policy.reserved_list));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config config, before;
	struct format_error error = {0};

	config_default(&config);
	kubelet_config_import((const char *)data, size, &error, &config);
	config_default(&config);
	memcpy(&before, &config, sizeof(before));
	memset(&error, 0, sizeof(error));
	if (config_parse((const char *)data, size, &error, &config) < 0) {
		FUZZ_CHECK(*error.message);
		FUZZ_CHECK(memcmp(&before, &config, sizeof(before)) == 0);
		return 0;
	}
	FUZZ_CHECK(config_host_tasks(&config) != HOST_TASKS_AUTO);
	check_round_trip(&config, EMIT_YAML);
	check_round_trip(&config, EMIT_JSON);
	check_policy(&config);
	return 0;
}
