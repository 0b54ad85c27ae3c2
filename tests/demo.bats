#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `make demo` is the first thing that anybody runs: it prints what it did, and reports a part that fails.

bats_require_minimum_version 1.5.0
load lib.bash

# puts a program of this name first in PATH: the script on stdin
stub() {	# NAME
	mkdir -p "$WORK/bin"
	{ echo '#!/bin/sh'; cat; } >"$WORK/bin/$1"
	chmod +x "$WORK/bin/$1"
}

demo() {	# PROGRAM...
	need_root
	PATH=$WORK/bin:$PATH TMPDIR=$WORK run --separate-stderr "$ROOT/tests/demo" "$@"
	printf '%s\n' "$output" "$stderr"
}

# the part of the output about this process
shown_of() {	# PID
	awk -v pid="$1" '/^\$ / { mine = / -p / && $0 ~ " -p " pid " " } mine' <<<"$output"
}

@test "each program: the command, and below it a stack of that process" {
	local pids_shown pid
	need python3 xz sqlite3 perl git
	demo
	[ "$status" -eq 0 ]
	pids_shown=$(sed -n 's/^\$ build\/cpuprof .*-p \([0-9]*\) 2$/\1/p' <<<"$output")
	[ "$(wc -w <<<"$pids_shown")" -eq 5 ]
	[ "$(grep -c '^\$ ' <<<"$output")" -eq 5 ]
	for pid in $pids_shown; do
		shown_of "$pid" | grep -qE "^    - +(python3|xz|sqlite3|perl|git) \($pid\)\$"
		[ "$(shown_of "$pid" | grep -c '^    [^-]')" -ge 5 ]
	done
	[ "$(grep -cE '^    - +[a-z0-9]+ \(' <<<"$output")" -eq 5 ]
	# messages: what cpuprof has to say of each, once
	[ "$(grep -c 'samples\? in [0-9.]* s, ' <<<"$stderr")" -eq 5 ]
	refute grep -v '^cpuprof: ' <<<"$stderr"
}

# bats test_tags=full
@test "a program that is missing, ends at once, only sleeps, or fails: each is reported, the others are shown" {
	need perl sqlite3 xz git
	stub sqlite3 <<<'exit 1'
	stub xz <<<'exec sleep 30'
	stub git <<<'echo "git is out of order" >&2; exit 1'
	demo no-such-program sqlite3 xz git perl
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"demo: no-such-program is not installed"* ]]
	[[ "$stderr" == *"demo: sqlite3 has ended"* ]]
	[[ "$stderr" == *"demo: no stack of xz"* ]]
	[[ "$stderr" == *"demo: git cannot be started"* ]]
	[ "${stderr_lines[-1]}" = "demo: failed: no-such-program sqlite3 xz git" ]
	[ "$(printf '%s\n' "${stderr_lines[@]}" | sort | uniq -d | grep -v '^git is out of order$\|^cpuprof: ')" = "" ]
	grep -qE '^    - +perl \(' <<<"$output"
}

@test "incomplete stacks, and a cpuprof that fails: the demo fails" {
	# the demo in a tree with another cpuprof
	need_root
	need perl
	mkdir -p "$WORK/tree/tests/workloads" "$WORK/tree/build"
	cp "$ROOT/tests/demo" "$WORK/tree/tests/"
	cp "$ROOT/tests/workloads/real.bash" "$WORK/tree/tests/workloads/"
	printf '#!/bin/sh\necho "    frame"\necho "cpuprof: 100 samples in 2.0 s, 98.50 %% of 100 user stacks complete" >&2\n' >"$WORK/tree/build/cpuprof"
	chmod +x "$WORK/tree/build/cpuprof"
	run --separate-stderr "$WORK/tree/tests/demo" perl
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"demo: stacks of perl are not whole"* ]]

	printf '#!/bin/sh\necho "    frame"\nexit 3\n' >"$WORK/tree/build/cpuprof"
	run --separate-stderr "$WORK/tree/tests/demo" perl
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"demo: no stack of perl"* ]]
}

@test "no process outlives it, not even after a signal" {
	need_root
	need xz
	mkdir "$WORK/tmp"
	TMPDIR=$WORK/tmp background "$ROOT/tests/demo" xz git
	wait_until grep -q cpuprof "$WORK/background.out"
	kill -TERM "$pid"
	wait_until refute kill -0 "$pid" || { ps -eo pid,ppid,stat,wchan:32,etimes,args | grep -E 'demo|cpuprof|xz|ehperf' >&2; false; }
	pids=()
	[ -z "$(ls "$WORK/tmp")" ]
	refute grep -lsF "$WORK/tmp" /proc/[0-9]*/cmdline
}

# bats test_tags=full
@test "the output is the same without a terminal, without input, without a locale or with a missing one" {
	need_root
	need perl
	run --separate-stderr env -i PATH="$PATH" "$ROOT/tests/demo" perl <&-
	[ "$status" -eq 0 ]
	grep -qE '^    - +perl \(' <<<"$output"
	run --separate-stderr env -i PATH="$PATH" LANG=xx_YY.UTF-8 "$ROOT/tests/demo" perl </dev/null
	[ "$status" -eq 0 ]
	refute grep -v '^cpuprof: ' <<<"$stderr"
}

@test "not root: one line, exit 1" {
	need_root
	need setpriv
	mkdir -p "$WORK/tree/tests/workloads"
	cp "$ROOT/tests/demo" "$WORK/tree/tests/"
	cp "$ROOT/tests/workloads/real.bash" "$WORK/tree/tests/workloads/"
	chmod 755 "$WORK"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$WORK/tree/tests/demo"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == *"run as root"* ]]
}
