#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load lib.bash

compare() {
	"$BATS_TEST_DIRNAME/cfi/compare" "$@"
}

# ---- exact ----

# those of the sample's files that this Debian has
sample() {
	local pattern
	while read -r pattern; do
		compgen -G "$pattern" || :
	done <"$BATS_TEST_DIRNAME/cfi/sample" | sample_of_size
}

# bats test_tags=check
@test "-r equals readelf and llvm-dwarfdump, row by row, for files of a sample" {
	need readelf llvm-dwarfdump mawk
	run compare $(sample)
	echo "$output"
	[ "$status" -eq 0 ]
	read -r n _ rows _ lone _ <<<"${lines[-1]}"
	expect "$n == $(sample | wc -l) && $rows > 2000 * $n && $lone > 0"
	[ "$SIZE" != full ] || expect "$n >= 90 && $rows > 1000000 && $lone > 10000"
}

# bats test_tags=full
@test "aarch64: -r equals aarch64-linux-gnu-readelf" {
	need aarch64-linux-gnu-readelf llvm-dwarfdump
	"$BATS_TEST_DIRNAME/fetch-arm64" "$ROOT/build/arm64/files" coreutils bash libstdc++6 libssl3 perl-base ||
		skip "Debian's arm64 packages cannot be downloaded"
	READELF=aarch64-linux-gnu-readelf run compare $(find "$ROOT/build/arm64/files" -type f \( -name '*.so*' -o -path '*/bin/*' \))
	echo "$output"
	[ "$status" -eq 0 ]
	read -r n _ rows _ <<<"${lines[-1]}"
	expect "$n >= 20 && $rows > 20000"
}

@test "every encoding, 64-bit entries, unsorted, overlapping, duplicate and empty FDEs, a terminator in the middle" {
	need gcc ld readelf
	gcc -c -o "$WORK/odd.o" "$BATS_TEST_DIRNAME/cfi/odd.S"
	ld -o "$WORK/odd" -Ttext=0x1000 "$WORK/odd.o" 2>/dev/null
	compare "$WORK/odd"
	gcc -c -DODDER -o "$WORK/odd.o" "$BATS_TEST_DIRNAME/cfi/odd.S"
	ld -o "$WORK/odder" -Ttext=0x1000 "$WORK/odd.o" 2>/dev/null
	ehdump -r "$WORK/odder" >"$WORK/rows"
	# as written in odd.S: the FDE's address, and the CFA one byte after it
	local i=0 pc
	for pc in 1100 1110 1120 1130 1140 1150 1160 1170 1180 1190 11a0 11b0; do
		grep -qP "^0*$pc\trsp\+8\t" "$WORK/rows"
		grep -qP "^0*${pc%?}1\trsp\+$((16 + 8 * i))\t" "$WORK/rows"
		i=$((i + 1))
	done
	grep -qP "^0*1201\trsp\+48\t" "$WORK/rows"
	ehdump "$WORK/odder" | grep -q 'skipped: 1 FDEs of no bytes'
	# of two with one start, the first applies; where two overlap, the later start; nothing after its end
	cfa_at() { ehdump -a "$1" "$WORK/odder" | sed -n 's/^rule: *cfa=\([^ ]*\).*/\1/p'; }
	[ "$(cfa_at 0x1021)" = rsp+16 ]
	[ "$(cfa_at 0x1031)" = rsp+32 ]
	[ "$(cfa_at 0x106f)" = rsp+32 ]
	[ "$(cfa_at 0x1205)" = rsp+48 ]
	run ehdump -a 0x1300 "$WORK/odder"
	[ "$status" -eq 1 ]
}

