#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# bats file_tags=full

load lib.bash

# bcc's own picture of the numbers in $WORK/values
bcc_prints() {	# UNIT NS
	/usr/bin/python3 - "$WORK/values" "$@" <<-'EOF'
		import sys
		from bcc import table
		numbers = [int(line) for line in open(sys.argv[1])]
		rows = [0] * 65
		for n in numbers:
		    rows[max(1, (n // int(sys.argv[3])).bit_length())] += 1
		table._print_log2_hist(rows, sys.argv[2], False)
	EOF
}

need_bcc() {
	/usr/bin/python3 -c 'from bcc import table' 2>/dev/null || skip "needs python3-bpfcc"
}

@test "powers of two: exactly bcc's output, from the first row that is not empty" {
	need_bcc
	local unit limit
	for limit in 1 2 1000 100000 1000000000 60000000000 100000000000000000; do
		awk -v limit=$limit 'BEGIN { srand(limit); for (i = 0; i < 1000; i++) printf "%d\n", exp(rand() * log(limit)) }' >"$WORK/values"
		for unit in "nsecs 1" "usecs 1000" "msecs 1000000"; do
			bcc_prints $unit | awk 'NR == 1 || $5 { begun = NR > 1 } NR == 1 || begun' >"$WORK/theirs"
			histogram ${unit% *} <"$WORK/values" >"$WORK/ours"
			[ "$(wc -l <"$WORK/theirs")" -ge 2 ]
			diff "$WORK/theirs" "$WORK/ours"
		done
	done
}
