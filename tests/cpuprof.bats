#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

bats_require_minimum_version 1.5.0
load lib.bash
. "$BATS_TEST_DIRNAME/workloads/real.bash"

# ---- wrong arguments ----


# bats test_tags=check
@test "wrong arguments: one clear line, exit 2" {
	while IFS='|' read -r arguments pattern; do
		run cpuprof $arguments
		echo "cpuprof $arguments: $status: $output"
		[ "$status" -eq 2 ]
		[[ "${lines[0]}" =~ $pattern ]]
	done <<-'EOF'
		-p , 1|not a list of process IDs, or names of 1 to 15 bytes: ','
		-p 0 1|not a process ID: '0'
		-p 1, 1|not a list of process IDs, or names of 1 to 15 bytes: '1,'
		-p sixteen-letters- 1|not a list of process IDs, or names of 1 to 15 bytes: 'sixteen-letters-'
		-t 0 1|not a list of thread IDs: '0'
		-F 0 1|not a frequency
		-F 1e9 1|not a frequency
		-c 0 1|not a time of 50 microseconds or more
		-c 9us 1|not a time of 50 microseconds or more
		--output-fd 2 1|not a file descriptor for output
		--output-fd 1 -o x.txt 1|-o and --output-fd exclude each other
		--kill 1|--kill needs a command
		-C 1-0 1|not a list of CPUs
		-C x 1|not a list of CPUs
		-o stacks.doc 1|must end in
		-f -o stacks.txt 1|different formats
		-f -j 1|different formats
		--max-depth 0 1|not a number of frames
		-u -k 1|exclude each other
		-U -K 1|exclude each other
		-F 9 -c 1ms 1|either -F or -c
		-I -u 1|which -p, -t, -u and a command leave out
		-I -p 1 1|which -p, -t, -u and a command leave out
		-I -t 1 1|which -p, -t, -u and a command leave out
		-I -- true|which -p, -t, -u and a command leave out
		--top 3 -o x.svg 1|--top is for text, folded and JSON
		--top all -o x.pb.gz 1|--top is for text, folded and JSON
		--sort x 1|not self or total: 'x'
		--sort self -f 1|--sort is for text
		--top 0 1|not a number of stacks, 1 or more, or all: '0'
		0|not a duration
		1x|not a duration
		1 2|one duration
		make|not a duration: 'make'; a command comes after --
		--|a command is missing
		-p 1 -- true|a command excludes -p and -t
		--nonsense|unrecognized option
	EOF
}

# bats test_tags=check
@test "a process that does not exist: one line, exit 1" {
	run cpuprof -p 4194305 1
	[ "$status" -eq 1 ]
	[ "$output" = "cpuprof: no process with PID 4194305" ]
	run cpuprof -t 4194305 1
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	local name
	for name in no-such-name 12x -3; do
		run cpuprof -p "$$,$name" 1
		[ "$status" -eq 1 ]
		[ "$output" = "cpuprof: no process has the name '$name'" ]
	done
}

@test "without root: the cause and what to do, exit 1" {
	refuses_without_root cpuprof
}

# bats test_tags=check
@test "a CPU that does not exist: one line, exit 1" {
	need_root
	cpuprof -q -C 0-63 0.1 >/dev/null	# some of them are there
	run cpuprof -C 4000 1
	[ "$status" -eq 1 ]
	[ "$output" = "cpuprof: none of these CPUs is online" ]
}

# bats test_tags=check
@test "the man page, --help and the parser agree on the options" {
	options_agree cpuprof
	run cpuprof -V
	[[ "$output" == "cpuprof (ehperf) "[0-9]* ]]
}

# ---- true stacks ----

# our most frequent user stack of $pid in $WORK/out that has eu-stack's leaf, as "MODULE OFFSET" lines
our_frames() {
	jq -r --arg leaf "$1" 'select(.type == "stack") |
		[.user[] | "\(.module // "-") \(.file_offset // .address)"] | select(.[0] == $leaf) | .[]' "$WORK/out" | head -n "$2"
}

same_as_eu_stack() {	# ARG...: cpuprof's; compares the stacks of $pid taken in its system call
	# its stack within its system call, not just before or after it: two equal ones in a row
	in_its_call() {
		eu_addresses "$pid" >"$WORK/once"
		[ "$(wc -l <"$WORK/once")" -ge 3 ] && eu_addresses "$pid" | cmp -s - "$WORK/once"
	}
	wait_until in_its_call
	normalise "$pid" <"$WORK/once" >"$WORK/theirs"
	measure_while_it_runs 50 cpuprof --no-runtimes -j -U -F 4999 "$@"
	our_frames "$(head -n 1 "$WORK/theirs")" "$(wc -l <"$WORK/theirs")" >"$WORK/ours"
	diff "$WORK/theirs" "$WORK/ours"
}

# bats test_tags=check
@test "nanosleep under ten functions without frame pointers: eu-stack's frames" {
	need_root
	need eu-stack gawk
	background nested sleep
	wait_until grep -q ready "$WORK/background.out"
	same_as_eu_stack -p "$pid"
	[ "$(wc -l <"$WORK/ours")" -ge 14 ]
}

@test "python3 in time.sleep: eu-stack's frames" {
	need_root
	need eu-stack gawk
	background /usr/bin/python3 -c 'import time
def nap():
    while True: time.sleep(0.00002)
nap()'
	wait_until is_sleeping "$pid"
	same_as_eu_stack -p "$pid"
}

@test "a thread: eu-stack's frames, down to clone3" {
	need_root
	need eu-stack gawk nm
	background nested thread
	wait_until grep -q ready "$WORK/background.out"
	local tid offset
	tid=$(ls "/proc/$pid/task" | grep -vx "$pid")
	eu-stack -r -p "$pid" 2>/dev/null | awk -v tid="TID $tid:" '$0 == tid { on = 1; next } /^TID/ { on = 0 } on && /^#/ { print $2 }' |
		normalise "$pid" >"$WORK/theirs"
	measure_while_it_runs 50 cpuprof -j -U -F 4999 -t "$tid"
	our_frames "$(head -n 1 "$WORK/theirs")" "$(wc -l <"$WORK/theirs")" >"$WORK/ours"
	diff "$WORK/theirs" "$WORK/ours"
	offset=$(tail -n 1 "$WORK/ours" | awk '{ print $2 }')
	expect "$offset > $(clone3_offset) && $offset < $(clone3_offset) + 100"
}