@test ".debug_frame, compressed too, where there is no .eh_frame" {
	need gcc objcopy readelf
	echo 'int f(int x) { volatile char b[x * 16 + 1]; b[0] = x; return b[x] + x; } int main(int c, char **v) { return f(c); }' >"$WORK/a.c"
	gcc -O2 -g -fno-asynchronous-unwind-tables -fno-exceptions -o "$WORK/a" "$WORK/a.c"
	objcopy -R .eh_frame -R .eh_frame_hdr "$WORK/a" "$WORK/plain"
	compare "$WORK/plain"
	[ "$(ehdump -r "$WORK/plain" | wc -l)" -gt 5 ]
	ehdump "$WORK/plain" | grep -q '^  .debug_frame:'
	local how
	for how in zlib-gabi zlib-gnu; do
		objcopy --compress-debug-sections=$how "$WORK/plain" "$WORK/$how"
		readelf -SW "$WORK/$how" | grep -qE 'debug_frame.* C |zdebug_frame' 
		diff <(ehdump -r "$WORK/plain") <(ehdump -r "$WORK/$how")
	done
}

@test ".debug_frame beside .eh_frame: the FDEs of both, .eh_frame's first" {
	need gcc objcopy readelf
	echo 'int f(int x) { volatile char b[x * 16 + 1]; b[0] = x; return b[x] + x; } int main(int c, char **v) { return f(c); }' >"$WORK/a.c"
	gcc -O2 -g -fno-asynchronous-unwind-tables -fno-exceptions -o "$WORK/a" "$WORK/a.c"
	compare "$WORK/a"
	ehdump -a "0x$(nm "$WORK/a" | awk '$3 == "f" { print $1 }')" "$WORK/a" | grep -q '^FDE: .* of .debug_frame, '
	objcopy --compress-debug-sections=zlib "$WORK/a" "$WORK/zlib"
	diff <(ehdump -R "$WORK/a") <(ehdump -R "$WORK/zlib")
	# one FDE for all of both, one for the second half of `both`, one for `debug`, one around `inner`
	cat >"$WORK/two.s" <<-'EOF'
		.macro frame_fde from, to
			.long 1f - 0f
		0:	.long cie
			.quad \from, \to - \from
			.balign 8, 0
		1:
		.endm
		.globl _start
		_start: hlt
		both: .cfi_startproc
			.fill 32, 1, 0x90
			.cfi_endproc
		debug: .fill 32, 1, 0x90
		outer: .fill 16, 1, 0x90
		inner: .cfi_startproc
			.fill 16, 1, 0x90
			.cfi_endproc
		end:	hlt
		.section .debug_frame
		cie: .long 1f - 0f
		0:	.long -1
			.byte 1, 0, 1, 0x78, 16, 0x0c, 7, 64, 0x90, 1	/* cfa=rsp+64 ra=c-8 */
			.balign 8, 0
		1:	frame_fde both, debug
			frame_fde both + 16, debug
			frame_fde debug, outer
			frame_fde outer, end
	EOF
	gcc -nostdlib -static -o "$WORK/two" "$WORK/two.s"
	compare "$WORK/two"
	cfa() { ehdump -a "$(printf '0x%x' $((0x$(nm "$WORK/two" | awk -v name="$1" '$3 == name { print $1 }') + $2)))" "$WORK/two" | sed -n 's/^rule: *cfa=\([^ ]*\).*/\1/p'; }
	[ "$(cfa both 0) $(cfa both 31)" = "rsp+8 rsp+8" ]
	[ "$(cfa debug 0) $(cfa debug 31)" = "rsp+64 rsp+64" ]
	[ "$(cfa outer 0) $(cfa outer 15)" = "rsp+64 rsp+64" ]
	[ "$(cfa inner 0) $(cfa inner 15)" = "rsp+8 rsp+8" ]
}

# bats test_tags=check
@test "no section headers: the same rows through PT_GNU_EH_FRAME" {
	local f
	for f in /usr/bin/xz "$(realpath /usr/bin/python3)" "$LIBC"; do
		cp "$f" "$WORK/x"
		# e_shoff, e_shnum and e_shstrndx
		printf '\0\0\0\0\0\0\0\0' | dd of="$WORK/x" bs=1 seek=40 conv=notrunc status=none
		printf '\0\0\0\0' | dd of="$WORK/x" bs=1 seek=60 conv=notrunc status=none
		cmp <(ehdump -r "$f") <(ehdump -r "$WORK/x")
		ehdump "$WORK/x" | grep -q PT_GNU_EH_FRAME
	done
}

