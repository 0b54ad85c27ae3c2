#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --serve: the view in a browser. curl is the client, and in the full size Chromium.

load lib.bash

teardown() {
	[ -z "${stops:-}" ] || pkill -KILL -s "$stops" || true	# a browser that is stopped
	end_children
	rm -rf "$WORK"
}

# the tool in the background, with --serve, as $tool; $url has the token
serve() {	# TOOL ARG...
	need_root
	need curl
	rm -f "$WORK/err"
	"$1" --serve="${PORT-0}" "${@:2}" >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	url=$(sed -nE 's,.*: open (http://[^ ]+/[0-9a-f]{32}/) in a browser$,\1,p' "$WORK/err")
	host=${url#http://} host=${host%%/*}
	base=http://$host
}

# ends it by a signal, as Ctrl-C does
end() {
	kill -INT "$tool"
	wait "$tool"
}

status() {	# CURL-ARG...
	curl -s -o "$WORK/body" -w '%{http_code}\n' --max-time 60 "$@"
}

server_of() {	# TOOL'S-PID
	local p
	for p in $(cat "/proc/$1/task"/*/children); do
		[ "$(cat "/proc/$p/comm")" != ehperf-server ] || echo "$p"
	done
}

# the events, into a file, until the stream's end; $reader
read_events() {	# FILE [CURL-ARG...]
	curl -sN --max-time 240 "${@:2}" "${url}events" >"$1" 3>&- &
	reader=$!
	pids+=("$reader")
}

slices() {	# FILE
	grep -c '^event: slice' "$1"
}
has_slices() {	# FILE LEAST
	[ "$(slices "$1")" -ge "$2" ]
}

# the stacks of the stream are those of the run's JSON, each with the same values
same_stacks() {	# EVENTS JSONL
	stream-stacks "$1" >"$WORK/streamed"
	# of a BPF program, only its address: others, beside this test, may have loaded another one there since
	local f='select(.type == "stack") | del(.idle) | (.. | objects | select(.module == "bpf")) |= del(.symbol, .offset) | [del(.count, .sum, .value_ns, .blocked_ns, .waiting_ns, .value), .count, (.blocked_ns // 0), (.waiting_ns // 0)]'
	jq -cS "$f" "$2" | sort >"$WORK/of-run"
	jq -cS "$f" "$WORK/streamed" | sort >"$WORK/of-stream"
	[ "$(wc -l <"$WORK/of-run")" -ge "${3:-1}" ]
	cmp "$WORK/of-run" "$WORK/of-stream" || { diff "$WORK/of-run" "$WORK/of-stream" | cut -c 1-500 | head -n 20; return 1; }
	[ "$(jq 'select(.type == "summary").samples' "$2")" -eq "$(jq 'select(.type == "summary").samples' "$WORK/streamed")" ]
}

@test "who may look: the token, an address as the host, no page of others, nothing but reading" {
	background nested burn 1000
	serve cpuprof -p "$pid"
	local token=${url#"$base"/} path method name
	token=${token%/}
	# with the token: the page, and what it needs
	[ "$(status "$url")" = 200 ]
	grep -oE '(src|href)="[^":]*"' "$WORK/body" | cut -d '"' -f 2 >"$WORK/parts"
	[ "$(wc -l <"$WORK/parts")" -ge 5 ]
	while read -r name; do
		[ "$(status "$url$name")" = 200 ]
		[ -s "$WORK/body" ]
	done <"$WORK/parts"
	# without it, or with another one, and by tricks: nothing
	for path in '' / "/${token:0:31}/" "/${token}0/" "/${token^^}x/" "/$(tr 0-9a-f 1-9a-f0 <<<"$token")/" /events /flame.js "//$token/" "/x/../$token/x/../../" \
		"/%2e%2e/$token" "/$token" "/?token=$token" /favicon.ico; do
		[[ $(status --path-as-is "$base$path") == 40[034] ]] || { echo "$path"; return 1; }
		refute grep -qE '<script|event:' "$WORK/body"
	done
	for path in ../ ./events ..%2f..%2fetc/passwd /etc/passwd events/ x; do
		[ "$(status --path-as-is "$url$path")" = 404 ] || { echo "$path"; return 1; }
	done
	for method in POST PUT DELETE OPTIONS PATCH TRACE; do
		[ "$(status -X "$method" "$url")" = 405 ] || { echo "$method"; return 1; }
	done
	[ "$(status -d x=1 "${url}events")" = 405 ]
	[ "$(status -I "$url")" = 200 ]
	# names that lead here by now are no addresses
	for name in evil.example "evil.example:${host##*:}" 127.0.0.1.evil.example localhost.evil.example '127.0.0.1:x' '[::1' '' 'localhost@evil.example'; do
		[[ $(status -H "Host: $name" "$url") == 40[03] ]] || { echo "$name"; return 1; }
	done
	[[ $(status -H 'Host:' "$url") == 40[03] ]]
	for name in localhost localhost:1234 127.0.0.1 '[::1]' "[::1]:${host##*:}"; do	# as through ssh -L
		[ "$(status -H "Host: $name" "$url")" = 200 ] || { echo "$name"; return 1; }
	done
	for name in http://evil.example null "https://$host" "http://$host.evil.example"; do
		[ "$(status -H "Origin: $name" "$url")" = 403 ] || { echo "$name"; return 1; }
	done
	[ "$(status -H "Origin: $base" "$url")" = 200 ]
	# a request has a size
	[ "$(status -H "X: $(head -c 20000 /dev/zero | tr '\0' x)" "$url")" = 431 ]
	[[ $(status "$url$(head -c 20000 /dev/zero | tr '\0' x)") == 41[34] ]]
	# what browsers are told, in each answer
	for path in "$url" "${url}live.js" "$base/"; do
		curl -sD "$WORK/headers" -o /dev/null "$path"
		for name in "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; .*frame-ancestors 'none'" \
			'x-content-type-options: nosniff' 'referrer-policy: no-referrer' 'cache-control: no-store' 'cross-origin-resource-policy: same-origin'; do
			grep -qi "^$name" "$WORK/headers"
		done
		refute grep -qiE '^(access-control-|set-cookie)' "$WORK/headers"
	done
	end
}

# the addresses on which a port is listened on, in hexadecimal
listens_on() {	# PORT
	awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && substr($2, length($2) - 4) == port { print substr($2, 1, length($2) - 5) }' \
		/proc/net/tcp /proc/net/tcp6 | sort | xargs
}

@test "this machine alone is listened to, unless an address is given; then it is said that nothing is encrypted" {
	background nested burn 1000
	local nested=$pid port
	serve cpuprof -p "$nested"
	port=${host##*:}
	echo "$port: $(listens_on "$port")"
	if grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null; then
		[ "$(listens_on "$port")" = '00000000000000000000000001000000 0100007F' ]
		[ "$(status "http://[::1]:$port/${url##*:"$port"/}")" = 200 ]
	else
		[ "$(listens_on "$port")" = 0100007F ]
	fi
	refute grep -q encrypted "$WORK/err"
	# another tool cannot have that port, and says so
	run cpuprof --serve="$port" -p "$nested" 1
	[ "$status" -eq 1 ]
	[[ "$output" == *"cannot listen"*"Address already in use"* ]]
	end
	[ -z "$(listens_on "$port")" ]
	PORT="$port" serve cpuprof -p "$nested"
	[ "${host##*:}" = "$port" ]
	end
	PORT=0.0.0.0:0 serve cpuprof -p "$nested"
	[ "$(listens_on "${host##*:}")" = 00000000 ]
	grep -q "nothing is encrypted.*ssh -L ${host##*:}:127.0.0.1:${host##*:} " "$WORK/err"
	[ "$(status "$url")" = 200 ]
	end
	local wrong
	for wrong in x -1 65536 1.2.3.4 1.2.3:80 localhost:80 ::1:80 '[::1]' '[1.2.3.4]:80' '' 127.0.0.1: 1:2:3; do
		run cpuprof --serve="$wrong" 1
		[ "$status" -eq 2 ]
		[[ "$output" == *"not a port, or an address and a port: '$wrong'"* ]]
	done
}

@test "who serves has no rights, no files, few system calls, and ends with the tool" {
	background nested burn 1000
	serve cpuprof -p "$pid"
	local server
	server=$(server_of "$tool")
	[ -n "$server" ]
	grep -E '^(Uid|Groups|Cap|NoNewPrivs|Seccomp):?' "/proc/$server/status"
	[ "$(awk '/^Cap(Eff|Prm|Inh|Amb):/ { n += $2 != "0000000000000000" } /^Seccomp:/ { s = $2 } END { print n + 0, s }' "/proc/$server/status")" = "0 2" ]
	[ "$(awk '/^Uid:/ { print ($2 >= 0x70000000 && $2 == $3 && $3 == $4) }' "/proc/$server/status")" = 1 ]
	[ -z "$(awk '/^Groups:/ { print $2 }' "/proc/$server/status")" ]
	readlink "/proc/$server/fd"/* | sed 's/:\[.*//' | sort -u | diff - <(printf '%s\n' anon_inode:[eventfd] anon_inode:[eventpoll] socket | sed 's/:\[.*//' | sort -u)
	[ "$(ls "/proc/$server/fd" | wc -l)" -le 8 ]
	# it is not measured, and nobody waits for it
	kill -KILL "$tool"
	wait_until_gone "$server"
}

# bats test_tags=full
@test "who serves is killed: the run goes on to its end, and says so" {
	background nested burn 1000
	serve cpuprof -p "$pid" -o "$WORK/x.jsonl"
	kill -KILL "$(server_of "$tool")"
	wait_until grep -q 'the view in the browser has ended' "$WORK/err"
	wait_until_it_ran "$pid" 200
	end
	expect "$(jq 'select(.type == "summary").samples' "$WORK/x.jsonl") > 0"
}

@test "each tool's stream has the stacks of its JSON, with the same values" {
	need jq python3
	local name tools
	background sh -c 'while :; do sleep 0.02; done'
	local sleeps=$pid
	background nested burn 1000
	local busy=$pid
	tools=("offwaketime -p $sleeps")
	[ "$SIZE" != full ] || tools+=("cpuprof -F 499 -p $busy" "offcputime -p $sleeps" "stackcount -p $sleeps t:sched:sched_process_fork")
	for name in "${tools[@]}"; do
		echo "$name"
		serve $name -o "$WORK/x.jsonl"
		read_events "$WORK/events"
		wait_until has_slices "$WORK/events" 3
		end
		wait "$reader"
		same_stacks "$WORK/events" "$WORK/x.jsonl"
		grep -A 1 '^event: end' "$WORK/events" | sed -n 's/^data: //p' | jq -r .said | head -n 1 | grep -qxFf "$WORK/err"
	done
}

# of a stream: "COMM STATE SECONDS" of all time, then of each slice the seconds that sleep was blocked, per second
times() {	# FILE
	python3 - "$1" <<-'END'
		import collections, json, sys
		stacks, sums, shares = [], collections.Counter(), []
		for line in open(sys.argv[1]):
		    if not line.startswith('data: {"begins"'):
		        continue
		    slice = json.loads(line[6:])
		    if slice["begins"]:
		        stacks = []
		    stacks += [(thread, root.strip("[]").split()[0] if root else "") for thread, root, *_ in slice["stacks"]]
		    here = collections.Counter()
		    for number, count, ns, blocked, waiting in zip(*[iter(slice["values"])] * 5):
		        here[stacks[number]] += ns / 1e9
		    sums += here
		    shares.append(here["sleep", "blocked"] / slice["summary"]["seconds"])
		for (thread, state), seconds in sorted(sums.items()):
		    print(thread, state, round(seconds, 6))
		print("shares", *(round(share, 3) for share in shares))
	END
}

# of a stream: "COMM STATE SECONDS" of its timeline, which has no slice of a thread twice
lanes() {	# FILE
	python3 - "$1" <<-'END'
		import collections, json, sys
		sums, seen = collections.Counter(), set()
		for line in open(sys.argv[1]):
		    if not line.startswith('data: {"begins"'):
		        continue
		    for id, pid, tid, comm, at, *pieces in json.loads(line[6:])["lanes"]:
		        for nr, *ms in zip(*[iter(pieces)] * 5):
		            slices = {(id, slice) for slice in range(at, at + nr)}
		            assert not slices & seen and sum(ms) <= 252, (id, at, ms)
		            seen |= slices
		            at += nr
		            for state, of in zip(("running", "waiting", "blocked", "lost"), ms):
		                sums[comm, state] += nr * of / 1e4
		for (comm, state), seconds in sorted(sums.items()):
		    if seconds:
		        print(comm, state, round(seconds, 3))
	END
}

# bats test_tags=full
@test "wallprof: times by state are its own report's; a wait that goes on is in each slice, as long as the slice" {
	need python3
	background sleep 1000
	local sleeps=$pid
	background nested burn 1000
	local busy=$pid
	background sh -c 'while :; do sleep 0.02; done'
	serve wallprof --idle -p "$sleeps,$busy,$pid" -o "$WORK/x.folded"
	read_events "$WORK/events"
	wait_until has_slices "$WORK/events" 4
	end
	wait "$reader"
	times "$WORK/events" >"$WORK/times"
	awk '{ n = $NF; sub(/ [0-9]+$/, ""); last = split($0, frames, ";"); split(frames[last], state, /[][ ]/); sum[frames[1] " " state[2]] += n / 1e6 }
		END { for (of in sum) print of, sum[of] }' "$WORK/x.folded" >"$WORK/of-report"
	sort "$WORK/of-report" "$WORK/times"
	lanes "$WORK/events" | tee "$WORK/of-lanes"
	# the report's runs are by the scheduler's account, the view's and its timeline's by samples
	for sums in times of-lanes; do
		awk 'FILENAME == ARGV[1] { of[$1 " " $2] = $3; next }
			$1 != "shares" { seen++; off = $3 - of[$1 " " $2]; if (off < 0) off = -off; if (off > 0.3 + 0.1 * $3) exit 1 }
			END { if (seen < 4) exit 1 }' "$WORK/of-report" "$WORK/$sums"
	done
	# a slice ends a moment before or after its waits are read: what one has too much, the next one lacks
	awk '$1 == "shares" { for (i = 2; i <= NF; i++) { sum += $i; if ($i < 0.7 || $i > 1.3) wrong++ }
		n = NF - 1 } END { exit n < 4 || wrong || sum < n - 0.3 || sum > n + 0.3 }' "$WORK/times"
	grep -A 1 '^event: end' "$WORK/events" | sed -n 's/^data: //p' | jq -r .said | head -n 1 | grep -qxFf "$WORK/err"
}

# bats test_tags=full
@test "numbers that begin anew, a viewer that comes late, one that comes again: the stacks of the run's JSON" {
	need jq python3
	background nested burn 1000
	serve cpuprof -F 199 -p "$pid" -o "$WORK/x.jsonl"
	read_events "$WORK/first"
	local first=$reader last
	begun_anew() { [ "$(grep -c '"begins":true' "$WORK/first")" -ge 3 ]; }
	wait_until begun_anew
	read_events "$WORK/late"
	# who was here before gets what came since
	last=$(sed -n 's/^id: //p' "$WORK/first" | tail -n 1)
	wait_until has_slices "$WORK/first" $((last + 3))
	(url=$url; read_events "$WORK/again" -H "Last-Event-ID: $last"; wait_until has_slices "$WORK/again" 2)
	[ "$(sed -n 's/^id: //p' "$WORK/again" | head -n 1)" -eq $((last + 1)) ]
	end
	wait "$first" "$reader"
	same_stacks "$WORK/first" "$WORK/x.jsonl"
	same_stacks "$WORK/late" "$WORK/x.jsonl"
}

# bats test_tags=full
@test "while nobody looks, a slice is long; who comes gets it at once, and then one a second" {
	need jq python3
	background nested burn 1000
	serve cpuprof -F 199 -p "$pid" -o "$WORK/x.jsonl"
	sleep 4
	read_events "$WORK/events"
	wait_until has_slices "$WORK/events" 3
	end
	wait "$reader"
	sed -n 's/^data: {"begins"/{"begins"/p' "$WORK/events" | jq -c '[.begins, .summary.seconds]'
	[ "$(sed -n 's/^id: //p' "$WORK/events" | head -n 1)" -eq 0 ]
	sed -n 's/^data: {"begins"/{"begins"/p' "$WORK/events" | jq -se 'map(.summary.seconds) | .[0] > 3 and (.[1:] | min) < 0.6 * .[0]'
	same_stacks "$WORK/events" "$WORK/x.jsonl"
}

# bats test_tags=full
@test "with --every, -o, and a command: each report is whole, the sums are the stream's, the status is the command's" {
	need jq python3
	need_root
	local before
	serve cpuprof --every 0.5 -F 499 -o "$WORK/x.folded" -o "$WORK/x.jsonl" -- sh -c 'nested burn 4; exit 5'
	read_events "$WORK/events"
	status=0
	wait "$tool" || status=$?
	[ "$status" -eq 5 ]
	wait "$reader"
	stream-stacks "$WORK/events" >"$WORK/streamed"
	[ "$(jq -s 'map(select(.type == "summary")) | length' "$WORK/x.jsonl")" -ge 4 ]
	[ "$(jq -s 'map(select(.type == "stack").count) | add' "$WORK/x.jsonl")" -eq "$(jq -s 'map(select(.type == "stack").count) | add' "$WORK/streamed")" ]
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/x.folded")" -eq "$(jq -s 'map(select(.type == "stack").count) | add' "$WORK/x.jsonl")" ]
	valid_json "$WORK/x.jsonl"
}

# While an attack lasts: the samples of the process are counted, and end_attacked() compares them with the CPU time that it had.
serve_attacked() {
	need jq python3
	background nested burn 1000
	nested=$pid
	serve cpuprof -F 499 -p "$nested" -o "$WORK/x.jsonl"
	server=$(server_of "$tool")
	from=$(ran_ns "$nested")
}

# Each viewer has had all, no sample is missing, and who serves has stayed small.
end_attacked() {
	local ran kib
	ran=$(($(ran_ns "$nested") - from))
	kib=$(awk '/^VmHWM:/ { print $2 }' "/proc/$server/status")
	end
	wait "$reader"
	same_stacks "$WORK/events" "$WORK/x.jsonl"
	jq -c 'select(.type == "summary") | del(.ended, .said)' "$WORK/x.jsonl"
	echo "ran for $ran ns, the server has taken $kib KiB"
	[ "$(jq 'select(.type == "summary").lost_no_room' "$WORK/x.jsonl")" -eq 0 ]
	expect "$(jq 'select(.type == "summary") | .samples + .lost' "$WORK/x.jsonl") > 0.95 * $ran * 499 / 1000000000 - 10"
	expect "$(jq 'select(.type == "summary") | .lost - .machine_lost' "$WORK/x.jsonl") == 0"
	expect "$kib < 32768"
}

@test "1,000 connections that ask nothing, and viewers that read nothing: who has the token sees all, and the run ends" {
	serve_attacked
	cat >"$WORK/hold" <<-'END'
		import socket, sys, time
		host, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
		held = []
		def hold(what):
		    s = socket.socket()
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
		    s.connect((host, port))
		    s.sendall(what)
		    held.append(s)
		for i in range(20):	# they read nothing
		    hold(f"GET {path}events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
		for i in range(980):	# slow, and without the token
		    hold(b"GET / HTTP/1.1\r\nHost: ")
		print("held", flush=True)
		time.sleep(1000)
	END
	background python3 "$WORK/hold" 127.0.0.1 "${host##*:}" "/${url#"$base"/}"
	wait_until grep -q held "$WORK/background.out"
	[ "$(status "$url")" = 200 ]
	read_events "$WORK/events"
	wait_until has_slices "$WORK/events" 3
	# it waits for events, not in a loop
	local before slices
	before=$(ran_ns "$server")
	slices=$(slices "$WORK/events")
	wait_until has_slices "$WORK/events" $((slices + 3))
	expect "$(ran_ns "$server") - $before < 500000000"
	end_attacked
}

# bats test_tags=full
@test "100 MB of a header, of headers, of a URL, and of a body are not read: who has the token sees all" {
	serve_attacked
	read_events "$WORK/events"
	wait_until has_slices "$WORK/events" 1	# on a quick machine, the attack takes less than a slice
	cat >"$WORK/send" <<-'END'
		import socket, sys
		host, port, token = sys.argv[1], int(sys.argv[2]), sys.argv[3]
		get = f"GET {token} HTTP/1.1\r\nHost: {host}\r\n"
		for name, begin, more in (
		    ("header", get + "X: ", "x" * 65536), ("headers", get, "X: y\r\n" * 10000), ("url", f"GET {token}", "x" * 65536),
		    ("line", "", "x" * 65536), ("body", f"POST {token} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 104857600\r\n\r\n", "x" * 65536),
		    ("chunks", f"POST {token} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n", "10000\r\n" + "x" * 65536 + "\r\n"),
		):
		    s, sent = socket.create_connection((host, port)), 0
		    s.settimeout(40)
		    try:
		        s.sendall(begin.encode())
		        while sent < 100 << 20:
		            s.sendall(more.encode())
		            sent += len(more)
		    except OSError as e:
		        print(name, sent, type(e).__name__)
		    else:
		        print(name, sent, "all")
	END
	timeout 250 python3 "$WORK/send" 127.0.0.1 "${host##*:}" "/${url#"$base"/}" >"$WORK/sent"
	cat "$WORK/sent"
	# sockets have room for some megabytes
	[ "$(awk '$2 < 20 * 1048576 { n++ } END { print n + 0 }' "$WORK/sent")" -eq 6 ]
	[ "$(status "$url")" = 200 ]
	local slices
	slices=$(slices "$WORK/events")
	wait_until has_slices "$WORK/events" $((slices + 2))
	end_attacked
}

# bats test_tags=full
@test "slowloris: 250 connections that send a byte a second, for ever: each is ended, and who has the token sees all" {
	serve_attacked
	cat >"$WORK/drip" <<-'END'
		import selectors, socket, sys, time
		host, port, ended = sys.argv[1], int(sys.argv[2]), 0
		def connect():
		    s = socket.create_connection((host, port))
		    s.setblocking(False)
		    s.send(b"GET / HTTP/1.1\r\nX: ")
		    return s
		held = [connect() for i in range(250)]
		while True:
		    time.sleep(1)
		    for i, s in enumerate(held):
		        try:
		            s.send(b"x")
		            if s.recv(1) == b"":
		                raise OSError
		        except BlockingIOError:
		            pass
		        except OSError:
		            ended += 1
		            held[i] = connect()
		    print(ended, flush=True)
	END
	background python3 "$WORK/drip" 127.0.0.1 "${host##*:}"
	wait_until grep -q . "$WORK/background.out"
	read_events "$WORK/events"
	all_ended() { [ "$(tail -n 1 "$WORK/background.out")" -ge 250 ]; }
	wait_until all_ended
	[ "$(status "$url")" = 200 ]
	end_attacked
}

# bats test_tags=full
@test "a viewer that is slow misses whole groups, and goes on with one that needs none before it; another has all" {
	need jq python3
	local name
	# each wait is a stack of its own, because its thread has another name
	background python3 -c 'import time
n = 0
while True:
    n += 1
    open("/proc/self/comm", "w").write(f"name {n}")
    time.sleep(0.0005)'
	serve offcputime -p "$pid" -o "$WORK/x.jsonl"
	read_events "$WORK/all"	# of one who keeps up
	cat >"$WORK/slow" <<-'END'
		import socket, sys, time
		s = socket.socket()
		s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
		s.connect((sys.argv[1], int(sys.argv[2])))
		s.sendall(f"GET {sys.argv[3]}events HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
		out = open(sys.argv[4], "wb", 0)
		for rest in range(45):
		    time.sleep(1)
		    out.write(s.recv(2000))
		while (more := s.recv(1 << 20)):
		    out.write(more)
	END
	background python3 "$WORK/slow" 127.0.0.1 "${host##*:}" "/${url#"$base"/}" "$WORK/events"
	has_missed() { sed -n 's/^id: //p' "$WORK/events" | awk 'NR > 1 && $1 != last + 1 { found = 1 } { last = $1 } END { exit !found }'; }
	wait_until has_missed
	end
	wait "$pid" "$reader"
	# the report sums up what it has no room for
	stream-stacks "$WORK/all" >"$WORK/streamed"
	for name in x.jsonl streamed; do
		jq -c 'select(.type == "stack") | [.count, .blocked_ns, .waiting_ns]' "$WORK/$name" | jq -sc 'transpose | map(add)'
	done | uniq | tee "$WORK/sums"
	[ "$(wc -l <"$WORK/sums")" -eq 1 ]
	sed -n 's/^id: //p' "$WORK/events" | xargs
	# after a gap, numbers begin anew: what it has can be read
	grep -A 2 '^id: ' "$WORK/events" | awk '/^id:/ { gap = NR > 1 && $2 != last + 1; last = $2 } /^data:/ && gap && !/^data: {"begins":true/ { exit 1 }'
	sed '1,/^\r$/d' "$WORK/events" | stream-stacks | tail -n 1 | jq -e '.samples > 0'
	# the others' figures are the run's
	expect "$(jq 'select(.type == "summary").samples' "$WORK/x.jsonl") > 1000"
}

@test "hostile names of threads, programs and command lines are data in one line each" {
	need jq python3
	local name
	name=$(printf '<scr>\r\ndata:&"\x1b[\xff')
	cp "$ROOT/build/tests/nested" "$WORK/$name"
	serve cpuprof -F 499 -o "$WORK/x.jsonl" -- "$WORK/$name" burn 2 $'\e]0;x\a\u202e\nevent: end\n\n' || true
	read_events "$WORK/events"
	wait "$tool" || true
	wait "$reader"
	iconv -f utf-8 -t utf-8 "$WORK/events" >/dev/null
	refute grep -q "$(printf '[\x01-\x08\x0b-\x1f]')" "$WORK/events"
	[ "$(grep -cE '^(event|data|id): |^$' "$WORK/events")" -eq "$(wc -l <"$WORK/events")" ]
	[ "$(grep -c '^event: end' "$WORK/events")" -eq 1 ]
	stream-stacks "$WORK/events" | jq -e -s 'map(select(.type == "stack" and (.comm | startswith("<scr>"))).count) | add > 10'
}

# bats test_tags=full
@test "a browser: the picture grows, a range of the strip shows just that, pause, search, the difference of two ranges" {
	need chromium python3
	background nested burn 1000
	cp "$ROOT/build/tests/nested" "$WORK/other"
	local nested=$pid
	background "$WORK/other" burn 1000
	serve cpuprof -F 199 -p "$nested,$pid"
	local view='document.querySelector("[data-view=%s]")' sum='live.data.slices.reduce((sum, slice) => sum + slice.summary.samples, 0)'
	browse "$url" \
		wait 'window.flame && live.data.slices.length >= 3' \
		eval 'document.querySelector(".state").textContent' \
		wait "window.flame.tree.total[0] > 600" \
		eval 'document.querySelectorAll(".strip rect.on").length >= 3' \
		eval '[...new Set(flame.tree.callees[0].map(node => flame.tree.name(node)))].sort()' \
		click 'document.querySelector(".live button")' \
		eval 'document.querySelector(".state").textContent' \
		eval 'window.was = flame.tree.total[0], window.slices = live.data.slices.length, 0' \
		wait 'live.data.slices.length >= slices + 3' \
		eval 'flame.tree.total[0] === was' \
		eval '(last => { for (last.value of ["60", ""]) last.dispatchEvent(new Event("change")); return flame.tree.total[0] === was; })(document.querySelector("[aria-label=range]"))' \
		eval '(async () => (await live.file("folded")).join("").trim().split("\n").reduce((sum, line) => sum + +line.split(" ").pop(), 0) === was)()' \
		eval "(([a, b]) => { live.setRange(a.from, b.until); return flame.tree.total[0] === a.summary.samples + b.summary.samples; })(live.data.slices.slice(1, 3))" \
		drag '[1, 2].map(i => document.querySelectorAll(".strip rect.on")[i])' \
		eval '(([a, b]) => flame.tree.total[0] === a.summary.samples + b.summary.samples)(live.data.slices.slice(1, 3))' \
		eval '(async () => (await live.file("folded")).join("").trim().split("\n").reduce((sum, line) => sum + +line.split(" ").pop(), 0) === flame.tree.total[0])()' \
		click 'document.querySelectorAll(".strip rect.on")[1]' \
		eval 'flame.tree.total[0] === live.data.slices[1].summary.samples' \
		eval 'document.querySelectorAll(".strip rect.range").length' \
		key / type '^other$' \
		eval 'document.querySelector(".share").textContent.startsWith("matched ")' \
		eval 'document.querySelectorAll(".match").length > 0' \
		key Enter \
		click '[...document.querySelectorAll(".live button")].find(button => button.textContent.startsWith("Compare"))' \
		eval 'flame.tree.compared' \
		eval '(slice => { live.setRange(slice.from, slice.until); return flame.tree.total[0] === slice.summary.samples; })(live.data.slices[2])' \
		eval '(([, a, b]) => Math.abs(flame.tree.totalBefore[0] - a.summary.samples * (b.until - b.from) / (a.until - a.from)) < 1e-3)(live.data.slices)' \
		click "$(printf "$view" functions)" \
		wait 'document.querySelector(".split tr.chosen")' \
		click "$(printf "$view" threads)" \
		eval 'document.querySelectorAll("main tr[data-tid]").length' \
		click 'document.querySelector("main tr[data-tid]")' \
		eval 'page.filter.value.startsWith("t")' \
		click "$(printf "$view" stacks)" \
		eval 'document.querySelectorAll("main details").length > 0' \
		eval 'document.activeElement.blur(), 0' \
		key p wait 'document.querySelector(".state").textContent === "Live."' \
		key p wait 'document.querySelector(".state").textContent === "Paused."' >"$WORK/values"
	cat "$WORK/values"
	diff "$WORK/values" - <<-'END'
		"Live."
		true
		["nested", "other"]
		"Paused."
		0
		true
		true
		true
		true
		true
		true
		true
		1
		true
		true
		true
		true
		true
		2
		true
		true
		0
	END
	end
}

# bats test_tags=full
@test "a browser: what was lost, and what was not received, is marked; hostile names are text; a viewer that stops reading holds nobody up" {
	need chromium python3 jq
	cp "$ROOT/build/tests/nested" "$WORK/<img src=x onerror=alert(1)>"
	background "$WORK/<img src=x onerror=alert(1)>" burn 1000 '<script>throw 1</script>'
	local hostile=$pid
	background busy-bpf 300
	serve cpuprof -F 499 -p "$hostile" -o "$WORK/x.jsonl"
	setsid browse "$url" wait 'window.flame && live.data.slices.length >= 2' eval '"reads"' wait false >"$WORK/stops" 2>/dev/null 3>&- &
	stops=$!
	wait_until grep -q reads "$WORK/stops"
	pkill -STOP -s "$stops"
	browse "$url" \
		wait 'window.flame && live.data.slices.length >= 5' \
		wait 'document.querySelectorAll(".strip rect.lost").length > 2' \
		eval '[...document.querySelectorAll("main g text, main text")].some(text => text.textContent.startsWith("<img"))' \
		eval 'document.images.length' \
		click "$(printf 'document.querySelector("[data-view=%s]")' threads)" \
		eval '[...document.querySelectorAll("main tr[data-tid]")].some(row => row.textContent.includes("<img"))' \
		click "$(printf 'document.querySelector("[data-view=%s]")' stacks)" \
		click "$(printf 'document.querySelector("[data-view=%s]")' functions)" \
		eval '(slices => { slices.splice(2, 1); live.draw(); return document.querySelectorAll(".strip rect.gap").length; })(live.data.slices)' \
		eval 'window.ends = 1' \
		wait 'live.data.slices.length >= 8' >"$WORK/values"
	cat "$WORK/values"
	diff "$WORK/values" - <<-'END'
		true
		0
		true
		1
		1
	END
	read_events "$WORK/events"
	wait_until has_slices "$WORK/events" 2
	end
	wait "$reader"
	pkill -KILL -s "$stops"
	same_stacks "$WORK/events" "$WORK/x.jsonl"
}

# bats test_tags=full
@test "a browser: when the network has gone and come again, it has all samples" {
	need chromium python3 jq
	local forwards seen
	background nested burn 1000
	serve cpuprof -F 199 -p "$pid" -o "$WORK/x.jsonl"
	forwarder "${host##*:}" >"$WORK/port" 3>&- &
	forwards=$!
	pids+=("$forwards")
	wait_until test -s "$WORK/port"
	browse --network-goes "http://127.0.0.1:$(cat "$WORK/port")/${url#"$base"/}" \
		wait 'window.flame && live.data.slices.length >= 2' \
		eval '"reads"' \
		wait 'document.querySelector(".state").textContent.startsWith("Not connected")' \
		eval '"gone"' \
		wait 'document.querySelector(".state").textContent === "Live."' \
		eval '"reads again"' \
		wait 'document.querySelector(".state").textContent === "The run has ended."' \
		eval 'live.data.slices.reduce((sum, slice) => sum + slice.summary.samples, 0)' >"$WORK/values" 3>&- &
	local browser=$!
	wait_until grep -q reads "$WORK/values"
	kill -USR1 "$forwards"
	wait_until grep -q 'reads again' "$WORK/values"
	grep -q gone "$WORK/values"
	end
	wait "$browser"
	seen=$(tail -n 1 "$WORK/values")
	[ "$(jq 'select(.type == "summary").samples' "$WORK/x.jsonl")" -eq "$seen" ]
}

# bats test_tags=full
@test "a browser: a process that is chosen stays so while it sleeps" {
	need chromium python3 perl
	background nested burn 1000
	local busy=$pid
	background perl -e '$end = time + 6; 1 while time < $end; sleep 1000'
	serve cpuprof -p "$pid,$busy"
	local only='document.querySelector("[aria-label=only]")'
	browse "$url" \
		wait "window.flame && [...$only.options].some(option => option.value === 'p$pid')" \
		eval "(only => { only.value = 'p$pid'; only.dispatchEvent(new Event('change')); return flame.tree.total[0] > 0; })($only)" \
		eval '(last => { last.value = "10"; last.dispatchEvent(new Event("change")); return last.value; })(document.querySelector("[aria-label=range]"))' \
		wait '!flame.tree.total[0]' \
		eval "[$only.value, $only.selectedOptions[0].text]" >"$WORK/values"
	cat "$WORK/values"
	grep -qF "[\"p$pid\", \"process perl ($pid)" "$WORK/values"
	end
}

# bats test_tags=full
@test "a browser: wallprof's threads by state, in the strip, the flame graph, and the files" {
	need chromium python3
	background sleep 1000
	local sleeps=$pid
	background nested burn 1000
	# whether it was known what the thread did all the time, and whether it ran most of that
	local of_lanes='(() => { const {slices, lanes} = live.data, from = slices[0].from + 1000, until = slices.at(-1).until - 1000;
		return [...lanes.threads.values()].map(thread => [thread.comm, lanes.cells(thread, from, until, 1)])
			.map(([name, [on, waiting, blocked]]) => `${name} ${Math.abs(on + waiting + blocked - (until - from)) < 100} ${blocked < on + waiting}`).sort(); })()'
	local names='[...document.querySelectorAll(".lanes .names button")].map(button => button.title.split(" ")[0])'
	local labels='const {tree} = flame; const under = of => [...tree.callees[of]].map(node => [tree.name(node), node])'
	serve wallprof -p "$sleeps,$pid"
	browse "$url" \
		wait 'window.flame && live.data.slices.length >= 3' \
		eval "(() => { $labels; return under(0).map(([name, node]) => name + ': ' + under(node).map(([name]) => name).sort().join()).sort(); })()" \
		eval '["on", "waiting", "blocked"].map(kind => document.querySelectorAll(`.strip rect.${kind}`).length > 0)' \
		eval '[...document.querySelectorAll("[aria-label=format] option")].map(option => option.value)' \
		eval '[...flame.tree.labels].filter(label => label.kind === "o" && label.text === "do_syscall_64").length' \
		click "$(printf 'document.querySelector("[data-view=%s]")' threads)" \
		eval 'document.querySelectorAll("main tr[data-tid]").length' \
		eval '(async () => (await live.file("folded")).join("").split("\n").some(line => /^nested;\[running\];.* \d+$/.test(line)))()' \
		eval "$of_lanes" \
		eval "$names" \
		click 'document.querySelector("#idle")' \
		eval "$names" \
		eval '(() => { const canvas = document.querySelector(".lanes canvas"), g = canvas.getContext("2d"); return [24, 40].map(y => [...g.getImageData(canvas.width / 2, y, 1, 1).data].join())
			.map(colour => ({"245,168,96,255": "runs or waits", "236,208,79,255": "runs or waits", "133,174,230,255": "is blocked"})[colour]); })()' \
		click 'document.querySelector(".lanes .names button")' \
		eval 'document.querySelector("[aria-label=only]").selectedOptions[0].text.split(" (")[0]' >"$WORK/values"
	cat "$WORK/values"
	diff "$WORK/values" - <<-'END'
		["nested: [running],[waiting]", "sleep: [blocked S]"]
		[true, true, true]
		["folded", "json", "html", "svg"]
		1
		2
		true
		["nested true true", "sleep true false"]
		["nested"]
		["nested", "sleep"]
		["runs or waits", "is blocked"]
		"thread nested"
	END
	end
}