# bats test_tags=full
@test "a signal at a function's first instruction, below which another function's rule holds: eu-stack's frames" {
	need_root
	need gcc eu-stack gawk
	cat >"$WORK/faults.c" <<-'C'
		#include <signal.h>
		#include <unistd.h>
		asm(".type before, @function\n" "before: .cfi_startproc\n" "sub $56, %rsp\n" ".cfi_adjust_cfa_offset 56\n" "ud2\n" ".cfi_endproc\n"
		    ".type faults, @function\n" "faults: .cfi_startproc\n" "ud2\n" ".cfi_endproc\n");
		void faults(void);
		static void nap(int number) { for (;;) usleep(20); }
		int main(void) { signal(SIGILL, nap); faults(); return 0; }
	C
	gcc -O2 -o "$WORK/faults" "$WORK/faults.c"
	background "$WORK/faults"
	wait_until is_sleeping "$pid"
	same_as_eu_stack -p "$pid"
	eu-stack -p "$pid" 2>/dev/null | grep -A 1 ' faults$' | grep -q ' main$'
	# and by the same steps in user space
	kill -STOP "$pid"
	eu_addresses "$pid" >"$WORK/theirs"
	stack-of "$pid" >"$WORK/ours"
	diff <(gawk '{ print strtonum($1) }' "$WORK/theirs") <(grep -v end "$WORK/ours" | gawk '{ print strtonum($1) }')
}

@test "blocked programs, unwound in user space by the same tables and steps: eu-stack's frames" {
	need_root
	need eu-stack sqlite3
	# and the number of the system call in which each of them ends up
	local sleeps=230 polls=7 opens=257 blocked=() p
	background nested hold && blocked+=("$pid $sleeps")
	background /usr/bin/python3 -c 'import time; time.sleep(1000)' && blocked+=("$pid $sleeps")
	background /usr/bin/python3 -m http.server --bind 127.0.0.1 0 && blocked+=("$pid $polls")
	background perl -e 'sub f { $_[0] ? f($_[0] - 1) : sleep 1000 } f(30)' && blocked+=("$pid $sleeps")
	mkfifo "$WORK/fifo"
	background sqlite3 -init /dev/null :memory: ".read $WORK/fifo" && blocked+=("$pid $opens")
	for p in "${blocked[@]}"; do
		wait_until grep -q "^${p#* } " "/proc/${p% *}/syscall"
		p=${p% *}
		eu_addresses "$p" >"$WORK/theirs"
		stack-of "$p" >"$WORK/ours"
		[ "$(tail -n 1 "$WORK/ours")" = "end complete" ]
		diff <(gawk '{ print strtonum($1) }' "$WORK/theirs") <(grep -v end "$WORK/ours" | gawk '{ print strtonum($1) }')
	done
}

# ---- whole stacks of real programs ----

@test "real stripped programs: 99.5 % of the samples complete, and down to the entry point" {
	need_root
	need gawk sqlite3 xz git
	local program exe entry clone3
	clone3=$(clone3_offset)
	for program in $real_programs; do
		mkdir "$WORK/$program"
		start_$program "$WORK/$program" 3>&-
		pids+=("$pid" "-$started")
		wait_until_it_ran "$pid" $(sized 500 200)	# not while it loads what it needs
		exe=$(readlink "/proc/$pid/exe")
		entry=$(entry_offset "$exe")
		measure_while_it_runs $(sized 1000 400) cpuprof -j -F 1999 -p "$pid"
		stop_real
		# counted by the frames themselves, not by the tool's own verdict
		jq -r 'select(.type == "stack") | [.count, (.user[-1].module // "-"), (.user[-1].file_offset // 0)] | @tsv' "$WORK/out" |
			gawk -F '\t' -v exe="$exe" -v entry="$entry" -v clone3="$clone3" '
				{ all += $1 }
				$2 == exe && $3 > entry && $3 <= entry + 64 { whole += $1 }
				$2 ~ /\/libc\.so\.6$/ && $3 > clone3 && $3 <= clone3 + 100 { whole += $1 }
				END { print all + 0, whole + 0 }' >"$WORK/counts"
		read -r all whole <"$WORK/counts"
		echo "# $program: $all samples, $whole down to the entry, $(summary .ended.complete) complete, $(summary .lost) lost" >&3
		expect "$all > 50"
		expect "$whole >= 0.995 * $all"
		expect "$(summary .ended.complete) >= 0.995 * $all"
		expect "$(summary .samples) == $all"
	done
}

# ---- counts ----

# The life of one_life.py's child by the kernel's own account: 99.9 % of its samples are there, or counted as lost on its CPU. The
# program's clock stands still for interrupts and what the hypervisor takes, and the samples' does not.
# The share that is missing in the best of three lives: an interrupt that the host delays takes samples away, and from each life others.
missing=1
is_whole_life() {	# HZ OTHERS_NS
	local child ran all
	read -r child ran <"$WORK/lived"
	all=$(jq -n --argjson pid "$child" '[inputs | select(.type == "stack" and .pid == $pid).count] | add' "$WORK/out")
	echo "# $all samples, $(summary .lost) lost, of $(awk "BEGIN { print $ran / 1e9 * $1 }"); of others $2 ns" >&3
	expect "$ran > 1.9e9 && $(summary .lost) < 0.02 * $all"	# it was as it is said to be
	missing=$(awk "BEGIN { now = 1 - ($all + $(summary .lost) + 1) / ($ran / 1e9 * $1); print now < $missing ? now : $missing }")
	expect "$all <= (1.003 * $ran + $2 + 3e7) / 1e9 * $1 + 1"	# the others' time is in ticks of three kinds
}

# bats test_tags=check
@test "from its fork to the end of its exit: 99.9 % of a process's samples, of a command's child and of a chosen process's" {
	need_root
	local hz before life
	for hz in 999 4999; do
		missing=1
		for life in 1 2 3; do
			before=$(others_ns)
			cpuprof -j -F $hz -C 0 -o "$WORK/out" -- /usr/bin/python3 -S "$ROOT/tests/workloads/one_life.py" 2 >"$WORK/lived" </dev/null
			is_whole_life $hz $(($(others_ns) - before))
			if awk "BEGIN { exit !($missing <= 0.001) }"; then break; fi
		done
		expect "$missing <= 0.001"
	done
	missing=1
	mkfifo "$WORK/go"
	/usr/bin/python3 -S "$ROOT/tests/workloads/one_life.py" 2 <"$WORK/go" >"$WORK/lived" 3>&- &
	pids+=($!)
	exec {go}>"$WORK/go"
	before=$(others_ns)
	cpuprof -j -F 999 -C 0 -p $! --children -o "$WORK/out" 2>"$WORK/err" 3>&- {go}>&- &
	pids+=($!)
	wait_until grep -q Ctrl-C "$WORK/err"
	exec {go}>&-
	wait $!
	is_whole_life 999 $(($(others_ns) - before))
	expect "$missing <= 0.001"
}