@test "a section of type SHT_X86_64_UNWIND" {
	cp /usr/bin/xz "$WORK/x"
	local number headers
	number=$(readelf -SW "$WORK/x" | sed -n 's/^ *\[ *\([0-9]*\)\] \.eh_frame .*/\1/p')
	headers=$(readelf -hW "$WORK/x" | awk '/Start of section headers/ { print $5 }')
	printf '\x01\x00\x00\x70' | dd of="$WORK/x" bs=1 seek=$((headers + number * 64 + 4)) conv=notrunc status=none
	readelf -SW "$WORK/x" | grep -qE '\.eh_frame +X86_64_UNWIND'
	cmp <(ehdump -r /usr/bin/xz) <(ehdump -r "$WORK/x")
}

# ---- what is not supported, and bad input ----

# bats test_tags=check
@test "object files, i386, garbage, empty files: one clear line, exit 1" {
	echo 'int f(int x) { return x + 1; }' >"$WORK/a.c"
	gcc -c -o "$WORK/a.o" "$WORK/a.c"
	printf '.globl _start\n_start: ret\n' | as --32 -o "$WORK/32.o"
	ld -m elf_i386 -o "$WORK/32" "$WORK/32.o"
	head -c 100 /usr/bin/xz >"$WORK/short"
	echo text >"$WORK/text"
	: >"$WORK/empty"
	while IFS='|' read -r file pattern; do
		run ehdump "$WORK/$file"
		echo "$file: $output"
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" =~ $pattern ]]
	done <<-'EOF'
		a.o|not supported
		32|not supported
		short|ELF|outside
		text|not an ELF file
		empty|not an ELF file
		missing|No such file or directory
		.|directory|not an ELF file|Is a dir
	EOF
	# a process that has ended, and of which its parent does not want to know; a thread of the kernel's maps nothing either
	background perl -e 'fork or exit; sleep 60'
	wait_until grep -q . "/proc/$pid/task/$pid/children"
	local ended
	ended=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
	wait_until grep -q ' Z ' "/proc/$ended/stat"
	run ehdump "$ended"
	[ "$status" -eq 1 ]
	[ "$output" = "ehdump: '$ended': the process has no code mapped" ]
	run ehdump 4194305
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	run ehdump
	[ "$status" -eq 2 ]
	run ehdump -a foo /usr/bin/xz
	[ "$status" -eq 2 ]
	run ehdump -r -j /usr/bin/xz
	[ "$status" -eq 2 ]
}

# bats test_tags=check
@test "a corrupt .eh_frame: what is skipped is counted, with the reason" {
	cp /usr/bin/xz "$WORK/x"
	local offset size
	read -r offset size < <(readelf -SW "$WORK/x" | gawk --non-decimal-data '{ sub(/^ *\[ *[0-9]+\] */, "") } $1 == ".eh_frame" { print strtonum("0x" $4), strtonum("0x" $5) }')
	printf '\xff\xff\xff\x0f' | dd of="$WORK/x" bs=1 seek=$((offset + 0x88)) conv=notrunc status=none
	run ehdump "$WORK/x"
	[ "$status" -eq 0 ]
	[[ "$output" == *"skipped: 1 entries longer than the section"* ]]
}

# bats test_tags=full
@test "a section that decompresses to hundreds of megabytes is refused" {
	need gcc objcopy
	echo 'int main(void) { return 0; }' >"$WORK/a.c"
	gcc -o "$WORK/a" "$WORK/a.c"
	# 300 MB of zeroes in a .debug_frame of 300 KB
	truncate -s 300M "$WORK/zeroes"
	objcopy -R .eh_frame -R .eh_frame_hdr --add-section .debug_frame="$WORK/zeroes" "$WORK/a" "$WORK/plain"
	objcopy --compress-debug-sections=zlib-gabi "$WORK/plain" "$WORK/bomb"
	expect "$(stat -c %s "$WORK/bomb") < 1000000"
	run bash -c "ulimit -v 200000; exec ehdump '$WORK/bomb'"
	[ "$status" -eq 1 ]
	[ "$output" = "ehdump: '$WORK/bomb': a section of it is larger than any real one" ]
}

