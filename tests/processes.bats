#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Processes that come and go: complete stacks from the first moment on, and never two images in one stack.

load lib.bash

# copies of one program under different names: frames show the image by their module
images() {
	local name
	for name; do
		cp "$ROOT/build/tests/nested" "$WORK/$name"
	done
}

# eu-stack's callers of the innermost function of nested, as offsets in the file
expected_tail() {
	background "$WORK/$1" hold
	wait_until is_sleeping "$pid"
	eu-stack -r -1 -p "$pid" 2>/dev/null | awk '/^#/ { print $2 }' | normalise "$pid" |
		awk -v image="$WORK/$1" 'inside { print $1 == image ? "image " $2 : $0 } $1 == image { inside = 1 }' >"$WORK/tail"
	[ "$(wc -l <"$WORK/tail")" -ge 12 ]
	kill "$pid"
}

# The samples of comm $1, from the JSON in $WORK/out: how many there are, how many have just the expected
# tail above the innermost function, and how many have a frame of another image.
tally() {
	jq -r --arg comm "$1" --arg image "$WORK/$1" --arg others "^$WORK/" --argjson depth "$(wc -l <"$WORK/tail")" '
		select(.type == "stack" and .comm == $comm and (.user | length) > 0) |
		[.user[] | "\(.module // "-") \(.file_offset // .address)"] as $frames |
		([$frames[] | select(startswith($image + " ") | not) | select(test($others))] | length) as $alien |
		"\(.count)\t\($alien)\t\([$frames[-$depth:][] | sub($image; "image")] | join("|"))"' "$WORK/out" |
		gawk -F '\t' -v tail="$(paste -sd '|' "$WORK/tail")" '
			{ all += $1; if ($2) alien += $1; if ($3 == tail) exact += $1 }
			END { print all + 0, exact + 0, alien + 0 }'
}

# each COMM ran for a second, sampled at 999 Hz, always with the expected stack
burnt() {
	local comm all exact alien
	for comm; do
		read -r all exact alien <<<"$(tally "$comm")"
		echo "# $comm: $all samples, $exact exact, $alien with a foreign frame, $(summary .lost) lost" >&3
		expect "$exact + $(summary .lost) > 0.95 * 999"
		expect "$exact >= 0.95 * $all"
		expect "$alien == 0"
	done
	# a raw sample has 64 KiB of the stack, and nested's is deeper: raw samples of the first moments end there
	jq -r --arg comms " $* " 'select(.type == "stack") | select(.comm as $comm | $comms | contains(" \($comm) ")) | "\(.count) \(.ended_by)"' "$WORK/out" |
		awk '$2 == "no_user" { next } { all += $1 } $2 == "complete" { whole += $1 } END { exit whole < 0.95 * all }'
}

profile() {
	on_one_cpu cpuprof -j -F 999 "$@" >"$WORK/out" 2>"$WORK/err"
}

@test "exec: the new image at once, and no frame of the old one" {
	need_root
	need eu-stack gawk
	images before after
	expected_tail before
	profile -- "$WORK/before" burn 1 exec "$WORK/after" burn 1
	burnt before after
}

# bats test_tags=full
@test "an existing process execs twice: back to the first file" {
	need_root
	need eu-stack gawk
	images before after
	expected_tail before
	background "$WORK/before" burn 2 exec "$WORK/after" burn 1 exec "$WORK/before" burn 1
	local subject=$pid cpu all exact alien
	# it does not run on while the tool starts
	wait_until_it_ran "$subject" 100
	kill -STOP "$subject"
	wait_until grep -q 'State:.T' "/proc/$subject/status"
	local ran tool
	ran=$(ran_ns "$subject") cpu=$(awk '{ print $39 }' "/proc/$subject/stat")
	taskset -cp "$cpu" "$subject"
	rm -f "$WORK/err"
	taskset -c "$cpu" cpuprof -C "$cpu" -j -F 999 -p "$subject" >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	kill -CONT "$subject"
	wait_until_gone "$subject"
	# it has ended by itself, or is about to
	wait $tool
	burnt after
	read -r all exact alien <<<"$(tally before)"
	expect "$exact + $(summary .lost) > 0.95 * (3 - $ran / 1e9) * 999"
	expect "$exact >= 0.95 * $all && $alien == 0"
}

