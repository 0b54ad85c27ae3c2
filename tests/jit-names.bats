#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The names that real runtimes write of their JIT code, against a plain reading of their files.

load lib

cat_js() {
	cat >"$WORK/busy.js" <<-'END'
		function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * i % 7; return s; }
		function middle(n) { return leaf(n) + leaf(n / 2); }
		function hot() { let s = 0; for (let i = 0; i < 100; i++) s += middle(10000); return s; }
		const end = Date.now() + 1000 * (process.argv[2] || 60); while (Date.now() < end) hot();
	END
}

# nine of ten leaves of user space, a line each with its count, have one of these names; the kernel's work for the start of
# the program, which is long on a busy machine, has other ones
named() {	# NAME...
	awk -v names=" $* " '/^\[/ { unnamed += $2 } index(names, " " $1 " ") { named += $2 }
		END { exit !(named > 15 && named >= 0.9 * (named + unnamed)) }'
}

has_lines() {	# FILE NR
	[ "$(wc -l <"$1")" -ge "$2" ]
}

# each START and each middle of the last lines of a perf map: "ADDRESS NAME" as a search from the end finds it
expected_of_map() {	# MAP
	tail -n 400 "$1" | gawk --non-decimal-data -v map="$1" '
		BEGIN {
			while ((getline line < map) > 0) {
				split(line, f, " "); sub(/^0x/, "", f[1]); sub(/^0x/, "", f[2])
				n++; start[n] = strtonum("0x" f[1]); size[n] = strtonum("0x" f[2])
				name[n] = line; sub(/^[^ ]+ +[^ ]+ +/, "", name[n]); sub(/ +$/, "", name[n])
			}
		}
		{
			sub(/^0x/, "", $1); sub(/^0x/, "", $2)
			a = strtonum("0x" $1) + int(strtonum("0x" $2) / 2)
			for (i = n; i > 0; i--)
				if (a >= start[i] && a < start[i] + size[i]) {
					printf "%x %s\n", a, name[i]
					break
				}
		}'
}

same_names() {	# PID MAP
	cp "$2" "$WORK/map"
	expected_of_map "$WORK/map" >"$WORK/expected"
	[ "$(wc -l <"$WORK/expected")" -gt 100 ]
	{ echo; cut -d ' ' -f 1 "$WORK/expected"; } | jit-name-of "$1" | sed 1d | cut -d ' ' -f 1,3- >"$WORK/got"
	[ "$(wc -l <"$WORK/got")" -eq "$(wc -l <"$WORK/expected")" ]
	diff "$WORK/expected" "$WORK/got" >"$WORK/diff" || true
	expect "$(grep -c '^>' "$WORK/diff" || true) <= $(wc -l <"$WORK/expected") / 100"	# the map goes on growing
}

# bats test_tags=full
@test "jit names: node's perf map" {
	need node gawk
	cat_js
	cd "$WORK"	# it leaves a log where it runs
	background node --perf-basic-prof "$WORK/busy.js"
	wait_until has_lines "/tmp/perf-$pid.map" 300
	sleep 1
	same_names "$pid" "/tmp/perf-$pid.map"
	grep -q 'leaf' "$WORK/got"
	rm -f "/tmp/perf-$pid.map"
}

