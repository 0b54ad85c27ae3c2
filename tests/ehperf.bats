#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The one command beside the tools.
# bats file_tags=check

load lib.bash

# "question" and below it "    tool", as ehperf(7) has them: of a tag, and of the first tool that its text names
questions_of_page() {
	sed -n '/^\.SS Which question/,/^\.SS /p' "$ROOT/man/man7/ehperf.7" | sed 's/\\-/-/g' | awk '
		/^\.TP/ { getline question; next }
		question && /^\.(B|BR) [a-z]+( \(8\)| -|$)/ {
			sub(/^\.BR? /, ""); sub(/ \(8\).*/, "")
			if ($1 == "ehdump") $0 = $1
			print question; print "    " $0; question = ""
		}'
}

@test "ehperf lists the tools with ehperf(7)'s questions, and every tool" {
	ehperf >"$WORK/out"
	[ "$(awk '{ print length }' "$WORK/out" | sort -n | tail -n 1)" -le 80 ]
	# a tool that the list does not know stands at its end, without a question
	diff <(questions_of_page) <(tail -n +3 "$WORK/out" | awk '/^[^ ]/ { question = $0; next } question { print question; print; question = "" }')
	diff <(cd "$ROOT/tools" && ls -d */ | tr -d /) <(sed -nE 's/^    ([a-z]+).*/\1/p' "$WORK/out" | sort -u)
	ehperf --help | diff - "$WORK/out"
	ehperf help | diff - "$WORK/out"
}

@test "ehperf TOOL is the tool: its output, its name in messages, its exit status; through a link, too" {
	ln -s "$ROOT/build/ehperf" "$WORK/front"
	[ "$(printf 'a b;c 1\n' | "$WORK/front" flame --title 'x  y' | grep -c 'x  y')" -ge 1 ]
	diff <(ehperf help cpuprof) <(cpuprof --help)
	diff <(ehperf cpuprof --help) <(cpuprof --help)
	run ehperf cpuprof -F foo
	[[ "$status $output" == "2 cpuprof: "* ]]
	need_root
	run ehperf cpuprof -q -f -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
}

@test "a tool of one's own is listed; what is no tool is not run" {
	local name
	mkdir -p "$WORK/sbin" "$WORK/libexec/ehperf"
	cp "$ROOT/build/ehperf" "$WORK/sbin"
	printf '#!/bin/sh\necho "$@"\n' | tee "$WORK/libexec/ehperf/flam" >"$WORK/libexec/other"
	chmod +x "$WORK/libexec/ehperf/flam" "$WORK/libexec/other"
	touch "$WORK/libexec/ehperf/README"
	[ "$(cd / && PATH=$WORK/sbin:$PATH ehperf | tail -n 2 | xargs)" = "flame flam" ]
	[ "$("$WORK/sbin/ehperf" flam a 'b  c')" = "a b  c" ]
	for name in ../other ./flam README . .. -x flame; do
		run "$WORK/sbin/ehperf" "$name"
		[[ "$status $output" == "2 ehperf: there is no tool '$name'"* ]]
	done
}
