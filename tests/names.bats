#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the names of functions come from: each source alone, made here from one library by binutils, dwz and xz.

load lib

# a program with inner functions; $WORK/full has .symtab, $WORK/stripped nothing but .dynsym
make_files() {
	need gcc objcopy strip xz
	cat >"$WORK/a.c" <<-'END'
		#include <unistd.h>
		static __attribute__((noinline)) int inner(int x) { char c; return x + read(0, &c, 1); }
		__attribute__((noinline)) int outer(int x) { return inner(x) * 3; }
		int main(int argc, char **argv) { return outer(argc); }
	END
	gcc -g -O1 -rdynamic -fno-ipa-cp -Wl,--build-id -o "$WORK/full" "$WORK/a.c"
	objcopy --only-keep-debug "$WORK/full" "$WORK/full.debug"
	strip -o "$WORK/stripped" "$WORK/full"
	inner=$(nm "$WORK/full" | awk '$3 == "inner" { print $1 }')
	outer=$(nm "$WORK/full" | awk '$3 == "outer" { print $1 }')
	id=$(readelf -n "$WORK/full" | awk '/Build ID/ { print $3 }')
}

# without its build ID
make_files_without_id() {
	make_files
	for file in full full.debug stripped; do
		objcopy -R .note.gnu.build-id "$WORK/$file"
	done
	[ -z "$(readelf -n "$WORK/stripped" | awk '/Build ID/')" ]
}

# the line for $inner: "VADDR START SOURCE RAW NAME"
name_of() {	# OPTION… FILE
	echo "$inner" | symbol-of "$@" 2>/dev/null
}

is_from() {	# SOURCE OPTION… FILE
	local source=$1 line
	shift
	line=$(name_of "$@")
	[ "$line" = "$(printf '%x %x %s inner inner' "0x$inner" "0x$inner" "$source")" ] || { echo "got: $line" >&2; return 1; }
}

is_nameless() {	# OPTION… FILE: only its start is known, by the FDE
	local line
	line=$(name_of "$@")
	[ "$line" = "$(printf '%x %x - - -' "0x$inner" "0x$inner")" ] || { echo "got: $line" >&2; return 1; }
}

# bats test_tags=check
@test "names: .symtab, and without it .dynsym; the start is the FDE's where there is no name" {
	make_files
	is_from symtab "$WORK/full"
	is_nameless "$WORK/stripped"
	[ "$(echo "$outer" | symbol-of "$WORK/stripped" 2>/dev/null | awk '{ print $3, $4 }')" = "dynsym outer" ]
}

@test "names: a debug file by build ID under --debug-dir; another file's is refused" {
	make_files
	mkdir -p "$WORK/debug/.build-id/${id:0:2}"
	cp "$WORK/full.debug" "$WORK/debug/.build-id/${id:0:2}/${id:2}.debug"
	is_from debug_file -d "$WORK/debug" "$WORK/stripped"
	is_from debug_file -d "$WORK/none" -d "$WORK/debug" "$WORK/stripped"
	gcc -g -O1 -Wl,--build-id=0x1234567890 -o "$WORK/debug/.build-id/${id:0:2}/${id:2}.debug" "$WORK/a.c"
	is_nameless -d "$WORK/debug" "$WORK/stripped"
	objcopy -R .note.gnu.build-id "$WORK/full.debug" "$WORK/debug/.build-id/${id:0:2}/${id:2}.debug"
	is_nameless -d "$WORK/debug" "$WORK/stripped"
	rm "$WORK/debug/.build-id/${id:0:2}/${id:2}.debug"
	mkfifo "$WORK/debug/.build-id/${id:0:2}/${id:2}.debug"
	is_nameless -d "$WORK/debug" "$WORK/stripped"
}

@test "names: a debug file by .gnu_debuglink, beside the file, in .debug/ and under --debug-dir; the CRC must be right" {
	make_files_without_id
	(cd "$WORK" && objcopy --add-gnu-debuglink=full.debug stripped linked)
	is_from debug_file "$WORK/linked"
	mkdir "$WORK/.debug"
	mv "$WORK/full.debug" "$WORK/.debug/"
	is_from debug_file "$WORK/linked"
	mkdir -p "$WORK/debug/$WORK"
	mv "$WORK/.debug/full.debug" "$WORK/debug/$WORK/"
	is_nameless "$WORK/linked"
	is_from debug_file -d "$WORK/debug" "$WORK/linked"
	echo >>"$WORK/debug/$WORK/full.debug"
	is_nameless -d "$WORK/debug" "$WORK/linked"
}

@test "names: a .gnu_debuglink out of its directory leads nowhere" {
	make_files_without_id
	mkdir "$WORK/sub"
	cp "$WORK/full.debug" "$WORK/evil"
	(cd "$WORK" && objcopy --add-gnu-debuglink=evil stripped sub/linked && sed -i 's/evil\x00/..\/e\x00/' sub/linked && mv evil e)
	is_nameless "$WORK/sub/linked"
}

@test "names: debug files in the target's own root, where links lead back into it" {
	make_files
	mkdir -p "$WORK/root/usr/lib" "$WORK/root/elsewhere/.build-id/${id:0:2}"
	ln -s /elsewhere "$WORK/root/usr/lib/debug"
	cp "$WORK/full.debug" "$WORK/root/elsewhere/.build-id/${id:0:2}/${id:2}.debug"
	is_from debug_file -r "$WORK/root" "$WORK/stripped"
	ln -sfn "$WORK/root/elsewhere" "$WORK/root/usr/lib/debug"	# is not there, seen from that root
	is_nameless -r "$WORK/root" "$WORK/stripped"
}

@test "names: a debug file is believed if it is root's or of the file's own owner, who may read it, and not writable for all, or in --debug-dir" {
	need_root
	make_files
	(cd "$WORK" && objcopy --add-gnu-debuglink=full.debug stripped linked)
	is_from debug_file "$WORK/linked"
	chmod o+w "$WORK/full.debug"
	is_nameless "$WORK/linked"
	chmod o-w "$WORK/full.debug"
	chown 65534 "$WORK/full.debug"
	is_nameless "$WORK/linked"
	mkdir -p "$WORK/debug/$WORK"
	cp -p "$WORK/full.debug" "$WORK/debug/$WORK/"
	is_from debug_file -d "$WORK/debug" "$WORK/linked"
	chown 65534 "$WORK/linked"
	is_from debug_file "$WORK/linked"
	chown 0 "$WORK/full.debug"
	chmod 600 "$WORK/full.debug"	# what the file's owner may not read is not read for it
	is_nameless "$WORK/linked"
	chmod 644 "$WORK/full.debug"
	is_from debug_file "$WORK/linked"
	chown 65534 "$WORK/full.debug"
	mkdir -p "$WORK/root/usr/lib/debug/.build-id/${id:0:2}"
	mv "$WORK/full.debug" "$WORK/root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	is_from debug_file -r "$WORK/root" "$WORK/linked"
	chown 0 "$WORK/linked"
	is_nameless -r "$WORK/root" "$WORK/linked"
}

