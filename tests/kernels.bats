#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's older and newer kernels, under QEMU.

load lib.bash

# what SCRIPT prints in that kernel, in $WORK/console
boot() {	# META-PACKAGE SCRIPT
	local status=0
	need_root
	need qemu-system-x86_64 busybox cpio jq
	"$BATS_TEST_DIRNAME/kernels/boot" "$1" "$BATS_TEST_DIRNAME/kernels/$2" >"$WORK/console" || status=$?
	[ $status -ne 77 ] || skip "no kernel of $1 can be downloaded"
}

boots() {	# META-PACKAGE VERSION-PATTERN
	boot "$1" cpuprof.sh
	grep -vE '^\{' "$WORK/console" | tail -n 30
	grep -qE "^=== begin $2" "$WORK/console"
	grep -q '^=== end' "$WORK/console"

	grep -q '^status 0' "$WORK/console"
	awk '/instructions verified/ { n++; if ($3 < 1 || $3 > 30000) exit 1 } END { exit n < 3 }' "$WORK/console"

	# whole by what the frames are: twelve of nested's own, from the entry point on
	local entry
	entry=$(entry_offset "$ROOT/build/tests/nested")
	grep '^{' "$WORK/console" >"$WORK/out"
	jq -r 'select(.type == "stack") | [.count, (.user[-1].module // "-"), (.user[-1].file_offset // 0),
		([.user[] | select(.module == "/bin/nested")] | length)] | @tsv' "$WORK/out" |
		gawk -v entry="$entry" '{ all += $1 } $2 == "/bin/nested" && $3 > entry && $3 <= entry + 64 && $4 >= 12 { whole += $1 }
			END { print all + 0, whole + 0; exit !(all > 500 && whole >= 0.99 * all) }'
	expect "$(summary .samples) + $(summary .lost) > 0.9 * 3 * 499"

	grep -q '^command status 0' "$WORK/console"
	grep -qE '^nested;\[nested\+0x[0-9a-f]+\];__libc_start_main;' "$WORK/console"
	grep -q '^host end complete' "$WORK/console"
}

@test "Debian's 6.1: every program loads, stacks are whole" {
	boots linux-image-cloud-amd64 6.1
}

@test "Debian's 6.12: every program loads, stacks are whole" {
	boots linux-image-6.12-cloud-amd64 6.12
}

# ---- mapupdlat ----

measures_maps() {	# META-PACKAGE VERSION-PATTERN
	local count total p25 p50 p75
	boot "$1" mapupdlat.sh
	grep -vE '\{|^[a-z_]+ [0-9]+$' "$WORK/console" | tail -n 30
	grep -qE "^=== begin $2" "$WORK/console"
	grep -q '^status 0' "$WORK/console"
	awk '/instructions verified/ { n++; if ($3 < 1 || $3 > 30000) exit 1 } END { exit n < 5 }' "$WORK/console"

	# the program's own timing: the first 140 lines are of the map "nested"
	grep '^{' "$WORK/console" >"$WORK/out"
	read -r count total p25 p50 p75 < <(awk '$1 == "array_of_maps" && ++n <= 140 { print $2 }' "$WORK/console" | statistics)
	[ "$count" -eq 140 ]
	[ "$(histogram_of nested .count)" -eq 140 ]
	[ "$(histogram_of batched .count)" -eq 4 ]
	[ "$(histogram_of plain .count)" -eq 1000 ]
	expect "$(histogram_of nested .total_ns) / $total > 0.99 && $(histogram_of nested .total_ns) / $total < 1.01"
	expect "$(histogram_of nested .p25_ns) / $p25 > 0.97 && $(histogram_of nested .p25_ns) / $p25 < 1.03"
	expect "$(histogram_of nested .p50_ns) / $p50 > 0.97 && $(histogram_of nested .p50_ns) / $p50 < 1.03"
	expect "$(histogram_of nested .p75_ns) / $p75 > 0.97 && $(histogram_of nested .p75_ns) / $p75 < 1.03"
	expect "$(histogram_of nested .blocked_ns) >= 0.95 * ($(histogram_of nested .total_ns) - $(histogram_of nested .waiting_ns))"
	histogram_of nested '.stacks[0].kernel[].symbol' | grep -q '^synchronize_rcu'

	# who called, from the thread's start on: the guest has no debug files, so by the program's own frames
	sed -n 's/^called //p' "$WORK/console" >"$WORK/out"
	[ "$(summary .calls)" -eq 40 ]
	jq -r 'select(.type == "histogram") | .stacks[] | "\(.value_ns) \(.end) \(.user | length) \(.user[1].module)"' "$WORK/out" |
		awk '{ all += $1 } $2 == "complete" && $3 >= 4 && $4 == "/bin/mapinmap" { whole += $1 } END { exit !(all > 0 && whole > 0.9 * all) }'

	sed -n 's/^fails //p' "$WORK/console" >"$WORK/out"
	[ "$(summary '"\(.calls) \(.errors) \(.lost)"')" = "57 49 0" ]
}

@test "Debian's 6.1: mapupdlat tells what the program itself measures" {
	measures_maps linux-image-cloud-amd64 6.1
}

@test "Debian's 6.12: mapupdlat tells what the program itself measures" {
	measures_maps linux-image-6.12-cloud-amd64 6.12
}
