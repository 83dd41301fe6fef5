// SPDX-License-Identifier: Apache-2.0
/*
 * A look at the cgroups, and the state known since the last one. reconcile.c decides what to
 * do about it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/look.h"
#include "lib/log.h"

void look_doubt(struct look *look, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(look->problem, sizeof(look->problem), format, args);
	va_end(args);
	look->is_in_doubt = true;
}

void look_succeed(struct look *look)
{
	look->is_in_doubt = false;
	*look->problem = '\0';
}

int look_fail(struct look *look, int error_code, const char *what)
{
	char problem[ROW_DETAIL_MAX];

	snprintf(problem, sizeof(problem), "%s: %s", what, strerror(-error_code));
	if (text_is_news(look->problem, problem))
		log_err(0, "ctl: %s", problem);
	look_doubt(look, "%s", problem);
	return error_code;
}

/* --- what ended during a look ----------------------------------------------------------------- */

static void forget_done(struct look *look)
{
	while (look->nr_done)
		free(look->done[--look->nr_done].step.value);
	look->forgot_done = false;
}

void look_fini(struct look *look)
{
	forget_done(look);
	free(look->done);
	group_tree_fini(&look->observed);
}

/* Repeated joins of one container need only one entry. */
static bool is_noted_join(const struct look *look, const struct step *step)
{
	for (uint32_t i = 0; i < look->nr_done; i++)
		if (look->done[i].kind == OPERATION_JOIN &&
		    !strcmp(look->done[i].step.path, step->path))
			return true;
	return false;
}

static struct done *add_done(struct look *look)
{
	struct done *grown;

	if (look->nr_done == MAX_DONE)
		return NULL;
	if (look->nr_done == look->max_done) {
		grown = realloc(look->done, (look->max_done + 16) * sizeof(*grown));
		if (!grown)
			return NULL;
		look->done = grown;
		look->max_done += 16;
	}
	return &look->done[look->nr_done];
}

static void note_done(struct look *look, enum operation_kind kind, const struct step *step,
		      int result)
{
	char *value = NULL;
	struct done *done;

	if (kind == OPERATION_JOIN && is_noted_join(look, step))
		return;
	if (step->value)
		value = strdup(step->value);
	done = add_done(look);
	if (!done || (step->value && !value)) {
		free(value);
		look->forgot_done = true;
		return;
	}
	*done = (struct done){.kind = kind, .step = *step, .result = result};
	done->step.old = NULL;
	done->step.value = value;
	look->nr_done++;
}

static int play_write(const struct step *step, struct group *group)
{
	char *value = step->value ? strdup(step->value) : NULL;

	if (step->value && !value)
		return -ENOMEM;
	free(group->files[step->file]);
	group->files[step->file] = value;
	return 0;
}

static int play_step(const struct step *step, struct group_tree *observed)
{
	struct group *group = group_tree_find(observed, step->path);

	if (step->kind == STEP_REMOVE) {
		group_tree_drop(observed, step->path);
		return 0;
	}
	if (!group) {
		group = group_tree_add(observed, step->role, step->path);
		if (!group)
			return -ENOMEM;
		memcpy(group->uid, step->uid, sizeof(group->uid));
		memcpy(group->container, step->container, sizeof(group->container));
	}
	return step->kind == STEP_WRITE ? play_write(step, group) : 0;
}

/* A group is populated if it or a descendant has a process. */
static void play_join(const struct step *step, struct group_tree *observed)
{
	char path[GROUP_PATH_MAX];

	memcpy(path, step->path, sizeof(path));
	for (char *end = path; end; end = strrchr(path, '/')) {
		struct group *group;

		if (end != path)
			*end = '\0';
		group = group_tree_find(observed, path);
		if (group)
			group->populated = true;
	}
}

static int play(enum operation_kind kind, const struct step *step, int result,
		struct group_tree *observed)
{
	/* The kernel reports the end of the last process as "populated 0". */
	if (result || kind == OPERATION_KILL)
		return 0;
	if (kind == OPERATION_STEP)
		return play_step(step, observed);
	play_join(step, observed);
	return 0;
}

void look_note(struct look *look, enum operation_kind kind, const struct step *step, int result)
{
	if (play(kind, step, result, &look->observed))
		look_doubt(look, "the agent had no memory to record a change to %.200s",
			   step->path);
	if (look->since_ns)
		note_done(look, kind, step, result);
}

static int play_done(const struct look *look, struct group_tree *observed)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < look->nr_done; i++) {
		const struct done *done = &look->done[i];

		r = play(done->kind, &done->step, done->result, observed);
	}
	return r;
}