@test "names: of the vdso, which is in no file: clock_gettime() is the leaf" {
	need_root
	need gcc jq
	printf '#include <time.h>\nint main(void) { struct timespec t; for (long i = 0; i < 40000000; i++) clock_gettime(1, &t); }' |
		gcc -O1 -x c -o "$WORK/clock" -
	cpuprof -q -j -F 499 -- "$WORK/clock" >"$WORK/out" 2>"$WORK/err"
	# the vDSO names what it exports, and not what that calls, which depends on the machine's clock: such a leaf has a caller
	jq -se '[.[] | select(.type == "stack" and .user[0].module == "[vdso]")] |
		(map(select(.user[0].symbol)) | (map(.count) | add) > 20 and all(.user[0].symbol | test("clock_gettime"))) and
		(map(select(.user[0].symbol | not)) | all(.user[1].symbol | test("clock_gettime")))' "$WORK/out"
}

@test "names: MiniDebugInfo, as Fedora makes it; a bomb in it is not unpacked" {
	make_files
	nm -D "$WORK/stripped" --format=posix --defined-only | awk '{ print $1 }' | sort >"$WORK/dynamic"
	nm "$WORK/full" --format=posix --defined-only | awk '$2 ~ /[tTdD]/ { print $1 }' | sort >"$WORK/functions"
	comm -13 "$WORK/dynamic" "$WORK/functions" >"$WORK/keep"
	objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols="$WORK/keep" "$WORK/full.debug" "$WORK/mini"
	xz "$WORK/mini"
	objcopy --add-section .gnu_debugdata="$WORK/mini.xz" "$WORK/stripped" "$WORK/with-mini"
	is_from debug_data "$WORK/with-mini"
	[ "$(echo "$outer" | symbol-of "$WORK/with-mini" 2>/dev/null | awk '{ print $3, $4 }')" = "dynsym outer" ]
	head -c 200M /dev/zero | xz -1 >"$WORK/bomb.xz"
	objcopy --add-section .gnu_debugdata="$WORK/bomb.xz" "$WORK/stripped" "$WORK/with-bomb"
	is_nameless "$WORK/with-bomb"
	expect "$(resident "$WORK/with-bomb") < 100000"
	head -c 300 "$WORK/mini.xz" >"$WORK/short.xz"
	objcopy --add-section .gnu_debugdata="$WORK/short.xz" "$WORK/stripped" "$WORK/with-short"
	is_nameless "$WORK/with-short"
}

# go tool nm's names of the Go functions, as Go's own table has them: it neither says which calling convention a function has
# nor what is in brackets. What begins or ends the text is no function.
go_functions() {	# FILE
	go tool nm -n "$1" | awk '$2 ~ /^[tT]$/' | sed -E 's/^ *([0-9a-f]+) . /\1 /; s/\.abi0$//; s/\[.*\]/[]/' |
		grep -E '^[0-9a-f]+ (main|runtime|sync|syscall|reflect|internal|type|go|fmt|strings|os|time|net)[./:]' |
		grep -vE ' runtime\.e?text$'
}

# "VADDR NAME" of the functions on stdin, all starts of functions named by Go's table
by_go_table() {	# FILE
	awk '{ print $1 }' | symbol-of "$1" 2>/dev/null |
		awk '$1 == $2 && $3 == "gopclntab" {
			at = $1
			sub(/^[^ ]+ [^ ]+ [^ ]+ /, "")
			print at, substr($0, 1, (length($0) - 1) / 2)	# raw and for people, the same
		}' | sed -E 's/\[.*\]/[]/'
}

# bats test_tags=full
@test "names: a Go program's without .symtab, by Go's own table" {
	need go strip
	local sources=$BATS_TEST_DIRNAME/workloads program main
	export HOME=$WORK GOCACHE=${GOCACHE:-$ROOT/build/tests/gocache}
	for program in gosteps cgo pie; do
		case $program in
		gosteps) CGO_ENABLED=0 go build -o "$WORK/full" "$sources/gosteps.go" ;;
		cgo) go build -o "$WORK/full" "$sources/cgo.go" ;;
		pie) go build -buildmode=pie -o "$WORK/full" "$sources/cgo.go" ;;
		esac
		strip -o "$WORK/stripped" "$WORK/full"
		go_functions "$WORK/full" >"$WORK/expected"
		by_go_table "$WORK/stripped" <"$WORK/expected" >"$WORK/found"
		expect "$(wc -l <"$WORK/expected") > 1000"
		# two may have one start
		expect "$(diff "$WORK/expected" "$WORK/found" | tee /dev/stderr | grep -c '^<') <= 2"
		main=$(awk '$2 == "main.main" { print $1 }' "$WORK/expected")
		ehdump -a "0x$main" "$WORK/stripped" | grep -Fx 'symbol: main.main+0x0'
		stackcount -l "u:$WORK/stripped:main.*" >"$WORK/out"
		grep -q 'main\.main' "$WORK/out"
	done
}

# bats test_tags=full
@test "lines: a Go program's without DWARF, by Go's own table, are go tool addr2line's" {
	need go strip gawk
	local sources=$BATS_TEST_DIRNAME/workloads program
	export HOME=$WORK GOCACHE=${GOCACHE:-$ROOT/build/tests/gocache}
	for program in gosteps cgo; do
		CGO_ENABLED=$((program == cgo)) go build -o "$WORK/full" "$sources/$program.go"
		strip -o "$WORK/stripped" "$WORK/full"
		# the start of each function, and a place in it
		go_functions "$WORK/full" | gawk '{ at = strtonum("0x" $1); printf "%x\n%x\n", at, at + 9 }' >"$WORK/addresses"
		# the line -1 is padding's
		go tool addr2line "$WORK/full" <"$WORK/addresses" |
			awk 'NR % 2 == 0 { print /:(-1|0)$/ ? "-" : $0 }' >"$WORK/expected"
		place-of "$WORK/stripped" <"$WORK/addresses" 2>/dev/null | sed 's/^-\t//' |
			awk '/^0x/ { if (at) print place; at = $0; place = "-"; next } { place = $0 }
				END { print place }' >"$WORK/found"
		expect "$(wc -l <"$WORK/addresses") > 2000 && $(grep -vc '^-' "$WORK/expected") > 2000"
		diff "$WORK/expected" "$WORK/found"
	done
}

# bats test_tags=full
@test "lines: cpuprof -l has them of a Go program without DWARF" {
	need_root
	need go strip jq
	export HOME=$WORK GOCACHE=${GOCACHE:-$ROOT/build/tests/gocache}
	cat >"$WORK/spin.go" <<-'END'
		package main

		//go:noinline
		func spin(n int) int {
			for i := 0; i < 1000; i++ {
				n += n * i
			}
			return n
		}
		func main() {
			for n := 1; ; {
				n = spin(n)
			}
		}
	END
	go build -ldflags="-s -w" -o "$WORK/spin" "$WORK/spin.go"
	background "$WORK/spin"
	measure_while_it_runs 500 cpuprof -F 499 -l -j -p "$pid"
	kill "$pid"
	jq -r 'select(.type == "stack") | .user[] | "\(.symbol) \(.source // "" | sub(".*/"; "")):\(.line)"' "$WORK/out" |
		sort | uniq -c >"$WORK/lines"
	cat "$WORK/lines"
	grep -qE ' main\.spin spin\.go:[567]$' "$WORK/lines"
	grep -qE ' main\.main spin\.go:12$' "$WORK/lines"
}

