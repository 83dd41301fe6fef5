# SPDX-License-Identifier: Apache-2.0
#
# For guest tests of the whole agent, sourced after lib.sh: start, stop and ask
# pinfoldd, make pods, compare what it says with what the kernel has.

ROOT=$CG/pinfold.slice
PODS=/etc/pinfold/pods.d
AGENT=
LOGS+=(/tmp/agent.log)
# What an earlier test of this boot left.
rm -rf /etc/pinfold /var/lib/pinfold /var/lib/kubelet/{cpu,memory}_manager_state

# configure [MODE]: enforcement of all aspects, but of guardFiles as GUARD_FILES says, if set. Others may
# be in MORE_ENFORCEMENT, and what else is configured in MORE_CONFIGURATION.
configure()
{
	mkdir -p "$PODS"
	cat >/etc/pinfold/config.yaml <<-CONFIG
		cpuManagerPolicy: static
		cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}
		reservedSystemCPUs: "0-1"
		maxContainers: ${MAX_CONTAINERS:-256}
		enforcement:
		  cpusetFiles: ${1:-enforce}
		  affinity: ${1:-enforce}
		  cgroupMoves: ${1:-enforce}
		  memoryMoves: ${1:-enforce}
		  priorities: ${1:-enforce}
		  debugging: ${1:-enforce}
		  guardFiles: ${GUARD_FILES:-${1:-enforce}}
	CONFIG
	[[ -z ${MORE_ENFORCEMENT:-} ]] || echo "  $MORE_ENFORCEMENT" >>/etc/pinfold/config.yaml
	[[ -z ${MORE_CONFIGURATION:-} ]] || echo "$MORE_CONFIGURATION" >>/etc/pinfold/config.yaml
}

# pod NAME CONTAINER CPUS [exclusive]: whole CPUs; with memory limit and CPU limit when exclusive.
pod()
{
	local limits=

	[[ ${4:-} != exclusive ]] || limits="limits: {cpu: \"$3\", memory: 64Mi}"
	cat >"$PODS/.$1.yaml" <<-POD
		apiVersion: v1
		kind: Pod
		metadata: {name: $1, uid: uid-$1}
		spec:
		  containers:
		  - name: $2
		    resources:
		      requests: {cpu: "$3", memory: 64Mi}
		      $limits
	POD
	mv "$PODS/.$1.yaml" "$PODS/$1.yaml"
}

ready()
{
	ANSWER=
	answer_to /readyz <>/dev/tcp/127.0.0.1/9417 &&
		[[ $ANSWER == HTTP/1.?\ 200\ *$'\r\n\r\nok' ]] || { echo "$ANSWER"; return 1; }
}

# The agent's log goes to /tmp/agent.log; a crash point may be armed by the caller's environment,
# options come in AGENT_OPTIONS.
start_agent()
{
	pinfoldd ${AGENT_OPTIONS:-} >>/tmp/agent.log 2>&1 </dev/null &
	AGENT=$!
}

ready_or_gone()
{
	[[ ! -e /proc/$AGENT/exe ]] || ready
}

