#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load lib.bash

# calls in the background, with funclat on one of its functions, or on what $4 names; it is let go, and both end. Where each
# time counts, on CPU 0: some kernels report no switch from the idle task of another one, so that it is not seen when who
# blocked there comes back.
measure_calls() {	# MODE N THREADS FUNCTION [ARG...]
	local function=$4 program=${PROGRAM-$ROOT/build/tests/calls}
	mkfifo "$WORK/feed"
	local cpus=${CPUS-0}
	[ "$1" = known ] || cpus=0-$(($(nproc) - 1))
	rm -f "$WORK/calls" "$WORK/err"	# those of the call before: each is truncated when its program begins
	taskset -c $cpus "$program" "$1" "$2" "$3" <"$WORK/feed" >"$WORK/calls" 3>&- &
	pid=$!
	pids+=("$pid")
	exec 8>"$WORK/feed"
	wait_until grep -q sleeps "$WORK/calls"
	[ -n "${PROGRAM-}" ] || function="u:$program+$(head -n 1 "$WORK/calls" | grep -o "\b$4 0x[0-9a-f]*" | awk '{ print $2 }')"
	funclat -j -p "$pid" "$function" "${@:5}" >"$WORK/out" 2>"$WORK/err" 3>&- 8>&- &
	local tool=$!
	wait_until grep -q Ctrl-C "$WORK/err"
	echo >&8
	local i
	for i in $(seq 600); do
		! grep -q done "$WORK/calls" && [ -e "/proc/$pid/stat" ] && ! grep -q zombie <(sed -n '/^State/p' "/proc/$pid/status") || break
		sleep 0.1
	done
	kill -INT $tool 2>/dev/null || true	# it ends by itself where the process has ended
	wait $tool
	exec 8>&-
	cat "$WORK/err"
}

histogram() {	# FILTER
	jq -r "select(.type == \"histogram\") | $1" "$WORK/out"
}

within() {	# A B SHARE
	expect "$1 >= $2 * (1 - $3) && $1 <= $2 * (1 + $3)"
}

# what is measured of all calls of a function lies between the program's own times from within it and around its calls;
# a quartile, of which the histogram knows the bucket, within 3 %
between_its_clocks() {	# FUNCTION
	local measured inside outside i
	measured=($(histogram '[.count, .total_ns, .p25_ns, .p50_ns, .p75_ns] | @tsv'))
	inside=($(awk -v f="$1" '$1 == f && NF == 4 { print $2 }' "$WORK/calls" | statistics))
	outside=($(awk -v f="$1" '$1 == f && NF == 4 { print $3 }' "$WORK/calls" | statistics))
	echo "$1: inside ${inside[*]}, measured ${measured[*]}, outside ${outside[*]}"
	[ "${measured[0]}" -eq 200 ]
	[ "${outside[0]}" -eq 200 ]
	expect "${measured[1]} >= ${inside[1]} && ${measured[1]} <= ${outside[1]}"
	for i in 2 3 4; do
		expect "${measured[i]} >= ${inside[i]} * 0.97 && ${measured[i]} <= ${outside[i]} * 1.03"
	done
}

@test "calls whose times are known: count, total, quartiles; blocked or on the CPU" {
	need_root
	local others cpu
	others=$(others_ns)
	measure_calls known 200 1 sleeps
	others=$(($(others_ns) - others))
	between_its_clocks sleeps
	histogram '[.blocked_ns, .waiting_ns] | @tsv'
	# nanosleep() takes what is asked for, and some 50 us; the rest is waiting for a CPU, or the thread's CPU time
	cpu=$(awk '$1 == "sleeps" && NF == 4 { ns += $4 } END { print ns }' "$WORK/calls")
	expect "$(histogram .blocked_ns) >= 200 * 4000000"
	expect "$(histogram '.total_ns - .blocked_ns - .waiting_ns') <= $cpu + $others + 200 * 10000"
	histogram '.stacks[0].kernel[].symbol' | grep -q nanosleep
	rm "$WORK/feed"

	measure_calls known 200 1 spins
	between_its_clocks spins
	# 4 ms of each by the thread's clock, which does not go on in interrupts, nor while the hypervisor runs others
	expect "$(histogram '.total_ns - .blocked_ns - .waiting_ns') >= 0.98 * 200 * 4000000"
	expect "$(histogram .blocked_ns) <= 0.01 * 200 * 4000000"
}