# the kB that naming an address of the file took at most
resident() {	# FILE
	echo "${inner:-1000}" | symbol-of "$1" 2>&1 >/dev/null | awk '{ print $5 }'
}

@test "names: debug files that dwz made smaller" {
	need dwz
	make_files
	cp "$WORK/full.debug" "$WORK/other.debug"
	dwz -m "$WORK/common" "$WORK/full.debug" "$WORK/other.debug" || skip "dwz found nothing to share"
	mkdir -p "$WORK/debug/.build-id/${id:0:2}"
	cp "$WORK/full.debug" "$WORK/debug/.build-id/${id:0:2}/${id:2}.debug"
	is_from debug_file -d "$WORK/debug" "$WORK/stripped"
}

@test "names: debuginfod, only if asked" {
	[ -e /usr/lib/x86_64-linux-gnu/libdebuginfod.so.1 ] || skip "needs libdebuginfod1"
	make_files
	mkdir -p "$WORK/server/buildid/$id"
	cp "$WORK/full.debug" "$WORK/server/buildid/$id/debuginfo"
	export DEBUGINFOD_URLS="file://$WORK/server" DEBUGINFOD_CACHE_PATH="$WORK/cache"
	is_nameless "$WORK/stripped"
	[ ! -e "$WORK/cache" ]
	is_from debuginfod -f "$WORK/stripped"
	unset DEBUGINFOD_URLS
	DEBUGINFOD_CACHE_PATH="$WORK/other" is_nameless -f "$WORK/stripped"
}

# "ADDRESS NAME" of the PLT entries by objdump
objdump_plt() {	# FILE
	${OBJDUMP:-objdump} -d "$1" | sed -n 's/^0*\([0-9a-f]*\) <\(.*@plt\)>:$/\1 \2/p' | grep -v '\*ABS\*'
}

same_plt() {	# FILE
	objdump_plt "$1" >"$WORK/expected"
	cut -d ' ' -f 1 "$WORK/expected" | symbol-of "$1" 2>/dev/null | awk '{ print $2, $5 }' >"$WORK/got"
	[ -s "$WORK/expected" ]
	diff "$WORK/expected" "$WORK/got"
}

# bats test_tags=full
@test "names: PLT entries are as objdump says: .plt, .plt.sec, .plt.got, with and without IBT, x86-64 and aarch64" {
	make_files
	cat >"$WORK/b.c" <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		void *keep[] = { (void *)getenv };
		int f(char *s) { write(1, s, strlen(s)); return getpid() + atoi(getenv(s)); }
	END
	for flags in -fcf-protection=none -fcf-protection=full "-Wl,-z,ibtplt -fcf-protection=full" "-Wl,-z,now" "-Wl,-z,bndplt"; do
		gcc -O1 -fPIC -shared $flags -o "$WORK/b.so" "$WORK/b.c"
		same_plt "$WORK/b.so"
		strip "$WORK/b.so"
		same_plt "$WORK/b.so"
	done
	same_plt "$(command -v bash)"
	extra aarch64-linux-gnu-as || return 0
	printf '.globl f\nf: bl write\nbl read\nbl getpid\nret\n' | aarch64-linux-gnu-as -o "$WORK/b.o" -
	for flags in "" "-z force-bti"; do
		aarch64-linux-gnu-ld -shared $flags -o "$WORK/b.so" "$WORK/b.o" 2>/dev/null
		OBJDUMP=aarch64-linux-gnu-objdump same_plt "$WORK/b.so"
	done
}

@test "names: of aliases the best, by the rule; sizes are honoured; labels in functions are none" {
	need gcc
	cat >"$WORK/a.s" <<-'END'
		.globl _start, plain, __under, _one
		.weak weak
		.text
		_start: ret
		.type _start, @function
		.size _start, 1
		.skip 15
		__under: _one: plain: weak: local: .nops 32
		.type __under, @function; .type _one, @function; .type plain, @function; .type weak, @function
		.size __under, 32; .size _one, 32; .size plain, 32; .size weak, 32
		.skip 16
		sized: unsized_alias:
		.nops 8
		label:
		.nops 8
		.type sized, @function
		.size sized, 16
		.skip 16
		sizeless: .nops 16
		.section .other, "ax"
		.nops 16
	END
	gcc -nostdlib -static -o "$WORK/a" "$WORK/a.s"
	base=$(nm "$WORK/a" | awk '$3 == "_start" { print $1 }')
	other=$(readelf -SW "$WORK/a" | awk '$2 == ".other" || $3 == ".other" { for (i = 1; i < NF; i++) if ($i == "PROGBITS") print $(i + 1) }')
	at() {
		printf '%x' $((0x$base + $1)) | symbol-of "$WORK/a" 2>/dev/null | awk '{ print $5 }'
	}
	[ "$(at 0)" = _start ]
	[ "$(at 1)" = - ]
	[ "$(at 16)" = plain ]
	[ "$(at 47)" = plain ]
	[ "$(at 48)" = - ]
	[ "$(at 64)" = sized ]
	[ "$(at 75)" = sized ]
	[ "$(at 80)" = - ]
	[ "$(at 96)" = sizeless ]
	[ "$(at 111)" = sizeless ]
	[ "$(echo "$other" | symbol-of "$WORK/a" 2>/dev/null | awk '{ print $5 }')" = - ]
}

@test "names: what clones are called is folded, what is in the file stays beside it" {
	need gcc
	printf '.text\n.globl main\nmain: ret\n.type main,@function\n.size main,1\n"_Z3foov.part.0.cold": ret\n.type "_Z3foov.part.0.cold",@function\n.size "_Z3foov.part.0.cold",1\n' >"$WORK/a.s"
	gcc -nostdlib -static -Wl,-emain -o "$WORK/a" "$WORK/a.s"
	foo=$(nm "$WORK/a" | awk '/foo/ { print $1 }')
	[ "$(echo "$foo" | symbol-of "$WORK/a" 2>/dev/null | cut -d ' ' -f 4-)" = "_Z3foov.part.0.cold foo" ]
	[ "$(echo "$foo" | symbol-of -n "$WORK/a" 2>/dev/null | cut -d ' ' -f 4-)" = "_Z3foov.part.0.cold _Z3foov" ]
}

