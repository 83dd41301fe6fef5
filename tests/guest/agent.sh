# SPDX-License-Identifier: Apache-2.0
#
# For guest tests of the whole agent, sourced after lib.sh: start, stop and ask
# pinfoldd, make pods, compare what it says with what the kernel has.

ROOT=$CG/pinfold.slice
PODS=/etc/pinfold/pods.d
AGENT=
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
	[[ $(curl -s -m 3 --unix-socket /run/pinfold/api.sock http://agent/readyz) == ok ]]
}

# The agent's log goes to /tmp/agent.log; a crash point may be armed by the caller's environment,
# options come in AGENT_OPTIONS.
start_agent()
{
	pinfoldd ${AGENT_OPTIONS:-} >>/tmp/agent.log 2>&1 </dev/null &
	AGENT=$!
}

start_ready()
{
	start_agent
	until_true "${1:-20}" ready || { tail -n 20 /tmp/agent.log; return 1; }
}

kill_agent()
{
	kill -9 "$AGENT" 2>/dev/null
	wait "$AGENT" 2>/dev/null
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

has_pods()
{
	[[ $(ask pod show | jq length) == "$1" ]]
}

# Every container's CPUs: what the ledger says is what the kernel has in force.
ledger_is_kernel()
{
	local cgroup cpus bad=0

	while read -r cgroup cpus; do
		[[ $(cat "$CG/$cgroup/cpuset.cpus.effective") == "$cpus" ]] || {
			echo "$cgroup: ledger $cpus, kernel $(cat "$CG/$cgroup/cpuset.cpus.effective")"
			bad=1
		}
	done < <(ask container show | jq -r '.[] | .cgroup + " " + .cpus')
	return $bad
}

# No CPU has two exclusive owners, none of them is in the shared pool, none is lost.
ledger_is_sound()
{
	ask cpu show | jq -e '[.[] | select(.state == "exclusive" and .in_shared_pool)] | length == 0' \
		>/dev/null || { echo "an exclusive CPU is in the shared pool"; return 1; }
	ask cpu show | jq -e 'length == 16 and ([.[] | select(.state == "reserved")] | length == 2)' \
		>/dev/null || { echo "CPUs are missing"; return 1; }
	ask container show | jq -e '[.[] | select(.isolation == "container") | .cpus] |
		length == (unique | length)' >/dev/null || { echo "two owners of a CPU"; return 1; }
}

# event KIND COMM: is there one with pid, command, cgroup and target?
event()
{
	ask event show | jq -e --arg k "$1" --arg c "$2" '[.[] | select(.kind == $k and .comm == $c
		and .pid > 0 and .cgroup == "/" and (.target | length > 0))] | length > 0' >/dev/null ||
		{ ask event show | jq -c '.[-5:]'; return 1; }
}

mode_is()
{
	[[ $(ask policy show | jq -r '.enforcement | map(select(.what == "cpusetFiles"))[0].level') == "$1" ]]
}
