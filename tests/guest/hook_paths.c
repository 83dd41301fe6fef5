// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * What the guard in force costs what does not concern it: instructions of its programs, as the kernel has
 * translated them, until they return. tests/unit/test_hook_path.c counts the same in the object. Fails if a
 * path is too long, or if the kernel has none of these programs. -v prints all of them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../lib/hook_path.h"
#include "lib/cleanup.h"
#include "lib/file.h"

struct counts {
	bool is_verbose;
	int nr_counted, nr_bad;
};

/* The code of a program, which the caller frees; NULL on failure. */
static struct bpf_insn *read_code(int prog_fd, char ret_name[BPF_OBJ_NAME_LEN], size_t *ret_nr)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	struct bpf_insn *code cleanup_free = NULL;

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return NULL;
	code = malloc(info.xlated_prog_len + 1);
	if (!code)
		return NULL;
	memcpy(ret_name, info.name, BPF_OBJ_NAME_LEN);
	*ret_nr = info.xlated_prog_len / sizeof(*code);
	info = (struct bpf_prog_info){.xlated_prog_len = info.xlated_prog_len,
				      .xlated_prog_insns = (uintptr_t)code};
	len = sizeof(info);
	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len) || !info.xlated_prog_insns)
		return NULL;
	return TAKE_PTR(code);
}

static void count_case(const struct hook_case *hook, const char *name, const struct bpf_insn *code,
		       size_t nr, struct counts *counts)
{
	int length = hook_path(hook, !strncmp(name, "lsm_", 4), code, nr);
	bool is_bad = length < 0 || length > HOOK_PATH_MAX;

	counts->nr_counted++;
	counts->nr_bad += is_bad;
	if (!is_bad && !counts->is_verbose)
		return;
	if (length < 0)
		printf("%s, %s: %s\n", name, hook->what, hook_path_error(length));
	else
		printf("%s, %s: %d instructions\n", name, hook->what, length);
}

static void count_program(int prog_fd, struct counts *counts)
{
	char name[BPF_OBJ_NAME_LEN] = "";
	size_t nr;
	struct bpf_insn *code cleanup_free = read_code(prog_fd, name, &nr);

	if (!code || (strncmp(name, "lsm_", 4) && strncmp(name, "mod_", 4)))
		return;
	for (size_t i = 0; i < NR_HOOK_CASES; i++)
		if (!strcmp(name + 4, hook_cases[i].program))
			count_case(&hook_cases[i], name, code, nr, counts);
}

int main(int argc, char **argv)
{
	struct counts counts = {.is_verbose = argc > 1 && !strcmp(argv[1], "-v")};
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		int prog_fd cleanup_close = bpf_prog_get_fd_by_id(id);

		if (prog_fd >= 0)
			count_program(prog_fd, &counts);
	}
	if (counts.nr_counted < (int)NR_HOOK_CASES)
		printf("%d of %zu cases were found\n", counts.nr_counted, NR_HOOK_CASES);
	return counts.nr_bad || counts.nr_counted < (int)NR_HOOK_CASES;
}
