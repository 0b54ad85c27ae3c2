#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# flame: folded stacks of any origin as pictures.

load lib

# the frames of an SVG picture: "NAME: VALUE UNIT, SHARE %" each
titles() {	# FILE
	xmllint --xpath '//*[@id = "frames"]/*/*[local-name() = "title"]/text()' "$1"
}

# bats test_tags=check
@test "wrong arguments: one clear line, exit 2" {
	local arguments said
	while IFS='|' read -r arguments said; do
		echo "flame $arguments"
		run flame $arguments </dev/null
		[ "$status" -eq 2 ]
		[[ "${lines[0]}" == *"$said"* ]]
	done <<-END
		-o x.png|must end in .svg or .html
		-o x.pb.gz|folded stacks can be drawn as .svg and .html only
		a b|one file only
		--diff a|takes two files
		--normalize a|goes with --diff
		a b c|too many files
	END
	run flame /nonexistent
	[ "$status" -eq 1 ]
	run flame </dev/null
	[ "$status" -eq 1 ]
	[[ "$output" == *"no stacks with a count"* ]]
}

# bats test_tags=check
@test "the man page, --help and the parser agree on the options" {
	options_agree flame
}

# bats test_tags=check
@test "folded stacks whose first frame begins with a brace are no recording" {
	flame <<<'{main};f 3' | grep -q '>f: 3 samples, 100.00 %<'
}

@test "a timeline from a pipe is copied to \$TMPDIR" {
	local start='{"type":"start","schema":1}'
	TMPDIR=$WORK/none run flame < <(echo "$start")
	[[ "$status $output" == "1 flame: cannot copy the recording to a file: No such file or directory"* ]]
	mkdir "$WORK/tmp"
	TMPDIR=$WORK/tmp run flame < <(echo "$start")
	[[ "$output" == *"another version of ehperf"* ]]
	[ -z "$(ls "$WORK/tmp")" ]
}

