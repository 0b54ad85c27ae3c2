#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Messages and remaining functions on kernels that refuse a tool's programs, or lack what it uses.

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

# bats test_tags=check
@test "if the verifier refuses a program: its name, the kernel, the reason, and what to do" {
	need_root
	refuses "the verifier of Linux $(uname -r) refuses program 'reads_anywhere': R[0-9] invalid mem access" "report .* -v" \
		refused reads_anywhere
	refuses "Linux $(uname -r): .*'follows_nothing'.*'no_such_event'" "the kernel lacks .* -v" refused follows_nothing
}

# bats test_tags=check
@test "errors that are not the kernel's fault are not blamed on it" {
	need_root
	refuses "not enough memory, or memory.max of its cgroup" "free some" refused -12
	refuses "too many open files" "ulimit -n" refused -24
	refuses "the kernel refuses: lockdown" "lockdown" refused -1
}

# bats test_tags=check
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
	mount --bind $WORK/btf /sys/kernel/btf/vmlinux'

@test "without the system calls' own tracepoints (CONFIG_FTRACE_SYSCALLS), mapupdlat uses those of all calls" {
	can_stage
	staged "$NO_SYSCALL_TRACEPOINTS" mapupdlat -v -j -- mapinmap hash 1000 2 0 plain 2>"$WORK/err" | grep '^{' >"$WORK/out"
	[ "$(histogram_of plain .count)" -eq 1000 ]
	grep -q 'call_begins_raw: ' "$WORK/err"
	refute grep -q ' call_begins: ' "$WORK/err"
	staged "$NO_SYSCALL_TRACEPOINTS" cpuprof -v -j -F 499 -- nested burn 0.5 2>"$WORK/err" >"$WORK/out"
	expect "$(summary .ended.complete) > 0.9 * $(summary .samples) && $(summary '.samples + .lost') > 100 && $(summary .samples) > 20"
}

kernel_stacks_by() {	# WHAT [COMMAND...]
	"${@:2}" offcputime -v -j -- waits nanosleep 1000 1 2>"$WORK/err" | grep '^{' >"$WORK/out"
	grep -F "kernel stacks: by $1" "$WORK/err"
	jq -r 'select(.type == "stack" and .comm == "waits") | "\(.count) \(.user | length) \(.kernel | length)"' "$WORK/out" |
		awk '$2 > 5 && $3 > 3 { n += $1 } END { print n; exit !(n >= 45) }'
}

@test "without the kernel's ORC tables (CONFIG_UNWINDER_FRAME_POINTER), or with hidden addresses, kernel stacks are taken by bpf_get_stack()" {
	can_stage
	need setpriv
	export WORK
	grep -q orc_unwind /proc/kallsyms || skip "this kernel has no ORC tables"
	kernel_stacks_by "the kernel's tables"
	kernel_stacks_by 'bpf_get_stack()' staged "$NO_ORC"
	# without this capability, they are hidden, unless kernel.perf_event_paranoid and kernel.kptr_restrict allow all
	local without=(setpriv --bounding-set -syslog --inh-caps -syslog)
	if "${without[@]}" grep -q '^0*[1-9a-f]' /proc/kallsyms; then
		echo "# addresses are hidden from nobody here" >&3
	else
		kernel_stacks_by 'bpf_get_stack()' "${without[@]}"
	fi
}

# ---- what the kernel refuses while it works ----

# fails the N-th of these system calls, and, with N+, all later ones, of the command
failing() {	# ERROR CALLS N COMMAND...
	strace -f -qq -o "$WORK/trace" -e trace="$2" -e inject="$2:error=$1:when=$3" "${@:4}"
}

@test "perf events that are refused: the cause and what to do" {
	need_root
	need strace
	local n
	for n in 1 2+; do
		refuses "the kernel refuses perf events" "run as root" failing EACCES perf_event_open $n cpuprof -q 1
		refuses "the kernel refuses: lockdown" "run on the host" failing EPERM perf_event_open $n cpuprof -q 1
	done
	refuses "too many open files" "ulimit -n" failing EMFILE perf_event_open 1 offcputime -q 1
}

