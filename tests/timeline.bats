#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# wallprof's files: what others read of them, and that they say the same; and timelines of real programs.

load lib.bash
. "$BATS_TEST_DIRNAME/helpers/tiling.bash"
. "$BATS_TEST_DIRNAME/workloads/servers.bash"

# bats test_tags=full
@test "Perfetto's packets, read by a decoder that protoc has made from its published numbers, say what the JSON says" {
	need protoc made-timeline
	/usr/bin/python3 -c 'import google.protobuf' || skip "python3-protobuf is not here"
	protoc -I "$BATS_TEST_DIRNAME/helpers" --python_out="$WORK" perfetto_trace.proto
	made-timeline 20000 8 "$WORK" jsonl pftrace
	perfetto-against-json "$WORK" "$WORK/made.pftrace" "$WORK/made.jsonl" >&3
	need_root
	wallprof -q -o "$WORK/real.pftrace" -- ring pipe 4 100 >"$WORK/command.out" 2>/dev/null
	# each thread is switched to at least as often as it slept for the token, in each process of the command
	protoc -I "$BATS_TEST_DIRNAME/helpers" --decode=perfetto.protos.Trace perfetto_trace.proto <"$WORK/real.pftrace" >"$WORK/real"
	while read -r tid _ came slept _; do
		expect "$(grep -c "next_pid: $tid\$" "$WORK/real") >= $slept"
	done <"$WORK/command.out"
	grep -q 'str: "futex_wait\|str: "pipe_read\|str: "anon_pipe_read' "$WORK/real"
}

# bats test_tags=full
@test "the page's values are the JSON's: intervals, sums, the flame graph, the function table, and of a range" {
	need chromium made-timeline
	made-timeline 6000 8 "$WORK" html jsonl
	jq -n -c '[inputs | select(.type == "period") | [.tid, .state, .to_ns - .from_ns]] | group_by(.[0]) |
		map([.[0][0], length, (map(select(.[1] == "running")[2]) | add), (map(select(.[1] == "waiting")[2]) | add),
			(map(select(.[1] == "blocked")[2]) | add)])' "$WORK/made.jsonl" >"$WORK/lives"
	jq -n -c '[inputs | select(.type == "period" and .woken_by) | [.tid, .from_ns - 5000000000000, .woken_by.tid]] | sort' \
		"$WORK/made.jsonl" >"$WORK/wakers"
	# the second quarter of all
	jq -n -c '[inputs] | (map(select(.type == "thread").to_ns) | max) as $last | ($last - 5000000000000) as $all | map(select(.type == "period") |
		[([.from_ns - 5000000000000, $all / 4] | max), ([.to_ns - 5000000000000, $all / 2] | min)] | .[1] - .[0] | select(. > 0)) | add' \
		"$WORK/made.jsonl" >"$WORK/quarter"
	look_at "$WORK/made.html" \
		eval 'page.timeline.lives.map(life => [life.tid, life.nr, ...[RUNNING, WAITING, BLOCKED].map(state =>
			life.state.reduce((sum, one, i) => sum + (one === state ? life.start[i + 1] - life.start[i] : 0), 0))])' \
		eval 'page.timeline.lives.flatMap(life => [...life.state].flatMap((state, i) => state === BLOCKED && life.waker[i] ?
			[[life.tid, life.start[i], page.timeline.tids[life.waker[i]]]] : [])).sort((a, b) => a[0] - b[0] || a[1] - b[1])' \
		eval 'page.flame.tree.total[0]' \
		eval 'page.rows.map(row => [row.running, row.waiting, row.blocked, row.total])' \
		key '+' eval 'page.timeline.duration / (page.lanes.to - page.lanes.from)' \
		key '0' eval '(page.select(page.timeline.duration / 4, page.timeline.duration / 2), page.flame.tree.total[0])' \
		eval 'document.body.innerText.includes("\x1b") || document.querySelector("b") !== null' \
		eval 'page.lanes.timeline.lives[0].comm' >"$WORK/page"
	cut -c 1-300 "$WORK/page"
	[ "$(sed -n 2p "$WORK/page" | jq -c .)" = "$(cat "$WORK/lives")" ]
	[ "$(sed -n 3p "$WORK/page" | jq -c .)" = "$(cat "$WORK/wakers")" ]
	all=$(jq -n '[inputs | map(.[2] + .[3] + .[4])] | flatten | add' "$WORK/lives")
	[ "$(sed -n 4p "$WORK/page")" -eq "$all" ]
	# all threads are always in the outermost function, but while they run without having been sampled
	expect "$(sed -n 5p "$WORK/page" | jq 'map(.[2]) | max') == $(jq 'map(.[4]) | add' "$WORK/lives")"
	[ "$(sed -n 6p "$WORK/page")" = 2 ]
	expect "$(sed -n 7p "$WORK/page" | jq round) <= $(jq round "$WORK/quarter") + 2 && $(sed -n 7p "$WORK/page" | jq round) >= $(jq round "$WORK/quarter") - 2"
	# a name that would be markup, and that would clear a terminal
	[ "$(sed -n 8p "$WORK/page")" = false ]
	[ "$(sed -n 9p "$WORK/page")" = '"a<b>&\"'"'"'\\u{1b}[2J"' ]
	refute grep -q '<b>' "$WORK/made.html"
	refute grep -q $'\e' "$WORK/made.html"
}