@test "names: 20,000 symbols that share one long name, and a symbol that stands for gigabytes, cost next to nothing" {
	need python3
	hostile-elf longsyms "$WORK/long" 20000 200000
	hostile-elf pairs "$WORK/pairs" 28
	for file in long pairs; do
		for i in $(seq 0 63); do printf '%x\n' $((0x1000 + i)); done >"$WORK/asked"
		# of CPU time, which goes on only while it runs
		cpu_s=$(TIMEFORMAT=%U; { time symbol-of "$WORK/$file" <"$WORK/asked" >"$WORK/out" 2>"$WORK/err"; } 2>&1)
		[ "$(wc -l <"$WORK/out")" = 64 ]
		expect "$cpu_s < 1"
		expect "$(awk '{ print $5 }' "$WORK/err") < 100000"
	done
	grep -q '_Z1fISt4pair.* _Z1fISt4pair' "$WORK/out"
}

@test "names: without FDE and symbol, the code tells where functions begin: musl's for >= 85 % of its addresses" {
	need musl-gcc strip python3
	libc=$(echo /usr/lib/*-linux-musl/libc.a)
	[ -e "$libc" ] || skip "needs musl-dev"
	printf 'int main(void) { return 0; }\n' >"$WORK/a.c"
	musl-gcc -O2 -static -Wl,-z,muldefs -o "$WORK/full" "$WORK/a.c" \
		-Wl,--whole-archive "$libc" -Wl,--no-whole-archive
	strip -o "$WORK/stripped" "$WORK/full"
	nm -S "$WORK/full" | awk '$3 ~ /[tTwW]/ && NF == 4 { print $1, $2 }' | sort -u >"$WORK/functions"
	python3 - "$WORK/functions" >"$WORK/asked" <<-'END'
		import random, sys
		random.seed(1)
		functions = [tuple(int(n, 16) for n in line.split()) for line in open(sys.argv[1])]
		for start, size in random.choices(functions, [size for _, size in functions], k=3000):
		    print("%x %x" % (start + random.randrange(size), start))
	END
	cut -d ' ' -f 1 "$WORK/asked" | symbol-of -e "$WORK/stripped" 2>/dev/null | cut -d ' ' -f 1,2 >"$WORK/got"
	right=$(paste -d '\n' "$WORK/asked" "$WORK/got" | uniq -d | wc -l)
	echo "# $right of 3000" >&3
	expect "$right >= 2550"
}

# ---- inlined functions and lines ----

# cpuprof of a program until that has had a second of CPU time, however long it waits for it
for_a_second() {	# PROGRAM OPTION...
	cpuprof -q "${@:2}" -- bash -c 'ulimit -t 1; exec "$0"' "$1" 2>/dev/null || true
}

# programs with inlined functions in $WORK, built in several ways; their paths are in $built. Compiled once for all tests
build_inlining() {
	need g++ gcc eu-addr2line
	local once=$BATS_FILE_TMPDIR/inlining
	[ -e "$once" ] || compile_inlining "$once"
	cp -p "$once"/* "$WORK"
	built=("$WORK"/{pie,no-pie,lto,c,clang,clang4})
	[ ! -e "$WORK/r" ] || built+=("$WORK/r")
}

compile_inlining() {	# DIRECTORY
	mkdir "$1.part"
	cat >"$1.part/inlining.cc" <<-'END'
		#include <algorithm>
		#include <cstdio>
		#include <map>
		#include <string>
		#include <vector>
		template <class T> static inline T sq(T x) { return x * x + x / 3; }
		static inline int twice(int x) { return sq(x) + sq(x + 1); }
		namespace n { struct s { static int work(int n); }; }
		int n::s::work(int n) { std::vector<int> v; for (int i = 0; i < n; i++) v.push_back(twice(i) ^ i); std::sort(v.begin(), v.end()); int s = 0; for (int x : v) s += x; return s; }
		std::map<std::string, int> m;
		int main(int argc, char **argv) { for (int i = 0; i < argc; i++) m[argv[i]] += n::s::work(i * 100); for (auto &k : m) printf("%s %d\n", k.first.c_str(), k.second); }
	END
	g++ -g -O2 -o "$1.part/pie" "$1.part/inlining.cc"
	g++ -gdwarf-4 -O2 -no-pie -o "$1.part/no-pie" "$1.part/inlining.cc"
	g++ -g -O3 -flto -o "$1.part/lto" "$1.part/inlining.cc"
	gcc -g -O2 -pthread -o "$1.part/c" "$BATS_TEST_DIRNAME/workloads/waits.c"
	clang++ -g -O2 -o "$1.part/clang" "$1.part/inlining.cc"
	clang++ -gdwarf-4 -O2 -o "$1.part/clang4" "$1.part/inlining.cc"
	cat >"$1.part/r.rs" <<-'END'
		use std::collections::HashMap;
		fn main() { let mut m = HashMap::new(); for (i, a) in std::env::args().enumerate() { *m.entry(a.to_uppercase()).or_insert(0) += i; } let mut v: Vec<_> = m.iter().collect(); v.sort(); for (k, x) in v { println!("{} {}", k, x); } }
	END
	! rustc -g -O -o "$1.part/r" "$1.part/r.rs" 2>/dev/null || true
	mv "$1.part" "$1"
}

# at least 30 binaries in $binaries: of Debian, with debug packages and without, and built here: C, C++, Rust, Go, musl; PIE and not
find_binaries() {
	need eu-addr2line python3 clang++
	local file
	build_inlining
	binaries=("${built[@]}" "$ROOT/build/cpuprof" "$ROOT/build/tests/symbol-of")
	cp "$WORK/no-pie" "$WORK/stripped-no-pie" && strip "$WORK/stripped-no-pie" && binaries+=("$WORK/stripped-no-pie")
	! musl-gcc -g -O2 -static -o "$WORK/musl" "$BATS_TEST_DIRNAME/workloads/calls.c" 2>/dev/null || binaries+=("$WORK/musl")
	if extra go; then
		printf 'package main\nimport ("fmt"; "os"; "sort")\nfunc main() { a := os.Environ(); sort.Strings(a); fmt.Println(a) }\n' >"$WORK/a.go"
		GOCACHE=$WORK/go-cache go build -o "$WORK/go" "$WORK/a.go"
		binaries+=("$WORK/go")
	fi
	for file in $LIBC /lib/x86_64-linux-gnu/libm.so.6 /lib64/ld-linux-x86-64.so.2 /usr/lib/x86_64-linux-gnu/lib{bfd-2,opcodes-2,ctf}*.so \
		/usr/lib/x86_64-linux-gnu/lib{stdc++.so.6,crypto.so.3,LLVM-14.so.1,x264.so.164,gfortran.so.5,dw.so.1} \
		/lib/ld-musl-x86_64.so.1 /usr/bin/{bash,git,python3,perl,gdb,node,redis-server,objdump,sbcl,busybox,qemu-system-x86_64,ruby,ocamlrun} \
		/usr/sbin/nginx /usr/lib/postgresql/*/bin/postgres /usr/lib/gcc/x86_64-linux-gnu/*/cc1plus /usr/lib/chromium/chromium; do
		[ ! -e "$file" ] || binaries+=("$file")
	done
	[ "${#binaries[@]}" -ge 30 ] || [ "$SIZE" != full ] || skip "finds ${#binaries[@]} binaries only"
	mapfile -t binaries < <(printf '%s\n' "${binaries[@]}" | sample_of_size)
	addresses=$(sized 10000 1000)
}

@test "names: at 10,000 addresses of 30 binaries, or 1,000 of some, the symbol and the start are those of eu-addr2line for 99.9 %" {
	find_binaries
	names-against-addr2line -n $addresses "${binaries[@]}" >"$WORK/report" || { cat "$WORK/report"; false; }
	echo "# ${#binaries[@]} binaries: $(tail -n 1 "$WORK/report")" >&3
}

# whose DWARF is in them, or in a debug package
with_dwarf() {	# FILE...
	local file id
	for file; do
		id=$(readelf -n "$file" 2>/dev/null | awk '/Build ID/ { print $3 }')
		readelf -SW "$file" 2>/dev/null | grep -q '\.z\?debug_info' || [ -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] || continue
		echo "$file"
	done
}

@test "places: at as many addresses, inlined functions, files and lines are those of eu-addr2line -i: C, C++, Rust, Go, PIE or not, LTO, DWARF 4 and 5" {
	find_binaries
	mapfile -t binaries < <(with_dwarf "${binaries[@]}")
	places-against-addr2line -n $addresses "${binaries[@]}" >"$WORK/report" || { cat "$WORK/report"; false; }
	echo "# ${#binaries[@]} binaries: $(tail -n 1 "$WORK/report")" >&3
}

# bats test_tags=full
@test "places: in JSON, lines are those of eu-addr2line -i, of callers at the byte before the return address" {
	need_root
	need g++ gawk eu-addr2line
	cat >"$WORK/callers.cc" <<-'END'
		#include <algorithm>
		#include <map>
		#include <string>
		#include <vector>
		struct item { std::string name; bool operator<(const item &other) const { return name < other.name; } };
		int main() {
			std::map<std::string, int> counts;
			for (int round = 0;; round++) {
				std::vector<item> items;
				for (int i = 0; i < 5000; i++) items.push_back({std::to_string(i * 7919 % 10007 + round)});
				std::sort(items.begin(), items.end());
				for (auto &it : items) counts[it.name]++;
			}
		}
	END
	g++ -g -O2 -o "$WORK/callers" "$WORK/callers.cc"
	for_a_second "$WORK/callers" -F 999 -i -l -j -o "$WORK/callers.jsonl"
	# of each function that others were inlined into: its address, whether that is a return address, and all lines
	jq -r --arg file "$WORK/callers" 'select(.type == "stack" and .user) | foreach .user[] as $f ([]; if .[-1].inlined then . + [$f] else [$f] end;
		select((.[-1] | .inlined | not) and length > 1 and .[-1].module == $file)) |
		"\(.[-1].vaddr) \(.[-1].call // false) \(map(.line) | join(","))"' "$WORK/callers.jsonl" | sort -u >"$WORK/chains"
	gawk '{ printf "0x%x\n", strtonum($1) - ($2 == "true") }' "$WORK/chains" | eu-addr2line -a -i -e "$WORK/callers" |
		gawk -F : '/^0x/ { if (n++) print lines; lines = ""; next } { lines = lines (lines == "" ? "" : ",") $2 } END { print lines }' >"$WORK/theirs"
	awk '{ print $3 }' "$WORK/chains" >"$WORK/ours"
	echo "# $(wc -l <"$WORK/ours") chains, $(grep -c true "$WORK/chains") of callers, $(paste "$WORK/ours" "$WORK/theirs" | awk '$1 != $2' | wc -l) differ" >&3
	[ "$(grep -c true "$WORK/chains")" -ge 10 ]
	# an instruction that the compiler has made of two calls has two callers: eu-addr2line and LLVM name different ones
	[ "$(paste "$WORK/ours" "$WORK/theirs" | awk '$1 != $2' | wc -l)" -le $(($(wc -l <"$WORK/ours") / 20)) ]
}

# bats test_tags=full
@test "places: of stripped files by their debug files, also such as dwz made smaller" {
	need dwz strip objcopy
	build_inlining
	objcopy --only-keep-debug "$WORK/pie" "$WORK/pie.debug"
	nm "$WORK/pie" | awk '$3 == "main" { print $1 }' >"$WORK/main"
	[ "$(place-of "$WORK/pie.debug" <"$WORK/main" 2>/dev/null)" = "$(place-of "$WORK/pie" <"$WORK/main" 2>/dev/null)" ]
	objcopy --only-keep-debug "$WORK/no-pie" "$WORK/no-pie.debug"
	place-of "$WORK/no-pie.debug" <"$WORK/main" >"$WORK/before" 2>/dev/null
	dwz -m "$WORK/common" "$WORK/pie.debug" "$WORK/no-pie.debug" || skip "dwz found nothing to share"
	readelf -SW "$WORK/pie.debug" | grep -q debugaltlink
	[ -s "$WORK/before" ]
	diff "$WORK/before" <(place-of "$WORK/no-pie.debug" <"$WORK/main" 2>/dev/null)
	[ "$(place-of "$WORK/pie.debug" <"$WORK/main" 2>/dev/null)" = "$(place-of "$WORK/pie" <"$WORK/main" 2>/dev/null)" ]
}

# bats test_tags=full
@test "places: split DWARF is read from its .dwo files, as if it were not split; what is no file is not opened" {
	need g++ clang++ nm
	build_inlining
	chmod 755 "$WORK"	# root's own DWARF is read with nobody's rights
	cd "$WORK"
	local compiler compilers=("g++ -g")
	[ "$SIZE" != full ] || compilers+=("g++ -gdwarf-4" "clang++ -g")
	for compiler in "${compilers[@]}"; do
		$compiler -O2 -o whole inlining.cc
		$compiler -O2 -gsplit-dwarf -o split inlining.cc
		nm whole | awk 'NF == 3 && $2 ~ /[tTW]/ { print $1 }' | while read -r at; do printf '%x\n' $((0x$at)) $((0x$at + 9)) $((0x$at + 40)); done >addresses
		[ "$(nm whole | grep -c ' [tT] ')" = "$(nm split | grep -c ' [tT] ')" ]
		place-of whole <addresses >expected 2>/dev/null
		place-of split <addresses >got 2>/dev/null
		diff expected got
		[ "$(grep -c '^_ZN' got)" -gt 20 ]
	done
	rm ./*.dwo
	mkfifo $(strings -a split | grep '\.dwo$' | sort -u)
	start=$(date +%s%N)
	place-of split <addresses >got 2>/dev/null
	expect "$(date +%s%N) - $start < 10e9"
	grep -q 'inlining.cc:' got	# lines are in the file itself
	refute grep -q '^_Z' got
}

@test "places: no FIFO is opened that DWARF names, beside the file or elsewhere, and compressed sections hold no more than real ones" {
	need gcc python3 objcopy nm
	cd "$WORK"
	chmod 755 "$WORK"
	echo 'static inline int f(int x) { return x * x; } int main(int n, char **v) { return f(n) + (long)v; }' >a.c
	gcc -g -O2 -o plain a.c
	nm plain | awk '$3 == "main" { print $1 }' >main
	place-of plain <main 2>/dev/null | grep -q 'a.c:1'
	cp plain inflated
	hostile-elf inflate inflated .debug_str 900
	place-of inflated <main >got 2>err
	cat err
	refute grep -q 'a.c:1' got
	expect "$(awk '/resident/ { print $1 }' err) < 100000"
	grep -q '^1 given up' err
	gcc -g -O2 -gsplit-dwarf -fdebug-prefix-map="$WORK"=/nowhere -o split a.c
	rm ./*.dwo
	mkfifo "$(strings -a split | grep '\.dwo$')"
	mkfifo fifo
	printf 'fifo\0AAAAAAAAAAAAAAAAAAAA' >link
	objcopy --add-section .gnu_debugaltlink=link plain linked
	for file in split linked; do
		nm $file | awk '$3 == "main" { print $1 }' >main
		start=$(date +%s%N)
		place-of $file <main 2>/dev/null >got
		expect "$(date +%s%N) - $start < 10e9"
		grep -q 'a.c:1' got
	done
}

# bats test_tags=full
@test "places: damaged DWARF costs no more than is stated, and does not end the tool" {
	need python3
	build_inlining
	python3 - "$WORK/pie" "$WORK" <<-'END'
		import random, subprocess, sys
		path, work = sys.argv[1:]
		sections = {}
		for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout.splitlines():
		    f = line.replace("[ ", "[").split()
		    if len(f) > 5 and f[1].startswith(".debug_"):
		        sections[f[1]] = int(f[4], 16), int(f[5], 16)
		random.seed(1)
		for i in range(12):
		    data = bytearray(open(path, "rb").read())
		    at, size = sections[random.choice([".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists"])]
		    for _ in range(random.choice([1, 10, 1000])):
		        data[at + random.randrange(size)] = random.randrange(256)
		    open("%s/damaged%d" % (work, i), "wb").write(data)
	END
	readelf -sW "$WORK/pie" | awk '$4 == "FUNC" && $2 != 0 { print $2 }' >"$WORK/addresses"
	for i in $(seq 0 11); do
		start=$(date +%s%N)
		place-of "$WORK/damaged$i" <"$WORK/addresses" >"$WORK/out" 2>"$WORK/err"
		[ "$(grep -c ^0x "$WORK/out")" -eq "$(wc -l <"$WORK/addresses")" ]
		expect "$(($(date +%s%N) - start)) < 60e9"
		expect "$(awk '/resident/ { print $1 }' "$WORK/err") < 600000"
	done
}

# bats test_tags=full
@test "places: -i and -l in cpuprof: text, folded, JSON, pictures; what has no DWARF stays as it is" {
	need_root
	need g++ strip
	cat >"$WORK/spin.cc" <<-'END'
		static inline __attribute__((always_inline)) long deepest(long x) {
			for (int i = 0; i < 1000; i++) asm volatile("" : "+r"(x));
			return x;
		}
		struct box { static inline __attribute__((always_inline)) long middle(long x) { return deepest(x) + 1; } };
		__attribute__((noinline)) long outer(long x) { return box::middle(x) + 2; }
		int main() { long x = 0; for (;;) x = outer(x); }
	END
	(cd "$WORK" && g++ -g -O2 -o spin spin.cc)
	for_a_second "$WORK/spin" -f -i | grep -qE ';main;outer;box::middle_\[i\];deepest_\[i\] [0-9]+$'
	for_a_second "$WORK/spin" -f -l | grep -qE ';main \(.*spin.cc:7\);outer \(.*spin.cc:[25]\) [0-9]+$'
	for_a_second "$WORK/spin" -i -l --top 1 >"$WORK/text"
	grep -A 3 -E '^    deepest \(.*spin.cc:2\)_\[i\]$' "$WORK/text" | cut -d '(' -f 1 | tr -d ' \n' | grep -qx 'deepestbox::middleoutermain'
	for_a_second "$WORK/spin" -i -l -j >"$WORK/out"
	valid_json
	jq -s -r 'map(select(.type == "stack")) | max_by(.count) | .user[:4][] | [.symbol, .inlined // false, .line, .raw_symbol // ""] | @tsv' "$WORK/out" >"$WORK/frames"
	diff "$WORK/frames" - <<-'END'
		deepest	true	2	
		box::middle	true	5	_ZN3box6middleEl
		outer	false	6	_Z5outerl
		main	false	7	
	END
	for_a_second "$WORK/spin" -i -o "$WORK/x.svg"
	grep -q 'deepest' "$WORK/x.svg"
	for_a_second "$WORK/spin" -i -l -o "$WORK/x.pb.gz"
	# pprof wants the innermost function first
	pprof-json "$WORK/x.pb.gz" | jq -r '.samples[].frames[] | map(.[1]) | join(" ")' >"$WORK/lines"
	cat "$WORK/lines"
	grep -qE '^[23] 5 6$' "$WORK/lines"
	for_a_second "$WORK/spin" -i -o "$WORK/x.perf"
	grep -A 2 -E '^\s+[0-9a-f]+ deepest \(inlined\)$' "$WORK/x.perf" | sed -n '2,3p' | grep -cE ' (box::middle \(inlined\)|outer\+0x[0-9a-f]+ \(.*/spin\))$' | grep -qx 2
	strip -o "$WORK/stripped" "$WORK/spin"
	for_a_second "$WORK/stripped" -f -i -l | grep -qE ';\[stripped\+0x[0-9a-f]+\] [0-9]+$'
}

