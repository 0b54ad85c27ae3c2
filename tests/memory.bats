#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The limit of what following processes takes of memory. What exhausts it is in attack-memory.bats.

load lib

@test "--max-memory wants a number, or two" {
	for wrong in 0 x 63 100, 100,x ,100; do
		run cpuprof --max-memory "$wrong" 1
		[ "$status" -eq 2 ]
		[[ "$output" == *"numbers of MB"* ]]
	done
}

# bats test_tags=full
@test "reports at intervals: stacks that were forgotten in between come again, whole, and no sample is missing" {
	need_root
	need jq
	cpuprof -q -j -F 499 --every 0.2 -o "$WORK/out" -- bash -c 'for i in 1 2 3; do nested burn 0.3; sleep 1; done' 2>/dev/null
	jq -se '(map(select(.type == "stack") | .count) | add) == (map(select(.type == "summary") | .samples) | add)' "$WORK/out"
	# the program's main(), its functions, and who calls it; its first instructions have fewer callers
	jq -se '[.[] | select(.type == "stack" and .comm == "nested" and .ended_by == "complete")]
		| (map(.count) | add) > 30 and (map(select(.user | length >= 4).count) | add) >= 0.9 * (map(.count) | add)' "$WORK/out"
}

# threads of which each has 20 waits of 0.3 ms in stacks that no other has, so many in all
make_short_threads() {
	cat >"$WORK/short-threads.c" <<-'C'
		#include <pthread.h>
		#include <stdint.h>
		#include <stdlib.h>
		#include <unistd.h>
		static int left(uint64_t way, int depth);
		static int wait(uint64_t way, int depth);
		__attribute__((noipa)) static int right(uint64_t way, int depth) { return 1 + wait(way, depth); }
		__attribute__((noipa)) static int left(uint64_t way, int depth) { return 2 + wait(way, depth); }
		__attribute__((noipa)) static int wait(uint64_t way, int depth)
		{
			return depth ? 3 + (way & 1 ? left : right)(way >> 1, depth - 1) : usleep(300);
		}
		static void *run(void *arg)
		{
			static uint64_t way = 88172645463325252;
			for (int i = 0; i < 20; i++) {
				way ^= way << 13, way ^= way >> 7, way ^= way << 17;
				wait(way, 60);
			}
			return arg;
		}
		int main(int argc, char **argv)
		{
			for (int n = 0; n < atoi(argv[1]); n += 20) {
				pthread_t thread;
				if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
					return 1;
			}
			return 0;
		}
	C
	gcc -O1 -fno-optimize-sibling-calls -pthread -o "$WORK/short-threads" "$WORK/short-threads.c"
}

# bats test_tags=full,alone
@test "reports at intervals, of waits: stacks and wakers that nothing names any more make room for others" {
	need_root
	need jq gcc
	make_short_threads
	local tool
	for tool in offcputime offwaketime; do
		background $tool -q --every 0.5 -j --max-memory 512,64 -o "$WORK/$tool" -- "$WORK/short-threads" 36000
	done 2>"$WORK/err"
	for tool in "${pids[@]}"; do wait "$tool"; done
	for tool in offcputime offwaketime; do
		jq -sc '[.[] | select(.type == "stack")] | [(map(.count) | add), (map(select(.ended_by == "complete").count) | add)]' "$WORK/$tool"
		# on a busy machine an interval is long, and its stacks may be more than there is room for; if all stayed, a quarter had room
		jq -se '[.[] | select(.type == "stack")] | (map(.count) | add) >= 36000 and
			(map(select(.ended_by == "complete").count) | add) > 0.5 * (map(.count) | add)' "$WORK/$tool"
	done
}

# a program whose function step() is called in 6,000 stacks of up to 1,024 frames, when its input ends
make_depths() {
	cat >"$WORK/depths.c" <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) int step(int n) { return n; }
		__attribute__((noipa)) int down(int n) { step(n); return n ? down(n - 1) + 1 : 0; }
		int main(void) { char byte; while (read(0, &byte, 1) > 0) { } return down(5999) != 5999; }
	C
	gcc -O1 -fno-optimize-sibling-calls -o "$WORK/depths" "$WORK/depths.c"
}

