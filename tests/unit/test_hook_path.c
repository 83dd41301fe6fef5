// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * What the guard costs what does not concern it: instructions of the compiled programs, until they return.
 * tests/guest/guard counts the same in what the kernel has made of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <bpf/libbpf.h>

#include "../lib/hook_path.h"
#include "bpf/object_guard.h"
#include "lib/cleanup.h"

DEFINE_CLEANUP(struct bpf_object, bpf_object_closep, bpf_object__close);
#define cleanup_object cleanup(bpf_object_closep)

static struct bpf_object *open_guard(void)
{
	size_t len;
	const void *elf = guard_elf(&len);
	struct bpf_object *object = bpf_object__open_mem(elf, len, NULL);

	assert_non_null(object);
	return object;
}

static int path_of(struct bpf_object *object, const struct hook_case *hook, bool is_lsm)
{
	const struct bpf_program *program;
	char name[32];

	snprintf(name, sizeof(name), "%s_%s", is_lsm ? "lsm" : "mod", hook->program);
	program = bpf_object__find_program_by_name(object, name);
	assert_non_null(program);
	return hook_path(hook, is_lsm, bpf_program__insns(program), bpf_program__insn_cnt(program));
}

static void others_leave_within_twenty_instructions(void **state)
{
	struct bpf_object *object cleanup_object = open_guard();
	int nr_bad = 0;

	for (size_t i = 0; i < NR_HOOK_CASES; i++)
		for (int is_lsm = 1; is_lsm >= 0; is_lsm--) {
			const struct hook_case *hook = &hook_cases[i];
			int nr = path_of(object, hook, is_lsm);

			if (nr < 0)
				print_message("# %s_%s, %s: %s\n", is_lsm ? "lsm" : "mod",
					      hook->program, hook->what, hook_path_error(nr));
			else
				print_message("# %s_%s, %s: %d instructions\n",
					      is_lsm ? "lsm" : "mod", hook->program, hook->what,
					      nr);
			nr_bad += nr < 0 || nr > HOOK_PATH_MAX;
		}
	assert_int_equal(nr_bad, 0);
}

/*
 * Mounts and changes to processes are rare, and what decides about the latter is in maps. A new program
 * is in one of the two lists.
 */
static void each_program_is_counted_or_rare(void **state)
{
	static const char *const rare[] = {"mount",   "move_mount", "umount",
					   "remount", "task_sched", "memory",
					   "nice",    "ioprio",	    "limit"};
	struct bpf_object *object cleanup_object = open_guard();
	struct bpf_program *program;

	bpf_object__for_each_program (program, object) {
		const char *name = bpf_program__name(program);
		bool is_known = false;

		if (strncmp(name, "lsm_", 4) && strncmp(name, "mod_", 4))
			continue;
		for (size_t i = 0; i < NR_HOOK_CASES; i++)
			is_known |= !strcmp(name + 4, hook_cases[i].program);
		for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++)
			is_known |= !strcmp(name + 4, rare[i]);
		if (!is_known)
			print_message("# %s is in neither list\n", name);
		assert_true(is_known);
	}
}

/* --- the count itself ---------------------------------------------------------------------------- */

#define LOAD(to, from, offset)                                                                    \
	{                                                                                         \
		.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = to, .src_reg = from, .off = offset \
	}
#define SET(to, number)                                                           \
	{                                                                         \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = to, .imm = number \
	}
#define MASK(to, number)                                                          \
	{                                                                         \
		.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = to, .imm = number \
	}
#define JUMP(op, a, b, by)                                                      \
	{                                                                       \
		.code = BPF_JMP | op | BPF_K, .dst_reg = a, .off = by, .imm = b \
	}
#define JUMP_X(op, a, b, by)                                                        \
	{                                                                           \
		.code = BPF_JMP | op | BPF_X, .dst_reg = a, .src_reg = b, .off = by \
	}
#define CALL()                                       \
	{                                            \
		.code = BPF_JMP | BPF_CALL, .imm = 1 \
	}
#define EXIT()                             \
	{                                  \
		.code = BPF_JMP | BPF_EXIT \
	}

static const struct hook_case write_case = {"x", "a write", 1, HOOK_MAY_WRITE, {2, 2}};

static int count(const struct hook_case *hook, const struct bpf_insn *code, size_t nr)
{
	return hook_path(hook, true, code, nr);
}

static void counts_what_is_executed(void **state)
{
	const struct bpf_insn masks[] = {
		LOAD(2, 1, 8), MASK(2, HOOK_MAY_WRITE), JUMP(BPF_JEQ, 2, 0, 2), SET(0, 0), EXIT(),
		CALL(),
	};
	const struct bpf_insn magic[] = {
		LOAD(6, 1, 0),
		LOAD(3, 6, 8),
		{.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 4, .imm = (int)HOOK_BPFFS},
		{0},
		JUMP_X(BPF_JEQ, 3, 4, 2),
		SET(0, 0),
		EXIT(),
		CALL(),
		EXIT(),
	};
	const struct bpf_insn branches[] = {
		LOAD(3, 1, 0), SET(0, 0), JUMP(BPF_JEQ, 3, 7, 1), EXIT(), SET(0, 1),
		SET(0, 2),     EXIT(),
	};

	assert_int_equal(count(&write_case, masks, 6), 5);
	/* two instructions of one number are executed as one */
	assert_int_equal(count(&write_case, magic, 9), 6);
	/* of two ways that are open the longer one */
	assert_int_equal(count(&write_case, branches, 7), 6);
}

static void refuses_calls_and_endless_paths(void **state)
{
	const struct hook_case read_case = {"x", "a read", 1, HOOK_MAY_READ, {2, 2}};
	const struct bpf_insn calls[] = {LOAD(2, 1, 8), MASK(2, HOOK_MAY_WRITE),
					 JUMP(BPF_JEQ, 2, 0, 1), CALL(), EXIT()};
	const struct bpf_insn maybe_calls[] = {LOAD(3, 1, 0), JUMP(BPF_JEQ, 3, 7, 1), EXIT(),
					       CALL(), EXIT()};
	const struct bpf_insn endless[] = {
		SET(0, 0), {.code = BPF_JMP | BPF_JA, .off = -2}, EXIT()};
	const struct bpf_insn no_end[] = {SET(0, 0), SET(0, 0)};

	assert_int_equal(count(&write_case, calls, 5), -EPERM);
	assert_int_equal(count(&read_case, calls, 5), 4);
	assert_int_equal(count(&write_case, maybe_calls, 5), -EPERM);
	assert_int_equal(count(&write_case, endless, 3), -ELOOP);
	assert_int_equal(count(&write_case, no_end, 2), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_leave_within_twenty_instructions),
		cmocka_unit_test(each_program_is_counted_or_rare),
		cmocka_unit_test(counts_what_is_executed),
		cmocka_unit_test(refuses_calls_and_endless_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
