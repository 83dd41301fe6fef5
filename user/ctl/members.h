/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that somebody without the right moved over the border of a managed cgroup, where
 * enforcement.cgroupMoves: enforce says that they do not stay there: when they are moved back.
 *
 * The watch reports each such move. A member of a container goes back where it was, and a stranger
 * leaves; if the place where it was has gone, a member goes into its container and a stranger into the
 * root cgroup. Of a process that is moved again before that, the first place counts. Each repair of one
 * process makes the next one wait longer.
 *
 * Only what was reported is known. A thread that left its process behind, a process that clone3 made
 * elsewhere, and a move that was suppressed or lost are not. There is no list of members to compare with, so a
 * process whose move nobody saw is a member of the cgroup that it is in.
 */
#ifndef CTL_MEMBERS_H
#define CTL_MEMBERS_H

#include "ctl/ports.h"

struct controller;

/* Processes that are followed at the same time; a move of another one is only reported. */
#define MEMBERS_MAX 128

enum member_state {
	MEMBER_WAITING, /* to be moved back when it is due */
	MEMBER_RUNNING, /* it is being moved */
	MEMBER_SETTLED, /* it was moved back; kept for a while, because it may be moved again */
};

/* A process. Times are CLOCK_MONOTONIC. */
struct displaced {
	struct member_move move; /* its result is not used */
	enum member_state state;
	bool is_renewed;      /* it was moved again while it was being moved back */
	bool is_failed;	      /* the last attempt failed */
	uint32_t nr_repairs;  /* without a quiet time, successful ones */
	uint32_t nr_attempts; /* failed ones as well */
	uint32_t nr_looks;    /* in a row that found it in another managed cgroup */
	uint64_t due_ns, since_ns, attempted_ns; /* since_ns: it is being moved; 0 = it is not */
	char path[GROUP_PATH_MAX]; /* of its drift: its container, or what it came into */
	/* Who moved it last. */
	uint32_t pid;
	char comm[EVENT_COMM_LEN];
	char cgroup[160]; /* cut */
};

struct members {
	uint32_t nr;
	struct displaced *rows; /* owned, [MEMBERS_MAX], oldest first; NULL before the first use */
	char error[ROW_DETAIL_MAX]; /* of the last attempt that failed, as logged */
};

void members_fini(struct members *members);
/* Since when the oldest call of the port goes on; 0 = none does. *ret_member is borrowed. */
uint64_t members_since_ns(const struct members *members, const struct displaced **ret_member);

/*
 * An event with its names: if it is such a move, begin to undo it, or do so when it is due.
 * `is_target_named`: the path of its target is known.
 */
void ctl_hear_move(struct controller *controller, const struct event_row *event,
		   bool is_target_named);
/* The port has moved a process, or has not. */
void ctl_end_member_move(struct controller *controller, const struct member_move *move);
/* Each second: move what is due, and forget what was quiet for long. */
void ctl_follow_members(struct controller *controller);

#endif
