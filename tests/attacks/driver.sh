# SPDX-License-Identifier: Apache-2.0
#
# Tries every row of tests/attacks/table three times, with the guard off, auditing and enforcing, on
# one container of the whole agent; sourced by tests/guest/attacks. After each try it checks what the
# container was promised. With the guard off or auditing the agent repairs nothing, so the driver
# undoes what an attack has done; with the guard enforcing nobody but the agent may.
#
# What an attack cost the container comes from the counters of the agent's BPF programs. SIGNS names the
# rows that these must see when nobody enforces: a check that never fails proves nothing.

TABLE=../attacks/table
PINS=/sys/fs/bpf/pinfold
CPUS=2-5
# Each cgroup may report ten events a second, and an attack is worth two at most.
PACE=0.3
# The container that is attacked.
CONTAINER=main
# What an attack may cost it, in ns of the guest's clock.
LIMIT_NS=50000000
# What the counters say of an attack that succeeds. A process that was moved out is a stranger from then
# on; before it is moved back, it may get the CPUs or not.
declare -A SIGNS=(
	[taskset-in]=strangers [pushed-out]=outside [files-freeze]="stands still"
	[move-out]="stands still\|strangers" [move-out-thread]="stands still\|strangers"
	[move-out-by-pod]="stands still\|strangers"
	[move-neighbour]="stands still" [pid1-freeze]="stands still"
)

# --- the table ------------------------------------------------------------------------------------

ROWS=()
declare -A ACTOR ATTACKS TARGET RESULT WHY

# trim TEXT: without blanks at both ends, in TRIMMED
trim()
{
	read -r TRIMMED <<<"$1" || :
}

# result_here RESULT: as a row states it, on this kernel
result_here()
{
	local release

	read -r _ _ release _ <<<"$1"
	if [[ $1 == recorded* ]] && ! is_since "$release"; then
		echo denied
	else
		echo "$1"
	fi
}

read_table()
{
	local line fields id i

	while read -r line; do
		[[ $line == [a-z]* ]] || continue
		IFS='|' read -ra fields <<<"$line"
		for i in "${!fields[@]}"; do
			trim "${fields[i]}"
			fields[i]=$TRIMMED
		done
		id=${fields[0]}
		ROWS+=("$id")
		ACTOR[$id]=${fields[2]} ATTACKS[$id]=${fields[3]}
		TARGET[$id]=${fields[4]} RESULT[$id]=$(result_here "${fields[5]}")
	done <"$TABLE"
}

# broken ID MODE TEXT
broken()
{
	WHY[$1]+="$2: $3"$'\n'
	comment - <<<"$1, $2: $3"
}

# --- the scene ------------------------------------------------------------------------------------

declare -A GROUP_OF ASK ANSWER_OF

# start_actor NAME CGROUP COMMAND…: a command that brings `guard_attack serve` into the cgroup. The
# descriptors it opens are older than the guard.
start_actor()
{
	local name=$1 in out word

	GROUP_OF[$name]=$2
	shift 2
	mkfifo "/tmp/$name.in" "/tmp/$name.out"
	"$@" /guest/guard_attack serve "$DB/cpuset.cpus" "$DB/memory.max" "$DB/cgroup.procs" \
		<"/tmp/$name.in" >"/tmp/$name.out" 2>>"$BACKGROUND_LOG" &
	exec {in}>"/tmp/$name.in" {out}<"/tmp/$name.out"
	ASK[$name]=$in ANSWER_OF[$name]=$out
	read -r -t $LONG word <&"$out" && same "$word" ready
}

