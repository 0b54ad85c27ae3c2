#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

bats_require_minimum_version 1.5.0
load lib.bash

# a count for the workload mapinmap, of the calls that it has begun
count_begun() {
	head -c 8 /dev/zero >"$WORK/begun"
	export BEGUN=$WORK/begun
}

begun() {
	od -An -t u8 "$WORK/begun" | tr -d ' '
}

begun_at_least() {	# NR
	[ "$(begun)" -ge "$1" ]
}

# waits until it has begun so many calls more
wait_for_calls() {	# NR
	wait_until begun_at_least $(($(begun) + $1))
}

# ---- wrong arguments ----

# bats test_tags=check
@test "wrong arguments: one clear line, exit 2" {
	while IFS='|' read -r arguments pattern; do
		run mapupdlat $arguments
		echo "mapupdlat $arguments: $status: $output"
		[ "$status" -eq 2 ]
		[[ "${lines[0]}" =~ $pattern ]]
	done <<-'EOT'
		-p , 1|not a list of process IDs, or names of 1 to 15 bytes: ','
		-p 0 1|not a process ID: '0'
		--cmd paint 1|not a list of map commands: 'paint'
		--cmd update, 1|not a list of map commands: 'update,'
		--type nonsense 1|not a type of maps: 'nonsense'
		--map sixteen_letters_ 1|not a map's ID or its name
		--by colour 1|not a list of name, type, map, process and command, or all: 'colour'
		--by all,map 1|not a list of name, type, map, process and command, or all: 'all,map'
		--slow 0 1|not a time: '0'
		--slow 5x 1|not a time: '5x'
		-o heat.png 1|must end in .svg, .txt or .jsonl
		--heatmap -j 1|exclude each other
		--heatmap -U 1|a heat map has no stacks: leave out -U
		-U -o heat.svg 1|a heat map has no stacks: leave out -U
		--slow 5ms -o heat.svg 1|--slow prints lines
		0|not an interval: '0'
		1x|not an interval: '1x'
		1 0|not a count of intervals: '0'
		1 2 3|one interval and one count only
		true|not an interval: 'true'; a command comes after --
		--|a command is missing
		-p 1 -- true|a command excludes -p
		--nonsense|unrecognized option
	EOT
}

# bats test_tags=check
@test "a process that does not exist: one line, exit 1" {
	need_root
	run mapupdlat -p 4194305 1
	[ "$status" -eq 1 ]
	[ "$output" = "mapupdlat: no process with PID 4194305" ]
}

@test "without root: the cause and what to do, exit 1" {
	refuses_without_root mapupdlat
}

# bats test_tags=check
@test "the man page, --help and the parser agree on the options" {
	options_agree mapupdlat
	run mapupdlat -V
	[[ "$output" == "mapupdlat (ehperf) "[0-9]* ]]
}

# ---- the case it was made for ----

