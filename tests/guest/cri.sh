# SPDX-License-Identifier: Apache-2.0
#
# For guest tests with a real container runtime, sourced by bash: the few calls of the Container
# Runtime Interface that a kubelet makes, as gRPC requests that curl carries. Messages are composed
# as hexadecimal digits; fields are given by their numbers in the protocol's api.proto.

CRI_SOCKET=/run/containerd/containerd.sock
# what containers say, in a file that is named like the container
POD_LOGS=/tmp/pods

# varint NUMBER: its digits are in HEX
varint()
{
	local number=$1

	HEX=
	while ((number > 127)); do
		printf -v HEX '%s%02x' "$HEX" $((number & 127 | 128))
		number=$((number >> 7))
	done
	printf -v HEX '%s%02x' "$HEX" "$number"
}

# The next ones append a field to MESSAGE.

# number FIELD VALUE
number()
{
	varint $(($1 << 3))
	MESSAGE+=$HEX
	varint "$2"
	MESSAGE+=$HEX
}

# nested FIELD DIGITS
nested()
{
	varint $(($1 << 3 | 2))
	MESSAGE+=$HEX
	varint $((${#2} / 2))
	MESSAGE+=$HEX$2
}

# text FIELD TEXT
text()
{
	local digits= i digit

	for ((i = 0; i < ${#2}; i++)); do
		printf -v digit '%02x' "'${2:i:1}"
		digits+=$digit
	done
	nested "$1" "$digits"
}

# build COMMAND...: the message that the command composes is in BUILT.
build()
{
	local MESSAGE=

	"$@"
	BUILT=$MESSAGE
}

# call SERVICE/METHOD: sends MESSAGE. Fails with the runtime's words, which are also in SAID; what
# the answer has of lower-case hexadecimal digits, an id, is in ID.
call()
{
	local length file=/tmp/cri.$BASHPID

	printf -v length '%08x' $((${#MESSAGE} / 2))
	xxd -r -p <<<"00$length$MESSAGE" >$file.request
	SAID= ID=
	curl --silent --show-error --max-time 120 --http2-prior-knowledge --unix-socket $CRI_SOCKET \
		--header 'content-type: application/grpc' --header 'te: trailers' \
		--data-binary @$file.request --dump-header $file.headers --output $file.answer \
		"http://localhost/runtime.v1.$1" || return
	SAID=$(sed -n 's/\r$//; s/^grpc-message: //p' $file.headers)
	grep -q '^grpc-status: 0' $file.headers || { echo "${1#*/}: ${SAID:-no status}"; return 1; }
	ID=$(tr -cd 0-9a-f <$file.answer)
}

runtime()
{
	call "RuntimeService/$1"
}

# --- pods -------------------------------------------------------------------------------------

pod_metadata()
{
	text 1 "$1"
	text 2 "uid-$1"
	text 3 default
}

# The network is the host's, and with HOST_PID the processes' numbers too.
namespaces()
{
	number 1 2
	[[ -z ${HOST_PID:-} ]] || number 2 2
}

pod_security()
{
	build namespaces
	nested 1 "$BUILT"
}

# cgroup parent, security context, and in POD_RESOURCES what the pod as a whole has: as for resources
pod_linux()
{
	text 1 "$1"
	build pod_security
	nested 2 "$BUILT"
	[[ -z ${POD_RESOURCES:-} ]] && return
	# shellcheck disable=SC2086
	build resources $POD_RESOURCES
	nested 5 "$BUILT"
}

annotation()
{
	text 1 "${1%%=*}"
	text 2 "${1#*=}"
}

# pod_config NAME PARENT: with the annotations in POD_ANNOTATIONS, which are KEY=VALUE and have no blanks
pod_config()
{
	local pair

	build pod_metadata "$1"
	nested 1 "$BUILT"
	text 3 $POD_LOGS
	for pair in ${POD_ANNOTATIONS:-}; do
		build annotation "$pair"
		nested 7 "$BUILT"
	done
	build pod_linux "$2"
	nested 8 "$BUILT"
}

# run_pod NAME PARENT: its sandbox's id is in ID
run_pod()
{
	local MESSAGE=

	build pod_config "$1" "$2"
	nested 1 "$BUILT"
	runtime RunPodSandbox
}

# --- containers -------------------------------------------------------------------------------

named()
{
	text 1 "$1"
}

# resources SHARES QUOTA MEMORY [CPUS [MEMS]]: 0 and "" are not stated
resources()
{
	((!$2)) || number 1 100000
	((!$2)) || number 2 "$2"
	number 3 "$1"
	((!$3)) || number 4 "$3"
	[[ -z ${4:-} ]] || text 6 "$4"
	[[ -z ${5:-} ]] || text 7 "$5"
}

container_linux()
{
	build resources "$@"
	nested 1 "$BUILT"
}

# container_config NAME IMAGE SHARES QUOTA MEMORY [CPUS [MEMS]]
container_config()
{
	local word

	build named "$1"
	nested 1 "$BUILT"
	build named "$2"
	nested 2 "$BUILT"
	for word in sleep 1000000; do
		text 3 "$word"
	done
	shift 2
	build container_linux "$@"
	nested 15 "$BUILT"
}

# What a kubelet hides from every container that is not privileged, and what it lets it only read.
MASKED='/proc/asound /proc/acpi /proc/kcore /proc/keys /proc/latency_stats /proc/timer_list
	/proc/timer_stats /proc/sched_debug /proc/scsi /sys/firmware /sys/devices/virtual/powercap'
READ_ONLY='/proc/bus /proc/fs /proc/irq /proc/sys /proc/sysrq-trigger'

# capabilities ADDED: all others are dropped
capabilities()
{
	local word

	for word in $1; do
		text 1 "$word"
	done
	text 2 ALL
}

# security ADDED: of a container that is not privileged, has a read-only root and seccomp's default
security()
{
	local word

	build capabilities "$1"
	nested 1 "$BUILT"
	build namespaces
	nested 3 "$BUILT"
	number 7 1
	for word in $MASKED; do
		text 13 "$word"
	done
	for word in $READ_ONLY; do
		text 14 "$word"
	done
	nested 15 ""
}

# host_mount CONTAINER_PATH HOST_PATH [ro]
host_mount()
{
	text 1 "$1"
	text 2 "$2"
	[[ ${3:-} != ro ]] || number 3 1
}

agent_linux()
{
	build resources 51 0 0
	nested 1 "$BUILT"
	build security "$1"
	nested 2 "$BUILT"
}

# agent_config NAME IMAGE ADDED MOUNTS WORD...: MOUNTS are lines for host_mount
agent_config()
{
	local line word

	build named "$1"
	nested 1 "$BUILT"
	build named "$2"
	nested 2 "$BUILT"
	for word in "${@:5}"; do
		text 4 "$word"
	done
	while read -r line; do
		# shellcheck disable=SC2086
		build host_mount $line
		nested 7 "$BUILT"
	done <<<"$4"
	text 11 "$1.log"
	build agent_linux "$3"
	nested 15 "$BUILT"
}

# create_agent SANDBOX POD PARENT NAME IMAGE ADDED MOUNTS WORD...: as a container of a DaemonSet; its id is in ID
create_agent()
{
	local MESSAGE= sandbox=$1 pod=$2 parent=$3

	shift 3
	text 1 "$sandbox"
	build agent_config "$@"
	nested 2 "$BUILT"
	build pod_config "$pod" "$parent"
	nested 3 "$BUILT"
	runtime CreateContainer
}

# create_container SANDBOX POD PARENT NAME IMAGE SHARES QUOTA MEMORY [CPUS [MEMS]]: its id is in ID
create_container()
{
	local MESSAGE= sandbox=$1 pod=$2 parent=$3

	shift 3
	text 1 "$sandbox"
	build container_config "$@"
	nested 2 "$BUILT"
	build pod_config "$pod" "$parent"
	nested 3 "$BUILT"
	runtime CreateContainer
}

# update_container ID CPUS: as a kubelet whose own policy assigns CPUs
update_container()
{
	local MESSAGE=

	text 1 "$1"
	build text 6 "$2"
	nested 2 "$BUILT"
	runtime UpdateContainerResources
}

# resize_container ID SHARES QUOTA MEMORY: as a kubelet resizes a container in place
resize_container()
{
	local MESSAGE=

	text 1 "$1"
	build resources "${@:2}"
	nested 2 "$BUILT"
	runtime UpdateContainerResources
}

# Where only an id is needed: StartContainer, StopContainer (at once), RemoveContainer,
# StopPodSandbox, RemovePodSandbox.
with_id()
{
	local MESSAGE=

	text 1 "$2"
	runtime "$1"
}
