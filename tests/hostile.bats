#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Processes and files that try to stop the tool, or choose what it opens: it keeps its duration, others keep their stacks, and
# what was lost is named with its cause.

load lib

teardown() {
	end_children
	umount -l "$WORK/mnt" 2>/dev/null || true
	rm -rf "$WORK"
}

# starts one more, whose stacks are to be whole whatever the attacker does: $bystander
bystander() {
	cp "$ROOT/build/tests/nested" "$WORK/bystander"
	background "$WORK/bystander" burn 60
	bystander=$pid
}

# runs cpuprof for SECONDS; how long that took in all: $took
timed() {	# SECONDS ARG...
	local seconds=$1 start
	shift
	start=$(date +%s%N)
	timeout 60 cpuprof -j -F 499 "$@" "$seconds" >"$WORK/out" 2>"$WORK/err"
	took=$(awk "BEGIN { print ($(date +%s%N) - $start) / 1e9 }")
}

# cpuprof for SECONDS beside the attack takes at most a second longer than it took without, which is $before, and most of what
# names may take; and the bystander's stacks are whole
kept() {	# SECONDS ARG...
	timed "$@"
	local all whole
	read -r all whole <<<"$(jq -r 'select(.type == "stack" and .comm == "bystander") | [.count, (if .ended_by == "complete" then .count else 0 end)] | @tsv' "$WORK/out" |
		awk '{ all += $1; whole += $2 } END { print all + 0, whole + 0 }')"
	echo "# $took s, $before s before; $whole of the bystander's $all samples whole" >&3
	sed 's/^/# /' "$WORK/err"
	expect "$took < $before + 0.6 + 1"
	expect "$all > 20 && $whole >= 0.95 * $all"
}

# true when process PID has had so much more of the CPU since it was first asked about
has_run() {	# PID HUNDREDTHS
	local now
	now=$(awk '{ print $14 + $15 }' "/proc/$1/stat")
	[ -e "$WORK/ran.$1" ] || echo "$now" >"$WORK/ran.$1"
	((now >= $(cat "$WORK/ran.$1") + $2))
}

# SIGTERM ends a measurement of everything soon, its report included
can_be_ended() {	# TOOL
	local start
	start=$(date +%s%N)
	timeout -s TERM 0.5 "$1" >/dev/null 2>&1 || [ $? -eq 124 ]
	expect "$(($(date +%s%N) - start)) < 2.5e9"
}

# mounts a file system with a copy of nested, or of FILE, as "f"; its server: $server
mount_served() {	# [FILE]
	mkdir "$WORK/mnt"
	hung-fs "$WORK/mnt" "${1-$ROOT/build/tests/nested}" >"$WORK/ready" 2>&1 3>&- &
	server=$!
	pids+=("$server")
	wait_until test -s "$WORK/ready" || true
	grep -q ready "$WORK/ready" || skip "FUSE cannot be mounted here"
}

# bats test_tags=timing
@test "a file system whose server hangs: the time is kept, and the file named that did not answer" {
	need_root
	need setpriv
	mount_served
	chmod a+x "$WORK"
	as_nobody "$WORK/mnt/f" burn 60
	wait_until grep -q "$WORK/mnt/f" "/proc/$pid/maps"
	sleep 0.3	# what it needs of its file is in memory from now on
	bystander
	timed 2
	before=$took
	kill -USR1 "$server"
	kept 2
	grep -q "of these in '$WORK/mnt/f': its file system did not answer" "$WORK/err"
	# the report can be ended, too
	kill -0 "$pid"
	can_be_ended cpuprof
}

# bats test_tags=alone
@test "a server that hangs: however many files and processes it has, few workers are left behind" {
	need_root
	need setpriv
	mount_served /usr/bin/perl
	chmod a+x "$WORK"
	for ((i = 0; i < 60; i++)); do
		setpriv --reuid=65534 --regid=65534 --clear-groups "$WORK/mnt/f$i" -e 'select(undef, undef, undef, .05) while 1' 3>&- &
		pids+=($!)
	done
	wait_until grep -q "$WORK/mnt/f59" "/proc/$!/maps"
	sleep 0.3	# as above
	kill -USR1 "$server"
	offcputime -qo "$WORK/out.txt" 5 2>"$WORK/err" 3>&- &
	local tool=$! most=0 now
	while kill -0 $tool 2>/dev/null; do
		now=$(ps -eo stat=,comm= | grep -c '^D.*ehperf') || true
		most=$((now > most ? now : most))
		sleep 0.5
	done
	wait $tool
	echo "# $most workers at most wait for the server" >&3
	[ $most -gt 0 ]
	[ $most -le 25 ]
	grep -q "of these in '$WORK/mnt/f.*': its file system did not answer" "$WORK/err"
}

# bats test_tags=timing
@test "a command on a file system whose server hangs: the tool heeds a signal, and its duration" {
	need_root
	mount_served
	kill -USR1 "$server"
	local tool
	for tool in "cpuprof" "cpuprof --duration 1"; do
		rm -f "$WORK/err"
		$tool -o "$WORK/out.txt" -- "$WORK/mnt/f" burn 1 2>"$WORK/err" 3>&- &
		pids+=($!)
		wait_until grep -q Ctrl-C "$WORK/err"
		[ "$tool" != cpuprof ] || kill -INT $!
		wait_until grep -q 'cpuprof: [0-9]* samples' "$WORK/err"
		cat "$WORK/err"
		kill -KILL $!
	done
	kill -KILL "$server"
}

