#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Waits of idle threads: the oracle is the program, which says of each thread whether it waits for work or for something else.

load lib.bash

# the workload, with another process, so that neither is the one that was asked for
start() {	# [all]
	background idle "$@"
	wait_until grep -q ready "$WORK/background.out"
	program=$pid
	cp "$WORK/background.out" "$WORK/said"
	background sleep 1000
	both=$program,$pid
}

# the threads that say this of themselves
who() {	# idle|waits
	awk -v what="$1" '$2 == what { print $1 }' "$WORK/said" | sort
}

# Tools measure side by side, for they mostly sleep: begin NAME starts one, finish NAME waits for it and takes its output.
declare -gA measuring
begin() {	# NAME TOOL ARG...
	"${@:2}" 1.5 >"$WORK/out.$1" 2>"$WORK/err.$1" 3>&- &
	measuring[$1]=$!
	pids+=("$!")
}
finish() {	# NAME
	wait "${measuring[$1]}"
	cp "$WORK/out.$1" "$WORK/out"
	cp "$WORK/err.$1" "$WORK/err"
	cat "$WORK/err"
}

# the threads of $WORK/out's stacks with and without "idle"; of wallprof's JSON, those of the periods in such stacks
marked() {	# true|null
	jq -rn "[inputs] | (map(select(.type == \"stacks\" and .idle == $1).id)) as \$ids |
		map(select((.type == \"stack\" and .idle == $1) or (.type == \"period\" and .state == \"blocked\" and (.stack | IN(\$ids[])))).tid) |
		unique[]" "$WORK/out" | sort
}

@test "who waits for work is idle; who waits for a lock, a disk, a peer, a time, or in the midst of work is not" {
	need_root
	local tool
	start
	for tool in offcputime offwaketime wallprof; do
		begin $tool $tool -j -p "$both"
	done
	for tool in offcputime offwaketime wallprof; do
		finish $tool
		diff <(who idle) <(marked true)
		diff <(who waits) <(marked null | grep -vx "$pid")
		[ "$(summary .idle_threads)" = "$(who idle | wc -l)" ]
		grep -q "^$tool: idle: $(who idle | wc -l) threads, .* s (--idle shows them)$" "$WORK/err"
		valid_json "$WORK/out"
		jq -r 'select(.type == "stack") | .value_ns' "$WORK/out" >"$WORK/values"	# the idle ones in their places
		sort -rnc "$WORK/values"
	done
}

@test "what is shown and the idle line are the whole; --idle shows the whole" {
	need_root
	start
	local tool
	for tool in offcputime offwaketime wallprof; do
		begin $tool $tool -f -p "$both"
		begin $tool-idle $tool -f --idle -p "$both"
	done
	for tool in offcputime offwaketime wallprof; do
		finish $tool-idle
		grep -q accept "$WORK/out"
		refute grep -q "^$tool: idle: " "$WORK/err"
		finish $tool
		refute grep -q accept "$WORK/out"
		grep -q "^$tool: idle: " "$WORK/err"
		[ $tool != wallprof ] || continue
		# "blocked for 51.032 s and waiting to run for 0.006 s", which offwaketime does not count; "idle: 4 threads, 12.010 s".
		# Each line is rounded to 1 us.
		awk -v tool="$tool" '/blocked for/ { sub(/.*blocked for /, ""); all = $1; sub(/.*waiting to run for /, ""); all += tool == "offcputime" ? $1 : 0 }
			$0 ~ "^" tool ": idle: " { idle = $5 } END { print all, idle }' "$WORK/err" >"$WORK/sums"
		awk -v lines="$(wc -l <"$WORK/out")" 'NR == FNR { all = $1; idle = $2; next } { shown += $NF / 1e6 }
			END { d = all - idle - shown; print all, idle, shown; exit !(idle > 0 && d * d < (0.002 + lines / 1e6) ^ 2) }' "$WORK/sums" "$WORK/out"
	done
	begin text wallprof -p "$both"
	begin text-idle wallprof --idle -p "$both"
	finish text
	refute grep -q accept "$WORK/out"
	grep -q "^and $(who idle | wc -l) threads that were idle" "$WORK/out"
	finish text-idle
	grep -q accept "$WORK/out"
	refute grep -q 'were idle' "$WORK/out"
}

# bats test_tags=full
@test "never idle: the threads of -t, the main thread of -p's process or of a command, all of them if there are no others" {
	need_root
	start all
	local tid
	tid=$(who idle | grep -vx "$program" | head -n 1)
	begin both offcputime -j -p "$both"
	begin asked offcputime -j -t "$tid,$pid"
	begin all offcputime -j -p "$program"
	begin wall wallprof -j -p "$program"
	finish both
	diff <(who idle) <(marked true)
	finish asked
	[ -z "$(marked true)" ]
	grep -qx "$tid" <(marked null)
	for tid in all wall; do
		finish $tid
		[ -z "$(marked true)" ]
		diff <(who idle) <(marked null)
		refute grep -q 'idle: ' "$WORK/err"
	done
	# the command's main thread; its others are idle, unless the machine takes 0.2 s to start it
	offcputime -j -o "$WORK/out.jsonl" --kill 3 -- bash -c 'sleep 10 <&- >&- 2>&- & exec idle all' >"$WORK/said" 2>"$WORK/err" || true
	mv "$WORK/out.jsonl" "$WORK/out"
	program=$(awk '$3 == "main" { print $1 }' "$WORK/said")
	refute grep -qx "$program" <(marked true)
	grep -qx "$program" <(marked null)
}

# bats test_tags=full
@test "a short measurement, and each interval: only who was idle in all of it" {
	need_root
	start
	offcputime -j -p "$both" 0.5 >"$WORK/short" 2>"$WORK/err"
	offcputime -j -p "$both" --every 1.2 --duration 2.6 >"$WORK/out" 2>"$WORK/err"
	diff <(who idle) <(marked true)
	# by how long the reports are by their own account
	[ "$(jq -n '[inputs | select(.type == "summary")] | length' "$WORK/short" "$WORK/out")" -ge 3 ]
	jq -en --argjson idle "$(who idle | wc -l)" '[inputs | select(.type == "summary")] |
		all(.idle_threads == if .seconds >= 1 then $idle else null end)' "$WORK/short" "$WORK/out"
}

# bats test_tags=full
@test "a recording: what is made of it leaves idle waits out as the tool does, and has them with --idle" {
	need_root
	start
	local tool format
	for tool in offcputime wallprof; do
		begin $tool $tool -o "$WORK/$tool.jsonl" -o "$WORK/$tool.txt" -o "$WORK/$tool.folded" -o "$WORK/$tool.html" -p "$both"
	done
	for tool in offcputime wallprof; do
		finish $tool
		for format in txt folded html; do
			flame -o "$WORK/made.$format" "$WORK/$tool.jsonl" 2>"$WORK/err.flame"
			diff <(sed "s/^$tool: //" "$WORK/err" | grep '^idle: ') <(sed 's/^flame: //' "$WORK/err.flame")
			cmp "$WORK/made.$format" "$WORK/$tool.$format"
		done
		refute grep -q accept "$WORK/made.folded"
		flame --idle -o "$WORK/made.folded" "$WORK/$tool.jsonl"
		grep -q accept "$WORK/made.folded"
	done
}
