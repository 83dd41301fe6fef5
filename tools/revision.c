// SPDX-License-Identifier: Apache-2.0
/* The source revision this was built from, which the Makefile passes to this file alone. */
#include "inspect.h"

#ifndef PINFOLD_REVISION
#define PINFOLD_REVISION "unknown"
#endif
const char program_revision[] = PINFOLD_REVISION;
