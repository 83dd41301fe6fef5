// SPDX-License-Identifier: Apache-2.0
/*
 * The state file and what becomes of it at a start: the ledger as it was, as far
 * as it still fits the machine. A file that cannot be used is set aside, never
 * overwritten, and never stops the agent; one of a newer agent is left alone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "format/state.h"
#include "lib/log.h"

static void note_unwritable(struct controller *controller, const char *why)
{
	char message[ROW_DETAIL_MAX];

	if (controller->state_writable)
		log_err(0, "state: cannot be written (%s); no new pod is admitted until it can",
			why);
	snprintf(controller->state_problem, sizeof(controller->state_problem), "%s", why);
	controller->state_writable = false;
	snprintf(message, sizeof(message),
		 "the state file cannot be written, so no new pod is admitted: %.240s", why);
	controller_finding(controller, "state_not_writable", message,
			   "make stateDirectory ours, writable and give it free space; a wrong "
			   "owner or mode is looked at again when pinfoldd restarts");
}

static int note_saved(struct controller *controller, int r)
{
	const struct store_port *store = controller->ports.store;
	const char *why;

	if (r) {
		controller->counters.state_failed++;
		why = store->problem(store->self);
		note_unwritable(controller, why ? why : strerror(-r));
		return r;
	}
	controller->counters.state_written++;
	controller->state_writable = true;
	*controller->state_problem = '\0';
	controller->state_written_ns =
		(int64_t)controller->ports.clock->wall_ns(controller->ports.clock->self);
	controller_clear_finding(controller, "state_not_writable");
	return 0;
}

void state_check(struct controller *controller)
{
	const struct store_port *store = controller->ports.store;
	const char *why = store->problem(store->self);

	/* Once it can be again, the next sweep saves and takes this back. */
	if (why && controller->state_writable)
		note_unwritable(controller, why);
}

static bool is_durable(const struct controller *controller, const struct text *text)
{
	return controller->durable.data && controller->durable.len == text->len &&
	       !memcmp(controller->durable.data, text->data, text->len);
}

int state_save(struct controller *controller)
{
	const struct store_port *store = controller->ports.store;
	cleanup_text struct text text = {0};
	int r;

	if (controller->options.dry_run)
		return 0;
	state_encode(controller->ledger, controller->options.boot_id, &text);
	if (!text.error && controller->saving_since_ns) {
		controller->state_is_behind = true;
		return -EINPROGRESS;
	}
	controller->state_is_behind = false;
	if (!text.error && is_durable(controller, &text))
		return 0;
	text_fini(&controller->durable);
	r = text.error ? text.error : store->save(store->self, text.data, text.len);
	if (r != -EINPROGRESS)
		return note_saved(controller, r);
	controller->saving = text;
	text = (struct text){0};
	controller->saving_since_ns = now_ns(controller);
	return r;
}

void on_state_saved(void *self, int result)
{
	struct controller *controller = self;

	controller->saving_since_ns = 0;
	/* What was written may be a transaction that is not in the ledger: it is looked at anew. */
	controller->state_is_behind = true;
	if (result) {
		text_fini(&controller->saving);
	} else {
		controller->durable = controller->saving;
		controller->saving = (struct text){0};
	}
	controller->retries_refused |= !result && !controller->state_writable;
	note_saved(controller, result);
	admission_resume(controller, result);
	operations_tell(controller);
	/* A disk that takes its time to fail would otherwise be asked again and again at once. */
	want_wake(controller, result ? LOOK_AGAIN_NS : 0);
}

/* What could not be used goes aside under a name that says when. */
static void set_aside(struct controller *controller, const char *why)
{
	const struct store_port *store = controller->ports.store;
	char name[128] = "", message[ROW_DETAIL_MAX];
	int r;

	if (controller->options.dry_run)
		return;
	r = store->set_aside(store->self, name, sizeof(name));
	if (r)
		log_err(r, "state: the damaged file could not be set aside");
	snprintf(message, sizeof(message),
		 "the state file could not be used: %.180s; kept as %.60s", why,
		 *name ? name : "(nothing)");
	controller_finding(controller, "state_set_aside", message,
			   "grants were made anew from live cgroups and sources; remove the file "
			   "when you no longer need it");
}

/* So many are named one by one; what else an operator should know needs room too. */
#define MAX_LOST_NAMED 8
#define LOST_REMEDY    "it is decided anew when a source names it; check its placement"

/*
 * One pod that does not fit any more is reported, the first of them each by name, and
 * left out; the others stay.
 */