# bats test_tags=full
@test "the article's picture: 1,400 inserts by 31 threads; the function table agrees with mapupdlat's figures of the same run" {
	need_root
	need chromium mapinmap
	long_grace_periods
	mapupdlat -q -j -o "$WORK/exact.jsonl" --by=process -- wallprof -q -o "$WORK/page.html" -- mapinmap array_of_maps 1400 31 >"$WORK/calls" 2>"$WORK/err"
	jq -c 'select(.type == "histogram" and .key.comm == "mapinmap") | [.count, .total_ns, .p25_ns, .p50_ns, .p75_ns]' "$WORK/exact.jsonl" >"$WORK/exact"
	look_at "$WORK/page.html" eval 'page.rows.filter(row => /sys_bpf$/.test(row.name)).map(row => [row.calls, row.total, row.p25, row.p50, row.p75])[0]' \
		eval '(() => { const t = page.timeline; let nr = 0; t.lives.forEach(life => { for (let i = 0; i < life.nr; i++) nr += life.state[i] === BLOCKED &&
			t.stacks[life.key[i]].some(label => /synchronize_rcu/.test(t.labels[label])); }); return nr; })()' >"$WORK/page"
	echo "# calls, total, quartiles: exact $(cat "$WORK/exact"), on the page $(sed -n 2p "$WORK/page")" >&3
	jq -n -e --slurpfile exact "$WORK/exact" --argjson page "$(sed -n 2p "$WORK/page")" \
		'[range(5) | $page[.] / $exact[0][.]] | all(. > 0.95 and . < 1.05)'
	# on kernels where each of them waits for a grace period
	[ "$(sed -n 3p "$WORK/page")" -gt 1000 ] || [ "$(jq '.[3]' "$WORK/exact")" -lt 1000000 ]
}

