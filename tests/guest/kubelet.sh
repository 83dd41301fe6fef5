# SPDX-License-Identifier: Apache-2.0
#
# For guest tests, sourced after containerd.sh: a stand-in for a kubelet, which is in no package. It does
# to cgroups, to the two state files and to the runtime what the kubelet 1.36 does:
#
#  - the cgroups of all pods, of the QoS classes and of each pod, under both drivers, with all
#    controllers enabled on the way down; with systemd as transient slices, whose properties are set
#    first and whose files are then written, as libcontainer does both;
#  - at each start once more the properties of all pods (under policy none with the list of all CPUs)
#    and of the classes, whatever they are;
#  - with policy static, the CPU manager's and the memory manager's files, each replaced by a rename,
#    the CPU manager's twice for each container, and every ten seconds the cpusets of the containers
#    that have others than it last wrote; it knows none after a start.
#
# It writes from the cgroup of kubelet.service, and the runtime runs in that of containerd.service.
# Left out are devices, huge pages, the choice between CPUs (the lowest are taken), and what
# it would say to an API server.

KUBELET_DIRECTORY=/var/lib/kubelet
KUBELET_GROUP=$CG/system.slice/kubelet.service
RUNTIME_GROUP=$CG/system.slice/containerd.service
KUBELET_PODS=/tmp/kubelet
KUBELET_POLICY=none
# of each pod; and what is not in its request
POD_MEMORY=$((64 << 20)) RESERVED_CPUS=2
KUBELET=
declare -A CLASS OWNER
NR_CPUS=$(grep -c ^processor /proc/cpuinfo)
LOGS+=(/tmp/kubelet.log)

# --- processes --------------------------------------------------------------------------------

# make_service NAME: a cgroup like that of a service
make_service()
{
	if [[ $DRIVER == systemd ]]; then
		quietly systemd-run --unit "$1" sleep 1000000
	else
		mkdir -p "$CG/system.slice/$1.service"
	fi
}

start_runtime()
{
	[[ -d $RUNTIME_GROUP ]] || make_service containerd || return
	# the command is for the shell that is to be in that group
	# shellcheck disable=SC2016
	background unshare -m bash -c 'echo $$ >"$1/cgroup.procs" && shift && enter_root "$@"' - \
		$RUNTIME_GROUP $RUNTIME_ROOT /usr/bin/containerd --config /etc/config.toml --log-level warn
	CONTAINERD=$!
	eventually answers_calls
}

# as_kubelet COMMAND...: in a process of its service, so variables do not come back
as_kubelet()
{
	(echo "$BASHPID" >$KUBELET_GROUP/cgroup.procs && "$@")
}

# --- cgroups ----------------------------------------------------------------------------------