# ---- lookups in the kernel ----

# bats test_tags=check
@test "--check: the kernel finds the right rule for every row and gap of a sample of files, cc1 and a process" {
	need_root
	need jq
	ehdump --check -j $(sample) "$(gcc -print-prog-name=cc1)" >"$WORK/out"
	expect "$(jq 'select(.type == "total").lookups' "$WORK/out") > 500000"
	expect "$(jq 'select(.type == "total").differences' "$WORK/out") == 0"
	background nested hold
	wait_until grep -q ready "$WORK/background.out"
	ehdump --check -j "$pid" >"$WORK/out"
	jq -r 'select(.type == "file").path' "$WORK/out" | grep -q '^\[vdso\]$'
	expect "$(jq 'select(.type == "total").differences' "$WORK/out") == 0"
}

# bats test_tags=full
@test "more rules than 12 bits number, and more rows than a slab holds" {
	need_root
	need gcc
	# 9,000 different rules, some of them met again far away; 1.6 million rows, 4.8 MB
	{
		printf '.text\n.globl _start\n_start:\n.cfi_startproc\n'
		seq 9000 | sed 's/.*/nop\n.cfi_def_cfa_offset &0/'
		seq 9000 | sed -n '1~3s/.*/nop\n.cfi_def_cfa_offset &0/p'
		printf '.cfi_endproc\n.cfi_startproc\n.rept 800000\nnop\n.cfi_def_cfa_offset 16\nnop\n.cfi_def_cfa_offset 24\n.endr\n.cfi_endproc\n'
	} >"$WORK/a.s"
	gcc -nostdlib -static -o "$WORK/a" "$WORK/a.s"
	[ "$SIZE" != full ] || compare "$WORK/a"
	ehdump --check -j "$WORK/a" >"$WORK/out"
	expect "$(jq 'select(.type == "file").rules' "$WORK/out") > 9000"
	expect "$(jq 'select(.type == "file").table_bytes' "$WORK/out") > 4194304"
	expect "$(jq 'select(.type == "file").lookups' "$WORK/out") > 3200000"
	expect "$(jq 'select(.type == "file").differences' "$WORK/out") == 0"
}

@test "--check sees a difference" {
	need_root
	run wrong-table /usr/bin/xz
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"differs"* ]]
	bpf-wrong-table "$ROOT/build/tools/ehdump/ehdump.bpf.o" /usr/bin/xz
	# and its status says so: of a kernel that finds nothing
	need gcc
	echo 'int bpf_prog_test_run_opts(int fd, void *opts) { return 0; }' | gcc -shared -fPIC -o "$WORK/finds-nothing.so" -xc -
	run env LD_PRELOAD="$WORK/finds-nothing.so" "$ROOT/build/ehdump" --check /usr/bin/xz
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"differs at file offset"* ]]
}

@test "the BPF program takes at most 15,000 instructions to verify" {
	need_root
	ehdump -v --check /usr/bin/xz 2>&1 | awk '/instructions verified/ { n++; bad += $3 < 1 || $3 > 15000 } END { exit bad || !n }'
}

# ---- compact ----

@test "at most 4.0 bytes a row over large files together, each of them whole" {
	need jq
	local large
	large=$(SIZE=full sample | grep -E '/(libLLVM|python3)')
	[ "$(wc -l <<<"$large")" -ge 2 ]
	ehdump -j $large "$LIBC" /usr/lib/x86_64-linux-gnu/lib{stdc++.so.6,crypto.so.3} /usr/bin/git $(type -P node) >"$WORK/out"
	echo "# $(jq -r 'select(.type == "total") | "\(.bytes_per_row) bytes a row"' "$WORK/out")" >&3
	expect "$(jq 'select(.type == "total").bytes_per_row' "$WORK/out") <= 4.0"
	expect "$(jq 'select(.type == "total").skipped' "$WORK/out") == 0"
	# the rows that are counted are the rows that -r prints
	[ "$(jq 'select(.path == "/usr/bin/git").rows' "$WORK/out")" -eq "$(($(ehdump -r /usr/bin/git | wc -l) - 1))" ]
}

