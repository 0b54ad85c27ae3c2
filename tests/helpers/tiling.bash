# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of wallprof's timelines: each life must be tiled by its intervals, without a gap; and its page must be so in a browser.

measure() {	# ARG...: wallprof's
	local before
	before=$(cpu_seconds steal)
	wallprof -q -o "$WORK/out.jsonl" "$@" >"$WORK/command.out" 2>"$WORK/err" || return
	mv "$WORK/out.jsonl" "$WORK/out"
	stolen_ns=$(awk "BEGIN { printf \"%d\", ($(cpu_seconds steal) - $before) * 1e9 }")
}

# tiling.jq's line for each life in FILE, in $WORK/tiles; every one must be tiled, and its parts add up to it
tiled() {	# at least this many lives [FILE]
	jq -n -r -f "$BATS_TEST_DIRNAME/helpers/tiling.jq" "${2-$WORK/out}" >"$WORK/tiles"
	awk -v least="$1" '$2 != 0 || $3 + $4 + $5 + $6 != $7 { print "not tiled:", $0; bad++ }
		END { print "# " NR " lives tiled"; exit bad || NR < least }' "$WORK/tiles"
}

# "TID … NS" on standard input: each ran as long as that in tiled lives, within 1 % and a start's or an end's worth. While the
# hypervisor ran others, the scheduler's figure stood still: all threads together may have that much more, and
# a tick of 10 ms, in which the kernel counts it. Where it has counted none, that tick is half of the threads' at most.
ran_as_scheduled() {	# NS that may come after the scheduler's figure was read
	awk -v late="$1" -v stolen="$stolen_ns" 'NR == FNR { mine[$1] += $3; next } NF {
			n++
			printf "# %d ran %d ns, %d by the scheduler\n", $1, mine[$1], $NF
			above = mine[$1] - 1.01 * $NF - 400000 - late
			if (above > 0) { more++; sum += above }
			if (mine[$1] < 0.99 * $NF - 50000) bad++
		} END { exit bad || sum > stolen + 10000000 || !stolen && more > n / 2 || !n }' "$WORK/tiles" - >&3
}

# opens the page, waits until it is drawn and summed up, and does the steps
look_at() {	# PAGE STEP...
	local page=$1
	shift
	browse "$page" eval 'new Promise(done => { const wait = setInterval(() => {
		if (document.body.dataset.summed) { clearInterval(wait); done(true); } }, 5); })' "$@"
}
