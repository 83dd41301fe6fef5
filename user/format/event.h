/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event is what a BPF program saw or what the agent did, as one tagged record that every
 * room passes on unchanged. Rooms decide by its numbers. Words are made in event.c alone.
 *
 * A new kind of event is one value of an enum (of enum agent_event below, or of enum
 * event_kind in abi.h where the kernel sends it), one member of the union, if it has
 * arguments, and one row of the table in event.c.
 */
#ifndef FORMAT_EVENT_H
#define FORMAT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pinfold/abi.h>

#include "format/kubepods.h"
#include "format/rows.h"
#include "format/words.h"

struct text;

/* The kinds that the agent makes itself. They follow those of the kernel, enum event_kind. */
enum agent_event {
	EVENT_ADMIT = EVENT_KIND_NR, /* a pod holds its CPUs and memory */
	EVENT_REFUSE,		     /* a pod was refused */
	EVENT_ENDING,		     /* no source names a pod any more, but it still runs */
	EVENT_POD_RELEASE,	     /* a pod's CPUs and memory are free again */
	EVENT_DIFFERENCE,	     /* a look found that a managed file differs from the ledger */
	EVENT_REPAIR,		     /* the agent wrote such a file again */
	EVENT_UNJUDGED,		     /* the kernel skipped programs of the guard */
	EVENT_GUARD_RELEASE,	     /* an operator's release of the guard began or ended */
	EVENT_STRANGERS,	     /* tasks were moved off exclusive CPUs */
	EVENT_IRQ_MASKS,	     /* another process changed masks that we wrote */
	EVENT_FINDING,		     /* a finding whose moment matters */
	EVENT_DISCOVER,		     /* a pod or container that others made was found */
	EVENT_VANISH,		     /* it is no longer there */
	EVENT_START,
	EVENT_RELOAD,
	EVENT_KINDS
};

enum admit_reason {
	ADMIT_NEW,
	ADMIT_CHANGED,
	ADMIT_MANIFEST_BACK,
	ADMIT_RESIZED, /* a container of a runtime, in place */
	ADMIT_REASON_NR
};

struct event_record {
	uint32_t kind;		   /* enum event_kind or enum agent_event */
	enum aspect aspect;	   /* ASPECT_NR = none */
	uint32_t action;	   /* enum event_action or enum agent_action */
	enum group_file attribute; /* the managed file concerned; GROUP_ATTRIBUTE_NR = none */
	/* The process that did it, 0 = none known, and its cgroup, 0 = not known. */
	uint32_t pid;
	char comm[EVENT_COMM_LEN];
	uint64_t culprit_id;
	/* If process 1 did it: the one process that had connected to it just before. */
	struct {
		uint32_t pid; /* 0 = none, or several */
		char comm[EVENT_COMM_LEN];
		uint64_t cgroup_id;
	} client;
	uint64_t target_id;  /* the managed cgroup it was done to, 0 = none */
	uint32_t suppressed; /* other events of the same culprit that were only counted */
	union {
		struct {
			enum guard_hook hook; /* HOOK_NONE = not known */
			uint32_t target_pid;
			char file[EVENT_FILE_LEN + 1];
		} guard; /* EVENT_GUARD */
		struct {
			char file[EVENT_FILE_LEN + 1], text[EVENT_TEXT_LEN + 1];
			bool is_controllers; /* of the children: cgroup.subtree_control */
		} write;		     /* EVENT_DRIFT */
		struct {
			uint32_t target_pid;
			uint64_t start_ticks; /* of this process; 0 = not known, or only a thread */
			uint64_t moved_ticks; /* when it was moved, likewise since the boot */
			uint64_t from_id, to_id; /* the cgroups; to_id 0 = not known */
			uint64_t from_border_id, to_border_id; /* their containers, 0 = none */
		} move;					       /* EVENT_MOVE */
		struct {
			uint32_t target_pid, nr_wanted;
			int error; /* 0 or negative errno: what the caller got */
			bool is_cut;
			uint64_t wanted[EVENT_MASK_WORDS];
		} attempt; /* EVENT_ATTEMPT */
		struct {
			bool is_populated; /* EVENT_POPULATED */
			char path[EVENT_TEXT_LEN + 1];
		} life;			/* EVENT_MKDIR … EVENT_ATTACH */
		uint32_t nr_suppressed; /* EVENT_SUPPRESSED */
		uint64_t nr_unjudged;	/* EVENT_UNJUDGED */
		enum admit_reason admit_reason;
		struct {
			char reason[40], message[208], suggestion[64];
		} refusal; /* EVENT_REFUSE */
		struct {
			char wanted[144], found[144];
		} difference;	  /* EVENT_DIFFERENCE */
		char value[288];  /* EVENT_REPAIR */
		bool is_released; /* EVENT_GUARD_RELEASE */
		struct {
			uint32_t nr;
			char cpus[144];
		} strangers; /* EVENT_STRANGERS: how many, and off which CPUs */
		struct {
			uint32_t nr;
			bool is_reverted;	  /* false = they stay so */
			char first[64], mask[64]; /* one of them, and what it was changed to */
		} irq_masks;			  /* EVENT_IRQ_MASKS */
		char finding[ROW_DETAIL_MAX];	  /* EVENT_FINDING: its message */
		struct {
			enum kubepods_kind kind;
			char path[ROW_PATH_MAX];
		} discovery; /* EVENT_DISCOVER, EVENT_VANISH */
	};
};