# The first start is one without BPF, so that descriptors can be opened before there is a guard.
set_scene()
{
	AGENT_OPTIONS=--no-bpf
	configure off
	ok "an agent without a guard gets ready" start_ready
	pod db main 4 exclusive
	ok "a pod has four CPUs" eventually has_pods 1
	pod priv main 1
	ok "a privileged pod runs beside it" eventually has_pods 2
	DB=$(path_of db main) POD=$ROOT/poduid-db PRIV=$(path_of priv main) SUB=$DB/sub
	ok "the container has its CPUs" eventually file_is "$DB/cpuset.cpus.effective" $CPUS
	background pinfold run default/db main -- /guest/hold_cpu
	ok "its process runs" eventually joined "$DB" hold_cpu
	VICTIM=$JOINED
	eventually has_two_threads
	mkdir "$SUB" /tmp/mount2 /tmp/bind /tmp/bpf
	mount -t cgroup2 none /tmp/mount2
	mount --bind "$CG" /tmp/bind
	MOUNT2=/tmp/mount2${DB#"$CG"} BIND=/tmp/bind${DB#"$CG"}
	SIBLING=$CG/other.slice
	mkdir -p $CG/system.slice/{shell,containerd}.service $SIBLING
	local join=("/guest/guard_attack" join)
	ok "a root shell waits" start_actor host $CG/system.slice/shell.service \
		"${join[@]}" $CG/system.slice/shell.service
	ok "a container runtime waits" start_actor runtime $CG/system.slice/containerd.service \
		"${join[@]}" $CG/system.slice/containerd.service
	ok "a privileged pod waits" start_actor pod "$PRIV" pinfold run default/priv main --
	background /guest/guard_attack join $CG/system.slice/shell.service sleep 100000
	ok "a process of the host runs" eventually joined $CG/system.slice/shell.service sleep
	STRANGER=$JOINED
	kill_agent
	AGENT_OPTIONS=
	ok "an agent with a guard gets ready" start_ready
	ok "all its programs are loaded" eventually all_loaded
	local links=("$PINS"/links/guard_*_file_perm "$PINS"/links/guard_*_file_open)
	LINK=${links[0]} LINK2=${links[1]}
	MEMBERS=$(<"$DB/cgroup.procs")
}

has_two_threads()
{
	local threads=(/proc/"$VICTIM"/task/*)

	THREAD=${threads[1]##*/}
	[[ -n $THREAD ]]
}

enter_mode()
{
	GUARD_FILES=
	configure "$1"
	kill -HUP "$AGENT"
	ok "$1 is in force" eventually mode_is "$1"
}

# files_mode_is MODE: what the kernel has
files_mode_is()
{
	mentions "$(pinfold guard show)" "guardFiles $1\b"
}

# protect_files ID MODE: before a row. An attack by handle on what is not cached remounts the cgroups
# first, which guardFiles would deny or record itself.
protect_files()
{
	local wanted=$2

	[[ ${ATTACKS[$1]} != handle* ]] || wanted=off
	[[ ${GUARD_FILES:-$2} != "$wanted" ]] || return 0
	GUARD_FILES=$wanted
	configure "$2"
	kill -HUP "$AGENT"
	eventually files_mode_is "$wanted" >/tmp/why || broken "$1" "$2" "$(</tmp/why)"
}

# --- what must be so after each attack --------------------------------------------------------------

# What the kernel has of the container.
is_whole()
{
	file_is "$DB/cpuset.cpus" $CPUS && file_is "$DB/cpuset.cpus.effective" $CPUS &&
		file_is "$ROOT/cpuset.cpus.partition" root && same "$(<"$DB/cgroup.procs")" "$MEMBERS"
}

# What the agent says of itself: the guard is active, and no difference is left to repair.
is_sound()
{
	answer_to /metrics <>/dev/tcp/127.0.0.1/9417 || return
	grep -q '^pinfold_guard_active 1' <<<"$ANSWER" || { echo "the guard is not active"; return 1; }
	! grep '^pinfold_drift_open{.*} [1-9]' <<<"$ANSWER"
}

# What the counters said last, and of which agent: those of noise begin with the agent.
MEASURED="0 0 0" MEASURED_AGENT=

# ns SECONDS: in NS
ns()
{
	local fraction=${1#*.}000000000

	NS=$((${1%%.*} * 1000000000 + 10#${fraction:0:9}))
}

# measure: in MEASURED, in ns, what tasks of others have had on the container's exclusive CPUs, what the
# container had elsewhere, and what it had there. Kernel threads and interrupts are no strangers.
measure()
{
	local source state seconds run outside strangers=0 counted=

	printf '%s\n' 'noise show' "container placement default/db container $CONTAINER" >/tmp/measure
	ask batch file /tmp/measure >/tmp/measured || { cat /tmp/measured; return 1; }
	while read -r source state seconds; do
		[[ $state == counted ]] || { echo "$source is $state"; return 1; }
		counted=yes
		case $source in
		host_task | other_pod | pod_sibling) ns "$seconds"; strangers=$((strangers + NS)) ;;
		esac
	done < <(rows -p /0/output pod=db source state seconds </tmp/measured)
	[[ -n $counted ]] || { echo "no noise is counted"; return 1; }
	read -r run outside < <(rows -p /1/output run_seconds outside_seconds </tmp/measured)
	[[ ${run:--} != - && ${outside:--} != - ]] || { echo "its CPU time is not counted"; return 1; }
	ns "$outside"
	outside=$NS
	ns "$run"
	MEASURED="$strangers $outside $((NS - outside))"
	MEASURED_AGENT=$AGENT
}

# grown NOW BEFORE: a counter that has begun anew has grown by all it has
grown()
{
	GROWN=$(($1 >= $2 ? $1 - $2 : $1))
}

# unharmed BEFORE AFTER LATER: what `measure` said before an attack, after it, and a moment later
unharmed()
{
	local -a before=($1) after=($2) later=($3)
	local i what=("strangers had its CPUs" "it ran outside of its CPUs") bad=0

	for i in 0 1; do
		grown "${later[i]}" "${before[i]}"
		((GROWN <= LIMIT_NS)) || { echo "${what[i]} for $GROWN ns"; bad=1; }
		grown "${later[i]}" "${after[i]}"
		((GROWN == 0)) || { echo "${what[i]} for $GROWN ns when the attack was over"; bad=1; }
	done
	grown "${later[2]}" "${after[2]}"
	((GROWN >= LIMIT_NS)) || { echo "it stands still: $GROWN ns of CPU time after the attack"; bad=1; }
	return $bad
}

# begin_measuring: the attacked process takes all it can get; what has been so far is in BEFORE. While
# somebody enforces, that is what the last row ended with, so that nothing happens between two rows.
begin_measuring()
{
	kill -USR1 "$VICTIM"
	[[ $MEASURED_AGENT == "$AGENT" ]] || eventually measure >/tmp/why || cat /tmp/why
	BEFORE=$MEASURED
}

# measure_again: what has been since, in AFTER. The noise of a new agent begins with 0.
measure_again()
{
	[[ $MEASURED_AGENT == "$AGENT" ]] || BEFORE="0 ${BEFORE#* }"
	eventually measure && AFTER=$MEASURED
}

# The rows that were judged in mode enforce. An error of the shell ends all that is being called, so a row
# without this was not tried to its end.
declare -A TRIED

# end_measuring ID MODE
end_measuring()
{
	pause 0.1
	if ! eventually measure >/tmp/why || ! unharmed "$BEFORE" "$AFTER" "$MEASURED" >/tmp/why; then
		broken "$1" "$2" "$(</tmp/why)"
	fi
	kill -USR2 "$VICTIM"
	note_cost "$1" "$BEFORE" "$MEASURED"
	TRIED[$1]=yes
}

# The most that an attack cost, with its row.
MOST_STRANGERS=0 MOST_OUTSIDE=0

# note_cost ID BEFORE NOW
note_cost()
{
	local -a before=($2) now=($3)

	grown "${now[0]}" "${before[0]}"
	((GROWN <= ${MOST_STRANGERS%% *})) || MOST_STRANGERS="$GROWN ($1)"
	grown "${now[1]}" "${before[1]}"
	((GROWN <= ${MOST_OUTSIDE%% *})) || MOST_OUTSIDE="$GROWN ($1)"
}

# is_seen ID: an attack has succeeded, and what was before is in BEFORE. The counters have its sign.
is_seen()
{
	local after

	eventually measure && after=$MEASURED && pause 0.3 && eventually measure || return
	echo "$1 succeeds: $BEFORE, then $after, $MEASURED" >>/tmp/figures
	! unharmed "$BEFORE" "$after" "$MEASURED" >/tmp/harm && grep "${SIGNS[$1]}" /tmp/harm && return
	echo "the counters do not show that: $BEFORE, $after, $MEASURED; $(</tmp/harm)"
	return 1
}

# has_sign ID MODE: must the counters see this attack?
has_sign()
{
	[[ $2 == off && -n ${SIGNS[$1]:-} ]]
}

used_us()
{
	local key value

	while read -r key value; do
		[[ $key != usage_usec ]] || echo "$value"
	done <"$DB/cpu.stat"
}

# used_more THAN
used_more()
{
	(($(used_us) > $1))
}

# --- one attack -------------------------------------------------------------------------------------

# The file that a command writes, in FILE; none if it writes none.
find_file()
{
	FILE=
	case $1 in
	write | writev | sendfile | splice | handle | held | passed | write-pin) FILE=$2 ;;
	push-out) FILE=$3/cpuset.cpus ;;
	uring) FILE=$3 ;;
	linked) FILE=$4 ;;
	handle-in) FILE=$2/$3 ;;
	esac
}

