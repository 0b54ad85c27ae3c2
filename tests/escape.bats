#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Hostile names: of a file, of a thread. What an unprivileged user can choose changes nothing on root's terminal.

load lib.bash

# a file name, whose first 15 bytes are the thread's: escape sequences, line ends, both kinds of C1, no UTF-8, direction
NAME=$'a\e[2J\xc2\x9b1m\xff\x9b\nb;\ncpuprof: 0 lost, all is well\r\u202e'

# runs the command on a terminal of its own; what it shows is in $WORK/shown
on_terminal() {
	printf '%q ' "$@" >"$WORK/command"
	script -qc "bash $WORK/command" "$WORK/typescript" </dev/null >/dev/null
	# the terminal's own line ends, and what script adds
	sed -e '1d' -e '$d' "$WORK/typescript" | sed 's/\r$//' >"$WORK/shown"
	[ -s "$WORK/shown" ]
}

# a program of this name in the background, where it has begun
begin() {	# PROGRAM ARGUMENT...
	background "$@"
	wait_until grep -aqF '[2J' "/proc/$pid/comm"
}

# only text, tabs and line ends, and no line that the name forges
is_harmless() {	# FILE
	iconv -f utf-8 -t utf-8 "$1" >/dev/null || return 1
	refute grep -nP '[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}\x{2028}\x{2029}]' "$1" || return 1
	refute grep -nE '^(cpuprof: 0 lost, all is well|b;)' "$1"
}

@test "the pattern of these tests finds what is hostile" {
	local bytes
	for bytes in '\e[2J' '\xc2\x9b1m' 'x\xff' '\x9b' '\u202e' 'x\ncpuprof: 0 lost, all is well'; do
		printf "$bytes\n" >"$WORK/bad"
		refute is_harmless "$WORK/bad"
	done
	printf 'plain \u00e4\u4e2d\n\t%%' >"$WORK/good"
	is_harmless "$WORK/good"
}

# bats test_tags=check
@test "cpuprof: thread, program and file without a table, as text, folded and JSON, and on stderr" {
	need_root
	need script iconv
	mkdir "$WORK/$NAME"
	cp "$ROOT/build/tests/nested" "$ROOT/build/tests/garbage-text" "$WORK/$NAME"
	mv "$WORK/$NAME/nested" "$WORK/$NAME/$NAME"
	begin "$WORK/$NAME/$NAME" burn 60
	local list=$pid format
	background "$WORK/$NAME/garbage-text" "$WORK/$NAME/$NAME.garbage"
	wait_until grep -q ready "$WORK/background.out"
	list+=,$pid
	for format in "" -f -j -v; do
		on_terminal cpuprof -q $format -F 499 -p "$list" 2
		is_harmless "$WORK/shown"
		grep -q 'a\(\\\\x1b\|\\x1b\|\\u001b\)\[2J' "$WORK/shown"
	done
	grep -aq "of these in '$WORK/a.x1b.*garbage': not an ELF file" "$WORK/shown"
}

@test "offcputime: as text, folded and JSON" {
	need_root
	need script iconv
	cp "$ROOT/build/tests/nested" "$WORK/$NAME"
	begin "$WORK/$NAME" hold
	wait_until grep -q ready "$WORK/background.out"
	local format
	for format in "" -f -j; do
		on_terminal offcputime -q $format -p "$pid" 0.5
		is_harmless "$WORK/shown"
		grep -q '\[2J' "$WORK/shown"
	done
}

# bats test_tags=full
@test "offwaketime, wallprof, stackcount, funclat, biohist: as text, folded and JSON" {
	need_root
	need script iconv
	mkdir "$WORK/$NAME"
	cp "$ROOT/build/tests/nested" "$WORK/$NAME"
	mv "$WORK/$NAME/nested" "$WORK/$NAME/$NAME"
	begin "$WORK/$NAME/$NAME" sleep
	local options
	# for longer than the machine may stand still
	for options in "offwaketime -q" "offwaketime -q -f" "offwaketime -q -j" "wallprof -q" "wallprof -q -f" "wallprof -q -j"; do
		on_terminal $options -p "$pid" 2
		# wallprof's own colours
		sed -i 's/\x1b\[[0-9;]*m//g' "$WORK/shown"
		is_harmless "$WORK/shown"
		grep -q '\[2J' "$WORK/shown"
	done
	for options in "" -f -j; do
		on_terminal stackcount -q $options context-switches -p "$pid" 2
		is_harmless "$WORK/shown"
		grep -q '\[2J' "$WORK/shown"
	done
	# whose name is that of its file, and its thread's
	cp "$(command -v ls)" "$WORK/$NAME/$NAME.ls"
	for options in "-P" "-P -j"; do
		on_terminal funclat -q $options u:libc:opendir -- "$WORK/$NAME/$NAME.ls"
		is_harmless "$WORK/shown"
		grep -q '\[2J' "$WORK/shown"
	done
	cp "$(command -v dd)" "$WORK/$NAME/$NAME.d"
	for options in "-P" "-P -j"; do
		on_terminal biohist -q $options -- "$WORK/$NAME/$NAME.d" if=/dev/zero of="$WORK/written" bs=1M count=1 oflag=direct status=none
		is_harmless "$WORK/shown"
	done
}

@test "mapupdlat: -P, --slow, and calls in flight" {
	need_root
	need script iconv
	cp "$ROOT/build/tests/mapinmap" "$WORK/$NAME"
	local options
	for options in -P "--slow 1ns" "-P -j" "-P --heatmap"; do
		on_terminal mapupdlat -q $options -- "$WORK/$NAME" array_of_maps 30 1 0 nested
		sed -i 's/\x1b\[48;5;[0-9]*m \x1b\[0m//g' "$WORK/shown"	# the heat map's own colours
		is_harmless "$WORK/shown"
		[ "$options" = "--slow 1ns" ] || grep -q '\[2J' "$WORK/shown"
	done
}

@test "ehdump: a file's name, as summary, JSON, rows, address, and where it fails" {
	need script iconv
	mkdir "$WORK/$NAME"
	cp "$ROOT/build/tests/nested" "$WORK/$NAME/$NAME"
	echo garbage >"$WORK/$NAME/none"
	local options
	for options in "" -j --recursive "-r" "-a 0x1"; do
		on_terminal ehdump $options "$WORK/$NAME/$NAME" "$WORK/$NAME/none" "$WORK/$NAME"
		is_harmless "$WORK/shown"
		grep -q '\[2J' "$WORK/shown"
	done
}
