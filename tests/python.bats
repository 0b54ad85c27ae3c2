#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Python's functions in stacks, against what Python itself says of its stack.

load lib

# "COUNT function file line;…" of the sleeps in $WORK/out, root first, as sort prints them
slept_in() {
	jq -r 'select(.type == "stack") | select(any(.user[].symbol; . != null and test("nanosleep"))) |
		[.count, ([.user[] | select(.runtime == "python") | "\(.symbol) \(.source) \(.line)"] | reverse | join(";"))] | @tsv' \
		"$WORK/out" | gawk -F '\t' '{ n[$2] += $1 } END { for (k in n) print n[k], k }' | grep ';Worker.end ' | sort
}

logged() {
	sort "$WORK/log" | uniq -c | sed 's/^ *//' | sort
}

# a function that was made by compile() and thrown away before its name was read has none
without_made() {
	grep -vE '<made|null null null'
}

same_stacks() {	# PYTHON
	need "$1" jq gawk
	offcputime -q -j -o "$WORK/out" --state S -- "$1" "$ROOT/tests/workloads/chains.py" "$WORK/log" 500 2
	slept_in | without_made >"$WORK/got"
	logged | without_made >"$WORK/want"
	[ "$(wc -l <"$WORK/want")" -gt 200 ]
	# no stack that Python does not know, nor more often; one that was late for its timer has not slept
	gawk '
		{ n = $1; sub(/^[0-9]+ /, "") }
		FNR == NR { want[$0] = n; wanted += n; next }
		n > want[$0] { print n, want[$0] + 0, $0 }
		{ got += n }
		END { if (got < 0.97 * wanted) print "only", got, "of", wanted }' "$WORK/want" "$WORK/got" | cut -c 1-400 >"$WORK/wrong"
	cat "$WORK/wrong"
	[ ! -s "$WORK/wrong" ]
}

@test "python: functions, files and lines are Python's own, through C that calls Python back" {
	need_root
	same_stacks /usr/bin/python3
}

@test "python: a function that is thrown away has its name or none, and never another's" {
	need_root
	need python3 jq
	offcputime -q -j -o "$WORK/out" --state S -- /usr/bin/python3 "$ROOT/tests/workloads/chains.py" "$WORK/log" 300 2
	slept_in | tr ';' '\n' | grep -E '<made|^<module>|null' | sed 's/^[0-9]* //; s/ [^ ]*$//' | sort | uniq -c >"$WORK/made"
	cat "$WORK/made"
	# what exec() runs is called so, and nothing else is
	! grep -vE ' (<module> <made [0-9]+>|null null)$|<module> .*chains.py$' "$WORK/made"
}
