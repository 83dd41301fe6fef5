// SPDX-License-Identifier: Apache-2.0
/*
 * spin: keep a CPU busy until the process is killed.
 *
 * The emulator runs all CPUs of a guest in one thread. A CPU that never waits keeps this thread for
 * a tenth of a second each time it gets it, so a busy loop in the shell delays every step of the
 * test on the other CPUs. With arch_relax the emulator continues with the next CPU at once, and for
 * the guest's kernel the task still runs all the time.
 */
#include <arch.h>

int main(void)
{
	for (;;)
		arch_relax();
}
