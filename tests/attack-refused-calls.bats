#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Every system call that setting up makes, failing: refused in one line or two, or the right result; and nothing left over.
# bats file_tags=full,alone

load lib.bash

every() {	# ERROR CALLS COMMAND...
	local step=1
	[ "$2" != read ] || step=17	# most are of one long file, the kernel's BTF
	refuse "$1" "$2" $step "${@:3}" | sed 's/^/# /' >&3
	return "${PIPESTATUS[0]}"
}

sampling_fails() {	# ERROR CALLS
	need_root
	need strace
	background nested burn 3000
	MIN_COUNT=10 every "$1" "$2" cpuprof -q -j -F 499 -p "$pid" 0.3
}

@test "cpuprof: bpf" { sampling_fails ENOMEM bpf; }
@test "cpuprof: perf_event_open" { sampling_fails EMFILE perf_event_open; }
@test "cpuprof: mmap" { sampling_fails ENOMEM mmap; }
@test "cpuprof: ioctl" { sampling_fails EINVAL ioctl; }
@test "cpuprof: openat" { sampling_fails EMFILE openat; }
@test "cpuprof: read" { sampling_fails EIO read; }
@test "cpuprof: clone" { sampling_fails EAGAIN clone,clone3; }
@test "cpuprof: the rest" { sampling_fails ENOMEM epoll_create1,epoll_ctl,signalfd4,pidfd_open,pipe2,newfstatat; }

@test "offcputime, mapupdlat, ehdump --check: bpf" {
	need_root
	need strace
	background nested burn 3000
	MIN_COUNT=0 every ENOMEM bpf offcputime -q -j -p "$pid" 0.3
	MIN_COUNT=10 every ENOMEM bpf mapupdlat -q -j -- mapinmap hash 10 1 0 plain
	MIN_COUNT=0 every EPERM bpf ehdump --check -j /bin/true
}

# all kinds of calls in turn, of a tool whose process does little else
all_fail() {	# MIN_COUNT TOOL ARG...
	need_root
	need strace
	local failed=0 of
	export MIN_COUNT=$1
	for of in "ENOMEM bpf" "EMFILE perf_event_open" "ENOMEM mmap" "EINVAL ioctl" "EMFILE openat" "EIO read" "EAGAIN clone,clone3" \
		"ENOMEM epoll_create1,epoll_ctl,eventfd2,pidfd_open,pipe2,socketpair,memfd_create,newfstatat"; do
		[[ $2 != @(biohist|funclat) || $of != *perf_event_open ]] || continue	# they make none
		every $of "${@:2}" || failed=1
	done
	return $failed
}

@test "offwaketime: every call" {
	background nested sleep
	all_fail 1 offwaketime -q -j -p "$pid" 0.3
}

@test "wallprof: every call" {
	background nested burn 3000
	all_fail 1 wallprof -q -j -F 499 -p "$pid" 0.3
}

@test "stackcount: every call" { all_fail 10 stackcount -q -j u:libc:malloc -- sh -c true; }
@test "funclat: every call" { all_fail 1 funclat -q -j u:libc:getppid -- sh -c true; }
@test "biohist: every call" { all_fail 0 biohist -q -j -- true; }

# programs, maps and links that are the tools'
left_over() {
	bpftool prog show | grep -cE 'name (sample_(cpu|thread)|mappings_(locked|called)|process_exited|thread_switches|bio_queued) ' || true
}

@test "200 kills at random moments: nothing is left over" {
	need_root
	need bpftool
	local before=$(left_over) i tools=(cpuprof offcputime "mapupdlat -U" wallprof offwaketime "stackcount page-faults" "funclat u:libc:getppid" biohist)
	for ((i = 0; i < 200; i++)); do
		${tools[i % ${#tools[@]}]} >/dev/null 2>&1 3>&- &
		sleep 0.$((RANDOM % 9))$((RANDOM % 9))
		kill -KILL $!
		wait $! || true
	done
	# the kernel frees them after grace periods
	local i
	for i in $(seq 50); do
		[ "$(left_over)" -gt "$before" ] || break
		sleep 0.1
	done
	[ "$(left_over)" -le "$before" ]
}
