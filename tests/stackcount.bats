#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load lib.bash

# the program's PID is in $pid; it reads from descriptor 8
start_fed() {	# PROGRAM [ARG...]
	mkfifo "$WORK/feed"
	"$@" <"$WORK/feed" >"$WORK/fed" 3>&- &
	pid=$!
	pids+=("$pid")
	exec 8>"$WORK/feed"
	wait_until is_sleeping "$pid"
}

# stackcount in the background, until it measures; its PID is in $tool
start_counting() {	# ARG...
	rm -f "$WORK/err"
	stackcount -j "$@" >"$WORK/out" 2>"$WORK/err" 3>&- 8>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
}

stop_counting() {
	kill -INT "$tool"
	wait "$tool"
	cat "$WORK/err"
}

@test "mallocs by the million of a stripped C++ program: each counted once, from ten places, in whole stacks" {
	need_root
	start_fed mallocs
	local all=2000000
	[ "$SIZE" = full ] || all=300000
	start_counting -p "$pid" u:libc:malloc
	echo $all >&8
	# two traps each, of which each may take 0.1 ms
	wait_until grep -q done "$WORK/fed" || wait_until grep -q done "$WORK/fed"
	stop_counting
	exec 8>&-
	valid_json
	[ "$(summary '"\(.samples) \(.lost)"')" = "$all 0" ]
	expect "$(summary .ended.complete) >= 0.999 * $all"
	[ "$(jq -r 'select(.type == "stack") | .count' "$WORK/out" | sort | uniq -c | awk '{ print $1, $2 }')" = "10 $((all / 10))" ]
	[ "$(jq -r 'select(.type == "stack") | "\(.user[0].symbol) \(.event | sub(".*/"; ""))"' "$WORK/out" | sort -u)" = "malloc libc.so.6:malloc" ]
	valid_json
}

# bats test_tags=full
@test "ten stacks of malloc: gdb's, stopped there by a breakpoint" {
	need_root
	need gdb
	start_fed mallocs
	start_counting -p "$pid" u:libc:malloc
	echo 10 >&8
	wait_until grep -q done "$WORK/fed"
	stop_counting
	exec 8>&-
	jq -r 'select(.type == "stack") | [.user[] | "\(.module | sub(".*/"; "")) \(.file_offset)"] | join(" ")' "$WORK/out" | sort >"$WORK/ours"
	# the offset in the file of each frame's pc, by the mappings that gdb lists
	echo 10 >"$WORK/ten"
	cat >"$WORK/frames.py" <<-'PY'
		import gdb
		gdb.execute("set pagination off")
		gdb.execute("starti")
		def maps():
		    for line in open("/proc/%d/maps" % gdb.selected_inferior().pid):
		        f = line.split()
		        a, b = (int(x, 16) for x in f[0].split("-"))
		        if len(f) > 5: yield a, b, int(f[2], 16), f[5].split("/")[-1]
		def stack():
		    out, frame, m = [], gdb.newest_frame(), list(maps())
		    while frame is not None:
		        pc = frame.pc()
		        for a, b, offset, name in m:
		            if a <= pc < b: out.append("%s %d" % (name, pc - a + offset))
		        frame = frame.older()
		    return " ".join(out)
		gdb.execute("catch syscall read")
		while not any(n == "libc.so.6" for *_, n in maps()): gdb.execute("continue", to_string=True)
		while "mallocs" not in stack(): gdb.execute("continue", to_string=True)
		gdb.execute("delete")
		gdb.execute("break *malloc")
		for i in range(10):
		    gdb.execute("continue", to_string=True)
		    print("stack", stack())
		gdb.execute("kill")
	PY
	gdb -q -batch -ex "set confirm off" -ex "set args <$WORK/ten >/dev/null" -x "$WORK/frames.py" "$ROOT/build/tests/mallocs" 2>"$WORK/gdb.err" |
		sed -n 's/^stack //p' | sort >"$WORK/gdb"
	cat "$WORK/gdb.err"
	[ "$(wc -l <"$WORK/gdb")" -eq 10 ]
	diff "$WORK/gdb" "$WORK/ours"
}