@test "recursion, threads and longjmp: each return is paired with its own entry, and each call that is left is counted" {
	need_root
	measure_calls mixed 4000 8 recurses
	local r l
	read -r r l < <(awk '/^returned/ { print $2, $4 }' "$WORK/calls")
	echo "returned $r, left $l: $(histogram .count) $(summary .never_returned)"
	[ "$(histogram .count)" -eq "$r" ]
	[ "$(summary .never_returned)" -eq "$l" ]
	[ "$(summary '.lost + .in_flight + .begun_before + .died')" -eq 0 ]
	[ "$(histogram '.buckets | map(.count) | add')" -eq "$r" ]
}

@test "a tail call ends the function; a pattern has a histogram for each function" {
	need_root
	need gcc
	gcc -O2 -pthread -o "$WORK/program" "$ROOT/tests/workloads/calls.c"
	PROGRAM=$WORK/program measure_calls mixed 2000 2 "u:$WORK/program:leaves*"
	[ "$(histogram '"\(.key.function | sub(".*:"; "")) \(.count)"' | sort | tr '\n' ' ')" = "leaves 4000 leaves_inner 4000 " ]
	[ "$(summary '.lost + .never_returned + .in_flight + .begun_before')" -eq 0 ]
}

@test "calls that end with the process, deep in recursion: counted apart" {
	need_root
	measure_calls exit 30 1 exits
	[ "$(summary '"\(.calls) \(.died) \(.never_returned) \(.in_flight)"')" = "0 31 0 0" ]
}

@test "more calls within each other than the kernel watches: those beyond are counted as lost" {
	need_root
	need python3 gcc
	cat >"$WORK/deep.c" <<-'C'
		#include <stdio.h>
		__attribute__((noipa)) int deep(int n) { return n ? deep(n - 1) + 1 : 0; }
		int main(void) { getchar(); printf("%d\n", deep(99)); }
	C
	gcc -O1 -fno-optimize-sibling-calls -o "$WORK/deep" "$WORK/deep.c"
	funclat -j "u:$WORK/deep:deep" -- "$WORK/deep" </dev/null >"$WORK/all" 2>"$WORK/err"
	grep '^{' "$WORK/all" >"$WORK/out"
	[ "$(summary '"\(.calls) \(.lost_too_deep) \(.begun_before)"')" = "64 36 0" ]
	grep -q '36 calls lost: within 64 others' "$WORK/err"
}

@test "a call during which another program is executed never returns, and that program's calls are not within it" {
	need_root
	need gcc setarch
	cat >"$WORK/again.c" <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) void naps(char *program) { usleep(5000); if (program) execl(program, program, "again", NULL); }
		int main(int argc, char **argv)
		{
			volatile char lower[argc > 1 ? 100000 : 1];	/* in the same place without randomization, but for this */
			lower[0] = 0;
			for (int i = 0; i < 3; i++)
				naps(argc > 1 ? NULL : argv[0]);
		}
	C
	gcc -O1 -o "$WORK/again" "$WORK/again.c"
	funclat -j --slow 1ms "u:$WORK/again:naps" -- setarch -R "$WORK/again" >"$WORK/out" 2>"$WORK/err"
	[ "$(summary '"\(.calls) \(.never_returned) \(.died) \(.in_flight)"')" = "3 1 0 0" ]
	[ "$(jq -s 'map(select(.type == "call")) | length' "$WORK/out")" -eq 3 ]
}

@test "calls within each other that sleep: each is blocked for what it has slept itself" {
	need_root
	need gcc
	cat >"$WORK/naps.c" <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) int naps(int n) { usleep(20000); return n ? naps(n - 1) + 1 : 0; }
		int main(void) { return naps(4) != 4; }
	C
	gcc -O1 -fno-optimize-sibling-calls -o "$WORK/naps" "$WORK/naps.c"
	funclat -j "u:$WORK/naps:naps" -- "$WORK/naps" >"$WORK/out" 2>"$WORK/err"
	histogram '[.count, .total_ns, .blocked_ns, .waiting_ns] | @tsv'
	[ "$(histogram .count)" -eq 5 ]
	# 5 naps in the outermost call, and one less in each of the others
	expect "$(histogram '.blocked_ns + .waiting_ns') >= 15 * 20000000"
	expect "$(histogram '.blocked_ns + .waiting_ns') <= $(histogram .total_ns)"
}

