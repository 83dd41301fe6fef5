/* SPDX-License-Identifier: Apache-2.0 */
/* The host's cgroups as a test says they are. A pass ends at once, or when the test says. */
#ifndef TESTS_FAKE_HOST_H
#define TESTS_FAKE_HOST_H

#include <stdio.h>

#include "ctl/ports.h"

static struct {
	const struct host_sink *sink;
	struct host_report report; /* of the next pass */
	int error;		   /* of the call */
	int result;		   /* of the pass */
	bool is_slow;
	struct host_request request; /* the last one */
	unsigned int nr_passes;
} fake_host;

static inline void fake_host_end(void)
{
	fake_host.sink->passed(fake_host.sink->self, fake_host.result, &fake_host.report);
}

static inline int fake_host_pass(void *self, const struct host_request *request)
{
	fake_host.nr_passes++;
	fake_host.request = *request;
	if (!fake_host.error && !fake_host.is_slow)
		fake_host_end();
	return fake_host.error;
}

static inline void fake_host_waits_in(void *self, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "cpuset_mutex");
}

static const struct host_port fake_host_port = {
	.pass = fake_host_pass,
	.waits_in = fake_host_waits_in,
};

#endif