# bats test_tags=check
@test "every sample is in some stack, and in the summary" {
	need_root
	background nested burn 30
	cpuprof -j -F 999 1 >"$WORK/out" 2>/dev/null
	local sum ended
	sum=$(jq -s 'map(select(.type == "stack").count) | add' "$WORK/out")
	ended=$(summary '.ended | add')
	[ "$sum" -eq "$(summary .samples)" ]
	[ "$ended" -eq "$sum" ]
	# what was due by the clock of nested's CPU is taken or lost
	expect "$sum > 0 && $sum + $(summary .lost) > 900"
}

@test "samples lost to bpf(2) are counted" {
	need_root
	# programs do not run while their CPU is inside a map operation
	background busy-bpf 300
	wait_until grep -q ready "$WORK/background.out"
	local ran
	measure_while_it_runs 2000 cpuprof -j -F 999 -p "$pid"
	echo "samples $(summary .samples) lost $(summary .lost), on the CPU $ran ns"
	expect "$(summary .lost) > 100"
	expect "$(summary .samples) + $(summary .lost) > 0.97 * 999 * $ran / 1e9"
	grep -q 'samples lost' "$WORK/err"
}

# ---- the end of a run ----

@test "a process that ends and a signal that comes at the same moment end the run, and frames have names" {
	need_root
	local app tool
	background nested burn 1000
	app=$pid
	cpuprof -j -p "$app" -o "$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	wait_until_it_ran "$app" 300
	kill -STOP "$tool"
	kill -KILL "$app"
	wait_until_gone "$app"
	kill -INT "$tool"
	kill -CONT "$tool"
	wait "$tool"
	jq -es '.[-1] | .type == "summary" and .named > 0' "$WORK/out"
}

@test "SIGINT and SIGTERM print what was gathered" {
	need_root
	local signal
	background nested burn 60
	local subject=$pid
	for signal in INT TERM; do
		rm -f "$WORK/err"
		cpuprof -f -F 999 -p "$subject" >"$WORK/out" 2>"$WORK/err" 3>&- &
		wait_until grep -q Ctrl-C "$WORK/err"
		wait_until_it_ran "$subject" 100
		kill -$signal $!
		wait $!
		grep -qE '^nested;.* [0-9]+$' "$WORK/out"
		grep -q 'samples\? in' "$WORK/err"
	done
	# nohup's signal does not end it before its time
	rm -f "$WORK/err"
	(trap '' HUP; exec cpuprof -j -p "$subject" 2) >"$WORK/out" 2>"$WORK/err" 3>&- &
	wait_until grep -q Ctrl-C "$WORK/err"
	kill -HUP $!
	wait $!
	expect "$(summary .seconds) >= 2"
}

# bats test_tags=check
@test "a command: its exit status, its end, and what it forks" {
	need_root
	run cpuprof -q -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
	run cpuprof -q -- sh -c 'kill -9 $$'
	[ "$status" -eq 137 ]
	run -127 cpuprof -q -- /nonexistent/program
	[ "$status" -eq 127 ]
	[[ "$output" == *"cannot run '/nonexistent/program': No such file or directory"* ]]
	run cpuprof -q -- /etc/passwd
	[ "$status" -eq 126 ]
	[[ "$output" == *"cannot run '/etc/passwd': Permission denied"* ]]
	cpuprof -F 999 -f -- sh -c "'$ROOT/build/tests/nested' burn 1; true" >"$WORK/out"
	grep -q '^nested;' "$WORK/out"
	refute grep -qv -E '^(sh|nested|cpuprof)(;| )' "$WORK/out"
}

@test "a duration and a command: the first to end ends it; the command is left alone, or ended by --kill" {
	need_root
	# the command ends once the tool has said that it waits for that
	cpuprof -q -f 2 -- sh -c "'$ROOT/build/tests/nested' burn 0.1
		until grep -q '^cpuprof: process [0-9]* still runs, and is no longer measured: waiting for its end' '$WORK/err'; do sleep 0.1; done
		exit 5" >"$WORK/out" 2>"$WORK/err" || [ $? -eq 5 ]
	grep -q '^nested;' "$WORK/out"
	run cpuprof -q --kill 0.5 -- sleep 60
	[ "$status" -eq 143 ]
	refute grep -q 'still runs' <<<"$output"
	run cpuprof -q 10 -- sh -c 'exit 3'
	[ "$status" -eq 3 ]
}

@test "--kill: what the command has forked gets SIGTERM, too, in whatever session; what has not ended is named" {
	need_root
	local tool pid full
	for tool in "cpuprof -o /dev/null" "mapupdlat -o /dev/null" "cpuprof -o /dev/null --as nobody"; do
		status=0
		$tool -q --kill --duration 0.5 -- sh -c 'sleep 1000 & echo $!; setsid sleep 1000 & echo $!; wait' \
			>"$WORK/pids" 2>"$WORK/err" 3>&- || status=$?
		[ "$status" -eq 143 ]
		[ "$(wc -l <"$WORK/pids")" -eq 2 ]
		for pid in $(cat "$WORK/pids"); do
			wait_until_gone "$pid"
		done
	done
	run cpuprof -q -o /dev/null --kill 0.5 -- sh -c '(trap "" TERM; exec sleep 1000) <&- >&- 2>&- 3>&- & echo $!; wait'
	pid=${lines[0]}
	[ "$(cat "/proc/$pid/comm")" = sleep ]
	kill -KILL "$pid"
	[ "$status" -eq 143 ]
	grep -qx "cpuprof: 1 process of the command still running after SIGTERM: $pid" <<<"$output"
	# what it forks when it gets SIGTERM, to clean up, is let be
	run cpuprof -q -o /dev/null --kill 0.5 -- sh -c 'trap "sleep 0.5; echo cleaned; exit 5" TERM; while :; do sleep 0.1; done'
	[ "$status" -eq 5 ]
	grep -qx cleaned <<<"$output"
	# the command ends while the report waits for its reader
	full_pipe "$WORK/pipe"
	cpuprof -q -f --kill --duration 0.5 -- sh -c '"$1" burn 1000 >&- 2>&- & echo $! >"$2"; until [ -e "$3" ]; do sleep 0.1; done' \
		sh "$ROOT/build/tests/nested" "$WORK/pids" "$WORK/go" >"$WORK/pipe" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q pipe_write "/proc/$tool/wchan"
	: >"$WORK/go"
	wait_until eval "! pgrep -P $tool -r R,S,D -x sh"
	drain_pipe
	wait_until_gone "$(cat "$WORK/pids")"
	exec {full}>&-
}