# ---- output ----

@test "-t has the same CFAs as -r" {
	# at each exact row's pc, the rule in force has the same CFA
	join -t $'\t' <(ehdump -r /usr/bin/xz | tail -n +2 | cut -f 1,2 | sort -u) <(ehdump -t /usr/bin/xz | tail -n +2 | cut -f 1,2 | sort) |
		awk -F '\t' '{ n++ } $2 != "exp" && $2 != $3 { print; bad = 1 } END { exit bad || n < 900 }'
}

@test "-a: the FDE, the row, the rule and the symbol" {
	ehdump -a "0x$(readelf -W --dyn-syms "$LIBC" | awk '$8 ~ /^qsort@/ { print $2; exit }')" "$LIBC" >"$WORK/out"
	cat "$WORK/out"
	grep -q '^symbol: .*qsort' "$WORK/out"
	grep -qE '^FDE: +at 0x[0-9a-f]+ of .eh_frame, 0x' "$WORK/out"
	grep -qE '^row: .* cfa=rsp\+8 .*ra=c-8' "$WORK/out"
	grep -qE '^rule: .*cfa=rsp\+8 .*ra=c-8' "$WORK/out"
	grep -q '^from: *the FDE$' "$WORK/out"
}

# bats test_tags=full
@test "-a: whose rule it is: the FDE's, known code's before the FDE, Go's table's" {
	need go nm
	local id
	id=$(readelf -n "$LIBC" | awk '/Build ID/ { print $3 }')
	ehdump -a "0x$(nm "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" | awk '$3 == "__start_context" { print $1 }')" "$LIBC" >"$WORK/out"
	cat "$WORK/out"
	grep -q '^FDE: ' "$WORK/out"
	grep -q '^from: *known code, used instead of CFI$' "$WORK/out"
	CGO_ENABLED=0 go build -o "$WORK/go" "$BATS_TEST_DIRNAME/workloads/gonet.go"
	ehdump -a "0x$(nm "$WORK/go" | awk '$3 == "main.main" { print $1 }')" "$WORK/go" | grep -q "^from: *Go's table of functions$"
}

@test "-a: what applies where no FDE covers the address" {
	need musl-gcc nm
	musl-gcc -static -O2 -fno-asynchronous-unwind-tables -o "$WORK/musl" "$ROOT/tests/workloads/nested.c"
	address_of() { printf '0x%x' $((0x$(nm "$WORK/musl" | awk -v name="$1" '$3 == name { print $1 }') + $2)); }
	ehdump -a "$(address_of _start 0)" "$WORK/musl" | grep -q '^entry: '
	ehdump -a "$(address_of strcmp 0)" "$WORK/musl" >"$WORK/out"
	grep -qE '^code: +cfa=rsp\+8 .*ra=c-8' "$WORK/out"
	grep -q '^from: *the instructions$' "$WORK/out"
	# where a new thread begins
	objdump -d --disassemble=__clone "$WORK/musl" | awk '/xor +%ebp,%ebp/ { sub(":", "", $1); print $1; exit }' >"$WORK/begin"
	ehdump -a "0x$(cat "$WORK/begin")" "$WORK/musl" | grep -q '^from: *known code$'
	# behind a system call that does not return
	ehdump -a "$(address_of _Exit 10)" "$WORK/musl" | grep -qE '^code: +cfa=rsp\+8 '
	# behind glibc's entry code
	echo 'int other(int n) { return n + 1; } int main(void) { return other(1); }' >"$WORK/a.c"
	gcc -o "$WORK/a" "$WORK/a.c"
	local start other
	start=0x$(nm "$WORK/a" | awk '$3 == "_start" { print $1 }') other=0x$(nm "$WORK/a" | awk '$3 == "other" { print $1 }')
	objcopy -R .eh_frame -R .eh_frame_hdr "$WORK/a"
	ehdump -a "$start" "$WORK/a" | grep -q '^entry: '
	ehdump -a "$other" "$WORK/a" >"$WORK/out"
	grep -qE '^code: +cfa=rsp\+8 .*ra=c-8' "$WORK/out"
	refute grep -q '^entry' "$WORK/out"
	# one segment for code and for what looks like returns that pop arguments, of which no rule can be relied upon
	printf '.section .note.returns, "a"\n.fill 400, 1, 0xc2\n.text\n.globl _start\nplain: push %%rbx\npop %%rbx\nret\n_start: hlt\n' >"$WORK/one.s"
	gcc -nostdlib -static -Wl,-z,noseparate-code -o "$WORK/one" "$WORK/one.s"
	[ "$(readelf -lW "$WORK/one" | grep -c LOAD)" -eq 1 ]
	ehdump -a "0x$(nm "$WORK/one" | awk '$3 == "plain" { print $1 }')" "$WORK/one" | grep -qE '^code: +cfa=rsp\+8 '
	# frames of 16 and of 8 bytes meet
	printf '.globl odd, _start\nodd: test %%edi, %%edi\njz 1f\npush %%rbx\n1: nop\nret\n.fill 64, 1, 0x90\n_start: hlt\n' >"$WORK/odd.s"
	gcc -nostdlib -static -o "$WORK/odd" "$WORK/odd.s"
	run ehdump -a "0x$(nm "$WORK/odd" | awk '$3 == "odd" { print $1 }')" "$WORK/odd"
	[ "$status" -eq 1 ]
	[[ "$output" == *"code:   none: no path"* ]]
}

