// SPDX-License-Identifier: Apache-2.0
/* flood CPU: has this CPU receive packets over the loopback device until the process is killed. */
#include <stdlib.h>

#include "flood.h"

int main(int argc, char **argv)
{
	if (argc != 2 || !flood_receive() || !flood_steer(atoi(argv[1]))) {
		perror("flood");
		return 2;
	}
	flood_send();
	perror("flood: send");
	return 1;
}