@test "widths are the folded counts, whoever folded them" {
	need xmllint gawk
	cat >"$WORK/in" <<-END
		swapper;cpu_idle;default_idle;native_safe_halt_[k] 33
		java;start;[unknown];Interpreter_[j];A.b(int, int)_[i] 20
		a b;main;-;entry_SYSCALL_64;do_syscall_64 7

		not a stack
	END
	printf 'a b;main 40' >>"$WORK/in"	# a last line without its end
	flame "$WORK/in" >"$WORK/x.svg" 2>"$WORK/err"
	grep -q ": 1 line left out" "$WORK/err"
	titles "$WORK/x.svg" >"$WORK/titles"
	cat "$WORK/titles"
	grep -qx 'all: 100 samples, 100.00 %' "$WORK/titles"
	grep -qx 'a b: 47 samples, 47.00 %' "$WORK/titles"
	grep -qx 'A.b(int, int): 20 samples, 20.00 %' "$WORK/titles"
	# each kind by its class: of native_safe_halt, the interpreter, the inlined function, what follows "-"
	for frame in 'k native_safe_halt' 'j Interpreter' 'i A.b(int, int)' 'k do_syscall_64' 'u main' 't swapper'; do
		grep -q "<g class=\"${frame%% *} s.\"[^>]*><title>${frame#* }:" "$WORK/x.svg"
	done
	# a frame is as wide as its count: 1180 px are all
	[ "$(grep -o '<title>main: .*width="[0-9.]*"' "$WORK/x.svg" | sed 's/.*width="//; s/"//')" = 554.60 ]
	flame --unit us "$WORK/in" 2>/dev/null | grep -q 'all: 0.000100 s, 100'
}

# bats test_tags=full
@test "perf's and bcc's own folded data" {
	need_root
	need perf perl xmllint
	perf record -q -e cpu-clock -g -o "$WORK/perf.data" -- "$ROOT/build/tests/nested" burn 1 >/dev/null 2>&1 || skip "perf cannot record here"
	perf script -i "$WORK/perf.data" 2>/dev/null | perl -ne 'chomp;
		if (/^$/) { print join(";", $comm, reverse @stack), " 1\n" if @stack; @stack = () }
		elsif (/^(\S+)/) { $comm = $1 }
		elsif (/^\s*(\w+)\s*(.+) \((\S*)\)/) { push @stack, $2 }' >"$WORK/folded"
	flame -o "$WORK/x.svg" "$WORK/folded"
	titles "$WORK/x.svg" | grep -qx "all: $(wc -l <"$WORK/folded") samples, 100.00 %"
}

# bats test_tags=full
@test "--diff: growth and shrinkage by colour, and their sums" {
	need chromium python3
	printf 'a;b 10\na;c 5\na;gone 5\n' >"$WORK/before"
	printf 'a;b 4\na;c 9\na;new 1\n' >"$WORK/after"
	flame --diff "$WORK/before" "$WORK/after" -o "$WORK/x.svg"
	# red where it grew: more red than blue
	colour() { grep -oE "<title>$1:.*fill:#[0-9a-f]+" "$WORK/x.svg" | sed 's/.*#//'; }
	expect "$((0x$(colour c | cut -c 1-2))) > $((0x$(colour c | cut -c 5-6)))"
	expect "$((0x$(colour b | cut -c 1-2))) < $((0x$(colour b | cut -c 5-6)))"
	flame --diff "$WORK/before" "$WORK/after" -o "$WORK/x.html"
	flame --diff --normalize "$WORK/before" "$WORK/after" -o "$WORK/n.html"
	browse "$WORK/x.html" \
		eval '["a", "b", "c", "gone", "new"].map(n => flame.describe(flame.tree.label.findIndex(l => l >= 0 && flame.tree.labels[l].text === n)).replace(/^(.*): .*change (\S+) .*/, "$1 $2"))' \
		eval '[...document.querySelectorAll("#frames g, svg.flame g")].some(g => g.textContent === "gone")' \
		key b eval '[...document.querySelectorAll("svg.flame g")].some(g => g.textContent === "gone")' >"$WORK/values"
	cat "$WORK/values"
	diff "$WORK/values" - <<-END
		["a -6", "b -6", "c +4", "gone -5", "new +1"]
		false
		true
	END
	browse "$WORK/n.html" eval '[flame.tree.total[0], Math.round(flame.tree.totalBefore[0] * 1e6) / 1e6]' | grep -x '\[14, 14\]'
}

# bats test_tags=full
@test "a page, bottom-up: merged by leaf, searched as before, the root on the same side" {
	need chromium python3
	printf 'a;b;x 3\na;c;x 4\na;b 2\na;x;x 1\n' >"$WORK/folded"
	flame "$WORK/folded" -o "$WORK/x.html"
	# a tall one, too
	awk 'BEGIN { s = "a"; for (i = 0; i < 100; i++) s = s ";f" i; print s, 1 }' >"$WORK/tall"
	flame "$WORK/tall" -o "$WORK/tall.html"
	local first='flame.tree.callees[0].map(node => [flame.tree.name(node), flame.tree.total[node]])'
	local side='(all => all("g[data-node=\"0\"]") < all("g[data-node=\"1\"]"))(which => document.querySelector("svg.flame " + which).getBoundingClientRect().top)'
	browse "$WORK/x.html" \
		eval "$side" key / type '^b$' \
		eval 'document.querySelector(".share").textContent' \
		key Enter key u \
		eval "$first" \
		eval "$side" \
		eval '(tree => tree.callees[tree.callees[0][0]].map(node => [tree.name(node), tree.total[node]]))(flame.tree)' \
		eval 'document.querySelector(".share").textContent' \
		eval '[...document.querySelectorAll(".match")].map(frame => flame.tree.name(+frame.dataset.node))' \
		eval 'flame.tree.total[0]' \
		click '[...document.querySelectorAll("button")].find(button => button.textContent === "Bottom-up")' \
		eval "$first" \
		eval '[...document.querySelectorAll(".match")].length' >"$WORK/values"
	browse "$WORK/tall.html" eval "$side" key u eval "$side" >>"$WORK/values"
	cat "$WORK/values"
	diff "$WORK/values" - <<-END
		true
		"matched 50.00 %: 5 samples"
		[["x", 8], ["b", 2]]
		true
		[["c", 4], ["b", 3], ["x", 1]]
		"matched 50.00 %: 5 samples"
		["b", "b"]
		10
		[["a", 10]]
		1
		true
		true
	END
}

@test "--diff --normalize: what has the same share of both sums has no colour" {
	local before after
	while read -r before after; do
		printf 'a;b %d\na;c %d\n' $((2 * before)) "$before" >"$WORK/before"
		printf 'a;b %d\na;c %d\n' $((2 * after)) "$after" >"$WORK/after"
		flame --diff --normalize "$WORK/before" "$WORK/after" -o "$WORK/x.svg"
		grep -oE '<title>[abc]: .*fill:#[0-9a-f]+' "$WORK/x.svg" | tee "$WORK/frames"
		# red, green and blue are the same
		[ "$(grep -cE 'fill:#([0-9a-f]{2})\1\1$' "$WORK/frames")" -eq 3 ]
	done <<-END
		10 2
		2 10
		2 3
	END
	# a thousand stacks of one sample, and as many beside one of 490: each had more of the whole before
	seq 1000 | sed 's/.*/a;f& 1/' >"$WORK/before"
	{ cat "$WORK/before"; echo 'a;new 490'; } >"$WORK/after"
	flame --diff --normalize "$WORK/before" "$WORK/after" -o "$WORK/x.html"
	[ "$(grep -cE '^[0-9]+,[0-9]+,1,1\.49(0*1)?,?\]?' "$WORK/x.html")" -eq 1000 ]
}

# bats test_tags=full,timing
@test "10,000 stacks: opens, draws and searches at once; a million in bounded memory" {
	need chromium python3
	awk 'BEGIN { srand(1); for (i = 0; i < 10000; i++) { s = "prog"; n = 5 + rand() * 40
		for (k = 0; k < n; k++) s = s ";function_" k "_" int(1 / (rand() + 0.005)); print s, int(1 + 1 / (rand() + 0.0001)) } }' >"$WORK/many"
	flame "$WORK/many" -o "$WORK/x.svg"
	browse "$WORK/x.svg" eval 'flame.tree.total[0]' \
		eval '(t => { flame.zoom(0); flame.search("function_3_1$"); return performance.now() - t < 1000 })(performance.now())' \
		eval 'document.querySelectorAll("#frames .x").length > 0' >"$WORK/values"
	cat "$WORK/values"
	diff "$WORK/values" - <<<"$(awk '{ n += $NF } END { print n }' "$WORK/many")"$'\n'true$'\n'true
	awk 'BEGIN { srand(2); for (i = 0; i < 300000; i++) { s = "p"; for (k = 0; k < 12; k++) s = s ";f" int(rand() * 1e6); print s, 1 } }' >"$WORK/million"
	(ulimit -v 400000; flame "$WORK/million" -o "$WORK/x.svg")
	grep -q 'all: 300000 samples, 100.00 %' "$WORK/x.svg"
	grep -q 'frames left out' "$WORK/x.svg"
}