@test "stacks that there is no room for in user space: each event is counted, by its thread, and this is said" {
	need_root
	need gcc
	make_depths
	# what does not fit into the kernel's map comes at once
	stackcount -j --max-report 10 --max-memory 64 --max-stacks 16 "u:$WORK/depths:step" -- "$WORK/depths" </dev/null >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/err"
	[ "$(summary '.samples + .lost')" -eq 6000 ]
	[ "$(summary .lost_no_room)" -eq 0 ]
	jq -se '[.[] | select(.type == "stack")] | map(select(.user[0].symbol == "[stacks of uid 0: no room]")) as $sums |
		(map(.count) | add) == 6000 and ($sums | length) < 10 and ($sums | map(.count) | add) > 100' "$WORK/out"
	grep -q 'no room for more stacks of uid 0: their values are summed up by thread, see --max-memory' "$WORK/err"
}

@test "stacks that there is no room for in the ring buffer: their frames are lost, which is said, and no event is" {
	need_root
	need gcc
	make_depths
	mkfifo "$WORK/feed"
	local depths tool
	"$WORK/depths" <"$WORK/feed" 3>&- &
	depths=$!
	pids+=("$depths")
	exec 8>"$WORK/feed"
	wait_until is_sleeping "$depths"
	stackcount -j --max-report 1 -p "$depths" "u:$WORK/depths:step" >"$WORK/out" 2>"$WORK/err" 3>&- 8>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	# while nobody takes what the kernel sends, which is 24 MB
	kill -STOP "$tool"
	exec 8>&-
	wait "$depths"
	kill -CONT "$tool"
	wait "$tool"
	cat "$WORK/err"
	[ "$(summary '.samples + .lost')" -eq 6000 ]
	expect "$(summary .stacks_lost) > 100"
	# the kernel counts what it could not send, user space what it has no frames of
	[ "$(summary .ended.lost)" -eq "$(summary .stacks_lost)" ]
}

# a key that finds no room in the kernel's map would be a new one with each event: without end, in a timeline that keeps them all
# bats test_tags=full
@test "wallprof: a user whose threads give themselves names without end has its part of the keys, and others' waits have their stacks" {
	need_root
	need perl setpriv
	background waits nanosleep 100000 1
	local victim=$pid tool
	background setpriv --reuid=65534 --regid=65534 --clear-groups perl -e 'for ($n = 0; ; $n++) { $0 = "n$n"; select undef, undef, undef, 1e-6 }'
	local renamed=$pid
	wallprof -p "$victim,$renamed" --stack-storage-size 1024 -j -o "$WORK/out.jsonl" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	sleep 3
	kill -INT "$tool"
	wait "$tool"
	mv "$WORK/out.jsonl" "$WORK/out"
	cat "$WORK/err"
	grep -q 'no room for more stacks of uid 65534: ' "$WORK/err"
	jq -r 'select(.type == "stack") | .pid' "$WORK/out" | sort | uniq -c
	# a quarter of 4 x 1,024
	expect "$(jq -n --argjson pid "$renamed" '[inputs | select(.type == "stack" and .pid == $pid)] | length' "$WORK/out") <= 1024"
	expect "$(jq -n --argjson pid "$renamed" '[inputs | select(.type == "period" and .pid == $pid)] | length' "$WORK/out") > 2000"
	jq -n --argjson pid "$victim" '[inputs | select(.type == "period" and .pid == $pid and .state == "blocked") | .stack != null] | length > 500 and (map(select(.)) | length) > 0.97 * length' "$WORK/out" | grep -qx true
}

@test "--max-memory: no process that reads files or names may have more" {
	need_root
	local tool worker most=0 nr=0 limit
	cp "$ROOT/build/tests/nested" "$WORK/new"	# a file of this hour: its names are read while it is measured
	background "$WORK/new" burn 60
	cpuprof -q -j --max-memory 64 -o "$WORK/out" 2 3>&- &
	tool=$!
	pids+=("$tool")
	while kill -0 "$tool" 2>/dev/null; do
		for worker in $(cat "/proc/$tool/task"/*/children 2>/dev/null || true); do
			[ "$(cat "/proc/$worker/comm" 2>/dev/null || true)" = ehperf-worker ] || continue
			limit=$(awk '/^Max data size/ { print $4 }' "/proc/$worker/limits" 2>/dev/null || true)
			[ -n "$limit" ] || continue
			nr=$((nr + 1))
			[ "$limit" = unlimited ] || [ "$limit" -lt "$most" ] || most=$limit
		done
		sleep 0.05
	done
	wait "$tool"
	echo "# $nr looks at workers, at most $((most >> 20)) MiB" >&3
	[ "$nr" -gt 10 ]
	# with what a worker has when it begins
	[ "$most" -lt $((96 << 20)) ]
}