# bats test_tags=full
@test "bpf_map_update_elem() of libbpf, in bpftool and in cpuprof: as long as mapupdlat says of the system call, and a little more" {
	need_root
	long_grace_periods
	ldconfig -p | grep -q libbpf.so.1 || skip "needs libbpf.so.1"
	need gcc
	cat >"$WORK/updates.c" <<-'C'
		#include <bpf/bpf.h>
		#include <stdio.h>
		#include <time.h>
		static long now_ns(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return t.tv_sec * 1000000000l + t.tv_nsec;
		}
		int main(void)
		{
			unsigned inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", 4, 4, 1, 0);
			LIBBPF_OPTS(bpf_map_create_opts, o, .inner_map_fd = inner);
			int outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "nested", 4, 4, 100, &o);
			long took_ns = 0;

			for (unsigned i = 0; i < 100; i++) {
				took_ns -= now_ns();
				if (bpf_map_update_elem(outer, &i, &inner, 0))
					return 1;
				took_ns += now_ns();
			}
			printf("took %ld\n", took_ns);
		}
	C
	gcc -O2 -s -o "$WORK/updates" "$WORK/updates.c" -lbpf
	mapupdlat -j -- funclat -j u:libbpf:bpf_map_update_elem -- "$WORK/updates" >"$WORK/both" 2>"$WORK/err"
	cat "$WORK/err"
	local theirs ours took
	took=$(awk '$1 == "took" { print $2 }' "$WORK/both")
	sed -i '/^{/!d' "$WORK/both"
	read -ra theirs < <(jq -r 'select(.type == "histogram" and .key.map_name? == "nested") | "\(.count) \(.total_ns) \(.blocked_ns)"' "$WORK/both")
	read -ra ours < <(jq -r 'select(.type == "histogram" and .key.function?) | "\(.count) \(.total_ns) \(.blocked_ns)"' "$WORK/both")
	echo "mapupdlat ${theirs[*]}, funclat ${ours[*]}, the program $took"
	[ "${theirs[0]}" -eq 100 ]
	[ "${ours[0]}" -eq 100 ]
	# the call is around the system call, and the program's clock is around the call
	expect "${theirs[1]} <= ${ours[1]} && ${ours[1]} <= $took"
	within "${ours[2]}" "${theirs[2]}" 0.01
}

@test "--slow: the calls that take longer, with the stacks in which they were blocked; -U: who called" {
	need_root
	# on the CPU where some kernels do not report the switch back from the idle task
	CPUS=$(($(nproc) - 1)) measure_calls known 100 1 sleeps --slow 3900us -U
	valid_json
	jq -s 'map(select(.type == "call")) | [length, (map(.latency_ns) | min, max), (map(.blocked_ns) | min)]' "$WORK/out"
	[ "$(jq -s 'map(select(.type == "call" and .latency_ns > 3900000)) | length' "$WORK/out")" -eq 100 ]
	[ "$(summary .ends_unseen)" -eq 0 ]
	# who is preempted while it falls asleep only waits to run, and who is stopped with its CPU then may find its time over; a
	# switch that is not seen is missing in most calls
	expect "$(jq -s 'map(select(.type == "call" and .blocked_ns > 3800000)) | length' "$WORK/out") >= 90"
	expect "$(jq -s 'map(select(.type == "call" and .blocked_ns + .waiting_ns > 3800000)) | length' "$WORK/out") >= 95"
	[ "$(jq -rs 'map(select(.type == "call"))[-1].stacks[0].user | "\(.[0].module | sub(".*/"; "")) \(.[-1].module | sub(".*/"; ""))"' "$WORK/out")" = "calls calls" ]
	# the function, time_call(), main(), libc's two functions before it, _start; the first ones come before the tables
	[ "$(jq -rs 'map(select(.type == "call"))[-1].stacks[0].user | length' "$WORK/out")" -eq 6 ]
}