# bats test_tags=full
@test "the page: all sums are of the chosen threads; a search marks crowded lanes; bottom-up" {
	need chromium made-timeline
	made-timeline 20000 4 "$WORK" html
	look_at "$WORK/made.html" \
		eval 'page.threads.chosen().length' \
		click '[...document.querySelectorAll("#labels button")].find(name => name.textContent.includes("(1002)"))' \
		eval 'page.flame.tree.total[0] === page.timeline.lives[2].start[page.timeline.lives[2].nr] - page.timeline.lives[2].from' \
		eval '(life => Math.round(page.rows[0].blocked) === life.state.reduce((sum, state, i) => sum + (state === BLOCKED ? life.start[i + 1] - life.start[i] : 0), 0))(page.timeline.lives[2])' \
		eval 'document.querySelector("#whose").textContent.startsWith("1 of 4 threads: ")' \
		click 'document.querySelectorAll("#labels input")[1]' \
		eval 'page.threads.chosen()' \
		eval 'document.querySelectorAll("#labels input")[0].indeterminate' \
		click 'document.querySelectorAll("#labels input")[0]' \
		eval 'page.threads.chosen()' \
		key t type '100[13]' \
		eval 'page.threads.chosen()' \
		eval 'Math.abs(page.flame.tree.total[0] - [1, 3].reduce((sum, i) => sum + page.timeline.lives[i].start[page.timeline.lives[i].nr] - page.timeline.lives[i].from, 0)) < 1' \
		click 'document.querySelector("#everyone")' \
		click 'document.querySelector("#active")' \
		eval '(order => order.length === 4 && order.every((lane, i) => !i || page.timeline.lives[lane].active <= page.timeline.lives[order[i - 1]].active))(page.lanes.rows.filter(row => !row.lives))' \
		key '0' key / type unknown key Escape \
		eval '(() => { const g = page.lanes.canvas.getContext("2d"), y = page.lanes.y(0) + 7, match = page.lanes.word(page.lanes.colours.match);
			const line = new Uint32Array(g.getImageData(page.lanes.left + 10, y, 500, 1).data.buffer);
			return page.timeline.lives[0].nr > 2 * page.lanes.canvas.clientWidth && line.every(pixel => pixel === match); })()' \
		key u \
		eval '(tree => tree.callees[0].map(node => tree.name(node)).sort())(page.flame.tree)' \
		eval '[page.flame.found.size > 0, document.querySelector("#found").textContent.includes("%")]' \
		key u \
		eval '(tree => tree.name(tree.callees[0][0]).endsWith("[2J"))(page.flame.tree)' >"$WORK/values"
	cat "$WORK/values"
	tail -n +2 "$WORK/values" | diff - <(cat <<-'END'
		4
		true
		true
		true
		[0, 2]
		true
		[0, 1, 2, 3]
		[1, 3]
		true
		true
		true
		["[blocked S]", "[running]", "[waiting]"]
		[true, true]
		true
	END
	)
}

# bats test_tags=full
@test "the page: of 5,000 threads, those are drawn that the page has room for, down to the last" {
	need made-timeline chromium python3
	made-timeline 20000 5000 "$WORK" html
	local drawn='(lane => { page.lanes.draw();
		const g = page.lanes.canvas.getContext("2d"), y = Math.round(page.lanes.y(lane)) + 9, {width} = page.lanes.canvas;
		return new Set(new Uint32Array(g.getImageData(page.lanes.left, y, width - page.lanes.left, 1).data.buffer)).size > 2; })'
	look_at "$WORK/made.html" \
		eval 'page.lanes.canvas.height < 3000 && document.querySelector("#lanes").scrollHeight > 100000' \
		eval "$drawn(0)" \
		eval '(document.querySelector("#lanes").scrollTop = 1e9) > 0' \
		eval "$drawn(4999)" \
		eval 'page.lanes.lane(page.lanes.y(4999) + 1)' >"$WORK/values"
	tail -n +2 "$WORK/values" | diff - <(printf 'true\ntrue\ntrue\ntrue\n4999\n')
}

@test "folded: no line has a sum of 0" {
	need made-timeline
	made-timeline 3000 4 "$WORK" folded
	[ "$(wc -l <"$WORK/made.folded")" -ge 3 ]
	refute grep ' 0$' "$WORK/made.folded"
}

@test "text: the header and the lanes are as wide as the terminal at most" {
	need made-timeline
	local columns
	for columns in 60 80 120 132; do
		COLUMNS=$columns made-timeline 3000 4 "$WORK" txt
		sed '/^$/,$d' "$WORK/made.txt" >"$WORK/lanes"
		grep -q '█ running ░ waiting · sleeping ╌ uninterruptible × lost' "$WORK/lanes"
		[ "$(grep -c '^ *\(1000 \)*100[0-3] ' "$WORK/lanes")" -eq 4 ]
		# in narrow ones, the names of two letters more than any that is not escaped
		LC_ALL=C.UTF-8 awk -v most="$((columns < 80 ? columns + 2 : columns))" '{ print(length($0) > most ? "too wide: " $0 : "ok") }' "$WORK/lanes" | sort -u | diff - <(echo ok)
		LC_ALL=C.UTF-8 awk -v most="$columns" '/NAME|running/ && length($0) > most { exit 1 }' "$WORK/lanes"
	done
}

