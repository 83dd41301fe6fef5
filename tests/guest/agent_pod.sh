# SPDX-License-Identifier: Apache-2.0
#
# For guest tests that run the agent as the DaemonSet of docs/deploy/kustomize/allocate has it, sourced
# after containerd.sh: an image of the two programs, and a container with the arguments,
# capabilities and mounts that the manifest states.

MANIFEST=/guest/deploy/allocate/daemonset.yaml
AGENT_IMAGE=localhost/pinfold:1
AGENT_POD=kube-agent
# what the kubelet makes of the config map, and directories of the host that this machine has elsewhere
HOST=/tmp/host
LOGS+=($POD_LOGS/agent.log)

# list NAME: the items of the agent's list of that name
list()
{
	awk -v name="$1:" '$1 == name { inside = 1; next }
		inside && $1 == "-" { print $2; next }
		inside && $1 == "#" { next }
		inside { exit }' $MANIFEST
}

# The agent's mounts, one a line: where it sees it, where the host has it, and "ro".
list_mounts()
{
	awk '$1 == "volumes:" { volumes = 1 }
		$1 == "volumeMounts:" { mounts++ }
		$1 == "-" && $2 == "name:" { name = $3 }
		$1 == "mountPath:" && mounts == 1 { where[name] = $2; order[++nr] = name }
		$1 == "readOnly:" && mounts == 1 { mode[name] = "ro" }
		$1 == "path:" && volumes { host[name] = $2 }
		$1 == "configMap:" { host[name] = "/config" }
		END { for (i = 1; i <= nr; i++) print where[order[i]], host[order[i]], mode[order[i]] }' $MANIFEST |
		sed -E "s, (/var/lib|/config), $HOST\1,; s, /var/run/, /run/,"
}

# The program, and what it loads, as the loader says it.
add_program()
{
	local library

	mkdir -p "$2" && cp "/usr/bin/$1" "$2/" || return
	for library in $(LD_TRACE_LOADED_OBJECTS=1 "/usr/bin/$1" |
		awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }'); do
		mkdir -p "/tmp/agent-image/root${library%/*}" && cp "$library" "/tmp/agent-image/root$library" ||
			return
	done
}

import_agent_image()
{
	add_program pinfoldd /tmp/agent-image/root/usr/sbin && add_program pinfold /tmp/agent-image/root/usr/sbin &&
		(make_image /tmp/agent-image $AGENT_IMAGE '{"Entrypoint": ["/usr/sbin/pinfoldd"]}') &&
		load_image /tmp/agent-image
}

# What the kubelet makes before it starts the container; the configuration is that of the manifests.
make_host_directories()
{
	mkdir -p $HOST/config $HOST/var/lib/{pinfold,kubelet} /run/{pinfold,systemd} &&
		cp /guest/deploy/allocate/config.yaml $HOST/config/ &&
		echo '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}' \
			>$HOST/var/lib/kubelet/cpu_manager_state
}

start_agent_pod()
{
	HOST_PID=1 start_pod $AGENT_POD burstable
}

# start_agent_container CAPABILITIES WORD...: with the arguments of the manifest, and WORDs
start_agent_container()
{
	# shellcheck disable=SC2046
	HOST_PID=1 create_agent "${SANDBOX[$AGENT_POD]}" $AGENT_POD "${PARENT[$AGENT_POD]}" agent $AGENT_IMAGE \
		"$1" "$(list_mounts)" $(list args) "${@:2}" || return
	CONTAINER[$AGENT_POD]=$ID
	with_id StartContainer "$ID"
}

# Its first process, as the host numbers it, in AGENT; the agent leaves no cgroup, so it is there.
find_agent()
{
	local cgroup

	cgroup=$(cgroup_of $AGENT_POD) && [[ -n $cgroup ]] && read -r AGENT <"$cgroup/cgroup.procs" && [[ -n $AGENT ]]
}

agent_is_ready()
{
	find_agent && ready
}

# The runtime may not have noticed yet that the process has ended, so this is tried again.
remove_agent_container()
{
	[[ -n ${CONTAINER[$AGENT_POD]:-} ]] || return 0
	with_id StopContainer "${CONTAINER[$AGENT_POD]}"
	with_id RemoveContainer "${CONTAINER[$AGENT_POD]}" && unset "CONTAINER[$AGENT_POD]"
}
