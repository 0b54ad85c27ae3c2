#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The table of benchmarks in README.md, of what the benchmarks print.
# bats file_tags=beside

load lib.bash

@test "make bench's table: a head with machine and kernel, a row for each figure, nothing for what was not measured" {
	mkdir "$WORK/results"
	cat >"$WORK/results/unwind" <<-'END'
		    1 functions deep, one stack    ours      614 ns for    6.0 frames, 100.0 % complete;  frame pointers     1029 ns for    3.0 frames
		ours, one stack, 1 to 120: 349 ns + 44.1 ns a frame
		frame pointers, one stack, 1 to 120: 876 ns + 51.1 ns a frame
	END
	cat >"$WORK/results/offcpu" <<-'END'
		bare                5.33 us a round,   0.00 us added a switch
		ours                6.33 us a round,   0.50 us added a switch,  0.25 x libbpf-tools'
		ours -U             6.14 us a round,   0.40 us added a switch,  0.20 x libbpf-tools'
		libbpf-tools        9.37 us a round,   2.02 us added a switch,  1.00 x libbpf-tools'
		bpftrace ustack     5.13 us a round,  -0.20 us added a switch,  0.10 x libbpf-tools'
		thread_switches: 1136 ns a run, of 217601
	END
	cat >"$WORK/results/quiet" <<-'END'
		ns                   system call        page fault     mmap + munmap            switch       fork + exec
		bare                 106  1.00 x       939  1.00 x      1464  1.00 x      1382  1.00 x    662743  1.00 x
		cpuprof              106  1.00 x       973  1.04 x      1617  1.10 x      1388  1.00 x    772974  1.17 x
	END
	printf 'before\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nafter\n' >"$WORK/README.md"
	"$BATS_TEST_DIRNAME/bench/table" "$WORK/results" "$WORK/README.md"
	cat "$WORK/README.md"
	sed -i "s/^Measured on .*, $(nproc) CPUs.*, Linux $(uname -r), on 20..-..-..; .*/Measured here/" "$WORK/README.md"
	diff "$WORK/README.md" - <<-'END'
		before
		<!-- bench: begin -->
		Measured here

		| what | ehperf | beside it |
		| --- | --- | --- |
		| a sample in the kernel, user part | 349 ns + 44.1 ns a frame | frame pointers 876 ns + 51.1 ns a frame |
		| a switch to another thread with both stacks, as it is felt (offcputime) | 0.50 us | libbpf-tools 2.02 us |
		| a switch to another thread, offcputime's program by the kernel's statistics | 1136 ns | - |
		| a system call of a process that is not measured | 1.00 x | - |
		| a page fault of such a process | 1.04 x | - |
		| mmap and munmap of such a process | 1.10 x | - |
		| fork and exec of such a process | 1.17 x | - |
		<!-- bench: end -->
		after
	END
	rm "$WORK"/results/*
	run "$BATS_TEST_DIRNAME/bench/table" "$WORK/results" "$WORK/README.md"
	[ "$status" -eq 1 ]
}

@test "README.md has the places that tables are written to" {
	local table
	for table in bench kernels; do
		[ "$(grep -c "^<!-- $table: \(begin\|end\)" "$ROOT/README.md")" -eq 2 ]
	done
}
