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

# bats test_tags=full
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
