// SPDX-License-Identifier: Apache-2.0
/*
 * Probes the features of the kernel. Only a real load and attach decides, because a kernel may
 * know a program type and still refuse it, or attach it and never call it, like lsm programs
 * if `bpf` is not among the active security modules (seen on 6.1, 6.12, 7.2).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>

#include <arch.h>

#include "bpf/probe.h"
#include "lib/file.h"

#define LSM_LIST      "/sys/kernel/security/lsm"
#define LOCKDOWN_FILE "/sys/kernel/security/lockdown"
#define PREEMPT_FILE  "/sys/kernel/debug/sched/preempt"

/* include/linux/errno.h: not part of the user-space interface, but returned nevertheless. */
#define KERNEL_ENOTSUPP 524

/* A way of attaching: the program returns 0 and changes nothing. */
struct attach_probe {
	enum ability ability;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	const char *function; /* its BTF name */
	int kind;	      /* BTF_KIND_ of the name */
};

static const struct attach_probe attach_probes[] = {
	{ABILITY_BPF_LSM, BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "bpf_lsm_file_permission", BTF_KIND_FUNC},
	{ABILITY_FMOD_RET, BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, "security_file_permission",
	 BTF_KIND_FUNC},
	{ABILITY_FENTRY, BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "security_task_setscheduler",
	 BTF_KIND_FUNC},
	{ABILITY_TP_BTF, BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, "btf_trace_cgroup_mkdir",
	 BTF_KIND_TYPEDEF},
	{ABILITY_CGROUP_ITER, BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, "bpf_iter_cgroup",
	 BTF_KIND_FUNC},
};

static const char *const names[ABILITY_NR] = {
	[ABILITY_BTF] = "btf",
	[ABILITY_BPF_LSM] = "bpf_lsm",
	[ABILITY_FMOD_RET] = "fmod_ret",
	[ABILITY_FENTRY] = "fentry",
	[ABILITY_TP_BTF] = "tp_btf",
	[ABILITY_RINGBUF] = "ringbuf",
	[ABILITY_TASK_STORAGE] = "task_storage",
	[ABILITY_CGROUP_ITER] = "cgroup_iter",
	[ABILITY_SCHED_EXT] = "sched_ext",
};

static void say(struct feature_row *row, enum feature_state state, int error, const char *reason,
		const char *remedy)
{
	row->state = state;
	row->error = error;
	snprintf(row->reason, sizeof(row->reason), "%s", reason);
	snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
}

static bool file_says(const char *path, const char *word)
{
	char *text cleanup_free = NULL;

	return !file_read_line(AT_FDCWD, path, &text) && strstr(text, word);
}

bool probe_locked_down(void)
{
	return file_says(LOCKDOWN_FILE, "[confidentiality]");
}

/*
 * Fentry, fexit, fmod_ret and lsm programs load on every kernel. Whether a kernel function can
 * call them shows only when they are attached, which needs a trampoline and a direct call to
 * it.
 */
static void say_no_trampoline(struct feature_row *row, const char *what)
{
	char reason[ROW_DETAIL_MAX];

	snprintf(reason, sizeof(reason),
		 "the kernel refuses to %s: on " ARCH_NAME
		 " its functions can call programs since " ARCH_FUNCTION_HOOKS_SINCE,
		 what);
	say(row, FEATURE_NO, KERNEL_ENOTSUPP, reason,
	    "use a kernel >= " ARCH_FUNCTION_HOOKS_SINCE
	    " built with CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS");
}