void look_replace(struct look *look, const struct group_tree *observed,
		  struct group_tree *ret_known)
{
	*ret_known = look->observed;
	look->observed = *observed;
	look->has_ended = true;
}

/* --- a look ----------------------------------------------------------------------------------- */

/* Operations that ended during a long look are played on its result later. */
static int observe(struct controller *controller, struct group_tree *ret_observed)
{
	const struct groups_port *groups = controller->ports.groups;
	struct look *look = &controller->look;
	bool was_looking = look->since_ns;
	int r;

	if (!was_looking) {
		forget_done(look);
		look->began_ns = clock_now_ns(controller->ports.clock);
	}
	r = groups->read_tree(groups->self, ret_observed);
	if (r != -EINPROGRESS) {
		look->since_ns = 0;
		/* More was done than is recorded, so this result cannot be corrected. */
		if (look->forgot_done) {
			forget_done(look);
			group_tree_fini(ret_observed);
			was_looking = false;
			r = groups->read_tree(groups->self, ret_observed);
		}
	}
	if (r != -EINPROGRESS) {
		if (look->is_wanted_again)
			wakes_schedule(&controller->wakes, 0);
		look->is_wanted_again = false;
		return r;
	}
	if (was_looking) {
		/* The caller may know of a change in a place that this look has already passed. */
		look->is_wanted_again = true;
		return r;
	}
	look->since_ns = clock_now_ns(controller->ports.clock);
	return r;
}

static int copy_files(const struct group *from, struct group *to)
{
	to->populated = from->populated;
	for (int file = 0; file < GROUP_FILE_NR; file++) {
		free(to->files[file]);
		to->files[file] = from->files[file] ? strdup(from->files[file]) : NULL;
		if (from->files[file] && !to->files[file])
			return -ENOMEM;
	}
	return 0;
}

/*
 * A pod whose chain waits is not read. Its state does not change meanwhile, so the last known
 * state is used; the effect of the operation is known from the operation itself.
 */
static int fill_unseen(const struct group_tree *known, struct group_tree *observed)
{
	uint32_t nr = observed->nr_groups;

	for (uint32_t i = 0; i < nr; i++) {
		char below_path[GROUP_PATH_MAX + 1];

		if (!observed->groups[i].unseen)
			continue;
		snprintf(below_path, sizeof(below_path), "%s/", observed->groups[i].path);
		for (uint32_t j = 0; j < known->nr_groups; j++) {
			const struct group *seen = &known->groups[j];
			bool is_pod = !strcmp(seen->path, observed->groups[i].path);
			struct group *group = &observed->groups[i];

			if (!is_pod && strncmp(seen->path, below_path, strlen(below_path)))
				continue;
			if (!is_pod) {
				/* Noted already, with the values that are being written. */
				if (group_tree_find(observed, seen->path))
					continue;
				group = group_tree_add(observed, seen->role, seen->path);
			}
			if (!group || copy_files(seen, group))
				return -ENOMEM;
			memcpy(group->uid, seen->uid, sizeof(group->uid));
			memcpy(group->container, seen->container, sizeof(group->container));
		}
	}
	return 0;
}

int ctl_look(struct controller *controller, struct group_tree *ret_observed)
{
	struct group_tree observed cleanup_tree = {0};
	struct look *look = &controller->look;
	char self_test[GROUP_PATH_MAX];
	int r;

	r = observe(controller, &observed);
	if (r == -EINPROGRESS)
		return r;
	if (r && r != -ENOENT)
		return look_fail(look, r, "the cgroups cannot be read");
	lookup_self_test(&controller->layout, self_test);
	group_tree_drop(&observed, self_test);
	r = fill_unseen(&look->observed, &observed);
	if (!r)
		r = play_done(look, &observed);
	if (r)
		return look_fail(look, r, "the known state of blocked pods cannot be copied");
	*ret_observed = observed;
	observed = (struct group_tree){0};
	return 0;
}

void ctl_check_reach(struct controller *controller)
{
	const struct groups_port *groups = controller->ports.groups;
	struct look *look = &controller->look;
	struct group_obstacle obstacle = {0};
	bool was_blocked = look->is_blocked;

	if (!groups->check(groups->self, &obstacle)) {
		look->is_blocked = false;
		findings_clear(&controller->findings, FINDING_CGROUPS_OUT_OF_REACH);
		/* Changes in the meantime were not noticed. */
		if (was_blocked)
			wakes_schedule(&controller->wakes, 0);
		return;
	}
	look->is_blocked = true;
	snprintf(look->obstacle, sizeof(look->obstacle), "%s", obstacle.message);
	findings_put(&controller->findings, FINDING_CGROUPS_OUT_OF_REACH, obstacle.remedy, "%s",
		     obstacle.message);
}
