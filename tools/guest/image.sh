# SPDX-License-Identifier: Apache-2.0
#
# Makes the archives a guest boots from. The kernel unpacks concatenated cpio
# archives, so the tools are packed once and a run packs only its own files.
# Nothing is compressed: software emulation is slower at unpacking than the
# loader is at copying.

# What tests may use besides busybox's own commands.
GUEST_TOOLS=(bash taskset chrt bpftool curl jq setpriv)

# Where programs and libraries of the guest's processor are: this machine's own, or unpacked.
SYSROOT=
[[ $ARCH == "$NATIVE" ]] || SYSROOT=$CACHE/sysroot

# What another processor's guests are made of; made now if it is missing.
need_sysroot()
{
	[[ -z $SYSROOT || -s $SYSROOT/complete ]] || "$REPO/tools/guest/sysroot" || exit
}

find_tool()
{
	PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v "$1" ||
		die "no program '$1' on this machine: run tools/install-deps test"
}

find_guest_tool()
{
	local place

	[[ -n $SYSROOT ]] || { find_tool "$1"; return; }
	for place in "$SYSROOT"/usr/{sbin,bin}; do
		[[ ! -x $place/$1 ]] || { echo "$place/$1"; return; }
	done
	die "no program '$1' in $SYSROOT"
}

