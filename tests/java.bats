#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# HotSpot's code in stacks: unwound by what the JVM says of it, and named.
# bats file_tags=full

load lib

setup_file() {
	command -v javac >/dev/null || return 0
	mkdir -p "$ROOT/build/tests/java"
	javac -d "$ROOT/build/tests/java" "$ROOT"/tests/workloads/{Gone,Library,M,Serve,Stopped,Storm}.java
}

# samples M for some seconds; the summary of what was found
sample_java() {	# JAVA OPTION...
	cpuprof -q -j -F 499 -o "$WORK/out" -- "$@" -cp "$ROOT/build/tests/java" M 4000 >/dev/null 2>"$WORK/err"
	jq -c 'select(.type == "summary")' "$WORK/out"
}

any_frame() {	# CONDITION
	jq -n -e "any(inputs | select(.type == \"stack\") | .user[]; $1)" "$WORK/out" >/dev/null
}

whole() {	# SHARE SUMMARY
	jq -c '[.samples, .lost, .ended]' <<<"$2"
	jq -e --argjson share "$1" '.samples > 100 and .ended.complete >= $share * (.samples - .ended.no_user)' <<<"$2"
}

# what is lacking is of the start, where the workers need a CPU
# bats test_tags=timing
@test "java: stacks are whole, however the code is compiled" {
	need_root
	need java javac jq
	local options
	for options in "" -XX:TieredStopAtLevel=1 -XX:-TieredCompilation -XX:+PreserveFramePointer; do
		# shellcheck disable=SC2086 # none, or one
		whole 0.995 "$(sample_java java $options)"
	done
	whole 0.99 "$(sample_java java -Xint)"	# the start included: 99.4 to 99.7 % by hand, where 99.5 is aimed at
}

# bats test_tags=timing
@test "java: stacks are whole, whatever collects the garbage" {
	need_root
	need java javac jq
	local options
	for options in -XX:+UseSerialGC -XX:+UseParallelGC -XX:+UseZGC; do
		whole 0.98 "$(sample_java java $options)"	# with its start; the aim is 99.5
	done
}

@test "java: javac, and an HTTP server on and off the CPU" {
	need_root
	need java javac jq
	local in_lock
	cpuprof -q -j -F 499 -o "$WORK/out" -- javac -d "$WORK" "$ROOT"/tests/workloads/{Gone,M,Serve,Stopped,Storm}.java 2>"$WORK/err"
	whole 0.995 "$(jq -c 'select(.type == "summary")' "$WORK/out")"
	any_frame '(.symbol // "") | startswith("com.sun.tools.javac.")'
	cpuprof -q -j -F 499 -o "$WORK/out" -- java -cp "$ROOT/build/tests/java" Serve 4000 >"$WORK/answered" 2>"$WORK/err"
	whole 0.995 "$(jq -c 'select(.type == "summary")' "$WORK/out")"
	any_frame '.symbol == "Serve.answer"'
	offcputime -q -j -o "$WORK/out" -- java -cp "$ROOT/build/tests/java" Serve 4000 >"$WORK/answered" 2>"$WORK/err"
	jq -c 'select(.type == "summary")' "$WORK/out" | cut -c 1-300 | sed 's/^/# /'
	jq -e 'select(.type == "summary") | .ended.complete >= 0.995 * (.samples - .ended.no_user)' "$WORK/out"
	# the sleep inside the lock, and the threads that wait for the lock: each request once at most, but for what was lost
	in_lock=$(jq -n '[inputs | select(.type == "stack" and .state == "S" and any(.user[]; .symbol == "java.lang.Thread.sleep") and
		any(.user[]; .symbol == "Serve.waitInside") and any(.user[]; .symbol == "Serve.answer")) | .count] | add' "$WORK/out")
	echo "# $(cat "$WORK/answered"), $in_lock sleeps"
	jq -n -e --argjson sleeps "$in_lock" --argjson answered "$(cut -d ' ' -f 1 "$WORK/answered")" \
		--argjson lost "$(jq -s 'map(select(.type == "summary") | .lost) | add' "$WORK/out")" \
		'$sleeps <= $answered + 4 and $sleeps + $lost >= 0.95 * $answered and $answered > 100'
}

