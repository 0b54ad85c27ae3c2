# SPDX-License-Identifier: GPL-2.0-or-later
# wallprof's JSON, all of it (jq -n -R-less: inputs): a line "TID FAULTS RUNNING WAITING BLOCKED LOST WALL" for each life of a
# thread; FAULTS: how often an interval does not begin where the one before ended
reduce (inputs | select(.type == "thread" or .type == "period")) as $o ([];
	if $o.type == "thread" then
		. + [{ tid: $o.tid, at: $o.from_ns, to: $o.to_ns, from: $o.from_ns, faults: 0, sum: {} }]
	else
		(length - 1) as $i |
		(if $o.from_ns != .[$i].at or $o.to_ns <= $o.from_ns or $o.tid != .[$i].tid then .[$i].faults += 1 else . end) |
		.[$i].at = $o.to_ns | .[$i].sum[$o.state] += $o.to_ns - $o.from_ns
	end) |
.[] | (if .at != .to then .faults += 1 else . end) |
"\(.tid) \(.faults) \(.sum.running // 0) \(.sum.waiting // 0) \(.sum.blocked // 0) \(.sum.lost // 0) \(.to - .from)"
