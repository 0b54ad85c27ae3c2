#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Installing, removing, packing; and completion, as the shells do it.

load lib.bash

# the completions in $WORK/completions, whatever was built
make_completions() {
	mkdir -p "$WORK/completions"
	local file
	for file in ehperf.bash _ehperf; do
		sed "s/@TOOLS@/$(ls "$ROOT/tools" | tr '\n' ' ')/" "$ROOT/man/package/completions/$file" >"$WORK/completions/$file"
	done
}

files_below() {	# DIRECTORY
	(cd "$1" && find . -mindepth 1 | sort)
}

@test "install puts every tool, page, schema and completion below DESTDIR; they run from there; uninstall takes all away" {
	need_root
	make -C "$ROOT" -s -o all install DESTDIR="$WORK/root" PREFIX=/opt/ehperf
	files_below "$WORK/root"
	diff <(ls "$WORK/root/opt/ehperf/sbin") <(ls "$ROOT/tools")
	diff <(ls "$WORK/root/opt/ehperf/libexec/ehperf") <(cd "$ROOT/tools" && ls -d */ | tr -d /)
	diff <(cd "$WORK/root/opt/ehperf/share" && ls man/man*/*) <(cd "$ROOT" && { ls man/man*/*; ls man/man8 | sed 's,^,man/man8/ehperf-,'; } | sort)
	[ -z "$(find "$WORK/root" -xtype l)" ]
	[ -s "$WORK/root/opt/ehperf/share/ehperf/ehperf.schema.json" ]
	diff <(ls "$WORK/root/opt/ehperf/share/doc/ehperf/examples") <(ls "$ROOT/man/examples")
	diff <(ls "$WORK/root/opt/ehperf/share/bash-completion/completions") <(ls "$ROOT/tools")
	refute grep -r '@TOOLS@' "$WORK/root"
	mv "$WORK/root" "$WORK/elsewhere"
	local sbin=$WORK/elsewhere/opt/ehperf/sbin
	env -i PATH=/usr/bin:/bin "$sbin/cpuprof" -q -F 499 -f -- "$ROOT/build/tests/nested" burn 0.3 | grep -q '^nested;'
	printf 'a;b 1\n' | env -i PATH=/usr/bin:/bin "$sbin/ehperf" flame | grep -q '</svg>'
	mv "$WORK/elsewhere" "$WORK/root"
	# what is others' stays
	touch "$WORK/root/opt/ehperf/share/man/man8/another.8"
	make -C "$ROOT" -s uninstall DESTDIR="$WORK/root" PREFIX=/opt/ehperf
	files_below "$WORK/root" | diff - <(printf '%s\n' ./opt ./opt/ehperf ./opt/ehperf/share ./opt/ehperf/share/man \
		./opt/ehperf/share/man/man8 ./opt/ehperf/share/man/man8/another.8)
	rm "$WORK/root/opt/ehperf/share/man/man8/another.8"
	make -C "$ROOT" -s -o all install uninstall DESTDIR="$WORK/root" PREFIX=/opt/ehperf
	[ ! -e "$WORK/root" ] || [ -z "$(find "$WORK/root" -type f)" ]
}

# bats test_tags=check
@test "names that others own are left to them: ehperf TOOL runs ours, ehperf-TOOL(8) is its page" {
	make -C "$ROOT" -s -o all install DESTDIR="$WORK/root" PREFIX=/usr TAKEN="offcputime stackcount"
	files_below "$WORK/root" | grep -E '/(offcputime|stackcount)(\.8)?$' | diff - <(printf '%s\n' ./usr/libexec/ehperf/{offcputime,stackcount})
	[ -f "$WORK/root/usr/share/man/man8/ehperf-stackcount.8" ]
	[ "$(env -i PATH=/usr/bin:/bin "$WORK/root/usr/sbin/ehperf" stackcount -V)" = "$(stackcount -V)" ]
	make -C "$ROOT" -s uninstall DESTDIR="$WORK/root" PREFIX=/usr
	[ -z "$(find "$WORK/root" -type f -o -type l)" ]
}

# bats test_tags=check
@test "the tools need run-time libraries only, and few" {
	local tool
	for tool in $(cd "$ROOT/tools" && ls -d */ | tr -d /); do
		ldd "$ROOT/build/$tool" >"$WORK/libraries"
		refute grep 'not found' "$WORK/libraries"
		refute grep -vE 'linux-vdso|ld-linux|lib(c|m|bpf|elf|dw|z|bz2|zstd|lzma|Zydis|Zycore|json-c|unistring|protobuf-c|pfm|seccomp|ncursesw|tinfo)\.so' "$WORK/libraries"
	done
}

