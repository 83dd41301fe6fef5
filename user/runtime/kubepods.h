/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The containers that were found below kubepods, as a source of pods where no runtime is asked to
 * call (sources.kubepods). Toward the controller it plays the runtime: what a scan finds becomes
 * its requests, and its answers are written to the cpusets of the cgroups that the runtime made.
 *
 * A container runs before it is found, so nothing can be denied to it; what it had run when it was
 * found is counted. A cpuset that somebody else writes afterwards is put back, ever more rarely if that
 * happens again and again. A container that did not get what it asks for is decided again when the
 * controller says that there is more room, after those that came meanwhile: the next container of a pod
 * takes over what the one before it has left.
 *
 * A container that has ended keeps its grant while its pod exists, because the kubelet starts it
 * again. The grant ends earlier if a container with its name has taken over, or if it always ran alone
 * and another container of the pod began: then it is taken for an init container. Ephemeral containers,
 * which have no amounts, neither keep it company nor take its place.
 */
#ifndef RUNTIME_KUBEPODS_H
#define RUNTIME_KUBEPODS_H

#include "ctl/ports.h"
#include "kubelet/discovery.h"

struct kubepods;

/* All borrowed for the object's life. */
struct kubepods_options {
	const struct clock_port *clock;
	const struct runtime_sink *sink;
	const struct cpuset_port *cpusets;
	const struct discovery_port *discovery;
};

/* -ENOMEM. */
int kubepods_open(const struct kubepods_options *options, struct kubepods **ret_kubepods);
/* Accepts NULL. */
void kubepods_close(struct kubepods *kubepods);

/* Everything that a scan found; the content is not taken. */
void kubepods_discovered(struct kubepods *kubepods, const struct discovery *found);
/* The member of runtime_port: -ENOENT = not the request that is open; -ENOMEM. */
int kubepods_answer(struct kubepods *kubepods, uint32_t request,
		    const struct runtime_answer *answer);
/* The member of runtime_port: with the next scan. */
void kubepods_ask_again(struct kubepods *kubepods, const char *container_id);
/* The member of cpuset_sink. */
void kubepods_written(struct kubepods *kubepods, const struct cpuset_write *rows, uint32_t nr);

#endif
