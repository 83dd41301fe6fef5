// SPDX-License-Identifier: Apache-2.0
/* Parses topologyManagerPolicyOptions and returns the kubelet's error messages. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/align/align.h"
#include "core/go_text.h"

/* The kubelet rejects a smaller value and only warns about a larger one. */
#define LEAST_MAX_NODES 8

static int parse_bool(const char *text, bool *ret_value)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{"1", true},	{"t", true},	  {"T", true},	    {"TRUE", true},
		{"true", true}, {"True", true},	  {"0", false},	    {"f", false},
		{"F", false},	{"FALSE", false}, {"false", false}, {"False", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].word, text) == 0) {
			*ret_value = words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

int align_option_set(const char *name, const char *value, bool *prefer_closest, uint32_t *max_nodes,
		     char *error, size_t error_size)
{
	int64_t number;
	int r;

	if (strcmp(name, "prefer-closest-numa-nodes") == 0) {
		if (parse_bool(value, prefer_closest) == 0)
			return 0;
		snprintf(error, error_size,
			 "bad value for option \"%s\": strconv.ParseBool: parsing \"%s\": "
			 "invalid syntax",
			 name, value);
		return -EINVAL;
	}
	if (strcmp(name, "max-allowable-numa-nodes") != 0) {
		snprintf(error, error_size, "unknown Topology Manager Policy option: \"%s\"", name);
		return -EINVAL;
	}
	r = go_parse_int(value, strlen(value), &number);
	if (r < 0) {
		snprintf(error, error_size,
			 "unable to convert policy option to integer \"%s\": strconv.Atoi: "
			 "parsing \"%s\": %s",
			 name, value, r == -ERANGE ? "value out of range" : "invalid syntax");
		return -EINVAL;
	}
	if (number < LEAST_MAX_NODES) {
		snprintf(error, error_size,
			 "the minimum value of \"%s\" should not be less than %d", name,
			 LEAST_MAX_NODES);
		return -EINVAL;
	}
	/* No machine has as many nodes, so a larger number makes no difference. */
	*max_nodes = number < INT32_MAX ? (uint32_t)number : INT32_MAX;
	return 0;
}
