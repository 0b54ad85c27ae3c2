#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# arm64: Go with C, Java and node in a guest (arm64-runtimes.guest), as in arm64.bats.
# bats file_tags=full

load lib.bash

setup_file() {
	export CONSOLE=$BATS_FILE_TMPDIR/console ROOT
	ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	cd "$ROOT"
	local files=() go=$BATS_FILE_TMPDIR/go cross=aarch64-linux-gnu-
	if command -v go && command -v ${cross}gcc; then
		mkdir "$go"
		export GOARCH=arm64 GOOS=linux GOCACHE=$BATS_FILE_TMPDIR/cache
		CGO_ENABLED=1 CC=${cross}gcc go build -ldflags='-s -w' -o "$go/cgo" tests/workloads/cgo.go
		CGO_ENABLED=0 go build -o "$go/gonet" tests/workloads/gonet.go
		${cross}objcopy -R .gopclntab "$go/gonet" "$go/gonet-exact"
		${cross}nm -n "$go/gonet" >"$go/symbols"
		cp tests/cfi/go-rows.awk "$go"
		files+=("$go"/*)
	fi
	if command -v javac; then
		mkdir "$BATS_FILE_TMPDIR/java"
		javac --release 17 -d "$BATS_FILE_TMPDIR/java" tests/workloads/M.java
		files+=("$BATS_FILE_TMPDIR"/java/*.class)
	fi
	chmod +x "${files[@]}"	# boot-arm64 takes programs
	RUNTIMES=1 GUEST_MEMORY=4096 tests/kernels/boot-arm64 arm64 tests/arm64-runtimes.guest "${files[@]}" >"$CONSOLE.new" &&
		mv "$CONSOLE.new" "$CONSOLE" || [ $? -eq 77 ]
}

setup() {
	[ -e "$CONSOLE" ] || skip "needs aarch64-linux-gnu-gcc, qemu-system-aarch64 and Debian's arm64 packages"
	grep -q '=== end' "$CONSOLE"
	refute grep -A 20 "^failed" "$CONSOLE"
}

# the stacks of the last report
stacks() {	# WORD
	sed -n "s/^$1 {/{/p" "$CONSOLE" | tac | awk '/"type":"summary"/ && seen++ { exit } { print }' | jq -c 'select(.type == "stack")'
}

# of the stacks for which the filter is true
whole() {	# WORD FILTER LEAST SHARE
	stacks "$1" | jq -r "select(.ended_by != \"no_user\") | select($2) | \"\\(.count) \\(.ended_by)\"" | awk -v least="$3" -v share="$4" '
		{ all += $1; whole += $1 * ($2 == "complete") }
		END { print whole + 0, "of", all + 0, "whole"; exit !(all >= least && whole >= share * all) }'
}

@test "arm64: nothing in the kernel's log, with runtimes" {
	refute grep '^dmesg' "$CONSOLE"
}

@test "arm64: Go's table says what .debug_frame says of compiled functions" {
	need go
	local odd
	# assembly: that which changes stacks, has no caller, or saves x30 in its own way; padding
	odd='^(_rt0_arm64_linux|main|gogo|gosave_systemstack_switch|debugCall[0-9]+|crypto/internal/nistec\.p256[A-Za-z]+(\.abi0)?|reflect\.methodValueCall.*'
	odd+='|runtime\.(asyncPreempt|call[0-9]+|callCgo[A-Z][a-z]+|cgoSigtramp|clone|debugCallV2|mcall|morestack|morestack_noctxt|mstart'
	odd+='|nanotime1|rt0_go|sigpanic|sigtramp|systemstack|usleep|walltime)(\.abi0)?)$'
	sed -n 's/^rows //p' "$CONSOLE" >"$BATS_TEST_TMPDIR/rows"
	cat "$BATS_TEST_TMPDIR/rows"
	expect "$(cut -d ' ' -f 1 <"$BATS_TEST_TMPDIR/rows" | head -n 1) > 20000"
	[ -z "$(tail -n +2 "$BATS_TEST_TMPDIR/rows" | grep -vE "$odd")" ]
}

@test "arm64: stacks in C that Go has called, and in Go that this has called, lead to the goroutine's begin" {
	need go
	whole cgo '[.user[].symbol] | index("runtime.asmcgocall") // index("crosscall2")' 50 0.99
	stacks cgo | jq -r 'select(.ended_by == "complete") | [.user[].symbol] | select(index("crosscall2")) | join(" ")' >"$BATS_TEST_TMPDIR/callbacks"
	[ -s "$BATS_TEST_TMPDIR/callbacks" ]
	refute grep -vE ' crosscall2 .* runtime.asmcgocall .*main\.main runtime.main runtime.goexit$' "$BATS_TEST_TMPDIR/callbacks"
}

@test "arm64: Java's stacks are whole, interpreted and compiled, and have the methods' names" {
	need javac
	whole interpreted true 200 0.995
	whole compiled true 200 0.95	# the JVM still compiles, and what runs new code is unwound from copies
	stacks interpreted | jq -es '[.[] | select([.user[].symbol] | index("M.fib"))] | length > 0 and
		all(.[]; [.user[].symbol] | index("M.main") != null)'
	# of a caller, the place in the bytecode is in its frame: fib() is in line 2
	stacks interpreted | jq -es '[.[].user[1:][] | select(.symbol == "M.fib") | .line] | length > 50 and all(.[]; . == 2)'
	stacks compiled | jq -es 'any(.[]; [.user[].symbol] | index("M.main") != null)'
}

@test "arm64: node's stacks are whole: V8's builtins, and code made at run time" {
	whole node true 200 0.995
	stacks node | jq -es 'any(.[]; [.user[] | select(.region)] | length > 0)'
}