/* A refusal because of missing rights, not because the kernel lacks the feature. */
static void say_refused(struct feature_row *row, int error, const char *what)
{
	char reason[ROW_DETAIL_MAX];

	if (error == EPERM || error == EACCES) {
		bool locked = probe_locked_down();

		snprintf(reason, sizeof(reason), "not permitted to %s%s", what,
			 locked ? ": the kernel is in lockdown mode confidentiality" : "");
		say(row, FEATURE_UNKNOWN, error, reason,
		    locked ? "boot without lockdown=confidentiality"
			   : "run as root with CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN");
		return;
	}
	if (error == KERNEL_ENOTSUPP)
		return say_no_trampoline(row, what);
	snprintf(reason, sizeof(reason), "the kernel refuses to %s: %s", what, strerror(error));
	say(row, error == ENOMEM || error == EAGAIN ? FEATURE_UNKNOWN : FEATURE_NO, error, reason,
	    "use a kernel >= 6.1 built with CONFIG_BPF_SYSCALL, CONFIG_DEBUG_INFO_BTF, "
	    "CONFIG_FUNCTION_TRACER and CONFIG_BPF_LSM");
}

static int load_probe(const struct attach_probe *probe, int btf_id)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = probe->attach,
		    .attach_btf_id = (__u32)btf_id);
	int fd =
		bpf_prog_load(probe->type, "pinfold_probe", "GPL", insns, ARRAY_SIZE(insns), &opts);

	return fd < 0 ? -errno : fd;
}

/*
 * Does the attached program run when a file is written? The kernel counts runs only while a
 * descriptor from BPF_ENABLE_STATS is open.
 */
static int runs(int prog_fd, bool *ret_runs)
{
	int stats_fd cleanup_close = bpf_enable_stats(BPF_STATS_RUN_TIME);
	int null_fd cleanup_close = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	if (stats_fd < 0 || null_fd < 0 || write(null_fd, "", 1) != 1 ||
	    bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -errno;
	*ret_runs = info.run_cnt > 0;
	return 0;
}

static void say_silent_lsm(struct feature_row *row)
{
	char *list cleanup_free = NULL;
	char reason[ROW_DETAIL_MAX], remedy[ROW_DETAIL_MAX];

	if (file_read_line(AT_FDCWD, LSM_LIST, &list)) {
		say(row, FEATURE_NO, 0, "lsm programs attach but are never called",
		    "boot with bpf in the list of lsm=");
		return;
	}
	snprintf(reason, sizeof(reason),
		 "lsm programs attach but are never called: bpf is not in " LSM_LIST " (%.200s)",
		 list);
	snprintf(remedy, sizeof(remedy), "boot with lsm=%.250s,bpf", list);
	say(row, FEATURE_NO, 0, reason, remedy);
}

static int attach_iterator(int prog_fd)
{
	union bpf_iter_link_info info = {.cgroup.order = BPF_CGROUP_ITER_SELF_ONLY};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info, .iter_info_len = sizeof(info));

	return bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, &opts);
}

static void probe_attach(const struct attach_probe *probe, const struct btf *btf,
			 struct feature_row *row)
{
	int prog_fd cleanup_close = -1;
	int link_fd cleanup_close = -1;
	int btf_id = btf__find_by_name_kind(btf, probe->function, (__u32)probe->kind);
	char what[160];
	bool run = true;
	int r;

	snprintf(what, sizeof(what), "load a program for %s", probe->function);
	if (btf_id < 0)
		return say_refused(row, ENOENT, what);
	prog_fd = load_probe(probe, btf_id);
	if (prog_fd < 0)
		return say_refused(row, -prog_fd, what);
	snprintf(what, sizeof(what), "attach a program to %s", probe->function);
	/* an iterator is opened by its readers instead of being attached to a function */
	link_fd = probe->attach == BPF_TRACE_ITER ? attach_iterator(prog_fd)
						  : bpf_raw_tracepoint_open(NULL, prog_fd);
	if (link_fd < 0)
		return say_refused(row, errno, what);
	r = probe->ability == ABILITY_BPF_LSM ? runs(prog_fd, &run) : 0;
	if (r)
		return say_refused(row, -r, "count the runs of a program");
	if (!run)
		return say_silent_lsm(row);
	say(row, FEATURE_YES, 0, "", "");
}

