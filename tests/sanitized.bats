#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The tools, built with AddressSanitizer: long runs in short, with many owners, short lives and little memory.
# bats file_tags=full

load lib.bash

setup_file() {
	[ -z "${SANITIZED:-}" ] || return 0	# built already
	export SANITIZED=$BATS_FILE_TMPDIR/sources
	mkdir -p "$SANITIZED"
	tar -C "$BATS_TEST_DIRNAME/.." --exclude=./build --exclude=./.git -cf - . | tar -C "$SANITIZED" -xf -
	env -u MAKEFLAGS -u MAKELEVEL make -s -j2 -C "$SANITIZED" CFLAGS='-g -O1 -fsanitize=address,undefined -fno-omit-frame-pointer' \
		LDFLAGS=-fsanitize=address,undefined all >&2
}

# what the sanitizers find is written to $WORK
sanitized() {	# TOOL
	echo "env ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:log_path=$WORK/found" \
		"UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:log_path=$WORK/found $SANITIZED/build/$1"
}

teardown() {
	tmux -S "$WORK/socket" kill-server 2>/dev/null || true
	end_children
	rm -rf "$WORK"
}

found_nothing() {
	local log
	for log in "$WORK"/found.*; do
		[ -e "$log" ] || return 0
		sed -n 1,30p "$log"
		return 1
	done
}

# processes of three owners that have files, and code in no file, of their own, and end while they are measured
busy_owners() {
	local owner
	chmod 755 "$WORK"
	for owner in 12345 65533 65534; do
		install -D -m 755 -o $owner "$ROOT/build/tests/nested" "$WORK/$owner/nested"
		install -D -m 755 -o $owner "$ROOT/build/tests/jits" "$WORK/$owner/jits"
		(while :; do
			timeout 2 setpriv --reuid=$owner --regid=$owner --clear-groups "$WORK/$owner/jits" map
			timeout 3 setpriv --reuid=$owner --regid=$owner --clear-groups "$WORK/$owner/nested" burn 2
			python3 -c 'import json; json.dumps(list(range(10000)))'
		done) >/dev/null 2>&1 3>&- &
		pids+=($!)
	done
}

@test "AddressSanitizer: reports every half second, in all formats: nothing is found" {
	need_root
	need setpriv python3
	busy_owners
	local tool name
	for tool in cpuprof offcputime offwaketime; do
		for name in out.jsonl out.folded out.html out.pb.gz; do
			echo "$tool $name"
			timeout -s KILL 120 $(sanitized $tool) -q --max-memory 64 --every 0.5 -d 4 -l -o "$WORK/%d-$name" 2>"$WORK/err" ||
				{ sed -n 1,30p "$WORK/err"; found_nothing; false; }
			found_nothing
			rm -f "$WORK"/*-"$name"
		done
	done
}

@test "AddressSanitizer: --live, with keys at random, in little memory: nothing is found" {
	need_root
	need setpriv tmux
	busy_owners
	local tool i keys=(f t l u P i s w p 5 Enter Escape Up Down Left Right BSpace Tab '&' '/' n N a Enter + - '<' '>' Space '[' ']' r '?' o)
	for tool in cpuprof offcputime offwaketime wallprof stackcount; do
		tmux -S "$WORK/socket" -f /dev/null new-session -d -x 100 -y 30 \
			"$(sanitized $tool) --live --max-memory 64 $([ "$tool" != stackcount ] || echo t:sched:sched_switch); echo \$? >'$WORK/status'"
		wait_until eval 'tmux -S "$WORK/socket" capture-pane -p | grep -q complete'
		for i in $(seq 100); do
			tmux -S "$WORK/socket" send-keys "${keys[$((RANDOM % ${#keys[@]}))]}"
			sleep 0.1
			[ ! -e "$WORK/status" ] || break
		done
		echo "$tool, after $i keys"
		found_nothing
		[ ! -e "$WORK/status" ]
		tmux -S "$WORK/socket" send-keys Escape Escape q
		wait_until [ -e "$WORK/status" ]
		[ "$(cat "$WORK/status")" = 0 ]
		found_nothing
		rm -f "$WORK/status"
	done
}