/* A record that states nothing but its kind; the caller fills in the rest. */
#define EVENT_RECORD(kind_)                           \
	((struct event_record){.kind = (kind_),       \
			       .aspect = ASPECT_NR,   \
			       .action = ACTION_NONE, \
			       .attribute = GROUP_ATTRIBUTE_NR})

/* A record in the event log: when it was recorded, and the names behind its ids. */
struct event_row {
	struct event_record record;
	uint64_t log_ns;	   /* CLOCK_REALTIME when the log began: an agent's start */
	uint64_t sequence;	   /* ascending without gaps in one log */
	uint64_t time_ns;	   /* CLOCK_REALTIME */
	uint64_t last_ns;	   /* of the last event that the log only counted here; 0 = none */
	char cgroup[ROW_PATH_MAX]; /* of the culprit, "" = not known */
	char client[ROW_PATH_MAX]; /* cgroup of process 1's client, "" = none */
	char target[ROW_PATH_MAX]; /* the managed cgroup, "" = none */
	char pod[ROW_PATH_MAX];	   /* namespace/name, "" = none */
	char container[ROW_NAME_MAX];
};

/* A managed file that differs, or differed, from the ledger. */
struct drift_row {
	char path[ROW_PATH_MAX]; /* of the cgroup */
	enum group_file attribute;
	char wanted[ROW_DETAIL_MAX], found[ROW_DETAIL_MAX];
	enum drift_cause cause;
	uint32_t pid; /* of the culprit, 0 = not known */
	char comm[EVENT_COMM_LEN];
	char cgroup[ROW_PATH_MAX];
	uint64_t since_ns;    /* CLOCK_REALTIME */
	uint64_t repaired_ns; /* 0 = still open */
	uint64_t opened_ns;   /* CLOCK_MONOTONIC */
	/* How often it was detected without being counted yet, and since when: its cause may become known. */
	uint32_t nr_uncounted;
	uint64_t detected_ns;
	bool is_kubelets; /* it differs from what a kubelet decided, not from the ledger */
	uint32_t action;  /* ACTION_REPAIR, ACTION_AUDIT or ACTION_NONE */
};

/* What a row says in words; the names are borrowed from tables, which last. */
struct event_words {
	const char *kind, *aspect, *action;
	char target[ROW_PATH_MAX + EVENT_FILE_LEN]; /* the managed cgroup or file */
	char detail[ROW_DETAIL_MAX];
};

/* The fields and the message that the journal gets. */
struct event_journal {
	char kind[48], pod[ROW_PATH_MAX + 16], pid[32];
	char target[ROW_PATH_MAX + EVENT_FILE_LEN + 16];
	char message[1536];
};

/* The kind's name for `pinfold event show` and the journal: "deny", "admit". */
const char *event_kind_name(const struct event_record *record);
/* Can an event have this name? */
bool event_is_kind_name(const char *name);
/* Append all names that an event can have, each once: "audit, deny, drift, …". */
void event_append_kind_names(struct text *out);
/* Does an operator have to know? The journal has it as a warning then. */
bool event_is_warning(const struct event_record *record);
/* What happened, in a sentence, cut to `size`; "" where the kind says everything. */
void event_detail(const struct event_record *record, char *text, size_t size);
void event_words(const struct event_row *row, struct event_words *ret_words);
/* `nr_skipped`: lines of the same culprit that the journal did not get since the last one. */
void event_journal(const struct event_row *row, uint32_t nr_skipped,
		   struct event_journal *ret_journal);

#endif