# the program says the same under funclat as without
same_under_funclat() {	# [OPTION] PATTERN COMMAND...
	local bare=0 watched=0 pattern option=
	[[ $1 != --* ]] || { option=$1; shift; }
	pattern=$1
	shift
	"$@" >"$WORK/bare" || bare=$?
	timeout 60 funclat $option -q -j -o "$WORK/out" "$pattern" -- "$@" >"$WORK/watched" 2>"$WORK/err" || watched=$?
	diff "$WORK/bare" "$WORK/watched"
	[ "$bare" -eq "$watched" ]
	summary '"# \(.calls) calls, \(.never_returned) never returned, \(.died) died"' >&3
	expect "$(summary '.calls + .never_returned + .died') > 0"
	rm "$WORK/out"
}

@test "exceptions, longjmp, vfork, contexts, backtraces, dlsym and arguments are as ever while each function is timed" {
	need_root
	need g++
	g++ -O2 -o "$WORK/harmed" "$ROOT/tests/workloads/harmed.cc"
	same_under_funclat "u:$WORK/harmed:*" "$WORK/harmed" one two
	# in a C library of its own: others are not to pay for it
	mkdir "$WORK/lib"
	cp "$LIBC" "$WORK/lib"
	export LD_LIBRARY_PATH=$WORK/lib
	local pattern
	for pattern in '*setjmp' '*context' 'dl*' 'backtrace*'; do
		same_under_funclat "u:$WORK/lib/libc.so.6:$pattern" "$WORK/harmed" one two
	done
}

@test "the dynamic linker's functions: programs start and bind lazily as ever while all of them are timed" {
	need_root
	need g++
	cp /lib64/ld-linux-x86-64.so.2 "$WORK/ld.so"
	g++ -O2 -Wl,-z,lazy -Wl,--dynamic-linker="$WORK/ld.so" -o "$WORK/harmed" "$ROOT/tests/workloads/harmed.cc"
	run funclat "u:$WORK/ld.so:_dl_runtime_resolve*" 1 1
	[ "$status" -eq 1 ]
	[[ "$output" == *"can be timed: they do not return, or not all their exits are known" ]]
	for option in "" --return-probes; do
		same_under_funclat $option "u:$WORK/ld.so:*" sh -c "'$WORK/harmed' one; '$WORK/harmed' two; exit 4"
		grep -qE '^funclat: [1-9][0-9]* functions not timed: they do not return, or not all their exits are known$' "$WORK/err"
	done
}

@test "--return-probes: return addresses are changed, but for functions that read them" {
	need_root
	need g++
	g++ -O2 -o "$WORK/harmed" "$ROOT/tests/workloads/harmed.cc"
	local status=0
	funclat -q -j --return-probes -o "$WORK/out" "u:$WORK/harmed:passes" -- "$WORK/harmed" >"$WORK/watched" 2>&1 || status=$?
	# it is what the page warns of: the exception ends the program
	[ $status -gt 128 ]
	refute grep -q ' caught, ' "$WORK/watched"
	mkdir "$WORK/lib"
	cp "$LIBC" "$WORK/lib"
	LD_LIBRARY_PATH=$WORK/lib "$WORK/harmed" >"$WORK/bare" || true
	for pattern in '*sigsetjmp' '*setcontext' 'swapcontext' 'getcontext' 'dlsym'; do
		LD_LIBRARY_PATH=$WORK/lib funclat -q --return-probes -o "$WORK/out.txt" "u:$WORK/lib/libc.so.6:$pattern" -- "$WORK/harmed" >"$WORK/watched" 2>"$WORK/err" || true
		rm -f "$WORK/out.txt"
		diff "$WORK/bare" "$WORK/watched"
	done
	funclat -q -j --return-probes "u:$WORK/harmed:depth" -- "$WORK/harmed" | grep '^{' >"$WORK/out"
	[ "$(summary '"\(.calls) \(.never_returned)"')" = "6 0" ]
	# which way is used, what it costs, and whom
	for option in "" --return-probes; do
		funclat $option "u:$WORK/harmed:depth" -- "$WORK/harmed" >"$WORK/out" 2>"$WORK/err" || [ $? -eq 3 ]
		cat "$WORK/err"
		case $option in
		"") grep -qE '^funclat: returns are probed at [0-9]+ instructions?, which costs .* us a call in every process: --return-probes is cheaper, but breaks some programs$' "$WORK/err" ;;
		*) grep -qE '^funclat: return addresses of 1 function are replaced, which costs .* us a call in every process, and breaks some programs$' "$WORK/err" ;;
		esac
	done
}

