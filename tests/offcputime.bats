#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load lib.bash
. "$BATS_TEST_DIRNAME/workloads/servers.bash"

measure() {	# ARG...: offcputime's
	offcputime -q -j -o "$WORK/out.json" "$@" >"$WORK/command.out" 2>"$WORK/err"
	mv "$WORK/out.json" "$WORK/out"
}

# The same in two parts: begin returns when the tool says that it measures, finish ends it. What lies between is $inside ns, by
# this script's clock; the tool's own time is more.
begin() {	# ARG...: offcputime's
	rm -f "$WORK/err"
	offcputime -j -o "$WORK/out.json" "$@" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	began=${EPOCHREALTIME/./}
}
finish() {
	inside=$(((${EPOCHREALTIME/./} - began) * 1000))
	kill -INT "$tool"
	wait "$tool"
	mv "$WORK/out.json" "$WORK/out"
}

# how often process $pid has left the CPU so far; with an argument, whether that is more often
switches() {	# [THAN]
	awk -v than="${1-}" '/ctxt_switches/ { n += $2 } END { if (than == "") print n; else exit !(n > than) }' "/proc/$pid/status"
}

# A thread that sleeps when measuring begins may run while its stack is being read. Then that one period is "unreadable": one
# period of a thread, which is over before the end. For jq
read_in_vain='(.ended_by == "unreadable" and .count == 1 and (.open | not))'

# in nanosleep(), whatever the user stack is. For jq
in_nanosleep='(.kernel | any(.symbol // "" | test("nanosleep")))'

# jq's result for all stacks in $WORK/out, as one array
stacks() {
	jq -r -n "[inputs | select(.type == \"stack\")] | $1" "$WORK/out"
}

