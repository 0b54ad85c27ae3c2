#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The unwinder in difficult code.

load lib.bash

# Every instruction from the first one on: our caller and CFA are the shadow stack's. THOROUGH=N: N times as many of them.
steps() {	# INSTRUCTIONS COMMAND...
	local count=$(($1 * ${THOROUGH:-1}))
	shift
	timeout $((600 * ${THOROUGH:-1})) single-step -n "$count" "$@" >"$WORK/steps" 2>/dev/null </dev/null || { tail -n 30 "$WORK/steps" >&2; return 1; }
	echo "# ${*##*/}: $(tail -n 1 "$WORK/steps")" >&3
	grep -qE ', 0 wrong; [0-9]+ whole walks, 0 wrong;' "$WORK/steps"
	# a small static program's whole life: 15,000 and more, by the size of its environment
	expect "$(tail -n 1 "$WORK/steps" | awk '{ print $1 }') > 10000"
	expect "$(tail -n 1 "$WORK/steps" | sed 's/.* = \([0-9.]*\) %/\1/') < 0.1"
}

@test "single-stepped from the first instruction on: no wrong caller, no wrong CFA" {
	need_root
	need python3 perl sqlite3 xz openssl
	local nr
	nr=$(sized 80000 15000)
	steps $nr /usr/bin/python3 -S -c 'import math; print(math.sin(1))'
	steps $nr perl -e 'print sprintf("%x", 255), sort qw(b a c)'
	steps $nr sqlite3 :memory: 'select hex(1 + 1)'
	steps $nr xz --version
	steps $nr openssl version
	steps $nr throws 0.001
	steps $(sized 200000 50000) signals
}

# bats test_tags=full
@test "single-stepped: static, static-pie, non-PIE, realigned stacks, AVX, PLT stubs of both kinds" {
	need_root
	local flags all=("-static" "-static-pie" "-no-pie" "-mstackrealign" "-mavx2 -O3" "-Wl,-z,lazy -fcf-protection=none" "-Wl,-z,lazy -Wl,-z,ibtplt"
		"-O0 -fno-omit-frame-pointer" "-Os")
	printf '%s\n' "${all[@]}" | sample_of_size >"$WORK/flags"
	while read -r flags; do
		gcc -O2 -fomit-frame-pointer $flags -pthread -o "$WORK/signals$flags" "$ROOT/tests/workloads/signals.c"
		steps 60000 "$WORK/signals$flags"
		gcc -O2 -fomit-frame-pointer $flags -pthread -o "$WORK/hard$flags" "$ROOT/tests/workloads/hard.c"
		steps 100000 "$WORK/hard$flags"
	done <"$WORK/flags"
}

@test "a 32-bit process: its own end reason, and the leaf with its name" {
	need_root
	need as ld
	# endless: a call, by which only a frame pointer or CFI could go back
	printf '.globl _start\n.type f, @function\nf: jmp f\n.size f, .-f\n_start: call f\n' >"$WORK/loop.s"
	as --32 -o "$WORK/loop.o" "$WORK/loop.s" && ld -m elf_i386 -o "$WORK/loop32" "$WORK/loop.o"
	"$WORK/loop32" & pid=$!
	pids+=("$pid")
	wait_until_it_ran "$pid" 100 || skip "this kernel runs no 32-bit programs"
	measure_while_it_runs 300 cpuprof -j -F 999 -p "$pid"
	expect "$(summary .ended.bits32) > 10 && $(summary .ended.complete) == 0"
	[ "$(jq -c --arg file "$WORK/loop32" 'select(.type == "stack") | .user | map(.symbol, .module == $file, .offset)' \
		"$WORK/out" | sort -u)" = '["f",true,0]' ]
	# nobody has read the process before its first sample
	cpuprof -j -q -F 999 -o "$WORK/out" -- bash -c 'ulimit -t 1; exec "$0"' "$WORK/loop32" || true
	expect "$(jq -s 'map(select(.comm == "loop32" and .user[0].symbol == "f") | .count) | add' "$WORK/out") > 5"
}

# bats test_tags=full
@test "a thousand frames, and a stack of megabytes" {
	need_root
	local depth
	for depth in 1000 "1000 2000"; do
		background deep $depth
		wait_until grep -q ready "$WORK/background.out"
		measure_while_it_runs 300 cpuprof -j -F 999 -p "$pid"
		kill "$pid"
		expect "$(summary .ended.complete) >= 0.99 * $(summary .samples) && $(summary .samples) > 20"
		[ "$(jq -r 'select(.type == "stack" and .ended_by == "complete") | .user | length' "$WORK/out" | sort -n | head -n 1)" -gt 1000 ]
	done
}