# bats test_tags=full
@test "a browser: what it writes of all time is what the tool writes, in each format" {
	need chromium python3 jq xmllint
	local name ending
	background sh -c 'while :; do sleep 0.02; x=$(sleep 0.01); sleep 0.01 | cat; sleep 0.01 & wait; (sleep 0.01; :); done'	# different stacks
	local sleeps=$pid
	background nested burn 1000
	for name in "cpuprof -i -F 199 -p $pid" "offcputime -p $sleeps" "offwaketime -p $sleeps" \
		"stackcount -p $sleeps t:sched:sched_process_*"; do
		echo "$name"
		rm -f "$WORK"/x.* "$WORK"/made.*
		serve $name -o "$WORK/x.folded" -o "$WORK/x.jsonl" -o "$WORK/x.perf" -o "$WORK/x.pb.gz" -o "$WORK/x.svg" -o "$WORK/x.html"
		(sleep 15; kill -INT "$tool") 3>&- &
		local steps=()
		for ending in folded jsonl json html svg perf pb.gz; do
			steps+=(eval "(async () => { const bytes = new Uint8Array(await new Blob(await live.file('$ending')).arrayBuffer()); let text = ''; for (const byte of bytes) text += String.fromCharCode(byte); return '$ending ' + btoa(text); })()")
		done
		browse "$url" wait 'document.querySelector(".state")?.textContent === "The run has ended."' "${steps[@]}" >"$WORK/values"
		wait "$tool" || true
		while read -r ending bytes; do
			base64 -d <<<"$bytes" >"$WORK/made.$ending"
		done < <(jq -r 'strings' "$WORK/values")
		diff "$WORK/x.folded" "$WORK/made.folded"
		valid_json "$WORK/made.jsonl"
		for ending in folded svg pb.gz txt; do
			flame "$WORK/made.jsonl" -o "$WORK/of-recording.$ending"
		done
		diff "$WORK/x.folded" "$WORK/of-recording.folded"
		for ending in x made; do
			pprof-json "$WORK/$ending.pb.gz" | jq -S '.samples |= sort' >"$WORK/$ending.pprof"
		done
		diff "$WORK/x.pprof" "$WORK/made.pprof" >"$WORK/differ" || { head -n 40 "$WORK/differ"; return 1; }
		[ "$(jq '.samples | length' "$WORK/x.pprof")" -gt 0 ]
		# the times of samples are not known: stacks follow each other, and equally hot ones in any order
		for ending in x made; do
			sed -E 's/^([^\t].* )[0-9]+\.[0-9]{6}: /\1/' "$WORK/$ending.perf" | awk -v RS= '{ gsub("\n", "|"); print }' | sort >"$WORK/$ending.samples"
		done
		cmp "$WORK/x.samples" "$WORK/made.samples"
		expect "$(wc -l <"$WORK/x.samples") > 5"
		xmllint --noout "$WORK/made.svg"
		jq -e '.profiles[0].endValue > 0 and (.profiles[0].weights | add) == .profiles[0].endValue' "$WORK/made.json"
		for ending in svg html; do
			browse "$WORK/x.$ending" eval 'flame.tree.total[0]' eval 'flame.tree.parent.length' eval 'document.querySelectorAll("g[data-node]").length' >"$WORK/of-x"
			browse "$WORK/made.$ending" eval 'flame.tree.total[0]' eval 'flame.tree.parent.length' eval 'document.querySelectorAll("g[data-node]").length' >"$WORK/of-made"
			diff "$WORK/of-x" "$WORK/of-made"
		done
	done
}
