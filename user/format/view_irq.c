// SPDX-License-Identifier: Apache-2.0
/* Interrupts and the kernel's unbound work: where each may run. */
#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"
#include "format/words.h"

static const struct field_desc irq_fields[] = {
	WORD(view_irq, kind, NULL, 0,
	     "interrupt; default, which is the mask that new interrupts start "
	     "with; or workqueues, which is the mask of the kernel's unbound "
	     "work.",
	     [IRQ_KIND_DEFAULT] = "default", [IRQ_KIND_WORKQUEUES] = "workqueues",
	     [IRQ_KIND_INTERRUPT] = "interrupt"),
	COUNT(view_irq, irq, NULL, OR_NULL, "Number of the interrupt."),
	TEXT(view_irq, name, NULL, 0, "Its handlers, as /proc/interrupts names them."),
	ENUM(view_irq, state, NULL, 0,
	     "allowed if its mask spares the exclusive CPUs by itself; "
	     "steered if pinfold narrowed the mask; managed if the kernel "
	     "does not let the mask be changed, which older kernels report "
	     "only when it is written; exclusive if it may fire on exclusive "
	     "CPUs and could be moved.",
	     irq_state_name, IRQ_STATE_NR),
	TEXT(view_irq, affinity, NULL, 0, "CPUs on which it may fire."),
	TEXT(view_irq, effective, NULL, OR_NULL,
	     "CPUs among them to which it is delivered at present; null if the kernel does not say."),
	TEXT(view_irq, original, NULL, OR_NULL,
	     "CPUs that are restored when nothing is to be steered; null if pinfold does not hold "
	     "the mask."),
	TEXT(view_irq, exclusive_cpus, "exclusive", OR_NULL,
	     "Exclusive CPUs on which it may fire; null = none. For a managed "
	     "interrupt, only the CPUs to which it is delivered count."),
	COUNT(view_irq, fired, NULL, OR_NULL,
	      "How often it fired on CPUs while they were exclusive, since the agent started; "
	      "counted when the masks are read, so the time before the first count is missing."),
	TEXT(view_irq, remedy, NULL, OR_NULL,
	     "What to do if it may fire on exclusive CPUs; null otherwise."),
};
DESCRIBE(view_irq, irq_fields, "irq",
	 "Where an interrupt may fire, or the kernel's unbound work may run.", .is_list = true,
	 .layout = OBJECT_TABLE);

struct json_object *view_irqs(const struct view_irq *rows, size_t nr_rows)
{
	return object_json(&view_irq_desc, rows, nr_rows);
}