# memory that is read when the measurement begins, of threads that sleep
# bats test_tags=full,timing
@test "a stack in a file whose server hangs: tools that measure sleeping threads keep the time" {
	need_root
	need setpriv
	truncate -s 1M "$WORK/zeros"
	mount_served "$WORK/zeros"
	chmod a+x "$WORK"
	as_nobody "$ROOT/build/tests/far-stacks" 20 "$WORK/mnt/f"
	local hung=$pid tool start
	wait_until grep -q asleep "$WORK/background.out"
	background nested hold
	wait_until is_sleeping "$pid"
	kill -USR1 "$server"
	for tool in offcputime offwaketime wallprof; do
		start=$(date +%s%N)
		timeout -k 1 20 "$tool" -q -o "$WORK/out.jsonl" -p "$hung,$pid" 1 2>"$WORK/err"
		took=$(($(date +%s%N) - start))
		echo "# $tool 1 took $((took / 1000000)) ms" >&3
		expect "$took < 4e9"
		# who answers has a whole stack, and the others are there
		jq -e -n --argjson pid "$pid" '[inputs | select(.pid == $pid and .state == "S" or .tid == $pid and .why == "S")] | length > 0' \
			"$WORK/out.jsonl"
		[ "$tool" = wallprof ] || [ "$(jq -r "select(.type == \"stack\" and .pid == $pid) | .ended_by" "$WORK/out.jsonl")" = complete ]
		rm -f "$WORK/out.jsonl"
	done
	# and they can be ended at any time
	can_be_ended offcputime
}

# bats test_tags=full,timing
@test "4,000 threads that seem to have stacks of 256 KB: neither memory nor time are taken for them" {
	need_root
	need setpriv
	as_nobody "$ROOT/build/tests/far-stacks" 1
	wait_until grep -q asleep "$WORK/background.out"
	local few=$pid least tool
	chmod 755 "$WORK"
	as_nobody "$ROOT/build/tests/far-stacks" 4000
	wait_until grep -q asleep "$WORK/background.out"
	for tool in offcputime wallprof; do
		for of in $few $pid; do
			start=$(date +%s%N)
			peak_mib "$tool" -q -f -p $of 1 >"$WORK/most" 2>"$WORK/err"
			took=$(($(date +%s%N) - start))
			echo "# $tool: $(cat "$WORK/most") MiB, $((took / 1000000)) ms" >&3
			[ $of = $pid ] || { least=$(cat "$WORK/most") before=$took; }
		done
		expect "$(cat "$WORK/most") < $least + 150 && $took < $before + 2e9"
	done
}

# bats test_tags=full,timing
@test "perf maps that each take nearly as long as one may: the time is kept, and root's files have their names" {
	need_root
	need setpriv
	head -c 80000000 /dev/zero | tr '\0' '\n' >"$WORK/lines"
	chown 65534 "$WORK/lines"
	bystander
	local i jits=()
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		as_nobody "$ROOT/build/tests/jits" map
		jits+=("$pid")
	done
	timed 1
	before=$took
	kill "${jits[@]}" 2>/dev/null || true
	jits=()
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		as_nobody "$ROOT/build/tests/jits" map
		jits+=("$pid")
		wait_until [ -e "/tmp/perf-$pid.map" ]
		ln -f "$WORK/lines" "/tmp/perf-$pid.map"
	done
	timed 1
	for pid in "${jits[@]}"; do rm -f "/tmp/perf-$pid.map"; done
	echo "# $took s, $before s before" >&3
	sed 's/^/# /' "$WORK/err"
	expect "$took < $before + 1.5"
	grep -qE 'went without names|were not asked for names' "$WORK/err"
	jq -e -n '[inputs | select(.type == "stack" and .comm == "bystander") | 
		[.user[].symbol // ""] | any(startswith("__libc_start"))] | length > 0 and all' "$WORK/out"
}

# bats test_tags=timing
@test "workers that are stopped, whatever they are doing: the tool goes on without them, in its time" {
	need_root
	bystander
	local tool i nr began
	local tools=(cpuprof offwaketime)
	[ "$SIZE" != full ] || tools+=(offcputime wallprof "stackcount t:sched:sched_switch")
	for tool in "${tools[@]}"; do
		began=${EPOCHREALTIME/./} nr=0
		$tool -q -j -o "$WORK/out.jsonl" 1 2>"$WORK/err" 3>&- &
		pid=$!
		for i in 1 2 3 4 5 6 7 8; do
			sleep 0.2
			! pkill -STOP -P $pid || nr=$((nr + 1))
		done
		wait $pid
		[ $nr -gt 0 ]
		expect "${EPOCHREALTIME/./} - $began < 12000000"	# and 1 s of it is measured
		echo "$tool: $(jq -c 'select(.type == "summary") | [.seconds, .samples]' "$WORK/out.jsonl")"
		expect "$(jq 'select(.type == "summary").seconds' "$WORK/out.jsonl") < 2"
	done
}

@test "no device, no FIFO is opened, wherever the path of a mapped file leads by now" {
	need_root
	need strace setpriv
	chmod a+x "$WORK"
	mkfifo "$WORK/fifo"
	for to in "$WORK/fifo" /dev/kmsg; do
		cp "$ROOT/build/tests/nested" "$WORK/mapped"
		as_nobody "$WORK/mapped" burn 60
		wait_until grep -q "$WORK/mapped" "/proc/$pid/maps"
		rm "$WORK/mapped"
		ln -s "$to" "$WORK/mapped"
		timeout 20 strace -f -qq -e trace=open,openat,openat2 -o "$WORK/trace" "$ROOT/build/cpuprof" -f -p "$pid" 1 >"$WORK/out" 2>"$WORK/err"
		grep -E '(fifo|kmsg|mapped)"' "$WORK/trace" | grep -q O_PATH	# it was looked at,
		refute grep -qE '(fifo|kmsg|mapped)", O_RDONLY' "$WORK/trace"	# and not opened
		kill "$pid"
		rm "$WORK/mapped"
	done
}

# bats test_tags=full
@test "mapped files are not kept: unmounting works, what is deleted is gone, and descriptors stay few" {
	need_root
	need findmnt
	mkdir "$WORK/mnt"
	mount -t tmpfs none "$WORK/mnt" || skip "tmpfs cannot be mounted"
	cp "$ROOT/build/tests/nested" "$WORK/mnt/f"
	background "$WORK/mnt/f" burn 60
	local user=$pid
	cpuprof -f >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Sampling "$WORK/err"
	wait_until has_run "$user" 50
	kill "$user"
	wait "$user" || true
	# a worker may be at it just now
	wait_until bash -c '! ls -l /proc/$0/fd $(pgrep -P $0 | sed "s|.*|/proc/&/fd|") 2>/dev/null | grep "$1/mnt"' "$tool" "$WORK"
	local before
	before=$(ls "/proc/$tool/fd" | wc -l)
	# another profiler on this machine may have it
	local holders
	holders=$(ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c "$WORK/mnt") || true
	[ "$holders" -gt 0 ] || wait_until umount "$WORK/mnt"
	for i in $(seq 40); do
		cp "$ROOT/build/tests/nested" "$WORK/f$i"
		"$WORK/f$i" brief 0.02
		rm "$WORK/f$i"
	done
	wait_until bash -c '! ls -l /proc/$0/fd | grep "$1/.*deleted"' "$tool" "$WORK"
	echo "# $before descriptors, $(ls "/proc/$tool/fd" | wc -l) after 40 files more" >&3
	wait_until eval "[ \$(ls /proc/$tool/fd | wc -l) -le $((before + 4)) ]"
	kill -INT "$tool"
	wait "$tool"
	grep -q '^f;' "$WORK/out"
}

@test "a second signal ends the tool at once, one that comes twice is one" {
	need_root
	background nested burn 60	# or there may be nothing to report
	cpuprof -f >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Sampling "$WORK/err"
	wait_until has_run "$pid" 30
	kill -INT "$tool" "$tool"
	wait "$tool"
	[ -s "$WORK/out" ]
	rm "$WORK/out"	# a function may be called so
	cpuprof -f -- sh -c 'trap "" TERM INT HUP; echo ready; sleep 30' >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q ready "$WORK/out"
	kill -HUP "$tool"
	sleep 0.5
	# two that a machine which stood still hands over together are one
	for i in {1..20}; do kill -TERM "$tool" && sleep 0.5 || break; done
	local status=0
	wait "$tool" || status=$?
	[ "$status" -eq 143 ]
}

# a program of root's whose function `own` spins, with its names in victim.debug beside it; where others may read it
make_victim() {
	need gcc objcopy strip readelf
	echo 'static volatile long n; static __attribute__((noipa)) void own(void) { for (;;) n++; }
		__attribute__((noipa)) int main(void) { own(); return n; }' >"$WORK/victim.c"
	gcc -g -O1 -Wl,--build-id -o "$WORK/victim" "$WORK/victim.c"
	objcopy --only-keep-debug "$WORK/victim" "$WORK/victim.debug"
	strip "$WORK/victim"
	(cd "$WORK" && objcopy --add-gnu-debuglink=victim.debug victim)
	id=$(readelf -n "$WORK/victim" | awk '/Build ID/ { print $3 }')
	chmod 755 "$WORK"
}

# "COUNT NAMED PATH" of the frames of the victim's samples: how many are in its file, are called own or main, and under its path
victims_frames() {
	jq -r -n --arg path "$WORK/victim" '[inputs | select(.type == "stack" and .comm == "victim") | .count as $n | .user[] |
		select(.module // "" | test("/libc|ld-linux") | not) | { $n, named: (.symbol | IN("own", "main", "_start")), path: (.module == $path) }] |
		[(map(.n) | add // 0), (map(select(.named).n) | add // 0), (map(select(.path).n) | add // 0)] | @tsv' "$WORK/out"
}

# while another has the victim's file mapped: one that runs already, and one that begins when that is known
victims_names_are_its_own() {	# WHO
	local order tool all named path
	for order in before after; do
		[ "$order" = after ] || background "$WORK/victim"
		rm -f "$WORK/err"
		cpuprof -j >"$WORK/out" 2>"$WORK/err" 3>&- &
		tool=$!
		pids+=("$tool")
		wait_until grep -q Sampling "$WORK/err"
		[ "$order" = before ] || background "$WORK/victim"
		wait_until has_run "$pid" 50
		kill -INT "$tool"
		wait "$tool"
		kill "$pid"
		echo "# $1, $order: $(victims_frames)" >&3
		sed 's/^/# /' "$WORK/err"
		read -r all named path <<<"$(victims_frames)"
		expect "${all:-0} > 20 && ${named:-0} >= 0.95 * $all && ${path:-0} >= 0.95 * $all"
		refute grep -q EVIL_ "$WORK/out"
	done
}

@test "whoever maps a file first, in a mount namespace of its own, chooses neither its names nor its path" {
	need_root
	need setpriv unshare python3
	make_victim
	mkdir -p -m 755 "$WORK/evil/.build-id/${id:0:2}"
	objcopy --prefix-symbols=EVIL_ "$WORK/victim.debug" "$WORK/evil/.build-id/${id:0:2}/${id:2}.debug"
	touch "$WORK/evil/x"
	chown -R 65534:65534 "$WORK/evil"
	chmod -R a+rX "$WORK/evil"
	local user=(setpriv --reuid=65534 --regid=65534 --clear-groups) own=(unshare --user --map-root-user --mount) at
	"${user[@]}" "${own[@]}" true || skip "users cannot make namespaces here"
	# the file, by its own path or by one that leads to it only there
	cat >"$WORK/map" <<-'END'
		mount --bind "$1/evil" /usr/lib/debug
		[ "$2" = "$1/victim" ] || mount --bind "$1/victim" "$2"
		exec python3 -c 'import mmap, sys, time
		with open(sys.argv[1]) as f: m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)
		print("mapped", flush=True)
		while True: time.sleep(0.01)' "$2"
	END
	for at in "$WORK/victim" "$WORK/evil/x"; do
		background "${user[@]}" "${own[@]}" bash -e "$WORK/map" "$WORK" "$at"
		local attacker=$pid
		wait_until grep -q mapped "$WORK/background.out"
		victims_names_are_its_own "$at"
		kill "$attacker"
	done
	# a process outside of that namespace, which has been handed a descriptor from there
	cat >"$WORK/handed.py" <<-'END'
		import mmap, socket, subprocess, sys, time
		ours, theirs = socket.socketpair()
		opener = "import socket, sys; f = open(sys.argv[2]); socket.send_fds(socket.socket(fileno=int(sys.argv[1])), [b'x'], [f.fileno()])"
		subprocess.run(sys.argv[2:] + ["bash", "-ec", 'mount --bind "$1/victim" "$1/evil/x"; exec "$3" -c "$0" "$2" "$1/evil/x"',
			opener, sys.argv[1], str(theirs.fileno()), sys.executable], pass_fds=[theirs.fileno()], check=True)
		fd = socket.recv_fds(ours, 1, 1)[1][0]
		m = mmap.mmap(fd, 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)
		print("mapped", flush=True)
		while True: time.sleep(0.01)
	END
	background "${user[@]}" env PATH=/usr/bin:/bin python3 "$WORK/handed.py" "$WORK" "${own[@]}"
	wait_until grep -q mapped "$WORK/background.out" || { cat "$WORK/background.out"; return 1; }
	# the file, and not by its path
	grep " r-xp .* $(stat -c %i "$WORK/victim") " "/proc/$pid/maps" >"$WORK/mapped"
	refute grep -q "$WORK/victim" "$WORK/mapped"
	victims_names_are_its_own "a descriptor from there"
}

# no child of the tool that read DWARF is there any more
no_child_left() {
	refute pgrep -f "cpuprof .*$WORK"
}

# bats test_tags=timing,full
@test "-l: DWARF that inflates to gigabytes, names a FIFO or takes long to read takes neither time nor memory of others" {
	need_root
	need gcc objcopy python3 setpriv pgrep
	make_victim
	local as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups) i set start before took= most
	mkdir -m 755 "$WORK/theirs"
	# each takes a fifth of a CPU, so that their DWARF is all that they hold up
	cat >"$WORK/burn.c" <<-'C'
		#include <stdlib.h>
		#include <unistd.h>
		void spin(void);
		int main(int n, char **v) { alarm(atoi(v[1])); for (;; usleep(4000)) for (int i = 0; i < 16; i++) spin(); }
	C
	echo 'void spin(void) { for (volatile int i = 0; i < 50000; i++); }' >"$WORK/spin.c"
	python3 -c 'print(".globl spin\n.file 1 \"a.c\"\nspin: .cfi_startproc")
for i in range(300000): print(".loc 1 %d\nnop" % (i + 1))
print("ret\n.cfi_endproc\n.section .note.GNU-stack")' >"$WORK/spin.s"
	gcc -g -O1 -o "$WORK/theirs/plain0" "$WORK/burn.c" "$WORK/spin.c"
	gcc -g -O1 -o "$WORK/theirs/long0" "$WORK/burn.c" "$WORK/spin.s"
	cp "$WORK/theirs/plain0" "$WORK/theirs/inflated0"
	cp "$WORK/theirs/plain0" "$WORK/theirs/inflated1"
	hostile-elf inflate "$WORK/theirs/inflated0" .debug_str 900
	hostile-elf inflate "$WORK/theirs/inflated1" .debug_line 900
	mkfifo "$WORK/theirs/fifo"
	printf '%s\0AAAAAAAAAAAAAAAAAAAA' "$WORK/theirs/fifo" >"$WORK/link"
	objcopy --add-section .gnu_debugaltlink="$WORK/link" "$WORK/theirs/plain0" "$WORK/theirs/linked0"
	for i in 1 2 3 4 5; do cp "$WORK/theirs/plain0" "$WORK/theirs/plain$i"; done
	for i in 1 2; do cp "$WORK/theirs/long0" "$WORK/theirs/long$i"; done
	chown -R 65534:65534 "$WORK/theirs"
	install -d -o 65533 "$WORK/users"
	install -o 65533 "$WORK/theirs/plain0" "$WORK/users/another"
	setpriv --reuid=65533 --regid=65533 --clear-groups "$WORK/users/another" 100 3>&- &
	pids+=($!)
	background "$WORK/victim"
	for set in "$(echo plain{0..5})" "inflated0 inflated1 linked0 long0 long1 long2"; do
		before=${took:-}
		local theirs=()
		for i in $set; do
			"${as_other[@]}" "$WORK/theirs/$i" 100 3>&- &
			pids+=($!) theirs+=($!)
		done
		sleep 0.3
		rm -f "$WORK/out.jsonl"
		start=$(date +%s%N)
		peak_mib timeout 100 cpuprof -q -j -l -o "$WORK/out.jsonl" 3 >"$WORK/most" 2>"$WORK/err"
		took=$(awk "BEGIN { print ($(date +%s%N) - $start) / 1e9 }") most=$(cat "$WORK/most")
		echo "# $set: $took s, $most MiB" >&3
		[ -n "$before" ] || kill "${theirs[@]}"
	done
	sed 's/^/# /' "$WORK/err"
	expect "$took < $before + 1 + 1 && $most < 400"	# a second of 2 for DWARF, and one
	[ "$(jq -r -n '[inputs | select(.type == "stack" and .comm == "victim") | .user[0] | select(.symbol == "own") | has("line")] | length > 0 and all' "$WORK/out.jsonl")" = true ]
	# nor do the files of one user use up the time of another's
	[ "$(jq -r -n '[inputs | select(.type == "stack" and .comm == "another") | .user[0] | select(.symbol == "spin") | has("line")] | length > 0 and all' "$WORK/out.jsonl")" = true ]
	grep -q 'without inlined functions and lines' "$WORK/err"
	no_child_left
	# nor when the tool is ended at once
	cpuprof -q -j -l -o "$WORK/second.jsonl" 30 >/dev/null 2>&1 3>&- &
	local tool=$!
	pids+=($tool)
	sleep 2
	kill -INT "$tool"
	sleep 0.5
	kill -INT "$tool" 2>/dev/null || true
	wait_until_gone "$tool"
	wait_until no_child_left
}

# bats test_tags=full
@test "-l: DWARF that goes round: it ends in time, and the file's other functions have their lines" {
	need_root
	need gcc
	local start
	cat >"$WORK/main.c" <<-'C'
		void spin(void);
		int main(void) { for (;;) spin(); }
	C
	gcc -g -O1 -o "$WORK/cycles" "$WORK/main.c" "$ROOT/tests/workloads/dwarf-cycles.s"
	chmod a+x "$WORK"
	as_nobody "$WORK/cycles"
	start=${EPOCHREALTIME/./}
	cpuprof -j -l -i -F 499 -p "$pid" -o "$WORK/out" 1 2>"$WORK/err"
	expect "${EPOCHREALTIME/./} - $start < 6000000"
	jq -c 'select(.type == "stack").user' "$WORK/out" | head -n 1
	[ "$(jq -n '[inputs | select(.type == "stack" and any(.user[]; .symbol == "spin")).user[] | select(.symbol == "main").line] | length > 0 and all(. == 2)' "$WORK/out")" = true ]
}

# a debuginfod that sends FILE, sends nothing, or sends without end; says what it was asked for in $WORK/port
debuginfod_server() {	# send|hang|endless [FILE]
	cat >"$WORK/server.py" <<-'END'
		import http.server, sys, time
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        print("asked", flush=True)
		        if sys.argv[1] == "hang":
		            time.sleep(300)
		        self.send_response(200)
		        self.end_headers()
		        if sys.argv[1] == "send":
		            self.wfile.write(open(sys.argv[2], "rb").read())
		        while sys.argv[1] == "endless":
		            self.wfile.write(bytes(1 << 20))
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		print(server.server_port, flush=True)
		server.serve_forever()
	END
	rm -f "$WORK/port"
	python3 "$WORK/server.py" "$@" >"$WORK/port" 2>/dev/null 3>&- &
	pids+=($!)
	wait_until test -s "$WORK/port"
	export DEBUGINFOD_URLS="http://127.0.0.1:$(head -n 1 "$WORK/port")" DEBUGINFOD_CACHE_PATH="$WORK/cache.$1"
}

# what a thread's status says of its rights: "SECCOMP UID CAPABILITIES"
rights_of() {	# PID
	awk '/^Uid:/ { u = $2 } /^Seccomp:/ { s = $2 } /^CapPrm:/ { c = $2 } END { print s, u, c }' "/proc/$1/status"
}

# bats test_tags=check
@test "the workers that parse tables, structures and names have no capabilities, and nothing open but their sockets" {
	need_root
	need pgrep
	local tool worker seccomp uid caps opener_uid fd fds parsers=0 readers=0
	background nested burn 60
	"$ROOT/build/cpuprof" -q -j -p "$pid" --every 1 >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until pgrep -P "$tool" ehperf-opener
	wait_until grep -q '"symbol":"clock_gettime"' "$WORK/out"	# its tables are made, and what has names is named
	read -r seccomp opener_uid caps <<<"$(rights_of "$(pgrep -o -P "$tool" ehperf-opener)")"
	# capabilities(7): to read files, processes' memory, and map_files
	[ "$seccomp" = 2 ]
	[ $((0x$caps & ~(1 << 2 | 1 << 19 | 1 << 40))) = 0 ]
	[ "$opener_uid" -gt 65535 ]
	for worker in $(pgrep -P "$tool" ehperf-worker); do
		read -r seccomp uid caps <<<"$(rights_of "$worker")"
		[ "$(grep -c 'memfd:ehperf-worker' "/proc/$worker/maps")" = 1 ]	# no other worker's requests and answers
		[ "$seccomp" = 2 ]
		if [ "$caps" != 0000000000000000 ]; then
			readers=$((readers + 1))
			continue
		fi
		parsers=$((parsers + 1))
		[ "$uid" -gt 65535 ]
		[ "$uid" != "$opener_uid" ]
		# its own socket, and of one that reads names also its decoder's
		fds=("/proc/$worker/fd/"*)
		[ "${#fds[@]}" -le 2 ]
		for fd in "${fds[@]}"; do [[ $(readlink "$fd") = socket:* ]]; done
	done
	echo "$parsers workers that parse, $readers that read"
	[ "$parsers" -ge 3 ]
	[ "$readers" -le 3 ]	# tables, structures, names; two for mappings, command lines
	kill -INT "$tool"
	wait "$tool"
}

@test "the file of an event is read by a child without rights" {
	need_root
	need gcc python3 pgrep
	# the demangler is asked for each name
	python3 -c 'for i in range(30000): print(".globl _ZN1a6f%05dEv\n.type _ZN1a6f%05dEv, @function\n_ZN1a6f%05dEv: ret" % (i, i, i))
print(".section .note.GNU-stack")' >"$WORK/many.s"
	gcc -shared -nostdlib -o "$WORK/many.so" "$WORK/many.s" 2>/dev/null
	"$ROOT/build/stackcount" -l "u:$WORK/many.so:a::*" >"$WORK/out" 2>"$WORK/err" 3>&- &
	local tool=$! child demangler seccomp uid caps fd
	pids+=("$tool")
	is_limited() {
		child=$(pgrep -P "$tool") && [[ $(rights_of "$child") = 2\ * ]] && kill -STOP "$child"
	}
	wait_until is_limited
	read -r seccomp uid caps <<<"$(rights_of "$child")"
	echo "seccomp $seccomp, user $uid, capabilities $caps: $(readlink "/proc/$child/fd/"*)"
	[ "$seccomp" = 2 ]
	[ "$uid" -gt 65535 ]
	[ "$caps" = 0000000000000000 ]
	# the tool's socket, the file, and the demanglers' sockets
	for fd in "/proc/$child/fd/"*; do
		[[ $(readlink "$fd") = socket:* || $(readlink "$fd") = "$WORK/many.so" ]]
	done
	[ "$(pgrep -c -P "$child")" -ge 1 ]
	for demangler in $(pgrep -P "$child"); do
		[[ $(rights_of "$demangler") = 2\ *\ 0000000000000000 ]]
	done
	kill -CONT "$child"
	wait "$tool"
	[ "$(wc -l <"$WORK/out")" -eq 30000 ]
	[ "$(sort -u "$WORK/out" | grep -c "^u:$WORK/many.so:a::f[0-9]*$")" -eq 30000 ]
}

# how many workers a tool has once it has named code of these processes
workers_for() {	# PID...
	local tool
	rm -f "$WORK/out"
	"$ROOT/build/cpuprof" -q -j -p "$(tr ' ' , <<<"$*")" --every 0.5 >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	all_named() {
		jq -s --arg pids "$*" -e '[.[] | select(.type == "stack" and any(.user[]; .symbol == "early")) | .pid | tostring] | unique == ($pids | split(" ") | unique)' "$WORK/out"
	}
	wait_until all_named "$@"
	pgrep -c -P "$tool" ehperf-worker
	kill -INT "$tool"
	wait "$tool"
}

@test "two users' perf maps are read by two workers, and those of one user by one" {
	need_root
	need setpriv
	chmod a+x "$WORK"
	install -m 755 "$ROOT/build/tests/jits" "$WORK"
	local uid jits=()
	for uid in 65534 65534 65533; do
		background setpriv --reuid=$uid --regid=$uid --clear-groups "$WORK/jits" map
		jits+=("$pid")
		wait_until test -s "/tmp/perf-$pid.map"
	done
	local same other
	same=$(workers_for "${jits[0]}" "${jits[1]}")
	other=$(workers_for "${jits[0]}" "${jits[2]}")
	for pid in "${jits[@]}"; do rm -f "/tmp/perf-$pid.map"; done
	echo "# $same workers for one user's processes, $other for two users'" >&3
	[ "$other" -eq $((same + 1)) ]
}

@test "another user's perf map names nothing, nor does a link to root's; root's own does" {
	need_root
	need setpriv
	local map start end of named as_other="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chmod 755 "$WORK"
	for of in file link own; do
		background jits map unnamed
		wait_until grep -q xp "$WORK/background.out"
		IFS=' -' read -r start end _ <"$WORK/background.out"
		map=/tmp/perf-$pid.map
		printf '%s %x MAPPED_name\n' "$start" $((0x$end - 0x$start)) >"$WORK/map"
		chmod 644 "$WORK/map"
		case $of in
		file) $as_other sh -c 'cat "$1" >"$2"' sh "$WORK/map" "$map" ;;
		link) $as_other ln -s "$WORK/map" "$map" ;;
		own) cp "$WORK/map" "$map" ;;
		esac
		cpuprof -q -f -F 499 -p "$pid" -o "$WORK/out.folded" 0.3
		cmp "$WORK/map" "$map"
		rm "$map"
		kill "$pid" 2>/dev/null || true	# it ends by itself, too
		named=$(awk '{ all += $NF } /MAPPED_name/ { n += $NF } END { printf "%d of %d", n, all }' "$WORK/out.folded")
		echo "$of: $named"
		rm "$WORK/out.folded"
		[ "$of" != own ] || expect "${named/ of/ > 0.5 *}"
		[ "$of" = own ] || [[ $named == "0 of "[1-9]* ]]
	done
}

