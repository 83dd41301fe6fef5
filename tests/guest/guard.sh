# SPDX-License-Identifier: Apache-2.0
#
# For guest tests of the agent's guard, sourced after agent.sh: one attack on the
# container $DB, and what the node says of the guard.

PINS=/sys/fs/bpf/pinfold

# The attack: a stranger writes the value that is there, which harms nobody when it passes.
# outcome: "ok" or the errno's name
outcome()
{
	/guest/guard_attack write "$DB/cpuset.cpus" 2-5
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

metric()
{
	page /metrics | sed -n "s/^$1 //p"
}

# has_mode MODE: the attack has the outcome of that mode
has_mode()
{
	case $1 in
	enforce) denied ;;
	*) allowed ;;
	esac
}
