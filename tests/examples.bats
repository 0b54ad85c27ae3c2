#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What README.md, the man pages and --help tell a reader to type, typed: see run-examples.

load lib.bash
load workloads/servers.bash

teardown() {
	stop_servers
	end_children
	rm -rf "$WORK"
}

# tools that measure for 2 s at most, and get a SIGINT where they would not end
make_short_tools() {
	mkdir "$WORK/bin"
	cat >"$WORK/bin/short" <<-'END'
		#!/bin/bash
		tool=${0##*/} args=("$@") n=$# limit=() numbers=0
		for ((i = 0; i < $#; i++)); do [ "${args[i]}" != -- ] || { n=$i; break; }; done
		for ((i = n - 1; i >= 0; i--)); do
			[[ ${args[i]} =~ ^[0-9]+$ ]] && ! [[ ${args[i - 1]} =~ ^-[ptFcCmMd]$ ]] || break
			numbers=$((numbers + 1))
			[ "${args[i]}" -le 2 ] || args[i]=2
		done
		endless=$((numbers == 0))
		[[ $tool =~ ^(biohist|funclat|mapupdlat)$ ]] && endless=$((numbers < 2))
		[[ $tool =~ ^(ehdump|flame)$ || " $* " == *" -l "* || $n -lt $# || $endless = 0 ]] ||
			limit=(timeout --foreground --preserve-status -s INT 5)
		exec "${limit[@]}" "$BUILD/$tool" "${args[@]}"
	END
	chmod +x "$WORK/bin/short"
	local tool
	for tool in "$ROOT"/tools/*/; do ln -s short "$WORK/bin/$(basename "$tool")"; done
	printf '#!/bin/sh\nexec cat "%s/pids/$2"\n' "$WORK" >"$WORK/bin/pgrep"
	chmod +x "$WORK/bin/pgrep"
	export BUILD=$ROOT/build
}

# ./program, ./old, ./new, ./loader, a Makefile and a file
make_programs() {
	need gcc make
	cat >"$WORK/program.c" <<-'END'
		#include <stdlib.h>
		#include <string.h>
		int main(void) { for (int i = 0; i < 3000; i++) memset(malloc(1 << 20), 1, 1 << 20); }
	END
	gcc -O1 -fno-builtin -o "$WORK/program" "$WORK/program.c"
	gcc -O0 -fno-builtin -o "$WORK/old" "$WORK/program.c"
	cp "$WORK/program" "$WORK/new"
	printf '#!/bin/sh\nexec mapinmap array_of_maps 20 1 0 outer\n' >"$WORK/loader"
	printf '#!/bin/sh\nexec "$BUILD/cpuprof" -q -o /dev/null 1\n' >"$WORK/libbpf-user"
	chmod +x "$WORK/loader" "$WORK/libbpf-user"
	printf 'all: 1 2 3 4\n1 2 3 4:\n\tgcc -O2 -o prog$@ program.c; sleep 0.3\n' >"$WORK/Makefile"
	head -c 20000000 /dev/urandom >"$WORK/file"
}

serve() {	# SERVER NAME: as pgrep calls it
	"start_$1" "$WORK/$1" || skip "needs $2"
	echo "${server_pids[-1]}" >"$WORK/pids/$2"
}

start_needed() {	# PAGE
	local part
	mkdir "$WORK/pids" "$WORK/values"
	part=$(awk -v page="[$1]" '/^\[[^ ]*\]$/ { mine = $0 == page } mine' "$ROOT/tests/examples.table")
	chmod 755 "$WORK"
	[[ $part != *postgres* ]] || serve postgres_load postgres
	[[ $part != *redis-server* ]] || serve redis redis-server
	[[ $part != *'pgrep -n nginx'* && $part != *@nginx@* ]] || serve nginx nginx
	cp "$WORK/pids/nginx" "$WORK/values/nginx" 2>/dev/null || true
	[[ $1 != ehperf-json.5 ]] || background nested burn 100	# an idle machine has no samples
	[[ $part != *@mallocs@* ]] || { background perl -e 'while (1) { my @a = map { "x" x $_ } 1..1000 }'; echo "$pid" >"$WORK/values/mallocs"; }
	[[ $part != *@python@* ]] || { background /usr/bin/python3 -c 'while 1: x = [[] for i in range(10000)]'; echo "$pid" >"$WORK/values/python"; }
	lsblk -dnro NAME,MOUNTPOINTS,TYPE | awk '$NF == "disk" { print $1 }' | grep -v zram | head -n 1 >"$WORK/values/disk"
}

examples_of() {	# PAGE
	need_root
	need man python3 jq
	# what the page before left
	stop_servers
	rm -rf "$WORK"
	mkdir "$WORK"
	make_short_tools
	make_programs
	start_needed "$1"
	local status=0
	run-examples "$WORK" "$1" >"$WORK/report" || status=$?
	cat "$WORK/report"
	grep '^#' "$WORK/report" >&3 || true
	return $status
}

# bats test_tags=full
@test "the one-liners of README" {
	examples_of README.md
}

# bats test_tags=full
@test "the examples of each man page, rendered: cpuprof" {
	examples_of cpuprof.8
}

# bats test_tags=full
@test "the examples of each man page, rendered: offcputime, offwaketime, wallprof" {
	for page in offcputime offwaketime wallprof; do
		examples_of $page.8
	done
}

# bats test_tags=full
@test "the examples of each man page, rendered: stackcount, funclat" {
	examples_of stackcount.8
	examples_of funclat.8
}

# bats test_tags=full
@test "the examples of each man page, rendered: biohist, mapupdlat, ehdump, flame, ehperf-json" {
	for page in biohist.8 mapupdlat.8 ehdump.8 flame.8 ehperf-json.5; do
		examples_of $page
	done
}

# bats test_tags=full
@test "each example of README and of the man pages is in examples.table" {
	need man python3
	local page
	for page in README.md $(grep -l '^\.SH EXAMPLES' "$ROOT"/man/man*/*); do
		run-examples --list "${page##*/}"
	done
}

# bats test_tags=full
@test "what --help has as an example of a time with a unit" {
	need_root
	local tool option value nr=0
	for tool in "$ROOT"/tools/*/; do
		tool=$(basename "$tool")
		while read -r option value; do
			echo "$tool $option=$value"
			case $tool in
			funclat) "$tool" -q "$option=$value" -p $$ u:libc:malloc 0.1 1 ;;
			biohist | mapupdlat) "$tool" -q "$option=$value" 0.1 1 ;;
			*) "$tool" -q "$option=$value" 0.1 ;;
			esac >/dev/null
			nr=$((nr + 1))
		done < <("$tool" --help | tr -s ' \n' ' ' | sed 's/ -/\n-/g' |
			sed -n 's/^\(--[a-z-]*\)=TIME [^:(]*[:(] *\([0-9][0-9]*[a-z]*\).*/\1 \2/p')
	done
	[ $nr -ge 5 ]	# -c, -m twice, --slow twice
}
