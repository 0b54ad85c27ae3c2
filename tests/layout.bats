#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The house: what each folder may use, what it may do, and what belongs to a tool.

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
ROOMS=(run bpf report unwind process table dwarf base)

setup() {
	cd "$ROOT"
}

# fails, showing them, if there are lines on standard input
none() {
	local found
	found=$(cat)
	[ -z "$found" ] || { echo "$found"; return 1; }
}

@test "every folder of libcommon is a room whose place is known" {
	diff <(printf '%s\n' "${ROOMS[@]}" | sort) <(ls libcommon)
}

@test "rooms include only themselves and those below them, and no tool" {
	local i above=()
	for i in "${!ROOMS[@]}"; do
		for room in "${above[@]}"; do
			grep -rnE "#include \"$room/" "libcommon/${ROOMS[i]}" | none
		done
		above+=("${ROOMS[i]}")
	done
	# the skeletons and ABIs of tools are theirs
	ls tools | while read -r tool; do
		grep -rnE "#include \"(\.\./|tools/|$tool)" libcommon | none
	done
	grep -rnE '#include ".*skel' libcommon | none
}

@test "libbpf: in libcommon/bpf alone, and in no header, so that those who include it need none" {
	grep -rnE '#include <bpf/' libcommon --include='*.[ch]' | grep -v '^libcommon/bpf/' | none
	grep -nE '#include <bpf/' libcommon/bpf/*.h | none
	grep -rqE '#include <bpf/' libcommon/bpf	# the pattern finds what there is
}

@test "below run/, nothing exits or prints on its own account" {
	local room
	for room in "${ROOMS[@]:1}"; do
		grep -rnwE '_?exit|abort|err|errx|warn|warnx|perror|stderr|stdout' "libcommon/$room" --include='*.c' |
			grep -vE '^[^:]*:[0-9]*:\s*(/?\*|//)' |
			grep -vE '^libcommon/dwarf/demangle\.c:[0-9]+:\s*_exit\(' |	# a child of its own
			grep -E '\b(_?exit|abort|errx?|warnx?|perror) ?\(|\bstderr\b|\bstdout\b' | none
		grep -rnE '\b(printf|puts|putchar|cli_[a-z]+) ?\(' "libcommon/$room" --include='*.c' | none
	done
	grep -rqw stderr libcommon/run
}

@test "the kernel's headers and the tools' programs use nothing of libcommon" {
	grep -rnE '#include "(libcommon|run|report|unwind|process|table|dwarf)/' bpf tools --include='*.bpf.[ch]' --include='*_abi.h' | none
}

@test "a tool: its source, its programs, its man page and its test; its story is short" {
	local tool lines
	for tool in $(ls tools); do
		echo "$tool"
		[ -f "tools/$tool/$tool.c" ]
		[ -f "tools/$tool/$tool.bpf.c" ]
		[ -f "man/man8/$tool.8" ]
		[ -f "tests/$tool.bats" ]
		lines=$(wc -l <"tools/$tool/$tool.c")
		echo "$tool.c has $lines lines"
		[ "$lines" -le 250 ]
	done
}
