# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the .bats files.

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
PATH=$ROOT/build:$ROOT/build/tests:$ROOT/tests/helpers:$PATH

export SIZE=${SIZE-full}	# of tests/run

setup() {
	WORK=$(mktemp -d)
	pids=()
}

# ends those of $pids that are still children of this test: a number may be another process' by now
end_children() {
	local p
	for p in "${pids[@]}"; do
		[ "$(awk '/^PPid:/ { print $2 }' "/proc/${p#-}/status" 2>/dev/null)" != $$ ] || kill -- "$p" 2>/dev/null || true
	done
}

teardown() {
	end_children
	[ -z "${expedited_before:-}" ] || echo "$expedited_before" >"$expedited"
	rm -rf "$WORK"
}

# Until teardown, what waits for a grace period of RCU waits for milliseconds, as on most machines. Some were seen that
# expedite them, so that an update of a map of maps takes 0.1 ms.
expedited=/sys/kernel/rcu_expedited
long_grace_periods() {
	# one test at a time, or the first one's end would shorten them for the others
	[ ! -r "$expedited" ] || { exec {grace_periods}<"$expedited"; flock -w 300 "$grace_periods"; }
	[ "$(cat "$expedited" 2>/dev/null)" = 1 ] && [ -w "$expedited" ] || return 0
	expedited_before=1
	echo 0 >"$expedited"
}

# how many, or how long: the first in test-full, the second in test
sized() {	# IN_FULL IN_TEST
	if [ "$SIZE" = full ]; then echo "$1"; else echo "$2"; fi
}

# of the lines on stdin all in test-full, a sixth of them in test, the first ten in check
sample_of_size() {
	case $SIZE in
	check) head -n 10 ;;
	test) awk 'NR % 6 == 1' ;;
	*) cat ;;
	esac
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

need() {
	local program
	for program; do
		command -v "$program" >/dev/null || skip "needs $program"
	done
}

# whether a test also takes a program that `make test` does not install: in the full size, which needs it. A test that takes
# what happens to be there is another test on each machine.
extra() {
	[ "$SIZE" = full ] && need "$1"
}

# runs the command in the background, until teardown at the latest; its PID is in $pid
background() {
	# opened here, and a file of its own: the one before may begin, and write, later than this one
	local out
	rm -f "$WORK/background.out"
	exec {out}>"$WORK/background.out"
	"$@" >&"$out" 2>&1 3>&- {out}>&- &
	pid=$!
	exec {out}>&-
	pids+=("$pid")
}

# a pipe that nobody reads, and into which nothing more goes: its writers wait until drain_pipe; $full is its descriptor
full_pipe() {	# NAME
	mkfifo "$1"
	exec {full}<>"$1"
	head -c 65536 /dev/zero >&$full
}

drain_pipe() {
	head -c 65536 <&$full >"$WORK/zeros"
}

# Prefixes of a command that run it in namespaces of its own. --propagation unchanged, because a chroot's root is no mount
# point, of which the propagation could be changed. --mount-proc makes /proc private nevertheless.
in_pid_namespace=(unshare --pid --fork --propagation unchanged --mount-proc)
# nobody else sees what is mounted below /proc and /sys
in_mount_namespace=(unshare --mount --propagation unchanged bash -ec
	'mount --make-rprivate /proc; mount --make-rprivate /sys; exec "$@"' bash)

# Waits until the command succeeds, 90 s at most: more than ten times what a tool takes to start on a busy machine. Looks seldom
# after a while: where processes are dear, what many tests look with would take a CPU.
wait_until() {
	local pause=0.05 looks=0 end=$((SECONDS + 90))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "did not become true: $*" >&2; return 1; }
		sleep $pause
		[ $((++looks)) -lt 4 ] || pause=0.2
	done
}

