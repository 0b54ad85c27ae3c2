#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# arm64: built on this machine, and run in Debian's kernel for arm64 under emulation (arm64.guest). How fast anything is, an
# emulated machine does not say.
# bats file_tags=full

load lib.bash

# with musl's libc, which has no CFI
musl_program() {	# OUT
	local root=build/arm64/musl/usr compiler=aarch64-linux-gnu-gcc
	command -v $compiler && tests/fetch-arm64 build/arm64/musl musl-dev || return 1
	$compiler -O2 -fomit-frame-pointer -s -static -nostdlib -nostdinc -isystem $root/include/aarch64-linux-musl -o "$1" \
		$root/lib/aarch64-linux-musl/{crt1,crti}.o tests/workloads/musl-qsort.c -Wl,--start-group $root/lib/aarch64-linux-musl/libc.a \
		"$($compiler -print-libgcc-file-name)" -Wl,--end-group $root/lib/aarch64-linux-musl/crtn.o
}

setup_file() {
	export CONSOLE=$BATS_FILE_TMPDIR/console ROOT
	ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	cd "$ROOT"
	local programs=()
	if musl_program "$BATS_FILE_TMPDIR/musl-qsort"; then
		programs+=("$BATS_FILE_TMPDIR/musl-qsort")
	fi
	if command -v go; then
		programs+=("$BATS_FILE_TMPDIR/gobusy")
		GOARCH=arm64 GO111MODULE=off GOCACHE=$BATS_FILE_TMPDIR/cache go build -ldflags='-s -w' -o "${programs[-1]}" tests/workloads/gobusy.go
	fi
	tests/kernels/boot-arm64 arm64 tests/arm64.guest "${programs[@]}" >"$CONSOLE.new" && mv "$CONSOLE.new" "$CONSOLE" || [ $? -eq 77 ]
}

setup() {
	[ -e "$CONSOLE" ] || skip "needs aarch64-linux-gnu-gcc, qemu-system-aarch64 and Debian's arm64 packages"
	grep -q '=== end' "$CONSOLE"
	refute grep -A 20 "^failed" "$CONSOLE"
}

# the JSON of a tool
said() {	# TOOL
	sed -n "s/^$1 {/{/p" "$CONSOLE"
}

# of its last report. Until the tables of code without CFI are made, which takes an emulated machine seconds, stacks end there
said_at_last() {	# TOOL
	said "$1" | tac | awk '/"type":"summary"/ && seen++ { exit } { print }'
}

pid_of() {	# PROGRAM
	sed -n "s/^pids .*\b$1 \([0-9]*\).*/\1/p" "$CONSOLE"
}

@test "arm64: nothing in the kernel's log" {
	refute grep '^dmesg' "$CONSOLE"
}

# nested and signals call the vDSO's clock_gettime(), which has no CFI.
@test "arm64: cpuprof's stacks are whole: deep recursion, xz, python3, the vDSO" {
	local program
	for program in deep xz python nested signals; do
		said_at_last cpuprof | jq -r --argjson pid "$(pid_of $program)" 'select(.type == "stack" and .pid == $pid) |
			"\(.count) \(.ended_by) \(.user | length)"' |
			awk -v program="$program" -v least="$([ $program = deep ] && echo 301 || echo 3)" '
				{ all += $1; whole += $1 * ($2 == "complete" && $3 >= least) }
				END { print program ":", whole + 0, "of", all + 0, "whole"; exit !(all > 20 && whole >= 0.995 * all) }'
	done
	# below a handler on another stack, that of the handler which it has interrupted, and main()
	said cpuprof | jq -se --argjson pid "$(pid_of signals)" '[.[] | select(.type == "stack" and .pid == $pid and
		.ended_by == "complete") | .user | map(select(.module == "[vdso]")) | length] | max == 2'
}

