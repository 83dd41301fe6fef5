// SPDX-License-Identifier: Apache-2.0
#include "irq/irqbalance.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pinfold/names.h>

#include "format/boot_file.h"
#include "irq/irqbalance_socket.h"
#include "irq/mask.h"
#include "irq/pass.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/proc_stat.h"
#include "lib/text.h"

/* keys: of the file of what irqbalance was told */

#define ENVIRON_MAX (1U << 20)

#define STATUS_MAX (64U << 10)

/* Only root can write masks, while any process can take the name. */
static bool is_privileged(int root_fd, const char *pid)
{
	char path[64], *status cleanup_free = NULL;
	const char *uids;
	unsigned int effective;
	size_t len;

	if ((size_t)snprintf(path, sizeof(path), "proc/%s/status", pid) >= sizeof(path) ||
	    file_read_all(root_fd, path, STATUS_MAX, &status, &len))
		return false;
	uids = strstr(status, "\nUid:");
	return uids && sscanf(uids, "\nUid: %*u %u", &effective) == 1 && !effective;
}

static bool is_irqbalance(int root_fd, const char *pid)
{
	char path[64], *name cleanup_free = NULL;

	if (!isdigit((unsigned char)*pid) ||
	    (size_t)snprintf(path, sizeof(path), "proc/%s/comm", pid) >= sizeof(path) ||
	    file_read_line(root_fd, path, &name))
		return false;
	name[strcspn(name, "\n")] = '\0';
	return !strcmp(name, "irqbalance") && is_privileged(root_fd, pid);
}

/* The value of a variable in a list of "NAME=VALUE", each ending with a NUL; NULL = not set. */
static const char *variable(const char *list, size_t len, const char *name)
{
	const size_t name_len = strlen(name);

	for (const char *at = list; at < list + len; at += strlen(at) + 1)
		if (!strncmp(at, name, name_len) && at[name_len] == '=' && at[name_len + 1])
			return at + name_len + 1;
	return NULL;
}

/* Of the two variables the newer one, with a list, wins in irqbalance as well. */
static void banned_cpus(int root_fd, const char *pid, struct cpuset *ret_banned)
{
	char path[64], *list cleanup_free = NULL;
	const char *value;
	size_t len;

	*ret_banned = CPUSET_EMPTY;
	snprintf(path, sizeof(path), "proc/%.16s/environ", pid);
	if (file_read_all(root_fd, path, ENVIRON_MAX, &list, &len))
		return;
	value = variable(list, len, "IRQBALANCE_BANNED_CPULIST");
	if (value) {
		mask_parse(MASK_LIST, value, ret_banned);
		return;
	}
	value = variable(list, len, "IRQBALANCE_BANNED_CPUS");
	if (value)
		mask_parse(MASK_HEX, value, ret_banned);
}

/* --- what it was told ---------------------------------------------------------------------------- */

static int save_told(const struct irq_context *context)
{
	const struct irqbalance_told *told = context->told;
	struct text text cleanup_text = {0};
	struct emitter emitter;

	if (context->state_fd < 0)
		return -EROFS;
	boot_file_begin(&emitter, &text, context->boot_id, "processes");
	if (told->pid) {
		emit_map(&emitter, NULL);
		emit_number(&emitter, "pid", (uint64_t)told->pid);
		emit_number(&emitter, "start", told->start_ticks);
		emit_cpuset(&emitter, "original", &told->original);
		emit_close(&emitter);
	}
	boot_file_end(&emitter);
	return text.error ? text.error
			  : file_replace(context->state_fd, PINFOLD_IRQBALANCE_FILE, text.data,
					 text.len);
}

static int decode_told(const struct yaml_value *map, struct format_error *error, void *self)
{
	const struct yaml_value *pid = yaml_need(map, "pid", error);
	const struct yaml_value *start = pid ? yaml_need(map, "start", error) : NULL;
	const struct yaml_value *original = start ? yaml_need(map, "original", error) : NULL;
	struct irqbalance_told told = {0}, *ret_told = self;
	char list[CPUSET_TEXT_MAX];
	uint64_t number;

	if (!original || yaml_read_uint(pid, "pid", error, 1, INT32_MAX, &number) ||
	    yaml_read_uint(start, "start", error, 0, INT64_MAX, &told.start_ticks) ||
	    yaml_read_text(original, "original", error, list, sizeof(list)))
		return -EBADMSG;
	if (cpuset_parse(list, strlen(list), &told.original)) {
		yaml_refuse(original, "original", error, "'%.40s' is not a list of CPUs", list);
		return -EBADMSG;
	}
	told.pid = (pid_t)number;
	*ret_told = told;
	return 0;
}

int irqbalance_told_load(const struct irq_context *context, struct format_error *error,
			 struct irqbalance_told *ret_told)
{
	char *data cleanup_free = NULL;
	size_t len;
	int r;

	if (context->state_fd < 0)
		return -ENOENT;
	r = file_read_all(context->state_fd, PINFOLD_IRQBALANCE_FILE, BOOT_FILE_MAX_BYTES, &data,
			  &len);
	return r ? r
		 : boot_file_decode(data, len, context->boot_id, "processes", error, decode_told,
				    ret_told);
}

static int start_of(const struct irq_context *context, pid_t pid, uint64_t *ret_ticks)
{
	struct proc_stat stat;
	char path[48];
	int r;

	snprintf(path, sizeof(path), "proc/%d/stat", (int)pid);
	r = proc_stat_read(context->root_fd, path, &stat);
	if (!r)
		*ret_ticks = stat.start_ticks;
	return r;
}