@test "a command that forks by thousands: the last child is sampled too" {
	need_root
	cpuprof -j -F 999 -- bash -c "for ((i = 0; i < $(sized 3000 300); i++)); do ( : ); done; '$ROOT/build/tests/nested' burn 1; true" >"$WORK/out" 2>"$WORK/err"
	local sampled
	sampled=$(jq 'select(.type == "stack" and .comm == "nested").count' "$WORK/out" | awk '{ n += $1 } END { print n + 0 }')
	expect "$sampled > 100 && $sampled + $(summary .lost) > 950"
	refute grep -q 'not sampled' "$WORK/err"
}

@test "signals during a command are passed on, and the second one ends the wait" {
	need_root
	cpuprof -q -f -- bash -c 'trap "echo caught" TERM; echo ready; for ((i = 0; i < 600; i++)); do sleep 0.1; done' >"$WORK/out" 2>&1 3>&- &
	local tool=$! child
	pids+=("$tool")
	wait_until grep -q ready "$WORK/out"
	child=$(pgrep -P $tool -x bash)	# and not one of its own
	kill $tool
	wait_until grep -q caught "$WORK/out"
	sleep 0.3	# two within 0.2 s are one
	kill $tool
	local status=0
	wait $tool || status=$?
	[ $status -eq 143 ]
	kill -KILL "$child"
}

# bats test_tags=check
@test "-o: an output file that cannot be opened is reported at once" {
	need_root
	run timeout 50 cpuprof -o /nonexistent/x.folded 60
	[ "$status" -eq 1 ]
	[ "$output" = "cpuprof: cannot open '/nonexistent/x.folded': No such file or directory" ]
}

@test "-p of a thread is refused, and its process named" {
	need_root
	background nested thread
	wait_until grep -q ready "$WORK/background.out"
	run cpuprof -p "$(ls "/proc/$pid/task" | grep -vx "$pid")" 1
	[ "$status" -eq 1 ]
	[[ "$output" == *"is a thread of process $pid: use -p $pid, or -t "* ]]
}

@test "a process whose leader has exited" {
	need_root
	background leaderless 300
	wait_until grep -q ready "$WORK/background.out"
	wait_until grep -q 'State:.Z' "/proc/$pid/status"
	measure_while_it_runs 500 cpuprof -F 999 -j -p "$pid"
	expect "$(summary .samples) > 10"
	expect "$(summary .ended.complete) >= 0.99 * $(summary .samples)"
}

@test "a stack pointer at the edge of a mapping: unreadable, and not slow" {
	need_root
	background stack-edge 4
	wait_until grep -q ready "$WORK/background.out"
	measure_while_it_runs 500 cpuprof -F 999 -j -p "$pid"
	expect "$(summary .ended.unreadable) >= 0.99 * $(summary .samples)"
	expect "$(summary .samples) > 10"
}

# bats test_tags=alone
@test "processes that have exited are released" {
	need_root
	need bpftool
	local tool before i
	known() { bpftool map dump name procs -j | jq length; }
	rm -f "$WORK/err"
	cpuprof -o "$WORK/x.folded" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	before=$(known)
	for ((i = 0; i < 500; i++)); do /bin/true; done
	wait_until eval 'expect "$(known) < $before + 50"'
	kill -INT $tool
	wait $tool
}

@test "a closed pipe is quiet, a full disk is an error" {
	need_root
	background nested burn 30
	cpuprof -F 99 1 2>"$WORK/err" | true
	refute grep -qi 'broken pipe\|cannot write' "$WORK/err"
	run bash -c 'cpuprof -q 1 >/dev/full'
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"cannot write standard output: "* ]]
	[ "$(grep -c 'cannot write' <<<"$output")" -eq 1 ]
}

# ---- output ----

@test "what is measured is said at the start; -v is short, -vv has libbpf's messages" {
	need_root
	local cpus
	cpus=$(nproc)
	says_when_it_begins "Sampling $cpus CPUs? at 99 Hz, for 0.2 s" cpuprof 0.2
	says_when_it_begins "Sampling 1 CPU at 49 Hz, process $$ only, for 0.2 s" cpuprof -C 0 -F 49 -p $$ 0.2
	ln -s /bin/true "$WORK/tr;ue"
	PATH=$PATH:$WORK says_when_it_begins "Sampling $cpus CPUs? at 99 Hz, until 'tr\\\\x3bue' ends" cpuprof -- "tr;ue"
	is_terse cpuprof -p $$ 0.2
}

@test "-e: another event than time, by number or by rate; what the machine does not have is one line" {
	need_root
	need perl
	cpuprof -j -e page-faults -c 100 -- perl -e 'for (1 .. 20) { my $p = fork; if (!$p) { my @x = 1 .. 200000; exit 0 } waitpid $p, 0 }' >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/err"
	valid_json
	[ "$(jq -r 'select(.type == "start") | "\(.event) \(.period)"' "$WORK/out")" = "page-faults 100" ]
	expect "$(summary '.samples + .lost') >= 50 && $(summary .samples) < 20000"
	# a number of page faults is no time
	[ "$(jq -s 'map(select(.type == "stack" and .value_ns)) | length' "$WORK/out")" -eq 0 ]
	cpuprof -j -e cpu-clock -F 499 -- nested burn 1 >"$WORK/out" 2>"$WORK/err"
	valid_json
	expect "$(summary .samples) > 10"
	run cpuprof -e u:libc:malloc 1
	[ "$status" -eq 2 ]
	run cpuprof -e page-faults -c 10ms 1
	[ "$status" -eq 2 ]
	run cpuprof -q -e nonsense 1
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	if [ ! -e /sys/bus/event_source/devices/cpu ]; then
		run cpuprof -q -e cycles 1
		[ "$status" -eq 1 ]
		[[ "${lines[-1]}" == *"no hardware counter (PMU)"* ]]
	fi
}

