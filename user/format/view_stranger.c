// SPDX-License-Identifier: Apache-2.0
/* Tasks that may run on exclusive CPUs without belonging there, or would if they were not moved. */
#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"
#include "format/words.h"

static const struct field_desc stranger_fields[] = {
	COUNT(view_stranger, pid, NULL, 0, "Id of the thread."),
	COUNT(view_stranger, process, NULL, 0, "Id of its process."),
	TEXT(view_stranger, name, NULL, 0, "Its name."),
	WORD(view_stranger, kind, NULL, 0,
	     "task of the host; kthread, a kernel thread; bound, a kernel thread that nobody can "
	     "move; or pod, a task below the workload root.",
	     [STRANGER_TASK] = "task", [STRANGER_KTHREAD] = "kthread", [STRANGER_BOUND] = "bound",
	     [STRANGER_POD] = "pod"),
	ENUM(view_stranger, state, NULL, 0,
	     "moved if it is kept off the exclusive CPUs, reaches if it may run there and nothing "
	     "is done about it, bound if nobody can move it, cpuset if its cpuset has to be repaired "
	     "instead, contended if another process gives it these CPUs again and again, failed if "
	     "the kernel refused to move it.",
	     stranger_state_name, STRANGER_STATE_NR),
	WORD(view_stranger, cause, NULL, 0,
	     "Why it may, or might: default, because nobody restricted it; chosen, because somebody "
	     "selected CPUs for it; or set_back, because another process undid its correction.",
	     [STRANGER_CAUSE_DEFAULT] = "default", [STRANGER_CAUSE_CHOSEN] = "chosen",
	     [STRANGER_CAUSE_SET_BACK] = "set_back"),
	ENUM(view_stranger, origin, NULL, 0,
	     "Whose it is, judged by where it lives: systemd for process 1, runtime or kubelet by the "
	     "unit of its cgroup, kernel, or user for anything else; unknown without a cgroup.",
	     drift_cause_name, CAUSE_NR),
	TEXT(view_stranger, cgroup, NULL, OR_NULL, "Its cgroup; null if it could not be read."),
	TEXT(view_stranger, unit, NULL, OR_NULL,
	     "The unit of systemd that it belongs to, by its cgroup; null = none."),
	TEXT(view_stranger, affinity, NULL, 0, "CPUs that it may use."),
	TEXT(view_stranger, original, NULL, OR_NULL,
	     "CPUs that are restored when these are not exclusive any more; null if pinfold has not "
	     "changed them."),
	TEXT(view_stranger, exclusive_cpus, "exclusive", OR_NULL,
	     "Exclusive CPUs of others that it may use; null = none."),
	COUNT(view_stranger, set_back, "set back", 0,
	      "How often it was corrected lately because another process undid that."),
	TEXT(view_stranger, remedy, NULL, OR_NULL,
	     "What to do if it may use exclusive CPUs; null otherwise."),
};
DESCRIBE(view_stranger, stranger_fields, "stranger",
	 "A task that may run on exclusive CPUs without belonging there, or that is kept off them.",
	 .is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_strangers(const struct view_stranger *rows, size_t nr_rows)
{
	return object_json(&view_stranger_desc, rows, nr_rows);
}