# saved_value FILE: what to write to have it again; some files can only be written
saved_value()
{
	SAVED=
	case $1 in
	*/cgroup.procs | */cgroup.kill | */memory.reclaim | */cgroup.subtree_control) ;;
	*) [[ -z $1 ]] || read -r SAVED <"$1" ;;
	esac
	# the kernel does not let the nodes of a cpuset with tasks become empty again
	[[ -n $SAVED || $1 != */cpuset.mems ]] || read -r SAVED <"$1.effective"
}

# go_home PID CGROUP: back to it
go_home()
{
	[[ $'\n'$(<"$2/cgroup.procs")$'\n' == *$'\n'"$1"$'\n'* ]] || echo "$1" >"$2/cgroup.procs"
}

# undo COMMAND…: what it has changed, perhaps before it failed
undo()
{
	case $1 in
	mkdir) [[ ! -d $2 ]] || rmdir "$2" ;;
	handle-mkdir) [[ ! -d $2/$3 ]] || rmdir "$2/$3" ;;
	rmdir) mkdir -p "$2" ;;
	unlink | rename | unmount) eventually is_reverted "$@" && until_true 30 guard_knows ;;
	# the agent may be looking at it
	cover | bind-over) eventually umount "$2" && until_true 30 guard_knows ;;
	move-mount) quietly /guest/guard_attack move-mount "$3" "$2" ;;
	bind-remount) mount -o remount,bind,exec "$2" ;;
	run) quietly pinfold guard arm ;;
	push-out) echo "$SAVED" >"$2/cpuset.cpus" ;;
	esac
	case $FILE in
	"" | */cgroup.kill | */memory.reclaim | */cgroup.subtree_control) ;;
	*/cgroup.procs) go_home "$VICTIM" "$DB"; go_home "$STRANGER" "${GROUP_OF[host]}" ;;
	*) echo "$SAVED" >"$FILE" ;;
	esac
}

