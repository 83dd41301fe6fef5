// SPDX-License-Identifier: Apache-2.0
#include "format/finding.h"

const char *finding_name(enum finding kind)
{
#define FINDING_NAME(kind, name) [FINDING_##kind] = #name,
	static const char *const names[FINDING_NR] = {FINDINGS(FINDING_NAME)};
#undef FINDING_NAME

	return names[kind];
}