@test "hostile input: names, lines, counts" {
	need xmllint
	python3 -c '
import os, sys
out = sys.stdout.buffer
out.write(b"<script>alert(1)</script>;\x1b[31m;" + b"\xff\xfe;" + b"]]>&\"\x27;" + b"\xe2\x80\xae;" + b"\xef\xbf\xbf;" + b"x" * 65536 + b" 5\n")
out.write(b"a;" * 20000 + b"leaf 3\n")
out.write(b"y" * (3 << 20) + b" 1\n")
out.write(b"a;b 99999999999999999999999\n;;; 2\n\x00\x00 1\n-;- 1\n")
out.write(os.urandom(100000))' >"$WORK/in"
	for ending in svg html; do
		flame "$WORK/in" -o "$WORK/x.$ending"
		iconv -f utf-8 -t utf-8 "$WORK/x.$ending" >/dev/null
		[ "$(grep -c '</script' "$WORK/x.$ending")" -eq 2 ]
		refute grep -qa "$(printf '\x1b\|\xe2\x80\xae')" "$WORK/x.$ending"
	done
	xmllint --huge --noout "$WORK/x.svg"
	if extra chromium; then
		browse "$WORK/x.html" eval 'flame.tree.total[0] >= 10' | grep -x true
	fi
}

