// SPDX-License-Identifier: Apache-2.0
/*
 * The table of masks belongs to the pass while one runs, and to nobody between two passes: the
 * loop's thread begins a pass (worker_begin) and is told of its end.
 */
#include "irq/irqs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

#include <systemd/sd-event.h>

#include <pinfold/names.h>

#include "format/error.h"
#include "irq/changes.h"
#include "irq/irq_originals.h"
#include "irq/irqbalance.h"
#include "irq/pass.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

/* Paths of groups, which are the keys of other jobs, do not begin with a slash. */
#define IRQ_KEY "/irq"

struct irqs {
	int root_fd;  /* owned */
	int state_fd; /* borrowed */
	char boot_id[64];
	struct worker_pool *pool;
	const struct irq_sink *sink;
	int changes_fd; /* owned; negative = the kernel reports no writes */
	sd_event_source *changes;

	/* The pass's: */
	bool is_loaded;		      /* the file of originals was read */
	char problem[ROW_DETAIL_MAX]; /* why it cannot be used; "" = it can */
	struct irq_table table;
	struct irqbalance_told told;
};

struct pass_job {
	struct worker_job job; /* first */
	struct irqs *irqs;
	int changes_fd; /* as at its beginning */
	struct irq_request request;
	struct irq_report report;
};

/* Of a damaged file nothing can be restored; irqbalance goes on sparing CPUs until it is restarted. */
static void load_told(const struct irq_context *context)
{
	struct format_error error = {0};
	char sentence[FORMAT_ERROR_TEXT_MAX];
	const int r = irqbalance_told_load(context, &error, context->told);

	if (r == -EBADMSG)
		log_warn(0, "irq: %s; what irqbalance spares is not restored",
			 format_error_text(&error, PINFOLD_IRQBALANCE_FILE, sentence,
					   sizeof(sentence)));
	else if (r && r != -ENOENT && r != -ESTALE)
		log_warn(r, "irq: cannot read %s", PINFOLD_IRQBALANCE_FILE);
}

/*
 * Masks written by another agent would pass for originals if its file were ignored. Only damage
 * lasts; a file that cannot be read now is tried again by the next pass.
 */
static int load(struct irqs *irqs, const struct irq_context *context)
{
	struct format_error error = {0};
	char sentence[FORMAT_ERROR_TEXT_MAX];
	int r;

	if (irqs->is_loaded)
		return 0;
	r = irq_originals_load(irqs->state_fd, irqs->boot_id, &error, &irqs->table);
	if (r && r != -ENOENT && r != -ESTALE && r != -EBADMSG)
		return log_warn(r, "irq: cannot read %s", PINFOLD_IRQS_FILE);
	if (r == -EBADMSG)
		snprintf(irqs->problem, sizeof(irqs->problem), "%.300s",
			 format_error_text(&error, PINFOLD_IRQS_FILE, sentence, sizeof(sentence)));
	irqs->is_loaded = true;
	load_told(context);
	return 0;
}

static int run_pass(struct worker_job *base)
{
	struct pass_job *job = (struct pass_job *)base;
	struct irqs *irqs = job->irqs;
	const struct irq_context context = {irqs->root_fd, irqs->state_fd, irqs->boot_id,
					    &irqs->told, job->changes_fd};
	struct irq_request request = job->request;
	int r;

	r = load(irqs, &context);
	if (r)
		return r;
	if (*irqs->problem)
		request.mode = IRQ_OBSERVE;
	r = irq_pass(&context, &request, &irqs->table, &job->report);
	if (!r && *irqs->problem && job->request.mode != IRQ_OBSERVE) {
		job->report.error = -EBADMSG;
		memcpy(job->report.problem, irqs->problem, sizeof(irqs->problem));
	}
	return r;
}

static void pass_ended(struct worker_job *base, int result)
{
	struct pass_job *job = (struct pass_job *)base;

	if (job->irqs->sink)
		job->irqs->sink->passed(job->irqs->sink->self, result, &job->report);
}

static void release(struct worker_job *base)
{
	struct pass_job *job = (struct pass_job *)base;

	irq_report_fini(&job->report);
	free(job);
}

static int pass(void *self, const struct irq_request *request)
{
	struct irqs *irqs = self;
	struct pass_job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->job =
		(struct worker_job){.run = run_pass, .completed = pass_ended, .release = release};
	job->irqs = irqs;
	job->changes_fd = irqs->changes_fd;
	job->request = *request;
	return worker_begin(irqs->pool, IRQ_KEY, &job->job);
}

static void waits_in(void *self, char *ret_text, size_t size)
{
	const struct irqs *irqs = self;

	worker_where(irqs->pool, IRQ_KEY, ret_text, size);
}