/* --- one process --------------------------------------------------------------------------------- */

/* irqbalance takes a list with its next scan, and may be late. */
static uint64_t patience_ns(const struct irqbalance_setup *setup)
{
	const uint64_t seconds = 3ULL * setup->sleep_seconds;

	return (seconds < 30 ? 30 : seconds) * 1000000000ULL;
}

__attribute__((format(printf, 2, 3))) static enum irqbalance_state
contends(struct irq_report *report, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(report->irqbalance_problem, sizeof(report->irqbalance_problem), format, args);
	va_end(args);
	return IRQBALANCE_CONTENDS;
}

static enum irqbalance_state tell(const struct irq_context *context,
				  const struct irq_request *request, const struct cpuset *wanted,
				  struct irq_report *report)
{
	struct irqbalance_told *told = context->told;
	char list[64];
	int r = save_told(context);

	if (r)
		return contends(report, "the CPUs that it spares now cannot be saved (%s)",
				strerror(-r));
	r = irqbalance_tell(context->root_fd, told->pid, wanted);
	if (r == -E2BIG)
		return contends(report, "the list of CPUs is longer than its socket takes");
	if (r)
		return contends(report, "its socket refuses the list (%s)", strerror(-r));
	told->told = *wanted;
	told->told_ns = request->now_ns;
	cpuset_format(wanted, list, sizeof(list));
	log_info("irq: irqbalance (pid %d) was told to spare CPUs %.60s", (int)told->pid, list);
	return IRQBALANCE_SPARES;
}

static enum irqbalance_state follow(const struct irq_context *context,
				    const struct irq_request *request, pid_t pid,
				    struct irq_report *report)
{
	struct irqbalance_told *told = context->told;
	enum irqbalance_state state = IRQBALANCE_SPARES;
	struct irqbalance_setup setup;
	struct cpuset wanted;
	uint64_t start;
	bool is_late;
	int r = start_of(context, pid, &start);

	if (!r)
		r = irqbalance_ask(context->root_fd, pid, &setup);
	if (r)
		return contends(report, "its socket cannot be used (%s)", strerror(-r));
	if (told->pid != pid || told->start_ticks != start) {
		if (cpuset_is_subset(&request->cpus.exclusive, &setup.banned))
			return IRQBALANCE_SPARES;
		*told = (struct irqbalance_told){
			.pid = pid, .start_ticks = start, .original = setup.banned};
	}
	wanted = told->original;
	cpuset_union(&wanted, &request->cpus.exclusive);
	if (cpuset_equal(&setup.banned, &wanted) &&
	    (cpuset_is_empty(&told->told) || cpuset_equal(&told->told, &wanted))) {
		told->is_ignored = false;
		return IRQBALANCE_SPARES;
	}
	is_late = cpuset_equal(&told->told, &wanted) &&
		  request->now_ns - told->told_ns >= patience_ns(&setup);
	told->is_ignored |= is_late;
	if (is_late || !cpuset_equal(&told->told, &wanted))
		state = tell(context, request, &wanted, report);
	if (state == IRQBALANCE_SPARES && told->is_ignored)
		state = contends(report, "pinfold told it to spare them, and it does not follow");
	return state;
}

int irqbalance_look(const struct irq_context *context, const struct irq_request *request,
		    struct irq_report *report)
{
	DIR *dir cleanup_dir = NULL;
	enum irqbalance_state state = IRQBALANCE_ABSENT;
	const struct dirent *entry;
	struct cpuset banned;
	int r = file_open_dir(context->root_fd, "proc", &dir);

	if (r)
		return r;
	while (state != IRQBALANCE_CONTENDS && (r = file_next_entry(dir, &entry)) > 0) {
		if (!is_irqbalance(context->root_fd, entry->d_name))
			continue;
		banned_cpus(context->root_fd, entry->d_name, &banned);
		if (cpuset_is_subset(&request->cpus.exclusive, &banned))
			state = IRQBALANCE_SPARES;
		else if (request->mode == IRQ_STEER && context->told)
			state = follow(context, request, (pid_t)strtol(entry->d_name, NULL, 10),
				       report);
		else
			state = IRQBALANCE_CONTENDS;
	}
	if (r < 0)
		return r;
	report->irqbalance = state;
	return 0;
}

/* --- release ------------------------------------------------------------------------------------- */

/* What its environment and the kernel say comes back by itself; another list has to be told. */
static bool is_its_own(const struct irq_context *context, const struct irqbalance_told *told)
{
	struct cpuset banned;
	char pid[16];

	if (cpuset_is_empty(&told->original))
		return true;
	snprintf(pid, sizeof(pid), "%d", (int)told->pid);
	banned_cpus(context->root_fd, pid, &banned);
	return cpuset_equal(&banned, &told->original);
}

int irqbalance_release(const struct irq_context *context)
{
	struct irqbalance_told *told = context->told;
	uint64_t start;
	int r = 0;

	if (!told || !told->pid)
		return 0;
	if (!start_of(context, told->pid, &start) && start == told->start_ticks)
		r = irqbalance_tell(context->root_fd, told->pid,
				    is_its_own(context, told) ? NULL : &told->original);
	if (r)
		return r;
	*told = (struct irqbalance_told){0};
	return save_told(context);
}
