/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ledger with its machine and policy. The test that includes it, after cmocka.h and scene.h, says in
 * set_up() which; FIXTURE(name) is one for the rest of a function, whose ledger must be sound at its end.
 */
#ifndef LEDGER_FIXTURE_H
#define LEDGER_FIXTURE_H

#include "scene.h"

struct fixture {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

static void set_up(struct fixture *fixture);

static inline void tear_down(struct fixture *fixture)
{
	assert_sound(fixture->ledger);
	ledger_free(fixture->ledger);
	topology_free(fixture->topology);
}
#define cleanup_fixture cleanup(tear_down)

#define FIXTURE(name)                        \
	struct fixture name cleanup_fixture; \
	set_up(&(name))

#endif