@test "arm64: the stacks of a program with musl's libc, which has no CFI, are whole" {
	[ -n "$(pid_of musl)" ] || skip "needs Debian's arm64 package of musl"
	said_at_last cpuprof | jq -r --argjson pid "$(pid_of musl)" 'select(.type == "stack" and .pid == $pid) | "\(.count) \(.ended_by) \(.user | length)"' |
		awk '{ all += $1; whole += $1 * ($2 == "complete" && $3 >= 2) }
			END { print whole + 0, "of", all + 0, "whole"; exit !(all > 20 && whole >= 0.995 * all) }'
}

@test "arm64: Go's stacks, to goexit and across stacks, by Go's own table" {
	need go
	said_at_last go | jq -r 'select(.type == "stack") | "\(.count) \(.ended_by) \(.user[-1].symbol) \([.user[].symbol] | index("runtime.systemstack") != null)"' |
		awk '{ all += $1 } $2 == "complete" { whole += $1; if ($4 == "true") crossed += $1; if ($3 ~ /^runtime\.(goexit|mcall|morestack|clone)$/) known += $1 }
			END { print whole + 0, "of", all + 0, "whole;", known + 0, "to where Go ends,", crossed + 0, "across systemstack"
				exit !(all > 200 && whole >= 0.99 * all && known >= 0.99 * whole && crossed > 0.05 * all) }'
	[ "$(said_at_last go | jq 'select(.type == "summary") | .named >= 0.98 * .frames')" = true ]
}

@test "arm64: offcputime's stack of a thread that waits is gdb's, address by address" {
	# Files are mapped by pages: the lower 12 bits of an address are those in the file. The leaf's own differs: gdb shows the
	# system call as it begins again.
	sed -n 's/^gdb-python \([0-9a-f]*\) .*/\1/p' "$CONSOLE" | sed '1d; s/.*\(...\)$/\1/' >"$BATS_TEST_TMPDIR/theirs"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/theirs")" -gt 8 ]
	said offcputime | jq -rs '[.[] | select(.type == "stack" and .comm == "python3")] | max_by(.count) | .user[].vaddr' |
		sed '1d; s/.*\(...\)$/\1/' >"$BATS_TEST_TMPDIR/ours"
	diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
	# frames of 5,000 and 40,000 bytes have their registers at the lower end
	[ "$(said offcputime | jq -r 'select(.type == "stack" and .comm == "nested") | .ended_by' | sort -u)" = complete ]
}

@test "arm64: Python's functions have names, in their order, between the interpreter's frames" {
	[ "$(said python | jq -rs '[.[] | select(.type == "stack")] | max_by(.count) | .user | map(.symbol)
		| .[(index("f")):] | .[:5] | join(" ")')" = "f f f f <module>" ]
}

@test "arm64: code made at run time has the names of its perf map, at addresses of 48 bits" {
	said jits | jq -r 'select(.type == "stack") | .count as $n | .ended_by as $ended | .user[0] | select(.region == null and .module == null) |
		"\($n) \(.symbol) \(.address) \($ended)"' |
		awk '{ all += $1; named += $1 * ($2 == "early" || $2 == "late"); high += $3 ~ /^0x[89a-f]...........$/ }
			$2 == "late" { late += $1; whole += $1 * ($4 == "complete") }	# early() runs while tables are made
			END { print named + 0, "of", all + 0, "named,", whole + 0, "of", late + 0, "whole"
				exit !(all > 200 && named >= 0.99 * all && high && late > 50 && whole >= 0.99 * late) }'
	# the vDSO lies in the hole between two segments of ld.so
	said jits | jq -se '[.[] | select(.type == "stack") | .user | select(length > 1 and (.[1].module // "" | endswith("/jits")))[0].module // "" |
		select(contains("ld-linux"))] | length == 0'
}

@test "arm64: ehdump --check: the kernel's answers for each row of four files are the table's" {
	[ "$(grep -c '^check .*, 0 differences$' "$CONSOLE")" -eq 5 ]	# and all of them
}

@test "arm64: in an entry of a PLT, the caller is where x30 says, and no register has changed" {
	local rule
	rule=$(sed -n 's/^plt rule: *//p' "$CONSOLE")
	echo "$rule"
	[[ $rule =~ ^cfa=sp\+0( x[0-9]+=s)+\ ra=s$ ]]
}
