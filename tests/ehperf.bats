#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What is about all tools: the one command beside them, and what their pages share.
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

# "OPTION PAGE TAG TEXT", divided by tabs, of each option that the pages describe; TEXT is one line, without the tool's own name
options_of_pages() {
	local page
	for page in "$ROOT"/man/man8/*.8; do
		sed -n '/^\.SH OPTIONS/,$ { /^\.SH [^O]/q; p }' "$page" | awk -v page="$(basename "$page" .8)" -v OFS='\t' '
			function put() { if (option != "") print option, page, tag, text; option = text = "" }
			/^\.(TP|SS|PP|SH)/ { put(); of_tag = /^\.TP/; next }
			of_tag { tag = $0; of_tag = 0; gsub(/\\-/, "-"); gsub(/\\f./, ""); if (match($0, /--[a-z-]+/)) option = substr($0, RSTART, RLENGTH); next }
			{ gsub(page, "TOOL"); text = text " " $0 }
			END { put() }'
	done
}

@test "what several tools' pages say of an option begins alike, unless the tools differ in it" {
	local differ='--count|--cpu|--folded|--frequency|--idle|--json|--list|--max-report|--max-stacks|--max-time|--min-time|--output|--quiet|--slow|--state|--top|--user-stacks|--verbose'
	options_of_pages | sort >"$WORK/options"
	[ "$(cut -f 1 "$WORK/options" | uniq -d | wc -l)" -ge 30 ]
	# the shortest text is the beginning of each other, with the same tag
	awk -F '\t' '
		{ n[$1]++; page[$1, n[$1]] = $2; text[$1, n[$1]] = $3 $4 }
		!($1 in least) || length(text[$1, n[$1]]) < length(least[$1]) { least[$1] = text[$1, n[$1]] }
		END {
			for (o in n) for (i = 1; i <= n[o]; i++)
				if (index(text[o, i], least[o]) != 1) print o, page[o, i]
		}' "$WORK/options" | sort >"$WORK/unlike"
	diff <(grep -vE -- "^($differ) " "$WORK/unlike") /dev/null
	diff <(tr '|' '\n' <<<"$differ") <(cut -d ' ' -f 1 "$WORK/unlike" | uniq)
}

# "TOOL OPTION ARGUMENT LINE", divided by tabs, of each option in --help
options_of_help() {
	local tool
	for tool in $(cd "$ROOT/tools" && ls -d */ | tr -d /); do
		"$tool" --help | sed -nE "s/^ +(-.*, )?(--[a-z-]+)(=[^ ]+)? +(.*)$/$tool\t\2\t\3\t\4/p"
	done
}

@test "an option's argument and its default in --help are those of the page" {
	options_of_help >"$WORK/help"
	[ "$(wc -l <"$WORK/help")" -ge 200 ]
	options_of_pages | awk -F '\t' -v OFS='\t' '
		NR == FNR { text = $3 $4; gsub(/\\f./, "", text); gsub(/\\-/, "-", text); gsub(/[", ]/, "", text); of[$2, $1] = text; next }
		{
			# what a page leaves to another tool'"'"'s
			text = of[$1, $2]
			if (text == "") text = of["cpuprof", $2]
			if (text == "") text = of["mapupdlat", $2]
			argument = $3
			sub(/[[,].*/, "", argument)
			if (text == "" || index(text, argument) == 0) print $1, $2, $3, text
			while (match($4, /(default|most) [0-9]+|[0-9]+ each/)) {
				figure = substr($4, RSTART, RLENGTH)
				$4 = substr($4, RSTART + RLENGTH)
				gsub(/[^0-9]/, "", figure)
				if (text !~ "(^|[^0-9])" figure "([^0-9]|$)") print $1, $2, figure, text
			}
		}' - "$WORK/help" | diff - /dev/null
}

# bats test_tags=full
@test "-o: the endings that a page names are those that the tool takes" {
	local tool
	for tool in cpuprof offcputime offwaketime wallprof 'stackcount page-faults' mapupdlat; do
		run $tool -o "$WORK/x.foo" 1
		[ "$status" -eq 2 ]
		diff <(grep -oE '\.[a-z]+(\.gz)?' <<<"${output%:*}" | sort) \
			<(options_of_pages | awk -F '\t' -v p="${tool%% *}" '$1 == "--output" && $2 == p' | grep -oE '[( &.]\.[a-z]+(\.gz)?' | grep -oE '\.[a-z.]+' | sort -u)
	done
}