@test "JSON: as the schema has it, with every kind of frame; the schema refuses what it should" {
	need_root
	background nested burn 60
	background dd if=/dev/zero of=/dev/null bs=1M count=100000000
	background /usr/bin/python3 -c 'import time
while True: time.sleep(0)'
	background jits map
	sleep 0.5
	cpuprof -j -F 199 -p "$(IFS=,; echo "${pids[*]}")" 1 >"$WORK/out" 2>"$WORK/err"
	expect "$(date +%s) - $(date +%s -d "$(jq -r 'select(.type == "start").time' "$WORK/out")") <= 30"
	valid_json
	[ "$(jq -r 'select(.type == "start") | "\(.schema) \(.tool) \(.host) \(.kernel) \(.frequency_hz + 0) \(.duration_ns) \(.filters.pids | length)"' "$WORK/out")" = \
		"2 cpuprof $(uname -n) $(uname -r) 199 1000000000 4" ]
	{ head -n 1 "$WORK/out"; grep -m 5 '"user":\[{.*"vaddr"' "$WORK/out"; tail -n 1 "$WORK/out"; } >"$WORK/valid"
	valid_json "$WORK/valid"
	jq -s 'map(.user[]? | keys[]) | unique | join(" ")' "$WORK/out" | grep -q 'address.*function_vaddr.*symbol.*vaddr'
	cpuprof -j -U -u -C 0 --comm nested -p "${pids[0]},$$" 0.2 >"$WORK/out" 2>"$WORK/err"
	kill "${pids[@]}"
	pids=()
	valid_json
	jq -c 'select(.type == "start").filters' "$WORK/out" | grep -qF '"cpus":[0],"threads":"user","comm":"nested","stacks":"user"}'
	local change n=0
	for change in 'select(.type != "start")' 'select(.type != "summary")' 'del(.ended_by)' 'if .ended_by then .ended_by = "end" else . end' \
			'if .user then .user[0].vaddr = 4096 else . end' 'if .user then .user[0].vaddr = "0x0A" else . end' '.end = 1' \
			'if .lost then .lost = -1 else . end' 'if .schema then .schema = 1 else . end' 'if .count then .count = 9007199254740993 else . end' \
			'.type = "other"'; do
		n=$((n + 1))
		jq -c "$change" "$WORK/valid" >"$WORK/changed$n"
	done
	run -3 valid-json "$WORK"/changed*
	echo "$output"
}

@test "--top: the hottest, with their shares of all; in text the last, in folded and JSON the first" {
	need_root
	background nested burn 60
	background sh -c 'while :; do :; done'
	cpuprof -F 999 --top 2 1 >"$WORK/x" 2>"$WORK/err"
	[ "$(grep -cE '^        [0-9]+ samples?, [0-9.]+ % of all$' "$WORK/x")" -eq 2 ]
	[ "$(awk '/^$/ { exit } { n++ } END { print n }' "$WORK/x")" -eq 4 ]	# the header, two functions, and what there are besides
	awk 'NR == FNR { if (/ samples? in /) all = $2; next }
		/^        [0-9]+ samples?, / { off = $3 - 100 * $1 / all; bad = bad || last > $1 || off > 0.06 || off < -0.06; last = $1; sum += $1 }
		END { exit bad || sum == 0 || sum >= all }' "$WORK/err" "$WORK/x"
	cpuprof -F 999 --top 3 -f 1 >"$WORK/x" 2>/dev/null
	[ "$(wc -l <"$WORK/x")" -eq 3 ]
	cpuprof -F 999 --top 1 -j 1 >"$WORK/out" 2>/dev/null
	[ "$(jq -s 'map(select(.type == "stack")) | length' "$WORK/out")" -eq 1 ]
	expect "$(summary .samples) > $(jq 'select(.type == "stack").count' "$WORK/out")"
	valid_json
}

# Does the table of functions agree with the stacks of the same output, which has all of both?
table_agrees() {	# FILE
	awk 'function near(a, b) { return a - b < 0.06 && b - a < 0.06 }
		BEGIN { RS = ""; FS = "\n" }
		NR == 1 { for (i = 2; i <= NF; i++) { split($i, row, " "); twice[row[4]] = row[4] in self; self[row[4]] = row[1]; total[row[4]] = row[2]; value[row[4]] = row[3]
				if (row[3] > last && i > 2) bad = "unsorted"; last = row[3] }
			next }
		{ split($NF, words, " "); n = words[1]; all += n; split("", seen)
			for (i = 1; $i !~ /^    -  /; i++) {
				split($i, words, " "); if (i == 1) selves[words[1]] += n
				if (!seen[words[1]]++) totals[words[1]] += n } }
		END { for (f in totals) if (!twice[f]) if (!near(total[f], 100 * totals[f] / all) || !near(self[f], 100 * selves[f] / all) || value[f] != selves[f] + 0) bad = f
			for (f in total) { rows++; if (!totals[f]) bad = f }
			print rows " functions, " all " in all " bad; exit bad != "" || !rows }' "$1"
}

# bats test_tags=check
@test "text: the table of functions is the sums of the stacks, also in intervals; of many stacks it has the 20 hottest" {
	need_root
	background nested burn 60
	wait_until_it_ran "$pid" 100
	measure_while_it_runs 300 cpuprof -U -F 999 -p "$pid" --top all
	head -n 1 "$WORK/out" | grep -qE '^self %  total %  samples  function +module$'
	table_agrees "$WORK/out"
	# what calls deepest has nothing for itself: it is among the last
	awk '/^$/ { exit } { last = $0 } END { exit last !~ /^   0\.0 +[0-9.]+ +0 / }' "$WORK/out"
	awk '/^$/ { exit } /__libc_start_main/ { if ($1 == 0 && $2 > 90) found = 1 } END { exit !found }' "$WORK/out"
	cpuprof -q -U -F 999 -p "$pid" --every 0.5 1.2 >"$WORK/out" 2>/dev/null
	[ "$(grep -c '^self %  total %  samples  function' "$WORK/out")" -ge 2 ]
	# below each time is a table, but for the last: its interval is short, and may have no samples
	awk '!NF { next } below && !/^self %/ { exit 1 } { below = /^[0-9:]+$/ }' "$WORK/out"

	stackcount -q t:raw_syscalls:sys_enter -- bash -c 'for i in 1 2 3 4 5; do ls /; /bin/echo $i | cat; done' >"$WORK/mixed" 2>/dev/null
	sed -n '/^self %/,$p' "$WORK/mixed" >"$WORK/out"
	[ "$(awk '/^$/ { exit } /^ / { n++ } END { print n }' "$WORK/out")" -eq 21 ]
	awk '/^$/ { exit } length > 80 { exit 1 }' "$WORK/out"
	[ "$(grep -cE '^        [0-9]+ events?, [0-9.]+ % of all$' "$WORK/out")" -eq 20 ]
	# the shares of what is shown and of what is not are all; a long stack has its both ends
	awk '/^        [0-9]+ events?, / { sum += $3 } /^not shown: [0-9]+ stacks, [0-9.]+ % of all events; --top=all shows all$/ { rest = $5 }
		END { print sum, rest; exit !(rest > 0 && sum + rest > 98.5 && sum + rest < 101.5) }' "$WORK/out"
	awk '/^    / && !/^     |^    command: / { n++ } /^    -   / { if (n > 16) exit 1; n = 0 }' "$WORK/out"
	stackcount -q --top all t:raw_syscalls:sys_enter -- bash -c 'ls / | cat' >"$WORK/out" 2>/dev/null
	refute grep -q '^not shown\|more functions\|^    … ' "$WORK/out"
}

