#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The layout: what each folder may use, what it may do, and what a tool consists of.
# bats file_tags=check

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
LAYERS=(run kernel live report runtimes unwind process table dwarf base)

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

# which file of libcommon uses which other one, "USER USED": x.c, x.h and x_parts.h are one, and so are machine.h and its folders
uses() {
	grep -rE --include='*.[ch]' -o '^#include "(\S+/)?[a-z0-9_]+\.h"' libcommon |
		sed -E 's,^libcommon/,,; s,:#include ", ,; s,"$,,; s,table/(x86|arm64)/[a-z_]+\.,table/machine.,g; s, machine_table$, table/machine,; s,(_parts)?\.[ch]( |$),\2,g' |
		awk '$1 != $2' | sort -u
}

@test "no two files of libcommon use each other, but for these pairs" {
	uses >"$BATS_TEST_TMPDIR/uses"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/uses")" -gt 500 ]
	awk 'NR == FNR { uses[$1, $2]; next } $1 < $2 && ($2, $1) in uses' "$BATS_TEST_TMPDIR/uses" "$BATS_TEST_TMPDIR/uses" |
		diff - <(cat <<-'END'
			report/measure report/stack_summary
			run/cli run/output_file
			run/output_file run/signals
			run/run run/run_start
			runtimes/python/python runtimes/python/python_frames
			table/eh_rule table/machine
			table/row_writer table/unwind_table
			unwind/foreign unwind/foreign_work
		END
		)
}

@test "libbpf: used in libcommon/kernel only, and in none of its headers, so that including them does not need it" {
	grep -rnE '#include <bpf/' libcommon --include='*.[ch]' | grep -v '^libcommon/kernel/' | none
	grep -nE '#include <bpf/' libcommon/kernel/*.h | none
	grep -rqE '#include <bpf/' libcommon/kernel	# the pattern does find uses
}

@test "uthash: by way of base/hash.h only, whose seed nobody knows" {
	grep -rlw 'uthash.h' libcommon tools | grep -vx libcommon/base/hash.h | none
}

@test "machines: only the folders of machines say what differs, and each has the same files in bpf/" {
	local machine
	grep -rnE '__(x86_64|aarch64|i386|arm)__' bpf libcommon tools --include='*.[ch]' | none
	for machine in x86 arm64; do
		diff <(ls bpf/x86) <(ls "bpf/$machine")
		grep -rnE "#include \"([a-z]+/)*$machine/" bpf libcommon tools tests | none
	done
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
	needed_by "${LAYERS[@]:1}" | grep -E ": ($printing)$" | grep -vE ': exit$|^(bounded_child|worker_child|worker_starter|server_child|kept_output|child_limits)\.o: _exit$' | none
	needed_by run | grep -qx '.*: stderr'	# the pattern does find uses
}

@test "the kernel's headers and the tools' programs use nothing of libcommon" {
	grep -rnE '#include "(libcommon|run|report|unwind|process|table|dwarf|base)/' bpf tools --include='*.bpf.[ch]' --include='*_abi.h' | none
}

@test "runtimes: only their folders and the tables of them name them, and what is printed" {
	local file
	for file in $(grep -rliE 'python|hotspot|jvm|java\b' --include='*.[ch]' bpf libcommon tools | grep -vE '^libcommon/runtimes/[a-z]+/|^bpf/runtimes/'); do
		${CC:-cc} -fpreprocessed -dD -E -P "$file" | grep -iE 'python|hotspot|jvm|java\b' | sed "s,^\s*,$file: ,"
	done >"$BATS_TEST_TMPDIR/named"
	grep -vE '^(bpf/runtimes(\.bpf|_abi)\.h|libcommon/runtimes/runtimes\.c|libcommon/run/stack_options\.c|libcommon/report/flame_svg\.c): ' "$BATS_TEST_TMPDIR/named" | none
	[ "$(grep -c '^libcommon/runtimes/runtimes.c: ' "$BATS_TEST_TMPDIR/named")" -ge 4 ]	# the pattern does find uses
}

@test "the BPF objects in the tools have BTF, and no debug information" {
	local object
	for object in $(ls tools/*/*.bpf.c | sed -E 's,.*/(.*)\.c,build/skel/\1.o,'); do
		readelf -SW "$object" | grep -q ' \.BTF\.ext '
		readelf -SW "$object" | grep ' \.debug_' | none
	done
}

@test "C: as clang-format has it" {
	command -v clang-format >/dev/null || skip "clang-format is missing"
	[[ $(clang-format --version) == *' 14.'* ]] || skip "another version than clang-format 14"
	find bpf libcommon tools tests -name '*.[ch]' >"$BATS_TEST_TMPDIR/files"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/files")" -gt 500 ]
	xargs clang-format --dry-run -Werror <"$BATS_TEST_TMPDIR/files"
}