@test "hostile names in all files: escaped, and valid" {
	need made-timeline
	made-timeline 300 4 "$WORK" json jsonl folded txt pftrace
	refute grep -q $'\e' "$WORK"/made.{json,jsonl,folded,txt}
	refute grep -qaF $'b>&"\'\e' "$WORK/made.pftrace"
	jq -es 'map(select(.type == "thread").comm) | unique == ["a<b>&\"'"'"'\u001b[2J"]' "$WORK/made.jsonl"
	jq -e '.profiles | length == 4 and all(.name | test("x1b"))' "$WORK/made.json"
	grep -q '\\x1b' "$WORK/made.txt"
	grep -q '\\x1b' "$WORK/made.folded"
}

# bats test_tags=full
@test "ten million periods: the time to the first picture, and frames a second while moving along" {
	need chromium made-timeline
	made-timeline 10000000 32 "$WORK" html
	browse "$WORK/made.html" \
		eval 'new Promise(done => { const wait = setInterval(() => { if (document.body.dataset.ready) {
			clearInterval(wait); done(Math.round(performance.now())); } }, 5); })' \
		eval '(() => { const n = 30, lanes = page.lanes, all = lanes.timeline.duration; lanes.show(0, all / 3);
			const begin = performance.now(); for (let i = 0; i < n; i++) lanes.show(lanes.from + all / 100, lanes.to + all / 100);
			return Math.round(10000 * n / (performance.now() - begin)) / 10; })()' \
		eval 'new Promise(done => { const wait = setInterval(() => { if (document.body.dataset.summed) {
			clearInterval(wait); done(Math.round(performance.now())); } }, 5); })' >"$WORK/times"
	local bytes
	bytes=$(stat -c %s "$WORK/made.html")
	echo "# first picture after $(sed -n 1p "$WORK/times") ms, $(sed -n 2p "$WORK/times") frames/s, all sums after" \
		"$(sed -n 3p "$WORK/times") ms; $((bytes / 100000)) bytes for 100 switches" >&3
	expect "$(sed -n 1p "$WORK/times") < 60000 && $(sed -n 2p "$WORK/times") > 1 && $bytes <= 120000000"
}

@test "speedscope's JSON: each thread's weights are, in the unit that is named, the time that it lived" {
	need_root
	need jq
	local began=$EPOCHREALTIME
	wallprof -q -o "$WORK/out.json" -- sleep 1 2>/dev/null
	jq -e --argjson took "$(awk "BEGIN { print $EPOCHREALTIME - $began }")" '.profiles | length > 0 and all(
		({ nanoseconds: 1e-9, microseconds: 1e-6, milliseconds: 1e-3, seconds: 1 }[.unit]) as $unit |
		(.weights | add * $unit) as $lived | ($lived >= 1 and $lived <= $took) and ((.endValue - .startValue) * $unit - $lived | fabs) < 1e-3)' "$WORK/out.json"
}

# bats test_tags=full
@test "speedscope's own importer reads the JSON: a profile for each thread, in order of time" {
	need chromium npm made-timeline
	(cd "$WORK" && timeout 60 npm pack speedscope@1.25.0 >/dev/null 2>&1) || skip "npm cannot fetch speedscope"
	tar -C "$WORK" -xzf "$WORK"/speedscope-*.tgz
	made-timeline 2000 4 "$WORK" json jsonl
	/usr/bin/python3 -c 'import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' "$WORK/made.json" "$WORK/package/dist/release/file-format-schema.json"
	printf 'speedscope.loadFileFromBase64("made.json", "%s")' "$(base64 -w 0 "$WORK/made.json")" >"$WORK/profile.js"
	browse --fragment "localProfilePath=$WORK/profile.js" "$WORK/package/dist/release/index.html" \
		eval 'new Promise(done => setTimeout(done, 2000))' type 1 eval 'new Promise(done => setTimeout(done, 500))' \
		eval 'document.body.innerText' type n eval 'new Promise(done => setTimeout(done, 500))' eval 'document.body.innerText' >"$WORK/values"
	cat "$WORK/values"
	grep -q '(1/4)\|1000/1000' "$WORK/values"
	# in order of time: the n-th weight is the n-th interval's length, where that is no running time with samples
	jq -s '.[0].profiles[0].weights | add' "$WORK/made.json" >"$WORK/theirs"
	jq -s 'map(select(.type == "period" and .tid == 1000) | .to_ns - .from_ns) | add' "$WORK/made.jsonl" >"$WORK/ours"
	cmp "$WORK/theirs" "$WORK/ours"
	jq -s -c '.[0] as $f | $f.shared.frames as $names | $f.profiles[0] | [.samples, .weights] | transpose |
		map(select($names[.[0][-1]].name | test("^\\[(waiting|blocked)"))[1])' "$WORK/made.json" >"$WORK/theirs"
	jq -s -c 'map(select(.type == "period" and .tid == 1000 and .state != "running") | .to_ns - .from_ns)' "$WORK/made.jsonl" >"$WORK/ours"
	cmp "$WORK/theirs" "$WORK/ours"
}