@test "-R, -j, --recursive, several files and a total" {
	[ "$(ehdump -R /usr/bin/xz | head -n 1 | cut -f 1,2)" = $'pc\tcfa' ]
	mkdir -p "$WORK/d/e"
	cp /usr/bin/xz "$WORK/d/e"
	cp /usr/bin/git "$WORK/d"
	echo text >"$WORK/d/text"
	ehdump --recursive "$WORK/d" | grep -q '^total: 2 files'
	ln -s d "$WORK/link"
	ehdump --recursive "$WORK/link" | grep -q '^total: 2 files'
	ehdump -j /usr/bin/xz /usr/bin/git >"$WORK/out"
	valid_json
	ehdump -j /usr/bin/xz /usr/bin/git | jq -es 'map(.type) == ["start", "file", "file", "total"] and (.[1].rows + .[2].rows == .[3].rows)'
}

# bats test_tags=check
@test "the man page, --help and the parser agree on the options" {
	options_agree ehdump
}

# bats test_tags=full
@test "Go: .gopclntab says what .debug_frame says, but for functions that change stacks or have no caller" {
	need go nm mawk
	local sources=$BATS_TEST_DIRNAME/workloads program rows odd
	odd='^(_rt0_amd64(_linux)?|runtime\.(rt0_go|goexit|mcall|systemstack|morestack|asmcgocall|cgocallback|clone)(\.abi0)?'
	odd+='|runtime\.(nanotime1|sigfwd|sigreturn(__sigaction)?|switchToCrashStack0|cgoSigtramp|callCgo[A-Z][a-z]+)(\.abi0)?|time\.now|gogo|(runtime|syscall)\.rawVforkSyscall.*)$'
	for program in gosteps gonet cgo; do
		CGO_ENABLED=$((program == cgo)) go build -o "$WORK/go" "$sources/$program.go"
		# of a file with C in it, .debug_frame alone is wanted
		objcopy -R .eh_frame -R .eh_frame_hdr "$WORK/go" "$WORK/exact" 2>/dev/null
		ehdump -t "$WORK/go" >"$WORK/table"
		ehdump -r "$WORK/exact" >"$WORK/rows"
		nm -n "$WORK/go" >"$WORK/symbols"
		mawk -v symbols="$WORK/symbols" -f "$BATS_TEST_DIRNAME/cfi/go-rows.awk" \
			"$WORK/table" "$WORK/rows" >"$WORK/differences"
		echo "$program: $(cat "$WORK/differences")"
		read -r rows _ <"$WORK/differences"
		expect "$rows > 5000"
		[ -z "$(tail -n +2 "$WORK/differences" | grep -vE "$odd")" ]
	done
}