static void restore_pod(struct controller *controller, const struct state_pod *saved,
			uint32_t *nr_lost)
{
	char name[POD_NAME_MAX * 2], error[256] = "", message[ROW_DETAIL_MAX];
	int r = -EUCLEAN;

	pod_label(saved->pod.spec, name, sizeof(name));
	if (!*saved->problem) {
		r = ledger_begin(controller->ledger);
		if (r)
			return;
		r = ledger_restore(controller->ledger, &saved->pod, error, sizeof(error));
		if (r)
			ledger_abort(controller->ledger);
		else
			ledger_commit(controller->ledger);
	}
	if (!r)
		return;
	snprintf(message, sizeof(message), "%.120s could not keep its grant: %.160s", name,
		 *saved->problem ? saved->problem : error);
	if ((*nr_lost)++ < MAX_LOST_NAMED)
		add_finding(controller, "grant_lost", message, LOST_REMEDY);
	else
		log_warn(0, "state: %s", message);
}

static int restore_state(struct controller *controller, const struct state *state)
{
	char message[ROW_DETAIL_MAX], then[96], now[96];
	uint32_t nr_lost = 0;

	if (!cpuset_equal(&state->cpus, &controller->topology->all)) {
		cpuset_format(&state->cpus, then, sizeof(then));
		cpuset_format(&controller->topology->all, now, sizeof(now));
		snprintf(message, sizeof(message), "the machine had CPUs %.80s, now it has %.80s",
			 then, now);
		controller_finding(controller, "machine_changed", message,
				   "pods whose CPUs are gone are decided anew");
	}
	for (uint32_t i = 0; i < state->nr_pods; i++)
		restore_pod(controller, &state->pods[i], &nr_lost);
	if (nr_lost > MAX_LOST_NAMED) {
		snprintf(message, sizeof(message), "%u more pods could not keep their grants",
			 nr_lost - MAX_LOST_NAMED);
		controller_finding(controller, "grants_lost", message,
				   "the log of the start names them; they are decided anew");
	}
	log_info("state: %u pods brought back%s", ledger_nr_pods(controller->ledger),
		 strcmp(state->boot_id, controller->options.boot_id)
			 ? "; the machine was rebooted, so they stay only if a source names them"
			 : "");
	return 0;
}

int state_recover(struct controller *controller)
{
	const struct store_port *store = controller->ports.store;
	cleanup_state struct state *state = NULL;
	cleanup_free char *data = NULL;
	struct format_error error = {0};
	char text[FORMAT_ERROR_TEXT_MAX];
	const char *why = store->problem(store->self);
	size_t len = 0;
	int r;

	if (why && !controller->options.dry_run)
		note_unwritable(controller, why);
	r = store->load(store->self, &data, &len);
	if (r == -ENOENT)
		return rebuild_from_groups(controller);
	if (r == -ENOMEM)
		return log_err(r, "state");
	if (!r)
		r = state_decode(data, len, controller->topology, &error, &state);
	else
		snprintf(error.message, sizeof(error.message), "%s", strerror(-r));
	format_error_text(&error, "state.json", text, sizeof(text));
	if (r == -EPROTONOSUPPORT)
		return log_err(0, "state: %s; everything is left as it is", text), -EPROTO;
	if (r) {
		log_err(0, "state: %s", text);
		set_aside(controller, text);
		return rebuild_from_groups(controller);
	}
	return restore_state(controller, state);
}

/*
 * The new policy is right if every pod that runs keeps what it holds under it:
 * a second ledger is filled with them, and takes the first one's place whole.
 */
int controller_reload(struct controller *controller, const struct policy *policy,
		      const struct controller_options *options, char *error, size_t error_size)
{
	struct ledger *ledger cleanup(ledger_freep) = NULL;
	char why[256] = "";
	int r;

	r = policy_check(policy, controller->topology, error, error_size);
	if (r)
		return r;
	r = ledger_new(controller->topology, policy, error, error_size, &ledger);
	if (r)
		return r;
	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		r = ledger_begin(ledger);
		if (!r)
			r = ledger_restore(ledger, pod, why, sizeof(why));
		if (r) {
			snprintf(error, error_size, "pod %s/%s would lose its grant: %s",
				 pod->spec->namespace, pod->spec->name, *why ? why : strerror(-r));
			return -EBUSY;
		}
		ledger_commit(ledger);
	}
	ledger_free(controller->ledger);
	controller->ledger = TAKE_PTR(ledger);
	controller->policy = policy;
	controller->options = *options;
	controller->cpuset_files = options->config->enforcement.cpuset_files;
	controller->ledger_changed = true;
	controller->ends_release = true;
	state_save(controller);
	find_unbuilt(controller);
	choose_tier(controller);
	reconcile(controller);
	controller_note(controller, "reload", "a new configuration is in force");
	return 0;
}

const struct cpuset *controller_reserved(const struct controller *controller)
{
	return ledger_reserved(controller->ledger);
}