# bats test_tags=full
@test "jit names: of a process in PID and mount namespaces of its own, and when it is gone" {
	need_root
	need node gawk unshare
	cat_js
	# with a /tmp of its own, below a root that is a mount point, also where / is none: in a chroot
	background "${in_mount_namespace[@]}" unshare --fork --pid bash -ec '
		mount --rbind / /proc/fs && mount --make-rprivate /proc/fs
		mount -t proc none /proc/fs/proc && mount -t tmpfs none /proc/fs/tmp
		exec chroot /proc/fs node --perf-basic-prof -e "$0"' "$(cat "$WORK/busy.js")"
	wait_until pgrep -P "$pid"
	child=$(pgrep -P "$pid")
	wait_until has_lines "/proc/$child/root/tmp/perf-1.map" 300
	sleep 1
	cp "/proc/$child/root/tmp/perf-1.map" "$WORK/before"
	mkfifo "$WORK/in"
	jit-name-of "$child" <"$WORK/in" >"$WORK/got" 3>&- &
	helper=$!
	exec 9>"$WORK/in"
	wait_until grep -q seen "$WORK/got"
	kill -KILL "$child"	# init of its namespace: it would not hear another
	wait_until refute test -e "/proc/$child"
	{ echo; gawk '/leaf/ { sub(/^0x/, "", $1); print $1 }' "$WORK/before" | tail -1; } >&9
	exec 9>&-
	wait "$helper"
	cat "$WORK/got"
	grep -q 'leaf' "$WORK/got"
	[ ! -e "/tmp/perf-$child.map" ]
}

# bats test_tags=full
@test "jit names: node's jitdump, with code that moves" {
	need node python3
	cat_js
	cd "$WORK"
	background node --perf-prof "$WORK/busy.js"
	wait_until grep -q "jit-$pid.dump" "/proc/$pid/maps"
	sleep 3
	kill -STOP "$pid"
	python3 - "jit-$pid.dump" >"$WORK/expected" <<-'END'
		import struct, sys
		data = open(sys.argv[1], "rb").read()
		at, where, names = struct.unpack_from("<I", data, 8)[0], {}, {}
		while at + 16 <= len(data):
		    kind, size, time = struct.unpack_from("<IIQ", data, at)
		    if at + size > len(data):
		        break
		    if kind == 0:
		        addr, length, index = struct.unpack_from("<QQQ", data, at + 32)
		        name = data[at + 56:data.index(b"\0", at + 56)].decode(errors="replace")
		        where[index], names[index] = (time, addr, length), name
		    elif kind == 1:
		        addr, length, index = struct.unpack_from("<QQQ", data, at + 40)
		        if index in names:
		            where[index] = (time, addr, length)
		    at += size
		order = sorted(((t, i, a, l) for i, (t, a, l) in where.items()), reverse=True)
		for t, i, a, l in order[:400]:
		    pc = a + l // 2
		    for u, j, b, m in order:
		        if b <= pc < b + m:
		            print("%x %s" % (pc, names[j]))
		            break
	END
	expect "$(wc -l <"$WORK/expected") > 100"
	{ echo; cut -d ' ' -f 1 "$WORK/expected"; } | jit-name-of "$pid" | sed 1d | cut -d ' ' -f 1,3- >"$WORK/got"
	kill -CONT "$pid"
	[ "$(wc -l <"$WORK/got")" -eq "$(wc -l <"$WORK/expected")" ]
	diff "$WORK/expected" "$WORK/got" >"$WORK/diff" || true
	expect "$(grep -c '^>' "$WORK/diff" || true) <= $(wc -l <"$WORK/expected") / 100"
}

# bats test_tags=full
@test "jit names: Python's, where it writes a map" {
	need gawk
	probe='import os, sys; os.unlink("/tmp/perf-%d.map" % os.getpid()); sys.exit(not sys.is_stack_trampoline_active())'
	python=$(for p in python3.14 python3.13 python3.12 python3 /root/.pyenv/versions/3.1[2-9]*/bin/python3; do
		command -v "$p" >/dev/null && "$p" -X perf -c "$probe" 2>/dev/null && echo "$p" && break
	done) || true
	[ -n "$python" ] || skip "needs Python 3.12 or later"
	printf 'import sys, time\ndef spin():\n  t = time.time() + 60\n  while time.time() < t: pass\nspin()\n' >"$WORK/a.py"
	background "$python" -X perf "$WORK/a.py"
	wait_until has_lines "/tmp/perf-$pid.map" 150
	same_names "$pid" "/tmp/perf-$pid.map"
	grep -q 'py::spin' "/tmp/perf-$pid.map"
	rm -f "/tmp/perf-$pid.map"
}