# Has the agent, which looks each second, told the guard of the pins' directories and of both file
# systems? What was covered or unmounted is nothing to protect for it.
guard_knows()
{
	local files

	# each key begins with its kind; a line for each
	files=$(bpftool -j map dump pinned "$PINS/maps/guard_files" | grep -o '"key":\["0x0[01]"')
	same "$(grep -c 0x00 <<<"$files") $(grep -c 0x01 <<<"$files")" "3 2"
}

is_reverted()
{
	case $1 in
	unlink | rename) [[ -e $2 ]] ;;
	unmount) [[ -e $PINS/meta ]] ;;
	*) file_is "$FILE" "$SAVED" ;;
	esac
}

# as_actor NAME COMMAND…: its pid in CULPRIT, its outcome in WORD
as_actor()
{
	local name=$1

	shift
	WORD=
	echo "$*" >&"${ASK[$name]}"
	read -r -t $LONG CULPRIT <&"${ANSWER_OF[$name]}" && read -r -t $LONG WORD <&"${ANSWER_OF[$name]}"
}

# is_recorded KIND PIDS FROM TO: by each of them, from that cgroup, on a cgroup that the regular
# expression TO matches. Threads of io_uring have their own names.
is_recorded()
{
	local kind=$1 pids=$2 from=$3 to=$4 pid

	ask event show | rows "kind=$kind" pid comm cgroup target >/tmp/records || return
	for pid in $pids; do
		grep -Eq "^$pid"$'\t'"(guard_attack|iou-wrk-[0-9]+)"$'\t'"$from"$'\t'"($to)\$" /tmp/records || {
			echo "no $kind by $pid in $from on $to in:"
			tail -n 4 /tmp/records
			return 1
		}
	done
}