# waits until the process has ended, 60 s at most
wait_until_gone() {	# PID
	local i stat
	for ((i = 0; i < 600; i++)); do
		read -r stat 2>/dev/null <"/proc/$1/stat" && [[ ${stat##*) } != [ZX]* ]] || return 0
		sleep 0.1
	done
	echo "process $1 has not ended" >&2
	return 1
}

# nanoseconds that the threads of a process have had a CPU, by the kernel's account
ran_ns() {	# PID
	cat "/proc/$1/task"/*/schedstat 2>/dev/null | awk '{ n += $1 } END { printf "%.0f", n }'
}

# waits until the process has had a CPU for so many milliseconds from now on, 3 min at most; $ran: the nanoseconds
wait_until_it_ran() {	# PID MILLISECONDS
	local from end=$((SECONDS + 180))
	from=$(ran_ns "$1") ran=0
	while [ "$ran" -lt $(($2 * 1000000)) ]; do
		[ -e "/proc/$1" ] && [ $SECONDS -lt $end ] || { echo "process $1 has not run for $2 ms" >&2; return 1; }
		sleep 0.1
		ran=$(($(ran_ns "$1") - from))
	done
}

# The tool, which a SIGINT ends, measures while process $pid has a CPU for so many milliseconds: a second by the clock may
# pass without a moment for it. Its output is $WORK/out, its messages are $WORK/err; $ran as above
measure_while_it_runs() {	# MILLISECONDS TOOL ARG...
	local ms=$1 tool
	shift
	rm -f "$WORK/err"	# of an earlier run
	"$@" >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	wait_until_it_ran "$pid" "$ms"
	kill -INT "$tool"
	wait "$tool"
}

# A tool and its command, on one CPU alone: when others have that, or nobody, what the tool has to do for a new process, and can
# do late, is not later for the process' own time.
on_one_cpu() {	# TOOL ARG...
	taskset -c "$(awk '{ print $39 }' /proc/self/stat)" "$@"
}

# seconds that all CPUs have spent so far in one of the ways of /proc/stat: idle, steal, …
cpu_seconds() {	# WAY
	awk -v way="$1" -v hz="$(getconf CLK_TCK)" 'BEGIN { n = split("user nice system idle iowait irq softirq steal", ways) }
		$1 == "cpu" { for (i = 1; i <= n; i++) if (ways[i] == way) print $(i + 1) / hz }' /proc/stat
}

# an ordinary user's process in the background
as_user() {	# UID COMMAND...
	background setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"
}
as_nobody() {	# COMMAND...
	as_user 65534 "$@"
}

# a JVM's library; nothing: there is none
libjvm() {
	find /usr/lib/jvm -name libjvm.so 2>/dev/null | head -n 1
}

# CPU time that no thread's clock has, so far
others_ns() {
	awk "BEGIN { printf \"%.0f\", ($(cpu_seconds steal) + $(cpu_seconds irq) + $(cpu_seconds softirq)) * 1e9 }"
}

# false in a PID namespace of its own
sees_kernel_threads() {
	[ "$(cat /proc/2/comm)" = kthreadd ]
}

is_sleeping() {
	[ "$(awk '{ print $3 }' "/proc/$1/stat")" = S ]
}

# each line of the JSON in $WORK/out, or in FILE, is as the schema has it
valid_json() {	# [FILE]
	/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || skip "needs python3-jsonschema"
	valid-json "${1-$WORK/out}"
}

# the tool says at the start what it measures, unless it is to be quiet
says_when_it_begins() {	# PATTERN TOOL ARG...
	local pattern=$1 tool=$2
	shift 2
	"$tool" "$@" 2>"$WORK/err" >/dev/null
	cat "$WORK/err"
	head -n 1 "$WORK/err" | grep -qE "^$pattern\.\.\. Ctrl-C to end$"
	"$tool" -q "$@" 2>"$WORK/err" >/dev/null
	refute grep -q 'Ctrl-C' "$WORK/err"
}

# -v is at most 30 lines, and none of libbpf's; -vv has those too
is_terse() {	# TOOL ARG...
	local tool=$1
	shift
	"$tool" -v -q "$@" >/dev/null 2>"$WORK/err"
	cat "$WORK/err"
	expect "$(wc -l <"$WORK/err") <= 30 && $(wc -l <"$WORK/err") >= 3"
	refute grep -q '^libbpf:' "$WORK/err"
	"$tool" -vv -q "$@" >/dev/null 2>"$WORK/err"
	grep -q '^libbpf:' "$WORK/err"
}

# the most MiB of memory that the command takes; fails as it does
peak_mib() {	# COMMAND...
	/usr/bin/python3 -c 'import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
sys.exit(status)' "$@"
}

summary() {	# FILTER, of the JSON in $WORK/out
	jq -r "select(.type == \"summary\") | $1" "$WORK/out"
}

# a FILTER of the histogram of the map with this name in $WORK/out
histogram_of() {	# NAME FILTER
	jq -r --arg name "$1" 'select(.type == "histogram" and .key.map_name == $name) | '"$2" "$WORK/out"
}

# "COUNT TOTAL P25 P50 P75" of the nanoseconds on stdin, by sorting them
statistics() {
	sort -n | awk '
		function rank(share,  r) { r = share * NR; return v[r == int(r) ? r : int(r) + 1] }
		{ v[NR] = $1; total += $1 }
		END { printf "%d %.0f %d %d %d\n", NR, total, rank(0.25), rank(0.5), rank(0.75) }'
}

# fails, and prints the awk expression, unless it is true
expect() {
	awk "BEGIN { exit !($1) }" || { echo "expected: $1" >&2; return 1; }
}

# fails if the command succeeds: in a bats test, a failing `! command` is ignored unless it is the last line
refute() {
	if "$@"; then
		echo "should have failed: $*" >&2
		return 1
	fi
}

# hexadecimal addresses on stdin -> "PATH OFFSET" by the maps of process $1
normalise() {
	gawk --non-decimal-data -v maps="/proc/$1/maps" '
		BEGIN {
			while ((getline line < maps) > 0) {
				split(line, f, /[ -]+/)
				n++; start[n] = strtonum("0x" f[1]); end[n] = strtonum("0x" f[2]); off[n] = strtonum("0x" f[5])
				path[n] = line; sub(/^([^ ]+ +){5}/, "", path[n])
			}
		}
		{
			a = strtonum($1)
			for (i = 1; i <= n; i++)
				if (a >= start[i] && a < end[i])
					printf "%s %d\n", path[i], a - start[i] + off[i]
		}'
}

# eu-stack's addresses of thread $1 of a stopped or sleeping process
eu_addresses() {
	eu-stack -r -1 -p "$1" 2>/dev/null | awk '/^#/ { print $2 }'
}

# the file offset of the ELF entry point of a program, by readelf
entry_offset() {
	readelf -hlW "$1" | gawk --non-decimal-data '
		/Entry point/ { entry = strtonum($4) }
		/^  LOAD/ { if (entry >= strtonum($3) && entry < strtonum($3) + strtonum($5)) print entry - strtonum($3) + strtonum($2) }'
}

LIBC=/lib/x86_64-linux-gnu/libc.so.6

# the file offset of clone3 in libc, by nm on its debug file
clone3_offset() {
	local id
	id=$(readelf -n $LIBC | awk '/Build ID/ { print $3 }')
	nm "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" | gawk '$3 ~ /^_*clone3$/ { print strtonum("0x" $1); exit }'
}

# the options that the man page of a tool names under OPTIONS
options_of_page() {	# TOOL
	sed -n '/^\.SH OPTIONS/,/^\.SH /p' "$ROOT/man/man8/$1.8" | sed 's/\\-/-/g' |
		grep -E '^\.(BR|B|TP|IR) ' | grep -oE '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u
}

# --help and the man page's OPTIONS name the same options; those that the page leaves to
# another tool's are there
options_agree() {	# TOOL [OTHER-TOOL]
	"$1" --help | grep -oE '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u >"$WORK/help"
	options_of_page "$1" >"$WORK/man"
	[ -z "${2-}" ] || options_of_page "$2" | comm -12 - "$WORK/help" >>"$WORK/man"
	[ -s "$WORK/help" ]
	diff "$WORK/help" <(sort -u "$WORK/man")
}

# without capabilities, the tool prints what is missing and what to do, in two lines, and exits with 1
refuses_without_root() {	# TOOL
	need_root
	need setpriv
	install -m 755 "$ROOT/build/$1" "$WORK/$1"
	chmod 755 "$WORK"
	run setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "$WORK/$1" 1
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[0]}" == *"CAP_BPF and CAP_PERFMON are missing"* ]]
	[[ "${lines[1]}" == *"run as root"* ]]
}

# The files of a man page, below a folder: what stands between .EX and .EE under a heading that is a file's name.
extract_files() {	# PAGE FOLDER
	gawk -v folder="$2" '
		/^\.SS / { name = unescaped($2) }
		/^\.EX$/ { if (name !~ "[/.]") exit 1; file = folder "/" name; system("mkdir -p $(dirname " file ")"); next }
		/^\.EE$/ { close(file); file = ""; next }
		file != "" && !/^\.ta / { print unescaped($0) > file }
		function unescaped(line) {
			sub(/^\\&/, "", line)
			gsub(/\\-/, "-", line); gsub(/\\\(aq/, "\047", line); gsub(/\\\(ga/, "`", line)
			gsub(/\\\(ha/, "^", line); gsub(/\\\(ti/, "~", line); gsub(/\\e/, "\\", line)
			return line
		}' "$1"
}