# Each format that flame makes of a recording is, byte for byte, what the tool wrote in the same run. .pb.gz: unpacked, because
# gzip's header may have a time
from_recording() {	# TOOL [ARG...]
	local ending tool=$1
	shift
	rm -f "$WORK"/x.*
	"$tool" -q -o "$WORK/x.jsonl" -o "$WORK/x.svg" -o "$WORK/x.html" -o "$WORK/x.pb.gz" -o "$WORK/x.json" -o "$WORK/x.perf" \
		-o "$WORK/x.folded" -o "$WORK/x.txt" "$@" >"$WORK/stdout" 2>"$WORK/err"
	for ending in svg html pb.gz json perf folded txt; do
		echo "$tool $* $ending"
		[ -s "$WORK/x.$ending" ]
		flame "$WORK/x.jsonl" -o "$WORK/again.$ending"
		if [ $ending = pb.gz ]; then
			cmp <(zcat "$WORK/x.$ending") <(zcat "$WORK/again.$ending")
		else
			cmp "$WORK/x.$ending" "$WORK/again.$ending"
		fi
		[ "$(stat -c %a "$WORK/again.$ending")" = 600 ]
	done
}

@test "a recording: each format made of it is what the tool itself wrote" {
	need_root
	need jq
	from_recording cpuprof -F 499 -- nested burn 0.5
	flame "$WORK/x.jsonl" | cmp - "$WORK/x.svg"
	flame <"$WORK/x.jsonl" | cmp - "$WORK/x.svg"
	# on another machine, from which the files are gone
	cp "$ROOT/build/tests/nested" "$WORK/gone"
	from_recording cpuprof -F 499 -- sh -c 'sleep 0.2; exec "$0" burn 0.3' "$WORK/gone"
	rm "$WORK/gone"
	sed 's/^\({"type":"start".*"host":"\)[^"]*/\1elsewhere/' "$WORK/x.jsonl" >"$WORK/moved.jsonl"
	flame "$WORK/moved.jsonl" -o "$WORK/moved.folded"
	cmp "$WORK/moved.folded" "$WORK/x.folded"
	flame --title 'a title' "$WORK/moved.jsonl" -o "$WORK/moved.svg"
	grep -q 'on elsewhere, Linux' "$WORK/moved.svg"
	grep -q 'a title' "$WORK/moved.svg"
	# of the whole machine there may be names that are no text: a recording has U+FFFD for them
	local some='for i in 1 2 3 4 5 6 7 8 9 10; do echo; sleep 0.01; done | cat >/dev/null'
	from_recording offwaketime -- sh -c "$some"
	if [ "$SIZE" = full ]; then
		from_recording offcputime -- sh -c "$some"
		from_recording offcputime --time=waiting -- sh -c "$some"
		from_recording stackcount t:syscalls:sys_enter_write -- sh -c "$some"
		from_recording stackcount 't:syscalls:sys_enter_*read*' -- sh -c "$some"
		from_recording cpuprof -e page-faults -c 10 -- sh -c 'for i in 1 2 3 4 5; do ls >/dev/null; done'
	fi
	# reports that follow each other are one
	cpuprof -q --every 0.2 -o "$WORK/x.jsonl" -- nested burn 0.5 2>/dev/null
	flame "$WORK/x.jsonl" -o "$WORK/x.folded"
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/x.folded")" -eq "$(jq -s 'map(select(.type == "stack").count) | add' "$WORK/x.jsonl")" ]
}

