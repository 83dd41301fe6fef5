// SPDX-License-Identifier: Apache-2.0
#include "core/plan/planner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool step_is_on_the_way(const struct step *step, const char *final_value)
{
	return step->old && final_value && !strcmp(step->old, final_value);
}

struct step *planner_add_step(struct planner *planner, enum step_kind kind,
			      const struct group *group)
{
	struct plan *plan = &planner->plan;
	struct step *step;

	if (planner->error)
		return NULL;
	if (plan->nr_steps == planner->capacity) {
		uint32_t capacity = planner->capacity ? planner->capacity * 2 : 32;
		struct step *grown = realloc(plan->steps, capacity * sizeof(*grown));

		if (!grown) {
			planner->error = -ENOMEM;
			return NULL;
		}
		plan->steps = grown;
		planner->capacity = capacity;
	}
	step = &plan->steps[plan->nr_steps++];
	*step = (struct step){.kind = kind, .role = group->role};
	snprintf(step->path, sizeof(step->path), "%s", group->path);
	memcpy(step->uid, group->uid, sizeof(step->uid));
	memcpy(step->container, group->container, sizeof(step->container));
	return step;
}

void planner_write(struct planner *planner, const struct group *group, enum group_file file,
		   const char *value, const char *old)
{
	struct step *step = planner_add_step(planner, STEP_WRITE, group);

	if (!step)
		return;
	step->file = file;
	step->value = strdup(value);
	step->old = old ? strdup(old) : NULL;
	if (!step->value || (old && !step->old))
		planner->error = -ENOMEM;
}

void planner_write_set(struct planner *planner, const struct group *group, enum group_file file,
		       const struct cpuset *set, const char *old)
{
	cpuset_format(set, planner->text, sizeof(planner->text));
	planner_write(planner, group, file, planner->text, old);
}
