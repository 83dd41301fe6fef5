# SPDX-License-Identifier: Apache-2.0
#
# For guest tests of the whole agent, sourced after lib.sh: start, stop and ask
# pinfoldd, make pods, compare what it says with what the kernel has.

ROOT=$CG/pinfold.slice
PODS=/etc/pinfold/pods.d
AGENT=
LOGS+=(/tmp/agent.log)
# What an earlier test of this boot left.
rm -rf /etc/pinfold /var/lib/pinfold

# configure [MODE]: enforcement of all three aspects; further lines from stdin.
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
	CONFIG
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

# How long a start may take is the crash test's claim; others give a loaded machine time.
start_ready()
{
	start_agent
	eventually ready || { tail -n 20 /tmp/agent.log; return 1; }
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
	same "$(ask pod show | jq length)" "$1"
}

# What the agent says of its ledger, asked and taken apart once, in LEDGER: a line
# "pods NUMBER", a line "holds CGROUP CPUS" for each container, and a line
# "unsound ..." for each CPU that is lost, or has two owners, or one and the pool.
read_ledger()
{
	printf '%s\n' 'pod show' 'container show' 'cpu show' >/tmp/ledger.batch
	LEDGER=$(ask batch file /tmp/ledger.batch | jq -r '
		def members: split(",") | map(split("-") | map(tonumber) | range(.[0]; .[-1] + 1));
		map({key: .command[0], value: .output}) | from_entries |
		([.container[] | select(.isolation == "container") | .cpus | members[]]) as $owned |
		([.cpu[] | select(.state == "reserved")] | length) as $reserved |
		"pods \(.pod | length)",
		(.container[] | "holds \(.cgroup) \(.cpus)"),
		(select((.cpu | length) != 16 or $reserved != 2) |
			"unsound \(.cpu | length) CPUs, \($reserved) reserved"),
		(.cpu[] | . as $cpu | ([$owned[] | select(. == $cpu.cpu)] | length) as $owners |
			select($owners > 1 or ($owners == 1) != (.state == "exclusive" and (.owner | test("/.*/")))
				or .in_shared_pool != (.state == "shared")) |
			"unsound CPU \(.cpu): \(.state), pool \(.in_shared_pool), \($owners) containers")') &&
		[[ $LEDGER == pods\ * ]]
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

# event KIND COMM: is there one with pid, command, cgroup and target?
event()
{
	ask event show | jq -e --arg k "$1" --arg c "$2" '[.[] | select(.kind == $k and .comm == $c
		and .pid > 0 and .cgroup == "/" and (.target | length > 0))] | length > 0' ||
		{ ask event show | jq -c '.[-5:]'; return 1; }
}

mode_is()
{
	[[ $(ask policy show | jq -r '.enforcement | map(select(.what == "cpusetFiles"))[0].level') == "$1" ]]
}
