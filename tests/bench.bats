#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# From what a benchmark prints to the table in tests/bench/README.md.

load lib.bash

# bats test_tags=full
@test "make bench's table has the figures of a benchmark that was run, and no row for others" {
	need_root
	make -s -C "$ROOT" build/bench/load
	mkdir "$WORK/results"
	"$ROOT/build/bench/load" "$ROOT/build" "" cpuprof offcputime | tee "$WORK/results/load"
	printf 'before\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nafter\n' >"$WORK/README.md"
	"$ROOT/tests/bench/table" "$WORK/results" "$WORK/README.md"
	cat "$WORK/README.md"
	[ "$(grep -c '^| .* [0-9.]* ms | ' "$WORK/README.md")" -eq 2 ]
	[ "$(grep -cE '^(before|after|old)$' "$WORK/README.md")" -eq 2 ]
	local ms
	for ms in $(sed -nE 's/^\| .* \| ([0-9.]+) ms \| .*/\1/p' "$WORK/README.md"); do
		grep -qwF "$ms" "$WORK/results/load"
	done
	rm "$WORK"/results/*
	run "$ROOT/tests/bench/table" "$WORK/results" "$WORK/README.md"
	[ "$status" -eq 1 ]
}