# bats test_tags=full
@test "a recording of wallprof: each format made of it is what the tool itself wrote" {
	need_root
	local ending
	wallprof -q -o "$WORK/x.jsonl" -o "$WORK/x.svg" -o "$WORK/x.html" -o "$WORK/x.pftrace" -o "$WORK/x.json" \
		-o "$WORK/x.folded" -o "$WORK/x.txt" -- sh -c 'for i in 1 2 3 4 5 6; do echo; sleep 0.01; done | cat >/dev/null' 2>"$WORK/err"
	for ending in svg html pftrace json folded txt; do
		echo "$ending"
		[ -s "$WORK/x.$ending" ]
		flame "$WORK/x.jsonl" -o "$WORK/again.$ending"
		cmp "$WORK/x.$ending" "$WORK/again.$ending"
	done
	# a pipe can be read once only
	cat "$WORK/x.jsonl" | flame -o "$WORK/again.html"
	cmp "$WORK/x.html" "$WORK/again.html"
	run flame "$WORK/x.jsonl" -o "$WORK/x.pb.gz"
	[[ "$status $output" == "2 "*"wallprof has no such format"* ]]
	# damaged: a period that is missing, one too many, stacks that there are not, a thread's end
	awk '/"type":"period"/ { if (before) { print NR - 1; exit } before = 1; next } { before = 0 }' "$WORK/x.jsonl" >"$WORK/number"
	sed "$(cat "$WORK/number")d" "$WORK/x.jsonl" >"$WORK/in"
	run flame "$WORK/in"
	[[ "$status $output" == "1 "*"line $(cat "$WORK/number"): "* ]]
	sed "$(cat "$WORK/number")p" "$WORK/x.jsonl" >"$WORK/in"
	run flame "$WORK/in"
	[[ "$status $output" == "1 "*"line $(($(cat "$WORK/number") + 1)): the period does not begin where the previous one ended"* ]]
	sed 's/"stack":[0-9]*/"stack":99999999/' "$WORK/x.jsonl" >"$WORK/in"
	run flame "$WORK/in"
	[[ "$status $output" == "1 "*"'stack' is out of range" ]]
	head -n -1 "$WORK/x.jsonl" >"$WORK/in"
	run flame "$WORK/in"
	[[ "$status $output" == "1 "*"the recording ends without a summary" ]]
	# without the last thread's last period it is damaged, unless a signal ended it there
	awk '/"type":"period"/ { last = NR } { line[NR] = $0 } END { for (i = 1; i <= NR; i++) if (i < last || i == NR) print line[i] }' "$WORK/x.jsonl" >"$WORK/in"
	run flame "$WORK/in" -o "$WORK/y.txt"
	[[ "$status $output" == "1 "*"the last period of a thread does not reach its end" ]]
	sed -i '$s/"seconds"/"ended_early":true,&/' "$WORK/in"
	for ending in svg html pftrace json folded txt; do
		flame "$WORK/in" -o "$WORK/y.$ending"
	done
}