@test "defects: each of mutations.table still changes its file" {
	local line file nr=0
	while IFS= read -r line; do
		case $line in
		$'\tin '*) file=${line#?in } ;;
		$'\tsed '*)
			if sed "${line#?sed }" "$file" | cmp -s "$file" -; then echo "$file: $line"; return 1; fi
			nr=$((nr + 1))
			;;
		esac
	done <tests/mutations.table
	[ "$nr" -ge 30 ]
}

@test "a tool has a source, BPF programs if it measures, a man page and a test" {
	local tool
	for tool in $(cd tools && ls -d */ | tr -d /); do
		echo "$tool"
		[ -f "tools/$tool/$tool.c" ]
		if grep -q '_bpf__open()' "tools/$tool"/*.c; then [ -f "tools/$tool/$tool.bpf.c" ]; fi
		[ -f "man/man8/$tool.8" ]
		[ -f "tests/$tool.bats" ]
		[ ! -f "tools/$tool/$tool.bpf.c" ] || grep -qw valid_json "tests/$tool.bats"
	done
}

@test "man pages: each test that ehperf-security(7) names is there" {
	local file name nr=0	# a name goes on until a macro comes
	while IFS=: read -r file name; do
		grep -qF "@test \"${name# }\" {" "tests/$file" || { echo "$file: $name"; return 1; }
		nr=$((nr + 1))
	done < <(awk '/^[.]/ { if (test) print test; test = "" }
		sub(/^Test: /, "") { test = $0; next } test { test = test " " $0 }' man/man7/ehperf-security.7)
	[ "$nr" -gt 15 ]
}

@test "man pages: each file, function and constant that ehperf-internals(7) names is there" {
	local page=man/man7/ehperf-internals.7 name
	grep -oE '\b(bpf|libcommon|tools|tests)/[a-zA-Z0-9_./-]+[a-zA-Z]' "$page" | sort -u >"$BATS_TEST_TMPDIR/files"
	while read -r name; do
		[ -e "$name" ] || echo "$name"
	done <"$BATS_TEST_TMPDIR/files" | none
	grep -E '^\.(B|BR|RB|SS) ' "$page" | grep -oE '[A-Za-z_]+ \(\)|[A-Za-z]+_[A-Za-z0-9_]+' | tr -d ' ()' | sort -u >"$BATS_TEST_TMPDIR/names"
	while read -r name; do
		grep -rqw --include='*.[ch]' "$name" bpf libcommon tools || echo "$name"
	done <"$BATS_TEST_TMPDIR/names" | none
	[ "$(wc -l <"$BATS_TEST_TMPDIR/files")" -gt 30 ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -gt 80 ]
}

@test "tests: no check that cannot fail: after ! and before &&, set -e does not apply" {
	grep -nE '^	+! |^	+(\[|test |grep |cmp |diff ).* && (\[|test |grep |cmp |diff |! )' tests/*.bats | grep -v '||' | none
}

@test "man pages: mandoc's lint has nothing to say" {
	command -v mandoc >/dev/null || skip "needs mandoc"
	mandoc -Tlint "$ROOT"/man/man[0-9]/*
}

@test "README is short; its tools are there, and its links lead to files" {
	[ "$(wc -c <README.md)" -le 8192 ]
	local tool page link
	for tool in $(sed -n '/^| question | tool |/,/^$/ s/.*| `\([a-z]*\)` |$/\1/p' README.md); do
		[ -d "tools/$tool" ] || echo "README.md: $tool"
	done | none
	for page in README.md tests/README.md .github/*.md; do
		for link in $(grep -oP '\]\(\K[^)#]+' "$page"); do
			[[ $link == https:* || -e $(dirname "$page")/$link ]] || echo "$page: $link"
		done
	done | none
}

@test "README's figures beside other tools are those of make bench" {
	local figures
	figures=$(sed -n '/^## Beside other tools/,/^## More/p' README.md | grep '^|' | grep -oE '[0-9.]+ (ns( \+ [0-9.]+ ns a frame)?|x)\b')
	[ "$(wc -l <<<"$figures")" -ge 7 ]
	while read -r figure; do
		grep -qF " $figure" tests/bench/README.md || echo "$figure"
	done <<<"$figures" | none
}

@test "the tables that make bench and make kernels-table write have their places" {
	local file name
	for name in bench kernels; do
		file=$(sed -nE "s,^\ttests/$name/table .*(tests/\S*)$,\1,p" Makefile tests/*/*.mk)
		[ "$(grep -cE "^<!-- $name: (begin|end)" "$file")" -eq 2 ]
	done
}
