# SPDX-License-Identifier: Apache-2.0
#
# A guest machine of arm64: the emulator, the machine, what the kernel must be told, and the
# guest's names of its four serial lines, the console first. Sourced by tools/vm.

QEMU_PROGRAM=qemu-system-aarch64
TRIPLE=aarch64-linux-gnu
# The machine has one serial line of its own; the others are PCI cards.
GUEST_LINES="ttyAMA0 ttyS0 ttyS1 ttyS2"

# emulated_append: see amd64.sh
emulated_append()
{
	:
}

# Arguments of qemu for the machine and its processor. The second version of the interrupt
# controller ends at eight CPUs. The model has atomic instructions (LSE), as servers have, and
# no pointer authentication, which emulation makes dear. The guest's time is counted in its
# instructions, 8 ns each, and while all its CPUs are idle it jumps to the next timer: so nothing
# comes too late however little of a loaded machine the emulator gets, and waiting costs nothing.
machine_arguments()
{
	echo "-M virt,gic-version=3"
	if [[ $ACCEL == kvm ]]; then
		echo "-accel kvm -cpu host"
	else
		echo "-accel tcg,thread=single -icount shift=3,sleep=off -cpu neoverse-n1"
	fi
}

# The arguments that connect one serial line to the character device of that name.
line_arguments()
{
	if [[ $1 == console ]]; then
		echo "-serial chardev:$1"
	else
		echo "-device pci-serial,chardev=$1"
	fi
}