# bats test_tags=full
@test "jit names: BEAM's, of which all JIT frames have names" {
	need_root
	need erl erlc
	cat >"$WORK/spin.erl" <<-'END'
		-module(spin).
		-export([main/0]).
		leaf(0, S) -> S;
		leaf(N, S) -> leaf(N - 1, (S + N * 7) rem 1000003).
		loop(End) -> leaf(100000, 0), case erlang:monotonic_time(second) > End of true -> ok; false -> loop(End) end.
		main() -> loop(erlang:monotonic_time(second) + 3).
	END
	cd "$WORK"
	erlc spin.erl
	cpuprof -q -j -o "$WORK/out" -- bash -c 'echo $$ >pid; exec erl +JPperf true -noshell -eval "spin:main(), halt()."' 2>"$WORK/err"
	[ -e "/tmp/perf-$(cat pid).map" ] || skip "needs a BEAM with a JIT"
	rm "/tmp/perf-$(cat pid).map"
	jq -r 'select(.type == "stack") | .count as $count | .user[] | select(.module == null) | "\($count) \(.symbol)"' "$WORK/out" |
		awk '{ all += $1 } /spin:leaf/ { leaf += $1 } / null$/ { nameless += $1 } END { print all, leaf, nameless + 0; exit !(leaf > 5 && nameless <= 0.01 * all) }'
	expect "$(summary .named) >= 0.9 * $(summary .frames)"	# beam.smp itself is stripped
}

# bats test_tags=full
@test "jit names: code that moves is named as it was when it ran, though other code took its place and the process is gone" {
	need_root
	cd "$WORK"
	cpuprof -q -f -- jits dump 2>/dev/null | sed 's/.*;//' >leaves
	cat leaves
	named early <leaves
	refute grep -q other leaves
}

@test "jit names: a map that grows, in a mount namespace that is gone when all is printed" {
	need_root
	need unshare
	cpuprof -q -f -- "${in_mount_namespace[@]}" bash -ec '
		mount --rbind / /proc/fs && mount --make-rprivate /proc/fs && mount -t tmpfs none /proc/fs/tmp
		cp "$0" /proc/fs/tmp/jits
		exec chroot /proc/fs /tmp/jits map' "$ROOT/build/tests/jits" 2>/dev/null | sed 's/.*;//' >"$WORK/leaves"
	cat "$WORK/leaves"
	awk '$1 == "late" { late += $2 } END { exit !(late > 9) }' "$WORK/leaves"
	named early late <"$WORK/leaves"
}

# bats test_tags=full
@test "jit names: code in shared memory, which maps shows as a file: .NET's and BEAM's memfd, PHP's MAP_ANONYMOUS, shm_open(), shmget()" {
	need_root
	local kind
	for kind in memfd shared $([ "$SIZE" != full ] || echo shm sysv); do
		cpuprof -q -f -- bash -c 'echo $$ >"$0/pid"; exec jits "$1"' "$WORK" $kind 2>/dev/null | sed 's/.*;//' >"$WORK/leaves"
		rm "/tmp/perf-$(cat "$WORK/pid").map"
		echo "$kind:"
		cat "$WORK/leaves"
		named early late <"$WORK/leaves"
	done
}