# ---- in the tools ----

@test "names: what cpuprof prints without a symbol is what addr2line, objdump and gdb take, as the man page says" {
	need_root
	need gcc strip addr2line objdump gdb jq
	printf 'static __attribute__((noinline)) void spin(volatile int *x) { for (;;) ++*x; }\nint main(void) { int x = 0; spin(&x); }\n' >"$WORK/a.c"
	gcc -g -O1 -o "$WORK/full" "$WORK/a.c"
	strip -o "$WORK/stripped" "$WORK/full"
	for_a_second "$WORK/stripped" -f | sort -rn -k 2 >"$WORK/folded"
	cat "$WORK/folded"
	start=$(sed -n 's/.*;\[stripped+0x\([0-9a-f]*\)\] .*/\1/p' "$WORK/folded" | head -1)
	[ -n "$start" ]
	sed -n '/^\.SH NAMES/,/^\.SH EXIT/{/^\.nf/,/^\.fi/{/^\./!p}}' "$ROOT/man/man8/cpuprof.8" | sed "s/0xSTART/0x$start/; s|FILE|$WORK/full|" >"$WORK/lines"
	[ "$(wc -l <"$WORK/lines")" = 3 ]
	while read -r line; do
		eval "$line" </dev/null >"$WORK/out" 2>&1
		head -8 "$WORK/out"
		grep -qw spin "$WORK/out"
	done <"$WORK/lines"
}

