#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's older and newer kernels, under QEMU.

load lib.bash

runs() {	# SCRIPT META-PACKAGE VERSION-PATTERN
	local status=0
	need_root
	need qemu-system-x86_64 busybox cpio jq
	"$BATS_TEST_DIRNAME/kernels/boot" "$2" "$BATS_TEST_DIRNAME/kernels/$1.sh" >"$WORK/console" || status=$?
	[ $status -ne 77 ] || skip "no kernel of $2 can be downloaded"
	grep -vE '\{|^[a-z_]+ [0-9]+$' "$WORK/console" | tail -n 30
	grep -qE "^=== begin $3" "$WORK/console"
	grep -q '^=== end' "$WORK/console"

	grep -q '^status 0' "$WORK/console"
	awk '/instructions verified/ { n++; if ($3 < 1 || $3 > 30000) exit 1 } END { exit n < 3 }' "$WORK/console"
	grep '^{' "$WORK/console" >"$WORK/out"
}

boots() {	# META-PACKAGE VERSION-PATTERN
	runs cpuprof "$@"

	# whole by what the frames are: twelve of nested's own, from the entry point on
	local entry
	entry=$(entry_offset "$ROOT/build/tests/nested")
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

boots_off_cpu() {	# META-PACKAGE VERSION-PATTERN
	local entry sleeper holder
	runs offcputime "$@"
	entry=$(entry_offset "$ROOT/build/tests/nested")
	read -r sleeper holder <<<"$(awk '/^sleeper/ { print $2, $4 }' "$WORK/console")"
	# one slept thousands of times, one was blocked throughout; both whole but for a first stay that ran while it was read
	jq -r 'select(.type == "stack") | [.tid, .count, .value_ns, (.user[-1].file_offset // 0), ([.user[] | select(.module == "/bin/nested")] | length),
		(.open // false), .kernel[-1].symbol] | @tsv' "$WORK/out" |
		gawk -v entry="$entry" -v sleeper="$sleeper" -v holder="$holder" '
			{ all += $3 } $4 > entry && $4 <= entry + 64 && $5 >= 12 && $7 == "entry_SYSCALL_64_after_hwframe" { whole += $3 }
			$1 == sleeper { n += $2 } $1 == holder { held = $3; open = $6 }
			END { print all, whole, n, held, open; exit !(whole >= 0.98 * all && n > 1000 && held > 2.9e9 && open == "true") }'
	grep -q "kernel stacks: by the kernel's tables" "$WORK/console"
	grep -q '^command status 0' "$WORK/console"
	grep -qE '^waits;.*nanosleep' "$WORK/console"
}

@test "Debian's 6.1: offcputime" {
	boots_off_cpu linux-image-cloud-amd64 6.1
}

@test "Debian's 6.12: offcputime" {
	boots_off_cpu linux-image-6.12-cloud-amd64 6.12
}

# ---- mapupdlat ----

measures_maps() {	# META-PACKAGE VERSION-PATTERN
	local count total p25 p50 p75
	runs mapupdlat "$@"

	# the program's own timing: the first 140 lines are of the map "nested"
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
