#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The pages in man/examples/ show what the tools print today; README's pictures can be drawn.

load lib.bash

@test "each tool has a page of examples" {
	diff <(ls "$ROOT/man/examples") <(cd "$ROOT/tools" && for tool in */; do echo "${tool%/}_example.txt"; done)
}

# bats test_tags=full
@test "their commands run, and print what the pages show" {
	need_root
	need python3 jq xz taskset
	[ -f "$LIBC" ] || skip "needs $LIBC"
	local page
	for page in "$ROOT"/man/examples/*; do
		example-page check "$page"
	done
	# a page that shows another form is found
	sed 's/ user stacks complete/ stacks whole/' "$ROOT/man/examples/cpuprof_example.txt" >"$WORK/cpuprof_example.txt"
	refute example-page check "$WORK/cpuprof_example.txt" 2>/dev/null
}

# bats test_tags=full
@test "make pictures draws README's pictures, small enough for a page" {
	need_root
	need python3 xz taskset chromium xmllint tmux aha
	"$ROOT/man/pictures/draw" "$WORK"
	diff <(cd "$WORK" && ls *.svg *.png) <(cd "$ROOT/man/pictures" && ls *.svg *.png)
	local file
	for file in "$WORK"/flame.svg "$ROOT"/man/pictures/flame.svg; do
		xmllint --xpath 'string(/)' "$file" | grep -q '_iterencode_dict (encoder\.py)'
	done
	# a PNG, 1000 x 310
	diff <(od -An -t x1 -j 12 -N 12 "$WORK/timeline.png") <(echo ' 49 48 44 52 00 00 03 e8 00 00 01 36')
	[ "$(wc -c <"$ROOT/man/pictures/flame.svg")" -le 61440 ]
	for file in timeline live served; do
		[ "$(wc -c <"$ROOT/man/pictures/$file.png")" -le 102400 ]
	done
}