# bats test_tags=full
@test "a recording with frames of runtimes, inlined functions and lines" {
	need_root
	need java python3
	echo 'public class T { public static void main(String[] a) { var m = new java.util.HashMap<Integer, Long>();
		for (int i = 0; i < 20000000; i++) m.merge(i % 1000, (long)i, Long::sum); } }' >"$WORK/T.java"
	from_recording cpuprof -F 499 -i -l -- python3 -c 'sum(i * i for i in range(5000000))'
	grep -q '"runtime":"python"' "$WORK/x.jsonl"
	from_recording cpuprof -F 499 -- python3 -c 'sum(i * i for i in range(5000000))'
	from_recording cpuprof -F 499 -i -- java "$WORK/T.java"
	grep -q '"inlined":true' "$WORK/x.jsonl"
	from_recording cpuprof -F 499 -l -- java "$WORK/T.java"
}

# a recording with one frame of user code a line: SYMBOL ADDRESS
recording_of() {
	echo '{"type":"start","schema":2,"tool":"cpuprof","version":"0","host":"h","kernel":"k","time":"2026-11-22T07:25:00.123Z","report":"stacks","counted":"samples","command_line":"c","sample_ns":1000}'
	while read -r symbol address; do
		echo '{"type":"stack","pid":7,"tid":7,"comm":"c","count":1,"value_ns":1000,"ended_by":"complete","kernel":[],"user":[{"symbol":"'"$symbol"'","address":"'"$address"'","call":true,"runtime":"jit"}]}'
		echo '{"type":"summary","tool":"cpuprof","began":"2026-11-22T07:25:00.000000001Z","seconds":1.0,"samples":1,"frames":1,"named":1,"lost":0,"ended":{"complete":1}}'
	done
}

# bats test_tags=check
@test "a recording of several reports: code that came where other code was has its own name" {
	printf '%s\n' 'first 0x7f0000001000' 'second 0x7f0000001000' 'first 0x7f0000001000' | recording_of >"$WORK/x.jsonl"
	flame "$WORK/x.jsonl" -o "$WORK/x.folded"
	cat "$WORK/x.folded"
	sed 's/_\[j\]//' "$WORK/x.folded" | sort | diff - <(printf 'c;first 2\nc;second 1\n')
}

# bats test_tags=full
@test "a page of off-CPU stacks with wakers: the function that was woken has the time, and the waker's none" {
	need chromium python3
	printf 'a;main;waits;--;wakes;run;b 3\na;main;waits;--;other;c 2\na;main 1\n--;lone 4\n' >"$WORK/folded"
	flame "$WORK/folded" -o "$WORK/x.html"
	browse "$WORK/x.html" \
		eval 'functionsOf(flame.tree).map(row => [flame.tree.labels[row.label].text, row.self, row.total]).sort()' |
		diff - <(echo '[["lone", 4, 4], ["main", 1, 6], ["waits", 5, 5]]')
}