@test "1,400 inserts into a map of maps: the program's own timing, blocked in synchronize_rcu, unlike those into a hash" {
	need_root
	long_grace_periods
	local count total p25 p50 p75 plain busy stolen
	stolen=$(cpu_seconds steal)
	mapupdlat -j -- sh -c "mapinmap array_of_maps 1400 4 0 nested >'$WORK/nested' & mapinmap hash 1400 1 0 plain >'$WORK/plain'; wait" >"$WORK/out"
	stolen=$(awk "BEGIN { print $(cpu_seconds steal) - $stolen }")
	read -r count total p25 p50 p75 < <(awk '$1 == "array_of_maps" { print $2 }' "$WORK/nested" | statistics)
	busy=$(awk '$1 == "busy" { print $2 }' "$WORK/nested")
	echo "of the program $count, $total ns, $p25, $p50, $p75; busy for $busy ns, $stolen s stolen"
	histogram_of nested '{count, total_ns, p25_ns, p50_ns, p75_ns}'
	[ "$count" -eq 1400 ]
	[ "$(histogram_of nested .count)" -eq 1400 ]
	[ "$(histogram_of nested '.buckets | map(.count) | add')" -eq 1400 ]
	# The program's clock is outside of the calls, and what it sees outside of what is blocked, the kernel has in its account of
	# the threads: running, waiting for a CPU, or stolen
	expect "$(histogram_of nested .total_ns) <= $total"
	expect "$(histogram_of nested .blocked_ns) >= 0.99 * ($total - $busy) - 1e9 * $stolen"
	expect "$(histogram_of nested .waiting_ns) <= $busy + 0.01 * $total + 1e9 * $stolen"
	# most calls have no interruption between the two clocks
	expect "$(histogram_of nested .p25_ns) / $p25 > 0.97 && $(histogram_of nested .p25_ns) / $p25 < 1.03"
	expect "$(histogram_of nested .p50_ns) / $p50 > 0.97 && $(histogram_of nested .p50_ns) / $p50 < 1.03"
	expect "$(histogram_of nested .p75_ns) / $p75 > 0.97 && $(histogram_of nested .p75_ns) / $p75 < 1.03"
	[ "$(histogram_of nested '.max_ns >= .p75_ns and .p75_ns >= .p50_ns and .p50_ns >= .p25_ns and .p25_ns >= .min_ns')" = true ]
	expect "$(histogram_of nested .blocked_ns) + $(histogram_of nested .waiting_ns) + $(histogram_of nested .cpu_ns) == $(histogram_of nested .total_ns)"
	histogram_of nested '.stacks[0].kernel[].symbol' | grep -q '^synchronize_rcu'
	[ "$(histogram_of nested '.stacks[0].kernel[0].symbol')" = __schedule ]

	[ "$(histogram_of plain .count)" -eq 1400 ]
	[ "$(histogram_of plain .key.map_type)" = hash ]
	read -r _ _ _ _ plain < <(awk '$1 == "hash" { print $2 }' "$WORK/plain" | statistics)
	expect "$(histogram_of plain .p75_ns) <= 1.03 * $plain && $(histogram_of plain .p75_ns) < 0.1 * $p25"
	refute grep -q synchronize_rcu <(histogram_of plain '.stacks[].kernel[].symbol')
}

# bats test_tags=check
@test "single updates, batches, hashes: calls are counted, by command" {
	need_root
	mapupdlat -j --by name,command -- sh -c "for t in array hash array_of_maps hash_of_maps; do mapinmap \$t 20 2 0 \$t; mapinmap \$t 6 2 10 \$t; done" >"$WORK/all"
	grep '^{' "$WORK/all" >"$WORK/out"
	local t
	for t in array hash array_of_maps hash_of_maps; do
		[ "$(histogram_of $t 'select(.key.command == "update") | "\(.key.map_type) \(.count)"')" = "$t 20" ]
		[ "$(histogram_of $t 'select(.key.command == "update-batch") | "\(.key.map_type) \(.count)"')" = "$t 6" ]
	done
	[ "$(summary .calls)" -eq 104 ]
}

@test "text: bcc's layout, the figures, the stacks" {
	need_root
	long_grace_periods
	mapupdlat -m -- sh -c 'mapinmap array_of_maps 20 1 0 nested >/dev/null' >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/out"
	[ "$(sed -n 1p "$WORK/out")" = "array_of_maps 'nested'" ]
	[ "$(sed -n 2p "$WORK/out")" = "     msecs               : count     distribution" ]
	grep -qE '^ +[0-9]+ -> [0-9]+ +: [0-9]+ +\|\*{40}\|$' "$WORK/out"
	grep -qE '^calls 20  total [0-9.]+ [mu]?s  min .* p25 .* p50 .* p75 .* p90 .* p99 .* p99\.9 .* max .* mean ' "$WORK/out"
	grep -qE '^on the CPU [0-9.]+ %, blocked [0-9.]+ %, waiting to run [0-9.]+ % of the time$' "$WORK/out"
	grep -qE '^      synchronize_rcu' "$WORK/out"
	grep -q '^mapupdlat: 20 calls in .* 0 of them failed' "$WORK/err"
}

