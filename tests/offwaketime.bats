#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load lib.bash
. "$BATS_TEST_DIRNAME/workloads/servers.bash"

measure() {	# ARG...: offwaketime's
	offwaketime -q -j -o "$WORK/out.json" "$@" >"$WORK/command.out" 2>"$WORK/err"
	mv "$WORK/out.json" "$WORK/out"
}

stacks() {	# FILTER, of all stacks in $WORK/out, as one array
	jq -r -n "[inputs | select(.type == \"stack\")] | $1" "$WORK/out"
}

# bats test_tags=check
@test "wrong arguments: one clear line, exit 2; the options of --help are those of the man page" {
	while IFS='|' read -r arguments pattern; do
		run offwaketime $arguments
		[ "$status" -eq 2 ]
		[[ "${lines[0]}" =~ $pattern ]]
	done <<-'EOF'
		-p , 1|not a list of process IDs, or names of 1 to 15 bytes: ','
		-p 0 1|not a process ID: '0'
		-m 2ms -M 1ms 1|-m is more than -M
		--state Q 1|not states
		--time all 1|unrecognized option
	EOF
	options_agree offwaketime
	refuses_without_root offwaketime
}

# Measures a ring that begins when the tool is ready: it is over before a tool that gets no CPU has seen its mappings
measure_ring() {	# ARG...: ring's
	local tool
	rm -f "$WORK/err" "$WORK/go" "$WORK/command.out"
	mkfifo "$WORK/go"
	HOLD=1 ring "$@" <"$WORK/go" >"$WORK/command.out" 3>&- &
	pid=$!
	pids+=("$pid")
	exec 4>"$WORK/go"
	rm -f "$WORK/err"
	offwaketime -j -p "$pid" -o "$WORK/out" 2>"$WORK/err" 3>&- 4>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	echo >&4
	exec 4>&-
	wait "$pid"
	wait "$tool"	# which ends with the process
}

