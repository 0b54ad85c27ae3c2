#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# An ordinary user's files and mappings that would exhaust whoever follows them. Beside each attack, a run lasts as long as
# without it, and a second; memory stays below its ceiling; who does nothing keeps whole stacks and names; what
# went without is named.
# bats file_tags=full,alone

load lib.bash
CEILING=512

setup_file() {
	FILES=$(mktemp -d)
	export FILES
	chmod 777 "$FILES"
}

teardown_file() {
	rm -rf "$FILES"
}

bystander() {
	need_root
	need setpriv
	chmod 755 "$WORK"
	cp "$ROOT/build/tests/nested" "$WORK/bystander"
	as_user 65533 "$WORK/bystander" burn 300	# neither root's nor the attacker's
}

# cpuprof for SECONDS: $took, $user and $kernel MiB at most, $all samples of the bystander's, of these $whole, and $named
measure() {	# SECONDS [ARG...]
	local start tool
	start=$(date +%s%N)
	cpuprof -j -F 499 "${@:2}" "$1" >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	nice -n -20 memory-of $tool 0.1 >"$WORK/memory" 3>&-	# or it begins when the tool has ended
	wait $tool
	took=$(awk "BEGIN { print ($(date +%s%N) - $start) / 1e9 }")
	read -r user kernel <<<"$(awk '{ if ($2 > u) u = $2; if ($3 > k) k = $3 } END { print u, k }' "$WORK/memory")"
	read -r all whole named <<<"$(jq -r 'select(.type == "stack" and .comm == "bystander") |
			(if .ended_by == "complete" then .count else 0 end) as $whole |
			any(.user[]; .symbol == "__libc_start_main") as $named |
			[.count, $whole, (if $named then .count else 0 end)] | @tsv' "$WORK/out" |
		awk '{ all += $1; whole += $2; named += $3 } END { print all + 0, whole + 0, named + 0 }')"
}

# The attack is on: what it may not change.
stands() {	# SECONDS
	measure "$1"
	echo "# $took s, $before s before; $user MiB in user space, $kernel MiB in the kernel; $whole of the bystander's $all samples whole, $named named" >&3
	sed 's/^/# /' "$WORK/err"
	expect "$(summary .seconds) < $1 + 1"
	expect "$took < $before + 0.8 + 1"	# names may take 0.8 s
	expect "$user < $CEILING && $kernel < $CEILING"
	expect "$all > 20 && $whole >= 0.95 * $all && $named >= 0.95 * $all"
}

# how long it takes beside as many processes that are busy as the attacker's, and do no harm
without() {	# SECONDS PROCESSES
	local peaceful=()
	for ((i = 0; i < $2; i++)); do
		as_nobody mapper hold 300 0 1 "$ROOT/build/tests/nested"
		peaceful+=("$pid")
	done
	sleep 0.5
	measure "$1"
	before=$took
	kill "${peaceful[@]}"
}

@test "three files with 103 MB of .eh_frame, mapped" {
	bystander
	without 5 1
	for i in 1 2 3; do hostile-elf cfi "$FILES/cfi$i" 5000000; done
	as_nobody mapper hold 300 0 1 "$FILES"/cfi?
	wait_until grep -q cfi3 "/proc/$pid/maps"
	stands 5
	rm "$FILES"/cfi?
}

@test "eight sparse files of 1 TB, mapped" {
	bystander
	without 5 1
	for i in $(seq 8); do hostile-elf sparse "$FILES/sparse$i" $((1 << 40)) 240000000; done
	as_nobody mapper hold 300 0 1 "$FILES"/sparse?
	wait_until grep -q sparse8 "/proc/$pid/maps"
	stands 5
	rm "$FILES"/sparse?
}

@test "six processes with 60,000 mappings each" {
	bystander
	without 5 6
	as_nobody mapper hold 300 5 60000 "$ROOT/build/tests/nested"
	sleep 3
	stands 5
	grep -qE "of these in PID [0-9]+, mapper: it maps too much code to be followed" "$WORK/err"
	[ "$(summary .processes_refused)" -ge 6 ]
}

@test "60,000 mappings of a file with a path of 3.9 KB, forked 25 times" {
	bystander
	without 5 26
	local deep=$FILES
	for i in $(seq 15); do deep=$deep/$(printf 'd%.0s' {1..255}); done
	mkdir -p "$deep"
	cp "$ROOT/build/tests/nested" "$deep/f"
	as_nobody mapper hold 300 25 60000 "$deep/f"
	sleep 8
	stands 5
	grep -qE "of these in PID [0-9]+, mapper: it maps too much code to be followed" "$WORK/err"
}

