#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The layout: what each folder may use, what it may do, and what a tool consists of.
# bats file_tags=check

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
LAYERS=(run bpf report unwind process table dwarf base)

setup() {
	cd "$ROOT"
}

# fails, and shows them, if there are lines on standard input
none() {
	local found
	found=$(cat)
	[ -z "$found" ] || { echo "$found"; return 1; }
}

@test "every folder of libcommon is in the list of layers" {
	diff <(printf '%s\n' "${LAYERS[@]}" | sort) <(ls libcommon)
}

@test "layers include only themselves and those below them, and no tool" {
	local i above=()
	for i in "${!LAYERS[@]}"; do
		for layer in "${above[@]}"; do
			grep -rnE "#include \"$layer/" "libcommon/${LAYERS[i]}" | none
		done
		above+=("${LAYERS[i]}")
	done
	# skeletons and ABIs of tools are for the tools only
	ls tools | while read -r tool; do
		grep -rnE "#include \"(\.\./|tools/|$tool)" libcommon | none
	done
	grep -rnE '#include ".*skel' libcommon | none
}

@test "libbpf: used in libcommon/bpf only, and in none of its headers, so that including them does not need it" {
	grep -rnE '#include <bpf/' libcommon --include='*.[ch]' | grep -v '^libcommon/bpf/' | none
	grep -nE '#include <bpf/' libcommon/bpf/*.h | none
	grep -rqE '#include <bpf/' libcommon/bpf	# the pattern does find uses
}

# what the objects of these layers need of others, as "OBJECT: SYMBOL"
needed_by() {	# LAYER...
	local layer
	for layer; do
		[ ! -e "build/libcommon/$layer.a" ] || nm -A -u --format=posix "build/libcommon/$layer.a" | sed -E 's/.*\[(.*)\]: (.*) U.*/\1: \2/'
	done
}

@test "below run/, nothing exits or prints messages: no object needs what does" {
	local printing='_?exit|abort|errx?|warnx?|perror|stderr|stdout|v?printf|puts|putchar|__v?printf_chk|cli_.*'
	# children of their own end themselves; where memory ends, uthash calls exit()
	needed_by "${LAYERS[@]:1}" | grep -E ": ($printing)$" | grep -vE ': exit$|^(bounded_child|worker_child|child_limits)\.o: _exit$' | none
	needed_by run | grep -qx '.*: stderr'	# the pattern does find uses
}

@test "the kernel's headers and the tools' programs use nothing of libcommon" {
	grep -rnE '#include "(libcommon|run|report|unwind|process|table|dwarf|base)/' bpf tools --include='*.bpf.[ch]' --include='*_abi.h' | none
}

@test "a tool has a source, BPF programs if it measures, a man page and a test" {
	local tool
	for tool in $(ls tools); do
		echo "$tool"
		[ -f "tools/$tool/$tool.c" ]
		if grep -q '_bpf__open()' "tools/$tool"/*.c; then [ -f "tools/$tool/$tool.bpf.c" ]; fi
		[ -f "man/man8/$tool.8" ]
		[ -f "tests/$tool.bats" ]
		[ ! -f "tools/$tool/$tool.bpf.c" ] || grep -qw valid_json "tests/$tool.bats"
	done
}

@test "man pages: mandoc's lint has nothing to say" {
	command -v mandoc >/dev/null || skip "needs mandoc"
	mandoc -Tlint "$ROOT"/man/man[0-9]/*
}
