// SPDX-License-Identifier: Apache-2.0
/*
 * Restores the ledger from the state file at a start, as far as it still fits the machine. An
 * unusable file is set aside, never overwritten, and never stops the agent; a file of a newer
 * agent is left unchanged.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/recover.h"
#include "format/state.h"
#include "lib/log.h"

/* Set an unusable file aside under a name that contains the time. */
static void set_aside(struct controller *controller, const char *why)
{
	const struct store_port *store = controller->ports.store;
	char name[128] = "";
	int r;

	if (controller->options.dry_run)
		return;
	r = store->set_aside(store->self, name, sizeof(name));
	if (r)
		log_err(r, "state: the damaged file could not be set aside");
	findings_put(&controller->findings, FINDING_STATE_SET_ASIDE,
		     "the agent rebuilt the grants from live cgroups and sources; remove the file "
		     "when you no longer need it",
		     "the state file could not be used: %.160s; %s%.60s", why,
		     r ? "nor could it be renamed" : "the agent renamed it to ", r ? "" : name);
}

#define LOST_REMEDY "the agent decides it again when a source names it; check its placement"

/*
 * A pod that no longer fits is reported (the first MAX_FINDINGS_ADDED each by name) and left out; the other
 * pods are restored.
 */
static void restore_pod(struct controller *controller, const struct state_pod *saved,
			uint32_t *nr_lost)
{
	char name[POD_NAME_MAX * 2], error[256] = "", message[ROW_DETAIL_MAX];
	int r = -EUCLEAN;

	lookup_pod_label(saved->pod.spec, name, sizeof(name));
	if (!saved->is_unusable)
		r = ledger_restore(controller->ledger, &saved->pod, error, sizeof(error));
	if (!r)
		return;
	snprintf(message, sizeof(message), "%.120s could not keep its grant: %.160s", name,
		 saved->is_unusable ? saved->problem : error);
	if ((*nr_lost)++ < MAX_FINDINGS_ADDED)
		findings_add(&controller->findings, FINDING_GRANT_LOST, LOST_REMEDY, "%s", message);
	else
		log_warn(0, "state: %s", message);
}

/* Without its source, nobody would say that a pod of a runtime has not survived a reboot. */
static bool has_ended(const struct controller *controller, const struct state *state,
		      const struct state_pod *saved)
{
	return saved->pod.spec->is_of_runtime && !config_has_runtime(controller->options.config) &&
	       strcmp(state->boot_id, controller->options.boot_id) != 0;
}

static int restore_state(struct controller *controller, const struct state *state)
{
	char then[96], now[96];
	uint32_t nr_lost = 0;

	if (!cpuset_equal(&state->cpus, &controller->topology->all)) {
		cpuset_format(&state->cpus, then, sizeof(then));
		cpuset_format(&controller->topology->all, now, sizeof(now));
		findings_put(&controller->findings, FINDING_MACHINE_CHANGED,
			     "the agent decides the pods again whose CPUs are gone",
			     "the machine had CPUs %.80s, now it has %.80s", then, now);
	}
	for (uint32_t i = 0; i < state->nr_pods; i++)
		if (!has_ended(controller, state, &state->pods[i]))
			restore_pod(controller, &state->pods[i], &nr_lost);
	if (nr_lost > MAX_FINDINGS_ADDED)
		findings_put(&controller->findings, FINDING_GRANTS_LOST,
			     "the log of the start names them; the agent decides them again",
			     "%u more pod%s could not keep %s", nr_lost - MAX_FINDINGS_ADDED,
			     nr_lost - MAX_FINDINGS_ADDED == 1 ? "" : "s",
			     nr_lost - MAX_FINDINGS_ADDED == 1 ? "its grant" : "their grants");
	record_count_restored(&controller->record,
			      nr_lost ? STATE_PARTLY_RESTORED : STATE_RESTORED);
	log_info("state: %u pod%s restored%s", ledger_nr_pods(controller->ledger),
		 ledger_nr_pods(controller->ledger) == 1 ? "" : "s",
		 strcmp(state->boot_id, controller->options.boot_id)
			 ? "; the machine was rebooted, so only pods that a source names remain"
			 : "");
	return 0;
}

int ctl_recover(struct controller *controller)
{
	const struct store_port *store = controller->ports.store;
	struct state *state cleanup_state = NULL;
	char *data cleanup_free = NULL;
	struct format_error error = {0};
	char text[FORMAT_ERROR_TEXT_MAX];
	const char *why = store->problem(store->self);
	size_t len = 0;
	int r;

	if (why && !controller->options.dry_run)
		ctl_note_unwritable(controller, why);
	r = store->load(store->self, &data, &len);
	if (r == -ENOENT) {
		record_count_restored(&controller->record, STATE_ABSENT);
		return ctl_rebuild(controller);
	}
	if (r == -ENOMEM)
		return log_err(r, "state: cannot read the state file");
	if (!r)
		r = state_decode(data, len, controller->topology, &error, &state);
	else
		snprintf(error.message, sizeof(error.message), "%s", strerror(-r));
	format_error_text(&error, "state.json", text, sizeof(text));
	if (r == -EPROTONOSUPPORT)
		return log_err(0, "state: %s; nothing is changed", text), -EPROTO;
	if (r) {
		log_err(0, "state: %s", text);
		set_aside(controller, text);
		record_count_restored(&controller->record, STATE_DAMAGED);
		return ctl_rebuild(controller);
	}
	return restore_state(controller, state);
}
