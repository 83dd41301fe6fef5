// SPDX-License-Identifier: Apache-2.0
/*
 * A process is known by its number and its start time. The port finds out where it is, when the time has
 * come: what happened since the event needs no event of its own.
 */
#include "ctl/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/backoff.h"
#include "ctl/internal.h"
#include "lib/log.h"
#include "lib/text.h"

#define RETRY_NS 1000000000ULL
/* So many looks at a process that is in another managed cgroup; the event of that move is then missing. */
#define LOOKS_MAX 3

void members_fini(struct members *members)
{
	free(members->rows);
}

uint64_t members_since_ns(const struct members *members, const struct displaced **ret_member)
{
	uint64_t since_ns = 0;

	for (uint32_t i = 0; i < members->nr; i++) {
		const struct displaced *member = &members->rows[i];

		if (member->state != MEMBER_RUNNING || (since_ns && member->since_ns >= since_ns))
			continue;
		since_ns = member->since_ns;
		*ret_member = member;
	}
	return since_ns;
}

static struct displaced *find_member(struct members *members, uint32_t pid, uint64_t start_ticks)
{
	for (uint32_t i = 0; i < members->nr; i++)
		if (members->rows[i].move.pid == pid &&
		    members->rows[i].move.start_ticks == start_ticks)
			return &members->rows[i];
	return NULL;
}

static void drop_member(struct members *members, struct displaced *member)
{
	uint32_t at = (uint32_t)(member - members->rows);

	members->nr--;
	memmove(member, member + 1, (members->nr - at) * sizeof(*member));
}

/* NULL: there is no memory, or so many wait already. */
static struct displaced *add_member(struct members *members)
{
	struct displaced *member;

	if (!members->rows)
		members->rows = calloc(MEMBERS_MAX, sizeof(*members->rows));
	if (!members->rows)
		return NULL;
	for (uint32_t i = 0; i < members->nr && members->nr == MEMBERS_MAX; i++)
		if (members->rows[i].state == MEMBER_SETTLED)
			drop_member(members, &members->rows[i]);
	if (members->nr == MEMBERS_MAX)
		return NULL;
	member = &members->rows[members->nr++];
	*member = (struct displaced){0};
	return member;
}

/* --- words ------------------------------------------------------------------------------------ */

/*
 * "pid 7 of container db of pod default/a", "pid 7, a stranger in pinfold.slice/x". The path of a member
 * whose container has gone is that of the one it was moved into.
 */
static void name_member(struct controller *controller, const struct displaced *member, char *text,
			size_t size)
{
	struct event_row names = {0};

	lookup_name_event(controller->ledger, &controller->desired, member->path, &names);
	if (!member->move.home_id)
		snprintf(text, size, "pid %u, a stranger in %.120s,", member->move.pid,
			 member->path);
	else if (!*member->move.home && *member->move.inside)
		snprintf(text, size, "pid %u of a container that has gone, in %.100s,",
			 member->move.pid, member->move.inside);
	else if (*names.pod)
		snprintf(text, size, "pid %u of container %.60s of pod %.60s", member->move.pid,
			 names.container, names.pod);
	else
		snprintf(text, size, "pid %u of %.120s", member->move.pid, member->path);
}

static void tell_fight(struct controller *controller, const struct displaced *member, uint32_t nr)
{
	char name[160], more[48] = "";

	if (!member) {
		findings_clear(&controller->findings, FINDING_MEMBERS_CONTESTED);
		return;
	}
	name_member(controller, member, name, sizeof(name));
	if (nr > 1)
		snprintf(more, sizeof(more), "; and %u more", nr - 1);
	findings_update(
		&controller->findings, FINDING_MEMBERS_CONTESTED,
		"find out why it moves processes of containers, and end that, or set "
		"enforcement.cgroupMoves: audit",
		"the agent moved %.90s back %u times, and each time it was moved again, last by "
		"%.16s (pid %u) of %.60s; it is moved back at longer intervals%s",
		name, member->nr_repairs, member->comm, member->pid, member->cgroup, more);
}