# bats test_tags=full
@test "Go: stripped, with C, and position-independent, where the linker has merged the table, the rows are the same" {
	need go strip
	local source=$BATS_TEST_DIRNAME/workloads/cgo.go
	go build -o "$WORK/plain" "$source"
	strip -o "$WORK/stripped" "$WORK/plain"
	ehdump -t "$WORK/plain" >"$WORK/rows"
	ehdump -t "$WORK/stripped" | cmp - "$WORK/rows"
	# without CFI, there are no exact rows
	go build -ldflags="-s -w" -o "$WORK/bare" "$source"
	run ehdump -r "$WORK/bare"
	[ -n "$(readelf -SW "$WORK/bare" | grep eh_frame)" ] || [[ "$status $output" == "1 "*"no CFI, but .gopclntab"* ]]
	go build -buildmode=pie -ldflags="-s -w" -o "$WORK/pie" "$source"
	[ -z "$(readelf -SW "$WORK/pie" | grep gopclntab)" ]
	expect "$(ehdump -t "$WORK/pie" | wc -l) > 0.95 * $(wc -l <"$WORK/rows")"
	ehdump -t "$WORK/pie" | grep -o 'other stack [0-9+]*' >"$WORK/changes"
	grep -o 'other stack [0-9+]*' "$WORK/rows" | diff - "$WORK/changes"
	expect "$(ehdump -j --check "$WORK/plain" | jq 'select(.type == "file").differences') == 0"
}

# bats test_tags=full
@test "with too little memory, none of a file's sources is taken for missing: the table is whole, or it is said" {
	need go gcc objcopy
	local file kb status nr_said=0 nr_whole=0
	HOME=$WORK GOCACHE=${GOCACHE:-$ROOT/build/tests/gocache} CGO_ENABLED=0 \
		go build -o "$WORK/go" "$BATS_TEST_DIRNAME/workloads/gonet.go"
	awk 'BEGIN { for (i = 0; i < 3000; i++)
		printf "int f%d(int x) { int a[%d]; f%d(a); return a[1]; }\n", i, i % 99 + 9, i + 1 }' >"$WORK/a.c"
	gcc -w -g -gz -fno-asynchronous-unwind-tables -shared -fPIC -o "$WORK/all" "$WORK/a.c"
	objcopy -R .eh_frame -R .eh_frame_hdr "$WORK/all" "$WORK/compressed"
	for file in go compressed; do
		ehdump -t "$WORK/$file" >"$WORK/rows"
		for ((kb = 1000; kb < 12000; kb += kb < 4000 ? 200 : 1000)); do
			# what the dynamic linker needs
			(ulimit -c 0 -d $kb; ehdump --version) >/dev/null 2>&1 || continue
			status=0
			(ulimit -c 0 -d $kb; ehdump -t "$WORK/$file") >"$WORK/out" 2>"$WORK/err" || status=$?
			if [ $status = 0 ]; then
				cmp "$WORK/rows" "$WORK/out"
				nr_whole=$((nr_whole + 1))
			else
				grep 'Cannot allocate memory$' "$WORK/err"
				nr_said=$((nr_said + 1))
			fi
		done
	done
	expect "$nr_said >= 4 && $nr_whole >= 4"
}

# bats test_tags=check
@test "devices are not opened; a directory and a FIFO are named as what they are" {
	local said
	mkdir "$WORK/directory"
	mkfifo "$WORK/fifo"
	for said in "directory|a directory: use --recursive for the files in it" "fifo|not a regular file" \
		"none|No such file or directory"; do
		run ehdump "$WORK/${said%|*}"
		[ "$status $output" = "1 ehdump: '$WORK/${said%|*}': ${said#*|}" ]
	done
	need_root
	mknod "$WORK/device" c 240 77	# which has no driver, so that an open() says so
	run ehdump "$WORK/device"
	[ "$status $output" = "1 ehdump: '$WORK/device': not a regular file" ]
}