@test "dist: what git knows, and it builds from there" {
	need make
	local version
	version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
	make -C "$ROOT" -s dist
	tar -C "$WORK" -xzf "$ROOT/build/ehperf-$version.tar.gz"
	cd "$WORK/ehperf-$version"
	if git -C "$ROOT" rev-parse >/dev/null 2>&1; then
		diff <(git -C "$ROOT" ls-files | sort) <(find . -type f -o -type l | sed 's|^\./||' | grep -vx NEWS | sort)
	fi
	head -n 1 NEWS | grep -Fx "ehperf $version"
	grep -F '  * First release.' NEWS
	# without git, and without what the tree it comes from has built
	make -n all >"$WORK/plan"
	grep -q 'cpuprof.bpf.c' "$WORK/plan"
	make -s dist
	cmp <(tar -tzf "build/ehperf-$version.tar.gz" | sort) <(tar -tzf "$ROOT/build/ehperf-$version.tar.gz" | sort)
}

# bats test_tags=full
@test "dist: the same content is the same bytes, whenever and by whomever it was checked out" {
	need git
	local version
	version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
	make -C "$ROOT" -s dist
	tar -C "$WORK" -xzf "$ROOT/build/ehperf-$version.tar.gz"
	cd "$WORK/ehperf-$version"
	export GIT_CONFIG_GLOBAL=/dev/null GIT_{AUTHOR,COMMITTER}_NAME=test GIT_{AUTHOR,COMMITTER}_EMAIL=test
	git init -q && git add --all --force && git commit -q -m test --date "2001-02-03 04:05:06Z"
	make -s dist
	mv "build/ehperf-$version.tar.gz" "$WORK/first.tar.gz"
	(umask 077; git clone -q . "$WORK/clone")
	find "$WORK/clone" -path "$WORK/clone/.git" -prune -o -type f -exec touch -d '2002-03-04' {} +
	make -C "$WORK/clone" -s dist
	cmp "$WORK/first.tar.gz" "$WORK/clone/build/ehperf-$version.tar.gz"
}

# bats test_tags=check
@test "tools, packages and the archive have the Makefile's version" {
	local tool version
	version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
	[ "$(ehperf -V)" = "ehperf $version" ]
	for tool in $(cd "$ROOT/tools" && ls -d */ | tr -d /); do
		[ "$("$tool" -V)" = "$tool (ehperf) $version" ]
	done
	[ "$(sed -n '1s/^ehperf (\(.*\)) .*/\1/p' "$ROOT/man/package/debian/changelog")" = "$version" ]
	[ "$(sed -n 's/^Version: *//p' "$ROOT/man/package/ehperf.spec")" = "$version" ]
	[ "$(sed -n 's/^pkgver=//p' "$ROOT/man/package/PKGBUILD")" = "$version" ]
}

# bats test_tags=full
@test "the Debian package builds with the packages that the Makefile names" {
	grep -q '^Build-Depends: .*@BUILD_PACKAGES@$' "$ROOT/man/package/debian/control"
	# names that the package changes are tools'
	local name
	for name in $(sed -n 's/^TAKEN := //p' "$ROOT/man/package/debian/rules"); do
		[ -d "$ROOT/tools/$name" ]
	done
	command -v dpkg-query >/dev/null || skip "needs dpkg"
	# and what others own is among them
	for name in $(ls "$ROOT/tools"); do
		if dpkg-query -S "/usr/sbin/$name" "/usr/bin/$name" 2>/dev/null | grep -v '^ehperf:'; then
			grep -qE "^TAKEN := (.* )?$name( |$)" "$ROOT/man/package/debian/rules"
		fi
	done
}

