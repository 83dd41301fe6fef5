// SPDX-License-Identifier: Apache-2.0
/*
 * The armed crash point, if any. The only state is the environment variable as of the
 * start; without it a point costs one load and a branch.
 */
#include "lib/crash.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char armed_name[64];
static unsigned long passes_left;
static bool armed;

void crash_arm(void)
{
	const char *wanted = getenv("PINFOLD_CRASH_AT");
	const char *colon = wanted ? strchr(wanted, ':') : NULL;
	size_t len;

	armed = false;
	if (!wanted)
		return;
	len = colon ? (size_t)(colon - wanted) : strlen(wanted);
	if (!len || len >= sizeof(armed_name))
		return;
	memcpy(armed_name, wanted, len);
	armed_name[len] = '\0';
	passes_left = colon ? strtoul(colon + 1, NULL, 10) : 1;
	armed = passes_left > 0;
}

void crash_point(const char *name)
{
	if (!armed || strcmp(name, armed_name) != 0)
		return;
	if (--passes_left == 0)
		kill(getpid(), SIGKILL);
}