int irqs_open(const struct irqs_options *options, struct irqs **ret_irqs)
{
	struct irqs *irqs = calloc(1, sizeof(*irqs));

	if (!irqs)
		return log_err(-ENOMEM, "irq: cannot prepare to steer interrupts");
	irqs->root_fd = open(options->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (irqs->root_fd < 0) {
		const int r = log_err(-errno, "irq: cannot open %s", options->root);

		free(irqs);
		return r;
	}
	irqs->state_fd = options->state_fd;
	irqs->changes_fd = -1;
	snprintf(irqs->boot_id, sizeof(irqs->boot_id), "%s", options->boot_id);
	irqs->pool = options->pool;
	*ret_irqs = irqs;
	return 0;
}

void irqs_close(struct irqs *irqs)
{
	if (!irqs)
		return;
	sd_event_source_unref(irqs->changes);
	if (irqs->changes_fd >= 0)
		close(irqs->changes_fd);
	irq_table_fini(&irqs->table);
	close(irqs->root_fd);
	free(irqs);
}

/* Whoever writes all the time is heard of once in each round of the loop. */
static int on_changed(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	const struct irqs *irqs = userdata;
	struct irq_writer writer;

	if (irq_changes_read(fd, &writer))
		irqs->sink->written(irqs->sink->self, &writer);
	return 0;
}

void irqs_listen(struct irqs *irqs, struct sd_event *event, const struct irq_sink *sink)
{
	int fd, r;

	irqs->sink = sink;
	if (!event)
		return;
	fd = irq_changes_open();
	r = fd < 0 ? fd : sd_event_add_io(event, &irqs->changes, fd, EPOLLIN, on_changed, irqs);
	if (r < 0) {
		log_info("irq: the kernel does not report writes to masks (%s), so the agent "
			 "compares the masks every ten seconds",
			 strerror(-r));
		if (fd >= 0)
			close(fd);
		return;
	}
	/* The next pass, which marks the masks, begins after this. */
	irqs->changes_fd = fd;
}

struct irq_port irqs_port(struct irqs *irqs)
{
	return (struct irq_port){.self = irqs, .pass = pass, .waits_in = waits_in};
}

/* --- uninstall ----------------------------------------------------------------------------------- */

static int say_unrestored(const struct irq_row *row)
{
	static const char *const others[IRQ_KIND_NR] = {"the mask of new interrupts",
							"the mask of the kernel's unbound work"};
	const int error = row->error ? row->error : -EBUSY;

	if (row->kind != IRQ_KIND_INTERRUPT)
		return log_warn(error, "irq: cannot restore %s to CPUs %s, so it keeps %s",
				others[row->kind], row->original, row->affinity);
	return log_warn(
		error,
		"irq: cannot restore interrupt %u (%s) to CPUs %s, so it keeps %s; write them to "
		"/proc/irq/%u/smp_affinity_list, or run the uninstall again",
		row->number, *row->name ? row->name : "no handler", row->original, row->affinity,
		row->number);
}

static int restore(const struct irq_context *context, const struct topology *topology,
		   struct irq_table *table)
{
	struct irq_request *request cleanup_free = calloc(1, sizeof(*request));
	struct irq_report report cleanup_irq_report = {0};
	int r;

	if (!request)
		return -ENOMEM;
	request->mode = IRQ_RESTORE;
	request->cpus.topology = topology;
	request->cpus.allowed = request->cpus.online = topology->all;
	r = irq_pass(context, request, table, &report);
	if (r)
		return log_warn(r, "irq: cannot read the masks of interrupts");
	for (uint32_t i = 0; i < report.nr; i++)
		if (report.rows[i].original)
			r = say_unrestored(&report.rows[i]);
	return r;
}

int irqs_restore(const struct irqs_options *options, const struct topology *topology)
{
	int root_fd cleanup_close = open(options->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct irqbalance_told told = {0};
	const struct irq_context context = {root_fd, options->state_fd, options->boot_id, &told,
					    -1};
	struct irq_table table cleanup_irq_table = {0};
	struct format_error error = {0};
	char sentence[FORMAT_ERROR_TEXT_MAX];
	int r;

	if (root_fd < 0)
		return log_warn(-errno, "irq: cannot open %s", options->root);
	load_told(&context);
	r = irqbalance_release(&context);
	if (r)
		log_warn(r,
			 "irq: irqbalance cannot be told which CPUs it spared before; restart it");
	r = irq_originals_load(options->state_fd, options->boot_id, &error, &table);
	if (r == -ENOENT || r == -ESTALE)
		return 0;
	if (r == -EBADMSG)
		return log_warn(0,
				"irq: %s; the masks of interrupts are not restored: restart the "
				"machine, which resets them, or remove the file",
				format_error_text(&error, PINFOLD_IRQS_FILE, sentence,
						  sizeof(sentence))),
		       r;
	if (r)
		return log_warn(r, "irq: cannot read %s", PINFOLD_IRQS_FILE);
	return restore(&context, topology, &table);
}