# each of the tool's workers has a filter for its system calls, and no program could give it rights
are_confined() {	# PID
	local worker seccomp privileges all=0
	for worker in $(pgrep -P "$1" ehperf-worker); do
		read -r seccomp privileges <<<"$(awk '/^Seccomp:/ { s = $2 } /^NoNewPrivs:/ { n = $2 } END { print s, n }' "/proc/$worker/status" 2>/dev/null)"
		[ -n "${privileges:-}" ] || continue
		[ "$seccomp $privileges" = "2 1" ] || { echo "worker $worker: Seccomp $seccomp, NoNewPrivs $privileges"; return 1; }
		all=$((all + 1))
	done
	[ "$all" -gt 0 ]
}

# cpuprof for 2 s, of $measured, takes at most a second and SECONDS longer than $before
fetched_in_time() {	# SECONDS
	local start
	rm -f "$WORK/out"
	start=$(date +%s%N)
	timeout 100 cpuprof -q -j -l -p "$measured" -o "$WORK/out" 1 2>"$WORK/err" 3>&- &
	pids+=($!)
	tool=$!
	if [ "$1" -gt 1 ]; then
		wait_until grep -q asked "$WORK/port"
		are_confined "$(pgrep -P "$tool" cpuprof)"
	fi
	wait "$tool"
	took=$(awk "BEGIN { print ($(date +%s%N) - $start) / 1e9 }")
	echo "# ${DEBUGINFOD_URLS-}: $took s, ${before:-?} s before: $(victims_frames)" >&3
	sed 's/^/# /' "$WORK/err"
	[ -z "$before" ] || expect "$took < $before + 1 + $1"
}

