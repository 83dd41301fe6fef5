/* SPDX-License-Identifier: Apache-2.0 */
/* Strangers as a test says they are. A walk ends at once, or when the test says. */
#ifndef TESTS_FAKE_STRANGER_H
#define TESTS_FAKE_STRANGER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ports.h"

static struct {
	const struct stranger_sink *sink;
	/* What the next walk reports; the rows' texts are the test's. */
	const struct stranger_row *rows;
	uint32_t nr;
	struct stranger_report counts; /* its rows are not used */
	int error;		       /* of the call */
	int result;		       /* of the walk */
	bool is_slow;
	struct stranger_request request; /* the last one; its owners are not valid any more */
	struct stranger_owner owner;	 /* the first of them */
	unsigned int nr_walks;
} fake_stranger;

static inline char *fake_stranger_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static inline void fake_stranger_end(void)
{
	struct stranger_report report = fake_stranger.counts;

	report.nr = fake_stranger.nr;
	report.rows = calloc(report.nr + 1, sizeof(*report.rows));
	for (uint32_t i = 0; i < report.nr; i++) {
		const struct stranger_row *row = &fake_stranger.rows[i];

		report.rows[i] = *row;
		report.rows[i].cgroup = fake_stranger_copy(row->cgroup);
		report.rows[i].affinity = fake_stranger_copy(row->affinity);
		report.rows[i].original = fake_stranger_copy(row->original);
		report.rows[i].exclusive = fake_stranger_copy(row->exclusive);
	}
	fake_stranger.sink->walked(fake_stranger.sink->self, fake_stranger.result, &report);
	stranger_report_fini(&report);
}

static inline int fake_stranger_walk(void *self, const struct stranger_request *request)
{
	fake_stranger.nr_walks++;
	fake_stranger.request = *request;
	if (request->nr_owners)
		fake_stranger.owner = request->owners[0];
	if (!fake_stranger.error && !fake_stranger.is_slow)
		fake_stranger_end();
	return fake_stranger.error;
}

static inline void fake_stranger_waits_in(void *self, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "proc_pid_readdir");
}

static const struct stranger_port fake_stranger_port = {
	.walk = fake_stranger_walk,
	.waits_in = fake_stranger_waits_in,
};

/* One in each state, in the order of enum stranger_state. */
static const struct stranger_row fake_stranger_rows[] = {
	{.thread = 20,
	 .process = 20,
	 .state = STRANGER_STATE_MOVED,
	 .comm = "sshd",
	 .cgroup = (char *)"/system.slice/ssh.service",
	 .affinity = (char *)"0-1,6-15",
	 .original = (char *)"0-15",
	 .exclusive = (char *)""},
	{.thread = 31,
	 .process = 30,
	 .state = STRANGER_STATE_REACHES,
	 .comm = "pinned",
	 .cgroup = (char *)"/user.slice/user-0.slice/session-1.scope/x",
	 .affinity = (char *)"2",
	 .exclusive = (char *)"2"},
	{.thread = 10,
	 .process = 10,
	 .kind = STRANGER_BOUND,
	 .state = STRANGER_STATE_BOUND,
	 .comm = "migration/2",
	 .cgroup = (char *)"/",
	 .affinity = (char *)"2",
	 .exclusive = (char *)"2"},
	{.thread = 40,
	 .process = 40,
	 .kind = STRANGER_POD,
	 .state = STRANGER_STATE_CPUSET,
	 .comm = "web",
	 .cgroup = (char *)"/pinfold.slice/podb/web",
	 .affinity = (char *)"2-15",
	 .exclusive = (char *)"2-5"},
	{.thread = 50,
	 .process = 50,
	 .state = STRANGER_STATE_CONTENDED,
	 .comm = "fighter",
	 .cgroup = (char *)"/system.slice/fighter.service",
	 .affinity = (char *)"0-15",
	 .original = (char *)"0-15",
	 .exclusive = (char *)"2-5",
	 .nr_reverts = 7},
	{.thread = 60,
	 .process = 60,
	 .kind = STRANGER_KTHREAD,
	 .state = STRANGER_STATE_FAILED,
	 .comm = "kswapd0",
	 .cgroup = NULL,
	 .affinity = (char *)"0-15",
	 .exclusive = (char *)"2-5",
	 .error = -16},
};

#endif