# locate PART...: the cgroup of these parts, by the driver's rules, in DIRECTORY; with systemd its unit
# is in UNIT, and the one above in ABOVE.
locate()
{
	local part name=

	DIRECTORY=$CG UNIT=-.slice ABOVE=
	for part; do
		if [[ $DRIVER == systemd ]]; then
			name+=${name:+-}${part//-/_}
			ABOVE=$UNIT UNIT=$name.slice
			DIRECTORY+=/$UNIT
		else
			DIRECTORY+=/$part
		fi
	done
}

# ask_systemd METHOD SIGNATURE WORD...
ask_systemd()
{
	busctl -- call org.freedesktop.systemd1 /org/freedesktop/systemd1 \
		org.freedesktop.systemd1.Manager "$@"
}

# The job is waited for. A slice that is there is no error.
start_slice()
{
	systemctl --quiet is-active "$UNIT" ||
		ask_systemd StartTransientUnit 'ssa(sv)a(sa(sv))' "$UNIT" replace 7 \
			Description s "libcontainer container $UNIT" Wants as 1 "$ABOVE" \
			MemoryAccounting b true CPUAccounting b true IOAccounting b true \
			TasksAccounting b true DefaultDependencies b false 0 || return
	until_true 60 test -d "$DIRECTORY"
}

# create_group PART...
create_group()
{
	local path=$CG controllers part

	locate "$@"
	[[ $DRIVER != systemd ]] || start_slice || return
	controllers=$(<$CG/cgroup.controllers)
	while [[ $path != "$DIRECTORY" ]]; do
		echo "+${controllers// / +}" >"$path/cgroup.subtree_control" || return
		part=${DIRECTORY#"$path"/}
		path+=/${part%%/*}
		[[ -d $path ]] || mkdir "$path" || return
	done
}

# The kubelet's own test for a cgroup: it exists, with the controllers that the kubelet uses. One of a
# pod that fails it ends the pod.
is_valid_group()
{
	local has name

	locate "$@"
	has=" $(<"$DIRECTORY/cgroup.controllers") " || return
	for name in cpu cpuset memory pids hugetlb; do
		[[ " $(<$CG/cgroup.controllers) " != *" $name "* || $has == *" $name "* ]] ||
			{ echo "$DIRECTORY has no $name"; return 1; }
	done
}

# mask_of NR: the bytes of a set of the first CPUs, in decimal, after their number
mask_of()
{
	local left=$1 nr=0 bytes=

	for ((; left > 0; left -= 8, nr++)); do
		bytes+=" $((left >= 8 ? 255 : (1 << left) - 1))"
	done
	echo "$nr$bytes"
}

# set_group SHARES MEMORY CPUS PART...: MEMORY in bytes and CPUS, a number of them, are 0 if not stated
set_group()
{
	local weight=$((1 + ($1 - 2) * 9999 / 262142)) memory=$2 cpus=$3 nr=1 properties

	shift 3
	locate "$@"
	properties=(CPUWeight t $weight)
	((!memory)) || { properties+=(MemoryMax t "$memory") && nr=$((nr + 1)); }
	# shellcheck disable=SC2207
	((!cpus)) || { properties+=(AllowedCPUs ay $(mask_of "$cpus")) && nr=$((nr + 1)); }
	[[ $DRIVER != systemd ]] ||
		ask_systemd SetUnitProperties 'sba(sv)' "$UNIT" true $nr "${properties[@]}" || return
	((!memory)) || echo "$memory" >"$DIRECTORY/memory.max" || return
	echo $weight >"$DIRECTORY/cpu.weight" || return
	((!cpus)) || echo "0-$((cpus - 1))" >"$DIRECTORY/cpuset.cpus"
}

# ensure_group SHARES MEMORY CPUS PART...
ensure_group()
{
	is_valid_group "${@:4}" >/tmp/kubelet.group 2>&1 || create_group "${@:4}" || return
	set_group "$@"
}

# The node's: with policy static no list of CPUs is stated.
ensure_groups()
{
	local total cpus=0

	total=$(awk '/^MemTotal/ { print $2 * 1024 }' /proc/meminfo)
	[[ $KUBELET_POLICY == static ]] || cpus=$NR_CPUS
	ensure_group $(((NR_CPUS - RESERVED_CPUS) * 1024)) $((total * 9 / 10)) $cpus kubepods &&
		ensure_group 2 0 0 kubepods burstable && ensure_group 2 0 0 kubepods besteffort
}

# --- state files ------------------------------------------------------------------------------

# hash TEXT: FNV-1a of 32 bits, in SUM
hash()
{
	local i byte

	SUM=2166136261
	for ((i = 0; i < ${#1}; i++)); do
		printf -v byte %d "'${1:i:1}"
		SUM=$((((SUM ^ byte) * 16777619) & 0xffffffff))
	done
}

# cpus_of POD: as a list; those of nobody without
cpus_of()
{
	local cpu first= list=

	for ((cpu = 0; cpu <= NR_CPUS; cpu++)); do
		if ((cpu < NR_CPUS)) && [[ ${OWNER[$cpu]:-} == "${1:-}" ]]; then
			first=${first:-$cpu}
		elif [[ -n $first ]]; then
			list+=${list:+,}$first
			((first == cpu - 1)) || list+=-$((cpu - 1))
			first=
		fi
	done
	echo "$list"
}

# Pods with CPUs of their own, sorted as the files have them.
owners()
{
	printf '%s\n' "${OWNER[@]}" | grep . | LC_ALL=C sort -u
}

# replace_state NAME TEXT: text and checksum; the file is never half written
replace_state()
{
	echo -n "$2,\"checksum\":$SUM}" >$KUBELET_DIRECTORY/.$1 &&
		mv $KUBELET_DIRECTORY/.$1 $KUBELET_DIRECTORY/$1
}

# write_cpu_state [POD]: this one's entry is not in it yet
write_cpu_state()
{
	local pod cpus shared= dump= entries=

	if [[ $KUBELET_POLICY == static ]]; then
		shared=$(cpus_of)
		for pod in $(owners); do
			[[ $pod != "${1:-}" ]] || continue
			cpus=$(cpus_of "$pod")
			dump+="${dump:+ }uid-$pod:map[main:$cpus]"
			entries+="${entries:+,}\"uid-$pod\":{\"main\":\"$cpus\"}"
		done
	fi
	hash "(*state.CPUManagerCheckpoint){PolicyName:(string)$KUBELET_POLICY DefaultCPUSet:(string)$shared Entries:(map[string]map[string]string)map[$dump] Checksum:(checksum.Checksum)0}"
	replace_state cpu_manager_state \
		"{\"policyName\":\"$KUBELET_POLICY\",\"defaultCpuSet\":\"$shared\"${entries:+,\"entries\":{$entries\}}"
}

# Pinned memory is on node 0.
write_memory_state()
{
	local policy=None node total used nr pod json= dump= entries= entries_dump=

	if [[ $KUBELET_POLICY == static ]]; then
		policy=Static
		for pod in $(owners); do
			entries+="${entries:+,}\"uid-$pod\":{\"main\":[{\"numaAffinity\":[0],\"type\":\"memory\",\"size\":$POD_MEMORY}]}"
			entries_dump+="${entries_dump:+ }uid-$pod:map[main:[{NUMAAffinity:([]int)[0] Type:(v1.ResourceName)memory Size:(uint64)$POD_MEMORY}]]"
		done
		nr=$(owners | wc -l)
		for node in 0 1; do
			total=$(awk '/MemTotal/ { print $4 * 1024 }' /sys/devices/system/node/node$node/meminfo)
			used=$((nr * POD_MEMORY))
			json+="${json:+,}\"$node\":{\"numberOfAssignments\":$nr,\"memoryMap\":{\"memory\":{\"total\":$total,\"systemReserved\":0,\"allocatable\":$total,\"reserved\":$used,\"free\":$((total - used))}},\"cells\":[$node]}"
			dump+="${dump:+ }$node:<*>{NumberOfAssignments:(int)$nr MemoryMap:(map[v1.ResourceName]*state.MemoryTable)map[memory:<*>{TotalMemSize:(uint64)$total SystemReserved:(uint64)0 Allocatable:(uint64)$total Reserved:(uint64)$used Free:(uint64)$((total - used))}] Cells:([]int)[$node]}"
			nr=0
		done
	fi
	hash "(*state.MemoryManagerCheckpoint){PolicyName:(string)$policy MachineState:(state.NUMANodeMap)map[$dump] Entries:(state.ContainerMemoryAssignments)map[$entries_dump] Checksum:(checksum.Checksum)0}"
	replace_state memory_manager_state \
		"{\"policyName\":\"$policy\",\"machineState\":{$json}${entries:+,\"entries\":{$entries\}}"
}

# assign POD NUMBER: the lowest CPUs that nobody has. The first ones are reserved.
assign()
{
	local cpu left=$2

	for ((cpu = RESERVED_CPUS; cpu < NR_CPUS && left > 0; cpu++)); do
		[[ -n ${OWNER[$cpu]:-} ]] || { OWNER[$cpu]=$1 && left=$((left - 1)); }
	done
	as_kubelet write_cpu_state "$1" && as_kubelet write_cpu_state && as_kubelet write_memory_state
}

# --- the CPU manager's loop -------------------------------------------------------------------

# Each pod is a file: its container and CPUs of its own; a second one has the CPUs that were last written.
reconcile()
{
	local file container cpus last shared

	shared=$(<$KUBELET_PODS/shared)
	for file in $KUBELET_PODS/*.pod; do
		[[ -f $file ]] && read -r container cpus <"$file" || continue
		last=
		[[ ! -f ${file%pod}last ]] || last=$(<"${file%pod}last")
		cpus=${cpus:-$shared}
		[[ $cpus != "$last" ]] || continue
		if update_container "$container" "$cpus" >/tmp/kubelet.update 2>&1; then
			echo "$cpus" >"${file%pod}last"
		# its pod may have been removed meanwhile
		elif [[ -f $file ]]; then
			echo "${file##*/}: $(</tmp/kubelet.update)"
		fi
	done
}

reconcile_forever()
{
	echo "$BASHPID" >$KUBELET_GROUP/cgroup.procs
	while :; do
		reconcile
		pause 10
	done
}

note_shared()
{
	cpus_of >$KUBELET_PODS/.shared && mv $KUBELET_PODS/.shared $KUBELET_PODS/shared
}

# --- the kubelet ------------------------------------------------------------------------------

# kubelet_start POLICY: none or static, of which the second one includes Static memory. Fails if a kubelet
# would not start, or would go on without having set what it has to.
kubelet_start()
{
	KUBELET_POLICY=$1
	mkdir -p $KUBELET_DIRECTORY $KUBELET_PODS
	[[ -d $KUBELET_GROUP ]] || make_service kubelet || return
	as_kubelet write_cpu_state && as_kubelet write_memory_state && note_shared || return
	as_kubelet ensure_groups || return
	# what was written last is not known after a start
	rm -f $KUBELET_PODS/*.last
	KUBELET=
	[[ $1 == static ]] || return 0
	reconcile_forever >>/tmp/kubelet.log 2>&1 </dev/null &
	KUBELET=$!
}

kubelet_stop()
{
	[[ -n $KUBELET ]] || return 0
	kill -9 "$KUBELET"
	wait "$KUBELET"
	KUBELET=
	return 0
}

kubelet_restart()
{
	kubelet_stop
	kubelet_start "$KUBELET_POLICY"
}

# kubelet_pod NAME CLASS [CPUS]: its container is "main", which sleeps. CLASS is guaranteed, burstable
# or besteffort.
kubelet_pod()
{
	local name=$1 class=$2 nr=${3:-0} shares=2 quota=0 memory=0 cpus= mems= parts=(kubepods)

	[[ $class == guaranteed ]] && class= || parts+=("$class")
	CLASS[$name]=$class
	case $2 in
	guaranteed) shares=$((nr * 1024)) quota=$((nr * 100000)) memory=$POD_MEMORY ;;
	burstable) shares=512 ;;
	esac
	if [[ $KUBELET_POLICY == static ]]; then
		# the quota of a container with CPUs of its own is left out
		[[ $2 != guaranteed ]] || { quota=0 mems=0 && assign "$name" "$nr" && note_shared; } || return
		cpus=$(cpus_of "$([[ $2 != guaranteed ]] || echo "$name")")
	fi
	[[ -z $class ]] || as_kubelet ensure_group $shares 0 0 kubepods "$class" || return
	as_kubelet ensure_group $shares $memory 0 "${parts[@]}" "poduid-$name" || return
	start_pod "$name" "$class" &&
		start_container "$name" $shares $quota $memory "$cpus" "$mems" || return
	[[ -z $cpus ]] || echo "$cpus" >"$KUBELET_PODS/$name.last"
	echo "${CONTAINER[$name]} $([[ $2 != guaranteed ]] || echo "$cpus")" >"$KUBELET_PODS/.$name" &&
		mv "$KUBELET_PODS/.$name" "$KUBELET_PODS/$name.pod"
}

remove_group()
{
	locate "$@"
	[[ $DRIVER != systemd ]] || systemctl stop "$UNIT"
	[[ ! -d $DIRECTORY ]] || rmdir "$DIRECTORY"
}

# kubelet_remove NAME
kubelet_remove()
{
	local cpu

	rm -f "$KUBELET_PODS/$1".*
	remove_container "$1"
	remove_pod "$1" || return
	eventually as_kubelet remove_group kubepods ${CLASS[$1]:+"${CLASS[$1]}"} "poduid-$1" || return
	for cpu in "${!OWNER[@]}"; do
		[[ ${OWNER[$cpu]} != "$1" ]] || unset "OWNER[$cpu]"
	done
	unset "CLASS[$1]"
	[[ $KUBELET_POLICY != static ]] ||
		{ as_kubelet write_cpu_state && as_kubelet write_memory_state && note_shared; }
}

# Would the kubelet leave its pods as they are? Each runs, in cgroups that it takes for valid.
kubelet_is_content()
{
	local name

	is_valid_group kubepods && is_valid_group kubepods burstable &&
		is_valid_group kubepods besteffort || return
	for name in "${!CLASS[@]}"; do
		is_valid_group kubepods ${CLASS[$name]:+"${CLASS[$name]}"} "poduid-$name" || return
		joined "$(cgroup_of "$name")" sleep || { echo "$name does not run"; return 1; }
	done
	if [[ -s /tmp/kubelet.log ]]; then
		cat /tmp/kubelet.log
		return 1
	fi
}

# --- for tests of the agent beside it; agent.sh is sourced before ------------------------------

# may_use POD CPUS: in force, whoever said so
may_use()
{
	local pid line

	read -r pid <"$(cgroup_of "$1")/cgroup.procs" || return
	line=$(grep Cpus_allowed_list "/proc/$pid/status")
	same "${line#*$'\t'}" "$2"
}

three_pods()
{
	kubelet_pod db guaranteed 2 && kubelet_pod web burstable && kubelet_pod batch besteffort
}

# three_have DB OTHERS
three_have()
{
	may_use db "$1" && may_use web "$2" && may_use batch "$2"
}

remove_three()
{
	kubelet_remove db && kubelet_remove web && kubelet_remove batch
}

# Writes that somebody is named for. There is nobody here but the kubelet, its runtime and systemd. If the
# guest is slow, a CPU set that the kubelet has not corrected for 15 s is a difference that nobody made.
nobody_is_blamed()
{
	local blamed

	ask event show >/tmp/events.json && ask drift show >/tmp/drift.json || return
	blamed=$({
		rows kind comm cgroup target detail </tmp/events.json |
			grep -E '^(drift|deny|audit)' | grep -v $'^drift\t-\t'
		rows cause comm cgroup attribute wanted found </tmp/drift.json | grep -v ^unknown
	})
	[[ -z $blamed ]] || { echo "$blamed"; return 1; }
}

# That there is no partition is said of the configuration, and that tasks of services may run on CPUs of pods
# is how a kubelet leaves them. That something waits, or stood still, is about a guest that is slow.
nothing_is_found()
{
	local found

	ask node show >/tmp/node.json || return
	found=$(rows -p /findings name message </tmp/node.json |
		grep -vE '^(tier1_not_in_use|host_tasks_on_exclusive_cpus|agent_outage|operation_waiting)')
	[[ -z $found ]] || { echo "$found"; return 1; }
}

uninstalled()
{
	kill_agent
	quietly pinfoldd --uninstall && rm -rf /etc/pinfold
}
