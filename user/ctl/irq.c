// SPDX-License-Identifier: Apache-2.0
/*
 * The pass itself is an adapter's: it holds whatever the kernel makes it wait for. Here is when
 * one begins, and what becomes of its report.
 */
#include "ctl/irq.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"

/*
 * New interrupts raise no event that can be relied on. They begin with the default mask, which is
 * steered, so only those for which a driver or a program chooses CPUs wait for this long. A pass
 * reads several files for each interrupt; where nothing is steered, nobody waits for it.
 */
#define RESCAN_NS      (10ULL * 1000000000ULL)
#define IDLE_RESCAN_NS (60ULL * 1000000000ULL)
/* Whoever writes masks all the time gets a pass only now and then; see follow_writes(). */
#define WRITTEN_NS (100ULL * 1000000ULL)

void irq_fini(struct steering *steering)
{
	irq_report_fini(&steering->report);
}

static enum irq_mode wanted_mode(const struct config *config)
{
	if (config->mode != MODE_ALLOCATE)
		return IRQ_OBSERVE;
	return config->interrupts == INTERRUPTS_STEER ? IRQ_STEER : IRQ_RESTORE;
}

static void fill_request(const struct controller *controller, struct irq_request *request)
{
	struct cpu_states states;

	ledger_cpu_states(controller->ledger, &states);
	request->mode = wanted_mode(controller->options.config);
	request->masks = controller->options.config->enforcement.irq_masks;
	request->now_ns = clock_now_ns(controller->ports.clock);
	request->cpus.topology = controller->topology;
	request->cpus.online = controller->online;
	request->cpus.exclusive = states.exclusive;
	request->cpus.allowed = states.reserved;
	cpuset_union(&request->cpus.allowed, &states.shared);
	cpuset_intersect(&request->cpus.allowed, &controller->online);
}

static bool is_due(const struct steering *steering, const struct irq_request *request)
{
	uint64_t pause_ns = request->mode == IRQ_STEER ? RESCAN_NS : IDLE_RESCAN_NS;

	if (steering->since_ns)
		return false;
	if (steering->is_written && steering->written_pause_ns < pause_ns)
		pause_ns = steering->written_pause_ns ? steering->written_pause_ns : WRITTEN_NS;
	return !steering->begun_ns || steering->mode != request->mode ||
	       steering->masks != request->masks ||
	       request->now_ns - steering->begun_ns >= pause_ns ||
	       !cpuset_equal(&steering->exclusive, &request->cpus.exclusive) ||
	       !cpuset_equal(&steering->allowed, &request->cpus.allowed);
}

void ctl_steer_interrupts(struct controller *controller)
{
	const struct irq_port *port = controller->ports.irq;
	struct steering *steering = &controller->steering;
	struct irq_request request;
	int r;

	if (!port)
		return;
	fill_request(controller, &request);
	if (!is_due(steering, &request))
		return;
	steering->mode = request.mode;
	steering->masks = request.masks;
	steering->was_written = steering->is_written;
	steering->is_written = false;
	steering->exclusive = request.cpus.exclusive;
	steering->allowed = request.cpus.allowed;
	steering->begun_ns = steering->since_ns = request.now_ns;
	r = port->pass(port->self, &request);
	if (r)
		ctl_end_irq_pass(controller, r, NULL);
}

void ctl_irq_written(struct controller *controller, const struct irq_writer *writer)
{
	controller->steering.is_written = true;
	controller->steering.writer = *writer;
	ctl_steer_interrupts(controller);
}

