# SPDX-License-Identifier: Apache-2.0
#
# Debian packages without installing any, sourced behind common.sh: they come from
# the mirror this machine's apt is configured with, through a state directory in the
# cache. The machine's sources, lists, installed packages and foreign processors are
# neither read for candidates nor changed. Signatures are checked as always.

APT=$CACHE/apt
OPTIONS=(-q -o Dir::State="$APT/state" -o Dir::State::status="$APT/status"
	-o Dir::Cache="$APT/cache" -o Dir::Etc::sourcelist="$APT/sources.list"
	-o Dir::Etc::sourceparts="$APT/none" -o Dir::Etc::preferences="$APT/none/x"
	-o Dir::Etc::preferencesparts="$APT/none" -o Acquire::Languages=none
	-o Acquire::Retries=3 -o APT::Architecture="$ARCH")
# the unprivileged download user cannot enter every place a cache may be in
[[ $(id -u) != 0 ]] || OPTIONS+=(-o APT::Sandbox::User=root)

write_sources()
{
	local suite uri keys

	keys=$APT/archive-keyring.gpg
	: >"$APT/sources.list"
	for suite; do
		uri=$(debian_mirror)
		if [[ $suite == *-security ]]; then
			# not every machine has a security source; the release then serves
			uri=$(configured_mirror security) || continue
		fi
		echo "deb [arch=$ARCH signed-by=$keys] $uri $suite main" >>"$APT/sources.list"
	done
}

update_lists()
{
	apt-get "${OPTIONS[@]}" -o APT::Update::Error-Mode=any update >"$APT/log" 2>&1
}

# A suite newer than this machine may be signed by keys its keyring lacks. The
# newer keyring is then taken from a suite that the known keys do verify.
extend_keyring()
{
	local dir

	write_sources bookworm bookworm-security trixie
	update_lists || { write_sources bookworm; update_lists; } || return 1
	dir=$(mktemp -d "$APT/keys.XXXXXX")
	(cd "$dir" && apt-get "${OPTIONS[@]}" download debian-archive-keyring >>"$APT/log" 2>&1 &&
		dpkg -x ./*.deb tree) || return 1
	cat "$dir"/tree/usr/share/keyrings/debian-archive-keyring.[gp][pg]* >"$APT/archive-keyring.gpg"
	rm -rf "$dir"
}

# open_suites SUITE... : from here on, apt with OPTIONS knows the packages of these.
open_suites()
{
	mkdir -p "$APT/state/lists/partial" "$APT/cache/archives/partial" "$APT/none"
	: >"$APT/status"
	[[ -s $APT/archive-keyring.gpg ]] || cat "$(keyring debian)" >"$APT/archive-keyring.gpg"
	write_sources "$@"
	if ! update_lists; then
		extend_keyring || die "no keyring verifies $*: $(tail -3 "$APT/log")"
		write_sources "$@"
		update_lists || die "cannot read the package lists of $*: $(tail -3 "$APT/log")"
	fi
}