static void tell_findings(struct controller *controller)
{
	struct members *members = &controller->members;
	const struct displaced *fighter = NULL;
	uint32_t nr_fights = 0;
	bool is_failed = false;

	for (uint32_t i = 0; i < members->nr; i++) {
		const struct displaced *member = &members->rows[i];

		is_failed |= member->is_failed;
		if (member->nr_repairs < BACKOFF_FIGHT)
			continue;
		nr_fights++;
		if (!fighter)
			fighter = member;
	}
	tell_fight(controller, fighter, nr_fights);
	findings_update_if(&controller->findings, FINDING_MEMBERS_NOT_REPAIRED, is_failed,
			   "see the error; the agent tries again at longer intervals", "%s",
			   members->error);
	if (!is_failed)
		*members->error = '\0';
}

/* --- drift ------------------------------------------------------------------------------------ */

static void open_drift(struct controller *controller, const struct displaced *member,
		       const struct event_row *event)
{
	const struct event_record *record = &event->record;
	struct drift_row *row = drift_open_members(&controller->drift, member->path);

	/* The event has the name of one of the two cgroups, the managed one. */
	if (record->target_id == record->move.to_id) {
		snprintf(row->wanted, sizeof(row->wanted), "pid %u in cgroup %llu",
			 member->move.pid, (unsigned long long)record->move.from_id);
		snprintf(row->found, sizeof(row->found), "pid %u in %.200s", member->move.pid,
			 event->target);
	} else {
		snprintf(row->wanted, sizeof(row->wanted), "pid %u in %.200s", member->move.pid,
			 event->target);
		snprintf(row->found, sizeof(row->found), "pid %u in cgroup %llu", member->move.pid,
			 (unsigned long long)record->move.to_id);
	}
	row->pid = record->pid;
	memcpy(row->comm, record->comm, sizeof(row->comm));
	memcpy(row->cgroup, event->cgroup, sizeof(row->cgroup));
	row->cause = drift_cause_of(record->pid, event->cgroup);
}

/* One row is for all processes of the cgroup that are not back. */
static void close_drift(struct controller *controller, const char *path, uint32_t action)
{
	const struct members *members = &controller->members;

	for (uint32_t i = 0; i < members->nr; i++)
		if (members->rows[i].state != MEMBER_SETTLED &&
		    !strcmp(members->rows[i].path, path))
			return;
	drift_close_members(&controller->drift, path, action);
}

static void note_repair(struct controller *controller, const struct displaced *member,
			const struct member_move *move)
{
	struct event_row event = {.record = EVENT_RECORD(EVENT_REPAIR)};
	struct event_record *record = &event.record;
	const char *to = *move->to ? move->to : "/";

	record->aspect = ASPECT_CGROUP_MOVES;
	record->action = ACTION_REPAIR;
	record->attribute = GROUP_MEMBERS;
	text_copy(event.target, sizeof(event.target), member->path);
	lookup_name_event(controller->ledger, &controller->desired, member->path, &event);
	if (move->nr_children)
		snprintf(record->value, sizeof(record->value), "pid %u and %u child%s in %.200s",
			 move->pid, move->nr_children, move->nr_children == 1 ? "" : "ren", to);
	else
		snprintf(record->value, sizeof(record->value), "pid %u in %.200s", move->pid, to);
	event_log_add(&controller->events, &event);
}

/* --- moves ------------------------------------------------------------------------------------ */

static const char *published_path(const struct controller *controller, uint64_t id)
{
	const struct publisher *publisher = &controller->publisher;

	for (uint32_t i = 0; id && i < publisher->nr; i++)
		if (publisher->rows[i].managed.cgroup_id == id)
			return publisher->rows[i].path;
	return "";
}