# Debian's /bin and /lib are links into /usr; in the guest there is one place.
guest_path()
{
	case $1 in
	/bin/* | /sbin/* | /lib/* | /lib64/*) printf '/usr%s\n' "$1" ;;
	*) printf '%s\n' "$1" ;;
	esac
}

make_skeleton()
{
	local root=$1 dir

	mkdir -p "$root"/{dev,proc,sys,run,tmp,out,root,etc,var,guest} "$root"/usr/{bin,sbin,lib,lib64}
	for dir in bin sbin lib lib64; do
		ln -s "usr/$dir" "$root/$dir"
	done
	ln -s ../run "$root/var/run"
}

# needed_by PROGRAM: what a program of another processor loads, which no loader of ours can tell.
# The loader itself is looked for below /usr/lib, where programs name it.
needed_by()
{
	local files=("$1") name path
	local -A found=()

	while ((${#files[@]} > 0)); do
		while read -r name; do
			[[ -z ${found[$name]:-} ]] || continue
			for path in "$SYSROOT/usr/lib"{,/$TRIPLE}/"$name"; do
				[[ -e $path ]] || continue
				found[$name]=$path
				files+=("$path")
				break
			done
		done < <({ readelf -ld "${files[0]}" 2>&1 || :; } |
			sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p; s,.*program interpreter: .*/\(.*\)],\1,p')
		files=("${files[@]:1}")
	done
	((${#found[@]} == 0)) || printf '%s\n' "${found[@]}"
}

# Libraries a program loads, by the loader's own answer; a static one has none.
libraries_of()
{
	[[ -z $SYSROOT ]] || { needed_by "$1"; return; }
	{ ldd "$1" 2>&1 || :; } | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }'
}

# add_file ROOT SOURCE DEST [SKIP]: one file and the libraries it needs, each
# at the path the loader looks for it; those listed in file SKIP stay out.
add_file()
{
	local root=$1 source=$2 dest=$3 skip=${4:-/dev/null} library path

	dest=$(guest_path "$dest")
	[[ $dest != */ ]] || dest+=${source##*/}
	mkdir -p "$root${dest%/*}"
	if [[ -d $source ]]; then
		mkdir -p "$root$dest"
		cp -RL "$source/." "$root$dest/"
		return
	fi
	cp -L "$source" "$root$dest" || die "cannot copy $source"
	[[ $(head -c 4 "$source" | tr -d '\0') == $'\x7fELF' ]] || return 0
	for library in $(libraries_of "$source"); do
		path=$(guest_path "${library#"$SYSROOT"}")
		[[ ! -e $root$path ]] && ! grep -qxF "$path" "$skip" || continue
		mkdir -p "$root${path%/*}"
		cp -L "$library" "$root$path"
	done
}

pack()
{
	(cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
		cpio --null --quiet -o -H newc -R 0:0) >"$2"
}

# Sets TOOLS to the paths of the guest's tools, busybox first.
find_tools()
{
	local tool

	TOOLS=()
	need_sysroot
	for tool in busybox "${GUEST_TOOLS[@]}"; do
		tool=$(find_guest_tool "$tool") || exit
		TOOLS+=("$tool")
	done
}

key_of()
{
	cat "$@" | sha256sum | cut -c 1-16
}

# An image nobody has asked for in a while is of an older state of the tools.
forget_images()
{
	find "$CACHE/images" -maxdepth 1 -name "$1" -mmin +600 -delete
}

# base_image: prints the prefix of the base image's files (.cpio, .list),
# made anew when a tool or a script it holds has changed.
base_image()
{
	local tool key root name library

	find_tools
	key=$(key_of "${TOOLS[@]}" "$REPO"/tools/guest/{image.sh,init,run})
	name=$CACHE/images/base-$key
	if [[ ! -s $name.cpio ]]; then
		lock_cache
		# whoever had the lock may have made it
		[[ ! -s $name.cpio ]] || { unlock_cache; printf '%s\n' "$name"; return; }
		mkdir -p "$CACHE/images"
		forget_images 'base-*'
		root=$(mktemp -d "$CACHE/images/.base.XXXXXX")
		chmod 755 "$root"
		make_skeleton "$root"
		for tool in "${TOOLS[@]}"; do
			add_file "$root" "$tool" "/usr/bin/${tool##*/}"
		done
		for tool in $(busybox --list); do
			[[ -e $root/usr/bin/$tool ]] || ln -s busybox "$root/usr/bin/$tool"
		done
		# loaded on demand by pthread_cancel, so the loader does not list it
		# read to its end: ldconfig must not die of a pipe that closed
		library=$SYSROOT/usr/lib/$TRIPLE/libgcc_s.so.1
		[[ -n $SYSROOT ]] || library=$(ldconfig -p | awk '/libgcc_s.so.1 / && !found++ { print $NF }')
		[[ -z $library ]] || add_file "$root" "$library" "${library#"$SYSROOT"}"
		cp "$REPO/tools/guest/init" "$root/init"
		cp "$REPO/tools/guest/run" "$root/guest/run"
		echo 'root:x:0:0:root:/root:/bin/bash' >"$root/etc/passwd"
		echo 'nobody:x:65534:65534:nobody:/:/bin/false' >>"$root/etc/passwd"
		echo 'root:x:0:' >"$root/etc/group"
		(cd "$root" && find . -type f -o -type l | sed 's,^\.,,') >"$name.list"
		pack "$root" "$name.tmp"
		mv "$name.tmp" "$name.cpio"
		rm -rf "$root"
		unlock_cache
	fi
	printf '%s\n' "$name"
}

# add_modules ROOT SLOT_DIR NAME...: modules in loading order, decompressed
# because busybox cannot.
add_modules()
{
	local root=$1 slot=$2 release name file target number=10

	shift 2
	release=$(<"$slot/release")
	mkdir -p "$root/guest/modules"
	for name; do
		while read -r _ file _; do
			target=${file##*/}
			[[ -z $(compgen -G "$root/guest/modules/*-${target%%.ko*}.ko") ]] || continue
			target=$root/guest/modules/$((number++))-${target%%.ko*}.ko
			case $file in
			*.xz) xz -dc "$file" >"$target" ;;
			*.zst) zstd -qdc "$file" >"$target" ;;
			*) cp "$file" "$target" ;;
			esac
		done < <($(find_tool modprobe) -d "$slot" -S "$release" --show-depends "$name" | grep '^insmod')
	done
}
