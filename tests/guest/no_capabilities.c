// SPDX-License-Identifier: Apache-2.0
/*
 * no_capabilities COMMAND...: run a command as a container without capabilities has it: the
 * bounding set is empty, so root has none after the exec, and no program gives any. The guest's
 * busybox cannot do this.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int drop_all(void)
{
	int capability;

	/* ends at the first one that this kernel does not know */
	for (capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
			return -errno;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	int r;

	if (argc < 2) {
		fprintf(stderr, "usage: no_capabilities COMMAND...\n");
		return 2;
	}
	r = drop_all();
	if (r) {
		fprintf(stderr, "no_capabilities: %s\n", strerror(-r));
		return 126;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