# How long a start may take is the crash test's claim; others give a loaded machine time. One that
# does not succeed shows what the agent said, or where its threads are.
start_ready()
{
	local before=0

	[[ ! -e /tmp/agent.log ]] || before=$(wc -l </tmp/agent.log)
	start_agent
	eventually ready_or_gone && [[ -e /proc/$AGENT/exe ]] && return
	tail -n "+$((before + 1))" /tmp/agent.log | head -n 20
	[[ ! -e /proc/$AGENT/exe ]] || cat /proc/"$AGENT"/task/*/stack
	return 1
}

kill_agent()
{
	kill -9 "$AGENT"
	wait "$AGENT"
	return 0
}

ask()
{
	pinfold -j "$@"
}

# path NAME CONTAINER: of its cgroup, absolute
path_of()
{
	echo "$ROOT/poduid-$1/$2"
}

# occupy NAME CONTAINER: a process that sleeps there; its pid in JOINED.
occupy()
{
	background pinfold run "default/$1" "$2" -- sleep 100000
	eventually joined "$(path_of "$1" "$2")" sleep
}

has_pods()
{
	local pods

	# an error is an object too, and would count as a pod
	pods=$(ask pod show) || { echo "$pods"; return 1; }
	same "$(rows <<<"$pods")" "$1"
}

# What the agent says of its ledger, asked and taken apart once, in LEDGER: a line
# "pods NUMBER", a line "holds CGROUP CPUS" for each container, and a line
# "unsound ..." for each CPU that is lost, or has two owners, or one and the pool.
read_ledger()
{
	printf '%s\n' 'pod show' 'container show' 'cpu show' >/tmp/ledger.batch
	ask batch file /tmp/ledger.batch >/tmp/ledger.json || return
	LEDGER=$({
		echo "pods $(rows -p /0/output </tmp/ledger.json)"
		rows -p /1/output cgroup cpus isolation </tmp/ledger.json
		rows -p /2/output cpu state in_shared_pool owner </tmp/ledger.json
	} | awk -F '\t' '
		function own(list, ranges, nr, ends, cpu) {
			for (nr = split(list, ranges, ","); nr > 0; nr--) {
				if (split(ranges[nr], ends, "-") == 1)
					ends[2] = ends[1]
				for (cpu = ends[1] + 0; cpu <= ends[2] + 0; cpu++)
					owners[cpu]++
			}
		}
		NF == 1 { print }
		NF == 3 { print "holds", $1, $2 }
		NF == 3 && $3 == "container" { own($2) }
		NF == 4 {
			cpus++
			reserved += $2 == "reserved"
			is_owned = $2 == "exclusive" && $4 ~ "/.*/"
			if (owners[$1] > 1 || (owners[$1] == 1) != is_owned ||
			    ($3 == "true") != ($2 == "shared"))
				print "unsound CPU " $1 ": " $2 ", pool " $3 ", " owners[$1] + 0 " containers"
		}
		END { if (cpus != 16 || reserved != 2) print "unsound " cpus " CPUs, " reserved " reserved" }')
	[[ $LEDGER == pods\ [0-9]* ]]
}

# The same of what read_ledger found.
read_is_kernel()
{
	local word cgroup cpus effective bad=0

	while read -r word cgroup cpus; do
		[[ $word == holds ]] || continue
		read -r effective <"$CG/$cgroup/cpuset.cpus.effective"
		[[ $effective == "$cpus" ]] || {
			echo "$cgroup: ledger $cpus, kernel $effective"
			bad=1
		}
	done <<<"$LEDGER"
	return $bad
}

read_is_sound()
{
	[[ $LEDGER != *$'\n'unsound* ]] || { echo "$LEDGER"; return 1; }
}

# Every container's CPUs: what the ledger says is what the kernel has in force.
ledger_is_kernel()
{
	read_ledger && read_is_kernel
}

# No CPU has two exclusive owners, none of them is in the shared pool, none is lost.
ledger_is_sound()
{
	read_ledger && read_is_sound
}

show_events()
{
	ask event show | rows sequence kind comm pid cgroup target detail | tail -n 5
}

# event KIND COMM: is there one with pid, command, cgroup and target?
event()
{
	ask event show | rows "kind=$1" "comm=$2" cgroup=/ pid target |
		grep -E '^[1-9][0-9]*[[:space:]]+[^-]' || { show_events; return 1; }
}

# Programs that the agent does not wait for are loaded after it is ready.
all_loaded()
{
	same "$(ask feature show | rows error=EINPROGRESS)" 0
}

# mode_is MODE: for the guard too, which learns of a new configuration after the next look at the
# cgroups; then the agent is ready.
mode_is()
{
	same "$(ask policy show | rows -p /enforcement what=cpusetFiles level)" "$1" && ready
}