/* Where it is now, and who did it. */
static void follow_move(const struct controller *controller, const struct event_row *event,
			bool is_target_named, struct displaced *member)
{
	const struct event_record *record = &event->record;
	struct member_move *move = &member->move;
	const bool is_inside = record->target_id == record->move.to_id;
	const uint64_t border_id = record->move.to_border_id;
	const char *inside = published_path(controller, border_id);

	move->inside_id = border_id ? border_id : record->move.to_id;
	if (!is_inside)
		move->inside_id = 0;
	if (is_inside && !*inside && is_target_named)
		inside = event->target;
	text_copy(move->inside, sizeof(move->inside), is_inside ? inside : "");
	member->nr_looks = 0;
	member->pid = record->pid;
	memcpy(member->comm, record->comm, sizeof(member->comm));
	text_copy(member->cgroup, sizeof(member->cgroup), event->cgroup);
}

/* Where it belongs: this is the first move since it was there. */
static void begin_move(const struct controller *controller, const struct event_row *event,
		       bool is_target_named, struct displaced *member)
{
	const struct event_record *record = &event->record;
	struct member_move *move = &member->move;
	const char *home = published_path(controller, record->move.from_border_id);

	move->pid = record->move.target_pid;
	move->start_ticks = record->move.start_ticks;
	move->moved_ticks = record->move.moved_ticks;
	move->from_id = record->move.from_id;
	move->home_id = record->move.from_border_id;
	/* systemd would make the cgroup anew; nobody wants that of a pod that has ended. */
	text_copy(move->home, sizeof(move->home),
		  group_tree_find(&controller->desired, home) ? home : "");
	member->state = MEMBER_WAITING;
	member->due_ns = member->attempted_ns + backoff_ns(member->nr_attempts);
	follow_move(controller, event, is_target_named, member);
	if (*move->home)
		text_copy(member->path, sizeof(member->path), move->home);
	else if (!move->home_id && *move->inside)
		text_copy(member->path, sizeof(member->path), move->inside);
	else
		text_copy(member->path, sizeof(member->path), event->target);
}

/* The port may tell the end, and thereby drop the member, before it returns. */
static void restore(struct controller *controller, struct displaced *member)
{
	const struct member_port *port = controller->ports.members;
	const struct member_move move = member->move;
	int r;

	member->state = MEMBER_RUNNING;
	member->is_renewed = false;
	member->since_ns = clock_now_ns(controller->ports.clock);
	r = port->restore(port->self, &move);
	if (!r)
		return;
	if (r != -EBUSY)
		log_err(r, "ctl: cannot move process %u back; trying again", move.pid);
	member->state = MEMBER_WAITING;
	member->due_ns = member->since_ns + RETRY_NS;
	member->since_ns = 0;
}

static bool is_ours_to_undo(const struct controller *controller, const struct event_record *record)
{
	return record->kind == EVENT_MOVE && record->move.start_ticks &&
	       controller->ports.members && ctl_may_repair(controller, GROUP_MEMBERS);
}

/*
 * Whoever took a member out may have put it back before the first of the two events was heard, and then
 * the second one is a move home. That of a process whose earlier moves were only counted may be one, too:
 * a member that is taken for a stranger is driven out of its container, which does more harm than a
 * stranger that stays.
 */
static bool is_move_home(const struct displaced *member, const struct event_record *record)
{
	const bool is_stranger = record->move.to_border_id && !record->move.from_border_id;

	if (member && member->state == MEMBER_SETTLED && member->move.home_id)
		return record->move.to_border_id == member->move.home_id;
	return !member && is_stranger && record->suppressed;
}

void ctl_hear_move(struct controller *controller, const struct event_row *event,
		   bool is_target_named)
{
	const struct event_record *record = &event->record;
	struct displaced *member;

	if (!is_ours_to_undo(controller, record))
		return;
	member = find_member(&controller->members, record->move.target_pid,
			     record->move.start_ticks);
	if (is_move_home(member, record))
		return;
	if (!member)
		member = add_member(&controller->members);
	if (!member) {
		log_warn(
			0,
			"ctl: process %u stays where it was moved: %u others wait to be moved back",
			record->move.target_pid, controller->members.nr);
		drift_count_members(&controller->drift, false);
		return;
	}
	if (!member->move.pid || member->state == MEMBER_SETTLED) {
		begin_move(controller, event, is_target_named, member);
	} else {
		follow_move(controller, event, is_target_named, member);
		member->is_renewed = member->state == MEMBER_RUNNING;
	}
	open_drift(controller, member, event);
	tell_findings(controller);
	if (member->state == MEMBER_WAITING &&
	    member->due_ns <= clock_now_ns(controller->ports.clock))
		restore(controller, member);
}

