#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The layout: what each folder may use, what it may do, and what a tool consists of.
# bats file_tags=beside

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

@test "below run/, nothing exits or prints messages" {
	local layer
	for layer in "${LAYERS[@]:1}"; do
		grep -rnwE '_?exit|abort|err|errx|warn|warnx|perror|stderr|stdout' "libcommon/$layer" --include='*.c' |
			grep -vE '^[^:]*:[0-9]*:\s*(/?\*|//)' |
			grep -vE '^libcommon/(dwarf/bounded_child|process/worker_child)\.c:[0-9]+:\s*_exit\(' |	# children of their own
			grep -E '\b(_?exit|abort|errx?|warnx?|perror) ?\(|\bstderr\b|\bstdout\b' | none
		grep -rnE '\b(printf|puts|putchar|cli_[a-z]+) ?\(' "libcommon/$layer" --include='*.c' | none
	done
	grep -rqw stderr libcommon/run
}

@test "the kernel's headers and the tools' programs use nothing of libcommon" {
	grep -rnE '#include "(libcommon|run|report|unwind|process|table|dwarf)/' bpf tools --include='*.bpf.[ch]' --include='*_abi.h' | none
}

@test "a tool has a source, BPF programs if it measures, a man page and a test; its main file is short" {
	local tool lines
	for tool in $(ls tools); do
		echo "$tool"
		[ -f "tools/$tool/$tool.c" ]
		if grep -q '_bpf__open()' "tools/$tool"/*.c; then [ -f "tools/$tool/$tool.bpf.c" ]; fi
		[ -f "man/man8/$tool.8" ]
		[ -f "tests/$tool.bats" ]
		[ ! -f "tools/$tool/$tool.bpf.c" ] || grep -qw valid_json "tests/$tool.bats"
		lines=$(wc -l <"tools/$tool/$tool.c")
		echo "$tool.c has $lines lines"
		[ "$lines" -le 250 ]
	done
}

# lines that print a name that others have chosen, by any other way than report/escape.h's
prints_foreign_names() {	# FILE...
	grep -nE '(printf|fputs|puts|fwrite|json_object_new_string[a-z_]*) ?\(.*\b(comm|path|symbol|raw_symbol|module|raw_name|jit_comm|symbol\.name) *[,)]' "$@" |
		grep -vE '\b(snprintf|sprintf|sscanf|json_name|print_escaped|print_message) ?\(|%02x' || true
}

@test "names that others have chosen are printed by print_escaped(), print_message() or json_name() only" {
	prints_foreign_names $(find libcommon/report libcommon/run tools -name '*.c' ! -name '*.bpf.c') | none
	# the pattern finds what it is to find
	printf '%s\n' 'fprintf(out, "%s (%u)", key->comm, pid);' 'fputs(module->path, out);' 'printf("%s\n", s->path);' \
		'json_object_new_string(name->symbol)' 'fprintf(out, "%s", symbol.name);' >"$BATS_TEST_TMPDIR/bad.c"
	[ "$(prints_foreign_names "$BATS_TEST_TMPDIR/bad.c" | wc -l)" -eq 5 ]
}

@test "man pages: mandoc's lint has nothing to say" {
	command -v mandoc >/dev/null || skip "needs mandoc"
	mandoc -Tlint "$ROOT"/man/man[0-9]/*
}