@test "where no process can be started: it is measured without stacks, in time, and the cause is said; SIGTERM ends it" {
	need_root
	need strace pgrep
	background nested burn 60
	local tool began burns=$pid
	for tool in "cpuprof" "offcputime --state R" "stackcount cpu-clock -c 10000000"; do
		began=${EPOCHREALTIME/./}
		run failing EAGAIN clone,clone3,fork,vfork 1+ $tool -q -p "$burns" 1
		echo "$output"
		[ "$status" -eq 0 ]
		expect "${EPOCHREALTIME/./} - $began < 10000000"
		grep -qE ' [1-9][0-9]* (\([^)]*\) )?ended unknown_process' <<<"$output"
		[[ $output == *"in 1 process: no process to read mappings could be started: see RLIMIT_NPROC and pids.max"* ]]
		[[ $output != *"JIT code"* ]]
		rm -f "$WORK/err"
		failing EAGAIN clone,clone3,fork,vfork 1+ $tool -p "$burns" >"$WORK/out" 2>"$WORK/err" 3>&- &
		pids+=($!)
		wait_until grep -q Ctrl-C "$WORK/err"
		kill -TERM "$(pgrep -P "$(pgrep -P "${pids[-1]}" strace)" "${tool%% *}")"
		wait "${pids[-1]}"
		grep -q 'in 1 process: no process to read mappings could be started' "$WORK/err"
	done
}

# bats test_tags=full,timing
@test "where no process can be started: it ends in time also on a machine of many processes, and the cause is said once" {
	need_root
	need strace perl
	background perl -e 'my $all = $$; for (1 .. 300) { next if fork; select undef, undef, undef, 0.02 while getppid() == $all; exit } sleep 1000'
	local began=${EPOCHREALTIME/./} took
	failing EAGAIN clone,clone3,fork,vfork 1+ --seccomp-bpf offcputime -j -o "$WORK/out" 1 2>"$WORK/err"
	took=$(((${EPOCHREALTIME/./} - began) / 1000))
	sed 's/^/# /' "$WORK/err"
	echo "# it took $took ms" >&3
	expect "$(summary .seconds) < 2 && $took < 10000"
	grep -qE ' of these in [0-9]+ processes: no process to read mappings could be started: see RLIMIT_NPROC and pids.max$' "$WORK/err"
	[ "$(grep -c 'could be started' "$WORK/err")" -le 2 ]	# for names, too
}

# a cgroup of this test with a limit, $group, by either version of cgroups; false: there is none here
limited_group() {	# memory|pids LIMIT
	local file=$1.max
	group=/sys/fs/cgroup/$1
	[ "$1" = pids ] || file=memory.limit_in_bytes
	if ! grep -qs " $group cgroup " /proc/mounts; then
		group=/sys/fs/cgroup
		grep -qsw "$1" $group/cgroup.subtree_control || return
		file=$1.max
	fi
	group+=/ehperf-test-$$-$1-$2
	mkdir "$group" 2>/dev/null || return
	groups+=("$group")
	[ -w "$group/$file" ] && echo "$2" >"$group/$file"
}

in_group() {	# COMMAND...
	# shellcheck disable=SC2016
	bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

remove_groups() {
	local group
	for group in "${groups[@]}"; do
		wait_until rmdir "$group"	# a worker may be ending
	done
}

# bats test_tags=full,timing
@test "a cgroup's limits: with pids.max 1 it is measured, in time; where the memory is too little, this is the cause" {
	need_root
	local tool began group groups=() few little some
	limited_group pids 1 || skip "needs cgroups whose limits it may set"
	few=$group
	limited_group memory 20M || { remove_groups; skip "needs cgroups whose limits it may set"; }
	little=$group
	limited_group memory 200M
	some=$group
	background nested burn 60
	local burns=$pid
	background nested sleep
	group=$few
	for tool in cpuprof offcputime offwaketime wallprof "stackcount cpu-clock"; do
		began=${EPOCHREALTIME/./}
		in_group $tool -q -p "$burns,$pid" -j -o "$WORK/out" 1 2>"$WORK/err"
		sed 's/^/# /' "$WORK/err"
		expect "${EPOCHREALTIME/./} - $began < 10000000 && $(summary .seconds) < 2"
		grep -q 'could be started: see RLIMIT_NPROC and pids.max' "$WORK/err"
	done
	group=$little
	run in_group cpuprof -q 1
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"not enough memory, or memory.max of its cgroup is too low"* ]]
	group=$some
	in_group cpuprof -q -F 499 -p "$burns" -j -o "$WORK/out" 1 2>"$WORK/err"
	expect "$(summary .samples) > 20 && $(summary .ended.complete) >= 0.99 * $(summary .samples)"
	remove_groups
}