@test "fork without exec: the child has its parent's code" {
	need_root
	need eu-stack gawk
	images parent
	expected_tail parent
	profile -- "$WORK/parent" burn 0.5 fork
	burnt parent
	[ "$(jq -r 'select(.type == "stack" and .comm == "parent") | .pid' "$WORK/out" | sort -u | wc -l)" -ge 2 ]
}

# bats test_tags=full
@test "fork and exec from a thread" {
	need_root
	need eu-stack gawk
	images parent child
	expected_tail parent
	profile -- "$WORK/parent" burn 1 thread "$WORK/child" burn 1
	burnt parent child
}

# bats test_tags=full
@test "a leader that exits while it is measured, before its threads" {
	need_root
	need gawk
	images leaves
	profile -- "$WORK/leaves" burn 1 leave
	# before and after, down to the entry point or clone3
	local entry clone3 main thread
	entry=$(entry_offset "$WORK/leaves") clone3=$(clone3_offset)
	read -r main thread <<<"$(jq -r 'select(.type == "stack" and .ended_by == "complete") | [.count, .user[-1].module, .user[-1].file_offset] | @tsv' "$WORK/out" |
		gawk -v entry="$entry" -v clone3="$clone3" '$2 ~ /leaves$/ && $3 > entry && $3 <= entry + 64 { main += $1 }
			$2 ~ /libc/ && $3 > clone3 && $3 <= clone3 + 100 { thread += $1 } END { print main + 0, thread + 0 }')"
	expect "$main + $(summary .lost) > 0.95 * 999"
	expect "$thread + $(summary .lost) > 0.95 * 999"
}

@test "a PID that is reused at once, in a PID namespace" {
	need_root
	need eu-stack gawk unshare
	images first second
	expected_tail first
	local status=0 cpu
	cpu=$(awk '{ print $39 }' /proc/self/stat)	# as on_one_cpu
	cat >"$WORK/reuse" <<-EOF
		cpuprof -j -F 999 -C $cpu >"$WORK/out" 2>"$WORK/err" & tool=\$!
		until grep -q '^Sampling' "$WORK/err"; do sleep 0.1; done
		for i in 1 2 3 4; do
			for image in first second; do
				echo 400 >/proc/sys/kernel/ns_last_pid || exit 77
				"$WORK/\$image" burn 0.25 & wait \$!
			done
		done
		kill -INT \$tool
		wait \$tool
	EOF
	taskset -c "$cpu" "${in_pid_namespace[@]}" bash "$WORK/reuse" || status=$?
	[ $status -ne 77 ] || skip "ns_last_pid cannot be written"
	[ $status -eq 0 ]
	[ "$(jq -r 'select(.type == "stack" and (.comm == "first" or .comm == "second")) | .pid' "$WORK/out" | sort -u)" = 401 ]
	burnt first second
}

@test "code that is moved: by mremap(), and copied to anonymous memory" {
	need_root
	need gawk
	local how all whole entry
	entry=$(entry_offset "$ROOT/build/tests/moved-text")
	for how in running-remap running-copy $(sized "remap copy" ""); do
		if [[ $how == running-* ]]; then
			background moved-text "${how#running-}"
			wait_until grep -q ready "$WORK/background.out"
			measure_while_it_runs 500 cpuprof -j -F 999 -p "$pid"
		else
			profile -- bash -c "exec moved-text $how 1 >/dev/null"
		fi
		# without the shell's samples, and those of the dynamic linker at the start
		read -r all whole <<<"$(jq -r 'select(.type == "stack" and .comm == "moved-text" and any(.user[]; .module // "-" | test("/ld-") | not)) |
				[.count, .user[-1].module // "-", .user[-1].file_offset // 0] | @tsv' "$WORK/out" |
			gawk -v entry="$entry" '{ all += $1 } $2 ~ /moved-text$/ && $3 > entry && $3 <= entry + 64 { whole += $1 } END { print all + 0, whole + 0 }')"
		echo "# $how: $whole of $all samples down to the entry" >&3
		expect "$all > 50 && $whole >= 0.98 * $all"
	done
}

# ---- storms ----