@test "names: who calls a function that does not return, as its last instruction, has its own name" {
	need_root
	need gcc nm
	cat >"$WORK/last.c" <<-'END'
		__attribute__((noreturn, noipa)) void spin(void) { for (volatile int x = 0;; x++); }
		__attribute__((noipa)) void last(void) { spin(); }
		__attribute__((noipa)) void after(void) { asm volatile("nop"); }
		int main(int argc, char **argv) { if (argc > 1) after(); last(); }
	END
	# without room between functions, so that the return address is the next one's first byte
	gcc -O2 -fno-toplevel-reorder -falign-functions=1 -o "$WORK/last" "$WORK/last.c"
	[ "$(nm -n "$WORK/last" | awk '$3 == "last" { getline; print $3 }')" = after ]
	for_a_second "$WORK/last" -f -F 499 >"$WORK/folded"
	cat "$WORK/folded"
	grep -qE ';main;last;spin [0-9]+$' "$WORK/folded"
	refute grep -qE ';after[; ]' "$WORK/folded"
}

@test "names: in JSON a frame has vaddr, function_vaddr and file_offset, that agree with readelf" {
	need_root
	need gcc jq
	printf 'static __attribute__((noinline)) void spin(volatile int *x) { for (;;) ++*x; }\nint main(void) { int x = 0; spin(&x); }\n' >"$WORK/a.c"
	gcc -g -O1 -o "$WORK/full" "$WORK/a.c"
	for_a_second "$WORK/full" -j >"$WORK/out"
	read -r symbol vaddr function offset file_offset <<<"$(jq -rs 'map(select(.type == "stack")) | max_by(.count).user[0] |
		[.symbol, .vaddr, .function_vaddr, .offset, .file_offset] | @tsv' "$WORK/out")"
	[ "$symbol" = spin ]
	[ $((function)) = $((0x$(nm "$WORK/full" | awk '$3 == "spin" { print $1 }'))) ]
	[ $((vaddr)) = $((function + offset)) ]
	readelf -lW "$WORK/full" | gawk --non-decimal-data -v at="$file_offset" -v vaddr="$((vaddr))" '
		/^  LOAD/ && at >= strtonum($2) && at < strtonum($2) + strtonum($5) { found = at - strtonum($2) + strtonum($3) == vaddr }
		END { exit !found }'
	expect "$(summary .named) > 0 && $(summary .named) <= $(summary .frames)"
}