# what bash completes a line to
completions_of() {	# LINE
	bash --norc -c '
		. "$1"
		COMP_LINE=$2 COMP_POINT=${#2} COMPREPLY=()
		_ehperf "${2%% *}" 2>/dev/null
		printf "%s\n" "${COMPREPLY[@]}"' bash "$WORK/completions/ehperf.bash" "$1"
}

# bats test_tags=check
@test "bash: each option of each tool, as --help has it, and nothing else" {
	make_completions
	local tool
	for tool in $(cd "$ROOT/tools" && ls -d */ | tr -d /); do
		echo "$tool"
		diff <(completions_of "$tool -" | sort) <(completions_of "ehperf $tool -" | sort)
		diff <(completions_of "$tool -" | sort) \
			<("$tool" --help | grep -oE '^ +(-[^ =,]+(, )?)+' | grep -oE -- '--?[a-zA-Z?][a-z-]*' | sort)
		bash --norc -c '. "$1"; complete -p "$2"' bash "$WORK/completions/ehperf.bash" "$tool" | grep -q -- "-F _ehperf $tool"
	done
}

# bats test_tags=check
@test "bash: ehperf's tools, and what they take" {
	make_completions
	diff <({ echo help; ls -d "$ROOT"/tools/*/ | xargs -n 1 basename; } | sort) <(completions_of "ehperf " | sort -u)
	[ "$(completions_of "ehperf stackc")" = stackcount ]
	[ "$(completions_of "ehperf help stackc")" = stackcount ]
	completions_of "ehperf cpuprof -p $$" | grep -qx $$
	completions_of "ehperf stackcount page-fau" | grep -qx page-faults
	completions_of "ehperf cpuprof -e page-fau" | grep -qx page-faults
	completions_of "ehperf cpuprof -q -- xarg" | grep -qx xargs
}

# bats test_tags=full
@test "bash: processes, threads, events, functions, maps, CPUs, users, files, commands" {
	need_root
	make_completions
	completions_of "cpuprof -p $$" | grep -qx $$
	completions_of "cpuprof --pid=1,$$" | grep -qx "1,$$"
	completions_of "offcputime -t $$" | grep -qx $$
	completions_of "stackcount page-fau" | grep -qx page-faults
	completions_of "cpuprof -e page-fau" | grep -qx page-faults
	# a colon is one of readline's word breaks: what stands before it is kept
	if [ -d /sys/kernel/tracing/events ] || stackcount -l t:sched:sched_switch >/dev/null 2>&1; then
		completions_of "stackcount t:sched:sched_swit" | grep -qx sched_switch
	fi
	completions_of "stackcount u:$LIBC:mallo" | grep -qx malloc || completions_of "stackcount u:$(realpath $LIBC):mallo" | grep -qx malloc
	completions_of "funclat u:/usr/bin/pyth" | grep -q '^/usr/bin/python3'
	completions_of "cpuprof -C " | grep -qx 0
	completions_of "cpuprof --as=roo" | grep -qx root
	touch "$WORK/a file.svg"
	completions_of "cpuprof -o $WORK/a" | grep -qx "$WORK/a file.svg"
	completions_of "cpuprof -q -- xarg" | grep -qx xargs
	completions_of "cpuprof -q -- ls /pro" | grep -qx /proc
	[ -z "$(completions_of 'cpuprof 1')" ]
	if command -v bpftool >/dev/null; then
		background cpuprof -q 20
		wait_until eval 'bpftool map list | grep -q slabs'
		completions_of "mapupdlat --map slab" | grep -qx slabs
	fi
}

# bats test_tags=full
@test "zsh: options with their descriptions, events, processes, commands" {
	need_root
	need zsh
	make_completions
	cat >"$WORK/session" <<-'END'
		zmodload zsh/zpty
		zpty session "PS1= TERM=dumb zsh -f -i"
		zpty -w session "PATH=$1/build:\$PATH; fpath=($2 \$fpath); autoload -U compinit; compinit -u -D; LISTMAX=100000; stty cols 200"
		shift 2
		for line; do
			zpty -w -n session "$line"$'\t'
			sleep 3
			zpty -w -n session $'\x15'"echo END"$'\n'
			sleep 0.3
		done
		zpty -w session exit
		sleep 0.5
		while zpty -r session more; do print -r -- "$more"; done
	END
	timeout 60 zsh -f "$WORK/session" "$ROOT" "$WORK/completions" 'cpuprof --fo' "cpuprof -p $$" 'stackcount t:sched:sched_swit' \
		'cpuprof -e page-fau' 'flame RE' 'cpuprof -q 3 -- xarg' \
		'ehperf mapup' 'ehperf cpuprof --fo' 'ehperf cpuprof -e page-fau' >"$WORK/shown"
	cat "$WORK/shown"
	refute grep -E 'error|not found' "$WORK/shown"
	grep -q -- '--folded *-- folded output' "$WORK/shown"
	[ "$(grep -c -- '--folded *-- folded output' "$WORK/shown")" -ge 2 ]
	grep -q 'ehperf mapupdlat' "$WORK/shown"
	grep -q 'ehperf cpuprof -e page-faults' "$WORK/shown"
	grep -q "cpuprof -p $$" "$WORK/shown"
	grep -q 'cpuprof -e page-faults' "$WORK/shown"
	grep -q 'cpuprof -q 3 -- xargs' "$WORK/shown"
}