@test "the summary is told although nobody reads the output to its end; a closed output is an error" {
	need_root
	local option
	background nested burn 300	# else an idle machine has nothing to report
	for option in "" -f -j; do
		cpuprof $option -F 4999 1 2>"$WORK/err" | head -n 1 >"$WORK/first"
		[ -s "$WORK/first" ]
		wait_until grep -q 'samples\? in' "$WORK/err"
		refute grep -qi 'cannot write\|broken' "$WORK/err"
	done
	run bash -c 'cpuprof 60 >&-'
	[ "$status" -eq 1 ]
	[ "$output" = "cpuprof: standard output is closed" ]
	cpuprof -o "$WORK/x.folded" -F 999 -- nested burn 0.2 >&- 2>"$WORK/err"
	[ -s "$WORK/x.folded" ]
}

@test "the report apart from what the command prints: -o, --output-fd; -o - is standard output" {
	need_root
	local measured=(-F 999 -- nested burn 0.2)	# has something to report on an idle machine, and on one that stands still
	cpuprof -q -j --output-fd 9 -- sh -c 'echo hello; : >&9' >"$WORK/stdout" 9>"$WORK/out" 2>"$WORK/err" || true
	[ "$(cat "$WORK/stdout")" = hello ]
	grep -qi 'bad file descriptor\|9: bad' "$WORK/err"	# the command does not have it
	valid_json
	cpuprof -q -f -o - "${measured[@]}" >"$WORK/one" 2>/dev/null
	cpuprof -q -f -o /dev/stdout "${measured[@]}" 2>/dev/null | cat >"$WORK/two"
	cpuprof -q -f -o /dev/fd/8 "${measured[@]}" 8>"$WORK/three" 2>/dev/null
	for output in one two three; do
		[ -s "$WORK/$output" ]
		refute grep -qvE '^[^;]+(;[^;]+)* [0-9]+$' "$WORK/$output"
	done
	cpuprof -q -o - "${measured[@]}" 2>/dev/null | awk '/^        [0-9]+ samples?, / { n++ } END { exit !n }'
	local fd
	for fd in 5 9 12 77; do	# the tool opens some of these itself
		run bash -c "cpuprof --output-fd $fd 1 $fd>&-"
		[ "$status" -eq 1 ]
		[ "$output" = "cpuprof: file descriptor $fd is not open for output" ]
	done
}

@test "output that cannot be written: the tool waits for its command, and fails" {
	need_root
	local ended=0
	cpuprof -q -j -- sh -c "sleep 1; echo ended >'$WORK/ended'; exit 4" 2>"$WORK/err" >/dev/full || ended=$?
	[ $ended -eq 1 ]
	[ -e "$WORK/ended" ]
	grep -q "cannot write standard output: No space left on device" "$WORK/err"
	grep -q "still runs, and is no longer measured: waiting for its end" "$WORK/err"
	rm "$WORK/ended"
	cpuprof -q -j -- sh -c "sleep 1; echo ended >'$WORK/ended'; exit 4" 2>"$WORK/err" | head -n 1 >"$WORK/out"
	[ -e "$WORK/ended" ]
	[ -s "$WORK/out" ]
	refute grep -q "cannot write" "$WORK/err"
	# as much as ulimit -f lets a file have
	run bash -c "ulimit -f 1; exec cpuprof -q -j -F 499 -o '$WORK/limited' -- perl -e '1 for 1 .. 1e7'"
	[ "$status" -eq 1 ]
	[[ $output == *"cannot write $WORK/limited: File too large"* ]]
	[ -z "$(ls "$WORK" | grep limited)" ]
}

@test "-c with a unit, -h, -L, and bcc's long names" {
	need_root
	cpuprof -j -c 1ms 0.2 2>/dev/null | head -n 1 | jq -e '.frequency_hz == 1000' >/dev/null
	[ "$(cpuprof -h)" = "$(cpuprof --help)" ]
	[ "$(cpuprof -'?')" = "$(cpuprof --help)" ]
	[[ "$(cpuprof --usage)" == *"[-L TID"* ]]
	cpuprof -j -L $$ 0.1 2>/dev/null | head -n 1 | jq -e ".filters.tids == [$$]" >/dev/null
	cpuprof -F 999 --perf-max-stack-depth 5 --stack-storage-size 1024 -j -- nested burn 0.2 2>/dev/null >"$WORK/out"
	[ "$(jq -r 'select(.type == "stack") | [.user[] | select(.cut | not)] | length' "$WORK/out" |
		sort -n | tail -n 1)" -eq 5 ]
	refute grep -qE 'stack-storage-size|perf-max' <(cpuprof --help)
	offcputime -j --min-block-time 5 --max-block-time 6ms 0.1 2>/dev/null | head -n 1 |
		jq -e '.filters.min_ns == 5000 and .filters.max_ns == 6000000' >/dev/null
}

# bats test_tags=full
@test "--every: a tool that was stopped reports that time at once, and goes on at its pace" {
	need_root
	cpuprof -q -j --every 0.3 -F 49 -o "$WORK/out" 2>/dev/null 3>&- &
	pid=$!
	pids+=("$pid")
	reports() { [ "$(grep -c '"type":"summary"' "$WORK/out"* 2>/dev/null)" -ge "$1" ]; }
	wait_until reports 2
	kill -STOP "$pid"
	sleep 3
	kill -CONT "$pid"
	local before
	before=$(grep -c '"type":"summary"' "$WORK/out"*)
	wait_until reports $((before + 4))
	kill -INT "$pid"
	wait "$pid"
	# one has the time; at most a short one follows it, up to the next full interval
	jq -se '[.[] | select(.type == "summary") | .seconds] | (map(select(. > 2)) | length) == 1 and
		length <= (map(select(. <= 2)) | add) / 0.3 + 3' "$WORK/out"
}

@test "progress without a terminal: a line every ten seconds" {
	need_root
	cpuprof -K -f 12 2>"$WORK/err" >/dev/null
	[ "$(grep -cE '^cpuprof: 1[0-2] s, [0-9]+ samples$' "$WORK/err")" -eq 1 ]
	[ "$(wc -l <"$WORK/err")" -le 4 ]
	refute grep -q $'\r' "$WORK/err"
}

