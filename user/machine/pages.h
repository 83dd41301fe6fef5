/* SPDX-License-Identifier: Apache-2.0 */
/* Huge pages the kernel has free at this moment: fills the controller's machine port. */
#ifndef MACHINE_PAGES_H
#define MACHINE_PAGES_H

#include "ctl/ports.h"

/* Both borrowed for the port's life. `root` as in machine_read. */
struct pages {
	const char *root;
	const struct topology *topology;
};

struct machine_port pages_port(struct pages *pages);

#endif