@test "the start's line, JSON as the schema has it, -v" {
	need_root
	says_when_it_begins "Measuring bpf\\(2\\) on maps, every 0.1 s, 2 times" mapupdlat 0.1 2
	says_when_it_begins "Measuring bpf\\(2\\) on maps, until 'true' ends" mapupdlat -- true
	says_when_it_begins "Measuring bpf\\(2\\) on maps, once, after 0.1 s" mapupdlat 0.1 1
	says_when_it_begins "Measuring bpf\\(2\\) on maps, for 0.3 s, every 0.1 s" mapupdlat --duration 0.3 0.1
	rm -f "$WORK/err"
	mapupdlat 0.1 2>"$WORK/err" >/dev/null 3>&- &
	pids+=($!)
	wait_until grep -q Ctrl-C "$WORK/err"
	kill -INT $!
	wait $!
	grep -qx "Measuring bpf(2) on maps, every 0.1 s without an end (--duration sets one)... Ctrl-C to end" "$WORK/err"
	is_terse mapupdlat -p $$ 0.1 1
	mapupdlat -T -U -j --slow 20us 0.1 -- sh -c "{ mapinmap array_of_maps 20 2 0 nested; mapinmap hash 1000 1 0 plain; mapfails 2; } >'$WORK/timing'" >"$WORK/out"
	valid_json
	[ "$(jq -s -c 'map(.type) | unique' "$WORK/out")" = '["call","histogram","start","summary"]' ]
}

# bats test_tags=check
@test "-o: text, JSON and pictures, apart from what the command prints" {
	need_root
	local arguments
	for arguments in "-o $WORK/a.txt" "-o $WORK/a.jsonl" "-o $WORK/a.svg" "-j -o $WORK/a.log"; do
		mapupdlat -q $arguments -- sh -c 'mapinmap hash 10 1 0 ten; echo hello' >"$WORK/stdout" 2>/dev/null
		tail -n 1 "$WORK/stdout" | grep -qx hello
	done
	grep -q "^hash 'ten'" "$WORK/a.txt"
	valid_json "$WORK/a.jsonl"
	valid_json "$WORK/a.log"
	grep -q '<svg' "$WORK/a.svg"
	# a name is no pattern of time here
	mapupdlat -q -o "$WORK/at 50%t.txt" 1 -- mapinmap hash 10 1 0 ten 2>/dev/null
	[ -s "$WORK/at 50%t.txt" ]
	mapupdlat -q -o "$WORK/50%.svg" -- mapinmap hash 10 1 0 ten 2>/dev/null
	[ -s "$WORK/50%.svg" ]
}

@test "a pipe that nobody reads any more ends it" {
	need_root
	mapupdlat -j 0.1 2>"$WORK/err" | head -n 1 | grep -q '"start"'
	wait_until grep -q 'calls\? in' "$WORK/err"
}

# ---- counts ----

@test "a million updates from two threads: none lost" {
	need_root
	mapupdlat -j -- sh -c 'mapinmap hash 1000000 2 0 million >/dev/null' >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/err"
	[ "$(histogram_of million .count)" -eq 1000000 ]
	[ "$(histogram_of million '.buckets | map(.count) | add')" -eq 1000000 ]
	[ "$(summary '.lost + .not_seen + .in_flight + .begun_before')" -eq 0 ]
}