# bats test_tags=full
@test "progress is shown on a terminal only, and not with -q" {
	need_root
	need script
	script -qec "cpuprof -K 2.9" "$WORK/typescript" >/dev/null
	grep -q 'cpuprof: [12] s, [0-9]* samples' "$WORK/typescript"
	# it is erased before the report
	grep -q $'cpuprof: 2 s, [0-9]* samples \r\033\\[K' "$WORK/typescript"
	script -qec "offcputime -K 1.9" "$WORK/typescript" >/dev/null
	grep -q 'offcputime: 1 s, [0-9]* periods' "$WORK/typescript"
	script -qec "stackcount -K t:sched:sched_switch 1.9" "$WORK/typescript" >/dev/null
	grep -q 'stackcount: 1 s, [0-9]* events' "$WORK/typescript"
	script -qec "cpuprof -q -K 2.5" "$WORK/typescript" >/dev/null
	refute grep -q 'cpuprof: [12] s, ' "$WORK/typescript"
	cpuprof -K 2.5 2>"$WORK/err" >/dev/null
	refute grep -q 'cpuprof: [12] s, ' "$WORK/err"
}

# bats test_tags=full
@test "a signal that comes while the tool is at work ends the measurement, and not the naming" {
	need_root
	need strace
	local i nested
	# processes that keep the tool at work, and code whose names are asked for again and again: it has none in its first second
	background bash -c 'while :; do /bin/true; done'
	background nested burn 300
	nested=$pid
	for i in 1 2 3; do
		background bash -c 'while :; do timeout 1 jits map; done'
		rm -f "$WORK/err"
		# it gathers events for so long each time before it works
		strace -f --seccomp-bpf -qq -o "$WORK/trace" -e trace=clock_nanosleep -e inject=clock_nanosleep:delay_exit=300ms \
			cpuprof -F 49 -j >"$WORK/out" 2>"$WORK/err" 3>&- &
		pids+=($!)
		wait_until grep -q Ctrl-C "$WORK/err"
		wait_until_it_ran $nested 1000
		kill -INT "$(pgrep -P $! -x cpuprof | head -n 1)"
		wait $!
		[ "$(jq -s '[.[] | select(.comm? == "nested") | .user[].symbol | select(. == "__libc_start_main")] | length' "$WORK/out")" -gt 0 ]
	done
}

@test "--sort: the table of functions by self, or by total" {
	need_root
	local order
	background /usr/bin/python3 -c 'import json
while True: json.dumps(list(range(1000)))'
	wait_until_it_ran "$pid" 100
	for order in self total; do
		cpuprof -q -F 999 --sort=$order --top 100 -p "$pid" -o "$WORK/$order.txt" 0.3 2>"$WORK/err"
		sed '/^$/,$d; 1d; / more functions: /d' "$WORK/$order.txt" >"$WORK/$order"
	done
	awk '{ print $1 }' "$WORK/self" | sort -rnc
	awk '{ print $2 }' "$WORK/total" | sort -rnc
	refute sort -rnc <(awk '{ print $1 }' "$WORK/total")
	refute sort -rnc <(awk '{ print $2 }' "$WORK/self")
}

# bats test_tags=check
@test "-f -d -a -o: the formats" {
	need_root
	background nested burn 60
	wait_until_it_ran "$pid" 100
	measure_while_it_runs 300 cpuprof -F 999 -p "$pid" -o "$WORK/x.folded" -d -a
	grep -qE '^nested(;[^ ]+)+ [0-9]+$' "$WORK/x.folded"
	# root first, each stack once, most first
	head -n 1 "$WORK/x.folded" | grep -qE '^nested;\[nested\+0x[0-9a-f]+\];__libc_start_main;'
	[ -z "$(sed 's/ [0-9]*$//' "$WORK/x.folded" | sort | uniq -d)" ]
	awk '{ print $NF }' "$WORK/x.folded" | sort -rnc
	measure_while_it_runs 300 cpuprof -F 999 --top all -p "$pid" -o "$WORK/x.txt"
	grep -qE "^    -                nested \\($pid\\)$" "$WORK/x.txt"
	# the hottest last, with its share of all
	awk '/^        [0-9]+ samples?, [0-9.]+ % of all$/ { bad += $1 < last; last = $1; all += $1; n++; share[n] = $3; count[n] = $1 }
		END { for (i in share) bad += share[i] - 100 * count[i] / all > 0.06 || 100 * count[i] / all - share[i] > 0.06
			exit bad || n == 0 }' "$WORK/x.txt"
	measure_while_it_runs 300 cpuprof -F 999 -p "$pid" -j -o "$WORK/x.json"
	jq -e . "$WORK/x.json" >/dev/null
}

@test "kernel frames: -K, -U, -a, in the right place" {
	need_root
	background dd if=/dev/zero of=/dev/null bs=1M count=100000000
	wait_until_it_ran "$pid" 100
	measure_while_it_runs 300 cpuprof -F 999 -p "$pid" -f -d -a
	grep -qE '^dd;.*__libc_start_main;.*;-;([^;]*_\[k\];?)+ [0-9]+$' "$WORK/out"
	measure_while_it_runs 300 cpuprof -F 999 -p "$pid" -f -a -U
	grep -q '^dd;.*__libc_start_main;' "$WORK/out"
	refute grep -q '_\[k\]' "$WORK/out"
	measure_while_it_runs 300 cpuprof -F 999 -p "$pid" -f -a -K
	grep -qE '^dd(;[^;]*_\[k\])+ [0-9]+$' "$WORK/out"
	refute grep -qvE '^dd(;[^;]*_\[k\])* [0-9]+$' "$WORK/out"
}

# bats test_tags=full
@test "names are escaped: folded stays splittable, JSON stays UTF-8" {
	need_root
	cp "$ROOT/build/tests/nested" "$WORK/$(printf 'a;b\nc\xff')"
	background "$WORK/$(printf 'a;b\nc\xff')" burn 300
	wait_until_it_ran "$pid" 100
	measure_while_it_runs 300 cpuprof -F 999 -p "$pid" -f
	grep -q '^a\\x3bb\\x0ac' "$WORK/out"
	refute env LC_ALL=C grep -qvE '^a\\x3bb.* [0-9]+$' "$WORK/out"
	measure_while_it_runs 300 cpuprof -F 999 -p "$pid" -j
	iconv -f utf-8 -t utf-8 "$WORK/out" >/dev/null
	jq -e . "$WORK/out" >/dev/null
}