# bats test_tags=full
@test "names: --debug-dir and --no-demangle in cpuprof" {
	need_root
	need g++ objcopy strip
	printf 'namespace a { struct b { static __attribute__((noinline)) void spin(volatile int *x) { for (;;) ++*x; } }; }\nint main() { int x = 0; a::b::spin(&x); }\n' >"$WORK/a.cc"
	g++ -g -O1 -Wl,--build-id -o "$WORK/full" "$WORK/a.cc"
	strip -o "$WORK/stripped" "$WORK/full"
	id=$(readelf -n "$WORK/full" | awk '/Build ID/ { print $3 }')
	mkdir -p "$WORK/debug/.build-id/${id:0:2}"
	objcopy --only-keep-debug "$WORK/full" "$WORK/debug/.build-id/${id:0:2}/${id:2}.debug"
	for_a_second "$WORK/stripped" -f --debug-dir "$WORK/debug" | grep -q ';a::b::spin '
	for_a_second "$WORK/stripped" -f --debug-dir="$WORK/debug" --no-demangle | grep -q ';_ZN1a1b4spinEPVi '
	for_a_second "$WORK/stripped" -f | grep -q ';\[stripped+0x[0-9a-f]*\] '
	run env -u DEBUGINFOD_URLS cpuprof --debuginfod 1
	[ "$status" = 2 ]
	[[ "$output" == *DEBUGINFOD_URLS* ]]
}

@test "names: of a program that is removed when it has run, as builds do; of an older one it is said that they are lost" {
	need_root
	need gcc
	printf 'volatile int n;\n__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 700000000; i++) n++; }\nint main(void) { spin(); return 0; }\n' >"$WORK/a.c"
	gcc -O1 -o "$WORK/built" "$WORK/a.c"
	cpuprof -f -- sh -c 'cp "$0/built" "$0/new"; "$0/new"; rm "$0/new"' "$WORK" >"$WORK/folded" 2>"$WORK/err"
	grep -q ';main;spin ' "$WORK/folded"
	refute grep 'of files that were gone' "$WORK/err"
	cpuprof -f -- sh -c 'cp "$0/built" "$0/old"; touch -d yesterday "$0/old"; "$0/old"; rm "$0/old"' "$WORK" >"$WORK/folded" 2>"$WORK/err"
	grep -q ';\[old\];\[old\] ' "$WORK/folded"
	grep -qE "^cpuprof: [1-9][0-9.]* % of frames are of files that were gone before their names were read, like '.*/old'$" "$WORK/err"
}

# bats test_tags=timing
@test "names: a process with bomb symbols does not delay cpuprof" {
	need_root
	need python3 gcc objcopy
	printf '.globl main\nmain: jmp bomb\n.type bomb,@function\nbomb: nop\njmp bomb\n.size bomb, .-bomb\n' >"$WORK/a.s"
	gcc -o "$WORK/plain" "$WORK/a.s"
	hostile-elf pairs "$WORK/pairs" 28
	objcopy --redefine-sym "bomb=$(nm "$WORK/pairs" | awk '{ print $3 }')" "$WORK/plain" "$WORK/bomb"
	background "$WORK/bomb"
	start=$(date +%s%N)
	cpuprof -f -p "$pid" 1 >"$WORK/folded" 2>"$WORK/err"
	expect "$(($(date +%s%N) - start)) < 4e9"
	grep -q ';_Z1fISt4pair' "$WORK/folded"
}

@test "names: a BPF program's frames are FUNCTION [bpf]" {
	need_root
	need clang bpftool
	cat >"$WORK/busy.bpf.c" <<-'END'
		__attribute__((section("xdp"), used)) int busy(void *ctx)
		{
			unsigned int x = (long)ctx;
			for (int i = 0; i < 5000; i++)
				asm volatile("%0 += 1" : "+r"(x));
			return 2;
		}
		char LICENSE[] __attribute__((section("license"), used)) = "GPL";
	END
	clang -O2 -g -target bpf -c "$WORK/busy.bpf.c" -o "$WORK/busy.bpf.o"
	local pinned=/sys/fs/bpf/ehperf-names-$$
	bpftool prog load "$WORK/busy.bpf.o" $pinned || skip "cannot load the program"
	head -c 64 /dev/zero >"$WORK/in"
	# not for_a_second(): the limit ends nobody in the kernel
	background timeout 60 bpftool prog run pinned $pinned data_in "$WORK/in" repeat 100000000
	wait_until pgrep -P "$pid" bpftool
	cpuprof -q -K -f -p "$(pgrep -P "$pid")" 2 >"$WORK/out" 2>/dev/null
	kill "$pid"
	rm $pinned
	cat "$WORK/out"
	grep -qE ';bpf_test_run;bpf_prog_[0-9a-f]+_busy \[bpf\] [0-9]+$' "$WORK/out"
}