# Of the waits in $WORK/out, but for each thread's first: as many as the kernel counts switches of the ring's threads of their
# own accord (who finds the token there already does not wait), though a kernel was seen that does not report the switches from one
# CPU's idle task. Each wait was ended by the predecessor, whose stack is whole and leads to where it hands on the token
ring_agrees() {	# PATTERN, of a kernel function in the waker's stack
	local tid before came switches all right whole missing=0 lost
	while read -r tid before came switches _; do
		read -r all right whole < <(stacks "map(select(.tid == $tid)) |
			[(map(.count) | add), (map(select(.waker.tid == $before) | .count) | add // 0),
			 (map(select(.waker.tid == $before and .waker.ended_by == \"complete\" and (.waker.kernel | any(.symbol // \"\" | test(\"$1\"))) and
				([.waker.user[] | select(.module // \"\" | endswith(\"/ring\"))] | length) >= 2) | .count) | add // 0)] | @tsv")
		echo "# $tid after $before: $all waits, $right ended by it, $whole in its whole stack; the token came $came times, it left the CPU $switches times" >&3
		# another thread starts it, and hands it the first token
		expect "$right >= $all - 3 && $right <= $came + 1 && $whole >= 0.99 * $right && $all <= $switches + 5"
		((all >= switches)) || missing=$((missing + switches - all))
	done <"$WORK/command.out"
	lost=$(summary .lost)
	echo "# $missing waits missing, $lost lost" >&3
	expect "$missing <= $lost + 5 && $lost <= 5 && $lost == $(summary .lost_unseen)"
}

# bats test_tags=check
@test "--every: a wait goes on over the intervals, without a waker until it is woken; then it counts" {
	need_root
	local began=$EPOCHREALTIME took
	# it is woken in the midst of an interval: between its wake-up and its run, an open wait has its waker
	measure --every 0.5 -- sh -c 'sleep 2.25 | cat'
	took=$(awk "BEGIN { print ($EPOCHREALTIME - $began) * 1e9 }")
	local -r waits='map(select(.comm == "cat" and .state == "S" and (.kernel | any(.symbol // "" | test("pipe_read")))))'
	stacks "$waits | .[] | [.blocked_ns, .count, (.open // false), (.waker.comm // \"-\")] | @tsv" | tee "$WORK/waits"
	# the last part may be any of them: most of the time is in the others
	awk -v took="$took" '{ sum += $1; count += $2 } $3 == "true" { open++; bad += $4 != "-" || $2 } $3 == "false" && $4 != "sleep" { bad = 1 }
		END { print "# " sum / 1e9 " of " took / 1e9 " s, " open " open"; exit bad || !(count == 1 && open >= 2 && sum > 1e9 && sum <= took) }' "$WORK/waits" >&3
}

# The scheduler moves sleeping threads that it still has in a queue to the other CPU, and its statistics say then that they wait
# bats test_tags=full
@test "--every: a thread that nobody has woken waits for no CPU, though others take them all" {
	need_root
	background waits threads 40 300
	local program=$pid
	for _ in 1 2 3; do
		background waits preempt
	done
	measure --every 0.2 -p "$program" 20
	stacks 'map(select(.open and .state == "S" and .waker == null)) | .[] | [.tid, .blocked_ns, .waiting_ns] | @tsv' |
		awk '{ n++ } $3 > 1e8 { late++; if (late < 5) print } END { print "# " n " parts of sleeps, waiting: " late + 0; exit !(n > 500 && !late) }' >&3
}

@test "every wait of a ring was ended by the thread before, in its whole stack, whatever they wait by" {
	need_root
	local kind
	for kind in futex:futex_wake pipe:pipe_write cond:futex_wake; do
		measure_ring "${kind%:*}" 5 400
		ring_agrees "${kind#*:}"
	done
}

@test "through a TCP connection to the same machine, the waker is who sends, not an interrupt" {
	need_root
	measure_ring tcp 4 300
	ring_agrees tcp_sendmsg
}

@test "a timer wakes from an interrupt: it is named so, without user frames or whom it has interrupted" {
	need_root
	measure -- waits nanosleep 30 5
	[ "$(stacks 'map(select(.kernel | any(.symbol // "" | test("nanosleep"))) | .count) | add')" -ge 25 ]
	expect "$(stacks 'map(select((.kernel | any(.symbol // "" | test("nanosleep"))) and .waker.interrupt and
		(.waker.kernel | any(.symbol == "hrtimer_wakeup")) and (.waker.kernel[-1].symbol | test("^asm_")) and
		.waker.user == [] and .waker.pid == 0) | .count) | add') >= 25"
	# without kernel stacks, too
	measure -U -- waits nanosleep 30 5
	expect "$(stacks 'map(select(.waker.interrupt and .waker.user == [] and .waker.kernel == []) | .count) | add') >= 25"
	# a program that the timer interrupts has woken nobody. The ring comes first, because stacks of threads that wake are
	# what the kernel's are learnt from.
	background taskset -c 0 nested burn 60
	local burner=$pid
	measure -- sh -c 'ring futex 3 200; exec taskset -c 0 waits nanosleep 400 1'
	expect "$(stacks 'map(select(.waker.interrupt) | .count) | add') >= 300"
	[ "$(stacks "map(select(.waker.tid == $burner)) | length")" -eq 0 ]
}

# bats test_tags=full
@test "wakers are named though only another process is measured, and those that nobody wakes are open" {
	need_root
	need perl
	mkfifo "$WORK/fifo"
	background perl -e 'open F, "<", $ARGV[0]; while (sysread F, $b, 1) { }' "$WORK/fifo"
	local reader=$pid
	background perl -e 'open F, ">", $ARGV[0]; while (1) { syswrite F, "x"; select undef, undef, undef, 0.01 }' "$WORK/fifo"
	local writer=$pid
	background sleep 1000
	wait_until is_sleeping "$pid"
	measure -p "$reader,$pid" 1
	expect "$(stacks "map(select(.waker.tid == $writer and .waker.comm == \"perl\" and .waker.ended_by == \"complete\") | .count) | add") >= \
		0.9 * $(stacks "map(select(.tid == $reader) | .count) | add") - 2"
	expect "$(stacks "map(select(.waker.tid == $writer) | .count) | add") >= 5"
	[ "$(stacks "map(select(.tid == $pid)) | map(\"\(.open) \(.waker)\")[]")" = 'true null' ]
}

@test "the start's line, JSON as the schema has it, -v" {
	need_root
	says_when_it_begins "Measuring time off the CPU, for 0.2 s" offwaketime 0.2
	is_terse offwaketime -p $$ 0.2
	measure -- ring futex 3 100
	valid_json
	[ "$(jq -c 'select(.type == "start").filters' "$WORK/out")" = '{"part":"blocked"}' ]
	expect "$(stacks 'map(select(.waker.user | length > 0)) | length') > 0"
}

@test "text and folded: the waker upside down on what it wakes; hostile names escaped" {
	need_root
	need perl
	cat >"$WORK/hostile" <<-'EOF'
		pipe R, W; pipe S, X;
		if (!fork) { close R; close X; $0 = "a;b\e[2J\n"; syswrite W, "x" while sysread S, $b, 1; exit }
		close W; close S; $0 = "waiter";
		for (1..3000) { syswrite X, "x"; sysread R, $b, 1 }
	EOF
	offwaketime -q -f -- perl "$WORK/hostile" >"$WORK/folded" 2>/dev/null
	grep -qE '^waiter;_start;.*;(anon_)?pipe_read;.*;__schedule;--;try_to_wake_up;.*;(anon_)?pipe_write;.*;_start;a\\x3bb\\x1b\[2J\\x0a [0-9]+$' "$WORK/folded" ||
		{ cat "$WORK/folded"; false; }
	offwaketime -q -- perl "$WORK/hostile" >"$WORK/text" 2>/dev/null
	awk 'BEGIN { RS = "" } /    waker: +a.*_start.*try_to_wake_up\n    --\n    __schedule.*_start\n    - +waiter \([0-9]+\)/ { n++ } END { exit !n }' "$WORK/text"
	refute grep -q $'\e' "$WORK/text" "$WORK/folded"
}

@test "-i: functions inlined into the waker's, in the order of their calls, in text and folded" {
	need_root
	need gcc
	cat >"$WORK/wakes.c" <<-'C'
		#include <unistd.h>
		#define INLINED static inline __attribute__((always_inline)) void
		INLINED innermost(int fd) { if (write(fd, "x", 1)) usleep(1000); }
		INLINED between(int fd) { innermost(fd); }
		int main(void)
		{
			int fds[2];
			char byte;
			if (pipe(fds)) return 1;
			if (!fork()) { for (int i = 0; i < 300; i++) { between(fds[1]); } return 0; }
			close(fds[1]);
			while (read(fds[0], &byte, 1) == 1) { }
			return 0;
		}
	C
	gcc -g -O1 -o "$WORK/wakes" "$WORK/wakes.c"
	offwaketime -q -i -f -o "$WORK/x.folded" -- "$WORK/wakes"
	grep -qE '^wakes;.*;--;try_to_wake_up;.*;innermost_\[i\];between_\[i\];main;.*;_start;wakes [0-9]+$' "$WORK/x.folded" || { cat "$WORK/x.folded"; false; }
	# in text the waker comes first, its leaf last
	offwaketime -q -i --top=all -o "$WORK/x.txt" -- "$WORK/wakes"
	grep -A 4 -E '^    waker: +wakes' "$WORK/x.txt"
	awk 'BEGIN { RS = "" } /    waker: +wakes.*\n    main\n    between_\[i\]\n    innermost_\[i\]\n.*\n    --\n/ { n++ } END { exit !n }' "$WORK/x.txt"
}
