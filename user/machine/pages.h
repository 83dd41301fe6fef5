/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the number of huge pages that are currently free; fills the controller's machine port. */
#ifndef MACHINE_PAGES_H
#define MACHINE_PAGES_H

#include "ctl/ports.h"

/* Both are borrowed for the port's lifetime. `root` as in machine_read. */
struct pages {
	const char *root;
	const struct topology *topology;
};

/* The port. It borrows `pages`, which the caller has filled in. */
struct machine_port pages_port(struct pages *pages);

#endif