# "$WORK"/libraries*/lib*.so, in hundreds
libraries() {	# HUNDREDS
	local i
	mkdir "$WORK/libraries1"
	for i in {0..99}; do
		cp "$ROOT/build/tests/storm$((i % 4)).so" "$WORK/libraries1/lib$i.so"
	done
	for ((i = 2; i <= $1; i++)); do
		cp -r "$WORK/libraries1" "$WORK/libraries$i"
	done
}

# bats test_tags=full
@test "a thousand libraries loaded one after another: 98 % complete" {
	need_root
	libraries 10
	profile -- dlstorm load 2 "$WORK"/libraries*/*
	echo "# $(summary '"\(.samples) samples, \(.ended.complete) complete, \(.lost) lost"')" >&3
	expect "$(summary .samples) + $(summary .lost) > 0.95 * 2 * 999"
	expect "$(summary .ended.complete) >= 0.98 * $(summary .samples)"
	# most of the libraries, each under its own name
	expect "$(jq -r 'select(.type == "stack") | .user[].module // empty | select(test("/lib[0-9]+.so"))' "$WORK/out" | sort -u | wc -l) > 800"
}

# bats test_tags=full
@test "libraries of one size that take turns at one address, and two programs in one process: no stack mixes them" {
	need_root
	need nm
	images one two
	cat >"$WORK/execs" <<-EOF
		i=0
		while [ \$i -lt 60 ]; do
			"$WORK/one" brief 0.01 exec "$WORK/two" brief 0.01 exec "$WORK/one" brief 0.005
			i=\$((i + 1))
		done
	EOF
	cpuprof -j -F 4999 -- bash -c "bash '$WORK/execs' & dlstorm churn 4 '$ROOT'/build/tests/storm{0,1,2,3}.so; wait" >"$WORK/out" 2>"$WORK/err"
	# the thread's name at the moment of the sample says which library, and which program, it can be in
	jq -r --arg own "^$WORK/" 'select(.type == "stack") | .comm as $comm | .count as $count | .user[] |
		select(.module // "" | test("/storm[0-9].so$") or test($own)) |
		[$count, $comm, (.module | sub(".*/"; "")), .file_offset, .symbol // "-"] | @tsv' "$WORK/out" >"$WORK/frames"
	local program library
	gawk '$2 ~ /^storm/ || $2 == "one" || $2 == "two" { if ($2 == $3) right += $1; else { wrong += $1; print > "/dev/stderr" } }
		END { print "# " right + 0 " frames in the image of their time, " wrong + 0 " in another" }' "$WORK/frames" >&3
	gawk '($2 ~ /^storm/ || $2 == "one" || $2 == "two") && $2 != $3 { exit 1 }' "$WORK/frames"
	for library in storm0.so storm1.so storm2.so storm3.so one two; do
		expect "$(awk -v l="$library" '$3 == l { n += $1 } END { print n + 0 }' "$WORK/frames") > 500"
	done
	# each library's functions lie where no other's do
	for library in storm0.so storm1.so storm2.so storm3.so; do
		awk -v l="$library" '$2 == l && $3 == l { print $4 }' "$WORK/frames" | sort -u >"$WORK/offsets"
		nm -S "$ROOT/build/tests/$library" | gawk -v offsets="$WORK/offsets" '
			$4 == "inner" || $4 == "storm" { from[++n] = strtonum("0x" $1); to[n] = from[n] + strtonum("0x" $2) }
			END { while ((getline offset < offsets) > 0) { ok = 0
				for (i = 1; i <= n; i++) if (offset >= from[i] && offset <= to[i]) ok = 1
				if (!ok) plt++ ; else inside++ }
				exit !(inside > 0 && plt <= 4) }'
	done
	expect "$(summary .ended.complete) >= 0.98 * ($(summary .samples) - $(summary .ended.no_user))"
}

