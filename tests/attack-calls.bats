#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# More calls than the suite has time for.
# bats file_tags=full,alone

load lib.bash

@test "funclat: ten million calls of 8 threads, with recursion and longjmp: none is lost, none paired with another's entry" {
	need_root
	mkfifo "$WORK/feed"
	calls mixed 240000 8 <"$WORK/feed" >"$WORK/calls" 3>&- &
	local calls=$! function
	pids+=("$calls")
	exec 8>"$WORK/feed"
	wait_until grep -q recurses "$WORK/calls"
	function=$(grep -o 'recurses 0x[0-9a-f]*' "$WORK/calls" | awk '{ print $2 }')
	rm -f "$WORK/err"
	funclat -j -p "$calls" "u:$ROOT/build/tests/calls+$function" >"$WORK/out" 2>"$WORK/err" 3>&- 8>&- &
	local tool=$! returned left
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	echo >&8
	timeout 400 bash -c 'until grep -q done "$1"; do sleep 0.5; done' bash "$WORK/calls"
	kill -INT "$tool"
	wait "$tool"
	exec 8>&-
	cat "$WORK/err"
	read -r returned left < <(awk '/^returned/ { print $2, $4 }' "$WORK/calls")
	echo "returned $returned, left $left"
	expect "$returned + $left >= 10000000"
	jq -c 'select(.type == "histogram") | [.count, .total_ns, .blocked_ns, .max_ns]' "$WORK/out"
	[ "$(jq 'select(.type == "histogram").count' "$WORK/out")" -eq "$returned" ]
	[ "$(summary .never_returned)" -eq "$left" ]
	[ "$(summary '.lost + .in_flight + .begun_before + .died')" -eq 0 ]
	# No call sleeps, but the threads do, between a call that is left and the next one at its place: 60,000 times 0.1 ms
	expect "$(jq 'select(.type == "histogram").blocked_ns' "$WORK/out") <= 0.01 * 60000 * 100000"
}
