# SPDX-License-Identifier: GPL-2.0-or-later
# readelf -wNF -> what ehdump -r prints, "PC<tab>?" for an FDE for which readelf prints no row.
# -v registers="rbx rbp ..." names the columns after pc and cfa.

function finish() {
	if (in_fde && !rows)
		print pc "\t?"
	in_fde = 0
}
BEGIN {
	n = split(registers, column)
	line = "pc\tcfa"
	for (i = 1; i <= n; i++)
		line = line "\t" column[i]
	print line
}
/^Contents of the .*section:/ && !/eh_frame_hdr/ {
	finish()
}
/ (FDE|CIE|ZERO terminator)/ && /^[0-9a-f]+ / {
	finish()
	in_fde = / FDE /
	if (in_fde) {
		pc = $0
		sub(/.* pc=/, "", pc)
		sub(/\.\..*/, "", pc)
		rows = 0
	}
	next
}
in_fde && /^   LOC/ {
	delete at
	for (i = 3; i <= NF; i++)
		at[$i] = i
	next
}
in_fde && /^[0-9a-f]+ / {
	# a value in another register is "r2 (rcx)" for readelf
	while (match($0, /r[0-9]+ \([a-z0-9]+\)/)) {
		word = substr($0, RSTART, RLENGTH)
		sub(/.*\(/, "", word)
		sub(/\)/, "", word)
		$0 = substr($0, 1, RSTART - 1) word substr($0, RSTART + RLENGTH)
	}
	line = $1 "\t" $2
	for (i = 1; i <= n; i++)
		line = line "\t" (column[i] in at ? $at[column[i]] : "u")
	print line
	rows++
}
END { finish() }
