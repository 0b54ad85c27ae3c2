#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The tutorial's tools, and the runtime of ehperf-runtime(7), taken from their pages, built in a copy of the tree and run; and the
# man pages, installed.

load lib.bash

PAGE=$ROOT/man/man7/ehperf-tutorial.7
RUNTIME_PAGE=$ROOT/man/man7/ehperf-runtime.7

# names of the files below a folder
files_of() {
	(cd "$1" && find . -type f | sed 's|^\./||' | sort)
}

# a copy of the tree and of what is built of it, with a page's files in it
make_copy() {	# PAGE
	mkdir -p "$WORK/tree/build"
	tar -C "$ROOT" --exclude=./build --exclude=./.git -cf - . | tar -C "$WORK/tree" -xf -
	(cd "$ROOT/build" && tar -cf - gen skel libcommon tools tools.a) | tar -C "$WORK/tree/build" -xf -
	cp -p $(printf "$ROOT/build/%s " $(ls "$ROOT/tools")) "$WORK/tree/build"
	extract_files "$1" "$WORK/tree"
}

# a .bats file of the copy, as one runs it who has just written it
run_bats() {	# NAME
	env -i PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME="$HOME" LC_ALL=C.UTF-8 \
		bats --tap "$WORK/tree/tests/$1.bats" 3>&-
}

@test "two tools: each its folder, its man page and its test, all new, and short" {
	need gawk
	extract_files "$PAGE" "$WORK/files"
	files_of "$WORK/files" >"$WORK/names"
	cat "$WORK/names"
	diff "$WORK/names" - <<-'EOF'
		man/man8/forkstacks.8
		man/man8/runqhist.8
		tests/forkstacks.bats
		tests/runqhist.bats
		tools/forkstacks/forkstacks.bpf.c
		tools/forkstacks/forkstacks.c
		tools/runqhist/runqhist.bpf.c
		tools/runqhist/runqhist.c
		tools/runqhist/runqhist_abi.h
	EOF
	local file
	while read -r file; do
		[ ! -e "$ROOT/$file" ]
		case $file in
		*.bpf.c) [ "$(wc -l <"$WORK/files/$file")" -le 60 ] ;;
		*.c) [ "$(wc -l <"$WORK/files/$file")" -le 100 ] ;;
		esac
	done <"$WORK/names"
}

# bats test_tags=full
@test "what the reader sees is what the test takes" {
	need man gawk
	local page file
	for page in "$PAGE" "$RUNTIME_PAGE"; do
		rm -rf "$WORK/files"
		extract_files "$page" "$WORK/files"
		MANWIDTH=200 MAN_KEEP_FORMATTING= man -l "$page" | col -bx | tr -s ' ' | sed 's/^ //; s/ $//' | grep . >"$WORK/seen"
		while read -r file; do
			tr '\t' ' ' <"$WORK/files/$file" | tr -s ' ' | sed 's/^ //; s/ $//' | grep . >"$WORK/taken"
			# the file's lines, one after the other
			gawk 'NR == FNR { taken[++n] = $0; next }
				{ at = $0 == taken[at + 1] ? at + 1 : $0 == taken[1]; if (at == n) found = 1 }
				END { exit !found }' "$WORK/taken" "$WORK/seen" || { echo "not seen as it is: $file"; return 1; }
		done < <(files_of "$WORK/files")
	done
}

# bats test_tags=full
@test "both tools are built by make alone, without a warning, and pass their tests and the house's" {
	need_root
	need gawk perl
	make_copy "$PAGE"
	make -C "$WORK/tree" >"$WORK/make.log" 2>&1 || { tail "$WORK/make.log"; return 1; }
	refute grep -E 'warning:|error:' "$WORK/make.log"
	# nothing else was built again
	refute grep -E 'tools/(cpuprof|offcputime|mapupdlat|ehdump)/.* -c |libcommon/.* -c ' "$WORK/make.log"
	[ -x "$WORK/tree/build/forkstacks" ]
	[ -x "$WORK/tree/build/runqhist" ]
	local name
	for name in layout forkstacks runqhist; do
		run run_bats $name
		echo "$output"
		[ "$status" -eq 0 ]
		refute grep -q '# skip' <<<"$output"
	done
}

@test "the tools' C files, from their page, are compiled without a warning" {
	need gawk
	make_copy "$PAGE"
	make -C "$WORK/tree" build/tools/forkstacks/forkstacks.o build/tools/runqhist/runqhist.o >"$WORK/make.log" 2>&1 ||
		{ tail "$WORK/make.log"; return 1; }
	refute grep -E 'warning:|error:' "$WORK/make.log"
}