@test "a library of 17 MB that is touched, mapped and unmapped again and again" {
	bystander
	without 10 1
	local library
	library=$(ls -L /usr/lib/x86_64-linux-gnu/libx265.so.* | head -n 1)
	install -m 666 "$library" "$FILES/library"
	as_nobody mapper loop 300 "$FILES/library"
	sleep 0.5
	stands 10
	rm "$FILES/library"
}

@test "functions of Python that are made without end" {
	bystander
	without 5 1
	as_nobody /usr/bin/python3 "$ROOT/tests/workloads/new_functions.py" 300 24 100
	sleep 1
	stands 5
}

@test "functions of Python that have more references than is possible, in stacks that never come again" {
	bystander
	without 5 1
	as_nobody /usr/bin/python3 "$ROOT/tests/workloads/shared_code.py"
	sleep 1
	stands 5
}

@test "a JVM that is none, and says what it likes of its code" {
	bystander
	local jvm
	jvm=$(libjvm)
	[ -n "$jvm" ] || skip "needs java"
	without 5 1
	as_nobody "$ROOT/build/tests/fake-jvm" "$jvm" 400 200000 16 100
	sleep 1
	stands 5
}

@test "8 threads that change their stacks all the time" {
	bystander
	without 5 8
	as_nobody "$ROOT/build/tests/many-stacks" 8
	sleep 1
	stands 5
}

all_at_once() {	# UID... of the attackers, by turns
	need gcc python3
	bystander
	local busy=() attackers users=("$@") next=0
	as_attacker() {
		as_user "${users[next++ % ${#users[@]}]}" "$@"
	}
	for i in {1..13}; do
		as_nobody nested burn 300
		busy+=("$pid")
	done
	measure 5
	before=$took
	kill "${busy[@]}"
	attackers=${#pids[@]}
	cp "$ROOT/build/tests/nested" "$FILES"
	hostile-elf cfi "$FILES/cfi" 1000000
	hostile-elf sparse "$FILES/sparse" $((1 << 40)) 240000000
	many-symbols "$FILES/symbols" 700000
	as_attacker mapper hold 300 2 60000 "$FILES/nested"
	as_attacker mapper hold 300 0 1 "$FILES/cfi" "$FILES/sparse"
	as_attacker mapper churn 300 "$FILES" "$FILES/nested"
	as_attacker "$ROOT/build/tests/many-stacks" 2
	as_attacker /usr/bin/python3 "$ROOT/tests/workloads/new_functions.py" 300 2 100
	as_attacker /usr/bin/python3 "$ROOT/tests/workloads/shared_code.py"
	as_attacker /usr/bin/python3 "$ROOT/tests/workloads/large_lines.py"
	for i in 1 2 3; do
		cp "$FILES/symbols" "$FILES/symbols$i"	# names are kept for each owner
		chown "${users[i % ${#users[@]}]}" "$FILES/symbols$i"
		as_attacker "$FILES/symbols$i"
		as_attacker "$ROOT/build/tests/jits" map
	done
	local jvm
	jvm=$(libjvm)
	[ -z "$jvm" ] || as_attacker "$ROOT/build/tests/fake-jvm" "$jvm" 400 200000 16 100
	sleep 4
	stands 5
	kill -0 "${pids[@]:attackers}"	# all of them were there
	measure 5 --max-memory 64
	echo "# of 64 MiB: $user in user space, $kernel in the kernel; $whole of the bystander's $all samples whole" >&3
	expect "$user < 64 && $kernel < 64"
	expect "$all > 20 && $whole >= 0.95 * $all"
	rm -rf "${FILES:?}"/*	# one of them makes and removes files there
}

@test "all of these at once" {
	all_at_once 65534
}

@test "all of these at once, by eight users" {
	all_at_once {65525..65532}
}

@test "a ceiling of 64 MB: 30 processes with 15,000 mappings each, and files with large tables" {
	bystander
	hostile-elf cfi "$FILES/large0" 60000
	for i in $(seq 11); do cp "$FILES/large0" "$FILES/large$i"; done
	as_nobody mapper hold 300 0 1 "$FILES"/large*
	for i in $(seq 30); do as_nobody mapper hold 300 0 15000 "$ROOT/build/tests/nested"; done
	sleep 3
	measure 5 --max-memory 64
	echo "# $user MiB in user space, $kernel MiB in the kernel; $whole of the bystander's $all samples whole" >&3
	sed 's/^/# /' "$WORK/err"
	expect "$user < 64 && $kernel < 64"
	expect "$all > 20 && $whole >= 0.95 * $all"
	grep -qE 'of these in PID [0-9]+, mapper: no room for its mappings, see --max-memory' "$WORK/err"
	rm "$FILES"/large*
}

@test "ten minutes of processes, mappings and files that come and go" {
	need_root
	need setpriv
	churn 600 | sed 's/^/# /' >&3
	[ "${PIPESTATUS[0]}" -eq 0 ]
}