# bats test_tags=full
@test "jit names: code without any has the name that maps gives its memory, in each format" {
	need_root
	local kind name ending
	for kind in anon named memfd shared; do
		status=0
		cpuprof -q -F 499 -o "$WORK/x.jsonl" -o "$WORK/x.folded" -o "$WORK/x.txt" -o "$WORK/x.svg" -- jits $kind unnamed \
			>"$WORK/line" 2>"$WORK/err" || status=$?
		[ $status -ne 3 ] || { echo "# no names of anonymous memory in this kernel" >&3; continue; }
		[ $status -eq 0 ]
		# of a line of maps, what is behind the fifth column
		name=$(sed -E 's/^([^ ]+ +){5}//; s/^[0-9a-f]+-.*//; s/ \(deleted\)$//; s/^\/(memfd:)/\1/; s/^\[(.*)\]$/\1/; s/^$/anon/' "$WORK/line")
		echo "$kind: $(cat "$WORK/line"): [$name]"
		# it runs for a second
		awk -v name="[$name]" 'index($0, "jits;") == 1 && index($0, ";" name) { n += $NF } END { exit n < 250 }' "$WORK/x.folded"
		refute grep -q unknown "$WORK/x.folded"
		grep -qF "[$name]" "$WORK/x.txt"
		grep -qF "[$name]" "$WORK/x.svg"
		[ "$(jq -r 'select(.type == "stack") | .user[] | select(.region) | "\(.region) \(.symbol)"' "$WORK/x.jsonl" | sort -u)" = "[$name] null" ]
		valid_json "$WORK/x.jsonl"
		for ending in folded txt svg; do
			flame "$WORK/x.jsonl" -o "$WORK/again.$ending"
			cmp "$WORK/x.$ending" "$WORK/again.$ending"
		done
	done
}

# bats test_tags=full
@test "jit names: without any, the summary has the cure that fits the program: BEAM's, HotSpot's, which is true" {
	need_root
	need erl java jcmd
	cpuprof -q -f -- erl -noshell -eval 'F = fun G(0) -> ok; G(N) -> lists:sum(lists:seq(1, 1000)), G(N - 1) end, F(100000), halt().' \
		2>"$WORK/err" >/dev/null
	cat "$WORK/err"
	grep -q 'unnamed JIT code of PID [0-9]*, .*: start it with +JPperf true$' "$WORK/err"
	background java -XX:+PreserveFramePointer "$BATS_TEST_DIRNAME/workloads/M.java" 20000
	sleep 3
	cpuprof -q -j --no-runtimes -p "$pid" 1 2>"$WORK/err" >"$WORK/out"
	cat "$WORK/err"
	cure=$(sed -n "s/.*unnamed JIT code of PID $pid, .*: run '\(.*\)' meanwhile.*/\1/p" "$WORK/err")
	expect "$(summary .named) < 0.8 * $(summary .frames)"
	(sleep 0.5; ${cure/PID/$pid} >/dev/null 2>&1) &
	cpuprof -q -j --no-runtimes -p "$pid" 3 >"$WORK/out" 2>"$WORK/err"
	rm "/tmp/perf-$pid.map"
	cat "$WORK/err"
	expect "$(summary .named) > 0.9 * $(summary .frames)"
}

# bats test_tags=check
@test "jit names: the code of two processes at the same address has each process's name, in each format" {
	need_root
	local name
	for name in first second; do
		same-address "code_of_$name" >"$WORK/$name" 3>&- &
		pids+=($!)
		wait_until grep -q ready "$WORK/$name"
	done
	cpuprof -F 999 -p "${pids[0]},${pids[1]}" -o "$WORK/out.jsonl" -o "$WORK/out.folded" -o "$WORK/out.svg" -o "$WORK/out.html" \
		-o "$WORK/out.json" -o "$WORK/out.txt" 1
	rm -f "/tmp/perf-${pids[0]}.map" "/tmp/perf-${pids[1]}.map"
	grep -o 'code_of_[a-z]*' "$WORK/out.folded" | sort -u | diff - <(printf 'code_of_%s\n' first second)
	for name in first second; do
		for format in jsonl svg html json txt; do grep -q "code_of_$name" "$WORK/out.$format"; done
		# the tree has what the list of stacks has
		local samples
		samples=$(jq -n "[inputs | select(.type == \"stack\" and any(.user[]?; .symbol == \"code_of_$name\")).count] | add" "$WORK/out.jsonl")
		[ "$samples" -gt 100 ]
		grep -q "<title>code_of_$name: $samples samples" "$WORK/out.svg"
	done
}