@test "a runtime, from its page: its C file is compiled without a warning" {
	need gawk git
	extract_files "$RUNTIME_PAGE" "$WORK/tree"
	cp -r "$ROOT/bpf" "$WORK"
	(cd "$WORK" && git init -q && git apply --include='bpf/*' tree/rows.diff)
	local arch
	arch=$(uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
	gcc -fsyntax-only -Wall -Wextra -Werror -D_GNU_SOURCE -iquote "$WORK/tree/libcommon" -iquote "$ROOT/libcommon" \
		-iquote "$WORK/bpf" -iquote "$WORK/bpf/$arch" -iquote "$WORK/tree/bpf" "$WORK/tree/libcommon/runtimes/toy/toy.c"
}

# bats test_tags=full
@test "a runtime, from its page: six rows elsewhere, and its functions are named" {
	need_root
	need gawk git
	extract_files "$RUNTIME_PAGE" "$WORK/files"
	files_of "$WORK/files" | diff - <(cat <<-'EOF'
		bpf/runtimes/toy.bpf.h
		bpf/runtimes/toy_abi.h
		libcommon/runtimes/toy/toy.c
		libcommon/runtimes/toy/toy.h
		rows.diff
		tests/toy.bats
		tests/workloads/toy.c
	EOF
	)
	[ "$(grep -c '^+[^+]' "$WORK/files/rows.diff")" -le 6 ]
	refute grep -q '^-[^-]' "$WORK/files/rows.diff"
	make_copy "$RUNTIME_PAGE"
	(cd "$WORK/tree" && git apply rows.diff)
	make -C "$WORK/tree" build/cpuprof >"$WORK/make.log" 2>&1 || { tail "$WORK/make.log"; return 1; }
	refute grep -E 'warning:|error:' "$WORK/make.log"
	local name
	for name in layout toy; do
		run run_bats $name
		echo "$output"
		[ "$status" -eq 0 ]
		refute grep -q '# skip' <<<"$output"
	done
}

# bats test_tags=full
@test "the tools say what is wrong with their arguments, and are complete without a cause to complain" {
	need_root
	need gawk perl
	make_copy "$PAGE"
	make -C "$WORK/tree" >"$WORK/make.log" 2>&1
	PATH=$WORK/tree/build:$PATH
	local arguments
	for arguments in "forkstacks -p 0" "forkstacks --nonsense" "forkstacks 1 2" "runqhist x" "runqhist -p ," "runqhist 1 0"; do
		run $arguments
		echo "$arguments: $status: $output"
		[ "$status" -eq 2 ]
	done
	run forkstacks -p 99999999 1
	[ "$status" -eq 1 ]

	# filters that no program of the tool's asks for itself
	local forks='for (1..20) { my $p = fork; exit 0 unless $p; waitpid $p, 0 }'
	forkstacks -j --comm nobody -- perl -e "$forks" >"$WORK/out"
	[ "$(summary .samples)" -eq 0 ]
	forkstacks -j -K -C 0 -- taskset -c 0 perl -e "$forks" >"$WORK/out"
	[ "$(summary .samples)" -eq 20 ]
	[ "$(jq -s '[.[] | select(.type == "stack") | .user // [] | length] | add' "$WORK/out")" -eq 0 ]
	if [ "$(nproc)" -gt 1 ]; then
		forkstacks -j -C 1 -- taskset -c 0 perl -e "$forks" >"$WORK/out"
		[ "$(summary .samples)" -eq 0 ]
	fi

	# a command's children belong to it; others do not, and a process that sleeps is woken by nobody
	runqhist -j -- sh -c 'perl -e "select(undef, undef, undef, 0.002) for 1..50"; exit 3' >"$WORK/out" || [ $? -eq 3 ]
	expect "$(jq -s '[.[] | select(.key.comm? == "perl") | .count] | add' "$WORK/out") >= 45"
	background sleep 1000
	wait_until grep -q '^230 ' "/proc/$pid/syscall"	# clock_nanosleep
	runqhist -j -p "$pid" 0.5 1 >"$WORK/out"
	[ "$(summary .wakeups)" -eq 0 ]
}

@test "every man page is free of warnings, installed in its section, and removed again" {
	need man
	local page
	for page in "$ROOT"/man/man*/*; do
		echo "$page"
		[ -z "$(man -l --warnings=w "$page" 2>&1 >/dev/null)" ]
		[[ "$page" == */man"${page##*.}"/* ]]
	done
	make -C "$ROOT" -o all install DESTDIR="$WORK/root" PREFIX=/usr >"$WORK/log" 2>&1
	diff <(files_of "$WORK/root/usr/share/man" | grep -v ^man8/ehperf-) <(files_of "$ROOT/man" | grep ^man)
	diff "$WORK/root/usr/share/ehperf/ehperf.schema.json" "$ROOT/man/ehperf.schema.json"
	diff <(ls "$WORK/root/usr/sbin") <(ls "$ROOT/tools")
	make -C "$ROOT" uninstall DESTDIR="$WORK/root" PREFIX=/usr >>"$WORK/log" 2>&1
	[ -z "$(files_of "$WORK/root")" ]
}