@test "a limit of few open files is said to be the cause; 128 suffice" {
	need_root
	local n
	for n in 20 24 36 40 75 127; do
		refuses "too many open files" "ulimit -n" prlimit --nofile=$n stackcount -q page-faults -- true
	done
	refuses "cannot .*: too many open files" "ulimit -n" failing EMFILE perf_event_open 1 stackcount -q page-faults -- true
	prlimit --nofile=128 stackcount -j -o "$WORK/out" page-faults -- true
	# others' BPF programs on the CPU make this one miss some
	expect "$(summary .samples) > 20 && $(summary .named) > 0"
}

@test "the /proc of another PID namespace is refused: it would name other processes" {
	need_root
	need unshare
	run unshare --pid --fork cpuprof 1
	[ "$status" -eq 1 ]
	[[ $output == "cpuprof: /proc is that of another PID namespace: mount this one's"* ]]
	unshare --pid --fork --mount-proc cpuprof -q -j 0.3 | grep -q '"type":"summary"'
}

@test "no memory for the processes that read names: measured, and shown without names" {
	need_root
	background nested burn 60
	local kilobytes
	for kilobytes in $(seq 90000 5000 200000); do
		run bash -c "ulimit -v $kilobytes; cpuprof -j -F 499 -p $pid -o '$WORK/out' 0.3 2>&1 || echo failed"
		[[ $output != *'cannot name'* ]]
		if [[ $output == *failed* ]]; then
			[[ $output == *": cannot "*": not enough memory: RLIMIT_AS is "*" MB: raise it with 'ulimit -v'"* ]]
			continue
		fi
		[[ $output == *' went without names: there was no memory to read them' ]] && break
	done
	echo "$kilobytes KB: $output"
	expect "$kilobytes < 200000 && $(summary .samples) > 0 && $(summary .ended.complete) >= 0.99 * $(summary .samples)"
}

# bats test_tags=full,alone
@test "system calls of the start that fail, by turns: refused in one line or two, or the right result" {
	need_root
	need strace
	background nested burn 60
	export MIN_COUNT=10
	refuse ENOMEM bpf 16 cpuprof -q -j -F 499 -p "$pid" 0.3
	refuse EMFILE openat 25 cpuprof -q -j -F 499 -p "$pid" 0.3
	refuse ENOMEM mmap 40 cpuprof -q -j -F 499 -p "$pid" 0.3
	export MIN_COUNT=5
	refuse ENOMEM bpf 12 mapupdlat -q -j -- mapinmap hash 5 1 0 plain
	export MIN_COUNT=1
	refuse ENOMEM bpf 29 stackcount -q -j u:libc:malloc -- sh -c true
	refuse ENOMEM bpf 23 funclat -q -j u:libc:getppid -- sh -c true
	refuse ENOMEM bpf 29 wallprof -q -j -F 499 -p "$pid" 0.3
	refuse ENOMEM bpf 29 offwaketime -q -j -- waits nanosleep 20
	export MIN_COUNT=0
	refuse ENOMEM bpf 13 biohist -q -j -- true
}

# libbpf tries once whether an array can be mapped, and takes a refusal for a kernel that cannot
# bats test_tags=full
@test "the programs' variables cannot be mapped: one line and a cure" {
	need_root
	need strace
	local tool nr tools=(cpuprof wallprof mapupdlat)
	[ "$SIZE" != full ] || tools+=(offcputime offwaketime "stackcount page-faults" "funclat u:libc:getppid" biohist)
	for tool in "${tools[@]}"; do
		strace -qq -o "$WORK/trace" -e trace=bpf -e signal=none $tool -q -- true >/dev/null 2>&1
		nr=$(grep -n -m 1 'BPF_F_MMAPABLE.*map_name="libbpf_mmap"' "$WORK/trace" | cut -d : -f 1)
		[ -n "$nr" ]
		refuses "cannot map the BPF programs' variables: not enough memory" "free some" \
			strace -qq -o "$WORK/trace" -e trace=bpf -e signal=none -e inject=bpf:error=ENOMEM:when=$nr $tool -q -- true
	done
}