/* The last process that wrote a mask is named, which may have written another one. */
static void record_changes(struct controller *controller, const struct irq_report *report)
{
	struct event_record event = EVENT_RECORD(EVENT_IRQ_MASKS);
	struct irq_writer *writer = &controller->steering.writer;

	if (!report->nr_reverted && !report->nr_left)
		return;
	event.action = report->nr_reverted ? ACTION_REPAIR : ACTION_AUDIT;
	event.pid = writer->pid;
	_Static_assert(sizeof(event.comm) == sizeof(writer->comm), "both are the kernel's");
	memcpy(event.comm, writer->comm, sizeof(event.comm));
	event.irq_masks.nr = report->nr_reverted + report->nr_left;
	event.irq_masks.is_reverted = report->nr_reverted;
	snprintf(event.irq_masks.first, sizeof(event.irq_masks.first), "%s", report->first.name);
	snprintf(event.irq_masks.mask, sizeof(event.irq_masks.mask), "%s", report->first.mask);
	event_log_record(&controller->events, &event);
	*writer = (struct irq_writer){0};
}

/*
 * What was written need not concern a mask of ours, and then nobody is to blame for what a later
 * pass finds. For a writer that goes on, and whom the passes cannot stop, they become rarer.
 */
static void follow_writes(struct steering *steering, const struct irq_report *report)
{
	if (!steering->is_written)
		steering->writer = (struct irq_writer){0};
	if (report->nr_written || !steering->was_written)
		steering->written_pause_ns = WRITTEN_NS;
	else if (steering->written_pause_ns < RESCAN_NS)
		steering->written_pause_ns *= 2;
}

/* --- what an operator is told -------------------------------------------------------------------- */

/*
 * The kernel gives each queue of a device the interrupt of the CPUs that use the queue. If all of
 * them are exclusive, the interrupt serves the container on them, and isolcpus=managed_irq does
 * not help, because there is no other CPU in the mask.
 */
static bool is_own_queue(const struct steering *steering, const struct irq_row *row)
{
	const struct cpuset affinity = cpuset_of_text(row->affinity);

	return row->state == IRQ_STATE_MANAGED && cpuset_is_subset(&affinity, &steering->exclusive);
}

void ctl_irq_remedy(const struct controller *controller, const struct irq_row *row, char *text,
		    size_t size)
{
	const struct steering *steering = &controller->steering;
	char allowed[128];

	*text = '\0';
	if (!*row->exclusive)
		return;
	cpuset_format(&steering->allowed, allowed, sizeof(allowed));
	if (is_own_queue(steering, row))
		snprintf(text, size,
			 "it fires only for requests that CPUs %.120s make; give the device fewer "
			 "queues if these are not the container's own",
			 row->exclusive);
	else if (row->state == IRQ_STATE_MANAGED)
		snprintf(text, size,
			 "the kernel manages this mask: boot with isolcpus=managed_irq,%.120s, or "
			 "give the device fewer queues",
			 row->exclusive);
	else if (steering->mode == IRQ_RESTORE)
		snprintf(text, size, "set 'interrupts: steer' in the configuration");
	else if (steering->mode == IRQ_OBSERVE)
		snprintf(text, size, "restrict it to CPUs %.120s; mode observe changes nothing",
			 allowed);
	else if (row->error)
		snprintf(text, size, "the kernel refused CPUs %.120s (%s); the agent tries again",
			 allowed, strerror(-row->error));
	else if (steering->masks != ENFORCEMENT_ENFORCE)
		snprintf(
			text, size,
			"another process changed this mask; set 'enforcement: {irqMasks: enforce}' "
			"to have it set back");
	else
		snprintf(text, size,
			 "another process changes this mask; see 'pinfold event show kind irq' for "
			 "who does");
}

static void tell_unreleased(struct controller *controller, int error)
{
	findings_put_if(
		&controller->findings, FINDING_IRQBALANCE_NOT_RELEASED, error,
		"wait, because the agent tries again; restart irqbalance if that does not help",
		"irqbalance cannot be told which CPUs it spared before: %s", strerror(-error));
}

