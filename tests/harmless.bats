#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# An observer never harms what it observes: programs print the same, and end in the same way, whatever is measured.

load lib.bash

# core	in make test, too
# name	also of the folder of its own, $dir
# needs	or is left out, with the reason
# build	$out is the program, $src is tests/workloads/unharmed
# files	whose functions are probed, all of them copies in $dir; the programs in it use the C library in it, if one is there
# command	ends with the same status and output each time
programs='
core|c++       |g++            |g++ -O2 -o $out ${src%/*}/harmed.cc                       |$out              |$out one two
core|jumps     |gcc            |gcc -O2 -o $out $src.c                                    |$out              |$out plain jumps
core|signals   |gcc            |gcc -O2 -o $out $src.c                                    |$out              |$out signals
core|vfork     |gcc            |gcc -O2 -o $out $src.c                                    |$out              |$out vfork clone
core|fork      |gcc            |gcc -O2 -o $out $src.c                                    |$out              |$out fork plain
core|threads   |gcc            |gcc -O2 -pthread -o $out $src.c                           |$out              |$out threads
core|coroutines|gcc            |gcc -O2 -o $out $src.c                                    |$out              |$out coroutines
core|static    |gcc            |gcc -O2 -static -pthread -o $out $src.c                   |$out              |$out plain jumps signals vfork fork threads clone coroutines
core|python    |/usr/bin/python3|cp -L /usr/bin/python3 $out                              |$out              |$out -S -c "$python"
core|pipeline  |seq sort uniq  |lib libc.so.6                                             |$dir/libc.so.6    |seq 2000 | sed s/.*// | sort | uniq -c; (exit 4) | cat; echo $(seq 9 | tac); exit 5
full|backtrace |gcc            |gcc -O2 -o $out $src.c; lib libc.so.6                     |$out $dir/libc.so.6|$out backtrace
full|dlopen    |gcc            |gcc -O2 -o $out $src.c; answer; lib libc.so.6             |$out $dir/answer.so $dir/libc.so.6|$out dlopen=$dir/answer.so
full|io_uring  |gcc            |gcc -O2 -o $out $src.c                                    |$out              |$out io_uring
full|seccomp   |gcc            |gcc -O2 -o $out $src.c                                    |$out              |$out seccomp
full|musl      |musl-gcc       |musl-gcc -O2 -static -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu -o $out $src.c|$out|$out plain jumps signals vfork fork threads clone
full|asan      |gcc            |gcc -O1 -fsanitize=address,undefined -pthread -o $out $src.c|$out            |$out plain jumps vfork fork threads
full|tsan      |gcc            |gcc -O1 -fsanitize=thread -pthread -o $out $src.c         |$out              |$out jumps fork threads
full|go        |go             |go build -o $out $src.go                                  |$out              |$out
full|node      |node           |cp -L "$(node -p process.execPath)" $out                  |$out              |$out --stack-size=100 -e "$javascript"
full|java      |javac java     |jdk                                                       |$dir/jdk/lib/server/libjvm.so|$dir/jdk/bin/java -Xmx64m -Xss256k -cp $dir Unharmed
full|xz        |/usr/bin/xz    |lib libc.so.6 liblzma.so.5                                |$dir/liblzma.so.5 $dir/libc.so.6|seq 100000 | xz -2 -T2 | xz -d | cksum; xz -t /etc/passwd; exit $?
full|sqlite3   |/usr/bin/sqlite3|lib libc.so.6 libsqlite3.so.0                            |$dir/libsqlite3.so.0 $dir/libc.so.6|sqlite3 -bail :memory: "$sql"
full|openssl   |/usr/bin/openssl|lib libc.so.6 libcrypto.so.3                             |$dir/libcrypto.so.3|seq 20000 | openssl dgst -sha256; seq 2000 | openssl enc -aes-128-cbc -K 00 -iv 00 2>&- | cksum; openssl rsa -in /dev/null 2>&-
full|git       |/usr/bin/git   |lib libc.so.6 libz.so.1                                   |$dir/libc.so.6 $dir/libz.so.1|eval "$git"
full|perl      |/usr/bin/perl  |cp -L /usr/bin/perl $out                                  |$out              |$out -e "$perl"
'
export python='
import re, os, threading
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
def bad(n):
    try: return 1 // (n % 3)
    except ZeroDivisionError: return 100
results = []
threads = [threading.Thread(target=lambda: results.append(sum(bad(i) + deep(i % 50) for i in range(300)))) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
pid = os.fork()
if pid == 0: os._exit(deep(9))
print(sorted(results), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(re.findall("[0-9]7", str(2 ** 3000))))
raise SystemExit(3)'
export javascript='
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
let caught = 0;
const endless = n => endless(n + 1) + 1;
for (let i = 0; i < 3; i++) try { endless(0) } catch { caught++ }
const all = Array.from({length: 20}, (_, i) => new Promise(done => setTimeout(() => done(fib(i)), i % 3)));
Promise.all(all).then(sums => {
	console.log(sums.join(), caught, fib(22), require("zlib").gzipSync("x".repeat(9999)).length,
		require("child_process").spawnSync("sh", ["-c", "exit 7"]).status);
	process.exitCode = 3;
});'
export sql='
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into t select i, hex(i * i) from n;
create index b on t(b);
select count(*), sum(a), max(b), count(distinct substr(b, 1, 2)) from t where b > 3;
select b from t order by b desc limit 3;
select nothing from t;'
export git='
export HOME=$d GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE="1000000000 +0000" GIT_COMMITTER_DATE="1000000000 +0000"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
cd $d; rm -rf r; git init -q -b main r; cd r
for i in 1 2 3; do seq $i 500 >f$i; git add .; git commit -q -m $i; done
git gc -q; git log --stat --format=%H; git fsck; git checkout -q nothing'
export perl='
$SIG{ALRM} = sub { $alarms++ };
sub deep { my $n = shift; $n ? 1 + deep($n - 1) : 0 }
for $i (1 .. 300) { eval { die "odd\n" if $i % 2; $good += deep($i % 60); 1 } or $caught++ }
if (!($pid = fork)) { exit deep(9) }
waitpid $pid, 0; $child = $? >> 8;
kill ALRM => $$;
my %words; $words{$_ % 97 . "x"}++ for 1 .. 2000;
$text = join ",", map { "$_=$words{$_}" } sort keys %words;
print "$good $caught $child $alarms ", scalar(() = $text =~ /1\dx/g), "\n"; exit 3'

tools=(cpuprof offcputime offwaketime wallprof "stackcount t:sched:sched_switch" mapupdlat biohist)

# ---- what the table's build column uses ----

# copies of libraries, for the programs of this row alone
lib() {	# NAME...
	local name
	for name; do cp -L "${LIBC%/*}/$name" "$dir"; done
}

answer() {
	echo 'static int half(int n) { return n / 2; } int answer(void) { return half(84); }' | gcc -O0 -shared -fPIC -x c -o "$dir/answer.so" -
}

jdk() {
	local home
	home=$(java -XshowSettings:properties -version 2>&1 | awk '$1 == "java.home" { print $3 }')
	cp -rs "$home" "$dir/jdk"
	cp --remove-destination "$(readlink -f "$home/lib/server/libjvm.so")" "$dir/jdk/lib/server/libjvm.so"
	cp --remove-destination "$(readlink -f "$home/lib/libjli.so")" "$dir/jdk/lib/libjli.so"
	cp --remove-destination "$(readlink -f "$home/bin/java")" "$dir/jdk/bin/java"
	javac -d "$dir" "$ROOT/tests/workloads/Unharmed.java"
}

# ---- how a row is run ----

# what the command prints, and its exit status, in FILE
ended() {	# FILE COMMAND...
	local status=0
	timeout -k 5 300 "${@:2}" >"$1" 2>"$WORK/err" </dev/null || status=$?
	echo "status $status" >>"$1"
}

# says so, goes on and fails in the end, unless the program has ended as it did bare
is_unharmed() {	# BY WHAT
	diff "$WORK/bare" "$WORK/watched" >"$WORK/difference" && return
	echo "# $name is harmed by $*:" >&3
	head -n 20 "$WORK/difference" "$WORK/err" | sed 's/^/# /' >&3
	harmed+=("$name by $*")
}

# calls a function for each row of the size: with its $name, $files, and @command, which runs it
each_program() {	# core|full FUNCTION...
	local size name needs build files line need missing dir out command nr=0 src=$ROOT/tests/workloads/unharmed
	harmed=()
	while IFS='|' read -r size name needs build files line; do
		[ "$size" = core ] || [ "$size" = "$1" ] || continue
		name=${name// }
		[[ ,${PROGRAMS-$name}, == *,$name,* ]] || continue
		dir=$WORK/$name out=$WORK/$name/$name missing=
		for need in $needs; do command -v "$need" >/dev/null || missing=$need; done
		[ -z "$missing" ] || { echo "# $name is left out: needs $missing" >&3; continue; }
		[ -d "$dir" ] || { mkdir "$dir"; eval "$build"; }
		eval "files=\"$files\""
		command=(env d="$dir" out="$out" dir="$dir" LD_LIBRARY_PATH="$dir" sh -c "exec 2>&1; $line")
		ended "$WORK/bare" "${command[@]}"
		refute grep -qE '^status 1(2[4-9]|[3-9].)' "$WORK/bare"
		if grep -q '^status 77$' "$WORK/bare"; then
			echo "# $name is left out: this kernel lacks it" >&3
			continue
		fi
		"${@:2}"
		nr=$((nr + 1))
	done < <(grep '|' <<<"$programs")
	echo "# $nr programs" >&3
	[ $nr -ge 8 ] || [ -n "${PROGRAMS-}" ]
	[ ${#harmed[@]} -eq 0 ] || { printf 'harmed: %s\n' "${harmed[@]}"; return 1; }
}

# patterns that match all functions of a file, each no more than a tool takes; if there are more than MOST, those that match the most
patterns() {	# FILE MOST
	funclat -l "u:$1:*" | cut -c $((${#1} + 4))- | awk -v many=250 '
		{ names[NR] = $0; for (k = 0; k <= length; k++) nr[substr($0, 1, k)]++ }
		END {
			for (i = 1; i <= NR; i++) {
				for (k = 0; k < length(names[i]) && nr[substr(names[i], 1, k)] > many; k++);
				p = substr(names[i], 1, k) (k < length(names[i]) || nr[names[i]] <= many ? "*" : "")
				matched[p]++
			}
			for (p in matched) print matched[p], p
		}' | sort -k1,1nr -k2 | head -n "$2" | cut -d ' ' -f 2-
}

# all functions of a program are probed, or those of some patterns
probed() {	# MOST
	local file pattern tool all events refused
	for file in $files; do
		all=() events=0 refused=0
		mapfile -t all < <(patterns "$file" "$1")
		[ ${#all[@]} -gt 0 ]
		for pattern in "${all[@]}"; do
			for tool in funclat stackcount; do
				rm -f "$WORK/out.jsonl"
				ended "$WORK/watched" "$tool" -q -j -o "$WORK/out.jsonl" "u:$file:$pattern" -- "${command[@]}"
				# none of these can be timed, or there are more than -l says, which tells one of an address' names
				if grep -qE 'cannot time|can be timed:|the limit is 500' "$WORK/err"; then
					refused=$((refused + 1))
					continue
				fi
				is_unharmed "$tool u:${file##*/}:$pattern"
				events=$((events + $(jq -s 'map(select(.type == "summary"))[0] | (.calls // .samples // 0) + (.lost // 0)' "$WORK/out.jsonl")))
			done
		done
		echo "# $name: ${#all[@]} patterns in ${file##*/}, $refused of $((2 * ${#all[@]})) runs refused, $events events" >&3
		expect "$refused <= ${#all[@]}"
		[ $events -gt 0 ]
	done
}

# begins to measure the whole machine: $tool
begin() {	# NAME TOOL ARG...
	rm -f "$WORK/$1.err"	# the last tool's
	"${@:2}" -o "$WORK/$1.txt" 2>"$WORK/$1.err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q 'Ctrl-C' "$WORK/$1.err"
}

end() {	# NAME PID
	kill -INT "$2"
	wait "$2" || { cat "$WORK/$1.err"; return 1; }
	# there may be no update of a map, and no I/O
	[ -s "$WORK/$1.txt" ] || grep -qE '\b0 (calls|ios) in' "$WORK/$1.err" || { cat "$WORK/$1.err"; return 1; }
}

beside() {	# TOOLS
	ended "$WORK/watched" "${command[@]}"
	is_unharmed "$1"
}

each_tool() {
	local of tool
	for of in "${tools[@]}"; do
		begin measured $of
		each_program full beside "$of"
		end measured "$tool"
		rm "$WORK/measured.txt"
	done
}

all_tools() {
	local i tool running=()
	for i in "${!tools[@]}"; do
		begin "measured$i" ${tools[i]}
		running+=("$tool")
	done
	each_program core beside "all tools at once"
	for i in "${!tools[@]}"; do end "measured$i" "${running[i]}"; done
}

@test "programs of ten kinds end as ever while each of their functions is timed and counted" {
	need_root
	need jq
	each_program core probed 1
}

@test "programs of ten kinds end as ever while all tools measure the whole machine" {
	need_root
	all_tools
}

# microseconds of an mmap() and its munmap(), the median of batches
mapping_us() {
	/usr/bin/python3 -c '
import mmap, time
def batch():
    began = time.perf_counter()
    for _ in range(50): mmap.mmap(-1, 65536).close()
    return (time.perf_counter() - began) / 50 * 1e6
print(sorted(batch() for _ in range(100))[50])'
}

# bats test_tags=full
@test "a probed file that is written to: its probes are removed, the run ends, and programs run as without it" {
	need_root
	need cc
	local tool before changed
	cat >"$WORK/main.c" <<-'END'
		#include <stdio.h>
		int work(int);
		int main(void) { unsigned sum = 0; for (int i = 0; i < 2000; i++) sum += work(i % 50); printf("%x\n", sum); }
	END
	echo 'int work(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i * 3; return s; }' >"$WORK/one.c"
	echo 'int other(int n) { return n * 7; } int work(int n) { volatile long s = 1; for (int i = 0; i < n; i++) s = s * 33 + i; return s; }' >"$WORK/two.c"
	cc -O2 -shared -fPIC -o "$WORK/one" "$WORK/one.c"
	cc -O1 -shared -fPIC -o "$WORK/two" "$WORK/two.c"
	cp "$WORK/two" "$WORK/lib.so"
	cc -o "$WORK/main" "$WORK/main.c" "$WORK/lib.so"
	changed=$("$WORK/main")
	for tool in stackcount funclat; do
		cp "$WORK/one" "$WORK/lib.so"
		before=$("$WORK/main")
		rm -f "$WORK/err"	# the last tool's
		"$tool" "u:$WORK/lib.so:work" --duration 60 >"$WORK/out" 2>"$WORK/err" &
		pids+=($!)
		wait_until grep -q 'Ctrl-C' "$WORK/err"
		[ "$("$WORK/main")" = "$before" ]
		cp "$WORK/two" "$WORK/lib.so"
		[ "$("$WORK/main")" = "$changed" ]
		wait $!
		grep -q "/lib.so' is being written to: its probes would break it" "$WORK/err"
		grep -q '2000 \(events\|calls\)' "$WORK/err" || { cat "$WORK/err"; false; }
	done
	# one that is replaced is another file
	cp "$WORK/one" "$WORK/lib.so"
	rm -f "$WORK/err"
	stackcount "u:$WORK/lib.so:work" --duration 3 >"$WORK/out" 2>"$WORK/err" &
	pids+=($!)
	wait_until grep -q 'Ctrl-C' "$WORK/err"
	cp "$WORK/two" "$WORK/new"
	mv "$WORK/new" "$WORK/lib.so"
	[ "$("$WORK/main")" = "$changed" ]
	wait $!
	grep -q "/lib.so' was removed or replaced: programs that start from now on are not measured" "$WORK/err"
}

@test "six tools at once: a change of mappings costs what each of them takes, not what they make each other do" {
	need_root
	local bare i tool_pids=()
	bare=$(mapping_us)
	for i in 1 2 3 4 5 6; do
		cpuprof -o "$WORK/$i.folded" 2>"$WORK/$i.err" 3>&- &
		tool_pids+=($!)
		pids+=($!)
	done
	for i in 1 2 3 4 5 6; do
		wait_until grep -q Ctrl-C "$WORK/$i.err"
	done
	expect "$(mapping_us) < 15 * $bare"
	kill -INT "${tool_pids[@]}"
	wait "${tool_pids[@]}"
}

# bats test_tags=full
@test "25 programs end as ever while each of their functions, or those of 25 patterns, are timed and counted" {
	need_root
	need jq
	each_program full probed 25
}

# bats test_tags=full
@test "25 programs end as ever while each tool measures the whole machine" {
	need_root
	each_tool
}

# bats test_tags=full,alone
@test "5,000 starts of programs of ten kinds while all tools measure the whole machine: each ends as bare" {
	need_root
	need gcc perl git xz openssl
	local n of kind nr=0 round harmed=0 names=() running=()
	mkdir "$WORK/lib"
	cp "$LIBC" "$WORK/lib"
	export LD_LIBRARY_PATH=$WORK/lib static=$WORK/static
	gcc -O2 -static -pthread -o "$static" "$ROOT/tests/workloads/unharmed.c"
	local kinds=("true" "false" 'sh -c "echo \$((6 * 7)) | cat; exit 5"' '/usr/bin/python3 -S -c "print(6 * 7); exit(9)"'
		'perl -e "print 6 * 7; exit 7"' '"$static" jumps fork' 'git --version' 'echo 42 | xz | xz -d'
		'openssl version' 'bash -c "kill -TERM \$\$"')
	for n in "${!kinds[@]}"; do ended "$WORK/bare$n" bash -c "${kinds[n]}"; done
	unset LD_LIBRARY_PATH
	# of one letter, s has the most functions that may be probed at once
	for of in "${tools[@]}" "funclat u:$WORK/lib/libc.so.6:s*" "stackcount u:$WORK/lib/libc.so.6:[sx]*"; do
		begin "tool${#names[@]}" $of
		running+=("$tool") names+=("tool${#names[@]}")
	done
	export LD_LIBRARY_PATH=$WORK/lib
	for ((round = 0; round < 500; round++)); do
		for n in "${!kinds[@]}"; do
			ended "$WORK/watched" bash -c "${kinds[n]}"
			nr=$((nr + 1))
			cmp -s "$WORK/bare$n" "$WORK/watched" && continue
			harmed=$((harmed + 1))
			echo "# ${kinds[n]}: $(tr '\n' ' ' <"$WORK/watched")" >&3
		done
	done
	unset LD_LIBRARY_PATH
	for n in "${!names[@]}"; do end "${names[n]}" "${running[n]}"; done
	echo "# $nr programs, $harmed of them harmed; $(grep -h ' calls in \| events in ' "$WORK"/tool?*.err | tr '\n' ' ')" >&3
	[ "$nr" -eq 5000 ]
	[ "$harmed" -eq 0 ]
}

# ---- and the other way round: attackers do not hold a tool up ----

# milliseconds since it was called before, in $took
lap() {
	local now=${EPOCHREALTIME/./}
	took=$(((now - lapped) / 1000)) lapped=$now
}

# Starts $tool, whose messages come through a pipe. This shell is the watch, and goes first until the tool has ended. Attackers are
# not to be started meanwhile: they would have no timer slack.
begin_watched() {	# TOOL ARG...
	local line=
	chrt --rr --pid 1 $BASHPID
	lap
	exec {messages}< <(exec chrt --other 0 "$@" 2>&1 >/dev/null 3>&-)
	tool=$!
	pids+=("$tool")
	until [[ $line = *Ctrl-C* ]]; do
		read -r line <&"$messages" || { echo "$1 has ended: $line"; chrt --other --pid 0 $BASHPID; return 1; }
	done
	lap
}

end_watched() {
	local status=0
	lap
	wait "$tool" || status=$?
	lap
	chrt --other --pid 0 $BASHPID
	[ $status -eq 0 ] || cat <&"$messages"
	exec {messages}<&-
	return $status
}

# A duration of 1 s is kept within a second, and a SIGINT ends a tool within a second, mostly half of one, beyond what the tool takes
# without an attack: a report waits up to 0.8 s for names of others' code. To report 60,000 to 90,000 different stacks, or names of
# threads, takes a second or two.
ends_in_time() {	# ATTACK TOOL ARG...
	local attack=$1 tool took lapped=0 messages started late after latest=1000 most=1000
	shift
	rm -f "$WORK"/tool.out*
	begin_watched "$@" -o "$WORK/tool.out.txt" ${duration[$1]-1}
	started=$took
	end_watched
	late=$((took - 1000))
	begin_watched "$@" -o "$WORK/tool.out.txt"
	sleep 1
	kill -INT "$tool"
	end_watched
	after=$took
	echo "# $attack: $1 starts within $started ms, ends $late ms after its duration, $after ms after SIGINT" >&3
	[ "$attack" != nothing ] || bare["$1"]="$started $late $after"
	[[ $attack != stacks && $attack != keys ]] || latest=2000 most=2000
	read -r bare_started bare_late bare_after <<<"${bare["$1"]-0 0 0}"
	expect "$started < $bare_started + 5000 && -200 < $late && $late < ($bare_late > 0 ? $bare_late : 0) + $latest && $after < $bare_after + $most" ||
		late_tools+=("$attack: $1")
}

# bats test_tags=full,alone,timing
@test "under attack, each tool ends when its duration does, and when a SIGINT comes" {
	need_root
	need setpriv python3 gcc
	chrt --rr 1 true || skip "needs a real-time policy"
	local name of before jvm late_tools=() bare_started bare_late bare_after
	local -A bare=() duration=([mapupdlat]="1 1" [biohist]="1 1" [funclat]="1 1")
	chmod 755 "$WORK"
	mkdir -m 777 "$WORK/files" "$WORK/lib"
	cp "$LIBC" "$WORK/lib"
	cp "$ROOT"/build/tests/{nested,mapper,far-stacks,many-stacks,new-threads,fake-jvm,dlstorm,storm?.so} \
		"$ROOT"/tests/workloads/{new_functions,shared_code,large_lines}.py "$WORK"
	hostile-elf cfi "$WORK/cfi" 1000000
	hostile-elf sparse "$WORK/sparse" $((1 << 40)) 240000000
	for name in ${ATTACKS-nothing mappings tables threads stacks churn storm keys \
		python lock objects lines symbols jvm libraries}; do
		before=${#pids[@]}
		case $name in
		mappings) as_nobody "$WORK/mapper" hold 600 5 60000 "$WORK/nested" ;;
		tables) as_nobody "$WORK/mapper" hold 600 0 1 "$WORK/cfi" "$WORK/sparse" ;;
		threads) as_nobody "$WORK/far-stacks" 4000; wait_until grep -q asleep "$WORK/background.out" ;;
		stacks) as_nobody "$WORK/many-stacks" 8 ;;
		churn) as_nobody "$WORK/mapper" churn 600 "$WORK/files" "$WORK/nested" ;;
		storm) as_nobody "$WORK/mapper" storm 600 3 3000 "$WORK/nested" ;;
		keys) as_nobody "$WORK/new-threads" 4 ;;
		python) as_nobody /usr/bin/python3 "$WORK/new_functions.py" 600 24 100 ;;
		lock) as_nobody /usr/bin/python3 "$WORK/new_functions.py" 600 4 100 4 ;;
		objects) as_nobody /usr/bin/python3 "$WORK/shared_code.py" ;;
		lines) as_nobody /usr/bin/python3 "$WORK/large_lines.py" ;;
		symbols)
			[ -e "$WORK/symbols" ] || many-symbols "$WORK/symbols" 700000
			as_nobody bash -c 'for i in 1 2 3 4 5 6; do cp "$0/symbols" "$1/symbols$i"; "$1/symbols$i" & done; wait' "$WORK" "$WORK/files"
			;;
		jvm)
			jvm=$(libjvm)
			[ -n "$jvm" ] || { echo "# jvm is left out: needs java" >&3; continue; }
			as_nobody "$WORK/fake-jvm" "$jvm" 400 200000 16 100
			;;
		libraries) as_nobody "$WORK/dlstorm" churn 600 "$WORK"/storm?.so ;;
		esac
		sleep 1
		for of in "${tools[@]}" "funclat u:$WORK/lib/libc.so.6:m*"; do
			ends_in_time "$name" $of
		done
		[ "$name" != nothing ] || continue
		kill -0 "${pids[before]}"	# it was one all the time
		end_attack "${pids[before]}"
	done
	[ ${#late_tools[@]} -eq 0 ] || { printf 'late: %s\n' "${late_tools[@]}"; return 1; }
}

# it, and the processes that it has forked
end_attack() {	# PID
	pkill -P "$1" || true
	kill "$1" || true
	wait "$1" 2>/dev/null || true
}
