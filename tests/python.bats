#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Python's functions in stacks, against what Python itself says of its stack.

load lib

# "COUNT function file line;…" of the sleeps in $WORK/out, root first, as sort prints them
slept_in() {
	jq -r 'select(.type == "stack") | select(any(.user[].symbol; . != null and test("nanosleep"))) |
		[.count, ([.user[] | select(.runtime == "python") | "\(.symbol) \(.source) \(.line)"] | reverse | join(";"))] | @tsv' \
		"$WORK/out" | gawk -F '\t' '{ n[$2] += $1 } END { for (k in n) print n[k], k }' | grep ';Worker.end ' | sort
}

logged() {
	sort "$WORK/log" | uniq -c | sed 's/^ *//' | sort
}

# what was made by compile() has a name or, if it was thrown away before that was read, none
made_alike() {
	sed -E 's/(<module> <made [0-9]+>|null null) (null|[0-9]+)/made/g' |
		gawk '{ n = $1; sub(/^[0-9]+ /, ""); sum[$0] += n } END { for (k in sum) print sum[k], k }' | sort
}

# "CALLER CALLEE MODULE,…" of each Python function that another one called, with the files of the native frames between them
called_through() {
	jq -r 'select(.type == "stack") | select(any(.user[].symbol; . != null and test("nanosleep"))) |
		reduce (.user | reverse[]) as $f ({ pairs: [], between: [] };
			if $f.runtime == "python" then
				.pairs += ["\(.caller) \($f.symbol) \(.between | unique | join(","))"] | .caller = $f.symbol | .between = []
			else .between += [$f.module // "-" | sub(".*/"; "")] end) | .pairs[]' "$WORK/out" |
		sort | uniq -c | grep -v null
}

# Who calls through what is known from chains.py: the frames of C stand where they belong.
alternate_rightly() {
	called_through >"$WORK/through"
	gawk '
		{ ok = 1 }
		$2 ~ /^Worker\.(sorts|generates|compiled|reduces|positive)$/ { ok = $4 ~ /^(lib)?python|_functools/ && $4 !~ /,/; of_c++ }
		$2 == "Worker.queries" { ok = $4 ~ /libsqlite3/ && $4 ~ /_sqlite3/; of_c++ }
		$2 == "Worker.vectors" { ok = $4 ~ /_multiarray_umath/; of_c++ }
		$2 == "JSONDecoder.raw_decode" && $3 ~ /^Worker/ { ok = $4 ~ /_json|^python[^,]*$/; of_c++ }	# in a module, or built in
		$2 == "Worker.constructs" { ok = $4 ~ /^((lib)?python[^,]*)?$/; of_c++ }	# from 3.12 on without C
		$2 ~ /^(Worker\.(go|plain.*|static|über|decodes.*|generates.*values|__pos__|.*<lambda>)|Nested.__init__|<module>)$/ { ok = NF == 3 }
		!ok { print }
		END { if (of_c < 7) print "only", of_c, "ways through C" }' "$WORK/through" >"$WORK/wrong"
	cat "$WORK/wrong"
	[ ! -s "$WORK/wrong" ]
}

# each stop's stack is what Python says. Not off the CPU: of a timer that is late already, there is nothing to wait for
same_stacks() {	# PYTHON
	need "$1" jq gawk
	on_one_cpu stackcount -q -j -o "$WORK/out" t:syscalls:sys_enter_clock_nanosleep -- "$1" "$ROOT/tests/workloads/chains.py" "$WORK/log" 500 2
	slept_in | made_alike >"$WORK/got"
	logged | made_alike >"$WORK/want"
	[ "$(wc -l <"$WORK/log")" -ge 1000 ]
	diff "$WORK/want" "$WORK/got" | cut -c 1-400 | head -n 20
	cmp "$WORK/want" "$WORK/got"
}

# each interpreter of a kind that is known, of those that Debian's releases have; others by PYTHONS="PROGRAM..."
find_pythons() {
	mapfile -t pythons < <(if [ -n "${PYTHONS-}" ]; then tr ' ' '\n' <<<"$PYTHONS"; else compgen -G '/usr/bin/python3.1[1-3]'; fi)
	[ ${#pythons[@]} -gt 0 ] || skip "needs Debian's python3.11, 3.12 or 3.13"
}

@test "python: functions, files and lines are Python's own, through C that calls Python back" {
	need_root
	local python pythons
	find_pythons
	for python in "${pythons[@]}"; do
		same_stacks "$python"
		alternate_rightly
	done
}

@test "python: generators, coroutines, tasks and asynchronous generators: each stack, as often as Python says" {
	need_root
	need jq gawk
	local python pythons
	find_pythons
	for python in "${pythons[@]}"; do
		on_one_cpu stackcount -q -j -o "$WORK/out" t:syscalls:sys_enter_clock_nanosleep -- "$python" "$ROOT/tests/workloads/coroutines.py" "$WORK/log"
		slept_in >"$WORK/got"
		logged >"$WORK/want"
		expect "$(wc -l <"$WORK/want") > 20"
		diff "$WORK/want" "$WORK/got" | cut -c 1-300 | head -n 20
		cmp "$WORK/want" "$WORK/got"
	done
}

@test "python: several interpreters: those functions that called the inner one are its callers, and none is another's" {
	need_root
	need jq gawk
	local python pythons
	find_pythons
	for python in "${pythons[@]}"; do
		rm -f "$WORK/log"
		on_one_cpu stackcount -q -j -o "$WORK/out" t:syscalls:sys_enter_clock_nanosleep -- "$python" "$ROOT/tests/workloads/interpreters.py" "$WORK/log"
		jq -r 'select(.type == "stack") | select(any(.user[].symbol; . != null and test("nanosleep"))) |
			[.count, ([.user[] | select(.runtime == "python" and .symbol != "<module>" and .symbol != null) | .symbol] | reverse | join(";"))] | @tsv' \
			"$WORK/out" | gawk -F '\t' '{ n[$2] += $1 } END { for (k in n) print n[k], k }' | grep 'Worker.end$' | sort >"$WORK/got"
		logged >"$WORK/want"
		expect "$(wc -l <"$WORK/want") == 8"
		diff "$WORK/want" "$WORK/got"
	done
}

@test "python: greenlets: the running one's functions, and none of those that wait below it on the machine's stack" {
	need_root
	need jq gawk
	local python pythons tried=
	find_pythons
	for python in "${pythons[@]}"; do
		"$python" -c 'import greenlet' 2>/dev/null || continue
		tried=yes
		on_one_cpu stackcount -q -j -o "$WORK/out" t:syscalls:sys_enter_clock_nanosleep -- "$python" "$ROOT/tests/workloads/greenlets.py" "$WORK/log" 100
		# of each stop: its functions but stop(), root first; and whether a function of greenlet's stands among them or, where no
		# greenlet waits, a call of the interpreter's loop has no name
		jq -r 'select(.type == "stack" and any(.user[]; .symbol == "stop")) | .count as $count |
			(.user | map(.runtime == "python") | rindex(true)) as $root | [.user[] | (.module // "") | test("/_greenlet")] as $switches |
			([.user[] | select(.runtime == "python") | "\(.symbol) \(.source) \(.line)"][1:] | reverse | join(";")) +
			" \(any($switches[:$root][]; .) or (any($switches[]; .) | not) and any(.user[].symbol; . == "_PyEval_EvalFrameDefault")) \($count)"' \
			"$WORK/out" | gawk '{ n = $NF; $NF = ""; sum[$0] += n } END { for (k in sum) print sum[k], k }' | sed 's/ $//' | sort >"$WORK/got"
		sed 's/$/ false/' "$WORK/log" | sort | uniq -c | sed 's/^ *//' | sort >"$WORK/want"
		[ "$(wc -l <"$WORK/want")" -eq 3 ]
		diff "$WORK/want" "$WORK/got"
	done
	[ -n "$tried" ] || skip "needs greenlet, of Debian's python3-greenlet"
}

@test "python: functions stand below the entry point, in the order of their calls, in the stacks of each tool" {
	need_root
	local tool n
	cat >"$WORK/calls.py" <<-'PYTHON'
		import time
		def inner():
		    sum(range(20000)); time.sleep(0.002)
		class Made:
		    def __init__(self): inner()
		def outer():
		    for i in range(200): Made()
		outer()
	PYTHON
	for tool in "cpuprof -F 4999" offcputime offwaketime "stackcount t:syscalls:sys_enter_clock_nanosleep" wallprof; do
		$tool -q -f -o "$WORK/out.folded" -- /usr/bin/python3 "$WORK/calls.py"
		n=$(grep -c '^[^;]*;_start;.*;<module> (calls.py);outer (calls.py);.*;Made.__init__ (calls.py);inner (calls.py)' "$WORK/out.folded" || true)
		echo "$tool: $n of $(grep -c 'inner (calls.py)' "$WORK/out.folded")"
		[ "$n" -gt 0 ]
		[ "$n" -eq "$(grep -c 'inner (calls.py)' "$WORK/out.folded")" ]
	done
}

# of two seconds of these processes, while they run
share_named() {	# TOOL PID,...
	$1 -q -j -o "$WORK/out" -p "$2" 2
	echo "# $1: $(summary '"\(.python_named) of \(.python_calls)"') eval frames have names" >&3
	expect "$(summary .python_calls) > 50 && $(summary .python_named) >= 0.995 * $(summary .python_calls)"
}

# bats test_tags=full
@test "python: 99.5 % of the eval frames have names: in a virtual environment, in a server with a shared libpython" {
	need_root
	need jq uwsgi ab
	local port
	/usr/bin/python3 -m venv --without-pip "$WORK/venv"
	cat >"$WORK/app.py" <<-'PYTHON'
		import json, re, time
		def render(n):
		    return re.sub(r"\d+", lambda m: json.dumps({"v": m[0]}), str(list(range(n))))
		def application(environ, start_response):
		    start_response("200 OK", [])
		    time.sleep(0.0005)
		    return [render(300).encode()]
		if __name__ == "__main__":
		    while True:
		        render(3000)
	PYTHON
	background "$WORK/venv/bin/python3" "$WORK/app.py"
	sleep 0.5
	share_named "cpuprof -F 999" "$pid"
	kill "$pid"
	port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	background uwsgi --plugins python3 --http-socket "127.0.0.1:$port" --wsgi-file "$WORK/app.py" --master --die-on-term --processes 2 --threads 2
	local server=$pid
	wait_until curl -sf "http://127.0.0.1:$port"
	background ab -q -t 30 -n 1000000 -c 4 "http://127.0.0.1:$port/"
	sleep 0.5
	share_named "cpuprof -F 999" "$(pgrep -d, -P "$server")"
	share_named "offcputime --state S" "$(pgrep -d, -P "$server")"
}

@test "python: an interpreter of an unknown version is said to be unknown, once, and its stacks are native" {
	need_root
	need gcc
	cat >"$WORK/future.c" <<-'C'
		#include <time.h>
		const unsigned long Py_Version = 0x04000000;
		char _PyRuntime[4096];
		int main(void) { for (int i = 0; i < 200; i++) nanosleep(&(struct timespec){ 0, 5000000 }, 0); }
	C
	gcc -O1 -rdynamic -o "$WORK/future" "$WORK/future.c"
	on_one_cpu offcputime -j -o "$WORK/out" -- "$WORK/future" 2>"$WORK/err"
	cat "$WORK/err"
	[ "$(grep -c "no Python functions in '$WORK/future': this version or build of CPython is not known" "$WORK/err")" -eq 1 ]
	[ "$(jq -s 'map(select(.type == "stack").user[] | select(.runtime)) | length' "$WORK/out")" -eq 0 ]
	expect "$(jq -s 'map(select(.type == "stack" and .ended_by == "complete").count) | add' "$WORK/out") > 150"
}

# "COUNT NAME FILE" of the Python frames of a process whose structures lie
lies() {	# MODE
	on_one_cpu offcputime -q -j -o "$WORK/out" -- lying-python "$1" 400 2>"$WORK/err" || return
	jq -r 'select(.type == "stack") | "\(.count) \([.user[] | select(.runtime) | "\(.symbol) \(.source) \(.line)"] | .[:3] | join(";"))"' "$WORK/out" |
		gawk '{ n = $1; sub(/^[0-9]+ /, ""); sum[$0] += n } END { for (k in sum) print sum[k], k }' | cut -c 1-200
}

# bats test_tags=full
@test "python: a process that lies in its structures ends nothing, costs no time to speak of, and has no name but its own" {
	need_root
	need jq gawk
	local mode
	lies good | tee "$WORK/got"
	expect "$(awk '/honest honest.py 7$/ { n += $1 } END { print n + 0 }' "$WORK/got") >= 390"	# the second half at the least
	for mode in frames threads interpreters wild huge torn random; do
		lies "$mode" >"$WORK/got"
		echo "$mode:" $(cat "$WORK/got")
		# none is counted twice, or not at all
		expect "$(awk '{ n += $1 } END { print n + 0 }' "$WORK/got") >= 780"
		awk '$2 != "" && $2 !~ /^(honest|null)/ { exit 1 }' "$WORK/got"
		[ "$mode" != frames ] || expect "$(awk '/honest.py 7;/ { n += $1 } END { print n + 0 }' "$WORK/got") == 0"
		[ "$mode" != torn ] || refute grep -q another "$WORK/got"
		# a name is 1,024 characters long at most
		[ "$(jq -s 'map(select(.type == "stack").user[] | select(.runtime) | .symbol // "" | length) | max // 0' "$WORK/out")" -le 1024 ]
		awk '/verified|slow/ { next } /cannot|bug|failed/ { exit 1 }' "$WORK/err"
	done
}

@test "python: a function that is thrown away has its name or none, and never another's" {
	need_root
	need python3 jq
	on_one_cpu offcputime -q -j -o "$WORK/out" --state S -- /usr/bin/python3 "$ROOT/tests/workloads/chains.py" "$WORK/log" 300 2
	slept_in | tr ';' '\n' | grep -E '<made|^<module>|null' | sed 's/^[0-9]* //; s/ [^ ]*$//' | sort | uniq -c >"$WORK/made"
	cat "$WORK/made"
	expect "$(awk '{ n += $1 } END { print n }' "$WORK/made") > 50"
	# what exec() runs is called so, and nothing else is
	refute grep -vE ' (<module> <made [0-9]+>|null null)$|<module> .*chains.py$' "$WORK/made"
}

# bats test_tags=timing
@test "python: functions that are made without end, by somebody else, delay neither a duration's end nor a signal's" {
	need_root
	need jq setpriv
	local tool began tool_pid tools=(offcputime "stackcount t:sched:sched_switch")
	[ "$SIZE" != full ] || tools+=(offwaketime wallprof)
	setpriv --reuid=65534 --clear-groups /usr/bin/python3 "$ROOT/tests/workloads/new_functions.py" 120 24 100 3>&- &
	pids+=($!)
	sleep 1
	for tool in "${tools[@]}"; do
		began=${EPOCHREALTIME/./}
		$tool -q -j -o "$WORK/out.jsonl" 0.5
		expect "${EPOCHREALTIME/./} - $began < 8000000"	# with its start
		echo "$tool: $(jq -c 'select(.type == "summary") | [.seconds, .python_calls, .python_named]' "$WORK/out.jsonl")"
		# a duration is kept within a second
		expect "$(jq 'select(.type == "summary") | .seconds' "$WORK/out.jsonl") >= 0.5"
		expect "$(jq 'select(.type == "summary") | .seconds' "$WORK/out.jsonl") < 1.5"
		rm -f "$WORK/err"
		$tool -f -o "$WORK/out.folded" 60 2>"$WORK/err" 3>&- &
		tool_pid=$!
		wait_until grep -q Ctrl-C "$WORK/err"
		sleep 1
		began=${EPOCHREALTIME/./}
		kill -INT $tool_pid
		wait $tool_pid
		echo "$tool: $(((${EPOCHREALTIME/./} - began) / 1000)) ms from SIGINT to its end"
		expect "${EPOCHREALTIME/./} - $began < 2500000"
	done
}