# bats test_tags=full
@test "a map that cannot be read: exit 1 and one line, not a report of nothing" {
	need_root
	need strace
	local tool when tools=("cpuprof -j" "offcputime -j" "funclat -j u:libc:getppid")
	[ "$SIZE" != full ] ||
		tools+=("mapupdlat -j" "offwaketime -j" "wallprof -j" "stackcount -j page-faults" "biohist -j")
	for tool in "${tools[@]}"; do
		for when in 1+ 4+; do
			: >"$WORK/err"	# what the last one said is not this one's
			$tool >"$WORK/out" 2>"$WORK/err" 3>&- &
			pid=$!
			pids+=($pid)
			wait_until grep -q 'Ctrl-C' "$WORK/err"
			timeout 20 strace -f -qq -o "$WORK/trace" -p $pid -e trace=bpf -e inject=bpf:error=EIO:when=$when 3>&- &
			# all its threads
			wait_until eval "! kill -0 $pid 2>/dev/null || ! grep -q 'TracerPid:[[:space:]]*0' /proc/$pid/task/*/status"
			kill -INT $pid 2>/dev/null || true	# unless it has ended by then
			local status=0
			wait $pid || status=$?
			[ $status -eq 1 ]
			[ "$(grep -c 'Input/output error' "$WORK/err")" -eq 1 ]
			refute grep -q summary "$WORK/out"
		done
	done
}

@test "kernel addresses are hidden (kernel.kptr_restrict): functions of the kernel have their names all the same" {
	can_stage
	sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >"$WORK/kallsyms"
	local tool
	# dd is in the kernel nearly all its time
	for tool in "cpuprof -f -K -- dd if=/dev/zero of=/dev/null bs=1M count=5000" "offcputime -f -K 0.5"; do
		staged "mount --bind $WORK/kallsyms /proc/kallsyms" $tool >"$WORK/out" 2>"$WORK/err"
		grep -q ';do_syscall_64;' "$WORK/out"
		refute grep -E '\[unknown\]|^[^;]*;0x' "$WORK/out"
		refute grep -q 'without names' "$WORK/err"
	done
}

# all that PID has started, by turns for SECONDS, each once: PID,PID,...
descendants() {	# PID SECONDS
	local end=$((${EPOCHREALTIME/./} + $2 * 1000000)) child
	while ((${EPOCHREALTIME/./} < end)); do
		for child in $(pgrep -P "$1"); do
			echo "$child"
			pgrep -P "$child" || true
		done
	done | sort -u | paste -sd,
}

@test "the tool, its workers and their children are in nobody's output but in that of another tool" {
	need_root
	local tool own other
	local tools=("offcputime -l" "cpuprof -F 999 -l --every 0.5")
	[ "$SIZE" != full ] || tools+=(offwaketime "stackcount t:sched:sched_switch" wallprof)
	background throws 600	# names of C++ are a worker's child's
	cpuprof -q --every 0.3 -o /dev/null 600 3>&- &	# which waits, and runs, all the time
	other=$!
	pids+=($other)
	for tool in "${tools[@]}"; do
		: >"$WORK/err"	# what the last one said is not this one's
		$tool -j >"$WORK/out" 2>"$WORK/err" 3>&- &
		pid=$!
		pids+=($pid)
		wait_until grep -q 'Ctrl-C' "$WORK/err"
		own=$pid,$(descendants $pid 2)
		kill -INT $pid
		wait $pid
		echo "$tool: $own"
		[[ $own == *,?* ]]
		jq -en --argjson own "[$own]" '[inputs | select(.type == "stack" or .type == "thread") | .pid] |
			length > 3 and all(. as $pid | $own | index($pid) == null)' "$WORK/out"
		[[ $tool == cpuprof* ]] || jq -en "[inputs | .pid] | index($other)" "$WORK/out"
	done
}

# bats test_tags=full,alone
@test "a crowd of runnable threads: the time is kept, and their stacks are whole" {
	need_root
	need setpriv
	local crowd ended all whole
	chmod 755 "$WORK"
	install -m 755 "$ROOT/build/tests/crowd" "$WORK"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WORK/crowd" 2000 300 >"$WORK/started" 3>&- &
	crowd=$!
	wait_until grep -q wait "$WORK/started"
	timeout 250 offcputime -j -o "$WORK/out" 2 2>"$WORK/err" && ended=0 || ended=$?
	kill -9 $crowd || true
	cat "$WORK/err"
	read -r all whole < <(jq -r 'select(.type == "stack" and .comm == "crowd") | "\(.count) \(.ended_by)"' "$WORK/out" |
		awk '{ all += $1; whole += $1 * ($2 == "complete") } END { print all + 0, whole + 0 }')
	expect "$ended == 0 && $(summary .seconds) < 3 && $all > 100 && $whole > 0.95 * $all"
}

# ---- who runs what ----