# bats test_tags=timing,full
@test "debuginfods that are not there, hang, send without end or another file: bounded, refused, and no worker has more rights" {
	need_root
	need python3 pgrep
	[ -e /usr/lib/x86_64-linux-gnu/libdebuginfod.so.1 ] || skip "needs libdebuginfod1"
	local before= took i measured tool
	make_victim
	objcopy --prefix-symbols=EVIL_ -R .note.gnu.build-id "$WORK/victim.debug" "$WORK/nameless"
	gcc -g -O1 -Wl,--build-id=0x1234567890 -Down=EVIL_own -o "$WORK/other" "$WORK/victim.c"
	mv "$WORK/victim.debug" "$WORK/good"
	background "$WORK/victim"
	measured=$pid
	# more files that lack names: each works for some 2 ms of 5
	sed 's/n++/if (--n % 1000000 == 0) usleep(3000)/; 1i #include <unistd.h>' "$WORK/victim.c" >"$WORK/more.c"
	for i in 1 2; do
		gcc -Wl,--build-id=0x$i$i -s -o "$WORK/more$i" "$WORK/more.c"
		background "$WORK/more$i"
		measured+=,$pid
	done
	export DEBUGINFOD_TIMEOUT=2
	fetched_in_time 0
	before=$took
	DEBUGINFOD_URLS=http://127.0.0.1:1 DEBUGINFOD_CACHE_PATH="$WORK/cache" fetched_in_time 0
	grep -q 'not all debug files were fetched: a server in .* cannot be reached' "$WORK/err"
	debuginfod_server hang
	fetched_in_time 2
	grep -q 'not all debug files were fetched: .* do not answer' "$WORK/err"
	debuginfod_server endless
	DEBUGINFOD_MAXSIZE=20000000 fetched_in_time 1
	expect "$(du -sm "$WORK/cache.endless" | cut -f 1) < 30"
	grep -q 'not all debug files were fetched: they are larger' "$WORK/err"
	for i in nameless other; do
		debuginfod_server send "$WORK/$i"
		fetched_in_time 1
		[ "$(grep -c asked "$WORK/port")" -ge 3 ]
		refute grep -q EVIL_ "$WORK/out"
		rm -r "$WORK/cache.send"
	done
	debuginfod_server send "$WORK/good"
	fetched_in_time 1
	read -r all named path <<<"$(victims_frames)"
	expect "${all:-0} > 20 && ${named:-0} >= 0.95 * $all"
	jq -e -n '[inputs | select(.type == "stack" and .comm == "victim") | .user[0] | select(.symbol == "own") | has("line")] | length > 0 and all' "$WORK/out"
	# with --no-debuginfod, it is not asked again
	local asked
	asked=$(grep -c asked "$WORK/port")
	export DEBUGINFOD_CACHE_PATH=$WORK/cache.none
	cpuprof -q -j -l --no-debuginfod -p "$measured" -o "$WORK/not-asked.jsonl" 1
	[ "$(grep -c asked "$WORK/port")" -eq "$asked" ]
	cpuprof -q -j -l -p "$measured" -o "$WORK/asked.jsonl" 1
	[ "$(grep -c asked "$WORK/port")" -gt "$asked" ]
}