# "WORK SAMPLES" of the thread that works, as Library prints "WORK NANOSECONDS"
samples_of_works() {
	jq -r 'select(.type == "stack" and .comm == "work") | .count as $count |
		[.user[].symbol // "" | select(test("^Library[.](streams|regex|text)$"))] | last | select(.) | "\(.[8:]) \($count)"' "$WORK/out" |
		awk '{ samples[$1] += $2 } END { for (work in samples) print work, samples[work] }'
}

# "WORK SHARE" of "WORK COUNT"
shares() {
	sort | awk '{ count[$1] = $2; sum += $2 } END { for (work in count) print work, count[work] / sum }' | sort
}

@test "java: streams, regular expressions and strings: stacks are whole, and each has the samples of the time that it takes" {
	need_root
	need java javac jq
	cpuprof -q -j -F 499 -o "$WORK/out" -- java -cp "$ROOT/build/tests/java" Library 6000 streams regex text >"$WORK/times" 2>"$WORK/err"
	whole 0.995 "$(jq -c 'select(.type == "summary")' "$WORK/out")"
	# nothing but the thread's run() comes to them, which is interpreted: in a stack that user space unwinds it may have no name
	jq -e -n '[inputs | select(.type == "stack" and .comm == "work" and .ended_by == "complete") |
		select(any(.user[]; .symbol == "Library.streams")) |
		{count, run: any(.user[]; .symbol == "java.lang.Thread.run"), unnamed: any(.user[]; .symbol == "[interpreter]")}] |
		length > 10 and all(.run or .unnamed) and (map(select(.run).count) | add) >= 0.99 * (map(.count) | add)' "$WORK/out"
	join <(shares <"$WORK/times") <(samples_of_works | shares) >"$WORK/shares"
	sed 's/^/# /' "$WORK/shares"
	awk '{ n++; d = $2 - $3; if (d * d > 0.06 * 0.06) exit 1 } END { if (n != 3) exit 1 }' "$WORK/shares"
}

@test "java: compiled methods have names, inlined ones too, with lines" {
	need_root
	need java javac jq
	sample_java java >"$WORK/summary"
	jq -e '.named >= 0.99 * .frames' "$WORK/summary"
	# fib() calls itself, in the line where it stands, and is inlined into itself
	any_frame '.symbol == "M.fib" and .runtime == "hotspot" and .source == "M.java" and .line == 2'
	any_frame '.symbol == "M.fib" and .inlined'
	# nothing but main() and fib() calls fib()
	jq -r 'select(.type == "stack") | .user as $u | range(0; ($u | length) - 1) | select($u[.].symbol == "M.fib") |
		$u[. + 1].symbol' "$WORK/out" | sort | uniq -c >"$WORK/callers"
	refute grep -vE ' (M[.]fib|M[.]main|\[interpreter\])$' "$WORK/callers"
	grep -q 'M[.]main' "$WORK/callers"
}

# "THREAD METHOD:LINE..." of what is in $WORK/out, or in a dump of jstack's
our_threads() {
	jq -r 'select(.type == "stack" and (.comm | test("^wait-"))) | .comm + " " + ([.user[] |
		select(.runtime == "hotspot" and (.symbol // "" | test("^[^ []+[.][^ ]+$"))) | "\(.symbol):\(.line // "")"] | join(" "))' "$WORK/out"
}

jstack_threads() {	# FILE
	awk '
		/^"/ { split($0, f, "\""); thread = f[2] }
		/^\tat / {
			sub(/^\tat /, ""); line = ""
			if (match($0, /:[0-9]+\)$/)) line = substr($0, RSTART + 1, RLENGTH - 2)
			sub(/\(.*/, ""); stack[thread] = stack[thread] " " $0 ":" line
		}
		END { for (thread in stack) if (thread ~ /^wait-/) print thread stack[thread] }' "$1"
}

@test "java: threads that wait have jstack's methods and lines, frame by frame: interpreted, compiled and inlined ones" {
	need_root
	need java javac jstack jq
	local options
	for options in "" -Xint; do
		# shellcheck disable=SC2086 # none, or one
		background java $options -cp "$ROOT/build/tests/java" Stopped ${options:+5}
		wait_until grep -q ready "$WORK/background.out"
		offcputime -q -j -o "$WORK/out" -p "$pid" 1 2>"$WORK/err"
		jstack "$pid" >"$WORK/dump"
		kill "$pid"
		jstack_threads "$WORK/dump" | sort >"$WORK/theirs"
		diff <(our_threads | sort -u) "$WORK/theirs"
		[ "$(wc -l <"$WORK/theirs")" -eq 20 ]
		[ "$options" ] || any_frame '.symbol == "Stopped$Left.go" and .inlined'
		[ "$options" ] || any_frame '.symbol == "Stopped$Right.go" and (.inlined | not)'
	done
}

