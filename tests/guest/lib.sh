# SPDX-License-Identifier: Apache-2.0
#
# For tests inside a guest, sourced by bash: TAP lines and a few questions to
# the kernel. A test ends with "finish".

CG=/sys/fs/cgroup
TAP_RUN=0 TAP_FAILED=0

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

# until_true SECONDS COMMAND...: a bounded wait for a state to come.
until_true()
{
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.2
	done
}

finish()
{
	echo "1..$TAP_RUN"
	((TAP_FAILED == 0 && TAP_RUN > 0))
	exit
}
