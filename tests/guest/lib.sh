# SPDX-License-Identifier: Apache-2.0
#
# For tests inside a guest, sourced by bash: TAP lines and a few questions to
# the kernel. A test ends with "finish".

CG=/sys/fs/cgroup
TAP_RUN=0 TAP_FAILED=0
# What programs in the background say. A test that fails shows the end of each log.
BACKGROUND_LOG=/tmp/background.$$
LOGS=("$BACKGROUND_LOG")
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
		comment /tmp/ok.out
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

# file_is FILE TEXT: its first line
file_is()
{
	local text=

	read -r text <"$1" || :
	[[ $text == "$2" ]] || { echo "$1 has '$text', wanted '$2'"; return 1; }
}

# mentions TEXT PATTERN: a basic regular expression
mentions()
{
	grep -q -- "$2" <<<"$1" || { echo "'$2' is not in:"; echo "$1"; return 1; }
}

# status_is STATUS COMMAND...
status_is()
{
	local wanted=$1 status=0

	shift
	"$@" || status=$?
	[[ $status == "$wanted" ]] || { echo "exit status $status, wanted $wanted"; return 1; }
}

# comment FILE: its lines, as TAP has them; not more of each than a console takes at once, because
# the result behind a line whose end was lost would be lost, too
comment()
{
	cut -b -2000 "$1" | sed 's/^/#   /'
}

# quietly COMMAND...: what it says is shown if it fails, and its status is kept.
quietly()
{
	local log=/tmp/quietly.$BASHPID.${#FUNCNAME[@]} status=0

	"$@" >"$log" 2>&1 || status=$?
	((status == 0)) || { echo "# status $status: $*"; comment "$log"; }
	rm "$log"
	return $status
}

# background COMMAND...: its pid is in $!
background()
{
	"$@" >>"$BACKGROUND_LOG" 2>&1 </dev/null &
}

# until_true SECONDS COMMAND...: a bounded wait for a state to come. What the command said last is
# shown when it has not come. Waits may stand in each other, so each has a file of its own. To ask
# takes an emulated guest about as long as the first pause, so what takes longer is asked less often.
until_true()
{
	local limit=$1 end=$((SECONDS + $1)) log=/tmp/until.$BASHPID.${#FUNCNAME[@]} status=0 ms=100

	shift
	until "$@" >"$log" 2>&1; do
		if ((SECONDS >= end)); then
			echo "# not within $limit s: $*"
			comment "$log"
			status=1
			break
		fi
		pause "0.$ms"
		ms=$((ms < 400 ? ms * 5 / 4 : 500))
	done
	rm "$log"
	return $status
}

# How long to wait, in seconds, for what comes at a time that nobody promises: the machine may be loaded.
LONG=300

eventually()
{
	until_true $LONG "$@"
}

# is_since RELEASE: is this kernel of that release or a newer one?
is_since()
{
	local major minor

	IFS=. read -r major minor _ <<<"$(uname -r)"
	((major * 1000 + ${minor%%[!0-9]*} >= ${1%.*} * 1000 + ${1#*.}))
}

# busy_tasks: those that run or that no signal wakes, kernel threads too, and where in the kernel they are.
busy_tasks()
{
	local task stat

	for task in /proc/[0-9]*/task/[0-9]*; do
		# it may have ended
		stat=$(<"$task/stat") && [[ $stat == *') '[RD]' '* ]] || continue
		echo "${stat%%) *}), ${stat##*) }" | cut -d ' ' -f 1-3
		sed 's/^/  /' "$task/stack"
	done
}

# read_answer SECONDS: all that comes on standard input, in ANSWER, without the line feed at its end. With
# a number of characters bash reads blocks. To look for a delimiter in a connection it reads byte by
# byte, which takes an emulated guest longer than anything else about a page of metrics.
read_answer()
{
	# fails at the end of the answer, because it has fewer
	read -r -t "$1" -N 4000000 ANSWER || :
	ANSWER=${ANSWER%$'\n'}
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
	read_answer 30
	[[ -n $ANSWER ]] || { echo "no answer to GET $1"; return 1; }
}

# rows …: JSON from standard input as lines; see rows.c. Where it suffices, it takes the place of jq,
# which needs longer to start than the agent to answer.
rows()
{
	/guest/rows "$@"
}

# sum: of the numbers on standard input, one in a line
sum()
{
	awk '{ sum += $1 } END { printf((sum == int(sum) ? "%d\n" : "%.9f\n"), sum) }'
}

# page PATH: what the agent answers over HTTP, with its header. For SIGPIPE see answer_to.
page()
{
	trap : PIPE
	{ printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&0 && cat; } <>/dev/tcp/127.0.0.1/9417
}

# filled FILE: has it text? Those of the kernel have no size.
filled()
{
	local text

	read -r text <"$1"
}

# The lines of a file of the kernel are read as "done <<<"$(<file)"", at once: between two lines bash
# seeks back to where the next one began, and the kernel has written the file anew by then.

# joined CGROUP COMMAND: is a process there that has become the command? It is
# there before. Its pid is in JOINED.
joined()
{
	local name

	while read -r JOINED; do
		[[ -n $JOINED ]] && read -r name <"/proc/$JOINED/comm" && [[ $name == "$2" ]] && return
	done <<<"$(<"$1/cgroup.procs")"
	return 1
}

show_logs()
{
	local log

	for log in "${LOGS[@]}"; do
		[[ -s $log ]] || continue
		echo "# the end of $log:"
		tail -n 20 "$log" | comment -
	done
}

# The plan comes last, so that a test that ends before has none.
finish()
{
	((TAP_FAILED == 0)) || show_logs
	echo "1..$TAP_RUN"
	((TAP_FAILED == 0 && TAP_RUN > 0))
	exit
}
