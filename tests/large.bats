#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs whose tables take more memory than a worker has by default.
# bats file_tags=full

load lib

# $WORK/large: a Go program whose functions call each other, each chain in turn, for ever. A long module path makes .gopclntab
# and .symtab larger, as real ones do, and takes no time to compile.
make_go() {	# PACKAGES MODULE
	need go
	mkdir -p "$WORK/$1"
	(
		cd "$WORK/$1"
		printf 'module %s\n\ngo 1.18\n' "$2" >go.mod
		awk -v packages="$1" -v module="$2" 'BEGIN {
			print "package main\nimport (" >"main.go"
			for (p = 0; p < packages; p++) {
				system("mkdir -p p" p)
				f = "p" p "/p.go"
				print "package p" p "\nimport \"fmt\"" >f
				for (i = 0; i < 1200; i++) {
					printf "//go:noinline\nfunc F%d(n int, s []int) int {\n\tt := 0\n", i >f
					printf "\tfor i := range s { t += s[i] * (i ^ %d) }\n", i >f
					printf "\tif n == %d && len(s) > 1000 { fmt.Println(n, t, s[n %% 7], len(s)) }\n", i >f
					print i % 20 ? "\treturn F" i - 1 "(n + 1, s) + t\n}" : "\treturn t\n}" >f
				}
				print "var All = []func(int, []int) int{" >f
				for (i = 0; i < 1200; i++) print "\tF" i "," >f
				print "}" >f
				close(f)
				print "\t\"" module "/p" p "\"" >"main.go"
			}
			print ")\nfunc main() {\n\ts := make([]int, 500)\n\tt := 0\n\tfor {" >"main.go"
			for (p = 0; p < packages; p++) print "\t\tfor i, f := range p" p ".All { t += f(i, s) }" >"main.go"
			print "\t}\n}" >"main.go"
		}'
		HOME=$WORK GOCACHE=$WORK/cache go build -o "$WORK/large" .
	)
}

is_whole() {	# PROGRAM
	echo "# ${1##*/}: $(($(stat -c %s "$1") / 1000000)) MB" >&3
	background "$1"
	measure_while_it_runs 1000 cpuprof -F 499 -p "$pid" -j
	kill "$pid"
	cat "$WORK/err"
	expect "$(summary .samples) > 200 && $(summary .ended.complete) >= 0.99 * $(summary .samples)"
	expect "$(summary .named) >= 0.99 * $(summary .frames)"
}

@test "Go: programs of 10, 40 and 200 MB have whole stacks, stripped and not" {
	need_root
	need jq strip
	local long
	long=$(printf 'departments/of/large/programs/%.0s' {1..50})large
	make_go 10 large
	strip -o "$WORK/stripped" "$WORK/large"
	is_whole "$WORK/large"
	is_whole "$WORK/stripped"
	make_go 40 large	# finds 10 of them in the cache
	strip -o "$WORK/stripped" "$WORK/large"
	is_whole "$WORK/large"
	is_whole "$WORK/stripped"
	make_go 40 "$long"
	strip -o "$WORK/stripped" "$WORK/large"
	expect "$(stat -c %s "$WORK/large") > 150e6"
	is_whole "$WORK/large"
	is_whole "$WORK/stripped"
}