# jq's result for all reports in $WORK/out, as one array of { seconds, stacks }
reports() {
	jq -r -n "[foreach (inputs | select(.type != \"start\")) as \$line ({ n: 0 }; { n: (.n + if .ended then 1 else 0 end), ended: (\$line.type == \"summary\") };
		[.n, \$line])] | group_by(.[0]) | map({ seconds: .[-1][1].seconds, stacks: map(.[1] | select(.type == \"stack\")) }) | $1" "$WORK/out"
}

# the user frames of thread $1's longest time, as "MODULE OFFSET" lines
longest() {
	stacks "map(select(.tid == $1)) | max_by(.value_ns) | .user[] | \"\(.module // \"-\") \(.file_offset // .address)\""
}

# ---- wrong arguments ----

# bats test_tags=check
@test "wrong arguments: one clear line, exit 2" {
	while IFS='|' read -r arguments pattern; do
		run offcputime $arguments
		echo "offcputime $arguments: $status: $output"
		[ "$status" -eq 2 ]
		[[ "${lines[0]}" =~ $pattern ]]
	done <<-'EOF'
		-p , 1|not a list of process IDs, or names of 1 to 15 bytes: ','
		-p 0 1|not a process ID: '0'
		-m x 1|not a time: 'x'
		-m 2ms -M 1ms 1|-m is more than -M
		--state Q 1|not states
		--state D, 1|not states
		--state 0x10000 1|not states
		--time some 1|not all, blocked or waiting
		--time blocked --state R 1|leaves nothing of --state=R
		--comm sixteen-bytes-is-1 1|a thread's name has 1 to 15 bytes
		--max-stacks 0 1|not a number of stacks
		-F 99 1|invalid option
	EOF
	run offcputime --cgroup /proc 1
	[ "$status" -eq 1 ]
	[[ "${lines[0]}" == *"not a cgroup of the v2 hierarchy: '/proc'"* ]]
}

@test "a process that does not exist, no permission, a CPU that does not exist: one clear line, exit 1" {
	need_root
	need setpriv
	run offcputime -p 4194305 1
	[ "$status" -eq 1 ]
	[ "$output" = "offcputime: no process with PID 4194305" ]
	run offcputime -C 4000 1
	[ "$status" -eq 1 ]
	[ "$output" = "offcputime: none of these CPUs is online" ]
	install -m 755 "$ROOT/build/offcputime" "$WORK/offcputime"
	chmod 755 "$WORK"
	run setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "$WORK/offcputime" 1
	[ "$status" -eq 1 ]
	[[ "${lines[0]}" == *"CAP_BPF and CAP_PERFMON are missing"* ]]
}

# bats test_tags=check
@test "the man page, --help and the parser agree on the options" {
	options_agree offcputime
}

# ---- true stacks ----

same_as_eu_stack() {	# TID, of $pid
	eu-stack -r -p "$pid" 2>/dev/null | awk -v tid="TID $1:" '$0 == tid { on = 1; next } /^TID/ { on = 0 } on && /^#/ { print $2 }' |
		normalise "$pid" >"$WORK/theirs"
	longest "$1" >"$WORK/ours"
	[ "$(wc -l <"$WORK/theirs")" -ge 5 ]
	diff "$WORK/theirs" "$WORK/ours"
}

@test "blocked before the start until after the end: eu-stack's frames, the whole time, marked open" {
	need_root
	need eu-stack gawk
	local p held=()
	background nested hold && held+=("$pid")	# 45 KiB of stack
	background python3 -c 'import time; time.sleep(1000)' && held+=("$pid")
	background perl -e 'sub f { $_[0] ? f($_[0] - 1) : sleep 1000 } f(30)' && held+=("$pid")
	background waits epoll 0 100000000 && held+=("$pid")
	background waits futex 0 100000000 && held+=("$pid")
	for p in "${held[@]}"; do
		wait_until is_sleeping "$p"
	done
	# python3 may be a script that starts it, and that sleeps, too
	wait_until grep -q nanosleep "/proc/${held[1]}/wchan"
	wait_until grep -q nanosleep "/proc/${held[2]}/wchan"
	sleep 0.5
	begin -p "$(IFS=,; echo "${held[*]}")"
	sleep 1
	finish
	for pid in "${held[@]}"; do
		same_as_eu_stack "$pid"
		[ "$(stacks "map(select(.tid == $pid)) | length")" -eq 1 ]
		[ "$(stacks "map(select(.tid == $pid))[0] | \"\(.open) \(.state) \(.ended_by) \(.count)\"")" = "true S complete 1" ]
		# 0.1 %: the script's clock may be set meanwhile, the tool's is not
		stacks "map(select(.tid == $pid))[0].value_ns" |
			awk -v inside="$inside" -v all="$(summary '.seconds * 1e9')" '{ exit !($1 >= 0.999 * inside && $1 <= all) }'
	done
}

@test "kernel stacks are those of /proc/PID/stack" {
	need_root
	background waits pipe 0 100000
	wait_until is_sleeping "$pid"
	[ -r "/proc/$pid/stack" ] || skip "the kernel does not tell stacks"
	local theirs
	theirs=$(sed -E 's/.*\] ([^+]*)\+.*/\1/' "/proc/$pid/stack")
	measure -p "$pid" 0.5
	[ "$(stacks "map(select(.tid == $pid))[0].kernel[].symbol" | grep -vx 'schedule\|__schedule')" = "$theirs" ]
	# and of periods whose beginning is seen: the same, below the scheduler's own functions
	measure -- waits pipe 50 10
	[ "$(stacks 'map(select(.tid == .pid and .count > 5)) | max_by(.count) | .kernel[].symbol' | tail -n "$(wc -l <<<"$theirs")")" = "$theirs" ]
}

@test "a wait that has begun before the measurement has the same kernel stack as those after it" {
	need_root
	background waits nanosleep 0 700
	wait_until is_sleeping "$pid"
	measure --state=S -p "$pid" 2.5
	stacks "map(select(.tid == $pid).kernel | map(.symbol) | join(\" \"))[]" | sort -u >"$WORK/kernel"
	wallprof -q -f -p "$pid" 2.5 2>/dev/null >"$WORK/folded"
	sed -n 's/.*;entry_SYSCALL_64_after_hwframe;\(.*\);\[blocked S\] .*/\1/p' "$WORK/folded" | sort -u >"$WORK/wall"
	cat "$WORK/kernel" "$WORK/wall"
	[ "$(wc -l <"$WORK/kernel")" -eq 1 ]
	[ "$(wc -l <"$WORK/wall")" -eq 1 ]
	grep -q '^__schedule schedule .*nanosleep' "$WORK/kernel"
	grep -q 'nanosleep;.*schedule;__schedule$' "$WORK/wall"
}

@test "blocked again and again for 10 ms, in each possible way: complete stacks, the right state" {
	need_root
	need eu-stack gawk
	local kind state entry
	entry=$(entry_offset "$ROOT/build/tests/waits")
	cd "$WORK"
	for kind in nanosleep:S futex:S pipe:S poll:S epoll:S signal:S fsync:D fault:D; do
		state=${kind#*:} kind=${kind%:*}
		background waits "$kind"
		wait_until grep -q ready "$WORK/background.out"
		begin -p "$pid"
		sleep $(sized 1 0.2)
		wait_until switches "$(($(switches) + 5))"	# a disk may be slow
		finish
		kill "$pid"
		# w5 to w1, main, and the entry point
		stacks "map(select(.tid == $pid and ($read_in_vain | not))) | .[] | [.state, .value_ns, .count, (.user[-1].file_offset // 0), ([.user[] | select(.module // \"\" | endswith(\"/waits\"))] | length)] | @tsv" |
			awk -v state="$state" -v entry="$entry" -v kind="$kind" '{ all += $2 } $1 == state { in_state += $2; n += $3 }
				$4 > entry && $4 <= entry + 64 && $5 >= 7 { whole += $2 }
				END { printf "# %s: %.3f s in all, %.3f s whole, %.3f s and %d times in state %s\n", kind, all / 1e9, whole / 1e9, in_state / 1e9, n, state
					exit !(n >= 3 && whole >= 0.97 * all && in_state > 0) }' >&3
	done
}

# bats test_tags=full
@test "postgres waiting for a client and for a lock: eu-stack's frames" {
	need_root
	need eu-stack gawk
	start_postgres "$WORK/pg" || skip "no postgres"
	local reader holder
	psql_ -c 'CREATE TABLE t (i int)' >/dev/null
	(echo 'BEGIN; LOCK TABLE t;'; sleep 60) | psql_ >/dev/null 2>&1 3>&- &
	pids+=($!)
	wait_until psql_waits "state = 'idle in transaction'"
	psql_ -c 'SELECT * FROM t' >/dev/null 2>&1 3>&- &
	pids+=($!)
	wait_until psql_waits "wait_event_type = 'Lock'"
	holder=$(psql_waits "state = 'idle in transaction'") reader=$(psql_waits "wait_event_type = 'Lock'")
	sleep 1.2	# deadlock_timeout is over
	measure -p "$holder,$reader" 1
	for pid in $holder $reader; do
		same_as_eu_stack "$pid"
		expect "$(stacks "map(select(.pid == $pid)) | map(.value_ns) | add") > 0.95e9"
	done
	stop_servers
}

# No value is lost, though a 6.18 was seen that does not report the switches from one CPU's idle task, but in the rare case that
# a thread's period cannot be told from the scheduler's account
nothing_lost() {
	echo "# $(summary '"\(.lost_unseen) of \(.samples) unseen, \(.lost - .lost_unseen) others lost"')" >&3
	expect "$(summary '.lost - .lost_unseen') == 0 && $(summary .lost_unseen) <= 0.001 * $(summary .samples)"
}

# bats test_tags=alone
@test "real programs under load: whole user stacks for 99.9 % of their time off the CPU" {
	need_root
	need gawk nm
	local name exe entry clone3 here=0
	clone3=$(clone3_offset)
	for name in $servers; do
		start_"$name" "$WORK/$name" || { echo "# $name: not here" >&3; continue; }
		here=$((here + 1))
		sleep 0.5
		exe=$(readlink "/proc/${server_pids[0]}/exe")
		entry=$(entry_offset "$exe")
		measure -p "$(IFS=,; echo "${server_pids[*]}")" $(sized 3 1)
		stop_servers
		# by the frames themselves, not by the tool's own verdict; a thread about to begin has only one
		jq -r "select(.type == \"stack\") | [.value_ns, .count, (.user[-1].module // \"-\"), (.user[-1].file_offset // 0), .ended_by,
			.tid, $read_in_vain] | @tsv" "$WORK/out" |
			gawk -F '\t' -v name="$name" -v exe="$exe" -v entry="$entry" -v clone3="$clone3" '
				$7 == "true" && !vain[$6]++ { next }
				{ all += $1; n += $2; if ($5 == "complete") complete += $1 }
				$3 == exe && $4 > entry && $4 <= entry + 64 { whole += $1 }
				$3 ~ /\/libc\.so\.6$/ && $4 > clone3 && $4 <= clone3 + 100 { whole += $1 }
				END { printf "# %s: off the CPU %d times, %.3f s, whole for %.3f %%, complete for %.3f %%\n", name, n, all / 1e9, 100 * whole / all, 100 * complete / all
					exit !(n > 50 && whole >= 0.999 * all && complete >= 0.999 * all) }' >&3
		nothing_lost
	done
	[ $here -ge 1 ]
}

@test "a worker that io_uring begins meanwhile is measured, and so is what it waits for" {
	need_root
	need uring
	local status=0
	uring || status=$?
	[ "$status" -ne 77 ] || skip "no io_uring"
	offcputime -j -- uring >"$WORK/out" 2>"$WORK/err"
	valid_json
	expect "$(stacks 'map(select(.comm | startswith("iou-wrk")) | .value_ns) | add // 0') > 4e8"
}

# bats test_tags=full
@test "make -j2 of a C project, from its start to its end: complete for 99 % of the time" {
	need_root
	need make gcc
	local archives=("$WORK/O"/libcommon/{process,table,dwarf}.a) least=30
	[ "$SIZE" = full ] || archives=("$WORK/O/libcommon/table.a") least=15
	measure -- make -s -C "$ROOT" -j2 B="$WORK/O" "${archives[@]}"
	cat "$WORK/err" | sed 's/^/# /' >&3
	expect "$(summary .samples) > 500"
	expect "$(summary .ended_ns.complete) >= 0.99 * ($(summary '.ended_ns | add') - $(summary .ended_ns.no_user))"
	[ "$(stacks 'map(.pid) | unique | length')" -ge $least ]
}

# ---- time ----

# runtime and run-queue time of each thread of $pid, by the kernel's own count
schedstat() {
	local task
	for task in "/proc/$pid/task/"*; do
		echo "${task##*/} $(cat "$task/schedstat")"
	done
}

# waits until each thread of $pid but the first has run since now: schedstat counts a wait when it is over
all_run() {
	schedstat >"$WORK/now"
	wait_until eval 'schedstat | awk -v pid="$pid" '\''NR == FNR { runs[$1] = $4; next } $1 != pid && $4 == runs[$1] { exit 1 }'\'' "$WORK/now" -'
}

# On the CPU + blocked + waiting = wall, for each of the threads. Their time on the CPU while the tool measures is between what
# schedstat says just inside of that and just outside. Their time waiting to run is what it says inside, and what is `beyond` that.
# Where a timer wakes a thread and it preempts another, the scheduler counts from the wake-up on, some microseconds before the
# switch. It counts nothing while the hypervisor runs others.
conserved() {	# ARG...
	local steal between
	steal=$(cpu_seconds steal)
	schedstat >"$WORK/outer.before"
	begin "$@"
	all_run
	schedstat >"$WORK/inner.before"
	between=${EPOCHREALTIME/./}
	sleep $(sized 8 3)
	between=$((${EPOCHREALTIME/./} - between))
	schedstat >"$WORK/inner.after"
	all_run
	schedstat >"$WORK/inner.later"
	finish
	schedstat >"$WORK/outer.after"
	cd "$WORK"
	local seconds
	seconds=$(jq -n '[inputs | select(.type == "summary").seconds] | add' out)
	stacks "map(select(.pid == $pid)) | group_by(.tid) | .[] | \"\(.[0].tid) \(map(.blocked_ns) | add) \(map(.waiting_ns) | add) \(map(.count) | add)\"" >"$WORK/off"
	awk -v wall="$(jq -n "$seconds * 1e9")" -v beyond="$(jq -n "$seconds * 1e9 - $between * 1e3")" -v stolen="$(awk "BEGIN { print ($(cpu_seconds steal) - $steal) * 1e9 }")" '
		FILENAME != "off" { on[FILENAME, $1] = $2; queued[FILENAME] += $3; threads[$1]; next }
		{ off[$1] = $2 + $3; waited += $3; slack[$1] = 0.01 * wall + 8e3 * $4 }
		END { queued_least = queued["inner.after"] - queued["inner.before"]; queued_most = queued["inner.later"] - queued["inner.before"]
			for (t in threads) { n++; least = on["inner.after", t] - on["inner.before", t] + off[t]; most = on["outer.after", t] - on["outer.before", t] + off[t]; sum_least += least; sum_most += most
				if (least > wall + slack[t] || most < wall - slack[t] - stolen) { bad++; print "# thread " t ": " least / wall " to " most / wall } }
			printf "# %d threads: %.4f to %.4f of their time; waiting to run %.3f s, by schedstat %.3f to %.3f s; %.3f s beyond\n", n, sum_least / (n * wall),
				sum_most / (n * wall), waited / 1e9, queued_least / 1e9, queued_most / 1e9, beyond / 1e9
			exit !(n == 9 && !bad && sum_least < 1.01 * n * wall && sum_most > 0.99 * n * wall - stolen &&
				waited > 0.95 * queued_least && waited < 1.05 * queued_most + n * beyond) }' \
		{outer,inner}.{before,after} inner.later off >&3
}

# bats test_tags=alone
@test "on the CPU + blocked + waiting to run = wall time, for each of eight threads; and waiting is schedstat's" {
	need_root
	background taskset -c 0 waits threads 8
	wait_until grep -q ready "$WORK/background.out"
	conserved -p "$pid"
	[ "$SIZE" = full ] || return 0
	conserved
	conserved --every 0.1 -p "$pid"
	expect "$(reports length) > 10 && $(stacks 'map(select(.open)) | length') > 10"
}

# A thread that waits all the time of an interval does so for exactly as long as the interval's report says it was.
# bats test_tags=check
@test "--every: a wait is told of as far as it went in each interval, counts when it ends, and is as long in all" {
	need_root
	local took all
	for all in "" "--every 0.3"; do
		measure $all -- waits nanosleep 1 1500
		took=$(awk '/^took/ { print $2 }' "$WORK/command.out")
		# who is preempted as it is about to sleep is R meanwhile, and sleeps for the rest
		stacks "map(select(.comm == \"waits\" and $in_nanosleep)) | [(map(.count) | add), (map(.value_ns) | add)] | @tsv" |
			awk -v took="$took" '{ print "# " $1 " times, " $2 / 1e9 " s of " took / 1e9; exit !($1 >= 1 && $1 <= 3 && $2 > 1.49e9 && $2 <= took) }' >&3
	done
	# in whole intervals: those that begin and end while the thread sleeps
	reports "map({ seconds, stacks: (.stacks | map(select(.comm == \"waits\" and $in_nanosleep))) } | select(.stacks | any(.open))) | .[1:] | .[] |
		\"\(.seconds * 1e9) \(.stacks | length) \(.stacks[0] | \"\(.count) \(.value_ns) \(.ended_by)\")\"" | tee "$WORK/whole"
	awk '$2 != 1 || $3 != 0 || $4 > $1 + 1000 || $4 < $1 - 1000 || $5 != "complete" { bad = 1 } END { exit bad || NR < 2 }' "$WORK/whole"
}

@test "--every: a wait from before the start until after the end; folded reports have empty lines between them" {
	need_root
	need eu-stack gawk
	background nested hold
	wait_until is_sleeping "$pid"
	begin --every 0.3 -p "$pid"
	sleep 1
	finish
	same_as_eu_stack "$pid"
	[ "$(stacks 'map(select(.ended_by != "complete" or (.open | not))) | length')" -eq 0 ]
	# the script's clock may be set meanwhile, the tool's is not
	stacks "map(.value_ns) | add" | awk -v inside="$inside" -v all="$(reports 'map(.seconds) | add * 1e9')" '{ exit !($1 >= 0.999 * inside && $1 <= all) }'
	reports '.[] | "\(.seconds * 1e9) \(.stacks | length) \(.stacks[0] | "\(.value_ns) \(.count)")"' | tee "$WORK/reports"
	# the last report has the count; the others but the first have exactly their time
	awk 'NR > 1 && (count || value > seconds + 1000 || NR > 2 && value < seconds - 1000) { bad = 1 } { seconds = $1; value = $3; count = $4 }
		$2 != 1 { bad = 1 } END { exit bad || !(NR >= 3 && count == 1 && value <= seconds) }' "$WORK/reports"
	# the end of the last interval is the end
	measure --every 0.5 -p "$pid" 1
	expect "$(reports length) <= 2"
	# in one file, and in one for each report
	offcputime -q -f --every 0.3 -p "$pid" 1 >"$WORK/folded" 2>/dev/null
	awk '{ print } $0 == "" { if (!lines) bad = 1; lines = 0; reports++; next } !/^nested;.* [0-9]+$/ { bad = 1 } { lines++; sum += $NF }
		END { exit !(!bad && lines && reports >= 2 && sum > 0.95e6) }' "$WORK/folded"
	flame "$WORK/folded" >/dev/null 2>"$WORK/err"
	refute grep . "$WORK/err"
	offcputime -q --every 0.3 -o "$WORK/%s.folded" -p "$pid" 1 2>/dev/null
	[ "$(ls "$WORK"/[0-9]*.folded | wc -l)" -ge 2 ]
	[ "$(find "$WORK" -name '[0-9]*.folded' -size 0 | wc -l)" -eq 0 ]
	refute grep -x '' "$WORK"/[0-9]*.folded
}

# bats test_tags=full
@test "--every: -m tells of a wait from when it is long enough, and then of all of it; with -M it is told when it has ended" {
	need_root
	local -r sleeps="map(select(.comm == \"waits\" and .state == \"S\" and $in_nanosleep))"
	measure --every 0.3 -m 0.7s -- waits nanosleep 1 1500
	[ "$(stacks "$sleeps | \"\(map(.count) | add) \(any(.open))\"")" = "1 true" ]
	expect "$(stacks "$sleeps | map(.value_ns) | add") > 1e9 && $(stacks "$sleeps[0].value_ns") >= 0.7e9"
	measure --every 0.3 -M 4s -- waits nanosleep 1 1500
	[ "$(stacks "$sleeps | map(\"\(.open) \(.count)\") | join(\",\")")" = "null 1" ] || expect "$(stacks "$sleeps | length") == 0"	# a machine that took longer
	measure --every 0.3 -M 1s -- waits nanosleep 1 1500
	[ "$(stacks "$sleeps | length")" -eq 0 ]
}

# bats test_tags=check
@test "N sleeps of 10 ms are N x 10 ms, and no more than the program waited by its own clock" {
	need_root
	local took
	measure -- waits nanosleep 100 10
	took=$(awk '/^took/ { print $2 }' "$WORK/command.out")
	# who is preempted as it is about to sleep is R meanwhile, and sleeps for the rest, if any
	stacks "map(select(.comm == \"waits\" and $in_nanosleep)) | [(map(select(.state == \"S\").count) | add), (map(.count) | add),
		(map(.blocked_ns + if .state == \"R\" then .waiting_ns else 0 end) | add)] | @tsv" >"$WORK/sleeps"
	awk -v took="$took" '{ print "# " $1 " sleeps of " $2 " periods there, " $3 / 1e6 " ms of " took / 1e6
		exit !($1 <= 100 && $2 >= 100 && $3 > 0.98e9 && $3 <= took) }' "$WORK/sleeps" >&3
}

# bats test_tags=alone
@test "idle threads of Go, threads of musl: complete, down to where they begin" {
	need_root
	need musl-gcc
	cat >"$WORK/threads.c" <<-'EOF'
		#include <pthread.h>
		#include <unistd.h>
		static void *sleeper(void *arg) { for (int i = 0; i < 100; i++) usleep(10000); return arg; }
		int main(void) { pthread_t id; pthread_create(&id, 0, sleeper, 0); return pthread_join(id, 0); }
	EOF
	musl-gcc -static -O2 -s -o "$WORK/threads" "$WORK/threads.c"
	# without the time that they waited for a CPU, which is the machine's: one period of that may be a large part of all
	blocked_complete() {	# COMM
		stacks "map(select(.comm == \"$1\")) | [(map(select(.ended_by == \"complete\").blocked_ns) | add), (map(.blocked_ns) | add)] | @tsv" |
			awk -v least="$2" '{ print "# " $1 / 1e9 " of " $2 / 1e9 " s"; exit !($1 >= 0.99 * $2 && $2 > least) }' >&3
	}
	measure -- "$WORK/threads"
	blocked_complete threads 1.8e9
	extra gojq || return 0
	measure -- sh -c '(sleep 1; echo 1; sleep 1; echo 2) | gojq -c .'
	blocked_complete gojq 1.9e9	# one thread reads; how many others there are is Go's to say
}

@test "every switch is counted: as the kernel itself counts them, at 100,000 a second" {
	need_root
	background "$ROOT/build/bench/pingpong" 60
	wait_until switches 1000
	local all some
	all=$(switches)
	begin -p "$pid"
	some=$(switches)
	sleep 2
	wait_until switches $((some + 5000))
	some=$(($(switches) - some))
	finish
	all=$(($(switches) - all))
	echo "# $(summary .samples) stays; between $some and $all switches" >&3
	expect "$(summary '.samples + .lost_unseen') >= $some && $(summary .samples) <= $all + 1"
	nothing_lost
	# those that came before the tables are few
	expect "$(summary .stacks_lost) == 0 && $(summary .ended.complete) >= 0.999 * $(summary .samples)"
	# few stacks: a read() of either pipe; where a thread is preempted, is chance
	some=$(stacks 'map(select(.state == "S")) | length')
	expect "$some > 0 && $some < 60"
}

# bats test_tags=full,alone
@test "no room in the maps: later values are counted all the same" {
	need_root
	background chrt --idle 0 waits threads 200	# the tool and jq need not wait for their turns behind them
	wait_until grep -q ready "$WORK/background.out"
	measure --max-stacks 16 -p "$pid" 2
	expect "$(stacks length) > 200"
	nothing_lost
	expect "$(summary '(.blocked_ns + .waiting_ns) / 1e9') > 0.9 * 200 * 2"
}

# ---- states and limits ----

@test "--state, -m and -M filter; preempted is R" {
	need_root
	background taskset -c 0 waits preempt
	local burner=$pid
	background taskset -c 0 waits preempt
	local other=$pid
	background waits nanosleep 0 20
	local sleeper=$pid
	wait_until is_sleeping "$sleeper"
	measure -p "$burner,$other,$sleeper" --state R 1
	[ "$(stacks 'map(.state) | unique | join(",")')" = R ]
	expect "$(stacks "map(select(.pid == $burner or .pid == $other) | .waiting_ns) | add") > 0.5e9"
	expect "$(stacks "map(.blocked_ns) | add") == 0"
	measure -p "$burner,$other,$sleeper" --state 1 1
	[ "$(stacks 'map(select(.value_ns > 1000000) | "\(.state) \(.pid)") | unique | join(",")')" = "S $sleeper" ]
	measure -p "$sleeper" --state DT 1
	[ "$(stacks length)" -eq 0 ]
	# each period is as long as that, so their mean is, however late the machine wakes it
	measure -p "$sleeper" -m 30ms 1
	[ "$(stacks 'all(.value_ns >= 30e6 * .count)')" = true ]
	measure -p "$sleeper" -m 15000 1	# microseconds
	[ "$(stacks '(map(.count) | add) > 5 and all(.value_ns >= 15e6 * .count)')" = true ]
	measure -p "$sleeper" -M 15000 1
	[ "$(stacks 'all(.value_ns <= 15e6 * .count)')" = true ]
	kill -STOP "$sleeper"
	measure -p "$sleeper" --state T 0.5
	[ "$(stacks 'map("\(.state) \(.open)") | join(",")')" = "T true" ]
	kill -CONT "$sleeper"
}

@test "--comm, --cgroup, -t, -k, -C" {
	need_root
	background waits nanosleep
	local first=$pid
	background nested sleep
	wait_until is_sleeping "$first"
	measure --comm waits -U 0.5
	[ "$(stacks 'map(.comm) | unique | join(",")')" = waits ]
	measure -t "$first" 0.5
	[ "$(stacks 'map(.tid) | unique | join(",")')" = "$first" ]
	taskset -pc 0 "$first" >/dev/null
	measure -C 0 -t "$first" 2	# another test may keep this CPU busy
	expect "$(summary .samples) > 10"
	measure -C 1 -t "$first" 0.5
	[ "$(summary .samples)" -eq 0 ]
	measure -k 0.5
	[ "$(stacks 'map(select(.user | length > 0)) | length')" -eq 0 ]
	[ "$(summary .ended.no_user)" -eq "$(summary .samples)" ]
	! sees_kernel_threads || expect "$(summary .samples) > 3"
	local cgroups cgroup
	cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$cgroups" ] && mkdir "$cgroups/offcputime-test.$$" || skip "no cgroup can be made"
	mkdir "$cgroups/offcputime-test.$$/below"
	echo "$first" >"$cgroups/offcputime-test.$$/below/cgroup.procs"
	measure --cgroup "$cgroups/offcputime-test.$$" -U 0.5
	cgroup=$(stacks 'map(.pid) | unique | join(",")')
	measure --cgroup "$cgroups/offcputime-test.$$/below" -U 0.5
	cgroup+=" $(stacks 'map(.pid) | unique | join(",")')"
	timeout 60 offcputime -j --cgroup "$cgroups/offcputime-test.$$/below" >"$WORK/out" 2>"$WORK/err" &
	pids+=($!)
	wait_until grep -q 'Ctrl-C' "$WORK/err"
	kill "$first"
	# as a service that is started again
	wait_until rmdir "$cgroups/offcputime-test.$$/below"
	mkdir "$cgroups/offcputime-test.$$/below"
	wait $!
	rmdir "$cgroups/offcputime-test.$$/below" "$cgroups/offcputime-test.$$"
	grep -q "the cgroup '$cgroups/offcputime-test.$$/below' was removed" "$WORK/err"
	[ "$cgroup" = "$first $first" ]
}

# ---- threads that come and go ----

# bats test_tags=check
@test "a thread that is blocked when its process exits counts until then" {
	need_root
	measure -- waits exit
	# half a second in main, half a second in the other one; what is more, the machine took
	[ "$(stacks 'group_by(.tid) | map(map(.value_ns) | add > 0.48e9) == [true, true]')" = true ]
	expect "$(stacks 'map(.value_ns) | add') <= 2e9 * $(summary .seconds)"
	[ "$(stacks 'map(select(.open)) | length')" -eq 0 ]
}

# bats test_tags=timing
@test "1,000 threads blocked before the start: each with a complete stack, and Ctrl-C ends the tool at once" {
	need_root
	background python3 -c '
import threading, time
threading.stack_size(1 << 18)
def hold(): time.sleep(1000)
for i in range(1000): threading.Thread(target=hold, daemon=True).start()
print("ready", flush=True)
time.sleep(1000)'
	wait_until grep -q ready "$WORK/background.out"
	begin -U -p "$pid"
	sleep 1
	began=${EPOCHREALTIME/./}
	finish
	echo "# ended in $(((${EPOCHREALTIME/./} - began) / 1000)) ms" >&3
	expect "${EPOCHREALTIME/./} - $began < 5000000"
	[ "$(stacks 'map(.tid) | unique | length')" -eq 1001 ]
	# the tool reads stacks for half a second at most: those that a busy machine leaves are "unreadable", and no others
	expect "$(stacks 'map(select(.open and .ended_by == "complete" and (.user | length) > 5)) | length') >= 900"
	[ "$(stacks 'map(select(.open and (.ended_by == "complete" and (.user | length) > 5 or .ended_by == "unreadable"))) | length')" -eq 1001 ]
}

# bats test_tags=full
@test "kernel threads that have nothing to do do not wait, unless -k or --state asks for them" {
	need_root
	sees_kernel_threads || skip "needs to see kernel threads"
	local tool options shown
	for tool in offcputime offwaketime; do
		for options in "" -k "--state SI"; do
			$tool -q -j $options 1 >"$WORK/out"
			shown=$(stacks 'map(select((.comm | test("^(kthreadd|kworker|migration|ksoftirqd)")) and (.state == "S" or .state == "I"))) | length')
			echo "$tool $options: $shown stacks of kernel threads that sleep or idle"
			case $options in
			"") [ "$shown" -eq 0 ] ;;
			*) [ "$shown" -gt 0 ] ;;
			esac
		done
	done
}

@test "in a PID namespace: -p as seen there, and whole stacks" {
	need_root
	need unshare
	cat >"$WORK/inside" <<-EOF
		waits nanosleep >"$WORK/ready" & sleeper=\$!
		until grep -q ready "$WORK/ready"; do sleep 0.1; done
		offcputime -q -j -p \$sleeper 1 >"$WORK/out" 2>"$WORK/err" || exit 1
		echo \$sleeper >"$WORK/pid"
		kill \$sleeper
	EOF
	"${in_pid_namespace[@]}" bash "$WORK/inside"
	[ "$(stacks 'map(.pid) | unique | join(",")')" = "$(cat "$WORK/pid")" ]
	expect "$(summary .ended.complete) >= 0.9 * $(summary .samples) - 1 && $(summary .ended.complete) > 5"
	# from outside, by its number here
	background "${in_pid_namespace[@]}" waits nanosleep
	wait_until grep -q ready "$WORK/background.out"
	local inner
	inner=$(pgrep -P "$pid")
	measure -p "$inner" 1
	kill -KILL "$inner"	# the first of a PID namespace heeds nothing less, nor does unshare(1)
	expect "$(summary .ended.complete) >= 0.9 * $(summary .samples) - 1 && $(summary .ended.complete) > 5"
}

@test "an idle process; a kernel thread; SIGTERM prints the results; a command's status" {
	need_root
	background sleep 100
	wait_until is_sleeping "$pid"
	measure -U -p "$pid" 0.3
	[ "$(summary .samples)" -eq 1 ]
	if sees_kernel_threads; then
		measure -p 2 0.3
		[ "$(stacks 'map("\(.comm) \(.user | length) \(.ended_by)") | unique | join(",")')" = "kthreadd 0 no_user" ]
	fi
	rm -f "$WORK/err"
	offcputime -f -p "$pid" >"$WORK/out" 2>"$WORK/err" 3>&- &
	wait_until grep -q Ctrl-C "$WORK/err"
	kill $!
	wait $!
	grep -qE '^sleep;.* [0-9]+$' "$WORK/out"
	run offcputime -q -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
}

@test "the start's line, JSON as the schema has it, -v" {
	need_root
	says_when_it_begins "Measuring time off the CPU, for 0.2 s" offcputime 0.2
	is_terse offcputime -p $$ 0.2
	offcputime -j -m 1ms --state SD --time blocked 1 >"$WORK/out" 2>/dev/null
	valid_json
	[ "$(jq -c 'select(.type == "start").filters | [.part, .min_ns, .states]' "$WORK/out")" = '["blocked",1000000,"SD"]' ]
	offcputime -j -- waits nanosleep 20 >"$WORK/all" 2>/dev/null
	grep '^{' "$WORK/all" >"$WORK/out"
	valid_json
	expect "$(stacks length) > 0"
}

@test "folded and text are in microseconds" {
	need_root
	# in all sleeps, and no more than the program took by its own clock
	offcputime -q -f -- waits nanosleep 20 10 >"$WORK/folded" 2>/dev/null
	awk '/^took/ { took = $2 / 1e3 } /^waits;.*nanosleep/ { n += $NF } END { print n, took; exit !(n > 0.19e6 && n <= took) }' "$WORK/folded"
	offcputime -q -- waits nanosleep 20 10 >"$WORK/text" 2>/dev/null
	grep -qE '^    -                waits \([0-9]+\)$' "$WORK/text"
	awk '/^took/ { took = $2 / 1e3 } /^$/ { sleeps = 0 } /nanosleep/ && !/^    command: / { sleeps = 1 } sleeps && /^        [0-9]+ us, [0-9.]+ % of all$/ { n += $1 }
		END { print n, took; exit !(n > 0.19e6 && n <= took) }' "$WORK/text"
}

has_threads() {	# PID N
	[ "$(ls "/proc/$1/task" | wc -l)" -eq "$2" ]
}

@test "text: waits are of the function that /proc/PID/wchan names; a stack of several threads says how many they are" {
	need_root
	background blocked
	wait_until has_threads "$pid" 5
	offcputime -q -p "$pid" 0.5 >"$WORK/text" 2>/dev/null
	# four threads wait in one and the same way, for as long as each of them does
	grep -qE "^    -                blocked \\($pid\\), 4 threads$" "$WORK/text"
	grep -qE "^    -                blocked \\($pid\\)$" "$WORK/text"
	cat /proc/$pid/task/*/wchan | tee "$WORK/wchan"
	awk 'NR == FNR { waits = $0; next }
		/^self %/ { table = 1; us = $5 == "us"; next } /^$/ { table = 0 } table && $1 > 1 { sum += $1; if (!index(waits, $4)) bad = $4 }
		END { print sum, bad; exit bad != "" || !us || sum < 98 }' "$WORK/wchan" "$WORK/text"
	wallprof -q -p "$pid" 0.5 >"$WORK/text" 2>/dev/null
	grep -qE "^ +[0-9. ]+  blocked \\($pid\\), 4 threads$" "$WORK/text"
}

# bats test_tags=check
@test "each BPF program takes at most 15,000 instructions to verify" {
	need_root
	offcputime -v 0.1 2>&1 >/dev/null | awk '/instructions verified/ { print $2, $3 }' | tee "$WORK/verified"
	[ "$(wc -l <"$WORK/verified")" -ge 3 ]
	awk '$2 > 15000 { exit 1 }' "$WORK/verified"
}