static void probe_map(enum bpf_map_type type, const struct btf *btf, struct feature_row *row)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int fd cleanup_close = -1;

	/* storage maps require BTF for key and value, which the probe does not have */
	if (type == BPF_MAP_TYPE_TASK_STORAGE) {
		bool there = btf__find_by_name_kind(btf, "bpf_task_storage_get", BTF_KIND_FUNC) > 0;

		if (there)
			return say(row, FEATURE_YES, 0, "", "");
		return say_refused(row, ENOENT, "find task storage");
	}
	fd = bpf_map_create(type, "pinfold_probe", 0, 0, (__u32)sysconf(_SC_PAGESIZE), &opts);
	if (fd < 0)
		return say_refused(row, errno, "create a ring buffer");
	say(row, FEATURE_YES, 0, "", "");
}

static void say_no_btf(struct feature_row *row, int error)
{
	say(row, error == EPERM || error == EACCES ? FEATURE_UNKNOWN : FEATURE_NO, error,
	    "the kernel's type information /sys/kernel/btf/vmlinux cannot be read",
	    "use a kernel built with CONFIG_DEBUG_INFO_BTF");
}

static const struct attach_probe *find_attach_probe(enum ability ability)
{
	for (size_t i = 0; i < ARRAY_SIZE(attach_probes); i++)
		if (attach_probes[i].ability == ability)
			return &attach_probes[i];
	return NULL;
}

static void probe_ability(enum ability ability, const struct btf *btf, struct feature_row *row)
{
	const struct attach_probe *probe = find_attach_probe(ability);

	if (probe)
		return probe_attach(probe, btf, row);
	switch (ability) {
	case ABILITY_RINGBUF:
		return probe_map(BPF_MAP_TYPE_RINGBUF, btf, row);
	case ABILITY_TASK_STORAGE:
		return probe_map(BPF_MAP_TYPE_TASK_STORAGE, btf, row);
	case ABILITY_SCHED_EXT:
		if (btf__find_by_name_kind(btf, "sched_ext_ops", BTF_KIND_STRUCT) > 0)
			return say(row, FEATURE_YES, 0, "", "");
		return say(row, FEATURE_NO, 0, "no struct sched_ext_ops in BTF",
			   "use a kernel >= 6.12 built with CONFIG_SCHED_CLASS_EXT; pinfold does "
			   "not use it yet");
	default: /* ABILITY_BTF: the types have been read */
		return say(row, FEATURE_YES, 0, "", "");
	}
}

void probe_begin(struct feature_row rows[ABILITY_NR])
{
	for (int i = 0; i < ABILITY_NR; i++) {
		rows[i] = (struct feature_row){0};
		snprintf(rows[i].name, sizeof(rows[i].name), "%s", names[i]);
		say(&rows[i], FEATURE_UNKNOWN, EINPROGRESS, "not probed yet",
		    "run the command again in a few seconds");
	}
}

void probe_abilities(struct feature_row rows[ABILITY_NR], uint32_t first, uint32_t end)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int error = errno;

	for (uint32_t i = first; i < end; i++) {
		if (btf)
			probe_ability(i, btf, &rows[i]);
		else
			say_no_btf(&rows[i], error);
	}
	btf__free(btf);
}

enum feature_state probe_preemption(void)
{
	char *models cleanup_free = NULL;
	struct utsname name;

	/* the active model is in parentheses: "none (voluntary) full lazy" */
	if (!file_read_line(AT_FDCWD, PREEMPT_FILE, &models))
		return strstr(models, "(none)") || strstr(models, "(voluntary)") ? FEATURE_NO
										 : FEATURE_YES;
	if (uname(&name))
		return FEATURE_UNKNOWN;
	if (strstr(name.version, "PREEMPT_DYNAMIC"))
		return FEATURE_UNKNOWN;
	return strstr(name.version, "PREEMPT") ? FEATURE_YES : FEATURE_NO;
}