@test "where the kernel may preempt: watched by what is not skipped then, each call counted once" {
	need_root
	echo "preempt=full" >"$WORK/cmdline"	# as the tool sees it; the kernel need not
	"${in_mount_namespace[@]}" bash -ec "mount --bind '$WORK/cmdline' /proc/cmdline; exec '$ROOT/build/mapupdlat' -v -j -- sh -c 'mapinmap hash 200000 2 0 million; mapinmap array_of_maps 50 16 0 nested; mapfails 3'" \
		>"$WORK/all" 2>"$WORK/err"
	grep '^{' "$WORK/all" >"$WORK/out"
	grep -q 'call_returns_raw: [0-9]* instructions verified' "$WORK/err"
	awk '/instructions verified/ && $3 > 15000 { exit 1 }' "$WORK/err"
	[ "$(histogram_of million .count)" -eq 200000 ]
	[ "$(histogram_of nested .count)" -eq 50 ]
	[ "$(histogram_of fails '"\(.count) \(.errors)"')" = "13 12" ]
	[ "$(summary '.lost + .not_seen + .in_flight + .begun_before + .died')" -eq 0 ]
}

@test "intervals: each call is in exactly one" {
	need_root
	# the second and the third part begin when the one before has been printed
	mapupdlat -j 0.1 -o "$WORK/out" -- sh -c 'for i in 1 2 3; do
		mapinmap hash 200000 2 0 many >/dev/null; until [ "$(grep -c many "$0")" -ge $i ]; do sleep 0.05; done; done' "$WORK/out"
	expect "$(summary .intervals) >= 3"
	[ "$(jq -s 'map(select(.key.map_name? == "many").count) | add' "$WORK/out")" -eq 600000 ]
	[ "$(jq -s 'map(select(.key.map_name? == "many").buckets[].count) | add' "$WORK/out")" -eq 600000 ]
	# and all figures of an interval are of that interval
	[ "$(histogram_of many '.count == (.buckets | map(.count) | add) and .max_ns < .buckets[-1].to and .max_ns >= .buckets[-1].from
		and .min_ns >= .buckets[0].from - 1 and .min_ns < .buckets[0].to and .total_ns >= .count * .min_ns' | sort -u)" = true ]
}

@test "INTERVAL and COUNT, -T: as many as asked for, each with its time" {
	need_root
	count_begun
	background mapinmap hash 100000000 1 0 endless
	wait_for_calls 1
	mapupdlat -T -p "$pid" 0.2 3 >"$WORK/out"
	[ "$(grep -cE '^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]$' "$WORK/out")" -eq 3 ]
	# who does not get a CPU throughout an interval has no calls in it
	expect "$(grep -c "^hash 'endless'" "$WORK/out") >= 1 && $(grep -c "^hash 'endless'" "$WORK/out") <= 3"
}

# bats test_tags=check
@test "calls that fail: the error and the kind of file, as by the program's errno" {
	need_root
	mapupdlat -j -- sh -c "mapfails 7 >'$WORK/failed'" >"$WORK/out"
	local on
	for on in "closed|no open file" "file|a file that is no map" "unreadable|attributes that cannot be read"; do
		diff <(awk -v on="${on%|*}" '$2 == on { print $1, $3 }' "$WORK/failed") \
			<(jq -r --arg on "${on#*|}" 'select(.key.no_map? == $on) | .by_errno | to_entries[] | "\(.key) \(.value)"' "$WORK/out")
	done
	diff <(awk '$2 == "map" { n[$1] += $3 } END { for (e in n) print e, n[e] }' "$WORK/failed" | sort) \
		<(histogram_of fails '.by_errno | to_entries[] | "\(.key) \(.value)"' | sort)
	[ "$(histogram_of fails .count)" -eq $((4 * 7 + 1)) ]
	[ "$(summary .errors)" -eq "$(awk '{ n += $3 } END { print n }' "$WORK/failed")" ]
	# closed while the call was waiting
	[ "$(histogram_of gone '"\(.count) \(.errors)"')" = "7 0" ]
}

@test "calls in flight at the start and at the end are reported; those between are complete" {
	need_root
	long_grace_periods
	count_begun
	background mapinmap array_of_maps 100000 32 0 flight
	wait_for_calls 32
	local turn before to
	# that a call is in flight when all others have been read, and that one returns meanwhile, is chance on a busy machine: it
	# is so in most runs
	for turn in 1 2 3 4 5 6 7 8 9 10; do
		before=$(begun)
		mapupdlat -j -p "$pid" 0.5 1 >"$WORK/out" 2>"$WORK/err"
		to=$(begun)
		cat "$WORK/err"
		# its 32 threads may each be about to begin the call that they have counted
		expect "$(summary '.calls + .in_flight') <= $to - $before + 32"
		expect "$(summary .begun_before) <= 32 && $(summary .in_flight) <= 32"
		expect "$(summary '.begun_before * .in_flight') == 0" || break
	done
	grep -q "calls had not returned at the end" "$WORK/err"
	grep -qE "since [0-9.]+ (ms|us|s): mapinmap \($pid\), update, array_of_maps 'flight', id [0-9]+, thread [0-9]+" "$WORK/err"
	grep -q "calls that began before the start" "$WORK/err"
}

@test "threads killed inside the call: every call that was begun is counted or reported" {
	need_root
	local begun
	count_begun
	mapupdlat -j -o "$WORK/out" -- sh -c 'mapinmap array_of_maps 100000 16 0 killed &
		until [ $(od -An -t u8 "$BEGUN") -gt 100 ]; do sleep 0.05; done; kill -KILL $!; wait; sleep 0.3'
	begun=$(begun)
	echo "begun $begun, $(summary '"calls \(.calls) in flight \(.in_flight) died \(.died)"')"
	# a thread may be killed between its own count and the call
	expect "$(summary '.calls + .in_flight + .died') <= $begun && $(summary '.calls + .in_flight + .died') >= $begun - 16"
}

# bats test_tags=full
@test "more histograms than there is room for: what would need another one is summed up in one, and nothing is lost" {
	need_root
	mapupdlat -q -j --by map -- manymaps 8300 >"$WORK/out" 2>"$WORK/err"
	[ "$(summary '"\(.calls) \(.lost)"')" = "8300 0" ]
	{ head -n 100 "$WORK/out"; grep -m 1 '"rest"' "$WORK/out"; tail -n 1 "$WORK/out"; } >"$WORK/some"
	valid_json "$WORK/some"
	[ "$(jq -s 'map(select(.type == "histogram")) | length' "$WORK/out")" -eq 8193 ]
	[ "$(jq 'select(.type == "histogram" and .key.rest) | .count' "$WORK/out")" -eq $((8300 - 8192)) ]
}

# bats test_tags=full
@test "-P: a thousand processes with one failing call each crowd nobody out" {
	need_root
	mapupdlat -q -j -P -- bash -c 'for ((i = 0; i < 1100; i++)); do mapinmap hash 1 1 0 each; done >/dev/null; mapinmap hash 500 1 0 busy >/dev/null' \
		>"$WORK/out" 2>"$WORK/err"
	[ "$(summary .calls)" -eq 1600 ]
	[ "$(jq 'select(.type == "histogram" and .count == 500) | .key.pid' "$WORK/out" | wc -l)" -eq 1 ]
}

# ---- what is measured ----

@test "bpftool, bpftrace and cpuprof starting: IDs, names and types as in bpftool map" {
	need_root
	need bpftool
	rm -f "$WORK/err"
	mapupdlat -j --by map,process --cmd all >"$WORK/out" 2>"$WORK/err" 3>&- &
	local tool=$! id subjects=()
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	cpuprof >/dev/null 2>"$WORK/cpuprof" 3>&- &
	subjects+=($!) pids+=($!)
	if extra bpftrace; then
		bpftrace -e 'BEGIN { @started[pid] = nsecs; printf("begins\n") } software:cpu-clock:100000 { @on[cpu] = count() }' >"$WORK/bpftrace" 2>&1 3>&- &
		subjects+=($!) pids+=($!)
		wait_until grep -q begins "$WORK/bpftrace"
	fi
	wait_until grep -q Ctrl-C "$WORK/cpuprof"
	bpftool -j map list >"$WORK/maps"
	# of this cpuprof: there may be others
	id=$(jq -r '.[] | select(.type == "hash" and .name == "listed_pids") | .id' "$WORK/maps" |
		grep -xFf <(awk '/^map_id/ { print $2 }' "/proc/${subjects[0]}"/fdinfo/*))
	bpftool map update id "$id" key 1 0 0 0 value 1
	bpftool map dump id "$id" >/dev/null
	kill -KILL "${subjects[@]:1}" || true	# a signal that comes while bpftrace does not wait in epoll_wait() does not end it
	kill "${subjects[0]}"
	wait "${subjects[@]}" || true
	kill -INT $tool
	wait $tool
	# every map that both list: (id, type, name)
	jq -r '.[] | "\(.id) \(.type) \(.name // "")"' "$WORK/maps" | sort >"$WORK/theirs"
	jq -r 'select(.type == "histogram" and .key.map_id) | "\(.key.map_id) \(.key.map_type) \(.key.map_name // "") \(.key.comm)"' \
		"$WORK/out" | sort -u >"$WORK/ours"
	awk 'NR == FNR { is[$1] = $2 " " $3; next } $1 in is { n++; if (is[$1] != $2 " " (NF > 3 ? $3 : "")) { print "differs: " $0 ", theirs: " is[$1]; bad++ } }
		END { print n " compared"; exit bad || n < 10 }' "$WORK/theirs" "$WORK/ours"
	local comm
	for comm in cpuprof bpftool $(extra bpftrace && echo bpftrace); do
		grep -q " $comm\$" "$WORK/ours"
	done
	# and never its own
	[ "$(jq -s "map(select(.key.pid? == $tool)) | length" "$WORK/out")" -eq 0 ]
}

@test "--map, --type, --cmd, -p filter; --by splits" {
	need_root
	local filter
	for filter in "--map one" "--type array" "--cmd update-batch" ""; do
		mapupdlat -j $filter -- sh -c 'mapinmap hash 30 1 0 one; mapinmap array 50 1 0 two; mapinmap hash 7 1 10 one_more' >"$WORK/all"
		grep '^{' "$WORK/all" >"$WORK/out"
		jq -r 'select(.type == "histogram") | "\(.key.map_type) \(.key.map_name) \(.count)"' "$WORK/out" | sort | tr '\n' ';'
		[ "$(jq -r 'select(.type == "start") | .filters | to_entries[] | select(.key != "stacks") | "--\(.key) \(.value)"' "$WORK/out")" = "$filter" ]
	done >"$WORK/got"
	[ "$(cat "$WORK/got")" = "hash one 30;array two 50;hash one_more 7;array two 50;hash one 30;hash one_more 7;" ]

	for filter in all type name map process command; do
		mapupdlat -j --by $filter -- sh -c 'mapinmap hash 30 1 0 one; mapinmap hash 50 1 0 two; mapinmap hash 7 1 10 two' >"$WORK/all"
		grep '^{' "$WORK/all" >"$WORK/out"
		echo "$filter $(jq -r 'select(.type == "histogram") | .count' "$WORK/out" | sort -n | tr '\n' ' ')"
	done >"$WORK/got"
	diff "$WORK/got" - <<-'EOT'
		all 87 
		type 87 
		name 30 57 
		map 7 30 50 
		process 7 30 50 
		command 7 80 
	EOT
	[ "$(jq -r 'select(.type == "histogram") | .key.command' "$WORK/out" | sort | tr '\n' ' ')" = "update update-batch " ]
}

@test "--map ID: one map of two with the same name" {
	need_root
	local id both=()
	mkfifo "$WORK/go" "$WORK/go2"
	HOLD=1 mapinmap hash 40 1 0 same <"$WORK/go" >"$WORK/held" 3>&- &
	both+=($!)
	HOLD=1 mapinmap hash 50 1 0 same <"$WORK/go2" >"$WORK/held2" 3>&- &
	both+=($!)
	exec 8>"$WORK/go" 9>"$WORK/go2"
	wait_until grep -q ready "$WORK/held"
	wait_until grep -q ready "$WORK/held2"
	id=$(awk '/ready/ { print $2 }' "$WORK/held")
	rm -f "$WORK/err"
	mapupdlat -j --map "$id" >"$WORK/out" 2>"$WORK/err" 3>&- 8>&- 9>&- &
	local tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	echo >&8
	echo >&9
	exec 8>&- 9>&-
	wait_until grep -q busy "$WORK/held"
	wait_until grep -q busy "$WORK/held2"
	kill -INT $tool
	wait $tool
	[ "$(summary .calls)" -eq 40 ]
	wait "${both[@]}"
}

@test "-P: a histogram for each process" {
	need_root
	mapupdlat -j -P -- sh -c 'mapinmap hash 30 1 0 one >/dev/null & echo $!; wait; mapinmap hash 40 1 0 one >/dev/null & echo $!; wait' >"$WORK/all"
	grep '^{' "$WORK/all" >"$WORK/out"
	diff <(histogram_of one '"\(.key.pid) \(.key.comm) \(.count)"' | sort -n) <(grep -v '^{' "$WORK/all" | sort -n | awk '{ print $1, "mapinmap", 20 + 10 * NR }')
}

@test "-U: who called, down to clone3" {
	need_root
	need gawk nm
	long_grace_periods
	count_begun
	background mapinmap array_of_maps 100000 2 0 nested
	wait_for_calls 1
	rm -f "$WORK/err"
	mapupdlat -j -U -p "$pid" >"$WORK/out" 2>"$WORK/err" 3>&- &
	local tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	wait_for_calls 100
	kill -INT $tool
	wait $tool
	local clone3
	clone3=$(clone3_offset)
	# all of the time is in some stack, and almost all of it in complete ones
	histogram_of nested '[.total_ns, .count] | @tsv'
	histogram_of nested '.stacks[] | [.value_ns, .blocked, (.user[-1].module // "-"), (.user[-1].file_offset // 0)] | @tsv' |
		gawk -F '\t' -v clone3="$clone3" -v total="$(histogram_of nested .total_ns)" '
			{ all += $1 }
			$3 ~ /\/libc\.so\.6$/ && $4 > clone3 && $4 <= clone3 + 100 { whole += $1 }
			END { print all, whole, total; exit !(all > 0.99 * total && all <= 1.000001 * total && whole > 0.99 * total) }'
	histogram_of nested '.stacks[0].user[].module' | grep -q '/mapinmap$'
	histogram_of nested '.stacks[0].kernel[].symbol' | grep -q '^synchronize_rcu'
}

@test "--slow: each call that takes longer, as it returns, and no other" {
	need_root
	long_grace_periods
	mapupdlat -j --slow 1ms -- sh -c "{ mapinmap array_of_maps 50 2 0 nested; mapinmap hash 1000 1 0 plain; } >'$WORK/timing'" >"$WORK/out"
	local slow
	# a call that takes twice as long by the program's clock is no shorter than that by ours, unless both threads are held up
	# between the two clocks
	slow=$(awk '$1 == "array_of_maps" && $2 > 2000000' "$WORK/timing" | wc -l)
	expect "$slow > 40"
	[ "$(jq -r 'select(.type == "call" and .key.map_name == "nested" and .latency_ns > 1000000) | 1' "$WORK/out" | wc -l)" -ge "$((slow - 2))" ]
	expect "$(jq -r 'select(.type == "call" and .key.map_name == "nested" and .blocked_ns > 0) | select(any(.stacks[].kernel[].symbol; startswith("synchronize_rcu"))) | 1' \
		"$WORK/out" | wc -l) >= 0.8 * $slow"
	[ "$(jq -r 'select(.type == "call" and .latency_ns <= 1000000) | 1' "$WORK/out" | wc -l)" -eq 0 ]
	# the limit is within a bucket
	[ "$(jq -s 'def buckets(which): map(select(.type == "histogram").buckets[] | select(which).count) | add;
		(map(select(.type == "call")) | length) as $calls | buckets(.from >= 1000000) <= $calls and $calls <= buckets(.to > 1000000)' "$WORK/out")" = true ]
	# as they return: before the end
	background mapinmap array_of_maps 100000 2 0 nested
	mapupdlat --slow 1ms -p "$pid" >"$WORK/out" 2>&1 3>&- &
	local tool=$!
	pids+=("$tool")
	wait_until grep -q "array_of_maps 'nested'" "$WORK/out"
	grep -qE "^[0-9:.]+ mapinmap \($pid\), update, array_of_maps 'nested', id [0-9]+: [0-9.]+ ms, blocked " "$WORK/out"
	kill -INT $tool
	wait $tool
}

# ---- pictures ----

@test "--heatmap: one column an interval, in the terminal and as SVG" {
	need_root
	need script xmllint
	local command="mapinmap array_of_maps 100 2 0 nested >/dev/null; mapinmap hash 1000 1 0 plain >/dev/null"
	mapupdlat --heatmap 0.1 -- sh -c "$command" >"$WORK/out"
	cat "$WORK/out"
	grep -q "^array_of_maps 'nested'" "$WORK/out"
	grep -qE '^ +[0-9.]+ (ms|us) \|[ .:=+*#%@-]+\|$' "$WORK/out"
	refute grep -q $'\033' "$WORK/out"
	script -qec "mapupdlat --heatmap 0.1 -- sh -c '$command'" "$WORK/typescript" >/dev/null
	grep -q $'\033\[48;5;[0-9]*m' "$WORK/typescript"
	mapupdlat -o "$WORK/heat.svg" 0.1 -- sh -c "$command"
	xmllint --noout "$WORK/heat.svg"
	# every call is in a cell
	[ "$(grep -oE '<title>[0-9]+ from' "$WORK/heat.svg" | awk -F '[> ]' '{ n += $2 } END { print n }')" -eq 1100 ]
	[ "$(xmllint --xpath 'count(//*[local-name() = "text"][@font-size = "14"])' "$WORK/heat.svg")" -eq 2 ]
}

# ---- the end of a run ----

@test "a command: its exit status; SIGINT and SIGTERM print what was gathered" {
	need_root
	run mapupdlat -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
	run -127 mapupdlat -- /nonexistent/program
	local signal
	for signal in INT TERM; do
		count_begun
		background mapinmap hash 100000000 1 0 endless
		rm -f "$WORK/err"
		mapupdlat -p "$pid" >"$WORK/out" 2>"$WORK/err" 3>&- &
		wait_until grep -q Ctrl-C "$WORK/err"
		wait_for_calls 2
		kill -$signal $!
		wait $!
		grep -q "^hash 'endless'" "$WORK/out"
	done
}

@test "a closed pipe is quiet, a full disk is an error, an output file that cannot be opened is reported at once" {
	need_root
	mapupdlat 0.1 3 2>"$WORK/err" | true
	refute grep -qi 'broken pipe\|cannot write' "$WORK/err"
	run bash -c 'mapupdlat -j 0.1 1 >/dev/full'
	[ "$status" -eq 1 ]
	[[ "$output" == *"cannot write standard output: "* ]]
	run timeout 5 mapupdlat -o /nonexistent/x.svg 60
	[ "$status" -eq 1 ]
	[ "$output" = "mapupdlat: cannot open '/nonexistent/x.svg': No such file or directory" ]
}

# bats test_tags=check
@test "each BPF program takes at most 15,000 instructions to verify" {
	need_root
	mapupdlat -v 0.1 1 2>&1 >/dev/null | awk '/instructions verified/ { print $2, $3 }' | tee "$WORK/verified"
	[ "$(wc -l <"$WORK/verified")" -ge 5 ]
	awk '$2 > 15000 { exit 1 }' "$WORK/verified"
}