# of_group PATH: as records name it
of_group()
{
	local path=${1#"$CG"}

	path=${path#/}
	echo "${path:-/}"
}

finding_is_raised()
{
	ask node show | rows -p /findings "name=$1" message
}

# --- one row in one mode ------------------------------------------------------------------------------

# try_attack ID MODE COMMAND…
try_attack()
{
	local id=$1 mode=$2 before=
	shift 2

	case $1 in
	killed) shift; kill_agent; before=start_ready ;;
	stopped) shift; kill -STOP "$AGENT"; before="kill -CONT $AGENT" ;;
	esac
	find_file "$@"
	saved_value "$FILE"
	! has_sign "$id" "$mode" || begin_measuring
	as_actor "${ACTOR[$id]}" "$@"
	if has_sign "$id" "$mode"; then
		is_seen "$id" >/tmp/why || broken "$id" "$mode" "$(</tmp/why)"
		kill -USR2 "$VICTIM"
		MEASURED_AGENT=
	fi
	[[ $mode == off ]] || pause $PACE
	case $mode,${RESULT[$id]} in
	enforce,denied)
		# process_madvise(2) answers EACCES, whatever a security module says
		[[ $WORD == EPERM || $1:$WORD == @(pageout|cold):EACCES ]] || broken "$id" "$mode" "$*: $WORD"
		;;
	*)
		[[ $WORD == ok ]] || broken "$id" "$mode" "$*: ${WORD:-no answer}"
		;;
	esac
	case $mode,${RESULT[$id]} in
	enforce,denied) ;;
	off,* | audit,denied | *,recorded* | *,open*)
		# a dead agent puts nothing back, the next one does
		[[ $before == start_ready && $1 =~ ^(unlink|rename|unmount)$ ]] || undo "$@"
		;;
	*) check_reverted "$id" "$mode" "$@" ;;
	esac
	[[ -z $before ]] || quietly $before || broken "$id" "$mode" "the agent does not come back"
}

# check_reverted ID MODE COMMAND…: within the row's limit, while the container goes on
check_reverted()
{
	local id=$1 mode=$2 limit finding used
	shift 2

	read -r _ limit finding <<<"${RESULT[$id]}"
	used=$(used_us)
	until_true "$limit" is_reverted "$@" >/tmp/why || broken "$id" "$mode" "$(</tmp/why)"
	eventually finding_is_raised "$finding" >/tmp/why || broken "$id" "$mode" "$(</tmp/why)"
	until_true "$limit" used_more "$used" >/tmp/why || broken "$id" "$mode" "the container stands still"
}