with_capabilities() {	# LIST COMMAND...: as nobody, with these only
	local list=-all,+${1//,/,+}
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$list" --ambient-caps="$list" --bounding-set="$list" "${@:2}"
}

# bats test_tags=alone
@test "the capabilities that the man pages name are enough, and two of them are needed" {
	need_root
	need setpriv
	chmod 755 "$WORK"
	install -m 755 "$ROOT"/build/{cpuprof,offcputime,mapupdlat,offwaketime,wallprof,stackcount,funclat,biohist} \
		"$ROOT"/build/tests/{nested,mapinmap} "$WORK"
	background nested burn 60
	local all=bpf,perfmon,sys_ptrace,syslog command
	with_capabilities $all "$WORK/cpuprof" -q -j -F 499 -p "$pid" 2 >"$WORK/out"
	expect "$(summary .samples) > 10 && $(summary .ended.complete) > 0.9 * $(summary .samples)"
	background perl -e 'select undef, undef, undef, 0.02 while 1'
	with_capabilities $all "$WORK/offcputime" -q -j 0.5 >"$WORK/out"
	jq -r 'select(.type == "stack" and .pid == '"$pid"') | "\(.count) \(.ended_by)"' "$WORK/out" |
		awk '{ n[$2] += $1; all += $1 } END { exit !(all > 5 && n["complete"] > 0.9 * all) }'
	with_capabilities $all "$WORK/mapupdlat" -q -j -- "$WORK/mapinmap" array_of_maps 20 1 0 nested | grep '^{' >"$WORK/out"
	[ "$(summary .calls)" -eq 20 ]
	grep -q synchronize_rcu "$WORK/out"
	with_capabilities $all "$WORK/wallprof" -q -j -p "${pids[0]}" 2 >"$WORK/out"
	expect "$(summary .samples) > 10"
	with_capabilities $all "$WORK/stackcount" -q -j page-faults -- "$WORK/nested" brief 0.5 | grep '^{' >"$WORK/out"
	expect "$(summary .samples) > 10 && $(summary .ended.complete) > 5"
	with_capabilities bpf,perfmon "$WORK/biohist" -q -j 0.3 1 >"$WORK/out"
	[ "$(summary .type)" = summary ]
	for command in "cpuprof 1" "offcputime 1" "mapupdlat 1 1" "offwaketime 1" "wallprof 1" "stackcount page-faults 1" "biohist 1 1"; do
		refuses "CAP_BPF and CAP_PERFMON are missing" "run as root" with_capabilities perfmon,sys_ptrace,syslog "$WORK/"$command
		refuses "CAP_BPF and CAP_PERFMON are missing" "run as root" with_capabilities bpf,sys_ptrace,syslog "$WORK/"$command
	done
}

# before 6.10 all tools attach to one function at a time, which takes CAP_SYS_ADMIN
@test "tracepoints by name take CAP_DAC_READ_SEARCH, functions before 6.10 CAP_SYS_ADMIN; each says so" {
	need_root
	need setpriv
	[ -d /sys/kernel/tracing/events ] && [ "$(stat -c %a /sys/kernel/tracing)" = 700 ] || skip "tracefs is not root's alone"
	chmod 755 "$WORK"
	install -m 755 "$ROOT"/build/{stackcount,funclat} "$WORK"
	local all=bpf,perfmon,sys_ptrace,syslog tool
	with_capabilities $all,dac_read_search "$WORK/stackcount" -q -j t:sched:sched_switch 1 >"$WORK/out"
	expect "$(summary .samples) > 10 && $(summary .ended.complete) > 0"
	run with_capabilities $all "$WORK/stackcount" -q t:sched:sched_switch 0.3
	[ "$status $output" = "1 stackcount: cannot read tracefs, which lists the tracepoints: Permission denied: run as root, or with CAP_DAC_READ_SEARCH" ]
	for tool in stackcount funclat; do
		with_capabilities sys_admin,sys_ptrace,syslog "$WORK/$tool" -q -j u:libc:malloc -- sh -c true | grep '^{' >"$WORK/out"
		expect "$(summary '.samples // .calls') > 10"
		if uname -r | awk -F. '{ exit !($1 > 6 || ($1 == 6 && $2 >= 10)) }'; then
			with_capabilities $all "$WORK/$tool" -q -j u:libc:malloc -- sh -c true | grep '^{' >"$WORK/out"
			expect "$(summary '.samples // .calls') > 10"
			continue
		fi
		run with_capabilities $all "$WORK/$tool" -q u:libc:malloc -- sh -c true
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" == *"CAP_SYS_ADMIN probe functions: run as root" ]]
	done
}