# the directory $WORK/small, of 256 KiB, for this command
on_small_disk() {
	mkdir -p "$WORK/small"
	unshare -m sh -c 'mount -t tmpfs -o size=256k none "$1" || exit 99; shift; "$@"' sh "$WORK/small" "$@"
}

# bats test_tags=full
@test "a full disk: an error, and what was written is readable" {
	need_root
	# the file in which the timeline is kept: the report is of what was kept
	run on_small_disk env TMPDIR="$WORK/small" wallprof -q -o "$WORK/kept.jsonl" -- ring pipe 4 10000
	[ "$status" -ne 99 ] || skip "may not mount"
	[[ "$output" != unshare:* ]] || skip "no mount namespace of its own can be had"
	[ "$status" -eq 1 ]
	[[ "$output" == *"No space left on device"* ]]
	{ head -n 300 "$WORK/kept.jsonl"; tail -n 1 "$WORK/kept.jsonl"; } >"$WORK/part"
	valid_json "$WORK/part"
	tiled 5 "$WORK/kept.jsonl"
	expect "$(jq -n '[inputs | select(.type == "period")] | length' "$WORK/kept.jsonl") > 5000"
	# the output itself: whole lines up to the end of the disk
	run on_small_disk sh -c 'wallprof -q -j -- ring pipe 4 1000 >"$1/small/cut.jsonl"; s=$?; cp "$1/small/cut.jsonl" "$1"; exit $s' sh "$WORK"
	[ "$status" -eq 1 ]
	[[ "$output" == *"No space left on device"* ]]
	head -n -1 "$WORK/cut.jsonl" | jq -en '[inputs] | length > 300'
}

@test "postgres under pgbench, a Go program, 200,000 switches a second: tiled, and run as the scheduler says" {
	need_root
	if extra pgbench; then
		mkdir "$WORK/pg"
		chown postgres "$WORK/pg"
		chmod 755 "$WORK"
		cat >"$WORK/load" <<-'EOF'
			as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
			cd /; as "$1/initdb" -A trust -D "$2/data" >/dev/null 2>&1
			as "$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= >/dev/null 2>&1 &
			until as psql -qAt -h "$2" postgres -c 'SELECT 1' >/dev/null 2>&1; do sleep 0.1; done
			as "$1/pgbench" -h "$2" -i -q postgres >/dev/null 2>&1
			as "$1/pgbench" -h "$2" -c 4 -T 1 postgres >/dev/null 2>&1
			main=$(head -n 1 "$2/data/postmaster.pid")
			for p in $main $(pgrep -P $main); do read -r ran _ </proc/$p/schedstat && echo "$p $ran"; done || true
		EOF
		local failed=
		measure -- bash "$WORK/load" "$pg_bin" "$WORK/pg" || failed=1
		# it ends after the measurement: that takes it time
		pids+=($(head -n 1 "$WORK/pg/data/postmaster.pid"))
		kill -INT "${pids[@]}"
		wait_until [ ! -e "$WORK/pg/data/postmaster.pid" ]
		[ -z "$failed" ]
		tiled 1
		ran_as_scheduled 30000000 <"$WORK/command.out"
		[ "$(summary .lost_periods)" -eq 0 ]
	fi
	if extra go; then
		HOME=$WORK go build -o "$WORK/gosteps" "$BATS_TEST_DIRNAME/workloads/gosteps.go"
		measure -- "$WORK/gosteps"
		tiled 4
	fi
	measure -- "$BATS_TEST_DIRNAME/../build/bench/pingpong" 0.5
	tiled 2
	[ "$(summary .lost_periods)" -eq 0 ]
	echo "# $(jq -n '[inputs | select(.type == "thread")] | (map(.periods) | add) / 0.5 | round' "$WORK/out") switches a second" >&3
}