@test "the oracle detects a wrong caller" {
	need_root
	# a function whose CFI does not match its code
	cat >"$WORK/lie.s" <<-'EOF'
		.globl main
		main:
			.cfi_startproc
			push %rbx
			.cfi_def_cfa_offset 24
			pop %rbx
			xor %eax, %eax
			ret
			.cfi_endproc
	EOF
	gcc -o "$WORK/lie" "$WORK/lie.s"
	run single-step -n 300000 "$WORK/lie"
	[ "$status" -eq 1 ]
	refute grep -q ', 0 wrong; [0-9]* whole' <<<"${lines[-1]}"
}

# ---- workloads, from their start to their exit ----

# runs the command under cpuprof: at least this share of the samples complete
whole() {	# SHARE COMMAND...
	local share=$1
	shift
	on_one_cpu cpuprof -j -o "$WORK/out.jsonl" -F 999 -- "$@" >"$WORK/stdout" 2>"$WORK/err" </dev/null
	mv "$WORK/out.jsonl" "$WORK/out"
	echo "# ${1##*/}: $(summary '"\(.samples) samples, \(.lost) lost, \(.ended | with_entries(select(.value > 0)) | tostring)"')" >&3
	expect "$(summary .samples) > 100"
	# the first sample of a process may come before it is known
	expect "$(summary .ended.complete) >= $share * ($(summary '.samples - .ended.no_user - ([.ended.unknown_process, 1] | min)'))"
}

# bats test_tags=full
@test "openssl speed: assembly with CFI of its own" {
	need_root
	need openssl
	local algorithm
	printf '%s\n' "-evp aes-256-gcm" rsa2048 "-evp sha256" ecdsap256 >"$WORK/algorithms"
	while read -r algorithm; do
		whole 0.995 openssl speed -seconds 1 $algorithm
	done < <(sample_of_size <"$WORK/algorithms")
}

# bats test_tags=full
@test "single-stepped: musl's libc and our own code, both without CFI" {
	need_root
	need musl-gcc
	musl-gcc -static -O2 -fno-asynchronous-unwind-tables -fomit-frame-pointer -s -o "$WORK/musl" "$ROOT/tests/workloads/nested.c"
	[ "$(readelf -SW "$WORK/musl" | grep -c eh_frame)" -eq 0 ] || [ "$(readelf --debug-dump=frames "$WORK/musl" | grep -c FDE)" -lt 20 ]
	steps 200000 "$WORK/musl" brief 0.01
	whole 0.99 "$WORK/musl" burn 1
}

@test "single-stepped: only the code at the entry point is the outermost frame, and no function behind it" {
	need_root
	# neither call in _start returns, so that no instruction ends it: the second function is only called by a pointer
	local call hot
	for hot in "" ".p2align 4"; do
		call=${hot:+*%r12}
		cat >"$WORK/entry.s" <<-EOF
			.globl _start
			_start: xor %ebp, %ebp
				lea hot(%rip), %r12
				call main_
			$hot
			hot:	mov \$10, %ecx
			1:	dec %ecx
				jnz 1b
				ret
			mid:	push %rbx
				call ${call:-hot}
				pop %rbx
				ret
				.skip 8192, 0x90
				.p2align 4
			main_:	call mid
				jmp main_
		EOF
		gcc -nostdlib -static -s -o "$WORK/entry" "$WORK/entry.s"
		single-step -n 3000 "$WORK/entry" >"$WORK/steps" || { tail "$WORK/steps" >&2; false; }
		tail -n 1 "$WORK/steps"
		grep -qE ', 0 wrong; [1-9][0-9]+ whole walks, 0 wrong; open 0 = ' "$WORK/steps"
	done
}