@test "java: --no-runtimes leaves the JVM's code as it was" {
	need_root
	need java javac jq
	cpuprof -q -j --no-runtimes -o "$WORK/out" -- java -cp "$ROOT/build/tests/java" M 1500 >/dev/null
	refute any_frame '.runtime == "hotspot"'
}

@test "java: a JVM that runs already is unwound from the first samples on" {
	need_root
	need java javac jq
	background java -cp "$ROOT/build/tests/java" M 30000
	sleep 3
	cpuprof -q -j -F 499 -o "$WORK/out" -p "$pid" 3 2>"$WORK/err"
	whole 0.995 "$(jq -c 'select(.type == "summary")' "$WORK/out")"
}

@test "java: a method whose class was thrown away has its name or none, never that of the one that lies there now" {
	need_root
	need java javac jq
	local how share
	# either all is interpreted, or each has new code, whose first samples do not say what calls it
	while read -r share how; do
		# shellcheck disable=SC2086 # options
		cpuprof -q -j -F 997 -o "$WORK/out" -- java $how -XX:+UseSerialGC -Xmx64m -cp "$ROOT/build/tests/java" Gone 100 2>"$WORK/err" </dev/null
		# the thread's name says which runs
		jq -r 'select(.type == "stack" and (.comm | test("^shape-"))) | "\(.comm[6:]) " +
			([.user[].symbol // "" | select(test("Shape"))] | join(" "))' "$WORK/out" |
			awk -v share="$share" '{ n++; right += $NF == "Gone$Shape" $1 ".run"
					for (i = 2; i <= NF; i++) if ($i != "Gone$Shape" $1 ".run" && $i != "Gone$Shape" $1 ".step") print }
				END { print "# " n, right; exit !(n > 50 && right >= share * n) }' >"$WORK/found"
		cat "$WORK/found"
		refute grep -v "^#" "$WORK/found"
	done <<-'END'
		0.5 -Xint
		0.25 -Xcomp -XX:CompileCommand=quiet -XX:CompileCommand=exclude,Gone*::run
	END
}

# what the process and its children have used of a CPU, in ticks
ticks() {	# PID
	local child
	for child in "$1" $(cat "/proc/$1/task/"*/children); do
		cat "/proc/$child/stat" 2>/dev/null || true
	done | sed 's/.*) //' | awk '{ sum += $12 + $13 } END { print sum }'
}

# The JVM's code comes and goes as fast as it can be compiled. The tool is measured once it has the libraries' tables. perf
# samples the same, to see what this kernel gives: timer interrupts were seen to be late in a virtual machine, by up to 20 ms.
storm() {	# JAVA_OPTION...
	local jvm tool perf before
	background java -Xcomp "$@" -cp "$ROOT/build/tests/java" Storm 60000
	jvm=$pid
	sleep 2
	"$ROOT/build/cpuprof" -q -j -F 99 -o "$WORK/out" -p "$jvm" 10 2>"$WORK/err" 3>&- &
	tool=$!
	perf record -q -a -e cpu-clock -F 99 -o "$WORK/perf.data" sleep 10 >/dev/null 2>&1 3>&- &
	perf=$!
	pids+=("$tool" "$perf")
	sleep 2
	before=$(ticks "$tool")
	sleep 6
	cost=$((100 * ($(ticks "$tool") - before) / 6 / $(getconf CLK_TCK)))
	wait "$tool"
	wait "$perf" || skip "perf cannot record here"
	kill "$jvm"
	found=$(jq -c 'select(.type == "summary")' "$WORK/out")
	by_perf=$(perf script -i "$WORK/perf.data" -F pid 2>/dev/null | grep -c "^ *$jvm *\$" || true)
	echo "# $*: $cost % of a CPU; $by_perf by perf; $(jq -c '[.samples, .lost, .frames - .named, .ended]' <<<"$found")"
}

# bats test_tags=timing
@test "java: a JVM that compiles and throws away code at full speed costs little, and its stacks are whole" {
	need_root
	need java javac jq perf
	local options cost found by_perf lost
	for options in -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=16m; do
		storm "$options"
		jq -e '.samples > 200 and .ended.complete >= 0.99 * (.samples - .ended.no_user) and
			.named >= 0.995 * .frames' <<<"$found"
		expect "$by_perf > 200"
		# the kernel loses a tenth or so where the machine is busy, of perf's, too, but not the same ones; the aim is 3 % of a CPU
		lost=$(jq --argjson by_perf "$by_perf" '.lost > 0.005 * (.samples + .lost) and .samples < 0.8 * $by_perf' <<<"$found")
		[ "$cost" -le 4 ]
		[ "$lost" = false ]
	done
}
