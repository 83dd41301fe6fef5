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
	ask node show | jq -er --arg name "$1" '.findings[] | select(.name == $name) | .message + "; " + .remedy'
}

no_finding()
{
	! finding "$1"
}

# says NAME WORD…: the finding's text has every word
says()
{
	local text word

	text=$(finding "$1") || { ask node show | jq -c .findings; return 1; }
	shift
	for word; do
		[[ $text == *"$word"* ]] || { echo "no '$word' in: $text"; return 1; }
	done
}

guard_is()
{
	same "$(ask node show | jq -r '.guard + " " + .tiers')" "$1"
}

event_says()
{
	ask event show | jq -e --arg kind "$1" --arg word "$2" \
		'[.[] | select(.kind == $kind and (.detail | contains($word)))] | length > 0' ||
		{ ask event show | jq -c '.[-5:]'; return 1; }
}

metric()
{
	curl -s http://127.0.0.1:9417/metrics | sed -n "s/^$1 //p"
}

# has_mode MODE: the attack has the outcome of that mode
has_mode()
{
	case $1 in
	enforce) denied ;;
	*) allowed ;;
	esac
}
