/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many instructions a program of the guard executes for what does not concern it, from the program's
 * instructions: those of the object that clang made, or those that the verifier made of them. Follows every
 * path that the arguments of a case leave open. A file is on another file system than cgroup2 and bpffs, so
 * a comparison with the magic number of one of these is never equal; everything else that is read from
 * memory may have any value. On none of these paths may anything be called.
 */
#ifndef TESTS_HOOK_PATH_H
#define TESTS_HOOK_PATH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <linux/bpf.h>

#define HOOK_PATH_MAX  20  /* what the guard may cost others, the exit included */
#define HOOK_STEPS_MAX 200 /* a longer path is taken to have no end */
#define HOOK_ARGS      6

/* from linux/magic.h: what the guard tells its files by */
#define HOOK_CGROUP2 0x63677270
#define HOOK_BPFFS   0xcafe4a11

/* from linux/fs.h and linux/ptrace.h */
#define HOOK_MAY_EXEC	 0x1
#define HOOK_MAY_WRITE	 0x2
#define HOOK_MAY_READ	 0x4
#define HOOK_MAY_OPEN	 0x20
#define HOOK_TRACE_READ	 0x1
#define HOOK_TRACE_STAT	 0xd /* PTRACE_MODE_READ | PTRACE_MODE_NOAUDIT | PTRACE_MODE_FSCREDS */
#define HOOK_CLONE_FILES 0x400

/* A call that does not concern the guard. */
struct hook_case {
	const char *program; /* behind lsm_ or mod_ */
	const char *what;
	int argument; /* its index, or -1 = all may have any value */
	unsigned long long value;
	int ret[2]; /* index of the result of earlier programs, which is 0: of lsm_, of mod_ */
};

static const struct hook_case hook_cases[] = {
	{"file_perm", "a read", 1, HOOK_MAY_READ, {2, 2}},
	{"file_perm", "a write", 1, HOOK_MAY_WRITE, {2, 2}},
	{"file_open", "an open", -1, 0, {1, 1}},
	{"clone", "a component of a path", 1, HOOK_MAY_EXEC, {2, 2}},
	{"clone", "an open for writing", 1, HOOK_MAY_WRITE | HOOK_MAY_OPEN, {2, 2}},
	{"clone", "a change of a directory", 1, HOOK_MAY_WRITE | HOOK_MAY_EXEC, {2, 2}},
	{"fork", "a fork", 1, HOOK_CLONE_FILES, {2, 2}},
	{"mkdir", "a mkdir", -1, 0, {3, 3}},
	{"rmdir", "an rmdir", -1, 0, {2, 2}},
	{"unlink", "an unlink", -1, 0, {2, 2}},
	{"rename", "a rename", -1, 0, {4, 5}},
	{"trace", "a look into /proc", 1, HOOK_TRACE_READ, {2, 2}},
	{"trace", "a look at /proc/PID/stat", 1, HOOK_TRACE_STAT, {2, 2}},
};

#define NR_HOOK_CASES (sizeof(hook_cases) / sizeof(hook_cases[0]))

/* --- values -------------------------------------------------------------------------------------- */

enum hook_value_kind { HOOK_ANY, HOOK_CONTEXT, HOOK_NUMBER };

struct hook_value {
	enum hook_value_kind kind;
	unsigned long long number;
};

struct hook_walk {
	const struct bpf_insn *code;
	size_t nr;
	struct hook_value args[HOOK_ARGS];
};

static inline struct hook_value hook_number(unsigned long long number)
{
	return (struct hook_value){HOOK_NUMBER, number};
}

static inline struct hook_value hook_load(const struct hook_walk *walk, const struct bpf_insn *insn,
					  struct hook_value base)
{
	struct hook_value found;

	if (base.kind != HOOK_CONTEXT || insn->off < 0 || insn->off / 8 >= HOOK_ARGS ||
	    insn->off % 8)
		return (struct hook_value){HOOK_ANY, 0};
	found = walk->args[insn->off / 8];
	if (found.kind == HOOK_NUMBER && BPF_SIZE(insn->code) == BPF_W)
		found.number = (unsigned int)found.number;
	return found;
}

/* What is not computed here may have any value. */
static inline struct hook_value hook_compute(const struct bpf_insn *insn, struct hook_value a,
					     struct hook_value b)
{
	bool is_narrow = BPF_CLASS(insn->code) == BPF_ALU;
	unsigned long long number;

	if (BPF_OP(insn->code) == BPF_MOV && !is_narrow && !insn->off)
		return b;
	if (b.kind != HOOK_NUMBER || (a.kind != HOOK_NUMBER && BPF_OP(insn->code) != BPF_MOV))
		return (struct hook_value){HOOK_ANY, 0};
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		number = b.number;
		break;
	case BPF_AND:
		number = a.number & b.number;
		break;
	case BPF_OR:
		number = a.number | b.number;
		break;
	case BPF_ADD:
		number = a.number + b.number;
		break;
	case BPF_LSH:
		number = a.number << (b.number & 63);
		break;
	case BPF_RSH:
		number = a.number >> (b.number & 63);
		break;
	default:
		return (struct hook_value){HOOK_ANY, 0};
	}
	return hook_number(is_narrow ? (unsigned int)number : number);
}

