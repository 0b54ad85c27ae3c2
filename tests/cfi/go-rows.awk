# SPDX-License-Identifier: GPL-2.0-or-later
# mawk -v symbols=FILE -f go-rows.awk TABLE EXACT: the CFA and return address of ehdump -r's rows, of the .debug_frame
# that Go's linker has written, against ehdump -t's, of .gopclntab, at the start of each exact row. Prints
# "ROWS rows, DIFFERENT different", and for each function with differences a line with its name; symbols: nm -n.
# an x before a number makes it a string
function at(pc,	low, high, middle) {
	low = 1; high = n
	while (low < high) {
		middle = int((low + high + 1) / 2)
		if (start[middle] <= pc)
			low = middle
		else
			high = middle - 1
	}
	return low
}
function name_of(pc,	low, high, middle) {
	low = 1; high = s
	while (low < high) {
		middle = int((low + high + 1) / 2)
		if (address[middle] <= pc)
			low = middle
		else
			high = middle - 1
	}
	return name[low]
}
BEGIN {
	while ((getline <symbols) > 0)
		if ($2 ~ /^[tT]$/) {
			address[++s] = "x" $1
			name[s] = $3
		}
	FS = "\t"
}
FNR == 1 {
	file++
	for (i = 1; i <= NF; i++)
		if ($i == "ra")
			ra = i
	next
}
file == 1 { start[++n] = "x" $1; rule[n] = $2 " " $ra; next }
{
	rows++
	if (rule[at("x" $1)] != $2 " " $ra) {
		different++
		names[name_of("x" $1)]++
	}
}
END {
	printf "%d rows, %d different\n", rows, different
	for (i in names)
		print i
}