@test "at the entry point, still inside execve(): the outermost frame, and not what stands before it" {
	need_root
	need musl-gcc jq
	local libc entry at whole
	# musl's dynamic linker begins right behind a function that has a rule
	musl-gcc -O2 -s -o "$WORK/short" "$ROOT/tests/workloads/nested.c"
	libc=$(readlink -f /lib/ld-musl-x86_64.so.1)
	entry=$(entry_offset "$libc")
	cpuprof -q -j -F 9999 -o "$WORK/out" -- sh -c 'for i in $(seq 800); do "$0" brief 0.001; done' "$WORK/short"
	read -r at whole < <(jq -r -n --arg libc "$libc" --argjson entry "$entry" '
		[inputs | select(.type == "stack" and (.user | length) == 1 and .user[0].module == $libc and .user[0].file_offset == $entry)] |
		"\(map(.count) | add // 0) \(map(select(.ended_by == "complete").count) | add // 0)"' "$WORK/out")
	echo "# $whole of $at samples at the entry point whole" >&3
	expect "$at > 5 && $whole == $at"
}

# bats test_tags=full
@test "single-stepped: retpolines of GCC, whose CFI is wrong at the return, and of clang, which have none" {
	need_root
	need clang
	cat >"$WORK/retpolines.c" <<-'EOF'
		static volatile unsigned sum;
		__attribute__((noinline)) static void leaf(int n) { for (int i = 0; i < n; i++) sum += i; }
		static void (*volatile to_leaf)(int) = leaf;
		__attribute__((noinline)) static unsigned middle(int n) { to_leaf(n); return sum + n; }
		int main(void) { for (int i = 0; i < 300; i++) middle(3); return 0; }
	EOF
	local cfi
	for cfi in "" -fno-asynchronous-unwind-tables; do
		gcc -O2 -static -fcf-protection=none -mfunction-return=thunk -mindirect-branch=thunk $cfi -o "$WORK/gcc$cfi" "$WORK/retpolines.c"
		objdump -d "$WORK/gcc$cfi" | grep -A 8 '<__x86_return_thunk>:' | grep -q ret
		steps 60000 "$WORK/gcc$cfi"
		ehdump --check "$WORK/gcc$cfi" | grep -q ', 0 differences$'
	done
	clang -O2 -static -mretpoline -o "$WORK/clang" "$WORK/retpolines.c"
	objdump -d "$WORK/clang" | grep -q '<__llvm_retpoline_r11>:'
	steps 60000 "$WORK/clang"
}

@test "samples in page faults, in system calls, in threads that begin and end" {
	need_root
	whole 0.99 faults 4
	# by what the kernel was doing
	local what
	for what in asm_exc_page_fault ksys_read; do
		jq -r --arg what "$what" 'select(.type == "stack" and any(.kernel[]; .symbol == $what)) | [.count, .ended_by] | @tsv' "$WORK/out" |
			awk -v what="$what" '{ all += $1 } $2 == "complete" { whole += $1 }
				END { print "# " what ": " whole + 0 " of " all + 0 " complete"; exit !(all > 100 && whole >= 0.995 * all) }' >&3
	done
}

# bats test_tags=full
@test "uretprobes of another tracer" {
	need_root
	need nm
	gcc -O2 -fomit-frame-pointer -pthread -o "$WORK/nested" "$ROOT/tests/workloads/nested.c"
	local offsets
	offsets=$(nm "$WORK/nested" | awk '$3 ~ /^f[0-9]+$/ { print "0x" $1 }')
	background uretprobe "$WORK/nested" $offsets
	wait_until grep -q '^ready\|^perf_event_open' "$WORK/background.out"
	grep -q ready "$WORK/background.out" || skip "this kernel has no uprobes"
	whole 0.97 "$WORK/nested" burn 1
	# all ten functions were entered by way of a probe, and none is missing
	jq -r 'select(.type == "stack" and .ended_by == "complete" and .user[0].symbol == "f10") | [.count, ([.user[:11][].symbol] | join(" "))] | @tsv' \
		"$WORK/out" | awk -F '\t' '{ all += $1 } $2 == "f10 f9 f8 f7 f6 f5 f4 f3 f2 f1 main" { whole += $1 } END { exit !(all + '"$(summary .lost)"' > 500 && all > 0 && whole == all) }'
}

@test "rules worked out from code equal the compiler's CFI, where there is CFI" {
	code-against-cfi /bin/bash /usr/bin/python3 /usr/bin/perl /usr/bin/git /usr/bin/sqlite3 /lib/x86_64-linux-gnu/libc.so.6 >"$WORK/compared"
	# libc's own CFI omits some pushes; not all blocks that end in calls which do not return can be recognised
	awk '{ print "# " $1 ": " $2 " instructions, " $3 " % with a rule, " $4 " differ"; bad += $2 < 40000 || $3 < 90 || $4 > 0.001 * $2 } END { exit NR != 6 || bad }' \
		"$WORK/compared" >&3
}

# bats test_tags=full
@test "aarch64: rules worked out from code equal the compiler's CFI" {
	"$BATS_TEST_DIRNAME/fetch-arm64" "$ROOT/build/arm64/files" coreutils bash libstdc++6 libssl3 perl-base ||
		skip "Debian's arm64 packages cannot be downloaded"
	# not the scripts; nor ld.so, where the CFI of what resolves a function leaves out what the PLT has stored on the stack
	arm64-code-against-cfi $(find "$ROOT/build/arm64/files" -type f \( -name '*.so*' -o -path '*/bin/*' \) ! -name 'ld-linux*' \
		-exec grep -lP '^\x7fELF' {} +) >"$WORK/compared"
	awk '{ print "# " $1 ": " $2 " instructions, " $3 " % with a rule, " $4 " differ"; all += $2; known += $2 * $3 / 100; bad += $4 > 0.001 * $2 + 10 }
		END { exit NR < 20 || all < 500000 || known < 0.9 * all || bad }' "$WORK/compared" >&3
}

# bats test_tags=full
@test "assembly without CFI: rules from its instructions" {
	need_root
	need x264 cjpeg djpeg gawk
	gawk 'BEGIN { printf "P6\n96 64\n255\n"; srand(7); for (i = 0; i < 96 * 64 * 3; i++) printf "%c", 32 + int(rand() * 90) }' >"$WORK/in.ppm"
	cjpeg -outfile "$WORK/in.jpg" "$WORK/in.ppm"
	steps 200000 cjpeg -outfile /dev/null "$WORK/in.ppm"
	steps 200000 djpeg -outfile /dev/null "$WORK/in.jpg"

	head -c $((352 * 288 * 3 / 2 * 40)) /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null >"$WORK/in.yuv"
	# its trellis quantisation dispatches by computed jumps
	whole 0.97 x264 --quiet --threads 1 --preset fast --input-res 352x288 --fps 25 -o "$WORK/out.264" "$WORK/in.yuv"
	expect "$(jq -r 'select(.type == "stack" and .ended_by == "complete") | select(.user[0].module | test("libx264")) | .count' "$WORK/out" | awk '{ n += $1 } END { print n + 0 }') > 200"
}

# bats test_tags=full
@test "node: JIT code between C++ frames, by frame pointers, and marked so" {
	need_root
	need node
	cat >"$WORK/busy.js" <<-'EOF'
		function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
		const end = Date.now() + 2000;
		while (Date.now() < end) {
			fib(18);
			JSON.parse(JSON.stringify({ a: [1, 2, 3], b: "x".repeat(1000) }), (k, v) => v);
			[5, 3, 1].sort((a, b) => fib(3) + a - b);
			"abcabc".replace(/b/g, c => c + c);
		}
	EOF
	whole 0.99 node "$WORK/busy.js"
	expect "$(jq -r 'select(.type == "stack" and .ended_by == "complete" and any(.user[]; .by == "fp")) | .count' "$WORK/out" | awk '{ n += $1 } END { print n + 0 }') > 100"
	# down to the entry point: unwinding by rows continues below JIT code
	local entry
	entry=$(entry_offset "$(readlink -f "$(command -v node)")")
	jq -r 'select(.type == "stack" and any(.user[]; .by == "fp")) | [.count, .user[-1].file_offset // 0] | @tsv' "$WORK/out" |
		awk -v entry="$entry" '{ all += $1 } $2 > entry && $2 <= entry + 64 { whole += $1 } END { exit !(all > 100 && whole > 0.95 * all) }'
}

# bats test_tags=full
@test "Go: frame pointers, down to goexit" {
	need_root
	need gojq
	whole 0.98 gojq -n '[range(1500000) | tostring] | length'
}

# bats test_tags=full
@test "Go, whose table cannot be read: no caller is left out, also of a function without a frame" {
	need_root
	need go objcopy
	cat >"$WORK/leaf.go" <<-'EOF'
		package main
		var sum int
		var to_leaf = leaf
		//go:noinline
		func leaf(n int) int {
			for i := 0; i < 1000; i++ {
				n = n*31 + i
			}
			return n
		}
		func main() {
			for n := 0; n < 700000; n++ {
				sum += to_leaf(n)
			}
		}
	EOF
	CGO_ENABLED=0 go build -o "$WORK/leaf" "$WORK/leaf.go"
	# the program reads the table by its address, we by the name of its section
	objcopy --rename-section .gopclntab=.other -R .debug_frame -R .zdebug_frame "$WORK/leaf" 2>/dev/null
	cpuprof -j -o "$WORK/out" -F 999 -- "$WORK/leaf" 2>"$WORK/err"
	jq -r 'select(.type == "stack" and .user[0].symbol == "main.leaf") | [.count, .user[1].symbol] | @tsv' "$WORK/out" >"$WORK/callers"
	awk '{ all += $1 } $2 == "main.main" { right += $1 } END { print "# " right + 0 " of " all + 0; exit !(all > 100 && right >= 0.99 * all) }' "$WORK/callers" >&3
	single-step -s 150000 -n 100000 "$WORK/leaf" >"$WORK/steps" 2>/dev/null </dev/null || true
	echo "# $(tail -n 1 "$WORK/steps")" >&3
	expect "$(tail -n 1 "$WORK/steps" | sed 's/.* right, \([0-9]*\) wrong.*/\1/') < 20"
}

@test "C++ exceptions, signals on two stacks, a coroutine" {
	need_root
	whole 0.995 hard 1
	# while libgcc installs a landing pad's registers, it overwrites the saved ones: that cannot be unwound
	whole 0.98 throws 1
	# of a sample that waited for the tables, one stack was kept: where a handler runs on another, it ends there
	whole 0.99 signals 3
	expect "$(summary .ended.complete) + $(summary .ended.unreadable) >= 0.998 * ($(summary .samples) - $(summary .ended.no_user))"
}

# bats test_tags=full
@test "postgres under pgbench, redis under redis-benchmark" {
	need_root
	need pgbench redis-server redis-benchmark
	local bin share=0.99
	bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
	chmod 755 "$WORK" && mkdir "$WORK/pg" && chown postgres "$WORK/pg"
	setpriv --reuid postgres --regid postgres --clear-groups "$bin/initdb" -D "$WORK/pg" >/dev/null
	setpriv --reuid postgres --regid postgres --clear-groups "$bin/postgres" -D "$WORK/pg" -k "$WORK/pg" -h '' >/dev/null 2>&1 3>&- &
	pids+=($!)
	wait_until setpriv --reuid postgres --regid postgres --clear-groups "$bin/createdb" -h "$WORK/pg" bench
	setpriv --reuid postgres --regid postgres --clear-groups "$bin/pgbench" -h "$WORK/pg" -i -q bench >/dev/null 2>&1
	redis-server --port 0 --unixsocket "$WORK/redis.sock" --save '' >/dev/null 3>&- &
	pids+=($!)
	wait_until redis-cli -s "$WORK/redis.sock" ping
	cpuprof -j -F 999 6 >"$WORK/out" 2>"$WORK/err" 3>&- &
	local tool=$!
	pids+=("$tool")
	sleep 0.5
	setpriv --reuid postgres --regid postgres --clear-groups "$bin/pgbench" -h "$WORK/pg" -c 2 -S -T 2 bench >/dev/null 2>&1
	redis-benchmark -s "$WORK/redis.sock" -q -n 150000 -t set,get,lpush >/dev/null
	wait $tool
	jq -r 'select(.type == "stack" and (.comm | test("postgres|redis|pgbench")) and .ended_by != "no_user") | [.comm, .count, .ended_by] | @tsv' "$WORK/out" |
		gawk -F '\t' -v share=$share '{ all[$1] += $2 } $3 == "complete" { whole[$1] += $2 }
			END { for (c in all) { print "# " c ": " whole[c] + 0 " of " all[c] " complete"; n += all[c]; if (all[c] > 100 && whole[c] < share * all[c]) bad = 1 }
				exit bad || n < 1000 || all["postgres"] <= 100 || all["redis-server"] <= 100 }' >&3
}

# ---- code of no file ----

@test "code that is written anew, again and again, has no caller but its own" {
	need_root
	on_one_cpu cpuprof -q -j -F 1999 -o "$WORK/out" -- rewrites 2>/dev/null
	# what comes behind the frame in that code, with samples; all end in main() and libc, but for a caller that is left out or wrong
	jq -r 'select(.type == "stack" and .user) | "\(.count) \(.user | map(.region // .vaddr // .symbol) |
		.[(index("[anon]") // length) + 1:] | select(length > 0) | join(" "))"' "$WORK/out" |
		awk '{ n = $1; $1 = ""; sum[$0] += n } END { for (c in sum) print sum[c] c }' | sort -rn | tee "$WORK/callers"
	# where the first reading comes after a change, as on a busy machine, samples of before are walked by what was read
	awk '{ all += $1; if (NR == 1) right = $1 } END { exit !(all >= 20 && right >= 0.97 * all) }' "$WORK/callers"
}