# what the process has of the file's code in its memory
code_of() {	# PID FILE
	local start end rest
	IFS=' -' read -r start end rest <<<"$(grep "r-xp.* $2$" "/proc/$1/maps")"
	dd if="/proc/$1/mem" bs=4096 skip=$((0x$start / 4096)) count=$(((0x$end - 0x$start) / 4096)) status=none | md5sum
}

# $WORK/many, which calls two of its 500 functions
make_many() {
	local n
	for n in {1..500}; do
		echo "__attribute__((noinline)) int f$n(int x) { __asm__(\"\"); return x + $n; }"
	done >"$WORK/many.c"
	printf '#include <unistd.h>\nint main(void) { int x = 0; for (;; usleep(100)) x = f1(x) + f500(x); }\n' >>"$WORK/many.c"
	gcc -O1 -o "$WORK/many" "$WORK/many.c"
}

@test "-p: other processes of the same file have no breakpoint, and that process has none after the end" {
	need_root
	need gcc
	local measured bare tool
	make_many
	background "$WORK/many"
	measured=$pid
	background "$WORK/many"
	wait_until grep -q "r-xp.*$WORK/many" "/proc/$pid/maps"
	bare=$(code_of $pid "$WORK/many")
	[ "$(code_of $measured "$WORK/many")" = "$bare" ]
	for tool in funclat "funclat --return-probes" stackcount; do
		rm -f "$WORK/err"
		$tool -p $measured "u:$WORK/many:f1*" 60 >"$WORK/out" 2>"$WORK/err" 3>&- &
		pids+=($!)
		wait_until grep -q Ctrl-C "$WORK/err"
		refute grep 'in every process' "$WORK/err"
		[ "$(code_of $measured "$WORK/many")" != "$bare" ]
		[ "$(code_of $pid "$WORK/many")" = "$bare" ]
		kill -INT ${pids[-1]}
		wait ${pids[-1]}
		[ "$(code_of $measured "$WORK/many")" = "$bare" ]
	done
}

# bats test_tags=timing
@test "500 functions: a signal ends the tool within a second" {
	need_root
	need gcc
	local tool start took
	uname -r | awk -F. '{ exit !($1 > 6 || ($1 == 6 && $2 >= 10)) }' || skip "before 6.10, the kernel takes 0.1 s a function"
	make_many
	background "$WORK/many"
	for tool in funclat stackcount; do
		rm -f "$WORK/err"
		$tool "u:$WORK/many:f[0-9]*" 60 >"$WORK/out" 2>"$WORK/err" 3>&- &
		pids+=($!)
		wait_until grep -q Ctrl-C "$WORK/err"
		start=${EPOCHREALTIME/./}
		kill -INT ${pids[-1]}
		wait ${pids[-1]}
		took=$(((${EPOCHREALTIME/./} - start) / 1000))
		echo "# $tool: $took ms from SIGINT to its end" >&3
		expect "$took < 1000"
	done
}

@test "a function whose exits are not certain is not timed, and data between instructions is no exit" {
	need gcc
	cat >"$WORK/asm.s" <<-'S'
		.macro begin name
		.globl \name
		.type \name, @function
		\name: .cfi_startproc
		.endm
		.macro finish name
		.cfi_endproc
		.size \name, . - \name
		.endm
		begin data_between
		 jmp 1f
		0: .byte 0xc3, 0x11, 0x22, 0xc3
		1: mov 0b(%rip), %eax
		after_data: ret
		finish data_between
		begin loops_to_entry
		 mov (%rdi), %rdi
		 test %rdi, %rdi
		 jne loops_to_entry
		 ret
		finish loops_to_entry
		begin jumps_by_return
		 push %rdi
		 .cfi_adjust_cfa_offset 8
		 ret
		finish jumps_by_return
		.section .note.GNU-stack, "", @progbits
	S
	cat >"$WORK/exits.c" <<-'C'
		typedef int (*fn)(int);
		extern fn handlers[];
		__attribute__((noipa)) int by_table(int i, int x) { return handlers[i](x); }
		__attribute__((noipa)) int by_label(const unsigned char *p)
		{
			static void *labels[] = { &&a, &&b, &&c };
			int n = 0;
			goto *labels[*p];
		a:	n = 1; goto *labels[p[1]];
		b:	return n + 3;
		c:	return n + 7;
		}
		__attribute__((noipa)) int plain(int x) { return x + 1; }
		__attribute__((noipa)) int passes_on(int x) { return plain(x + 1); }
		fn handlers[] = { plain, passes_on };
		int main(void) { return 0; }
	C
	gcc -O2 -o "$WORK/exits" "$WORK/asm.s" "$WORK/exits.c"
	exits-of "$WORK/exits" '*' | tee "$WORK/got"
	local name
	for name in loops_to_entry jumps_by_return by_table by_label; do
		grep -qE "^$name 0x[0-9a-f]+ -$" "$WORK/got"
	done
	[ "$(awk '$1 == "data_between" { print $4, NF }' "$WORK/got")" = "0x$(nm "$WORK/exits" | awk '$3 == "after_data" { sub(/^0+/, "", $1); print $1 }') 4" ]
	[ "$(awk '$1 == "plain" || $1 == "passes_on" { print NF }' "$WORK/got" | tr '\n' ' ')" = "4 4 " ]
}

