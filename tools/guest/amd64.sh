# SPDX-License-Identifier: Apache-2.0
#
# A guest machine of x86-64: the emulator, the machine, what the kernel must be told, and the
# guest's names of its four serial lines, the console first. Sourced by tools/vm.

QEMU_PROGRAM=qemu-system-x86_64
TRIPLE=x86_64-linux-gnu
GUEST_LINES="ttyS0 ttyS1 ttyS2 ttyS3"

# emulated_append: kernel arguments for a machine that is emulated, and late when this one is loaded.
#
# The emulated timer may not tick within the ten jiffies in which the kernel looks for it, and it panics:
# "IO-APIC + timer doesn't work". The kernel also takes late readings of its clocks for a fault of the
# TSC, and reads the time from the emulated HPET from then on, which the emulator has to be called for
# each time.
#
# It would measure the TSC's frequency against these clocks, too, and was seen to err by a factor of
# four, so that seconds and time limits were a quarter as long. The emulated TSC is that of this
# machine, which can be measured well.
emulated_append()
{
	local program=$CACHE/tsc_khz khz

	echo "no_timer_check tsc=nowatchdog"
	[[ $(uname -m) == x86_64 ]] || return 0
	if [[ ! $program -nt $REPO/tools/guest/tsc_khz.c ]]; then
		cc -O2 -o "$program.$$" "$REPO/tools/guest/tsc_khz.c"
		mv "$program.$$" "$program"
	fi
	khz=$("$program")
	echo "tsc_early_khz=$khz"
}

# Arguments of qemu for the machine and its processor. On a real AMD model threads of a core are
# only visible with topoext.
machine_arguments()
{
	local cpu

	echo "-M pc"
	if [[ $ACCEL == kvm ]]; then
		if grep -qm1 AuthenticAMD /proc/cpuinfo; then
			echo "-accel kvm -cpu host,+topoext"
		else
			echo "-accel kvm -cpu host"
		fi
	else
		# Several emulation threads race with the kernel's text patching. The
		# emulated MONITOR is a busy loop in every idle CPU. Kernel 6.1 sees the
		# threads of a core only on the Intel model.
		cpu=max,vendor=GenuineIntel,-monitor
		# What no test asks for and emulation makes dear: strings moved byte by
		# byte, access checks switched at each copy, page tables of five levels.
		cpu+=,-erms,-fsrm,-smap,-smep,-umip,-pku,-la57
		echo "-accel tcg,thread=single -cpu $cpu"
	fi
}

# The arguments that connect one serial line to the character device of that name.
line_arguments()
{
	echo "-serial chardev:$1"
}
