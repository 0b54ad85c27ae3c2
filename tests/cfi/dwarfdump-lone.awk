# SPDX-License-Identifier: GPL-2.0-or-later
# dwarfdump-lone.awk ROWS -: the rows (lines of ehdump -r) against llvm-dwarfdump --eh-frame's row of the
# same FDE. Prints the first difference and exits 1 if there is one, or if a row's FDE is not there.
# -v registers="rbx rbp ..." names the columns after pc and cfa.

function llvm_name(name) {
	if (name == "ra")
		return aarch64 ? "W30" : "RIP"
	if (name == "sp")
		return "WSP"
	if (name ~ /^x[0-9]+$/)
		return "W" substr(name, 2)
	return toupper(name)
}
function fail(what) {
	print what
	failed = 1
	exit 1
}
BEGIN {
	n = split(registers, column)
	aarch64 = registers ~ /x29/
}
FNR == NR {
	pc = $1
	sub(/^0*/, "", pc)
	expected[pc] = $0
	next
}
# only .eh_frame; a relocated copy of the text may have the same addresses elsewhere
/ FDE cie=/ {
	pc = $0
	sub(/.* pc=/, "", pc)
	sub(/\.\.\..*/, "", pc)
	sub(/^0*/, "", pc)
	next
}
/^  0x[0-9a-f]+: CFA=/ {
	if (!(pc in expected) || pc in seen)
		next
	at = $1
	sub(/^0x/, "", at)
	sub(/:$/, "", at)
	if (at != pc)
		next
	seen[pc] = 1
	split(expected[pc], ours, "\t")
	cfa = $2
	sub(/^CFA=/, "", cfa)
	sub(/:$/, "", cfa)
	match(ours[2], /[+-]/)
	mine = llvm_name(substr(ours[2], 1, RSTART - 1)) substr(ours[2], RSTART)
	sub(/\+0$/, "", mine)
	if (ours[2] != "exp" && cfa != mine)
		fail("llvm-dwarfdump: " $0 " | ehdump: " expected[pc])
	delete rule
	rest = $0
	sub(/^[^:]*: [^:]*:? ?/, "", rest)
	parts = split(rest, part, ", ")
	for (i = 1; i <= parts; i++) {
		split(part[i], pair, "=")
		rule[pair[1]] = pair[2]
	}
	for (i = 1; i <= n; i++) {
		name = llvm_name(column[i])
		theirs = name in rule ? rule[name] : "undefined"
		word = ours[i + 2]
		if (word == "u")
			word = "undefined"
		else if (word == "s")
			word = "same"
		else if (word ~ /^c/) {
			word = "[CFA" substr(word, 2) "]"
			sub(/\+0\]/, "]", word)
		}
		if (word != theirs && ours[i + 2] !~ /exp|^v/)
			fail("llvm-dwarfdump: " $0 " | ehdump: " expected[pc])
	}
}
END {
	if (!failed)
		for (pc in expected)
			if (!(pc in seen))
				fail("no row of llvm-dwarfdump for " expected[pc])
}