/* It is not going to be moved any more. */
static void settle(struct controller *controller, struct displaced *member, uint32_t action,
		   bool may_come_again)
{
	char path[GROUP_PATH_MAX];

	memcpy(path, member->path, sizeof(path));
	member->state = MEMBER_SETTLED;
	member->is_failed = false;
	/* Of a member it is remembered where its home is; see is_move_home(). */
	if (!member->nr_attempts)
		member->attempted_ns = clock_now_ns(controller->ports.clock);
	if (!may_come_again || (!member->nr_attempts && !member->move.home_id))
		drop_member(&controller->members, member);
	close_drift(controller, path, action);
}

static void end_failed(struct controller *controller, struct displaced *member,
		       const struct member_move *move)
{
	member->is_failed = true;
	drift_count_members(&controller->drift, false);
	if (text_is_news(controller->members.error, move->error))
		log_err(0, "ctl: %s", move->error);
	text_copy(controller->members.error, sizeof(controller->members.error), move->error);
}

static void end_move(struct controller *controller, struct displaced *member,
		     const struct member_move *move)
{
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	const bool is_attempt = move->result != -EALREADY && move->result != -EAGAIN &&
				move->result != -ENOENT && move->result != -ESRCH;

	member->state = MEMBER_WAITING;
	member->since_ns = 0;
	if (is_attempt) {
		member->nr_attempts++;
		member->attempted_ns = now_ns;
	}
	member->due_ns = is_attempt ? now_ns + backoff_ns(member->nr_attempts) : now_ns + RETRY_NS;
	if (!move->result) {
		member->nr_repairs++;
		drift_count_members(&controller->drift, true);
		note_repair(controller, member, move);
	} else if (is_attempt) {
		end_failed(controller, member, move);
		return;
	}
	/* Whether that was before or after this one, the next look says. */
	if (member->is_renewed && move->result != -ESRCH)
		return;
	if (move->result == -EAGAIN && ++member->nr_looks < LOOKS_MAX)
		return;
	settle(controller, member, move->result ? ACTION_NONE : ACTION_REPAIR,
	       move->result != -ESRCH);
}

void ctl_end_member_move(struct controller *controller, const struct member_move *move)
{
	struct displaced *member = find_member(&controller->members, move->pid, move->start_ticks);

	if (member && member->state == MEMBER_RUNNING)
		end_move(controller, member, move);
	tell_findings(controller);
}

/* --- later ------------------------------------------------------------------------------------ */

/* The configuration has changed: what was moved stays, and is only reported. */
static void give_up(struct controller *controller)
{
	struct members *members = &controller->members;

	for (uint32_t i = members->nr; i-- > 0;) {
		if (members->rows[i].state == MEMBER_WAITING)
			settle(controller, &members->rows[i], ACTION_AUDIT, false);
		else if (members->rows[i].state == MEMBER_SETTLED)
			drop_member(members, &members->rows[i]);
	}
}

void ctl_follow_members(struct controller *controller)
{
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);
	struct members *members = &controller->members;

	if (!members->nr)
		return;
	if (!ctl_may_repair(controller, GROUP_MEMBERS))
		give_up(controller);
	/* Downwards, because a call of the port may drop the one that it is for. */
	for (uint32_t i = members->nr; i-- > 0;) {
		struct displaced *member = &members->rows[i];

		if (member->state == MEMBER_WAITING && member->due_ns <= now_ns)
			restore(controller, member);
		else if (member->state == MEMBER_SETTLED &&
			 now_ns - member->attempted_ns >= BACKOFF_QUIET_NS)
			drop_member(members, member);
	}
	tell_findings(controller);
}
