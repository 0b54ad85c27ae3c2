#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The pages in man/examples/ show what the tools print today.

load lib.bash

@test "each tool has a page of examples" {
	diff <(ls "$ROOT/man/examples") <(ls "$ROOT/tools" | sed 's/$/_example.txt/')
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