@test "a function's exits are instructions that return or jump, and most functions have some" {
	need objdump
	local file server=
	if extra go; then
		server=$WORK/server
		HOME=$WORK CGO_ENABLED=0 GO111MODULE=off GOCACHE=$WORK/cache go build -o "$server" "$ROOT/tests/workloads/gonet.go"
	fi
	for file in "$LIBC" $(sized "/usr/lib/x86_64-linux-gnu/libstdc++.so.6 /usr/bin/python3 $(ls /usr/lib/postgresql/*/bin/postgres) $server" ""); do
		exits-of "$file" '*' >"$WORK/exits"
		objdump -d --no-show-raw-insn "$file" | awk '/^ *[0-9a-f]+:/ { sub(/:/, "", $1); print "0x" $1, $2, $3 }' >"$WORK/code"
		# a name may have spaces; Go's sig.StandardCrypto() is data, but for the jump over it, and objdump goes astray
		awk -v file="${file##*/}" 'NR == FNR { insn[$1] = $2 " " $3; next }
			{ n++; known += !/ -$/; from = 0
				for (i = 3; i <= NF && !from; i++) if ($i ~ /^(exits|stack)$/ && $(i - 1) ~ /^0x/) from = i + 1
				bad += !from && !/ -$/
				for (i = from; from && i <= NF; i++) { exits++; if (insn[$i] !~ /^(notrack |bnd |repz |rep )?(ret|jmp)/ && $1 !~ /sig.StandardCrypto/) { bad++; print $1, $i, insn[$i] } } }
			END { printf "# %s: %d of %d functions, %d exits\n", file, known, n, exits; exit bad || !exits || known < 0.95 * n }' "$WORK/code" "$WORK/exits" >&3
	done
}

@test "what is no function, or not where one begins, is refused" {
	need_root
	local event
	for event in t:sched:sched_switch page-faults ""; do
		run funclat $event
		echo "$output"
		[ "$status" -eq 2 ]
	done
	for event in u:libc:nonsense u:libc:strlen "u:$ROOT/build/tests/calls+0x1"; do
		run funclat "$event" 1
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
	done
	echo | calls known 0 >"$WORK/calls"
	local vaddr
	vaddr=$(grep -o 'spins 0x[0-9a-f]*' "$WORK/calls" | awk '{ print $2 }')
	run funclat "u:$ROOT/build/tests/calls+$(printf '0x%x' $((vaddr + 1)))" 1
	[ "$status" -eq 1 ]
	[[ "$output" == *"no function begins at 0x"* ]]
	if [ ! -e /sys/bus/event_source/devices/kprobe ]; then
		run funclat k:vfs_read 1
		[ "$status" -eq 1 ]
		[[ "$output" == *"this kernel has no kprobes"* ]]
	fi
}

# bats test_tags=check
@test "the options of --help are those of the man page; each BPF program takes at most 15,000 instructions to verify" {
	options_agree funclat mapupdlat
	need_root
	funclat -v -U -P --slow 1 u:libc:getgrent 0.1 1 2>&1 >/dev/null | awk '/instructions verified/ { print $2, $3 }' | tee "$WORK/verified"
	grep -q user_function_leaves "$WORK/verified"
	awk '$2 > 15000 { exit 1 }' "$WORK/verified"
}
