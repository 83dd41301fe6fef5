// SPDX-License-Identifier: Apache-2.0
/*
 * The list is bounded, but the number of manifests is not: further refusals are only counted.
 * admission.c decides when to decide them again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/lookup.h"
#include "ctl/refusals.h"
#include "lib/text.h"

int refusals_init(struct refusals *refusals)
{
	*refusals = (struct refusals){.rows = calloc(MAX_REFUSED, sizeof(*refusals->rows))};
	return refusals->rows ? 0 : -ENOMEM;
}

void refusals_fini(struct refusals *refusals)
{
	for (uint32_t i = 0; i < refusals->nr; i++)
		pod_spec_free(refusals->rows[i].spec);
	free(refusals->rows);
}

struct refused_pod *refusals_find(const struct refusals *refusals, const char *name,
				  const char *file, unsigned int line)
{
	for (uint32_t i = 0; i < refusals->nr; i++) {
		struct refused_pod *refused = &refusals->rows[i];

		if (*name ? !strcmp(refused->name, name)
			  : !*refused->name && refused->line == line &&
				    !strcmp(refused->file, file))
			return refused;
	}
	return NULL;
}

void refusals_count(struct refusals *refusals, enum refusal refusal)
{
	refusals->nr_ever[refusal]++;
}

void refusals_say_unsaved(struct decision *ret_decision, int error_code)
{
	struct decision *decision = ret_decision;

	*decision = (struct decision){.refusal = REFUSAL_STATE, .wanted = -1, .available = -1};
	snprintf(decision->reason, sizeof(decision->reason), "UnexpectedAdmissionError");
	snprintf(decision->message, sizeof(decision->message),
		 "the state file cannot be written: %s; no new pod is admitted until it can be",
		 strerror(-error_code));
	snprintf(decision->suggestion, sizeof(decision->suggestion),
		 "make stateDirectory writable and give it free space");
}

void refusals_drop(struct refusals *refusals, struct refused_pod *refused)
{
	pod_spec_free(refused->spec);
	*refused = refusals->rows[--refusals->nr];
}

static bool same_spec(const struct refused_pod *refused, const struct pod_spec *spec)
{
	if (!refused->spec || !spec)
		return refused->spec == spec;
	return pod_spec_equal(refused->spec, spec);
}

static const char *namespace_of(const struct source_pod *source)
{
	if (source->spec)
		return source->spec->namespace;
	return source->namespace ? source->namespace : "";
}

static const char *pod_of(const struct source_pod *source)
{
	if (source->spec)
		return source->spec->name;
	return source->pod ? source->pod : "";
}

bool refusals_note(struct refusals *refusals, const struct source_pod *source, const char *name,
		   const struct decision *decision)
{
	struct refused_pod *refused = refusals_find(refusals, name, source->file, source->line);

	if (refused && decision_equal(&refused->decision, decision) &&
	    same_spec(refused, source->spec)) {
		/*
		 * The answer is the same, but its suggestion was computed from the current
		 * ledger.
		 */
		refused->decision = *decision;
		refused->line = source->line;
		return false;
	}
	if (!refused) {
		if (refusals->nr == MAX_REFUSED) {
			refusals->nr_unlisted++;
			return false;
		}
		refused = &refusals->rows[refusals->nr++];
		*refused = (struct refused_pod){0};
	}
	snprintf(refused->name, sizeof(refused->name), "%s", name);
	text_copy(refused->namespace, sizeof(refused->namespace), namespace_of(source));
	text_copy(refused->pod, sizeof(refused->pod), pod_of(source));
	snprintf(refused->file, sizeof(refused->file), "%s", source->file);
	refused->line = source->line;
	refused->decision = *decision;
	/* The document has changed: its earlier content must not be decided again. */
	pod_spec_free(refused->spec);
	refused->spec = source->spec ? pod_spec_copy(source->spec) : NULL;
	refusals->nr_ever[decision->refusal]++;
	return true;
}

static bool is_same(const struct refused_pod *refused, const struct source_pod *pod)
{
	char name[POD_NAME_MAX * 2];

	/* What could not be read can be read now: it is decided, and refused anew if need be. */
	if (pod->spec && !refused->spec)
		return false;
	if (pod->spec)
		lookup_pod_label(pod->spec, name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%s", pod->name);
	return *name ? !strcmp(name, refused->name)
		     : pod->line == refused->line && !strcmp(pod->file, refused->file);
}

void refusals_forget(struct refusals *refusals, const struct source_pod *pods, uint32_t nr_pods)
{
	for (uint32_t i = refusals->nr; i-- > 0;) {
		bool named = false;

		for (uint32_t j = 0; j < nr_pods && !named; j++)
			named = is_same(&refusals->rows[i], &pods[j]);
		if (!named)
			refusals_drop(refusals, &refusals->rows[i]);
	}
}