# bats test_tags=check
@test "a damaged recording: one line that says what is wrong, and where; nothing is written" {
	local start='{"type":"start","schema":2,"tool":"cpuprof","version":"0","host":"h","kernel":"k","report":"stacks","counted":"samples"}'
	local end='{"type":"summary","tool":"cpuprof","seconds":1.0}' line said
	local stack='"type":"stack","pid":1,"tid":1,"ended_by":"complete"'
	while IFS='|' read -r line said; do
		echo "$line"
		printf '%s\n%s\n%s\n' "$start" "$line" "$end" >"$WORK/in"
		run timeout 60 flame "$WORK/in" -o "$WORK/x.svg"
		echo "$output"
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" == *"/in', line 2: "*"$said"* ]]
		[ ! -e "$WORK/x.svg" ]
	done <<-END
		{"type":"stack"|the line is cut
		|the line is empty
		{"type":"stack",}|it is not JSON
		{} {}|it is not JSON
		[1]|it is not an object
		{$stack,"comm":"a","count":-1,"user":[],"kernel":[]}|'count' is out of range
		{$stack,"comm":"a","count":18446744073709551615,"user":[],"kernel":[]}|'count' is out of range
		{$stack,"comm":"a","count":NaN,"user":[],"kernel":[]}|'count' is not a JSON int
		{$stack,"comm":"a","count":"1","user":[],"kernel":[]}|'count' is not a JSON int
		{$stack,"comm":"a","count":1,"user":{},"kernel":[]}|'user' is not a JSON array
		{$stack,"comm":"a","count":1,"user":[1],"kernel":[]}|'user' is not an array of frames
		{$stack,"comm":"a\u0000b","count":1,"user":[],"kernel":[]}|'comm' has a NUL
		{$stack,"count":1,"user":[],"kernel":[]}|'comm' is missing
		{$stack,"comm":"a","count":1,"user":[{"vaddr":"12"}],"kernel":[]}|'vaddr' is not an address
		{"type":$(printf '[%.0s' {1..1000})|it is nested too deeply
		{"type":"period"}|not part of a recording of stacks
		$start|another recording
	END
	printf '%s\n{%s,"comm":"a","count":1,"user":[],"kernel":[]}\n' "$start" "$stack" >"$WORK/in"
	run flame "$WORK/in"
	[[ "$status $output" == "1 "*"line 3: the recording ends without a summary" ]]
	printf '%s\n{%s,"comm":"a"' "$start" "$stack" >"$WORK/in"
	run flame "$WORK/in"
	[[ "$status $output" == "1 "*"line 2: the line is cut" ]]
	run flame <<<'{"type":"summary"}'
	[[ "$status $output" == "1 "*"line 1: it is not the first line of a recording" ]]
	run flame <<<'{"type":"start","schema":1}'
	[[ "$status $output" == "1 "*"line 1: another version of ehperf"* ]]
	# a frame is no waker's end, whatever its name is
	local waker='"waker":{"pid":2,"tid":2,"comm":"w","interrupt":false,"ended_by":"complete","user":[{"symbol":"w","address":"0x20"}],"kernel":[]}'
	printf '%s\n' "${start/cpuprof/offwaketime}" "{$stack,\"comm\":\"a\",\"count\":1,\"user\":[{\"symbol\":\"f\",\"address\":\"0x10\"}],\"kernel\":[],$waker}" \
		"{$stack,\"comm\":\"a\",\"count\":1,\"user\":[{\"symbol\":\"--\",\"address\":\"0x1234\"}],\"kernel\":[]}" "$end" >"$WORK/in"
	flame "$WORK/in" -o "$WORK/x.txt"
	grep -qx '    --' "$WORK/x.txt"
	# a later report had the time to find a name
	printf '%s\n' "$start" "{$stack,\"comm\":\"a\",\"count\":1,\"user\":[{\"address\":\"0x10\"}],\"kernel\":[]}" "$end" \
		"{$stack,\"comm\":\"a\",\"count\":2,\"user\":[{\"symbol\":\"f\",\"address\":\"0x10\"}],\"kernel\":[]}" "$end" >"$WORK/in"
	flame "$WORK/in" -o "$WORK/x.folded"
	[ "$(cat "$WORK/x.folded")" = 'a;f 3' ]
	# units are printed as they are
	run flame <<<"${start/samples/\\u001b[2J}"
	[[ "$status $output" == "1 "*"line 1: 'counted' is not a word" ]]
	run flame <<<"${start/\"counted\"/\"summed\":\"a b\",\"counted\"}"
	[[ "$status $output" == "1 "*"line 1: 'summed' is not a word" ]]
	# a line without an end, in bounded memory; and one of many small values
	(ulimit -v 400000; { echo "$start"; yes '{"type":' | tr -d '\n' | head -c 100000000; } | flame >"$WORK/out" 2>"$WORK/err") && false
	grep -q 'line 2: the line is too long' "$WORK/err"
	(ulimit -v 400000; { echo "$start"; yes '1,' | tr -d '\n' | head -c 10000000; } | flame >"$WORK/out" 2>"$WORK/err") && false
	grep -q 'line 2: the line is too long' "$WORK/err"
}