@test "-u, -k, -t, -C, -I filter" {
	need_root
	background nested burn 60
	cpuprof -F 999 -k -j 1 2>/dev/null >"$WORK/out"
	[ "$(jq -r 'select(.type == "stack") | .ended_by' "$WORK/out" | sort -u | grep -v no_user)" = "" ]
	cpuprof -F 999 -u -j 1 2>/dev/null >"$WORK/out"
	expect "$(summary .samples) > 10"
	refute grep -q '^kworker\|^swapper' <(jq -r 'select(.type == "stack") | .comm' "$WORK/out")
	measure_while_it_runs 300 cpuprof -F 999 -t "$pid" -j
	[ "$(jq -r 'select(.type == "stack") | .tid' "$WORK/out" | sort -u)" = "$pid" ]
	taskset -p 1 "$pid" >/dev/null
	measure_while_it_runs 300 cpuprof -F 999 -C 0 -p "$pid" -j
	expect "$(summary .samples) > 10"
	cpuprof -F 999 -C 1 -p "$pid" -j 0.3 2>/dev/null >"$WORK/out"
	[ "$(summary .samples)" -eq 0 ]
	kill "$pid"
	# the idle task has no fewer samples than the kernel says it ran meanwhile, but for the lost ones. What is lost of it is said:
	# of each CPU all of the time counts, but what the hypervisor has stolen
	local idle stolen
	stolen=$(cpu_seconds steal)
	rm "$WORK/err"
	cpuprof -F 999 -I -j 60 2>"$WORK/err" >"$WORK/out" 3>&- &
	wait_until grep -q Ctrl-C "$WORK/err"
	idle=$(cpu_seconds idle)
	sleep $(sized 8 2)
	idle=$(awk "BEGIN { print $(cpu_seconds idle) - $idle }")
	kill -INT $!
	wait $!
	stolen=$(awk "BEGIN { print $(cpu_seconds steal) - $stolen }")
	local swapper
	swapper=$(jq -n '[inputs | select(.type == "stack" and (.comm | startswith("swapper"))) | .count] | add // 0' "$WORK/out")
	echo "idle $idle s, stolen $stolen s; $swapper samples of the idle task, $(summary '"\(.samples) of \(.seconds) s, \(.lost) lost"')"
	# the kernel counts idle time in ticks; where it is short pieces between other tests' work, samples hit it by chance: four
	# standard deviations
	local due
	due=$(awk "BEGIN { due = 999 * ($idle - 0.02 * $(nproc)); print (due > 0 ? due : 0) }")
	expect "$swapper + $(summary .lost) >= 0.95 * $due - 4 * sqrt($due)"
	# the events begin and end some time behind and before what is said to be measured: half a second on a busy machine
	expect "$(summary '.samples + .lost') >= 0.98 * 999 * (($(summary .seconds) - 1) * $(nproc) - $stolen)"
}

# the frames of `deep N` are N and those from main to the entry point, 4
deep_frames() {	# N DEPTH: the kinds of stacks that there are
	background deep "$1"
	wait_until grep -q ready "$WORK/background.out"
	measure_while_it_runs 100 cpuprof -F 199 -p "$pid" --max-depth "$2" -j
	kill "$pid"
	jq -r 'select(.type == "stack" and .comm == "deep") | "\(.ended_by) \(.user | map(select(.cut | not)) | length) \(
		[.user | to_entries[] | select(.value.cut) | "\(.key):\(.value.cut)"] | join(" "))"' "$WORK/out" | sort -u
}

@test "--max-depth: both ends of a deeper stack, and how much is left out between" {
	need_root
	local entry
	[ "$(deep_frames 3000 1024)" = "cut 1024 896:1980" ]
	expect "$(summary .ended.cut) == $(summary .samples)"
	grep -q 'ended cut: the outermost frame was reached' "$WORK/err"
	entry=$(readelf -h "$ROOT/build/tests/deep" | awk '/Entry point/ { print $NF }')
	[ "$(jq -r 'select(.type == "stack") | .user[-1].function_vaddr // .user[-1].vaddr' "$WORK/out" | sort -u)" = "$entry" ]
	[ "$(deep_frames 1021 1024)" = "cut 1024 896:1" ]
	[ "$(deep_frames 12000 16384)" = "complete 12004 " ]
	# no end within the steps of the walk
	[[ $(deep_frames 20000 1024) == "too_deep 1024 896:"* ]]
	[ "$SIZE" = full ] || return 0
	[ "$(deep_frames 1020 1024)" = "complete 1024 " ]
	[ "$(deep_frames 3000 5)" = "cut 5 3:2999" ]
	[ "$(deep_frames 3000 16384)" = "complete 3004 " ]
	[ "$(deep_frames 17000 16384)" = "cut 16384 16256:620" ]
}

@test "code of a file that is no ELF file: counted, not fatal" {
	need_root
	background garbage-text "$WORK/garbage"
	wait_until grep -q ready "$WORK/background.out"
	measure_while_it_runs 500 cpuprof -F 999 -p "$pid" -j
	expect "$(summary .ended.no_table) > 0.9 * $(summary .samples)"
	grep -q "in '$WORK/garbage': not an ELF file" "$WORK/err"
}

@test "many files without a table: those with the most samples are named, and the others counted" {
	need_root
	local i all=() one
	for i in {0..11}; do
		background garbage-text "$WORK/garbage$i"
		wait_until grep -q ready "$WORK/background.out"
		all+=("$pid")
	done
	cpuprof -F 999 -p "$(IFS=,; echo "${all[*]}")" >"$WORK/out" 2>"$WORK/err" 3>&- &
	pids+=($!)
	wait_until grep -q Ctrl-C "$WORK/err"
	for one in "${all[@]}"; do wait_until_it_ran "$one" 50; done
	kill -INT "${pids[-1]}"
	wait "${pids[-1]}"
	sed 's/^/# /' "$WORK/err"
	[ "$(grep -c "of these in '$WORK/garbage[0-9]*': not an ELF file" "$WORK/err")" -eq 8 ]
	grep -qE '^cpuprof: [0-9]+ of these in 4 more files without a table$' "$WORK/err"
	awk '/of these in/ { if (n++ && n < 9 && $2 > last) exit 1; last = $2 }' "$WORK/err"
}

# ---- the verifier ----

# bats test_tags=check
@test "each BPF program takes at most 15,000 instructions to verify" {
	need_root
	cpuprof -v 0.1 2>&1 >/dev/null | awk '/instructions verified/ { print $2, $3 }' | tee "$WORK/verified"
	[ "$(wc -l <"$WORK/verified")" -ge 3 ]
	awk '$2 > 15000 { exit 1 }' "$WORK/verified"
}