# bats test_tags=full
@test "page faults of a process: as many as its /proc/PID/stat counts" {
	need_root
	need python3
	start_fed python3 -c 'import mmap, os
print("ready", flush=True)
while os.read(0, 1):
	m = mmap.mmap(-1, 4096 * 5000)
	for i in range(5000): m[i * 4096] = 1
	print("done", flush=True)'
	wait_until grep -q ready "$WORK/fed"
	wait_until is_sleeping "$pid"
	local all
	all=$(awk '$1 == "pgfault" { print $2 }' /proc/vmstat)
	start_counting -p "$pid" page-faults
	local before after
	before=$(awk '{ print $10 + $12 }' "/proc/$pid/stat")
	echo >&8
	wait_until grep -q done "$WORK/fed"
	wait_until is_sleeping "$pid"
	after=$(awk '{ print $10 + $12 }' "/proc/$pid/stat")
	stop_counting
	exec 8>&-
	echo "before $before, after $after, counted $(summary '"\(.samples), \(.lost) lost"')"
	expect "$after - $before >= 5000"
	# Those lost are any process's, as perf counts on all CPUs: where a thread is preempted in bpf(2), the kernel runs no program
	# for the faults of others. They are no more than all processes had; a fault may be tried again.
	expect "$(summary .samples) <= $after - $before && $(summary '.samples + .lost') >= $after - $before"
	expect "$(summary '.samples + .lost') <= 1.1 * $(awk -v all="$all" '$1 == "pgfault" { print $2 - all }' /proc/vmstat)"
	expect "$(summary .samples) > 0 && $(summary .ended.complete) >= 0.999 * $(summary .samples)"
	# every tenth: the tenth part
	local nr tenth
	nr=$(stackcount -j page-faults -- python3 -S -c 0 2>/dev/null | jq -s 'map(select(.type == "stack").count) | add')
	tenth=$(stackcount -j -c 10 page-faults -- python3 -S -c 0 2>/dev/null | jq -s 'map(select(.type == "stack").count) | add')
	expect "$nr > 200 && $tenth >= 0.05 * $nr && $tenth <= 0.15 * $nr"
}

@test "a USDT probe of Debian's python3: as often as the program says, in stacks down to its start" {
	need_root
	[ -x /usr/bin/python3 ] || skip "needs Debian's python3"
	stackcount -l 'usdt:/usr/bin/python3:python:gc*' >"$WORK/list"
	grep -q 'usdt:/.*:python:gc__start$' "$WORK/list"
	local nr found=()
	for nr in 0 1234; do
		stackcount -j usdt:/usr/bin/python3:python:gc__start -- /usr/bin/python3 -c "import gc; gc.disable(); [gc.collect(0) for i in range($nr)]" >"$WORK/out" 2>"$WORK/err"
		cat "$WORK/err"
		expect "$(summary .ended.complete) == $(summary .samples)"
		found+=("$(summary '.samples + .lost')")
	done
	[ $((found[1] - found[0])) -eq 1234 ]
	[ "$(jq -rs 'map(select(.type == "stack"))[0] | "\(.user | length > 10) \(.user[-1].symbol)"' "$WORK/out")" = "true _start" ]
}

@test "events that the kernel does not hand to programs, for one is running or bpf(2) is at work, are counted as lost" {
	need_root
	need python3
	# each update of a map of devices takes memory where no program may run
	cat >"$WORK/updates.py" <<-'PY'
		import ctypes, struct
		libc = ctypes.CDLL(None)
		def bpf(command, *words):
		    attributes = struct.pack(*words).ljust(128, b"\0")
		    result = libc.syscall(321, command, attributes, 128)
		    assert result >= 0
		    return result
		devices = bpf(0, "4I", 14, 4, 4, 1)	# BPF_MAP_CREATE, BPF_MAP_TYPE_DEVMAP
		key, value = ctypes.c_uint(0), ctypes.c_uint(1)	# the loopback device
		for i in range(1000):
		    bpf(2, "4Q", devices, ctypes.addressof(key), ctypes.addressof(value), 0)
	PY
	stackcount -j t:kmem:kmalloc -- /usr/bin/python3 "$WORK/updates.py" >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/err"
	# any process's, on all CPUs
	expect "$(summary .lost_unseen) >= 1000 && $(summary .lost) >= $(summary .lost_unseen)"
}

@test "an event of perf's: counted or lost, also where the kernel runs no program because bpf(2) is at work" {
	need_root
	background busy-bpf 300
	wait_until grep -q ready "$WORK/background.out"
	local ran
	measure_while_it_runs 2000 stackcount -j -c 1000000 -p "$pid" cpu-clock
	echo "samples $(summary .samples) lost $(summary .lost), on the CPU $ran ns"
	expect "$(summary .lost) > 100 && $(summary .samples) + $(summary .lost) > 0.97 * $ran / 1e6"
}

