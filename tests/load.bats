#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Messages and remaining functions on kernels that refuse a tool's programs, or lack what it uses.
# bats file_tags=beside

load lib.bash

# in a mount namespace of its own, after SETUP
staged() {	# SETUP COMMAND...
	"${in_mount_namespace[@]}" bash -ec "$1"$'\n''exec "$@"' bash "${@:2}"
}

can_stage() {
	need_root
	need unshare
	staged 'mount -t tmpfs none /sys/kernel/btf' true || skip "may not mount"
}

# fails with 1 in two lines, a cause and a cure that match
refuses() {	# CAUSE CURE COMMAND...
	local cause=$1 cure=$2
	run "${@:3}"
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[0]}" =~ $cause ]]
	[[ "${lines[1]}" =~ $cure ]]
}

refused() {
	bpf-refused "$ROOT/build/tests/bpf/refused.bpf.o" "$@"
}

@test "if the verifier refuses a program: its name, the kernel, the reason, and what to do" {
	need_root
	refuses "the verifier of Linux $(uname -r) refuses program 'reads_anywhere': R[0-9] invalid mem access" "report .* -v" \
		refused reads_anywhere
	refuses "Linux $(uname -r): .*'follows_nothing'.*'no_such_event'" "the kernel lacks .* -v" refused follows_nothing
}

@test "errors that are not the kernel's fault are not blamed on it" {
	need_root
	refuses "not enough memory" "ulimit -l" refused -12
	refuses "too many open files" "ulimit -n" refused -24
	refuses "the kernel refuses, as lockdown" "lockdown" refused -1
}

@test "a kernel that is too old, without BTF, without sysfs" {
	local tool
	can_stage
	# Linux 6.18 is 2.6.78 to those who ask so
	refuses "this kernel, 2\.6\.[^ ]*, is older than 6\.1" "use Linux 6\.1 or newer" \
		setarch --uname-2.6 bpf-refused "$ROOT/build/tests/bpf/refused.bpf.o"
	for tool in "cpuprof 1" "offcputime 1" "mapupdlat 1 1" "ehdump --check /bin/true"; do
		refuses "this kernel, $(uname -r), has no BTF \(CONFIG_DEBUG_INFO_BTF\)" "use a kernel that is built with it" \
			staged 'mount -t tmpfs none /sys/kernel/btf' $tool
		refuses "sysfs is not mounted on /sys" "mount -t sysfs" staged 'mount -t tmpfs none /sys' $tool
	done
}

# setups that hide parts of the kernel
NO_SYSCALL_TRACEPOINTS='
	[ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing
	mount -t tmpfs none /sys/kernel/tracing/events/syscalls'
NO_ORC='
	rename-type orc_entry orx_entry </sys/kernel/btf/vmlinux >$WORK/btf
	mount --bind $WORK/btf /sys/kernel/btf/vmlinux
	grep -v orc /proc/kallsyms >$WORK/kallsyms
	mount --bind $WORK/kallsyms /proc/kallsyms'
NO_ADDRESSES='
	sed "s/^[0-9a-f]*/0000000000000000/" /proc/kallsyms >$WORK/kallsyms
	mount --bind $WORK/kallsyms /proc/kallsyms'

@test "without the system calls' own tracepoints (CONFIG_FTRACE_SYSCALLS), mapupdlat uses those of all calls" {
	can_stage
	staged "$NO_SYSCALL_TRACEPOINTS" mapupdlat -v -j -- mapinmap hash 1000 2 0 plain 2>"$WORK/err" | grep '^{' >"$WORK/out"
	[ "$(histogram_of plain .count)" -eq 1000 ]
	grep -q 'call_begins_raw: ' "$WORK/err"
	refute grep -q ' call_begins: ' "$WORK/err"
	staged "$NO_SYSCALL_TRACEPOINTS" cpuprof -v -j -F 499 -- nested burn 0.5 2>"$WORK/err" >"$WORK/out"
	grep -q 'no tracepoints' "$WORK/err"
	expect "$(summary .ended.complete) > 0.9 * $(summary .samples) && $(summary .samples) > 100"
}

@test "without the kernel's ORC tables (CONFIG_UNWINDER_FRAME_POINTER), or with hidden addresses, kernel stacks are taken by bpf_get_stack()" {
	local hidden
	can_stage
	export WORK
	for hidden in "$NO_ORC" "$NO_ADDRESSES"; do
		staged "$hidden" offcputime -v -j -- waits nanosleep 50 2>"$WORK/err" | grep '^{' >"$WORK/out"
		grep -F 'kernel stacks: by bpf_get_stack()' "$WORK/err"
		jq -r 'select(.type == "stack" and .comm == "waits") | "\(.count) \(.user | length) \(.kernel | length)"' "$WORK/out" |
			awk '$2 > 5 && $3 > 3 { n += $1 } END { print n; exit !(n >= 45) }'
	done
}