# bats test_tags=full,alone
@test "make -j4 of a C project, system-wide: 97 % of its samples complete, and each process's share of the samples is its share of the CPU" {
	need_root
	need make gcc
	local levels="0 2 s" least=300
	[ "$SIZE" = full ] || levels=2 least=60
	cat >"$WORK/build" <<-EOF
		for level in $levels; do
			make -s -C "$ROOT" -j4 B="$WORK/O\$level" CFLAGS="-O\$level -g -wrapper $ROOT/build/tests/timed,$WORK/usage" "$WORK/O\$level"/libcommon/{process,table,dwarf}.a
		done
	EOF
	rm -f "$WORK/err"
	cpuprof -j -F 999 >"$WORK/out" 2>"$WORK/err" 3>&- &
	local tool=$! stolen
	others() { awk "BEGIN { print $(cpu_seconds steal) + $(cpu_seconds irq) + $(cpu_seconds softirq) }"; }
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	stolen=$(others)
	bash "$WORK/build"
	stolen=$(awk "BEGIN { print $(others) - $stolen }")
	kill -INT $tool
	wait $tool
	echo "# $(wc -l <"$WORK/usage") compiler processes; $(summary '"\(.samples) samples, \(.ended.complete) complete, \(.ended.no_user) without user registers, \(.lost) lost"')" >&3
	expect "$(wc -l <"$WORK/usage") > $least"
	# of the compilers: what else this machine runs is not ours to say
	jq -r 'select(.type == "stack" and .ended_by != "no_user") | [.pid, .count, .ended_by] | @tsv' "$WORK/out" |
		awk 'NR == FNR { ours[$1]; next } $1 in ours { all += $2; whole += $3 == "complete" ? $2 : 0 }
			END { print "# " whole " of the compilers'"'"' " all " samples complete"; exit !(all && whole >= 0.97 * all) }' "$WORK/usage" - >&3
	jq -r 'select(.type == "stack") | [.pid, .count] | @tsv' "$WORK/out" | awk '{ n[$1] += $2 } END { for (p in n) print p, n[p] }' >"$WORK/counted"
	# Samples of a process are drawn from its time: within five standard deviations each, and in all within 3 % below and 10 % above.
	# While the hypervisor ran others, and in interrupts, the processes' clocks stood still. What is lost is lost to few, if one
	# interrupt was late by a second: so much may be missing of them, and no more.
	awk -v hz=999 -v stolen="$stolen" -v lost="$(summary .lost)" 'NR == FNR { n[$1] = $2; next }
		{ e = $2 * hz / 1e9; expected += e; got += n[$1]; d = n[$1] - e
			if (d * d > 25 * (e + 1)) { if (d < 0) missing -= d; else extra += d; print "# PID " $1 ": " n[$1] + 0 " samples, " e " expected" } }
		END { printf "# compilers: %d samples, %.0f expected of wait4; of those far off, %d missing, %d too many\n", got, expected, missing, extra
			exit !(got > 0.97 * expected - lost && got < 1.1 * expected + stolen * hz &&
				missing <= 0.01 * expected + lost && extra <= 0.01 * expected + stolen * hz) }' "$WORK/counted" "$WORK/usage" >&3
}

# bats test_tags=full
@test "a thread that gives itself names again and again: whole stacks, for it has executed nothing" {
	need_root
	need perl
	profile -- perl -e 'my $until = times() + 1; for (my $n = 0; times() < $until; $n++) { $0 = "n$n"; my $x = 0; $x += $_ for 1 .. 20000 }'
	echo "# $(summary '"\(.samples) samples, \(.ended | with_entries(select(.value > 0)))"')" >&3
	expect "$(summary .samples) > 100"
	expect "$(summary .ended.complete) >= 0.98 * $(summary .samples)"
}

# a child that has much memory to give back, or many that have little; prints the CPU seconds of the children, as wait4() has them
exits() {	# CHILDREN MIB
	/usr/bin/python3 -c 'import mmap, os, resource, sys
for i in range(int(sys.argv[1])):
    if not os.fork():
        m = mmap.mmap(-1, int(sys.argv[2]) << 20)
        m.madvise(mmap.MADV_NOHUGEPAGE)
        for at in range(0, len(m), 4096):
            m[at] = 1
        os._exit(0)
    os.wait()
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(r.ru_utime + r.ru_stime)' "$@"
}

@test "what a process does in its exit is counted: events to the last, and samples while its memory is given back" {
	need_root
	export -f exits
	local tool
	# the kernel's own count of exits: the shell, python and its children. In a PID namespace of its own, too
	local nr
	nr=$(sized 200 60)
	for tool in "" "unshare --pid --fork --mount-proc"; do
		$tool stackcount -q -j -o "$WORK/out" t:sched:sched_process_exit -- bash -c "exits $nr 1; true" >/dev/null
		jq -c 'select(.type == "stack" and .ended_by != "complete") | [.comm, .pid, .count, .ended_by]' "$WORK/out"
		[ "$(summary .samples)" -eq $((nr + 2)) ]
		[ "$(summary .lost)" -eq 0 ]
	done
	cpuprof -q -j -F 997 -o "$WORK/out" -- bash -c 'exits 8 100; true' >"$WORK/seconds"
	local exiting
	exiting=$(jq -s 'map(select(.type == "stack" and any(.kernel[].symbol; . == "exit_mmap")).count) | add // 0' "$WORK/out")
	echo "$(summary .samples) samples, $exiting of them in exit_mmap(), $(summary .lost) lost; children: $(cat "$WORK/seconds") s"
	expect "$(summary '.samples + .lost') >= 0.97 * 997 * $(cat "$WORK/seconds") - 10"
	[ "$exiting" -gt 10 ]
}

# ---- start ----

# bats test_tags=full
@test "1,400 libraries mapped at start: whole stacks from the beginning" {
	need_root
	libraries 14
	background dlstorm hold "$WORK"/libraries*/*
	wait_until grep -q ready "$WORK/background.out"
	measure_while_it_runs 500 cpuprof -j -F 999 -v -p "$pid"
	grep -a 'cpuprof: start: 1 process read in .* files compiled in .* of slabs inserted in' "$WORK/err" | sed 's/^/# /' >&3
	awk '/files compiled/ { for (i = 1; i < NF; i++) if ($(i + 1) == "files") exit !($i >= 1400) }' "$WORK/err"
	expect "$(summary .samples) > 50"
	expect "$(summary .ended.complete) >= 0.99 * $(summary .samples)"
	# all was published at the start, which waits 0.4 s for tables: no sample had to be sent raw
	grep -aq ' 0 raw samples' "$WORK/err" || grep -aqE ' files compiled in ([4-9][0-9]{2}|[0-9]{4,})\.[0-9] ms' "$WORK/err"
}

# ---- a command's beginning ----

@test "the first events of a command are its own, with whole stacks: what our child does before it executes it is not" {
	need_root
	local tool
	images begins
	stackcount -q -j page-faults -- "$WORK/begins" brief 0.001 >"$WORK/out"
	jq -c 'select(.type == "stack" and (.comm != "begins" or (.ended_by | IN("complete", "no_user") | not)))' "$WORK/out" >"$WORK/others"
	cat "$WORK/others"
	[ ! -s "$WORK/others" ]
	expect "$(summary .samples) > 20"
	for tool in "wallprof -j" "offcputime -j" "stackcount -j t:sched:sched_switch" "stackcount -j t:raw_syscalls:sys_exit"; do
		$tool -q -- sh -c "sleep 0.05" >"$WORK/out"
		grep -q '"comm":"sleep"' "$WORK/out"
		jq -c 'select(.type != "stacks" and (.comm? // "sh" | IN("sh", "sleep") | not))' "$WORK/out" >"$WORK/others"
		cat "$WORK/others"
		[ ! -s "$WORK/others" ]
	done
}

# ---- -p and -t ----

@test "-p NAME: all processes of exactly this name; with the last one of -p or -t each tool ends, with its report" {
	need_root
	need perl
	local name=ehp-$BASHPID i started=() held=() arguments
	images "$name" "$name-x"
	cp $LIBC "$WORK"
	for i in "$name" "$name" "$name-x"; do
		background "$WORK/$i" hold
		held+=("$pid")
	done
	# its parent does not wait for it
	background perl -e 'my $p = fork; exec "sleep", 1000 unless $p; print "$p\n"; close STDOUT; sleep 1000'
	wait_until grep -q . "$WORK/background.out"
	local unwaited
	unwaited=$(cat "$WORK/background.out")
	# a zombie of that name is no process that could be measured
	NAME=$name background perl -e 'my $p = fork; exec @ARGV unless $p; my $name = "";
		while ($name ne "$ENV{NAME}\n") { open my $file, "<", "/proc/$p/comm"; $name = <$file> }
		kill 9, $p;
		my $stat = ""; while ($stat !~ /\) Z /) { open my $file, "<", "/proc/$p/stat"; $stat = <$file> }
		print "$p\n"; close STDOUT; sleep 1000' "$WORK/$name" hold
	wait_until grep -q . "$WORK/background.out"
	while IFS='|' read -r arguments i; do
		arguments=${arguments//NAME/$name}
		$arguments -j >"$WORK/out.${#started[@]}" 2>"$WORK/err.${#started[@]}" 3>&- &
		started+=("$!")
		pids+=("$!")
		echo "$i" >>"$WORK/expected"
	done <<-EOT
		cpuprof -p NAME|all 2 processes have ended
		offcputime -p NAME|all 2 processes have ended
		offwaketime -p NAME|all 2 processes have ended
		wallprof -p NAME|all 2 processes have ended
		mapupdlat -p NAME|all 2 processes have ended
		biohist -p NAME|all 2 processes have ended
		funclat -p NAME u:$WORK/libc.so.6:malloc|all 2 processes have ended
		stackcount -p $unwaited,NAME page-faults|all 3 processes have ended
		cpuprof -p $unwaited|process $unwaited has ended
		wallprof -t ${held[0]}|thread ${held[0]} has ended
		cpuprof -t ${held[0]},${held[1]} -p NAME|all 2 processes have ended
	EOT
	for i in "${!started[@]}"; do
		wait_until grep -q Ctrl-C "$WORK/err.$i"
	done
	kill "$unwaited" "${held[0]}" "${held[1]}"
	for i in "${!started[@]}"; do
		arguments=$(sed -n "$((i + 1))p" "$WORK/expected")
		wait_until_gone "${started[i]}"
		wait "${started[i]}"
		cat "$WORK/err.$i"
		grep -q ": $arguments$" "$WORK/err.$i"
		cp "$WORK/out.$i" "$WORK/out"
		summary .type | grep -q summary
	done
	kill -0 "${held[2]}"
}

# what the program says of its processes, "PID CALLS" each, once all of them have ended; sorted
forks_said() {
	[ "$(wc -l <"$WORK/said")" -eq 6 ] && sort "$WORK/said"
}

# starts forks as $program, which goes on when something is written to $go
start_forks() {	# NAME
	cp "$ROOT/build/tests/forks" "$WORK/$1"
	mkfifo "$WORK/$1.go"
	: >"$WORK/said"
	"$WORK/$1" <"$WORK/$1.go" >"$WORK/said" 2>&1 3>&- &
	program=$!
	pids+=("$program")
	exec {go}>"$WORK/$1.go"
	wait_until grep -qx "$1" "/proc/$program/comm"
}

@test "--children: what a process forks, in each way, is measured to the last call, and nobody else" {
	need_root
	local name=f$BASHPID i
	# -p PID, and -p NAME; user functions with stacks, and with histograms
	local calls=("stackcount -j -p NAME" "funclat -P -j -p PID")
	[ "$SIZE" != full ] || calls+=("stackcount -j -p PID")
	for i in "${calls[@]}"; do
		name+=x	# who has ended, and nobody has waited for it, has its name still
		start_forks "$name"
		rm -f "$WORK/err"
		i=${i/NAME/$name}
		${i/PID/$program} --children "u:$WORK/$name:called" >"$WORK/out" 2>"$WORK/err" 3>&- {go}>&- &
		tool=$!
		pids+=("$tool")
		wait_until grep -q Ctrl-C "$WORK/err"
		# another process of this file, of the same name, which was not there
		"$WORK/$name" leaf >"$WORK/other" {go}>&-
		echo >&$go
		exec {go}>&-
		wait_until_gone "$tool"
		wait "$tool"
		cat "$WORK/err" "$WORK/said"
		grep -q "process $program and all its descendants have ended" "$WORK/err"
		jq -r 'select(.type == "stack" or .type == "histogram") | "\(.pid // .key.pid) \(.count)"' "$WORK/out" | sort >"$WORK/ours"
		forks_said >"$WORK/theirs"
		diff "$WORK/theirs" "$WORK/ours"
		valid_json "$WORK/out"
	done
}

@test "--children: without it the children are not measured; each tool has it; it is for -p" {
	need_root
	local name=f$BASHPID tool
	start_forks "$name"
	rm -f "$WORK/err"
	stackcount -j -p "$program" "u:$WORK/$name:called" >"$WORK/out" 2>"$WORK/err" 3>&- {go}>&- &
	pids+=("$!")
	wait_until grep -q Ctrl-C "$WORK/err"
	echo >&$go
	exec {go}>&-
	wait_until_gone "${pids[-1]}"
	grep -q "process $program has ended" "$WORK/err"
	diff <(grep "^$program " "$WORK/said") <(jq -r 'select(.type == "stack") | "\(.pid) \(.count)"' "$WORK/out")
	for tool in cpuprof offcputime offwaketime wallprof stackcount funclat mapupdlat biohist; do
		run $tool --children 1
		echo "$tool: $output"
		[ $status -eq 2 ]
		[[ "${lines[0]}" = "$tool: --children needs -p, and excludes -t" ]]
	done
	run cpuprof --children -p $$ -t $$ 1
	[ $status -eq 2 ]
}

@test "--children: a fork that waits and a fork's fork are off the CPU and on it as long as they live" {
	need_root
	local name=f$BASHPID tool
	start_forks "$name"
	for tool in offcputime wallprof; do
		$tool -j -p "$program" --children >"$WORK/$tool.out" 2>"$WORK/$tool.err" 3>&- {go}>&- &
		pids+=("$!")
	done
	for tool in offcputime wallprof; do
		wait_until grep -q Ctrl-C "$WORK/$tool.err"
	done
	echo >&$go
	exec {go}>&-
	for tool in "${pids[@]: -2}"; do
		wait_until_gone "$tool"
		wait "$tool"
	done
	# all of them; who makes 20 calls has slept for 0.5 s first, who makes 30 for 0.2 s
	diff <(forks_said | cut -d ' ' -f 1) <(jq -r 'select(.type == "thread" and .pid == .tid) | .pid' "$WORK/wallprof.out" | sort)
	local calls ns
	for calls in "20 500000000" "30 200000000"; do
		read -r calls ns <<<"$calls"
		jq -en --argjson pid "$(awk -v calls="$calls" '$2 == calls { print $1 }' "$WORK/said")" --argjson ns "$ns" \
			'[inputs | select(.type == "stack" and .pid == $pid) | .value_ns] | add >= $ns' "$WORK/offcputime.out"
	done
}

# of packages that are built reproducibly, all files are of one date
@test "a library that is overwritten by one of the same date: what runs then has the new one's names" {
	need_root
	need gcc
	local version
	for version in old new; do
		printf '#include <time.h>\nvoid %s_work(void) { for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) for (volatile int i = 0; i < 100000; i++) ; }\nvoid work(void) { %s_work(); }\n' \
			$version $version | gcc -O1 -fno-optimize-sibling-calls -shared -fPIC -x c -o "$WORK/$version.so" -
		touch -d @0 "$WORK/$version.so"
	done
	cp -p "$WORK/old.so" "$WORK/libwork.so"
	[ "$(stat -c %s "$WORK/old.so")" = "$(stat -c %s "$WORK/new.so")" ]	# by their sizes, they are the same
	printf 'void work(void);\nint main(void) { work(); return 0; }\n' |
		gcc -x c -o "$WORK/worker" - -L"$WORK" -lwork -Wl,-rpath,"$WORK"
	cpuprof -q -j --every 0.4 -F 499 -o "$WORK/out" -- \
		bash -c '"$0/worker"; cp -p "$0/new.so" "$0/libwork.so"; "$0/worker"' "$WORK"
	jq -rn '[inputs | select(.type == "stack" and .comm == "worker") | {pid, name: ([.user[].symbol | select(test("_work$"))][0] // "none"), count}] |
		group_by(.pid)[] | group_by(.name) | max_by(map(.count) | add)[0].name' "$WORK/out" | sort | tee "$WORK/names"
	[ "$(paste -sd' ' "$WORK/names")" = "new_work old_work" ]
}