# exists COMMAND…: has this kernel the file that it writes?
exists()
{
	[[ $1 != killed && $1 != stopped ]] || shift
	find_file "$@"
	[[ -z $FILE || -e $FILE ]]
}

try_row()
{
	local id=$1 mode=$2 attacks attack pids= kind from to

	eval "to=${TARGET[$id]}"
	from=$(of_group "${GROUP_OF[${ACTOR[$id]}]}")
	# a cgroup that is no more has only a number
	[[ $to == - ]] || to="$(of_group "$to")|\(gone, id $(stat -c %i "$to")\)"
	IFS=';' read -ra attacks <<<"${ATTACKS[$id]}"
	[[ $mode != enforce ]] || begin_measuring
	for attack in "${attacks[@]}"; do
		eval "set -- $attack"
		exists "$@" || continue
		try_attack "$id" "$mode" "$@"
		pids+=" $CULPRIT"
	done
	[[ $mode != enforce ]] || measure_again >/tmp/why || broken "$id" "$mode" "$(</tmp/why)"
	[[ -n $pids ]] || broken "$id" "$mode" "the kernel has none of its files"
	# without an agent, unmounting bpffs ends the programs and with them what they have recorded
	if [[ $mode != off && ${RESULT[$id]} == @(denied|recorded*) &&
		$mode,${ATTACKS[$id]} != "audit,killed unmount"* ]]; then
		[[ $mode,${RESULT[$id]} == enforce,denied ]] && kind=deny || kind=audit
		eventually is_recorded $kind "$pids" "$from" "$to" >/tmp/why ||
			broken "$id" "$mode" "$(</tmp/why)"
	fi
	eventually is_whole >/tmp/why || broken "$id" "$mode" "$(</tmp/why)"
	[[ $mode == enforce ]] || return 0
	eventually is_sound >/tmp/why || broken "$id" "$mode" "$(</tmp/why)"
	end_measuring "$id" "$mode"
}

# --- all of them --------------------------------------------------------------------------------------

try_table()
{
	local mode id

	for mode in off audit enforce; do
		enter_mode $mode
		MEASURED_AGENT=
		for id in "${ROWS[@]}"; do
			[[ ${ACTOR[$id]} != pid1 ]] || continue
			protect_files "$id" $mode
			try_row "$id" $mode
			echo "# $mode $id: tried, $SECONDS s"
		done
	done
}

# explain ID: fails, and says why, if the row is broken
explain()
{
	[[ -z ${WHY[$1]:-} ]] || { printf %s "${WHY[$1]}"; return 1; }
}

# show_cost: what the counters said of attacks that succeeded, and of those that did not
show_cost()
{
	{
		[[ ! -e /tmp/figures ]] || cat /tmp/figures
		echo "the most that strangers had of its CPUs in a row: $MOST_STRANGERS ns"
		echo "the most that it ran elsewhere in a row: $MOST_OUTSIDE ns"
	} | comment -
}

# print_rows [pid1]: one result a row, of those that only systemd can try or of all others.
# tests/attacks/run reads these lines.
print_rows()
{
	local id word

	for id in "${ROWS[@]}"; do
		[[ ${ACTOR[$id]} == pid1 ]] && [[ ${1:-} != pid1 ]] && continue
		[[ ${ACTOR[$id]} != pid1 ]] && [[ ${1:-} == pid1 ]] && continue
		[[ -n ${TRIED[$id]:-} ]] || broken "$id" enforce "it was not tried to its end"
		case ${WHY[$id]:-},${RESULT[$id]} in
		,recorded*) word="open, ${RESULT[$id]#recorded }" ;;
		,open*) word="open, ${RESULT[$id]#open }" ;;
		,*) word=held ;;
		*) word=broken ;;
		esac
		ok "$id: $word" explain "$id"
	done
}
