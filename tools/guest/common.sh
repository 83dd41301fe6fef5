# SPDX-License-Identifier: Apache-2.0
#
# What the guest scripts share: for which processor, where things are cached, how to
# complain, and how to reach Debian's archive through the package source this machine
# has. Sourced by bash; sets REPO, NATIVE and ARCH (processors by Debian's names) and
# CACHE, which for another processor than this machine's is a folder of that name.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${PINFOLD_CACHE:-build/cache}
[[ $CACHE == /* ]] || CACHE=$REPO/$CACHE
NATIVE=$(uname -m)
NATIVE=${NATIVE/x86_64/amd64}
NATIVE=${NATIVE/aarch64/arm64}
ARCH=${PINFOLD_ARCH:-$NATIVE}
[[ $ARCH == "$NATIVE" ]] || CACHE=$CACHE/$ARCH
shopt -s inherit_errexit
KEYRING_DIR=/usr/share/keyrings

say()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die()
{
	say "$*"
	# 125, as timeout(1) and chroot runners do: the runner failed, not the program
	exit 125
}

# One writer of the cache at a time; readers only see finished files, which
# appear by rename. The lock is dropped when the shell that took it ends.
lock_cache()
{
	mkdir -p "$CACHE" || die "cannot create the cache $CACHE; set PINFOLD_CACHE"
	exec {CACHE_LOCK}>"$CACHE/.lock"
	flock "$CACHE_LOCK"
}

unlock_cache()
{
	exec {CACHE_LOCK}>&-
}

is_debian_suite()
{
	case $1 in
	bookworm | trixie | forky | duke | sid | oldstable | stable | testing | unstable) return 0 ;;
	*) return 1 ;;
	esac
}

# mirror KIND RELEASES... : URI of the first configured source whose release
# is one of RELEASES (a Debian suite when KIND is debian).
configured_mirror()
{
	local want=$1 uri release

	while read -r uri release; do
		case $want in
		debian) is_debian_suite "$release" || continue ;;
		security) [[ $release == *-security ]] && is_debian_suite "${release%-security}" || continue ;;
		*) [[ $release == "$want" ]] || continue ;;
		esac
		printf '%s\n' "${uri%/}"
		return 0
	done < <(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages')
	return 1
}

debian_mirror()
{
	if [[ -n ${PINFOLD_DEBIAN_MIRROR:-} ]]; then
		printf '%s\n' "${PINFOLD_DEBIAN_MIRROR%/}"
	else
		configured_mirror debian ||
			die "no Debian source in apt's configuration; name one in PINFOLD_DEBIAN_MIRROR"
	fi
}

# keyring NAME : the archive keyring of a distribution, under either of the
# suffixes its package has used.
keyring()
{
	local suffix

	for suffix in gpg pgp; do
		if [[ -r $KEYRING_DIR/$1-archive-keyring.$suffix ]]; then
			printf '%s\n' "$KEYRING_DIR/$1-archive-keyring.$suffix"
			return 0
		fi
	done
	die "no keyring $KEYRING_DIR/$1-archive-keyring.*: install package $1-archive-keyring"
}

# Programs other than apt reach the archive the way apt does.
export_proxy()
{
	local proxy

	proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
	[[ -z $proxy || $proxy == DIRECT ]] || export http_proxy=$proxy
}