@test "a pattern: each event is the root of its stacks, and is counted apart" {
	need_root
	need perl
	stackcount -f 't:sched:sched_process_*' -- perl -e 'for (1..50) { my $p = fork; exit 0 unless $p; waitpid $p, 0 }' >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/err"
	# those lost are of any process and of either event
	local lost event n
	lost=$(awk '$3 ~ /^events?$/ && $4 ~ /^lost/ { n += $2 } END { print n + 0 }' "$WORK/err")
	while read -r event n; do
		expect "$(grep "^perl;t:sched:sched_process_$event;" "$WORK/out" | awk '{ n += $NF } END { print n + 0 }') <= $n"
		expect "$(grep "^perl;t:sched:sched_process_$event;" "$WORK/out" | awk '{ n += $NF } END { print n + 0 }') >= $n - $lost"
	done <<<$'fork 50\nexit 51\nexec 1'
	expect "$lost < 50"
	run stackcount 'u:libc:*' 1
	[ "$status" -eq 1 ]
	[[ "$output" == *"the limit is 500"* ]]
}

@test "-l: tracepoints as tracefs has them, functions as nm has them, names of perf's" {
	need_root
	need nm
	unshare -m true 2>/dev/null || skip "no mount namespace of its own can be had"
	# tracefs need not be mounted: then it is for a moment, in a namespace of its own
	stackcount -l t:sched >"$WORK/list"
	grep -q sched_switch "$WORK/list"
	diff "$WORK/list" <(unshare -m bash -c 'mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing
		find /sys/kernel/tracing/events/sched -mindepth 1 -maxdepth 1 -type d -printf "t:sched:%f\n"' | LC_ALL=C sort)
	local all
	all=$(stackcount -l 'u:libz.so.1:deflate*' | sed 's/.*://')
	[ -n "$all" ]
	diff <(nm -D --defined-only /lib/x86_64-linux-gnu/libz.so.1 | awk '$2 == "T" && $3 ~ /^deflate/ { sub(/@.*/, "", $3); print $3 }' | sort -u) \
		<(grep -xFf <(nm -D --defined-only /lib/x86_64-linux-gnu/libz.so.1 | awk '{ sub(/@.*/, "", $3); print $3 }') <<<"$all" | sort -u)
	stackcount -l 'page-*' | grep -qx page-faults
}

# what names have in brackets, and operators, is not spelled so in the file
@test "functions of C++, as nm writes them" {
	need_root
	need g++ nm
	cat >"$WORK/names.cc" <<-'CC'
		#include <string>
		#include <vector>
		namespace { __attribute__((noipa)) int hidden(int n) { return n + 1; } }
		struct point { int x; bool operator==(const point &o) const; operator bool() const; };
		__attribute__((noipa)) bool point::operator==(const point &o) const { return x == o.x; }
		__attribute__((noipa)) point::operator bool() const { return x; }
		namespace own {
		template <class T> struct box { __attribute__((noipa)) int size(const T &t) { return t.size(); } };
		__attribute__((noipa)) std::string tagged(int n) { return std::string(n, 'x'); }
		}
		int main(int c, char **)
		{
			point a{c}, b{2};
			own::box<std::vector<int, std::allocator<int>>> box;
			std::vector<int> w(c);
			return hidden(c) + (a == b) + bool(a) + box.size(w) + own::tagged(c).size();
		}
	CC
	g++ -O1 -o "$WORK/names" "$WORK/names.cc"
	local name nr=0
	while read -r name; do
		[ "$(stackcount -l "u:$WORK/names:$name")" = "u:$WORK/names:$name" ]
		nr=$((nr + 1))
		# with their parameters, as nm has them
	done < <(nm -C "$WORK/names" | sed -n 's/^[0-9a-f]* [TtWw] \(.*::.*\)(.*/\1/p' | sort -u)
	expect "$nr >= 5"
}

# the kernel refuses probes on some instructions; they are no reason to refuse the others
@test "a pattern: a function that cannot be probed is left out, which is said" {
	need_root
	need gcc
	local codes=(ud2 int3 hlt cli syscall lfence rdtscp 'in %dx, %al' outsb 'int $0x80' 'rdfsbase %rax') i
	{
		for i in "${!codes[@]}"; do
			printf 'asm(".globl odd_%d; .type odd_%d, @function; odd_%d: %s; ret; .size odd_%d, . - odd_%d");\n' \
				"$i" "$i" "$i" "${codes[i]}" "$i" "$i"
		done
		printf '__attribute__((noipa)) int odd_number(int n) { return n | 1; }\nint main(void) { return odd_number(4) != 5; }\n'
	} | gcc -O1 -x c -o "$WORK/odd" -
	# while it runs: for a file that nobody runs, the kernel says nothing
	stackcount -j "u:$WORK/odd:odd_*" -- "$WORK/odd" >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/err"
	grep -q "${#codes[@]} functions not probed: the kernel cannot probe their first instructions, or they lie within one" "$WORK/err"
	[ "$(summary '.samples + .lost')" -eq 1 ]
	run stackcount "u:$WORK/odd:odd_1" -- "$WORK/odd"
	[ "$status" -eq 1 ]
	[[ "$output" == *"the kernel cannot probe its first instruction"* ]]
}

# a breakpoint there would change what the program does
@test "a place within an instruction is not probed: an address, a function, a probe" {
	need_root
	need gcc objcopy nm readelf perl
	cat >"$WORK/a.c" <<-'C'
		volatile long n = 1;
		__attribute__((noipa)) long hot(long n) { return n * 0x1122334455667788; }
		int main(void) { return hot(n) != 0x1122334455667788; }
	C
	gcc -O1 -o "$WORK/whole" "$WORK/a.c"
	local hot text
	hot=$((16#$(nm "$WORK/whole" | awk '$3 == "hot" { print $1 }')))
	text=$((16#$(readelf -SW "$WORK/whole" | grep -o ' \.text .*' | awk '{ print $3 }')))
	perl -e 'my $d = pack("Q<3", $ARGV[0] + 2, 0, 0) . "of\0within\0\0"; print pack("L<3a8a*x!4", 8, length $d, 3, "stapsdt", $d)' "$hot" >"$WORK/note"
	objcopy --add-symbol within=.text:$((hot + 2 - text)),function,global --add-section .note.stapsdt="$WORK/note" "$WORK/whole" "$WORK/prog"
	local event
	for event in "u:$WORK/prog+$(printf '0x%x' $((hot + 2)))" "u:$WORK/prog:within"; do
		run stackcount -q "$event" -- "$WORK/prog"
		echo "$output"
		[ "$status" -eq 1 ]
		[[ $output == *"it lies within an instruction" ]]
	done
	run stackcount -q "usdt:$WORK/prog:of:within" -- "$WORK/prog"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"or they lie within one" ]]
	# those before and behind it are probed, and the others of a pattern
	for event in "u:$WORK/prog+$(printf '0x%x' "$hot")" "u:$WORK/prog+$(printf '0x%x' $((hot + 10)))" "u:$WORK/prog:[hw]*"; do
		stackcount -q -j -o "$WORK/out" "$event" -- "$WORK/prog" 2>"$WORK/err"
		[ "$(summary .samples)" -eq 1 ]
		rm "$WORK/out"
	done
	grep -q '^stackcount: 1 function not probed: ' "$WORK/err"
}

@test "by the address that stacks show, and by the offset in the file: the same" {
	need_root
	# a C library of its own: who else calls malloc() is not to pay for it
	mkdir "$WORK/lib"
	cp "$LIBC" "$WORK/lib"
	stackcount -j "u:$WORK/lib/libc.so.6:malloc" -- env LD_LIBRARY_PATH="$WORK/lib" ls / >"$WORK/all"
	grep '^{' "$WORK/all" >"$WORK/out"
	local vaddr offset module count
	count=$(summary '.samples + .lost')
	read -r vaddr offset module < <(jq -r 'select(.type == "stack") | .user[0] | "\(.function_vaddr) \(.file_offset) \(.module)"' "$WORK/out" | head -n 1)
	expect "$count > 10"
	local event
	for event in "u:$module+$vaddr" "u:$module:$(printf '0x%x' "$offset")" "u:$module:mallo?"; do
		stackcount -j "$event" -- env LD_LIBRARY_PATH="$WORK/lib" ls / >"$WORK/all"
		grep '^{' "$WORK/all" >"$WORK/out"
		[ "$(summary '.samples + .lost')" -eq "$count" ]
	done
}

switched() {	# PID NR
	[ "$(awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$1/status")" -ge "$2" ]
}

# the event is counted while the process, which sleeps after each, does so 20 times
is_counted() {	# PID EVENT
	start_counting -p "$1" "$2"
	wait_until switched "$1" $(($(awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$1/status") + 20))
	stop_counting
	expect "$(summary .samples) > 5"
}

# what two processes run who see other files than we do, at paths that lead to other files here
@test "-p: files are those that the process sees, in its root and in its mount namespace" {
	need_root
	need unshare gcc
	chmod 755 "$WORK"
	local kind
	for kind in here there; do
		printf 'int %s_only(int x) { return x + 1; }\n#include <unistd.h>\nint main(void) { for (;;) %s_only(usleep(1000)); }\n' $kind $kind |
			gcc -static -O0 -x c -o "$WORK/$kind" -
	done
	# an absolute link: in the chroot it leads into the chroot
	mkdir -p "$WORK/host" "$WORK/root$WORK/host" "$WORK/mounted"
	cp "$WORK/here" "$WORK/host/prog"
	cp "$WORK/here" "$WORK/mounted/prog"
	cp "$WORK/there" "$WORK/root/prog"
	ln -s "$WORK/host" "$WORK/root/link"
	background chroot "$WORK/root" /prog
	local chrooted=$pid
	wait_until grep -q /prog "/proc/$chrooted/maps"
	run stackcount -p "$chrooted" -l u:/link/prog:here_only
	[ "$status" -eq 1 ]
	cp "$WORK/there" "$WORK/root$WORK/host/prog"
	[ "$(stackcount -p "$chrooted" -l u:/link/prog:there_only)" = "u:/proc/$chrooted/root$WORK/host/prog:there_only" ]
	is_counted "$chrooted" u:prog:there_only
	background unshare -m sh -c 'mount -t tmpfs none "$1/mounted" && cp "$1/there" "$1/mounted/prog" && exec "$1/mounted/prog"' sh "$WORK"
	wait_until grep -q mounted/prog "/proc/$pid/maps"
	for name in prog "$WORK/mounted/prog" "/proc/$pid/root$WORK/mounted/prog"; do
		is_counted "$pid" "u:$name:there_only"
	done
	run stackcount -p "$pid" -l u:prog:here_only
	[ "$status" -eq 1 ]
	# what is the same file has its own name
	[ "$(stackcount -p "$pid" -l u:libc:malloc)" = "$(stackcount -l u:libc:malloc)" ]
}

@test "whose the probed file is, and who else may write to it: with -v, and always if others may" {
	need_root
	cp /bin/true "$WORK/prog"
	local mode says event
	event=u:$WORK/prog+$(readelf -h "$WORK/prog" | awk '/Entry/ { print $4 }')
	while read -r mode says; do
		chown 65534:65534 "$WORK/prog"
		chmod "$mode" "$WORK/prog"
		stackcount -v "$event" -- "$WORK/prog" >/dev/null 2>"$WORK/err"
		grep -qxF "stackcount: probing '$WORK/prog' of uid 65534, $says" "$WORK/err"
		stackcount -q "$event" -- "$WORK/prog" >/dev/null 2>"$WORK/err"
		[ "$(grep -c "probing '$WORK/prog'" "$WORK/err")" -eq "$([ "$mode" = 755 ] && echo 0 || echo 1)" ]
	done <<-'END'
		755 which nobody else may write to
		775 which its group may write to, too
		777 which everybody may write to
	END
}

# as an upgrade does it
@test "-p: a program whose file was replaced since runs what it had, and that is probed" {
	need_root
	need gcc
	local kind
	for kind in old new; do
		printf 'int %s_only(int x) { return x + 1; }\n#include <unistd.h>\nint main(void) { for (;;) %s_only(usleep(1000)); }\n' $kind $kind |
			gcc -static -O0 -x c -o "$WORK/$kind" -
	done
	cp "$WORK/old" "$WORK/prog"
	mkdir "$WORK/root"
	cp "$WORK/old" "$WORK/new" "$WORK/root"
	background chroot "$WORK/root" /old
	wait_until grep -q "/old" "/proc/$pid/maps"
	mv "$WORK/root/new" "$WORK/root/old"
	for name in old /old; do
		is_counted "$pid" "u:$name:old_only"
	done
	background "$WORK/prog"
	wait_until grep -q "$WORK/prog" "/proc/$pid/maps"
	mv "$WORK/new" "$WORK/prog"
	for name in prog "$WORK/prog"; do
		is_counted "$pid" "u:$name:old_only"
		run stackcount -p "$pid" -l "u:$name:new_only"
		[ "$status" -eq 1 ]
	done
	# for all others, the path is what it is
	[ "$(stackcount -l "u:$WORK/prog:*_only")" = "u:$WORK/prog:new_only" ]
}

# sparse sections, which take no room on the disk
@test "a file that claims symbols, names or section names of a gigabyte: refused, in little memory" {
	need_root
	need gcc objcopy
	echo 'int hot(int x) { return x; } int main(void) { return hot(0); }' | gcc -O0 -x c -o "$WORK/sane" -
	local section tool
	for section in .symtab .strtab .shstrtab; do
		cp "$WORK/sane" "$WORK/huge"
		/usr/bin/python3 - "$WORK/huge" $section <<-'EOF'
			import struct, sys
			path, wanted = sys.argv[1:]
			file = bytearray(open(path, "rb").read())
			shoff, = struct.unpack_from("<Q", file, 0x28)
			shentsize, shnum, shstrndx = struct.unpack_from("<HHH", file, 0x3a)
			header = lambda i: struct.unpack_from("<IIQQQQIIQQ", file, shoff + i * shentsize)
			names = header(shstrndx)[4]
			for i in range(shnum):
			    h = list(header(i))
			    if bytes(file[names + h[0]:]).split(b"\0")[0].decode() == wanted:
			        at = len(file)
			        file += file[h[4]:h[4] + h[5]]
			        h[4], h[5] = at, 1000000032 // 24 * 24
			        struct.pack_into("<IIQQQQIIQQ", file, shoff + i * shentsize, *h)
			        break
			open(path, "wb").write(file)
			open(path, "r+b").truncate(at + h[5])
		EOF
		for tool in "stackcount -l u:$WORK/huge:hot" "stackcount -l u:$WORK/huge:*" "stackcount -l usdt:$WORK/huge:*" "ehdump $WORK/huge"; do
			peak_mib $tool >"$WORK/most" 2>"$WORK/err" || [ $? -le 2 ]
			echo "# ${tool%%/*}, $section: $(cat "$WORK/most") MiB" >&3
			expect "$(cat "$WORK/most") < 150"
		done
	done
	stackcount -l "u:$WORK/sane:hot"
}

@test "what the kernel, the machine or the file does not have is one line, and exit 1; a wrong name is exit 2" {
	need_root
	local event
	mkfifo "$WORK/fifo"
	for event in t:sched:nonsense u:libc:nonsense u:/nonexistent:main u:/etc/passwd:main u:libc:strlen usdt:libc:nonsense:x \
		"u:$WORK/fifo:main" u:/dev/zero:main "usdt:$WORK/fifo:*:*" \
		nonsense-event cpu-clock:period=1000 cycles:precise=2 "u:libc:0x1" u:libc+0x7fffffffffff; do
		run timeout 20 stackcount "$event" 1
		echo "$event: $status $output"
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
	done
	if [ ! -e /sys/bus/event_source/devices/kprobe ]; then
		run stackcount k:vfs_read 1
		[ "$status" -eq 1 ]
		[ "$output" = "stackcount: cannot attach to 'k:vfs_read': this kernel has no kprobes: use one built with CONFIG_KPROBE_EVENTS, or a tracepoint (-l 't:*')" ]
		for event in 'k:tcp_*' 'k:ext4:*' '-l k:vfs*'; do
			run stackcount $event
			[ "$status" -eq 1 ]
			[[ "$output" == *"': this kernel has no kprobes: "* ]]
		done
	fi
	if [ ! -e /sys/bus/event_source/devices/cpu ]; then
		run stackcount cycles 1
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" == *"no hardware counter (PMU)"* ]]
	fi
	for event in "" u:libc t:sched "-c 0 page-faults" "-c 5 u:libc:malloc" "u:libc:0xzz" "page-faults 1 2"; do
		run stackcount $event
		echo "$event: $status $output"
		[ "$status" -eq 2 ]
	done
}

@test "a name without its prefix, group or class: what was meant, of the kinds that the tool knows" {
	need_root
	need g++
	g++ -x c++ -o "$WORK/bank" - <<-'EOF'
		struct Bank { int parse(int); int parse(const char *); };
		struct Post { int parse(int); };
		int Bank::parse(int x) { return x; }
		int Bank::parse(const char *x) { return *x; }
		int Post::parse(int x) { return x; }
		int main() { return !(Bank().parse(1) + Bank().parse("x") + Post().parse(3)); }
	EOF
	local command said
	while IFS='|' read -r command said; do
		run $command
		echo "$output"
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
		[ "$output" = "${command%% *}: $said" ]
	done <<-EOF
		stackcount openat|no event has the name 'openat': did you mean t:syscalls:sys_enter_openat or u:libc.so.6:openat?
		stackcount sched:sched_switch|no event has the name 'sched:sched_switch': did you mean t:sched:sched_switch?
		stackcount t:nonsense:sched_switch|there is no tracepoint 'nonsense:sched_switch': did you mean t:sched:sched_switch?
		stackcount no-such-event|no event has the name 'no-such-event': perf's events are page-faults, cycles and so on; the others begin with t:, k:, u: or usdt:
		stackcount u:$WORK/bank:parse|'$WORK/bank' has no function 'parse': did you mean u:$WORK/bank:Bank::parse or u:$WORK/bank:Post::parse?
		stackcount u:$WORK/bank:nonsense|'$WORK/bank' has no function 'nonsense'
		funclat malloc|no event has the name 'malloc': did you mean u:libc.so.6:malloc?
		funclat no-such-event|no event has the name 'no-such-event': a function is u:FILE:FUNCTION, or k:FUNCTION of the kernel
		cpuprof -e malloc|no event has the name 'malloc': perf's events are page-faults, cycles and so on
	EOF
	# both of them
	stackcount -q -j "u:$WORK/bank:Bank::parse" -- "$WORK/bank" >"$WORK/out"
	[ "$(summary .samples)" -eq 2 ]
}

@test "--sum: a field of a tracepoint, as strace has it; the sum in all formats, and of a recording" {
	need_root
	need strace perl
	local reads='open(my $f, "<", "/dev/zero"); for (1 .. 20) { sysread($f, my $b, $_ % 2 ? 1234 : 99) }' sum ending
	sum=$(strace -f -o /dev/stdout -e trace=read perl -e "$reads" | grep -oE ', [0-9]+\) += ' | awk '{ s += substr($2, 1) } END { print s }')
	stackcount -q -o "$WORK/x.jsonl" -o "$WORK/x.folded" -o "$WORK/x.json" -o "$WORK/x.perf" -o "$WORK/x.txt" -o "$WORK/x.svg" -o "$WORK/x.pb.gz" \
		--sum count t:syscalls:sys_enter_read -- perl -e "$reads"
	mv "$WORK/x.jsonl" "$WORK/out"
	valid_json
	[ "$(summary .sum)" -eq "$sum" ]
	[ "$(jq -s '[.[] | select(.type == "stack").sum] | add' "$WORK/out")" -eq "$sum" ]
	[ "$(jq -s '[.[] | select(.type == "stack").count] | add' "$WORK/out")" -eq "$(summary .samples)" ]
	[ "$(awk '{ s += $NF } END { print s }' "$WORK/x.folded")" -eq "$sum" ]
	[ "$(jq '.profiles[0].endValue' "$WORK/x.json")" -eq "$sum" ]
	[ "$(jq -r '.profiles[0].unit' "$WORK/x.json")" = bytes ]
	[ "$(awk '/ bytes:$/ { s += $(NF - 1) } END { print s }' "$WORK/x.perf")" -eq "$sum" ]
	grep -qE '^ +[0-9]+ bytes, [0-9.]+ % of all$' "$WORK/x.txt"
	grep -q bytes "$WORK/x.svg"
	zcat "$WORK/x.pb.gz" | grep -aq bytes
	for ending in folded json perf txt svg pb.gz; do
		flame -o "$WORK/again.$ending" "$WORK/out"
		cmp "$WORK/again.$ending" "$WORK/x.$ending"
	done
}

@test "--sum: an argument of a probe, in memory and in a register" {
	need_root
	[ -x /usr/bin/python3 ] || skip "needs Debian's python3"
	local nr found=()
	for nr in 0 50; do	# gc__start has the generation, gc__done the number of objects
		stackcount -q -j --sum arg0 usdt:/usr/bin/python3:python:gc__start -- /usr/bin/python3 -c "import gc; gc.disable(); [gc.collect(2) for i in range($nr)]" >"$WORK/out"
		found+=("$(summary .sum)")
		[ "$(summary .lost)" -eq 0 ]
	done
	[ $((found[1] - found[0])) -eq 100 ]
	stackcount -q -j --sum arg0 usdt:/usr/bin/python3:python:gc__done -- /usr/bin/python3 -c "
import gc
gc.disable()
gc.collect()
for i in range(10):
	l = [[] for j in range(100)]
	for k in l: k.append(k)
	del l, k
	print(gc.collect(), file=open('$WORK/collected', 'a'))" >"$WORK/out"
	expect "$(summary .sum) >= $(awk '{ s += $1 } END { print s }' "$WORK/collected") && $(summary .sum) >= 1000"
	run stackcount --sum arg1 usdt:/usr/bin/python3:python:gc__start 1
	[[ "$status $output" == "2 stackcount: "*" has no arg1: its arguments are "* ]]
}

# bats test_tags=check
@test "--sum: an argument of a function; what is below 0 or too large; what is no argument" {
	need_root
	printf '%s\n' '__attribute__((noipa)) void take(long a, long b, long c, long d, long e, long f) { asm volatile("" :: "r"(a)); }' \
		'int main(void) { for (long i = 1; i <= 100; i++) take(i, -i, 3, 1L << 60, 5 * i, 6); }' >"$WORK/takes.c"
	cc -O2 -o "$WORK/takes" "$WORK/takes.c"
	local n=0 sum
	for sum in 5050 0 300 429496729500 25250 600; do
		stackcount -q -j --sum arg$n "u:$WORK/takes:take" -- "$WORK/takes" >"$WORK/out"
		[ "$(summary .samples) $(summary .sum)" = "100 $sum" ]
		n=$((n + 1))
	done
	valid_json
	# nothing to show
	stackcount -q --sum arg1 -o "$WORK/x.svg" -o "$WORK/x.html" -o - "u:$WORK/takes:take" -- "$WORK/takes"
	run stackcount --sum arg6 "u:$WORK/takes:take" 1
	[[ "$status $output" == "2 stackcount: the arguments of functions and probes are arg0 to arg5: 'arg6'" ]]
	run stackcount --sum arg0 page-faults 1
	[[ "$status $output" == "2 stackcount: --sum is for tracepoints, functions and probes"* ]]
	run stackcount --sum nothing t:sched:sched_process_exec 1
	[[ "$status $output" == "2 stackcount: 't:sched:sched_process_exec' has no field 'nothing'"* ]]
	run stackcount --sum filename t:sched:sched_process_exec 1
	[[ "$status $output" == "2 stackcount: the field 'filename' of 't:sched:sched_process_exec' is not a number" ]]
	run stackcount --sum common_pid t:sched:sched_process_exec 1
	[[ "$status $output" == "2 stackcount: the field 'common_pid' of 't:sched:sched_process_exec' cannot be summed up"* ]]
}

@test "-t: a thread that ends while its function is looked up leaves no other process probed" {
	need_root
	need gcc
	mkdir "$WORK/mnt"
	gcc -xc -o "$WORK/program" - <<<'int main(void) { return 0; }'
	background hung-fs "$WORK/mnt" "$WORK/program" 500
	wait_until grep -q ready "$WORK/background.out" || skip "needs FUSE"
	background sleep 1000
	stackcount -t "$pid" "u:$WORK/mnt/f:main" 1 >"$WORK/out" 2>"$WORK/err" 3>&- &
	local tool=$!
	wait_until sh -c 'ls -l /proc/*/fd 2>/dev/null | grep -q "$1"' sh "$WORK/mnt/f"
	kill "$pid"
	local status=0
	wait $tool || status=$?
	cat "$WORK/err"
	umount -l "$WORK/mnt"
	[ "$status $(cat "$WORK/err")" = "1 stackcount: all threads of -t have ended" ]
}

# bats test_tags=check
@test "the options of --help are those of the man page; it does not run without privileges" {
	options_agree stackcount cpuprof
	need_root
	need setpriv
	install -m 755 "$ROOT/build/stackcount" "$WORK/stackcount"
	chmod 755 "$WORK"
	run setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "$WORK/stackcount" page-faults 1
	[ "$status" -eq 1 ]
	[[ "${lines[0]}" == *"CAP_BPF and CAP_PERFMON are missing"* ]]
}

# bats test_tags=check
@test "each BPF program takes at most 15,000 instructions to verify" {
	need_root
	local event
	for event in page-faults u:libc:getgrent t:sched:sched_process_exec; do
		stackcount -v --comm nobody --cgroup / -C 0 "$event" 0.1 2>&1 >/dev/null | awk '/instructions verified/ { print $2, $3 }' | tee "$WORK/verified"
		grep -q count_ "$WORK/verified"
		awk '$2 > 15000 { exit 1 }' "$WORK/verified"
	done
}

@test "functions of a stripped program: by its debug file, also in a directory that is closed to others" {
	need_root
	need gcc objcopy strip
	mkdir -m 700 "$WORK/closed"
	echo 'static __attribute__((noipa)) int hidden(int n) { return n * 3; } int main(int n, char **v) { return hidden(n) - 3; }' >"$WORK/a.c"
	gcc -g -O1 -o "$WORK/closed/a" "$WORK/a.c"
	objcopy --only-keep-debug "$WORK/closed/a" "$WORK/closed/a.debug"
	strip "$WORK/closed/a"
	refute stackcount -l "u:$WORK/closed/a:hid*" 2>"$WORK/err"
	objcopy --add-gnu-debuglink="$WORK/closed/a.debug" "$WORK/closed/a"
	run stackcount -l "u:$WORK/closed/a:hid*"
	[ "$output" = "u:$WORK/closed/a:hidden" ]
	stackcount -j "u:$WORK/closed/a:hidden" -- "$WORK/closed/a" >"$WORK/out"
	[ "$(summary .samples)" -eq 1 ]
}
