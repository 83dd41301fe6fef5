# SPDX-License-Identifier: Apache-2.0
#
# For guest tests with a real containerd, sourced after lib.sh and cri.sh: its start and end, an
# image, and whole containers by the kubelet's conventions. tools/guest/container-runtime unpacked it.

RUNTIME_ROOT=/guest/container-runtime
IMAGE=localhost/test:1
# Who makes the cgroups: runc itself, or systemd at its request
DRIVER=cgroupfs
[[ ! -d /run/systemd/system ]] || DRIVER=systemd
CONTAINERD=
declare -A SANDBOX CONTAINER PARENT
LOGS+=(/tmp/containerd.log)

# --- containerd -------------------------------------------------------------------------------

# One configuration for all versions: containerd 2 converts it.
configure_containerd()
{
	mkdir -p $RUNTIME_ROOT/{etc,var}
	ln -sfn ../run $RUNTIME_ROOT/var/run
	cp /etc/passwd $RUNTIME_ROOT/etc/
	echo '127.0.0.1 localhost' >$RUNTIME_ROOT/etc/hosts
	: >$RUNTIME_ROOT/etc/resolv.conf
	# overlayfs, the default snapshotter, is a module that the guest has not loaded
	cat >$RUNTIME_ROOT/etc/config.toml <<-CONFIG
		version = 2
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "$IMAGE"
		[plugins."io.containerd.grpc.v1.cri".containerd]
		  snapshotter = "native"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		  runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
		  SystemdCgroup = $([[ $DRIVER == systemd ]] && echo true || echo false)
		[plugins."io.containerd.nri.v1.nri"]
		  disable = false
	CONFIG
}

# Its files become the root, with the guest's kernel file systems in it; the caller has a mount
# namespace of its own. Their libraries may be newer than the guest's, and runc's pivot_root does
# not work where the root is the kernel's initial one, which a file system mounted over it hides.
enter_root()
{
	local directory

	cd "$1" && mount --bind . . && cd "$1" || return
	for directory in proc sys dev run tmp; do
		mkdir -p $directory && mount --rbind /$directory $directory || return
	done
	mount --move . / && exec chroot . "${@:2}"
}
export -f enter_root

answers_calls()
{
	local MESSAGE=

	call RuntimeService/Version
}

start_containerd()
{
	background unshare -m bash -c 'enter_root "$@"' - $RUNTIME_ROOT \
		/usr/bin/containerd --config /etc/config.toml --log-level warn
	CONTAINERD=$!
	eventually answers_calls
}

# The processes of the containers have a parent of their own, and stay.
kill_containerd()
{
	kill -9 "$CONTAINERD"
	wait "$CONTAINERD"
	return 0
}

# --- the image --------------------------------------------------------------------------------

# add_blob FILE: its digest and size are then in BLOB, as members of a JSON object.
add_blob()
{
	local digest

	digest=$(sha256sum "$1") && digest=${digest%% *} || return
	BLOB="\"digest\": \"sha256:$digest\", \"size\": $(stat -c %s "$1")"
	mv "$1" "blobs/sha256/$digest"
}

# make_image FOLDER NAME CONFIG: FOLDER/root as the one layer of an image, in the layout that the Open
# Container Initiative defines, in FOLDER/image.tar. CONFIG is a JSON object.
make_image()
{
	local type=application/vnd.oci.image machine layer digest config

	machine=$(uname -m) machine=${machine/x86_64/amd64} machine=${machine/aarch64/arm64}
	cd "$1" && mkdir -p blobs/sha256 root/{dev,proc,sys} || return
	tar -C root -cf layer . && add_blob layer || return
	digest=${BLOB#*: } digest=${digest%%,*}
	layer="{\"mediaType\": \"$type.layer.v1.tar\", $BLOB}"
	echo "{\"architecture\": \"$machine\", \"os\": \"linux\", \"config\": $3," \
		"\"rootfs\": {\"type\": \"layers\", \"diff_ids\": [$digest]}}" >config
	add_blob config || return
	config="{\"mediaType\": \"$type.config.v1+json\", $BLOB}"
	echo "{\"schemaVersion\": 2, \"config\": $config, \"layers\": [$layer]}" >manifest
	add_blob manifest || return
	echo "{\"schemaVersion\": 2, \"manifests\": [{\"mediaType\": \"$type.manifest.v1+json\"," \
		"$BLOB, \"annotations\": {\"io.containerd.image.name\": \"$2\"}}]}" >index.json
	echo '{"imageLayoutVersion": "1.0.0"}' >oci-layout
	tar -cf image.tar oci-layout index.json blobs
}

# load_image FOLDER
load_image()
{
	nsenter -t "$CONTAINERD" -m /usr/bin/ctr --namespace k8s.io images import \
		--snapshotter native --local "$1/image.tar"
}

# The image of busybox serves pods as well, whose first process sleeps.
import_image()
{
	mkdir -p /tmp/image/root/bin && cp /usr/bin/busybox /tmp/image/root/bin/ &&
		ln -s busybox /tmp/image/root/bin/sleep || return
	(make_image /tmp/image $IMAGE '{"Env": ["PATH=/bin"], "Cmd": ["sleep", "1000000"]}') &&
		load_image /tmp/image
}

# --- pods of one container, which is "main" ---------------------------------------------------

# start_pod NAME [CLASS]: as a kubelet names the cgroup of a pod with uid "uid-NAME"
start_pod()
{
	if [[ $DRIVER == systemd ]]; then
		PARENT[$1]=kubepods${2:+-$2}-poduid_$1.slice
	else
		PARENT[$1]=/kubepods${2:+/$2}/poduid-$1
	fi
	run_pod "$1" "${PARENT[$1]}" && SANDBOX[$1]=$ID
}

# start_container POD SHARES QUOTA MEMORY [CPUS [MEMS]]
start_container()
{
	create_container "${SANDBOX[$1]}" "$1" "${PARENT[$1]}" main $IMAGE "${@:2}" || return
	CONTAINER[$1]=$ID
	with_id StartContainer "$ID"
}

# burstable NAME SHARES
burstable()
{
	start_pod "$1" burstable && start_container "$1" "$2" 0 0
}

# guaranteed NAME CPUS
guaranteed()
{
	start_pod "$1" &&
		start_container "$1" $(($2 * 1024)) $(($2 * 100000)) $((64 << 20))
}

# resize NAME CPUS: of a Guaranteed pod
resize()
{
	resize_container "${CONTAINER[$1]}" $(($2 * 1024)) $(($2 * 100000)) $((64 << 20))
}

remove_container()
{
	# containerd 2.1 may lose the connection to a process that has just ended
	with_id StopContainer "${CONTAINER[$1]}"
	with_id RemoveContainer "${CONTAINER[$1]}"
}

remove_pod()
{
	with_id StopPodSandbox "${SANDBOX[$1]}" && with_id RemovePodSandbox "${SANDBOX[$1]}"
}

# Both drivers make the id a part of the name.
cgroup_of()
{
	find $CG -type d -name "*${CONTAINER[$1]}*"
}

# runs_on POD CPUS: by the runtime's file, and by the process's own mask
runs_on()
{
	local cgroup pid line

	cgroup=$(cgroup_of "$1")
	file_is "$cgroup/cpuset.cpus" "$2" || return
	read -r pid <"$cgroup/cgroup.procs" || return
	line=$(grep Cpus_allowed_list "/proc/$pid/status")
	same "${line#*$'\t'}" "$2"
}