static inline bool hook_is_magic(struct hook_value value)
{
	return value.kind == HOOK_NUMBER && ((unsigned int)value.number == HOOK_CGROUP2 ||
					     (unsigned int)value.number == HOOK_BPFFS);
}

/* Which ways a comparison leaves open. */
static inline void hook_compare(const struct bpf_insn *insn, struct hook_value a,
				struct hook_value b, bool *ret_jumps, bool *ret_passes)
{
	bool is_equality = BPF_OP(insn->code) == BPF_JEQ || BPF_OP(insn->code) == BPF_JNE;
	bool holds;

	*ret_jumps = *ret_passes = true;
	if (BPF_CLASS(insn->code) == BPF_JMP32) {
		a.number = (unsigned int)a.number;
		b.number = (unsigned int)b.number;
	}
	if (is_equality && a.kind == HOOK_ANY && hook_is_magic(b))
		holds = BPF_OP(insn->code) == BPF_JNE;
	else if (a.kind != HOOK_NUMBER || b.kind != HOOK_NUMBER)
		return;
	else if (is_equality)
		holds = (a.number == b.number) == (BPF_OP(insn->code) == BPF_JEQ);
	else if (BPF_OP(insn->code) == BPF_JSET)
		holds = a.number & b.number;
	else
		return;
	*ret_jumps = holds;
	*ret_passes = !holds;
}

/* --- the walk ------------------------------------------------------------------------------------ */

/*
 * The instructions of the longest path from `at`, of which `executed` came before. -ELOOP: there is one
 * without an end, -EPERM: on one something is called, -EINVAL: this is not code.
 */
static inline int hook_walk_from(const struct hook_walk *walk, size_t at,
				 struct hook_value registers[MAX_BPF_REG], int executed)
{
	while (at < walk->nr && executed < HOOK_STEPS_MAX) {
		const struct bpf_insn *insn = &walk->code[at];
		struct hook_value *to = &registers[insn->dst_reg], other;
		unsigned int class = BPF_CLASS(insn->code);

		other = BPF_SRC(insn->code) == BPF_X ? registers[insn->src_reg]
						     : hook_number((unsigned long long)insn->imm);
		executed++;
		at++;
		if (class == BPF_LD) {
			if (at == walk->nr)
				break;
			/* a map, or a number of 64 bits in two instructions, which are executed as one */
			*to = insn->src_reg
				      ? (struct hook_value){HOOK_ANY, 0}
				      : hook_number((unsigned int)insn->imm |
						    (unsigned long long)walk->code[at].imm << 32);
			at++;
		} else if (class == BPF_LDX) {
			*to = hook_load(walk, insn, registers[insn->src_reg]);
		} else if (class == BPF_ALU || class == BPF_ALU64) {
			*to = hook_compute(insn, *to, other);
		} else if (class == BPF_JMP || class == BPF_JMP32) {
			struct hook_value copies[MAX_BPF_REG];
			bool jumps, passes;
			int there, here;

			if (BPF_OP(insn->code) == BPF_EXIT)
				return executed;
			if (BPF_OP(insn->code) == BPF_CALL)
				return -EPERM;
			if (BPF_OP(insn->code) == BPF_JA) {
				at += (size_t)(class == BPF_JMP32 ? insn->imm : insn->off);
				continue;
			}
			hook_compare(insn, *to, other, &jumps, &passes);
			if (jumps && passes) {
				memcpy(copies, registers, sizeof(copies));
				there = hook_walk_from(walk, at + (size_t)insn->off, copies,
						       executed);
				if (there < 0)
					return there;
				here = hook_walk_from(walk, at, registers, executed);
				return here < 0 || here > there ? here : there;
			}
			if (jumps)
				at += (size_t)insn->off;
		} else if (class != BPF_ST && class != BPF_STX) {
			return -EINVAL;
		}
	}
	return at < walk->nr ? -ELOOP : -EINVAL;
}

/* The most instructions that the program `code` executes in that case; negative as above. */
static inline int hook_path(const struct hook_case *hook, bool is_lsm, const struct bpf_insn *code,
			    size_t nr)
{
	struct hook_value registers[MAX_BPF_REG] = {[BPF_REG_1] = {HOOK_CONTEXT, 0}};
	struct hook_walk walk = {.code = code, .nr = nr};

	if (hook->argument >= 0)
		walk.args[hook->argument] = hook_number(hook->value);
	walk.args[hook->ret[is_lsm ? 0 : 1]] = hook_number(0);
	return hook_walk_from(&walk, 0, registers, 0);
}

static inline const char *hook_path_error(int error)
{
	switch (error) {
	case -EPERM:
		return "it calls a function on the way";
	case -ELOOP:
		return "a path has no end";
	default:
		return "it cannot be followed";
	}
}

#endif