static void tell_irqbalance(struct controller *controller, const struct irq_report *report)
{
	char exclusive[128], remedy[ROW_DETAIL_MAX];

	if (controller->steering.mode != IRQ_STEER || report->irqbalance != IRQBALANCE_CONTENDS) {
		findings_clear(&controller->findings, FINDING_IRQBALANCE_CONTENDS);
		return;
	}
	cpuset_format(&controller->steering.exclusive, exclusive, sizeof(exclusive));
	snprintf(remedy, sizeof(remedy),
		 "set IRQBALANCE_BANNED_CPULIST to all CPUs that may become exclusive, now %.120s, "
		 "in the environment of irqbalance and restart it, or stop irqbalance",
		 exclusive);
	findings_put(
		&controller->findings, FINDING_IRQBALANCE_CONTENDS, remedy,
		"irqbalance runs and may move interrupts to the exclusive CPUs %.80s%s%.110s; what it "
		"moves there is not moved back",
		exclusive, *report->irqbalance_problem ? ", because " : "",
		report->irqbalance_problem);
}

static void tell_originals(struct controller *controller, const struct irq_report *report)
{
	if (report->error == -EBADMSG)
		findings_put(
			&controller->findings, FINDING_IRQ_ORIGINALS_UNUSABLE,
			"restart the machine, which resets the masks, or remove irqs.json from "
			"stateDirectory and restart pinfoldd to take the present masks for the "
			"original ones",
			"the original masks of interrupts cannot be read, so no mask is changed: "
			"%.200s",
			report->problem);
	else
		findings_put_if(
			&controller->findings, FINDING_IRQ_ORIGINALS_UNUSABLE, report->error,
			"check the disk and the permissions of stateDirectory",
			"the original masks of interrupts cannot be saved, so no mask is changed: "
			"%s",
			strerror(-report->error));
}

/* In the other modes nobody promised anything; `pinfold irq check` says it all the same. */
static void tell_exposed(struct controller *controller, const struct irq_report *report)
{
	const struct irq_row *first = NULL;
	char remedy[ROW_DETAIL_MAX], number[32];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < report->nr; i++) {
		if (!*report->rows[i].exclusive ||
		    is_own_queue(&controller->steering, &report->rows[i]))
			continue;
		if (!nr++)
			first = &report->rows[i];
	}
	if (!nr || controller->steering.mode != IRQ_STEER) {
		findings_clear(&controller->findings, FINDING_IRQS_ON_EXCLUSIVE_CPUS);
		return;
	}
	/* One whose handler went away has no name. */
	snprintf(number, sizeof(number), "interrupt %u", first->number);
	ctl_irq_remedy(controller, first, remedy, sizeof(remedy));
	findings_put(
		&controller->findings, FINDING_IRQS_ON_EXCLUSIVE_CPUS, remedy,
		"%u mask%s of interrupts or kernel work reach%s exclusive CPUs; the first is of "
		"%.60s, CPUs %.120s",
		nr, nr == 1 ? "" : "s", nr == 1 ? "es" : "", *first->name ? first->name : number,
		first->exclusive);
}

static void tell_unread(struct controller *controller, int error)
{
	findings_put_if(
		&controller->findings, FINDING_IRQS_UNKNOWN, error,
		"see whether /proc/irq, /proc/interrupts and irqs.json in stateDirectory can be read",
		"cannot read the masks of interrupts, so none is changed: %s", strerror(-error));
}

void ctl_end_irq_pass(struct controller *controller, int result, struct irq_report *report)
{
	struct steering *steering = &controller->steering;

	steering->since_ns = 0;
	tell_unread(controller, result);
	/* A mask that cannot be read must not be reported as sparing the exclusive CPUs. */
	irq_report_fini(&steering->report);
	if (result)
		return;
	steering->nr_written += report->nr_written;
	steering->nr_refused += report->nr_refused;
	steering->nr_failed += report->nr_failed;
	steering->nr_foreign += report->nr_foreign;
	steering->nr_fired += report->nr_fired;
	tell_unreleased(controller, report->irqbalance_error);
	tell_irqbalance(controller, report);
	tell_originals(controller, report);
	tell_exposed(controller, report);
	record_changes(controller, report);
	follow_writes(steering, report);
	steering->report = *report;
	*report = (struct irq_report){0};
	if (steering->is_written)
		ctl_steer_interrupts(controller);
}