# bats test_tags=full
@test "names: a kernel module's frames are FUNCTION [MODULE], in a Debian kernel under QEMU" {
	need qemu-system-x86_64 cpio busybox apt-get
	local kernel=$ROOT/build/kernels/6.1 release
	"$ROOT/tests/kernels/fetch" 6.1 || skip "needs a Debian kernel"
	release=$(basename "$kernel"/boot/vmlinuz-*)
	release=${release#vmlinuz-}
	if [ ! -e "$kernel/cpuid.ko" ]; then
		(cd "$WORK" && apt-get download -q "linux-image-$release" >/dev/null 2>&1) || skip "needs the kernel's modules"
		dpkg --fsys-tarfile "$WORK"/*.deb | tar -xO --wildcards '*/cpuid.ko' >"$kernel/cpuid.ko"
		chmod +x "$kernel/cpuid.ko"	# as what else is put into the guest
	fi
	cat >"$WORK/script" <<-'END'
		insmod /bin/cpuid.ko
		while :; do dd if=/dev/cpu/0/cpuid of=/dev/null bs=16 count=100000 2>/dev/null; done &
		cpuprof -q -K -f --comm dd 5
		cpuprof -q -K -j --comm dd 2
	END
	"$ROOT/tests/kernels/boot" 6.1 "$WORK/script" "$kernel/cpuid.ko" >"$WORK/console"
	cut -c 1-300 "$WORK/console"
	grep -qE '^dd;.*;cpuid_read \[cpuid\]' "$WORK/console"
	grep -q '"symbol":"cpuid_read","offset":[0-9]*,"module":"cpuid"' "$WORK/console"
}

# bats test_tags=full
@test "a file of root's on btrfs may take time to be named, as on other disks; another user's may not" {
	need_root
	need mkfs.btrfs unshare
	grep -qw btrfs /proc/filesystems || skip "needs btrfs in the kernel"
	truncate -s 120M "$WORK/disk"
	mkfs.btrfs -q "$WORK/disk"
	mkdir "$WORK/mnt"
	unshare --mount sh -ec 'mount -o loop "$0/disk" "$0/mnt"; cp /bin/true "$0/mnt/roots"
		cp /bin/true "$0/mnt/nobodys"; chown 65534 "$0/mnt/nobodys"
		is-trusted "$0/mnt/roots"
		if is-trusted "$0/mnt/nobodys"; then exit 1; fi' "$WORK"
}

# bats test_tags=full
@test "names: node's frames have names in cpuprof, alive or gone; without a map it says what to do" {
	need_root
	need node
	cd "$WORK"	# it leaves a log where it runs
	echo 'function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * i % 7; return s; }
		function hot() { let s = 0; for (let i = 0; i < 100; i++) s += leaf(10000); return s; }
		const end = Date.now() + 1000 * process.argv[2]; while (Date.now() < end) hot();' >"$WORK/busy.js"
	cpuprof -j -- bash -c 'echo $$ >"$0/pid"; exec node --perf-basic-prof "$0/busy.js" 3' "$WORK" >"$WORK/out" 2>"$WORK/err"
	rm "/tmp/perf-$(cat "$WORK/pid").map"
	cat "$WORK/err"
	# of JIT code, every one; node's own functions have names where its file has a symbol table
	jq -r 'select(.type == "stack") | .count as $count | .user[] | select(.module == null) | "\($count) \(.symbol)"' "$WORK/out" |
		awk '{ all += $1 } /leaf/ { leaf += $1 } / null$/ { nameless += $1 } END { print all, leaf, nameless + 0; exit !(leaf > 0 && nameless <= 0.01 * all) }'
	[ -z "$(readelf -SW "$(readlink -f "$(command -v node)")" | grep -w .symtab)" ] || expect "$(summary .named) >= 0.99 * $(summary .frames)"
	background node --perf-basic-prof "$WORK/busy.js" 10
	cpuprof -f -p "$pid" 2 2>"$WORK/err" | grep -q leaf
	cpuprof -f -- node "$WORK/busy.js" 2 >"$WORK/folded" 2>"$WORK/err"
	grep -q 'unnamed JIT code of PID [0-9]*, .*--perf-basic-prof' "$WORK/err"
	kill -KILL "$pid"
	rm "/tmp/perf-$pid.map"
}

# bats test_tags=full
@test "names: a file whose symbols have no room keeps its functions' bounds, and this is said; with more memory it is named" {
	need_root
	need gcc
	many-symbols "$WORK/many" 400000
	chown 65534 "$WORK/many"
	chmod 755 "$WORK"
	as_nobody "$WORK/many"
	cpuprof -f --max-memory 64 -p "$pid" 1 >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/err"
	grep -q 'there was no room for all names of 1 files or processes, see --max-memory$' "$WORK/err"
	# all samples of spin() are of one function, which begins where it does
	[ "$(grep -oE '\[many\+0x[0-9a-f]+\] [0-9]+$' "$WORK/out" | cut -d ' ' -f 1 | sort -u)" = \
		"[many+0x$(nm "$WORK/many" | sed -n 's/^0*\([0-9a-f]*\) t spin$/\1/p')]" ]
	refute grep -q spin "$WORK/out"
	cpuprof -f -p "$pid" 1 >"$WORK/out" 2>"$WORK/err"
	refute grep -q 'there was no room' "$WORK/err"
	grep -q 'spin ' "$WORK/out"
}

# bats test_tags=full
@test "names: of JIT code that has no room, the newer ones are known, and none is wrong" {
	need_root
	local map at
	cp "$ROOT/build/tests/jits" "$WORK/jits"
	chmod 755 "$WORK"
	as_nobody "$WORK/jits" map unnamed
	wait_until grep -q . "$WORK/background.out"
	kill -STOP "$pid"
	at=$(head -n 1 "$WORK/background.out" | cut -d - -f 1)
	map=/tmp/perf-$pid.map
	{
		echo "$at 1000 old"
		seq -f "%.0f0000 1000 another" 1000000 1200000
		echo "$at 1000 new"
	} >"$WORK/map"
	setpriv --reuid=65534 --regid=65534 --clear-groups cp "$WORK/map" "$map"
	cpuprof -f --max-memory 64 -p "$pid" 0.7 >"$WORK/out" 2>"$WORK/err" 3>&- &
	wait_until grep -qs Ctrl-C "$WORK/err"
	kill -CONT "$pid"
	wait $!
	rm "$map"
	cat "$WORK/err"
	grep -qE ';new [0-9]+$' "$WORK/out"
	refute grep -q ';old ' "$WORK/out"
}