@test "a probe stays in the file that was read: its name may lead to another program before it is attached" {
	need_root
	need gcc objcopy perl setpriv nm readelf
	cat >"$WORK/victim.c" <<-'C'
		#include <string.h>
		#include <unistd.h>
		volatile unsigned short is_admin = 0x100;
		__attribute__((noipa)) long hot(long n) { return n * 0x1122334455667788; }
		int main(void)
		{
			unsigned char code[16];

			memcpy(code, (void *)hot, sizeof(code));
			for (long i = 0, n = 0; !memcmp(code, (void *)hot, sizeof(code)) && is_admin == 0x100; i++, n += hot(n))
				if (i % 64 == 0)
					usleep(50);
			return 1;	/* somebody has put something into it */
		}
	C
	mkdir -m 755 "$WORK/theirs"
	chmod 755 "$WORK"
	gcc -O1 -o "$WORK/victim" "$WORK/victim.c"
	# the attacker's program has a function, and a USDT probe, where the victim has the middle of an instruction; the probe's
	# semaphore is where the victim has a variable
	local at
	at=$(($((16#$(nm "$WORK/victim" | awk '$3 == "hot" { print $1 }'))) - 0x$(readelf -SW "$WORK/victim" | grep -o ' \.text .*' | awk '{ print $3 }') + 2))
	perl -e 'my ($hot, $semaphore) = map hex, @ARGV; my $d = pack("Q<3", $hot + 2, 0, $semaphore) . "evil\0probe\0\0";
		print pack("L<3a8a*x!4", 8, length $d, 3, "stapsdt", $d)' $(nm "$WORK/victim" | awk '$3 == "hot" { h = $1 } $3 == "is_admin" { a = $1 } END { print h, a }') >"$WORK/note"
	objcopy -N hot --add-symbol func=.text:$at,function,global --add-section .note.stapsdt="$WORK/note" "$WORK/victim" "$WORK/theirs/kept"
	# there, an instruction begins
	perl -e 'print "\x90" x 10' | dd of="$WORK/theirs/kept" bs=1 conv=notrunc status=none \
		seek=$(readelf -SW "$WORK/theirs/kept" | sed -n 's/.* \.text *PROGBITS *[0-9a-f]* *\([0-9a-f]*\) .*/\1/p' | { read -r text; echo $((16#$text + at - 2)); })
	ln "$WORK/theirs/kept" "$WORK/theirs/program"
	chown -R 65534:65534 "$WORK/theirs"
	"$WORK/victim" 3>&- &
	local victim=$! i refused=0 attached=0 program=$WORK/theirs/program
	pids+=($victim)
	setpriv --reuid=65534 --regid=65534 --clear-groups perl -e 'chdir shift; for (;;) {
		symlink "../victim", "next"; rename "next", "program"; select undef, undef, undef, rand 0.03;
		link "kept", "next"; rename "next", "program"; select undef, undef, undef, rand 0.4 }' "$WORK/theirs" 3>&- &
	pids+=($!)
	local probes=("stackcount -q -K u:$program:func" "stackcount -q -K usdt:$program:evil:probe" "funclat -q u:$program:func"
		"stackcount -q -K -p $victim u:$program:func" "stackcount -q -K -p $victim usdt:$program:evil:probe"
		"funclat -q -p $victim u:$program:func")
	for i in $(seq 30); do
		if ${probes[i % ${#probes[@]}]} 0.1 >/dev/null 2>"$WORK/err"; then
			attached=$((attached + 1))
		else
			cat "$WORK/err"
			grep -qE 'was changed|has no (function|probe)|no program or library|cannot time' "$WORK/err"
			refused=$((refused + 1))
		fi
		kill -0 $victim
	done
	echo "# attached $attached times, refused $refused times" >&3
	[ $attached -gt 0 ]
	kill $victim
	wait $victim || [ $? -eq 143 ]
}

# bats test_tags=full
@test "a user whose stacks fill the memory: who comes later has room, and the user's own sums hold" {
	need_root
	need jq
	local tool flood victim enough
	cp "$ROOT/build/tests/many-stacks" "$WORK"
	chmod 755 "$WORK"
	as_nobody "$WORK/many-stacks" 4
	flood=$pid
	rm -f "$WORK/err"
	offcputime -j --max-memory 64 -o "$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	# until it is full: far fewer stacks have room
	naps() { awk '/^voluntary/ { n += $2 } END { print n }' "/proc/$flood/task/"*/status; }
	enough=$(($(naps) + 100000))
	is_full() { [ "$(naps)" -ge "$enough" ]; }
	wait_until is_full
	background setpriv --reuid=65533 --regid=65533 --clear-groups perl -e 'for (;;) { select undef, undef, undef, 0.01; $n++ < 100 or close STDIN }' </dev/null
	victim=$pid
	wait_until test ! -e "/proc/$victim/fd/0"
	kill -INT "$tool"
	wait "$tool"
	sed 's/^/# /' "$WORK/err"
	grep -q 'no room for more stacks of uid .*their values are summed up by thread' "$WORK/err"
	jq -se --argjson victim "$victim" --argjson flood "$flood" 'map(select(.type == "stack")) as $stacks |
		([$stacks[] | select(.pid == $victim and .user[0].symbol == "select" and (.user | length) > 3) | .count] | add) >= 95 and
		all($stacks[]; .user[0].symbol != "[stacks of uid 65533: no room]") and
		([$stacks[] | select(.pid == $flood and .user[0].symbol == "[stacks of uid 65534: no room]") | .count] |
			length < 40 and add > 1000) and
		([$stacks[].count] | add) == (.[] | select(.type == "summary") | .samples)' "$WORK/out"
}

# bats test_tags=full
@test "programs of one user with very many symbols: another user's functions have their names" {
	need_root
	need gcc
	local i
	many-symbols "$WORK/many0" 700000
	echo 'int spin(void) { for (volatile int i = 0; i < 100000000; i++); return 0; } int main(void) { for (;;) spin(); }' >"$WORK/victim.c"
	gcc -O1 -fno-inline -o "$WORK/victim" "$WORK/victim.c"
	for i in {1..15}; do cp "$WORK/many0" "$WORK/many$i"; done
	chown 65534 "$WORK"/many*
	chown 65533 "$WORK/victim"
	chmod 755 "$WORK"
	for i in {0..15}; do as_nobody "$WORK/many$i"; done
	background setpriv --reuid=65533 --regid=65533 --clear-groups "$WORK/victim"
	cpuprof -j -F 499 -o "$WORK/out" 3 2>"$WORK/err"
	sed 's/^/# /' "$WORK/err"
	grep -q 'the time for names was used up: [0-9]* files or processes were not asked' "$WORK/err"
	jq -e -n '[inputs | select(.type == "stack" and .comm == "victim") | .user[0].symbol == "spin"] | length > 0 and all' "$WORK/out"
}

# bats test_tags=full,timing
@test "Ctrl-C while a report is written that a user's stacks make long: it ends with what is whole, and this is said" {
	need_root
	need jq
	local flood tool began took
	cp "$ROOT/build/tests/many-stacks" "$WORK"
	chmod 755 "$WORK"
	as_nobody "$WORK/many-stacks" 4
	flood=$pid
	for tool in "offcputime --max-report 4000" wallprof; do
		rm -f "$WORK"/out.jsonl* "$WORK/err"
		kill -CONT "$flood"
		$tool -j -q --max-memory 1024 -o "$WORK/out.jsonl" 2 2>"$WORK/err" 3>&- &
		pids+=($!)
		wait_until eval 'grep -qs "\"type\":\"stack" "$WORK"/out.jsonl.*.part'
		began=${EPOCHREALTIME/./}
		kill -INT "${pids[-1]}"
		kill -STOP "$flood"
		status=0
		wait "${pids[-1]}" || status=$?
		took=$(((${EPOCHREALTIME/./} - began) / 1000))
		echo "# $tool: $took ms" >&3
		sed 's/^/# /' "$WORK/err"
		[ "$status" -eq 130 ]
		expect "$took < 1000"
		grep -q 'a signal ended the report: what is there is valid' "$WORK/err"
		[ -z "$(ls "$WORK"/*.part 2>/dev/null)" ]
		jq -es 'map(.type) | .[0] == "start" and .[-1] == "summary"' "$WORK/out.jsonl"
		jq -se '(map(select(.type == "stack") | .count) | add // 0) < (.[-1].samples)' "$WORK/out.jsonl"
		[ "$tool" != wallprof ] || flame "$WORK/out.jsonl" -o "$WORK/out.folded"
	done
}

@test "more stacks than a report has room for: it keeps its size, another user's stacks, and the sums" {
	need_root
	need jq
	cp "$ROOT/build/tests/many-stacks" "$WORK"
	chmod 755 "$WORK"
	as_nobody "$WORK/many-stacks" 4
	# one process with few stacks: a shell that is preempted beside others has more than its user's share of a report
	background setpriv --reuid=65533 --regid=65533 --clear-groups perl -e 'while (1) { select undef, undef, undef, 0.01 }'
	local other=$pid
	wait_until_it_ran "${pids[0]}" 300
	offcputime -j --max-report 5 -o "$WORK/out.jsonl" 1 2>"$WORK/err"
	sed 's/^/# /' "$WORK/err"
	cp "$WORK/out.jsonl" "$WORK/out"
	expect "$(stat -c %s "$WORK/out") < 10e6"
	grep -q 'sums up the coldest [0-9]* stacks' "$WORK/err"
	# the sums are those of all, by end reason too; and all stacks of everybody else are there
	jq -se --argjson other "$other" 'map(select(.type == "stack")) as $stacks | (.[] | select(.type == "summary")) as $summary |
		($stacks | map(.count) | add) == $summary.samples and
		([$stacks[] | select(.ended_by == "complete") | .count] | add) == $summary.ended.complete and
		([$stacks[] | .user[]? | select(.symbol == "[other stacks]") | .cut] | add) == $summary.summed_up and
		($stacks | map(select(.pid == $other)) | length > 0 and all(.user[0].symbol != "[other stacks]"))' "$WORK/out"
	# in the formats of others, too
	for ending in txt folded svg pb.gz; do
		offcputime -q --max-report 1 -o "$WORK/x.$ending" 0.5 2>"$WORK/err"
		expect "$(stat -c %s "$WORK/x.$ending") < 4e6"
	done
	grep -q '\[other stacks\]' "$WORK/x.folded"
}

# bats test_tags=full
@test "more periods and stacks than wallprof's report has room for: it keeps its size, another user's timeline, and the tiling" {
	need_root
	need jq
	local other ending
	chmod 755 "$WORK"
	cp "$ROOT/build/tests/many-stacks" "$WORK"
	as_nobody "$WORK/many-stacks" 4
	background setpriv --reuid=65533 --regid=65533 --clear-groups perl -e 'while (1) { select undef, undef, undef, 0.01 }'
	other=$pid
	wait_until_it_ran "${pids[0]}" 300
	wallprof --max-report 8 -o "$WORK/out.jsonl" -o "$WORK/all.folded" -o "$WORK/x.html" 2 2>"$WORK/err"
	sed 's/^/# /' "$WORK/err"
	ls -l "$WORK"/out.jsonl "$WORK"/x.html
	expect "$(stat -c %s "$WORK/out.jsonl") < 12e6"
	grep -q '[0-9] records and [0-9]* stacks left out of a report: no room, see --max-report$' "$WORK/err"
	# each thread's periods tile its life, as far as flame can tell
	flame "$WORK/out.jsonl" -o "$WORK/again.html"
	# all of the other process is there; and sums are of all
	jq -se --argjson other "$other" --argjson pid "${pids[0]}" '.[-1] as $last |
		[.[] | select(.type == "period" and .pid == $other)] as $others |
		[.[] | select(.type == "period" and .pid == $pid and .state == "lost")] as $lost |
		$last.left_out > 1000 and ($others | length > 100 and all(.state != "lost")) and
		any(.[]; .type == "stacks" and .pid == $other) and ($lost | length > 0 and all(.lost > 0)) and
		([.[] | select(.type == "thread").periods] | add) == $last.periods' "$WORK/out.jsonl"
	# the stacks have room of their own
	wallprof --max-report 2 -o "$WORK/small.jsonl" 1 2>"$WORK/err"
	expect "$(stat -c %s "$WORK/small.jsonl") < 4e6"
	jq -se '(map(select(.type == "stacks")) | map({ key: "\(.id)", value: true }) | from_entries) as $ids |
		(map(select(.type == "period" and .why and (.stack | not))) | length > 100) and .[-1].stacks_left_out > 100 and
		all(.[] | .stack, .woken_by.stack; . == null or . == 0 or $ids["\(.)"])' "$WORK/small.jsonl"
	flame "$WORK/small.jsonl" -o "$WORK/small.folded"
	# with room for all, nothing is left out
	wallprof -j -p "$other" -o "$WORK/out.jsonl" 0.5 2>"$WORK/err"
	refute grep -q 'left out' "$WORK/err"
	jq -se '.[-1] | has("left_out") or has("stacks_left_out") | not' "$WORK/out.jsonl"
}

# bats test_tags=full
@test "files whose tables take long to make: another user's new program does not wait for them" {
	need_root
	need jq
	local i tool
	hostile-elf cfi "$WORK/slow1" 100000
	for i in $(seq 2 25); do cp "$WORK/slow1" "$WORK/slow$i"; done
	cp "$ROOT/build/tests/nested" "$WORK/victim"
	chmod 755 "$WORK" "$WORK/victim"
	chown 65534 "$WORK"/slow*
	chown 65533 "$WORK/victim"
	rm -f "$WORK/err"
	cpuprof -v -j -F 499 >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	as_nobody "$ROOT/build/tests/mapper" hold 60 0 1 "$WORK"/slow*
	wait_until grep -q slow25 "/proc/$pid/maps"
	sleep 0.3	# for the tool to ask for their tables first
	background setpriv --reuid=65533 --regid=65533 --clear-groups "$WORK/victim" burn 60
	wait_until_it_ran "$pid" 1500
	kill -INT "$tool"
	wait "$tool"
	read -r all whole <<<"$(jq -r 'select(.type == "stack" and .comm == "victim") | [.count, (if .ended_by == "complete" then .count else 0 end)] | @tsv' "$WORK/out" |
		awk '{ all += $1; whole += $2 } END { print all + 0, whole + 0 }')"
	echo "# $whole of the victim's $all samples whole" >&3
	sed 's/^/# /' "$WORK/err"
	expect "$all > 300 && $whole >= 0.95 * $all"
}
