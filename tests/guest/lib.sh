# SPDX-License-Identifier: Apache-2.0
#
# For tests inside a guest, sourced by bash: TAP lines and a few questions to
# the kernel. A test ends with "finish".

CG=/sys/fs/cgroup
TAP_RUN=0 TAP_FAILED=0
# a pipe nobody writes to
mkfifo /tmp/never.$$ && exec {NEVER}<>/tmp/never.$$ && rm /tmp/never.$$

# ok WHAT COMMAND...: one result; a failing command's output explains it. The
# command runs in this shell, so a function may start processes and set variables.
ok()
{
	local what=$1

	shift
	TAP_RUN=$((TAP_RUN + 1))
	if "$@" >/tmp/ok.out 2>&1; then
		echo "ok $TAP_RUN - $what"
	else
		TAP_FAILED=$((TAP_FAILED + 1))
		echo "not ok $TAP_RUN - $what"
		sed 's/^/#   /' /tmp/ok.out
	fi
}

# is WHAT GOT WANTED
is()
{
	ok "$1" same "$2" "$3"
}

same()
{
	[[ $1 == "$2" ]] || { echo "got '$1', wanted '$2'"; return 1; }
}

# pause SECONDS: without a process of its own, which emulation makes slow to start.
pause()
{
	read -r -t "$1" -u "$NEVER" || :
}

# until_true SECONDS COMMAND...: a bounded wait for a state to come.
until_true()
{
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		pause 0.1
	done
}

# answer_to PATH: asks over HTTP on standard input, a connection; what comes back is in ANSWER. The
# shell asks itself: a program to ask with takes longer to start than the agent to answer.
#
# bash writes a request line by line. When a peer that is killed has reset the connection, the
# second write raises SIGPIPE, which would end the shell that asks; handled, the write just fails.
# Ignored, the programs of the test would inherit it.
answer_to()
{
	trap : PIPE
	ANSWER=
	printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&0 || return
	# fails at the end of the answer, because there is no delimiter
	read -r -t 30 -d '' ANSWER || :
	[[ -n $ANSWER ]] || { echo "no answer to GET $1"; return 1; }
}

# filled FILE: has it text? Those of the kernel have no size.
filled()
{
	local text

	read -r text <"$1"
}

# joined CGROUP COMMAND: is a process there that has become the command? It is
# there before. Its pid is in JOINED.
joined()
{
	local name

	while read -r JOINED; do
		read -r name <"/proc/$JOINED/comm" && [[ $name == "$2" ]] && return
	done <"$1/cgroup.procs"
	return 1
}

finish()
{
	echo "1..$TAP_RUN"
	((TAP_FAILED == 0 && TAP_RUN > 0))
	exit
}
