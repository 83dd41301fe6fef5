# SPDX-License-Identifier: Apache-2.0
#
# For guest tests of the agent's guard, sourced after agent.sh: one attack on the
# container $DB, and what the node says of the guard.

PINS=/sys/fs/bpf/pinfold
shopt -s extglob

# The attack: a stranger writes the value that is there, which harms nobody when it passes.
DB_CPUS=2-5
# outcome: "ok" or the errno's name
outcome()
{
	/guest/guard_attack write "$DB/cpuset.cpus" $DB_CPUS
}

denied()
{
	same "$(outcome)" EPERM
}

allowed()
{
	same "$(outcome)" ok
}

finding()
{
	ask node show | rows -p /findings "name=$1" message remedy
}

no_finding()
{
	! finding "$1"
}

# says NAME WORD…: the finding's text has every word
says()
{
	local text word

	text=$(finding "$1") || { ask node show | rows -p /findings name message; return 1; }
	shift
	for word; do
		[[ $text == *"$word"* ]] || { echo "no '$word' in: $text"; return 1; }
	done
}

guard_is()
{
	local guard

	guard=$(ask node show | rows guard tiers)
	same "${guard/$'\t'/ }" "$1"
}

event_says()
{
	ask event show | rows "kind=$1" detail | grep -F -- "$2" || { show_events; return 1; }
}

# The page may be up to a second old: a count after a change needs `eventually counts`.
metric()
{
	page /metrics | sed -n "s/^$1 //p"
}

# counts METRIC VALUE
counts()
{
	same "$(metric "$1")" "$2"
}

# has_mode MODE: the attack has the outcome of that mode
has_mode()
{
	case $1 in
	enforce) denied ;;
	*) allowed ;;
	esac
}

# --- upgrades: objects of another build ----------------------------------------------------------------

declare -A LINK=([guard]=links/guard_lsm_file_perm [watch]=links/watch_life_attach
	[observe]=links/observe_switch)
declare -A KEY=([guard]=0 [watch]=1 [observe]=2 [noise]=3)

program_of()
{
	bpftool -j link show pinned "$PINS/${LINK[$1]}" | rows prog_id
}

# is_number TEXT: and neither empty nor the "-" of an answer without it
is_number()
{
	[[ $1 == +([0-9]) ]] || { echo "no number: '$1'"; return 1; }
}

# other ID BEFORE
other()
{
	is_number "$1" && [[ $1 != "$2" ]] || { echo "it is $1, as before"; return 1; }
}

# meta_of KEY: the bytes of an entry, in hexadecimal
meta_of()
{
	local bytes

	bytes=$(bpftool -j map lookup pinned $PINS/meta key "$1" 0 0 0 | rows value)
	echo "${bytes//[^0-9a-fx]/ }"
}

# say_of OBJECT ABI [OLDEST]: in meta, with another digest. OLDEST is the ABI down to which an
# agent may take over; without it what the agent wrote remains.
say_of()
{
	local bytes

	read -ra bytes <<<"$(meta_of "${KEY[$1]}")"
	bytes[0]=$2 bytes[6]=${3:-${bytes[6]}}
	bytes[15]=$(((bytes[15] + 1) % 256))
	bpftool map update pinned $PINS/meta key "${KEY[$1]}" 0 0 0 value "${bytes[@]}"
}

abi_of()
{
	local bytes

	read -ra bytes <<<"$(meta_of "${KEY[$1]}")"
	echo "${bytes[0]}"
}

# --- a siege -------------------------------------------------------------------------------------------

# Until there is a file /tmp/probe.end, every 10 ms a write that must be refused; then "PASSED REFUSED" is in
# /tmp/siege.result.
besiege()
{
	local passed=0 refused=0

	until [[ -e /tmp/probe.end ]]; do
		if { echo $DB_CPUS >"$DB/cpuset.cpus"; } 2>/tmp/siege.said; then
			passed=$((passed + 1))
		else
			refused=$((refused + 1))
		fi
		pause 0.01
	done
	echo "$passed $refused" >/tmp/siege.result
}
